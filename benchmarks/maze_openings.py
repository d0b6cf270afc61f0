"""The paper's maze experiment, one run at a time: search, assess in 17 environments, append one line to a CSV file.

    python benchmarks/maze_openings.py PAIR SEED [--opening 90] [-o results/maze-openings.csv] [--folder CVTS]

PAIR is a descriptor and a tessellation, such as 2d-cvt or 20d-grid. A run that the file already has is not repeated, so
a list of commands can be stopped and started again. `tools/reproduction.py` makes the table in docs/maze.md.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from tesselite.assessment.metrics import spread
from tesselite.paper.maze import PAPER
from tesselite.problems.maze_navigation import Maze, maze
from tesselite.runs.run import illuminate
from tesselite.tessellation.grid import GridTessellation

WORLDS = [None, *(str(i) for i in range(1, 17))]


def tessellation(problem: Maze, descriptor: str, kind: str, folder: Path, threads: int):
    if kind == "grid":
        return GridTessellation(problem.features, PAPER.grid[descriptor])
    from tesselite.tessellation.cvt import cvt
    from tesselite.tessellation.files import load_tessellation, save_tessellation

    # One tessellation for all seeds of a descriptor, by the method that the library chooses for it.
    path = folder / f"cvt-{descriptor}.parquet"
    if path.exists():
        return load_tessellation(path, problem.features)
    made = cvt(problem.features, PAPER.n_niches, seed=1, threads=threads)
    folder.mkdir(parents=True, exist_ok=True)
    save_tessellation(made, path)
    print(made.record if hasattr(made, "record") else made, flush=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pair")
    parser.add_argument("seed", type=int)
    parser.add_argument("--opening", type=float, default=90.0)
    parser.add_argument("--evaluations", type=int, default=PAPER.evaluations)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("cvts"))
    parser.add_argument("-o", "--output", type=Path, default=Path("results/maze-openings.csv"))
    options = parser.parse_args()
    who = {
        "pair": options.pair,
        "opening": f"{options.opening:g}",
        "seed": str(options.seed),
        "evaluations": str(options.evaluations),
    }
    if options.output.exists():
        with options.output.open() as file:
            if any(all(row[k] == v for k, v in who.items()) for row in csv.DictReader(file)):
                print("already there:", who)
                return
    descriptor, kind = options.pair.split("-")
    problem = maze(descriptor, opening=options.opening)
    began = time.perf_counter()
    niches = tessellation(problem, descriptor, kind, options.folder, options.threads)
    built = time.perf_counter()
    archive = illuminate(
        problem,
        evaluations=options.evaluations,
        tessellation=niches,
        initial=PAPER.initial,
        batch_size=PAPER.batch_size,
        seed=options.seed,
        threads=options.threads,
    )
    searched = time.perf_counter()
    elites = archive.elites()
    solutions = elites.solutions
    if len(solutions) > PAPER.most_assessed:
        chosen = np.random.default_rng(options.seed).choice(len(solutions), PAPER.most_assessed, replace=False)
        solutions = solutions[np.sort(chosen)]
    hidden, connections = elites.solutions[:, 0], elites.solutions[:, 1]
    line = {
        **who,
        "elites": len(archive),
        "coverage": f"{archive.coverage:.5f}",
        "spread": f"{spread(archive, threads=options.threads):.4f}",
        "hidden_median": int(np.median(hidden)),
        "hidden_max": int(hidden.max()),
        "connections_median": int(np.median(connections)),
        "connections_max": int(connections.max()),
        "seconds_cvt": f"{built - began:.0f}",
        "seconds_search": f"{searched - built:.0f}",
    }
    for world in WORLDS:
        fitness = problem.evaluate_rows(solutions, world, options.threads).fitness
        line[f"best_{world or 'open'}"] = f"{fitness.min():.3f}"
        line[f"near_{world or 'open'}"] = f"{np.mean(fitness <= 20):.5f}"
    options.output.parent.mkdir(parents=True, exist_ok=True)
    new = not options.output.exists()
    with options.output.open("a", newline="") as file:
        writer = csv.DictWriter(file, line)
        if new:
            writer.writeheader()
        writer.writerow(line)
    print({k: v for k, v in line.items() if not k.startswith("near")}, flush=True)


if __name__ == "__main__":
    main()
