"""A robot description on its way into a scene: links with geometries, joints, and the list of elements left out.

MJCF and URDF readers fill it; `content` turns it into the content of a model file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.io.models.xml_text import Element
from stickslip.scenes.shapes import (
    IDENTITY,
    Box,
    Capsule,
    ConvexHull,
    MassProperties,
    Shape,
    Sphere,
    quaternion_product,
    rotation_matrix,
    steiner,
    turn_from_z,
)

_PRISM_SIDES = 24


@dataclass(frozen=True)
class Pose:
    """Position [m] and unit quaternion of a frame."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    turn: np.ndarray = field(default_factory=lambda: IDENTITY.copy())

    def then(self, other: Pose) -> Pose:
        """The frame `other`, given in this one, in the world's."""
        turn = quaternion_product(self.turn, other.turn)
        return Pose(self.point(other.position), turn / np.linalg.norm(turn))

    def point(self, x: Any) -> np.ndarray:
        return np.asarray(self.position + rotation_matrix(self.turn) @ np.asarray(x, dtype=float))

    def direction(self, x: Any) -> np.ndarray:
        return np.asarray(rotation_matrix(self.turn) @ np.asarray(x, dtype=float))


@dataclass(frozen=True)
class Geometry:
    """A shape of a link: its description for the file, the shape itself, and where it is in the link."""

    entry: dict[str, Any]
    shape: Shape | None  # None: without end
    pose: Pose
    mass: float | None = None
    density: float = 1000.0
    friction: float | None = None


@dataclass
class Link:
    """A rigid part."""

    name: str
    pose: Pose
    geometries: list[Geometry] = field(default_factory=list)
    mass: float | None = None
    centre: np.ndarray | None = None  # in the link's frame
    inertia: np.ndarray | None = None  # about the centre, in the link's axes
    fixed: bool = False


@dataclass
class Robot:
    """Links, joints and notes."""

    name: str
    links: list[Link] = field(default_factory=list)
    joints: list[dict[str, Any]] = field(default_factory=list)
    ignore: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gravity: list[float] = field(default_factory=lambda: [0.0, 0.0, -9.81])
    dt: float = 1e-3

    def leave_out(self, element: Element, what: str) -> None:
        """Note what is not carried over, with its line."""
        self.notes.append(f"line {element.line}: {what}")

    def unique(self, wanted: str) -> str:
        taken = {"world", *(link.name for link in self.links)}
        name, k = wanted, 2
        while name in taken:
            name, k = f"{wanted} {k}", k + 1
        return name

    def content(self) -> dict[str, Any]:
        """The content of the model file."""
        bodies, ghosts = [], []
        for link in self.links:
            if not link.geometries:
                if link.fixed:
                    continue
                self.notes.append(
                    f"link {link.name!r} has no shape: a ball of 1 mm stands for it, which touches nothing"
                )
                link.geometries.append(sphere(1e-3, Pose(link.centre if link.centre is not None else np.zeros(3))))
                ghosts.append(link.name)
            bodies.append(_static(link) if link.fixed else _moving(link, self))
        names = [body["name"] for body in bodies]
        ignored = [[ghost, name] for ghost in ghosts for name in names if name != ghost]
        content: dict[str, Any] = {
            "stickslip": 1,
            "kind": "scene",
            "name": self.name,
            "dim": 3,
            "gravity": self.gravity,
            "run": {"dt": self.dt, "t_end": 1.0},
            "bodies": bodies,
        }
        pairs = [pair for pair in self.ignore if pair[0] in names and pair[1] in names] + ignored
        if pairs:
            content["ignore"] = pairs
        if self.joints:
            content["joints"] = self.joints
        return content


# -- shapes ------------------------------------------------------------------------------------------------------------


def sphere(radius: float, pose: Pose, **more: Any) -> Geometry:
    return Geometry({"type": "sphere", "radius": radius}, Sphere(radius), pose, **more)


def box(size: Sequence[float], pose: Pose, **more: Any) -> Geometry:
    return Geometry({"type": "box", "size": [float(x) for x in size]}, Box(tuple(size)), pose, **more)


def capsule(radius: float, length: float, pose: Pose, **more: Any) -> Geometry:
    entry = {"type": "capsule", "radius": radius, "length": length}
    return Geometry(entry, Capsule(radius, length), pose, **more)


def cylinder(radius: float, length: float, pose: Pose, **more: Any) -> Geometry:
    """A prism whose cross section has the area of the circle: scenes have no cylinders."""
    corner = radius * math.sqrt(2.0 * math.pi / (_PRISM_SIDES * math.sin(2.0 * math.pi / _PRISM_SIDES)))
    angles = 2.0 * math.pi * np.arange(_PRISM_SIDES) / _PRISM_SIDES
    ring = corner * np.column_stack([np.cos(angles), np.sin(angles)])
    points = [[float(x), float(y), z] for z in (-0.5 * length, 0.5 * length) for x, y in ring]
    return Geometry({"type": "convex-hull", "points": points}, ConvexHull(points), pose, **more)


def half_space(pose: Pose, **more: Any) -> Geometry:
    """All below the plane z = 0 of its frame."""
    return Geometry({"type": "half-space", "normal": [0.0, 0.0, 1.0]}, None, pose, **more)


def between(start: Sequence[float], end: Sequence[float]) -> tuple[Pose, float]:
    """The frame in the middle of two points, z along them, and their distance."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    return Pose(0.5 * (a + b), turn_from_z((b - a) / length)), length


# -- bodies ------------------------------------------------------------------------------------------------------------


def _numbers(values: Any) -> list[float]:
    return [float(x) for x in values]


def _shape_entry(link: Link) -> dict[str, Any]:
    parts = []
    for geometry in link.geometries:
        part: dict[str, Any] = {"shape": geometry.entry, "position": _numbers(geometry.pose.position)}
        if not np.array_equal(geometry.pose.turn, IDENTITY):
            part["orientation"] = _numbers(geometry.pose.turn)
        parts.append(part)
    only = link.geometries[0].pose
    if len(parts) == 1 and not only.position.any() and np.array_equal(only.turn, IDENTITY):
        return link.geometries[0].entry
    return {"type": "compound", "parts": parts}


def _friction_entry(link: Link) -> dict[str, Any]:
    values = {geometry.friction for geometry in link.geometries if geometry.friction is not None}
    return {"friction": max(values)} if values else {}


def _static(link: Link) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": link.name, "type": "static", "shape": _shape_entry(link)}
    entry |= {"position": _numbers(link.pose.position), "orientation": _numbers(link.pose.turn)}
    return entry | _friction_entry(link)


def _moving(link: Link, robot: Robot) -> dict[str, Any]:
    properties = _mass(link, robot)
    return {
        "name": link.name,
        "shape": _shape_entry(link),
        "mass": properties.volume,
        "inertia": properties.inertia.tolist(),
        "centre_of_mass": _numbers(properties.centre),
        "position": _numbers(link.pose.point(properties.centre)),
        "orientation": _numbers(link.pose.turn),
        **_friction_entry(link),
    }


def _mass(link: Link, robot: Robot) -> MassProperties:
    """Mass, centre and inertia: as given, else those of the geometries."""
    if link.mass is not None and link.inertia is not None and link.centre is not None:
        return MassProperties(link.mass, link.centre, link.inertia)
    parts = []
    for geometry in link.geometries:
        if geometry.shape is None:
            robot.notes.append(f"link {link.name!r} moves and has a plane, which has no mass")
            continue
        own = geometry.shape.mass_properties(3).at(geometry.pose.position, geometry.pose.turn)
        weight = geometry.mass if geometry.mass is not None else geometry.density * own.volume
        parts.append(MassProperties(weight, own.centre, own.inertia * (weight / own.volume)))
    total = sum(part.volume for part in parts) or 1e-6
    centre = sum((part.volume * part.centre for part in parts), np.zeros(3)) / total
    inertia = sum((part.inertia + steiner(part.volume, part.centre - centre) for part in parts), np.zeros((3, 3)))
    if link.mass is not None:
        return MassProperties(link.mass, centre, inertia * (link.mass / total))
    return MassProperties(total, centre, 0.5 * (inertia + inertia.T))


def tensor(link_turn: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """An inertia given in a turned frame, in the link's axes, symmetric to the last bit."""
    R = rotation_matrix(link_turn)
    turned = R @ inertia @ R.T
    return np.asarray(0.5 * (turned + turned.T))
