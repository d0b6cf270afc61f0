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
In `careful` lanes a pass changes the states of one contact only, the first whose states differ: this ends most cycles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import LANES, bits, choose, in_each_byte, load, spread, store, where
from tesselite.problems.hexapod_locomotion.robot import FRICTION

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Rows of a group's contact problems, value of lane k at NAME + k: inertia M (set by `kinematic`), and d.
M, Z, JXX, JXY, JXZ, JYY, JYZ, JZZ, DX, DY, DZ, DGX, DGY, DW = range(0, 14 * LANES, LANES)
# Behind them, of contact j at j * CONTACT + NAME: place, free velocities, weights, bound of the friction.
A, B, UZ, UX, UY, WZ, WX, WY, BOUND = range(14 * LANES, 23 * LANES, LANES)
CONTACT = 9 * LANES
HEAD = 14 * LANES  # rows of a problem without contacts

# The states of contact j are one word: a byte for each of these, with a bit for each lane. HERE: the robot has a
# contact j. ON1: it is on in stage 1. BOUNDED: it has friction in stage 2. ON: it is on in stage 2. Its friction along
# x is +B (XP), -B (XM) or between; so is that along y.
HERE, ON1, BOUNDED, ON, XP, XM, YP, YM = range(0, 8 * LANES, LANES)
ALL = (1 << LANES) - 1
EACH = 0x0101010101010101  # one lane, in every byte


class Change(NamedTuple):
    """d: the change of the angular velocity and of the velocity of G."""

    x: Any
    y: Any
    z: Any
    gx: Any
    gy: Any
    w: Any


@kernel(allocates=False, forceinline=True)
def change_of(p: Floats) -> Any:
    """The d that a problem's rows hold."""
    return Change(load(p, DX), load(p, DY), load(p, DZ), load(p, DGX), load(p, DGY), load(p, DW))


@kernel(allocates=False, forceinline=True)
def keep_change(p: Floats, d: Any) -> None:
    """Write d into a problem's rows."""
    store(p, DX, d.x)
    store(p, DY, d.y)
    store(p, DZ, d.z)
    store(p, DGX, d.gx)
    store(p, DGY, d.gy)
    store(p, DW, d.w)


@kernel(allocates=False, forceinline=True)
def lanes_in(word: int, state: int) -> int:
    """The lanes in a state, as bits."""
    return word >> state & ALL


@kernel(allocates=False, forceinline=True)
def solve_two(kxx: Any, kxy: Any, kyy: Any, rx: Any, ry: Any) -> Any:
    """The solution of K d = r, 2 x 2.

    Not Cramer's rule: with two feet down K is nearly singular, and only elimination keeps the residual small.
    """
    ixx = 1.0 / kxx
    f = kxy * ixx
    dy = (ry - f * rx) / (kyy - f * kxy)
    return (rx - kxy * dy) * ixx, dy


class Normal(NamedTuple):
    """Sums over normal rows: of w, w a, w b, w a a, w a b, w b b, and minus the gradient along x, y and z."""

    w: Any
    wa: Any
    wb: Any
    waa: Any
    wab: Any
    wbb: Any
    rx: Any
    ry: Any
    rz: Any


@kernel(allocates=False, forceinline=True)
def _no_rows() -> Any:
    """The sums over no normal rows."""
    zero = spread(0.0)
    return Normal(zero, zero, zero, zero, zero, zero, zero, zero, zero)


@kernel(allocates=False, forceinline=True)
def _add_normal(w: Any, a: Any, b: Any, u: Any, sums: Any) -> Any:
    """Sums with a row of weight w at (a, b), whose velocity is u."""
    wa = w * a
    wb = w * b
    wu = w * u
    return Normal(
        sums.w + w,
        sums.wa + wa,
        sums.wb + wb,
        sums.waa + wa * a,
        sums.wab + wa * b,
        sums.wbb + wb * b,
        sums.rx - b * wu,
        sums.ry + a * wu,
        sums.rz - wu,
    )


@kernel(allocates=False, forceinline=True)
def _normal_pass(p: Floats, s: Ints, n: int, careful: int, refine: bool) -> int:
    """Stage 1: d for the guessed states, then the states there. Without friction (Gx, Gy) follow, and wz is eliminated.

    The solution starts from d = 0, or with `refine` from the d of the last pass: its error, some 1e-12 because the
    weights are so much larger than M, then falls to rounding. Returns the lanes whose guess was another, as bits.
    """
    zero = spread(0.0)
    ox = oy = oz = zero
    if refine:
        ox = load(p, DX)
        oy = load(p, DY)
        oz = load(p, DZ)
    sums = _no_rows()
    for j in range(n):
        i = j * CONTACT
        a = load(p, i + A)
        b = load(p, i + B)
        u = load(p, i + UZ)
        if refine:
            u = u + b * ox - a * oy + oz
        sums = _add_normal(choose(where(s[j] >> ON1), load(p, i + WZ), 0.0), a, b, u, sums)
    sw, swa, swb, rx, ry, rz = sums.w, sums.wa, sums.wb, sums.rx, sums.ry, sums.rz
    m = load(p, M)
    iw = 1.0 / load(p, JZZ)
    jxz = load(p, JXZ)
    jyz = load(p, JYZ)
    iz = 1.0 / (m + sw)
    axx = load(p, JXX) - jxz * jxz * iw
    ayy = load(p, JYY) - jyz * jyz * iw
    axy = load(p, JXY) - jxz * jyz * iw
    kxx = axx + sums.wbb - swb * swb * iz
    kyy = ayy + sums.waa - swa * swa * iz
    kxy = axy - sums.wab + swb * swa * iz
    if refine:
        rz -= m * oz
        rx -= axx * ox + axy * oy + swb * iz * rz
        ry -= axy * ox + ayy * oy - swa * iz * rz
    else:
        rx -= swb * iz * rz
        ry += swa * iz * rz
    dx, dy = solve_two(kxx, kxy, kyy, rx, ry)
    dz = (rz - swb * dx + swa * dy) * iz
    if refine:
        dz = oz + dz
        dx += ox
        dy += oy
    store(p, DX, dx)
    store(p, DY, dy)
    store(p, DZ, dz)
    missed = 0
    for j in range(n):
        i = j * CONTACT
        word = s[j]
        here = lanes_in(word, HERE)
        u = load(p, i + UZ) + load(p, i + B) * dx - load(p, i + A) * dy + dz
        on = bits(u < 0.0) & here
        changed = on ^ lanes_in(word, ON1)
        on ^= changed & missed & careful
        missed |= changed
        if refine:  # stage 2 begins with this
            bound = -FRICTION * load(p, i + WZ) * u
            bounded = bits(bound > 0.0) & here
            store(p, i + BOUND, choose(where(bounded), bound, 0.0))
            s[j] = word & ~(ALL << ON1 | ALL << BOUNDED | ALL << ON) | on << ON1 | bounded << BOUNDED | on << ON
        else:
            s[j] = word & ~(ALL << ON1) | on << ON1
    return missed


@kernel(allocates=False)
def normal_pass(p: Floats, s: Ints, n: int, careful: int) -> int:
    """A pass of stage 1 over groups with at most n contacts: the lanes whose states were not those guessed, as bits."""
    return _normal_pass(p, s, n, careful, False)


@kernel(allocates=False)
def refine_normal(p: Floats, s: Ints, n: int) -> int:
    """The last pass of stage 1, which also gives stage 2 its bounds and its first states."""
    return _normal_pass(p, s, n, 0, True)


class Friction(NamedTuple):
    """Sums over rows of friction: of weights along x and y, of their products with a and b, and of forces."""

    hx: Any
    hy: Any
    hp: Any
    hq: Any
    hw: Any
    fx: Any
    fy: Any
    fw: Any


@part()
def _friction_rows(p: Floats, s: Ints, n: int, refine: bool, o: Any) -> Any:
    """Sums over normal rows (those of `_add_normal`) and over rows of friction, in the guessed states."""
    zero = spread(0.0)
    sums = _no_rows()
    hx = hy = hp = hq = hw = fx = fy = fw = zero
    for j in range(n):
        i = j * CONTACT
        word = s[j]
        a = load(p, i + A)
        b = load(p, i + B)
        uz = load(p, i + UZ)
        ux = load(p, i + UX)
        uy = load(p, i + UY)
        if refine:
            uz = uz + b * o.x - a * o.y + o.z
            ux = ux + o.gx - b * o.w
            uy = uy + o.gy + a * o.w
        sums = _add_normal(choose(where(word >> ON), load(p, i + WZ), 0.0), a, b, uz, sums)
        bound = load(p, i + BOUND)
        bounded = word >> BOUNDED
        w = choose(where(bounded & ~(word >> XP | word >> XM)), load(p, i + WX), 0.0)
        v = choose(where(bounded & ~(word >> YP | word >> YM)), load(p, i + WY), 0.0)
        f = choose(where(word >> XP), bound, choose(where(word >> XM), -bound, -(w * ux)))
        e = choose(where(word >> YP), bound, choose(where(word >> YM), -bound, -(v * uy)))
        wb = w * b
        va = v * a
        hx += w
        hy += v
        hp -= wb
        hq += va
        hw += wb * b + va * a
        fx += f
        fy += e
        fw += e * a - f * b
    return sums, Friction(hx, hy, hp, hq, hw, fx, fy, fw)


@part()
def _friction_solution(p: Floats, sums: Any, friction: Any, refine: bool, o: Any) -> Any:
    """d from these sums.

    M couples (wx, wy, Gz) with (Gx, Gy, wz) through m z and the products of inertia only, so the second three are
    eliminated first; what remains is 3 x 3.
    """
    sw, swa, swb, rx, ry, rz = sums.w, sums.wa, sums.wb, sums.rx, sums.ry, sums.rz
    hx, hy, hp, hq, hw = friction.hx, friction.hy, friction.hp, friction.hq, friction.hw
    fx, fy, fw = friction.fx, friction.fy, friction.fw
    m = load(p, M)
    z = load(p, Z)
    jxx = load(p, JXX)
    jxy = load(p, JXY)
    jxz = load(p, JXZ)
    jyy = load(p, JYY)
    jyz = load(p, JYZ)
    jzz = load(p, JZZ)
    mz = m * z
    if refine:  # minus M d of where we start
        vx = m * (o.gx + z * o.y)
        vy = m * (o.gy - z * o.x)
        fx -= vx
        fy -= vy
        fw -= jxz * o.x + jyz * o.y + jzz * o.w
        rx -= jxx * o.x + jxy * o.y + jxz * o.w - z * vy
        ry -= jxy * o.x + jyy * o.y + jyz * o.w + z * vx
        rz -= m * o.z
    ix = 1.0 / (m + hx)
    iy = 1.0 / (m + hy)
    iw = 1.0 / (jzz + hw - hp * hp * ix - hq * hq * iy)
    cx = jxz + hq * mz * iy
    cy = jyz - hp * mz * ix
    gw = fw - hp * ix * fx - hq * iy * fy
    iz = 1.0 / (m + sw)
    rx += mz * iy * fy - cx * iw * gw - swb * iz * rz
    ry += swa * iz * rz - mz * ix * fx - cy * iw * gw
    kxx = jxx + mz * z + sums.wbb - mz * mz * iy - cx * cx * iw - swb * swb * iz
    kyy = jyy + mz * z + sums.waa - mz * mz * ix - cy * cy * iw - swa * swa * iz
    kxy = jxy - sums.wab - cx * cy * iw + swb * swa * iz
    dx, dy = solve_two(kxx, kxy, kyy, rx, ry)
    dw = (gw - cx * dx - cy * dy) * iw
    dgx = (fx - mz * dy - hp * dw) * ix
    dgy = (fy + mz * dx - hq * dw) * iy
    dz = (rz - swb * dx + swa * dy) * iz
    if refine:
        return Change(dx + o.x, dy + o.y, o.z + dz, o.gx + dgx, o.gy + dgy, dw + o.w)
    return Change(dx, dy, dz, dgx, dgy, dw)


@kernel(allocates=False, forceinline=True)
def _friction_pass(p: Floats, s: Ints, n: int, careful: int, refine: bool) -> int:
    """Stage 2: d for the guessed states, then the states there; from d = 0, or to `refine` from the last pass's d.

    Returns the lanes whose guess was another, as bits.
    """
    zero = spread(0.0)
    o = Change(zero, zero, zero, zero, zero, zero)
    if refine:
        o = change_of(p)
    sums, friction = _friction_rows(p, s, n, refine, o)
    d = _friction_solution(p, sums, friction, refine, o)
    keep_change(p, d)
    missed = 0
    for j in range(n):
        word = s[j]
        on, xp, xm, yp, ym = states_at(p, word, j, d)
        found = on << ON | xp << XP | xm << XM | yp << YP | ym << YM
        changed = (word ^ found) & (ALL << ON | ALL << XP | ALL << XM | ALL << YP | ALL << YM)
        lanes = (changed >> ON | changed >> XP | changed >> XM | changed >> YP | changed >> YM) & ALL
        found ^= changed & in_each_byte(lanes & missed & careful)
        missed |= lanes
        # Between +B and -B lies sticking: to stop there first prevents most cycles.
        found &= ~((word & ALL << XP) << LANES | word >> LANES & (ALL << XP | ALL << YP) | (word & ALL << YP) << LANES)
        s[j] = word & (ALL << HERE | ALL << ON1 | ALL << BOUNDED) | found
    return missed


@kernel(allocates=False, forceinline=True)
def states_at(p: Floats, word: int, j: int, d: Any) -> tuple[int, int, int, int, int]:
    """Lanes whose contact j is at d in the states ON, XP, XM, YP, YM."""
    i = j * CONTACT
    a = load(p, i + A)
    b = load(p, i + B)
    bound = load(p, i + BOUND)
    bounded = lanes_in(word, BOUNDED)
    f = -load(p, i + WX) * (load(p, i + UX) + d.gx - b * d.w)
    e = -load(p, i + WY) * (load(p, i + UY) + d.gy + a * d.w)
    return (
        bits(load(p, i + UZ) + b * d.x - a * d.y + d.z < 0.0) & lanes_in(word, HERE),
        bits(f > bound) & bounded,
        bits(f < -bound) & bounded,
        bits(e > bound) & bounded,
        bits(e < -bound) & bounded,
    )


@kernel(allocates=False)
def friction_pass(p: Floats, s: Ints, n: int, careful: int) -> int:
    """A pass of stage 2 over groups with at most n contacts: the lanes whose states were not those guessed, as bits."""
    return _friction_pass(p, s, n, careful, False)


@kernel(allocates=False)
def refine_friction(p: Floats, s: Ints, n: int) -> int:
    """The last pass of stage 2."""
    return _friction_pass(p, s, n, 0, True)
