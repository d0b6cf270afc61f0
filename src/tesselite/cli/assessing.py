"""The commands that judge: `assess`, `compare` and `reproduce`."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.terminal import bar_label, one_line, say
from tesselite.cli.display import print_json, user_prints_to_stderr

if TYPE_CHECKING:
    from tesselite.assessment.scenarios import Assessment
    from tesselite.paper.reproduce import Display, Job
    from tesselite.paper.studies import Study

_PLAIN_SECONDS = 5.0
_PLAIN_SECONDS_STUDY = 30.0


# -- assess ------------------------------------------------------------------------------------------------------------


def assess_runs(
    folders: Sequence[Path],
    *,
    at_most: int | None,
    seed: int,
    share: Sequence[float],
    threads: int | None,
    workers: int | str | None,
    timeout: float | None,
    retries: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Assess runs in the scenarios of their problems and tell how they did."""
    from tesselite.assessment.metrics import measure
    from tesselite.assessment.scenarios import AT_MOST, assess_run
    from tesselite.assessment.tables import Table
    from tesselite.runs.problem import run_archive

    if not all(math.isfinite(x) for x in share):
        raise ValueError(f"--share: expected finite fitness values, got {', '.join(map(str, share))}")
    told = []
    for folder in folders:
        with user_prints_to_stderr(), _counted(f"{folder}", quiet) as progress:
            found = assess_run(
                folder,
                at_most=AT_MOST if at_most is None else at_most,
                seed=seed,
                threads=threads,
                on_assessed=progress,
                workers=workers,
                timeout=timeout,
                retries=retries,
            )
            metrics = measure(run_archive(folder)[0], threads=threads)
        told.append({"run": str(folder), **metrics.to_dict(), **_figures(found, share)})
        if not as_json:
            rows = [
                [name, found.best(name), found.best_niche(name), found.valid(name), *(_shares(found, name, share))]
                for name in found.settings
            ]
            sign = "<=" if found.direction == "min" else ">"
            columns = ["setting", "best", "niche", "valid", *(f"share {sign} {x:g}" for x in share)]
            typer.echo(one_line(f"{folder}: {len(found):,} of {found.elites:,} elites assessed"))
            typer.echo(f"coverage {metrics.coverage:.4g}, spread {_or_dash(metrics.spread)}, QD score "
                       f"{_or_dash(metrics.qd_score)}")  # fmt: skip
            typer.echo(_aligned(Table(columns, rows)))
            if found.changed:
                typer.echo(f"{found.changed:,} elites: fitness changed on re-evaluation; is the problem noisy?")
    if as_json:
        print_json({"runs": told})


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _shares(found: Assessment, setting: str, levels: Sequence[float]) -> list[float]:
    from tesselite.assessment.expected_quality import share

    return [float(share(found.fitness[setting], x, found.direction)) for x in levels]


def _figures(found: Assessment, levels: Sequence[float]) -> dict[str, Any]:
    return {
        "problem": found.problem,
        "assessed": len(found),
        "changed": found.changed,
        "settings": {
            name: {
                "best": found.best(name),
                "niche": found.best_niche(name),
                "valid": found.valid(name),
                "shares": dict(zip((f"{x:g}" for x in levels), _shares(found, name, levels), strict=True)),
            }
            for name in found.settings
        },
    }


def _aligned(table: Any) -> str:
    """A table for a terminal: columns of equal width."""
    from tesselite.assessment.tables import shown

    rows = [list(map(one_line, table.columns)), *([one_line(shown(cell)) for cell in row] for row in table.rows)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


@contextmanager
def _counted(name: str, quiet: bool) -> Iterator[Callable[[int, int], object] | None]:
    """What to call with evaluations done and to do: a bar on a terminal, a line now and then elsewhere."""
    if quiet:
        yield None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(bar_label(name), total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
        return
    last = [time.perf_counter()]

    def line(done: int, total: int) -> None:
        if time.perf_counter() - last[0] >= _PLAIN_SECONDS:
            last[0] = time.perf_counter()
            say(f"{name}: {done:,} of {total:,} evaluations")

    yield line


# -- compare -----------------------------------------------------------------------------------------------------------


def check_folder(out: Path) -> None:
    """ValueError if results cannot go there."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder, {out} is a file")


def compare_runs(
    runs: Sequence[Path],
    against: Sequence[Path],
    out: Path,
    *,
    names: Sequence[str],
    share: Sequence[float],
    kind: str,
    threads: int | None,
    workers: int | str | None,
    timeout: float | None,
    retries: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare two sets of runs of one problem: tables, tests and figures in a folder."""
    from tesselite.assessment.folder_comparison import check_comparable, compare_folders

    if names and (len(names) != 2 or names[0] == names[1] or not all(name.strip() for name in names)):
        raise ValueError(f"--names: expected two that differ, one for each set of runs, got {', '.join(names)}")
    check_folder(out)
    first, second = names or ("first", "second")
    groups = {first: list(runs), second: list(against)}
    notes = check_comparable(groups)
    for note in notes:
        say(f"Note: {note}")
    with user_prints_to_stderr(), _counted("assessing", quiet) as progress:
        comparison, queries = compare_folders(
            groups,
            share,
            threads=threads,
            on_assessed=progress,
            workers=workers,
            timeout=timeout,
            retries=retries,
        )
    from tesselite.report.comparison_report import write_comparison

    files = write_comparison(comparison, out, queries, kind, notes)
    tests = comparison.tests_table([(first, second)], queries)
    if as_json:
        rows = [dict(zip(tests.columns, row, strict=True)) for row in tests.rows]
        print_json({"tests": rows, "files": [str(file) for file in files]})
        return
    typer.echo(_aligned(tests))
    typer.echo(one_line(files[0]))


# -- reproduce ---------------------------------------------------------------------------------------------------------


def reproduce_study(
    name: str,
    out: Path,
    *,
    trials: int | None,
    evaluations: int | None,
    descriptors: Sequence[str] | None,
    cvt_samples: int | None,
    centroids: Path | None,
    workers: int | str | None,
    reuse: Sequence[Path],
    keep_runs: bool,
    forecast_only: bool,
    report_only: bool,
    quick: bool,
    kind: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run what is missing of a study, then write its tables, figures and report."""
    from tesselite.paper.studies import SETS, STUDIES, of_descriptors, scaled, with_centroids

    check_folder(out)
    if name == "concept":
        if forecast_only or report_only:
            raise ValueError("concept: has no trials to forecast or to report; it draws figures in seconds")
        if trials is not None or evaluations is not None or descriptors or cvt_samples is not None or quick or reuse:
            raise ValueError("concept: draws figures and has no trials; expected no options of trials")
        from tesselite.paper.concept import concept_figures

        tell_studies([{"files": [str(file) for file in concept_figures(out, kind)]}], as_json, every_file=True)
        return
    if name == "unbounded":
        if forecast_only or report_only or cvt_samples is not None or centroids or reuse or keep_runs or workers:
            raise ValueError(
                "unbounded: takes --trials, --evaluations, --descriptors (tasks), --quick and --format only"
            )
        from tesselite.paper.unbounded import TRIALS, carry_out

        files = carry_out(
            out,
            tasks=descriptors or (["arm", "ring"] if quick else None),
            trials=trials or (1 if quick else TRIALS),
            evaluations=evaluations or (2000 if quick else None),
            kind=kind,
            say=(lambda text: None) if quiet else lambda text: typer.echo(text, err=True),
        )
        tell_studies([{"study": name, "files": [str(file) for file in files]}], as_json, every_file=True)
        return
    known = (*STUDIES, *SETS, "concept", "unbounded")
    if name not in known:
        raise ValueError(f"study: expected one of {', '.join(known)}, got {name!r}")
    if trials is not None and trials < 1:
        raise ValueError(f"--trials: expected at least 1, got {trials}")
    if isinstance(workers, int) and workers < 1:
        raise ValueError(f"--workers: expected at least 1, got {workers}")
    if forecast_only and report_only:
        raise ValueError("--forecast: expected without --report; one says what is to come, the other what there is")
    parts = SETS.get(name, (name,))
    # All are checked before the first, which may take days, begins.
    full = {part: STUDIES[part]() for part in parts}
    if centroids is not None:
        full = {part: with_centroids(study, centroids) for part, study in full.items()}
    studies = {
        part: (scaled(full[part], evaluations=evaluations, cvt_samples=cvt_samples, quick=quick), wanted)
        for part, wanted in _shared_out(descriptors, full).items()
    }
    told = [
        carry_out_study(
            study,
            study if wanted is None else of_descriptors(study, wanted),
            out if len(parts) == 1 else out / part,
            trials=trials or (2 if quick else study.paper_trials),
            workers=workers or (1 if quick else None),  # starting processes would take longer than such trials
            reuse=reuse,
            keep_runs=keep_runs,
            forecast_only=forecast_only,
            report_only=report_only,
            kind=kind,
            quiet=quiet,
        )
        for part, (study, wanted) in studies.items()
        if not (report_only and len(parts) > 1) or any((out / part).glob("trials/*/*.json"))
    ]
    tell_studies(told, as_json)


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


def carry_out_study(
    study: Study,
    wanted: Study,
    out: Path,
    *,
    trials: int,
    workers: int | str | None,
    reuse: Sequence[Path],
    keep_runs: bool,
    forecast_only: bool,
    report_only: bool,
    kind: str,
    quiet: bool,
    write: Callable[[Study, Path, str], list[Path]] | None = None,
) -> dict[str, Any]:
    """One study: forecast, trials of what is wanted of it, a report of all that is there; returns what to tell.

    `write` writes the report; that of the paper's studies by default.
    """
    from tesselite.base.threads import available_threads
    from tesselite.paper import reproduce
    from tesselite.paper.study_forecast import forecast
    from tesselite.paper.study_report import as_run, write_report

    write = write or write_report
    if report_only:
        return {"study": study.name, "files": [str(file) for file in write(as_run(study, out), out, kind)]}
    done = reproduce.read_trials(study, out)  # refuses a folder of other settings before anything is done
    taken = reproduce.adoptable(wanted, out, reuse)
    if not forecast_only:
        reproduce.adopt(wanted, out, reuse)
    if taken and not quiet:
        word = "can be taken" if forecast_only else "taken"
        say(f"{len(taken)} trials {word} over from {', '.join(map(str, reuse))}")
    jobs = reproduce.missing_jobs(wanted, out, trials, threads=1, keep_runs=keep_runs)
    if forecast_only:
        jobs = [
            job for job in jobs
            if job.number is None or reproduce.trial_file(out, job.pair.name, job.number) not in taken
        ]  # fmt: skip
    where = workers or reproduce.default_workers(jobs)
    n_workers = where if isinstance(where, int) else 1  # of a cluster's size we know nothing yet
    threads = 1 if isinstance(where, str) else max(1, available_threads() // n_workers)
    jobs = [replace(job, threads=threads) for job in jobs]
    expected = forecast(jobs, done, n_workers)
    if jobs and not quiet:
        of = f"{n_workers} workers" if where == n_workers else "on one worker"
        say(f"{study.title}: {expected} ({of})")
    if forecast_only:
        return {"study": study.name, **asdict(expected)}
    failed = None
    try:
        with _study_display(quiet) as display:
            reproduce.carry_out(jobs, workers=where, display=display)
    except reproduce.Stopped as stopped:
        say(stopped)
        raise typer.Exit(128 + stopped.signal_number) from None
    except reproduce.JobsFailed as error:
        failed = error  # what is there is reported all the same
    if failed is None or any(reproduce.read_trials(study, out).values()):
        files = write(study, out, kind)
    if failed is not None:
        raise failed
    return {"study": study.name, "files": [str(file) for file in files]}


def tell_studies(results: Sequence[dict[str, Any]], as_json: bool, every_file: bool = False) -> None:
    """One JSON object, of the study or with a list of the studies; or the files to look at, a line each."""
    if as_json:
        print_json(results[0] if len(results) == 1 else {"studies": list(results)})
        return
    for result in results:
        if result.get("n_trials") == 0:
            typer.echo(f"{result['study']}: nothing is left to run")
        for file in result.get("files", [])[: None if every_file else 1]:
            typer.echo(one_line(file))


@contextmanager
def _study_display(quiet: bool) -> Iterator[Display | None]:
    """An overall bar and a line for each running job on a terminal; lines now and then elsewhere."""
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
        """The whole above, what runs below."""

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
        """A line for each finished job, and every half minute where the running ones are."""

        def begin(self, jobs: Sequence[Job]) -> None:
            self.n, self.done, self.began = len(jobs), 0, time.perf_counter()
            self.last = self.began

        def update(self, name: str, stage: str, done: int, total: int) -> None:
            if time.perf_counter() - self.last >= _PLAIN_SECONDS_STUDY:
                self.last = time.perf_counter()
                say(f"{self.done} of {self.n} jobs; {name}: {stage} {done:,} of {total:,}")

        def finish(self, name: str) -> None:
            self.done += 1
            seconds = time.perf_counter() - self.began
            say(f"{self.done} of {self.n} jobs done after {seconds:,.0f} s: {name}")

    return Lines()
