"""Copies of elites are not evaluated again where a problem is deterministic, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import tesselite as tl
from tesselite.archive.evaluation import Evaluation
from tesselite.problems.problem import Problem
from tesselite.search.map_elites import batches
from tesselite.spaces.records import Records


class Counting(Problem):
    """Counts how often each solution is evaluated; some are invalid, some have equal fitness."""

    name = "counting"

    def __init__(self, deterministic: bool) -> None:
        self.deterministic = deterministic
        self.solutions = tl.Levels(6, np.linspace(0, 1, 5))
        self.features = tl.FeatureSpace({"a": (0, 1), "b": (0, 0.9)})
        self.evaluated: list[bytes] = []

    def evaluate_rows(self, rows, scenario, threads):
        self.evaluated += [row.tobytes() for row in rows]
        fitness = np.where(rows[:, 5] > 0.9, np.nan, rows[:, 0] + np.round(rows[:, 1] * rows[:, 2], 1))
        return Evaluation.of(fitness, rows[:, 3:5], dict.fromkeys(np.flatnonzero(rows.sum(axis=1) > 4.5), "too high"))


def searched(problem: Problem, evaluations: int = 3000) -> tl.MapElites:
    niches = tl.GridTessellation(problem.features, 4)
    search = tl.MapElites(
        problem.solutions, niches, tl.variation.resample(0.1), initial=100, seed=3, records=problem.records
    )
    for _ in batches(search, problem, evaluations, batch_size=50):
        pass
    return search


def test_results_are_the_same_and_copies_are_not_evaluated():
    always, once = Counting(deterministic=False), Counting(deterministic=True)
    expected, search = searched(always), searched(once)
    assert search.archive.equals(expected.archive)
    assert search.archive.invalid == expected.archive.invalid
    assert search.archive.invalid["too high"] > 0
    assert search.archive.out_of_bounds == expected.archive.out_of_bounds > 0
    assert search.evaluations == expected.evaluations == len(always.evaluated) == 3000
    # A child is a copy of its parent with probability (1 - 0.1 * 0.8)^6 = 0.61, and may be that of another elite.
    assert 0.2 < len(once.evaluated) / 3000 < 0.42


def test_only_copies_of_present_elites_are_skipped():
    problem = Counting(deterministic=True)
    niches = tl.GridTessellation(problem.features, 4)
    search = tl.MapElites(problem.solutions, niches, tl.variation.resample(0.1), initial=100, seed=3)
    skipped, expected = 0, []
    for state in batches(search, problem, 2000, batch_size=50):
        if state.evaluations > 100:
            assert problem.evaluated == expected
            skipped += 50 - len(expected)
        problem.evaluated.clear()
        elites = {row.tobytes() for row in state.archive.elites().solutions}
        proposed = [row.tobytes() for row in state.propose(50, state.evaluations)]
        expected = [row for row in proposed if row not in elites]
    assert skipped > 1000


def test_a_change_of_niches_is_followed():
    always, once = Counting(deterministic=False), Counting(deterministic=True)
    found = []
    for problem in (always, once):
        search = tl.MapElites(
            problem.solutions, tl.GridTessellation(problem.features, 4), tl.variation.resample(0.1), initial=100, seed=3
        )
        for state in batches(search, problem, 3000, batch_size=50):
            if state.evaluations == 1500:
                state.change_tessellation(tl.GridTessellation(problem.features, (2, 7)))
        found.append(search)
    assert found[0].archive.equals(found[1].archive)
    assert len(once.evaluated) < 1500


@pytest.mark.parametrize("name", ["hexapod:duty", "maze:10d"])
def test_built_in_problems_are_deterministic(name):
    problem = tl.problems.by_name(name)
    assert problem.deterministic
    rows = problem.solutions.random(12, np.random.default_rng(5))
    whole, single = problem.evaluate(rows), [problem.evaluate(row) for row in rows[::-1]]
    np.testing.assert_array_equal(whole.fitness[::-1], np.concatenate([one.fitness for one in single]))
    np.testing.assert_array_equal(whole.features[::-1], np.concatenate([one.features for one in single]))


class Recorded(Counting):
    """Deterministic, but with records, which are not looked up."""

    records = Records({"sum": float})

    def evaluate_rows(self, rows, scenario, threads):
        found = super().evaluate_rows(rows, scenario, threads)
        return Evaluation.of(found.fitness, found.features, found.reasons, records={"sum": rows.sum(axis=1)})


def test_solutions_with_records_are_all_evaluated():
    problem = Recorded(deterministic=True)
    search = searched(problem)
    assert len(problem.evaluated) == 3000
    elites = search.archive.elites()
    np.testing.assert_array_equal(elites.records["sum"], elites.solutions.sum(axis=1))


def test_a_problem_is_never_asked_to_evaluate_nothing():
    problem, sizes = Counting(deterministic=True), []
    evaluate_rows = problem.evaluate_rows

    def watched(rows, scenario, threads):
        sizes.append(len(rows))
        return evaluate_rows(rows, scenario, threads)

    problem.evaluate_rows = watched
    search = tl.MapElites(
        problem.solutions,
        tl.GridTessellation(problem.features, 4),
        tl.variation.resample(0.1),
        initial=20,
        seed=3,
    )
    for _ in batches(search, problem, 300, batch_size=1):
        pass
    assert search.evaluations == 300
    assert min(sizes) == 1
    assert sum(sizes) < 200
