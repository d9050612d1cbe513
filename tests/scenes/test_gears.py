"""Universal joints, screws, planes, gears, racks, couplings, ropes and pulleys against closed forms."""

import math
import re

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import EVERYWHERE, HOME

G = 9.81


def wheel(scene, mass, inertia, position, **more):
    """A body that touches nothing on its way."""
    shape = ss.Circle(0.01) if scene.dim == 2 else ss.Sphere(0.01)
    return scene.add_body(
        shape, mass=mass, inertia=inertia if scene.dim == 2 else [inertia] * 3, position=position, **more
    )


def at(scene, x, y):
    """A point of the plane, or of the plane y = 0 of space."""
    return (x, y) if scene.dim == 2 else (x, 0.0, y)


def grain(place, run):
    """What the last digits of coordinates, closed within a step, make of a velocity [m/s]."""
    return 1e-12 + 4.0 * 2.0**-52 * place.distance / run.dt


def solved(run):
    """Whether all steps of a run are solved, and no joint came apart by more than rounding."""
    return run.complete and run.certificate.failed_steps == 0 and run.certificate.max_joint_error < 1e-9


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_atwood_machine(dim, place):
    """l_a + k l_b = L: a = g (m_b k - m_a k^2) / (m_b + m_a k^2) of b downwards, and tension m_a (g + k a)."""
    for k, light, heavy in ((1.0, 1.0, 1.5), (2.0, 1.0, 3.0)):
        scene = ss.Scene(dim=dim)
        a = wheel(scene, light, 0.1, at(scene, -1.0, -3.0))
        b = wheel(scene, heavy, 0.1, at(scene, 1.0, -3.0))
        rope = scene.add_pulley(a, b, at(scene, -1, -3), at(scene, 1, -3), at(scene, -1, 0), at(scene, 1, 0), ratio=k)
        run = place.simulate(scene, dt=1e-3, t_end=0.3, contacts=True)
        down = G * (heavy - light * k) / (heavy + light * k * k)
        assert run.complete and run.certificate.failed_steps == 0
        assert a.path(run)[-1, dim - 1] == pytest.approx(-3.0 + 0.5 * k * down * 0.09, abs=1e-11 + place.rounding(run))
        assert b.path(run)[-1, dim - 1] == pytest.approx(-3.0 - 0.5 * down * 0.09, abs=1e-11 + place.rounding(run))
        if place == HOME:
            pull = run.reactions()["force"][-1]
            assert pull[dim - 1] == pytest.approx(k * light * (G + k * down), rel=1e-9)
        assert rope.law == (k,)


@EVERYWHERE
def test_screw_press(place):
    """A screw of lead 2 pi h with the torque T rises with a = (T / h - m g) / (m + J / h^2)."""
    for torque in (0.0, 5.0):
        scene = ss.Scene(dim=3)
        screw = wheel(scene, 2.0, 0.1, (0.3, 0.2, 0.1))
        scene.add_screw(None, screw, at=(0.3, 0.2, 0), axis=(0, 0, 1), lead=0.3, torque=torque)
        run = place.simulate(scene, dt=1e-3, t_end=1.5)
        h = 0.3 / (2.0 * math.pi)
        rise = (torque / h - 2.0 * G) / (2.0 + 0.1 / h**2)
        assert solved(run) or place != HOME
        z = screw.path(run)[-1, 2] - 0.1
        assert z == pytest.approx(0.5 * rise * 1.5**2, abs=1e-10 + 100 * place.rounding(run))
        assert run.u[-1, 5] * h == pytest.approx(rise * 1.5, rel=1e-9)


@EVERYWHERE
def test_universal_joint_between_two_shafts(place):
    """A closed loop: two hinged shafts, bent by beta, w_2 / w_1 = cos beta / (1 - sin^2 beta cos^2 theta)."""
    bent, scene = 0.6, ss.Scene(dim=3, gravity=0.0)
    first, second = np.array([1.0, 0.0, 0.0]), np.array([math.cos(bent), math.sin(bent), 0.0])
    one = wheel(scene, 1.0, 0.2, -first, angular_velocity=3.0 * first)
    # theta = 0: the pin of the first shaft lies in the plane of both shafts
    share = math.cos(bent) / (1.0 - math.sin(bent) ** 2)
    two = wheel(scene, 1.0, 1e-3, second, angular_velocity=3.0 * share * second)
    scene.add_revolute(None, one, at=-first, axis=first)
    scene.add_revolute(None, two, at=second, axis=second)
    scene.add_universal(one, two, at=(0, 0, 0), axis_a=(0, 1, 0), axis_b=(0, 0, 1))
    run = place.simulate(scene, dt=5e-4, t_end=1.0)
    assert run.complete and run.certificate.failed_steps == 0
    theta = np.unwrap(2.0 * np.arctan2(run.q[:, 4], run.q[:, 3]))
    w_1, w_2 = run.u[:, 3:6] @ first, run.u[:, 9:12] @ second
    law = math.cos(bent) / (1.0 - math.sin(bent) ** 2 * np.cos(theta) ** 2)
    assert theta[-1] > 2.5
    assert np.abs(w_2 / w_1 - law).max() < 3e-5  # velocities at the ends of steps, joints at midpoints
    energy = 0.1 * w_1**2 + 0.5e-3 * w_2**2  # of both shafts
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-6


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_gear_train(dim, place):
    """w_2 = -w_1 / k, and a torque T at the first of three wheels: T / (J_1 + J_2 / k^2 + J_3 / (k l)^2)."""
    scene, ratios, inertias = ss.Scene(dim=dim), (2.0, 1.5), (0.1, 0.3, 0.5)
    axis = None if dim == 2 else (0, 1, 0)
    x = (0.0, 0.6, 1.6)
    wheels = [wheel(scene, 1.0, inertia, at(scene, place_x, 0.1)) for inertia, place_x in zip(inertias, x, strict=True)]
    for k, (body, place_x) in enumerate(zip(wheels, x, strict=True)):
        scene.add_revolute(None, body, at=at(scene, place_x, 0.1), axis=axis, torque=2.0 if k == 0 else 0.0)
    for k, ratio in enumerate(ratios):
        scene.add_gear(wheels[k], wheels[k + 1], at(scene, x[k], 0.1), at(scene, x[k + 1], 0.1), axis, ratio=ratio)
    run = place.simulate(scene, dt=1e-3, t_end=2.0)
    assert run.complete and run.certificate.failed_steps == 0
    rate = 2.0 * 2.0 / (0.1 + 0.3 / 4.0 + 0.5 / 9.0)
    spin = run.u.reshape(len(run), 3, -1)[-1, :, 2 if dim == 2 else 4]
    assert spin == pytest.approx([rate, -rate / 2.0, rate / 3.0], rel=1e-9)
    if dim == 2:  # many turns: 17.4 rad/s after 2 s
        angle = run.q.reshape(len(run), 3, -1)[-1, :, 2]
        assert angle[1] == pytest.approx(-angle[0] / 2.0, abs=1e-9 + 100 * place.rounding(run)) and angle[0] > 17.0


@EVERYWHERE
def test_planets_run_between_a_sun_and_a_ring(place):
    """Ring at rest: w_carrier = w_sun / (1 + z_r / z_s), and inertias as Lagrange has them."""
    scene = ss.Scene(dim=2, gravity=0.0)
    sun = wheel(scene, 1.0, 0.1, (0, 0))
    carrier = wheel(scene, 1.0, 0.2, (0, 0))
    planet = wheel(scene, 0.5, 0.01, (0.3, 0))
    scene.ignore(sun, carrier)
    ring = scene.add_static(ss.Circle(0.01), position=(5, 5))
    scene.add_revolute(None, sun, at=(0, 0), torque=1.0)
    scene.add_revolute(None, carrier, at=(0, 0))
    scene.add_revolute(carrier, planet, at=(0.3, 0))
    scene.add_gear(sun, planet, (0, 0), (0.3, 0), ratio=0.5)  # radii 0.2 and 0.1
    scene.add_gear(planet, ring, (0.3, 0), (0, 0), ratio=-4.0)  # the ring has 0.4
    run = place.simulate(scene, dt=1e-3, t_end=2.0)
    assert run.complete and run.certificate.failed_steps == 0
    # sun 1, carrier 1/3, planet (1/3) (1 - 0.4 / 0.1) = -1
    inertia = 0.1 + (0.2 + 0.5 * 0.09) / 9.0 + 0.01
    spin = run.u.reshape(len(run), 3, 3)[-1, :, 2]
    assert spin == pytest.approx(np.array([1.0, 1.0 / 3.0, -1.0]) * 2.0 / inertia, rel=1e-5)


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_rack_and_pinion_and_the_coupling_that_stands_for_it(dim, place):
    """a = F / (m + J / r^2), by the mesh of both bodies or by a coupling of their joints."""
    ends = []
    for coupled in (False, True):
        scene = ss.Scene(dim=dim, gravity=0.0)
        pinion, rack = wheel(scene, 1.0, 0.02, at(scene, 0, 0.2)), wheel(scene, 2.0, 0.1, at(scene, 0.5, 0))
        turn = scene.add_revolute(None, pinion, at=at(scene, 0, 0.2), axis=None if dim == 2 else (0, 1, 0))
        slide = scene.add_prismatic(None, rack, at=at(scene, 0, 0), axis=at(scene, 1, 0), torque=3.0)
        if coupled:  # the rack below goes to the right: about -z of the plane x, z seen along y it turns to and fro
            scene.add_coupling(slide, turn, ratio=0.2 if dim == 2 else -0.2)
        else:
            scene.add_rack(rack, pinion, at(scene, 0, 0.2), at(scene, 1, 0), at(scene, 0, 0))
        run = place.simulate(scene, dt=1e-3, t_end=2.0)
        assert run.complete and run.certificate.failed_steps == 0
        way = 0.5 * 3.0 / (2.0 + 0.02 / 0.04) * 4.0
        assert rack.path(run)[-1, 0] == pytest.approx(0.5 + way, abs=1e-9 + 10 * place.rounding(run))
        spin = run.u.reshape(len(run), 2, -1)[-1, 0, 2 if dim == 2 else 4]
        ends.append(spin)
        assert abs(spin) == pytest.approx(way / 0.2, rel=1e-9, abs=grain(place, run) / 0.2)  # a t / r at t = 2 s
    assert np.sign(ends[0]) == np.sign(ends[1])


@EVERYWHERE
def test_bevel_gears_by_a_coupling(place):
    """Axes that meet at an odd angle: x_1 = k x_2, T / (J_1 + J_2 / k^2)."""
    scene = ss.Scene(dim=3)
    one, two = wheel(scene, 1.0, 0.1, (0, 0, 0)), wheel(scene, 1.0, 0.4, (1, 0, 0))
    other = np.array([0.36, 0.48, 0.8])
    first = scene.add_revolute(None, one, at=(0, 0, 0), axis=(0, 0, 1), torque=1.0)
    second = scene.add_revolute(None, two, at=(1, 0, 0), axis=other)
    scene.add_coupling(first, second.name, ratio=-2.5)
    run = place.simulate(scene, dt=1e-3, t_end=3.0)
    rate = 3.0 / (0.1 + 0.4 / 6.25)
    assert run.complete and run.certificate.failed_steps == 0
    assert run.u[-1, 5] == pytest.approx(rate, rel=1e-9)
    assert run.u[-1, 9:12] == pytest.approx(-rate / 2.5 * other, rel=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
@EVERYWHERE
def test_slack_rope_comes_taut(dim, place):
    """Two bodies without gravity: after the jerk they go on together with m_b v / (m_a + m_b).

    1 km away the rope's end is known to some 1e-13 m, and the step closes that gap: 1e-10 m/s.
    """
    scene = ss.Scene(dim=dim, gravity=0.0)
    a, b = wheel(scene, 1.0, 0.1, at(scene, 0, 0)), wheel(scene, 1.0, 0.1, at(scene, 1, 0), velocity=at(scene, 2, 0))
    scene.add_rope(a, b, at(scene, 0, 0), at(scene, 1, 0), length=1.5)
    run = place.simulate(scene, dt=1e-3, t_end=1.0)
    assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_energy_gain < 1e-12
    assert b.path(run)[-1, 0] - a.path(run)[-1, 0] == pytest.approx(1.5, abs=1e-12 + 10 * place.rounding(run))
    assert a.path(run)[-1, 0] == pytest.approx(0.75, abs=2e-3)
    assert run.u[-1] == pytest.approx(np.tile(np.concatenate([[1.0], np.zeros(3 * dim - 4)]), 2), abs=grain(place, run))


def test_whirled_ball_leaves_its_circle():
    """From the lowest point with v^2 = 3.5 g L the rope is slack at cos = -1/2, and taut again after a parabola."""
    scene, v = ss.Scene(dim=2), math.sqrt(3.5 * G)
    ball = wheel(scene, 1.0, 1e-4, (0, -1), velocity=(v, 0))
    scene.add_rope(None, ball, (0, 0), (0, -1))
    run = scene.simulate(dt=2e-4, t_end=1.2)
    assert run.complete and run.certificate.failed_steps == 0
    r = np.linalg.norm(ball.path(run), axis=1)
    slack = int(np.argmax(r < 1.0 - 1e-5))
    x, y = ball.path(run)[slack]
    assert y == pytest.approx(0.5, abs=2e-2) and x > 0.8
    assert run.energy.total[:slack] == pytest.approx(run.energy.total[0], abs=1e-4)
    # on the parabola from (sin 60, cos 60) with v^2 = g L / 2, along (-1/2, sqrt(3)/2)
    speed = math.sqrt(0.5 * G)
    for time in (0.1, 0.3):
        k = slack + round(time / run.dt)
        t = run.t[k] - _time_of_slack(v)
        assert ball.path(run)[k] == pytest.approx(
            [math.sqrt(0.75) - 0.5 * speed * t, 0.5 + math.sqrt(0.75) * speed * t - 0.5 * G * t * t], abs=2e-4
        )


def _time_of_slack(v):
    """Time at which a pendulum of 1 m with the speed v at its lowest point is at 120 degrees."""
    angles = np.linspace(0.0, 2.0 * math.pi / 3.0, 20001)
    rate = np.sqrt(v * v - 2.0 * G * (1.0 - np.cos(angles)))
    return float(np.trapezoid(1.0 / rate, angles))


@EVERYWHERE
def test_planar_joint_and_body_that_does_not_turn(place):
    """On a plane of 30 degrees a body slides by g sin / 2 t^2 and turns on; one that may not turn feels no torque."""
    scene = ss.Scene(dim=3)
    normal = np.array([-0.5, 0.0, math.sqrt(0.75)])
    puck = wheel(scene, 1.0, 0.1, (0, 0, 0), velocity=(0, 0.3, 0), angular_velocity=2.0 * normal)
    scene.add_planar(None, puck, at=(0, 0, 0), normal=normal)
    still = wheel(scene, 1.0, 0.1, (5, 0, 0), angular_velocity=(0, 0, 0))
    scene.add_translational(None, still)
    scene.add_force(still, torque=(1.0, 2.0, 3.0))
    run = place.simulate(scene, dt=1e-3, t_end=1.0)
    assert run.complete and run.certificate.failed_steps == 0
    down = 0.5 * G * 0.5 * np.array([-math.sqrt(0.75), 0.0, -0.5])
    assert puck.path(run)[-1] == pytest.approx(down + np.array([0, 0.3, 0]), abs=1e-10 + 10 * place.rounding(run))
    assert run.u[-1, 3:6] == pytest.approx(2.0 * normal, abs=1e-10)
    assert still.path(run)[-1] == pytest.approx([5, 0, -0.5 * G], abs=1e-10 + 10 * place.rounding(run))
    assert np.abs(run.u[-1, 9:12]).max() < 1e-12


def test_body_that_does_not_turn_slides_where_it_would_tip():
    """A tall box with mu = 0.9, pushed at its top: it slides with g (1 - mu) less than free, and stays upright."""
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane(normal=(0, 1)), friction=0.9)
    box = scene.add_body(
        ss.Polygon([(-0.1, -1), (0.1, -1), (0.1, 1), (-0.1, 1)]), mass=1.0, position=(0, 1), velocity=(5, 0)
    )
    scene.add_translational(None, box)
    run = scene.simulate(dt=1e-3, t_end=1.0)
    assert solved(run)
    assert box.path(run)[-1] == pytest.approx([12.5 / (0.9 * G), 1.0], abs=3e-3)
    assert np.abs(run.q[:, 2]).max() < 1e-12


HERE, X, Z = (0, 0, 0), (1, 0, 0), (0, 0, 1)
REFUSED = [
    (lambda s, a, b: s.add_universal(None, a, HERE, X, (1, 1, 0)), "axis_a and axis_b of a universal joint must"),
    (lambda s, a, b: s.add_screw(None, a, HERE, X, lead=0.0), "lead of a screw must not be 0"),
    (lambda s, a, b: s.add_gear(a, b, HERE, X, Z, ratio=-1.0), "ratio of a gear must be neither 0 nor -1"),
    (lambda s, a, b: s.add_gear(a, b, HERE, X, ratio=1.0), "axis of a gear in space must be given"),
    (lambda s, a, b: s.add_gear(a, b, HERE, Z, Z, ratio=1.0), "must be apart, across its axis"),
    (lambda s, a, b: s.add_rack(a, b, HERE, X, (1, 1, 0)), "at a right angle to `along`"),
    (lambda s, a, b: s.add_rope(a, b, HERE, X, length=0.5), "length of a rope must be at least"),
    (lambda s, a, b: s.add_pulley(a, b, HERE, X, HERE, Z), "must be apart from at_a and at_b"),
    (lambda s, a, b: s.add_coupling("none", "hinge", ratio=1.0), "first joint of a coupling"),
    (lambda s, a, b: s.add_coupling("ball", "hinge", ratio=1.0), "must be revolute, prismatic or a screw"),
    (lambda s, a, b: s.add_coupling("hinge", "elbow", ratio=1.0), "must hang on the world or a static body"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals_are_one_line(case):
    scene = ss.Scene(dim=3)
    a, b = wheel(scene, 1.0, 1.0, (0, 0, 0)), wheel(scene, 1.0, 1.0, (1, 0, 0))
    scene.add_revolute(None, a, (0, 0, 0), (0, 0, 1), name="hinge")
    scene.add_spherical(None, b, (1, 0, 0), name="ball")
    scene.add_revolute(a, b, (0, 0, 0), (0, 0, 1), name="elbow")
    make, words = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(words)) as told:
        make(scene, a, b)
    assert "\n" not in str(told.value)
    flat = ss.Scene(dim=2)
    with pytest.raises(ValueError, match="joint of space"):
        flat.add_planar(None, wheel(flat, 1.0, 1.0, (0, 0)), (0, 0), (0, 1))
