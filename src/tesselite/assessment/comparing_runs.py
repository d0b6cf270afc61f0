"""Comparing run folders: assess what is not assessed yet, and bring all runs to common fitness levels.

The comparison itself is in `comparison`; reproductions of the paper compare trials that they kept, in
`tesselite.experiments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tesselite.assessment.comparison import Comparison, Group, Measure
from tesselite.assessment.scenarios import TRAINING, Progress, assess_run
from tesselite.assessment.trial import summarise_run

_LEVELS = 200


def compare_folders(
    groups: Mapping[str, Sequence[Path]],
    shares: Sequence[float] = (),
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Comparison, list[Measure]]:
    """Groups of run folders as a comparison, and what to test: best fitness, coverage, spread, QD score and `shares`.

    The runs must be of problems with the same direction and scenarios; ValueError if not, or if a group is empty.
    """
    assessed = {}
    for name, folders in groups.items():
        if not folders:
            raise ValueError(f"runs: expected at least one run in {name!r}")
        assessed[name] = [assess_run(folder, threads=threads, progress=progress) for folder in folders]
    values = [one for found in assessed.values() for run in found for one in run.fitness.values()]
    pooled = np.concatenate([one[np.isfinite(one)] for one in values])
    if not len(pooled):
        raise ValueError("runs: expected at least one valid solution in one of the settings, found none")
    low, high = float(pooled.min()), float(pooled.max())
    even = np.linspace(low, high, _LEVELS + 1) if high > low else np.array([low])
    levels = np.unique(np.concatenate([even, np.asarray(shares, dtype=np.float64)]))
    made = tuple(
        Group(
            name,
            name,
            tuple(
                summarise_run(folder, found, levels, group=name, number=i, threads=threads)
                for i, (folder, found) in enumerate(zip(groups[name], assessed[name], strict=True))
            ),
            family=name,
        )
        for name in groups
    )
    comparison = Comparison(made)
    sign = "<=" if comparison.direction == "min" else ">"
    measures = [Measure("found", f"best in {TRAINING}")]
    if len(comparison.settings) > 1:
        measures.append(Measure("best", "best, median over scenarios"))
    measures += [Measure(kind, kind.replace("_", " ")) for kind in ("coverage", "spread", "qd_score")]
    measures += [Measure("share", f"share {sign} {x:g}, median over scenarios", x=x) for x in shares]
    return comparison, measures
