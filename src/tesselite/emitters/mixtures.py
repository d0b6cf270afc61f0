"""Several emitters in one search: by fixed shares of every batch, or by a bandit that learns which one succeeds.

The bandit is UCB1, as in Cully, "Multi-Emitter MAP-Elites", GECCO 2021, whose reward it has: the share of an emitter's
solutions that enter the archive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Added, Status
from tesselite.archive.evaluation import Evaluation
from tesselite.base.numbers import as_float, shown
from tesselite.base.seeds import Purpose
from tesselite.emitters.emitter import OWN, OWN_EMITTER, Emitter, text_of
from tesselite.spaces.solutions import Rows, SolutionSpace

_EXPLORATION = 0.05  # how much the bandit prefers rarely used emitters
SPLITS = "splits"  # the name of what `finders` needs, in the state of a mixture
_MEMORY = 0.995  # the weight of a batch in the bandit's memory one batch later


class Mixture(Emitter):
    """Several emitters, each with its share of every batch: `mixture({cma_mae(): 0.8, uniform(gaussian(0.1)): 0.2})`.

    Shares are relative. Each emitter learns from its own solutions; they meet in the archive.
    """

    name = "mixture"

    def __init__(self, shares: Mapping[Emitter, float]) -> None:
        if not isinstance(shares, Mapping) or not shares or not all(isinstance(part, Emitter) for part in shares):
            raise ValueError(f"shares: expected a share for each of some emitters, got {shown(shares)}")
        given = [as_float("shares", share, "numbers above 0") for share in shares.values()]
        if not all(0 < share < math.inf for share in given):
            raise ValueError(f"shares: expected numbers above 0, got {given}")
        self.parts = list(shares)
        self.shares = [share / sum(given) for share in given]
        self._given = given
        self.wants_improvement = any(part.wants_improvement for part in self.parts)
        self._counts = [0] * len(self.parts)  # how many rows of each are pending
        self._splits: list[list[int]] = []  # from which evaluation on a batch had how many rows of each

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare all, each with a seed of its own."""
        super().begin(space, seed)
        for k, part in enumerate(self.parts):
            words = np.random.SeedSequence(seed, spawn_key=(int(Purpose.EMITTER), 1, k)).generate_state(1, np.uint64)
            part.begin(space, int(words[0]))
        self.batch_size = self._largest_batch()
        self._counts, self._splits = [0] * len(self.parts), []

    def _largest_batch(self) -> int | None:
        """The largest batch in which no emitter has to give more than it can; None if all can give any number."""
        limits = [(part.batch_size, share) for part, share in zip(self.parts, self.shares, strict=True)]
        sizes = [size / share for size, share in limits if size is not None]
        if not sizes:
            return None
        n = round(min(sizes)) + 1
        while any(size is not None and count > size for (size, _), count in zip(limits, self.split(n), strict=True)):
            n -= 1
        return n

    def split(self, n: int) -> list[int]:
        """How many of n rows each emitter gives: its share, rounded so that the sum is n."""
        counts = [math.floor(n * share + 1e-9) for share in self.shares]
        rest = sorted(range(len(counts)), key=lambda k: counts[k] - n * self.shares[k])
        for k in rest[: n - sum(counts)]:
            counts[k] += 1
        return counts

    def ask(self, archive: Archive, n: int, first: int) -> Rows:
        """The rows of the first emitter, then those of the second, and so on."""
        counts, rows = self.split(n), []
        self._note(first, counts)
        for part, count in zip(self.parts, counts, strict=True):
            if count:
                part.threads = self.threads
                rows.append(np.array(part.ask(archive, count, first)))
                first += count
        self._counts = counts
        return np.concatenate(rows)

    def _note(self, first: int, counts: list[int]) -> None:
        """Record how the batch from evaluation `first` on is split, unless it is split like the batch before."""
        while self._splits and self._splits[-1][0] >= first:  # asked again
            self._splits.pop()
        last = self._splits[-1] if self._splits else None
        if last is None or last[1:] != counts or (first - last[0]) % sum(counts):
            self._splits.append([first, *counts])

    def tell(self, solutions: Rows, evaluated: Evaluation, added: Added) -> None:
        """Pass each emitter the results of its own rows; the initial random ones go to all."""
        start = 0
        for part, count in zip(self.parts, self._counts, strict=True):
            if count:
                part.tell(solutions[start : start + count], *_rows(evaluated, added, start, start + count))
                start += count
        if not start:
            for part in self.parts:
                part.tell(solutions, evaluated, added)
        self._counts = [0] * len(self.parts)

    def niches_changed(self, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> None:
        """Tell all."""
        for part in self.parts:
            part.niches_changed(before, after)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The states of all emitters, by number, and which of them gave which evaluations."""
        kept = {f"{k}.{name}": values for k, part in enumerate(self.parts) for name, values in part.state().items()}
        return kept | {SPLITS: np.array(self._splits, np.int64).reshape(-1, 1 + len(self.parts))}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        for k, part in enumerate(self.parts):
            start = f"{k}."
            part.restore({name.removeprefix(start): v for name, v in state.items() if name.startswith(start)})
        self._counts = [0] * len(self.parts)
        self._splits = state[SPLITS].tolist() if SPLITS in state else []

    def __str__(self) -> str:
        texts = [text_of(part) for part in self.parts]
        if any(text in (OWN, OWN_EMITTER) for text in texts):
            return OWN_EMITTER
        return f"{self.name}:" + "+".join(self.word(k, text) for k, text in enumerate(texts))

    def word(self, k: int, text: str) -> str:
        """How the name of emitter k stands in the name of all."""
        return f"{self._given[k]}@{text}"


class Bandit(Mixture):
    """Several emitters; each batch comes from the most promising one (UCB1).

    The reward is the share of an emitter's solutions that entered the archive, averaged over about 200 batches. It only
    sees quick gains, so it neglects emitters that pay off in the long run, such as `cma_mae`: prefer a `mixture` for
    those.
    """

    name = "bandit"

    def __init__(self, emitters: Sequence[Emitter]) -> None:
        if isinstance(emitters, Emitter | Mapping) or len(emitters) < 2:
            got = shown(emitters) if isinstance(emitters, Emitter | Mapping) else len(emitters)
            raise ValueError(f"emitters: expected a list of at least two emitters, got {got}")
        super().__init__(dict.fromkeys(emitters, 1.0))
        if len(self.parts) < len(emitters):
            raise ValueError("emitters: expected different ones, got the same object twice")

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare all."""
        super().begin(space, seed)
        self._given_rows, self._entered = np.zeros(len(self.parts)), np.zeros(len(self.parts))

    def _largest_batch(self) -> int | None:
        return min((part.batch_size for part in self.parts if part.batch_size is not None), default=None)

    def split(self, n: int) -> list[int]:
        """All n rows from the most promising emitter; the first of equals."""
        counts = [0] * len(self.parts)
        given = self._given_rows
        if (given == 0).any():
            chosen = int(np.argmin(given))
        else:
            chosen = int(np.argmax(self._entered / given + _EXPLORATION * np.sqrt(np.log(given.sum()) / given)))
        counts[chosen] = n
        return counts

    def tell(self, solutions: Rows, evaluated: Evaluation, added: Added) -> None:
        """Count the rows that entered, and pass the emitter its results."""
        if any(self._counts):
            self._given_rows *= _MEMORY
            self._entered *= _MEMORY
            chosen = int(np.argmax(self._counts))
            self._given_rows[chosen] += len(solutions)
            self._entered[chosen] += added.count(Status.NEW) + added.count(Status.IMPROVED)
        super().tell(solutions, evaluated, added)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Its counts, too."""
        return super().state() | {"given": self._given_rows, "entered": self._entered}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        if state:
            self._given_rows, self._entered = state["given"].copy(), state["entered"].copy()

    def word(self, k: int, text: str) -> str:
        """How the name of emitter k stands in the name of all."""
        return text


def _rows(evaluated: Evaluation, added: Added, start: int, stop: int) -> tuple[Evaluation, Added]:
    """The results of rows [start, stop)."""
    part = slice(start, stop)
    reasons = {i - start: reason for i, reason in evaluated.reasons.items() if start <= i < stop}
    gained = None if added.improvement is None else added.improvement[part]
    return (
        Evaluation(evaluated.fitness[part], evaluated.features[part], evaluated.valid[part], reasons),
        Added(added.status[part], added.niches[part], gained),
    )


def finders(splits: npt.NDArray[np.int64], evaluations: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Which emitter of a mixture gave each of some evaluations (n,), by its number; -1 for random and given solutions.

    `splits` (m, 1 + emitters) are of its state: the first evaluation of batches with these numbers of rows.
    """
    if not len(splits):
        return np.full(len(evaluations), -1)
    row = np.searchsorted(splits[:, 0], evaluations, side="right") - 1
    ends = splits[row, 1:].cumsum(axis=1)
    within = (evaluations - splits[row, 0]) % ends[:, -1]
    return np.where(row < 0, -1, (within[:, None] >= ends).sum(axis=1))


mixture, bandit = Mixture, Bandit  # their public names
