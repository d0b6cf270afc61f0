"""Comparison: groups of trials (an algorithm with a descriptor each) side by side, as numbers and tables.

Figures of a comparison are drawn in `tesselite.report.comparison_figures`. Definitions: Vassiliades et al. (2018),
section III; the tests and effect sizes are in `statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tesselite.archive.evaluation import Direction
from tesselite.archive.figures import worst
from tesselite.assessment.expected_quality import ExpectedQuality, shares_of_histogram
from tesselite.assessment.statistics import LEVEL, corrected_tests, median, quantile, summarise
from tesselite.assessment.tables import Table, shown
from tesselite.assessment.trial import Trial
from tesselite.base.arrays import Floats
from tesselite.problems.problem import TRAINING


@dataclass(frozen=True)
class Group:
    """Runs of one algorithm-descriptor pair. A `family` shares a colour; `ours` marks what the paper does not have."""

    name: str
    label: str
    trials: tuple[Trial, ...]
    family: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Measure:
    """One number per run: `kind` is coverage, filled, spread, qd_score, found, best or share.

    "found" is the best fitness in the whole archive, "best" that among the elites that were assessed (the same unless
    there were more than 10,000).
    "best" and "share" (of solutions that reach the level `x`) refer to a `setting`, or, where it is None, to the median
    over all scenarios, or their mean with `average`. `pooled` takes every scenario of every run as an observation of
    its own, as the paper does.
    """

    kind: str
    label: str
    setting: str | None = None
    x: float = 0.0
    pooled: bool = False
    average: bool = False


_IN_FITNESS = ("best_fitness", "mean_fitness", "qd_score")  # metrics in the unit of fitness
_RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A number over `n` runs with its 95 % bootstrap interval; a single run has none."""

    value: float
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True)
class Comparison:
    """Groups that share direction, settings and levels. Fitness times `scale` is what `fitness_name` names.

    `on` follows the names of figures that were counted in common niches, `note` says why; empty for runs' own niches.
    """

    groups: tuple[Group, ...]
    fitness_name: str = "fitness"
    scale: float = 1.0
    training_name: str = TRAINING
    note: str = ""
    on: str = ""

    def __post_init__(self) -> None:
        trials = [trial for group in self.groups for trial in group.trials]
        if not trials:
            raise ValueError("groups: expected at least one trial")
        if not all(group.trials for group in self.groups):
            raise ValueError("groups: expected at least one trial in each")
        first = trials[0]
        for other in trials[1:]:
            if (other.direction, tuple(other.best), other.levels) != (first.direction, tuple(first.best), first.levels):
                raise ValueError(
                    f"trials: expected the same direction, settings and levels in all, but {other.group} "
                    f"trial {other.number} differs from {first.group} trial {first.number}"
                )

    @property
    def direction(self) -> Direction:
        """Whether higher or lower fitness is better."""
        return self.groups[0].trials[0].direction

    @property
    def settings(self) -> tuple[str, ...]:
        """Training and the scenarios."""
        return tuple(self.groups[0].trials[0].best)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios; training where a problem has none."""
        return self.settings[1:] or self.settings

    @property
    def levels(self) -> Floats:
        """The fitness levels of the expected quality, in shown units."""
        return np.array(self.groups[0].trials[0].levels) * self.scale

    def group(self, name: str) -> Group:
        """The group of this name."""
        for group in self.groups:
            if group.name == name:
                return group
        raise ValueError(f"group: expected one of {', '.join(group.name for group in self.groups)}, got {name!r}")

    def bests(self, group: Group, setting: str) -> Floats:
        """Best fitness of each run in a setting; infinitely bad if no solution is valid."""
        bests = [trial.best[setting] for trial in group.trials]
        return np.array([worst(self.direction) if best is None else best * self.scale for best in bests])

    def expected_best(self, group: Group, setting: str) -> float:
        """Expected best performance: the median over runs."""
        return median(self.bests(group, setting))

    def quality(self, group: Group, settings: Sequence[str] | None = None) -> ExpectedQuality:
        """Expected quality over runs x settings, the scenarios by default."""
        chosen = self.scenarios if settings is None else tuple(settings)
        shares = [
            shares_of_histogram(trial.histograms[name], trial.assessed, self.direction)
            for trial in group.trials
            for name in chosen
        ]
        return ExpectedQuality(self.direction, self.levels, np.array(shares))

    def values(self, group: Group, measure: Measure) -> Floats:
        """The observations of a measure: one for each run, or for each run and scenario if pooled."""
        table = self._by_run(group, measure)
        if measure.pooled:
            return table.reshape(-1)
        return table.mean(axis=1) if measure.average else np.array([median(row) for row in table])

    def estimate(self, group: Group, measure: Measure) -> Estimate:
        """What the paper reports of a measure, with an interval from resampling whole runs.

        That is the median over runs; over runs x scenarios if pooled; if averaged, the mean over scenarios of the
        median over runs. ValueError if no run has a value.
        """

        def reported(table: Floats) -> Floats:
            """Of tables (..., runs, scenarios)."""
            if measure.average:
                return np.median(table, axis=-2).mean(axis=-1)
            return np.median(table if measure.pooled else np.median(table, axis=-1, keepdims=True), axis=(-2, -1))

        table = self._by_run(group, measure)
        n = len(table)
        if not n:
            raise ValueError(f"{group.name}: no run has a value of {measure.label or measure.kind}")
        drawn = reported(table[np.random.default_rng(0).integers(0, n, (_RESAMPLES, n))])
        low, high = (quantile(drawn, q) for q in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2))
        return Estimate(float(reported(table)), (low, high) if n > 1 else None, n)

    def _by_run(self, group: Group, measure: Measure) -> Floats:
        """Shape (runs, scenarios), or (runs, 1) for measures of a whole archive; runs without a value are left out."""
        if measure.kind in ("found", "coverage", "filled", "spread", "qd_score"):
            name = "best_fitness" if measure.kind == "found" else measure.kind
            scale = self.scale if name in _IN_FITNESS else 1.0
            found = [getattr(trial.metrics, name) for trial in group.trials]
            return np.array([[float(value) * scale] for value in found if value is not None]).reshape(-1, 1)
        chosen = self.scenarios if measure.setting is None else (measure.setting,)
        if measure.kind == "best":
            return np.array([self.bests(group, name) for name in chosen]).T
        if measure.kind == "share":
            return self.quality(group, chosen).column(measure.x).reshape(len(group.trials), len(chosen))
        raise ValueError(
            f"kind: expected coverage, filled, spread, qd_score, found, best or share, got {measure.kind!r}"
        )

    # -- tables ------------------------------------------------------------------------------------------------------

    def metrics_table(self, queries: Sequence[Measure] = ()) -> Table:
        """Median [quartiles] over runs of each metric and each query."""
        measures = [
            Measure("filled", f"filled niches{self.on}"),
            Measure("coverage", f"coverage{self.on}"),
            Measure("spread", "spread"),
            Measure("qd_score", f"QD score{self.on}"),
            Measure("found", f"best found, {self.training_name}"),
            Measure("best", f"best assessed, {self.training_name}", TRAINING),
            *([Measure("best", "best assessed, median scenario")] if len(self.settings) > 1 else []),
            *queries,
        ]
        measures = [m for m in measures if any(len(self.values(group, m)) for group in self.groups)]
        rows = [
            [group.label, len(group.trials), *(self._cell(group, measure) for measure in measures)]
            for group in self.groups
        ]
        return Table(["pair", "runs", *(m.label for m in measures)], rows)

    def _cell(self, group: Group, measure: Measure) -> str | None:
        values = self.values(group, measure)
        if not len(values):
            return None
        found = summarise(values, resamples=1)
        return f"{shown(found.median)} [{shown(found.lower)}, {shown(found.upper)}]"

    def best_table(self) -> Table:
        """Expected best performance in each setting, one column per group: median [quartiles] over runs."""
        rows = []
        for name in self.settings:
            measure = Measure("best", name, name)
            shown_name = self.training_name if name == TRAINING else name
            rows.append([shown_name, *(self._cell(group, measure) for group in self.groups)])
        return Table(["setting", *(group.label for group in self.groups)], rows)

    def data_table(self, queries: Sequence[Measure] = ()) -> Table:
        """A row for each run, in full precision, for other tools."""
        names = ("filled", "n_niches", "coverage", "qd_score", "spread", "mean_fitness")
        columns = ["pair", "trial", "seed", *names, "best found", "assessed", *(f"best {s}" for s in self.settings)]
        rows = []
        for group in self.groups:
            shares = [self.values(group, measure) for measure in queries]
            for i, trial in enumerate(group.trials):
                best = [None if trial.best[s] is None else self.bests(group, s)[i].item() for s in self.settings]
                found = trial.metrics.best_fitness
                figures = [getattr(trial.metrics, name) for name in names]
                figures = [
                    value * self.scale if name in _IN_FITNESS and value is not None else value
                    for name, value in zip(names, figures, strict=True)
                ]
                figures.append(None if found is None else found * self.scale)
                rows.append(
                    [group.name, trial.number, trial.seed, *figures, trial.assessed, *best, *(s[i] for s in shares)]
                )
        return Table([*columns, *(measure.label for measure in queries)], rows)

    def quality_table(self) -> Table:
        """The median shares at every level: for each group over training and over the scenarios."""
        columns, series = ["level"], []
        for group in self.groups:
            series.append(self.quality(group, [TRAINING]).median)
            columns.append(f"{group.label}, {self.training_name}")
            if len(self.settings) > 1:
                series.append(self.quality(group).median)
                columns.append(f"{group.label}, scenarios")
        table = np.column_stack([self.levels, *series])
        return Table(columns, [[float(cell) for cell in row] for row in table])

    def tests_table(self, contrasts: Sequence[tuple[str, str]], measures: Sequence[Measure]) -> Table:
        """Mann-Whitney tests of pairs of groups, with A12 and bootstrap intervals; p over runs corrected by Holm.

        `contrasts` are pairs of group names. A12 is the chance that a run of the first exceeds one of the second. Rows
        of pooled measures have no corrected p and do not count for that of the others: scenarios of a run are not
        independent runs.
        """
        tested: list[tuple[Measure, Group, Group]] = []
        for one, other in contrasts:
            a, b = self.group(one), self.group(other)
            for measure in measures:
                first, second = self.values(a, measure), self.values(b, measure)
                if not len(first) or not len(second) or self._is_found(measure, measures, a, b):
                    continue
                tested.append((measure, a, b))
        samples = [(self.values(a, measure), self.values(b, measure)) for measure, a, b in tested]
        tests = corrected_tests(samples, [not measure.pooled for measure, _, _ in tested])
        rows = []
        for (measure, a, b), (first, second), (found, p_holm) in zip(tested, samples, tests, strict=True):
            left, right = summarise(first), summarise(second)
            medians = [left.median, *left.interval, right.median, *right.interval]
            about = [measure.label, a.label, b.label, found.n, found.m]
            rows.append([*about, *medians, found.u, found.p, found.a12, p_holm])
        columns = ["measure", "first", "second", "n", "m"]
        for which in ("first", "second"):
            columns += [f"median of {which}", f"{which}, 95 % from", f"{which}, to"]
        return Table([*columns, "U", "p", "A12", "p (Holm)"], rows)

    def _is_found(self, measure: Measure, measures: Sequence[Measure], *groups: Group) -> bool:
        """Whether this is the best assessed in training, the best found is measured too, and they are the same."""
        found = next((m for m in measures if m.kind == "found"), None)
        if found is None or measure.kind != "best" or measure.setting != TRAINING:
            return False
        return all(np.array_equal(self.values(group, measure), self.values(group, found)) for group in groups)
