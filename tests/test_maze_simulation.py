"""The compiled maze against its slow twin, hand-solved cases, and every exact skip against the run without it."""

from __future__ import annotations

import itertools
import math
import time

import numba
import numpy as np
import pytest

from maze_oracle import OracleNetwork, OracleRobot, laser
from tesselite.compiled.lanes import LANES, load, store
from tesselite.problems.maze_navigation import Networks, Robot, World, maze, paper_world
from tesselite.problems.maze_navigation.arithmetic import sine_cosine, tanh
from tesselite.problems.maze_navigation.rays import N_FIELDS, new_rays, trace
from tesselite.problems.maze_navigation.simulation import HALF_ROOT, lasers, slice_of
from tesselite.problems.maze_navigation.world import LONGEST_SIDE

FORWARD = {7: 2.0, 8: 2.0}


@pytest.fixture(scope="module")
def problem():
    return maze("10d")


def mutated(problem, n, seed, rounds=6):
    """Networks after some rounds of mutation, as evolution has them."""
    rng = np.random.default_rng(seed)
    rows = problem.solutions.random(n, rng)
    for _ in range(rounds):
        rows = problem.solutions.vary(rows, rng)
    return rows


# --- arithmetic ---


@numba.njit
def tanh_in_lanes(x):
    for at in range(0, len(x), LANES):
        store(x, at, tanh(load(x, at)))


def tanh_of(x):
    """tanh of an array of any length, by the function for lanes."""
    padded = np.concatenate([x, np.zeros(-len(x) % LANES)])
    tanh_in_lanes(padded)
    return padded[: len(x)]


def test_tanh_is_exact_to_a_unit_in_the_last_place():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-25, 25, 20_000), rng.uniform(-0.1, 0.1, 20_000), [0.0, 1e-300, 1e3, -1e3]])
    true = np.tanh(x.astype(np.longdouble))
    mine = tanh_of(x)
    assert np.abs(mine - true).max() < 1.2e-16
    assert (np.abs(mine - true) <= 4.5e-16 * np.abs(true) + 1e-300).all()
    assert np.array_equal(mine, -tanh_of(-x))
    assert tanh_of(np.array([0.0, 30.0])).tolist() == [0.0, 1.0]


def test_sine_and_cosine_are_exact_to_a_unit_in_the_last_place():
    angle = np.concatenate([np.random.default_rng(1).uniform(-5, 5, 40_000), [0.0, np.pi, -np.pi, np.pi / 2]])
    mine = np.array([sine_cosine(v) for v in angle])
    wide = angle.astype(np.longdouble)
    assert np.abs(mine[:, 0] - np.sin(wide)).max() < 1.2e-16
    assert np.abs(mine[:, 1] - np.cos(wide)).max() < 1.2e-16


# --- sensors ---


def rays_of(poses):
    """The rays of poses (x, y, heading), three each: origins and directions, shape (n, 4)."""
    rays = []
    for x, y, heading in poses:
        sine, cosine = sine_cosine(float(heading))
        left = ((cosine + sine) * HALF_ROOT, (sine - cosine) * HALF_ROOT)
        rays += [(x, y, *left), (x, y, cosine, sine), (x, y, -left[1], left[0])]
    return np.array(rays)


def traced(world, rays, longest):
    """How far rays get, side by side; checks that nothing else was written."""
    n = len(rays)
    memory, results = new_rays(n), np.full(n + 2, np.nan)
    fields = memory[0].reshape(N_FIELDS, -1)
    fields[:4, :n] = rays.T
    with np.errstate(divide="ignore"):
        fields[4:6, :n] = 1.0 / rays[:, 2:].T
    fields[7, :n] = np.random.default_rng(n).permutation(n)
    trace(world.leap.ravel(), world.walls.shape[1], memory, n, longest, results)
    assert np.isnan(results[n])
    return results[fields[7, :n].astype(int)]


def one_by_one(world, poses, longest, walk):
    """The same, one ray at a time: from pixel to pixel, or with leaps."""
    out, found = np.empty(3), []
    for x, y, heading in poses:
        sine, cosine = sine_cosine(float(heading))
        lasers(world.leap.ravel(), world.walls.shape[1], x, y, cosine, sine, longest, walk, out)
        found += out.tolist()
    return np.array(found)


def test_rays_agree_with_the_twin_and_with_the_plain_walk():
    world = paper_world("6")
    rng = np.random.default_rng(3)
    free = np.argwhere(world.blocked == 0)
    poses = []
    for heading in np.concatenate([rng.uniform(-np.pi, np.pi, 1280), np.arange(-8, 8) * np.pi / 8, np.zeros(4)]):
        y, x = free[rng.integers(len(free))] + rng.random(2)
        if rng.random() < 0.1:
            x, y = float(int(x)), float(int(y))  # on a pixel's corner
        poses.append((x, y, heading))
    found = traced(world, rays_of(poses), 100.0)
    assert np.array_equal(found, one_by_one(world, poses, 100.0, walk=True))  # bit for bit
    assert np.array_equal(found, one_by_one(world, poses, 100.0, walk=False))
    for (x, y, heading), three in zip(poses[-300:], found.reshape(-1, 3)[-300:], strict=True):
        for turn, one in zip((-math.pi / 4, 0.0, math.pi / 4), three, strict=True):
            assert one == pytest.approx(laser(world.walls, x, y, heading + turn, 100.0), abs=1e-9)
    assert (found < 100).sum() > 1000


def test_rays_through_corners_and_along_walls_agree_with_the_plain_walk():
    """Where edges in x and in y are met together, and where a ray runs beside a wall: rounding decides there."""
    walls = np.ones((90, 120), dtype=bool)
    walls[10:80, 10:110] = False
    walls[np.arange(20, 70), np.arange(20, 70)] = True
    walls[40, 80:105] = True
    world = World(walls, (90, 60), (30, 60), radius=2.0)
    rng = np.random.default_rng(4)
    free = np.argwhere(world.blocked == 0)
    poses = [
        (*(np.array([i, j]) + rng.choice([0.0, 0.5, 0.25, rng.uniform(0, 1)], 2)), heading)
        for j, i in free[rng.integers(0, len(free), 500)]
        for heading in (*np.arange(-4, 4) * np.pi / 4, *rng.uniform(-np.pi, np.pi, 4), rng.normal() * 1e-4)
    ]
    found = traced(world, rays_of(poses), 60.0)
    assert np.array_equal(found, one_by_one(world, poses, 60.0, walk=True))
    assert np.array_equal(found, one_by_one(world, poses, 60.0, walk=False))
    assert (found < 60).sum() > 8000
    for dx, dy in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-0.0, 1.0), (1.0, -0.0)):  # exactly along an axis
        axis = np.array([(x, y, dx, dy) for x in (85.0, 85.3) for y in (60.0, 60.7)])
        out = traced(world, axis, 100.0)
        to_edge = [
            (110.0 - x if dx > 0 else x - 61.0) if dx else (80.0 - y if dy > 0 else y - 41.0) for x, y, *_ in axis
        ]
        assert out == pytest.approx(to_edge)


def test_the_wall_at_the_end_of_a_ray():
    """A wall that begins just before, at and just behind the longest distance, and one far below rounding away."""
    walls = np.ones((40, 60), dtype=bool)
    walls[5:35, 5:50] = False
    world = World(walls, (20, 20), (30, 20), radius=2.0)
    for longest in (30.0, np.nextafter(30.0, 40.0), np.nextafter(30.0, 20.0), 30.0 + 5e-7, 30.0 + 2e-6, 29.0, 31.0):
        assert traced(world, np.array([(20.0, 20.5, 1.0, 0.0)]), longest) == min(longest, 30.0)


def test_rays_along_the_edge_of_pixels_agree_with_leaps():
    """Just beside an edge that they cross far ahead or never, where rounding decides in which pixels they are."""
    walls = np.ones((200, 300), dtype=bool)
    walls[5:195, 5:295] = False
    walls[::17, ::13] = True
    world = World(walls, (150, 100), (60, 100), radius=2.0)
    rng = np.random.default_rng(6)
    poses = []
    for y, x in rng.permutation(np.argwhere(world.blocked == 0))[:600]:
        for heading in (-np.pi, -np.pi / 2, 0.0, np.pi / 2, -np.pi / 4, np.pi / 4):
            place = np.array([x, y]) + rng.choice([0.0, 0.5], 2)
            for _ in range(rng.integers(0, 4)):
                place = np.nextafter(place, rng.choice([-np.inf, np.inf], 2))
            poses.append((*place, heading + rng.choice([0.0, 1e-17, 3e-16, 1e-13, 1e-10, 1e-4]) * rng.choice([-1, 1])))
    found = traced(world, rays_of(poses), 150.0)
    assert np.array_equal(found, one_by_one(world, poses, 150.0, walk=False))
    assert (found < 150).sum() > 5000


def test_a_start_just_beside_a_pixels_edge():
    walls = np.ones((80, 60), dtype=bool)
    walls[5:75, 5:55] = False
    walls[20:24, 20:29] = True
    world = World(walls, (0.29 * 100, 62), (40, 20), radius=5.0)  # 28.999999999999996, straight up
    problem = maze("10d", world=world, robot=Robot(radius=5.0), steps=40)
    for row in mutated(problem, 40, seed=19):
        found = problem.evaluate(row)
        assert (found.fitness[0], *found.features[0]) == of_record(problem, problem.record(row))


def test_rays_end_in_the_largest_worlds():
    walls = np.ones((12, LONGEST_SIDE), dtype=bool)
    walls[2:10, 2:-2] = False
    world = World(walls, (LONGEST_SIDE - 40.5, 6), (LONGEST_SIDE - 20, 6), radius=2.0)
    slopes = np.array([1.00005e-4, 1.0e-4, 0.99e-4, 2e-4, 1e-3, 0.3])
    start = (LONGEST_SIDE - 100.0 + np.arange(6) / 7, np.full(6, 9.5))
    found = traced(world, np.column_stack([*start, slopes, -np.sqrt(1 - slopes**2)]), 100.0)
    assert found == pytest.approx(7.5 / np.sqrt(1 - slopes**2))
    with pytest.raises(ValueError, match="walls: expected a bitmap of shape"):
        World(np.zeros((3, LONGEST_SIDE + 1), bool), (1, 1), (1, 1))


@pytest.mark.parametrize("walk", [True, False])
def test_lasers_by_hand(walk):
    walls = np.ones((200, 300), dtype=bool)
    walls[50:150, 50:250] = False
    world = World(walls, (150, 100), (180, 100))
    up, right = [50 * math.sqrt(2), 50, 50 * math.sqrt(2)], [50 * math.sqrt(2), 100, 50 * math.sqrt(2)]
    assert one_by_one(world, [(150.0, 100.0, -math.pi / 2)], 100.0, walk) == pytest.approx(up)
    assert one_by_one(world, [(150.0, 100.0, 0.0)], 120.0, walk) == pytest.approx(right)


@pytest.mark.parametrize(("around", "turned"), [(False, 0.0), (True, 45.0)])
def test_slices_by_hand(around, turned):
    for degrees in np.arange(0.5, 360):
        goal = math.radians(degrees)
        expected = int(((degrees + turned) % 360) // 90)
        for heading in (0.0, 1.0, -2.5):
            sine, cosine = sine_cosine(heading)
            to = (7 * math.cos(heading + goal), 7 * math.sin(heading + goal))
            assert slice_of(*to, cosine, sine, around) == expected


def test_exactly_one_slice_sees_the_goal_on_the_slices_edges():
    assert [slice_of(*map(float, to), 1.0, 0.0, False) for to in ((1, 0), (0, 1), (-1, 0), (0, -1), (0, 0))] == [
        0,
        1,
        2,
        3,
        0,
    ]


# --- steps ---


@pytest.mark.parametrize(
    "robot",
    [
        Robot(),
        Robot(after_hit="stick", slices="around_heading"),
        Robot(laser_range=57.0, axle=11.0, radius=7.0),
    ],
    ids=["default", "sticky", "other sizes"],
)
def test_every_step_agrees_with_the_twin(robot):
    problem = maze("2d", robot=robot, steps=80)
    rows = mutated(problem, 16, seed=5)
    live_hidden = steps = hits = 0
    for row in rows:
        record = problem.record(row)
        network = OracleNetwork.from_row(row, problem.solutions.max_hidden, problem.solutions.max_connections)
        live = network.live(zeros=False)
        twin = OracleRobot(
            problem.world.walls,
            problem.world.goal,
            problem.world.start,
            robot.radius,
            robot.axle,
            robot.laser_range,
            robot.after_hit == "stick",
            robot.slices == "around_heading",
        )
        # One step at a time from the compiled state: over many steps, rounding alone parts two recurrent networks.
        for before, after in itertools.pairwise(record):
            twin.pose = tuple(before[:3])
            network.output = {n: before[5 + int(n[1:])] if n[0] == "h" else 0.0 for n in network.bias}
            wheels = network.step(twin.sense())
            twin.move(2 * wheels[0], 2 * wheels[1])
            assert after[3:5] == pytest.approx(np.multiply(2, wheels), abs=1e-12)
            assert after[:2] == pytest.approx(twin.pose[:2], abs=1e-11)
            assert math.remainder(after[2] - twin.pose[2], 2 * math.pi) == pytest.approx(0, abs=1e-12)
            for neuron in live:
                if neuron[0] == "h":
                    assert after[5 + int(neuron[1:])] == pytest.approx(network.output[neuron], abs=1e-12)
                    live_hidden += 1
            steps += 1
            hits += tuple(after[:2]) == tuple(before[:2])
    assert live_hidden > 300
    assert steps == 16 * 80
    assert hits > 10


def test_whole_rollouts_agree_with_the_twin_where_rounding_stays_small():
    """Free-running: 60 steps are too few for rounding to grow in all but a few chaotic networks."""
    problem = maze("2d", steps=60)
    agree = 0
    for row in mutated(problem, 40, seed=6):
        network = OracleNetwork.from_row(row, problem.solutions.max_hidden, problem.solutions.max_connections)
        twin = OracleRobot(problem.world.walls, problem.world.goal, problem.world.start)
        nearest = math.dist(twin.pose[:2], twin.goal)
        for _ in range(60):
            wheels = network.step(twin.sense())
            twin.move(2 * wheels[0], 2 * wheels[1])
            nearest = min(nearest, math.dist(twin.pose[:2], twin.goal))
        result = problem.evaluate(row)
        agree += result.features[0] == pytest.approx(twin.pose[:2], abs=1e-6) and result.fitness[0] == pytest.approx(
            nearest, abs=1e-6
        )
    assert agree >= 38


# --- cases solved by hand ---


def test_straight_on_stops_at_the_outer_ring():
    """Full speed up from (500, 940): the ring's wall ends at y = 855, and no pixel may be within 10."""
    problem = maze("2d")
    path = problem.trajectory(problem.solutions.encode(FORWARD))
    speed = 2 * math.tanh(2.0)
    assert path.shape == (3001, 3)
    assert path[0] == pytest.approx([500, 940, -math.pi / 2])
    assert path[1] == pytest.approx([500, 940 - speed, -math.pi / 2])
    assert path[20] == pytest.approx([500, 940 - 20 * speed, -math.pi / 2])
    # Wall pixels up to row 854 (centre 854.5): the robot's pixel row must be above 864.
    last = 940 - speed * math.floor((940 - 865) / speed)
    assert path[-1] == pytest.approx([500, last, -math.pi / 2])
    result = problem.evaluate(problem.solutions.encode(FORWARD))
    assert result.fitness[0] == pytest.approx(last - 500)
    assert result.features[0] == pytest.approx([500, last])


def test_turning_on_the_spot_is_clockwise_when_the_second_wheel_is_faster():
    problem = maze("2d", steps=10)
    path = problem.trajectory(problem.solutions.encode({7: -2.0, 8: 2.0}))
    alpha = 4 * math.tanh(2.0) / 20
    assert path[:, :2] == pytest.approx(np.tile([500.0, 940.0], (11, 1)), abs=1e-9)
    assert path[3, 2] == pytest.approx(-math.pi / 2 + 3 * alpha)  # towards the right of the screen


def test_a_constant_turn_drives_a_circle():
    problem = maze("2d", steps=40)
    path = problem.trajectory(problem.solutions.encode({7: 0.0, 8: 0.5}))
    right = 2 * math.tanh(0.5)
    # The first wheel stands still, half an axle to the right on the screen: y points down, and so left is right there.
    assert np.hypot(path[:, 0] - 510, path[:, 1] - 940) == pytest.approx(10 * np.ones(41))
    assert path[1, 2] == pytest.approx(-math.pi / 2 + right / 20)


def test_each_hidden_hop_delays_by_one_step():
    """The slice of the goal (straight ahead: 0) drives a wheel directly, over one and over two hidden neurons."""
    problem = maze("2d", steps=4)
    space = problem.solutions
    for hops, row in enumerate(
        (
            space.encode({}, [(3, 7, 1.0), (3, 8, 1.0)]),
            space.encode({}, [(3, 9, 1.0), (9, 7, 1.0), (9, 8, 1.0)], 1),
            space.encode({}, [(3, 9, 1.0), (9, 10, 1.0), (10, 7, 1.0), (10, 8, 1.0)], 2),
        )
    ):
        wheels = problem.record(row)[1:, 3:5]
        assert (wheels[:hops] == 0).all()
        assert (wheels[hops] > 1.9).all()


def test_a_self_loop_remembers():
    problem = maze("2d", steps=3)
    row = problem.solutions.encode({9: 0.5}, [(9, 9, 1.0), (9, 7, 0.5)], 1)
    hidden = problem.record(row)[:, 5]
    expected = [0.0]
    for _ in range(3):
        expected.append(math.tanh(5 * expected[-1] + 0.5))
    assert hidden == pytest.approx(expected)


def test_heading_after_a_hit():
    turning = {7: 1.5, 8: 2.0}
    for after_hit, moves in (("turn", True), ("stick", False)):
        problem = maze("2d", robot=Robot(after_hit=after_hit), steps=3000)
        path = problem.trajectory(problem.solutions.encode(turning))
        hit = np.flatnonzero((np.diff(path[:, :2], axis=0) == 0).all(axis=1))[0]
        assert (path[hit + 1, 2] != path[hit, 2]) == moves


# --- many at a time ---


@pytest.mark.parametrize(
    "robot", [Robot(), Robot(after_hit="stick", slices="around_heading"), Robot(laser_range=300.0)], ids=repr
)
def test_many_at_a_time_find_the_bits_of_one(robot):
    """Random and mutated networks; thousands of full lifetimes in the slow test."""
    _compare_with_records(robot, n=150, steps=600)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [None, "8", "14"])
def test_many_at_a_time_find_the_bits_of_one_over_full_lifetimes(scenario):
    _compare_with_records(Robot(), n=3000, steps=3000, scenario=scenario)


def _compare_with_records(robot, n, steps, scenario=None):
    problem = maze("50d", robot=robot, steps=steps)
    rows = np.concatenate(
        [problem.solutions.random(n, np.random.default_rng(7)), mutated(problem, n, seed=8, rounds=9)]
    )
    found = problem.evaluate(rows, scenario)
    for row, fitness, features in zip(rows, found.fitness, found.features, strict=True):
        expected = of_record(problem, problem.record(row, scenario), scenario)
        assert (fitness, *features) == expected


@pytest.mark.parametrize("n", [0, 1, 7, 9, 61])
def test_any_number_of_networks_on_any_number_of_threads(problem, n):
    """Lanes and groups that get no network, and the last networks of a batch, which move together."""
    rows = mutated(problem, 61, seed=17)
    all_of_them, some = problem.evaluate(rows, threads=1), problem.evaluate(rows[:n], threads=3)
    assert len(some.fitness) == n
    assert np.array_equal(some.fitness, all_of_them.fitness[:n])
    assert np.array_equal(some.features, all_of_them.features[:n])


@pytest.mark.parametrize("room", [(0, 0), (0, 20), (3, 0), (120, 700)], ids=str)
def test_networks_of_any_size(room):
    """Without hidden neurons, without connections, and larger than the paper's."""
    space = Networks(*room, initial_hidden=room[0], initial_connections=room[1])
    problem = maze("10d", networks=space, steps=200)
    rows = space.random(40, np.random.default_rng(3))
    found = problem.evaluate(rows)
    for row, fitness, features in zip(rows, found.fitness, found.features, strict=True):
        assert (fitness, *features) == of_record(problem, problem.record(row))


def of_record(problem, record, scenario=None):
    """Fitness and features by a record."""
    to = np.array(problem.world_of(scenario).goal) - record[:, :2]
    return (np.sqrt((to[:, 0] * to[:, 0] + to[:, 1] * to[:, 1]).min()), *record[problem.times, :2].ravel())


# Two neurons in a circle of three states, from (-, -) to (+, -) to (-, +): the first is on if both were off.
CIRCLE_OF_3 = ({9: -2.0}, [(9, 9, -2.0), (10, 9, -2.0), (9, 10, 2.0)], 2)
CIRCLE_OF_2 = ({9: 0.5}, [(9, 9, -2.0)], 1)


def pushing(circle, strength):
    """A network with a circle of neurons; the strength with which the first turns both wheels back makes it rock."""
    biases, connections, n_hidden = circle
    steady = 9 + n_hidden  # always on, so that the circle alone cannot turn the wheels back
    push = [(source, wheel, weight) for source, weight in ((steady, 1.0), (9, strength)) for wheel in (7, 8)]
    return {**FORWARD, **biases, steady: 2.0}, connections + push, n_hidden + 1


@pytest.mark.parametrize("after_hit", ["turn", "stick"])
@pytest.mark.parametrize(("circle", "period"), [(CIRCLE_OF_2, 2), (CIRCLE_OF_3, 3)], ids=["period 2", "period 3"])
@pytest.mark.parametrize("rocks", [False, True], ids=["stands", "rocks"])
def test_a_network_that_goes_through_a_cycle(circle, period, after_hit, rocks):
    """A robot that stands at a wall ends early then; one that is moved by the cycle must not."""
    problem = maze("50d", robot=Robot(after_hit=after_hit), steps=503)
    row = problem.solutions.encode(*pushing(circle, 2.0 if rocks else 0.5))
    record, found = problem.record(row), problem.evaluate(row)
    assert (found.fitness[0], *found.features[0]) == of_record(problem, record)
    if not rocks:  # a lifetime that takes a minute unless it ends early
        long = maze("2d", robot=Robot(after_hit=after_hit), steps=300_000_000)
        began = time.process_time()
        assert long.evaluate(row).features[0].tolist() == record[-1, :2].tolist()
        assert time.process_time() - began < 20
    hidden = record[300:, 5]
    assert np.array_equal(hidden[period:], hidden[:-period])
    assert all((hidden[shift:] != hidden[:-shift]).any() for shift in range(1, period))
    assert (np.ptp(record[300:, 1]) > 0) == rocks


def test_results_do_not_depend_on_threads_batches_or_order(problem):
    rows = mutated(problem, 60, seed=9)
    one = problem.evaluate(rows, threads=1)
    two = problem.evaluate(rows, threads=2)
    backwards = problem.evaluate(rows[::-1], threads=2)
    single = np.concatenate([problem.evaluate(row).features for row in rows[:10]])
    assert np.array_equal(one.features, two.features)
    assert np.array_equal(one.fitness, two.fitness)
    assert np.array_equal(one.features, backwards.features[::-1])
    assert np.array_equal(one.features[:10], single)


def test_trajectory_and_evaluation_tell_the_same(problem):
    rows = mutated(problem, 20, seed=10)
    for scenario in (None, "3"):
        result = problem.evaluate(rows, scenario)
        for row, fitness, features in zip(rows, result.fitness, result.features, strict=True):
            path = problem.trajectory(row, scenario)
            assert path[problem.times, :2].ravel() == pytest.approx(features, abs=0)
            assert np.hypot(path[:, 0] - 500, path[:, 1] - 500).min() == pytest.approx(fitness, abs=1e-12)


@pytest.mark.parametrize("every", [1, 15, 70, 100])
def test_paths_are_those_of_the_records(every):
    problem = maze("2d", steps=100)
    rows = mutated(problem, 20, seed=21)
    for scenario in (None, "3"):
        expected = [problem.trajectory(row, scenario)[::every, :2] for row in rows]
        assert np.array_equal(problem.paths(rows, every, scenario), expected)


def test_the_robot_never_touches_a_wall(problem):
    for scenario in (None, "8", "13"):
        blocked = problem.world_of(scenario).blocked
        for row in mutated(problem, 15, seed=11):
            path = problem.trajectory(row, scenario)
            assert not blocked[path[:, 1].astype(int), path[:, 0].astype(int)].any()
            assert np.hypot(*np.diff(path[:, :2], axis=0).T).max() <= 2 + 1e-12


def test_rows_of_another_size_drive_the_same(problem):
    rows = mutated(problem, 20, seed=12)
    wide = maze("10d", networks=Networks(max_hidden=60, max_connections=200))
    for row in rows:
        description = problem.solutions.describe(row)
        connections = [(c.source, c.target, c.weight) for c in description.connections]
        other = wide.solutions.encode(description.biases, connections, description.n_hidden)
        assert np.array_equal(problem.evaluate(row).features, wide.evaluate(other).features)
