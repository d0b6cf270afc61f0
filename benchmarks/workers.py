"""The cost of workers: overhead and efficiency of each kind, asynchronous against synchronous, islands.

    python benchmarks/workers.py [--write] [--parts overhead,efficiency,asynchronous,islands]

Evaluations sleep, so that two workers, Dask's scheduler and the search do not compete for the cores of a small machine:
only our overhead is measured. `--write` keeps the tables in README.md.
"""

from __future__ import annotations

import argparse
import time
import timeit
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

import tesselite as tl
from measurement import keep_in_readme, table
from tesselite.execution.choice import execution_of
from tesselite.execution.execution import Job, WorkerChoice
from tesselite.execution.workers import open_workers
from tesselite.execution.workers.farm import Farm
from tesselite.search.map_elites import MapElites

SPACE, FEATURES = tl.Box(10), {"a": (0.0, 1.0), "b": (0.0, 1.0)}
ROUNDS = 3


def sleeping(seconds: float) -> tl.Problem:
    @tl.problem(solutions=SPACE, features=FEATURES)
    def sleeper(x):
        if seconds:
            time.sleep(seconds)
        return float(x[2]), x[:2]

    return sleeper


def uneven(low: float, high: float) -> tl.Problem:
    @tl.problem(solutions=SPACE, features=FEATURES)
    def sleeper(x):
        time.sleep(low + (high - low) * (1e4 * x[3] % 1.0))  # uniform, whatever the search prefers
        return float(x[2]), x[:2]

    return sleeper


def echo(_: object, data: bytes) -> int:
    """The worker's task in `scaling_model`: nothing."""
    return len(data)


def kinds(n: int) -> dict:
    from loky import ProcessPoolExecutor as Loky

    return {
        "processes": n,
        "concurrent.futures": partial(ProcessPoolExecutor, n, mp_context=get_context("spawn")),
        "loky": partial(Loky, n),
        "Dask": f"local:{n}",
    }


def search_on(problem: tl.Problem) -> MapElites:
    return MapElites(problem.solutions, tl.GridTessellation(problem.features, 20), initial=1, seed=1)


def overhead() -> str:
    """Microseconds per evaluation of a function that does nothing, in batches of 200."""
    problem = sleeping(0.0)
    rows = SPACE.random(200, np.random.default_rng(0))
    began = time.perf_counter()
    for _ in range(20):
        problem.evaluate_rows(rows, None, 1)
    lines = [["none: in this process", f"{1e6 * (time.perf_counter() - began) / 4000:.0f}", ""]]
    for name, wanted in kinds(2).items():
        with open_workers(wanted) as workers:
            began = time.perf_counter()
            farm = Farm(workers, problem)
            farm.evaluate(rows)
            start_up = time.perf_counter() - began
            best = np.inf
            for _ in range(20 * ROUNDS):
                began = time.perf_counter()
                farm.evaluate(rows)
                best = min(best, time.perf_counter() - began)
        lines.append([name, f"{1e6 * best / 200:.0f}", f"{start_up:.1f}"])
    return table(["workers", "us per evaluation", "seconds to start two and do the first batch"], lines)


def measured(problem: tl.Problem, wanted: object, evaluations: int, batch_size: int, **how: object) -> float:
    """Seconds for this many evaluations of a whole search after the first batch."""
    execution = execution_of(WorkerChoice(wanted), **how)
    with execution.open() as workers:
        search = search_on(problem)
        warm = batch_size
        job = Job(search, problem, warm + evaluations, batch_size)
        execution.begin(job, workers)
        steps = execution.steps(job, workers)
        while search.evaluations < warm:
            next(steps)
        began, first = time.perf_counter(), search.evaluations
        for _ in steps:
            pass
        return (time.perf_counter() - began) / (search.evaluations - first)


def efficiency() -> str:
    """Share of the time that two workers spend in evaluations, whole searches with batches of 200."""
    lines = []
    for name, wanted in kinds(2).items():
        cells = []
        for cost, evaluations in ((0.001, 2000), (0.01, 1000), (0.1, 200)):
            problem = sleeping(cost)
            # A sleep takes longer than requested; its real duration counts.
            real = min(
                timeit.repeat(lambda p=problem: p.evaluate_rows(np.zeros((1, 10)), None, 1), number=1, repeat=20)
            )
            each = min(measured(problem, wanted, evaluations, 200) for _ in range(1 if cost == 0.1 else ROUNDS))
            cells.append(f"{100 * real / 2 / each:.0f} %")
        lines.append([name, *cells])
    return table(["two workers", "1 ms", "10 ms (90 %; Dask 75 %)", "100 ms (95 %; Dask 90 %)"], lines)


def asynchronous() -> str:
    """Evaluations per second with and without batches, when evaluations take 10 to 100 ms."""
    problem, lines = uneven(0.01, 0.1), []
    for n, batch_size in ((8, 8), (8, 200), (2, 200)):
        batches = 1 / measured(problem, n, 400, batch_size)
        steady = 1 / measured(problem, n, 400, batch_size, asynchronous=True)
        lines.append([str(n), str(batch_size), f"{batches:.0f}", f"{steady:.0f}", f"{steady / batches:.2f}x"])
    return table(["workers", "batch", "synchronous", "asynchronous", "gain (1.5x)"], lines)


def islands() -> str:
    """Evaluations per second of the arm, ten joints, 10,000 niches, on one and on two islands."""
    problem = tl.problems.by_name("arm:10")
    tessellation = tl.cvt(problem.features, 10_000, seed=1)
    speed = {}
    for n in (1, 2):
        times = []
        for _ in range(ROUNDS):
            execution = execution_of(WorkerChoice(n), islands=n, exchange=10_000_000)
            with execution.open() as workers:
                search = MapElites(problem.solutions, tessellation, initial=1000, seed=1)
                total = 40_000_000 * n
                steps = execution.steps(Job(search, problem, total, 4096), workers)
                next(steps)  # starts processes and loads compiled code
                began, first = time.perf_counter(), search.evaluations
                for _ in steps:
                    pass
                times.append((time.perf_counter() - began) / (search.evaluations - first))
        speed[n] = 1 / min(times)
    lines = [[str(n), f"{value / 1e6:.1f}", f"{value / speed[1]:.2f}x"] for n, value in speed.items()]
    return table(["islands", "million evaluations per second", "gain (1.7x)"], lines)


PARTS = {
    "overhead": ("A function that does nothing, batches of 200, two workers", overhead),
    "efficiency": ("Efficiency: share of the time in evaluations, whole searches", efficiency),
    "asynchronous": ("Evaluations of 10 to 100 ms, per second", asynchronous),
    "islands": ("Islands on the arm: they exchange every 10 million evaluations", islands),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--parts", default=",".join(PARTS))
    args = parser.parse_args()
    text = []
    for part in args.parts.split(","):
        title, measure = PARTS[part]
        text.append(f"{title}\n\n{measure()}\n")
        print(text[-1], flush=True)
    if args.write:
        keep_in_readme("workers", "\n".join(text))


if __name__ == "__main__":
    main()
