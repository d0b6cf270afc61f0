"""The cache of constructed tessellations in the user's cache directory, keyed by everything that the result depends on.

What a construction is lives in `cvt`, the file format in `files`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tesselite.compiled.kernels import cache_folder
from tesselite.tessellation.files import load_tessellation, save_tessellation
from tesselite.tessellation.samplers import sampler_key
from tesselite.tessellation.voronoi import VoronoiTessellation

if TYPE_CHECKING:
    from tesselite.tessellation.cvt import CvtJob

# Raise it when a change of the methods changes their results: older entries are then no longer found.
_METHODS_VERSION = 2


@dataclass(frozen=True)
class CacheEntry:
    """A tessellation in the cache: its file and its description."""

    path: Path
    n_niches: int
    dims: int
    p: float
    method: str
    n_samples: int
    seed: int
    sampler: str
    seconds: float
    n_bytes: int


def tessellation_cache() -> Path:
    """The folder of cached tessellations."""
    return cache_folder() / "tessellations"


def list_cache() -> list[CacheEntry]:
    """All cached tessellations, by path. Files that cannot be read are left out."""
    entries = []
    for path in sorted(tessellation_cache().glob("*.parquet")):
        try:
            tessellation = load_tessellation(path)
        except (ValueError, OSError):
            continue
        record = tessellation.record
        if record is not None:
            entries.append(
                CacheEntry(
                    path,
                    tessellation.n_niches,
                    tessellation.space.n,
                    tessellation.p,
                    record.method,
                    record.n_samples,
                    record.seed,
                    record.sampler,
                    record.seconds,
                    path.stat().st_size,
                )
            )
    return entries


def clear_cache() -> int:
    """Remove all cached tessellations; how many there were."""
    paths = list(tessellation_cache().glob("*.parquet"))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


def cache_path(job: CvtJob) -> Path | None:
    """The file of a construction's result; None if it cannot be identified (as with a sampling function)."""
    sampler = sampler_key(job.array if job.array is not None else job.space.sampler)
    if sampler is None or any(scale.name != "log" for scale in job.space.scales.values()):
        return None
    start = job.start
    key = {
        "version": _METHODS_VERSION,
        "names": job.space.names,
        "low": job.space.low.tolist(),
        "high": job.space.high.tolist(),
        "scales": {name: scale.name for name, scale in sorted(job.space.scales.items())},
        **job.space.kinds_to_dict(),
        "sampler": sampler,
        "n_niches": job.k,
        "n_samples": job.n_samples,
        "p": repr(job.p),
        "seed": job.seed,
        "method": job.method,
        "start": start if isinstance(start, str) else hashlib.sha256(start.tobytes()).hexdigest(),
        "iterations": job.iterations,
        "tolerance": job.tolerance,
        "numpy": np.__version__.split(".")[0],  # its random streams may change with a major version
    }
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]
    return tessellation_cache() / f"cvt_{job.k}_{job.space.n}_{digest}.parquet"


def find_cached(job: CvtJob) -> VoronoiTessellation | None:
    """The cached result of a construction, if there is one that can be read."""
    path = cache_path(job)
    if path is None or not path.is_file():
        return None
    try:
        return load_tessellation(path, job.space)
    except (ValueError, OSError):
        return None  # damaged: it is built and written again


def keep_cached(job: CvtJob, tessellation: VoronoiTessellation) -> None:
    """Keep the result of a construction; a cache that cannot be written is not an error."""
    path = cache_path(job)
    if path is None:
        return
    try:
        save_tessellation(tessellation, path)
    except OSError:
        return
