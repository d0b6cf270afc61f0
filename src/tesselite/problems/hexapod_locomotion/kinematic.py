"""One step of the `kinematic` engine: the hexapod's base as the only dynamic body, its legs moved by imposed angles.

Each part of a step does LANES robots side by side. The sums over the legs live in `legs`, the contact problem in
`contact`, whole episodes in `lockstep`. Equations: docs/hexapod-dynamics.md, with its letters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
import tesselite.problems.hexapod_locomotion.legs as lg
import tesselite.problems.hexapod_locomotion.line_search as ls
import tesselite.problems.hexapod_locomotion.solver as sv
from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import (
    LANES,
    add,
    bits,
    choose,
    in_each_byte,
    load,
    magnitude,
    spread,
    store,
    where,
)
from tesselite.problems.hexapod_locomotion.robot import (
    BASE_INERTIA,
    BASE_SIZE,
    FOOT_RADIUS,
    FRICTION,
    GRAVITY,
    N_LEGS,
    PUSH_OUT_SHARE,
    PUSH_OUT_SPEED,
    SOFTNESS,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Rows of a group's robots, behind those of `legs`: the base's state, the centre of mass from its origin, and in how
# many even steps the foot of leg l, at TOUCHES + l * LANES, touched the floor; behind them, in how many odd ones.
OX, OY, OZ, QW, QX, QY, QZ, VX, VY, VZ, WX, WY, WZ, CX, CY, TOUCHES = range(lg.ROBOT, lg.ROBOT + 16 * LANES, LANES)
STATE = 13
ROBOT = TOUCHES + 2 * N_LEGS * LANES

# Rows that all groups work on in turn, behind those of `legs`: what follows from a base's state.
(
    R00, R01, R02, R10, R11, R12, R20, R21, R22, ZC, GX, GY, GZ, KXX, KXY, KXZ, KYY, KYZ, KZZ, LOW,
) = range(lg.WORK, lg.WORK + 20 * LANES, LANES)  # fmt: skip
WORK = lg.WORK + 20 * LANES

# Of the feet of a group, with a bit for each lane: whether they touch the floor, whose contact j is that of a leg (at
# j * N_LEGS + leg), and the states that a foot's contact will be guessed to have in the next step (see `contact`).
TOUCHING, NUMBERED, STATES = 0, N_LEGS, N_LEGS + N_LEGS * N_LEGS
FEET = STATES + N_LEGS
_KEPT = ~(ct.ALL << ct.HERE | ct.ALL << ct.BOUNDED | ct.ALL << ct.ON)

# Second moments of the base about its centre of mass: half the trace of the inertia, minus the inertia.
_HALF_TRACE = sum(BASE_INERTIA) / 2
_BASE_XX = _HALF_TRACE - BASE_INERTIA[0]
_BASE_YY = _HALF_TRACE - BASE_INERTIA[1]
_BASE_ZZ = _HALF_TRACE - BASE_INERTIA[2]
_HALF_X, _HALF_Y, _HALF_Z = (size / 2 for size in BASE_SIZE)
_STIFFNESS = 1.0 / SOFTNESS


@kernel()
def free_velocity(g: Floats, t: Floats, p: Floats, sums: Floats, dt: float) -> None:
    """(c): rotation matrices, the velocities at the end of the step if nothing touched the floor, the inertia there."""
    m = sums[0]
    im = 1.0 / m
    m_x = sums[1]
    m_y = sums[2]
    m_xx = sums[3] + _BASE_XX
    m_xy = sums[4]
    m_yy = sums[5] + _BASE_YY
    w = load(g, QW)
    x = load(g, QX)
    y = load(g, QY)
    z = load(g, QZ)
    r00 = 1.0 - 2.0 * (y * y + z * z)
    r01 = 2.0 * (x * y - w * z)
    r02 = 2.0 * (x * z + w * y)
    r10 = 2.0 * (x * y + w * z)
    r11 = 1.0 - 2.0 * (x * x + z * z)
    r12 = 2.0 * (y * z - w * x)
    r20 = 2.0 * (x * z - w * y)
    r21 = 2.0 * (y * z + w * x)
    r22 = 1.0 - 2.0 * (x * x + y * y)
    wx = load(g, WX)
    wy = load(g, WY)
    wz = load(g, WZ)
    # wb = R^T w
    ax = r00 * wx + r10 * wy + r20 * wz
    ay = r01 * wx + r11 * wy + r21 * wz
    az = r02 * wx + r12 * wy + r22 * wz
    mcx = m_x + load(t, lg.MCX)
    mcy = m_y + load(t, lg.MCY)
    mcz = load(t, lg.MCZ)
    cx = mcx * im
    cy = mcy * im
    cz = mcz * im
    # f = -wb x (wb x m c + 2 p) - pd
    tx = ay * mcz - az * mcy + 2.0 * load(t, lg.PX)
    ty = az * mcx - ax * mcz + 2.0 * load(t, lg.PY)
    tz = ax * mcy - ay * mcx + 2.0 * load(t, lg.PZ)
    fx = az * ty - ay * tz - load(t, lg.PDX)
    fy = ax * tz - az * tx - load(t, lg.PDY)
    fz = ay * tx - ax * ty - load(t, lg.PDZ)
    # n = -Id wb - hd - wb x (I wb + h) - c x f, with I = tr(S) 1 - S and Id = tr(Sd) 1 - Sd
    sxx = m_xx + load(t, lg.SXX)
    sxy = m_xy + load(t, lg.SXY)
    sxz = load(t, lg.SXZ)
    syy = m_yy + load(t, lg.SYY)
    syz = load(t, lg.SYZ)
    szz = _BASE_ZZ + load(t, lg.SZZ)
    lx = (syy + szz) * ax - sxy * ay - sxz * az + load(t, lg.HX)
    ly = (sxx + szz) * ay - sxy * ax - syz * az + load(t, lg.HY)
    lz = (sxx + syy) * az - sxz * ax - syz * ay + load(t, lg.HZ)
    dxx = load(t, lg.SDXX)
    dxy = load(t, lg.SDXY)
    dxz = load(t, lg.SDXZ)
    dyy = load(t, lg.SDYY)
    dyz = load(t, lg.SDYZ)
    dzz = load(t, lg.SDZZ)
    nx = dxy * ay + dxz * az - (dyy + dzz) * ax - load(t, lg.HDX) - ay * lz + az * ly - cy * fz + cz * fy
    ny = dxy * ax + dyz * az - (dxx + dzz) * ay - load(t, lg.HDY) - az * lx + ax * lz - cz * fx + cx * fz
    nz = dxz * ax + dyz * ay - (dxx + dyy) * az - load(t, lg.HDZ) - ax * ly + ay * lx - cx * fy + cy * fx
    # J = tr(T) 1 - T with T = R (S - m c c^T) R^T, and K = J^-1
    sxx -= mcx * cx
    sxy -= mcx * cy
    sxz -= mcx * cz
    syy -= mcy * cy
    syz -= mcy * cz
    szz -= mcz * cz
    ux = sxx * r00 + sxy * r01 + sxz * r02
    uy = sxy * r00 + syy * r01 + syz * r02
    uz = sxz * r00 + syz * r01 + szz * r02
    txx = r00 * ux + r01 * uy + r02 * uz
    txy = r10 * ux + r11 * uy + r12 * uz
    txz = r20 * ux + r21 * uy + r22 * uz
    ux = sxx * r10 + sxy * r11 + sxz * r12
    uy = sxy * r10 + syy * r11 + syz * r12
    uz = sxz * r10 + syz * r11 + szz * r12
    tyy = r10 * ux + r11 * uy + r12 * uz
    tyz = r20 * ux + r21 * uy + r22 * uz
    tzz = sxx + syy + szz - txx - tyy
    jxx = tyy + tzz
    jyy = txx + tzz
    jzz = txx + tyy
    jxy = -txy
    jxz = -txz
    jyz = -tyz
    kxx = jyy * jzz - jyz * jyz
    kxy = jxz * jyz - jxy * jzz
    kxz = jxy * jyz - jxz * jyy
    idet = 1.0 / (jxx * kxx + jxy * kxy + jxz * kxz)
    kyy = (jxx * jzz - jxz * jxz) * idet
    kyz = (jxy * jxz - jxx * jyz) * idet
    kzz = (jxx * jyy - jxy * jxy) * idet
    kxx *= idet
    kxy *= idet
    kxz *= idet
    # wd = K R n; vd = R f / m + g - wd x R c
    tx = r00 * nx + r01 * ny + r02 * nz
    ty = r10 * nx + r11 * ny + r12 * nz
    tz = r20 * nx + r21 * ny + r22 * nz
    dx = kxx * tx + kxy * ty + kxz * tz
    dy = kxy * tx + kyy * ty + kyz * tz
    dz = kxz * tx + kyz * ty + kzz * tz
    px = r00 * cx + r01 * cy + r02 * cz
    py = r10 * cx + r11 * cy + r12 * cz
    pz = r20 * cx + r21 * cy + r22 * cz
    wx += dt * dx
    wy += dt * dy
    wz += dt * dz
    vx = load(g, VX) + dt * ((r00 * fx + r01 * fy + r02 * fz) * im - dy * pz + dz * py)
    vy = load(g, VY) + dt * ((r10 * fx + r11 * fy + r12 * fz) * im - dz * px + dx * pz)
    vz = load(g, VZ) + dt * ((r20 * fx + r21 * fy + r22 * fz) * im - GRAVITY - dx * py + dy * px)
    store(t, R00, r00)
    store(t, R01, r01)
    store(t, R02, r02)
    store(t, R10, r10)
    store(t, R11, r11)
    store(t, R12, r12)
    store(t, R20, r20)
    store(t, R21, r21)
    store(t, R22, r22)
    # (d), (e): the base's lowest corner; the ground point G under the centre of mass, and its velocity.
    oz = load(g, OZ)
    store(t, LOW, oz - _HALF_X * magnitude(r20) - _HALF_Y * magnitude(r21) - _HALF_Z * magnitude(r22))
    store(g, CX, px)
    store(g, CY, py)
    store(t, ZC, oz + pz)
    store(t, GX, vx - wy * oz - wz * py)
    store(t, GY, vy + wz * px + wx * oz)
    store(t, GZ, vz + wx * py - wy * px)
    store(g, WX, wx)
    store(g, WY, wy)
    store(g, WZ, wz)
    store(g, VX, vx)
    store(g, VY, vy)
    store(g, VZ, vz)
    store(p, ct.JXX, jxx)
    store(p, ct.JXY, jxy)
    store(p, ct.JXZ, jxz)
    store(p, ct.JYY, jyy)
    store(p, ct.JYZ, jyz)
    store(p, ct.JZZ, jzz)
    store(p, ct.M, m)
    store(p, ct.Z, oz + pz)
    store(t, KXX, kxx)
    store(t, KXY, kxy)
    store(t, KXZ, kxz)
    store(t, KYY, kyy)
    store(t, KYZ, kyz)
    store(t, KZZ, kzz)


@kernel(forceinline=True)
def _weights(im: float, inverse: Any, x: float, y: float, z: float) -> Any:
    """Weights of the z, x and y rows of a contact at (x, y) from G, with the centre of mass at height z."""
    kxx, kxy, kxz, kyy, kyz, kzz = inverse
    return (
        _STIFFNESS / (im + kxx * y * y - 2.0 * kxy * x * y + kyy * x * x),
        _STIFFNESS / (im + kyy * z * z + 2.0 * kyz * z * y + kzz * y * y),
        _STIFFNESS / (im + kxx * z * z + 2.0 * kxz * z * x + kzz * x * x),
    )


@kernel()
def find_contacts(g: Floats, t: Floats, feet: Ints, p: Floats, s: Ints, present: Ints, sums: Floats, dt: float) -> int:
    """(d), (e): number the feet that touch the floor, and write their contacts: place, free velocities, weights.

    Contact j of a robot is that of its j-th foot that touches, in order of legs. Returns the largest number of contacts
    that a robot has.
    """
    im = 1.0 / sums[0]
    share = PUSH_OUT_SHARE / dt
    oz = load(g, OZ)
    r20 = load(t, R20)
    r21 = load(t, R21)
    r22 = load(t, R22)
    for j in range(N_LEGS):
        s[j] = 0
    for leg in range(N_LEGS):
        if present[leg] == 1:
            at = leg * lg.LEG
            height = oz + r20 * load(t, at + lg.FX) + r21 * load(t, at + lg.FY) + r22 * load(t, at + lg.FZ)
            touches = bits(FOOT_RADIUS - height >= 0.0)
            feet[TOUCHING + leg] = touches
            for j in range(leg + 1):
                this = touches & ~s[j]
                feet[NUMBERED + j * N_LEGS + leg] = this
                s[j] |= this
                touches &= ~this
    n = 0
    r00 = load(t, R00)
    r01 = load(t, R01)
    r02 = load(t, R02)
    r10 = load(t, R10)
    r11 = load(t, R11)
    r12 = load(t, R12)
    inverse = load(t, KXX), load(t, KXY), load(t, KXZ), load(t, KYY), load(t, KYZ), load(t, KZZ)
    wx = load(g, WX)
    wy = load(g, WY)
    wz = load(g, WZ)
    while n < N_LEGS and s[n] != 0:
        fx = fy = fz = dx = dy = dz = d1 = spread(0.0)
        word = s[n] << ct.HERE
        for leg in range(n, N_LEGS):
            at = leg * lg.LEG
            numbered = feet[NUMBERED + n * N_LEGS + leg]
            this = where(numbered)
            fx = choose(this, load(t, at + lg.FX), fx)
            fy = choose(this, load(t, at + lg.FY), fy)
            fz = choose(this, load(t, at + lg.FZ), fz)
            dx = choose(this, load(t, at + lg.FDX), dx)
            dy = choose(this, load(t, at + lg.FDY), dy)
            dz = choose(this, load(t, at + lg.FDZ), dz)
            d1 = choose(this, load(t, at + lg.FD1), d1)
            word |= in_each_byte(numbered) & feet[STATES + leg]
        s[n] = word
        height = oz + r20 * fx + r21 * fy + r22 * fz
        x = r00 * fx + r01 * fy + r02 * fz - load(g, CX)
        y = r10 * fx + r11 * fy + r12 * fz - load(g, CY)
        push = (FOOT_RADIUS - height) * share
        push = choose(push > PUSH_OUT_SPEED, PUSH_OUT_SPEED, push)
        uz = r20 * dx + r21 * dy + r22 * dz
        ux = r00 * dx + r01 * dy + r02 * dz - d1 * r12 * height
        uy = r10 * dx + r11 * dy + r12 * dz + d1 * r02 * height
        i = n * ct.CONTACT
        store(p, i + ct.A, x)
        store(p, i + ct.B, y)
        store(p, i + ct.UZ, uz + load(t, GZ) + wx * y - wy * x - push)
        store(p, i + ct.UX, ux + load(t, GX) - wz * y)
        store(p, i + ct.UY, uy + load(t, GY) + wz * x)
        weight_z, weight_x, weight_y = _weights(im, inverse, x, y, load(t, ZC))
        store(p, i + ct.WZ, weight_z)
        store(p, i + ct.WX, weight_x)
        store(p, i + ct.WY, weight_y)
        n += 1
    return n


@kernel()
def keep_states(feet: Ints, s: Ints, n: int) -> None:
    """Keep the contacts' states for the next step: a foot in the air will come down on, and stick."""
    for leg in range(N_LEGS):
        word = (~feet[TOUCHING + leg] & ct.ALL) << ct.ON1
        for j in range(min(n, leg + 1)):
            word |= in_each_byte(feet[NUMBERED + j * N_LEGS + leg]) & s[j]
        feet[STATES + leg] = word & _KEPT


@kernel()
def add_corners(g: Floats, t: Floats, k: int, p: Floats, s: Ints, n: int, sums: Floats, dt: float) -> int:
    """Add the corners of the base's lowest face that touch the floor to the n contacts of a robot: how many there are.

    The robot is lane k of its group, and lane 0 of the problem. DART's box against its floor gives these contacts. An
    episode needs them only while the robot comes to rest: before, a base that touches the floor ends it.
    """
    im = 1.0 / sums[0]
    inverse = t[KXX + k], t[KXY + k], t[KXZ + k], t[KYY + k], t[KYZ + k], t[KZZ + k]
    tilt = (t[R20 + k], t[R21 + k], t[R22 + k])
    face = 0
    for j in range(1, 3):
        if abs(tilt[j]) > abs(tilt[face]):
            face = j
    half = (_HALF_X, _HALF_Y, _HALF_Z)
    for corner in range(4):
        x = half[0] if corner & 1 else -half[0]
        y = half[1] if corner & (1 if face == 0 else 2) else -half[1]
        z = half[2] if corner & 2 else -half[2]
        if face == 0:
            x = -half[0] if tilt[0] > 0.0 else half[0]
        elif face == 1:
            y = -half[1] if tilt[1] > 0.0 else half[1]
        else:
            z = -half[2] if tilt[2] > 0.0 else half[2]
        depth = -(g[OZ + k] + tilt[0] * x + tilt[1] * y + tilt[2] * z)
        if depth < 0.0:
            continue
        px = t[R00 + k] * x + t[R01 + k] * y + t[R02 + k] * z - g[CX + k]
        py = t[R10 + k] * x + t[R11 + k] * y + t[R12 + k] * z - g[CY + k]
        i = n * ct.CONTACT
        p[i + ct.A] = px
        p[i + ct.B] = py
        p[i + ct.UZ] = t[GZ + k] + g[WX + k] * py - g[WY + k] * px - min(depth * PUSH_OUT_SHARE / dt, PUSH_OUT_SPEED)
        p[i + ct.UX] = t[GX + k] - g[WZ + k] * py
        p[i + ct.UY] = t[GY + k] + g[WZ + k] * px
        p[i + ct.WZ], p[i + ct.WX], p[i + ct.WY] = _weights(im, inverse, px, py, t[ZC + k])
        s[n] = 1 << ct.HERE
        n += 1
    return n


@kernel()
def solve_on_base(
    g: Floats, t: Floats, p: Floats, s: Ints, n: int, k: int, q: Floats, u: Ints, line: Floats, sums: Floats, dt: float
) -> None:
    """(f) for lane k, whose base lies on the floor: its d, by the line search from the start, in lane 0 of q and u."""
    lane: Any = np.int64(0)  # not a literal, for which Numba would compile the functions once more
    n = add_corners(g, t, k, q, u, sv.copy_lane(p, s, n, k, q, u, lane), sums, dt)
    for row in range(ct.DX, ct.HEAD, LANES):
        q[row] = 0.0
    for j in range(n):
        u[j] &= 1 << ct.HERE
    ls.minimise(q, u, n, 1 << lane, line)
    for j in range(n):
        i = j * ct.CONTACT
        v = q[i + ct.UZ] + q[i + ct.B] * q[ct.DX] - q[i + ct.A] * q[ct.DY] + q[ct.DZ]
        q[i + ct.BOUND] = FRICTION * q[i + ct.WZ] * -v if v < 0.0 else 0.0
        if q[i + ct.BOUND] > 0.0:
            u[j] |= 1 << ct.BOUNDED
    ls.minimise(q, u, n, 1 << lane, line)


@kernel()
def advance(g: Floats, p: Floats, dt: float) -> int:
    """(g): the impulses' d joins the velocities, O += dt v and R <- exp(dt w) R.

    d is of G; of the base's origin: v = v_G - w x (G - O). Returns the lanes that turned by at most 2 rad, as bits.
    """
    h = 0.5 * dt
    dx = load(p, ct.DX)
    dy = load(p, ct.DY)
    dw = load(p, ct.DW)
    px = load(g, CX)
    py = load(g, CY)
    oz = load(g, OZ)
    wx = load(g, WX) + dx
    wy = load(g, WY) + dy
    wz = load(g, WZ) + dw
    vx = load(g, VX) + (load(p, ct.DGX) + dy * oz + dw * py)
    vy = load(g, VY) + (load(p, ct.DGY) - dw * px - dx * oz)
    vz = load(g, VZ) + (load(p, ct.DZ) - dx * py + dy * px)
    store(g, WX, wx)
    store(g, WY, wy)
    store(g, WZ, wz)
    store(g, VX, vx)
    store(g, VY, vy)
    store(g, VZ, vz)
    add(g, OX, dt * vx)
    add(g, OY, dt * vy)
    store(g, OZ, oz + dt * vz)
    x = h * wx
    y = h * wy
    z = h * wz
    a = x * x + y * y + z * z
    # cos(sqrt a) and sin(sqrt a) / sqrt a by Taylor series: exact to rounding for a <= 1, a turn of 2 rad a step.
    s = 1.0 / 479001600.0 - a * (1.0 / 87178291200.0 - a * (1.0 / 20922789888000.0))
    s = 1.0 / 40320.0 - a * (1.0 / 3628800.0 - a * s)
    s = 1.0 / 24.0 - a * (1.0 / 720.0 - a * s)
    cw = 1.0 - a * (0.5 - a * s)
    s = 1.0 / 6227020800.0 - a * (1.0 / 1307674368000.0 - a * (1.0 / 355687428096000.0))
    s = 1.0 / 362880.0 - a * (1.0 / 39916800.0 - a * s)
    s = 1.0 / 120.0 - a * (1.0 / 5040.0 - a * s)
    s = 1.0 - a * (1.0 / 6.0 - a * s)
    x *= s
    y *= s
    z *= s
    qw = load(g, QW)
    qx = load(g, QX)
    qy = load(g, QY)
    qz = load(g, QZ)
    ew = cw * qw - x * qx - y * qy - z * qz
    ex = cw * qx + x * qw + y * qz - z * qy
    ey = cw * qy - x * qz + y * qw + z * qx
    ez = cw * qz + x * qy - y * qx + z * qw
    # One Newton step keeps the quaternion's length at 1 to rounding.
    u = 1.5 - 0.5 * (ew * ew + ex * ex + ey * ey + ez * ez)
    store(g, QW, ew * u)
    store(g, QX, ex * u)
    store(g, QY, ey * u)
    store(g, QZ, ez * u)
    return bits(a <= 1.0)
