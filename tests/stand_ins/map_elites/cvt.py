"""What the documentation uses of pymap_elites: evaluates random vectors; keeps the best by their rounded features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


def compute(
    dim_map: int,
    dim_x: int,
    f: Callable[[npt.NDArray[np.float64]], tuple[float, list[float]]],
    n_niches: int = 1000,
    max_evals: float = 1e5,
) -> dict[tuple[int, ...], float]:
    archive: dict[tuple[int, ...], float] = {}
    per_side = round(n_niches ** (1 / dim_map))
    for x in np.random.default_rng(1).random((100, dim_x)):
        fitness, features = f(x)
        assert len(features) == dim_map
        niche = tuple(int(value * per_side) for value in features)
        archive[niche] = max(fitness, archive.get(niche, -np.inf))
    return archive
