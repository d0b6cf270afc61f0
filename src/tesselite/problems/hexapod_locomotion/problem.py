"""The hexapod as a problem: solutions, features, fitness, and the six damages as scenarios.

The physics live in `episode` and below. Problem: section V of the paper; what is the paper's, the released
experiment's or ours is listed in docs/hexapod.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import Evaluation
from tesselite.problems.hexapod_locomotion.controller import DURATION, LEVELS, N_JOINTS, N_VALUES
from tesselite.problems.hexapod_locomotion.episode import ENGINES, Engine, run_episodes
from tesselite.problems.hexapod_locomotion.motion import Motion, motion_of
from tesselite.problems.hexapod_locomotion.robot import LEGS, N_LEGS, Body
from tesselite.problems.hexapod_locomotion.robot import body as body_without
from tesselite.problems.problem import Problem
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box, Levels, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tesselite.archive.archive import Archive

_PARTS = ("amplitude", "phase", "duty cycle")
# Which of a joint's three values are features, for each descriptor of controller values.
_DESCRIPTORS: dict[str, tuple[int, ...]] = {
    "phase": (1,),
    "amplitude-phase": (0, 1),
    "controller": (0, 1, 2),
    "amplitude": (0,),
}
DESCRIPTORS: tuple[str, ...] = ("duty", *_DESCRIPTORS)

TRIPOD: npt.NDArray[np.float64] = np.array(
    [
        value
        for sweep, lift in zip((0, 0.5, 0, 0, 0.5, 0), (0.25, 0.75) * 3, strict=True)
        for value in (1, sweep, 0.5, 0.25, lift, 0.5)
    ]
)
TRIPOD.flags.writeable = False


class Hexapod(Problem):
    """Walk forward as far as possible in five seconds (fitness in metres; the paper's speed is that over 5 s).

    A solution holds 36 values on 21 levels from 0 to 1: for each leg, J1 (amplitude, phase, duty cycle), then J2. An
    episode is invalid if the body touches the floor, tilts over, jumps too high or never comes to rest. Scenarios
    "leg 0" to "leg 5" are the paper's damages: the same solutions on a robot without that leg.

    `released`: fitness to 0.01 m, and duty factors of every second step to 0.01, as the released experiment has them.
    `real`: solutions are any 36 values in [0, 1], for operators of real vectors; each acts as its nearest level.
    """

    direction = "max"
    floor = -2.5  # m; no gait is known that walks backward faster than 0.5 m/s
    scenarios = tuple(f"leg {leg}" for leg in range(N_LEGS))

    def __init__(
        self,
        descriptor: str = "duty",
        *,
        missing: Iterable[int] | int = (),
        engine: Engine = "kinematic",
        released: bool = False,
        real: bool = False,
    ) -> None:
        if descriptor not in DESCRIPTORS:
            raise ValueError(f"descriptor: expected one of {', '.join(DESCRIPTORS)}, got {descriptor!r}")
        if engine not in ENGINES:
            raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
        if not isinstance(released, bool):
            raise ValueError(f"released: expected True or False, got {released!r}")
        if engine == "dart":
            from tesselite.problems.hexapod_locomotion.dart import load_dartpy

            load_dartpy()  # a missing package shows now, not in the first evaluation
        self.name = f"hexapod:{descriptor}"
        self.descriptor = descriptor
        self.engine: Engine = engine
        self.deterministic = engine == "kinematic"  # the other keeps a robot from row to row
        self.released = released
        self.body = body_without(missing)
        if self.body.missing or engine != "kinematic":
            self.variant = f"missing {sorted(self.body.missing)}, engine {engine}"
        if released:
            self.variant += ", released"
        if not isinstance(real, bool):
            raise ValueError(f"real: expected True or False, got {real!r}")
        self.solutions: Box | Levels = Box(N_VALUES) if real else Levels(N_VALUES, LEVELS)
        if descriptor == "duty":
            self._columns = np.zeros(0, dtype=np.int64)
            names = [f"duty factor of leg {leg}" for leg in range(N_LEGS)]
        else:
            parts = _DESCRIPTORS[descriptor]
            self._columns = np.array([3 * joint + part for joint in range(N_JOINTS) for part in parts])
            names = [
                f"{_PARTS[part]} of leg {joint // 2} J{joint % 2 + 1}" for joint in range(N_JOINTS) for part in parts
            ]
        self.features = FeatureSpace(dict.fromkeys(names, (0.0, 1.0)))

    def _body(self, scenario: str | None) -> Body:
        if scenario is None:
            return self.body
        return body_without((*self.body.missing, self.scenarios.index(scenario)))

    def _on_levels(self, rows: Rows) -> Rows:
        """The rows that the robot acts on: of real values, their nearest levels."""
        return (
            rows if isinstance(self.solutions, Levels) else LEVELS[np.rint((len(LEVELS) - 1) * rows).astype(np.int64)]
        )

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Run the episode of each row, on the scenario's body; the same bits whatever the threads and the batch."""
        rows = self._on_levels(rows)
        episodes = run_episodes(rows, self._body(scenario), self.engine, threads)
        features, distances = rows[:, self._columns], episodes.distances
        if self.descriptor == "duty":
            features = episodes.released_duty_factors if self.released else episodes.duty_factors
        if self.released:
            distances = np.round(distances, 2)
        return Evaluation.of(distances, features, episodes.reasons())

    def draw(self, archive: Archive, folder: Path, kind: str) -> list[Path]:
        """Draw the best elite's gait and path, intact and under each damage; the file made (none for no elites)."""
        from tesselite.problems.hexapod_locomotion.gait_pictures import plot_walk

        best = archive.best
        if best is None:
            return []
        title = f"{self.name}: the best elite, {best.fitness / DURATION:.2f} m/s"
        return [plot_walk(self, best.solution, folder / f"best.{kind}", title)]

    def draw_scenario(self, ax: Axes, scenario: str | None) -> None:
        """Draw the robot from above, with the legs that it has there."""
        from tesselite.problems.hexapod_locomotion.gait_pictures import draw_body

        draw_body(ax, self._body(scenario).missing)

    def film(self, solution: Rows, scenario: str | None, file: Path, title: str) -> dict[str, Any]:
        """Film an episode; its distance in m, None if it is invalid."""
        from tesselite.problems.hexapod_locomotion.film import film

        motion = self.motion(solution, scenario)
        parts = [title, f"{scenario} missing" if scenario else "", "" if motion.reason else f"{motion.speed:.3f} m/s"]
        film(motion, file, title=", ".join(part for part in parts if part))
        return {"distance": None if motion.reason else motion.distance}

    def scenario_phrase(self, scenario: str) -> str:
        """The leg that is missing, and where it was."""
        return f"without {scenario} ({LEGS[self.scenarios.index(scenario)].place})"

    def elite_view(self, solutions: Rows, scenario: str | None = None) -> dict[str, Any]:
        """Gaits for the interactive page; see `page_view`."""
        from tesselite.problems.hexapod_locomotion.page_view import describe

        return describe(self, solutions, scenario)

    def motion(self, solution: Any, scenario: str | None = None) -> Motion:
        """The motion of one solution, step by step, in the training setting or in a scenario.

        ValueError if the solution is not one row of 36 levels or the scenario is unknown.
        """
        self.check_scenario(scenario)
        rows = self._on_levels(self.solutions.validate(solution))
        if len(rows) != 1:
            raise ValueError(f"solution: expected one row of {N_VALUES} values, got {len(rows)} rows")
        shape = self._body(scenario)
        return motion_of(run_episodes(rows, shape, self.engine, 1, record=True), 0, rows[0], shape)


def hexapod(
    descriptor: str = "duty",
    *,
    missing: Iterable[int] | int = (),
    engine: Engine = "kinematic",
    released: bool = False,
    real: bool = False,
) -> Hexapod:
    """The paper's hexapod with one of its descriptors.

    "duty": the six duty factors (6D). "phase": the phases of the 12 joints (12D; the paper's). "amplitude": their
    amplitudes (12D; what the released code takes). "amplitude-phase": both (24D). "controller": all 36 values.
    `missing`: legs that the robot walks without from the start. `engine`: "kinematic" (ours) or "dart" (the paper's;
    needs dartpy). `released`: round fitness and duty factors as the released experiment does. `real`: any
    values in [0, 1] are solutions, and act as their nearest levels. ValueError for anything else.
    """
    return Hexapod(descriptor, missing=missing, engine=engine, released=released, real=real)
