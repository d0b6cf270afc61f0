"""Rules for the paper's claims: statements about intervals over runs, as data, and the resulting verdict.

A statement holds if a 95 % interval lies inside the range that it names, fails if it lies outside, and is undecided
otherwise. Intervals of the shift or the ratio between two pairs and of a median are exact and rest on whole runs
(`assessment.statistics`); too few runs for an interval decide nothing. So "no difference" is an equivalence within a
stated margin, never a non-significant test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import LEVEL, median, median_interval, shift_interval
from tesselite.assessment.tables import shown
from tesselite.base.arrays import Floats
from tesselite.paper.maze import PAPER as MAZE
from tesselite.problems.problem import TRAINING

AGREES, DISAGREES, MIXED = "agrees", "disagrees", "mixed"
UNDERPOWERED, OTHER_BUDGET = "underpowered", "other budget"
VERDICTS = (AGREES, MIXED, DISAGREES, UNDERPOWERED, OTHER_BUDGET)

ADDED = "2026-11-18"  # since when the rules of claims that came last have stood

FOUND, COVERAGE, SPREAD = Measure("found", ""), Measure("coverage", ""), Measure("spread", "")
TRAINED, HELD_OUT, AVERAGE = Measure("best", "", TRAINING), Measure("best", ""), Measure("best", "", average=True)


def share(x: float, setting: str | None = None) -> Measure:
    """The share of solutions that reach x in a setting, or in the median scenario of a run."""
    return Measure("share", "", setting, x=x)


@dataclass(frozen=True)
class Value:
    """What was found for a pair, or by a ranking; `measure` is None where it counts or ranks."""

    name: str
    value: float | str
    measure: Measure | None = None

    def __str__(self) -> str:
        return f"{self.name} {shown(self.value)}"


@dataclass(frozen=True)
class Finding:
    """Whether a statement holds (None: undecided), its values, and the evidence: an interval or other grounds."""

    holds: bool | None
    values: tuple[Value, ...]
    grounds: str = ""

    @property
    def figures(self) -> str:
        """All of it."""
        return ": ".join(part for part in (", ".join(map(str, self.values)), self.grounds) if part)


class NoTrials(LookupError):
    """A pair has no trials, or none with the value that is asked for."""


class Evidence:
    """The observations of a comparison by pair; `readings` names pairs to use instead of others."""

    def __init__(self, comparison: Comparison | None, readings: Mapping[str, str] | None = None) -> None:
        self.comparison, self.readings = comparison, readings or {}
        there = {group.name: group for group in comparison.groups} if comparison else {}
        names = {**{name: name for name in there}, **self.readings}
        self.groups = {name: there[taken] for name, taken in names.items() if taken in there}

    def name(self, pair: str) -> str:
        """The pair that is used for this one."""
        return self.readings.get(pair, pair)

    def values(self, pair: str, measure: Measure) -> Floats:
        """One number for each run; NoTrials where the pair has none."""
        if self.comparison is None or pair not in self.groups:
            raise NoTrials(f"no trials of {self.name(pair)}")
        found = self.comparison.values(self.groups[pair], measure)
        if not len(found):
            raise NoTrials(f"no values of {self.name(pair)}")
        return found

    def bests(self, pair: str) -> dict[str, Floats]:
        """The best of each run in each scenario; NoTrials where the pair has no trials."""
        if self.comparison is None or pair not in self.groups:
            raise NoTrials(f"no trials of {self.name(pair)}")
        return {name: self.comparison.bests(self.groups[pair], name) for name in self.comparison.scenarios}


@dataclass(frozen=True)
class Statement(ABC):
    """Part of a claim, about some pairs."""

    pairs: tuple[str, ...]

    def decide(self, evidence: Evidence) -> Finding:
        """The result by the evidence; undecided if a pair has no trials."""
        try:
            return self._decide(evidence)
        except NoTrials as error:
            return Finding(None, (), str(error))

    @abstractmethod
    def _decide(self, evidence: Evidence) -> Finding: ...


def _finding(interval: tuple[float, float], low: float, high: float, values: tuple[Value, ...], what: str) -> Finding:
    inside = (low == -inf or low < interval[0]) and (high == inf or interval[1] < high)
    outside = (low != -inf and interval[1] <= low) or (high != inf and interval[0] >= high)
    holds = True if inside else False if outside else None
    told = "unknown, too few runs" if interval == (-inf, inf) else "[{}, {}]".format(*map(shown, interval))
    return Finding(holds, values, f"{what} {told}")


@dataclass(frozen=True)
class Contrast(Statement):
    """The first of two pairs minus the second, or as a `ratio` divided by it, lies between `low` and `high`."""

    measure: Measure
    low: float = -inf
    high: float = inf
    ratio: bool = False

    def _decide(self, evidence: Evidence) -> Finding:
        a, b = (evidence.values(pair, self.measure) for pair in self.pairs)
        values = tuple(
            Value(evidence.name(pair), median(v), self.measure) for pair, v in zip(self.pairs, (a, b), strict=True)
        )
        if not self.ratio:
            return _finding(shift_interval(a, b), self.low, self.high, values, "difference")
        with np.errstate(divide="ignore"):
            low, high = shift_interval(*(np.log(np.maximum(v, 0.0)) for v in (a, b)))
        if (low, high) != (-inf, inf):
            low, high = float(np.exp(low)), float(np.exp(high))
        return _finding((low, high), self.low, self.high, values, "ratio")


def above(first: str, second: str, measure: Measure, by: float = 0.0) -> Contrast:
    """`first` is above `second` by more than `by`; below zero: not below it by as much."""
    return Contrast((first, second), measure, low=by)


def alike(first: str, second: str, measure: Measure, within: float) -> Contrast:
    """The two are equivalent: they differ by less than `within`."""
    return Contrast((first, second), measure, -within, within)


def times(first: str, second: str, measure: Measure, low: float, high: float = inf) -> Contrast:
    """`first` is more than `low` and less than `high` times `second`."""
    return Contrast((first, second), measure, low, high, ratio=True)


@dataclass(frozen=True)
class Below(Statement):
    """The median over runs is below a level."""

    measure: Measure
    level: float

    def _decide(self, evidence: Evidence) -> Finding:
        values = evidence.values(self.pairs[0], self.measure)
        where = "" if self.measure.setting is None else f" in {self.measure.setting}"
        middle = Value(evidence.name(self.pairs[0]) + where, median(values), self.measure)
        return _finding(median_interval(values), -inf, self.level, (middle,), "median")


@dataclass(frozen=True)
class Most(Statement):
    """More than half of some statements hold."""

    parts: tuple[Statement, ...]

    def _decide(self, evidence: Evidence) -> Finding:
        found = [part.decide(evidence).holds for part in self.parts]
        n, held, fell = len(found), found.count(True), found.count(False)
        holds = True if 2 * held > n else False if 2 * fell >= n else None
        names = ", ".join(map(evidence.name, self.pairs))
        return Finding(holds, (Value(names, f"{held} of {n}"),), f"{n - held - fell} undecided")


@dataclass(frozen=True)
class OneElite(Statement):
    """Every run ends with a single elite."""

    def _decide(self, evidence: Evidence) -> Finding:
        ends = evidence.values(self.pairs[0], Measure("filled", "")) == 1
        return Finding(bool(ends.all()), (Value(evidence.name(self.pairs[0]), f"{ends.sum()} of {len(ends)} runs"),))


RANKINGS: dict[str, Callable[[Sequence[Floats]], Floats]] = {
    "median over all runs": lambda bests: np.median(np.concatenate(bests, axis=-2), axis=-2),
    "mean over all runs": lambda bests: np.concatenate(bests, axis=-2).mean(axis=-2),
    "mean over pairs of their medians": lambda bests: np.mean([np.median(one, axis=-2) for one in bests], axis=0),
    "share of runs above 10 units": lambda bests: (np.concatenate(bests, axis=-2) > MAZE.solved).mean(axis=-2),
}
"""How hard each scenario is, from the bests (..., runs, scenarios) of each pair: the natural rankings."""

_RANKED_RUNS, _RANKINGS_DRAWN = 6, 1000


@dataclass(frozen=True)
class Hardest(Statement):
    """These scenarios are the hardest by one of the `RANKINGS`, and in 95 % of resamples of the runs of each pair."""

    scenarios: tuple[str, ...]
    by: str

    def _decide(self, evidence: Evidence) -> Finding:
        found = [evidence.bests(pair) for pair in self.pairs]
        names, rank, n = list(found[0]), RANKINGS[self.by], len(self.scenarios)
        bests = [np.array(list(one.values())).T for one in found]
        hard = rank(bests)
        order = np.argsort(-hard, kind="stable")
        hardest = (Value(self.by, " and ".join(names[i] for i in order[:n])),)
        grounds = ", ".join(f"{names[i]} {shown(float(hard[i]))}" for i in order[: n + 2])
        if min(map(len, bests)) < _RANKED_RUNS:
            return Finding(None, hardest, f"{grounds} (fewer than {_RANKED_RUNS} runs)")
        rng = np.random.default_rng(0)
        drawn = rank([table[rng.integers(0, len(table), (_RANKINGS_DRAWN, len(table)))] for table in bests])
        wanted = np.isin(np.argsort(-drawn, axis=-1, kind="stable")[:, :n], [names.index(s) for s in self.scenarios])
        first = float(wanted.all(axis=-1).mean())
        holds = True if first >= LEVEL else False if first <= 1.0 - LEVEL else None
        grounds += f" ({' and '.join(self.scenarios)} first in {100 * first:.0f} % of resamples)"
        return Finding(holds, hardest, grounds)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the statements that decide it, and the rule in words.

    `fixed` is the date of the rule; `changed` says how it was changed after data were seen.
    """

    text: str
    place: str
    rule: str
    statements: tuple[Statement, ...]
    changed: str = ""
    fixed: str = "2026-11-17"

    @property
    def rule_in_full(self) -> str:
        """The rule, its date, and what was changed."""
        return f"{self.rule} (since {self.fixed}). {self.changed}".strip()

    @property
    def pairs(self) -> tuple[str, ...]:
        """All pairs that it is about."""
        return tuple(dict.fromkeys(pair for statement in self.statements for pair in statement.pairs))


def claims_of_iterations(rule: str, as_precise: Callable[[int], tuple[Statement, ...]]) -> list[Claim]:
    """The claims of section VI on the clustering's iterations; `as_precise(n)` are the statements for n against 200."""
    changed = "Before any trial with fewer iterations."
    return [
        Claim(
            "The clustering does not need to be very precise with thousands of niches.",
            "VI",
            f"1 and 10 iterations against 200, {rule}",
            (*as_precise(1), *as_precise(10)),
            changed,
            ADDED,
        ),
        Claim(
            "Beyond the paper's words: random samples as centroids, without any clustering, are as good.",
            "VI",
            "the same with 0 iterations",
            as_precise(0),
            changed,
            ADDED,
        ),
    ]


def verdict(findings: Sequence[Finding]) -> str:
    """All hold: agrees. Some hold and some fail: mixed. Some fail, none holds: disagrees. Otherwise underpowered."""
    holds = [finding.holds for finding in findings]
    if False in holds:
        return MIXED if True in holds else DISAGREES
    return UNDERPOWERED if None in holds else AGREES
