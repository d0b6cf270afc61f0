"""Checks of arguments that many share: ValueError with the argument's name, what was expected and what came."""

from __future__ import annotations

import numpy as np

from tesselite.base.numbers import shown


def checked_count(name: str, value: float, least: int = 1) -> int:
    """The value as an int of at least `least`, floats such as 1e6 included; otherwise ValueError."""
    whole = isinstance(value, int | float | np.integer) and not isinstance(value, bool) and value == value // 1
    if not whole or not least <= value < 2**62:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
    return int(value)


def is_whole(value: object, least: int) -> bool:
    """Whether this is an int of at least `least`: what files are checked by."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
