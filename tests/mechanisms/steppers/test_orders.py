"""Every stepper has the order that it declares: in smooth motion, across an impact, into stick, and into rest.

Errors against closed forms: coordinates in the sup norm, velocities in L1, which converges though impact times shift.
Impacts fall anywhere in a step, and the error depends on where: it is averaged over starts that shift them by parts of
a step.  Into rest a stepper resolves log(1 / dt) impacts, each with an error of its own: there the order is that of the
error over this logarithm.  The short runs use the reference engine, which needs no compilation; into rest, where runs
have most steps, they use the kernels, as the long runs do.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip import library
from tests.mechanisms.steppers.test_steppers import FAMILY

G, K, MU = 9.81, 10.0, 0.3
SHIFTS = (0.125, 0.375, 0.625, 0.875)
FEW = (0.25, 0.75)
"""Parts of a step by which an impact is late; few for the reference engine, where one impact decides."""


@cache
def pendulum():
    phi, omega = sp.symbols("phi omega")
    return ss.LagrangianSystem.from_energies(
        [phi], velocities=[omega], kinetic=omega**2 / 2, potential=-G * sp.cos(phi), name="pendulum"
    )


@cache
def block_on_a_spring():
    """m = 1 kg, spring K, Coulomb friction MU with its weight as normal force."""
    x, y, v, w = sp.symbols("x y v w")
    return ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=G * y + K * x**2 / 2,
        contacts=[ss.Contact("ground", gap=y, slip=x, friction=MU)],
        name="block on a spring",
    )


@cache
def swing():
    return solve_ivp(
        lambda t, y: (y[1], -G * np.sin(y[0])), (0.0, 1.0), (1.0, 0.5), rtol=1e-12, atol=1e-13, dense_output=True
    ).sol


def smooth(stepper, steps, engine):
    """A pendulum for one second."""
    run = ss.simulate(pendulum(), [1.0], [0.5], dt=1.0 / steps, t_end=1.0, stepper=stepper, engine=engine)
    q, u = swing()(run.t)
    yield run, q, u


def impact(stepper, steps, engine):
    """A ball that strikes once, at 0.4 s and a part of a step, and flies on."""
    dt, e = 0.7 / steps, 0.7
    for shift in FEW if engine == "reference" else SHIFTS:
        strike = dt * (np.floor(0.4 / dt) + shift)
        run = library.bouncing_ball(height=G * strike**2 / 2).simulate(
            dt=dt, t_end=0.7, stepper=stepper, engine=engine, params={"restitution": e}
        )
        yield run, *bounces(run.t, strike, e, 1)


def accumulation(stepper, steps, engine):
    """A ball that comes to rest at t_inf = sqrt(2 h / g) (1 + e) / (1 - e) = 1.2 s."""
    dt, e = 1.8 / steps, 0.5
    for shift in SHIFTS:
        strike = dt * (np.floor(0.4 / dt) + shift)
        run = library.bouncing_ball(height=G * strike**2 / 2).simulate(
            dt=dt, t_end=1.8, stepper=stepper, engine=engine, params={"restitution": e}
        )
        assert abs(run.u[-1, 0]) <= 2 * G * dt  # at rest, or hopping by less than one step of gravity
        yield run, *bounces(run.t, strike, e, 60)


def sticking(stepper, steps, engine):
    """A block that slides back for half a period of its spring and sticks where it turns."""
    dt, omega, centre = 1.2 / steps, np.sqrt(K), MU * G / K
    for shift in FEW if engine == "reference" else SHIFTS:
        start = 0.45 + 0.1 * shift
        run = ss.simulate(
            block_on_a_spring(), [start, 0.0], [0.0, 0.0], dt=dt, t_end=1.2, stepper=stepper, engine=engine
        )
        t = np.minimum(run.t, np.pi / omega)
        yield run, centre + (start - centre) * np.cos(omega * t), -(start - centre) * omega * np.sin(omega * t)


def bounces(t, strike, e, count):
    """Height and velocity of a ball that strikes first at `strike` and bounces `count` times."""
    q, u = G * strike**2 / 2 - G * t**2 / 2, -G * t
    begin, speed = strike, e * G * strike
    for _ in range(count):
        after = t >= begin
        q = np.where(after, speed * (t - begin) - G * (t - begin) ** 2 / 2, q)
        u = np.where(after, speed - G * (t - begin), u)
        begin, speed = begin + 2 * speed / G, e * speed
    if count > 1:
        q, u = (np.where(t >= strike * (1 + e) / (1 - e), 0.0, x) for x in (q, u))
    return q, u


# Case: its runs, the declared order, steps of the short and of the long measurement, and the largest error there.
# Backward Euler is the least exact in smooth motion: written out for the pendulum, it has 4.3149e-3 with 2048 steps.
CASES = {
    "smooth": (smooth, "order_smooth", (32, 64, 128), (256, 512, 1024, 2048), 4.4e-3),
    "impact": (impact, "order_impact", (50, 100, 200), (400, 800, 1600, 3200), 5e-3),
    "stick": (sticking, "order_stick", (40, 80, 160), (400, 800, 1600), 2e-3),
    "accumulation": (accumulation, "order_impact", (200, 400, 800), (1000, 2000, 4000, 8000), 2e-2),
}


def error(runs):
    """Mean over the runs of sup |q - q*| + int |u - u*| dt."""
    found = []
    for run, q, u in runs:
        assert run.complete and run.certificate.failed_steps == 0
        found.append(np.abs(run.q[:, 0] - q).max() + run.dt * np.abs(run.u[:, 0] - u).sum())
    return np.mean(found)


def slope_and_last(case, stepper, steps, engine):
    errors = np.array([error(CASES[case][0](stepper, n, engine)) for n in steps])
    parts = np.log(steps) if case == "accumulation" else 1.0
    return -np.polyfit(np.log(steps), np.log(errors / parts), 1)[0], errors[-1]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stepper", FAMILY.values(), ids=FAMILY.keys())
def test_order(stepper, case):
    _, declared, steps, _, bound = CASES[case]
    slope, last = slope_and_last(case, stepper, steps, "compiled" if case == "accumulation" else "reference")
    assert slope == pytest.approx(getattr(stepper, declared), abs=0.15)
    assert last < 20 * bound


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stepper", FAMILY.values(), ids=FAMILY.keys())
def test_order_of_the_kernels(stepper, case):
    _, declared, _, steps, bound = CASES[case]
    slope, last = slope_and_last(case, stepper, steps, "compiled")
    assert slope == pytest.approx(getattr(stepper, declared), abs=0.15)
    assert last < bound


@pytest.mark.parametrize("theta, order", [(0.5, 2), (1.0, 1)])
def test_theta_method_keeps_its_order_with_damping(theta, order):
    """h depends on u: the midpoint rule falls to order 1 (it takes u_A), the trapezoidal rule does not."""
    x, v = sp.symbols("x v")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=8 * x**2, forces=[-2 * v], name="damped oscillator"
    )
    omega = np.sqrt(15.0)

    def measure(stepper):
        found = []
        for steps in (50, 100, 200):
            run = ss.simulate(system, [1.0], [0.0], dt=1.0 / steps, t_end=1.0, stepper=stepper, engine="reference")
            exact = np.exp(-run.t) * (np.cos(omega * run.t) + np.sin(omega * run.t) / omega)
            found.append(np.abs(run.q[:, 0] - exact).max())
        return np.log2(found[0] / found[-1]) / 2

    assert measure(ss.MoreauJean(theta=theta)) == pytest.approx(order, abs=0.15)
    assert measure(ss.MoreauMidpoint()) == pytest.approx(1, abs=0.15)
