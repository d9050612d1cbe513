"""Derivatives where contacts have two tangents, against closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss


def rolling(p, u):
    """Time at which a sliding ball begins to roll, and its derivatives by v_x, omega_y, friction and g.

    t = 2 |s| / (7 mu g) with the slip s = (v_x - r omega_y, v_y + r omega_x).
    """
    r, mu, g = p["radius"], p["friction"], p["g"]
    s = np.array([u["v_x"] - r * u["omega_y"], u["v_y"] + r * u["omega_x"]])
    size = math.hypot(*s)
    t = 2.0 * size / (7.0 * mu * g)
    return t, np.array([t * s[0] / size**2, -t * r * s[0] / size**2, -t / mu, -t / g])


def test_when_a_ball_that_slides_askew_begins_to_roll():
    ball = ss.library.sliding_ball()
    u = dict(zip(ball.system.velocity_names, ball.u0.tolist(), strict=True))
    t, dt = rolling(ball.parameters, u)
    value, slope = ss.gradient(lambda t: t[0], ball, "friction", events="sticks", t_end=0.28)
    assert value == pytest.approx(t, rel=1e-9) and slope == pytest.approx(dt[2:3], rel=1e-7)


@pytest.mark.slow
def test_a_ball_that_slides_askew_and_then_rolls():
    """Rolling, v = 5/7 v_0 + 2/7 r omega_0 x e_z, whatever friction is; and when it begins to roll."""
    ball = ss.library.sliding_ball()
    u = dict(zip(ball.system.velocity_names, ball.u0.tolist(), strict=True))
    names = ["v_x", "omega_y", "friction", "g"]
    found = ss.sensitivity(ball, names, t_end=0.4, samples=3)
    assert found.reliable and not found.exact and found.event_times.kinds == ("sticks",)
    t, dt = rolling(ball.parameters, u)
    assert found.event_times.t[0] == pytest.approx(t, rel=1e-9)
    assert found.event_times.dt[0] == pytest.approx(dt, rel=1e-7)
    r = ball.parameters["radius"]
    assert found.end[6] == pytest.approx([5 / 7, 2 / 7 * r, 0, 0], abs=1e-9)
    assert found.end[10] == pytest.approx([5 / 7 / r, 2 / 7, 0, 0], abs=1e-7)
    _, slope = ss.gradient(lambda q, u: u[0] ** 2, ball, "v_x", t_end=0.4)
    assert slope[0] == pytest.approx(2 * found.trajectory.u[-1, 0] * 5 / 7, rel=1e-7)


def test_what_no_run_beside_the_motion_tells_is_said():
    ball = ss.library.sliding_ball()
    found = ss.sensitivity(ball, "radius", t_end=0.05, samples=2)
    assert not found.reliable and "no runs beside the motion" in found.reason and np.isnan(found.end).all()
    with pytest.raises(ValueError, match="no reliable derivative"):
        ss.gradient(lambda q, u: q[0], ball, "radius", t_end=0.05)
    with pytest.raises(ValueError, match="two tangents"):
        ss.gradient(lambda t, q, u: q[0, 0], ball, "v_x", times=[0.05])
