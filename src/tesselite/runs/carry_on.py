"""Continue a run to the end of its budget: step by step, with progress, checkpoints and a clean stop on signals. How a
run begins is in `run`; its files are in `folder`.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.archive.history import HistoryFolder, load_history
from tesselite.base.interruption import noted_signals
from tesselite.base.logger import log
from tesselite.base.notices import notice
from tesselite.base.terminal import one_line
from tesselite.execution.events import BUDGET, CHANGE, STOP
from tesselite.execution.execution import Execution, Job
from tesselite.execution.workers import Workers, WorkersLost
from tesselite.execution.workers.farm import Halted
from tesselite.problems.problem import Problem
from tesselite.runs.folder import RunFolder, progress_of
from tesselite.runs.plan import Plan
from tesselite.search.map_elites import (
    MILESTONES,
    MapElites,
    Milestones,
    batches,
    runs_compiled,
    search_for,
    stop_if_nothing_is_valid,
)

if TYPE_CHECKING:
    import pyarrow


class Interrupted(KeyboardInterrupt):
    """The run was stopped by a signal after everything was saved; `except Exception` does not catch it."""

    def __init__(self, signal_number: int, folder: Path, advice: str) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}; continue with: {advice}")
        self.signal_number = signal_number
        self.folder = folder


@dataclass(repr=False)
class Run:
    """A run, active or ended: its plan, its problem, its search, and its folder, if any.

    `seconds_search` is the time of the search loop, without compilation, tessellation and files, summed over all
    processes that continued the run; `seconds` is the total time in this process. `was_finished` is True if nothing was
    left to do, `was_interrupted` if Ctrl-C ended the run early; `stopped` is the reason of a planned early stop.
    """

    plan: Plan
    problem: Problem
    search: MapElites
    folder: Path | None
    seconds: float = 0.0
    seconds_search: float = 0.0
    was_finished: bool = False
    was_interrupted: bool = False
    stopped: str = ""
    _started: float = field(default_factory=time.perf_counter)

    @property
    def archive(self) -> Archive:
        """The elites found so far."""
        return self.search.archive

    @property
    def budget(self) -> int:
        """The number of evaluations that it may spend."""
        return self.plan.evaluations

    @property
    def evaluations(self) -> int:
        """The number of evaluations spent so far."""
        return self.search.evaluations

    def history(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Every evaluation, if the run keeps its history; see `tesselite.load_history`."""
        if self.folder is None:
            raise ValueError("history: the run has no folder; start it with history=True and out='runs/mine'")
        return load_history(self.folder, columns)

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", in {self.folder}"
        return f"Run({self.plan.problem}, {self.evaluations:,} of {self.budget:,} evaluations, {self.archive!r}{where})"

    def _repr_html_(self) -> str:
        from tesselite.report.notebook import run_html

        return run_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The figures that `--json` prints."""
        return {
            "problem": self.plan.problem,
            "n_niches": self.archive.n_niches if self.archive.has_niches else None,
            **progress_of(self.search),
            "invalid_reasons": dict(self.archive.invalid),
            "changes": [asdict(change) for change in self.search.changes],
            "seed": self.plan.seed,
            "seconds": self.seconds,
            "seconds_search": self.seconds_search,
            "was_finished": self.was_finished,
            "stopped": self.stopped,
            "out": None if self.folder is None else str(self.folder),
        }


Progress = Callable[[Run], object]
"""Called with the run at numbers of evaluations that do not depend on the clock; see `run`. True stops the run."""


class RunDisplay:
    """Shows the progress of a run at each update, depending on the clock. This one shows nothing."""

    def preparing(self, what: str) -> None:
        """A preparation that may take a while has begun."""

    def constructing(self, iteration: int, error: float) -> None:
        """This many iterations of the construction of the tessellation are done."""

    def searching(self, run: Run, evaluations: int) -> None:
        """This many evaluations are finished, including those of a batch on workers that is not in the archive yet."""


class Keeper:
    """Stores a run as it proceeds: here nowhere; see `InFolder`."""

    def row(self, run: Run) -> None:
        """Record the progress of the run."""

    def rows(self) -> list[dict[str, float | None]]:
        """The rows recorded since the run began, or was last stopped."""
        return []

    def make_room(self) -> None:
        """Write data that would grow in memory; called after each step."""

    def save(self, run: Run) -> None:
        """Save all of it."""

    def is_due(self) -> bool:
        """Whether it should be saved now."""
        return False

    def stop(self, run: Run, number: int) -> None:
        """End the run after a signal; its archive is the result."""
        run.was_interrupted = True
        log.info("stopped by signal %d at %d evaluations", number, run.evaluations)
        notice(f"stopped by Ctrl-C after {run.evaluations:,} of {run.budget:,} evaluations")


class InFolder(Keeper):
    """Keeps a run in its folder, at least every `seconds`."""

    def __init__(
        self, place: RunFolder, job: Job, keeps_log: bool, seconds: float, history: HistoryFolder | None = None
    ) -> None:
        self.place, self.job, self.keeps_log, self.seconds, self.history = place, job, keeps_log, seconds, history
        self._saved_at = time.perf_counter()

    def row(self, run: Run) -> None:
        """Append to progress.csv."""
        self.place.append_progress(run.search, run.seconds_search)

    def rows(self) -> list[dict[str, float | None]]:
        """The rows of progress.csv since the run was last stopped."""
        since = max((event["at"] for event in self.job.events.of(STOP)), default=-1)
        return [row for row in self.place.read_progress() if (row["evaluations"] or 0) > since]

    def save(self, run: Run) -> None:
        """Write a checkpoint; the log, the changes of niches and the history are on disk before it."""
        assert self.job.log is not None
        recorded = {(event["at"], event["fingerprint"]) for event in self.job.events.of(CHANGE)}
        for change in run.search.changes:
            if (change.at, change.fingerprint) not in recorded:  # recorded already by a run that was killed here
                self.job.events.record(CHANGE, **asdict(change))
        self.job.log.sync()
        if self.history is not None:
            self.history.save()
        self.place.write_pictures(run.search)
        self.place.write_checkpoint(run.search)
        if not self.keeps_log:
            self.job.log.forget(run.evaluations)
        self._saved_at = time.perf_counter()
        log.debug("checkpoint at %d evaluations in %s", run.evaluations, one_line(self.place.path))

    def make_room(self) -> None:
        """Write the full parts of the history."""
        if self.history is not None:
            self.history.save_full_parts()

    def is_due(self) -> bool:
        """Whether the last checkpoint is older than it should be."""
        return time.perf_counter() - self._saved_at >= self.seconds

    def stop(self, run: Run, number: int) -> None:
        """Raise an error that says how to continue."""
        log.info("stopped by signal %d at %d evaluations", number, run.evaluations)
        raise Interrupted(number, self.place.path, run.plan.how_to_resume(self.place.path)) from None


def carry_on(
    run: Run,
    job: Job,
    execution: Execution,
    workers: Workers | None,
    keeper: Keeper | None = None,
    progress: Progress | None = None,
    display: RunDisplay | None = None,
) -> Run:
    """Spend the rest of the budget; results are saved before any early end."""
    keeper, display = keeper or Keeper(), display or RunDisplay()
    if run.evaluations >= run.budget:
        run.was_finished = True
        return _ended(run)
    verb = "resumed" if run.evaluations else "started"
    log.info("%s %s: %d of %d evaluations, seed %d", verb, _named(run), run.evaluations, run.budget, run.plan.seed)
    display.preparing("preparing the search")
    _warm_up(run, job.threads, in_process=workers is None)
    # Steps of the compiled loop end by the clock; those of all others are known beforehand.
    by_clock = workers is None and runs_compiled(run.search, run.problem)
    between = _BetweenSteps(run, job, keeper, progress, display, by_clock=by_clock)
    execution.begin(job, workers)
    display.searching(run, run.evaluations)
    job.evaluated = functools.partial(display.searching, run)
    with _signals(job) as received, closing(job.log) if job.log else nullcontext():
        steps = execution.steps(job, workers)
        with _saved_on_failure(run, keeper):
            if run.stopped:
                between.end_early()
            while not run.stopped and _advance(run, steps, received, keeper) and between.goes_on(received):
                pass
        keeper.save(run)
    return _ended(run)


class _BetweenSteps:
    """The work after each step: the run is recorded, saved and shown, its callback called, and it may end early."""

    def __init__(
        self,
        run: Run,
        job: Job,
        keeper: Keeper,
        progress: Progress | None,
        display: RunDisplay,
        *,
        by_clock: bool,
    ) -> None:
        self.run, self.job, self.keeper, self.progress, self.display = run, job, keeper, progress, display
        milestone = max(job.batch_size, run.budget // MILESTONES)
        if progress or run.folder or run.plan.stall:  # otherwise nothing is due there, and stopping costs time
            job.milestone = milestone
        self._rows = Milestones(milestone, run.evaluations, run.budget)
        self._calls = Milestones(milestone if by_clock else 1, run.evaluations, run.budget)
        self._noted = keeper.rows() if run.plan.stall else []
        if run.plan.stall and self._noted and self._noted[-1]["evaluations"] == run.evaluations:
            run.stopped = run.plan.stall.reason(self._noted)  # killed before that was recorded

    def goes_on(self, received: list[int]) -> bool:
        """Whether the run takes its next step; `received` lists the signals so far."""
        run, keeper = self.run, self.keeper
        keeper.make_room()
        stop_if_nothing_is_valid(run.search, run.problem, min(self.job.batch_size, run.budget))
        if self._rows.reached(run.evaluations):
            self._note()
        stopping = bool(received)  # looked at once: a signal that comes while we save waits for the next step
        if stopping or keeper.is_due():
            keeper.save(run)
        self.display.searching(run, run.evaluations)
        if self.progress and self._calls.reached(run.evaluations) and _is_true(self.progress(run)):
            run.stopped = run.stopped or "the callback said so"
        if run.evaluations >= run.budget:
            run.stopped = ""  # nothing is left to stop
        elif run.stopped:
            self.end_early()
        elif stopping:
            keeper.stop(run, received[0])
        return not (run.stopped or (stopping and run.evaluations < run.budget))

    def _note(self) -> None:
        """A row of progress; the run stops if it has stalled."""
        self.keeper.row(self.run)
        if self.run.plan.stall:
            self._noted.append(progress_of(self.run.search))
            self.run.stopped = self.run.plan.stall.reason(self._noted)

    def end_early(self) -> None:
        """Record that the run has ended here, as planned, and why."""
        run, events = self.run, self.job.events
        log.info("stopped at %d evaluations: %s", run.evaluations, one_line(run.stopped))
        events.record(STOP, run.evaluations, why=run.stopped)
        events.record(BUDGET, run.evaluations, value=run.evaluations)


def _is_true(said: object) -> bool:
    """Whether a callback returned True, NumPy's included; other values, such as a count, do not stop a run."""
    return isinstance(said, bool | np.bool_) and bool(said)


def _ended(run: Run) -> Run:
    run.seconds = time.perf_counter() - run._started
    log.info("ended %s: %d evaluations, %d elites", _named(run), run.evaluations, len(run.archive))
    return run


def _named(run: Run) -> str:
    return one_line(run.plan.problem if run.folder is None else f"{run.plan.problem} in {run.folder}")


def _advance(run: Run, steps: Iterator[MapElites], received: list[int], keeper: Keeper) -> bool:
    """One step of the search; False if none is left."""
    at = time.perf_counter()
    try:
        if next(steps, None) is None:
            return False
    except Halted:
        keeper.save(run)
        keeper.stop(run, received[0])
        return False
    except WorkersLost as error:
        log.error("workers lost at %d evaluations: %s", run.evaluations, one_line(str(error)))
        keeper.save(run)
        if run.folder is None:
            raise
        advice = run.plan.how_to_resume(run.folder)
        raise WorkersLost(f"{error}\nEverything is saved; continue with: {advice}") from None
    run.seconds_search += time.perf_counter() - at
    return True


@contextmanager
def _saved_on_failure(run: Run, keeper: Keeper) -> Iterator[None]:
    """Save the run if a user's variation or callback raises."""
    try:
        yield
    except WorkersLost:
        raise
    except Exception:
        if len(run.archive):
            with suppress(OSError):  # the error that we are about to raise matters more
                keeper.save(run)
        raise


def _warm_up(run: Run, threads: int | None, in_process: bool) -> None:
    """Compile everything before the clock starts, without calling users' Python functions."""
    from tesselite.emitters.cma_emitters import CmaMae
    from tesselite.problems.user_function import CompiledProblem

    search, problem = run.search, run.problem
    ours = not run.plan.is_own and not hasattr(problem.solutions, "vary")
    scratch = search_for(problem, search.archive.tessellation, search.emitter if ours else None, 1, 0)
    space = search.archive.tessellation.space
    middle = np.where(space.labelled, 0.0, (space.low + space.high) / 2)
    solution = scratch.ask(1)
    scratch.tell([0.0], [middle])
    if in_process and isinstance(problem, CompiledProblem):
        problem.evaluate_rows(solution, None, threads)
        if ours:
            for _ in batches(scratch, problem, 2, batch_size=1, threads=threads):
                pass
            if isinstance(scratch.emitter, CmaMae) and runs_compiled(scratch, problem):
                from tesselite.search.generations import CompiledGenerations

                CompiledGenerations(scratch, problem, 1).compile()
    elif ours:
        scratch.ask(1)
        scratch.tell([0.0], [middle])


@contextmanager
def _signals(job: Job) -> Iterator[list[int]]:
    """A list that collects SIGINT and SIGTERM, so that the batch can be finished; a second one kills. A search in
    memory has nothing to save, so SIGTERM has its default effect.
    """
    in_folder = job.log is not None
    said = b"finishing the batch, then saving" if in_folder else b"finishing the batch"

    def say() -> None:
        # Not through sys.stderr, which the signal may have interrupted in the middle of a line.
        with suppress(OSError):
            os.write(2, said + b"; press Ctrl-C again to stop immediately\n")

    numbers = (signal.SIGINT, signal.SIGTERM) if in_folder else (signal.SIGINT,)
    with noted_signals(numbers, say) as received:
        job.halt = lambda: bool(received)
        yield received
