"""Shapes of bodies.

A shape knows its dimension, its volume (area in the plane), centre and inertia at unit density, and its convex pieces
for the narrow phase.  Coordinates are those of the shape; a body puts its centre of mass at the origin of its own
frame.  Lengths are in metres.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import require_numbers, shown
from stickslip.scenes.checks import length, number, points, quaternion, unit, vector
from stickslip.scenes.layout import WHOLE

KINDS = ("sphere", "capsule", "hull", "polygon", "plane", "field", "smooth", "surface")
"""Names of the narrow phase's kinds, in its order."""
MOST_CORNERS = 1000
FLAT = 1e-9  # of the size: faces whose corners deviate by less are one face


class MassProperties(NamedTuple):
    """Volume [m^3] (area [m^2] in the plane), centre (3,) [m], inertia (3, 3) about it at unit density."""

    volume: float
    centre: np.ndarray
    inertia: np.ndarray

    def at(self, offset: np.ndarray, turn: np.ndarray) -> MassProperties:
        """Properties of the shape turned by the quaternion `turn`, then moved by `offset` [m]."""
        R = rotation_matrix(turn)
        return MassProperties(self.volume, offset + R @ self.centre, R @ self.inertia @ R.T)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Corners (v, 3), face normals (f, 3), and corner numbers of each face, counter-clockwise from outside."""

    vertices: np.ndarray
    normals: np.ndarray
    loops: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Piece:
    """One geometry of the narrow phase: kind, pose in the shape, sizes, bounding radius, and a mesh or heights.

    A curved form (`smooth_shapes`) has a name and measures; its mesh is for pictures.  `part`: WHOLE, or what of a
    rounded box it is, see `layout`.
    """

    kind: str
    offset: np.ndarray
    turn: np.ndarray
    size: tuple[float, float] = (0.0, 0.0)
    bound: float = math.inf
    mesh: Mesh | None = None
    heights: np.ndarray | None = None
    form: str = ""
    measure: tuple[float, ...] = (0.0, 0.0, 0.0)
    part: float = WHOLE


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrix (3, 3) of the unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Quaternion product p q: the rotation q, followed by the rotation p."""
    w, x = p[0], p[1:]
    across = np.array([x[1] * q[3] - x[2] * q[2], x[2] * q[1] - x[0] * q[3], x[0] * q[2] - x[1] * q[1]])
    return np.concatenate([[w * q[0] - x @ q[1:]], w * q[1:] + q[0] * x + across])


def turn_from_z(direction: np.ndarray) -> np.ndarray:
    """A quaternion that turns the z axis into `direction`."""
    z = np.array([0.0, 0.0, 1.0])
    c = float(direction @ z)
    if c < -1.0 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1.0 + c, *np.cross(z, direction)])
    return q / np.linalg.norm(q)


IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


_COUNTERPARTS = {
    "Box": "use a Polygon (polygon) with four vertices",
    "ConvexHull": "use a Polygon (polygon)",
    "Sphere": "use a Circle (circle)",
    "HalfSpace": "use a HalfPlane (half-plane)",
    "Polygon": "use a Box (box) or ConvexHull (convex-hull)",
    "Circle": "use a Sphere (sphere)",
    "HalfPlane": "use a HalfSpace (half-space)",
}
"""Advice for a shape that a scene of the other dimension does not have."""


class Shape(ABC):
    """Base of all shapes; `dim` is 2, 3, or None where both are possible."""

    dim: int | None = None

    @abstractmethod
    def mass_properties(self, dim: int) -> MassProperties:
        """Volume, centre and inertia at unit density; ValueError for a shape without end."""

    @abstractmethod
    def pieces(self, dim: int) -> list[Piece]:
        """Convex pieces of the shape, as the narrow phase sees it."""

    def check_dimension(self, dim: int) -> None:
        require_dimension(type(self), dim)


def require_dimension(kind: type[Shape], dim: int) -> None:
    """Raise ValueError for a kind of shape that scenes of `dim` dimensions lack; the message lists their kinds."""
    if kind.dim not in (None, dim):
        where = {2: "the plane", 3: "space"}
        other = _COUNTERPARTS.get(kind.__name__)
        raise ValueError(
            f"{kind.__name__} is a shape of {where[kind.dim or 0]}, the scene has dim = {dim}"
            f"{f'; {other}' if other else ''}."
        )


class Unbounded(Shape):
    """A shape without end: for static and driven bodies only."""

    def mass_properties(self, dim: int) -> MassProperties:
        raise ValueError(f"{type(self).__name__} has no end, so it has no mass; use add_static or add_driven.")


@dataclass(frozen=True)
class Circle(Shape):
    """A disk of the plane, centred at the origin; radius [m]."""

    radius: float
    dim = 2

    def __post_init__(self) -> None:
        length(self.radius, "radius of Circle")

    def mass_properties(self, dim: int) -> MassProperties:
        area = math.pi * self.radius**2
        return MassProperties(area, np.zeros(3), np.diag([0.0, 0.0, 0.5 * area * self.radius**2]))

    def pieces(self, dim: int) -> list[Piece]:
        return [Piece("sphere", np.zeros(3), IDENTITY, (self.radius, 0.0), self.radius)]


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball in space, centred at the origin; radius [m]."""

    radius: float
    dim = 3

    def __post_init__(self) -> None:
        length(self.radius, "radius of Sphere")

    def mass_properties(self, dim: int) -> MassProperties:
        volume = 4.0 / 3.0 * math.pi * self.radius**3
        return MassProperties(volume, np.zeros(3), 0.4 * volume * self.radius**2 * np.eye(3))

    def pieces(self, dim: int) -> list[Piece]:
        return [Piece("sphere", np.zeros(3), IDENTITY, (self.radius, 0.0), self.radius)]


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` [m] of a segment of `length` [m], centred at the origin.

    The segment lies along the z axis in space and along the x axis in the plane.  The capsule is length + 2 radius
    long.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        length(self.radius, "radius of Capsule")
        length(self.length, "length of Capsule")

    def mass_properties(self, dim: int) -> MassProperties:
        r, length = self.radius, self.length
        if dim == 2:
            box, ends = 2.0 * r * length, math.pi * r**2
            # the two half disks together: moment about their own centre, moved out to the ends
            c = 4.0 * r / (3.0 * math.pi)
            half = ends * r**2 / 2.0 - ends * c**2 + ends * (0.5 * length + c) ** 2
            zz = box * (length**2 + 4.0 * r**2) / 12.0 + half
            return MassProperties(box + ends, np.zeros(3), np.diag([0.0, 0.0, zz]))
        cylinder, ball = math.pi * r**2 * length, 4.0 / 3.0 * math.pi * r**3
        along = 0.5 * cylinder * r**2 + 0.4 * ball * r**2
        c = 0.375 * r
        across = cylinder * (r**2 / 4.0 + length**2 / 12.0)
        across += ball * (0.4 * r**2 - c**2 + (0.5 * length + c) ** 2)
        return MassProperties(cylinder + ball, np.zeros(3), np.diag([across, across, along]))

    def pieces(self, dim: int) -> list[Piece]:
        turn = IDENTITY if dim == 3 else turn_from_z(np.array([1.0, 0.0, 0.0]))
        bound = self.radius + 0.5 * self.length
        return [Piece("capsule", np.zeros(3), turn, (self.radius, 0.5 * self.length), bound)]


@dataclass(frozen=True)
class HalfPlane(Unbounded):
    """All points x of the plane with n . x <= offset [m], where n is the unit vector of `normal`.

    The normal points out of the solid.  For static and driven bodies only.
    """

    normal: Sequence[float]
    offset: float = 0.0
    dim = 2

    def __post_init__(self) -> None:
        unit(self.normal, "normal of HalfPlane", 2)
        number(self.offset, "offset of HalfPlane")

    def pieces(self, dim: int) -> list[Piece]:
        n = np.append(unit(self.normal, "normal of HalfPlane", 2), 0.0)
        return [Piece("plane", self.offset * n, turn_from_z(n))]


@dataclass(frozen=True)
class HalfSpace(Unbounded):
    """All points x in space with n . x <= offset [m], where n is the unit vector of `normal`.

    The normal points out of the solid.  For static and driven bodies only.
    """

    normal: Sequence[float]
    offset: float = 0.0
    dim = 3

    def __post_init__(self) -> None:
        unit(self.normal, "normal of HalfSpace", 3)
        number(self.offset, "offset of HalfSpace")

    def pieces(self, dim: int) -> list[Piece]:
        n = unit(self.normal, "normal of HalfSpace", 3)
        return [Piece("plane", self.offset * n, turn_from_z(n))]


@dataclass(frozen=True, eq=False)
class Polygon(Shape):
    """A convex polygon of the plane with `vertices` (n, 2) [m], 3 <= n <= 1000, in either direction round.

    Its centre of mass need not be the origin.  ValueError for a polygon that is not convex or has no area.
    """

    vertices: Any
    dim = 2

    def __post_init__(self) -> None:
        v = points(self.vertices, "vertices of Polygon", 2, 3)
        edge = np.roll(v, -1, axis=0) - v
        turn = _cross_2d(edge, np.roll(edge, -1, axis=0))
        near = v - _middle(v)
        area = 0.5 * float(np.sum(_cross_2d(near, np.roll(near, -1, axis=0))))
        if area < 0.0:
            v, turn = v[::-1], -turn
        size = float(np.max(np.ptp(v, axis=0)))
        if abs(area) <= 1e-12 * size**2:
            raise ValueError("vertices of Polygon must span an area, got points on a line.")
        if np.any(turn <= 1e-12 * size**2):
            where = int(np.argmin(turn))
            raise ValueError(
                f"vertices of Polygon must form a convex polygon without straight or double corners, see near corner "
                f"{where}; use Compound of convex parts."
            )
        if len(v) > MOST_CORNERS:
            raise ValueError(f"Polygon may have at most {MOST_CORNERS} corners, got {len(v)}.")
        object.__setattr__(self, "vertices", np.ascontiguousarray(v))

    @classmethod
    def rectangle(cls, width: float, height: float) -> Polygon:
        """A rectangle with full edge lengths `width` along x and `height` along y [m], centred at the origin."""
        a = 0.5 * length(width, "width of rectangle")
        b = 0.5 * length(height, "height of rectangle")
        return cls([(-a, -b), (a, -b), (a, b), (-a, b)])

    def mass_properties(self, dim: int) -> MassProperties:
        middle = _middle(self.vertices)
        a = self.vertices - middle
        b = np.roll(a, -1, axis=0)
        w = _cross_2d(a, b)  # twice the areas of the triangles from the middle
        area = 0.5 * float(w.sum())
        centre = (w[:, None] * (a + b)).sum(axis=0) / (6.0 * area)
        about_middle = float((w * ((a * a).sum(1) + (a * b).sum(1) + (b * b).sum(1))).sum()) / 12.0
        zz = about_middle - area * float(centre @ centre)
        return MassProperties(area, np.append(middle + centre, 0.0), np.diag([0.0, 0.0, zz]))

    def pieces(self, dim: int) -> list[Piece]:
        v = self.vertices
        edge = np.roll(v, -1, axis=0) - v
        normals = np.stack([edge[:, 1], -edge[:, 0]], axis=1) / np.linalg.norm(edge, axis=1)[:, None]
        middle = _middle(v)
        bound = float(np.linalg.norm(v - middle, axis=1).max())
        mesh = Mesh(_flat(v - middle), _flat(normals), tuple((k, (k + 1) % len(v)) for k in range(len(v))))
        return [Piece("polygon", np.append(middle, 0.0), IDENTITY, bound=bound, mesh=mesh)]


def _middle(points: np.ndarray) -> np.ndarray:
    """Middle of the range of points: sums of products about it do not cancel, however far the origin is."""
    return 0.5 * (points.min(axis=0) + points.max(axis=0))


def _flat(points: np.ndarray) -> np.ndarray:
    return np.column_stack([points, np.zeros(len(points))])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`np.cross` of vectors in space, without its checks, which take longer than the rest for a small hull."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def _cross_2d(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


@dataclass(frozen=True, eq=False)
class ConvexHull(Shape):
    """The convex hull of `points` (n, 3) [m] in space, n >= 4.  Its centre of mass need not be the origin."""

    points: Any
    mesh: Mesh = field(init=False, repr=False)
    dim = 3

    def __post_init__(self) -> None:
        p = points(self.points, "points of ConvexHull", 3, 4)
        object.__setattr__(self, "points", p)
        object.__setattr__(self, "mesh", _hull_mesh(p))

    def mass_properties(self, dim: int) -> MassProperties:
        return mesh_mass_properties(self.mesh)

    def pieces(self, dim: int) -> list[Piece]:
        v = self.mesh.vertices
        middle = _middle(v)
        bound = float(np.linalg.norm(v - middle, axis=1).max())
        return [Piece("hull", middle, IDENTITY, bound=bound, mesh=Mesh(v - middle, self.mesh.normals, self.mesh.loops))]


@dataclass(frozen=True)
class Box(Shape):
    """A box in space with full edge lengths `size` (3,) [m], centred at the origin."""

    size: Sequence[float]
    dim = 3

    def __post_init__(self) -> None:
        for edge in vector(self.size, "size of Box", 3):
            length(float(edge), "size of Box")

    def mass_properties(self, dim: int) -> MassProperties:
        a, b, c = (float(x) for x in self.size)
        volume = a * b * c
        inertia = volume / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
        return MassProperties(volume, np.zeros(3), inertia)

    def pieces(self, dim: int) -> list[Piece]:
        half = 0.5 * np.array([float(x) for x in self.size])
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
        loops = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        normals = np.array([[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]], float)
        mesh = Mesh(corners, normals, loops)
        return [Piece("hull", np.zeros(3), IDENTITY, bound=float(np.linalg.norm(half)), mesh=mesh)]


@dataclass(frozen=True, eq=False)
class Compound(Shape):
    """Several shapes that move as one body: `parts` are shapes, or (shape, position) or (shape, position, orientation).

    Orientation: angle [rad] in the plane, unit quaternion (w, x, y, z) in space.  Parts may overlap; their masses add
    up.
    """

    parts: Sequence[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, Sequence):
            raise ValueError(f"parts of Compound must be a list of shapes, got {shown(self.parts)}.")
        if not len(self.parts):
            raise ValueError("parts of Compound must not be empty.")
        for part in self.parts:
            shape = part[0] if isinstance(part, list | tuple) and part else part
            if not isinstance(shape, Shape):
                raise ValueError(
                    f"parts of Compound must be shapes or (shape, position[, orientation]), got {shown(part)}."
                )
        dims = {shape.dim for shape, *_ in map(_as_tuple, self.parts)} - {None}
        if len(dims) > 1:
            raise ValueError("parts of Compound must be all of the plane or all of space, got both.")
        object.__setattr__(self, "dim", next(iter(dims), None))
        object.__setattr__(self, "parts", self.parts if isinstance(self.parts, tuple) else list(self.parts))
        object.__setattr__(self, "_known", {})

    def _placed(self, dim: int) -> list[tuple[Shape, np.ndarray, np.ndarray]]:
        placed = []
        for part in self.parts:
            shape, *rest = _as_tuple(part)
            offset = np.zeros(3)
            if rest:
                offset[:dim] = vector(rest[0], "position of a part of Compound", dim)
            turn = orientation(rest[1], dim, "orientation of a part of Compound")[0] if len(rest) > 1 else IDENTITY
            placed.append((shape, offset, turn))
        return placed

    def _once(self, key: tuple[str, int], compute: Callable[[int], Any]) -> Any:
        """What was put together before: bodies of one scene often share a shape, which is asked several times each."""
        known: dict[tuple[str, int], Any] = self.__dict__["_known"]
        if key not in known:
            known[key] = compute(key[1])
        return known[key]

    def mass_properties(self, dim: int) -> MassProperties:
        volume, centre, inertia = self._once(("mass", dim), self._mass_of_parts)
        return MassProperties(volume, centre.copy(), inertia.copy())

    def _mass_of_parts(self, dim: int) -> MassProperties:
        parts = [shape.mass_properties(dim).at(offset, turn) for shape, offset, turn in self._placed(dim)]
        volume = sum(part.volume for part in parts)
        centre = sum((part.volume * part.centre for part in parts), np.zeros(3)) / volume
        inertia = sum((part.inertia + steiner(part.volume, part.centre - centre) for part in parts), np.zeros((3, 3)))
        if dim == 2:
            inertia = np.diag([0.0, 0.0, inertia[2, 2]])
        return MassProperties(volume, centre, inertia)

    def pieces(self, dim: int) -> list[Piece]:
        return list(self._once(("pieces", dim), self._pieces_of_parts))

    def _pieces_of_parts(self, dim: int) -> list[Piece]:
        found = []
        for shape, offset, turn in self._placed(dim):
            R = rotation_matrix(turn)
            for piece in shape.pieces(dim):
                found.append(
                    replace(piece, offset=offset + R @ piece.offset, turn=quaternion_product(turn, piece.turn))
                )
        return found


def _as_tuple(part: Any) -> tuple[Any, ...]:
    return (part,) if isinstance(part, Shape) else tuple(part)


@dataclass(frozen=True, eq=False)
class HeightField(Unbounded):
    """Ground of given heights z [m] over a rectangular grid in x and y with `spacing` [m], its middle at the origin.

    Each cell is two triangles, with the diagonal from grid point (i + 1, j) to (i, j + 1).  The ground is solid below
    them and ends at the rim in vertical walls: a body that hangs over the rim tips and falls past the wall.
    """

    heights: Any
    spacing: float = 1.0
    dim = 3

    def __post_init__(self) -> None:
        require_numbers(self.heights, "heights of HeightField")
        h = np.array(self.heights, dtype=float)
        if h.ndim != 2 or min(h.shape) < 2:
            raise ValueError(f"heights of HeightField must have shape (m, n) with m, n >= 2, got {h.shape}.")
        if not np.all(np.isfinite(h)):
            raise ValueError("heights of HeightField must be finite, got a value that is not.")
        length(self.spacing, "spacing of HeightField")
        object.__setattr__(self, "heights", h)

    def pieces(self, dim: int) -> list[Piece]:
        return [Piece("field", np.zeros(3), IDENTITY, (self.spacing, self.spacing), heights=self.heights)]


def orientation(value: Any, dim: int, name: str) -> tuple[np.ndarray, float]:
    """Quaternion and (in the plane) angle of an orientation; None is the identity."""
    if value is None:
        return IDENTITY.copy(), 0.0
    if dim == 3:
        return quaternion(value, name), 0.0
    angle = number(value, name)
    return np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]), angle


def steiner(mass: float, d: np.ndarray) -> np.ndarray:
    """Inertia of a point mass at d."""
    return mass * (float(d @ d) * np.eye(3) - np.outer(d, d))


def mesh_mass_properties(mesh: Mesh) -> MassProperties:
    """Volume, centre and inertia of a polyhedron, summed over tetrahedra from its middle.

    For a tetrahedron (0, a, b, c) of volume v: integral of x x^T = v / 20 (sum of outer products + outer of the sum).
    """
    middle = _middle(mesh.vertices)
    fans = [(loop[0], loop[k], loop[k + 1]) for loop in mesh.loops for k in range(1, len(loop) - 1)]
    a, b, c = (mesh.vertices - middle)[np.array(fans).T]
    v = (a[:, None, :] @ _cross(b, c)[:, :, None])[:, 0, 0] / 6.0
    s = a + b + c
    aa, bb, cc, ss = (x[:, :, None] * x[:, None, :] for x in (a, b, c, s))
    # one after the other: NumPy adds the numbers of a vector in pairs
    volume = float(np.cumsum(v)[-1])
    first = np.cumsum(v[:, None] * s / 4.0, axis=0)[-1]
    second = np.cumsum((v / 20.0)[:, None, None] * (aa + bb + cc + ss), axis=0)[-1]
    centre = first / volume
    second -= volume * np.outer(centre, centre)
    return MassProperties(volume, middle + centre, float(np.trace(second)) * np.eye(3) - second)


def _hull_mesh(p: np.ndarray) -> Mesh:
    from scipy.spatial import QhullError

    size, near = float(np.max(np.ptp(p, axis=0))), p - _middle(p)
    try:
        hull = _quick_hull(near)
    except QhullError:
        raise ValueError(
            f"points of ConvexHull must span a volume, got {len(p)} points that lie in a plane or on a line."
        ) from None
    if hull.volume <= 1e-9 * size**3:
        raise ValueError(
            f"points of ConvexHull must span a volume, got {hull.volume:.3g} m^3 for points over {size:.3g} m."
        )
    used = np.unique(hull.simplices)
    if len(used) > MOST_CORNERS:
        raise ValueError(f"ConvexHull may have at most {MOST_CORNERS} corners, got {len(used)}.")
    vertices = near[used]
    triangles = np.searchsorted(used, hull.simplices)
    normals, loops = _faces(vertices, triangles, hull.equations[:, :3], hull.neighbors, size)
    return Mesh(p[used], normals, loops)


MOST_ADDED = 20_000  # points that a hull of few corners takes up on the way at most, by far


def _quick_hull(p: np.ndarray) -> Any:
    """Qhull's hull; of one with far too many corners, only the first of them, which take a tenth of the time."""
    from scipy.spatial import ConvexHull as QuickHull

    if len(p) > MOST_ADDED:
        begun = QuickHull(p, qhull_options=f"Qt TA{MOST_ADDED}")
        if len(begun.vertices) > MOST_CORNERS:
            return begun
    return QuickHull(p)


def _faces(
    vertices: np.ndarray, triangles: np.ndarray, n: np.ndarray, neighbours: np.ndarray, size: float
) -> tuple[np.ndarray, tuple[tuple[int, ...], ...]]:
    """Normals and corners of the faces of a hull: neighbours in the plane of a face's first triangle belong to it."""
    level = np.einsum("ij,ij->i", vertices[triangles[:, 0]], n)

    def flat(first: Any, other: Any) -> Any:
        """Whether triangles lie in the planes of the first ones."""
        heights = np.einsum("...ij,...j->...i", vertices[triangles[other]], n[first])
        off = np.abs(heights - level[first][..., None]).max(axis=-1)
        return (off <= FLAT * size) & (np.einsum("...i,...i->...", n[first], n[other]) > 1.0 - 1e-9)

    every = np.arange(len(triangles))
    near = flat(np.repeat(every, 3), neighbours.ravel()).reshape(-1, 3)
    begins = np.ones(len(triangles), bool)  # the first triangle of each face
    joined: dict[int, set[int]] = {}
    taken = np.zeros(len(triangles), bool)
    for first in np.flatnonzero(near.any(axis=1)).tolist():
        if taken[first]:
            begins[first] = False
            continue
        members, found = {first}, [first]
        while found:
            for other in neighbours[found.pop()].tolist():
                if (
                    other > first
                    and not taken[other]
                    and other not in members
                    and flat(np.int64(first), np.int64(other))
                ):
                    members.add(other)
                    found.append(other)
        if len(members) > 1:
            joined[first] = {corner for k in members for corner in triangles[k].tolist()}
            taken[list(members)] = True
    begins &= ~taken
    begins[list(joined)] = True
    loops = _turned(vertices, triangles, n).tolist()
    return n[begins], tuple(
        _round(vertices, n[k], sorted(joined[k])) if k in joined else tuple(loops[k])
        for k in np.flatnonzero(begins).tolist()
    )


def _turned(vertices: np.ndarray, triangles: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Corners of each triangle counter-clockwise about its normal, the one of the lowest number in the middle."""
    i, j, k = np.sort(triangles, axis=1).T
    a, b, c = vertices[i], vertices[j], vertices[k]
    left = np.einsum("ij,ij->i", _cross(b - a, c - a), n) > 0.0
    return np.stack([np.where(left, k, j), i, np.where(left, j, k)], axis=1)


def _round(vertices: np.ndarray, n: np.ndarray, members: list[int]) -> tuple[int, ...]:
    """Corners of a face counter-clockwise about its normal."""
    p = vertices[members]
    d = p - p.mean(axis=0)
    a = d[0]
    b = _cross(n, a)
    order = np.argsort(np.arctan2(d @ b, d @ a), kind="stable")
    return tuple(members[k] for k in order)
