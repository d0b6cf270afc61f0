"""The implementation of `reproduce` and `bench`, and of any study: forecast, trials, report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.checks import checked_count
from tesselite.base.terminal import one_line, say
from tesselite.cli.assess_runs import check_folder
from tesselite.cli.options import split_names
from tesselite.cli.output import print_json

if TYPE_CHECKING:
    from tesselite.cli.commands.studying import BenchOptions, ReproduceOptions
    from tesselite.cli.options import TrialOptions
    from tesselite.paper.reproduce import Display, Job
    from tesselite.paper.studies import Study

_PLAIN_SECONDS = 30.0


def reproduce_study(options: ReproduceOptions) -> None:
    """Run the missing trials of a study, then write its tables, figures and report."""
    from tesselite.paper.studies import SETS, STUDIES

    check_folder(options.out)
    special = {"concept": _concept, "unbounded": _unbounded}
    known = (*STUDIES, *SETS, *special)
    if options.study in special:
        files = special[options.study](options)
        tell_studies([{"study": options.study, "files": [str(file) for file in files]}], options.how.as_json, True)
    elif options.study in known:
        options.how.check(options.trials)
        tell_studies(_carry_out_all(options), options.how.as_json)
    else:
        raise ValueError(f"study: expected one of {', '.join(known)}, got {options.study!r}")


def _concept(options: ReproduceOptions) -> list[Path]:
    """The figures that explain the idea."""
    if options.how.forecast or options.how.report:
        raise ValueError("concept: --forecast and --report are not valid; it only draws figures, in seconds")
    of_trials = (options.trials, options.evaluations, options.descriptors or None, options.cvt_samples, options.reuse)
    if options.quick or any(value is not None for value in of_trials):
        raise ValueError("concept: options of trials are not valid; it only draws figures")
    from tesselite.paper.concept import concept_figures

    return concept_figures(options.out, options.how.kind)


def _unbounded(options: ReproduceOptions) -> list[Path]:
    """The study of features without known bounds."""
    how, quick = options.how, options.quick
    unused = (how.forecast, how.keep_runs, how.where, options.centroids, options.reuse)
    if any(unused) or options.cvt_samples is not None:
        raise ValueError(
            "unbounded: takes --trials, --evaluations, --pairs (tasks such as ring or maze-2d/dns), --quick, --report "
            "and --format only"
        )
    from tesselite.paper.unbounded import TRIALS, run_missing
    from tesselite.paper.unbounded_report import write_report

    if not how.report:
        run_missing(
            options.out,
            tasks=split_names(options.descriptors) or (["arm", "ring"] if quick else None),
            trials=(1 if quick else TRIALS) if options.trials is None else checked_count("--trials", options.trials),
            evaluations=options.evaluations or (2000 if quick else None),
            say=(lambda text: None) if how.quiet else say,
        )
    return write_report(options.out, how.kind)


def _carry_out_all(options: ReproduceOptions) -> list[dict[str, Any]]:
    """The study, or all those that the name stands for; returns a summary of each."""
    from tesselite.paper.studies import SETS, STUDIES, of_descriptors, scaled, with_centroids

    out, how, quick = options.out, options.how, options.quick
    parts = SETS.get(options.study, (options.study,))
    # All are checked before the first, which may take days, begins.
    full = {part: STUDIES[part]() for part in parts}
    if options.centroids is not None:
        full = {part: with_centroids(study, options.centroids) for part, study in full.items()}
    studies = {
        part: (
            scaled(full[part], evaluations=options.evaluations, cvt_samples=options.cvt_samples, quick=quick),
            wanted,
        )
        for part, wanted in _shared_out(split_names(options.descriptors) or None, full).items()
    }
    if quick and how.where is None:
        how = replace(how, workers=1)  # starting processes would take longer than such trials
    return [
        carry_out_study(
            study,
            out if len(parts) == 1 else out / part,
            options.trials or (2 if quick else study.paper_trials),
            how,
            wanted=study if wanted is None else of_descriptors(study, wanted),
            reuse=options.reuse or (),
        )
        for part, (study, wanted) in studies.items()
        if not (how.report and len(parts) > 1) or any((out / part).glob("trials/*/*.json"))
    ]


def _shared_out(descriptors: Sequence[str] | None, studies: Mapping[str, Study]) -> dict[str, Sequence[str] | None]:
    """Which descriptors (or pairs) each study gets: of several studies each its own; those without any are left out."""
    if descriptors is None:
        return dict.fromkeys(studies)
    known = {
        name: {known for pair in study.pairs for known in (pair.descriptor, pair.name)}
        for name, study in studies.items()
    }
    strange = [name for name in descriptors if not any(name in own for own in known.values())]
    if strange or not descriptors:
        pairs = [pair for study in studies.values() for pair in study.pairs]
        there = ", ".join(dict.fromkeys([pair.descriptor for pair in pairs] + [pair.name for pair in pairs]))
        raise ValueError(f"--descriptors: expected some of {there}, got {', '.join(strange) or 'none'}")
    given = {name: [d for d in descriptors if d in own] for name, own in known.items()}
    return {name: mine for name, mine in given.items() if mine}


def run_benchmarks(options: BenchOptions) -> None:
    """Run the trials that are missing, then write the table, the curves and the report."""
    from tesselite.bench.bench_report import results, write_report
    from tesselite.bench.benchmarks import study_of
    from tesselite.paper.study_report import as_run

    out, how = options.out, options.how
    check_folder(out)
    how.check(options.trials)
    study = study_of(options.benchmarks or [], options.algorithm or [], options.evaluations)
    told = carry_out_study(study, out, options.trials, how, write=write_report)
    if how.as_json and not how.forecast:
        told["results"] = results(as_run(study, out), out)
    tell_studies([told], how.as_json)


def carry_out_study(
    study: Study,
    out: Path,
    trials: int,
    how: TrialOptions,
    *,
    wanted: Study | None = None,
    reuse: Sequence[Path] = (),
    write: Callable[[Study, Path, str], list[Path]] | None = None,
) -> dict[str, Any]:
    """One study: forecast, the `wanted` trials, a report of all trials; returns a summary.

    `write` writes the report; that of the paper's studies by default.
    """
    from tesselite.paper import reproduce
    from tesselite.paper.study_forecast import forecast
    from tesselite.paper.study_report import as_run, write_report

    write = write or write_report
    if how.report:
        return {"study": study.name, "files": [str(file) for file in write(as_run(study, out), out, how.kind)]}
    done = reproduce.read_trials(study, out)  # refuses a folder of other settings before anything is done
    jobs, where = _jobs(wanted or study, out, trials, how, reuse)
    n_workers = where if isinstance(where, int) else 1  # the cluster's size is not known yet
    expected = forecast(jobs, done, n_workers)
    if jobs and not how.quiet:
        of = f"{n_workers} workers" if where == n_workers else "on one worker"
        say(f"{study.title}: {expected} ({of})")
    if how.forecast:
        return {"study": study.name, **asdict(expected)}
    failed = None
    try:
        with _study_display(how.quiet) as display:
            reproduce.carry_out(jobs, workers=where, display=display)
    except reproduce.Stopped as stopped:
        say(stopped)
        raise typer.Exit(128 + stopped.signal_number) from None
    except reproduce.JobsFailed as error:
        failed = error  # existing trials are reported anyway
    if failed is None or any(reproduce.read_trials(study, out).values()):
        files = write(study, out, how.kind)
    if failed is not None:
        raise failed
    return {"study": study.name, "files": [str(file) for file in files]}


def _jobs(
    wanted: Study, out: Path, trials: int, how: TrialOptions, reuse: Sequence[Path]
) -> tuple[list[Job], int | str]:
    """The remaining jobs, after trials of other folders are copied, and their workers."""
    from tesselite.base.threads import available_threads
    from tesselite.paper import reproduce

    taken = reproduce.adoptable(wanted, out, reuse)
    if not how.forecast:
        reproduce.adopt(wanted, out, reuse)
    if taken and not how.quiet:
        word = "can be taken" if how.forecast else "taken"
        say(f"{len(taken)} trials {word} over from {', '.join(map(str, reuse))}")
    jobs = reproduce.missing_jobs(wanted, out, trials, threads=1, keep_runs=how.keep_runs)
    if how.forecast:
        jobs = [
            job for job in jobs
            if job.number is None or reproduce.trial_file(out, job.pair.name, job.number) not in taken
        ]  # fmt: skip
    where = how.where or reproduce.default_workers(jobs)
    threads = 1 if isinstance(where, str) else max(1, available_threads() // where)
    return [replace(job, threads=threads) for job in jobs], where


def tell_studies(results: Sequence[dict[str, Any]], as_json: bool, every_file: bool = False) -> None:
    """One JSON object, of the study or with a list of the studies; or the files to look at, a line each."""
    if as_json:
        print_json(results[0] if len(results) == 1 else {"studies": list(results)})
        return
    for result in results:
        if result.get("n_trials") == 0:
            typer.echo(f"{result['study']}: all trials are finished")
        for file in result.get("files", [])[: None if every_file else 1]:
            typer.echo(one_line(file))


@contextmanager
def _study_display(quiet: bool) -> Iterator[Display | None]:
    """An overall bar and a line for each running job on a terminal; occasional lines elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as bars:
            yield _bars(bars)
    else:
        yield _lines()


def _bars(bars: Any) -> Display:
    from tesselite.paper.reproduce import Display

    class Bars(Display):
        """The whole above, the running jobs below."""

        def begin(self, jobs: Sequence[Job]) -> None:
            self.overall = bars.add_task("all jobs", total=len(jobs))
            self.tasks: dict[str, Any] = {}

        def update(self, name: str, stage: str, done: int, total: int) -> None:
            if name not in self.tasks:
                self.tasks[name] = bars.add_task(name, total=total)
            bars.update(self.tasks[name], description=f"{name}: {stage}", completed=done, total=total)

        def finish(self, name: str) -> None:
            if name in self.tasks:
                bars.remove_task(self.tasks.pop(name))
            bars.advance(self.overall)

    return Bars()


def _lines() -> Display:
    from tesselite.paper.reproduce import Display

    class Lines(Display):
        """A line for each finished job, and the state of the running ones every half minute."""

        def begin(self, jobs: Sequence[Job]) -> None:
            self.n, self.done, self.began = len(jobs), 0, time.perf_counter()
            self.last = self.began

        def update(self, name: str, stage: str, done: int, total: int) -> None:
            if time.perf_counter() - self.last >= _PLAIN_SECONDS:
                self.last = time.perf_counter()
                say(f"{self.done} of {self.n} jobs; {name}: {stage} {done:,} of {total:,}")

        def finish(self, name: str) -> None:
            self.done += 1
            seconds = time.perf_counter() - self.began
            say(f"{self.done} of {self.n} jobs done after {seconds:,.0f} s: {name}")

    return Lines()
