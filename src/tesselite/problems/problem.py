"""Problem: what is searched.

A built-in problem subclasses `Problem`; a user's function becomes one through `tesselite.problem` (see
`user_function`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import Direction, Evaluation, checked
from tesselite.base.seeds import evaluation_seeds
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.records import NO_RECORDS, Records
from tesselite.spaces.solutions import Rows, SolutionSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tesselite.archive.archive import Archive

Seeds = npt.NDArray[np.int64]

DrawScenario = Callable[["Axes", str | None], object]
"""(axes, scenario)"""

Film = Callable[[Rows, str | None, Path, str], dict[str, Any]]
"""(solution, scenario, file, title)"""

TRAINING = "training"  # the name of the search's own setting, beside those of scenarios


class Problem(ABC):
    """Solutions that have a fitness and features, and how to evaluate a batch of them.

    `direction` says whether a higher ("max") or a lower ("min") fitness is better. `floor` is the worst fitness that
    counts: the QD score sums how much better than it the elites are. `scenarios` are held-out settings in which an
    archive can be assessed after the search. `spec` is the text by which `tesselite.problems.by_name` finds it in any
    process, if there is one. `variant` distinguishes it from others with the same name and spaces (a robot without a
    leg), so that no run is continued with the wrong one; empty by default. If `y_down` is True, the second of two
    features grows downwards in pictures, as on a screen. `records` are what an evaluation returns besides fitness and
    features, stored with each elite. A problem that is `seeded` is evaluated by `evaluate_seeded`. Where a problem is
    `deterministic`, to the last bit, copies of elites are not evaluated again (unless it has seeds or records).
    """

    name: str
    spec: str | None = None
    variant: str = ""
    solutions: SolutionSpace
    features: FeatureSpace
    direction: Direction = "max"
    floor: float | None = None
    scenarios: tuple[str, ...] = ()
    y_down: bool = False
    records: Records = NO_RECORDS
    seeded: bool = False
    deterministic: bool = False

    def evaluate(
        self,
        solutions: npt.ArrayLike,
        scenario: str | None = None,
        threads: int | None = None,
        *,
        seeds: npt.ArrayLike | None = None,
    ) -> Evaluation:
        """Evaluate one row or (n, width) rows, in the training setting or in a named scenario.

        `seeds` (n,) are for a function that takes one (`tesselite.evaluation_seeds` gives those of a run); by default
        they are derived from the rows.

        Raises ValueError if a solution is not of `self.solutions` or the scenario is unknown. A row whose evaluation
        fails is invalid in the result and does not raise.
        """
        self.check_scenario(scenario)
        rows = self.solutions.validate(solutions)
        if seeds is not None:
            seeds = np.asarray(seeds)
            if not self.seeded:
                raise ValueError(f"seeds: expected none, since {self.name} takes no seed")
            if seeds.shape != (len(rows),) or seeds.dtype.kind not in "iu":
                raise ValueError(f"seeds: expected whole numbers ({len(rows)},), got {seeds.shape} of {seeds.dtype}")
        return self.evaluate_checked(rows, scenario, threads, seeds)

    def check_scenario(self, scenario: str | None) -> None:
        """ValueError unless this is one of the scenarios, or None."""
        if scenario is not None and scenario not in self.scenarios:
            known = ", ".join(repr(s) for s in self.scenarios) or "none"
            raise ValueError(f"scenario: {self.name} has no scenario {scenario!r}; it has {known}")

    def evaluate_checked(
        self, rows: Rows, scenario: str | None, threads: int | None, seeds: Seeds | None = None
    ) -> Evaluation:
        """`evaluate_rows`, with its result checked: ValueError if it does not fit these rows."""
        return checked(self.evaluate_seeded(rows, scenario, threads, seeds), len(rows), self.features.n)

    def seeds_in(self, seed: int, numbers: npt.ArrayLike) -> Seeds | None:
        """The seeds of these evaluations of a run with this seed; None if the problem takes none."""
        return evaluation_seeds(seed, numbers) if self.seeded else None

    def evaluate_seeded(self, rows: Rows, scenario: str | None, threads: int | None, seeds: Seeds | None) -> Evaluation:
        """`evaluate_rows` with a seed for each row, (n,), if the problem is `seeded`; without some, by the rows."""
        return self.evaluate_rows(rows, scenario, threads)

    @abstractmethod
    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Evaluate rows that are known to be of `self.solutions`; what the search calls."""

    def hint(self, reasons: Mapping[str, int]) -> str:
        """Advice for a user whose evaluations were all invalid for these reasons; empty if there is none."""
        return ""

    draw_scenario: DrawScenario | None = None
    """Draw a setting, a scenario or training (None), into small axes without ticks; None if the problem cannot."""

    film: Film | None = None
    """Film one solution in a scenario or in training (None) into a file; returns facts about it, for JSON."""

    def draw(self, archive: Archive, folder: Path, kind: str) -> list[Path]:
        """Draw this problem's own pictures of an archive into files of this kind ("png", ...); the files made."""
        return []

    def scenario_phrase(self, scenario: str) -> str:
        """How the page words a scenario, as in "fitness in ice" or "fitness without leg 3 (front right)"."""
        return f"in {scenario}"

    def elite_view(self, solutions: Rows, scenario: str | None = None) -> dict[str, Any]:
        """What the interactive page draws of these elites, (m, width); empty to show the values as bars.

        "kind" names the drawing: "posture", "trajectory", or one of your own that the JavaScript in "script" draws (see
        docs/report.md). "per_elite" lists the entries that are arrays with a row for each elite; other entries hold for
        all of them.
        "step" maps such an entry to the precision in which it is kept: a 4000th of its range is the finest.
        """
        return {}

    def __repr__(self) -> str:
        return f"<{self.name}: {self.solutions!r} -> {self.features!r}, {self.direction}>"


def checked_problem(problem: object) -> Problem:
    """The problem itself; ValueError if it is something else."""
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem: expected a problem, got {problem!r:.80}; decorate your function with @tesselite.problem, or "
            "take a built-in one, such as tesselite.problems.arm(10)"
        )
    return problem
