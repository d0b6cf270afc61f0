"""Comparing run folders: assess them if needed, and bring all runs to common fitness levels. The comparison itself is
in `comparison`; reproductions of the paper compare stored trials, in `tesselite.paper`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tesselite.assessment.common_niches import common_niches
from tesselite.assessment.comparison import Comparison, Group, Measure
from tesselite.assessment.expected_quality import even_levels
from tesselite.assessment.scenarios import HERE, Evaluating, assess_run
from tesselite.assessment.trial import summarise_run
from tesselite.problems.problem import TRAINING
from tesselite.runs.folder import RunFolder
from tesselite.runs.loading import run_archive

_LEVELS = 200


def check_comparable(groups: Mapping[str, Sequence[Path]]) -> list[str]:
    """Notes for readers of a comparison of these runs; ValueError if they cannot be compared.

    A run counts once, and all are of one problem or one module: maze:2d and maze:20d are, sphere and rastrigin are not.
    """
    notes, seen, kinds, budgets = [], dict[Path, str](), dict[str, Path](), dict[int, Path]()
    for name, folders in groups.items():
        if not folders:
            raise ValueError(f"runs: expected at least one run in {name!r}")
        for folder in folders:
            place = RunFolder.open(folder)
            stored = place.read()
            if not place.archive_file.exists():
                raise ValueError(f"{folder}: this run has saved no archive yet")
            if folder.resolve() in seen:
                raise ValueError(f"{folder}: expected each run once, but it is in {seen[folder.resolve()]!r} already")
            seen[folder.resolve()] = name
            kinds.setdefault(stored.plan.problem, folder)
            budgets.setdefault(stored.plan.evaluations, folder)
            rows = place.read_progress()
            done = int(rows[-1]["evaluations"] or 0) if rows else 0
            if done < stored.plan.evaluations:
                notes.append(f"{folder}: unfinished, {done:,} of {stored.plan.evaluations:,} evaluations")
    if len(kinds) > 1:
        found = ", ".join(f"{kind} in {folder}" for kind, folder in kinds.items())
        if len({kind.partition(":")[0] for kind in kinds}) > 1:
            raise ValueError(f"runs: expected runs of one problem or its variants, got {found}")
        notes.append(f"the runs are of different problems or variants: {found}; check that their fitness is comparable")
    if len(budgets) > 1:
        found = ", ".join(f"{budget:,} in {folder}" for budget, folder in budgets.items())
        notes.append(f"the runs have different numbers of evaluations: {found}")
    return notes


def compare_folders(
    groups: Mapping[str, Sequence[Path]],
    shares: Sequence[float] = (),
    how: Evaluating = HERE,
    n_niches: int | None = None,
) -> tuple[Comparison, list[Measure]]:
    """Groups of run folders as a comparison, and what to test: best fitness, coverage, spread, QD score and `shares`.

    The runs must be comparable; ValueError if not (see `check_comparable`), before any is assessed. Runs with different
    niches, or without, are projected on `n_niches` common ones; the comparison's `note` says so (see `common_niches`).
    """
    check_comparable(groups)
    places = [RunFolder.open(folder) for folders in groups.values() for folder in folders]
    common = common_niches(
        [place.read().plan.niches for place in places], [run_archive(place.path)[0] for place in places], n_niches
    )
    if not np.isfinite(np.asarray(shares, dtype=np.float64)).all():
        raise ValueError(f"shares: expected finite fitness values, got {list(shares)}")
    assessed = {name: [assess_run(folder, how=how) for folder in folders] for name, folders in groups.items()}
    values = [one for found in assessed.values() for run in found for one in run.fitness.values()]
    pooled = np.concatenate([one[np.isfinite(one)] for one in values])
    if not len(pooled):
        raise ValueError("runs: expected at least one valid solution in one of the settings, found none")
    even = even_levels(float(pooled.min()), float(pooled.max()), _LEVELS + 1)
    levels = np.unique(np.concatenate([even, np.asarray(shares, dtype=np.float64)]))
    made = tuple(
        Group(
            name,
            name,
            tuple(
                summarise_run(folder, found, levels, group=name, number=i, threads=how.threads, common=common.niches)
                for i, (folder, found) in enumerate(zip(groups[name], assessed[name], strict=True))
            ),
            family=name,
        )
        for name in groups
    )
    directions = {run.direction for found in assessed.values() for run in found}
    if len(directions) > 1:
        raise ValueError("runs: expected the same direction in all, but some maximise fitness and others minimise it")
    on = "" if common.niches is None else ", common niches"
    comparison = Comparison(made, note=common.note, on=on)
    sign = "<=" if comparison.direction == "min" else ">"
    measures = [Measure("found", f"best in {TRAINING}")]
    if len(comparison.settings) > 1:
        measures.append(Measure("best", "best, median over scenarios"))
    measures += [
        Measure("coverage", f"coverage{on}"),
        Measure("spread", "spread"),
        Measure("qd_score", f"qd score{on}"),
    ]
    measures += [Measure("share", f"share {sign} {x:g}, median over scenarios", x=x) for x in shares]
    return comparison, measures
