"""MuJoCo's MJCF into a scene: rigid bodies with primitive shapes and single joints; the rest is listed."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from stickslip.io.models.robot import (
    Geometry,
    Link,
    Pose,
    Robot,
    between,
    box,
    capsule,
    cylinder,
    half_space,
    sphere,
    tensor,
)
from stickslip.io.models.xml_text import Element
from stickslip.scenes.shapes import IDENTITY, quaternion_product, turn_from_z

_NOT_MOTION = ("asset", "visual", "statistic", "size", "custom", "sensor", "keyframe", "extension")
_JOINT_LEFT_OUT = ("damping", "armature", "stiffness", "springref", "springdamper", "ref", "margin")


class _Reader:
    def __init__(self, root: Element) -> None:
        compiler = root.first("compiler")
        settings = compiler.attributes if compiler is not None else {}
        self.degrees = settings.get("angle", "degree") == "degree"
        self.sequence = settings.get("eulerseq", "xyz")
        self.limits = settings.get("autolimits", "true") == "true"
        self.robot = Robot(root.attributes.get("model", "mujoco model"))
        self.defaults: dict[str, dict[str, dict[str, str]]] = {}
        for entry in root.all("default"):
            self._default(entry, {}, entry.attributes.get("class", "main"))
        self.seen: Counter[str] = Counter()

    # -- defaults and frames -------------------------------------------------------------------------------------------

    def _default(self, entry: Element, inherited: dict[str, dict[str, str]], name: str) -> None:
        own = {tag: dict(values) for tag, values in inherited.items()}
        for child in entry.children:
            if child.tag != "default":
                own[child.tag] = {**own.get(child.tag, {}), **child.attributes}
        self.defaults[name] = own
        for child in entry.all("default"):
            self._default(child, own, child.text("class"))

    def with_defaults(self, element: Element, kind: str) -> Element:
        """The element with the attributes of its class filled in."""
        name = element.attributes.get("class", kind)
        if name not in self.defaults and name != "main":
            raise element.error(f"the class {name!r} is not defined")
        values = {**self.defaults.get(name, {}).get(element.tag, {}), **element.attributes}
        return Element(element.tag, values, element.line, element.file, element.children)

    def angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def pose(self, element: Element) -> Pose:
        return Pose(np.array(element.numbers("pos", 3, [0.0, 0.0, 0.0])), self.turn(element))

    def turn(self, element: Element) -> np.ndarray:
        if "quat" in element.attributes:
            turn = np.array(element.numbers("quat", 4))
            if not turn.any():
                raise element.error("quat must not be zero")
            return np.asarray(turn / np.linalg.norm(turn))
        if "axisangle" in element.attributes:
            *axis, angle = element.numbers("axisangle", 4)
            return _about(np.array(axis), self.angle(angle), element)
        if "euler" in element.attributes:
            turn = IDENTITY
            for letter, value in zip(self.sequence, element.numbers("euler", 3), strict=True):
                step = _about(np.eye(3)["xyz".index(letter.lower())], self.angle(value), element)
                turn = quaternion_product(turn, step) if letter.islower() else quaternion_product(step, turn)
            return turn
        if "zaxis" in element.attributes:
            z = np.array(element.numbers("zaxis", 3))
            return turn_from_z(z / np.linalg.norm(z)) if z.any() else IDENTITY.copy()
        if "xyaxes" in element.attributes:
            raise element.error("xyaxes is not read; give quat")
        return IDENTITY.copy()

    # -- the tree ------------------------------------------------------------------------------------------------------

    def read(self, root: Element) -> Robot:
        for child in root.children:
            if child.tag == "worldbody":
                self._world(child)
            elif child.tag == "option":
                self._option(child)
            elif child.tag == "contact":
                self._contact(child)
            elif child.tag == "equality":
                pass  # after the bodies
            elif child.tag not in ("compiler", "default"):
                what = "does not move anything" if child.tag in _NOT_MOTION else "has no counterpart"
                names = ", ".join(sorted({entry.tag for entry in child.children}))
                self.robot.leave_out(child, f"<{child.tag}> {what} here ({names or 'empty'})")
        for child in root.all("equality"):
            self._equality(child)
        for tag, count in sorted(self.seen.items()):
            self.robot.notes.append(f"{count} <{tag}> in bodies: not read")
        return self.robot

    def _option(self, element: Element) -> None:
        self.robot.gravity = element.numbers("gravity", 3, [0.0, 0.0, -9.81])
        self.robot.dt = element.number("timestep", 0.002)
        for name in element.attributes:
            if name not in ("gravity", "timestep"):
                self.robot.leave_out(element, f"option {name} = {element.text(name)!r}")

    def _world(self, world: Element) -> None:
        for child in world.children:
            if child.tag == "geom":
                geom = self.with_defaults(child, "main")
                geometry = self._geometry(geom)
                if geometry is not None:
                    name = self.robot.unique(geom.attributes.get("name", "ground"))
                    at = Geometry(geometry.entry, geometry.shape, Pose(), friction=geometry.friction)
                    self.robot.links.append(Link(name, geometry.pose, [at], fixed=True))
            elif child.tag == "body":
                self._body(child, None, Pose(), "main")
            else:
                self.seen[child.tag] += 1

    def _body(self, element: Element, parent: Link | None, frame: Pose, kind: str) -> None:
        kind = element.attributes.get("childclass", kind)
        link = Link(self.robot.unique(element.attributes.get("name", "body")), frame.then(self.pose(element)))
        joints = [self.with_defaults(child, kind) for child in element.all("joint")]
        free = element.first("freejoint") is not None or any(joint.attributes.get("type") == "free" for joint in joints)
        link.fixed = parent is None and not joints and not free
        self.robot.links.append(link)
        for child in element.children:
            if child.tag == "geom":
                geometry = self._geometry(self.with_defaults(child, kind))
                if geometry is not None:
                    link.geometries.append(geometry)
            elif child.tag == "inertial":
                self._inertial(child, link)
            elif child.tag not in ("joint", "freejoint", "body"):
                self.seen[child.tag] += 1
        if not free and not link.fixed:
            self._joints(element, joints, parent, link)
        for child in element.all("body"):
            self._body(child, None if link.fixed and not link.geometries else link, link.pose, kind)

    def _inertial(self, element: Element, link: Link) -> None:
        link.mass = element.number("mass")
        link.centre = np.array(element.numbers("pos", 3, [0.0, 0.0, 0.0]))
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            inertia = np.diag(element.numbers("diaginertia", 3))
        link.inertia = tensor(self.turn(element), inertia)

    # -- shapes --------------------------------------------------------------------------------------------------------

    def _geometry(self, geom: Element) -> Geometry | None:
        kind = geom.attributes.get("type", "sphere")
        if geom.number("contype", 1.0) == 0.0 and geom.number("conaffinity", 1.0) == 0.0:
            self.robot.leave_out(geom, f"a geom of type {kind} that touches nothing (its mass as well)")
            return None
        more: dict[str, Any] = {"density": geom.number("density", 1000.0), "friction": 1.0}
        if "mass" in geom.attributes:
            more["mass"] = geom.number("mass")
        if "friction" in geom.attributes:
            sliding, *turning = geom.numbers("friction")
            more["friction"] = sliding
            if turning:
                self.robot.leave_out(geom, "torsional and rolling friction of a geom")
        if kind == "plane":
            return half_space(self.pose(geom), friction=more["friction"])
        if "fromto" in geom.attributes and kind in ("capsule", "cylinder"):
            ends = geom.numbers("fromto", 6)
            pose, length = between(ends[:3], ends[3:])
            make = capsule if kind == "capsule" else cylinder
            return self._rounded(geom, make(geom.numbers("size")[0], length, pose, **more))
        if kind == "sphere":
            return sphere(geom.numbers("size")[0], self.pose(geom), **more)
        if kind == "box":
            return box([2.0 * x for x in geom.numbers("size", 3)], self.pose(geom), **more)
        if kind in ("capsule", "cylinder"):
            radius, half = geom.numbers("size")[:2]
            make = capsule if kind == "capsule" else cylinder
            return self._rounded(geom, make(radius, 2.0 * half, self.pose(geom), **more))
        self.robot.leave_out(geom, f"a geom of type {kind}, which has no shape here (its mass as well)")
        return None

    def _rounded(self, geom: Element, geometry: Geometry) -> Geometry:
        if geometry.entry["type"] == "convex-hull":
            self.robot.leave_out(geom, "a cylinder, carried over as a prism with 24 sides")
        return geometry

    # -- joints --------------------------------------------------------------------------------------------------------

    def _joints(self, body: Element, joints: list[Element], parent: Link | None, link: Link) -> None:
        if not joints:
            self.robot.joints.append({"type": "fixed", "a": _name(parent), "b": link.name})
            return
        if len(joints) > 1:
            self.robot.leave_out(
                body, f"the {len(joints)} joints of body {link.name!r}, which is free now: one is read"
            )
            return
        joint = joints[0]
        kind = joint.attributes.get("type", "hinge")
        at = [float(x) for x in link.pose.point(joint.numbers("pos", 3, [0.0, 0.0, 0.0]))]
        for name in _JOINT_LEFT_OUT:
            if name in joint.attributes and any(joint.numbers(name)):
                self.robot.leave_out(joint, f"{name} of the joint of body {link.name!r}")
        if kind == "ball":
            self.robot.joints.append({"type": "spherical", "a": _name(parent), "b": link.name, "at": at})
            return
        if kind not in ("hinge", "slide"):
            raise joint.error(f"the type must be hinge, slide, ball or free, got {kind!r}")
        axis = link.pose.direction(joint.numbers("axis", 3, [0.0, 0.0, 1.0]))
        entry: dict[str, Any] = {"type": "revolute" if kind == "hinge" else "prismatic", "a": _name(parent)}
        entry |= {"b": link.name, "at": at, "axis": [float(x) for x in axis]}
        self._limits(joint, entry, kind)
        if joint.number("frictionloss", 0.0) > 0.0:
            entry["friction"] = joint.number("frictionloss")
        self.robot.joints.append(entry)

    def _limits(self, joint: Element, entry: dict[str, Any], kind: str) -> None:
        limited = joint.attributes.get("limited", "auto")
        if limited == "false" or "range" not in joint.attributes or (limited == "auto" and not self.limits):
            return
        low, high = joint.numbers("range", 2)
        if kind == "hinge":
            low, high = self.angle(low), self.angle(high)
        if low <= 0.0 <= high:
            entry["limits"] = [low, high]
        else:
            self.robot.leave_out(joint, f"limits {low:g} .. {high:g} of a joint, which do not contain its start")

    def _contact(self, element: Element) -> None:
        for child in element.children:
            if child.tag == "exclude":
                self.robot.ignore.append([child.text("body1"), child.text("body2")])
            else:
                self.robot.leave_out(child, f"<{child.tag}> of <contact>")

    def _equality(self, element: Element) -> None:
        links = {link.name: link for link in self.robot.links}
        for child in element.children:
            a, b = child.attributes.get("body1", ""), child.attributes.get("body2", "world")
            known = a in links and (b == "world" or b in links) and not links[a].fixed
            if child.tag == "connect" and known and "anchor" in child.attributes:
                at = links[a].pose.point(child.numbers("anchor", 3))
                self.robot.joints.append({"type": "spherical", "a": b, "b": a, "at": [float(x) for x in at]})
            elif child.tag == "weld" and known and "relpose" not in child.attributes:
                self.robot.joints.append({"type": "fixed", "a": b, "b": a})
            else:
                self.robot.leave_out(child, f"<{child.tag}> of <equality>")


def _name(link: Link | None) -> str:
    return "world" if link is None else link.name


def _about(axis: np.ndarray, angle: float, element: Element) -> np.ndarray:
    norm = float(np.linalg.norm(axis))
    if norm == 0.0:
        raise element.error("an axis must not be zero")
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis / norm)])


def robot_from_mjcf(root: Element) -> Robot:
    """The bodies, joints and notes of an MJCF file."""
    reader = _Reader(root)
    robot = reader.read(root)
    robot.notes.append("friction of a pair is the geometric mean of both bodies' here, the larger one in MuJoCo")
    return robot
