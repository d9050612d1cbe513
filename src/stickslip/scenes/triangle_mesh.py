"""A surface of triangles as a shape of the static world, and the tables that the narrow phase reads of it.

Nothing is made convex.  The solid lies behind the triangles, whose corners count counter-clockwise from outside.

Tables of a surface with V corners and F triangles:

    corners   V points; then the origin of a grid of cells; then (width of a cell, typical length of an edge, 0)
    normals   F unit normals of the triangles; then V of the corners: of a corner's triangles, weighted by their angles
    numbers   cells along x, y, z; where stars begin, where cells begin, triangles in all cells
              ROW numbers of each triangle: see the constants below
              V + 1 places, then the corners that edges join to each corner (its star)
              one place more than there are cells, then the triangles whose boxes meet each cell

A point is inside the solid where the nearest point of the surface lies at it with a normal that looks away: on an edge
the sum of the normals of its triangles decides, at a corner the weighted sum (Baerentzen, Aanaes 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.checks import require_numbers
from stickslip.scenes.shapes import IDENTITY, MassProperties, Mesh, Piece, Unbounded

HEAD, ROW = 6, 18
CORNERS, OPPOSITE, BESIDE, EDGE, CORNER, LOW = 0, 3, 6, 9, 12, 15
"""Places in the row of a triangle, three numbers each: its corners; of edge k, from corner k to the next one, the third
corner and the number of the triangle on the other side, -1 at a rim; codes of its edges; whether it has to look after
its corners; the first cell along x, y, z."""
PLAIN, VALLEY, RIDGE = 0, 1, 2
"""Codes of edges: nothing to do, a valley, an edge that stands out and that this triangle has to look after."""
FLAT = 1e-6  # of the length of an edge: what stands out by less, as digits of a file, lies in the plane of its triangle
THIN = 1e-12  # area over the square of the longest edge
MOST_CELLS = 4  # per triangle
MOST_TRIANGLES = 200_000


@dataclass(frozen=True, eq=False)
class TriangleMesh(Unbounded):
    """A surface of triangles, exact: ground, walls, bowls and stairs of the static world.

    The solid lies behind the triangles: seen from outside their corners count counter-clockwise.  A surface may be
    open; then its triangles are felt from the front alone.  Balls, capsules, boxes and hulls touch its triangles,
    edges and corners.

    vertices : (v, 3) corners [m]; equal ones count as one.
    triangles : (f, 3) numbers of corners, from 0.
    """

    vertices: Any
    triangles: Any
    dim = 3
    mesh: Mesh = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_numbers(self.vertices, "vertices of TriangleMesh")
        require_numbers(self.triangles, "triangles of TriangleMesh")
        corners, faces = np.array(self.vertices, dtype=float), np.array(self.triangles)
        if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) < 3:
            raise ValueError(f"vertices of TriangleMesh must have shape (v, 3) with v >= 3, got {corners.shape}.")
        if not np.all(np.isfinite(corners)):
            raise ValueError("vertices of TriangleMesh must be finite, got a value that is not.")
        if faces.ndim != 2 or faces.shape[1:] != (3,) or not len(faces):
            raise ValueError(f"triangles of TriangleMesh must have shape (f, 3) with f >= 1, got {faces.shape}.")
        if len(faces) > MOST_TRIANGLES:
            raise ValueError(f"TriangleMesh may have at most {MOST_TRIANGLES} triangles, got {len(faces)}.")
        if not np.array_equal(faces, np.floor(faces)) or faces.min() < 0 or faces.max() >= len(corners):
            raise ValueError(
                f"triangles of TriangleMesh must be whole numbers from 0 to {len(corners) - 1}, the last corner, got "
                f"{faces.min():g} to {faces.max():g}."
            )
        object.__setattr__(self, "vertices", corners)
        object.__setattr__(self, "triangles", faces.astype(np.int64))
        object.__setattr__(self, "mesh", _checked(corners, faces.astype(np.int64)))

    def mass_properties(self, dim: int) -> MassProperties:
        raise ValueError(
            "TriangleMesh is a surface of the world and has no mass; use add_static or add_driven, "
            "or ConvexHull and read_mesh for a body that moves."
        )

    def pieces(self, dim: int) -> list[Piece]:
        mesh = self.mesh
        middle = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
        near = mesh.vertices - middle
        bound = float(np.linalg.norm(near, axis=1).max())
        return [Piece("surface", middle, IDENTITY, bound=bound, mesh=Mesh(near, mesh.normals, mesh.loops))]


def _checked(vertices: np.ndarray, triangles: np.ndarray) -> Mesh:
    """The surface with each corner once; ValueError for triangles without area and edges that do not fit."""
    corners, number = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    triangles = number.reshape(-1)[triangles]
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    longest = np.sqrt(np.max([np.sum((p - q) ** 2, axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0))
    flat = np.flatnonzero(~(area > THIN * longest**2))
    if len(flat):
        raise ValueError(f"triangles of TriangleMesh must have an area, got none in triangle {flat[0]}.")
    _edges(triangles)
    return Mesh(corners, normals / area[:, None], tuple(tuple(row) for row in triangles.tolist()))


def _edges(triangles: np.ndarray) -> dict[tuple[int, int], int]:
    """3 f + k of each edge k of triangle f, from its corner k to the next; an edge has one triangle on each side."""
    found: dict[tuple[int, int], int] = {}
    for f, row in enumerate(triangles.tolist()):
        for k in range(3):
            edge = (row[k], row[(k + 1) % 3])
            if edge in found:
                raise ValueError(
                    f"triangles {found[edge] // 3} and {f} of TriangleMesh lie on one side of their common edge: turn "
                    "one of them, so that corners count counter-clockwise from outside."
                )
            found[edge] = 3 * f + k
    return found


@dataclass(frozen=True, eq=False)
class SurfaceTables:
    """Corners, normals and numbers of a surface, as the head of this file has them."""

    corners: np.ndarray
    normals: np.ndarray
    numbers: np.ndarray


def surface_tables(mesh: Mesh) -> SurfaceTables:
    """Tables of a surface of triangles."""
    v, n, faces = mesh.vertices, mesh.normals, np.array(mesh.loops, np.int64)
    edges = _edges(faces)
    rows = np.zeros((len(faces), ROW), np.int64)
    rows[:, CORNERS : CORNERS + 3] = faces
    rows[:, OPPOSITE : OPPOSITE + 6] = -1
    lengths = np.linalg.norm(v[faces] - v[np.roll(faces, -1, axis=1)], axis=2)
    typical = float(np.median(lengths))
    kinds: dict[tuple[int, int], int] = {}
    for (p, q), at in edges.items():
        f, k = divmod(at, 3)
        other = edges.get((q, p), -1)
        code = RIDGE
        if other >= 0:
            g, m = divmod(other, 3)
            far = int(faces[g, (m + 2) % 3])
            rows[f, OPPOSITE + k], rows[f, BESIDE + k] = far, g
            rise = float(n[f] @ (v[far] - v[p]))
            code = RIDGE if rise < -FLAT * lengths[f, k] else VALLEY if rise > FLAT * lengths[f, k] else PLAIN
        kinds[min(p, q), max(p, q)] = code
        rows[f, EDGE + k] = PLAIN if code == RIDGE and 0 <= other < at else code
    star: list[list[int]] = [[] for _ in v]
    for p, q in kinds:
        star[p].append(q)
        star[q].append(p)
    seen: set[int] = set()
    for f, row in enumerate(faces.tolist()):
        for k, corner in enumerate(row):
            if corner not in seen:
                seen.add(corner)
                rows[f, CORNER + k] = _stands_out(corner, star[corner], kinds, v)
    begins, cells, shape, origin, width = _cells(v, faces, rows, typical)
    places = np.cumsum([0, *(len(s) for s in star)])
    head = [*shape, HEAD + ROW * len(faces), HEAD + ROW * len(faces) + len(v) + 1 + int(places[-1]), len(cells)]
    numbers = np.concatenate([head, rows.ravel(), places, np.array([q for s in star for q in s]), begins, cells])
    return SurfaceTables(
        np.vstack([v, origin, [width, typical, 0.0]]),
        np.vstack([n, _corner_normals(v, n, faces)]),
        numbers.astype(np.int64),
    )


def _stands_out(corner: int, star: list[int], kinds: dict[tuple[int, int], int], v: np.ndarray) -> bool:
    """Whether a corner is the end of an edge that stands out, and not inside a straight one."""
    codes = [kinds[min(corner, q), max(corner, q)] for q in star]
    ridges = [q for q, code in zip(star, codes, strict=True) if code == RIDGE]
    if len(ridges) == 2 and VALLEY not in codes:
        d, e = (v[q] - v[corner] for q in ridges)
        return bool(np.linalg.norm(np.cross(d, e)) > FLAT * float(d @ d + e @ e) or d @ e > 0.0)
    return bool(ridges)


def _corner_normals(v: np.ndarray, n: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """The normals of the triangles at each corner, weighted by their angles there; of length one."""
    total = np.zeros_like(v)
    for k in range(3):
        d, e = v[faces[:, (k + 1) % 3]] - v[faces[:, k]], v[faces[:, (k + 2) % 3]] - v[faces[:, k]]
        angle = np.arctan2(np.linalg.norm(np.cross(d, e), axis=1), np.sum(d * e, axis=1))
        np.add.at(total, faces[:, k], angle[:, None] * n)
    size = np.linalg.norm(total, axis=1)[:, None]
    return np.divide(total, size, out=total, where=size > 0.0)


def _cells(
    v: np.ndarray, faces: np.ndarray, rows: np.ndarray, typical: float
) -> tuple[np.ndarray, np.ndarray, list[int], np.ndarray, float]:
    """Where each cell begins, its triangles, cells along x, y, z, the origin and the width; writes LOW of the rows."""
    origin = v.min(axis=0)
    extent = v.max(axis=0) - origin
    width = typical
    while True:
        shape = [int(math.floor(x / width)) + 1 for x in extent]
        if math.prod(shape) <= MOST_CELLS * len(faces) + 8:
            break
        width *= 1.3
    low = np.floor((v[faces].min(axis=1) - origin) / width).astype(np.int64)
    high = np.floor((v[faces].max(axis=1) - origin) / width).astype(np.int64)
    last = np.array(shape) - 1
    low, high = np.clip(low, 0, last), np.clip(high, 0, last)
    rows[:, LOW : LOW + 3] = low
    members: list[list[int]] = [[] for _ in range(math.prod(shape))]
    for f in range(len(faces)):
        for i in range(low[f, 0], high[f, 0] + 1):
            for j in range(low[f, 1], high[f, 1] + 1):
                for k in range(low[f, 2], high[f, 2] + 1):
                    members[(i * shape[1] + j) * shape[2] + k].append(f)
    begins = np.cumsum([0, *(len(m) for m in members)])
    return begins, np.array([f for m in members for f in m], np.int64), shape, origin, width
