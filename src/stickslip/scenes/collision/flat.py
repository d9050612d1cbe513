"""Narrow phase of convex polyhedra (boxes, hulls) and planar polygons: separating axes, then clipping of faces.

The normal is the axis along which the shapes are farthest apart (or overlap least).  A face of the first shape is
preferred, then one of the second, then a pair of edges, each unless the next is better by more than `PREFERENCE` of
the size.  So rounding cannot make the choice flicker.  Corners that lie outside the reference face by less than `CLIP`
of the size count as inside, so that aligned faces keep their own corners.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.round import Point, add_point
from stickslip.scenes.layout import MAX_POINTS, ZERO, Hulls, Room
from stickslip.scenes.rotation import rotate, rotate_back, to_world, z_axis

SURE = 1e-12  # of all lengths in a height: its rounding is less by far
PREFERENCE = 1e-7  # of the size: separation by which an axis must be better to be taken instead of a preferred one
ALIGNED = 0.995  # cosine of the angle between the common normal of two edges and the normal of a face taken instead
CLIP = 1e-6  # of the size: corners that lie outside the reference face by less count as inside
SLANT = 1e-3  # cosine: a face that looks along an edge is no face beside it


class Placed(NamedTuple):
    """A shape in its place: its row of numbers in `Hulls`, and corners and face normals in world coordinates."""

    table: np.ndarray
    corners: np.ndarray
    normals: np.ndarray


@kernel
def place(hulls: Hulls, table: np.ndarray, pose: np.ndarray, corners: np.ndarray, normals: np.ndarray) -> None:
    """Corners and face normals of a shape in world coordinates."""
    for k in range(table[1]):
        v = hulls.vertices[table[0] + k]
        corners[k, 0], corners[k, 1], corners[k, 2] = to_world(pose, v[0], v[1], v[2])
    for k in range(table[3]):
        n = hulls.normals[table[2] + k]
        normals[k, 0], normals[k, 1], normals[k, 2] = rotate(pose, n[0], n[1], n[2])


@kernel
def placed(hulls: Hulls, table: np.ndarray, pose: np.ndarray, corners: np.ndarray, normals: np.ndarray) -> Placed:
    """A shape in its place; room for its corners and normals."""
    place(hulls, table, pose, corners, normals)
    return Placed(table, corners, normals)


@kernel
def corner(corners: np.ndarray, k: int) -> Point:
    """Corner k."""
    return corners[k, 0], corners[k, 1], corners[k, 2]


@kernel
def lowest(corners: np.ndarray, count: int, a: float, b: float, c: float, level: float, enough: float) -> float:
    """min over the corners of their coordinate along (a, b, c) above `level`, or one that is not above `enough`."""
    best = np.inf
    for k in range(count):
        best = min(best, a * corners[k, 0] + b * corners[k, 1] + c * corners[k, 2] - level)
        if best <= enough:
            break
    return best


@kernel
def separation(
    A: np.ndarray, count_a: int, B: np.ndarray, count_b: int, a: float, b: float, c: float, beat: float
) -> float:
    """How far B lies beyond A along (a, b, c), or a bound of it that is not above `beat`: most axes end there soon."""
    low, high = np.inf, -np.inf
    for k in range(max(count_a, count_b)):
        if k < count_a:
            high = max(high, a * A[k, 0] + b * A[k, 1] + c * A[k, 2])
        if k < count_b:
            low = min(low, a * B[k, 0] + b * B[k, 1] + c * B[k, 2])
        if low - high <= beat:
            break
    return low - high


@kernel
def best_face(
    hulls: Hulls, table: np.ndarray, corners: np.ndarray, normals: np.ndarray, other: np.ndarray, others: int,
    margin: float, rounding: float,
) -> tuple[int, float, bool]:  # fmt: skip
    """The face (of a polygon: edge) that separates best, how far, and whether a second one does so but for rounding.

    Of such faces the first is taken.  Stops at a face that is farther than `margin`.
    """
    face, best, tied = 0, -np.inf, False
    for f in range(table[3]):
        n = normals[f]
        v = corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        level = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        s = lowest(other, others, n[0], n[1], n[2], level, best - rounding)
        if s > best + rounding:
            face, best, tied = f, s, False
            if s > margin:
                break
        elif s > best - rounding:
            b = normals[face]
            tied = tied or n[0] * b[0] + n[1] * b[1] + n[2] * b[2] < ALIGNED
    return face, best, tied


@kernel(apart=True)
def spread(room: Room, count: int) -> int:
    """Reduce to MAX_POINTS: the deepest point, and the farthest ones in seven directions across the normal."""
    if count <= MAX_POINTS:
        return count
    n = room.normals[0]
    a, b, c = (0.0, -n[2], n[1]) if abs(n[0]) < 0.7 else (-n[2], 0.0, n[0])
    norm = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / norm, b / norm, c / norm
    d, e, f = n[1] * c - n[2] * b, n[2] * a - n[0] * c, n[0] * b - n[1] * a
    deepest = 0
    for k in range(count):
        if room.gaps[k] < room.gaps[deepest]:
            deepest = k
    kept = 0
    taken = room.outline[:, 0]
    for k in range(count):
        taken[k] = 0.0
    for w in range(MAX_POINTS):
        best, chosen = -np.inf, -1
        angle = 2.0 * math.pi * w / (MAX_POINTS - 1)
        x, y = math.cos(angle), math.sin(angle)
        for k in range(count):
            p = room.points[k]
            value = x * (a * p[0] + b * p[1] + c * p[2]) + y * (d * p[0] + e * p[1] + f * p[2])
            if value > best and taken[k] == 0.0:
                best, chosen = value, k
        if w == MAX_POINTS - 1 and taken[deepest] == 0.0:
            chosen = deepest
        taken[chosen] = 1.0
    for k in range(count):
        if taken[k] == 1.0:
            for i in range(3):
                room.points[kept, i] = room.points[k, i]
                room.normals[kept, i] = room.normals[k, i]
            room.gaps[kept] = room.gaps[k]
            kept += 1
    return kept


@kernel
def box_above(pose: np.ndarray, box: np.ndarray, plane: np.ndarray, margin: float) -> bool:
    """Whether a box with the half widths `box` lies farther than `margin` above a half-space."""
    a, b, c = z_axis(plane)
    height = a * (pose[0] - plane[0]) + b * (pose[1] - plane[1]) + c * (pose[2] - plane[2])
    a, b, c = rotate_back(pose, a, b, c)
    return height - abs(a) * box[0] - abs(b) * box[1] - abs(c) * box[2] > margin


@kernel
def shape_plane(hulls: Hulls, room: Room, table: np.ndarray, pose: np.ndarray, plane: np.ndarray, margin: float) -> int:
    """The corners of a polyhedron or polygon near a half-space.

    Heights in the axes of the body tell which: the others are not placed.
    """
    a, b, c = z_axis(plane)
    count = ZERO
    p, q, r = rotate_back(pose, a, b, c)
    height = a * (pose[0] - plane[0]) + b * (pose[1] - plane[1]) + c * (pose[2] - plane[2])
    size = abs(margin)
    for k in range(3):
        size += abs(pose[k]) + abs(plane[k])
    enough = margin + SURE * size - height
    for k in range(table[1]):
        v = hulls.vertices[table[0] + k]
        if p * v[0] + q * v[1] + r * v[2] - SURE * (abs(v[0]) + abs(v[1]) + abs(v[2])) > enough:
            continue
        x, y, z = to_world(pose, v[0], v[1], v[2])
        gap = a * (x - plane[0]) + b * (y - plane[1]) + c * (z - plane[2])
        if gap <= margin:
            h = 0.5 * gap
            count = add_point(room, count, (x - h * a, y - h * b, z - h * c), (-a, -b, -c), gap)
    return spread(room, count)


@kernel
def clip_half(
    source: np.ndarray, count: int, a: float, b: float, c: float, d: float, tolerance: float, target: np.ndarray
) -> int:
    """The part of a polygon with a x + b y + c z <= d; corners up to `tolerance` beyond are kept as they are."""
    kept = 0
    for k in range(count):
        P, Q = source[k], source[(k + 1) % count]
        s = a * P[0] + b * P[1] + c * P[2] - d
        t = a * Q[0] + b * Q[1] + c * Q[2] - d
        if s <= tolerance:
            for i in range(3):
                target[kept, i] = P[i]
            kept += 1
        if (s < -tolerance and t > tolerance) or (s > tolerance and t < -tolerance):
            f = s / (s - t)
            for i in range(3):
                target[kept, i] = P[i] + f * (Q[i] - P[i])
            kept += 1
    return kept


@kernel
def incident_face(hulls: Hulls, table: np.ndarray, corners: np.ndarray, normals: np.ndarray, n: np.ndarray) -> int:
    """Of the faces at the corner that lies deepest behind n, the one that looks most against n."""
    deepest, depth = 0, np.inf
    for k in range(table[1]):
        v = corners[k]
        s = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        if s < depth:
            deepest, depth = k, s
    incident, least = 0, np.inf
    for f in range(table[3]):
        m, loop = normals[f], hulls.loops[table[2] + f]
        s = n[0] * m[0] + n[1] * m[1] + n[2] * m[2]
        if s < least - 1e-9:
            for k in range(loop[1]):
                if hulls.corners[loop[0] + k] == deepest:
                    incident, least = f, s
    return incident


@kernel
def middle(corners: np.ndarray, count: int) -> tuple[float, float, float]:
    """The mean of the corners, which lies inside."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(count):
        x += corners[k, 0]
        y += corners[k, 1]
        z += corners[k, 2]
    return x / count, y / count, z / count


@kernel
def along_normal(v: np.ndarray, n: np.ndarray, h: float) -> Point:
    """The point h behind v along the normal n."""
    return v[0] - h * n[0], v[1] - h * n[1], v[2] - h * n[2]


@kernel(apart=True)
def clip_faces(
    hulls: Hulls, room: Room, own: Placed, face: int, other: Placed, sign: float, size: float, margin: float
) -> int:
    """Contact points of a face with the face of the other shape that looks at it; sign +1: the face is of shape a."""
    table, corners, n = own.table, own.corners, own.normals[face]
    incident = incident_face(hulls, other.table, other.corners, other.normals, n)
    loop = hulls.loops[other.table[2] + incident]
    count = loop[1]
    for k in range(count):
        v = other.corners[hulls.corners[loop[0] + k]]
        room.outline[k, 0], room.outline[k, 1], room.outline[k, 2] = v[0], v[1], v[2]
    loop = hulls.loops[table[2] + face]
    for k in range(loop[1]):
        P = corners[hulls.corners[loop[0] + k]]
        Q = corners[hulls.corners[loop[0] + (k + 1) % loop[1]]]
        e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        a, b, c = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
        norm = math.sqrt(a * a + b * b + c * c)
        a, b, c = a / norm, b / norm, c / norm
        source, target = (room.outline, room.cut) if k % 2 == 0 else (room.cut, room.outline)
        count = clip_half(source, count, a, b, c, a * P[0] + b * P[1] + c * P[2], CLIP * size, target)
        if count == 0:
            return 0
    cut = room.outline if loop[1] % 2 == 0 else room.cut
    P = corners[hulls.corners[loop[0]]]
    level = n[0] * P[0] + n[1] * P[1] + n[2] * P[2]
    found = ZERO
    for k in range(count):
        v = cut[k]
        gap = n[0] * v[0] + n[1] * v[1] + n[2] * v[2] - level
        if gap <= margin:
            at = along_normal(v, n, 0.5 * gap)
            found = add_point(room, found, at, (sign * n[0], sign * n[1], sign * n[2]), gap)
    return spread(room, found)


@kernel
def edges_near(hulls: Hulls, own: Placed, other: Placed, face: int, reach: float, chosen: np.ndarray) -> int:
    """Write the edges, one per direction, that come within `reach` of the half-space behind a face of the other shape.

    Edges whose common normal is the axis of the two shapes are as far from each other as the shapes are: the rest,
    nearly all of a hull with many corners, need not be tried.
    """
    table, corners = own.table, own.corners
    n, v = other.normals[face], other.corners[hulls.corners[hulls.loops[other.table[2] + face, 0]]]
    level = n[0] * v[0] + n[1] * v[1] + n[2] * v[2] + reach
    count, seen = 0, -1
    for i in range(table[4], table[4] + table[5]):
        if hulls.directions[i] == seen:
            continue
        P, Q = corners[hulls.edges[i, 0]], corners[hulls.edges[i, 1]]
        p = n[0] * P[0] + n[1] * P[1] + n[2] * P[2]
        q = n[0] * Q[0] + n[1] * Q[1] + n[2] * Q[2]
        if min(p, q) <= level:
            seen = hulls.directions[i]
            chosen[count] = i
            count += 1
    return count


@kernel(apart=True)
def edge_axes(
    hulls: Hulls, room: Room, a: Placed, b: Placed, faces: tuple[int, int], towards: Point, beat: float, reach: float
) -> tuple[int, int, float, float, float, float]:
    """Edges of a and b (one per direction) whose common normal separates by more than `beat`, and that normal."""
    A, B, size_a, size_b = a.corners, b.corners, a.table[1], b.table[1]
    edges_a, edges_b = room.edges_a, room.edges_b
    count_a = edges_near(hulls, a, b, faces[1], reach, edges_a)
    count_b = edges_near(hulls, b, a, faces[0], reach, edges_b)
    found_a, found_b, best = -1, -1, beat
    x, y, z = 0.0, 0.0, 0.0
    for k in range(count_a):
        i = edges_a[k]
        P, Q = A[hulls.edges[i, 0]], A[hulls.edges[i, 1]]
        a0, a1, a2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        for m in range(count_b):
            j = edges_b[m]
            R, S = B[hulls.edges[j, 0]], B[hulls.edges[j, 1]]
            b0, b1, b2 = S[0] - R[0], S[1] - R[1], S[2] - R[2]
            c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            norm = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
            if norm * norm <= 1e-12 * (a0 * a0 + a1 * a1 + a2 * a2) * (b0 * b0 + b1 * b1 + b2 * b2):
                continue
            between = (c0 * towards[0] + c1 * towards[1] + c2 * towards[2]) / norm
            if between < 0.0:
                norm = -norm
            c0, c1, c2 = c0 / norm, c1 / norm, c2 / norm
            s = separation(A, size_a, B, size_b, c0, c1, c2, best)
            if s > best:
                found_a, found_b, best = i, j, s
                x, y, z = c0, c1, c2
            # `towards` joins points inside: no separation the other way is above -|between|, of shallow ones too little
            if -abs(between) > best:
                s = separation(A, size_a, B, size_b, -c0, -c1, -c2, best)
                if s > best:
                    found_a, found_b, best = i, j, s
                    x, y, z = -c0, -c1, -c2
    return found_a, found_b, best, x, y, z


@kernel
def support_edge(hulls: Hulls, table: np.ndarray, corners: np.ndarray, edge: int, a: float, b: float, c: float) -> int:
    """The edge parallel to `edge` that lies farthest along (a, b, c)."""
    chosen, best = edge, -np.inf
    for i in range(table[4], table[4] + table[5]):
        if hulls.directions[i] == hulls.directions[edge]:
            P, Q = corners[hulls.edges[i, 0]], corners[hulls.edges[i, 1]]
            s = a * (P[0] + Q[0]) + b * (P[1] + Q[1]) + c * (P[2] + Q[2])
            if s > best:
                chosen, best = i, s
    return chosen


@kernel
def facing(normals: np.ndarray, count: int, x: float, y: float, z: float) -> tuple[int, float]:
    """The face that looks most along (x, y, z), and the cosine of the angle between its normal and (x, y, z)."""
    face, most = ZERO, -np.inf
    for f in range(count):
        s = normals[f, 0] * x + normals[f, 1] * y + normals[f, 2] * z
        if s > most:
            face, most = f, s
    return face, most


@kernel
def take_axis(room: Room, count: int, x: float, y: float, z: float, s: float) -> None:
    """Give points on a face that stands for the axis (x, y, z) the depth s of the axis, and the deepest its direction.

    The others keep that of the face; all of this is second order in the angle between the two.
    """
    deepest = ZERO
    for k in range(count):
        if room.gaps[k] < room.gaps[deepest]:
            deepest = k
    shift = s - room.gaps[deepest]
    for k in range(count):
        room.gaps[k] += shift
    room.normals[deepest, 0], room.normals[deepest, 1], room.normals[deepest, 2] = x, y, z


@kernel(apart=True)
def clip_along_axis(
    hulls: Hulls, room: Room, a: Placed, b: Placed, axis: Point, s: float, size: float, margin: float
) -> int:
    """Points of an edge that lies across a face, for an axis with separation s that came from one crossing.

    An edge that sticks out on both sides crosses two edges of the face.  The axis knows the nearer crossing.  With this
    point alone the other crossing, a hair farther away, would sink in before it is seen, and so on in turn.  Returns 0
    where the face does not look along the axis, its points have another separation than the axis, or it has one point.
    """
    x, y, z = axis
    face_a, along_a = facing(a.normals, a.table[3], x, y, z)
    face_b, along_b = facing(b.normals, b.table[3], -x, -y, -z)
    if max(along_a, along_b) < ALIGNED:
        return 0
    if along_b > along_a:
        found = clip_faces(hulls, room, b, face_b, a, -1.0, size, margin)
    else:
        found = clip_faces(hulls, room, a, face_a, b, 1.0, size, margin)
    deepest = np.inf
    for k in range(found):
        deepest = min(deepest, room.gaps[k])
    if found < 2 or abs(deepest - s) > 0.1 * abs(s) + PREFERENCE * size:
        return 0
    take_axis(room, found, x, y, z, s)
    return found


@kernel
def nearest_face(
    hulls: Hulls, table: np.ndarray, corners: np.ndarray, normals: np.ndarray, x: float, y: float, z: float
) -> tuple[int, float]:
    """The face (of a polygon: edge) in front of which a point lies farthest, or behind which it lies least deep."""
    face, distance = 0, -np.inf
    for f in range(table[3]):
        n, v = normals[f], corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        s = n[0] * (x - v[0]) + n[1] * (y - v[1]) + n[2] * (z - v[2])
        if s > distance:
            face, distance = f, s
    return face, distance


@kernel(apart=True)
def corners_beside(hulls: Hulls, room: Room, a: Placed, i: int, b: Placed, j: int, axis: Point, margin: float) -> int:
    """The ends of crossing edges i of a and j of b that come near a face of the other shape, which sees them.

    Edges that are nearly parallel touch in one point, but hold one another over all their common length as soon as one
    shape tips over that point by their small angle.
    """
    x, y, z = axis
    found = ZERO
    for k in range(4):
        a_corner = k < 2
        v = a.corners[hulls.edges[i, k]] if a_corner else b.corners[hulls.edges[j, k - 2]]
        if a_corner:
            face, gap = nearest_face(hulls, b.table, b.corners, b.normals, v[0], v[1], v[2])
            n, sign = b.normals[face], -1.0
        else:
            face, gap = nearest_face(hulls, a.table, a.corners, a.normals, v[0], v[1], v[2])
            n, sign = a.normals[face], 1.0
        if gap <= margin and sign * (n[0] * x + n[1] * y + n[2] * z) > SLANT:
            at = along_normal(v, n, 0.5 * gap)
            found = add_point(room, found, at, (sign * n[0], sign * n[1], sign * n[2]), gap)
    return found
