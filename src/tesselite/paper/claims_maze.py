"""The paper's claims about the maze, section IV-B and the appendix, each with the rule that decides it."""

from __future__ import annotations

import numpy as np

from tesselite.assessment.comparison import Measure
from tesselite.assessment.statistics import median
from tesselite.assessment.tables import shown
from tesselite.paper.claim_rules import (
    HELD_OUT,
    Claim,
    Facts,
    Verdict,
    falls,
    higher,
    listed,
    not_significantly,
    same,
)

_GRIDS = ("grid-2d", "grid-10d", "grid-20d")
_CVTS = ("cvt-2d", "cvt-10d", "cvt-20d", "cvt-50d", "cvt-250d", "cvt-1000d")


def _below_ten(facts: Facts) -> Verdict:
    worst = {name: max(facts.bests(name)) for name in (*_GRIDS, *_CVTS)}
    return max(worst.values()) < 10.0, "worst environment: " + listed(list(worst), list(worst.values()))


def _below_two(facts: Facts) -> Verdict:
    share = {name: float(np.mean(np.array(facts.bests(name)) < 2.0)) for name in (*_GRIDS, *_CVTS)}
    return min(share.values()) > 0.5, "share of environments: " + listed(list(share), list(share.values()))


def _hardest(facts: Facts) -> Verdict:
    best = {scenario: facts.best_of_all((*_GRIDS, *_CVTS), scenario) for scenario in facts.comparison.scenarios}
    order = sorted(best, key=lambda scenario: -best[scenario])
    return set(order[:2]) == {"8", "14"}, "hardest: " + listed(order[:4], [best[scenario] for scenario in order[:4]])


_SAME_DESCRIPTOR = [("grid-2d", "cvt-2d"), ("grid-10d", "cvt-10d"), ("grid-20d", "cvt-20d")]


def _quality_near(facts: Facts) -> Verdict:
    shares = [[facts.share(name, 20.0) for name in pair] for pair in _SAME_DESCRIPTOR]
    told = [listed(pair, both) for pair, both in zip(_SAME_DESCRIPTOR, shares, strict=True)]
    return all(cvt >= 0.9 * grid for grid, cvt in shares) and any(cvt > grid for grid, cvt in shares), "; ".join(told)


MAZE_CLAIMS = [
    Claim("In all environments and for all pairs the median best distance is below 10 units.", "Fig. 4", _below_ten),
    Claim("It stays the same over environments: less than 2 units in most of them.", "IV-B", _below_two),
    Claim("Environments 8 and 14 are the hardest (median over the runs of all pairs).", "Fig. 4", _hardest),
    Claim(
        "CVT-MAP-Elites does not deteriorate in high dimensions (best distance not significantly above that in 2D).",
        "Fig. 4",
        not_significantly([("cvt-2d", name) for name in _CVTS[1:]], [HELD_OUT]),
    ),
    Claim(
        "It performs as well as MAP-Elites (best distance not significantly above in 2D, 10D, 20D).",
        "IV-B",
        not_significantly(_SAME_DESCRIPTOR, [HELD_OUT]),
    ),
    Claim(
        "It behaves like MAP-Elites in low-dimensional spaces (2D: no significant difference in the best distance).",
        "VI",
        same(_SAME_DESCRIPTOR[:1], HELD_OUT),
    ),
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
        "The share within 20 units is slightly higher with CVT-MAP-Elites (in none of 2D, 10D, 20D below nine tenths "
        "of MAP-Elites', in one at least above it).",
        "IV-B",
        _quality_near,
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
        holds &= values[0] > max(values[1:]) and values[1] > max(values[2:])
        told.append(f"{name} k = 5, 50, 500, 5000: " + ", ".join(shown(v) for v in values))
    return holds, "median over environments: " + "; ".join(told)


def _fifty_work(facts: Facts) -> Verdict:
    values = [median(facts.bests(f"{name}-k50")) for name in _APPENDIX]
    return max(values) < 100.0, "median over environments: " + listed([f"{name}-k50" for name in _APPENDIX], values)


def _fifty_best(facts: Facts) -> Verdict:
    told, holds = [], True
    for name in _APPENDIX:
        values = [facts.share(f"{name}-k{k}", 100.0) for k in (50, 500, 5000)]
        holds &= values[0] > max(values[1:])
        told.append(f"{name} k = 50, 500, 5000: " + ", ".join(shown(v) for v in values))
    return holds, "share within 100 units: " + "; ".join(told)


NICHES_MAZE_CLAIMS = [
    Claim(
        "Expected best performance improves with k: k = 5 is worst, and 500 and 5000 are better than 50.",
        "appendix, Fig. 9",
        _more_niches_better,
    ),
    Claim(
        "k = 500 and k = 5000 do not differ significantly.",
        "Fig. 9",
        same([(f"{name}-k500", f"{name}-k5000") for name in _APPENDIX], HELD_OUT),
    ),
    Claim("The share within 100 units is higher with k = 50 than with 500 or 5000.", "Fig. 11A", _fifty_best),
    Claim(
        "It is higher with the 20D and 250D descriptors than with 2D (k = 50, 500, 5000).",
        "Fig. 11A",
        higher(
            [(f"2d-k{k}", f"{name}-k{k}") for k in (50, 500, 5000) for name in ("20d", "250d")],
            lambda facts, name: facts.share(name, 100.0),
        ),
    ),
    Claim("CVT-MAP-Elites works well with 50 niches (best distance below 100 units).", "appendix", _fifty_work),
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
