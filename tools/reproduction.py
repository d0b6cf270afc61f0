"""The reports of all studies in results/, and the tables of the pages based on them, by one command.

    python tools/reproduction.py        (or: make reproduction)

Everything is made from the trials in `results/STUDY*/trials` and put between the marks in docs/reproduction.md,
docs/deviations.md, docs/hexapod.md and docs/maze.md. `results/STUDY` has the paper's settings and budget; other folders
whose name begins so have others, and their report says which.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import median, shift_interval
from tesselite.assessment.tables import Table, shown
from tesselite.assessment.trial import Trial
from tesselite.paper.claim_rules import VERDICTS
from tesselite.paper.claim_words import (
    claim_in_full,
    numbers_by_pair,
    numbers_inside,
    ours_in_words,
    paper_in_words,
    released_in_words,
    runs_in_words,
    tests_in_words,
    verdicts_in_words,
)
from tesselite.paper.claims import Judged, judge
from tesselite.paper.maze import PAPER as MAZE
from tesselite.paper.reported import number_of, released
from tesselite.paper.reproduce import comparison_of, read_trials
from tesselite.paper.studies import HEXAPOD_SECONDS, STUDIES, Study, of_descriptors
from tesselite.paper.study_report import CAPTIONS, as_run, other_settings, write_report
from tesselite.problems.problem import TRAINING

HOME = Path(__file__).parents[1]
RESULTS = HOME / "results"
EVALUATIONS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 15_000_000)
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
    """What agrees, what does not and what is undecided, in words; then all claims: the paper, ours, the verdict."""
    rows, judged, both = [], {}, []
    for name, make in STUDIES.items():
        study = make()
        others = {one.claim.text: one for one in told(name, as_released=True) if one.complete}
        for one in judged.setdefault(study.title, told(name)):
            if one is judged[study.title][0]:
                rows.append([f"**{study.title}**", "", "", "", ""])
            other = others.get(one.claim.text)
            verdict = one.verdict + (f"; by the released rules: {other.verdict}" if other else "")
            both += [(one, other)] if other else []
            rows.append(
                [
                    one.claim.text,
                    paper_in_words(study, one.claim),
                    ours_in_words(study, one),
                    runs_in_words(study, one),
                    verdict,
                ]
            )
    counts = Counter(one.verdict for claims in judged.values() for one in claims)
    head = ", ".join(f"{verdict} {counts[verdict]}" for verdict in VERDICTS)
    table = Table(["claim", "paper", "ours", "runs", "verdict"], rows).to_markdown()
    said = "\n".join(part for part in (verdicts_in_words(judged), released_in_words(both), _inside()) if part)
    return f"Verdicts on {sum(counts.values())} claims: {head}.\n\n{said}\n\n{_RUNS}\n\n{table}"


_RUNS = (
    "All claims follow. The paper's column is empty where it prints no number. Runs are of the paper's evaluations and "
    "settings unless the column says otherwise."
)


def _inside() -> str:
    """How many of the paper's numbers lie in our intervals, by quantity."""
    parts = []
    for name in ("maze", "hexapod"):
        if folders(name)[:1] == [RESULTS / name]:
            inside = numbers_inside(*results(RESULTS / name, name))
            parts += [f"{label} {held} of {n}" for label, (held, n) in inside.items()]
    if not parts:
        return ""
    return f"- The paper's **numbers** in our 95 % intervals, where there are four runs or more: {', '.join(parts)}."


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


def section(name: str, folder: Path, *, full: bool = True) -> str:
    """The results of a study: trials and numbers; if `full`, claims with their evidence and rules, and figures."""
    study, comparison = results(folder, name)
    runs = [len(group.trials) for group in comparison.groups]
    budgets = sorted({group.trials[0].settings["evaluations"] for group in comparison.groups})
    count = f"{min(runs)} to {max(runs)}" if min(runs) < max(runs) else str(runs[0])
    pairs = f"{len(runs)} pairs, {count} run{'s'[: max(runs) > 1]} each"
    lines = [
        f"From `results/{folder.name}`: {pairs} of {' or '.join(f'{n:,}' for n in budgets)} evaluations "
        f"([report](../results/{folder.name}/report.md)).",
        "",
        *other_settings(study, comparison),
    ]
    numbers = numbers_by_pair(study, comparison)
    if numbers is not None:
        lines += [numbers.to_markdown(), tests_in_words(study, comparison), ""]
    if full:
        others = {one.claim.text: one for one in told(name, as_released=True) if one.complete}
        lines += [claim_in_full(study, one, others.get(one.claim.text)) for one in told(name)]
        lines += [""]
        for file, figure in FIGURES.get(name, {}).items():
            path = folder / "figures" / f"{file}.png"
            if path.exists():
                lines += [f"**{figure}.** {CAPTIONS[file]}", "", f"![{figure}](../{path.relative_to(HOME)})", ""]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip()


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
        f"### {make().title}, `{folder.name}`\n\n{section(name, folder, full=False)}"
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
    measures = {
        "filled": Measure("coverage", ""),
        "spread": Measure("spread", ""),
        "near": Measure("share", "", x=20.0),
    }
    lines: list[list[Any]] = []
    order = list(MAZE.descriptors)
    for pair in sorted({key[0] for key in groups}, key=lambda pair: (pair[:4], order.index(pair.split("-")[1]))):
        paper = [number_of("maze", pair, measure) or "" for measure in measures.values()]
        lines.append(
            [f"**{pair}**", "**paper**", f"{MAZE.evaluations:,}", MAZE.trials, *paper, "below 10", "below 10", "8, 14"]
        )
        for (_, evaluations, condition, niches), rows in sorted(item for item in groups.items() if item[0][0] == pair):
            rule = ", released cells" if niches == "released" else ""
            cells = [f"{np.median([float(row[name]) for row in rows]):.3g}" for name in (*measures, "best", "worst")]
            hardest = "; ".join(dict.fromkeys(row["hardest"].replace(" ", ", ") for row in rows))
            lines.append([pair, condition.replace("+", ", ") + rule, f"{evaluations:,}", len(rows), *cells, hardest])
    columns = ["pair", "maze", "evaluations", "runs", "filled", "spread", "within 20", "best, median", "best, worst"]
    columns.append("hardest")
    return Table(columns, lines).to_markdown()


def maze_fits() -> str:
    """What of the paper the maze of `reproduce` meets, and what the default one: all trials at the paper's budget."""
    kept = [folder for folder in folders("maze") if folder.name in ("maze", "maze-earlier")]
    columns, cells = [], []
    for folder in kept:
        study, comparison = results(folder, "maze")
        first = study.pair(comparison.groups[0].name).problem.partition(",")[2] or "layout=square,after_hit=turn"
        columns.append(f"`{first}`")
        inside = {label: f"{held} of {n}" for label, (held, n) in numbers_inside(study, comparison).items()}
        claims = {one.claim.text: one.tally() for one in judge(study, comparison)[:3]}
        cells.append(inside | claims)
    rows = [[what, *(cell.get(what, "") for cell in cells)] for what in cells[0]] if cells else []
    return Table(["the paper's numbers in our 95 % intervals, and claims", *columns], rows).to_markdown()


def hexapod_speeds() -> str:
    """Best speed over evaluations of the 6D and 24D pairs: medians of all trials that went so far."""
    runs = defaultdict(lambda: defaultdict(list))
    for path in sorted(RESULTS.glob("hexapod*/trials/*/*.json")):
        trial = Trial.load(path)
        stream = trial.settings.get("cvt_draws")  # of another, a run of the same seed is another run
        runs[path.parent.name][trial.number, stream].append(trial)  # a longer run of the same seed begins alike
    pairs = [
        pair for pair in of_descriptors(STUDIES["hexapod"](), ["duty", "amplitude-phase"]).pairs if pair.name in runs
    ]
    lines = []
    for point in EVALUATIONS:
        speeds = [
            [v for trials in runs[p.name].values() if (v := _best_speed(trials, point)) is not None] for p in pairs
        ]
        if any(speeds):
            lines.append(
                [f"{point:,}", *(f"{np.median(found):.3f} ({len(found)})" if found else "" for found in speeds)]
            )
    return Table(["evaluations", *(pair.label.replace("MAP-Elites", "ME") for pair in pairs)], lines).to_markdown()


def _best_speed(runs: list[Trial], evaluations: int) -> float | None:
    """The best speed of a trial after this many evaluations, from its short or long run."""
    bests = [
        trial.progress["best_fitness"][at]
        for trial in runs
        if trial.settings["evaluations"] >= evaluations
        and (at := np.searchsorted(trial.progress["evaluations"], evaluations, side="right") - 1) >= 0
    ]
    return max(bests) / HEXAPOD_SECONDS if bests else None


COVERAGE, SPREAD = Measure("coverage", "filled niches"), Measure("spread", "spread")
VARIANTS = ("-released", "-amplitude", "-rounded", "-given")
QUANTITIES = {
    "maze": (COVERAGE, SPREAD, Measure("share", "share within 20 units", x=20.0)),
    "hexapod": (
        COVERAGE,
        Measure("best", "best speed undamaged, m/s", TRAINING),
        Measure("best", "best speed damaged, m/s", average=True),
        Measure("share", "share above 0.2 m/s, damaged", x=0.2),
    ),
}
"""What the effects of the released rules are measured by."""


def released_effects() -> str:
    """The released code's rules against the paper's text, from all studies that have both."""
    rows = []
    for name, make in STUDIES.items():
        asked = [(a, b) for a, b in make().contrasts if b.removeprefix(a) in VARIANTS] + list(released(make()).items())
        asked += [(b, a) for a, b in make().contrasts if a.endswith("-i0")]
        comparison = results(folders(name)[0], name)[1] if folders(name) else None
        groups = {group.name: group for group in comparison.groups} if comparison else {}
        for text, code in dict.fromkeys(pair for pair in asked if groups.keys() >= {*pair}):
            runs = f"{len(groups[text].trials)}, {len(groups[code].trials)}"
            for measure in QUANTITIES[name.rpartition("-")[2]]:
                first, second = (comparison.values(groups[one], measure) for one in (text, code))
                if len(first) and len(second):
                    interval = shift_interval(second, first)
                    said = "[{}, {}]".format(*map(shown, interval)) if np.isfinite(interval).any() else ""
                    paper, budget = number_of(name, text, measure) or "", groups[code].trials[0].settings["evaluations"]
                    medians = (shown(median(first)), shown(median(second)))
                    rows.append([groups[code].label, measure.label, paper, *medians, said, runs, budget])
    ours = ["by its text", "as released", "difference [95 %]"]
    return Table(["released", "quantity", "paper", *ours, "runs", "evaluations"], rows).to_markdown()


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
        "docs/deviations.md": {"released": released_effects},
        "docs/maze.md": {"fits": maze_fits, "layouts": maze_layouts},
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
