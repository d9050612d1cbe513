"""Newton's cradle of touching balls against Newton's law written out: the same by every stepper and step size."""

import numpy as np
import pytest
import sympy as sp

from stickslip import Contact, LagrangianSystem, Scenario, library

OMEGA, LIFT = np.sqrt(9.81 / 0.3), 0.05
STEPPERS = ["moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"]


def blow(u, e):
    """Velocities after a blow of touching balls of equal mass, of which the first comes at the others together."""
    others = np.full(len(u) - 1, u[1:].mean())
    impulse = (1 + e) * (u[0] - others[0]) * (len(u) - 1) / len(u)
    return np.append(u[0] - impulse, others + impulse / (len(u) - 1))


def swings(run, count):
    """Velocities with which the balls leave x = 0 after each of the first blows, from records in between."""
    half = np.pi / OMEGA
    for k in range(count):
        left = (0.5 + k) * half
        i = int(np.searchsorted(run.t, left + 0.4 * half))
        phase = OMEGA * (run.t[i] - left)
        yield run.u[i] * np.cos(phase) + OMEGA * run.q[i] * np.sin(phase)


def check(stepper, balls, e, dt, engine, count):
    t_end = (count + 0.1) * np.pi / OMEGA
    scenario = library.newton_cradle(balls=balls, restitution=e, lift=LIFT)
    run = scenario.simulate(dt=dt, t_end=t_end, stepper=stepper, engine=engine)
    assert run.complete and run.certificate.failed_steps == 0
    u = np.append(LIFT * OMEGA, np.zeros(balls - 1))
    for found in swings(run, count):
        u = blow(u, e)
        np.testing.assert_allclose(found, u, rtol=0, atol=5 * OMEGA * dt * LIFT * OMEGA)
        u = -u


@pytest.mark.parametrize("stepper", STEPPERS)
def test_balls_that_swing_together_strike_together(stepper):
    """Apart by the last digits of their swing, the balls took blows one after the other, in an order by chance."""
    check(stepper, 5, 1.0, 2e-3, "reference", 2)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("balls", [3, 5])
@pytest.mark.parametrize("e", [1.0, 0.9, 0.5])
def test_swings_by_the_kernels(stepper, balls, e):
    for dt in (1e-3, 3e-4, 1e-4, 3.7e-5):
        check(stepper, balls, e, dt, "compiled", 3)


def pushed_apart(start, gap):
    """Three balls on a line: the first one strikes at `start` [s] with 1 m/s; a second later a force parts the others.

    They are 2 `gap` [m] apart half a second after that, and come back with 2 pi `gap` per second from 0.75 s on.
    """
    x, v, (t, begin, size) = sp.symbols("x_1:4"), sp.symbols("v_1:4"), sp.symbols("t begin size")
    s, w = t - begin - 1, 2 * sp.pi
    force = sp.Piecewise((0, s < 0), (size * w**2 * sp.cos(w * s), s < sp.Rational(3, 4)), (0, True))
    system = LagrangianSystem.from_energies(
        list(x), velocities=list(v), kinetic=sum(a**2 for a in v) / 2, forces=[0, 0, force],
        contacts=[Contact(f"{i} and {i + 1}", gap=x[i] - x[i - 1], restitution_normal=1.0) for i in (1, 2)],
        parameters={begin: start, size: gap},
    )  # fmt: skip
    return Scenario(
        system=system, q0=np.array([-start, 0.0, 0.0]), u0=np.array([1.0, 0.0, 0.0]), dt=2e-3, t_end=start + 3.0
    )


@pytest.mark.parametrize("start", [1.0, pytest.param(1000.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gap", [3e-8, 1e-6])
def test_balls_that_a_blow_has_not_parted_strike_again(start, gap):
    """How far they may have drifted apart goes with the time since the blow: rest before it took their rebound away."""
    run = pushed_apart(start, gap).simulate(every=50)
    assert run.complete and run.certificate.failed_steps == 0
    speed = 2 * np.pi * gap
    apart = np.interp(start + np.array([1.5, 1.8, 2.5]), run.t, run.q[:, 2] - run.q[:, 1])
    np.testing.assert_allclose(apart, [2 * gap, gap - 0.05 * speed, 0.75 * speed - gap], rtol=0, atol=0.03 * gap)
    assert run.u[-1, 2] - run.u[-1, 1] == pytest.approx(speed, rel=0.01)
