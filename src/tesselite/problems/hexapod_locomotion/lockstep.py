"""Episodes of the `kinematic` engine: groups of LANES robots in lock-step, and the rules that end an episode.

What one step does lives in `kinematic` and `solver`; settling, threads and what an end means in `episode`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
import tesselite.problems.hexapod_locomotion.kinematic as kn
import tesselite.problems.hexapod_locomotion.legs as lg
import tesselite.problems.hexapod_locomotion.line_search as ls
import tesselite.problems.hexapod_locomotion.solver as sv
from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import (
    LANES,
    add,
    aligned_zeros,
    bits,
    choose,
    load,
    look_up,
    lowest,
    read,
    spread,
    store,
    where,
    write,
)
from tesselite.problems.hexapod_locomotion.controller import N_JOINTS, N_LEVELS, PERIOD
from tesselite.problems.hexapod_locomotion.robot import JOINT_SCALE, N_LEGS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# How an episode ends.
RUNNING, FINISHED, BODY_TOUCHED, TOO_HIGH, TILTED, RESTLESS, DIVERGED = range(7)

# Simulated at a time: enough for the solver to fill its lanes, few enough to stay in the cache of a core.
GROUPS = 32
# Of which the contact problems are begun side by side: enough to overlap, few enough for the core's first cache.
BLOCK = 4
MAX_HEIGHT = 0.3  # of the centre of mass
STILL = 1e-4  # a step that moves the pose by less than this (m and rad together) is still
STILL_STEPS = 31  # in a row: the robot has come to rest

TAPE = kn.STATE + 1 + N_JOINTS  # columns of a recording
_SCALE1 = JOINT_SCALE[0]
_SCALE2 = JOINT_SCALE[1]


class Fleet(NamedTuple):
    """The n groups of robots that are simulated at a time, and the memory they work with. Bits stand for lanes."""

    robots: Floats  # (n, kn.ROBOT)
    feet: Ints  # (n, kn.FEET)
    begins: Ints  # (n, 12 * LANES): where the signal of each joint begins in the controller's table
    pose: Floats  # (n, 6 * LANES): at the end of the last step, while they come to rest
    row: Ints  # (n, LANES): of the controllers
    step: Floats  # (n, LANES)
    sample: Ints  # (n, LANES): of the signals, at this step
    odd: Ints  # (n,): bits of the lanes whose step is odd
    still: Ints  # (n, LANES): steps in a row
    busy: Ints  # (n,): bits of the lanes that work
    ended: Ints  # (n,): bits of the lanes whose episode ends with this step
    on_base: Ints  # (n,): bits of the lanes whose base lies on the floor
    base_d: Floats  # (n, 6 * LANES): their d
    # (n + 3, sv.PROBLEM): contact problems; behind them one for a robot whose base lies on the floor, and the solver's
    problems: Floats
    states: Ints  # (n + 3, ls.MAX_CONTACTS): of the contacts
    n_contacts: Ints  # (n,)
    missed: Ints  # (n,): bits of the lanes whose contacts' states are not found yet
    work: Floats  # (kn.WORK,)
    line: Floats  # (ls.LINE,)
    book: Ints  # (sv.BOOK,)


def new_fleet(n_rows: int) -> Fleet:
    """A fleet, all of it idle, for n_rows episodes: as many groups as make equal waves."""
    waves = -(-n_rows // (GROUPS * LANES))
    n = -(-n_rows // (waves * LANES))

    def whole(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    robots = aligned_zeros(n, kn.ROBOT)
    for one in (kn.OZ, kn.QW):
        robots[:, one : one + LANES] = 1.0
    return Fleet(
        robots=robots,
        feet=whole(n, kn.FEET),
        begins=whole(n, N_JOINTS * LANES),
        pose=np.zeros((n, 6 * LANES)),
        row=whole(n, LANES),
        step=aligned_zeros(n, LANES),
        sample=whole(n, LANES),
        odd=whole(n),
        still=whole(n, LANES),
        busy=whole(n),
        ended=whole(n),
        on_base=whole(n),
        base_d=np.zeros((n, 6 * LANES)),
        problems=aligned_zeros(n + 3, sv.PROBLEM),
        states=whole(n + 3, ls.MAX_CONTACTS),
        n_contacts=whole(n),
        missed=whole(n),
        work=aligned_zeros(kn.WORK),
        line=aligned_zeros(ls.LINE),
        book=whole(sv.BOOK),
    )


@kernel(allocates=False, forceinline=True)
def start_lane(fleet: Fleet, j: int, k: int, row: int, values: Floats, start: Floats) -> None:
    """Put a robot with the controller `values` (36,) into lane k of group j: at the state `start`, joints at 0."""
    g, feet = fleet.robots[j], fleet.feet[j]
    fleet.row[j, k] = row
    fleet.step[j, k] = fleet.sample[j, k] = fleet.still[j, k] = 0
    fleet.odd[j] &= ~(1 << k)
    fleet.busy[j] |= 1 << k
    for i in range(0, kn.ROBOT, LANES):
        g[i + k] = 0.0
    for i in range(kn.STATE):
        g[kn.OX + i * LANES + k] = start[i]
    remember_pose(g, fleet.pose[j], k)
    for leg in range(N_LEGS):
        feet[kn.STATES + leg] = feet[kn.STATES + leg] & ~(ct.EACH << k) | 1 << ct.ON1 + k
    for i in range(N_JOINTS):
        scale = lg.SCALE1 if i % 2 == 0 else lg.SCALE2
        g[i // 2 * lg.JOINTS + scale + k] = values[3 * i] * (_SCALE1 if i % 2 == 0 else _SCALE2)
        # To the nearest level: 100 * 0.35 is meant to be 35.
        phase = int(PERIOD * values[3 * i + 1] + 0.5) % PERIOD
        level = int((N_LEVELS - 1) * values[3 * i + 2] + 0.5)
        fleet.begins[j, i * LANES + k] = level * 2 * PERIOD + phase


@kernel(allocates=False, forceinline=True)
def stop_lane(fleet: Fleet, j: int, k: int) -> None:
    """Let lane k of group j hover with its legs at rest, so that it stays finite while it idles."""
    g = fleet.robots[j]
    fleet.busy[j] &= ~(1 << k)
    for i in range(0, kn.ROBOT, LANES):
        g[i + k] = 1.0 if i == kn.OZ or i == kn.QW else 0.0


@kernel(allocates=False)
def move_lane(fleet: Fleet, j: int, k: int, i: int, lane: int) -> None:
    """Move the robot in lane k of group j to the idle lane `lane` of group i."""
    for row in range(0, kn.ROBOT, LANES):
        fleet.robots[i, row + lane] = fleet.robots[j, row + k]
    for row in range(0, N_JOINTS * LANES, LANES):
        fleet.begins[i, row + lane] = fleet.begins[j, row + k]
    for row in range(0, 6 * LANES, LANES):
        fleet.pose[i, row + lane] = fleet.pose[j, row + k]
    for leg in range(N_LEGS):
        word = fleet.feet[j, kn.STATES + leg] >> k & ct.EACH
        fleet.feet[i, kn.STATES + leg] = fleet.feet[i, kn.STATES + leg] & ~(ct.EACH << lane) | word << lane
    fleet.row[i, lane] = fleet.row[j, k]
    fleet.step[i, lane] = fleet.step[j, k]
    fleet.sample[i, lane] = fleet.sample[j, k]
    fleet.still[i, lane] = fleet.still[j, k]
    fleet.odd[i] = fleet.odd[i] & ~(1 << lane) | (fleet.odd[j] >> k & 1) << lane
    fleet.busy[i] |= 1 << lane
    stop_lane(fleet, j, k)


@kernel(allocates=False)
def close_ranks(fleet: Fleet, n: int) -> int:
    """Move robots of the last of n groups to idle lanes of those before, as far as they have any: groups in use then.

    Done before each step once no robot waits: the last ones to come to rest would keep many groups at work.
    """
    i = 0
    while n > 0:
        left = fleet.busy[n - 1]
        while left:
            while i < n - 1 and fleet.busy[i] == ct.ALL:
                i += 1
            if i >= n - 1:
                return n
            move_lane(fleet, n - 1, lowest(left), i, lowest(~fleet.busy[i]))
            left &= left - 1
        n -= 1
    return n


@kernel(allocates=False, forceinline=True)
def count_step(fleet: Fleet, j: int, n_steps: int) -> int:
    """Let the lanes of group j that go on begin their next step: those, as bits, that no longer follow the controller.

    Two steps are three samples: the first of them one, the second two.
    """
    running = fleet.busy[j] & ~fleet.ended[j]
    add(fleet.step[j], 0, choose(where(running), spread(1.0), 0.0))
    holding = running & ~bits(load(fleet.step[j], 0) < float(n_steps))
    moving, odd, sample = running & ~holding, fleet.odd[j], fleet.sample[j]
    for k in range(LANES):
        after = read(sample, k) + (moving >> k & 1) + ((moving & odd) >> k & 1)
        write(sample, k, after - PERIOD if after >= PERIOD else after)
    fleet.odd[j] = odd ^ running
    return holding


@kernel(allocates=False)
def remember_pose(g: Floats, pose: Floats, k: int) -> float:
    """Keep lane k's pose as DART keeps it, rotation vector and position: how far it is from the one kept before."""
    w = g[kn.QW + k]
    x = g[kn.QX + k]
    y = g[kn.QY + k]
    z = g[kn.QZ + k]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    n = math.sqrt(x * x + y * y + z * z)
    f = 2.0 if n < 1e-12 else 2.0 * math.atan2(n, w) / n
    now = (f * x, f * y, f * z, g[kn.OX + k], g[kn.OY + k], g[kn.OZ + k])
    moved = 0.0
    for i in range(6):
        change = now[i] - pose[i * LANES + k]
        moved += change * change
        pose[i * LANES + k] = now[i]
    return math.sqrt(moved)


@kernel(allocates=False, forceinline=True)
def record(fleet: Fleet, j: int, tape: Floats) -> None:
    """Write the states and joints of group j at the start of a step onto the tape."""
    g = fleet.robots[j]
    for k in range(LANES):
        if fleet.busy[j] >> k & 1 and fleet.step[j, k] < tape.shape[1]:
            line = tape[fleet.row[j, k], int(fleet.step[j, k])]
            for i in range(kn.STATE):
                line[i] = g[kn.OX + i * LANES + k]
            for leg in range(N_LEGS):
                line[kn.STATE + 1 + 2 * leg] = g[leg * lg.JOINTS + lg.Q1 + k]
                line[kn.STATE + 2 + 2 * leg] = g[leg * lg.JOINTS + lg.Q2 + k]


@kernel(allocates=False, forceinline=True)
def record_feet(fleet: Fleet, j: int, tape: Floats) -> None:
    """Write the feet of group j that touch the floor, as bits, onto the same line."""
    for k in range(LANES):
        if fleet.busy[j] >> k & 1 and fleet.step[j, k] < tape.shape[1]:
            touching = 0
            for leg in range(N_LEGS):
                touching |= (fleet.feet[j, kn.TOUCHING + leg] >> k & 1) << leg
            tape[fleet.row[j, k], int(fleet.step[j, k]), kn.STATE] = touching


@kernel(allocates=False, forceinline=True)
def start_step(
    fleet: Fleet,
    j: int,
    present: Ints,
    sums: Floats,
    dt: float,
    n_steps: int,
    signals: Floats,
    ends: Ints,
) -> None:
    """A step of group j up to its contact problem, and the rules on the pose at the start of the step."""
    g, feet, t, p, s = fleet.robots[j], fleet.feet[j], fleet.work, fleet.problems[j], fleet.states[j]
    begins, sample = fleet.begins[j], fleet.sample[j]
    for leg in range(N_LEGS):
        store(t, leg * lg.LEG + lg.SIGNAL1, look_up(signals, begins, 2 * leg * LANES, sample))
        store(t, leg * lg.LEG + lg.SIGNAL2, look_up(signals, begins, (2 * leg + 1) * LANES, sample))
    lg.move_legs(g, t, present, dt)
    kn.free_velocity(g, t, p, sums, dt)
    fleet.n_contacts[j] = kn.find_contacts(g, t, feet, p, s, present, sums, dt)
    following, odd = bits(load(fleet.step[j], 0) < float(n_steps)), fleet.odd[j]
    for leg in range(N_LEGS):
        touching = feet[kn.TOUCHING + leg] & following
        add(g, kn.TOUCHES + leg * LANES, choose(where(touching & ~odd), spread(1.0), 0.0))
        add(g, kn.TOUCHES + (N_LEGS + leg) * LANES, choose(where(touching & odd), spread(1.0), 0.0))
    low = bits(load(t, kn.LOW) <= 0.0) & fleet.busy[j]
    high = ~bits(load(t, kn.ZC) <= MAX_HEIGHT) & fleet.busy[j] & ~low
    fleet.ended[j] = low & following | high
    fleet.on_base[j] = low & ~following
    if low | high:
        for k in range(LANES):
            if (low & following) >> k & 1:
                ends[fleet.row[j, k], 0] = BODY_TOUCHED
            if high >> k & 1:
                ends[fleet.row[j, k], 0] = TOO_HIGH if t[kn.ZC + k] > MAX_HEIGHT else DIVERGED
            if (low & ~following) >> k & 1:
                q, u = fleet.problems[-3], fleet.states[-3]
                kn.solve_on_base(g, t, p, s, fleet.n_contacts[j], k, q, u, fleet.line, sums, dt)
                for i in range(0, 6 * LANES, LANES):
                    fleet.base_d[j, i + k] = q[ct.DX + i]


@kernel(allocates=False, forceinline=True)
def end_step(fleet: Fleet, j: int, dt: float, n_steps: int, max_hold: int, ends: Ints, finals: Floats) -> None:
    """The rest of a step of group j, whose contact problems are solved, and the rules on the pose at its end."""
    g, p = fleet.robots[j], fleet.problems[j]
    kn.keep_states(fleet.feet[j], fleet.states[j], fleet.n_contacts[j])
    if fleet.on_base[j]:
        for k in range(LANES):
            if fleet.on_base[j] >> k & 1:
                for i in range(0, 6 * LANES, LANES):
                    p[ct.DX + i + k] = fleet.base_d[j, i + k]
    slow = kn.advance(g, p, dt)
    qx = load(g, kn.QX)
    qy = load(g, kn.QY)
    tilted = bits(qx * qx + qy * qy >= 0.5)  # R22 <= 0
    holding = count_step(fleet, j, n_steps)
    looked_at = fleet.busy[j] & ~fleet.ended[j] & (holding | tilted | ~slow)
    while looked_at:
        k = lowest(looked_at)
        looked_at &= looked_at - 1
        step = int(fleet.step[j, k])
        end = RUNNING
        if not slow >> k & 1:
            end = DIVERGED
        elif tilted >> k & 1:
            end = TILTED
        else:
            moved = remember_pose(g, fleet.pose[j], k)
            if step > n_steps:
                fleet.still[j, k] = fleet.still[j, k] + 1 if moved < STILL else 0
                if fleet.still[j, k] >= STILL_STEPS:
                    end = FINISHED
                elif step - n_steps >= max_hold:
                    end = RESTLESS
        if end != RUNNING:
            fleet.ended[j] |= 1 << k
            ends[fleet.row[j, k], 0] = end
            for i in range(kn.STATE):
                finals[fleet.row[j, k], i] = g[kn.OX + i * LANES + k]


@kernel(allocates=False)
def simulate(
    fleet: Fleet,
    rows: Floats,
    first: int,
    last: int,
    signals: Floats,
    present: Ints,
    sums: Floats,
    start: Floats,
    dt: float,
    n_steps: int,
    max_hold: int,
    ends: Ints,
    finals: Floats,
    touches: Ints,
    tape: Floats,
) -> None:
    """Run the episodes of rows first..last, many at a time; a lane whose episode ends takes the next row.

    fleet: a new one. rows (n, 36): controllers. signals (4200,): the controller's table, flat. present (6,), sums (6,):
    the body. start (13,): position, quaternion, velocity, angular velocity of the base at the start, joints at rest at
    0. dt: step in s; n_steps steps follow the controller, then the last targets are held until it rests, at most
    max_hold steps. Writes ends (n, 3): how the episode ended, steps simulated, steps held; finals (n, 13): the base's
    state at the end; touches (n, 2, 6): even and odd steps of the first n_steps in which each foot touched the floor.
    tape (n, T, 26), with T = 0 for no recording: at the start of each step the base's state (13), the feet that touch,
    as bits (1), and J1 and J2 of each leg (12).
    """
    n_groups = fleet.busy.shape[0]
    waiting = first
    while n_groups:
        for j in range(n_groups):
            if fleet.busy[j] != ct.ALL and waiting < last:
                for k in range(LANES):
                    if not fleet.busy[j] >> k & 1 and waiting < last:
                        start_lane(fleet, j, k, waiting, rows[waiting], start)
                        waiting += 1
            if tape.shape[1] > 0:
                record(fleet, j, tape)
            start_step(fleet, j, present, sums, dt, n_steps, signals, ends)
            if tape.shape[1] > 0:
                record_feet(fleet, j, tape)
        for j in range(0, n_groups, BLOCK):
            k = min(j + BLOCK, n_groups)
            sv.begin(fleet.problems, fleet.states, j, k, fleet.n_contacts, fleet.missed, fleet.line, fleet.book)
        sv.finish(fleet.problems, fleet.states, fleet.line, fleet.book)
        for j in range(n_groups):
            ct.refine_friction(fleet.problems[j], fleet.states[j], fleet.n_contacts[j])
            end_step(fleet, j, dt, n_steps, max_hold, ends, finals)
            if fleet.ended[j]:
                for k in range(LANES):
                    if fleet.ended[j] >> k & 1:
                        row, step = fleet.row[j, k], int(fleet.step[j, k])
                        ends[row, 1] = step
                        ends[row, 2] = max(0, step - n_steps)
                        for i in range(2 * N_LEGS):
                            touches[row, i // N_LEGS, i % N_LEGS] = int(fleet.robots[j, kn.TOUCHES + i * LANES + k])
                        stop_lane(fleet, j, k)
        if waiting == last:
            n_groups = close_ranks(fleet, n_groups)
