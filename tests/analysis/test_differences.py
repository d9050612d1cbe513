"""Differences that judge themselves, and derivatives of motions that need them."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.analysis.differences import derivative


def test_steps_are_cut_until_two_orders_agree():
    scales = np.array([10.0, 1.0, 0.1, 1e-2, 1e-3])
    slope, error = derivative(lambda s: np.sin(s / scales + 0.3)[:, None])
    assert error == 0.0
    assert slope[:, 0] * scales == pytest.approx(math.cos(0.3), rel=1e-9)


def test_corners_are_told_and_round_off_is_not_one():
    assert derivative(lambda s: np.array([max(0.0, s)]))[1] > 0.01
    slope, error = derivative(lambda s: np.array([1e6 + 1e-3 * s]))
    assert error == 0.0 and slope[0] == pytest.approx(1e-3, rel=1e-5)
    slope, error = derivative(lambda s: np.array([(0.7 + 1e-3 * s - 0.7) ** 2]))  # an optimum
    assert error == 0.0 and abs(slope[0]) < 1e-16


def braking(s):
    return 0.2 + 0.1 / (1.0 + s / 1e-3)


def end_of_braking(stiffness, mu, t_end):
    """(x, v) of m = 1 on a spring that slides back from x = 0.3 with friction of the speed: a fine fourth-order run."""
    z, steps = np.array([0.3, 0.0]), 2000

    def rate(z):
        return np.array([z[1], -stiffness * z[0] + 9.81 * mu(-z[1])])

    grid = t_end * np.linspace(0.0, 1.0, steps + 1) ** 3  # fine where friction falls
    for h in np.diff(grid):
        a = rate(z)
        b = rate(z + 0.5 * h * a)
        c = rate(z + 0.5 * h * b)
        z = z + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(z + h * c))
    return z


@pytest.mark.slow
def test_friction_of_a_function_that_falls_within_a_millimetre_per_second():
    """Differences with steps of 1e-3 m/s had errors of 2e-4, and were called reliable."""
    x, v, y, w, k = sp.symbols("x v y w k")
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=9.81 * y + k * x**2 / 2,
        contacts=[ss.Contact("floor", gap=y, slip=x, friction=ss.FrictionCurve(braking))], parameters={k: 30.0},
    )  # fmt: skip
    found = ss.sensitivity(ss.Scenario(system, [0.3, 0], [0, 0], 1e-3, 0.05), ["k"], samples=2)
    ends = [end_of_braking(30.0 + step, braking, 0.05) for step in (0.01, -0.01)]
    assert found.reliable and not found.exact
    assert found.end[[0, 2], 0] == pytest.approx((ends[0] - ends[1]) / 0.02, rel=1e-6)


@pytest.mark.slow
def test_functions_that_are_not_smooth_are_doubted():
    def mass(q, t, p):
        return np.array([[1.0]])

    def force(q, u, t, p):
        return np.array([-max(0.0, u[0])])  # at rest the force has a corner

    def gap(q, t, p):
        return q[0] + 10.0

    def normal(q, t, p):
        return np.array([1.0])

    system = ss.LagrangianSystem(
        mass=mass, force=force, contacts=[ss.Contact("far", gap=gap, normal=normal)], coordinates=["x"], name="brake"
    )
    found = ss.sensitivity(ss.Scenario(system, [0.0], [0.0], 0.1, 0.1), ["x_dot"], samples=2)
    assert not found.reliable and "differences of the functions of 'brake'" in found.reason


def test_coordinates_of_very_different_units():
    """Beside a block [m] that slides to rest, an oscillator in another unit has accelerations of 1e12."""
    x, v, y, w, mu, k, m = sp.symbols("x v y w mu k m")
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + m * w**2) / 2, potential=k * y**2 / 2,
        contacts=[ss.DryFriction("floor", x, 10 * mu)], parameters={mu: 0.3, k: 1e-12, m: 1e-18},
    )  # fmt: skip
    start = ss.Scenario(system, [0, 1e6], [0.3, 0], 1e-3, 0.12)
    found = ss.sensitivity(start, ["v", "mu"], samples=2)
    assert found.reliable
    assert found.end[0] == pytest.approx([0.3 / 3.0, -(0.3**2) / (2 * 0.3**2 * 10)], rel=1e-9)
    assert found.end[2] == pytest.approx(0.0, abs=1e-9)


def test_narrow_objectives():
    ball = ss.library.bouncing_ball(restitution=0.8)
    exact = ss.sensitivity(ball, ["restitution"], t_end=1.0, samples=2)
    y = exact.trajectory.q[-1, 0]
    for method in ("adjoint", "forward"):
        _, slope = ss.gradient(
            lambda q, u: math.sin((q[0] - y) / 1e-4 + 0.3), ball, "restitution", t_end=1.0, method=method
        )
        assert slope[0] == pytest.approx(1e4 * math.cos(0.3) * exact.end[0, 0], rel=1e-8)
    with pytest.raises(ValueError, match=r"no certain slope.*give its derivatives as slope="):
        ss.gradient(lambda q, u: max(0.0, q[0] - y), ball, "restitution", t_end=1.0)
