"""Rays through a world: how far the first wall pixel is along a direction, one ray at a time or many side by side.

The distance is that of the pixel edge behind which the wall begins, computed from the ray's origin: how a ray gets
there changes no bit of it. (Except along a pixel edge, to within rounding, which decides there whether the ray is in
the pixels on one side or on the other. Such rays are always computed one at a time.) Which rays a robot sends out is in
`lockstep` and `simulation`.
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

# The fields of a ray: origin, direction and one over it, how far it has got, and the number of its result. `rays` hold
# the first field of all rays, then the second, and so on.
X, Y, DX, DY, PER_X, PER_Y, AT, RESULT = range(8)
N_FIELDS = 8

_STRIDE = 4  # moves between two looks at which rays have ended
_WORTHWHILE = 3.0  # what a pixel holds from which a leap gets further than a walk to the pixel's edge

# A walk goes on a little behind a pixel edge, so that a point tells the pixel: far above rounding, which is up to 1e-10
# in the largest worlds, even for the steepest rays. Steeper ones, and those that meet edges in x and in y together, are
# left to `finish_ray`.
_BEYOND = 1e-5
_CORNER = 4e-5
_STEEPEST = 1e4  # 1 / |dx| or 1 / |dy|


@kernel(allocates=False)
def finish_ray(leap: Bytes, width: int, x: float, y: float, dx: float, dy: float, longest: float, walk: bool) -> float:
    """Distance from (x, y) along (dx, dy) to the first wall pixel, at most `longest`.

    Leaps where there is room (unless told to walk, for tests), and otherwise goes from pixel edge to pixel edge.
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
def _place(rays: Floats, field: int, first: int) -> int:
    """Where a field of ray `first` is."""
    return field * (rays.shape[0] // N_FIELDS) + first


@part()
def append(rays: Floats, n: int, which: int, fields: Any) -> int:
    """Append the rays of the lanes whose bits are set to the n that are there; returns their new number."""
    for field in range(N_FIELDS):
        store(rays, _place(rays, field, n), packed(where(which), fields[field]))
    return n + count(which)


@kernel(allocates=False)
def trace(leap: Bytes, width: int, rays: Floats, n: int, longest: float, results: Floats) -> None:
    """Write into results[number] how far each of the n rays in rays[0] gets. The last result is for idle rays.

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
            seen, other_seen = _map_at(leap, width, longest, one, at), _map_at(leap, width, longest, other, other_at)
            for _ in range(1, _STRIDE):
                at, other_at = _advanced(one, at, seen), _advanced(other, other_at, other_seen)
                seen = _map_at(leap, width, longest, one, at)
                other_seen = _map_at(leap, width, longest, other, other_at)
            for ray, end, last in ((one, at, seen), (other, other_at, other_seen)):
                unsure = _keep_results(longest, ray, last, results)
                _, _, _, going = last
                fields = (*ray[:AT], _advanced(ray, end, last), ray[RESULT])
                left = append(rays[1], left, bits(going) & ~unsure, fields)
                asked |= unsure
        given = rays[1]
    if asked:
        _finish(leap, width, rays[0], n, longest, results)


@part()
def _append_idle(rays: Floats, n: int, longest: float, result: float) -> None:
    """Fill up the last vectors with rays that have ended, in the world's first pixel."""
    for field in range(N_FIELDS):
        idle = 2.0 * longest + 1.0 if field == AT else result if field == RESULT else 0.0
        store(rays, _place(rays, field, n), idle)
        store(rays, _place(rays, field, n + LANES), idle)


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
    return (
        load(rays, _place(rays, X, first)),
        load(rays, _place(rays, Y, first)),
        load(rays, _place(rays, DX, first)),
        load(rays, _place(rays, DY, first)),
        load(rays, _place(rays, PER_X, first)),
        load(rays, _place(rays, PER_Y, first)),
        load(rays, _place(rays, AT, first)),
        load(rays, _place(rays, RESULT, first)),
    )


@part()
def _map_at(leap: Bytes, width: int, longest: float, ray: Any, at: Any) -> Any:
    """The pixels that rays have come to, how far they may leap from there, and which of them go on."""
    i, j = floored(ray[X] + at * ray[DX]), floored(ray[Y] + at * ray[DY])
    free = cells(leap, j * float(width) + i)
    return i, j, free, (free > 0.0) & (at < longest + 2.0 * _BEYOND)  # the wall may begin at the edge before


@part()
def _edges(ray: Any, i: Any, j: Any, far: float) -> Any:
    """How far the edges of pixels in x and in y are along rays: the far ones with 1, the near ones with 0."""
    to_x = i + choose(ray[DX] >= 0.0, spread(far), 1.0 - far) - ray[X]
    to_y = j + choose(ray[DY] >= 0.0, spread(far), 1.0 - far) - ray[Y]
    return to_x * ray[PER_X], to_y * ray[PER_Y]


@part()
def _step(ray: Any, seen: Any) -> Any:
    """Where rays walk to, which of them must walk as they have no room to leap, and which may."""
    i, j, free, going = seen
    t_x, t_y = _edges(ray, i, j, 1.0)
    gentle = (magnitude(ray[PER_X]) <= _STEEPEST) & (magnitude(ray[PER_Y]) <= _STEEPEST)
    sure = (magnitude(t_x - t_y) >= _CORNER) & gentle
    return choose(t_x < t_y, t_x, t_y) + _BEYOND, going & (free < _WORTHWHILE), sure


@part()
def _advanced(ray: Any, at: Any, seen: Any) -> Any:
    """How far rays are after a leap or a step."""
    _, _, free, going = seen
    step, slow, sure = _step(ray, seen)
    leaped = choose(going & (free >= _WORTHWHILE), at + 0.5 * (free - 1.0), at)
    return choose(slow & sure, step, leaped)


@part()
def _keep_results(longest: float, ray: Any, seen: Any, results: Floats) -> int:
    """Write the results of the rays that have ended, if that was seen; bits of those whose next step is unsure.

    Results of rays that go on are of no use, but writing them is faster than asking which they are.
    """
    i, j, free, _ = seen
    _, slow, sure = _step(ray, seen)
    unsure = bits(slow) & ~bits(sure)
    t_x, t_y = _edges(ray, i, j, 0.0)
    edge = choose(t_x > t_y, t_x, t_y)
    found = choose((free == 0.0) & (edge < longest), edge, longest)
    scatter(results, ray[RESULT], choose(where(unsure), spread(-1.0), found))
    return unsure
