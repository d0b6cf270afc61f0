"""Run a search as planned, in memory or in a folder; resume it after any end; replay it from its log. The loop around
the search is in `carry_on`, the plan of a run in `plan`, the files in `folder`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec

import numpy.typing as npt

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.archive.history import HistoryFolder, RowKind
from tesselite.base.checks import checked_count, checked_seconds
from tesselite.base.importing import check_not_importing
from tesselite.base.threads import checked_threads
from tesselite.emitters.emitter import OWN_EMITTER, Emitter
from tesselite.emitters.names import emitter_of
from tesselite.emitters.uniform_parents import Variation
from tesselite.execution.choice import execution_of, resumed
from tesselite.execution.events import BUDGET, EVENTS_FILE, EXECUTION, NICHES, Events
from tesselite.execution.execution import ANY, Execution, Job, WorkerChoice
from tesselite.execution.in_process import IN_PROCESS
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers import Workers, WorkersLike
from tesselite.problems.problem import Problem, checked_problem
from tesselite.runs.carry_on import InFolder, Progress, Run, RunDisplay, carry_on
from tesselite.runs.display import shown_from_python
from tesselite.runs.first_run import compiling_beside
from tesselite.runs.folder import RunFolder, Stored
from tesselite.runs.loading import (
    agree_to,
    agree_to_import,
    check_problem,
    check_scheduler,
    not_agreed,
    problem_of,
    stored_tessellation,
    unagreed_file,
)
from tesselite.runs.plan import Budget, Plan, planned_text
from tesselite.runs.stall import stall_of
from tesselite.search.map_elites import INITIAL, MapElites, NothingValid, search_for
from tesselite.tessellation.niches import niches_of
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.provisional import Provisional
from tesselite.tessellation.rules import Rule

CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class Options:
    """How a run is executed: none of this affects its result."""

    threads: int | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    progress: Progress | None = None
    display: RunDisplay | None = None

    def __post_init__(self) -> None:
        checked_threads(self.threads)
        checked_seconds("checkpoint_seconds", self.checkpoint_seconds, zero=True)

    def tessellate(self, plan: Plan, problem: Problem) -> Tessellation:
        """Construct the niches of a plan."""
        construction = self.display.constructing if self.display else None
        return plan.niches.tessellate(problem.features, plan.seed, self.threads, construction)


DEFAULT = Options()


def run(
    problem: Problem,
    *,
    evaluations: float,
    n_niches: int | None = None,
    grid: int | Sequence[int] | None = None,
    tessellation: Tessellation | Rule | None = None,
    n_samples: int | None = None,
    p: float = 2.0,
    method: str | None = None,
    variation: Variation | None = None,
    emitter: Emitter | None = None,
    initial: int = INITIAL,
    batch_size: int | None = None,
    seed: int | None = None,
    start: npt.ArrayLike | Archive | str | Path | None = None,
    patience: float | None = None,
    rise: float | None = None,
    history: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    out: str | Path | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    workers: WorkersLike | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    asynchronous: bool = False,
    islands: int | None = None,
    exchange: int | None = None,
    recycle_after: int | None = None,
    worker_memory: int | str | None = None,
) -> Run:
    """Fill an archive with the best solution of every kind, within a budget of evaluations.

    `run` returns the run, `illuminate` only its archive; both take the same arguments.

    Args:
        problem: What to solve: a function decorated with `tesselite.problem`, or one of `tesselite.problems`.
        evaluations: The budget, which is spent exactly.
        n_niches: The number of niches of a CVT; `n_samples`, `p` and `method` are those of `tesselite.cvt`.
        grid: Cells per feature instead, such as 64 or [64, 32].
        tessellation: Existing niches instead, niches that grow (`tesselite.expanding`, `tesselite.adaptive`), or a
            population without niches (`tesselite.dns`, `tesselite.nslc`, `tesselite.rts`).
        n_samples: Samples for the CVT. Default: 10 per niche, at least 25,000.
        p: Order of the Minkowski distance of the CVT.
        method: "exact", "fresh", "lloyd", "sobol" or "halton", as in `tesselite.cvt`. Default: chosen automatically.
        variation: Makes offspring of uniformly drawn elites; see `tesselite.variation`.
        emitter: Chooses parents and makes offspring; see `tesselite.emitters`. Replaces `variation`.
        initial: Random solutions before the first offspring.
        batch_size: Offspring per batch. Default: 200, or what suits the emitter.
        seed: Same seed, same result. Default: random, and stored in the run's plan.
        start: Known designs, evaluated before all others: solutions (n, width), an Archive, the folder of a run, or a
            file. Random solutions follow, up to `initial` in all.
        patience: Stop early if neither coverage nor QD score has risen by the fraction `rise` (0.01) in this many
            evaluations. `run.stopped` gives the reason; `tesselite.resume(DIR, evaluations=...)` continues the run.
        rise: See `patience`.
        history: Keep every evaluation, its solution included, in Parquet parts in the folder `out`: `run.history()`,
            `tesselite.load_history(out)`, or any reader of Parquet.
        threads: Threads for compiled work. Default: all cores. Does not change the result.
        progress: A function that is called with the run after every batch (for a compiled problem in this process,
            after the first batch that ends at or beyond each 200th of the budget, and at the end); the run stops if it
            returns True. False for silence, True for lines even without a terminal or notebook. Default: one line,
            updated in place, in a terminal and in a notebook.
        out: A new folder for the run, which saves itself there every `checkpoint_seconds`; `tesselite.resume` continues
            it, however it ended.
        checkpoint_seconds: How often the run is saved.
        workers: Where to evaluate: a number of processes, a `concurrent.futures.Executor` or a function that makes one,
            a Dask client or the address of its scheduler. Does not change the result.
        retries: Retries for an evaluation that fails or whose worker dies. Default: 2.
        timeout: Seconds after which an evaluation on workers is aborted. Default: no limit.
        asynchronous: Insert each result of workers immediately, without waiting for the batch.
        islands: Run this many searches in parallel, which exchange elites every `exchange` evaluations.
        exchange: Evaluations of an island between exchanges.
        recycle_after: Replace a worker process by a new one after this many evaluations, for simulators that leak.
        worker_memory: Replace a worker process once it uses this much memory, as in "2GB" or bytes.

    Raises:
        ValueError: For invalid arguments, before anything is done. NothingValid: If the whole first batch fails.

    Ctrl-C finishes the batch; islands return to their last exchange. A run in a folder is saved and can be resumed; a
    run in memory is returned with what it has found, and its `was_interrupted` is True.

    Example:
        >>> import tesselite as tl
        >>> run = tl.run(tl.problems.sphere(5), grid=10, evaluations=2_000, seed=1)
        >>> run.evaluations, run.archive.n_niches
        (2000, 100)
    """
    checked_problem(problem)
    chosen = None if variation is None and emitter is None else emitter_of(variation, emitter)
    plan = Plan.of(
        problem,
        niches_of(n_niches, grid, tessellation, n_samples=n_samples, p=p, method=method, space=problem.features),
        Budget(evaluations, initial, batch_size, stall_of(patience, rise)),
        emitter=chosen,
        seed=seed,
        execution=execution_of(
            WorkerChoice(workers, retries, timeout, recycle_after, worker_memory),
            asynchronous=asynchronous,
            islands=islands,
            exchange=exchange,
        ),
        start=start,
        history=history,
    )
    if history and out is None:
        raise ValueError("history: needs a folder for the run, as in out='runs/mine'")
    with shown_from_python(progress) as (called, display):
        options = Options(threads, checkpoint_seconds, called, display)
        return start_run(plan, problem, None if out is None else Path(out), options, chosen)


_P = ParamSpec("_P")


def _archive_of(function: Callable[_P, Run]) -> Callable[_P, Archive]:
    @functools.wraps(function)
    def illuminate(*args: _P.args, **options: _P.kwargs) -> Archive:
        return function(*args, **options).archive

    illuminate.__name__ = illuminate.__qualname__ = "illuminate"
    illuminate.__annotations__ = {**function.__annotations__, "return": "Archive"}
    return illuminate


illuminate = _archive_of(run)
"""`run`, returning the archive only."""


def start_run(
    plan: Plan,
    problem: Problem,
    folder: Path | None = None,
    options: Options = DEFAULT,
    emitter: Emitter | None = None,
) -> Run:
    """Carry out a new plan, in a new folder if one is given.

    `emitter` is needed where it, or its variation, is the user's own.
    """
    check_not_importing()
    with plan.execution.open() as workers, compiling_beside(plan, problem) as niches_are_made:
        if folder is None:
            niches = options.tessellate(plan, problem)
            niches_are_made(niches)
            search = plan.search(problem, niches, emitter)
            job = Job(search, problem, plan.evaluations, plan.batch_size, options.threads)
            here = Run(plan, problem, search, None)
            return carry_on(here, job, plan.execution, workers, progress=options.progress, display=options.display)
        with RunFolder.create(folder) as place, _abandoned_if_empty(place, problem):
            stored = _begun(place, plan, problem, workers)
            niches = _niches(place, stored, problem, options)
            niches_are_made(niches)
            search = stored.plan.search(problem, niches, emitter)
            history = _history(place, stored.plan, search)
            return _in_folder(place, stored, problem, search, workers, options, history=history)


@contextmanager
def _abandoned_if_empty(place: RunFolder, problem: Problem) -> Iterator[None]:
    """Remove the folder after an error before the first result."""
    try:
        yield
    except Exception as error:
        if isinstance(error, NothingValid):
            place.archive_file.unlink(missing_ok=True)  # a checkpoint without elites
        log = EvaluationLog(place.path, problem.features.n, problem.records)
        if all(logged.result.reason for logged in log.read()):
            place.abandon_if_empty()
        raise


def _begun(place: RunFolder, plan: Plan, problem: Problem, workers: Workers | None) -> Stored:
    """Write the plan, and its arrays, into the folder."""
    plan.niches.check_storable()
    if plan.niches.known_fingerprint:
        place.write_tessellation(plan.niches.tessellate(problem.features, plan.seed))
    if plan.start:
        plan.start.save(place.path)
    plan = replace(plan, execution=plan.execution.named(workers))
    place.write_plan(plan)
    return Stored(plan, __version__, Events(place.path / EVENTS_FILE))


def _niches(place: RunFolder, stored: Stored, problem: Problem, options: Options) -> Tessellation:
    """The tessellation of a run, constructed if needed; a crash loses nothing, the plan is on disk."""
    if stored.niches_fingerprint is not None:
        return stored_tessellation(place, stored, problem)
    niches = options.tessellate(stored.plan, problem)
    place.write_tessellation(niches)
    stored.events.record(NICHES, 0, fingerprint=niches.fingerprint())
    return niches


def _history(place: RunFolder, plan: Plan, search: MapElites) -> HistoryFolder | None:
    """The history of the search from now on, if the plan keeps one; nothing is written yet."""
    if not plan.history:
        return None
    history = HistoryFolder(place.path, RowKind.of(search.archive), search.evaluations)
    search.history = history.rows
    return history


def _in_folder(
    place: RunFolder,
    stored: Stored,
    problem: Problem,
    search: MapElites,
    workers: Workers | None,
    options: Options,
    execution: Execution | None = None,
    history: HistoryFolder | None = None,
) -> Run:
    """Continue in a folder, from the current state of the search."""
    plan = stored.plan
    agree_to(plan)
    execution = execution or plan.execution
    job = Job(
        search,
        problem,
        plan.evaluations,
        plan.batch_size,
        options.threads,
        log=EvaluationLog(place.path, problem.features.n, problem.records),
        events=stored.events,
    )
    here = Run(plan, problem, search, place.path)
    here.seconds_search = place.cut_progress(search.evaluations)
    if history is not None:
        history.cut()
    keeper = InFolder(place, job, execution.keeps_log, options.checkpoint_seconds, history)
    return carry_on(here, job, execution, workers, keeper, options.progress, options.display)


@dataclass(frozen=True)
class Changes:
    """Changes to a resumed run, and the user's objects that must be passed again; None for none."""

    evaluations: float | None = None
    variation: Variation | None = None
    emitter: Emitter | None = None
    other_version: bool = False
    on: WorkerChoice = ANY

    def budget(self, plan: Plan) -> int:
        """The evaluations in all; ValueError if that is less than was planned."""
        budget = plan.evaluations if self.evaluations is None else checked_count("evaluations", self.evaluations)
        if budget < plan.evaluations:
            raise ValueError(
                f"evaluations: expected at least the {plan.evaluations} the run was planned for, got {budget}"
            )
        return budget


NO_CHANGES = Changes()


def resume(
    folder: str | Path,
    problem: Problem | None = None,
    *,
    evaluations: float | None = None,
    variation: Variation | None = None,
    emitter: Emitter | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: Progress | bool | None = None,
    other_version: bool = False,
    workers: WorkersLike | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    recycle_after: int | None = None,
    worker_memory: int | str | None = None,
) -> Run:
    """Continue the run in a folder from its last checkpoint; a finished run is returned unchanged.

    Pass `problem` if the run was started from Python with a problem that cannot be imported by name. More `evaluations`
    than planned extend the run. A run of another version of tesselite is refused unless `other_version`, since its
    result could then differ from that of an uninterrupted run. `workers`, `retries`, `timeout`, `recycle_after` and
    `worker_memory` are those that the run began with, unless others are given. Pass `variation` or `emitter` only if
    the run was started with one of your own, which no file can hold. `threads`, `checkpoint_seconds` and `progress` are
    those of `run`.

    Example:
        >>> import tesselite as tl
        >>> run = tl.run(tl.problems.sphere(3), grid=5, evaluations=500, seed=1, out="sphere")
        >>> tl.resume("sphere", evaluations=1_000).evaluations
        1000
    """
    given = WorkerChoice(workers, retries, timeout, recycle_after, worker_memory)
    changes = Changes(evaluations, variation, emitter, other_version, given)
    with shown_from_python(progress) as (called, shown):
        return continue_run(folder, problem, changes, Options(threads, checkpoint_seconds, called, shown))


def continue_run(
    folder: str | Path,
    problem: Problem | None = None,
    changes: Changes = NO_CHANGES,
    options: Options = DEFAULT,
) -> Run:
    """`resume`, with its arguments as records."""
    check_not_importing()
    with RunFolder.open(Path(folder)) as place:
        stored = place.read()
        plan = stored.plan
        if stored.version != __version__ and not changes.other_version:
            raise ValueError(
                f"{folder}: started by tesselite {stored.version}, this is {__version__}; install that version, or "
                "accept that the result may differ from an uninterrupted run (--other-version)"
            )
        problem = _checked_problem(place, plan, problem, asked=True)  # to resume a run is to run its problem
        if changes.on.workers is None:
            check_scheduler(place.path, plan)
        execution = resumed(plan.execution, changes.on)
        budget = changes.budget(plan)
        again = _again(place, plan, problem, changes.variation, changes.emitter)
        agree_to_import(plan)  # to resume a run is to run what it names
        if stored.niches_fingerprint is None:
            stored = place.bring_up_to_date(stored)
        search = plan.search(problem, _niches(place, stored, problem, options), again, place.path)
        place.restore(search)
        place.read_progress()  # raises if it is damaged, before anything is written
        saved, history = search.evaluations, _history(place, plan, search)
        log = EvaluationLog(place.path, problem.features.n, problem.records)
        logged = log.read() if plan.execution.keeps_log else []
        plan.execution.catch_up(search, logged, stored.events, stored.planned.evaluations)
        if search.evaluations >= budget:
            execution = IN_PROCESS  # nothing left to do: start no workers for it
        with execution.open() as opened:  # before anything is written: there may be no such workers
            stored = place.bring_up_to_date(stored)
            if budget > plan.evaluations:
                stored.events.record(BUDGET, search.evaluations, value=budget)
            kept = execution.named(opened)
            if search.evaluations < budget and kept != plan.execution:
                stored.events.record(EXECUTION, search.evaluations, execution=kept.to_dict())
            if budget <= search.evaluations > saved:
                _save_the_end(search, place, history)  # killed between its last result and its last checkpoint
            return _in_folder(place, stored, problem, search, opened, options, execution, history)


def replay(folder: str | Path, problem: Problem | None = None) -> MapElites:
    """Repeat an asynchronous run from its log, without evaluating anything; the search as it was at the log's end.

    Its archive equals that of the run, if that has ended. ValueError if the run was not asynchronous. A `variation` of
    the user's own cannot be replayed here.
    """
    place = RunFolder.open(Path(folder))
    stored = place.read()
    plan = stored.plan
    if not plan.execution.keeps_log:
        raise ValueError(
            f"{folder}: not an asynchronous run; the others need no log, because their seed reproduces them"
        )
    problem = _checked_problem(place, plan, problem)
    if (file := unagreed_file(plan)) is not None:
        raise ValueError(not_agreed(place.path, plan, file))
    _again(place, plan, problem, None, None)
    search = plan.search(problem, stored_tessellation(place, stored, problem), folder=place.path)
    log = EvaluationLog(place.path, problem.features.n, problem.records)
    if not log.file.exists():
        raise ValueError(f"{log.file}: no such file, which a replay needs")
    logged = log.read()
    # Events after the log: a run that is still active notes other windows before the results that rest on them.
    plan.execution.catch_up(search, logged, place.read().events, stored.planned.evaluations)
    return search


def _checked_problem(place: RunFolder, plan: Plan, given: Problem | None, *, asked: bool = False) -> Problem:
    if given is None:
        return problem_of(place.path, plan, asked=asked)
    check_problem(place.path, plan, given)
    return given


def _again(
    place: RunFolder, plan: Plan, problem: Problem, variation: Variation | None, emitter: Emitter | None
) -> Emitter | None:
    """What the user must pass again, because a file cannot hold it; None if the plan suffices."""
    kind, given = ("emitter", emitter) if plan.emitter == OWN_EMITTER else ("variation", variation)
    if plan.is_own:
        if given is None:
            raise ValueError(
                f"{place.path}: started with your own {kind}; pass it again, as in "
                f"tesselite.resume(DIR, problem, {kind}=...)"
            )
        return emitter_of(variation, emitter)
    if variation is not None or emitter is not None:
        other = emitter_of(variation, emitter)
        begun = search_for(problem, Provisional(problem.features), other, plan.initial, plan.seed).emitter
        if planned_text(begun) != plan.emitter:
            name = "emitter" if variation is None else "variation"
            raise ValueError(f"{name}: expected none, since the run was started with {plan.emitter}")
    return None


def _save_the_end(search: MapElites, place: RunFolder, history: HistoryFolder | None) -> None:
    """Write what a run that has spent its budget could not write."""
    if history is not None:
        history.cut()
        history.save()
    seconds = place.cut_progress(search.evaluations)
    rows = place.read_progress()
    if not rows or rows[-1]["evaluations"] != search.evaluations:
        place.append_progress(search, seconds)
    place.write_checkpoint(search)
