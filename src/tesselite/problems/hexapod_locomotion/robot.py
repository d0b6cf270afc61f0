"""The hexapod as one table of numbers: geometry, masses, inertias, servo, floor, and the sums that an engine needs.

How it moves lives in `controller`; how it falls, stands and walks in `kinematic` and `dart`, which are both built from
this table. Robot: Cully et al. (2015), "Robots that can adapt like animals", as used by the paper's section V.
Units: m, kg, s, rad; x forward, y left, z up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Hip:
    """Where a leg is mounted: its coxa joint on the base, its yaw, and its side (+1 left, -1 right)."""

    place: str
    x: float
    y: float
    yaw: float
    side: int


@dataclass(frozen=True)
class Link:
    """A slender link: centre of mass (x, outward, up) from its joint, mass, inertia across and along its axis."""

    x: float
    outward: float
    up: float
    mass: float
    across: float
    along: float
    axis: Literal["y", "z"]


LEGS = (
    Hip("rear left", -0.14, 0.08, 0.3, 1),
    Hip("mid left", -0.01, 0.08, 0.0, 1),
    Hip("front left", 0.12, 0.08, -0.3, 1),
    Hip("front right", 0.12, -0.08, 0.3, -1),
    Hip("mid right", -0.01, -0.08, 0.0, -1),
    Hip("rear right", -0.14, -0.08, -0.3, -1),
)
N_LEGS = len(LEGS)

BASE_SIZE = (0.24, 0.20, 0.04)
BASE_MASS = 1.031
# Of a solid box: 0.00357413, 0.00508627, 0.00838547.
BASE_INERTIA = (
    BASE_MASS * (BASE_SIZE[1] ** 2 + BASE_SIZE[2] ** 2) / 12,
    BASE_MASS * (BASE_SIZE[0] ** 2 + BASE_SIZE[2] ** 2) / 12,
    BASE_MASS * (BASE_SIZE[0] ** 2 + BASE_SIZE[1] ** 2) / 12,
)

COXA_LENGTH = 0.06  # from J1 to J2, outward
FEMUR_LENGTH = 0.085  # from J2 to J3, outward at rest
TIBIA_LENGTH = 0.1275  # from J3 down to the centre of the foot
# Inertias (across, along): the published robot's are m (l^2 + 3 r^2) / 12 and m r^2 / 12 with r = 0.02, which makes
# 8e-6 and 6.667e-7 for the coxa (l = 0.06), 1.29183e-4 and 6.1333e-6 for femur and tibia (l = 0.085).
COXA = Link(0.01, 0.03, 0.0, 0.02, 0.02 * 0.0048 / 12, 0.02 * 0.0004 / 12, "y")
FEMUR = Link(0.01, 0.0425, 0.0, 0.184, 0.184 * 0.008425 / 12, 0.184 * 0.0004 / 12, "y")
TIBIA = Link(0.0125, 0.0, -0.07, 0.184, 0.184 * 0.008425 / 12, 0.184 * 0.0004 / 12, "z")
FOOT_X = 0.0125
FOOT_RADIUS = 0.025
LEG_MASS = COXA.mass + FEMUR.mass + TIBIA.mass

# Joint angle for a signal of 1: J1, J2, J3 (whose axis is opposite to the second's: the tibia stays upright).
JOINT_SCALE = (-math.pi / 8, math.pi / 4, math.pi / 4)
SERVO_SPEED = 7.0  # rad/s, the servo's limit
SERVO_GAIN = 1.0 / math.pi  # share of the remaining angle that the servo covers in one step

GRAVITY = 9.81
FRICTION = 1.0
DROP_HEIGHT = 0.2  # of the base, from where a body settles before its episode

# DART's contact constants (6.x): a penetration is pushed out by this share of it per step, at this speed at most,
# and every constraint's diagonal is scaled by 1 + SOFTNESS.
PUSH_OUT_SHARE = 0.01
PUSH_OUT_SPEED = 1e-3
SOFTNESS = 1e-5


@dataclass(frozen=True)
class Body:
    """A hexapod of which some legs may be missing.

    `present` (6,) is 1 for each leg that is there. `sums` (6,) are the constant parts of the sums over its links:
    total mass, first moments x and y of the legs' masses at their hips, and second moments xx, xy, yy of these.
    """

    missing: tuple[int, ...]
    present: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]

    @property
    def mass(self) -> float:
        """Total mass."""
        return float(self.sums[0])

    def __str__(self) -> str:
        return "intact" if not self.missing else "without leg " + ", ".join(map(str, self.missing))


def body(missing: Iterable[int] | int = ()) -> Body:
    """The hexapod without the given legs (numbers 0 to 5; none by default); ValueError for anything else."""
    numbers = list(missing) if isinstance(missing, Iterable) else [missing]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < N_LEGS:
            raise ValueError(f"missing: expected leg numbers from 0 to {N_LEGS - 1}, got {number!r}")
    gone = tuple(sorted({int(number) for number in numbers}))
    present = np.array([leg not in gone for leg in range(N_LEGS)], dtype=np.int64)
    sums = np.zeros(6)
    sums[0] = BASE_MASS
    for hip, there in zip(LEGS, present, strict=True):
        if there:
            sums += LEG_MASS * np.array([1.0, hip.x, hip.y, hip.x * hip.x, hip.x * hip.y, hip.y * hip.y])
    present.flags.writeable = False
    sums.flags.writeable = False
    return Body(gone, present, sums)
