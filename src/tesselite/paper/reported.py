"""The numbers that the paper reports, and ours beside them. Vassiliades et al. (2018), sections IV-B and V-B.

The paper's results are only here; its settings are in `maze` and `hexapod` beside this file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import mann_whitney
from tesselite.assessment.tables import Table, shown
from tesselite.paper.hexapod import FAST
from tesselite.paper.maze import PAPER as MAZE
from tesselite.paper.studies import Study
from tesselite.problems.problem import TRAINING

_PAIRS = ("grid-6d", "grid-12d", "grid-24d", "cvt-6d", "cvt-12d", "cvt-24d", "cvt-36d")


@dataclass(frozen=True)
class Number:
    """A number of the paper for one pair, as printed, and what it measures. `against` another pair: p of a test."""

    pair: str
    paper: str
    measure: Measure
    place: str
    against: str = ""


def _numbers(measure: Measure, place: str, values: dict[str, str]) -> list[Number]:
    return [Number(pair, paper, measure, place) for pair, paper in values.items()]


_FAST = Measure("share", f"share above {FAST:g} m/s, damaged", x=FAST, pooled=True)

NUMBERS: dict[str, list[Number]] = {
    "maze": [
        *_numbers(
            Measure("coverage", "share of filled niches"), "IV-B, Fig. 5A",
            {"grid-2d": "0.72", "grid-10d": "0.09", "grid-20d": "0.005", "cvt-2d": "0.73", "cvt-10d": "0.46",
             "cvt-20d": "0.40", "cvt-50d": "0.38", "cvt-250d": "0.36", "cvt-1000d": "0.36"},
        ),
        *_numbers(
            Measure("spread", "spread"), "IV-B, Fig. 5B",
            {"grid-2d": "0.34", "grid-10d": "0.37", "grid-20d": "0.29", "cvt-2d": "0.34", "cvt-10d": "0.41",
             "cvt-20d": "0.40", "cvt-50d": "0.43", "cvt-250d": "0.44", "cvt-1000d": "0.45"},
        ),
        *_numbers(
            Measure("share", f"share within {MAZE.near:g} units", x=MAZE.near, pooled=True), "IV-B, Fig. 5C",
            {"grid-2d": "0.02", "grid-10d": "0.01", "grid-20d": "0.02", "cvt-2d": "0.02", "cvt-10d": "0.02",
             "cvt-20d": "0.03", "cvt-50d": "0.04", "cvt-250d": "0.03", "cvt-1000d": "0.03"},
        ),
    ],
    "hexapod": [
        *_numbers(
            Measure("best", "best speed, undamaged (m/s)", TRAINING), "V-B",
            dict(zip(_PAIRS, ("0.47", "0.21", "0.16", "0.47", "0.45", "0.44", "0.44"), strict=True)),
        ),
        *_numbers(
            Measure("best", "best speed, mean of the medians of 6 damages (m/s)", average=True), "V-B",
            dict(zip(_PAIRS, ("0.34", "0.18", "0.15", "0.33", "0.31", "0.32", "0.32"), strict=True)),
        ),
        *_numbers(
            _FAST, "V-B", dict(zip(_PAIRS, ("0.213", "0", "0", "0.133", "0.065", "0.108", "0.105"), strict=True)),
        ),
        *(
            Number(f"grid-{d}d", "< 1e-44", replace(_FAST, label="p of the difference in this share"), "V-B",
                   against=f"cvt-{d}d")
            for d in (12, 24)
        ),
    ],
}  # fmt: skip
"""By study."""


def number_of(study: str, pair: str, measure: Measure) -> str | None:
    """The paper's number of a measure, as printed; None where it gives none."""
    for number in NUMBERS.get(study, []):
        same = replace(number.measure, label=measure.label, pooled=measure.pooled)
        if number.pair == pair and same == measure and not number.against:
            return number.paper
    return None


def released(study: Study) -> dict[str, str]:
    """The pairs in which the released code differs from the paper's text, each with its variant.

    Of several readings it is the last: in 12D that with released cells and amplitudes.
    """
    return {
        pair.variant_of: pair.name
        for pair in study.pairs
        if pair.variant_of and (pair.cells == "released" or pair.descriptor == "amplitude")
    }


def numbers_of_pairs(study: Study, names: Collection[str]) -> list[tuple[Number, str, str]]:
    """The paper's numbers for pairs and other readings of them: each with the pair, and what that is tested against."""
    base, code = {pair.name: pair.variant_of or pair.name for pair in study.pairs}, released(study)
    found = []
    for number in NUMBERS.get(study.name, []):
        if number.against:
            tests = {(number.pair, number.against), tuple(code.get(p, p) for p in (number.pair, number.against))}
            found += [(number, one, other) for one, other in sorted(tests) if {one, other}.issubset(names)]
        else:
            found += [(number, name, "") for name in names if base[name] == number.pair]
    return found


def numbers_table(study: Study, comparison: Comparison) -> Table | None:
    """Every number that the paper gives beside ours with interval, runs and evaluations; None where it has none."""
    rows = []
    groups = {group.name: group for group in comparison.groups}
    for number, name, against in numbers_of_pairs(study, groups):
        group, measure = groups[name], number.measure
        if against:
            other = groups[against]
            p = mann_whitney(*(comparison.values(one, measure) for one in (group, other))).p
            row = [measure.label, f"{group.label} / {other.label}", number.paper, shown(p), ""]
            runs = min(len(group.trials), len(other.trials))
        else:
            ours = comparison.estimate(group, measure)
            interval = "" if ours.interval is None else "{} to {}".format(*map(shown, ours.interval))
            row = [measure.label, group.label, number.paper, shown(ours.value), interval]
            runs = ours.n
        rows.append([*row, runs, group.trials[0].settings["evaluations"], number.place])
    if not rows:
        return None
    return Table(["quantity", "pair", "paper", "ours", "95 % interval", "runs", "evaluations", "place"], rows)
