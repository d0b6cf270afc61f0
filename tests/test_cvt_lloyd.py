"""Lloyd on fixed samples: the fast steps do exactly what assigning by an index does, and the error never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tesselite.tessellation.fixed import FixedLloyd


def plain(points, centroids):
    """The same algorithm with every assignment by the exact index (the oracle)."""
    lloyd = FixedLloyd(points, centroids, 2.0, 1)
    lloyd._assign = lloyd._assign_by_index
    return lloyd


def assert_same_course(points, centroids, steps, threads=1):
    fast, slow = FixedLloyd(points, centroids, 2.0, threads), plain(points, centroids)
    last = np.inf
    for _ in range(steps):
        error, n_changed = fast.step()
        assert n_changed == slow.step()[1]
        np.testing.assert_array_equal(fast.labels, slow.labels)
        np.testing.assert_array_equal(fast.centroids, slow.centroids)
        assert error <= last * (1 + 1e-12) + 1e-30
        last = error
    return fast


@pytest.mark.parametrize("d", [2, 3, 4, 6, 9])
def test_fast_steps_equal_plain_ones(d):
    rng = np.random.default_rng(d)
    points = rng.random((6000, d))
    assert_same_course(points, points[:700].copy(), 25)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), d=st.sampled_from([2, 3, 5]), levels=st.sampled_from([3, 10, 2**30]))
def test_ties_and_duplicates(seed, d, levels):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, levels + 1, (400, d)) / levels
    assert_same_course(points, points[rng.permutation(400)[:60]].copy(), 12)


@pytest.mark.parametrize("d", [2, 6])
def test_threads_do_not_change_the_result(d):
    rng = np.random.default_rng(d)
    points = rng.random((20_000, d))
    one, two = (FixedLloyd(points, points[:2000].copy(), 2.0, threads) for threads in (1, 2))
    for _ in range(10):
        assert one.step() == two.step()
    np.testing.assert_array_equal(one.centroids, two.centroids)


def test_hand_solved():
    points = np.array([[0.0, 0.0], [0.2, 0.0], [0.8, 1.0], [1.0, 1.0]])
    lloyd = FixedLloyd(points, points[[1, 2]].copy(), 2.0, 1)
    error, n_changed = lloyd.step()
    assert n_changed == 4
    assert error == pytest.approx((0.04 + 0.0 + 0.0 + 0.04) / 4)
    error, n_changed = lloyd.step()
    assert n_changed == 0
    assert error == pytest.approx(0.01)
    np.testing.assert_allclose(np.sort(lloyd.centroids, axis=0), [[0.1, 0.0], [0.9, 1.0]])


@pytest.mark.parametrize("d", [2, 3])
def test_empty_niches_are_put_where_the_error_is_largest(d):
    points = np.zeros((9, d))
    points[:4, 0] = [0.0, 0.01, 0.02, 0.03]
    points[4:, 0] = [0.9, 0.91, 0.92, 0.93, 1.0]
    centroids = np.zeros((3, d))  # three on one place: the lowest takes all
    lloyd = FixedLloyd(points, centroids, 2.0, 1)
    last = np.inf
    for _ in range(10):
        error, n_changed = lloyd.step()
        assert error <= last
        last = error
    assert n_changed == 0
    assert (np.bincount(lloyd.labels, minlength=3) > 0).all()
