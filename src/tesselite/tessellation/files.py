"""Tessellations on disk: Parquet with full provenance, the authors' text format, and NumPy's `.npy`.

Centroids are in feature units, in full precision. The cache of constructed ones lives in `cache`.

Text format: one centroid a line, values separated by blanks, as in the `centroids_K_D.dat` and
`generated_points_K_D.dat` files that the authors of CVT-MAP-Elites released (K niches, D dimensions).
"""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.base.arrow import from_column, is_text_column, read_parquet, texts_of, to_column, write_parquet
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.base.checksum import is_intact, sealed
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import ConstructionRecord
from tesselite.tessellation.voronoi import VoronoiTessellation, p_to_json

FORMAT = "tesselite.tessellation"
FORMAT_VERSION = 3  # 1 had no digest; 2 is written where all features are plain
_TEXT = (".dat", ".txt")
_SPACE = ("names", "low", "high", "scales", "periodic", "labels")  # of a feature space, what niches depend on
# What reading a damaged file can raise, besides ValueError.
_DAMAGE = (LookupError, TypeError, AttributeError, ArithmeticError)


def save_tessellation(tessellation: VoronoiTessellation, path: str | Path) -> None:
    """Write a tessellation as `.parquet`, `.npy`, `.dat` or `.txt`; the last three hold the centroids only.

    The file appears complete or not at all. Raises ValueError for another ending.
    """
    path = Path(path)
    check_ending("path", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        write_atomically(path, lambda part: _write_parquet(tessellation, part))
    elif path.suffix == ".npy":
        write_atomically(path, lambda part: np.save(part, tessellation.centroids))
    else:
        write_atomically(path, lambda part: np.savetxt(part, tessellation.centroids, fmt="%.17g"))


def check_ending(option: str, path: Path) -> None:
    """ValueError, with the option's name, unless the file's ending is one of a format that we know."""
    if path.suffix not in (".parquet", ".npy", *_TEXT):
        raise ValueError(f"{option}: expected a name that ends in .parquet, .npy, .dat or .txt, got {path.name!r}")


def load_tessellation(
    path: str | Path, space: FeatureSpace | None = None, p: float | None = None
) -> VoronoiTessellation:
    """Read a tessellation that `save_tessellation`, or another program, wrote.

    A Parquet file knows its space and p; if you give them, they must be the same. Only a file of the unit cube
    (`FeatureSpace.unit`) serves any space with as many features, linear and uniformly sampled: it is scaled to its
    bounds. The other formats hold centroids only, in the units of the features: `space` is the unit cube if not given,
    and p is 2. Raises ValueError for a file that is damaged, of the wrong size or dimension, or whose centroids are
    NaN or out of bounds.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path}: expected a file of centroids, this is a folder")
    check_regular(path)
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path, space, p)
        centroids = _read_plain(path)
        expected = re.fullmatch(r"(?:centroids|generated_points)_(\d+)_(\d+)", path.stem)
        if expected and centroids.shape != (int(expected[1]), int(expected[2])):
            raise ValueError(
                f"the name says {expected[1]} centroids of {expected[2]} dimensions, the file holds {centroids.shape}"
            )
        if space is None:
            if ((centroids < 0.0) | (centroids > 1.0)).any():
                raise ValueError("centroids lie outside the unit cube; give the feature space they belong to")
            space = FeatureSpace.unit(centroids.shape[1])
        return VoronoiTessellation(space, centroids, 2.0 if p is None else p)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise ValueError(f"{path}: damaged ({type(error).__name__}: {error})") from None


def record_to_dict(record: ConstructionRecord) -> dict[str, Any]:
    """A construction record, ready for JSON."""
    return {**asdict(record), "errors": list(record.errors), "p": p_to_json(record.p)}


def _write_parquet(tessellation: VoronoiTessellation, file: Path) -> None:
    import pyarrow as pa

    space = tessellation.space
    about = {
        "format": FORMAT,
        "format_version": 2 if space.plain else FORMAT_VERSION,
        **space.to_dict(),
        "p": p_to_json(tessellation.p),
        "fingerprint": tessellation.fingerprint(),
        "record": None if tessellation.record is None else record_to_dict(tessellation.record),
    }
    shown = zip(space.variables, tessellation.centroids.T, strict=True)
    columns = {feature.name: to_column(feature.shown(values)) for feature, values in shown}
    write_parquet(pa.table(columns), sealed(about), file)


def _read_parquet(path: Path, space: FeatureSpace | None, p: float | None) -> VoronoiTessellation:
    table, about = read_parquet(path)
    if about.get("format") != FORMAT:
        raise ValueError("a Parquet file, but not one of centroids that tesselite wrote")
    if about["format_version"] > FORMAT_VERSION:
        raise ValueError(f"format version {about['format_version']} is newer than this library; upgrade it")
    if not is_intact(about, older=about["format_version"] == 1):
        raise ValueError("damaged (its description of the centroids is not what was written)")
    stored = {key: about[key] for key in _SPACE if key in about}
    wanted = space
    if wanted is not None and wanted.linear and wanted.uniform and wanted.plain:
        unit = FeatureSpace.unit(wanted.n)
        space = unit if stored == unit.to_dict() else wanted
    if space is None:
        unknown = [name for name in about["scales"].values() if name != "log"]
        if unknown:
            raise ValueError(f"scale {unknown[0]!r} is not a built-in one; give the feature space")
        space = FeatureSpace.from_dict(about)
    elif stored != {key: value for key, value in space.to_dict().items() if key in _SPACE}:
        raise ValueError(
            f"the file's feature space ({', '.join(about['names'][:6])}) differs from the one given; "
            "for that of a problem, make it with tesselite cvt --problem SPEC"
        )
    columns = [table.column(name) for name in about["names"]]
    read = zip(space.variables, columns, strict=True)
    centroids = np.column_stack(
        [feature.read(texts_of(column) if is_text_column(column) else from_column(column)) for feature, column in read]
    )
    stored_p = float(about["p"])
    if p is not None and p != stored_p:
        raise ValueError(f"p: the file has {stored_p:g}, not {p:g}")
    if about["record"] is None:
        record = None
    else:
        known = {field.name for field in fields(ConstructionRecord)}
        kept = {key: value for key, value in about["record"].items() if key in known}
        record = ConstructionRecord(**{**kept, "errors": tuple(kept["errors"]), "p": float(kept["p"])})
    tessellation = VoronoiTessellation(space, centroids, stored_p, record)
    if tessellation.fingerprint() != about["fingerprint"]:
        raise ValueError("the fingerprint does not match the content: damaged, or of another feature space")
    if wanted is None or wanted == space:
        return tessellation
    scaled = wanted.from_unit(centroids).clip(wanted.low, wanted.high)  # as in `cvt`
    return VoronoiTessellation(wanted, scaled, stored_p, record)


def _read_plain(path: Path) -> Any:
    check_ending("path", path)
    try:
        if path.suffix == ".npy":
            centroids = np.load(path, allow_pickle=False)
        else:
            centroids = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except Exception as error:  # a damaged file can make NumPy raise anything
        raise ValueError(f"not readable ({error})") from None
    if centroids.ndim != 2 or centroids.size == 0 or not np.issubdtype(centroids.dtype, np.number):
        raise ValueError(f"expected a table of numbers, one centroid a row, got shape {centroids.shape}")
    return centroids.astype(np.float64)
