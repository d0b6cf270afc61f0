"""The problem of a run: what tells it from others, and how it is found again from the run's folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from tesselite.evaluation import Problem
from tesselite.run_folder import Settings


def fingerprint(problem: Problem) -> str:
    """A digest of what solutions, features and fitness are: a problem that changed cannot continue a run."""
    solutions, features = problem.solutions, problem.features
    scales = sorted((name, scale.name) for name, scale in features.scales.items())
    kind = type(solutions).__name__, solutions.width, solutions.dtype.str
    digest = hashlib.sha256(repr((kind, features.names, scales, problem.direction, problem.floor)).encode())
    for values in (features.low, features.high):
        digest.update(values.tobytes())
    for name in ("low", "high", "values"):  # of a Box, of Levels; other spaces have none
        digest.update(np.asarray(getattr(solutions, name, ()), dtype=np.float64).tobytes())
    digest.update(problem.variant.encode())
    return digest.hexdigest()


def problem_of(folder: Path, settings: Settings) -> Problem:
    """The problem that a run's settings name; ValueError if it is not to be found, or not the run's any more."""
    from tesselite.problems import by_name

    found = by_name(settings.problem)
    check_problem(folder, settings, found)
    return found


def check_problem(folder: Path, settings: Settings, problem: Problem) -> None:
    """ValueError unless this is, as far as can be told, the problem that the run was started with."""
    if fingerprint(problem) != settings.problem_fingerprint:
        raise ValueError(
            f"{folder}: the solutions, features, direction, floor or settings of {settings.problem} are not those that "
            "the run was started with; if it was started from Python, give the problem: tesselite.resume(DIR, problem)"
        )
