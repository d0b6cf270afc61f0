"""Metrics of an archive: cases solved by hand, brute-force twins, properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tesselite as tl
from tesselite.assessment.metrics import measure, project, qd_score, spread
from tesselite.assessment.neighbours import nearest_distances

SPACE = tl.FeatureSpace({"a": (0, 10), "b": (0, 10)})


def archive_of(features, fitness, *, grid=10, direction="max", floor=None):
    archive = tl.Archive(tl.GridTessellation(SPACE, grid), 1, direction=direction, floor=floor)
    archive.add(np.arange(len(fitness), dtype=float)[:, None], fitness, features, evaluation=10)
    return archive


def by_hand(points, p):
    """The definition, row by row."""
    out = []
    for i, point in enumerate(points):
        difference = np.abs(np.delete(points, i, axis=0) - point)
        out.append(min(difference.max(axis=1) if p == np.inf else (difference**p).sum(axis=1) ** (1 / p)))
    return np.array(out)


def test_spread_of_three_points_on_a_line():
    # Nearest neighbours at 1, 1 and 3 (from 4 to 1): mean 5/3 over the largest, 3.
    assert spread([[0.0], [1.0], [4.0]]) == pytest.approx(5 / 9)


def test_spread_in_several_norms_by_hand():
    # Between the two points: 3 + 4, 5, 4 and (sqrt 3 + 2)^2; one distance only, so perfectly even in each.
    points = [[0.0, 0.0], [3.0, 4.0]]
    assert nearest_distances(points, 1) == pytest.approx([7, 7])
    assert nearest_distances(points, 2) == pytest.approx([5, 5])
    assert nearest_distances(points, np.inf) == pytest.approx([4, 4])
    assert nearest_distances(points, 0.5) == pytest.approx([(3**0.5 + 2) ** 2] * 2)
    assert spread(points, 0.5) == 1.0


def test_even_points_have_spread_one_and_undefined_ones_none():
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    assert spread(grid) == 1.0
    assert spread([[1.0, 2.0]]) is None
    assert spread([[1.0, 2.0], [1.0, 2.0]]) is None
    assert spread(np.empty((0, 2))) is None


def test_spread_of_an_archive_is_measured_in_the_unit_cube():
    space = tl.FeatureSpace({"a": (0, 1), "b": (0, 100)})
    archive = tl.Archive(tl.GridTessellation(space, 10), 1)
    # Unit-scaled: (0,0), (.5,0), (0,.9): nearest distances .5, .5, .9.
    archive.add(np.zeros((3, 1)), [1.0, 1.0, 1.0], [[0.0, 0.0], [0.5, 0.0], [0.0, 90.0]])
    assert spread(archive) == pytest.approx((0.5 + 0.5 + 0.9) / 3 / 0.9)


@pytest.mark.parametrize("p", [0.5, 0.7, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("d", [1, 2, 8, 9, 40])
def test_distances_agree_with_the_definition(p, d):
    points = np.random.default_rng(d).random((60, d))
    points[17] = points[3]  # a pair of equal points
    np.testing.assert_allclose(nearest_distances(points, p), by_hand(points, p), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_matrix_product_finds_the_exact_nearest_even_far_from_the_origin(offset):
    rng = np.random.default_rng(5)
    points = rng.random((600, 30))
    points[300:] = points[:300] + 1e-7 * rng.random((300, 30))  # close pairs, which rounding could hide
    points += offset
    np.testing.assert_allclose(nearest_distances(points), by_hand(points, 2), rtol=1e-12)


def test_distances_do_not_depend_on_threads_and_leave_points_alone():
    points = np.random.default_rng(1).random((300, 20))
    before = points.copy()
    for p in (0.5, 2.0):
        np.testing.assert_array_equal(nearest_distances(points, p, 1), nearest_distances(points, p, 2))
    np.testing.assert_array_equal(points, before)


@given(arrays(np.float64, (12, 3), elements=st.floats(0, 1)), st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.1, 10))
@settings(max_examples=40)
def test_spread_ignores_scale_and_lies_between_0_and_1(points, p, factor):
    s = spread(points, p)
    if s is not None and nearest_distances(points, p).max() > 1e-6:
        assert 0 <= s <= 1 + 1e-12
        assert spread(points * factor, p) == pytest.approx(s, rel=1e-6)


def test_bad_points_are_refused():
    with pytest.raises(ValueError, match="at least two"):
        nearest_distances([[1.0]])
    with pytest.raises(ValueError, match="finite"):
        nearest_distances([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="p: expected"):
        nearest_distances([[1.0], [2.0]], 0)


def test_qd_score_by_hand_in_both_directions():
    assert qd_score([3.0, -1.0, 5.0], 1.0, "max") == 6.0  # 2 + 0 + 4
    assert qd_score([3.0, -1.0, 5.0], 4.0, "min") == 6.0  # 1 + 5 + 0
    assert qd_score([], 0.0) == 0.0
    with pytest.raises(ValueError, match="direction"):
        qd_score([1.0], 0.0, "up")
    with pytest.raises(ValueError, match="floor"):
        qd_score([1.0], np.inf)


@given(st.lists(st.floats(-10, 10), min_size=1), st.floats(0, 5), st.sampled_from(["max", "min"]))
def test_qd_score_never_falls(fitness, gain, direction):
    better = fitness.copy()
    better[0] += gain if direction == "max" else -gain
    assert qd_score(better, 0.0, direction) >= qd_score(fitness, 0.0, direction) - 1e-12
    assert qd_score([*fitness, 3.0], 0.0, direction) >= qd_score(fitness, 0.0, direction) - 1e-12


def test_measure_by_hand():
    archive = archive_of(
        [[0.5, 0.5], [1.5, 0.5], [4.5, 0.5], [4.6, 0.5]], [1.0, 4.0, 2.0, -7.0], direction="min", floor=3
    )
    metrics = measure(archive)
    # The last two share a niche, and -7 is the lower.
    assert (metrics.filled, metrics.n_niches, metrics.coverage) == (3, 100, 0.03)
    assert metrics.best_fitness == -7.0
    assert metrics.mean_fitness == pytest.approx(-2 / 3)
    assert metrics.qd_score == 2 + 0 + 10
    assert measure(archive, floor=5.0).qd_score == 4 + 1 + 12
    assert metrics.spread == pytest.approx((1 + 1 + 3.1) / 3 / 3.1)
    assert measure(archive, spread_at_most=2).spread is None
    assert set(metrics.to_dict()) >= {"filled", "spread", "qd_score"}


def test_measure_of_an_empty_archive():
    metrics = measure(archive_of(np.empty((0, 2)), []))
    assert (metrics.filled, metrics.coverage, metrics.qd_score) == (0, 0.0, 0.0)
    assert metrics.best_fitness is None
    assert metrics.spread is None


def test_projection_keeps_the_best_of_each_common_niche():
    archive = archive_of([[0.5, 0.5], [2.5, 0.5], [8.5, 8.5]], [1.0, 4.0, 2.0])
    common = project(archive, tl.GridTessellation(SPACE, 2))
    assert len(common) == 2
    assert common.elites().fitness.tolist() == [4.0, 2.0]
    assert common.elites().solutions[:, 0].tolist() == [1.0, 2.0]
    assert common.elites().evaluations.tolist() == [11, 12]
    assert len(archive) == 3


def test_projection_into_another_feature_space_evaluates_again():
    @tl.problem(solutions=tl.Box(1, 0, 10), features={"c": (0, 1)})
    def other(x):
        return -x[0], [x[0] / 10]

    archive = archive_of([[0.5, 0.5], [2.5, 0.5]], [1.0, 4.0])
    niches = tl.GridTessellation(other.features, 5)
    with pytest.raises(ValueError, match="evaluated again"):
        project(archive, niches)
    common = project(archive, niches, other)
    assert common.elites().niches.tolist() == [0]  # 0 and 1 both lie in [0, 0.2)
    assert common.elites().fitness.tolist() == [0.0]
    assert common.elites().evaluations.tolist() == [10]
    with pytest.raises(ValueError, match="problem: expected"):
        project(archive, tl.GridTessellation(SPACE, 5), other)
