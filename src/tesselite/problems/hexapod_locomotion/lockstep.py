"""Episodes of the `kinematic` engine: LANES robots in lock-step, and the rules that end an episode.

What one step does lives in `kinematic`; settling, threads and what an end means in `episode`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
import tesselite.problems.hexapod_locomotion.kinematic as kn
import tesselite.problems.hexapod_locomotion.line_search as ls
from tesselite.compiled.kernels import kernel
from tesselite.problems.hexapod_locomotion.controller import N_JOINTS, N_LEVELS, PERIOD
from tesselite.problems.hexapod_locomotion.legs import LANES
from tesselite.problems.hexapod_locomotion.robot import JOINT_SCALE, N_LEGS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# How an episode ends.
RUNNING, FINISHED, BODY_TOUCHED, TOO_HIGH, TILTED, RESTLESS, DIVERGED = range(7)

MAX_HEIGHT = 0.3  # of the centre of mass
STILL = 1e-4  # a step that moves the pose by less than this (m and rad together) is still
STILL_STEPS = 31  # in a row: the robot has come to rest

TAPE = kn.STATE + 1 + N_JOINTS  # columns of a recording
_SCALE1 = JOINT_SCALE[0]
_SCALE2 = JOINT_SCALE[1]


@kernel()
def start_lane(
    g: Floats, pose: Floats, targets: Floats, k: int, values: Floats, start: Floats, signals: Floats
) -> None:
    """Put a robot with the controller `values` (36,) into lane k, at the state `start`, joints at rest at 0.

    Writes the target angles of all joints for one period of the controller into targets[k] (100, 12).
    """
    for i in range(kn.STATE):
        g[kn.OX + i * LANES + k] = start[i]
    remember_pose(g, pose, k)
    for leg in range(N_LEGS):
        for i in range(6):
            g[leg * ct.LEG + ct.Q1 + i * LANES + k] = 0.0
        g[leg * ct.LEG + ct.DEPTH + k] = -1.0
    for j in range(N_JOINTS):
        scale = values[3 * j] * (_SCALE1 if j % 2 == 0 else _SCALE2)
        # To the nearest level: 100 * 0.35 is meant to be 35.
        phase = int(PERIOD * values[3 * j + 1] + 0.5) % PERIOD
        level = int((N_LEVELS - 1) * values[3 * j + 2] + 0.5)
        for sample in range(PERIOD):
            targets[k, sample, j] = scale * signals[level, phase + sample]


@kernel()
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


@kernel()
def touching_feet(g: Floats, k: int) -> int:
    """Lane k's feet that touch the floor, as bits. The depth of a leg that is not there stays below 0."""
    feet = 0
    for leg in range(N_LEGS):
        if g[leg * ct.LEG + ct.DEPTH + k] >= 0.0:
            feet |= 1 << leg
    return feet


@kernel()
def record(g: Floats, k: int, line: Floats) -> None:
    """Write lane k's state and joints into one line of the tape."""
    for i in range(kn.STATE):
        line[i] = g[kn.OX + i * LANES + k]
    for leg in range(N_LEGS):
        line[kn.STATE + 1 + 2 * leg] = g[leg * ct.LEG + ct.Q1 + k]
        line[kn.STATE + 2 + 2 * leg] = g[leg * ct.LEG + ct.Q2 + k]


@kernel()
def simulate(
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
    """Run the episodes of rows first..last, LANES at a time; a lane whose episode ends takes the next row.

    rows (n, 36): controllers. signals (21, 200): the controller's table. present (6,), sums (6,): the body. start
    (13,): position, quaternion, velocity, angular velocity of the base at the start, joints at rest at 0. dt: step in
    s; n_steps steps follow the controller, then the last targets are held until it rests, at most max_hold steps.
    Writes ends (n, 3): how the episode ended, steps simulated, steps held; finals (n, 13): the base's state at the end;
    touches (n, 2, 6): even and odd steps of the first n_steps in which each foot touched the floor. tape (n, T, 26),
    with T = 0 for no recording: at the start of each step the base's state (13), the feet that touch, as bits (1), and
    J1 and J2 of each leg (12).
    """
    g = np.zeros(kn.ARRAY)
    t = np.zeros(ls.TABLE)
    st = np.zeros(ls.STATES, np.int64)
    targets = np.zeros((LANES, PERIOD, N_JOINTS))
    row = np.full(LANES, -1)  # the row that a lane works on; -1: idle
    step = np.zeros(LANES, np.int64)
    still = np.zeros(LANES, np.int64)
    pose = np.zeros(6 * LANES)
    end = np.zeros(LANES, np.int64)
    waiting = first
    busy = 0
    while True:
        for k in range(LANES):
            if row[k] < 0 and waiting < last:
                row[k] = waiting
                step[k] = still[k] = end[k] = 0
                for leg in range(N_LEGS):
                    touches[waiting, 0, leg] = touches[waiting, 1, leg] = 0
                start_lane(g, pose, targets, k, rows[waiting], start, signals)
                waiting += 1
                busy += 1
            elif row[k] < 0:  # an idle lane hovers, so that it stays finite
                for i in range(kn.STATE):
                    g[kn.OX + i * LANES + k] = 1.0 if i == 2 or i == 3 else 0.0
        if busy == 0:
            return
        for k in range(LANES):
            if row[k] >= 0 and step[k] < n_steps:
                sample = (3 * step[k]) // 2 % PERIOD
                for leg in range(N_LEGS):
                    g[leg * ct.LEG + ct.TARGET1 + k] = targets[k, sample, 2 * leg]
                    g[leg * ct.LEG + ct.TARGET2 + k] = targets[k, sample, 2 * leg + 1]
            if row[k] >= 0 and step[k] < tape.shape[1]:
                record(g, k, tape[row[k], step[k]])

        kn.move_legs(g, present, dt)
        kn.free_velocity(g, sums, dt)
        kn.find_contacts(g, present, sums, dt)
        ct.solve(g, t, st)

        # Rules on the pose at the start of the step, and which feet touched there.
        for k in range(LANES):
            r = row[k]
            if r < 0:
                continue
            if g[kn.LOW + k] <= 0.0:
                if step[k] < n_steps:
                    end[k] = BODY_TOUCHED
                else:
                    kn.solve_on_base(g, k, t, st, sums, dt)
            elif not g[kn.ZC + k] <= MAX_HEIGHT:
                end[k] = TOO_HIGH if g[kn.ZC + k] > MAX_HEIGHT else DIVERGED
            if step[k] < n_steps:
                for leg in range(N_LEGS):  # without a branch: feet come and go unpredictably
                    touches[r, step[k] & 1, leg] += g[leg * ct.LEG + ct.DEPTH + k] >= 0.0
            if step[k] < tape.shape[1]:
                tape[r, step[k], kn.STATE] = touching_feet(g, k)

        kn.advance(g, dt)

        # Rules on the pose at the end of the step.
        for k in range(LANES):
            r = row[k]
            if r < 0:
                continue
            if end[k] == RUNNING:
                step[k] += 1
                if not g[kn.TURN + k] <= 1.0:
                    end[k] = DIVERGED
                elif g[kn.QX + k] * g[kn.QX + k] + g[kn.QY + k] * g[kn.QY + k] >= 0.5:  # R22 <= 0
                    end[k] = TILTED
                elif step[k] >= n_steps:
                    moved = remember_pose(g, pose, k)
                    if step[k] > n_steps:
                        still[k] = still[k] + 1 if moved < STILL else 0
                        if still[k] >= STILL_STEPS:
                            end[k] = FINISHED
                        elif step[k] - n_steps >= max_hold:
                            end[k] = RESTLESS
                if end[k] != RUNNING:
                    for i in range(kn.STATE):
                        finals[r, i] = g[kn.OX + i * LANES + k]
            if end[k] != RUNNING:
                ends[r, 0] = end[k]
                ends[r, 1] = step[k]
                ends[r, 2] = max(0, step[k] - n_steps)
                row[k] = -1
                busy -= 1
