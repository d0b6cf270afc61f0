"""The search: order of calls, exact budgets, and the same archive, bit for bit, from all kinds of runs."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from scipy import stats

import tesselite as tl
from tesselite.emitters.operators import gaussian, iso_line, polynomial, resample, sbx
from tesselite.search import loop as compiled
from tesselite.search.map_elites import batches
from tesselite.spaces.scaling import all_valid

FEATURES = {"a": (0, 1), "b": (0, 1)}
SPACE = tl.FeatureSpace(FEATURES)
GRID = tl.GridTessellation(SPACE, 15)
VORONOI = tl.VoronoiTessellation(SPACE, np.random.default_rng(2).random((120, 2)))
BOX = tl.Box(3, [0, 0, -1], [1, 1, 1])


@numba.njit
def _smooth(x):
    return x[2] - (x[0] - 0.5) * (x[0] - 0.5), (x[0], x[1] * x[1])


@numba.njit
def _nasty(x):
    """Raises, returns NaN and infinity, leaves the bounds of features, and changes its argument."""
    if x[0] > 0.9:
        raise ValueError("too far")
    fitness = x[2] if x[1] > 0.1 else np.nan
    a = 1.4 * x[0] - 0.2 if x[2] < 0.8 else np.inf
    b = x[1]
    x[:] = 77.0
    return fitness, (a, b)


SMOOTH = tl.problem(solutions=BOX, features=FEATURES, name="smooth")(_smooth)
NASTY = tl.problem(solutions=BOX, features=FEATURES, direction="min", name="nasty")(_nasty)


def state(archive):
    """The whole state of an archive, as bytes and counts."""
    elites = archive.in_order_of_filling()
    arrays = (elites.niches, elites.fitness, elites.features, elites.solutions, elites.evaluations)
    return [array.tobytes() for array in arrays], dict(archive.invalid), archive.out_of_bounds


def by_ask_and_tell(problem, tessellation, variation=None, *, evaluations, initial, batch_size, seed):
    search = tl.MapElites(
        problem.solutions, tessellation, variation, initial=initial, direction=problem.direction, seed=seed
    )
    while search.evaluations < evaluations:
        solutions = search.ask(min(batch_size, evaluations - search.evaluations))
        # `evaluate` also checks that every solution is of the problem's space.
        search.tell_evaluation(problem.evaluate(solutions))
    return search.archive


# -- calls in the right order --------------------------------------------------------------------------------------


def test_ask_and_tell_take_turns():
    search = tl.MapElites(BOX, GRID, initial=5, seed=1)
    with pytest.raises(RuntimeError, match=r"tell: ask\(n\) for solutions first"):
        search.tell([1.0], [[0, 0]])
    solutions = search.ask(3)
    with pytest.raises(RuntimeError, match=r"ask: tell\(fitness, features\) the results of the last ask first"):
        search.ask(3)
    for fitness, features in (
        ([1.0], [[0, 0]]),
        ([1.0] * 3, [[0, 0]] * 2),
        ([1.0] * 3, [[0, 0, 0]] * 3),
        (1.0, [0, 0]),
    ):
        with pytest.raises(ValueError, match=r"tell: expected fitness \(3,\) and features \(3, 2\), got"):
            search.tell(fitness, features)
    assert search.evaluations == 0  # a refused tell changes nothing, and can be repeated correctly
    solutions[:] = 0  # what was asked is a copy
    added = search.tell([1.0, 2.0, math.nan], [[0, 0], [0.5, 0.5], [0, 0]])
    assert added.count(tl.Status.NEW) == 2
    assert search.evaluations == 3
    assert search.archive.best.solution.any()
    assert search.ask(100).shape == (2, 3)  # what is left of the initialisation


def test_results_may_be_any_numbers_in_any_layout():
    def told(change):
        search = tl.MapElites(BOX, GRID, initial=20, seed=1)
        for _ in range(3):
            x = search.ask(20)
            search.tell(*change((10 * x[:, 2]).round() + 0.0, x[:, :2]))  # no -0.0, which int32 lacks
        return state(search.archive)

    def read_only(fitness, features):
        for values in (fitness, features := features.copy()):
            values.flags.writeable = False
        return fitness, features

    expected = told(lambda fitness, features: (fitness, features))
    assert told(lambda fitness, features: (fitness.tolist(), features.tolist())) == expected
    assert told(lambda fitness, features: (fitness.astype(np.int32), np.asfortranarray(features))) == expected
    assert told(lambda fitness, features: (fitness[::-1].copy()[::-1], features.astype(">f8"))) == expected
    assert told(read_only) == expected
    assert len(all_valid.signatures) == 1  # all of them by the same machine code


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None, math.nan, math.inf])
def test_wrong_counts_are_refused(n):
    with pytest.raises(ValueError, match="n: expected a whole number of at least 1"):
        tl.MapElites(BOX, GRID, seed=1).ask(n)
    with pytest.raises(ValueError, match="initial: expected a whole number of at least 1"):
        tl.MapElites(BOX, GRID, initial=n)
    with pytest.raises(ValueError, match="evaluations: expected a whole number of at least 1"):
        tl.illuminate(SMOOTH, grid=5, evaluations=n)
    if n is not None:  # the emitter's own
        with pytest.raises(ValueError, match="batch_size: expected a whole number of at least 1"):
            tl.illuminate(SMOOTH, grid=5, evaluations=10, batch_size=n)


def test_other_wrong_arguments_are_refused():
    for choice in ({}, {"grid": 5, "n_niches": 5}, {"grid": 5, "tessellation": GRID}):
        with pytest.raises(ValueError, match=r"expected exactly one of n_niches \(for a CVT\), grid"):
            tl.illuminate(SMOOTH, evaluations=10, **choice)
    other = tl.GridTessellation(tl.FeatureSpace.unit(2), 5)
    with pytest.raises(ValueError, match="tessellation: expected one of FeatureSpace"):
        tl.illuminate(SMOOTH, evaluations=10, tessellation=other)
    for seed in (-1, 1.5, "one"):
        with pytest.raises(ValueError, match="seed: expected a whole number of at least 0"):
            tl.illuminate(SMOOTH, evaluations=10, grid=5, seed=seed)
    with pytest.raises(ValueError, match="threads: expected at least 1"):
        tl.illuminate(SMOOTH, evaluations=10, grid=5, threads=0)
    with pytest.raises(ValueError, match=r"variation: resample:0\.05 needs a Levels space"):
        tl.MapElites(BOX, GRID, resample())
    with pytest.raises(ValueError, match=r"got the function iso_line itself; call it: iso_line\(\)"):
        tl.illuminate(SMOOTH, evaluations=10, grid=5, variation=iso_line)
    with pytest.raises(ValueError, match="direction"):
        tl.MapElites(BOX, GRID, direction="up")


def test_no_other_archive_can_be_put_under_a_search():
    search = tl.MapElites(BOX, GRID, seed=1)
    with pytest.raises(AttributeError):
        search.archive = search.archive.empty_copy()


def test_without_a_seed_two_searches_differ():
    a, b = (tl.MapElites(BOX, GRID) for _ in range(2))
    assert a.seed != b.seed
    assert (a.ask(5) != b.ask(5)).any()
    assert (tl.MapElites(BOX, GRID, seed=a.seed).ask(5) == tl.MapElites(BOX, GRID, seed=a.seed).ask(5)).all()


# -- budgets -------------------------------------------------------------------------------------------------------

BUDGETS = [
    (130, 100, 777),  # the initialisation is not a multiple of the batch
    (10, 300, 1000),  # a batch larger than the initialisation
    (1000, 200, 50),  # fewer evaluations than the initialisation
    (5, 1000, 300),  # a batch larger than the budget
    (1, 1, 7),
    (64, 64, 64),
    (100, 64, 101),
]


@pytest.mark.parametrize(("initial", "batch_size", "evaluations"), BUDGETS)
def test_the_budget_is_spent_exactly(initial, batch_size, evaluations):
    calls = []

    @tl.problem(solutions=BOX, features=FEATURES)
    def counted(x):
        calls.append(x.copy())
        return _smooth.py_func(x)

    seen = []
    options = {"grid": 15, "evaluations": evaluations, "initial": initial, "batch_size": batch_size, "seed": 3}
    plain = tl.illuminate(counted, progress=lambda search: seen.append(search.evaluations), **options)
    assert len(calls) == evaluations
    assert seen[-1] == evaluations
    assert seen == sorted(set(seen))
    assert max(np.diff([0, *seen])) <= batch_size
    steps = []
    fast = tl.illuminate(SMOOTH, progress=lambda search: steps.append(search.evaluations), **options)
    assert steps[-1] == evaluations
    assert state(fast) == state(plain)
    assert fast.elites().evaluations.max() < evaluations


def test_floats_that_are_whole_numbers_are_counts():
    one = tl.illuminate(SMOOTH, grid=5, evaluations=1e3, initial=1e2, batch_size=64.0, seed=1)
    assert state(one) == state(tl.illuminate(SMOOTH, grid=5, evaluations=1000, initial=100, batch_size=64, seed=1))


def test_progress_milestones_and_stretches_change_nothing():
    archives = []
    for milestone in (None, 100, 250, 7):
        search = tl.MapElites(BOX, GRID, initial=70, seed=1)
        at = [s.evaluations for s in batches(search, SMOOTH, 2000, batch_size=50, milestone=milestone)]
        archives.append(state(search.archive))
        assert at[-1] == 2000
        if milestone == 250:
            # Batches begin at 70: stretches end with the first whole batch at or beyond each multiple.
            assert {270, 520, 770, 1020}.issubset(at)
    assert all(archive == archives[0] for archive in archives)


# -- one archive, however it is run --------------------------------------------------------------------------------


@pytest.mark.parametrize("tessellation", [GRID, VORONOI], ids=["grid", "voronoi"])
@pytest.mark.parametrize(
    "variation",
    [gaussian(0.2), iso_line(0.02, 0.3), sbx(5.0, 0.8), polynomial(8.0, 0.9), gaussian(0.5, bounds="reflect")],
    ids=str,
)
def test_the_compiled_loop_is_ask_and_tell(variation, tessellation):
    options = {"evaluations": 2500, "initial": 150, "batch_size": 130, "seed": 5}
    for problem in (SMOOTH, NASTY):
        expected = by_ask_and_tell(problem, tessellation, variation, **options)
        for threads in (1, 2):
            archive = tl.illuminate(problem, tessellation=tessellation, variation=variation, threads=threads, **options)
            assert state(archive) == state(expected)
        assert len(expected) > 50
    assert set(expected.invalid.values()) != {0}
    assert len(expected.invalid) == 3  # exceptions, fitness and features that are not finite
    assert expected.out_of_bounds > 0


def test_the_compiled_loop_on_levels():
    levels = tl.Levels(4, [0, 0.25, 0.5, 1])
    problem = tl.problem(solutions=levels, features=FEATURES)(_smooth)
    options = {"evaluations": 1500, "initial": 100, "batch_size": 90, "seed": 5}
    expected = by_ask_and_tell(problem, GRID, resample(0.2), **options)
    for threads in (1, 2):
        assert state(
            tl.illuminate(problem, tessellation=GRID, variation=resample(0.2), threads=threads, **options)
        ) == (state(expected))
    assert np.isin(expected.elites().solutions, levels.values).all()


def test_the_compiled_loop_on_released_cells():
    # Few fitness values, so that the distance to the lattice decides often.
    problem = tl.problem(solutions=BOX, features=FEATURES)(
        numba.njit(lambda x: (np.floor(2 * x[2]), (x[0], x[1] * x[1])))
    )
    released = tl.GridTessellation(SPACE, 4, cells="released")
    options = {"evaluations": 1500, "initial": 100, "batch_size": 90, "seed": 5}
    expected = by_ask_and_tell(problem, released, gaussian(0.2), **options)
    for threads in (1, 2):
        archive = tl.illuminate(problem, tessellation=released, variation=gaussian(0.2), threads=threads, **options)
        assert state(archive) == state(expected)
    away = np.abs(expected.elites().features * 3 - np.round(expected.elites().features * 3)).max(axis=1)
    assert np.median(away) < 0.1  # a quarter, if the first of equals stayed


def test_the_compiled_loop_on_borders_and_far_outside():
    # Whole numbers on the borders of cells, and features so far outside that their squares overflow.
    counts = tl.Levels(2, range(50))

    @tl.problem(solutions=counts, features={"a": (0, 49), "b": (0, 49)})
    @numba.njit
    def count(x):
        far = 1e300 if x[0] == 13.0 else 1e308 if x[1] == 13.0 else 1.0
        return -x[0], (far * x[0], -far * x[1] if far == 1e308 else x[1])

    options = {"evaluations": 3000, "initial": 100, "batch_size": 100, "seed": 5}
    grid = tl.GridTessellation(count.features, 49)
    voronoi = tl.VoronoiTessellation(count.features, count.features.sample(30, np.random.default_rng(1)))
    for tessellation in (grid, voronoi):
        expected = by_ask_and_tell(count, tessellation, resample(0.5), **options)
        archive = tl.illuminate(count, tessellation=tessellation, variation=resample(0.5), **options)
        assert state(archive) == state(expected)
        assert archive.out_of_bounds > 0
        if tessellation is grid:
            for elite in archive:
                if not count.features.outside(elite.features[None])[0]:
                    assert grid.cell_of([elite.niche])[0].tolist() == elite.features.clip(0, 48).tolist()


def test_the_compiled_loop_on_the_arm_with_large_batches():
    options = {"evaluations": 6000, "initial": 100, "batch_size": 1000, "seed": 5}
    arm = tl.problems.arm(10)
    for tessellation in (tl.GridTessellation(arm.features, 64), tl.cvt(arm.features, 200, seed=1)):
        expected = state(by_ask_and_tell(arm, tessellation, **options))
        for threads in (1, 2, 5):
            assert state(tl.illuminate(arm, tessellation=tessellation, threads=threads, **options)) == expected


def test_the_compiled_loop_on_a_huge_grid():
    # More niches than an array could index: a hash table, which must never fill up.
    fine = tl.GridTessellation(SPACE, 2**20)
    options = {"evaluations": 3000, "initial": 10, "batch_size": 10, "seed": 5}
    expected = by_ask_and_tell(SMOOTH, fine, gaussian(0.2), **options)
    assert state(tl.illuminate(SMOOTH, tessellation=fine, variation=gaussian(0.2), **options)) == state(expected)
    # One long stretch that starts with few elites.
    search = tl.MapElites(BOX, fine, gaussian(0.2), initial=10, seed=5)
    search.tell_evaluation(SMOOTH.evaluate(search.ask(10)))
    compiled.CompiledLoop(search, SMOOTH, 10, 1).run(2990)
    assert search.evaluations == 3000
    assert state(search.archive) == state(expected)


def test_the_loop_is_compiled_once_for_all():
    # Other boxes, other tessellations, other problems: the same machine code. (Another array type would cost seconds.)
    wide = tl.problem(solutions=tl.Box(3), features=FEATURES)(_smooth)
    one = tl.problem(solutions=tl.Box(1), features={"a": (0, 1)})(numba.njit(lambda x: (x[0], (x[0],))))
    for problem in (SMOOTH, wide, one):
        tl.illuminate(problem, grid=4, evaluations=200, initial=10, seed=1)
    tl.illuminate(SMOOTH, tessellation=VORONOI, evaluations=200, initial=10, seed=1)
    manhattan = tl.VoronoiTessellation(SPACE, VORONOI.centroids, p=1)
    tl.illuminate(SMOOTH, tessellation=manhattan, evaluations=200, initial=10, seed=1)
    # Runs that keep every evaluation, perhaps in another test of this process, have machine code of their own.
    assert len([kinds for kinds in compiled._run_batches.signatures if kinds[-1] == numba.types.none]) == 1


def test_plain_vectorised_and_compiled_functions_give_the_same_archive():
    @tl.problem(solutions=BOX, features=FEATURES)
    def plain(x):
        return x[2] - (x[0] - 0.5) * (x[0] - 0.5), (x[0], x[1] * x[1])

    @tl.problem(solutions=BOX, features=FEATURES, batch=True)
    def vectorised(x):
        return x[:, 2] - (x[:, 0] - 0.5) * (x[:, 0] - 0.5), np.stack([x[:, 0], x[:, 1] * x[:, 1]], axis=1)

    options = {"tessellation": GRID, "evaluations": 1500, "initial": 120, "batch_size": 100, "seed": 9}
    expected = state(tl.illuminate(SMOOTH, **options))
    assert state(tl.illuminate(plain, **options)) == expected
    assert state(tl.illuminate(vectorised, **options)) == expected
    assert state(tl.illuminate(SMOOTH, **{**options, "seed": 10})) != expected


def test_a_function_that_changes_its_argument_changes_no_elite():
    def greedy(x):
        fitness, features = x[2], (x[0], x[1])
        x[:] = 55.0
        return fitness, features

    options = {"tessellation": GRID, "evaluations": 500, "initial": 50, "batch_size": 50, "seed": 9}
    plain = tl.problem(solutions=BOX, features=FEATURES)(greedy)
    fast = tl.problem(solutions=BOX, features=FEATURES)(numba.njit(greedy))
    archive = tl.illuminate(fast, **options)
    BOX.validate(archive.elites().solutions)
    assert state(archive) == state(tl.illuminate(plain, **options))


FRESH = """
import hashlib, sys
import tesselite as tl
arm = tl.problems.arm(10)
archive = tl.illuminate(arm, grid=30, evaluations=3000, initial=200, seed=4, threads=int(sys.argv[1]))
elites = archive.in_order_of_filling()
print(hashlib.sha256(elites.niches.tobytes() + elites.fitness.tobytes() + elites.solutions.tobytes()).hexdigest())
"""


def test_a_fresh_process_agrees():
    outputs = {
        subprocess.run([sys.executable, "-c", FRESH, threads], capture_output=True, text=True, check=True).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().strip()) == 64


def test_an_interrupt_sends_the_helpers_home(monkeypatch):
    search = tl.MapElites(BOX, GRID, initial=200, seed=5)
    search.tell_evaluation(SMOOTH.evaluate(search.ask(200)))
    run = compiled._run_batches

    def interrupted(leader, *task):
        if leader:
            raise KeyboardInterrupt
        return run(leader, *task)

    monkeypatch.setattr(compiled, "_run_batches", interrupted)
    loop = compiled.CompiledLoop(search, SMOOTH, 500, 2)
    with pytest.raises(KeyboardInterrupt):
        loop.run(1000)
    waiting = threading.Thread(target=loop._pool.shutdown, daemon=True)
    waiting.start()
    waiting.join(timeout=60)
    assert not waiting.is_alive()


# -- other spaces, tessellations and operators ---------------------------------------------------------------------


def test_log_features_run_outside_the_compiled_loop():
    space = tl.FeatureSpace({"a": (0.01, 1), "b": (0, 1)}, scales={"a": "log"})
    fast = tl.problem(solutions=BOX, features=space)(_nasty)  # its first feature is negative, and has no logarithm
    plain = tl.problem(solutions=BOX, features=space)(_nasty.py_func)
    options = {"grid": 10, "evaluations": 1000, "initial": 100, "seed": 1}
    a, b = tl.illuminate(fast, **options), tl.illuminate(plain, **options)
    assert state(a)[0] == state(b)[0]
    assert a.out_of_bounds == b.out_of_bounds > 0
    assert a.invalid.total() == b.invalid.total() > 0
    assert 0 <= a.elites().niches.min() <= a.elites().niches.max() < 100


class Stripes(tl.Tessellation):
    """A third-party tessellation."""

    space = SPACE
    n_niches = 7

    def niches_of_unit(self, unit):
        return (unit.sum(axis=1) * 3.5).astype(np.int64).clip(0, 6)

    def to_dict(self):
        return {}


def test_a_tessellation_of_ones_own():
    archive = tl.illuminate(SMOOTH, tessellation=Stripes(), evaluations=500, initial=50, seed=1)
    assert len(archive) == 7


def test_one_niche_makes_a_hill_climber():
    """Every parent is the one elite, and only a strictly better solution replaces it (section VI of the paper)."""
    search = tl.MapElites(BOX, tl.GridTessellation(SPACE, 1), lambda parents, space, rng: parents, initial=5, seed=1)
    best, at = -math.inf, None
    rng = np.random.default_rng(3)
    for _ in range(20):
        asked = search.ask(5)
        if at is not None:
            np.testing.assert_array_equal(asked, np.broadcast_to(at, asked.shape))
        fitness = rng.integers(0, 50, 5).astype(float)  # with ties, of which the first stays
        search.tell(fitness, rng.random((5, 2)))
        for solution, value in zip(asked, fitness, strict=True):
            if value > best:
                best, at = value, solution.copy()
        assert search.archive.elites().fitness.tolist() == [best]


@pytest.mark.parametrize("n_parents", [1, 2])
def test_a_variation_function_of_ones_own(n_parents):
    shapes = []

    def mix(parents, space, rng):
        shapes.append(parents.shape)
        first = parents if n_parents == 1 else parents.mean(axis=0)
        return np.clip(first + rng.normal(0, 0.1, first.shape), space.low, space.high)

    mix.n_parents = n_parents
    options = {"tessellation": GRID, "evaluations": 350, "initial": 100, "batch_size": 100, "seed": 1}
    archives = [tl.illuminate(SMOOTH, variation=mix, **options) for _ in range(2)]
    assert shapes[:3] == ([(100, 3), (100, 3), (50, 3)] if n_parents == 1 else [(2, 100, 3), (2, 100, 3), (2, 50, 3)])
    assert state(archives[0]) == state(archives[1])
    assert state(archives[0]) != state(tl.illuminate(SMOOTH, variation=mix, **{**options, "seed": 2}))


@pytest.mark.parametrize(
    ("offspring", "message"),
    [
        (lambda parents, space, rng: parents[:3], "variation: expected 50 offspring of 50 parents, got 3"),
        (lambda parents, space, rng: np.tile(parents, (2, 1)), "expected 50 offspring of 50 parents, got 100"),
        (lambda parents, space, rng: parents + 5, "^variation: solutions: expected values in .* must stay inside"),
        (lambda parents, space, rng: parents[:, :2], r"^variation: solutions: expected shape \(n, 3\)"),
        (lambda parents, space, rng: parents * np.nan, "^variation: solutions: expected values in .* with np.clip$"),
    ],
)
def test_a_variation_function_that_breaks_its_contract(offspring, message):
    with pytest.raises(ValueError, match=message):
        tl.illuminate(
            SMOOTH, tessellation=GRID, variation=offspring, evaluations=100, initial=50, batch_size=50, seed=1
        )


def test_parents_are_uniform_over_elites():
    chosen = []

    def record(parents, space, rng):
        chosen.extend(map(tuple, parents))
        return parents

    search = tl.MapElites(BOX, GRID, record, initial=40, seed=1)
    search.tell_evaluation(SMOOTH.evaluate(search.ask(40)))
    filled = len(search.archive)
    for _ in range(30):
        search.tell_evaluation(SMOOTH.evaluate(search.ask(300)))
    elites = [tuple(solution) for solution in search.archive.elites().solutions]
    counts = [chosen.count(elite) for elite in elites]
    assert filled == len(elites)  # copies improve nothing
    assert sum(counts) == 9000
    assert stats.chisquare(counts).pvalue > 1e-6  # false alarms: 1e-6


class Words:
    """A third-party solution space: rows of small whole numbers."""

    width = 4
    dtype = np.dtype(np.int8)

    def random(self, n, rng):
        return rng.integers(0, 10, (n, 4), dtype=np.int8)

    def vary(self, parents, rng):
        offspring = parents.copy()
        offspring[np.arange(len(parents)), rng.integers(0, 4, len(parents))] = rng.integers(0, 10, len(parents))
        return offspring

    def validate(self, solutions):
        return np.ascontiguousarray(solutions, dtype=np.int8)


def test_a_solution_space_of_ones_own():
    @tl.problem(solutions=Words(), features={"sum": (0, 37), "first": (0, 10)})
    def word(x):
        return -float(np.abs(np.diff(x)).sum()), (x.sum(), x[0])

    archive = tl.illuminate(word, grid=(37, 10), evaluations=2000, initial=100, seed=1)
    assert len(archive) > 100
    for elite in archive:
        assert elite.solution.dtype == np.int8
        assert elite.niche == 10 * min(int(elite.solution.sum()), 36) + int(elite.solution[0])
    with pytest.raises(ValueError, match="needs a Box space"):
        tl.illuminate(word, grid=5, evaluations=10, variation=gaussian())


# -- when nothing works --------------------------------------------------------------------------------------------


def test_nothing_valid_shows_the_error():
    def broken(x):
        return 1 // int(x[0] - x[0]), (x[0], x[1])

    def silent(x):
        return math.nan, (x[0], x[1])

    def short(x):
        return 1.0, (x[0],)

    @numba.njit
    def raising(x):
        if x[0] < 10:
            raise ValueError("no such place")
        return 1.0, (x[0], x[1])

    def make(function, **options):
        return tl.problem(solutions=BOX, features=FEATURES, **options)(function)

    cases = [
        (make(broken), r"(?s)broken: none of the first 50 evaluations.*return 1 // int.*ZeroDivisionError"),
        (make(silent), r"(?s)50 x fitness is NaN or infinite\).\n.*raised no exception"),
        (make(short), r"wrong shape: expected \(fitness, features\) of shapes \(\) and \(2,\), got \(\) and \(1,\)"),
        (make(raising), r"(?s)exception in the compiled function.*raise ValueError\(.no such place.\)"),
        (make(lambda x: 1 / 0, batch=True, name="vector"), "(?s)vector: none.*ZeroDivisionError: division by zero"),
    ]
    for problem, message in cases:
        with np.errstate(all="ignore"), pytest.raises(tl.NothingValid, match=message):
            tl.illuminate(problem, grid=5, evaluations=1000, initial=50, batch_size=200, seed=1)


def test_a_late_first_success_is_enough():
    # Only the first batch is judged: here its last row works, and no other ever does.
    calls = []

    @tl.problem(solutions=BOX, features=FEATURES)
    def picky(x):
        calls.append(1)
        if len(calls) != 20:
            raise RuntimeError("not today")
        return 1.0, (x[0], x[1])

    archive = tl.illuminate(picky, grid=5, evaluations=100, initial=60, batch_size=20, seed=1)
    assert len(archive) == 1
    assert archive.invalid == {"exception: RuntimeError": 99}
    assert archive.best.evaluation == 19


@pytest.mark.parametrize("how", [{}, {"asynchronous": True}, {"islands": 2, "exchange": 300}], ids=str)
def test_a_larger_first_batch_finds_the_valid_solutions_that_are_rare_on_workers_too(how):
    @tl.problem(solutions=BOX, features=FEATURES)
    def picky(x):
        return (1.0 if x[0] < 0.02 else math.nan), (x[0], x[1])

    settings = {"grid": 5, "evaluations": 400, "initial": 300, "seed": 5}
    with ThreadPoolExecutor(1) as pool:
        archive = tl.illuminate(picky, workers=pool, batch_size=300, **settings, **how)
    assert min(elite.evaluation for elite in archive) >= 20  # nothing in the first twenty
    with ThreadPoolExecutor(1) as pool, pytest.raises(tl.NothingValid, match=r"(?s)first 20 .*raise batch_size"):
        tl.illuminate(picky, workers=pool, batch_size=20, **settings, **how)


def test_an_archive_that_stays_empty_is_filled_with_random_solutions():
    # Told one by one, nothing valid: offspring need parents, so random solutions continue.
    search = tl.MapElites(BOX, GRID, initial=3, seed=1)
    seen = []
    for _ in range(6):
        seen.append(search.ask(2))
        search.tell(np.full(len(seen[-1]), np.nan), np.zeros((len(seen[-1]), 2)))
    rows = np.concatenate(seen)
    assert len(np.unique(rows, axis=0)) == len(rows)
    BOX.validate(rows)
