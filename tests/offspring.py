"""Offspring by the default operator of a space."""

from __future__ import annotations

import numpy as np

from tesselite.emitters.operators import default_for


def offspring_of(space, parents, rng):
    """One offspring of each parent, (n, width); those of two parents have a neighbour as their second."""
    variation = default_for(space)
    pairs = getattr(variation, "n_parents", 1) == 2
    return variation(np.stack([parents, np.roll(parents, 1, axis=0)]) if pairs else parents, space, rng)
