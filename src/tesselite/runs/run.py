"""A run: a search that lives in a folder, saves itself by time and on signals, and can be resumed after any end.

The search is in `tesselite.search.map_elites`, the files in `tesselite.runs.folder`, the display in `tesselite.cli`.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tesselite import __version__
from tesselite.archive.archive import Archive, Tessellation
from tesselite.base.importing import check_not_importing
from tesselite.base.seeds import checked_seed
from tesselite.base.threads import available_threads, checked_threads
from tesselite.emitters import operators
from tesselite.execution.asynchronous import window_for
from tesselite.execution.execution import IN_PROCESS, Execution, catch_up, steps_of
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers import Workers, WorkersLost
from tesselite.execution.workers.farm import RETRIES, Halted
from tesselite.problems import importable_name
from tesselite.problems.problem import Problem
from tesselite.runs.folder import RunFolder, Settings, describe_niches, progress_of
from tesselite.runs.problem import (
    agree_to,
    check_problem,
    check_scheduler,
    fingerprint,
    how_to_resume,
    problem_of,
    stored_tessellation,
)
from tesselite.search.map_elites import BATCH_SIZE, INITIAL, MapElites, NothingValid, batches, checked_count, tessellate
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.voronoi import p_to_json

CHECKPOINT_SECONDS = 30.0
_PROGRESS_ROWS = 200  # about so many rows in progress.csv

Observer = Callable[[MapElites, int], object]
Construction = Callable[[int, float], object]


class Interrupted(KeyboardInterrupt):
    """The run was stopped by a signal after everything was saved; no `except Exception` takes it for an error."""

    def __init__(self, signal_number: int, folder: Path, advice: str) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}; continue with: {advice}")
        self.signal_number = signal_number
        self.folder = folder


@dataclass(frozen=True)
class Summary:
    """How a run ended; `seconds_search` is the loop alone, without compilation, tessellation and files.

    `archive` is what it found.
    """

    search: MapElites
    problem: Problem
    folder: Path
    seconds: float
    seconds_search: float

    @property
    def archive(self) -> Archive:
        """The archive of the search."""
        return self.search.archive

    def to_dict(self) -> dict[str, Any]:
        """The figures that `--json` prints."""
        archive = self.search.archive
        return {
            "problem": self.problem.name,
            "n_niches": archive.n_niches,
            **progress_of(self.search),
            "invalid_reasons": dict(archive.invalid),
            "seed": self.search.seed,
            "seconds": self.seconds,
            "seconds_search": self.seconds_search,
            "out": str(self.folder),
        }


def start(
    problem: Problem,
    folder: Path,
    *,
    evaluations: int,
    spec: str | None = None,
    n_niches: int | None = None,
    grid: Any = None,
    tessellation: Tessellation | None = None,
    n_samples: int | None = None,
    p: float = 2.0,
    method: str | None = None,
    variation: operators.Operator | operators.VariationFunction | None = None,
    initial: int = INITIAL,
    batch_size: int = BATCH_SIZE,
    seed: int | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observer: Observer | None = None,
    construction: Construction | None = None,
    execution: Execution = IN_PROCESS,
) -> Summary:
    """Run a new search in a new folder. `spec` is the problem's name for `resume`.

    `n_samples`, `p` and `method` are those of `tesselite.cvt`, for a run with `n_niches`. `observer(search, budget)` is
    called after each batch, `construction(iteration, error)` while the tessellation is being made. `execution` says
    where evaluations are done.
    """
    check_not_importing()
    started = time.perf_counter()
    evaluations, batch_size = checked_count("evaluations", evaluations), checked_count("batch_size", batch_size)
    initial = checked_count("initial", initial)
    _check_options(threads, checkpoint_seconds)
    seed = checked_seed(seed)
    niches: Tessellation | None = None
    if (n_samples, p, method) != (None, 2.0, None) and (grid is not None or tessellation is not None):
        raise ValueError("n_samples, p, method: are for a CVT to be made; expected none with a grid or centroids")
    if n_niches is not None and grid is None and tessellation is None:
        from tesselite.tessellation.cvt import plan

        n_niches = plan(problem.features, n_niches, n_samples, seed, p, method=method).k
    if n_niches is None or grid is not None or tessellation is not None:
        niches = tessellate(problem, seed, n_niches=n_niches, grid=grid, tessellation=tessellation)
    # A search on one niche: whatever is wrong with the options shows before the folder is made.
    trial = _search(problem, GridTessellation(problem.features, 1), variation, initial, seed)
    settings = Settings(
        problem=spec or importable_name(problem) or problem.name,
        problem_fingerprint=fingerprint(problem),
        evaluations=evaluations,
        initial=initial,
        batch_size=batch_size,
        variation=_variation_name(variation, trial),
        seed=seed,
        niches=_wanted_cvt(n_niches, n_samples, p, method) if niches is None else describe_niches(niches),
    )
    if settings.niches["kind"] == "custom":
        raise ValueError(f"tessellation: a run folder can hold a grid or centroids, got {type(niches).__name__}")
    with execution.open() as workers, RunFolder.create(folder) as place:
        options, protection = execution.options(evaluations, workers), execution.protection(workers)
        settings = replace(settings, options=options, protection=protection)
        agree_to(settings)
        try:
            if niches is None:
                settings, niches = _construct(place, settings, problem, threads, construction)
            else:
                place.write_tessellation(niches)
                place.write_settings(settings)
            search = _search(problem, niches, variation, initial, seed)
            return _carry_on(
                search, problem, place, settings, execution, workers, threads, checkpoint_seconds, observer, started
            )
        except Exception as error:
            if isinstance(error, NothingValid):
                place.archive_file.unlink(missing_ok=True)  # a checkpoint without elites
            log = EvaluationLog(place.path, problem.features.n)
            if all(logged.result.reason for logged in log.read()):
                place.abandon_if_empty()
            raise


def _wanted_cvt(n_niches: int | None, n_samples: int | None, p: float, method: str | None) -> dict[str, Any]:
    """A tessellation that is yet to be constructed, as settings.json tells it."""
    return {"kind": "cvt", "n_niches": n_niches, "n_samples": n_samples, "p": p_to_json(p), "method": method}


def _construct(
    place: RunFolder,
    settings: Settings,
    problem: Problem,
    threads: int | None,
    construction: Construction | None,
) -> tuple[Settings, Tessellation]:
    """Construct the CVT that the settings ask for. They are on disk before, so that a crash here loses nothing."""
    place.write_settings(settings)
    wanted = settings.niches
    niches = tessellate(
        problem,
        settings.seed,
        n_niches=wanted["n_niches"],
        n_samples=wanted["n_samples"],
        p=wanted["p"],
        method=wanted["method"],
        threads=threads,
        progress=construction,
        cache=True,
    )
    place.write_tessellation(niches)
    settings = replace(settings, niches=describe_niches(niches, wanted=wanted))
    place.write_settings(settings)
    return settings, niches


def _check_options(threads: int | None, checkpoint_seconds: float) -> None:
    checked_threads(threads)
    if not 0 <= checkpoint_seconds < math.inf:
        raise ValueError(f"checkpoint_seconds: expected a number of at least 0, got {checkpoint_seconds}")


def resume(
    folder: str | Path,
    problem: Problem | None = None,
    *,
    evaluations: int | None = None,
    variation: operators.VariationFunction | None = None,
    threads: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    observer: Observer | None = None,
    construction: Construction | None = None,
    other_version: bool = False,
    workers: Any = None,
    retries: int | None = None,
    timeout: float | None = None,
) -> Summary:
    """Continue the run in a folder from its last checkpoint; a finished one is given back as it is.

    `problem` is needed where the run was started from Python on a problem that has no importable name. More
    `evaluations` than the run was planned for extend it. A run of another version of tesselite is refused unless
    `other_version`, since its result could then differ from that of an uninterrupted run. `workers`, `retries` and
    `timeout` are those of `illuminate`; by default those that the run had last, or processes in place of an executor
    or a client, no more than cores. `workers=0` is this process, `timeout=math.inf` no limit.
    """
    check_not_importing()
    started = time.perf_counter()
    _check_options(threads, checkpoint_seconds)
    with RunFolder.open(Path(folder)) as place:
        settings, version = place.read_settings()
        stored = settings, version
        if version != __version__ and not other_version:
            raise ValueError(
                f"{folder}: started by tesselite {version}, this is {__version__}; install that version, or accept "
                "that the result may differ from an uninterrupted run (--other-version)"
            )
        if problem is None:
            problem = problem_of(Path(folder), settings, asked=True)  # to resume a run is to run its problem
        else:
            check_problem(Path(folder), settings, problem)
        if workers is None:
            check_scheduler(Path(folder), settings)
        execution = _resumed_execution(settings, workers, retries, timeout)
        budget = settings.evaluations if evaluations is None else checked_count("evaluations", evaluations)
        if budget < settings.evaluations:
            raise ValueError(
                f"evaluations: expected at least the {settings.evaluations} the run was planned for, got {budget}"
            )
        operator = _stored_variation(place, settings, variation)
        if settings.niches["kind"] == "cvt":
            settings, niches = _construct(place, settings, problem, threads, construction)
        else:
            niches = stored_tessellation(place, settings, problem)
        settings = replace(settings, evaluations=budget)
        search = _search(problem, niches, operator, settings.initial, settings.seed)
        place.restore(search)
        place.read_progress()  # raises if it is damaged, before anything is written
        saved = search.evaluations
        if settings.options.get("asynchronous"):
            settings = _catch_up(search, place, settings)
        if search.evaluations >= settings.evaluations:
            execution = IN_PROCESS  # nothing left to do: start no workers for it
        with execution.open() as opened:  # before anything is written: there may be no such workers
            if search.evaluations < settings.evaluations:
                settings = replace(settings, protection=execution.protection(opened))
            agree_to(settings)
            if opened is not None and settings.options.get("asynchronous"):
                settings = _with_window(settings, search.evaluations, opened)
            if (settings, __version__) != stored:
                place.write_settings(settings)
            if settings.evaluations <= search.evaluations > saved:
                _save_the_end(search, place)  # killed between its last result and its last checkpoint
            return _carry_on(
                search, problem, place, settings, execution, opened, threads, checkpoint_seconds, observer, started
            )


def _variation_name(given: Any, search: MapElites) -> str:
    """An operator by name, "vary" for what a space of solutions does itself, "own" for a function of the user's."""
    if isinstance(search.variation, operators.Operator):
        return str(search.variation)
    return "vary" if given is None else "own"


def _stored_variation(
    place: RunFolder, settings: Settings, variation: operators.VariationFunction | None
) -> operators.Operator | operators.VariationFunction | None:
    """The operator that the run began with, None for the usual one; one of the user's own has to be given again."""
    if settings.variation == "own":
        if variation is None:
            raise ValueError(
                f"{place.path}: started with a variation of your own; expected it again, as in "
                "tesselite.resume(DIR, problem, variation=...)"
            )
        return variation
    if variation is not None and str(variation) != settings.variation:
        raise ValueError(f"variation: expected none, since the run was started with {settings.variation}")
    return None if settings.variation == "vary" else operators.by_name(settings.variation)


def _resumed_execution(settings: Settings, workers: Any, retries: int | None, timeout: float | None) -> Execution:
    """The execution that the run had last, but for what is given."""
    options, kept = settings.options, settings.protection
    here = isinstance(workers, int) and workers == 0
    if workers is None and not kept and options.get("asynchronous"):
        workers = available_threads()  # as runs that kept nothing did
    if timeout is None and not here:
        timeout = kept.get("timeout")
    execution = Execution(
        workers=None if here else kept.get("workers") if workers is None else workers,
        retries=kept.get("retries", RETRIES) if retries is None else retries,
        timeout=None if timeout == math.inf else timeout,
        asynchronous=bool(options.get("asynchronous")),
        islands=options.get("islands"),
        exchange=options.get("exchange"),
    )
    if retries is not None and execution.in_process:
        raise ValueError("retries: only valid together with workers, and this run has none")
    return execution


def _catch_up(search: MapElites, place: RunFolder, settings: Settings) -> Settings:
    """Take in what the log has beyond the checkpoint; settings in which an extended budget has its place."""
    options = settings.options
    catch_up(search, EvaluationLog(place.path, search.archive.tessellation.space.n).read(), options)
    if options["budgets"][-1][1] == settings.evaluations:
        return settings
    budgets = [*options["budgets"], [search.evaluations, settings.evaluations]]
    return replace(settings, options={**options, "budgets": budgets})


def _with_window(settings: Settings, results: int, workers: Workers) -> Settings:
    """Settings in which the workers that there are now have their place."""
    windows = settings.options["windows"]
    if windows[-1][1] == window_for(workers.n):
        return settings
    return replace(settings, options={**settings.options, "windows": [*windows, [results, window_for(workers.n)]]})


def _save_the_end(search: MapElites, place: RunFolder) -> None:
    """Write what a run that has spent its budget could not write any more."""
    seconds = place.cut_progress(search.evaluations)
    rows = place.read_progress()
    if not rows or rows[-1]["evaluations"] != search.evaluations:
        place.append_progress(search, seconds)
    place.write_checkpoint(search)


def replay(folder: str | Path, problem: Problem | None = None) -> MapElites:
    """Repeat an asynchronous run from its log, without evaluating anything; the search as it was at the log's end.

    Its archive equals that of the run, if that has ended. ValueError if the run was not asynchronous. A `variation` of
    the user's own cannot be replayed here.
    """
    place = RunFolder.open(Path(folder))
    settings, _ = place.read_settings()
    if not settings.options.get("asynchronous"):
        raise ValueError(f"{folder}: not an asynchronous run; the others need no log, since their seed repeats them")
    if problem is None:
        problem = problem_of(Path(folder), settings)
    else:
        check_problem(Path(folder), settings, problem)
    niches = stored_tessellation(place, settings, problem)
    search = _search(problem, niches, _stored_variation(place, settings, None), settings.initial, settings.seed)
    log = EvaluationLog(place.path, problem.features.n)
    if not log.file.exists():
        raise ValueError(f"{log.file}: there is no such file, and a replay needs it")
    logged = log.read()
    # Settings after the log: a run that is still active notes other windows before the results that rest on them.
    catch_up(search, logged, place.read_settings()[0].options)
    return search


def _search(problem: Problem, niches: Tessellation, variation: Any, initial: int, seed: int) -> MapElites:
    return MapElites(
        problem.solutions,
        niches,
        variation,
        initial=initial,
        direction=problem.direction,
        floor=problem.floor,
        seed=seed,
    )


def _carry_on(
    search: MapElites,
    problem: Problem,
    place: RunFolder,
    settings: Settings,
    execution: Execution,
    workers: Workers | None,
    threads: int | None,
    checkpoint_seconds: float,
    observer: Observer | None,
    started: float,
) -> Summary:
    """Spend what is left of the budget, saving as we go."""
    before = place.cut_progress(search.evaluations)
    if search.evaluations >= settings.evaluations:
        return Summary(search, problem, place.path, time.perf_counter() - started, before)
    milestone = max(settings.batch_size, settings.evaluations // _PROGRESS_ROWS)
    _warm_up(search, problem, threads, in_process=workers is None)
    searching, saved_at = 0.0, time.perf_counter()
    next_row = (search.evaluations // milestone + 1) * milestone
    log = EvaluationLog(place.path, problem.features.n)
    windows = list(settings.options.get("windows", []))  # of an asynchronous run, which may get more workers
    with _signals() as received, closing(log):
        steps = steps_of(
            execution,
            workers,
            settings.options,
            search,
            problem,
            settings.evaluations,
            batch_size=settings.batch_size,
            threads=threads,
            milestone=milestone,
            log=log,
            halt=lambda: bool(received),
        )

        def save() -> None:
            log.sync()
            place.write_checkpoint(search)
            if not settings.options.get("asynchronous"):
                log.forget(search.evaluations)

        def save_what_is_found() -> None:
            if len(search.archive):
                with suppress(OSError):  # the error that we are about to raise matters more
                    save()

        while True:
            at = time.perf_counter()
            try:
                if next(steps, None) is None:
                    break
            except Halted:
                save()
                raise Interrupted(received[0], place.path, how_to_resume(place.path, settings)) from None
            except WorkersLost as error:
                save()
                raise WorkersLost(
                    f"{error}\nEverything is saved; continue with: {how_to_resume(place.path, settings)}"
                ) from None
            except Exception:  # in the user's own variation, say
                save_what_is_found()
                raise
            now = time.perf_counter()
            searching += now - at
            if settings.options.get("windows", []) != windows:
                place.write_settings(settings)  # before a result that rests on it is logged
                windows = list(settings.options["windows"])
            if search.evaluations >= next_row or search.evaluations == settings.evaluations:
                place.append_progress(search, before + searching)
                next_row = (search.evaluations // milestone + 1) * milestone
            stopping = bool(received)  # looked at once: a signal that comes while we save waits for the next batch
            if stopping or now - saved_at >= checkpoint_seconds:
                save()
                saved_at = time.perf_counter()
            if observer:
                try:
                    observer(search, settings.evaluations)
                except Exception:
                    save_what_is_found()
                    raise
            if stopping and search.evaluations < settings.evaluations:
                raise Interrupted(received[0], place.path, how_to_resume(place.path, settings))
        save()
    return Summary(search, problem, place.path, time.perf_counter() - started, before + searching)


def _warm_up(search: MapElites, problem: Problem, threads: int | None, in_process: bool) -> None:
    """Have everything compiled before the clock starts; calls no plain objective and no variation of the user's."""
    from tesselite.problems.user_function import CompiledProblem

    ours = isinstance(search.variation, operators.Operator)
    scratch = _search(problem, search.archive.tessellation, search.variation, 1, 0)
    middle = (problem.features.low + problem.features.high) / 2
    solution = scratch.ask(1)
    scratch.tell([0.0], [middle])
    if in_process and isinstance(problem, CompiledProblem):
        problem.evaluate_rows(solution, None, threads)
        if ours:
            for _ in batches(scratch, problem, 2, batch_size=1, threads=threads):
                pass
    elif ours:
        scratch.ask(1)
        scratch.tell([0.0], [middle])


@contextmanager
def _signals() -> Iterator[list[int]]:
    """A list that SIGINT and SIGTERM write themselves into, so that the batch can be finished; a second one kills."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    old = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: object) -> None:
        received.append(number)
        for both, handler in old.items():
            signal.signal(both, handler)
        # Not through sys.stderr, which the signal may have interrupted in the middle of a line.
        with suppress(OSError):
            os.write(2, b"finishing the batch, then saving; once more to stop at once\n")

    for number in old:
        signal.signal(number, note)
    try:
        yield received
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
