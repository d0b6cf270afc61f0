"""Revision: the rule by which a search changes its niches, at fixed numbers of evaluations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.tessellation.protocol import Tessellation


class Revision(ABC):
    """When and how a search changes its niches. A search works on a copy of the rule.

    It is asked after the first batch that ends at or beyond each multiple of `every` evaluations, and must answer from
    its seed and its input alone, so that a resumed run gives the same. `sees_all` says whether it has to see the
    features of all rows, for which the search leaves the compiled loop; the elites' it gets in any case.
    """

    every: int
    sees_all = True
    asked_first = False  # whether it sees a batch, and is asked, before the batch is inserted
    selects = False  # whether it keeps a population without niches within its size, by `select`
    seed: int

    def begin(self, seed: int) -> None:
        """Prepare for a search; called once, first."""
        self.seed = seed

    def tell(self, features: Floats) -> None:  # noqa: B027
        """Take in the features (n, d), in feature units, of rows that were valid; called only if it `sees_all`."""

    @abstractmethod
    def revise(self, tessellation: Tessellation, features: Floats, evaluations: int) -> Tessellation | None:
        """The niches to use after this many evaluations; None to keep the current ones.

        `features` (m, d) are those of the elites, in the order in which their niches were first filled.
        """

    def select(self, fitness: Floats, points: Floats, evaluations: Ints, n_before: int) -> Ints | None:
        """The rows (m,) that stay, in this order; None for all. Called after every batch, if it `selects`.

        `fitness` (n,) is to be large, `points` (n, d) are the unit-scaled features, `evaluations` (n,) the numbers of
        the evaluations. The first `n_before` rows were there before the batch; a better one of the same features may
        have taken the place of any of them.
        """
        return None

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Its whole state as named arrays, stored in checkpoints."""
        return {}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:  # noqa: B027
        """Go back to what `state` returned; called after `begin`."""
