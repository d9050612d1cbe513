"""Newton's cradle of touching balls against Newton's law written out: the same by every stepper and step size."""

import numpy as np
import pytest

from stickslip import library

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
