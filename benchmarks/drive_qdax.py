"""How the benchmarks drive QDax: MAPElites.scan_update inside one compiled jax.lax.scan over all batches.

No metrics are computed during the search, and compilation is not counted: both in QDax' favour. The arithmetic is
JAX' default, float32. The mixing emitter with variation_percentage 1 applies iso+line to every offspring.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from qdax.core.containers.mapelites_repertoire import compute_euclidean_centroids
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.map_elites import MAPElites

from arm_objectives import JOINTS
from measurement import INITIAL, ISO, LINE, Result


def _arm(solutions: Any, key: Any) -> tuple[Any, Any, dict[str, Any]]:
    angles = jnp.cumsum(2.0 * jnp.pi * solutions - jnp.pi, axis=1)
    features = 0.5 + 0.5 * jnp.stack([jnp.cos(angles).mean(axis=1), jnp.sin(angles).mean(axis=1)], axis=1)
    return 1.0 - solutions.std(axis=1, ddof=1), features, {}


@functools.cache
def _search(batch_size: int, n_batches: int) -> tuple[MAPElites, Any]:
    """The algorithm and its compiled loop over all batches."""
    emitter = MixingEmitter(
        mutation_fn=None,
        variation_fn=functools.partial(isoline_variation, iso_sigma=ISO, line_sigma=LINE, minval=0.0, maxval=1.0),
        variation_percentage=1.0,
        batch_size=batch_size,
    )
    search = MAPElites(scoring_function=_arm, emitter=emitter, metrics_function=lambda repertoire: {})

    @jax.jit
    def loop(repertoire: Any, state: Any, key: Any) -> Any:
        return jax.lax.scan(search.scan_update, (repertoire, state, key), None, length=n_batches)[0][0]

    return search, loop


def run(niches: Any, evaluations: int, batch_size: int, seed: int) -> Result:
    """A search for the arm on a grid (a tuple of cells per feature) or on centroids (k, 2) in the unit square."""
    if isinstance(niches, tuple):
        centroids = compute_euclidean_centroids(niches, minval=0.0, maxval=1.0)
    else:
        centroids = jnp.asarray(niches, dtype=jnp.float32)
    n_batches = -(-(evaluations - INITIAL) // batch_size)
    search, loop = _search(batch_size, n_batches)
    key = jax.random.key(seed)
    key, initial_key, init_key = jax.random.split(key, 3)
    initial = jax.random.uniform(initial_key, (INITIAL, JOINTS))
    repertoire, state, _ = search.init(initial, centroids, init_key)
    compiled = loop.lower(repertoire, state, key).compile()
    jax.block_until_ready(repertoire)
    started = time.perf_counter()
    repertoire = jax.block_until_ready(compiled(repertoire, state, key))
    seconds = time.perf_counter() - started
    fitness = np.asarray(repertoire.fitnesses, dtype=np.float64).ravel()
    filled = fitness > -np.inf
    return Result(n_batches * batch_size, seconds, float("nan"), float(filled.mean()), float(fitness[filled].sum()))
