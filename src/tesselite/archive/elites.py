"""Results of an archive: single elites, tables of them, and what happened to candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.archive import elitism
from tesselite.base.arrays import Floats, Ints
from tesselite.spaces.records import Values
from tesselite.spaces.solutions import Rows
from tesselite.spaces.variables import Variable, value_columns

if TYPE_CHECKING:
    import pandas


class Status(IntEnum):
    """What happened to a candidate in `Archive.add`.

    `NEW` filled an empty niche, `IMPROVED` replaced the elite, `REJECTED` was not better than the elite, and `INVALID`
    was refused.
    """

    REJECTED = elitism.REJECTED
    NEW = elitism.NEW
    IMPROVED = elitism.IMPROVED
    INVALID = elitism.INVALID


@dataclass(frozen=True)
class Added:
    """What `Archive.add` did with each of n rows: `status` (n,) of `Status` values, `niches` (n,), -1 where invalid.

    `improvement` (n,), if it was requested: how much better the row is than the elite of its niche before the batch
    (negative if worse), or, in an empty niche, than the floor (0 if there is none). NaN if invalid.
    """

    status: npt.NDArray[np.int64]
    niches: Ints
    improvement: Floats | None = None

    def count(self, status: Status) -> int:
        """How many rows ended with this status."""
        return int((self.status == status).sum())


@dataclass(frozen=True)
class Elite:
    """One elite: its niche, fitness, features (d,), solution (width,), the evaluation that found it, its records."""

    niche: int
    fitness: float
    features: Floats
    solution: Rows
    evaluation: int
    records: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Elites:
    """A table of m elites: niches (m,), fitness (m,), features (m, d), solutions (m, width), evaluations (m,).

    `records` has an array (m, ...) for each record of the problem.
    """

    niches: Ints
    fitness: Floats
    features: Floats
    solutions: Rows
    evaluations: Ints
    feature_names: tuple[str, ...]
    variables: tuple[Variable, ...] = ()
    records: Values = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of features that have some

    def __len__(self) -> int:
        return len(self.niches)

    def __getitem__(self, i: int) -> Elite:
        return Elite(
            int(self.niches[i]),
            float(self.fitness[i]),
            self.features[i],
            self.solutions[i],
            int(self.evaluations[i]),
            {name: values[i] for name, values in self.records.items()},
        )

    def __iter__(self) -> Iterator[Elite]:
        return (self[i] for i in range(len(self)))

    def take(self, rows: npt.NDArray[Any]) -> Elites:
        """Some of the elites: the rows with these numbers, in their order, or those where an array of bools is True."""
        return replace(
            self,
            niches=self.niches[rows],
            fitness=self.fitness[rows],
            features=self.features[rows],
            solutions=self.solutions[rows],
            evaluations=self.evaluations[rows],
            records={name: values[rows] for name, values in self.records.items()},
        )

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """One array per column, as a DataFrame takes it: niche, fitness, evaluation, features, records, the solution.

        The values of a solution have the names that its space gave them, or x0, x1, ... Records that are arrays are
        columns of lists.
        """
        table: dict[str, npt.NDArray[Any]] = {
            "niche": self.niches,
            "fitness": self.fitness,
            "evaluation": self.evaluations,
        }

        for j, name in enumerate(self.feature_names):
            feature = Variable(name, 0.0, 0.0, labels=self.labels.get(name, ()))
            while name in table:
                name = f"feature {name}"
            table[name] = feature.shown(self.features[:, j])
        for name, recorded in self.records.items():
            while name in table:
                name = f"record {name}"
            table[name] = recorded if recorded.ndim == 1 else _lists(recorded)
        table |= value_columns(self.variables, self.solutions, list(table))
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a pandas DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.columns())


def _lists(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows of several dimensions as a column of lists."""
    column = np.empty(len(values), object)
    column[:] = values.tolist()
    return column
