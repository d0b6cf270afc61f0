"""The figures of an archive that progress, reports, metrics and JSON share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from tesselite.archive.evaluation import Direction
from tesselite.base.arrays import Floats

if TYPE_CHECKING:
    from tesselite.archive.archive import Archive


OF_NICHES = ("n_niches", "coverage", "qd_score")
"""Figures that say nothing of a population without niches: null in JSON."""


class Figures(TypedDict):
    """How much is filled, how good it is, and what was refused or came from outside the bounds."""

    filled: int
    coverage: float
    best_fitness: float | None
    mean_fitness: float | None
    qd_score: float | None
    invalid: int
    out_of_bounds: int


def figures_of(archive: Archive) -> Figures:
    """The figures of an archive; `qd_score` is None without a floor, fitness without elites."""
    return {
        "filled": len(archive),
        "coverage": archive.coverage,
        "best_fitness": archive.best_fitness,
        "mean_fitness": archive.mean_fitness,
        "qd_score": archive.qd_score,
        "invalid": archive.invalid.total(),
        "out_of_bounds": archive.out_of_bounds,
    }


def worst(direction: Direction) -> float:
    """A fitness than which none is worse."""
    return np.inf if direction == "min" else -np.inf


def best_of(fitness: Floats, direction: Direction) -> float:
    """The best of the finite ones of these values (n,); the worst there is if there are none."""
    valid = fitness[np.isfinite(fitness)]
    if not len(valid):
        return worst(direction)
    return float(valid.min() if direction == "min" else valid.max())


def qd_score(fitness: Any, floor: float, direction: Direction = "max") -> float:
    """By how much fitness values (n,) are better than the floor, summed; worse ones count 0.

    It never falls when an archive gains an elite or an elite improves, whatever the direction.
    """
    if direction not in ("max", "min"):
        raise ValueError(f"direction: expected 'max' or 'min', got {direction!r}")
    if not np.isfinite(floor):
        raise ValueError(f"floor: expected a finite number, got {floor!r}")
    values = np.asarray(fitness, dtype=np.float64)
    with np.errstate(over="ignore"):  # what a double cannot hold is infinite
        better = values - floor if direction == "max" else floor - values
        return float(np.maximum(better, 0.0).sum())
