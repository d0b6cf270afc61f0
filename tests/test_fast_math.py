"""The compiled mathematics: accuracy of the polynomials, and random words and normals against independent oracles.

Statistical tests use fixed keys, so they either always pass or always fail; the false-alarm rate stated is the chance
that a correct generator would have been rejected with these keys.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy import special, stats

from tesselite.compiled import fast_math
from tesselite.compiled.fast_math import fill_normals, random_word, sincos, sincos_turns, uniform_index, unit_uniform

MASK = 2**64 - 1


def splitmix64(key: int, counter: int) -> int:
    """Word `counter` of the stream, from Steele, Lea and Flood's description, in unlimited integers."""
    z = (key + counter * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@numba.njit
def _words(key, first, words, uniforms, n, indices):
    for i in range(words.shape[0]):
        words[i] = random_word(key, first + np.uint64(i))
        uniforms[i] = unit_uniform(words[i])
        indices[i] = uniform_index(words[i], n)


@numba.njit
def _sincos(x, sines, cosines):
    for i in range(x.shape[0]):
        sines[i], cosines[i] = sincos(x[i])


def words(key: int, first: int, n_words: int, n: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = np.empty(n_words, np.uint64), np.empty(n_words), np.empty(n_words, np.int64)
    _words(np.uint64(key), np.uint64(first), out[0], out[1], n, out[2])
    return out


def normals(key: int, first: int, n: int) -> np.ndarray:
    out = np.full(n, np.nan)
    fill_normals(np.uint64(key), np.uint64(first), out)
    return out


# -- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "first"), [(0, 0), (1, 1), (MASK, 12345), (0xDEADBEEF, 2**63), (42, MASK - 50)])
def test_random_words_are_those_of_splitmix64(key, first):
    drawn, uniforms, indices = words(key, first, 100, 1000)
    expected = [splitmix64(key, (first + i) & MASK) for i in range(100)]
    assert drawn.tolist() == expected
    assert uniforms.tolist() == [(word >> 11) / 2**53 for word in expected]
    assert indices.tolist() == [((word >> 32) * 1000) >> 32 for word in expected]


def test_splitmix64_gives_the_published_sequence():
    # First outputs of SplitMix64 seeded with 1234567, as published with the reference implementation. Its state is
    # increased before the first output, hence counters from 1.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert words(1234567, 1, 4)[0].tolist() == published


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 2**31 - 1])
def test_uniform_index_stays_in_range_and_is_uniform(n):
    _, _, indices = words(5, 0, 70_000, n)
    assert indices.min() >= 0
    assert indices.max() < n
    bins = min(n, 7)
    counts = np.bincount(indices * bins // n, minlength=bins)
    expected = [len(range(-(-b * n // bins), -(-(b + 1) * n // bins))) / n * 70_000 for b in range(bins)]
    if bins > 1:
        assert stats.chisquare(counts, expected).pvalue > 1e-6  # false alarms: 1e-6 for each n


def test_extreme_words():
    assert unit_uniform(np.uint64(MASK)) == 1 - 2**-53
    assert unit_uniform(np.uint64(0)) == 0.0
    assert uniform_index(np.uint64(MASK), 2**31 - 1) == 2**31 - 2
    assert uniform_index(np.uint64(0), 5) == 0


# -- polynomials ---------------------------------------------------------------------------------------------------


def polynomial(coefficients, z):
    """In extended precision where the platform has it."""
    total = np.zeros_like(z)
    for coefficient in reversed(coefficients):
        total = total * z + np.longdouble(coefficient)
    return total


def test_polynomials_reach_their_documented_errors():
    f = np.linspace(math.sqrt(0.5) - 1, math.sqrt(2) - 1, 20_001, dtype=np.longdouble)
    assert np.abs(f * polynomial(fast_math._LOG, f) - np.log1p(f)).max() < 8.5e-10
    a = np.linspace(-math.pi / 2, math.pi / 2, 20_001, dtype=np.longdouble)
    assert np.abs(a * polynomial(fast_math._SIN_HALF, a * a) - np.sin(a)).max() < 2.7e-11
    assert np.abs(polynomial(fast_math._COS_HALF, a * a) - np.cos(a)).max() < 7.6e-13
    a = np.linspace(-math.pi / 4, math.pi / 4, 20_001, dtype=np.longdouble)
    z = a * a
    assert np.abs(a + a * z * polynomial(fast_math._SIN, z) - np.sin(a)).max() < 1e-16
    assert np.abs(1 - z / 2 + z * z * polynomial(fast_math._COS, z) - np.cos(a)).max() < 1e-16


def test_sincos_is_within_3e_16_up_to_1e5():
    rng = np.random.default_rng(1)
    hard = np.arange(-2000, 2001) * (math.pi / 4)  # around the borders of quadrants and the zeros
    x = np.concatenate(
        [
            hard,
            np.nextafter(hard, np.inf),
            np.nextafter(hard, -np.inf),
            rng.uniform(-10, 10, 100_000),
            rng.uniform(-1e5, 1e5, 100_000),
            [0.0, -0.0, 1e5, -1e5, 5e-324, 1e-300],
        ]
    )
    sines, cosines = np.empty_like(x), np.empty_like(x)
    _sincos(x, sines, cosines)
    exact = x.astype(np.longdouble)
    assert np.abs(sines - np.sin(exact)).max() < 3e-16
    assert np.abs(cosines - np.cos(exact)).max() < 3e-16
    assert sincos(0.0) == (0.0, 1.0)


def test_sincos_of_what_is_not_finite_is_nan():
    x = np.array([np.nan, np.inf, -np.inf])
    sines, cosines = np.zeros(3), np.zeros(3)
    _sincos(x, sines, cosines)
    assert np.isnan(sines).all()
    assert np.isnan(cosines).all()


@numba.njit
def _sincos_turns(t, sines, cosines):
    for i in range(t.shape[0]):
        sines[i], cosines[i] = sincos_turns(t[i])


def test_sincos_of_turns_is_within_4e_16():
    rng = np.random.default_rng(1)
    eighths = np.arange(-800, 801) / 8  # the borders of quadrants and the zeros
    t = np.concatenate(
        [eighths, np.nextafter(eighths, np.inf), np.nextafter(eighths, -np.inf), rng.uniform(-5, 5, 100_000)]
    )
    sines, cosines = np.empty_like(t), np.empty_like(t)
    _sincos_turns(t, sines, cosines)
    angle = (t - np.rint(t)).astype(np.longdouble) * 2 * np.longdouble("3.14159265358979323846264338327950288")
    assert np.abs(sines - np.sin(angle)).max() < 4e-16
    assert np.abs(cosines - np.cos(angle)).max() < 4e-16
    assert sincos_turns(0.25) == (1.0, 0.0)
    assert sincos_turns(-0.5) == (0.0, -1.0)
    assert np.isnan(sincos_turns(np.inf)).all()


# -- normals -------------------------------------------------------------------------------------------------------


def test_normals_are_the_box_muller_transform_of_their_words():
    key, first, n = 99, 1000, 20_000
    drawn = np.array([splitmix64(key, first + i) for i in range(n // 2)], dtype=np.uint64)
    high, low = drawn >> np.uint64(32), drawn & np.uint64(0xFFFFFFFF)
    radius = np.sqrt(-2 * np.log((high.astype(np.float64) + 0.5) / 2**32))
    angle = ((low & np.uint64(2**31 - 1)).astype(np.float64) + 0.5) * (math.pi / 2**31) - math.pi / 2
    sign = np.where(low >> np.uint64(31), -1.0, 1.0)
    expected = np.stack([sign * radius * np.cos(angle), sign * radius * np.sin(angle)], axis=1).ravel()
    np.testing.assert_allclose(normals(key, first, n), expected, rtol=0, atol=1e-8)


def test_normals_depend_on_key_and_counter_alone():
    whole = normals(7, 100, 1000)
    np.testing.assert_array_equal(normals(7, 100 + 150, 400), whole[300:700])
    np.testing.assert_array_equal(normals(7, 100, 1000), whole)
    assert not np.isin(normals(8, 100, 1000), whole).any()
    assert not np.isin(normals(7, 600, 1000), whole).any()


def test_moments_and_tails_of_normals():
    z = np.concatenate([normals(key, 0, 400_000) for key in range(5)])
    n = len(z)
    # Each moment within 5 standard errors of its value: false alarms 6e-7 each.
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(variance / n), f"moment {power}"
    for bound in (2.0, 3.0, 4.0):
        expected = n * special.ndtr(-bound)
        for count in ((z > bound).sum(), (z < -bound).sum()):
            assert abs(count - expected) < 5 * math.sqrt(expected), f"tail beyond {bound}"
    assert np.abs(z).max() < 6.77


def test_kolmogorov_smirnov_over_many_keys():
    values = [stats.kstest(normals(splitmix64(3, i), i, 10_000), "norm").pvalue for i in range(40)]
    assert min(values) > 1e-6 / 40  # false alarms: 1e-6 in all
    assert stats.kstest(values, "uniform").pvalue > 1e-6  # and the p-values themselves are uniform


def test_neighbouring_normals_are_independent():
    z = normals(12, 0, 400_000)
    n = len(z) // 2
    even, odd = z[0::2], z[1::2]  # cosine and sine of the same word
    following = [(even[:-1], even[1:]), (odd[:-1], odd[1:]), (odd[:-1], even[1:])]
    for a, b in [(even, odd), *following, (even**2, odd**2), (np.abs(even[:-1]), np.abs(even[1:]))]:
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(n)  # false alarms: 6e-7 each
    # The pair fills all four quadrants alike, and its angle is uniform: dependence that correlation cannot see.
    angle = np.arctan2(odd, even) / (2 * math.pi) + 0.5
    assert stats.kstest(angle, "uniform").pvalue > 1e-6
    assert abs(np.corrcoef(normals(12, 0, 100_000), normals(13, 0, 100_000))[0, 1]) < 5 / math.sqrt(100_000)
