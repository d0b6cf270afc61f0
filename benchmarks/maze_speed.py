"""How fast the maze is evaluated: random and evolved networks, one thread and two, with and without the exact skips.

    python benchmarks/maze_speed.py [--evaluations 4000] [--repeats 5]

Every figure is the best of some repeats, interleaved. A network "evolved" is an elite of a short search.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from tesselite.problems.maze_navigation import Robot, maze
from tesselite.problems.maze_navigation.simulation import NO_SKIPS
from tesselite.search import illuminate


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    problem, sticky, long = maze("2d"), maze("2d", robot=Robot(after_hit="stick")), maze("1000d")
    rng = np.random.default_rng(1)
    drawn = problem.solutions.random(options.evaluations, rng)
    archive = illuminate(problem, evaluations=30_000, grid=71, initial=2000, seed=1)
    elites = np.array(archive.solutions)[: len(archive)]
    evolved = elites[rng.integers(0, len(elites), options.evaluations)]

    def unskipped(rows):
        fitness, features = np.empty(len(rows)), np.empty((len(rows), 2))
        problem._driver(None, rows, fitness, features, np.empty((0, 0, 0)), NO_SKIPS)(0, len(rows))

    few = drawn[: max(1, len(drawn) // 8)]
    cases = {
        "random, 1 thread": (drawn, lambda: problem.evaluate_rows(drawn, None, 1)),
        "random, 2 threads": (drawn, lambda: problem.evaluate_rows(drawn, None, 2)),
        "random, 1 thread, 1000 features": (drawn, lambda: long.evaluate_rows(drawn, None, 1)),
        "random, 1 thread, robot sticks after a hit": (drawn, lambda: sticky.evaluate_rows(drawn, None, 1)),
        "random, 1 thread, nothing skipped": (few, lambda: unskipped(few)),
        "evolved, 1 thread": (evolved, lambda: problem.evaluate_rows(evolved, None, 1)),
        "evolved, 2 threads": (evolved, lambda: problem.evaluate_rows(evolved, None, 2)),
    }
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(options.repeats):
        for name, (_, work) in cases.items():
            best[name] = min(best[name], seconds(work))
    print(f"{'case':45} evaluations/s")
    for name, (rows, _) in cases.items():
        print(f"{name:45} {len(rows) / best[name]:10.0f}")
    for kind in ("random", "evolved"):
        ratio = best[f"{kind}, 1 thread"] / best[f"{kind}, 2 threads"]
        print(f"two threads are {ratio:.2f} times one ({kind})")


if __name__ == "__main__":
    main()
