"""Emitters give solutions, receive their results, and are stored in checkpoints."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tesselite as tl
from hill_runs import make
from tesselite.emitters.names import by_name
from tesselite.runs.carry_on import Interrupted
from tesselite.runs.run import resume, run

SETTINGS = {"evaluations": 800, "grid": [6, 7], "batch_size": 50, "initial": 200, "seed": 5}


class LeastVisited(tl.emitters.Emitter):
    """Parents from the niches that were tried least: a user's emitter with state."""

    def __init__(self):
        self.visits = Counter()

    def ask(self, archive, n, first):
        elites = archive.elites()
        order = sorted(range(len(elites)), key=lambda i: (self.visits[int(elites.niches[i])], i))
        parents = elites.solutions[[order[i % len(order)] for i in range(n)]]
        return np.clip(parents + self.generator(first).normal(0, 0.1, parents.shape), self.space.low, self.space.high)

    def tell(self, solutions, evaluated, added):
        assert len(solutions) == len(evaluated) == len(added.status) == len(added.improvement)
        self.visits.update(added.niches[added.niches >= 0].tolist())

    def state(self):
        return {
            "niches": np.array(list(self.visits), np.int64),
            "visits": np.array(list(self.visits.values()), np.int64),
        }

    def restore(self, state):
        self.visits = Counter(dict(zip(state["niches"].tolist(), state["visits"].tolist(), strict=True)))


def test_uniform_is_the_default_and_variation_the_short_way_to_say_it():
    operator = tl.variation.gaussian(0.2)
    archives = [
        tl.illuminate(make(), **SETTINGS, **given)
        for given in ({"variation": operator}, {"emitter": tl.emitters.uniform(operator)})
    ]
    assert archives[0].equals(archives[1])
    plain = tl.illuminate(make(), **SETTINGS)
    assert plain.equals(tl.illuminate(make(), **SETTINGS, emitter=tl.emitters.uniform()))
    assert not plain.equals(archives[0])


@pytest.mark.parametrize("emitter", [tl.emitters.curiosity(), LeastVisited()], ids=["curiosity", "own"])
@pytest.mark.parametrize("stop_at", [100, 450])
def test_a_run_with_memory_resumes_to_the_same_bytes(tmp_path, emitter, stop_at):
    import signal

    def stop(run):
        if run.evaluations == stop_at:
            signal.raise_signal(signal.SIGINT)

    whole = run(make(), out=tmp_path / "whole", emitter=emitter, **SETTINGS)
    with pytest.raises(Interrupted):
        run(make(), out=tmp_path / "run", emitter=emitter, progress=stop, **SETTINGS)
    again = {"emitter": emitter} if isinstance(emitter, LeastVisited) else {}
    resume(tmp_path / "run", make(), **again)
    assert (tmp_path / "run" / "archive.parquet").read_bytes() == (tmp_path / "whole" / "archive.parquet").read_bytes()
    assert len(whole.search.emitter.state()["niches"]) >= len(whole.archive)
    assert whole.archive.equals(tl.illuminate(make(), emitter=emitter, **SETTINGS))  # the given one has learned nothing


def test_an_emitter_works_on_workers_with_the_same_result():
    here = tl.illuminate(make(), emitter=tl.emitters.curiosity(), **SETTINGS)
    from concurrent.futures import ThreadPoolExecutor

    there = tl.illuminate(make(), emitter=tl.emitters.curiosity(), workers=lambda: ThreadPoolExecutor(2), **SETTINGS)
    assert here.equals(there)


def test_an_emitter_with_memory_is_refused_where_it_does_not_work(tmp_path):
    for way in ({"asynchronous": True, "workers": 2}, {"islands": 2}):
        with pytest.raises(ValueError, match="emitter: own emitter does not work with"):
            run(make(), out=tmp_path / "run", emitter=LeastVisited(), **way, **SETTINGS)
    assert not (tmp_path / "run").exists()


def test_an_emitter_of_the_users_own_has_to_be_given_again(tmp_path):
    run(make(), out=tmp_path / "run", emitter=LeastVisited(), **SETTINGS)
    with pytest.raises(ValueError, match=r"started with your own emitter; pass it again"):
        resume(tmp_path / "run", make(), evaluations=900)
    assert resume(tmp_path / "run", make(), evaluations=900, emitter=LeastVisited()).evaluations == 900


def test_a_wrong_emitter_is_refused():
    with pytest.raises(ValueError, match="only one of variation and emitter"):
        tl.illuminate(make(), emitter=tl.emitters.curiosity(), variation=tl.variation.gaussian(), **SETTINGS)
    with pytest.raises(ValueError, match="emitter: expected one, such as"):
        tl.illuminate(make(), emitter="curiosity", **SETTINGS)

    class Wrong(tl.emitters.Emitter):
        def ask(self, archive, n, first):
            return np.zeros((n + 1, 3))

    with pytest.raises(ValueError, match=r"emitter\.ask: expected 50 rows"):
        tl.illuminate(make(), emitter=Wrong(), **SETTINGS)


@pytest.mark.parametrize("base", [tl.emitters.uniform, tl.emitters.curiosity], ids=lambda base: base.__name__)
def test_a_class_that_inherits_from_one_of_ours_is_the_users_own(tmp_path, base):
    """The compiled loop knows nothing of its methods, and a file cannot hold it."""

    class Counting(base):
        told = 0

        def tell(self, solutions, evaluated, added):
            super().tell(solutions, evaluated, added)
            self.told += len(solutions)

        def __str__(self):
            return "counting"

    made = run(tl.problems.sphere(3), out=tmp_path / "run", emitter=Counting(), **{**SETTINGS, "grid": 5})
    assert made.search.emitter.told == 800
    assert made.plan.emitter == str(tl.emitters.mixture({Counting(): 1})) == "own emitter"
    with pytest.raises(ValueError, match=r"started with your own emitter; pass it again"):
        resume(tmp_path / "run", evaluations=900)
    assert made.archive.equals(tl.illuminate(tl.problems.sphere(3), emitter=base(), **{**SETTINGS, "grid": 5}))


class Constant(tl.emitters.Emitter):
    def __init__(self, value, kept=None):
        self.value, self.kept = value, {} if kept is None else kept

    def ask(self, archive, n, first):
        return np.full((n, self.space.width), self.value, self.space.dtype)

    def state(self):
        return self.kept


@pytest.mark.parametrize(
    ("space", "value", "message"),
    [
        (tl.Box(3, 0, 1), np.nan, r"expected values in \[0, 1\]"),
        (tl.Box(3, 0, 1), 1e9, r"expected values in \[0, 1\]"),
        (tl.Levels(3, [0.0, 0.5, 1.0]), 0.4, "expected"),
        (tl.Permutation(3), 7, "expected"),
    ],
    ids=["nan", "far", "levels", "permutation"],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in a mixture"])
def test_solutions_outside_the_space_are_refused(space, value, message, wrapped):
    """Compiled problems may index with them."""
    emitter = Constant(value)
    if wrapped:
        emitter = tl.emitters.mixture({emitter: 1})
    niches = tl.GridTessellation(tl.FeatureSpace.unit(2), 3)
    search = tl.MapElites(space, niches, emitter=emitter, initial=5, seed=1)
    search.ask(5)
    search.tell(np.zeros(5), np.full((5, 2), 0.5))
    with pytest.raises(ValueError, match=rf"^emitter\.ask: solutions: {message}.*; your emitter must stay inside"):
        search.ask(5)


@pytest.mark.parametrize(
    "state",
    [None, [1.0], {"sigma": 0.1}, {1: np.zeros(2)}, {"a": np.array([object()])}, {"a": [1, 2]}],
    ids=["none", "list", "number", "no name", "objects", "list in it"],
)
def test_a_state_that_no_file_can_hold_is_refused(tmp_path, state):
    emitter = Constant(0.5)
    search = tl.MapElites(tl.Box(3), tl.GridTessellation(tl.FeatureSpace.unit(2), 3), emitter=emitter, seed=1)
    search.emitter.kept = state
    with pytest.raises(ValueError, match=r"emitter\.state: expected names and arrays of numbers"):
        search.save(tmp_path / "search.parquet")


@pytest.mark.parametrize("text", ["curiosity:gaussian:0.1", "iso_line:0.01,0.2"])
def test_an_emitter_is_found_by_its_name(text):
    emitter = by_name(text)
    emitter.begin(tl.Box(3), 1)
    assert str(emitter) == text


def test_curiosity_prefers_parents_whose_offspring_entered():
    """Two elites; offspring of the first always enter, those of the second never do."""
    emitter = tl.emitters.curiosity(lambda parents, space, rng: parents)
    space = tl.FeatureSpace.unit(1)
    search = tl.MapElites(tl.Box(2), tl.GridTessellation(space, 2), emitter=emitter, initial=2, seed=1)
    search.ask(2)
    search.tell([1.0, 1.0], [[0.1], [0.9]])
    for step in range(20):
        parents = search.emitter
        search.ask(10)
        first = parents._parents == 0
        search.tell(np.where(first, 2.0 + step, 0.0), np.where(first, 0.1, 0.9)[:, None])
    search.ask(1000)
    share = (search.emitter._parents == 0).mean()
    assert share > 0.9  # 1 against 0.01 by the scores: 0.99, and a false alarm is out of reach


def test_improvement_is_against_the_elite_of_before_or_the_floor():
    for direction, sign in (("max", 1.0), ("min", -1.0)):
        archive = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(1), 4), 1, direction=direction, floor=0.5)
        archive.add(np.zeros((1, 1)), [2.0], [[0.1]])
        evaluated = tl.Evaluation.of([3.0, 1.0, 4.0, 9.0, np.nan], [[0.1], [0.1], [0.9], [0.9], [0.1]])
        added = archive.add_evaluated(np.zeros((5, 1)), evaluated, 1, improvement=True)
        expected = sign * np.array([1.0, -1.0, 3.5, 8.5, np.nan])
        np.testing.assert_array_equal(added.improvement, expected)
        assert archive.add(np.zeros((1, 1)), [0.0], [[0.1]]).improvement is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cma_mea:alpha=0.1",
            r"emitter: expected an emitter \(.*cma_mae.*\) or an operator \(gaussian.*\), got 'cma_mea'",
        ),
        ("cma_mea:alpha=0.1", r"did you mean cma_me or cma_mae\?$"),
        ("mixture:0.5@cma_mae+0.5@iso_lin:0.1", r"got 'iso_lin'; did you mean iso_line\?$"),
        ("zzz", r"got 'zzz'$"),
        ("cma_mae:emiters=3", r"got 'emiters=3'; did you mean emitters\?$"),
        ("cma_mae:mirrored=no", "mirrored: expected 0 or 1, got 'no'"),
        ("cma_mae:anti=2", "anti: expected 0 or 1, got 2"),
        ("bandit:cma_mae", "emitters: expected a list of at least two emitters, got 1$"),
    ],
)
def test_a_name_or_an_option_that_is_misspelt_leads_to_the_right_one(text, message):
    with pytest.raises(ValueError, match=message):
        by_name(text)


LETTERS = tl.Permutation(["a", "b", "c", "d"])


@tl.problem(solutions=LETTERS, features={"first": (0, 3), "last": (0, 3)})
def words(order):
    places = ["abcd".index(letter) for letter in order]
    return float(places[1]), (places[0], places[-1])


def swapped(parents, space, rng):
    return space.vary(parents, rng)


@pytest.mark.parametrize(
    "name", ["curiosity", "uniform", "mixture:0.5@uniform+0.5@curiosity", "bandit:uniform+curiosity"]
)
def test_emitters_of_spaces_that_vary_themselves_need_not_be_given_again(tmp_path, name):
    options = {"grid": 4, "initial": 5, "batch_size": 5, "seed": 1, "progress": False}
    whole = tl.illuminate(words, emitter=by_name(name), evaluations=60, **options)
    half = tl.run(words, emitter=by_name(name), evaluations=30, out=tmp_path / "run", **options)
    assert half.plan.emitter == ("vary" if name == "uniform" else name)
    assert tl.resume(tmp_path / "run", words, evaluations=60, progress=False).archive.equals(whole)


def test_curiosity_with_a_function_is_given_again_as_an_emitter(tmp_path):
    options = {"grid": 4, "initial": 5, "batch_size": 5, "seed": 1, "progress": False}
    choose = tl.emitters.curiosity(swapped)
    whole = tl.illuminate(words, emitter=choose, evaluations=60, **options)
    tl.run(words, emitter=choose, evaluations=30, out=tmp_path / "run", **options)
    with pytest.raises(ValueError, match=r"pass it again, as in tesselite.resume\(DIR, problem, emitter=...\)"):
        tl.resume(tmp_path / "run", words, evaluations=60, variation=swapped, progress=False)
    again = tl.resume(tmp_path / "run", words, evaluations=60, emitter=choose, progress=False)
    assert again.archive.equals(whole)


@pytest.mark.parametrize("name", ["curiosity", "iso_line", "cma_mae:emitters=2,batch=5", "bandit:uniform+curiosity"])
def test_the_emitter_of_a_run_may_be_given_again_and_no_other(tmp_path, name):
    options = {"grid": 4, "initial": 50, "seed": 1, "progress": False}
    tl.run(tl.problems.sphere(3), emitter=by_name(name), evaluations=60, out=tmp_path / "run", **options)
    with pytest.raises(ValueError, match="emitter: expected none, since the run was started with"):
        tl.resume(tmp_path / "run", emitter=by_name("curiosity:gaussian"), evaluations=80, progress=False)
    assert tl.resume(tmp_path / "run", emitter=by_name(name), evaluations=80, progress=False).evaluations == 80
