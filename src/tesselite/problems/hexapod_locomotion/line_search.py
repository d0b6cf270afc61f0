"""Newton's method with an exact line search on contact problems: slower than passes, and sure to end at the minimum.

The problem and its letters are those of `contact`; `solver` calls this for the few robots that the passes leave over,
and `kinematic` for a robot whose base lies on the floor. LANES of them are worked on side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tesselite.problems.hexapod_locomotion.contact as ct
from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import LANES, bits, choose, in_each_byte, load, read, spread, store, where, write
from tesselite.problems.hexapod_locomotion.contact import ALL

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_CONTACTS = 10  # six feet, and four corners of the base when it lies on the floor
MAX_ITERATIONS = 60

# The line at work, of axis z, x, y of contact j at (3 j + axis) * AXIS + NAME. STATE: 0 where the impulse follows the
# velocity, +1 and -1 where it is at its upper and its lower limit (normal impulses have 0 as their lower limit, and no
# upper one). WEIGHT: 0 where there is no row. LIMIT: the speed at which friction reaches its bound. As the velocity
# rises along the line, the state falls, by up to two breakpoints: TURN is by how much it changes at each, FIRST and
# SECOND are where they are, and what follows is how the curvature changes there.
STATE, WEIGHT, LIMIT, TURN, FIRST, FIRST_CHANGE, SECOND, SECOND_CHANGE = range(0, 8 * LANES, LANES)
AXIS = 8 * LANES
# Behind the axes: one that lanes without a breakpoint change, and where the nearest breakpoint of each lane is.
_NOWHERE = 3 * MAX_CONTACTS * AXIS
_NEAREST = _NOWHERE + AXIS
LINE = _NEAREST + LANES


@kernel(allocates=False, forceinline=True)
def _solve_states(p: Floats, line: Floats, n: int) -> Any:
    """The minimum d of the quadratic that F is while the n contacts keep their states: six numbers.

    M couples (wx, wy, Gz) with (Gx, Gy, wz) through m z and the products of inertia only, so the second three are
    eliminated first; what remains is 3 x 3.
    """
    m = load(p, ct.M)
    z = load(p, ct.Z)
    jxz = load(p, ct.JXZ)
    jyz = load(p, ct.JYZ)
    mz = m * z
    sw = swa = swb = swaa = swab = swbb = spread(0.0)
    rx = ry = rz = spread(0.0)
    hx = hy = m
    hp = hq = spread(0.0)
    hw = load(p, ct.JZZ)
    fx = fy = fw = spread(0.0)
    for j in range(n):
        i = j * ct.CONTACT
        at = 3 * j * AXIS
        a = load(p, i + ct.A)
        b = load(p, i + ct.B)
        w = choose(load(line, at + STATE) == 0.0, load(line, at + WEIGHT), 0.0)
        u = load(p, i + ct.UZ)
        wa = w * a
        wb = w * b
        sw += w
        swa += wa
        swb += wb
        swaa += wa * a
        swab += wa * b
        swbb += wb * b
        rx -= wb * u
        ry += wa * u
        rz -= w * u
        bound = load(p, i + ct.BOUND)
        at += AXIS
        state = load(line, at + STATE)
        w = choose(state == 0.0, load(line, at + WEIGHT), 0.0)
        f = state * bound - w * load(p, i + ct.UX)
        wb = w * b
        hx += w
        hp -= wb
        hw += wb * b
        fx += f
        fw -= f * b
        at += AXIS
        state = load(line, at + STATE)
        w = choose(state == 0.0, load(line, at + WEIGHT), 0.0)
        f = state * bound - w * load(p, i + ct.UY)
        wa = w * a
        hy += w
        hq += wa
        hw += wa * a
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
    hxx = load(p, ct.JXX) + mz * z + swbb - mz * mz * iy - cx * cx * iw
    hyy = load(p, ct.JYY) + mz * z + swaa - mz * mz * ix - cy * cy * iw
    hxy = load(p, ct.JXY) - swab - cx * cy * iw
    # Then Gz, wx, wy.
    iz = 1.0 / (m + sw)
    kxx = hxx - swb * swb * iz
    kyy = hyy - swa * swa * iz
    kxy = hxy + swb * swa * iz
    rx -= swb * iz * rz
    ry += swa * iz * rz
    dx, dy = ct.solve_two(kxx, kxy, kyy, rx, ry)
    dz = (rz - swb * dx + swa * dy) * iz
    dw = (gw - cx * dx - cy * dy) * iw
    dgx = (fx - mz * dy - hp * dw) * ix
    dgy = (fy + mz * dx - hq * dw) * iy
    return ct.Change(dx, dy, dz, dgx, dgy, dw)


@kernel(allocates=False, forceinline=True)
def _lay_normal(line: Floats, at: int, u: Any, du: Any) -> Any:
    """Lay a normal axis on the line: velocity u where that starts, and du along it. Its share of the curvature."""
    state = load(line, at + STATE)
    weight = load(line, at + WEIGHT)
    on = state == 0.0
    change = weight * du * du
    crosses = choose(on, du, -du) > 0.0
    store(line, at + FIRST, choose(crosses & (weight > 0.0), -u / du, np.inf))
    store(line, at + FIRST_CHANGE, choose(on, -change, change))
    store(line, at + TURN, choose(du > 0.0, -1.0, spread(1.0)))
    return choose(on, change, 0.0)


@kernel(allocates=False, forceinline=True)
def _lay_friction(line: Floats, at: int, u: Any, du: Any) -> Any:
    """Lay a friction axis on the line; the same arguments and result."""
    state = load(line, at + STATE)
    weight = load(line, at + WEIGHT)
    between = state == 0.0
    change = weight * du * du
    here = weight > 0.0
    # From the limit behind, if the impulse is there, to the one ahead.
    limit = choose(du > 0.0, load(line, at + LIMIT), -load(line, at + LIMIT))
    behind = (state * du > 0.0) & here
    ahead = (limit - u) / du
    first = choose(between & here & (du != 0.0), ahead, np.inf)
    store(line, at + FIRST, choose(behind, (-limit - u) / du, first))
    store(line, at + FIRST_CHANGE, choose(between, -change, change))
    store(line, at + SECOND, choose(behind, ahead, np.inf))
    store(line, at + SECOND_CHANGE, -change)
    store(line, at + TURN, choose(du > 0.0, -1.0, spread(1.0)))
    return choose(between, change, 0.0)


@kernel(allocates=False, forceinline=True)
def _look(line: Floats, at: int, nearest: Any) -> Any:
    """The nearest breakpoint, where it is kept and its change of curvature, if the one at `at` may be it."""
    way, place, change = nearest
    here = load(line, at)
    nearer = here < way
    return (
        choose(nearer, here, way),
        choose(nearer, float(at), place),
        choose(nearer, load(line, at + FIRST_CHANGE - FIRST), change),
    )


@kernel(allocates=False, forceinline=True)
def _lay_states(p: Floats, s: Ints, n: int, line: Floats, d: Any) -> None:
    """Write the states at d, weights and limits of all axes."""
    one = spread(1.0)
    for j in range(n):
        i = j * ct.CONTACT
        word = s[j]
        on, xp, xm, yp, ym = ct.states_at(p, word, j, d)
        bound = load(p, i + ct.BOUND)
        wx = load(p, i + ct.WX)
        wy = load(p, i + ct.WY)
        at = 3 * j * AXIS
        store(line, at + STATE, choose(where(on), 0.0, -one))
        store(line, at + WEIGHT, choose(where(word >> ct.HERE), load(p, i + ct.WZ), 0.0))
        at += AXIS
        bounded = where(word >> ct.BOUNDED)
        store(line, at + STATE, choose(where(xp), one, choose(where(xm), -one, 0.0)))
        store(line, at + WEIGHT, choose(bounded, wx, 0.0))
        store(line, at + LIMIT, bound / wx)
        at += AXIS
        store(line, at + STATE, choose(where(yp), one, choose(where(ym), -one, 0.0)))
        store(line, at + WEIGHT, choose(bounded, wy, 0.0))
        store(line, at + LIMIT, bound / wy)


@kernel(allocates=False, forceinline=True)
def _lay_line(p: Floats, n: int, line: Floats, d: Any, step: Any) -> Any:
    """Lay all axes on the line from d along `step`; the curvature of F there.

    Its slope at the start is minus that, since the quadratic's minimum is at 1.
    """
    m = load(p, ct.M)
    z = load(p, ct.Z)
    jxy = load(p, ct.JXY)
    jxz = load(p, ct.JXZ)
    jyz = load(p, ct.JYZ)
    vx = step.gx + z * step.y
    vy = step.gy - z * step.x
    curvature = m * (vx * vx + vy * vy + step.z * step.z)
    curvature += step.x * (load(p, ct.JXX) * step.x + 2.0 * (jxy * step.y + jxz * step.w))
    curvature += step.y * (load(p, ct.JYY) * step.y + 2.0 * jyz * step.w) + step.w * load(p, ct.JZZ) * step.w
    for j in range(n):
        i = j * ct.CONTACT
        at = 3 * j * AXIS
        a = load(p, i + ct.A)
        b = load(p, i + ct.B)
        u = load(p, i + ct.UZ) + b * d.x - a * d.y + d.z
        curvature += _lay_normal(line, at, u, b * step.x - a * step.y + step.z)
        curvature += _lay_friction(line, at + AXIS, load(p, i + ct.UX) + d.gx - b * d.w, step.gx - b * step.w)
        curvature += _lay_friction(line, at + 2 * AXIS, load(p, i + ct.UY) + d.gy + a * d.w, step.gy + a * step.w)
    return curvature


@kernel(allocates=False, forceinline=True)
def _nearest_breakpoint(line: Floats, n: int, full: Any) -> Any:
    """Where each lane's nearest breakpoint is, where it is kept, and its change of curvature.

    Lanes without one before `full`, where the quadratic's minimum is, have that instead, kept nowhere.
    """
    nearest = (full, spread(float(_NOWHERE)), spread(0.0))
    for j in range(n):
        first = 3 * j * AXIS
        nearest = _look(line, first + FIRST, nearest)
        nearest = _look(line, first + AXIS + FIRST, nearest)
        nearest = _look(line, first + AXIS + SECOND, nearest)
        nearest = _look(line, first + 2 * AXIS + FIRST, nearest)
        nearest = _look(line, first + 2 * AXIS + SECOND, nearest)
    return nearest


@kernel(allocates=False, forceinline=True)
def _walk(line: Floats, n: int, active: int, curvature: Any) -> Any:
    """Walk the line from breakpoint to breakpoint to its minimum: where that is, and the lanes that changed a state."""
    slope = -curvature
    gone = spread(0.0)
    changed = 0
    walking = active
    while True:
        way, place, change = _nearest_breakpoint(line, n, gone - slope / curvature)
        walking &= bits(place < float(_NOWHERE))
        if walking == 0:
            break
        changed |= walking
        here = where(walking)
        ahead = here & (way > gone)  # else rounding put the breakpoint behind us; only the state changes
        slope = choose(ahead, slope + curvature * (way - gone), slope)
        gone = choose(ahead, way, gone)
        curvature = choose(here, curvature + change, curvature)
        store(line, _NEAREST, choose(here, place, float(_NOWHERE)))
        for k in range(LANES):
            found = int(line[_NEAREST + k])
            write(line, found + k, np.inf)
            axis = (found & -AXIS) + k  # AXIS is a power of two
            write(line, axis + STATE, read(line, axis + STATE) + read(line, axis + TURN))
        walking &= ~bits(slope >= 0.0)
        if walking == 0:
            break
    return choose(slope < 0.0, gone - slope / curvature, gone), changed


@kernel(allocates=False, forceinline=True)
def _keep_states(line: Floats, s: Ints, n: int, started: int) -> None:
    """Write the states of the axes into the words of these lanes."""
    each = in_each_byte(started) & (ALL << ct.ON | ALL << ct.XP | ALL << ct.XM | ALL << ct.YP | ALL << ct.YM)
    for j in range(n):
        at = 3 * j * AXIS
        found = (bits(load(line, at + STATE) == 0.0) & ct.lanes_in(s[j], ct.HERE)) << ct.ON
        state = load(line, at + AXIS + STATE)
        found |= bits(state > 0.0) << ct.XP | bits(state < 0.0) << ct.XM
        state = load(line, at + 2 * AXIS + STATE)
        found |= bits(state > 0.0) << ct.YP | bits(state < 0.0) << ct.YM
        s[j] = s[j] & ~each | found & each


@kernel(allocates=False, forceinline=True)
def _chosen(which: Any, a: Any, b: Any) -> Any:
    """The change a in some lanes, b in the others."""
    return ct.Change(
        choose(which, a.x, b.x),
        choose(which, a.y, b.y),
        choose(which, a.z, b.z),
        choose(which, a.gx, b.gx),
        choose(which, a.gy, b.gy),
        choose(which, a.w, b.w),
    )


@kernel(allocates=False)
def minimise(p: Floats, s: Ints, n: int, active: int, line: Floats) -> int:
    """Minimise F from d in the lanes whose bits are set in `active`: leaves d and the states there, in p and s.

    Newton's direction with an exact line search: F along a line is a convex quadratic between breakpoints, which are
    walked one after the other. When no row changes its state before the full step, that step ends at the minimum.
    n: the largest number of contacts. line (LINE,): scratch memory. Returns the number of linear solves.
    """
    d = ct.change_of(p)
    _lay_states(p, s, n, line, d)
    started = active
    iteration = 0
    while active != 0 and iteration < MAX_ITERATIONS:
        iteration += 1
        full = _solve_states(p, line, n)
        step = ct.Change(full.x - d.x, full.y - d.y, full.z - d.z, full.gx - d.gx, full.gy - d.gy, full.w - d.w)
        end, changed = _walk(line, n, active, _lay_line(p, n, line, d, step))
        moved = ct.Change(
            d.x + end * step.x,
            d.y + end * step.y,
            d.z + end * step.z,
            d.gx + end * step.gx,
            d.gy + end * step.gy,
            d.w + end * step.w,
        )
        done = where(active & ~changed)
        active &= changed
        d = _chosen(done, full, _chosen(where(active), moved, d))
    ct.keep_change(p, _chosen(where(started), d, ct.change_of(p)))
    _keep_states(line, s, n, started)
    return iteration
