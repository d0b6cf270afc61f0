"""The contact problem of one step, for LANES robots side by side: impulses of the feet on the floor.

Free motion and the detection of contacts live in `kinematic`; the safeguarded method for the robots that the quick one
here leaves over in `line_search`. The problem is DART's boxed one (Lee et al., 2018); section 5 of
docs/hexapod-dynamics.md derives the form used here.

Unknown: the change d = (wx, wy, Gz, Gx, Gy, wz) that the impulses make to the body's angular velocity and to the
velocity of the ground point G under its centre of mass. A contact at (a, b) from G has three rows with velocities

    u_z = u0_z + b wx - a wy + Gz,    u_x = u0_x + Gx - b wz,    u_y = u0_y + Gy + a wz

and impulses max(0, -w_z u_z) and clip(-w u, -B, B), minus the derivatives of a convex function. So d minimises

    F(d) = 1/2 d^T M d + sum 1/2 w_z min(0, u_z)^2 + sum Huber(u_x; w_x, B) + sum Huber(u_y; w_y, B).

F is a quadratic for as long as no row changes its state (normal: 1 on, 0 off; friction: +1 impulse +B, 0 sticking,
-1 impulse -B). Stage 1 has no friction; its normal impulses give the bounds B of stage 2. Each stage guesses the states
of the step before, solves for d, and takes the states found there; where they agree with the guess, d is the minimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.line_search as ls
from tesselite.compiled.kernels import kernel
from tesselite.problems.hexapod_locomotion.legs import LANES, LEG_SCRATCH
from tesselite.problems.hexapod_locomotion.robot import FRICTION, N_LEGS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# All that the engine knows of its robots is in one array: only then are rows known not to overlap, and loops over lanes
# become vector instructions. First what `legs` works on, then, per leg, value of lane k at leg * LEG + NAME + k: joints
# and foot (see `legs`), then the contact: place, free velocities, weights (0 for a foot in the air), depth below the
# floor; bound and friction weights of stage 2 (0 where stage 1 found no normal impulse); state of stage 1, states of
# stage 2.
(
    Q1, Q2, QD1, QD2, TARGET1, TARGET2, FX, FY, FZ, FDX, FDY, FDZ, FD1,
    A, B, UZ, UX, UY, WZ, WX, WY, DEPTH, BOUND, EX, EY, S1, SZ, SX, SY,
) = range(LEG_SCRATCH, LEG_SCRATCH + 29 * LANES, LANES)  # fmt: skip
LEG = 29 * LANES

# Behind the legs: inertia M (set by `kinematic`), d, and how many rows missed their guess.
_BEHIND = LEG_SCRATCH + N_LEGS * LEG
M, Z, JXX, JXY, JXZ, JYY, JYZ, JZZ, DX, DY, DZ, DGX, DGY, DW, MISSES = range(_BEHIND, _BEHIND + 15 * LANES, LANES)
ARRAY = _BEHIND + 15 * LANES

PASSES = 8  # before the lanes that are left go to the line search


# The functions of one foot are called six times in a row instead of in a loop: only then is the loop over the lanes the
# innermost one, which becomes vector instructions.
@kernel(forceinline=True)
def _add_normal(g: Floats, i: int, w: float, dx: float, dy: float, dz: float, sums: Any) -> Any:
    """Add a foot's normal row of weight w to the sums of w, w a, w b, w a a, w a b, w b b and to minus the gradient."""
    sw, swa, swb, swaa, swab, swbb, rx, ry, rz = sums
    a = g[i + A]
    b = g[i + B]
    u = g[i + UZ] + b * dx - a * dy + dz
    wa = w * a
    wb = w * b
    wu = w * u
    return (
        sw + w, swa + wa, swb + wb, swaa + wa * a, swab + wa * b, swbb + wb * b, rx - b * wu, ry + a * wu, rz - wu
    )  # fmt: skip


@kernel(forceinline=True)
def _check_normal(g: Floats, i: int, dx: float, dy: float, dz: float) -> float:
    """A foot's state in stage 1 at d, and its bound; 1.0 if the guess was another."""
    w = g[i + WZ]
    u = g[i + UZ] + g[i + B] * dx - g[i + A] * dy + dz
    on = 1.0 if u < 0.0 else 0.0
    miss = abs(on - g[i + S1])
    g[i + S1] = on
    bound = -FRICTION * w * u
    bound = bound if bound > 0.0 else 0.0
    g[i + BOUND] = bound
    g[i + EX] = g[i + WX] if bound > 0.0 else 0.0
    g[i + EY] = g[i + WY] if bound > 0.0 else 0.0
    g[i + SZ] = on  # the guess of stage 2
    return miss if w > 0.0 else 0.0


@kernel()
def normal_pass(g: Floats, refine: bool) -> None:
    """Stage 1: d for the guessed states, then the states there. Without friction (Gx, Gy) follow, and wz is eliminated.

    The solution starts from d = 0, or with `refine` from the d of the last pass: its error, some 1e-12 because the
    weights are so much larger than M, then falls to rounding.
    """
    for k in range(LANES):
        ox = g[DX + k] if refine else 0.0
        oy = g[DY + k] if refine else 0.0
        oz = g[DZ + k] if refine else 0.0
        sums = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        i = k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        i = LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        i = 2 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        i = 3 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        i = 4 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        i = 5 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + S1], ox, oy, oz, sums)
        sw, swa, swb, swaa, swab, swbb, rx, ry, rz = sums
        iw = 1.0 / g[JZZ + k]
        jxz = g[JXZ + k]
        jyz = g[JYZ + k]
        iz = 1.0 / (g[M + k] + sw)
        axx = g[JXX + k] - jxz * jxz * iw
        ayy = g[JYY + k] - jyz * jyz * iw
        axy = g[JXY + k] - jxz * jyz * iw
        kxx = axx + swbb - swb * swb * iz
        kyy = ayy + swaa - swa * swa * iz
        kxy = axy - swab + swb * swa * iz
        rz -= g[M + k] * oz
        rx -= axx * ox + axy * oy + swb * iz * rz
        ry -= axy * ox + ayy * oy - swa * iz * rz
        # Elimination, not Cramer's rule: with two feet down this 2 x 2 is nearly singular.
        ixx = 1.0 / kxx
        f = kxy * ixx
        dy = (ry - f * rx) / (kyy - f * kxy)
        dx = (rx - kxy * dy) * ixx
        dz = oz + (rz - swb * dx + swa * dy) * iz
        dx += ox
        dy += oy
        g[DX + k] = dx
        g[DY + k] = dy
        g[DZ + k] = dz
        misses = _check_normal(g, k, dx, dy, dz)
        misses += _check_normal(g, LEG + k, dx, dy, dz)
        misses += _check_normal(g, 2 * LEG + k, dx, dy, dz)
        misses += _check_normal(g, 3 * LEG + k, dx, dy, dz)
        misses += _check_normal(g, 4 * LEG + k, dx, dy, dz)
        misses += _check_normal(g, 5 * LEG + k, dx, dy, dz)
        g[MISSES + k] = misses


@kernel(forceinline=True)
def _add_friction(g: Floats, i: int, dgx: float, dgy: float, dw: float, sums: Any) -> Any:
    """Add a foot's friction rows to the sums of their weights, of their products with a and b, and to the forces."""
    hx, hy, hp, hq, hw, fx, fy, fw = sums
    a = g[i + A]
    b = g[i + B]
    bound = g[i + BOUND]
    sx = g[i + SX]
    sy = g[i + SY]
    w = g[i + EX] if sx == 0.0 else 0.0
    v = g[i + EY] if sy == 0.0 else 0.0
    f = sx * bound - w * (g[i + UX] + dgx - b * dw)
    e = sy * bound - v * (g[i + UY] + dgy + a * dw)
    wb = w * b
    va = v * a
    return hx + w, hy + v, hp - wb, hq + va, hw + (wb * b + va * a), fx + f, fy + e, fw + (e * a - f * b)


@kernel(forceinline=True)
def _check_friction(g: Floats, i: int, dx: float, dy: float, dz: float, dgx: float, dgy: float, dw: float) -> float:
    """A foot's states in stage 2 at d; how many of the guesses were others (or more)."""
    a = g[i + A]
    b = g[i + B]
    bound = g[i + BOUND]
    on = 1.0 if g[i + UZ] + b * dx - a * dy + dz < 0.0 else 0.0
    f = -g[i + EX] * (g[i + UX] + dgx - b * dw)
    e = -g[i + EY] * (g[i + UY] + dgy + a * dw)
    sx = 1.0 if f > bound else 0.0
    sx = -1.0 if f < -bound else sx
    sy = 1.0 if e > bound else 0.0
    sy = -1.0 if e < -bound else sy
    miss = abs(on - g[i + SZ])
    miss = miss if g[i + WZ] > 0.0 else 0.0
    slip = abs(sx - g[i + SX]) + abs(sy - g[i + SY])
    slip = slip if bound > 0.0 else 0.0
    g[i + SZ] = on
    # Between +B and -B lies sticking: to stop there first prevents most cycles.
    g[i + SX] = 0.0 if sx * g[i + SX] < 0.0 else sx
    g[i + SY] = 0.0 if sy * g[i + SY] < 0.0 else sy
    return miss + slip


@kernel()
def friction_pass(g: Floats, refine: bool) -> None:
    """Stage 2: d for the guessed states, then the states there; from d = 0, or to `refine` from the last pass's d.

    M couples (wx, wy, Gz) with (Gx, Gy, wz) through m z and the products of inertia only, so the second three are
    eliminated first; what remains is 3 x 3.
    """
    for k in range(LANES):
        ox = g[DX + k] if refine else 0.0
        oy = g[DY + k] if refine else 0.0
        oz = g[DZ + k] if refine else 0.0
        ogx = g[DGX + k] if refine else 0.0
        ogy = g[DGY + k] if refine else 0.0
        ow = g[DW + k] if refine else 0.0
        sums = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        pulls = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        i = k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        i = LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        i = 2 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        i = 3 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        i = 4 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        i = 5 * LEG + k
        sums = _add_normal(g, i, g[i + WZ] * g[i + SZ], ox, oy, oz, sums)
        pulls = _add_friction(g, i, ogx, ogy, ow, pulls)
        sw, swa, swb, swaa, swab, swbb, rx, ry, rz = sums
        hx, hy, hp, hq, hw, fx, fy, fw = pulls
        m = g[M + k]
        z = g[Z + k]
        mz = m * z
        # Minus M d of where we start.
        vx = m * (ogx + z * oy)
        vy = m * (ogy - z * ox)
        fx -= vx
        fy -= vy
        fw -= g[JXZ + k] * ox + g[JYZ + k] * oy + g[JZZ + k] * ow
        rx -= g[JXX + k] * ox + g[JXY + k] * oy + g[JXZ + k] * ow - z * vy
        ry -= g[JXY + k] * ox + g[JYY + k] * oy + g[JYZ + k] * ow + z * vx
        rz -= m * oz
        ix = 1.0 / (m + hx)
        iy = 1.0 / (m + hy)
        iw = 1.0 / (g[JZZ + k] + hw - hp * hp * ix - hq * hq * iy)
        cx = g[JXZ + k] + hq * mz * iy
        cy = g[JYZ + k] - hp * mz * ix
        gw = fw - hp * ix * fx - hq * iy * fy
        iz = 1.0 / (m + sw)
        rx += mz * iy * fy - cx * iw * gw - swb * iz * rz
        ry += swa * iz * rz - mz * ix * fx - cy * iw * gw
        kxx = g[JXX + k] + mz * z + swbb - mz * mz * iy - cx * cx * iw - swb * swb * iz
        kyy = g[JYY + k] + mz * z + swaa - mz * mz * ix - cy * cy * iw - swa * swa * iz
        kxy = g[JXY + k] - swab - cx * cy * iw + swb * swa * iz
        ixx = 1.0 / kxx
        f = kxy * ixx
        dy = (ry - f * rx) / (kyy - f * kxy)
        dx = (rx - kxy * dy) * ixx
        dw = (gw - cx * dx - cy * dy) * iw
        dgx = ogx + (fx - mz * dy - hp * dw) * ix
        dgy = ogy + (fy + mz * dx - hq * dw) * iy
        dz = oz + (rz - swb * dx + swa * dy) * iz
        dx += ox
        dy += oy
        dw += ow
        g[DX + k] = dx
        g[DY + k] = dy
        g[DZ + k] = dz
        g[DGX + k] = dgx
        g[DGY + k] = dgy
        g[DW + k] = dw
        misses = _check_friction(g, k, dx, dy, dz, dgx, dgy, dw)
        misses += _check_friction(g, LEG + k, dx, dy, dz, dgx, dgy, dw)
        misses += _check_friction(g, 2 * LEG + k, dx, dy, dz, dgx, dgy, dw)
        misses += _check_friction(g, 3 * LEG + k, dx, dy, dz, dgx, dgy, dw)
        misses += _check_friction(g, 4 * LEG + k, dx, dy, dz, dgx, dgy, dw)
        misses += _check_friction(g, 5 * LEG + k, dx, dy, dz, dgx, dgy, dw)
        g[MISSES + k] = misses


@kernel()
def _any_miss(g: Floats) -> bool:
    total = 0.0
    for k in range(LANES):
        total += g[MISSES + k]
    return total > 0.0


@kernel()
def gather_feet(g: Floats, k: int, t: Floats) -> int:
    """Copy the contacts of lane k's feet into the line search's table, with bounds 0: how many there are."""
    n = 0
    for leg in range(N_LEGS):
        at = leg * LEG + k
        if g[at + WZ] > 0.0:
            t[ls.A + n] = g[at + A]
            t[ls.B + n] = g[at + B]
            t[ls.UZ + n] = g[at + UZ]
            t[ls.UX + n] = g[at + UX]
            t[ls.UY + n] = g[at + UY]
            t[ls.WZ + n] = g[at + WZ]
            t[ls.WX + n] = g[at + WX]
            t[ls.WY + n] = g[at + WY]
            t[ls.BOUND + n] = 0.0
            n += 1
    return n


@kernel()
def _search_lane(g: Floats, k: int, t: Floats, st: Ints, friction: bool) -> None:
    """Minimise F of lane k by the line search, and keep the states there."""
    n = gather_feet(g, k, t)
    if friction:
        c = 0
        for leg in range(N_LEGS):
            if g[leg * LEG + k + WZ] > 0.0:
                t[ls.BOUND + c] = g[leg * LEG + k + BOUND]
                c += 1
    # From where the passes left d; stage 1 left no Gx, Gy and wz, and any start will do.
    ls.minimise(
        t, st, n, g[M + k], g[Z + k], g[JXX + k], g[JXY + k], g[JYY + k], g[JXZ + k], g[JYZ + k], g[JZZ + k],
        g[DX + k], g[DY + k], g[DZ + k],
        g[DGX + k] if friction else 0.0, g[DGY + k] if friction else 0.0, g[DW + k] if friction else 0.0,
    )  # fmt: skip
    c = 0
    for leg in range(N_LEGS):
        at = leg * LEG + k
        if g[at + WZ] > 0.0:
            if friction:
                g[at + SZ] = st[ls.SZ + c]
                g[at + SX] = st[ls.SX + c]
                g[at + SY] = st[ls.SY + c]
            else:
                g[at + S1] = st[ls.SZ + c]
            c += 1


@kernel()
def solve(g: Floats, t: Floats, st: Ints) -> None:
    """Both stages for every lane: its d, and each foot's bound and states.

    A lane's result does not depend on the other lanes: a pass leaves a lane that agreed as it is, and one that did not
    always gets the same number of passes. Every d comes from a pass, so that it depends on the states alone.
    """
    for stage in range(2):
        for _ in range(PASSES):
            if stage == 0:
                normal_pass(g, False)
            else:
                friction_pass(g, False)
            if not _any_miss(g):
                break
        if _any_miss(g):
            for k in range(LANES):
                if g[MISSES + k] > 0.0:
                    _search_lane(g, k, t, st, stage == 1)
            if stage == 0:
                normal_pass(g, False)
            else:
                friction_pass(g, False)
        if stage == 0:
            normal_pass(g, True)
        else:
            friction_pass(g, True)
