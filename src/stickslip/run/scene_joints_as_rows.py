"""Joints of a scene as constraints and contacts of a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stickslip.mechanisms.elements import Constraint, Contact, Stop
from stickslip.mechanisms.system import FRICTION
from stickslip.run.scene_symbols import Symbols, Vector, vector
from stickslip.scenes.joints import WITH_AXIS, Joint
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import rotation_matrix, turn_from_z


@dataclass
class Rows:
    """Parts that joints and loads add to a mechanism: elements, constraints, and generalised forces by coordinate."""

    contacts: list[Any]
    constraints: list[Constraint]
    forces: dict[Any, Any]

    def add_effort(self, symbols: dict[int, Symbols], bodies: tuple[int, ...], rate: Any, effort: Any) -> None:
        """Add an effort whose power is `effort` times `rate`, an expression that is linear in velocities."""
        for number in bodies:
            for q, u in zip(symbols[number].q, symbols[number].u, strict=True):
                self.forces[q] = self.forces.get(q, 0) + effort * sp.diff(rate, u)

    @staticmethod
    def length(scene: Scene, symbols: dict[int, Symbols], link: Any) -> tuple[Any, Any]:
        """Distance of two points of bodies, and its rate; `link` has a, b, at_a and at_b."""
        arm_a, arm_b = (_arm(scene, symbols, *end) for end in ((link.a, link.at_a), (link.b, link.at_b)))
        a, b = symbols[link.a], symbols[link.b]
        line = (b.x + arm_b) - (a.x + arm_a)
        size = sp.sqrt(line.dot(line))
        return size, (b.velocity(arm_b) - a.velocity(arm_a)).dot(line) / size


def _local(scene: Scene, number: int, point: np.ndarray) -> np.ndarray:
    body = scene.bodies[number]
    return np.asarray(rotation_matrix(body.orientation).T @ (point - body.position))


def _arm(scene: Scene, symbols: dict[int, Symbols], number: int, point: np.ndarray) -> Vector:
    """From the centre of mass of a body to the point of it that is at `point` at the start."""
    return symbols[number].direction(_local(scene, number, point))


def _axis(scene: Scene, symbols: dict[int, Symbols], number: int, direction: np.ndarray) -> Vector:
    """The direction of a body that is `direction` at the start."""
    return symbols[number].direction(rotation_matrix(scene.bodies[number].orientation).T @ direction)


def joint_rows(scene: Scene, symbols: dict[int, Symbols], rows: Rows) -> Any:
    """Add the joints of a scene to `rows`; returns the kinetic energy of their rotors."""
    energy: Any = 0
    for joint in scene.joints:
        place = _Place(scene, symbols, joint)
        for k, equation in enumerate(place.equations()):
            rows.constraints.append(Constraint(f"{joint.name} {k}", equation=equation))
        if joint.kind in ("rope", "pulley"):
            rows.contacts.append(Contact(joint.name, gap=place.slack()))
        rolling = place.rolling()
        if rolling is not None:
            rows.constraints.append(Constraint(f"{joint.name} rolling", velocity=rolling))
        energy += _with_axis(place, rows)
    return energy


def _with_axis(place: _Place, rows: Rows) -> Any:
    """Limits, friction, damping, rotor and torque of a joint with a coordinate; returns the rotor's kinetic energy."""
    joint, symbols = place.joint, place.symbols
    if joint.kind not in WITH_AXIS:
        return 0
    rate, bodies = place.rate(), (joint.a, joint.b)
    if joint.limits != (-math.inf, math.inf):
        low, high = (None if math.isinf(x) else float(x) for x in joint.limits)
        rows.contacts.append(Stop(joint.name, place.coordinate(), lower=low, upper=high))
    if joint.friction:
        rows.contacts.append(dry(f"{joint.name} friction", rate, joint.friction))
    _add_motor(place, rows, rate)
    if joint.damping:
        rows.add_effort(symbols, bodies, rate, -float(joint.damping) * rate)
    if joint.torque:
        rows.add_effort(symbols, bodies, rate, float(joint.torque))
    return float(joint.armature) * rate**2 / 2


def dry(name: str, rate: Any, threshold: float) -> Contact:
    """Any effort up to the threshold where the rate is zero, the threshold against it elsewhere."""
    return Contact(name, slip_velocity=rate, threshold=float(threshold), kind=FRICTION)


def _add_motor(place: _Place, rows: Rows, rate: Any) -> None:
    """A motor: one that holds its speed is dry friction against another speed; gains are springs and dampers."""
    joint, motor = place.joint, place.joint.motor
    if motor.effort == 0.0:
        return
    if motor.stiffness + motor.damping == 0.0:
        rows.contacts.append(dry(f"{joint.name} motor", rate - float(motor.speed), motor.effort))
        return
    if not math.isinf(motor.effort):
        raise ValueError(
            f"motor of joint {joint.name!r} cannot be part of a mechanism for the judge: it has gains and a "
            "largest effort."
        )
    effort = float(motor.damping) * (float(motor.speed) - rate)
    if motor.stiffness > 0.0:
        effort += float(motor.stiffness) * (float(motor.target) - place.coordinate())
    rows.add_effort(place.symbols, (joint.a, joint.b), rate, effort)


class _Place:
    """A joint with its frames as expressions."""

    def __init__(self, scene: Scene, symbols: dict[int, Symbols], joint: Joint) -> None:
        self.scene, self.symbols, self.joint = scene, symbols, joint
        self.a, self.b = symbols[joint.a], symbols[joint.b]
        self.arm_a = _arm(scene, symbols, joint.a, joint.at_a)
        self.arm_b = _arm(scene, symbols, joint.b, joint.at_b)
        self.apart = (self.b.x + self.arm_b) - (self.a.x + self.arm_a)

    def _axes(self, number: int) -> list[Vector]:
        """The joint's frame in a body: two axes across the joint's axis, and the axis."""
        R = rotation_matrix(turn_from_z(self.joint.axis))
        return [_axis(self.scene, self.symbols, number, R[:, k]) for k in range(3)]

    def _turn(self, count: int) -> list[Any]:
        """Expressions that are zero where b does not turn against a: all, or those across the axis (count 2)."""
        if self.scene.dim == 2:
            start = self.scene.bodies[self.joint.b].angle - self.scene.bodies[self.joint.a].angle
            return [] if count == 2 else [self.b.angle - self.a.angle - float(start)]
        p, q = self._axes(self.joint.a), self._axes(self.joint.b)
        across = [p[0].dot(q[2]), p[1].dot(q[2])]
        return across if count == 2 else [*across, p[0].dot(q[1])]

    def _across(self) -> list[Any]:
        """How far b is from the axis of a joint that slides."""
        if self.scene.dim == 2:
            n = np.array([-self.joint.axis[1], self.joint.axis[0], 0.0])
            return [self.apart.dot(_axis(self.scene, self.symbols, self.joint.a, n))]
        x, y, _ = self._axes(self.joint.a)
        return [self.apart.dot(x), self.apart.dot(y)]

    def equations(self) -> list[Any]:
        """Expressions that the joint keeps at zero."""
        kind, points = self.joint.kind, list(self.apart)[: self.scene.dim]
        if kind == "revolute":
            return points + self._turn(2)
        if kind == "spherical":
            return points
        if kind == "fixed":
            return points + self._turn(3)
        if kind == "prismatic":
            return self._across() + self._turn(3)
        if kind == "cylindrical":
            return self._across() + self._turn(2)
        if kind == "translational":
            return self._turn(3)
        if kind == "planar":
            return [self.apart.dot(self._axes(self.joint.a)[2]), *self._turn(2)]
        if kind == "universal":
            assert self.joint.across is not None
            pin = _axis(self.scene, self.symbols, self.joint.b, self.joint.across)
            return [*points, self._axes(self.joint.a)[2].dot(pin)]
        if kind == "distance":
            return [(self.apart.dot(self.apart) - float(self.joint.length) ** 2) / (2.0 * float(self.joint.length))]
        if kind == "screw":
            return self._across() + self._turn(2)
        return []

    def rolling(self) -> Any:
        """A velocity that is zero: of screws, gears, racks and couplings, whose turns need not be counted then."""
        joint = self.joint
        z = self._axes(joint.a)[2]
        if joint.kind == "screw":
            return self._travel_rate(z) - joint.law[0] / (2.0 * math.pi) * (self.b.w - self.a.w).dot(z)
        if joint.kind == "rack":
            x = _axis(self.scene, self.symbols, joint.a, np.asarray(joint.across))
            return self._travel_rate(x) - float(joint.law[0]) * (self.b.w - self.a.w).dot(z)
        if joint.kind == "gear":
            line = self.apart - self.apart.dot(z) * z
            speed = (self.b.velocity(self.arm_b) - self.a.velocity(self.arm_a)).dot(z.cross(line)) / line.dot(line)
            r_a, r_b = float(joint.law[0]), float(joint.law[1])
            return (r_a + r_b) * speed - r_a * self.a.w.dot(z) - r_b * self.b.w.dot(z)
        if joint.kind == "coupling":
            one, other = (
                _Place(self.scene, self.symbols, next(j for j in self.scene.joints if j.name == name))
                for name in joint.couples
            )
            return one.rate() - float(joint.law[0]) * other.rate()
        return None

    def _travel_rate(self, direction: Vector) -> Any:
        """Velocity of b's point against the point of a that is there, along a direction."""
        arm = self.b.x + self.arm_b - self.a.x
        return (self.b.velocity(self.arm_b) - self.a.velocity(arm)).dot(direction)

    def slack(self) -> Any:
        """Length of a rope that is left [m]."""
        if self.joint.kind == "rope":
            return float(self.joint.length) - sp.sqrt(self.apart.dot(self.apart))
        left: Any = float(self.joint.length)
        ends = ((self.a, self.arm_a, 1.0), (self.b, self.arm_b, float(self.joint.law[0])))
        for (own, arm, k), over in zip(ends, self.joint.over, strict=True):
            part = own.x + arm - vector(over)
            left -= k * sp.sqrt(part.dot(part))
        return left

    def coordinate(self) -> Any:
        """Angle, in space between -pi and pi, or travel."""
        if self.joint.kind == "prismatic":
            return self.apart.dot(_axis(self.scene, self.symbols, self.joint.a, self.joint.axis))
        if self.scene.dim == 2:
            return self._turn(3)[0]
        if any(abs(x) >= math.pi for x in self.joint.limits if math.isfinite(x)):
            raise ValueError(
                f"limits of joint {self.joint.name!r} must lie between -pi and pi for the event-driven judge, in space."
            )
        p, q = self._axes(self.joint.a), self._axes(self.joint.b)
        return sp.atan2(p[1].dot(q[0]), p[0].dot(q[0]))

    def rate(self) -> Any:
        """Angular velocity, or velocity, of b against a along the axis."""
        axis = _axis(self.scene, self.symbols, self.joint.a, self.joint.axis)
        if self.joint.kind != "prismatic":
            return (self.b.w - self.a.w).dot(axis)
        return self._travel_rate(axis)
