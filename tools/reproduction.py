"""The reports of all studies in results/, and the tables of the pages based on them, by one command.

    python tools/reproduction.py        (or: make reproduction)

Everything is made from the trials in `results/STUDY*/trials` and put between the marks in docs/reproduction.md,
docs/hexapod.md and docs/maze.md. `results/STUDY` has the paper's settings and budget; other folders whose name begins
so have others, and their report says which.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.tables import Table
from tesselite.assessment.trial import Trial
from tesselite.paper.claim_rules import AGREES, DISAGREES, MIXED, OTHER_BUDGET, UNDERPOWERED
from tesselite.paper.claims import CLAIMS, Judged, claims_table, judge, paper_figures
from tesselite.paper.maze import PAPER as MAZE
from tesselite.paper.reported import number_of, numbers_table
from tesselite.paper.reproduce import comparison_of, read_trials
from tesselite.paper.studies import HEXAPOD_SECONDS, STUDIES, Study, of_descriptors
from tesselite.paper.study_report import CAPTIONS, as_run, other_settings, write_report

HOME = Path(__file__).parents[1]
RESULTS = HOME / "results"
EVALUATIONS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 15_000_000)
VERDICTS = (AGREES, MIXED, DISAGREES, UNDERPOWERED, OTHER_BUDGET)
FIGURES = {
    "maze": {"best_performance": "Fig. 4", "niches_and_spread": "Fig. 5A and B", "expected_quality": "Fig. 5C"},
    "hexapod": {"progress_best_fitness": "Fig. 6A", "expected_quality": "Fig. 6B", "best_performance": "Fig. 7"},
    "niches-maze": {"best_performance": "Fig. 9", "expected_quality": "Fig. 11A"},
    "norms-maze": {"best_performance": "Fig. 10", "expected_quality": "Fig. 11B"},
    "niches-hexapod": {"best_performance": "Fig. 12", "expected_quality": "Fig. 14A"},
    "norms-hexapod": {"best_performance": "Fig. 13", "expected_quality": "Fig. 14B"},
    "sampler-maze": {"best_performance": "Ours", "niches_and_spread": "Ours"},
    "iterations-maze": {"best_performance": "Ours", "niches_and_spread": "Ours"},
    "iterations-hexapod": {"best_performance": "Ours", "expected_quality": "Ours"},
}
"""The paper's figures by study, and our files for them; ours where it has none."""


@cache
def folders(name: str) -> list[Path]:
    """The folders with trials of a study, that of the paper's settings first."""
    found = []
    for trials in sorted(RESULTS.glob("*/trials")):
        folder = trials.parent.name
        studies = [study for study in STUDIES if folder == study or folder.startswith(f"{study}-")]
        if max(studies, key=len, default="") == name:
            found.append(trials.parent)
    return sorted(found, key=lambda folder: (folder.name != name, folder.name))


@cache
def results(folder: Path, name: str) -> tuple[Study, Comparison]:
    """The study as it was run in a folder, and its trials."""
    study = as_run(STUDIES[name](), folder)
    comparison = comparison_of(study, read_trials(study, folder))
    assert comparison is not None
    return study, comparison


def told(name: str, *, as_released: bool = False) -> list[Judged]:
    """Each claim of a study, from the first of its folders that has trials of all its pairs, or else from the first."""
    there = [results(folder, name) for folder in folders(name)] or [(STUDIES[name](), None)]
    tables = [judge(study, comparison, as_released=as_released) for study, comparison in there]
    return [next((one for one in claim if one.complete), claim[0]) for claim in zip(*tables, strict=True)]


def summary() -> str:
    """All claims: the paper, ours, and the verdict."""
    rows, counts = [], Counter[str]()
    for name, make in STUDIES.items():
        claims = told(name)
        counts.update(one.verdict for one in claims)
        if claims:
            rows.append([f"**{make().title}**", "", "", "", "", ""])
        others = {one.claim.text: one.verdict if one.complete else "no runs" for one in told(name, as_released=True)}
        for one in claims:
            paper = paper_figures(name, one.claim) or "in words"
            verdicts = [one.verdict, others.get(one.claim.text, "")]
            rows.append([one.claim.text, paper, one.numbers(9), one.runs or "none", *verdicts])
    head = ", ".join(f"{verdict} {counts[verdict]}" for verdict in VERDICTS)
    table = Table(["claim", "paper", "ours", "runs x evaluations", "verdict", "by the released code's rules"], rows)
    return f"Verdicts on {sum(counts.values())} claims: {head}.\n\n{table.to_markdown()}"


def state() -> str:
    """The progress of each study at the paper's settings, and the command that continues it."""
    rows = []
    for name, make in STUDIES.items():
        study = make()
        done = Counter(file.parent.name for file in (RESULTS / name).glob("trials/*/*.json"))
        trials = [done[pair.name] for pair in study.pairs]
        budgets = " or ".join(f"{n:,}" for n in sorted({pair.evaluations for pair in study.pairs}))
        shared = [
            main for main in ("maze", "hexapod") if name.endswith(f"-{main}") and folders(main)[:1] == [RESULTS / main]
        ]
        reuse = "".join(f" --reuse results/{main}" for main in shared)
        command = f"`tesselite reproduce {name}{reuse} -o results/{name}`"
        counts = f"{min(trials)} to {max(trials)}" if min(trials) < max(trials) else str(trials[0])
        rows.append([study.title, len(trials), budgets, counts, study.paper_trials, command])
    columns = ["study", "pairs", "evaluations", "trials of each pair", "in the paper", "continue with"]
    return Table(columns, rows).to_markdown()


def section(name: str, folder: Path) -> str:
    """The results of a study: trials, numbers, claims with their rules, figures."""
    study, comparison = results(folder, name)
    counts = Counter((len(g.trials), g.trials[0].settings["evaluations"]) for g in comparison.groups)
    runs = "; ".join(
        f"{n} pair{'s'[: n > 1]} with {t} run{'s'[: t > 1]} of {e:,} evaluations" for (t, e), n in counts.items()
    )
    lines = [f"From `results/{folder.name}`: {runs} ([report](../results/{folder.name}/report.md)).", ""]
    lines += other_settings(study, comparison)
    numbers = numbers_table(study, comparison)
    if numbers is not None:
        lines += [numbers.to_markdown()]
    if folder == folders(name)[0] and name in CLAIMS:
        claims = claims_table(study, comparison)
        assert claims is not None
        lines += [claims.to_markdown()]
    for file, figure in FIGURES.get(name, {}).items():
        path = folder / "figures" / f"{file}.png"
        if path.exists():
            lines += [f"**{figure}.** {CAPTIONS[file]}", "", f"![{figure}](../{path.relative_to(HOME)})", ""]
    return "\n".join(lines).strip()


def study_section(name: str) -> str:
    """The folder of the paper's settings, or the first other one."""
    return section(name, folders(name)[0]) if folders(name) else "No trials yet."


def more() -> str:
    """The studies without a section of their own on the page."""
    page = (HOME / "docs/reproduction.md").read_text(encoding="utf-8")
    names = [name for name in STUDIES if f"<!-- {name} -->" not in page]
    return "\n\n".join(f"### {STUDIES[name]().title}\n\n{study_section(name)}" for name in names) or "None."


def appendix() -> str:
    """All other folders."""
    parts = [
        f"### {make().title}, `{folder.name}`\n\n{section(name, folder)}"
        for name, make in STUDIES.items()
        for folder in folders(name)[1:]
    ]
    return "\n\n".join(parts) or "None."


def maze_layouts() -> str:
    """The study of the maze's free choices: medians over its seeds, by pair, with the paper's numbers above."""
    groups = defaultdict(list)
    with (RESULTS / "maze-layouts.csv").open() as file:
        for row in csv.DictReader(file):
            if not row["near"]:  # part of a longer run
                continue
            descriptor, niches = row["pair"].split("-")
            pair = f"cvt-{descriptor}" if niches == "cvt" else f"grid-{descriptor}"
            groups[pair, int(row["evaluations"]), row["condition"], niches].append(row)
    shown = {"filled": Measure("coverage", ""), "spread": Measure("spread", ""), "near": Measure("share", "", x=20.0)}
    lines: list[list[Any]] = []
    order = list(MAZE.descriptors)
    for pair in sorted({key[0] for key in groups}, key=lambda pair: (pair[:4], order.index(pair.split("-")[1]))):
        paper = [number_of("maze", pair, measure) or "" for measure in shown.values()]
        lines.append([f"**{pair}**", "**paper**", f"{MAZE.evaluations:,}", MAZE.trials, *paper, "below 10", "below 10"])
        for (_, evaluations, condition, niches), rows in sorted(item for item in groups.items() if item[0][0] == pair):
            rule = ", released cells" if niches == "released" else ""
            cells = [f"{np.median([float(row[name]) for row in rows]):.3g}" for name in (*shown, "best", "worst")]
            lines.append([pair, condition.replace("+", ", ") + rule, f"{evaluations:,}", len(rows), *cells])
    columns = ["pair", "maze", "evaluations", "runs", "filled", "spread", "within 20", "best, median", "best, worst"]
    return Table(columns, lines).to_markdown()


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
    return Table(["evaluations", *names], lines).to_markdown()


def _best_speed(runs: list[Trial], evaluations: int) -> str:
    """The best speed of a trial after this many evaluations, from its short or long run."""
    bests = [
        trial.progress["best_fitness"][at]
        for trial in runs
        if trial.settings["evaluations"] >= evaluations
        and (at := np.searchsorted(trial.progress["evaluations"], evaluations, side="right") - 1) >= 0
    ]
    return f"{max(bests) / HEXAPOD_SECONDS:.3f}" if bests else ""


def pages() -> dict[str, dict[str, Callable[[], str]]]:
    """The text between the marks of each page."""
    return {
        "docs/reproduction.md": {
            "summary": summary,
            "state": state,
            **{name: partial(study_section, name) for name in FIGURES},
            "more": more,
            "appendix": appendix,
        },
        "docs/maze.md": {"layouts": maze_layouts},
        "docs/hexapod.md": {"speeds": hexapod_speeds},
    }


def filled(page: str, parts: dict[str, Callable[[], str]]) -> str:
    """The page with every part between its marks."""
    text = (HOME / page).read_text(encoding="utf-8")
    for name, make in parts.items():
        mark = f"<!-- {name} -->"
        if text.count(mark) != 2:
            raise SystemExit(f"{page}: expected the mark {mark} twice, before and after what is made")
        before, _, rest = text.partition(mark)
        text = f"{before}{mark}\n\n{make().strip()}\n\n{mark}{rest.partition(mark)[2]}"
    return text


def main() -> None:
    """Write all reports and pages."""
    for name in STUDIES:
        for folder in folders(name):
            print(*write_report(results(folder, name)[0], folder)[:1])
    for page, parts in pages().items():
        (HOME / page).write_text(filled(page, parts), encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main()
