"""Pictures of the maze: the right things at the right places."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.patches import FancyArrowPatch, Wedge

import tesselite as tl
from tesselite.problems.maze_navigation import Robot, World, maze, paper_world
from tesselite.problems.maze_navigation.maze_pictures import (
    draw_best_paths,
    draw_end_points,
    draw_network,
    draw_niches,
    draw_paths,
    draw_robot,
    draw_world,
)
from tesselite.problems.maze_navigation.networks import INPUTS
from tesselite.report.style import figure
from tesselite.runs.run import illuminate


def test_a_world_is_drawn_upright_with_its_start_and_goal():
    with figure() as made:
        ax = made.subplots()
        draw_world(ax, paper_world(None))
        assert ax.get_ylim() == (1000, 0)  # y downwards
        assert ax.images[0].get_extent() == [0, 1000, 1000, 0]
        assert ax.patches[0].center == (500, 940)
        assert ax.lines[0].get_xydata().tolist() == [[500, 500]]


@pytest.mark.parametrize("slices", ["from_heading", "around_heading"])
def test_the_robot_is_drawn_with_its_sensors(slices):
    with figure() as made:
        ax = made.subplots()
        draw_robot(ax, Robot(slices=slices))
        words = {text.get_text(): text.get_position() for text in ax.texts}
        assert set(INPUTS) <= set(words)
        assert words["laser left"][0] < words["laser ahead"][0] == 0 < words["laser right"][0]
        wedges = [patch for patch in ax.patches if isinstance(patch, Wedge)]
        # Clockwise on screen from the heading, which is up: 90 degrees.
        first = 90 if slices == "from_heading" else 135
        assert [wedge.theta2 for wedge in wedges] == [first - 90 * i for i in range(4)]
        for i, wedge in enumerate(wedges):
            x, y = words[INPUTS[3 + i]]
            assert (np.rad2deg(np.arctan2(y, x)) - wedge.theta1) % 360 < 90


def test_niches_are_drawn_under_the_maze():
    problem = maze("2d")
    with figure() as made:
        ax = made.subplots()
        draw_niches(ax, problem.world, tl.GridTessellation(problem.features, (2, 4)), pixels=100)
        edge = ax.images[0].get_array()
        assert np.flatnonzero(edge.all(axis=0)).tolist() == [50]
        assert np.flatnonzero(edge.all(axis=1)).tolist() == [25, 50, 75]
        assert ax.get_title() == "8 niches of the end point"


def test_points_and_paths_are_drawn_best_last():
    fitness = np.array([3.0, 1.0, 2.0])
    points = np.array([[100.0, 200.0], [300.0, 400.0], [500.0, 600.0]])
    with figure() as made:
        ax, other = made.subplots(1, 2)
        shown = draw_end_points(ax, paper_world(None), points, fitness)
        assert isinstance(shown, PathCollection)
        assert shown.get_array().tolist() == [3, 2, 1]
        assert shown.get_offsets().tolist() == points[[0, 2, 1]].tolist()
        lines = draw_paths(other, paper_world(None), np.stack([points, points + 1, points + 2]), fitness)
        assert isinstance(lines, LineCollection)
        assert lines.get_array().tolist() == [3, 2, 1]
        assert lines.get_segments()[-1].tolist() == (points + 1).tolist()


def test_best_paths_tell_the_best_distance_of_each_world():
    walls = np.zeros((120, 200), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    blocked = walls.copy()
    blocked[40:80, 100] = True
    start, goal = (30, 60, 0.0), (170, 60)
    problem = maze("2d", world=World(walls, start, goal), scenarios={"post": World(blocked, start, goal)}, steps=200)
    rows = problem.solutions.random(50, np.random.default_rng(1))
    with figure() as made:
        best = draw_best_paths(made, problem, rows)
        assert [ax.get_title().split(":")[0] for ax in made.axes] == ["open", "post"]
    assert best == {
        "open": problem.evaluate(rows).fitness.min(),
        "post": problem.evaluate(rows, "post").fitness.min(),
    }


def test_a_network_is_drawn_with_every_connection():
    space = maze("2d").solutions
    for row in space.random(20, np.random.default_rng(2)):
        description = space.describe(row)
        with figure() as made:
            ax = made.subplots()
            draw_network(ax, description)
            arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
            assert len(arrows) == len(description.connections)
            assert len(ax.patches) - len(arrows) == len(description.neurons)


@pytest.mark.parametrize(("descriptor", "grid"), [("2d", 20), ("10d", 2)])
def test_a_runs_pictures(tmp_path, descriptor, grid):
    walls = np.zeros((120, 200), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    problem = maze(descriptor, world=World(walls, (30, 60, 0.0), (170, 60)), steps=200)
    archive = illuminate(problem, evaluations=200, grid=grid, initial=100, seed=1)
    files = problem.draw(archive, tmp_path, "png")
    names = {"maze-elites", "maze-best-paths", "maze-best-network"} | ({"maze-niches"} if descriptor == "2d" else set())
    assert {file.stem for file in files} == names
    assert all(file.stat().st_size > 2000 for file in files)
