"""The maze as a problem: names, features, samples of drivable trajectories, scenarios, settings."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from tesselite.paper.maze import PAPER
from tesselite.paper.settings import paper_settings
from tesselite.problems import by_name
from tesselite.problems.maze_navigation import DESCRIPTORS, Robot, World, maze
from tesselite.problems.maze_navigation.trajectories import sample_trajectories
from tesselite.tessellation.cache import list_cache
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.samplers import sampler_key


@pytest.mark.parametrize(("name", "n_points"), DESCRIPTORS.items())
def test_descriptors(name, n_points):
    problem = maze(name)
    assert problem.name == f"maze:{name}"
    assert problem.features.n == 2 * n_points == int(name[:-1])
    assert (problem.features.low == 0).all()
    assert (problem.features.high == 1000).all()
    assert problem.times[-1] == 3000
    assert (np.diff(problem.times) == 3000 // n_points).all()
    assert problem.features.names[-2:] == ("x3000", "y3000")
    assert problem.features.titles[-2:] == ("x at step 3000", "y at step 3000")
    assert problem.direction == "min"
    assert problem.floor == 440
    assert problem.scenarios == tuple(str(i) for i in range(1, 17))
    assert problem.scenario_phrase("8") == "in environment 8"
    assert problem.scenario_phrase("blocked") == "in blocked"


def test_descriptors_agree_on_the_trajectory():
    rows = maze("2d").solutions.random(30, np.random.default_rng(2))
    all_points = maze("1000d").evaluate(rows)
    for name, n_points in DESCRIPTORS.items():
        some = maze(name).evaluate(rows)
        each = 500 // n_points
        expected = all_points.features.reshape(30, 500, 2)[:, each - 1 :: each].reshape(30, -1)
        assert np.array_equal(some.features, expected)
        assert np.array_equal(some.fitness, all_points.fitness)


def test_scenarios_differ_and_unknown_ones_are_refused():
    problem = maze("2d", steps=1500)
    rows = problem.solutions.random(400, np.random.default_rng(3))
    found = {s: problem.evaluate(rows, s).fitness for s in (None, "1", "11", "8")}
    assert not np.array_equal(found["1"], found["11"])
    assert (found["8"] > 100).all()  # a long path, which chance does not find
    with pytest.raises(ValueError, match="has no scenario '17'"):
        problem.evaluate(rows, "17")
    with pytest.raises(ValueError, match="has no scenario 'x'"):
        problem.trajectory(rows[0], "x")


# --- samples for the CVT ---


@pytest.mark.parametrize("name", ["10d", "50d", "1000d"])
def test_samples_are_drivable(name):
    problem = maze(name)
    samples = problem.features.sample(2000, np.random.default_rng(4))
    points = samples.reshape(len(samples), -1, 2)
    assert ((points >= 0) & (points <= 1000)).all()
    steps = np.diff(np.concatenate([[0], problem.times]))
    path = np.concatenate([np.tile([500.0, 940.0], (len(points), 1, 1)), points], axis=1)
    moves = np.abs(np.diff(path, axis=1))
    assert (moves <= 2 * steps[:, None] + 1e-9).all()


def test_samples_reach_the_whole_arena_where_time_allows():
    """The middle of a long trajectory reaches the far corners; early points stay near the start."""
    problem = maze("1000d")
    points = problem.features.sample(4000, np.random.default_rng(5)).reshape(4000, 500, 2)
    middle = points[:, 250]
    for corner in ((0, 0), (1000, 0), (0, 1000), (1000, 1000)):
        assert np.hypot(*(middle - corner).T).min() < 120
    cells, _, _ = np.histogram2d(*middle.T, bins=5, range=[[0, 1000]] * 2)
    assert (cells > 0).all()
    for i, time in ((0, 6), (40, 246)):
        reach = np.abs(points[:, i] - (500, 940)).max(axis=0)
        assert (reach <= 2 * time).all()
        assert reach[0] > 0.8 * min(2 * time, 500)


def test_the_first_chosen_point_is_uniform():
    """With a single time, a sample is uniform in the box that the start allows, clipped by the arena."""
    samples = sample_trajectories(20_000, np.random.default_rng(6), np.array([100]), (500.0, 940.0), (1000.0, 1000.0))
    x, y = samples.T
    from scipy import stats

    assert stats.kstest(x, stats.uniform(300, 400).cdf).pvalue > 1e-6
    assert stats.kstest(y, stats.uniform(740, 260).cdf).pvalue > 1e-6


def test_samples_follow_the_papers_recipe():
    """Two points, by a plain simulation of the recipe: the same distributions (Kolmogorov-Smirnov, 1e-6)."""
    from scipy import stats

    rng = np.random.default_rng(7)
    times, start, size = [100, 300], 200.0, 1000.0

    def plain():
        chosen = {0: start}
        for i in rng.permutation(times):
            before, after = max(t for t in chosen if t < i), [t for t in chosen if t > i]
            low, high = max(0, chosen[before] - 2 * (i - before)), min(size, chosen[before] + 2 * (i - before))
            if after:
                low = max(low, chosen[min(after)] - 2 * (min(after) - i))
                high = min(high, chosen[min(after)] + 2 * (min(after) - i))
            chosen[i] = rng.uniform(low, high)
        return [chosen[t] for t in times]

    expected = np.array([plain() for _ in range(6000)])
    made = sample_trajectories(6000, rng, np.array(times), (start, start), (size, size)).reshape(-1, 2, 2)[:, :, 0]
    for column in range(2):
        assert stats.ks_2samp(expected[:, column], made[:, column]).pvalue > 1e-6
    assert stats.ks_2samp(np.diff(expected).ravel(), np.diff(made).ravel()).pvalue > 1e-6


def test_a_descriptors_cvt_is_found_in_the_cache_again(tmp_path, monkeypatch):
    """The longest takes minutes. Another descriptor, or another maze, has another sampler."""
    monkeypatch.setenv("TESSELITE_CACHE_DIR", str(tmp_path))
    keys = {sampler_key(maze(name).features.sampler) for name in ("10d", "20d", "1000d")}
    keys.add(sampler_key(maze("10d", steps=1000).features.sampler))
    assert len(keys - {None}) == 4
    made = cvt(maze("10d").features, 20, n_samples=500, seed=1, cache=True)
    assert len(list_cache()) == 1
    again = cvt(maze("10d").features, 20, n_samples=500, seed=1, cache=True)
    assert again.record.seconds == made.record.seconds  # the same construction, not another
    assert np.array_equal(again.centroids, made.centroids)


def test_samples_do_not_depend_on_threads_or_on_their_number():
    problem = maze("50d")
    arguments = (problem.times, (500.0, 940.0), (1000.0, 1000.0))
    one = sample_trajectories(1000, np.random.default_rng(8), *arguments, threads=1)
    two = sample_trajectories(1000, np.random.default_rng(8), *arguments, threads=2)
    few = sample_trajectories(300, np.random.default_rng(8), *arguments)
    assert np.array_equal(one, two)
    assert np.array_equal(one[:300], few)


# --- settings and worlds of one's own ---


def test_own_world_and_scenarios():
    walls = np.zeros((120, 200), dtype=bool)
    walls[[0, -1]] = walls[:, [0, -1]] = True
    world = World(walls, (30, 60, 0.0), (170, 60))
    blocked = walls.copy()
    blocked[40:80, 100] = True
    problem = maze("2d", world=world, scenarios={"post": World(blocked, (30, 60, 0.0), (170, 60))}, steps=200)
    forward = problem.solutions.encode({7: 2.0, 8: 2.0})
    assert problem.scenarios == ("post",)
    assert problem.floor == 140
    assert (problem.features.high == (200, 120)).all()
    assert problem.evaluate(forward).fitness[0] < 2
    assert problem.evaluate(forward, "post").fitness[0] > 70
    samples = problem.features.sample(500, np.random.default_rng(1))
    assert (samples <= (200, 120)).all()


def test_settings_are_checked():
    small = np.zeros((60, 60), dtype=bool)
    small[[0, -1]] = small[:, [0, -1]] = True
    one, other = World(small, (20, 20), (40, 40)), World(np.pad(small, 5, constant_values=True), (25, 25), (45, 45))
    for message, call in {
        "descriptor: expected one of 2d": lambda: maze("3d"),
        "steps: expected a whole number of at least 500": lambda: maze("1000d", steps=100),
        "whole number of at least 5, one for each point of 10d, got inf": lambda: maze(steps=math.inf),
        "whole number of at least 5, one for each point of 10d, got nan": lambda: maze(steps=math.nan),
        "whole number of at least 5, one for each point of 10d, got None": lambda: maze(steps=None),
        "whole number of at least 1, one for each point of 2d, got True": lambda: maze("2d", steps=True),
        "world: expected a World, got 3": lambda: maze(world=3),
        "robot: expected a Robot, got 3": lambda: maze(robot=3),
        "networks: expected a Networks, got 3": lambda: maze(networks=3),
        "opening: expected a width of at most 100 units, got '90'": lambda: maze(opening="90"),
        "scenarios: expected together": lambda: maze(scenarios={}),
        "scenarios: expected names other than 'training', got 'training'": lambda: maze(
            world=one, scenarios={"training": one}
        ),
        "scenarios: expected names other than 'training', got ''": lambda: maze(world=one, scenarios={"": one}),
        "scenarios: expected worlds, got 3 for 'a'": lambda: maze(world=one, scenarios={"a": 3}),
        "scenarios: expected worlds of the size": lambda: maze(world=one, scenarios={"a": other}),
        "laser_range: expected": lambda: Robot(laser_range=0),
        "radius: expected at least 2 units, got '10'": lambda: Robot(radius="10"),
        "after_hit: expected": lambda: Robot(after_hit="slide"),
        "slices: expected": lambda: Robot(slices="left"),
        "axle: expected": lambda: Robot(axle=5),
        "goal: expected a path": lambda: maze(robot=Robot(radius=46)),
        "solution: expected one": lambda: maze().trajectory(maze().solutions.random(2, np.random.default_rng(0))),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_the_papers_settings_of_a_bare_name_are_those_of_the_problem_that_it_means():
    for name in ("maze", "hexapod"):
        assert paper_settings(name) == paper_settings(by_name(name).name)
    with pytest.raises(ValueError, match="the paper has no experiment 'arm'"):
        paper_settings("arm")


def test_paper_settings():
    assert {d: cells ** (2 * DESCRIPTORS[d]) for d, cells in PAPER.grid.items()} == {
        "2d": 5041,
        "10d": 59_049,
        "20d": 1_048_576,
    }
    assert PAPER.descriptors == tuple(DESCRIPTORS)
    assert PAPER.evaluations == PAPER.initial + 990 * PAPER.batch_size


def test_a_fresh_process_agrees():
    code = (
        "import numpy as np; from tesselite.problems.maze_navigation import maze; p = maze('10d', steps=400);"
        "rows = p.solutions.vary(p.solutions.random(20, np.random.default_rng(3)), np.random.default_rng(4));"
        "print(p.evaluate(rows).features.tobytes().hex())"
    )
    made = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout]
    problem = maze("10d", steps=400)
    rows = problem.solutions.random(20, np.random.default_rng(3))
    rows = problem.solutions.vary(rows, np.random.default_rng(4))
    assert made[0].strip() == problem.evaluate(rows).features.tobytes().hex()
