"""MuJoCo's MJCF into a scene: rigid bodies with shapes, their joints and simple drives; the rest is listed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.io.models.mjcf_ties import Sites, joint_equality, read_tendons, tendon_equality, tendon_motor
from stickslip.io.models.robot import ImportOptions, Robot
from stickslip.io.models.robot_links import Axis, Link
from stickslip.io.models.robot_shapes import (
    Geometry,
    Pose,
    Surface,
    between,
    box,
    capsule,
    cylinder,
    ellipsoid,
    half_space,
    sphere,
    tensor,
)
from stickslip.io.models.xml_text import MOST_ATTRIBUTES, Element, read_xml, unread
from stickslip.scenes.shapes import IDENTITY, quaternion_product, rotation_matrix, turn_from_z

DECORATION = frozenset(
    [
        "name",
        "class",
        "rgba",
        "material",
        "group",
        "user",
        "texture",
        "light",
        "camera",
        "site",
        "visual",
        "statistic",
        "size",
        "custom",
        "text",
        "numeric",
        "tuple",
        "skin",
        "emission",
        "specular",
        "shininess",
        "reflectance",
        "nuser_geom",
        "nkey",
        "njmax",
        "nconmax",
        "nstack",
        "memory",
    ]
)
"""Attributes and elements that change no motion."""
_SOFT = {
    "solref": "contacts and limits are hard here",
    "solimp": "contacts and limits are hard here",
    "solreflimit": "contacts and limits are hard here",
    "solimplimit": "contacts and limits are hard here",
    "solreffriction": "dry friction is exact here",
    "solimpfriction": "dry friction is exact here",
    "margin": "contacts are felt where they touch",
    "gap": "contacts are felt where they touch",
    "solmix": "contacts and limits are hard here",
}
_DEPTH = 8  # of files that include others


class _Reader:
    def __init__(self, root: Element, robot: Robot) -> None:
        self.robot, self.root = robot, root
        self.merged: list[Element] = []  # elements with the attributes of their classes
        self.compiler: dict[str, str] = {}
        for entry in root.all("compiler"):
            self.compiler |= entry.attributes
            entry.used |= {
                "angle", "eulerseq", "autolimits", "coordinate", "settotalmass", "inertiafromgeom", "boundmass",
                "boundinertia", "balanceinertia", "meshdir", "assetdir", "inertiagrouprange",
                "texturedir", "discardvisual", "fusestatic", "strippath", "usethread", "fitaabb", "alignfree",
            }  # fmt: skip
        settings = self.compiler
        self.degrees = settings.get("angle", "degree") == "degree"
        self.sequence = settings.get("eulerseq", "xyz")
        if len(self.sequence) != 3 or set(self.sequence.lower()) - set("xyz"):
            raise root.error(f"eulerseq must be three of the letters x, y, z, got {self.sequence[:10]!r}")
        self.limits = settings.get("autolimits", "true") == "true"
        self.whole = settings.get("coordinate", "local") == "global"
        self.from_geoms = settings.get("inertiafromgeom", "auto")
        self.groups = [float(x) for x in settings.get("inertiagrouprange", "0 5").split()]
        robot.larger_friction = True
        robot.least_mass = float(settings.get("boundmass", "0") or 0.0)
        robot.least_inertia = float(settings.get("boundinertia", "0") or 0.0)
        robot.balanced = settings.get("balanceinertia", "false") == "true"
        total = float(settings.get("settotalmass", "-1"))
        robot.total_mass = total if total > 0.0 else None
        folder = settings.get("meshdir", settings.get("assetdir", ""))
        self.folder = robot.folder / folder if folder else robot.folder
        self.defaults: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for entry in root.all("default"):
            self._default(entry, self.defaults["main"], "main")
        self.meshes = {name: mesh for mesh in self._assets("mesh") if (name := _asset_name(mesh))}
        self.soft: dict[str, int] = {}
        self.sites = Sites()

    # -- defaults and frames -------------------------------------------------------------------------------------------

    def _assets(self, tag: str) -> list[Element]:
        return [self.with_defaults(child, "main") for entry in self.root.all("asset") for child in entry.all(tag)]

    def _default(self, entry: Element, inherited: dict[str, dict[str, str]], name: str) -> None:
        own = {tag: dict(values) for tag, values in inherited.items()}
        for child in entry.children:
            child.read = True
            if child.tag != "default":
                child.used |= set(child.attributes)  # those of the elements that take them are looked at
                own[child.tag] = {**own.get(child.tag, {}), **child.attributes}
        self.defaults[name] = self.defaults[entry.attribute("class", name)] = own
        for child in entry.all("default"):
            self._default(child, own, child.text("class"))

    def with_defaults(self, element: Element, kind: str) -> Element:
        """The element with the attributes of its class filled in."""
        name = element.attribute("class", kind)
        if name not in self.defaults:
            raise element.error(f"the class {name!r} is not defined")
        values = {**self.defaults[name].get(element.tag, {}), **element.attributes}
        if len(values) > MOST_ATTRIBUTES:
            raise element.error(f"a tag and its classes may have {MOST_ATTRIBUTES} attributes, got {len(values)}")
        element.used |= set(element.attributes)
        element.read = True
        found = Element(element.tag, values, element.line, element.file, element.children, read=True)
        self.merged.append(found)
        return found

    def angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def pose(self, element: Element) -> Pose:
        return Pose(np.array(element.numbers("pos", 3, [0.0, 0.0, 0.0])), self.turn(element))

    def turn(self, element: Element) -> np.ndarray:
        if element.has("quat"):
            turn = np.array(element.numbers("quat", 4))
            if not turn.any():
                raise element.error("quat must not be zero")
            return np.asarray(turn / np.linalg.norm(turn))
        if element.has("axisangle"):
            *axis, angle = element.numbers("axisangle", 4)
            return _about(np.array(axis), self.angle(angle), element)
        if element.has("euler"):
            turn = IDENTITY
            for letter, value in zip(self.sequence, element.numbers("euler", 3), strict=True):
                step = _about(np.eye(3)["xyz".index(letter.lower())], self.angle(value), element)
                turn = quaternion_product(turn, step) if letter.islower() else quaternion_product(step, turn)
            return turn
        if element.has("zaxis"):
            z = np.array(element.numbers("zaxis", 3))
            return turn_from_z(z / np.linalg.norm(z)) if z.any() else IDENTITY.copy()
        if element.has("xyaxes"):
            values = np.array(element.numbers("xyaxes", 6))
            return _from_axes(values[:3], values[3:], element)
        return IDENTITY.copy()

    # -- the tree ------------------------------------------------------------------------------------------------------

    def read(self) -> Robot:
        root, robot = self.root, self.robot
        for child in root.all("option"):
            self._option(child)
        for child in root.all("worldbody"):
            self._body(child, Link("", None, Pose(), held=True), "main", Pose())
        for child in root.all("contact"):
            self._contact(child)
        for child in root.all("tendon"):
            read_tendons(robot, child, self.sites, self.limits)
        for child in root.all("equality"):
            self._equality(child)
        for child in root.all("actuator"):
            self._actuators(child)
        for name, count in self.soft.items():
            robot.notes.append(f"{name} of {count} geoms and joints: {_SOFT[name]}")
        for element in self.merged:  # with what their classes gave them
            holder = Element("mujoco", {}, 0, element.file, [replace(element, children=[])])
            robot.notes.extend(unread(holder, DECORATION))
        robot.notes.extend(unread(root, DECORATION))
        return robot

    def _option(self, element: Element) -> None:
        self.robot.gravity = element.numbers("gravity", 3, self.robot.gravity)
        self.robot.dt = element.number("timestep", 0.002)
        for flag in element.all("flag"):
            if flag.attribute("gravity") == "disable":
                self.robot.gravity = [0.0, 0.0, 0.0]
            if flag.attribute("contact") == "disable":
                self.robot.contacts = False

    def _body(self, element: Element, link: Link, kind: str, frame: Pose) -> None:
        """Read the children of a body; `frame` is where a <frame> puts them in the link."""
        for child in element.children:
            if child.tag == "geom":
                self._geom(self.with_defaults(child, kind), link, frame)
            elif child.tag == "frame":
                child.read = True
                inner = child.attribute("childclass", kind)
                self._body(child, link, inner, frame.then(self.pose(child)))
            elif child.tag == "site":
                place = frame.then(self.pose(child))
                at = self._local(link, place).position if link.name else place.position
                self.sites.points.setdefault(child.attribute("name"), (link.name or None, at))
            elif child.tag == "inertial":
                child.read = True
                self._inertial(child, link)
            elif child.tag == "body":
                child.read = True
                self._link(child, None if not link.name else link, kind, frame)

    def _link(self, element: Element, parent: Link | None, kind: str, frame: Pose) -> None:
        kind = element.attribute("childclass", kind)
        if kind not in self.defaults:
            raise element.error(f"the class {kind!r} is not defined")
        own = frame.then(self.pose(element))
        place = own if parent is None else self._local(parent, own)
        link = Link(self.robot.unique(element.attribute("name", "body")), parent, place)
        link.pose = own if self.whole or parent is None else parent.pose.then(place)
        joints = [self.with_defaults(child, kind) for child in element.all("joint")]
        link.free = bool(element.all("freejoint")) or any(j.attribute("type") == "free" for j in joints)
        if element.attribute("mocap") == "true":
            link.held = True
            self.robot.leave_out(element, f"mocap: body {link.name!r} is held; nothing leads it")
        link.gravity_compensation = element.number("gravcomp", 0.0)
        self.robot.add(element, link)
        for joint in joints:
            if joint.attribute("type") not in ("free", "fixed"):
                self._joint(joint, link)
        self._body(element, link, kind, Pose())

    def _local(self, link: Link, pose: Pose) -> Pose:
        """A pose of the file in the frame of a link: as it is, or out of the world's."""
        return link.pose.back().then(pose) if self.whole else pose

    def _inertial(self, element: Element, link: Link) -> None:
        if self.from_geoms == "true":
            element.used |= set(element.attributes)
            self.robot.leave_out(element, f"<inertial> of body {link.name!r}: inertiafromgeom is true")
            return
        pose = self._local(link, self.pose(element))
        link.mass, link.centre = element.number("mass"), pose.position
        if element.has("fullinertia"):
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        elif element.has("diaginertia"):
            inertia = np.diag(element.numbers("diaginertia", 3))
        else:
            link.centre = None
            self.robot.leave_out(
                element, f"<inertial> of body {link.name!r} has no inertia: that of its shapes is taken"
            )
            return
        link.inertia = tensor(pose.turn, inertia)

    # -- shapes --------------------------------------------------------------------------------------------------------

    def _geom(self, geom: Element, link: Link, frame: Pose) -> None:
        made = self._geometry(geom)
        if made is None:
            return
        group = geom.number("group", 0.0)
        if self.from_geoms != "false" and not self.groups[0] <= group <= self.groups[-1]:
            made = replace(made, mass=0.0)
        made = replace(made, pose=frame.then(made.pose))
        if link.name:
            link.geometries.append(replace(made, pose=self._local(link, made.pose)))
            return
        name = self.robot.unique(geom.attribute("name", "ground"))
        ground = Link(name, None, made.pose, [replace(made, pose=Pose())], held=True)
        self.robot.add(geom, ground)

    def _geometry(self, geom: Element) -> Geometry | None:
        kind = geom.attribute("type", "sphere")
        for name in _SOFT:
            if geom.has(name):
                self.soft[name] = self.soft.get(name, 0) + 1
        friction, *turning = geom.numbers("friction", None, [1.0])
        condim = int(geom.number("condim", 3.0))
        if (condim > 3 and any(turning)) or condim > 3:
            self.robot.leave_out(geom, f"condim {condim}: torsional and rolling friction")
        surface = Surface(
            friction, None, int(geom.number("contype", 1.0)), int(geom.number("conaffinity", 1.0)), condim,
            int(geom.number("priority", 0.0)),
        )  # fmt: skip
        shell = geom.attribute("shellinertia") == "true"
        more: dict[str, Any] = {
            "density": geom.number("density", 1000.0),
            "surface": surface,
            "touches": bool(surface.contype or surface.conaffinity),
        }
        if geom.has("mass"):
            more["mass"] = geom.number("mass")
        pose = self.pose(geom)
        if kind == "plane":
            return half_space(pose, surface=surface, touches=more["touches"])
        if kind == "mesh" or geom.has("mesh"):
            return self._mesh(geom, kind, pose, shell, more)
        size = geom.numbers("size", None, [0.0])
        if geom.has("fromto") and kind in ("capsule", "cylinder", "box", "ellipsoid"):
            ends = geom.numbers("fromto", 6)
            pose, length = between(ends[:3], ends[3:])
            thick = [size[0], size[0]]
            size = [size[0], 0.5 * length] if kind in ("capsule", "cylinder") else [*thick, 0.5 * length]
        wanted = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
        if kind not in wanted:
            self.robot.leave_out(geom, f"a geom of type {kind}, which has no shape here (its mass as well)")
            return None
        if len(size) < wanted[kind]:
            raise geom.error(f"size of a {kind} must be {wanted[kind]} numbers, got {len(size)}")
        if kind == "sphere":
            return sphere(size[0], pose, shell, **more)
        if kind == "box":
            return box([2.0 * x for x in size[:3]], pose, shell, **more)
        if kind == "ellipsoid":
            self.robot.leave_out(geom, "an ellipsoid, carried over as a hull with 64 corners; its mass is exact")
            if shell:
                self.robot.leave_out(geom, "shellinertia of an ellipsoid")
            return ellipsoid(size[:3], pose, **more)
        if kind == "capsule":
            return capsule(size[0], 2.0 * size[1], pose, shell, **more)
        self.robot.leave_out(geom, "a cylinder, carried over as a prism with 24 sides; its mass is exact")
        return cylinder(size[0], 2.0 * size[1], pose, shell, **more)

    def _mesh(self, geom: Element, kind: str, pose: Pose, shell: bool, more: dict[str, Any]) -> Geometry | None:
        name = geom.attribute("mesh")
        if kind != "mesh" or name not in self.meshes:
            why = "fitted to a mesh" if kind != "mesh" else f"with the mesh {name!r}, which is not among the assets"
            self.robot.leave_out(geom, f"a geom of type {kind} {why} (its mass as well)")
            return None
        asset = self.meshes[name]
        scale = asset.numbers("scale", 3, [1.0, 1.0, 1.0])
        if shell or asset.attribute("inertia", "legacy") == "shell":
            self.robot.leave_out(geom, "shellinertia of a mesh: its volume has the mass")
        if not asset.has("file"):
            self.robot.leave_out(asset, f"the mesh {name!r}, which is not a file (its mass as well)")
            return None
        folder, self.robot.folder = self.robot.folder, self.folder
        try:
            return self.robot.mesh(asset, asset.text("file"), scale, pose, **more)
        finally:
            self.robot.folder = folder

    # -- joints --------------------------------------------------------------------------------------------------------

    def _joint(self, joint: Element, link: Link) -> None:
        kind = joint.attribute("type", "hinge")
        if kind not in ("hinge", "slide", "ball"):
            raise joint.error(f"the type must be hinge, slide, ball or free, got {kind!r}")
        at, axis = np.array(joint.numbers("pos", 3, [0.0] * 3)), np.array(joint.numbers("axis", 3, [0.0, 0.0, 1.0]))
        if self.whole:
            back = link.pose.back()
            at, axis = back.point(at), back.direction(axis)
        if not axis.any():
            raise joint.error("axis must not be zero")
        name = joint.attribute("name") or f"{link.name} joint{len(link.axes) + 1 if link.axes else ''}"
        scale = self.angle(1.0) if kind == "hinge" else 1.0
        made = Axis(
            name,
            {"hinge": "revolute", "slide": "prismatic", "ball": "spherical"}[kind],
            at,
            axis / np.linalg.norm(axis),
        )
        link.axes.append(made)
        for soft in _SOFT:
            if joint.has(soft):
                self.soft[soft] = self.soft.get(soft, 0) + 1
        limited = joint.attribute("limited", "auto")
        ranged = joint.has("range") and (limited == "true" or (limited == "auto" and self.limits))
        if kind == "ball":
            for key in ("damping", "armature", "stiffness", "frictionloss"):
                if joint.has(key) and any(joint.numbers(key)):
                    self.robot.leave_out(joint, f"{key} of the ball joint {name!r}")
            if ranged:
                self.robot.leave_out(joint, f"range of the ball joint {name!r}")
            return
        if ranged:
            low, high = (scale * x for x in joint.numbers("range", 2))
            if low > high:
                raise joint.error(f"range must be (least, largest), got {low:g} .. {high:g}")
            made.limits = (low, high)
        made.zero = scale * joint.number("ref", 0.0)
        made.friction = joint.number("frictionloss", 0.0)
        made.damping = joint.number("damping", 0.0)
        made.armature = joint.number("armature", 0.0)
        made.stiffness = joint.number("stiffness", 0.0)
        made.rest = scale * joint.number("springref", 0.0)
        if joint.has("springdamper") and any(joint.numbers("springdamper", 2)):
            self.robot.leave_out(joint, f"springdamper of joint {name!r}")

    def _actuators(self, element: Element) -> None:
        axes = {axis.name: axis for link in self.robot.links for axis in link.axes}
        for child in element.children:
            drive = self.with_defaults(child, "main")
            name = drive.attribute("joint")
            axis = axes.get(name)
            if tendon_motor(self.robot, drive, self.sites, axes):
                continue
            if axis is None or axis.kind == "spherical" or child.tag not in ("motor", "position", "velocity"):
                self.robot.leave_out(child, f"the actuator <{child.tag}> {drive.attribute('name')!r}")
                continue
            gear = drive.numbers("gear", None, [1.0])[0]
            most = max((abs(x) for x in drive.numbers("forcerange", 2, [0.0, 0.0])), default=0.0) * abs(gear)
            motor = {"effort": most} if most > 0.0 else {}
            if child.tag == "motor":
                bound = max(abs(x) for x in drive.numbers("ctrlrange", 2, [0.0, 0.0])) * abs(gear)
                said = f", |torque| <= {bound:g} by ctrlrange and gear" if bound > 0.0 else ""
                self.robot.notes.append(f"the motor of joint {name!r} is sim.joint({name!r}).torque{said}")
                continue
            if axis.stiffness > 0.0:
                self.robot.leave_out(child, f"the actuator of joint {name!r}, which has a spring")
                continue
            if child.tag == "position":
                motor |= {"stiffness": drive.number("kp", 1.0) * gear**2, "damping": drive.number("kv", 0.0) * gear**2}
                self.robot.notes.append(
                    f"the position servo of joint {name!r} is its motor: set sim.joint({name!r}).target"
                )
            else:
                motor |= {"damping": drive.number("kv", 1.0) * gear**2}
                self.robot.notes.append(
                    f"the velocity servo of joint {name!r} is its motor: set sim.joint({name!r}).motor"
                )
            axis.motor = motor

    def _contact(self, element: Element) -> None:
        for child in element.all("exclude"):
            self.robot.exclude.append((child.text("body1"), child.text("body2")))

    def _equality(self, element: Element) -> None:
        links: Mapping[str, Link] = {link.name: link for link in self.robot.links}
        for child in element.children:
            child.read = True
            name = child.attribute("name") or f"{child.tag} {child.line}"
            a, b = child.attribute("body1"), child.attribute("body2", "world")
            active = child.attribute("active", "true") == "true"
            if active and child.tag == "joint" and joint_equality(self.robot, child):
                continue
            if active and child.tag == "tendon" and tendon_equality(self.robot, child, self.sites):
                continue
            known = a in links and (b == "world" or b in links) and child.attribute("active", "true") == "true"
            if child.tag == "connect" and known and child.has("anchor"):
                at = np.array(child.numbers("anchor", 3))
                self.robot.closing.append({"type": "spherical", "a": b, "b": a, "of": a, "at": at, "name": name})
            elif child.tag == "weld" and known and not child.has("relpose"):
                self.robot.closing.append({"type": "fixed", "a": b, "b": a, "name": name})
            else:
                self.robot.leave_out(child, f"<{child.tag}> of <equality>")
                child.used |= set(child.attributes)


def _asset_name(mesh: Element) -> str:
    return mesh.attribute("name") or Path(mesh.attribute("file")).stem


def _about(axis: np.ndarray, angle: float, element: Element) -> np.ndarray:
    norm = float(np.linalg.norm(axis))
    if norm == 0.0:
        raise element.error("an axis must not be zero")
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis / norm)])


def _from_axes(x: np.ndarray, y: np.ndarray, element: Element) -> np.ndarray:
    """The quaternion of the frame with these x and y axes; y is made orthogonal to x."""
    x_length = float(np.linalg.norm(x))
    y = y - x * (float(x @ y) / x_length**2 if x_length > 0.0 else 0.0)
    if x_length == 0.0 or not np.linalg.norm(y) > 0.0:
        raise element.error("xyaxes must be two directions that differ")
    x, y = x / x_length, y / np.linalg.norm(y)
    z = np.cross(x, y)
    first = turn_from_z(z)  # then about z until x fits
    seen = rotation_matrix(first).T @ x
    angle = math.atan2(seen[1], seen[0])
    return quaternion_product(first, np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]))


def _included(root: Element, folder: Path, depth: int = 0) -> None:
    """Put the children of included files in the place of <include>; files lie in the folder or below it."""
    children: list[Element] = []
    for child in root.children:
        if child.tag != "include":
            _included(child, folder, depth)
            children.append(child)
            continue
        name = child.text("file")
        if depth >= _DEPTH or Path(name).is_absolute() or ".." in Path(name).parts:
            raise child.error(
                f"the file must lie beside this one or below, and files may be {_DEPTH} deep, got {name[:80]!r}"
            )
        inner = read_xml(folder / name)
        _included(inner, folder, depth + 1)
        children.extend(inner.children)
    root.children = children


def robot_from_mjcf(root: Element, options: ImportOptions) -> Robot:
    """The bodies, joints and notes of an MJCF file."""
    folder = Path(root.file).parent
    _included(root, folder)
    return _Reader(root, Robot(root.attribute("model", "mujoco model"), options, folder)).read()
