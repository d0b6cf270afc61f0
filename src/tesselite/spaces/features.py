"""FeatureSpace: the named features of a solution, their bounds, their unit scaling and how to sample them.

How the space is cut into niches lives in `tesselite.tessellation`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_floats, shown
from tesselite.spaces.axes import Labels, Periodic
from tesselite.spaces.variables import Variable

Bounds = tuple[float | None, float | None] | None
"""(low, high) of a feature; None where unknown."""
Axis = Bounds | Periodic | Labels
Sampler = Callable[[int, np.random.Generator], Floats]


@dataclass(frozen=True)
class Scale:
    """A strictly increasing map of one feature before it is scaled to [0, 1], with its inverse; both vectorised."""

    name: str
    forward: Callable[[Floats], Floats]
    inverse: Callable[[Floats], Floats]


LOG = Scale("log", np.log, np.exp)
_OPEN = sys.float_info.max  # stands for an unknown bound while the others are checked


class FeatureSpace:
    """Named features with bounds, and the unit cube that distances are measured in.

    `features` maps each name to its (low, high). An unknown bound is None, as in {"x": None, "y": (0, None)}; such a
    space has no unit cube, and needs niches that grow (`tesselite.expanding`). In place of bounds, `Periodic` makes a
    feature an angle and `Labels` makes it one of a few labels, stored as its number. `scales` gives single features
    another scale than linear: "log", or a `Scale` of your own. `sampler(n, rng)` returns (n, d) rows in feature units
    and replaces uniform sampling where only a part of the box makes sense (a robot's drivable trajectories, say).
    `outside` says what happens to a solution whose features lie outside the bounds: "nearest" (it goes to the nearest
    niche, and is counted) or "refuse" (it is invalid), for all features or by name, as in {"stress": "refuse"}. A
    periodic feature has no outside; anything that is not a label is always refused. `titles` are the texts by name that
    figures and the page show, as in {"speed": "speed (m/s)"}; files and tables keep the names.

    Example:
        >>> import numpy as np
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"speed": (0, 2), "energy": (1, 100)}, scales={"energy": "log"})
        >>> space.to_unit(np.array([[1.0, 10.0]])).round(6).tolist()
        [[0.5, 0.5]]
    """

    def __init__(
        self,
        features: Mapping[str, Axis],
        *,
        scales: Mapping[str, str | Scale] | None = None,
        sampler: Sampler | None = None,
        outside: str | Mapping[str, str] = "nearest",
        titles: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(features, Mapping) or not features:
            raise ValueError("features: expected at least one, as in FeatureSpace({'speed': (0, 2)})")
        self.names: tuple[str, ...] = tuple(str(name) for name in features)
        axes = list(features.values())
        self.labels: dict[str, tuple[str, ...]] = {
            name: axis.names for name, axis in zip(self.names, axes, strict=True) if isinstance(axis, Labels)
        }
        kinds = [1 if isinstance(axis, Periodic) else 2 if isinstance(axis, Labels) else 0 for axis in axes]
        self.kinds: npt.NDArray[np.int64] = np.array(kinds, np.int64)  # (d,) as in `scaling`
        self.low, self.high = _checked_bounds(self.names, [_bounds_of(axis) for axis in axes])  # infinite where open
        self.is_open = bool(np.isinf([self.low, self.high]).any())  # whether a bound is not known
        self.scales: dict[str, Scale] = self._checked_scales(scales or {})
        self.sampler = sampler
        self.refuses: npt.NDArray[np.bool_] = self._checked_outside(outside)  # (d,) whether outside it is invalid
        self.titles: tuple[str, ...] = self._checked_titles({} if titles is None else titles)
        # Scaled bounds; equal to low and high on linear axes.
        self._from: Floats = self._scaled(self.low[None, :])[0]
        if self.is_open:
            self.per_unit: Floats = np.full(self.n, np.nan)
            return
        with np.errstate(over="ignore"):
            span = self._scaled(self.high[None, :])[0] - self._from
        far = [name for name, gap in zip(self.names, span, strict=True) if np.isinf(gap) and name not in self.scales]
        if far:
            raise ValueError(f"features: the bounds of {far[0]!r} are too far from each other to be scaled to [0, 1]")
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
        return cls({f"f{i}": (0.0, 1.0) for i in range(checked_count("n", n, floats=False))}, sampler=sampler)

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

    @cached_property
    def plain(self) -> bool:
        """Whether every feature lies between two bounds: none is periodic, none has labels."""
        return not self.kinds.any()

    @property
    def periodic(self) -> npt.NDArray[np.bool_]:
        """Which features are periodic, (d,)."""
        return np.asarray(self.kinds == 1)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which features have labels, (d,)."""
        return np.asarray(self.kinds == 2)

    def check_plain(self, what: str) -> None:
        """ValueError, which says that `what` works with plain features only, if one is periodic or has labels."""
        if not self.plain:
            which = int(np.argmax(self.kinds > 0))
            kind = ("periodic", "labels")[self.kinds[which] - 1]
            raise ValueError(f"{what}: expected features between two bounds, got {self.names[which]!r} ({kind})")

    def without_labels(self) -> FeatureSpace:
        """The features that have no labels, sampled uniformly; ValueError if there are none."""
        if self.labelled.all():
            raise ValueError("features: expected at least one that has no labels; use a grid for labels alone")
        kept = {name: axis for name, axis in self.axes(self.low, self.high).items() if name not in self.labels}
        scales = {name: scale for name, scale in self.scales.items() if name in kept}
        return FeatureSpace(kept, scales=scales, outside=self.outside_rules()).titled(self)

    def axes(self, low: Floats, high: Floats) -> dict[str, Axis]:
        """The features as they are given to the class, with these bounds (d,), infinite where they are open."""
        found: dict[str, Axis] = {}
        for name, kind, lo, hi in zip(self.names, self.kinds.tolist(), low.tolist(), high.tolist(), strict=True):
            open_or_not = lo if np.isfinite(lo) else None, hi if np.isfinite(hi) else None
            found[name] = Labels(self.labels[name]) if kind == 2 else Periodic(lo, hi) if kind == 1 else open_or_not
        return found

    def within(self, low: Floats, high: Floats) -> FeatureSpace:
        """The same features with other bounds, each (d,), sampled uniformly; labels stay."""
        return FeatureSpace(self.axes(low, high), scales=self.scales, outside=self.outside_rules()).titled(self)

    def titled(self, other: FeatureSpace) -> FeatureSpace:
        """This space, with the titles of another for features of the same names."""
        theirs = dict(zip(other.names, other.titles, strict=True))
        self.titles = tuple(theirs.get(name, title) for name, title in zip(self.names, self.titles, strict=True))
        return self

    @cached_property
    def refuses_some(self) -> bool:
        """Whether a row can be invalid because of a feature outside its bounds."""
        return bool(self.refuses.any())

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
            if self.kinds[self.names.index(name)]:
                raise ValueError(f"scales: expected none for {name!r}, which is periodic or has labels")
            if isinstance(scale, Scale):
                checked[name] = scale
            elif scale == "log":
                if self.low[self.names.index(name)] <= 0:
                    raise ValueError(f"scales: 'log' needs a low bound above 0 for {name!r}")
                checked[name] = LOG
            elif scale != "linear":
                raise ValueError(f"scales: expected 'linear', 'log' or a Scale for {name!r}, got {scale!r}")
        return checked

    def _checked_titles(self, titles: Mapping[str, str]) -> tuple[str, ...]:
        if not isinstance(titles, Mapping) or not all(isinstance(title, str) for title in titles.values()):
            raise ValueError(f"titles: expected texts by name, as in {{'size': 'size (mm)'}}, got {shown(titles)}")
        unknown = [name for name in titles if name not in self.names]
        if unknown:
            raise ValueError(f"titles: {unknown[0]!r} is not a feature; the features are {', '.join(self.names)}")
        return tuple(titles.get(name, name) for name in self.names)

    def _checked_outside(self, outside: str | Mapping[str, str]) -> npt.NDArray[np.bool_]:
        rules = dict.fromkeys(self.names, outside) if isinstance(outside, str) else outside
        if not isinstance(rules, Mapping) or not set(rules.values()) <= {"nearest", "refuse"}:
            raise ValueError(f"outside: expected 'nearest' or 'refuse', or one for each name, got {shown(outside)}")
        unknown = [name for name in rules if name not in self.names]
        if unknown:
            raise ValueError(f"outside: {unknown[0]!r} is not a feature; the features are {', '.join(self.names)}")
        for name, kind in zip(self.names, self.kinds, strict=True):
            if not isinstance(outside, str) and name in rules and kind:
                why = "periodic: nothing is outside" if kind == 1 else "labels: what is not one is always refused"
                raise ValueError(f"outside: expected no rule for {name!r} ({why})")
        refuses = np.array([rules.get(name) == "refuse" for name in self.names])
        unknown_bounds = refuses & np.isinf([self.low, self.high]).any(axis=0)
        if unknown_bounds.any():
            name = self.names[int(np.argmax(unknown_bounds))]
            raise ValueError(
                f"outside: {name!r} has an open bound, so that nothing is outside; give it, or leave 'refuse' out"
            )
        return self.labelled | (refuses & ~self.periodic)

    def outside_rules(self) -> dict[str, str]:
        """What `outside` was given, by name; empty if only unknown labels are refused."""
        refuses = zip(self.names, self.refuses & ~self.labelled, strict=True)
        return {name: "refuse" for name, refused in refuses if refused}

    def settled(self, features: npt.ArrayLike) -> Floats:
        """The (n, d) features with periodic ones wrapped into [low, high); codes without a label count as outside.

        A copy, unless all features are plain. NaN and infinity stay as they are.
        """
        rows = np.asarray(features, dtype=np.float64)
        if self.plain:
            return rows
        from tesselite.spaces.scaling import settle_rows

        rows = np.array(rows, order="C")
        settle_rows(len(rows), rows, self.kinds, self.low, self.high, self.per_unit)
        return rows

    def encoded(self, features: npt.ArrayLike) -> npt.ArrayLike:
        """Features (d,) or (n, d) with the numbers of labels where they have labels; ValueError for an unknown one."""
        if not self.labels or (isinstance(features, np.ndarray) and features.dtype.kind in "fiub"):
            return features
        try:
            rows = np.array(features, dtype=object)
        except ValueError:  # rows of different lengths, which are reported elsewhere
            return features
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.n:
            return features
        for j, name in enumerate(self.names):
            if name in self.labels:
                column, known = rows[..., j].reshape(-1), self.labels[name]
                unknown = [label for label in column if isinstance(label, str) and label not in known]
                if unknown:
                    raise ValueError(f"features: expected {name!r} to be one of {', '.join(known)}, got {unknown[0]!r}")
                codes = [known.index(label) if isinstance(label, str) else label for label in column]
                rows[..., j] = np.array(codes, object).reshape(rows.shape[:-1])
        listed: list[Any] = rows.tolist()
        return listed

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as variables, which show and read values as tables have them: labels, or numbers."""
        bounds = zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
        return tuple(Variable(name, low, high, labels=self.labels.get(name, ())) for name, low, high in bounds)

    def gaps(self, unit: Floats, others: Floats) -> Floats:
        """Differences (n, d) of unit-scaled rows: along the shorter arc if periodic, 0 or 1 between labels."""
        gaps = unit - others
        if not self.plain:
            gaps = np.where(self.periodic, gaps - np.rint(gaps), gaps)
            gaps = np.where(self.labelled, gaps != 0.0, gaps)
        return np.asarray(gaps, dtype=np.float64)

    def _scaled(self, features: Floats) -> Floats:
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

    def to_unit(self, features: Floats) -> Floats:
        """Scale (n, d) features so that their bounds become [0, 1]; what lies outside stays outside.

        Periodic features are wrapped. The n labels of a feature lie in the middles of n equal parts of [0, 1].
        """
        self.check_bounded("to_unit")
        with np.errstate(over="ignore"):  # very far outside is outside all the same
            return (self._scaled(self.settled(features)) - self._from) * self.per_unit

    def from_unit(self, unit: Floats) -> Floats:
        """The inverse of `to_unit`, up to rounding; any place in the part of a label is a number around its own."""
        self.check_bounded("from_unit")
        features = self._from + unit / self.per_unit
        for i, name in enumerate(self.names):
            if name in self.scales:
                features[:, i] = self.scales[name].inverse(features[:, i])
        return features

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n feature vectors, shape (n, d), in feature units: by the sampler, or uniform in the unit cube."""
        if self.sampler is None:
            return self.sample_uniformly(n, rng)
        samples = np.ascontiguousarray(self.sampler(n, rng), dtype=np.float64)
        if samples.shape != (n, self.n):
            raise ValueError(f"sampler: expected shape {(n, self.n)}, got {samples.shape}")
        if not np.isfinite(samples).all():
            raise ValueError("sampler: expected finite feature values, got NaN or infinity")
        return samples

    def sample_uniformly(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n feature vectors, shape (n, d), in feature units, uniform in the unit cube; all labels as often."""
        rows = self.from_unit(rng.random((n, self.n)))
        if self.labels:
            rows = np.where(self.labelled, np.rint(rows).clip(0.0, self.high - 0.5), rows)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Names, bounds (None where open) and names of scales, as JSON can hold them.

        Where there are such features: `outside`, by name, those that are `periodic`, and `labels`, by name.
        """
        rules = self.outside_rules()
        return {
            "names": list(self.names),
            "low": [low if np.isfinite(low) else None for low in self.low.tolist()],
            "high": [high if np.isfinite(high) else None for high in self.high.tolist()],
            "scales": {name: scale.name for name, scale in self.scales.items()},
            **({"outside": rules} if rules else {}),
            **self.kinds_to_dict(),
        }

    def kinds_to_dict(self) -> dict[str, Any]:
        """Which features are periodic and which have labels, if any; niches depend on this."""
        periodic = [name for name, ring in zip(self.names, self.periodic, strict=True) if ring]
        labels = {name: list(labels) for name, labels in self.labels.items()}
        return {**({"periodic": periodic} if periodic else {}), **({"labels": labels} if labels else {})}

    @classmethod
    def from_dict(cls, about: Mapping[str, Any], scales: Mapping[str, str | Scale] | None = None) -> FeatureSpace:
        """The inverse of `to_dict`, with these scales instead if they are given."""
        features: dict[str, Axis] = {}
        for name, low, high in zip(about["names"], about["low"], about["high"], strict=True):
            if name in about.get("labels", {}):
                features[name] = Labels(about["labels"][name])
            else:
                features[name] = Periodic(low, high) if name in about.get("periodic", ()) else (low, high)
        return cls(features, scales=about["scales"] if scales is None else scales, outside=about.get("outside", {}))

    def outside(self, features: Floats) -> npt.NDArray[np.bool_]:
        """Which of the (n, d) rows lie outside the bounds in at least one feature; shape (n,)."""
        return np.asarray(self._beyond(features).any(axis=1))

    def refused(self, features: Floats) -> npt.NDArray[np.int64]:
        """Of each of the (n, d) rows, the first feature that lies outside its bounds and refuses that, or -1; (n,)."""
        bad = self._beyond(features) & self.refuses
        return np.where(bad.any(axis=1), bad.argmax(axis=1), -1)

    def _beyond(self, features: Floats) -> npt.NDArray[np.bool_]:
        rows = self.settled(features)
        return np.asarray((rows < self.low) | (rows > self.high))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FeatureSpace)
            and self.names == other.names
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
            and self.scales == other.scales
            and np.array_equal(self.refuses, other.refuses)
            and np.array_equal(self.kinds, other.kinds)
            and self.labels == other.labels
        )

    def __hash__(self) -> int:
        return hash((self.names, self.low.tobytes(), self.high.tobytes()))

    def __repr__(self) -> str:
        low, high = ([f"{bound:g}" if np.isfinite(bound) else "?" for bound in side] for side in (self.low, self.high))
        shown = [f"{name}: {lo}..{hi}" for name, lo, hi in zip(self.names, low, high, strict=True)]
        for j in np.flatnonzero(self.kinds):
            names = self.labels.get(self.names[j])
            shown[j] = f"{shown[j]} periodic" if names is None else f"{self.names[j]}: {', '.join(names)}"
        if len(shown) > 6:
            shown = [*shown[:3], "...", *shown[-2:]]
        return f"FeatureSpace({self.n} features; {', '.join(shown)})"


def _bounds_of(axis: Any) -> Any:
    """The bounds of a feature; those of n labels leave half a number on both sides, so that each has an equal part."""
    if isinstance(axis, Labels):
        return -0.5, len(axis.names) - 0.5
    return (axis.low, axis.high) if isinstance(axis, Periodic) else axis


def _checked_bounds(names: tuple[str, ...], given: list[Any]) -> tuple[Floats, Floats]:
    """Low and high bounds (d,), infinite where they are open; ValueError for invalid ones."""
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
