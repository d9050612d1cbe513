"""Second derivatives against closed forms, and the error that they claim."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

x, v, w, e, d = sp.symbols("x v w e d")


def oscillator(stop, params, start, t_end):
    element = ss.Contact("stop", gap=x + d, restitution_normal=e)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=w**2 * x**2 / 2, contacts=[element],
        parameters={w: 2.0, e: 0.8, d: 0.0}, name="oscillator",
    )  # fmt: skip
    return ss.Scenario(system, [start], [0.0], 0.01, t_end, params={"d": stop, **params})


def test_the_step_follows_the_scale_of_the_motion():
    """x = cos(w t): a step of 4e-3 w is 0.2 rad at w t = 50, and one quantity alone has no symmetry to check."""
    free = oscillator(9.0, {"w": 50.0}, 1.0, 1.0)
    found = ss.hessian(lambda q, u: q[0], free, ["w"])
    exact = -math.cos(50.0)
    wrong = abs(found.matrix[0, 0] / exact - 1.0)
    assert wrong < 1e-5 and wrong < 3.0 * found.error < 1e-4


def test_an_oscillator_that_strikes_its_stop_three_times():
    """x = -e^3 x_0 cos(w t) behind three impacts at x = 0."""
    found = ss.hessian(lambda q, u: q[0], oscillator(0.0, {}, 1.3, 5.0), ["w", "e"])
    exact = sp.hessian(-(e**3) * x * sp.cos(5 * w), (w, e)).subs({w: 2.0, e: 0.8, x: 1.3})
    assert found.matrix == pytest.approx(np.array(exact, dtype=float), abs=1e-6 * float(max(map(abs, exact))))
    assert found.error < 3e-6


def test_a_second_derivative_that_jumps_is_in_the_error():
    """v' = w max(0, v - 1)^2 from v = 1: d^2 v/dv_0^2 is 0 below and 2 w t above."""
    far = ss.Contact("far", gap=x + 9)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[w * sp.Max(0, v - 1) ** 2], contacts=[far],
        parameters={w: 0.7}, name="bent",
    )  # fmt: skip
    found = ss.hessian(lambda q, u: u[0], ss.Scenario(system, [0], [1.0], 0.01, 1.0), ["v"])
    assert found.error > 0.5 and found.matrix[0, 0] == pytest.approx(0.7, rel=0.01)
