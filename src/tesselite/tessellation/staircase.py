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

import functools
from typing import NamedTuple

import numpy as np

from tesselite.base.arrays import Floats, Ints, Singles
from tesselite.base.threads import in_chunks
from tesselite.compiled.kernels import kernel
from tesselite.tessellation import lloyd
from tesselite.tessellation.fixed import LloydSamples
from tesselite.tessellation.lloyd import Samples
from tesselite.tessellation.nearest.distances import row_square
from tesselite.tessellation.nearest.panels import (
    COLUMNS,
    ROWS,
    new_top_two,
    panel_tables,
    score_margin,
    tile_hits,
    top_two_rows,
)
from tesselite.tessellation.nearest.principal import leading_components, principal_parts

_BLOCK = 16 * ROWS
_COMPONENTS = 24
_LEFT_OVER = 0.05  # principal components pay if no more of the variance than this is left over
_CHUNK = 16_384


class Columns(NamedTuple):
    """Centroids, or parts of them, as `panels` takes them, and by how much scores can be wrong."""

    panels: Singles
    bias: Singles
    margins: Floats


class Stairs(NamedTuple):
    """Which columns each sample has to meet: sample order[i] the first widths[i] of them.

    The columns are the niches `ids`, sorted by drift, descending; `drifts` has one entry more, 0. `lower` bounds the
    distance of each sample of length `lengths` from all other centroids.
    """

    order: Ints
    widths: Ints
    lengths: Floats
    lower: Floats
    ids: Ints
    drifts: Floats


@kernel(forceinline=True)
def _square(samples: Samples, i: int, c: int) -> float:
    d = samples.points.shape[1]
    return row_square(samples.points, i * d, samples.centroids, c * d, d)


@kernel()
def own_squares(samples: Samples, first: int, last: int) -> None:
    """Squared distances of samples first..last to their own centroids, where these moved."""
    for i in range(first, last):
        c = samples.labels[i]
        if c >= 0 and samples.moved[c]:
            samples.squares[i] = _square(samples, i, c)


@kernel(forceinline=True)
def _nearest_two(samples: Samples, i: int, columns: Ints) -> tuple[int, float, float]:
    """The nearest niche of a sample among its own and these, its squared distance and that of the next."""
    old, found = samples.labels[i], samples.labels[i]
    least, next_least = samples.squares[i], np.inf
    for c in columns:
        if c == old:
            continue
        square = _square(samples, i, c)
        if square < least or (square == least and c < found):
            next_least = least
            least, found = square, c
        elif square < next_least:
            next_least = square
    return found, least, next_least


@kernel()
def staircase_rows(samples: Samples, columns: Columns, stairs: Stairs, first: int, last: int) -> int:
    """Assign the samples order[first:last], each to the nearest of its own niche and those it meets; how many moved."""
    points, labels, squares, margins = samples.points, samples.labels, samples.squares, columns.margins
    d = points.shape[1]
    k = len(samples.centroids)
    xs = np.zeros(_BLOCK * d, np.float32)
    top_two = new_top_two(_BLOCK)
    n_changed = 0
    for begin in range(first, last, _BLOCK):
        n = min(_BLOCK, last - begin)
        n_panels = -(-stairs.widths[begin] // COLUMNS)
        width = min(n_panels * COLUMNS, k)
        for r in range(n):
            at = stairs.order[begin + r]
            for j in range(d):
                xs[r * d + j] = points[at, j]
        top_two_rows(xs, n, d, columns.panels, columns.bias, n_panels, top_two)
        for r in range(n):
            i = stairs.order[begin + r]
            old = labels[i]
            own = squares[i]
            length = stairs.lengths[i]
            reach = length + margins[2]
            slip = 2.0 * (margins[0] * length + margins[1]) + 2.0**-50 * reach * reach * d
            one = length * length - 2.0 * np.float64(top_two.best[r])
            two = length * length - 2.0 * np.float64(top_two.second[r])
            c = stairs.ids[top_two.which[r]]
            others = two - slip
            if c == old and two - slip > own:
                pass
            elif c != old and one - slip > own:
                others = one - slip
            elif c != old and one + slip < own and two - slip > one + slip:
                labels[i] = c
                others = min(others, own)
                squares[i] = _square(samples, i, c)
            else:  # too near to call in single precision: look at all of them again
                labels[i], squares[i], next_least = _nearest_two(samples, i, stairs.ids[:width])
                others = next_least * (1.0 - 1e-12)
            bound = np.sqrt(max(others, 0.0)) * (1.0 - 1e-12)
            if width < k:
                bound = min(bound, stairs.lower[i] - stairs.drifts[width])
            stairs.lower[i] = bound
            if labels[i] != old:
                n_changed += 1
                samples.changed[labels[i]] = 1
                if old >= 0:
                    samples.changed[old] = 1
    return n_changed


@kernel(forceinline=True)
def _reach(ys: Singles, r: int, q: int, own: float, margins: Floats) -> float:
    """The least score of a column that can be nearer to row r than its own niche is."""
    square = 0.0
    for j in range(q):
        square += np.float64(ys[r * q + j]) * np.float64(ys[r * q + j])
    slip = margins[0] * np.sqrt(square) + margins[1]
    # Raised by a part in a million: the bound itself is rounded to single precision.
    bound = 0.5 * (square - own * (1.0 + 1e-9)) - slip
    return bound - 1e-6 * abs(bound)


@kernel()
def principal_rows(samples: Samples, columns: Columns, parts: Singles, order: Ints, first: int, last: int) -> int:
    """Assign the samples order[first:last] by bounds of principal `parts` (n, q); how many changed niche."""
    labels, squares, changed = samples.labels, samples.squares, samples.changed
    panels, bias = columns.panels, columns.bias
    q = parts.shape[1]
    n_panels = len(bias) // COLUMNS
    ys = np.zeros(_BLOCK * q, np.float32)
    bounds = np.full(_BLOCK, np.float32(np.inf))
    scores = np.empty(ROWS * COLUMNS, np.float32)
    top_two = new_top_two(_BLOCK)
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
            top_two_rows(ys, n, q, panels, bias, n_panels, top_two)
            for r in range(n):
                i = order[begin + r]
                labels[i] = top_two.which[r]
                squares[i] = _square(samples, i, labels[i])
                changed[labels[i]] = 1
                n_changed += 1
        for r in range(_BLOCK):
            bounds[r] = _reach(ys, r, q, squares[order[begin + r]], columns.margins) if r < n else np.inf
        for tile in range(-(-n // ROWS)):
            for panel in range(n_panels):
                at, row = panel * COLUMNS, tile * ROWS
                if not tile_hits(ys, row * q, q, panels, at * q, bias, at, bounds, row, scores):
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
                        square = _square(samples, i, c)
                        if square < squares[i] or (square == squares[i] and c < old):
                            squares[i] = square
                            labels[i] = c
                            changed[c] = 1
                            changed[old] = 1
                            n_changed += 1
    return n_changed


class StaircaseLloyd(LloydSamples):
    """The state of Lloyd's algorithm on fixed samples in many dimensions, p = 2; the interface of `FixedLloyd`.

    `points` (n, d) are unit-scaled, in single precision, and are shifted in place: pass a copy.
    """

    def __init__(self, points: Singles, centroids: Floats, threads: int) -> None:
        super().__init__(points, len(centroids), threads)
        for first in range(0, self.n, _CHUNK):
            points[first : first + _CHUNK] -= np.float32(0.5)
        self._centers = np.ascontiguousarray(centroids - 0.5)
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

    def step(self, average: bool = True) -> tuple[float, int]:
        """Assign all samples, then move the centroids, as `FixedLloyd.step` does."""
        self.changed[:] = 0
        samples = self.arrays(self._centers)
        in_chunks(functools.partial(own_squares, samples), self.n, _CHUNK, self.threads)
        n_changed = self._assign() if self.principal is None else self._assign_by_parts(self.principal)
        error = self.sort(average)
        before = self._centers.copy()
        n_empty = self.in_chunks(functools.partial(lloyd.update_means, samples), self.k, self.k // 16 + 1)
        n_reseeded = self.reseed(self._centers) if n_empty else 0
        if self.principal is None:
            gaps = self._centers - before
            self._drifts = np.sqrt(np.einsum("ij,ij->i", gaps, gaps)) * (1 + 1e-12)
        return error, n_changed or n_reseeded

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
        stairs = Stairs(order, widths[order], self._lengths, self._lower, by_drift, drifts)
        task = (self.arrays(self._centers), Columns(panels, bias, margins), stairs)
        return self.in_chunks(functools.partial(staircase_rows, *task), len(order), 8 * _BLOCK)

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
        task = (self.arrays(self._centers), Columns(panels, bias, margins), parts, self.members)
        self.in_chunks(functools.partial(principal_rows, *task), self.n, 16 * _BLOCK)
        return int((self.labels != before).sum())
