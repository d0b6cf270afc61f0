"""What the paper's claims are decided by: medians and tests over the trials of a study, and rules that several share.

Medians over runs are compared, as in the paper; where it speaks of significance, a two-sided Mann-Whitney test over
runs at 0.05 decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tesselite.assessment.comparison import Comparison, Measure
from tesselite.assessment.statistics import mann_whitney, median
from tesselite.assessment.tables import shown
from tesselite.problems.problem import TRAINING

SIGNIFICANT = 0.05
_RUNS_TO_TEST = 4  # a Mann-Whitney test of three runs against three cannot go below p = 0.1, of four not below 0.028
TRAINED, HELD_OUT = Measure("best", "", TRAINING), Measure("best", "")


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

    def best_of_all(self, pairs: Sequence[str], setting: str) -> float:
        """Median over the runs of all these pairs of the best performance in a setting."""
        return median(np.concatenate([self.comparison.bests(self.groups[pair], setting) for pair in pairs]))

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
        groups = [self.groups[name] for name in (first, second)]
        if min(len(group.trials) for group in groups) < _RUNS_TO_TEST:
            raise ValueError(f"{first}, {second}: expected at least {_RUNS_TO_TEST} runs of each")
        return mann_whitney(*(self.comparison.values(group, measure) for group in groups)).p


Verdict = tuple[bool, str]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the rule that decides it: (holds, the figures it rests on)."""

    text: str
    place: str
    rule: Callable[[Facts], Verdict]


def listed(names: Sequence[str], values: Sequence[float]) -> str:
    """Names with their values, as the figures of a claim."""
    return ", ".join(f"{name} {shown(value)}" for name, value in zip(names, values, strict=True))


def falls(facts: Facts, names: Sequence[str], value: Callable[[str], float], factor: float = 1.0) -> Verdict:
    """Each value is below the one before it, and below `factor` times it."""
    values = [value(name) for name in names]
    return all(factor * a > b for a, b in pairwise(values)), listed(names, values)


def never_rises(names: Sequence[str], value: Callable[[Facts, str], float]) -> Callable[[Facts], Verdict]:
    """No value is above the one before it, and the last is below the first."""

    def rule(facts: Facts) -> Verdict:
        values = [value(facts, name) for name in names]
        return all(a >= b for a, b in pairwise(values)) and values[-1] < values[0], listed(names, values)

    return rule


def higher(
    pairs: Sequence[tuple[str, str]], value: Callable[[Facts, str], float], or_equal: bool = False
) -> Callable[[Facts], Verdict]:
    """In each pair the second is higher than the first, or, if told so, as high."""

    def rule(facts: Facts) -> Verdict:
        both = [(value(facts, a), value(facts, b)) for a, b in pairs]
        told = ", ".join(f"{a} {shown(x)} / {b} {shown(y)}" for (a, b), (x, y) in zip(pairs, both, strict=True))
        return all(y > x or (or_equal and y == x) for x, y in both), told

    return rule


def significantly(
    pairs: Sequence[tuple[str, str]], measures: Sequence[Measure], holds: Callable[[bool], bool] = bool
) -> Callable[[Facts], Verdict]:
    """In each pair the median of the second is significantly higher; `holds` turns that into what is claimed."""

    def rule(facts: Facts) -> Verdict:
        verdicts, told = [], []
        for first, second in pairs:
            for measure in measures:
                x, y, p = facts.of(measure, first), facts.of(measure, second), facts.p(first, second, measure)
                verdicts.append(holds(y > x and p < SIGNIFICANT))
                told.append(f"{first} {shown(x)} / {second} {shown(y)}, p = {shown(p)}")
        return all(verdicts), "; ".join(told)

    return rule


def not_significantly(pairs: Sequence[tuple[str, str]], measures: Sequence[Measure]) -> Callable[[Facts], Verdict]:
    """In no pair is the median of the second significantly higher."""
    return significantly(pairs, measures, lambda higher: not higher)


def alike(names: Sequence[str], within: float, value: Callable[[Facts, str], float]) -> Callable[[Facts], Verdict]:
    """No two differ by more than `within`."""

    def rule(facts: Facts) -> Verdict:
        values = [value(facts, name) for name in names]
        apart = max(values) - min(values)
        return apart <= within, f"{listed(names, values)}; {shown(apart)} apart"

    return rule


def same(pairs: Sequence[tuple[str, str]], measure: Measure) -> Callable[[Facts], Verdict]:
    """No significant difference in any of the pairs."""

    def rule(facts: Facts) -> Verdict:
        values = [facts.p(a, b, measure) for a, b in pairs]
        return min(values) > SIGNIFICANT, listed([f"{a} / {b}: p =" for a, b in pairs], values)

    return rule
