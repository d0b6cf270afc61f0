"""Samplers of parts of a feature space: a ball, a shape given by a test, a density, rows of an array.

A sampler is a callable `(n, rng) -> (n, d)` rows in feature units; any function of yours with that signature will do
(`FeatureSpace(..., sampler=...)` or `cvt(..., samples=...)`). Uniform sampling of the whole box needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tesselite.spaces.features import FeatureSpace, Sampler

Floats = npt.NDArray[np.float64]

_LEAST_ACCEPTED = 1e-4  # below this share of accepted draws, rejection is hopeless and says so


@dataclass(frozen=True)
class Ball:
    """Uniform in the ball (in the unit-scaled space) around `center` with `radius`; the largest that fits by default.

    `center` is in feature units, `radius` in units of the cube's side. Parts outside the bounds are never drawn.
    """

    space: FeatureSpace
    center: tuple[float, ...] | None = None
    radius: float = 0.5

    def __post_init__(self) -> None:
        if self.center is not None and len(self.center) != self.space.n:
            raise ValueError(f"center: expected {self.space.n} values, got {len(self.center)}")
        if not 0.0 < self.radius < np.inf:
            raise ValueError(f"radius: expected a number above 0, got {self.radius!r}")

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        d = self.space.n
        center = np.full(d, 0.5)
        if self.center is not None:
            center = self.space.to_unit(np.array([self.center], dtype=np.float64))[0]

        def draw(m: int) -> Floats:
            directions = rng.standard_normal((m, d))
            lengths = np.linalg.norm(directions, axis=1, keepdims=True)
            return np.asarray(center + directions / lengths * (self.radius * rng.random((m, 1)) ** (1.0 / d)))

        def inside(unit: Floats) -> npt.NDArray[np.bool_]:
            return np.asarray(((unit >= 0.0) & (unit <= 1.0)).all(axis=1))

        return self.space.from_unit(_accepted(n, draw, inside, "ball"))


@dataclass(frozen=True)
class Inside:
    """Uniform in the part of the box where `test(features)` is true; it takes (n, d) rows and returns n booleans."""

    space: FeatureSpace
    test: Callable[[Floats], npt.ArrayLike]

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d); ValueError if next to no draw passes the test."""

        def draw(m: int) -> Floats:
            return self.space.from_unit(rng.random((m, self.space.n)))

        def passes(rows: Floats) -> npt.NDArray[np.bool_]:
            return _one_a_row("test", self.test(rows), len(rows)).astype(bool)

        return _accepted(n, draw, passes, "test")


@dataclass(frozen=True)
class Density:
    """Samples in proportion to `weight(features)`, (n, d) rows to n numbers >= 0: more niches where it is high.

    `highest` is the largest weight; if it is not given it is taken from 100,000 draws and a margin of a tenth.
    """

    space: FeatureSpace
    weight: Callable[[Floats], npt.ArrayLike]
    highest: float | None = None

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d); ValueError for weights that are negative, NaN, or above `highest`."""
        highest = self.highest
        if highest is None:
            trial = self.space.from_unit(np.random.default_rng(0).random((100_000, self.space.n)))
            highest = 1.1 * float(self._weights(trial).max())
            if not highest > 0.0:
                raise ValueError("weight: it is 0 everywhere")

        def draw(m: int) -> Floats:
            return self.space.from_unit(rng.random((m, self.space.n)))

        def chosen(rows: Floats) -> npt.NDArray[np.bool_]:
            weights = self._weights(rows)
            if self.highest is not None and (weights > self.highest).any():
                raise ValueError(f"weight: {weights.max():g} is above highest = {self.highest:g}")
            return np.asarray(rng.random(len(rows)) * highest < weights)

        return _accepted(n, draw, chosen, "weight")

    def _weights(self, rows: Floats) -> Floats:
        weights = _one_a_row("weight", self.weight(rows), len(rows)).astype(np.float64)
        if not (weights >= 0.0).all():
            raise ValueError("weight: expected numbers of at least 0, got a negative one or NaN")
        return weights


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of an (m, d) array in feature units, drawn at random with replacement."""

    rows: Floats

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        return self.rows[rng.integers(0, len(self.rows), n)]


def with_sampler(space: FeatureSpace, sampler: Sampler | None) -> FeatureSpace:
    """The same space, sampled by another sampler; None: uniformly."""
    other = space.within(space.low, space.high)
    other.sampler = sampler
    return other


def sampler_key(sampler: object) -> str | None:
    """What identifies a sampler across processes, for the cache; None if nothing does.

    A function cannot be told from another with the same name, so it counts only if it has a `cache_key` of yours.
    """
    if sampler is None:
        return "uniform"
    key = getattr(sampler, "cache_key", None)
    if key is not None:
        return str(key)
    if isinstance(sampler, Ball):
        return f"ball {sampler.center} {sampler.radius!r}"
    if isinstance(sampler, np.ndarray):
        return "array " + hashlib.sha256(np.ascontiguousarray(sampler).tobytes()).hexdigest()
    return None


def _one_a_row(name: str, values: npt.ArrayLike, n: int) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name}: expected one value for each of {n} rows, got shape {array.shape}")
    return array


def _accepted(
    n: int,
    draw: Callable[[int], Floats],
    accept: Callable[[Floats], npt.NDArray[np.bool_]],
    name: str,
) -> Floats:
    """n accepted draws; ValueError instead of an endless loop if next to none is accepted."""
    parts: list[Floats] = []
    found, tried = 0, 0
    share = 1.0
    while found < n:
        m = min(max(1000, int(1.1 * (n - found) / share)), 1_000_000)
        rows = draw(m)
        rows = rows[accept(rows)]
        parts.append(rows)
        found += len(rows)
        tried += m
        share = max(found / tried, 1e-3)
        if tried >= 200_000 and found < _LEAST_ACCEPTED * tried:
            raise ValueError(
                f"{name}: only {found} of {tried} points drawn in the box were accepted; "
                "write a sampler that draws from the region directly"
            )
    return np.concatenate(parts)[:n]
