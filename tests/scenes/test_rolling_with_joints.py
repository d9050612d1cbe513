"""Rolling resistance and drilling friction of bodies that joints hold, against closed forms."""

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import Place

G = 9.81


def car(dim, wheels, rolling=2e-3, friction=0.5, speed=2.0, patch=0.0):
    """A chassis of 10 kg on wheels of 1 kg and 0.1 m that roll."""
    scene, zero = ss.Scene(dim=dim), (0.0,) * (dim - 2)
    scene.add_static(ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)), friction=friction)
    box = ss.Polygon.rectangle(1.0, 0.1) if dim == 2 else ss.Box((1.0, 0.4, 0.1))
    chassis = scene.add_body(box, mass=10.0, position=(0, *zero, 0.25), velocity=(speed, *zero, 0))
    for place in wheels:
        at = (*place, 0.1)
        wheel = scene.add_body(
            ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1), mass=1.0, position=at, velocity=(speed, *zero, 0),
            angular_velocity=-speed / 0.1 if dim == 2 else (0, speed / 0.1, 0), rolling=rolling, patch=patch,
        )  # fmt: skip
        scene.add_revolute(chassis, wheel, at=at, **({} if dim == 2 else {"axis": (0, 1, 0)}))
    return scene, chassis


PLANE, THREE = [(-0.4,), (0.4,)], [(-0.4, -0.3), (-0.4, 0.3), (0.4, 0.0)]
FOUR = [(x, y) for x in (-0.4, 0.4) for y in (-0.3, 0.3)]


def braking(dim, wheels):
    """Deceleration of the car: rho / r of its weight, and the inertia of its wheels."""
    n, share = len(wheels), 0.5 if dim == 2 else 0.4
    return 2e-3 / 0.1 * (10 + n) * G / (10 + n + n * share)


@pytest.mark.parametrize(("dim", "wheels"), [(2, PLANE), pytest.param(3, THREE, marks=pytest.mark.slow), (3, FOUR)])
def test_a_car_rolls_to_rest(dim, wheels):
    scene, chassis = car(dim, wheels, speed=0.2)
    a = braking(dim, wheels)
    run = scene.simulate(dt=4e-3, t_end=1.2)
    assert run.certificate.failed_steps == 0 and 0.2 / a < 1.15
    assert chassis.path(run)[-1, 0] == pytest.approx(0.2**2 / (2 * a), abs=2e-5)
    moving = run.t < 0.2 / a - 0.01
    assert np.abs(chassis.velocities(run)[moving, 0] - 0.2 + a * run.t[moving]).max() < 1e-6
    assert np.abs(run.u[-1]).max() < 1e-9


def test_a_car_holds_on_a_slope_up_to_its_resistance():
    for tilt, rests in ((0.019, True), (0.021, False)):
        scene, chassis = car(2, PLANE, speed=0.0)
        scene.gravity = np.array([G * np.sin(tilt), -G * np.cos(tilt), 0.0])
        run = scene.simulate(dt=5e-3, t_end=1.0)
        pull = 12 * G * (np.sin(tilt) - 0.02 * np.cos(tilt)) / (12 + 2 * 0.5)
        assert chassis.velocities(run)[-1, 0] == pytest.approx(0.0 if rests else pull, abs=1e-7)


@pytest.mark.parametrize("place", [Place(1e5, 0.7), Place(0.0, 2.0)], ids=str)
def test_a_car_elsewhere(place):
    scene, chassis = car(3, THREE, speed=0.2)
    run = place.simulate(scene, dt=4e-3, t_end=0.4)
    a = braking(3, THREE)
    assert run.certificate.failed_steps == 0
    assert chassis.path(run)[-1, 0] == pytest.approx(0.2 * 0.4 - a * 0.08, abs=1e-6)


@pytest.mark.parametrize("dt", [4e-3, pytest.param(1e-3, marks=pytest.mark.slow)])
def test_an_edge_mill_presses_by_its_spin(dt):
    """A ball that an arm leads round a post: its spin, turned round, adds J v^2 / (r L^2) to the load.

    The pivot is on the ground, where friction across the way has no moment; masses at the height r go outwards.
    """
    L, r, m, rod, rho, v0 = 0.5, 0.1, 2.0, 0.3, 2e-3, 1.5
    J = 0.4 * m * r * r
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.8)
    own = np.diag([1e-4, rod * L * L / 12, rod * L * L / 12])
    arm = scene.add_body(
        ss.Compound([(ss.Sphere(0.01), (0, 0, 0))]), mass=rod, inertia=own,
        centre_of_mass=(0, 0, 0), position=(L / 2, 0, r), velocity=(0, v0 / 2, 0), angular_velocity=(0, 0, v0 / L),
    )  # fmt: skip
    ball = scene.add_body(
        ss.Sphere(r),
        mass=m,
        position=(L, 0, r),
        velocity=(0, v0, 0),
        angular_velocity=(-v0 / r, 0, v0 / L),
        rolling=rho,
    )
    scene.add_universal(None, arm, at=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 1, 0))
    scene.add_revolute(arm, ball, at=(L, 0, r), axis=(1, 0, 0))
    run = scene.simulate(dt=dt, t_end=1.0, contacts=True)
    A, B = (m + rod / 2) * G, J / (r * L * L) + (m + rod / 2) * r / (L * L)
    inertia = m + J / r**2 + J / L**2 + rod / 3
    speed = np.sqrt(A / B) * np.tan(np.arctan(v0 * np.sqrt(B / A)) - rho / r * np.sqrt(A * B) / inertia * run.t)
    found = np.linalg.norm(ball.velocities(run), axis=1)
    assert run.certificate.failed_steps == 0
    assert np.abs(found - speed).max() < 30 * dt * dt
    load = run.contacts().at(run.t[-1])["normal_impulse"].sum() / dt
    assert load == pytest.approx(A + B * speed[-1] ** 2, abs=2e-2)


@pytest.mark.parametrize("torque", [0.05, 0.3])
def test_a_foot_that_may_not_spin(torque):
    """A flywheel on a foot with a patch: the foot stands up to 2/3 mu N R, and turns with the rest of the torque."""
    R, mu = 0.03, 0.4
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu)
    foot = scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), patch=R)
    wheel = scene.add_body(ss.Sphere(0.05), mass=0.5, inertia=np.diag([0.01, 0.01, 0.02]), position=(0, 0, 0.3))
    scene.add_revolute(foot, wheel, at=(0, 0, 0.2), axis=(0, 0, 1), torque=torque)
    run = scene.simulate(dt=2e-3, t_end=0.2)
    hold = 2 / 3 * mu * 1.5 * G * R
    turned = max(0.0, torque - hold) / 0.004 * 0.2
    assert run.certificate.failed_steps == 0
    assert foot.spin(run)[-1] == pytest.approx([0, 0, -turned], abs=1e-6)
    assert wheel.spin(run)[-1] == pytest.approx([0, 0, torque / 0.02 * 0.2], abs=1e-6)


def test_motors_limits_and_springs_beside_rolling_resistance():
    """A driven car: its motors hold the speed with the effort of the resistance; a limit and a spring take part."""
    scene, chassis = car(2, PLANE, speed=0.5)
    scene.joints.clear()
    wheels = [body for body in scene.bodies if body.name.startswith("circle")]
    for k, wheel in enumerate(wheels):
        motor = {"motor": (-5.0, 4.0)} if k == 0 else {"armature": 0.02, "damping": 0.01}
        scene.add_revolute(chassis, wheel, at=tuple(wheel.position[:2]), name=f"axle{k}", **motor)
    sim = ss.Simulator(scene, dt=2e-3)
    sim.run(1.0)
    weight, spin = 12 * G, 5.0
    assert chassis_speed(sim) == pytest.approx(0.5, abs=1e-9)
    assert abs(sim.joint("axle0").motor_effort) == pytest.approx(2e-3 * weight + 0.01 * spin, abs=1e-6)


def chassis_speed(sim):
    return float(sim.u[0])
