"""The study of feature spaces with unknown bounds: niches with known bounds, and all methods that find them.

    OUT/trials/TASK/ALGORITHM-000.json   the summary of a trial; the same command runs missing ones

Tables, figure and report of the trials are written by `unbounded_report`. The paper raises the question (section VI)
without studying it. Archives are compared on a tessellation that is common to a task, since their own niches differ,
and by the best of their solutions in the scenarios of the problem. Budgets are small; `--evaluations` sets others.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tesselite import __version__
from tesselite.archive.evaluation import Evaluation
from tesselite.assessment.metrics import project
from tesselite.assessment.scenarios import assess
from tesselite.base.arrays import Floats
from tesselite.base.atomic import write_atomically
from tesselite.paper.maze import PAPER as MAZE
from tesselite.problems import by_name
from tesselite.problems.problem import TRAINING, Problem
from tesselite.runs.run import run
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box, Rows
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.growing import adaptive, cluster_elites, expanding
from tesselite.tessellation.population import dns, nslc, rts
from tesselite.tessellation.protocol import Tessellation

TRIALS = 3
TRUE = "true-bounds"
LABELS = {
    TRUE: "CVT, true bounds",
    "uniform": "CVT, true bounds, uniform samples",
    "too-wide": "CVT, bounds 10 times too wide",
    "expanding": "expanding",
    "adaptive": "adaptive",
    "cluster-elites": "Cluster-Elites",
    "nslc": "NSLC",
    "rts": "RTS",
    "dns": "DNS",
    "grid": "grid, true bounds",
}
_FIRST, _ADD, _GENERATION = 50, 5, 200  # published for Cluster-Elites on the maze


class Rescaled(Problem):
    """A problem whose features are scaled and moved, or that declares other bounds than it has."""

    def __init__(self, inner: Problem, features: FeatureSpace, scale: float = 1.0, offset: float = 0.0) -> None:
        self.inner, self.features, self.scale, self.offset = inner, features, scale, offset
        self.name, self.solutions = inner.name, inner.solutions
        self.direction, self.floor = inner.direction, inner.floor

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """As the inner one, with its features moved."""
        found = self.inner.evaluate_rows(rows, scenario, threads)
        return Evaluation.of(found.fitness, found.features * self.scale + self.offset, found.reasons)


class Ring(Problem):
    """Features on a thin ring: of eight values, the mean of four is the angle, that of the others the radius."""

    name = "ring"
    floor = 0.0

    def __init__(self) -> None:
        self.solutions = Box(8, 0.0, 1.0)
        self.features = FeatureSpace({"x": (-1.1, 1.1), "y": (-1.1, 1.1)})

    def evaluate_rows(self, rows: Rows, scenario: str | None, threads: int | None) -> Evaluation:
        """Fitness is 1 minus the variance of the values."""
        angle, radius = rows[:, :4].mean(axis=1), rows[:, 4:].mean(axis=1)
        return Evaluation.of(1.0 - rows.var(axis=1), _on_ring(angle, radius))


def _on_ring(angle: Floats, radius: Floats) -> Floats:
    """Features (n, 2) of angles and radii in [0, 1]."""
    r = 1.0 + 0.02 * (radius - 0.5)
    return np.column_stack([r * np.cos(2.0 * np.pi * angle), r * np.sin(2.0 * np.pi * angle)])


def _moved_arm() -> Problem:
    arm = by_name("arm:10")
    space = arm.features.within(arm.features.low * 300.0 + 5000.0, arm.features.high * 300.0 + 5000.0)
    return Rescaled(arm, space, 300.0, 5000.0)


@dataclass(frozen=True)
class Task:
    """A problem with true bounds, a number of niches, a budget, and the cells of a grid, where one makes sense.

    A scenario counts as solved if the best fitness in it is below `solved`.
    """

    name: str
    title: str
    problem: Callable[[], Problem]
    n_niches: int
    evaluations: int
    cells: int | None = None
    initial: int = 1000
    solved: float | None = None
    n_samples: int | None = None  # of fixed CVTs; None: the default

    def common(self) -> Tessellation:
        """The niches on which archives are compared; they are not those of any algorithm."""
        problem = self.problem()
        samples = None
        if isinstance(problem, Ring):  # the niches that can be reached
            rng = np.random.default_rng(1)
            samples = _on_ring(rng.random(40 * self.n_niches), rng.random(40 * self.n_niches))
        n = None if samples is not None else 20 * self.n_niches
        return cvt(problem.features, self.n_niches, n, seed=1, samples=samples, method="lloyd", start="random",
                   iterations=20)  # fmt: skip


def _maze(
    name: str, title: str, n_niches: int, evaluations: int, cells: int | None, n_samples: int | None = None
) -> Task:
    return Task(
        name,
        title,
        lambda: by_name(":".join(name.split("-")[:2])),
        n_niches,
        evaluations,
        cells,
        initial=MAZE.initial,
        solved=MAZE.solved,
        n_samples=n_samples,
    )


TASKS = (
    Task("arm", "Arm of 10 joints, features scaled and moved", _moved_arm, 1000, 50_000, 32),
    Task("ring", "A thin ring in the plane", Ring, 500, 20_000, 22),
    _maze("maze-2d", "Maze, 2D", 200, 6000, 14),
    _maze("maze-20d", "Maze, 20D", 200, 6000, 2),
    _maze("maze-20d-larger", "Maze, 20D, larger budget", 1000, 40_000, 2),
    _maze("maze-1000d", "Maze, 1000D", 200, 6000, None, 2000),
    Task("hexapod-6d", "Hexapod, 6D", lambda: by_name("hexapod:duty"), 500, 20_000, 3, initial=2000),
    _maze("maze-2d-published", "Maze, 2D, published budget", MAZE.n_niches, MAZE.evaluations, MAZE.grid["2d"]),
)


def _with_bounds(problem: Problem, space: FeatureSpace) -> Problem:
    """The same problem, with these declared bounds."""
    if isinstance(problem, Rescaled):
        return Rescaled(problem.inner, space, problem.scale, problem.offset)
    return Rescaled(problem, space)


def algorithms(task: Task, evaluations: int) -> dict[str, tuple[Problem, dict[str, Any]]]:
    """The problem and the niches of each algorithm, by its name.

    Populations without niches do not know bounds either; all features of a task have the same units. Where a problem
    samples its features by a model of its own (the maze: by random walks), a CVT with the true bounds uses it, and
    there is one of uniform samples, too.
    """
    problem, k = task.problem(), task.n_niches
    space, every = problem.features, max(200, evaluations // 100)
    reach = 4.5 * (space.high - space.low)
    wide = _with_bounds(problem, space.within(space.low - reach, space.high + reach))
    hidden = _with_bounds(problem, FeatureSpace(dict.fromkeys(space.names)))
    generations = max(1, evaluations // _GENERATION - 1)
    first = min(_FIRST, k)
    add = max(_ADD, -(-(k - first) // generations))
    fixed = {"n_niches": k, "n_samples": task.n_samples, "method": None if task.n_samples is None else "lloyd"}
    found: dict[str, tuple[Problem, dict[str, Any]]] = {
        TRUE: (problem, fixed),
        "too-wide": (wide, fixed),
        "expanding": (hidden, {"tessellation": expanding(k, every=every)}),
        "adaptive": (hidden, {"tessellation": adaptive(k, every=every)}),
        "cluster-elites": (hidden, {"tessellation": cluster_elites(k, first=first, add=add, every=_GENERATION)}),
        "nslc": (hidden, {"tessellation": nslc(k)}),
        "rts": (hidden, {"tessellation": rts(k)}),
        "dns": (hidden, {"tessellation": dns(k)}),
    }
    if not space.uniform:
        found["uniform"] = (_with_bounds(problem, space.within(space.low, space.high)), fixed)
    if task.cells is not None:
        found["grid"] = (problem, {"grid": task.cells})
    return found


def run_trial(task: Task, algorithm: str, number: int, evaluations: int, common: Tessellation) -> dict[str, Any]:
    """Run a trial and return its results: on the common niches, and in the scenarios of the problem.

    The number of solutions tried in scenarios is that of niches, drawn at random if an archive has more.
    """
    problem, niches = algorithms(task, evaluations)[algorithm]
    seed = int.from_bytes(hashlib.sha256(f"unbounded/{task.name}/{number}".encode()).digest()[:4], "big")
    began = time.process_time()
    ended = run(problem, **niches, evaluations=evaluations, initial=min(task.initial, evaluations), seed=seed,
                threads=1, progress=False)  # fmt: skip
    seconds = time.process_time() - began
    shown, true = project(ended.archive, common), task.problem()
    assessed = assess(ended.archive, true, at_most=task.n_niches, threads=1) if true.scenarios else None
    return {
        "task": task.name,
        "algorithm": algorithm,
        "trial": number,
        "niches": ended.plan.niches.label,
        "evaluations": evaluations,
        "n_niches": task.n_niches,
        "kept": len(ended.archive),
        "changes": len(ended.search.changes),
        "lost": sum(change.lost for change in ended.search.changes),
        "coverage": shown.coverage,
        "qd_score": shown.qd_score,
        "best_fitness": shown.best_fitness,
        "scenarios": {} if assessed is None else {s: assessed.best(s) for s in assessed.settings if s != TRAINING},
        "seconds": seconds,
        "version": __version__,
    }


def chosen(names: Sequence[str] | None) -> list[tuple[Task, list[str]]]:
    """The tasks with their algorithms that names such as "ring" and "maze-2d/dns" choose; all by default."""
    wanted: dict[str, list[str]] = {}
    known = {task.name: (task, list(algorithms(task, task.evaluations))) for task in TASKS}
    for name in names or known:
        task, _, algorithm = name.partition("/")
        if task not in known or (algorithm and algorithm not in known[task][1]):
            raise ValueError(
                f"unbounded: expected tasks among {', '.join(known)}, or a task with an algorithm among "
                f"{', '.join(LABELS)}, as in ring/dns (1000 features have no grid), got {name!r}"
            )
        wanted.setdefault(task, []).extend([algorithm] if algorithm else known[task][1])
    return [(known[task][0], list(dict.fromkeys(of))) for task, of in wanted.items()]


def trial_file(out: Path, task: str, algorithm: str, number: int) -> Path:
    """Where a trial is kept."""
    return out / "trials" / task / f"{algorithm}-{number:03d}.json"


def run_missing(
    out: Path,
    *,
    tasks: Sequence[str] | None = None,
    trials: int = TRIALS,
    evaluations: int | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Run the trials that are missing, one file each; ValueError if there are some of another budget."""
    common: dict[str, Tessellation] = {}
    for number in range(trials):
        for task, names in chosen(tasks):
            budget = evaluations or task.evaluations
            for algorithm in names:
                file = trial_file(out, task.name, algorithm, number)
                if file.exists():
                    done = json.loads(file.read_text())["evaluations"]
                    if done != budget:
                        raise ValueError(f"{file}: of {done:,} evaluations, expected {budget:,}; remove it")
                    continue
                say(f"{task.name}, {LABELS[algorithm]}, trial {number}")
                if task.name not in common:
                    common[task.name] = task.common()
                found = run_trial(task, algorithm, number, budget, common[task.name])
                text = json.dumps(found, indent=1) + "\n"
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, lambda part, text=text: part.write_text(text))  # type: ignore[misc]
