"""Newton's method with an exact line search on one robot's contact problem: slower, and sure to end at the minimum.

The problem and its letters are those of `contact`, which calls this for the few robots that its own passes leave over,
and `kinematic` for a robot whose base lies on the floor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.compiled import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_CONTACTS = 10  # six feet, and four corners of the base when it lies on the floor
# Rows of a contact table, flattened: value of contact i at ROW + i.
A, B, UZ, UX, UY, WZ, WX, WY, BOUND = range(0, 9 * MAX_CONTACTS, MAX_CONTACTS)
# Rows of the state table: normal 1 or 0; friction +1 (impulse +B), 0 (sticking), -1 (impulse -B).
SZ, SX, SY = range(0, 3 * MAX_CONTACTS, MAX_CONTACTS)
TABLE = 9 * MAX_CONTACTS
STATES = 3 * MAX_CONTACTS

MAX_ITERATIONS = 60


@kernel()
def solve_states(
    t: Floats,
    s: Ints,
    n: int,
    m: float,
    z: float,
    jxx: float,
    jxy: float,
    jyy: float,
    jxz: float,
    jyz: float,
    jzz: float,
) -> tuple[float, ...]:
    """The minimum d of the quadratic that F is while the n contacts keep their states: six numbers.

    M couples (wx, wy, Gz) with (Gx, Gy, wz) through m z and the products of inertia only, so the second three are
    eliminated first; what remains is 3 x 3.
    """
    mz = m * z
    sw = swa = swb = swaa = swab = swbb = 0.0
    rx = ry = rz = 0.0
    hx = hy = m
    hp = hq = 0.0
    hw = jzz
    fx = fy = fw = 0.0
    for i in range(n):
        a = t[A + i]
        b = t[B + i]
        if s[SZ + i] == 1:
            w = t[WZ + i]
            wa = w * a
            wb = w * b
            sw += w
            swa += wa
            swb += wb
            swaa += wa * a
            swab += wa * b
            swbb += wb * b
            u = t[UZ + i]
            rx -= wb * u
            ry += wa * u
            rz -= w * u
        bound = t[BOUND + i]
        if bound > 0.0:
            if s[SX + i] == 0:
                w = t[WX + i]
                hx += w
                hp -= w * b
                hw += w * b * b
                f = -w * t[UX + i]
            else:
                f = s[SX + i] * bound
            fx += f
            fw -= f * b
            if s[SY + i] == 0:
                w = t[WY + i]
                hy += w
                hq += w * a
                hw += w * a * a
                f = -w * t[UY + i]
            else:
                f = s[SY + i] * bound
            fy += f
            fw += f * a
    # Eliminate Gx and Gy (which do not couple with each other), then wz.
    ix = 1.0 / hx
    iy = 1.0 / hy
    iw = 1.0 / (hw - hp * hp * ix - hq * hq * iy)
    cx = jxz + hq * mz * iy
    cy = jyz - hp * mz * ix
    gw = fw - hp * ix * fx - hq * iy * fy
    rx += mz * iy * fy - cx * iw * gw
    ry -= mz * ix * fx + cy * iw * gw
    hxx = jxx + mz * z + swbb - mz * mz * iy - cx * cx * iw
    hyy = jyy + mz * z + swaa - mz * mz * ix - cy * cy * iw
    hxy = jxy - swab - cx * cy * iw
    # Then Gz, wx, wy.
    iz = 1.0 / (m + sw)
    kxx = hxx - swb * swb * iz
    kyy = hyy - swa * swa * iz
    kxy = hxy + swb * swa * iz
    rx -= swb * iz * rz
    ry += swa * iz * rz
    # Not Cramer's rule: with two feet down the 2 x 2 is nearly singular, and only elimination keeps the residual small.
    ixx = 1.0 / kxx
    f = kxy * ixx
    dy = (ry - f * rx) / (kyy - f * kxy)
    dx = (rx - kxy * dy) * ixx
    dz = (rz - swb * dx + swa * dy) * iz
    dw = (gw - cx * dx - cy * dy) * iw
    dgx = (fx - mz * dy - hp * dw) * ix
    dgy = (fy + mz * dx - hq * dw) * iy
    return dx, dy, dz, dgx, dgy, dw


@kernel()
def find_states(t: Floats, s: Ints, n: int, dx: float, dy: float, dz: float, dgx: float, dgy: float, dw: float) -> None:
    """Write the states of the n contacts' rows at d."""
    for i in range(n):
        a = t[A + i]
        b = t[B + i]
        s[SZ + i] = 1 if t[UZ + i] + b * dx - a * dy + dz < 0.0 else 0
        bound = t[BOUND + i]
        f = -t[WX + i] * (t[UX + i] + dgx - b * dw)
        s[SX + i] = 1 if f > bound else (-1 if f < -bound else 0)
        f = -t[WY + i] * (t[UY + i] + dgy + a * dw)
        s[SY + i] = 1 if f > bound else (-1 if f < -bound else 0)


@kernel()
def _next_break(u: float, du: float, w: float, bound: float, state: int) -> float:
    """How far along du the velocity u of a friction row may go before its state changes (-1.0: for ever)."""
    if du > 0.0:
        if state == 1:
            return (-bound / w - u) / du
        if state == 0:
            return (bound / w - u) / du
    elif du < 0.0:
        if state == -1:
            return (bound / w - u) / du
        if state == 0:
            return (-bound / w - u) / du
    return -1.0


@kernel()
def minimise(
    t: Floats,
    s: Ints,
    n: int,
    m: float,
    z: float,
    jxx: float,
    jxy: float,
    jyy: float,
    jxz: float,
    jyz: float,
    jzz: float,
    dx: float,
    dy: float,
    dz: float,
    dgx: float,
    dgy: float,
    dw: float,
) -> Any:
    """Minimise F from d: d at the minimum, where the states are left in s, and the number of linear solves.

    Newton's direction with an exact line search: F along a line is a convex quadratic between breakpoints, which are
    walked one after the other. When no row changes its state before the full step, that step ends at the minimum.
    """
    find_states(t, s, n, dx, dy, dz, dgx, dgy, dw)
    for iteration in range(MAX_ITERATIONS):
        ex, ey, ez, egx, egy, ew = solve_states(t, s, n, m, z, jxx, jxy, jyy, jxz, jyz, jzz)
        px = ex - dx
        py = ey - dy
        pz = ez - dz
        pgx = egx - dgx
        pgy = egy - dgy
        pw = ew - dw
        # The quadratic's curvature along p; its slope at the start is minus that, since its minimum is at 1.
        vx = pgx + z * py
        vy = pgy - z * px
        curvature = m * (vx * vx + vy * vy + pz * pz)
        curvature += px * (jxx * px + 2.0 * (jxy * py + jxz * pw))
        curvature += py * (jyy * py + 2.0 * jyz * pw) + pw * jzz * pw
        for i in range(n):
            a = t[A + i]
            b = t[B + i]
            if s[SZ + i] == 1:
                r = b * px - a * py + pz
                curvature += t[WZ + i] * r * r
            if t[BOUND + i] > 0.0:
                if s[SX + i] == 0:
                    r = pgx - b * pw
                    curvature += t[WX + i] * r * r
                if s[SY + i] == 0:
                    r = pgy + a * pw
                    curvature += t[WY + i] * r * r
        slope = -curvature
        at = 0.0
        changed = False
        while True:
            end = at - slope / curvature
            nearest = end
            row = -1
            contact = -1
            for i in range(n):
                a = t[A + i]
                b = t[B + i]
                r = b * px - a * py + pz
                if (s[SZ + i] == 1 and r > 0.0) or (s[SZ + i] == 0 and r < 0.0):
                    x = -(t[UZ + i] + b * dx - a * dy + dz) / r
                    if x < nearest:
                        nearest = x
                        row = 0
                        contact = i
                bound = t[BOUND + i]
                if bound > 0.0:
                    r = pgx - b * pw
                    x = _next_break(t[UX + i] + dgx - b * dw, r, t[WX + i], bound, s[SX + i])
                    if x != -1.0 and x < nearest:
                        nearest = x
                        row = 1
                        contact = i
                    r = pgy + a * pw
                    x = _next_break(t[UY + i] + dgy + a * dw, r, t[WY + i], bound, s[SY + i])
                    if x != -1.0 and x < nearest:
                        nearest = x
                        row = 2
                        contact = i
            if row < 0:
                break
            changed = True
            if nearest > at:  # else: rounding put the breakpoint behind us; only the state changes
                slope += curvature * (nearest - at)
                at = nearest
            i = contact
            if row == 0:
                r = t[B + i] * px - t[A + i] * py + pz
                curvature += t[WZ + i] * r * r * (-1.0 if s[SZ + i] == 1 else 1.0)
                s[SZ + i] = 1 - s[SZ + i]
            elif row == 1:
                r = pgx - t[B + i] * pw
                curvature += t[WX + i] * r * r * (-1.0 if s[SX + i] == 0 else 1.0)
                s[SX + i] += -1 if r > 0.0 else 1
            else:
                r = pgy + t[A + i] * pw
                curvature += t[WY + i] * r * r * (-1.0 if s[SY + i] == 0 else 1.0)
                s[SY + i] += -1 if r > 0.0 else 1
            if slope >= 0.0:
                break
        if not changed:
            return ex, ey, ez, egx, egy, ew, iteration + 1
        end = at - slope / curvature if slope < 0.0 else at
        dx += end * px
        dy += end * py
        dz += end * pz
        dgx += end * pgx
        dgy += end * pgy
        dw += end * pw
    return dx, dy, dz, dgx, dgy, dw, MAX_ITERATIONS
