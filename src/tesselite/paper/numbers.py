"""The numbers that the paper reports, each beside ours. Vassiliades et al. (2018), sections IV-B and V-B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import mann_whitney, median
from tesselite.assessment.tables import Table, shown
from tesselite.paper.studies import Study
from tesselite.problems.problem import TRAINING


@dataclass(frozen=True)
class Number:
    """A number of the paper for one pair: what it is, and how ours is computed. `against` another: p of a test."""

    pair: str
    label: str
    paper: str
    measure: Measure
    place: str
    mean_of_medians: bool = False
    against: str = ""


def _numbers(
    label: str, place: str, measure: Measure, values: dict[str, str], mean_of_medians: bool = False
) -> list[Number]:
    return [Number(pair, label, paper, measure, place, mean_of_medians) for pair, paper in values.items()]


MAZE_NUMBERS = [
    *_numbers(
        "share of filled niches", "IV-B, Fig. 5A", Measure("coverage", ""),
        {"grid-2d": "0.72", "grid-10d": "0.09", "grid-20d": "0.005", "cvt-2d": "0.73", "cvt-10d": "0.46",
         "cvt-20d": "0.40", "cvt-50d": "0.38", "cvt-250d": "0.36", "cvt-1000d": "0.36"},
    ),
    *_numbers(
        "spread", "IV-B, Fig. 5B", Measure("spread", ""),
        {"grid-2d": "0.34", "grid-10d": "0.37", "grid-20d": "0.29", "cvt-2d": "0.34", "cvt-10d": "0.41",
         "cvt-20d": "0.40", "cvt-50d": "0.43", "cvt-250d": "0.44", "cvt-1000d": "0.45"},
    ),
    *_numbers(
        "share within 20 units", "IV-B, Fig. 5C", Measure("share", "", x=20.0, pooled=True),
        {"grid-2d": "0.02", "grid-10d": "0.01", "grid-20d": "0.02", "cvt-2d": "0.02", "cvt-10d": "0.02",
         "cvt-20d": "0.03", "cvt-50d": "0.04", "cvt-250d": "0.03", "cvt-1000d": "0.03"},
    ),
]  # fmt: skip

HEXAPOD_NUMBERS = [
    *_numbers(
        "best speed, undamaged (m/s)", "V-B", Measure("best", "", TRAINING),
        {"grid-6d": "0.47", "grid-12d": "0.21", "grid-24d": "0.16", "cvt-6d": "0.47", "cvt-12d": "0.45",
         "cvt-24d": "0.44", "cvt-36d": "0.44"},
    ),
    *_numbers(
        "best speed found, undamaged (m/s)", "Fig. 6A", Measure("found", ""), dict.fromkeys(
            ("grid-6d", "grid-12d", "grid-24d", "cvt-6d", "cvt-12d", "cvt-24d", "cvt-36d"), "a curve"),
    ),
    *_numbers(
        "best speed, average of the medians of 6 damages (m/s)", "V-B", Measure("best", ""),
        {"grid-6d": "0.34", "grid-12d": "0.18", "grid-24d": "0.15", "cvt-6d": "0.33", "cvt-12d": "0.31",
         "cvt-24d": "0.32", "cvt-36d": "0.32"},
        mean_of_medians=True,
    ),
    *_numbers(
        "share above 0.2 m/s, damaged", "V-B", Measure("share", "", x=0.2, pooled=True),
        {"grid-6d": "0.213", "grid-12d": "0", "grid-24d": "0", "cvt-6d": "0.133", "cvt-12d": "0.065",
         "cvt-24d": "0.108", "cvt-36d": "0.105"},
    ),
    *(
        Number(f"grid-{d}d", "p of the difference in this share", "< 1e-44", Measure("share", "", x=0.2, pooled=True),
               "V-B", against=f"cvt-{d}d")
        for d in (12, 24)
    ),
]  # fmt: skip

NUMBERS = {"maze": MAZE_NUMBERS, "hexapod": HEXAPOD_NUMBERS}


def numbers_table(study: Study, comparison: Comparison) -> Table | None:
    """Every number that the paper gives beside ours; None where it gives none."""
    rows = []
    present = {group.name: group for group in comparison.groups}
    for number in NUMBERS.get(study.name, []):
        if number.pair not in present or number.against not in {"", *present}:
            continue
        group = present[number.pair]
        if number.against:
            other = present[number.against]
            p = mann_whitney(*(comparison.values(one, number.measure) for one in (group, other))).p
            runs = min(len(group.trials), len(other.trials))
            label = f"{group.label} / {other.label}"
            rows.append([number.label, label, number.paper, shown(p), runs, number.place])
            continue
        if number.mean_of_medians:
            ours = shown(comparison.mean_expected_best(group))
        else:
            values = comparison.values(group, number.measure)
            if not len(values):
                continue
            low, high = np.quantile(values, [0.25, 0.75])
            ours = shown(median(values)) + (f" [{shown(float(low))}, {shown(float(high))}]" if len(values) > 1 else "")
        rows.append([number.label, group.label, number.paper, ours, len(group.trials), number.place])
    if not rows:
        return None
    return Table(["quantity", "pair", "paper", "ours: median [quartiles]", "runs", "section"], rows)
