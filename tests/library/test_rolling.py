"""Rolling and spinning bodies of the library beside their closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import library


def test_ball_on_a_turntable_runs_in_a_circle():
    """A homogeneous ball turns with 2/7 of the table's angular velocity."""
    scenario = library.ball_on_turntable()
    run = scenario.simulate(dt=0.02, t_end=2.0, engine="reference")
    velocity, exact = run.u[:, 0] + 1j * run.u[:, 1], 0.3j * np.exp(2j / 7 * 5.0 * run.t)
    assert np.abs(velocity - exact).max() < 3e-4
    assert run.certificate.max_constraint_rate < 1e-14
    found = ss.accelerations(scenario.system, scenario.q0, scenario.u0)[0]
    np.testing.assert_allclose(found.acceleration[:2], [-2 / 7 * 5.0 * 0.3, 0.0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.tangential_force, 0.5 * found.acceleration[:2], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("tilt", "rate"), [(1.2, 6.0), (0.6, 20.0), (1.9, -8.0)])
def test_coin_in_a_circle_keeps_its_tilt(tilt, rate):
    scenario = library.rolling_coin(tilt=tilt, heading_rate=rate)
    found = ss.accelerations(scenario.system, scenario.q0, scenario.u0)[0]
    np.testing.assert_allclose(found.acceleration[2:], 0.0, rtol=0, atol=1e-9)
    # its centre runs in a circle: centripetal acceleration speed times heading rate
    assert found.acceleration[1] == pytest.approx(scenario.u0[0] * rate, rel=1e-10)


@pytest.mark.parametrize(("speed", "stable"), [(0.8, False), (1.2, True)])
def test_upright_coin_is_stable_beyond_its_critical_speed(speed, stable):
    """Straight ahead a thin coin stays upright for v^2 > g R / 3 (Routh): beyond, a tilt is pulled back.

    A tilt by `off` makes the heading turn with psi' = (d psi'' / d theta') off.
    """
    R, g, off = 0.012, 9.81, 1e-6
    roll = speed * math.sqrt(g * R / 3) / R
    coin = library.rolling_coin(tilt=math.pi / 2, heading_rate=0.0, roll_rate=roll)
    falling = coin.u0 + np.array([0.0, -R * off, 0.0, off, 0.0])
    heading = ss.accelerations(coin.system, coin.q0, falling)[0].acceleration[2]
    tilted = library.rolling_coin(tilt=math.pi / 2 + off, heading_rate=heading, roll_rate=roll)
    pull = ss.accelerations(tilted.system, tilted.q0, tilted.u0)[0].acceleration[3]
    assert (pull < 0.0) == stable


def test_top_precesses_steadily_and_its_tip_carries_it():
    top = library.spinning_top()
    found = ss.accelerations(top.system, top.q0, top.u0)[0]
    np.testing.assert_allclose(found.acceleration[3:], 0.0, rtol=0, atol=1e-9)
    radius, rate = 0.04 * math.sin(0.4), top.u0[3]
    np.testing.assert_allclose(
        found.tangential_force, [-0.1 * radius * rate**2, 0.0, 0.1 * 9.81], rtol=1e-9, atol=1e-12
    )
    assert library.spinning_top(spin=5.0).u0[3] == 0.0  # too slow for a steady precession


def test_wrong_coins_and_tops():
    for entry in (library.rolling_coin, library.spinning_top):
        with pytest.raises(ValueError, match="tilt must lie between 0 and pi, got 4 rad"):
            entry(tilt=4.0)
    with pytest.raises(ValueError, match="heading_rate must not be zero for a circle; give roll_rate"):
        library.rolling_coin(heading_rate=0.0)
