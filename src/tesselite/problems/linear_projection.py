"""LP, linear projection: the field's benchmark of exploration. Features are sums over blocks of many variables, so that
random solutions crowd around the centre and only solutions that agree in all variables reach the borders.

M. C. Fontaine, J. Togelius, S. Nikolaidis, A. K. Hoover (2020), "Covariance matrix adaptation for the rapid
illumination of behavior space", section 4; normalised to 0 to 100 and with the plateau as in M. C. Fontaine and S.
Nikolaidis (2023), "Covariance matrix adaptation MAP-annealing", section 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from tesselite.compiled.blocks import native_block
from tesselite.compiled.fast_math import sincos_turns
from tesselite.compiled.kernels import kernel
from tesselite.problems.problem import Problem
from tesselite.problems.user_function import CompiledProblem, Statement
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Reals

LIMIT = 5.12
SHIFT = 0.4 * LIMIT  # where the optimum is, in every variable


@kernel(inline="always")
def _sphere(x: float) -> float:
    return (x - SHIFT) ** 2


@kernel(inline="always")
def _rastrigin(x: float) -> float:
    return 10.0 + (x - SHIFT) ** 2 - 10.0 * sincos_turns(x - SHIFT)[1]


@kernel(inline="always")
def _plateau(x: float) -> float:
    return max(abs(x) - LIMIT, 0.0) ** 2


@kernel(inline="always")
def _flat(x: float) -> float:
    return 0.0


# What a variable adds to the loss, and the mean loss that counts as a fitness of 0: that of the corner at -5.12.
_KINDS = {
    "sphere": (_sphere, (LIMIT + SHIFT) ** 2),
    "rastrigin": (_rastrigin, 10.0 + (LIMIT + SHIFT) ** 2 - 10.0 * np.cos(2.0 * np.pi * (LIMIT + SHIFT))),
    "plateau": (_plateau, 100.0),
    "flat": (_flat, 1.0),
}


@kernel(inline="always")
def _sum(values: Any, start: int, stop: int) -> float:
    """The sum of some values, by four sums that do not wait for each other."""
    a = b = c = d = 0.0
    whole = start + (stop - start) // 4 * 4
    for j in range(start, whole, 4):
        a += values[j]
        b += values[j + 1]
        c += values[j + 2]
        d += values[j + 3]
    for j in range(whole, stop):
        a += values[j]
    return (a + b) + (c + d)


def _make_block(loss: Any, worst: float, n_variables: int, n_features: int) -> Any:
    size, scale = n_variables // n_features, 100.0 / (n_variables * worst)

    def block(rows: Any, n: int, fitness: Any, features: Any, status: Any) -> None:
        x = carray(rows, (n, n_variables))
        lost, projected = np.empty(n_variables), np.empty(n_variables)
        for i in range(n):
            for j in range(n_variables):  # apart from the sums, so that it is vectorised
                value = x[i, j]
                beyond = LIMIT / value
                lost[j] = loss(value)
                projected[j] = value if abs(value) <= LIMIT else beyond
            fitness[i] = 100.0 - scale * _sum(lost, 0, n_variables)
            for b in range(n_features):
                features[n_features * i + b] = _sum(projected, b * size, (b + 1) * size)
            status[i] = 0

    return native_block(block)


def lp(function: str = "sphere", *, n: int = 100, features: int = 2) -> Problem:
    """Linear projection of n variables to some features, which n must be a multiple of; fitness is at most 100.

    `function` is "sphere", "rastrigin", "plateau" (100 in the box of +-5.12, a quadratic penalty outside) or "flat"
    (100 everywhere). A variable beyond +-5.12 adds 5.12 / x to its feature. Solutions are unbounded and start at 0.
    """
    if function not in _KINDS:
        raise ValueError(f"function: expected one of {', '.join(_KINDS)}, got {function!r}")
    if features < 1 or n < features or n % features:
        raise ValueError(f"n: expected a multiple of the {features} features, got {n}")
    loss, worst = _KINDS[function]
    bound = LIMIT * n / features
    made = CompiledProblem(
        "lp",
        lambda scenario: _make_block(loss, worst, n, features),
        Statement(Reals(n), FeatureSpace({f"block {i}": (-bound, bound) for i in range(features)}), floor=0.0),
    )
    made.variant = function
    made.spec = f"lp:{function},n={n},features={features}"
    return made
