"""The cost of a construction, in seconds and memory, before it is started; the construction is in `cvt`."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import CvtJob, CvtOptions

# Fixed samples: an iteration, on average over twenty, costs this share of looking all samples up in a new index.
_SHARE_OF_LOOK_UP = {1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5, 6: 0.35, 8: 0.35, 10: 0.4}


@dataclass(frozen=True)
class Forecast:
    """Seconds and bytes that a construction is expected to take at most, and warnings."""

    method: str
    n_samples: int
    iterations: int
    seconds: float
    memory: int
    available_memory: int | None
    warnings: tuple[str, ...]


def as_duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def forecast(
    space: FeatureSpace,
    n_niches: int,
    n_samples: int | None = None,
    p: float = 2.0,
    iterations: int | None = None,
    method: str | None = None,
    threads: int | None = None,
    fixed_samples: bool = False,
) -> Forecast:
    """The cost of `cvt` with these arguments if it uses all its iterations; measured on a small piece of the work.

    Takes about half a second (and the compilation, the first time). `fixed_samples`: an array of samples is given.
    Raises ValueError for what `cvt` would refuse.
    """
    options = CvtOptions(
        n_samples, 0, p, iterations, method=method or ("lloyd" if fixed_samples else None), threads=threads
    )
    return forecast_of(options.job(space, n_niches), fixed_samples)


def forecast_of(job: CvtJob, fixed_samples: bool = False) -> Forecast:
    """`forecast` of a checked construction."""
    d, n_samples = job.space.n, 0 if job.method == "exact" else job.n_samples
    memory = 8 * job.k * d * 6
    if job.method == "exact":
        seconds = job.iterations * job.k * 1.5e-6 / job.threads
        memory += 8 * job.k * 16
    else:
        seconds = _look_up_seconds(job.space, job.k, job.p, job.threads) * n_samples * job.iterations
        if job.method == "lloyd":
            if job.p == 2.0:
                seconds *= _SHARE_OF_LOOK_UP.get(d, 0.45)
            # Many dimensions: single precision, one copy.
            memory += n_samples * (
                8 * (2 * d + 6) if d <= 10 or job.p != 2.0 else 4 * d * (2 if fixed_samples else 1) + 150
            )
        else:
            memory += 8 * n_samples * (d + 3)
    available = _available_memory()
    warnings = []
    if available is not None and memory > 0.8 * available:
        warnings.append(
            f"needs about {memory / 2**30:.1f} GiB of memory, {available / 2**30:.1f} GiB are free: "
            "use fewer samples or niches"
        )
    if seconds > 3600:
        warnings.append(f"takes about {seconds / 3600:.1f} hours: use fewer samples, niches or iterations")
    if job.method == "lloyd" and n_samples < 10 * job.k:
        warnings.append(f"only {n_samples / job.k:.1f} samples per niche: use at least 10")
    return Forecast(job.method, n_samples, job.iterations, seconds, int(memory), available, tuple(warnings))


def _look_up_seconds(space: FeatureSpace, n_niches: int, p: float, threads: int) -> float:
    """Seconds to draw a sample and look it up, with n_niches centroids of the space."""
    from tesselite.tessellation.nearest.rings import build_index_for

    space = space.without_labels() if space.labels else space
    rng = np.random.default_rng(0)
    n = min(n_niches, max(1000, 50_000_000 // space.n))  # more niches than this are extrapolated
    index = build_index_for(space, np.ascontiguousarray(space.to_unit(space.sample(n, rng))), p)
    index.query(space.to_unit(space.sample(8, rng)), threads)
    m = 64
    while True:
        began = time.perf_counter()
        index.query(space.to_unit(space.sample(m, rng)), threads)
        spent = time.perf_counter() - began
        if spent > 0.1 or m >= 200_000:
            break
        m *= 4
    scale = n_niches / n if space.n > 8 else (n_niches / n) ** 0.5
    return spent / m * scale


def _available_memory() -> int | None:
    """Bytes of free memory; None if unknown."""
    try:
        with open("/proc/meminfo") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
