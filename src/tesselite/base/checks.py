"""Shared checks of arguments: ValueError with the argument's name, what was expected and what came."""

from __future__ import annotations

import re

import numpy as np

from tesselite.base.numbers import shown

_MOST_PROCESSES = 4096


def checked_count(name: str, value: float, least: int = 1, below: int = 2**62, *, floats: bool = True) -> int:
    """The value as an int from `least` on, below a limit; otherwise ValueError. `floats` such as 1e6 are accepted."""
    if floats and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not is_whole(value, least) or value >= below:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
    return int(value)


def checked_processes(name: str, value: float) -> int:
    """A number of processes on this machine; ValueError for more than any machine can start."""
    n = checked_count(name, value)
    if n > _MOST_PROCESSES:
        raise ValueError(f"{name}: expected at most {_MOST_PROCESSES:,} processes on one machine, got {n:,}")
    return n


def checked_seconds(name: str, value: object, zero: bool = False, or_else: str = "") -> float:
    """The value as a float that clocks can count: above 0, or 0, up to 1e9; otherwise ValueError."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and (value >= 0 if zero else value > 0) and value <= 1e9):  # type: ignore[operator]
        least = "of at least 0" if zero else "above 0"
        raise ValueError(f"{name}: expected seconds {least}, at most 1e9{or_else}, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def checked_bytes(name: str, value: object) -> int:
    """A number of bytes, given as such or as a text such as 2GB or 500 MiB; otherwise ValueError."""
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e\d+)?)\s*([kmgt]i?|)b?\s*", str(value).lower())
    number = float(found[1]) * units[found[2]] if found and not isinstance(value, bool) else 0.0
    if not 1 <= number < 2**62:
        raise ValueError(f"{name}: expected a number of bytes, such as 2GB or 500MiB, got {shown(value)}")
    return int(number)


def is_whole(value: object, least: int) -> bool:
    """Whether this is an int, Python's or NumPy's, of at least `least`; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
