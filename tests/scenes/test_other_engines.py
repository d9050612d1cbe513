"""Small cases that tests of other engines have: what they set up, against closed forms of our own.

Drake: a sphere rolls down a slope (multibody/plant/test/inclined_plane_test.cc).  DART: a rough and a smooth box
under gravity that is askew (test_Friction.cpp).  Siconos: a sphere and a box bounce on a plane, a box and a sphere
(mechanics/src/collision/bullet/test/ContactTest.cpp).  Bullet: balls thrown in all directions, the friction of a cone
(pybullet/examples/frictionCone.py).  MuJoCo (test/engine): rays at a row of balls (engine_ray_test.cc), a ball on a box
in a plane, cubes that overlap by half (engine_collision_box_test.cc), a body of eight balls on a floor
(engine_collision_driver_test.cc), a rotor and its equivalent (armature_equivalence.xml), limits of tendons, meshes.
"""

import math

import numpy as np
import pytest

import stickslip as ss
from tests.scenes.collision.test_collision import contact_points

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


def test_mujocos_rays_at_a_row_of_balls():
    """Balls of radius 0.1 at 1, 3 and 5: 0.9, 2.9 and 4.9 away, as nearer ones are left out; and 0.4 from behind."""
    scene = ss.Scene(gravity=0.0)
    fixed = scene.add_static(ss.Sphere(0.1), position=(1, 0, 0), name="first")
    others = [
        scene.add_body(ss.Sphere(0.1), mass=1.0, position=(x, 0, 0), name=name)
        for x, name in ((3, "second"), (5, "third"))
    ]
    scene.add_static(ss.Sphere(0.1), position=(-1, 0, 0), name="behind")
    sim, left_out = ss.Simulator(scene, dt=1e-3), []
    for body, distance in ((fixed, 0.9), (others[0], 2.9), (others[1], 4.9)):
        hit = sim.ray((0, 0, 0), (1, 0, 0), ignore=left_out)
        assert hit.body == body.name and abs(hit.distance - distance) < 1e-14
        left_out.append(body)
    assert sim.ray((0, 0, 0), (1, 0, 0), ignore=left_out) is None
    assert abs(sim.ray((-0.5, 0, 0), (-1, 0, 0), length=0.41).distance - 0.4) < 1e-14
    assert sim.ray((-0.5, 0, 0), (-1, 0, 0), length=0.39) is None


UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def test_mujocos_ball_on_a_box_in_a_plane():
    """The lid of the box lies in the plane: both have the same distance from the ball, apart, touching and in it."""
    for z in (0.004, 1e-5, 0.0, -1e-5, -0.001, -0.0049):  # of the lowest point; its middle stays above the lid
        ball = ss.Sphere(0.005), (np.array([0.0, 0.0, z + 0.005]), UPRIGHT)
        for shape, place in ((ss.HalfSpace((0, 0, 1)), 0.0), (ss.Box((0.1, 0.1, 0.05)), -0.025)):
            gaps, normals, _ = contact_points((shape, ball[0]), ((np.array([0.0, 0.0, place]), UPRIGHT), ball[1]))
            assert len(gaps) == 1 and abs(gaps[0] - z) < 1e-15 and np.allclose(normals[0], (0, 0, 1))


def test_mujocos_cubes_that_overlap():
    """Cubes of side 2, their middles 1.5 apart: every point is 0.5 deep."""
    cube = ss.Box((2, 2, 2))
    gaps, _, _ = contact_points((cube, cube), ((np.zeros(3), UPRIGHT), (np.array([0.0, 0.0, 1.5]), UPRIGHT)))
    assert len(gaps) >= 4 and np.allclose(gaps, -0.5, rtol=0, atol=1e-12)


def test_mujocos_body_of_eight_balls():
    """Eight contacts with the floor, whose forces carry the weight; it rests where it is."""
    corners = [(k * x, k * y, 0.0) for k in (1, 2) for x in (-1, 1) for y in (-1, 1)]
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    body = scene.add_body(ss.Compound([(ss.Sphere(1.0), c) for c in corners]), mass=3.0, position=(0, 0, 1.0))
    run = scene.simulate(dt=1e-3, t_end=0.05, contacts=True)
    found = run.contacts().at(0.05)
    assert len(found) == 8 and abs(abs(found["force"][:, 2].sum()) - 3.0 * G) < 1e-9
    assert np.abs(body.path(run) - body.path(run)[0]).max() < 1e-12


def test_mujocos_rotor_is_its_armature():
    """A pendulum whose hinge has an armature I swings as one with a wheel on its axle: w' = m g l / (J + m l^2 + I)."""
    mass, length, inertia, rotor = 1.0, 0.5, 0.02, 0.3
    scene = ss.Scene(dim=2)
    rod = scene.add_body(ss.Circle(0.1), mass=mass, inertia=inertia, position=(length, 0))
    scene.add_revolute(None, rod, at=(0, 0), armature=rotor)
    run = scene.simulate(dt=1e-4, t_end=0.02)
    begin = -mass * G * length / (inertia + mass * length**2 + rotor)
    assert abs(rod.spin(run)[-1] / 0.02 - begin) < 1e-3 * abs(begin)
    angle = rod.turning(run)[-1]  # energy of a pendulum with all inertia about its hinge
    kinetic = 0.5 * (inertia + mass * length**2 + rotor) * rod.spin(run)[-1] ** 2
    assert abs(kinetic + mass * G * length * math.sin(angle)) < 1e-6 * kinetic


def test_mujocos_limited_tendon_holds_a_weight():
    """It falls freely by h, is stopped at once where the tendon is taut, and hangs on its weight."""
    scene = ss.Scene()
    weight = scene.add_body(ss.Sphere(0.05), mass=2.0, position=(0, 0, -0.2))
    scene.add_rope(None, weight, (0, 0, 0), (0, 0, -0.2), length=0.5)
    run = scene.simulate(dt=1e-3, t_end=0.5, contacts=True)
    fall = math.sqrt(2 * 0.3 / G)
    before = run.t < fall - 2e-3
    assert np.abs(weight.path(run)[before, 2] + 0.2 + 0.5 * G * run.t[before] ** 2).max() < 1e-12
    assert abs(weight.path(run)[-1, 2] + 0.5) < 1e-5 and np.abs(weight.velocities(run)[-1]).max() < 1e-9
    assert abs(np.linalg.norm(run.reactions().at(0.5)["force"][0]) - 2.0 * G) < 1e-6


def test_mujocos_meshes_have_the_inertia_of_their_shapes():
    """A cube as a hull and as a box; a tetrahedron of volume 1/6 about its middle: m (3/80, 1/80 off the axes)."""
    cube = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)])
    hull, box = (shape.mass_properties(3) for shape in (ss.ConvexHull(cube), ss.Box((0.2, 0.4, 0.6))))
    assert np.allclose(hull.inertia, box.inertia, rtol=1e-13) and abs(hull.volume - 0.048) < 1e-15
    corner = ss.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]).mass_properties(3)
    assert abs(corner.volume - 1 / 6) < 1e-15 and np.allclose(corner.centre, 0.25)
    expected = np.full((3, 3), 1 / 80) + np.diag([5 / 80] * 3)  # 2 * 3/80 on the axes, + 1/80 off them
    assert np.allclose(corner.inertia / corner.volume, expected, rtol=1e-12)
