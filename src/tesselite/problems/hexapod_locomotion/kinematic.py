"""One step of the `kinematic` engine: the hexapod's base as the only dynamic body, its legs moved by imposed angles.

Each part of a step does LANES robots side by side. The sums over the legs live in `legs`, the contact problem in
`contact`, whole episodes in `lockstep`. Equations: docs/hexapod-dynamics.md, with its letters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
import tesselite.problems.hexapod_locomotion.legs as lg
import tesselite.problems.hexapod_locomotion.line_search as ls
from tesselite.compiled import kernel
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

# Base state and what follows from it, one value per lane, in one flat array: value of lane k at NAME + k.
(
    OX, OY, OZ, QW, QX, QY, QZ, VX, VY, VZ, WX, WY, WZ,
    R00, R01, R02, R10, R11, R12, R20, R21, R22,
    CX, CY, ZC, GX, GY, GZ, KXX, KXY, KXZ, KYY, KYZ, KZZ, LOW, TURN,
) = range(0, 36 * LANES, LANES)  # fmt: skip
STATE = 13
BASE_SCRATCH = 36 * LANES

# Second moments of the base about its centre of mass: half the trace of the inertia, minus the inertia.
_HALF_TRACE = sum(BASE_INERTIA) / 2
_BASE_XX = _HALF_TRACE - BASE_INERTIA[0]
_BASE_YY = _HALF_TRACE - BASE_INERTIA[1]
_BASE_ZZ = _HALF_TRACE - BASE_INERTIA[2]
_HALF_X, _HALF_Y, _HALF_Z = (size / 2 for size in BASE_SIZE)
_STIFFNESS = 1.0 / SOFTNESS


@kernel()
def move_legs(s: Floats, g: Floats, present: Ints, dt: float) -> None:
    """(a), (b): advance the servos, and sum the links that are there, for every lane."""
    for i in range(13 * LANES, LEG_SCRATCH):
        s[i] = 0.0
    for leg in range(N_LEGS):
        if present[leg] == 1:
            at = leg * ct.LEG
            # The leg at work is copied to constant places: only then are the lanes known not to overlap.
            for i in range(6 * LANES):
                s[i] = g[at + i]
            lg.add_leg(s, leg, dt)
            for i in range(4 * LANES):
                g[at + i] = s[i]
            for i in range(6 * LANES, 13 * LANES):
                g[at + i] = s[i]


@kernel()
def rotate(b: Floats) -> None:
    """The rotation matrices R of the quaternions."""
    for k in range(LANES):
        w = b[QW + k]
        x = b[QX + k]
        y = b[QY + k]
        z = b[QZ + k]
        b[R00 + k] = 1.0 - 2.0 * (y * y + z * z)
        b[R01 + k] = 2.0 * (x * y - w * z)
        b[R02 + k] = 2.0 * (x * z + w * y)
        b[R10 + k] = 2.0 * (x * y + w * z)
        b[R11 + k] = 1.0 - 2.0 * (x * x + z * z)
        b[R12 + k] = 2.0 * (y * z - w * x)
        b[R20 + k] = 2.0 * (x * z - w * y)
        b[R21 + k] = 2.0 * (y * z + w * x)
        b[R22 + k] = 1.0 - 2.0 * (x * x + y * y)


@kernel()
def free_velocity(b: Floats, s: Floats, g: Floats, sums: Floats, dt: float) -> None:
    """(c): the velocities at the end of the step if nothing touched the floor, and the inertia there."""
    m = sums[0]
    im = 1.0 / m
    m_x = sums[1]
    m_y = sums[2]
    m_xx = sums[3] + _BASE_XX
    m_xy = sums[4]
    m_yy = sums[5] + _BASE_YY
    for k in range(LANES):
        r00 = b[R00 + k]
        r01 = b[R01 + k]
        r02 = b[R02 + k]
        r10 = b[R10 + k]
        r11 = b[R11 + k]
        r12 = b[R12 + k]
        r20 = b[R20 + k]
        r21 = b[R21 + k]
        r22 = b[R22 + k]
        wx = b[WX + k]
        wy = b[WY + k]
        wz = b[WZ + k]
        # wb = R^T w
        ax = r00 * wx + r10 * wy + r20 * wz
        ay = r01 * wx + r11 * wy + r21 * wz
        az = r02 * wx + r12 * wy + r22 * wz
        mcx = m_x + s[lg.MCX + k]
        mcy = m_y + s[lg.MCY + k]
        mcz = s[lg.MCZ + k]
        cx = mcx * im
        cy = mcy * im
        cz = mcz * im
        # f = -wb x (wb x m c + 2 p) - pd
        tx = ay * mcz - az * mcy + 2.0 * s[lg.PX + k]
        ty = az * mcx - ax * mcz + 2.0 * s[lg.PY + k]
        tz = ax * mcy - ay * mcx + 2.0 * s[lg.PZ + k]
        fx = az * ty - ay * tz - s[lg.PDX + k]
        fy = ax * tz - az * tx - s[lg.PDY + k]
        fz = ay * tx - ax * ty - s[lg.PDZ + k]
        # n = -Id wb - hd - wb x (I wb + h) - c x f, with I = tr(S) 1 - S and Id = tr(Sd) 1 - Sd
        sxx = m_xx + s[lg.SXX + k]
        sxy = m_xy + s[lg.SXY + k]
        sxz = s[lg.SXZ + k]
        syy = m_yy + s[lg.SYY + k]
        syz = s[lg.SYZ + k]
        szz = _BASE_ZZ + s[lg.SZZ + k]
        lx = (syy + szz) * ax - sxy * ay - sxz * az + s[lg.HX + k]
        ly = (sxx + szz) * ay - sxy * ax - syz * az + s[lg.HY + k]
        lz = (sxx + syy) * az - sxz * ax - syz * ay + s[lg.HZ + k]
        dxx = s[lg.SDXX + k]
        dxy = s[lg.SDXY + k]
        dxz = s[lg.SDXZ + k]
        dyy = s[lg.SDYY + k]
        dyz = s[lg.SDYZ + k]
        dzz = s[lg.SDZZ + k]
        nx = dxy * ay + dxz * az - (dyy + dzz) * ax - s[lg.HDX + k] - ay * lz + az * ly - cy * fz + cz * fy
        ny = dxy * ax + dyz * az - (dxx + dzz) * ay - s[lg.HDY + k] - az * lx + ax * lz - cz * fx + cx * fz
        nz = dxz * ax + dyz * ay - (dxx + dyy) * az - s[lg.HDZ + k] - ax * ly + ay * lx - cx * fy + cy * fx
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
        vx = b[VX + k] + dt * ((r00 * fx + r01 * fy + r02 * fz) * im - dy * pz + dz * py)
        vy = b[VY + k] + dt * ((r10 * fx + r11 * fy + r12 * fz) * im - dz * px + dx * pz)
        vz = b[VZ + k] + dt * ((r20 * fx + r21 * fy + r22 * fz) * im - GRAVITY - dx * py + dy * px)
        # (d), (e): the base's lowest corner; the ground point G under the centre of mass, and its velocity.
        oz = b[OZ + k]
        b[LOW + k] = oz - _HALF_X * abs(r20) - _HALF_Y * abs(r21) - _HALF_Z * abs(r22)
        b[CX + k] = px
        b[CY + k] = py
        b[ZC + k] = oz + pz
        b[GX + k] = vx - wy * oz - wz * py
        b[GY + k] = vy + wz * px + wx * oz
        b[GZ + k] = vz + wx * py - wy * px
        b[WX + k] = wx
        b[WY + k] = wy
        b[WZ + k] = wz
        b[VX + k] = vx
        b[VY + k] = vy
        b[VZ + k] = vz
        g[ct.JXX + k] = jxx
        g[ct.JXY + k] = jxy
        g[ct.JXZ + k] = jxz
        g[ct.JYY + k] = jyy
        g[ct.JYZ + k] = jyz
        g[ct.JZZ + k] = jzz
        g[ct.M + k] = m
        g[ct.Z + k] = oz + pz
        b[KXX + k] = kxx
        b[KXY + k] = kxy
        b[KXZ + k] = kxz
        b[KYY + k] = kyy
        b[KYZ + k] = kyz
        b[KZZ + k] = kzz


@kernel()
def find_contacts(b: Floats, g: Floats, present: Ints, sums: Floats, dt: float) -> None:
    """(d), (e): which feet touch the floor, and the rows of their contacts: place, free velocities, weights."""
    im = 1.0 / sums[0]
    share = PUSH_OUT_SHARE / dt
    for leg in range(N_LEGS):
        if present[leg] == 0:
            continue
        at = leg * ct.LEG
        for k in range(LANES):
            i = at + k
            fx = g[ct.FX + i]
            fy = g[ct.FY + i]
            fz = g[ct.FZ + i]
            r02 = b[R02 + k]
            r12 = b[R12 + k]
            height = b[OZ + k] + b[R20 + k] * fx + b[R21 + k] * fy + b[R22 + k] * fz
            x = b[R00 + k] * fx + b[R01 + k] * fy + r02 * fz - b[CX + k]
            y = b[R10 + k] * fx + b[R11 + k] * fy + r12 * fz - b[CY + k]
            dx = g[ct.FDX + i]
            dy = g[ct.FDY + i]
            dz = g[ct.FDZ + i]
            d1 = g[ct.FD1 + i]
            depth = FOOT_RADIUS - height
            push = depth * share
            push = PUSH_OUT_SPEED if push > PUSH_OUT_SPEED else push
            wz = b[WZ + k]
            uz = b[R20 + k] * dx + b[R21 + k] * dy + b[R22 + k] * dz
            ux = b[R00 + k] * dx + b[R01 + k] * dy + r02 * dz - d1 * r12 * height
            uy = b[R10 + k] * dx + b[R11 + k] * dy + r12 * dz + d1 * r02 * height
            g[ct.A + i] = x
            g[ct.B + i] = y
            g[ct.UZ + i] = uz + b[GZ + k] + b[WX + k] * y - b[WY + k] * x - push
            g[ct.UX + i] = ux + b[GX + k] - wz * y
            g[ct.UY + i] = uy + b[GY + k] + wz * x
            z = b[ZC + k]
            wz = _STIFFNESS / (im + b[KXX + k] * y * y - 2.0 * b[KXY + k] * x * y + b[KYY + k] * x * x)
            wx = _STIFFNESS / (im + b[KYY + k] * z * z + 2.0 * b[KYZ + k] * z * y + b[KZZ + k] * y * y)
            wy = _STIFFNESS / (im + b[KXX + k] * z * z + 2.0 * b[KXZ + k] * z * x + b[KZZ + k] * x * x)
            g[ct.WZ + i] = wz if depth >= 0.0 else 0.0
            g[ct.WX + i] = wx if depth >= 0.0 else 0.0
            g[ct.WY + i] = wy if depth >= 0.0 else 0.0
            # The solver's guess: a foot that has just come down is on and sticks.
            new = g[ct.DEPTH + i] < 0.0
            g[ct.S1 + i] = 1.0 if new else g[ct.S1 + i]
            g[ct.SX + i] = 0.0 if new else g[ct.SX + i]
            g[ct.SY + i] = 0.0 if new else g[ct.SY + i]
            g[ct.DEPTH + i] = depth


@kernel()
def add_corners(b: Floats, k: int, t: Floats, n: int, sums: Floats, dt: float) -> int:
    """Add the corners of the base's lowest face that touch the floor to the n contacts of lane k: how many there are.

    DART's box against its floor gives these contacts. An episode needs them only while the robot comes to rest: before,
    a base that touches the floor ends it.
    """
    im = 1.0 / sums[0]
    tilt = (b[R20 + k], b[R21 + k], b[R22 + k])
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
        depth = -(b[OZ + k] + tilt[0] * x + tilt[1] * y + tilt[2] * z)
        if depth < 0.0:
            continue
        px = b[R00 + k] * x + b[R01 + k] * y + b[R02 + k] * z - b[CX + k]
        py = b[R10 + k] * x + b[R11 + k] * y + b[R12 + k] * z - b[CY + k]
        zc = b[ZC + k]
        t[ls.A + n] = px
        t[ls.B + n] = py
        t[ls.UZ + n] = b[GZ + k] + b[WX + k] * py - b[WY + k] * px - min(depth * PUSH_OUT_SHARE / dt, PUSH_OUT_SPEED)
        t[ls.UX + n] = b[GX + k] - b[WZ + k] * py
        t[ls.UY + n] = b[GY + k] + b[WZ + k] * px
        kxx = b[KXX + k]
        kyy = b[KYY + k]
        kzz = b[KZZ + k]
        t[ls.WZ + n] = _STIFFNESS / (im + kxx * py * py - 2.0 * b[KXY + k] * px * py + kyy * px * px)
        t[ls.WX + n] = _STIFFNESS / (im + kyy * zc * zc + 2.0 * b[KYZ + k] * zc * py + kzz * py * py)
        t[ls.WY + n] = _STIFFNESS / (im + kxx * zc * zc + 2.0 * b[KXZ + k] * zc * px + kzz * px * px)
        t[ls.BOUND + n] = 0.0
        n += 1
    return n


@kernel()
def solve_on_base(b: Floats, g: Floats, k: int, t: Floats, st: Ints, sums: Floats, dt: float) -> None:
    """(f) for lane k, whose base lies on the floor: its d goes to c, by the line search from the start."""
    n = add_corners(b, k, t, ct.gather_feet(g, k, t), sums, dt)
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
def push(b: Floats, g: Floats) -> None:
    """Add the impulses' d to the velocities; from that of G to that of the base's origin: v = v_G - w x (G - O)."""
    for k in range(LANES):
        dx = g[ct.DX + k]
        dy = g[ct.DY + k]
        dw = g[ct.DW + k]
        px = b[CX + k]
        py = b[CY + k]
        oz = b[OZ + k]
        b[WX + k] += dx
        b[WY + k] += dy
        b[WZ + k] += dw
        b[VX + k] += g[ct.DGX + k] + dy * oz + dw * py
        b[VY + k] += g[ct.DGY + k] - dw * px - dx * oz
        b[VZ + k] += g[ct.DZ + k] - dx * py + dy * px


@kernel()
def integrate(b: Floats, dt: float) -> None:
    """(g): O += dt v and R <- exp(dt w) R; TURN is the squared half-angle of that turn."""
    h = 0.5 * dt
    for k in range(LANES):
        b[OX + k] += dt * b[VX + k]
        b[OY + k] += dt * b[VY + k]
        b[OZ + k] += dt * b[VZ + k]
        x = h * b[WX + k]
        y = h * b[WY + k]
        z = h * b[WZ + k]
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
        qw = b[QW + k]
        qx = b[QX + k]
        qy = b[QY + k]
        qz = b[QZ + k]
        ew = cw * qw - x * qx - y * qy - z * qz
        ex = cw * qx + x * qw + y * qz - z * qy
        ey = cw * qy - x * qz + y * qw + z * qx
        ez = cw * qz + x * qy - y * qx + z * qw
        # One Newton step keeps the quaternion's length at 1 to rounding.
        u = 1.5 - 0.5 * (ew * ew + ex * ex + ey * ey + ez * ez)
        b[QW + k] = ew * u
        b[QX + k] = ex * u
        b[QY + k] = ey * u
        b[QZ + k] = ez * u
        b[TURN + k] = a
