"""A pool of threads for compiled work of a fraction of a millisecond: starting threads would take longer.

Longer work starts threads of its own (`tesselite.base.threads`).
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


@functools.cache
def _threads(n: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n, "tesselite")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not live on in a forked process


def in_parts(work: Callable[[int, int], object], start: int, stop: int, chunk: int, threads: int) -> None:
    """Call work(a, b) for consecutive parts of [start, stop), `chunk` long, on this thread and others.

    The parts do not depend on the number of threads, so neither may what `work` writes. Raises the first error.
    """
    parts = deque((a, min(a + chunk, stop)) for a in range(start, stop, chunk))
    others = min(threads, len(parts)) - 1

    def help_out() -> None:
        while parts:
            try:
                part = parts.popleft()
            except IndexError:  # another thread took the last one
                return
            work(*part)

    helping = [_threads(others).submit(help_out) for _ in range(others)]
    try:
        help_out()
    finally:
        parts.clear()  # after an error, or Ctrl-C
        for helper in helping:
            if not helper.cancel():  # one that has not begun is no longer needed
                helper.result()
