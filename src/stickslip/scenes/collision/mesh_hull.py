"""Contact points of convex hulls on a surface of triangles: corners, corners under faces, edges that cross."""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.field import ON_LINE, SHALLOW, SLACK, add_field, dot, in_frame, minus
from stickslip.scenes.collision.field_hull import behind_edge, box_around, over_face
from stickslip.scenes.collision.field_round import nearest_on_triangle
from stickslip.scenes.collision.flat import CLIP, place
from stickslip.scenes.collision.mesh import (
    NONE,
    TOUCHING,
    Surface,
    add_to_edge,
    behind_all,
    corner_of,
    height_over,
    nearest_place,
    normal_of,
    of_triangle,
    outer_normal,
    place_on,
    ridge_crossing,
    triangles_near,
    typical,
)
from stickslip.scenes.collision.mesh_round import box_of
from stickslip.scenes.collision.round import Point
from stickslip.scenes.layout import ZERO, Hulls, Room
from stickslip.scenes.triangle_mesh import BESIDE, CORNER, EDGE, RIDGE, VALLEY

PLACE = 2.0  # times the depth: points nearer to one another are one place


@kernel
def under(P: Point, t: int, s: Surface) -> tuple[Point, float]:
    """Foot of P on the plane of triangle t, and how far P lies in front of it [m]."""
    n, height = normal_of(s, t), height_over(s, t, P)
    return (P[0] - height * n[0], P[1] - height * n[1], P[2] - height * n[2]), height


@kernel
def add_across(s: Surface, room: Room, count: int, t: int, P: Point, margin: float) -> int:
    """Triangles across the valleys of triangle t, below which P lies, or by whose edges it is."""
    for k in range(3):
        other = of_triangle(s, t, BESIDE + k)
        if of_triangle(s, t, EDGE + k) != VALLEY or other == NONE:
            continue
        A = corner_of(s, t, k)
        e, w = minus(corner_of(s, t, k + 1), A), minus(P, A)
        along = min(max(dot(w, e) / dot(e, e), 0.0), 1.0)
        w = (w[0] - along * e[0], w[1] - along * e[1], w[2] - along * e[2])
        foot, height = under(P, other, s)
        if height <= margin and (height <= 0.0 or dot(w, w) <= margin * margin):
            count = add_field(room, ZERO, count, s.pose, typical(s), foot, normal_of(s, other), height)
    return count


@kernel
def corner_at_place(s: Surface, room: Room, count: int, t: int, P: Point, Q: Point, corners: int, margin: float) -> int:
    """Corner P of the polyhedron placed in `room`, and the nearest place Q of the surface, an edge or a corner."""
    d, place = minus(P, Q), place_on(s, t, Q)
    distance, n = math.sqrt(dot(d, d)), outer_normal(s, t, place)
    if distance > TOUCHING * typical(s)[0]:
        n = d
    size = math.sqrt(dot(n, n))
    if distance > margin or size == 0.0:
        return count
    n = (n[0] / size, n[1] / size, n[2] / size)
    if not (behind_all(s, t, place, Q, n, SLACK) and behind_edge(room.corners_a, corners, n, P)):
        return count
    return add_field(room, ZERO, count, s.pose, typical(s), Q, n, distance)


@kernel(apart=True)
def corner_on_mesh(s: Surface, room: Room, begin: int, found: np.ndarray, P: Point, corners: int, margin: float) -> int:
    """Points of a body's corner P: at triangles that it looks at; in the solid at the nearest one, and across valleys.

    Beside an edge that stands out it meets the edge, where the body lies on the other side of the plane between them.
    """
    count = begin
    first, least, inside = nearest_place(s, found, P)
    if first == NONE or (not inside and least > margin):
        return count
    for m in range(found.shape[0]):
        t = found[m]
        if t == NONE:
            break
        foot, height = under(P, t, s)
        if height > margin or (inside and t != first):
            continue
        Q = nearest_on_triangle(P[0], P[1], P[2], corner_of(s, t, 0), corner_of(s, t, 1), corner_of(s, t, 2))
        d, near = minus(Q, foot), ON_LINE * typical(s)[0]
        if inside or (dot(d, d) <= near * near and height >= -TOUCHING * typical(s)[0]):
            count = add_field(room, ZERO, count, s.pose, typical(s), foot, normal_of(s, t), height)
            count = add_across(s, room, count, t, P, margin)
        elif t == first:
            count = corner_at_place(s, room, count, t, P, Q, corners, margin)
    return count


@kernel(apart=True)
def corner_under_faces(
    hulls: Hulls, table: np.ndarray, s: Surface, room: Room, count: int, t: int, k: int, margin: float
) -> int:
    """Corner k of triangle t, which stands out, and the face of the polyhedron placed in `room` that looks at it."""
    v, corners, normals = corner_of(s, t, k), room.corners_a, room.normals_a
    face, best, most = NONE, -np.inf, -np.inf
    for f in range(table[3]):
        n, c = normals[f], corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        height = n[0] * (v[0] - c[0]) + n[1] * (v[1] - c[1]) + n[2] * (v[2] - c[2])
        most = max(most, height)
        if most > margin:
            return count
        if height > best and behind_all(s, t, k, v, (-n[0], -n[1], -n[2]), SLACK):
            face, best = f, height
    if face == NONE or (most > 0.0 and best < most):
        return count
    n = normals[face]
    if most > 0.0 and not over_face(hulls, room, table[2] + face, n, v, CLIP * typical(s)[0]):
        return count
    return add_field(room, ZERO, count, s.pose, typical(s), v, (-n[0], -n[1], -n[2]), best)


@kernel
def edge_on_ridge(
    hulls: Hulls, table: np.ndarray, s: Surface, room: Room, edge: tuple[int, int], m: int, deepest: float,
    margin: float,
) -> tuple[float, Point, float]:  # fmt: skip
    """Edge m of the polyhedron placed in `room` and an edge of a triangle: part of the latter, normal, and gap [m].

    `edge`: the triangle and the number of its edge.  The part is -1 where they do not meet.
    """
    t, k = edge
    p, q = room.corners_a[hulls.edges[m, 0]], room.corners_a[hulls.edges[m, 1]]
    Q = (p[0], p[1], p[2])
    low, high = box_of(corner_of(s, t, k), corner_of(s, t, k + 1), max(deepest, margin))
    if (
        min(p[0], q[0]) > high[0] or max(p[0], q[0]) < low[0] or min(p[1], q[1]) > high[1]
        or max(p[1], q[1]) < low[1] or min(p[2], q[2]) > high[2] or max(p[2], q[2]) < low[2]
    ):  # fmt: skip
        return -1.0, Q, 0.0
    f, _, n, gap = ridge_crossing(s, t, k, Q, (q[0] - p[0], q[1] - p[1], q[2] - p[2]))
    if f >= 0.0 and -deepest <= gap <= margin and behind_edge(room.corners_a, table[1], n, Q):
        return f, n, gap
    return -1.0, n, gap


@kernel(apart=True)
def edges_on_ridge(
    hulls: Hulls, table: np.ndarray, s: Surface, room: Room, count: int, edge: tuple[int, int], deepest: float,
    margin: float,
) -> int:  # fmt: skip
    """An edge of a triangle, which stands out, and the edges of the polyhedron placed in `room` that cross it.

    Where two edges cross it at one place, the way out is the shorter one.
    """
    t, k = edge
    e = minus(corner_of(s, t, k + 1), corner_of(s, t, k))
    length = math.sqrt(dot(e, e))
    for m in range(table[4], table[4] + table[5]):
        f, n, gap = edge_on_ridge(hulls, table, s, room, edge, m, deepest, margin)
        if f < 0.0:
            continue
        shortest = True
        for other in range(table[4], table[4] + table[5] if gap < 0.0 else table[4]):
            g, _, depth = edge_on_ridge(hulls, table, s, room, edge, other, deepest, margin)
            shortest = shortest and not (g >= 0.0 and depth > gap and abs(f - g) * length <= -PLACE * gap)
        if shortest:
            count = add_to_edge(s, room, count, t, k, f, n, gap)
    return count


@kernel(apart=True)
def hull_on_mesh(
    hulls: Hulls, table: np.ndarray, s: Surface, room: Room, pose: np.ndarray, bound: float, margin: float
) -> int:
    """A polyhedron: its corners, corners of the surface under its faces, edges that stand out and that it crosses."""
    own, deepest = room.pose[2], SHALLOW * bound
    in_frame(s.pose, pose, own)
    place(hulls, table, own, room.corners_a, room.normals_a)
    low, high = box_around(room.corners_a, table[1])
    reach = margin + deepest
    found = triangles_near(
        s, (low[0] - reach, low[1] - reach, low[2] - reach), (high[0] + reach, high[1] + reach, high[2] + reach)
    )
    count = ZERO
    for k in range(table[1]):
        v = room.corners_a[k]
        count = corner_on_mesh(s, room, count, found, (v[0], v[1], v[2]), table[1], margin)
    for m in range(found.shape[0]):
        t = found[m]
        if t == NONE:
            break
        for k in range(3):
            if of_triangle(s, t, CORNER + k) != 0:
                count = corner_under_faces(hulls, table, s, room, count, t, k, margin)
            if of_triangle(s, t, EDGE + k) == RIDGE:
                count = edges_on_ridge(hulls, table, s, room, count, (t, k), deepest, margin)
    return count
