"""One rollout in plain code, all of it computed at every step and recorded: a network drives the robot in a world.

What a network is lives in `networks`, what a world is in `world`. The rules are those of the paper's section IV-A and
of the simulator its authors used (two wheels, pixel collisions, no sliding); `docs/maze.md` lists them. Evaluations
use the same rules in `lockstep`, many robots at a time; tests compare the two bit by bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import LANES, spread, store
from tesselite.problems.maze_navigation.arithmetic import sine_cosine, tanh
from tesselite.problems.maze_navigation.network_code import FIRST_VALUE, N_INPUTS, new_wiring, wire
from tesselite.problems.maze_navigation.rays import finish_ray
from tesselite.problems.maze_navigation.robot import N_LASERS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Flags of a rollout.
STICK = 1  # restore the heading, too, after a hit
AROUND = 2  # centre the slices on the heading

HALF_ROOT = 0.70710678118654752440  # cos 45 = sin 45 degrees
HAIR = 1e-12  # radians
_SINC = (-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0)


@kernel(allocates=False)
def lasers(
    leap: Bytes, width: int, x: float, y: float, cosine: float, sine: float, longest: float, walk: bool, out: Floats
) -> None:
    """Distances at -45, 0 and +45 degrees from the heading, into out[:3]; `walk` is for tests."""
    left_x, left_y = (cosine + sine) * HALF_ROOT, (sine - cosine) * HALF_ROOT
    out[0] = finish_ray(leap, width, x, y, left_x, left_y, longest, walk)
    out[1] = finish_ray(leap, width, x, y, cosine, sine, longest, walk)
    out[2] = finish_ray(leap, width, x, y, (cosine - sine) * HALF_ROOT, left_x, longest, walk)


@kernel(allocates=False)
def slice_of(to_x: float, to_y: float, cosine: float, sine: float, around: bool) -> int:
    """Which of the four slices sees the goal: floor(its angle clockwise of the heading / 90 degrees)."""
    ahead = cosine * to_x + sine * to_y
    aside = cosine * to_y - sine * to_x
    # Slices begin a hair before their angle. The robot starts with the goal dead ahead, and a straight drive keeps it
    # there: rounding must not choose the slice.
    ahead, aside = ahead - HAIR * aside, aside + HAIR * ahead
    if around:  # turn the goal's direction by 45 degrees; its length does not matter
        ahead, aside = ahead - aside, ahead + aside
    if aside >= 0.0 and ahead > 0.0:
        return 0
    if aside > 0.0:
        return 1
    if ahead < 0.0:
        return 2
    if aside < 0.0:
        return 3
    return 0  # the robot stands on the goal


class Course(NamedTuple):
    """Where a robot drives and how: maps of the world, flat, with rows of `width` pixels; the robot; the time it has.

    `start` is x, y, heading. Positions are noted at each of `times`, the last of which is `n_steps`.
    """

    width: int
    leap: Bytes
    blocked: Bytes
    start: Floats
    goal: Floats
    axle: float
    laser_range: float
    flags: int
    n_steps: int
    times: Integers


class Outcome(NamedTuple):
    """Arrays to write into: fitness (n,), and features (n, 2 times) as x, y at each time."""

    fitness: Floats
    features: Floats


@part()
def travelled(turn: Any, left: Any, right: Any) -> Any:
    """How far the robot gets, as the crow flies, while it turns."""
    a = 0.5 * turn
    aa = a * a  # sin(a) / a by its series: |a| is at most 0.2
    sinc = 1.0 + aa * (_SINC[0] + aa * (_SINC[1] + aa * (_SINC[2] + aa * (_SINC[3] + aa * _SINC[4]))))
    return 0.5 * (left + right) * sinc


@kernel()
def drive_one(row: npt.NDArray[np.int16], room: Integers, course: Course, record: Floats) -> None:
    """Roll out one network, and write a record (n_steps + 1, 3 + 2 + hidden): x, y, heading, the wheels and the hidden
    neurons after each step. `room` is (most hidden neurons, most connections) of its encoding.
    """
    wiring = new_wiring(room[0], room[1])
    n_neurons = wire(row, room[0], room[1], wiring)
    value, fresh = np.zeros(FIRST_VALUE + n_neurons), np.zeros(n_neurons)
    distance, activation = np.zeros(N_LASERS), np.zeros(LANES)
    goal, width = course.goal, course.width
    x, y, heading = course.start[0], course.start[1], course.start[2]
    record[:] = 0.0
    record[0, 0], record[0, 1], record[0, 2] = x, y, heading
    for step in range(1, course.n_steps + 1):
        sine, cosine = sine_cosine(heading)
        lasers(course.leap, width, x, y, cosine, sine, course.laser_range, False, distance)
        value[:N_INPUTS] = 0.0
        for laser in range(N_LASERS):
            value[laser] = distance[laser] / course.laser_range
        value[N_LASERS + slice_of(goal[0] - x, goal[1] - y, cosine, sine, course.flags & AROUND != 0)] = 1.0
        for i in range(n_neurons):
            total = 0.0
            for c in range(wiring.first[i], wiring.first[i + 1]):
                total += wiring.weight[c] * value[wiring.source[c]]
            store(activation, 0, tanh(spread(5.0 * total + wiring.bias[i])))
            fresh[i] = activation[0]
        value[FIRST_VALUE:] = fresh
        left, right = 2.0 * fresh[wiring.wheel[0]], 2.0 * fresh[wiring.wheel[1]]
        turn = (right - left) / course.axle
        travel = travelled(turn, left, right)
        sine, cosine = sine_cosine(heading + 0.5 * turn)
        new_x, new_y, new_heading = x + travel * cosine, y + travel * sine, heading + turn
        if new_heading >= np.pi:
            new_heading -= 2.0 * np.pi
        elif new_heading < -np.pi:
            new_heading += 2.0 * np.pi
        if not course.blocked[np.uint64(int(new_y) * width + int(new_x))]:
            x, y, heading = new_x, new_y, new_heading
        elif not course.flags & STICK:
            heading = new_heading
        record[step, 0], record[step, 1], record[step, 2] = x, y, heading
        record[step, 3], record[step, 4] = left, right
        for i in range(n_neurons):
            if wiring.name[i] >= 0:
                record[step, 5 + wiring.name[i]] = fresh[i]
