"""Known designs: solutions that a run evaluates before any other, from Python, an archive or a file.

Only the solutions count: the archive that they come from may have another tessellation, or be of another version of the
problem. A run keeps a copy, `start.parquet`, and its plan their digest, so that it repeats and resumes exactly.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.arrow import (
    columns_of,
    from_column,
    is_text_column,
    read_parquet,
    texts_of,
    to_column,
    write_parquet,
)
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.base.checks import is_whole
from tesselite.base.checksum import is_intact, sealed
from tesselite.base.spreadsheets import from_text
from tesselite.spaces.solutions import Rows, SolutionSpace
from tesselite.spaces.variables import Variable, is_text, row_of, value_names

START_FILE = "start.parquet"
_ENDINGS = (".parquet", ".csv", ".npy", ".npz")


@dataclass(frozen=True)
class Start:
    """n solutions that are evaluated first. Two are the same if their digests are.

    A plan's file holds number and digest; `rows` (n, width) are None until they are read from their own file.
    """

    n: int
    digest: str
    rows: Rows | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, start: Any, space: SolutionSpace) -> Start:
        """The solutions of an array (n, width), an Archive, the folder of a run, or a file.

        ValueError if one of them is not of the space.
        """
        where = ""
        if isinstance(start, str | Path):
            where = f" of {start}"
            found: Any = _read(Path(start), space)
        else:
            found = start.elites().solutions if isinstance(start, Archive) else start
        try:
            rows = space.validate(found)
        except ValueError as error:
            raise ValueError(f"start: the solutions{where} are not of {space!r} ({error})") from None
        if not len(rows):
            raise ValueError(f"start: expected at least one solution, found none{where}")
        return cls(len(rows), _digest(rows), rows)

    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json."""
        return {"n": self.n, "digest": self.digest}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Start:
        """The inverse of `to_dict`; LookupError or TypeError if it is damaged."""
        if not is_whole(about["n"], 1) or not isinstance(about["digest"], str):
            raise TypeError(f"start is {about!r}")
        return cls(about["n"], about["digest"])

    def save(self, folder: Path) -> None:
        """Write the solutions into the folder of a run."""
        import pyarrow as pa

        assert self.rows is not None
        flat = to_column(self.rows.reshape(-1))
        table = pa.table({"solution": pa.FixedSizeListArray.from_arrays(flat, self.rows.shape[1])})
        about = sealed({"width": self.rows.shape[1], "dtype": self.rows.dtype.str}, columns_of(table))
        write_atomically(folder / START_FILE, lambda part: write_parquet(table, about, part))

    def load(self, folder: Path, space: SolutionSpace) -> Rows:
        """Read them again; ValueError if they are not those of the plan."""
        file = folder / START_FILE
        rows = space.validate(_read(file, space))
        if _digest(rows) != self.digest:
            raise ValueError(f"{file}: not the solutions that the run was started with; restore it")
        return rows


def _digest(rows: Rows) -> str:
    return hashlib.sha256(f"{rows.shape} {rows.dtype.str}".encode() + rows.tobytes()).hexdigest()


def _read(path: Path, space: SolutionSpace) -> Rows:
    """The solutions that a file holds; ValueError, with its name, if it does not hold any of this space's width."""
    path = path / "archive.parquet" if path.is_dir() else path
    check_regular(path)
    if path.suffix not in _ENDINGS:
        raise ValueError(f"start: expected a run, or a file that ends in {', '.join(_ENDINGS)}, got {str(path)!r}")
    try:
        if path.suffix == ".parquet":
            return _from_parquet(path, space)
        if path.suffix == ".csv":
            return _from_csv(path, space)
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays["solutions"])
    except (ValueError, LookupError, TypeError, UnicodeDecodeError, csv.Error, EOFError) as error:
        raise ValueError(f"{path}: {error}") from None


def _from_parquet(path: Path, space: SolutionSpace) -> Rows:
    """Our archive, or any table with a column for each value or a list column `solution`."""
    table, about = read_parquet(path, foreign=True)
    if about and not is_intact(about, columns_of(table), older=True):
        raise ValueError("damaged (its content is not what was written)")
    if "solution" not in table.column_names:

        def column(name: str) -> Any:
            return texts_of(table[name]) if is_text_column(table[name]) else from_column(table[name])

        return _by_name(table.column_names, space, column)
    flat = from_column(table["solution"].combine_chunks().flatten())
    return (flat.view(np.dtype(about["dtype"])) if about else flat).reshape(len(table), -1)


def _from_csv(path: Path, space: SolutionSpace) -> Rows:
    """A table with a header, as `tesselite export --to csv` writes it."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    header = list(map(from_text, header))
    return _by_name(header, space, lambda name: [from_text(row[header.index(name)]) for row in rows if row])


def _by_name(known: list[str], space: SolutionSpace, column: Callable[[str], Any]) -> Rows:
    """The columns of the solution's values as rows.

    One whose name a feature has too is called `solution NAME`; pyribs calls them solution_0, solution_1, ...
    """
    variables: Sequence[Variable] = getattr(space, "variables", ())
    columns: list[Any] = []
    for j, plain in enumerate(value_names(variables, space.width, ())):
        name = next((one for one in (f"solution {plain}", plain, f"solution_{j}") if one in known), plain)
        if name not in known:
            raise ValueError(f"expected a column for each value of a solution, found no {name!r}")
        if is_text(variables):
            return np.stack([row_of(text, space.width) for text in column(name)])
        try:
            columns.append(variables[j].read(column(name)) if variables else np.asarray(column(name), dtype=np.float64))
        except ValueError as error:
            raise ValueError(f"the column {name!r}: {error}") from None
    return np.column_stack(columns)
