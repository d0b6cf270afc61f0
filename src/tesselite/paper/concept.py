"""The paper's figures that need no trials: concepts (1 and 2), the maze's robot and world (3), its 2D niches (8).

Restricted tournament selection is implemented here for illustration only. G. R. Harik (1995), "Finding multimodal
solutions using restricted tournament selection". CMA-ES is the `cma` package, an extra. Pictures of the maze live in
`tesselite.problems.maze_navigation.maze_pictures`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.arrays import Floats
from tesselite.base.importing import how_to_install
from tesselite.report.style import FITNESS_COLOURS, LINES, figure, save
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.raster import niche_borders

_BOUND = 3.0


def landscape(points: Floats) -> Floats:
    """A hilly function of two variables in [-3, 3], maximised: (n, 2) -> (n,); a high peak and several lower ones."""
    x, y = points[:, 0], points[:, 1]
    hills = 3.0 * (1.0 - x) ** 2 * np.exp(-(x**2) - (y + 1.0) ** 2)
    valleys = 10.0 * (x / 5.0 - x**3 - y**5) * np.exp(-(x**2) - y**2)
    return np.asarray(hills - valleys - np.exp(-((x + 1.0) ** 2) - y**2) / 3.0)


def restricted_tournament(rng: np.random.Generator, *, n: int = 60, evaluations: int = 12_000) -> Floats:
    """A population (n, 2) that keeps several peaks: an offspring competes with the most similar of half of it."""
    population = rng.uniform(-_BOUND, _BOUND, (n, 2))
    fitness = landscape(population)
    window = n // 2
    for _ in range((evaluations - n) // 2):
        first, second = population[rng.choice(n, 2, replace=False)]
        weight = rng.uniform(-0.25, 1.25, 2)
        children = np.array([weight * first + (1 - weight) * second, weight * second + (1 - weight) * first])
        children = np.clip(children + rng.normal(0.0, 0.05, (2, 2)), -_BOUND, _BOUND)
        for child, value in zip(children, landscape(children), strict=True):
            rivals = rng.choice(n, window, replace=False)
            nearest = rivals[np.argmin(((population[rivals] - child) ** 2).sum(axis=1))]
            if value > fitness[nearest]:
                population[nearest], fitness[nearest] = child, value
    return population


def optimum(seed: int) -> tuple[Floats, Floats]:
    """The best point (2,) that CMA-ES finds, and its means (m, 2); ImportError without `cma`."""
    try:
        import cma
    except ImportError:
        raise ImportError(f"this figure needs the package cma: {how_to_install('cma', 'concept')}") from None
    options = {"bounds": [-_BOUND, _BOUND], "seed": seed + 1, "verbose": -9, "popsize": 24, "maxfevals": 3000}
    strategy = cma.CMAEvolutionStrategy([-2.0, -2.0], 2.0, options)
    means = [np.array(strategy.mean)]
    while not strategy.stop():
        points = strategy.ask()
        strategy.tell(points, (-landscape(np.array(points))).tolist())
        means.append(np.array(strategy.result.xfavorite))
    return np.array(strategy.result.xbest), np.array(means)


def _outlines(ax: Any, tessellation: Tessellation, pixels: int = 1200) -> None:
    """The borders between niches, found by the tessellation's own look-up."""
    edge = niche_borders(tessellation, pixels)
    thick = edge.copy()
    for shift in (1, 2):
        thick[:, shift:] |= edge[:, :-shift]
        thick[shift:, :] |= edge[:-shift, :]
    image = np.ones((pixels, pixels, 4))
    image[thick] = (0.25, 0.25, 0.25, 1.0)
    ax.imshow(image, origin="lower", extent=(0, 1, 0, 1), interpolation="antialiased")
    ax.set(xticks=[], yticks=[], box_aspect=1.0, xlabel="feature 1", ylabel="feature 2")
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)


def draw_grid_beside_cvt(made: Any, *, seed: int = 1) -> None:
    """Figure 1: 5 cells per feature make 25 niches in two dimensions; a CVT has any number, here 7."""
    space = FeatureSpace.unit(2)
    left, right = made.subplots(1, 2)
    _outlines(left, GridTessellation(space, 5))
    left.set_title("MAP-Elites: a grid\n5 cells per feature, 5² = 25 niches")
    centroidal = cvt(space, 7, seed=seed)
    _outlines(right, centroidal)
    right.plot(*centroidal.unit_centroids.T, "o", color=LINES[1], markersize=5)
    right.set_title("CVT-MAP-Elites: a centroidal\nVoronoi tessellation, k = 7 niches")


def _illuminated(seed: int) -> Archive:
    """MAP-Elites on the same function, with its two variables as features."""
    from tesselite.emitters.operators import gaussian
    from tesselite.problems.user_function import problem
    from tesselite.runs.run import illuminate
    from tesselite.spaces.solutions import Box

    hills = problem(
        solutions=Box(2, -_BOUND, _BOUND), features={"x": (-_BOUND, _BOUND), "y": (-_BOUND, _BOUND)}, batch=True
    )(lambda points: (landscape(points), points))
    return illuminate(hills, evaluations=20_000, grid=20, variation=gaussian(0.1), seed=seed)


def draw_three_aims(made: Any, *, seed: int = 1) -> None:
    """Figure 2: what CMA-ES, restricted tournament selection and MAP-Elites return on the same landscape."""
    axis = np.linspace(-_BOUND, _BOUND, 241)
    x, y = np.meshgrid(axis, axis)
    height = landscape(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    axes = made.subplots(1, 3, sharex=True, sharey=True)
    for ax in axes:
        ax.contourf(x, y, height, 24, cmap=FITNESS_COLOURS)
        ax.set(box_aspect=1.0, xticks=[], yticks=[], xlim=(-_BOUND, _BOUND), ylim=(-_BOUND, _BOUND))
    best, means = optimum(seed)
    axes[0].plot(*means.T, "-", color="white", linewidth=1.0)
    axes[0].plot(*best, "o", color="white", markeredgecolor="black", markersize=8)
    axes[0].set_title("A  optimisation (CMA-ES):\none solution")
    found = restricted_tournament(np.random.default_rng(seed))
    axes[1].plot(*found.T, "o", color="white", markeredgecolor="black", markersize=5, markeredgewidth=0.6)
    axes[1].set_title("B  multimodal optimisation\n(restricted tournament selection): the peaks")
    elites = _illuminated(seed).elites()
    axes[2].plot(*elites.solutions.T, "o", color="white", markeredgecolor="black", markersize=2.6, markeredgewidth=0.4)
    axes[2].set_title(f"C  illumination (MAP-Elites):\nthe elite of every niche, {len(elites)}")


def draw_maze_and_robot(made: Any) -> None:
    """Figure 3: the simulated robot with its sensors, and the open maze."""
    from tesselite.paper.studies import MAZE_SPEC
    from tesselite.problems import by_name
    from tesselite.problems.maze_navigation.maze_pictures import draw_robot, draw_world

    problem: Any = by_name(MAZE_SPEC.format("2d"))
    left, right = made.subplots(1, 2)
    draw_robot(left, problem.robot)
    draw_world(right, problem.world)
    right.set_title("the open maze: start and goal")


def draw_maze_niches(ax: Any, *, seed: int = 1) -> None:
    """Figure 8: the 5000 niches of the end point, over the maze."""
    from tesselite.paper.maze import PAPER
    from tesselite.paper.studies import MAZE_SPEC
    from tesselite.problems import by_name
    from tesselite.problems.maze_navigation.maze_pictures import draw_niches

    problem: Any = by_name(MAZE_SPEC.format("2d"))
    draw_niches(ax, problem.world, cvt(problem.features, PAPER.n_niches, seed=seed))


def concept_figures(out: Path, kind: str = "png", *, seed: int = 1) -> list[Path]:
    """Draw the figures into files; ImportError, after all others, without the package `cma`."""
    files = []
    with figure(8.0, 4.4) as made:
        draw_grid_beside_cvt(made, seed=seed)
        files.append(save(made, out / f"grid_beside_cvt.{kind}"))
    with figure(8.0, 4.4) as made:
        draw_maze_and_robot(made)
        files.append(save(made, out / f"maze_and_robot.{kind}"))
    with figure(8.0, 8.4) as made:
        draw_maze_niches(made.subplots(), seed=seed)
        files.append(save(made, out / f"maze_niches.{kind}"))
    with figure(12.0, 4.4) as made:
        draw_three_aims(made, seed=seed)
        files.append(save(made, out / f"optimisation_and_illumination.{kind}"))
    return files
