"""Derive the polynomials of `tesselite.compiled.fast_math`: run it, compare what it prints with the module's constants.

Each is the interpolant at Chebyshev nodes, computed in 50 digits, of a function divided by the factor that is kept
exact; needs mpmath (`pip install mpmath`). The errors that the rounded polynomials reach are tested in
`tests/test_fast_math.py`.
"""

from mpmath import chebyfit, cos, log, mp, mpf, pi, sin, sqrt

mp.dps = 50


def show(name: str, function, interval: tuple, degree: int) -> None:
    coefficients, error = chebyfit(function, interval, degree + 1, error=True)
    print(f"{name} = (  # error {mp.nstr(error, 2)}; lowest power first")
    for coefficient in reversed(coefficients):
        print(f"    {float(coefficient)!r},")
    print(")")


tiny = mpf(10) ** -30
half = (pi / 2) ** 2
quarter = (pi / 4 + mpf("0.001")) ** 2

# log(1 + f) = f * P(f) for a mantissa 1 + f in [sqrt(1/2), sqrt(2)]
show("_LOG", lambda f: log(1 + f) / f if f else mpf(1), [sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1], 10)
# sin(a) = a * P(a^2) and cos(a) = P(a^2) for |a| <= pi/2, where ten digits are enough
show("_SIN_HALF", lambda z: sin(sqrt(z)) / sqrt(z) if z > tiny else mpf(1), [0, half], 5)
show("_COS_HALF", lambda z: cos(sqrt(z)), [0, half], 6)
# sin(a) = a + a^3 P(a^2) and cos(a) = 1 - a^2/2 + a^4 P(a^2) for |a| <= pi/4, to double precision
show("_SIN", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z if z > tiny else -mpf(1) / 6, [0, quarter], 5)
show("_COS", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2 if z > tiny else mpf(1) / 24, [0, quarter], 5)

# pi/2 in three parts: the first two have 33 bits, so that their product with a small whole number is exact
first = mpf(int(pi / 2 * 2**32)) / 2**32
second = mpf(int((pi / 2 - first) * 2**66)) / 2**66
print("_PIO2 =", [float(first), float(second), float(pi / 2 - first - second)])
