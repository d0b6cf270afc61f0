"""Principal components, and the pair plots of archives beyond two features: the content of each panel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PathCollection

import tesselite as tl
from report_runs import bowl, bowl_run
from tesselite.archive.archive import Archive
from tesselite.report.pair_plots import pair_components, pairs_size, pairs_texts
from tesselite.report.principal_axes import principal_components
from tesselite.report.run_figures import plot_archive, plot_run
from tesselite.report.style import figure


def archive_of(features, fitness=None, direction="max", space=None):
    """An archive in which every row of features has a niche of its own."""
    features = np.asarray(features, dtype=float)
    space = space or tl.FeatureSpace.unit(features.shape[1])
    archive = Archive(tl.VoronoiTessellation(space, features), 1, direction=direction)
    fitness = np.arange(len(features), dtype=float) if fitness is None else np.asarray(fitness, dtype=float)
    archive.add(np.zeros((len(features), 1)), fitness, features)
    return archive


def panels(made):
    """The points (m, 2) of each pair plot by (row, column), and the heights of the bars of each diagonal panel."""
    n = int(np.sqrt(len(made.axes)))
    pairs, bars = {}, {}
    for place, ax in enumerate(made.axes[: n * n]):
        row, column = divmod(place, n)
        for drawn in ax.collections:
            assert isinstance(drawn, PathCollection)
            pairs[row, column] = drawn
        if ax.patches:
            bars[row, column] = [patch.get_height() for patch in ax.patches]
    return pairs, bars


# -- principal components ----------------------------------------------------------------------------------------------


def test_a_plane_solved_by_hand():
    # A cross in the plane of u = (3, 4, 0)/5 and v = (0, 0, 1): lengths 2 and 1 both ways, so variances 8 and 2 of 10.
    u, v = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.0, 1.0])
    rows = np.array([2 * u, -2 * u, v, -v]) + np.array([5.0, -1.0, 3.0])
    found = principal_components(rows, 3)
    np.testing.assert_allclose(found.shares, [0.8, 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.axes, [u, v, np.zeros(3)], atol=1e-12)
    np.testing.assert_allclose(found.places, [[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]], atol=1e-12)
    assert found.n_varying == 2


@pytest.mark.parametrize(("m", "d"), [(200, 7), (7, 200), (30, 30), (3, 3), (2, 5), (50, 1)])
def test_shares_axes_and_places_against_the_singular_values(m, d):
    rows = np.random.default_rng(m * d).normal(size=(m, d)) * np.linspace(1, 2, d) + 3
    before = rows.copy()
    found = principal_components(rows, 4)
    np.testing.assert_array_equal(rows, before)
    left, values, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    n = min(4, d, m - 1)  # centred rows span one dimension less
    assert found.n_varying == n
    np.testing.assert_allclose(found.shares[:n], (values**2 / (values**2).sum())[:n])
    for i in range(n):
        sign = np.sign(right[i] @ found.axes[i])
        np.testing.assert_allclose(found.axes[i], sign * right[i], atol=1e-7)
        np.testing.assert_allclose(found.places[:, i], sign * values[i] * left[:, i], atol=1e-6)
    assert not found.places[:, n:].any()
    assert not found.axes[n:].any()


@given(st.integers(2, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_the_largest_weight_is_positive_and_mirrored_rows_are_mirrored(m, d, seed):
    rows = np.random.default_rng(seed).random((m, d))
    found, mirrored = principal_components(rows, 3), principal_components(-rows, 3)
    assert 0 < found.shares.sum() <= 1 + 1e-9
    assert (np.diff(found.shares) <= 1e-12).all()
    for axis in found.axes[: found.n_varying]:
        assert axis[np.argmax(np.abs(axis))] > 0
        assert np.linalg.norm(axis) == pytest.approx(1.0)
    np.testing.assert_array_equal(mirrored.axes, found.axes)
    np.testing.assert_array_equal(mirrored.places, -found.places)


def test_of_equal_weights_the_first_decides_the_sign():
    # The one direction is (1, -1)/sqrt(2): rounding must not choose which of the two weights is positive.
    for steps in (np.arange(5.0), -np.arange(5.0), np.arange(5.0) * 0.1 + 0.3):
        axis = principal_components(np.column_stack([steps, -steps]), 1).axes[0]
        np.testing.assert_allclose(axis, [np.sqrt(0.5), -np.sqrt(0.5)])


@pytest.mark.parametrize("rows", [np.zeros((0, 4)), np.full((1, 4), 0.3), np.full((50, 4), 0.1), np.full((3, 9), 1e6)])
def test_rows_that_do_not_differ_have_no_components(rows):
    found = principal_components(rows, 3)
    assert found.n_varying == 0
    assert not found.places.any()
    assert found.places.shape == (len(rows), 3)


# -- the picture -------------------------------------------------------------------------------------------------------


def test_pairs_are_in_the_lower_triangle_coloured_by_fitness_best_on_top():
    rng = np.random.default_rng(1)
    features = rng.random((60, 6))
    archive = archive_of(features, fitness=rng.normal(size=60), direction="min")
    components = pair_components(archive)
    order = np.argsort(-archive.elites().fitness)
    with figure(*pairs_size(components)) as made:
        tl.plots.pairs(archive, made.subplots())
        pairs, bars = panels(made)
        assert set(pairs) == {(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)}
        for (row, column), points in pairs.items():
            np.testing.assert_array_equal(points.get_offsets(), components.places[order][:, [column, row]])
            np.testing.assert_array_equal(points.get_array(), archive.elites().fitness[order])
            assert points.get_cmap().name == "viridis_r"  # small is good, and good is bright
        assert set(bars) == {(i, i) for i in range(4)}
        assert all(sum(heights) == 60 for heights in bars.values())
        for i, share in enumerate(components.shares):
            label = made.axes[12 + i].get_xlabel()
            assert label.startswith(f"component {i + 1}\n")
            assert float(label.split("\n")[1].split(" %")[0]) == pytest.approx(100 * share, abs=0.51)
        assert [made.axes[4 * i].get_ylabel() for i in (1, 2, 3)] == [made.axes[12 + i].get_xlabel() for i in (1, 2, 3)]


def test_features_count_in_unit_scale_and_the_caption_names_the_heaviest():
    # In feature units "mass" would swamp all; in unit scale "speed" varies most, and "still" not at all.
    space = tl.FeatureSpace(
        {"mass": (0, 1e6), "speed": (0, 1), "still": (0, 1), "size": (1, 1e4)}, scales={"size": "log"}
    )
    rng = np.random.default_rng(2)
    features = np.column_stack(
        [4e5 + 2e5 * rng.random(40), rng.random(40), np.full(40, 0.7), 10 ** (1 + 2 * rng.random(40))]
    )
    archive = archive_of(features, space=space)
    components = pair_components(archive)
    assert len(components.shares) == 3  # a constant feature makes no component
    assert components.shares.sum() == pytest.approx(1.0)
    assert np.argmax(np.abs(components.axes), axis=1).tolist() == [1, 3, 0]
    with figure(*pairs_size(components)) as made:
        tl.plots.pairs(archive, made.subplots())
    held, weights = pairs_texts(archive, components)
    assert [line.split()[2].rstrip(",") for line in weights.split("\n")[1:]] == ["speed", "size", "mass"]
    assert "100 % of the variance" in held


def test_few_directions_few_panels():
    steps = np.linspace(0.1, 0.9, 9)
    line = archive_of(np.column_stack([steps, steps, 1 - steps]))
    components = pair_components(line)
    assert components.shares.tolist() == pytest.approx([1.0])
    with figure(*pairs_size(components)) as made:
        tl.plots.pairs(line, made.subplots())
        pairs, bars = panels(made)
        assert (pairs, set(bars)) == ({}, {(0, 0)})
    plane = archive_of(np.column_stack([steps, steps**2, 1 - steps]))
    components = pair_components(plane)
    with figure(*pairs_size(components)) as made:
        tl.plots.pairs(plane, made.subplots())
        assert set(panels(made)[0]) == {(1, 0)}


def test_no_pairs_where_there_is_nothing_to_project():
    rng = np.random.default_rng(3)
    assert pair_components(archive_of(rng.random((2, 5)))) is None
    space = tl.FeatureSpace.unit(3)
    assert pair_components(Archive(tl.GridTessellation(space, 2), 1)) is None
    same = Archive(tl.VoronoiTessellation(space, rng.random((4, 3))), 1)
    same.add(np.zeros((1, 1)), [1.0], np.full((1, 3), 0.5))
    assert pair_components(same) is None
    assert pair_components(archive_of(rng.random((3, 3)))) is not None


def test_many_elites_are_thinned_evenly_and_counted_in_full(monkeypatch):
    monkeypatch.setattr("tesselite.report.pair_plots._POINTS_SHOWN", 10)
    archive = archive_of(np.random.default_rng(4).random((55, 3)))
    components = pair_components(archive)
    with figure(*pairs_size(components)) as made:
        tl.plots.pairs(archive, made.subplots())
        pairs, bars = panels(made)
        assert pairs[1, 0].get_array().tolist() == [0, 6, 12, 18, 24, 30, 36, 42, 48, 54]
        assert sum(bars[0, 0]) == 55


@pytest.mark.parametrize(("n", "expected"), [(2, False), (3, True)])
def test_a_runs_pictures_have_pairs_beyond_two_features(tmp_path, monkeypatch, n, expected):
    monkeypatch.setattr("tesselite.report.run_figures.problem_of", lambda *_: bowl(n))
    folder = bowl_run(tmp_path / "run", n, n_niches=None, grid=2, evaluations=600)
    names = [file.name for file in plot_run(folder, tmp_path / "figures", "svg")]
    assert names == ["progress.svg", "archive.svg"] + ["archive-pairs.svg"] * expected
    if expected:  # the same archive gives the same file
        first = (tmp_path / "figures" / names[-1]).read_bytes()
        plot_run(folder, tmp_path / "figures", "svg")
        assert (tmp_path / "figures" / names[-1]).read_bytes() == first


@pytest.mark.parametrize("n", [2, 3])
def test_names_are_no_formulas(tmp_path, n):
    space = tl.FeatureSpace(dict.fromkeys(("cost in $", "$x^$", "-_{$")[:n], (0, 1)))
    archive = archive_of(np.random.default_rng(5).random((9, n)), space=space)
    files = plot_archive(archive, tmp_path, "svg", "$x_$: a price in $ and $")
    assert len(files) == n - 1
