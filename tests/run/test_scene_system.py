"""Scenes in space judged event by event: features that change, closed forms, and rates against differences."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.run.free_bodies import FreeBodies
from stickslip.run.scene_as_mechanism import _derived, judged

G = 9.81


def on_table(shape, x, friction, **more):
    """A body on a static box whose upper face is z = 0, |x| <= 0.5."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.Box((1, 1, 0.1)), position=(0, 0, -0.05), friction=friction)
    scene.add_body(shape, mass=1.0, position=(x, 0.03, 0.1), friction=friction, **more)
    return scene


def by_events(scene, t_end, dt=0.05):
    run = scene.simulate(dt=dt, t_end=t_end, stepper=ss.EventDriven())
    assert run.complete, run.status
    return run


def times(run, kind):
    return run.events().of_kind(kind).time


def test_box_slides_to_its_stop_and_rests():
    """It stops after v / (mu g) and v^2 / (2 mu g), all four corners at once, and lies still from then on."""
    run = by_events(ss.library.thrown_cube(speed=2.0).scene, 0.6)
    assert times(run, "sticks") == pytest.approx([2.0 / (0.5 * G)] * 4, rel=1e-9)
    assert run.q[-1, 0] == pytest.approx(4.0 / (2 * 0.5 * G), rel=1e-9)
    assert np.abs(run.u[-1]).max() < 1e-11


@pytest.mark.parametrize("friction, slides", [(0.5, False), (0.3, True)])
def test_box_on_a_ramp_lies_or_slides(friction, slides):
    angle = 0.38
    run = by_events(ss.library.cube_on_ramp(angle=angle, friction=friction).scene, 0.5)
    way = np.linalg.norm(run.q[-1, :3] - run.q[0, :3])
    a = G * (math.sin(angle) - friction * math.cos(angle)) if slides else 0.0
    assert way == pytest.approx(0.5 * a * 0.25, abs=1e-10)


def test_box_that_slides_off_a_table_begins_to_tip_where_its_load_leaves_the_edge():
    """Friction puts the load mu h / 2 ahead of the middle: it tips where x + mu h / 2 is the edge; corners change to
    edges on the way."""
    mu, v, h = 0.2, 1.5, 0.2
    run = by_events(on_table(ss.Box((0.2, 0.2, h)), 0.3, mu, velocity=(v, 0, 0)), 0.3)
    way = 0.2 - mu * h / 2
    tips = (v - math.sqrt(v * v - 2 * mu * G * way)) / (mu * G)
    assert times(run, "opens")[:2] == pytest.approx([tips, tips], rel=1e-8)


@pytest.mark.slow
def test_ball_rolls_over_the_edge_of_a_box():
    """From face to edge without an event; it turns about the edge, slips and leaves, as the time stepper says."""
    scene = on_table(ss.Sphere(0.1), 0.4, 0.5, velocity=(0.3, 0, 0), angular_velocity=(0, 3, 0))
    run = by_events(scene, 0.7, dt=0.1)
    assert run.events().counts() == {"opens": 1, "slips": 1}
    stepped = scene.simulate(dt=1e-4, t_end=0.7, every=1000)
    assert np.abs(stepped.q - run.q).max() < 2e-6


@pytest.mark.slow
def test_block_that_falls_flat_rocks_to_rest_in_finite_time():
    """It falls as a pendulum about its edge; the blows of both edges in turns accumulate and end, as told."""
    w, h, tilt = 0.2, 0.4, 0.05
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=1.0)
    c, s = math.cos(tilt), math.sin(tilt)
    at = (c * w / 2 - s * h / 2, 0.0, s * w / 2 + c * h / 2)
    turn = (math.cos(tilt / 2), 0.0, -math.sin(tilt / 2), 0.0)
    scene.add_body(ss.Box((w, 0.3, h)), mass=1.0, position=at, orientation=turn)
    run = by_events(scene, 0.9)
    blows = np.unique(times(run, "impact"))
    half, alpha = math.hypot(w, h) / 2, math.atan2(w, h)
    J = (w * w + h * h) / 12 + half**2
    speed = math.sqrt(2 * G * half * (math.cos(alpha - tilt) - math.cos(alpha)) / J)
    hit = run.impacts()
    assert -hit["normal_velocity_before"][0] == pytest.approx(speed * w, rel=1e-8)
    assert len(blows) > 10 and len(times(run, "accumulation ends")) >= 4
    assert run.q[-1, 2] == pytest.approx(h / 2, abs=1e-9) and np.abs(run.u[-1]).max() < 1e-9


def test_stack_and_turned_cubes_rest():
    """Corners upon corners, and edges that cross: forces are not unique, rest is."""
    scene = ss.library.cube_stack(cubes=2).scene
    turned = scene.add_body(
        ss.Box((1, 1, 1)), mass=1.0, position=(0.1, 0, 2.5), orientation=(math.cos(0.25), 0, 0, math.sin(0.25))
    )
    run = by_events(scene, 0.2, dt=0.1)
    assert np.abs(run.q - run.q[0]).max() < 1e-12 and turned.path(run)[-1] == pytest.approx((0.1, 0, 2.5), abs=1e-12)
    assert len(run.events()) == 0


def random_pair(rng, first, second):
    scene = ss.Scene(dim=3)
    for shape, place in ((first, np.zeros(3)), (second, rng.normal(size=3))):
        turn = rng.normal(size=4)
        place = place / max(1e-9, np.linalg.norm(place)) * rng.uniform(0.2, 0.3)
        scene.add_body(shape, mass=1.0, position=place, orientation=turn / np.linalg.norm(turn), friction=0.3)
    return scene


def test_directions_and_drifts_of_features_are_derivatives_of_gaps():
    rng = np.random.default_rng(3)
    shapes = [ss.Sphere(0.1), ss.Capsule(0.05, 0.2), ss.Box((0.2, 0.3, 0.15))]
    blocks = set()
    for trial in range(18):
        system = judged(random_pair(rng, shapes[trial % 3], shapes[trial // 3 % 3])).system
        (pair,) = system.pairs
        q = np.array([0.0] * 14)
        while True:  # until a feature is near
            scene = random_pair(rng, shapes[trial % 3], shapes[trial // 3 % 3])
            q = np.concatenate([np.r_[b.position, b.orientation] for b in scene.bodies if b.kind == "moving"])
            poses = system.poses(q)
            gap, counts = pair.look((poses[pair.bodies[0]], poses[pair.bodies[1]]))
            near = np.flatnonzero((counts >= 0.0) & (gap < 0.2) & (gap > 1e-3))
            if len(near):
                break
        u = rng.normal(size=14)
        for k in (3, 10):
            u[k : k + 4] -= q[k : k + 4] * (q[k : k + 4] @ u[k : k + 4])
        for feature in near[:4]:
            blocks.add(int(np.searchsorted(np.cumsum([a * b for a, b in pair.blocks]), feature, side="right")))
            p = np.full(len(system.places), -1.0)
            p[0] = 3.0 * feature + system._frame(0, int(feature), -1, poses)[3]
            rows, zeta, e = system.geometry(q, 0.0, p), system.drift(q, u, 0.0, p), 1e-6

            def gamma(x, system=system, p=p, u=u):
                W_N, W_T, _ = system.geometry(x, 0.0, p)
                return np.array([W_N[0] @ u, W_T[0] @ u, W_T[1] @ u])

            turned = [q + s * e * u for s in (1, -1)]
            slope = np.subtract(*(system.gap(x / _lengths(x), 0.0, p)[0] for x in turned)) / (2 * e)
            assert slope == pytest.approx(rows[0][0] @ u, abs=1e-6)
            rates = (gamma(turned[0]) - gamma(turned[1])) / (2 * e)
            assert rates == pytest.approx([zeta[0, 0], zeta[0, 1], zeta[1, 1]], abs=2e-5)
    assert len(blocks) >= 4


def _lengths(q):
    found = np.ones(14)
    for k in (3, 10):
        found[k : k + 4] = np.linalg.norm(q[k : k + 4])
    return found


def test_free_bodies_are_what_symbols_derive():
    rng = np.random.default_rng(1)
    scene = random_pair(rng, ss.Box((0.1, 0.2, 0.3)), ss.Box((0.3, 0.2, 0.2)))
    scene.add_force(scene.bodies[1], force=(1, 2, 3), torque=(0.1, 0.2, 0.3))
    derived, own = _derived(scene, touching=False), FreeBodies(scene, "own")
    q, u = rng.normal(size=14), rng.normal(size=14)
    q /= _lengths(q)
    assert np.allclose(derived.mass(q), own.mass(q), atol=1e-15)
    assert np.allclose(derived.force(q, u), own.force(q, u), atol=1e-13)
    assert np.allclose(derived.drift(q, u), own.drift(q, u)) and np.allclose(derived.gap(q), own.gap(q))
    assert derived.energy(q, u) == pytest.approx(own.energy(q, u))


def test_what_the_judge_does_not_know_is_told_in_one_line():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_body(ss.Cylinder(0.1, 0.2), mass=1.0, position=(0, 0, 1))
    with pytest.raises(ValueError, match=r"knows balls, capsules, boxes and hulls.*got a Cylinder") as told:
        judged(scene)
    assert "\n" not in str(told.value)


def test_box_on_a_ball_joint_strikes_with_its_edge():
    """Two corners strike at once, and the joint holds: friction jams it, as in the steps of a scene."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.4)
    turn = (math.cos(math.pi / 8), 0.0, math.sin(math.pi / 8), 0.0)
    box = scene.add_body(ss.Box((0.2, 0.2, 0.4)), mass=1.0, position=(0.3, 0, 0.22), orientation=turn, friction=0.4)
    scene.add_spherical(None, box, (0.1, 0, 0.42))
    run = by_events(scene, 0.15)
    assert len(times(run, "impact")) == 2 and np.abs(run.u[-1]).max() < 1e-10
    assert np.abs(scene.simulate(dt=1e-4, t_end=0.15, every=500).q - run.q).max() < 1e-8
