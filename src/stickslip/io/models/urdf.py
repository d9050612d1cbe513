"""URDF into a scene: links with primitive collision shapes and joints; the rest is listed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.io.models.robot import Geometry, Link, Pose, Robot, box, cylinder, sphere, tensor
from stickslip.io.models.xml_text import Element
from stickslip.scenes.shapes import quaternion_product

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}


def robot_from_urdf(root: Element) -> Robot:
    """The links, joints and notes of a URDF file; a root link without inertia is held, others move freely."""
    robot = Robot(root.attributes.get("name", "robot"))
    links = {link.text("name"): link for link in root.all("link")}
    joints = root.all("joint")
    children: dict[str, list[Element]] = {}
    held = set()
    for joint in joints:
        parent, child = (_end(joint, tag, links) for tag in ("parent", "child"))
        if child in held:
            raise joint.error(f"link {child!r} has two parents")
        held.add(child)
        children.setdefault(parent, []).append(joint)
    roots = [name for name in links if name not in held]
    if not roots:
        raise root.error("the links form a loop: none is without a parent")
    for name in roots:
        link = _link(robot, links[name], Pose(), root=True)
        for joint in children.get(name, []):
            _joint(robot, links, children, joint, link)
    for element in root.children:
        if element.tag not in ("link", "joint"):
            robot.leave_out(element, f"<{element.tag}>")
    return robot


def _end(joint: Element, tag: str, links: dict[str, Element]) -> str:
    end = joint.first(tag)
    if end is None:
        raise joint.error(f"<{tag}> is missing")
    name = end.text("link")
    if name not in links:
        raise end.error(f"there is no link {name!r}")
    return name


def _link(robot: Robot, element: Element, pose: Pose, root: bool) -> Link:
    name = element.text("name")
    link = Link(robot.unique(name) if name != "world" else "world link", pose)
    inertial = element.first("inertial")
    for collision in element.all("collision"):
        geometry = _geometry(robot, collision)
        if geometry is not None:
            link.geometries.append(geometry)
    for visual in element.all("visual"):
        robot.leave_out(visual, f"a visual of link {name!r}: shapes are those of <collision>")
    if root:
        link.fixed = inertial is None
        note = "is held: it has no <inertial>" if link.fixed else 'moves freely; give type = "static" to hold it'
        robot.notes.append(f"the root link {name!r} {note}")
    if inertial is not None:
        _inertial(inertial, link)
    elif not root and not link.geometries:
        raise element.error("a link that moves needs <inertial> or a <collision> shape")
    elif not link.fixed:
        robot.notes.append(f"link {name!r} has no <inertial>: its mass is that of its shapes with 1000 kg/m^3")
    robot.links.append(link)
    return link


def _joint(
    robot: Robot, links: dict[str, Element], children: dict[str, list[Element]], joint: Element, parent: Link
) -> None:
    """A joint, the link it carries, and all links behind it."""
    child = _end(joint, "child", links)
    frame = parent.pose.then(_origin(joint))
    link = _link(robot, links[child], frame, root=False)
    _connect(robot, joint, parent, link, frame)
    for further in children.get(child, []):
        _joint(robot, links, children, further, link)


def _connect(robot: Robot, joint: Element, parent: Link, link: Link, frame: Pose) -> None:
    kind = joint.text("type")
    name = parent.name if not parent.fixed or parent.geometries else "world"
    if kind == "floating":
        return
    if kind not in _KINDS:
        robot.leave_out(joint, f"a joint of type {kind!r}; link {link.name!r} is free now")
        return
    at = [float(x) for x in frame.position]
    entry: dict[str, Any] = {"type": _KINDS[kind], "a": name, "b": link.name, "at": at}
    if kind != "fixed":
        axis = joint.first("axis")
        direction = axis.numbers("xyz", 3) if axis is not None else [1.0, 0.0, 0.0]
        entry["axis"] = [float(x) for x in frame.direction(direction)]
        _details(robot, joint, entry, kind)
    robot.joints.append(entry)


def _details(robot: Robot, joint: Element, entry: dict[str, Any], kind: str) -> None:
    limit = joint.first("limit")
    if limit is not None and kind != "continuous":
        low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if low <= 0.0 <= high and low < high:
            entry["limits"] = [low, high]
        else:
            robot.leave_out(limit, f"limits {low:g} .. {high:g}, which do not contain the start or leave no way")
    if limit is not None and ("effort" in limit.attributes or "velocity" in limit.attributes):
        robot.leave_out(limit, "largest effort and velocity of a drive: scenes have no drives by default")
    dynamics = joint.first("dynamics")
    if dynamics is not None:
        if dynamics.number("friction", 0.0) > 0.0:
            entry["friction"] = dynamics.number("friction")
        if dynamics.number("damping", 0.0):
            robot.leave_out(dynamics, "viscous damping of a joint")
    for tag in ("mimic", "safety_controller", "calibration"):
        found = joint.first(tag)
        if found is not None:
            robot.leave_out(found, f"<{tag}> of a joint")


def _origin(element: Element) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return Pose()
    roll, pitch, yaw = origin.numbers("rpy", 3, [0.0, 0.0, 0.0])
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):  # fixed axes: R = R_z(yaw) R_y(pitch) R_x(roll)
        step = np.array([math.cos(0.5 * angle), 0.0, 0.0, 0.0])
        step[1 + axis] = math.sin(0.5 * angle)
        turn = quaternion_product(turn, step)
    return Pose(np.array(origin.numbers("xyz", 3, [0.0, 0.0, 0.0])), turn)


def _inertial(element: Element, link: Link) -> None:
    mass, inertia = element.first("mass"), element.first("inertia")
    if mass is None or inertia is None:
        raise element.error("<mass> and <inertia> are needed")
    pose = _origin(element)
    xx, yy, zz = (inertia.number(name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name, 0.0) for name in ("ixy", "ixz", "iyz"))
    link.mass, link.centre = mass.number("value"), pose.position
    link.inertia = tensor(pose.turn, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _geometry(robot: Robot, collision: Element) -> Geometry | None:
    holder, pose = collision.first("geometry"), _origin(collision)
    found = holder.children[0] if holder is not None and holder.children else None
    if found is None:
        raise collision.error("<geometry> is missing or empty")
    if found.tag == "box":
        return box(found.numbers("size", 3), pose)
    if found.tag == "sphere":
        return sphere(found.number("radius"), pose)
    if found.tag == "cylinder":
        robot.leave_out(found, "a cylinder, carried over as a prism with 24 sides")
        return cylinder(found.number("radius"), found.number("length"), pose)
    robot.leave_out(found, f"a collision shape <{found.tag}>")
    return None
