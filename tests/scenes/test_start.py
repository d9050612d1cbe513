"""Fast bodies at the start: on the way to the first midpoint they go as far as their first contact."""

import math

import numpy as np
import pytest

import stickslip as ss


@pytest.mark.parametrize("speed", [10.0, 500.0, 5000.0])
def test_a_fast_ball_does_not_pass_a_thin_wall(speed):
    scene = ss.Scene(dim=3, gravity=0.0)
    scene.add_static(ss.Box((0.001, 1, 1)), position=(0.1205, 0, 0))
    ball = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0.01, 0, 0), velocity=(speed, 0, 0), restitution=0.5)
    run = scene.simulate(dt=1e-3, t_end=0.05, every=1)
    x, v = ball.path(run)[:, 0], ball.velocities(run)[:, 0]
    assert x[0] == 0.01 and x.max() <= 0.11 + 1e-9  # the face of the wall is at 0.12
    assert v[-1] == pytest.approx(-0.5 * speed, rel=1e-12)
    # the impact is early or late by less than a step
    exact = 0.11 - 0.5 * (speed * 0.05 - 0.1)
    assert x[-1] == pytest.approx(exact, abs=1.5 * speed * 1e-3)
    assert run.certificate.max_penetration < 1e-9


def test_bodies_that_meet_head_on_before_the_first_midpoint():
    scene = ss.Scene(dim=3, gravity=0.0)
    left = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0, 0, 0), velocity=(100, 0, 0), restitution=1.0)
    right = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0.05, 0, 0), velocity=(-100, 0, 0))
    free = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0, 1, 0), velocity=(100, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=2e-3)
    assert left.velocities(run)[1, 0] == pytest.approx(-100) and right.velocities(run)[1, 0] == pytest.approx(100)
    assert left.path(run)[0, 0] == 0.0 and free.path(run)[-1, 0] == pytest.approx(0.2, abs=1e-12)
    assert run.certificate.max_penetration < 1e-9


def test_a_turning_bar_stops_at_the_floor():
    # its end would go 5 cm below the floor by the first midpoint
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_static(ss.HalfPlane((0, 1)))
    bar = scene.add_body(ss.Polygon.rectangle(1.0, 0.02), mass=1.0, position=(0, 0.03), angular_velocity=-200.0)
    run = scene.simulate(dt=1e-3, t_end=1e-3)
    assert run.certificate.max_penetration < 2e-3  # a 64th of its way
    assert abs(bar.spin(run)[-1]) < 100.0 and len(run.impacts()) > 0


def test_bodies_at_rest_and_sliding_ones_begin_where_they_are():
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    cube = scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), velocity=(6, 0, 0))
    x = cube.path(scene.simulate(dt=1e-3, t_end=5e-3))[:, 0]
    n = np.arange(6)
    assert x == pytest.approx(6e-3 * n - 0.5 * 0.5 * 9.81 * 1e-6 * n**2, abs=1e-12)


def test_a_mechanism_stops_as_a_whole():
    # two rods of a pendulum: the tip reaches the floor before the first midpoint, the joints stay closed
    scene = ss.Scene(dim=3, gravity=0.0)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    arm = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0, 0, 0.06), velocity=(0, 0, -100))
    tip = scene.add_body(ss.Sphere(0.01), mass=1.0, position=(0.5, 0, 0.03), velocity=(0, 0, -100))
    scene.add_spherical(arm, tip, at=(0.25, 0, 0.045))
    run = scene.simulate(dt=1e-3, t_end=3e-3)
    apart = np.linalg.norm(tip.path(run) - arm.path(run), axis=1)
    assert apart[1] == pytest.approx(math.hypot(0.5, 0.03), abs=0.02)
    assert run.certificate.max_penetration < 1e-3 and run.certificate.failed_steps == 0


def late_box(appears=0.01, **options):
    """A box on another one, and a third that appears 0.25 m deep in the upper one."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    boxes = [
        scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, z), appears=t, name=name)
        for name, z, t in (("lower", 0.5, -math.inf), ("upper", 1.5, -math.inf), ("late", 2.25, appears))
    ]
    return boxes, scene.simulate(dt=1e-3, t_end=0.03, **options)


@pytest.mark.parametrize("appears", [0.01, 0.0104, 1e-4])
def test_a_body_that_appears_inside_another_stops_the_run(appears):
    _, run = late_box(appears)
    assert not run.complete
    assert run.t[-1] == pytest.approx(round(appears / 1e-3) * 1e-3, abs=1e-12)
    for words in ("'upper' and 'late' overlap by 0.25 m where 'late' appears", "'resolve' or 'keep'"):
        assert words in run.status


def test_a_body_that_appears_inside_another_is_moved_out_or_left():
    (lower, upper, late), run = late_box(overlap="resolve")
    assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_penetration < 1e-6
    assert late.path(run)[-1, 2] == pytest.approx(2.5, abs=2e-6)
    for body, height in ((lower, 0.5), (upper, 1.5)):  # what had been computed is not moved
        assert body.path(run)[:, 2] == pytest.approx(height, abs=1e-9)
    _, kept = late_box(overlap="keep")
    assert kept.complete and kept.certificate.max_penetration == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize(("jointed", "hint"), [(True, r" \(collide=False of their joint lets them\)"), (False, "")])
def test_an_overlapping_start_of_jointed_bodies_names_collide(jointed, hint):
    scene = ss.Scene(dim=2)
    one = scene.add_body(ss.Circle(0.1), mass=1.0, name="one")
    two = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.1, 0), name="two")
    if jointed:
        scene.add_revolute(one, two, at=(0.05, 0), collide=True)
    with pytest.raises(ValueError, match=f"'one' and 'two' overlap by 0.1 m at the start{hint}, more than"):
        scene.simulate(dt=1e-3, t_end=1e-2)


def test_start_velocity_that_contradicts_a_hinge_is_an_impact():
    """Angular momentum about the hinge is kept: (I + m l^2) w = m l v_y; the impulse is what the bob loses."""
    scene = ss.Scene(dim=2)
    bob = scene.add_body(ss.Circle(0.1), mass=2.0, inertia=0.1, position=(1, 0), velocity=(3, 2))
    scene.add_revolute(None, bob, at=(0, 0))
    run = scene.simulate(dt=1e-3, t_end=0.01)
    w = 2.0 * 1.0 * 2.0 / (0.1 + 2.0)
    assert run.u[0] == pytest.approx([0.0, w, w], abs=1e-12)
    assert bob.spin(run)[1] == pytest.approx(w, abs=0.02)
    impacts = run.impacts()
    assert impacts["time"].tolist() == [0.0] and impacts["contact"].tolist() == [0]
    assert impacts["normal_velocity_before"] == pytest.approx([-math.hypot(3.0, 2.0)])
    assert impacts["normal_impulse"] == pytest.approx([2.0 * math.hypot(3.0, 2.0 - w)])
    assert run.certificate.failed_steps == 0 and run.certificate.max_joint_error < 1e-5


def test_start_velocities_that_agree_with_joints_stay():
    spin = np.array([0.3, -0.2, 0.5])
    scene = ss.Scene(dim=3, gravity=0.0)
    arm = np.array([0.5, 0.1, -0.2])
    ball = scene.add_body(
        ss.Sphere(0.1), mass=1.0, inertia=(1, 2, 2.5), position=arm, velocity=np.cross(spin, arm), angular_velocity=spin
    )
    scene.add_spherical(None, ball, at=(0, 0, 0))
    run = scene.simulate(dt=1e-3, t_end=0.002)
    assert len(run.impacts()) == 0 and run.u[0].tolist() == [*np.cross(spin, arm), *spin]


def test_bodies_on_a_moving_driven_one_start_with_it():
    scene = ss.Scene(dim=3, gravity=0.0)
    hand = scene.add_driven(ss.Sphere(0.1), position=(0, 0, 0), velocity=(0, 0, 1), angular_velocity=(0, 0, 2))
    load = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    scene.add_fixed(hand, load)
    run = scene.simulate(dt=1e-3, t_end=0.1)
    assert load.velocities(run)[0] == pytest.approx([0.0, 2.0, 1.0], abs=1e-12)
    assert (
        load.path(run)[-1] == pytest.approx([math.cos(0.2), math.sin(0.2), 0.1], abs=1e-5) and len(run.impacts()) == 1
    )


def test_ropes_that_are_taut_at_the_start_stop_what_tears_at_them():
    """Without a rebound: a bob flew back at half of its speed, and a pulley let both of its loads rise."""
    thrown = ss.Scene(dim=2, gravity=0.0)
    bob = thrown.add_body(ss.Circle(0.1), mass=2.0, position=(1, 0), velocity=(1, 2))
    thrown.add_rope(None, bob, (0, 0), (1, 0), length=1.0)
    run = thrown.simulate(dt=1e-3, t_end=0.1)
    assert run.u[0, :2].tolist() == [0.0, 2.0] and np.abs(np.linalg.norm(bob.path(run), axis=1) - 1.0).max() < 1e-6
    assert run.impacts()["normal_impulse"].tolist() == [2.0]
    lift = ss.Scene(dim=2)
    loads = [lift.add_body(ss.Circle(0.2), mass=m, position=(x, -4), velocity=(0, -1)) for m, x in ((3.0, 0), (2.0, 1))]
    lift.add_pulley(*loads, (0, -4), (1, -4), over_a=(0, 0), over_b=(1, 0))
    run = lift.simulate(dt=1e-3, t_end=0.1)  # (m_a v - m_b v) / (m_a + m_b), then g (m_a - m_b) / (m_a + m_b)
    assert loads[0].velocities(run)[[0, -1], 1] == pytest.approx([-0.2, -0.2 - 0.02 * 9.81], abs=1e-9)
    assert loads[1].velocities(run)[[0, -1], 1] == pytest.approx([0.2, 0.2 + 0.02 * 9.81], abs=1e-9)


def test_ropes_that_are_slack_or_come_nearer_do_nothing_at_the_start():
    for x, v in ((0.999, (1.0, 0.0)), (1.0, (-1.0, 2.0))):
        scene = ss.Scene(dim=2, gravity=0.0)
        scene.add_rope(
            None, scene.add_body(ss.Circle(0.1), mass=2.0, position=(x, 0), velocity=v), (0, 0), (x, 0), length=1.0
        )
        run = scene.simulate(dt=1e-4, t_end=1e-4)
        assert run.u[0, :2].tolist() == list(v) and len(run.impacts()) == 0
