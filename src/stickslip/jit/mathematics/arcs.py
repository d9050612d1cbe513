"""Inverse trigonometric functions and the hypotenuse in the kernel language; errors below 0.8 of the last digit's unit.

atan q = atan c + atan((q - c) / (1 + q c)) with c the nearest multiple of 1/128, whose arc is in a table; quotients
and roots are sums of two floats.
"""

from __future__ import annotations

import math
from typing import Any

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import (
    INFINITE,
    bits_of,
    horner,
    ordered_sum,
    power_of_two,
    product,
)
from stickslip.jit.mathematics.coefficients import ARC_HIGH, ARC_LOW, ASIN, ATAN
from stickslip.jit.mathematics.logarithms import NOT_A_NUMBER, root_of
from stickslip.jit.mathematics.sines import PI_HIGH, PI_LOW

STEPS = 128.0
NEAR = 0.0625  # below, an arc tangent is a polynomial
TINY = 2.0**-60  # a quotient below is its arc
LARGE, SMALL = 2.0**500, 2.0**-480  # sides beyond are scaled


@kernel(inline=True)
def arc(q: Any, rest: Any) -> Any:
    """atan(q + rest) as a sum of two floats, 0 <= q <= 1."""
    if q < NEAR:
        return ordered_sum(q, rest + q * (q * q) * horner(q * q, ATAN))
    j = int(q * STEPS + 0.5)
    c = j / STEPS
    t = ((q - c) + rest) / (1.0 + q * c)
    return ordered_sum(ARC_HIGH[j], ARC_LOW[j] + (t + t * (t * t) * horner(t * t, ATAN)))


@kernel(inline=True)
def quotient(y: Any, x: Any) -> Any:
    """y / x as a sum of two floats; 0 <= y <= x are of middle size."""
    q = y / x
    p, e = product(q, x)
    return q, ((y - p) - e) / x


@kernel
def atan(x: Any) -> Any:
    """Arc tangent."""
    size = abs(x)
    if size < NEAR:
        if x == 0.0:
            return x  # -0.0 stays so
        return x + x * (x * x) * horner(x * x, ATAN)
    if x != x:
        return x
    if size <= 1.0:
        high, low = arc(size, 0.0)
    elif size > LARGE:
        high, low = PI_HIGH, PI_LOW
    else:
        q, rest = quotient(1.0, size)
        high, low = arc(q, rest)
        s, e = ordered_sum(PI_HIGH, -high)
        high, low = s, e + (PI_LOW - low)
    found = high + low
    return -found if x < 0.0 else found


@kernel(inline=True)
def quadrant(y: Any, x: Any) -> Any:
    """atan2 of sides that are not negative, not both 0 and not both infinite, as a sum of two floats."""
    steep = y > x
    small, large = (x, y) if steep else (y, x)
    q = small / large
    rest = 0.0
    if q > TINY:
        exponent = (bits_of(large) >> 52) - 1023
        shift = power_of_two(max(min(-exponent, 1000), -1022))
        q, rest = quotient(small * shift, large * shift)
    high, low = arc(q, rest)
    if steep:
        s, e = ordered_sum(PI_HIGH, -high)
        high, low = s, e + (PI_LOW - low)
    return high, low


@kernel
def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), between -pi and pi."""
    if x != x or y != y:
        return x + y
    a, b = abs(y), abs(x)
    if a == 0.0:
        high, low = 0.0, 0.0
    elif a == INFINITE and b == INFINITE:
        high, low = 0.5 * PI_HIGH, 0.5 * PI_LOW
    else:
        high, low = quadrant(a, b)
    if math.copysign(1.0, x) < 0.0:
        s, e = ordered_sum(2.0 * PI_HIGH, -high)
        high, low = s, e + (2.0 * PI_LOW - low)
    return math.copysign(high + low, y)


@kernel(inline=True)
def half_arc(size: Any) -> Any:
    """2 asin(sqrt((1 - size) / 2)) = acos(size) as a sum of two floats, 0.5 <= size < 1."""
    z = 0.5 * (1.0 - size)
    root, rest = root_of(z, 0.0)
    return 2.0 * root, 2.0 * (rest + root * z * horner(z, ASIN))


@kernel
def asin(x: Any) -> Any:
    """Arc sine; not a number beyond 1."""
    size = abs(x)
    if size <= 0.5:
        if x == 0.0:
            return x
        return x + x * (x * x) * horner(x * x, ASIN)
    if not size < 1.0:
        if size == 1.0:
            return x * PI_HIGH + x * PI_LOW
        return NOT_A_NUMBER
    high, low = half_arc(size)
    s, e = ordered_sum(PI_HIGH, -high)
    found = s + (e + (PI_LOW - low))
    return -found if x < 0.0 else found


@kernel
def acos(x: Any) -> Any:
    """Arc cosine; not a number beyond 1."""
    size = abs(x)
    if size <= 0.5:
        s, e = ordered_sum(PI_HIGH, -x)
        return s + (e + (PI_LOW - x * (x * x) * horner(x * x, ASIN)))
    if not size < 1.0:
        if x == 1.0:
            return 0.0
        if x == -1.0:
            return 2.0 * PI_HIGH
        return NOT_A_NUMBER
    high, low = half_arc(size)
    if x < 0.0:
        s, e = ordered_sum(2.0 * PI_HIGH, -high)
        return s + (e + (2.0 * PI_LOW - low))
    return high + low


@kernel
def hypot(x: Any, y: Any) -> Any:
    """sqrt(x^2 + y^2) without overflow; infinite where a side is, even if the other one is not a number."""
    a, b = abs(x), abs(y)
    if a == INFINITE or b == INFINITE:
        return INFINITE
    large, small = (b, a) if b > a else (a, b)
    if large != large or small != small:
        return x + y
    if small == 0.0:
        return large
    scale = 1.0
    if large > LARGE:
        scale = 2.0**600
    elif large < SMALL:
        scale = 2.0**-600
    large = large / scale
    small = small / scale
    if large * 2.0**-60 > small:
        return large * scale
    p, e = product(large, large)
    q, e_2 = product(small, small)
    s, lack = ordered_sum(p, q)
    root, rest = root_of(s, lack + (e + e_2))
    return (root + rest) * scale
