"""Archive against a dictionary, its algebra under merge, and its files."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter

import numba
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tesselite as tl
from tesselite import Archive, GridTessellation, Status
from tesselite.archive import elitism
from tesselite.archive import file as archive_file
from tesselite.archive.evaluation import FEATURES_NOT_FINITE, FITNESS_NOT_FINITE
from tesselite.base.arrow import columns_of, read_parquet, write_parquet
from tesselite.base.checksum import sealed

GRID = GridTessellation(tl.FeatureSpace({"a": (0, 4), "b": (0, 2)}), (4, 2))
RELEASED = GridTessellation(GRID.space, GRID.shape, cells="released")
HUGE = GridTessellation(tl.FeatureSpace.unit(50), 2)
QUICK = settings(max_examples=60)

# Few values, so that ties, duplicates and rivals for a niche are common.
FITNESS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0, 2.0, math.nan, math.inf, -math.inf])
VALUE = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.5, 2.5, 3.9, 4.0, 9.0, math.nan, math.inf])
ROWS = st.lists(st.tuples(FITNESS, VALUE, VALUE, st.integers(0, 2)), max_size=30)
BATCHES = st.lists(ROWS, max_size=5)


@pytest.fixture(params=["dense", "hash"])
def index(request, monkeypatch):
    """Run a test with either index from niche to row."""
    if request.param == "hash":
        monkeypatch.setattr(elitism, "DENSE_NICHES", 1)
    return request.param


def split(rows, width=2):
    """Candidates as arrays: the solution tells rows apart."""
    fitness = np.array([row[0] for row in rows], dtype=float)
    features = np.array([row[1:3] for row in rows], dtype=float).reshape(-1, 2)
    solutions = np.array([[row[3]] * width for row in rows], dtype=float).reshape(-1, width)
    return solutions, fitness, features


def off_lattice(a, b):
    """How far the released rule says that features of GRID's space are from the middle of a cell; squared, exact."""
    p, q = min(max(a / 4, 0), 1), min(max(b / 2, 0), 1)
    return (p - math.floor(3 * p + 0.5) / 3) ** 2 + (q - math.floor(q + 0.5)) ** 2


def brute(direction, batches, released=False):
    """The definition: a dictionary from niche to the elite, filled one by one."""
    elites, statuses, invalid, outside = {}, [], Counter(), 0
    number = 0
    for rows in batches:
        for fitness, a, b, solution in rows:
            number += 1
            if not math.isfinite(fitness):
                invalid[FITNESS_NOT_FINITE] += 1
                statuses.append((Status.INVALID, -1))
                continue
            if not (math.isfinite(a) and math.isfinite(b)):
                invalid[FEATURES_NOT_FINITE] += 1
                statuses.append((Status.INVALID, -1))
                continue
            outside += not (0 <= a <= 4 and 0 <= b <= 2)
            shift = 0.5 if released else 0.0
            niche = 2 * min(max(math.floor(a + shift), 0), 3) + min(max(math.floor(b + shift), 0), 1)
            old = elites.get(niche)
            better = old is None or (fitness > old[0] if direction == "max" else fitness < old[0])
            better |= released and old is not None and fitness == old[0] and off_lattice(a, b) < off_lattice(*old[1])
            statuses.append((Status.NEW if old is None else Status.IMPROVED if better else Status.REJECTED, niche))
            if better:
                elites[niche] = (fitness, (a, b), float(solution), number - 1)
    return elites, statuses, invalid, outside


def content(archive):
    """The elites as a dictionary in the form of `brute`."""
    return {e.niche: (e.fitness, tuple(e.features.tolist()), float(e.solution[0]), e.evaluation) for e in archive}


def filled(batches, direction="max", tessellation=GRID):
    archive, number, statuses = Archive(tessellation, 2, direction=direction), 0, []
    for rows in batches:
        added = archive.add(*split(rows), evaluation=number)
        statuses += zip(added.status.tolist(), added.niches.tolist(), strict=True)
        number += len(rows)
    return archive, statuses


# -- the rule ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tessellation", [GRID, RELEASED], ids=["equal", "released"])
@pytest.mark.parametrize("direction", ["max", "min"])
def test_against_a_dictionary(index, direction, tessellation):
    @given(BATCHES)
    @QUICK
    def check(batches):
        archive, statuses = filled(batches, direction, tessellation)
        elites, expected, invalid, outside = brute(direction, batches, tessellation is RELEASED)
        assert content(archive) == elites
        assert statuses == expected
        assert archive.invalid == invalid
        assert archive.out_of_bounds == outside
        assert len(archive) == len(elites)
        assert archive.coverage == len(elites) / 8
        assert [e.niche for e in archive] == sorted(elites)
        assert archive.in_order_of_filling().niches.tolist() == list(elites)
        for niche in range(8):
            found = archive.get(niche)
            assert (found is None) == (niche not in elites) == (niche not in archive)
            assert found is None or found.fitness == elites[niche][0]
        if elites:
            fitness = [e[0] for e in elites.values()]
            best = (max if direction == "max" else min)(fitness)
            assert archive.best_fitness == best
            assert archive.best.niche == min(n for n, e in elites.items() if e[0] == best)
            assert archive.mean_fitness == pytest.approx(sum(fitness) / len(fitness))

    check()


def test_a_batch_is_what_one_by_one_gives(index):
    @given(BATCHES, st.sampled_from(["max", "min"]))
    @QUICK
    def check(batches, direction):
        together, statuses = filled(batches, direction)
        single, one_by_one = filled([[row] for rows in batches for row in rows], direction)
        joined, _ = filled([[row for rows in batches for row in rows]], direction)
        assert statuses == one_by_one
        assert content(together) == content(single) == content(joined)
        assert together.invalid == single.invalid == joined.invalid
        assert together.out_of_bounds == single.out_of_bounds

    check()


def test_hand_solved_batch():
    archive = Archive(GRID, 2)
    added = archive.add(
        [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]],
        [1.0, 2.0, 2.0, math.nan, -1.0, 3.0],
        [[0.5, 0.5], [0.6, 0.6], [0.7, 0.7], [0.5, 0.5], [3.5, 1.5], [8.0, 1.5]],
        evaluation=100,
    )
    names = [Status(s).name for s in added.status]
    assert names == ["NEW", "IMPROVED", "REJECTED", "INVALID", "NEW", "IMPROVED"]
    assert added.niches.tolist() == [0, 0, 0, -1, 7, 7]
    assert added.count(Status.NEW) == added.count(Status.IMPROVED) == 2
    first, last = archive
    assert (first.niche, first.fitness, first.evaluation) == (0, 2.0, 101)
    assert first.features.tolist() == [0.6, 0.6]
    assert first.solution.tolist() == [2.0, 2.0]
    assert (last.niche, last.fitness, last.evaluation) == (7, 3.0, 105)
    assert archive.qd_score == 5.0
    assert archive.coverage == 0.25
    assert archive.mean_fitness == 2.5
    assert archive.best.niche == 7
    assert archive.best_fitness == 3.0
    assert archive.invalid == {FITNESS_NOT_FINITE: 1}
    assert archive.out_of_bounds == 1
    assert repr(archive) == "Archive(2 of 8 niches filled, coverage 0.25, best fitness 3, max)"


def test_qd_score_and_its_floor():
    rows = [(1.0, 0, 0, 0), (-3.0, 1, 0, 0), (5.0, 2, 0, 0)]
    candidates = split(rows)
    for direction, floor, score in (("max", None, 6.0), ("max", -4.0, 15.0), ("min", None, None), ("min", 2.0, 6.0)):
        archive = Archive(GRID, 2, direction=direction, floor=floor)
        archive.add(*candidates)
        assert archive.qd_score == score


def test_the_mean_of_fitness_whose_sum_overflows():
    archive = Archive(GRID, 2)
    archive.add(np.zeros((2, 2)), [1.6e308, 1.2e308], [[0.5, 0.5], [3.5, 1.5]])
    assert len(archive) == 2
    assert archive.mean_fitness == pytest.approx(1.4e308)
    assert archive.qd_score == np.inf


def test_an_empty_archive():
    archive = Archive(GRID, 2)
    assert len(archive) == 0
    assert archive.best is None
    assert archive.best_fitness is None
    assert archive.mean_fitness is None
    assert archive.qd_score == 0.0
    assert archive.coverage == 0.0
    assert list(archive) == []
    assert archive.get(3) is None
    assert len(archive.elites()) == 0
    assert repr(archive) == "Archive(0 of 8 niches filled, coverage 0, max)"
    archive.add([[1.0, 2.0]], [-0.0], [[0.1, 0.1]])
    assert repr(archive) == "Archive(1 of 8 niches filled, coverage 0.125, best fitness 0, max)"
    archive = Archive(GRID, 2)
    with pytest.raises(ValueError, match="sample: the archive is empty"):
        archive.sample(1, np.random.default_rng(1))
    added = archive.add(np.empty((0, 2)), [], np.empty((0, 2)))
    assert len(added.status) == len(added.niches) == 0


def test_candidates_are_copied_and_left_alone():
    archive = Archive(GRID, 2)
    solutions, fitness, features = split([(1.0, 0.5, 0.5, 1), (math.nan, 0, 0, 2)])
    before = [array.copy() for array in (solutions, fitness, features)]
    archive.add(solutions, fitness, features)
    for array, old in zip((solutions, fitness, features), before, strict=True):
        np.testing.assert_array_equal(array, old)
    solutions[:], fitness[:], features[:] = 9, 9, 9
    assert content(archive) == {0: (1.0, (0.5, 0.5), 1.0, 0)}
    elite = archive.get(0)
    elite.solution[:] = 7
    archive.elites().solutions[:] = 7
    archive.best.features[:] = 7
    assert content(archive) == {0: (1.0, (0.5, 0.5), 1.0, 0)}


@pytest.mark.parametrize(
    ("solutions", "fitness", "features"),
    [
        ([[1, 1]], [1.0], [[0, 0, 0]]),
        ([[1, 1]], [1.0, 2.0], [[0, 0]]),
        ([[1]], [1.0], [[0, 0]]),
        ([1, 1], [1.0], [[0, 0]]),
        ([[1, 1]], 1.0, [[0, 0]]),
        ([[1, 1]], [[1.0]], [[0, 0]]),
    ],
)
def test_wrong_shapes_are_refused(solutions, fitness, features):
    archive = Archive(GRID, 2)
    with pytest.raises(ValueError, match=r"expected solutions \(n, 2\), fitness \(n,\) and features \(n, 2\), got"):
        archive.add(solutions, fitness, features)
    assert len(archive) == 0


@pytest.mark.parametrize("evaluation", ["x", 1.5, None])
def test_a_number_of_an_evaluation_that_is_none_is_refused(evaluation):
    archive = Archive(GRID, 2)
    with pytest.raises(ValueError, match="evaluation: expected a whole number, got"):
        archive.add([[1, 1]], [1.0], [[0, 0]], evaluation=evaluation)
    assert len(archive) == 0


def test_wrong_questions_are_refused():
    with pytest.raises(ValueError, match="direction: expected 'max' or 'min', got 'up'"):
        Archive(GRID, 2, direction="up")
    archive, _ = filled([[(1.0, 0, 0, 0)]])
    for niche in (-1, 8):
        with pytest.raises(IndexError, match=f"niche: expected 0 to 7, got {niche}"):
            archive.get(niche)
        assert niche not in archive
    for niche in (1.5, 0.0, "0", None, [0], np.array([0, 1]), np.float64(0)):
        with pytest.raises(TypeError, match="niche: expected a whole number from 0 to 7, got "):
            archive.get(niche)
    assert archive.get(np.uint8(0)).niche == archive.get(np.array(0)).niche == 0
    assert 0 in archive
    assert np.int64(0) in archive
    assert "0" not in archive


def test_rows_may_be_of_another_dtype():
    archive = Archive(GRID, 2, dtype=np.int32)
    archive.add([[1, 2]], [1.0], [[0, 0]])
    assert archive.best.solution.dtype == np.int32
    assert archive.best.solution.tolist() == [1, 2]
    assert archive.width == 2


# -- size ----------------------------------------------------------------------------------------------------------


def test_growth_in_many_steps_and_in_one(index):
    line = GridTessellation(tl.FeatureSpace({"a": (0, 5000)}), 5000)
    rng = np.random.default_rng(1)
    order = rng.permutation(5000)
    stepwise, at_once = Archive(line, 1), Archive(line, 1)
    at = 0
    while at < 5000:
        part = order[at : at + int(rng.integers(1, 400))]
        stepwise.add(part[:, None], part, part[:, None] + 0.5, evaluation=at)
        at += len(part)
    at_once.add(order[:, None], order, order[:, None] + 0.5)
    for archive in (stepwise, at_once):
        assert len(archive) == 5000
        elites = archive.elites()
        np.testing.assert_array_equal(elites.niches, np.arange(5000))
        np.testing.assert_array_equal(elites.fitness, np.arange(5000))
        np.testing.assert_array_equal(elites.solutions[:, 0], np.arange(5000))
        np.testing.assert_array_equal(order[elites.evaluations], np.arange(5000))
        assert archive.capacity == 5000


@numba.njit
def find_promising(rule, candidates, status, elites, out):
    return elitism.find_promising(len(status), rule, candidates, status, elites, out)


@pytest.mark.parametrize("index", [GRID, HUGE, RELEASED])
@pytest.mark.parametrize("direction", ["max", "min"])
def test_who_is_not_promising_is_rejected_and_who_is_would_enter_alone(index, direction):
    rng = np.random.default_rng(4)

    def candidates(n):
        features = np.zeros((n, index.space.n))  # few niches, of a grid of few and of a grid of very many
        features[:, :2] = rng.random((n, 2)) * index.space.high[:2]
        return rng.integers(0, 5, n).astype(float), features

    archive = Archive(index, 1, direction=direction)
    archive.add(rng.random((8, 1)), *candidates(8))
    fitness, features = candidates(60)
    niches, status, out = index.niche_of(features), (rng.random(60) < 0.2).astype(np.int64), np.zeros(60, np.int64)
    rows = elitism.Candidates(niches, fitness, features, np.zeros((60, 8), np.uint8))
    n = find_promising(archive.rule, rows, status, archive.arrays(), out)
    alone = [archive.copy().add([[0.0]], fitness[[i]], features[[i]]).status[0] != Status.REJECTED for i in range(60)]
    assert out[:n].tolist() == [i for i in range(60) if alone[i] and not status[i]]
    assert 0 < n < (status == 0).sum()


def test_room_for_all_niches_is_reserved_where_that_is_little():
    small = Archive(GRID, 3)
    small.reserve(1)
    assert small.capacity == GRID.n_niches
    fine = tl.GridTessellation(GRID.space, 1000)
    for width, at_once in ((10, True), (1000, False)):
        archive = Archive(fine, width)
        archive.reserve(1)
        assert (archive.capacity == fine.n_niches) == at_once


def test_the_index_always_has_room_for_every_row():
    # The compiled loop fills rows up to the capacity unchecked; a search in a full hash table would never end.
    archive = Archive(HUGE, 1)
    for n in (1, 10, 60, 100, 300, 1000):
        archive.reserve(n)
        keys, rows = archive.arrays()[-2:]
        assert len(keys) == len(rows) >= 2 * archive.capacity >= 2 * n


def test_a_grid_of_2_to_the_50_stays_small():
    rng = np.random.default_rng(1)
    archive = Archive(HUGE, 3)
    features = rng.random((2000, 50))
    archive.add(rng.random((2000, 3)), rng.random(2000), features)
    assert len(archive) == 2000
    assert archive.coverage == 2000 / 2**50
    held = sum(array.nbytes for array in archive.arrays())
    assert held < 3_000_000
    niches = HUGE.niche_of(features)
    for i in (0, 1000, 1999):
        assert archive.get(int(niches[i])).evaluation == i
    assert archive.get(2**50 - 1) is None
    assert len(archive | archive) == 2000


# -- sampling ------------------------------------------------------------------------------------------------------


def test_sampling_is_uniform_over_elites():
    archive, _ = filled([[(float(i), i % 4, i // 4, i) for i in range(7)]])
    drawn = archive.sample(14_000, np.random.default_rng(1))
    counts = np.bincount(drawn.niches, minlength=8)
    assert stats.chisquare(counts[counts > 0]).pvalue > 1e-6  # false alarms: 1e-6
    assert (counts > 0).sum() == 7
    for elite in list(drawn)[:50]:
        own = archive.get(elite.niche)
        assert own.fitness == elite.fitness
        assert own.solution.tolist() == elite.solution.tolist()
    assert archive.sample(0, np.random.default_rng(1)).solutions.shape == (0, 2)


# -- merging -------------------------------------------------------------------------------------------------------

ARCHIVES = st.lists(BATCHES, min_size=3, max_size=3)


def test_merge_is_a_join(index):
    @given(ARCHIVES, st.sampled_from(["max", "min"]), st.sampled_from([GRID, RELEASED]))
    @QUICK
    def check(all_batches, direction, tessellation):
        a, b, c = (filled(batches, direction, tessellation)[0] for batches in all_batches)
        before = content(a), content(b)
        assert content(a | b) == content(b | a)
        assert content((a | b) | c) == content(a | (b | c))
        assert content(a | a) == content(a)
        assert content((a | b) | b) == content(a | b)
        assert (content(a), content(b)) == before
        joined = a | b
        for niche in range(8):
            present = [x.get(niche).fitness for x in (a, b) if niche in x]
            best = (max if direction == "max" else min)(present, default=None)
            assert (joined.get(niche).fitness if niche in joined else None) == best
            if tessellation is RELEASED and best is not None:
                rivals = [x.get(niche) for x in (a, b) if niche in x and x.get(niche).fitness == best]
                nearest = min(off_lattice(*rival.features) for rival in rivals)
                assert off_lattice(*joined.get(niche).features) == nearest
        assert joined.copy().merge(a) == 0
        # What was merged can be added to.
        _ = joined.add(*split([(50.0, 0.25, 0.25, 2), (-50.0, 0.25, 0.25, 2)]))
        assert abs(joined.get(0).fitness) == 50.0

    check()


def test_ties_are_broken_to_the_last_bit():
    def one(solution, fitness=1.0, features=(0.5, 0.5), evaluation=0):
        archive = Archive(GRID, 2)
        archive.add([solution], [fitness], [features], evaluation=evaluation)
        return archive

    rivals = [
        one([1, 2]),
        one([1, 3]),
        one([math.nan, 1]),  # rows padded with NaN, as those of a space with solutions of several lengths
        one([math.nan, 2]),
        one([0.0, 2]),
        one([-0.0, 2]),
        one([1, 2], features=(0.25, 0.5)),
        one([1, 2], evaluation=7),
    ]
    for a in rivals:
        for b in rivals:
            ab, ba = a | b, b | a
            for name in ("niches", "fitness", "features", "solutions", "evaluations"):
                assert getattr(ab.elites(), name).tobytes() == getattr(ba.elites(), name).tobytes()
    zero = one([1, 2], fitness=0.0) | one([1, 2], fitness=-0.0)
    orez = one([1, 2], fitness=-0.0) | one([1, 2], fitness=0.0)
    assert zero.elites().fitness.tobytes() == orez.elites().fitness.tobytes()


def test_merge_tells_how_many_were_taken_and_keeps_counts():
    a, _ = filled([[(1.0, 0, 0, 0), (1.0, 1, 0, 0), (math.nan, 0, 0, 0)]])
    b, _ = filled([[(2.0, 0, 0, 1), (0.5, 1, 0, 1), (0.0, 3, 1, 1), (math.nan, 0, 0, 0), (0, 9, 9, 0)]])
    assert a.merge(b) == 2
    assert a.invalid.total() == 1
    assert a.out_of_bounds == 0
    assert {n: e[0] for n, e in content(a).items()} == {0: 2.0, 2: 1.0, 7: 0.0}


def test_merge_refuses_archives_of_another_kind():
    archive = Archive(GRID, 2)
    others = [
        Archive(GRID, 2, direction="min"),
        Archive(GRID, 3),
        Archive(GRID, 2, dtype=np.float32),
        Archive(GridTessellation(GRID.space, 3), 2),
        Archive(GridTessellation(tl.FeatureSpace({"a": (1, 4), "b": (0, 2)}), (4, 2)), 2),
    ]
    for other in others:
        with pytest.raises(ValueError, match="merge: expected an archive"):
            archive.merge(other)
    plain = tl.FeatureSpace({"a": (1, 4)})
    log = tl.FeatureSpace({"a": (1, 4)}, scales={"a": "log"})
    with pytest.raises(ValueError, match="same tessellation"):
        Archive(GridTessellation(plain, 4), 2).merge(Archive(GridTessellation(log, 4), 2))


def test_copies_are_independent():
    a, _ = filled([[(1.0, 0, 0, 0), (math.inf, 0, 0, 0), (1.0, 9, 0, 0)]])
    b = a.copy()
    assert content(a) == content(b)
    assert (a.invalid, a.out_of_bounds) == (b.invalid, b.out_of_bounds)
    b.add(*split([(5.0, 0, 0, 0), (math.nan, 0, 0, 0)]))
    assert a.get(0).fitness == 1.0
    assert a.invalid.total() == 1
    assert len(a.empty_copy()) == 0


# -- tables --------------------------------------------------------------------------------------------------------


def test_elites_as_a_table():
    archive, _ = filled([[(1.0, 3.5, 0, 1), (2.0, 0.5, 1.5, 2)]])
    table = archive.elites().to_pandas()
    assert table.columns.tolist() == ["niche", "fitness", "evaluation", "a", "b", "x0", "x1"]
    assert table["niche"].tolist() == [1, 6]
    assert table["fitness"].tolist() == [2.0, 1.0]
    assert table["b"].tolist() == [1.5, 0.0]
    assert table["x1"].tolist() == [2.0, 1.0]
    assert archive.elites()[1].evaluation == 0


def test_names_of_columns_do_not_collide():
    space = tl.FeatureSpace({"niche": (0, 1), "fitness": (0, 1), "x0": (0, 1), "order": (0, 1), "solution": (0, 1)})
    archive = Archive(GridTessellation(space, 2), 2)
    archive.add([[8, 9]], [1.0], [[0.1, 0.2, 0.3, 0.4, 0.5]])
    columns = archive.elites().columns()
    assert len(columns) == 3 + 5 + 2
    assert columns["feature niche"].tolist() == [0.1]
    assert columns["x0"].tolist() == [0.3]
    assert columns["solution x0"].tolist() == [8.0]


@pytest.mark.parametrize("names", [("niche", "feature niche"), ("feature niche", "niche"), ("solution x0", "x0")])
def test_columns_are_all_there_whatever_features_are_called(names, tmp_path):
    archive = Archive(GridTessellation(tl.FeatureSpace(dict.fromkeys(names, (0, 1))), 2), 1)
    archive.add([[8.0]], [1.0], [[0.1, 0.2]])
    assert [values.tolist() for values in archive.elites().columns().values()][3:] == [[0.1], [0.2], [8.0]]
    archive.save(tmp_path / "a.parquet")
    loaded = Archive.load(tmp_path / "a.parquet").elites()
    assert (loaded.feature_names, loaded.features.tolist()) == (names, [[0.1, 0.2]])


# -- files ---------------------------------------------------------------------------------------------------------


def random_archive(tessellation, n=300, width=3, **options):
    rng = np.random.default_rng(4)
    archive = Archive(tessellation, width, **options)
    space = tessellation.space
    features = space.from_unit(rng.uniform(-0.1, 1.1, (n, space.n)))
    fitness = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    archive.add(rng.normal(size=(n, width)), fitness, features, evaluation=17)
    return archive


TESSELLATIONS = {
    "grid": GRID,
    "released": RELEASED,
    "huge": HUGE,
    "log": GridTessellation(tl.FeatureSpace({"order": (1, 10), "é b": (0, 1)}, scales={"order": "log"}), 20),
    "voronoi": tl.VoronoiTessellation(GRID.space, np.random.default_rng(0).random((50, 2)) * [4, 2]),
    "manhattan": tl.VoronoiTessellation(GRID.space, np.random.default_rng(0).random((9, 2)) * [4, 2], p=1.0),
}


@pytest.mark.parametrize("name", TESSELLATIONS)
@pytest.mark.parametrize("options", [{}, {"direction": "min", "floor": 3.0}], ids=["max", "min"])
def test_a_file_holds_everything(tmp_path, name, options):
    archive = random_archive(TESSELLATIONS[name], **options)
    path = archive.save(tmp_path / "one.parquet")
    again = Archive.load(str(path))
    for mine, theirs in (
        (archive.elites(), again.elites()),
        (archive.in_order_of_filling(), again.in_order_of_filling()),
    ):
        for field in ("niches", "fitness", "features", "solutions", "evaluations"):
            assert getattr(mine, field).tobytes() == getattr(theirs, field).tobytes()
    assert again.tessellation == archive.tessellation
    assert again.tessellation.fingerprint() == archive.tessellation.fingerprint()
    for field in ("direction", "floor", "invalid", "out_of_bounds", "qd_score", "width"):
        assert getattr(again, field) == getattr(archive, field)
    again.save(tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.parquet", "two.parquet"]
    # It continues as the original would.
    for other in (archive, again):
        other.add(np.ones((5, 3)), np.arange(5.0), np.tile(archive.tessellation.space.high, (5, 1)))
    assert content(archive) == content(again)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint16])
def test_files_of_other_dtypes_and_of_nothing(tmp_path, dtype):
    for rows in ([], [[1, 2]]):
        archive = Archive(GRID, 2, dtype=dtype)
        archive.add(np.array(rows).reshape(-1, 2), np.ones(len(rows)), np.ones((len(rows), 2)))
        again = Archive.load(archive.save(tmp_path / "a.parquet"))
        assert len(again) == len(rows)
        assert again.solutions.dtype == np.dtype(dtype)
        assert content(again) == content(archive)


def test_other_programs_read_the_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    archive = random_archive(TESSELLATIONS["log"])
    table = pandas.read_parquet(archive.save(tmp_path / "a.parquet"))
    assert table.columns.tolist() == ["niche", "fitness", "evaluation", "order", "feature order", "é b", "solution"]
    np.testing.assert_array_equal(np.stack(table["solution"]), archive.elites().solutions)
    assert table["niche"].is_monotonic_increasing


def test_custom_scales_need_the_tessellation(tmp_path):
    root = tl.Scale("root", np.sqrt, np.square)
    grid = GridTessellation(tl.FeatureSpace({"a": (0, 4)}, scales={"a": root}), 5)
    archive = Archive(grid, 1)
    archive.add([[1.0]], [1.0], [[3.0]])
    path = archive.save(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"custom scales \(root\).*pass the tessellation to load"):
        Archive.load(path)
    assert content(Archive.load(path, grid)) == content(archive)
    with pytest.raises(ValueError, match="a different tessellation"):
        Archive.load(path, GRID)


def test_damaged_files_are_refused(tmp_path):
    path = random_archive(TESSELLATIONS["voronoi"]).save(tmp_path / "a.parquet")
    whole = path.read_bytes()
    damaged = tmp_path / "damaged.parquet"
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="not a readable Parquet file, or damaged"):
            Archive.load(damaged)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        Archive.load(tmp_path / "none.parquet")
    # A single flipped bit anywhere among the data is noticed.
    metadata = pq.ParquetFile(path).metadata
    first = min(metadata.row_group(0).column(j).data_page_offset for j in range(metadata.num_columns))
    last = max(
        (chunk := metadata.row_group(0).column(j)).data_page_offset + chunk.total_compressed_size
        for j in range(metadata.num_columns)
    )
    for at in np.linspace(first + 40, last - 1, 25).astype(int):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            archive = Archive.load(damaged)
        except ValueError:
            continue
        assert archive.save(tmp_path / "again.parquet").read_bytes() == whole, f"byte {at} went unnoticed"


def test_foreign_files_are_refused(tmp_path):
    archive = random_archive(GRID)
    path = archive.save(tmp_path / "a.parquet")
    table = pq.read_table(path)
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(table.replace_schema_metadata({}), foreign)
    with pytest.raises(ValueError, match="not one of tesselite"):
        Archive.load(foreign)
    about = json.loads(table.schema.metadata[b"tesselite"])
    about.update(format=archive_file.FORMAT + 1, version="9.9")
    pq.write_table(table.replace_schema_metadata({b"tesselite": json.dumps(about)}), foreign)
    with pytest.raises(ValueError, match=r"written in format 5 by tesselite 9\.9; this is tesselite .* formats 1 to 4"):
        Archive.load(foreign)
    foreign.write_text("niche,fitness\n")
    with pytest.raises(ValueError, match="not a readable Parquet file"):
        Archive.load(foreign)


def on_centroids(k=40, d=3):
    rng = np.random.default_rng(8)
    return random_archive(tl.VoronoiTessellation(tl.FeatureSpace.unit(d), rng.random((k, d)), p=1.0))


def test_centroids_are_a_block_of_the_file(tmp_path):
    """As text in the metadata they cost ten times their size in memory."""
    archive = on_centroids()
    path = archive.save(tmp_path / "a.parquet")
    raw = archive.tessellation.centroids.tobytes()
    assert path.read_bytes()[4:].startswith(raw)
    again = Archive.load(path)
    assert again.tessellation == archive.tessellation
    assert again.equals(archive)
    assert again.save(tmp_path / "b.parquet").read_bytes() == path.read_bytes()
    table = pq.read_table(path)
    assert table["niche"].to_pylist() == archive.elites().niches.tolist()
    assert len(table.schema.metadata[b"tesselite"]) < 1000
    damaged = bytearray(path.read_bytes())
    damaged[50] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"a\.parquet: damaged \(its niches are not those that were written\)"):
        Archive.load(path)
    assert Archive.load(path, archive.tessellation).equals(archive)


def with_about(path, change):
    """The archive's file with changed metadata and a valid digest, as other software could write it."""
    table, about = read_parquet(path)
    block = Archive.load(path).tessellation.centroids
    del about["digest"]
    change(about)
    write_parquet(table, sealed(about, columns_of(table)), path, block)


def test_archives_of_the_format_before_are_read(tmp_path):
    archive = on_centroids()
    path = archive.save(tmp_path / "a.parquet")

    def as_text(about):
        about["format"] = 1
        about["tessellation"]["centroids"] = base64.b64encode(archive.tessellation.centroids.tobytes()).decode()

    with_about(path, as_text)
    again = Archive.load(path)
    assert again.tessellation == archive.tessellation
    assert again.equals(archive)


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.pop("width"),
        lambda about: about.update(dtype="no such"),
        lambda about: about.update(invalid=3),
        lambda about: about.update(tessellation=[]),
        lambda about: about["tessellation"].update(n_niches=10**15),
        lambda about: about["tessellation"].update(n_niches="many"),
        lambda about: about["tessellation"]["space"].update(names=["a"]),
    ],
)
def test_an_archive_that_was_made_up_is_refused(tmp_path, change):
    path = on_centroids().save(tmp_path / "a.parquet")
    with_about(path, change)
    with pytest.raises(ValueError, match=r"a\.parquet: "):
        Archive.load(path)


def test_an_unwritable_place_is_an_error_and_leaves_nothing(tmp_path):
    archive = random_archive(GRID)
    with pytest.raises(OSError, match="cannot write"):
        archive.save(tmp_path / "no" / "such" / "folder.parquet")
    assert list(tmp_path.iterdir()) == []
