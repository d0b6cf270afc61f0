"""The open-loop controller and the servos: from 36 values to the joint angles of every step.

Forces play no role here: the servos follow their targets whatever the load, so the legs' motion is a function
of time alone. Controller: the paper's section V-A and Cully et al. (2015); 36 values in [0, 1], leg-major, for each leg
J1 (amplitude, phase, duty cycle), then J2 (amplitude, phase, duty cycle).
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from tesselite.problems.hexapod_locomotion.robot import JOINT_SCALE, N_LEGS, SERVO_GAIN, SERVO_SPEED

Array = npt.NDArray[np.float64]

N_VALUES = 36
N_LEVELS = 21
LEVELS: Array = np.arange(N_LEVELS) / (N_LEVELS - 1)
N_JOINTS = 2 * N_LEGS  # J1 and J2 of each leg; J3 turns by the same angle as J2, about the opposite axis
PERIOD = 100  # samples of a signal; one period is one second
SMOOTHING_REACH = 10
SMOOTHING_SIGMA = 3.0

STEP = 0.015  # s, of simulation and control
DURATION = 5.0  # s
N_STEPS = math.ceil(DURATION / STEP)  # 334: while t < 5


@functools.cache
def signal_table() -> Array:
    """The smoothed square wave of each duty cycle level, twice in a row so that a shift needs no modulo: (21, 200).

    Row l is +1 for the first 5 l of 100 samples and -1 after, convolved around the circle with a normalised Gaussian
    kernel that reaches 10 samples to either side, sigma 3.
    """
    offsets = np.arange(-SMOOTHING_REACH, SMOOTHING_REACH + 1)
    weights = np.exp(-0.5 * (offsets / SMOOTHING_SIGMA) ** 2)
    weights /= weights.sum()
    sample = np.arange(PERIOD)
    # Whole numbers: a duty cycle kept in single precision and multiplied in double would make 34 samples of 0.35.
    positive = np.arange(N_LEVELS) * (PERIOD // (N_LEVELS - 1))
    square = np.where(sample < positive[:, None], 1.0, -1.0)
    smooth = np.zeros_like(square)
    for offset, weight in zip(offsets, weights, strict=True):
        smooth += weight * square[:, (sample + offset) % PERIOD]
    table = np.concatenate([smooth, smooth], axis=1)
    table.flags.writeable = False
    return table


def sample_index(step: int) -> int:
    """The sample of the signal that step number `step` looks up: floor(100 t) mod 100 at t = 0.015 step, exactly."""
    return (3 * step) // 2 % PERIOD


def targets(solutions: Array, n_steps: int = N_STEPS) -> Array:
    """Target angles of J1 and J2 of each leg at every step, shape (n, n_steps, 12), for (n, 36) solutions."""
    amplitude, phase, duty = np.moveaxis(solutions.reshape(-1, N_JOINTS, 3), 2, 0)
    level = np.rint((N_LEVELS - 1) * duty).astype(np.int64)
    shift = np.rint(PERIOD * phase).astype(np.int64) % PERIOD
    scale = np.tile(JOINT_SCALE[:2], N_LEGS) * amplitude
    sample = np.array([sample_index(step) for step in range(n_steps)], dtype=np.int64)
    found: Array = signal_table()[level[:, None, :], shift[:, None, :] + sample[None, :, None]]
    return scale[:, None, :] * found


def servo_step(angles: Array, target: Array, dt: float = STEP) -> Array:
    """The angles one step later, moving towards their targets; any shape."""
    reach = SERVO_SPEED * dt
    moved: Array = angles + np.clip((target - angles) * SERVO_GAIN, -reach, reach)
    return moved


def joint_angles(target: Array, dt: float = STEP) -> Array:
    """Angles that the servos reach under (n, steps, joints) targets: shape (n, steps + 1, joints), from rest at 0.

    A velocity servo without a force limit: each step covers 1/pi of what remains, at 7 rad/s at most.
    """
    angles = np.zeros((len(target), target.shape[1] + 1, target.shape[2]))
    for step in range(target.shape[1]):
        angles[:, step + 1] = servo_step(angles[:, step], target[:, step], dt)
    return angles
