"""Box and Levels: what they draw, accept and refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import tesselite as tl
from offspring import offspring_of
from tesselite import Box, Levels, SolutionSpace

BOX = Box(3, [-1, 0, 10], [1, 0.5, 20])
LEVELS = Levels(4, [1.0, 0.0, 0.5, 0.5])


@pytest.mark.parametrize("space", [BOX, LEVELS, Box(1), Levels(1, [0, 1])])
def test_both_are_solution_spaces(space):
    assert isinstance(space, SolutionSpace)
    rng = np.random.default_rng(1)
    solutions = space.random(50, rng)
    assert solutions.shape == (50, space.width)
    assert solutions.dtype == space.dtype
    np.testing.assert_array_equal(space.validate(solutions), solutions)
    offspring = offspring_of(space, solutions, rng)
    np.testing.assert_array_equal(space.validate(offspring), offspring)
    assert space.random(0, rng).shape == (0, space.width)
    assert space.validate(solutions[0]).shape == (1, space.width)
    assert space.validate(np.empty((0, space.width))).shape == (0, space.width)


def test_box_draws_uniformly():
    solutions = BOX.random(5000, np.random.default_rng(1))
    for j in range(3):
        scaled = (solutions[:, j] - BOX.low[j]) / (BOX.high[j] - BOX.low[j])
        assert stats.kstest(scaled, "uniform").pvalue > 1e-6  # false alarms: 1e-6 each
    assert (np.abs(np.corrcoef(solutions.T) - np.eye(3)) < 5 / math.sqrt(5000)).all()


def test_box_scalars_and_axes():
    assert Box(2, -3, [1, 2]).low.tolist() == [-3, -3]
    assert repr(Box(2, -3, [1, 2])) == "Box(2, -3, <2 values>)"
    assert repr(Box(12)) == "Box(12, 0, 1)"
    assert Box(np.int64(2)).width == 2


def test_box_keeps_bounds_of_its_own_that_compile_alike():
    low = np.zeros(2)
    space = Box(2, low, [1.0, 2.0])
    low[0] = 0.5
    assert space.low.tolist() == [0, 0]
    # Read-only arrays are another type to the compiler, and would compile the whole loop again.
    for box in (space, Box(1), Box(3), Box(1, [0.0], [1.0])):
        assert box.low.flags.writeable
        assert box.high.flags.writeable
        assert box.low.flags.c_contiguous


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(0), "n: expected a whole number of at least 1, got 0"),
        (lambda: Box(1.0, 0.2), "n: expected a whole number of at least 1, got 1.0"),
        (lambda: Box(2.5), "n: expected a whole number"),
        (lambda: Box(2, 1, 1), "expected low < high, got 1.0 and 1.0 on axis 0"),
        (lambda: Box(2, 0, [1, -1]), "got 0.0 and -1.0 on axis 1"),
        (lambda: Box(2, [0, 0, 0]), "low: expected a finite number, or 2 of them"),
        (lambda: Box(2, 0, math.inf), "high: expected a finite number"),
        (lambda: Box(2, math.nan), "low: expected a finite number"),
        (lambda: Levels(0, [0, 1]), "n: expected a whole number of at least 1"),
        (lambda: Levels(2, [1]), "values: expected at least two different finite levels"),
        (lambda: Levels(2, [1, 1]), "values: expected at least two different"),
        (lambda: Levels(2, [0, math.nan]), "values: expected at least two different finite"),
    ],
)
def test_wrong_spaces_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("space", [Box(3, [-1, 0, 10], [1, 0.5, 20]), Levels(3, [0, 1])])
@pytest.mark.parametrize(
    "solutions", [[[1, 2]], [[[1, 2, 3]]], 3.0, "text", [[1, 2, 3], [1, 2]], [["a", "b", "c"]], None]
)
def test_wrong_shapes_are_refused(space, solutions):
    with pytest.raises(ValueError, match="solutions: expected"):
        space.validate(solutions)


@pytest.mark.parametrize("value", [1.0001, -2, math.nan, math.inf])
def test_box_refuses_values_outside(value):
    with pytest.raises(ValueError, match=r"expected values in \[-1, 1\] on axis 0, got .* in row 1"):
        BOX.validate([[0, 0, 10], [value, 0, 10]])


def test_validate_gives_a_copy():
    for space, rows in ((BOX, np.array([[0.0, 0.0, 10.0]])), (LEVELS, np.array([[0.0, 0.5, 1.0, 0.0]]))):
        valid = space.validate(rows)
        assert not np.shares_memory(valid, rows)
        assert valid.flags.c_contiguous


def test_levels_are_sorted_and_different():
    assert LEVELS.values.tolist() == [0.0, 0.5, 1.0]
    assert LEVELS.low.tolist() == [0.0] * 4
    assert LEVELS.high.tolist() == [1.0] * 4
    assert repr(LEVELS) == "Levels(4, 3 values from 0 to 1)"


def test_levels_draw_every_level_alike():
    solutions = LEVELS.random(3000, np.random.default_rng(1))
    counts = [(solutions == level).sum() for level in LEVELS.values]
    assert sum(counts) == solutions.size
    assert stats.chisquare(counts).pvalue > 1e-6


def test_levels_round_what_is_meant_as_a_level():
    hexapod = Levels(2, np.arange(21) / 20)
    assert hexapod.validate([[0.1 + 0.2, 0.05 * 3]]).tolist() == [[6 / 20, 3 / 20]]
    assert hexapod.validate([[1.0 + 1e-9, -1e-9]]).tolist() == [[1.0, 0.0]]
    for value in (0.301, -0.05, 1.05, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"expected one of 21 levels in \[0, 1\] on axis 1, got .* in row 0"):
            hexapod.validate([[0.5, value]])


def test_own_variation_changes_something_and_keeps_parents():
    rng = np.random.default_rng(1)
    for space in (BOX, LEVELS):
        parents = space.random(200, rng)
        before = parents.copy()
        assert (offspring_of(space, parents, rng) != parents).any()
        np.testing.assert_array_equal(parents, before)


def test_an_object_without_the_methods_is_no_space():
    assert not isinstance(object(), SolutionSpace)
    assert not isinstance(tl.FeatureSpace.unit(2), SolutionSpace)
