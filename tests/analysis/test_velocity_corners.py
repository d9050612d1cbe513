"""Motions that lie right on a corner of their forces in velocities."""

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
