"""Contacts that close only under a condition: open ones pass their surface, closed ones do not ask."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.mechanisms.elements import condition_level

x, y, u, v = sp.symbols("x y u v")
OMEGA, DEEP, LEVEL = 2.0, 0.5, 0.3  # y swings about -LEVEL with amplitude DEEP: up to 0.2 above the floor
ALL = ["event-driven", "moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"]


def swing(closes_when, restitution=0.5):
    """A particle that swings through a floor while it moves along it with velocity 1."""
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[u, v],
        kinetic=(u**2 + v**2) / 2,
        potential=OMEGA**2 * (y + LEVEL) ** 2 / 2,
        contacts=[ss.Contact("floor", gap=y, restitution_normal=restitution, closes_when=closes_when)],
        name="swing",
    )


def run(system, q0, u0, stepper, t_end, dt=1e-3, **options):
    return ss.simulate(system, q0, u0, dt=dt, t_end=t_end, stepper=stepper, engine=ENGINE[stepper], **options)


ENGINE = {name: "auto" if name == "event-driven" else "reference" for name in ALL}


@pytest.mark.parametrize("stepper", ALL)
def test_a_floor_that_begins_where_the_particle_is_below_it_is_met_from_above(stepper):
    """y = -LEVEL + DEEP cos(w t) falls through the floor at t_1 with x < a, comes back at 2 pi/w - t_1, and strikes at
    2 pi/w + t_1.  The floor begins at a, which is passed while y < 0: the particle goes on upwards, free.
    """
    t_1 = math.acos(LEVEL / DEEP) / OMEGA
    strikes = 2 * math.pi / OMEGA + t_1
    dt = 8e-3
    found = run(swing(x > 1.0), [0.0, DEEP - LEVEL], [1.0, 0.0], stepper, strikes + 0.1, dt)
    assert found.complete, found.status
    first = found.impacts()["time"][0]
    tol = 1e-9 if stepper == "event-driven" else 1.5 * dt
    assert first == pytest.approx(strikes, abs=tol)
    assert found.impacts()["normal_velocity_before"][0] == pytest.approx(-OMEGA * DEEP * 0.8, rel=tol)
    assert found.certificate.max_penetration < dt  # it was 0.8 deep where there is no floor


def test_without_the_condition_it_strikes_at_once():
    found = run(swing(None), [0.0, DEEP - LEVEL], [1.0, 0.0], "event-driven", 1.0)
    assert found.impacts()["time"][0] == pytest.approx(math.acos(LEVEL / DEEP) / OMEGA, abs=1e-9)


def test_a_condition_that_ends_lets_an_open_contact_pass():
    found = run(swing(x < 0.3), [0.0, DEEP - LEVEL], [1.0, 0.0], "event-driven", 4.0)
    assert not len(found.impacts())
    t = found.t
    assert found["y"] == pytest.approx(-LEVEL + DEEP * np.cos(OMEGA * t), abs=1e-9)


@pytest.mark.parametrize("stepper", ["event-driven", "moreau-midpoint"])
def test_a_closed_contact_stays_closed_until_it_opens_by_itself(stepper):
    """At rest on the floor at the start, where the condition fails; the spring holds it there, whatever it says."""
    resting = run(swing(x < 0.3, 0), [1.0, 0.0], [1.0, 0.0], stepper, 2.0, dt=1e-2)
    assert np.abs(resting["y"]).max() < 1e-12
    assert (resting.contact_state[1:] != 0).all()
    with pytest.raises(ValueError, match=r"contact 'floor' starts with a penetration of 0\.1"):
        run(swing(x > 0.3), [1.0, -0.1], [1.0, 0.0], stepper, 1.0)
    below = run(swing(x < 0.3), [1.0, -0.1], [1.0, 0.0], stepper, 0.5, dt=1e-2)  # it is not there
    assert not len(below.impacts()) and below["y"][-1] == pytest.approx(-LEVEL + 0.2 * math.cos(1.0), abs=1e-3)


def test_conditions_are_expressions_or_relations():
    a = sp.Symbol("a")
    assert condition_level(x - a, "") == x - a
    assert condition_level(x < a, "") == a - x
    assert condition_level((x > a) & (y > 0), "") == sp.Min(x - a, y)
    assert condition_level((x > a) | (y > 0), "") == sp.Max(x - a, y)
    with pytest.raises(ValueError, match="closes_when must be a SymPy expression"):
        ss.Contact("floor", gap=y, closes_when="x > 1")
    with pytest.raises(ValueError, match="closes_when of contact 'floor' contains 'a'"):
        swing(x > a)
    with pytest.raises(ValueError, match="closes_when must be left out in a system of functions"):
        ss.LagrangianSystem(
            mass=np.eye(1),
            force=lambda q, u, t, p: np.zeros(1),
            contacts=[ss.Contact("floor", gap=lambda q, t, p: q[0], normal=[1.0], closes_when=x > 1)],
        )


@pytest.mark.parametrize(
    ("stepper", "message"),
    [
        (ss.Adaptive(), "'adaptive' cannot run system 'swing'"),
        (ss.MoreauMidpoint(projection=1e-6), "projection must be 0"),
    ],
)
def test_what_cannot_be_is_said(stepper, message):
    with pytest.raises(ValueError, match=message):
        ss.simulate(swing(x > 1.0), [0.0, 0.2], [1.0, 0.0], dt=1e-3, t_end=1.0, stepper=stepper)
