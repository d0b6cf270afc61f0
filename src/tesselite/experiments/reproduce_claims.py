"""What the paper reports and claims, as data: each number beside ours, each claim with a rule that decides it.

Medians over runs are compared, as in the paper; where it speaks of significance, a two-sided Mann-Whitney test over
runs at 0.05 decides. Vassiliades et al. (2018), sections IV-B, V-B and the appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.scenarios import TRAINING
from tesselite.assessment.statistics import mann_whitney, median
from tesselite.assessment.tables import Table, shown
from tesselite.experiments.reproduce_studies import STUDIES, Study

SIGNIFICANT = 0.05
_RUNS_TO_TEST = 4  # a Mann-Whitney test of three runs against three cannot go below p = 0.1


@dataclass(frozen=True)
class Number:
    """A number of the paper for one pair: what it is, and how ours is computed."""

    pair: str
    label: str
    paper: str
    measure: Measure
    place: str
    mean_of_medians: bool = False


def _numbers(label: str, place: str, measure: Measure, values: dict[str, str], **options: bool) -> list[Number]:
    return [Number(pair, label, paper, measure, place, **options) for pair, paper in values.items()]


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
]  # fmt: skip

NUMBERS = {"maze": MAZE_NUMBERS, "hexapod": HEXAPOD_NUMBERS}


def numbers_table(study: Study, comparison: Comparison) -> Table | None:
    """Every number that the paper gives beside ours; None where it gives none."""
    rows = []
    present = {group.name: group for group in comparison.groups}
    for number in NUMBERS.get(study.name, []):
        if number.pair not in present:
            continue
        group = present[number.pair]
        if number.mean_of_medians:
            ours = shown(comparison.mean_expected_best(group))
        else:
            values = comparison.values(group, number.measure)
            if not len(values):
                continue
            low, high = np.quantile(values, [0.25, 0.75])
            ours = f"{shown(median(values))} [{shown(float(low))}, {shown(float(high))}]"
        rows.append([number.label, group.label, number.paper, ours, len(group.trials), number.place])
    if not rows:
        return None
    return Table(["quantity", "pair", "paper", "ours: median [quartiles]", "runs", "section"], rows)


class Facts:
    """Short names for what claims are decided by; a pair without trials raises KeyError."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.groups = {group.name: group for group in comparison.groups}

    def of(self, measure: Measure, pair: str) -> float:
        """Median of a measure."""
        return median(self.comparison.values(self.groups[pair], measure))

    def coverage(self, pair: str) -> float:
        """Median share of filled niches."""
        return self.of(Measure("coverage", ""), pair)

    def spread(self, pair: str) -> float:
        """Median spread."""
        return self.of(Measure("spread", ""), pair)

    def share(self, pair: str, x: float, setting: str | None = None) -> float:
        """Median share of solutions that reach x, over runs x scenarios, or in one setting."""
        return self.of(Measure("share", "", setting, x=x, pooled=True), pair)

    def best(self, pair: str, setting: str = TRAINING) -> float:
        """Expected best performance in a setting."""
        return self.comparison.expected_best(self.groups[pair], setting)

    def bests(self, pair: str) -> list[float]:
        """Expected best performance in every setting."""
        return [self.best(pair, setting) for setting in self.comparison.settings]

    def in_scenarios(self, pair: str) -> float:
        """Average over the scenarios of the expected best performance."""
        return self.comparison.mean_expected_best(self.groups[pair])

    def found(self, pair: str) -> float:
        """Median over runs of the best fitness in the whole archive, which the search itself has seen."""
        return self.of(Measure("found", ""), pair)

    def p(self, first: str, second: str, measure: Measure) -> float:
        """p value of a Mann-Whitney test of two pairs; ValueError if runs are too few to find a difference."""
        one, other = (self.comparison.values(self.groups[name], measure) for name in (first, second))
        if min(len(one), len(other)) < _RUNS_TO_TEST:
            raise ValueError(f"{first}, {second}: expected at least {_RUNS_TO_TEST} observations of each")
        return mann_whitney(one, other).p


Verdict = tuple[bool, str]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the rule that decides it: (holds, the figures it rests on)."""

    text: str
    place: str
    rule: Callable[[Facts], Verdict]


def _listed(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name} {shown(value)}" for name, value in zip(names, values, strict=True))


def _falls(facts: Facts, names: Sequence[str], value: Callable[[str], float], factor: float = 1.0) -> Verdict:
    """Each value is below the one before it, and below `factor` times it."""
    values = [value(name) for name in names]
    return all(factor * a > b for a, b in pairwise(values)), _listed(names, values)


_GRIDS = ("grid-2d", "grid-10d", "grid-20d")
_CVTS = ("cvt-2d", "cvt-10d", "cvt-20d", "cvt-50d", "cvt-250d", "cvt-1000d")


def _below_ten(facts: Facts) -> Verdict:
    worst = {name: max(facts.bests(name)) for name in (*_GRIDS, *_CVTS)}
    return max(worst.values()) < 10.0, "worst environment: " + _listed(list(worst), list(worst.values()))


def _below_two(facts: Facts) -> Verdict:
    share = {name: float(np.mean(np.array(facts.bests(name)) < 2.0)) for name in (*_GRIDS, *_CVTS)}
    return min(share.values()) > 0.5, "share of environments: " + _listed(list(share), list(share.values()))


def _hardest(facts: Facts) -> Verdict:
    scenarios = facts.comparison.scenarios
    mean = {s: float(np.mean([facts.best(name, s) for name in (*_GRIDS, *_CVTS)])) for s in scenarios}
    order = sorted(mean, key=lambda s: -mean[s])
    return set(order[:2]) == {"8", "14"}, "hardest: " + _listed(order[:4], [mean[s] for s in order[:4]])


def _not_worse_high(facts: Facts) -> Verdict:
    low, high = max(facts.bests("cvt-2d")), max(facts.bests("cvt-1000d"))
    return high < 10.0 or high <= low, f"worst environment: 2D {shown(low)}, 1000D {shown(high)}"


def _higher(
    pairs: Sequence[tuple[str, str]], value: Callable[[Facts, str], float], or_equal: bool = False
) -> Callable[[Facts], Verdict]:
    """In each pair the second is higher than the first, or, if told so, as high."""

    def rule(facts: Facts) -> Verdict:
        both = [(value(facts, a), value(facts, b)) for a, b in pairs]
        told = ", ".join(f"{a} {shown(x)} / {b} {shown(y)}" for (a, b), (x, y) in zip(pairs, both, strict=True))
        return all(y > x or (or_equal and y == x) for x, y in both), told

    return rule


MAZE_CLAIMS = [
    Claim("In all environments and for all pairs the median best distance is below 10 units.", "Fig. 4", _below_ten),
    Claim("It is less than 2 units in most environments.", "IV-B", _below_two),
    Claim("Environments 8 and 14 are the hardest.", "Fig. 4", _hardest),
    Claim("CVT-MAP-Elites does not deteriorate in 1000 dimensions.", "Fig. 4", _not_worse_high),
    Claim(
        "The share of niches that MAP-Elites fills falls sharply (by half at least) from 2D to 10D to 20D.",
        "IV-B",
        lambda facts: _falls(facts, _GRIDS, facts.coverage, 0.5),
    ),
    Claim(
        "CVT-MAP-Elites fills a larger share than MAP-Elites in 10D and 20D.",
        "IV-B",
        _higher([("grid-10d", "cvt-10d"), ("grid-20d", "cvt-20d")], Facts.coverage),
    ),
    Claim(
        "The elites of CVT-MAP-Elites become better spread in higher dimensions (1000D above 2D).",
        "IV-B",
        _higher([("cvt-2d", "cvt-1000d")], Facts.spread),
    ),
    Claim(
        "The spread of MAP-Elites rises from 2D to 10D and falls to 20D.",
        "IV-B",
        lambda facts: (
            facts.spread("grid-2d") < facts.spread("grid-10d") > facts.spread("grid-20d"),
            _listed(_GRIDS, [facts.spread(name) for name in _GRIDS]),
        ),
    ),
    Claim(
        "The expected quality at 20 units of CVT-MAP-Elites is not below that of MAP-Elites (to 0.01).",
        "IV-B",
        _higher(
            [("grid-2d", "cvt-2d"), ("grid-10d", "cvt-10d"), ("grid-20d", "cvt-20d")],
            lambda facts, name: round(facts.share(name, 20.0), 2),
            or_equal=True,
        ),
    ),
    Claim(
        "Beyond the paper's experiments: in 50D the grid's archive is of lower quality (share within 20 units) even "
        "when memory is not a problem.",
        "I",
        lambda facts: (
            facts.share("grid-50d", 20.0) < facts.share("cvt-50d", 20.0),
            _listed(("grid-50d", "cvt-50d"), [facts.share(name, 20.0) for name in ("grid-50d", "cvt-50d")]),
        ),
    ),
]

_HEX_GRIDS = ("grid-6d", "grid-12d", "grid-24d")
_HEX_CVTS = ("cvt-6d", "cvt-12d", "cvt-24d", "cvt-36d")


def _alike(names: Sequence[str], within: float, value: Callable[[Facts, str], float]) -> Callable[[Facts], Verdict]:
    def rule(facts: Facts) -> Verdict:
        values = [value(facts, name) for name in names]
        return max(values) - min(values) <= within, _listed(names, values)

    return rule


def _ratios(facts: Facts) -> Verdict:
    ratios = [facts.in_scenarios(f"cvt-{d}d") / facts.in_scenarios(f"grid-{d}d") for d in (12, 24)]
    return all(1.65 <= ratio < 2.15 for ratio in ratios), "CVT over grid, damaged: " + _listed(("12D", "24D"), ratios)


def _six_first(setting: str | None) -> Callable[[Facts], Verdict]:
    def rule(facts: Facts) -> Verdict:
        shares = {name: facts.share(name, 0.2, setting) for name in (*_HEX_GRIDS, *_HEX_CVTS)}
        others = max(share for name, share in shares.items() if name != "grid-6d")
        return shares["grid-6d"] > others, _listed(list(shares), list(shares.values()))

    return rule


def _highly_significant(facts: Facts) -> Verdict:
    pooled = Measure("share", "", x=0.2, pooled=True)
    values = [facts.p(f"grid-{d}d", f"cvt-{d}d", pooled) for d in (12, 24)]
    higher = all(facts.share(f"cvt-{d}d", 0.2) > facts.share(f"grid-{d}d", 0.2) for d in (12, 24))
    return higher and max(values) < 1e-3, f"p over runs x damages: {_listed(('12D', '24D'), values)}"


def _quality_and_dimension(facts: Facts) -> Verdict:
    """Tests over runs x damages, as the paper's; the median share of a grid may be 0 from 12D on."""
    pooled = Measure("share", "", x=0.2, pooled=True)
    grids = [facts.p("grid-6d", name, pooled) for name in _HEX_GRIDS[1:]]
    falls, told = _falls(facts, _HEX_GRIDS[:2], lambda name: facts.share(name, 0.2))
    cvts = [facts.share(name, 0.2) for name in _HEX_CVTS]
    kept = min(cvts[1:]) >= cvts[0] / 3.0
    told += f", grid-24d {shown(facts.share('grid-24d', 0.2))}; p: {_listed(('12D', '24D'), grids)}; "
    return falls and max(grids) < SIGNIFICANT and kept, told + _listed(_HEX_CVTS, cvts)


HEXAPOD_CLAIMS = [
    Claim(
        "The best speed that CVT-MAP-Elites finds is about the same in 12D, 24D and 36D (within 0.05 m/s).",
        "V-B, Fig. 6A",
        _alike(_HEX_CVTS[1:], 0.05, Facts.found),
    ),
    Claim(
        "With the 6D descriptor it is slightly better.",
        "V-B, Fig. 6A",
        lambda facts: (
            facts.found("cvt-6d") > max(facts.found(name) for name in _HEX_CVTS[1:]),
            _listed(_HEX_CVTS, [facts.found(name) for name in _HEX_CVTS]),
        ),
    ),
    Claim(
        "In 6D MAP-Elites finds about as good a gait as CVT-MAP-Elites (within 0.05 m/s).",
        "V-B, Fig. 6A",
        _alike(("grid-6d", "cvt-6d"), 0.05, Facts.found),
    ),
    Claim(
        "Undamaged, the expected best speed of CVT-MAP-Elites is about the same in all four (within 0.05 m/s).",
        "V-B",
        _alike(_HEX_CVTS, 0.05, Facts.best),
    ),
    Claim(
        "Undamaged, the best speed of MAP-Elites falls with each increase of dimension.",
        "V-B",
        lambda facts: _falls(facts, _HEX_GRIDS, facts.best),
    ),
    Claim(
        "So it does when damaged.",
        "V-B",
        lambda facts: _falls(facts, _HEX_GRIDS, facts.in_scenarios),
    ),
    Claim(
        "Damaged, the best speed of CVT-MAP-Elites remains constant (within 0.05 m/s).",
        "V-B",
        _alike(_HEX_CVTS, 0.05, Facts.in_scenarios),
    ),
    Claim("MAP-Elites 6D has the largest share above 0.2 m/s when damaged.", "V-B, Fig. 6B", _six_first(None)),
    Claim("It has undamaged, too.", "V-B, Fig. 6B", _six_first(TRAINING)),
    Claim(
        "Damaged, the share above 0.2 m/s of MAP-Elites falls significantly with dimension, that of CVT-MAP-Elites "
        "does not (stays above a third of 6D's; in the paper it falls to a half).",
        "V-B, Fig. 6B",
        _quality_and_dimension,
    ),
    Claim("In 12D and 24D the shares of the two algorithms differ highly significantly.", "V-B", _highly_significant),
    Claim("CVT-MAP-Elites finds gaits 1.7 to 2.1 times faster when damaged (12D, 24D).", "VI", _ratios),
    Claim(
        "Beyond the paper's experiments: in 36D the grid finds slower gaits even when memory is not a problem.",
        "I",
        lambda facts: (
            facts.found("grid-36d") < facts.found("cvt-36d"),
            _listed(("grid-36d", "cvt-36d"), [facts.found("grid-36d"), facts.found("cvt-36d")]),
        ),
    ),
]

_TRAINED, _HELD_OUT = Measure("best", "", TRAINING), Measure("best", "")


def _same(pairs: Sequence[tuple[str, str]], measure: Measure) -> Callable[[Facts], Verdict]:
    """No significant difference in any of the pairs."""

    def rule(facts: Facts) -> Verdict:
        values = [facts.p(a, b, measure) for a, b in pairs]
        return min(values) > SIGNIFICANT, _listed([f"{a} / {b}: p =" for a, b in pairs], values)

    return rule


_APPENDIX = ("2d", "20d", "250d")


def _more_niches_better(facts: Facts) -> Verdict:
    told, holds = [], True
    for name in _APPENDIX:
        values = [median(facts.bests(f"{name}-k{k}")) for k in (5, 50, 500, 5000)]
        holds &= values[0] > max(values[1:]) and all(a >= b for a, b in pairwise(values))
        told.append(f"{name} k = 5, 50, 500, 5000: " + ", ".join(shown(v) for v in values))
    return holds, "median over environments: " + "; ".join(told)


def _fifty_best(facts: Facts) -> Verdict:
    told, holds = [], True
    for name in _APPENDIX:
        values = [facts.share(f"{name}-k{k}", 100.0) for k in (50, 500, 5000)]
        holds &= values[0] > max(values[1:])
        told.append(f"{name} k = 50, 500, 5000: " + ", ".join(shown(v) for v in values))
    return holds, "share within 100 units: " + "; ".join(told)


NICHES_MAZE_CLAIMS = [
    Claim("Expected best performance improves with k, and k = 5 is worst.", "appendix, Fig. 9", _more_niches_better),
    Claim(
        "k = 500 and k = 5000 do not differ significantly.",
        "Fig. 9",
        _same([(f"{name}-k500", f"{name}-k5000") for name in _APPENDIX], _HELD_OUT),
    ),
    Claim("The share within 100 units is higher with k = 50 than with 500 or 5000.", "Fig. 11A", _fifty_best),
    Claim(
        "It is higher with the 20D and 250D descriptors than with 2D (k = 5000).",
        "Fig. 11A",
        _higher([("2d-k5000", "20d-k5000"), ("2d-k5000", "250d-k5000")], lambda facts, n: facts.share(n, 100.0)),
    ),
]

_KS = ("k10", "k100", "k1000", "k10000")
NICHES_HEXAPOD_CLAIMS = [
    Claim(
        "Undamaged, k from 10 to 10,000 do not differ significantly in the best speed.",
        "Fig. 12",
        _same([(name, "k10000") for name in _KS[:-1]], _TRAINED),
    ),
    Claim(
        "Undamaged, k = 100,000 is significantly worse.",
        "Fig. 12",
        lambda facts: (
            facts.best("k100000") < facts.best("k10000") and facts.p("k100000", "k10000", _TRAINED) < SIGNIFICANT,
            _listed(("k10000", "k100000"), [facts.best("k10000"), facts.best("k100000")])
            + f", p = {shown(facts.p('k100000', 'k10000', _TRAINED))}",
        ),
    ),
    Claim(
        "Damaged, k = 10,000 is best and k = 10 worst.",
        "appendix",
        lambda facts: (
            max((*_KS, "k100000"), key=facts.in_scenarios) == "k10000"
            and min((*_KS, "k100000"), key=facts.in_scenarios) == "k10",
            _listed((*_KS, "k100000"), [facts.in_scenarios(name) for name in (*_KS, "k100000")]),
        ),
    ),
    Claim(
        "Undamaged, the share above 0.2 m/s is larger with smaller k.",
        "Fig. 14A",
        lambda facts: _falls(facts, (*_KS, "k100000"), lambda name: facts.share(name, 0.2, TRAINING)),
    ),
    Claim(
        "Damaged, k from 10 to 10,000 do not differ significantly in the share above 0.2 m/s.",
        "appendix, Fig. 14A",
        _same([(name, "k10000") for name in _KS[:-1]], Measure("share", "", x=0.2)),
    ),
    Claim(
        "Damaged, k = 100,000 has the lowest expected quality.",
        "Fig. 14A",
        lambda facts: (
            facts.share("k100000", 0.2) < min(facts.share(name, 0.2) for name in _KS),
            _listed((*_KS, "k100000"), [facts.share(name, 0.2) for name in (*_KS, "k100000")]),
        ),
    ),
]

NORMS_MAZE_CLAIMS = [
    Claim(
        "The two norms do not differ significantly in the best distance.",
        "Fig. 10",
        _same([(f"{name}-p2", f"{name}-p0.5") for name in ("50d", "250d", "1000d")], _HELD_OUT),
    ),
    Claim(
        "Nor in the share within 100 units.",
        "Fig. 11B",
        _same([(f"{name}-p2", f"{name}-p0.5") for name in ("50d", "250d", "1000d")], Measure("share", "", x=100.0)),
    ),
]

NORMS_HEXAPOD_CLAIMS = [
    Claim(
        "Undamaged, the best speed is slightly greater with the fractional norm.",
        "Fig. 13",
        lambda facts: (
            facts.best("36d-p0.5") > facts.best("36d-p2"),
            _listed(("36d-p2", "36d-p0.5"), [facts.best("36d-p2"), facts.best("36d-p0.5")]),
        ),
    ),
    Claim(
        "So is the share above 0.2 m/s.",
        "appendix, Fig. 14B",
        lambda facts: (
            facts.share("36d-p0.5", 0.2, TRAINING) > facts.share("36d-p2", 0.2, TRAINING),
            _listed(("36d-p2", "36d-p0.5"), [facts.share(name, 0.2, TRAINING) for name in ("36d-p2", "36d-p0.5")]),
        ),
    ),
    Claim(
        "Damaged, the norms do not differ significantly in the best speed.",
        "Fig. 13",
        _same([("36d-p2", "36d-p0.5")], _HELD_OUT),
    ),
    Claim(
        "Nor in the share above 0.2 m/s.",
        "Fig. 14B",
        _same([("36d-p2", "36d-p0.5")], Measure("share", "", x=0.2)),
    ),
]

CLAIMS = {
    "maze": MAZE_CLAIMS,
    "hexapod": HEXAPOD_CLAIMS,
    "niches-maze": NICHES_MAZE_CLAIMS,
    "niches-hexapod": NICHES_HEXAPOD_CLAIMS,
    "norms-maze": NORMS_MAZE_CLAIMS,
    "norms-hexapod": NORMS_HEXAPOD_CLAIMS,
}


def claims_table(study: Study, comparison: Comparison) -> Table | None:
    """Each claim: confirmed, not confirmed, or not tested at this scale, with the figures; None if there are none.

    A claim is tested if all its pairs have the paper's niches and at least two runs of at least a tenth of the paper's
    evaluations; if it rests on a test over runs, at least four.
    """
    facts = Facts(comparison)
    in_paper = {pair.name: pair for pair in STUDIES[study.name]().pairs} if study.name in STUDIES else {}
    for group in comparison.groups:
        settings = group.trials[0].settings
        wanted = in_paper[group.name].settings() if group.name in in_paper else settings
        other_niches = any(settings.get(name) != wanted.get(name) for name in ("grid", "n_niches", "p"))
        if len(group.trials) < 2 or 10 * settings["evaluations"] < study.paper_evaluations or other_niches:
            del facts.groups[group.name]
    rows = []
    for claim in CLAIMS.get(study.name, []):
        try:
            holds, told = claim.rule(facts)
            rows.append([claim.text, claim.place, "confirmed" if holds else "not confirmed", told])
        except (KeyError, ValueError, ZeroDivisionError):
            rows.append([claim.text, claim.place, "not tested at this scale", ""])
    return Table(["claim", "place", "verdict", "figures"], rows) if rows else None
