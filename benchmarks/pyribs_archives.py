"""Archives with pyribs' interface against pyribs' own: the time of `add`, and what pyribs' emitters find on either.

    python benchmarks/pyribs_archives.py [--seeds 5]

Both in one process, in turn, the best of several rounds. Needs ribs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import ribs.archives
import ribs.emitters
import ribs.schedulers

from measurement import table
from tesselite.interop import pyribs

WIDTH, BATCH, BATCHES, ROUNDS = 10, 4096, 40, 7
UNIT = (0.0, 1.0)
# pyribs' methods for finding the nearest centroid, except brute force, which takes about a second per batch. Ours uses
# all cores where that pays, so pyribs may as well.
NEIGHBOURS: dict[str, dict[str, Any]] = {
    "k-d tree": {},
    "k-d tree, all cores": {"kdtree_query_kwargs": {"workers": -1}},
    "scikit-learn": {"nearest_neighbors": "sklearn_nn"},
    "scikit-learn, all cores": {"nearest_neighbors": "sklearn_nn", "sklearn_nn_kwargs": {"n_jobs": -1}},
}


def seconds_of_add(archive: Any, batches: list[tuple[Any, ...]]) -> float:
    """Seconds per batch, of all batches into an empty archive; the first call is not counted."""
    archive.add(*batches[0])
    archive.clear()
    started = time.perf_counter()
    for batch in batches:
        archive.add(*batch)
    return (time.perf_counter() - started) / len(batches)


def added(d: int, make: dict[str, Callable[[], Any]], n_batches: int = BATCHES) -> dict[str, float]:
    """The best seconds per batch of each kind of archive, with solutions that get better and better."""
    rng = np.random.default_rng(1)
    batches = [
        (rng.random((BATCH, WIDTH)), rng.normal(size=BATCH) + i / 20, rng.random((BATCH, d))) for i in range(n_batches)
    ]
    best = dict.fromkeys(make, np.inf)
    for _ in range(ROUNDS):
        for name, archive in make.items():
            best[name] = min(best[name], seconds_of_add(archive(), batches))
    return best


def speed_of_add() -> Iterator[list[str]]:
    """A row for each kind of cells: milliseconds of ours, of pyribs' fastest, and how many times as fast ours is."""
    grids = {name: home.GridArchive for name, home in (("ours", pyribs), ("pyribs", ribs.archives))}
    found = added(2, {name: _grid(kind) for name, kind in grids.items()})
    yield ["grid 100x100", *_figures(found)]
    for d in (2, 6):
        centroids = np.random.default_rng(0).random((10_000, d))
        make = {name: _cvt(ribs.archives.CVTArchive, centroids, name) for name in NEIGHBOURS}
        found = added(d, {"ours": _cvt(pyribs.CVTArchive, centroids), **make})
        quick = min(NEIGHBOURS, key=lambda name: found[name])
        print(f"{d} measures, ms per batch:", {name: round(1e3 * each, 2) for name, each in found.items()})
        yield [f"10,000 centroids, {d} measures ({quick})", *_figures({"ours": found["ours"], "pyribs": found[quick]})]


def _grid(kind: Any) -> Callable[[], Any]:
    return lambda: kind(solution_dim=WIDTH, dims=[100, 100], ranges=[UNIT] * 2)


def _cvt(kind: Any, centroids: Any, neighbours: str = "k-d tree") -> Callable[[], Any]:
    ranges = [UNIT] * centroids.shape[1]
    return lambda: kind(solution_dim=WIDTH, centroids=centroids, ranges=ranges, **NEIGHBOURS[neighbours])


def _figures(found: dict[str, float]) -> list[str]:
    ours, theirs = 1e3 * found["ours"], 1e3 * found["pyribs"]
    return [f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}"]


# -- emitters ----------------------------------------------------------------------------------------------------------


def emitters(archive: Any, seed: int) -> dict[str, Callable[[], Any]]:
    """pyribs' emitters on an archive, each of batches of 200 from the origin."""
    start, several = [0.0] * WIDTH, {"batch_size": 40}
    return {
        "IsoLine": lambda: [ribs.emitters.IsoLineEmitter(archive, x0=start, batch_size=200, seed=seed)],
        "Gaussian": lambda: [ribs.emitters.GaussianEmitter(archive, sigma=0.1, x0=start, batch_size=200, seed=seed)],
        "CMA-ME": lambda: [
            ribs.emitters.EvolutionStrategyEmitter(archive, x0=start, sigma0=0.3, seed=seed * 10 + i, **several)
            for i in range(5)
        ],
        "CMA-MAE": lambda: [
            ribs.emitters.EvolutionStrategyEmitter(
                archive,
                x0=start,
                sigma0=0.3,
                ranker="imp",
                selection_rule="mu",
                restart_rule="basic",
                seed=seed * 10 + i,
                **several,
            )
            for i in range(5)
        ],
    }


def sphere(solutions: Any) -> tuple[Any, Any]:
    """100 at 0.4 in every value, and the sums of both halves, scaled to [-1, 1]."""
    half = WIDTH // 2
    measures = np.column_stack([solutions[:, :half].clip(-1, 1).mean(1), solutions[:, half:].clip(-1, 1).mean(1)])
    return 100 - 10 * ((solutions - 0.4) ** 2).sum(axis=1), measures


def run(name: str, home: Any, centroids: Any, seed: int, iterations: int = 250) -> tuple[Any, float]:
    """An archive filled by the scheduler in 50,000 evaluations, and the seconds that it took."""
    annealing = {"learning_rate": 0.1, "threshold_min": 0.0} if name == "CMA-MAE" else {}
    archive = home.CVTArchive(
        solution_dim=WIDTH, centroids=centroids, ranges=[(-1, 1)] * 2, seed=seed, samples=20_000, **annealing
    )
    archive.index_of([[0.0, 0.0]])
    scheduler = ribs.schedulers.Scheduler(archive, emitters(archive, seed)[name]())
    started = time.perf_counter()
    for _ in range(iterations):
        scheduler.tell(*sphere(scheduler.ask()))
    return archive, time.perf_counter() - started


def same(ours: Any, theirs: Any) -> bool:
    """Whether two archives hold the same, to the last bit."""
    return all(ours.data(name).tobytes() == theirs.data(name).tobytes() for name in ours.field_list)


def results_of_emitters(seeds: int) -> Iterator[list[str]]:
    """A row for each emitter: with shared centroids, with each library's own, and the ratio of times."""
    shared = ribs.archives.k_means_centroids(centroids=1000, ranges=[(-1, 1)] * 2, samples=20_000, seed=1)[0]
    for name in ("IsoLine", "Gaussian", "CMA-ME", "CMA-MAE"):
        equal, ratios, scores = 0, [], {"ours": [], "pyribs": []}
        for seed in range(1, seeds + 1):
            (ours, quick), (theirs, slow) = (run(name, home, shared, seed) for home in (pyribs, ribs.archives))
            equal += same(ours, theirs)
            ratios.append(slow / quick)
            for whose, home in (("ours", pyribs), ("pyribs", ribs.archives)):
                scores[whose].append(float(run(name, home, 1000, 100 + seed)[0].stats.qd_score))
        means = [f"{np.mean(found):,.0f} ± {np.std(found, ddof=1):,.0f}" for found in scores.values()]
        yield [name, f"{equal} of {seeds}", *means, f"{np.median(ratios):.2f}"]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    head = ["cells", "ours, ms", "pyribs, ms", "times as fast"]
    print(table(head, list(speed_of_add())))
    head = ["emitter", "same archive", "QD score, ours", "QD score, pyribs", "times as fast, whole loop"]
    print(table(head, list(results_of_emitters(seeds))))


if __name__ == "__main__":
    main()
