"""Exponentials and hyperbolic functions in the kernel language; error 0.6 units of the last digit, 0.8 if subnormal.

exp x = 2^(n/64) exp r, n the nearest whole number to 64 x / ln 2: the first factor stands in a table, as a sum of two
floats, the second is a polynomial.  Their product is again a sum of two floats, to some 60 bits, from which
the hyperbolic functions are put together.
"""

from __future__ import annotations

from typing import Any

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import INFINITE, ROUNDER, halves, horner, ordered_sum, product, scaled, sum_of
from stickslip.jit.mathematics.coefficients import (
    EXP,
    EXPM1,
    POWER_HIGH,
    POWER_LOW,
    SINH,
    STEP_HIGH,
    STEP_LOW,
    STEPS_PER_E,
    TANH,
)

LARGEST, SMALLEST = 710.0, -746.0  # beyond, exp is infinite, or 0
NEAR = 0.35  # below, functions that begin with x are polynomials
FAR = 22.0  # beyond, exp(-2 x) is nothing beside 1


@kernel(inline=True)
def exp_parts(x: Any, rest: Any) -> Any:
    """exp(x + rest) = 2^m (head + tail), |x| < 746, |rest| < 1e-10; head is between 1 and 2."""
    turns = (x * STEPS_PER_E + ROUNDER) - ROUNDER
    n = int(turns)
    r = ((x - turns * STEP_HIGH) - turns * STEP_LOW) + rest
    j = n & 63
    p = r + r * r * horner(r, EXP)
    head = POWER_HIGH[j]
    return n >> 6, head, POWER_LOW[j] + head * p


@kernel
def exp(x: Any) -> Any:
    """e^x."""
    if x != x:
        return x
    if x > LARGEST:
        return INFINITE
    if x < SMALLEST:
        return 0.0
    m, head, tail = exp_parts(x, 0.0)
    return scaled(head + tail, m)


@kernel
def expm1(x: Any) -> Any:
    """e^x - 1."""
    if abs(x) < NEAR:
        if x == 0.0:
            return x  # -0.0 stays so
        x_1, x_2 = halves(x)
        s, e = ordered_sum(x, 0.5 * x_1 * x_1)
        return s + (e + (0.5 * x_2 * (x + x_1) + x * x * x * horner(x, EXPM1)))
    if x != x:
        return x
    if x > LARGEST:
        return INFINITE
    if x < -40.0:
        return -1.0
    m, head, tail = exp_parts(x, 0.0)
    if m > 1000:
        return scaled(head + tail, m)
    s, e = sum_of(scaled(head, m), -1.0)
    return s + (e + scaled(tail, m))


@kernel(inline=True)
def with_reciprocal(x: Any, sign: Any) -> Any:
    """(exp x + sign exp -x) / 2 for 0 <= x < 711."""
    m, head, tail = exp_parts(x, 0.0)
    if x > FAR:
        return scaled(head + tail, m - 1)
    k, head_2, tail_2 = exp_parts(-x, 0.0)
    s, e = sum_of(scaled(head, m - 1), sign * scaled(head_2, k - 1))
    return s + (e + (scaled(tail, m - 1) + sign * scaled(tail_2, k - 1)))


@kernel
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    size = abs(x)
    if size < NEAR:
        if x == 0.0:
            return x
        return x + x * (x * x) * horner(x * x, SINH)
    if x != x:
        return x
    found = INFINITE if size > LARGEST + 1.0 else with_reciprocal(size, -1.0)
    return -found if x < 0.0 else found


@kernel
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    size = abs(x)
    if x != x:
        return x
    return INFINITE if size > LARGEST + 1.0 else with_reciprocal(size, 1.0)


@kernel
def tanh(x: Any) -> Any:
    """Hyperbolic tangent: 1 - 2 / (exp 2x + 1)."""
    size = abs(x)
    if size < NEAR:
        if x == 0.0:
            return x
        return x + x * (x * x) * horner(x * x, TANH)
    if x != x:
        return x
    found = 1.0
    if size < FAR:
        m, head, tail = exp_parts(2.0 * size, 0.0)
        below, e = sum_of(scaled(head, m), 1.0)
        below, e = ordered_sum(below, e + scaled(tail, m))
        q = 2.0 / below
        p, lack = product(q, below)
        correction = (((2.0 - p) - lack) - q * e) / below
        s, e = ordered_sum(1.0, -q)
        found = s + (e - correction)
    return -found if x < 0.0 else found
