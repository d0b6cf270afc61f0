"""Rays through a world: how far the first wall pixel is along a direction, one ray at a time or many side by side.

Both give the same bits: the distance is that of the pixel edge behind which the wall begins, computed from the ray's
origin, and how a ray gets there does not matter. Which rays a robot sends out is in `lockstep` and `simulation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import (
    LANES,
    bits,
    cells,
    choose,
    count,
    floored,
    load,
    magnitude,
    packed,
    scatter,
    spread,
    store,
    where,
)

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

# What is kept of each ray, in rows of `room` floats: origin, direction and one over it, how far it has got, and the
# number of its result.
X, Y, DX, DY, PER_X, PER_Y, AT, RESULT = range(8)
N_FIELDS = 8
GOING = 3  # where what was seen tells whether a ray goes on

_STRIDE = 4  # moves between two looks at which rays have ended
_WORTHWHILE = 3.0  # what a pixel holds from which a leap gets further than a walk to the pixel's edge
_BEYOND = 1e-6  # how far behind an edge a walk goes on: far above rounding, ...
_CORNER = 4e-6  # ... and edges in x and y that are as near to each other as this are left to `finish_ray`, as are ...
_STEEPEST = 1e4  # ... rays that cross an edge at so small an angle that they are not behind it there


@kernel(allocates=False)
def finish_ray(leap: Bytes, width: int, x: float, y: float, dx: float, dy: float, longest: float, walk: bool) -> float:
    """Distance from (x, y) along (dx, dy) to the first wall pixel, at most `longest`.

    Leaps where there is room (unless told to walk), and otherwise goes from pixel edge to pixel edge. The distance of
    an edge is computed from the ray's origin, so the answer's bits do not depend on where the walk began.
    """
    step_x = 1.0 if dx >= 0.0 else -1.0
    step_y = 1.0 if dy >= 0.0 else -1.0
    next_x = 1 if dx >= 0.0 else -1
    next_y = width if dy >= 0.0 else -width
    per_x = 1.0 / dx if dx != 0.0 else np.inf
    per_y = 1.0 / dy if dy != 0.0 else np.inf
    enough = 256 if walk else 4
    t = 0.0
    while t < longest:
        i = int(x + t * dx)
        j = int(y + t * dy)
        at = j * width + i
        room = leap[np.uint64(at)]
        edge_x = i + 1.0 if dx >= 0.0 else float(i)
        edge_y = j + 1.0 if dy >= 0.0 else float(j)
        free = t
        while room != 0 and room < enough:
            t_x = (edge_x - x) * per_x
            t_y = (edge_y - y) * per_y
            across = t_x < t_y  # written as selects, not as a branch, because which edge comes next is a coin flip
            t = t_x if across else t_y
            at += next_x if across else next_y
            edge_x += step_x if across else 0.0
            edge_y += 0.0 if across else step_y
            room = leap[np.uint64(at)]
        if room == 0:
            return min(t, longest)
        # Room again: leap from here at once, because on a pixel's edge the loop's head may round to the pixel before.
        # Never back: a ray along the very edge of a pixel crosses it at 0, wherever it is when that is found.
        t = max(t, free) + 0.5 * (float(room) - 1.0)
    return longest


def new_rays(most: int) -> Floats:
    """Memory for this many rays, and for those that are left: `trace` fills up the last vectors."""
    return np.zeros((2, N_FIELDS * (most + 2 * LANES)))


@part()
def append(rays: Floats, n: int, which: int, fields: Any) -> int:
    """Append the rays of the lanes whose bits are set to the n that are there: how many there are then."""
    room = rays.shape[0] // N_FIELDS
    for field in range(N_FIELDS):
        store(rays, field * room + n, packed(where(which), fields[field]))
    return n + count(which)


@kernel(allocates=False)
def trace(leap: Bytes, width: int, rays: Floats, n: int, longest: float, results: Floats) -> None:
    """Write into results[number] how far each of the n rays in rays[0] gets; the last of `results` is for none of them.

    Vectors of rays move for some strides, two at a time so that their latencies overlap; then those that are left move
    together. A ray whose next step is unsure gets a negative result at first.
    """
    given, left = rays[0], n
    asked = 0
    while left > 0:
        before, left = left, 0
        _append_idle(given, before, longest, results.shape[0] - 1.0)
        for first in range(0, before, 2 * LANES):
            one, other = _vector(given, first), _vector(given, first + LANES)
            at, other_at = one[AT], other[AT]
            seen, other_seen = _look(leap, width, longest, one, at), _look(leap, width, longest, other, other_at)
            for _ in range(1, _STRIDE):
                at, other_at = _move(one, at, seen), _move(other, other_at, other_seen)
                seen, other_seen = _look(leap, width, longest, one, at), _look(leap, width, longest, other, other_at)
            for ray, end, last in ((one, at, seen), (other, other_at, other_seen)):
                unsure = _sort_out(longest, ray, last, results)
                goes_on = bits(last[GOING]) & ~unsure
                left = append(rays[1], left, goes_on, (*ray[:AT], _move(ray, end, last), ray[RESULT]))
                asked |= unsure
        given = rays[1]
    if asked:
        _finish(leap, width, rays[0], n, longest, results)


@part()
def _append_idle(rays: Floats, n: int, longest: float, result: float) -> None:
    """Fill up the last vectors with rays that have ended, in the world's first pixel."""
    room = rays.shape[0] // N_FIELDS
    for field in range(N_FIELDS):
        idle = longest + 1.0 if field == AT else result if field == RESULT else 0.0
        store(rays, field * room + n, idle)
        store(rays, field * room + n + LANES, idle)


@kernel(allocates=False)
def _finish(leap: Bytes, width: int, rays: Floats, n: int, longest: float, results: Floats) -> None:
    """Replace the negative results of rays by those of `finish_ray`."""
    x, y, dx, dy, _, _, _, number = rays.reshape(N_FIELDS, -1)
    for k in range(n):
        if results[int(number[k])] < 0.0:
            results[int(number[k])] = finish_ray(leap, width, x[k], y[k], dx[k], dy[k], longest, False)


@part()
def _vector(rays: Floats, first: int) -> Any:
    """The fields of the rays that begin at `first`."""
    room = rays.shape[0] // N_FIELDS
    return (
        load(rays, X * room + first),
        load(rays, Y * room + first),
        load(rays, DX * room + first),
        load(rays, DY * room + first),
        load(rays, PER_X * room + first),
        load(rays, PER_Y * room + first),
        load(rays, AT * room + first),
        load(rays, RESULT * room + first),
    )


@part()
def _look(leap: Bytes, width: int, longest: float, ray: Any, at: Any) -> Any:
    """The pixels that rays have come to, how far they may leap from there, and the rays that go on."""
    i, j = floored(ray[X] + at * ray[DX]), floored(ray[Y] + at * ray[DY])
    free = cells(leap, j * float(width) + i)
    return i, j, free, (free > 0.0) & (at < longest + 2.0 * _BEYOND)  # the wall may begin at the edge before


@part()
def _step(ray: Any, seen: Any) -> Any:
    """Where rays walk to, which of them must walk as they have no room to leap, and which of these can.

    A walk goes to a point a little behind the next pixel edge; so a pixel always follows from a point.
    """
    i, j, free, going = seen
    t_x = (i + choose(ray[DX] >= 0.0, spread(1.0), 0.0) - ray[X]) * ray[PER_X]
    t_y = (j + choose(ray[DY] >= 0.0, spread(1.0), 0.0) - ray[Y]) * ray[PER_Y]
    across = t_x < t_y
    sure = (magnitude(t_x - t_y) >= _CORNER) & (magnitude(choose(across, ray[PER_X], ray[PER_Y])) <= _STEEPEST)
    return choose(across, t_x, t_y) + _BEYOND, going & (free < _WORTHWHILE), sure


@part()
def _move(ray: Any, at: Any, seen: Any) -> Any:
    """How far rays are after a leap or a step."""
    _, _, free, going = seen
    step, slow, sure = _step(ray, seen)
    leaped = choose(going & (free >= _WORTHWHILE), at + 0.5 * (free - 1.0), at)
    return choose(slow & sure, step, leaped)


@part()
def _sort_out(longest: float, ray: Any, seen: Any, results: Floats) -> int:
    """Write the results of the rays that have ended, if that was seen; bits of those whose next step is unsure.

    Results of rays that go on are of no use, but to write them is faster than to ask which they are.
    """
    i, j, free, _ = seen
    _, slow, sure = _step(ray, seen)
    unsure = bits(slow) & ~bits(sure)
    # The edge through which a ray came into a wall is the later one of those on the pixel's near sides.
    t_x = (i + choose(ray[DX] >= 0.0, spread(0.0), 1.0) - ray[X]) * ray[PER_X]
    t_y = (j + choose(ray[DY] >= 0.0, spread(0.0), 1.0) - ray[Y]) * ray[PER_Y]
    edge = choose(t_x > t_y, t_x, choose(t_y == t_y, t_y, t_x))  # t_y is no number for rays along an edge in x
    found = choose((free == 0.0) & (edge < longest), edge, longest)
    scatter(results, ray[RESULT], choose(where(unsure), spread(-1.0), found))
    return unsure
