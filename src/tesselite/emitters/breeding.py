"""Breeding: parents drawn from the archive and varied, compiled, from counter-based random words.

Every draw of evaluation number e comes from words that depend on the seed and on e alone, so `ask` and the compiled
search loop breed the same offspring on any number of threads. Each operator is a block (see `compiled.blocks`) of its
own; the operators' parameters and citations are in `emitters.operators`, which is what users call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.compiled.blocks import CHUNK, Brood, call_variation, variation_block
from tesselite.compiled.fast_math import normals_of_words, random_word, uniform_index, unit_uniform
from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.memory import prefetch
from tesselite.emitters.breeding_lanes import LANES, step_lanes

CLIP, REFLECT = 0.0, 1.0  # how bounds are kept; the last of an operator's numbers

FETCHED = 16  # offspring whose parents are fetched ahead together
CACHED = 1 << 16  # arrays of up to this many values are in a core's cache anyway

_U1, _U2 = np.uint64(1), np.uint64(2)
_LOW32 = np.uint64(0xFFFFFFFF)


@kernel(inline="always")
def bounded(x: float, low: float, high: float, mode: float) -> float:
    """x inside [low, high]: moved to the nearest bound, or folded back as often as it takes.

    Infinity is always moved to the nearest bound, NaN to the lower one.
    """
    if mode == REFLECT and (x < low or x > high) and abs(x) < np.inf:
        span = high - low
        folded = np.fmod(abs(0.5 * x - 0.5 * low), span)  # half of it: the whole may overflow a double
        x = low + 2.0 * (span - folded if folded > 0.5 * span else folded)
    return min(max(x, low), high) if x == x else low


@kernel(inline="always")
def _span(low: float, high: float) -> float:
    """The length of an axis, which steps are shares of; 1 where it has no bounds (`Reals`)."""
    span = high - low
    return span if span < np.inf else 1.0


@kernel(allocates=False)
def _draw(key: Any, first: int, n: int, n_rows: int, parents: Any) -> None:
    """Fill the first n columns of parents (2, ...) with uniform row numbers for evaluations first, first + 1, ..."""
    for i in range(n):
        counter = _U2 * np.uint64(first + i)
        parents[0, i] = uniform_index(random_word(key, counter), n_rows)
        parents[1, i] = uniform_index(random_word(key, counter + _U1), n_rows)


@kernel(allocates=False)
def draw_parents(key: Any, first: int, n_rows: int, parents: Any) -> None:
    """Fill parents (2, n) with uniform row numbers for evaluations first, first + 1, ..."""
    _draw(key, first, parents.shape[1], n_rows, parents)


@part()
def breed_chunk(address: int, selection_key: Any, first: int, n: int, n_rows: int, brood: Any) -> int:
    """Choose parents uniformly from the first n_rows elites, and have the variation at this address breed n children.

    Returns how many children were made: n, unless the variation raised an exception.
    """
    _draw(selection_key, first, n, n_rows, brood.parents)
    return call_variation(address, first, n, brood)


@kernel(allocates=False)
def breed(address: int, selection_key: Any, first: int, n_rows: int, brood: Any) -> int:
    """Fill any number of children as `breed_chunk` does, chunk by chunk; how many were made."""
    n = brood.children.shape[0]
    for start in range(0, n, CHUNK):
        chunk = Brood(
            brood.elites,
            brood.parents,
            brood.low,
            brood.high,
            brood.numbers,
            brood.key,
            brood.children[start:],
        )
        count = min(CHUNK, n - start)
        made = breed_chunk(address, selection_key, first + start, count, n_rows, chunk)
        if made < count:
            return start + made
    return n


@part()
def _fetch_parents(brood: Any, start: int, stop: int) -> None:
    """Prefetch the parents of children [start, stop), unless all elites are in the cache anyway."""
    elites = brood.elites
    if elites.size > CACHED:
        width = elites.shape[1]
        for i in range(start, stop):
            for j in range(0, width, 8):
                prefetch(elites, brood.parents[0, i] * width + j)
                prefetch(elites, brood.parents[1, i] * width + j)


@part()
def _normal_steps(brood: Any, first: int, second: int, sigma: float, line: float, mode: float) -> None:
    """x + sigma N(0, I) + line (y - x) N(0, 1), sigma in spans of the axes; y is x where `second` is 0, else parent 2.

    A word makes two normals: a child has one for each value and, for a line, one more.
    """
    out = brood.children
    n, width = out.shape
    words = (width + 1 + second) // 2
    steps = np.empty(width)
    for j in range(width):
        steps[j] = sigma * _span(brood.low[j], brood.high[j])
    random_words, radius = np.empty(FETCHED * words, np.uint64), np.empty(FETCHED * words)
    noise = np.empty(2 * FETCHED * words)
    for start in range(0, n, FETCHED):
        stop = min(start + FETCHED, n)
        # Parents are scattered over memory: they are prefetched while the random numbers are made.
        _fetch_parents(brood, start, stop)
        counter = np.uint64(first + start) * np.uint64(words)
        normals_of_words(brood.key, counter, (stop - start) * words, random_words, radius, noise)
        for i in range(start, stop):
            mother, father, drawn = brood.parents[0, i], brood.parents[second, i], 2 * (i - start) * words
            along = line * noise[drawn + width * second]
            if mode == CLIP and width >= LANES:
                for block in range(0, width, LANES):
                    j = min(block, width - LANES)  # the last block may repeat some values
                    step_lanes(
                        brood.elites, mother, father, j, noise, drawn, along, steps, brood.low, brood.high, out, i
                    )
            else:
                for j in range(width):
                    x = brood.elites[mother, j]
                    moved = x + steps[j] * noise[drawn + j] + along * (brood.elites[father, j] - x)
                    out[i, j] = bounded(moved, brood.low[j], brood.high[j], mode)


@variation_block
def gaussian(brood: Any, first: int) -> None:
    """Numbers: sigma, mode."""
    _normal_steps(brood, first, 0, brood.numbers[0], 0.0, brood.numbers[1])


@variation_block
def iso_line(brood: Any, first: int) -> None:
    """Numbers: iso, line, mode."""
    _normal_steps(brood, first, 1, brood.numbers[0], brood.numbers[1], brood.numbers[2])


@variation_block
def polynomial(brood: Any, first: int) -> None:
    """Numbers: eta, probability, mode. Deb's step in (-1, 1), from a uniform u."""
    out = brood.children
    n, width = out.shape
    power, probability, mode = 1.0 / (brood.numbers[0] + 1.0), brood.numbers[1], brood.numbers[2]
    _fetch_parents(brood, 0, n)
    for i in range(n):
        for j in range(width):
            at = np.uint64(2 * ((first + i) * width + j))
            x = brood.elites[brood.parents[0, i], j]
            if unit_uniform(random_word(brood.key, at)) < probability:
                u = unit_uniform(random_word(brood.key, at + _U1))
                step = (2.0 * u) ** power - 1.0 if u < 0.5 else 1.0 - (2.0 * (1.0 - u)) ** power
                x += _span(brood.low[j], brood.high[j]) * step
            out[i, j] = bounded(x, brood.low[j], brood.high[j], mode)


@variation_block
def sbx(brood: Any, first: int) -> None:
    """Numbers: eta, probability, mode. Deb and Agrawal's spread factor, from a uniform u."""
    out = brood.children
    n, width = out.shape
    power, probability, mode = 1.0 / (brood.numbers[0] + 1.0), brood.numbers[1], brood.numbers[2]
    _fetch_parents(brood, 0, n)
    for i in range(n):
        for j in range(width):
            at = np.uint64(2 * ((first + i) * width + j))
            x, y = brood.elites[brood.parents[0, i], j], brood.elites[brood.parents[1, i], j]
            coin = random_word(brood.key, at)
            if unit_uniform(coin) < probability:
                u = unit_uniform(random_word(brood.key, at + _U1))
                beta = (2.0 * u if u <= 0.5 else 1.0 / (2.0 * (1.0 - u))) ** power
                if coin & _U1:  # one of the two children of the pair; its lowest bit is not used above
                    beta = -beta
                x = 0.5 * ((x + y) + beta * (x - y))
            out[i, j] = bounded(x, brood.low[j], brood.high[j], mode)


@variation_block
def resample(brood: Any, first: int) -> None:
    """Numbers: probability, levels. A word's upper half decides whether a value is drawn again, its lower half what."""
    out = brood.children
    n, width = out.shape
    threshold = np.uint64(np.rint(brood.numbers[0] * 4294967296.0))
    n_levels = np.uint64(brood.numbers.shape[0] - 1)
    _fetch_parents(brood, 0, n)
    for i in range(n):
        for j in range(width):
            word = random_word(brood.key, np.uint64((first + i) * width + j))
            if (word >> np.uint64(32)) < threshold:
                out[i, j] = brood.numbers[1 + np.int64(((word & _LOW32) * n_levels) >> np.uint64(32))]
            else:
                out[i, j] = brood.elites[brood.parents[0, i], j]
