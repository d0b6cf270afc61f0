"""Pictures of mazes, of where an archive's elites drive in them, and of networks.

Pictures of any archive, its progress and its niches live in `tesselite.report`. Each function here draws into axes or
a figure that it is given; `draw_run` writes the files that `tesselite plot` adds for a maze. After Fig. 3, 4 and 8 of
Vassiliades et al. (2018).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.problems.maze_navigation.networks import FIRST_HIDDEN, INPUTS, N_INPUTS, N_OUTPUTS, Description
from tesselite.problems.maze_navigation.robot import LASER_ANGLES, N_SLICES, SPEED, Robot
from tesselite.problems.maze_navigation.world import World

if TYPE_CHECKING:
    from tesselite.problems.maze_navigation.problem import Maze

_COLOURS = "viridis_r"  # fitness is a distance: small is bright
_WALL = "#222222"
_PATH = "#D55E00"
_EXCITES, _INHIBITS = "#0072B2", "#D55E00"
_SLICES = ("#0072B2", "#009E73", "#E69F00", "#CC79A7")
_START, _GOAL = "#0072B2", "#D55E00"
_PATHS_SHOWN = 300
_DISTANCE = "smallest distance to the goal, units"


def _add_legend(where: Any, *more: Any) -> None:
    """Add a legend below a figure: start, goal, and what else was drawn."""
    from matplotlib.lines import Line2D

    start = Line2D([], [], linestyle="", marker="o", markerfacecolor="none", color=_START, label="start")
    goal = Line2D([], [], linestyle="", marker="x", color=_GOAL, markeredgewidth=2, label="goal")
    handles = [start, goal, *more]
    where.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)


def draw_world(ax: Any, world: World) -> None:
    """Draw the walls, the start (circle) and the goal (cross), in units, y downwards."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Circle

    height, width = world.walls.shape
    ax.imshow(
        np.where(world.walls, 1.0, np.nan),
        extent=(0, width, height, 0),
        cmap=ListedColormap([_WALL]),
        interpolation="nearest",
        zorder=2,
    )
    ax.add_patch(
        Circle((world.start[0], world.start[1]), world.radius, fill=False, color=_START, linewidth=1.2, zorder=4)
    )
    ax.plot(*world.goal, marker="x", color=_GOAL, markersize=7, markeredgewidth=2, zorder=4)
    ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])


def draw_small(ax: Any, world: World) -> None:
    """Walls, start and goal for a very small picture; y grows downwards."""
    height, width = world.walls.shape
    step = max(1, width // 250)
    rows = world.walls[: height // step * step, : width // step * step]
    coarse = rows.reshape(height // step, step, width // step, step).any(axis=(1, 3))
    ax.imshow(~coarse, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0), interpolation="nearest")
    ax.plot(*world.start[:2], "o", color="#0072B2", markersize=2.2)
    ax.plot(*world.goal, "x", color="#D55E00", markersize=3.5, markeredgewidth=1.2)
    ax.set_aspect("equal")


def draw_robot(ax: Any, robot: Robot) -> None:
    """Draw the robot, facing up: its two wheels, the lasers (arrows) and the slices of its compass (Fig. 3a)."""
    from matplotlib.patches import Circle, Rectangle, Wedge

    radius, reach = robot.radius, 2.2 * robot.radius
    first = 45.0 if robot.slices == "around_heading" else 0.0
    for i in range(N_SLICES):  # clockwise from the heading; matplotlib counts counterclockwise from the right
        begin = 90.0 + first - 90.0 * i
        colour = _SLICES[i % len(_SLICES)]
        ax.add_patch(Wedge((0, 0), reach, begin - 90.0, begin, facecolor=colour, alpha=0.25, zorder=1))
        middle = np.deg2rad(begin - 45.0)
        if np.sin(middle) > 0.0:
            middle += np.copysign(np.deg2rad(25.0), -np.cos(middle))  # beside the lasers
        ax.text(1.6 * radius * np.cos(middle), 1.6 * radius * np.sin(middle), INPUTS[3 + i], ha="center", va="center")
    ax.add_patch(Circle((0, 0), radius, facecolor="white", edgecolor="black", linewidth=1.5, zorder=2))
    for i, angle in enumerate(LASER_ANGLES):
        x, y = np.sin(angle), np.cos(angle)  # + is clockwise: to the right of what is ahead
        ax.annotate(
            "", (1.8 * radius * x, 1.8 * radius * y), (0, 0), zorder=4,
            arrowprops={"arrowstyle": "-|>", "color": _PATH, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        ax.text(1.95 * radius * x, 1.95 * radius * y, INPUTS[i], ha="center", va="center", color=_PATH)
    for side in (-1, 1):
        wheel = Rectangle((side * robot.axle / 2 - 0.09 * radius, -0.35 * radius), 0.18 * radius, 0.7 * radius)
        wheel.set(facecolor="black", zorder=3)
        ax.add_patch(wheel)
    ax.set(xlim=(-2.4 * radius, 2.4 * radius), ylim=(-2.4 * radius, 2.4 * radius), aspect="equal")
    ax.set_axis_off()
    ax.set_title(
        f"diameter {2 * radius:g} units; wheels within ±{SPEED:g} units a step\n"
        f"lasers reach {robot.laser_range:g} units, the slice of the goal is 1",
        fontsize=9,
    )


def draw_niches(ax: Any, world: World, tessellation: Any, pixels: int = 1500) -> None:
    """Draw the borders of the niches of a 2D tessellation under the walls of a maze (Fig. 8)."""
    from tesselite.tessellation.raster import niche_borders

    height, width = world.walls.shape
    edge = niche_borders(tessellation, pixels)  # row 0 is y = 0, the maze's top
    ax.imshow(edge, extent=(0, width, height, 0), cmap="Greys", vmax=2.5, interpolation="antialiased", zorder=1)
    draw_world(ax, world)
    ax.set_title(f"{tessellation.n_niches:,} niches of the end point", fontsize=9)


def draw_end_points(ax: Any, world: World, points: Floats, fitness: Floats) -> Any:
    """Draw points (n, 2) in the maze, coloured by fitness (n,), the best on top; returns what a colour bar needs."""
    draw_world(ax, world)
    order = np.argsort(-fitness, kind="stable")
    return ax.scatter(*points[order].T, c=fitness[order], cmap=_COLOURS, s=4, linewidths=0, zorder=3)


def draw_paths(ax: Any, world: World, paths: Floats, fitness: Floats) -> Any:
    """Draw paths (n, steps, 2) in the maze, coloured by fitness (n,), best on top; returns what a colour bar needs."""
    from matplotlib.collections import LineCollection

    draw_world(ax, world)
    order = np.argsort(-fitness, kind="stable")
    lines = LineCollection(list(paths[order]), cmap=_COLOURS, linewidths=0.5, alpha=0.7, zorder=1, rasterized=True)
    lines.set_array(fitness[order])
    ax.add_collection(lines)
    return lines


def draw_best_paths(made: Any, problem: Maze, solutions: Any, threads: int | None = None) -> dict[str, float]:
    """Draw, for the maze of the search and for each scenario, the path that comes nearest to the goal.

    All solutions are evaluated in every world. Returns the smallest distance in each, by name ("open": the search's).
    """
    from matplotlib.lines import Line2D

    names: tuple[str | None, ...] = (None, *problem.scenarios)
    columns = min(6, len(names))
    axes = made.subplots(-(-len(names) // columns), columns, squeeze=False).ravel()
    best = {}
    for ax, name in zip(axes, names, strict=False):
        fitness = problem.evaluate(solutions, name, threads).fitness
        winner = int(np.nanargmin(fitness))
        path = problem.trajectory(solutions[winner], name)
        reached = int(np.hypot(*(path[:, :2] - problem.world_of(name).goal).T).argmin())
        draw_world(ax, problem.world_of(name))
        ax.plot(path[: reached + 1, 0], path[: reached + 1, 1], color=_PATH, linewidth=1, zorder=3)
        shown = name or "open"
        best[shown] = float(fitness[winner])
        ax.set_title(f"{shown}: {best[shown]:.1f} units", fontsize=8)
    for ax in axes[len(names) :]:
        ax.set_axis_off()
    _add_legend(made, Line2D([], [], color=_PATH, linewidth=1, label="path, until it is nearest to the goal"))
    return best


def draw_network(ax: Any, network: Description) -> None:
    """Draw a network: inputs on the left, outputs on the right, hidden neurons by their distance from an output.

    Blue connections excite, orange ones inhibit; width is weight. What cannot act is pale. A legend says so.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, FancyArrowPatch

    place = _places(network)
    for c in network.connections:
        live = c.target in network.live_neurons
        (x1, y1), (x2, y2) = place[c.source], place[c.target]
        loop = c.source == c.target
        ax.add_patch(
            FancyArrowPatch(
                (x1 - 0.02, y1 + 0.025) if loop else (x1, y1),
                (x2 + 0.02, y2 + 0.025) if loop else (x2, y2),
                connectionstyle=f"arc3,rad={-2.5 if loop else 0.12}",
                arrowstyle="-|>",
                mutation_scale=9,
                shrinkA=7 if not loop else 0,
                shrinkB=7 if not loop else 0,
                linewidth=0.4 + abs(c.weight),
                color=_EXCITES if c.weight > 0 else _INHIBITS,
                alpha=(0.8 if c.weight else 0.3) if live else 0.15,
                zorder=1,
            )
        )
    for neuron, (x, y) in place.items():
        live = neuron in network.live_neurons
        bias = network.biases.get(neuron)
        ax.add_patch(Circle((x, y), 0.022, facecolor="white", edgecolor="black" if live else "#bbbbbb", zorder=2))
        if bias is not None:
            ax.text(x, y, f"{bias:g}", ha="center", va="center", fontsize=6, color="black" if live else "#bbbbbb")
        if neuron < FIRST_HIDDEN:
            side = -1 if neuron < N_INPUTS else 1
            ax.text(
                x + side * 0.035,
                y,
                network.neurons[neuron],
                ha="right" if side < 0 else "left",
                va="center",
                fontsize=8,
                color="black" if live else "#bbbbbb",
            )
    ax.set(xlim=(-0.22, 1.22), ylim=(-0.06, 1.06), aspect="equal")
    ax.set_axis_off()
    ax.set_title(str(network).splitlines()[0], fontsize=9)
    lines = {"weight +1": (_EXCITES, 1.4), "weight \N{MINUS SIGN}1": (_INHIBITS, 1.4), "weight +0.2": (_EXCITES, 0.6)}
    handles = [Line2D([], [], color=colour, linewidth=width, label=name) for name, (colour, width) in lines.items()]
    look: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 9, "markerfacecolor": "white"}
    handles.append(Line2D([], [], color="black", label="neuron with its bias", **look))
    handles.append(Line2D([], [], color="#bbbbbb", label="without effect", **look))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5, frameon=False, fontsize=7)


def _places(network: Description) -> dict[int, tuple[float, float]]:
    """The place of each neuron in the unit square: columns by the number of hops to an output."""
    hops = dict.fromkeys(range(N_INPUTS, FIRST_HIDDEN), 0)
    found = True
    while found:
        found = False
        for c in network.connections:
            if c.target in hops and hops.get(c.source, 10**6) > hops[c.target] + 1 and c.source >= FIRST_HIDDEN:
                hops[c.source] = hops[c.target] + 1
                found = True
    deepest = max([1, *hops.values()])
    place = {i: (0.0, 1 - i / (N_INPUTS - 1)) for i in range(N_INPUTS)}
    place |= {N_INPUTS + i: (1.0, 0.7 - 0.4 * i / (N_OUTPUTS - 1)) for i in range(N_OUTPUTS)}
    columns: dict[int, list[int]] = {}
    for neuron in range(FIRST_HIDDEN, len(network.neurons)):
        columns.setdefault(hops.get(neuron, deepest + 1), []).append(neuron)
    last = max([deepest, *columns]) + 1
    for hop, neurons in columns.items():
        for i, neuron in enumerate(neurons):
            # Odd columns are shifted by half a place, so that straight connections miss the neurons between.
            y = (i + 0.5) / len(neurons) + 0.06 * (-1) ** hop / max(1, len(neurons))
            place[neuron] = (1 - 0.12 - 0.76 * hop / last, y)
    return place


def draw_run(problem: Maze, archive: Any, folder: Path, kind: str) -> list[Path]:
    """Write the pictures of a maze's archive: elites in the maze, its niches (2D), best paths, the best network.

    `archive` has `elites()` with solutions, fitness and features. Returns the files made.
    """
    from tesselite.report.style import figure, save

    elites = archive.elites()
    if not len(elites):
        return []
    files = []
    with figure(6.4, 5.6) as made:
        ax = made.subplots()
        if elites.features.shape[1] == 2:
            shown = draw_end_points(ax, problem.world, elites.features, elites.fitness)
            ax.set_title(f"{problem.name}: end points of {len(elites):,} elites")
        else:
            order = np.argsort(elites.fitness, kind="stable")
            order = order[np.unique(np.linspace(0, len(order) - 1, _PATHS_SHOWN).round().astype(int))]
            paths = problem.paths(elites.solutions[order], 5)
            shown = draw_paths(ax, problem.world, paths, elites.fitness[order])
            ax.set_title(
                f"{problem.name}: trajectories of {len(order):,} of {len(elites):,} elites, from best to worst"
            )
        made.colorbar(shown, ax=ax, label=_DISTANCE, shrink=0.85).solids.set_alpha(1.0)
        _add_legend(made)
        files.append(save(made, folder / f"maze-elites.{kind}"))
    if elites.features.shape[1] == 2:
        with figure(6.4, 5.6) as made:
            ax = made.subplots()
            files.append(save(_with_niches(made, ax, problem, archive), folder / f"maze-niches.{kind}"))
    solutions = elites.solutions
    if len(solutions) > 10_000:  # as many as the paper assesses
        solutions = solutions[np.random.default_rng(0).choice(len(solutions), 10_000, replace=False)]
    with figure(9.0, 5.8) as made:
        draw_best_paths(made, problem, solutions)
        made.suptitle(f"{problem.name}: the best path in each environment, and its smallest distance to the goal")
        files.append(save(made, folder / f"maze-best-paths.{kind}"))
    with figure(6.4, 4.8) as made:
        draw_network(made.subplots(), problem.solutions.describe(elites.solutions[int(np.argmin(elites.fitness))]))
        files.append(save(made, folder / f"maze-best-network.{kind}"))
    return files


def _with_niches(made: Any, ax: Any, problem: Maze, archive: Any) -> Any:
    """The niches of a 2D archive, coloured by fitness, under the walls of the maze."""
    from tesselite.report.archive_map import draw_niches as draw_filled
    from tesselite.report.colouring import Colouring

    shown = draw_filled(ax, archive, Colouring.of(archive), y_down=True)
    draw_world(ax, problem.world)
    ax.set_title(f"{problem.name}: {len(archive):,} of {archive.n_niches:,} niches filled")
    made.colorbar(shown, ax=ax, label=_DISTANCE, shrink=0.85)
    _add_legend(made)
    return made
