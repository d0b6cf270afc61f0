"""Problem and Evaluation: what is searched, and what an evaluated batch says.

A built-in problem subclasses `Problem`; a user's function becomes one through `tesselite.problem` (see
`function_problem`). What counts as invalid is decided here, once, whatever evaluated the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tesselite.feature_space import FeatureSpace
from tesselite.solution_space import Rows, SolutionSpace

Direction = Literal["max", "min"]

TRAINING = "training"  # what the setting of the search is called beside the scenarios
FITNESS_NOT_FINITE = "fitness is NaN or infinite"
FEATURES_NOT_FINITE = "a feature is NaN or infinite"
RAISED = "exception: "  # and the name of what a user's function raised


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating n solutions.

    `fitness` (n,), `features` (n, d) in feature units, `valid` (n,). An invalid row never enters an archive;
    `reasons` maps its index to why. Its fitness and features are NaN. `first_error` is the traceback of the first
    exception in a user's function, or empty.
    """

    fitness: npt.NDArray[np.float64]
    features: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]
    reasons: dict[int, str] = field(default_factory=dict)
    first_error: str = ""

    @classmethod
    def of(
        cls, fitness: Any, features: Any, reasons: dict[int, str] | None = None, first_error: str = ""
    ) -> Evaluation:
        """An evaluation in which the rows named in `reasons`, and all that are not finite, are invalid."""
        fitness = np.array(fitness, dtype=np.float64, order="C")
        features = np.array(features, dtype=np.float64, order="C")
        good_fitness, good_features = np.isfinite(fitness), np.isfinite(features)
        if not reasons and good_fitness.all() and good_features.all():  # as nearly always
            return cls(fitness, features, good_fitness, {}, first_error)
        reasons = dict(reasons or {})
        valid = good_fitness & good_features.all(axis=1)
        for i in np.flatnonzero(~valid).tolist():
            reasons.setdefault(i, FEATURES_NOT_FINITE if good_fitness[i] else FITNESS_NOT_FINITE)
        if reasons:
            valid[list(reasons)] = False
            fitness[~valid] = np.nan
            features[~valid] = np.nan
        return cls(fitness, features, valid, reasons, first_error)

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """The evaluations of consecutive rows as one; of at least one part."""
        reasons, start = {}, 0
        for part in parts:
            reasons.update({start + i: reason for i, reason in part.reasons.items()})
            start += len(part)
        return cls(
            np.concatenate([part.fitness for part in parts]),
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.valid for part in parts]),
            reasons,
            next((part.first_error for part in parts if part.first_error), ""),
        )

    def __len__(self) -> int:
        return len(self.fitness)

    def count_reasons(self) -> Counter[str]:
        """How many rows are invalid for each reason."""
        return Counter(self.reasons.values())


class Problem(ABC):
    """Solutions that have a fitness and features, and how to evaluate a batch of them.

    `direction` says whether a higher ("max") or a lower ("min") fitness is better. `floor` is the worst fitness that
    counts: the QD score sums by how much elites are better than it. `scenarios` are held-out settings in which an
    archive can be assessed after the search. `spec` is the text by which `tesselite.problems.by_name` finds it in any
    process, if there is one. `variant` tells it from others of the same name and spaces (a robot that lacks a leg),
    so that no run is continued with another one; empty for the usual one.
    """

    name: str
    spec: str | None = None
    variant: str = ""
    solutions: SolutionSpace
    features: FeatureSpace
    direction: Direction = "max"
    floor: float | None = None
    scenarios: tuple[str, ...] = ()

    def evaluate(self, solutions: Any, scenario: str | None = None, threads: int | None = None) -> Evaluation:
        """Evaluate one row or (n, width) rows, in the training setting or in a named scenario.

        Raises ValueError if a solution is not of `self.solutions` or the scenario is unknown. A row whose evaluation
        fails is invalid in the result; it raises nothing.
        """
        if scenario is not None and scenario not in self.scenarios:
            known = ", ".join(repr(s) for s in self.scenarios) or "none"
            raise ValueError(f"scenario: {self.name} has no scenario {scenario!r}; it has {known}")
        return self.evaluate_rows(self.solutions.validate(solutions), scenario, threads)

    @abstractmethod
    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Evaluate rows that are known to be of `self.solutions`; what the search calls."""

    def draw(self, archive: Any, folder: Path, kind: str) -> list[Path]:
        """Draw what is special about this problem's archive into files of this kind ("png", ...); the files made."""
        return []

    def elite_view(self, solutions: Rows, scenario: str | None = None) -> dict[str, Any]:
        """What the interactive page draws of these elites, (m, width); empty if it shows the rows as they are.

        "kind" names the drawing: "posture", "trajectory" or "gait" (see docs/report.md for what each needs).
        "per_elite" lists the entries that are arrays with a row for each elite; other entries hold for all of them.
        "step" maps such an entry to the precision in which it is kept: a 4000th of its range is the finest.
        """
        return {}

    def __repr__(self) -> str:
        return f"<{self.name}: {self.solutions!r} -> {self.features!r}, {self.direction}>"
