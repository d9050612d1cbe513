"""Logarithms, powers and inverse hyperbolic functions in the kernel language; errors below 0.6 units of the last digit.

log u = k ln 2 - log c + log(1 + r), u = 2^k z, with a reciprocal c of nine bits from a table, so that r = c z - 1 is
exact as a sum of two floats; |r| < 0.008.  A power needs its logarithm as a sum of two floats, to some 68 bits.
"""

from __future__ import annotations

import math
from typing import Any

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import (
    FRACTION,
    INFINITE,
    LOWER,
    ONE,
    bits_of,
    float_of,
    horner,
    ordered_sum,
    power_of_two,
    product,
    scaled,
    sum_of,
)
from stickslip.jit.mathematics.coefficients import (
    ASINH,
    ATANH,
    INVERSE,
    LN_2_HIGH,
    LN_2_LOW,
    LOG,
    LOG_HIGH,
    LOG_LOW,
    PER_LN_2_HIGH,
    PER_LN_2_LOW,
    PER_LN_10_HIGH,
    PER_LN_10_LOW,
)
from stickslip.jit.mathematics.exponentials import LARGEST, SMALLEST, exp_parts

TURN = 53  # intervals from this one on are those of z / 2
SMALLEST_NORMAL = 2.0**-1022
NOT_A_NUMBER = math.nan
NEAR = 0.25  # below, functions that begin with x are polynomials
HUGE_EXPONENT, TINY_EXPONENT = 2.0**66, 2.0**-70  # powers by them are 0, 1 or infinite
LARGE = 2.0**28  # x^2 + 1 is x^2


@kernel(inline=True)
def log_parts(u: Any, rest: Any) -> Any:
    """log(u + rest) = k ln 2 - log c + log(1 + r) + low, u positive and normal; returns k, r, low and c's interval."""
    bits = bits_of(u)
    k = (bits >> 52) - 1023
    j = (bits >> 45) & 127
    mantissa = (bits & FRACTION) | ONE
    if j >= TURN:
        k += 1
        mantissa = mantissa - (1 << 52)  # half of it
    z = float_of(mantissa)
    upper = float_of(mantissa & ~LOWER)
    inverse = INVERSE[j]
    r, low = sum_of(upper * inverse - 1.0, (z - upper) * inverse)
    if rest != 0.0:
        low += rest * power_of_two(max(-k, -1022)) * inverse * (1.0 - r)  # log(1 + r + d) - log(1 + r) = d / (1 + r)
    return k, r, low, j


@kernel(inline=True)
def sum_of_logs(k: Any, r: Any, low: Any, j: Any) -> Any:
    """The logarithm of `log_parts` as a sum of two floats, the second with an error of 2^-61 of the first."""
    s, e = ordered_sum(k * LN_2_HIGH + LOG_HIGH[j], r)
    q = r * r
    return s, e + ((k * LN_2_LOW + LOG_LOW[j]) + (low + (r * q * horner(r, LOG) - 0.5 * q)))


@kernel(inline=True)
def exact_log(u: Any) -> Any:
    """log u as a sum of two floats, with an error of 2^-67."""
    k, r, low, j = log_parts(u, 0.0)
    r, low = ordered_sum(r, low)
    square, lack = product(r, r)
    s, e = ordered_sum(k * LN_2_HIGH + LOG_HIGH[j], r)
    s, e_2 = sum_of(s, -0.5 * square)
    small = (low - r * low) + (r * square * horner(r, LOG) - 0.5 * lack)
    return ordered_sum(s, (e + e_2) + ((k * LN_2_LOW + LOG_LOW[j]) + small))


@kernel(inline=True)
def normal(x: Any) -> Any:
    """A positive number as one that is not subnormal times 2^k."""
    return (x * 2.0**54, -54) if x < SMALLEST_NORMAL else (x, 0)


@kernel(inline=True)
def log_of_any(x: Any) -> Any:
    """`exact_log` of a positive number that may be subnormal."""
    u, shift = normal(x)
    a, b = exact_log(u)
    if shift != 0:
        s, e = sum_of(a, shift * LN_2_HIGH)
        a, b = ordered_sum(s, e + (b + shift * LN_2_LOW))
    return a, b


@kernel(inline=True)
def has_logarithm(x: Any) -> Any:
    """x is positive and finite."""
    return 0.0 < x < INFINITE


@kernel(inline=True)
def limit(x: Any) -> Any:
    """Logarithm of what has none: 0, infinite and negative numbers."""
    if x == 0.0:
        return -INFINITE
    if x < 0.0:
        return NOT_A_NUMBER
    return x


@kernel
def log(x: Any) -> Any:
    """Natural logarithm."""
    if not has_logarithm(x):
        return limit(x)
    u, shift = normal(x)
    k, r, low, j = log_parts(u, 0.0)
    high, low = sum_of_logs(k + shift, r, low, j)
    return high + low


@kernel
def log1p(x: Any) -> Any:
    """log(1 + x)."""
    if x == 0.0:
        return x  # -0.0 stays so
    u, rest = sum_of(1.0, x)
    if not has_logarithm(u):
        return limit(u)
    if abs(x) < 2.0**-8:  # 1 + x is in the intervals next to 1
        high, low = sum_of_logs(0, x, 0.0, 0)
    else:
        k, r, low, j = log_parts(u, rest)
        high, low = sum_of_logs(k, r, low, j)
    return high + low


@kernel(inline=True)
def times(a: Any, b: Any, high: Any, low: Any) -> Any:
    """(a + b) (high + low) as a sum of two floats."""
    p, e = product(a, high)
    return p, e + (a * low + b * high)


@kernel
def log2(x: Any) -> Any:
    """Logarithm to the base 2; whole for powers of two."""
    if not has_logarithm(x):
        return limit(x)
    u, shift = normal(x)
    k, _, _, _ = log_parts(u, 0.0)
    half = k >> 1
    a, b = exact_log(u * power_of_two(-half) * power_of_two(half - k))
    p, e = times(a, b, PER_LN_2_HIGH, PER_LN_2_LOW)
    s, lack = sum_of(float(k + shift), p)
    return s + (e + lack)


@kernel
def log10(x: Any) -> Any:
    """Logarithm to the base 10; whole for powers of ten."""
    if not has_logarithm(x):
        return limit(x)
    a, b = log_of_any(x)
    p, e = times(a, b, PER_LN_10_HIGH, PER_LN_10_LOW)
    return p + e


@kernel(inline=True)
def is_whole(y: Any) -> Any:
    """y has no fraction; all floats from 2^53 on are whole."""
    return abs(y) >= 2.0**53 or float(int(y)) == y


@kernel(inline=True)
def is_odd(y: Any) -> Any:
    """y is a whole odd number."""
    return abs(y) < 2.0**53 and float(int(y)) == y and (int(y) & 1) == 1


@kernel
def pow(x: Any, y: Any) -> Any:
    """x^y, with the special cases of IEEE 754."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return x + y
    size = abs(x)
    negative = math.copysign(1.0, x) < 0.0 and is_odd(y)
    sign = -1.0 if negative else 1.0
    if size == 0.0 or size == INFINITE or abs(y) > HUGE_EXPONENT:
        if size == 1.0:
            return 1.0
        large = (size > 1.0) == (y > 0.0)
        return sign * (INFINITE if large else 0.0)
    if x < 0.0 and not is_whole(y):
        return NOT_A_NUMBER
    if abs(y) < TINY_EXPONENT or size == 1.0:
        return sign
    a, b = log_of_any(size)
    p, e = times(a, b, y, 0.0)
    if p > LARGEST:
        return sign * INFINITE
    if p < SMALLEST:
        return sign * 0.0
    m, head, tail = exp_parts(p, e)
    return sign * scaled(head + tail, m)


@kernel(inline=True)
def root_of(square: Any, lack: Any) -> Any:
    """Root of a positive sum of two floats, as a sum of two floats."""
    root = math.sqrt(square)
    p, e = product(root, root)
    return root, (((square - p) - e) + lack) / (2.0 * root)


@kernel
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine: log(x + sqrt(x^2 + 1))."""
    size = abs(x)
    if size < NEAR:
        if x == 0.0:
            return x
        return x + x * (x * x) * horner(x * x, ASINH)
    if not size < INFINITE:
        return x
    if size > LARGE:
        high, low = exact_log(size)
        s, e = ordered_sum(high, LN_2_HIGH)
        found = s + (e + (low + LN_2_LOW))
    else:
        p, e = product(size, size)
        square, lack = sum_of(p, 1.0)
        root, rest = root_of(square, e + lack)
        s, e = sum_of(root, size)
        k, r, low, j = log_parts(s, e + rest)
        high, low = sum_of_logs(k, r, low, j)
        found = high + low
    return -found if x < 0.0 else found


@kernel
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine: log(x + sqrt(x^2 - 1)); not a number below 1."""
    if x < 1.0:
        return NOT_A_NUMBER
    if not x < INFINITE:
        return x
    if x == 1.0:
        return 0.0
    if x > LARGE:
        high, low = exact_log(x)
        s, e = ordered_sum(high, LN_2_HIGH)
        return s + (e + (low + LN_2_LOW))
    t = x - 1.0  # exact below 2, where it counts; beyond, what it lacks is nothing
    p, e = product(t, t)
    square, lack = sum_of(2.0 * t, p)
    root, rest = root_of(square, e + lack)
    w, lack = sum_of(t, root)
    u, e = sum_of(1.0, w)
    e += lack + rest
    if w < 2.0**-8:
        r, low = ordered_sum(w, lack + rest)
        high, low = sum_of_logs(0, r, low, 0)
    else:
        k, r, low, j = log_parts(u, e)
        high, low = sum_of_logs(k, r, low, j)
    return high + low


@kernel
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2; infinite at 1, not a number beyond."""
    size = abs(x)
    if size < NEAR:
        if x == 0.0:
            return x
        return x + x * (x * x) * horner(x * x, ATANH)
    if not size < 1.0:
        if size == 1.0:
            return x * INFINITE
        return NOT_A_NUMBER
    above, lack = ordered_sum(1.0, size)
    below, lack_2 = ordered_sum(1.0, -size)
    k, r, low, j = log_parts(above, lack)
    high, low = sum_of_logs(k, r, low, j)
    k, r, low_2, j = log_parts(below, lack_2)
    high_2, low_2 = sum_of_logs(k, r, low_2, j)
    s, e = sum_of(high, -high_2)
    found = 0.5 * (s + (e + (low - low_2)))
    return -found if x < 0.0 else found
