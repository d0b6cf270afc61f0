"""Rollouts of many networks at a time: groups of LANES robots in lock-step, one robot in each lane.

A lane whose robot has reached its end takes the next network. What a step does to one robot, in plain code, is in
`simulation`: every robot's result here has the same bits. How far the lasers see is in `rays`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.threads import in_chunks
from tesselite.compiled.crew import atomic_add
from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import (
    LANES,
    add,
    aligned_zeros,
    bits,
    cells,
    choose,
    count,
    floored,
    gathered,
    load,
    lowest,
    spread,
    store,
    where,
)
from tesselite.problems.maze_navigation.arithmetic import sines_cosines, tanh
from tesselite.problems.maze_navigation.network_code import FIRST_VALUE, N_OUTPUTS, Wiring, new_wiring, sizes, wire
from tesselite.problems.maze_navigation.rays import append, new_rays, trace
from tesselite.problems.maze_navigation.robot import N_INPUTS, N_LASERS
from tesselite.problems.maze_navigation.simulation import (
    AROUND,
    HAIR,
    HALF_ROOT,
    STICK,
    Course,
    Outcome,
    travelled,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_GROUPS = 6  # at most: enough that the slowest rays hardly matter, few enough that hardly any idle at the end
_ALL = (1 << LANES) - 1
_LANE = np.arange(LANES, dtype=np.float64)

# Rows of a group's robots. DUE is the time of the next point of the descriptor, STILL counts the steps since the pose
# last changed, and at KEEP of them the neurons are kept.
X, Y, HEADING, NEAREST, STEP, DUE, STILL, KEEP = (row * LANES for row in range(8))
_ROBOT = 8 * LANES


class Fleet(NamedTuple):
    """Groups of robots, n of them, and the memory they work with. Bits stand for lanes.

    A group's networks are laid side by side: connection c of each of its lanes leads to the same neuron, into[c]. There
    are at most as many as in all lanes together.
    """

    robots: Floats  # (n, _ROBOT)
    value: Floats  # (n, LANES * (inputs + most neurons))
    kept: Floats  # (n, LANES * most neurons): at an earlier step of a robot that stands still
    bias: Floats  # (n, LANES * most neurons)
    into: Integers  # (n, LANES * most connections)
    source: Integers  # (n, LANES * LANES * most connections): where in the group's values
    weight: Floats  # (n, LANES * LANES * most connections)
    n_joined: Integers  # (n, 2): neurons and connections
    n_neurons: Integers  # (n, LANES)
    first: Integers  # (n, LANES, most neurons + 1): as `wire` gives it, like these
    lane_source: Integers  # (n, LANES, most connections)
    lane_weight: Floats  # (n, LANES, most connections)
    wheels: Integers  # (n, 2 * LANES): where among the fresh values
    row: Integers  # (n, LANES): of the networks
    sample: Integers  # (n, LANES): which point of the descriptor is next
    busy: Integers  # (n,): bits of the lanes that work
    moved: Integers  # (n,): bits of the lanes whose pose has changed since their lasers were read
    used: Integers  # (n, 3): bits of the lanes that read a laser
    fresh: Floats  # (LANES * most neurons,)
    rays: Floats
    distance: Floats  # (3 * n * LANES + 1,): what the lasers read, and idle rays
    wiring: Wiring


def new_fleet(n_rows: int, max_hidden: int, max_connections: int) -> Fleet:
    """A fleet, all of it idle, for n_rows rollouts: as many groups as make equal waves."""
    waves = max(1, -(-n_rows // (_GROUPS * LANES)))
    n = max(1, -(-n_rows // (waves * LANES)))
    most = max_hidden + N_OUTPUTS

    def whole(*shape: int) -> Integers:
        return np.zeros(shape, dtype=np.int64)

    return Fleet(
        robots=aligned_zeros(n, _ROBOT),
        value=aligned_zeros(n, (N_INPUTS + most) * LANES),
        kept=aligned_zeros(n, most * LANES),
        bias=aligned_zeros(n, most * LANES),
        into=whole(n, LANES * max_connections),
        source=whole(n, LANES * LANES * max_connections),
        weight=aligned_zeros(n, LANES * LANES * max_connections),
        n_joined=whole(n, 2),
        n_neurons=whole(n, LANES),
        first=whole(n, LANES, most + 1),
        lane_source=whole(n, LANES, max_connections),
        lane_weight=np.zeros((n, LANES, max_connections)),
        wheels=whole(n, N_OUTPUTS * LANES),
        row=whole(n, LANES),
        sample=whole(n, LANES),
        busy=whole(n),
        moved=whole(n),
        used=whole(n, N_LASERS),
        fresh=aligned_zeros(most * LANES),
        rays=new_rays(N_LASERS * n * LANES),
        distance=np.zeros(N_LASERS * n * LANES + 1),
        wiring=new_wiring(max_hidden, max_connections),
    )


def roll_out(rows: npt.NDArray[np.int16], room: Integers, course: Course, outcome: Outcome, threads: int) -> None:
    """Roll out networks (n, width) into the outcome; `room` is (most hidden neurons, most connections) in their rows.

    Threads with a fleet each take them from one queue: the place of the next one, which is 1, and the rows' numbers.
    Networks of similar size come one after the other, because those that are computed side by side take as long as the
    largest.
    """
    queue = np.concatenate([[1], np.argsort(-sizes(rows, room), kind="stable")])
    threads = max(1, min(threads, len(rows) // LANES))

    def work(*_: int) -> None:
        drive(rows, queue, room, course, outcome, new_fleet(len(rows) // threads, *room.tolist()))

    in_chunks(work, threads, 1, threads)


@kernel(allocates=False)
def _start_lane(fleet: Fleet, g: int, k: int, row: int, n_neurons: int, course: Course) -> None:
    """Put the network that was wired up last into lane k of group g, at the start of the course."""
    robot, value, bias, wiring = fleet.robots[g], fleet.value[g], fleet.bias[g], fleet.wiring
    fleet.row[g, k] = row
    fleet.sample[g, k] = 0
    fleet.busy[g] |= 1 << k
    fleet.moved[g] |= 1 << k
    robot[X + k], robot[Y + k], robot[HEADING + k] = course.start[0], course.start[1], course.start[2]
    to_x, to_y = course.goal[0] - course.start[0], course.goal[1] - course.start[1]
    robot[NEAREST + k] = to_x * to_x + to_y * to_y
    robot[STEP + k] = robot[STILL + k] = 0.0
    robot[DUE + k] = course.times[0]
    robot[KEEP + k] = 1.0
    for i in range(0, value.shape[0], LANES):
        value[i + k] = 0.0
    for i in range(bias.shape[0] // LANES):
        bias[i * LANES + k] = wiring.bias[i] if i < n_neurons else 0.0
    fleet.n_neurons[g, k] = n_neurons
    for i in range(wiring.first.shape[0]):
        fleet.first[g, k, i] = wiring.first[min(i, n_neurons)]
    for c in range(wiring.first[n_neurons]):
        fleet.lane_source[g, k, c] = wiring.source[c]
        fleet.lane_weight[g, k, c] = wiring.weight[c]
    for wheel in range(N_OUTPUTS):
        fleet.wheels[g, wheel * LANES + k] = wiring.wheel[wheel] * LANES + k
    for laser in range(N_LASERS):
        fleet.used[g, laser] = fleet.used[g, laser] & ~(1 << k) | np.int64(wiring.used[laser]) << k


@kernel(allocates=False)
def _join_networks(fleet: Fleet, g: int) -> None:
    """Lay the networks of a group's lanes side by side. Where one has fewer connections, a weight of 0 adds nothing."""
    into, source, weight = fleet.into[g], fleet.source[g], fleet.weight[g]
    first, lane_source, lane_weight = fleet.first[g], fleet.lane_source[g], fleet.lane_weight[g]
    n_neurons = 0
    for k in range(LANES):
        n_neurons = max(n_neurons, fleet.n_neurons[g, k])
    c, layer, wide = 0, 0, n_neurons
    while wide > 0:  # the first connection into each neuron, then the second, ...
        last, wide = wide, 0
        for i in range(last):
            for k in range(LANES):
                if first[k, i] + layer < first[k, i + 1]:
                    wide = i + 1
        for i in range(wide):
            into[c] = i * LANES
            for k in range(LANES):
                at = first[k, i] + layer
                there = at < first[k, i + 1]
                source[c * LANES + k] = lane_source[k, at] * LANES + k if there else 0
                weight[c * LANES + k] = lane_weight[k, at] if there else 0.0
            c += 1
        layer += 1
    fleet.n_joined[g, 0], fleet.n_joined[g, 1] = n_neurons, c


@kernel(allocates=False)
def _fill(fleet: Fleet, g: int, rows: npt.NDArray[np.int16], queue: Integers, room: Integers, course: Course) -> None:
    """Give each idle lane of a group the next network in the queue, while there are some."""
    for k in range(LANES):
        if not fleet.busy[g] >> k & 1:
            place = atomic_add(queue, 0, 1)  # other threads take from it, too
            if place > rows.shape[0]:
                break
            row = queue[place]
            _start_lane(fleet, g, k, row, wire(rows[row], room[0], room[1], fleet.wiring), course)
    _join_networks(fleet, g)


@kernel(allocates=False)
def _move_lane(fleet: Fleet, j: int, k: int, i: int, lane: int) -> None:
    """Move the robot in lane k of group j to the idle lane `lane` of group i, whose networks must be joined again."""
    for rows in (fleet.robots, fleet.value, fleet.kept, fleet.bias):
        for at in range(0, rows.shape[1], LANES):
            rows[i, at + lane] = rows[j, at + k]
    for laser in range(N_LASERS):
        before, after = j * N_LASERS + laser, i * N_LASERS + laser
        fleet.distance[after * LANES + lane] = fleet.distance[before * LANES + k]
    for wheel in range(0, N_OUTPUTS * LANES, LANES):
        fleet.wheels[i, wheel + lane] = fleet.wheels[j, wheel + k] - k + lane
    for numbers in (fleet.row, fleet.sample, fleet.n_neurons):
        numbers[i, lane] = numbers[j, k]
    for at in range(fleet.first.shape[2]):
        fleet.first[i, lane, at] = fleet.first[j, k, at]
    for c in range(fleet.first[i, lane, fleet.n_neurons[i, lane]]):
        fleet.lane_source[i, lane, c] = fleet.lane_source[j, k, c]
        fleet.lane_weight[i, lane, c] = fleet.lane_weight[j, k, c]
    for flags in (fleet.busy, fleet.moved):
        flags[i] = flags[i] & ~(1 << lane) | (flags[j] >> k & 1) << lane
    for laser in range(N_LASERS):
        bit = fleet.used[j, laser] >> k & 1
        fleet.used[i, laser] = fleet.used[i, laser] & ~(1 << lane) | bit << lane
    fleet.busy[j] &= ~(1 << k)


@kernel(allocates=False)
def _close_ranks(fleet: Fleet, n: int) -> int:
    """Move robots of the last of n groups to idle lanes of the others, if all fit: how many groups are in use then."""
    idle = 0
    for g in range(n - 1):
        idle += LANES - count(fleet.busy[g])
    while n > 0 and count(fleet.busy[n - 1]) <= idle:
        n -= 1
        g = 0
        while fleet.busy[n]:
            while fleet.busy[g] == _ALL:
                g += 1
            _move_lane(fleet, n, lowest(fleet.busy[n]), g, lowest(~fleet.busy[g]))
            _join_networks(fleet, g)
            idle -= 1
        if n > 0:
            idle -= LANES - count(fleet.busy[n - 1])
    return n


@part()
def _send_out(
    fleet: Fleet, g: int, n: int, laser: int, x: Any, y: Any, dx: Any, dy: Any, per_x: Any, per_y: Any
) -> int:
    """Append the rays of one laser of a group, of those lanes that need them, to n others: how many now."""
    which = fleet.used[g, laser] & fleet.busy[g] & fleet.moved[g]
    if which == 0:
        return n
    number = load(_LANE, 0) + float((g * N_LASERS + laser) * LANES)
    return append(fleet.rays[0], n, which, (x, y, dx, dy, per_x, per_y, spread(0.0), number))


@kernel(allocates=False, forceinline=True)
def _look(fleet: Fleet, g: int, n: int, course: Course) -> int:
    """Let a group's robots see in which slice the goal is, and append their rays to n others: how many now."""
    robot, value = fleet.robots[g], fleet.value[g]
    x, y = load(robot, X), load(robot, Y)
    sine, cosine = sines_cosines(load(robot, HEADING))
    to_x, to_y = course.goal[0] - x, course.goal[1] - y
    ahead = cosine * to_x + sine * to_y
    aside = cosine * to_y - sine * to_x
    ahead, aside = ahead - HAIR * aside, aside + HAIR * ahead
    if course.flags & AROUND:
        ahead, aside = ahead - aside, ahead + aside
    one = spread(1.0)
    right, front = (aside >= 0.0) & (ahead > 0.0), aside > 0.0
    # The first of these conditions that holds: the others in this order, and the first again if none does.
    first = choose(right, one, 0.0)
    second = choose(front, 1.0 - first, 0.0)
    third = choose(ahead < 0.0, 1.0 - first - second, 0.0)
    fourth = choose(aside < 0.0, 1.0 - first - second - third, 0.0)
    store(value, (N_LASERS + 0) * LANES, 1.0 - second - third - fourth)
    store(value, (N_LASERS + 1) * LANES, second)
    store(value, (N_LASERS + 2) * LANES, third)
    store(value, (N_LASERS + 3) * LANES, fourth)
    left_x, left_y = (cosine + sine) * HALF_ROOT, (sine - cosine) * HALF_ROOT
    left_per_x, left_per_y = 1.0 / left_x, 1.0 / left_y
    n = _send_out(fleet, g, n, 0, x, y, left_x, left_y, left_per_x, left_per_y)
    n = _send_out(fleet, g, n, 1, x, y, cosine, sine, 1.0 / cosine, 1.0 / sine)
    # The ray to the right is that to the left, turned by a right angle, to the last bit.
    return _send_out(fleet, g, n, 2, x, y, -left_y, left_x, -left_per_y, left_per_x)


@kernel(allocates=False, forceinline=True)
def _think(fleet: Fleet, g: int, longest: float) -> int:
    """Let a group's networks read the lasers and make a step: bits of the lanes none of whose neurons changed."""
    value, fresh, bias = fleet.value[g], fleet.fresh, fleet.bias[g]
    into, source, weight = fleet.into[g], fleet.source[g], fleet.weight[g]
    n_neurons, n_connections = fleet.n_joined[g, 0], fleet.n_joined[g, 1]
    for laser in range(N_LASERS):
        reading = load(fleet.distance, (g * N_LASERS + laser) * LANES) / longest
        store(value, laser * LANES, reading)
    for i in range(0, n_neurons * LANES, LANES):
        store(fresh, i, 0.0)
    for c in range(n_connections):  # one loop over all neurons: the ends of many short ones would be mispredicted
        at = c * LANES
        add(fresh, into[c], load(weight, at) * gathered(value, source, at))
    settled = _ALL
    for i in range(0, n_neurons * LANES, LANES):
        now = tanh(5.0 * load(fresh, i) + load(bias, i))
        store(fresh, i, now)
        settled &= bits(now == load(value, FIRST_VALUE * LANES + i))
        store(value, FIRST_VALUE * LANES + i, now)
    return settled


@kernel(allocates=False, forceinline=True)
def _move(fleet: Fleet, g: int, course: Course) -> None:
    """Turn the wheels of a group's robots."""
    robot, fresh, wheels = fleet.robots[g], fleet.fresh, fleet.wheels[g]
    x, y, heading = load(robot, X), load(robot, Y), load(robot, HEADING)
    left, right = 2.0 * gathered(fresh, wheels, 0), 2.0 * gathered(fresh, wheels, LANES)
    turn = (right - left) / course.axle
    travel = travelled(turn, left, right)
    sine, cosine = sines_cosines(heading + 0.5 * turn)
    new_x, new_y, new_heading = x + travel * cosine, y + travel * sine, heading + turn
    wrapped = choose(new_heading < -np.pi, new_heading + 2.0 * np.pi, new_heading)
    new_heading = choose(new_heading >= np.pi, new_heading - 2.0 * np.pi, wrapped)
    hits = cells(course.blocked, floored(new_y) * float(course.width) + floored(new_x)) > 0.0
    new_x, new_y = choose(hits, x, new_x), choose(hits, y, new_y)
    if course.flags & STICK:
        new_heading = choose(hits, heading, new_heading)
    moved = (new_x != x) | (new_y != y) | (new_heading != heading)
    store(robot, X, new_x)
    store(robot, Y, new_y)
    store(robot, HEADING, new_heading)
    to_x, to_y = course.goal[0] - new_x, course.goal[1] - new_y
    square, nearest = to_x * to_x + to_y * to_y, load(robot, NEAREST)
    store(robot, NEAREST, choose(square < nearest, square, nearest))
    store(robot, STEP, load(robot, STEP) + 1.0)
    store(robot, STILL, choose(moved, spread(0.0), load(robot, STILL) + 1.0))
    store(robot, KEEP, choose(moved, spread(1.0), load(robot, KEEP)))
    fleet.moved[g] = bits(moved)


@kernel(allocates=False, forceinline=True)
def _repeat(fleet: Fleet, g: int, resting: int) -> int:
    """Bits of the lanes whose networks go through a cycle that never moves the robot.

    Neurons are kept at powers of two of the steps that a robot rests, so that any period fits between two (Brent).
    """
    robot, value, kept = fleet.robots[g], fleet.value[g], fleet.kept[g]
    still, keep = load(robot, STILL), load(robot, KEEP)
    same = resting & bits(still > 1.0)
    now = resting & bits(still >= keep)
    for i in range(0, fleet.n_joined[g, 0] * LANES, LANES):
        one, before = load(value, FIRST_VALUE * LANES + i), load(kept, i)
        same &= bits(one == before)
        store(kept, i, choose(where(now), one, before))
    store(robot, KEEP, choose(where(now), keep + keep, keep))
    return same


@kernel(allocates=False, forceinline=True)
def _note(fleet: Fleet, g: int, ended: int, course: Course, outcome: Outcome) -> None:
    """Note the points that are due, all that are left where a robot has ended, and how near those came to the goal."""
    robot = fleet.robots[g]
    due = bits(load(robot, STEP) >= load(robot, DUE)) & fleet.busy[g] | ended
    while due:
        k = lowest(due)
        due &= due - 1
        row, sample, last = fleet.row[g, k], fleet.sample[g, k], ended >> k & 1
        while True:
            outcome.features[row, 2 * sample] = robot[X + k]
            outcome.features[row, 2 * sample + 1] = robot[Y + k]
            sample += 1
            if sample == course.times.shape[0] or not last:
                break
        fleet.sample[g, k] = sample
        robot[DUE + k] = course.times[sample] if sample < course.times.shape[0] else np.inf
        if last:
            outcome.fitness[row] = np.sqrt(robot[NEAREST + k])
    fleet.busy[g] &= ~ended


@kernel(allocates=False)
def drive(
    rows: npt.NDArray[np.int16], queue: Integers, room: Integers, course: Course, outcome: Outcome, fleet: Fleet
) -> None:
    """Roll out the networks in a queue; see `roll_out`."""
    n_groups = fleet.busy.shape[0]
    for g in range(n_groups):  # lanes that never get a network stand at the start
        for k in range(LANES):
            fleet.robots[g, X + k], fleet.robots[g, Y + k] = course.start[0], course.start[1]
            fleet.wheels[g, k] = fleet.wheels[g, LANES + k] = k
    while n_groups > 0:
        any_ended = 0
        n: Any = np.int64(0)  # a plain 0 is a type of its own, for which Numba would compile once more what it calls
        for g in range(n_groups):
            if fleet.busy[g] != _ALL and queue[0] <= rows.shape[0]:
                _fill(fleet, g, rows, queue, room, course)
            n = _look(fleet, g, n, course)
        trace(course.leap, course.width, fleet.rays, n, course.laser_range, fleet.distance)
        for g in range(n_groups):
            settled = _think(fleet, g, course.laser_range)
            _move(fleet, g, course)
            resting = fleet.busy[g] & ~fleet.moved[g]
            ended = fleet.busy[g] & bits(load(fleet.robots[g], STEP) >= float(course.n_steps)) | resting & settled
            if resting & ~settled:
                ended |= _repeat(fleet, g, resting)
            _note(fleet, g, ended, course, outcome)
            any_ended |= ended
        if queue[0] > rows.shape[0] and (any_ended or not fleet.busy[n_groups - 1]):
            n_groups = _close_ranks(fleet, n_groups)
