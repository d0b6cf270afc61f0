"""Breeding: parents drawn from the archive and varied, compiled, from counter-based random words.

Every draw of evaluation number e comes from words that depend on the seed and on e alone, so `ask` and the compiled
search loop, on any number of threads, breed the same offspring. The operators' parameters and citations are in
`tesselite.variation`, which is what users call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.compiled.fast_math import normals_of_words, prefetch, random_word, uniform_index, unit_uniform
from tesselite.compiled.kernels import kernel
from tesselite.emitters.breeding_lanes import LANES, step_lanes

GAUSSIAN, ISO_LINE, POLYNOMIAL, SBX, RESAMPLE = 0, 1, 2, 3, 4
CLIP, REFLECT = 0.0, 1.0

CHUNK = 64  # evaluations that share one pass over the scratch memory
FETCHED = 16  # evaluations whose parents are fetched ahead together
CACHED = 1 << 16  # arrays of up to so many values are in a core's cache anyway

_U0, _U1, _U2 = np.uint64(0), np.uint64(1), np.uint64(2)
_LOW32 = np.uint64(0xFFFFFFFF)


@kernel()
def words_per_offspring(code: int, width: int) -> int:
    """How many random words an offspring of this operator uses."""
    if code == GAUSSIAN:
        return (width + 1) // 2
    if code == ISO_LINE:
        return (width + 2) // 2
    if code == RESAMPLE:
        return width
    return 2 * width


@kernel(inline="always")
def _bounded(x: float, low: float, high: float, mode: float) -> float:
    """x inside [low, high]: moved to the nearest bound, or folded back as often as it takes.

    What is infinite is moved to the nearest bound in any case, NaN to the lower one.
    """
    if mode == REFLECT and (x < low or x > high) and abs(x) < np.inf:
        span = high - low
        folded = np.fmod(abs(0.5 * x - 0.5 * low), span)  # half of it: the whole may be more than a double holds
        x = low + 2.0 * (span - folded if folded > 0.5 * span else folded)
    return min(max(x, low), high) if x == x else low


@kernel()
def draw_parents(key: Any, first: int, n_rows: int, parents: Any) -> None:
    """Fill parents (2, n) with uniform row numbers for evaluations first, first + 1, ..."""
    for i in range(parents.shape[1]):
        counter = np.uint64(2) * np.uint64(first + i)
        parents[0, i] = uniform_index(random_word(key, counter), n_rows)
        parents[1, i] = uniform_index(random_word(key, counter + _U1), n_rows)


@kernel()
def _fetch_parents(mothers: Any, fathers: Any, parents: Any) -> None:
    """Have these parents' rows fetched into the cache, unless all are there anyway."""
    width = mothers.shape[1]
    if mothers.size > CACHED:
        for i in range(parents.shape[1]):
            for j in range(0, width, 8):
                prefetch(mothers, parents[0, i] * width + j)
                prefetch(fathers, parents[1, i] * width + j)


@kernel()
def vary(
    code: int,
    parameters: Any,
    mothers: Any,
    fathers: Any,
    parents: Any,
    low: Any,
    high: Any,
    levels: Any,
    key: Any,
    first: int,
    noise: Any,
    out: Any,
) -> None:
    """Fill out (n, width) with offspring of rows parents[0] of `mothers` and, for two parents, parents[1] of `fathers`.

    n is at most CHUNK; `noise` is scratch for 2 * CHUNK * words_per_offspring values; `parameters` are the operator's
    two numbers and how bounds are kept.
    """
    n, width = out.shape
    words = words_per_offspring(code, width)
    counter = np.uint64(first) * np.uint64(words)
    # As locals: an array could change under the compiler's hands while `out` is written.
    first_number, second_number, mode = parameters[0], parameters[1], parameters[2]
    if code in (GAUSSIAN, ISO_LINE):
        # Parents are scattered over memory: they are on their way here while the random numbers are made.
        random_words, radius = np.empty(FETCHED * words, np.uint64), np.empty(FETCHED * words)
        for start in range(0, n, FETCHED):
            stop = min(start + FETCHED, n)
            _fetch_parents(mothers, fathers, parents[:, start:stop])
            m = (stop - start) * words
            part = noise[2 * start * words : 2 * stop * words]
            normals_of_words(key, counter + np.uint64(start * words), random_words[:m], radius[:m], part)
    else:
        _fetch_parents(mothers, fathers, parents)
    if code in (GAUSSIAN, ISO_LINE):
        # One parent is two that are the same: its step along the line between them is 0.
        second = 1 if code == ISO_LINE else 0
        sigma = first_number * (high - low)
        if mode == CLIP and width >= LANES:
            _step_in_lanes(mothers, fathers, parents, second, noise, words, sigma, second_number, low, high, out)
        else:
            for i in range(n):
                mother, father, drawn = parents[0, i], parents[second, i], 2 * i * words
                along = second_number * noise[drawn + width * second]
                for j in range(width):
                    x = mothers[mother, j]
                    step = sigma[j] * noise[drawn + j]
                    out[i, j] = _bounded(x + step + along * (fathers[father, j] - x), low[j], high[j], mode)
    elif code == POLYNOMIAL:
        for i in range(n):
            mother = parents[0, i]
            for j in range(width):
                at = counter + np.uint64(2 * (i * width + j))
                x = mothers[mother, j]
                if unit_uniform(random_word(key, at)) < second_number:
                    u = unit_uniform(random_word(key, at + _U1))
                    x += (high[j] - low[j]) * _polynomial_step(u, first_number)
                out[i, j] = _bounded(x, low[j], high[j], mode)
    elif code == SBX:
        for i in range(n):
            mother, father = parents[0, i], parents[1, i]
            for j in range(width):
                at = counter + np.uint64(2 * (i * width + j))
                x, y = mothers[mother, j], fathers[father, j]
                coin = random_word(key, at)
                if unit_uniform(coin) < second_number:
                    beta = _sbx_spread(unit_uniform(random_word(key, at + _U1)), first_number)
                    if coin & _U1:  # one of the two children of the pair; its lowest bit plays no part above
                        beta = -beta
                    x = 0.5 * ((x + y) + beta * (x - y))
                out[i, j] = _bounded(x, low[j], high[j], mode)
    else:
        # A word decides with its upper half whether the value is drawn again, with its lower half which level it gets.
        threshold = np.uint64(np.rint(first_number * 4294967296.0))
        n_levels = np.uint64(levels.shape[0])
        for i in range(n):
            mother = parents[0, i]
            for j in range(width):
                word = random_word(key, counter + np.uint64(i * width + j))
                if (word >> np.uint64(32)) < threshold:
                    out[i, j] = levels[np.int64(((word & _LOW32) * n_levels) >> np.uint64(32))]
                else:
                    out[i, j] = mothers[mother, j]


@kernel()
def _step_in_lanes(
    mothers: Any,
    fathers: Any,
    parents: Any,
    second: int,
    noise: Any,
    words: int,
    sigma: Any,
    line: float,
    low: Any,
    high: Any,
    out: Any,
) -> None:
    """Gaussian and iso+line steps with clipping, four values at a time; `width` is at least four."""
    n, width = out.shape
    for i in range(n):
        mother, father, at = parents[0, i], parents[second, i], 2 * i * words
        along = line * noise[at + width * second]
        for block in range(0, width, LANES):
            j = min(block, width - LANES)  # the last block may do some values again
            step_lanes(mothers, mother, fathers, father, j, noise, at, along, sigma, low, high, out, i)


@kernel(inline="always")
def _polynomial_step(u: float, eta: float) -> float:
    """Deb's polynomial mutation step in (-1, 1) for a uniform u."""
    if u < 0.5:
        return (2.0 * u) ** (1.0 / (eta + 1.0)) - 1.0
    return 1.0 - (2.0 * (1.0 - u)) ** (1.0 / (eta + 1.0))


@kernel(inline="always")
def _sbx_spread(u: float, eta: float) -> float:
    """Deb and Agrawal's spread factor for a uniform u."""
    if u <= 0.5:
        return (2.0 * u) ** (1.0 / (eta + 1.0))
    return (1.0 / (2.0 * (1.0 - u))) ** (1.0 / (eta + 1.0))


@kernel()
def breed(
    code: int,
    parameters: Any,
    solutions: Any,
    n_rows: int,
    low: Any,
    high: Any,
    levels: Any,
    selection_key: Any,
    variation_key: Any,
    first: int,
    out: Any,
) -> None:
    """Fill out (n, width) with the offspring of evaluations first, first + 1, ...: parents uniform over n_rows rows."""
    n, width = out.shape
    noise = np.empty(2 * CHUNK * words_per_offspring(code, width))
    parents = np.empty((2, CHUNK), np.int64)
    for start in range(0, n, CHUNK):
        count = min(CHUNK, n - start)
        chosen = parents[:, :count]
        draw_parents(selection_key, first + start, n_rows, chosen)
        part = out[start : start + count]
        vary(
            code,
            parameters,
            solutions,
            solutions,
            chosen,
            low,
            high,
            levels,
            variation_key,
            first + start,
            noise,
            part,
        )
