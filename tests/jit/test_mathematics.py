"""Sine, cosine and tangent in the kernel language against 1400 bits of mpmath."""

import math

import mpmath
import numpy as np
import pytest

from stickslip.jit import kernel, mathematics
from stickslip.jit.mathematics import bits_of, cos, sin, sincos, tan


@kernel
def of_all(x, found):
    for i in range(x.shape[0]):
        found[i, 0] = sin(x[i])
        found[i, 1] = cos(x[i])
        found[i, 2] = tan(x[i])
        found[i, 3], found[i, 4] = sincos(x[i])


def angles(count, seed):
    """Of all sizes, and the neighbours of quarter turns, where most digits cancel."""
    random = np.random.default_rng(seed)
    turns = random.integers(1, 2**20, count)
    with mpmath.workprec(1400):
        near = np.array([float(mpmath.pi / 2 * int(k)) for k in turns])
    return np.concatenate(
        [
            random.uniform(-4.0, 4.0, 2 * count),
            random.uniform(-1.6e6, 1.6e6, count),
            random.choice([-1.0, 1.0], count) * 10.0 ** random.uniform(-300.0, 5.0, count),
            random.choice([-1.0, 1.0], count) * 10.0 ** random.uniform(5.0, 308.0, count),
            near, -near, np.nextafter(near, np.inf), np.nextafter(near, 0.0),
            [6381956970095103.0 * 2.0**797, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, 0.5],
        ]
    )  # fmt: skip


def errors(x, found):
    """Largest errors of sine, cosine, tangent, in units of the last digit."""
    largest = [0.0, 0.0, 0.0]
    with mpmath.workprec(1400):
        for angle, row in zip(x.tolist(), found.tolist(), strict=True):
            s, c = mpmath.sin(angle), mpmath.cos(angle)
            for k, true in enumerate((s, c, s / c)):
                error = abs(mpmath.mpf(row[k]) - true) / mpmath.mpf(math.ulp(float(true)))
                largest[k] = max(largest[k], float(error))
    return largest


@pytest.mark.parametrize("count", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_errors_stay_below_the_bounds_of_the_docs(count):
    x = angles(count, seed=count)
    found = np.empty((len(x), 5))
    of_all.compiled(x, found)
    s, c, t = errors(x, found)
    assert s < 0.8 and c < 0.8 and t < 2.0
    assert np.array_equal(found[:, :2], found[:, 3:])
    for angle, row in list(zip(x.tolist(), found.tolist(), strict=True))[::29]:
        assert [sin(angle), cos(angle), tan(angle), *sincos(angle)] == row  # plain Python has the bits of machine code


def test_what_is_no_angle():
    x = np.array([np.inf, -np.inf, np.nan])
    found = np.zeros((3, 5))
    of_all.compiled(x, found)
    assert np.isnan(found).all()


def test_zeros_keep_their_signs():
    x, found = np.array([-0.0, 0.0]), np.empty((2, 5))
    of_all.compiled(x, found)
    assert np.array_equal(np.signbit(found[:, [0, 2, 3]]), [[True] * 3, [False] * 3])
    assert np.array_equal(found[:, [1, 4]], np.ones((2, 2)))


def test_constants_are_those_of_pi():
    with mpmath.workprec(2000):
        assert int(2 / mpmath.pi * 2**1288) == mathematics.TWO_OVER_PI
        parts = (mathematics.PI_1, mathematics.PI_2, mathematics.PI_3)
        assert abs(sum(map(mpmath.mpf, parts)) - mpmath.pi / 2) < mpmath.mpf(2) ** -121
        parts = (mathematics.PI_HIGH, mathematics.PI_LOW)
        assert abs(sum(map(mpmath.mpf, parts)) - mpmath.pi / 2) < mpmath.mpf(2) ** -107


@kernel
def bits(x):
    return bits_of(x)


def test_bits_of_a_float():
    for x in (1.0, -2.5, 0.0, 5e-324, math.inf):
        assert bits(x) == bits.compiled(x) == np.float64(x).view(np.int64)
