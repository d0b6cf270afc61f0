"""How the benchmarks drive pyribs: an archive and an IsoLineEmitter without a scheduler, and CMA-MAE with one.

For one emitter the scheduler only copies what the emitter returns and forwards results, so leaving it out is in
pyribs' favour. The objective is a vectorised NumPy function; time in ask and add is kept apart from time in the
objective.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ribs.archives import CVTArchive, GridArchive
from ribs.emitters import EvolutionStrategyEmitter, IsoLineEmitter
from ribs.schedulers import Scheduler

from measurement import INITIAL, ISO, LINE, Result


def run(
    niches: Any,
    objective: Callable[[Any], tuple[Any, Any]],
    width: int,
    evaluations: int,
    batch_size: int,
    seed: int,
    nearest: str = "scipy_kd_tree",
) -> Result:
    """A search on a grid (a tuple of cells per feature) or on centroids (k, d) in the unit cube.

    `nearest` is pyribs' own default; "sklearn_nn" here means scikit-learn's brute force by matrix products, which is
    faster where there are many features.
    """
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(3)]
    if isinstance(niches, tuple):
        ranges = [(0.0, 1.0)] * len(niches)
        archive = GridArchive(solution_dim=width, dims=niches, ranges=ranges, seed=seeds[0])
    else:
        archive = CVTArchive(
            solution_dim=width,
            centroids=niches,
            ranges=[(0.0, 1.0)] * niches.shape[1],
            nearest_neighbors=nearest,
            sklearn_nn_kwargs={"algorithm": "brute"} if nearest == "sklearn_nn" else None,
            seed=seeds[0],
        )
    emitter = IsoLineEmitter(
        archive,
        iso_sigma=ISO,
        line_sigma=LINE,
        initial_solutions=np.random.default_rng(seeds[1]).random((INITIAL, width)),
        bounds=[(0.0, 1.0)] * width,
        batch_size=batch_size,
        seed=seeds[2],
    )
    done, in_objective = 0, 0.0
    started = time.perf_counter()
    while done < evaluations:
        solutions = emitter.ask()
        before = time.perf_counter()
        fitness, features = objective(solutions)
        in_objective += time.perf_counter() - before
        archive.add(solutions, fitness, features)
        done += len(solutions)
    seconds = time.perf_counter() - started
    stats = archive.stats
    return Result(done, seconds, seconds - in_objective, float(stats.coverage), float(stats.qd_score))


def cma_mae(
    width: int, bound: float, sigma: float, seed: int, emitters: int = 15, batch_size: int = 36, alpha: float = 0.01
) -> Scheduler:
    """CMA-MAE as in pyribs' tutorial, on a grid of 100 x 100 cells between -bound and bound."""
    cells: dict[str, Any] = {"solution_dim": width, "dims": (100, 100), "ranges": [(-bound, bound)] * 2}
    archive = GridArchive(**cells, learning_rate=alpha, threshold_min=0.0, seed=seed)
    return Scheduler(
        archive,
        [
            EvolutionStrategyEmitter(
                archive,
                x0=np.zeros(width),
                sigma0=sigma,
                ranker="imp",
                selection_rule="mu",
                restart_rule="basic",
                batch_size=batch_size,
                seed=1000 * seed + i,
            )
            for i in range(emitters)
        ],
        result_archive=GridArchive(**cells, seed=seed),
    )
