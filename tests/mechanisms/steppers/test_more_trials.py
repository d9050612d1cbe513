"""Belts with Stribeck friction, rods that slip, drawers that jam, brake shoes: beside closed forms and SciPy."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from tests.elsewhere import EVERYWHERE

G = 9.81
x, y, phi, v, w, omega, t = sp.symbols("x y phi v w omega t")


@pytest.mark.parametrize(("mu", "sense"), [(2.4, 1), (2.4, -1), (2.6, -1)])
def test_brake_shoe_carries_what_its_lever_asks_for(mu, sense):
    """Moments about the lever's hinge: N (b - sense mu c) = F; with mu = 2.5 and sense 1 it locks."""
    b, c = 0.5, 0.2
    shoe = ss.Contact("shoe", gap=b * phi, slip=c * phi + sense * t, friction=mu)
    brake = ss.LagrangianSystem.from_energies(
        [phi], velocities=[omega], kinetic=omega**2 / 2, forces=[-1.0], contacts=[shoe], time=t, name="brake"
    )
    run = ss.simulate(brake, [0.0], [0.0], dt=1e-3, t_end=0.01, engine="reference")
    assert run.normal_impulse[-1, 0] / 1e-3 == pytest.approx(1 / (b - sense * mu * c), rel=1e-12)


def test_a_brake_shoe_that_locks_stops_the_run():
    shoe = ss.Contact("shoe", gap=phi / 2, slip=phi / 5 + t, friction=2.6)
    brake = ss.LagrangianSystem.from_energies(
        [phi], velocities=[omega], kinetic=omega**2 / 2, forces=[-1.0], contacts=[shoe], time=t, name="brake"
    )
    run = ss.simulate(brake, [0.0], [0.0], dt=1e-3, t_end=0.01, engine="reference")
    assert not run.complete and run.certificate.failed_steps == 1


@EVERYWHERE
@pytest.mark.parametrize("stepper", ["moreau-midpoint", "stewart-trinkle"])
def test_a_drawer_jams_beyond_its_length_over_two_mu(stepper, place):
    """Pulled at an arm e beside its middle: N = F e / L at two corners, and 2 mu N holds it from e = L / (2 mu) on."""
    length, mu, pull, wide = 0.4, 0.25, 10.0, 0.05
    corners = [(i * length / 2, j * wide) for i in (-1, 1) for j in (-1, 1)]
    contacts = []
    for k, (a, b) in enumerate(corners):
        height = y + sp.sin(phi) * a + sp.cos(phi) * b
        slip = x + sp.cos(phi) * a - sp.sin(phi) * b
        contacts.append(
            ss.Contact(f"corner {k}", gap=wide - height if b > 0 else wide + height, slip=slip, friction=mu)
        )
    u = sp.symbols("v w omega")
    drawer = ss.LagrangianSystem.from_energies(
        [x, y, phi], velocities=u, kinetic=(u[0] ** 2 + u[1] ** 2) / 2 + u[2] ** 2 / 20,
        forces=[pull, 0, pull * sp.Symbol("arm")], contacts=contacts, parameters={"arm": 1.0}, name="drawer",
    )  # fmt: skip
    for share in (0.99, 1.01):
        params = {"arm": share * length / (2 * mu)}
        steps = 20 if place.quick or place.distance == 0.0 else 200
        run = place.simulate(
            drawer, [0, 0, 0], [0, 0, 0], dt=1e-3, t_end=1e-3 * steps, stepper=stepper, params=params,
            engine="reference",
        )  # fmt: skip
        wanted = max(0.0, 1 - share) * pull * 1e-3 * steps
        assert run.u[-1, 0] == pytest.approx(wanted, abs=1e-9 + place.speed_rounding(run))


@pytest.mark.slow
@EVERYWHERE
def test_a_rod_that_falls_until_its_foot_slips(place):
    """About its foot, phi'' = 3 g sin(phi) / (2 L), until |T| = mu N."""
    mu, start = 0.3, 0.05

    def forces(state):
        a, s, c = 1.5 * G * math.sin(state[0]), math.sin(state[0]), math.cos(state[0])
        return 0.5 * (a * c - state[1] ** 2 * s), G - 0.5 * (a * s + state[1] ** 2 * c)

    def slips(_, state):
        T, N = forces(state)
        return abs(T) - mu * N

    slips.terminal = True
    sticks = solve_ivp(
        lambda _, state: [state[1], 1.5 * G * math.sin(state[0])], (0, 3), [start, 0.0], events=slips, rtol=1e-12,
        atol=1e-13,
    )  # fmt: skip
    foot = ss.Contact("foot", gap=y - sp.cos(phi) / 2, slip=x - sp.sin(phi) / 2, friction=mu)
    rod = ss.LagrangianSystem.from_energies(
        [x, y, phi], velocities=[v, w, omega], kinetic=(v**2 + w**2) / 2 + omega**2 / 24, potential=G * y,
        contacts=[foot], name="rod",
    )  # fmt: skip
    run = place.simulate(
        rod, [math.sin(start) / 2, math.cos(start) / 2, start], [0, 0, 0], dt=1e-2, t_end=0.75, stepper="event-driven",
        held=False,
    )  # fmt: skip
    found = run.events()
    times = [time for time, kind in zip(found["time"], found["kind"], strict=True) if str(kind) == "slips"]
    assert times[0] == pytest.approx(sticks.t_events[0][0], abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["event-driven", "adaptive"])
def test_stick_and_slip_on_a_belt_with_stribeck_friction(stepper):
    """mu(u) = 0.2 + 0.3 exp(-|u| / 0.3) on a belt at 0.8 m/s, 30 N/m: phases of SciPy, put together by hand."""
    belt, stiffness, t_end = 0.8, 30.0, 6.0

    def mu(u):
        return 0.2 + 0.3 * math.exp(-abs(u) / 0.3)

    now, place, speed = 0.0, 0.0, 0.0
    while now < t_end:
        if speed == belt and abs(stiffness * place) <= 0.5 * G * (1 + 1e-12):
            wait = min((0.5 * G / stiffness - place) / belt, t_end - now)
            now, place = now + wait, place + belt * wait
            if now >= t_end:
                break
            speed = belt - 1e-10

        def back(_, state):
            return state[1] - belt

        back.terminal, back.direction = True, 1
        part = solve_ivp(
            lambda _, s: [s[1], -stiffness * s[0] + mu(belt - s[1]) * G], (now, t_end), [place, speed], events=back,
            method="DOP853", rtol=1e-11, atol=1e-13,
        )  # fmt: skip
        now, place, speed = part.t[-1], part.y[0, -1], belt if part.status == 1 else part.y[1, -1]
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=stiffness * x**2 / 2 + G * y,
        contacts=[ss.Contact("belt", gap=y, slip=x - belt * t, friction=ss.Stribeck(0.5, 0.2, 0.3))], time=t,
        name="belt",
    )  # fmt: skip
    run = ss.simulate(system, [0, 0], [0, 0], dt=1e-2, t_end=t_end, stepper=stepper)
    assert run.complete and run.q[-1, 0] == pytest.approx(place, abs=1e-7)
    assert np.abs(run.q[:, 1]).max() < 1e-12
