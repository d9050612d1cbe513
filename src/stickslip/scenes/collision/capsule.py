"""Narrow phase of balls (circles) and capsules with polyhedra and polygons.

A capsule is its axis, a segment, blown up by its radius r.  While the axis lies outside, its gap is the distance of
axis and polyhedron less r.  Once the axis passes through, the depth is r plus the least shift that brings the axis out:
along the normal of a face, or the common normal of the axis and an edge (the faces of the Minkowski difference).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.flat import (
    ALIGNED,
    CLIP,
    PREFERENCE,
    corner,
    facing,
    nearest_face,
    place,
    support_edge,
    take_axis,
)
from stickslip.scenes.collision.round import (
    Axis,
    Ball,
    Point,
    add_point,
    along_segment,
    balls,
    ends,
    nearest_of_segments,
)
from stickslip.scenes.layout import ZERO, Hulls, Room


@kernel
def ball_inside(room: Room, count: int, ball: Ball, n: np.ndarray, distance: float) -> int:
    """Append the point of a ball whose centre lies -`distance` behind the face with normal n: it leaves along n."""
    (x, y, z), r = ball
    h = 0.5 * (distance - r) - distance
    at = (x + h * n[0], y + h * n[1], z + h * n[2])
    return add_point(room, count, at, (-n[0], -n[1], -n[2]), distance - r)


@kernel(apart=True)
def ball_near_hull(hulls: Hulls, room: Room, count: int, ball: Ball, table: np.ndarray, margin: float) -> int:
    """A ball and the polyhedron placed in `room`: the nearest point of the faces that see its centre, if any."""
    (x, y, z), r = ball
    corners = room.corners_b
    face, distance = nearest_face(hulls, table, corners, room.normals_b, x, y, z)
    if distance - r > margin:
        return count
    if distance <= 0.0:
        return ball_inside(room, count, ball, room.normals_b[face], distance)
    least = np.inf
    p0, p1, p2 = 0.0, 0.0, 0.0
    for f in range(table[3]):
        n, loop = room.normals_b[f], hulls.loops[table[2] + f]
        v = corners[hulls.corners[loop[0]]]
        s = n[0] * (x - v[0]) + n[1] * (y - v[1]) + n[2] * (z - v[2])
        if s <= 0.0:
            continue
        inside = True
        for k in range(loop[1]):
            P = corners[hulls.corners[loop[0] + k]]
            Q = corners[hulls.corners[loop[0] + (k + 1) % loop[1]]]
            e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
            a, b, c = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
            if a * (x - P[0]) + b * (y - P[1]) + c * (z - P[2]) > 0.0:
                inside = False
                w = along_segment(ball.centre, (P[0], P[1], P[2]), (Q[0], Q[1], Q[2]))
                a, b, c = P[0] + w * e0, P[1] + w * e1, P[2] + w * e2
                square = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
                if square < least:
                    least, p0, p1, p2 = square, a, b, c
        if inside and s * s < least:
            least, p0, p1, p2 = s * s, x - s * n[0], y - s * n[1], z - s * n[2]
    return balls(room, count, ball, Ball((p0, p1, p2), 0.0), margin)


@kernel
def ball_near_polygon(hulls: Hulls, room: Room, count: int, ball: Ball, table: np.ndarray, margin: float) -> int:
    """A circle and the polygon placed in `room`; edge k runs from corner k to k + 1."""
    corners, r, x, y = room.corners_b, ball.radius, ball.centre[0], ball.centre[1]
    edge, distance = nearest_face(hulls, table, corners, room.normals_b, x, y, 0.0)
    if distance - r > margin:
        return count
    if distance <= 0.0:
        return ball_inside(room, count, ball, room.normals_b[edge], distance)
    least, p0, p1 = np.inf, 0.0, 0.0  # nearest point of the outline
    for k in range(table[1]):
        P, Q = corners[k], corners[(k + 1) % table[1]]
        w = along_segment(ball.centre, (P[0], P[1], 0.0), (Q[0], Q[1], 0.0))
        a, b = P[0] + w * (Q[0] - P[0]), P[1] + w * (Q[1] - P[1])
        square = (x - a) ** 2 + (y - b) ** 2
        if square < least:
            least, p0, p1 = square, a, b
    return balls(room, count, ball, Ball((p0, p1, 0.0), 0.0), margin)


@kernel
def ball_hull(
    hulls: Hulls, room: Room, pose: np.ndarray, r: float, table: np.ndarray, other: np.ndarray, margin: float
) -> int:
    """A ball and a convex polyhedron."""
    place(hulls, table, other, room.corners_b, room.normals_b)
    return ball_near_hull(hulls, room, ZERO, Ball((pose[0], pose[1], pose[2]), r), table, margin)


@kernel
def ball_polygon(
    hulls: Hulls, room: Room, pose: np.ndarray, r: float, table: np.ndarray, other: np.ndarray, margin: float
) -> int:
    """A circle and a convex polygon."""
    place(hulls, table, other, room.corners_b, room.normals_b)
    return ball_near_polygon(hulls, room, ZERO, Ball((pose[0], pose[1], 0.0), r), table, margin)


@kernel
def above(n: np.ndarray, v: np.ndarray, p: Point) -> float:
    """Height of p above the plane through v with normal n."""
    return n[0] * (p[0] - v[0]) + n[1] * (p[1] - v[1]) + n[2] * (p[2] - v[2])


@kernel
def between(p: Point, q: Point, f: float) -> Point:
    """The point p + f (q - p)."""
    return p[0] + f * (q[0] - p[0]), p[1] + f * (q[1] - p[1]), p[2] + f * (q[2] - p[2])


@kernel
def cut_part(low: float, high: float, s: float, t: float, tolerance: float) -> tuple[float, float]:
    """Of the part [low, high] of a segment with heights s and t at its ends, what lies no higher than `tolerance`."""
    if s > tolerance and t > tolerance:
        return 1.0, 0.0
    if s > tolerance:
        low = max(low, s / (s - t))
    elif t > tolerance:
        high = min(high, s / (s - t))
    return low, high


@kernel
def axis_and_faces(
    hulls: Hulls, table: np.ndarray, corners: np.ndarray, normals: np.ndarray, p: Point, q: Point
) -> tuple[int, float, float, float]:
    """The face from which the segment p -> q is farthest, how far, and the part [low, high] of it that is inside."""
    face, best, low, high = ZERO, -np.inf, 0.0, 1.0
    for f in range(table[3]):
        v = corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        s, t = above(normals[f], v, p), above(normals[f], v, q)
        low, high = cut_part(low, high, s, t, 0.0)
        if min(s, t) > best:
            face, best = f, min(s, t)
    return face, best, low, high


@kernel
def lay_on_face(
    room: Room, count: int, n: np.ndarray, v: np.ndarray, own: Axis, low: float, high: float, margin: float
) -> int:
    """Contact points below both ends of the part [low, high] of a capsule's axis, on the face n through v."""
    for k in range(2):
        x, y, z = between(own.p, own.q, low if k == 0 else high)
        height = above(n, v, (x, y, z))
        gap = height - own.r
        if gap <= margin and (k == 0 or high > low):
            h = 0.5 * gap - height
            at = (x + h * n[0], y + h * n[1], z + h * n[2])
            count = add_point(room, count, at, (-n[0], -n[1], -n[2]), gap)
    return count


@kernel
def part_over_face(
    hulls: Hulls, table: np.ndarray, corners: np.ndarray, n: np.ndarray, face: int, p: Point, q: Point, size: float
) -> tuple[float, float]:
    """The part [low, high] of the segment p -> q that lies over a face; low > high where none does."""
    loop, low, high = hulls.loops[table[2] + face], 0.0, 1.0
    for k in range(loop[1]):
        P, Q = corners[hulls.corners[loop[0] + k]], corners[hulls.corners[loop[0] + (k + 1) % loop[1]]]
        e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        side = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
        length = math.sqrt(side[0] * side[0] + side[1] * side[1] + side[2] * side[2])
        s = side[0] * (p[0] - P[0]) + side[1] * (p[1] - P[1]) + side[2] * (p[2] - P[2])
        t = side[0] * (q[0] - P[0]) + side[1] * (q[1] - P[1]) + side[2] * (q[2] - P[2])
        low, high = cut_part(low, high, s / length, t / length, CLIP * size)
    return low, high


@kernel(apart=True)
def axis_through_hull(
    hulls: Hulls, room: Room, table: np.ndarray, own: Axis, face: int, s: float, margin: float
) -> int:
    """A capsule whose axis passes through the polyhedron placed in `room`; s < 0: height at the best face."""
    corners, normals = room.corners_b, room.normals_b
    p, q, r = own
    d0, d1, d2 = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    size = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    edge, seen = -1, -1
    best, x, y, z = s + PREFERENCE * size, 0.0, 0.0, 0.0
    for i in range(table[4], table[4] + table[5]):
        if hulls.directions[i] == seen:
            continue
        seen = hulls.directions[i]
        P, Q = corners[hulls.edges[i, 0]], corners[hulls.edges[i, 1]]
        e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        a, b, c = d1 * e2 - d2 * e1, d2 * e0 - d0 * e2, d0 * e1 - d1 * e0
        norm = math.sqrt(a * a + b * b + c * c)
        if norm <= 1e-9 * size * math.sqrt(e0 * e0 + e1 * e1 + e2 * e2):
            continue
        a, b, c = a / norm, b / norm, c / norm
        low, high = np.inf, -np.inf
        for k in range(table[1]):
            v = corners[k]
            level = a * (v[0] - p[0]) + b * (v[1] - p[1]) + c * (v[2] - p[2])
            low, high = min(low, level), max(high, level)
        if max(low, -high) > best:  # the way out is -(a, b, c), or (a, b, c)
            sign = -1.0 if low > -high else 1.0
            edge, best, x, y, z = i, max(low, -high), sign * a, sign * b, sign * c
    if edge < 0:
        best, x, y, z = s, normals[face, 0], normals[face, 1], normals[face, 2]
    face, along = facing(normals, table[3], x, y, z)
    if edge < 0 or along > ALIGNED:
        n, v = normals[face], corners[hulls.corners[hulls.loops[table[2] + face, 0]]]
        low, high = part_over_face(hulls, table, corners, n, face, p, q, size)
        found = lay_on_face(room, ZERO, n, v, own, low, high, margin) if low <= high else ZERO
        if found > 0:
            take_axis(room, found, -x, -y, -z, best - r)
            return found
    edge = support_edge(hulls, table, corners, max(edge, table[4]), x, y, z)
    P, Q = corner(corners, hulls.edges[edge, 0]), corner(corners, hulls.edges[edge, 1])
    _, g = nearest_of_segments(p, q, P, Q)
    gap = best - r
    a, b, c = between(P, Q, g)
    at = (a + 0.5 * gap * x, b + 0.5 * gap * y, c + 0.5 * gap * z)
    return add_point(room, ZERO, at, (-x, -y, -z), gap)


@kernel
def nearest_edge(
    hulls: Hulls, table: np.ndarray, corners: np.ndarray, p: Point, q: Point
) -> tuple[float, float, float, float, float, float, float]:
    """Square of the least distance from the inside of the segment p -> q to an edge, and the two nearest points."""
    least, s0, s1, s2, t0, t1, t2 = np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(table[4], table[4] + table[5]):
        P, Q = corner(corners, hulls.edges[i, 0]), corner(corners, hulls.edges[i, 1])
        f, g = nearest_of_segments(p, q, P, Q)
        if not 0.0 < f < 1.0:
            continue
        a, b, c = between(p, q, f)
        d, e, h = between(P, Q, g)
        square = (a - d) ** 2 + (b - e) ** 2 + (c - h) ** 2
        if square < least:
            least, s0, s1, s2, t0, t1, t2 = square, a, b, c, d, e, h
    return least, s0, s1, s2, t0, t1, t2


@kernel
def crossings(hulls: Hulls, room: Room, count: int, table: np.ndarray, face: int, own: Axis, margin: float) -> int:
    """Points where a capsule that lies on a face crosses the edges of the face.

    With the nearest crossing alone, the other end of the line of contact, a hair farther away, would sink in first.
    """
    corners, loop = room.corners_b, hulls.loops[table[2] + face]
    for k in range(loop[1]):
        P = corner(corners, hulls.corners[loop[0] + k])
        Q = corner(corners, hulls.corners[loop[0] + (k + 1) % loop[1]])
        f, g = nearest_of_segments(own.p, own.q, P, Q)
        if 0.0 < f < 1.0 and 0.0 < g < 1.0:
            ball = Ball(between(own.p, own.q, f), own.r)
            count = balls(room, count, ball, Ball(between(P, Q, g), 0.0), margin)
    return count


@kernel(apart=True)
def capsule_hull(
    hulls: Hulls, room: Room, pose: np.ndarray, half: float, r: float, table: np.ndarray, other: np.ndarray,
    margin: float,
) -> int:  # fmt: skip
    """A capsule and a convex polyhedron: its ends as balls, its axis against the edges, or where it lies on a face."""
    place(hulls, table, other, room.corners_b, room.normals_b)
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    p, q = (p0, p1, p2), (q0, q1, q2)
    own = Axis(p, q, r)
    face, s, low, high = axis_and_faces(hulls, table, room.corners_b, room.normals_b, p, q)
    if s - r > margin:
        return 0
    if low <= high:
        return axis_through_hull(hulls, room, table, own, face, s, margin)
    count = ball_near_hull(hulls, room, ZERO, Ball(p, r), table, margin)
    count = ball_near_hull(hulls, room, count, Ball(q, r), table, margin)
    nearest, a, b, c = np.inf, 0.0, 0.0, 0.0
    for k in range(count):
        if room.gaps[k] < nearest:
            nearest, a, b, c = room.gaps[k], room.normals[k, 0], room.normals[k, 1], room.normals[k, 2]
    least, s0, s1, s2, t0, t1, t2 = nearest_edge(hulls, table, room.corners_b, p, q)
    distance = math.sqrt(least)
    beside = distance - r < nearest - CLIP * half
    if beside:
        a, b, c = (t0 - s0) / distance, (t1 - s1) / distance, (t2 - s2) / distance
    elif count == 0:
        return 0
    face, along = facing(room.normals_b, table[3], -a, -b, -c)
    if along > ALIGNED:
        first, count = count, crossings(hulls, room, count, table, face, own, margin)
        for k in range(first, count):
            beside = beside and distance - r < room.gaps[k] - CLIP * half
    return balls(room, count, Ball((s0, s1, s2), r), Ball((t0, t1, t2), 0.0), margin) if beside else count


@kernel
def axis_through_polygon(
    hulls: Hulls, room: Room, table: np.ndarray, own: Axis, edge: int, s: float, margin: float
) -> int:
    """A planar capsule whose axis passes through the polygon placed in `room`; s < 0: height at the best edge."""
    corners, normals = room.corners_b, room.normals_b
    p, q, r = own
    length = math.hypot(q[0] - p[0], q[1] - p[1])
    a, b = (p[1] - q[1]) / length, (q[0] - p[0]) / length  # across the axis
    low, high = np.inf, -np.inf
    for k in range(table[1]):
        level = a * (corners[k, 0] - p[0]) + b * (corners[k, 1] - p[1])
        low, high = min(low, level), max(high, level)
    if max(low, -high) <= s + PREFERENCE * length:
        P, Q = corners[edge], corners[(edge + 1) % table[1]]
        t0, t1 = Q[0] - P[0], Q[1] - P[1]
        span = math.hypot(t0, t1)
        f = ((p[0] - P[0]) * t0 + (p[1] - P[1]) * t1) / span
        g = ((q[0] - P[0]) * t0 + (q[1] - P[1]) * t1) / span
        begin, end = cut_part(0.0, 1.0, -f, -g, CLIP * length)
        begin, end = cut_part(begin, end, f - span, g - span, CLIP * length)
        if begin > end:
            begin, end = 0.0, 1.0
        return lay_on_face(room, ZERO, normals[edge], P, own, begin, end, margin)
    if low > -high:
        a, b, low = -a, -b, -low
    else:
        low = high
    count = ZERO  # corners on the other side of the axis, seen along the way out (a, b)
    for k in range(table[1]):
        v = corners[k]
        level = a * (v[0] - p[0]) + b * (v[1] - p[1])
        gap = -level - r
        f = along_segment((v[0], v[1], 0.0), (p[0], p[1], 0.0), (q[0], q[1], 0.0))
        if gap <= margin and (0.0 < f < 1.0 or level == low):
            at = (v[0] + 0.5 * gap * a, v[1] + 0.5 * gap * b, 0.0)
            count = add_point(room, count, at, (-a, -b, 0.0), gap)
    return count


@kernel(apart=True)
def capsule_polygon(
    hulls: Hulls, room: Room, pose: np.ndarray, half: float, r: float, table: np.ndarray, other: np.ndarray,
    margin: float,
) -> int:  # fmt: skip
    """A planar capsule and a convex polygon: the ends as circles, and the corners against the axis."""
    place(hulls, table, other, room.corners_b, room.normals_b)
    corners = room.corners_b
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    p, q = (p0, p1, p2), (q0, q1, q2)
    own = Axis(p, q, r)
    edge, s, low, high = axis_and_faces(hulls, table, corners, room.normals_b, p, q)
    if s - r > margin:
        return 0
    if low <= high:
        return axis_through_polygon(hulls, room, table, own, edge, s, margin)
    count = ball_near_polygon(hulls, room, ZERO, Ball((p0, p1, 0.0), r), table, margin)
    count = ball_near_polygon(hulls, room, count, Ball((q0, q1, 0.0), r), table, margin)
    for k in range(table[1]):
        v = corners[k]
        f, tip = along_segment((v[0], v[1], 0.0), (p0, p1, 0.0), (q0, q1, 0.0)), Ball((v[0], v[1], 0.0), 0.0)
        if 0.0 < f < 1.0:
            count = balls(room, count, Ball((p0 + f * (q0 - p0), p1 + f * (q1 - p1), 0.0), r), tip, margin)
    return count
