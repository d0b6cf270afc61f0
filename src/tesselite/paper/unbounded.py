"""The study of spaces that nobody knows beforehand: niches that were told the bounds, and all that find them.

    OUT/trials/TASK/ALGORITHM-000.json   what a trial leaves behind; the same command runs what is missing
    OUT/unbounded.csv, OUT/unbounded.png, OUT/report.md

The paper names the question (section VI) and does not study it. Archives are compared on a tessellation that is common
to a task, since their own niches differ. Budgets are small by default; `--evaluations` sets others.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import Evaluation
from tesselite.assessment.metrics import project
from tesselite.base.atomic import write_atomically
from tesselite.problems import by_name
from tesselite.problems.problem import Problem
from tesselite.report.style import LINES, figure, save
from tesselite.runs.run import run
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.solutions import Box, Rows
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.growing import adaptive, cluster_elites, expanding
from tesselite.tessellation.population import dns, nslc, rts
from tesselite.tessellation.protocol import Tessellation

Floats = npt.NDArray[np.float64]

TRIALS = 3
TRUE = "true bounds"


class Rescaled(Problem):
    """A problem whose features are scaled and moved, or that says other bounds than it has."""

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
    """A problem with true bounds, a number of niches, a budget, and the cells of a grid, where one makes sense."""

    name: str
    title: str
    problem: Callable[[], Problem]
    n_niches: int
    evaluations: int
    cells: int | None = None

    def common(self) -> Tessellation:
        """What archives are compared on; no algorithm's own niches lie like these."""
        problem = self.problem()
        samples = None
        if isinstance(problem, Ring):  # the niches that can be reached
            rng = np.random.default_rng(1)
            samples = _on_ring(rng.random(40 * self.n_niches), rng.random(40 * self.n_niches))
        n = None if samples is not None else 20 * self.n_niches
        return cvt(problem.features, self.n_niches, n, seed=1, samples=samples, method="lloyd", start="random",
                   iterations=20)  # fmt: skip


TASKS = (
    Task("arm", "Arm of 10 joints, features scaled and moved", _moved_arm, 1000, 50_000, 32),
    Task("ring", "A thin ring in the plane", Ring, 500, 20_000, 22),
    Task("maze-2d", "Maze, 2D", lambda: by_name("maze:2d"), 500, 20_000, 22),
    Task("maze-20d", "Maze, 20D", lambda: by_name("maze:20d"), 500, 20_000),
    Task("maze-1000d", "Maze, 1000D", lambda: by_name("maze:1000d"), 500, 20_000),
    Task("hexapod-6d", "Hexapod, 6D", lambda: by_name("hexapod:duty"), 500, 10_000),
)


def algorithms(task: Task, evaluations: int) -> dict[str, tuple[Problem, dict[str, Any]]]:
    """The problem and the niches of each algorithm, by its name."""
    problem, k = task.problem(), task.n_niches
    space, every = problem.features, max(200, evaluations // 100)
    reach = 4.5 * (space.high - space.low)
    wide = problem
    if space.uniform and space.linear:
        inner = problem.inner if isinstance(problem, Rescaled) else problem
        scale = (problem.scale, problem.offset) if isinstance(problem, Rescaled) else (1.0, 0.0)
        wide = Rescaled(inner, space.within(space.low - reach, space.high + reach), *scale)
    hidden: dict[str, Any] = {"every": every, "ignore_bounds": True}
    generations = max(1, evaluations // 200)
    found: dict[str, tuple[Problem, dict[str, Any]]] = {
        TRUE: (problem, {"n_niches": k}),
        "bounds 10 times too wide": (wide, {"n_niches": k}),
        "expanding": (problem, {"tessellation": expanding(k, **hidden)}),
        "adaptive": (problem, {"tessellation": adaptive(k, **hidden)}),
        "cluster-elites": (
            problem,
            {"tessellation": cluster_elites(k, first=min(50, k), add=-(-k // generations), ignore_bounds=True)},
        ),
        "nslc": (problem, {"tessellation": nslc(k)}),
        "rts": (problem, {"tessellation": rts(k)}),
        "dns": (problem, {"tessellation": dns(k)}),
    }
    if task.cells is not None:
        found["grid, true bounds"] = (problem, {"grid": task.cells})
    return found


def run_trial(task: Task, algorithm: str, number: int, evaluations: int, common: Tessellation) -> dict[str, Any]:
    """Run a trial and say what it found, on its own niches and on the common ones."""
    problem, niches = algorithms(task, evaluations)[algorithm]
    seed = int.from_bytes(hashlib.sha256(f"unbounded/{task.name}/{number}".encode()).digest()[:4], "big")
    began = time.perf_counter()
    ended = run(problem, **niches, evaluations=evaluations, seed=seed, progress=False)
    shown = project(ended.archive, common)
    return {
        "task": task.name,
        "algorithm": algorithm,
        "trial": number,
        "evaluations": evaluations,
        "n_niches": task.n_niches,
        "kept": len(ended.archive),
        "changes": len(ended.search.changes),
        "coverage": shown.coverage,
        "qd_score": shown.qd_score,
        "best_fitness": shown.best_fitness,
        "seconds": time.perf_counter() - began,
    }


def carry_out(
    out: Path,
    *,
    tasks: Sequence[str] | None = None,
    trials: int = TRIALS,
    evaluations: int | None = None,
    kind: str = "png",
    say: Callable[[str], object] = lambda _: None,
) -> list[Path]:
    """Run the trials that are missing, and write table, figure and report; the files."""
    known = {task.name: task for task in TASKS}
    for name in tasks or ():
        if name not in known:
            raise ValueError(f"unbounded: expected tasks among {', '.join(known)}, got {name!r}")
    chosen = [known[name] for name in tasks or known]
    rows: list[dict[str, Any]] = []
    for task in chosen:
        budget = evaluations or task.evaluations
        common: Tessellation | None = None
        for algorithm in algorithms(task, budget):
            for number in range(trials):
                file = out / "trials" / task.name / f"{algorithm.replace(' ', '-')}-{number:03d}.json"
                if not file.exists():
                    common = common or task.common()
                    say(f"{task.name}, {algorithm}, trial {number}")
                    text = json.dumps(run_trial(task, algorithm, number, budget, common), indent=1)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(file, lambda part, text=text: part.write_text(text))  # type: ignore[misc]
                row = json.loads(file.read_text())
                if row["evaluations"] != budget:
                    raise ValueError(f"{file}: of {row['evaluations']:,} evaluations, expected {budget:,}; remove it")
                rows.append(row)
    return _written(out, chosen, rows, kind)


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over trials of each task and algorithm, and their ratios to those of the CVT with the true bounds."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["task"], row["algorithm"]
        of = [other for other in rows if (other["task"], other["algorithm"]) == key]
        medians = {
            name: float(np.median([other[name] for other in of if other[name] is not None] or [np.nan]))
            for name in ("coverage", "qd_score", "kept", "changes", "seconds")
        }
        found[key] = {"task": key[0], "algorithm": key[1], "trials": len(of), **medians}
    for (task, _), row in found.items():
        for name in ("coverage", "qd_score", "kept"):
            row[f"{name} / true"] = row[name] / found[task, TRUE][name] if found[task, TRUE][name] else float("nan")
    return list(found.values())


def _written(out: Path, tasks: Sequence[Task], rows: Sequence[dict[str, Any]], kind: str) -> list[Path]:
    table = summary(rows)
    columns = list(table[0])
    lines = io.StringIO()
    writer = csv.DictWriter(lines, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    written = out / "unbounded.csv"
    write_atomically(written, lambda part: part.write_text(lines.getvalue()))
    text = [
        "# Spaces that nobody knows beforehand",
        "",
        "Medians over trials. Coverage and QD score are those on a CVT within the true bounds that is common to a task "
        "(of the ring: of niches on the ring); archives without niches have them there only. `kept` counts solutions "
        "in an archive's own niches, or in its population.",
    ]
    for task in tasks:
        of = [row for row in table if row["task"] == task.name]
        budget = next(row["evaluations"] for row in rows if row["task"] == task.name)
        text += [
            "",
            f"## {task.title}",
            "",
            f"{task.n_niches:,} niches, {budget:,} evaluations, {of[0]['trials']} trials.",
        ]
        text += ["", "| algorithm | coverage | of true | QD score of true | kept | changes | seconds |"]
        text += ["|---|---|---|---|---|---|---|"]
        for row in of:
            cells = [f"{row['coverage']:.3f}", f"{row['coverage / true']:.2f}", f"{row['qd_score / true']:.2f}"]
            cells += [f"{row['kept']:.0f}", f"{row['changes']:.0f}", f"{row['seconds']:.1f}"]
            text.append(f"| {row['algorithm']} | {' | '.join(cells)} |")
    report = out / "report.md"
    write_atomically(report, lambda part: part.write_text("\n".join(text) + "\n"))
    with figure(3.2 * len(tasks), 3.6) as made:
        axes = made.subplots(1, len(tasks), squeeze=False)[0]
        for ax, task in zip(axes, tasks, strict=True):
            of = [row for row in table if row["task"] == task.name][::-1]
            ax.barh([row["algorithm"] for row in of], [row["coverage / true"] for row in of], color=LINES[0])
            ax.axvline(1.0, color="0.3", lw=0.8)
            ax.set(title=task.title, xlabel="coverage, of that with true bounds")
            ax.title.set_fontsize(9)
        drawn = save(made, out / f"unbounded.{kind}")
    return [report, written, drawn]
