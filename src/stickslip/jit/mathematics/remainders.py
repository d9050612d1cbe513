"""Remainders, and floats taken apart and put together, in the kernel language; all exact."""

from __future__ import annotations

import math
from typing import Any

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import FRACTION, INFINITE, bits_of, float_of, power_of_two
from stickslip.jit.mathematics.logarithms import NOT_A_NUMBER

HALF = 1022 << 52  # bits of 0.5
STEP = 960  # of exponents


@kernel
def frexp(x: Any) -> Any:
    """Mantissa and exponent of x = m 2^e, |m| between 1/2 and 1; e = 0 where x is 0, infinite or not a number."""
    if x == 0.0 or not abs(x) < INFINITE:
        return x, 0
    shift = 0
    if abs(x) < 2.0**-1022:
        x = x * 2.0**54
        shift = -54
    bits = bits_of(abs(x))
    return math.copysign(float_of((bits & FRACTION) | HALF), x), (bits >> 52) - 1022 + shift


@kernel
def ldexp(x: Any, m: Any) -> Any:
    """x 2^m, rounded where it is subnormal; infinite where it does not fit."""
    if x == 0.0 or not abs(x) < INFINITE:
        return x
    mantissa, exponent = frexp(x)
    total = exponent + max(min(m, 5000), -5000)
    if total > 1024:
        return math.copysign(INFINITE, x)
    if total < -1080:
        return math.copysign(0.0, x)
    if total < -960:
        return mantissa * power_of_two(total + 128) * 2.0**-128
    return mantissa * 2.0 * power_of_two(total - 1)


@kernel
def fmod(x: Any, y: Any) -> Any:
    """Remainder of x / y with the sign of x; not a number where y is 0 or x infinite.

    A step of the long division takes `large` times y from x, with a quotient of up to 2^50: products and differences
    of whole numbers below 2^53 are exact.
    """
    if x != x or y != y or y == 0.0 or abs(x) == INFINITE:
        return NOT_A_NUMBER
    rest, divisor = abs(x), abs(y)
    if rest < divisor:
        return x
    mantissa, exponent = frexp(rest)
    below, least = frexp(divisor)
    # whole numbers of 53 bits, times 2^exponent and 2^least
    a = int(mantissa * 2.0**53)
    b = int(below * 2.0**53)
    left = exponent - least
    a = a % b
    while left > 0 and a > 0:
        shift = min(left, 10)
        a = (a << shift) % b
        left -= shift
    return math.copysign(ldexp(float(a), least - 53), x)
