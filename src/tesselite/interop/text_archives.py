"""Archives as text, `.dat`, one solution a line, values separated by blanks: those of pymap_elites and of sferes2.

pymap_elites: fitness, centroid, features, solution. sferes2: features, fitness, solution (the module cvt_map_elites),
with a number in front in others: of the cell in the module map_elites, which writes the cell divided by the number of
cells instead of the features; of the line in the core. Centroids alone are in `tesselite.tessellation.files`.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.arrays import Floats
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.interop.foreign import ForeignElites, check_has_niches, check_holds


def read_pymap_elites(path: Path, n_features: int | None) -> ForeignElites:
    """The table of an `archive_N.dat`; its centroids, which are those of filled niches only, are left out."""
    d = _known(n_features)
    rows = _numbers(path, 2 + 2 * d)
    return ForeignElites(rows[:, 1 + 2 * d :], rows[:, 0].copy(), rows[:, 1 + d : 1 + 2 * d].copy())


def read_sferes2(path: Path, n_features: int | None) -> ForeignElites:
    """The table of an `archive_N.dat`, with or without a number in front of each line."""
    d = _known(n_features)
    rows = _numbers(path, 2 + d)
    numbers = None
    if _numbered(path, rows[:, 0]):
        numbers, rows = rows[:, 0].astype(np.int64), rows[:, 1:]
    if rows.shape[1] < d + 2:
        raise ValueError(f"expected {d} features, a fitness and a solution in each line, got {rows.shape[1]} numbers")
    return ForeignElites(rows[:, d + 1 :], rows[:, d].copy(), rows[:, :d].copy(), niches=numbers)


def _numbered(path: Path, first: Floats) -> bool:
    """Whether the first column numbers the lines: sferes2 puts four blanks behind it, and two behind the features.

    Where all blanks are single, a column of whole numbers that rise is one.
    """
    if not ((first == np.floor(first)) & (first >= 0) & (first < 2.0**53)).all() or (np.diff(first) <= 0).any():
        return False
    with path.open(encoding="utf-8") as stream:
        line = next(line for line in stream if line.strip())
    gaps = [len(gap) for gap in re.findall(r"(?<=\S)\s+(?=\S)", line)]
    return gaps[0] > 2 or max(gaps) == 1


def _known(n_features: int | None) -> int:
    if n_features is None:
        raise ValueError(
            "niches: expected niches, or features (--features), got neither; the file does not say how many values of "
            "a line are features"
        )
    return n_features


def _numbers(path: Path, least: int) -> Floats:
    """The lines of a file, of at least this many numbers."""
    check_regular(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a file without content, which is refused below
            rows = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except Exception as error:  # a damaged file can make NumPy raise anything
        raise ValueError(f"not readable ({error})") from None
    if not rows.size or rows.shape[1] < least:
        raise ValueError(f"expected lines of at least {least} numbers, got {rows.shape[1] if rows.size else 0}")
    return rows


def write_pymap_elites(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the elites, and the centroids of a CVT beside them, as `centroids_K_D.dat`."""
    check_has_niches(archive, "pymap_elites")
    fitness = check_holds(archive, "pymap_elites", (), negate, lossy)
    elites, niches = archive.elites(), archive.tessellation
    rows = np.column_stack([fitness, niches.centres(elites.niches), elites.features, elites.solutions])
    _write(path, rows)
    niches.keep(path.with_name(f"centroids_{niches.n_niches}_{niches.space.n}.dat"))


def write_sferes2(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the elites, each with the number of its niche in front, with sferes2's blanks."""
    check_has_niches(archive, "sferes2")
    fitness = check_holds(archive, "sferes2", (), negate, lossy)
    elites = archive.elites()
    line = f"%d    {'%.17g ' * elites.features.shape[1]} %.17g         {'%.17g ' * archive.width}"
    _write(path, np.column_stack([elites.niches, elites.features, fitness, elites.solutions]), line)


def _write(path: Path, rows: Floats, line: str = "%.17g") -> None:
    write_atomically(path, lambda part: np.savetxt(part, rows, fmt=line))
