"""Discrete and mixed solutions: whole numbers, labels, orders, and products of named spaces. Rows are float64: whole
numbers, the number of a label, the numbers of the items of an order.
Each space decodes a row to what a user's function gets, encodes what a user writes down, and varies parents itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_floats, shown
from tesselite.spaces.solutions import Box, FloatRows, Levels, Reals, Rows
from tesselite.spaces.variables import Variable

Mask = npt.NDArray[np.bool_]

STEP = 0.1  # mean length of a step of a whole number, as a share of its range
ISO, LINE = 0.01, 0.2  # of iso+line for real values, as `variation.iso_line` has them


class Discrete(FloatRows):
    """The base of spaces of whole numbers, labels and orders: rows of float64, and genes that change one by one."""

    genes: int
    """How many parts of a row can change separately: its values, or the order as a whole."""

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n random solutions, shape (n, width)."""
        raise NotImplementedError

    def mutate(self, rows: Rows, mask: Mask, rng: np.random.Generator) -> Rows:
        """Rows (n, width) with the genes changed where the mask (n, genes) is True."""
        raise NotImplementedError

    def vary(self, parents: Rows, rng: np.random.Generator) -> Rows:
        """An offspring of each parent: each gene changes with probability 1 / genes, one of them at least."""
        return self.mutate(parents, some_genes(len(parents), self.genes, rng), rng)

    def encode(self, value: Any) -> Rows:
        """One solution that a user wrote down, decoded, as a row (width,)."""
        return self.validate(np.reshape(value, -1))[0]

    def validate(self, solutions: npt.ArrayLike) -> Rows:
        """The solutions as rows; ValueError says what is wrong with them."""
        rows = self._as_rows(solutions)
        self._refuse(rows, ~((rows >= self.low) & (rows <= self.high) & (rows == np.floor(rows))), "whole numbers")
        return rows


def some_genes(n: int, genes: int, rng: np.random.Generator) -> Mask:
    """Which genes of n rows change, (n, genes): each with probability 1 / genes, but one in each row at least."""
    mask = rng.random((n, genes)) < 1.0 / genes
    none = ~mask.any(axis=1)
    mask[none, rng.integers(0, genes, n)[none]] = True
    return mask


class Integers(Discrete):
    """Vectors of n whole numbers between bounds (both included), scalars or one for each value.

    A value that changes takes a step up or down, of geometric length with a mean of a tenth of its range or 1; a step
    that would leave the bounds goes in the other direction, or ends at the farther bound.
    """

    def __init__(self, n: int, low: int | Sequence[int], high: int | Sequence[int]) -> None:
        n = checked_count("n", n)
        expected = f"a whole number, or {n} of them"
        bounds = []
        for name, bound in (("low", low), ("high", high)):
            values = as_floats(name, bound, expected)
            if values.shape not in ((), (n,)) or not (values == np.floor(values)).all() or (abs(values) > 2**52).any():
                raise ValueError(f"{name}: expected {expected}, got {shown(bound)}")
            bounds.append(np.array(np.broadcast_to(values, (n,))))
        self.low, self.high = bounds
        if not (self.low < self.high).all():
            raise ValueError(f"expected low < high, got {shown(low)} and {shown(high)}")
        self.genes = n

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n uniform solutions, shape (n, width)."""
        return rng.integers(self.low.astype(np.int64), self.high.astype(np.int64) + 1, (n, self.width)).astype(float)

    def mutate(self, rows: Rows, mask: Mask, rng: np.random.Generator) -> Rows:
        """Take a step where the mask is True."""
        mean = np.maximum(1.0, STEP * (self.high - self.low))
        step = rng.geometric(1.0 / mean, rows.shape) * rng.choice([-1.0, 1.0], rows.shape)
        moved = rows + step
        outside = (moved < self.low) | (moved > self.high)
        moved = np.where(outside, rows - step, moved)
        nearer_low = rows - self.low < self.high - rows
        farther = np.where(nearer_low, self.high, self.low)
        moved = np.where((moved < self.low) | (moved > self.high), farther, moved)
        return np.where(mask, moved, rows)

    def decode(self, rows: Rows) -> Any:
        """Whole numbers (width,) or (n, width)."""
        return rows.astype(np.int64)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Names x0, x1, ... and that they are whole."""
        bounds = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return tuple(Variable(f"x{j}", low, high, whole=True) for j, (low, high) in enumerate(bounds))

    def __repr__(self) -> str:
        return f"Integers({self.width}, {self.low[0]:g}, {self.high[0]:g})"


class Categorical(Discrete):
    """n labels out of a few, one by default; a row holds their numbers. A label that changes becomes any other."""

    def __init__(self, labels: Sequence[str], n: int = 1) -> None:
        self.labels = _checked_labels(labels, 2)
        n = checked_count("n", n)
        self.low, self.high = np.zeros(n), np.full(n, len(self.labels) - 1.0)
        self.genes = n

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n solutions with every label uniform."""
        return rng.integers(0, len(self.labels), (n, self.width)).astype(float)

    def mutate(self, rows: Rows, mask: Mask, rng: np.random.Generator) -> Rows:
        """Another label, all equally likely, where the mask is True."""
        away = rng.integers(1, len(self.labels), rows.shape)
        return np.where(mask, (rows + away) % len(self.labels), rows)

    def encode(self, value: Any) -> Rows:
        """A label, or n of them, as a row."""
        given = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        unknown = [label for label in given if label not in self.labels]
        if unknown or len(given) != self.width:
            raise ValueError(f"solutions: expected {self.width} of {', '.join(self.labels)}, got {shown(value)}")
        return np.array([float(self.labels.index(label)) for label in given])

    def decode(self, rows: Rows) -> Any:
        """Labels (width,) or (n, width), an array of texts."""
        return np.array(self.labels, object)[rows.astype(np.int64)]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Names x0, x1, ... and labels."""
        return tuple(Variable(f"x{j}", 0.0, self.high[j], labels=self.labels) for j in range(self.width))

    def __repr__(self) -> str:
        return f"Categorical({list(self.labels)!r:.60}{f', {self.width}' if self.width > 1 else ''})"


class Permutation(Discrete):
    """Orders of n items, or of items with labels; a row holds the number of the item in each place.

    A mutation swaps two places, all pairs being equally likely.
    """

    def __init__(self, n: int | Sequence[str]) -> None:
        self.labels: tuple[str, ...] = ()
        if isinstance(n, int | np.integer):
            n = checked_count("n", int(n), 2)
        else:
            self.labels = _checked_labels(n, 2)
            n = len(self.labels)
        self.low, self.high = np.zeros(n), np.full(n, n - 1.0)
        self.genes = 1

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n uniform orders."""
        return rng.permuted(np.tile(np.arange(self.width, dtype=float), (n, 1)), axis=1)

    def mutate(self, rows: Rows, mask: Mask, rng: np.random.Generator) -> Rows:
        """Swap two places in the rows where the mask is True."""
        n = len(rows)
        first = rng.integers(0, self.width, n)
        second = (first + rng.integers(1, self.width, n)) % self.width
        swapped, each = rows.copy(), np.arange(n)
        swapped[each, first], swapped[each, second] = rows[each, second], rows[each, first]
        return np.where(mask, swapped, rows)

    def validate(self, solutions: npt.ArrayLike) -> Rows:
        """The solutions as rows; ValueError unless each has every item once."""
        rows = super().validate(solutions)
        bad = (np.sort(rows, axis=1) != np.arange(self.width)).any(axis=1)
        if bad.any():
            raise ValueError(f"solutions: expected each of {self.width} items once, got {rows[int(bad.argmax())]}")
        return rows

    def encode(self, value: Any) -> Rows:
        """An order of items, or of their labels, as a row."""
        if self.labels:
            if not isinstance(value, Iterable):
                raise ValueError(f"solutions: expected {', '.join(self.labels)} in some order, got {shown(value)}")
            value = [self.labels.index(item) if item in self.labels else -1 for item in value]
        return super().encode(value)

    def decode(self, rows: Rows) -> Any:
        """Numbers of items, or labels, in order: (width,) or (n, width)."""
        numbers = rows.astype(np.int64)
        return np.array(self.labels, object)[numbers] if self.labels else numbers

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Names x0, x1, ..., and labels if the items have some."""
        last = self.width - 1.0
        return tuple(Variable(f"x{j}", 0.0, last, whole=True, labels=self.labels) for j in range(self.width))

    def __repr__(self) -> str:
        return f"Permutation({self.width if not self.labels else list(self.labels)!r:.60})"


Part = Box | Levels | Discrete


class Decoded(dict[str, Any]):
    """A solution of a product: `s["material"]` or `s.material`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the solution has no {name!r}; it has {', '.join(self)}") from None


class Product(FloatRows):
    """Solutions of several parts by name: `Product(x=Box(3), material=Categorical(["steel", "oak"]))`.

    The function gets a `Decoded` solution; a part of one value is that value itself. Offspring have two parents: real
    values change by iso+line, each other value with probability 1 / (number of such values), and at least one of them
    if there are no real values.
    """

    n_parents = 2

    def __init__(self, **parts: Part) -> None:
        if not parts:
            raise ValueError("Product: expected parts by name, as in Product(x=Box(3), material=Categorical([...]))")
        for name, part in parts.items():
            if not isinstance(part, Box | Levels | Discrete):
                raise ValueError(
                    f"{name}: expected a Box, Reals, Levels, Integers, Categorical or Permutation, got {part!r:.60}"
                )
        self.parts = parts
        ends = np.cumsum([part.width for part in parts.values()]).tolist()
        starts = [0, *ends[:-1]]
        self._places = {name: slice(a, b) for name, a, b in zip(parts, starts, ends, strict=True)}
        self.low = np.concatenate([part.low for part in parts.values()])
        self.high = np.concatenate([part.high for part in parts.values()])

    def random(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw n solutions, each part as its space does."""
        return np.concatenate([part.random(n, rng) for part in self.parts.values()], axis=1)

    def validate(self, solutions: npt.ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Rows:
        """Rows (n, width), one solution as a mapping, or a list of such; ValueError names the part that is wrong."""
        given: Any = [solutions] if isinstance(solutions, Mapping) else solutions
        if isinstance(given, list | tuple) and given and all(isinstance(s, Mapping) for s in given):
            given = np.stack([self.encode(solution) for solution in given])
        rows = self._as_rows(given)
        for name, part in self.parts.items():
            place = self._places[name]
            try:
                rows[:, place] = part.validate(np.ascontiguousarray(rows[:, place]))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return rows

    def encode(self, solution: Mapping[str, Any]) -> Rows:
        """One solution that a user wrote down, as a row (width,)."""
        if set(solution) != set(self.parts):
            got = ", ".join(map(str, solution))
            raise ValueError(f"solutions: expected values for {', '.join(self.parts)}, got {got}")
        row = np.empty(self.width)
        for name, part in self.parts.items():
            value = solution[name]
            try:
                if isinstance(part, Discrete):
                    row[self._places[name]] = part.encode(value)
                else:
                    row[self._places[name]] = part.validate(value if isinstance(value, Mapping) else [np.ravel(value)])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return row

    def decode(self, rows: Rows) -> Decoded:
        """The argument of a function for a row (width,), or for rows (n, width)."""
        found = Decoded()
        for name, part in self.parts.items():
            values = rows[..., self._places[name]]
            values = part.decode(values) if hasattr(part, "decode") else values
            if part.width == 1:
                values = values[0] if rows.ndim == 1 else values[:, 0]
            found[name] = values
        return found

    def vary(self, parents: Rows, rng: np.random.Generator) -> Rows:
        """An offspring of each pair of parents (2, n, width)."""
        mothers, fathers = parents
        children = mothers.copy()
        genes = {name: _genes(part) for name, part in self.parts.items()}
        total = sum(genes.values())
        mask = rng.random((len(mothers), total)) < 1.0 / max(1, total)
        if all(genes.values()):  # no real values: without a change, a child would be its parent
            mask = some_genes(len(mothers), total, rng)
        along = LINE * rng.standard_normal((len(mothers), 1))
        first = 0
        for name, part in self.parts.items():
            place = self._places[name]
            ours, theirs, changed = mothers[:, place], fathers[:, place], mask[:, first : first + genes[name]]
            first += genes[name]
            if isinstance(part, Discrete):
                children[:, place] = part.mutate(ours, changed, rng)
            elif isinstance(part, Levels):
                children[:, place] = np.where(changed, part.random(len(ours), rng), ours)
            else:
                iso = ISO * (part.scale if isinstance(part, Reals) else part.high - part.low)
                moved = ours + iso * rng.standard_normal(ours.shape) + along * (theirs - ours)
                children[:, place] = np.clip(moved, part.low, part.high)
        return children

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of all parts: named after the part, followed by a number or the value's own name."""
        found: list[Variable] = []
        for name, part in self.parts.items():
            bounds = zip(part.low.tolist(), part.high.tolist(), strict=True)
            own = getattr(part, "variables", ()) or [Variable("", low, high) for low, high in bounds]
            for j, variable in enumerate(own):
                number = "" if part.width == 1 else str(j)
                behind = f".{variable.name}" if isinstance(part, Box) and part.names else number
                found.append(replace(variable, name=name + behind))
        return tuple(found)

    def __repr__(self) -> str:
        return f"Product({', '.join(f'{name}={part!r}' for name, part in self.parts.items())})"


def _genes(part: Part) -> int:
    """How many genes of a part change separately; real values do not."""
    if isinstance(part, Discrete):
        return part.genes
    return part.width if isinstance(part, Levels) else 0


def _checked_labels(labels: Any, least: int) -> tuple[str, ...]:
    """Different labels, as texts; ValueError for too few or invalid ones."""
    if isinstance(labels, str) or not isinstance(labels, Sequence) or not all(isinstance(one, str) for one in labels):
        raise ValueError(f"labels: expected a list of texts, got {shown(labels)}")
    if len(set(labels)) != len(labels) or len(labels) < least:
        raise ValueError(f"labels: expected at least {least} different ones, got {shown(labels)}")
    return tuple(labels)
