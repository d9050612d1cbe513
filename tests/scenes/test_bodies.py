"""Driven bodies, bodies that come and go, and the shapes that have no other test, against closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.rescue import worth_sharing
from tests.elsewhere import EVERYWHERE, FAR, HOME

G = 9.81


def floor(friction=0.5):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction)
    return scene


@EVERYWHERE
def test_a_belt_takes_a_block_along(place):
    # slides with mu g until it has the speed of the belt: v / (mu g), then sticks
    scene = ss.Scene(dim=3)
    scene.add_driven(ss.Box((20, 1, 0.1)), position=(0, 0, -0.05), velocity=(2, 0, 0), friction=0.5)
    block = scene.add_body(ss.Box((0.4, 0.4, 0.2)), mass=1.0, position=(0, 0, 0.1))
    run = place.simulate(scene, dt=1e-3, t_end=0.6)
    v, away = block.velocities(run)[:, 0], 10 * place.rounding(run)
    assert v[200] == pytest.approx(0.5 * G * 0.2, abs=1e-10 + away)
    assert v[-1] == pytest.approx(2.0, abs=1e-12 + away)
    slides = 2 / (0.5 * G)
    assert block.path(run)[-1, 0] == pytest.approx(2 * (0.6 - slides) + slides, abs=1e-5)
    assert run.contact_state[-1, run.contact_names.index(block.name)] == 1


def test_a_body_that_vanishes_lets_go_what_it_carried():
    scene = floor()
    scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), vanishes=0.1)
    upper = scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 1.5))
    late = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(5, 0, 1.0), appears=0.2)
    run = scene.simulate(dt=1e-3, t_end=0.4)
    z = upper.path(run)[:, 2]
    assert z[100] == pytest.approx(1.5, abs=1e-12)
    assert z[-1] == pytest.approx(1.5 - 0.5 * G * 0.3**2, abs=1e-10)
    assert late.path(run)[200, 2] == 1.0
    assert late.path(run)[-1, 2] == pytest.approx(1.0 - 0.5 * G * 0.2**2, abs=1e-10)


def test_a_hull_with_the_corners_of_a_box_moves_like_the_box():
    ends = []
    corners = [(x, y, z) for x in (-0.3, 0.3) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]
    for shape in (ss.Box((0.6, 0.4, 0.2)), ss.ConvexHull(corners)):
        scene = floor()
        turn = (math.cos(0.2), math.sin(0.2), 0.0, 0.0)
        body = scene.add_body(shape, mass=1.0, position=(0, 0, 0.5), orientation=turn, velocity=(1, 0.5, 0))
        run = scene.simulate(dt=1e-3, t_end=0.5)
        assert run.certificate.failed_steps == 0
        ends.append(body.path(run)[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


@EVERYWHERE
def test_compound_and_capsule_rest_and_carry_their_weight(place):
    scene = floor()
    dumbbell = ss.Compound([(ss.Sphere(0.1), (-0.3, 0, 0)), (ss.Sphere(0.1), (0.3, 0, 0)), (ss.Box((0.6, 0.05, 0.05)))])
    heavy = scene.add_body(dumbbell, mass=2.0, position=(0, 0, 0.1))
    lying = (math.cos(math.pi / 4), 0.0, math.sin(math.pi / 4), 0.0)  # its axis is z: laid along x
    rod = scene.add_body(ss.Capsule(0.1, 0.5), mass=1.0, position=(0, 2, 0.1), orientation=lying)
    run = place.simulate(scene, dt=1e-3, t_end=0.2, every=200)
    assert np.abs(run.q[-1] - run.q[0]).max() < 1e-11 + place.rounding(run)
    names = list(run.contact_names)
    assert run.normal_impulse[-1, names.index(heavy.name)] == pytest.approx(2 * G * 0.2, rel=1e-9)
    assert run.normal_impulse[-1, names.index(rod.name)] == pytest.approx(G * 0.2, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("place", [HOME, *FAR], ids=str)
def test_a_height_field_is_a_plane_where_it_is_flat_and_a_slope_where_it_is_not(place):
    # z = -x tan(0.3): a ball rolls down with 5/7 g sin, a block without friction slides with g sin
    x = np.linspace(-5, 5, 21)
    heights = np.tile((-x * math.tan(0.3))[:, None], (1, 5))
    n = np.array([math.sin(0.3), 0.0, math.cos(0.3)])
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HeightField(heights, 0.5), friction=1.0)
    ball = scene.add_body(ss.Sphere(0.1), mass=1.0, position=0.1 * n)
    run = place.simulate(scene, dt=1e-3, t_end=0.5)
    a = 5 / 7 * G * math.sin(0.3)
    assert np.linalg.norm(ball.velocities(run)[-1]) == pytest.approx(0.5 * a, rel=1e-3)
    assert np.abs(ball.path(run) @ n - 0.1).max() < 1e-6
    flat = ss.Scene(dim=3)
    flat.add_static(ss.HeightField(np.zeros((5, 5)), 0.5), friction=0.5)
    box = flat.add_body(ss.Box((0.3, 0.3, 0.2)), mass=1.0, position=(0.1, 0.05, 0.1))
    rest = place.simulate(flat, dt=1e-3, t_end=0.3)
    assert np.abs(box.path(rest) - box.path(rest)[0]).max() < 1e-9 + place.rounding(rest)


def test_threads_are_taken_where_there_is_work_for_them():
    assert not worth_sharing(np.array([24] * 10)) and not worth_sharing(np.array([240, 12]))  # ten boxes; one heap
    assert worth_sharing(np.array([72] * 4)) and not worth_sharing(np.zeros(0, int))


def test_a_force_that_is_a_function_is_of_order_two_with_friction():
    """x'' = mu g - w^2 x until it stops; the place before the step made this first order, 8e-4 m off at dt = 1e-3 s."""
    w, mu, x0, t_end, off = 8.0, 0.2, 0.2, 0.3, []
    shift = mu * 9.81 / w**2
    for dt in (1e-3, 5e-4):
        scene = ss.Scene(dim=2)
        scene.add_static(ss.HalfPlane((0, 1)), friction=mu)
        block = scene.add_body(ss.Polygon.rectangle(0.2, 0.1), mass=1.0, position=(x0, 0.05), friction=mu)
        scene.add_force(block, force=lambda t, x, v: (-(w**2) * x[0], 0.0))
        run = scene.simulate(dt=dt, t_end=t_end)
        off.append(abs(block.path(run)[-1, 0] - shift - (x0 - shift) * math.cos(w * t_end)))
    assert off[0] < 1e-6 and off[1] < 0.27 * off[0]


def test_a_compound_is_put_together_once_and_bodies_share_nothing_that_changes():
    """Masses and pieces are those of a fresh one; what a caller does to them, or to its own list, changes no other."""
    parts = [(ss.Sphere(0.1), (0.3, 0.0, 0.0)), (ss.Box((0.1, 0.2, 0.3)), (0.0, 0.1, 0.0))]
    shape = ss.shapes.Compound(parts)
    volume, centre, inertia = shape.mass_properties(3)
    shape.pieces(3).clear()
    centre[:], inertia[:] = 7.0, 7.0
    parts.append((ss.Sphere(1.0), (0.0, 0.0, 0.0)))
    again, fresh = shape.mass_properties(3), ss.shapes.Compound(parts[:2]).mass_properties(3)
    assert volume == again.volume == fresh.volume and len(shape.pieces(3)) == 2
    np.testing.assert_array_equal(again.centre, fresh.centre)
    np.testing.assert_array_equal(again.inertia, fresh.inertia)
