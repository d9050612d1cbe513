"""Ranges of expressions and of their rates hold all values between two times."""

import numpy as np
import pytest
import sympy as sp

from stickslip.mechanisms.ranges import Course, Range, Ranges

x, y = sp.symbols("x y", real=True)
EXPRESSIONS = [
    sp.sin(3 * x + y), sp.cos(x * y), sp.exp(-(x**2)), sp.tan(x), sp.sqrt(x**2 + y**2), sp.Abs(x - y),
    sp.Max(x, y, 0), sp.Min(x, y**2), sp.sign(x), sp.Heaviside(x - y), sp.floor(3 * x), sp.ceiling(y),
    sp.Mod(x, sp.Rational(1, 2)), sp.Piecewise((x, x > y), (y**2, True)), sp.atan2(y, x), sp.asin(x / 3),
    sp.acos(y / 3), sp.atan(x * y), sp.tanh(5 * x), sp.cosh(y), sp.sinh(x), sp.erf(x), sp.erfc(x), sp.log(x**2 + 1),
    (1 + x**2) ** y, 1 / (x + 3), x**3 - y**-2, sp.asinh(x), sp.atanh(x / 3), sp.acosh(2.1 + x), sp.pi * x - 2,
    sp.Piecewise((x, (x > 0) & (y < 1)), (y, ~(x < y)), (0, True)),
]  # fmt: skip


@pytest.mark.parametrize("width", [1.0, 1e-3])
def test_values_and_rates_are_within_their_ranges(width):
    """On straight lines of random directions, by samples and their differences."""
    rng, lines, share = np.random.default_rng(1), 400, np.linspace(0.0, 1.0, 21)[:, None]
    begin, along = rng.uniform(-1.9, 1.9, (2, lines)), width * rng.uniform(-1.0, 1.0, (2, lines))
    given = [
        Course(Range(np.minimum(a, a + d), np.maximum(a, a + d)), Range(d, d))
        for a, d in zip(begin, along, strict=True)
    ]
    places = [a + share * d for a, d in zip(begin, along, strict=True)]
    for expression, found in zip(EXPRESSIONS, Ranges(EXPRESSIONS, [x, y]).courses(given), strict=True):
        function = sp.lambdify([x, y], expression, ["scipy", "numpy"])
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(function(*places), float), places[0].shape)
        rates = np.diff(values, axis=0) / np.diff(share, axis=0)
        for seen, range_, slack in ((values, found.value, 1e-12), (rates, found.rate, 1e-9)):
            there, slack = np.isfinite(seen), slack * (1.0 + np.abs(np.where(np.isfinite(seen), seen, 0.0)))
            assert np.all(~there | ((seen >= range_.low - slack) & (seen <= range_.high + slack))), expression


def test_short_intervals_have_narrow_ranges():
    """Their width is of the order of the interval: what has no zero is told to have none."""
    given = [Course(Range(0.7, 0.7 + 1e-6), Range(1.0, 1.0)), Course(Range(0.3, 0.3 + 1e-6), Range(-1.0, -1.0))]
    smooth = [z for z in EXPRESSIONS if not z.atoms(sp.sign, sp.Heaviside, sp.floor, sp.ceiling)]
    for expression, found in zip(smooth, Ranges(smooth, [x, y]).courses(given), strict=True):
        assert np.all(found.value.high - found.value.low < 1e-4), expression
        assert np.all(found.rate.high - found.rate.low < 1e-3), expression
