"""Bits of floats, powers of two, and sums and products of two floats with their errors."""

from __future__ import annotations

import struct
from typing import Any

from stickslip.jit import functions
from stickslip.jit.arithmetic import convert
from stickslip.jit.kernel import kernel
from stickslip.jit.values import Scalar, Value
from stickslip.jit.writer import Writer

ROUNDER = 6755399441055744.0  # 1.5 * 2^52: a float plus it, less it, is the nearest whole number
SPLIT = 134217729.0  # 2^27 + 1
FRACTION = (1 << 52) - 1  # bits of a float behind its exponent
ONE = 1023 << 52  # bits of 1.0
LOWER = (1 << 27) - 1  # lower half of a float's digits
INFINITE = float("inf")


def bits_of(x: float) -> int:
    """The 64 bits of a float as a whole number."""
    number: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return number


def float_of(bits: int) -> float:
    """The float that has these 64 bits."""
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


def _bits_of(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    return Scalar("int", writer.value(f"bitcast double {convert(writer, arguments[0], 'float')} to i64"))


def _float_of(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    return Scalar("float", writer.value(f"bitcast i64 {convert(writer, arguments[0], 'int')} to double"))


functions.add(bits_of, _bits_of)
functions.add(float_of, _float_of)


@kernel(inline=True)
def horner(x: Any, coefficients: Any) -> Any:
    """Polynomial at x; the constant is the last coefficient."""
    value = coefficients[0]
    for c in coefficients[1:]:
        value = value * x + c
    return value


@kernel(inline=True)
def sum_of(a: Any, b: Any) -> Any:
    """a + b as a float, and what it lacks [Knuth, The Art of Computer Programming 2, 4.2.2]."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inline=True)
def ordered_sum(a: Any, b: Any) -> Any:
    """`sum_of` where |a| >= |b| or a = 0 [Dekker 1971]."""
    s = a + b
    return s, b - (s - a)


@kernel(inline=True)
def halves(a: Any) -> Any:
    """A float as a sum of two with half its digits each [Dekker 1971]; |a| < 2^995."""
    t = SPLIT * a
    high = t - (t - a)
    return high, a - high


@kernel(inline=True)
def product(a: Any, b: Any) -> Any:
    """a b as a float, and what it lacks [Dekker 1971]; |a|, |b| < 2^995, and |a b| > 2^-900 or 0."""
    p = a * b
    a_1, a_2 = halves(a)
    b_1, b_2 = halves(b)
    return p, ((a_1 * b_1 - p) + a_1 * b_2 + a_2 * b_1) + a_2 * b_2


@kernel(inline=True)
def power_of_two(m: Any) -> Any:
    """2^m for m = -1022 .. 1023."""
    return float_of((m + 1023) << 52)


@kernel(inline=True)
def scaled(x: Any, m: Any) -> Any:
    """x 2^m, rounded once, for x between 1/4 and 4 and m = -1100 .. 1026."""
    if m > 1020:
        return x * power_of_two(m - 6) * 64.0
    if m < -1018:
        return x * power_of_two(m + 128) * 2.0**-128
    return x * power_of_two(m)
