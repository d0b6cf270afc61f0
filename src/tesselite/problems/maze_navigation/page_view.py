"""What the interactive page shows of the maze's elites: their paths through the maze, and their networks.

How that is drawn is in `page_view.js`.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.problems.maze_navigation.networks import INPUTS, OUTPUTS
from tesselite.problems.maze_navigation.world import Bitmap
from tesselite.spaces.solutions import Rows

if TYPE_CHECKING:
    from tesselite.problems.maze_navigation.problem import Maze

_PIXELS = 500  # of the walls, along the longer side at most
_POINTS = 200  # of a path, without its start: one every 15 steps, so at most 30 units apart


def _smaller(walls: Bitmap) -> Bitmap:
    """The walls in fewer pixels, each wall if any of those that it stands for is: thin walls stay."""
    height, width = walls.shape
    n = -(-max(height, width) // _PIXELS)
    padded = np.pad(walls, ((0, -height % n), (0, -width % n)))
    blocks = padded.reshape(padded.shape[0] // n, n, padded.shape[1] // n, n)
    return np.asarray(blocks.any(axis=(1, 3)))


def describe(problem: Maze, solutions: Rows, scenario: str | None) -> dict[str, Any]:
    """The view "drive" of these networks, (m, width), in one setting: points to the unit."""
    world = problem.world_of(scenario)
    every = max(1, problem.steps // _POINTS)
    height, width = world.walls.shape
    return {
        "kind": "drive",
        "script": resources.files(__package__).joinpath("page_view.js").read_text(encoding="utf-8"),
        "per_elite": ["points"],
        "step": {"points": 1.0},
        "points": problem.paths(solutions, every, scenario),
        "every": every,
        "bounds": [0.0, float(width), 0.0, float(height)],
        "flip_y": True,
        "walls": _smaller(world.walls).astype(np.uint8),
        "start": list(world.start[:2]),
        "goal": list(world.goal),
        "radius": world.radius,
        "network": {
            "inputs": list(INPUTS),
            "outputs": list(OUTPUTS),
            "max_hidden": problem.solutions.max_hidden,
            "max_connections": problem.solutions.max_connections,
        },
    }
