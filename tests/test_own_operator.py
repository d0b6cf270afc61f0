"""A user's compiled operator: in the loop as by ask and tell, on any number of threads, imported by name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import tesselite as tl
from tesselite.search.map_elites import batches

EXAMPLES = Path(__file__).parent.parent / "examples"
SETTINGS = {"grid": 20, "evaluations": 3000, "initial": 200, "batch_size": 150, "seed": 5}


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("own_operator")
    sys.path.remove(str(EXAMPLES))


def state(archive):
    elites = archive.elites()
    return elites.niches.tobytes(), elites.fitness.tobytes(), elites.solutions.tobytes()


def test_the_loop_is_ask_and_tell_on_any_number_of_threads(example):
    arm = tl.problems.arm(7)
    one, two = (tl.illuminate(arm, variation=example.crossover, threads=n, **SETTINGS) for n in (1, 2))
    search = tl.MapElites(
        arm.solutions, tl.GridTessellation(arm.features, 20), example.crossover, initial=200, seed=5, floor=0.0
    )
    while search.evaluations < 3000:
        search.tell_evaluation(arm.evaluate(search.ask(min(150, 3000 - search.evaluations))))
    assert state(one) == state(two) == state(search.archive)
    assert len(one) > 50
    arm.solutions.validate(one.elites().solutions)


def test_children_have_the_values_of_their_parents_and_draws_of_their_own(example):
    rng = np.random.default_rng(1)
    box = tl.Box(6, -100, 100)
    parents = np.stack([rng.uniform(0, 10, (500, 6)), rng.uniform(20, 30, (500, 6))])
    children = example.crossover(parents, box, np.random.default_rng(2))
    from_second = np.abs(children - parents[1]) < np.abs(children - parents[0])
    assert abs(from_second.mean() - 0.5) < 5 * 0.5 / np.sqrt(3000)  # false alarms: 6e-7
    steps = (children - np.where(from_second, parents[1], parents[0])) / 2.0
    assert abs(steps.std() - 1.0) < 5 / np.sqrt(6000)
    assert len(np.unique(steps)) == 3000
    again = example.crossover(parents, box, np.random.default_rng(2))
    np.testing.assert_array_equal(children, again)


def test_it_has_a_name_that_resume_finds(example, tmp_path):
    assert str(example.crossover) == "own_operator:crossover"
    assert tl.variation.by_name("own_operator:crossover") is example.crossover
    straight = tl.run(tl.problems.arm(7), out=tmp_path / "straight", variation=example.crossover, **SETTINGS)
    assert straight.plan.emitter == "own_operator:crossover"
    part = {**SETTINGS, "evaluations": 1400}  # whole batches
    tl.run(tl.problems.arm(7), out=tmp_path / "cut", variation=example.crossover, **part)
    resumed = tl.resume(tmp_path / "cut", evaluations=3000)
    assert state(resumed.archive) == state(straight.archive)


def make(function, **options):
    return tl.variation.operator(**options)(numba.njit(function))


@pytest.mark.parametrize(
    "function",
    [
        lambda parents, low, high, random: parents[0, :2],
        lambda parents, low, high, random: parents[0] * np.nan,
        lambda parents, low, high, random: parents[0] + 1 // int(random.uniform[0] * 0),
    ],
    ids=["width", "nan", "exception"],
)
def test_an_operator_that_fails_stops_the_search(function):
    arm = tl.problems.arm(4)
    wrong = make(function)
    with pytest.raises(ValueError, match="raised an exception, or returned something else"):
        tl.illuminate(arm, variation=wrong, **SETTINGS)
    search = tl.MapElites(arm.solutions, tl.GridTessellation(arm.features, 5), wrong, initial=100, seed=1)
    with pytest.raises(ValueError, match="raised an exception"):
        list(batches(search, arm, 500, batch_size=100))
    assert search.evaluations == 100
    with pytest.raises(ValueError, match="raised an exception"):
        search.ask(10)


def test_bounds_are_kept_and_what_it_does_to_its_arguments_reaches_no_elite():
    def wild(parents, low, high, random):
        parents[0] += 50.0 * (random.uniform[: len(low)] - 0.5)
        low[:] = -1e9
        return parents[0]

    arm = tl.problems.arm(4)
    archive = tl.illuminate(arm, variation=make(wild), **SETTINGS)
    arm.solutions.validate(archive.elites().solutions)


def test_wrong_operators_are_refused():
    with pytest.raises(TypeError, match="expected a function compiled by Numba"):
        tl.variation.operator()(lambda parents, low, high, random: parents[0])
    for wrong in (3, 2.0, True):
        with pytest.raises(ValueError, match=f"n_parents: expected 1 or 2, got {wrong}"):
            make(lambda parents, low, high, random: parents[0], n_parents=wrong)
    with pytest.raises(ValueError, match="uniforms: expected a whole number"):
        make(lambda parents, low, high, random: parents[0], uniforms=-1)
    one = make(lambda parents, low, high, random: parents[0])
    assert str(one) == "own"
    with pytest.raises(ValueError, match="needs a Box space"):
        tl.MapElites(tl.Levels(3, [0, 1]), tl.GridTessellation(tl.FeatureSpace.unit(2), 3), one)
    with pytest.raises(ValueError, match="os:path is not an operator"):
        tl.variation.by_name("os:path")
    with pytest.raises(ValueError, match="importing no_such_module failed"):
        tl.variation.by_name("no_such_module:mine")


def test_the_example_runs():
    done = subprocess.run([sys.executable, "own_operator.py"], cwd=EXAMPLES, capture_output=True, text=True, check=True)
    assert "niches filled by own_operator:crossover" in done.stdout
