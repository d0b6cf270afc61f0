"""Samplers of parts of a feature space: a ball, a shell, a hull, a shape given by a test, densities, rows of an array.

A sampler is a callable `(n, rng) -> (n, d)` rows in feature units; any function of yours with that signature will do
(`FeatureSpace(..., sampler=...)` or `cvt(..., samples=...)`). Uniform sampling of the whole box needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.numbers import as_float
from tesselite.spaces.features import FeatureSpace, Sampler

_LEAST_ACCEPTED = 1e-4  # below this share of accepted draws, rejection sampling raises an error


@dataclass(frozen=True)
class Ball:
    """Uniform in the ball (in the unit-scaled space) around `center` with `radius`; the largest that fits by default.

    `center` is in feature units, `radius` in units of the cube's side. Parts outside the bounds are never drawn.
    """

    space: FeatureSpace
    center: tuple[float, ...] | None = None
    radius: float = 0.5

    def __post_init__(self) -> None:
        _check_no_labels(self.space, "Ball")
        if self.center is not None and len(self.center) != self.space.n:
            raise ValueError(f"center: expected {self.space.n} values, got {len(self.center)}")
        if not 0.0 < self.radius < np.inf:
            raise ValueError(f"radius: expected a number above 0, got {self.radius!r}")

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        center = np.full(self.space.n, 0.5)
        if self.center is not None:
            center = self.space.to_unit(np.array([self.center], dtype=np.float64))[0]

        return _between_balls(self.space, center, 0.0, self.radius, n, rng, "ball")


@dataclass(frozen=True)
class Shell:
    """Uniform between two balls (in the unit-scaled space) around the middle, with radii in units of the cube's side.

    Parts outside the bounds are never drawn.
    """

    space: FeatureSpace
    inner: float = 0.4
    outer: float = 0.5

    def __post_init__(self) -> None:
        _check_no_labels(self.space, "Shell")
        if not 0.0 <= self.inner < self.outer < np.inf:
            raise ValueError(f"shell: expected radii 0 <= inner < outer, got {self.inner!r} and {self.outer!r}")

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        return _between_balls(self.space, np.full(self.space.n, 0.5), self.inner, self.outer, n, rng, "shell")

    @property
    def cache_key(self) -> str:
        """What identifies it in the cache."""
        return f"shell {self.inner!r} {self.outer!r}"


@dataclass(frozen=True)
class Outward:
    """More samples towards the outside of the box: their density grows with the distance from the middle, to a power.

    The distance is the largest along an axis of the unit-scaled space, so that its levels are boxes. With `axes` (names
    of features), only these count, each on its own: more niches at both ends of them.
    """

    space: FeatureSpace
    power: float = 2.0
    axes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_no_labels(self.space, "Outward")
        if not 0.0 <= self.power < np.inf:
            raise ValueError(f"power: expected a number of at least 0, got {self.power!r}")
        for name in self.axes or ():
            if name not in self.space.names:
                raise ValueError(f"axes: {name!r} is not a feature; the features are {', '.join(self.space.names)}")

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        d = self.space.n
        points = rng.uniform(-1.0, 1.0, (n, d))
        if self.axes is None:
            reach = np.abs(points).max(axis=1, keepdims=True)
            points *= rng.random((n, 1)) ** (1.0 / (d + self.power)) / np.where(reach > 0.0, reach, 1.0)
        else:
            chosen = [self.space.names.index(name) for name in self.axes]
            far = rng.random((n, len(chosen))) ** (1.0 / (1.0 + self.power))
            points[:, chosen] = np.copysign(far, points[:, chosen])
        return self.space.from_unit((points + 1.0) / 2.0)

    @property
    def cache_key(self) -> str:
        """What identifies it in the cache."""
        return f"outward {self.power!r} {self.axes!r}"


@dataclass(frozen=True, eq=False)
class Hull:
    """Uniform in the convex hull of points (m, d) in feature units, within the bounds; at most eight features."""

    space: FeatureSpace
    points: Floats

    def __post_init__(self) -> None:
        _check_no_labels(self.space, "Hull")
        points = np.asarray(self.points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.space.n or not np.isfinite(points).all():
            raise ValueError(f"points: expected finite rows of shape (m, {self.space.n}), got shape {points.shape}")
        if not 2 <= self.space.n <= 8:
            raise ValueError(f"hull: expected 2 to 8 features, got {self.space.n}; use Rows, or an array of samples")
        if self.space.outside(points).any():
            raise ValueError("points: expected rows within the bounds of the features")
        from scipy.spatial import Delaunay, QhullError

        try:
            corners = self.space.to_unit(points)[Delaunay(self.space.to_unit(points)).simplices]
        except QhullError:
            raise ValueError("points: expected more points than features, not all in a plane") from None
        volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
        object.__setattr__(self, "_corners", corners)
        object.__setattr__(self, "_shares", volumes / volumes.sum())

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d)."""
        corners: Floats = self._corners  # type: ignore[attr-defined]
        simplices = corners[rng.choice(len(corners), n, p=self._shares)]  # type: ignore[attr-defined]
        weights = rng.dirichlet(np.ones(self.space.n + 1), n)
        return self.space.from_unit(np.einsum("ij,ijk->ik", weights, simplices).clip(0.0, 1.0))

    @property
    def cache_key(self) -> str:
        """What identifies it in the cache."""
        return "hull " + hashlib.sha256(np.ascontiguousarray(self.points, np.float64).tobytes()).hexdigest()


def by_name(text: str, space: FeatureSpace) -> Sampler:
    """The sampler of a text: ball[:radius], shell[:inner,outer], outward[:power], along:name+name[,power], hull:FILE.

    FILE is an .npy file of points in feature units. ValueError if the text is not one of these.
    """
    name, _, rest = text.partition(":")
    words = rest.split(",") if rest else []
    if name == "hull" and rest:
        try:
            return Hull(space, np.load(rest, allow_pickle=False))
        except (OSError, EOFError) as error:
            raise ValueError(f"density: cannot read {rest} ({error})") from None
    axes = None
    if name == "along" and words:
        axes = tuple(words.pop(0).split("+"))
    numbers = [as_float("density", word, f"numbers in {text!r}") for word in words]
    if name == "ball" and len(numbers) <= 1:
        return Ball(space, None, *numbers)
    if name == "shell" and len(numbers) in (0, 2):
        return Shell(space, *numbers)
    if (name == "outward" or axes) and len(numbers) <= 1:
        return Outward(space, numbers[0] if numbers else 2.0, axes)
    known = "ball[:radius], shell[:inner,outer], outward[:power], along:name+name[,power] or hull:FILE.npy"
    raise ValueError(f"density: expected {known}, got {text!r}")


@dataclass(frozen=True)
class Inside:
    """Uniform in the part of the box where `test(features)` is true; it takes (n, d) rows and returns n booleans."""

    space: FeatureSpace
    test: Callable[[Floats], npt.ArrayLike]

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """n rows in feature units, shape (n, d); ValueError if almost no draw passes the test."""

        def draw(m: int) -> Floats:
            return self.space.sample_uniformly(m, rng)

        def passes(rows: Floats) -> npt.NDArray[np.bool_]:
            return _one_a_row("test", self.test(rows), len(rows)).astype(bool)

        return accepted(n, draw, passes, "test")


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
            trial = self.space.sample_uniformly(100_000, np.random.default_rng(0))
            highest = 1.1 * float(self._weights(trial).max())
            if not highest > 0.0:
                raise ValueError("weight: it is 0 everywhere")

        def draw(m: int) -> Floats:
            return self.space.sample_uniformly(m, rng)

        def chosen(rows: Floats) -> npt.NDArray[np.bool_]:
            weights = self._weights(rows)
            if self.highest is not None and (weights > self.highest).any():
                raise ValueError(f"weight: {weights.max():g} is above highest = {self.highest:g}")
            return np.asarray(rng.random(len(rows)) * highest < weights)

        return accepted(n, draw, chosen, "weight")

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
    """What identifies a sampler across processes, for the cache; None if nothing does. Functions with the same name
    cannot be distinguished, so they need a `cache_key` of yours.
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


def _check_no_labels(space: FeatureSpace, what: str) -> None:
    if space.labels:
        name = next(iter(space.labels))
        raise ValueError(f"{what}: expected features without labels, got {name!r}; use Density, Inside or a function")


def _one_a_row(name: str, values: npt.ArrayLike, n: int) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name}: expected one value for each of {n} rows, got shape {array.shape}")
    return array


def _between_balls(
    space: FeatureSpace, center: Floats, inner: float, outer: float, n: int, rng: np.random.Generator, name: str
) -> Floats:
    """n rows, uniform between two balls in unit-scaled space, within the bounds."""
    hollow = (inner / outer) ** space.n

    def draw(m: int) -> Floats:
        directions = rng.standard_normal((m, space.n))
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        radii = outer * (hollow + (1.0 - hollow) * rng.random((m, 1))) ** (1.0 / space.n)
        return np.asarray(center + directions / lengths * radii)

    def inside(unit: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(((unit >= 0.0) & (unit <= 1.0)).all(axis=1))

    return space.from_unit(accepted(n, draw, inside, name))


def accepted(
    n: int,
    draw: Callable[[int], Floats],
    accept: Callable[[Floats], npt.NDArray[np.bool_]],
    name: str,
) -> Floats:
    """n accepted draws; ValueError instead of an endless loop if almost none is accepted."""
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
