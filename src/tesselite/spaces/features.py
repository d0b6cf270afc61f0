"""FeatureSpace: the named features of a solution, their bounds, their unit scaling and how to sample them.

How the space is cut into niches lives in `tesselite.tessellation`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.numbers import as_floats, shown

Array = npt.NDArray[np.float64]
Bounds = tuple[float | None, float | None] | None
"""(low, high) of a feature; None where nobody knows."""
Sampler = Callable[[int, np.random.Generator], Array]


@dataclass(frozen=True)
class Scale:
    """A strictly increasing map of one feature before it is scaled to [0, 1], with its inverse; both vectorised."""

    name: str
    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]


LOG = Scale("log", np.log, np.exp)
_OPEN = sys.float_info.max  # stands for a bound that is not known while the others are checked


class FeatureSpace:
    """Named features with bounds, and the unit cube that distances are measured in.

    `features` maps each name to its (low, high). A bound that nobody knows is None, as in {"x": None, "y": (0, None)};
    such a space has no unit cube, and needs niches that grow (`tesselite.expanding`). `scales` gives single features
    another scale than linear: "log", or a `Scale` of your own. `sampler(n, rng)` returns (n, d) rows in feature units
    and replaces uniform sampling where only a part of the box makes sense (a robot's drivable trajectories, say).
    `outside` says what becomes of a solution whose features lie outside the bounds: "nearest" (it goes to the nearest
    niche, and is counted) or "refuse" (it is invalid), for all features or by name, as in {"stress": "refuse"}.

    Example:
        >>> import numpy as np
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"speed": (0, 2), "energy": (1, 100)}, scales={"energy": "log"})
        >>> space.to_unit(np.array([[1.0, 10.0]])).round(6).tolist()
        [[0.5, 0.5]]
    """

    def __init__(
        self,
        features: Mapping[str, Bounds],
        *,
        scales: Mapping[str, str | Scale] | None = None,
        sampler: Sampler | None = None,
        outside: str | Mapping[str, str] = "nearest",
    ) -> None:
        if not isinstance(features, Mapping) or not features:
            raise ValueError("features: expected at least one, as in FeatureSpace({'speed': (0, 2)})")
        self.names: tuple[str, ...] = tuple(str(name) for name in features)
        self.low, self.high = _checked_bounds(self.names, list(features.values()))  # infinite where open
        self.is_open = bool(np.isinf([self.low, self.high]).any())  # whether a bound is not known
        self.scales: dict[str, Scale] = self._checked_scales(scales or {})
        self.sampler = sampler
        self.refuses: npt.NDArray[np.bool_] = self._checked_outside(outside)  # (d,) whether outside it is invalid
        # Scaled bounds; equal to low and high on linear axes.
        self._from: Array = self._scaled(self.low[None, :])[0]
        if self.is_open:
            self.per_unit: Array = np.full(self.n, np.nan)
            return
        span = self._scaled(self.high[None, :])[0] - self._from
        if not (np.isfinite(self._from).all() and np.isfinite(span).all() and (span > 0).all()):
            raise ValueError("scales: expected strictly increasing maps that are finite at both bounds")
        with np.errstate(over="ignore"):
            self.per_unit = 1.0 / span
        if not np.isfinite(self.per_unit).all():
            name = self.names[int(np.argmin(np.isfinite(self.per_unit)))]
            raise ValueError(f"features: the bounds of {name!r} are too close to each other to be scaled to [0, 1]")

    @classmethod
    def unit(cls, n: int, *, sampler: Sampler | None = None) -> FeatureSpace:
        """The unit cube in n dimensions, with features named f0, f1, ..."""
        if not isinstance(n, int | np.integer):
            raise ValueError(f"n: expected a whole number of at least 1, got {shown(n)}")
        return cls({f"f{i}": (0.0, 1.0) for i in range(n)}, sampler=sampler)

    @property
    def n(self) -> int:
        """Number of features."""
        return len(self.names)

    def check_bounded(self, name: str) -> None:
        """ValueError, which says what the argument `name` was expected to be, if a bound is open."""
        if self.is_open:
            which = self.names[int(np.argmax(np.isinf([self.low, self.high]).any(axis=0)))]
            raise ValueError(
                f"{name}: expected bounds for all features, got none for {which!r}; give them, or use niches that find "
                "them, such as tesselite.expanding(n_niches) (--grow expanding)"
            )

    def within(self, low: Array, high: Array) -> FeatureSpace:
        """The same features with other bounds, each (d,), sampled uniformly."""
        bounds = zip(self.names, zip(low.tolist(), high.tolist(), strict=True), strict=True)
        return FeatureSpace(dict(bounds), scales=self.scales, outside=self.outside_rules())

    @property
    def linear(self) -> bool:
        """Whether every axis is scaled linearly (the compiled search loop knows only these)."""
        return not self.scales

    @property
    def uniform(self) -> bool:
        """Whether sampling is uniform in the unit cube."""
        return self.sampler is None

    def _checked_scales(self, scales: Mapping[str, str | Scale]) -> dict[str, Scale]:
        checked: dict[str, Scale] = {}
        if not isinstance(scales, Mapping):
            raise ValueError(f"scales: expected one for each name, as in {{'size': 'log'}}, got {scales!r}")
        for name, scale in scales.items():
            if name not in self.names:
                raise ValueError(f"scales: {name!r} is not a feature; the features are {', '.join(self.names)}")
            if isinstance(scale, Scale):
                checked[name] = scale
            elif scale == "log":
                if self.low[self.names.index(name)] <= 0:
                    raise ValueError(f"scales: 'log' needs a low bound above 0 for {name!r}")
                checked[name] = LOG
            elif scale != "linear":
                raise ValueError(f"scales: expected 'linear', 'log' or a Scale for {name!r}, got {scale!r}")
        return checked

    def _checked_outside(self, outside: str | Mapping[str, str]) -> npt.NDArray[np.bool_]:
        rules = dict.fromkeys(self.names, outside) if isinstance(outside, str) else outside
        if not isinstance(rules, Mapping) or not set(rules.values()) <= {"nearest", "refuse"}:
            raise ValueError(f"outside: expected 'nearest' or 'refuse', or one for each name, got {shown(outside)}")
        unknown = [name for name in rules if name not in self.names]
        if unknown:
            raise ValueError(f"outside: {unknown[0]!r} is not a feature; the features are {', '.join(self.names)}")
        return np.array([rules.get(name) == "refuse" for name in self.names])

    def outside_rules(self) -> dict[str, str]:
        """What `outside` was given, by name; empty if nothing is refused."""
        return {name: "refuse" for name, refuses in zip(self.names, self.refuses, strict=True) if refuses}

    def _scaled(self, features: Array) -> Array:
        if not self.scales:
            return features
        scaled = features.copy()
        for i, name in enumerate(self.names):
            if name in self.scales:
                forward = self.scales[name].forward
                with np.errstate(all="ignore"):
                    scaled[:, i] = forward(features[:, i])
                    # Outside the bounds a scale need not be defined (the log of -1): then the nearest bound counts.
                    undefined = np.isfinite(features[:, i]) & ~np.isfinite(scaled[:, i])
                    if undefined.any():
                        scaled[undefined, i] = forward(features[undefined, i].clip(self.low[i], self.high[i]))
        return scaled

    def to_unit(self, features: Array) -> Array:
        """Scale (n, d) features so that their bounds become [0, 1]; what lies outside stays outside."""
        self.check_bounded("to_unit")
        with np.errstate(over="ignore"):  # very far outside is outside all the same
            return (self._scaled(features) - self._from) * self.per_unit

    def from_unit(self, unit: Array) -> Array:
        """The inverse of `to_unit`, up to rounding."""
        self.check_bounded("from_unit")
        features = self._from + unit / self.per_unit
        for i, name in enumerate(self.names):
            if name in self.scales:
                features[:, i] = self.scales[name].inverse(features[:, i])
        return features

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n feature vectors, shape (n, d), in feature units: by the sampler, or uniform in the unit cube."""
        if self.sampler is None:
            return self.from_unit(rng.random((n, self.n)))
        samples = np.ascontiguousarray(self.sampler(n, rng), dtype=np.float64)
        if samples.shape != (n, self.n):
            raise ValueError(f"sampler: expected shape {(n, self.n)}, got {samples.shape}")
        if not np.isfinite(samples).all():
            raise ValueError("sampler: expected finite feature values, got NaN or infinity")
        return samples

    def to_dict(self) -> dict[str, Any]:
        """Names, bounds (None where open), names of scales and, if some refuse, `outside`, as JSON can hold them."""
        rules = self.outside_rules()
        return {
            "names": list(self.names),
            "low": [low if np.isfinite(low) else None for low in self.low.tolist()],
            "high": [high if np.isfinite(high) else None for high in self.high.tolist()],
            "scales": {name: scale.name for name, scale in self.scales.items()},
            **({"outside": rules} if rules else {}),
        }

    def outside(self, features: Array) -> npt.NDArray[np.bool_]:
        """Which of the (n, d) rows lie outside the bounds in at least one feature; shape (n,)."""
        return np.asarray(((features < self.low) | (features > self.high)).any(axis=1))

    def refused(self, features: Array) -> npt.NDArray[np.int64]:
        """Of each of the (n, d) rows, the first feature that lies outside its bounds and refuses that, or -1; (n,)."""
        bad = ((features < self.low) | (features > self.high)) & self.refuses
        return np.where(bad.any(axis=1), bad.argmax(axis=1), -1)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FeatureSpace)
            and self.names == other.names
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
            and self.scales == other.scales
            and np.array_equal(self.refuses, other.refuses)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.low.tobytes(), self.high.tobytes()))

    def __repr__(self) -> str:
        low, high = ([f"{bound:g}" if np.isfinite(bound) else "?" for bound in side] for side in (self.low, self.high))
        shown = [f"{name}: {lo}..{hi}" for name, lo, hi in zip(self.names, low, high, strict=True)]
        if len(shown) > 6:
            shown = [*shown[:3], "...", *shown[-2:]]
        return f"FeatureSpace({self.n} features; {', '.join(shown)})"


def _checked_bounds(names: tuple[str, ...], given: list[Any]) -> tuple[Array, Array]:
    """Low and high bounds (d,), infinite where they are open; ValueError for what are no bounds."""
    pairs = "a (low, high) pair of numbers for each name, or None where a bound is not known"
    pairwise = [(None, None) if bounds is None else bounds for bounds in given]
    if not all(isinstance(bounds, Sequence | np.ndarray) and len(bounds) == 2 for bounds in pairwise):
        raise ValueError(f"features: expected {pairs}, got {shown(dict(zip(names, given, strict=True)))}")
    closed = [(-_OPEN if low is None else low, _OPEN if high is None else high) for low, high in pairwise]
    low, high = as_floats("features", closed, pairs).T.copy()
    for name, lo, hi, got in zip(names, low.tolist(), high.tolist(), pairwise, strict=True):
        if not (np.isfinite([lo, hi]).all() and lo < hi):
            raise ValueError(f"features: expected finite low < high for {name!r}, got ({got[0]}, {got[1]})")
    low[low == -_OPEN], high[high == _OPEN] = -np.inf, np.inf
    return low, high
