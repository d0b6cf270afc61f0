"""Running a study: every missing trial, in parallel, stopped and continued at any point.

    OUT/trials/PAIR/000.json   the summary of a trial; results are made from these alone
    OUT/work/                  tessellations, and runs that are not summed up yet; can be deleted when all is done
    OUT/tables, OUT/figures, OUT/report.md

What is run is decided in `studies`; the report is written in `study_report`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tesselite.assessment.comparison import Comparison, Group
from tesselite.assessment.scenarios import Evaluating, assess_run
from tesselite.assessment.trial import Trial, summarise_run
from tesselite.base.interruption import noted_signals
from tesselite.base.threads import available_threads
from tesselite.emitters.names import by_name as by_name_emitter
from tesselite.execution.workers import Task, Workers, open_workers
from tesselite.execution.workers.farm import RETRIES
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.processes import Processes, report
from tesselite.paper.studies import CVT_ITERATIONS, CVT_TOLERANCE, Pair, Study
from tesselite.problems import by_name
from tesselite.runs.carry_on import Interrupted, Run, RunDisplay
from tesselite.runs.plan import Budget, Plan
from tesselite.runs.run import Options, continue_run, start_run
from tesselite.tessellation.niches import niches_of
from tesselite.tessellation.protocol import Tessellation

Report = Callable[[str, int, int], object]

_CHECKPOINT_SECONDS = 300.0  # the largest archives take a while to write


class JobsFailed(RuntimeError):
    """Some jobs of a reproduction failed; all others are done."""


class Stopped(Interrupted):
    """A reproduction was stopped by a signal; the same command continues it."""

    def __init__(self, signal_number: int, folder: Path) -> None:
        KeyboardInterrupt.__init__(self, f"stopped; the same command continues the work in {folder}")
        self.signal_number = signal_number
        self.folder = folder


@dataclass(frozen=True)
class Job:
    """One piece of work for a process: the tessellation of a pair, or (with a number) a trial of it."""

    pair: Pair
    number: int | None
    levels: tuple[float, ...]
    out: Path
    threads: int
    keep_runs: bool

    @property
    def name(self) -> str:
        """Its name in displays."""
        return f"{self.pair.name}, CVT" if self.number is None else f"{self.pair.name}, trial {self.number}"


def trial_seed(identity: str, number: int) -> int:
    """The seed of a pair's trial: fixed, and different for each pair, so that pairs are independent."""
    return int.from_bytes(hashlib.sha256(f"{identity}/{number}".encode()).digest()[:4], "big")


def trial_file(out: Path, pair: str, number: int) -> Path:
    """Where the summary of a trial is."""
    return out / "trials" / pair / f"{number:03d}.json"


def tessellation_file(out: Path, pair: Pair) -> Path | None:
    """Where the centroids of a pair are; pairs with the same ones share the file. None where none are to be made."""
    if pair.n_samples is None:
        return None
    problem = re.sub("[^a-z0-9.]+", "-", pair.problem)
    sampler = f"-{pair.cvt_sampler}" if pair.cvt_sampler else ""
    name = f"{problem}-k{pair.n_niches}-n{pair.n_samples}-p{pair.p:g}-i{pair.cvt_iterations}{sampler}-child.parquet"
    return out / "work" / "cvt" / name


def work_folder(job: Job) -> Path:
    """The folder of a trial's run until it is summarised. Its name contains all settings, so that they are never
    mixed."""
    settings = json.dumps(job.pair.settings(), sort_keys=True)
    digest = hashlib.sha256(settings.encode()).hexdigest()[:8]
    return job.out / "work" / f"{job.pair.name}-{job.number:03d}-{digest}"


def read_trials(study: Study, out: Path) -> dict[str, list[Trial]]:
    """All trials in a folder by pair, checked to be of this study; ValueError if one has other settings."""
    found: dict[str, list[Trial]] = {}
    for pair in study.pairs:
        files = sorted((out / "trials" / pair.name).glob("*.json"))
        trials = [Trial.load(file) for file in files]
        for file, trial in zip(files, trials, strict=True):
            if file != trial_file(out, pair.name, trial.number) or trial.seed != trial_seed(
                pair.identity, trial.number
            ):
                raise ValueError(
                    f"{file}: expected trial {file.stem} of {pair.name} with the seed of that trial, got trial "
                    f"{trial.number} with seed {trial.seed}: a copy under another name? Remove it"
                )
            wanted = pair.settings()
            if of_earlier_draws(trials):
                wanted.pop("cvt_draws", None)
            if trial.settings != wanted or trial.levels != study.levels:
                differing = [
                    f"{name} {trial.settings.get(name)} instead of {wanted.get(name)}"
                    for name in sorted({*trial.settings, *wanted})
                    if trial.settings.get(name) != wanted.get(name)
                ]
                raise ValueError(
                    f"{out}: trial {trial.number} of {pair.name} was made with other settings "
                    f"({', '.join(differing) or 'levels'}); choose another folder or the same options"
                )
        found[pair.name] = trials
    return found


def of_earlier_draws(trials: Sequence[Trial]) -> bool:
    """Whether the CVT of these trials of a pair comes from the stream of before: reported, but nothing is added."""
    return all("n_samples" in trial.settings and "cvt_draws" not in trial.settings for trial in trials)


def adoptable(study: Study, out: Path, sources: Sequence[Path]) -> dict[Path, Trial]:
    """Trials of another study with the same settings and levels, and their file names here.

    The appendix shares pairs with the main experiments, and the seed of a trial rests on its pair alone.
    """
    known = {}
    for source in sources:
        files = sorted((source / "trials").glob("*/*.json"))
        if not files:
            raise ValueError(f"{source}: expected a folder of a reproduction, found no trials in it")
        for file in files:
            trial = Trial.load(file)
            known[_signature(trial.settings, trial.levels, trial.number)] = trial
    found = {}
    for pair in study.pairs:
        for (signature, number), trial in known.items():
            if signature == _signature(pair.settings(), study.levels, number)[0]:
                file = trial_file(out, pair.name, number)
                if not file.exists():
                    found[file] = replace(trial, group=pair.name)
    return found


def adopt(study: Study, out: Path, sources: Sequence[Path]) -> int:
    """Copy what is `adoptable`; returns how many trials. If `out` has trials of other settings: ValueError, no copy."""
    read_trials(study, out)
    found = adoptable(study, out, sources)
    for file, trial in found.items():
        trial.save(file)
    return len(found)


def _signature(settings: dict[str, Any], levels: tuple[float, ...], number: int) -> tuple[str, int]:
    return json.dumps([settings, levels], sort_keys=True), number


def comparison_of(study: Study, trials: dict[str, list[Trial]]) -> Comparison | None:
    """The pairs that have trials, side by side; None if none has."""
    groups = tuple(
        Group(pair.name, pair.label, tuple(trials[pair.name]), pair.family, pair.ours)
        for pair in study.pairs
        if trials[pair.name]
    )
    if not groups:
        return None
    return Comparison(groups, study.fitness_name, study.scale, study.training_name)


# -- what a process does -----------------------------------------------------------------------------------------------


def _tessellation(job: Job) -> Tessellation:
    """The niches of the job's pair; a CVT is made once and kept in a file."""
    from tesselite.tessellation.cvt import cvt
    from tesselite.tessellation.files import load_tessellation
    from tesselite.tessellation.grid import GridTessellation
    from tesselite.tessellation.samplers import with_sampler

    file, pair = tessellation_file(job.out, job.pair), job.pair
    space = by_name(pair.problem).features
    if pair.source:
        return load_tessellation(pair.source, space)
    if file is None:
        assert pair.grid is not None
        return GridTessellation(space, pair.grid, cells=pair.cells or "equal")
    if file.exists():
        return load_tessellation(file, space)
    assert pair.n_niches is not None
    file.parent.mkdir(parents=True, exist_ok=True)  # before the work: report a folder that cannot be written to now
    if pair.cvt_sampler == "arena":
        space = with_sampler(space, None)
    made = cvt(
        space,
        pair.n_niches,
        n_samples=pair.n_samples,
        seed=trial_seed(file.stem, 0),
        p=pair.p,
        method="lloyd",
        iterations=CVT_ITERATIONS if pair.cvt_iterations is None else pair.cvt_iterations,
        tolerance=CVT_TOLERANCE,
        threads=job.threads,
        cache=True,
    )
    made.save(file)
    return made


def run_job(job: Job, report: Report) -> None:
    """Do one job, continuing where it stopped. `report(stage, done, total)` is called with the progress."""
    if job.number is None:
        report("CVT", 0, 1)
        _tessellation(job)
        return
    file = trial_file(job.out, job.pair.name, job.number)
    if file.exists():
        return
    pair = job.pair
    problem = by_name(pair.problem)
    folder = work_folder(job)
    seed = trial_seed(pair.identity, job.number)

    class Reported(RunDisplay):
        """Reports how far the search has come."""

        def searching(self, run: Run, evaluations: int) -> None:
            report("search", evaluations, run.budget)

    if folder.exists() and not (folder / "settings.json").exists():
        shutil.rmtree(folder)  # killed before it began
    options = Options(job.threads, _CHECKPOINT_SECONDS, display=Reported())
    if folder.exists():
        continue_run(folder, problem, options=options)
    else:
        plan = Plan.of(
            problem,
            niches_of(tessellation=_tessellation(job), space=problem.features),
            Budget(pair.evaluations, pair.initial, pair.batch_size),
            emitter=by_name_emitter(pair.variation) if pair.variation else None,
            seed=seed,
        )
        start_run(plan, problem, folder, options)
    assessing = time.perf_counter()
    assessment = assess_run(
        folder,
        problem,
        at_most=pair.at_most,
        seed=seed,
        how=Evaluating(threads=job.threads, on_assessed=lambda done, total: report("assessment", done, total)),
    )
    seconds = {"assessment": time.perf_counter() - assessing}
    made = summarise_run(folder, assessment, job.levels, group=pair.name, number=job.number, threads=job.threads)
    replace(made, settings=pair.settings(), seconds=made.seconds | seconds).save(file)
    if not job.keep_runs:
        shutil.rmtree(folder)


def run_on_worker(_: None, job: Job) -> str:
    """`run_job` on a worker: reports progress, and returns the outcome: done, stopped, or failed and why."""
    last = [0.0]

    def tell(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - last[0] > 0.5:
            last[0] = now
            report((stage, done, total))

    try:
        run_job(job, tell)
    except Interrupted:
        return "stopped"
    except Exception as error:
        return f"failed: {_told(error)}"
    return "done"


def _told(error: Exception) -> str:
    """The text of an error for a user: the message of an input error, otherwise the traceback."""
    return str(error) if isinstance(error, ValueError | OSError) else "".join(traceback.format_exception(error))


# -- what the parent does ----------------------------------------------------------------------------------------------


def missing_jobs(study: Study, out: Path, trials: int, *, threads: int, keep_runs: bool) -> list[Job]:
    """The missing jobs for this many trials of each pair: tessellations where needed, trial 0 of all pairs first."""
    done = read_trials(study, out)  # refuse a folder of other settings before anything is done
    jobs, made = [], set()
    for number in range(trials):
        for pair in study.pairs:
            if trial_file(out, pair.name, number).exists():
                continue
            if done[pair.name] and of_earlier_draws(done[pair.name]):
                raise ValueError(
                    f"{out}: the CVT of {pair.name} was drawn by an earlier version; its trials can be reported, but "
                    "new ones need another folder"
                )
            file = tessellation_file(out, pair)
            if file is not None and not file.exists() and file not in made:
                made.add(file)
                jobs.append(Job(pair, None, study.levels, out, threads, keep_runs))
            jobs.append(Job(pair, number, study.levels, out, threads, keep_runs))
    return jobs


@dataclass
class Display:
    """Callbacks for progress; this one shows nothing."""

    def begin(self, jobs: Sequence[Job]) -> None:
        """The jobs that will be done."""

    def update(self, name: str, stage: str, done: int, total: int) -> None:
        """A job is at `done` of `total` in a stage."""

    def finish(self, name: str) -> None:
        """A job is finished."""


def carry_out(jobs: Sequence[Job], *, workers: int | str = 1, display: Display | None = None) -> None:
    """Do all jobs: with one worker in this process, otherwise in this many processes, or on a Dask cluster at this
    address.

    A Dask cluster must see the same folders. Stopped (by SIGINT or SIGTERM) is raised after everything is saved. A job
    that fails does not stop the others; JobsFailed reports it at the end.
    """
    display = display or Display()
    display.begin(jobs)
    if not jobs:
        return
    if workers == 1:
        _one_by_one(jobs, display)
        return

    def hear(task: Task, content: tuple[str, int, int]) -> None:
        display.update(task.args[0].name, *content)

    if isinstance(workers, int):
        opened: Workers = Processes(workers, threads=max(job.threads for job in jobs), on_report=hear)
    else:
        opened = open_workers(workers)
    with opened:
        _in_parallel(list(jobs), opened, display)


def _one_by_one(jobs: Sequence[Job], display: Display) -> None:
    failures = []
    for job in jobs:
        try:
            run_job(job, lambda stage, done, total, name=job.name: display.update(name, stage, done, total))  # type: ignore[misc]
        except Interrupted as error:
            raise Stopped(error.signal_number, job.out) from None
        except Exception as error:
            failures.append(f"{job.name}: {_told(error)}")
        display.finish(job.name)
    _check_failures(failures)


def _check_failures(failures: Sequence[str]) -> None:
    if failures:
        raise JobsFailed(f"{len(failures)} jobs failed; the others are done.\n" + "\n".join(failures))


def _in_parallel(waiting: list[Job], workers: Workers, display: Display) -> None:
    out, running, failures = waiting[0].out, dict[int, Job](), list[str]()
    numbers, losses, stopping = itertools.count(), Counter[str](), False
    workers.start(Payload.of(None))
    with noted_signals() as received:
        while waiting or running:
            while not received and workers.room() > 0 and (job := _next(waiting, list(running.values()))) is not None:
                waiting.remove(job)
                task = Task(next(numbers), run_on_worker, (job,))
                running[task.number] = job
                workers.submit(task)
            if received and not stopping:
                stopping = True
                waiting.clear()
                if isinstance(workers, Processes):
                    workers.terminate()  # each saves its run and comes back
                else:
                    running.clear()
            for outcome in workers.wait(0.2):
                job = running.pop(outcome.task.number, None)
                if job is None:
                    continue  # abandoned when we were stopped
                lost = outcome.lost or ("its worker was stopped" if outcome.value == "stopped" else None)
                if lost and stopping:
                    continue  # the same command continues it
                if lost:
                    losses[job.name] += 1
                    if losses[job.name] <= RETRIES:
                        waiting.insert(0, job)  # it continues from its last checkpoint
                        continue
                    failures.append(f"{job.name}: {lost}")
                elif outcome.value.startswith("failed"):
                    failures.append(f"{job.name} {outcome.value}")
                display.finish(job.name)
                if job.number is None and not _is_done(job):
                    # Without its tessellation no trial of this kind can run.
                    file = tessellation_file(job.out, job.pair)
                    waiting[:] = [j for j in waiting if tessellation_file(j.out, j.pair) != file]
        if received:
            raise Stopped(received[0], out)
    _check_failures(failures)


def _is_done(job: Job) -> bool:
    if job.number is None:
        file = tessellation_file(job.out, job.pair)
        return file is not None and file.exists()
    return trial_file(job.out, job.pair.name, job.number).exists()


def _next(waiting: Sequence[Job], running: Sequence[Job]) -> Job | None:
    """The first job that does not wait for a tessellation that is being made."""
    being_made = {tessellation_file(job.out, job.pair) for job in running if job.number is None}
    for job in waiting:
        if job.number is None or tessellation_file(job.out, job.pair) not in being_made:
            file = tessellation_file(job.out, job.pair)
            if job.number is not None and file is not None and not file.exists():
                continue  # its own CVT job is still in the queue
            return job
    return None


def default_workers(jobs: Sequence[Job]) -> int:
    """As many processes as cores, or as trials if these are fewer."""
    return max(1, min(available_threads(), sum(job.number is not None for job in jobs)))
