"""A wheel at a kerb: it leans against the corner, is pulled over it, and rolls against it.

The corner is the origin, the floor lies a height h below it, and the wheel of radius r comes from the left.  At the
kerb its centre is at (-s, r - h), s = sqrt(2 r h - h^2), and the corner pushes along n = (-s, r - h) / r.
"""

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss
from tests.elsewhere import EVERYWHERE, FAR, HOME, single_openings

G, R, H = 9.81, 0.3, 0.1
S = math.sqrt(2 * R * H - H * H)
AT_THE_KERB = [-S, R - H, 0.0]
INERTIA = 0.5  # of m r^2: a disc
STEPPERS = ["moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"]


@cache
def wheel():
    """A disc of 1 kg, q = (x, y, phi), pulled at its centre by `pull` [N] to the right."""
    x, y, phi, v, w, spin, pull = sp.symbols("x y phi v w spin pull")
    away = sp.sqrt(x**2 + y**2)
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, spin],
        kinetic=(v**2 + w**2) / 2 + INERTIA * R**2 * spin**2 / 2,
        potential=G * y - pull * x,
        contacts=[
            ss.Contact("floor", gap=y - (R - H), slip=x + R * phi, friction="mu"),
            ss.Contact(
                "corner", gap=away - R, slip=[(y / away, x), (-x / away, y), (R, phi)], friction="mu"
            ),  # the lowest point of the wheel moves with v + r spin, a point at the corner along the tangent (y, -x)
        ],
        parameters={pull: 0.0, "mu": 0.0},
        name="wheel at a kerb",
    )  # fmt: skip


@EVERYWHERE
def test_a_wheel_leans_against_the_kerb(place):
    """Without friction: corner F r / s, floor m g - F (r - h) / s; a millionth below the pull that lifts it, too."""
    lifts = G * S / (R - H)
    for pull in (0.5 * lifts, (1 - 1e-6) * lifts):
        run = place.simulate(
            wheel(), AT_THE_KERB, [0.0] * 3, params={"pull": pull}, dt=1e-3, t_end=place.span(1.0, 0.03),
            engine="reference",
        )  # fmt: skip
        assert np.abs(run.q - AT_THE_KERB).max() < 1e-14 + place.rounding(run) and len(run.impacts()) == 0
        floor, corner = run.normal_impulse[1:].T / run.dt
        np.testing.assert_allclose(corner, pull * R / S, rtol=1e-9)
        np.testing.assert_allclose(floor, G - pull * (R - H) / S, rtol=1e-9, atol=1e-9)
        assert (run.normal_impulse[1:] > 0.0).all()


def over_the_corner(angle, rate, pull, friction, t_end):
    """Angle of the centre about the corner, from the horizontal on the left, and its rate: a pendulum upside down.

    With friction the wheel rolls on the corner; without friction it does not turn.
    """
    inertia = 1.0 + (INERTIA if friction else 0.0)

    def rates(_, z):
        return [z[1], (pull * math.sin(z[0]) - G * math.cos(z[0])) / (R * inertia)]

    return solve_ivp(rates, (0.0, t_end), [angle, rate], rtol=1e-12, atol=1e-14, method="DOP853", dense_output=True).sol


def angle_of(run):
    return np.arctan2(run["y"], -run["x"])


@pytest.mark.parametrize("friction", [0.0, 2.0])
@pytest.mark.parametrize("stepper", STEPPERS[:2])
def test_a_wheel_is_pulled_over_the_kerb(stepper, friction):
    check_pulled(stepper, friction, HOME, 2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 2.0])
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("place", [HOME, *FAR], ids=str)
def test_a_wheel_is_pulled_over_the_kerb_everywhere(stepper, friction, place):
    for dt in (1e-3, 2e-4):
        check_pulled(stepper, friction, place, dt)


def check_pulled(stepper, friction, place, dt):
    pull, start = 1.2 * G * S / (R - H), math.atan2(R - H, S)
    exact = over_the_corner(start, 0.0, pull, friction, 0.1)
    run = place.simulate(
        wheel(), AT_THE_KERB, [0.0] * 3, params={"pull": pull, "mu": friction}, dt=dt, t_end=0.1, stepper=stepper,
        engine="reference",
    )  # fmt: skip
    assert len(run.impacts()) == 0 and (run.normal_impulse[2:, 1] > 0.0).all()
    order = 1 if stepper in STEPPERS[2:] else 2
    assert angle_of(run)[-1] == pytest.approx(float(exact(0.1)[0]), abs=40 * dt**order)
    if friction:
        assert run["phi"][-1] == pytest.approx(-(1.0) * float(exact(0.1)[0] - start), abs=60 * dt**order)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_wheel_rolls_against_the_kerb(stepper):
    """Momentum about the corner stays: w+ / w- = (J + m r (r - h)) / (J + m r^2) = 1 - 2 h / (3 r); then it pivots."""
    dt, speed = 1e-3, 1.6  # slow enough to stay on the corner: r w^2 < g sin(angle)
    start = [-S - 0.016, R - H, 0.0]
    run = ss.simulate(
        wheel(), start, [speed, 0.0, -speed / R], params={"mu": 2.0}, dt=dt, t_end=0.08, stepper=stepper,
        engine="reference",
    )  # fmt: skip
    strikes = run.impacts().of("corner")
    assert strikes["time"][0] == pytest.approx(0.01, abs=2.5 * dt)
    # Stewart and Trinkle's rule strikes a step early, in the air, and the wheel falls what is left
    assert len(strikes) == 1 or stepper == "stewart-trinkle"
    exact = over_the_corner(math.atan2(R - H, S), speed / R * (1 - 2 * H / (3 * R)), 0.0, 2.0, 0.07)
    assert angle_of(run)[-1] == pytest.approx(float(exact(0.07)[0]), abs=8 * dt)
    assert -run["spin"][-1] == pytest.approx(float(exact(0.07)[1]), abs=60 * dt)
    assert single_openings(run) == []


def test_a_wheel_rolls_against_the_kerb_event_by_event():
    speed = 1.6
    run = ss.simulate(
        wheel(), [-S - 0.016, R - H, 0.0], [speed, 0.0, -speed / R], params={"mu": 2.0}, dt=1e-3, t_end=0.08,
        stepper=ss.EventDriven(rtol=1e-12),
    )  # fmt: skip
    impacts, corner = run.impacts(), run.events().of_contact("corner")
    assert corner.time[0] == pytest.approx(0.01, abs=1e-12) and corner.kind[0] == "impact"
    assert run.events().of_contact("floor").of_kind("opens").time == pytest.approx([0.01], abs=1e-12)
    spin = speed / R * (1 - 2 * H / (3 * R))
    assert len(impacts) == 1
    exact = over_the_corner(math.atan2(R - H, S), spin, 0.0, 2.0, 0.07)
    assert angle_of(run)[-1] == pytest.approx(float(exact(0.07)[0]), abs=1e-10)
    assert run["spin"][-1] == pytest.approx(-float(exact(0.07)[1]), abs=1e-9)
