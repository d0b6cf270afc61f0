"""Statistics over independent runs: medians, quartiles, intervals, Mann-Whitney U, Holm, Vargha-Delaney A12.

Runs are the independent observations. Comparisons are in `comparison`, tables in `tables`.

H. B. Mann, D. R. Whitney (1947); J. L. Hodges, E. L. Lehmann (1963), "Estimates of location based on rank tests"; S.
Holm (1979), "A simple sequentially rejective multiple test procedure"; A. Vargha, H. D. Delaney (2000), "A critique and
improvement of the CL common language effect size statistics".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, inf
from typing import Any

import numpy as np

from tesselite.base.arrays import Floats

RESAMPLES = 10_000
LEVEL = 0.95


def _values(values: Any, name: str = "values") -> Floats:
    """At least one number, infinities allowed (a run that failed is infinitely bad), NaN not."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array) or np.isnan(array).any():
        raise ValueError(f"{name}: expected at least one number and no NaN, got {values!r:.80}")
    return array


def quantile(values: Any, q: float) -> float:
    """The q-quantile of the values, by linear interpolation between order statistics (as NumPy's default).

    Infinite values are allowed: between a finite and an infinite one lies the infinite one.
    """
    ordered = np.sort(_values(values))
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q: expected 0 to 1, got {q!r}")
    at = q * (len(ordered) - 1)
    low, high = ordered[int(np.floor(at))], ordered[int(np.ceil(at))]
    if low == high or np.isinf(low) or np.isinf(high):
        return float(low if np.isinf(low) or low == high else high)
    return float(low + (at - np.floor(at)) * (high - low))


def median(values: Any) -> float:
    """The median; the mean of the two middle values of an even number."""
    return quantile(values, 0.5)


@dataclass(frozen=True)
class Summary:
    """Median, quartiles, bootstrap interval of the median, and number of observations."""

    n: int
    median: float
    lower: float
    upper: float
    interval: tuple[float, float]


def summarise(values: Any, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> Summary:
    """Median, quartiles and a bootstrap interval of the median of observations (n,)."""
    array = _values(values)
    return Summary(
        len(array),
        median(array),
        quantile(array, 0.25),
        quantile(array, 0.75),
        bootstrap_median(array, level=level, resamples=resamples, seed=seed),
    )


def bootstrap_median(
    values: Any, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the median: draw n of the n values with replacement, many times.

    The same values, in whatever order, and the same seed give the same interval.
    """
    ordered = np.sort(_values(values))
    if not 0.0 < level < 1.0 or resamples < 1:
        raise ValueError(f"expected a level between 0 and 1 and at least 1 resample, got {level!r} and {resamples!r}")
    rng = np.random.default_rng(seed)
    n = len(ordered)
    drawn = np.sort(rng.integers(0, n, (resamples, n)), axis=1)
    low, high = ordered[drawn[:, (n - 1) // 2]], ordered[drawn[:, n // 2]]
    same = low == high
    middle = np.where(np.isinf(low), low, high)  # between a finite and an infinite one lies the infinite one
    finite = ~same & np.isfinite(low) & np.isfinite(high)
    middle[finite] = 0.5 * (low[finite] + high[finite])
    return quantile(middle, 0.5 - level / 2), quantile(middle, 0.5 + level / 2)


def median_interval(values: Any, *, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of the median, between two of the ordered values; unbounded for fewer than six at 95 %."""
    ordered = np.sort(_values(values))
    n = len(ordered)
    return _between(ordered, tuple(comb(n, k) for k in range(n + 1)), level)


def shift_interval(first: Any, second: Any, *, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of the shift from `second` to `first`: every shift that a Mann-Whitney test does not reject.

    It lies between two of all ordered differences first - second; unbounded for fewer than four against four at 95 %.
    Two infinite values of one sign do not differ.
    """
    a, b = _values(first, "first"), _values(second, "second")
    with np.errstate(invalid="ignore"):
        differences = a[:, None] - b[None, :]
    differences[np.isnan(differences)] = 0.0
    return _between(np.sort(differences, axis=None), _rank_sum_counts(len(a), len(b)), level)


def _between(ordered: Floats, counts: tuple[int, ...], level: float) -> tuple[float, float]:
    """The narrowest pair of ordered values, as far from both ends, that a statistic with these counts allows."""
    allowed, total, below, cut = (1.0 - level) / 2.0, sum(counts), 0, 0
    while (below + counts[cut]) / total <= allowed:
        below += counts[cut]
        cut += 1
    return (float(ordered[cut - 1]), float(ordered[-cut])) if cut else (-inf, inf)


@lru_cache(maxsize=64)
def _rank_sum_counts(n: int, m: int) -> tuple[int, ...]:
    """How many of all orders of n + m runs give U = 0, 1, ..., n m: coefficients of the Gaussian binomial."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return tuple(counts)


def a12(first: Any, second: Any) -> float:
    """Vargha and Delaney's A: the chance that a value of `first` exceeds one of `second`, ties counted half.

    0.5 means no difference; 0.56, 0.64 and 0.71 are taken as a small, medium and large one.
    """
    a, b = _values(first, "first"), np.sort(_values(second, "second"))
    below = np.searchsorted(b, a, side="left")
    up_to = np.searchsorted(b, a, side="right")
    return float((below + up_to).sum() / (2.0 * len(a) * len(b)))


def effect_size(a: float) -> str:
    """In words how large an A12 is: negligible, small, medium or large."""
    away = max(a, 1.0 - a)
    return "large" if away >= 0.71 else "medium" if away >= 0.64 else "small" if away >= 0.56 else "negligible"


@dataclass(frozen=True)
class Test:
    """A two-sided Mann-Whitney test of `first` against `second`: U of the first, p, and A12 = U / (n m)."""

    u: float
    p: float
    a12: float
    n: int
    m: int


def mann_whitney(first: Any, second: Any) -> Test:
    """Whether two sets of runs differ, two-sided; exact for small sets without ties, otherwise asymptotic (SciPy)."""
    from scipy.stats import mannwhitneyu

    a, b = _values(first, "first"), _values(second, "second")
    size = a12(a, b)
    if a[0] == b[0] and (a == a[0]).all() and (b == b[0]).all():
        return Test(size * len(a) * len(b), 1.0, size, len(a), len(b))  # all alike: SciPy would divide 0 by 0
    found = mannwhitneyu(a, b, alternative="two-sided", method="auto")
    return Test(float(found.statistic), float(found.pvalue), size, len(a), len(b))


def holm(p: Any) -> Floats:
    """p values corrected for their number by Holm's step-down method, in the order given, at most 1."""
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any() or ((values < 0) | (values > 1)).any():
        raise ValueError(f"p: expected numbers from 0 to 1, got {p!r:.80}")
    order = np.argsort(values, kind="stable")
    steps = values[order] * (len(values) - np.arange(len(values)))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(values) else steps
    return corrected


def corrected_tests(
    samples: Sequence[tuple[Any, Any]], counted: Sequence[bool] | None = None
) -> list[tuple[Test, float | None]]:
    """Mann-Whitney tests of pairs of samples, each with its p corrected by Holm; None for those that are not
    counted."""
    tests = [mann_whitney(first, second) for first, second in samples]
    counted = [True] * len(tests) if counted is None else counted
    corrected = iter(holm([test.p for test, counts in zip(tests, counted, strict=True) if counts]).tolist())
    return [(test, next(corrected) if counts else None) for test, counts in zip(tests, counted, strict=True)]
