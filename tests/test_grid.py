"""GridTessellation against its definition in exact fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tesselite import FeatureSpace, GridTessellation, VoronoiTessellation

SPACE = FeatureSpace({"a": (0, 2), "b": (-1, 1)})


def cell_by_definition(x: float, low: float, high: float, n: int, cells: str) -> tuple[int, bool]:
    """The equal part of [low, high] that x is in, by exact arithmetic; and whether x is hard by a border."""
    place = (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low)) * n
    place += Fraction(1, 2) if cells == "released" else 0
    near = abs(place - round(place)) <= Fraction(1, 2**46) * max(1, abs(place))
    return min(max(place.__floor__(), 0), n - 1), near


@given(st.data())
@settings(max_examples=150)
def test_against_the_definition(data):
    d = data.draw(st.integers(1, 4))
    low = data.draw(st.lists(st.floats(-100, 100), min_size=d, max_size=d))
    high = [lo + data.draw(st.floats(0.01, 100)) for lo in low]
    shape = data.draw(st.lists(st.integers(1, 30), min_size=d, max_size=d))
    rule = data.draw(st.sampled_from(["equal", "released"]))
    space = FeatureSpace({f"f{i}": (lo, hi) for i, (lo, hi) in enumerate(zip(low, high, strict=True))})
    grid = GridTessellation(space, shape, cells=rule)
    share = data.draw(st.lists(st.floats(-0.5, 1.5), min_size=d, max_size=d))
    x = [lo + s * (hi - lo) for lo, hi, s in zip(low, high, share, strict=True)]
    expected = [cell_by_definition(*one, rule) for one in zip(x, low, high, shape, strict=True)]
    niche = grid.niche_of(x)
    assert 0 <= niche < grid.n_niches
    cells = grid.cell_of([niche])[0]
    for cell, (defined, near) in zip(cells, expected, strict=True):
        assert cell == defined or (near and abs(cell - defined) == 1)
    assert niche == sum(int(c) * int(s) for c, s in zip(cells, grid.strides, strict=True))


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 10, 49, 98, 100, 107, 1000])
def test_whole_numbers_fall_into_their_own_cells(cells):
    # Features that count something: each whole number is a border, and belongs to the cell above it.
    for low in (0, -5, 1000):
        grid = GridTessellation(FeatureSpace({"count": (low, low + cells)}), cells)
        assert grid.niche_of(low + np.arange(cells + 1.0)[:, None]).tolist() == [*range(cells), cells - 1]


def test_borders_and_outside():
    grid = GridTessellation(SPACE, [4, 2])
    assert grid.n_niches == 8
    rows = [[0, -1], [0.5, 0], [0.4999, -0.0001], [2, 1], [-50, 3], [1e300, -1e300], [1.5, 0]]
    assert grid.niche_of(rows).tolist() == [0, 3, 0, 7, 1, 6, 7]
    assert grid.niche_of([1.0, 0.5]) == 5
    assert isinstance(grid.niche_of([1.0, 0.5]), int)
    assert grid.niche_of(np.empty((0, 2))).shape == (0,)
    assert GridTessellation(FeatureSpace.unit(1), 10).niche_of([[1.7e308], [-1.7e308]]).tolist() == [9, 0]


def test_released_cells_are_half_and_one_and_a_half_as_wide_at_the_bounds():
    one = GridTessellation(FeatureSpace.unit(1), 5, cells="released")
    hundredths = np.arange(101)[:, None] / 100  # a duty factor
    assert np.bincount(one.niche_of(hundredths)).tolist() == [10, 20, 20, 20, 31]  # each border belongs to the upper
    levels = np.arange(21)[:, None] / 20  # the hexapod's parameters
    for n, sizes in ((3, [4, 6, 11]), (2, [5, 16])):
        released = GridTessellation(FeatureSpace.unit(1), n, cells="released")
        assert np.bincount(released.niche_of(levels)).tolist() == sizes
    assert one.niche_of([[-7.0], [7.0]]).tolist() == [0, 4]
    assert "5 = 5 niches, released cells over" in repr(one)
    assert "released" not in repr(GridTessellation(FeatureSpace.unit(1), 5))
    with pytest.raises(ValueError, match="cells: expected one of equal, released, got 'rounded'"):
        GridTessellation(SPACE, 3, cells="rounded")
    with pytest.raises(ValueError, match="cells: 'released' needs linear features"):
        GridTessellation(FeatureSpace({"a": (1, 2)}, scales={"a": "log"}), 3, cells="released")


def test_the_fingerprint_of_an_equal_grid_never_changes():
    assert GridTessellation(SPACE, (3, 4)).fingerprint().startswith("cb6f1f03b04313d4")


def test_every_cell_is_numbered_once_with_the_last_axis_fastest():
    grid = GridTessellation(FeatureSpace.unit(3), (2, 3, 4))
    assert grid.strides.tolist() == [12, 4, 1]
    centres = [
        [(i + 0.5) / 2, (j + 0.5) / 3, (k + 0.5) / 4] for i, j, k in itertools.product(range(2), range(3), range(4))
    ]
    assert grid.niche_of(centres).tolist() == list(range(24))
    assert grid.cell_of(range(24)).tolist() == [list(c) for c in itertools.product(range(2), range(3), range(4))]


def test_a_grid_of_2_to_the_50_niches():
    grid = GridTessellation(FeatureSpace.unit(50), 2)
    assert grid.n_niches == 2**50
    rng = np.random.default_rng(1)
    features = rng.random((100, 50))
    expected = [int("".join("1" if x >= 0.5 else "0" for x in row), 2) for row in features]
    assert grid.niche_of(features).tolist() == expected
    np.testing.assert_array_equal(grid.cell_of(expected), features >= 0.5)
    assert "2^50 = 1,125,899,906,842,624 niches" in repr(grid)


def test_the_largest_grid_and_the_first_too_large_one():
    shape = [2] * 62
    grid = GridTessellation(FeatureSpace.unit(62), shape)
    assert grid.niche_of(np.ones(62)) == 2**62 - 1
    with pytest.raises(ValueError, match=r"this grid has 2\^64 niches; at most 2\^63 - 1 can"):
        GridTessellation(FeatureSpace.unit(64), 2)
    with pytest.raises(ValueError, match=r"5\^1000 niches"):
        GridTessellation(FeatureSpace.unit(1000), 5)
    with pytest.raises(ValueError, match=r"expected at most 2\^53 cells per feature, got 9223372036854775807"):
        GridTessellation(FeatureSpace.unit(1), 2**63 - 1)
    huge = GridTessellation(FeatureSpace.unit(1), 2**53)
    assert huge.niche_of([[1.0], [5.0], [0.0]]).tolist() == [2**53 - 1, 2**53 - 1, 0]


@pytest.mark.parametrize("shape", [0, -1, 2.5, True, [2], [2, 0], [2, 3, 4], [2, 2.0], [2, True]])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="shape: expected"):
        GridTessellation(SPACE, shape)


@pytest.mark.parametrize("features", [[0.0], [[0.0, 1.0, 2.0]], [[np.nan, 0.0]], [np.inf, 0.0], [[[0.0, 0.0]]]])
def test_wrong_features_are_refused(features):
    with pytest.raises(ValueError, match=r"features: expected (finite values|shape \(2,\) or \(n, 2\))"):
        GridTessellation(SPACE, 3).niche_of(features)


def test_equality_and_fingerprint_follow_the_content():
    one, same = GridTessellation(SPACE, 3), GridTessellation(FeatureSpace({"a": (0, 2), "b": (-1, 1)}), [3, 3])
    assert one == same
    assert hash(one) == hash(same)
    assert one.fingerprint() == same.fingerprint()
    positive = FeatureSpace({"a": (1, 2), "b": (1, 2)})
    kinds = [
        GridTessellation(SPACE, (3, 4)),
        GridTessellation(SPACE, 3, cells="released"),
        GridTessellation(FeatureSpace({"a": (0, 2), "c": (-1, 1)}), 3),
        GridTessellation(FeatureSpace({"a": (0, 3), "b": (-1, 1)}), 3),
        GridTessellation(positive, 3),
        GridTessellation(FeatureSpace({"a": (1, 2), "b": (1, 2)}, scales={"a": "log"}), 3),
        GridTessellation(FeatureSpace({"a": (1, 2), "b": (1, 2)}, scales={"b": "log"}), 3),
        VoronoiTessellation(positive, [[1.5, 1.5]]),
    ]
    for a, b in itertools.combinations([one, *kinds], 2):
        assert a != b
        assert a.fingerprint() != b.fingerprint()
