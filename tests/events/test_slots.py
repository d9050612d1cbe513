"""Slots, two contacts without play that face each other: their load changes sides while they slide, event by event."""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stickslip as ss

DAMPING, SLOPE, DRIVE, FREQUENCY = 0.015, 1.5, 1.9, 1.25  # Feeny and Moon 1994


@cache
def slot():
    """A block in a slot of no play, pressed down by load + slope x, which changes its sign; the lower wall rubs."""
    x, y, v, w, t = sp.symbols("x y v w t")
    damping, stiffness, load, slope, drive = sp.symbols("damping stiffness load slope drive")
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=stiffness * x**2 / 2,
        forces=[-2 * damping * v + drive * sp.cos(sp.Float(FREQUENCY) * t), -(load + slope * x)],
        contacts=[ss.Contact("lower", gap=y, slip=x, friction=1.0), ss.Contact("upper", gap=-y)],
        parameters={damping: 0.0, stiffness: 0.0, load: 0.0, slope: 1.0, drive: 0.0},
        name="slot",
    )


@pytest.mark.parametrize("t_end", [3.0, 110.0])
def test_a_load_passes_from_one_wall_to_the_other(t_end):
    """Free until x = 0 at t = 0.2, then v' = -x: a quarter of a sine that ends at x = 0.5, t = 0.2 + pi/2."""
    run = ss.simulate(slot(), [-0.1, 0.0], [0.5, 0.0], dt=0.05, t_end=t_end, stepper="event-driven")
    t = run.t
    exact = np.where(t < 0.2, -0.1 + 0.5 * t, 0.5 * np.sin(np.minimum(t - 0.2, math.pi / 2)))
    assert run.complete and np.abs(run["x"] - exact).max() < 1e-9
    assert np.abs(run["y"]).max() < 1e-14
    assert "impacts" not in run.attributes  # a load that changes sides is no collision


PARAMS = {"damping": DAMPING, "stiffness": 1.0, "load": 1.0, "slope": SLOPE, "drive": DRIVE}


def friction_oscillator(x: float, t_end: float) -> float:
    """x(t_end) of x'' + 2 d x' + x + max(1 + k x, 0) Sgn x' = a cos w t from rest, by an event code of its own."""

    def load(x):
        return max(1.0 + SLOPE * x, 0.0)

    def pull(t, x):
        return DRIVE * math.cos(FREQUENCY * t) - x

    t, v = 0.0, 0.0
    while t < t_end:
        if v == 0.0 and abs(pull(t, x)) < load(x) * (1.0 - 1e-12):
            times = np.arange(t, t_end + 1e-3, 1e-3)
            loose = np.flatnonzero(np.abs(DRIVE * np.cos(FREQUENCY * times) - x) > load(x))
            if not len(loose):
                return x
            x_held = x
            t = brentq(lambda s: abs(pull(s, x_held)) - load(x_held), times[loose[0] - 1], times[loose[0]], xtol=1e-15)  # noqa: B023
        sense = math.copysign(1.0, v if v != 0.0 else pull(t, x))
        pressed = 1.0 if 1.0 + SLOPE * x > 1e-12 or (abs(1.0 + SLOPE * x) <= 1e-12 and v > 0.0) else 0.0

        def rates(s, z):
            x, v = z
            return [v, -2 * DAMPING * v + pull(s, x) - sense * pressed * (1.0 + SLOPE * x)]  # noqa: B023

        def stops(s, z):
            return sense * z[1]  # noqa: B023

        def unloads(s, z):
            return 1.0 + SLOPE * z[0]

        stops.terminal = unloads.terminal = True
        stops.direction, unloads.direction = -1.0, -1.0 if pressed else 1.0
        start = v if v != 0.0 else sense * 1e-14
        found = solve_ivp(rates, (t, t_end), [x, start], "DOP853", events=[stops, unloads], rtol=1e-12, atol=1e-14)
        t, (x, v) = float(found.t[-1]), found.y[:, -1]
        if len(found.t_events[0]):
            v = 0.0
        if len(found.t_events[1]):
            x = -1.0 / SLOPE
    return x


def test_a_friction_oscillator_whose_load_vanishes_and_returns():
    x0 = -0.278516  # hands its load back at 24.6 s
    run = ss.simulate(slot(), [x0, 0], [0, 0], params=PARAMS, dt=0.05, t_end=26.0, stepper="event-driven")
    assert run.complete and run["x"].min() < -1.0 / SLOPE
    assert run["x"][-1] == pytest.approx(friction_oscillator(x0, 26.0), abs=1e-7)
    assert np.abs(run["y"]).max() < 1e-14 and "impacts" not in run.attributes


@pytest.mark.slow
def test_a_chaotic_friction_oscillator_runs_on_from_every_start():
    starts = np.random.default_rng(0).uniform(-0.3, 1.0, 12)
    for x0 in starts:
        run = ss.simulate(slot(), [x0, 0], [0, 0], params=PARAMS, dt=0.05, t_end=150.0, stepper="event-driven")
        assert run.complete, (x0, run.status)
        for t in (10.0, 25.0, 50.0):  # a Lyapunov exponent of 0.13 per second parts the two later
            assert run["x"][round(t / 0.05)] == pytest.approx(friction_oscillator(x0, t), abs=1e-6)
        early = ss.simulate(slot(), [x0, 0], [0, 0], params=PARAMS, dt=0.05, t_end=75.0, stepper="event-driven")
        assert early.complete and np.abs(early["x"][:600] - run["x"][:600]).max() < 1e-6
