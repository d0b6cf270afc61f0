"""pyribs' data frames: columns solution_0, ..., objective, measures_0, ..., threshold, extra fields and index.

As CSV, which is how pyribs' users keep an `ArchiveDataFrame`, or in memory. Records are extra fields.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.base.atomic import write_atomically
from tesselite.base.spreadsheets import as_text, from_text
from tesselite.interop.foreign import ForeignElites, check_holds
from tesselite.spaces.records import Record, Values

_OWN = ("solution", "objective", "measures", "threshold", "index")


def read_pyribs(source: Path | Mapping[str, Any]) -> ForeignElites:
    """The table of a CSV file, or of a data frame or a mapping of columns."""
    if isinstance(source, Path):
        with source.open(newline="", encoding="utf-8-sig") as stream:
            header, *rows = csv.reader(stream)
        if any(len(row) != len(header) for row in rows):
            raise ValueError(f"expected {len(header)} values in every row")
        columns = {name: _parsed([row[i] for row in rows]) for i, name in enumerate(header) if name}
    else:
        columns = {str(name): np.asarray(source[name]) for name in source}
    fields: dict[str, dict[int, npt.NDArray[Any]]] = {}
    for name, values in columns.items():
        numbered = re.fullmatch(r"(.+)_(\d+)", name)
        fields.setdefault(numbered[1] if numbered else name, {})[int(numbered[2]) if numbered else -1] = values
    missing = [name for name in ("solution", "objective", "measures") if name not in fields]
    if missing:
        raise ValueError(f"expected columns solution_0, ..., objective and measures_0, ..., found no {missing[0]}")
    joined = {name: _joined(name, parts) for name, parts in fields.items()}
    for name in ("solution", "objective", "measures"):
        if joined[name].dtype.kind not in "fiub":
            raise ValueError(f"expected numbers in {name}, got {joined[name].dtype}")
    extra = {name: _recorded(values) for name, values in joined.items() if name not in _OWN}
    objective = joined["objective"].astype(np.float64)
    threshold = joined.get("threshold", objective)
    if not np.array_equal(threshold, objective):  # annealed
        extra["threshold"] = threshold.astype(np.float64)
    features = _rows(joined["measures"]).astype(np.float64)
    index = joined.get("index")
    cells = index.astype(np.int64) if index is not None and index.ndim == 1 and index.dtype.kind in "iu" else None
    return ForeignElites(_rows(joined["solution"]), objective, features, extra, niches=cells)


def _parsed(texts: Sequence[str]) -> npt.NDArray[Any]:
    """A column of a CSV file: whole numbers, numbers, True and False, or texts."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(texts, dtype=kind) if texts else np.empty(0)
        except (ValueError, OverflowError):
            continue
    if set(texts) <= {"True", "False"}:
        return np.array(texts) == "True"
    return np.array([from_text(text) for text in texts], dtype=object)


def _joined(name: str, parts: dict[int, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """A field from its columns: one alone, or those numbered from 0."""
    if set(parts) == {-1}:
        return parts[-1]
    if set(parts) != set(range(len(parts))):
        raise ValueError(f"expected the columns of {name} to be numbered from 0 without gaps")
    return np.column_stack([parts[i] for i in range(len(parts))])


def _rows(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values[:, None] if values.ndim == 1 else values


def _recorded(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An extra field as a record: arrays are of floats, and anything else but numbers is a text."""
    if values.ndim > 1:
        return values.astype(np.float64)
    return values if values.dtype.kind in "fiub" else np.array([str(value) for value in values], dtype=object)


def pyribs_columns(archive: Archive, *, negate: bool = False, lossy: bool = False) -> Values:
    """The columns of pyribs' data frame: `ribs.archives.ArchiveDataFrame(pyribs_columns(archive))`.

    `negate` is for fitness that is minimised, as pyribs maximises. Records of one number or text, or a row of
    numbers, are extra fields; ValueError for others, and for labels of solutions, unless `lossy` leaves them out.
    """
    held = tuple(
        record.name
        for record in archive.records.fields
        if len(record.shape) < 2 and record.name.isidentifier() and not _taken(record)
    )
    fitness = check_holds(archive, "pyribs", held, negate, lossy)
    elites = archive.elites()
    columns: Values = {f"solution_{i}": elites.solutions[:, i] for i in range(archive.width)}
    columns["objective"] = fitness
    columns |= {f"measures_{i}": elites.features[:, i] for i in range(elites.features.shape[1])}
    columns["threshold"] = fitness
    for name in held:  # where thresholds are recorded, they take the place of those
        values = elites.records[name]
        split = {f"{name}_{i}": values[:, i] for i in range(values.shape[1])} if values.ndim == 2 else {name: values}
        columns |= split
    columns["index"] = elites.niches
    return columns


def _taken(record: Record) -> bool:
    """Whether a record of this name would clash with another column."""
    if record == Record("threshold", "float"):
        return False
    return record.name in _OWN or re.fullmatch(r".+_\d+", record.name) is not None


def _cells(values: npt.NDArray[Any]) -> list[Any]:
    return [as_text(value) if isinstance(value, str) else value for value in values.tolist()]


def write_pyribs(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the columns as CSV, in full precision."""
    columns = pyribs_columns(archive, negate=negate, lossy=lossy)

    def write(part: Path) -> None:
        with part.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*map(_cells, columns.values()), strict=True))

    write_atomically(path, write)
