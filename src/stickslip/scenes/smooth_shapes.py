"""Shapes with curved surfaces: ellipsoid, cylinder, disc, cone, torus; and the rounded box, a sum of simple pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.scenes.checks import length, vector
from stickslip.scenes.layout import BETWEEN, CORNERS, ENDS
from stickslip.scenes.shapes import IDENTITY, Box, MassProperties, Mesh, Piece, Shape, turn_from_z

FORMS = ("ellipsoid", "cylinder", "cone", "torus")
"""Names of curved forms, in the order of `collision.smooth`."""
CYCLE = np.array([0.5, 0.5, 0.5, 0.5])  # turns the axes x, y, z to y, z, x
ROUND, ACROSS = 32, 16  # corners of the meshes that are drawn


def _smooth(form: str, measure: tuple[float, ...], bound: float, mesh: Mesh) -> list[Piece]:
    padded = (*measure, *(0.0 for _ in range(3 - len(measure))))
    return [Piece("smooth", np.zeros(3), IDENTITY, bound=bound, mesh=mesh, form=form, measure=padded)]


def _turned(radii: Any, heights: Any) -> Mesh:
    """Mesh of a surface about the z axis through circles of given radii and heights, from below; flat ends."""
    angles = 2.0 * math.pi * np.arange(ROUND) / ROUND
    rings = [
        np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(ROUND, z)])
        for r, z in zip(radii, heights, strict=True)
    ]
    loops = [tuple(range(ROUND - 1, -1, -1)), tuple((len(rings) - 1) * ROUND + k for k in range(ROUND))]
    for i in range(len(rings) - 1):
        for k in range(ROUND):
            a, b = i * ROUND + k, i * ROUND + (k + 1) % ROUND
            loops.append((a, b, b + ROUND, a + ROUND))
    return Mesh(np.concatenate(rings), np.zeros((0, 3)), tuple(loops))


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid in space with semi-axes `radii` (3,) [m] along x, y, z, centred at the origin."""

    radii: Sequence[float]
    dim = 3

    def __post_init__(self) -> None:
        for value in vector(self.radii, "radii of Ellipsoid", 3):
            length(float(value), "radii of Ellipsoid")

    def mass_properties(self, dim: int) -> MassProperties:
        a, b, c = (float(x) for x in self.radii)
        volume = 4.0 / 3.0 * math.pi * a * b * c
        inertia = volume / 5.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
        return MassProperties(volume, np.zeros(3), inertia)

    def pieces(self, dim: int) -> list[Piece]:
        a, b, c = (float(x) for x in self.radii)
        angles = math.pi * (np.arange(ACROSS) + 0.5) / ACROSS - 0.5 * math.pi
        mesh = _turned(np.cos(angles), np.sin(angles))
        scaled = Mesh(mesh.vertices * np.array([a, b, c]), mesh.normals, mesh.loops)
        return _smooth("ellipsoid", (a, b, c), max(a, b, c), scaled)


@dataclass(frozen=True)
class Cylinder(Shape):
    """A solid cylinder in space with `radius` and full `length` [m] along z, centred at the origin; flat ends."""

    radius: float
    length: float
    dim = 3

    def __post_init__(self) -> None:
        length(self.radius, f"radius of {type(self).__name__}")
        length(self.length, f"length of {type(self).__name__}")

    def mass_properties(self, dim: int) -> MassProperties:
        r, h = float(self.radius), float(self.length)
        volume = math.pi * r * r * h
        across = volume * (r * r / 4.0 + h * h / 12.0)
        return MassProperties(volume, np.zeros(3), np.diag([across, across, 0.5 * volume * r * r]))

    def pieces(self, dim: int) -> list[Piece]:
        r, half = float(self.radius), 0.5 * float(self.length)
        return _smooth("cylinder", (r, half), math.hypot(r, half), _turned((r, r), (-half, half)))


class Disc(Cylinder):
    """A flat cylinder: `radius` and full thickness `length` [m] along z."""


@dataclass(frozen=True)
class Cone(Shape):
    """A solid cone in space with `radius` of its base and `height` [m] along z, its centre of mass at the origin.

    The base is at z = -height / 4, the apex at z = 3 height / 4.
    """

    radius: float
    height: float
    dim = 3

    def __post_init__(self) -> None:
        length(self.radius, "radius of Cone")
        length(self.height, "height of Cone")

    def mass_properties(self, dim: int) -> MassProperties:
        r, h = float(self.radius), float(self.height)
        volume = math.pi * r * r * h / 3.0
        across = volume * (3.0 / 20.0 * r * r + 3.0 / 80.0 * h * h)
        return MassProperties(volume, np.zeros(3), np.diag([across, across, 0.3 * volume * r * r]))

    def pieces(self, dim: int) -> list[Piece]:
        r, h = float(self.radius), float(self.height)
        mesh = _turned((r, 1e-9 * r), (-0.25 * h, 0.75 * h))
        return _smooth("cone", (r, h), max(math.hypot(r, 0.25 * h), 0.75 * h), mesh)


@dataclass(frozen=True)
class Torus(Shape):
    """A solid ring about the z axis: all points within `tube` [m] of a circle of `radius` [m] > tube."""

    radius: float
    tube: float
    dim = 3

    def __post_init__(self) -> None:
        length(self.radius, "radius of Torus")
        length(self.tube, "tube of Torus")
        if not self.tube < self.radius:
            raise ValueError(f"tube of Torus must be smaller than its radius {self.radius:g} m, got {self.tube:g}.")

    def mass_properties(self, dim: int) -> MassProperties:
        R, r = float(self.radius), float(self.tube)
        volume = 2.0 * math.pi**2 * R * r * r
        across = volume * (0.5 * R * R + 0.625 * r * r)
        return MassProperties(volume, np.zeros(3), np.diag([across, across, volume * (R * R + 0.75 * r * r)]))

    def pieces(self, dim: int) -> list[Piece]:
        R, r = float(self.radius), float(self.tube)
        angles = 2.0 * math.pi * np.arange(ACROSS + 1) / ACROSS
        mesh = _turned(R + r * np.cos(angles), r * np.sin(angles))
        return _smooth("torus", (R, r), R + r, Mesh(mesh.vertices, mesh.normals, mesh.loops[2:]))


@dataclass(frozen=True)
class RoundedBox(Shape):
    """A box with rounded edges and corners: full edge lengths `size` (3,) [m] over all, rounded by `radius` [m].

    It is the sum of a box and a ball, made of three boxes and twelve capsules that lie on its surface: exact, and it
    touches whatever boxes and capsules touch.  A corner touches once: it is an end of one capsule alone, edges belong
    to capsules, and boxes have what lies inside their faces.  Its lowest points above a half-space are those of the
    eight balls at its corners, and a half-space touches these alone.
    """

    size: Sequence[float]
    radius: float
    dim = 3

    def __post_init__(self) -> None:
        length(self.radius, "radius of RoundedBox")
        for edge in vector(self.size, "size of RoundedBox", 3):
            if not edge > 2.0 * self.radius:
                raise ValueError(
                    f"size of RoundedBox must be more than twice its radius {self.radius:g} m, got {edge:g}; use "
                    "Capsule or Sphere."
                )

    def _core(self) -> np.ndarray:
        """Half edge lengths of the box inside, without the ball."""
        return 0.5 * np.array([float(x) for x in self.size]) - self.radius

    def mass_properties(self, dim: int) -> MassProperties:
        """Box inside, six plates on its faces, twelve quarter cylinders, eight eighths of a ball."""
        h, r = self._core(), float(self.radius)
        volume, second = 0.0, np.zeros(3)  # integrals of 1, and of x^2, y^2, z^2
        volume += 8.0 * h.prod()
        second += 8.0 * h.prod() * h**2 / 3.0
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            plate = 2.0 * r * 4.0 * h[i] * h[j]  # both faces across axis k
            volume += plate
            second[i] += plate * h[i] ** 2 / 3.0
            second[j] += plate * h[j] ** 2 / 3.0
            second[k] += 8.0 * h[i] * h[j] * ((h[k] + r) ** 3 - h[k] ** 3) / 3.0
            round_edges = math.pi * r * r * 2.0 * h[k]  # the four edges along axis k together
            volume += round_edges
            second[k] += round_edges * h[k] ** 2 / 3.0
            for m in (i, j):  # a quarter disc: mean of x is 4 r / (3 pi), of x^2 r^2 / 4
                second[m] += round_edges * (h[m] ** 2 + 2.0 * h[m] * 4.0 * r / (3.0 * math.pi) + r * r / 4.0)
        ball = 4.0 / 3.0 * math.pi * r**3  # an eighth of a ball: mean of x is 3 r / 8, of x^2 r^2 / 5
        volume += ball
        second += ball * (h**2 + 2.0 * h * 0.375 * r + r * r / 5.0)
        return MassProperties(volume, np.zeros(3), np.diag(second.sum() - second))

    def pieces(self, dim: int) -> list[Piece]:
        h, r = self._core(), float(self.radius)
        found: list[Piece] = []
        for k in range(3):
            edges = 2.0 * h
            edges[k] += 2.0 * r
            found += [replace(piece, part=BETWEEN) for piece in Box(tuple(edges)).pieces(dim)]
            i, j = (k + 1) % 3, (k + 2) % 3
            axis = np.eye(3)[k]
            for x, y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
                offset = np.zeros(3)
                offset[i], offset[j] = x * h[i], y * h[j]
                turn, size, bound = turn_from_z(axis), (r, float(h[k])), r + float(h[k])
                found.append(Piece("capsule", offset, turn, size, bound, part=ENDS if k == 0 else BETWEEN))
        found[1] = replace(found[1], turn=CYCLE, part=CORNERS, measure=(2.0 * float(h[1]), 2.0 * float(h[2]), 0.0))
        return found
