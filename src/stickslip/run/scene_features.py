"""Where convex bodies may touch: corners, edges and faces of one with those of the other.

A piece of a body is a core with a radius: a point (ball), a segment (capsule) or a polytope (box, hull).  Two pieces
touch by features, each with a gap that is a smooth function of the positions:

    corner on face    gap along the face's normal
    edge on edge      distance of two lines
    corner on edge, corner on corner    distances, where a radius keeps them above zero

A feature counts where it may be the place of contact: the corner lies over the face, the lines are nearest within both
edges, and the normal points out of both bodies there, as their normal cones say.  So a sharp pair has no contact from
corner to corner; which edges and faces take over, the cones tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.checks import Array
from stickslip.scenes.bodies import Body
from stickslip.scenes.shapes import Piece, rotation_matrix

BESIDE = 1e-9  # of a body's size: how far off its face or edge a place of contact may be
OUTWARD = 1e-6  # sine of the angle by which a normal may leave a normal cone
PARALLEL = 1e-6  # sine of the angle between two edges that have no crossing
DEEP = 0.25  # of a body's thickness: what lies deeper behind a face is on its other side
NOWHERE = 1e6  # gap of what does not count [m]


class Pose(NamedTuple):
    """Place x and turn R of a body, its velocity v and angular velocity w; world axes."""

    x: Array
    R: Array
    v: Array
    w: Array


class Touch(NamedTuple):
    """Normal n from the first to the second body and place p of a contact, with their rates."""

    n: Array
    p: Array
    n_rate: Array
    p_rate: Array


def cross(a: Array, b: Array) -> Array:
    """a x b of two vectors, or of the last axes of arrays; quicker than NumPy's."""
    if a.ndim == 1 and b.ndim == 1:
        x, y, z = a.tolist()
        u, v, w = b.tolist()
        return np.array([y * w - z * v, z * u - x * w, x * v - y * u])
    p, q, r = a[..., 0], a[..., 1], a[..., 2]
    f, g, h = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([q * h - r * g, r * f - p * h, p * g - q * f], axis=-1)


@dataclass(frozen=True, eq=False)
class Core:
    """Corners, edges and faces of a piece in the axes of its body, from the centre of mass.

    Attributes
    ----------
    corners : (v, 3); spokes (v, k, 3): directions of the edges at each corner, filled up with zeros.
    starts, along, lengths : of the edges, (e, 3), (e, 3) and (e,).
    inward : (e, 2, 3) directions from each edge into its two faces; zeros where there are none.
    normals, levels : of the faces, (f, 3) and (f,); thickness (f,) of the body behind each.
    sides, side_levels : (f, k, 3) and (f, k) of the lines round each face, pointing inward.
    radius : of the ball that rolls on the core [m].
    """

    corners: Array
    spokes: Array
    starts: Array
    along: Array
    lengths: Array
    inward: Array
    normals: Array
    levels: Array
    thickness: Array
    sides: Array
    side_levels: Array
    radius: float

    @cached_property
    def reach(self) -> float:
        """Radius of a ball about the centre of mass that holds the piece [m]."""
        return float(np.linalg.norm(self.corners, axis=1).max()) + self.radius

    @property
    def widest_face(self) -> int:
        return int(np.any(self.sides != 0.0, axis=2).sum(axis=1).max(initial=0))

    @classmethod
    def of(cls, body: Body, piece: Piece) -> Core | None:
        """The core of a piece; None of a piece that has none."""
        R, at = rotation_matrix(piece.turn), piece.offset - body.centre
        if piece.kind == "sphere":
            return _polytope(at[None], [], [], piece.size[0])
        if piece.kind == "capsule":
            ends = np.array([at - piece.size[1] * R[:, 2], at + piece.size[1] * R[:, 2]])
            return _polytope(ends, [(0, 1)], [], piece.size[0])
        if piece.kind == "hull" and piece.mesh is not None and piece.part == 0.0:
            corners = at + piece.mesh.vertices @ R.T
            loops = [tuple(loop) for loop in piece.mesh.loops]
            edges = sorted({(min(a, b), max(a, b)) for loop in loops for a, b in _round(loop)})
            return _polytope(corners, edges, loops, piece.size[0])
        return None


def _round(loop: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(loop, loop[1:] + loop[:1], strict=True))


def _filled(rows: list[list[Array]]) -> Array:
    """Lists of vectors as one array, filled up with zeros."""
    found = np.zeros((len(rows), max((len(row) for row in rows), default=0), 3))
    for i, row in enumerate(rows):
        found[i, : len(row)] = np.array(row).reshape(-1, 3)
    return found


def _polytope(corners: Array, edges: list[tuple[int, int]], loops: list[tuple[int, ...]], radius: float) -> Core:
    normals, levels, sides, side_levels = [], [], [], []
    inward: dict[tuple[int, int], list[Array]] = {edge: [] for edge in edges}
    for loop in loops:
        points = corners[list(loop)]
        middle = points.mean(axis=0)
        n = sum(
            (np.cross(a - middle, b - middle) for a, b in zip(points, np.roll(points, -1, 0), strict=True)), np.zeros(3)
        )
        n = n / np.linalg.norm(n)
        own = []
        for a, b in _round(loop):
            m = np.cross(n, corners[b] - corners[a])
            m = m / np.linalg.norm(m)
            own.append((m, float(m @ corners[a])))
            inward[min(a, b), max(a, b)].append(m)
        normals.append(n)
        levels.append(float(n @ middle))
        sides.append([m for m, _ in own])
        side_levels.append([level for _, level in own])
    most = max((len(row) for row in side_levels), default=0)
    spokes: list[list[Array]] = [[] for _ in corners]
    for a, b in edges:
        e = (corners[b] - corners[a]) / np.linalg.norm(corners[b] - corners[a])
        spokes[a].append(e)
        spokes[b].append(-e)
    ends = np.array(edges, dtype=int).reshape(-1, 2)
    lines = corners[ends[:, 1]] - corners[ends[:, 0]]
    lengths = np.linalg.norm(lines, axis=1)
    faces = np.array(normals).reshape(-1, 3)
    return Core(
        corners, _filled(spokes), corners[ends[:, 0]], lines / lengths[:, None], lengths,
        _filled([inward[edge] for edge in edges]) if loops else np.zeros((len(edges), 2, 3)), faces, np.array(levels),
        np.array(levels) - (corners @ faces.T).min(axis=0, initial=np.inf), _filled(sides),
        np.array([row + [-np.inf] * (most - len(row)) for row in side_levels]).reshape(len(loops), most), radius,
    )  # fmt: skip


# -- gaps of all features of two cores, in the axes of the first -----------------------------------------------------


def corners_on_faces(of: Core, x: Array, spokes: Array, size: float) -> tuple[Array, Array]:
    """Heights (v, f) of corners x over the faces of a core, and how far inside they count (negative: they do not).

    spokes (v, k, 3) are the edges at the corners, which must not point into the face; all in the axes of the core.
    """
    height = x @ of.normals.T - of.levels
    beside = np.einsum("vi,fki->vfk", x, of.sides) - of.side_levels
    inside = beside.min(axis=2, initial=np.inf) + BESIDE * size
    turned = np.einsum("vki,fi->vfk", spokes, of.normals).min(axis=2, initial=np.inf) + OUTWARD
    nearest = height - height.max(axis=1, keepdims=True, initial=-np.inf) + BESIDE * size
    behind = height + DEEP * of.thickness
    counts = np.minimum(np.minimum(inside, behind), np.where(turned < 0.0, -1.0, np.inf))
    return height, np.where(height > 0.0, counts, np.minimum(counts, nearest))


def _out(n: Array, directions: Array) -> Array:
    """Whether n points out of a body at a feature with these directions (..., k, 3) into it: margin >= 0."""
    return OUTWARD - np.einsum("...i,...ki->...k", n, directions).max(axis=-1, initial=-np.inf)


@dataclass(frozen=True, eq=False)
class Lines:
    """Edges of a core at a pose: starts a (e, 3), directions e (e, 3), lengths, directions into faces (e, 2, 3)."""

    a: Array
    e: Array
    lengths: Array
    inward: Array
    faced: bool


def edges_on_edges(A: Lines, B: Lines, size: float, sharp: bool) -> tuple[Array, Array]:
    """Gaps (e, f) of the axes of edges, and how far inside they count."""
    e, f = A.e[:, None, :], B.e[None, :, :]
    d = B.a[None, :, :] - A.a[:, None, :]
    c = cross(e, f)
    sine = np.sqrt(np.einsum("efi,efi->ef", c, c))
    k = A.e @ B.e.T
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha, beta = np.einsum("efi,efi->ef", d, e + 0 * d), np.einsum("efi,efi->ef", d, f + 0 * d)
        s, w = (alpha - k * beta) / sine**2, (k * alpha - beta) / sine**2
        line = d + w[..., None] * f - s[..., None] * e
        n = c / sine[..., None]
        if sharp:
            n = n * np.where(np.einsum("efi,ei->ef", n, A.inward.sum(axis=1)) > 0.0, -1.0, 1.0)[..., None]
        else:
            n = n * np.where(np.einsum("efi,efi->ef", n, line) < 0.0, -1.0, 1.0)[..., None]
        gap = np.einsum("efi,efi->ef", n, line)
        within = (
            np.minimum(np.minimum(s, A.lengths[:, None] - s), np.minimum(w, B.lengths[None] - w)) - 0.5 * BESIDE * size
        )
        counts = within
        if A.faced:
            counts = np.where(_out(n, A.inward[:, None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
        if B.faced:
            counts = np.where(_out(-n, B.inward[None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
    counts = np.where((sine > PARALLEL) & np.isfinite(gap), counts, -1.0)
    return np.where(np.isfinite(gap), gap, NOWHERE), counts


def corners_on_edges(x: Array, spokes: Array, B: Lines, size: float) -> tuple[Array, Array]:
    """Distances (v, e) of corners to the axes of edges, and how far inside they count."""
    d = x[:, None, :] - B.a[None]
    s = np.einsum("vei,ei->ve", d, B.e)
    line = d - s[..., None] * B.e  # from the edge to the corner
    gap = np.sqrt(np.einsum("vei,vei->ve", line, line))
    n = line / np.maximum(gap, 1e-300)[..., None]
    counts = np.minimum(s, B.lengths - s) + BESIDE * size
    if B.faced:
        counts = np.where(_out(n, B.inward[None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
    if spokes.shape[1]:
        counts = np.where(_out(-n, spokes[:, None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
    return gap, counts


def corners_on_corners(x: Array, spokes: Array, y: Array, others: Array) -> tuple[Array, Array]:
    """Distances (v, w) of the corners x and y of two cores, and whether they count."""
    line = y[None] - x[:, None]
    gap = np.sqrt(np.einsum("vwi,vwi->vw", line, line))
    n = line / np.maximum(gap, 1e-300)[..., None]
    counts = np.ones_like(gap)
    if spokes.shape[1]:
        counts = np.where(_out(n, spokes[:, None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
    if others.shape[1]:
        counts = np.where(_out(-n, others[None] + 0 * n[..., None, :]) < 0.0, -1.0, counts)
    return gap, counts
