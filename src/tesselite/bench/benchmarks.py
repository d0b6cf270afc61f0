"""The benchmarks and the algorithms of `tesselite bench`, and the study that they make together.

How trials are run, stopped and continued is in `paper.reproduce`, which this shares with the paper's studies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tesselite.emitters.names import by_name as emitter_by_name
from tesselite.paper.studies import CVT_ITERATIONS, MAZE_SPEC, Pair, Study
from tesselite.problems import by_name

LONG = 5_400_000  # 10,000 iterations of 15 emitters with 36 solutions each, as published
SHORT = 540_000
BATCH = 540
TRIALS = 5
LP_FUNCTIONS = ("sphere", "rastrigin", "plateau", "flat")
_LEVELS = tuple(float(level) for level in range(0, 101, 10))


@dataclass(frozen=True)
class Benchmark:
    """A problem with its niches and its budget: a `grid` with this many cells per feature, or a CVT of 10,000 niches.

    `sigma` is the step size of operators and emitters: the literature's, in the units of the variables; of the spiral,
    the hexapod and the maze, a share of their range. `cma` are other settings of `cma_mae` than those for long runs.
    `paper` names the problem and the operator of the CVT-MAP-Elites paper, where this is a task of that paper's.
    """

    name: str
    label: str
    problem: str
    evaluations: int = LONG
    grid: int | None = 100
    sigma: float = 0.5
    cma: str = ""
    paper: tuple[str, str | None] | None = None


def _lp(function: str, features: int = 2) -> Benchmark:
    many = features > 2
    return Benchmark(
        f"lp-{function}-{features}" if many else f"lp-{function}",
        f"LP {'Rastrigin' if function == 'rastrigin' else function}" + (f", {features} features" if many else ""),
        f"lp:{function},features={features}" if many else f"lp:{function}",
        grid=None if many else 100,
    )


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        *(_lp(function, features) for features in (2, 10, 20, 50) for function in LP_FUNCTIONS),
        Benchmark("arm", "Arm repertoire, 100 joints", "arm_repertoire:100", sigma=0.1),
        Benchmark("spiral", "Archimedean spiral", "spiral:angle", evaluations=100_000, sigma=0.01),
        Benchmark(
            "hexapod",
            "Hexapod, duty factors",
            "hexapod:duty,real=yes",
            evaluations=500_000,
            grid=None,
            sigma=0.05,
            cma="alpha=0.1,cm=1,sigma=0.2",
            paper=("hexapod:duty", "resample:0.05"),
        ),
        Benchmark(
            "maze",
            "Maze, weights of a fixed network",
            "maze_weights:2d",
            evaluations=54_000,
            grid=None,
            sigma=0.01,
            cma="alpha=0.1,cm=1,sigma=0.2",
            paper=(MAZE_SPEC.format("2d"), None),
        ),
    )
}
"""The benchmarks by name."""

PAPER = "paper"
ALGORITHMS = {
    "gaussian": ("MAP-Elites", "gaussian:{sigma}"),
    "iso_line": ("MAP-Elites (iso+line)", "iso_line:{sigma},0.2"),
    "cma_me": ("CMA-ME (improvement)", "cma_me:sigma={sigma}"),
    "cma_mae_published": ("CMA-MAE as published", "cma_mae:sigma={sigma},cm=1,mirrored=0,anti=0"),
    "cma_mae": ("CMA-MAE", "cma_mae:{cma}"),
    "cma_mae_default": ("CMA-MAE, default settings", "cma_mae:sigma={sigma}"),
    "cma_mae_short": ("CMA-MAE, settings for short runs", "cma_mae:sigma={sigma},alpha=0.1,cm=1,anti=0"),
    "mixture": ("CMA-MAE and iso+line, 4 to 1", "mixture:0.8@cma_mae:{cma},emitters=12+0.2@iso_line:{small},0.2"),
    "bandit": ("CMA-MAE and iso+line, bandit", "bandit:cma_mae:{cma}+iso_line:{sigma},0.2"),
    PAPER: ("MAP-Elites with the paper's operator", ""),
}
"""By name the label of each algorithm and its emitter, as `tesselite run --emitter` takes it."""


def algorithm_of(text: str) -> tuple[str, str, str]:
    """Name, label and emitter of an algorithm that is given by its name or as an emitter; ValueError if it is neither.

    An emitter with other settings, such as cma_mae:alpha=0.1, is named after its text.
    """
    if text in ALGORITHMS:
        return (text, *ALGORITHMS[text])
    try:
        emitter_by_name(text)
    except ValueError as error:
        expected = f"{', '.join(ALGORITHMS)}, or an emitter as --emitter of `tesselite run` takes it"
        raise ValueError(f"algorithm: expected one of {expected}, got {text!r} ({error})") from None
    return re.sub("[^A-Za-z0-9._=]+", "-", text).strip("-"), text, text


def study_of(benchmarks: Sequence[str], algorithms: Sequence[str], evaluations: int | None = None) -> Study:
    """A study of each algorithm on each benchmark; ValueError for unknown names."""
    unknown = [name for name in benchmarks if name not in BENCHMARKS]
    if unknown:
        raise ValueError(f"benchmark: expected some of {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    if evaluations is not None and evaluations < 1:
        raise ValueError(f"--evaluations: expected at least 1, got {evaluations}")
    chosen = [algorithm_of(text) for text in algorithms or ALGORITHMS]
    pairs = [
        _pair(BENCHMARKS[name], *algorithm, evaluations)
        for name in benchmarks or BENCHMARKS
        for algorithm in chosen
        if algorithm[0] != PAPER or BENCHMARKS[name].paper
    ]
    return Study(
        name="benchmarks",
        title="Public benchmarks",
        pairs=tuple(pairs),
        paper_trials=TRIALS,
        paper_evaluations=LONG,
        levels=_LEVELS,
        fitness_name="fitness",
        training_name="training",
    )


def _batch_size(problem: str, variation: str | None) -> int:
    """The usual batch size, or less if an emitter with other settings has fewer rows at a time."""
    emitter = emitter_by_name(variation or "")
    emitter.begin(by_name(problem).solutions, 0)
    return min(BATCH, emitter.batch_size or BATCH)


def _pair(benchmark: Benchmark, name: str, label: str, emitter: str, evaluations: int | None) -> Pair:
    budget = benchmark.evaluations if evaluations is None else evaluations
    cvt = benchmark.grid is None
    # In longer runs, the mean of a strategy learns more slowly: see docs/benchmarks.md.
    cm = 0.3 if budget > LONG // 2 else 0.5
    words = {
        "sigma": f"{benchmark.sigma:g}",
        "small": f"{benchmark.sigma / 5:g}",
        "cma": benchmark.cma or f"sigma={benchmark.sigma:g},cm={cm:g}",
    }
    problem, variation = benchmark.problem, emitter.format(**words) or None
    if name == PAPER and benchmark.paper:
        problem, variation = benchmark.paper
    return Pair(
        name=f"{benchmark.name}.{name}",
        label=label,
        family=name,
        problem=problem,
        descriptor=benchmark.name,
        evaluations=budget,
        initial=min(BATCH, budget),
        batch_size=BATCH if name in ALGORITHMS else _batch_size(problem, variation),
        grid=benchmark.grid,
        n_niches=10_000 if cvt else None,
        n_samples=100_000 if cvt else None,
        cvt_iterations=CVT_ITERATIONS if cvt else None,
        variation=variation,
    )
