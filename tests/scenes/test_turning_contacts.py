"""Contacts with bodies that turn: what sticks or rolls there goes round, to order two in dt."""

import math

import numpy as np
import pytest

import stickslip as ss

G = 9.81


def on_turntable(shape, rate, position, friction, move=(0.0, 0.0, 0.0), **motion):
    """A body at `position` over a driven table that turns about the vertical through `move` at `rate` [rad/s]."""
    scene, move = ss.Scene(gravity=G), np.array(move)
    place = move - (0, 0, 0.05)
    scene.add_driven(ss.Box((4, 4, 0.1)), position=place, angular_velocity=(0, 0, rate), friction=friction)
    return scene, scene.add_body(shape, mass=0.2, position=move + position, friction=friction, **motion)


def orbit_error(dt, t_end, move=(0.0, 0.0, 0.0)):
    """A ball that rolls on a turntable goes round a circle at 2/7 of its rate: v' = 2/7 Omega x v."""
    rate, radius, x, speed = 2.0, 0.05, 0.3, 0.2
    scene, ball = on_turntable(
        ss.Sphere(radius), rate, (x, 0, radius), 1.0, move,
        velocity=(0, speed, 0), angular_velocity=((rate * x - speed) / radius, 0, 0),
    )  # fmt: skip
    run = scene.simulate(dt=dt, t_end=t_end)
    assert run.certificate.failed_steps == 0
    k = 2 / 7 * rate
    path = np.stack([x + speed / k * (np.cos(k * run.t) - 1), speed / k * np.sin(k * run.t)], axis=1)
    return np.abs((ball.path(run) - move)[:, :2] - path).max()


def test_ball_on_a_turntable():
    errors = [orbit_error(dt, 2.0) for dt in (4e-3, 2e-3)]
    assert errors[1] < 1e-6 and math.log2(errors[0] / errors[1]) > 1.9
    assert orbit_error(2e-3, 2.0, (1e3, -500.0, 20.0)) == pytest.approx(errors[1], rel=1e-2)


@pytest.mark.slow
def test_ball_on_a_turntable_once_around():
    errors = [orbit_error(dt, 11.0) for dt in (2e-3, 1e-3, 5e-4)]  # once around the circle
    assert errors[1] < 1e-6 and np.all(np.log2(np.divide(errors[:-1], errors[1:])) > 1.9)


@pytest.mark.parametrize("share", [0.995, 1.01])
def test_block_on_a_turntable_slips_beyond_its_friction(share):
    """omega^2 r <= mu g holds it; it used to creep outwards by omega^2 dt / 2 in any case."""
    mu, r, size = 0.4, 0.5, 0.02
    rate = math.sqrt(share * mu * G / r)
    scene, block = on_turntable(
        ss.Box((size, size, size)), rate, (r, 0, size / 2), mu, velocity=(0, rate * r, 0), angular_velocity=(0, 0, rate)
    )
    run = scene.simulate(dt=1e-3, t_end=0.5)
    radius = np.hypot(*block.path(run)[:, :2].T)
    assert run.certificate.failed_steps == 0
    if share < 1:
        angle = rate * run.t
        assert np.abs(radius - r).max() < 1e-7  # order two in dt, along the path more
        assert np.abs(block.path(run)[:, :2] - r * np.stack([np.cos(angle), np.sin(angle)], axis=1)).max() < 4e-6
    else:
        assert radius[-1] > r + 1e-3


def pivot_errors(dt, move=(0.0, 0.0)):
    """A pole that falls about its foot, which sticks: omega^2 = 2 m g d (cos a - cos b) / (J + m d^2).

    Returns the largest error of omega [rad/s], and how far the foot goes [m].
    """
    start, inertia, move = 0.5, 1 / 12, np.array(move)
    corners = np.array([(0, 0), (1e-3, 1.5), (-1e-3, 1.5)])
    centre = corners.mean(axis=0)
    d = float(np.linalg.norm(centre))
    scene = ss.Scene(dim=2, gravity=G)
    scene.add_static(ss.HalfPlane((0, 1), offset=move[1]), friction=50.0)
    place = d * np.array([math.sin(start), math.cos(start)])
    pole = scene.add_body(
        ss.Polygon(corners - centre),
        mass=1.0,
        inertia=inertia,
        position=move + place,
        orientation=-start,
        friction=50.0,
    )
    run = scene.simulate(dt=dt, t_end=0.35)
    assert run.certificate.failed_steps == 0
    a = -pole.turning(run)
    omega = np.sqrt(np.maximum(0.0, 2 * G * d * (math.cos(start) - np.cos(a)) / (inertia + d * d)))
    foot = pole.path(run) - move - d * np.stack([np.sin(a), np.cos(a)], axis=1)
    return np.abs(-pole.spin(run) - omega).max(), np.abs(foot).max()


def test_pole_falls_about_its_foot():
    coarse, fine, far = pivot_errors(2e-3), pivot_errors(1e-3), pivot_errors(1e-3, (1e3, -70.0))
    assert fine[0] < 5e-6 and fine[1] < 1e-6
    assert math.log2(coarse[0] / fine[0]) > 1.9 and math.log2(coarse[1] / fine[1]) > 1.9
    assert far == pytest.approx(fine, rel=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_load_on_a_table_that_shakes(restitution):
    """N = m (g + a cos w t).  With restitution the load was wrong by four fifths of the weight: what the table gains in
    a step counted as an impact."""
    a, w, dt = 4.0, 4 * math.pi, 1e-3
    scene = ss.Scene(gravity=G)
    scene.add_driven(
        ss.Box((1, 1, 0.1)), position=(0, 0, -0.05), motion=lambda t: ((0, 0, a / w * math.sin(w * t)), (0, 0, 0)),
        friction=0.5, restitution=restitution,
    )  # fmt: skip
    box = scene.add_body(ss.Box((0.2, 0.2, 0.2)), mass=2.0, position=(0, 0, 0.1), restitution=restitution)
    run = scene.simulate(dt=dt, t_end=0.1)
    assert run.certificate.failed_steps == 0 and len(run.impacts()["time"]) == 0
    load = 2.0 * (np.diff(box.velocities(run)[:, 2]) / dt + G)
    t = run.t[:-1] + 0.5 * dt
    assert load == pytest.approx(2.0 * (G + a * np.cos(w * t)), abs=2.0 * a * (w * dt) ** 2 / 12)
    table = run.q.reshape(len(run), -1, 7)[:, 0, 2]
    assert np.abs(box.path(run)[:, 2] - table - 0.15).max() < 1e-14
