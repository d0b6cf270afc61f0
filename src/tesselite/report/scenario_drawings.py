"""Small drawings of scenarios, to stand above the columns of a figure.

A problem draws its own by a method draw_scenario(ax, scenario); this module knows the two tasks of the paper besides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tesselite.problems.problem import Problem

DrawScenario = Callable[[Any, str | None], object]


def scenario_drawing(problem: Problem) -> DrawScenario | None:
    """A function of (axes, scenario; None for training) that draws a setting of the problem; None if none is known."""
    own: DrawScenario | None = getattr(problem, "draw_scenario", None)
    if own is not None:
        return own
    family = problem.name.partition(":")[0]
    drawing = {"maze": _draw_maze, "hexapod": _draw_hexapod}.get(family)
    return None if drawing is None else partial(drawing, problem)


def _draw_maze(problem: Any, ax: Any, scenario: str | None) -> None:
    """Walls, start and goal; y grows downwards."""
    world = problem.world_of(scenario)
    height, width = world.walls.shape
    step = max(1, width // 250)
    rows = world.walls[: height // step * step, : width // step * step]
    coarse = rows.reshape(height // step, step, width // step, step).any(axis=(1, 3))
    ax.imshow(~coarse, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0), interpolation="nearest")
    ax.plot(*world.start[:2], "o", color="#0072B2", markersize=2.2)
    ax.plot(*world.goal, "x", color="#D55E00", markersize=3.5, markeredgewidth=1.2)
    ax.set_aspect("equal")


def _draw_hexapod(problem: Any, ax: Any, scenario: str | None) -> None:
    """The robot from above, walking upwards; a missing leg is dotted."""
    from tesselite.problems.hexapod_locomotion.robot import BASE_SIZE, LEGS

    gone = {*problem.body.missing, *([problem.scenarios.index(scenario)] if scenario is not None else [])}
    half_length, half_width = BASE_SIZE[0] / 2, BASE_SIZE[1] / 2
    corners = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1), (1, 1)]) * (half_length, half_width)
    ax.fill(-corners[:, 1], corners[:, 0], color="0.75", linewidth=0)
    for number, hip in enumerate(LEGS):
        outward = np.array([-hip.side * np.sin(hip.yaw), hip.side * np.cos(hip.yaw)])
        hip_at = np.array([hip.x, hip.y])
        foot = hip_at + 0.145 * outward
        line, colour = (":", "#D55E00") if number in gone else ("-", "0.15")
        ax.plot([-hip_at[1], -foot[1]], [hip_at[0], foot[0]], line, color=colour, linewidth=1.5)
        if number not in gone:
            ax.plot(-foot[1], foot[0], "o", color=colour, markersize=2.5)
    ax.annotate("", xy=(0, 0.09), xytext=(0, -0.06), arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.8})
    ax.set(xlim=(-0.27, 0.27), ylim=(-0.27, 0.27))
    ax.set_aspect("equal")
