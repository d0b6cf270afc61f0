"""The commands that search, `run`, `resume` and `replay`, and `problems`, which lists what they can search."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tesselite.cli.options import (
    CheckpointOption,
    JsonOption,
    QuietOption,
    Recycling,
    SeedOption,
    TrustOption,
    WorkerOptions,
    argument,
    command,
    grid_cells,
    option,
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
class RunOptions:
    """The options of `run`; None stands for the default, or for the paper's setting."""

    problem: str = argument("A built-in problem (see `tesselite problems`) or module:name.", metavar="PROBLEM")
    out: Path | None = option("Folder of the run. Default: runs/PROBLEM-SEED.", "--out", "-o")
    niches: int | None = option("Use a CVT with K niches.", metavar="K", parser=whole)
    grid: Any = option("Use a grid: cells per feature, such as 64 or 64x32.", metavar="N[xN...]", parser=grid_cells)
    cells: str | None = option(
        "equal, or released: the grid of the code that the paper's authors released. Default: equal."
    )
    grow: str | None = option(
        "Niches that grow with the search, for unknown bounds or sparse spaces: expanding (also a grid), "
        "adaptive or clusters; options as in expanding:every=2000,margin=0.02,ignore_bounds.",
        metavar="RULE",
    )
    population: str | None = option(
        "A population without niches: dns, nslc or rts; options as in dns:size=1024,k=3.", metavar="RULE"
    )
    centroids: Path | None = option(
        "Use the centroids of this file, as written by `tesselite cvt --problem`; .npy, .dat and .txt hold "
        "them in the units of the features."
    )
    tessellation: str | None = option(
        "Use your own tessellation, a subclass of tesselite.Tessellation, with these arguments.",
        metavar="MODULE:CLASS[:NAME=VALUE,...]",
    )
    samples: int | None = option(
        "Samples for the CVT. Default: 10 per niche, at least 25,000.", metavar="N", parser=whole
    )
    p: float = option("Order of the Minkowski distance of the CVT.", "-p", default=2.0)
    method: str | None = option(
        "exact, fresh, lloyd (the paper's Alg. 1), sobol or halton. Default: chosen automatically."
    )
    paper: bool = option("Use the paper's settings; other options take precedence.", "--paper", default=False)
    evaluations: int | None = option("Number of evaluations, such as 1e6. Default: 100000.", metavar="N", parser=whole)
    initial: int | None = option(
        "Random solutions before the first offspring. Default: 1000.", metavar="N", parser=whole
    )
    batch_size: int | None = option(
        "Offspring per batch. Default: 200, or what suits the emitter.", metavar="N", parser=whole
    )
    variation: str | None = option(
        "gaussian:S, iso_line:ISO,LINE, polynomial:ETA,P, sbx:ETA,P (append ,reflect) or resample:P."
    )
    emitter: str | None = option(
        "How solutions are proposed. uniform or curiosity, with an operator as in --variation "
        "(curiosity:gaussian:0.1): any solutions, few evaluations per niche. "
        "cma_mae:alpha=0.01,emitters=15,batch=36: real vectors, 50 or more evaluations per niche; with two or "
        "three features and fewer than about 100, try alpha=0.1,cm=1,anti=0. cma_me: for comparison. "
        "mixture:0.8@cma_mae+0.2@gaussian:0.1: several in fixed shares. bandit:cma_mae+gaussian:0.1: whichever "
        "has succeeded more often. Default: uniform."
    )
    start: Path | None = option(
        "Known designs to evaluate first: a run, an archive of any tessellation, or a .parquet, .csv, .npy or "
        ".npz file of solutions.",
        metavar="FILE",
    )
    patience: int | None = option(
        "Stop if neither coverage nor QD score has risen in N evaluations. Default: spend the budget.",
        metavar="N",
        parser=whole,
    )
    rise: float | None = option("With --patience: the relative rise that counts. Default: 0.01.")
    history: bool = option(
        "Keep every evaluation, with its solution, in Parquet parts in DIR/history.", "--history", default=False
    )
    seed: SeedOption = None
    on: WorkerOptions
    recycling: Recycling
    asynchronous: bool = option(
        "Insert each result immediately, without waiting for the batch (workers only).", "--asynchronous", default=False
    )
    islands: int | None = option(
        "Run N searches in parallel that exchange elites; for very fast problems.", metavar="N"
    )
    exchange: int | None = option(
        "Evaluations per island between exchanges. Default: 20 exchanges in total.", metavar="N", parser=whole
    )
    checkpoint_seconds: CheckpointOption = 30.0
    report: bool = option("Also write the interactive page, DIR/report.html (see `report`).", "--report", default=False)
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

    folder: Path = argument("Folder of the run.", metavar="DIR")
    evaluations: int | None = option("Extend the budget to this many evaluations.", metavar="N", parser=whole)
    on: WorkerOptions
    recycling: Recycling
    checkpoint_seconds: CheckpointOption = 30.0
    other_version: bool = option(
        "Continue a run that another version of tesselite started.", "--other-version", default=False
    )
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

    folder: Path = argument("Folder of an asynchronous run.", metavar="DIR")
    trust: TrustOption = False
    as_json: JsonOption = False


@command
def replay(options: ReplayOptions) -> None:
    """Replay an asynchronous run from its log, without evaluating, and check that its archive is reproduced."""
    from tesselite.cli.running import replay_run

    trust(options.trust, options.folder)
    replay_run(options.folder, options.as_json)
