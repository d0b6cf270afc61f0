"""Niches in a plan: a `Grid`, a `Cvt` to be constructed, `Given` centroids; see `growing` and `own` for more.

What all kinds share is in `kind`, what tessellations do in `grid` and `voronoi`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tesselite.base.arrow import read_about
from tesselite.base.checks import is_whole
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.growing import KINDS as GROWING
from tesselite.tessellation.kind import CENTROIDS_FILE, Niches, OnIteration
from tesselite.tessellation.population import KINDS as POPULATIONS
from tesselite.tessellation.protocol import Tessellation, checked_tessellation
from tesselite.tessellation.rules import Rule
from tesselite.tessellation.voronoi import VoronoiTessellation, checked_p, p_to_json

if TYPE_CHECKING:
    from tesselite.tessellation.cvt import CvtJob


@dataclass(frozen=True)
class Grid(Niches):
    """A grid with this many cells along each feature; `cells` as in `GridTessellation`."""

    shape: tuple[int, ...]
    cells: str = "equal"

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Tessellation:
        return GridTessellation(space, self.shape, cells=self.cells)

    def to_dict(self) -> dict[str, Any]:
        rule = {} if self.cells == "equal" else {"cells": self.cells}
        return {"kind": "grid", "shape": list(self.shape), **rule}

    @property
    def label(self) -> str:
        return f"grid {self._counts}" + ("" if self.cells == "equal" else f", {self.cells} cells")

    def count_features(self, folder: Path) -> int:
        return len(self.shape)

    def command(self, folder: Path) -> list[str]:
        return ["--grid", self._counts, *([] if self.cells == "equal" else ["--cells", self.cells])]

    @property
    def _counts(self) -> str:
        return "x".join(map(str, self.shape))


@dataclass(frozen=True)
class _OfCentroids(Niches):
    """Niches whose centroids are in a file of the run."""

    def stored(self, space: FeatureSpace, seed: int, folder: Path) -> Tessellation:
        from tesselite.tessellation.files import load_tessellation

        return load_tessellation(folder / CENTROIDS_FILE, space)

    def count_features(self, folder: Path) -> int:
        return len(read_about(folder / CENTROIDS_FILE).get("names", ()))


@dataclass(frozen=True)
class Cvt(_OfCentroids):
    """A CVT of `n_niches`, constructed from the seed of the run; the other fields are those of `tesselite.cvt`."""

    n_niches: int
    n_samples: int | None = None
    p: float = 2.0
    method: str | None = None

    def checked(self, space: FeatureSpace, seed: int) -> Cvt:
        """The same with plain numbers; ValueError if it cannot be constructed over this space."""
        n_samples = None if self.n_samples is None else int(self.n_samples)
        return Cvt(self.job(space, seed).k, n_samples, checked_p(self.p), self.method)

    def job(self, space: FeatureSpace, seed: int, threads: int | None = None) -> CvtJob:
        """The construction over this space; ValueError if it is not possible."""
        from tesselite.tessellation.cvt import CvtOptions

        options = CvtOptions(self.n_samples, seed, self.p, method=self.method, threads=threads)
        return options.job(space, self.n_niches)

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Tessellation:
        """Construct it, or find it in the cache."""
        from tesselite.tessellation.cvt import construct

        return construct(self.job(space, seed, threads), on_iteration, cache=True)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "cvt",
            "n_niches": self.n_niches,
            "n_samples": self.n_samples,
            "p": p_to_json(self.p),
            "method": self.method,
        }

    @property
    def label(self) -> str:
        return f"CVT of {self.n_niches:,} niches" + _norm(self.p)

    @property
    def construction(self) -> str:
        """How the centroids are made, in words; those of another seed are of the same kind."""
        samples = f"{self.n_samples:,} samples" if self.n_samples else "default samples"
        return f"{self.method or 'default method'}, {samples}"

    def command(self, folder: Path) -> list[str]:
        words = ["--niches", str(self.n_niches)]
        words += ["--samples", str(self.n_samples)] if self.n_samples else []
        words += ["-p", f"{self.p:g}"] if self.p != 2.0 else []
        return words + (["--method", self.method] if self.method else [])


@dataclass(frozen=True)
class Given(_OfCentroids):
    """Centroids that the user made. Two are the same if their fingerprints are.

    A file holds the description; `tessellation` itself is None until it is read from elsewhere.
    """

    n_niches: int
    fingerprint: str
    p: float = 2.0
    tessellation: Tessellation | None = field(default=None, compare=False, repr=False)

    @property
    def known_fingerprint(self) -> str | None:
        return self.fingerprint

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Tessellation:
        assert self.tessellation is not None
        if self.tessellation.space != space:
            raise ValueError(f"tessellation: expected one of {space!r}, got {self.tessellation.space!r}")
        return self.tessellation

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "given", "n_niches": self.n_niches, "fingerprint": self.fingerprint, "p": p_to_json(self.p)}

    @property
    def label(self) -> str:
        return f"{self.n_niches:,} given niches" + _norm(self.p)

    @property
    def construction(self) -> str:
        return f"centroids {self.fingerprint[:6]}"

    def command(self, folder: Path) -> list[str]:
        return ["--centroids", str(folder / CENTROIDS_FILE)]


def niches_of(
    n_niches: int | None = None,
    grid: Any = None,
    tessellation: Tessellation | Rule | None = None,
    *,
    n_samples: int | None = None,
    p: float = 2.0,
    method: str | None = None,
    space: FeatureSpace,
) -> Niches:
    """The niches that exactly one of n_niches, grid and tessellation asks for; the rest is for a CVT alone."""
    given = {"n_niches": n_niches, "grid": grid, "tessellation": tessellation}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise ValueError(
            "expected exactly one of n_niches (for a CVT), grid (cells for each feature) and tessellation, got "
            + (" and ".join(names) or "none of them; n_niches=5000 is a good start")
        )
    if n_niches is not None:
        return Cvt(n_niches, n_samples, p, method)
    if (n_samples, p, method) != (None, 2.0, None):
        raise ValueError("n_samples, p, method: only valid for a CVT that is to be built, not with a grid or centroids")
    if isinstance(tessellation, Rule):
        return tessellation
    if grid is not None:
        tessellation = GridTessellation(space, grid)
    if type(tessellation) is GridTessellation and tessellation.space == space:
        return Grid(tessellation.shape, tessellation.cells)
    given_niches = checked_tessellation(tessellation)
    if type(given_niches) is VoronoiTessellation:
        return Given(given_niches.n_niches, given_niches.fingerprint(), given_niches.p, given_niches)
    from tesselite.tessellation.own import Own

    return Own.of(given_niches)


def niches_from_dict(about: dict[str, Any]) -> Niches:
    """The inverse of `to_dict`; LookupError, TypeError or ValueError if it is damaged."""
    if about["kind"] == "grid":
        shape = tuple(about["shape"])
        if not shape or not all(is_whole(cells, 1) for cells in shape):
            raise TypeError(f"shape is {shape!r}")
        return Grid(shape, about.get("cells", "equal"))
    if rule := {**GROWING, **POPULATIONS}.get(about["kind"]):
        return rule.from_dict(about)
    if about["kind"] == "own":
        from tesselite.tessellation.own import Own

        return Own.from_dict(about)
    if not is_whole(about["n_niches"], 1):
        raise TypeError(f"n_niches is {about['n_niches']!r}")
    p = checked_p(about["p"])
    if about["kind"] == "cvt":
        n_samples, method = about["n_samples"], about["method"]
        if not (n_samples is None or is_whole(n_samples, 1)) or not isinstance(method, str | None):
            raise TypeError(f"niches is {about!r}")
        return Cvt(about["n_niches"], n_samples, p, method)
    if about["kind"] != "given" or not isinstance(about["fingerprint"], str):
        raise TypeError(f"niches is {about!r}")
    return Given(about["n_niches"], about["fingerprint"], p)


def _norm(p: float) -> str:
    return "" if p == 2.0 else f", p = {p:g}"
