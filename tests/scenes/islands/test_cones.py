"""Friction cones by choice: circular, elliptic, pyramids."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.islands.pyramid import polygon_support, project_polygon, project_pyramid
from tests.elsewhere import EVERYWHERE, HOME

G = 9.81


@pytest.mark.parametrize("m", [3, 4, 8])
def test_projection_onto_a_pyramid_is_the_nearest_point(m):
    rng = np.random.default_rng(m)
    angles = 2 * math.pi * np.arange(m) / m
    for _ in range(300):
        mu = rng.uniform(0.0, 1.5)
        x = rng.normal(size=3)
        edges = np.column_stack([np.ones(m), mu * np.cos(angles), mu * np.sin(angles)])
        p = np.array(project_pyramid(*x, mu, m))
        # Moreau: x = p + s with p in K, s in the polar cone, p . s = 0
        assert abs(p @ (x - p)) < 1e-12
        assert (edges @ (x - p)).max() < 1e-12
        assert p[0] >= 0 and polygon_support(p[1], p[2], m) <= mu * p[0] + 1e-12
        assert polygon_support(x[1], x[2], m) == pytest.approx((edges[:, 1:] @ x[1:] / mu).max())


@pytest.mark.parametrize("m", [3, 4, 8])
def test_projection_onto_a_polygon_is_the_nearest_point(m):
    rng = np.random.default_rng(m)
    angles = 2 * math.pi * np.arange(m) / m
    for _ in range(300):
        radius, x = rng.uniform(0.1, 2.0), rng.normal(size=2)
        corners = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        p = np.array(project_polygon(*x, radius, m))
        assert (corners @ (x - p)).max() <= p @ (x - p) + 1e-12  # x - p is normal to the polygon at p
        inside = p @ np.column_stack([np.cos(angles + math.pi / m), np.sin(angles + math.pi / m)]).T
        assert inside.max() <= radius * math.cos(math.pi / m) + 1e-12


def thrown(cone, velocity=(3.0, 1.0, 0.0), place=HOME):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    block = scene.add_body(ss.Box((1, 1, 0.1)), mass=1.0, position=(0, 0, 0.05), velocity=velocity)
    run = place.simulate(scene, dt=1e-3, t_end=3e-3, cone=cone)
    assert run.certificate.failed_steps == 0
    return (block.velocities(run)[1] - block.velocities(run)[0])[:2] / 1e-3 / G


def test_a_pyramid_lets_friction_act_along_its_edges():
    for m in (4, 8):
        force = thrown(m)
        angle = math.atan2(force[1], force[0]) / (2 * math.pi / m)
        assert np.linalg.norm(force) == pytest.approx(0.5, abs=1e-9)
        assert angle == pytest.approx(round(angle), abs=1e-9)
        # maximum dissipation: no other edge takes more power
        assert force @ [3.0, 1.0] == pytest.approx(-0.5 * polygon_support(-3.0, -1.0, m), rel=1e-9)
    circle = thrown("circular")
    assert circle == pytest.approx(-0.5 * np.array([3.0, 1.0]) / math.sqrt(10), rel=1e-3)


@EVERYWHERE
def test_a_block_rests_on_a_pyramid_too(place):
    error = 1e-12 + 2.0**-52 * place.distance / 1e-6  # of velocities that move the last digit of a place in a step
    assert thrown(8, velocity=(0, 0, 0), place=place) == pytest.approx([0, 0], abs=error)
    circle = thrown("circular", place=place)
    assert circle == pytest.approx(-0.5 * np.array([3.0, 1.0]) / math.sqrt(10), rel=1e-3)


def test_cones_that_are_none():
    for cone in (2, "round", True, 4.5):
        with pytest.raises(ValueError, match=r"cone must be 'circular' or the number of edges"):
            thrown(cone)


def test_pyramids_that_tie_are_solved_by_the_next_method():
    # eight points of a thin plate, of which three would carry it: Lemke alone loses its accuracy in the first step, in
    # most directions; in which ones is a matter of rounding, and differs between processors
    fallbacks = 0
    for angle in (math.pi / 6, 0.3, 1.3, 2.8):
        scene = ss.Scene(dim=3)
        scene.add_static(ss.HalfSpace((0, 0, 1)))
        scene.add_body(
            ss.Box((1, 1, 1e-3)), mass=1.0, inertia=(10, 10, 10), position=(0, 0, 5e-4),
            velocity=(2 * math.cos(angle), 2 * math.sin(angle), 0), friction=(0.2, 0.6),
        )  # fmt: skip
        run = scene.simulate(dt=1e-3, t_end=0.02, cone=8)
        assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_residual <= 1e-10
        fallbacks += run.certificate.fallbacks
    assert fallbacks > 0


def test_boxes_that_fall_onto_one_another_with_pyramids():
    rng, scene = np.random.default_rng(3), ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.4)
    for i in range(6):
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        place = (0.15 * (i % 2) + 0.02 * i % 0.05, 0.15 * (i // 2 % 2), 0.2 + 0.28 * (i // 4) + 0.02 * (i % 3))
        scene.add_body(ss.Box((0.2, 0.15, 0.1)), density=1000.0, position=place, orientation=turn, friction=0.4)
    run = scene.simulate(dt=1e-3, t_end=0.2, cone=8, tol=1e-8, overlap="resolve")
    assert run.complete and run.certificate.max_residual <= 1e-8


@pytest.mark.parametrize("friction", [2.0, 1e3, 1e6])
@EVERYWHERE
def test_pyramids_of_any_friction(friction, place):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction)
    cube = scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), velocity=(1, 0, 0))
    run = place.simulate(scene, dt=1e-3, t_end=0.01, cone=8)
    assert run.complete and run.certificate.max_residual <= 1e-10
    # the front edge sticks and the cube tips over it: m v h = (J + m r^2) omega
    assert cube.spin(run)[1, 1] == pytest.approx(0.5 / (1 / 6 + 1 / 2), rel=2e-2)
