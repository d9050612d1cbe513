"""Belts: static bodies whose surface runs."""

import numpy as np
import pytest

import stickslip as ss


@pytest.mark.parametrize("belt", [ss.HalfSpace((0, 0, 1)), ss.Box((20, 2, 1))], ids=["half-space", "box"])
def test_a_brick_is_carried_along(belt):
    scene = ss.Scene()
    height = -0.5 if isinstance(belt, ss.Box) else 0.0
    scene.add_static(belt, position=(0, 0, height), friction=0.3, surface_velocity=(1.0, 0, 0))
    brick = scene.add_body(ss.Box((0.2, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.05))
    run = scene.simulate(dt=1e-3, t_end=0.6)
    v, t = brick.velocities(run)[:, 0], run.t
    assert np.allclose(v, np.minimum(1.0, 0.3 * 9.81 * t), atol=0.3 * 9.81 * 1e-3 + 1e-9)
    assert abs(v[-1] - 1.0) < 1e-12 and abs(brick.path(run)[-1, 2] - 0.05) < 1e-9
    assert run.certificate.failed_steps == 0 and run.certificate.forced > 0
    # friction takes as much as it gives: m v^2 / 2 of heat
    assert abs(run.certificate.contact_work + 0.5) < 2e-3


def test_faces_across_the_belt_are_at_rest():
    scene = ss.Scene(gravity=0.0)
    scene.add_static(ss.Box((2, 2, 1)), friction=0.0, restitution=0.5, surface_velocity=(3.0, 0, 0))
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(1.2, 0, 0), velocity=(-1, 0, 0))
    still = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(-1.1, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=0.3)
    assert np.allclose(ball.velocities(run)[-1], (0.5, 0, 0), atol=1e-12)
    assert np.abs(still.velocities(run)[-1]).max() < 1e-12
    assert abs(run.certificate.contact_work + 0.375) < 1e-12


def test_a_ball_rolls_on_a_belt_of_the_plane():
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.5, surface_velocity=(-2.0, 0.0))
    wheel = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0, 0.1))
    run = scene.simulate(dt=1e-3, t_end=0.5)
    # slip v + w r + 2 ends when friction has given v = -2/3 and w r = -4/3: thirds, as of a disc
    assert np.allclose(wheel.velocities(run)[-1], (-2 / 3, 0), atol=2e-3)
    assert abs(wheel.velocities(run)[-1, 0] + 0.1 * wheel.spin(run)[-1] + 2.0) < 1e-9


def test_a_surface_velocity_is_checked():
    with pytest.raises(ValueError, match="velocity of"):
        ss.Scene().add_static(ss.HalfSpace((0, 0, 1)), surface_velocity=(1, 0))
