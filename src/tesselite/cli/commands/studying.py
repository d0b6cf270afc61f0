"""The commands that carry out studies of many trials: `reproduce` and `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tesselite.cli.options import ResultsOption, TrialOptions, argument, command, option, whole


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """The options of `reproduce`."""

    study: str = argument(
        "maze, hexapod, niches, norms, iterations (or niches-maze, ...), sampler-maze, "
        "rounding-hexapod, concept, unbounded or all.",
        metavar="STUDY",
    )
    out: ResultsOption
    trials: int | None = option("Trials per pair. Default: the paper's 30 or 20.", metavar="N", parser=whole)
    evaluations: int | None = option("Evaluations per trial. Default: the paper's.", metavar="E", parser=whole)
    descriptors: str = option(
        "Only these descriptors or pairs, such as 2d,20d or cvt-6d,grid-6d-released.",
        "--descriptors",
        "--pairs",
        default="",
        metavar="D,D",
    )
    cvt_samples: int | None = option("Samples per CVT. Default: the paper's where feasible.", metavar="K", parser=whole)
    centroids: Path | None = option("Also run CVTs with centroids from this folder (*_K_D.dat).", metavar="DIR")
    reuse: list[Path] | None = option(
        "Reuse trials with the same settings from this folder; can be repeated.", metavar="DIR"
    )
    quick: bool = option("The whole chain at a tiny scale, in a few minutes.", "--quick", default=False)
    how: TrialOptions


@command
def reproduce(options: ReproduceOptions) -> None:
    """Reproduce the paper: run a study's missing trials and compare with its numbers. Can be stopped and continued."""
    from tesselite.cli.reproducing import reproduce_study

    reproduce_study(options)


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The options of `bench`."""

    benchmarks: list[str] | None = argument(
        "lp-sphere, lp-rastrigin, lp-plateau, lp-flat, lp-sphere-10 (features; also -20, -50, "
        "and the other functions), arm, spiral, hexapod, maze. Default: all.",
        default=None,
        metavar="BENCHMARK",
    )
    out: ResultsOption
    algorithm: list[str] | None = option(
        "gaussian, iso_line, cma_me, cma_mae, cma_mae_default, cma_mae_short, cma_mae_published, mixture, "
        "bandit, paper (the paper's operator, where there is "
        "one), or an emitter as `tesselite run --emitter` takes it; can be repeated. Default: all.",
        "--algorithm",
        "-a",
        metavar="NAME",
    )
    trials: int = option(
        "Trials per algorithm and benchmark, each with its own seed.", default=5, metavar="N", parser=whole
    )
    evaluations: int | None = option("Evaluations per trial. Default: the benchmark's.", metavar="E", parser=whole)
    how: TrialOptions


@command
def bench(options: BenchOptions) -> None:
    """Compare algorithms on public benchmarks and with published figures. Can be stopped and continued."""
    from tesselite.cli.reproducing import run_benchmarks

    run_benchmarks(options)
