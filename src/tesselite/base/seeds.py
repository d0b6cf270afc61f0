"""One seed for a whole run, and from it a stream for each purpose, so that no two uses of randomness coincide.

What is drawn for evaluation number e depends on the seed, the purpose and e alone: the number of threads or workers,
interruptions and restarts cannot change it.
"""

from __future__ import annotations

import enum
import secrets

import numpy as np


class Purpose(enum.IntEnum):
    """What randomness is used for; the numbers are part of every result and never change."""

    TESSELLATION = 0
    INITIALISATION = 1
    SELECTION = 2
    VARIATION = 3
    ASSESSMENT = 4
    EMITTER = 5


def checked_seed(seed: int | None) -> int:
    """The seed itself, or a fresh one for None; ValueError unless it is a whole number of at least 0."""
    if seed is None:
        return secrets.randbits(32)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed: expected a whole number of at least 0, got {seed!r}")
    return int(seed)


def generator(seed: int, purpose: Purpose, first: int = 0) -> np.random.Generator:
    """A NumPy generator for one purpose, and for the batch that starts with evaluation `first`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(purpose), first)))


def key(seed: int, purpose: Purpose) -> np.uint64:
    """The key of a stream of counter-based random words (see `tesselite.compiled.fast_math`)."""
    return np.random.SeedSequence(seed, spawn_key=(int(purpose),)).generate_state(1, np.uint64)[0]
