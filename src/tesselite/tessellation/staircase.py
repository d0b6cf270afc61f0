"""Lloyd's algorithm on fixed samples in many dimensions: the drift staircase, and bounds by principal components.

Samples are kept in single precision, shifted by half a unit, and distances between those values are computed in double
precision. The methods for few dimensions are in `fixed` and `lloyd`.

The staircase: each sample knows a lower bound of the distance to every centroid but its own; a centroid that drifted
less than the bound exceeds the distance to the own one cannot take the sample. With centroids sorted by drift and
samples by slack, a block of samples meets a prefix of the centroids. (Bounds as in G. Hamerly (2010), "Making k-means
even faster".)

Principal components: if a few directions hold most of the variance, as in trajectories, the distance there, together
with the difference of what is left over, bounds the distance from below, and few centroids pass that bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.threads import in_chunks
from tesselite.compiled.kernels import kernel
from tesselite.tessellation import lloyd
from tesselite.tessellation.nearest.lanes import LANES, row_square
from tesselite.tessellation.nearest.panels import (
    COLUMNS,
    ROWS,
    panel_tables,
    score_margin,
    tile_hits,
    top_two_rows,
)
from tesselite.tessellation.nearest.principal import leading_components, principal_parts

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

_BLOCK = 16 * ROWS
_COMPONENTS = 24
_LEFT_OVER = 0.05  # principal components pay if no more of the variance than this is left over
_CHUNK = 16_384


@kernel()
def own_squares(
    points: Singles, first: int, last: int, labels: Ints, centroids: Floats, moved: Flags, squares: Floats
) -> None:
    """Squared distances of samples first..last to their own centroids, where these moved."""
    d = points.shape[1]
    for i in range(first, last):
        c = labels[i]
        if c >= 0 and moved[c]:
            squares[i] = row_square(points, i * d, centroids, c * d, d)


@kernel()
def staircase_rows(
    points: Singles,
    lengths: Floats,
    order: Ints,
    widths: Ints,
    first: int,
    last: int,
    panels: Singles,
    bias: Singles,
    column_ids: Ints,
    drifts: Floats,
    margins: Floats,
    centroids: Floats,
    labels: Ints,
    squares: Floats,
    lower: Floats,
    changed: Flags,
) -> int:
    """Assign the samples order[first:last]; sample i meets the first widths[i] columns. How many changed niche.

    The columns (panels, bias, ids) are sorted by drift, descending; `drifts` has one entry more, 0.
    """
    d = points.shape[1]
    k = len(centroids)
    xs = np.zeros(_BLOCK * d, np.float32)
    best = np.empty(_BLOCK * LANES, np.float32)
    second = np.empty(_BLOCK * LANES, np.float32)
    which = np.empty(_BLOCK * LANES, np.int32)
    n_changed = 0
    for begin in range(first, last, _BLOCK):
        n = min(_BLOCK, last - begin)
        n_panels = -(-widths[begin] // COLUMNS)
        width = min(n_panels * COLUMNS, k)
        for r in range(n):
            at = order[begin + r]
            for j in range(d):
                xs[r * d + j] = points[at, j]
        top_two_rows(xs, n, d, panels, bias, n_panels, best, second, which)
        for r in range(n):
            i = order[begin + r]
            old = labels[i]
            own = squares[i]
            length = lengths[i]
            reach = length + margins[2]
            slip = 2.0 * (margins[0] * length + margins[1]) + 2.0**-50 * reach * reach * d
            one = length * length - 2.0 * np.float64(best[r])
            two = length * length - 2.0 * np.float64(second[r])
            c = column_ids[which[r]]
            others = two - slip
            if c == old and two - slip > own:
                pass
            elif c != old and one - slip > own:
                others = one - slip
            elif c != old and one + slip < own and two - slip > one + slip:
                labels[i] = c
                others = min(others, own)
                squares[i] = row_square(points, i * d, centroids, c * d, d)
            else:  # too near to call in single precision: look at all of them again
                least, next_least = own, np.inf
                found = old
                for t in range(width):
                    e = column_ids[t]
                    if e == old:
                        continue
                    square = row_square(points, i * d, centroids, e * d, d)
                    if square < least or (square == least and e < found):
                        next_least = least
                        least, found = square, e
                    elif square < next_least:
                        next_least = square
                labels[i] = found
                squares[i] = least
                others = next_least * (1.0 - 1e-12)
            bound = np.sqrt(max(others, 0.0)) * (1.0 - 1e-12)
            if width < k:
                bound = min(bound, lower[i] - drifts[width])
            lower[i] = bound
            if labels[i] != old:
                n_changed += 1
                changed[labels[i]] = 1
                if old >= 0:
                    changed[old] = 1
    return n_changed


@kernel()
def principal_rows(
    points: Singles,
    parts: Singles,
    order: Ints,
    first: int,
    last: int,
    panels: Singles,
    bias: Singles,
    margins: Floats,
    centroids: Floats,
    labels: Ints,
    squares: Floats,
    changed: Flags,
) -> int:
    """Assign the samples order[first:last] by bounds of principal `parts` (n, q); how many changed niche."""
    d = points.shape[1]
    q = parts.shape[1]
    n_panels = len(bias) // COLUMNS
    ys = np.zeros(_BLOCK * q, np.float32)
    bounds = np.full(_BLOCK, np.float32(np.inf))
    scores = np.empty(ROWS * COLUMNS, np.float32)
    best = np.empty(_BLOCK * LANES, np.float32)
    second = np.empty(_BLOCK * LANES, np.float32)
    which = np.empty(_BLOCK * LANES, np.int32)
    n_changed = 0
    for begin in range(first, last, _BLOCK):
        n = min(_BLOCK, last - begin)
        new = False
        for r in range(n):
            i = order[begin + r]
            new |= labels[i] < 0
            for j in range(q):
                ys[r * q + j] = parts[i, j]
        if new:  # the nearest by principal parts is a good guess
            top_two_rows(ys, n, q, panels, bias, n_panels, best, second, which)
            for r in range(n):
                i = order[begin + r]
                labels[i] = which[r]
                squares[i] = row_square(points, i * d, centroids, labels[i] * d, d)
                changed[labels[i]] = 1
                n_changed += 1
        for r in range(_BLOCK):
            bounds[r] = np.inf
            if r < n:
                square = 0.0
                for j in range(q):
                    square += np.float64(ys[r * q + j]) * np.float64(ys[r * q + j])
                slip = margins[0] * np.sqrt(square) + margins[1]
                own = squares[order[begin + r]]
                # Raised by a part in a million: the bound itself is rounded to single precision.
                bound = 0.5 * (square - own * (1.0 + 1e-9)) - slip
                bounds[r] = bound - 1e-6 * abs(bound)
        for tile in range(-(-n // ROWS)):
            for panel in range(n_panels):
                if not tile_hits(
                    ys,
                    tile * ROWS * q,
                    q,
                    panels,
                    panel * COLUMNS * q,
                    bias,
                    panel * COLUMNS,
                    bounds,
                    tile * ROWS,
                    scores,
                ):
                    continue
                for r in range(min(ROWS, n - tile * ROWS)):
                    i = order[begin + tile * ROWS + r]
                    for lane in range(COLUMNS):
                        if not scores[r * COLUMNS + lane] >= bounds[tile * ROWS + r]:
                            continue
                        c = panel * COLUMNS + lane
                        old = labels[i]
                        if c == old:
                            continue
                        square = row_square(points, i * d, centroids, c * d, d)
                        if square < squares[i] or (square == squares[i] and c < old):
                            squares[i] = square
                            labels[i] = c
                            changed[c] = 1
                            changed[old] = 1
                            n_changed += 1
    return n_changed


class StaircaseLloyd:
    """The state of Lloyd's algorithm on fixed samples in many dimensions, p = 2; the interface of `FixedLloyd`.

    `points` (n, d) are unit-scaled, in single precision, and are shifted in place: pass a copy.
    """

    def __init__(self, points: Singles, centroids: Floats, threads: int) -> None:
        self.n, self.d = points.shape
        self.k = len(centroids)
        self.threads = threads
        for first in range(0, self.n, _CHUNK):
            points[first : first + _CHUNK] -= np.float32(0.5)
        self.points = points
        self._centers = np.ascontiguousarray(centroids - 0.5)
        self.labels = np.full(self.n, -1, np.int64)
        self.squares = np.full(self.n, np.inf)
        self.moved = np.ones(self.k, np.uint8)
        self.changed = np.zeros(self.k, np.uint8)
        self.starts = np.empty(self.k + 1, np.int64)
        self.members = np.arange(self.n)
        self.principal = self._principal_parts()
        if self.principal is None:
            self._lengths = np.empty(self.n)
            for first in range(0, self.n, _CHUNK):
                part = points[first : first + _CHUNK].astype(np.float64)
                self._lengths[first : first + _CHUNK] = np.sqrt(np.einsum("ij,ij->i", part, part))
            self._lower = np.full(self.n, -np.inf)
            self._drifts = np.full(self.k, np.inf)

    @property
    def centroids(self) -> Floats:
        """The centroids (k, d), unit-scaled."""
        return self._centers + 0.5

    def count_empty(self) -> int:
        """How many niches have no sample."""
        return int((np.bincount(self.labels, minlength=self.k) == 0).sum())

    def step(self, average: bool = True) -> tuple[float, int]:
        """Assign all samples, then move the centroids, as `FixedLloyd.step` does."""
        self.changed[:] = 0
        self._in_chunks(
            lambda first, last: own_squares(
                self.points, first, last, self.labels, self._centers, self.moved, self.squares
            ),
            self.n,
            _CHUNK,
        )
        n_changed = self._assign() if self.principal is None else self._assign_by_parts(self.principal)
        error = float(self.squares.sum() / self.n)
        before = self._centers.copy()
        lloyd.sort_by_niche(self.labels, self.starts, self.members)
        if not average:
            self.changed[:] = 0
        n_empty = sum(
            self._in_chunks(
                lambda first, last: lloyd.update_means(
                    self.points,
                    self.members,
                    self.starts,
                    self._centers,
                    self.changed,
                    self.moved,
                    first,
                    last,
                ),
                self.k,
                self.k // 16 + 1,
            )
        )
        n_reseeded = 0
        if n_empty:
            empty = np.flatnonzero(np.diff(self.starts) == 0)
            farthest = np.argsort(-self.squares, kind="stable")[: len(empty)]
            spots = farthest[self.squares[farthest] > 0.0]
            self._centers[empty[: len(spots)]] = self.points[spots]
            self.moved[empty[: len(spots)]] = 1
            n_reseeded = len(spots)
        if self.principal is None:
            gaps = self._centers - before
            self._drifts = np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * (1 + 1e-12)
        return error, n_changed or n_reseeded

    def _in_chunks(self, work: Any, n: int, chunk: int) -> list[Any]:
        results: list[Any] = []
        in_chunks(lambda first, last: results.append(work(first, last)), n, chunk, self.threads)
        return results

    def _assign(self) -> int:
        by_drift = np.argsort(-self._drifts, kind="stable")
        drifts = np.append(self._drifts[by_drift], 0.0)
        slack = self._lower - np.sqrt(self.squares) * (1 + 1e-12)
        slack[self.labels < 0] = -np.inf
        # How many centroids drifted at least as far as the slack.
        widths = self.k - np.searchsorted(drifts[:-1][::-1], slack, side="left")
        order = np.argsort(slack, kind="stable")
        order = order[: np.searchsorted(-widths[order], 0, side="left")]
        idle = widths == 0
        self._lower[idle] -= drifts[0]
        columns = self._centers[by_drift]
        panels, bias = panel_tables(columns)
        longest = float(np.sqrt((columns * columns).sum(axis=1).max()))
        margins = np.array([*score_margin(self.d, longest), longest])
        ordered_widths = widths[order]

        def assign(first: int, last: int) -> int:
            return staircase_rows(
                self.points,
                self._lengths,
                order,
                ordered_widths,
                first,
                last,
                panels,
                bias,
                by_drift,
                drifts,
                margins,
                self._centers,
                self.labels,
                self.squares,
                self._lower,
                self.changed,
            )

        return sum(self._in_chunks(assign, len(order), 8 * _BLOCK))

    def _principal_parts(self) -> tuple[Floats, Floats, Singles] | None:
        """Mean (d,), components (q, d) and the samples' parts (n, q + 1), the last the length of what is left over."""
        if self.d < 2 * _COMPONENTS:
            return None
        some = self.points[:: -(-self.n // 20_000)].astype(np.float64)
        mean, components, left_over = leading_components(some, _COMPONENTS)
        if left_over > _LEFT_OVER:
            return None
        parts = np.empty((self.n, len(components) + 1), np.float32)  # there may be fewer than asked for
        for first in range(0, self.n, _CHUNK):
            parts[first : first + _CHUNK] = principal_parts(
                self.points[first : first + _CHUNK].astype(np.float64), mean, components
            )
        return mean, components, parts

    def _assign_by_parts(self, principal: tuple[Floats, Floats, Singles]) -> int:
        mean, components, parts = principal
        columns = principal_parts(self._centers, mean, components)
        panels, bias = panel_tables(columns)
        longest = float(np.sqrt((columns * columns).sum(axis=1).max()))
        margins = np.array(score_margin(parts.shape[1], longest))
        before = self.labels.copy()

        def assign(first: int, last: int) -> int:
            return principal_rows(
                self.points,
                parts,
                self.members,
                first,
                last,
                panels,
                bias,
                margins,
                self._centers,
                self.labels,
                self.squares,
                self.changed,
            )

        self._in_chunks(assign, self.n, 16 * _BLOCK)
        return int((self.labels != before).sum())
