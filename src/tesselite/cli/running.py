"""The implementation of `run`, `resume` and `replay`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tesselite.base.terminal import one_line, say
from tesselite.cli.look import trust_problem
from tesselite.cli.output import print_json, user_prints_to_stderr
from tesselite.cli.tessellating import say_what_to_expect
from tesselite.emitters import names, operators
from tesselite.emitters.emitter import Emitter
from tesselite.emitters.uniform_parents import uniform
from tesselite.execution.choice import execution_of
from tesselite.problems import by_name
from tesselite.problems.problem import Problem
from tesselite.runs.carry_on import Interrupted, Run
from tesselite.runs.display import shown_run
from tesselite.runs.folder import RunFolder, progress_of
from tesselite.runs.plan import Budget, Plan
from tesselite.runs.run import Changes, Options, continue_run, replay, start_run
from tesselite.runs.stall import stall_of
from tesselite.search.map_elites import INITIAL
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.files import load_tessellation
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.growing import growing_by_name
from tesselite.tessellation.kind import Niches
from tesselite.tessellation.niches import niches_of
from tesselite.tessellation.own import by_name as tessellation_by_name
from tesselite.tessellation.population import population_by_name
from tesselite.tessellation.protocol import Tessellation

if TYPE_CHECKING:
    from tesselite.cli.commands.searching import ResumeOptions, RunOptions
    from tesselite.tessellation.voronoi import VoronoiTessellation

DEFAULT_NICHES = 5000
EVALUATIONS = 100_000


def _plan(options: RunOptions, problem: Problem) -> Plan:
    """The plan of the run that the options ask for."""
    execution = execution_of(
        options.on.choice(options.recycling),
        asynchronous=options.asynchronous,
        islands=options.islands,
        exchange=options.exchange,
    )
    if options.paper:
        options = _as_in_the_paper(options)
    return Plan.of(
        problem,
        _niches(options, problem.features),
        Budget(
            EVALUATIONS if options.evaluations is None else options.evaluations,
            INITIAL if options.initial is None else options.initial,
            options.batch_size,
            stall_of(options.patience, options.rise),
        ),
        emitter=_emitter(options),
        seed=options.seed,
        execution=execution,
        start=options.start,
        history=options.history,
    )


def _emitter(options: RunOptions) -> Emitter | None:
    if options.variation is None:
        return None if options.emitter is None else names.by_name(options.emitter)
    if options.emitter is not None:
        raise ValueError("expected only one of --variation and --emitter, got both")
    return uniform(operators.by_name(options.variation))


def _as_in_the_paper(options: RunOptions) -> RunOptions:
    """Fill missing options with the paper's settings."""
    from tesselite.paper.settings import paper_settings

    paper = asdict(paper_settings(options.problem))
    settings = {name: paper[name] for name in ("evaluations", "initial", "batch_size")}
    if options.grid is None and options.centroids is None:
        settings |= {"niches": paper["n_niches"], "samples": paper["n_samples"], "method": "lloyd"}
    return replace(options, **{name: value for name, value in settings.items() if getattr(options, name) is None})


def _niches(options: RunOptions, space: FeatureSpace) -> Niches:
    chosen = {
        "--niches": options.niches,
        "--grid": options.grid,
        "--centroids": options.centroids,
        "--tessellation": options.tessellation,
    }
    given = [name for name, value in chosen.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"expected only one of {', '.join(chosen)}, got {' and '.join(given)}")
    if options.population is not None:
        if given or options.grow is not None:
            raise ValueError(f"--population: has no niches; not valid together with {', '.join(chosen)} or --grow")
        return population_by_name(options.population)
    if options.grow is not None:
        return _growing(options, options.grow, space)
    if options.cells is not None and options.grid is None:
        raise ValueError(f"--cells: only valid together with --grid, got {options.cells!r} without")
    tessellation = _tessellation(options, space)
    return niches_of(
        None if tessellation is not None else DEFAULT_NICHES if options.niches is None else options.niches,
        tessellation=tessellation,
        n_samples=options.samples,
        p=options.p,
        method=options.method,
        space=space,
    )


def _tessellation(options: RunOptions, space: FeatureSpace) -> Tessellation | None:
    """The existing niches that the options ask for; None for a CVT to be constructed."""
    if options.centroids is not None:
        centroids = load_tessellation(options.centroids, space)
        if options.centroids.suffix != ".parquet":
            _note_unit_cube(options.centroids, centroids, options.problem)
        return centroids
    if options.tessellation is not None:
        with user_prints_to_stderr():
            return tessellation_by_name(options.tessellation, space)
    if options.grid is not None:
        return GridTessellation(space, options.grid, cells=options.cells or "equal")
    return None


def _growing(options: RunOptions, rule: str, space: FeatureSpace) -> Niches:
    unused = {"--cells": options.cells, "--centroids": options.centroids, "--samples": options.samples}
    for name, value in {**unused, "--method": options.method}.items():
        if value is not None:
            raise ValueError(f"{name}: not valid together with --grow")
    shape = None
    if options.grid is not None:
        shape = tuple(options.grid) if isinstance(options.grid, list) else (options.grid,) * space.n
    return growing_by_name(rule, options.niches or DEFAULT_NICHES, shape, options.p)


def run_problem(options: RunOptions) -> None:
    """Start a run and report its result."""
    if options.report:
        from tesselite.report.page.html import plotly_bundle

        plotly_bundle()
    with user_prints_to_stderr():
        problem = by_name(options.problem)
    plan = _plan(options, problem)
    iterations = None
    job = plan.niches.job(problem.features, plan.seed, options.on.threads)
    if job is not None:
        iterations = job.iterations
        if not options.quiet:
            say_what_to_expect(job, cache=True)
    folder = options.out or Path("runs") / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', options.problem)}-{plan.seed}"
    with (
        _said_how_to_resume(folder),
        user_prints_to_stderr(),
        shown_run(options.quiet, iterations) as display,
    ):
        run = start_run(plan, problem, folder, Options(options.on.threads, options.checkpoint_seconds, display=display))
    page = None
    if options.report:
        from tesselite.report.page import write_report

        with user_prints_to_stderr():
            page = write_report([folder], folder / "report.html")
    tell_run(run, options.quiet, options.as_json, page)


def _note_unit_cube(file: Path, tessellation: VoronoiTessellation, spec: str) -> None:
    """Warn if the centroids of a file without bounds look like those of the unit cube although the features have wider
    bounds.
    """
    space, centroids = tessellation.space, tessellation.centroids
    suspect = (space.high - space.low >= 2.0) & (centroids >= 0.0).all(axis=0) & (centroids <= 1.0).all(axis=0)
    suspect &= ~space.labelled
    if suspect.any():
        i = int(suspect.argmax())
        say(
            f"note: all centroids of {file} lie in [0, 1] of {space.names[i]}, which reaches from {space.low[i]:g} to "
            f"{space.high[i]:g}; they are taken in its units. If they are those of the unit cube, make others with: "
            f"tesselite cvt --problem {spec}"
        )


def resume_run(options: ResumeOptions) -> None:
    """Continue a run and report its result."""
    folder, on = options.folder, options.on
    trust_problem(folder)  # to resume a run is to run its problem
    choice = on.choice(options.recycling)
    changes = Changes(options.evaluations, other_version=options.other_version, on=choice)
    with _said_how_to_resume(folder), user_prints_to_stderr(), shown_run(options.quiet) as display:
        run = continue_run(
            folder, changes=changes, options=Options(on.threads, options.checkpoint_seconds, display=display)
        )
    tell_run(run, options.quiet, options.as_json)


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
                search = replay(folder)  # saved since, by an active run; its log already contains it
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
            typer.echo("the archive is the same as the run's" if same else "the archive differs from the run's")
    if same is False:
        raise typer.Exit(1)


@contextmanager
def _said_how_to_resume(folder: Path) -> Iterator[None]:
    """After a stop or a failure (a full disk), say how to continue the run."""
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


def tell_run(run: Run, quiet: bool, as_json: bool, page: Path | None = None) -> None:
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
        if run.archive.has_niches:
            filled = f"{figures['filled']:,} of {figures['n_niches']:,} niches filled ({figures['coverage']:.1%})"
        else:
            filled = f"{len(run.archive):,} solutions kept, without niches"
        typer.echo(
            f"{filled}, best fitness {'-' if best is None else f'{best:z.6g}'}, {figures['evaluations']:,} evaluations "
            f"in {run.seconds_search:.1f} s of search"
            + (f" (and {rest:.1f} s for niches, compilation and files)" if rest >= 1.0 else "")
        )
        if run.stopped:
            typer.echo(f"stopped early: {run.stopped}")
        if figures["invalid"]:
            reasons = "; ".join(f"{n:,} x {why}" for why, n in run.archive.invalid.most_common(5))
            typer.echo(one_line(f"{figures['invalid']:,} evaluations were invalid: {reasons}"))
        if figures["out_of_bounds"]:
            typer.echo(f"{figures['out_of_bounds']:,} were outside the feature bounds and went to the nearest niche")
        typer.echo(one_line(f"archive: {Path(figures['out']) / 'archive.parquet'}"))
        if page is not None:
            typer.echo(one_line(f"report: {page}"))
