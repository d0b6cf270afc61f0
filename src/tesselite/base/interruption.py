"""What signals do: Ctrl-C waits until changes that belong together are made, and a run that is stopped saves itself.

A KeyboardInterrupt may come between any two steps of the interpreter. In a notebook the archive lives on after it, so
what is changed in several steps must not be left half way.
"""

from __future__ import annotations

# What `signal` wraps: it turns handlers into enums and back, which takes five times as long as all else here.
import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A SIGINT that comes within is handled at the end. Only the main thread gets any, so others go on as they are."""
    usual = _signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    received: list[int] = []

    def note(number: int, _: object) -> None:
        received.append(number)

    _signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if _signal.getsignal(signal.SIGINT) is note:  # the handler of another signal may have put something else here
            _signal.signal(signal.SIGINT, usual)
        if received:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def noted_signals(
    numbers: Iterable[int] = (signal.SIGINT, signal.SIGTERM), at_first: Callable[[], object] | None = None
) -> Iterator[list[int]]:
    """A list that these signals write themselves into; only the main thread gets any.

    With `at_first`, the first one calls it, and from then on signals do what they did before.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    old = {int(number): signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in old.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        received.append(number)
        if at_first is not None:
            restore()
            at_first()

    for number in old:
        signal.signal(number, note)
    try:
        yield received
    finally:
        restore()
