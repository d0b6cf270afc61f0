"""Text for a terminal: names come from other people's files and may contain control codes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def printable(text: str, kept: str = "\n\t") -> str:
    """The text with all but printable characters and those that are kept written as escapes."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in kept else c.encode("unicode_escape", "backslashreplace") for c in text)
    return "".join(c if isinstance(c, str) else c.decode("ascii") for c in shown)


def one_line(text: object) -> str:
    """Printable text without line ends, so that a name cannot imitate a line of our output."""
    return printable(str(text), kept="")


def say(text: object) -> None:
    """A line on standard error, which is for people."""
    sys.stderr.write(f"{one_line(text)}\n")


def bar_label(text: object) -> str:
    """The label of a progress bar: one line, and no markup of Rich's in it."""
    from rich.markup import escape

    return escape(one_line(text))


class _Printable:
    """A stream that is given printable text only."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_output() -> Iterator[None]:
    """Make standard output (results only) and warnings printable. What users' functions print goes to standard error
    unchanged.
    """
    stream, warning = sys.stdout, warnings.formatwarning
    sys.stdout = _Printable(stream)
    warnings.formatwarning = lambda *args, **named: printable(warning(*args, **named))
    try:
        yield
    finally:
        sys.stdout, warnings.formatwarning = stream, warning


def short(name: str, letters: int = 20) -> str:
    """A name with its middle left out if it is long: names of features often differ at their ends."""
    half = letters // 2
    return name if len(name) <= letters else f"{name[: half - 1]}…{name[-half:]}"
