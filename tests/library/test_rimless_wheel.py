"""The rimless wheel against its closed form: speed, multiplier and way of one step."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

import stickslip as ss
from stickslip.analysis.return_map import EventMap, Setting

SLOPE = math.radians(12.0)


def closed_form(spokes=8, radius=1.0, mass=1.0, inertia=0.25, slope=SLOPE, g=9.81):
    """omega after the impact, eta, and the period by quadrature of the energy; [M90] section 2."""
    alpha, whole = math.pi / spokes, inertia + mass * radius**2
    eta = (inertia + mass * radius**2 * math.cos(2 * alpha)) / whole
    omega = math.sqrt(eta**2 / (1 - eta**2) * 4 * mass * g * radius * math.sin(alpha) * math.sin(slope) / whole)
    pull = 2 * mass * g * radius / whole

    def slowness(phi):  # phi from the vertical
        return 1 / math.sqrt(omega**2 + pull * (math.cos(slope - alpha) - math.cos(phi)))

    return omega, eta, quad(slowness, slope - alpha, slope + alpha, epsabs=1e-13, epsrel=1e-13)[0]


@pytest.fixture(scope="module")
def cycle():
    return ss.limit_cycle(ss.library.rimless_wheel(), settle_returns=5, returns=1)


def test_the_cycle_of_one_step_is_the_closed_form(cycle):
    omega, eta, period = closed_form()
    assert cycle.period == pytest.approx(period, rel=1e-9)
    assert cycle.u[2] == pytest.approx(omega, rel=1e-9)
    assert cycle.nontrivial[0] == pytest.approx(eta**2, rel=1e-9)
    assert np.abs(cycle.nontrivial[1:]).max() < 1e-9
    assert sorted(cycle.kinds)[-2:] == ["flow", "translation"]
    assert cycle.shift == {"x": pytest.approx(2 * math.sin(math.pi / 8), rel=1e-11)}
    assert cycle.q[2] == pytest.approx(-math.pi / 8, rel=1e-12)
    assert cycle.stable and cycle.certificate.closure < 1e-9
    assert [event["kind"] for event in cycle.events] == ["impact"]
    assert cycle.section == "contact 'spoke 2' closes, then phi -> phi - pi/4"


def test_the_derivative_is_that_of_the_map(cycle):
    """DP of two steps with a reset after each, against central differences with a stretch of 1e-4."""
    setting = Setting.of(ss.library.rimless_wheel())
    twice = EventMap(setting, 2, 1e-12, 5.0)
    mode = EventMap(setting, 1, 1e-12, 5.0)(cycle.x, None, tangent=False).mode
    back = twice(cycle.x, mode)
    B = setting.basis(cycle.x, mode, np.ones(6))
    assert B.shape == (6, 2)  # angle and speed about the tip that stands
    h = 1e-4
    for b in B.T:
        ahead, behind = (twice(cycle.x + s * h * b, mode, False).x for s in (1.0, -1.0))
        assert (ahead - behind) / (2 * h) == pytest.approx(back.DP @ b, abs=1e-6)
    values = np.sort(np.linalg.eigvals(np.linalg.pinv(B) @ back.DP @ B).real)
    assert values == pytest.approx([0.0, closed_form()[1] ** 4], abs=1e-8)  # an impact forgets the angle
    assert back.period == pytest.approx(2 * cycle.period, rel=1e-9)


def test_points_have_the_new_names_while_the_wheel_rolls_on():
    points = ss.poincare(ss.library.rimless_wheel(), stepper="event-driven", t_end=2.0)
    assert len(points) == 5
    assert points["phi"] == pytest.approx(-math.pi / 8, abs=1e-9)
    assert np.diff(points["x"]) == pytest.approx(2 * math.sin(math.pi / 8), abs=1e-8)
    wheel = ss.library.rimless_wheel()
    other = ss.poincare(wheel, "impact:spoke 3", stepper="event-driven", t_end=2.0)  # the reset is of another section
    assert len(other) == 1 and other["phi"] == pytest.approx(3 * math.pi / 8, abs=1e-9)


def test_the_steps_of_a_time_stepper_tend_to_the_closed_form():
    omega, _, period = closed_form()
    points = ss.poincare(ss.library.rimless_wheel(speed=omega), dt=1e-4, t_end=2.5, progress=False)
    assert len(points) == 6
    assert np.diff(points.t)[-4:].mean() == pytest.approx(period, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("spokes", "inertia", "slope"), [(6, 1e-3, 0.25), (10, 0.25, 0.1), (12, 0.5, 0.05)])
def test_other_wheels(spokes, inertia, slope):
    omega, eta, period = closed_form(spokes=spokes, inertia=inertia, slope=slope)
    found = ss.limit_cycle(ss.library.rimless_wheel(spokes=spokes, inertia=inertia, slope=slope))
    assert found.u[2] == pytest.approx(omega, rel=1e-8)
    assert found.nontrivial[0] == pytest.approx(eta**2, rel=1e-7)
    assert found.period == pytest.approx(period, rel=1e-8)


@pytest.mark.slow
def test_a_turn_without_a_reset_is_a_cycle_of_as_many_steps_as_spokes():
    """Issue: a closing section on one spoke named no contact and failed; the wheel turns on by 2 pi."""
    omega, eta, period = closed_form()
    wheel = replace(ss.library.rimless_wheel(speed=omega), reset=None)
    found = ss.limit_cycle(wheel, section=ss.ClosingSection("spoke 2"), settle_returns=20)
    assert found.period == pytest.approx(8 * period, rel=1e-9)
    assert found.nontrivial[0] == pytest.approx(eta**16, abs=1e-8)
    assert found.shift["phi"] == pytest.approx(2 * math.pi, rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["moreau-midpoint", "moreau-jean", "paoli-schatzman"])
def test_time_steppers_are_of_first_order(stepper):
    omega, _, period = closed_form()
    errors = []
    for dt in (1e-3, 1e-4, 1e-5):
        wheel = ss.library.rimless_wheel(speed=omega)
        points = ss.poincare(wheel, dt=dt, t_end=12.0, stepper=stepper, progress=False)
        errors.append(abs(np.diff(points.t)[5:25].mean() / period - 1.0))
    assert errors[2] < 1e-4 and errors[2] < 0.1 * errors[0]


@pytest.mark.slow
def test_the_mean_map_of_a_time_stepper_has_the_multiplier():
    _, eta, period = closed_form()
    found = ss.limit_cycle(ss.library.rimless_wheel(), stepper="moreau-midpoint", dt=1e-5, members=8)
    assert found.period == pytest.approx(period, rel=2e-4)
    assert found.nontrivial[0].real == pytest.approx(eta**2, abs=0.02)


def test_bad_keywords_are_one_line():
    with pytest.raises(ValueError, match="spokes"):
        ss.library.rimless_wheel(spokes=3)
    with pytest.raises(ValueError, match="inertia must be positive"):
        ss.library.rimless_wheel(inertia=0.0)
    with pytest.raises(ValueError, match="device must be left out"):
        ss.bifurcation(ss.library.rimless_wheel(), "slope", [0.2], device="cpu")


@pytest.mark.parametrize("slip", [1e-9, 1e-3])
def test_a_tip_that_slides_at_the_start_jams(slip):
    """With friction 10 no acceleration exists while the tip slides on: an impact without collision stops it.

    The angular momentum about the tip is kept, so omega grows by m h slip / (J + m R^2).
    """
    wheel = ss.library.rimless_wheel()
    u = wheel.u0 + np.array([slip, 0.0, 0.0])
    run = ss.simulate(wheel.system, wheel.q0, u, dt=1e-3, t_end=2e-3, stepper="event-driven")
    assert run.complete and run.attributes["impacts without collision"] == "1"
    omega = wheel.u0[2] + wheel.q0[1] * slip / 1.25
    other = replace(wheel, u0=omega / wheel.u0[2] * wheel.u0).simulate(dt=1e-3, t_end=2e-3, stepper="event-driven")
    assert run.u[-1] == pytest.approx(other.u[-1], abs=1e-9)
