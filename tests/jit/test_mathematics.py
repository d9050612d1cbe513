"""Sines, exponentials, powers and the like in the kernel language: errors against mpmath, and special numbers."""

import importlib.util
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from stickslip.jit import kernel, mathematics
from stickslip.jit.mathematics import sines
from stickslip.jit.mathematics.bits import bits_of, float_of
from tests.thinned import examples, thinned

OF_TWO = ("atan2", "hypot", "pow", "fmod")
BY_NAME = {one.python.__name__: one for one in mathematics.KERNELS}
TOOL = Path(__file__).parent.parent.parent / "tools" / "derive_mathematics.py"
inf, nan = math.inf, math.nan


def of_array(function, two):
    """A kernel that applies one of `mathematics` to the rows of an array."""

    @kernel
    def one(x, found):
        for i in range(x.shape[0]):
            found[i] = function(x[i, 0])

    @kernel
    def pair(x, found):
        for i in range(x.shape[0]):
            found[i] = function(x[i, 0], x[i, 1])

    return pair if two else one


def compiled(name, x):
    """A function of each row, by machine code."""
    x = np.asarray(x, dtype=float)
    x = x.reshape(-1, 2) if name in OF_TWO else x.reshape(-1, 1)
    found = np.empty(len(x))
    of_array(BY_NAME[name], name in OF_TWO).compiled(x, found)
    return x, found


def sizes(random, count, low, high):
    """Numbers of both signs, of all sizes between two powers of ten."""
    return random.choice([-1.0, 1.0], count) * 10.0 ** random.uniform(low, high, count)


def near(points):
    """Numbers, and their neighbours."""
    points = np.asarray(points, dtype=float)
    return np.concatenate([points, np.nextafter(points, inf), np.nextafter(points, -inf)])


def angles(random, count):
    """Of all sizes, and the neighbours of quarter turns, where most digits cancel."""
    turns = random.integers(1, 2**20, count)
    with mpmath.workprec(1400):
        quarters = np.array([float(mpmath.pi / 2 * int(k)) for k in turns])
    return np.concatenate(
        [
            random.uniform(-4.0, 4.0, 2 * count), random.uniform(-1.6e6, 1.6e6, count),
            sizes(random, count, -300.0, 5.0), sizes(random, count, 5.0, 308.0), near(quarters), near(-quarters),
            [6381956970095103.0 * 2.0**797, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, 0.5],
        ]
    )  # fmt: skip


def exponents(random, count):
    """For exponentials and the like: all that neither overflows nor is 0, and the ends of that."""
    return np.concatenate(
        [
            random.uniform(-1.0, 1.0, 2 * count), random.uniform(-745.0, 709.7, count), random.uniform(-40, 40, count),
            sizes(random, count, -300.0, -1.0), random.uniform(-745.2, -708.0, count // 4),
            near([0.35, -0.35, 709.782712893384, -745.1332191019412, 1e-16, 1e-17, 22.0, -36.7]),
        ]
    )  # fmt: skip


def positive(random, count):
    """For logarithms: all sizes, many next to 1, and subnormal numbers."""
    edges = 1.0 + np.arange(128) / 128.0
    return np.concatenate(
        [
            abs(sizes(random, count, -307.0, 308.0)), random.uniform(0.4, 2.2, 2 * count),
            1.0 + sizes(random, count, -15.0, -1.0), near(edges), abs(sizes(random, count, -323.0, -308.0)),
            [2.0, 1000.0, 1e22, 8.0, 2.0**-1074, 1.7976931348623157e308, 2.0**-1022],
        ]
    )  # fmt: skip


def unit(random, count):
    """Between -1 and 1, many next to the ends."""
    ends = 1.0 - abs(sizes(random, count, -15.0, -1.0))
    edges = near([0.5, 0.25, -0.5, 0.0625])
    return np.concatenate(
        [random.uniform(-1.0, 1.0, 2 * count), ends, -ends, sizes(random, count, -300.0, -1.0), edges]
    )


def any_size(random, count):
    grid = np.arange(1, 129) / 128.0
    return np.concatenate(
        [
            sizes(random, count, -320.0, 308.0), sizes(random, count, -3.0, 3.0), random.uniform(-2.0, 2.0, count),
            near(grid), near(grid + 1.0 / 256.0), near(1.0 / grid), near([0.0625, 0.5, 1.0, 2.0**500]),
        ]
    )  # fmt: skip


def errors_of(random, count):
    edges = np.arange(4, 220) / 8.0
    return np.concatenate(
        [
            random.uniform(-1.0, 1.0, count), random.uniform(-6.0, 6.0, count), random.uniform(-6.0, 26.5, count),
            sizes(random, count, -300.0, 0.0), near(edges), near(-edges[:40]),
        ]
    )  # fmt: skip


def pairs(random, count):
    """Two sides of all sizes, alike and unlike."""
    x, y = sizes(random, count, -300.0, 300.0), sizes(random, count, -300.0, 300.0)
    similar = np.stack([sizes(random, count, -2.0, 2.0), sizes(random, count, -2.0, 2.0)], 1)
    scale = abs(sizes(random, count, -300.0, 300.0))[:, None]
    tiny = np.stack([sizes(random, count, -323.0, -300.0), sizes(random, count, -323.0, -300.0)], 1)
    return np.concatenate([np.stack([x, y], 1), similar, similar * scale, tiny])


def powers(random, count):
    """Bases and exponents whose power neither overflows nor is 0."""
    base = np.concatenate([abs(sizes(random, count, -300.0, 300.0)), 1.0 + sizes(random, count, -12.0, -0.5)])
    base = np.concatenate([base, random.uniform(0.1, 10.0, 2 * count), abs(sizes(random, count // 4, -323.0, -308.0))])
    exponent = random.uniform(-744.0, 709.0, len(base)) / np.log(base)
    exponent[::3] = random.uniform(-3.0, 3.0, len(exponent[::3]))
    whole = np.abs(exponent) < 1e6
    signs = np.where(whole & (random.random(len(base)) < 0.2), -1.0, 1.0)
    exponent = np.where(signs < 0.0, np.round(exponent), exponent)
    found = np.stack([signs * base, exponent], 1)
    with np.errstate(all="ignore"):
        return found[np.isfinite(np.power(found[:, 0], found[:, 1])) & (found[:, 0] != 0.0)]


def divisions(random, count):
    wide = np.stack([sizes(random, count, -300.0, 308.0), sizes(random, count, -320.0, 308.0)], 1)
    return np.concatenate([wide, np.stack([random.uniform(-50, 50, count), random.uniform(-3, 3, count)], 1)])


CASES = {
    "sin": (mpmath.sin, angles, 0.8), "cos": (mpmath.cos, angles, 0.8), "tan": (mpmath.tan, angles, 0.9),
    "exp": (mpmath.exp, exponents, 0.8), "expm1": (mpmath.expm1, exponents, 0.6),
    "sinh": (mpmath.sinh, exponents, 0.7), "cosh": (mpmath.cosh, exponents, 0.6),
    "tanh": (mpmath.tanh, exponents, 0.7),
    "log": (mpmath.log, positive, 0.55), "log2": (lambda x: mpmath.log(x) / mpmath.log(2), positive, 0.55),
    "log10": (mpmath.log10, positive, 0.55),
    "log1p": (mpmath.log1p, lambda r, n: np.concatenate([positive(r, n), positive(r, n) - 1.0]), 0.6),
    "pow": (mpmath.power, powers, 0.8), "asin": (mpmath.asin, unit, 0.7), "acos": (mpmath.acos, unit, 0.7),
    "atan": (mpmath.atan, any_size, 0.6), "atan2": (mpmath.atan2, pairs, 0.6), "hypot": (mpmath.hypot, pairs, 0.8),
    "asinh": (mpmath.asinh, any_size, 0.6), "atanh": (mpmath.atanh, unit, 0.6),
    "acosh": (mpmath.acosh, lambda r, n: 1.0 + abs(any_size(r, n)), 0.6),
    "erf": (mpmath.erf, errors_of, 0.9), "erfc": (mpmath.erfc, errors_of, 0.95),
    "fmod": (lambda x, y: mpmath.fmod(abs(x), abs(y)) * mpmath.sign(x), divisions, 0.0),
}  # fmt: skip
"""Functions: the true one, arguments, and the largest error that is allowed, in units of the last digit."""
EXACT = ("frexp", "ldexp")


def largest_error(name, count, seed=7):
    """Largest error of a function, in units of the last digit, and the arguments that have it."""
    true, arguments, _ = CASES[name]
    with np.errstate(all="ignore"):
        x = arguments(np.random.default_rng(seed), count)
    x, found = compiled(name, x)
    worst, where = 0.0, None
    with mpmath.workprec(2400 if name in ("sin", "cos", "tan", "fmod") else 2300 if name == "hypot" else 400):
        for row, value in zip(x.tolist(), found.tolist(), strict=True):
            if not all(map(math.isfinite, row)) or (name in ("log1p", "acosh") and not row[0] > -1.0):
                continue
            want = true(*map(mpf, row))
            unit = math.ulp(float(want)) if math.isfinite(float(want)) else inf
            error = float(abs(mpf(value) - want) / mpf(unit)) if math.isfinite(unit) else float(value != float(want))
            if error > worst:
                worst, where = error, row
    return worst, where


@pytest.mark.parametrize("name", CASES)
@thinned
def test_errors_stay_below_the_bounds(name):
    worst, where = largest_error(name, examples(12, 40))
    assert worst <= CASES[name][2], where


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_errors_stay_below_the_bounds_at_many_places(name):
    worst, where = largest_error(name, 5000, seed=11)
    assert worst <= CASES[name][2], where
    assert CASES[name][2] < 1.0


def test_every_function_has_a_case():
    assert set(BY_NAME) == {*CASES, *EXACT}


@pytest.mark.parametrize("name", CASES)
def test_plain_python_has_the_bits_of_machine_code(name):
    with np.errstate(all="ignore"):
        x = CASES[name][1](np.random.default_rng(3), 8)
    special = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 5e-324, -2.5, 3.0, 1e308]
    extra = [[a, b] for a in special for b in special] if name in OF_TWO else special
    x, found = compiled(name, [*np.asarray(x).tolist(), *extra])
    for row, value in zip(x.tolist(), found.tolist(), strict=True):
        plain = BY_NAME[name](*row)
        assert type(plain) is float
        assert same(plain, value), row


SPECIAL = {
    "sin": [(inf, nan), (nan, nan), (-0.0, -0.0), (5e-324, 5e-324)],
    "cos": [(-inf, nan), (-0.0, 1.0)],
    "tan": [(inf, nan), (-0.0, -0.0), (-5e-324, -5e-324)],
    "exp": [(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 1.0), (-0.0, 1.0), (5e-324, 1.0),
        (709.782712893384, 1.7976931348622732e308), (709.7827128933841, inf), (-745.1332191019411, 5e-324),
        (-745.14, 0.0), (800.0, inf), (-800.0, 0.0)],
    "expm1": [(-0.0, -0.0), (-inf, -1.0), (inf, inf), (nan, nan), (-5e-324, -5e-324)],
    "sinh": [(-0.0, -0.0), (-inf, -inf), (nan, nan), (710.4758600739439, 1.7976931348621744e308), (-711.0, -inf)],
    "cosh": [(-inf, inf), (nan, nan), (-0.0, 1.0), (711.0, inf)],
    "tanh": [(-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan), (-5e-324, -5e-324)],
    "log": [(0.0, -inf), (-0.0, -inf), (-1.0, nan), (inf, inf), (-inf, nan), (nan, nan), (1.0, 0.0),
        (5e-324, -744.4400719213812)],
    "log2": [(2.0**-1074, -1074.0), (8.0, 3.0), (0.0, -inf)],
    "log10": [(1000.0, 3.0), (1e22, 22.0), (-1.0, nan), (inf, inf)],
    "log1p": [(-1.0, -inf), (-0.0, -0.0), (-2.0, nan), (inf, inf), (nan, nan), (5e-324, 5e-324), (-inf, nan)],
    "asin": [(1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.1, nan), (-0.0, -0.0), (nan, nan)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (-1.1, nan), (0.0, math.pi / 2), (nan, nan)],
    "atan": [(inf, math.pi / 2), (-inf, -math.pi / 2), (-0.0, -0.0), (nan, nan), (5e-324, 5e-324)],
    "asinh": [(-inf, -inf), (-0.0, -0.0), (nan, nan)],
    "acosh": [(1.0, 0.0), (0.5, nan), (inf, inf), (nan, nan)],
    "atanh": [(1.0, inf), (-1.0, -inf), (1.1, nan), (-0.0, -0.0), (nan, nan), (-inf, nan)],
    "erf": [(inf, 1.0), (-inf, -1.0), (-0.0, -0.0), (nan, nan)],
    "erfc": [(inf, 0.0), (-inf, 2.0), (nan, nan), (0.0, 1.0), (27.226, 5e-324)],
    "atan2": [(0.0, -0.0, math.pi), (-0.0, -0.0, -math.pi), (-0.0, 0.0, -0.0), (0.0, 1.0, 0.0),
        (1.0, 0.0, math.pi / 2), (-1.0, -0.0, -math.pi / 2), (inf, inf, math.pi / 4), (-inf, -inf, -3 * math.pi / 4),
        (1.0, inf, 0.0), (-1.0, -inf, -math.pi), (inf, 1.0, math.pi / 2), (nan, 1.0, nan), (1.0, nan, nan),
        (5e-324, 1.0, 5e-324), (5e-324, 5e-324, math.pi / 4), (1.7e308, 1.7e308, math.pi / 4)],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (nan, 1.0, nan), (-0.0, -0.0, 0.0),
        (3 * 2.0**1000, 4 * 2.0**1000, 5 * 2.0**1000), (3 * 2.0**-1070, 4 * 2.0**-1070, 5 * 2.0**-1070),
        (1.7e308, 1.7e308, inf), (-5e-324, 0.0, 5e-324), (1.0, -0.0, 1.0)],
    "fmod": [(-0.0, 1.0, -0.0), (1.0, 0.0, nan), (inf, 1.0, nan), (1.0, inf, 1.0), (-6.0, 3.0, -0.0),
        (1.7e308, 5e-324, 0.0), (nan, 1.0, nan), (7.5, -2.0, 1.5)],
}  # fmt: skip
"""Arguments and results at the ends of the range."""


def same(a, b):
    return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_numbers(name):
    rows = SPECIAL[name]
    _, found = compiled(name, [row[:-1] for row in rows])
    for (*x, want), got in zip(rows, found.tolist(), strict=True):
        assert same(got, want), (name, *x, got)


def test_powers_of_special_numbers_are_those_of_c():
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        1e300,
        -1e300,
        2.0**60,
        inf,
        -inf,
        nan,
        5e-324,
        1e-30,
    ]
    x, found = compiled("pow", [[a, b] for a in values for b in values])
    with np.errstate(all="ignore"):
        want = np.power(x[:, 0], x[:, 1])
    for row, got, true in zip(x.tolist(), found.tolist(), want.tolist(), strict=True):
        assert same(got, true) or abs(got - true) <= math.ulp(true), (row, got, true)


@kernel
def taken_apart(x, m):
    a, e = mathematics.frexp(x)
    return a, e, mathematics.ldexp(x, m)


def test_floats_taken_apart_and_put_together():
    random = np.random.default_rng(2)
    for x in (
        0.0,
        -0.0,
        1.0,
        -3.5,
        5e-324,
        2.2e-308,
        1.7976931348623157e308,
        *sizes(random, 20, -320.0, 308.0).tolist(),
    ):
        for m in (
            0,
            1,
            -1,
            60,
            -60,
            1000,
            -1000,
            2098,
            -2098,
            10**9,
            -(10**9),
            *random.integers(-1100, 1100, 5).tolist(),
        ):
            try:
                scaled = math.ldexp(x, m)
            except OverflowError:
                scaled = math.copysign(inf, x)
            for found in (taken_apart(x, m), taken_apart.compiled(x, m)):
                assert found[:2] == math.frexp(x) and same(found[0], math.frexp(x)[0])
                assert same(found[2], scaled), (x, m)
    for x in (inf, -inf, nan):
        a, e, scaled = taken_apart.compiled(x, 3)
        assert same(a, x) and e == 0 and same(scaled, x)


@kernel
def sine_and_cosine(x):
    return mathematics.sincos(x)


def test_sine_and_cosine_together_have_the_bits_of_each():
    x = angles(np.random.default_rng(5), 30)
    both = [sine_and_cosine.compiled(angle) for angle in x.tolist()]
    assert np.array_equal(np.array(both), np.stack([compiled("sin", x)[1], compiled("cos", x)[1]], 1))


def test_constants_are_those_of_pi():
    with mpmath.workprec(2000):
        assert int(2 / mpmath.pi * 2**1288) == sines.TWO_OVER_PI
        parts = (sines.PI_1, sines.PI_2, sines.PI_3)
        assert abs(sum(map(mpf, parts)) - mpmath.pi / 2) < mpf(2) ** -121
        parts = (sines.PI_HIGH, sines.PI_LOW)
        assert abs(sum(map(mpf, parts)) - mpmath.pi / 2) < mpf(2) ** -107


def test_the_tool_derives_the_numbers_of_the_package():
    specification = importlib.util.spec_from_file_location("derive_mathematics", TOOL)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    assert tool.FILE.read_text(encoding="utf-8") == tool.text()


@kernel
def there_and_back(x):
    return bits_of(x), float_of(bits_of(x))


def test_bits_of_a_float():
    for x in (1.0, -2.5, 0.0, 5e-324, inf):
        want = (int(np.float64(x).view(np.int64)), x)
        assert there_and_back(x) == there_and_back.compiled(x) == want
