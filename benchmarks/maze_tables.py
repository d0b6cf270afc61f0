"""The tables of docs/maze.md, made from the runs that `benchmarks/maze_science.py` recorded.

python benchmarks/maze_tables.py [results/maze/runs.csv]
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from tesselite.experiments.maze import PAPER, REPORTED

WORLDS = ["open", *(str(i) for i in range(1, 17))]
ENVIRONMENTS = WORLDS[1:]


def median(rows: list[dict[str, str]], column: str) -> float:
    return float(np.median([float(row[column]) for row in rows]))


def solved(row: dict[str, str]) -> int:
    return sum(float(row[f"best_{e}"]) < PAPER.solved for e in ENVIRONMENTS)


def near(rows: list[dict[str, str]]) -> float:
    """The paper's expected quality: median over runs and environments of the share of elites within 20 units."""
    return float(np.median([float(row[f"near_{e}"]) for row in rows for e in ENVIRONMENTS]))


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "results/maze/runs.csv")
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    with path.open() as file:
        for row in csv.DictReader(file):
            groups[row["pair"], row["opening"], row["evaluations"]].append(row)
    order = sorted(groups, key=lambda g: (g[1] != "90", -int(g[2]), list(REPORTED).index(g[0])))
    print(
        "| pair | opening | evaluations | seeds | filled (paper) | spread (paper) | within 20 (paper) | solved of 16 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for group in order:
        rows, paper = groups[group], REPORTED[group[0]]
        print(
            f"| {group[0]} | {group[1]} | {int(group[2]):,} | {len(rows)} "
            f"| {median(rows, 'coverage'):.3f} ({paper['coverage']:g}) "
            f"| {median(rows, 'spread'):.2f} ({paper['spread']:g}) "
            f"| {near(rows):.3f} ({paper['near']:g}) | {', '.join(str(solved(row)) for row in rows)} |"
        )
    print()
    print("Best distance in each world, median over seeds (largest):")
    print()
    print("| world | " + " | ".join(f"{g[0]}, {g[1]}" for g in order) + " |")
    print("|---|" + "---|" * len(order))
    for world in WORLDS:
        cells = []
        for group in order:
            found = [float(row[f"best_{world}"]) for row in groups[group]]
            cells.append(f"{np.median(found):.1f} ({max(found):.1f})")
        print(f"| {world} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
