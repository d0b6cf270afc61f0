"""How commands show progress: a live line on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tesselite.runs.carry_on import Progress as ShowRun
    from tesselite.runs.carry_on import Run

_PLAIN_SECONDS = 5.0


@contextmanager
def user_prints_to_stderr() -> Iterator[None]:
    """While users' code runs: what it prints, in Python, in C or in a child process, goes to standard error.

    Standard output is for results alone, which scripts read.
    """
    sys.stdout.flush()
    with ExitStack() as stack, redirect_stdout(sys.stderr):
        with suppress(OSError):  # one of them is closed
            saved = os.dup(1)
            stack.callback(os.close, saved)
            os.dup2(2, 1)
            stack.callback(os.dup2, saved, 1)
            stack.callback(_flush_c_output)
        yield


def _flush_c_output() -> None:
    """Write what C code has printed but still holds in its buffer."""
    with suppress(OSError, AttributeError, TypeError):  # no C library is found in this way on Windows
        ctypes.CDLL(None).fflush(None)


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that JSON has no word for become null."""
    sys.stdout.write(json.dumps(_plain(content), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def _state(run: Run) -> str:
    best = run.archive.best_fitness
    return f"coverage {run.archive.coverage:.1%}  best {'-' if best is None else f'{best:.4g}'}"


@contextmanager
def shown_progress(quiet: bool) -> Iterator[ShowRun | None]:
    """What to call after each batch so that the user sees the search go on."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _live() as observer:
            yield observer
    else:
        yield _plain_lines()


@contextmanager
def _live() -> Iterator[ShowRun]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        refresh_per_second=5,
    ) as bars:
        task = bars.add_task("", total=None, rate="", state="preparing")
        began: list[tuple[float, int]] = []

        def observe(run: Run) -> None:
            if not began:
                began.append((time.perf_counter(), run.evaluations))
            at, first = began[0]
            rate = (run.evaluations - first) / max(time.perf_counter() - at, 1e-9)
            bars.update(
                task,
                total=run.budget,
                completed=run.evaluations,
                rate=f"{rate:,.0f}/s",
                state=_state(run),
            )

        yield observe


def _plain_lines() -> ShowRun:
    last: list[float] = []

    def observe(run: Run) -> None:
        now = time.perf_counter()
        if not last:  # what was done before, in another process perhaps, tells nothing about the rate
            last[:] = [now, run.evaluations]
        seconds = now - last[0]
        if seconds >= _PLAIN_SECONDS or run.evaluations == run.budget:
            rate = f"  {(run.evaluations - last[1]) / seconds:,.0f}/s" if seconds else ""
            sys.stderr.write(f"{run.evaluations:,} of {run.budget:,} evaluations{rate}  {_state(run)}\n")
            last[:] = [now, run.evaluations]

    return observe


@contextmanager
def shown_construction(quiet: bool) -> Iterator[Callable[[int, float], object] | None]:
    """What to call after each iteration of a construction so that the user sees it go on."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("constructing the tessellation") as status:
            yield lambda i, error: status.update(f"constructing the tessellation: iteration {i}, error {error:.6g}")
    else:
        last = [time.perf_counter()]

        def tell(iteration: int, error: float) -> None:
            if time.perf_counter() - last[0] >= _PLAIN_SECONDS:
                last[0] = time.perf_counter()
                sys.stderr.write(f"tessellation: iteration {iteration}, error {error:.6g}\n")

        yield tell
