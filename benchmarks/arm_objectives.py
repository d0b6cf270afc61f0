"""The planar arm as users of each library would write it; the built-in one is in `tesselite.problems.planar_arm`.

Fitness is 1 minus the standard deviation (ddof 1) of the joints' values in [0, 1]; the features are the mean cosine
and sine of the accumulated angles 2 pi v - pi, scaled to [0, 1]. All forms compute the same numbers up to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

import tesselite as tl

JOINTS = 10
FEATURES = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def numpy_arm(solutions: Any) -> tuple[Any, Any]:
    """A batch (n, joints) at once: fitness (n,) and features (n, 2)."""
    angles = np.cumsum(2.0 * np.pi * solutions - np.pi, axis=1)
    features = np.empty((len(solutions), 2))
    features[:, 0] = 0.5 + 0.5 * np.cos(angles).mean(axis=1)
    features[:, 1] = 0.5 + 0.5 * np.sin(angles).mean(axis=1)
    return 1.0 - solutions.std(axis=1, ddof=1), features


@tl.problem(solutions=tl.Box(JOINTS, 0.0, 1.0), features=FEATURES, name="arm by @njit")
@njit
def njit_arm(solution: Any) -> Any:
    """One solution, compiled by Numba, with the sine and cosine of the C library."""
    angle = x = y = mean = 0.0
    for value in solution:
        angle += 2.0 * math.pi * value - math.pi
        x += math.cos(angle)
        y += math.sin(angle)
        mean += value
    n = len(solution)
    mean /= n
    squares = 0.0
    for value in solution:
        squares += (value - mean) ** 2
    return 1.0 - math.sqrt(squares / (n - 1)), (0.5 + 0.5 * x / n, 0.5 + 0.5 * y / n)


def first_values_batch(n_features: int) -> Any:
    """A synthetic objective for any number of features: the first values themselves; fitness is minus their spread."""

    def evaluate(solutions: Any) -> tuple[Any, Any]:
        return 1.0 - solutions.std(axis=1, ddof=1), np.ascontiguousarray(solutions[:, :n_features])

    return evaluate


def first_values_problem(n_features: int, width: int) -> tl.Problem:
    """The same for one solution at a time, compiled."""

    @njit
    def evaluate(solution: Any) -> Any:
        mean = 0.0
        for value in solution:
            mean += value
        mean /= len(solution)
        squares = 0.0
        for value in solution:
            squares += (value - mean) ** 2
        return 1.0 - math.sqrt(squares / (len(solution) - 1)), solution[:n_features]

    space = tl.FeatureSpace.unit(n_features)
    return tl.problem(solutions=tl.Box(width, 0.0, 1.0), features=space, name="first values")(evaluate)
