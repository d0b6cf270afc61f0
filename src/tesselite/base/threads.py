"""Threads for compiled work that releases the GIL; processes and clusters live in `tesselite.execution.workers`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tesselite.base.checks import is_whole


def available_threads() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """`threads`, or all available cores for None; at least 1, otherwise ValueError. More than 8 a core are not used."""
    available = available_threads()
    if threads is None:
        return available
    if not is_whole(threads, 1):
        raise ValueError(f"threads: expected at least 1 (or None for all cores), got {threads!r}")
    return min(int(threads), 8 * available)


def in_chunks(work: Callable[[int, int], object], n: int, chunk: int, threads: int) -> None:
    """Call work(start, stop) for consecutive chunks that cover range(n), `threads` of them at a time.

    The chunks do not depend on the number of threads, so neither may what `work` writes. Small chunks even out rows
    of different cost.
    """
    spans = [(start, min(start + chunk, n)) for start in range(0, n, chunk)]
    if threads == 1 or len(spans) <= 1:
        for span in spans:
            work(*span)
        return
    with ThreadPoolExecutor(min(threads, len(spans))) as pool:
        for _ in pool.map(lambda span: work(*span), spans):
            pass  # consuming the results raises the first error here
