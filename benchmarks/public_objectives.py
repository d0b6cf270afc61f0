"""The public benchmarks as vectorised NumPy functions, as pyribs' users write them: (n, 100) -> fitness, features.

Written from the definitions, apart from the compiled problems of tesselite (see docs/benchmarks.md for sources).
"""

from __future__ import annotations

from typing import Any

import numpy as np

LIMIT, SHIFT = 5.12, 2.048


def projected(x: Any, features: int = 2) -> Any:
    """Sums over blocks of variables, each folded back towards 0 where it is beyond +-5.12."""
    inside = np.abs(x) <= LIMIT
    folded = np.where(inside, x, LIMIT / np.where(inside, 1.0, x))
    return folded.reshape(len(x), features, -1).sum(axis=2)


def lp_sphere(x: Any) -> tuple[Any, Any]:
    """Sphere around 2.048, 100 at best, 0 in the corner at -5.12."""
    worst = (LIMIT + SHIFT) ** 2
    return 100.0 * (1.0 - ((x - SHIFT) ** 2).mean(axis=1) / worst), projected(x)


def lp_rastrigin(x: Any) -> tuple[Any, Any]:
    """Rastrigin's function around 2.048, 100 at best, 0 in the corner at -5.12."""

    def raw(z: Any) -> Any:
        return 10.0 + z**2 - 10.0 * np.cos(2.0 * np.pi * z)

    return 100.0 * (1.0 - raw(x - SHIFT).mean(axis=1) / raw(-LIMIT - SHIFT)), projected(x)


def lp_plateau(x: Any) -> tuple[Any, Any]:
    """100 inside the box, less by the mean squared distance outside."""
    outside = np.maximum(np.abs(x) - LIMIT, 0.0)
    return 100.0 - (outside**2).mean(axis=1), projected(x)


def arm_repertoire(x: Any) -> tuple[Any, Any]:
    """An arm with links of length 1: 100 less 100 times the variance of the angles; where its hand is."""
    turned = np.cumsum(x, axis=1)
    hand = np.stack([np.cos(turned).sum(axis=1), np.sin(turned).sum(axis=1)], axis=1)
    return 100.0 * (1.0 - x.var(axis=1)), hand


# By the name of the benchmark: the function, the bound of the features, and the step size of the literature.
PUBLIC = {
    "lp-sphere": (lp_sphere, 256.0, 0.5),
    "lp-rastrigin": (lp_rastrigin, 256.0, 0.5),
    "lp-plateau": (lp_plateau, 256.0, 0.5),
    "arm": (arm_repertoire, 100.0, 0.1),
}
