"""Effects of the maze's free choices: short runs of one condition each, reported at 50, 100 and 200 thousand
evaluations.

    python benchmarks/maze_layouts.py CONDITION PAIR SEED [--evaluations 200000] [-o results/maze-layouts.csv]

CONDITION is `square` or `round`, then changes joined by +: `round+stick`, `square+weight0.1+opening50` (`problem_of`).
PAIR is a descriptor and its niches: 2d-cvt, 20d-grid, 20d-released. A run that the file has is not repeated. CVTs are
made from 100,000 samples, once for all conditions: they do not depend on the walls. `make reproduction` puts the
medians into docs/maze.md.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from tesselite.assessment.metrics import spread
from tesselite.paper.maze import PAPER
from tesselite.problems.maze_navigation import Maze, Mutation, Networks, Robot, maze
from tesselite.problems.maze_navigation.problem import TrajectorySampler
from tesselite.search.map_elites import MapElites, batches
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.grid import GridTessellation

TOLD_AT = (50_000, 100_000, 200_000)
ASSESSED = 1_000  # elites, drawn at random, in each of 16 environments
SAMPLES = 100_000


def problem_of(condition: str, descriptor: str) -> Maze:
    """The maze of a condition: a layout, then changes by name."""
    layout, *changes = condition.split("+")
    world, robot, mutation, early = {"layout": layout}, {}, {}, False
    for change in changes:
        name, number = re.fullmatch(r"([a-z]+)([0-9.]*)", change).groups()
        if name in ("opening", "wall"):
            world[name] = float(number)
        elif name == "radius":
            world["outer_radius"] = float(number)
        elif name == "stick":
            robot["after_hit"] = "stick"
        elif name == "around":
            robot["slices"] = "around_heading"
        elif name == "laser":
            robot["laser_range"] = float(number)
        elif name == "weight":
            mutation |= {"weight": float(number), "bias": float(number)}
        elif name == "rewire":
            mutation["rewire"] = float(number)
        elif name == "early":  # the descriptor's points, by half an interval
            early = True
        else:
            raise ValueError(f"condition: no change is called {name!r}")
    problem = maze(descriptor, robot=Robot(**robot), networks=Networks(mutation=Mutation(**mutation)), **world)
    if early:
        problem.times = problem.times - problem.times[0] // 2
        assert isinstance(problem.features.sampler, TrajectorySampler)
        sampler = replace(problem.features.sampler, times=tuple(problem.times.tolist()))
        bounds = {f"{axis}{time}": (0.0, 1000.0) for time in problem.times for axis in "xy"}
        problem.features = FeatureSpace(bounds, sampler=sampler)
    return problem


def niches_of(problem: Maze, descriptor: str, kind: str):
    if kind == "cvt":
        return cvt(problem.features, PAPER.n_niches, SAMPLES, seed=1, method="lloyd", tolerance=1e-4, cache=True)
    return GridTessellation(problem.features, PAPER.grid[descriptor], cells="equal" if kind == "grid" else kind)


def run(condition: str, pair: str, seed: int, evaluations: int, threads: int):
    """The lines of a run; elites are assessed at its end."""
    descriptor, kind = pair.split("-")
    problem = problem_of(condition, descriptor)
    niches = niches_of(problem, descriptor, kind)
    search = MapElites(problem.solutions, niches, initial=PAPER.initial, direction="min", seed=seed)
    began = time.process_time()
    for state in batches(
        search, problem, evaluations, batch_size=PAPER.batch_size, threads=threads, milestone=TOLD_AT[0]
    ):
        if state.evaluations in TOLD_AT:
            line = {
                "condition": condition,
                "pair": pair,
                "seed": str(seed),
                "evaluations": state.evaluations,
                "filled": f"{state.archive.coverage:.5f}",
                "spread": f"{spread(state.archive, threads=threads):.4f}",
            }
            if state.evaluations == evaluations:
                line |= assess(problem, state.archive, seed, threads)
                line["ceiling"] = f"{problem.world.reachable():.4f}"
            line["seconds"] = f"{time.process_time() - began:.0f}"
            yield line


def assess(problem: Maze, archive, seed: int, threads: int) -> dict[str, str]:
    """Elites near the goal, and the best of all elites, in each environment."""
    solutions = archive.elites().solutions
    order = np.random.default_rng(seed).permutation(len(solutions))[:ASSESSED]
    near, best = [], []
    for world in problem.scenarios:
        fitness = problem.evaluate_rows(solutions[order], world, threads).fitness
        near.append(np.mean(fitness <= PAPER.near))
        best.append(fitness.min())
    hardest = np.argsort(best)[::-1][:2] + 1
    return {
        "near": f"{np.median(near):.4f}",
        "best": f"{np.median(best):.2f}",
        "worst": f"{max(best):.1f}",
        "hardest": " ".join(str(number) for number in sorted(hardest.tolist())),
    }


FIELDS = ["condition", "pair", "seed", "evaluations", "filled", "spread", "near", "best", "worst", "hardest", "ceiling"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("condition")
    parser.add_argument("pair")
    parser.add_argument("seed", type=int)
    parser.add_argument("--evaluations", type=int, choices=TOLD_AT, default=TOLD_AT[-1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/maze-layouts.csv"))
    options = parser.parse_args()
    who = {"condition": options.condition, "pair": options.pair, "seed": str(options.seed)}
    there: list[int] = []
    if options.output.exists():
        with options.output.open() as file:
            there = [int(row["evaluations"]) for row in csv.DictReader(file) if all(row[k] == who[k] for k in who)]
    if max(there, default=0) >= options.evaluations:
        return
    lines = list(run(options.condition, options.pair, options.seed, options.evaluations, options.threads))
    lines = [line for line in lines if line["evaluations"] not in there]  # a longer run of the same passes there again
    options.output.parent.mkdir(parents=True, exist_ok=True)
    new = not options.output.exists()
    with options.output.open("a", newline="") as file:
        writer = csv.DictWriter(file, [*FIELDS, "seconds"], lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)
    print(lines[-1], flush=True)


if __name__ == "__main__":
    main()
