"""Periodic features and features with labels: the space, look-up against the definition, construction, and around."""

from __future__ import annotations

import itertools
import pickle

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tesselite as tl
from tesselite.tessellation.nearest.rings import build_index_for, images_of
from tesselite.tessellation.samplers import Ball

MATERIALS = ["steel", "oak", "ash"]


@pytest.fixture
def space():
    return tl.FeatureSpace({"heading": tl.Periodic(0, 360), "kind": tl.Labels(MATERIALS), "speed": (0, 2)})


# -- the space ---------------------------------------------------------------------------------------------------------


def test_periodic_values_are_wrapped_and_never_outside(space):
    rows = np.array([[370.0, 1, 1], [-10, 1, 1], [360, 1, 1], [-720, 1, 1], [359.5, 1, 1], [1e300, 1, 1]])
    settled = space.settled(rows)
    assert settled[:5, 0].tolist() == [10.0, 350.0, 0.0, 0.0, 359.5]
    assert 0 <= settled[5, 0] < 360
    assert not space.outside(rows).any()
    assert rows[0, 0] == 370  # the input stays
    np.testing.assert_allclose(space.to_unit(rows)[:5, 0], [10 / 360, 350 / 360, 0, 0, 359.5 / 360])


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(1e-3, 1e6),
    turns=st.integers(-(2**40), 2**40),
    x=st.floats(allow_nan=False, allow_infinity=False),
    share=st.floats(-1, 2),
)
def test_wrapping_is_stable_and_stays_in_the_unit_interval(low, span, turns, x, share):
    space = tl.FeatureSpace({"a": tl.Periodic(low, low + span)})
    below = [np.nextafter(bound, -np.inf) for bound in (low, low + span)]
    for value in (x, low + share * span, low + turns * span, *below):
        once = space.settled([[value]])
        assert space.low[0] <= once[0, 0] < space.high[0]
        assert 0.0 <= space.to_unit(once)[0, 0] < 1.0
        assert space.settled(once) == once


def test_what_is_not_a_label_is_refused(space):
    rows = np.array([[0, 0, 1], [0, 2, 1], [0, 3, 1], [0, -1, 1], [0, 0.5, 1], [0, 1, 9]], float)
    assert space.refused(rows).tolist() == [-1, -1, 1, 1, 1, -1]
    archive = tl.Archive(tl.GridTessellation(space, 4), width=1)
    archive.add(np.zeros((6, 1)), np.ones(6), rows)
    assert archive.invalid == {"out of bounds: kind": 3}
    assert archive.out_of_bounds == 1


def test_labels_may_be_given_by_name(space):
    niches = tl.GridTessellation(space, 4)
    assert niches.shape == (4, 3, 4)
    assert niches.niche_of([370, "oak", 0.1]) == niches.niche_of([10, 1, 0.1])
    assert niches.niche_of([[370, "oak", 0.1], [0, "ash", 2]]).tolist() == [4, 8 + 3]
    with pytest.raises(ValueError, match="expected 'kind' to be one of steel, oak, ash, got 'elm'"):
        niches.niche_of([370, "elm", 0.1])


def test_descriptions_are_read_back(space):
    again = tl.FeatureSpace.from_dict(space.to_dict())
    assert again == space
    assert again != tl.FeatureSpace({"heading": (0, 360), "kind": tl.Labels(MATERIALS), "speed": (0, 2)})
    assert again != tl.FeatureSpace(
        {"heading": tl.Periodic(0, 360), "kind": tl.Labels(["steel", "ash", "oak"]), "speed": (0, 2)}
    )
    assert "periodic" not in tl.FeatureSpace({"a": (0, 1)}).to_dict()
    assert space.within(space.low, space.high) == space
    assert "heading: 0..360 periodic, kind: steel, oak, ash, speed: 0..2" in repr(space)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tl.Periodic(1, 1), "Periodic: expected two finite numbers, low < high, got 1 and 1"),
        (lambda: tl.Periodic(0, np.inf), "Periodic: expected two finite numbers"),
        (lambda: tl.Periodic("a", 1), "Periodic: expected two finite numbers"),
        (lambda: tl.Labels(["a"]), "Labels: expected at least two different texts"),
        (lambda: tl.Labels(["a", "a"]), "Labels: expected at least two different texts"),
        (lambda: tl.Labels("ab"), "Labels: expected at least two different texts, got 'ab'"),
        (lambda: tl.Labels([1, 2]), "Labels: expected at least two different texts"),
        (lambda: tl.FeatureSpace({"a": tl.Periodic(1, 2)}, scales={"a": "log"}), "scales: expected none for 'a'"),
        (lambda: tl.FeatureSpace({"a": tl.Periodic(1, 2)}, outside={"a": "refuse"}), "outside: expected no rule"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_distances_take_the_shorter_way_round(space):
    unit = space.to_unit(np.array([[350, 0, 0], [10, 0, 0], [10, 2, 0]], float))
    np.testing.assert_allclose(space.gaps(unit[:1], unit[1:]), [[-20 / 360, 0, 0], [-20 / 360, 1, 0]])


# -- grids -------------------------------------------------------------------------------------------------------------


def test_a_grid_wraps_and_has_a_cell_for_each_label(space):
    niches = tl.GridTessellation(space, [4, 3, 1])
    rows = [[-1, 0, 0], [0, 0, 0], [89.9, 1, 5], [90, 1, -5], [360, 2, 1], [359.999, 2, 1]]
    assert niches.cell_of(niches.niche_of(rows)).tolist() == [
        [3, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
        [0, 2, 0],
        [3, 2, 0],
    ]
    with pytest.raises(ValueError, match="shape: expected 3 for 'kind', one for each label, got 4"):
        tl.GridTessellation(space, [4, 4, 1])
    with pytest.raises(ValueError, match="'heading' \\(periodic\\)"):
        tl.GridTessellation(space, 3, cells="released")
    plain = tl.FeatureSpace({"heading": (0, 360), "kind": (-0.5, 2.5), "speed": (0, 2)})
    assert tl.GridTessellation(plain, [4, 3, 1]).fingerprint() != niches.fingerprint()


# -- look-up -----------------------------------------------------------------------------------------------------------


def nearest(points, centroids, kinds, p):
    """The definition: sums over the features in order; the shorter way round; the lowest of those of equal labels."""
    found = []
    for x in points:
        sums = np.zeros(len(centroids))
        for j, kind in enumerate(kinds):
            u = np.abs(x[j] - centroids[:, j])
            if kind == 1:
                u = np.minimum(u, 1.0 - u)
            if kind == 2:
                u = np.where(u > 0, np.inf, 0.0)
            if p == 2.0:
                sums = sums + u * u
            elif p == np.inf:
                sums = np.maximum(sums, u)
            elif p == 0.5:
                sums = sums + np.sqrt(u)
            else:
                sums = sums + u**p
        found.append(int(np.argmin(sums)))
    return np.array(found)


def index_kinds(d, p):
    table = [None, "table"] if d == 2 and p == 2.0 else [None]
    return ["brute", "tree", "around", *table, *(["panels", "principal"] if p == 2.0 else [])]


def axes_of(kinds):
    axes = {0: (0, 1), 1: tl.Periodic(0, 1), 2: tl.Labels(["a", "b"])}
    return tl.FeatureSpace({f"f{j}": axes[kind] for j, kind in enumerate(kinds)})


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    kinds=st.sampled_from(
        [
            (1,),
            (1, 0),
            (1, 1),
            (0, 2),
            (1, 2),
            (0, 2, 1),
            (2, 1, 0),
            (1, 0, 1),
            (1, 1, 1),
            (2, 0, 2, 1),
            (0, 1, 1, 0, 1),
            (1,) * 5,
        ]
    ),
    k=st.sampled_from([4, 31, 257]),
    p=st.sampled_from([2.0, 1.0, 0.5, np.inf, 3.0]),
    levels=st.sampled_from([2, 4, 16, 2**40]),
)
def test_look_up_agrees_with_the_definition_to_the_last_tie(seed, kinds, k, p, levels):
    rng, space, d = np.random.default_rng(seed), axes_of(kinds), len(kinds)
    labels = np.where(np.array(kinds) == 2)[0]
    centroids = rng.integers(0, levels, (k, d)) / levels
    points = np.concatenate([rng.integers(0, 2 * levels, (40, d)) / (2 * levels), rng.random((40, d)), centroids[:10]])
    far = rng.normal(size=(10, d)) * 10.0 ** rng.integers(-3, 20, (10, 1))
    far[:, np.array(kinds) > 0] = rng.random((10, d))[:, np.array(kinds) > 0]
    points = np.concatenate([points, far])
    for rows in (centroids, points):
        rows[:, labels] = (rng.integers(0, 2, (len(rows), len(labels))) + 0.5) / 2
    combinations = list(itertools.product([0.25, 0.75], repeat=len(labels)))  # each has a centroid
    centroids[: len(combinations), labels] = combinations
    points[:, np.array(kinds) == 1] = (points[:, np.array(kinds) == 1] + 1.0) - 1.0
    points[points == 1.0] = 0.0 if 1 in kinds else 1.0
    with np.errstate(over="ignore"):
        expected = nearest(points, centroids, kinds, p)
    for kind in index_kinds(sum(kind != 2 for kind in kinds), p):
        index = build_index_for(space, centroids, p, kind)
        found = index.query(points)
        if p == 3.0:
            with np.errstate(over="ignore"):
                gap = (np.abs(space.gaps(points, centroids[found])) ** p).sum(axis=1)
                least = (np.abs(space.gaps(points, centroids[expected])) ** p).sum(axis=1)
            np.testing.assert_allclose(gap, least, rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=kind)
        wrapped = points + np.where(np.array(kinds) == 1, rng.integers(-3, 4, points.shape), 0)
        if levels < 2**40 and p != 3.0:
            np.testing.assert_array_equal(index.query(wrapped)[:40], expected[:40])


def test_images_lie_within_half_a_period():
    centroids = np.array([[0.25, 0.5, 0.9]])
    images = images_of(centroids, np.array([True, True, False]))
    assert images.tolist() == [[0.25, 0.5, 0.9], [1.25, 0.5, 0.9], [0.25, -0.5, 0.9], [1.25, -0.5, 0.9]]


def test_a_look_up_is_made_anew_in_another_process(space):
    rng = np.random.default_rng(1)
    niches = tl.VoronoiTessellation(space, np.column_stack([rng.random(9) * 360, np.arange(9) % 3, rng.random(9)]))
    rows = np.column_stack([rng.random(99) * 900, np.arange(99) % 3, rng.random(99)])
    expected = niches.niche_of(rows)
    lookup = niches.lookup
    again = pickle.loads(pickle.dumps(lookup))
    assert again is not lookup
    assert type(again).__reduce__ is type(lookup).__reduce__
    assert again.ints.tolist() == lookup.ints.tolist()
    assert pickle.loads(pickle.dumps(niches)).niche_of(rows).tolist() == expected.tolist()


def test_centroids_are_checked(space):
    rows = np.array([[370.0, 0, 1], [0, 1, 1], [0, 2, 1]])
    niches = tl.VoronoiTessellation(space, rows)
    assert niches.centroids[0, 0] == 10.0
    with pytest.raises(ValueError, match="at least one for each of 3 combinations of labels, got some for 2"):
        tl.VoronoiTessellation(space, rows[:2])
    with pytest.raises(ValueError, match="expected 'kind' to be a whole number from 0 to 2 in row 1"):
        tl.VoronoiTessellation(space, [[0, 0, 1], [0, 0.5, 1]])
    with pytest.raises(ValueError, match="expected at least one that has no labels"):
        tl.VoronoiTessellation(tl.FeatureSpace({"a": tl.Labels(["x", "y"])}), [[0], [1]])


# -- construction ------------------------------------------------------------------------------------------------------


def torus(d):
    return tl.FeatureSpace({f"angle{j}": tl.Periodic(0, 1) for j in range(d)})


@pytest.mark.parametrize(("d", "p"), [(1, 2.0), (2, 2.0), (3, 2.0), (2, 1.0)])
def test_the_error_of_fixed_samples_never_rises_on_a_torus(d, p):
    errors = []
    niches = tl.cvt(
        torus(d),
        40,
        n_samples=2000,
        seed=3,
        p=p,
        method="lloyd",
        iterations=30,
        on_iteration=lambda _, e: errors.append(e),
    )
    if p == 2.0:
        assert all(later <= before * (1 + 1e-12) for before, later in itertools.pairwise(errors))
    assert errors[-1] < 0.8 * errors[0]
    assert ((niches.centroids >= 0) & (niches.centroids < 1)).all()


def test_one_step_is_the_mean_of_samples_seen_from_the_centroid():
    """By hand: 0.9, 0.95 and 0.05 belong to the centroid 0, and their mean is -1/30, that is 29/30."""
    samples = np.array([[0.9], [0.95], [0.05], [0.4], [0.6]])
    niches = tl.cvt(torus(1), 2, samples=samples, start=[[0.0], [0.5]], iterations=1)
    np.testing.assert_allclose(np.sort(niches.centroids.ravel()), [0.5, 29 / 30], atol=1e-15)


def test_two_niches_on_a_ring_are_half_a_turn_apart():
    niches = tl.cvt(torus(1), 2, seed=1)
    first, second = niches.centroids.ravel()
    assert abs(abs(first - second) - 0.5) < 0.02


def test_there_is_no_seam():
    """Areas of niches that cross the border are as others'; the mean of 60 areas has a standard error of 0.02."""
    niches = tl.cvt(torus(2), 400, seed=2)
    rng = np.random.default_rng(0)
    points = rng.random((400_000, 2))
    areas = np.bincount(niches.niche_of(points), minlength=400) / 1000
    assert areas.min() > 0
    near = (np.abs(niches.centroids - 0.5) > 0.475).any(axis=1)
    assert 20 < near.sum() < 120
    assert abs(areas[near].mean() - areas[~near].mean()) < 0.08
    turn = np.array([0.3, 0.77])
    moved = tl.VoronoiTessellation(niches.space, niches.centroids + turn)
    turned = np.bincount(moved.niche_of(points + turn), minlength=400) / 1000
    np.testing.assert_allclose(turned, areas, atol=0.005)
    quality = niches.quality(50_000)
    assert 1.0 < quality.ratio_to_best < 1.06  # no borders count against it
    assert quality.neighbour_least > 0.6 * quality.neighbour_mean


def test_labels_have_niches_of_their_own(space):
    niches = tl.cvt(space, 31, seed=1)
    assert np.bincount(niches.centroids[:, 1].astype(int)).tolist() == [11, 10, 10]
    np.testing.assert_array_equal(niches.centroids[11:21, [0, 2]], niches.centroids[21:, [0, 2]])
    rng = np.random.default_rng(1)
    rows = space.sample(500, rng)
    assert set(rows[:, 1]) == {0, 1, 2}
    np.testing.assert_array_equal(niches.centroids[niches.niche_of(rows), 1], rows[:, 1])
    assert niches.record.errors[-1] < niches.record.errors[0]
    quality = niches.quality(5000)
    assert quality.ratio_to_best is None
    assert quality.ratio_to_random < 0.8
    with pytest.raises(ValueError, match="n_niches: expected at least one for each of 3 combinations"):
        tl.cvt(space, 2)
    assert tl.cvt(tl.FeatureSpace({"k": tl.Labels(MATERIALS), "x": (0, 1), "y": (0, 1)}), 30).record.method == "exact"


def test_niches_of_labels_follow_samples_and_start(space):
    rng = np.random.default_rng(1)
    samples = space.sample(600, rng)
    samples[:, 1] = np.repeat([0, 1, 2], [300, 200, 100])
    niches = tl.cvt(space, 60, samples=samples, seed=1)
    assert np.bincount(niches.centroids[:, 1].astype(int)).tolist() == [30, 20, 10]
    again = tl.cvt(space, 60, samples=samples, start=niches.centroids, iterations=1)
    np.testing.assert_allclose(again.centroids, niches.centroids, atol=1e-9)
    with pytest.raises(ValueError, match="expected some of all 3 combinations of labels, got none of 1"):
        tl.cvt(space, 60, samples=samples[:500])
    fast = tl.cvt(space, 9, samples=lambda n, rng: space.sample_uniformly(n, rng) * [1, 1, 0.5], seed=1)
    assert fast.centroids[:, 2].max() < 1.0
    with pytest.raises(ValueError, match="Ball: expected features without labels, got 'kind'"):
        Ball(space)


def test_tessellations_are_saved_and_cached(space, tmp_path):
    niches = tl.cvt(space, 12, seed=1, cache=True)
    assert tl.cvt(space, 12, seed=1, cache=True) == niches
    plain = tl.FeatureSpace({"heading": (0, 360), "kind": tl.Labels(MATERIALS), "speed": (0, 2)})
    assert tl.cvt(plain, 12, seed=1, cache=True) != niches
    niches.save(tmp_path / "niches.parquet")
    from tesselite.tessellation.files import load_tessellation

    again = load_tessellation(tmp_path / "niches.parquet")
    assert again == niches
    assert again.fingerprint() == niches.fingerprint()
    with pytest.raises(ValueError, match="feature space"):
        load_tessellation(tmp_path / "niches.parquet", plain)
    niches.save(tmp_path / "niches.npy")
    assert load_tessellation(tmp_path / "niches.npy", space) == niches


# -- searches and archives ---------------------------------------------------------------------------------------------


@numba.njit
def turning(x):
    """A heading of several turns, a material by number, and a speed."""
    return -(x[0] - 0.3) * (x[0] - 0.3) - x[2], (2000.0 * x[0] - 700.0, np.floor(3.2 * x[1]), x[2] + x[1])


def make_turning(function, space, **options):
    return tl.problem(solutions=tl.Box(3, 0, 1), features=space, **options)(function)


def by_name(x):
    heading, code, speed = turning.py_func(x)[1]
    return turning.py_func(x)[0], (heading, [*MATERIALS, "elm"][int(code)], speed)


def in_batches(x):
    results = [turning.py_func(row) for row in x]
    return np.array([f for f, _ in results]), np.array([b for _, b in results])


@pytest.mark.parametrize("niches", [{"n_niches": 60}, {"grid": [6, 3, 4]}])
def test_compiled_and_python_searches_agree_to_the_last_bit(space, niches):
    options = {"evaluations": 3000, "seed": 5, "batch_size": 200}
    compiled = tl.illuminate(make_turning(turning, space), threads=2, **niches, **options)
    assert tl.illuminate(make_turning(turning, space), threads=1, **niches, **options).equals(compiled)
    batched = tl.illuminate(make_turning(in_batches, space, batch=True), **niches, **options)
    assert batched.equals(compiled)
    assert compiled.invalid == batched.invalid
    assert set(compiled.invalid) == {"out of bounds: kind"}
    features = compiled.elites().features
    assert ((features[:, 0] >= 0) & (features[:, 0] < 360)).all()
    assert set(features[:, 1]) == {0, 1, 2}
    assert compiled.out_of_bounds == 0
    np.testing.assert_array_equal(compiled.tessellation.niche_of(features), compiled.elites().niches)


def test_functions_may_return_labels(space):
    options = {"n_niches": 30, "evaluations": 400, "seed": 5}
    named = tl.illuminate(make_turning(by_name, space), **options)
    assert named.equals(tl.illuminate(make_turning(in_batches, space, batch=True), **options))
    assert set(named.invalid) == {"wrong features: expected 'kind' to be one of steel, oak, ash, got 'elm'"}
    columns = named.elites().columns()
    assert set(columns["kind"]) == set(MATERIALS)
    np.testing.assert_array_equal(columns["kind"], np.array(MATERIALS)[named.elites().features[:, 1].astype(int)])
    oak = named.nearest([5, "oak", 1.0])
    assert space.to_unit(oak.features[None])[0, 1] == 0.5


def test_archives_are_saved_merged_and_projected(space, tmp_path):
    found = tl.illuminate(make_turning(turning, space), n_niches=30, evaluations=2000, seed=1)
    path = tmp_path / "archive.parquet"
    found.save(path)
    again = tl.Archive.load(path)
    assert again.equals(found)
    assert again.tessellation == found.tessellation
    import pandas

    table = pandas.read_parquet(path)
    assert set(table["kind"]) == set(MATERIALS)
    assert table["heading"].between(0, 360, inclusive="left").all()
    assert found.merge(again) == 0
    coarse = tl.project(found, tl.GridTessellation(space, [3, 3, 2]))
    assert 3 <= len(coarse) <= 18
    assert coarse.best.fitness == found.best.fitness
    others = {"heading": tl.Periodic(0, 360), "kind": tl.Labels(MATERIALS[::-1]), "speed": (0, 2)}
    with pytest.raises(ValueError, match="tessellation: expected one of"):
        tl.project(found, tl.GridTessellation(tl.FeatureSpace(others), [3, 3, 2]))
    other = tl.illuminate(make_turning(turning, space), n_niches=30, evaluations=2000, seed=2)
    with pytest.raises(ValueError, match="same tessellation"):
        found.merge(other)


def test_the_spread_takes_the_shorter_way_round():
    ring = tl.FeatureSpace({"angle": tl.Periodic(0, 360), "kind": tl.Labels(["a", "b"])})
    archive = tl.Archive(tl.GridTessellation(ring, 36), width=1)
    rows = [[0, 0], [90, 0], [180, 0], [270, 0], [5, 1], [355, 1]]
    archive.add(np.zeros((6, 1)), np.zeros(6), rows)
    assert tl.spread(archive) == pytest.approx((4 * 90 + 2 * 10) / 6 / 90)
    assert tl.spread(archive, p=1.0) == pytest.approx((4 * 90 + 2 * 10) / 6 / 90)
    assert archive.nearest([359, 0]).features.tolist() == [0, 0]


@pytest.mark.parametrize("niches", [tl.expanding(50), tl.adaptive(50), tl.dns(50), tl.nslc(50), tl.rts(50)])
def test_growing_niches_and_populations_say_what_they_cannot_do(space, niches):
    with pytest.raises(ValueError, match=r"got 'heading' \(periodic\)|expanding: all bounds"):
        tl.illuminate(make_turning(turning, space), tessellation=niches, evaluations=100)


def test_runs_are_stored_resumed_and_have_a_history(space, tmp_path):
    options = {"n_niches": 30, "seed": 5, "history": True, "initial": 100, "batch_size": 100}
    problem = make_turning(turning, space)
    whole = tl.run(problem, evaluations=1500, out=tmp_path / "whole", **options)
    tl.run(problem, evaluations=700, out=tmp_path / "parts", **options)
    parts = tl.resume(tmp_path / "parts", evaluations=1500, problem=problem)
    assert parts.archive.equals(whole.archive)
    tl.run(make_turning(in_batches, space, batch=True), evaluations=1500, out=tmp_path / "batches", **options)
    histories = [tl.load_history(tmp_path / name) for name in ("whole", "parts", "batches")]
    assert histories[0].equals(histories[1])
    assert histories[0].equals(histories[2])
    table = histories[0].to_pandas()
    assert set(table["kind"]) == {"", *MATERIALS}
    assert ((table["kind"] == "") == (table["reason"] == "out of bounds: kind")).all()
    assert table["heading"].between(0, 360, inclusive="left").all()
