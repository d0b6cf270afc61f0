"""Statistics: published examples, SciPy, hand-solved cases, and how often the intervals hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tesselite.assessment.statistics import (
    a12,
    bootstrap_median,
    effect_size,
    holm,
    mann_whitney,
    median,
    median_interval,
    quantile,
    shift_interval,
    summarise,
)
from tesselite.assessment.tables import Table, latex, shown

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(NUMBERS, st.floats(0, 1))
def test_quantile_is_numpys(values, q):
    assert quantile(values, q) == pytest.approx(np.quantile(values, q), rel=1e-9, abs=1e-6)


def test_quantiles_with_failed_runs():
    assert median([1, 2, np.inf]) == 2
    assert median([1, np.inf]) == np.inf
    assert median([1, np.inf, np.inf]) == np.inf
    assert median([-np.inf, 3]) == -np.inf
    assert quantile([1, 2, 3, np.inf], 0.5) == 2.5
    with pytest.raises(ValueError, match="no NaN"):
        median([1, np.nan])
    with pytest.raises(ValueError, match="at least one"):
        median([])
    with pytest.raises(ValueError, match="q:"):
        quantile([1], 2)


def test_mann_whitney_of_tortoises_and_hares():
    # The classic example, finishing order T H H H H H T T T T T H: in 25 of 36 pairs the tortoise arrives later.
    tortoises, hares = [1, 7, 8, 9, 10, 11], [2, 3, 4, 5, 6, 12]
    found = mann_whitney(tortoises, hares)
    assert found.u == 25
    assert found.a12 == pytest.approx(25 / 36)
    assert (found.n, found.m) == (6, 6)


def test_mann_whitney_exact_by_counting():
    # {1,2} against {3,4}: of the 6 ways to choose 2 of 4 ranks, 2 are as extreme: p = 1/3.
    assert mann_whitney([1, 2], [3, 4]).p == pytest.approx(1 / 3)
    # {1,2,3} against {4,5,6}: 2 of 20.
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p == pytest.approx(0.1)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=20), st.lists(st.integers(0, 9), min_size=2, max_size=20))
def test_mann_whitney_agrees_with_scipy_and_a12(a, b):
    found = mann_whitney(a, b)
    assert found.u == pytest.approx(found.a12 * len(a) * len(b))
    if len(set(a + b)) > 1:
        theirs = scipy.stats.mannwhitneyu(a, b, alternative="two-sided")
        assert (found.u, found.p) == (theirs.statistic, theirs.pvalue)
    else:
        assert found.p == 1.0


def test_runs_that_failed_rank_last():
    assert (
        mann_whitney([1.0, 2.0, np.inf], [3.0, np.inf, np.inf]).u == 1 + 0.5 + 0.5
    )  # the failed one exceeds 3, ties with two
    assert a12([np.inf], [1.0]) == 1.0


def test_the_papers_p_value_is_what_120_shares_against_120_zeros_give():
    # 20 runs x 6 damages; every grid archive has share 0, every CVT archive more: the paper says p < 1e-44.
    p = mann_whitney(np.zeros(120), np.linspace(0.01, 0.2, 120)).p
    assert 1e-46 < p < 1e-44


def test_a12_by_hand():
    assert a12([3, 5], [1, 3]) == (1 + 0.5 + 1 + 1) / 4
    assert a12([1], [1]) == 0.5
    assert a12([1, 2], [3, 4]) == 0.0
    # Vargha and Delaney (2000): the measure of b against a completes that of a against b to 1.
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 17), rng.integers(0, 6, 11)
    assert a12(a, b) + a12(b, a) == pytest.approx(1)
    pairs = [(x > y) + 0.5 * (x == y) for x in a for y in b]
    assert a12(a, b) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(("a", "word"), [(0.5, "negligible"), (0.43, "small"), (0.65, "medium"), (0.1, "large")])
def test_effect_size_in_words(a, word):
    assert effect_size(a) == word


def test_holm_by_hand():
    # 0.01 x 3, then max(0.03, 0.02 x 2), then max(0.04, 0.03): the textbook example of a step-down.
    np.testing.assert_allclose(holm([0.01, 0.03, 0.02]), [0.03, 0.04, 0.04])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])
    assert holm([]).shape == (0,)
    with pytest.raises(ValueError, match="0 to 1"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_raw_and_bonferroni_and_keeps_the_order(p):
    corrected = holm(p)
    assert (corrected >= np.array(p) - 1e-15).all()
    assert (corrected <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()


def test_bootstrap_covers_the_true_median():
    # 95 % intervals of 400 samples of 30 normals: coverage below 0.90 or above 0.99 has a chance below 1e-4.
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        low, high = bootstrap_median(rng.normal(size=30), resamples=500)
        hits += low <= 0.0 <= high
    assert 0.90 < hits / 400 < 0.99


def test_bootstrap_is_repeatable_and_ignores_order():
    values = np.random.default_rng(0).random(11)
    assert bootstrap_median(values) == bootstrap_median(values[::-1])
    assert bootstrap_median([2.0]) == (2.0, 2.0)
    low, high = bootstrap_median([1.0, 2.0, np.inf])
    assert low == 1.0
    assert high == np.inf
    with pytest.raises(ValueError, match="level"):
        bootstrap_median([1.0], level=2)


def test_summary():
    found = summarise([4, 1, 3, 2, 5])
    assert (found.n, found.median, found.lower, found.upper) == (5, 3, 2, 4)
    assert found.interval[0] <= 3 <= found.interval[1]


def test_one_table_in_three_formats():
    table = Table(["pair", "n_runs", "p"], [["CVT|20D", 12345, 0.00001], ["grid & co", None, 0.25]], "A 5 % test")
    assert table.to_markdown() == (
        "A 5 % test\n\n| pair | n_runs | p |\n| --- | --- | --- |\n"
        "| CVT\\|20D | 12,345 | 1.0e-05 |\n| grid & co | - | 0.25 |\n"
    )
    assert table.to_csv() == "pair,n_runs,p\nCVT|20D,12345,1e-05\ngrid & co,,0.25\n"
    written = table.to_latex()
    assert r"pair & n\_runs & p \\" in written
    assert r"grid \& co & - & 0.25 \\" in written
    assert r"\begin{tabular}{lrr}" in written
    assert r"\caption{A 5 \% test}" in written
    with pytest.raises(ValueError, match="3 cells"):
        Table(["a", "b", "c"], [[1, 2]])


def test_no_text_of_a_csv_file_is_a_formula():
    table = Table(["=A1", "-", "n"], [["@night", -1.5, -2], ["-inf", float("-inf"), "+5 %"], ["\tice", "a-b", True]])
    assert table.to_csv() == "'=A1,'-,n\n'@night,-1.5,-2\n-inf,-inf,'+5 %\n'\tice,a-b,True\n"
    assert table.to_markdown().startswith("| =A1 | - | n |")  # for people: as it is


def test_cells():
    assert [shown(v) for v in (None, float("nan"), np.inf, -np.inf, 0.123456, 1234567, 1234.5, 0.0, True)] == [
        "-", "-", "∞", "-∞", "0.123", "1,234,567", "1,234", "0", "True",
    ]  # fmt: skip
    assert latex("a<b_∞") == r"a\textless{}b\_$\infty$"


def test_table_files(tmp_path):
    files = Table(["a"], [[1]]).save(tmp_path / "new", "t")
    assert [f.name for f in files] == ["t.md", "t.csv", "t.tex"]
    assert files[1].read_text() == "a\n1\n"


def test_an_interval_of_the_median_is_between_order_statistics():
    """Six values: all but one in 32 samples have the median between the least and the greatest."""
    assert median_interval([5, 1, 4, 2, 3, 9]) == (1, 9)
    assert median_interval(range(5)) == (-math.inf, math.inf)
    assert median_interval(range(30)) == (9, 20)  # the 10th and the 21st, as tables of the sign test say
    assert median_interval([1.0, 2.0, 3.0, math.inf, math.inf, math.inf])[1] == math.inf


def test_an_interval_of_the_shift_holds_what_the_test_does_not_reject():
    rng = np.random.default_rng(5)
    first, second = rng.normal(1.0, 1.0, 7), rng.normal(0.0, 2.0, 5)
    low, high = shift_interval(first, second)
    for shift, inside in ((low - 1e-9, False), (low + 1e-9, True), (high - 1e-9, True), (high + 1e-9, False)):
        assert (mann_whitney(first - shift, second).p > 0.05) == inside


def test_intervals_of_few_runs_are_unbounded():
    assert shift_interval([1, 2, 3], [4, 5, 6]) == (-math.inf, math.inf)
    assert shift_interval([1, 2, 3, 4], [5, 6, 7, 8]) == (-7, -1)
    assert shift_interval([math.inf] * 4, [math.inf] * 4) == (0, 0)  # two failures do not differ


def test_an_interval_of_the_shift_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(600):
        low, high = shift_interval(rng.exponential(1.0, 6) + 0.5, rng.exponential(1.0, 8))
        hits += low <= 0.5 <= high
    assert hits >= 550  # at least 95 % are expected, 570; three standard deviations are 16
