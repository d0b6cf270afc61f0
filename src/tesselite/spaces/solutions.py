"""Solution spaces: what a solution is, as a row of fixed width, and how to draw and check such rows.

A problem may bring its own space (the maze's evolving networks do); the search needs only the protocol.
Variation operators for real vectors and levels live in `tesselite.variation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_floats, shown
from tesselite.spaces.variables import NamedValues, Variable, by_position

Rows = npt.NDArray[Any]


@runtime_checkable
class SolutionSpace(Protocol):
    """The protocol of solution spaces: solutions are rows, shape (n, width), of one dtype.

    If no operator of `tesselite.variation` can vary its solutions, a space also has `vary(parents, rng)`: an offspring
    of each parent, shape (n, width), the parents unchanged; with `n_parents = 2`, of each pair (2, n, width). Two more
    are optional: `variables`, a `Variable` for each value of a row, for tables and pages, and `decode(rows)`, what a
    user's function gets for a row (width,) or, with `batch=True`, for rows (n, width).
    """

    @property
    def width(self) -> int:
        """Number of values in a row."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a row's values."""

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n random solutions, shape (n, width)."""

    def validate(self, solutions: npt.ArrayLike) -> Rows:
        """The solutions as contiguous rows of this space; ValueError says what is wrong with them."""


_PARTS = ("width", "dtype", "random(n, rng)", "validate(solutions)")


def check_space(name: str, space: Any) -> None:
    """ValueError, which names what is missing, unless this is a space of solutions."""
    missing = [part for part in _PARTS if not hasattr(space, part.partition("(")[0])]
    if len(missing) == len(_PARTS):
        raise ValueError(f"{name}: expected a space of solutions, such as tesselite.Box(3, 0, 1), got {shown(space)}")
    if missing:
        raise ValueError(
            f"{name}: {type(space).__name__} lacks {' and '.join(missing)}; a space of solutions has "
            f"{', '.join(_PARTS)}, and vary(parents, rng) if no variation is given (see tesselite.SolutionSpace)"
        )


class FloatRows:
    """Rows of float64 between bounds."""

    low: Floats
    high: Floats

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return len(self.low)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Rows are float64."""
        return np.dtype(np.float64)

    def _as_rows(self, solutions: Any) -> Floats:
        """Solutions (n, width) or (width,) as rows of this width; ValueError for another shape."""
        rows = np.array(as_floats("solutions", solutions, f"numbers of shape (n, {self.width})"), ndmin=2)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise ValueError(f"solutions: expected shape (n, {self.width}), got {np.shape(solutions)}")
        return rows

    def _axis(self, j: int) -> str:
        return f"axis {j}"

    def _refuse(self, rows: Floats, bad: npt.NDArray[np.bool_], expected: str) -> None:
        """ValueError for the first of the values (n, width) that are marked as bad, if there is one."""
        if bad.any():
            i, j = np.argwhere(bad)[0]
            bounds = f"[{self.low[j]:g}, {self.high[j]:g}]"
            raise ValueError(
                f"solutions: expected {expected} in {bounds} on {self._axis(j)}, got {rows[i, j]} in row {i}"
            )


def checked_bounds(name: str, bounds: Mapping[str, Any]) -> tuple[tuple[str, ...], Floats]:
    """Names and (low, high) of each; ValueError for anything else."""
    expected = "a (low, high) pair of finite numbers for each name"
    names = tuple(bounds)
    if not names or not all(isinstance(text, str) and text for text in names):
        raise ValueError(f"{name}: expected {expected}, got {shown(dict(bounds))}")
    pairs = as_floats(name, list(bounds.values()), expected)
    if pairs.shape != (len(names), 2):
        raise ValueError(f"{name}: expected {expected}, got {shown(dict(bounds))}")
    return names, pairs


def _per_axis(name: str, given: float | Sequence[float], n: int) -> Floats:
    """A value for each of n axes; ValueError unless there are one or n, and finite."""
    expected = f"a finite number, or {n} of them"
    values = as_floats(name, given, expected)
    if values.shape not in ((), (n,)) or not np.isfinite(values).all():
        raise ValueError(f"{name}: expected {expected}, got {shown(given)}")
    # A copy: the caller's array stays theirs, and compiled code sees one (writable) type of array only.
    return np.array(np.broadcast_to(values, (n,)))


def _axes(values: Floats) -> str:
    return f"{values[0]:g}" if (values == values[0]).all() else f"<{len(values)} values>"


class Box(FloatRows):
    """Vectors of `n` real values between the bounds `low` and `high`, which are scalars or one value per axis.

    `Box({"span_mm": (100, 500), "thickness_mm": (1, 20)})` gives the values names: a function then reads them by
    position or by name, and tables and pages show them.

    Example:
        >>> import tesselite as tl
        >>> tl.Box(3, 0, 1).width
        3
        >>> tl.Box({"span_mm": (100, 500), "thickness_mm": (1, 20)}).high.tolist()
        [500.0, 20.0]
    """

    def __init__(
        self,
        n: int | Mapping[str, tuple[float, float]],
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
    ) -> None:
        self.names: tuple[str, ...] = ()
        if isinstance(n, Mapping):
            if (low, high) != (None, None):
                raise ValueError("low, high: not valid together with bounds by name")
            self.names, bounds = checked_bounds("n", n)
            n, low, high = len(self.names), bounds[:, 0].tolist(), bounds[:, 1].tolist()
        low, high = 0.0 if low is None else low, 1.0 if high is None else high
        n = checked_count("n", n, below=2**31, floats=False)
        self.low = _per_axis("low", low, n)
        self.high = _per_axis("high", high, n)
        if not (self.low < self.high).all():
            axis = int(np.argmin(self.low < self.high))
            raise ValueError(f"expected low < high, got {self.low[axis]} and {self.high[axis]} on {self._axis(axis)}")
        if (self.high > np.finfo(np.float64).max + self.low).any():
            raise ValueError("expected bounds whose difference is a finite number")

    def _axis(self, j: int) -> str:
        return repr(self.names[j]) if self.names else f"axis {j}"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The names of the values; empty if they have none."""
        bounds = zip(self.names, self.low.tolist(), self.high.tolist(), strict=False)
        return tuple(Variable(name, low, high) for name, low, high in bounds)

    def decode(self, rows: Rows) -> Rows:
        """What a function gets: rows whose values can also be read by name, if they have names."""
        return NamedValues.of(rows, self.names) if self.names else rows

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n uniform solutions, shape (n, width)."""
        return self.low + (self.high - self.low) * rng.random((n, self.width))

    def validate(self, solutions: npt.ArrayLike | Mapping[str, Any]) -> Rows:
        """The solutions as float64 rows; ValueError if the shape is wrong or a value is outside the bounds.

        If the values have names, a solution may be a mapping.
        """
        rows = self._as_rows(by_position(solutions, self.names) if self.names else solutions)
        self._refuse(rows, ~((rows >= self.low) & (rows <= self.high)), "values")
        return rows

    def __repr__(self) -> str:
        named = f" ({', '.join(self.names[:6])}{', ...' if self.width > 6 else ''})" if self.names else ""
        return f"Box({self.width}, {_axes(self.low)}, {_axes(self.high)}){named}"


class Reals(Box):
    """Vectors of n real values without bounds; random ones are normal around `start`, with standard deviation `scale`.

    Both are scalars or one value per axis. Step sizes of operators are in the units of the values; in a `Box` they are
    fractions of its sides. The bounds are the largest finite numbers.
    """

    def __init__(self, n: int, start: float | Sequence[float] = 0.0, scale: float | Sequence[float] = 1.0) -> None:
        self.names: tuple[str, ...] = ()
        n = checked_count("n", n, below=2**31, floats=False)
        largest = float(np.finfo(np.float64).max)
        self.low, self.high = np.full(n, -largest), np.full(n, largest)
        self.start = _per_axis("start", start, n)
        self.scale = _per_axis("scale", scale, n)
        if not (self.scale > 0).all():
            raise ValueError(f"scale: expected numbers above 0, got {shown(scale)}")

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n solutions around the start, shape (n, width)."""
        return np.clip(self.start + self.scale * rng.standard_normal((n, self.width)), self.low, self.high)

    def __repr__(self) -> str:
        return f"Reals({self.width}, {_axes(self.start)}, {_axes(self.scale)})"


class Levels(FloatRows):
    """Vectors of n values, each one of a few levels (the hexapod's 0, 0.05, ..., 1); rows hold the values.

    Example:
        >>> import numpy as np
        >>> import tesselite as tl
        >>> space = tl.Levels(4, [0, 0.5, 1])
        >>> space.random(2, np.random.default_rng(1)).shape
        (2, 4)
    """

    def __init__(self, n: int, values: Sequence[float] | Floats) -> None:
        n = checked_count("n", n, below=2**31, floats=False)
        expected = "at least two different finite levels"
        levels = np.unique(as_floats("values", values, expected).ravel())
        if len(levels) < 2 or not np.isfinite(levels).all():
            raise ValueError(f"values: expected {expected}, got {shown(values)}")
        if levels[-1] > np.finfo(np.float64).max + levels[0]:
            raise ValueError("values: expected levels whose difference is a finite number")
        self.values = levels
        self.low, self.high = np.full(n, levels[0]), np.full(n, levels[-1])
        # How far a value may be from a level and still count as that level: 0.1 + 0.2 is not 0.3.
        self._tolerance = 1e-6 * float(np.diff(levels).min())

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n solutions with every value uniform among the levels, shape (n, width)."""
        return self.values[rng.integers(0, len(self.values), (n, self.width))]

    def validate(self, solutions: npt.ArrayLike | Mapping[str, Any]) -> Rows:
        """The solutions as float64 rows of exact levels; ValueError if the shape is wrong or a value is not a level."""
        rows = self._as_rows(solutions)
        above = np.searchsorted(self.values, rows).clip(1, len(self.values) - 1)
        lower, upper = self.values[above - 1], self.values[above]
        nearest = np.where(rows - lower <= upper - rows, lower, upper)
        self._refuse(rows, ~(np.abs(rows - nearest) <= self._tolerance), f"one of {len(self.values)} levels")
        return nearest

    def __repr__(self) -> str:
        return f"Levels({self.width}, {len(self.values)} values from {self.values[0]:g} to {self.values[-1]:g})"
