"""Shapes of robot descriptions: frames, geometries with their masses, and the files of meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.scenes.shapes import (
    IDENTITY,
    Box,
    Capsule,
    MassProperties,
    Sphere,
    quaternion_product,
    rotation_matrix,
    steiner,
    turn_from_z,
)

_PRISM_SIDES = 24
_ELLIPSOID_CORNERS = 64


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

    def back(self) -> Pose:
        """The inverse: the frame in which this one stands, seen from this one."""
        turn = self.turn * np.array([1.0, -1.0, -1.0, -1.0])
        return Pose(-(rotation_matrix(turn) @ self.position), turn)


@dataclass(frozen=True)
class Surface:
    """How a geometry touches: MuJoCo's masks, and laws of contact; None where the file says nothing."""

    friction: float | None = None
    restitution: float | None = None
    contype: int = 1
    conaffinity: int = 1
    condim: int = 3
    priority: int = 0

    def meets(self, other: Surface) -> bool:
        """Whether the masks let two geometries touch."""
        return bool(self.contype & other.conaffinity or other.contype & self.conaffinity)


@dataclass(frozen=True)
class Geometry:
    """A shape of a link: its description for the file, where it is in the link, and its mass.

    unit : volume, centre and inertia at unit density in its own frame; None without end.
    """

    entry: dict[str, Any]
    unit: MassProperties | None
    pose: Pose
    mass: float | None = None
    density: float = 1000.0
    surface: Surface = Surface()
    touches: bool = True

    def weighed(self) -> MassProperties | None:
        """Mass [kg], centre and inertia in the link's frame; None without end or mass."""
        if self.unit is None or self.unit.volume <= 0.0:
            return None
        own = self.unit.at(self.pose.position, self.pose.turn)
        weight = self.mass if self.mass is not None else self.density * own.volume
        return MassProperties(weight, own.centre, own.inertia * (weight / own.volume)) if weight > 0.0 else None


def together(parts: Sequence[MassProperties]) -> MassProperties | None:
    """Mass, centre and inertia of several bodies that move as one; None where there is no mass."""
    total = sum(part.volume for part in parts)
    if not total > 0.0:
        return None
    centre = sum((part.volume * part.centre for part in parts), np.zeros(3)) / total
    inertia = sum((part.inertia + steiner(part.volume, part.centre - centre) for part in parts), np.zeros((3, 3)))
    return MassProperties(total, centre, 0.5 * (inertia + inertia.T))


def sphere(radius: float, pose: Pose, shell: bool = False, **more: Any) -> Geometry:
    unit = Sphere(radius).mass_properties(3)
    if shell:
        area = 4.0 * math.pi * radius**2
        unit = MassProperties(area, np.zeros(3), 2.0 / 3.0 * area * radius**2 * np.eye(3))
    return Geometry({"type": "sphere", "radius": radius}, unit, pose, **more)


def box(size: Sequence[float], pose: Pose, shell: bool = False, **more: Any) -> Geometry:
    a, b, c = (float(x) for x in size)
    unit = Box((a, b, c)).mass_properties(3)
    if shell:
        sides = [(b * c, (0.0, b, c), a, 0), (a * c, (a, 0.0, c), b, 1), (a * b, (a, b, 0.0), c, 2)]
        parts = []
        for area, edges, height, axis in sides:
            x, y, z = edges
            own = area / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
            for sign in (-0.5, 0.5):
                parts.append(MassProperties(area, sign * height * np.eye(3)[axis], own))
        unit = together(parts) or unit
    return Geometry({"type": "box", "size": [a, b, c]}, unit, pose, **more)


def capsule(radius: float, length: float, pose: Pose, shell: bool = False, **more: Any) -> Geometry:
    entry = {"type": "capsule", "radius": radius, "length": length}
    unit = Capsule(radius, length).mass_properties(3)
    if shell:
        tube, cap = 2.0 * math.pi * radius * length, 2.0 * math.pi * radius**2
        along = tube * radius**2 + 2.0 * cap * 2.0 / 3.0 * radius**2
        # a hemispherical shell has its centre at r / 2, and 5/12 r^2 of its area across its axis about it
        across = tube * (0.5 * radius**2 + length**2 / 12.0)
        across += 2.0 * cap * (5.0 / 12.0 * radius**2 + (0.5 * length + 0.5 * radius) ** 2)
        unit = MassProperties(tube + 2.0 * cap, np.zeros(3), np.diag([across, across, along]))
    return Geometry(entry, unit, pose, **more)


def cylinder(radius: float, length: float, pose: Pose, shell: bool = False, **more: Any) -> Geometry:
    """A prism of 24 sides whose cross section has the area of the circle; its mass is that of the cylinder."""
    corner = radius * math.sqrt(2.0 * math.pi / (_PRISM_SIDES * math.sin(2.0 * math.pi / _PRISM_SIDES)))
    angles = 2.0 * math.pi * np.arange(_PRISM_SIDES) / _PRISM_SIDES
    ring = corner * np.column_stack([np.cos(angles), np.sin(angles)])
    points = [[float(x), float(y), z] for z in (-0.5 * length, 0.5 * length) for x, y in ring]
    volume = math.pi * radius**2 * length
    across, along = radius**2 / 4.0 + length**2 / 12.0, radius**2 / 2.0
    unit = MassProperties(volume, np.zeros(3), volume * np.diag([across, across, along]))
    if shell:
        tube, end = 2.0 * math.pi * radius * length, math.pi * radius**2
        along = tube * radius**2 + 2.0 * end * radius**2 / 2.0
        across = tube * (radius**2 / 2.0 + length**2 / 12.0) + 2.0 * end * (radius**2 / 4.0 + length**2 / 4.0)
        unit = MassProperties(tube + 2.0 * end, np.zeros(3), np.diag([across, across, along]))
    return Geometry({"type": "convex-hull", "points": points}, unit, pose, **more)


def ellipsoid(axes: Sequence[float], pose: Pose, **more: Any) -> Geometry:
    """A hull of 64 corners on an ellipsoid with these half axes; its mass is that of the ellipsoid."""
    a, b, c = (float(x) for x in axes)
    points = (directions(_ELLIPSOID_CORNERS) * np.array([a, b, c])).tolist()
    volume = 4.0 / 3.0 * math.pi * a * b * c
    inertia = volume / 5.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    return Geometry(
        {"type": "convex-hull", "points": points}, MassProperties(volume, np.zeros(3), inertia), pose, **more
    )


def half_space(pose: Pose, **more: Any) -> Geometry:
    """All below the plane z = 0 of its frame."""
    return Geometry({"type": "half-space", "normal": [0.0, 0.0, 1.0]}, None, pose, **more)


def directions(count: int) -> np.ndarray:
    """Directions (count, 3) spread over the sphere along a spiral."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - math.sqrt(5.0)) * np.arange(count)
    ring = np.sqrt(1.0 - z * z)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])


def between(start: Sequence[float], end: Sequence[float]) -> tuple[Pose, float]:
    """The frame in the middle of two points, z along them, and their distance."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    if length == 0.0:
        raise ValueError("fromto must be two different points.")
    return Pose(0.5 * (a + b), turn_from_z((b - a) / length)), length


def tensor(link_turn: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """An inertia given in a turned frame, in the link's axes, symmetric to the last bit."""
    R = rotation_matrix(link_turn)
    turned = R @ inertia @ R.T
    return np.asarray(0.5 * (turned + turned.T))
