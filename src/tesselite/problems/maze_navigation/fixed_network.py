"""The maze with real vectors: the weights of one network of fixed structure, for operators and emitters of real values.

The paper's networks change their structure as they evolve (`networks`); here all seven inputs go to a few hidden
neurons, and these to both wheels. What the robot does and what is measured is the maze's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.archive.evaluation import Evaluation
from tesselite.problems.maze_navigation.networks import FIRST_HIDDEN, N_INPUTS, N_OUTPUTS, Networks
from tesselite.problems.maze_navigation.problem import maze
from tesselite.problems.maze_navigation.robot import Robot
from tesselite.problems.problem import Problem
from tesselite.spaces.solutions import Box, Rows


class MazeWeights(Problem):
    """A maze whose solutions are biases and weights in [-2, 2]; each acts as the nearest half. Made by `maze_weights`.

    A row holds the biases of both wheels and of the hidden neurons, then the weights from the inputs to each hidden
    neuron, then those from the hidden neurons to each wheel.
    """

    direction = "min"
    deterministic = True
    y_down = True

    def __init__(self, descriptor: str, hidden: int) -> None:
        into = [(source, FIRST_HIDDEN + target) for target in range(hidden) for source in range(N_INPUTS)]
        out = [(FIRST_HIDDEN + source, N_INPUTS + target) for target in range(N_OUTPUTS) for source in range(hidden)]
        connections = [(source, target, 0.0) for source, target in into + out]
        networks = Networks(hidden, len(connections), 0, 0)
        self.maze = maze(descriptor, layout="round", robot=Robot(after_hit="stick"), networks=networks)
        self._row = networks.encode({}, connections, n_hidden=hidden)
        first, last = 2 + N_OUTPUTS + hidden, networks.width - len(connections)
        self._columns = np.concatenate([np.arange(2, first), np.arange(last, networks.width)])
        self.name = f"maze_weights:{descriptor}"
        self.variant = f"{hidden} hidden"
        self.solutions = Box(len(self._columns), -2.0, 2.0)
        self.features, self.scenarios, self.floor = self.maze.features, self.maze.scenarios, self.maze.floor

    def networks(self, rows: Rows) -> Rows:
        """The rows as networks of the maze."""
        made = np.tile(self._row, (len(rows), 1))
        made[:, self._columns] = np.rint(2.0 * rows)
        return made

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Drive the robot by each row's network."""
        return self.maze.evaluate_rows(self.networks(rows), scenario, threads)

    def elite_view(self, solutions: Rows, scenario: str | None = None) -> dict[str, Any]:
        """Paths and networks for the interactive page."""
        return self.maze.elite_view(self.networks(solutions), scenario)


def maze_weights(descriptor: str = "2d", *, hidden: int = 5) -> Problem:
    """The maze of `tesselite reproduce`, driven by a network of fixed structure with this many hidden neurons."""
    if not 1 <= hidden <= 100:
        raise ValueError(f"hidden: expected 1 to 100 neurons, got {hidden}")
    return MazeWeights(descriptor, hidden)
