"""The cost of a change of niches, and of populations without niches against the full distance matrix and pyribs'
archives.

    python benchmarks/growing.py
    python benchmarks/growing.py --niches 2000 --members 2000

Processor seconds, the best of several: on one machine, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import tesselite as tl
from measurement import table
from tesselite.tessellation.growing import Expanding
from tesselite.tessellation.growth import adapted, along_axes, spanning_axes

BATCH = 200


def best(times: int, work: Callable[[int], object]) -> float:
    """The least processor time of calls with 0, 1, ..."""
    found = []
    for i in range(times):
        began = time.process_time()
        work(i)
        found.append(time.process_time() - began)
    return min(found)


def changes(n_niches: int) -> list[list[str]]:
    """A change of niches with elites in most of them, in 2 and 36 dimensions."""
    rows = []
    for d in (2, 36):
        rng = np.random.default_rng(1)
        space = tl.FeatureSpace.unit(d)
        few = {} if d == 2 else {"method": "fresh", "iterations": 2}
        niches = tl.cvt(space, n_niches, seed=1, **few)
        archive = tl.Archive(niches, 10)
        n = 4 * n_niches
        archive.add(rng.random((n, 10)), rng.random(n), rng.random((n, d)))

        def expand(i: int, archive=archive, niches=niches, space=space) -> None:
            wider = space.within(space.low - 0.01 * (i + 1), space.high + 0.01)
            unit = niches.unit_centroids
            if space.n > Expanding.axes:  # as when axes are learned again
                elites = archive.in_order_of_filling().features
                unit = along_axes(unit[:, : Expanding.axes], spanning_axes(wider.to_unit(elites), Expanding.axes))
            moved = wider.from_unit(unit).clip(wider.low, wider.high)
            archive.moved_to(tl.VoronoiTessellation(wider, moved))

        seen = rng.random((5 * n_niches, d))

        def adapt(i: int, archive=archive, niches=niches, space=space, seen=seen, d=d) -> None:
            how = tl.adaptive(len(niches.centroids))
            archive.moved_to(adapted(space, how, seen, niches.centroids, np.random.default_rng(i)))

        expand(0)
        rows.append([str(d), f"{n_niches:,}", f"{len(archive):,}", f"{best(3, expand):.3f}", f"{best(2, adapt):.2f}"])
    return rows


def full_matrix(fitness: Any, points: Any, evaluations: Any, size: int, k: int) -> Any:
    """The rows that dominated novelty search keeps, by all distances."""
    distances = cdist(points, points)
    equal = fitness[None, :] == fitness[:, None]
    better = (fitness[None, :] > fitness[:, None]) | (equal & (evaluations[None, :] < evaluations[:, None]))
    distances[~better] = np.inf
    nearest = np.partition(distances, k - 1, axis=1)[:, :k]
    known = np.isfinite(nearest)
    mean = np.where(known, nearest, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    mean = np.where(known.any(axis=1), mean, np.inf)
    return np.sort(np.lexsort((evaluations, -fitness, -mean))[:size])


def populations(size: int) -> list[list[str]]:
    """Batches of 200 into a full population, by dominated novelty search."""
    rows = []
    for d in (2, 36):
        rng = np.random.default_rng(1)
        ours = tl.dns(size).revision
        ours.begin(1)
        state = (rng.random(size), rng.random((size, d)), np.arange(size))
        ours.select(*state, 0)
        seconds = {"tesselite": [], "matrix": []}
        for i in range(4):
            new = [rng.random(BATCH), rng.random((BATCH, d)), size + BATCH * i + np.arange(BATCH)]
            state = tuple(np.concatenate(both) for both in zip(state, new, strict=True))
            began = time.process_time()
            kept = ours.select(*state, size)
            seconds["tesselite"].append(time.process_time() - began)
            if i == 3:
                began = time.process_time()
                expected = full_matrix(*state, size, 3)
                seconds["matrix"].append(time.process_time() - began)
                assert np.array_equal(kept, expected)
            state = tuple(values[kept] for values in state)
        mine, matrix = min(seconds["tesselite"][1:]), seconds["matrix"][0]
        against = f"{matrix:.2f} ({matrix / mine:.0f} x)"
        rows.append([str(d), f"{size:,}", f"{mine:.3f}", against, pyribs(size, d, mine)])
    return rows


def pyribs(size: int, d: int, mine: float) -> str:
    """A batch into pyribs' archive for dominated novelty search; "-" where pyribs is not installed."""
    try:
        from ribs.archives import DNSArchive
    except ImportError:
        return "-"
    rng = np.random.default_rng(1)
    archive = DNSArchive(solution_dim=10, measure_dim=d, capacity=size, k_neighbors=3)
    archive.add(rng.random((size, 10)), rng.random(size), rng.random((size, d)))
    seconds = best(2, lambda i: archive.add(rng.random((BATCH, 10)), rng.random(BATCH), rng.random((BATCH, d))))
    return f"{seconds:.2f} ({seconds / mine:.0f} x)"


def local_competition(size: int) -> list[list[str]]:
    """Batches of 200 into a full population, by novelty search with local competition; pyribs' archive beside it.

    They differ: ours ranks the whole population by NSGA-II, pyribs considers the new rows only and adds those that are
    novel enough or better than their nearest.
    """
    rows = []
    for d in (2, 36):
        rng = np.random.default_rng(1)
        ours = tl.nslc(size).revision
        ours.begin(1)
        state = (rng.random(size), rng.random((size, d)), np.arange(size))
        ours.select(*state, 0)
        seconds = []
        for i in range(4):
            new = [rng.random(BATCH), rng.random((BATCH, d)), size + BATCH * i + np.arange(BATCH)]
            state = tuple(np.concatenate(both) for both in zip(state, new, strict=True))
            began = time.process_time()
            kept = ours.select(*state, size)
            seconds.append(time.process_time() - began)
            state = tuple(values[kept] for values in state)
        mine = min(seconds[1:])
        rows.append([str(d), f"{size:,}", f"{mine:.3f}", proximity(size, d, mine)])
    return rows


def proximity(size: int, d: int, mine: float) -> str:
    """A batch into pyribs' archive for novelty search with local competition; "-" where pyribs is not installed."""
    try:
        from ribs.archives import ProximityArchive
    except ImportError:
        return "-"
    rng = np.random.default_rng(1)
    options = {"k_neighbors": 15, "novelty_threshold": 0.0, "local_competition": True}
    archive = ProximityArchive(solution_dim=10, measure_dim=d, **options)
    archive.add(rng.random((size, 10)), rng.random(size), rng.random((size, d)))
    seconds = best(2, lambda i: archive.add(rng.random((BATCH, 10)), rng.random(BATCH), rng.random((BATCH, d))))
    return f"{seconds:.3f} ({seconds / mine:.2f} x)"


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--niches", type=int, default=10_000)
    arguments.add_argument("--members", type=int, default=10_000)
    arguments.add_argument("--local-members", type=int, default=2000)
    options = arguments.parse_args()
    print(table(["features", "niches", "elites", "expanding, s", "adaptive, s"], changes(options.niches)))
    print()
    head = ["features", "members", "tesselite, s a batch", "full matrix, s", "pyribs DNSArchive, s"]
    print(table(head, populations(options.members)))
    print()
    head = ["features", "members", "tesselite nslc, s a batch", "pyribs ProximityArchive, s"]
    print(table(head, local_competition(options.local_members)))


if __name__ == "__main__":
    main()
