"""A function that asks for a `seed` gets one by the run's seed and the evaluation's number, for every execution."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

import tesselite as tl
import worker_problems as problems
from tesselite.base.seeds import Purpose, key
from tesselite.runs.run import resume, run

HOW = {"grid": [5, 5], "evaluations": 300, "initial": 80, "batch_size": 40, "seed": 7}


def threads(n):
    return lambda: ThreadPoolExecutor(n)


def splitmix64(state):
    """The published algorithm, in whole numbers of Python."""
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_seeds_by_an_oracle_and_as_numbers():
    numbers = [0, 1, 5, 2**40]
    start = int(key(7, Purpose.EVALUATION))
    right = [splitmix64((start + n * 0x9E3779B97F4A7C15) % 2**64) >> 33 for n in numbers]
    assert tl.evaluation_seeds(7, numbers).tolist() == right
    many = tl.evaluation_seeds(7, range(100_000))
    assert 0 <= many.min() < many.max() < 2**31
    assert len(np.unique(many)) > 99_980  # about 2.3 pairs of equals are expected
    assert abs(many.mean() / 2**31 - 0.5) < 5 / np.sqrt(12 * 100_000)  # false alarm: below one in a million
    assert (many != tl.evaluation_seeds(8, range(100_000))).mean() > 0.999
    assert tl.evaluation_seeds(7, []).tolist() == []
    for wrong in ([-1], [0.5], 3, [[1]]):
        with pytest.raises(ValueError, match="evaluations: expected whole numbers"):
            tl.evaluation_seeds(7, wrong)


def check(ended, n=300):
    table = ended.history(["evaluation", "fitness"])
    numbers = table["evaluation"].to_numpy()
    assert sorted(numbers.tolist()) == list(range(n))
    assert (table["fitness"].to_numpy() == tl.evaluation_seeds(ended.plan.seed, numbers) / 2**31).all()


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (problems.by_chance, {}),
        (problems.by_chance_in_batches, {}),
        (problems.by_chance_in_batches, {"workers": threads(2)}),
        (problems.by_chance, {"workers": threads(2), "asynchronous": True}),
        (problems.by_chance, {"workers": threads(2), "islands": 2, "exchange": 50}),
        (problems.by_chance_at_second_try, {"workers": threads(1)}),
    ],
    ids=["plain", "batch", "workers", "asynchronous", "islands", "retries"],
)
def test_every_way_of_running_gives_the_same_seeds(tmp_path, problem, options):
    problems.TRIED.clear()
    check(run(problem, out=tmp_path / "run", history=True, **HOW, **options))


@pytest.mark.parametrize("workers", [None, 1])
def test_a_resumed_run_gives_the_same_seeds(tmp_path, workers):
    def stop(here):
        if here.evaluations >= 120:
            signal.raise_signal(signal.SIGINT)

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(problems.by_chance, out=folder, history=True, progress=stop, workers=workers, **HOW)
    ended = resume(folder, problems.by_chance, workers=0 if workers else None)
    check(ended)
    assert ended.archive.equals(run(problems.by_chance, **HOW).archive)


def test_outside_of_a_run_a_solution_has_a_seed_of_its_own():
    rows = problems.BOX.random(20, np.random.default_rng(1))
    found = problems.by_chance.evaluate(rows).fitness
    assert (problems.by_chance.evaluate(rows[::-1]).fitness == found[::-1]).all()
    assert len(np.unique(found)) == 20
    assert (problems.by_chance_in_batches.evaluate(rows, "rain").fitness == found - 1).all()
    seeds = np.arange(20)
    assert (problems.by_chance.evaluate(rows, seeds=seeds).fitness == seeds / 2**31).all()
    assert problems.by_chance(rows[0], seed=3)[0] == 3 / 2**31
    niches = tl.GridTessellation(problems.by_chance_in_batches.features, 5)
    archive = tl.Archive(niches, 3)
    archive.add(rows, found, rows[:, :2])
    here, there = (tl.assess(archive, problems.by_chance_in_batches, workers=w) for w in (None, threads(2)))
    assert (here.fitness["rain"] == there.fitness["rain"]).all()
    with pytest.raises(ValueError, match=r"seeds: expected whole numbers \(20,\)"):
        problems.by_chance.evaluate(rows, seeds=[1, 2])
    with pytest.raises(ValueError, match="seeds: expected none, since good takes no seed"):
        problems.good.evaluate(rows, seeds=seeds)


def test_what_counts_as_asking():
    def make(function, **options):
        return tl.problem(solutions=problems.BOX, features=problems.FEATURES, **options)(function)

    assert make(lambda x, seed=0: 1).seeded
    assert not make(lambda seed: 1).seeded  # that is the solution
    assert not make(lambda x, **more: 1).seeded
    assert not make(np.sum).seeded
    with pytest.raises(ValueError, match="scenarios: the second argument of the function is the scenario"):
        make(lambda x, seed: 1, scenarios=["rain"])
    with pytest.raises(ValueError, match="seed: a compiled function cannot take one; leave @njit out"):
        make(njit(lambda x, seed: (1.0, (x[0], x[1]))))
