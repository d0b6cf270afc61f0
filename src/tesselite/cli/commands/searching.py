"""The commands that search, `run`, `resume` and `replay`, and `problems`, which lists what they can search."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tesselite.cli.options import (
    CheckpointOption,
    JsonOption,
    OnWorkers,
    QuietOption,
    SeedOption,
    TrustOption,
    command,
    grid_cells,
    trust,
    whole,
)


@dataclass(frozen=True, kw_only=True)
class ProblemsOptions:
    """The options of `problems`."""

    as_json: JsonOption = False


@command
def problems(options: ProblemsOptions) -> None:
    """List the built-in problems and show how to use your own."""
    from tesselite.cli.look import show_problems

    show_problems(options.as_json)


@dataclass(frozen=True, kw_only=True)
class Recycling:
    """When worker processes are replaced."""

    recycle_after: Annotated[
        int | None,
        typer.Option(
            "--recycle-after",
            parser=whole,
            metavar="N",
            help="Replace a worker process after N evaluations, for simulators that leak (--workers only).",
        ),
    ] = None
    worker_memory: Annotated[
        str | None,
        typer.Option(
            "--worker-memory",
            metavar="SIZE",
            help="Replace a worker process once it takes this much memory, such as 2GB (--workers only).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `run`; None stands for the default, or for the paper's setting."""

    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A built-in problem (see `tesselite problems`) or module:name.")
    ]
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the run. Default: runs/PROBLEM-SEED.")] = (
        None
    )
    niches: Annotated[int | None, typer.Option(parser=whole, metavar="K", help="Use a CVT with K niches.")] = None
    grid: Annotated[
        Any,
        typer.Option(parser=grid_cells, metavar="N[xN...]", help="Use a grid: cells per feature, such as 64 or 64x32."),
    ] = None
    cells: Annotated[
        str | None,
        typer.Option(
            help="equal, or released: the grid of the code that the paper's authors released. Default: equal."
        ),
    ] = None
    grow: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Niches that grow with the search, for unknown bounds or sparse spaces: expanding (also a grid), "
            "adaptive or clusters; options as in expanding:every=2000,margin=0.02,ignore_bounds.",
        ),
    ] = None
    population: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="A population without niches: dns, nslc or rts; options as in dns:size=1024,k=3.",
        ),
    ] = None
    centroids: Annotated[
        Path | None,
        typer.Option(
            help="Use the centroids of this file, as written by `tesselite cvt --problem`; .npy, .dat and .txt hold "
            "them in the units of the features."
        ),
    ] = None
    tessellation: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS[:NAME=VALUE,...]",
            help="Use your own tessellation, a subclass of tesselite.Tessellation, with these arguments.",
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Samples for the CVT. Default: 10 per niche, at least 25,000."),
    ] = None
    p: Annotated[float, typer.Option("-p", help="Order of the Minkowski distance of the CVT.")] = 2.0
    method: Annotated[
        str | None,
        typer.Option(help="exact, fresh, lloyd (the paper's Alg. 1), sobol or halton. Default: chosen automatically."),
    ] = None
    paper: Annotated[bool, typer.Option("--paper", help="Use the paper's settings; other options take precedence.")] = (
        False
    )
    evaluations: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Number of evaluations, such as 1e6. Default: 100000.")
    ] = None
    initial: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Random solutions before the first offspring. Default: 1000."),
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Offspring per batch. Default: 200, or what suits the emitter."),
    ] = None
    variation: Annotated[
        str | None,
        typer.Option(
            help="gaussian:S, iso_line:ISO,LINE, polynomial:ETA,P, sbx:ETA,P (append ,reflect) or resample:P."
        ),
    ] = None
    emitter: Annotated[
        str | None,
        typer.Option(
            help="How solutions are proposed. uniform or curiosity, with an operator as in --variation "
            "(curiosity:gaussian:0.1): any solutions, few evaluations per niche. "
            "cma_mae:alpha=0.01,emitters=15,batch=36: real vectors, 50 or more evaluations per niche; with two or "
            "three features and fewer than some 100, try alpha=0.1,cm=1,anti=0. cma_me: for comparison. "
            "mixture:0.8@cma_mae+0.2@gaussian:0.1: several in fixed shares. bandit:cma_mae+gaussian:0.1: whichever "
            "has succeeded more often. Default: uniform."
        ),
    ] = None
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known designs to evaluate first: a run, an archive of any tessellation, or a .parquet, .csv, .npy or "
            ".npz file of solutions.",
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            metavar="N",
            help="Stop if neither coverage nor QD score has risen in N evaluations. Default: spend the budget.",
        ),
    ] = None
    rise: Annotated[
        float | None, typer.Option(help="With --patience: the relative rise that counts. Default: 0.01.")
    ] = None
    history: Annotated[
        bool,
        typer.Option("--history", help="Keep every evaluation, with its solution, in Parquet parts in DIR/history."),
    ] = False
    seed: SeedOption = None
    on: OnWorkers
    recycling: Recycling
    asynchronous: Annotated[
        bool,
        typer.Option(
            "--asynchronous", help="Insert each result immediately, without waiting for the batch (workers only)."
        ),
    ] = False
    islands: Annotated[
        int | None,
        typer.Option(metavar="N", help="Run N searches in parallel that exchange elites; for very fast problems."),
    ] = None
    exchange: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="N", help="Evaluations per island between exchanges. Default: 20 exchanges in total."
        ),
    ] = None
    checkpoint_seconds: CheckpointOption = 30.0
    report: Annotated[
        bool, typer.Option("--report", help="Also write the interactive page, DIR/report.html (see `report`).")
    ] = False
    quiet: QuietOption = False
    as_json: JsonOption = False


@command
def run(options: RunOptions) -> None:
    """Illuminate a problem: fill an archive with the best solution of every kind."""
    from tesselite.cli.running import run_problem

    run_problem(options)


@dataclass(frozen=True, kw_only=True)
class ResumeOptions:
    """The options of `resume`."""

    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")]
    evaluations: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Extend the budget to this many evaluations."),
    ] = None
    on: OnWorkers
    recycling: Recycling
    checkpoint_seconds: CheckpointOption = 30.0
    other_version: Annotated[
        bool,
        typer.Option("--other-version", help="Continue a run that another version of tesselite started."),
    ] = False
    quiet: QuietOption = False
    as_json: JsonOption = False


@command
def resume(options: ResumeOptions) -> None:
    """Continue a run that was interrupted, or extend a finished one.

    Uses the same workers and limits as before unless you give others. --workers 0 evaluates in this
    process; --timeout inf removes the limit.
    """
    from tesselite.cli.running import resume_run

    resume_run(options)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """The options of `replay`."""

    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an asynchronous run.")]
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def replay(options: ReplayOptions) -> None:
    """Replay an asynchronous run from its log, without evaluating, and check that its archive is reproduced."""
    from tesselite.cli.running import replay_run

    trust(options.trust, options.folder)
    replay_run(options.folder, options.as_json)
