"""Where a motion has no derivative: both sides by closed forms, square roots told from kinks and jumps."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from tests.analysis.test_adjoint import driven_by_many
from tests.analysis.test_sensitivity import disc

x, y, v, w, t, a, e, F = sp.symbols("x y v w t a e F")


def scenario(system, q0, u0, t_end):
    return ss.Scenario(system, q0, u0, 0.01, t_end, "", "")


def parabola():
    """y = y_0 - a + a (t - 1)^2 / 2 + a / 2: touches the floor at t = 1 if y_0 = a / 2."""
    floor = ss.Contact("floor", gap=y, restitution_normal=e)
    system = ss.LagrangianSystem.from_energies(
        [y], velocities=[w], kinetic=w**2 / 2, potential=-a * y, contacts=[floor], parameters={a: 1.0, e: 0.8},
        name="parabola",
    )  # fmt: skip
    return scenario(system, [0.5], [-1.0], 2.0)


def test_a_graze_is_a_square_root():
    """Struck sqrt(2 d / a) before the turn at speed sqrt(2 a d): y(2) = (1 + e) sqrt(2 a d) + ..., d = 1/2 - y_0."""
    doubt = ss.sensitivity(parabola(), ["y"], samples=2)
    assert not doubt.reliable and "grazes" in doubt.reason and doubt.doubts[0][0] == pytest.approx(1.0, abs=1e-6)
    found = ss.one_sided(parabola(), "y")
    assert found.kind == "square root" and found.below.kind == "square root" and found.above.kind == "derivative"
    assert found.above.slope == pytest.approx([1.0, 0.0], abs=1e-9)
    assert found.below.root == pytest.approx([-1.8 / math.sqrt(2.0)] * 2, rel=1e-4)
    assert found.above.events == () and found.below.events[0] == (("floor",), "impact")


def test_friction_at_its_bound_in_an_impact_is_a_kink():
    """d v_x / d v_x0 is 2/3 where the disc sticks, 1 where it slides; d v_x / d mu is 0 or -(1 + e) v."""
    fall = 1.8 * math.sqrt(2.0 * 9.81)
    start = scenario(disc(), [0, 1, 0], [0.3 * fall, 0, 0], 0.8)
    by_speed, by_friction = ss.one_sided(start, "v_x"), ss.one_sided(start, "mu")
    assert by_speed.kind == by_friction.kind == "kink"
    assert (by_speed.below.slope[3], by_speed.above.slope[3]) == pytest.approx((2.0 / 3.0, 1.0), rel=1e-8)
    assert (by_friction.below.slope[3], by_friction.above.slope[3]) == pytest.approx((-fall, 0.0), rel=1e-8, abs=1e-8)


def test_a_contact_just_loaded_is_a_kink():
    """A mass on the floor with its own weight as a lift: y = (F - g) t^2 / 2 for F > g, else it stays."""
    floor = ss.Contact("floor", gap=y)
    system = ss.LagrangianSystem.from_energies(
        [y], velocities=[w], kinetic=w**2 / 2, potential=2 * y, forces=[F], contacts=[floor], parameters={F: 2.0},
        name="lifted",
    )  # fmt: skip
    start = scenario(system, [0.0], [0.0], 1.0)
    doubt = ss.sensitivity(start, ["F"], samples=2)
    assert not doubt.reliable and "just loaded" in doubt.reason
    found = ss.one_sided(start, "F")
    assert found.kind == "kink"
    assert found.below.slope == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found.above.slope == pytest.approx([0.5, 1.0], rel=1e-9)


@pytest.mark.slow
def test_slip_that_stops_when_a_force_switches_is_a_kink():
    """m = mu N = 1, u_0 = 1, force -2 from t = 1 on: du(2)/du_0 = 0 from below (sticks), 1/3 from above (reverses)."""
    floor = ss.Contact("floor", gap=y, slip=x, friction=1.0)
    force = sp.Piecewise((0, t < 1), (-2, True))
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=y, forces=[force, 0], time=t, contacts=[floor],
        name="block",
    )  # fmt: skip
    start = scenario(system, [0, 0], [1.0, 0], 2.0)
    assert not ss.sensitivity(start, ["v"], samples=2).reliable
    found = ss.one_sided(start, "v")
    assert found.kind == "kink"
    assert (found.below.slope[2], found.above.slope[2]) == pytest.approx((0.0, 1.0 / 3.0), abs=1e-8)


def test_two_impacts_at_once_in_a_wedge_are_a_jump():
    """Walls 60 degrees apart, e = 1: (1.366, -0.366) or (0.366, 1.366), by the order of the impacts."""
    walls = [
        ss.Contact("first", gap=x, restitution_normal=1),
        ss.Contact("second", gap=x / 2 + sp.sqrt(3) / 2 * y, restitution_normal=1),
    ]
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, contacts=walls, name="wedge"
    )
    start = scenario(system, [1, 1], [-1, -1], 2.0)
    doubt = ss.sensitivity(start, ["x"], samples=2)
    assert not doubt.reliable and "at once" in doubt.reason
    found = ss.one_sided(start, "x")
    assert found.kind == "jump"
    # from below wall 1 is struck first
    assert np.abs(found.jump[2:]) == pytest.approx([1.0, 1.7320508], abs=1e-6)


@pytest.mark.slow
def test_a_smooth_value_is_smooth_and_the_end_of_a_range_is_unknown():
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.one_sided(ball, "y", t_end=1.0)
    assert found.kind == "smooth" and "smooth" in repr(found)
    assert found.above.slope == pytest.approx([1.38650222626, 3.98650222626], rel=1e-8)
    elastic = ss.one_sided(ss.library.bouncing_ball(restitution=1.0), "restitution", t_end=1.0)
    assert elastic.kind == "unknown" and elastic.above.kind == "unknown" and elastic.above.reason
    assert elastic.below.kind == "derivative"


@pytest.mark.slow
def test_hessian_of_a_ball_by_closed_form():
    """Impact 2: t_2 = (1 + 2 e) sqrt(2 h / g)."""
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.hessian(lambda t: t[1], ball, ["restitution", "y", "g"], events="impact", t_end=1.5)
    h, g, s = 1.0, 9.81, math.sqrt(2.0 / 9.81)
    exact = [
        [0.0, s / h, -s / g],
        [s / h, -2.6 * s / 4 / h**2, -2.6 * s / 4 / (h * g)],
        [-s / g, -2.6 * s / 4 / (h * g), 3 * 2.6 * s / 4 / g**2],
    ]
    assert found.matrix == pytest.approx(np.array(exact), rel=1e-7, abs=1e-8)
    assert found.error < 1e-7 and found.gradient[0] == pytest.approx(2 * s, rel=1e-9)
    with pytest.raises(ValueError, match="at most 30"):
        many, names = driven_by_many(31)
        ss.hessian(lambda q, u: 0.0, many, names)


def mass(force, **contact):
    """A mass with x, v under a force with the parameter F."""
    x, v, F = sp.symbols("x v F")
    element = ss.Contact("floor", gap=x) if not contact else ss.DryFriction("rail", x, contact["bound"])
    return ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[force(F)], contacts=[element], parameters={F: 1.0},
        name=f"mass {sorted(contact)}",
    )  # fmt: skip


def test_friction_whose_bound_is_just_met_is_smooth():
    """F sin t against a bound of 1: above F = 1 the mass slips by (F - 1)^1.5, whose slope is 0 as below."""
    system = mass(lambda F: F * sp.sin(sp.Symbol("t")), bound=1)
    found = ss.one_sided(ss.Scenario(system, [0], [0], 0.01, 3.0, "", ""), "F")
    assert found.kind == "smooth"
    assert np.abs(found.below.slope).max() < 1e-15 and np.abs(found.above.slope).max() < 1e-6


@pytest.mark.slow
def test_a_hop_that_ends_on_the_floor_is_smooth():
    """A mass at rest on a floor, thrown up or pressed down a little: it lies there in the end."""
    rests = ss.Scenario(mass(lambda F: -F), [0], [0], 0.01, 1.0, "", "")
    found = ss.one_sided(rests, "v")
    assert found.kind == "smooth" and np.all(found.above.slope == 0.0) and np.all(found.below.slope == 0.0)
    assert ss.sensitivity(rests.starting({"v": 0.004}), ["v"], samples=2).reliable
