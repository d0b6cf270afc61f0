"""Small runs for the tests of the interactive page: quick, with everything that the page can show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tesselite as tl
from tesselite.assessment.scenarios import assess_run
from tesselite.emitters.names import by_name
from tesselite.problems.user_function import FunctionProblem, Statement
from tesselite.runs.run import run
from tesselite.spaces.features import FeatureSpace

SCENARIOS = ("ice", "night")
EVIL = "<script>document.title='broken'</script>"


class Walk(FunctionProblem):
    """Straight walks from the middle of a square: solutions are (direction, length, colour)."""

    def elite_view(self, solutions: Any, scenario: str | None = None) -> dict[str, Any]:
        share = np.linspace(0.0, 1.0, 21)
        ends = ends_of(np.asarray(solutions), scenario)
        walls = np.zeros((50, 50), np.uint8)
        walls[0] = walls[-1] = walls[:, 0] = walls[:, -1] = 1
        return {
            "kind": "trajectory",
            "per_elite": ["points"],
            "points": 0.5 + (ends[:, None, :] - 0.5) * share[None, :, None],
            "bounds": [0.0, 1.0, 0.0, 1.0],
            "walls": walls,
            "start": [0.5, 0.5],
            "goal": [0.9, 0.9],
            "radius": 0.02,
            "every": 5,
        }


def ends_of(rows: Any, scenario: str | None) -> Any:
    """Where the walks end, (n, 2)."""
    length = rows[:, 1] * (0.25 if scenario == "ice" else 0.5)
    angle = 2 * np.pi * rows[:, 0]
    return 0.5 + length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def evaluate(rows: Any, scenario: str | None) -> Any:
    """Fitness and features of walks; some are invalid at night."""
    ends = ends_of(rows, scenario)
    fitness = np.hypot(*(ends - 0.9).T) + 0.1 * rows[:, 2]
    if scenario == "night":
        fitness[rows[:, 2] > 0.05] = np.nan
    return fitness, ends


def walk() -> Walk:
    """The problem; a spec `report_runs:walk` finds it."""
    features = FeatureSpace({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    return Walk(evaluate, Statement(tl.Box(3), features, direction="min", scenarios=SCENARIOS), batch=True, name="walk")


def named_walk() -> Walk:
    """The same, as it is found by name."""
    problem = walk()
    problem.spec = "report_runs:walk"
    return problem


def bowl(n: int, names: tuple[str, ...] | None = None) -> FunctionProblem:
    """A bowl whose n features are its n variables."""
    space = FeatureSpace(dict.fromkeys(names or tuple(f"f{i}" for i in range(n)), (0.0, 1.0)))
    return FunctionProblem(
        lambda rows: (1.0 - ((rows - 0.4) ** 2).mean(axis=1), rows),
        Statement(tl.Box(n), space),
        batch=True,
        name="bowl",
    )


def walk_run(folder: Path, *, seed: int = 1, n_niches: int = 150, evaluations: int = 3000) -> Path:
    """A finished and assessed run of `walk`."""
    problem = named_walk()
    run(problem, out=folder, n_niches=n_niches, evaluations=evaluations, initial=500, seed=seed)
    assess_run(folder, problem)
    return folder


def bowl_run(folder: Path, n: int, *, spec: str = "bowl", names: tuple[str, ...] | None = None, **options: Any) -> Path:
    """A finished run of `bowl`, which cannot be imported by name."""
    options = {"evaluations": 2000, "initial": 500, "seed": 1, "n_niches": 200, **options}
    problem = bowl(n, names)
    problem.spec = spec
    run(problem, out=folder, **options)
    return folder


def numbers_run(
    folder: Path, function: Any, features: FeatureSpace, width: int = 3, high: Any = 1.0, **options: Any
) -> Path:
    """A finished run of a function of rows in a box, the unit box by default, which cannot be imported by name."""
    problem = FunctionProblem(function, Statement(tl.Box(width, 0.0, high), features), batch=True, name=folder.name)
    options = {"evaluations": 600, "initial": 300, "seed": 1, "n_niches": 60, **options}
    problem.spec = folder.name
    run(problem, out=folder, **options)
    return folder


def odd_runs(folder: Path) -> list[Path]:
    """Runs with numbers and names that are hard to show."""
    two = FeatureSpace({"speed [m/s]": (0.0, 1.0), "height (cm)": (0.0, 1.0)})
    near = FeatureSpace({"a": (-1000.7, -1000.3), "b": (-1000.7, -1000.3)})
    log = FeatureSpace({"mass": (1e-3, 1e3), "x0": (0.0, 1.0), "x2": (1.0, 100.0)}, scales={"mass": "log", "x2": "log"})
    names = [f"{kind} of joint {j}" for j in range(12) for kind in ("amplitude", "phase", "duty factor")]
    joints = FeatureSpace(dict.fromkeys(names, (0.0, 1.0)))
    emitter = by_name("mixture:0.5@gaussian:0.5+0.5@iso_line:0.5,0.2")
    run(tl.problems.lp(n=6), out=folder / "unbounded", grid=8, evaluations=400, initial=200, emitter=emitter, seed=1)
    return [
        folder / "unbounded",
        numbers_run(folder / "near", lambda r: (-1000.3 - 0.4 * r[:, 2], -1000.3 - 0.4 * r[:, :2]), near),
        numbers_run(folder / "huge", lambda r: (1e300 * (r[:, 2] - 0.5), r[:, :2]), two),
        numbers_run(folder / "constant", lambda r: (np.full(len(r), 2.5), r[:, :2]), two, high=[1, 1, 1e3]),
        numbers_run(folder / "one", lambda r: (r[:, 1], r[:, :1]), FeatureSpace({"size": (0.0, 1.0)})),
        numbers_run(
            folder / "log",
            lambda r: (r.sum(axis=1), np.column_stack([10 ** (6 * r[:, 0] - 3), r[:, 1], 100 ** r[:, 2]])),
            log,
        ),
        numbers_run(
            folder / "joints", lambda r: (r.sum(axis=1), r * np.tile([0.2, 1.0, 0.5], 12)), joints, 36, n_niches=40
        ),
    ]
