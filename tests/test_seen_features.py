"""Ranges and thinned features against plain Python, for any batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tesselite.tessellation.seen import SeenRanges, ThinnedFeatures

ROWS = np.random.default_rng(1).normal([0, 50, -3], [1, 10, 0.001], (600, 3))


def in_batches(rows, cuts):
    return np.split(rows, sorted(cut % (len(rows) + 1) for cut in cuts))


@given(st.integers(0, 4), st.lists(st.integers(0, 600), max_size=5))
@settings(max_examples=30)
def test_ranges_leave_the_outermost_values_out(outliers, cuts):
    seen = SeenRanges(3, outliers)
    for batch in in_batches(ROWS, cuts):
        seen.see(batch)
    low, high = seen.bounds()
    for j in range(3):
        ordered = sorted(ROWS[:, j])
        assert (low[j], high[j]) == (ordered[outliers], ordered[-1 - outliers])


def test_ranges_ignore_what_is_as_good_as_infinite():
    seen = SeenRanges(2, 0)
    seen.see(np.array([[1.0, 1e300], [2.0, 3.0], [-1e101, 4.0]]))
    assert [bound.tolist() for bound in seen.bounds()] == [[1, 3], [2, 4]]


def test_too_few_values_give_no_range():
    seen = SeenRanges(1, 2)
    seen.see(np.array([[1.0], [2.0]]))
    assert seen.bounds()[0] == np.inf


class PlainThinning:
    """The same as a dictionary of cells."""

    def __init__(self, low, high, at_most):
        self.exponents = [math.floor(math.log2((b - a) / 1024)) for a, b in zip(low, high, strict=True)]
        self.origin = [a - 2.0 ** (e + 40) / 3.0 for a, e in zip(low, self.exponents, strict=True)]
        self.at_most, self.doublings, self.cells = at_most, 0, {}

    def cell(self, row):
        d = len(row)
        doubled = [e + self.doublings // d + (j < self.doublings % d) for j, e in enumerate(self.exponents)]
        return tuple(math.floor((x - o) / 2.0**e) for x, o, e in zip(row, self.origin, doubled, strict=True))

    def see(self, rows):
        for row in rows.tolist():
            self.cells.setdefault(self.cell(row), row)
            if len(self.cells) > self.at_most:
                while len(self.cells) > 0.75 * self.at_most:
                    self.doublings += 1
                    old, self.cells = self.cells, {}
                    for kept in old.values():
                        self.cells.setdefault(self.cell(kept), kept)


@given(st.integers(2, 300), st.lists(st.integers(0, 600), max_size=5))
@settings(max_examples=40, deadline=None)
def test_thinning_agrees_with_a_dictionary_of_cells(at_most, cuts):
    low, high = np.array([-3.0, 20, -4]), np.array([3.0, 70, -2])
    thinned, plain = ThinnedFeatures(3, at_most), PlainThinning(low, high, at_most)
    thinned.scale(low, high)
    for batch in in_batches(ROWS, cuts):
        thinned.see(batch)
        assert len(thinned.features) <= at_most
    plain.see(ROWS)
    assert thinned.features.tolist() == list(plain.cells.values())


def test_frequent_visits_do_not_decide():
    """A thousand times as many visits on the left half as on the right one leave both with the same rows."""
    rng = np.random.default_rng(2)
    thinned = ThinnedFeatures(2, 500)
    thinned.scale(np.zeros(2), np.ones(2))
    for _ in range(100):
        thinned.see(rng.random((1000, 2)) * [0.5, 1])
        thinned.see(rng.random((100, 2)) * [0.5, 1] + [0.5, 0])
    right = (thinned.features[:, 0] > 0.5).mean()
    assert 0.4 < right < 0.6


@pytest.mark.parametrize("d", [1, 40])
def test_any_dimension_and_wider_ranges(d):
    rng = np.random.default_rng(3)
    thinned = ThinnedFeatures(d, 200)
    thinned.see(rng.random((150, d)))
    thinned.see(rng.random((150, d)))
    assert len(thinned.features) == 200  # until ranges are known
    thinned.scale(np.zeros(d), np.ones(d))
    for width in (1, 10, 1000):
        thinned.scale(np.full(d, -width), np.full(d, width))
        thinned.see((rng.random((1000, d)) - 0.5) * 2 * width)
        assert 50 < len(thinned.features) <= 200
    again = ThinnedFeatures(d, 200)
    again.restore(thinned.features.copy(), thinned.grid.copy(), thinned.found, thinned.doublings)
    rows = rng.random((100, d)) * 500
    thinned.see(rows)
    again.see(rows)
    assert thinned.features.tobytes() == again.features.tobytes()
