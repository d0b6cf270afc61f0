"""Views of single elites (a posture, a trajectory, a gait), rounded and thinned to fit into a page.

Problems describe an elite through `Problem.elite_view`; how a view is drawn is in `assets/views.js` or in a script
of the problem. This module decides how many elites get one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.elites import Elites
from tesselite.base.arrays import Ints
from tesselite.problems.problem import Problem
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.spaces.solutions import Rows

VIEW_BYTES = 20_000_000
"""The size of all views of a page, in bytes before compression, at most."""

SCENARIO_ELITES = 100
"""In each scenario, this many of the best elites get a view of it too."""

_BATCH = 500
_MOST_STEPS = 4000


def describe_views(
    problem: Problem,
    elites: Elites,
    arrays: PackedArrays,
    scenarios: dict[str, npt.NDArray[np.float64]],
    n_bytes: int = VIEW_BYTES,
) -> list[dict[str, Any]]:
    """One set of views for the training setting and one for each scenario; empty if the problem has none to show.

    `scenarios` maps a name to the fitness (m,) of the elites in it, NaN where invalid. If not all elites fit into
    `n_bytes`, evenly chosen ones get a view, and always the best. If none is valid in a scenario, the best of the
    training setting has a view of it.
    """
    if not len(elites):
        return []
    first = problem.elite_view(elites.solutions[:1])
    if not first:
        return []
    each = max(1, _size(first))
    order = _best_first(elites.fitness, problem.direction)
    room = max(1, int(n_bytes // (1 + 0.25 * bool(scenarios)) // each))
    rows = np.arange(len(elites))
    if len(elites) > room:
        even = np.linspace(0, len(elites) - 1, max(1, room - 1)).round().astype(np.int64)
        rows = np.unique(np.append(even, order[0]))
    views = [_describe(problem, elites.solutions, rows, None, arrays)]
    per_scenario = max(1, min(SCENARIO_ELITES, int(n_bytes // 5 // each // max(1, len(scenarios)))))
    for name, fitness in scenarios.items():
        if name not in problem.scenarios:
            continue
        valid = np.flatnonzero(np.isfinite(fitness))
        best = valid[_best_first(fitness[valid], problem.direction)][:per_scenario]
        if len(best):
            views.append(_describe(problem, elites.solutions, np.sort(best), name, arrays))
        else:  # so that the page can draw the scenario; a view of what is invalid may fail
            with suppress(Exception):
                views.append(_describe(problem, elites.solutions, order[:1], name, arrays))
    return views


def _best_first(fitness: npt.NDArray[np.float64], direction: str) -> Ints:
    return np.argsort(-fitness if direction == "max" else fitness, kind="stable")


def _size(view: dict[str, Any]) -> int:
    """Bytes that one elite takes: what `_describe` makes of the arrays of a view of one."""
    steps = view.get("step", {})
    return sum(_rounded(view[name], steps.get(name, 0.0))[0].nbytes for name in view.get("per_elite", ()))


def _rounded(values: npt.NDArray[Any], step: float) -> tuple[npt.NDArray[Any], list[float] | None]:
    """Real values as whole numbers of steps, and (offset, step); whole numbers as they are."""
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return values, None
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    step = max(step, (high - low) / _MOST_STEPS) or 1.0
    return np.rint((values - low) / step).astype(np.int16), [low, step]


def describe_view(
    problem: Problem, solution: Rows, scenario: str | None, arrays: PackedArrays
) -> dict[str, Any] | None:
    """The view of one solution (width,), or None if the problem has none to show."""
    if not problem.elite_view(solution[None], scenario):
        return None
    return _describe(problem, solution[None], np.zeros(1, np.int64), scenario, arrays)


def _describe(
    problem: Problem, solutions: Rows, rows: Ints, scenario: str | None, arrays: PackedArrays
) -> dict[str, Any]:
    """The views of these elites in one setting; their numbers go to `arrays`, as differences along time."""
    batches = [
        problem.elite_view(solutions[rows[start : start + _BATCH]], scenario) for start in range(0, len(rows), _BATCH)
    ]
    view = {name: value for name, value in batches[0].items() if name != "script"}
    steps = view.pop("step", {})
    for name in view.pop("per_elite", ()):
        whole = np.concatenate([np.asarray(batch[name]) for batch in batches])
        numbers, scale = _rounded(whole, steps.get(name, 0.0))
        smooth = scale is not None and numbers.ndim > 2  # differences along the second axis, time, are small
        if smooth:
            numbers = np.diff(numbers, axis=1, prepend=np.zeros_like(numbers[:, :1]))
        view[name] = {"values": arrays.add(numbers), "scale": scale, "differences": smooth}
    for name, value in view.items():
        if isinstance(value, np.ndarray):
            view[name] = arrays.add(value)
    return {**view, "scenario": scenario, "rows": arrays.add(rows.astype(np.int32))}
