"""Emitter: the part of a search that chooses which solutions to try next, and receives their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Added
from tesselite.archive.evaluation import Evaluation
from tesselite.base.seeds import Purpose, generator
from tesselite.spaces.solutions import Rows, SolutionSpace

OWN = "own"  # a user's variation, which must be passed again to resume
OWN_EMITTER = "own emitter"  # likewise


class Emitter(ABC):
    """Chooses which solutions to try next. A search works on a copy of the emitter that it is given.

    `asynchronous` and `islands` say whether it works there: in an asynchronous run it is asked again before it has
    received all earlier results, and each island has its own independent copy.
    """

    asynchronous = False
    islands = False
    wants_improvement = True  # `Added.improvement` costs a look-up of each row
    batch_size: int | None = None  # the batches that suit it, and the largest that it can give; None: any
    threads = 1  # how many it may use; must not change the result

    space: SolutionSpace
    seed: int

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space; called once, first of all. ValueError if it is not supported."""
        self.space, self.seed = space, seed

    def generator(self, first: int) -> np.random.Generator:
        """Randomness for the batch that starts with evaluation `first`: independent of what happened before."""
        return generator(self.seed, Purpose.EMITTER, first)

    @abstractmethod
    def ask(self, archive: Archive, n: int, first: int) -> Rows:
        """n solutions, (n, width), whose evaluations have the numbers `first`, `first` + 1, ...

        The archive has at least one elite. The same state and `first` must give the same solutions.
        """

    def tell(self, solutions: Rows, evaluated: Evaluation, added: Added) -> None:  # noqa: B027
        """Receive the results of solutions after they were inserted, including the initial random ones."""

    def niches_changed(self, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> None:  # noqa: B027
        """The search changed its niches: elites of the niches `before` (m,) are in `after` (m,), others are gone.

        An emitter that remembers niches by number has to forget or renumber them.
        """

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Its whole state as named arrays, stored in checkpoints."""
        return {}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:  # noqa: B027
        """Go back to what `state` returned; called after `begin`."""

    def __str__(self) -> str:
        """The text by which `emitters.names.by_name` makes it again; this one says that it cannot."""
        return OWN_EMITTER


def text_of(emitter: Emitter) -> str:
    """The text by which `emitters.names.by_name` makes an emitter again; a user's class has none, whatever it says."""
    return str(emitter) if type(emitter).__module__.startswith("tesselite.") else OWN_EMITTER
