"""Progress of runs: a live line on a terminal, an updated line in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tesselite.base.notices import without_notices
from tesselite.base.terminal import bar_label, say
from tesselite.runs.carry_on import Progress, Run, RunDisplay

_PLAIN_SECONDS = 5.0
_NOTEBOOK_SECONDS = 0.3


@contextmanager
def shown_run(quiet: bool, iterations: int | None = None) -> Iterator[RunDisplay | None]:
    """A display of a run, or of a construction alone, which ends after this many iterations at most.

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


@contextmanager
def shown_from_python(progress: Progress | bool | None) -> Iterator[tuple[Progress | None, RunDisplay | None]]:
    """The callback and the display of a run that is started from Python.

    A function is called, and nothing shown. Otherwise a terminal has the live line and a notebook one that changes;
    True shows plain lines elsewhere, too, and False nothing at all.
    """
    if callable(progress):
        yield progress, None
    elif progress is False or not (progress or sys.stderr.isatty() or _in_notebook()):
        with without_notices(progress is False):
            yield None, None
    elif _in_notebook():
        yield None, _notebook_line()
    else:
        with shown_run(quiet=False) as made:
            yield None, made


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _notebook_line() -> RunDisplay:
    """One line of output in a notebook, updated during the run."""
    from IPython.display import TextDisplayObject, display

    class Line(TextDisplayObject):  # type: ignore[misc]
        """Plain text, in notebooks of any kind."""

        def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
            return {"text/plain": self.data}

    handle, rate = display(Line("preparing"), display_id=True), _Rate()

    class Display(RunDisplay):
        """Replaces the line a few times a second."""

        last = 0.0

        def preparing(self, what: str) -> None:
            handle.update(Line(what))

        def searching(self, run: Run, evaluations: int) -> None:
            words = [f"{evaluations:,} of {run.budget:,} evaluations", rate.after(evaluations), _state(run)]
            if time.perf_counter() - self.last >= _NOTEBOOK_SECONDS or run.evaluations == run.budget:
                self.last = time.perf_counter()
                handle.update(Line("  ".join(filter(None, words))))

    return Display()


def _state(run: Run) -> str:
    if not run.evaluations:
        return ""
    best, changes = run.archive.best_fitness, len(run.search.changes)
    grown = f"  niches changed {changes} time{'s' * (changes > 1)}" if changes else ""
    archive = run.archive
    filled = f"coverage {archive.coverage:.1%}" if archive.has_niches else f"{len(archive):,} solutions"
    return f"{filled}  best {'-' if best is None else f'{best:z.4g}'}{grown}"


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
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    before = Bars(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bars = Bars(
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
            live.transient = True  # leave nothing behind


def _plain_lines(iterations: int | None) -> RunDisplay:
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
