"""Motion: where the hexapod's base, joints and feet are at every step of one episode.

How it is drawn lives in `gait_pictures`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.problems.hexapod_locomotion.controller import N_STEPS, STEP, servo_step, targets
from tesselite.problems.hexapod_locomotion.episode import REASONS, Episodes
from tesselite.problems.hexapod_locomotion.robot import (
    COXA_LENGTH,
    FEMUR_LENGTH,
    FOOT_RADIUS,
    FOOT_X,
    LEGS,
    N_LEGS,
    TIBIA_LENGTH,
    Body,
)


def rotation_matrices(quaternions: Floats) -> Floats:
    """Rotation matrices, (n, 3, 3), of unit quaternions (w, x, y, z), (n, 4)."""
    w, x, y, z = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def leg_points(angles: Floats) -> Floats:
    """Points of the legs in the base frame, (n, 6, 4, 3): coxa joint, femur joint, tibia joint, centre of the foot.

    `angles` (n, 6, 3) are J1, J2, J3 of each leg; any angles, not only those of the controller (where J3 = J2).
    """
    side = np.array([float(hip.side) for hip in LEGS])
    psi = np.array([hip.yaw for hip in LEGS]) + angles[:, :, 0]
    q2, q3 = angles[:, :, 1], angles[:, :, 2]
    zero = np.zeros_like(psi)
    # In the leg frame; the tibia hangs at the angle q2 - q3 from the vertical.
    lean = q2 - q3
    femur = np.stack([zero, side * COXA_LENGTH + zero, zero], axis=2)
    tibia = femur + FEMUR_LENGTH * np.stack([zero, side * np.cos(q2), np.sin(q2)], axis=2)
    foot = tibia + np.stack([FOOT_X + zero, side * TIBIA_LENGTH * np.sin(lean), -TIBIA_LENGTH * np.cos(lean)], axis=2)
    points = np.stack([np.zeros_like(femur), femur, tibia, foot], axis=2)
    c, s = np.cos(psi)[:, :, None], np.sin(psi)[:, :, None]
    x, y = points[..., 0], points[..., 1]
    turned = np.stack([c * x - s * y, s * x + c * y, points[..., 2]], axis=3)
    hips = np.array([[hip.x, hip.y, 0.0] for hip in LEGS])
    moved: Floats = turned + hips[None, :, None, :]
    return moved


@dataclass(frozen=True)
class Motion:
    """One episode, step by step: row i is the start of step i, the last row the end; there is at least one row.

    An invalid episode ends with the pose that made it invalid; one that diverged, with the last pose that is finite.

    `time` (n,) in s; `positions` (n, 3), `quaternions` (n, 4; w, x, y, z) and `rotations` (n, 3, 3) of the base;
    `joints` (n, 6, 3): J1, J2, J3 of each leg; `points` (n, 6, 4, 3): coxa, femur and tibia joint and foot centre of
    each leg in the world; `contacts` (n, 6): whether a foot touches the floor. Missing legs have NaN points.
    `n_walking`: steps that follow the controller; then the last targets are held until the robot rests.
    `distance` in m and `reason` (why it is invalid, or None) as in an evaluation.
    """

    body: Body
    time: Floats
    positions: Floats
    quaternions: Floats
    rotations: Floats
    joints: Floats
    points: Floats
    contacts: npt.NDArray[np.bool_]
    n_walking: int
    distance: float
    duty_factors: Floats
    reason: str | None

    @property
    def feet(self) -> Floats:
        """Centres of the feet in the world, (n, 6, 3)."""
        return self.points[:, :, 3]

    def stances(self, leg: int) -> Ints:
        """From which to which step a foot was on the floor, (m, 2)."""
        last = len(self.time) - 1
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.contacts[:last, leg].astype(np.int8), [0]])))
        return edges.reshape(-1, 2)

    @property
    def speed(self) -> float:
        """Forward speed in m/s, as the paper gives it: distance over five seconds."""
        return self.distance / 5.0


def motion_of(episodes: Episodes, row: int, solution: Floats, body: Body) -> Motion:
    """The motion of one recorded episode, that of the controller `solution` (36,)."""
    end, steps, _ = episodes.ends[row].tolist()
    tape = episodes.tape[row, : steps + 1]
    # Line `steps` is written (its quaternion is not 0) if the pose at the start of a step ended the episode.
    tape = tape[tape[:, 3:7].any(axis=1) & np.isfinite(tape).all(axis=1)]
    ended_after_a_step = len(tape) == steps and np.isfinite(episodes.finals[row]).all()
    if ended_after_a_step:
        target = targets(solution[None])[0, min(steps, N_STEPS) - 1]
        joints = servo_step(tape[-1, 14:], target) * np.repeat(body.present, 2)
        tape = np.concatenate([tape, np.concatenate([episodes.finals[row], tape[-1, 13:14], joints])[None]])
    positions, quaternions = tape[:, :3], tape[:, 3:7]
    rotations = rotation_matrices(quaternions)
    q = tape[:, 14:].reshape(-1, N_LEGS, 2)
    joints = np.concatenate([q, q[:, :, 1:]], axis=2)
    points = np.einsum("nij,nlpj->nlpi", rotations, leg_points(joints)) + positions[:, None, None, :]
    points[:, list(body.missing)] = np.nan
    contacts = (tape[:, 13].astype(np.int64)[:, None] >> np.arange(N_LEGS) & 1).astype(np.bool_)
    if ended_after_a_step:  # no engine computed contacts there
        contacts[-1] = points[-1, :, 3, 2] <= FOOT_RADIUS
    reason = REASONS[end]
    return Motion(
        body=body,
        time=np.asarray(np.arange(len(tape)) * STEP, dtype=np.float64),
        positions=positions.copy(),
        quaternions=quaternions.copy(),
        rotations=rotations,
        joints=joints,
        points=points,
        contacts=contacts,
        n_walking=min(steps, N_STEPS),
        distance=float(episodes.distances[row]) if reason is None else float("nan"),
        duty_factors=episodes.duty_factors[row].copy(),
        reason=reason,
    )
