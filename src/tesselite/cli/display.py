"""How commands show progress: a live line on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any

from tesselite.base.notices import without_notices
from tesselite.cli.terminal import bar_label, say

if TYPE_CHECKING:
    from tesselite.runs.carry_on import Run, RunDisplay

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


# -- runs and constructions --------------------------------------------------------------------------------------------


@contextmanager
def shown_run(quiet: bool, iterations: int | None = None) -> Iterator[RunDisplay | None]:
    """A display of a run, or of a construction alone, which ends after so many iterations at the latest.

    A terminal has one live line: a spinner with what is being done before the search, then a bar. Elsewhere there are
    plain lines, now and then.
    """
    with without_notices(quiet):
        if quiet:
            yield None
        elif sys.stderr.isatty():
            with _live(iterations) as display:
                yield display
        else:
            yield _plain_lines(iterations)


def _state(run: Run) -> str:
    if not run.evaluations:
        return ""
    best, changes = run.archive.best_fitness, len(run.search.changes)
    grown = f"  niches changed {changes} time{'s' * (changes > 1)}" if changes else ""
    return f"coverage {run.archive.coverage:.1%}  best {'-' if best is None else f'{best:.4g}'}{grown}"


def _iteration(number: int, iterations: int | None, error: float) -> str:
    of = f" of at most {iterations}" if iterations else ""
    return f"constructing the tessellation: iteration {number}{of}, error {error:.4g}"


class _Rate:
    """Evaluations per second since the search began in this process."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def after(self, evaluations: int) -> str:
        now = time.perf_counter()
        if self._began is None:
            self._began = now, evaluations
        at, first = self._began
        return f"{(evaluations - first) / (now - at):,.0f}/s" if evaluations > first else ""


@contextmanager
def _live(iterations: int | None) -> Iterator[RunDisplay]:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from tesselite.runs.carry_on import RunDisplay

    before = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bars = Progress(
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    preparing, rate = before.add_task("preparing"), _Rate()

    class Display(RunDisplay):
        """One live line."""

        def preparing(self, what: str) -> None:
            before.update(preparing, description=bar_label(what))

        def constructing(self, iteration: int, error: float) -> None:
            before.update(preparing, description=_iteration(iteration, iterations, error))

        def searching(self, run: Run, evaluations: int) -> None:
            if not bars.tasks:
                bars.add_task("", rate="", state="")
            bars.update(
                bars.tasks[0].id,
                total=run.budget,
                completed=evaluations,
                rate=rate.after(evaluations),
                state=_state(run),
            )

    console = Console(stderr=True)
    with Live(get_renderable=lambda: bars if bars.tasks else before, console=console, refresh_per_second=5) as live:
        yield Display()
        if not bars.tasks:
            live.transient = True  # nothing to leave behind


def _plain_lines(iterations: int | None) -> RunDisplay:
    from tesselite.runs.carry_on import RunDisplay

    rate = _Rate()

    class Display(RunDisplay):
        """A line every few seconds."""

        last = time.perf_counter()

        def constructing(self, iteration: int, error: float) -> None:
            if time.perf_counter() - self.last >= _PLAIN_SECONDS:
                self._write(_iteration(iteration, iterations, error))

        def searching(self, run: Run, evaluations: int) -> None:
            words = [f"{evaluations:,} of {run.budget:,} evaluations", rate.after(evaluations), _state(run)]
            if time.perf_counter() - self.last >= _PLAIN_SECONDS or run.evaluations == run.budget:
                self._write("  ".join(filter(None, words)))

        def _write(self, line: str) -> None:
            self.last = time.perf_counter()
            say(line)

    return Display()
