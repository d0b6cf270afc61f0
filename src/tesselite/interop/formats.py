"""`read` and `write`: archives in the formats of pyribs, QDax, pymap_elites and sferes2.

The formats themselves are in the modules beside this one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tesselite.archive.archive import Archive
from tesselite.base.atomic import check_regular
from tesselite.interop.foreign import ForeignElites
from tesselite.interop.pyribs_table import read_pyribs, write_pyribs
from tesselite.interop.qdax_arrays import Repertoire, read_qdax, write_qdax
from tesselite.interop.text_archives import read_pymap_elites, read_sferes2, write_pymap_elites, write_sferes2
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation, checked_tessellation

# Each with what is written by default.
FORMATS = {
    "pyribs": "elites-pyribs.csv",
    "qdax": "elites-qdax",
    "pymap_elites": "elites-pymap_elites.dat",
    "sferes2": "elites-sferes2.dat",
}
_WRITERS = {
    "pyribs": write_pyribs,
    "qdax": write_qdax,
    "pymap_elites": write_pymap_elites,
    "sferes2": write_sferes2,
}


def read(
    source: str | Path | Mapping[str, Any] | Repertoire,
    format: str,  # noqa: A002
    niches: Tessellation | None = None,
    *,
    features: FeatureSpace | Mapping[str, Any] | None = None,
    negate: bool = False,
) -> Archive:
    """An archive from a file of another library: "pyribs", "qdax", "pymap_elites" or "sferes2".

    The source is a CSV file or a data frame (pyribs), a repertoire, its folder or a prefix (QDax), or a `.dat` file.
    Solutions go into the `niches`, where the best of each stays; if these are the niches that the file numbers (cells
    of pyribs and sferes2), each stays in its own. QDax's files hold their niches: without `niches`, every solution
    stays in its own, and `features` gives these names and bounds. `negate` turns fitness that was negated to be
    maximised back into costs. ValueError, with the name of the file, if it is not such a file.

    Example:
        >>> import tesselite as tl
        >>> found = tl.illuminate(tl.problems.arm(joints=3), grid=5, evaluations=500, seed=1)
        >>> file = tl.interop.write(found, "arm.csv", "pyribs")
        >>> len(tl.interop.read(file, "pyribs", found.tessellation)) == len(found)
        True
    """
    if niches is not None:
        checked_tessellation(niches)
    table = read_table(source, format, None if niches is None else niches.space.n)
    return table.to_archive(niches, features, negate)


def read_table(
    source: str | Path | Mapping[str, Any] | Repertoire,
    format: str,  # noqa: A002
    n_features: int | None,
) -> ForeignElites:
    """What the source holds; text files need the number of features."""
    _check_format(format)
    if not isinstance(source, str | Path):
        if format == "pyribs" and hasattr(source, "__getitem__"):
            return read_pyribs(cast("Mapping[str, Any]", source))
        if format == "qdax" and hasattr(source, "centroids"):
            return read_qdax(cast("Repertoire", source))
        memory = {"pyribs": ", or a data frame", "qdax": ", or a repertoire"}.get(format, "")
        raise ValueError(f"source: expected the name of a file or folder{memory}, got {type(source).__name__}")
    path = Path(source)
    try:
        if format == "pyribs":
            check_regular(path)
            return read_pyribs(path)
        if format == "qdax":
            return read_qdax(path)
        return (read_pymap_elites if format == "pymap_elites" else read_sferes2)(path, n_features)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected text in UTF-8, as {format} writes it, got {_content(path)}") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from None


def write(archive: Archive, path: str | Path, format: str, *, negate: bool = False, lossy: bool = False) -> Path:  # noqa: A002
    """Write an archive for another library, in full precision; returns the path.

    That is a CSV file (pyribs), a folder (QDax), or a `.dat` file; for pymap_elites, the centroids of a CVT are written
    beside it. These libraries maximise fitness: `negate` is for an archive that minimises it. ValueError for records
    and labels that the format cannot hold, unless `lossy` leaves them out. Names are never kept.
    """
    _check_format(format)
    _WRITERS[format](archive, Path(path), negate, lossy)
    return Path(path)


def _content(path: Path) -> str:
    """What kind of binary file this seems to be."""
    with path.open("rb") as stream:
        parquet = stream.read(4) == b"PAR1"
    return "a Parquet file; Archive.load reads ours, pandas.read_parquet others" if parquet else "a binary file"


def _check_format(name: str) -> None:
    if name not in FORMATS:
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, got {name!r:.80}")
