"""The legs' share of the dynamics: sums over their links, and their feet, in the base frame, LANES robots at a time.

The legs' motion is imposed, so nothing here depends on the base. Equations: section 2 of docs/hexapod-dynamics.md,
with its letters. Every point of a leg, in the frame of its coxa joint turned by psi = yaw + q1, lies at

    rho = (x, side (alpha + beta C), gamma + beta S),    C = cos q2, S = sin q2,

so that all sums over its links are polynomials in C and S with the constant coefficients below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import LANES, add, choose, load, store
from tesselite.problems.hexapod_locomotion.robot import (
    COXA,
    COXA_LENGTH,
    FEMUR,
    FEMUR_LENGTH,
    FOOT_X,
    LEGS,
    N_LEGS,
    SERVO_GAIN,
    SERVO_SPEED,
    TIBIA,
    TIBIA_LENGTH,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Rows of a group's robots, value of lane k at NAME + k: of each leg, at leg * JOINTS + NAME, angles, rates, and
# amplitudes of the targets.
Q1, Q2, QD1, QD2, SCALE1, SCALE2 = range(0, 6 * LANES, LANES)
JOINTS = 6 * LANES
ROBOT = N_LEGS * JOINTS

# Rows that all groups work on in turn. Of each leg, at leg * LEG + NAME: the controller's signals; the foot in the
# base frame, position F at the old angles, velocity FD there with the new rates, FD1, the new rate of J1; old rates,
# accelerations, cosine and sine of J1 with the leg's yaw, and of J2.
SIGNAL1, SIGNAL2, FX, FY, FZ, FDX, FDY, FDZ, FD1, D1, D2, E1, E2, COS1, SIN1, COS2, SIN2 = range(0, 17 * LANES, LANES)
LEG = 17 * LANES
# Sums: first moment m c, momentum p and its derivative, angular momentum h and its derivative,
# second moments S and their derivative.
_SUMS = N_LEGS * LEG
(
    MCX, MCY, MCZ, PX, PY, PZ, PDX, PDY, PDZ, HX, HY, HZ, HDX, HDY, HDZ,
    SXX, SXY, SXZ, SYY, SYZ, SZZ, SDXX, SDXY, SDXZ, SDYY, SDYZ, SDZZ,
) = range(_SUMS, _SUMS + 27 * LANES, LANES)  # fmt: skip
WORK = _SUMS + 27 * LANES

# A leg's links as (x, alpha, beta, gamma, mass): where their centres of mass are.
_LINKS = (
    (COXA.x, COXA.outward, 0.0, COXA.up, COXA.mass),
    (FEMUR.x, COXA_LENGTH, FEMUR.outward, FEMUR.up, FEMUR.mass),
    (TIBIA.x, COXA_LENGTH, FEMUR_LENGTH, TIBIA.up, TIBIA.mass),
)


def _sum(*which: int) -> float:
    """Sum of mass times the named coordinates (0 x, 1 alpha, 2 beta, 3 gamma) over a leg's links."""
    total = 0.0
    for link in _LINKS:
        product = link[4]
        for coordinate in which:
            product *= link[coordinate]
        total += product
    return total


_X, _A, _B, _G = _sum(0), _sum(1), _sum(2), _sum(3)
_XA, _XB, _XG = _sum(0, 1), _sum(0, 2), _sum(0, 3)
_AB, _AG, _BG = _sum(1, 2), _sum(1, 3), _sum(2, 3)
# Spin inertias enter as second moments: a link with inertia (across, along) about axis n has
# along/2 * 1 + (across - along) n n^T; n = y for the coxa, (0, C, side S) for the femur, z for the tibia.
_ROUND = (COXA.along + FEMUR.along + TIBIA.along) / 2
_XX = _sum(0, 0) + _ROUND
_AA = _sum(1, 1) + _ROUND + COXA.across - COXA.along
_GG = _sum(3, 3) + _ROUND + TIBIA.across - TIBIA.along
_BB = _sum(2, 2) + FEMUR.across - FEMUR.along
_TURN = _sum(2, 2) + FEMUR.across  # moment of inertia for turning by q2, as far as it is constant

_HIP_X = np.array([hip.x for hip in LEGS])
_HIP_Y = np.array([hip.y for hip in LEGS])
_YAW = np.array([hip.yaw for hip in LEGS])
_SIDE = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])


@kernel(allocates=False, forceinline=True)
def sine(x: Any) -> Any:
    """Sine by its Taylor series up to x^15: error below 1e-16 for |x| <= 0.8 (joint angles stay within pi/4)."""
    y = x * x
    p = 1.0 / 6227020800.0 - y * (1.0 / 1307674368000.0)
    p = 1.0 / 362880.0 - y * (1.0 / 39916800.0 - y * p)
    p = 1.0 / 120.0 - y * (1.0 / 5040.0 - y * p)
    return x - x * y * (1.0 / 6.0 - y * p)


@kernel(allocates=False, forceinline=True)
def cosine(x: Any) -> Any:
    """Cosine by its Taylor series up to x^16: error below 1e-16 for |x| <= 0.8."""
    y = x * x
    p = 1.0 / 479001600.0 - y * (1.0 / 87178291200.0 - y * (1.0 / 20922789888000.0))
    p = 1.0 / 40320.0 - y * (1.0 / 3628800.0 - y * p)
    p = 1.0 / 24.0 - y * (1.0 / 720.0 - y * p)
    return 1.0 - y * (0.5 - y * p)


@kernel(allocates=False, forceinline=True)
def _turn_joints(g: Floats, t: Floats, leg: int, dt: float) -> None:
    """(a): advance the servos of a leg by one step."""
    joint = leg * JOINTS
    at = leg * LEG
    gain = SERVO_GAIN / dt
    per_dt = 1.0 / dt
    q1 = load(g, joint + Q1)
    q2 = load(g, joint + Q2)
    d1 = load(g, joint + QD1)
    d2 = load(g, joint + QD2)
    n1 = (load(g, joint + SCALE1) * load(t, at + SIGNAL1) - q1) * gain
    n1 = choose(n1 > SERVO_SPEED, SERVO_SPEED, n1)
    n1 = choose(n1 < -SERVO_SPEED, -SERVO_SPEED, n1)
    n2 = (load(g, joint + SCALE2) * load(t, at + SIGNAL2) - q2) * gain
    n2 = choose(n2 > SERVO_SPEED, SERVO_SPEED, n2)
    n2 = choose(n2 < -SERVO_SPEED, -SERVO_SPEED, n2)
    store(g, joint + Q1, q1 + dt * n1)
    store(g, joint + Q2, q2 + dt * n2)
    store(g, joint + QD1, n1)
    store(g, joint + QD2, n2)
    store(t, at + D1, d1)
    store(t, at + D2, d2)
    store(t, at + E1, (n1 - d1) * per_dt)
    store(t, at + E2, (n2 - d2) * per_dt)
    psi = _YAW[leg] + q1
    store(t, at + COS1, cosine(psi))
    store(t, at + SIN1, sine(psi))
    store(t, at + COS2, cosine(q2))
    store(t, at + SIN2, sine(q2))


class Leg(NamedTuple):
    """A leg: its side and hip; rates and accelerations of J1 and J2; cosine and sine of J1 with the yaw, and of J2."""

    side: float
    hip_x: float
    hip_y: float
    d1: Any
    d2: Any
    e1: Any
    e2: Any
    c: Any
    n: Any
    C: Any
    S: Any


class Moments(NamedTuple):
    """First moments of a leg's links about its coxa joint, momentum and its derivative, in the base frame."""

    rx: Any
    ry: Any
    rz: Any
    px: Any
    py: Any
    pz: Any
    pdx: Any
    pdy: Any
    pdz: Any


class Second(NamedTuple):
    """Second moments P of a leg's links about its coxa joint in the leg frame, and their derivative by q2."""

    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any
    xy2: Any
    xz2: Any
    yy2: Any
    yz2: Any
    zz2: Any


@part()
def _add_momentum(t: Floats, leg: Any) -> Any:
    """Add first moment mu, momentum pi = d2 mu' + d1 z x mu, and its derivative; returns them."""
    side, c, n, d1, d2, e1, e2 = leg.side, leg.c, leg.n, leg.d1, leg.d2, leg.e1, leg.e2
    # In the leg frame.
    mux = _X
    muy = side * (_A + _B * leg.C)
    muz = _G + _B * leg.S
    gy = -side * (_B * leg.S)  # mu' = (0, gy, gz); mu'' = -(0, side B C, B S)
    gz = _B * leg.C
    pix = -d1 * muy
    piy = d2 * gy + d1 * mux
    piz = d2 * gz
    dd = d2 * d2
    qx = -e1 * muy - 2.0 * d1 * d2 * gy - d1 * d1 * mux
    qy = e2 * gy - dd * side * gz + e1 * mux - d1 * d1 * muy
    qz = e2 * gz - dd * _B * leg.S
    # ... in the base frame.
    made = Moments(
        c * mux - n * muy, n * mux + c * muy, muz,
        c * pix - n * piy, n * pix + c * piy, piz,
        c * qx - n * qy, n * qx + c * qy, qz,
    )  # fmt: skip
    add(t, MCX, made.rx)
    add(t, MCY, made.ry)
    add(t, MCZ, made.rz)
    add(t, PX, made.px)
    add(t, PY, made.py)
    add(t, PZ, made.pz)
    add(t, PDX, made.pdx)
    add(t, PDY, made.pdy)
    add(t, PDZ, made.pdz)
    return made


@part()
def _second_moments(leg: Any) -> Any:
    side, C, S = leg.side, leg.C, leg.S
    return Second(
        side * (_XA + _XB * C),
        _XG + _XB * S,
        _AA + (2.0 * _AB + _BB * C) * C,
        side * (_AG + _AB * S + (_BG + _BB * S) * C),
        _GG + (2.0 * _BG + _BB * S) * S,
        -side * (_XB * S),
        _XB * C,
        -2.0 * (_AB + _BB * C) * S,
        side * (_AB * C - _BG * S + _BB * (C * C - S * S)),
        2.0 * (_BG + _BB * S) * C,
    )


@part()
def _add_angular_momentum(t: Floats, leg: Any, m: Any, p: Any) -> None:
    """Add the angular momentum and its derivative; about the coxa joint it is lambda = d2 L + d1 K."""
    side, c, n, C, S = leg.side, leg.c, leg.n, leg.C, leg.S
    d1, d2, e1, e2 = leg.d1, leg.d2, leg.e1, leg.e2
    lx = side * (_AB * C + _BG * S + _TURN)
    ly = -(_XB * C)
    lz = -side * (_XB * S)
    lx2 = side * (_BG * C - _AB * S)
    ly2 = _XB * S
    lz2 = -side * (_XB * C)
    kz = _XX + p.yy
    ax = d2 * lx - d1 * p.xz
    ay = d2 * ly - d1 * p.yz
    az = d2 * lz + d1 * kz
    dd = d2 * d2
    d12 = d1 * d2
    bx = e2 * lx + dd * lx2 - e1 * p.xz - d12 * p.xz2 - d1 * ay
    by = e2 * ly + dd * ly2 - e1 * p.yz - d12 * p.yz2 + d1 * ax
    bz = e2 * lz + dd * lz2 + e1 * kz + d12 * p.yy2
    # ... about the base's origin, in the base frame.
    add(t, HX, c * ax - n * ay + leg.hip_y * m.pz)
    add(t, HY, n * ax + c * ay - leg.hip_x * m.pz)
    add(t, HZ, az + leg.hip_x * m.py - leg.hip_y * m.px)
    add(t, HDX, c * bx - n * by + leg.hip_y * m.pdz)
    add(t, HDY, n * bx + c * by - leg.hip_x * m.pdz)
    add(t, HDZ, bz + leg.hip_x * m.pdy - leg.hip_y * m.pdx)


@part()
def _add_second_moments(t: Floats, leg: Any, m: Any, p: Any) -> None:
    """Add second moments about the base's origin, and their derivative dP/dt = d2 P' + d1 (z x P + transpose)."""
    hip_x, hip_y, c, n, d1, d2 = leg.hip_x, leg.hip_y, leg.c, leg.n, leg.d1, leg.d2
    cc = c * c
    nn = n * n
    cn = c * n
    add(t, SXX, cc * _XX - 2.0 * cn * p.xy + nn * p.yy + 2.0 * hip_x * m.rx)
    add(t, SXY, cn * (_XX - p.yy) + (cc - nn) * p.xy + hip_x * m.ry + hip_y * m.rx)
    add(t, SYY, nn * _XX + 2.0 * cn * p.xy + cc * p.yy + 2.0 * hip_y * m.ry)
    add(t, SXZ, c * p.xz - n * p.yz + hip_x * m.rz)
    add(t, SYZ, n * p.xz + c * p.yz + hip_y * m.rz)
    add(t, SZZ, p.zz)
    txx = -2.0 * d1 * p.xy
    tyy = d2 * p.yy2 - txx
    txy = d2 * p.xy2 + d1 * (_XX - p.yy)
    txz = d2 * p.xz2 - d1 * p.yz
    tyz = d2 * p.yz2 + d1 * p.xz
    add(t, SDXX, cc * txx - 2.0 * cn * txy + nn * tyy + 2.0 * hip_x * m.px)
    add(t, SDXY, cn * (txx - tyy) + (cc - nn) * txy + hip_x * m.py + hip_y * m.px)
    add(t, SDYY, nn * txx + 2.0 * cn * txy + cc * tyy + 2.0 * hip_y * m.py)
    add(t, SDXZ, c * txz - n * tyz + hip_x * m.pz)
    add(t, SDYZ, n * txz + c * tyz + hip_y * m.pz)
    add(t, SDZZ, d2 * p.zz2)


@part()
def _place_foot(t: Floats, at: int, leg: Any, n1: Any, n2: Any) -> None:
    """Where the foot is, and its velocity with the new rates n1 and n2 of its joints."""
    side, c, n = leg.side, leg.c, leg.n
    fy = side * (COXA_LENGTH + FEMUR_LENGTH * leg.C)
    store(t, at + FX, leg.hip_x + c * FOOT_X - n * fy)
    store(t, at + FY, leg.hip_y + n * FOOT_X + c * fy)
    store(t, at + FZ, FEMUR_LENGTH * leg.S - TIBIA_LENGTH)
    gx = -n1 * fy
    gy = -side * (FEMUR_LENGTH * leg.S) * n2 + n1 * FOOT_X
    store(t, at + FDX, c * gx - n * gy)
    store(t, at + FDY, n * gx + c * gy)
    store(t, at + FDZ, FEMUR_LENGTH * leg.C * n2)
    store(t, at + FD1, n1)


@kernel(allocates=False, forceinline=True)
def _add_leg(g: Floats, t: Floats, leg: int) -> None:
    """(b): add the links of a leg whose joints have turned to the sums, and place its foot."""
    joint = leg * JOINTS
    at = leg * LEG
    this = Leg(
        _SIDE[leg],
        _HIP_X[leg],
        _HIP_Y[leg],
        load(t, at + D1),
        load(t, at + D2),
        load(t, at + E1),
        load(t, at + E2),
        load(t, at + COS1),
        load(t, at + SIN1),
        load(t, at + COS2),
        load(t, at + SIN2),
    )
    moments = _add_momentum(t, this)
    second = _second_moments(this)
    _add_angular_momentum(t, this, moments, second)
    _add_second_moments(t, this, moments, second)
    _place_foot(t, at, this, load(g, joint + QD1), load(g, joint + QD2))


@kernel(allocates=False)
def move_legs(g: Floats, t: Floats, present: Ints, dt: float) -> None:
    """(a), (b): advance the servos, and sum the links that are there."""
    for row in range(_SUMS, WORK, LANES):
        store(t, row, 0.0)
    # In loops of their own: the long chains of the series of all legs are worked on at once. The compiler does not know
    # the length of `present`, so it does not unroll them: the code would not fit the processor's cache.
    for leg in range(len(present)):
        if present[leg] == 1:
            _turn_joints(g, t, leg, dt)
    for leg in range(len(present)):
        if present[leg] == 1:
            _add_leg(g, t, leg)
