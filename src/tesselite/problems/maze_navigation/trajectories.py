"""Drivable trajectories: the samples from which the CVT of a maze descriptor is built.

How they become centroids lives in `tesselite.tessellation`. Method: Vassiliades et al. 2018, section IV-A,
"Generating centroids": the points are chosen in random order, each uniform inside what the points chosen so far leave
possible.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel
from tesselite.problems.maze_navigation.arithmetic import below, uniform
from tesselite.problems.maze_navigation.robot import SPEED

_CHUNK = 256


def sample_trajectories(
    n: int,
    rng: np.random.Generator,
    times: npt.NDArray[np.int64],
    start: tuple[float, float],
    size: tuple[float, float],
    threads: int | None = None,
) -> npt.NDArray[np.float64]:
    """Draw n drivable trajectories, shape (n, 2 * len(times)): x, y at each of the increasing `times`, in steps.

    Each axis changes by at most 2 units a step, from `start` at time 0, and stays within 0 and `size` (width, height).
    For one rng, trajectory i is the same however many are drawn and on however many threads.
    """
    from tesselite.base.threads import checked_threads, in_chunks

    samples = np.empty((n, 2 * len(times)))
    seeds = rng.integers(0, 2**64, n, dtype=np.uint64)
    clock = np.concatenate([[0], times]).astype(np.int64)
    edges = np.array([start[0], start[1], size[0], size[1]], dtype=np.float64)
    in_chunks(
        lambda first, last: fill_trajectories(samples, first, last, clock, edges, seeds),
        n,
        _CHUNK,
        checked_threads(threads),
    )
    return samples


@kernel()
def fill_trajectories(
    samples: npt.NDArray[np.float64],
    first: int,
    last: int,
    clock: npt.NDArray[np.int64],
    edges: npt.NDArray[np.float64],
    seeds: npt.NDArray[np.uint64],
) -> None:
    """Fill samples[first:last]; `clock` is 0 and the times, `edges` are start x, start y, width, height."""
    n_points = clock.shape[0] - 1
    order = np.empty(n_points, np.int64)
    before = np.empty(n_points + 2, np.int64)
    after = np.empty(n_points + 2, np.int64)
    point = np.empty((n_points + 1, 2))
    point[0, 0], point[0, 1] = edges[0], edges[1]
    for row in range(first, last):
        stream = seeds[row : row + 1]
        for i in range(n_points):
            j = below(i + 1, stream)
            order[i] = order[j]
            order[j] = i + 1
        # Which chosen points are nearest in time, before and after, when a point is chosen: take the points out of
        # a linked list in the reverse of the order; what a point's neighbours are then, they are at its turn.
        for i in range(n_points + 2):
            before[i] = i - 1
            after[i] = i + 1
        for turn in range(n_points - 1, -1, -1):
            i = order[turn]
            after[before[i]] = after[i]
            before[after[i]] = before[i]
        for turn in range(n_points):
            i = order[turn]
            for axis in range(2):
                reach = SPEED * (clock[i] - clock[before[i]])
                low = max(0.0, point[before[i], axis] - reach)
                high = min(edges[2 + axis], point[before[i], axis] + reach)
                if after[i] <= n_points:
                    reach = SPEED * (clock[after[i]] - clock[i])
                    low = max(low, point[after[i], axis] - reach)
                    high = min(high, point[after[i], axis] + reach)
                value = low + (high - low) * uniform(stream)
                point[i, axis] = value
                samples[row, 2 * (i - 1) + axis] = value
