"""Short events between two looks of the integrator: a friction bound or a load that is passed for a moment."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import stickslip as ss

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
