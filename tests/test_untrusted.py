"""Everything from users, files or user code is checked: compiled code never indexes with unchecked values."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit

import tesselite as tl
from tesselite.archive.evaluation import MARKED_INVALID
from tesselite.compiled.blocks import Lookup, lookup_block
from tesselite.search.map_elites import batches
from tesselite.tessellation.nearest.index import KINDS, build_index

SQUARE = tl.FeatureSpace({"a": (0, 1), "b": (0, 1)})
BOX, GRID = tl.Box(2), tl.GridTessellation(SQUARE, [4, 4])
EXTREMES = (
    *(0.0, 0.3, 1.0, -3.0, 5e-324, 1e-310, 2.0**54, 2.0**60, 1e100, -1e100, 1e154, 1e155, -1e200),
    *(1.7e308, -1.7e308, np.inf, -np.inf, np.nan),
)
NORMS = (2.0, 1.0, 0.5, np.inf, 3.0, 0.05, 64.0, 1000.0)
CENTROIDS = {shape: np.random.default_rng(0).random(shape) for shape in ((40, 1), (9000, 2), (700, 3), (200, 30))}


def kinds_for(d, p):
    return [kind for kind in KINDS if (p == 2.0 or kind in ("tree", "brute")) and (kind != "table" or d == 2)]


# -- look-ups ----------------------------------------------------------------------------------------------------------


@functools.cache
def index_of(shape, p, kind):
    return build_index(CENTROIDS[shape], p, kind)


def check_lookups(shape, p, rows):
    """Every index gives every row one of the centroids, and all of them the same one, as brute force does."""
    found = {kind: index_of(shape, p, kind).query(rows) for kind in kinds_for(shape[1], p)}
    for kind, niches in found.items():
        assert ((niches >= 0) & (niches < shape[0])).all(), kind
        assert np.array_equal(niches, found["brute"]), kind


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("shape", CENTROIDS, ids=str)
def test_every_lookup_gives_a_niche_whatever_the_values(shape, p):
    rng = np.random.default_rng(1)
    rows = rng.choice(EXTREMES, (300, shape[1]))
    rows[::3] = rng.random((100, shape[1]))
    rows[np.arange(0, 300, 3), rng.integers(0, shape[1], 100)] = rng.choice(EXTREMES, 100)
    alike = np.repeat(np.array(EXTREMES)[:, None], shape[1], axis=1)
    check_lookups(shape, p, np.concatenate([rows, alike]))


@pytest.mark.parametrize("shape", [(1,), (7, 9), (2,) * 50, (2**53, 2**9)], ids=str)
def test_every_row_has_a_cell_of_a_grid(shape):
    grid = tl.GridTessellation(tl.FeatureSpace.unit(len(shape)), list(shape))
    rows = np.random.default_rng(1).choice(EXTREMES, (500, len(shape)))
    niches = grid.niches_of_unit(rows)
    assert ((niches >= 0) & (niches < grid.n_niches)).all()
    inside = np.where(np.isnan(rows), 0.0, rows).clip(0.0, 1.0)
    assert np.array_equal(niches, grid.niches_of_unit(inside))


@pytest.mark.parametrize("p", [3.0, 2.0, np.inf])
@pytest.mark.parametrize("value", [1e308, -1e308])
def test_a_feature_that_overflows_when_it_is_scaled_goes_to_a_niche(p, value):
    archive = tl.Archive(tl.cvt(tl.FeatureSpace({"a": (0, 0.5)}), 500, seed=1, p=p), 2)
    added = archive.add(np.zeros((1, 2)), [1.0], [[value]])
    assert added.count(tl.Status.NEW) == 1
    assert archive.out_of_bounds == 1
    assert added.niches[0] in archive


def test_bounds_that_cannot_be_scaled_are_refused():
    with pytest.raises(ValueError, match="the bounds of 'b' are too close"):
        tl.FeatureSpace({"a": (0, 1), "b": (0, 1e-310)})
    with pytest.raises(ValueError, match="the bounds of 'b' are too far"):
        tl.FeatureSpace({"a": (0, 1), "b": (-1e308, 1e308)})


@pytest.mark.parametrize("tessellation", ["grid", "cvt"])
def test_the_compiled_loop_survives_features_that_overflow(tessellation):
    space = tl.FeatureSpace({"a": (0, 0.5), "b": (0, 0.5)})

    @tl.problem(solutions=tl.Box(2), features=space)
    @njit
    def far(x):
        return x[0], ((x[0] - 0.5) * 1.7e308, x[1] * 1e308 if x[1] > 0.5 else x[1])

    options = {"grid": [5, 5]} if tessellation == "grid" else {"n_niches": 40}
    archive = tl.illuminate(far, evaluations=3000, initial=100, batch_size=100, seed=1, **options)
    niches = archive.elites().niches
    assert niches.min() >= 0
    assert niches.max() < archive.n_niches
    assert archive.out_of_bounds > 2000


# -- archives from files and other processes ---------------------------------------------------------------------------


def filled(n_niches=25):
    archive = tl.Archive(tl.GridTessellation(SQUARE, [5, n_niches // 5]), 2)
    rng = np.random.default_rng(0)
    archive.add(rng.random((50, 2)), rng.random(50), rng.random((50, 2)))
    return archive


@pytest.mark.parametrize("n_niches", [25, 5 * 2**20], ids=["few niches", "many niches"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"niches": lambda a: np.where(np.arange(len(a)) == 3, 10**9, a)}, "niches from 0 to"),
        ({"niches": lambda a: np.where(np.arange(len(a)) == 3, -1, a)}, "niches from 0 to"),
        ({"niches": lambda a: np.where(np.arange(len(a)) == 3, a[0], a)}, "each once"),
        ({"niches": lambda a: a.astype(float)}, "whole numbers"),
        ({"niches": lambda a: a[:-1]}, "expected"),
        ({"fitness": lambda a: a[:-1]}, "expected"),
        ({"fitness": lambda a: a * np.nan}, "finite"),
        ({"features": lambda a: a[:, :1]}, r"features \(n, 2\)"),
        ({"features": lambda a: a * np.inf}, "finite"),
        ({"solutions": lambda a: a[:, :1]}, r"solutions \(n, 2\)"),
        ({"evaluations": lambda a: a[:-1]}, "expected"),
    ],
)
def test_restore_takes_only_what_is_an_archive(n_niches, change, message):
    archive = filled(n_niches)
    elites = archive.in_order_of_filling()
    with np.errstate(invalid="ignore"):
        broken = replace(elites, **{name: f(getattr(elites, name)) for name, f in change.items()})
    other = archive.empty_copy()
    with pytest.raises(ValueError, match=message):
        other.restore(broken)
    assert len(other) == 0
    other.restore(elites)
    assert other.equals(archive)


@pytest.mark.parametrize(
    ("column", "values"),
    [("niche", [10**12, 3]), ("niche", [-5, 3]), ("niche", [3, 3]), ("order", [0, 0]), ("order", [5, -2])],
)
def test_a_crafted_file_with_the_right_digest_is_refused(tmp_path, column, values):
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    from tesselite.base.arrow import columns_of
    from tesselite.base.checksum import sealed

    archive = tl.Archive(tl.GridTessellation(SQUARE, [5, 5]), 2)
    archive.add(np.zeros((2, 2)), [1.0, 2.0], [[0.1, 0.1], [0.9, 0.9]])
    path = archive.save(tmp_path / "a.parquet")
    table = pq.read_table(path)
    table = table.set_column(table.column_names.index(column), column, pa.array(values, pa.int64()))
    about = json.loads(table.schema.metadata[b"tesselite"])
    del about["digest"]
    about = sealed(about, columns_of(table))
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about).encode()}), path)
    with pytest.raises(ValueError, match=r"a\.parquet: .*expected"):
        tl.Archive.load(path)


def test_archives_that_only_claim_the_same_tessellation_are_not_merged():
    few, many = tl.Archive(Own(5), 1), tl.Archive(Own(50), 1)
    many.tessellation.answer = lambda unit: np.full(len(unit), 49)
    many.add([[0.0]], [1.0], [[0.1, 0.1]])
    with pytest.raises(ValueError, match="same tessellation"):
        few.merge(many)


# -- user code ---------------------------------------------------------------------------------------------------------


class Own(tl.Tessellation):
    """A user's tessellation, which returns arbitrary values."""

    space = SQUARE

    def __init__(self, n_niches, answer=lambda unit: np.zeros(len(unit), np.int64), tie_breaking=()):
        self.n_niches, self.answer, self.tie_breaking = n_niches, answer, tie_breaking

    def niches_of_unit(self, unit):
        return self.answer(unit)

    def to_dict(self):
        return {}


@pytest.mark.parametrize("n_niches", [10, 2**21], ids=["few niches", "many niches"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda unit: np.full(len(unit), 2**40),
        lambda unit: np.full(len(unit), -1),
        lambda unit: np.full(len(unit), 2**63 + 5, np.uint64),
        lambda unit: np.zeros(len(unit) + 1, np.int64),
        lambda unit: np.zeros(1, np.int64),
        lambda unit: np.zeros((len(unit), 1), np.int64),
        lambda unit: np.zeros(len(unit)),
        lambda unit: None,
        lambda unit: "niche",
        lambda unit: np.r_[np.zeros(len(unit) - 1, np.int64), 2**21],
    ],
)
def test_a_tessellation_that_lies_is_refused_and_nothing_is_added(n_niches, answer):
    archive = tl.Archive(Own(n_niches, answer), 2)
    with pytest.raises(ValueError, match=r"^tessellation: expected niches"):
        archive.add(np.zeros((4, 2)), [1.0, 2.0, np.nan, 3.0], np.zeros((4, 2)))
    assert len(archive) == 0
    assert not archive.invalid
    archive.tessellation.answer = lambda unit: np.arange(len(unit), dtype=np.int32)  # a correct one, of other integers
    assert archive.add(np.zeros((4, 2)), [1.0, 2.0, np.nan, 3.0], np.zeros((4, 2))).niches.tolist() == [0, 1, -1, 3]


class BlockedGrid(tl.GridTessellation):
    """A grid whose niches are found by a block of its own, which raises for some points."""

    @property
    def lookup(self):
        floats, ints = np.zeros(0), np.zeros(0, np.int64)
        return Lookup(raising, floats, ints)


@lookup_block
def raising(points, floats, ints, niches):
    for i in range(len(niches)):
        if points[i, 0] == 1.0:  # offspring of the loop alone lie there
            raise ValueError("too far")
        niches[i] = int(points[i, 1] * 4.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_in_a_look_up_of_ones_own_stops_the_search(threads):
    grid = BlockedGrid(SQUARE, [4, 4])
    with pytest.raises(ValueError, match="expected niches from 0 to 15, got others for"):
        tl.illuminate(SLOPE, tessellation=grid, evaluations=5000, seed=1, threads=threads)
    with pytest.raises(ValueError, match="expected niches from 0 to 15"):
        tl.Archive(grid, 2).add(np.zeros((2, 2)), [1.0, 2.0], [[0.5, 0.5], [1.0, 0.5]])


def test_a_block_of_ones_own_is_compiled_again_when_it_changes():
    for niche in (1, 2):

        def constant(points, floats, ints, niches, niche=niche):
            niches[:] = niche

        found = np.zeros(3, np.int64)
        Lookup(lookup_block(constant), np.zeros(0), np.zeros(0, np.int64)).find(np.zeros((3, 2)), found)
        assert (found == niche).all()


def test_what_a_tessellation_returns_is_left_alone():
    niches = np.arange(3)
    niches.flags.writeable = False
    archive = tl.Archive(Own(10, lambda unit: niches), 2)
    archive.add(np.zeros((3, 2)), [1.0, np.nan, 2.0], np.zeros((3, 2)))
    assert niches.tolist() == [0, 1, 2]


def test_a_tessellation_that_changes_its_number_of_niches_does_not_change_the_archive():
    own = Own(10)
    archive = tl.Archive(own, 2)
    own.n_niches, own.answer = 10**6, lambda unit: np.full(len(unit), 10**5)
    with pytest.raises(ValueError, match="niches from 0 to 9, got 100000"):
        archive.add(np.zeros((1, 2)), [1.0], np.zeros((1, 2)))
    assert archive.n_niches == 10


@pytest.mark.parametrize(
    "own", [Own(0), Own(-1), Own(2.5), Own(2**63), Own(None), Own(9, tie_breaking=[2.0] * 3), object(), True, None]
)
def test_what_is_not_a_tessellation_is_refused(own):
    with pytest.raises(ValueError, match=r"^tessellation: expected"):
        tl.Archive(own, 2)
    with pytest.raises(ValueError, match=r"^tessellation: expected"):
        tl.MapElites(tl.Box(2), own)


class Lying(tl.Problem):
    """A user's problem whose `evaluate_rows` returns arbitrary values."""

    name = "lying"
    solutions = tl.Box(2)
    features = SQUARE
    scenarios = ("another",)

    def __init__(self, answer):
        self.answer = answer

    def evaluate_rows(self, rows, scenario, threads):
        return self.answer(rows)


def honest(rows):
    return tl.Evaluation.of(rows.sum(axis=1), rows)


WRONG = {
    "too few features": lambda e: replace(e, features=e.features[:, :1].copy()),
    "too many features": lambda e: replace(e, features=np.tile(e.features, 2)),
    "flat features": lambda e: replace(e, features=e.features[:, 0].copy()),
    "too few fitnesses": lambda e: replace(e, fitness=e.fitness[:-1]),
    "fitness in a column": lambda e: replace(e, fitness=e.fitness[:, None]),
    "too few rows": lambda e: replace(e, fitness=e.fitness[:-1], features=e.features[:-1], valid=e.valid[:-1]),
    "too many rows": lambda e: tl.Evaluation.joined([e, e]),
    "too few valid": lambda e: replace(e, valid=e.valid[:1]),
    "valid in numbers": lambda e: replace(e, valid=np.full(len(e), 2)),
    "texts": lambda e: replace(e, fitness=["good"] * len(e)),
    "ragged": lambda e: replace(e, features=[[1.0]] + [[1.0, 2.0]] * (len(e) - 1)),
    "huge": lambda e: replace(e, fitness=[10**400] * len(e)),
    "a reason for a row that is not there": lambda e: replace(e, reasons={10**9: "why"}),
    "a reason for no row": lambda e: replace(e, reasons={"first": "why"}),
    "a tuple": lambda e: (e.fitness, e.features),
    "nothing": lambda e: None,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_problem_that_returns_something_else_is_refused(name):
    problem = Lying(lambda rows: WRONG[name](honest(rows)))
    with pytest.raises(ValueError, match=r"^evaluation: expected"):
        problem.evaluate(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match=r"^evaluation: expected"):
        tl.illuminate(problem, grid=[4, 4], evaluations=300, initial=100, seed=1)
    with pytest.raises(ValueError, match=r"^evaluation: expected"):
        tl.assess(filled(), problem)
    search = tl.MapElites(problem.solutions, tl.GridTessellation(SQUARE, [4, 4]), seed=1)
    asked = search.ask(5)
    with pytest.raises(ValueError, match=r"^evaluation: expected"):
        search.tell_evaluation(problem.answer(asked))
    assert len(search.archive) == search.evaluations == 0
    search.tell_evaluation(honest(asked))  # the right answer is still accepted
    assert search.evaluations == 5


def test_nothing_that_is_not_finite_counts_as_valid_and_all_that_is_invalid_is_counted():
    fitness = np.array([1.0, np.nan, 2.0, 3.0, 4.0])
    features = np.array([[0.1, 0.1], [0.2, 0.2], [np.inf, 0.3], [0.9, 0.9], [0.7, 0.7]])
    lie = tl.Evaluation(fitness, features, np.array([True, True, True, False, True]), {4: "why"})
    search = tl.MapElites(tl.Box(2), tl.GridTessellation(SQUARE, [4, 4]), seed=1)
    search.ask(5)
    added = search.tell_evaluation(lie)
    assert added.status.tolist() == [1, 3, 3, 3, 3]
    assert added.niches.tolist() == [0, -1, -1, -1, -1]
    reasons = {"fitness is NaN or infinite": 1, "a feature is NaN or infinite": 1, MARKED_INVALID: 1, "why": 1}
    assert search.archive.invalid == reasons
    assert features[2, 0] == np.inf  # the input is unchanged


class OwnSpace:
    """A user's solution space that draws and accepts arbitrary values."""

    width, dtype = 2, np.dtype(np.float64)

    def __init__(self, drawn):
        self.drawn = drawn

    def random(self, n, rng):
        return self.drawn(n)

    vary = staticmethod(lambda parents, rng: parents)

    def validate(self, solutions):
        return np.asarray(solutions)


@pytest.mark.parametrize(
    "drawn",
    [
        lambda n: np.zeros((n, 1)),
        lambda n: np.zeros((n + 1, 2)),
        lambda n: np.zeros(n),
        lambda n: np.zeros((n, 2), np.float32),
        lambda n: None,
    ],
)
def test_a_space_that_draws_other_solutions_is_refused(drawn):
    search = tl.MapElites(OwnSpace(drawn), tl.GridTessellation(SQUARE, [4, 4]), seed=1)
    with pytest.raises(ValueError, match=r"^solution_space\.random: expected 5 rows"):
        search.ask(5)


@njit
def slope(x):
    return x[0], (x[0], x[1])


SLOPE = tl.problem(solutions=tl.Box(2), features=SQUARE)(slope)


def run_with(callback, problem=SLOPE):
    options = {"grid": [8, 8], "evaluations": 20_000, "initial": 100, "batch_size": 100, "seed": 1}
    tl.illuminate(problem, **options, progress=lambda run: callback(run.search))


def test_the_archive_of_a_search_cannot_be_swapped():
    with pytest.raises(AttributeError, match="no setter"):
        run_with(lambda s: setattr(s, "archive", tl.Archive(tl.GridTessellation(SQUARE, [2, 2]), 2)))


@pytest.mark.parametrize(("name", "other"), [("emitter", tl.emitters.curiosity()), ("solution_space", tl.Box(3))])
def test_what_the_compiled_loop_holds_on_to_cannot_be_swapped(name, other):
    with pytest.raises(AttributeError, match="no setter"):
        run_with(lambda s: setattr(s, name, other))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.change_tessellation(tl.GridTessellation(tl.FeatureSpace.unit(3), [8] * 3)),
        lambda s: s.change_tessellation(None),
        lambda s: setattr(s.archive, "_fitness", np.zeros(3)),
        lambda s: setattr(s.archive, "_solutions", np.zeros((64, 1))),
        lambda s: setattr(s.archive, "_solutions", np.zeros((64, 2), np.float32)),
        lambda s: setattr(s.archive, "_features", np.zeros((64, 1))),
        lambda s: setattr(s.archive, "_niches", np.zeros(1, np.int64)),
        lambda s: setattr(s.archive, "_evaluations", np.zeros(1, np.int64)),
        lambda s: setattr(s.archive, "_index", (np.empty(0, np.int64), np.full(1, -1))),
        lambda s: s.archive.note_filled(10**9),
        lambda s: s.archive.tessellation.strides.__setitem__(slice(None), 10**12),
    ],
)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
def test_a_callback_that_breaks_the_archive_is_an_error(change, compiled):
    problem = SLOPE if compiled else Lying(honest)
    with pytest.raises(ValueError, match=r"expected|replaced or resized"):
        run_with(change, problem)


def test_a_problem_of_other_spaces_than_the_search_is_refused():
    for solutions, features in ((tl.Box(3), SQUARE), (tl.Box(2), tl.FeatureSpace.unit(3))):
        search = tl.MapElites(solutions, tl.GridTessellation(features, [4] * features.n), initial=10, seed=1)
        search.tell(np.ones(10), np.full((len(search.ask(10)), features.n), 0.5))
        with pytest.raises(ValueError, match=r"^problem: expected solutions and features like the search's"):
            list(batches(search, SLOPE, 1000))


@pytest.mark.parametrize("batch", [True, False])
def test_a_function_that_changes_its_rows_changes_nothing_else(batch):
    """It halves them in place and raises at some: what is evaluated again is evaluated from pristine copies."""

    @tl.problem(solutions=tl.Box(2), features=SQUARE, batch=batch)
    def halving(x):
        x *= 0.5
        if (x[..., 0] > 0.45).any():
            raise RuntimeError
        return x.sum(axis=-1), x

    rows = np.random.default_rng(1).random((200, 2))
    before = rows.copy()
    fine = rows[:, 0] <= 0.9
    for evaluated in (halving.evaluate(rows), halving.evaluate_rows(rows, None, 1)):
        assert np.array_equal(rows, before)
        assert np.array_equal(evaluated.valid, fine)
        assert np.array_equal(evaluated.features[fine], before[fine] / 2)


# -- all of that at random ---------------------------------------------------------------------------------------------

REALS = st.one_of(st.sampled_from(EXTREMES), st.floats(-2, 3), st.floats())


@st.composite
def lookups(draw):
    shape, p = draw(st.sampled_from(list(CENTROIDS))), draw(st.sampled_from(NORMS))
    return shape, p, draw(hnp.arrays(np.float64, (draw(st.integers(1, 9)), shape[1]), elements=REALS))


def arrays(*shape):
    """Arrays of this shape, mostly, of values of all kinds."""
    others = [shape[:-1], (*shape, 1), (shape[0] + 1, *shape[1:]), (shape[0] - 1, *shape[1:]), (0,) * len(shape)]
    if len(shape) == 2:
        others += [(shape[0], 1), (shape[0], shape[1] + 1), (shape[1], shape[0])]
    shapes = st.one_of(st.just(shape), st.just(shape), st.sampled_from(others))
    kinds = st.sampled_from(
        [np.float64] * 4 + [np.float32, np.int64, np.uint64, np.int8, np.bool_, np.complex128, "U3"]
    )
    numbers = hnp.arrays(np.float64, shapes, elements=REALS)
    whole = hnp.arrays(np.int64, shapes, elements=st.integers(-2, 2**21) | st.sampled_from([2**62, -(2**63)]))
    truths = hnp.arrays(np.bool_, shapes)
    return st.one_of(numbers, whole, truths, hnp.arrays(kinds, shapes), st.sampled_from([None, 1.0, "x", [[1.0], []]]))


LARGE = tl.GridTessellation(SQUARE, [2**11, 2**10])
ROW_COUNTS = st.integers(1, 5)
EVALUATIONS = ROW_COUNTS.flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.builds(
            tl.Evaluation,
            st.one_of(hnp.arrays(np.float64, (n,), elements=REALS), arrays(n)),
            st.one_of(hnp.arrays(np.float64, (n, 2), elements=REALS), arrays(n, 2)),
            st.one_of(hnp.arrays(np.bool_, (n,)), arrays(n)),
            st.dictionaries(st.integers(-2, n), st.sampled_from(["why", "because"]), max_size=2),
        ),
    )
)
NICHES = ROW_COUNTS.flatmap(lambda n: st.tuples(st.just(n), arrays(n)))
ELITES = ROW_COUNTS.flatmap(
    lambda n: st.builds(
        tl.Elites,
        st.one_of(hnp.arrays(np.int64, (n,), elements=st.integers(-1, 16)), arrays(n)),
        st.one_of(hnp.arrays(np.float64, (n,), elements=st.floats(-1, 1)), arrays(n)),
        st.one_of(hnp.arrays(np.float64, (n, 2), elements=st.floats(0, 1)), arrays(n, 2)),
        st.one_of(hnp.arrays(np.float64, (n, 2), elements=st.floats(0, 1)), arrays(n, 2)),
        st.one_of(hnp.arrays(np.int64, (n,)), arrays(n)),
        st.just(("a", "b")),
    )
)


def check_whole(archive):
    """The archive holds one finite elite for each niche of its own, each where the index says."""
    elites = archive.elites()
    assert len(set(elites.niches.tolist())) == len(elites) == len(archive)
    assert np.isfinite(elites.fitness).all()
    assert np.isfinite(elites.features).all()
    assert [archive.get(niche).niche for niche in elites.niches.tolist()] == elites.niches.tolist()


def check_evaluation(case):
    n, evaluated = case
    for tessellation in (GRID, LARGE):
        search = tl.MapElites(BOX, tessellation, seed=1)
        search.ask(n)
        try:
            search.tell_evaluation(evaluated)
        except ValueError as error:
            assert str(error).startswith("evaluation: expected")  # noqa: PT017
            assert search.evaluations == len(search.archive) == search.archive.invalid.total() == 0
        else:
            assert search.archive.invalid.total() >= n - np.isfinite(evaluated.fitness).sum()
        check_whole(search.archive)


def check_niches(case):
    n, niches = case
    for n_niches in (10, 2**21 + 1):
        archive = tl.Archive(Own(n_niches, lambda unit: niches), 2)
        try:
            archive.add(np.zeros((n, 2)), np.ones(n), np.zeros((n, 2)))
        except ValueError as error:
            assert str(error).startswith("tessellation: expected niches")  # noqa: PT017
            assert len(archive) == 0
        check_whole(archive)


def check_elites(elites):
    for tessellation in (GRID, LARGE):
        archive = tl.Archive(tessellation, 2)
        try:
            archive.restore(elites)
        except ValueError:
            assert len(archive) == 0
        check_whole(archive)
        archive.add([[0.0, 0.0]], [1.0], [[0.5, 0.5]])
        archive.merge(archive.copy())
        check_whole(archive)


FUZZ = {
    "look-ups": (lookups(), lambda case: check_lookups(*case)),
    "evaluations": (EVALUATIONS, check_evaluation),
    "niches": (NICHES, check_niches),
    "elites": (ELITES, check_elites),
}


@pytest.mark.parametrize("name", FUZZ)
def test_fuzz(name):
    cases, check = FUZZ[name]
    settings(max_examples=60)(given(cases)(check))()


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZ)
def test_fuzz_for_long(name):
    cases, check = FUZZ[name]
    settings(max_examples=5000)(given(cases)(check))()


# -- threads -----------------------------------------------------------------------------------------------------------


def test_an_archive_refuses_a_second_thread():
    inside, go_on = threading.Event(), threading.Event()
    archive = filled()

    def hold():
        with archive.one_at_a_time:
            inside.set()
            go_on.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    try:
        before = archive.copy()
        for change in (
            lambda: archive.add(np.zeros((1, 2)), [9.0], [[0.5, 0.5]]),
            lambda: archive.merge(before),
            lambda: before.empty_copy().merge(before) and archive.merge(before),
        ):
            with pytest.raises(RuntimeError, match="another thread is changing it"):
                change()
        assert archive.equals(before)
    finally:
        go_on.set()
        holder.join()
    archive.add(np.zeros((1, 2)), [9.0], [[0.5, 0.5]])


def test_a_thread_of_the_loop_that_fails_leaves_nobody_waiting(monkeypatch):
    """A helper claims a chunk and then runs out of memory: the leader stops, and its earlier insertions are
    recorded."""
    from tesselite.compiled import crew
    from tesselite.search import loop

    tl.illuminate(SLOPE, grid=3, evaluations=3000, batch_size=1024, threads=2, seed=1)  # compiles, which may take long
    crew.claim(crew.new_control())
    crew.wait_for_work(crew.new_control(), 0)
    run, ended = loop._run_batches, []

    def failing(leads, parts, scratch, batch, elites, stretch, evaluated):
        if leads:
            return run(leads, parts, scratch, batch, elites, stretch, evaluated)
        control = stretch.control
        while crew.claim(control) < 0:
            if not crew.wait_for_work(control, 0):
                return None  # too late for this stretch
        raise MemoryError

    monkeypatch.setattr(loop, "_run_batches", failing)
    search = tl.MapElites(BOX, GRID, initial=64, seed=1)

    def go():
        try:
            list(batches(search, SLOPE, 10**8, batch_size=1024, threads=2))
        except MemoryError:
            ended.append(len(search.archive))

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join(timeout=120)
    assert ended
    search.archive.merge(search.archive.copy())
    niches = search.archive.elites().niches
    assert len(set(niches.tolist())) == len(niches) == ended[0]


def test_copies_of_an_archive_have_a_turn_of_their_own():
    archive = filled()
    with archive.one_at_a_time:
        for other in (archive.copy(), copy.deepcopy(archive), pickle.loads(pickle.dumps(archive))):
            other.add(np.zeros((1, 2)), [9.0], [[0.5, 0.5]])
            assert other.best_fitness == 9.0
    assert archive.best_fitness < 1.0


# -- numbers -----------------------------------------------------------------------------------------------------------

HUGE = 10**400
NUMBERS = {
    "bounds of features": lambda x: tl.FeatureSpace({"a": (0, x)}),
    "bounds of solutions": lambda x: tl.Box(2, 0, x),
    "width of solutions": lambda x: tl.Box(x),
    "solutions": lambda x: BOX.validate([[x, x]]),
    "levels": lambda x: tl.Levels(2, [0, x]),
    "shape of a grid": lambda x: tl.GridTessellation(SQUARE, [2, x]),
    "features in a grid": lambda x: GRID.niche_of([x, x]),
    "centroids": lambda x: tl.VoronoiTessellation(SQUARE, [[x, x]]),
    "p": lambda x: tl.VoronoiTessellation(SQUARE, [[0.5, 0.5]], p=x),
    "features among centroids": lambda x: tl.VoronoiTessellation(SQUARE, [[0.5, 0.5]]).niche_of([x, x]),
    "samples": lambda x: tl.cvt(SQUARE, 1, samples=[[x, x]]),
    "tolerance": lambda x: tl.cvt(SQUARE, 1, tolerance=x),
    "width of an archive": lambda x: tl.Archive(GRID, x),
    "kind of an archive": lambda x: tl.Archive(GRID, 2, dtype=x),
    "floor": lambda x: tl.problem(solutions=BOX, features=SQUARE, floor=x)(slope.py_func),
    "solutions of an archive": lambda x: tl.Archive(GRID, 2).add([[x, x]], [1.0], [[0.5, 0.5]]),
    "fitness": lambda x: tl.Archive(GRID, 2).add([[0.0, 0.0]], x, [[0.5, 0.5]]),
    "features": lambda x: tl.Archive(GRID, 2).add([[0.0, 0.0]], [1.0], x),
    "number of an evaluation": lambda x: tl.Archive(GRID, 2).add([[0.0, 0.0]], [1.0], [[0.5, 0.5]], evaluation=x),
    "nearest": lambda x: filled().nearest([x, x]),
    "number of elites": lambda x: filled().sample(x, np.random.default_rng(1)),
    "archive to merge": lambda x: filled().merge(x),
    "evaluations": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=x),
    "number of niches": lambda x: tl.illuminate(SLOPE, n_niches=x, evaluations=10),
    "cells": lambda x: tl.illuminate(SLOPE, grid=x, evaluations=10),
    "step": lambda x: tl.variation.gaussian(x),
    "timeout": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, workers=1, timeout=x),
    "retries": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, workers=1, retries=x),
    "workers": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, workers=x),
    "workers of Dask": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, workers=f"local:{x!r}"),
    "islands": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, islands=x),
    "exchange": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, islands=2, exchange=x),
    "checkpoints": lambda x: tl.run(SLOPE, grid=3, evaluations=10, checkpoint_seconds=x),
    "seed": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, seed=x),
    "initial": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, initial=x),
    "batch size": lambda x: tl.illuminate(SLOPE, grid=3, evaluations=10, batch_size=x),
    "number of samples": lambda x: tl.cvt(SQUARE, 3, n_samples=x),
    "iterations": lambda x: tl.cvt(SQUARE, 3, iterations=x),
}


WELCOME = {"solutions of an archive": "nan", "seed": str(HUGE)}  # a solution is what its space accepts


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_none_get_an_error_of_ours(name):
    for value in (HUGE, -HUGE, float("nan"), "much", 1j, [1.0, [2.0]], object()):
        if str(value) != WELCOME.get(name):
            with pytest.raises(ValueError, match=r"^\w+: (expected|row|got)|^expected"):
                NUMBERS[name](value)


@pytest.mark.parametrize("workers", [10**6, f"local:{10**6}"], ids=str)
def test_no_more_processes_are_started_than_a_machine_may_have(workers):
    with pytest.raises(ValueError, match="expected at most 4,096 processes on one machine, got 1,000,000"):
        tl.illuminate(SLOPE, grid=3, evaluations=10, workers=workers)


@pytest.mark.parametrize("tessellation", [True, 3, "grid", object()], ids=lambda one: type(one).__name__)
def test_a_tessellation_that_is_none_gets_an_error_of_ours(tessellation):
    with pytest.raises(ValueError, match=r"^tessellation: expected a grid or a CVT"):
        tl.illuminate(SLOPE, tessellation=tessellation, evaluations=10)


def test_levels_whose_difference_is_infinite_are_refused():
    with pytest.raises(ValueError, match=r"^values: expected levels whose difference is a finite number"):
        tl.Levels(2, [-1e308, 1e308])


@pytest.mark.parametrize("bounds", ["clip", "reflect"])
@pytest.mark.parametrize(
    "make", [tl.variation.gaussian, tl.variation.iso_line, tl.variation.sbx, tl.variation.polynomial]
)
@pytest.mark.parametrize("width", [2, 9], ids=["one by one", "in lanes"])
def test_offspring_stay_in_boxes_as_large_as_numbers_go(make, bounds, width):
    for low, high in ((-8e307, 8e307), (0.0, 1.7e308)):
        box = tl.Box(width, low, high)
        rng = np.random.default_rng(1)
        for operator in (make(bounds=bounds), make(1e6, bounds=bounds)):
            parents = box.random(500, rng)
            if operator.n_parents == 2:
                parents = np.stack([parents, box.random(500, rng)])
            box.validate(operator(parents, box, rng))


def test_reflection_folds_back_what_a_large_box_leaves():
    box, one = tl.Box(2, -8e307, 8e307), tl.Box(2, -0.5, 0.5)
    parents = one.random(500, np.random.default_rng(1))
    step = tl.variation.gaussian(0.1, bounds="reflect")
    large, small = (step(p, b, np.random.default_rng(2)) for p, b in ((1.6e308 * parents, box), (parents, one)))
    assert np.allclose(large / 1.6e308, small, atol=1e-12)


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_memory_is_for_batches_that_there_are(monkeypatch):
    """A batch of 10^12 rows is one of as many as there are evaluations, and finds the same."""
    from tesselite.search import loop

    sizes, make = [], loop.CompiledLoop.__init__
    monkeypatch.setattr(
        loop.CompiledLoop,
        "__init__",
        lambda self, search, problem, size, n: (sizes.append(size), make(self, search, problem, size, n))[0],
    )
    options = {"grid": [4, 4], "evaluations": 1000, "initial": 100, "seed": 1}
    found = tl.illuminate(SLOPE, batch_size=10**12, **options)
    assert max(sizes) == 1000
    assert found.equals(tl.illuminate(SLOPE, batch_size=900, **options))


def test_threads_beyond_a_few_per_core_are_not_started(monkeypatch):
    from tesselite.base import threads

    monkeypatch.setattr(threads, "available_threads", lambda: 2)
    assert [threads.checked_threads(n) for n in (None, 1, 5, 15_000, HUGE)] == [2, 1, 5, 16, 16]
