"""Bodies and joints of a scene in a `Simulator`: to be read, pushed and driven between steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.checks import unknown_name
from stickslip.scenes.bodies import Body
from stickslip.scenes.checks import number, turning, vector
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.given import two_numbers
from stickslip.scenes.islands.joint_rows import EFFORT, PRISMATIC, REVOLUTE, SPEED
from stickslip.scenes.joints import Joint


class BodyHandle:
    """A body at the present of a simulator."""

    def __init__(self, engine: SceneEngine, body: Body) -> None:
        self._engine, self._body, self.name = engine, body, body.name

    @property
    def position(self) -> np.ndarray:
        """Position of the centre of mass, (dim,) [m]."""
        return self._engine.bodies.pose[self._body.number, : self._body.dim].copy()

    @property
    def orientation(self) -> Any:
        """Angle [rad] in the plane, unit quaternion (4,) in space."""
        i = self._body.number
        return float(self._engine.bodies.angle[i]) if self._body.dim == 2 else self._engine.bodies.pose[i, 3:].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the centre of mass, (dim,) [m/s]."""
        return self._engine.bodies.vel[self._body.number, : self._body.dim].copy()

    @property
    def angular_velocity(self) -> Any:
        """Angular velocity [rad/s], (3,) in world axes in space."""
        w = self._engine.bodies.vel[self._body.number, 3:]
        return float(w[2]) if self._body.dim == 2 else w.copy()

    @property
    def force(self) -> np.ndarray:
        """Force at the centre of mass in world axes [N], beside those of the scene; it stays until it is set anew."""
        return self._engine.pushes[self._body.number, : self._body.dim].copy()

    @force.setter
    def force(self, value: Any) -> None:
        self._require_moving()
        dim = self._body.dim
        self._engine.push(self._body.number, slice(0, dim), vector(value, f"force on {self.name!r}", dim))

    @property
    def torque(self) -> Any:
        """Torque in world axes [N m], beside those of the scene; it stays until it is set anew."""
        torque = self._engine.pushes[self._body.number, 3:]
        return float(torque[2]) if self._body.dim == 2 else torque.copy()

    @torque.setter
    def torque(self, value: Any) -> None:
        self._require_moving()
        dim = self._body.dim
        first = 3 if dim == 3 else 5
        self._engine.push(self._body.number, slice(first, 6), turning(value, f"torque on {self.name!r}", dim))

    def _require_moving(self) -> None:
        if self._body.kind != "moving":
            raise ValueError(f"body must move freely to feel a force, got {self.name!r} ({self._body.kind}).")

    def __repr__(self) -> str:
        return f"<body {self.name!r} at {self.position}, velocity {self.velocity}>"


class JointHandle:
    """A joint at the present of a simulator."""

    def __init__(self, engine: SceneEngine, k: int) -> None:
        self._engine, self._k = engine, k
        self._joint: Joint = engine.scene.joints[k]

    @property
    def motor(self) -> tuple[float, float]:
        """Speed [rad/s or m/s] and largest effort [N m or N] of the motor; effort 0: none."""
        assert self._engine.joints is not None
        data = self._engine.joints.link.numbers[self._k]
        return float(data[SPEED]), float(data[EFFORT])

    @motor.setter
    def motor(self, value: Any) -> None:
        self._require_axis("motor")
        assert self._engine.joints is not None
        speed, effort = two_numbers(value, "motor")
        data = self._engine.joints.link.numbers[self._k]
        data[SPEED], data[EFFORT] = number(speed, "speed of motor"), number(effort, "effort of motor", least=0.0)

    def _require_axis(self, what: str) -> None:
        assert self._engine.joints is not None
        if self._engine.joints.link.kind[self._k] not in (REVOLUTE, PRISMATIC):
            raise ValueError(f"{what} needs a revolute or prismatic joint, got a {self._joint.kind} one.")


def body_handle(engine: SceneEngine, which: Any) -> BodyHandle:
    """The body with this name or number, or this body of the scene."""
    bodies = engine.scene.bodies
    if isinstance(which, str):
        names = {body.name: body for body in bodies}
        if which not in names:
            raise ValueError(unknown_name("body", which, tuple(names)))
        return BodyHandle(engine, names[which])
    index = which.number if isinstance(which, Body) else which
    return BodyHandle(engine, bodies[_index(index, len(bodies), "body")])


def joint_handle(engine: SceneEngine, which: Any) -> JointHandle:
    """The joint with this name or number, or this joint of the scene."""
    joints = engine.scene.joints
    if isinstance(which, str):
        names = [joint.name for joint in joints]
        if which not in names:
            raise ValueError(unknown_name("joint", which, tuple(names)))
        return JointHandle(engine, names.index(which))
    if isinstance(which, Joint):
        found = [k for k, joint in enumerate(joints) if joint is which]
        if not found:
            raise ValueError("joint must be one of the scene of this simulator.")
        return JointHandle(engine, found[0])
    return JointHandle(engine, _index(which, len(joints), "joint"))


def _index(value: Any, count: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < count:
        raise ValueError(f"{what} must be a name or a number from 0 to {count - 1}, got {value!r}.")
    return int(value)
