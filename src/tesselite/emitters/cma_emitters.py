"""CMA-ME and CMA-MAE: strategies of CMA-ES that search for what is new or better in the archive.

Fontaine, Togelius, Nikolaidis and Hoover, "Covariance Matrix Adaptation for the Rapid Illumination of Behavior Space",
GECCO 2020 (`cma_me`); Fontaine and Nikolaidis, "Covariance Matrix Adaptation MAP-Annealing", GECCO 2023 (`cma_mae`).
The evolution strategy itself is in `cma_es`.

Solutions are given in turn: the samples of strategy 0, of strategy 1, and so on, cyclically. A strategy learns when the
results of all its samples are known, for any batch size. A batch has at most one generation of each; where it would
need the rest of a generation and the next one of the same strategy, the rest is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.elites import Added
from tesselite.archive.evaluation import Evaluation
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_float
from tesselite.base.seeds import Purpose, key
from tesselite.base.standing_threads import in_parts
from tesselite.compiled.fast_math import fill_normals
from tesselite.emitters.cma_es import (
    COVARIANCES,
    LARGEST_FULL,
    Covariance,
    Setting,
    Stack,
    Strategies,
    draw_index,
    draw_word,
)
from tesselite.emitters.emitter import Emitter
from tesselite.emitters.thresholds import Thresholds
from tesselite.spaces.solutions import Box, Reals, Rows, SolutionSpace

Kind = Literal["improvement", "random_direction", "optimizing"]

_WORTH_A_THREAD = 1_000_000  # multiplications, some 50 microseconds: waking a thread takes a good part of that
_LINEAR = 30  # multiplications for each value of a sample without a full covariance

_CLASS = np.array([0, 2, 1, -1])  # of rejected, new, improved and invalid rows


class Whole(NamedTuple):
    """What the compiled loop of generations works on: the state of all strategies, and their samples."""

    setting: Setting
    stack: Stack
    key: np.uint64
    samples: npt.NDArray[np.float64]  # (emitters, batch, n)
    classes: npt.NDArray[np.int64]  # (emitters, batch)
    values: npt.NDArray[np.float64]
    restart: npt.NDArray[np.int64]  # (emitters,)


@dataclass(eq=False, repr=False, kw_only=True)
class Cma(Emitter):
    """What CMA-ME and CMA-MAE share: the strategies, and the order in which their samples are given and evaluated."""

    name: ClassVar[str]
    emitters: int = 15
    batch: int = 36
    sigma: float | None = None
    cm: float = 0.5
    covariance: Covariance | None = None
    mirrored: bool = True
    anti: bool = True
    batch_size: int = field(init=False)

    def __post_init__(self) -> None:
        self.emitters = checked_count("emitters", self.emitters)
        self.batch = checked_count("batch", self.batch)
        if self.batch < 4:
            raise ValueError(f"batch: expected at least 4 samples for each emitter, got {self.batch!r}")
        self.sigma = None if self.sigma is None else _between("sigma", self.sigma, 0.0, 1e100)
        self.cm = _between("cm", self.cm, 0.0, 1.0)
        if self.covariance is not None and self.covariance not in COVARIANCES:
            raise ValueError(f"covariance: expected one of {', '.join(COVARIANCES)}, got {self.covariance!r}")
        self.mirrored, self.anti = _yes_or_no("mirrored", self.mirrored), _yes_or_no("anti", self.anti)
        self.batch_size = self.emitters * self.batch

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space, which must be one of real vectors."""
        super().begin(space, seed)
        if not isinstance(space, Box):
            raise ValueError(f"emitter: {self.name} needs a Box or Reals space, got {space!r}")
        bounded = not isinstance(space, Reals)
        if self.sigma is None:
            self.sigma = 0.2 if bounded else 0.5
        if self.covariance is None:
            self.covariance = "full" if space.width <= LARGEST_FULL else "separable"
        self._unit = space.high - space.low if bounded else np.ones(space.width)
        setting = Setting(
            n=space.width,
            batch=self.batch,
            covariance=COVARIANCES.index(self.covariance),
            mirrored=self.mirrored,
            anti=self.anti,
            cm=self.cm,
            sigma=self.sigma,
            unit=self._unit,
            low=space.low,
            high=space.high,
        )
        self._key = key(seed, Purpose.EMITTER)
        self._strategies = Strategies(self.emitters, setting, self._key)
        self._restart = np.ones(self.emitters, np.int64)
        if isinstance(space, Reals):
            for i in range(self.emitters):
                self._strategies.start(i, space.start)
            self._restart[:] = 0
        self._rows = np.empty((self.emitters, self.batch, space.width))  # the samples of a generation of each
        self._sampled = np.zeros(self.emitters, np.bool_)
        self._classes = np.zeros((self.emitters, self.batch), np.int64)
        self._values = np.zeros((self.emitters, self.batch))
        self._at = 0  # the row that is given next
        self._out = 0  # pending rows

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask(self, archive: Archive, n: int, first: int) -> Rows:
        """The next n samples; those of a strategy that restarts are around an elite."""
        if n > self.batch_size:
            raise ValueError(
                f"batch_size: expected at most {self.batch_size} = {self.emitters} emitters x {self.batch}, got {n}; "
                "use smaller batches, or more emitters"
            )
        started = self._at % self.batch
        if n > self.batch_size - started:
            i = self._at // self.batch
            self._strategies.stack.generation[i] += 1
            self._sampled[i] = False
            self._at -= started
        self.look_at(archive)
        for start, stop in self._turns(n):
            self._sample(archive, start // self.batch, -(-stop // self.batch))
        flat = self._rows.reshape(self.batch_size, -1)
        parts = [flat[start:stop] for start, stop in self._turns(n)]
        self._out = n
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _turns(self, n: int) -> list[tuple[int, int]]:
        """The next n rows as one or two spans of rows."""
        end = self._at + n
        if end <= self.batch_size:
            return [(self._at, end)]
        return [(self._at, self.batch_size), (0, end - self.batch_size)]

    def _sample(self, archive: Archive, start: int, stop: int) -> None:
        """Draw the samples of strategies [start, stop)."""
        missing = [i for i in range(start, stop) if not self._sampled[i]]
        if not missing:
            return
        for i in missing:
            if self._restart[i]:
                word = draw_index(self._key, self.emitters + i, self._strategies.stack.generation[i], len(archive))
                self._strategies.start(i, archive.solutions[word] / self._unit)
                self._restart[i] = 0
                self.started(i, archive)
        self._sampled[missing] = True
        self._in_threads(lambda a, b: self._strategies.sample(a, b, self._rows), missing[0], missing[-1] + 1)

    def _in_threads(self, work: Callable[[int, int], None], start: int, stop: int) -> None:
        """work(a, b) for consecutive parts of [start, stop), one for each thread; every strategy is in one of them."""
        setting = self._strategies.setting
        cost = setting.batch * setting.n * (setting.n if self.covariance == "full" else _LINEAR)
        in_parts(work, start, stop, max(-(-(stop - start) // self.threads), -(-_WORTH_A_THREAD // cost)), self.threads)

    # -- telling ---------------------------------------------------------------------------------------------------

    def tell(self, solutions: Rows, evaluated: Evaluation, added: Added) -> None:
        """Record the value of its rows; strategies whose generation is complete learn from them."""
        if not self._out:
            return  # random solutions of the beginning
        n, self._out = len(solutions), 0
        classes, values = self.judge(evaluated, added)
        done = 0
        for start, stop in self._turns(n):
            self._classes.reshape(-1)[start:stop] = classes[done : done + stop - start]
            self._values.reshape(-1)[start:stop] = values[done : done + stop - start]
            done += stop - start
            whole = start // self.batch, stop // self.batch
            if whole[1] > whole[0]:
                self._learn(*whole)
        self._at = (self._at + n) % self.batch_size

    def _learn(self, start: int, stop: int) -> None:
        """Update strategies [start, stop), and draw their next samples while they are in the cache."""
        parents, made = self.parents(), self._strategies

        def work(a: int, b: int) -> None:
            made.update(a, b, self._classes, self._values, parents, self._restart)
            made.sample(a, b, self._rows)

        self._in_threads(work, start, stop)
        self._sampled[start:stop] = self._restart[start:stop] == 0  # the others are drawn when they restart

    # -- what the compiled loop works on ---------------------------------------------------------------------------

    @property
    def is_between_generations(self) -> bool:
        """Whether the next row that is given is the first of strategy 0."""
        return self._at == 0

    def in_whole(self) -> Whole:
        """The arrays themselves."""
        made = self._strategies
        return Whole(made.setting, made.stack, self._key, self._rows, self._classes, self._values, self._restart)

    def forget_samples(self) -> None:
        """Discard samples: the strategies have learned since, and nothing is pending."""
        self._sampled[:] = False
        self._out = 0

    # -- what differs ----------------------------------------------------------------------------------------------

    def look_at(self, archive: Archive) -> None:
        """Record what `judge` needs to know of the archive."""
        self._sign, self._n_niches = archive.sign, archive.n_niches

    def started(self, i: int, archive: Archive) -> None:
        """Strategy i restarts."""

    def judge(self, evaluated: Evaluation, added: Added) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """A class and a value for each row, by which they are ranked, the highest first."""
        raise NotImplementedError

    def parents(self) -> npt.NDArray[np.int64]:
        """How many of the best samples of each strategy count: one half."""
        return np.full(self.emitters, self.batch // 2)

    # -- keeping ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The strategies, and the state of their generations."""
        return self._strategies.state() | {
            "at": np.array([self._at]),
            "restart": self._restart,
            "classes": self._classes,
            "values": self._values,
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned; samples follow from it."""
        if not state:
            return
        self._strategies.restore(state)
        self._at, self._out = int(state["at"][0]), 0
        self._restart[:], self._classes[:], self._values[:] = state["restart"], state["classes"], state["values"]
        self._sampled[:] = False

    def __str__(self) -> str:
        words = {**self.words(), "emitters": self.emitters, "batch": self.batch, "sigma": self.sigma, "cm": self.cm}
        words |= {"covariance": self.covariance, "mirrored": int(self.mirrored), "anti": int(self.anti)}
        return f"{self.name}:" + ",".join(f"{name}={value}" for name, value in words.items() if value is not None)

    def words(self) -> dict[str, Any]:
        """Its own parameters, for its name."""
        return {}


@dataclass(eq=False, repr=False, kw_only=True)
class CmaMae(Cma):
    """CMA-MAE: strategies of CMA-ES that maximise the improvement over slowly rising thresholds; best for long runs.

    `alpha` is how fast thresholds rise (0.1 for short runs, of fewer than about 100 evaluations per niche). `emitters`
    strategies have `batch` samples each in a batch. `sigma` is the first step size: 0.5 in `Reals`, in a `Box` 0.2 of
    its sides. `cm` is the learning rate of the mean: 1 for short runs, 0.3 for very long ones. For short runs with two
    or three features `alpha=0.1, cm=1, anti=False` is often best; with many features it fails. `covariance` is "full"
    (the default for up to 256 values), "separable" or "limited". `mirrored` and `anti`: see `cma_es`. `threshold_min`
    is where thresholds begin, the lowest fitness of interest: by default the problem's floor or, without a floor or
    while no elite exceeds it, a value as far below the worst elites (the 5 % quantile) as the best is above them.
    """

    name = "cma_mae"
    wants_improvement = False
    alpha: float = field(default=0.01, kw_only=False)
    threshold_min: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alpha = _between("alpha", self.alpha, 0.0, 1.0)
        if self.threshold_min is not None:
            self.threshold_min = as_float("threshold_min", self.threshold_min, "a number")

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space."""
        super().begin(space, seed)
        self.thresholds = Thresholds(self.alpha)
        self._least = np.inf

    def look_at(self, archive: Archive) -> None:
        """Record the lowest fitness of interest."""
        super().look_at(archive)
        if self.threshold_min is not None:
            self._least = self._sign * self.threshold_min
            return
        fitness = archive.arrays().fitness[: len(archive)] * self._sign
        best = float(fitness.max())
        if archive.floor is not None and best > self._sign * archive.floor:
            self._least = self._sign * archive.floor
            return
        rank = len(fitness) // 20  # a few elites may be far worse than all others
        bad = float(np.partition(fitness, rank)[rank])
        self._least = min(self._least, bad - ((best - bad) or abs(bad) or 1.0))

    def first_threshold(self, archive: Archive) -> float | None:
        """Where thresholds begin; None if that may change with the elites to come."""
        self.look_at(archive)
        if self.threshold_min is None and (archive.floor is None or self._least != self._sign * archive.floor):
            return None
        return self._least

    def judge(self, evaluated: Evaluation, added: Added) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The value of a row is the amount by which it exceeds its niche's threshold."""
        fitness = self._sign * evaluated.fitness
        worth = self.thresholds.judge(self._n_niches, added.niches, fitness, self._least)
        return np.where(added.niches >= 0, 0, -1), worth

    def niches_changed(self, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> None:
        """Thresholds follow the elites."""
        self.thresholds.renumber(before, after)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The thresholds, too."""
        return super().state() | self.thresholds.state() | {"least": np.array([self._least])}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        if state:
            self.thresholds.restore(state)
            self._least = float(state["least"][0])

    def words(self) -> dict[str, Any]:
        """Its own parameters, for its name."""
        return {"alpha": self.alpha, "threshold_min": self.threshold_min}


@dataclass(eq=False, repr=False, kw_only=True)
class CmaMe(Cma):
    """CMA-ME: strategies of CMA-ES that rank new solutions before improved ones, and restart when there are neither.

    `kind` "improvement" ranks by improvement, "random_direction" by the distance along a random direction in feature
    space, and "optimizing" by fitness alone. The other arguments are those of `cma_mae`; the defaults are as published.
    """

    name = "cma_me"
    kind: Kind = field(default="improvement", kw_only=False)
    cm: float = 1.0
    mirrored: bool = False
    anti: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: expected one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        self.wants_improvement = self.kind == "improvement"

    def begin(self, space: SolutionSpace, seed: int) -> None:
        """Prepare for a search over this space."""
        super().begin(space, seed)
        self._directions: npt.NDArray[np.float64] | None = None

    def look_at(self, archive: Archive) -> None:
        """Draw the first directions, now that the number of features is known."""
        super().look_at(archive)
        if self.kind == "random_direction" and self._directions is None:
            self._directions = np.empty((self.emitters, archive.tessellation.space.n))
            for i in range(self.emitters):
                self.started(i, archive)

    def started(self, i: int, archive: Archive) -> None:
        """A new direction in feature space for strategy i."""
        if self._directions is not None:
            d = self._directions.shape[1]
            drawn = np.empty(d + d % 2)
            word = draw_word(self._key, 2 * self.emitters + i, self._strategies.stack.generation[i])
            fill_normals(np.uint64(word), np.uint64(0), drawn)
            space = archive.tessellation.space
            self._directions[i] = drawn[:d] * (space.high - space.low)

    def judge(self, evaluated: Evaluation, added: Added) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """New niches before better elites before the others; of those, by improvement, by direction or by fitness."""
        classes = _CLASS[added.status]
        if self.kind == "optimizing":
            return np.minimum(classes, 0), np.where(classes < 0, -np.inf, self._sign * evaluated.fitness)
        if self.kind == "improvement":
            assert added.improvement is not None
            return classes, np.where(classes < 0, -np.inf, added.improvement)
        assert self._directions is not None
        whose = np.concatenate([np.arange(*span) for span in self._turns(len(classes))]) // self.batch
        features = np.where((classes < 0)[:, None], 0.0, evaluated.features)
        return classes, (features * self._directions[whose]).sum(1)

    def parents(self) -> npt.NDArray[np.int64]:
        """All that entered the archive; one half for "optimizing"."""
        if self.kind == "optimizing":
            return super().parents()
        return (self._classes > 0).sum(1)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The directions, too."""
        return super().state() | ({} if self._directions is None else {"directions": self._directions})

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        self._directions = state["directions"].copy() if "directions" in state else None

    def words(self) -> dict[str, Any]:
        """Its own parameters, for its name."""
        return {"kind": self.kind}


cma_mae, cma_me = CmaMae, CmaMe  # their public names


def _yes_or_no(name: str, value: bool) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{name}: expected 0 or 1, got {value!r}")
    return bool(value)


def _between(name: str, value: float, low: float, high: float) -> float:
    expected = f"a number above {low:g}, at most {high:g}"
    number = as_float(name, value, expected)
    if not (low < number <= high and math.isfinite(number)):
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
    return number
