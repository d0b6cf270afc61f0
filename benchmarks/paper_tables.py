"""The tables of docs/maze.md, docs/hexapod.md and docs/reproduction.md that stand beside the paper's figures.

    python benchmarks/paper_tables.py [--write]

They are made from the trials of `tesselite reproduce` that `results/` keeps, and from the runs of `maze_openings.py`.
`--write` puts them between their marks in the pages.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np

from measurement import table
from tesselite.assessment.comparison import Measure
from tesselite.assessment.trial import Trial
from tesselite.paper.maze import PAPER as MAZE
from tesselite.paper.numbers import number_of
from tesselite.paper.reproduce import comparison_of, read_trials
from tesselite.paper.studies import HEXAPOD_SECONDS, STUDIES, of_descriptors
from tesselite.problems.problem import TRAINING

HOME = Path(__file__).parents[1]
RESULTS = HOME / "results"
EVALUATIONS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 15_000_000)


def solved(best: dict[str, float | None]) -> int:
    """In how many of the 16 environments some elite comes nearer than the robot's radius."""
    return sum(value is not None and value < MAZE.solved for name, value in best.items() if name != TRAINING)


def maze_trials() -> str:
    """What the trials of `reproduce maze` found, next to the paper's medians over 30 trials."""
    study = STUDIES["maze"]()
    trials = {name: found for name, found in read_trials(study, RESULTS / "maze").items() if found}
    comparison = comparison_of(study, read_trials(study, RESULTS / "maze"))
    assert comparison is not None
    lines, measures = [], (Measure("coverage", ""), Measure("spread", ""), study.queries[1])
    for pair in study.pairs:
        found = trials.get(pair.name)
        if not found:
            continue
        group = comparison.group(pair.name)
        cells = []
        for measure in measures:
            paper = number_of("maze", pair.name, measure)
            cells.append(f"{np.median(comparison.values(group, measure)):.3g}" + (f" ({paper})" if paper else ""))
        lines.append([pair.label, str(len(found)), *cells, ", ".join(str(solved(trial.best)) for trial in found)])
    head = ["pair", "trials", "filled (paper)", "spread (paper)", "within 20 (paper)", "solved of 16, each trial"]
    text = [table(head, lines), "", "Best distance in each world, median over trials, and the worst trial:", ""]
    columns = []
    for world in comparison.settings:
        cells = ["open" if world == TRAINING else world]
        for found in trials.values():
            best = [trial.best[world] for trial in found]
            cells.append(f"{np.median(best):.1f} ({max(best):.1f})")
        columns.append(cells)
    names = [pair.label.replace("MAP-Elites ", "ME ") for pair in study.pairs if pair.name in trials]
    return "\n".join([*text, table(["world", *names], columns)])


def maze_openings() -> str:
    """Openings of 70 and 90 units: how many environments are solved."""
    groups = defaultdict(list)
    with (RESULTS / "maze" / "openings.csv").open() as file:
        for row in csv.DictReader(file):
            groups[row["pair"], row["opening"]].append(row)
    lines = []
    for (pair, opening), rows in sorted(groups.items()):
        bests = [[float(row[f"best_{i}"]) for i in range(1, 17)] for row in rows]
        counts = [sum(value < MAZE.solved for value in best) for best in bests]
        coverage = np.median([float(row["coverage"]) for row in rows])
        hardest = [i for i in range(1, 17) if np.median([best[i - 1] for best in bests]) >= MAZE.solved]
        cells = [pair, opening, str(len(rows)), f"{coverage:.3f}", ", ".join(map(str, counts))]
        lines.append([*cells, ", ".join(map(str, hardest)) or "none"])
    return table(
        ["pair", "opening", "seeds", "filled", "solved of 16, each seed", "unsolved by the median seed"], lines
    )


def hexapod_speeds() -> str:
    """Best speed over evaluations of the 6D and 24D pairs, each trial, from all its runs: a longer one goes further."""
    runs = defaultdict(list)
    for path in sorted(RESULTS.glob("hexapod*/trials/*/*.json")):
        trial = Trial.load(path)
        runs[path.parent.name, trial.number].append(trial)
    study = of_descriptors(STUDIES["hexapod"](), ["duty", "amplitude-phase"])
    columns = [
        (pair.label, number, runs[name, number])
        for pair in study.pairs
        for name, number in sorted(runs)
        if name == pair.name
    ]
    lines = []
    for point in EVALUATIONS:
        cells = [_best_speed(trials, point) for *_, trials in columns]
        if any(cells):
            lines.append([f"{point:,}", *cells])
    names = [f"{label.replace('MAP-Elites', 'ME')}, trial {number}" for label, number, _ in columns]
    return table(["evaluations", *names], lines)


def _best_speed(runs: list[Trial], evaluations: int) -> str:
    """The best speed after so many evaluations of a trial, of which there may be a short and a long run."""
    bests = [
        trial.progress["best_fitness"][at]
        for trial in runs
        if trial.settings["evaluations"] >= evaluations
        and (at := np.searchsorted(trial.progress["evaluations"], evaluations, side="right") - 1) >= 0
    ]
    return f"{max(bests) / HEXAPOD_SECONDS:.3f}" if bests else ""


def reproduced(folder: str) -> str:
    """What the report of a reproduction says of the paper's claims and numbers, and how many trials it rests on."""
    tables = RESULTS / folder / "tables"
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for path in sorted((RESULTS / folder / "trials").glob("*/*.json")):
        counts[path.parent.name, Trial.load(path).settings["evaluations"]] += 1
    told = ", ".join(f"{pair} {count} x {evaluations:,}" for (pair, evaluations), count in counts.items())
    written = {name: tables / f"{name}.md" for name in ("claims", "paper_and_ours")}
    parts = {name: path.read_text().strip() for name, path in written.items() if path.exists()}
    if "confirmed" not in parts.get("claims", "confirmed"):
        del parts["claims"]  # a single trial tests none of them
    return "\n\n".join([f"Trials and evaluations: {told}.", *parts.values()])


PAGES = {
    "docs/maze.md": {"trials": maze_trials, "openings": maze_openings},
    "docs/hexapod.md": {"speeds": hexapod_speeds},
    "docs/reproduction.md": {
        trials.parent.name: partial(reproduced, trials.parent.name) for trials in sorted(RESULTS.glob("*/trials"))
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for page, parts in PAGES.items():
        text = (HOME / page).read_text()
        for name, make in parts.items():
            made = make()
            print(made, "\n")
            mark = f"<!-- {name} -->"
            if text.count(mark) != 2:
                raise SystemExit(f"{page}: expected the mark {mark} twice, before and after the table")
            before, _, rest = text.partition(mark)
            text = f"{before}{mark}\n\n{made}\n\n{mark}{rest.partition(mark)[2]}"
        if options.write:
            (HOME / page).write_text(text)


if __name__ == "__main__":
    main()
