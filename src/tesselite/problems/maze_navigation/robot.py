"""Robot: the settings of the simulated robot that the paper leaves open, with their defaults.

How it moves and senses, step by step, lives in `simulation`. Paper: Vassiliades et al. 2018, section IV-A, Fig. 3a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal

SPEED = 2.0
"""Largest displacement of a wheel in one step, in units (Fig. 3a)."""

LASER_ANGLES = (-math.pi / 4, 0.0, math.pi / 4)
"""Where the lasers point, from the heading, + clockwise [choice: the paper shows three arrows]."""

N_LASERS = len(LASER_ANGLES)
N_SLICES = 4
N_INPUTS = N_LASERS + N_SLICES
N_OUTPUTS = 2


def is_finite_number(value: object) -> bool:
    """Whether a setting is a number at all, of Python's or NumPy's, and finite."""
    return isinstance(value, Real) and math.isfinite(value)


@dataclass(frozen=True)
class Robot:
    """A robot on two wheels with three lasers and a four-slice compass towards the goal.

    `radius` in units (the paper's robot: diameter 20); `axle`, the distance between the wheels, at least 10.
    `laser_range` in units: a laser reads distance / range, and 1 if nothing is that near [choice].
    `after_hit`: what a robot keeps that would have hit a wall. "turn": its position is restored, its heading turns on
    [choice: the default, as in the simulator of the paper's time]; "stick": the heading is restored, too.
    `slices`: "from_heading": the first slice covers the 90 degrees clockwise of the heading [choice: the default];
    "around_heading": it is centred on the heading.
    """

    radius: float = 10.0
    axle: float = 20.0
    laser_range: float = 100.0
    after_hit: Literal["turn", "stick"] = "turn"
    slices: Literal["from_heading", "around_heading"] = "from_heading"

    def __post_init__(self) -> None:
        for name, low in (("radius", 2.0), ("axle", 10.0), ("laser_range", 1.0)):
            value = getattr(self, name)
            if not (is_finite_number(value) and value >= low):
                raise ValueError(f"{name}: expected at least {low:g} units, got {value!r}")
        if self.after_hit not in ("turn", "stick"):
            raise ValueError(f"after_hit: expected 'turn' or 'stick', got {self.after_hit!r}")
        if self.slices not in ("from_heading", "around_heading"):
            raise ValueError(f"slices: expected 'from_heading' or 'around_heading', got {self.slices!r}")
