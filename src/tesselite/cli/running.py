"""The commands that search: `run` and `resume`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tesselite.base.terminal import one_line, say
from tesselite.cli.display import print_json, user_prints_to_stderr
from tesselite.cli.look import trust_problem
from tesselite.cli.tessellating import say_what_to_expect
from tesselite.emitters import names, operators
from tesselite.emitters.emitter import Emitter
from tesselite.emitters.uniform_parents import uniform
from tesselite.execution.execution import Execution
from tesselite.problems import by_name
from tesselite.problems.problem import Problem
from tesselite.runs.carry_on import Interrupted, Run
from tesselite.runs.display import shown_run
from tesselite.runs.folder import RunFolder, progress_of
from tesselite.runs.plan import Plan
from tesselite.runs.run import replay, resume, start_run
from tesselite.runs.stall import stall_of
from tesselite.search.map_elites import INITIAL
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.files import load_tessellation
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.growing import growing_by_name
from tesselite.tessellation.kind import Niches
from tesselite.tessellation.niches import Cvt, niches_of
from tesselite.tessellation.own import by_name as tessellation_by_name
from tesselite.tessellation.population import population_by_name
from tesselite.tessellation.protocol import Tessellation

if TYPE_CHECKING:
    from tesselite.tessellation.voronoi import VoronoiTessellation

DEFAULT_NICHES = 5000
EVALUATIONS = 100_000


@dataclass(frozen=True)
class Wanted:
    """What the options of `tesselite run` ask for; None stands for the default, or for what the paper did."""

    niches: int | None
    grid: Any
    cells: str | None
    grow: str | None
    population: str | None
    centroids: Path | None
    tessellation: str | None
    samples: int | None
    p: float
    method: str | None
    paper: bool
    evaluations: int | None
    initial: int | None
    batch_size: int | None
    variation: str | None
    emitter: str | None
    seed: int | None
    start: Path | None
    patience: int | None
    rise: float | None

    def plan(self, spec: str, problem: Problem, execution: Execution) -> Plan:
        """The plan of the run."""
        wanted = self._as_in_the_paper(spec) if self.paper else self
        return Plan.of(
            problem,
            wanted._niches(spec, problem.features),
            evaluations=EVALUATIONS if wanted.evaluations is None else wanted.evaluations,
            emitter=wanted._emitter(),
            initial=INITIAL if wanted.initial is None else wanted.initial,
            batch_size=wanted.batch_size,
            seed=wanted.seed,
            execution=execution,
            start=wanted.start,
            stall=stall_of(wanted.patience, wanted.rise),
        )

    def _emitter(self) -> Emitter | None:
        if self.variation is None:
            return None if self.emitter is None else names.by_name(self.emitter)
        if self.emitter is not None:
            raise ValueError("expected only one of --variation and --emitter, got both")
        return uniform(operators.by_name(self.variation))

    def _as_in_the_paper(self, spec: str) -> Wanted:
        """What is not given, as the paper has it."""
        from tesselite.paper.settings import paper_settings

        paper = asdict(paper_settings(spec))
        names = ["evaluations", "initial", "batch_size"]
        made = self
        if self.grid is None and self.centroids is None:
            made = replace(made, method=self.method or "lloyd")
            paper |= {"niches": paper["n_niches"], "samples": paper["n_samples"]}
            names += ["niches", "samples"]
        return replace(made, **{name: paper[name] for name in names if getattr(self, name) is None})

    def _niches(self, spec: str, space: FeatureSpace) -> Niches:
        chosen = {
            "--niches": self.niches,
            "--grid": self.grid,
            "--centroids": self.centroids,
            "--tessellation": self.tessellation,
        }
        given = [name for name, value in chosen.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"expected only one of {', '.join(chosen)}, got {' and '.join(given)}")
        if self.population is not None:
            if given or self.grow is not None:
                raise ValueError(f"--population: has no niches; expected no {', '.join(chosen)} and --grow")
            return population_by_name(self.population)
        if self.grow is not None:
            return self._growing(self.grow, space)
        if self.cells is not None and self.grid is None:
            raise ValueError(f"--cells: only valid together with --grid, got {self.cells!r} without")
        tessellation: Tessellation | None = None
        if self.centroids is not None:
            tessellation = centroids = load_tessellation(self.centroids, space)
            if self.centroids.suffix != ".parquet":
                _note_unit_cube(self.centroids, centroids, spec)
        elif self.tessellation is not None:
            with user_prints_to_stderr():
                tessellation = tessellation_by_name(self.tessellation, space)
        elif self.grid is not None:
            tessellation = GridTessellation(space, self.grid, cells=self.cells or "equal")
        return niches_of(
            None if tessellation is not None else DEFAULT_NICHES if self.niches is None else self.niches,
            tessellation=tessellation,
            n_samples=self.samples,
            p=self.p,
            method=self.method,
            space=space,
        )

    def _growing(self, rule: str, space: FeatureSpace) -> Niches:
        unused = {"--cells": self.cells, "--centroids": self.centroids, "--samples": self.samples}
        for name, value in {**unused, "--method": self.method}.items():
            if value is not None:
                raise ValueError(f"{name}: not valid together with --grow, whose niches make themselves")
        shape = None
        if self.grid is not None:
            shape = tuple(self.grid) if isinstance(self.grid, list) else (self.grid,) * space.n
        return growing_by_name(rule, self.niches or DEFAULT_NICHES, shape, self.p)


def run_problem(
    spec: str,
    wanted: Wanted,
    execution: Execution,
    *,
    out: Path | None,
    threads: int | None,
    checkpoint_seconds: float,
    report: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Start a run and tell how it ended."""
    if report:
        from tesselite.report.page.html import plotly_bundle

        plotly_bundle()
    with user_prints_to_stderr():
        problem = by_name(spec)
    plan = wanted.plan(spec, problem, execution)
    iterations = None
    if isinstance(plan.niches, Cvt):
        job = plan.niches.job(problem.features, plan.seed, threads)
        iterations = job.iterations
        if not quiet:
            say_what_to_expect(job, cache=True)
    folder = out or Path("runs") / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', spec)}-{plan.seed}"
    with (
        _said_how_to_resume(folder),
        user_prints_to_stderr(),
        shown_run(quiet, iterations) as display,
    ):
        run = start_run(
            plan,
            problem,
            folder,
            threads=threads,
            checkpoint_seconds=checkpoint_seconds,
            display=display,
        )
    page = None
    if report:
        from tesselite.report.page import write_report

        with user_prints_to_stderr():
            page = write_report([folder], folder / "report.html")
    tell(run, quiet, as_json, page)


def _note_unit_cube(file: Path, tessellation: VoronoiTessellation, spec: str) -> None:
    """Say so if centroids, of a file without bounds, look like those of the unit cube where the features reach farther.

    They fill half of a feature's range or less then.
    """
    space, centroids = tessellation.space, tessellation.centroids
    suspect = (space.high - space.low >= 2.0) & (centroids >= 0.0).all(axis=0) & (centroids <= 1.0).all(axis=0)
    if suspect.any():
        i = int(suspect.argmax())
        say(
            f"note: all centroids of {file} lie in [0, 1] of {space.names[i]}, which reaches from {space.low[i]:g} to "
            f"{space.high[i]:g}; they are taken in its units. If they are those of the unit cube, make others with: "
            f"tesselite cvt --problem {spec}"
        )


def resume_run(
    folder: Path,
    *,
    evaluations: int | None,
    threads: int | None,
    workers: int | str | None,
    timeout: float | None,
    retries: int | None,
    checkpoint_seconds: float,
    other_version: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Continue a run and tell how it ended."""
    trust_problem(folder)  # to resume a run is to run its problem
    with _said_how_to_resume(folder), user_prints_to_stderr(), shown_run(quiet) as display:
        run = resume(
            folder,
            evaluations=evaluations,
            threads=threads,
            workers=workers,
            timeout=timeout,
            retries=retries,
            checkpoint_seconds=checkpoint_seconds,
            other_version=other_version,
            display=display,
            progress=False,
        )
    tell(run, quiet, as_json)


def replay_run(folder: Path, as_json: bool) -> None:
    """Replay an asynchronous run and say whether the archive is the one that it left; exit code 1 if it is not."""
    from tesselite.archive.file import load_checkpoint

    with user_prints_to_stderr():
        search, archive_file = replay(folder), RunFolder.open(folder).archive_file
        same, saved = None, 0
        if archive_file.exists():
            kept, state = load_checkpoint(archive_file, search.archive.tessellation)
            saved = state["evaluations"] if state else 0
            if saved > search.evaluations:
                search = replay(folder)  # saved since, by a run that is still active; its log has as much before
            if saved >= search.evaluations:
                same = search.archive.equals(kept)
    figures = {"out": str(folder), **progress_of(search), "identical": same}
    if as_json:
        print_json(figures)
    else:
        typer.echo(f"{search.evaluations:,} evaluations replayed, {len(search.archive):,} niches filled")
        if same is None:
            typer.echo(f"nothing to compare with yet: the run's archive has {saved:,} of these evaluations")
        else:
            typer.echo("the archive is the one that the run left" if same else "the archive differs from the run's")
    if same is False:
        raise typer.Exit(1)


@contextmanager
def _said_how_to_resume(folder: Path) -> Iterator[None]:
    """After a stop, or an end that nobody planned (stopped at once, a full disk), say what is left of the run."""
    try:
        yield
    except Interrupted as stopped:
        say(stopped)
        raise typer.Exit(128 + stopped.signal_number) from None
    except (KeyboardInterrupt, OSError) as error:
        if (folder / "settings.json").exists():
            advice = f"continue with: {RunFolder.open(folder).read().plan.how_to_resume(folder)}"
            if isinstance(error, KeyboardInterrupt):
                say(f"stopped; {advice}")
            elif error.filename is None:
                raise OSError(error.errno, f"{error.strerror or error}; once that is fixed, {advice}") from error
        raise


def tell(run: Run, quiet: bool, as_json: bool, page: Path | None = None) -> None:
    """Print the result of a run, and where its page is."""
    figures = run.to_dict()
    if page is not None:
        figures["report"] = str(page)
    if as_json:
        print_json(figures)
    elif not quiet:
        best = figures["best_fitness"]
        if run.was_finished:
            typer.echo("the run was already finished; --evaluations N would extend it")
        rest = run.seconds - run.seconds_search
        filled = f"{figures['filled']:,} of {figures['n_niches']:,} niches filled ({figures['coverage']:.1%})"
        if not run.archive.has_niches:
            filled = f"{len(run.archive):,} solutions kept, without niches"
        typer.echo(
            f"{filled}, best fitness {'-' if best is None else f'{best:.6g}'}, {figures['evaluations']:,} evaluations "
            f"in {run.seconds_search:.1f} s of search"
            + (f" (and {rest:.1f} s for niches, compilation and files)" if rest >= 1.0 else "")
        )
        if run.stopped:
            typer.echo(f"stopped early: {run.stopped}")
        if figures["invalid"]:
            reasons = "; ".join(f"{n:,} x {why}" for why, n in run.archive.invalid.most_common(5))
            typer.echo(one_line(f"{figures['invalid']:,} evaluations were invalid: {reasons}"))
        if figures["out_of_bounds"]:
            typer.echo(f"{figures['out_of_bounds']:,} lay outside the feature bounds and went to the nearest niche")
        typer.echo(one_line(f"archive: {Path(figures['out']) / 'archive.parquet'}"))
        if page is not None:
            typer.echo(one_line(f"report: {page}"))
