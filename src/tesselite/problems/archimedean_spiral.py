"""The Archimedean spiral of the QD suite: one variable, and a curve through the plane on which neighbours in the plane
can be far apart along the curve. All solutions are equally good; a search starts from one point, halfway out.

A. Salehi et al. (2022), "Towards QD-suite: developing a set of benchmarks for quality-diversity algorithms".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.compiled.blocks import native_block
from tesselite.compiled.fast_math import sincos
from tesselite.compiled.kernels import kernel
from tesselite.problems.problem import Problem
from tesselite.problems.user_function import CompiledProblem, Statement
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box, Rows

AMPLITUDE = 0.01
LARGEST = 40.0 * np.pi  # angle at the outer end
START = 22.0 * np.pi  # angle at which a search begins: the first full turn past the middle


class _FromOnePoint(Box):
    """One variable between 0 and an end, and a start that all first solutions share."""

    def __init__(self, end: float, start: float) -> None:
        super().__init__(1, 0.0, end)
        self.start = start

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """The start, n times."""
        return np.full((n, 1), self.start)


@kernel(inline="always")
def arc_length(angle: float) -> float:
    """Length of the spiral from its centre to an angle."""
    root = np.sqrt(1.0 + angle * angle)
    return 0.5 * AMPLITUDE * (angle * root + np.log(angle + root))


@kernel()
def angle_at(length: float) -> float:
    """The angle at which the spiral has this length, by Newton's method: the length is convex in the angle."""
    angle = np.sqrt(2.0 * max(length, 0.0) / AMPLITUDE)  # of the outer part; never too small
    for _ in range(8):
        angle -= (arc_length(angle) - length) / (AMPLITUDE * np.sqrt(1.0 + angle * angle))
    return max(angle, 0.0)


def _make_block(by_length: bool, geodesic: bool) -> Any:
    def block(rows: Any, n: int, fitness: Any, features: Any, status: Any) -> None:
        for i in range(n):
            angle = angle_at(rows[i]) if by_length else rows[i]
            if geodesic:
                features[i] = arc_length(angle)
            else:
                sine, cosine = sincos(angle)
                features[2 * i] = AMPLITUDE * angle * cosine
                features[2 * i + 1] = AMPLITUDE * angle * sine
            fitness[i] = 1.0
            status[i] = 0

    return native_block(block)


def spiral(variable: str = "angle", *, features: str = "euclidean") -> Problem:
    """The spiral by its "angle" or its "arc_length"; features "euclidean" (x and y) or "geodesic" (the arc length)."""
    if variable not in ("angle", "arc_length"):
        raise ValueError(f"variable: expected angle or arc_length, got {variable!r}")
    if features not in ("euclidean", "geodesic"):
        raise ValueError(f"features: expected euclidean or geodesic, got {features!r}")
    by_length, geodesic = variable == "arc_length", features == "geodesic"
    end, start, bound = LARGEST, START, AMPLITUDE * LARGEST
    longest = float(arc_length(LARGEST))
    if by_length:
        end, start = longest, float(arc_length(START))
    space = FeatureSpace({"arc length": (0.0, longest)} if geodesic else {"x": (-bound, bound), "y": (-bound, bound)})
    made = CompiledProblem(
        "spiral",
        lambda scenario: _make_block(by_length, geodesic),
        Statement(_FromOnePoint(end, start), space, floor=0.0),
    )
    made.variant = f"{variable} {features}"
    made.spec = f"spiral:{variable},features={features}"
    return made
