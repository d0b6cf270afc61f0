"""GridTessellation: MAP-Elites' original niches, equal cells of a box (Mouret & Clune 2015; Alg. 2 of the paper)."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.checks import is_whole
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation

if TYPE_CHECKING:
    from tesselite.compiled.blocks import Lookup

MAX_NICHES = 2**63 - 1  # niche numbers are int64
# Scaling to the unit cube and back to cells rounds: without this margin, 22 of the whole numbers below 49 would fall
# into the cell below their own in a grid of 49 cells over [0, 49].
UP_A_HAIR = 1.0 + 2.0**-50
MAX_CELLS = 2**53  # more cells along one axis than float64 can tell apart
CELLS = ("equal", "released")


class GridTessellation(Tessellation):
    """A feature space cut into n_1 x ... x n_d equal cells of its unit scaling, numbered with the last axis fastest.

    `shape` gives the cells per axis, or one number for all. A feature on a border between cells belongs to the upper
    one, the upper bound itself to the last cell, and what lies outside the bounds to the nearest cell. Periodic
    features are wrapped, so that nothing is outside, and a feature with labels has a cell for each.

    `cells="released"` is the rule of the code that the paper's authors released: cell min(round(p n), n - 1) of a
    unit-scaled feature p, so that the first of n cells is half as wide as the others and the last one and a half times
    as wide. Of two solutions of equal fitness the niche keeps the one that is nearer to a lattice of n points per axis,
    from bound to bound (there: the "center" of the cell). Linear features only.

    Example:
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"speed": (0, 2), "height": (0, 1)})
        >>> niches = tl.GridTessellation(space, [4, 2])
        >>> niches.n_niches, niches.niche_of([1.9, 0.9])
        (8, 7)
    """

    kind = "grid"

    def __init__(self, space: FeatureSpace, shape: int | Sequence[int], *, cells: str = "equal") -> None:
        if not isinstance(space, FeatureSpace):
            raise ValueError(f"space: expected a FeatureSpace, got {type(space).__name__}")
        space.check_bounded("space")
        several = isinstance(shape, Sequence) or getattr(shape, "ndim", 0) == 1
        counts: list[Any] = list(shape) if several else [shape] * space.n  # type: ignore[arg-type]
        labels = [len(space.labels.get(name, ())) for name in space.names]
        if not several:
            counts = [n or cells for n, cells in zip(labels, counts, strict=True)]
        if len(counts) != space.n:
            raise ValueError(f"shape: expected one number, or one for each of {space.n} features, got {len(counts)}")
        if not all(is_whole(n, 1) for n in counts):
            raise ValueError(f"shape: expected whole numbers of at least 1, got {shape!r}")
        for name, n, given in zip(space.names, labels, counts, strict=True):
            if n and n != given:
                raise ValueError(f"shape: expected {n} for {name!r}, one for each label, got {given}")
        if max(counts) > MAX_CELLS:
            raise ValueError(f"shape: expected at most 2^53 cells per feature, got {max(counts)}")
        if cells not in CELLS:
            raise ValueError(f"cells: expected one of {', '.join(CELLS)}, got {cells!r}")
        if cells == "released" and not space.linear:
            raise ValueError("cells: 'released' needs linear features; leave it out, or the scales")
        if cells == "released":
            space.check_plain("cells: 'released'")
        self.space = space
        self.cells = cells
        self.shape: tuple[int, ...] = tuple(int(n) for n in counts)
        self.n_niches: int = math.prod(self.shape)
        if self.n_niches > MAX_NICHES:
            raise ValueError(
                f"shape: this grid has {_power(self.shape)} niches; at most 2^63 - 1 can be numbered. "
                "Use a CVT (n_niches=...), whose size does not grow with the number of features"
            )
        strides = [math.prod(self.shape[i + 1 :]) for i in range(space.n)]
        self.strides: npt.NDArray[np.int64] = np.array(strides, dtype=np.int64)
        self.counts: npt.NDArray[np.float64] = np.array(self.shape, dtype=np.float64)
        self.tie_breaking = self.counts if cells == "released" else np.empty(0)  # points per axis of the lattice
        self.shift = 0.5 if cells == "released" else 0.0  # of a feature, in cells, before it is rounded down

    @functools.cached_property
    def lookup(self) -> Lookup:
        """How compiled code finds a niche."""
        from tesselite.compiled.blocks import Lookup
        from tesselite.tessellation.grid_cells import find_cells

        return Lookup(find_cells, np.array([self.shift, *self.counts]), self.strides)

    def cell_of(self, niches: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The cell numbers (n, d) along each axis of niches (n,)."""
        return np.asarray(niches, dtype=np.int64)[:, None] // self.strides % np.array(self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Cells per axis, and their rule unless they are equal."""
        return {"shape": list(self.shape), **({} if self.cells == "equal" else {"cells": self.cells})}

    @classmethod
    def from_dict(cls, space: FeatureSpace, about: dict[str, Any]) -> Self:
        """The grid of a `shape` and, unless they are equal, `cells`."""
        return cls(space, about["shape"], cells=about.get("cells", "equal"))

    def drawing(self) -> dict[str, Any] | None:
        """The page computes cells itself."""
        return {"grid": list(self.shape), "shift": self.shift}

    def centres(self, niches: npt.NDArray[np.int64]) -> Floats:
        """The middles of cells."""
        return self.space.from_unit((self.cell_of(niches) + 0.5) / self.counts)

    def could_hold(self, niches: npt.NDArray[np.int64], features: Floats) -> bool:
        """Whether they are in the cells, or a millionth of a side outside."""
        at = np.clip(self.space.to_unit(features), 0.0, 1.0) * self.counts + self.shift
        middles = self.cell_of(niches) + 0.5
        return bool((np.abs(np.minimum(at, self.counts) - middles) <= 0.5 + 1e-6 * self.counts).all())

    unknown_borders = ""

    def polygons(self, niches: npt.NDArray[np.int64]) -> list[Floats]:
        """The four corners of each cell."""
        cells = self.cell_of(niches)
        sides = []
        for j, n in enumerate(self.shape):
            first, last = ((cells[:, j] + step - self.shift) / n for step in (0, 1))
            sides.append((first.clip(0.0), np.where(cells[:, j] == n - 1, 1.0, last)))
        (left, right), (low, high) = sides
        corners = np.stack([np.stack([left, right, right, left]), np.stack([low, low, high, high])], axis=-1)
        units = self.space.from_unit(corners.reshape(-1, 2)).reshape(4, len(niches), 2)
        return list(units.transpose(1, 0, 2))

    def fingerprint(self) -> str:
        """A digest of the space, the shape and the rule of cells: equal for equal tessellations."""
        scales = sorted((name, scale.name) for name, scale in self.space.scales.items())
        text = repr((self.space.names, self.space.low.tolist(), self.space.high.tolist(), scales, self.shape))
        text += "" if self.cells == "equal" else self.cells
        text += "" if self.space.plain else repr(self.space.kinds_to_dict())
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GridTessellation)
            and (self.shape, self.cells) == (other.shape, other.cells)
            and self.space == other.space
        )

    def __hash__(self) -> int:
        return hash((self.space, self.shape, self.cells))

    def __repr__(self) -> str:
        cells = "" if self.cells == "equal" else f", {self.cells} cells"
        return f"GridTessellation({_power(self.shape)} = {self.n_niches:,} niches{cells} over {self.space!r})"


def _power(shape: tuple[int, ...]) -> str:
    """A grid's size in words: 2^50, or 3 x 4 x 5."""
    if len(shape) > 2 and len(set(shape)) == 1:
        return f"{shape[0]}^{len(shape)}"
    if len(shape) > 6:
        return f"{math.prod(shape)}"
    return " x ".join(str(n) for n in shape)
