"""Derivatives of the time steps of scenes, against differences of runs, closed forms, and moved and turned scenes."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenario import SceneScenario
from tests.analysis.test_followed_steps import STEPPERS, stepped

G = 9.81


def on_floor(shape, z, velocity=(0, 0, 0), angular_velocity=(0, 0, 0), friction=0.3, restitution=None, **given):
    """One body above a half-space."""
    scene = ss.Scene(gravity=G)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction, restitution=restitution, name="floor")
    scene.add_body(
        shape, position=(0, 0, z), mass=2.0, velocity=velocity, angular_velocity=angular_velocity, name="body",
        **{"friction": friction, "restitution": restitution, **given},
    )  # fmt: skip
    return scene


def agrees(scene, names, dt, t_end, stepper="moreau-midpoint", share=1e-6):
    scenario = SceneScenario(scene, dt, t_end, "", "")
    found = ss.step_sensitivity(scenario, names, stepper=stepper)
    assert found.reliable, found.reason
    for j, name in enumerate(names):
        column = stepped(scenario, name, stepper, share)
        assert np.abs(found.end[:, j] - column).max() <= 1e-6 * max(np.abs(column).max(), 1e-2), (name, column)
    return found


def test_a_box_that_tumbles_and_bounces_agrees_with_differences_of_its_runs():
    scene = on_floor(ss.Box((1, 0.6, 0.4)), 0.7, (1, 0.3, -2), (1, 2, 3), restitution=0.5)
    found = agrees(scene, ["restitution", "body.size_x"], 0.025, 0.25)
    assert not found.converges and len(found.strikes) > 0


def test_a_cube_that_slides_to_rest_tends_to_the_motion():
    """x = v^2 / (2 mu g).  In n steps, dx/dv = (n - 1/2) dt and dx/dmu = -n (n - 1) / 2 g dt^2, n = v / (mu g dt)."""
    dt, cube = 0.05, on_floor(ss.Box((1, 1, 1)), 0.5, (1, 0, 0))
    found = ss.step_sensitivity(cube, ["body.vx", "friction"], dt=dt, t_end=0.4, every=50)
    assert found.reliable and found.converges and len(found.t) == 2
    n = np.ceil(1.0 / (0.3 * G * dt))
    assert found.end[0] == pytest.approx([(n - 0.5) * dt, -0.5 * n * (n - 1) * G * dt**2], rel=1e-8)
    motion = np.array([1.0 / (0.3 * G), -0.5 / (0.3**2 * G)])
    assert np.abs(found.end[0] - motion).max() < 4.0 * dt


def test_a_ball_that_slides_and_then_rolls():
    """Rolling, v = 5/7 v_0 + 2/7 r omega_0, whatever friction is."""
    ball = on_floor(ss.Sphere(0.5), 0.5, (2, 0, 0))
    found = ss.step_sensitivity(ball, ["body.vx", "body.wy", "friction"], dt=0.05, t_end=0.3)
    assert found.reliable and found.converges
    assert found.end[7] == pytest.approx([5 / 7, 1 / 7, 0], abs=1e-9)


def test_a_ball_that_bounces_has_the_derivative_of_its_steps():
    """dz/dh = 1 with held times of impacts, whatever the step is; the motion has another one."""
    ball = on_floor(ss.Sphere(0.5), 1.5, restitution=0.8)
    found = ss.step_sensitivity(ball, ["body.z", "restitution"], dt=0.04, t_end=0.6)
    assert found.reliable and not found.converges and len(found.strikes) == 1
    assert found.end[[2, 9], 0] == pytest.approx([1.0, 0.0], abs=1e-9)
    speed = found.trajectory.u[np.searchsorted(found.trajectory.t, found.strikes[0]) - 1, 2]
    assert found.end[9, 1] == pytest.approx(-speed, rel=1e-6)  # v+ = -e v-


def test_doubts_are_told():
    """How two legs share a load is open, and decides how a box that spins slows down; a ball just touches."""
    box = on_floor(ss.Box((1, 0.6, 0.4)), 0.2, (1, 0, 0), (0, 0, 1))
    found = ss.step_sensitivity(box, "body.vx", dt=0.02, t_end=0.04)
    assert not found.reliable and "share their load" in found.reason
    weightless = on_floor(ss.Sphere(0.5), 0.5)
    weightless.gravity[:] = 0.0
    found = ss.step_sensitivity(weightless, "body.vx", dt=0.02, t_end=0.04)
    assert not found.reliable and "just touch" in found.reason


def test_what_scenes_have_no_derivative_here_is_said():
    ball = on_floor(ss.Sphere(0.5), 0.5)
    rolling = on_floor(ss.Sphere(0.5), 0.5, rolling=0.01)
    bare = on_floor(ss.Sphere(0.5), 0.5, friction=0.0)
    for make, said in [
        (lambda: ss.step_sensitivity(ball, "body.vx", dt=0.01), "t_end must be given"),
        (lambda: ss.step_sensitivity(ball, "vx", dt=0.01, t_end=0.1), "wrt: unknown quantity 'vx'"),
        (lambda: ss.step_sensitivity(ball, ["body.x"] * 2, dt=0.01, t_end=0.1), "twice"),
        (lambda: ss.step_sensitivity(ball, [], dt=0.01, t_end=0.1), "at least one quantity"),
        (lambda: ss.step_sensitivity(ball, "body.x", stepper="paoli-schatzman", dt=0.01, t_end=0.1), "one of moreau"),
        (lambda: ss.step_sensitivity(ball, "body.x", dt=0.01, t_end=0.1, params={"g": 1}), "params are for mechanisms"),
        (lambda: ss.step_sensitivity(rolling, "body.vx", dt=0.01, t_end=0.1), "resistance to rolling"),
        (lambda: ss.step_sensitivity(bare, "friction", dt=0.01, t_end=0.1), "neighbours on both sides"),
        (lambda: ss.step_sensitivity(ball, "restitution", dt=0.01, t_end=0.1), "must be a number"),
    ]:
        with pytest.raises(ValueError, match=said):
            make()


def two_bodies(turn, shift):
    """A pebble that slides and is struck by a ball, in a scene that is turned and moved as a whole."""
    scene = ss.Scene(gravity=tuple(turn @ (0, 0, -G)))
    w = 0.5 * np.sqrt(1.0 + np.trace(turn))
    q = np.array(
        [w, *(np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (4 * w))]
    )

    def at(x, y, z):
        return turn @ (x, y, z) + shift

    floor = ss.HalfSpace(tuple(turn @ (0, 0, 1)), offset=float(shift @ turn[:, 2]))
    scene.add_static(floor, friction=0.3, name="floor")
    scene.add_body(
        ss.Ellipsoid((0.5, 0.3, 0.2)), position=at(0, 0, 0.2), orientation=q, mass=2.0, velocity=turn @ (1, 0, 0),
        friction=0.3, name="pebble",
    )  # fmt: skip
    scene.add_body(
        ss.Sphere(0.2), position=at(1.2, 0.05, 0.23), mass=1.0, velocity=turn @ (-2, 0, 0), friction=0.3,
        restitution=0.5, name="ball",
    )  # fmt: skip
    return scene


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS)
def test_moved_and_turned(stepper):
    """Derivatives of places and velocities turn with the scene."""
    a, b = np.cos(0.7), np.sin(0.7)
    turn = np.array([[a, -b, 0], [b, a, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, b, -a], [0, a, b]])
    shift = np.array([30.0, -20.0, 10.0])
    found = []
    for R, x in ((np.eye(3), np.zeros(3)), (turn, shift)):
        s = ss.step_sensitivity(two_bodies(R, x), ["pebble.mass", "ball.radius"], stepper=stepper, dt=0.01, t_end=0.5)
        parts = [s.end[k : k + 3] for k in (0, 7, 14, 17, 20, 23)]
        found.append(np.array([R.T @ part for part in parts]))
        assert s.reliable and len(s.strikes) > 0 and np.abs(found[-1]).max() > 0.1
    assert found[1] == pytest.approx(found[0], abs=1e-6 * np.abs(found[0]).max())


def fallen(seed):
    """One to three random bodies above a floor."""
    random = np.random.default_rng(seed)
    scene, mu, e = ss.Scene(gravity=G), float(random.uniform(0.1, 0.8)), float(random.choice([0.0, 0.3, 0.7]))
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=mu, restitution=e, name="floor")
    shapes = [
        ss.Sphere(0.3),
        ss.Box((0.6, 0.4, 0.3)),
        ss.Ellipsoid((0.4, 0.3, 0.2)),
        ss.RoundedBox((0.5, 0.4, 0.3), 0.05),
    ]
    for k in range(int(random.integers(1, 4))):
        q = random.normal(size=4)
        place = (*random.uniform(-0.3, 0.3, 2), 0.7 + 0.9 * k)
        scene.add_body(
            shapes[int(random.integers(len(shapes)))], position=place, orientation=q / np.linalg.norm(q),
            mass=float(random.uniform(0.5, 3.0)), velocity=random.normal(size=3),
            angular_velocity=2.0 * random.normal(size=3), friction=mu, restitution=e, name=f"b{k}",
        )  # fmt: skip
    return scene, [*(["restitution"] if e else []), "b0.vx", "b0.z", "b0.wy", "friction"]


@pytest.mark.slow
def test_random_scenes_agree_with_differences_of_their_runs():
    """Where the derivative is reliable, and where differences with two steps agree, so that no contact changes."""
    checked = 0
    for seed in range(12):
        scene, names = fallen(seed)
        scenario, stepper = SceneScenario(scene, 0.005, 0.7, "", ""), STEPPERS[seed % 3]
        found = ss.step_sensitivity(scenario, names, stepper=stepper, every=1000)
        for j, name in enumerate(names if found.reliable else ()):
            one, two = (stepped(scenario, name, stepper, share) for share in (1e-7, 3e-8))
            size = max(np.abs(one).max(), 1e-2)
            if np.abs(one - two).max() <= 2e-6 * size:
                assert np.abs(found.end[:, j] - one).max() <= 3e-6 * size, (seed, name)
                checked += 1
    assert checked >= 20


def hinged(friction=0.0, **options):
    """A bob on a hinge that begins level, without weight where `gravity` says so."""
    scene = ss.Scene(gravity=options.pop("gravity", 0.0))
    bob = scene.add_body(ss.Sphere(0.1), position=(1, 0, 0), mass=1.0, velocity=(0, 0, 0.3), name="bob")
    scene.add_revolute(None, bob, at=(0, 0, 0), axis=(0, 1, 0), friction=friction, name="hinge", **options)
    return scene


@pytest.mark.slow
def test_an_arm_that_comes_to_rest_has_velocities_without_derivatives():
    """It stops after omega^2 J / (2 M): dx/dv is 2 x / v, and nothing moves behind it."""
    found = ss.step_sensitivity(hinged(0.52), ["bob.vz", "hinge.friction"], dt=0.01, t_end=0.8)
    assert found.reliable, found.reason
    assert np.abs(found.trajectory.u[-1]).max() < 1e-12 and np.abs(found.u[-1]).max() < 1e-8
    way = found.trajectory["bob.z"][-1]
    assert found.end[2] == pytest.approx([2 * way / 0.3, -way / 0.52], rel=0.02)  # of the steps, dt is 0.01


def test_a_mass_without_effect_is_no_doubt():
    """A pendulum of one body swings alike with any mass, and strikes its limit alike."""
    found = ss.step_sensitivity(hinged(gravity=9.81, limits=(-0.5, 0.5)), ["bob.mass"], dt=0.005, t_end=0.6)
    assert found.reliable, found.reason
    assert np.all(found.end == 0.0)


def struck(joint):
    """A rod that falls flat onto a round support near its middle, which turns it far faster than it came."""
    scene = ss.Scene(dim=2, gravity=0.0)
    scene.add_static(ss.Circle(0.05), position=(0.1, -0.0623))
    corners = [(-0.5, -0.01), (0.5, -0.01), (0.5, 0.01), (-0.5, 0.01)]
    bar = scene.add_body(
        ss.Polygon(corners), mass=1.0, inertia=0.01, position=(0, 0), velocity=(0, -1), restitution=0.7, friction=0.0,
        name="bar",
    )  # fmt: skip
    if joint == "rope":
        scene.add_rope(None, bar, (0.5, -1.0), (0.5, 0.0), length=1.003)
    else:
        end = scene.add_body(ss.Circle(0.01), mass=1.0, position=(0.5, 0), velocity=(0, -1), name="end")
        limits = (-0.5, 3e-3) if joint == "one limit" else (-3e-3, 3e-3)
        scene.add_revolute(bar, end, at=(0.5, 0), limits=limits)
    return scene


@pytest.mark.slow
@pytest.mark.parametrize("joint", ["rope", "one limit", "two limits"])
def test_what_a_step_leaps_over_is_differentiated_or_told(joint):
    """These steps are solved again with a row more; the derivative broke off with an error."""
    scene, names = struck(joint), ["bar.vy", "bar.omega"]
    found = ss.step_sensitivity(scene, names, dt=1e-3, t_end=6e-3)
    if not found.reliable:
        assert joint != "rope" and "leapt over" in found.reason and np.all(np.isnan(found.end))
        return
    scenario = SceneScenario(scene, 1e-3, 6e-3, "", "")
    for j, name in enumerate(names):
        assert found.end[:, j] == pytest.approx(stepped(scenario, name, "moreau-midpoint", 1e-6), abs=3e-6), name
