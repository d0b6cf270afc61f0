"""Text on its way to a terminal: names come from files of other people, and may hold codes that a terminal obeys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def printable(text: str) -> str:
    """The text with all but printable characters, line ends and tabs written as escapes."""
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "backslashreplace") for c in text)
    return "".join(c if isinstance(c, str) else c.decode("ascii") for c in shown)


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
    """Have standard output, which holds results alone, printable; what users' functions print goes elsewhere."""
    stream = sys.stdout
    sys.stdout = _Printable(stream)
    try:
        yield
    finally:
        sys.stdout = stream
