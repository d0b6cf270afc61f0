"""The paper's hexapod experiment as data: every setting with the place it comes from.

Running it lives in `tesselite.runs` and the command line. Paper: Vassiliades, Chatzilygeroudis, Mouret (2018), "Using
centroidal Voronoi tessellations to scale up the multi-dimensional archive of phenotypic elites algorithm", section V
and the table of parameters in its appendix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class HexapodSettings:
    """Settings of one EA-descriptor pair of the paper's hexapod experiment."""

    problem: str  # section V-A.3: the four descriptors
    grid: int | None  # table of parameters: discretisations per dimension; None: "cannot be employed" (36D)
    n_niches: int = 10_000  # table of parameters: niches k of CVT-MAP-Elites
    n_samples: int = 100_000  # table of parameters: samples K for the CVT
    initial: int = 10_000  # table of parameters: initial solutions
    batch_size: int = 200  # table of parameters: offspring per generation
    mutation: float = 0.05  # released experiment: probability that a value is drawn again among the 21 levels
    generations: int = 75_001  # released experiment; the paper says 75k
    evaluations: int = 15_010_200  # table of parameters: 10,000 + 75,001 * 200
    runs: int = 20  # section V-B: independent evolutionary runs


FAST = 0.2  # m/s; section V-B: the speed above which controllers are counted


DUTY = HexapodSettings("hexapod:duty", grid=5)
PHASE = HexapodSettings("hexapod:phase", grid=3)
AMPLITUDE = replace(PHASE, problem="hexapod:amplitude")  # what the released experiment runs as the paper's 12D
AMPLITUDE_PHASE = HexapodSettings("hexapod:amplitude-phase", grid=2)
CONTROLLER = HexapodSettings("hexapod:controller", grid=None)

PAPER = {settings.problem: settings for settings in (DUTY, PHASE, AMPLITUDE, AMPLITUDE_PHASE, CONTROLLER)}
