"""The tables of docs/maze.md, made from the runs that `benchmarks/maze_science.py` recorded.

python benchmarks/maze_tables.py [results/maze/runs.csv]
"""

from __future__ import annotations

import argparse
import csv
import re
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


def tables(path: Path) -> list[str]:
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    with path.open() as file:
        for row in csv.DictReader(file):
            groups[row["pair"], row["opening"], row["evaluations"]].append(row)
    order = sorted(groups, key=lambda g: (-int(g[2]), g[1] != "90", list(REPORTED).index(g[0])))
    lines = [
        "| pair | opening | evaluations | seeds | filled (paper) | spread (paper) | within 20 (paper) | solved of 16 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for group in order:
        rows, paper = groups[group], REPORTED[group[0]]
        lines.append(
            f"| {group[0]} | {group[1]} | {int(group[2]):,} | {len(rows)} "
            f"| {median(rows, 'coverage'):.3f} ({paper['coverage']:g}) "
            f"| {median(rows, 'spread'):.2f} ({paper['spread']:g}) "
            f"| {near(rows):.3f} ({paper['near']:g}) | {', '.join(str(solved(row)) for row in rows)} |"
        )
    full = [group for group in order if int(group[2]) == PAPER.evaluations]
    lines += ["", "Best distance in each world after 200,000 evaluations, median over seeds, and the worst seed:", ""]
    lines += ["| world | " + " | ".join(f"{g[0]}, {g[1]}" for g in full) + " |", "|---|" + "---|" * len(full)]
    for world in WORLDS:
        cells = []
        for group in full:
            found = [float(row[f"best_{world}"]) for row in groups[group]]
            cells.append(f"{np.median(found):.1f} ({max(found):.1f})")
        lines.append(f"| {world} | " + " | ".join(cells) + " |")
    every = [row for rows in groups.values() for row in rows]
    hidden = max(int(row["hidden_max"]) for row in every)
    connections = max(int(row["connections_max"]) for row in every)
    lines += [
        "",
        f"The largest network of all these archives has {hidden} hidden neurons or {connections} connections.",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="?", default=Path("results/maze/runs.csv"))
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    text = "\n".join(tables(options.runs))
    if options.into is None:
        print(text)
        return
    mark = "<!-- runs -->"
    page = options.into.read_text()
    options.into.write_text(re.sub(f"{mark}.*{mark}", lambda _: f"{mark}\n{text}\n{mark}", page, flags=re.DOTALL))


if __name__ == "__main__":
    main()
