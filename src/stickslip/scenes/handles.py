"""Bodies and joints of a scene in a `Simulator`: to be read, pushed and driven between steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.checks import unknown_name
from stickslip.scenes.bodies import Body, angular_momenta
from stickslip.scenes.checks import number, turning, vector
from stickslip.scenes.fusing import arm_of, balance
from stickslip.scenes.islands.joint_rows import MOTOR
from stickslip.scenes.islands.row_kinds import (
    DAMPING,
    EFFORT,
    NUMBERS,
    SPEED,
    STIFFNESS,
    TARGET,
    TORQUE,
)
from stickslip.scenes.joints import WITH_AXIS, Joint, Motor, motor_of
from stickslip.scenes.layout import ROWS_PER_JOINT
from stickslip.scenes.rotation import compose, rotate
from stickslip.scenes.steering import axis_coordinate, axis_speed
from stickslip.trajectory import FORCES, MOTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickslip.scenes.engine import SceneEngine
    from stickslip.scenes.scene import Scene


DRIVES = [SPEED, EFFORT, TARGET, STIFFNESS, DAMPING, TORQUE]
"""Numbers of a joint that can be set by hand."""


class _Handle:
    """Belongings of a simulator, whichever engine it has: `set_state` and `reset` begin with a new one."""

    __slots__ = ("_held",)

    def __init__(self, engine: SceneEngine) -> None:
        self._held = engine

    @property
    def _engine(self) -> SceneEngine:
        while self._held.successor is not None:
            self._held = self._held.successor
        return self._held


def succeed(before: SceneEngine, after: SceneEngine, drives: bool) -> None:
    """Let handles of one engine follow to the next one; `drives`: with all that was set by hand."""
    if drives:
        if before.joints is not None and after.joints is not None:
            after.joints.link.numbers[:, DRIVES] = before.joints.link.numbers[:, DRIVES]
        for i in np.flatnonzero(before.pushes.any(axis=1)).tolist():
            after.push(i, slice(0, 6), before.pushes[i])
        after.note_drive(int(before.by_hand[0]))
        after.acceleration[:] = before.acceleration
    before.successor = after


class BodyHandle(_Handle):
    """A body at the present of a simulator."""

    __slots__ = ("_body", "name")  # so that a misspelt name that is set is refused

    def __init__(self, engine: SceneEngine, body: Body) -> None:
        super().__init__(engine)
        self._body, self.name = body, body.name

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
    def momentum(self) -> np.ndarray:
        """Momentum m v, (dim,) [N s]; of a body that does not move freely there is none."""
        self._require_moving("to have momentum")
        return np.asarray(self._body.mass * self.velocity)

    @property
    def angular_momentum(self) -> Any:
        """Angular momentum about the centre of mass [N m s], (3,) in world axes in space."""
        self._require_moving("to have angular momentum")
        spin = angular_momenta(self._body, np.atleast_2d(self.orientation), np.atleast_2d(self.angular_velocity))[0]
        return float(spin[0]) if self._body.dim == 2 else spin

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and potential energy in gravity, 0 at the origin [J]."""
        self._require_moving("to have energy")
        spin = np.atleast_1d(self.angular_velocity) @ np.atleast_1d(self.angular_momentum)
        kinetic = 0.5 * float(self.momentum @ self.velocity + spin)
        gravity = self._engine.options.gravity[: self._body.dim]
        return kinetic, -self._body.mass * float(gravity @ self.position)

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

    def _require_moving(self, what: str = "to feel a force") -> None:
        if self._body.kind != "moving":
            raise ValueError(f"body must move freely {what}, got {self.name!r} ({self._body.kind}).")

    def __repr__(self) -> str:
        return f"<body {self.name!r} at {self.position}, velocity {self.velocity}>"


class JointHandle(_Handle):
    """A joint at the present of a simulator; what is set holds from the next step on, until it is set anew."""

    __slots__ = ("_joint", "_k", "_number", "name")  # so that a misspelt name that is set is refused

    def __init__(self, engine: SceneEngine, k: int) -> None:
        super().__init__(engine)
        self._joint: Joint = engine.scene.joints[k]
        self.name = self._joint.name
        kept = range(len(engine.scene.joints)) if engine.fused is None else engine.fused.kept
        self._number = k
        self._k = kept.index(k) if k in kept else -1  # a joint inside a composite has no rows

    @property
    def _numbers(self) -> np.ndarray:
        """The numbers of its rows, to be read and set."""
        return np.asarray(self._links()["numbers"][self._k]) if self._k >= 0 else np.zeros(NUMBERS)

    @property
    def coordinate(self) -> float:
        """Angle [rad], turns counted, or travel [m], from the start."""
        self._require_axis("coordinate")
        A, B = self._frames()
        turns = float(self._links()["turns"][self._k])
        return float(axis_coordinate.py_func(self._joint.kind == "prismatic", A, B, turns))

    @property
    def speed(self) -> float:
        """Angular velocity [rad/s] or velocity [m/s] of b against a along the axis."""
        self._require_axis("speed")
        A, B = self._frames()
        bodies = self._engine.bodies
        a, b = ((bodies.pose[i].tolist(), bodies.vel[i].tolist()) for i in self._sides())
        return float(axis_speed.py_func(self._joint.kind == "prismatic", A, B, a, b))

    @property
    def motor(self) -> Motor:
        """The motor; set a `Motor`, (speed, largest effort), or None for none."""
        x = self._numbers
        return Motor(float(x[SPEED]), float(x[EFFORT]), float(x[TARGET]), float(x[STIFFNESS]), float(x[DAMPING]))

    @motor.setter
    def motor(self, value: Any) -> None:
        self._require_axis("motor")
        motor, x = motor_of(value), self._numbers
        x[SPEED], x[EFFORT], x[TARGET], x[STIFFNESS], x[DAMPING] = (
            motor.speed, motor.effort, motor.target, motor.stiffness, motor.damping,
        )  # fmt: skip
        if motor.effort > 0.0:
            self._engine.note_drive(MOTORS)

    @property
    def target(self) -> float:
        """Angle [rad] or travel [m] that a motor with stiffness leads to."""
        return float(self._numbers[TARGET])

    @target.setter
    def target(self, value: Any) -> None:
        if not (self._numbers[STIFFNESS] > 0.0 and self._numbers[EFFORT] > 0.0):
            raise ValueError(f"target needs a motor with stiffness at {self.name!r}; give motor=Motor(stiffness=...).")
        self._numbers[TARGET] = number(value, f"target of {self.name!r}")

    @property
    def torque(self) -> float:
        """Effort on b, and its opposite on a, beside the motor [N m or N]."""
        return float(self._numbers[TORQUE])

    @torque.setter
    def torque(self, value: Any) -> None:
        self._require_axis("torque")
        effort = number(value, f"torque of {self.name!r}")
        self._numbers[TORQUE] = effort
        if effort != 0.0:
            self._engine.note_drive(FORCES | MOTORS)

    @property
    def gravity_effort(self) -> float:
        """Effort [N m or N] that carries all that hangs on b against gravity, where it is now.

        `joint.torque = joint.gravity_effort` in a control law is gravity compensation.  ValueError where a loop of
        joints leads back to a: then there is no such effort of one joint alone.
        """
        self._require_axis("gravity_effort")
        A, B = self._frames()
        bodies, g = self._engine.bodies, self._engine.options.gravity
        axis, place, force, moment = np.array(_axis(A)), np.array(B[:3]), np.zeros(3), np.zeros(3)
        for i in hanging(self._engine.scene, self._number):
            if bodies.inv_mass[i] > 0.0:
                weight = g / bodies.inv_mass[i]
                force += weight
                moment += np.cross(bodies.pose[i, :3] - place, weight)
        if self._joint.kind == "screw":
            moment = moment + self._joint.law[0] / (2.0 * math.pi) * force
        return -float(axis @ (force if self._joint.kind == "prismatic" else moment))

    @property
    def motor_effort(self) -> float:
        """Effort of the motor in the last step [N m or N]."""
        return float(joint_loads(self._engine, [self])[2][0])

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Force [N] and torque [N m] of the joint on b in the last step, world axes, torque about b's centre of mass.

        Limits, motors and friction are part of it.
        """
        force, torque, _ = joint_loads(self._engine, [self])
        return force[0], torque[0]

    def _links(self) -> Any:
        assert self._engine.joints is not None
        return self._engine.joints.link

    def _sides(self) -> tuple[int, int]:
        """Numbers of the bodies that the joint's rows hold together."""
        link = self._links()
        return int(link["a"][self._k]), int(link["b"][self._k])

    def _frames(self) -> tuple[list[float], list[float]]:
        """Poses of the joint's frames in both bodies, now.

        Lists of numbers, since Python takes the entries of an array out one by one, at five times the cost.
        """
        A, B, link, pose, (a, b) = [0.0] * 7, [0.0] * 7, self._links(), self._engine.bodies.pose, self._sides()
        compose.py_func(pose[a].tolist(), link["frame_a"][self._k].tolist(), A)
        compose.py_func(pose[b].tolist(), link["frame_b"][self._k].tolist(), B)
        return A, B

    def _require_axis(self, what: str) -> None:
        if self._joint.kind not in WITH_AXIS:
            raise ValueError(f"{what} needs a revolute, prismatic or screw joint, got a {self._joint.kind} one.")

    def __repr__(self) -> str:
        return f"<{self._joint.kind} joint {self.name!r}>"


def _axis(frame: list[float]) -> tuple[float, float, float]:
    """The z axis of a joint's frame in world axes."""
    x, y, z = rotate.py_func(frame, 0.0, 0.0, 1.0)
    return x, y, z


def hanging(scene: Scene, k: int) -> list[int]:
    """Numbers of the bodies that hang on side b of joint k; ValueError where a loop of joints leads back to a."""
    cut = scene.joints[k]
    found, todo = {cut.b}, [cut.b]
    while todo:
        i = todo.pop()
        for other, joint in enumerate(scene.joints):
            if other != k and i in (joint.a, joint.b):
                j = joint.b if i == joint.a else joint.a
                if j == cut.a or scene.bodies[j].kind != "moving":
                    raise ValueError(
                        f"gravity_effort needs a joint that alone carries what hangs on it; {cut.name!r} is part of a "
                        f"loop with {joint.name!r}."
                    )
                if j not in found:
                    found.add(j)
                    todo.append(j)
    return sorted(found)


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


def joint_loads(engine: SceneEngine, joints: Sequence[JointHandle]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forces and torques (n, 3) of joints on their bodies b in the last step, efforts (n,) of their motors."""
    force, torque, effort = np.zeros((len(joints), 3)), np.zeros((len(joints), 3)), np.zeros(len(joints))
    with_rows = [k for k, joint in enumerate(joints) if joint._k >= 0]
    if with_rows:
        assert engine.joints is not None
        rows = engine.joints.row.view(np.ndarray).reshape(-1, ROWS_PER_JOINT)[[joints[k]._k for k in with_rows]]
        impulse, d = np.where(rows["used"], rows["impulse"], 0.0), rows["direction"]
        load = ((impulse + rows["blow"]) / engine.options.dt)[:, None]
        force[with_rows] = (load @ (d[:, :, :3] + d[:, :, 9:]))[:, 0]
        torque[with_rows] = (load @ d[:, :, 6:9])[:, 0]
        effort[with_rows] = impulse[:, MOTOR] / engine.options.dt
        if engine.fused is not None:
            torque[with_rows] -= np.cross([arm_of(engine, joints[k]._joint.b) for k in with_rows], force[with_rows])
    for k, joint in enumerate(joints):
        if joint._k < 0:  # within a body that fixed joints make of several
            force[k], torque[k] = balance(engine, joint._number)
    return force, torque, effort
