"""Small cases that tests of other engines have: what they set up, against closed forms of our own.

Drake: a sphere rolls down a slope (multibody/plant/test/inclined_plane_test.cc).  DART: a rough and a smooth box
under gravity that is askew (test_Friction.cpp).  Siconos: a sphere and a box bounce on a plane, a box and a sphere
(mechanics/src/collision/bullet/test/ContactTest.cpp).  Bullet: balls thrown in all directions, the friction of a cone
(pybullet/examples/frictionCone.py).
"""

import math

import numpy as np
import pytest

import stickslip as ss

G = 9.81


def test_drakes_sphere_rolls_down_a_slope():
    """v = 5/7 g t sin a, friction 2/7 m g sin a; Drake asks for 5.5e-4 of the speed and 1e-9 of the friction."""
    slope, radius, mass = math.radians(15), 0.05, 0.1
    scene = ss.Scene(gravity=(G * math.sin(slope), 0, -G * math.cos(slope)))
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=1.0)
    ball = scene.add_body(ss.Sphere(radius), mass=mass, position=(0, 0, radius), friction=1.0)
    run = scene.simulate(dt=1e-3, t_end=1.0, contacts=True)
    speed = 5 / 7 * G * math.sin(slope) * run.t[-1]
    assert abs(ball.velocities(run)[-1, 0] - speed) < 1e-10 * speed
    assert abs(ball.spin(run)[-1, 1] * radius - speed) < 1e-10 * speed
    assert abs(ball.path(run)[-1, 0] - speed * run.t[-1] / 2) < 1e-6
    force = np.abs(run.contacts().at(1.0)["force"][0])
    assert np.allclose(force[[0, 2]], mass * G * np.array([2 / 7 * math.sin(slope), math.cos(slope)]), rtol=1e-9)


def test_darts_boxes_under_gravity_that_is_askew():
    """Both fall by 0.35 m and land; the rough one stops, the smooth one goes on.

    DART expects the rough box near y = -0.17889.  It lands at t = sqrt(2 h / g) with v = 5 t sideways.
    """
    scene = ss.Scene(gravity=(0.0, -5.0, -G))
    scene.add_static(ss.Box((10, 10, 0.01)), position=(0, 0, -0.505), friction=1.0)
    size = (0.3, 0.3, 0.3)
    rough, smooth = (
        scene.add_body(ss.Box(size), mass=1.0, position=(x, 0, 0), friction=mu) for x, mu in ((-0.5, 1.0), (0.5, 0.0))
    )
    run = scene.simulate(dt=1e-3, t_end=0.5)
    t = math.sqrt(2 * 0.35 / G)
    landed = -0.5 * 5.0 * t**2
    assert abs(rough.path(run)[-1, 1] - landed) < 3e-3 and abs(landed + 0.17889) < 1e-3
    after = run.t > 0.3
    assert np.ptp(rough.path(run)[after, 1]) < 1e-9
    assert np.abs(smooth.path(run)[:, 1] + 2.5 * run.t**2).max() < 1e-6
    assert np.abs(rough.path(run)[after, 2] + 0.35).max() < 1e-3
    assert run.certificate.failed_steps == 0


@pytest.mark.parametrize("ground", ["plane", "box", "sphere"])
@pytest.mark.parametrize("moving", ["sphere", "box"])
def test_siconos_bounces(moving, ground):
    """From 3 m with restitution 0.8: heights 0.8^2k of the first one.

    Siconos asks for the ratios of its own step of 5 ms, 0.6358, 0.4048, 0.2577, 0.1630, 0.1033, 0.0647.
    """
    scene = ss.Scene(gravity=G)
    below = {"plane": (ss.HalfSpace((0, 0, 1), -0.5), (0, 0, 0)), "box": (ss.Box((100, 100, 100)), (0, 0, -50.5)),
             "sphere": (ss.Sphere(1.0), (0, 0, -1.5))}[ground]  # fmt: skip
    scene.add_static(below[0], position=below[1], friction=0.0, restitution=0.8)
    shape = ss.Sphere(0.5) if moving == "sphere" else ss.Box((1, 1, 1))
    body = scene.add_body(shape, mass=1.0, inertia=(1, 1, 1), position=(0, 0, 3), friction=0.0, restitution=0.8)
    run = scene.simulate(dt=1e-3, t_end=6.0)
    z, v = body.path(run)[:, 2], body.velocities(run)[:, 2]
    peaks = z[1:][(v[:-1] > 0) & (v[1:] <= 0)][:6] / 3
    assert np.abs(peaks - 0.64 ** np.arange(1, 7)).max() < 5e-3
    assert np.abs(peaks - (0.6358, 0.4048, 0.2577, 0.1630, 0.1033, 0.0647)).max() < 1e-2


def test_bullets_balls_in_all_directions():
    """Forty balls that cannot turn slide straight on, by v^2 / (2 mu g): the cone has no corners."""
    scene, angles = ss.Scene(gravity=10.0), 2 * np.pi * np.arange(40) / 40
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.2)
    balls = []
    for i, a in enumerate(angles):
        ball = scene.add_body(
            ss.Sphere(0.03), mass=1.0, position=(i, 0, 0.03), velocity=(math.sin(a), math.cos(a), 0), friction=0.2
        )
        scene.add_translational(None, ball)
        balls.append(ball)
    run = scene.simulate(dt=1e-3, t_end=0.6, every=100)
    assert run.certificate.failed_steps == 0
    for i, (ball, a) in enumerate(zip(balls, angles, strict=True)):
        way = ball.path(run)[-1] - (i, 0, 0.03)
        assert np.allclose(way, 0.25 * np.array([math.sin(a), math.cos(a), 0]), atol=2e-6)
        assert np.abs(ball.velocities(run)[-1]).max() < 1e-12
