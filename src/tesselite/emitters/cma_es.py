"""CMA-ES: several evolution strategies side by side, compiled. Their samples are ranked elsewhere.

Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772, with a Cholesky factor A of the covariance C = A A'
instead of its root, and the step-size path in the coordinates of the samples: x = m + sigma A z, and <z> where the
tutorial has C^(-1/2) <y>. The factor is recomputed only when C has changed by a certain fraction. Three covariances:

- full: n^2 numbers; the choice for up to some hundred variables;
- separable: variances alone. Ros and Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and Space
  Complexity", PPSN 2008;
- limited memory: a few directions, LM-MA-ES. Loshchilov, Glasmachers and Beyer, "Large Scale Black-Box Optimization by
  Limited-Memory Matrix Adaptation", IEEE TEVC 23 (2), 2019.

Ours are: mirrored samples (z and -z); the worst samples pushing the mean away as the best pull it ("anti": weights w/2
and -w/2, which halves the random walk where fitness says nothing; mirrored samples need it, or sigma shrinks too fast);
and bounds by folding: a strategy lives in an unbounded space, and what is evaluated is its sample reflected at the
bounds, repeatedly if needed. Nothing is resampled or repaired. (Clipped samples, with the mean free or clipped too,
were as good on the arm and far worse on a linear projection in a box.)

Everything a strategy draws is a function of its key and of the number of its generation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.fast_math import fma, normals_of_words, random_word, uniform_index
from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import LANES, aligned_zeros, bits, fused, load, read, spread, store, write
from tesselite.emitters.breeding import REFLECT, bounded
from tesselite.emitters.cma_algebra import add_products, combine, factorise, multiply_upper, padded

Covariance = Literal["full", "separable", "limited"]
COVARIANCES: tuple[Covariance, ...] = ("full", "separable", "limited")
_FULL, _SEPARABLE, _LIMITED = range(3)

INSIDE = (1 << LANES) - 1  # all lanes

LARGEST_FULL = 256  # values up to which the full covariance is the default


class Setting(NamedTuple):
    """What all strategies of a stack share: n values, `batch` samples a generation, and how they are used."""

    n: int
    batch: int
    covariance: int
    mirrored: bool
    anti: bool
    cm: float  # learning rate of the mean
    sigma: float  # the first one
    unit: Floats  # (n,) what one of a strategy's own units is in the space of solutions
    low: Floats  # (n,) bounds of solutions
    high: Floats


class Stack(NamedTuple):
    """The state of k strategies; w is n padded to whole lanes.

    `matrix` holds the upper half of C (k, w, w), the variances (k, 1, w), or the directions (k, m, w); `factor` the
    upper half of A' that was taken at generation `factored`, the deviations, or nothing. `age` counts generations since
    the start or restart, `generation` all of them. The samples z and y (k, rows, w) follow from the rest.
    """

    mean: Floats
    sigma: Floats
    path_c: Floats
    path_s: Floats
    matrix: Floats
    factor: Floats
    age: Ints
    factored: Ints
    generation: Ints
    z: Floats
    y: Floats


class Workspace(NamedTuple):
    """Scratch of one thread."""

    words: npt.NDArray[np.uint64]  # to draw from
    radius: Floats
    lanes: Floats
    order: Ints  # of samples, the best first
    weights: Floats
    pull: Floats  # how much each drawn vector counts for the mean, with its sign
    spread: Floats  # and for the covariance
    mean_y: Floats
    mean_z: Floats
    chosen: Floats  # vectors that count for the covariance
    scaled: Floats


_KEPT = ("mean", "sigma", "path_c", "path_s", "age", "factored", "generation")


class Strategies:
    """k independent strategies of CMA-ES."""

    def __init__(self, k: int, setting: Setting, key: np.uint64) -> None:
        n, w = setting.n, padded(setting.n)
        directions = 4 + int(3 * math.log(n))
        self.setting, self.key, self.k = setting, key, k
        height, factor = ((w, w), (1, 1), (directions, 0))[setting.covariance]
        drawn = (setting.batch + 1) // 2 if setting.mirrored else setting.batch
        self.stack = Stack(
            mean=aligned_zeros(k, w),
            sigma=np.zeros(k),
            path_c=aligned_zeros(k, w),
            path_s=aligned_zeros(k, w),
            matrix=aligned_zeros(k, height, w),
            factor=aligned_zeros(k, factor, w),
            age=np.zeros(k, np.int64),
            factored=np.zeros(k, np.int64),
            generation=np.zeros(k, np.int64),
            z=aligned_zeros(k, drawn, w),
            y=aligned_zeros(k, drawn, w),
        )

    def start(self, i: int, mean: Floats) -> None:
        """Restart strategy i at this mean (n,), in its units."""
        stack, setting = self.stack, self.setting
        stack.mean[i, : setting.n] = mean
        stack.sigma[i] = setting.sigma
        for array in (stack.path_c, stack.path_s, stack.matrix, stack.factor):
            array[i] = 0.0
        stack.age[i] = stack.factored[i] = 0
        if setting.covariance != _LIMITED:
            axes = np.arange(setting.n)
            rows = axes if setting.covariance == _FULL else 0
            stack.matrix[i, rows, axes] = stack.factor[i, rows, axes] = 1.0

    def sample(self, start: int, stop: int, out: Floats) -> None:
        """Write the samples of strategies [start, stop) to their rows of `out` (k, batch, n); always the same."""
        sample(self.setting, self.stack, self.key, start, stop, out)

    def update(self, start: int, stop: int, classes: Ints, values: Floats, parents: Ints, restart: Ints) -> None:
        """Learn from ranks: rows with a higher class, and of equals with a higher value, are better.

        `classes` and `values` are (k, batch). `parents` (k,) says how many of the best count; 0, or a degenerate state,
        sets `restart` (k,) to 1.
        """
        update(self.setting, self.stack, start, stop, classes, values, parents, restart)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The whole state, without padding and the halves of matrices that are 0."""
        n, stack = self.setting.n, self.stack
        rows, columns = self._kept_half()
        kept = {name: getattr(stack, name) for name in _KEPT}
        kept |= {name: kept[name][:, :n] for name in ("mean", "path_c", "path_s")}
        return kept | {"matrix": stack.matrix[:, rows, columns], "factor": self._factor(stack.factor, rows, columns)}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned; ValueError if it is that of other strategies."""
        n, stack = self.setting.n, self.stack
        rows, columns = self._kept_half()
        for name in _KEPT:
            whole = getattr(stack, name)
            part = whole[:, :n] if whole.ndim == 2 else whole
            _copy(name, state[name], part)
        _copy("matrix", state["matrix"], stack.matrix[:, rows, columns])
        stack.matrix[:, rows, columns] = state["matrix"]
        if stack.factor.size:
            _copy("factor", state["factor"], stack.factor[:, rows, columns])
            stack.factor[:, rows, columns] = state["factor"]

    def _kept_half(self) -> tuple[Any, Any]:
        n = self.setting.n
        if self.setting.covariance == _FULL:
            return np.triu_indices(n)
        return slice(None), slice(n)

    @staticmethod
    def _factor(factor: Floats, rows: Any, columns: Any) -> Floats:
        return factor[:, rows, columns] if factor.size else np.empty(0)


def _copy(name: str, given: npt.NDArray[Any], to: npt.NDArray[Any]) -> None:
    if given.shape != to.shape or given.dtype != to.dtype:
        raise ValueError(
            f"emitter: expected {name} of {to.shape} and {to.dtype}, got {given.shape} and {given.dtype}; "
            "the state is that of another emitter"
        )
    to[...] = given


# -- compiled ----------------------------------------------------------------------------------------------------------


@kernel()
def new_workspace(batch: int, drawn: int, w: int) -> Workspace:
    """Scratch for strategies with this many samples, drawn vectors and padded values."""
    words = drawn * w // 2
    return Workspace(
        np.empty(words, np.uint64),
        np.empty(words),
        np.empty(LANES),
        np.empty(batch, np.int64),
        np.empty(batch),
        np.empty(drawn),
        np.empty(drawn),
        np.empty(w),
        np.empty(w),
        np.empty((drawn + 1, w)),
        np.empty((drawn + 1, w)),
    )


@kernel()
def sample(setting: Any, stack: Any, key: Any, start: int, stop: int, out: Any) -> None:
    """`sample_one` for strategies [start, stop)."""
    work = new_workspace(setting.batch, stack.z.shape[1], stack.z.shape[2])
    for i in range(start, stop):
        sample_one(setting, stack, key, i, work, out)


@kernel(allocates=False)
def sample_one(setting: Any, stack: Any, key: Any, i: int, work: Any, out: Any) -> None:
    """Draw z, turn it into y = A z, and write m + sigma y, folded into the bounds, for strategy i."""
    batch = setting.batch
    drawn, w = stack.z.shape[1], stack.z.shape[2]
    words = drawn * w // 2
    own = random_word(key, np.uint64(i))
    z = stack.z[i].reshape(drawn * w)
    normals_of_words(own, np.uint64(stack.generation[i] * words), words, work.words, work.radius, z)
    _transform(setting, stack, i, work.lanes)
    for row in range(batch):
        p, sign = (row >> 1, 1.0 - 2.0 * (row & 1)) if setting.mirrored else (row, 1.0)
        _write(setting, stack, i, p, sign * stack.sigma[i], out, i * batch + row)


@kernel(allocates=False)
def restart_at(setting: Any, stack: Any, i: int, solutions: Any, row: int) -> None:
    """`Strategies.start` at a row of solutions (m, n), in the units of the space."""
    n, w = setting.n, stack.mean.shape[1]
    stack.sigma[i] = setting.sigma
    stack.age[i] = stack.factored[i] = 0
    height, factors = stack.matrix.shape[1], stack.factor.shape[1]
    for j in range(w):
        stack.mean[i, j] = solutions[row, j] / setting.unit[j] if j < n else 0.0
        stack.path_c[i, j] = stack.path_s[i, j] = 0.0
        for r in range(height):
            stack.matrix[i, r, j] = 0.0
        for r in range(factors):
            stack.factor[i, r, j] = 0.0
    if setting.covariance != _LIMITED:
        for j in range(n):
            r = j if setting.covariance == _FULL else 0
            stack.matrix[i, r, j] = stack.factor[i, r, j] = 1.0


@kernel(allocates=False)
def _write(setting: Any, stack: Any, i: int, p: int, step: float, out: Any, row: int) -> None:
    """Row number `row` of out: m + step y, in the units of the space, folded into the bounds where it leaves them."""
    n, drawn, w = setting.n, stack.y.shape[1], stack.y.shape[2]
    mean, y, unit, low, high = stack.mean, stack.y, setting.unit, setting.low, setting.high
    at_m, at_y, at = i * w, (i * drawn + p) * w, row * n
    whole = n // LANES * LANES
    inside = INSIDE
    for j in range(0, whole, LANES):
        x = load(unit, j) * fused(step, load(y, at_y + j), load(mean, at_m + j))
        store(out, at + j, x)
        inside &= bits((x >= load(low, j)) & (x <= load(high, j)))
    for j in range(whole, n):
        x = unit[j] * fma(step, read(y, at_y + j), read(mean, at_m + j))
        write(out, at + j, x)
        if not (low[j] <= x <= high[j]):
            inside = 0
    if inside != INSIDE:
        for j in range(n):
            write(out, at + j, bounded(read(out, at + j), low[j], high[j], REFLECT))


@kernel(allocates=False)
def _transform(setting: Any, stack: Any, i: int, lanes: Any) -> None:
    """y = A z for the samples of strategy i."""
    drawn, w = stack.z.shape[1], stack.z.shape[2]
    z, y, at = stack.z, stack.y, i * drawn * w
    if setting.covariance == _FULL:
        multiply_upper(setting.n, drawn, z, at, stack.factor, i * w * w, y)
        return
    for p in range(drawn):
        row = at + p * w
        for c in range(0, w, LANES):
            known = load(z, row + c)
            store(y, row + c, known * load(stack.factor, i * w + c) if setting.covariance == _SEPARABLE else known)
        if setting.covariance == _LIMITED:
            directions = stack.matrix.shape[1]
            rate = 1.0 / setting.n
            for q in range(min(stack.age[i], directions)):
                at_q = (i * directions + q) * w
                along = rate * _inner(w, stack.matrix, at_q, y, row, lanes)
                for c in range(0, w, LANES):
                    kept = load(y, row + c) * (1.0 - rate)
                    store(y, row + c, fused(along, load(stack.matrix, at_q + c), kept))
                rate /= 1.5


@kernel(allocates=False)
def _inner(w: int, a: Any, at_a: int, b: Any, at_b: int, lanes: Any) -> float:
    """The inner product of two rows, one of them padded with 0: eight sums, in `lanes`, added up in order."""
    sums = spread(0.0)
    for c in range(0, w, LANES):
        sums = fused(load(a, at_a + c), load(b, at_b + c), sums)
    store(lanes, 0, sums)
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    return total


@kernel()
def update(
    setting: Any, stack: Any, start: int, stop: int, classes: Any, values: Any, parents: Any, restart: Any
) -> None:
    """`update_one` for strategies [start, stop)."""
    work = new_workspace(setting.batch, stack.z.shape[1], stack.z.shape[2])
    for i in range(start, stop):
        if not update_one(setting, stack, i, work, classes, values, parents[i]):
            restart[i] = 1


@kernel(allocates=False)
def update_one(setting: Any, stack: Any, i: int, work: Any, classes: Any, values: Any, mu: int) -> bool:
    """`Strategies.update` of strategy i, of whose samples the mu best count; False if it must restart."""
    n, batch = setting.n, setting.batch
    drawn, w = stack.z.shape[1], stack.z.shape[2]
    order, weights, pull, spread_weights = work.order, work.weights, work.pull, work.spread
    mean_y, mean_z = work.mean_y, work.mean_z
    stack.generation[i] += 1
    stack.age[i] += 1
    _rank(classes[i], values[i], order)
    best, worst = order[0], order[batch - 1]
    flat = classes[i, best] == classes[i, worst] and not values[i, best] - values[i, worst] >= 1e-12
    if mu == 0 or flat:
        return False
    mueff = _positive_weights(mu, weights)
    for p in range(drawn):
        pull[p] = spread_weights[p] = 0.0
    for k in range(batch):
        row = order[k]
        p, sign = (row >> 1, 1.0 - 2.0 * (row & 1)) if setting.mirrored else (row, 1.0)
        weight = weights[k] if k < mu else 0.0
        if setting.anti:
            pull[p] += sign * 0.5 * (weight - (weights[batch - 1 - k] if batch - 1 - k < mu else 0.0))
        else:
            pull[p] += sign * weight
        spread_weights[p] += weight
    combine(n, drawn, pull, stack.y, i * drawn * w, mean_y)
    combine(n, drawn, pull, stack.z, i * drawn * w, mean_z)
    step = setting.cm * stack.sigma[i]
    for j in range(n):
        stack.mean[i, j] += step * mean_y[j]
    walk = 2.0 * mueff if setting.anti else mueff  # 1 / the sum of the squared weights of the mean
    if setting.covariance == _LIMITED:
        return _learn_limited(setting, stack, i, mueff, walk, mean_z)
    return _learn(setting, stack, i, mueff, walk, mean_y, mean_z, spread_weights, work.chosen, work.scaled)


@kernel(allocates=False)
def _rank(classes: Any, values: Any, order: Any) -> None:
    """Row numbers, the best first; equals in the order of their rows. By insertion: there are few."""
    for row in range(order.shape[0]):
        k = row
        while k > 0:
            other = order[k - 1]
            if classes[other] > classes[row] or (classes[other] == classes[row] and values[other] >= values[row]):
                break
            order[k] = other
            k -= 1
        order[k] = row


@kernel(allocates=False)
def _positive_weights(mu: int, weights: Any) -> float:
    """Logarithmic weights of the mu best, with the sum 1; their effective number."""
    total, squares = 0.0, 0.0
    for k in range(mu):
        weights[k] = np.log(mu + 0.5) - np.log(k + 1.0)
        total += weights[k]
    for k in range(mu):
        weights[k] /= total
        squares += weights[k] * weights[k]
    return 1.0 / squares


@kernel(allocates=False)
def _learn(
    setting: Any,
    stack: Any,
    i: int,
    mueff: float,
    walk: float,
    mean_y: Any,
    mean_z: Any,
    weights: Any,
    chosen: Any,
    scaled: Any,
) -> bool:
    """Paths, step size and covariance of strategy i after a step; False if it has degenerated."""
    n, drawn, w = setting.n, stack.z.shape[1], stack.z.shape[2]
    full = setting.covariance == _FULL
    cc = (4.0 + mueff / n) / (n + 4.0 + 2.0 * mueff / n)
    cs = (mueff + 2.0) / (n + mueff + 5.0)
    c1 = 2.0 / ((n + 1.3) ** 2 + mueff)
    cmu = min(1.0 - c1, 2.0 * (mueff - 2.0 + 1.0 / mueff) / ((n + 2.0) ** 2 + mueff))
    if not full:
        c1 = min(1.0, c1 * (n + 2.0) / 3.0)
        cmu = min(1.0 - c1, cmu * (n + 2.0) / 3.0)
    damping = 1.0 + 2.0 * max(0.0, np.sqrt((mueff - 1.0) / (n + 1.0)) - 1.0) + cs
    length = _walk(stack.path_s[i], n, cs, np.sqrt(cs * (2.0 - cs) * walk), mean_z)
    slow = length / n / (1.0 - (1.0 - cs) ** (2.0 * stack.age[i])) < 2.0 + 4.0 / (n + 1.0)
    _walk(stack.path_c[i], n, cc, np.sqrt(cc * (2.0 - cc) * walk) if slow else 0.0, mean_y)
    decay = 1.0 - c1 * (1.0 if slow else 1.0 - cc * (2.0 - cc)) - cmu
    rows = 0  # those that count, and the path
    for p in range(drawn + 1):
        weight = c1 if p == drawn else cmu * weights[p]
        if weight > 0.0:
            for c in range(0, w, LANES):
                values = load(stack.path_c, i * w + c) if p == drawn else load(stack.y, (i * drawn + p) * w + c)
                store(chosen, rows * w + c, values)
                store(scaled, rows * w + c, values * weight)
            rows += 1
    matrix, largest, positive = stack.matrix, 0.0, True
    if full:
        add_products(n, decay, rows, scaled, chosen, matrix, i * w * w)
        if (stack.age[i] - stack.factored[i]) * (c1 + cmu) * n > 0.5:
            positive = factorise(n, matrix, i * w * w, stack.factor, i * w * w)
            stack.factored[i] = stack.age[i]
        for j in range(n):
            largest = max(largest, matrix[i, j, j])
    else:
        for j in range(n):
            variance = decay * matrix[i, 0, j]
            for p in range(rows):
                variance += scaled[p, j] * chosen[p, j]
            matrix[i, 0, j] = variance
            stack.factor[i, 0, j] = np.sqrt(variance)
            largest = max(largest, variance)
            positive &= variance > 0.0
    stack.sigma[i] *= np.exp(min(1.0, 0.5 * cs / damping * (length / n - 1.0)))
    deviation = stack.sigma[i] * np.sqrt(largest)
    return positive and 1e-11 < deviation < 1e100


@kernel(allocates=False)
def _walk(path: Any, n: int, rate: float, gain: float, step: Any) -> float:
    """path = (1 - rate) path + gain step; its squared length."""
    total = 0.0
    for j in range(n):
        path[j] = (1.0 - rate) * path[j] + gain * step[j]
        total += path[j] * path[j]
    return total


@kernel(allocates=False)
def _learn_limited(setting: Any, stack: Any, i: int, mueff: float, walk: float, mean_z: Any) -> bool:
    """Path, step size and directions of strategy i after a step; False if it has degenerated.

    The rates are those of LM-MA-ES, which is for many more values than samples; they are kept below 1/2 for others.
    """
    n, batch = setting.n, setting.batch
    cs = min(0.5, 2.0 * batch / n)
    length = _walk(stack.path_s[i], n, cs, np.sqrt(cs * (2.0 - cs) * walk), mean_z)
    rate = batch / n
    for q in range(stack.matrix.shape[1]):
        c = min(0.5, rate)
        _walk(stack.matrix[i, q], n, c, np.sqrt(c * (2.0 - c) * walk), mean_z)
        rate /= 4.0
    stack.sigma[i] *= np.exp(min(1.0, 0.5 * cs * (length / n - 1.0)))
    return 1e-11 < stack.sigma[i] < 1e100


@kernel()
def draw_word(key: Any, stream: int, counter: int) -> Any:
    """Word `counter` of a stream of its own."""
    return random_word(random_word(key, np.uint64(stream)), np.uint64(counter))


@kernel()
def draw_index(key: Any, stream: int, counter: int, n: int) -> int:
    """A uniform whole number below n from that word."""
    return uniform_index(random_word(random_word(key, np.uint64(stream)), np.uint64(counter)), n)
