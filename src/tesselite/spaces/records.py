"""Records: what a problem returns besides fitness and features, kept with the elite: a mass, a label, a path. Numbers
follow the features in the same rows, so that the search loop copies both at once; texts are kept separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.checks import is_whole
from tesselite.base.numbers import shown

Values = dict[str, npt.NDArray[Any]]
"""A record of n solutions each, by name: (n, *shape), of float64, int64, bool or, for texts, objects."""

_KINDS: dict[str, tuple[type, Any]] = {
    "float": (np.float64, np.nan),
    "int": (np.int64, 0),
    "bool": (np.bool_, False),
    "str": (object, ""),
}
_TYPES: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}

_MOST = 2**53  # up to here, whole numbers are exact among floats


@dataclass(frozen=True)
class Record:
    """One record: its name, its kind ("float", "int", "bool" or "str"), and its shape, empty for a single value."""

    name: str
    kind: str
    shape: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """How many numbers it has; 0 for texts."""
        return 0 if self.kind == "str" else math.prod(self.shape)

    def missing(self, n: int) -> npt.NDArray[Any]:
        """What n invalid solutions have."""
        dtype, nothing = _KINDS[self.kind]
        return np.full((n, *self.shape), nothing, dtype)

    def checked(self, values: Any, n: int) -> npt.NDArray[Any]:
        """Values of n solutions as an array; ValueError if they do not fit."""
        expected = f"{self.name} {(n, *self.shape)} of {self.kind}"
        try:
            array = np.asarray(values, dtype=object if self.kind == "str" else None)
        except ValueError:
            raise ValueError(f"records: expected {expected}, got {shown(values)}") from None
        kinds = {"float": "fiub", "int": "iu", "bool": "b", "str": "O"}[self.kind]
        fits = array.shape == (n, *self.shape) and array.dtype.kind in kinds
        if not fits or (self.kind == "str" and not all(isinstance(text, str) for text in array.ravel().tolist())):
            raise ValueError(f"records: expected {expected}, got {array.shape} of {array.dtype}")
        if self.kind == "int" and ((array > _MOST) | (array < -_MOST)).any():
            raise ValueError(f"records: expected {self.name} up to 2^53, got a larger number")
        if self.kind == "str" and not all(map(_is_unicode, array.ravel().tolist())):
            raise ValueError(f"records: expected {self.name} to be Unicode, got half a character (a surrogate)")
        return array.astype(_KINDS[self.kind][0])


class Records(Mapping[str, Any]):
    """What is recorded of each solution: `Records({"mass": float, "label": str, "path": (100, 2)})`.

    A mapping: a name has float, int, bool or str, or the shape of an array of floats. `width` is the number of its
    numbers.
    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        if not isinstance(given, Mapping | None):
            raise ValueError(f"records: expected a mapping, as in {{'mass': float, 'label': str}}, got {shown(given)}")
        self.fields = tuple(_field(name, kind) for name, kind in (given or {}).items())
        self.names = tuple(record.name for record in self.fields)
        self.texts = tuple(record.name for record in self.fields if record.kind == "str")
        self.width = sum(record.width for record in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> type | tuple[int, ...]:
        for record in self.fields:
            if record.name == name:
                return record.shape or _TYPES[record.kind]
        raise KeyError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Records({', '.join(self.names)})"

    def missing(self, n: int) -> Values:
        """What n invalid solutions have."""
        return {record.name: record.missing(n) for record in self.fields}

    def checked(self, values: Mapping[str, Any], n: int) -> Values:
        """Values of n solutions, as `Values`; none at all are missing. ValueError for other names or shapes."""
        if not values:
            return self.missing(n)
        if not isinstance(values, Mapping) or set(values) != set(self.names):
            got = ", ".join(map(str, values)) if isinstance(values, Mapping) else shown(values)
            raise ValueError(f"records: expected {', '.join(self.names) or 'none'}, got {got}")
        return {record.name: record.checked(values[record.name], n) for record in self.fields}

    def stacked(self, rows: Sequence[Mapping[str, Any]]) -> Values:
        """The records of single solutions as those of all; an empty one has none."""
        values = self.missing(len(rows))
        for name, array in values.items():
            for i, row in enumerate(rows):
                if row:
                    array[i] = row[name]
        return values

    def packed(self, values: Values, n: int) -> npt.NDArray[np.float64]:
        """The numbers of checked values, (n, width)."""
        parts = [values[record.name].reshape(n, record.width) for record in self.fields if record.kind != "str"]
        return np.concatenate([np.empty((n, 0)), *parts], axis=1, dtype=np.float64)

    def unpacked(self, numbers: npt.NDArray[np.float64], texts: Values) -> Values:
        """The inverse of `packed`, with the texts added."""
        values: Values = {}
        start = 0
        for record in self.fields:
            if record.kind == "str":
                values[record.name] = texts[record.name]
                continue
            columns = numbers[:, start : start + record.width]
            if record.kind in ("int", "bool"):
                columns = np.nan_to_num(columns, posinf=0.0, neginf=0.0).clip(-_MOST, _MOST)  # of an invalid row
            values[record.name] = columns.astype(_KINDS[record.kind][0]).reshape(len(numbers), *record.shape)
            start += record.width
        return values

    def to_list(self) -> list[list[Any]]:
        """JSON for files."""
        return [[record.name, record.kind, list(record.shape)] for record in self.fields]

    @classmethod
    def from_list(cls, about: Sequence[Sequence[Any]]) -> Records:
        """The inverse of `to_list`; ValueError or TypeError if it is damaged."""
        return cls({name: tuple(shape) if shape else _TYPES[kind] for name, kind, shape in about})


NO_RECORDS = Records()


def _is_unicode(text: str) -> bool:
    """Whether a file can hold a text."""
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def _field(name: Any, kind: Any) -> Record:
    if not isinstance(name, str) or not name:
        raise ValueError(f"records: expected names, got {shown(name)}")
    if kind in (float, int, bool, str):
        return Record(name, kind.__name__)
    if isinstance(kind, tuple) and kind and all(is_whole(size, 1) for size in kind):
        shape = tuple(map(int, kind))
        if math.prod(shape) < 2**24:
            return Record(name, "float", shape)
    expected = f"float, int, bool, str or a shape such as (100, 2) for {name!r}"
    raise ValueError(f"records: expected {expected}, got {kind!r:.80}")
