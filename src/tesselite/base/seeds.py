"""One seed for a whole run, and a stream derived from it for each purpose, so that no two coincide.

What is drawn for evaluation number e depends on the seed, the purpose and e alone: the number of threads or workers,
interruptions and restarts cannot change it.
"""

from __future__ import annotations

import enum
import secrets
import zlib

import numpy as np
import numpy.typing as npt

from tesselite.base.checks import is_whole


class Purpose(enum.IntEnum):
    """The uses of randomness; the numbers are part of every result and never change."""

    TESSELLATION = 0
    INITIALISATION = 1
    SELECTION = 2
    VARIATION = 3
    ASSESSMENT = 4
    EMITTER = 5
    EVALUATION = 6


def checked_seed(seed: int | None) -> int:
    """The seed itself, or a fresh one for None; ValueError unless it is a whole number of at least 0."""
    if seed is None:
        return secrets.randbits(32)
    if not is_whole(seed, 0):
        raise ValueError(f"seed: expected a whole number of at least 0, got {seed!r}")
    return int(seed)


def generator(seed: int, purpose: Purpose, first: int = 0) -> np.random.Generator:
    """A NumPy generator for one purpose, and for the batch that starts with evaluation `first`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(purpose), first)))


def key(seed: int, purpose: Purpose) -> np.uint64:
    """The key of a stream of counter-based random words (see `tesselite.compiled.fast_math`)."""
    return np.random.SeedSequence(seed, spawn_key=(int(purpose),)).generate_state(1, np.uint64)[0]


def evaluation_seeds(seed: int, evaluations: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The seeds that a function with an argument `seed` receives in these evaluations (n,) of a run with this seed.

    Evaluations are counted from 0. The seeds are whole numbers from 0 to 2^31 - 1, which every library accepts.

    Example:
        >>> import tesselite as tl
        >>> tl.evaluation_seeds(1, [0, 1, 2]).tolist()
        [2075747357, 1148818298, 989822206]
    """
    numbers = np.asarray(evaluations)
    if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
        raise ValueError(f"evaluations: expected whole numbers (n,) of at least 0, got {evaluations!r:.80}")
    with np.errstate(over="ignore"):  # SplitMix64, whose words wrap around
        z = key(checked_seed(seed), Purpose.EVALUATION) + numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)


def seeds_of_rows(rows: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """The same outside of a run, where evaluations have no numbers: from each row (n, width) itself."""
    return np.array([zlib.crc32(np.ascontiguousarray(row).tobytes()) >> 1 for row in rows], np.int64)
