"""Impacts that accumulate over several contacts, against closed forms and an ODE of their own; the list of events."""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip.events.accumulation import Blow, accumulation

B, H, G = 0.1, 0.5, 9.81
R, ALPHA = math.hypot(B, H), math.atan2(B, H)
PULL = 0.75 * G / R  # p^2 of Housner 1963, a block of uniform density
ETA = 1.0 - 1.5 * math.sin(ALPHA) ** 2


@cache
def block():
    """A block on two corners with as much friction as it needs, pushed by acc cos(omega t)."""
    x, y, phi, v, w, omega, t = sp.symbols("x y phi v w omega t")
    acc, drive, e = sp.symbols("acc drive e")
    c, s = sp.cos(phi), sp.sin(phi)
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, omega],
        kinetic=(v**2 + w**2) / 2 + (B**2 + H**2) / 6 * omega**2,
        potential=sp.Float(G) * y,
        forces=[acc * sp.cos(drive * t), 0, 0],
        contacts=[
            ss.Contact(name, gap=y + side * B * s - H * c, slip=x + side * B * c + H * s, friction=5.0,
                       restitution_normal=e)
            for name, side in (("left", -1), ("right", 1))
        ],
        parameters={acc: 0.0, drive: 1.0, e: 0.0},
        name="rocking block",
    )  # fmt: skip


def tilted(theta):
    """The block on its left corner."""
    return [B * math.cos(theta) - H * math.sin(theta), B * math.sin(theta) + H * math.cos(theta), theta]


def rest_time(theta):
    """When the block comes to rest, and its impacts: theta'' = -p^2 sin(alpha - theta), omega+ = eta omega-."""

    def lands(t, z):
        return z[0]

    lands.terminal, lands.direction = True, -1.0
    times, z, t = [], [theta, 0.0], 0.0
    while not times or abs(z[1]) > 1e-6:
        first = 1e-3 if z[1] == 0.0 else 0.2 * z[1] / PULL
        flight = solve_ivp(
            lambda t, z: [z[1], -PULL * math.sin(ALPHA - z[0])],
            (0.0, 10.0), z, "DOP853", events=lands, rtol=1e-12, atol=1e-17, first_step=first,
        )  # fmt: skip
        t += float(flight.t_events[0][0])
        times.append(t)
        z = [0.0, ETA * abs(float(flight.y_events[0][0][1]))]
    return t + 2 * z[1] / (PULL * math.sin(ALPHA)) / (1 - ETA), np.array(times)


def test_a_rocking_block_comes_to_rest():
    theta = 0.2 * ALPHA
    rest, times = rest_time(theta)
    run = ss.simulate(block(), tilted(theta), [0, 0, 0], dt=0.05, t_end=rest + 1.0, stepper="event-driven")
    assert run.complete
    hits, ends = run.impacts(), run.events().of_kind("accumulation ends")
    assert 100 < len(hits) < 160
    assert np.abs(hits["time"] - times[: len(hits)]).max() < 1e-6
    assert ends.contact.tolist() == ["left", "right"] and ends.time == pytest.approx([rest, rest], abs=1e-6)
    assert np.abs(run.u[-1]).max() < 1e-12 and (run.states()[-1] == "stick").all()
    assert run.q[-1] == pytest.approx([run.q[-1, 0], H, 0.0], abs=1e-12)
    assert np.diff(run.energy.total).max() < 1e-9 and run.certificate.max_energy_gain == 0.0
    assert float(run.attributes["accumulation_error"].split()[0]) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("share", "t_end"), [(0.6, 10.0), (0.6, 100.0), (0.9, 20.0)])
def test_a_rocking_block_comes_to_rest_whatever_the_end_of_the_run(share, t_end):
    rest, _ = rest_time(share * ALPHA)
    run = ss.simulate(block(), tilted(share * ALPHA), [0, 0, 0], dt=0.01, t_end=t_end, stepper="event-driven")
    assert run.complete and len(run.impacts()) < 160
    assert run.events().of_kind("accumulation ends").time == pytest.approx([rest, rest], abs=1e-6)


@pytest.mark.slow
def test_corners_that_bounce_themselves_come_to_rest_as_well():
    run = ss.simulate(block(), tilted(0.06), [0, 0, 0], params={"e": 0.3}, dt=0.01, t_end=10.0, stepper="event-driven")
    assert run.complete and np.abs(run.u[-1]).max() < 1e-12 and len(run.impacts()) < 1500
    assert np.diff(run.energy.total).max() < 1e-9


def test_a_driven_block_that_rocks_on_is_not_taken_for_one_at_rest():
    """acc = 1.5 alpha g at 3 p: one impact at each corner per period, for ever."""
    p = math.sqrt(PULL)
    params = {"acc": 1.5 * ALPHA * G, "drive": 3.0 * p}
    T = 2 * math.pi / params["drive"]
    theta, speed = 0.0532586, -0.0375878  # on that cycle, seven digits, by an event code of its own
    q = tilted(theta)
    run = ss.simulate(
        block(), q, [-speed * q[1], speed * q[0], speed], params=params, dt=T / 4, t_end=30 * T, stepper="event-driven"
    )
    assert run.complete and len(run.events().of_kind("accumulation ends")) == 0
    assert run.events().of_kind("impact").contact.tolist() == ["right", "left"] * 30
    assert run["phi"][4::4] == pytest.approx(np.full(30, theta), abs=1e-5)


@cache
def groove():
    x, y, v, w, e, mu, left, right = sp.symbols("x y v w e mu left right")
    walls = [
        ss.Contact(name, gap=y * sp.cos(a) - s * x * sp.sin(a), slip=x * sp.cos(a) + s * y * sp.sin(a), friction=mu,
                   restitution_normal=e)
        for name, a, s in (("left", left, -1), ("right", right, 1))
    ]  # fmt: skip
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=sp.Float(G) * y,
        contacts=walls,
        parameters={e: 0.3, mu: 0.3, left: 0.6, right: 0.8},
        name="groove",
    )


@pytest.mark.slow
def test_a_ball_comes_to_rest_in_a_groove():
    run = ss.simulate(groove(), [0.1, 1.0], [0.2, 0.0], dt=0.01, t_end=10.0, stepper="event-driven")
    assert run.complete and len(run.impacts()) < 60
    assert np.abs(run.q[-1]).max() < 1e-9 and np.abs(run.u[-1]).max() < 1e-10
    assert np.diff(run.energy.total).max() < 1e-12
    assert set(run.events().of_kind("accumulation ends").contact) == {"left", "right"}


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.0, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize(("left", "right"), [(0.6, 0.8), (1.2, 0.3), (1.1, 1.2)])
def test_balls_come_to_rest_in_grooves(e, mu, left, right):
    params = {"e": e, "mu": mu, "left": left, "right": right}
    run = ss.simulate(groove(), [0.1, 1.0], [0.2, 0.0], params=params, dt=0.01, t_end=60.0, stepper="event-driven")
    assert run.complete
    assert np.abs(run.q[-1]).max() < 1e-9 and np.abs(run.u[-1]).max() < 1e-10
    assert np.diff(run.energy.total).max() < 1e-12


# -- the rule itself ------------------------------------------------------------------------------------------


def blows(ratio, count=20, contacts=((0,), (1,)), speed=1e-3):
    t, rows = 0.0, []
    for i in range(count):
        rows.append(Blow(t, contacts[i % len(contacts)], speed * ratio**i))
        t += 0.1 * ratio**i
    return rows, t


def test_a_geometric_series_is_summed():
    rows, _ = blows(0.9)
    found = accumulation(rows, 1e-15)
    assert found.contacts == (0, 1)
    assert rows[-1].t + found.rest == pytest.approx(0.1 / (1 - 0.9), rel=1e-9)
    assert found.error < 1e-9


@pytest.mark.parametrize(
    "rows",
    [
        blows(1.0)[0],  # periodic
        blows(1.01)[0],  # growing
        blows(0.9, contacts=((0,),))[0],  # one contact, which has a rule of its own
        blows(0.9, count=5)[0],  # too few
        [Blow(i * 0.1, (i % 2,), 1e-3 * 0.9**i) for i in range(20)],  # slower, but as often as before
    ],
)
def test_what_does_not_accumulate_is_left_alone(rows):
    assert accumulation(rows, 1e-15) is None


# -- the list of events ---------------------------------------------------------------------------------------


def test_events_of_a_ball():
    run = ss.library.bouncing_ball(restitution=0.5).simulate(dt=0.01, t_end=3.0, stepper="event-driven")
    events = run.events()
    first = math.sqrt(2 / G)
    assert events.exact and events["kind"][0] == "impact" and events["time"][0] == pytest.approx(first, abs=1e-10)
    assert events.of_kind("accumulation ends").time == pytest.approx([first * 1.5 / 0.5], abs=1e-10)
    assert events.counts() == {"impact": len(run.impacts()), "closes": 1, "accumulation ends": 1}
    text = str(events)
    assert text.splitlines()[0].split() == ["time", "[s]", "kind", "contact"] and "accumulation ends" in text
    assert list(events.to_pandas().columns) == ["time", "kind", "contact"]
    with pytest.raises(ValueError, match="unknown kind of event 'impacts'; did you mean 'impact'"):
        events.of_kind("impacts")


def test_events_of_a_time_stepper_have_the_times_of_records():
    run = ss.library.bouncing_ball(restitution=0.0).simulate(dt=1e-3, t_end=1.0, engine="reference")
    events = run.events()
    assert not events.exact
    assert events.of_kind("impact").time == pytest.approx([math.sqrt(2 / G)], abs=2e-3)
    assert events.of_kind("closes").time == pytest.approx([math.sqrt(2 / G)], abs=3e-3)
