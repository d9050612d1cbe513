"""URDF into a scene: links with collision shapes and joints; the rest is listed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.io.models.robot import ImportOptions, Robot
from stickslip.io.models.robot_links import Axis, Link
from stickslip.io.models.robot_shapes import Geometry, Pose, Surface, box, capsule, cylinder, half_space, sphere, tensor
from stickslip.io.models.robot_ties import Coupling
from stickslip.io.models.xml_text import Element, unread
from stickslip.scenes.shapes import quaternion_product, turn_from_z

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "spherical": "spherical"}
_DECORATION = frozenset(
    [
        "name",
        "version",
        "visual",
        "material",
        "color",
        "texture",
        "rgba",
        "group",
        "sensor",
        "gazebo",
        "transmission",
        "mujoco",
        "drake:tag",
        "xmlns:xacro",
        "xmlns:drake",
        "xmlns:xsi",
        "xmlns",
        "verbose",
        "hardwareInterface",
        "concave",
    ]
)
_ENVIRONMENT = re.compile(r"\$\(optenv\s+\w+\s+([^()]*)\)")
_TWO_POINTS = re.compile(r"(?<!\S)([-+]?\d*\.\d+)\.(?!\S)")


def robot_from_urdf(root: Element, options: ImportOptions) -> Robot:
    """The links, joints and notes of a URDF file; a root link without mass is held, others move freely."""
    robot = Robot(root.attribute("name", "robot"), options, Path(root.file).parent)
    _fill_in(root, robot)
    links = {link.text("name"): link for link in root.all("link")}
    children: dict[str, list[Element]] = {}
    held = set()
    for joint in root.all("joint"):
        parent, child = (_end(joint, tag, links) for tag in ("parent", "child"))
        if child in held:
            raise joint.error(f"link {child!r} has two parents")
        held.add(child)
        children.setdefault(parent, []).append(joint)
    roots = [name for name in links if name not in held]
    if not roots:
        raise root.error("the links form a loop: none is without a parent" if links else "there is no link")
    for name in roots:
        link = _link(robot, links[name], None, Pose())
        todo = [(joint, link) for joint in children.get(name, [])]
        while todo:
            joint, parent_link = todo.pop(0)
            made = _joint(robot, links, joint, parent_link)
            todo[:0] = [(further, made) for further in children.get(_end(joint, "child", links), [])]
    robot.notes.extend(unread(root, _DECORATION))
    return robot


def _fill_in(element: Element, robot: Robot) -> None:
    """Replace $(optenv NAME value) by the value, and a number with a second point at its end by the number."""
    for name, text in element.attributes.items():
        if "$(optenv" in text:
            element.attributes[name] = _ENVIRONMENT.sub(r"\1", text)
            robot.leave_out(element, f"{name} = {text[:60]!r}: the value in it is taken, not that of the environment")
        if _TWO_POINTS.search(text):
            element.attributes[name] = _TWO_POINTS.sub(r"\1", text)
            robot.leave_out(element, f"{name} = {text[:60]!r}: taken as {element.attributes[name][:60]!r}")
    for child in element.children:
        _fill_in(child, robot)


def _end(joint: Element, tag: str, links: dict[str, Element]) -> str:
    end = joint.first(tag)
    if end is None:
        raise joint.error(f"<{tag}> is missing")
    name = end.text("link")
    if name not in links:
        raise end.error(f"there is no link {name!r}")
    return name


def _link(robot: Robot, element: Element, parent: Link | None, place: Pose) -> Link:
    name = element.text("name")
    link = Link(robot.unique(name) if name != "world" else "world link", parent, place)
    surface = _surface(robot, element)
    for collision in element.all("collision"):
        geometry = _geometry(robot, collision, surface)
        if geometry is not None:
            link.geometries.append(geometry)
    inertial = element.first("inertial")
    if inertial is not None:
        _inertial(inertial, link)
    elif parent is None:
        link.mass = 0.0
    if parent is None:
        link.free = link.weighed() is not None
        link.held = not link.free
        why = "moves freely; --base fixed holds it" if link.free else "is held: it has no mass"
        robot.notes.append(f"the root link {name!r} {why}")
    elif inertial is None and link.geometries:
        robot.notes.append(f"link {name!r} has no <inertial>: its mass is that of its shapes with 1000 kg/m^3")
    return robot.add(element, link)


def _surface(robot: Robot, element: Element) -> Surface:
    """The laws of contact that Bullet reads from a link."""
    values: dict[str, float] = {}
    for contact in element.all("contact"):
        for key, tag in (("friction", "lateral_friction"), ("restitution", "restitution")):
            found = contact.first(tag)
            if found is not None:
                values[key] = (
                    found.number("value") if found.has("value") else found.read_numbers(found.words, tag, 1)[0]
                )
    return Surface(values.get("friction"), values.get("restitution"))


def _joint(robot: Robot, links: dict[str, Element], joint: Element, parent: Link) -> Link:
    """Add a joint with the link that it carries."""
    link = _link(robot, links[_end(joint, "child", links)], parent, _origin(joint))
    kind = joint.text("type")
    if kind == "floating":
        link.free = True
    elif kind == "planar":
        normal = _direction(joint)
        frame = Pose(np.zeros(3), turn_from_z(normal))
        name = joint.text("name", f"{link.name} joint")
        for suffix, sort, axis in ((" x", "prismatic", 0), (" y", "prismatic", 1), (" turn", "revolute", 2)):
            link.axes.append(Axis(name + suffix, sort, np.zeros(3), frame.direction(np.eye(3)[axis])))
    elif kind in _KINDS:
        made = Axis(joint.text("name", f"{link.name} joint"), _KINDS[kind], np.zeros(3), _direction(joint))
        link.axes.append(made)
        _details(robot, joint, made, kind)
    elif kind != "fixed":
        raise joint.error(
            f"the type must be one of {', '.join((*_KINDS, 'fixed', 'floating', 'planar'))}, got {kind[:40]!r}"
        )
    for found in joint.all("mimic"):
        own, what = joint.text("name", ""), f"<mimic> of joint {joint.text('name', '')!r}"
        ratio, offset = found.number("multiplier", 1.0), found.number("offset", 0.0)
        robot.couplings.append(Coupling(own, found.text("joint"), ratio, offset, found.line, what))
    for tag in ("safety_controller", "calibration"):
        for found in joint.all(tag):
            found.used |= set(found.attributes)
            robot.leave_out(found, f"<{tag}> of joint {joint.text('name', '')!r}")
    return link


def _direction(joint: Element) -> np.ndarray:
    axis = joint.first("axis")
    direction = np.array(axis.numbers("xyz", 3) if axis is not None and axis.has("xyz") else [1.0, 0.0, 0.0])
    if not direction.any():
        raise (axis or joint).error("xyz must not be zero")
    return np.asarray(direction / np.linalg.norm(direction))


def _details(robot: Robot, joint: Element, axis: Axis, kind: str) -> None:
    limit = joint.first("limit")
    if limit is not None:
        low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if kind in ("revolute", "prismatic") and low < high:
            axis.limits = (low, high)
        elif kind == "spherical" or low > high or (low, high) != (0.0, 0.0):
            robot.leave_out(
                limit, f"limits {low:g} .. {high:g} of joint {axis.name!r}, which leave no way or do not count"
            )
        if [limit.has("effort"), limit.has("velocity")] != [False, False]:
            robot.notes.append("largest effort and velocity of joints are those of drives: give motors with effort=")
    dynamics = joint.first("dynamics")
    if dynamics is not None:
        axis.friction, axis.damping = dynamics.number("friction", 0.0), dynamics.number("damping", 0.0)
        if kind == "spherical" and (axis.friction or axis.damping):
            robot.leave_out(dynamics, f"damping and friction of the ball joint {axis.name!r}")


def _origin(element: Element) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return Pose()
    turn = turn_of(*first_three(origin, "rpy"))
    return Pose(np.array(first_three(origin, "xyz")), turn)


def first_three(element: Element, name: str) -> list[float]:
    """Three numbers; further ones are of no use and are left."""
    values = element.numbers(name, None, [0.0, 0.0, 0.0])
    if len(values) < 3:
        raise element.error(f"{name} must be 3 numbers, got {len(values)}")
    return values[:3]


def turn_of(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Quaternion of angles about fixed axes: R = R_z(yaw) R_y(pitch) R_x(roll)."""
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):
        step = np.array([math.cos(0.5 * angle), 0.0, 0.0, 0.0])
        step[1 + axis] = math.sin(0.5 * angle)
        turn = quaternion_product(turn, step)
    return turn


def _inertial(element: Element, link: Link) -> None:
    mass, inertia = element.first("mass"), element.first("inertia")
    if mass is None:
        raise element.error("<mass> is needed")
    pose = _origin(element)
    link.mass = mass.number("value") if mass.has("value") else mass.read_numbers(mass.words, "mass", 1)[0]
    if link.mass < 0.0:
        raise mass.error(f"value must not be negative, got {link.mass:g}")
    if inertia is None:
        return
    xx, yy, zz = (inertia.number(name, 0.0) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name, 0.0) for name in ("ixy", "ixz", "iyz"))
    link.centre = pose.position
    link.inertia = tensor(pose.turn, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _geometry(robot: Robot, collision: Element, surface: Surface) -> Geometry | None:
    holder, pose = collision.first("geometry"), _origin(collision)
    found = holder.children[0] if holder is not None and holder.children else None
    if found is None:
        raise collision.error("<geometry> is missing or empty")
    found.read = True
    more: dict[str, Any] = {"surface": surface}
    if found.tag == "box":
        return box(found.numbers("size", 3), pose, **more)
    if found.tag == "sphere":
        return sphere(found.number("radius"), pose, **more)
    if found.tag == "cylinder":
        robot.leave_out(found, "a cylinder, carried over as a prism with 24 sides; its mass is exact")
        return cylinder(found.number("radius"), found.number("length"), pose, **more)
    if found.tag == "capsule":
        return capsule(found.number("radius"), found.number("length"), pose, **more)
    if found.tag == "plane":
        normal = np.array(found.numbers("normal", 3, [0.0, 0.0, 1.0]))
        return half_space(pose.then(Pose(np.zeros(3), turn_from_z(normal / np.linalg.norm(normal)))), **more)
    if found.tag == "mesh":
        scale = found.numbers("scale", None, [1.0, 1.0, 1.0])
        scale = scale[:3] if len(scale) >= 3 else scale[:1] * 3
        return robot.mesh(found, found.attribute("filename"), scale, pose, **more)
    robot.leave_out(found, f"a collision shape <{found.tag}>")
    return None
