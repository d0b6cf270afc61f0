"""The commands that carry out studies of many trials: `reproduce` and `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tesselite.cli.options import ResultsOption, TrialOptions, command, whole


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """The options of `reproduce`."""

    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="maze, hexapod, niches, norms, iterations (or niches-maze, ...), sampler-maze, "
            "rounding-hexapod, concept, unbounded or all.",
        ),
    ]
    out: ResultsOption
    trials: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Trials per pair. Default: the paper's 30 or 20."),
    ] = None
    evaluations: Annotated[
        int | None, typer.Option(parser=whole, metavar="E", help="Evaluations per trial. Default: the paper's.")
    ] = None
    descriptors: Annotated[
        str,
        typer.Option(
            "--descriptors",
            "--pairs",
            metavar="D,D",
            help="Only these descriptors or pairs, such as 2d,20d or cvt-6d,grid-6d-released.",
        ),
    ] = ""
    cvt_samples: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="K", help="Samples per CVT. Default: the paper's where feasible."),
    ] = None
    centroids: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also run CVTs with centroids from this folder (*_K_D.dat)."),
    ] = None
    reuse: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Reuse trials with the same settings from this folder; can be repeated."),
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="The whole chain at a tiny scale, in a few minutes.")] = False
    how: TrialOptions


@command
def reproduce(options: ReproduceOptions) -> None:
    """Reproduce the paper: run a study's missing trials and compare with its numbers. Can be stopped and continued."""
    from tesselite.cli.reproducing import reproduce_study

    reproduce_study(options)


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The options of `bench`."""

    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BENCHMARK",
            help="lp-sphere, lp-rastrigin, lp-plateau, lp-flat, lp-sphere-10 (features; also -20, -50, "
            "and the other functions), arm, spiral, hexapod, maze. Default: all.",
        ),
    ] = None
    out: ResultsOption
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            help="gaussian, iso_line, cma_me, cma_mae, cma_mae_default, cma_mae_short, cma_mae_published, mixture, "
            "bandit, paper (the paper's operator, where there is "
            "one), or an emitter as `tesselite run --emitter` takes it. May be given several times. Default: all.",
        ),
    ] = None
    trials: Annotated[
        int, typer.Option(parser=whole, metavar="N", help="Trials per algorithm and benchmark, each with its own seed.")
    ] = 5
    evaluations: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="E", help="Evaluations per trial. Default: the benchmark's."),
    ] = None
    how: TrialOptions


@command
def bench(options: BenchOptions) -> None:
    """Compare algorithms on public benchmarks and with published figures. Can be stopped and continued."""
    from tesselite.cli.benchmarking import run_benchmarks

    run_benchmarks(options)
