"""How a scene is given joints that hold two bodies together: hinges, sliders, balls, rods."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.checks import known_keywords, truth
from stickslip.scenes.bodies import Body
from stickslip.scenes.checks import number, unit, vector
from stickslip.scenes.given import two_numbers
from stickslip.scenes.joints import Joint, motor_of


class Joining:
    """The joints of a `Scene`, which is the one class that is made of it."""

    dim: int
    bodies: list[Body]
    joints: list[Joint]
    ignored: set[tuple[int, int]]

    def _number(self, body: Body | None) -> int:
        if body is None:
            return 0
        if not isinstance(body, Body) or not (body.number < len(self.bodies) and self.bodies[body.number] is body):
            got = f"{body.name!r} of another scene" if isinstance(body, Body) else repr(body)
            raise ValueError(f"body must come from add_body, add_driven or add_static of this scene, got {got}.")
        return body.number

    @known_keywords
    def add_revolute(
        self, a: Body | None, b: Body, at: Any, axis: Any = None, *, limits: Any = None, motor: Any = None,
        friction: float = 0.0, damping: float = 0.0, armature: float = 0.0, torque: float = 0.0,
        collide: bool = False, name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A hinge at the point `at`, about z in the plane, about `axis` in space; a = None is the world.

        limits : (least, largest) angle of b against a [rad], 0 at the start.
        motor : (speed [rad/s], largest torque [N m]), or a `Motor` with a target and gains.
        friction : torque of dry friction [N m].
        damping : viscous [N m s/rad].
        armature : moment of inertia of a rotor that turns with the joint [kg m^2].
        torque : on b, and its opposite on a, all the time [N m].
        collide : whether the two bodies touch one another as others do; they pass through one another by default.
        name : by which `Simulator.joint` finds it; kind and number by default, "revolute1".
        """
        direction = np.array([0.0, 0.0, 1.0])
        if self.dim == 3:
            if axis is None:
                raise ValueError("axis of a revolute joint in space must be given.")
            direction = unit(axis, "axis", 3)
        losses = (friction, damping, armature, torque)
        return self._joint("revolute", a, b, at, direction, limits, motor, losses, collide, name)

    @known_keywords
    def add_prismatic(
        self, a: Body | None, b: Body, at: Any, axis: Any, *, limits: Any = None, motor: Any = None,
        friction: float = 0.0, damping: float = 0.0, armature: float = 0.0, torque: float = 0.0,
        collide: bool = False, name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A slider along `axis`, fixed in a, through `at`; a = None is the world.

        limits : (least, largest) shift of b against a [m], 0 at the start.
        motor : (speed [m/s], largest force [N]), or a `Motor` with a target and gains.
        friction : force of dry friction [N].
        damping, armature, torque : viscous damping [N s/m], mass of a rotor [kg], force on b all the time [N].
        collide : whether the two bodies touch one another; False by default, as for `add_revolute`.
        """
        direction = np.zeros(3)
        direction[: self.dim] = unit(axis, "axis", self.dim)
        losses = (friction, damping, armature, torque)
        return self._joint("prismatic", a, b, at, direction, limits, motor, losses, collide, name)

    @known_keywords
    def add_fixed(
        self, a: Body | None, b: Body, at: Any = None, *, collide: bool = False, name: str | None = None
    ) -> Joint:
        """Glue two bodies together; `at` is where (b's centre of mass by default).

        collide : whether the two bodies touch one another; False by default, as for `add_revolute`.
        """
        self._ends(a, b)
        point = b.position[: self.dim] if at is None else at
        return self._joint("fixed", a, b, point, np.array([0.0, 0.0, 1.0]), None, None, (0.0,) * 4, collide, name)

    @known_keywords
    def add_spherical(
        self, a: Body | None, b: Body, at: Any, *, collide: bool = False, name: str | None = None
    ) -> Joint:
        """A ball joint at the point `at`, in space.

        collide : whether the two bodies touch one another; False by default, as for `add_revolute`.
        """
        if self.dim == 2:
            raise ValueError("a spherical joint is a joint of space; use add_revolute in the plane.")
        return self._joint("spherical", a, b, at, np.array([0.0, 0.0, 1.0]), None, None, (0.0,) * 4, collide, name)

    @known_keywords
    def add_distance(
        self, a: Body | None, b: Body, at_a: Any, at_b: Any, *, collide: bool = True, name: str | None = None
    ) -> Joint:
        """A massless rod with hinges at both ends, from the point `at_a` of a to the point `at_b` of b.

        collide : whether the two bodies touch one another; True by default, unlike that of the other joints: a rod
            holds them apart.  The rod itself touches nothing.
        """
        p, q = np.zeros(3), np.zeros(3)
        p[: self.dim] = vector(at_a, "at_a", self.dim)
        q[: self.dim] = vector(at_b, "at_b", self.dim)
        length = float(np.linalg.norm(q - p))
        if length == 0.0:
            raise ValueError("at_a and at_b of a distance joint must differ; use a revolute or spherical joint.")
        rod = Joint("distance", *self._ends(a, b), p, q, np.array([0.0, 0.0, 1.0]), length)
        return self._keep(rod, collide, name)

    def _joint(
        self, kind: str, a: Body | None, b: Body, at: Any, axis: np.ndarray, limits: Any, motor: Any,
        losses: tuple[Any, Any, Any, Any], collide: bool, name: str | None, **more: Any,
    ) -> Joint:  # fmt: skip
        p = np.zeros(3)
        p[: self.dim] = vector(at, "at", self.dim)
        low, high = -math.inf, math.inf
        if limits is not None:
            low, high = two_numbers(limits, "limits")
            if not low <= 0.0 <= high:
                raise ValueError(f"limits must be (least <= 0, largest >= 0), counted from the start, got {limits!r}.")
        friction, damping, armature, torque = losses
        joint = Joint(
            kind, *self._ends(a, b), p, p, axis, 0.0, (low, high), motor_of(motor),
            number(friction, "friction of a joint", least=0.0), number(damping, "damping of a joint", least=0.0),
            number(armature, "armature of a joint", least=0.0), number(torque, "torque of a joint"), **more,
        )  # fmt: skip
        return self._keep(joint, collide, name)

    def _ends(self, a: Body | None, b: Body | None) -> tuple[int, int]:
        i, j = self._number(a), self._number(b)
        if i == j:
            raise ValueError(f"a joint needs two different bodies, got {self.bodies[i].name!r} twice.")
        if self.bodies[i].kind != "moving" and self.bodies[j].kind != "moving":
            raise ValueError(
                f"a joint needs a body that moves, got {self.bodies[i].name!r} and {self.bodies[j].name!r}."
            )
        return i, j

    def _keep(self, joint: Joint, collide: bool, name: str | None) -> Joint:
        label = f"{joint.kind}{len(self.joints) + 1}" if name is None else str(name)
        if any(label == other.name for other in self.joints):
            raise ValueError(f"name of a joint must be its own, got {label!r} twice.")
        joint = replace(joint, name=label)
        if not truth(collide, "collide"):
            self.ignored.add((min(joint.a, joint.b), max(joint.a, joint.b)))
        self.joints.append(joint)
        return joint
