"""Exact look-up behind a filter of 16-bit integers: all coordinates of a point, or its leading principal parts.

All coordinates: the scores tell the squared distance up to a known error, and what is within it of the best is decided
in double precision. Principal parts: where a few directions hold most of the variance, as in trajectories, the distance
there, together with the difference of what is left over, bounds the distance from below (by the triangle inequality),
and only centroids that pass the bound are tried. The products are in `integers`; how components are found, and whether
they pay, is in `principal`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.blocks import lookup_block
from tesselite.compiled.kernels import kernel
from tesselite.compiled.vectors import LANES, lowest_bit
from tesselite.tessellation.nearest.distances import row_square
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
from tesselite.tessellation.nearest.principal import principal_parts

Halves = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]

_BLOCK = 8 * ROWS  # rows that meet a panel while it is cached
_REACH = 2.0  # points beyond this multiple of the farthest centroid are scaled down
_GROUPS = 320  # of panels, whose maxima are kept, at most; of half as many rows if they are many
_CHUNK = 16_384  # centroids that are rounded at a time

# Floats of the table: 1 / step and step of a point, unit of a score, largest length of a point, largest length of a
# centroid and of its rounding error, slack of sums in double precision, error of a part; then center, components and
# centroids.
_HEAD = 8
# Ints: panels, steps (pairs of coordinates), panels in a group, components (0: all coordinates), the same in eights,
# where in the floats the centroids start, how many there are; then biases and panels.
_INT_HEAD = 8


class Filter(NamedTuple):
    """The tables of a filter, unpacked."""

    floats: Floats
    bias: Halves
    panels: Shorts
    n_panels: int
    steps: int
    in_group: int
    n_groups: int
    n_parts: int  # 0: all coordinates
    in_eights: int
    centroids: int  # where they start in `floats`
    k: int


class Rounded(NamedTuple):
    """Scratch for a block of rows, rounded to integers: what they are, and how they score."""

    xs: Halves  # pairs of integers, in tiles of six rows
    y: Floats
    gaps: Floats
    lengths: Floats
    scales: Floats  # 1, less for rows that are too far out, -1 for those that cannot be filtered
    errors: Floats  # of the scores
    maxima: Halves  # in each group of panels, eight lanes a row
    scores: Halves  # of a row with a panel
    scaled: Halves  # biases for a row that is scaled down


def filter_tables(centroids: Floats, center: Floats, components: Floats | None = None) -> tuple[Floats, Ints]:
    """The flat tables of a filter over (k, d) centroids: of all coordinates, or of parts along (q, d) components."""
    k, d = centroids.shape
    width = d if components is None else len(components) + 1

    def coordinates(first: int) -> Floats:
        rows = centroids[first : first + _CHUNK]
        return rows - center if components is None else principal_parts(rows, center, components)

    squares = [np.einsum("ij,ij->i", rows, rows) for rows in map(coordinates, range(0, k, _CHUNK))]
    longest = float(np.sqrt(max(part.max() for part in squares)))
    # The uncertainty of double precision for a length of 1, in a sum and in the remainder of a square.
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
    # Many groups are slow to scan, few are slow to search again; by parts, several are searched again.
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
    ints[5:7] = sum(len(part) for part in parts), k
    return np.concatenate([*parts, centroids.ravel()]), ints


def expected_candidates(centroids: Floats, floats: Floats) -> float:
    """How many centroids a filter of all coordinates leaves on average, for points where some of the centroids are."""
    step, longest, error = floats[1], floats[4], floats[5]
    doubt = 4.0 * longest * (step * np.sqrt(centroids.shape[1] / 12.0) + error)  # of a squared distance
    rows = centroids[:: -(-len(centroids) // 8192)]
    probes = rows[:: -(-len(rows) // 64)]
    counts = [((rows - probe) ** 2).sum(axis=1) <= doubt for probe in probes]
    return float(np.mean([count.sum() - 1 for count in counts])) * len(centroids) / len(rows) + 1.0


@kernel()
def _unpacked(floats: Floats, ints: Ints) -> Filter:
    n_panels, in_group = ints[0], ints[2]
    halves, shorts = ints.view(np.int32), ints.view(np.int16)
    bias = 2 * _INT_HEAD
    panels = 2 * (bias + n_panels * COLUMNS)
    return Filter(
        floats,
        halves[bias:],
        shorts[panels:],
        n_panels,
        ints[1],
        in_group,
        -(-n_panels // in_group),
        ints[3],
        ints[4],
        ints[5],
        ints[6],
    )


@kernel(allocates=False)
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


@kernel(allocates=False)
def _squared(points: Floats, row: int, floats: Floats, at: int) -> float:
    """The squared distance of the definition, the axes in order, to the centroid at floats[at:]."""
    square = 0.0
    for j in range(points.shape[1]):
        u = points[row, j] - floats[at + j]
        square += u * u
    return square


class Found(NamedTuple):
    """The nearest centroid so far, its squares as `_challenge` has them, and the least score that may be nearer."""

    champion: int
    near: float
    exact: float
    limit: int


@kernel(allocates=False)
def _challenge(
    points: Floats, row: int, f: Filter, c: int, champion: int, near: float, exact: float
) -> tuple[int, float, float]:
    """The nearer of centroid c and the champion (-1: none yet), and its squares; the lower id on ties.

    `near` is summed in any order, `exact` in that of the definition, which is slower: -1 where not needed so far.
    """
    if champion < 0:
        return c, -1.0, -1.0
    d = points.shape[1]
    holder, challenger = f.centroids + champion * d, f.centroids + c * d
    if near < 0.0:
        near = row_square(points, row * d, f.floats, holder, d)
    square = row_square(points, row * d, f.floats, challenger, d)
    doubt = (d + 16) * 2.0**-52 * near + 1e-290
    if square > near + doubt:
        return champion, near, exact
    if square < near - doubt:
        return c, square, -1.0
    if exact < 0.0:
        exact = _squared(points, row, f.floats, holder)
    other = _squared(points, row, f.floats, challenger)
    if other < exact or (other == exact and c < champion):
        return c, square, other
    return champion, near, exact


@kernel(allocates=False)
def _round_row(y: Floats, first: int, n: int, floats: Floats, halves: Shorts, at: int) -> float:
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


@kernel(allocates=False)
def _left_over(gaps: Floats, r: int, d: int, inside: float) -> float:
    """The length of what is left of row r of gaps (d, 6) beside parts of length `inside`."""
    a = b = 0.0
    for j in range(0, d - 1, 2):
        a += gaps[j * ROWS + r] * gaps[j * ROWS + r]
        b += gaps[(j + 1) * ROWS + r] * gaps[(j + 1) * ROWS + r]
    if d % 2:
        a += gaps[(d - 1) * ROWS + r] * gaps[(d - 1) * ROWS + r]
    return np.sqrt(max((a + b) - inside * inside, 0.0))


@kernel(allocates=False)
def _prepare(points: Floats, first: int, n: int, f: Filter, s: Rounded) -> None:
    """Round rows first..first + n: their integers, their lengths, and the errors of their scores.

    Rows that are too far out are scaled down; a scale of -1 says that a row, or the filter, is not usable.
    """
    d, q = points.shape[1], f.n_parts
    width = d if q == 0 else q + 1
    stride = d if q == 0 else f.in_eights + 1
    floats, y, gaps = f.floats, s.y, s.gaps
    shorts = s.xs.view(np.int16)
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
            for eight in range(0, f.in_eights, LANES):
                project_rows(gaps, d, floats, _HEAD + d + eight * d, y, eight, stride)
        for r in range(height):
            at = r * stride
            if q > 0:
                y[at + q] = _left_over(gaps, r, d, _length(y, at, q))
            length = _length(y, at, width)
            s.lengths[t + r], s.scales[t + r] = length, -1.0
            if floats[3] > 0.0 and length < 1e100:  # false for NaN too
                scale = 1.0
                if length > floats[3]:
                    scale = (1.0 - 1e-12) * floats[3] / length
                    for j in range(at, at + width):
                        y[j] *= scale
                error = _round_row(y, at, width, floats, shorts, 2 * (t * f.steps + r)) + floats[7] * scale * length
                reach = length + floats[4]
                s.scales[t + r] = scale
                s.errors[t + r] = (
                    error * floats[4]
                    + (scale * length + error) * floats[5]
                    + (0.51 if scale == 1.0 else 1.51) * floats[2]  # the bias is rounded once, or twice
                    + scale * floats[6] * reach * reach
                )


@kernel(allocates=False)
def _enter_maxima(n: int, f: Filter, s: Rounded) -> None:
    """The largest scores of n rows in each group of panels: eight lanes a row, rows in sixes, groups one by one."""
    tiles = -(-n // ROWS)
    for i in range(f.n_groups * tiles * ROWS * LANES):
        s.maxima[i] = LOWEST
    for p in range(f.n_panels):
        panel, bias = p * f.steps * 2 * COLUMNS, p * COLUMNS
        to = p // f.in_group * tiles * ROWS * LANES
        if n <= 2:
            for r in range(n):
                row_maxima(s.xs, r, f.steps, f.panels, panel, f.bias, bias, s.maxima, to + r * LANES)
        else:
            for t in range(tiles):
                x_at = t * f.steps * ROWS
                tile_maxima(s.xs, x_at, f.steps, f.panels, panel, f.bias, bias, s.maxima, to + t * ROWS * LANES)


@kernel(allocates=False)
def _scale_row(r: int, x_at: int, stride: int, f: Filter, s: Rounded) -> None:
    """The maxima of a row that was scaled down, as `_enter_maxima`: with biases that are scaled down as well."""
    for c in range(f.n_panels * COLUMNS):
        s.scaled[c] = np.int32(s.scales[r] * f.bias[c]) if f.bias[c] != LOWEST else LOWEST
    for p in range(f.n_panels):
        to = r * LANES + p // f.in_group * stride
        if p % f.in_group == 0:
            for i in range(LANES):
                s.maxima[to + i] = LOWEST
        row_maxima(s.xs, x_at, f.steps, f.panels, p * f.steps * 2 * COLUMNS, s.scaled, p * COLUMNS, s.maxima, to)


@kernel(allocates=False)
def _limit(score: float) -> int:
    """A score that is surely not above the given one, as an integer of 32 bits; columns that do not exist are below."""
    return int(max(np.floor(score) - 1.0, LOWEST + 1.0))


@kernel(allocates=False)
def _limit_of_square(near: float, r: int, f: Filter, s: Rounded) -> int:
    """The least score, by parts, of a centroid whose squared distance to row r may be as little as `near`."""
    return _limit((0.5 * s.scales[r] * (s.lengths[r] * s.lengths[r] - near) - s.errors[r]) / f.floats[2])


# Inlined: a call by tuples of arrays copies a hundred words to the stack, for every row.
@kernel(allocates=False, forceinline=True)
def _search_group(
    points: Floats,
    row: int,
    r: int,
    x_at: int,
    group: int,
    bias: Halves,
    found: Found,
    tighten: bool,
    f: Filter,
    s: Rounded,
) -> Found:
    """Challenge the champion by the centroids of a group of panels that reach the limit; with `tighten` that rises."""
    champion, near, exact, limit = found
    for p in range(group * f.in_group, min((group + 1) * f.in_group, f.n_panels)):
        mask = row_hits(s.xs, x_at, f.steps, f.panels, p * f.steps * 2 * COLUMNS, bias, p * COLUMNS, limit, s.scores)
        while mask != 0:
            i = lowest_bit(mask)
            mask &= mask - 1
            c = p * COLUMNS + i
            if c == champion or s.scores[i] < limit:
                continue
            before = champion
            champion, near, exact = _challenge(points, row, f, c, champion, near, exact)
            if tighten and champion != before:
                limit = _limit_of_square(near, r, f, s)
    return Found(champion, near, exact, limit)


@kernel(allocates=False, forceinline=True)
def _among_groups(points: Floats, row: int, r: int, stride: int, f: Filter, s: Rounded) -> int:
    """The nearest centroid of a row, the block's row r, whose maxima are at maxima[r * LANES + group * stride:]."""
    d, at = points.shape[1], r * LANES
    x_at = r // ROWS * f.steps * ROWS + r % ROWS
    bias = f.bias
    if s.scales[r] < 1.0:
        bias = s.scaled
        _scale_row(r, x_at, stride, f, s)
    best = strided_maximum(s.maxima, at, stride, f.n_groups)
    by_parts = f.n_parts > 0
    if by_parts:
        # The nearest by its parts comes first: its distance then bounds the others'.
        group = 0
        while not any_reaches(s.maxima, at + group * stride, best):
            group += 1
        by_part = _search_group(points, row, r, x_at, group, bias, Found(-1, -1.0, -1.0, best), False, f, s)
        near = row_square(points, row * d, f.floats, f.centroids + by_part.champion * d, d)
        found = Found(by_part.champion, near, by_part.exact, _limit_of_square(near, r, f, s))
    else:
        found = Found(-1, -1.0, -1.0, _limit(best - 2.0 * s.errors[r] / f.floats[2]))
    for group in range(f.n_groups):
        if any_reaches(s.maxima, at + group * stride, found.limit):
            found = _search_group(points, row, r, x_at, group, bias, found, by_parts, f, s)
    return found.champion


@lookup_block
def find_filtered(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Nearest centroids by the filter of `filter_tables`."""
    n, d = points.shape
    f = _unpacked(floats, ints)
    rows = _BLOCK if f.n_groups <= _GROUPS // 2 else _BLOCK // 2
    block = min(rows, -(-n // ROWS) * ROWS)
    s = Rounded(
        np.zeros(block * f.steps, np.int32),
        np.zeros(ROWS * (d if f.n_parts == 0 else f.in_eights + 1)),
        np.zeros(ROWS * d if f.n_parts > 0 else 1),
        np.empty(block),
        np.empty(block),
        np.empty(block),
        np.empty(f.n_groups * block * LANES, np.int32),
        np.empty(COLUMNS, np.int32),
        np.empty(f.n_panels * COLUMNS, np.int32),
    )
    for first in range(0, n, rows):
        count = min(rows, n - first)
        stride = -(-count // ROWS) * ROWS * LANES
        _prepare(points, first, count, f, s)
        _enter_maxima(count, f, s)
        for r in range(count):
            row = first + r
            if s.scales[r] > 0.0:
                niches[row] = _among_groups(points, row, r, stride, f, s)
            else:
                champion, near, exact = 0, -1.0, -1.0
                for c in range(1, f.k):
                    champion, near, exact = _challenge(points, row, f, c, champion, near, exact)
                niches[row] = champion
