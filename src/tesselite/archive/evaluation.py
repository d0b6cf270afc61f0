"""Evaluation: the result of a batch. What counts as invalid is decided here, once, for all kinds of evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tesselite.base.checks import is_whole
from tesselite.base.numbers import as_floats, is_plain, shown
from tesselite.spaces.records import Values

Direction = Literal["max", "min"]

_BOOLEANS = np.dtype(np.bool_)

FITNESS_NOT_FINITE = "fitness is NaN or infinite"
FEATURES_NOT_FINITE = "a feature is NaN or infinite"
MARKED_INVALID = "marked invalid without a reason"
RAISED = "exception: "  # and the name of what a user's function raised
OUTSIDE = "out of bounds: "  # and the name of a feature that refuses that
_LONGEST = 200  # characters of a reason


class Invalid(Exception):
    """Raise it in your function to reject a solution: `raise tl.Invalid("buckles")`.

    The solution is counted under that reason. Use a few fixed reasons: a number in the text would make each one
    different.
    """

    @property
    def reason(self) -> str:
        """The first line of the text."""
        lines = str(self).strip().splitlines()
        return _as_unicode(lines[0][:_LONGEST]) if lines else MARKED_INVALID


def _as_unicode(text: str) -> str:
    """A text that a file can hold: without halves of characters."""
    return text.encode(errors="replace").decode()


def reason_of(error: BaseException) -> str:
    """The reason under which an evaluation that raised this is counted."""
    return error.reason if isinstance(error, Invalid) else f"{RAISED}{type(error).__name__}"


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating n solutions.

    `fitness` (n,), `features` (n, d) in feature units, `valid` (n,). An invalid row never enters an archive; `reasons`
    maps its index to why. Its fitness and features are NaN. `first_error` is the traceback of the first exception in a
    user's function, or empty. `records` are what else the problem records (see `spaces.records`).
    """

    fitness: npt.NDArray[np.float64]
    features: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]
    reasons: dict[int, str] = field(default_factory=dict)
    first_error: str = ""
    records: Values = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        fitness: npt.ArrayLike,
        features: npt.ArrayLike,
        reasons: dict[int, str] | None = None,
        first_error: str = "",
        records: Values | None = None,
    ) -> Evaluation:
        """An evaluation in which the rows named in `reasons`, and all that are not finite, are invalid."""
        fitness = np.array(fitness, dtype=np.float64, order="C")
        features = np.array(features, dtype=np.float64, order="C")
        good_fitness, good_features = np.isfinite(fitness), np.isfinite(features)
        if not reasons and good_fitness.all() and good_features.all():  # as nearly always
            return cls(fitness, features, good_fitness, {}, first_error, records or {})
        reasons = dict(reasons or {})
        valid = good_fitness & good_features.all(axis=1)
        for i in np.flatnonzero(~valid).tolist():
            reasons.setdefault(i, FEATURES_NOT_FINITE if good_fitness[i] else FITNESS_NOT_FINITE)
        if reasons:
            valid[list(reasons)] = False
            fitness[~valid] = np.nan
            features[~valid] = np.nan
        return cls(fitness, features, valid, reasons, first_error, records or {})

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """The evaluations of consecutive rows as one; expects at least one part."""
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
            {name: np.concatenate([part.records[name] for part in parts]) for name in parts[0].records},
        )

    def without(self, refused: dict[int, str]) -> Evaluation:
        """The same with these rows invalid for these reasons; a row that has one keeps it."""
        return Evaluation.of(self.fitness, self.features, {**refused, **self.reasons}, self.first_error, self.records)

    def __len__(self) -> int:
        return len(self.fitness)

    def count_reasons(self) -> Counter[str]:
        """How many rows are invalid for each reason."""
        return Counter(self.reasons.values())


def checked(evaluated: Any, n: int, d: int) -> Evaluation:
    """An evaluation that anyone may have made, as one of n solutions and d features whose parts agree.

    A row is invalid if it is marked so, has a reason, or is not finite. Raises ValueError for anything else than an
    Evaluation, for other shapes and for reasons of rows that do not exist.
    """
    from tesselite.spaces.scaling import all_valid  # compiled, and not needed to know what an evaluation is

    if not isinstance(evaluated, Evaluation):
        raise ValueError(f"evaluation: expected a tesselite.Evaluation, got {type(evaluated).__name__}")
    fitness = as_floats("evaluation", evaluated.fitness, "fitness of numbers")
    features = as_floats("evaluation", evaluated.features, "features of numbers")
    valid = evaluated.valid
    if not is_plain(valid, _BOOLEANS):
        try:
            valid = np.array(valid, order="C")
        except ValueError:
            raise ValueError(f"evaluation: expected valid ({n},) of booleans, got {shown(valid)}") from None
    shapes = fitness.shape, features.shape, valid.shape
    if shapes != ((n,), (n, d), (n,)) or valid.dtype != _BOOLEANS:
        raise ValueError(
            f"evaluation: expected fitness ({n},), features ({n}, {d}) and valid ({n},) of booleans, "
            f"got {fitness.shape}, {features.shape} and {valid.shape} of {valid.dtype}; Evaluation.of makes one"
        )
    if not evaluated.reasons and all_valid(fitness, features, valid):  # as nearly always
        same = fitness is evaluated.fitness and features is evaluated.features and valid is evaluated.valid
        if same:
            return evaluated
        return Evaluation(fitness, features, valid, {}, evaluated.first_error, evaluated.records)
    reasons = {}
    for i, reason in evaluated.reasons.items():
        if not is_whole(i, 0) or i >= n:
            raise ValueError(f"evaluation: expected reasons of rows 0 to {n - 1}, got one of {i!r}")
        reasons[int(i)] = _as_unicode(str(reason))
    finite = np.isfinite(fitness) & np.isfinite(features).all(axis=1)
    for i in np.flatnonzero(finite & ~valid).tolist():
        reasons.setdefault(i, MARKED_INVALID)
    return Evaluation.of(fitness, features, reasons, evaluated.first_error, evaluated.records)
