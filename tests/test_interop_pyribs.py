"""Archives with pyribs' interface: its rules, by an oracle and by hand, and its own emitters if pyribs is installed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tesselite as tl
from tesselite.interop.pyribs import CVTArchive, GridArchive, k_means_centroids

RANGES = [(-1, 1), (0, 3)]


def grid(**more):
    return GridArchive(solution_dim=3, dims=[4, 5], ranges=RANGES, **more)


def batch(rng, n, width=3):
    """Few different objectives, so that there are ties, and measures also beyond the ranges."""
    return rng.random((n, width)), rng.integers(-3, 4, n) / 2, rng.uniform([-1.3, -0.5], [1.3, 3.5], (n, 2))


class Oracle:
    """pyribs' rules for a batch, one candidate at a time: cells -> (objective, threshold, solution)."""

    def __init__(self, rate=1.0, least=-np.inf):
        self.rate, self.least, self.elites, self.order = rate, least, {}, []

    def add(self, cells, solutions, objectives):
        status, value, accepted = [], [], {}
        for cell, x, f in zip(cells, solutions, objectives, strict=True):
            filled = cell in self.elites
            threshold = self.elites[cell][1] if filled else self.least
            status.append(0 if f <= threshold else 1 if filled else 2)
            value.append(f if threshold == -np.inf else f - threshold)
            if f > threshold:
                accepted.setdefault(cell, []).append((f, x))
        for cell in sorted(accepted):
            threshold = self.elites[cell][1] if cell in self.elites else self.least
            scores = [f for f, _ in accepted[cell]]
            best, x = max(accepted[cell], key=lambda pair: pair[0])
            if self.least == -np.inf:
                threshold = best
            else:
                kept = (1 - self.rate) ** len(scores)
                threshold = kept * threshold + (1 - kept) * sum(scores) / len(scores)
            self.order += [] if cell in self.elites else [cell]
            self.elites[cell] = best, threshold, x
        return status, value


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([(1.0, -np.inf), (0.1, -1.0), (0.0, 0.0), (1.0, 0.25)]), st.booleans())
def test_batches_follow_the_rules(seed, annealing, voronoi):
    rate, least = annealing
    rng = np.random.default_rng(seed)
    common = {"learning_rate": rate, "threshold_min": least, "seed": seed}
    archive = (
        CVTArchive(solution_dim=3, centroids=rng.uniform([-1, 0], [1, 3], (9, 2)), ranges=RANGES, **common)
        if voronoi
        else grid(**common)
    )
    oracle = Oracle(rate, least)
    for n in (1, 7, 0, 40):
        x, f, m = batch(rng, n)
        info = archive.add(x, f, m)
        status, value = oracle.add(archive.index_of(m).tolist(), x, f.tolist())
        assert info["status"].tolist() == status
        np.testing.assert_allclose(info["value"], value, rtol=1e-12, atol=1e-12)
    found = archive.data()
    assert found["index"].tolist() == oracle.order
    expected = [oracle.elites[cell] for cell in oracle.order]
    assert found["objective"].tolist() == [f for f, _, _ in expected]
    np.testing.assert_allclose(found["threshold"], [t for _, t, _ in expected], rtol=1e-12, atol=1e-12)
    assert np.array_equal(found["solution"].reshape(-1, 3), np.reshape([x for *_, x in expected], (-1, 3)))
    assert archive.stats.qd_score == pytest.approx(sum(f for f, _, _ in expected), abs=1e-9)


def test_one_by_one_is_a_batch_of_one():
    rng = np.random.default_rng(1)
    single, several = grid(learning_rate=0.3, threshold_min=-2.0), grid(learning_rate=0.3, threshold_min=-2.0)
    for x, f, m in zip(*batch(rng, 60), strict=True):
        one, other = single.add_single(x, f, m), several.add([x], [f], [m])
        assert (one["status"], one["value"]) == (other["status"][0], other["value"][0])
    assert all(np.array_equal(single.data(name), several.data(name)) for name in single.field_list)


def test_annealing_by_hand():
    archive = grid(learning_rate=0.5, threshold_min=0.0)
    assert archive.add_single([1, 1, 1], 4.0, [0, 0])["value"] == 4.0
    assert archive.retrieve_single([0, 0])[1]["threshold"] == 2.0
    info = archive.add_single([2, 2, 2], 3.0, [0, 0])  # worse than the elite, better than the threshold
    assert (info["status"], info["value"]) == (1, 1.0)
    assert archive.retrieve_single([0, 0])[1]["objective"] == 3.0
    assert archive.retrieve_single([0, 0])[1]["threshold"] == 2.5
    assert archive.best_elite["objective"] == 4.0  # of all time
    assert archive.stats.obj_max == 4.0
    assert archive.stats.obj_mean == 3.0
    assert archive.add_single([0, 0, 0], -1.0, [0.9, 2.9])["status"] == 0
    archive.add([[0, 0, 0]] * 2, [3.0, 6.0], [[0, 0]] * 2)
    assert archive.retrieve_single([0, 0])[1]["threshold"] == 0.25 * 2.5 + 0.75 * 4.5


def test_without_annealing_it_is_our_archive():
    rng = np.random.default_rng(2)
    theirs = grid()
    ours = tl.Archive(tl.GridTessellation(tl.FeatureSpace({"a": (-1, 1), "b": (0, 3)}), [4, 5]), 3)
    for _ in range(5):
        x, f, m = batch(rng, 50)
        theirs.add(x, f, m)
        ours.add(x, f, m)
    moved = theirs.to_archive(["a", "b"])
    assert moved.tessellation == ours.tessellation
    for name in ("niches", "fitness", "features", "solutions"):
        assert np.array_equal(getattr(moved.elites(), name), getattr(ours.elites(), name))
    assert moved.qd_score == ours.qd_score


def test_centroids_are_near_in_units_of_measures():
    rng = np.random.default_rng(3)
    centroids = rng.uniform([-1, 0], [1, 300], (60, 2))
    points = rng.uniform([-2, -50], [2, 400], (500, 2))
    gaps = points[:, None] - centroids
    for options, distance in (
        ({}, (gaps**2).sum(axis=2)),
        ({"kdtree_query_kwargs": {"p": 1}}, np.abs(gaps).sum(axis=2)),
        ({"nearest_neighbors": "sklearn_nn", "sklearn_nn_kwargs": {"metric": "chebyshev"}}, np.abs(gaps).max(axis=2)),
        (
            {"nearest_neighbors": "sklearn_nn", "sklearn_nn_kwargs": {"metric": "cosine"}},
            -(points @ centroids.T) / np.linalg.norm(points, axis=1)[:, None] / np.linalg.norm(centroids, axis=1),
        ),
    ):
        archive = CVTArchive(solution_dim=1, centroids=centroids, ranges=[(-1, 1), (0, 300)], **options)
        assert archive.index_of(points).tolist() == distance.argmin(axis=1).tolist()
    archive = CVTArchive(solution_dim=1, centroids=centroids, ranges=[(-1, 1), (0, 300)])
    archive.add(np.ones((500, 1)), rng.random(500), points)
    elites = archive.to_archive().elites()  # in the same cells, which are our niches too
    assert archive.to_archive().tessellation.niche_of(elites.features).tolist() == elites.niches.tolist()
    assert len(elites) == len(archive)


def test_fields_of_any_kind():
    archive = grid(extra_fields={"note": ((), object), "path": ((2, 2), np.float32), "n": (3, np.int16)})
    note = {"any": "thing"}
    archive.add_single([1, 2, 3], 1.0, [0, 0], note=note, path=np.eye(2), n=[1, 2, 3])
    archive.add([[1, 2, 3]], [2.0], [[0.9, 0]], note=[None], path=[np.ones((2, 2))], n=[[4, 5, 6]])
    assert archive.field_list == ["solution", "objective", "measures", "threshold", "note", "path", "n", "index"]
    first, second = archive
    assert first["note"] == note
    assert first["n"].tolist() == [1, 2, 3]
    assert second["path"].dtype == np.float32
    occupied, elites = archive.retrieve([[0.9, 0.1], [-0.9, 2.9]])
    assert occupied.tolist() == [True, False]
    assert elites["note"][1] is None
    assert elites["n"][1].tolist() == [0, 0, 0]
    assert np.isnan(elites["path"][1]).all()
    assert elites["index"][1] == -1
    with pytest.raises(ValueError, match="expected the fields solution, objective, measures, note, path, n, got"):
        archive.add([[1, 2, 3]], [2.0], [[0.9, 0]])
    with pytest.raises(ValueError, match="numbers or texts in the field note, got object"):
        archive.to_archive()


def test_fields_become_records():
    archive = grid(extra_fields={"label": ((), object), "mass": ((), np.float32)}, learning_rate=0.5, threshold_min=0)
    archive.add([[1, 2, 3]], [2.0], [[0.9, 0]], label=["oak"], mass=[0.5])
    (elite,) = archive.to_archive()
    assert elite.records == {"label": "oak", "mass": 0.5, "threshold": 1.0}


@pytest.mark.parametrize("shape", [(), (2, 2), 0])
def test_solutions_of_any_shape(shape):
    archive = GridArchive(solution_dim=shape, dims=[2], ranges=[(0, 1)])
    rows = np.arange(12.0).reshape(-1, *(shape if isinstance(shape, tuple) else (shape,)))[:3] if shape != 0 else []
    rows = np.empty((3, 0)) if shape == 0 else rows
    archive.add(rows, [1, 2, 3], [[0], [0], [1]])
    assert archive.solution_dim == shape
    assert np.array_equal(archive.data("solution"), rows[1:])


def test_texts_and_single_precision():
    archive = GridArchive(
        solution_dim=(), dims=[2], ranges=[(0, 1)], solution_dtype=object, objective_dtype="f", measures_dtype="f"
    )
    archive.add(["one", "two"], [1, 2], [[0], [1]])
    assert archive.data("solution").tolist() == ["one", "two"]
    assert archive.stats.qd_score.dtype == np.float32
    assert archive.data("threshold").dtype == np.float32


def test_what_is_read_is_a_copy():
    archive = grid()
    archive.add(*batch(np.random.default_rng(4), 50))
    for name, values in archive.data().items():
        values[:] = 0
        assert archive.data(name).any(), name
    assert [field.shape for field in archive.data(["objective", "objective"], "tuple")] == [(len(archive),)] * 2
    assert list(archive.data("objective", "dict")) == ["objective"]
    for bad in ({"fields": "nothing"}, {"return_type": "list"}):
        with pytest.raises(ValueError, match="expected"):
            archive.data(**bad)


def test_iteration_notices_changes():
    archive = grid()
    archive.add(*batch(np.random.default_rng(5), 50))
    assert len(list(archive)) == len(archive)
    elites = iter(archive)
    next(elites)
    archive.clear()
    with pytest.raises(RuntimeError, match="changed"):
        next(elites)
    assert archive.empty
    assert archive.best_elite is None
    assert archive.stats.obj_mean is None


def test_sampling():
    archive = grid(seed=7)
    with pytest.raises(IndexError, match="empty"):
        archive.sample_elites(1)
    archive.add(*batch(np.random.default_rng(6), 50))
    n = len(archive)
    assert sorted(archive.sample_elites(n, replace=False)["index"].tolist()) == sorted(archive.data("index").tolist())
    with pytest.raises(ValueError, match="larger sample"):
        archive.sample_elites(n + 1, replace=False)
    drawn = np.bincount(archive.sample_elites(1000 * n)["index"], minlength=20)[archive.data("index")]
    assert abs(drawn - 1000).max() < 6 * np.sqrt(1000)  # false alarm: 1 in 10^7


def test_other_dimensions_keep_the_best():
    archive = grid()
    archive.add(*batch(np.random.default_rng(7), 200))
    best = archive.stats.obj_max
    archive.retessellate([1, 1])
    assert len(archive) == archive.cells == 1
    assert archive.stats.obj_max == archive.stats.qd_score == best
    archive.retessellate([30, 30])
    assert len(archive) == 1
    assert [len(axis) for axis in archive.boundaries] == [31, 31]


def test_many_cells_cost_no_memory():
    archive = GridArchive(solution_dim=500, dims=[40_000, 40_000], ranges=[(0, 1), (0, 1)])
    for _ in range(3):
        measures = np.random.default_rng(8).random((400, 2))
        archive.add(np.ones((400, 500)), np.ones(400), measures)
    assert len(archive) == 400
    assert archive.retrieve(measures)[0].all()
    assert archive.int_to_grid_index(archive.index_of([[0.5, 0.25]])).tolist() == [[20_000, 10_000]]
    archive.clear()
    assert not archive.retrieve(measures)[0].any()


def test_a_pickled_archive_goes_on():
    rng = np.random.default_rng(9)
    archive = CVTArchive(solution_dim=3, centroids=rng.uniform([-1, 0], [1, 3], (9, 2)), ranges=RANGES, seed=1)
    archive.add(*batch(rng, 30))
    twin = pickle.loads(pickle.dumps(archive))
    more = batch(rng, 30)
    assert np.array_equal(archive.add(*more)["value"], twin.add(*more)["value"])
    assert np.array_equal(archive.sample_elites(5)["index"], twin.sample_elites(5)["index"])


def test_centroids_are_constructed():
    points, samples = k_means_centroids(centroids=20, ranges=[(0, 1), (10, 14)], samples=2_000, seed=1)
    assert points.shape == (20, 2)
    assert samples.shape == (2_000, 2)
    assert np.array_equal(points, k_means_centroids(centroids=20, ranges=[(0, 1), (10, 14)], samples=2_000, seed=1)[0])
    # Each lies in the middle of its samples, in units of measures.
    nearest = ((samples[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([samples[nearest == i].mean(axis=0) for i in range(20)])
    np.testing.assert_allclose(points, means, atol=1e-9)
    archive = CVTArchive(solution_dim=1, centroids=20, ranges=[(0, 1), (10, 14)], samples=samples, dtype="f", seed=2)
    assert archive.centroids.dtype == np.float32
    with pytest.raises(ValueError, match=r"call ribs\.archives\.k_means_centroids"):
        k_means_centroids(centroids=20, ranges=[(0, 1)], k_means_kwargs={"init": "k-means++"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": [4]}, "dims: expected a number of cells for each of 2 ranges"),
        ({"dtype": "f", "measures_dtype": "f"}, "dtype cannot be used at the same time"),
        ({"dtype": {"solution": "f"}}, "Pass solution_dtype"),
        ({"threshold_min": 0.0}, "threshold_min: only valid together with learning_rate"),
        ({"learning_rate": 0.5}, "threshold_min: expected a number"),
        ({"extra_fields": {"index": ((), int)}}, "extra_fields: expected identifiers"),
        ({"extra_fields": {"a b": ((), int)}}, "extra_fields: expected identifiers"),
        ({"ranges": [(0, 1), (2, 2)]}, "ranges: expected finite low < high"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(ValueError, match=message):
        GridArchive(**{"solution_dim": 3, "dims": [4, 5], "ranges": RANGES, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nearest_neighbors": "guess"}, "expected one of scipy_kd_tree"),
        ({"kdtree_query_kwargs": {"k": 3}}, "kdtree_query_kwargs: expected p"),
        ({"nearest_neighbors": "sklearn_nn", "sklearn_nn_kwargs": {"metric": "haversine"}}, "expected metric"),
        ({"centroids": np.ones((3, 3))}, r"centroids to be an array with shape \(n, 2\), got \(3, 3\)"),
        ({"centroids": [[0, np.nan]]}, "centroids: expected finite"),
        ({"centroids": np.empty((0, 2))}, "centroids: expected at least one"),
    ],
)
def test_wrong_centroids(options, message):
    with pytest.raises(ValueError, match=message):
        CVTArchive(**{"solution_dim": 3, "centroids": [[0, 0]], "ranges": RANGES, **options})


def test_keywords_of_earlier_versions_are_refused():
    with pytest.raises(TypeError, match="CVTArchive: expected no keyword 'use_kd_tree'"):
        CVTArchive(solution_dim=3, centroids=[[0, 0]], ranges=RANGES, use_kd_tree=True)


def test_wrong_batches():
    archive = grid()
    good = [[1, 2, 3]], [1.0], [[0, 0]]
    for place, bad in ((0, [[1, 2]]), (1, [[1.0]]), (1, [1.0, 2.0]), (1, [np.nan]), (2, [[0, np.inf]]), (2, [0, 0])):
        with pytest.raises(ValueError, match=r"[Ee]xpected"):
            archive.add(*(bad if i == place else part for i, part in enumerate(good)))
    assert archive.empty
    with pytest.raises(ValueError, match=r"solution to be an array with shape \(3,\)"):
        archive.add_single([1, 2], 1.0, [0, 0])
    for find in (archive.index_of_single, archive.retrieve_single):
        with pytest.raises(ValueError, match=r"measures to be an array with shape \(2,\), got \(1,\)"):
            find([0.0])
    with pytest.raises(ValueError, match="int_indices"):
        archive.int_to_grid_index(3)


# -- where pyribs is installed ---------------------------------------------------------------------------------------


def sphere(x):
    return -((x - 0.3) ** 2).sum(axis=1), x[:, :2]


@pytest.mark.parametrize("emitter", ["iso_line", "gaussian", "cma_me", "cma_mae"])
@pytest.mark.parametrize("voronoi", [False, True])
def test_emitters_of_pyribs_do_the_same_on_ours(emitter, voronoi):
    pytest.importorskip("ribs", reason="pyribs is not installed")
    import ribs.archives
    import ribs.emitters
    import ribs.schedulers

    make = {
        "iso_line": lambda a: ribs.emitters.IsoLineEmitter(a, x0=[0.0] * 6, batch_size=30, seed=1),
        "gaussian": lambda a: ribs.emitters.GaussianEmitter(a, sigma=0.1, x0=[0.0] * 6, batch_size=30, seed=1),
        "cma_me": lambda a: ribs.emitters.EvolutionStrategyEmitter(a, x0=[0.0] * 6, sigma0=0.2, batch_size=30, seed=1),
        "cma_mae": lambda a: ribs.emitters.EvolutionStrategyEmitter(
            a, x0=[0.0] * 6, sigma0=0.2, ranker="imp", selection_rule="mu", restart_rule="basic", batch_size=30, seed=1
        ),
    }[emitter]
    annealing = {"learning_rate": 0.1, "threshold_min": -5.0} if emitter == "cma_mae" else {}
    cells = {"centroids": np.random.default_rng(1).uniform(-1, 1, (80, 2))} if voronoi else {"dims": [10, 10]}
    found = []
    for home in (ribs.archives, tl.interop.pyribs):
        kind = home.CVTArchive if voronoi else home.GridArchive
        archive = kind(solution_dim=6, ranges=[(-1, 1)] * 2, seed=3, **cells, **annealing)
        scheduler = ribs.schedulers.Scheduler(archive, [make(archive)])
        for _ in range(25):
            scheduler.tell(*sphere(scheduler.ask()))
        found.append(archive)
    theirs, ours = found
    assert ours.field_list == theirs.field_list
    for name in ours.field_list:
        assert ours.data(name).tobytes() == theirs.data(name).tobytes(), name
    assert ours.stats.qd_score == pytest.approx(theirs.stats.qd_score)
    frame, other = ours.data(return_type="pandas"), theirs.data(return_type="pandas")
    assert type(frame) is type(other)
    assert frame.equals(other)


def test_a_data_frame_needs_pyribs(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ribs.archives", None)
    with pytest.raises(ImportError, match=r"pip install ribs \(or, in a clone: pip install '\.\[interop\]'\)"):
        grid().data(return_type="pandas")
