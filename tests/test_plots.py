"""`tl.plots`: what is drawn where, in users' axes, from archives, files and folders."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.figure import Figure

import tesselite as tl
from report_runs import bowl_run, walk
from tesselite.assessment.scenarios import assess_run
from tesselite.cli.app import app
from tesselite.report.run_figures import plot_archive, plot_run

SPACE = tl.FeatureSpace({"mass": (1, 100), "height": (0, 2)}, scales={"mass": "log"})


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib.use("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two assessed runs with the scenarios ice and night."""
    made = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp("walks") / f"run{seed}"
        tl.run(walk(), out=folder, grid=4, evaluations=400, initial=200, seed=seed)
        assess_run(folder, walk())
        made.append(folder)
    return made


def axes():
    return Figure().subplots()


def small(tessellation, direction="max"):
    archive = tl.Archive(tessellation, 1, direction=direction)
    archive.add([[0.1], [0.2], [0.3]], [5.0, 6.0, 7.0], [[2, 0.2], [2, 1.8], [90, 1.8]])
    return archive


def test_figures_show_the_titles_of_features(tmp_path):
    problem = tl.problems.maze("2d", steps=50)
    archive = tl.illuminate(problem, grid=4, evaluations=50, seed=1)
    titles = ("x at step 50", "y at step 50")
    ax = tl.plots.archive(archive, axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == titles
    ax = tl.plots.parallel_axes(archive, axes())
    assert [text.get_text() for text in ax.get_xticklabels()] == list(titles)
    ax = tl.plots.niches(archive, axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == titles
    # A folder has names only: the titles are those of the built-in problem.
    tl.run(tl.problems.by_name("maze:2d"), out=tmp_path / "run", grid=4, evaluations=20, seed=1)
    assert tl.plots.archive(tmp_path / "run", axes()).get_xlabel() == "x at step 3000"
    assert tl.plots.archive(tmp_path / "run" / "archive.parquet", axes()).get_xlabel() == "x3000"


def test_the_folder_of_a_problem_with_a_built_in_name_is_drawn(tmp_path):
    @tl.problem(name="arm:left", solutions=tl.Box(2, 0, 1), features={"a": (0, 1), "b": (0, 1)})
    def left(x):
        return x[0], x

    tl.run(left, out=tmp_path / "run", grid=4, evaluations=50, seed=1)
    assert tl.plots.archive(tmp_path / "run", axes()).get_xlabel() == "a"


def test_cells_of_a_grid_are_rectangles_in_feature_units():
    ax = axes()
    assert tl.plots.archive(small(tl.GridTessellation(SPACE, 2)), ax) is ax
    (cells,) = ax.collections
    boxes = [path.get_extents().extents.tolist() for path in cells.get_paths()]
    np.testing.assert_allclose(boxes, [[1, 0, 10, 1], [1, 1, 10, 2], [10, 1, 100, 2]])
    assert cells.get_array().tolist() == [5, 6, 7]
    assert (ax.get_xscale(), ax.get_xlim(), ax.get_ylim()) == ("log", (1, 100), (0, 2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mass", "height")
    assert ax.figure.axes[1].get_ylabel() == "fitness"


def test_voronoi_cells_hold_their_centroids_and_other_norms_are_painted():
    centroids = np.array([[2, 0.3], [2, 1.7], [80, 1.7], [80, 0.3]])
    ax = tl.plots.archive(small(tl.VoronoiTessellation(SPACE, centroids)), axes(), colorbar=False)
    (cells,) = ax.collections
    assert isinstance(cells, PolyCollection)
    for path, centroid in zip(cells.get_paths(), centroids, strict=False):
        assert path.contains_point(centroid)
    assert len(ax.figure.axes) == 1
    painted = tl.plots.archive(small(tl.VoronoiTessellation(SPACE, centroids, p=1.0)), axes()).collections[0]
    assert isinstance(painted, QuadMesh)
    assert set(np.unique(painted.get_array().compressed())) == {5.0, 6.0, 7.0}


def test_a_scale_of_the_users_own():
    root = tl.Scale("root", np.sqrt, np.square)
    space = tl.FeatureSpace({"a": (0, 4), "b": (0, 1)}, scales={"a": root})
    archive = tl.Archive(tl.GridTessellation(space, 2), 1)
    archive.add([[0.0]], [1.0], [[3.0, 0.9]])
    ax = tl.plots.archive(archive, axes())
    np.testing.assert_allclose(ax.collections[0].get_paths()[0].get_extents().extents, [1, 0.5, 4, 1])
    middle = ax.transData.transform([1.0, 0.5])  # the middle of the scale
    np.testing.assert_allclose(ax.transAxes.inverted().transform(middle), [0.5, 0.5])


def test_colours_by_any_column_or_by_values():
    archive = small(tl.GridTessellation(SPACE, 2), "min")
    cells = tl.plots.archive(archive, axes()).collections[0]
    assert cells.get_cmap().name == "viridis_r"  # small is good, and good is bright
    cells = tl.plots.archive(archive, axes(), color="height", cmap="magma", vmin=-1, vmax=3).collections[0]
    assert cells.get_array().tolist() == [0.2, 1.8, 1.8]
    assert (cells.get_cmap().name, cells.get_clim()) == ("magma", (-1, 3))
    assert tl.plots.archive(archive, axes(), color=[1, 2, 3]).collections[0].get_array().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"color: expected values, or a column .*niche, fitness.*got 'hight'"):
        tl.plots.archive(archive, axes(), color="hight")
    with pytest.raises(ValueError, match=r"color: expected a value for each of 3 elites, got shape \(2,\)"):
        tl.plots.archive(archive, axes(), color=[1, 2])
    with pytest.raises(ValueError, match="ax: expected axes of matplotlib, got <Figure"):
        tl.plots.archive(archive, Figure())


def test_texts_are_colours_with_names():
    space = tl.FeatureSpace({"wood": tl.Labels(["oak, $1", "ash", "elm"]), "height": (0, 2)}, titles={"wood": "$kind"})
    archive = tl.Archive(tl.GridTessellation(space, [3, 2]), 1, records={"note": str})
    archive.add([[0.1], [0.2]], [1.0, 2.0], [[0, 0.2], [2, 1.8]], records={"note": ["b", "a"]})

    def bar(**color):
        ax = tl.plots.archive(archive, axes(), **color)
        beside = ax.figure.axes[1]
        return ax.collections[0], beside.get_ylabel(), [text.get_text() for text in beside.get_yticklabels()]

    cells, label, names = bar(color="wood")
    assert (label, names) == ("$kind", ["oak, $1", "ash", "elm"])  # all labels, so that colours agree between archives
    assert cells.get_array().tolist() == [0, 2]
    assert (cells.get_cmap().N, cells.get_clim()) == (3, (-0.5, 2.5))
    cells, label, names = bar(color="note", cmap="magma")
    assert (cells.get_array().tolist(), label, names) == ([1, 0], "note", ["a", "b"])
    assert bar(color=["y", "x"])[2] == ["x", "y"]
    cells, _, names = bar(color=np.array([2.0, None], dtype=object))  # numbers, not texts
    np.testing.assert_array_equal(cells.get_array().filled(np.nan), [2, np.nan])
    with pytest.raises(ValueError, match="color: expected numbers or texts, got "):
        tl.plots.archive(archive, axes(), color=[{}, 1])
    with pytest.raises(ValueError, match="vmin, vmax: expected none, because note holds texts"):
        tl.plots.archive(archive, axes(), color="note", vmax=3)


def test_figures_of_runs_fit_a_page(tmp_path):
    from PIL import Image

    (file, *_) = plot_run(bowl_run(tmp_path / "run", 2))
    with Image.open(file) as picture:
        assert picture.width <= 7.5 * 300


def test_small_bounds_have_short_ticks():
    tiny = tl.Archive(tl.GridTessellation(tl.FeatureSpace({"a": (0, 1e-9), "b": (0, 1)}), 2), 1)
    made = Figure()
    ax = tl.plots.archive(tiny, made.subplots())
    made.draw_without_rendering()
    assert max(len(text.get_text()) for text in ax.get_xticklabels()) < 6
    assert ax.xaxis.get_offset_text().get_text() == "1e−9"


def test_sources_and_new_axes(tmp_path, folders):
    archive = small(tl.GridTessellation(SPACE, 2))
    file = archive.save(tmp_path / "a.parquet")
    for source in (file, str(file), archive):
        assert len(tl.plots.archive(source).collections[0].get_paths()) == 3
    assert plt.get_fignums() == [1, 2, 3]
    assert tl.plots.archive(folders[0], axes()).get_xlabel() == "x"
    with pytest.raises(ValueError, match=r"none: not a run \(there is no such file or folder\)"):
        tl.plots.progress(tmp_path / "none", axes())
    with pytest.raises(ValueError, match="source: expected an archive, a run, a file or the folder of a run, got 3"):
        tl.plots.archive(3, axes())


def test_more_features_are_parallel_axes_and_pairs_take_the_place_of_the_axes(tmp_path):
    folder = bowl_run(tmp_path / "run", 3)
    ax = tl.plots.archive(folder, axes())
    (lines,) = ax.collections
    assert isinstance(lines, LineCollection)
    assert ax.figure.axes[1].collections[-1].get_alpha() == 1.0  # the lines are transparent, the colour bar is not
    made = Figure(layout="constrained")
    left, right = made.subplots(1, 2)
    panels = tl.plots.pairs(folder, left, color="f1")
    assert panels.shape == (3, 3)
    assert left not in made.axes
    assert right in made.axes
    made.draw_without_rendering()
    assert panels[2, 2].get_position().x1 < right.get_position().x1
    with pytest.raises(ValueError, match="pairs: expected at least three elites"):
        tl.plots.pairs(tl.Archive(tl.GridTessellation(SPACE, 2), 1), axes())


def test_parallel_axes_of_one_feature_have_a_dash_for_each_elite():
    archive = tl.Archive(tl.GridTessellation(tl.FeatureSpace({"mass": (0, 10)}), 4), 1)
    archive.add([[0.1], [0.2]], [1.0, 2.0], [[2], [9]])
    (dashes,) = tl.plots.parallel_axes(archive, axes()).collections
    ends = np.array(dashes.get_segments())
    np.testing.assert_allclose(ends[:, :, 1], [[0.2, 0.2], [0.9, 0.9]])
    assert (ends[:, 1, 0] > ends[:, 0, 0]).all()


@pytest.mark.parametrize(("inches", "label"), [((9, 9), "component 3\n"), ((3.5, 3), "comp. 3\n")])
def test_pairs_fit_the_figure(tmp_path, inches, label):
    made = Figure(figsize=inches, layout="constrained")
    panels = tl.plots.pairs(bowl_run(tmp_path / "run", 3), made.subplots())
    made.draw_without_rendering()
    assert panels[2, 0].get_ylabel().startswith(label)
    assert all(panel.get_window_extent().width > 0.1 * made.bbox.width for panel in panels.ravel())


def test_progress_of_one_run_and_of_several(folders):
    ax = tl.plots.progress(folders[0], axes(), measure="coverage", color="red")
    (line,) = ax.lines
    assert line.get_color() == "red"
    assert line.get_xdata()[-1] == 400
    assert 0 < line.get_ydata()[-1] <= 1
    ax = tl.plots.progress({"$a": folders, "b": folders[0]}, axes(), measure="best_fitness")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a", "b"]
    with pytest.raises(ValueError, match="measure: expected one of coverage, qd_score"):
        tl.plots.progress(folders[0], axes(), measure="quality")
    with pytest.raises(ValueError, match=r"records its progress if it is given a folder \(out=\.\.\.\)"):
        tl.plots.progress(tl.Archive.load(folders[0]), axes())


def test_a_curve_that_lies_on_zero_is_not_drawn_on_the_axis(tmp_path):
    @tl.problem(solutions=tl.Box(1, 0, 1), features={"a": (0, 1)})
    def negative(x):
        return -1.0 - x[0], x

    tl.run(negative, out=tmp_path / "run", grid=4, evaluations=400, initial=100, seed=1)
    ax = tl.plots.progress(tmp_path / "run", axes(), measure="qd_score")
    assert set(ax.lines[0].get_ydata()) == {0.0}
    low, line, high = ax.transData.transform([(0, y) for y in (ax.get_ylim()[0], 0.0, ax.get_ylim()[1])])[:, 1]
    assert 0.01 * (high - low) < line - low < 0.05 * (high - low)
    assert ax.get_ylim()[1] == 1.0


def test_expected_quality_of_equal_elites_is_a_step():
    archive = tl.Archive(tl.GridTessellation(SPACE, 2), 1)
    archive.add([[0.1], [0.2]], [1e9, 1e9], [[2, 0.2], [90, 1.8]])
    x, y = tl.plots.expected_quality(archive, axes()).lines[0].get_data()
    assert x[0] < 1e9 < x[-1]
    assert (y[0], y[-1]) == (1, 0)


def test_expected_quality_is_the_share_that_reaches_a_fitness(folders):
    archive = small(tl.GridTessellation(SPACE, 2))
    ax = tl.plots.expected_quality(archive, axes())
    x, y = ax.lines[0].get_data()
    assert (x[0], x[-1]) == (5, 7)
    np.testing.assert_allclose(np.interp([5.5, 6.5], x, y), [2 / 3, 1 / 3])  # P(X > x)
    assert ax.get_ylabel() == "P(X > x)"
    night = tl.plots.expected_quality(folders, axes(), setting="night").lines[0].get_ydata()
    assert 0 < night[-1] < 1  # invalid elites never reach any fitness
    assert len(tl.plots.expected_quality(folders, axes(), setting="scenarios").lines) == 1
    with pytest.raises(ValueError, match="setting: expected one of training, ice, night, got 'rain'"):
        tl.plots.expected_quality(folders, axes(), setting="rain")
    with pytest.raises(ValueError, match="same direction"):
        tl.plots.expected_quality({"a": archive, "b": folders[0]}, axes())


def test_best_performance_in_each_setting(folders):
    ax = tl.plots.best_performance({"walks": folders, "alone": tl.Archive.load(folders[0])}, axes())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["training", "ice", "night"]
    dots = [line.get_ydata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert [len(found) for found in dots] == [2, 1, 2, 0, 1, 0]  # of one run no elite is valid at night
    assert sorted(dots[0])[0] == min(tl.Archive.load(folder).best_fitness for folder in folders)
    assert [text.get_text() for text in ax.texts] == ["not computed", "1 of 2 failed", "not computed"]


def test_populations_are_drawn_in_niches():
    @tl.problem(solutions=tl.Box(3, 0, 1), features={"a": None, "b": (0, None)})
    def unbounded(x):
        return -x.var(), (1000 * x[0], x[1])

    run = tl.run(unbounded, tessellation=tl.dns(30), evaluations=600, initial=200, seed=1)
    ax = tl.plots.archive(run, axes())
    assert 500 < ax.get_xlim()[1] <= 1000
    assert 5 < len(ax.collections[0].get_paths()) <= 30
    by_fitness = tl.plots.archive(run, axes(), color=run.archive.elites().fitness).collections[0].get_array()
    np.testing.assert_array_equal(by_fitness, ax.collections[0].get_array())
    # Where no niches are drawn, none of its solutions is left out.
    assert len(tl.plots.pairs(run, axes(), color=np.arange(30))[1, 0].collections[0].get_offsets()) == 30
    (lines,) = tl.plots.parallel_axes(run, axes(), color=np.arange(30)).collections
    assert len(lines.get_segments()) == 30
    assert 0.0 <= np.min(lines.get_segments()) < np.max(np.array(lines.get_segments())[..., 1]) <= 1.0
    assert len(tl.plots.expected_quality(run, axes()).lines) == 1
    with pytest.raises(ValueError, match="source: expected niches, got an archive without any"):
        tl.plots.niches(run, axes())

    @tl.problem(solutions=tl.Box(1, 0, 1), features={"a": None, "b": (0, 1)})
    def far(x):
        return x[0], (1e17, x[0])

    alike = tl.run(far, tessellation=tl.dns(5), evaluations=100, initial=50, seed=1)
    assert tl.plots.archive(alike, axes()).get_xlim()[1] > 1e17


def test_niches(tmp_path):
    grid = tl.plots.niches(tl.GridTessellation(SPACE, [2, 3]), axes())
    np.testing.assert_allclose(grid.collections[0].get_segments()[1], [[10, 0], [10, 2]])
    voronoi = tl.VoronoiTessellation(SPACE, [[2, 0.3], [2, 1.7], [80, 1.7]])
    file = voronoi.save(tmp_path / "niches.parquet")
    for source in (voronoi, file or tmp_path / "niches.parquet", small(voronoi)):
        ax = tl.plots.niches(source, axes(), color="red")
        assert len(ax.collections[0].get_paths()) == 3
        assert ax.collections[1].get_offsets().tolist() == voronoi.centroids.tolist()
    many = tl.VoronoiTessellation(tl.FeatureSpace.unit(3), [[0.5, 0.1, 0.1], [0.5, 0.9, 0.5], [0.5, 0.5, 0.9]])
    assert tl.plots.niches(many, axes()).get_xlabel() == "f1"
    cells = tl.plots.niches(tl.GridTessellation(tl.FeatureSpace.unit(3), [2, 3, 5]), axes())
    assert (cells.get_xlabel(), cells.get_ylabel()) == ("f1", "f2")  # the features with most cells
    np.testing.assert_allclose([part[0][0] for part in cells.collections[0].get_segments()], [0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize(
    ("tessellation", "borders"),
    [
        (tl.GridTessellation(tl.FeatureSpace({"m": (1, 100)}, scales={"m": "log"}), 2), [1, 10, 100]),
        (tl.GridTessellation(tl.FeatureSpace({"m": (0, 4)}), 4, cells="released"), [0, 0.5, 1.5, 2.5, 4]),
        (tl.VoronoiTessellation(tl.FeatureSpace({"m": (0, 4)}), [[1.0], [3.5]]), [0, 2.25, 4]),
    ],
)
def test_niches_of_one_feature_are_intervals(tessellation, borders):
    ax = tl.plots.niches(tessellation, axes())
    np.testing.assert_allclose([part[0][0] for part in ax.collections[0].get_segments()], borders, rtol=1e-3)


PLOTS = (tl.plots.archive, tl.plots.parallel_axes, tl.plots.expected_quality, tl.plots.best_performance)


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("fitness", [[-1.7e308, 0.0, 1.7e308], [1e-310, 2e-310, 3e-310], [1e9, 1e9 + 1, 1e9 + 2]])
def test_fitness_of_any_size(plot, features, fitness):
    archive = tl.Archive(tl.GridTessellation(tl.FeatureSpace.unit(features), 4), 1)
    archive.add([[0.1], [0.2], [0.3]], fitness, [[0.1] * features, [0.4] * features, [0.9] * features])
    made = Figure()
    ax = plot(archive, made.subplots())
    made.draw_without_rendering()  # warnings are errors
    labels = " ".join(at.get_ylabel() + at.get_xlabel() for at in made.axes)
    assert ("in 1e308" in labels) == (fitness[-1] > 1e300)
    offsets = [axis.get_offset_text().get_text() for at in made.axes for axis in (at.xaxis, at.yaxis)]
    assert not any("+" in text for text in offsets), offsets
    assert ax in made.axes


def test_an_empty_archive_and_one_limit_of_colours():
    empty = tl.Archive(tl.GridTessellation(SPACE, 2), 1)
    made = Figure()
    tl.plots.archive(empty, made.subplots(), color="evaluation", vmin=2)
    made.draw_without_rendering()
    with pytest.raises(ValueError, match="source: expected at least one valid elite in 'training', got none"):
        tl.plots.expected_quality(empty, axes())


def test_best_performance_of_some_settings(folders):
    ax = tl.plots.best_performance(folders, axes(), settings=["night", "training"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["night", "training"]
    with pytest.raises(ValueError, match=r"settings: expected names among training, ice, night, got \['day'\]"):
        tl.plots.best_performance(folders, axes(), settings=["day"])


def test_a_map_says_why_it_is_painted(tmp_path, monkeypatch):
    archive, said = small(tl.GridTessellation(SPACE, 2)), []
    (file,) = plot_archive(archive, tmp_path, "svg", "", say=said.append)
    assert "<image" not in file.read_text().split("colorbar")[0].split('id="PolyCollection')[1].split("</g>")[0]
    assert said == []
    monkeypatch.setattr("tesselite.report.archive_map._MOST_POLYGONS", 2)
    plot_archive(archive, tmp_path, "svg", "", say=said.append)
    assert said == ["niches are pixels in archive.svg: there are more than 2"]
    assert "<image" in file.read_text()


def test_the_command_takes_a_saved_archive(tmp_path):
    from typer.testing import CliRunner

    file = small(tl.GridTessellation(SPACE, 2)).save(tmp_path / "small.parquet")
    result = CliRunner().invoke(app, ["plot", str(file or tmp_path / "small.parquet"), "--format", "svg"])
    assert result.exit_code == 0, result.output
    assert "<text" in (tmp_path / "small-figures" / "archive.svg").read_text()
