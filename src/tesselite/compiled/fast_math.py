"""Small compiled mathematics: counter-based random words, normal variates, and sine with cosine.

Everything here is a pure function of its arguments, so results depend neither on threads nor on the order of calls.
`sincos` is worth calling from your own compiled objective: it costs a fraction of libm's and vectorises. The
polynomials come from `tools/fit_polynomials.py`. Which word serves which purpose is decided in `emitters.breeding`.

Random words are the output function of SplitMix64 (Steele, Lea, Flood 2014) applied to a counter; normals are made by
the method of Box and Muller (1958).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from tesselite.compiled.kernels import kernel

# log(1 + f) = f P(f) for 1 + f in [sqrt(1/2), sqrt(2)], error 8.5e-10
_LOG = (
    1.0000000006010195,
    -0.49999999414017127,
    0.3333330266101698,
    -0.2500006237443588,
    0.20002535640193383,
    -0.16666555575670008,
    0.1421229125042129,
    -0.12420821262732773,
    0.11945878227356821,
    -0.11620648400270368,
    0.06572327158522023,
)
# sin(a) = a P(a^2), error 2.7e-11, and cos(a) = P(a^2), error 7.5e-13, for |a| <= pi/2
_SIN_HALF = (
    0.9999999999829191,
    -0.16666666616815567,
    0.008333330974207583,
    -0.00019840861179319552,
    2.752526981229885e-06,
    -2.3889217773452806e-08,
)
_COS_HALF = (
    0.9999999999992479,
    -0.4999999999701275,
    0.04166666647285179,
    -0.0013888884170789055,
    2.4801039928008272e-05,
    -2.7524670425081666e-07,
    1.9907506103760227e-09,
)
# sin(a) = a + a^3 P(a^2) and cos(a) = 1 - a^2/2 + a^4 P(a^2) for |a| <= pi/4, to double precision
_SIN = (
    -0.16666666666666666,
    0.008333333333330918,
    -0.00019841269836712495,
    2.755731607868067e-06,
    -2.5051126876085338e-08,
    1.5917771759341917e-10,
)
_COS = (
    0.041666666666666664,
    -0.0013888888888887378,
    2.4801587298736863e-05,
    -2.755731725679604e-07,
    2.087614315990944e-09,
    -1.1382408754153254e-11,
)
# pi/2 in three parts of which the first two are short enough to be multiplied exactly
_PIO2 = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_LN2 = 0.6931471805599453
_TWO_OVER_PI, _TWO_PI = 0.6366197723675814, 6.283185307179586

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_U11, _U27, _U30, _U31, _U32, _U52 = (np.uint64(n) for n in (11, 27, 30, 31, 32, 52))
_LOW31 = np.uint64(0x7FFFFFFF)
_EXPONENT, _SIGN = np.uint64(0xFFF0000000000000), np.uint64(0x8000000000000000)


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def _float_bits(typingctx: Any, x: Any) -> Any:
    """The bits of a float64 as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _bits_float(typingctx: Any, x: Any) -> Any:
    """The float64 that has these int64 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@kernel(inline="always")
def random_word(key: np.uint64, counter: np.uint64) -> np.uint64:
    """64 random bits: word number `counter` of the stream `key`."""
    return _mixed(key + counter * GOLDEN_GAMMA)


@kernel(inline="always")
def _mixed(z: np.uint64) -> np.uint64:
    """The output function of SplitMix64."""
    z = (z ^ (z >> _U30)) * _M1
    z = (z ^ (z >> _U27)) * _M2
    return z ^ (z >> _U31)


@kernel(inline="always")
def _small_float(whole: np.uint64) -> float:
    """A whole number below 2^52 as a float; a plain conversion of 64 bits would not vectorise."""
    return _bits_float(whole | np.uint64(0x4330000000000000)) - 4503599627370496.0


@kernel(inline="always")
def unit_uniform(word: np.uint64) -> float:
    """A float64 in [0, 1) from the upper 53 bits of a word."""
    return np.float64(np.int64(word >> _U11)) * 1.1102230246251565e-16


@kernel(inline="always")
def uniform_index(word: np.uint64, n: int) -> Any:
    """A whole number in [0, n) for n below 2^31, from the upper half of a word (bias below n / 2^32)."""
    return np.int64(((word >> _U32) * np.uint64(n)) >> _U32)


@kernel()
def fill_normals(key: np.uint64, first: np.uint64, out: Any) -> None:
    """Fill the 1-D `out`, of even length, with standard normals: two from each of the words first, first + 1, ...

    The word's upper half gives the radius, the rest an angle of a half circle and a sign. Tails reach 6.76 standard
    deviations; a value is off by at most 1e-8 from the exact transform of its word.
    """
    m = out.shape[0] // 2
    normals_of_words(key, first, m, np.empty(m, np.uint64), np.empty(m), out)


@kernel()
def normals_of_words(key: np.uint64, first: np.uint64, n: int, words: Any, radius: Any, out: Any) -> None:
    """`fill_normals` from n words, with scratch memory handed in: `words` and `radius`, each half as long as `out`."""
    # In three passes with short bodies: a processor looks some 250 instructions ahead, so that in one pass it would
    # wait for each value's long chain of operations. Made in one, the same normals take twice as long.
    state = key + first * GOLDEN_GAMMA
    for i in range(n):
        words[i] = _mixed(state)
        state += GOLDEN_GAMMA
    for i in range(n):
        u = _small_float(words[i] >> _U32) + 0.5  # in (0, 2^32), exact
        # u = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); e + 1 is never negative
        bits = np.uint64(_float_bits(u))
        shifted = bits - np.uint64(0x3FD6A09E667F3BCD)
        e = _small_float(shifted >> _U52) - 1.0
        f = _bits_float(bits - (shifted & _EXPONENT) + np.uint64(0x0010000000000000)) - 1.0
        f2 = f * f
        f4 = f2 * f2
        low = fma(fma(f, _LOG[3], _LOG[2]), f2, fma(f, _LOG[1], _LOG[0]))
        middle = fma(fma(f, _LOG[7], _LOG[6]), f2, fma(f, _LOG[5], _LOG[4]))
        high = fma(_LOG[10], f2, fma(f, _LOG[9], _LOG[8]))
        p = fma(fma(high, f4, middle), f4, low)
        # -2 log(u / 2^32); rounding may make it slightly negative for the very largest u
        radius[i] = np.sqrt(max(0.0, -2.0 * fma(p, f, (e - 32.0) * _LN2)))
    for i in range(n):
        a = (_small_float(words[i] & _LOW31) - 1073741823.5) * (np.pi / 2147483648.0)
        # The sign goes into the radius: bit 31 of the word becomes the float's sign bit.
        r = _bits_float(np.uint64(_float_bits(radius[i])) ^ ((words[i] << _U32) & _SIGN))
        z = a * a
        s = _SIN_HALF[5]
        s = fma(s, z, _SIN_HALF[4])
        s = fma(s, z, _SIN_HALF[3])
        s = fma(s, z, _SIN_HALF[2])
        s = fma(s, z, _SIN_HALF[1])
        s = fma(s, z, _SIN_HALF[0])
        c = _COS_HALF[6]
        c = fma(c, z, _COS_HALF[5])
        c = fma(c, z, _COS_HALF[4])
        c = fma(c, z, _COS_HALF[3])
        c = fma(c, z, _COS_HALF[2])
        c = fma(c, z, _COS_HALF[1])
        c = fma(c, z, _COS_HALF[0])
        out[2 * i] = r * c
        out[2 * i + 1] = r * (a * s)


@kernel(inline="always")
def sincos(x: float) -> tuple[float, float]:
    """Sine and cosine of x, for compiled objectives: within 3e-16 for abs(x) up to 1e5; NaN where x is not finite."""
    k = np.rint(x * _TWO_OVER_PI)
    a = fma(-k, _PIO2[0], x)
    a = fma(-k, _PIO2[1], a)
    a = fma(-k, _PIO2[2], a)
    return _sincos_of_quadrant(k, a)


@kernel(inline="always")
def sincos_turns(t: float) -> tuple[float, float]:
    """(sin(2 pi t), cos(2 pi t)), within 4e-16 of those of the float t for |t| up to 1e5; faster than `sincos`."""
    k = np.rint(4.0 * t)
    return _sincos_of_quadrant(k, fma(k, -0.25, t) * _TWO_PI)


@kernel(inline="always")
def _sincos_of_quadrant(k: float, a: float) -> tuple[float, float]:
    """Sine and cosine of k pi / 2 + a, for a whole number k and |a| up to pi / 4."""
    z = a * a
    z2 = z * z
    # The terms in pairs: a shorter chain of operations that wait for each other than by Horner's rule.
    s = fma(fma(_SIN[5], z, _SIN[4]), z2, fma(_SIN[3], z, _SIN[2]))
    s = fma(s, z2, fma(_SIN[1], z, _SIN[0]))
    s = fma(s * z, a, a)
    c = fma(fma(_COS[5], z, _COS[4]), z2, fma(_COS[3], z, _COS[2]))
    c = fma(c, z2, fma(_COS[1], z, _COS[0]))
    c = fma(c, z2, fma(-0.5, z, 1.0))
    # Quadrant k mod 4 without a branch: odd ones swap, the sign bits follow k and k + 1.
    # (Adding 1.5 * 2^52 leaves k's low bits in the mantissa; converting to int64 would not vectorise.)
    q = _float_bits(k + 6755399441055744.0)
    odd = -(q & 1)  # all ones or all zeros
    sb, cb = _float_bits(s), _float_bits(c)
    swap = (sb ^ cb) & odd
    sine = _bits_float((sb ^ swap) ^ ((q & 2) << 62))
    cosine = _bits_float((cb ^ swap) ^ (((q + 1) & 2) << 62))
    return sine, cosine
