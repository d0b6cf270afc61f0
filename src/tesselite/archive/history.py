"""History: every evaluation of a run, in Parquet parts of one folder.

`EvaluatedRows` collects rows in memory during a search, `HistoryFolder` writes them. A part holds a fixed number of
rows, in the order in which they were counted; the last one is written again as it grows, always with all that it had.
So the bytes depend on the evaluations alone, and a run that is killed has every row that its checkpoint counts. Each
part names the digest of the one before. Any Parquet reader works: `pandas.read_parquet("runs/x/history")`.

Columns: evaluation (its number), fitness, valid, reason (why not; empty if valid), one for each feature and record, and
the solution as in the archive's file. Fitness and features of an invalid row are NaN, unless a feature was refused; in
place of what is not a label stands an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.archive.evaluation import Evaluation
from tesselite.archive.file import table_of
from tesselite.base.arrays import Floats, Ints
from tesselite.base.arrow import buffers_of, read_about, read_parquet, to_booleans, to_sparse_texts, write_parquet
from tesselite.base.atomic import cannot_write, remove_parts, write_atomically
from tesselite.base.checksum import is_intact, sealed
from tesselite.spaces.records import Records, Values
from tesselite.spaces.solutions import Rows
from tesselite.spaces.variables import Variable

if TYPE_CHECKING:
    import pyarrow

HISTORY = "history"  # the folder, in that of the run
_PATTERN = "part-*.parquet"
_FORMAT = 1
_RESERVED = ("evaluation", "fitness", "valid", "reason", "solution")
# A part: large enough that there are few, small enough to be held in memory and to be written again at checkpoints.
_PART_BYTES, _PART_ROWS = 1 << 24, 1 << 17


@dataclass(frozen=True)
class RowKind:
    """The fields of a row of a history."""

    features: tuple[Variable, ...]
    records: Records
    variables: tuple[Variable, ...]
    width: int
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, archive: Archive) -> RowKind:
        """That of the rows that are offered to this archive."""
        features = archive.tessellation.space.variables
        return cls(features, archive.records, archive.variables, archive.width, archive.dtype)

    @property
    def n_columns(self) -> int:
        """Features, and the numbers that are recorded."""
        return len(self.features) + self.records.width

    @property
    def n_bytes(self) -> int:
        """The memory of a row, without recorded texts."""
        return self.width * self.dtype.itemsize + 8 * (3 + self.n_columns)

    @property
    def rows_per_part(self) -> int:
        """How many rows a part has when it is full."""
        return max(1, min(_PART_ROWS, _PART_BYTES // self.n_bytes))


class EvaluatedRows:
    """Evaluated solutions in the order in which a search counted them; the first `n` rows of each array are there.

    `numbers` (n,) of evaluations, `solutions` (n, width), `fitness` (n,), `columns` (n, features and recorded numbers).
    `reasons` maps invalid rows to why. It is to be emptied before it has many more than `enough` rows.
    """

    def __init__(self, kind: RowKind, enough: int) -> None:
        self.kind = kind
        self.enough = enough
        self.n = 0
        self.reasons: dict[int, str] = {}
        self._allocate(0)

    def _allocate(self, size: int) -> None:
        kind = self.kind
        self.numbers: Ints = np.empty(size, np.int64)
        self.fitness: Floats = np.empty(size)
        self.columns: Floats = np.empty((size, kind.n_columns))
        self.solutions: Rows = np.empty((size, kind.width), kind.dtype)
        self.texts: Values = {name: np.full(size, "", object) for name in kind.records.texts}

    @property
    def room(self) -> int:
        """How many rows to add before it is emptied, at least one."""
        return max(1, self.enough - self.n)

    def reserve(self, n: int) -> None:
        """Make room for n more rows."""
        size = self.n + n
        if size > len(self.numbers):
            before = self._parts(slice(0, self.n))
            self._allocate(max(size, min(2 * self.n, self.enough), 1024))
            self._put(0, *before)

    def _parts(self, rows: slice) -> tuple[Ints, Rows, Floats, Floats, Values]:
        texts = {name: values[rows] for name, values in self.texts.items()}
        return self.numbers[rows], self.solutions[rows], self.fitness[rows], self.columns[rows], texts

    def _put(self, at: int, numbers: Ints, solutions: Rows, fitness: Floats, columns: Floats, texts: Values) -> None:
        rows = slice(at, at + len(numbers))
        self.numbers[rows], self.solutions[rows], self.fitness[rows] = numbers, solutions, fitness
        self.columns[rows] = columns
        for name, values in self.texts.items():
            values[rows] = texts[name]

    def add(self, first: int, solutions: Rows, evaluated: Evaluation, refused: Mapping[int, str]) -> None:
        """Take in a checked evaluation, whose first row has this number; `refused` rows are invalid, too."""
        n, records = len(solutions), self.kind.records
        self.reserve(n)
        recorded = records.checked(evaluated.records, n)
        columns = np.concatenate([evaluated.features, records.packed(recorded, n)], axis=1)
        self._put(self.n, np.arange(first, first + n), solutions, evaluated.fitness, columns, recorded)
        self.reasons.update({self.n + i: reason for i, reason in {**refused, **evaluated.reasons}.items()})
        self.n += n

    def count(self, first: int, n: int, reasons: Mapping[int, str]) -> None:
        """Count n rows that were written into the arrays behind the others, the first of this number."""
        self.numbers[self.n : self.n + n] = np.arange(first, first + n)
        self.reasons.update({self.n + i: reason for i, reason in reasons.items()})
        self.n += n

    def extend(self, other: EvaluatedRows) -> None:
        """Take in all rows of another one."""
        self.reserve(other.n)
        self._put(self.n, *other._parts(slice(0, other.n)))
        self.reasons.update({self.n + i: reason for i, reason in other.reasons.items()})
        self.n += other.n

    def drop(self, n: int) -> None:
        """Forget the first n rows."""
        self._put(0, *(_copied(part) for part in self._parts(slice(n, self.n))))
        self.reasons = {i - n: reason for i, reason in self.reasons.items() if i >= n}
        self.n -= n

    def table(self, n: int) -> pyarrow.Table:
        """The first n rows, as a file has them."""
        numbers, solutions, fitness, columns, texts = self._parts(slice(0, n))
        kind, d = self.kind, len(self.kind.features)
        reasons = {i: reason for i, reason in self.reasons.items() if i < n}
        valid = np.ones(n, np.bool_)
        valid[list(reasons)] = False
        first = {
            "evaluation": numbers,
            "fitness": fitness,
            "valid": to_booleans(valid),
            "reason": to_sparse_texts(n, reasons),
        }
        return table_of(
            first,
            (kind.features, columns[:, :d]),
            (kind.records, kind.records.unpacked(columns[:, d:], texts)),
            (kind.variables, solutions),
            _RESERVED,
        )


def _copied(part: Any) -> Any:
    return {name: values.copy() for name, values in part.items()} if isinstance(part, dict) else part.copy()


class HistoryFolder:
    """The parts of a run's history, to be continued after this many `evaluations`: `rows` are written by `save`.

    Opening it changes nothing on disk. ValueError if rows of these evaluations are missing or damaged.
    """

    def __init__(self, run: Path, kind: RowKind, evaluations: int) -> None:
        self.path = run / HISTORY
        if self.path.is_symlink():
            raise ValueError(f"{self.path}: a symbolic link, which may lead anywhere; replace it by the folder itself")
        self._size = kind.rows_per_part
        if evaluations:
            self._size = _full_size(_checked_about(self._part(0)), self._part(0))
        self._number, n_tail = divmod(evaluations, self._size)
        self._before = _checked_about(self._part(self._number - 1))["digest"] if self._number else ""
        self._tail: Any = None  # rows of the last part that were written before
        if n_tail:
            table, about = _read_part(self._part(self._number))
            if len(table) < n_tail or about["after"] != self._before:
                raise ValueError(
                    f"{self._part(self._number)}: expected {n_tail:,} evaluations that follow {self._number:,} full "
                    f"parts, as the run's checkpoint counts them; restore it, or start another run with "
                    f"start={str(run)!r}"
                )
            self._tail = table.slice(0, n_tail).replace_schema_metadata(None)
        self.rows = EvaluatedRows(kind, self._size - n_tail)
        self._saved = 0  # rows that are on disk

    def _part(self, number: int) -> Path:
        return _part(self.path, number)

    def cut(self) -> None:
        """Remove parts beyond those to continue from: they are made again."""
        kept = self._number + (self._tail is not None or self._saved > 0)
        for number in range(len(_parts(self.path)) - 1, kept - 1, -1):
            self._part(number).unlink()
        if self.path.is_dir():
            remove_parts(self.path, *(self._part(number).name for number in range(kept + 1)))

    def save(self) -> None:
        """Write all rows to disk: full parts, and the last one as far as it goes."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        while self.rows.n > self._saved:
            n = min(self.rows.n, self.rows.enough)
            digest = self._write(self.rows.table(n))
            self._saved = n
            if n == self.rows.enough:  # the part is full
                self._number, self._before, self._tail = self._number + 1, digest, None
                self.rows.drop(n)
                self.rows.enough, self._saved = self._size, 0

    def save_full_parts(self) -> None:
        """Write what fills a part, so that not much is in memory."""
        if self.rows.n >= self.rows.enough:
            self.save()

    def _write(self, table: Any) -> str:
        import pyarrow as pa

        if self._tail is not None:
            # Parquet calls what lists are made of "element", which would be other bytes in the file.
            table = pa.concat_tables([self._tail.cast(table.schema), table]).combine_chunks()
        about = {
            "format": _FORMAT,
            "version": __version__,
            "history": self._number,
            "full": self._size,
            "rows": len(table),
            "after": self._before,
        }
        about = sealed(about, buffers_of(table))
        write_atomically(self._part(self._number), lambda part: write_parquet(table, about, part))
        return str(about["digest"])


def remove_history(run: Path) -> None:
    """Remove the parts of a history, and nothing else."""
    folder = run / HISTORY
    if folder.is_dir() and not folder.is_symlink():
        for file in sorted(folder.glob(_PATTERN), reverse=True):
            file.unlink()
        remove_parts(folder, _part(folder, 0).name)
        with suppress(OSError):  # it contains the user's files
            folder.rmdir()


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06}.parquet"


def _parts(folder: Path) -> list[Path]:
    """The parts that are there, in order; ValueError if one between them is missing."""
    there = {file.name for file in folder.glob(_PATTERN)}
    files = [_part(folder, number) for number in range(len(there))]
    for file in files:
        if file.name not in there:
            raise ValueError(f"{file}: missing, and there are later parts; restore it")
    return files


def _read_part(path: Path) -> tuple[Any, dict[str, Any]]:
    """The table of a part and what it says about itself; ValueError if it is damaged or none."""
    _checked_about(path)
    try:
        table, about = read_parquet(path)
        if not is_intact(about, buffers_of(table)):
            raise ValueError("damaged (its content is not what was written); restore it")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return table, about


def _checked_about(path: Path) -> dict[str, Any]:
    """The description of a part, without reading its rows."""
    about = read_about(path)
    _full_size(about, path)
    return about


def _full_size(about: dict[str, Any], path: Path) -> int:
    """How many rows a full part has; ValueError if this is not said by a part of this name."""
    if about.get("format") != _FORMAT or "history" not in about:
        found = "missing" if not path.exists() else "damaged, or not part of a history that this version reads"
        raise ValueError(f"{path}: {found}; restore it")
    full, rows = about.get("full"), about.get("rows")
    named = isinstance(about["history"], int) and _part(path.parent, about["history"]) == path
    if not (named and isinstance(full, int) and isinstance(rows, int) and 1 <= rows <= full):
        raise ValueError(f"{path}: damaged, or moved from elsewhere; restore it")
    return full


@dataclass(frozen=True)
class HistorySize:
    """How large a history is."""

    evaluations: int
    parts: int
    n_bytes: int

    @classmethod
    def of(cls, run: Path) -> HistorySize:
        """That of a run: a quick look, which reads none of the rows."""
        files = _parts(run / HISTORY)
        rows = sum(_checked_about(file)["rows"] for file in files)
        return cls(rows, len(files), sum(file.stat().st_size for file in files))


def load_history(folder: str | Path, columns: Sequence[str] | None = None) -> pyarrow.Table:
    """Every evaluation of a run that was started with `history=True`, as a PyArrow table, in the order of counting.

    `folder` is that of the run. `columns` are all by default. Unlike other readers, this one checks that every
    evaluation of the run's archive is there as it was written, and raises ValueError if one is not.

    Example:
        >>> import tesselite as tl
        >>> run = tl.run(tl.problems.sphere(3), grid=5, evaluations=500, seed=1, out="spheres", history=True)
        >>> tl.load_history("spheres", ["evaluation", "fitness"]).shape
        (500, 2)
    """
    import pyarrow as pa

    run = Path(folder)
    if not (run / HISTORY).is_dir():
        raise ValueError(f"{run}: no history here; expected the folder of a run that was started with history=True")
    search = read_about(run / "archive.parquet").get("search")  # before the parts, which it counts
    tables, after = [], ""
    for file in _parts(run / HISTORY):
        table, about = _read_part(file)
        if about["after"] != after:
            raise ValueError(f"{file}: does not follow the part before it; restore both")
        after = about["digest"]
        if columns is not None:
            unknown = [name for name in columns if name not in table.column_names]
            if unknown:
                raise ValueError(f"columns: expected some of {', '.join(table.column_names)}, got {unknown[0]!r}")
            table = table.select(list(columns))
        tables.append(table.replace_schema_metadata(None))
    rows = sum(map(len, tables))
    counted = search.get("evaluations") if isinstance(search, dict) else 0
    if not tables or not isinstance(counted, int) or rows < counted:
        raise ValueError(f"{run / HISTORY}: expected {counted or 'some'} evaluations, found {rows}; restore its parts")
    return pa.concat_tables(tables)
