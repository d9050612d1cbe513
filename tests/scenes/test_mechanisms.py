"""Mechanisms put together from joints, against the library's mechanisms derived by Lagrange's equations."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.library.four_bar import assembled


def rod(scene, start, end, mass, inertia, spin=0.0, velocity=(0, 0)):
    """A thin rod from `start` to `end`; the velocity is that of its start."""
    start, end = np.array(start), np.array(end)
    half = 0.5 * (end - start)
    return scene.add_body(
        ss.Circle(0.01), mass=mass, inertia=inertia, position=start + half, angular_velocity=spin,
        velocity=np.array(velocity) + spin * np.array([-half[1], half[0]]),
    )  # fmt: skip


def test_double_pendulum_from_joints_moves_like_kanes():
    scenario = library.kane_pendulum(height=10.0)  # far above the floor
    expected = scenario.simulate(dt=5e-4, t_end=1.0)
    p, (a, b), (w_1, w_2) = expected.parameters, scenario.q0, scenario.u0
    m, length = p["mass"], p["length"]
    scene = ss.Scene(dim=2, gravity=p["g"])
    knee = length * np.array([math.sin(a), -math.cos(a)])
    tip = knee + length * np.array([math.sin(b), -math.cos(b)])
    upper = rod(scene, (0, 0), knee, m, m * length**2 / 12, w_1)
    lower = rod(scene, knee, tip, m, m * length**2 / 12, w_2, w_1 * np.array([-knee[1], knee[0]]))
    scene.add_revolute(None, upper, at=(0, 0))
    scene.add_revolute(upper, lower, at=knee)
    run = scene.simulate(dt=5e-4, t_end=1.0)
    assert a + upper.turning(run)[-1] == pytest.approx(expected.q[-1, 0], abs=2e-4)
    assert b + lower.turning(run)[-1] == pytest.approx(expected.q[-1, 1], abs=2e-4)
    assert np.ptp(run.energy.total) < 1e-3 * np.ptp(run.energy.potential)


def test_slider_crank_from_joints_moves_like_the_ideal_one():
    scenario = library.slider_crank_ideal(crank_speed=20.0)
    coarse, fine = (scenario.simulate(dt=dt, t_end=0.4) for dt in (2e-4, 1e-4))
    # GS05's rule takes velocity-dependent forces before the step, order one: extrapolated
    angle, speed = 2 * fine.q[-1, 0] - coarse.q[-1, 0], 2 * fine.u[-1, 0] - coarse.u[-1, 0]
    p = fine.parameters
    l_1, l_2 = p["l_1"], p["l_2"]
    scene = ss.Scene(dim=2, gravity=p["g"])
    crank = rod(scene, (0, 0), (l_1, 0), p["m_1"], p["J_1"], 20.0)
    drop = -20.0 * l_1 / l_2  # the slider stands still in the dead centre
    connecting = rod(scene, (l_1, 0), (l_1 + l_2, 0), p["m_2"], p["J_2"], drop, (0, 20.0 * l_1))
    slider = scene.add_body(ss.Circle(0.01), mass=p["m_3"], position=(l_1 + l_2, 0))
    scene.add_revolute(None, crank, at=(0, 0))
    scene.add_revolute(crank, connecting, at=(l_1, 0))
    scene.add_revolute(connecting, slider, at=(l_1 + l_2, 0))
    scene.add_prismatic(None, slider, at=(l_1 + l_2, 0), axis=(1, 0))
    run = scene.simulate(dt=1e-4, t_end=0.4)
    assert crank.turning(run)[-1] == pytest.approx(angle, abs=1e-4)
    assert crank.spin(run)[-1] == pytest.approx(speed, abs=1e-3)
    assert np.abs(slider.path(run)[:, 1]).max() < 1e-8


def test_four_bar_from_joints_closes_like_the_librarys():
    p = library.keywords("four_bar")
    w = p["crank_speed"]
    theta_2, theta_3 = assembled(0.0, p)
    scenario = library.four_bar()
    end, ground = np.array([p["l_1"], 0.0]), np.array([p["l_0"], 0.0])
    pin = end + p["l_2"] * np.array([math.cos(theta_2), math.sin(theta_2)])
    scene = ss.Scene(dim=2, gravity=p["g"])
    crank = rod(scene, (0, 0), end, 0.1, 1e-4, w)
    coupler = rod(scene, end, pin, p["m_2"], p["J_2"], scenario.u0[0], (0, w * p["l_1"]))
    rocker = rod(scene, ground, pin, p["m_3"], p["J_3"], scenario.u0[1])
    scene.add_revolute(None, crank, at=(0, 0), motor=(w, 1e4))
    scene.add_revolute(crank, coupler, at=end)
    scene.add_revolute(coupler, rocker, at=pin)
    scene.add_revolute(None, rocker, at=ground)
    run = scene.simulate(dt=1e-4, t_end=0.2, every=20)
    angles = np.array([assembled(w * t, p) for t in run.t])
    assert np.abs(theta_2 + coupler.turning(run) - angles[:, 0]).max() < 2e-5
    assert np.abs(theta_3 + rocker.turning(run) - angles[:, 1]).max() < 2e-5
    assert run.certificate.failed_steps == 0
