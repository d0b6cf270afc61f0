"""Problems for the tests of workers: well-behaved and otherwise. Workers import them from here by name."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import time
from pathlib import Path

import numpy as np
from numba import njit

import tesselite as tl

BOX = tl.Box(3, -1.0, 1.0)
FEATURES = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}


def value(x):
    return -float((x * x).sum()), x[:2]


@tl.problem(solutions=BOX, features=FEATURES)
def good(x):
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES, scenarios=["upside down"])
def in_scenarios(x, scenario):
    fitness, features = value(x)
    return (-fitness if scenario else fitness), features


@tl.problem(solutions=BOX, features=FEATURES)
@njit
def compiled(x):
    return -(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), (x[0], x[1])


@tl.problem(solutions=BOX, features=FEATURES)
def slow(x):
    time.sleep(0.005)
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def uneven(x):
    """Takes between 1 and 10 ms, by its solution."""
    time.sleep(0.001 + 0.009 * (x[2] > 0.8))
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def faulty(x):
    """Raises, returns NaN or something of the wrong shape, by its solution."""
    if x[2] > 0.7:
        raise ArithmeticError("too large")
    if x[2] > 0.4:
        return float("nan"), x[:2]
    if x[2] > 0.1:
        return 1.0, x
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def poison(x):
    """Kills its process, for one solution in twenty."""
    if x[2] > 0.9:
        os.kill(os.getpid(), signal.SIGKILL)
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def hanging(x):
    """Never ends, for one solution in twenty."""
    if x[2] > 0.9:
        time.sleep(3600)
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def in_c(x):
    """Never ends, in C code that lets no other thread of Python run; leaves its process number in COUNT_FOLDER."""
    (Path(os.environ["COUNT_FOLDER"]) / f"{os.getpid()}").touch()
    ctypes.PyDLL(None).sleep(3600)
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def flaky(x):
    """Raises when it sees a solution for the first time; FLAKY_FOLDER remembers which were seen."""
    mark = Path(os.environ["FLAKY_FOLDER"]) / np.asarray(x).tobytes().hex()
    if not mark.exists():
        mark.touch()
        raise OSError("the licence server is busy")
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES)
def counted(x):
    """Leaves a mark in COUNT_FOLDER for every call."""
    with (Path(os.environ["COUNT_FOLDER"]) / f"{os.getpid()}").open("ab") as file:
        file.write(np.asarray(x).tobytes())
    time.sleep(0.002)
    return value(x)


def of_main(threshold: float):
    """A problem that cannot be imported by name: a closure."""

    @tl.problem(solutions=BOX, features=FEATURES)
    def inner(x):
        return (value(x)[0] if x[0] < threshold else 0.0), x[:2]

    return inner


@tl.problem(solutions=BOX, features=FEATURES)
def troubled(x):
    """All kinds of failures, at random: a retry may succeed."""
    luck = int.from_bytes(os.urandom(4)) / 2**32
    if luck < 0.002:
        os.kill(os.getpid(), signal.SIGKILL)
    if luck < 0.004:
        time.sleep(3600)
    if luck < 0.03:
        raise OSError("bad luck")
    if luck < 0.04:
        return float("nan"), x[:2]
    if luck < 0.05:
        return 0.0, x
    time.sleep(0.005)
    return value(x)


@tl.problem(solutions=BOX, features=FEATURES, records={"pid": int})
def telling_who(x):
    return *value(x), (os.getpid(),)


HOARD: list[bytes] = []


def _note_the_end() -> None:
    if "TESSELITE_TEST_ENDS" in os.environ:
        Path(os.environ["TESSELITE_TEST_ENDS"], str(os.getpid())).touch()


@tl.problem(solutions=BOX, features=FEATURES, records={"pid": int})
def leaking(x):
    """Leaks 100 MB per evaluation, and records an orderly end of its process."""
    if not HOARD:
        atexit.register(_note_the_end)
    HOARD.append(bytearray(os.urandom(1000) * 100_000))
    return *value(x), (os.getpid(),)


@tl.problem(solutions=BOX, features=FEATURES)
def by_chance(x, seed):
    return seed / 2**31, x[:2]


TRIED: set[int] = set()


@tl.problem(solutions=BOX, features=FEATURES)
def by_chance_at_second_try(x, seed):
    if seed not in TRIED:
        TRIED.add(seed)
        raise OSError("no licence")
    return seed / 2**31, x[:2]


@tl.problem(solutions=BOX, features=FEATURES, batch=True, scenarios=["rain"])
def by_chance_in_batches(x, scenario, *, seed):
    return seed / 2**31 - (scenario == "rain"), x[:, :2]
