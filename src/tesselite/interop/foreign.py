"""ForeignElites: the solutions of another library's file, and how they become an archive.

The formats are in `pyribs_table`, `qdax_arrays` and `text_archives`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Elites
from tesselite.base.arrays import Floats, Ints
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.records import Values
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.voronoi import VoronoiTessellation


@dataclass(frozen=True)
class ForeignElites:
    """n solutions (n, width), their fitness (n,), which is maximised, features (n, d) and records.

    `centroids` (k, d), if the file holds those of all niches; the number (n,) of each solution's niche, if it does.
    """

    solutions: npt.NDArray[Any]
    fitness: Floats
    features: Floats
    records: Values = field(default_factory=dict)
    centroids: Floats | None = None
    niches: Ints | None = None

    def to_archive(
        self,
        niches: Tessellation | None,
        features: FeatureSpace | Mapping[str, Any] | None = None,
        negate: bool = False,
    ) -> Archive:
        """An archive of these solutions: in the niches of the file as there, in others by the rule of elitism.

        `features` are those of niches that are in the file; the unit cube by default. `negate` makes costs of the
        fitness. ValueError if niches are neither given nor in the file.
        """
        kept = niches is None
        if niches is None:
            niches = self._own_niches(features)
        elif features is not None:
            raise ValueError(
                "features: only valid with the niches of the file; the given niches have their own features"
            )
        if niches.space.n != self.features.shape[1]:
            raise ValueError(f"niches: expected niches of {self.features.shape[1]} features, got {niches.space.n}")
        fitness = -self.fitness if negate else self.fitness
        archive = Archive(
            niches,
            self.solutions.shape[1],
            dtype=self.solutions.dtype,
            direction="min" if negate else "max",
            records={name: _kind(values) for name, values in self.records.items()},
        )
        if self.niches is not None and (kept or self._are_own(niches)):
            n = len(fitness)
            names, found = niches.space.names, self.records
            archive.restore(Elites(self.niches, fitness, self.features, self.solutions, np.arange(n), names, (), found))
            archive.out_of_bounds = int(niches.space.outside(self.features).sum())
        else:
            archive.add(self.solutions, fitness, self.features, records=self.records)
        return archive

    def _are_own(self, niches: Tessellation) -> bool:
        """Whether these are the niches that the file numbers, so that every solution can stay in its own.

        By our look-up some would move: pyribs and QDax do not scale features before they measure distances, pyribs
        shifts the borders of cells a little, and sferes2 writes a cell instead of features, with six digits.
        """
        numbers, space = self.niches, niches.space
        if numbers is None or not space.plain or space.refuses_some or len(np.unique(numbers)) < len(numbers):
            return False
        if ((numbers < 0) | (numbers >= niches.n_niches)).any():
            return False
        if not (np.isfinite(self.fitness).all() and np.isfinite(self.features).all()):
            return False
        return niches.could_hold(numbers, self.features)

    def _own_niches(self, features: FeatureSpace | Mapping[str, Any] | None) -> Tessellation:
        if self.centroids is None:
            raise ValueError(
                "niches: expected a tessellation, since the file does not hold its niches: a "
                "GridTessellation (--grid), a VoronoiTessellation (--centroids) or a CVT (--niches)"
            )
        if features is None and ((self.centroids < 0.0) | (self.centroids > 1.0)).any():
            raise ValueError("features: expected names and bounds (--features), since centroids are outside [0, 1]")
        if features is None:
            features = FeatureSpace.unit(self.centroids.shape[1])
        space = features if isinstance(features, FeatureSpace) else FeatureSpace(features)
        return VoronoiTessellation(space, self.centroids)


def _kind(values: npt.NDArray[Any]) -> Any:
    """What `Records` calls values of this kind."""
    if values.ndim > 1:
        return values.shape[1:]
    return {"f": float, "i": int, "u": int, "b": bool}.get(values.dtype.kind, str)


def check_has_niches(archive: Archive, what: str) -> None:
    """ValueError for a population without niches."""
    if not archive.has_niches:
        raise ValueError(
            f"{what}: expected an archive with niches, got a population without; put it into niches first, as in "
            "tesselite.project(archive, tesselite.cvt(space, 1000))"
        )


def check_holds(archive: Archive, what: str, records: tuple[str, ...], negate: bool, lossy: bool) -> Floats:
    """The fitness of the elites as a format that maximises takes it; ValueError for what it cannot hold.

    `records` are those that it can.
    """
    if negate != (archive.direction == "min"):
        advice = "pass negate=True (--negate)" if archive.direction == "min" else "leave out negate (--negate)"
        raise ValueError(f"{what}: its fitness is maximised, that of the archive {archive.direction}imised; {advice}")
    lost = [f"the record {name}" for name in archive.records.names if name not in records]
    lost += [f"the labels of {variable.name}" for variable in archive.variables if variable.labels]
    lost += [f"the texts of {variable.name}" for variable in archive.variables if variable.text]
    lost += [f"the labels of the feature {name}" for name in archive.tessellation.space.labels]
    if lost and not lossy:
        raise ValueError(f"{what}: cannot hold {', '.join(lost)}; pass lossy=True (--lossy) to leave that out")
    return archive.elites().fitness * (-1.0 if negate else 1.0)
