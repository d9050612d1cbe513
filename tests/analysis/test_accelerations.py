"""Forces and accelerations of a state against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss


def test_a_brick_that_slides_has_one_acceleration() -> None:
    brick = ss.library.brick_on_ramp(friction=0.3, angle=0.5)
    found = ss.accelerations(brick.system, brick.q0, [2.0, 0.0])
    assert found.verdict == "unique"
    assert found[0].acceleration == pytest.approx([9.81 * (math.sin(0.5) - 0.3 * math.cos(0.5)), 0.0], abs=1e-14)
    assert found[0].motion == ("slips",)
    assert found.slip == [1.0]


def test_a_brick_at_rest_sticks_or_begins_to_slip() -> None:
    brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    sticks = ss.accelerations(brick.system, brick.q0, [0.0, 0.0])
    assert sticks[0].motion == ("sticks",)
    assert np.all(sticks[0].acceleration == 0.0)
    assert sticks[0].tangential_force == pytest.approx([-9.81 * math.sin(0.38)], rel=1e-14)
    slips = ss.accelerations(brick.system, brick.q0, [0.0, 0.0], params={"friction": 0.3})
    assert slips[0].motion == ("slips",)
    assert slips[0].acceleration[0] == pytest.approx(9.81 * (math.sin(0.38) - 0.3 * math.cos(0.38)), rel=1e-13)


def test_without_a_closed_contact_it_falls() -> None:
    ball = ss.library.bouncing_ball()
    found = ss.accelerations(ball.system, ball.q0, ball.u0)
    assert found.verdict == "unique"
    assert found[0].acceleration == pytest.approx([-9.81])
    assert found[0].motion == ("open",)


def test_a_contact_that_approaches_is_an_impact() -> None:
    ball = ss.library.bouncing_ball()
    with pytest.raises(ValueError, match="approaches with -1 m/s: that is an impact"):
        ss.accelerations(ball.system, [0.0], [-1.0])


def test_painleves_paradox_has_two_solutions_or_none() -> None:
    """The solutions are those that `painleve` tells, in closed form (alpha - mu s delta) lambda_N + b = 0."""
    rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    found = ss.accelerations(rod.system, rod.q0, rod.u0)
    assert found.verdict == "several"
    assert {one.motion for one in found.solutions} == {("lifts off", "open"), ("slips", "open")}
    pressed = next(one for one in found.solutions if one.motion[0] == "slips")
    W_N, W_T, _ = rod.system.geometry(rod.q0, 0.0, rod.system.parameter_values)
    mass = rod.system.mass(rod.q0, 0.0, rod.system.parameter_values)
    free = next(one for one in found.solutions if one.motion[0] == "lifts off").normal_acceleration[0]
    slope = W_N[0] @ np.linalg.solve(mass, W_N[0] + 2.0 * W_T[0])
    assert pressed.normal_force[0] == pytest.approx(-free / slope, rel=1e-9)
    assert "2 solutions" in str(found)


def test_friction_that_depends_on_slip_lets_go_with_the_coefficient_of_slip() -> None:
    """Static 0.5 cannot hold a brick on a ramp of 0.6 rad; it begins to slip with the coefficient 0.3 of slip."""
    x, y, v, w = sp.symbols("x y v w")
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=9.81 * (y * sp.cos(0.6) - x * sp.sin(0.6)),
        contacts=[ss.Contact("ramp", gap=y, slip=x, friction=ss.TwoCoefficient(static=0.5, kinetic=0.3))],
        parameters={},
        name="brick",
    )
    found = ss.accelerations(system, [0.0, 0.0], [0.0, 0.0])
    assert found.verdict == "unique"
    assert found[0].acceleration[0] == pytest.approx(9.81 * (math.sin(0.6) - 0.3 * math.cos(0.6)), rel=1e-12)


def test_elements_without_normal_part_move_or_rest() -> None:
    blocks = ss.library.friction_oscillator()
    found = ss.accelerations(blocks.system, blocks.q0, blocks.u0)
    assert found.verdict == "unique"
    assert set(found[0].motion) <= {"moves", "rests"}


def test_a_state_inside_the_ground_is_refused() -> None:
    rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    with pytest.raises(ValueError, match=r"'tip' is given with a penetration of 0\.5 m, more than penetration_tol"):
        ss.accelerations(rod.system, rod.q0 - [0.0, 0.5, 0.0], rod.u0)
    with pytest.raises(ValueError, match="gap_tol must be a distance >= 0"):
        ss.accelerations(rod.system, rod.q0, rod.u0, gap_tol=float("nan"))
    with pytest.raises(ValueError, match="velocity_tol must be a share"):
        ss.accelerations(rod.system, rod.q0, rod.u0, velocity_tol=-1.0)


def test_a_contact_that_may_not_close_is_not_there() -> None:
    """A ball below a plank that it may meet on the right side only: it falls, and nothing holds or strikes it."""
    x, y, v, w = sp.symbols("x y v w")
    plank = ss.Contact("plank", gap=y, closes_when=x > 0)
    floor = ss.Contact("floor", gap=y + sp.Rational(1, 2))
    ball = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[plank, floor]
    )
    inside, fall = [-1.0, -0.25], [0.0, -1.0]
    (free,) = ss.accelerations(ball, inside, fall).solutions
    assert free.acceleration.tolist() == [0.0, -10.0]
    assert ss.contact_problem(ball, inside, fall, 1e-3).contacts == ()
    assert not ss.equilibrium(ball, inside).holds
    rests = ss.equilibrium(ball, [-1.0, -0.5])
    assert rests.holds and rests.normal_force.tolist() == [0.0, 10.0]
    hit = ss.impact(ball, [-1.0, -0.5], fall)
    assert hit.normal_impulse.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match=r"'plank' is given with a penetration of 0\.25 m"):
        ss.impact(ball, [1.0, -0.25], fall)
