"""Periodic, Labels: features that are not plain numbers between two bounds, as `FeatureSpace` takes them.

How distances along them are measured is in `scaling`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tesselite.base.numbers import as_floats, shown


@dataclass(frozen=True)
class Periodic:
    """A feature that starts again at `low` when it reaches `high`: an angle, a phase, a time of day.

    Values are wrapped into [low, high), so none lies outside. The distance between two values is the shorter of the two
    arcs.

    Example:
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"heading": tl.Periodic(0, 360)})
        >>> space.settled([[370.0], [-10.0], [360.0]]).ravel().tolist()
        [10.0, 350.0, 0.0]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = as_floats("Periodic", (self.low, self.high), "two finite numbers, low < high").tolist()
        if not (np.isfinite([low, high, high - low]).all() and low < high):
            raise ValueError(f"Periodic: expected two finite numbers, low < high, got {low:g} and {high:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclass(frozen=True)
class Labels:
    """A feature that is one of a few labels, such as a material. No niche holds solutions of different labels.

    Functions of one solution return the label itself or its number, counted from 0; arrays hold numbers. Anything else
    is invalid.

    Example:
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"material": tl.Labels(["steel", "oak"]), "mass": (0, 10)})
        >>> tl.GridTessellation(space, 5).shape
        (2, 5)
    """

    names: tuple[str, ...]

    def __init__(self, names: Iterable[str]) -> None:
        found = () if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
        texts = all(isinstance(name, str) and name for name in found)
        if len(found) < 2 or not texts or len(set(found)) < len(found):
            raise ValueError(f"Labels: expected at least two different texts, got {shown(names)}")
        object.__setattr__(self, "names", tuple(str(name) for name in found))
