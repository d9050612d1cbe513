"""Sine, cosine and tangent in the kernel language.

Largest error 0.8 of the last digit's unit over the whole range, 0.9 of the tangent.  Not a number where the angle is
infinite or none.

Coefficients: polynomials of least relative error for |r| <= pi/4, by Remez's exchange of extrema with 300 bits
(`tests/jit/test_mathematics.py` bounds their error); pi/2 in three parts; 2/pi to 1288 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit.kernel import kernel
from stickslip.jit.mathematics.bits import ROUNDER, bits_of, ordered_sum, product

QUARTERS = float.fromhex("0x1.45f306dc9c883p-1")  # 2 / pi
PI_1, PI_2 = float.fromhex("0x1.921fb54400000p+0"), float.fromhex("0x1.0b4611a600000p-34")  # pi / 2, 33 bits each
PI_3 = float.fromhex("0x1.3198a2e037073p-69")  # the rest
PI_HIGH, PI_LOW = float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")  # pi / 2
S1, S2, S3, S4, S5, S6 = map(
    float.fromhex,
    (
        "-0x1.5555555555549p-3", "0x1.111111110f87dp-7", "-0x1.a01a019c1201fp-13",
        "0x1.71de357815b95p-19", "-0x1.ae5e66882578ep-26", "0x1.5d93184eabb88p-33",
    ),
)  # fmt: skip
"""sin r = r + r^3 (S1 + S2 r^2 + ...), relative error 2^-58."""
C1, C2, C3, C4, C5, C6 = map(
    float.fromhex,
    (
        "0x1.555555555554cp-5", "-0x1.6c16c16c15181p-10", "0x1.a01a019cb219ap-16",
        "-0x1.27e4f80a35a8cp-22", "0x1.1ee9ec19d5103p-29", "-0x1.8faeb68577f3ap-37",
    ),
)  # fmt: skip
"""cos r = 1 - r^2 / 2 + r^4 (C1 + C2 r^2 + ...), relative error 2^-64."""
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a7"
    "3ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb"
    "09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361da9",
    16,
)
"""2 / pi times 2^1288, without its fraction."""
BITS, COUNT = 28, 46
MASK = (1 << BITS) - 1
DIGITS = np.array([TWO_OVER_PI >> BITS * (COUNT - 1 - k) & MASK for k in range(COUNT)])
"""Digits of 2 / pi, BITS bits each."""
FRACTION = 7  # digits behind the point that are kept of an angle in quarter turns
FAR = 1.6e6  # beyond, a number of quarter turns times PI_1 is not exact
SMALL = 0.785  # angles below are less than half a quarter turn
NEAR = 1e-8  # below, a rest has lost too many of its digits


@kernel(inline=True)
def reduced(x: Any) -> Any:
    """Quarter turns nearest to an angle, and the rest as a sum of two floats."""
    turns = (x * QUARTERS + ROUNDER) - ROUNDER
    t = x - turns * PI_1
    w = turns * PI_2
    r = t - w
    w = turns * PI_3 - ((t - r) - w)
    high = r - w
    low = (r - high) - w
    if not abs(x) < FAR or (abs(high) < NEAR and turns != 0.0):
        turns, high, low = reduced_exactly(x)
    return turns, high, low


@kernel
def reduced_exactly(x: Any) -> Any:
    """`reduced` of any angle: x 2/pi in whole numbers, of which multiples of four are left out from the start."""
    bits = bits_of(x)
    exponent = (bits >> 52) & 2047
    if exponent == 2047:
        return 0.0, x - x, 0.0
    # |x| = mantissa 2^(28 first + shift), mantissa times 2^shift in three digits
    exponent -= 1075
    first = exponent // BITS
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    shift = exponent - BITS * first
    m_0 = mantissa & MASK
    m_1 = mantissa >> BITS
    m_0 = m_0 << shift
    m_1 = (m_1 << shift) + (m_0 >> BITS)
    m_0 = m_0 & MASK
    m_2 = m_1 >> BITS
    m_1 = m_1 & MASK
    digits = np.empty(FRACTION + 1, np.int64)
    carry = 0
    for k in range(FRACTION + 1):
        place = FRACTION - k  # digits behind the point
        index = first - 1 + place
        total = carry
        if index >= 0:
            total += m_0 * DIGITS[index]
        if index >= -1:
            total += m_1 * DIGITS[index + 1]
        if index >= -2:
            total += m_2 * DIGITS[index + 2]
        digits[place] = total & MASK
        carry = total >> BITS
    quarters = digits[0] & 3
    sign = 1.0
    if digits[1] >= 1 << (BITS - 1):  # nearer to the next quarter turn: its complement, negative
        quarters += 1
        sign = -1.0
        for k in range(FRACTION):
            digits[k + 1] = MASK - digits[k + 1]
    begin = 1
    scale = 1.0 / (1 << BITS) / (1 << BITS)
    while digits[begin] == 0 and begin < FRACTION - 3:
        begin += 1
        scale = scale / (1 << BITS)
    # the four digits as a sum of two floats, in units of the second digit
    large = float(digits[begin]) * (1 << BITS)
    high = large + float(digits[begin + 1])
    low = float(digits[begin + 1]) - (high - large)
    low += (float(digits[begin + 2]) + float(digits[begin + 3]) / (1 << BITS)) / (1 << BITS)
    # times pi / 2, with the error of the product
    near, error = product(high, PI_HIGH)
    error += high * PI_LOW + low * PI_HIGH
    if x < 0.0:
        sign = -sign
        quarters = -quarters
    high, low = ordered_sum(near, error)
    return float(quarters), sign * high * scale, sign * low * scale


@kernel(inline=True)
def sine_parts(a: Any, b: Any) -> Any:
    """sin(a + b) for |a| <= pi / 4 as a sum of two floats, the second much smaller."""
    z = a * a
    y = z * z
    rest = (S2 + z * S3) + y * ((S4 + z * S5) + y * S6)
    return a, a * z * (S1 + z * rest) + (b - 0.5 * z * b)


@kernel(inline=True)
def cosine_parts(a: Any, b: Any) -> Any:
    """cos(a + b) for |a| <= pi / 4 as a sum of two floats, the second much smaller."""
    z = a * a
    y = z * z
    rest = (C1 + z * C2) + y * ((C3 + z * C4) + y * (C5 + z * C6))
    half = 0.5 * z
    one = 1.0 - half
    return one, ((1.0 - one) - half) + (y * rest - a * b)


@kernel(inline=True)
def small_sine(a: Any, b: Any) -> Any:
    """sin(a + b) for |a| <= pi / 4."""
    high, low = sine_parts(a, b)
    return a if a * a == 0.0 else high + low  # -0.0 stays so


@kernel(inline=True)
def small_cosine(a: Any, b: Any) -> Any:
    """cos(a + b) for |a| <= pi / 4."""
    high, low = cosine_parts(a, b)
    return high + low


@kernel
def turned_sine(x: Any) -> Any:
    """Sine of any angle."""
    turns, a, b = reduced(x)
    quarter = int(turns)
    odd = (quarter & 1) == 1
    found = small_cosine(a, b) if odd else small_sine(a, b)
    return -found if (quarter & 2) == 2 else found


@kernel
def turned_cosine(x: Any) -> Any:
    """Cosine of any angle."""
    turns, a, b = reduced(x)
    quarter = int(turns)
    odd = (quarter & 1) == 1
    found = small_sine(a, b) if odd else small_cosine(a, b)
    return -found if ((quarter + 1) & 2) == 2 else found


@kernel
def turned_both(x: Any) -> Any:
    """Sine and cosine of any angle."""
    turns, a, b = reduced(x)
    quarter = int(turns)
    odd = (quarter & 1) == 1
    s = small_sine(a, b)
    c = small_cosine(a, b)
    sine = c if odd else s
    cosine = s if odd else c
    return -sine if (quarter & 2) == 2 else sine, -cosine if ((quarter + 1) & 2) == 2 else cosine


@kernel(inline=True)
def sin(x: Any) -> Any:
    """Sine of an angle [rad]; a small one is its own rest."""
    if abs(x) < SMALL:
        return small_sine(x, 0.0)
    return turned_sine(x)


@kernel(inline=True)
def cos(x: Any) -> Any:
    """Cosine of an angle [rad]."""
    if abs(x) < SMALL:
        return small_cosine(x, 0.0)
    return turned_cosine(x)


@kernel(inline=True)
def sincos(x: Any) -> Any:
    """Sine and cosine of an angle [rad], from one reduction; the bits of `sin` and `cos`."""
    if abs(x) < SMALL:
        return small_sine(x, 0.0), small_cosine(x, 0.0)
    return turned_both(x)


@kernel
def tan(x: Any) -> Any:
    """Tangent of an angle [rad]."""
    turns, a, b = reduced(x)
    if a * a == 0.0 and (int(turns) & 1) == 0:
        return a  # -0.0 stays so
    s, s_low = sine_parts(a, b)
    s, s_low = ordered_sum(s, s_low)
    c, c_low = cosine_parts(a, b)
    c, c_low = ordered_sum(c, c_low)
    if (int(turns) & 1) == 1:
        s, s_low, c, c_low = -c, -c_low, s, s_low
    q = s / c
    p, e = product(q, c)
    return q + (((s - p) - e) + (s_low - q * c_low)) / c
