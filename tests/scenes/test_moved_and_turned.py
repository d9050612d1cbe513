"""Scenes elsewhere: stacks, ramps, balls that roll and cubes that stick, far away and turned by odd angles."""

import math

import numpy as np
import pytest

import stickslip as ss
from tests.elsewhere import EVERYWHERE, FAR, HOME, QUICK, Place

G = 9.81


def floor(dim: int, slope: float, friction: float) -> ss.Scene:
    """A floor whose normal is the last axis, tilted by `slope` about the one before."""
    down = np.zeros(dim)
    down[0], down[-1] = math.sin(slope), -math.cos(slope)
    scene = ss.Scene(dim=dim, gravity=tuple(G * down))
    scene.add_static(ss.HalfPlane((0, 1)) if dim == 2 else ss.HalfSpace((0, 0, 1)), friction=friction)
    return scene


def block(dim: int, width: float) -> ss.Polygon | ss.Box:
    """A block 0.2 m high."""
    return ss.Polygon.rectangle(width, 0.2) if dim == 2 else ss.Box((width, 0.2, 0.2))


def check(place, scene, bodies, exact, slip_error, t_end):
    """The bodies follow `exact`, one function of time each, and none loses its load, not for a single step."""
    run = place.simulate(scene, dt=1e-3, t_end=t_end)
    assert run.complete and run.certificate.failed_steps == 0
    away = place.rounding(run)
    for body, path in zip(bodies, exact, strict=True):
        assert np.abs(body.path(run) - path(run.t)).max() <= 1e-11 + slip_error + away
    loaded = run.normal_impulse[1:] > 0.0
    assert loaded.shape[1] == len(bodies) and loaded.all()
    # a corner whose load comes back may be listed, with what the last digits of the coordinates move it by in a step
    digits = 20 * 2.0**-52 * max(1.0, place.distance)
    assert (np.abs(run.impacts()["normal_velocity_before"]) <= digits / run.dt).all()


def still(*position):
    return lambda t: np.tile(position, (len(t), 1))


def along(x_of_t, *rest):
    return lambda t: np.column_stack([x_of_t(t), *(np.full_like(t, r) for r in rest)])


def resting(dim, height):
    return (*[0.0] * (dim - 1), height)


def stack(dim):
    scene = floor(dim, 0.0, 0.5)
    places = [resting(dim, h) for h in (0.1, 0.3, 0.5)]
    bodies = [scene.add_body(block(dim, 0.2), mass=1.0, position=place) for place in places]
    return scene, bodies, [still(*place) for place in places], 0.0


def sticking_cube(dim):
    scene, place = floor(dim, 0.45, 0.5), resting(dim, 0.1)  # atan(0.5) = 0.4636
    return scene, [scene.add_body(block(dim, 0.3), mass=1.0, position=place)], [still(*place)], 0.0


def sliding_cube(dim):
    scene, place = floor(dim, 0.4, 0.3), resting(dim, 0.1)
    a = G * (math.sin(0.4) - 0.3 * math.cos(0.4))
    body = scene.add_body(block(dim, 0.3), mass=1.0, position=place)
    return scene, [body], [along(lambda t: a * t**2 / 2, *place[1:])], 0.0


def rolling_ball(dim):
    scene, place = floor(dim, 0.3, 0.5), resting(dim, 0.1)
    ball, share = (ss.Sphere(0.1), 1.4) if dim == 3 else (ss.Circle(0.1), 1.5)
    a = G * math.sin(0.3) / share
    body = scene.add_body(ball, mass=1.0, position=place)
    return scene, [body], [along(lambda t: a * t**2 / 2, *place[1:])], 0.0


def thrown_ball(dim):
    """A ball or disc slides until t = v / (mu g (1 + 1 / k)), k = 2/5 or 1/2, then rolls; t holds to half a step."""
    mu, v = 0.2, 1.0
    scene, place = floor(dim, 0.0, mu), resting(dim, 0.1)
    ball, k = (ss.Sphere(0.1), 0.4) if dim == 3 else (ss.Circle(0.1), 0.5)
    end = v / (mu * G * (1 + 1 / k))

    def x(t):
        s = np.minimum(t, end)
        return v * s - mu * G * s**2 / 2 + (v - mu * G * end) * (t - s)

    body = scene.add_body(ball, mass=1.0, position=place, velocity=(v, *[0.0] * (dim - 1)))
    return scene, [body], [along(x, *place[1:])], 0.5 * mu * G * 1e-6 * 4


SCENES = [stack, sticking_cube, sliding_cube, rolling_ball, thrown_ball]


@pytest.mark.parametrize("build", SCENES)
@pytest.mark.parametrize("dim", [2, 3])
def test_scene_elsewhere(dim, build):
    check(QUICK, *build(dim), t_end=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("place", [HOME, *FAR], ids=str)
@pytest.mark.parametrize("build", SCENES)
@pytest.mark.parametrize("dim", [2, 3])
def test_scene_everywhere(dim, build, place):
    check(place, *build(dim), t_end=1.0)


def rounded_box(slope, friction):
    scene, place = floor(3, slope, friction), resting(3, 0.1)
    a = max(0.0, G * (math.sin(slope) - friction * math.cos(slope)))
    body = scene.add_body(ss.RoundedBox((0.3, 0.25, 0.2), 0.03), mass=1.0, position=place)
    return scene, [body], [along(lambda t: a * t**2 / 2, *place[1:])], 0.0


@EVERYWHERE
@pytest.mark.parametrize(("slope", "friction"), [(0.45, 0.5), (0.4, 0.3)], ids=["sticks", "slides"])
def test_rounded_box(place, slope, friction):
    """It sticks and slides as a block does, and stands on its four corners, each of them one point."""
    scene, *rest = rounded_box(slope, friction)
    check(place, scene, *rest, t_end=place.span(0.2, 0.05))
    sim = ss.Simulator(scene, dt=1e-3)
    sim.step()
    assert len(sim.contacts()["gap"]) == 4


def landing(shape, seed, tumbles, fall=None):
    """A body of random size that lands: one that tumbles, or one nearly upright that falls by `fall` [m]."""
    rng, scene = np.random.default_rng(seed), ss.Scene()
    size = rng.uniform(0.1, 0.4, 3)
    surface = {"friction": float(rng.choice([0.0, 0.2, 0.5, 1.0])), "restitution": float(rng.choice([0, 0, 0.3, 0.6]))}
    scene.add_static(ss.HalfSpace((0, 0, 1)), **surface)
    turn, place = np.array([1.0, 0.0, 0.0, 0.0]), (0, 0, 0.12 if fall is None else 0.5 * size[2] + fall)
    if tumbles:
        turn, place = rng.standard_normal(4), (0, 0, 0.35)
        v, w = rng.uniform(-1, 1, 3), rng.uniform(-5, 5, 3)
    else:
        v, w = (*rng.uniform(-1, 1, 2), 0.0), (*rng.uniform(-0.5, 0.5, 2), rng.uniform(-5, 5))
    turn = turn / np.linalg.norm(turn)
    body = scene.add_body(
        shape(size), mass=10 ** rng.uniform(-1, 1), position=place, orientation=turn, velocity=v, angular_velocity=w,
        **surface,
    )  # fmt: skip
    return scene, body


@pytest.mark.parametrize(
    ("shape", "seed", "t_end"),
    [
        # whether a point of the rim was in reach followed the axes, and a load was forgotten with it: 1.9e-4, 3e-5 m
        (lambda size: ss.Cone(size[0] / 2, size[1]), 7, 0.4),
        (lambda size: ss.Cone(size[0] / 2, size[1]), 28, 0.3),
        # Newton's alpha depended on the axes, and the share of the load with it: 8e-7 m
        (ss.Box, 2, 0.8),
    ],
    ids=["cone 7", "cone 28", "box"],
)
def test_axes_do_not_decide_how_a_body_lands(shape, seed, t_end):
    scene, body = landing(shape, seed, tumbles=shape is ss.Box)
    home, turned = (place.simulate(scene, held=False, dt=1e-3, t_end=t_end) for place in (HOME, Place(0.0, 1.234)))
    assert home.normal_impulse.any()
    np.testing.assert_allclose(body.path(turned), body.path(home), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "seed", "place", "t_end"),
    [
        # A fourth point came down to the gap that counts as closed, and rounding told whether it was: 2.1e-7, 1.6e-8 m.
        (lambda size: ss.RoundedBox(tuple(size), 0.15 * min(size)), 29, Place(1e3, 1.234), 0.28),
        (lambda size: ss.RoundedBox(tuple(size), 0.15 * min(size)), 51, Place(1e3, 1.234), 0.2),
        # The same of whether a rim bounces with 6e-8 m/s: 1.4e-6 m.
        (lambda size: ss.Cone(size[0] / 2, size[1]), 26, Place(1e3, 0.0), 0.2),
        # One of four points that were struck at once rose by 1e-8 m/s, and another lost its load: 3e-6 m.
        (lambda size: ss.Cone(size[0] / 2, size[1]), 41, Place(0.0, 1.234), 0.24),
        # Two points above the others had gaps that differ by rounding: 4.5e-9 m.
        (ss.Box, 18, Place(0.0, 1.234), 0.2),
        # A load of 4e-12 N s, where none was, told whether the next step is a blow: 9e-9 m.
        (ss.Box, 2, Place(0.0, 1.234), 0.15),
    ],
    ids=["rounded box 29", "rounded box 51", "cone 26", "cone 41", "box 18", "box 2"],
)
def test_rounding_does_not_choose_the_points_that_carry_a_body(shape, seed, place, t_end):
    scene, body = landing(shape, seed, tumbles=False, fall=0.03)
    home, there = (each.simulate(scene, held=False, dt=1e-3, t_end=t_end) for each in (HOME, place))
    assert home.normal_impulse.any()
    np.testing.assert_allclose(body.path(there), body.path(home), rtol=0.0, atol=2e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_forces_that_are_functions_of_place_and_velocity_elsewhere(dim):
    """A damped spring to the origin, and a torque that follows the place, both as functions."""
    scene = ss.Scene(dim=dim, gravity=0.0)
    ball = scene.add_body(
        ss.Circle(0.1) if dim == 2 else ss.Sphere(0.1),
        mass=2.0,
        position=(1.0, 0.3, -0.2)[:dim],
        velocity=(0, 1, 0.5)[:dim],
    )

    def twist(t, x, v):
        return 0.01 * x[0] if dim == 2 else 0.01 * np.cross(x, v)

    scene.add_force(ball, force=lambda t, x, v: -50.0 * x - 0.4 * v + 2.0 * t, torque=twist)
    home, away = (place.simulate(scene, dt=1e-3, t_end=0.5) for place in (HOME, QUICK))
    assert np.abs(ball.path(home)[-1] - ball.path(home)[0]).max() > 0.3
    np.testing.assert_allclose(away.q, home.q, atol=1e-9)  # 1e3 m away positions have 13 digits
    np.testing.assert_allclose(away.u, home.u, atol=1e-9)
