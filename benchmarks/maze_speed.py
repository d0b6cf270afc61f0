"""How fast the maze is evaluated: random and evolved networks, one thread and two, many at a time and in plain code.

    python benchmarks/maze_speed.py [--evaluations 4000] [--repeats 5]

Every figure is the best of some repeats, interleaved. "By the clock" includes other load; "by the processor" is this
process's time on its cores alone. A network "evolved" is an elite of a short search.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from tesselite.problems.maze_navigation import Robot, maze
from tesselite.runs.run import illuminate


def seconds(work) -> tuple[float, float]:
    began, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - busy


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

    def one_by_one(rows):
        for row in rows:
            problem.record(row)

    few = drawn[: max(1, len(drawn) // 8)]
    cases = {
        "random, 1 thread": (drawn, lambda: problem.evaluate_rows(drawn, None, 1)),
        "random, 2 threads": (drawn, lambda: problem.evaluate_rows(drawn, None, 2)),
        "random, 1 thread, 1000 features": (drawn, lambda: long.evaluate_rows(drawn, None, 1)),
        "random, 1 thread, robot sticks after a hit": (drawn, lambda: sticky.evaluate_rows(drawn, None, 1)),
        "random, 1 thread, in plain code": (few, lambda: one_by_one(few)),
        "evolved, 1 thread": (evolved, lambda: problem.evaluate_rows(evolved, None, 1)),
        "evolved, 1 thread, robot sticks after a hit": (evolved, lambda: sticky.evaluate_rows(evolved, None, 1)),
        "evolved, 1 thread, in batches of 200": (
            evolved,
            lambda: [problem.evaluate_rows(evolved[i : i + 200], None, 1) for i in range(0, len(evolved), 200)],
        ),
        "evolved, 2 threads": (evolved, lambda: problem.evaluate_rows(evolved, None, 2)),
    }
    clock, processor = dict.fromkeys(cases, float("inf")), dict.fromkeys(cases, float("inf"))
    for _ in range(options.repeats):
        for name, (_, work) in cases.items():
            passed, busy = seconds(work)
            clock[name], processor[name] = min(clock[name], passed), min(processor[name], busy)
    print(f"{'evaluations/s':45} by the clock  by the processor")
    for name, (rows, _) in cases.items():
        print(f"{name:45} {len(rows) / clock[name]:12.0f}  {len(rows) / processor[name]:16.0f}")
    for kind in ("random", "evolved"):
        ratio = clock[f"{kind}, 1 thread"] / clock[f"{kind}, 2 threads"]
        print(f"two threads are {ratio:.2f} times one ({kind}, by the clock)")


if __name__ == "__main__":
    main()
