"""The sizes of a gap's terms, by which its rounding error is judged."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.codes import GAP_ROUNDING
from stickslip.mechanisms.source import size_of

x, y, phi = sp.symbols("x y phi", real=True)
GAPS = [
    y - sp.sin(phi),
    (y - 1000) - x * sp.sin(phi - sp.Rational(3, 10)) + 3 * sp.cos(phi),
    sp.sqrt(x**2 + (y - 1) ** 2) - 2,
    sp.Max(y - x, x - y) + sp.Abs(phi),
    sp.Piecewise((y - x, x > 1), (y - 1, True)),
    (x**3 - y) / (2 + sp.cos(phi)),
    sp.exp(x / 10000) - sp.atan2(x, y) + sp.tan(phi / 8),
]


@pytest.mark.parametrize("gap", GAPS)
def test_rounding_errors_stay_below_what_the_sizes_say(gap):
    evaluate, size = (sp.lambdify((x, y, phi), form, "math") for form in (gap, size_of(gap)))
    generator = np.random.default_rng(1)
    for scale in (1e-3, 1.0, 1e5):
        for point in generator.normal(scale=scale, size=(10, 3)):
            # the coordinates themselves are known to their last digit only
            exact = gap.subs({s: sp.Float(float(v), 60) for s, v in zip((x, y, phi), point, strict=True)}).evalf(50)
            known = [float(v) * (1 + 2.0**-53) for v in point]
            for values in (point.tolist(), known):
                assert abs(evaluate(*values) - float(exact)) <= GAP_ROUNDING * size(*values)


def test_a_size_is_that_of_the_terms_not_of_the_gap():
    assert size_of(x - y) == sp.Abs(x) + sp.Abs(y)
    assert size_of(x * y) == sp.Abs(x) * sp.Abs(y)
    assert size_of(sp.sin(phi)).subs(phi, 1e-6) == pytest.approx(2e-6)
    assert float(size_of(sp.sqrt(x**2 + y**2)).subs({x: 3, y: 4})) == 7.5


def _normal(q, t, p):
    return np.array([-math.cos(q[0]), 1.0])


def _gap(q, t, p):
    return q[1] - math.sin(q[0])


def test_sizes_of_gaps_that_are_functions():
    system = ss.LagrangianSystem(
        mass=np.eye(2),
        force=lambda q, u, t, p: np.zeros(2),
        contacts=[ss.Contact("moving", gap=_gap, normal=_normal), ss.Contact("plain", gap=_gap, normal=[0.0, 2.0])],
        coordinates=["angle", "height"],
    )
    q = np.array([0.3, 1e3])
    g = 1e3 - math.sin(0.3)
    np.testing.assert_allclose(system.gap_sizes(q), [g + 0.3 * math.cos(0.3) + 1e3, g + 2e3], rtol=1e-14)


def test_only_unilateral_contacts_have_sizes():
    z, v = sp.symbols("z v")
    system = ss.LagrangianSystem.from_energies(
        [z],
        velocities=[v],
        kinetic=v**2 / 2,
        contacts=[ss.PrestressedSpring("spring", z, 1.0), ss.Contact("floor", gap=z)],
    )
    assert system.gap_sizes([2.0]).tolist() == [0.0, 2.0]
