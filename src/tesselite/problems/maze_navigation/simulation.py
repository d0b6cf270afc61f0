"""The compiled rollout: a network drives the robot through a world, step by step, in float64.

What a network is lives in `networks`, what a world is in `world`. The rules are those of the paper's section IV-A and
of the simulator its authors used (two wheels, pixel collisions, no sliding); `docs/maze.md` lists them. Everything
that is skipped here is exact: the result has the same bits as without the skip, and tests compare them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import LANES, bits, gathered, load, spread, store
from tesselite.problems.maze_navigation.arithmetic import sine_cosine, tanh
from tesselite.problems.maze_navigation.network_code import FIRST_VALUE, in_lanes, wire

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Flags of a rollout.
STICK = 1  # restore the heading, too, after a hit
AROUND = 2  # centre the slices on the heading
NO_SKIPS = 4  # compute everything at every step; for tests

_FIXED = 2.0**32
_FIXED_HALF = 2.0**31
_HALF_ROOT = 0.70710678118654752440  # cos 45 = sin 45 degrees
_HAIR = 1e-12  # radians
_STEEPEST = 1e4  # 1 / |dx| + 1 / |dy| of a ray
_WORTHWHILE = 4  # half units: shorter leaps take longer than the steps of a walk
_WALK = 64  # pixels
_CLOSE = 4096  # in units of 2^-32: far above the rounding of a walk
_SINC = (-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0)


@kernel(allocates=False)
def finish_ray(
    leap: Bytes, width: int, x: float, y: float, dx: float, dy: float, t: float, longest: float, walk: bool
) -> float:
    """Distance from (x, y) along (dx, dy) to the first wall pixel, at most `longest`; all below t is known to be free.

    Leaps where there is room (unless told to walk), and otherwise goes from pixel edge to pixel edge. The distance of
    an edge is computed from the ray's origin, so the answer's bits do not depend on where the walk began.
    """
    if t >= longest:
        return longest
    step_x = 1.0 if dx >= 0.0 else -1.0
    step_y = 1.0 if dy >= 0.0 else -1.0
    next_x = 1 if dx >= 0.0 else -1
    next_y = width if dy >= 0.0 else -width
    per_x = 1.0 / dx if dx != 0.0 else np.inf
    per_y = 1.0 / dy if dy != 0.0 else np.inf
    enough = 256 if walk else 4
    while t < longest:
        i = int(x + t * dx)
        j = int(y + t * dy)
        at = j * width + i
        room = leap[np.uint64(at)]
        edge_x = i + 1.0 if dx >= 0.0 else float(i)
        edge_y = j + 1.0 if dy >= 0.0 else float(j)
        free = t
        while room != 0 and room < enough:
            t_x = (edge_x - x) * per_x
            t_y = (edge_y - y) * per_y
            across = t_x < t_y  # written as selects, not as a branch, because which edge comes next is a coin flip
            t = t_x if across else t_y
            at += next_x if across else next_y
            edge_x += step_x if across else 0.0
            edge_y += 0.0 if across else step_y
            room = leap[np.uint64(at)]
        if room == 0:
            return min(t, longest)
        # Room again: leap from here at once, because on a pixel's edge the loop's head may round to the pixel before.
        # Never back: a ray along the very edge of a pixel crosses it at 0, wherever it is when that is found.
        t = max(t, free) + 0.5 * (float(room) - 1.0)
    return longest


@part()
def _to_wall(
    leap: Bytes,
    width: int,
    x: float,
    y: float,
    dx: float,
    dy: float,
    per_x: float,
    per_y: float,
    t: float,
    longest: float,
    walk: bool,
) -> float:
    """What `finish_ray` returns, mostly without it: with 1 / dx and 1 / dy, from pixel to pixel in whole numbers.

    `lag` says by how much the ray meets the next edge in x after that in y, with 32 binary places. Its error grows by
    two units a pixel at most. Where it is so small that rounding might decide which edge comes first, where there is
    room to leap again, and for rays almost along an axis, the walk begins again with `finish_ray`.
    """
    if t >= longest:
        return longest
    if not walk and abs(per_x) + abs(per_y) < _STEEPEST:
        i, j = int(x + t * dx), int(y + t * dy)
        next_x, edge_x = (1, i + 1) if dx >= 0.0 else (-1, i)
        next_y, edge_y = (1, j + 1) if dy >= 0.0 else (-1, j)
        lag = int(((edge_x - x) * per_x - (edge_y - y) * per_y) * _FIXED)
        more_y = int(abs(per_y) * _FIXED)
        more = int((abs(per_x) + abs(per_y)) * _FIXED)
        down = next_y * width
        aside = next_x - down
        at = j * width + i
        columns = 0
        for rows_and_columns in range(1, _WALK):
            if abs(lag) < _CLOSE:
                break
            across = lag >> 63  # all bits if the next edge is one in x, else none: masks, because it is a coin flip
            lag += (across & more) - more_y
            at += down + (across & aside)
            columns -= across
            room = leap[np.uint64(at)]
            if room > _WORTHWHILE:
                break
            if room == 0:  # the edge's distance by the formula of `finish_ray`
                rows = rows_and_columns - columns
                if across:
                    return min((edge_x + (columns - 1) * next_x - x) * per_x, longest)
                return min((edge_y + (rows - 1) * next_y - y) * per_y, longest)
    return finish_ray(leap, width, x, y, dx, dy, t, longest, walk)


@kernel(allocates=False)
def _half_units(leap: Bytes, width: int, x: int, y: int) -> int:
    """How far a ray may leap from a place with 32 binary places, in half units."""
    return np.int64(leap[np.uint64((y >> 32) * width + (x >> 32))]) - 1  # type: ignore[return-value]


@kernel(allocates=False)
def lasers(
    leap: Bytes,
    width: int,
    x: float,
    y: float,
    cosine: float,
    sine: float,
    longest: float,
    walk: bool,
    used: Bytes,
    out: Floats,
) -> None:
    """Distances at -45, 0 and +45 degrees from the heading, into out[:3]; those not used are left alone.

    `walk` goes from pixel to pixel without any leap, for tests.
    """
    left_x, left_y = (cosine + sine) * _HALF_ROOT, (sine - cosine) * _HALF_ROOT
    right_x, right_y = (cosine - sine) * _HALF_ROOT, (sine + cosine) * _HALF_ROOT
    per_x, per_y = 1.0 / cosine, 1.0 / sine  # here, because they are ready when the leaps are
    left_per_x, left_per_y = 1.0 / left_x, 1.0 / left_y
    t_left = t_ahead = t_right = 0
    if not walk:
        # Leaps for all rays, side by side so that their latencies overlap. Distances are whole half units and positions
        # have 32 binary places: integers need half the time of floats here, and a leap's margin is far above their
        # rounding. Where a ray stops does not matter for the result.
        far = int(2.0 * longest) + 1
        at_x, at_y = int(x * _FIXED), int(y * _FIXED)
        left_i, left_j = int(left_x * _FIXED_HALF), int(left_y * _FIXED_HALF)
        ahead_i, ahead_j = int(cosine * _FIXED_HALF), int(sine * _FIXED_HALF)
        right_i, right_j = int(right_x * _FIXED_HALF), int(right_y * _FIXED_HALF)
        first = _half_units(leap, width, at_x, at_y)
        more = first < far
        # A laser that nothing reads is far already, and stays at the robot: where it would end may be no pixel.
        t_left, left_i, left_j = (first, left_i, left_j) if used[0] else (far, 0, 0)
        t_ahead, ahead_i, ahead_j = (first, ahead_i, ahead_j) if used[1] else (far, 0, 0)
        t_right, right_i, right_j = (first, right_i, right_j) if used[2] else (far, 0, 0)
        while more:
            i, j = at_x + t_left * left_i, at_y + t_left * left_j
            room_left = _half_units(leap, width, i, j)
            i, j = at_x + t_ahead * ahead_i, at_y + t_ahead * ahead_j
            room_ahead = _half_units(leap, width, i, j)
            i, j = at_x + t_right * right_i, at_y + t_right * right_j
            room_right = _half_units(leap, width, i, j)
            room_left = room_left if (room_left >= _WORTHWHILE) & (t_left < far) else 0
            room_ahead = room_ahead if (room_ahead >= _WORTHWHILE) & (t_ahead < far) else 0
            room_right = room_right if (room_right >= _WORTHWHILE) & (t_right < far) else 0
            t_left += room_left
            t_ahead += room_ahead
            t_right += room_right
            more = room_left + room_ahead + room_right > 0
    if used[0]:
        out[0] = _to_wall(leap, width, x, y, left_x, left_y, left_per_x, left_per_y, 0.5 * t_left, longest, walk)
    if used[1]:
        out[1] = _to_wall(leap, width, x, y, cosine, sine, per_x, per_y, 0.5 * t_ahead, longest, walk)
    if used[2]:
        # right_x = -left_y and right_y = left_x, to the last bit
        out[2] = _to_wall(leap, width, x, y, right_x, right_y, -left_per_y, left_per_x, 0.5 * t_right, longest, walk)


@kernel(allocates=False)
def slice_of(to_x: float, to_y: float, cosine: float, sine: float, around: bool) -> int:
    """Which of the four slices sees the goal: floor(its angle clockwise of the heading / 90 degrees)."""
    ahead = cosine * to_x + sine * to_y
    aside = cosine * to_y - sine * to_x
    # Slices begin a hair before their angle. The robot starts with the goal dead ahead, and a straight drive keeps it
    # there: rounding must not choose the slice.
    ahead, aside = ahead - _HAIR * aside, aside + _HAIR * ahead
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

    `start` is x, y, heading. Positions are noted at each of `times`, out of `n_steps`.
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
    """Arrays to write into: fitness (n,), features (n, 2 times) as x, y at each time, and a record.

    The record (n, n_steps + 1, 3 + 2 + hidden) receives x, y, heading, the wheels and the hidden neurons after each
    step, if it has rows.
    """

    fitness: Floats
    features: Floats
    record: Floats


class Network(NamedTuple):
    """A network as `wire` gives it, and its state. Neurons: the hidden ones, then two outputs."""

    source: Integers
    weight: Floats
    bias: Floats
    name: Integers
    used: Bytes  # of the 7 inputs
    value: Floats  # of the 7 inputs and, from FIRST_VALUE on, of the neurons
    fresh: Floats  # of the neurons, after this step
    kept: Floats  # of the neurons, at an earlier step
    distance: Floats  # that the lasers read


@part()
def _read_lasers(distance: Floats, longest: float, used: Bytes, value: Floats) -> bool:
    """Take the lasers' readings over as inputs; whether one of them is another than before."""
    news = False
    for i in range(3):
        if used[i]:
            reading = distance[i] / longest
            news |= reading != value[i]
            value[i] = reading
    return news


@part()
def _step_network(n_neurons: int, n_layers: int, network: Any) -> bool:
    """One step of the network: whether no neuron has changed."""
    source, weight, value, fresh = network.source, network.weight, network.value, network.fresh
    for first in range(0, n_neurons, LANES):
        total = spread(0.0)
        at = first
        for _ in range(n_layers):
            total += load(weight, at) * gathered(value, source, at)
            at += n_neurons
        store(fresh, first, tanh(5.0 * total + load(network.bias, first)))
    settled = True
    for first in range(0, n_neurons, LANES):
        now = load(fresh, first)
        settled &= bits(now != load(value, FIRST_VALUE + first)) == 0
        store(value, FIRST_VALUE + first, now)
    return settled


@part()
def _is_as_kept(n_neurons: int, value: Floats, kept: Floats) -> bool:
    """Whether all neurons have the values that were kept."""
    same = True
    for first in range(0, n_neurons, LANES):
        same &= bits(load(value, FIRST_VALUE + first) != load(kept, first)) == 0
    return same


@part()
def _keep(n_neurons: int, value: Floats, kept: Floats) -> None:
    """Keep the values of all neurons."""
    for first in range(0, n_neurons, LANES):
        store(kept, first, load(value, FIRST_VALUE + first))


@part()
def _travelled(turn: float, left: float, right: float) -> float:
    """How far the robot gets, as the crow flies, while it turns."""
    a = 0.5 * turn
    aa = a * a  # sin(a) / a by its series: |a| is at most 0.2
    sinc = 1.0 + aa * (_SINC[0] + aa * (_SINC[1] + aa * (_SINC[2] + aa * (_SINC[3] + aa * _SINC[4]))))
    return 0.5 * (left + right) * sinc


@part()
def _within_a_turn(heading: float) -> float:
    """A heading in [-pi, pi)."""
    if heading >= np.pi:
        heading -= 2.0 * np.pi
    elif heading < -np.pi:
        heading += 2.0 * np.pi
    return heading


@part()
def _roll_out(row: int, n_hidden: int, n_layers: int, course: Any, network: Any, outcome: Any) -> None:
    """Drive a robot by one network."""
    name, used, value, fresh, distance = network.name, network.used, network.value, network.fresh, network.distance
    n_neurons = in_lanes(n_hidden + 2)
    width, leap, blocked, start, goal = course.width, course.leap, course.blocked, course.start, course.goal
    axle, longest, flags = course.axle, course.laser_range, course.flags
    n_steps, times = course.n_steps, course.times
    features, record = outcome.features, outcome.record
    skip = flags & NO_SKIPS == 0
    if not skip:
        used[:] = 1
    any_laser = used[0] + used[1] + used[2] > 0
    any_slice = used[3] + used[4] + used[5] + used[6] > 0
    value[:] = 0.0
    x, y, heading = start[0], start[1], start[2]
    to_x, to_y = goal[0] - x, goal[1] - y
    nearest = to_x * to_x + to_y * to_y
    recorded = record.shape[0] > 0
    if recorded:
        record[row, 0, :] = 0.0
        record[row, 0, 0], record[row, 0, 1], record[row, 0, 2] = x, y, heading
    turn = travel = left = right = 0.0
    slice_now = -1
    settled = False  # the last network step changed no neuron
    moved = True  # the pose is another than when the sensors were read last
    still = 0  # steps since the pose was another
    period = 1  # of what the robot and its network do at last, if that is found
    kept_at = 0
    sample = 0
    step = 0
    while step < n_steps:
        step += 1
        news = False  # an input is another than at the step before
        if (moved or not skip) and (any_laser or any_slice):
            sine, cosine = sine_cosine(heading)
            if any_laser:
                lasers(leap, width, x, y, cosine, sine, longest, not skip, used, distance)
                news = _read_lasers(distance, longest, used, value)
            if any_slice:
                now = slice_of(to_x, to_y, cosine, sine, flags & AROUND != 0)
                if now != slice_now:
                    if slice_now >= 0:
                        value[3 + slice_now] = 0.0
                    value[3 + now] = 1.0
                    slice_now = now
                    news = True
        if news or not settled or not skip:
            settled = _step_network(n_neurons, n_layers, network)
            left, right = 2.0 * fresh[n_hidden], 2.0 * fresh[n_hidden + 1]
            turn = (right - left) / axle
            travel = _travelled(turn, left, right)
        sine, cosine = sine_cosine(heading + 0.5 * turn)
        new_x = x + travel * cosine
        new_y = y + travel * sine
        new_heading = _within_a_turn(heading + turn)
        if blocked[np.uint64(int(new_y) * width + int(new_x))]:
            new_x, new_y = x, y
            if flags & STICK:
                new_heading = heading
        if recorded:
            record[row, step, :] = 0.0
            record[row, step, 0], record[row, step, 1] = new_x, new_y
            record[row, step, 2], record[row, step, 3], record[row, step, 4] = new_heading, left, right
            for neuron in range(n_hidden):
                record[row, step, 5 + name[neuron]] = value[FIRST_VALUE + neuron]
        moved = new_x != x or new_y != y or new_heading != heading
        if moved:
            x, y, heading = new_x, new_y, new_heading
            to_x, to_y = goal[0] - x, goal[1] - y
            nearest = min(nearest, to_x * to_x + to_y * to_y)
            still = 0
        elif skip:
            still += 1
            if settled:
                break  # pose and network are as they were: so will be every step from here on
            if still > 1 and _is_as_kept(n_neurons, value, network.kept):
                period = still - kept_at
                break  # the network goes through a cycle that never moves the robot
            if still & (still - 1) == 0:  # at powers of two, so that any period fits between two of them (Brent)
                _keep(n_neurons, value, network.kept)
                kept_at = still
        if step == times[sample]:
            features[row, 2 * sample], features[row, 2 * sample + 1] = x, y
            sample += 1
    while sample < times.shape[0]:
        features[row, 2 * sample], features[row, 2 * sample + 1] = x, y
        sample += 1
    if recorded:
        for later in range(step + 1, n_steps + 1):
            record[row, later, :] = record[row, later - period, :]
    outcome.fitness[row] = np.sqrt(nearest)


@kernel()
def drive(rows: npt.NDArray[np.int16], first: int, last: int, room: Integers, course: Course, outcome: Outcome) -> None:
    """Roll out the networks rows[first:last]; `room` is (most hidden neurons, most connections) of their encoding."""
    max_hidden, max_connections = room[0], room[1]
    most = in_lanes(max_hidden + 2)
    source = np.empty(max_connections * most, np.int64)
    weight = np.empty(max_connections * most)
    bias = np.empty(most)
    name = np.empty(most, np.int64)
    used = np.empty(7, np.uint8)
    value = np.empty(FIRST_VALUE + most)
    network = Network(source, weight, bias, name, used, value, np.empty(most), np.empty(most), np.empty(3))
    for row in range(first, last):
        n_hidden, n_layers = wire(rows[row], max_hidden, max_connections, source, weight, bias, name, used)
        _roll_out(row, n_hidden, n_layers, course, network, outcome)
