"""Friction laws by themselves: formulas, refusals, and how contacts and systems take them."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.laws import FrictionLaw


def particle(law, parameters=None, **contact):
    """A particle on a floor whose friction is the law."""
    x, y, v, w = sp.symbols("x y v w")
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=10 * y,
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=law, **contact)],
        parameters=parameters or {},
        name="particle with a law",
    )


def test_formulas():
    speeds = np.array([0.0, 0.05, -0.1, 3.0])
    np.testing.assert_array_equal(ss.Coulomb(0.4)(speeds), 0.4)
    np.testing.assert_array_equal(ss.TwoCoefficient(0.5, 0.3)(speeds), [0.5, 0.3, 0.3, 0.3])
    law = ss.Stribeck(0.5, 0.3, velocity=0.1, exponent=2, viscous=0.01)
    expected = 0.3 + 0.2 * np.exp(-((speeds / 0.1) ** 2)) + 0.01 * np.abs(speeds)
    np.testing.assert_allclose(law(speeds), expected, rtol=1e-15)
    assert (law.at_rest, ss.TwoCoefficient(0.5, 0.3).at_rest) == (0.5, 0.5)
    np.testing.assert_allclose(ss.FrictionCurve(lambda v: 1 / (1 + v))(speeds), 1 / (1 + np.abs(speeds)))


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: ss.TwoCoefficient(0.3, 0.5), "kinetic of TwoCoefficient must not exceed static, got 0.5 > 0.3"),
        (lambda: ss.TwoCoefficient(0.3, -0.1), "kinetic of TwoCoefficient must be finite and not negative, got -0.1"),
        (
            lambda: ss.TwoCoefficient(0.3, 0.2, graze="hop"),
            "graze of TwoCoefficient must be one of slip, grab, got 'hop'",
        ),
        (lambda: ss.TwoCoefficient(math.nan, 0.2), "static of TwoCoefficient must be finite and not negative, got nan"),
        (lambda: ss.TwoCoefficient([1], 0.2), r"static of TwoCoefficient must be a number, .* got \[1\]"),
        (lambda: ss.Stribeck(0.3, 0.2, velocity=-1.0), "velocity of Stribeck must be finite and positive, got -1"),
        (lambda: ss.Stribeck(0.3, 0.2, velocity=0), "velocity of Stribeck must be finite and positive, got 0"),
        (lambda: ss.Stribeck(0.3, 0.2, 0.1, exponent=0), "exponent of Stribeck must be finite and positive, got 0"),
        (lambda: ss.Stribeck(0.3, 0.2, 0.1, viscous=-1), "viscous of Stribeck must be finite and not negative, got -1"),
        (lambda: ss.Coulomb(-1), "coefficient of Coulomb must be finite and not negative, got -1"),
        (lambda: ss.LoadIndependent(math.inf), "threshold of LoadIndependent must be finite and not negative, got inf"),
        (lambda: ss.FrictionCurve(0.3), "curve of FrictionCurve must be a function or a SymPy expression, got 0.3"),
        (lambda: ss.FrictionCurve(lambda a, b, c: 1.0), r"must be a function of \(speed\) or \(speed, p\), got one of"),
        (lambda: ss.FrictionCurve(sp.Symbol("a")), "speed of FrictionCurve must be the symbol of"),
        (lambda: ss.FrictionCurve(lambda v: 1.0, speed=sp.Symbol("a")), "belongs to a curve that is an expression"),
    ],
)
def test_refusals(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    "build, words",
    [
        (
            lambda: particle(ss.TwoCoefficient("a", "b"), {"a": 0.2, "b": 0.4}),
            "kinetic of TwoCoefficient of contact 'floor' must not exceed static, got 0.4 > 0.2",
        ),
        (
            lambda: particle(ss.TwoCoefficient("a", "c"), {"a": 0.2, "b": 0.4}),
            "kinetic of TwoCoefficient of contact 'floor': unknown symbol 'c'",
        ),
        (
            lambda: particle(ss.Stribeck(1, 0.5, "c"), {"c": 1.0}).parameter_vector({"c": -2.0}),
            "velocity of Stribeck of contact 'floor' must be finite and positive, got -2",
        ),
        (
            lambda: particle(ss.FrictionCurve(lambda v: float("nan"))),
            "friction of contact 'floor' must be finite and not negative, got nan",
        ),
        (
            lambda: particle(ss.FrictionCurve(lambda v: -0.1)),
            "friction of contact 'floor' must be finite and not negative, got -0.1",
        ),
        (
            lambda: particle(ss.FrictionCurve(lambda v: "slippery")),
            "laws of system 'particle with a law' cannot be evaluated: ValueError",
        ),
        (lambda: particle(ss.LoadIndependent(2), threshold=1), "are the same; give one of them"),
        (lambda: particle(0.3, threshold=ss.LoadIndependent(2)), "friction laws belong to friction="),
        (
            lambda: ss.Contact("wall", gap=sp.Symbol("y"), friction=ss.TwoCoefficient(0.3, 0.2)),
            "contact 'wall' has friction = .* but no tangential direction",
        ),
    ],
)
def test_refusals_by_a_system(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_constant_laws_are_the_numbers_they_stand_for():
    """A constant law gives the source of a system with a number, and so its kernels."""
    assert particle(ss.Coulomb(0.3)).source() == particle(0.3).source()
    assert particle(ss.LoadIndependent(2)).source() == particle(0, threshold=2).source()
    assert not particle(0.3).has_friction_laws and "friction(" not in particle(0.3).source()


def test_a_system_evaluates_its_laws():
    speed, a = sp.symbols("s a")
    by_expression = particle(ss.FrictionCurve(a / (1 + speed), speed), {a: 0.5})
    by_function = particle(ss.FrictionCurve(lambda v, p: p[0] / (1 + v)), {a: 0.5})
    for system in (by_expression, by_function):
        assert system.laws()[0][0] == 0.5
        assert system.sliding_friction([3.0])[0] == 0.125
        assert system.sliding_friction([3.0], system.parameter_vector({"a": 1.0}))[0] == 0.25
        assert (system.has_friction_laws, system.sliding_codes) == (True, (1,))
    assert particle(ss.TwoCoefficient(0.5, 0.2, graze="grab")).sliding_codes == (2,)
    assert "mu(|v|)" in by_expression.equations().text()


def test_a_system_of_functions_takes_laws():
    def force(q, u, t, p):
        return np.array([p[0], -10.0])

    def gap(q, t, p):
        return q[1]

    system = ss.LagrangianSystem(
        mass=np.eye(2),
        force=force,
        contacts=[
            ss.Contact(
                "floor", gap=gap, normal=[0.0, 1.0], tangent=[1.0, 0.0], friction=ss.TwoCoefficient("mu_s", "mu_k")
            )
        ],
        parameters={"pull": 4.0, "mu_s": 0.5, "mu_k": 0.3},
    )
    held = ss.simulate(system, [0, 0], [0, 0], dt=0.1, t_end=1.0, engine="reference")
    assert (held.u == 0.0).all()
    slides = ss.simulate(system, [0, 0], [0, 0], dt=0.1, t_end=1.0, engine="reference", params={"pull": 5.5})
    np.testing.assert_allclose(slides.u[:, 0], 2.5 * slides.t, atol=1e-13)  # (5.5 - 0.3 * 10) / 1


def test_every_law_is_a_frozen_value():
    laws = [ss.Coulomb(0.1), ss.LoadIndependent(1.0), ss.TwoCoefficient(0.2, 0.1), ss.Stribeck(0.2, 0.1, 1.0)]
    for law in laws:
        assert isinstance(law, FrictionLaw) and hash(law) == hash(eval(repr(law), vars(ss)))
        with pytest.raises(AttributeError):
            law.static = 3.0
