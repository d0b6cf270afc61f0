"""Newton's method with an exact line search on one robot's contact problem: slower, and sure to end at the minimum.

The problem and its letters are those of `contact`, which calls this for the few robots that its own passes leave over,
and `kinematic` for a robot whose base lies on the floor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_CONTACTS = 10  # six feet, and four corners of the base when it lies on the floor
# Rows of a contact table, flattened: value of contact i at ROW + i.
A, B, UZ, UX, UY, WZ, WX, WY, BOUND = range(0, 9 * MAX_CONTACTS, MAX_CONTACTS)
# Behind them the line at work, axis 0 to 2 (z, x, y) of contact i at NAME + 3 i + axis: the velocity where the line
# starts, its change along the line, and how far the axis keeps its state.
FROM, ALONG, BREAK = range(9 * MAX_CONTACTS, 18 * MAX_CONTACTS, 3 * MAX_CONTACTS)
TABLE = 18 * MAX_CONTACTS
# Rows of the state table: normal 1 or 0; friction +1 (impulse +B), 0 (sticking), -1 (impulse -B).
SZ, SX, SY = range(0, 3 * MAX_CONTACTS, MAX_CONTACTS)
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


@kernel(forceinline=True)
def _next_break(t: Floats, s: Ints, i: int, axis: int) -> float:
    """How far along the line an axis of contact i goes before its state changes; infinity: for ever."""
    u = t[FROM + 3 * i + axis]
    du = t[ALONG + 3 * i + axis]
    state = s[axis * MAX_CONTACTS + i]
    if axis == 0:
        return -u / du if (state == 1 and du > 0.0) or (state == 0 and du < 0.0) else np.inf
    bound = t[BOUND + i]
    ahead = state if du > 0.0 else -state  # as the velocity rises the state falls, from +1 by 0 to -1
    if not bound > 0.0 or du == 0.0 or ahead == -1:
        return np.inf
    limit = bound / t[WZ + axis * MAX_CONTACTS + i]
    limit = limit if (ahead == 0) == (du > 0.0) else -limit
    return (limit - u) / du


@kernel(forceinline=True)
def _lay(t: Floats, s: Ints, i: int, axis: int, u: float, du: float) -> None:
    """Lay an axis of contact i on the line: its velocity u where that starts, and du along it."""
    t[FROM + 3 * i + axis] = u
    t[ALONG + 3 * i + axis] = du
    t[BREAK + 3 * i + axis] = _next_break(t, s, i, axis)


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
            r = b * px - a * py + pz
            _lay(t, s, i, 0, t[UZ + i] + b * dx - a * dy + dz, r)
            if s[SZ + i] == 1:
                curvature += t[WZ + i] * r * r
            r = pgx - b * pw
            _lay(t, s, i, 1, t[UX + i] + dgx - b * dw, r)
            if t[BOUND + i] > 0.0 and s[SX + i] == 0:
                curvature += t[WX + i] * r * r
            r = pgy + a * pw
            _lay(t, s, i, 2, t[UY + i] + dgy + a * dw, r)
            if t[BOUND + i] > 0.0 and s[SY + i] == 0:
                curvature += t[WY + i] * r * r
        slope = -curvature
        at = 0.0
        changed = False
        while True:
            end = at - slope / curvature
            nearest = end
            found = -1
            for j in range(3 * n):
                if t[BREAK + j] < nearest:
                    nearest = t[BREAK + j]
                    found = j
            if found < 0:
                break
            changed = True
            if nearest > at:  # else: rounding put the breakpoint behind us; only the state changes
                slope += curvature * (nearest - at)
                at = nearest
            i = found // 3
            axis = found - 3 * i
            r = t[ALONG + found]
            state = s[axis * MAX_CONTACTS + i]
            pulls = state == (1 if axis == 0 else 0)  # its impulse changes with the velocity, until here
            curvature += t[WZ + axis * MAX_CONTACTS + i] * r * r * (-1.0 if pulls else 1.0)
            s[axis * MAX_CONTACTS + i] = 1 - state if axis == 0 else state + (-1 if r > 0.0 else 1)
            t[BREAK + found] = _next_break(t, s, i, axis)
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
