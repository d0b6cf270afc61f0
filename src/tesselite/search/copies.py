"""Offspring that are copies of elites: their results are in the archive, so they need not be evaluated again.

One in six offspring is a copy where each of 36 values is drawn again with probability 0.05 (the paper's hexapod).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.evaluation import Evaluation
from tesselite.problems.problem import Problem
from tesselite.spaces.solutions import Rows

_OUTDATED = 4  # entries for each elite, at most: most belong to solutions that are elites no longer


def are_known(problem: Problem, archive: Archive) -> bool:
    """Whether an elite has all that another evaluation of its solution would return, to the last bit."""
    return problem.deterministic and not (problem.seeded or problem.records) and archive.tessellation.space.plain


class Copies:
    """Evaluates solutions of a deterministic problem, but takes the results of copies from the elites of an archive."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._rows: dict[int, int] = {}  # by the hash of a solution, where it was when it became an elite
        self._seen = -1  # the last evaluation whose elites are known

    def evaluate(self, problem: Problem, solutions: Rows, threads: int | None) -> Evaluation:
        """What `problem.evaluate_checked` returns for these rows."""
        elites, n, d = self.archive.arrays(), len(self.archive), problem.features.n
        self._note(elites.evaluations[:n])
        rows = solutions.view(np.uint8)
        found = np.array([self._rows.get(hash(row.tobytes()), n) for row in rows], np.int64)
        copies = np.flatnonzero(found < n)
        copies = copies[(elites.solutions[found[copies]] == rows[copies]).all(axis=1)]
        if not len(copies):
            return problem.evaluate_checked(solutions, None, threads)
        fitness, features = np.empty(len(rows)), np.empty((len(rows), d))
        fitness[copies], features[copies] = elites.fitness[found[copies]], elites.features[found[copies], :d]
        if len(copies) == len(rows):
            return Evaluation.of(fitness, features)
        others = np.delete(np.arange(len(rows)), copies)
        evaluated = problem.evaluate_checked(solutions[others], None, threads)
        fitness[others], features[others] = evaluated.fitness, evaluated.features
        reasons = {int(others[i]): reason for i, reason in evaluated.reasons.items()}
        return Evaluation.of(fitness, features, reasons, evaluated.first_error)

    def _note(self, evaluations: npt.NDArray[np.int64]) -> None:
        """Record the elites, of these evaluations, that are new since the last call."""
        if len(self._rows) > _OUTDATED * len(evaluations):
            self._rows, self._seen = {}, -1
        solutions = self.archive.arrays().solutions
        for row in np.flatnonzero(evaluations > self._seen).tolist():
            self._rows[hash(solutions[row].tobytes())] = row
        self._seen = int(evaluations.max(initial=self._seen))
