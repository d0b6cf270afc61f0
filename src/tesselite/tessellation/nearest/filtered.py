"""Exact look-up behind a filter of 16-bit integers: all coordinates of a point, or its leading principal parts.

All coordinates: the scores tell the squared distance up to a known error, and what is within it of the best is decided
in double precision. Principal parts: where a few directions hold most of the variance, as in trajectories, the distance
there, together with the difference of what is left over, bounds the distance from below (by the triangle inequality),
and only centroids that pass the bound are tried. The products are in `integers`; how components are found, and whether
they pay, is in `principal`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel
from tesselite.tessellation.nearest.integers import (
    COLUMNS,
    LARGEST,
    LOWEST,
    ROWS,
    any_reaches,
    pack_pairs,
    project_rows,
    row_hits,
    row_maxima,
    strided_maximum,
    tile_maxima,
)
from tesselite.tessellation.nearest.lanes import LANES, lowest_bit, row_square
from tesselite.tessellation.nearest.principal import principal_parts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 8 * ROWS  # rows that meet a panel while it is cached
_REACH = 2.0  # points that are farther out than so many times the farthest centroid are scaled down
_GROUPS = 320  # of panels, whose maxima are kept, at most; of half as many rows if they are many
_CHUNK = 16_384  # centroids that are rounded at a time

# Floats of the table: 1 / step and step of a point, unit of a score, largest length of a point, largest length of a
# centroid and of its rounding error, slack of sums in double precision, error of a part; then center and components.
_HEAD = 8
# Ints: panels, steps (pairs of coordinates), panels in a group, components (0: all coordinates), the same in eights;
# then biases and panels.
_INT_HEAD = 8


def filter_tables(centroids: Floats, center: Floats, components: Floats | None = None) -> tuple[Floats, Ints]:
    """The flat tables of a filter over (k, d) centroids: of all coordinates, or of parts along (q, d) components."""
    k, d = centroids.shape
    width = d if components is None else len(components) + 1

    def coordinates(first: int) -> Floats:
        rows = centroids[first : first + _CHUNK]
        return rows - center if components is None else principal_parts(rows, center, components)

    squares = [np.einsum("ij,ij->i", rows, rows) for rows in map(coordinates, range(0, k, _CHUNK))]
    longest = float(np.sqrt(max(part.max() for part in squares)))
    # What double precision leaves uncertain of a length of 1, in a sum and in what is left over of a square.
    slack, blur = (d + 16) * 2.0**-50, 0.0 if components is None else 4.0 * float(np.sqrt(d * 2.0**-52))
    usable = 1e-100 < longest < 1e100  # otherwise all centroids are tried
    step = _REACH * longest / LARGEST if usable else 1.0
    step_centroid = longest / LARGEST if usable else 1.0
    unit = step * step_centroid
    n_panels, steps = -(-k // COLUMNS), -(-width // 2)
    ints = np.zeros(_INT_HEAD + n_panels * (COLUMNS // 2) * (1 + steps), np.int64)
    start = 2 * _INT_HEAD
    bias = ints.view(np.int32)[start : start + n_panels * COLUMNS]
    panels = ints.view(np.int16)[2 * (start + len(bias)) :].reshape(n_panels, steps, COLUMNS, 2)
    bias[:] = LOWEST
    worst = 0.0
    for first, part in zip(range(0, k, _CHUNK), squares, strict=True):
        rows = coordinates(first) if usable else np.zeros((len(part), width))
        rounded = np.rint(rows / step_centroid)
        bias[first : first + len(rows)] = np.rint(-0.5 * part / unit) if usable else 0
        rows -= rounded * step_centroid
        worst = max(worst, float(np.einsum("ij,ij->i", rows, rows).max()))
        n = -(-len(rows) // COLUMNS)
        padded = np.zeros((n * COLUMNS, 2 * steps), np.int16)
        padded[: len(rows), :width] = rounded
        panels[first // COLUMNS : first // COLUMNS + n] = pack_pairs(padded, COLUMNS)
    # Many groups take long to look through, few take long to search again; by parts, several are searched again.
    groups = min(_GROUPS, int(np.sqrt(1.2 * n_panels * steps)) + 1) if components is None else _GROUPS
    q = 0 if components is None else len(components)
    in_eights = -(-q // LANES) * LANES
    ints[:5] = n_panels, steps, -(-n_panels // groups), q, in_eights
    error = (np.sqrt(worst) + blur * longest) * (1.0 + 1e-9)
    head = [1.0 / step, step, unit, _REACH * longest if usable else -1.0, longest * (1.0 + 1e-9), error, slack, blur]
    parts = [np.array(head), center]
    if components is not None:
        columns = np.zeros((d, in_eights))
        columns[:, :q] = components.T
        parts.append(np.ascontiguousarray(columns.reshape(d, -1, LANES).transpose(1, 0, 2)).ravel())
    return np.concatenate(parts), ints


def expected_candidates(centroids: Floats, floats: Floats) -> float:
    """How many centroids a filter of all coordinates leaves on average, for points where some of the centroids are."""
    step, longest, error = floats[1], floats[4], floats[5]
    doubt = 4.0 * longest * (step * np.sqrt(centroids.shape[1] / 12.0) + error)  # of a squared distance
    rows = centroids[:: -(-len(centroids) // 8192)]
    probes = rows[:: -(-len(rows) // 64)]
    counts = [((rows - probe) ** 2).sum(axis=1) <= doubt for probe in probes]
    return float(np.mean([count.sum() - 1 for count in counts])) * len(centroids) / len(rows) + 1.0


@kernel()
def _length(y: Floats, first: int, n: int) -> float:
    """Length of y[first:first + n], in four sums: one would wait for itself."""
    a = b = c = e = 0.0
    whole = n - n % 4
    for j in range(first, first + whole, 4):
        a += y[j] * y[j]
        b += y[j + 1] * y[j + 1]
        c += y[j + 2] * y[j + 2]
        e += y[j + 3] * y[j + 3]
    for j in range(first + whole, first + n):
        a += y[j] * y[j]
    return np.sqrt((a + b) + (c + e))


@kernel()
def _squared(points: Floats, row: int, centroids: Floats, c: int) -> float:
    """The squared distance of the definition: the axes in order."""
    square = 0.0
    for j in range(points.shape[1]):
        u = points[row, j] - centroids[c, j]
        square += u * u
    return square


@kernel()
def _challenge(
    points: Floats, row: int, centroids: Floats, c: int, champion: int, near: float, exact: float
) -> tuple[int, float, float]:
    """The nearer of centroid c and the champion (-1: none yet), and its squares; the lower id on ties.

    `near` is summed in any order, `exact` in that of the definition, which is slower: -1 where not needed so far.
    """
    d = points.shape[1]
    if champion < 0:
        return c, -1.0, -1.0
    if near < 0.0:
        near = row_square(points, row * d, centroids, champion * d, d)
    square = row_square(points, row * d, centroids, c * d, d)
    doubt = (d + 16) * 2.0**-52 * near + 1e-290
    if square > near + doubt:
        return champion, near, exact
    if square < near - doubt:
        return c, square, -1.0
    if exact < 0.0:
        exact = _squared(points, row, centroids, champion)
    other = _squared(points, row, centroids, c)
    if other < exact or (other == exact and c < champion):
        return c, square, other
    return champion, near, exact


@kernel()
def _round_row(y: Floats, first: int, n: int, floats: Floats, halves: npt.NDArray[np.int16], at: int) -> float:
    """Round y[first:first + n] to integers, pairs of which go to halves[at:], a tile's height apart; the error."""
    per_step, step = floats[0], floats[1]
    a = b = 0.0
    for j in range(0, n - 1, 2):
        u, v = np.rint(y[first + j] * per_step), np.rint(y[first + j + 1] * per_step)
        halves[at], halves[at + 1] = np.int16(u), np.int16(v)
        at += 2 * ROWS
        u, v = y[first + j] - u * step, y[first + j + 1] - v * step
        a += u * u
        b += v * v
    if n % 2:
        u = np.rint(y[first + n - 1] * per_step)
        halves[at], halves[at + 1] = np.int16(u), 0
        u = y[first + n - 1] - u * step
        a += u * u
    return np.sqrt(a + b)


@kernel()
def _prepare(
    points: Floats,
    first: int,
    n: int,
    floats: Floats,
    ints: Ints,
    xs: npt.NDArray[np.int32],
    y: Floats,
    gaps: Floats,
    lengths: Floats,
    scales: Floats,
    errors: Floats,
) -> None:
    """Round rows first..first + n: their integers, their lengths, and the errors of their scores.

    Rows that are too far out are scaled down; a scale of -1 says that a row, or the filter, is not usable.
    Scratch: `y` (6 * width,) and, for principal parts, `gaps` (6 * d,).
    """
    d = points.shape[1]
    steps, q, in_eights = ints[1], ints[3], ints[4]
    width = d if q == 0 else q + 1
    stride = d if q == 0 else in_eights + 1
    halves = xs.view(np.int16)
    for t in range(0, n, ROWS):
        height = min(ROWS, n - t)
        if q == 0:
            for r in range(height):
                for j in range(d):
                    y[r * d + j] = points[first + t + r, j] - floats[_HEAD + j]
        else:
            for r in range(height):
                for j in range(d):
                    gaps[j * ROWS + r] = points[first + t + r, j] - floats[_HEAD + j]
            for eight in range(0, in_eights, LANES):
                project_rows(gaps, d, floats, _HEAD + d + eight * d, y, eight, stride)
        for r in range(height):
            at = r * stride
            if q > 0:
                a = b = 0.0
                for j in range(0, d - 1, 2):
                    a += gaps[j * ROWS + r] * gaps[j * ROWS + r]
                    b += gaps[(j + 1) * ROWS + r] * gaps[(j + 1) * ROWS + r]
                if d % 2:
                    a += gaps[(d - 1) * ROWS + r] * gaps[(d - 1) * ROWS + r]
                inside = _length(y, at, q)
                y[at + q] = np.sqrt(max((a + b) - inside * inside, 0.0))
            length = _length(y, at, width)
            lengths[t + r], scales[t + r] = length, -1.0
            if floats[3] > 0.0 and length < 1e100:  # false for NaN too
                scale = 1.0
                if length > floats[3]:
                    scale = (1.0 - 1e-12) * floats[3] / length
                    for j in range(at, at + width):
                        y[j] *= scale
                error = _round_row(y, at, width, floats, halves, 2 * (t * steps + r)) + floats[7] * scale * length
                reach = length + floats[4]
                scales[t + r] = scale
                errors[t + r] = (
                    error * floats[4]
                    + (scale * length + error) * floats[5]
                    + (0.51 if scale == 1.0 else 1.51) * floats[2]  # the bias is rounded once, or twice
                    + scale * floats[6] * reach * reach
                )


@kernel()
def _enter_maxima(
    xs: npt.NDArray[np.int32],
    n: int,
    ints: Ints,
    bias: npt.NDArray[np.int32],
    panels: npt.NDArray[np.int16],
    maxima: npt.NDArray[np.int32],
) -> None:
    """The largest scores of n rows in each group of panels: eight lanes a row, rows in sixes, groups one by one."""
    n_panels, steps, in_group = ints[0], ints[1], ints[2]
    tiles = -(-n // ROWS)
    for i in range(-(-n_panels // in_group) * tiles * ROWS * LANES):
        maxima[i] = LOWEST
    for q in range(n_panels):
        to = q // in_group * tiles * ROWS * LANES
        if n <= 2:
            for r in range(n):
                row_maxima(xs, r, steps, panels, q * steps * 2 * COLUMNS, bias, q * COLUMNS, maxima, to + r * LANES)
            continue
        for t in range(tiles):
            tile_maxima(
                xs,
                t * steps * ROWS,
                steps,
                panels,
                q * steps * 2 * COLUMNS,
                bias,
                q * COLUMNS,
                maxima,
                to + t * ROWS * LANES,
            )


@kernel()
def _limit(score: float) -> int:
    """A score that is surely not above the given one, as an integer of 32 bits; columns that do not exist are below."""
    return int(max(np.floor(score) - 1.0, LOWEST + 1.0))


@kernel()
def _among_groups(
    points: Floats,
    row: int,
    centroids: Floats,
    xs: npt.NDArray[np.int32],
    x_at: int,
    ints: Ints,
    bias: npt.NDArray[np.int32],
    panels: npt.NDArray[np.int16],
    maxima: npt.NDArray[np.int32],
    at: int,
    stride: int,
    unit: float,
    length: float,
    scale: float,
    error: float,
    scores: npt.NDArray[np.int32],
) -> int:
    """The nearest centroid of a row whose maxima are at maxima[at + group * stride:]; `scores` (16,) is scratch."""
    d = points.shape[1]
    n_panels, steps, in_group, by_parts = ints[0], ints[1], ints[2], ints[3] > 0
    n_groups = -(-n_panels // in_group)
    champion, near, exact = -1, -1.0, -1.0
    best = strided_maximum(maxima, at, stride, n_groups)
    # By parts: first only the nearest by its parts, whose distance then bounds the others'.
    limit = best if by_parts else _limit(best - 2.0 * error / unit)
    for turn in range(2 if by_parts else 1):
        for group in range(n_groups):
            if not any_reaches(maxima, at + group * stride, limit):
                continue
            for panel in range(group * in_group, min((group + 1) * in_group, n_panels)):
                mask = row_hits(
                    xs, x_at, steps, panels, panel * steps * 2 * COLUMNS, bias, panel * COLUMNS, limit, scores
                )
                while mask != 0:
                    i = lowest_bit(mask)
                    mask &= mask - 1
                    c = panel * COLUMNS + i
                    if c == champion or scores[i] < limit:
                        continue
                    before = champion
                    champion, near, exact = _challenge(points, row, centroids, c, champion, near, exact)
                    if turn == 1 and champion != before:
                        limit = _limit((0.5 * scale * (length * length - near) - error) / unit)
            if by_parts and turn == 0:
                near = row_square(points, row * d, centroids, champion * d, d)
                limit = _limit((0.5 * scale * (length * length - near) - error) / unit)
                break
    return champion


@kernel()
def _scale_row(
    scale: float,
    xs: npt.NDArray[np.int32],
    x_at: int,
    ints: Ints,
    bias: npt.NDArray[np.int32],
    panels: npt.NDArray[np.int16],
    scaled: npt.NDArray[np.int32],
    maxima: npt.NDArray[np.int32],
    at: int,
    stride: int,
) -> None:
    """The maxima of a row that was scaled down, as `_enter_maxima`: with biases that are scaled down as well."""
    n_panels, steps, in_group = ints[0], ints[1], ints[2]
    for c in range(n_panels * COLUMNS):
        scaled[c] = np.int32(scale * bias[c]) if bias[c] != LOWEST else LOWEST
    for panel in range(n_panels):
        to = at + panel // in_group * stride
        if panel % in_group == 0:
            for i in range(LANES):
                maxima[to + i] = LOWEST
        row_maxima(xs, x_at, steps, panels, panel * steps * 2 * COLUMNS, scaled, panel * COLUMNS, maxima, to)


@kernel()
def filtered_rows(
    points: Floats, out: Ints, start: int, stop: int, centroids: Floats, floats: Floats, ints: Ints
) -> None:
    """out[start:stop] = ids of the nearest centroids, the lowest on ties."""
    d = points.shape[1]
    n_panels, steps, q, in_eights = ints[0], ints[1], ints[3], ints[4]
    n_groups = -(-n_panels // ints[2])
    bias = ints.view(np.int32)[2 * _INT_HEAD : 2 * _INT_HEAD + n_panels * COLUMNS]
    panels = ints.view(np.int16)[4 * _INT_HEAD + 2 * n_panels * COLUMNS :]
    unit = floats[2]
    rows = _BLOCK if n_groups <= _GROUPS // 2 else _BLOCK // 2
    block = min(rows, -(-(stop - start) // ROWS) * ROWS)
    xs = np.zeros(block * steps, np.int32)
    y = np.zeros(ROWS * (d if q == 0 else in_eights + 1))
    gaps = np.zeros(ROWS * d if q > 0 else 1)
    lengths, scales, errors = np.empty(block), np.empty(block), np.empty(block)
    maxima = np.empty(n_groups * block * LANES, np.int32)
    scores = np.empty(COLUMNS, np.int32)
    scaled = np.empty(0, np.int32)
    for first in range(start, stop, rows):
        n = min(rows, stop - first)
        stride = -(-n // ROWS) * ROWS * LANES
        _prepare(points, first, n, floats, ints, xs, y, gaps, lengths, scales, errors)
        _enter_maxima(xs, n, ints, bias, panels, maxima)
        for r in range(n):
            row = first + r
            x_at = r // ROWS * steps * ROWS + r % ROWS
            biases = bias
            if 0.0 < scales[r] < 1.0:
                if len(scaled) == 0:
                    scaled = np.empty(n_panels * COLUMNS, np.int32)
                biases = scaled
                _scale_row(scales[r], xs, x_at, ints, bias, panels, scaled, maxima, r * LANES, stride)
            if scales[r] > 0.0:
                out[row] = _among_groups(
                    points,
                    row,
                    centroids,
                    xs,
                    x_at,
                    ints,
                    biases,
                    panels,
                    maxima,
                    r * LANES,
                    stride,
                    unit,
                    lengths[r],
                    scales[r],
                    errors[r],
                    scores,
                )
            else:
                champion, near, exact = 0, -1.0, -1.0
                for c in range(1, len(centroids)):
                    champion, near, exact = _challenge(points, row, centroids, c, champion, near, exact)
                out[row] = champion
