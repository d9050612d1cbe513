"""Angles that go on turning: a section once per turn, and the cycle of a crank that a motor drives."""

import cmath
import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.analysis.sections import TURN, read_section, watched
from stickslip.mechanisms.joints import Link, link_energies

L_1, L_2, MOTOR, DRAG, BEARING, G = 0.15, 0.4, 3.0, 0.3, 0.2, 9.81


def crank():
    """A slider-crank with a motor, drag, and dry friction in its bearing."""
    theta, omega, motor, drag = sp.symbols("theta omega motor drag")
    rod_angle = -sp.asin(sp.Float(L_1) / L_2 * sp.sin(theta))
    arm = Link.hinged("crank", (0, 0), theta, arm=L_1 / 2, mass=1.0, inertia=0.02)
    rod = Link.hinged("rod", arm.point(L_1 / 2), rod_angle, arm=L_2 / 2, mass=0.5, inertia=0.01)
    slider = Link("slider", centre=rod.point(L_2 / 2), mass=1.0)
    kinetic, potential = link_energies([arm, rod, slider], [theta], [omega], gravity=G)
    system = ss.LagrangianSystem.from_energies(
        [theta],
        velocities=[omega],
        kinetic=kinetic,
        potential=potential,
        forces=[motor - drag * omega],
        parameters={motor: MOTOR, drag: DRAG},
        contacts=[ss.DryFriction("bearing", theta, BEARING)],
        name="driven crank",
    )
    return ss.Scenario(system, [0.0], [8.0], 1e-3, 2.0, "Driven crank", "test")


def places(theta):
    """Crank's middle, rod's middle, slider, rod's angle; theta may be complex."""
    pin = L_1 * cmath.cos(theta), L_1 * cmath.sin(theta)
    x = pin[0] + cmath.sqrt(L_2**2 - pin[1] ** 2)
    return pin[0] / 2, pin[1] / 2, (pin[0] + x) / 2, pin[1] / 2, x, -cmath.asin(pin[1] / L_2)


def inertia(theta):
    a, b, c, d, e, f = (place.imag / 1e-30 for place in places(theta + 1e-30j))
    return 0.02 + a * a + b * b + 0.5 * (c * c + d * d) + 0.01 * f * f + e * e


def turn(omega):
    """Time of one turn from theta = 0, and the speed after it, by SciPy."""

    def rates(t, y):
        slope = (inertia(y[0] + 1e-5) - inertia(y[0] - 1e-5)) / 2e-5
        weight = G * (1.0 + 0.5) * L_1 / 2 * math.cos(y[0])
        return [y[1], (MOTOR - DRAG * y[1] - BEARING - weight - 0.5 * slope * y[1] ** 2) / inertia(y[0])]

    def done(t, y):
        return y[0] - TURN

    done.terminal = True
    found = solve_ivp(rates, (0, 5), [0.0, omega], rtol=1e-11, atol=1e-12, method="DOP853", events=done)
    return found.t[-1], found.y[1, -1]


@pytest.mark.slow
def test_a_driven_crank_has_a_cycle_per_turn():
    cycle = ss.limit_cycle(crank(), section="theta>0 mod 2pi", settle_returns=5, returns=1)
    omega = cycle.u[0]
    assert turn(omega) == pytest.approx((cycle.period, omega), abs=1e-8)
    slope = (turn(omega + 1e-3)[1] - turn(omega - 1e-3)[1]) / 2e-3
    assert cycle.nontrivial == pytest.approx([slope], abs=1e-6)
    assert cycle.shift == {"theta": TURN}
    assert cycle.section == "theta rises through 0 + k 2pi"


def test_points_once_per_turn():
    points = ss.poincare(crank(), "theta>1 mod 2pi", dt=1e-3, t_end=3.0, progress=False)
    assert points["theta"] == pytest.approx(1.0 + TURN * np.arange(5), abs=1e-9)
    exact = ss.poincare(crank(), "theta>1 mod 2pi", stepper="event-driven", t_end=3.0)
    assert exact["theta"] == pytest.approx(points["theta"], abs=1e-9)
    assert exact.t == pytest.approx(points.t, abs=5e-3)
    assert len(ss.poincare(crank(), "theta>1", stepper="event-driven", t_end=3.0)) == 1


@pytest.mark.parametrize("text", ["phi>0.0 mod 2pi", "phi<0.25 mod 0.5"])
def test_a_section_per_turn_is_text(text):
    assert read_section(text).text == text


def test_bad_turns_are_one_line():
    with pytest.raises(ValueError, match="the turn must be positive"):
        read_section("phi>0 mod -1")
    with pytest.raises(ValueError, match="turn of a section must be positive"):
        ss.LevelSection("phi", 0.0, turn=0.0)
    with pytest.raises(ValueError, match="an ensemble knows one level"):
        watched(crank().system, read_section("theta>0 mod 2pi"))


@pytest.mark.slow
def test_a_symmetric_cycle_is_half_as_long_with_a_mirror():
    """A mass between two stops, driven by F cos(w t): x -> -x half a period later is the same motion.

    The map of half a period with a mirror behind it has the square roots of the multipliers.
    """
    x, v, t, w = sp.symbols("x v t w")
    system = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=0,
        forces=[8 * sp.cos(w * t) - v / 10],
        parameters={w: 1.7},
        contacts=[ss.Stop("wall", x, -1, 1, 0.7)],
        name="between stops",
    )
    scenario = ss.Scenario(system, [0.62061233], [-1.60998882], 1e-2, 20.0, "Between stops", "test")
    period, mirror = TURN / 1.7, ss.Reset(flip=["x"])
    half = ss.limit_cycle(scenario, section=ss.PhaseSection(period / 2), reset=mirror, settle_returns=0)
    full = ss.limit_cycle(scenario, section=ss.PhaseSection(period), settle_returns=0)
    assert half.period == pytest.approx(full.period / 2, rel=1e-12)
    assert half.x == pytest.approx(full.x, abs=1e-8)
    assert np.sort_complex(half.multipliers**2) == pytest.approx(np.sort_complex(full.multipliers), abs=1e-7)
    assert len(full.events) == 2 * len(half.events) == 4
    with pytest.raises(ValueError, match="must be a symmetry: the forces"):
        ss.limit_cycle(scenario, section=ss.PhaseSection(period), reset=mirror, settle_returns=0)
