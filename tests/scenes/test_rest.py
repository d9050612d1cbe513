"""Scenes come to rest exactly, steps at rest are repeated with equal bits, and what rest must not hold goes on."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.run.driver import march
from stickslip.run.records import Store
from stickslip.run.scene_simulate import prepare_run

G = 9.81


def floor(dim=3, friction=0.5):
    scene = ss.Scene(dim=dim)
    scene.add_static(ss.HalfSpace((0, 0, 1)) if dim == 3 else ss.HalfPlane((0, 1)), friction=friction)
    return scene


def stack():
    scene = floor()
    for k in range(5):
        scene.add_body(ss.Box((1, 1, 1)), mass=1.0 + k, position=(0.01 * k, 0, 0.5 + k), friction=0.5)
    return scene


def tossed():
    """A plate that is thrown, lands on a slope, slides and stays."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((math.sin(0.3), 0.1, math.cos(0.3))), friction=0.6)
    scene.add_body(
        ss.Box((0.3, 0.2, 0.1)), mass=2.0, position=(0, 0, 0.3), velocity=(0.5, 0.2, 0), angular_velocity=(3, 1, 2),
        friction=0.6, restitution=0.3,
    )  # fmt: skip
    return scene


def in_the_plane():
    scene = floor(2)
    for k in range(4):
        scene.add_body(ss.Polygon.rectangle(1, 1), mass=1.0, position=(0.05 * k, 0.6 + 1.01 * k), friction=0.5)
    return scene


def with_joints():
    """A body on two legs with springy hinges, which stands, and a pendulum with dry friction beside it."""
    scene = floor(friction=0.8)
    trunk = scene.add_body(ss.Box((0.6, 0.4, 0.1)), mass=5.0, position=(0, 0, 0.75), friction=0.8)
    for x in (-0.25, 0.25):
        leg = scene.add_body(ss.Box((0.1, 0.4, 0.7)), mass=0.5, position=(x, 0, 0.35), friction=0.8)
        hinge = scene.add_revolute(trunk, leg, (x, 0, 0.7), axis=(0, 1, 0), limits=(-0.05, 0.05))
        assert hinge is not None
    return scene


def pushed_late():
    """A table that rests until the plate below it, whose motion is a function of time, begins to move."""
    scene = ss.Scene(dim=3)
    plate = ss.Box((4, 4, 0.2))
    scene.add_driven(
        plate, position=(0, 0, -0.1), motion=lambda t: ((max(0.0, t - 0.3), 0, 0), (0, 0, 0)), friction=0.4
    )
    scene.add_body(ss.Box((1, 1, 0.5)), mass=1.0, position=(0, 0, 0.25), friction=0.4)
    return scene


def comes_and_goes():
    """A box at rest on which another one appears; the one below it vanishes later."""
    scene = floor()
    scene.add_body(ss.Box((1, 1, 0.2)), mass=1.0, position=(0, 0, 0.1), friction=0.5, vanishes=0.4)
    scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.7), friction=0.5)
    scene.add_body(ss.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 1.3), friction=0.5, appears=0.2)
    return scene


def run(make, repeat, t_end=0.6, tol=1e-8):
    """A motion, with or without steps that are repeated; the trajectory and all arrays of the engine."""
    prepared = prepare_run(make(), 1e-3, t_end, every=7, tol=tol, on_failure="continue")
    engine = prepared.engine
    engine.options = engine.options._replace(repeat=repeat)
    store = Store(prepared)
    status, complete = march(prepared, store, lambda step: None)
    trajectory = store.finish(status, complete, 0.0)
    assert trajectory.complete and trajectory.certificate.failed_steps == 0
    return trajectory, engine.snapshot()


ALL = [stack, tossed, in_the_plane, with_joints, pushed_late, comes_and_goes]


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_steps_that_are_repeated_have_the_bits_of_steps_that_are_computed(make):
    t_end = 1.0 if make is tossed else 0.6
    (quick, arrays), (slow, others) = run(make, True, t_end), run(make, False, t_end)
    for name, array in others.items():
        assert np.array_equal(arrays[name], array, equal_nan=array.dtype.kind == "f"), name
    for name in ("t", "q", "u", "normal_impulse", "tangential_impulse", "contact_state", "gap"):
        assert np.array_equal(getattr(quick, name), getattr(slow, name)), name
    assert np.array_equal(quick.energy.total, slow.energy.total)
    assert quick.certificate == slow.certificate
    still = [np.array_equal(a, b) for a, b in zip(quick.q[:-1], quick.q[1:], strict=True)]
    assert sum(still) > 10, "nothing rests"


@pytest.mark.parametrize("make", [stack, tossed, in_the_plane, with_joints], ids=lambda make: make.__name__)
def test_what_comes_to_rest_has_no_velocity_and_loads_that_balance(make):
    trajectory, _ = run(make, True, t_end=1.5)
    assert np.all(trajectory.u[-1] == 0.0) and np.array_equal(trajectory.q[-1], trajectory.q[-2])
    loads = trajectory.normal_impulse  # of 7 steps each, but for the last
    assert np.array_equal(loads[-2], loads[-3]) and np.any(loads[-2] > 0.0)
    assert trajectory.certificate.max_residual <= 1e-8


def brick_on_slope(excess, far, tilt=0.4):
    scene = ss.Scene(dim=3)
    n, mu = np.array([math.sin(tilt), 0, math.cos(tilt)]), math.tan(tilt) * (1 - excess)
    place = far * np.array([1.0, -0.3, 0.2])
    scene.add_static(ss.HalfSpace(tuple(n), offset=float(n @ place)), friction=mu)
    turn = (math.cos(tilt / 2), 0, math.sin(tilt / 2), 0)
    scene.add_body(ss.Box((1, 1, 0.5)), mass=3.0, position=tuple(place + 0.25 * n), orientation=turn, friction=mu)
    return scene


@pytest.mark.parametrize("far", [0.0, 1e3, 1e5])
@pytest.mark.parametrize("excess", [1e-9, -1e-9, 1e-6])
def test_a_brick_just_above_its_slip_angle_slides(excess, far):
    made = brick_on_slope(excess, far).simulate(t_end=0.5, dt=1e-3, tol=1e-10, overlap="keep")
    speed, exact = np.linalg.norm(made.u[-1]), max(0.0, 0.5 * G * math.sin(0.4) * excess)
    assert abs(speed - exact) <= 2e-3 * exact


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_slow_motions_that_nothing_holds_go_on(far):
    """Without friction and without weight, and a pendulum at the lowest point of a swing of 1e-9."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.0)
    scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(far, 0, 0.5), velocity=(3e-9, 0, 0), friction=0.0)
    slid = scene.simulate(t_end=0.5, dt=1e-3, tol=1e-8)
    assert slid.u[-1][0] == 3e-9
    scene = ss.Scene(dim=3, gravity=(0, 0, 0))
    scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(far, 0, 0.5), velocity=(1e-15, 0, 0))
    assert scene.simulate(t_end=0.5, dt=1e-3).u[-1][0] == 1e-15
    scene = ss.Scene(dim=2)
    rod = scene.add_body(
        ss.Polygon.rectangle(0.1, 1), mass=1.0, position=(far, -0.5), angular_velocity=1e-9, velocity=(5e-10, 0)
    )
    scene.add_revolute(None, rod, (far, 0))
    swing = scene.simulate(t_end=2.0, dt=1e-3, tol=1e-8).u[:, 2]
    assert swing.max() > 0.9e-9 and swing.min() < -0.9e-9


def test_a_body_at_rest_moves_as_soon_as_something_pushes_it():
    box = floor()
    body = box.add_body(ss.Box((1, 1, 1)), mass=2.0, position=(0, 0, 0.5), friction=0.5)
    simulator = ss.Simulator(box, dt=1e-3, tol=1e-8)
    simulator.step(300)
    assert np.all(simulator.u == 0.0)
    before = simulator.q.copy()
    handle = simulator.body(body)
    handle.force = (0.5 * 2.0 * G * (1 + 1e-6), 0, 0)
    simulator.step(100)
    assert abs(simulator.u[0] - 0.1 * 0.5 * G * 1e-6) <= 1e-3 * 0.1 * 0.5 * G * 1e-6
    handle.force = (0, 0, 0)
    simulator.step(100)
    assert np.all(simulator.u == 0.0) and simulator.q[0] > before[0]
    simulator.gravity = (0, 0, 1.0)
    simulator.step(100)
    assert abs(simulator.u[2] - 0.1) <= 1e-12


def test_steps_one_by_one_have_the_bits_of_a_run():
    simulator = ss.Simulator(stack(), dt=1e-3, tol=1e-8)
    for _ in range(200):
        simulator.step()
    other = ss.Simulator(stack(), dt=1e-3, tol=1e-8)
    other.step(200)
    assert np.array_equal(simulator.q, other.q) and np.array_equal(simulator.u, other.u)
