"""One step of the `kinematic` engine: the hexapod's base as the only dynamic body, its legs moved by imposed angles.

Each part of a step does LANES robots side by side. The sums over the legs live in `legs`, the contact problem in
`contact`, whole episodes in `lockstep`. Equations: docs/hexapod-dynamics.md, with its letters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Vector(NamedTuple):
    """A vector, LANES of them."""

    x: Any
    y: Any
    z: Any


class Rotation(NamedTuple):
    """A rotation matrix by rows: from the base frame to the world."""

    xx: Any
    xy: Any
    xz: Any
    yx: Any
    yy: Any
    yz: Any
    zx: Any
    zy: Any
    zz: Any


class Symmetric(NamedTuple):
    """A symmetric matrix."""

    xx: Any
    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any


@kernel(allocates=False, forceinline=True)
def _vector(rows: Floats, at: int) -> Any:
    """The vector in three rows."""
    return Vector(load(rows, at), load(rows, at + LANES), load(rows, at + 2 * LANES))


@kernel(allocates=False, forceinline=True)
def _symmetric(rows: Floats, at: int) -> Any:
    """The symmetric matrix in six rows."""
    return Symmetric(
        load(rows, at),
        load(rows, at + LANES),
        load(rows, at + 2 * LANES),
        load(rows, at + 3 * LANES),
        load(rows, at + 4 * LANES),
        load(rows, at + 5 * LANES),
    )


@kernel(allocates=False, forceinline=True)
def _keep_vector(rows: Floats, at: int, v: Any) -> None:
    """Write a vector into three rows."""
    store(rows, at, v.x)
    store(rows, at + LANES, v.y)
    store(rows, at + 2 * LANES, v.z)


@kernel(allocates=False, forceinline=True)
def _keep_symmetric(rows: Floats, at: int, s: Any) -> None:
    """Write a symmetric matrix into six rows."""
    store(rows, at, s.xx)
    store(rows, at + LANES, s.xy)
    store(rows, at + 2 * LANES, s.xz)
    store(rows, at + 3 * LANES, s.yy)
    store(rows, at + 4 * LANES, s.yz)
    store(rows, at + 5 * LANES, s.zz)


@kernel(allocates=False, forceinline=True)
def _rotation(g: Floats) -> Any:
    """R from the quaternion of the base."""
    w = load(g, QW)
    x = load(g, QX)
    y = load(g, QY)
    z = load(g, QZ)
    return Rotation(
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@kernel(allocates=False, forceinline=True)
def _turned(r: Any, v: Any) -> Any:
    """R v."""
    return Vector(
        r.xx * v.x + r.xy * v.y + r.xz * v.z,
        r.yx * v.x + r.yy * v.y + r.yz * v.z,
        r.zx * v.x + r.zy * v.y + r.zz * v.z,
    )


@kernel(allocates=False, forceinline=True)
def _turned_back(r: Any, v: Any) -> Any:
    """R^T v."""
    return Vector(
        r.xx * v.x + r.yx * v.y + r.zx * v.z,
        r.xy * v.x + r.yy * v.y + r.zy * v.z,
        r.xz * v.x + r.yz * v.y + r.zz * v.z,
    )


@kernel(allocates=False, forceinline=True)
def _times(s: Any, x: Any, y: Any, z: Any) -> Any:
    """S (x, y, z) for a symmetric matrix S."""
    return Vector(
        s.xx * x + s.xy * y + s.xz * z,
        s.xy * x + s.yy * y + s.yz * z,
        s.xz * x + s.yz * y + s.zz * z,
    )


@kernel(allocates=False, forceinline=True)
def _inertial_force(t: Floats, wb: Any, mc: Any) -> Any:
    """f = -wb x (wb x m c + 2 p) - pd, in the base frame."""
    tx = wb.y * mc.z - wb.z * mc.y + 2.0 * load(t, lg.PX)
    ty = wb.z * mc.x - wb.x * mc.z + 2.0 * load(t, lg.PY)
    tz = wb.x * mc.y - wb.y * mc.x + 2.0 * load(t, lg.PZ)
    return Vector(
        wb.z * ty - wb.y * tz - load(t, lg.PDX),
        wb.x * tz - wb.z * tx - load(t, lg.PDY),
        wb.y * tx - wb.x * ty - load(t, lg.PDZ),
    )


@kernel(allocates=False, forceinline=True)
def _inertial_torque(t: Floats, wb: Any, s: Any, c: Any, f: Any) -> Any:
    """n = -Id wb - hd - wb x (I wb + h) - c x f, with I = tr(S) 1 - S and Id = tr(Sd) 1 - Sd."""
    lx = (s.yy + s.zz) * wb.x - s.xy * wb.y - s.xz * wb.z + load(t, lg.HX)
    ly = (s.xx + s.zz) * wb.y - s.xy * wb.x - s.yz * wb.z + load(t, lg.HY)
    lz = (s.xx + s.yy) * wb.z - s.xz * wb.x - s.yz * wb.y + load(t, lg.HZ)
    d = _symmetric(t, lg.SDXX)
    hd = _vector(t, lg.HDX)
    return Vector(
        d.xy * wb.y + d.xz * wb.z - (d.yy + d.zz) * wb.x - hd.x - wb.y * lz + wb.z * ly - c.y * f.z + c.z * f.y,
        d.xy * wb.x + d.yz * wb.z - (d.xx + d.zz) * wb.y - hd.y - wb.z * lx + wb.x * lz - c.z * f.x + c.x * f.z,
        d.xz * wb.x + d.yz * wb.y - (d.xx + d.yy) * wb.z - hd.z - wb.x * ly + wb.y * lx - c.x * f.y + c.y * f.x,
    )


@kernel(allocates=False, forceinline=True)
def _inertia(s: Any, mc: Any, c: Any, r: Any) -> Any:
    """J = tr(T) 1 - T with T = R (S - m c c^T) R^T: the inertia about the centre of mass, in the world."""
    s = Symmetric(
        s.xx - mc.x * c.x, s.xy - mc.x * c.y, s.xz - mc.x * c.z, s.yy - mc.y * c.y, s.yz - mc.y * c.z, s.zz - mc.z * c.z
    )
    tx = _turned(r, _times(s, r.xx, r.xy, r.xz))
    ty = _turned(r, _times(s, r.yx, r.yy, r.yz))
    tzz = s.xx + s.yy + s.zz - tx.x - ty.y
    return Symmetric(ty.y + tzz, -tx.y, -tx.z, tx.x + tzz, -ty.z, tx.x + ty.y)


@kernel(allocates=False, forceinline=True)
def _inverse(j: Any) -> Any:
    """The inverse of a symmetric matrix."""
    kxx = j.yy * j.zz - j.yz * j.yz
    kxy = j.xz * j.yz - j.xy * j.zz
    kxz = j.xy * j.yz - j.xz * j.yy
    idet = 1.0 / (j.xx * kxx + j.xy * kxy + j.xz * kxz)
    return Symmetric(
        kxx * idet,
        kxy * idet,
        kxz * idet,
        (j.xx * j.zz - j.xz * j.xz) * idet,
        (j.xy * j.xz - j.xx * j.yz) * idet,
        (j.xx * j.yy - j.xy * j.xy) * idet,
    )


@kernel(allocates=False)
def free_velocity(g: Floats, t: Floats, p: Floats, sums: Floats, dt: float) -> None:
    """(c): rotation matrices, the velocities at the end of the step if nothing touched the floor, the inertia there."""
    m = sums[0]
    im = 1.0 / m
    r = _rotation(g)
    w = _vector(g, WX)
    v = _vector(g, VX)
    wb = _turned_back(r, w)
    mc = Vector(sums[1] + load(t, lg.MCX), sums[2] + load(t, lg.MCY), load(t, lg.MCZ))
    c = Vector(mc.x * im, mc.y * im, mc.z * im)
    s = Symmetric(
        sums[3] + _BASE_XX + load(t, lg.SXX),
        sums[4] + load(t, lg.SXY),
        load(t, lg.SXZ),
        sums[5] + _BASE_YY + load(t, lg.SYY),
        load(t, lg.SYZ),
        _BASE_ZZ + load(t, lg.SZZ),
    )
    f = _inertial_force(t, wb, mc)
    n = _turned(r, _inertial_torque(t, wb, s, c, f))
    j = _inertia(s, mc, c, r)
    k = _inverse(j)
    # wd = K R n; vd = R f / m + g - wd x R c
    wd = _times(k, n.x, n.y, n.z)
    c = _turned(r, c)
    f = _turned(r, f)
    w = Vector(w.x + dt * wd.x, w.y + dt * wd.y, w.z + dt * wd.z)
    v = Vector(
        v.x + dt * (f.x * im - wd.y * c.z + wd.z * c.y),
        v.y + dt * (f.y * im - wd.z * c.x + wd.x * c.z),
        v.z + dt * (f.z * im - GRAVITY - wd.x * c.y + wd.y * c.x),
    )
    _keep_vector(t, R00, Vector(r.xx, r.xy, r.xz))
    _keep_vector(t, R10, Vector(r.yx, r.yy, r.yz))
    _keep_vector(t, R20, Vector(r.zx, r.zy, r.zz))
    # (d), (e): the base's lowest corner; the ground point G under the centre of mass, and its velocity.
    oz = load(g, OZ)
    store(t, LOW, oz - _HALF_X * magnitude(r.zx) - _HALF_Y * magnitude(r.zy) - _HALF_Z * magnitude(r.zz))
    store(g, CX, c.x)
    store(g, CY, c.y)
    store(t, ZC, oz + c.z)
    _keep_vector(t, GX, Vector(v.x - w.y * oz - w.z * c.y, v.y + w.z * c.x + w.x * oz, v.z + w.x * c.y - w.y * c.x))
    _keep_vector(g, WX, w)
    _keep_vector(g, VX, v)
    _keep_symmetric(p, ct.JXX, j)
    _keep_symmetric(t, KXX, k)
    store(p, ct.M, m)
    store(p, ct.Z, oz + c.z)


@kernel(allocates=False, forceinline=True)
def _weights(im: float, inverse: Any, x: float, y: float, z: float) -> Any:
    """Weights of the z, x and y rows of a contact at (x, y) from G, with the centre of mass at height z."""
    k = inverse
    return (
        _STIFFNESS / (im + k.xx * y * y - 2.0 * k.xy * x * y + k.yy * x * x),
        _STIFFNESS / (im + k.yy * z * z + 2.0 * k.yz * z * y + k.zz * y * y),
        _STIFFNESS / (im + k.xx * z * z + 2.0 * k.xz * z * x + k.zz * x * x),
    )


class Foot(NamedTuple):
    """A foot in the base frame: position, velocity, and the rate of J1 of its leg."""

    place: Any
    velocity: Any
    rate: Any


@kernel(allocates=False, forceinline=True)
def _number_feet(g: Floats, t: Floats, feet: Ints, s: Ints, present: Ints) -> None:
    """Number the feet that touch the floor; s[j] has a bit for each robot with a contact j."""
    oz = load(g, OZ)
    up = _vector(t, R20)
    for j in range(N_LEGS):
        s[j] = 0
    for leg in range(N_LEGS):
        if present[leg] == 1:
            at = leg * lg.LEG
            height = oz + up.x * load(t, at + lg.FX) + up.y * load(t, at + lg.FY) + up.z * load(t, at + lg.FZ)
            touches = bits(FOOT_RADIUS - height >= 0.0)
            feet[TOUCHING + leg] = touches
            for j in range(leg + 1):
                this = touches & ~s[j]
                feet[NUMBERED + j * N_LEGS + leg] = this
                s[j] |= this
                touches &= ~this


@kernel(allocates=False, forceinline=True)
def _foot_of(t: Floats, feet: Ints, s: Ints, n: int) -> Any:
    """The foot of contact n of each robot; completes s[n] by the states that it had in the step before."""
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
    return Foot(Vector(fx, fy, fz), Vector(dx, dy, dz), d1)


@kernel(allocates=False)
def find_contacts(g: Floats, t: Floats, feet: Ints, p: Floats, s: Ints, present: Ints, sums: Floats, dt: float) -> int:
    """(d), (e): number the feet that touch the floor, and write their contacts: place, free velocities, weights.

    Contact j of a robot is that of its j-th foot that touches, in order of legs. Returns the largest number of contacts
    that a robot has.
    """
    _number_feet(g, t, feet, s, present)
    im = 1.0 / sums[0]
    share = PUSH_OUT_SHARE / dt
    oz = load(g, OZ)
    x, y, z = _vector(t, R00), _vector(t, R10), _vector(t, R20)
    r = Rotation(x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z)
    inverse = _symmetric(t, KXX)
    w = _vector(g, WX)
    n = 0
    while n < N_LEGS and s[n] != 0:
        foot = _foot_of(t, feet, s, n)
        place = foot.place
        height = oz + r.zx * place.x + r.zy * place.y + r.zz * place.z
        a = r.xx * place.x + r.xy * place.y + r.xz * place.z - load(g, CX)
        b = r.yx * place.x + r.yy * place.y + r.yz * place.z - load(g, CY)
        push = (FOOT_RADIUS - height) * share
        push = choose(push > PUSH_OUT_SPEED, PUSH_OUT_SPEED, push)
        u = _turned(r, foot.velocity)
        ux = u.x - foot.rate * r.yz * height
        uy = u.y + foot.rate * r.xz * height
        i = n * ct.CONTACT
        store(p, i + ct.A, a)
        store(p, i + ct.B, b)
        store(p, i + ct.UZ, u.z + load(t, GZ) + w.x * b - w.y * a - push)
        store(p, i + ct.UX, ux + load(t, GX) - w.z * b)
        store(p, i + ct.UY, uy + load(t, GY) + w.z * a)
        weight_z, weight_x, weight_y = _weights(im, inverse, a, b, load(t, ZC))
        store(p, i + ct.WZ, weight_z)
        store(p, i + ct.WX, weight_x)
        store(p, i + ct.WY, weight_y)
        n += 1
    return n


@kernel(allocates=False)
def keep_states(feet: Ints, s: Ints, n: int) -> None:
    """Keep the contacts' states for the next step: a foot in the air will come down on, and stick."""
    for leg in range(N_LEGS):
        word = (~feet[TOUCHING + leg] & ct.ALL) << ct.ON1
        for j in range(min(n, leg + 1)):
            word |= in_each_byte(feet[NUMBERED + j * N_LEGS + leg]) & s[j]
        feet[STATES + leg] = word & _KEPT


@kernel(allocates=False)
def add_corners(g: Floats, t: Floats, k: int, p: Floats, s: Ints, n: int, sums: Floats, dt: float) -> int:
    """Add the corners of the base's lowest face that touch the floor to the n contacts of a robot: how many there are.

    The robot is lane k of its group, and lane 0 of the problem. DART's box against its floor gives these contacts. An
    episode needs them only while the robot comes to rest: before, a base that touches the floor ends it.
    """
    im = 1.0 / sums[0]
    inverse = Symmetric(t[KXX + k], t[KXY + k], t[KXZ + k], t[KYY + k], t[KYZ + k], t[KZZ + k])
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


@kernel(allocates=False)
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


@kernel(allocates=False)
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
