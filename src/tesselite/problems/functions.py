"""Test functions as problems: fitness is minimised, the features are the first two variables.

Rastrigin (1974) has a local optimum near every whole-number point; the sphere has one optimum in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from tesselite.compiled.blocks import native_block
from tesselite.compiled.fast_math import sincos
from tesselite.compiled.kernels import kernel
from tesselite.problems.problem import Problem
from tesselite.problems.user_function import CompiledProblem, Statement
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box

LIMIT = 5.12
_WORST_RASTRIGIN = 40.353290  # the largest value that one variable adds, at +-4.52299
TWO_PI = 2.0 * np.pi


@kernel(inline="always")
def _rastrigin(x: float) -> float:
    return x * x + 10.0 * (1.0 - sincos(TWO_PI * x)[1])


@kernel(inline="always")
def _sphere(x: float) -> float:
    return x * x


def _make_block(term: Any, n_variables: int) -> Any:
    """The block of a function that is the sum of a term for each variable."""

    def block(rows: Any, n: int, fitness: Any, features: Any, status: Any) -> None:
        x = carray(rows, (n, n_variables))
        for i in range(n):
            total = 0.0
            for j in range(n_variables):
                total += term(x[i, j])
            fitness[i] = total
            features[2 * i] = x[i, 0]
            features[2 * i + 1] = x[i, 1]
            status[i] = 0

    return native_block(block)


def _problem(name: str, n: int, term: Any, worst: float) -> Problem:
    if n < 2:
        raise ValueError(f"n: expected at least 2 variables, got {n}")
    made = CompiledProblem(
        name,
        lambda scenario: _make_block(term, n),
        Statement(
            solutions=Box(n, -LIMIT, LIMIT),
            features=FeatureSpace({"x0": (-LIMIT, LIMIT), "x1": (-LIMIT, LIMIT)}),
            direction="min",
            floor=worst * n,
        ),
    )
    made.spec = f"{name}:{n}"
    return made


def rastrigin(n: int = 10) -> Problem:
    """Rastrigin's function of n variables in [-5.12, 5.12]."""
    return _problem("rastrigin", n, _rastrigin, _WORST_RASTRIGIN)


def sphere(n: int = 10) -> Problem:
    """The sum of squares of n variables in [-5.12, 5.12]."""
    return _problem("sphere", n, _sphere, LIMIT**2)
