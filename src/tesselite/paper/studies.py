"""The paper's experiments as plans: which algorithm-descriptor pairs, with which settings, and the questions.

Numbers of the maze and the hexapod experiment come from `maze` and `hexapod` beside this module; how a plan is carried
out is in `reproduce`, what the paper says about each in `numbers`, `claims_maze` and `claims_hexapod`.
Vassiliades et al. (2018), sections IV and V and the appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.assessment.comparison import Measure
from tesselite.assessment.scenarios import AT_MOST
from tesselite.problems.problem import TRAINING

# The paper clusters "until convergence", and found that precision does not matter with thousands of niches. Ours ends
# when ten iterations lower the error by less than one in ten thousand.
CVT_TOLERANCE = 1e-4
CVT_ITERATIONS = 200
# Which random stream of its seed a CVT is drawn from. Trials without this setting are of version 0.1's first stream.
CVT_DRAWS = "named child"
# Norms other than the Euclidean one have no short cuts: this limit on the values of all samples, with at least ten
# samples a niche, keeps their construction short.
_CVT_VALUES_OTHER_NORM = 25_000_000
_CVT_ITERATIONS_OTHER_NORM = 30


MAZE_SPEC = "maze:{},layout=round,after_hit=stick"
"""The maze of `reproduce`, by descriptor: the one that meets the paper best (see docs/maze.md)."""


@dataclass(frozen=True)
class Pair:
    """An algorithm-descriptor pair: MAP-Elites on a `grid`, or CVT-MAP-Elites with `n_niches` from `n_samples`.

    `name` is that of its files. Pairs of a `family` share a hue. `ours` marks what the paper has not. A pair with other
    settings is another pair: trials are only added up where all of these agree. `cells` is the rule of a grid, None for
    equal ones. `cvt_sampler` is "arena" for samples that are uniform in the feature space, whatever can be driven.
    `centroids` tells those that were given, in the file `source`. `variant_of` names the pair that the paper's numbers
    are given for, where this one is another reading of it.
    """

    name: str
    label: str
    family: str
    problem: str
    descriptor: str
    evaluations: int
    initial: int
    batch_size: int
    grid: int | None = None
    n_niches: int | None = None
    n_samples: int | None = None
    p: float = 2.0
    cvt_iterations: int | None = None
    variation: str | None = None
    at_most: int = AT_MOST
    cells: str | None = None
    cvt_sampler: str | None = None
    centroids: str | None = None
    source: str = ""
    ours: bool = False
    variant_of: str = ""

    @property
    def identity(self) -> str:
        """What determines the seeds of its trials: problem and niches, not the study, the name or the budget."""
        niches = f"grid {self.grid}" if self.n_niches is None else f"cvt {self.n_niches} p {self.p:g}"
        usual = CVT_ITERATIONS if self.p == 2.0 else _CVT_ITERATIONS_OTHER_NORM
        others = {
            "cells": self.cells,
            "sampler": self.cvt_sampler,
            "centroids": self.centroids,
            "iterations": None if self.cvt_iterations == usual else self.cvt_iterations,
        }
        told = "".join(f" {name} {value}" for name, value in others.items() if value is not None)
        return f"{self.problem} {niches}{told}"

    def settings(self) -> dict[str, Any]:
        """What determines the result of a trial, as in its summary."""
        skipped = ("name", "label", "family", "descriptor", "ours", "variant_of", "source")
        told = {name: value for name, value in asdict(self).items() if name not in skipped and value is not None}
        return told if self.n_samples is None else {**told, "cvt_draws": CVT_DRAWS}


@dataclass(frozen=True)
class Study:
    """Pairs that are compared, and how: fitness levels of the expected quality, queries, contrasts to test.

    `scale` turns fitness into the unit of `fitness_name`. `paper_trials` and `paper_evaluations` are the paper's scale.
    `notes` describe the pairs that are ours.
    """

    name: str
    title: str
    pairs: tuple[Pair, ...]
    paper_trials: int
    paper_evaluations: int
    levels: tuple[float, ...]
    fitness_name: str
    training_name: str
    queries: tuple[Measure, ...] = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    scale: float = 1.0
    overall: bool = False
    notes: tuple[str, ...] = field(default=())

    def pair(self, name: str) -> Pair:
        """The pair of this name."""
        return next(pair for pair in self.pairs if pair.name == name)

    def measures(self) -> list[Measure]:
        """The measures that are tested for each contrast."""
        several = "best assessed, median over scenarios of each run"
        return [
            Measure("found", f"best found, {self.training_name}"),
            Measure("best", f"best assessed, {self.training_name}", TRAINING),
            Measure("best", several),
            Measure("coverage", "share of filled niches"),
            Measure("spread", "spread"),
            *self.queries,
        ]


def _levels(low: float, high: float, steps: int) -> tuple[float, ...]:
    return tuple(np.round(np.linspace(low, high, steps + 1), 9).tolist())


MAZE_LEVELS = _levels(0, 400, 400)  # section III-B: "x in {0, 1, 2, ..., 400}"
HEXAPOD_LEVELS = _levels(-1.0, 3.0, 200)  # metres in five seconds: -0.2 to 0.6 m/s in steps of 4 mm/s
HEXAPOD_SECONDS = 5.0


def _in_norm(pair: Pair, p: float, dimensions: int) -> Pair:
    """The pair with another norm, for the construction and for the search alike."""
    if p == 2.0 or pair.n_samples is None:
        return pair
    samples = min(pair.n_samples, max(_CVT_VALUES_OTHER_NORM // dimensions, 10 * (pair.n_niches or 1)))
    return replace(pair, p=p, n_samples=samples, cvt_iterations=_CVT_ITERATIONS_OTHER_NORM)


def _maze_cvt(descriptor: str, **options: Any) -> Pair:
    from tesselite.paper.maze import PAPER as MAZE

    pair = Pair(
        name=f"cvt-{descriptor}",
        label=f"CVT-MAP-Elites {descriptor.upper()}",
        family="CVT-MAP-Elites",
        problem=MAZE_SPEC.format(descriptor),
        descriptor=descriptor,
        evaluations=MAZE.evaluations,
        initial=MAZE.initial,
        batch_size=MAZE.batch_size,
        n_niches=MAZE.n_niches,
        n_samples=MAZE.n_samples,
        cvt_iterations=CVT_ITERATIONS,
    )
    return replace(pair, **options)


def _on_grid(cvt: Pair, cells: int, *, ours: bool = False) -> Pair:
    """The pair of a CVT with a grid instead."""
    return replace(
        cvt,
        name=cvt.name.replace("cvt", "grid"),
        label=cvt.label.removeprefix("CVT-") + (" (ours)" if ours else ""),
        family="MAP-Elites",
        grid=cells,
        n_niches=None,
        n_samples=None,
        cvt_iterations=None,
        ours=ours,
        variant_of=cvt.variant_of.replace("cvt", "grid"),
    )


def _maze_study(name: str, title: str, pairs: Sequence[Pair], **options: Any) -> Study:
    from tesselite.paper.maze import PAPER as MAZE

    near = f"share within {MAZE.near:g} units"
    study = Study(
        name=name,
        title=title,
        pairs=tuple(pairs),
        paper_trials=MAZE.trials,
        paper_evaluations=MAZE.evaluations,
        levels=MAZE_LEVELS,
        fitness_name="distance to the goal",
        training_name="open maze",
        queries=(
            Measure("share", f"{near}, median scenario", x=MAZE.near),
            Measure("share", f"{near}, runs x scenarios", x=MAZE.near, pooled=True),
            Measure("share", "share within 100 units, runs x scenarios", x=100.0, pooled=True),
        ),
    )
    return replace(study, **options)


def maze() -> Study:
    """Section IV: MAP-Elites and CVT-MAP-Elites on six descriptors of the maze, and the grid that did not fit.

    Grids by the paper's text and by the rule of the code that was released for the hexapod.
    """
    from tesselite.paper.maze import PAPER as MAZE

    grids = [_on_grid(_maze_cvt(name), cells) for name, cells in MAZE.grid.items()]
    beyond = [_on_grid(_maze_cvt("50d"), 2, ours=True)]
    return _maze_study(
        "maze",
        "Maze navigation",
        [*grids, *beyond, *(_maze_cvt(name) for name in MAZE.descriptors), *map(_released_cells, grids)],
        contrasts=(
            *((f"grid-{name}", f"cvt-{name}") for name in ("2d", "10d", "20d", "50d")),
            *((f"grid-{name}-released", f"cvt-{name}") for name in MAZE.grid),
            *((f"grid-{name}", f"grid-{name}-released") for name in MAZE.grid),
        ),
        notes=("MAP-Elites 50D has 2^50 niches. The paper could not run it; a sparse archive can.",),
    )


def niches_maze() -> Study:
    """Appendix: k in {5, 50, 500, 5000} on three descriptors of the maze."""
    pairs = [
        _maze_cvt(name, name=f"{name}-k{k}", label=f"{name.upper()} k={k}", family=name.upper(), n_niches=k)
        for name in ("2d", "20d", "250d")
        for k in (5, 50, 500, 5000)
    ]
    contrasts = tuple((f"{name}-k{k}", f"{name}-k5000") for k in (500, 5, 50) for name in ("2d", "20d", "250d"))
    one = _maze_cvt("2d", name="2d-k1", label="2D k=1 (ours)", family="2D", n_niches=1, ours=True)
    return _maze_study(
        "niches-maze",
        "Maze navigation, number of niches",
        [*pairs, one],
        contrasts=(*contrasts, ("2d-k1", "2d-k5")),
        overall=True,
        notes=(_ONE_NICHE,),
    )


_ONE_NICHE = "k = 1 is ours: with a single niche, says section VI, the algorithm acts like a stochastic hill climber."


# No index helps to assign uniform points in 1000D, and a million of them would take hours for each CVT.
_ARENA_SAMPLES = 100_000


def sampler_maze() -> Study:
    """Section VI: proper sampling of trajectories is the key factor; without it, points are uniform in the arena."""
    pairs = []
    for name in ("50d", "250d", "1000d"):
        drivable = _maze_cvt(name, name=f"{name}-drivable", label=f"{name.upper()} drivable", family="drivable")
        label = f"{name.upper()} uniform in the arena"
        naive = _maze_cvt(name, name=f"{name}-arena", label=label, family="arena", cvt_sampler="arena", ours=True)
        if name == "1000d":
            naive = replace(naive, n_samples=_ARENA_SAMPLES)
        pairs += [drivable, naive]
    return _maze_study(
        "sampler-maze",
        "Maze navigation, samples of the CVT",
        pairs,
        contrasts=tuple((f"{name}-drivable", f"{name}-arena") for name in ("50d", "250d", "1000d")),
        overall=True,
        notes=(
            "The paper names the cause, but has no trials with other samples; these are ours.",
            f"The CVT of points in 1000D has {_ARENA_SAMPLES:,} samples instead of a million.",
        ),
    )


ITERATIONS = (0, 1, 10, CVT_ITERATIONS)


def _by_iterations(pairs: Sequence[Pair]) -> list[Pair]:
    """Each pair with Lloyd's algorithm stopped early; 0 leaves random samples as centroids."""
    return [
        replace(
            pair, name=f"{pair.name}-i{n}", label=f"{pair.label} {n} iteration{'s'[: n != 1]}", family=pair.label,
            cvt_iterations=n, ours=n != CVT_ITERATIONS,
        )
        for pair in pairs
        for n in ITERATIONS
    ]  # fmt: skip


_PRECISION = "Section VI says that clustering need not be precise with thousands of niches; trials with less are ours."


def iterations_maze() -> Study:
    """Section VI: the clustering need not be precise, on two descriptors of the maze."""
    pairs = _by_iterations([_maze_cvt(name, name=name, label=name.upper()) for name in ("2d", "50d")])
    return _maze_study(
        "iterations-maze",
        "Maze navigation, iterations of the CVT",
        pairs,
        contrasts=tuple((f"{name}-i{n}", f"{name}-i{ITERATIONS[-1]}") for name in ("2d", "50d") for n in (0, 1, 10)),
        overall=True,
        notes=(_PRECISION,),
    )


def norms_maze() -> Study:
    """Appendix: the Euclidean norm against p = 0.5 on three descriptors of the maze."""
    pairs = [
        _in_norm(
            _maze_cvt(
                name,
                name=f"{name}-p{p:g}",
                label=f"{name.upper()} p={p:g}",
                family="Euclidean" if p == 2 else "fractional",
            ),
            p,
            int(name[:-1]),
        )
        for p in (2.0, 0.5)
        for name in ("50d", "250d", "1000d")
    ]
    contrasts = tuple((f"{name}-p2", f"{name}-p0.5") for name in ("50d", "250d", "1000d"))
    return _maze_study("norms-maze", "Maze navigation, distance", pairs, contrasts=contrasts, overall=True)


def _released_cells(grid: Pair) -> Pair:
    """The pair of a grid, cut by the rule of the released code."""
    return replace(
        grid, name=f"{grid.name}-released", label=f"{grid.label}, released cells", cells="released",
        family=f"{grid.family}, released cells",
        variant_of=grid.variant_of or grid.name,
    )  # fmt: skip


_HEXAPOD_DIMENSIONS = {"duty": 6, "phase": 12, "amplitude": 12, "amplitude-phase": 24, "controller": 36}


def _hexapod_cvt(descriptor: str, **options: Any) -> Pair:
    from tesselite.paper.hexapod import PAPER

    settings = PAPER[f"hexapod:{descriptor}"]
    # The released code's reading of 12D, amplitudes, is named apart from the paper's.
    dimensions, apart = _HEXAPOD_DIMENSIONS[descriptor], descriptor == "amplitude"
    pair = Pair(
        name=f"cvt-{dimensions}d" + "-amplitude" * apart,
        label=f"CVT-MAP-Elites {dimensions}D" + " amplitudes" * apart,
        family="CVT-MAP-Elites",
        problem=settings.problem,
        descriptor=descriptor,
        evaluations=settings.evaluations,
        initial=settings.initial,
        batch_size=settings.batch_size,
        n_niches=settings.n_niches,
        n_samples=settings.n_samples,
        cvt_iterations=CVT_ITERATIONS,
        variation=f"resample:{settings.mutation:g}",
        variant_of="cvt-12d" if apart else "",
    )
    return replace(pair, **options)


def _hexapod_study(name: str, title: str, pairs: Sequence[Pair], **options: Any) -> Study:
    from tesselite.paper.hexapod import DUTY, FAST

    fast = f"share above {FAST:g} m/s"
    study = Study(
        name=name,
        title=title,
        pairs=tuple(pairs),
        paper_trials=DUTY.runs,
        paper_evaluations=DUTY.evaluations,
        levels=HEXAPOD_LEVELS,
        fitness_name="walking speed (m/s)",
        training_name="undamaged",
        scale=1.0 / HEXAPOD_SECONDS,
        queries=(
            Measure("share", f"{fast}, undamaged", TRAINING, x=FAST),
            Measure("share", f"{fast}, median damage", x=FAST),
            Measure("share", f"{fast}, runs x damages", x=FAST, pooled=True),
        ),
    )
    return replace(study, **options)


def hexapod() -> Study:
    """Section V: MAP-Elites and CVT-MAP-Elites on four descriptors of the hexapod, and the grid that did not fit.

    Grids by the paper's text and by the released code, and its other reading of 12D.
    """
    from tesselite.paper.hexapod import PAPER

    grids = {
        (name := settings.problem.partition(":")[2]): _on_grid(_hexapod_cvt(name), settings.grid)
        for settings in PAPER.values()
        if settings.grid is not None
    }
    released = [_released_cells(grid) for grid in grids.values()]
    grids.pop("amplitude")  # by the released rule only
    beyond = [_on_grid(_hexapod_cvt("controller"), 2, ours=True)]
    return _hexapod_study(
        "hexapod",
        "Hexapod locomotion",
        [*grids.values(), *beyond, *(_hexapod_cvt(name) for name in _HEXAPOD_DIMENSIONS), *released],
        contrasts=(
            *((f"grid-{d}d", f"cvt-{d}d") for d in (6, 12, 24, 36)),
            *((f"grid-{d}d-released", f"cvt-{d}d") for d in (6, 12, 24)),
            *((f"grid-{d}d", f"grid-{d}d-released") for d in (6, 12, 24)),
            ("grid-12d-amplitude-released", "cvt-12d-amplitude"),
            ("cvt-12d", "cvt-12d-amplitude"),
        ),
        notes=("MAP-Elites 36D has 2^36 niches. The paper could not run it; a sparse archive can.",),
    )


def niches_hexapod() -> Study:
    """Appendix: k in {10, 100, 1000, 10000, 100000} on the duty factor."""
    pairs = [
        _hexapod_cvt("duty", name=f"k{k}", label=f"k={k:,}", n_niches=k, n_samples=max(100_000, 10 * k))
        for k in (10, 100, 1000, 10_000, 100_000)
    ]
    one = _hexapod_cvt("duty", name="k1", label="k=1 (ours)", n_niches=1, ours=True)
    contrasts = tuple((f"k{k}", "k10000") for k in (10, 100, 1000, 100_000))
    return _hexapod_study(
        "niches-hexapod",
        "Hexapod locomotion, number of niches",
        [*pairs, one],
        contrasts=(*contrasts, ("k1", "k10")),
        notes=(_ONE_NICHE,),
    )


def iterations_hexapod() -> Study:
    """Section VI: the clustering need not be precise, on the 24 amplitudes and phases of the hexapod."""
    return _hexapod_study(
        "iterations-hexapod",
        "Hexapod locomotion, iterations of the CVT",
        _by_iterations([_hexapod_cvt("amplitude-phase", name="24d", label="24D")]),
        contrasts=tuple((f"24d-i{n}", f"24d-i{ITERATIONS[-1]}") for n in (0, 1, 10)),
        notes=(_PRECISION,),
    )


def norms_hexapod() -> Study:
    """Appendix: the Euclidean norm against p = 0.5 on the 36 controller values, after 25,000 generations."""
    evaluations = 10_000 + 25_000 * 200
    pairs = [
        _in_norm(
            _hexapod_cvt(
                "controller",
                name=f"36d-p{p:g}",
                label=f"36D p={p:g}",
                family="Euclidean" if p == 2 else "fractional",
                evaluations=evaluations,
            ),
            p,
            _HEXAPOD_DIMENSIONS["controller"],
        )
        for p in (2.0, 0.5)
    ]
    return _hexapod_study(
        "norms-hexapod",
        "Hexapod locomotion, distance",
        pairs,
        contrasts=(("36d-p2", "36d-p0.5"),),
        paper_evaluations=evaluations,
    )


def rounding_hexapod() -> Study:
    """The effect of rounding: fitness and duty factors as the released experiment has them, on its grid and on a
    CVT."""
    exact = [_released_cells(_on_grid(_hexapod_cvt("duty"), 5)), _hexapod_cvt("duty")]
    rounded = [
        replace(pair, name=f"{pair.name}-rounded", label=f"{pair.label}, rounded", problem="hexapod:duty,released=yes")
        for pair in exact
    ]
    return _hexapod_study(
        "rounding-hexapod",
        "Hexapod locomotion, rounding as released",
        [*exact, *rounded],
        contrasts=tuple((pair.name, f"{pair.name}-rounded") for pair in exact),
    )


_PAPERS = (maze, hexapod, niches_maze, niches_hexapod, norms_maze, norms_hexapod)
_OURS = (sampler_maze, iterations_maze, iterations_hexapod, rounding_hexapod)
STUDIES = {study.__name__.replace("_", "-"): study for study in (*_PAPERS, *_OURS)}
"""The studies by name."""

SETS = {
    "niches": ("niches-maze", "niches-hexapod"),
    "norms": ("norms-maze", "norms-hexapod"),
    "iterations": ("iterations-maze", "iterations-hexapod"),
    "all": tuple(STUDIES),
}
"""Names that stand for several studies."""


def of_descriptors(study: Study, descriptors: Sequence[str]) -> Study:
    """The study's pairs with these descriptors, or names, alone."""
    known = [*dict.fromkeys(pair.descriptor for pair in study.pairs), *(pair.name for pair in study.pairs)]
    unknown = [name for name in descriptors if name not in known]
    if unknown or not descriptors:
        raise ValueError(f"descriptors: expected some of {', '.join(known)}, got {', '.join(unknown) or 'none'}")
    return _with_pairs(study, [pair for pair in study.pairs if {pair.descriptor, pair.name} & {*descriptors}])


def with_centroids(study: Study, folder: Path) -> Study:
    """The study and, for each CVT of which the folder has centroids in a file *_K_D.dat, a pair with these.

    K niches, D dimensions: the authors' released files are named so. ValueError if it has none for this study.
    """
    from tesselite.problems import by_name
    from tesselite.tessellation.files import load_tessellation

    given = []
    for pair in study.pairs:
        if pair.n_samples is None or pair.p != 2.0:
            continue
        space = by_name(pair.problem).features
        for file in sorted(folder.glob(f"*_{pair.n_niches}_{space.n}.*"))[:1]:
            content = load_tessellation(file, space).fingerprint()[:12]
            given.append(
                replace(
                    pair, name=f"{pair.name}-given", label=f"{pair.label}, given centroids", n_samples=None,
                    cvt_iterations=None, centroids=content, source=str(file), ours=True,
                    variant_of=pair.variant_of or pair.name,
                )
            )  # fmt: skip
    if not given:
        raise ValueError(f"centroids: expected files *_K_D.dat of {study.name} in {folder}, found none")
    return replace(
        study,
        pairs=(*study.pairs, *given),
        contrasts=(*study.contrasts, *((pair.name.removesuffix("-given"), pair.name) for pair in given)),
    )


def _with_pairs(study: Study, pairs: Sequence[Pair]) -> Study:
    names = {pair.name for pair in pairs}
    contrasts = tuple(contrast for contrast in study.contrasts if names.issuperset(contrast))
    return replace(study, pairs=tuple(pairs), contrasts=contrasts)


def scaled(
    study: Study, *, evaluations: int | None = None, cvt_samples: int | None = None, quick: bool = False
) -> Study:
    """The study with another budget, fewer CVT samples, or so small that it is quick."""
    pairs = study.pairs
    if evaluations is not None:
        if evaluations < 1:
            raise ValueError(f"evaluations: expected at least 1, got {evaluations}")
        pairs = tuple(replace(pair, evaluations=evaluations, initial=min(pair.initial, evaluations)) for pair in pairs)
    if quick:
        small: dict[str, Pair] = {}  # by settings: studies of the number of niches have fewer pairs then
        for pair in pairs:
            made = _quick(pair, evaluations)
            small.setdefault(repr(made.settings()), made)
        pairs = tuple(small.values())
    if cvt_samples is not None:
        most = max((pair.n_niches or 1 for pair in pairs), default=1)
        if cvt_samples < most:
            raise ValueError(f"cvt_samples: expected at least {most}, one for each niche, got {cvt_samples}")
        pairs = tuple(pair if pair.n_samples is None else replace(pair, n_samples=cvt_samples) for pair in pairs)
    return _with_pairs(study, pairs)


def _quick(pair: Pair, evaluations: int | None) -> Pair:
    k = None if pair.n_niches is None else min(pair.n_niches, 200)
    budget = evaluations or 1000
    return replace(
        pair,
        evaluations=budget,
        initial=min(200, budget),
        batch_size=100,
        n_niches=pair.n_niches if pair.centroids else k,
        n_samples=None if pair.n_samples is None or k is None else 10 * k,
        at_most=50,
    )
