"""FeatureSpace: unit scaling, scales, samplers and everything that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tesselite as tl
from tesselite import FeatureSpace, Scale

SPACE = FeatureSpace({"speed": (0, 2), "height": (-1, 1), "mass": (0.1, 100)}, scales={"mass": "log"})
CUBE = Scale("cube", lambda x: x**3, np.cbrt)


def test_hand_solved_scaling():
    features = np.array([[0, -1, 0.1], [2, 1, 100], [1, 0, math.sqrt(10)], [3, -3, 0.0001]])
    expected = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1.5, -1, -1]]
    before = features.copy()
    np.testing.assert_allclose(SPACE.to_unit(features), expected, atol=1e-15)
    np.testing.assert_array_equal(features, before)
    np.testing.assert_allclose(SPACE.from_unit(np.array(expected, dtype=float)), features, atol=1e-12)


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=20),
)
@settings(max_examples=100)
def test_unit_round_trip(low, span, unit):
    space = FeatureSpace({"a": (low, low + span), "b": (1e-3, 1e3)}, scales={"b": "log"})
    rows = np.column_stack([unit, unit])
    np.testing.assert_allclose(space.to_unit(space.from_unit(rows)), rows, atol=1e-6 if abs(low) > 1e3 * span else 1e-9)


def test_custom_scale():
    space = FeatureSpace({"a": (-1, 2)}, scales={"a": CUBE})
    np.testing.assert_allclose(space.to_unit(np.array([[-1.0], [2.0], [0.0]])), [[0], [1], [1 / 9]])
    np.testing.assert_allclose(space.from_unit(np.array([[1 / 9]])), [[0]], atol=1e-8)
    assert not space.linear
    assert FeatureSpace({"a": (-1, 2)}, scales={"a": "linear"}).linear


def test_where_a_scale_is_not_defined_the_nearest_bound_counts():
    # A log feature of 0 or below is outside the bounds: it has a nearest niche all the same.
    unit = SPACE.to_unit(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -5.0], [0.0, 0.0, 1e300]]))
    assert unit[0, 2] == unit[1, 2] == 0.0
    assert np.isfinite(unit).all()
    for tessellation in (tl.GridTessellation(SPACE, 4), tl.VoronoiTessellation(SPACE, [[1, 0, 0.2], [1, 0, 50]])):
        low = tessellation.niche_of([1.0, 0.0, 0.1])
        assert tessellation.niche_of([[1.0, 0.0, 0.0], [1.0, 0.0, -3.0]]).tolist() == [low, low]
    square = FeatureSpace({"a": (0, 4)}, scales={"a": Scale("root", np.sqrt, np.square)})
    assert square.to_unit(np.array([[-1.0], [1.0]])).tolist() == [[0.0], [0.5]]


def test_uniform_sampling_is_uniform_in_the_unit_cube():
    samples = SPACE.sample(5000, np.random.default_rng(1))
    assert samples.shape == (5000, 3)
    unit = SPACE.to_unit(samples)
    for j in range(3):
        assert stats.kstest(unit[:, j], "uniform").pvalue > 1e-6  # false alarms: 1e-6 each
    assert not SPACE.outside(samples).any()
    np.testing.assert_array_equal(samples, SPACE.sample(5000, np.random.default_rng(1)))


def test_a_sampler_replaces_uniform_sampling():
    space = FeatureSpace({"a": (0, 1), "b": (0, 1)}, sampler=lambda n, rng: np.sort(rng.random((n, 2)), axis=1))
    assert not space.uniform
    samples = space.sample(100, np.random.default_rng(1))
    assert (samples[:, 0] <= samples[:, 1]).all()
    assert FeatureSpace.unit(2).uniform
    assert FeatureSpace.unit(2, sampler=lambda n, rng: rng.random((n, 2)).astype(np.float32)).sample(
        3, np.random.default_rng(1)
    ).dtype == np.dtype(float)


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (lambda n, rng: rng.random((n, 3)), r"sampler: expected shape \(5, 2\), got \(5, 3\)"),
        (lambda n, rng: rng.random((n - 1, 2)), r"sampler: expected shape \(5, 2\), got \(4, 2\)"),
        (lambda n, rng: np.full((n, 2), np.nan), "sampler: expected finite"),
    ],
)
def test_samplers_that_break_their_contract(sampler, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace.unit(2, sampler=sampler).sample(5, np.random.default_rng(1))


def test_outside():
    features = np.array([[0, -1, 0.1], [2, 1, 100], [2.1, 0, 1], [1, 0, 0.09], [1, -1.01, 200]])
    assert SPACE.outside(features).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "features: expected at least one"),
        ({"a": (1, 1)}, r"finite low < high for 'a', got \(1, 1\)"),
        ({"a": (2, 1)}, "low < high for 'a'"),
        ({"a": (0, 1), "b": (0, math.inf)}, "low < high for 'b'"),
        ({"a": (math.nan, 1)}, "low < high for 'a'"),
        ({"a": (None, math.inf)}, r"finite low < high for 'a', got \(None, inf\)"),
        ({"a": "ab"}, r"expected a \(low, high\) pair"),
        ({"a": (0, 1, 2)}, r"expected a \(low, high\) pair"),
        ({"a": (0, 1, 2, 3)}, r"expected a \(low, high\) pair"),
        ({"a": (0, 1), "b": (0,)}, r"expected a \(low, high\) pair"),
        ({"a": 3}, r"expected a \(low, high\) pair"),
        ({"a": ("low", "high")}, r"expected a \(low, high\) pair"),
    ],
)
def test_wrong_features_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace(features)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ({"b": "log"}, "'b' is not a feature; the features are a"),
        ({"a": "log"}, "'log' needs a low bound above 0 for 'a'"),
        ({"a": "square"}, "expected 'linear', 'log' or a Scale for 'a', got 'square'"),
        ({"a": Scale("down", np.negative, np.negative)}, "strictly increasing"),
        ({"a": Scale("flat", np.zeros_like, np.zeros_like)}, "strictly increasing"),
        ({"a": Scale("pole", lambda x: 1 / (1 - x), lambda x: 1 - 1 / x)}, "finite at both bounds"),
    ],
)
def test_wrong_scales_are_refused(scales, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace({"a": (0, 1)}, scales=scales)


OPEN = FeatureSpace({"x": None, "y": (0, None), "z": (1, 2)})


def test_bounds_may_be_left_open():
    assert OPEN.is_open
    assert not SPACE.is_open
    assert OPEN.to_dict()["low"] == [None, 0.0, 1.0]
    assert OPEN.to_dict()["high"] == [None, None, 2.0]
    assert repr(OPEN) == "FeatureSpace(3 features; x: ?..?, y: 0..?, z: 1..2)"
    assert FeatureSpace({"x": None, "y": [0, None], "z": (1, 2)}) == OPEN != FeatureSpace(dict.fromkeys("xyz"))
    assert OPEN.outside(np.array([[-1e9, 1e9, 1.5], [0, -1, 1.5], [0, 0, 3]])).tolist() == [False, True, True]
    closed = OPEN.within(np.array([-1.0, 0, 1]), np.array([1.0, 5, 2]))
    assert closed == FeatureSpace({"x": (-1, 1), "y": (0, 5), "z": (1, 2)})
    log = FeatureSpace({"size": (0.1, None)}, scales={"size": "log"}).within(np.array([0.1]), np.array([10.0]))
    assert log.to_unit(np.array([[1.0]])).item() == pytest.approx(0.5)


@tl.problem(solutions=tl.Box(2, 0, 1), features={"x": None, "y": (0, None)})
def unbounded(solution):
    return 1.0, (10 * solution[0], solution[1])


@pytest.mark.parametrize(
    "use",
    [
        lambda: tl.GridTessellation(OPEN, 4),
        lambda: tl.cvt(OPEN, 10, seed=1),
        lambda: tl.VoronoiTessellation(OPEN, [[0, 0, 1]]),
        lambda: OPEN.to_unit(np.zeros((1, 3))),
        lambda: OPEN.sample(3, np.random.default_rng(1)),
        lambda: tl.illuminate(unbounded, n_niches=10, evaluations=100),
        lambda: tl.illuminate(unbounded, grid=10, evaluations=100),
    ],
)
def test_fixed_niches_need_bounds(use):
    with pytest.raises(ValueError, match=r"expected bounds for all features, got none for 'x'; .*tesselite\.expanding"):
        use()


def test_equality_hash_and_repr():
    same = FeatureSpace({"speed": (0.0, 2.0), "height": (-1, 1), "mass": (0.1, 100)}, scales={"mass": "log"})
    assert same == SPACE
    assert hash(same) == hash(SPACE)
    assert FeatureSpace({"speed": (0, 2), "height": (-1, 1), "mass": (0.1, 100)}) != SPACE
    assert FeatureSpace({"height": (-1, 1), "speed": (0, 2), "mass": (0.1, 100)}, scales={"mass": "log"}) != SPACE
    assert FeatureSpace.unit(2) != "space"
    assert repr(SPACE) == "FeatureSpace(3 features; speed: 0..2, height: -1..1, mass: 0.1..100)"
    assert len(repr(FeatureSpace.unit(1000))) < 100
    assert FeatureSpace.unit(3).names == ("f0", "f1", "f2")


def test_titles_are_shown_but_not_stored():
    plain = {"speed": (0, 2), "material": tl.Labels(["steel", "oak"]), "y": (0, 1)}
    space = FeatureSpace(plain, titles={"speed": "speed (m/s)"})
    assert space.titles == ("speed (m/s)", "material", "y")
    assert space == FeatureSpace(plain)
    assert space.to_dict() == FeatureSpace(plain).to_dict()
    assert FeatureSpace.from_dict(space.to_dict()).titled(space).titles == space.titles
    assert space.within(np.zeros(3), np.ones(3)).titles == space.titles
    assert space.without_labels().titles == ("speed (m/s)", "y")
    unknown = FeatureSpace({"speed": None, "material": tl.Labels(["steel", "oak"]), "y": (0, None)})
    assert unknown.without_labels() == FeatureSpace({"speed": None, "y": (0, None)})
    with pytest.raises(ValueError, match="titles: 'mass' is not a feature; the features are speed, material, y"):
        FeatureSpace(plain, titles={"mass": "mass (kg)"})
    with pytest.raises(ValueError, match="titles: expected texts by name"):
        FeatureSpace(plain, titles=["speed (m/s)"])
    for wrong in (0, [], {"speed": None}, {"speed": 3}):
        with pytest.raises(ValueError, match="titles: expected texts by name"):
            FeatureSpace(plain, titles=wrong)
