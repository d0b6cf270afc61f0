"""QDax's repertoires: genotypes, fitnesses, descriptors and centroids, in memory or as `.npy` files.

A row for each niche, filled or not: empty ones have a fitness of -inf. The files are those of `repertoire.save`, which
QDax had until version 0.4; since 0.5 a repertoire may have extra scores, which are read as records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.base.atomic import check_regular, write_atomically
from tesselite.interop.foreign import ForeignElites, check_has_niches, check_holds
from tesselite.spaces.records import Values

_FILES = ("genotypes", "fitnesses", "descriptors", "centroids")
_MOST_NICHES = 10_000_000  # of which a file holds all


class Repertoire(Protocol):
    """The attributes of a repertoire that are read; genotypes may be arrays in dicts, lists and tuples."""

    genotypes: Any
    fitnesses: Any
    descriptors: Any
    centroids: Any


def read_qdax(source: Path | Repertoire) -> ForeignElites:
    """The table of a repertoire, or of a folder with the four files, or of a prefix of their names."""
    scores: Values = {}
    if isinstance(source, Path):
        genotypes, fitnesses, descriptors, centroids = (_load(source, name) for name in _FILES)
    else:
        genotypes = _flat(source.genotypes)
        fitnesses, descriptors, centroids = (_array(name, getattr(source, name)) for name in _FILES[1:])
        scores = {name: _array(name, values) for name, values in getattr(source, "extra_scores", {}).items()}
    n = len(centroids)
    fitness = fitnesses.reshape(len(fitnesses), -1)
    shapes = f"genotypes {genotypes.shape}, fitnesses {fitnesses.shape}, descriptors {descriptors.shape}"
    rows = {len(genotypes), len(fitness), *map(len, scores.values())}
    if fitness.shape[1] != 1 or descriptors.shape != centroids.shape or rows != {n} or centroids.ndim != 2:
        raise ValueError(f"expected one row for each of {n} centroids and one fitness, got {shapes}")
    filled = np.flatnonzero(np.isfinite(fitness[:, 0]))
    return ForeignElites(
        genotypes.reshape(n, -1)[filled],
        fitness[filled, 0].astype(np.float64),
        descriptors[filled].astype(np.float64),
        {name: values[filled] for name, values in scores.items()},
        centroids=centroids.astype(np.float64),
        niches=filled,
    )


def _load(path: Path, name: str) -> npt.NDArray[Any]:
    file = path / f"{name}.npy" if path.is_dir() else path.with_name(f"{path.name}{name}.npy")
    check_regular(file)
    try:
        array = np.load(file, allow_pickle=False)
    except Exception as error:  # a damaged file can make NumPy raise anything
        raise ValueError(f"{file.name}: not readable ({error})") from None
    return _array(file.name, array)


def _array(name: str, values: Any) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim < 1 or array.dtype.kind not in "fiub" or not array.size:
        raise ValueError(f"{name}: expected an array of numbers")
    return array


def _flat(genotypes: Any) -> npt.NDArray[Any]:
    """A row (n, width) for each genotype, its arrays one after the other, as QDax saved them."""
    leaves = [_array("genotypes", leaf) for leaf in _leaves(genotypes)]
    if len({len(leaf) for leaf in leaves}) != 1:
        raise ValueError(f"genotypes: expected arrays of one length, got {[leaf.shape for leaf in leaves]}")
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def _leaves(tree: Any) -> Iterator[Any]:
    """The arrays of a tree in JAX's order: dicts by their sorted keys."""
    if isinstance(tree, Mapping):
        for key in sorted(tree):
            yield from _leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _leaves(part)
    else:
        yield tree


def write_qdax(archive: Archive, path: Path, negate: bool, lossy: bool) -> None:
    """Write the four files into a folder, in full precision; JAX itself reads them in single precision by default."""
    check_has_niches(archive, "QDax")
    fitness = check_holds(archive, "QDax", (), negate, lossy)
    n = archive.n_niches
    if n > _MOST_NICHES:
        raise ValueError(
            f"QDax: has a row for each of {n:,} niches, filled or not; at most {_MOST_NICHES:,} are written"
        )
    centroids = archive.tessellation.centres(np.arange(n))
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
