"""Several runs side by side: groups of like runs, their figures, the quality of their elites, and tests between groups.

Statistics and shares come from `tesselite.assessment`; here they are gathered for the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.archive.figures import best_of
from tesselite.assessment.common_niches import common_niches
from tesselite.assessment.expected_quality import share
from tesselite.assessment.metrics import project
from tesselite.assessment.statistics import corrected_tests, effect_size, median, summarise
from tesselite.base.arrays import Floats
from tesselite.report.page.run_data import RunData

_LEVELS = 201
_MOST_PAIRS = 30
_FILLED = "Filled niches"
_MEASURES = (
    ("coverage", "Coverage"),
    ("filled", _FILLED),
    ("qd_score", "QD score"),
    ("best_fitness", "Best fitness"),
    ("mean_fitness", "Mean fitness"),
)
_IN_NICHES = ("coverage", "filled", "qd_score", "mean_fitness")


def group_names(runs: Sequence[RunData]) -> list[str]:
    """The group of each run: runs that differ only in the seed are one group, named by what distinguishes it."""
    kinds = [_kind(run) for run in runs]
    # A grid has no samples or centroids: only runs that have some are distinguished by them.
    apart = [name for name in kinds[0] if len({kind[name] for kind in kinds} - {""}) > 1] if kinds else []
    if len(runs) > 1 and not apart:
        return [runs[0].plan.problem] * len(runs)
    named = [", ".join(kind[name] for name in apart if kind[name]) for kind in kinds]
    return [name or run.name for name, run in zip(named, runs, strict=True)]


def _kind(run: RunData) -> dict[str, str]:
    plan = run.plan
    return {
        "problem": plan.problem,
        "niches": plan.niches.label,
        "evaluations": f"{run.plan.evaluations:,} evaluations",
        "initial": plan.beginning,
        "batch_size": f"batches of {plan.batch_size:,}",
        "emitter": plan.emitter,
        "execution": plan.execution.label,
        "construction": plan.niches.construction,
    }


def compare(runs: Sequence[RunData], groups: Sequence[str]) -> dict[str, Any]:
    """The comparison as the page's document holds it: groups, measures, shares of elites at levels, and tests."""
    archives = [run.archive for run in runs if run.archive is not None]
    directions = {archive.direction for archive in archives}
    names = list(dict.fromkeys(groups))
    compared, note = _compared(runs)
    on = ", common niches" if [run.archive for run in runs] != compared else ""
    measures = [
        _measure(name, label + on if name in _IN_NICHES else label, compared, groups) for name, label in _MEASURES
    ]
    measures += _scenario_measures(runs, groups)
    measures = [measure for measure in measures if any(v is not None for v in measure["values"])]
    described: dict[str, Any] = {"groups": names, "measures": measures, "notes": [note] if note else []}
    if len({run.plan.problem for run in runs}) > 1:
        described["notes"].append("These runs are of different problems: their fitness may mean different things.")
    if len(directions) == 1:
        described["direction"] = directions.pop()
        described["quality"] = _qualities(runs, described["direction"])
    else:
        described["notes"].append("Some runs maximise and some minimise: the quality of elites is not compared.")
    for run in runs:
        if run.state != "finished":
            described["notes"].append(
                f"{run.name} is not finished: {run.evaluations:,} of {run.plan.evaluations:,} evaluations."
            )
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    if len(pairs) > _MOST_PAIRS:
        described["notes"].append(f"Only the first {_MOST_PAIRS} of {len(pairs)} pairs of groups are tested.")
    # If all runs have the same number of niches, the number of filled ones would repeat the test of coverage.
    alike = len({archive.n_niches for archive in compared if archive is not None}) == 1
    tested = [measure for measure in measures if not (alike and measure["label"] == _FILLED + on)]
    described["tests"] = _tests(pairs[:_MOST_PAIRS], groups, tested)
    if len(runs) > len(names) and len(names) == 1:
        described["notes"].append("All runs differ only in the seed, so there is nothing to test.")
    return described


def _compared(runs: Sequence[RunData]) -> tuple[list[Archive | None], str]:
    """The archives whose figures are compared, in common niches unless all runs have the same; and a note on it."""
    there = [(run.plan.niches, run.own_archive) for run in runs if run.own_archive is not None]
    if not there:
        return [run.archive for run in runs], ""
    try:
        common = common_niches([niches for niches, _ in there], [archive for _, archive in there])
    except ValueError as error:  # other features, or nothing found
        return [run.archive for run in runs], f"Coverage, filled niches and QD score cannot be compared. {error}."
    note = f"{common.note[:1].upper()}{common.note[1:]}." if common.note else ""
    if (niches := common.niches) is None:
        return [run.archive for run in runs], note
    return [run.own_archive and project(run.own_archive, niches) for run in runs], note


def _measure(name: str, label: str, archives: Sequence[Archive | None], groups: Sequence[str]) -> dict[str, Any]:
    values: list[float | None] = []
    for archive in archives:
        if archive is None:
            values.append(None)
        else:
            values.append(float(len(archive)) if name == "filled" else getattr(archive, name))
    return _summed_up(label, values, groups)


def _summed_up(label: str, values: list[float | None], groups: Sequence[str]) -> dict[str, Any]:
    summaries = []
    for group in dict.fromkeys(groups):
        held = [v for v, g in zip(values, groups, strict=True) if g == group and v is not None]
        found = summarise(held) if held else None
        summaries.append(found and [found.n, found.median, found.lower, found.upper, *found.interval])
    return {"label": label, "values": values, "summaries": summaries}


def _shared_scenarios(runs: Sequence[RunData]) -> list[str]:
    return [name for name in runs[0].scenarios if all(name in run.scenarios for run in runs)]


def _scenario_measures(runs: Sequence[RunData], groups: Sequence[str]) -> list[dict[str, Any]]:
    """For runs that were all assessed: the best fitness in the scenarios, their median."""
    shared = _shared_scenarios(runs)
    if not shared:
        return []
    values: list[float | None] = []
    for run in runs:
        direction = "max" if run.archive is None else run.archive.direction
        # Infinite where most scenarios defeat all elites: ranked last, and null in the page's document.
        values.append(median([best_of(run.scenarios[name], direction) for name in shared]))
    return [_summed_up(f"Best fitness, median of {len(shared)} scenarios", values, groups)]


def _qualities(runs: Sequence[RunData], direction: Any) -> list[dict[str, Any]]:
    """Shares of elites that reach each level: in training, and over all scenarios where all runs were assessed."""
    training = [run.archive.elites().fitness if run.archive else np.empty(0) for run in runs]
    described = [_quality("training", [[fitness] for fitness in training], direction)]
    shared = _shared_scenarios(runs)
    if shared:
        settings = [[run.scenarios[name][run.assessed] for name in shared] for run in runs]
        described.append(_quality(f"all {len(shared)} scenarios", settings, direction))
    return described


def _quality(setting: str, fitness: list[list[Floats]], direction: Any) -> dict[str, Any]:
    finite = [values[np.isfinite(values)] for run in fitness for values in run]
    low = min((float(v.min()) for v in finite if len(v)), default=0.0)
    high = max((float(v.max()) for v in finite if len(v)), default=1.0)
    levels = np.linspace(low, high if high > low else low + 1.0, _LEVELS)
    # Of several scenarios the median share, as the paper's expected quality has it.
    shares = [
        np.median([share(values, levels, direction) for values in run if len(values)], axis=0).round(5).tolist()
        if any(len(values) for values in run)
        else None
        for run in fitness
    ]
    return {"setting": setting, "levels": levels, "shares": shares}


def _tests(
    pairs: Sequence[tuple[str, str]], groups: Sequence[str], measures: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Two-sided Mann-Whitney tests of pairs of groups, Holm-corrected over all of them, with A12."""
    rows, samples = [], []
    for a, b in pairs:
        for measure in measures:
            held = list(zip(measure["values"], groups, strict=True))
            first = [v for v, g in held if g == a and v is not None]
            second = [v for v, g in held if g == b and v is not None]
            if min(len(first), len(second)) < 2:  # a test of single runs is meaningless
                continue
            samples.append((first, second))
            rows.append({"measure": measure["label"], "first": a, "second": b})
    for row, (first, second), (found, p_holm) in zip(rows, samples, corrected_tests(samples), strict=True):
        row |= {
            "medians": [median(first), median(second)],
            "runs": [found.n, found.m],
            "p": found.p,
            "p_holm": p_holm,
            "a12": found.a12,
            "effect": effect_size(found.a12),
        }
    return rows
