"""Archives on disk: one Apache Parquet file, a row for each elite, ordered by niche, in full precision.

Columns: niche, fitness, evaluation (that found it), order (in which its niche was first filled), one for each feature,
and `solution`, a list, or a column for each of its values where these have names. The key "tesselite" of the file's
metadata holds the rest as JSON: tessellation, direction, counts, schema version. Centroids, if the file holds them, are
a block of numbers before the columns. Any Parquet reader works: `pandas.read_parquet(path)`. Nothing that depends
on the clock is written, so equal searches give equal bytes.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tesselite import __version__
from tesselite.archive.archive import Archive
from tesselite.archive.elites import Elites
from tesselite.base.arrays import Floats
from tesselite.base.arrow import (
    BLOCK,
    columns_of,
    from_column,
    is_text_column,
    read_about,
    read_block,
    read_parquet,
    texts_of,
    to_column,
    write_parquet,
)
from tesselite.base.atomic import write_atomically
from tesselite.base.checksum import is_intact, sealed
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.records import Records, Values
from tesselite.spaces.solutions import Rows
from tesselite.spaces.variables import Variable, is_text, row_of, value_columns, value_names
from tesselite.tessellation.own import description_of, from_description
from tesselite.tessellation.protocol import Tessellation

# 1 held centroids as text. 2 is written where the values of solutions have no names and nothing is recorded, 3 where
# all features are plain: neither periodic nor labels.
FORMAT = 4
_CENTROIDS = "<f8"
# What reading a damaged file can raise, besides ValueError.
_DAMAGE = (LookupError, TypeError, AttributeError, ArithmeticError)
_RESERVED = ("niche", "fitness", "evaluation", "order", "solution")


def _column(name: str, reserved: Sequence[str] = _RESERVED) -> str:
    """A feature's column; a name that another column has gets a prefix."""
    bare = name
    while bare.startswith("feature "):
        bare = bare.removeprefix("feature ")
    return f"feature {name}" if bare in reserved else name


def table_of(
    first: dict[str, Any],
    features: tuple[Sequence[Variable], Floats],
    records: tuple[Records, Values],
    solutions: tuple[Sequence[Variable], Rows],
    reserved: Sequence[str] = _RESERVED,
) -> Any:
    """A PyArrow table of evaluated solutions: the `first` columns, features, records, and the solutions.

    Of features, records and solutions, each given with their names, none takes a `reserved` name. Solutions whose
    values have no names are a column of lists.
    """
    import pyarrow as pa

    columns, lists = dict(first), dict[str, Any]()
    by_column = np.asfortranarray(features[1])
    for j, feature in enumerate(features[0]):
        columns[_column(feature.name, reserved)] = feature.shown(by_column[:, j])
    names = _record_columns([feature.name for feature in features[0]], records[0], reserved)
    for name, values in zip(names, records[1].values(), strict=True):
        if values.ndim > 1:
            flat = to_column(values.reshape(-1))
            lists[name] = pa.FixedSizeListArray.from_arrays(flat, math.prod(values.shape[1:]))
        else:
            columns[name] = values
    variables, rows = solutions
    if variables:
        columns |= value_columns(variables, rows, [*columns, *lists, *reserved])
    table = pa.table({**{name: to_column(values) for name, values in columns.items()}, **lists})
    if not variables:
        flat = to_column(rows.reshape(-1))
        table = table.append_column("solution", pa.FixedSizeListArray.from_arrays(flat, rows.shape[1]))
    return table


def _space(described: dict[str, Any], like: FeatureSpace | None = None) -> FeatureSpace:
    """The space that a file describes; scales of the user's own are those of a space `like` it."""
    known = {} if like is None else {name: scale for name, scale in like.scales.items() if scale.name != "log"}
    unknown = sorted(set(_unknown_scales(described)) - {scale.name for scale in known.values()})
    if unknown:
        raise ValueError(
            f"the features have custom scales ({', '.join(unknown)}), which a file cannot hold; "
            "pass the tessellation to load"
        )
    scales = {name: known.get(name, scale) for name, scale in described["scales"].items()}
    return FeatureSpace.from_dict(described, scales)


def describe_tessellation(tessellation: Tessellation, *, embed: bool) -> dict[str, Any]:
    """A tessellation as JSON; with `embed`, where in the file its centroids are."""
    described: dict[str, Any] = {
        **description_of(tessellation),
        "space": tessellation.space.to_dict(),
        "n_niches": tessellation.n_niches,
        "fingerprint": tessellation.fingerprint(),
    }
    if embed and tessellation.block is not None:
        described["centroids"] = {"offset": BLOCK, "dtype": _CENTROIDS}
    return described


def _tessellation(
    described: dict[str, Any], given: Tessellation | None, path: Path, *, changed: bool = False
) -> Tessellation:
    """The tessellation of a file: the one that is given, or, where the search has `changed` it, the file's own."""
    if given is not None:
        if given.fingerprint() == described["fingerprint"]:
            return given
        if not changed:
            raise ValueError("this archive was made on a different tessellation from the one given")
    if described["kind"] == "voronoi" and "centroids" not in described:
        beside = path.parent / "centroids.parquet"
        if beside.exists():
            from tesselite.tessellation.files import load_tessellation

            return _tessellation(described, load_tessellation(beside), path)
        raise ValueError("the file does not hold its tessellation; pass it to load")
    like = None if given is None else given.space
    space = _space(described["features" if described["kind"] == "provisional" else "space"], like)
    block = None
    if described["kind"] == "voronoi":
        shape = described["n_niches"], space.n
        if isinstance(described["centroids"], str):  # format 1
            block = np.frombuffer(base64.b64decode(described["centroids"]), _CENTROIDS).reshape(shape)
        else:
            block = read_block(path, _CENTROIDS, shape[0] * shape[1]).reshape(shape)
    found = from_description(described, space, block)
    if found.fingerprint() != described["fingerprint"]:
        raise ValueError("damaged (its niches are not those that were written)")
    return found


def save_archive(archive: Archive, path: Path, *, search: dict[str, Any] | None = None, embed: bool = True) -> Path:
    """Write the archive, atomically. `search`, the state beside the archive, makes the file a checkpoint."""
    elites = archive.in_order_of_filling()
    by_niche = np.argsort(elites.niches)
    first: dict[str, Any] = {
        "niche": elites.niches[by_niche],
        "fitness": elites.fitness[by_niche],
        "evaluation": elites.evaluations[by_niche],
        "order": by_niche,
    }
    space, variables = archive.tessellation.space, archive.variables
    table = table_of(
        first,
        (space.variables, elites.features[by_niche]),
        (archive.records, {name: values[by_niche] for name, values in elites.records.items()}),
        (variables, elites.solutions[by_niche]),
    )
    described = describe_tessellation(archive.tessellation, embed=embed)
    about = {
        "format": FORMAT if not space.plain else 3 if variables or archive.records else 2,
        "version": __version__,
        "direction": archive.direction,
        "floor": archive.floor,
        "width": archive.width,
        "dtype": archive.solutions.dtype.str,
        "search": search,
        "invalid": dict(sorted(archive.invalid.items())),
        "out_of_bounds": archive.out_of_bounds,
        "tessellation": described,
    }
    if variables:
        about["variables"] = [variable.to_dict() for variable in variables]
    if archive.records:
        about["records"] = archive.records.to_list()
    about = sealed(about, columns_of(table))
    block = archive.tessellation.block if "centroids" in described else None
    write_atomically(path, lambda part: write_parquet(table, about, part, block))
    return path


def _read(path: Path) -> tuple[Any, dict[str, Any]]:
    """The file's table and what it says about itself; ValueError if it is damaged or not an archive."""
    try:
        table, about = read_parquet(path)
        if about.get("format") not in range(1, FORMAT + 1):
            raise ValueError(
                f"written in format {about.get('format')} by tesselite {about.get('version')}; "
                f"this is tesselite {__version__}, which reads formats 1 to {FORMAT}"
            )
        if "niche" not in table.column_names:
            raise ValueError("a file of tesselite, but not an archive")
        if not is_intact(about, columns_of(table)):
            raise ValueError("damaged (its content is not what was written)")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return table, about


def own_scales(path: Path) -> list[str]:
    """Names of the custom scales of an archive's features, which a file cannot hold.

    Empty for a damaged file or another kind of file, which `load_archive` reports.
    """
    try:
        return _unknown_scales(read_about(path)["tessellation"]["space"])
    except _DAMAGE:
        return []


def _unknown_scales(described: dict[str, Any]) -> list[str]:
    return sorted(set(described["scales"].values()) - {"log"})


def load_archive(path: Path, tessellation: Tessellation | None = None) -> Archive:
    """Read an archive; its counts and the order in which niches were filled are restored too."""
    return load_checkpoint(path, tessellation)[0]


def load_checkpoint(path: Path, tessellation: Tessellation | None = None) -> tuple[Archive, dict[str, Any] | None]:
    """An archive and the state of the search that filled it, None if the file does not hold any."""
    table, about = _read(path)
    try:
        return _restored(path, table, about, tessellation), about["search"]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except _DAMAGE as error:  # written by other software: its digest is valid
        raise ValueError(f"{path}: damaged ({type(error).__name__}: {error})") from None


def _restored(path: Path, table: Any, about: dict[str, Any], tessellation: Tessellation | None) -> Archive:
    archive = Archive(
        _tessellation(about["tessellation"], tessellation, path, changed=bool((about["search"] or {}).get("changes"))),
        about["width"],
        dtype=np.dtype(about["dtype"]),
        direction=about["direction"],
        floor=about["floor"],
        variables=[Variable.from_dict(variable) for variable in about.get("variables", ())],
        records=Records.from_list(about.get("records", ())),
    )
    names = archive.tessellation.space.names
    filled = np.argsort(from_column(table["order"]))
    if not np.array_equal(from_column(table["order"])[filled], np.arange(len(filled))):
        raise ValueError("expected the order of filling to be 0, 1, 2, ... in some order")
    recorded = _read_records(table, archive.records, names)
    taken = [*(_column(name) for name in names), *_record_columns(names, archive.records), *_RESERVED]
    solutions = _solution_rows(table, archive.variables, archive.width, archive.dtype, taken)
    features = np.empty((len(filled), len(names)))
    for j, feature in enumerate(archive.tessellation.space.variables):
        column = table[_column(feature.name)]
        features[:, j] = feature.read(texts_of(column) if feature.labels else from_column(column))
    archive.restore(
        Elites(
            from_column(table["niche"])[filled],
            from_column(table["fitness"])[filled],
            features[filled],
            solutions[filled],
            from_column(table["evaluation"])[filled],
            names,
            archive.variables,
            {name: values[filled] for name, values in recorded.items()},
            archive.tessellation.space.labels,
        )
    )
    archive.invalid = Counter(about["invalid"])
    archive.out_of_bounds = about["out_of_bounds"]
    return archive


def _record_columns(features: Sequence[str], records: Records, reserved: Sequence[str] = _RESERVED) -> list[str]:
    """The columns of records: one that is called like another column gets a prefix."""
    names, taken = [], {*(_column(name, reserved) for name in features), *reserved}
    for name in records.names:
        while name in taken:
            name = f"record {name}"
        taken.add(name)
        names.append(name)
    return names


def _read_records(table: Any, records: Records, features: Sequence[str]) -> Values:
    """The records of a table of elites, in its order."""
    values: Values = {}
    for record, name in zip(records.fields, _record_columns(features, records), strict=True):
        if record.kind == "str":
            values[record.name] = np.array(texts_of(table[name]), dtype=object)
        else:
            column = from_column(table[name])
            column = column.view(np.bool_) if record.kind == "bool" else column
            values[record.name] = column.reshape(len(table), *record.shape)
    return values


def _solution_rows(
    table: Any, variables: Sequence[Variable], width: int, dtype: np.dtype[Any], taken: Sequence[str]
) -> Rows:
    """The solutions of a table of elites, (n, width)."""
    if not variables:
        return from_column(table["solution"]).view(dtype).reshape(-1, width)
    rows = np.empty((len(table), width), dtype)
    for j, name in enumerate(value_names(variables, 0, taken)):
        column = table[name]
        if is_text(variables):
            rows[:] = [row_of(text, width) for text in texts_of(column)] or rows
            break
        rows[:, j] = variables[j].read(texts_of(column) if is_text_column(column) else from_column(column))
    return rows
