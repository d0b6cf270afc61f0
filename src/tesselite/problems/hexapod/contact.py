"""The contact problem of one step, for LANES robots side by side: impulses of the feet on the floor.

Free motion and the detection of contacts live in `kinematic`; the safeguarded method for the robots that the quick one
here leaves over in `line_search`. The problem is DART's boxed one (Lee et al., 2018); section 5 of
docs/hexapod-dynamics.md derives the form used here.

Unknown: the change d = (wx, wy, Gz, Gx, Gy, wz) that the impulses make to the body's angular velocity and to the
velocity of the ground point G under its centre of mass. A contact at (a, b) from G has three rows with velocities

    u_z = u0_z + b wx - a wy + Gz,    u_x = u0_x + Gx - b wz,    u_y = u0_y + Gy + a wz

and impulses max(0, -w_z u_z) and clip(-w u, -B, B), which are minus the derivatives of a convex function. So d minimises

    F(d) = 1/2 d^T M d + sum 1/2 w_z min(0, u_z)^2 + sum Huber(u_x; w_x, B) + sum Huber(u_y; w_y, B).

F is a quadratic for as long as no row changes its state (normal: 1 on, 0 off; friction: +1 impulse +B, 0 sticking,
-1 impulse -B). Stage 1 has no friction; its normal impulses give the bounds B of stage 2. Each stage guesses the states
of the step before, solves for d, and takes the states found there; where they agree with the guess, d is the minimum.
"""

from __future__ import annotations

from tesselite.compiled import kernel
from tesselite.problems.hexapod import line_search as ls
from tesselite.problems.hexapod.legs import LANES
from tesselite.problems.hexapod.robot import FRICTION, N_LEGS

# Per leg, value of lane k at leg * LEG + NAME + k. First joints and foot (see `kinematic`), then the contact: place,
# free velocities, weights (0 for a foot in the air), depth below the floor, bound, states of stage 1 and stage 2.
(
    Q1, Q2, QD1, QD2, TARGET1, TARGET2, FX, FY, FZ, FDX, FDY, FDZ, FD1,
    A, B, UZ, UX, UY, WZ, WX, WY, DEPTH, BOUND, S1, SZ, SX, SY,
) = range(0, 27 * LANES, LANES)  # fmt: skip
LEG = 27 * LANES

# Scratch of the solver, one value per lane: inertia M (set by `kinematic`), sums over the feet, d, and rows that
# disagreed with their guess.
(
    M, Z, JXX, JXY, JXZ, JYY, JYZ, JZZ,
    SW, SWA, SWB, SWAA, SWAB, SWBB, RX, RY, RZ, HX, HY, HP, HQ, HW, FXS, FYS, FWS,
    DX, DY, DZ, DGX, DGY, DW, MISSES,
) = range(0, 32 * LANES, LANES)  # fmt: skip
SCRATCH = 32 * LANES
_FIRST_SUM = SW
_END_SUM = DX

PASSES = 4  # before the lanes that are left go to the line search


@kernel()
def normal_pass(g, c, present):  # type: ignore[no-untyped-def]
    """Stage 1: d for the guessed states, then the states there. Without friction (Gx, Gy) follow, and wz is eliminated."""
    for i in range(_FIRST_SUM, _END_SUM):
        c[i] = 0.0
    for i in range(MISSES, MISSES + LANES):
        c[i] = 0.0
    for leg in range(N_LEGS):
        if present[leg] == 0:
            continue
        at = leg * LEG
        for k in range(LANES):
            a = g[at + A + k]
            b = g[at + B + k]
            u = g[at + UZ + k]
            w = g[at + WZ + k] * g[at + S1 + k]
            wa = w * a
            wb = w * b
            c[SW + k] += w
            c[SWA + k] += wa
            c[SWB + k] += wb
            c[SWAA + k] += wa * a
            c[SWAB + k] += wa * b
            c[SWBB + k] += wb * b
            c[RX + k] -= wb * u
            c[RY + k] += wa * u
            c[RZ + k] -= w * u
    for k in range(LANES):
        iw = 1.0 / c[JZZ + k]
        jxz = c[JXZ + k]
        jyz = c[JYZ + k]
        sw = c[SW + k]
        swa = c[SWA + k]
        swb = c[SWB + k]
        iz = 1.0 / (c[M + k] + sw)
        kxx = c[JXX + k] - jxz * jxz * iw + c[SWBB + k] - swb * swb * iz
        kyy = c[JYY + k] - jyz * jyz * iw + c[SWAA + k] - swa * swa * iz
        kxy = c[JXY + k] - jxz * jyz * iw - c[SWAB + k] + swb * swa * iz
        rz = c[RZ + k]
        rx = c[RX + k] - swb * iz * rz
        ry = c[RY + k] + swa * iz * rz
        # Elimination, not Cramer's rule: with two feet down this 2 x 2 is nearly singular.
        ixx = 1.0 / kxx
        f = kxy * ixx
        dy = (ry - f * rx) / (kyy - f * kxy)
        dx = (rx - kxy * dy) * ixx
        c[DX + k] = dx
        c[DY + k] = dy
        c[DZ + k] = (rz - swb * dx + swa * dy) * iz
    for leg in range(N_LEGS):
        if present[leg] == 0:
            continue
        at = leg * LEG
        for k in range(LANES):
            w = g[at + WZ + k]
            u = g[at + UZ + k] + g[at + B + k] * c[DX + k] - g[at + A + k] * c[DY + k] + c[DZ + k]
            on = 1.0 if u < 0.0 else 0.0
            miss = abs(on - g[at + S1 + k])
            c[MISSES + k] += miss if w > 0.0 else 0.0
            g[at + S1 + k] = on
            bound = -FRICTION * w * u
            g[at + BOUND + k] = bound if bound > 0.0 else 0.0


@kernel()
def friction_pass(g, c, present):  # type: ignore[no-untyped-def]
    """Stage 2: d for the guessed states, then the states there.

    M couples (wx, wy, Gz) with (Gx, Gy, wz) through m z and the products of inertia only, so the second three are
    eliminated first; what remains is 3 x 3.
    """
    for i in range(_FIRST_SUM, _END_SUM):
        c[i] = 0.0
    for i in range(MISSES, MISSES + LANES):
        c[i] = 0.0
    for leg in range(N_LEGS):
        if present[leg] == 0:
            continue
        at = leg * LEG
        for k in range(LANES):
            a = g[at + A + k]
            b = g[at + B + k]
            u = g[at + UZ + k]
            w = g[at + WZ + k] * g[at + SZ + k]
            wa = w * a
            wb = w * b
            c[SW + k] += w
            c[SWA + k] += wa
            c[SWB + k] += wb
            c[SWAA + k] += wa * a
            c[SWAB + k] += wa * b
            c[SWBB + k] += wb * b
            c[RX + k] -= wb * u
            c[RY + k] += wa * u
            c[RZ + k] -= w * u
        for k in range(LANES):
            a = g[at + A + k]
            b = g[at + B + k]
            bound = g[at + BOUND + k]
            sx = g[at + SX + k]
            sy = g[at + SY + k]
            w = g[at + WX + k] if sx == 0.0 and bound > 0.0 else 0.0
            f = sx * bound - w * g[at + UX + k]
            wb = w * b
            v = g[at + WY + k] if sy == 0.0 and bound > 0.0 else 0.0
            e = sy * bound - v * g[at + UY + k]
            va = v * a
            c[HX + k] += w
            c[HP + k] -= wb
            c[HY + k] += v
            c[HQ + k] += va
            c[HW + k] += wb * b + va * a
            c[FXS + k] += f
            c[FYS + k] += e
            c[FWS + k] += e * a - f * b
    for k in range(LANES):
        m = c[M + k]
        z = c[Z + k]
        mz = m * z
        ix = 1.0 / (m + c[HX + k])
        iy = 1.0 / (m + c[HY + k])
        hp = c[HP + k]
        hq = c[HQ + k]
        fx = c[FXS + k]
        fy = c[FYS + k]
        iw = 1.0 / (c[JZZ + k] + c[HW + k] - hp * hp * ix - hq * hq * iy)
        cx = c[JXZ + k] + hq * mz * iy
        cy = c[JYZ + k] - hp * mz * ix
        gw = c[FWS + k] - hp * ix * fx - hq * iy * fy
        sw = c[SW + k]
        swa = c[SWA + k]
        swb = c[SWB + k]
        rz = c[RZ + k]
        iz = 1.0 / (m + sw)
        rx = c[RX + k] + mz * iy * fy - cx * iw * gw - swb * iz * rz
        ry = c[RY + k] - mz * ix * fx - cy * iw * gw + swa * iz * rz
        kxx = c[JXX + k] + mz * z + c[SWBB + k] - mz * mz * iy - cx * cx * iw - swb * swb * iz
        kyy = c[JYY + k] + mz * z + c[SWAA + k] - mz * mz * ix - cy * cy * iw - swa * swa * iz
        kxy = c[JXY + k] - c[SWAB + k] - cx * cy * iw + swb * swa * iz
        ixx = 1.0 / kxx
        f = kxy * ixx
        dy = (ry - f * rx) / (kyy - f * kxy)
        dx = (rx - kxy * dy) * ixx
        dw = (gw - cx * dx - cy * dy) * iw
        c[DX + k] = dx
        c[DY + k] = dy
        c[DZ + k] = (rz - swb * dx + swa * dy) * iz
        c[DGX + k] = (fx - mz * dy - hp * dw) * ix
        c[DGY + k] = (fy + mz * dx - hq * dw) * iy
        c[DW + k] = dw
    for leg in range(N_LEGS):
        if present[leg] == 0:
            continue
        at = leg * LEG
        for k in range(LANES):
            a = g[at + A + k]
            b = g[at + B + k]
            dw = c[DW + k]
            bound = g[at + BOUND + k]
            u = g[at + UZ + k] + b * c[DX + k] - a * c[DY + k] + c[DZ + k]
            on = 1.0 if u < 0.0 else 0.0
            f = -g[at + WX + k] * (g[at + UX + k] + c[DGX + k] - b * dw)
            e = -g[at + WY + k] * (g[at + UY + k] + c[DGY + k] + a * dw)
            sx = 1.0 if f > bound else 0.0
            sx = -1.0 if f < -bound else sx
            sy = 1.0 if e > bound else 0.0
            sy = -1.0 if e < -bound else sy
            miss = abs(on - g[at + SZ + k])
            c[MISSES + k] += miss if g[at + WZ + k] > 0.0 else 0.0
            miss = abs(sx - g[at + SX + k]) + abs(sy - g[at + SY + k])
            c[MISSES + k] += miss if bound > 0.0 else 0.0
            g[at + SZ + k] = on
            g[at + SX + k] = sx
            g[at + SY + k] = sy


@kernel()
def _any_miss(c):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(LANES):
        total += c[MISSES + k]
    return total > 0.0


@kernel()
def _search_lane(g, c, k, t, st, friction):  # type: ignore[no-untyped-def]
    """Minimise F of lane k by the line search, and keep the states there."""
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
            t[ls.BOUND + n] = g[at + BOUND] if friction else 0.0
            n += 1
    # Any start will do: 0 is where the robot would be without impulses.
    ls.minimise(
        t, st, n, c[M + k], c[Z + k], c[JXX + k], c[JXY + k], c[JYY + k], c[JXZ + k], c[JYZ + k], c[JZZ + k],
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    )  # fmt: skip
    n = 0
    for leg in range(N_LEGS):
        at = leg * LEG + k
        if g[at + WZ] > 0.0:
            if friction:
                g[at + SZ] = st[ls.SZ + n]
                g[at + SX] = st[ls.SX + n]
                g[at + SY] = st[ls.SY + n]
            else:
                g[at + S1] = st[ls.SZ + n]
            n += 1


@kernel()
def solve(g, c, present, t, st):  # type: ignore[no-untyped-def]
    """Both stages for every lane: c's d, and each foot's bound and states.

    A lane's result does not depend on the other lanes: a pass leaves a lane that agreed as it is, and one that did not
    always gets the same number of passes. Every d comes from a pass, so that it depends on the states alone.
    """
    for stage in range(2):
        for _ in range(PASSES):
            if stage == 0:
                normal_pass(g, c, present)
            else:
                friction_pass(g, c, present)
            if not _any_miss(c):
                break
        if _any_miss(c):
            for k in range(LANES):
                if c[MISSES + k] > 0.0:
                    _search_lane(g, c, k, t, st, stage == 1)
            if stage == 0:
                normal_pass(g, c, present)
            else:
                friction_pass(g, c, present)
