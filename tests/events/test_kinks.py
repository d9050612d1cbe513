"""Gaps, slips and forces with kinks (Max, Min, Abs), event by event: closed forms, order kept, derivatives right."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.mechanisms.kinks import branched

G = 9.81
SLOPE = 0.6
EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def track():
    """A point mass over a floor at 0 that rises with SLOPE from x = 0 to x = 1, for `roof` = 0; over a valley else.

    A sprung force k max(x - 2, 0) acts to the left, and a drive to the right.
    """
    x, y, v, w, t = sp.symbols("x y v w t")
    e, roof, k, drive, damping = sp.symbols("e roof k drive damping")
    ramp = y - SLOPE * sp.Max(0, sp.Min(x, 1))
    valley = y - sp.Rational(1, 5) * sp.Abs(x)
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=sp.Float(G) * y,
        forces=[-k * sp.Max(x - 2, 0) + drive * sp.cos(2 * t) - damping * v, 0],
        contacts=[ss.Contact("ground", gap=ramp + roof * (valley - ramp), restitution_normal=e)],
        parameters={e: 0.0, roof: 0.0, k: 0.0, drive: 0.0, damping: 0.0},
        name="track",
    )


def test_a_mass_slides_up_a_ramp_and_flies_off_its_edge():
    """At the foot the part of the velocity along the ramp is left (e = 0), at the edge the mass flies, then lands."""
    start, speed = -0.5, 6.0
    angle = math.atan(SLOPE)
    foot = -start / speed
    along = speed * math.cos(angle)
    length = math.hypot(1.0, SLOPE)
    pull = G * math.sin(angle)
    edge = foot + (along - math.sqrt(along**2 - 2 * pull * length)) / pull
    there = math.sqrt(along**2 - 2 * pull * length)
    landing = edge + 2 * there * math.sin(angle) / G
    run = ss.simulate(track(), [start, 0], [speed, 0], dt=0.01, t_end=1.0, stepper="event-driven")
    assert run.complete
    events = run.events().of_contact("ground")
    assert events.of_kind("kink").time == pytest.approx([foot, edge], abs=1e-11)
    assert events.of_kind("opens").time == pytest.approx([edge], abs=1e-11)
    assert events.of_kind("impact").time == pytest.approx([foot, landing], abs=1e-10)
    assert run.q[-1] == pytest.approx([1 + there * math.cos(angle) * (1.0 - edge), SLOPE], abs=1e-10)
    assert run.certificate.max_penetration < 1e-12


def test_a_force_with_a_kink_keeps_the_order():
    """x'' = -k max(x - 2, 0) on the flat top: half a period of a sine between two ways of constant speed."""
    k, speed = 400.0, 3.0
    omega = math.sqrt(k)
    run = ss.simulate(
        track(), [1.5, SLOPE], [speed, 0], params={"k": k}, dt=0.01, t_end=0.45, stepper=ss.EventDriven(rtol=1e-12)
    )
    back = 0.5 / speed + math.pi / omega
    assert run.events().of_kind("kink").time == pytest.approx([0.5 / speed, back], abs=1e-12)
    assert run["x"][-1] == pytest.approx(2.0 - speed * (0.45 - back), abs=1e-12)


def test_a_cycle_over_a_kink_has_the_right_derivative():
    """Driven through a valley whose bottom is a kink: two impacts per period, the contact never opens."""
    T = math.pi
    params = {"roof": 1.0, "drive": 20.0, "damping": 0.3}
    settled = ss.simulate(track(), [0.5, 0.1], [0, 0], params=params, dt=T / 50, t_end=20 * T, stepper="event-driven")
    assert settled.complete
    start = ss.Scenario(track(), settled.q[-1], settled.u[-1], dt=T / 50, t_end=T, title="", source="", params=params)
    cycle = ss.limit_cycle(start, section=ss.PhaseSection(T), settle_returns=0)
    hits = [event for event in cycle.events if event["kind"] == "impact"]  # the rest: kinks that nothing turns on
    assert len(hits) == 2 and hits[0]["contacts"] == ["ground"]
    assert cycle.certificate.jacobian_error < 1e-6 and cycle.certificate.closure < 1e-9
    # The bottom leaves r = (1 - s^2) / (1 + s^2) of the velocity, and of a perturbation of x as well: r^2 of an area.
    s = 0.2
    loss = ((1 - s**2) / (1 + s**2)) ** 4 * math.exp(-0.3 / (1 + s**2) * T)
    assert abs(np.prod(cycle.nontrivial[:2])) == pytest.approx(loss, abs=1e-6)


@pytest.mark.slow
def test_exponents_and_a_branch_over_a_kink():
    T, params = math.pi, {"roof": 1.0, "drive": 20.0, "damping": 0.3}
    start = ss.Scenario(
        track(), np.array([0.5, 0.1]), np.zeros(2), dt=T / 50, t_end=30 * T, title="", source="", params=params
    )
    exponents = ss.lyapunov(start, t_end=60 * T)
    assert len(repr(exponents)) < 200
    # One exponent 0 is that of a perturbation off the contact; two are those of the motion along it, see above.
    s = 0.2
    loss = 4 * math.log((1 - s**2) / (1 + s**2)) / T - 0.3 / (1 + s**2)
    assert exponents.exponents[0] == pytest.approx(0.0, abs=1e-4)
    assert exponents.exponents[1:3].sum() == pytest.approx(loss, abs=1e-3)
    settled = ss.simulate(track(), [0.5, 0.1], [0, 0], params=params, dt=T / 50, t_end=20 * T, stepper="event-driven")
    start = ss.Scenario(track(), settled.q[-1], settled.u[-1], dt=T / 50, t_end=T, title="", source="", params=params)
    branch = ss.continue_cycle(start, "drive", 20.0, 20.1, section=ss.PhaseSection(T), settle_returns=0)
    assert branch.values[-1] == pytest.approx(20.1) and branch.stable.all()


def test_the_door_latch_of_the_documentation_closes():
    run = ss.read_model(EXAMPLES / "door_latch.toml").scenario.simulate(dt=1e-3, stepper="event-driven")
    assert run.complete and run["door"][-1] == pytest.approx(0.02, abs=1e-9)
    assert run.events().of_kind("kink").of_contact("strike").time[0] == pytest.approx(
        DOOR_REACHES_THE_STRIKE, abs=1e-10
    )
    assert np.diff(run.energy.total).max() < 1e-9


# 6 N on 8 kg from -0.03 m with 0.6 m/s: 0.03 = 0.6 t + 0.375 t^2
DOOR_REACHES_THE_STRIKE = (-0.6 + math.sqrt(0.36 + 4 * 0.375 * 0.03)) / 0.75


def test_rest_in_a_corner_is_refused_with_the_name_of_its_gap():
    run = ss.simulate(
        track(), [0.05, 0.01], [0, 0], params={"roof": 1.0}, dt=0.01, t_end=6.0, stepper=ss.EventDriven(max_events=200)
    )
    assert not run.complete and "gap 'ground' has a corner" in run.status


def test_a_slip_that_jumps_is_refused_with_its_contact():
    x, y, v, w = sp.symbols("x y v w")
    with pytest.raises(ValueError, match="slip of contact 'rail' jumps where x = 0"):
        ss.LagrangianSystem.from_energies(
            [x, y],
            velocities=[v, w],
            kinetic=(v**2 + w**2) / 2,
            contacts=[ss.Contact("rail", gap=y, slip=sp.Heaviside(x), friction=0.1)],
        )


def test_branches_are_shared_and_smooth():
    equations, branches = branched(track().equations(), [True])
    assert len(branches.levels) == 4  # x, x - 1 of the ramp, x of the valley is the ramp's, x - 2
    assert not equations.W_N.atoms(sp.Heaviside, sp.Max, sp.Min, sp.sign, sp.DiracDelta)
