"""The paper's claims about the maze, section IV-B and the appendix, each with the rule that decides it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tesselite.assessment.comparison import Measure
from tesselite.assessment.statistics import median
from tesselite.assessment.tables import shown
from tesselite.experiments.claim_rules import HELD_OUT, Claim, Facts, Verdict, falls, higher, listed, same

_GRIDS = ("grid-2d", "grid-10d", "grid-20d")
_CVTS = ("cvt-2d", "cvt-10d", "cvt-20d", "cvt-50d", "cvt-250d", "cvt-1000d")


def _below_ten(facts: Facts) -> Verdict:
    worst = {name: max(facts.bests(name)) for name in (*_GRIDS, *_CVTS)}
    return max(worst.values()) < 10.0, "worst environment: " + listed(list(worst), list(worst.values()))


def _below_two(facts: Facts) -> Verdict:
    share = {name: float(np.mean(np.array(facts.bests(name)) < 2.0)) for name in (*_GRIDS, *_CVTS)}
    return min(share.values()) > 0.5, "share of environments: " + listed(list(share), list(share.values()))


def _hardest(facts: Facts) -> Verdict:
    scenarios = facts.comparison.scenarios
    mean = {s: float(np.mean([facts.best(name, s) for name in (*_GRIDS, *_CVTS)])) for s in scenarios}
    order = sorted(mean, key=lambda s: -mean[s])
    return set(order[:2]) == {"8", "14"}, "hardest: " + listed(order[:4], [mean[s] for s in order[:4]])


def _not_worse_high(facts: Facts) -> Verdict:
    low, high = max(facts.bests("cvt-2d")), max(facts.bests("cvt-1000d"))
    return high < 10.0 or high <= low, f"worst environment: 2D {shown(low)}, 1000D {shown(high)}"


MAZE_CLAIMS = [
    Claim("In all environments and for all pairs the median best distance is below 10 units.", "Fig. 4", _below_ten),
    Claim("It is less than 2 units in most environments.", "IV-B", _below_two),
    Claim("Environments 8 and 14 are the hardest.", "Fig. 4", _hardest),
    Claim("CVT-MAP-Elites does not deteriorate in 1000 dimensions.", "Fig. 4", _not_worse_high),
    Claim(
        "The share of niches that MAP-Elites fills falls sharply (by half at least) from 2D to 10D to 20D.",
        "IV-B",
        lambda facts: falls(facts, _GRIDS, facts.coverage, 0.5),
    ),
    Claim(
        "CVT-MAP-Elites fills a larger share than MAP-Elites in 10D and 20D.",
        "IV-B",
        higher([("grid-10d", "cvt-10d"), ("grid-20d", "cvt-20d")], Facts.coverage),
    ),
    Claim(
        "The elites of CVT-MAP-Elites become better spread in higher dimensions (1000D above 2D).",
        "IV-B",
        higher([("cvt-2d", "cvt-1000d")], Facts.spread),
    ),
    Claim(
        "The spread of MAP-Elites rises from 2D to 10D and falls to 20D.",
        "IV-B",
        lambda facts: (
            facts.spread("grid-2d") < facts.spread("grid-10d") > facts.spread("grid-20d"),
            listed(_GRIDS, [facts.spread(name) for name in _GRIDS]),
        ),
    ),
    Claim(
        "The expected quality at 20 units of CVT-MAP-Elites is not below that of MAP-Elites (to 0.01).",
        "IV-B",
        higher(
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
            listed(("grid-50d", "cvt-50d"), [facts.share(name, 20.0) for name in ("grid-50d", "cvt-50d")]),
        ),
    ),
]

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
        same([(f"{name}-k500", f"{name}-k5000") for name in _APPENDIX], HELD_OUT),
    ),
    Claim("The share within 100 units is higher with k = 50 than with 500 or 5000.", "Fig. 11A", _fifty_best),
    Claim(
        "It is higher with the 20D and 250D descriptors than with 2D (k = 5000).",
        "Fig. 11A",
        higher([("2d-k5000", "20d-k5000"), ("2d-k5000", "250d-k5000")], lambda facts, n: facts.share(n, 100.0)),
    ),
]

NORMS_MAZE_CLAIMS = [
    Claim(
        "The two norms do not differ significantly in the best distance.",
        "Fig. 10",
        same([(f"{name}-p2", f"{name}-p0.5") for name in ("50d", "250d", "1000d")], HELD_OUT),
    ),
    Claim(
        "Nor in the share within 100 units.",
        "Fig. 11B",
        same([(f"{name}-p2", f"{name}-p0.5") for name in ("50d", "250d", "1000d")], Measure("share", "", x=100.0)),
    ),
]
