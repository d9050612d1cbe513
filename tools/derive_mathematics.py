#!/usr/bin/env python3
"""Derives the numbers behind the exponentials, logarithms and arcs of the kernel language.

    python tools/derive_mathematics.py          # writes src/stickslip/jit/mathematics/coefficients.py
    python tools/derive_mathematics.py --check  # exit code 1 where the file holds other numbers

All is computed from definitions with 200 bits (mpmath).  Polynomials interpolate at the nodes of Chebyshev, which is
within a factor of three or so of the least largest error; one degree more than needed makes up for that.  Tables hold
a function at the middle of each interval as a sum of two floats; where sums of table values have to be exact, the first
of both has few bits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mp, mpf

FILE = Path(__file__).parent.parent / "src" / "stickslip" / "jit" / "mathematics" / "coefficients.py"
PRECISION = 200  # bits
EXP_STEPS = 64  # intervals of an exponential per factor of 2
LOG_STEPS = 128  # intervals of a logarithm per factor of 2
LOG_TURN = 53  # intervals from this one on, x >= 1.414, are those of x / 2
LOG_BITS = 9  # of the reciprocals: a product with half of a float is exact
GRID = 42  # first parts of logarithms are multiples of 2^-GRID: sums with multiples of the first part of ln 2 are exact
ATAN_STEPS = 128  # intervals of an arc tangent from 0 to 1
ERF_STEPS = 8  # intervals of an error function per unit, from 1/2 to 1
ERFC_STEPS = 8  # intervals of a complementary error function per factor of 2, from 1 on
ERFC_LAST = 28.0  # beyond, it is 0
ROW = 12  # numbers of an interval of both
HEAD = '''"""Numbers of `exponentials`, `logarithms`, `arcs` and `errors`, written by tools/derive_mathematics.py."""

# fmt: off
# ruff: noqa: SIM905
'''
Function = Callable[[Any], Any]


def polynomial(function: Function, low: Any, high: Any, degree: int) -> list[float]:
    """Coefficients, the constant last, of the polynomial that meets a function at the nodes of Chebyshev."""
    count = degree + 1
    high = high + (high - low) / 1000  # an interval around 0 has no node there, where many quotients are 0 / 0
    nodes = [(low + high) / 2 + (high - low) / 2 * mpmath.cospi(mpf(2 * k + 1) / (2 * count)) for k in range(count)]
    powers = mpmath.matrix(count, count)
    for row, node in enumerate(nodes):
        for column in range(count):
            powers[row, column] = node**column
    found = mpmath.lu_solve(powers, mpmath.matrix([function(node) for node in nodes]))
    return [float(x) for x in reversed(list(found))]


def of_square(function: Function, largest: float, degree: int) -> list[float]:
    """P with f(x) = x + x^3 P(x^2) for |x| <= largest; f is odd."""

    def rest(z: Any) -> Any:
        x = mpmath.sqrt(z)
        return (function(x) - x) / x**3

    return polynomial(rest, mpf(0), mpf(largest) ** 2, degree)


def pair(x: Any) -> tuple[float, float]:
    """A number as a sum of two floats."""
    high = float(x)
    return high, float(x - mpf(high))


def on_grid(x: Any, bits: int = GRID) -> tuple[float, float]:
    """A number as a multiple of 2^-bits and a float."""
    high = mpmath.nint(x * 2**bits) / 2**bits
    return float(high), float(x - high)


def logarithm_table() -> Iterator[tuple[float, float, float]]:
    """For each interval of x in [1, 2): a reciprocal of few bits, and minus its logarithm in two parts."""
    for j in range(LOG_STEPS):
        low = mpf(1) + mpf(j) / LOG_STEPS
        middle = (low + mpf(1) / (2 * LOG_STEPS)) / (2 if j >= LOG_TURN else 1)
        inverse = mpmath.nint(2**LOG_BITS / middle) / 2**LOG_BITS
        if j in (0, LOG_STEPS - 1):  # next to 1 the logarithm is that of x itself
            inverse = mpf(1)
        yield (float(inverse), *on_grid(-mpmath.log(inverse)))


def shifted(function: Function, middle: Any, reach: Any, degree: int) -> tuple[float, ...]:
    """A function near a point: its value there in two parts, and P with f(middle + d) = value + d P(d)."""
    value = function(middle)
    rest = polynomial(lambda d: (function(middle + d) - value) / d, -reach, reach, degree)
    return (*pair(value), *rest)


def scaled_erfc(x: Any) -> Any:
    """exp(x^2) erfc(x)."""
    with mp.workprec(PRECISION + 60):
        return mpmath.exp(x * x) * mpmath.erfc(x)


def error_tables() -> tuple[list[float], list[float]]:
    """`shifted` erf between 1/2 and 1, and `shifted` scaled complements from 1 on; one row behind the other."""
    width = mpf(1) / ERF_STEPS
    near: list[float] = []
    for k in range(ERF_STEPS // 2):
        near += shifted(mpmath.erf, mpf(1) / 2 + (k + mpf(1) / 2) * width, width / 2, ROW - 3)
    far: list[float] = []
    octave = mpf(1)
    while octave < ERFC_LAST:
        for k in range(ERFC_STEPS):
            low = octave * (1 + mpf(k) / ERFC_STEPS)
            if low < ERFC_LAST:
                reach = octave / ERFC_STEPS / 2
                far += shifted(scaled_erfc, low + reach, reach, ROW - 3)
        octave *= 2
    return near, far


def numbers() -> Iterator[tuple[str, Any]]:
    """Every name of the file with its number, polynomial or table."""
    ln_2 = mpmath.ln(2)
    step = ln_2 / EXP_STEPS
    yield "STEPS_PER_E", float(1 / step)
    yield "STEP_HIGH", on_grid(step, GRID)[0]
    yield "STEP_LOW", on_grid(step, GRID)[1]
    reach = float(step / 2) * 1.01
    yield "EXP", polynomial(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(-reach), mpf(reach), 4)
    powers = [mpf(2) ** (mpf(j) / EXP_STEPS) for j in range(EXP_STEPS)]
    yield "POWER_HIGH", [pair(x)[0] for x in powers]
    yield "POWER_LOW", [pair(x)[1] for x in powers]
    yield "EXPM1", polynomial(lambda x: (mpmath.expm1(x) - x - x**2 / 2) / x**3, mpf(-0.36), mpf(0.36), 10)
    yield "SINH", of_square(mpmath.sinh, 0.36, 5)
    yield "TANH", of_square(mpmath.tanh, 0.36, 10)
    yield "LN_2_HIGH", on_grid(ln_2)[0]
    yield "LN_2_LOW", on_grid(ln_2)[1]
    yield "LOG", polynomial(lambda r: (mpmath.log1p(r) - r + r**2 / 2) / r**3, mpf(-0.008), mpf(0.008), 6)
    table = list(logarithm_table())
    for name, column in zip(("INVERSE", "LOG_HIGH", "LOG_LOW"), zip(*table, strict=True), strict=True):
        yield name, list(column)
    yield "PER_LN_2_HIGH", pair(1 / ln_2)[0]
    yield "PER_LN_2_LOW", pair(1 / ln_2)[1]
    yield "PER_LN_10_HIGH", pair(1 / mpmath.ln(10))[0]
    yield "PER_LN_10_LOW", pair(1 / mpmath.ln(10))[1]
    yield "ASINH", of_square(mpmath.asinh, 0.26, 10)
    yield "ATANH", of_square(mpmath.atanh, 0.26, 10)
    yield "ATAN", of_square(mpmath.atan, 0.0626, 6)
    arcs = [pair(mpmath.atan(mpf(j) / ATAN_STEPS)) for j in range(ATAN_STEPS + 1)]
    yield "ARC_HIGH", [high for high, _ in arcs]
    yield "ARC_LOW", [low for _, low in arcs]
    yield "ASIN", of_square(mpmath.asin, 0.501, 15)
    with mp.workprec(PRECISION + 60):
        factor = 2 / mpmath.sqrt(mp.pi)
    yield "ERF_FIRST", pair(factor - 1)[0]
    yield "ERF", polynomial(lambda z: (mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - factor) / z, mpf(0), mpf(0.26), 9)
    near, far = error_tables()
    yield "ROW", ROW
    yield "ERF_NEAR", near
    yield "ERFC_FAR", far


def written(value: Any) -> str:
    """A number, polynomial or table as Python."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f'float.fromhex("{value.hex()}")'
    words = [x.hex() for x in value]
    lines = [f'    "{" ".join(words[k : k + 4])} "\n' for k in range(0, len(words), 4)]
    return "tuple(map(float.fromhex, (\n" + "".join(lines) + ").split()))"


def text() -> str:
    """The whole file."""
    with mp.workprec(PRECISION):
        return HEAD + "".join(f"{name} = {written(value)}\n" for name, value in numbers())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare with the file, and write nothing")
    found = text()
    if not parser.parse_args().check:
        FILE.write_text(found, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") != found:
        print(f"{FILE.name} holds other numbers than this tool derives.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
