"""Variables: what the values of a solution's row are called, and how tables, pages and functions show them.

The values that a row may have are defined by its space, in `solutions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Variable:
    """One value of a row: its name, with the unit if it has one, and its bounds.

    Values are whole numbers if `whole`; with `labels` they are the numbers of these. A `text` is a row as a whole, the
    bytes of its characters.
    """

    name: str
    low: float
    high: float
    whole: bool = False
    labels: tuple[str, ...] = ()
    text: bool = False

    def shown(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values (n,) of rows as a table has them: labels (an empty text for what is none), whole numbers, or as is."""
        if self.labels:
            known = (values >= 0) & (values < len(self.labels)) & (values == np.floor(values))
            return np.array([*self.labels, ""])[np.where(known, values, len(self.labels)).astype(np.int64)]
        return values.astype(np.int64) if self.whole else values

    def read(self, column: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The inverse of `shown`; ValueError for what is not a label or a number."""
        if not self.labels:
            return np.asarray(column, dtype=np.float64)
        numbers = {label: float(number) for number, label in enumerate(self.labels)}
        unknown = next((value for value in column if value not in numbers), None)
        if unknown is not None:
            raise ValueError(f"expected {self.name} to be one of {', '.join(self.labels)}, got {unknown!r:.80}")
        return np.array([numbers[value] for value in column])

    def to_dict(self) -> dict[str, Any]:
        """JSON for files and the page."""
        return {**asdict(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Variable:
        """The inverse of `to_dict`; LookupError or TypeError if it is damaged."""
        name, labels = about["name"], tuple(about["labels"])
        if not all(isinstance(text, str) for text in (name, *labels)):
            raise TypeError(f"variable is {about!r}")
        text = bool(about.get("text"))
        return cls(name, float(about["low"]), float(about["high"]), bool(about["whole"]), labels, text)


def value_names(variables: Sequence[Variable], width: int, taken: Sequence[str]) -> list[str]:
    """Columns of a table for the values of a row: x0, x1, ... without names; a name in use gets a prefix."""
    names, known = [], set(taken)
    for name in [variable.name for variable in variables] or [f"x{j}" for j in range(width)]:
        while name in known:
            name = f"solution {name}"
        known.add(name)
        names.append(name)
    return names


def value_columns(
    variables: Sequence[Variable], rows: npt.NDArray[Any], taken: Sequence[str]
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The values of rows (n, width) as columns of a table, with their names."""
    names = value_names(variables, rows.shape[1], taken)
    if is_text(variables):
        yield names[0], np.array([text_of(row) for row in rows], object)
        return
    for j, name in enumerate(names):
        yield name, variables[j].shown(rows[:, j]) if variables else rows[:, j]


def is_text(variables: Sequence[Variable]) -> bool:
    """Whether a row is one text."""
    return bool(variables) and variables[0].text


def text_of(row: npt.NDArray[Any]) -> str:
    """The text of a row of bytes; ValueError if it is not one."""
    return row.astype(np.uint8).tobytes().rstrip(b"\0").decode()


def row_of(text: str, width: int) -> npt.NDArray[np.uint8]:
    """A text as a row of this many bytes; ValueError if it is too long, or has a character of number 0."""
    data = text.encode()
    if len(data) > width or b"\0" in data:
        raise ValueError(f"solutions: expected texts of up to {width} bytes, without \\0, got {len(data)} bytes")
    return np.frombuffer(data.ljust(width, b"\0"), np.uint8)


def by_position(solutions: Any, names: Sequence[str]) -> Any:
    """Solutions that are given as mappings, one or a list of them, as rows; anything else unchanged."""
    single = isinstance(solutions, Mapping)
    rows = [solutions] if single else solutions
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        return solutions
    for row in rows:
        if set(row) != set(names):
            raise ValueError(f"solutions: expected values for {', '.join(names)}, got {', '.join(map(str, row))}")
    return [[row[name] for name in names] for row in rows]


class NamedValues(np.ndarray[Any, np.dtype[np.float64]]):
    """A solution (width,), or a batch (n, width), whose values also have names: `x["span_mm"]` as well as `x[0]`.

    Results computed from it have no names: they are plain arrays in all but type.
    """

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: npt.NDArray[Any], names: tuple[str, ...]) -> NamedValues:
        """A view of these rows."""
        named = rows.view(cls)
        named.names = names
        return named

    def keys(self) -> tuple[str, ...]:
        """The names, so that `f(**x)` and `dict(x)` work."""
        return self.names

    def copy(self, order: Any = "C") -> NamedValues:
        """A copy, with names."""
        return self.of(np.array(self, order=order), self.names)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            known = ", ".join(self.names) or "without names"
            raise KeyError(f"{key!r} is not a value of the solution; its values are {known}")
        j = self.names.index(key)
        return super().__getitem__(j) if self.ndim == 1 else self.view(np.ndarray)[:, j]
