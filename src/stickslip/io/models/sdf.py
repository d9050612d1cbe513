"""SDF (Gazebo's format) into a scene: models with links and joints; the rest is listed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.io.models.robot import MOST_LINKS, ImportOptions, Robot
from stickslip.io.models.robot_links import Axis, Link
from stickslip.io.models.robot_shapes import Geometry, Pose, Surface, box, capsule, cylinder, half_space, sphere, tensor
from stickslip.io.models.robot_ties import Coupling
from stickslip.io.models.urdf import turn_of
from stickslip.io.models.xml_text import Element, unread
from stickslip.scenes.shapes import turn_from_z

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "spherical"}
_DECORATION = frozenset(
    [
        "name",
        "version",
        "visual",
        "material",
        "sensor",
        "plugin",
        "light",
        "scene",
        "gui",
        "physics",
        "laser_retro",
        "frame_id",
        "expressed_in",
        "audio_source",
        "audio_sink",
        "projector",
        "battery",
        "particle_emitter",
        "spherical_coordinates",
        "magnetic_field",
        "atmosphere",
        "wind",
        "use_parent_model_frame",
        "model_name",
        "concave",
    ]
)
_NO_LIMIT = 1e15  # Gazebo writes 1e16 where there is none


class _Model:
    """Links and joints of one <model>."""

    def __init__(self, robot: Robot, element: Element, frame: Pose) -> None:
        self.robot, self.element = robot, element
        self.frame = frame.then(_pose(element))
        self.static = element.content("static", "0") in ("1", "true")
        self.links = {link.text("name"): link for link in element.all("link")}
        self.made: dict[str, Link] = {}
        self.poses: dict[str, Pose] = {}
        self.joints: dict[str, tuple[Element, str]] = {}
        if element.content("self_collide", "0") in ("0", "false") and element.first("self_collide") is not None:
            names = [*self.links]
            if len(names) > MOST_LINKS:  # before their pairs fill the memory
                raise element.error(f"a robot may have at most {MOST_LINKS} links")
            robot.exclude.extend((a, b) for i, a in enumerate(names) for b in names[:i])
        for joint in element.all("joint"):
            parent, child = joint.content("parent"), joint.content("child")
            for end in (parent, child):
                if end not in self.links and end != "world":
                    raise joint.error(f"there is no link {end[:60]!r}")
            if child in self.joints or child == "world":
                robot.leave_out(
                    joint, f"the joint {joint.text('name')!r}: its child has a joint already, or is the world"
                )
                continue
            self.joints[child] = (joint, parent)

    def read(self) -> None:
        for name in self.links:
            self._link(name, ())
        for inner in self.element.all("model"):
            _Model(self.robot, inner, self.frame).read()

    def _at(self, name: str) -> Pose:
        """The pose of a link in the world, where the file draws it."""
        if name not in self.poses:
            self.poses[name] = self._found(name)
        return self.poses[name]

    def _found(self, name: str) -> Pose:
        element = self.links[name]
        pose = element.first("pose")
        other = pose.attribute("relative_to") or pose.attribute("frame") if pose is not None else ""
        if other in self.links and other != name:
            return self._at(other).then(_pose(element))
        return self.frame.then(_pose(element))

    def _link(self, name: str, above: tuple[str, ...]) -> Link:
        if name in self.made:
            return self.made[name]
        if name in above:
            raise self.links[name].error(f"the joints of link {name!r} form a loop")
        element, place = self.links[name], self._at(name)
        joint, parent = self.joints.get(name, (None, ""))
        above_link = self._link(parent, (*above, name)) if joint is not None and parent in self.links else None
        own = place if above_link is None else self._at(parent).back().then(place)
        link = Link(self.robot.unique(name if name != "world" else "world link"), above_link, own, held=self.static)
        for collision in element.all("collision"):
            geometry = self._geometry(collision, self._surface(element, collision))
            if geometry is not None:
                link.geometries.append(geometry)
        inertial = element.first("inertial")
        if inertial is not None:
            self._inertial(inertial, link)
        else:
            link.mass, link.centre, link.inertia = 1.0, np.zeros(3), np.eye(3)  # what the format says
        if joint is None:
            link.free = not self.static and link.weighed() is not None
            link.held = not link.free
        else:
            self._joint(joint, link, place)
        self.made[name] = self.robot.add(element, link)
        return link

    def _inertial(self, element: Element, link: Link) -> None:
        pose, mass = _pose(element), element.values("mass", 1, [1.0])[0]
        inertia = element.first("inertia")
        link.mass, link.centre = mass, pose.position
        values = {}
        for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
            values[key] = float(key in ("ixx", "iyy", "izz"))  # what the format says where there is none
            if inertia is not None:
                values[key] = inertia.values(key, 1, [values[key]])[0]
        xx, yy, zz, xy, xz, yz = values.values()
        link.inertia = tensor(pose.turn, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def _surface(self, link: Element, collision: Element) -> Surface:
        friction = restitution = None
        for surface in collision.all("surface"):
            for holder in surface.all("friction"):
                for ode in holder.all("ode"):
                    friction = ode.values("mu", 1, [1.0])[0]
            for bounce in surface.all("bounce"):
                restitution = bounce.values("restitution_coefficient", 1, [0.0])[0]
        for contact in link.all("contact"):
            found = contact.first("lateral_friction")
            if found is not None:
                friction = (
                    found.number("value") if found.has("value") else found.read_numbers(found.words, found.tag, 1)[0]
                )
        return Surface(friction, restitution)

    def _geometry(self, collision: Element, surface: Surface) -> Geometry | None:
        pose, holder = _pose(collision), collision.first("geometry")
        found = holder.children[0] if holder is not None and holder.children else None
        if found is None:
            raise collision.error("<geometry> is missing or empty")
        found.read = True
        more: dict[str, Any] = {"surface": surface}
        if found.tag == "box":
            return box(found.values("size", 3), pose, **more)
        if found.tag == "sphere":
            return sphere(found.values("radius", 1)[0], pose, **more)
        if found.tag == "capsule":
            return capsule(found.values("radius", 1)[0], found.values("length", 1)[0], pose, **more)
        if found.tag == "cylinder":
            self.robot.leave_out(found, "a cylinder, carried over as a prism with 24 sides; its mass is exact")
            return cylinder(found.values("radius", 1)[0], found.values("length", 1)[0], pose, **more)
        if found.tag == "plane":
            normal = np.array(found.values("normal", 3, [0.0, 0.0, 1.0]))
            found.all("size")
            if not normal.any():
                raise found.error("normal must not be zero")
            return half_space(pose.then(Pose(np.zeros(3), turn_from_z(normal / np.linalg.norm(normal)))), **more)
        if found.tag == "mesh":
            scale = found.values("scale", 3, [1.0, 1.0, 1.0])
            return self.robot.mesh(found, found.content("uri"), scale, pose, **more)
        self.robot.leave_out(found, f"a collision shape <{found.tag}>")
        return None

    def _joint(self, joint: Element, link: Link, place: Pose) -> None:
        kind, name = joint.text("type"), joint.text("name")
        if kind == "fixed":
            return
        if kind not in _KINDS and kind != "universal":
            self.robot.leave_out(joint, f"the joint {name!r} of type {kind[:40]!r}: its link is free now")
            link.free = True
            return
        at = _pose(joint).position  # in the frame of the child
        sorts = ["revolute", "revolute"] if kind == "universal" else [_KINDS[kind]]
        for sort, tag in zip(sorts, ("axis", "axis2"), strict=False):
            axis = joint.first(tag)
            direction = np.array(axis.values("xyz", 3, [0.0, 0.0, 1.0]) if axis is not None else [0.0, 0.0, 1.0])
            if axis is not None and axis.content("use_parent_model_frame", "0") in ("1", "true"):
                direction = place.back().direction(self.frame.direction(direction))
            if not direction.any():
                raise joint.error("xyz of <axis> must not be zero")
            made = Axis(name if tag == "axis" else f"{name} 2", sort, at, direction / np.linalg.norm(direction))
            link.axes.append(made)
            if axis is not None and sort != "spherical":
                self._details(axis, made, kind)

    def _details(self, axis: Element, made: Axis, kind: str) -> None:
        for limit in axis.all("limit"):
            low, high = (limit.values(key, 1, [d])[0] for key, d in (("lower", -1e16), ("upper", 1e16)))
            if low < high and kind != "continuous" and (low > -_NO_LIMIT or high < _NO_LIMIT):
                made.limits = (low if low > -_NO_LIMIT else -math.inf, high if high < _NO_LIMIT else math.inf)
            elif low >= high:
                self.robot.leave_out(limit, f"limits {low:g} .. {high:g} of joint {made.name!r}, which leave no way")
            if limit.all("effort") or limit.all("velocity"):
                self.robot.notes.append(
                    "largest effort and velocity of joints are those of drives: give motors with effort="
                )
        for mimic in axis.all("mimic"):
            numbers = {key: mimic.values(key, 1, [d])[0] for key, d in (("multiplier", 1.0), ("offset", 0.0))}
            offset = numbers["offset"] - numbers["multiplier"] * mimic.values("reference", 1, [0.0])[0]
            what = f"<mimic> of joint {made.name!r}"
            leader = mimic.text("joint")
            self.robot.couplings.append(Coupling(made.name, leader, numbers["multiplier"], offset, mimic.line, what))
        for dynamics in axis.all("dynamics"):
            made.damping = max(0.0, dynamics.values("damping", 1, [0.0])[0])
            made.friction = max(0.0, dynamics.values("friction", 1, [0.0])[0])
            made.stiffness = max(0.0, dynamics.values("spring_stiffness", 1, [0.0])[0])
            made.rest = dynamics.values("spring_reference", 1, [0.0])[0]


def _pose(element: Element) -> Pose:
    x, y, z, roll, pitch, yaw = element.values("pose", 6, [0.0] * 6)
    return Pose(np.array([x, y, z]), turn_of(roll, pitch, yaw))


def robot_from_sdf(root: Element, options: ImportOptions) -> Robot:
    """The models, links, joints and notes of an SDF file; models without mass or with <static> are held."""
    robot = Robot("sdf", options, Path(root.file).parent)
    for holder in (root, *root.all("world")):
        if holder.tag == "world":
            robot.name = holder.attribute("name", robot.name)
            robot.gravity = holder.values("gravity", 3, robot.gravity)
        for model in holder.all("model"):
            robot.name = model.text("name", robot.name) if robot.name == "sdf" else robot.name
            _Model(robot, model, Pose()).read()
    robot.notes.extend(unread(root, _DECORATION))
    return robot
