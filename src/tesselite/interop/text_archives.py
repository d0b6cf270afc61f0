"""Archives as text, `.dat`, one solution a line, values separated by blanks: those of pymap_elites and of sferes2.

pymap_elites: fitness, centroid, features, solution. sferes2: features, fitness, solution (the module cvt_map_elites),
with a number in front in other modules. Centroids alone are in `tesselite.tessellation.files`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.interop.table import Floats, Table, centres, check_holds
from tesselite.tessellation.files import save_tessellation
from tesselite.tessellation.voronoi import VoronoiTessellation


def read_pymap_elites(path: Path, n_features: int | None) -> Table:
    """The table of an `archive_N.dat`; its centroids, which are those of filled niches only, are left out."""
    d = _known(n_features)
    rows = _numbers(path, 2 + 2 * d)
    return Table(rows[:, 1 + 2 * d :], rows[:, 0].copy(), rows[:, 1 + d : 1 + 2 * d].copy())


def read_sferes2(path: Path, n_features: int | None) -> Table:
    """The table of an `archive_N.dat`: numbered if its first column is whole numbers that rise."""
    d = _known(n_features)
    rows = _numbers(path, 2 + d)
    first = rows[:, 0]
    if (first == np.floor(first)).all() and (np.diff(first) > 0).all() and (first >= 0).all():
        rows = rows[:, 1:]
    if rows.shape[1] < d + 2:
        raise ValueError(f"expected {d} features, a fitness and a solution in each line, got {rows.shape[1]} numbers")
    return Table(rows[:, d + 1 :], rows[:, d].copy(), rows[:, :d].copy())


def _known(n_features: int | None) -> int:
    if n_features is None:
        raise ValueError(
            "niches: expected them, or features (--features), since the lines do not say how many of their values are "
            "features"
        )
    return n_features


def _numbers(path: Path, least: int) -> Floats:
    """The lines of a file, of at least this many numbers."""
    check_regular(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a file without content, which is refused below
            rows = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except Exception as error:  # NumPy raises whatever a damaged file leads it to
        raise ValueError(f"not readable ({error})") from None
    if not rows.size or rows.shape[1] < least:
        raise ValueError(f"expected lines of at least {least} numbers, got {rows.shape[1] if rows.size else 0}")
    return rows


def write_pymap_elites(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the elites, and the centroids of a CVT beside them, as `centroids_K_D.dat`."""
    fitness = check_holds(archive, "pymap_elites", (), negate, lossy)
    elites, niches = archive.elites(), archive.tessellation
    rows = np.column_stack([fitness, centres(niches, elites.niches), elites.features, elites.solutions])
    _write(path, rows)
    if isinstance(niches, VoronoiTessellation):
        save_tessellation(niches, path.with_name(f"centroids_{niches.n_niches}_{niches.space.n}.dat"))


def write_sferes2(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the elites, each with the number of its niche in front."""
    fitness = check_holds(archive, "sferes2", (), negate, lossy)
    elites = archive.elites()
    _write(path, np.column_stack([elites.niches, elites.features, fitness, elites.solutions]))


def _write(path: Path, rows: Floats) -> None:
    write_atomically(path, lambda part: np.savetxt(part, rows, fmt="%.17g"))
