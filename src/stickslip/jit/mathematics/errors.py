"""The error function and its complement in the kernel language; errors below one of the last digit's unit.

Near 0 a polynomial; up to 1 polynomials around the middles of intervals; beyond, exp(-x^2) times such polynomials.
"""

from __future__ import annotations

from typing import Any

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import bits_of, horner, ordered_sum, product, scaled
from stickslip.jit.mathematics.coefficients import ERF, ERF_FIRST, ERF_NEAR, ERFC_FAR, ROW
from stickslip.jit.mathematics.exponentials import exp_parts

LARGEST = 27.3  # beyond, the complement is 0
WHOLE = 6.0  # beyond, the error function is 1
FAR_STEPS = 8  # intervals per factor of 2


@kernel(inline=True)
def near(x: Any) -> Any:
    """erf(x), 1/2 <= x < 1, as a sum of two floats."""
    j = int((x - 0.5) * 8.0)
    d = x - (0.5625 + j * 0.125)
    row = j * ROW
    rest = ERF_NEAR[row + 2]
    for k in range(3, ROW):
        rest = rest * d + ERF_NEAR[row + k]
    return ordered_sum(ERF_NEAR[row], ERF_NEAR[row + 1] + d * rest)


@kernel(inline=True)
def far(x: Any) -> Any:
    """erfc(x), 1 <= x < 27.3: exp(-x^2) times a polynomial."""
    bits = bits_of(x)
    octave = (bits >> 52) - 1023
    j = (bits >> 49) & 7
    width = float(1 << octave)
    d = x - width * (1.0 + (j + 0.5) * 0.125)
    row = (octave * FAR_STEPS + j) * ROW
    rest = ERFC_FAR[row + 2]
    for k in range(3, ROW):
        rest = rest * d + ERFC_FAR[row + k]
    a, b = ordered_sum(ERFC_FAR[row], ERFC_FAR[row + 1] + d * rest)
    square, lack = product(x, x)
    m, head, tail = exp_parts(-square, -lack)
    head, tail = ordered_sum(head, tail)
    p, e = product(head, a)
    return p + (e + (head * b + tail * a)), m


@kernel
def erf(x: Any) -> Any:
    """Error function."""
    size = abs(x)
    if size < 0.5:
        if x == 0.0:
            return x  # -0.0 stays so
        z = x * x
        return x + x * (ERF_FIRST + z * horner(z, ERF))
    if x != x:
        return x
    found = 1.0
    if size < 1.0:
        high, low = near(size)
        found = high + low
    elif size < WHOLE:
        rest, m = far(size)
        found = 1.0 - scaled(rest, m)
    return -found if x < 0.0 else found


@kernel
def erfc(x: Any) -> Any:
    """1 - erf(x), with all its digits where x is large."""
    size = abs(x)
    if x != x:
        return x
    if size < 0.5:
        z = x * x
        s, e = ordered_sum(1.0, -x)
        return s + (e - x * (ERF_FIRST + z * horner(z, ERF)))
    if size < 1.0:
        high, low = near(size)
        if x < 0.0:
            s, e = ordered_sum(1.0, high)
            return s + (e + low)
        s, e = ordered_sum(1.0, -high)
        return s + (e - low)
    if x > LARGEST:
        return 0.0
    if x < -WHOLE:
        return 2.0
    rest, m = far(size)
    return 2.0 - scaled(rest, m) if x < 0.0 else scaled(rest, m)
