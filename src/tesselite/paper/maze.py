"""The paper's settings of the maze experiment, as data; how they are run lives in the command line and `benchmarks/`.

Vassiliades, Chatzilygeroudis and Mouret (2018), section IV and the table of parameters in the appendix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class MazeExperiment:
    """Settings of the maze experiment. Descriptors are named as `tesselite.problems.maze` names them."""

    descriptors: tuple[str, ...] = ("2d", "10d", "20d", "50d", "250d", "1000d")  # section IV-A.3
    grid: Mapping[str, int] = field(  # cells per dimension, where MAP-Elites fits in memory; section IV-A.3
        default_factory=lambda: MappingProxyType({"2d": 71, "10d": 3, "20d": 2})
    )
    n_niches: int = 5_000  # CVT; section IV-A.3, table: "#niches (k) 5k"
    n_samples: int = 1_000_000  # for the CVT; table: "#samples for CVT (K) 1000k"
    initial: int = 2_000  # table: "initial #solutions 2k"
    batch_size: int = 200  # table: "#offspring per gen. 200"
    evaluations: int = 200_000  # table: "#gen. (eval.) 990 (200k)"
    trials: int = 30  # section IV-B: "30 independent evolutionary trials"
    near: float = 20.0  # section IV-B: "a distance of at most 20 units (diameter of the robot)"
    solved: float = 10.0  # section IV-B: "less than 10 units which is equal to the radius of the robot"


PAPER = MazeExperiment()
