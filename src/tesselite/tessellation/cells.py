"""Exact Voronoi cells in the unit square by half-plane clipping, and the descent that makes them centroidal.

With two features and uniform density nothing need be sampled: a cell's area, mean and second moment are sums over its
polygon. Other spaces are sampled, in `fixed` and `fresh`.

Y. Nesterov (1983), "A method for solving the convex programming problem with convergence rate O(1/k^2)"; restarts
after B. O'Donoghue, E. Candes (2015), "Adaptive restart for accelerated gradient schemes".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.base.threads import in_chunks
from tesselite.compiled.kernels import kernel
from tesselite.tessellation.nearest.table import bucket_sort

_CORNERS = 256  # a cell with more corners than this would need as many neighbours on one circle


class Corners(NamedTuple):
    """Where the corners of a cell are, seen from its site, and room for those after the next cut, (256,) each."""

    px: Floats
    py: Floats
    qx: Floats
    qy: Floats


@kernel()
def new_corners() -> Corners:
    """Room for a cell."""
    return Corners(np.empty(_CORNERS), np.empty(_CORNERS), np.empty(_CORNERS), np.empty(_CORNERS))


@kernel(forceinline=True)
def _cut(corners: Corners, n: int, a: float, b: float, farthest: float) -> tuple[int, float]:
    """Cut what is nearer to a site at (a, b) off a cell; how many corners there are, and the farthest's square."""
    px, py, qx, qy = corners
    half = 0.5 * (a * a + b * b)
    outside = False
    for i in range(n):
        if px[i] * a + py[i] * b > half:
            outside = True
            break
    if not outside:
        return n, farthest
    count = 0
    farthest = 0.0
    last = px[n - 1] * a + py[n - 1] * b - half
    for i in range(n):
        now = px[i] * a + py[i] * b - half
        if (now > 0.0) != (last > 0.0):
            before = n - 1 if i == 0 else i - 1
            f = last / (last - now)
            qx[count] = px[before] + f * (px[i] - px[before])
            qy[count] = py[before] + f * (py[i] - py[before])
            farthest = max(farthest, qx[count] * qx[count] + qy[count] * qy[count])
            count += 1
        if now <= 0.0:
            qx[count], qy[count] = px[i], py[i]
            farthest = max(farthest, px[i] * px[i] + py[i] * py[i])
            count += 1
        last = now
    n = min(count, _CORNERS - 2)
    for i in range(n):
        px[i], py[i] = qx[i], qy[i]
    return n, farthest


@kernel()
def cut_cell(sites: Floats, s: int, side: int, starts: Ints, ids: Ints, corners: Corners) -> int:
    """Cut the unit square down to the cell of site s; how many corners there are, in px and py.

    Neighbours come ring by ring of buckets, until a ring is farther than twice the farthest corner. Of sites on one
    place the lowest has the cell, the others have none.
    """
    x, y = sites[s, 0], sites[s, 1]
    px, py = corners.px, corners.py
    px[0], px[1], px[2], px[3] = -x, 1.0 - x, 1.0 - x, -x
    py[0], py[1], py[2], py[3] = -y, -y, 1.0 - y, 1.0 - y
    n = 4
    u = min(max(int(x * side), 0), side - 1)
    v = min(max(int(y * side), 0), side - 1)
    # Distance from the site to the border of its own bucket: what ring r + 1 is away at least, less r buckets.
    inset = min(min(x - u / side, (u + 1) / side - x), min(y - v / side, (v + 1) / side - y))
    farthest = 2.0
    ring = 0
    while ring <= side:
        reach = inset + (ring - 1) / side
        if ring > 0 and reach > 0.0 and reach * reach > 4.0 * farthest:
            break
        for row in range(max(v - ring, 0), min(v + ring, side - 1) + 1):
            step = 1 if row in (v - ring, v + ring) or ring == 0 else 2 * ring
            for column in range(u - ring, u + ring + 1, step):
                if column < 0 or column >= side:
                    continue
                for m in range(starts[row * side + column], starts[row * side + column + 1]):
                    t = ids[m]
                    if t == s:
                        continue
                    a, b = sites[t, 0] - x, sites[t, 1] - y
                    square = a * a + b * b
                    if square > 4.0 * farthest:
                        continue
                    if square == 0.0:
                        if t < s:
                            return 0
                        continue
                    n, farthest = _cut(corners, n, a, b, farthest)
        ring += 1
    return n


@kernel()
def cell_moments(
    sites: Floats,
    first: int,
    last: int,
    side: int,
    starts: Ints,
    ids: Ints,
    areas: Floats,
    means: Floats,
    energies: Floats,
) -> None:
    """Areas, means (k, 2) and integrals of the squared distance from the site, of the cells first..last."""
    corners = new_corners()
    px, py = corners.px, corners.py
    for s in range(first, last):
        n = cut_cell(sites, s, side, starts, ids, corners)
        area = mx = my = energy = 0.0
        for i in range(n):
            j = i + 1 if i + 1 < n else 0
            # The triangle of the site (the origin here) and one side.
            w = px[i] * py[j] - px[j] * py[i]
            area += w
            mx += w * (px[i] + px[j])
            my += w * (py[i] + py[j])
            energy += w * (
                px[i] * px[i] + px[i] * px[j] + px[j] * px[j] + py[i] * py[i] + py[i] * py[j] + py[j] * py[j]
            )
        areas[s] = 0.5 * area
        energies[s] = energy / 12.0
        means[s, 0] = sites[s, 0] + (mx / (3.0 * area) if area > 0.0 else 0.0)
        means[s, 1] = sites[s, 1] + (my / (3.0 * area) if area > 0.0 else 0.0)


def measure_cells(sites: Floats, threads: int = 1) -> tuple[Floats, Floats, float]:
    """Areas (k,) and means (k, 2) of the cells of (k, 2) sites in the unit square, and the mean squared distance."""
    k = len(sites)
    side = max(1, int((k / 2) ** 0.5))
    starts, ids = np.empty(side * side + 1, np.int64), np.empty(k, np.int64)
    bucket_sort(sites, side, starts, ids)
    areas, means, energies = np.empty(k), np.empty((k, 2)), np.empty(k)

    def measure(first: int, last: int) -> None:
        cell_moments(sites, first, last, side, starts, ids, areas, means, energies)

    in_chunks(measure, k, k if threads == 1 else k // (4 * threads) + 1, threads)
    return areas, means, float(energies.sum())


class ExactCells:
    """The state of the accelerated descent on exact cells: `step` measures once and moves all sites."""

    def __init__(self, sites: Floats, threads: int, rng: np.random.Generator) -> None:
        self.sites = sites.copy()
        self.threads = threads
        self._ahead = sites.copy()
        self._momentum = 1.0
        self._rng = rng

    def step(self) -> float:
        """One Lloyd step at the extrapolated sites; the mean squared distance there."""
        areas, means, error = measure_cells(self._ahead, self.threads)
        none = np.flatnonzero(areas <= 0.0)
        if len(none):  # sites on one place: scatter them
            means[none] = self._rng.random((len(none), 2))
        if float(((self._ahead - means) * (means - self.sites)).sum()) > 0.0:
            self._momentum = 1.0  # the momentum points uphill: forget it
        momentum = 0.5 * (1.0 + (1.0 + 4.0 * self._momentum**2) ** 0.5)
        self._ahead = np.clip(means + (self._momentum - 1.0) / momentum * (means - self.sites), 0.0, 1.0)
        self._momentum = momentum
        self.sites = means
        return error


def hexagonal_rows(k: int, rng: np.random.Generator, jitter: float) -> Floats:
    """k points of the unit square in rows, as near to a hexagonal lattice as the square allows, shape (k, 2).

    Each is displaced by normal noise of `jitter` lattice spacings, so that another seed gives other niches.
    """
    n_rows = max(1, round((k * 3**0.5 / 2) ** -0.5 * k)) if k > 2 else 1
    n_rows = min(n_rows, k)
    bounds = np.linspace(0, k, n_rows + 1).round().astype(int)
    points = np.empty((k, 2))
    for row in range(n_rows):
        n = bounds[row + 1] - bounds[row]
        shift = 0.25 if row % 2 else -0.25
        points[bounds[row] : bounds[row + 1], 0] = (np.arange(n) + 0.5 + (shift if n > 1 else 0.0)) / n
        points[bounds[row] : bounds[row + 1], 1] = (row + 0.5) / n_rows
    if rng.random() < 0.5:
        points = points[:, ::-1].copy()
    spacing = (2.0 / (3**0.5 * k)) ** 0.5
    return np.asarray((points + jitter * spacing * rng.standard_normal((k, 2))).clip(1e-9, 1 - 1e-9))
