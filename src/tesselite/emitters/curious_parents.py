"""Curiosity: parents are drawn the more often, the more often their offspring entered the archive.

Cully and Demiris, "Quality and Diversity Optimization: A Unifying Modular Framework", IEEE Transactions on Evolutionary
Computation 22 (2), 2018: a parent's score rises by 1 when an offspring enters and falls by 0.5 when it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Added, Status
from tesselite.archive.evaluation import Evaluation
from tesselite.emitters.emitter import OWN_EMITTER
from tesselite.emitters.uniform_parents import Variation, Varied
from tesselite.spaces.solutions import Rows

_NEW = 1.0  # score of an elite whose offspring have not been seen yet
_LEAST = 0.01  # no elite is excluded permanently
_RISE, _FALL = 1.0, 0.5


class Curiosity(Varied):
    """Draws parents whose offspring did well more often; varies them with an operator (None: the default of the space).

    Example:
        >>> import tesselite as tl
        >>> choose = tl.emitters.curiosity(tl.variation.gaussian(0.1))
        >>> found = tl.illuminate(tl.problems.sphere(3), grid=5, evaluations=500, emitter=choose, seed=1)
    """

    def __init__(self, variation: Variation | None = None) -> None:
        super().__init__(variation)
        self._scores: dict[int, float] = {}  # by niche
        self._parents: npt.NDArray[np.int64] = np.empty(0, np.int64)  # niches of the parents of pending rows

    def ask(self, archive: Archive, n: int, first: int) -> Rows:
        """Offspring of elites drawn by their scores."""
        elites, rng = archive.elites(), self.generator(first)
        scores = np.array([self._scores.get(niche, _NEW) for niche in elites.niches.tolist()])
        rows = rng.choice(len(elites), (2 if self.n_parents == 2 else 1, n), p=scores / scores.sum())
        self._parents = elites.niches[rows[0]]
        return self.offspring(elites.solutions, rows, rng)

    def tell(self, solutions: Rows, evaluated: Evaluation, added: Added) -> None:
        """Raise the scores of parents whose offspring entered, lower the others; a new elite starts afresh."""
        entered = (added.status == Status.NEW) | (added.status == Status.IMPROVED)
        for niche, good in zip(self._parents.tolist(), entered.tolist(), strict=False):  # none are pending at first
            score = self._scores.get(niche, _NEW)
            self._scores[niche] = score + _RISE if good else max(score - _FALL, _LEAST)
        for niche in added.niches[entered].tolist():
            self._scores[niche] = _NEW
        self._parents = np.empty(0, np.int64)

    def niches_changed(self, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> None:
        """Elites take their scores along."""
        moved = zip(before.tolist(), after.tolist(), strict=True)
        self._scores = {new: self._scores[old] for old, new in moved if old in self._scores}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The scores; between a tell and the next ask nothing is pending."""
        niches = np.array(sorted(self._scores), np.int64)
        return {"niches": niches, "scores": np.array([self._scores[niche] for niche in niches.tolist()], np.float64)}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        self._scores = dict(zip(state["niches"].tolist(), state["scores"].tolist(), strict=True))

    def __str__(self) -> str:
        return OWN_EMITTER if self.text is None else f"curiosity:{self.text}" if self.text else "curiosity"


curiosity = Curiosity  # its public name
