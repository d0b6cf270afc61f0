"""Static pictures of archives: the right things at the right places, for one, two and many features."""

from __future__ import annotations

import numpy as np
import pytest

import tesselite as tl
from report_runs import bowl_run
from tesselite.archive.archive import Archive
from tesselite.problems.maze_navigation import maze
from tesselite.report.labels import apart, short
from tesselite.report.principal_axes import most_varied
from tesselite.report.run_figures import plot_run
from tesselite.report.style import figure
from tesselite.runs.run import run


def filled(tessellation, features, fitness, direction="max"):
    archive = Archive(tessellation, 1, direction=direction)
    archive.add(np.zeros((len(fitness), 1)), np.asarray(fitness, float), np.asarray(features, float))
    return archive


def test_one_feature_has_a_bar_for_each_niche():
    space = tl.FeatureSpace({"size": (1.0, 16.0)}, scales={"size": "log"})
    archive = filled(tl.GridTessellation(space, 4), [[1.5], [3.0], [12.0]], [5.0, 7.0, 6.0])
    with figure() as made:
        ax = tl.plots.archive(archive, made.subplots())
        empty, bars = ax.collections
        drawn = np.array([bar.ravel() for bar in bars.get_segments()])
        np.testing.assert_allclose(drawn, [[1, 5, 2, 5], [2, 7, 4, 7], [8, 6, 16, 6]], rtol=1e-3)
        assert bars.get_array().tolist() == [5, 7, 6]
        corners = empty.get_paths()[0].vertices
        np.testing.assert_allclose([corners[:, 0].min(), corners[:, 0].max()], [4, 8], rtol=1e-3)
        low, high = ax.get_ylim()
        assert low < 5
        assert high > 7
        assert ax.get_xlabel() == "size"
        assert ax.get_xscale() == "log"
        assert ax.get_xlim() == (1, 16)


def test_ticks_say_what_tells_them_apart():
    assert apart([-1000.7, -1000.5, -1000.3]) == ["-1000.7", "-1000.5", "-1000.3"]
    assert apart([0.0, -0.0, 1.0]) == ["0", "0", "1"]
    assert apart([1e300, 2e300]) == ["1e+300", "2e+300"]
    assert short("duty factor of the leg number 11", 20) == "duty fact… number 11"
    space = tl.FeatureSpace({"a": (-1000.7, -1000.3), "b": (0.0, 1.0)})
    archive = filled(tl.GridTessellation(space, 2), [[-1000.6, 0.2]], [1.0])
    with figure() as made:
        ax = tl.plots.archive(archive, made.subplots())
        made.draw_without_rendering()
        assert ax.xaxis.get_offset_text().get_text() == ""
        assert ax.get_xticklabels()[1].get_text().startswith("−1000.6")


def test_parallel_axes_show_what_varies_most_and_say_what_is_missing(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"{kind} of joint {j}" for j in range(12) for kind in ("amplitude", "phase", "duty")]
    features = 0.5 + (rng.random((40, 36)) - 0.5) * np.tile([0.2, 1.0, 0.5], 12)
    archive = filled(
        tl.VoronoiTessellation(tl.FeatureSpace(dict.fromkeys(names, (0, 1))), features), features, range(40)
    )
    with figure() as made:
        tl.plots.archive(archive, made.subplots())
        shown = [label.get_text() for label in made.axes[0].get_xticklabels()]
        assert shown == [name for name in names if "amplitude" not in name]
        said = made.axes[0].get_xlabel().replace("\n", " ")
        assert said.startswith("24 of 36 features are shown, those that vary most; missing: amplitude of joint 0, ")
        assert said.count("amplitude") == 12
    with figure() as made:
        tl.plots.parallel_axes(archive, made.subplots(), features=["phase of joint 3", "amplitude of joint 1"])
        lines = np.array(made.axes[0].collections[0].get_segments())
        np.testing.assert_allclose(lines[:, :, 1], features[:, [10, 3]])
        assert made.axes[0].get_xlabel() == "2 of 36 features are shown"
    with figure() as made, pytest.raises(ValueError, match=r"features: expected names .*amplitude of joint 0.*'leg'"):
        tl.plots.parallel_axes(archive, made.subplots(), features=["leg"])
    folder = bowl_run(tmp_path / "run", 3)
    assert plot_run(folder, tmp_path, features=["f2"])
    with pytest.raises(ValueError, match="features"):
        plot_run(folder, tmp_path, features=["f3"])


def test_which_features_vary_most():
    rows = np.array([[0.0, 1.0, 5.0, 0.0], [0.0, 2.0, 5.0, 9.0]])
    assert most_varied(rows, 4) == [0, 1, 2, 3]
    assert most_varied(rows, 2) == [1, 3]
    assert most_varied(rows, 3) == [0, 1, 3]  # of equals the first
    assert most_varied(np.empty((0, 3)), 2) == [0, 1]


def test_the_mazes_map_is_as_on_the_page(tmp_path):
    assert maze("2d").y_down  # as the page's maps say
    run(maze("2d"), out=tmp_path / "run", grid=3, evaluations=20, initial=20, seed=1)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tesselite.report.run_figures.save", lambda made, path: seen.append(made.axes[0].get_ylim()) or path
        )
        patch.setattr("tesselite.problems.maze_navigation.problem.Maze.draw", lambda *_: [])
        plot_run(tmp_path / "run", tmp_path)
    assert seen[-1] == (1000.0, 0.0)
