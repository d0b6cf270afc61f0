"""The planar arm: reach every point of a disc with joint angles as equal as possible; a common speed test of the field.

`arm`: fitness is 1 minus the standard deviation (n - 1 in the denominator) of the joints' values, which lie in [0, 1];
it is maximised. A value v turns its joint by 2 pi v - pi against the link before; all links have the same length, and
the features are the hand's position, scaled so that the reachable disc fills the unit square.

`arm_repertoire` is the benchmark that CMA emitters are compared on: unbounded angles, which start at 0, links of length
1, and 100 (1 - variance). M. C. Fontaine and S. Nikolaidis (2021), "Differentiable quality diversity", section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from tesselite.compiled.blocks import native_block
from tesselite.compiled.fast_math import sincos, sincos_turns
from tesselite.problems.problem import Problem
from tesselite.problems.user_function import CompiledProblem, Statement
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box, Reals

TWO_PI = 2.0 * np.pi


def make_block(joints: int) -> Any:
    """The arm as a block of machine code, with the number of joints known to the compiler."""

    def block(rows: Any, n: int, fitness: Any, features: Any, status: Any) -> None:
        values = carray(rows, (n, joints))
        turns, squares, x, y = np.empty((joints, n)), np.empty(n), np.zeros(n), np.zeros(n)
        for i in range(n):
            turned = 0.0
            for j in range(joints):
                turned += values[i, j] - 0.5
                turns[j, i] = turned
        for i in range(n):
            mean = turns[joints - 1, i] * (1.0 / joints) + 0.5
            total = 0.0
            for j in range(joints):
                total += (values[i, j] - mean) ** 2
            squares[i] = total
        # Joint by joint over all rows, so that sine and cosine are vectorised.
        for j in range(joints):
            for i in range(n):
                sine, cosine = sincos_turns(turns[j, i])
                x[i] += cosine
                y[i] += sine
        for i in range(n):
            fitness[i] = 1.0 - np.sqrt(squares[i] * (1.0 / max(1, joints - 1)))
            features[2 * i] = 0.5 + (0.5 / joints) * x[i]
            features[2 * i + 1] = 0.5 + (0.5 / joints) * y[i]
            status[i] = 0

    return native_block(block)


def _repertoire_block(joints: int) -> Any:
    def block(rows: Any, n: int, fitness: Any, features: Any, status: Any) -> None:
        values = carray(rows, (n, joints))
        turned, mean, squares = np.zeros(n), np.zeros(n), np.zeros(n)
        x, y = np.zeros(n), np.zeros(n)
        for j in range(joints):
            for i in range(n):
                turned[i] += values[i, j]
                sine, cosine = sincos(turned[i])
                x[i] += cosine
                y[i] += sine
        for i in range(n):
            mean[i] = turned[i] * (1.0 / joints)
        for j in range(joints):
            for i in range(n):
                squares[i] += (values[i, j] - mean[i]) ** 2
        for i in range(n):
            fitness[i] = 100.0 - (100.0 / joints) * squares[i]
            features[2 * i] = x[i]
            features[2 * i + 1] = y[i]
            status[i] = 0

    return native_block(block)


def posture(solution: Any) -> Any:
    """The positions (joints + 1, 2) of base, joints and hand, for links of length 1 / joints."""
    return _links(TWO_PI * np.asarray(solution, dtype=np.float64) - np.pi)


def _links(solution: Any) -> Any:
    """The same for the turn of each joint against the link before."""
    angles = np.cumsum(solution)
    steps = np.stack([np.cos(angles), np.sin(angles)], axis=1) / len(angles)
    return np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])


class PlanarArm(CompiledProblem):
    """The arm as a problem that can show its postures."""

    posture = staticmethod(posture)

    def elite_view(self, solutions: Any, scenario: str | None = None) -> dict[str, Any]:
        """Postures, (m, joints + 1, 2), within the disc that the arm reaches."""
        return {
            "kind": "posture",
            "per_elite": ["points"],
            "points": np.array([self.posture(solution) for solution in solutions]),
            "bounds": [-1.0, 1.0, -1.0, 1.0],
            "reach": 1.0,
        }


class _Repertoire(PlanarArm):
    """The arm whose values are angles."""

    posture = staticmethod(_links)


def arm(joints: int = 10) -> Problem:
    """A planar arm with this many joints; features x and y of its hand in [0, 1].

    Example:
        >>> import tesselite as tl
        >>> tl.problems.arm(joints=5).features.names
        ('x', 'y')
    """
    if joints < 2:
        raise ValueError(f"joints: expected at least 2, got {joints}")
    made = PlanarArm(
        "arm",
        lambda scenario: make_block(joints),
        Statement(Box(joints, 0.0, 1.0), FeatureSpace({"x": (0.0, 1.0), "y": (0.0, 1.0)}), floor=0.0),
    )
    made.spec = f"arm:{joints}"
    return made


def arm_repertoire(joints: int = 100) -> Problem:
    """The planar arm as CMA emitters are compared on: angles without bounds, features x and y in +-joints."""
    if joints < 2:
        raise ValueError(f"joints: expected at least 2, got {joints}")
    made = _Repertoire(
        "arm_repertoire",
        lambda scenario: _repertoire_block(joints),
        Statement(Reals(joints), FeatureSpace({"x": (-joints, joints), "y": (-joints, joints)}), floor=0.0),
    )
    made.spec = f"arm_repertoire:{joints}"
    return made
