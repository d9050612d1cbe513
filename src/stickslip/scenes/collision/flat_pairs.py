"""Two convex polyhedra and two planar polygons: the axis that parts them best, and the points of its faces or edges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.flat import (
    CLIP,
    PREFERENCE,
    Placed,
    best_face,
    clip_along_axis,
    clip_faces,
    corner,
    corners_beside,
    edge_axes,
    facing,
    lowest,
    middle,
    placed,
    support_edge,
)
from stickslip.scenes.collision.round import add_point, nearest_of_segments
from stickslip.scenes.layout import ZERO, Hulls, Room

FLUSH = 1.0 - 1e-9  # cosine of the angle between two faces that lie flat on one another
LEAST_SUM = 0.2  # of two unit normals that stand for one axis: less than 12 degrees short of opposite ones


class Reach(NamedTuple):
    """How far shapes may be apart to have contact points, with their size and the rounding of their coordinates."""

    size: float  # of the smaller one [m]
    margin: float
    rounding: float


Parting = tuple[int, float]
"""A face, and how far it parts two shapes [m]."""


@kernel
def best_faces(hulls: Hulls, a: Placed, b: Placed, reach: Reach) -> tuple[int, float, int, float]:
    """The face of each of two shapes that parts them best, with the distance there.

    Where a face of a parts them by more than the margin, b is not asked.  Shapes that touch along a common edge of two
    pairs of faces, each of which lies in one plane, are nowhere in each other's way: their distance is infinite.  A
    face that happened to be taken would hold a block which falls along the other one.
    """
    margin, rounding = reach.margin, reach.rounding
    face_a, s_a, tied_a = best_face(hulls, a.table, a.corners, a.normals, b.corners, b.table[1], margin, rounding)
    if s_a > margin:
        return face_a, s_a, face_a, s_a
    face_b, s_b, tied_b = best_face(hulls, b.table, b.corners, b.normals, a.corners, a.table[1], margin, rounding)
    if tied_a and tied_b and abs(s_a) <= rounding:
        n = a.normals[face_a]
        if facing(b.normals, b.table[3], -n[0], -n[1], -n[2])[1] > FLUSH:
            return face_a, np.inf, face_b, np.inf
    return face_a, s_a, face_b, s_b


@kernel(apart=True)
def mean_normal(hulls: Hulls, own: Placed, other: Placed, least: float) -> tuple[float, float, float, int]:
    """Mean of the normals of the faces that part two shapes by `least` or more, and the number of these faces."""
    table, corners, normals = own
    x, y, z, count = 0.0, 0.0, 0.0, 0
    for f in range(table[3]):
        n = normals[f]
        v = corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        level = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        if lowest(other.corners, other.table[1], n[0], n[1], n[2], level, least) > least:
            x, y, z, count = x + n[0], y + n[1], z + n[2], count + 1
    return x / max(count, 1), y / max(count, 1), z / max(count, 1), count


@kernel
def halfway(
    hulls: Hulls, own: Placed, own_face: Parting, other: Placed, other_face: Parting, size: float
) -> tuple[float, float, float, float, float]:
    """The axis halfway between those of two faces that part the shapes equally well, its separation, and a wider size.

    Where edges or corners meet, every axis between those of the two faces parts the shapes as well as each of these.
    The normal is not determined, and the one halfway is that of two shapes in mirror image.  What meets lies beside
    the faces by as much as the axis leans, and `CLIP` of the wider size covers that.  The size as it is: one of the
    faces lies along a face of the other shape, and holds it flat.

    Two faces of each shape, or more, part shapes that come corner to corner, and the means of their normals stand for
    each: the first face of a list would choose a side.  Such shapes that touch are as those with one face each.
    """
    s_a, s_b, tolerance = own_face[1], other_face[1], PREFERENCE * size
    n, m = own.normals[own_face[0]], other.normals[other_face[0]]
    p, q, r, u, v, w = n[0], n[1], n[2], m[0], m[1], m[2]
    flush = max(facing(other.normals, other.table[3], -p, -q, -r)[1], facing(own.normals, own.table[3], -u, -v, -w)[1])
    if flush <= FLUSH or abs(s_a) > tolerance:
        a, b, c, k = mean_normal(hulls, own, other, s_a - tolerance)
        d, e, f, j = mean_normal(hulls, other, own, s_b - tolerance)
        if k > 1 and j > 1:
            flush, p, q, r, u, v, w = -1.0, a, b, c, d, e, f
    x, y, z = p - u, q - v, r - w
    length = math.sqrt(x * x + y * y + z * z)
    if flush > FLUSH or length < LEAST_SUM:
        return 0.0, 0.0, 0.0, 0.0, size
    x, y, z, s = x / length, y / length, z / length, (s_a + s_b) / length
    lean = math.sqrt(max(0.0, 1.0 - (n[0] * x + n[1] * y + n[2] * z) ** 2))
    return x, y, z, s, (1.0 + lean) * size + 2.0 * lean * abs(s) / CLIP


@kernel
def mirrored(room: Room, count_a: int, count_b: int, x: float, y: float, z: float) -> bool:
    """Whether the faces of b look where those of a look in a mirror across the axis: symmetry asks for this axis."""
    if count_a != count_b:
        return False
    for f in range(count_a):
        a, b, c = room.normals_a[f, 0], room.normals_a[f, 1], room.normals_a[f, 2]
        s = 2.0 * (a * x + b * y + c * z)
        if facing(room.normals_b, count_b, a - s * x, b - s * y, c - s * z)[1] <= FLUSH:
            return False
    return True


@kernel
def turn_nearest(room: Room, count: int, x: float, y: float, z: float, s: float, near: float, choice: float) -> int:
    """Give the nearest of the points, which a face of a has found, the axis (x, y, z) and its separation s."""
    nearest = np.inf
    for k in range(count):
        nearest = min(nearest, room.gaps[k])
    for k in range(count):
        if room.gaps[k] <= nearest + near:
            p, n, gap = room.points[k], room.normals[k], room.gaps[k]
            p[0] += 0.5 * (gap * n[0] - s * x)
            p[1] += 0.5 * (gap * n[1] - s * y)
            p[2] += 0.5 * (gap * n[2] - s * z)
            n[0], n[1], n[2] = x, y, z
            room.gaps[k], room.choice[k] = s, choice
    return count


@kernel(apart=True)
def hull_pair(
    hulls: Hulls, room: Room, table_a: np.ndarray, pose_a: np.ndarray, table_b: np.ndarray, pose_b: np.ndarray,
    reach: Reach,
) -> int:  # fmt: skip
    """Two convex polyhedra."""
    size, margin = reach.size, reach.margin
    a = placed(hulls, table_a, pose_a, room.corners_a, room.normals_a)
    b = placed(hulls, table_b, pose_b, room.corners_b, room.normals_b)
    A, B = a.corners, b.corners
    face_a, s_a, face_b, s_b = best_faces(hulls, a, b, reach)
    if s_a > margin or s_b > margin:
        return 0
    tolerance = PREFERENCE * size
    best = s_b if s_b > s_a + tolerance else s_a
    p, q, r = middle(A, table_a[1])
    d, e, f = middle(B, table_b[1])
    towards = (d - p, e - q, f - r)
    near = max(margin, -best) + CLIP * size
    i, j, s, x, y, z = edge_axes(hulls, room, a, b, (face_a, face_b), towards, best + tolerance, near)
    if i >= 0 and s > margin:
        return 0
    if i >= 0:
        i = support_edge(hulls, table_a, A, i, x, y, z)
        j = support_edge(hulls, table_b, B, j, -x, -y, -z)
        P, Q = corner(A, hulls.edges[i, 0]), corner(A, hulls.edges[i, 1])
        R, S = corner(B, hulls.edges[j, 0]), corner(B, hulls.edges[j, 1])
        v, w = nearest_of_segments(P, Q, R, S)
        if 0.0 < v < 1.0 and 0.0 < w < 1.0:
            found = clip_along_axis(hulls, room, a, b, (x, y, z), s, size, margin)
            if found > 0:
                return found
            found = corners_beside(hulls, room, a, i, b, j, (x, y, z), margin)
            between = (
                0.5 * (P[0] + v * (Q[0] - P[0]) + R[0] + w * (S[0] - R[0])),
                0.5 * (P[1] + v * (Q[1] - P[1]) + R[1] + w * (S[1] - R[1])),
                0.5 * (P[2] + v * (Q[2] - P[2]) + R[2] + w * (S[2] - R[2])),
            )
            return add_point(room, found, between, (x, y, z), s)
    if s_b > s_a + tolerance:
        return clip_faces(hulls, room, b, face_b, a, -1.0, size, margin)
    if s_b < s_a - tolerance:
        return clip_faces(hulls, room, a, face_a, b, 1.0, size, margin)
    x, y, z, s, wide = halfway(hulls, a, (face_a, s_a), b, (face_b, s_b), size)
    found = clip_faces(hulls, room, a, face_a, b, 1.0, wide, margin)
    if found == 0 or wide <= size:
        return found
    choice = 0.0 if mirrored(room, table_a[3], table_b[3], x, y, z) else 1.0
    return turn_nearest(room, found, x, y, z, s, CLIP * wide, choice)


@kernel
def clip_edges(room: Room, own: Placed, face: int, other: Placed, sign: float, size: float, margin: float) -> int:
    """`clip_faces` in the plane: up to two points of the edge that looks at edge `face`."""
    n = own.normals[face]
    incident, least = 0, np.inf
    for f in range(other.table[3]):
        s = n[0] * other.normals[f, 0] + n[1] * other.normals[f, 1]
        if s < least - 1e-9:
            incident, least = f, s
    P, Q = own.corners[face], own.corners[(face + 1) % own.table[1]]
    R, S = other.corners[incident], other.corners[(incident + 1) % other.table[1]]
    length = math.hypot(Q[0] - P[0], Q[1] - P[1])
    t0, t1 = (Q[0] - P[0]) / length, (Q[1] - P[1]) / length
    r = (R[0] - P[0]) * t0 + (R[1] - P[1]) * t1
    s = (S[0] - P[0]) * t0 + (S[1] - P[1]) * t1
    tolerance = CLIP * size
    found = ZERO
    for k in range(2):
        # position along the edge: a corner of the other shape, or where its edge passes an end of ours
        w = r if k == 0 else s
        far = s if k == 0 else r
        share = 0.0
        if w < -tolerance:
            if far < -tolerance:
                return 0
            if far <= tolerance:  # a corner that is there already
                continue
            share = -w / (far - w)
        elif w > length + tolerance:
            if far > length + tolerance:
                return 0
            if far >= length - tolerance:
                continue
            share = (w - length) / (w - far)
        a, b = (R[0], R[1]) if k == 0 else (S[0], S[1])
        c, d = (S[0], S[1]) if k == 0 else (R[0], R[1])
        x, y = a + share * (c - a), b + share * (d - b)
        gap = n[0] * (x - P[0]) + n[1] * (y - P[1])
        if gap <= margin:
            at = (x - 0.5 * gap * n[0], y - 0.5 * gap * n[1], 0.0)
            found = add_point(room, found, at, (sign * n[0], sign * n[1], 0.0), gap)
    return found


@kernel(apart=True)
def polygon_pair(
    hulls: Hulls, room: Room, table_a: np.ndarray, pose_a: np.ndarray, table_b: np.ndarray, pose_b: np.ndarray,
    reach: Reach,
) -> int:  # fmt: skip
    """Two convex polygons."""
    size, margin = reach.size, reach.margin
    a = placed(hulls, table_a, pose_a, room.corners_a, room.normals_a)
    b = placed(hulls, table_b, pose_b, room.corners_b, room.normals_b)
    face_a, s_a, face_b, s_b = best_faces(hulls, a, b, reach)
    if s_a > margin or s_b > margin:
        return 0
    if s_b > s_a + PREFERENCE * size:
        return clip_edges(room, b, face_b, a, -1.0, size, margin)
    if s_b < s_a - PREFERENCE * size:
        return clip_edges(room, a, face_a, b, 1.0, size, margin)
    x, y, z, s, wide = halfway(hulls, a, (face_a, s_a), b, (face_b, s_b), size)
    found = clip_edges(room, a, face_a, b, 1.0, wide, margin)
    if found == 0 or wide <= size:
        return found
    choice = 0.0 if mirrored(room, table_a[3], table_b[3], x, y, z) else 1.0
    return turn_nearest(room, found, x, y, z, s, CLIP * wide, choice)
