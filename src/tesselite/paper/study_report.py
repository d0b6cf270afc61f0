"""The tables, figures and report.md of a study, made from the trials in its folder only."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace
from pathlib import Path

from tesselite import __version__
from tesselite.assessment.comparison import Comparison
from tesselite.assessment.tables import Table
from tesselite.assessment.trial import Trial
from tesselite.base.text_files import write_text
from tesselite.paper.claims import claims_table, differences
from tesselite.paper.reported import numbers_of_pairs, numbers_table
from tesselite.paper.reproduce import comparison_of, read_trials
from tesselite.paper.studies import STUDIES, Pair, Study
from tesselite.problems import by_name
from tesselite.report.comparison_figures import Mark, comparison_figures

CAPTIONS = {
    "best_performance": "Best performance in every setting (box: median and quartiles; whiskers: within 1.5 quartile "
    "ranges; crosses: outliers; dots: the runs, where they are five or fewer). Runs without any valid solution in a "
    "setting are not in its box but counted above it.",
    "niches_and_spread": "Share of filled niches (again with a logarithmic axis where some are near zero), and spread.",
    "expected_quality": "Expected quality; below, what lies on zero.",
    "progress_best_fitness": "Best solution over evaluations: median over runs, band between the quartiles.",
    "progress_coverage": "Share of filled niches over evaluations.",
}


INTERVALS = (
    "Intervals come from resampling whole runs, 95 %; of fewer than six runs they are little more than their range."
)
RULES = (
    "A statement holds if its 95 % interval over runs lies inside the range that the rule names, and fails if it lies "
    "outside. All hold: *agrees*; some hold and some fail: *mixed*; some fail and none holds: *disagrees*; otherwise "
    "*underpowered*. *Other budget*: settings, evaluations or CVT samples are not those of the study. Differences and "
    "ratios are between the first and the second pair named."
)


def as_run(study: Study, out: Path) -> Study:
    """The study with the settings that the trials in a folder have; pairs without trials stay as they are."""
    known = {field.name for field in fields(Pair)}
    pairs = []
    for pair in study.pairs:
        first = min((out / "trials" / pair.name).glob("*.json"), default=None)
        settings = {} if first is None else Trial.load(first).settings
        pairs.append(replace(pair, **{name: value for name, value in settings.items() if name in known}))
    return replace(study, pairs=tuple(pairs))


def write_report(study: Study, out: Path, kind: str = "png") -> list[Path]:
    """Write tables, figures and report.md from the trials in `out`; returns the files. ValueError without trials."""
    comparison = comparison_of(study, read_trials(study, out))
    if comparison is None:
        raise ValueError(f"{out}: no trial is finished yet")
    tables = _tables(study, comparison)
    files = []
    for name, table in tables.items():
        files += table.save(out / "tables", name)
    figures = comparison_figures(
        comparison,
        out / "figures",
        kind,
        draw_scenario=by_name(study.pairs[0].problem).draw_scenario,
        overall=study.overall,
        logarithmic=True,
        marks=[
            Mark(name, number.measure, float(number.paper))
            for number, name, against in numbers_of_pairs(study, [group.name for group in comparison.groups])
            if not against
        ],
    )
    report = out / "report.md"
    write_text(report, _text(study, comparison, tables, figures))
    return [report, *files, *figures]


def _tables(study: Study, comparison: Comparison) -> dict[str, Table]:
    """The tables by file name; those the study has nothing for are left out."""
    per_run = [measure for measure in study.queries if not measure.pooled]
    present = {group.name for group in comparison.groups}
    contrasts = [contrast for contrast in study.contrasts if present.issuperset(contrast)]
    made = {
        "paper_and_ours": numbers_table(study, comparison),
        "claims": claims_table(study, comparison),
        "metrics": comparison.metrics_table(study.queries),
        "best_performance": comparison.best_table(),
        "tests": comparison.tests_table(contrasts, study.measures()) if contrasts else None,
        "expected_quality": comparison.quality_table(),
        "trials": comparison.data_table(per_run),
    }
    return {name: table for name, table in made.items() if table is not None}


def _text(study: Study, comparison: Comparison, tables: dict[str, Table], figures: list[Path]) -> str:
    runs = [len(group.trials) for group in comparison.groups]
    evaluations = sorted({group.trials[0].settings["evaluations"] for group in comparison.groups})
    versions = sorted({trial.version for group in comparison.groups for trial in group.trials})
    changed = sum(trial.changed for group in comparison.groups for trial in group.trials)
    few, many = min(runs), max(runs)
    lines = [
        f"# {study.title}",
        "",
        f"{len(comparison.groups)} pairs, {few if few == many else f'{few} to {many}'} run{'s'[: many > 1]} each of "
        f"{' or '.join(f'{n:,}' for n in evaluations)} evaluations (the paper: {study.paper_trials} runs of "
        f"{study.paper_evaluations:,}). tesselite {', '.join(versions)}; written by {__version__}.",
        "",
        *(f"{note}\n" for note in study.notes if any(group.ours for group in comparison.groups)),
        *other_settings(study, comparison),
    ]
    if changed:
        lines += [f"{changed} elites had another fitness when they were evaluated again: the problem is noisy.", ""]
    sections = (
        ("paper_and_ours", "The paper's numbers beside ours", INTERVALS),
        ("claims", "The paper's claims", RULES),
        (
            "metrics",
            "Metrics",
            "Median [quartiles] over runs. As in the paper, at most 10,000 elites of an archive, drawn at random, are "
            "assessed: in larger archives the best assessed can be worse than the best found.",
        ),
        (
            "best_performance",
            "Expected best performance",
            f"Best {comparison.fitness_name} in each setting: median [quartiles] over runs.",
        ),
        (
            "tests",
            "Tests",
            "Two-sided Mann-Whitney tests over runs, p corrected by Holm over all of them; A12 is the chance that a "
            "run of the first exceeds one of the second. Rows of runs x scenarios take every scenario of a run as an "
            "observation, as the paper does; these are not independent, so they have no corrected p, and the rows over "
            "runs alone are the ones to trust.",
        ),
    )
    for name, title, about in sections:
        if name in tables:
            lines += [f"## {title}", "", *([about, ""] if about else []), tables[name].to_markdown()]
    lines += ["## Figures", ""]
    for file in figures:
        lines += [CAPTIONS.get(file.stem, file.stem), "", f"![{file.stem}](figures/{file.name})", ""]
    lines += ["Every number in full precision: `tables/*.csv`; every trial: `trials/`.", ""]
    return "\n".join(lines)


def other_settings(study: Study, comparison: Comparison) -> list[str]:
    """A line for the settings that are not those of the full study, each with its pairs; none if all match."""
    full = {pair.name: pair.settings() for pair in STUDIES[study.name]().pairs} if study.name in STUDIES else {}
    pairs = defaultdict(list)
    for pair in (study.pair(group.name) for group in comparison.groups):
        for difference in differences(pair.settings(), full.get(pair.name, pair.settings())):
            pairs[difference].append(pair.name)
    told = [
        difference if len(names) == len(comparison.groups) else f"{difference} ({', '.join(names)})"
        for difference, names in pairs.items()
    ]
    return [f"Not the study's own settings: {'; '.join(told)}.", ""] if told else []
