"""The views of elites of the built-in problems, compared with the problems themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
from tesselite.problems.maze_navigation import World
from tesselite.problems.planar_arm import posture
from tesselite.report.page.html import document_of
from tesselite.report.page.places import describe_features
from tesselite.report.page.run_data import read_run
from tesselite.spaces.features import LOG, FeatureSpace, Scale


def test_arm():
    problem = tl.problems.arm(5)
    solutions = problem.solutions.random(4, np.random.default_rng(1))
    view = problem.elite_view(solutions)
    assert view["kind"] == "posture"
    for row, points in enumerate(view["points"]):
        np.testing.assert_array_equal(points, posture(solutions[row]))
    # The hand is where the features say.
    features = problem.evaluate(solutions).features
    np.testing.assert_allclose(0.5 + 0.5 * view["points"][:, -1], features, atol=1e-12)


@pytest.mark.parametrize("scenario", [None, "8"])
def test_maze(scenario):
    problem = tl.problems.maze("2d")
    solutions = problem.solutions.random(6, np.random.default_rng(1))
    view = problem.elite_view(solutions, scenario)
    assert view["kind"] == "drive"
    for row, points in enumerate(view["points"]):
        way = problem.trajectory(solutions[row], scenario)
        np.testing.assert_array_equal(points, way[:: view["every"], :2])
        np.testing.assert_array_equal(points[-1], way[-1, :2])
    assert view["walls"].shape == (500, 500)
    assert view["network"]["max_connections"] == problem.solutions.max_connections


@pytest.mark.parametrize("size", [(101, 151), (601, 751)])
def test_thin_walls_of_a_maze_stay(size):
    walls = np.zeros(size, dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    walls[:50, 75] = True
    problem = tl.problems.maze("2d", world=World(walls, (20, 20), (130, 20)), steps=10)
    shown = problem.elite_view(problem.solutions.random(1, np.random.default_rng(1)))["walls"]
    n = 1 if max(size) < 500 else 2
    assert shown.shape == (-(-size[0] // n), -(-size[1] // n))
    wall = np.argwhere(walls) // n
    assert shown[tuple(wall.T)].all()
    assert shown.sum() == len(np.unique(wall, axis=0))


@pytest.mark.parametrize("scenario", [None, "leg 3"])
def test_hexapod(scenario):
    from tesselite.problems.hexapod_locomotion import TRIPOD

    problem = tl.problems.hexapod("duty")
    view = problem.elite_view(TRIPOD[None], scenario)
    motion = problem.motion(TRIPOD, scenario)
    assert view["kind"] == "gait"
    for frame in (0, 17, view["base"].shape[1] - 1):
        step = frame * view["contact_frames"]
        pose = view["base"][0, frame]
        np.testing.assert_array_equal(pose, [*motion.positions[step], *motion.quaternions[step]])
        # The page's own geometry, written here again: foot centres from the poses and angles that it gets.
        for leg, about in enumerate(view["legs"]):
            if about["missing"]:
                assert leg == 3
                continue
            q1, q2 = view["angles"][0, frame, 2 * leg : 2 * leg + 2]
            psi, out = about["yaw"] + q1, about["side"] * (view["coxa"] + view["femur"] * np.cos(q2))
            x = about["x"] + np.cos(psi) * view["foot_x"] - np.sin(psi) * out
            y = about["y"] + np.sin(psi) * view["foot_x"] + np.cos(psi) * out
            z = view["femur"] * np.sin(q2) - view["tibia"]
            foot = motion.rotations[step] @ [x, y, z] + pose[:3]
            np.testing.assert_allclose(foot, motion.feet[step, leg], atol=1e-9)
    bits = view["contacts"][0, :, None] >> np.arange(6) & 1
    np.testing.assert_array_equal(bits[: len(motion.contacts)], motion.contacts[: len(bits)])
    assert sum(about["missing"] for about in view["legs"]) == (scenario is not None)


def test_scripts_of_drawings_are_in_the_document_once_and_not_in_views(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "examples")
    from own_view import DRAWING, vase

    for seed in (1, 2):
        tl.run(vase, grid=4, evaluations=60, initial=50, seed=seed, out=tmp_path / str(seed))
    document, _ = document_of([read_run(tmp_path / name) for name in "12"])
    assert document["drawings"] == [DRAWING]
    for run in document["runs"]:
        assert run["kind"] == "vase"
        assert "script" not in run
        assert [set(view) for view in run["views"]] == [{"kind", "radii", "rows", "scenario"}]


def test_axes_of_scales_that_are_not_linear():
    square = Scale("log", np.sqrt, np.square)  # a name says nothing
    space = FeatureSpace({"a": (0, 4), "b": (1, 100), "c": (0, 9)}, scales={"b": LOG, "c": square})
    linear, log, own = describe_features(space, [0, 1, 2])
    assert "table" not in linear
    np.testing.assert_allclose(log["table"], 10 ** np.linspace(0, 2, 101))
    np.testing.assert_allclose(own["table"], (3 * np.linspace(0, 1, 101)) ** 2)
    assert (log["is_log"], own["is_log"]) == (True, False)
    assert (own["table"][0], own["table"][-1]) == (0.0, 9.0)
