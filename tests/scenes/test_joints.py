"""Joints, springs, driven bodies and forces against closed forms."""

import math
import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stickslip as ss
from stickslip.engine import Block
from stickslip.library.scenes import hanging_chain
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes.reasons import joint_contradiction
from tests.elsewhere import EVERYWHERE, HOME, SLOWLY

G = 9.81


def swing(acceleration, start, t_end):
    """Angle and rate of theta'' = -acceleration sin(theta), let go at `start`."""
    solution = solve_ivp(
        lambda t, y: [y[1], -acceleration * math.sin(y[0])], (0, t_end), [start, 0.0], rtol=1e-12, atol=1e-12
    )
    return solution.y[:, -1]


def test_pendulum_of_order_two_without_drift():
    scene = ss.Scene(dim=2)
    bob = scene.add_body(ss.Circle(0.1), mass=1.0, inertia=0.1, position=(1, 0))
    scene.add_revolute(None, bob, at=(0, 0))
    exact = swing(G / 1.1, math.pi / 2, 2.0)
    errors = []
    for dt in (2e-3, 1e-3):
        trajectory = scene.simulate(dt=dt, t_end=2.0)
        errors.append(abs(bob.turning(trajectory)[-1] + math.pi / 2 - exact[0]))
        assert bob.spin(trajectory)[-1] == pytest.approx(exact[1], abs=1e-5)
        # chords of the circle: up to (u dt)^2 / (8 l) inside, and no drift
        sag = (4.5 * dt) ** 2 / 8
        assert np.abs(np.linalg.norm(bob.path(trajectory), axis=1) - 1.0).max() < 1.2 * sag
        assert trajectory.certificate.failed_steps == 0
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4)


@pytest.mark.parametrize("inertia", [1e-9, 1e-2])
@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_pendulum_with_dry_friction_in_its_hinge(inertia, place):
    """From rest to rest: m g l (cos b - cos a) = T (a + b), as long as T < m g l sin b; also of a near point mass."""
    torque, angle = 0.05, 0.1
    scene = ss.Scene(dim=2)
    bob = scene.add_body(ss.Circle(0.01), mass=1.0, inertia=inertia, position=(math.sin(angle), -math.cos(angle)))
    scene.add_revolute(None, bob, at=(0, 0), friction=torque)
    run = place.simulate(scene, dt=1e-3, t_end=3.2)
    assert run.complete and run.certificate.failed_steps == 0
    x = bob.path(run)[:, 0]
    turns = [k for k in range(1, len(x) - 1) if (x[k] - x[k - 1]) * (x[k + 1] - x[k]) < 0]
    assert len(turns) == 3
    for k in turns:
        angle = brentq(lambda b, a=angle: G * (math.cos(b) - math.cos(a)) - torque * (a + b), 0.0, angle)
        assert abs(math.asin(x[k])) == pytest.approx(angle, abs=2e-6)


@pytest.mark.parametrize("inertia", [1e-12, 1e-9, 1e-4])
def test_pendulum_with_dry_friction_in_its_hinge_comes_to_rest(inertia):
    """It stays where T > m g l sin b.  Friction turns a near point mass by 5e4 rad/s in a step, its pull back."""
    scene, torque = ss.Scene(dim=2), 0.05
    bob = scene.add_body(ss.Circle(0.01), mass=1.0, inertia=inertia, position=(math.sin(0.02), -math.cos(0.02)))
    scene.add_revolute(None, bob, at=(0, 0), friction=torque)
    run = scene.simulate(dt=1e-3, t_end=4.0)
    assert run.complete and run.certificate.failed_steps == 0
    x = bob.path(run)[:, 0]
    assert abs(x[-1]) < torque / G and np.abs(x[-500:] - x[-1]).max() < 1e-9


def test_energy_that_joints_put_in_is_the_rules_and_not_the_contacts():
    """A chain with a heavy end, let go level, at a step that is too long: it gains energy, which joints cannot give."""
    scene, before = ss.Scene(dim=2), None
    for k in range(12):
        link = scene.add_body(ss.Circle(0.02), mass=0.1, inertia=1e-4, position=(0.05 + 0.1 * k, 0))
        scene.add_revolute(before, link, at=(0.1 * k, 0))
        before = link
    weight = scene.add_body(ss.Circle(0.05), mass=100.0, position=(1.25, 0))
    scene.add_revolute(before, weight, at=(1.2, 0))
    for a in scene.bodies[1:]:
        for b in scene.bodies[1 : a.number]:
            scene.ignore(a, b)
    run = scene.simulate(dt=5e-3, t_end=0.5, on_failure="continue")
    gain = np.diff(run.energy.total).max()
    assert gain > 1e-3 and run.certificate.max_integration_gain == pytest.approx(gain, rel=1e-6)
    assert run.certificate.contact_work == 0.0 and run.certificate.max_energy_gain == 0.0
    assert run.certificate.integration_energy == pytest.approx(run.energy.total[-1] - run.energy.total[0], rel=1e-9)


def test_motor_at_its_bound_is_no_contradiction_of_joints():
    scene = ss.Scene(dim=2, gravity=0.0)
    wheel = scene.add_body(ss.Circle(0.1), mass=1.0)
    scene.add_revolute(None, wheel, at=(0, 0), motor=(50.0, 0.01))
    run = prepare_run(scene, 1e-3, 1.0)
    block = Block.room(3, 0, run.state.sizes, columns=9)
    run.engine.march(run.state, 3, block)
    assert block.u[2, 2] < 1.0  # far from what the motor is asked for
    assert joint_contradiction(run.engine, 0) < 1e-12


@pytest.mark.parametrize("place", [HOME, *SLOWLY], ids=str)
def test_parallelogram_four_bar_is_a_pendulum(place):
    m, M, length = 0.5, 1.0, 1.0
    scene = ss.Scene(dim=2)
    angle = 1.0  # of the cranks from the vertical
    tip = length * np.array([math.sin(angle), -math.cos(angle)])
    cranks = [
        scene.add_body(ss.Circle(0.01), mass=m, inertia=m * length**2 / 12, position=(x + 0.5 * tip[0], 0.5 * tip[1]))
        for x in (0.0, 1.0)
    ]
    coupler = scene.add_body(ss.Circle(0.01), mass=M, inertia=M / 12, position=(0.5 + tip[0], tip[1]))
    for x, crank in zip((0.0, 1.0), cranks, strict=True):
        scene.add_revolute(None, crank, at=(x, 0))
        scene.add_revolute(crank, coupler, at=(x + tip[0], tip[1]))
    trajectory = place.simulate(scene, dt=1e-3, t_end=2.0)
    exact = swing((m + M) * G * length / (2 / 3 * m * length**2 + M * length**2), angle, 2.0)
    x = coupler.path(trajectory)[-1] - [0.5, 0]
    assert math.atan2(x[0], -x[1]) == pytest.approx(exact[0], abs=2e-5)
    assert np.abs(coupler.turning(trajectory)).max() < 1e-9
    assert np.ptp(trajectory.energy.total) < 1e-3


def test_top_precesses_steadily():
    m, length, tilt, spin = 1.0, 0.1, 0.3, 200.0
    across, along = 0.02, 0.01
    axis = np.array([0, -math.sin(tilt), math.cos(tilt)])
    A = across + m * length**2  # about the tip
    # C w_3 W - A W^2 cos(tilt) = m g l, the slow root
    root = math.sqrt((along * spin) ** 2 - 4 * A * math.cos(tilt) * m * G * length)
    W = (along * spin - root) / (2 * A * math.cos(tilt))
    omega = np.array([0, 0, W]) + (spin - W * math.cos(tilt)) * axis
    scene = ss.Scene(dim=3)
    top = scene.add_body(
        ss.Sphere(0.05),
        mass=m,
        inertia=(across, across, along),
        position=length * axis,
        orientation=(math.cos(tilt / 2), math.sin(tilt / 2), 0, 0),
        angular_velocity=omega,
        velocity=np.cross(omega, length * axis),
    )
    scene.add_spherical(None, top, at=(0, 0, 0))
    trajectory = scene.simulate(dt=1e-3, t_end=1.0)
    x = top.path(trajectory)
    turned = np.unwrap(np.arctan2(x[:, 1], x[:, 0]))
    assert (turned[-1] - turned[0]) / 1.0 == pytest.approx(W, abs=2e-5)
    assert np.ptp(x[:, 2]) < 1e-6


@EVERYWHERE
def test_spatial_revolute_prismatic_and_fixed_joints(place):
    scene = ss.Scene(dim=3)
    bob = scene.add_body(ss.Sphere(0.1), mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    scene.add_revolute(None, bob, at=(0, 0, 0), axis=(0, 1, 0))
    axis = np.array([1.0, 1.0, -1.0]) / math.sqrt(3)
    slider = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=2.0, position=(5, 0, 0))
    scene.add_prismatic(None, slider, at=(5, 0, 0), axis=axis)
    one = scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(10, 0, 0), angular_velocity=(0, 0, 3))
    two = scene.add_body(
        ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(11, 0, 0), velocity=(0, 3, 0), angular_velocity=(0, 0, 3)
    )
    scene.add_fixed(one, two)
    trajectory = place.simulate(scene, dt=1e-3, t_end=1.0)
    away = place.rounding(trajectory)
    exact = swing(G / 1.1, math.pi / 2, 1.0)
    x = bob.path(trajectory)[-1]
    assert math.atan2(x[0], -x[2]) == pytest.approx(exact[0], abs=2e-5)
    s = 0.5 * G / math.sqrt(3)
    assert slider.path(trajectory)[-1] - [5, 0, 0] == pytest.approx(s * axis, abs=1e-9 + away)
    assert np.abs(slider.spin(trajectory)).max() < 1e-12 + away
    # the glued pair turns with 3 rad/s about its common centre, which flies on with 1.5 m/s
    middle = 0.5 * (one.path(trajectory) + two.path(trajectory))
    assert middle[-1] == pytest.approx([10.5, 1.5, -0.5 * G], abs=1e-9 + away)
    assert one.spin(trajectory)[-1] == pytest.approx([0, 0, 3], abs=1e-5)
    assert np.abs(np.linalg.norm(two.path(trajectory) - one.path(trajectory), axis=1) - 1).max() < 1e-5


@EVERYWHERE
def test_limits_motors_and_dry_friction(place):
    scene = ss.Scene(dim=2, gravity=0.0)
    make = lambda x: scene.add_body(ss.Circle(0.1), mass=1.0, inertia=0.5, position=(x, 0), angular_velocity=2.0)  # noqa: E731
    stopped, driven, braked = make(0), make(5), make(10)
    scene.add_revolute(None, stopped, at=(0, 0), limits=(-0.5, 1.0))
    scene.add_revolute(None, driven, at=(5, 0), motor=(10.0, 4.0))
    scene.add_revolute(None, braked, at=(10, 0), friction=1.0)
    trajectory = place.simulate(scene, dt=1e-3, t_end=2.0)
    assert stopped.turning(trajectory).max() == pytest.approx(1.0, abs=1e-9)
    assert stopped.turning(trajectory)[-1] == pytest.approx(1.0, abs=1e-9)
    w = driven.spin(trajectory)
    assert w[500] == pytest.approx(
        2.0 + 8.0 * 0.5, abs=1e-10
    )  # torque / inertia = 8 rad/s^2 until the speed is reached
    assert w[-1] == pytest.approx(10.0, abs=1e-12)
    w = braked.spin(trajectory)
    assert w[500] == pytest.approx(2.0 - 2.0 * 0.5, abs=1e-10)
    assert w[-1] == pytest.approx(0.0, abs=1e-14)
    assert braked.turning(trajectory)[-1] == pytest.approx(1.0, abs=1e-6)  # w^2 I / (2 tau)


def arm_on_a_box(dim, friction, speed, effort):
    """A box that stands on the ground, and on it an arm upright, turned by a motor."""
    scene = ss.Scene(dim=dim, gravity=G)
    place = (lambda z: (0, z)) if dim == 2 else (lambda z: (0, 0, z))
    ground, box, turned, axis = (
        (ss.HalfPlane((0, 1)), ss.Polygon.rectangle(0.4, 0.2), {"orientation": math.pi / 2}, {})
        if dim == 2
        else (ss.HalfSpace((0, 0, 1)), ss.Box((0.4, 0.4, 0.2)), {}, {"axis": (1, 0, 0)})
    )
    scene.add_static(ground, friction=friction)
    base = scene.add_body(box, mass=2.0, position=place(0.1))
    arm = scene.add_body(ss.Capsule(0.05, 0.3), mass=2.0, position=place(0.6), **turned)
    scene.add_revolute(base, arm, at=place(0.25), **axis, motor=(speed, effort))
    return scene, base, arm


def test_motor_on_a_box_that_stands_on_the_ground():
    # one corner sticks, the other slips, the motor is at its bound: Newton may go round between modes
    scene, base, arm = arm_on_a_box(2, friction=1.0, speed=0.5, effort=5.0)
    trajectory = scene.simulate(dt=1e-3, t_end=0.08)
    assert trajectory.complete, trajectory.status
    certificate = trajectory.certificate
    assert certificate.failed_steps == 0 and certificate.max_residual <= 1e-10
    assert (arm.spin(trajectory) - base.spin(trajectory))[-1] == pytest.approx(0.5, abs=1e-9)  # as the motor wants it


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.3, 0.5, 1.0])
def test_motors_of_any_speed_and_effort_on_a_box(dim, friction):
    for speed in (0.5, 2.0, 6.0):
        for effort in (1.0, 5.0, 50.0):
            scene, _, _ = arm_on_a_box(dim, friction, speed, effort)
            trajectory = scene.simulate(dt=1e-3, t_end=0.6)
            assert trajectory.complete, (speed, effort, trajectory.status)
            assert trajectory.certificate.failed_steps == 0


@EVERYWHERE
def test_redundant_joints_share_the_load(place):
    scene = ss.Scene(dim=2)
    beam = scene.add_body(ss.Polygon.rectangle(2, 0.1), mass=3.0, position=(0, 0))
    for x in (-1.0, 0.0, 1.0):
        scene.add_fixed(None, beam, at=(x, 0))
    trajectory = place.simulate(scene, dt=1e-3, t_end=0.5)
    assert np.abs(trajectory.q).max() < 1e-12 + place.rounding(trajectory)
    assert trajectory.certificate.failed_steps == 0


@pytest.mark.parametrize("dt", [1e-3, 1e-4, 1e-5])
@EVERYWHERE
def test_door_on_two_hinges_swings_at_any_step(dt, place):
    scene = ss.Scene(dim=3)
    door = scene.add_body(
        ss.Box((1, 0.05, 2)), mass=30.0, position=(0.5, 0, 1), velocity=(0, 0.5, 0), angular_velocity=(0, 0, 1)
    )
    for height in (0.3, 1.7):
        scene.add_revolute(None, door, (0, 0, height), (0, 0, 1))
    trajectory = place.simulate(scene, dt=dt, t_end=200 * dt)
    assert trajectory.complete, trajectory.status
    assert trajectory.certificate.failed_steps == 0
    away = place.rounding(trajectory)
    # frictionless hinges: it keeps turning with 1 rad/s; chords of the circle are (u dt)^2 / (8 l) inside
    t = trajectory.t
    exact = np.column_stack([0.5 * np.cos(t), 0.5 * np.sin(t), np.ones_like(t)])
    assert np.abs(door.path(trajectory) - exact).max() < 0.2 * dt**2 + 1e-14 + away
    digits = 0.0 if place == HOME else 2.0**-51 * max(1.0, place.distance) / dt  # the last ones of places, in a step
    assert door.spin(trajectory)[-1] == pytest.approx([0, 0, 1], abs=0.2 * dt**2 + 1e-12 + away + digits)
    assert trajectory.certificate.max_joint_error < 0.1 * dt**2 + away


@pytest.mark.parametrize("gap", [0.0, 1e-17, 1e-13, 1e-9, 1e-4])
def test_a_blow_does_not_drive_a_joint_through_its_limit(gap):
    """A ball strikes a bar that lies at its limit, without restitution: both are at rest.

    From 1e-17 rad on the bar used to go through, by 6e-4 rad: without the blow, it would not have reached the limit.
    """
    scene = ss.Scene(dim=2, gravity=0.0)
    bar = scene.add_body(
        ss.Polygon([(-0.5, -0.02), (0.5, -0.02), (0.5, 0.02), (-0.5, 0.02)]), mass=1.0, orientation=gap,
        position=(0.5 * math.cos(gap), 0.5 * math.sin(gap)),
    )  # fmt: skip
    ball = scene.add_body(ss.Circle(0.05), mass=0.5, position=(0.8, 0.0705), velocity=(0, -1))
    scene.add_revolute(None, bar, (0, 0), limits=(-gap, 1.0))
    run = scene.simulate(dt=1e-3, t_end=0.01)
    assert run.complete and run.certificate.failed_steps == 0
    assert bar.turning(run).min() > -1e-15
    assert abs(bar.turning(run)[-1]) < 1e-13 and np.abs(ball.velocities(run)[-1]).max() < gap + 1e-12


def test_joints_that_come_apart_end_the_run():
    """The step that would tear a joint is not taken: the run ends with the state before it."""
    scene = hanging_chain(span=0.999)
    trajectory = scene.simulate(dt=2e-3, t_end=0.2)
    assert not trajectory.complete
    assert re.search(
        r"the joint 'link\d+' - 'link\d+' \(revolute\) has come apart by .* m.*smaller dt", trajectory.status
    )
    assert trajectory.certificate.failed_steps == 1
    # a tenth of the half length of a rod
    assert trajectory.certificate.max_joint_error > 0.1 * 0.025
    ends = trajectory.q.reshape(len(trajectory), -1, 3)
    assert np.abs(np.diff(ends[-1, :, :2], axis=0)).max() < 0.051  # centres of rods that are joined
    finer = scene.simulate(dt=1e-4, t_end=0.2)
    assert finer.complete and finer.certificate.max_joint_error < 1e-5
    assert np.abs(finer.energy.total - finer.energy.total[0]).max() < 0.01


@pytest.mark.parametrize("span", [1.0, 1.5, -0.1, math.nan])
def test_chain_cannot_span_more_than_its_length(span):
    with pytest.raises(ValueError, match="span must be at least 0 and less than the length of the chain, 1 m, got"):
        hanging_chain(span=span)


@EVERYWHERE
def test_distance_joint_is_a_pendulum_rod(place):
    scene = ss.Scene(dim=3)
    bob = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    scene.add_distance(None, bob, at_a=(0, 0, 0), at_b=(1, 0, 0))
    trajectory = place.simulate(scene, dt=1e-3, t_end=1.0)
    exact = swing(G, math.pi / 2, 1.0)
    x = bob.path(trajectory)[-1]
    assert math.atan2(x[0], -x[2]) == pytest.approx(exact[0], abs=2e-5)


@pytest.mark.slow
def test_spring_driven_body_force_and_lives():
    scene = ss.Scene(dim=2, gravity=0.0)
    mass = scene.add_body(ss.Circle(0.1), mass=2.0, position=(1.5, 0))
    scene.add_spring(None, mass, (0, 0), (1.5, 0), stiffness=50.0, length=1.0)
    pushed = scene.add_body(ss.Circle(0.1), mass=2.0, position=(5, 0))
    scene.add_force(pushed, force=lambda t, x, v: (0.0, 6.0 * t))
    cart = scene.add_driven(ss.Circle(0.2), position=(9, 0), motion=lambda t: ((0.0, math.cos(2 * t)), 0.5))
    guest = scene.add_body(ss.Circle(0.1), mass=1.0, position=(20, 0), velocity=(1, 0), appears=0.5, vanishes=1.0)
    trajectory = scene.simulate(dt=1e-3, t_end=2.0)
    assert mass.path(trajectory)[-1, 0] == pytest.approx(1 + 0.5 * math.cos(5 * 2.0), abs=1e-5)
    assert pushed.path(trajectory)[-1, 1] == pytest.approx(0.5 * 2.0**3, rel=2e-3)  # x'' = 3 t
    assert cart.path(trajectory)[-1, 1] == pytest.approx(0.5 * math.sin(4.0), abs=1e-6)
    assert cart.turning(trajectory)[-1] == pytest.approx(1.0, abs=1e-12)
    x = guest.path(trajectory)[:, 0]
    assert x[500] == 20.0 and x[1000] == pytest.approx(20.5, abs=1e-9) and x[-1] == x[1000]


def sprung(stiffness, start, dt, t_end, theta):
    """Lengths over time of a spring that pulls 2 kg, let go at length `start`; 1 m without force."""
    scene = ss.Scene(dim=2, gravity=0.0)
    mass = scene.add_body(ss.Circle(0.1), mass=2.0, position=(start, 0))
    scene.add_spring(None, mass, (0, 0), (start, 0), stiffness=stiffness, length=1.0)
    trajectory = scene.simulate(dt=dt, t_end=t_end, stepper=ss.MoreauJean(theta=theta))
    assert trajectory.certificate.failed_steps == 0
    assert trajectory.certificate.max_energy_gain < 1e-12  # the spring's work is no gain
    return mass.path(trajectory)[:, 0], trajectory


@pytest.mark.slow
def test_implicit_springs_are_of_order_two_and_may_be_stiff():
    errors = [abs(sprung(50.0, 1.5, dt, 2.0, 0.5)[0][-1] - 1 - 0.5 * math.cos(10.0)) for dt in (4e-3, 2e-3)]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)
    # omega dt = 22: a force of the state before would explode
    x, trajectory = sprung(1e9, 1.001, 1e-3, 0.1, 0.5)
    assert np.abs(x - 1).max() == pytest.approx(1e-3, rel=1e-9)
    assert trajectory.energy.total[-1] == pytest.approx(trajectory.energy.total[0], rel=1e-6)
    x, _ = sprung(1e9, 1.001, 1e-3, 0.1, 1.0)
    assert abs(x[-1] - 1) < 1e-12


@pytest.mark.slow
def test_stiff_spring_presses_a_body_to_the_floor():
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0, 1)), friction=0.5)
    mass = scene.add_body(ss.Circle(0.1), mass=2.0, position=(0, 0.1))
    scene.add_spring(None, mass, (0, 1.1), (0, 0.1), stiffness=1e7, damping=1e3, length=1.0001)
    trajectory = scene.simulate(dt=1e-3, t_end=0.1, every=100, stepper="moreau-jean")
    assert trajectory.normal_impulse[-1, 0] == pytest.approx(0.1 * (2 * G + 1e7 * 1e-4), rel=1e-9)
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-9


@pytest.mark.parametrize("drive", ["motor", "velocity", "torque"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_no_drive_leaps_over_the_limit_that_is_as_far_or_farther(drive, side):
    """The nearer limit has the row of a step, unless the step leads past the other one."""
    scene = ss.Scene(dim=2, gravity=0.0)
    start = {"angular_velocity": 700.0 * side, "velocity": (0.0, 350.0 * side)} if drive == "velocity" else {}
    arm = scene.add_body(ss.Polygon.rectangle(1.0, 0.1), mass=1.0, position=(0.5, 0.0), **start)
    limits = (-0.45, 0.5) if side > 0.0 else (-0.5, 0.45)
    scene.add_revolute(None, arm, (0, 0), limits=limits, armature=0.1 if drive == "torque" else 0.0, name="hinge")
    sim, most = ss.Simulator(scene, dt=1e-3), 0.0
    if drive == "motor":
        sim.joint("hinge").motor = ss.Motor(target=3.0 * side, stiffness=1e6)
    elif drive == "torque":
        sim.joint("hinge").torque = 3e6 * side
    for _ in range(20):
        sim.step()
        most = max(most, side * sim.joint("hinge").coordinate)
    assert most == pytest.approx(0.5, abs=1e-9)
