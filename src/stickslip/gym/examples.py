"""Three environments that need exact contact: juggling, a walker on a slope, a box that is pushed along a path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import Array
from stickslip.drawing.primitives import Circle, Drawing, Primitive, line
from stickslip.gym.mechanism import MechanismEnv, MechanismVectorEnv
from stickslip.gym.scene import SceneEnv
from stickslip.gym.scenes import SceneVectorEnv
from stickslip.gym.task import Task
from stickslip.library.compass_gait import compass_gait
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario
from stickslip.scenes.joints import Motor
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Box, HalfSpace, Sphere


class Juggling(Task):
    """Keep a ball in the air, at a height of 1 m at its top, with a paddle that moves up and down.

    The ball's blows are instantaneous, with restitution 0.8; between them it flies freely.  The action is the
    acceleration of the paddle.  Observed: height and velocity of ball and paddle, the height that the ball lacks at its
    top, and this times its height and velocity.
    """

    g, top, reach, most = 9.81, 1.0, 0.5, 60.0
    dt, skip, horizon, observations = 1e-3, 10, 400, 7
    low, high = np.array([-1.0]), np.array([1.0])

    def __init__(self) -> None:
        y, s, v, w, F = sp.symbols("y s v w force")
        m, M, g = sp.symbols("m M g")
        system = LagrangianSystem.from_energies(
            [y, s],
            velocities=[v, w],
            kinetic=m * v**2 / 2 + M * w**2 / 2,
            potential=m * g * y,
            forces=[0, F],
            contacts=[Contact("paddle", gap=y - s, restitution_normal="restitution")],
            parameters={"m": 0.05, "M": 2.0, "g": self.g, "force": 0.0, "restitution": 0.8},
            positive=("m", "M", "g"),
            name="juggling",
            units={"y": "m", "s": "m", "v": "m/s", "w": "m/s", "force": "N"},
        )
        self.scenario = Scenario(
            system, np.array([0.8, 0.0]), np.zeros(2), self.dt, 4.0, "Juggling", "stickslip.gym",
            drawing=Drawing(_juggler, view=(-0.8, 0.8, -0.6, 1.4)),
        )  # fmt: skip

    def start(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        q = np.zeros((count, 2))
        q[:, 0] = rng.uniform(0.6, 0.9, count)
        return q, np.zeros((count, 2))

    def _lacks(self, q: Array, u: Array) -> Array:
        return np.asarray(self.top - q[:, 0] - u[:, 0] ** 2 / (2.0 * self.g))

    def observe(self, q: Array, u: Array) -> Array:
        e = self._lacks(q, u)
        return np.column_stack([q, u, e, e * q[:, 0], e * u[:, 0]])

    def drive(self, q: Array, u: Array, action: Array) -> Mapping[str, Array]:
        return {"force": 2.0 * self.most * action[:, 0]}

    def reward(self, q: Array, u: Array, action: Array) -> Array:
        return np.exp(-((self._lacks(q, u) / 0.2) ** 2)) - 0.01 * action[:, 0] ** 2

    def ended(self, q: Array, u: Array) -> np.ndarray:
        return np.asarray((np.abs(q[:, 1]) > self.reach) | (q[:, 0] > 3.0))


def _juggler(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The ball, which is a point, drawn on top of its place, and the paddle."""
    return [Circle((0.0, q[0] + 0.03), 0.03, "accent"), line((-0.3, q[1]), (0.3, q[1]), "body-dark")]


class SlopeWalker(Task):
    """Keep the compass gait walking down a slope, from starts off its cycle, with a torque at the hip.

    The feet strike without restitution and stick.  Observed: angles and angular velocities of the stance leg and of the
    swinging leg, relative to the cycle's start, and a constant.
    """

    dt, skip, horizon, observations, most = 1e-3, 20, 200, 5, 20.0
    low, high = np.array([-1.0]), np.array([1.0])

    def __init__(self, slope: float = math.radians(3.0), off: float = 0.2) -> None:
        self.scenario, self.off = compass_gait(slope=slope, torque=0.0), off

    def start(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """The start of the cycle with velocities that are off by up to the share `off`; the stance foot stays."""
        theta = float(self.scenario.q0[2])
        turn = self.scenario.u0[2:] * (1.0 + self.off * rng.uniform(-1.0, 1.0, (count, 2)))
        q = np.tile(self.scenario.q0, (count, 1))
        u = np.column_stack([-math.cos(theta) * turn[:, 0], -math.sin(theta) * turn[:, 0], turn])
        return q, u

    def _stance(self, q: Array) -> np.ndarray:
        """Number of the leg that carries, the one whose foot is lower."""
        return np.asarray(np.cos(q[:, 3]) > np.cos(q[:, 2]), int)

    def observe(self, q: Array, u: Array) -> Array:
        stance, k = self._stance(q), np.arange(len(q))
        own, other = 2 + stance, 3 - stance
        return np.column_stack([q[k, own], q[k, other], u[k, own], u[k, other], np.ones(len(q))])

    def drive(self, q: Array, u: Array, action: Array) -> Mapping[str, Array]:
        return {"torque": self.most * action[:, 0] * np.where(self._stance(q) == 0, 1.0, -1.0)}

    def reward(self, q: Array, u: Array, action: Array) -> Array:
        return np.clip(u[:, 0], 0.0, 1.0) - 0.05 * action[:, 0] ** 2

    def ended(self, q: Array, u: Array) -> np.ndarray:
        return np.asarray((q[:, 1] < 0.75) | (np.abs(q[:, 2:]) > 1.2).any(axis=1))


class PushBox(SceneEnv):
    """Push a box with a ball along the path y = 0.1 sin(4 x), without losing it.

    The box slides on the ground with Coulomb friction and turns as the point of contact tells.  The action is the
    velocity of the pusher.  Observed: place of the box across the path, its angle against the path, place of the pusher
    along and across the box, the path's slope and curvature, and a constant.
    """

    def __init__(self, render_mode: str | None = None, horizon: int = 250) -> None:
        scene = Scene(dim=3, name="push box")
        scene.add_static(HalfSpace((0, 0, 1)), friction=0.3, name="ground")
        self._box = scene.add_body(Box((0.12, 0.12, 0.06)), mass=0.5, position=(0, 0, 0.03), friction=0.3, name="box")
        rail = scene.add_body(Sphere(0.005), mass=0.2, position=(-0.2, 0, 0.2), name="rail")
        ball = scene.add_body(Sphere(0.02), mass=0.2, position=(-0.085, 0, 0.03), friction=0.3, name="pusher")
        scene.add_prismatic(None, rail, (-0.2, 0, 0.2), (1, 0, 0), motor=Motor(damping=200.0, effort=50.0), name="x")
        scene.add_prismatic(rail, ball, (-0.085, 0, 0.03), (0, 1, 0), motor=Motor(damping=200.0, effort=50.0), name="y")
        scene.ignore(rail, self._box)
        super().__init__(
            scene, [0.0, -0.3], [0.3, 0.3], 7, dt=2e-3, skip=10, horizon=horizon, render_mode=render_mode, tol=1e-8
        )

    @staticmethod
    def path(x: float) -> tuple[float, float, float]:
        """Height, slope and bend of the path."""
        return 0.1 * math.sin(4.0 * x), 0.4 * math.cos(4.0 * x), -1.6 * math.sin(4.0 * x)

    def _places(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Place (2,) and angle of the box, and the pusher's place in its axes."""
        box, ball = self.sim.body("box"), self.sim.body("pusher")
        w, _, _, z = box.orientation
        angle = 2.0 * math.atan2(z, w)
        c, s = math.cos(angle), math.sin(angle)
        x = box.position[:2]
        return x, angle, np.array([[c, s], [-s, c]]) @ (ball.position[:2] - x)

    def begin(self, rng: np.random.Generator) -> None:
        """The box is turned by up to 0.1 rad."""
        q, angle = self.sim.q, float(rng.uniform(-0.1, 0.1))
        q[3:7] = [math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]
        self.sim.set_state(q=q)

    def act(self, action: Array) -> None:
        for name, speed in zip(("x", "y"), action, strict=True):
            self.sim.joint(name).motor = Motor(speed=float(speed), damping=200.0, effort=50.0)

    def observe(self) -> Array:
        x, angle, at = self._places()
        height, slope, bend = self.path(float(x[0]))
        return np.array([x[1] - height, angle - math.atan(slope), at[0] + 0.08, at[1], slope, bend, 1.0])

    def reward(self, action: Array) -> float:
        x, _, _ = self._places()
        off = float(x[1]) - self.path(float(x[0]))[0]
        return max(0.0, float(self.sim.body("box").velocity[0])) * math.exp(-((off / 0.03) ** 2))

    def ended(self) -> bool:
        x, _, at = self._places()
        return bool(np.abs(at).max() > 0.15 or abs(x[1] - self.path(float(x[0]))[0]) > 0.1)


# What `gymnasium.make` and `gymnasium.make_vec` call.


def one_Juggling(**options: Any) -> MechanismEnv:
    return MechanismEnv(Juggling(), **options)


def many_Juggling(num_envs: int = 1, **options: Any) -> MechanismVectorEnv:
    return MechanismVectorEnv(Juggling(), num_envs, **options)


def one_SlopeWalker(**options: Any) -> MechanismEnv:
    return MechanismEnv(SlopeWalker(), **options)


def many_SlopeWalker(num_envs: int = 1, **options: Any) -> MechanismVectorEnv:
    return MechanismVectorEnv(SlopeWalker(), num_envs, **options)


def one_PushBox(**options: Any) -> PushBox:
    return PushBox(**options)


def many_PushBox(
    num_envs: int = 1, render_mode: str | None = None, *, threads: int | None = None, **options: Any
) -> SceneVectorEnv:
    return SceneVectorEnv(lambda: PushBox(**options), num_envs, render_mode, threads=threads)
