"""Compiled sine, cosine, hyperbolic tangent and random numbers for the maze, the same bits on every machine.

They use only IEEE additions, multiplications and divisions and tables computed here in decimal arithmetic, so a run
does not depend on the machine's mathematical library. Each is within 1.2e-16 (absolute) of the true value; tests hold
them to it. Smaller differences make trajectories of a recurrent network diverge.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.lanes import choose, entries, magnitude, rounded

_TANH_STEPS = 32  # table entries per unit
_TANH_END = 20  # tanh(20) rounds to 1
_ANGLE_STEPS = 64
_ANGLE_END = 5  # radians; headings are below pi + one turn of a step


def _tanh_table() -> npt.NDArray[np.float64]:
    with localcontext() as context:
        context.prec = 40
        grown = [(Decimal(2 * i) / _TANH_STEPS).exp() for i in range(_TANH_STEPS * _TANH_END + 1)]
        return np.array([float((e - 1) / (e + 1)) for e in grown])


def _angle_tables() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sines and cosines of i / 64 for i from -320 to 320, by their power series."""
    with localcontext() as context:
        context.prec = 40
        sines, cosines = [], []
        for i in range(_ANGLE_STEPS * _ANGLE_END + 1):
            angle = Decimal(i) / _ANGLE_STEPS
            term, sums = Decimal(1), [Decimal(0), Decimal(0)]
            for power in range(60):
                sums[power % 2] += term if power % 4 < 2 else -term
                term = term * angle / (power + 1)
            cosines.append(float(sums[0]))
            sines.append(float(sums[1]))
    return (
        np.array([-s for s in sines[:0:-1]] + sines),
        np.array(cosines[:0:-1] + cosines),
    )


_TANH = _tanh_table()
_SINE, _COSINE = _angle_tables()


@part()
def tanh(x: Any) -> Any:
    """The hyperbolic tangent of lanes, by a table of A = tanh(i / 32) and tanh(a + b) = A + B (1 - A^2) / (1 + A B)."""
    size = magnitude(x)
    size = choose(size < 20.0, size, 20.0)
    i = rounded(size * 32.0)
    b = size - i * 0.03125  # exact
    bb = b * b
    small = b * (1.0 + bb * (-1.0 / 3.0 + bb * (2.0 / 15.0 + bb * (-17.0 / 315.0))))
    large = entries(_TANH, i)
    value = large + small * (1.0 - large * large) / (1.0 + large * small)
    return choose(x >= 0.0, value, -value)


@part()
def _sine_cosine_near(sine_a: Any, cosine_a: Any, b: Any) -> Any:
    """Sine and cosine of a + b by the addition theorems, for a small b and those of a."""
    bb = b * b
    sine = b * (1.0 + bb * (-1.0 / 6.0 + bb * (1.0 / 120.0)))
    less = bb * (0.5 + bb * (-1.0 / 24.0 + bb * (1.0 / 720.0)))  # 1 - cos b
    return sine_a + (cosine_a * sine - sine_a * less), cosine_a - (sine_a * sine + cosine_a * less)


@kernel()
def sine_cosine(angle: float) -> tuple[float, float]:
    """Sine and cosine of an angle within [-5, 5] radians, from tables at i / 64."""
    i = np.rint(angle * 64.0)
    at = np.uint64(int(i) + _ANGLE_STEPS * _ANGLE_END)
    return _sine_cosine_near(_SINE[at], _COSINE[at], angle - i * 0.015625)


@part()
def sines_cosines(angles: Any) -> Any:
    """`sine_cosine` of lanes."""
    i = rounded(angles * 64.0)
    at = i + float(_ANGLE_STEPS * _ANGLE_END)
    return _sine_cosine_near(entries(_SINE, at), entries(_COSINE, at), angles - i * 0.015625)


@kernel()
def mixed(word: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: a well mixed word for each word."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel()
def uniform(stream: npt.NDArray[np.uint64]) -> float:
    """The next number of a splitmix64 stream, uniform in [0, 1); `stream` holds its state, shape (1,)."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(mixed(stream[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel()
def below(n: int, stream: npt.NDArray[np.uint64]) -> int:
    """The next whole number of a stream, uniform in [0, n); its bias is below n / 2^53."""
    return int(uniform(stream) * n)
