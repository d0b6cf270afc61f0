"""QDax's repertoires: genotypes, fitnesses, descriptors and centroids as `.npy` files, as `repertoire.save` wrote them.

A row for each niche, filled or not: empty ones have a fitness of -inf.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.interop.table import Table, centres, check_holds

_FILES = ("genotypes", "fitnesses", "descriptors", "centroids")
_MOST_NICHES = 10_000_000  # of which a file holds all


def read_qdax(path: Path) -> Table:
    """The table of a folder with the four files, or of a prefix of their names."""
    genotypes, fitnesses, descriptors, centroids = (_load(path, name) for name in _FILES)
    n = len(centroids)
    fitness = fitnesses.reshape(n, -1)
    shapes = f"genotypes {genotypes.shape}, fitnesses {fitnesses.shape}, descriptors {descriptors.shape}"
    if fitness.shape[1] != 1 or descriptors.shape != centroids.shape or len(genotypes) != n or centroids.ndim != 2:
        raise ValueError(f"expected one row for each of {n} centroids and one fitness, got {shapes}")
    filled = np.flatnonzero(np.isfinite(fitness[:, 0]))
    return Table(
        genotypes.reshape(n, -1)[filled],
        fitness[filled, 0].astype(np.float64),
        descriptors[filled].astype(np.float64),
        centroids=centroids.astype(np.float64),
        niches=filled,
    )


def _load(path: Path, name: str) -> npt.NDArray[Any]:
    file = path / f"{name}.npy" if path.is_dir() else path.with_name(f"{path.name}{name}.npy")
    check_regular(file)
    try:
        array = np.load(file, allow_pickle=False)
    except Exception as error:  # NumPy raises whatever a damaged file leads it to
        raise ValueError(f"{file.name}: not readable ({error})") from None
    if not isinstance(array, np.ndarray) or array.ndim < 1 or array.dtype.kind not in "fiub" or not array.size:
        raise ValueError(f"{file.name}: expected an array of numbers")
    return array


def write_qdax(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the four files into a folder, in full precision; JAX itself reads them in single precision by default."""
    fitness = check_holds(archive, "QDax", (), negate, lossy)
    n = archive.n_niches
    if n > _MOST_NICHES:
        raise ValueError(
            f"QDax: has a row for each of {n:,} niches, filled or not; at most {_MOST_NICHES:,} are written"
        )
    centroids = centres(archive.tessellation, np.arange(n))
    elites = archive.elites()
    arrays = {
        "genotypes": np.zeros((n, archive.width), archive.dtype),
        "fitnesses": np.full((n, 1), -np.inf),
        "descriptors": np.zeros(centroids.shape),
        "centroids": centroids,
    }
    arrays["genotypes"][elites.niches] = elites.solutions
    arrays["fitnesses"][elites.niches, 0] = fitness
    arrays["descriptors"][elites.niches] = elites.features
    path.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        write_atomically(path / f"{name}.npy", _saving(array))


def _saving(array: npt.NDArray[Any]) -> Any:
    return lambda part: np.save(part, array)
