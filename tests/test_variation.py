"""Variation operators against oracles that draw the same words, and against their formulas.

Statistical tests use fixed seeds; the false-alarm rate is that of a correct operator with another seed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tesselite as tl
from tesselite.compiled.fast_math import fill_normals
from tesselite.emitters import operators as variation
from tesselite.emitters.operators import by_name, gaussian, iso_line, polynomial, resample, sbx

MASK = 2**64 - 1
BOX = tl.Box(5, [-1, 0, 2, -10, 0.5], [1, 1, 8, 10, 0.75])
WIDE = tl.Box(3, -1000, 1000)  # span 2000: bounds play no part
LEVELS = tl.Levels(6, [0.0, 0.25, 0.5, 1.0])


def splitmix64(key: int, counter: int) -> int:
    z = (key + counter * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(word: int) -> float:
    return (word >> 11) / 2**53


def key_of(seed: int) -> int:
    """The key that an operator draws from a generator of this seed."""
    return int(np.random.default_rng(seed).integers(0, 2**64, dtype=np.uint64))


def normals(seed: int, n: int, words: int) -> np.ndarray:
    out = np.empty(2 * n * words)
    fill_normals(np.uint64(key_of(seed)), np.uint64(0), out)
    return out.reshape(n, 2 * words)


def folded(x: float, low: float, high: float) -> float:
    """Mirror at the bounds until inside."""
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def bounded(x: np.ndarray, space: tl.Box, mode: str) -> np.ndarray:
    if mode == "clip":
        return np.clip(x, space.low, space.high)
    return np.vectorize(folded)(x, space.low, space.high)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(3)
    return np.stack([BOX.random(150, rng), BOX.random(150, rng)])


# -- the same words in ten lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["clip", "reflect"])
def test_gaussian_against_its_oracle(pairs, mode):
    offspring = gaussian(0.3, bounds=mode)(pairs[0], BOX, np.random.default_rng(8))
    step = 0.3 * (BOX.high - BOX.low) * normals(8, 150, 3)[:, :5]
    expected = bounded(pairs[0] + step, BOX, mode)
    np.testing.assert_allclose(offspring, expected, rtol=0, atol=1e-14)
    assert (offspring != pairs[0]).any(axis=1).all()


@pytest.mark.parametrize("mode", ["clip", "reflect"])
def test_iso_line_against_its_oracle(pairs, mode):
    offspring = iso_line(0.1, 0.7, bounds=mode)(pairs, BOX, np.random.default_rng(8))
    z = normals(8, 150, 3)
    x, y = pairs
    expected = x + 0.1 * (BOX.high - BOX.low) * z[:, :5] + 0.7 * z[:, 5:6] * (y - x)
    np.testing.assert_allclose(offspring, bounded(expected, BOX, mode), rtol=0, atol=1e-14)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 12, 31])
def test_steps_of_every_width_are_those_of_the_formula_to_the_last_bit(width):
    # Four values are made at once, and the last four of a row may overlap with those before.
    rng = np.random.default_rng(width)
    space = tl.Box(width, -1.0 - rng.random(width), 1.0 + rng.random(width))
    x, y = space.random(130, rng), space.random(130, rng)
    words = (width + 2) // 2
    z = normals(8, 130, words)
    step = 0.3 * (space.high - space.low) * z[:, :width]
    moved = x + step + (0.7 * z[:, width : width + 1]) * (y - x)
    offspring = iso_line(0.3, 0.7)(np.stack([x, y]), space, np.random.default_rng(8))
    np.testing.assert_array_equal(offspring, np.clip(moved, space.low, space.high))
    words = (width + 1) // 2
    moved = x + 0.3 * (space.high - space.low) * normals(8, 130, words)[:, :width]
    offspring = gaussian(0.3)(x, space, np.random.default_rng(8))
    np.testing.assert_array_equal(offspring, np.clip(moved, space.low, space.high))
    assert ((offspring == space.low) | (offspring == space.high)).any()


@pytest.mark.parametrize("mode", ["clip", "reflect"])
def test_polynomial_against_its_oracle(pairs, mode):
    eta, probability = 3.0, 0.6
    offspring = polynomial(eta, probability, bounds=mode)(pairs[0], BOX, np.random.default_rng(8))
    key, expected = key_of(8), pairs[0].copy()
    for i in range(150):
        for j in range(5):
            if uniform(splitmix64(key, 2 * (5 * i + j))) < probability:
                u = uniform(splitmix64(key, 2 * (5 * i + j) + 1))
                a = 1 / (eta + 1)
                step = (2 * u) ** a - 1 if u < 0.5 else 1 - (2 * (1 - u)) ** a
                expected[i, j] += (BOX.high[j] - BOX.low[j]) * step
    np.testing.assert_allclose(offspring, bounded(expected, BOX, mode), rtol=0, atol=1e-13)


@pytest.mark.parametrize("mode", ["clip", "reflect"])
def test_sbx_against_its_oracle(pairs, mode):
    eta, probability = 2.0, 0.7
    offspring = sbx(eta, probability, bounds=mode)(pairs, BOX, np.random.default_rng(8))
    key, expected = key_of(8), pairs[0].copy()
    for i in range(150):
        for j in range(5):
            coin = splitmix64(key, 2 * (5 * i + j))
            if uniform(coin) < probability:
                u = uniform(splitmix64(key, 2 * (5 * i + j) + 1))
                spread = (2 * u if u <= 0.5 else 1 / (2 * (1 - u))) ** (1 / (eta + 1))
                x, y = pairs[:, i, j]
                expected[i, j] = (x + y) / 2 + (-spread if coin % 2 else spread) * (x - y) / 2
    np.testing.assert_allclose(offspring, bounded(expected, BOX, mode), rtol=0, atol=1e-13)


def test_resample_against_its_oracle():
    parents = LEVELS.random(150, np.random.default_rng(1))
    offspring = resample(0.3)(parents, LEVELS, np.random.default_rng(8))
    key, expected = key_of(8), parents.copy()
    for i in range(150):
        for j in range(6):
            word = splitmix64(key, 6 * i + j)
            if (word >> 32) < round(0.3 * 2**32):
                expected[i, j] = LEVELS.values[((word & 0xFFFFFFFF) * 4) >> 32]
    np.testing.assert_array_equal(offspring, expected)


# -- formulas ------------------------------------------------------------------------------------------------------


def test_gaussian_has_its_mean_and_standard_deviation():
    n, sigma = 40_000, 0.01 * 2000
    step = gaussian(0.01)(np.full((n, 3), 5.0), WIDE, np.random.default_rng(1)) - 5.0
    assert (np.abs(step.mean(axis=0)) < 5 * sigma / math.sqrt(n)).all()  # false alarms: 6e-7 each
    assert (np.abs(step.std(axis=0) - sigma) < 5 * sigma / math.sqrt(2 * n)).all()
    assert (np.abs(np.corrcoef(step.T) - np.eye(3)) < 5 / math.sqrt(n)).all()


def test_iso_line_has_its_covariance():
    n, iso, line = 40_000, 0.001 * 2000, 0.5
    x, y = np.array([1.0, 2.0, 3.0]), np.array([11.0, -3.0, 3.0])
    parents = np.stack([np.tile(x, (n, 1)), np.tile(y, (n, 1))])
    step = iso_line(0.001, 0.5)(parents, WIDE, np.random.default_rng(1)) - x
    expected = iso**2 * np.eye(3) + line**2 * np.outer(y - x, y - x)
    # The standard error of a covariance of normals; false alarms: 6e-7 each.
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / n)
    assert (np.abs(step.T @ step / n - expected) < 5 * error).all()
    assert (np.abs(step.mean(axis=0)) < 5 * np.sqrt(np.diag(expected) / n)).all()


def test_iso_line_draws_one_line_coefficient_for_all_values():
    n = 5000
    rng = np.random.default_rng(2)
    parents = np.stack([WIDE.random(n, rng), WIDE.random(n, rng)]) / 10
    t = (iso_line(0.0, 0.3)(parents, WIDE, rng) - parents[0]) / (parents[1] - parents[0])
    np.testing.assert_allclose(t, np.tile(t[:, :1], (1, 3)), rtol=1e-9, atol=1e-9)
    assert stats.kstest(t[:, 0], "norm", (0, 0.3)).pvalue > 1e-6


@pytest.mark.parametrize("eta", [0.0, 5.0, 20.0])
def test_polynomial_steps_follow_debs_distribution(eta):
    step = polynomial(eta, 1.0)(np.zeros((7000, 3)), WIDE, np.random.default_rng(1)).ravel() / 2000
    # A step beyond half the span is clipped here: compare the part inside.
    inside = step[np.abs(step) < 0.5]

    def cdf(d):
        raw = np.where(d < 0, 0.5 * (1 + np.minimum(d, 0)) ** (eta + 1), 1 - 0.5 * (1 - np.maximum(d, 0)) ** (eta + 1))
        tail = 0.5 * 0.5 ** (eta + 1)
        return (raw - tail) / (1 - 2 * tail)

    assert stats.kstest(inside, cdf).pvalue > 1e-6
    assert abs(step.mean()) < 5 * step.std() / math.sqrt(len(step))


def test_polynomial_moves_values_with_its_probability():
    n = 30_000
    moved = polynomial(10.0, 0.2)(np.zeros((n, 3)), WIDE, np.random.default_rng(1)) != 0
    assert abs(moved.mean() - 0.2) < 5 * math.sqrt(0.2 * 0.8 / (3 * n))


def test_sbx_keeps_the_mean_and_has_its_spread():
    n, eta = 20_000, 4.0
    parents = np.stack([np.full((n, 3), 10.0), np.full((n, 3), 14.0)])
    child = sbx(eta, 1.0)(parents, WIDE, np.random.default_rng(1)).ravel()
    signed = (child - 12.0) / 2.0  # minus or plus the spread factor
    beta = np.abs(signed)
    assert (
        stats.kstest(
            beta, lambda b: np.where(b <= 1, 0.5 * b ** (eta + 1), 1 - 0.5 / np.maximum(b, 1) ** (eta + 1))
        ).pvalue
        > 1e-6
    )
    assert abs((signed > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(signed))  # either child is kept as often
    assert abs(child.mean() - 12.0) < 5 * child.std() / math.sqrt(len(child))


def test_sbx_crosses_with_its_probability_and_otherwise_keeps_the_first_parent():
    n = 20_000
    parents = np.stack([np.full((n, 3), 10.0), np.full((n, 3), 14.0)])
    child = sbx(4.0, 0.3)(parents, WIDE, np.random.default_rng(1))
    assert abs((child != 10.0).mean() - 0.3) < 5 * math.sqrt(0.21 / (3 * n))


def test_sbx_of_equal_parents_is_their_copy():
    x = WIDE.random(100, np.random.default_rng(0))
    np.testing.assert_allclose(sbx(1.0, 1.0)(np.stack([x, x]), WIDE, np.random.default_rng(1)), x, rtol=1e-15)


@pytest.mark.parametrize("probability", [0.0, 0.05, 0.4, 1.0])
def test_resample_has_its_probability_and_uniform_levels(probability):
    n = 20_000
    parents = np.full((n, 6), 0.25)
    child = resample(probability)(parents, LEVELS, np.random.default_rng(1))
    # Of those drawn again a quarter gets the old level.
    share = probability * 0.75
    changed = child != 0.25
    assert abs(changed.mean() - share) <= 5 * math.sqrt(share * (1 - share) / (6 * n))
    if probability:
        counts = [(child == level).sum() for level in (0.0, 0.5, 1.0)]
        assert stats.chisquare(counts).pvalue > 1e-6
    assert np.isin(child, LEVELS.values).all()


def test_rows_and_values_are_varied_independently():
    step = gaussian(0.01)(np.zeros((20_000, 3)), WIDE, np.random.default_rng(4))
    assert abs(np.corrcoef(step[:-1, 0], step[1:, 0])[0, 1]) < 5 / math.sqrt(20_000)
    assert len(np.unique(step)) == step.size


# -- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["clip", "reflect"])
@pytest.mark.parametrize("far", [0.5, 3.0, 1e6])
def test_offspring_stay_in_bounds_however_far_the_step(pairs, mode, far):
    rng = np.random.default_rng(5)
    for operator in (
        gaussian(far, bounds=mode),
        iso_line(far, far, bounds=mode),
        polynomial(0.0, bounds=mode),
        sbx(0.0, 1.0, bounds=mode),
    ):
        BOX.validate(operator(pairs if operator.n_parents == 2 else pairs[0], BOX, rng))


def test_reflection_from_far_outside_is_nearly_uniform():
    space = tl.Box(1, -2, 3)
    child = gaussian(20.0, bounds="reflect")(np.full((20_000, 1), 1.0), space, np.random.default_rng(1))
    assert stats.kstest(child[:, 0], "uniform", (-2, 5)).pvalue > 1e-6
    clipped = gaussian(20.0)(np.full((20_000, 1), 1.0), space, np.random.default_rng(1))
    assert np.isin(clipped, [-2.0, 3.0]).mean() > 0.9


# -- use -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["gaussian:0.2", "iso_line:0.05,0.5", "polynomial:5,0.5", "sbx:3,0.9"])
def test_parents_are_not_mutated_and_the_generator_decides(pairs, text):
    operator = by_name(text)
    parents = pairs.copy() if operator.n_parents == 2 else pairs[0].copy()
    before = parents.copy()
    first = operator(parents, BOX, np.random.default_rng(1))
    np.testing.assert_array_equal(parents, before)
    np.testing.assert_array_equal(first, operator(parents, BOX, np.random.default_rng(1)))
    assert (first != operator(parents, BOX, np.random.default_rng(2))).any()
    rng = np.random.default_rng(1)
    assert (operator(parents, BOX, rng) != operator(parents, BOX, rng)).any()
    # Not contiguous, and of another type.
    np.testing.assert_array_equal(operator(np.asfortranarray(parents), BOX, np.random.default_rng(1)), first)
    assert operator(parents[..., :0, :], BOX, rng).shape == (0, 5)


def test_wrong_shapes_are_refused(pairs):
    rng = np.random.default_rng(1)
    for operator, parents in (
        (gaussian(), pairs),
        (gaussian(), pairs[0, 0]),
        (gaussian(), pairs[0, :, :4]),
        (iso_line(), pairs[0]),
        (iso_line(), pairs[:1]),
        (iso_line(), pairs[:, :, :4]),
    ):
        with pytest.raises(ValueError, match=r"parents: .* expects shape .*'n', 5\), got"):
            operator(parents, BOX, rng)


def test_wrong_spaces_are_refused(pairs):
    with pytest.raises(ValueError, match=r"resample:0\.05 needs a Levels space"):
        resample()(pairs[0], BOX, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"gaussian:0.1 needs a Box space, got Levels"):
        gaussian()(LEVELS.random(2, np.random.default_rng(1)), LEVELS, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gaussian(-0.1), "sigma: expected a number from 0"),
        (lambda: gaussian(math.nan), "sigma"),
        (lambda: gaussian(math.inf), "sigma"),
        (lambda: iso_line(-1, 0), "iso"),
        (lambda: iso_line(0, -1), "line"),
        (lambda: polynomial(-1), "eta"),
        (lambda: polynomial(1, 1.5), "probability: expected a number from 0 to 1, got 1.5"),
        (lambda: sbx(1, -0.5), "probability"),
        (lambda: resample(2), "probability"),
        (lambda: gaussian(bounds="wrap"), "bounds: expected 'clip' or 'reflect', got 'wrap'"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


OPERATORS = st.one_of(
    st.builds(gaussian, st.floats(0, 10), bounds=st.sampled_from(["clip", "reflect"])),
    st.builds(iso_line, st.floats(0, 10), st.floats(0, 10), bounds=st.sampled_from(["clip", "reflect"])),
    st.builds(polynomial, st.floats(0, 100), st.floats(0, 1), bounds=st.sampled_from(["clip", "reflect"])),
    st.builds(sbx, st.floats(0, 100), st.floats(0, 1), bounds=st.sampled_from(["clip", "reflect"])),
    st.builds(resample, st.floats(0, 1)),
)


@given(OPERATORS)
@settings(max_examples=100)
def test_an_operator_is_found_by_its_own_text(operator):
    assert by_name(str(operator)) == operator


def test_by_name():
    assert by_name("iso_line") == iso_line()
    assert by_name("iso-line: 0.02, 0.1") == iso_line(0.02, 0.1)
    assert by_name("gaussian:reflect") == gaussian(bounds="reflect")
    with pytest.raises(ValueError, match="expected one of gaussian, iso_line, polynomial, sbx, resample, got 'jump'"):
        by_name("jump:3")
    for text in ("gaussian:much", "gaussian:0.1,0.2", "resample:0.1,clip", "sbx:1,2", "gaussian:nan"):
        with pytest.raises(ValueError, match=r"variation: cannot read .* an example"):
            by_name(text)


def test_every_space_has_a_default():
    assert variation.default_for(BOX) == iso_line()
    assert variation.default_for(LEVELS) == resample()

    class Own(tl.Box):
        def vary(self, parents, rng):
            return parents + 1

    class Other:
        def vary(self, parents, rng):
            return parents + 1

    assert variation.default_for(Own(2)) == iso_line()
    assert variation.default_for(Other())(np.ones((1, 1)), Other(), None).tolist() == [[2.0]]
