"""Every index agrees with brute force to the last tie: the definition, written here once more in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tesselite.compiled.kernels import kernel
from tesselite.tessellation.nearest import build_index
from tesselite.tessellation.nearest.powers import LEAST, MOST, TOLERANCE, lane_powers

POWERS = [0.3, 1.5, 3.0, 7.3, 100.0]  # by the C library's pow, which is not NumPy's to the last bit
NORMS = [2.0, 1.0, 0.5, np.inf, *POWERS]


def nearest(points, centroids, p):
    """The definition: sums over the axes in order, in float64; the lowest index on ties."""
    found = []
    for x in points:
        sums = np.zeros(len(centroids))
        for j in range(centroids.shape[1]):
            u = np.abs(x[j] - centroids[:, j])
            if p == 2.0:
                sums = sums + u * u
            elif p == np.inf:
                sums = np.maximum(sums, u)
            elif p == 0.5:
                sums = sums + np.sqrt(u)
            else:
                sums = sums + u**p
        found.append(int(np.argmin(sums)))
    return np.array(found)


def kinds(d, p):
    if p != 2.0:
        return ["brute", "tree"]
    return ["brute", "tree", "panels", "principal", *(["table"] if d == 2 else [])]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from([1, 2, 3, 5, 6]),
    k=st.sampled_from([1, 2, 31, 32, 33, 257, 600]),
    p=st.sampled_from(NORMS),
    levels=st.sampled_from([2, 5, 16, 2**40]),
)
def test_agrees_with_brute_force_ties_and_duplicates_included(seed, d, k, p, levels):
    rng = np.random.default_rng(seed)
    # Few levels put many centroids on one place and many points exactly between two.
    centroids = rng.integers(0, levels + 1, (k, d)) / levels
    points = np.concatenate(
        [
            rng.integers(0, 2 * levels + 1, (40, d)) / (2 * levels),
            rng.random((40, d)),
            centroids[:10],
            rng.normal(size=(10, d)) * 10.0 ** rng.integers(-3, 30, (10, 1)),
        ]
    )
    with np.errstate(over="ignore"):
        expected = nearest(points, centroids, p)
    for kind in kinds(d, p):
        found = build_index(centroids, p, kind).query(points)
        if p in POWERS:
            with np.errstate(over="ignore"):
                gap = (np.abs(points - centroids[found]) ** p).sum(axis=1)
                least = (np.abs(points - centroids[expected]) ** p).sum(axis=1)
            np.testing.assert_allclose(gap, least, rtol=1e-12)
            np.testing.assert_array_equal(found, build_index(centroids, p, "brute").query(points))
        else:
            np.testing.assert_array_equal(found, expected, err_msg=kind)


@kernel()
def rough_powers(data, x, p, out):
    return lane_powers(data, 0, 8, x, len(x), 1.0, out, 0, p)


@pytest.mark.parametrize("p", [LEAST, 0.7, 2.5, 10.0, MOST])
def test_rough_powers_are_within_their_tolerance(p):
    rng = np.random.default_rng(6)
    out = np.empty(8)
    for size in (0.0, -3.0, -200.0 / p, 150.0 / p):
        gaps = rng.random((3, 8)) * 10.0 ** min(max(size, -280.0), 280.0)
        gaps[0, 0] = 0.0
        mask = rough_powers(gaps.ravel(), np.zeros(3), p, out)
        exact = (gaps**p).sum(axis=0)
        np.testing.assert_allclose(out, exact, rtol=TOLERANCE, atol=1e-300)
        assert mask == sum(1 << i for i in range(8) if exact[i] <= 1.0)


@pytest.mark.parametrize("kind", ["brute", "tree", "table", "panels", "principal"])
def test_hand_solved(kind):
    index = build_index(np.array([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9], [0.5, 0.9]]), 2.0, kind)
    points = np.array([[0.0, 0.0], [1.0, 0.2], [0.5, 1.0], [0.5, 0.1], [50.0, 0.0], [-1e200, 5.0]])
    np.testing.assert_array_equal(index.query(points), [0, 1, 2, 0, 1, 0])


@pytest.mark.parametrize("d", [2, 3, 6, 7, 40, 300])
def test_large_sets(d):
    rng = np.random.default_rng(d)
    centroids = rng.random((20_000 if d < 40 else 700, d))
    points = np.concatenate([rng.random((300, d)), rng.random((60, d)) * 3 - 1, centroids[:50]])
    np.testing.assert_array_equal(build_index(centroids).query(points), nearest(points, centroids, 2.0))


def test_crowded_centroids_in_two_dimensions():
    rng = np.random.default_rng(0)
    centroids = np.concatenate([0.5 + 1e-6 * rng.random((3000, 2)), rng.random((10, 2))])
    points = np.concatenate([rng.random((100, 2)), 0.5 + 1e-6 * rng.random((100, 2))])
    np.testing.assert_array_equal(build_index(centroids).query(points), nearest(points, centroids, 2.0))


FILTERS = ["panels", "principal", None]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from([24, 41, 130]),
    rank=st.sampled_from([1, 3, 8]),
    k=st.sampled_from([1, 2, 17, 130, 500]),
    levels=st.sampled_from([2, 8, 2**20]),
    noise=st.sampled_from([0.0, 2.0**-40, 2.0**-12, 0.25]),
)
def test_correlated_data_ties_and_duplicates_included(seed, d, rank, k, levels, noise):
    rng = np.random.default_rng(seed)
    # Small integers times powers of two: squares and their sums are exact, so ties are ties.
    mix = rng.integers(-3, 4, (rank, d))

    def draw(n):
        return rng.integers(0, levels + 1, (n, rank)) / levels @ mix / 8 + noise * rng.integers(-1, 2, (n, d))

    centroids = draw(k)
    a, b = rng.integers(0, k, (2, 30))
    points = np.concatenate(
        [draw(30), (centroids[a] + centroids[b]) / 2, centroids[:10], 10 * draw(10), -1e9 * draw(3)]
    )
    expected = nearest(points, centroids, 2.0)
    for kind in FILTERS:
        np.testing.assert_array_equal(build_index(centroids, 2.0, kind).query(points), expected, err_msg=str(kind))


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("d", [3, 30])
def test_degenerate_centroids(kind, d):
    rng = np.random.default_rng(d)
    points = np.concatenate([rng.random((20, d)), np.full((1, d), 0.25), np.zeros((1, d))])
    constant = rng.random((300, d))
    constant[:, 1:] = 0.5
    far = rng.random((300, d))
    far[7] = 1e12
    sets = {
        "one": np.full((1, d), 0.3),
        "all equal": np.full((200, d), 0.25),
        "all zero": np.zeros((200, d)),
        "two places": np.repeat([[0.25] * d, [0.75] * d], 100, axis=0),
        "constant columns": constant,
        "one far away": far,
        "tiny": 1e-160 * rng.random((200, d)),
        "all but equal": 0.5 + 2.0**-52 * rng.integers(0, 3, (200, d)),
    }
    for name, centroids in sets.items():
        found = build_index(centroids, 2.0, kind).query(np.concatenate([points, centroids[::9]]))
        expected = nearest(np.concatenate([points, centroids[::9]]), centroids, 2.0)
        np.testing.assert_array_equal(found, expected, err_msg=name)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(-45, 45),
    beyond=st.integers(-45, 45),
    d=st.sampled_from([3, 24]),
    kind=st.sampled_from(FILTERS),
)
def test_sizes_beyond_single_precision(seed, size, beyond, d, kind):
    rng = np.random.default_rng(seed)
    centroids = rng.normal(size=(150, d)) * 10.0**size
    points = np.concatenate(
        [
            rng.normal(size=(20, d)) * 10.0**size,
            rng.normal(size=(20, d)) * 10.0**beyond,
            centroids[:20] * rng.uniform(1.9, 2.1, (20, 1)),  # about as far out as the filter goes
        ]
    )
    np.testing.assert_array_equal(build_index(centroids, 2.0, kind).query(points), nearest(points, centroids, 2.0))


@pytest.mark.parametrize("kind", ["brute", "tree", "panels", "principal"])
def test_batches_do_not_change_the_result(kind):
    rng = np.random.default_rng(3)
    centroids = rng.integers(0, 9, (700, 25)) / 8
    points = rng.integers(0, 17, (101, 25)) / 16
    index = build_index(centroids, 2.0, kind)
    together = index.query(points)
    np.testing.assert_array_equal(together, nearest(points, centroids, 2.0))
    for size in (1, 2, 3, 6, 7, 47, 48, 49):
        found = [index.query(points[first : first + size]) for first in range(0, len(points), size)]
        np.testing.assert_array_equal(np.concatenate(found), together, err_msg=str(size))


def test_the_kind_follows_the_centroids():
    rng = np.random.default_rng(4)
    # Smooth walks: a few directions hold nearly all of their variance.
    walks = np.cumsum(np.cumsum(rng.normal(size=(1500, 120)), axis=1), axis=1)
    assert build_index(walks).kind == "principal"
    assert build_index(rng.random((1500, 120))).kind == "panels"
    assert build_index(rng.random((1500, 6))).kind == "panels"
    crowd = np.concatenate([0.5 + 1e-4 * rng.random((1490, 6)), rng.random((10, 6))])
    assert build_index(crowd).kind == "tree"
    points = np.cumsum(np.cumsum(rng.normal(size=(300, 120)), axis=1), axis=1)
    np.testing.assert_array_equal(build_index(walks).query(points), nearest(points, walks, 2.0))


@pytest.mark.parametrize("d", [2, 6, 20])
def test_threads_do_not_change_the_result(d):
    rng = np.random.default_rng(1)
    index = build_index(rng.random((2000, d)))
    points = rng.random((60_000 if d < 20 else 3000, d))
    one = index.query(points, threads=1)
    np.testing.assert_array_equal(one, index.query(points, threads=2))
    np.testing.assert_array_equal(one[:100], index.query(points[:100]))


def test_inputs_are_not_changed():
    rng = np.random.default_rng(2)
    centroids, points = rng.random((500, 3)), rng.random((100, 3))
    before = centroids.copy(), points.copy()
    build_index(centroids).query(points)
    np.testing.assert_array_equal(centroids, before[0])
    np.testing.assert_array_equal(points, before[1])


def test_refused():
    with pytest.raises(ValueError, match="kind"):
        build_index(np.zeros((3, 2)), 2.0, "magic")
    with pytest.raises(ValueError, match="panels"):
        build_index(np.zeros((3, 2)), 1.0, "panels")
    with pytest.raises(ValueError, match="table"):
        build_index(np.zeros((3, 3)), 2.0, "table")
