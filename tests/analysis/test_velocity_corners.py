"""Motions that lie right on a corner of their forces in velocities."""

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

x, v, w = sp.symbols("x v w")


def start(force, speed):
    far = ss.Contact("far", gap=x + 9)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[force], contacts=[far], parameters={w: 0.7}, name="driven"
    )
    return ss.Scenario(system, [0], [speed], 0.01, 1.0)


def test_a_motion_on_a_corner_is_doubted():
    """v' = w max(0, v - 1) stays at v = 1: dv/dv_0 = 1 below and exp(w t) above."""
    on = start(w * sp.Max(0, v - 1), 1.0)
    found = ss.sensitivity(on, ["v"], samples=2)
    assert not found.reliable and "corner of its forces" in found.reason
    with pytest.raises(ValueError, match="corner of its forces"):
        ss.gradient(lambda q, u: q[0], on, ["v"])


@pytest.mark.parametrize(("force", "speed"), [(-w * sp.Abs(v) * v, 0.0), (w * sp.Max(0, v - 1), 0.5)])
def test_a_bend_and_a_corner_far_away_are_no_doubt(force, speed):
    found = ss.sensitivity(start(force, speed), ["v"], samples=2)
    assert found.reliable and found.end[:, 0] == pytest.approx([1.0, 1.0], rel=1e-12)


def slowed(b, c, speed, a, T=1.0):
    """(x, v) at T of v' = -a - b max(0, v - c) from rest at x = 0: complex numbers carry a derivative."""
    over = speed - c
    turn = np.log(1.0 + over * b / a) / b
    left = T - turn
    way = (c - a / b) * turn + (over + a / b) * (1.0 - np.exp(-b * turn)) / b
    return np.array([way + c * left - a * left**2 / 2.0, c - a * left])


def test_corners_that_are_passed_cost_no_digits():
    """Collocation across the corner was wrong by up to 4e-5, and called reliable."""
    a, b, c = sp.symbols("a b c")
    far = ss.Contact("far", gap=x + 9)
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[-a - b * sp.Max(0, v - c)], contacts=[far],
        parameters={b: 20.0, c: 0.5, a: 1.0}, name="slowed",
    )  # fmt: skip
    at = [20.0, 0.5, 1.0, 1.0]
    scenario, names = ss.Scenario(system, [0], [1.0], 0.01, 1.0), ["b", "c", "v", "a"]
    exact = np.transpose([slowed(*(y + 1e-30j * (i == k) for i, y in enumerate(at))).imag / 1e-30 for k in range(4)])
    found = ss.sensitivity(scenario, names, samples=3)
    assert found.reliable and np.abs(found.end / exact - 1.0).max() < 1e-9
    _, slope = ss.gradient(lambda q, u: q[0] + u[0], scenario, names)
    assert slope == pytest.approx(exact.sum(axis=0), rel=1e-9)
