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
from tesselite.compiled.kernels import kernel
from tesselite.problems.hexapod_locomotion.legs import LANES, LEG_SCRATCH
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

# Base state and what follows from it, behind the rows of `contact`: value of lane k at NAME + k.
(
    OX, OY, OZ, QW, QX, QY, QZ, VX, VY, VZ, WX, WY, WZ,
    R00, R01, R02, R10, R11, R12, R20, R21, R22,
    CX, CY, ZC, GX, GY, GZ, KXX, KXY, KXZ, KYY, KYZ, KZZ, LOW, TURN,
) = range(ct.ARRAY, ct.ARRAY + 36 * LANES, LANES)  # fmt: skip
STATE = 13
ARRAY = ct.ARRAY + 36 * LANES

# Second moments of the base about its centre of mass: half the trace of the inertia, minus the inertia.
_HALF_TRACE = sum(BASE_INERTIA) / 2
_BASE_XX = _HALF_TRACE - BASE_INERTIA[0]
_BASE_YY = _HALF_TRACE - BASE_INERTIA[1]
_BASE_ZZ = _HALF_TRACE - BASE_INERTIA[2]
_HALF_X, _HALF_Y, _HALF_Z = (size / 2 for size in BASE_SIZE)
_STIFFNESS = 1.0 / SOFTNESS


@kernel(forceinline=True)
def _copy_row(g: Floats, source: int, to: int) -> None:
    """Copy a row of lanes, four at a time: all are read before one is written, so that it becomes one instruction."""
    for i in range(0, LANES, 4):
        a, b, c, d = g[source + i], g[source + i + 1], g[source + i + 2], g[source + i + 3]
        g[to + i] = a
        g[to + i + 1] = b
        g[to + i + 2] = c
        g[to + i + 3] = d


@kernel()
def move_legs(g: Floats, present: Ints, dt: float) -> None:
    """(a), (b): advance the servos, and sum the links that are there, for every lane."""
    for i in range(13 * LANES, LEG_SCRATCH):
        g[i] = 0.0
    for leg in range(N_LEGS):
        if present[leg] == 1:
            at = leg * ct.LEG + ct.Q1
            # The leg at work is copied to constant places: only then are the lanes known not to overlap.
            for row in range(0, 6 * LANES, LANES):
                _copy_row(g, at + row, row)
            lg.add_leg(g, leg, dt)
            for row in range(0, 4 * LANES, LANES):
                _copy_row(g, row, at + row)
            for row in range(6 * LANES, 13 * LANES, LANES):
                _copy_row(g, row, at + row)


@kernel()
def free_velocity(g: Floats, sums: Floats, dt: float) -> None:
    """(c): rotation matrices, the velocities at the end of the step if nothing touched the floor, the inertia there."""
    m = sums[0]
    im = 1.0 / m
    m_x = sums[1]
    m_y = sums[2]
    m_xx = sums[3] + _BASE_XX
    m_xy = sums[4]
    m_yy = sums[5] + _BASE_YY
    for k in range(LANES):
        w = g[QW + k]
        x = g[QX + k]
        y = g[QY + k]
        z = g[QZ + k]
        r00 = 1.0 - 2.0 * (y * y + z * z)
        r01 = 2.0 * (x * y - w * z)
        r02 = 2.0 * (x * z + w * y)
        r10 = 2.0 * (x * y + w * z)
        r11 = 1.0 - 2.0 * (x * x + z * z)
        r12 = 2.0 * (y * z - w * x)
        r20 = 2.0 * (x * z - w * y)
        r21 = 2.0 * (y * z + w * x)
        r22 = 1.0 - 2.0 * (x * x + y * y)
        wx = g[WX + k]
        wy = g[WY + k]
        wz = g[WZ + k]
        # wb = R^T w
        ax = r00 * wx + r10 * wy + r20 * wz
        ay = r01 * wx + r11 * wy + r21 * wz
        az = r02 * wx + r12 * wy + r22 * wz
        mcx = m_x + g[lg.MCX + k]
        mcy = m_y + g[lg.MCY + k]
        mcz = g[lg.MCZ + k]
        cx = mcx * im
        cy = mcy * im
        cz = mcz * im
        # f = -wb x (wb x m c + 2 p) - pd
        tx = ay * mcz - az * mcy + 2.0 * g[lg.PX + k]
        ty = az * mcx - ax * mcz + 2.0 * g[lg.PY + k]
        tz = ax * mcy - ay * mcx + 2.0 * g[lg.PZ + k]
        fx = az * ty - ay * tz - g[lg.PDX + k]
        fy = ax * tz - az * tx - g[lg.PDY + k]
        fz = ay * tx - ax * ty - g[lg.PDZ + k]
        # n = -Id wb - hd - wb x (I wb + h) - c x f, with I = tr(S) 1 - S and Id = tr(Sd) 1 - Sd
        sxx = m_xx + g[lg.SXX + k]
        sxy = m_xy + g[lg.SXY + k]
        sxz = g[lg.SXZ + k]
        syy = m_yy + g[lg.SYY + k]
        syz = g[lg.SYZ + k]
        szz = _BASE_ZZ + g[lg.SZZ + k]
        lx = (syy + szz) * ax - sxy * ay - sxz * az + g[lg.HX + k]
        ly = (sxx + szz) * ay - sxy * ax - syz * az + g[lg.HY + k]
        lz = (sxx + syy) * az - sxz * ax - syz * ay + g[lg.HZ + k]
        dxx = g[lg.SDXX + k]
        dxy = g[lg.SDXY + k]
        dxz = g[lg.SDXZ + k]
        dyy = g[lg.SDYY + k]
        dyz = g[lg.SDYZ + k]
        dzz = g[lg.SDZZ + k]
        nx = dxy * ay + dxz * az - (dyy + dzz) * ax - g[lg.HDX + k] - ay * lz + az * ly - cy * fz + cz * fy
        ny = dxy * ax + dyz * az - (dxx + dzz) * ay - g[lg.HDY + k] - az * lx + ax * lz - cz * fx + cx * fz
        nz = dxz * ax + dyz * ay - (dxx + dyy) * az - g[lg.HDZ + k] - ax * ly + ay * lx - cx * fy + cy * fx
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
        vx = g[VX + k] + dt * ((r00 * fx + r01 * fy + r02 * fz) * im - dy * pz + dz * py)
        vy = g[VY + k] + dt * ((r10 * fx + r11 * fy + r12 * fz) * im - dz * px + dx * pz)
        vz = g[VZ + k] + dt * ((r20 * fx + r21 * fy + r22 * fz) * im - GRAVITY - dx * py + dy * px)
        g[R00 + k] = r00
        g[R01 + k] = r01
        g[R02 + k] = r02
        g[R10 + k] = r10
        g[R11 + k] = r11
        g[R12 + k] = r12
        g[R20 + k] = r20
        g[R21 + k] = r21
        g[R22 + k] = r22
        # (d), (e): the base's lowest corner; the ground point G under the centre of mass, and its velocity.
        oz = g[OZ + k]
        g[LOW + k] = oz - _HALF_X * abs(r20) - _HALF_Y * abs(r21) - _HALF_Z * abs(r22)
        g[CX + k] = px
        g[CY + k] = py
        g[ZC + k] = oz + pz
        g[GX + k] = vx - wy * oz - wz * py
        g[GY + k] = vy + wz * px + wx * oz
        g[GZ + k] = vz + wx * py - wy * px
        g[WX + k] = wx
        g[WY + k] = wy
        g[WZ + k] = wz
        g[VX + k] = vx
        g[VY + k] = vy
        g[VZ + k] = vz
        g[ct.JXX + k] = jxx
        g[ct.JXY + k] = jxy
        g[ct.JXZ + k] = jxz
        g[ct.JYY + k] = jyy
        g[ct.JYZ + k] = jyz
        g[ct.JZZ + k] = jzz
        g[ct.M + k] = m
        g[ct.Z + k] = oz + pz
        g[KXX + k] = kxx
        g[KXY + k] = kxy
        g[KXZ + k] = kxz
        g[KYY + k] = kyy
        g[KYZ + k] = kyz
        g[KZZ + k] = kzz


@kernel(forceinline=True)
def _weights(im: float, inverse: Any, x: float, y: float, z: float) -> Any:
    """Weights of the z, x and y rows of a contact at (x, y) from G, with the centre of mass at height z."""
    kxx, kxy, kxz, kyy, kyz, kzz = inverse
    return (
        _STIFFNESS / (im + kxx * y * y - 2.0 * kxy * x * y + kyy * x * x),
        _STIFFNESS / (im + kyy * z * z + 2.0 * kyz * z * y + kzz * y * y),
        _STIFFNESS / (im + kxx * z * z + 2.0 * kxz * z * x + kzz * x * x),
    )


@kernel(forceinline=True)
def _find_contact(g: Floats, i: int, here: bool, im: float, share: float, turn: Any, base: Any, inverse: Any) -> None:
    """The contact of the foot whose rows begin at i, `here` is False for a leg that is not there."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = turn
    cx, cy, z, oz, gx, gy, gz, wx, wy, wz = base
    fx = g[ct.FX + i]
    fy = g[ct.FY + i]
    fz = g[ct.FZ + i]
    height = oz + r20 * fx + r21 * fy + r22 * fz
    x = r00 * fx + r01 * fy + r02 * fz - cx
    y = r10 * fx + r11 * fy + r12 * fz - cy
    dx = g[ct.FDX + i]
    dy = g[ct.FDY + i]
    dz = g[ct.FDZ + i]
    d1 = g[ct.FD1 + i]
    depth = FOOT_RADIUS - height
    push = depth * share
    push = PUSH_OUT_SPEED if push > PUSH_OUT_SPEED else push
    uz = r20 * dx + r21 * dy + r22 * dz
    ux = r00 * dx + r01 * dy + r02 * dz - d1 * r12 * height
    uy = r10 * dx + r11 * dy + r12 * dz + d1 * r02 * height
    g[ct.A + i] = x
    g[ct.B + i] = y
    g[ct.UZ + i] = uz + gz + wx * y - wy * x - push
    g[ct.UX + i] = ux + gx - wz * y
    g[ct.UY + i] = uy + gy + wz * x
    depth = depth if here else -1.0
    weight_z, weight_x, weight_y = _weights(im, inverse, x, y, z)
    g[ct.WZ + i] = weight_z if depth >= 0.0 else 0.0
    g[ct.WX + i] = weight_x if depth >= 0.0 else 0.0
    g[ct.WY + i] = weight_y if depth >= 0.0 else 0.0
    # The solver's guess: a foot that has just come down is on and sticks.
    new = g[ct.DEPTH + i] < 0.0
    g[ct.S1 + i] = 1.0 if new else g[ct.S1 + i]
    g[ct.SX + i] = 0.0 if new else g[ct.SX + i]
    g[ct.SY + i] = 0.0 if new else g[ct.SY + i]
    g[ct.DEPTH + i] = depth


@kernel()
def find_contacts(g: Floats, present: Ints, sums: Floats, dt: float) -> None:
    """(d), (e): which feet touch the floor, and the rows of their contacts: place, free velocities, weights."""
    im = 1.0 / sums[0]
    share = PUSH_OUT_SHARE / dt
    here0, here1, here2 = present[0] == 1, present[1] == 1, present[2] == 1
    here3, here4, here5 = present[3] == 1, present[4] == 1, present[5] == 1
    for k in range(LANES):
        turn = (
            g[R00 + k], g[R01 + k], g[R02 + k], g[R10 + k], g[R11 + k], g[R12 + k], g[R20 + k], g[R21 + k], g[R22 + k]
        )  # fmt: skip
        base = (
            g[CX + k], g[CY + k], g[ZC + k], g[OZ + k], g[GX + k], g[GY + k], g[GZ + k], g[WX + k], g[WY + k], g[WZ + k]
        )  # fmt: skip
        inverse = g[KXX + k], g[KXY + k], g[KXZ + k], g[KYY + k], g[KYZ + k], g[KZZ + k]
        _find_contact(g, k, here0, im, share, turn, base, inverse)
        _find_contact(g, ct.LEG + k, here1, im, share, turn, base, inverse)
        _find_contact(g, 2 * ct.LEG + k, here2, im, share, turn, base, inverse)
        _find_contact(g, 3 * ct.LEG + k, here3, im, share, turn, base, inverse)
        _find_contact(g, 4 * ct.LEG + k, here4, im, share, turn, base, inverse)
        _find_contact(g, 5 * ct.LEG + k, here5, im, share, turn, base, inverse)


@kernel()
def add_corners(g: Floats, k: int, t: Floats, n: int, sums: Floats, dt: float) -> int:
    """Add the corners of the base's lowest face that touch the floor to the n contacts of lane k: how many there are.

    DART's box against its floor gives these contacts. An episode needs them only while the robot comes to rest: before,
    a base that touches the floor ends it.
    """
    im = 1.0 / sums[0]
    inverse = g[KXX + k], g[KXY + k], g[KXZ + k], g[KYY + k], g[KYZ + k], g[KZZ + k]
    tilt = (g[R20 + k], g[R21 + k], g[R22 + k])
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
        px = g[R00 + k] * x + g[R01 + k] * y + g[R02 + k] * z - g[CX + k]
        py = g[R10 + k] * x + g[R11 + k] * y + g[R12 + k] * z - g[CY + k]
        t[ls.A + n] = px
        t[ls.B + n] = py
        t[ls.UZ + n] = g[GZ + k] + g[WX + k] * py - g[WY + k] * px - min(depth * PUSH_OUT_SHARE / dt, PUSH_OUT_SPEED)
        t[ls.UX + n] = g[GX + k] - g[WZ + k] * py
        t[ls.UY + n] = g[GY + k] + g[WZ + k] * px
        t[ls.WZ + n], t[ls.WX + n], t[ls.WY + n] = _weights(im, inverse, px, py, g[ZC + k])
        t[ls.BOUND + n] = 0.0
        n += 1
    return n


@kernel()
def solve_on_base(g: Floats, k: int, t: Floats, st: Ints, sums: Floats, dt: float) -> None:
    """(f) for lane k, whose base lies on the floor: its d, by the line search from the start."""
    n = add_corners(g, k, t, ct.gather_feet(g, k, t), sums, dt)
    dx = dy = dz = dgx = dgy = dw = 0.0
    for stage in range(2):
        dx, dy, dz, dgx, dgy, dw, _ = ls.minimise(
            t, st, n, g[ct.M + k], g[ct.Z + k],
            g[ct.JXX + k], g[ct.JXY + k], g[ct.JYY + k], g[ct.JXZ + k], g[ct.JYZ + k], g[ct.JZZ + k],
            dx, dy, dz, dgx, dgy, dw,
        )  # fmt: skip
        if stage == 0:
            for i in range(n):
                u = t[ls.UZ + i] + t[ls.B + i] * dx - t[ls.A + i] * dy + dz
                t[ls.BOUND + i] = FRICTION * t[ls.WZ + i] * -u if u < 0.0 else 0.0
    g[ct.DX + k] = dx
    g[ct.DY + k] = dy
    g[ct.DZ + k] = dz
    g[ct.DGX + k] = dgx
    g[ct.DGY + k] = dgy
    g[ct.DW + k] = dw


@kernel()
def advance(g: Floats, dt: float) -> None:
    """(g): the impulses' d joins the velocities, O += dt v and R <- exp(dt w) R.

    d is of G; of the base's origin: v = v_G - w x (G - O). TURN is the squared half-angle of the step's turn.
    """
    h = 0.5 * dt
    for k in range(LANES):
        dx = g[ct.DX + k]
        dy = g[ct.DY + k]
        dw = g[ct.DW + k]
        px = g[CX + k]
        py = g[CY + k]
        oz = g[OZ + k]
        wx = g[WX + k] + dx
        wy = g[WY + k] + dy
        wz = g[WZ + k] + dw
        vx = g[VX + k] + (g[ct.DGX + k] + dy * oz + dw * py)
        vy = g[VY + k] + (g[ct.DGY + k] - dw * px - dx * oz)
        vz = g[VZ + k] + (g[ct.DZ + k] - dx * py + dy * px)
        g[WX + k] = wx
        g[WY + k] = wy
        g[WZ + k] = wz
        g[VX + k] = vx
        g[VY + k] = vy
        g[VZ + k] = vz
        g[OX + k] += dt * vx
        g[OY + k] += dt * vy
        g[OZ + k] = oz + dt * vz
        x = h * wx
        y = h * wy
        z = h * wz
        a = x * x + y * y + z * z
        # cos(sqrt a) and sin(sqrt a) / sqrt a by Taylor series: exact to rounding for a <= 1, a turn of 2 rad a step.
        p = 1.0 / 479001600.0 - a * (1.0 / 87178291200.0 - a * (1.0 / 20922789888000.0))
        p = 1.0 / 40320.0 - a * (1.0 / 3628800.0 - a * p)
        p = 1.0 / 24.0 - a * (1.0 / 720.0 - a * p)
        cw = 1.0 - a * (0.5 - a * p)
        p = 1.0 / 6227020800.0 - a * (1.0 / 1307674368000.0 - a * (1.0 / 355687428096000.0))
        p = 1.0 / 362880.0 - a * (1.0 / 39916800.0 - a * p)
        p = 1.0 / 120.0 - a * (1.0 / 5040.0 - a * p)
        p = 1.0 - a * (1.0 / 6.0 - a * p)
        x *= p
        y *= p
        z *= p
        qw = g[QW + k]
        qx = g[QX + k]
        qy = g[QY + k]
        qz = g[QZ + k]
        ew = cw * qw - x * qx - y * qy - z * qz
        ex = cw * qx + x * qw + y * qz - z * qy
        ey = cw * qy - x * qz + y * qw + z * qx
        ez = cw * qz + x * qy - y * qx + z * qw
        # One Newton step keeps the quaternion's length at 1 to rounding.
        u = 1.5 - 0.5 * (ew * ew + ex * ex + ey * ey + ez * ez)
        g[QW + k] = ew * u
        g[QX + k] = ex * u
        g[QY + k] = ey * u
        g[QZ + k] = ez * u
        g[TURN + k] = a
