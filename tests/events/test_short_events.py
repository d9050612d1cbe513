"""Short events between two looks of the integrator: a friction bound or a load that is passed for a moment."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import stickslip as ss
from stickslip.events.arcs import lows

x, v, F, t = sp.symbols("x v F t")


def pushed(element, load):
    """A mass under a force; F is a little above 1."""
    return ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[load], contacts=[element], parameters={F: 1.1},
        name=f"pushed {element.name}",
    )  # fmt: skip


def way(force):
    """Distance that F sin t moves a mass against friction 1, from F sin t = 1 on until the mass stops."""
    begin = math.asin(1.0 / force)

    def speed(time):
        return force * (math.cos(begin) - math.cos(time)) - (time - begin)

    end = brentq(speed, math.pi - begin, math.pi - begin + 2.0 * (math.pi - 2.0 * begin), xtol=1e-15)
    rise = force * (math.cos(begin) * (end - begin) - math.sin(end) + math.sin(begin))
    return rise - (end - begin) ** 2 / 2.0


@pytest.mark.parametrize("above", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_short_slip_is_seen(above):
    """The slip lasts 2 sqrt(2 above) s and leads above^2 far: with 1e-5, 9 ms in a step of half a second."""
    rail = pushed(ss.DryFriction("rail", x, 1), F * sp.sin(t))
    run = ss.simulate(rail, [0], [0], dt=3.0, t_end=3.0, params={"F": 1.0 + above}, stepper=ss.EventDriven(rtol=1e-11))
    assert run.events().kind.tolist() == ["slips", "sticks"]
    assert run.q[-1, 0] == pytest.approx(way(1.0 + above), rel=1e-4)


@pytest.mark.parametrize("above", [1e-2, 1e-4])
def test_a_short_lift_off_is_seen(above):
    table = pushed(ss.Contact("table", gap=x), F * sp.sin(t) - 1)
    judge = ss.EventDriven(rtol=1e-11)
    run = ss.simulate(table, [0], [0], dt=3.0, t_end=3.0, params={"F": 1.0 + above}, stepper=judge)
    assert run.events().kind.tolist()[0] == "opens" and len(run.impacts()) == 1
    rests = ss.simulate(table, [0], [0], dt=3.0, t_end=3.0, params={"F": 1.0 - above}, stepper=judge)
    assert not len(rests.events().kind) and np.all(rests.q == 0.0)


def test_samples_that_may_hide_a_moment_below_zero():
    """A parabola between samples: armed from the start, armed on the way, and before a fall that is seen anyway."""
    dip = (np.arange(9.0) - 3.4) ** 2 - 0.1  # below zero between samples 3 and 4, by 0.1
    falls, late = np.where(np.arange(9) > 6, -1.0, dip), np.append([0.0], dip[1:])
    values = np.stack([dip, falls, late, dip + 1.0], axis=-1)[:, :, None]
    armed, tol = np.array([[True], [True], [False], [True]]), np.full((4, 1), 1e-9)
    assert {(k, i) for i, k, _ in lows(values, armed, tol)} == {(k, i) for k in range(3) for i in (3, 4)}


y, z, w, v_z, e = sp.symbols("y z w v_z e")
JUDGE = ss.EventDriven(rtol=1e-11)


def puck(gap, forces):
    """A unit mass in space above a floor with friction 1 in two tangents."""
    floor = ss.Contact("floor", gap=gap, slip=[x, y], friction=1, restitution_normal=e)
    return ss.LagrangianSystem.from_energies(
        [x, y, z], velocities=[v, w, v_z], kinetic=(v**2 + w**2 + v_z**2) / 2, forces=forces, contacts=[floor],
        parameters={F: 1.1, e: 0.5}, name="puck",
    )  # fmt: skip


def test_a_short_slip_in_space_is_seen():
    """The slip lasts 28 ms and its speed is below 2e-6 m/s: the direction of slip is stiff up to its end."""
    push = F * sp.sin(t)
    run = ss.simulate(
        puck(z, [0.6 * push, 0.8 * push, -1]), [0, 0, 0], [0, 0, 0], dt=3.0, t_end=3.0, params={"F": 1.0001},
        stepper=JUDGE,
    )  # fmt: skip
    assert run.events().kind.tolist() == ["slips", "sticks"]
    assert run.q[-1] == pytest.approx(way(1.0001) * np.array([0.6, 0.8, 0.0]), rel=1e-5)


def test_a_short_lift_off_in_space_is_seen():
    run = ss.simulate(
        puck(z, [0, 0, F * sp.sin(t) - 1]), [0, 0, 0], [0, 0, 0], dt=3.0, t_end=3.0, params={"F": 1.00001, "e": 0.0},
        stepper=JUDGE,
    )  # fmt: skip
    assert run.events().kind.tolist() == ["opens", "impact", "closes"]


@pytest.mark.parametrize("above", [1e-2, 1e-6])
def test_a_floor_that_comes_up_for_a_moment_strikes(above):
    """The floor z = F sin t meets a puck at rest at z = 1 with the speed F cos t = sqrt(F^2 - 1)."""
    lifted = puck(z - F * sp.sin(t), [0, 0, 0])
    run = ss.simulate(
        lifted, [0, 0, 1], [0, 0, 0], dt=3.0, t_end=3.0, params={"F": 1.0 + above}, stepper=JUDGE
    )  # fmt: skip
    assert run.events().kind.tolist() == ["impact"]
    assert run.u[-1, 2] == pytest.approx(1.5 * math.sqrt((1.0 + above) ** 2 - 1.0), rel=1e-9)
