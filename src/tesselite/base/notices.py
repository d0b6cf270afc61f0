"""Notices to the user, one line each on standard error; `--quiet` turns them off."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_shown = [True]


def notice(text: str) -> None:
    """Show a line, unless notices are off or this is a worker, whose parent has shown it."""
    if _shown[0] and multiprocessing.parent_process() is None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def turn_off() -> None:
    """Show no notices in this process."""
    _shown[0] = False


@contextmanager
def without_notices(quiet: bool = True) -> Iterator[None]:
    """Show no notices while this lasts, if `quiet`."""
    before = _shown[0]
    _shown[0] = before and not quiet
    try:
        yield
    finally:
        _shown[0] = before
