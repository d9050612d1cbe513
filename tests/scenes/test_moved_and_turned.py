"""Scenes elsewhere: stacks, ramps, balls that roll and cubes that stick, far away and turned by odd angles."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.shapes import rotation_matrix

G = 9.81
PLACES = [(0.0, 0.0), (1.0, 0.3), (1e3, 1.234), (1e5, 2.1)]
"""Distance [m] and angle [rad] of the moves; the first is none."""
AXIS = np.array([2.0, -1.0, 0.5]) / math.sqrt(5.25)
AWAY = np.array([0.6, -0.64, 0.48])


@dataclass(frozen=True)
class Frame:
    """A frame that is moved by `distance` and turned by `angle` about an odd axis; dim 2 turns in the plane."""

    dim: int
    distance: float
    angle: float

    @property
    def turn(self) -> np.ndarray:
        c, s = math.cos(self.angle), math.sin(self.angle)
        return np.array([[c, -s], [s, c]]) if self.dim == 2 else rotation_matrix(self.orientation)

    @property
    def orientation(self):
        if self.dim == 2:
            return self.angle
        return (math.cos(self.angle / 2), *(math.sin(self.angle / 2) * AXIS))

    @property
    def origin(self) -> np.ndarray:
        return self.distance * AWAY[: self.dim]

    def scene(self, slope: float, friction: float) -> ss.Scene:
        """A floor whose normal is the last axis of the frame, tilted by `slope` about the one before."""
        down = np.zeros(self.dim)
        down[0], down[-1] = math.sin(slope), -math.cos(slope)
        scene = ss.Scene(dim=self.dim, gravity=tuple(G * self.turn @ down))
        normal = self.turn[:, -1]
        half = ss.HalfPlane if self.dim == 2 else ss.HalfSpace
        scene.add_static(half(tuple(normal), offset=float(normal @ self.origin)), friction=friction)
        return scene

    def add(self, scene, shape, position, velocity=None):
        velocity = np.zeros(self.dim) if velocity is None else velocity
        return scene.add_body(
            shape,
            mass=1.0,
            position=tuple(self.origin + self.turn @ np.asarray(position, dtype=float)),
            velocity=tuple(self.turn @ np.asarray(velocity, dtype=float)),
            orientation=self.orientation,
        )

    def own(self, path: np.ndarray) -> np.ndarray:
        """Positions (n, dim) back in the frame."""
        return (path - self.origin) @ self.turn

    def rounding(self, steps: int) -> float:
        """What the last digits of coordinates and floor add up to over a number of steps."""
        return 2.0**-52 * max(1.0, self.distance) * 20 * math.sqrt(steps)


def check(frame, scene, bodies, exact, slip_error=0.0, t_end=0.3, dt=1e-3):
    """The bodies follow `exact`, one function of time each, and none loses its load, not for a single step."""
    trajectory = scene.simulate(dt=dt, t_end=t_end)
    assert trajectory.complete and trajectory.certificate.failed_steps == 0
    for body, path in zip(bodies, exact, strict=True):
        error = np.abs(frame.own(body.path(trajectory)) - path(trajectory.t)).max()
        assert error <= 1e-11 + slip_error + frame.rounding(trajectory.steps)
    loaded = trajectory.normal_impulse[1:] > 0.0
    assert loaded.shape[1] == len(bodies) and loaded.all()  # no opening, not for a single step
    # a corner whose load comes back may be listed, with what the last digits of the coordinates move it by in a step
    assert (np.abs(trajectory.impacts()["normal_velocity_before"]) <= frame.rounding(1) / dt).all()


def still(*position):
    return lambda t: np.tile(position, (len(t), 1))


def along(x_of_t, *rest):
    return lambda t: np.column_stack([x_of_t(t), *(np.full_like(t, r) for r in rest)])


def stack(frame):
    scene = frame.scene(0.0, 0.5)
    box = (
        ss.Box((0.2, 0.2, 0.2)) if frame.dim == 3 else ss.Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)])
    )
    heights = [0.1, 0.3, 0.5]
    places = [(*[0.0] * (frame.dim - 1), h) for h in heights]
    bodies = [frame.add(scene, box, place) for place in places]
    return scene, bodies, [still(*place) for place in places], 0.0


def sticking_cube(frame):
    scene = frame.scene(0.45, 0.5)  # atan(0.5) = 0.4636
    place = (*[0.0] * (frame.dim - 1), 0.1)
    box = (
        ss.Box((0.3, 0.2, 0.2))
        if frame.dim == 3
        else ss.Polygon([(-0.15, -0.1), (0.15, -0.1), (0.15, 0.1), (-0.15, 0.1)])
    )
    return scene, [frame.add(scene, box, place)], [still(*place)], 0.0


def sliding_cube(frame):
    scene = frame.scene(0.4, 0.3)
    place = (*[0.0] * (frame.dim - 1), 0.1)
    box = (
        ss.Box((0.3, 0.2, 0.2))
        if frame.dim == 3
        else ss.Polygon([(-0.15, -0.1), (0.15, -0.1), (0.15, 0.1), (-0.15, 0.1)])
    )
    a = G * (math.sin(0.4) - 0.3 * math.cos(0.4))
    return scene, [frame.add(scene, box, place)], [along(lambda t: a * t**2 / 2, *place[1:])], 0.0


def rolling_ball(frame):
    scene = frame.scene(0.3, 0.5)
    place = (*[0.0] * (frame.dim - 1), 0.1)
    ball, share = (ss.Sphere(0.1), 1.4) if frame.dim == 3 else (ss.Circle(0.1), 1.5)
    a = G * math.sin(0.3) / share
    return scene, [frame.add(scene, ball, place)], [along(lambda t: a * t**2 / 2, *place[1:])], 0.0


def thrown_ball(frame):
    """It slides until t = v / (mu g (1 + 1 / k)), k = 2/5 or 1/2, then rolls; half a step of that is uncertain."""
    mu, v = 0.2, 1.0
    scene = frame.scene(0.0, mu)
    place = (*[0.0] * (frame.dim - 1), 0.1)
    ball, k = (ss.Sphere(0.1), 0.4) if frame.dim == 3 else (ss.Circle(0.1), 0.5)
    end = v / (mu * G * (1 + 1 / k))

    def x(t):
        s = np.minimum(t, end)
        return v * s - mu * G * s**2 / 2 + (v - mu * G * end) * (t - s)

    body = frame.add(scene, ball, place, (v, *[0.0] * (frame.dim - 1)))
    return scene, [body], [along(x, *place[1:])], 0.5 * mu * G * 1e-6 * 4


SCENES = [stack, sticking_cube, sliding_cube, rolling_ball, thrown_ball]


@pytest.mark.parametrize("build", SCENES)
@pytest.mark.parametrize("dim", [2, 3])
def test_scene_elsewhere(dim, build):
    frame = Frame(dim, 1e3, 1.234)
    check(frame, *build(frame), t_end=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("distance", "angle"), PLACES)
@pytest.mark.parametrize("build", SCENES)
@pytest.mark.parametrize("dim", [2, 3])
def test_scene_everywhere(dim, build, distance, angle):
    frame = Frame(dim, distance, angle)
    check(frame, *build(frame), t_end=1.0)
