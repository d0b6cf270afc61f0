"""How the benchmarks drive tesselite: as `illuminate` does, and by ask and tell around a NumPy function."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tesselite as tl
from measurement import INITIAL, ISO, LINE, Result
from tesselite.search.map_elites import batches


def tessellation(niches: Any, space: tl.FeatureSpace) -> Any:
    """The tessellation of a grid (a tuple of cells per feature) or of centroids (k, d), its index built."""
    if isinstance(niches, tuple):
        return tl.GridTessellation(space, niches)
    made = tl.VoronoiTessellation(space, niches)
    made.index  # noqa: B018  built once, before the clock starts
    return made


def _search(niches: Any, solutions: tl.Box, seed: int) -> tl.MapElites:
    return tl.MapElites(solutions, niches, tl.variation.iso_line(ISO, LINE), initial=INITIAL, seed=seed)


def _result(search: tl.MapElites, seconds: float, ask_tell: float) -> Result:
    score = search.archive.qd_score
    return Result(search.evaluations, seconds, ask_tell, search.archive.coverage, score if score is not None else 0.0)


def run(
    niches: Any, problem: tl.Problem, evaluations: int, batch_size: int, seed: int, threads: int | None = None
) -> Result:
    """The compiled loop, initialisation included; compilation and the look-up table are not."""
    search = _search(niches, problem.solutions, seed)
    started = time.perf_counter()
    for _ in batches(search, problem, evaluations, batch_size=batch_size, threads=threads):
        pass
    return _result(search, time.perf_counter() - started, float("nan"))


def ask_and_tell(
    niches: Any, objective: Callable[[Any], tuple[Any, Any]], width: int, evaluations: int, batch_size: int, seed: int
) -> Result:
    """A user's loop of ask and tell around a vectorised function."""
    search = _search(niches, tl.Box(width, 0.0, 1.0), seed)
    in_objective = 0.0
    started = time.perf_counter()
    while search.evaluations < evaluations:
        solutions = search.ask(batch_size)
        before = time.perf_counter()
        fitness, features = objective(solutions)
        in_objective += time.perf_counter() - before
        search.tell(fitness, features)
    seconds = time.perf_counter() - started
    return _result(search, seconds, seconds - in_objective)
