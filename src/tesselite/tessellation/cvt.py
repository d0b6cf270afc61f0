"""Construction of a centroidal Voronoi tessellation (CVT): centroids spread evenly over a feature space.

What a tessellation is lives in `voronoi`; the methods live in `cells` (exact, two features), `fresh` and `fixed`.

Algorithm 1 of Vassiliades et al. (2018), after L. Ju, Q. Du, M. Gunzburger (2002), "Probabilistic methods for
centroidal Voronoi tessellations and their parallel implementations".
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_float, as_floats
from tesselite.base.seeds import Purpose, checked_seed, generator
from tesselite.base.threads import checked_threads
from tesselite.spaces.features import FeatureSpace, Sampler
from tesselite.tessellation.kind import OnIteration
from tesselite.tessellation.samplers import with_sampler
from tesselite.tessellation.voronoi import VoronoiTessellation, checked_p

METHODS = ("exact", "fresh", "lloyd", "sobol", "halton")
SEQUENCES = ("sobol", "halton")  # points of a scrambled sequence, as they are
STARTS = ("random", "even")
_WINDOW = 10  # iterations over which an improvement is measured
_JITTER = 0.1  # of a spacing: seeds differ, and the lattice of an even start is not worse for it

_FEW_DIMENSIONS = 10  # cluster lists win up to here, products beyond
_DRAWN_AT_ONCE = 16_384
_OUTSIDE = 1e-9  # of an axis, by rounding

# method: default iterations, default tolerance
_DEFAULTS = {"exact": (100, 1e-4), "fresh": (60, 1e-3), "lloyd": (200, 0.0), **dict.fromkeys(SEQUENCES, (0, 0.0))}


@dataclass(frozen=True)
class ConstructionRecord:
    """How centroids were constructed.

    `errors` holds the mean squared distance (in unit-scaled space, by the tessellation's p) after each iteration: of
    the fixed or fresh samples, or exact. `n_samples` is the number of fixed samples, or of fresh ones in each
    iteration; 0 where nothing was sampled.
    """

    method: str
    start: str
    iterations: int
    converged: bool
    stopped: str
    errors: tuple[float, ...]
    seconds: float
    n_samples: int
    seed: int
    p: float
    tolerance: float
    sampler: str


def default_method(space: FeatureSpace, p: float = 2.0, fixed: bool = False) -> str:
    """The method that `cvt` chooses: "lloyd" for fixed samples, else "exact" or "fresh" by what measured best."""
    if fixed:
        return "lloyd"
    return "exact" if _has_exact_cells(space, p) else "fresh"


def _has_exact_cells(space: FeatureSpace, p: float) -> bool:
    return bool((~space.labelled).sum() == 2 and space.uniform and p == 2.0 and not space.periodic.any())


def default_n_samples(n_niches: int) -> int:
    """The default number of samples of `cvt`: ten per niche, and at least 25,000."""
    return max(25_000, 10 * n_niches)


def cvt(
    space: FeatureSpace,
    n_niches: int,
    n_samples: int | None = None,
    seed: int | None = None,
    p: float = 2.0,
    iterations: int | None = None,
    tolerance: float | None = None,
    samples: Sampler | npt.ArrayLike | None = None,
    method: str | None = None,
    start: str | npt.ArrayLike | None = None,
    on_iteration: OnIteration | None = None,
    threads: int | None = None,
    cache: bool = False,
) -> VoronoiTessellation:
    """Spread n_niches centroids over a space so that each lies in the middle of its niche.

    `method`: "exact" descends on the exact cells (two features, uniform, p = 2); "fresh" is Lloyd's algorithm with
    fresh samples in each iteration and decaying sums of the past; "lloyd" is the paper's Algorithm 1, Lloyd's algorithm
    on a fixed set of samples; "sobol" and "halton" take points of a scrambled sequence instead of a CVT (Mouret 2023,
    "Fast generation of centroids for MAP-Elites"; no iterations). None chooses the best method measured: "lloyd" if
    `samples` is an array, "exact" where it applies, otherwise "fresh".

    `samples`: an array (n, d) of fixed samples in feature units, or a callable (n, rng) -> (n, d) to draw them; None
    samples the space itself. `n_samples`: how many to draw, in all ("lloyd") or in each iteration ("fresh"). `start`:
    "random" samples, "even" rows (uniform boxes only), or centroids (n_niches, d) in feature units. It stops after
    `iterations`, when the error has fallen by less than the fraction `tolerance` over ten iterations, or, with fixed
    samples, when no sample changes its niche. `p`: Minkowski order of the distance, which assigns samples to niches;
    centroids are means for every p, as in the paper. `on_iteration(iteration, error)` is called after each iteration.
    `seed`: None draws one, stored in the result's `record`. `cache`: look the result up in the user's cache, and store
    it there.

    The result depends on all of these but not on `threads`. Raises ValueError for invalid arguments.

    Example:
        >>> import tesselite as tl
        >>> niches = tl.cvt(tl.FeatureSpace.unit(2), n_niches=50, seed=1)
        >>> niches.centroids.shape
        (50, 2)
    """
    options = CvtOptions(n_samples, seed, p, iterations, tolerance, samples, method, start, threads)
    return construct(options.job(space, n_niches), on_iteration, cache)


def construct(job: CvtJob, on_iteration: OnIteration | None = None, cache: bool = False) -> VoronoiTessellation:
    """Carry out a construction, or find its result in the cache."""
    if not cache:
        return job.run(on_iteration)
    from tesselite.tessellation.cache import find_cached, keep_cached

    found = find_cached(job)
    if found is None:
        found = job.run(on_iteration)
        keep_cached(job, found)
    return found


@dataclass(frozen=True)
class CvtOptions:
    """The user's options for a CVT; see `cvt`. None stands for the default."""

    n_samples: int | None = None
    seed: int | None = None
    p: float = 2.0
    iterations: int | None = None
    tolerance: float | None = None
    samples: Sampler | npt.ArrayLike | None = None
    method: str | None = None
    start: str | npt.ArrayLike | None = None
    threads: int | None = None

    def job(self, space: FeatureSpace, n_niches: int) -> CvtJob:
        """What `cvt` will do, checked; ValueError for invalid options."""
        if not isinstance(space, FeatureSpace):
            raise ValueError(
                f"space: expected a FeatureSpace, such as FeatureSpace({{'speed': (0, 2)}}), got {space!r:.80}"
            )
        space.check_bounded("space")
        p = checked_p(self.p)
        threads = checked_threads(self.threads)
        array = None
        if callable(self.samples):
            space = with_sampler(space, self.samples)
        elif self.samples is not None:
            array = _checked_samples(space, self.samples)
        k = checked_count("n_niches", n_niches)
        if space.labels:
            _check_enough(space, k)
        method = default_method(space, p, fixed=array is not None) if self.method is None else self.method
        _check_method(method, space, p, array is not None)
        iterations, tolerance = self._when_to_stop(method)
        return CvtJob(
            space=space,
            k=k,
            n_samples=self._checked_n_samples(method, k, array),
            seed=checked_seed(self.seed),
            p=p,
            iterations=iterations,
            tolerance=tolerance,
            array=array,
            method=method,
            start=_checked_start(self.start, method, space, k),
            threads=threads,
        )

    def _when_to_stop(self, method: str) -> tuple[int, float]:
        """Iterations and tolerance."""
        iterations, tolerance = _DEFAULTS[method]
        if self.iterations is not None:
            iterations = checked_count("iterations", self.iterations, least=0)
        if method in SEQUENCES and (iterations or self.start is not None):
            raise ValueError(f"iterations, start: {method} centroids are taken as they are; leave them out")
        if self.tolerance is not None:
            tolerance = as_float("tolerance", self.tolerance, "a number of at least 0")
        if not tolerance >= 0.0:
            raise ValueError(f"tolerance: expected a number of at least 0, got {tolerance!r}")
        return iterations, tolerance

    def _checked_n_samples(self, method: str, k: int, array: Floats | None) -> int:
        n_samples = self.n_samples
        if n_samples is not None:
            n_samples = checked_count("n_samples", n_samples)
            if method in SEQUENCES:
                raise ValueError(f"n_samples: {method} centroids need none; leave it out")
            if method == "exact":
                raise ValueError(
                    "n_samples: the exact method draws none (it is the default for two uniformly sampled features); "
                    "leave it out, or choose the method 'fresh' or 'lloyd'"
                )
        if array is not None:
            if n_samples is not None and n_samples != len(array):
                raise ValueError(f"n_samples: {n_samples} given, but samples has {len(array)} rows; leave it out")
            n_samples = len(array)
        n_samples = n_samples or default_n_samples(k)
        if method not in ("exact", *SEQUENCES) and n_samples < k:
            raise ValueError(f"n_niches: expected at most as many niches as samples ({n_samples}), got {k}")
        return n_samples


@dataclass(frozen=True)
class CvtJob:
    """A checked construction: everything that its result depends on, and the number of threads, which it does not."""

    space: FeatureSpace
    k: int
    n_samples: int
    seed: int
    p: float
    iterations: int
    tolerance: float
    array: Floats | None
    method: str
    start: str | Floats
    threads: int

    def run(self, on_iteration: OnIteration | None) -> VoronoiTessellation:
        """Carry it out."""
        if self.space.labels:
            from tesselite.tessellation.by_label import construct_by_label

            return construct_by_label(self, on_iteration)
        began = time.perf_counter()
        rng = generator(self.seed, Purpose.TESSELLATION)
        errors: list[float] = []
        stopped = "iteration limit"
        state: Any = None
        for iteration in range(1, self.iterations + 1):
            if state is None:
                state = self._state(rng)
            error, done = self._step(state)
            errors.append(error)
            if on_iteration is not None:
                on_iteration(iteration, error)
            if done:
                stopped = "no sample changed its niche"
                break
            if self._improves_too_little(errors):
                stopped = "tolerance"
                break
        if state is None:
            state = self._state(rng)
        if self.method == "lloyd" and self.iterations > 0:
            self._fill_empty(state)
        centroids = state.sites if self.method == "exact" else state.centroids
        inside = np.where(self.space.periodic, centroids - np.floor(centroids), np.clip(centroids, 0.0, 1.0))
        features = self.space.from_unit(inside)
        record = ConstructionRecord(
            method=self.method,
            start=self.start if isinstance(self.start, str) else "given",
            iterations=len(errors),
            converged=stopped != "iteration limit",
            stopped=stopped,
            errors=tuple(errors),
            seconds=time.perf_counter() - began,
            n_samples=0 if self.method in ("exact", *SEQUENCES) else self.n_samples,
            seed=self.seed,
            p=self.p,
            tolerance=self.tolerance,
            sampler=self.sampler_name(),
        )
        return VoronoiTessellation(self.space, np.clip(features, self.space.low, self.space.high), self.p, record)

    def sampler_name(self) -> str:
        """Where the samples come from."""
        if self.array is not None:
            return "array"
        sampler = self.space.sampler
        if sampler is None:
            return "uniform"
        return str(getattr(sampler, "__name__", type(sampler).__name__))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        if self.space.uniform:
            return rng.random((n, self.space.n))
        drawn = np.ascontiguousarray(self.space.to_unit(self.space.sample(n, rng)))
        if not (drawn.min() >= -_OUTSIDE and drawn.max() <= 1.0 + _OUTSIDE):
            raise ValueError("samples: expected rows within the bounds of the features, the sampler gave others")
        return drawn

    def _fixed_samples(self, rng: np.random.Generator, dtype: np.dtype[Any]) -> Any:
        """The fixed samples (n, d), unit-scaled, in an array of our own; drawn in parts: they may fill the memory."""
        if self.array is not None:
            return self.array.astype(dtype)  # a copy, since it is shifted in place
        points = np.empty((self.n_samples, self.space.n), dtype)
        for first in range(0, self.n_samples, _DRAWN_AT_ONCE):
            n = min(_DRAWN_AT_ONCE, self.n_samples - first)
            points[first : first + n] = self._draw(n, rng)
        return points

    def _state(self, rng: np.random.Generator) -> Any:
        """The state of the method; the order of random draws is fixed, samples first."""
        if self.method == "lloyd":
            from tesselite.tessellation.fixed import FixedLloyd
            from tesselite.tessellation.staircase import StaircaseLloyd

            many = self.p == 2.0 and self.space.n > _FEW_DIMENSIONS and self.space.plain
            points = self._fixed_samples(rng, np.dtype(np.float32 if many else np.float64))
            start = self._start(rng, points)
            if many:
                return StaircaseLloyd(points, start, self.threads)
            return FixedLloyd(points, start, self.p, self.threads, self.space)
        if self.method in SEQUENCES:
            return _Sequence(self.method, self.k, self.space.n, rng)
        start = self._start(rng, None)
        if self.method == "exact":
            from tesselite.tessellation.cells import ExactCells

            return ExactCells(start, self.threads, rng)
        from tesselite.tessellation.fresh import FreshLloyd

        return FreshLloyd(self._draw, self.n_samples, start, self.p, self.threads, rng, self.space)

    def _start(self, rng: np.random.Generator, points: Floats | None) -> Floats:
        if not isinstance(self.start, str):
            return np.ascontiguousarray(self.space.to_unit(self.start))
        if self.start == "even":
            from tesselite.tessellation.cells import hexagonal_rows
            from tesselite.tessellation.fresh import nested_rows

            if self.space.n == 2:
                return hexagonal_rows(self.k, rng, _JITTER)
            return nested_rows(self.k, self.space.n, rng, _JITTER)
        if points is not None:
            return np.ascontiguousarray(points[rng.permutation(len(points))[: self.k]], dtype=np.float64)
        return self._draw(self.k, rng)

    def _step(self, state: Any) -> tuple[float, bool]:
        if self.method == "lloyd":
            error, n_changed = state.step()
            return error, n_changed == 0
        return state.step(), False

    def _fill_empty(self, state: Any) -> None:
        """Leave no niche without samples, moving only the centroids of those that the last iteration left empty.

        It ends, for each time a centroid comes to lie on a sample that had none; if no such sample is left,
        there are as many niches with samples as different samples.
        """
        while state.count_empty() > 0:
            if state.step(average=False)[1] == 0:
                raise ValueError(
                    f"samples: {state.count_empty()} of {self.k} niches stay empty; "
                    "there are fewer different samples than niches"
                )

    def _improves_too_little(self, errors: list[float]) -> bool:
        if self.tolerance == 0.0 or len(errors) <= 2 * _WINDOW:
            return False
        if self.method == "fresh":  # single errors are noisy
            before, now = np.mean(errors[-2 * _WINDOW : -_WINDOW]), np.mean(errors[-_WINDOW:])
        else:
            before, now = np.float64(errors[-_WINDOW - 1]), np.float64(errors[-1])
        return bool(before - now < self.tolerance * before)


class _Sequence:
    """The first centroids (k, d) of a scrambled low-discrepancy sequence; nothing is iterated."""

    def __init__(self, name: str, k: int, d: int, rng: np.random.Generator) -> None:
        from scipy.stats import qmc

        sequence = (qmc.Sobol if name == "sobol" else qmc.Halton)(d, scramble=True, seed=rng)
        with warnings.catch_warnings():  # that Sobol points are less balanced unless they are a power of two
            warnings.simplefilter("ignore", UserWarning)
            self.centroids = np.ascontiguousarray(sequence.random(k))


def _checked_samples(space: FeatureSpace, samples: Any) -> Floats:
    """The unit-scaled samples (n, d); single precision is kept, for sets that fill the memory."""
    single = isinstance(samples, np.ndarray) and samples.dtype == np.float32
    rows = samples if single else as_floats("samples", samples, f"numbers of shape (n, {space.n}), or a callable")
    if rows.ndim != 2 or rows.shape[1] != space.n or len(rows) == 0:
        raise ValueError(f"samples: expected shape (n, {space.n}), got {rows.shape}")
    unit = np.empty(rows.shape, rows.dtype)
    for first in range(0, len(rows), 16_384):
        part = space.to_unit(rows[first : first + 16_384].astype(np.float64))
        bad = ~np.isfinite(part).all(axis=1)
        if bad.any():
            raise ValueError(f"samples: expected finite values, got NaN or infinity in row {first + int(bad.argmax())}")
        bad = ((part < -1e-6) | (part > 1.0 + 1e-6)).any(axis=1)
        if bad.any():
            raise ValueError(f"samples: row {first + int(bad.argmax())} lies outside the bounds of the space")
        unit[first : first + 16_384] = part.clip(0.0, 1.0)
    return unit


def _check_enough(space: FeatureSpace, k: int) -> None:
    from tesselite.tessellation.nearest.rings import count_groups

    space.without_labels()
    if k < count_groups(space):
        raise ValueError(
            f"n_niches: expected at least one for each of {count_groups(space)} combinations of labels, got {k}"
        )


def _check_method(method: str, space: FeatureSpace, p: float, fixed: bool) -> None:
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if fixed and method != "lloyd":
        raise ValueError(f"method: an array of samples needs 'lloyd', got {method!r}")
    if method in SEQUENCES and not space.uniform:
        raise ValueError(f"method: {method!r} needs uniform sampling; 'fresh' works for everything")
    if method == "exact" and not _has_exact_cells(space, p):
        raise ValueError(
            "method: 'exact' needs two features that are not periodic, uniform sampling and p = 2; 'fresh' works for "
            "everything"
        )


def _checked_start(start: Any, method: str, space: FeatureSpace, k: int) -> str | Floats:
    # Rows of rows need at least two in most directions, or they leave whole axes at one value.
    if space.labels:
        from tesselite.tessellation.nearest.rings import count_groups

        crowded = (k / count_groups(space)) ** (1.0 / (~space.labelled).sum()) >= 1.8
    else:
        crowded = k ** (1.0 / space.n) >= 1.8
    if start is None:
        return "even" if method != "lloyd" and space.uniform and crowded else "random"
    if isinstance(start, str):
        if start not in STARTS:
            raise ValueError(f"start: expected one of {', '.join(STARTS)}, or centroids, got {start!r}")
        if start == "even" and not space.uniform:
            raise ValueError("start: 'even' needs a uniformly sampled box; use 'random'")
        return start
    rows = VoronoiTessellation(space, start).centroids
    if len(rows) != k:
        raise ValueError(f"start: expected {k} centroids, got {len(rows)}")
    return rows
