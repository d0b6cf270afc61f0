"""Signals: Ctrl-C waits until related changes are complete, and a stopped run saves itself.

A KeyboardInterrupt may come between any two steps of the interpreter. In a notebook the archive is still used
afterwards, so changes in several steps must not be left half done.
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
    """Defer SIGINT to the end of the block. Only the main thread receives it, so other threads are unaffected."""
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
        if _signal.getsignal(signal.SIGINT) is note:  # another signal's handler may have replaced it
            _signal.signal(signal.SIGINT, usual)
        if received:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def noted_signals(
    numbers: Iterable[int] = (signal.SIGINT, signal.SIGTERM), at_first: Callable[[], object] | None = None
) -> Iterator[list[int]]:
    """A list to which received signals are appended; only the main thread receives any.

    The first one calls `at_first`, if given, and restores the previous handlers.
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
