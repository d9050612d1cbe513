"""Narrow phase of a convex polyhedron and a convex curved form: ellipsoid, cylinder, cone.

The nearest points of the two lie on a face, on an edge or at a corner of the polyhedron.  So the points are: points of
the form that stand on the face which looks at it (lowest points, circular edges, and where circular edges cross the
rim of the face), the point of each edge nearest to the form, and corners near the form.  Each of them is exact, and
each is a pair of points that must not pass through one another.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.flat import along_normal, place
from stickslip.scenes.collision.round import Point, add_point
from stickslip.scenes.collision.smooth import (
    CONE,
    CYLINDER,
    ELLIPSOID,
    INNER,
    LEVEL,
    Circle,
    Form,
    circle_axes,
    nearest,
    support,
    where_level,
)
from stickslip.scenes.layout import Hulls, Room
from stickslip.scenes.rotation import rotate, to_body, z_axis

RIM = 1e-9  # of the size: points beyond the rim of a face by less stand on it


@kernel
def lowest_height(form: Form, n: np.ndarray) -> float:
    """Least n . x of a form."""
    kind, measure, pose = form
    centre = n[0] * pose[0] + n[1] * pose[1] + n[2] * pose[2]
    if kind == ELLIPSOID:
        x, y, z = support(measure, pose, -n[0], -n[1], -n[2])
        return centre + n[0] * x + n[1] * y + n[2] * z
    e0, e1, e2 = z_axis(pose)
    along = n[0] * e0 + n[1] * e1 + n[2] * e2
    across = measure[0] * math.sqrt(max(0.0, 1.0 - along * along))
    if kind == CYLINDER:
        return centre - measure[1] * abs(along) - across
    return centre + min(0.75 * measure[1] * along, -0.25 * measure[1] * along - across)


@kernel
def stand_on_face(
    hulls: Hulls, room: Room, count: int, table: np.ndarray, face: int, p: Point, size: float, margin: float
) -> int:
    """Append a point of the form that stands on a face, with the normal of the face."""
    x, y, z = p
    n, first = room.normals_a[face], hulls.loops[table[2] + face, 0]
    corners, number = room.corners_a, hulls.loops[table[2] + face, 1]
    P = corners[hulls.corners[first]]
    gap = n[0] * (x - P[0]) + n[1] * (y - P[1]) + n[2] * (z - P[2])
    if gap > margin:
        return count
    for k in range(number):
        P, Q = corners[hulls.corners[first + k]], corners[hulls.corners[first + (k + 1) % number]]
        e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        a, b, c = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
        length = math.sqrt(a * a + b * b + c * c)
        if a * (x - P[0]) + b * (y - P[1]) + c * (z - P[2]) > RIM * size * length:
            return count
    h = 0.5 * gap
    return add_point(room, count, along_normal(p, n, h), (n[0], n[1], n[2]), gap)


@kernel(apart=True)
def circle_on_face(
    hulls: Hulls, room: Room, count: int, table: np.ndarray, face: int, circle: Circle, size: float, margin: float
) -> int:
    """Points of a circle that stand on a face: four of it, and where it crosses the rim."""
    n, first, number = room.normals_a[face], hulls.loops[table[2] + face, 0], hulls.loops[table[2] + face, 1]
    (cx, cy, cz), (d0, d1, d2), (f0, f1, f2) = circle_axes(n, circle)
    for c, t in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        at = (cx + c * d0 + t * f0, cy + c * d1 + t * f1, cz + c * d2 + t * f2)
        count = stand_on_face(hulls, room, count, table, face, at, size, margin)
    for k in range(number):
        P, Q = room.corners_a[hulls.corners[first + k]], room.corners_a[hulls.corners[first + (k + 1) % number]]
        g0, g1, g2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        a, b, c = g1 * n[2] - g2 * n[1], g2 * n[0] - g0 * n[2], g0 * n[1] - g1 * n[0]
        # (a, b, c) . (C + cos d + sin f - P) = 0: u cos + v sin = w
        u, v = a * d0 + b * d1 + c * d2, a * f0 + b * f1 + c * f2
        w, r = a * (P[0] - cx) + b * (P[1] - cy) + c * (P[2] - cz), math.sqrt(u * u + v * v)
        if r > 0.0 and abs(w) < r:
            middle, half = math.atan2(v, u), math.acos(w / r)
            for angle in (middle - half, middle + half):
                cos, sin = math.cos(angle), math.sin(angle)
                at = (cx + cos * d0 + sin * f0, cy + cos * d1 + sin * f1, cz + cos * d2 + sin * f2)
                count = stand_on_face(hulls, room, count, table, face, at, size, margin)
    return count


@kernel
def corner_at_form(room: Room, count: int, form: Form, at: Point, margin: float) -> int:
    """Append a point of the polyhedron that is near a form; the normal points into the form."""
    x, y, z = at
    p, q, s = to_body(form.pose, x, y, z)
    a, b, c, gap = nearest(form.kind, form.measure, p, q, s)
    if gap > margin:
        return count
    a, b, c = rotate(form.pose, a, b, c)
    h = 0.5 * gap
    return add_point(room, count, (x - h * a, y - h * b, z - h * c), (-a, -b, -c), gap)


@kernel
def distance_on_edge(form: Form, P: np.ndarray, Q: np.ndarray, t: float) -> float:
    """Signed distance from a form of the point at the fraction t of the edge P -> Q."""
    p, q, s = to_body(form.pose, P[0] + t * (Q[0] - P[0]), P[1] + t * (Q[1] - P[1]), P[2] + t * (Q[2] - P[2]))
    _, _, _, distance = nearest(form.kind, form.measure, p, q, s)
    return distance


@kernel(apart=True)
def edge_at_form(room: Room, count: int, form: Form, P: np.ndarray, Q: np.ndarray, margin: float) -> int:
    """Append the point inside an edge that is nearest to a form: the distance from a convex form is convex along it."""
    length = math.sqrt((Q[0] - P[0]) ** 2 + (Q[1] - P[1]) ** 2 + (Q[2] - P[2]) ** 2)
    if distance_on_edge(form, P, Q, 0.5) > 0.5 * length + margin:
        return count
    axis = (P[0], P[1], P[2], Q[0], Q[1], Q[2])
    t = 0.5 * (where_level(form, axis, -LEVEL) + where_level(form, axis, LEVEL))
    if t < INNER or t > 1.0 - INNER:
        return count
    at = (P[0] + t * (Q[0] - P[0]), P[1] + t * (Q[1] - P[1]), P[2] + t * (Q[2] - P[2]))
    return corner_at_form(room, count, form, at, margin)


@kernel(apart=True)
def form_on_hull(
    hulls: Hulls, room: Room, table: np.ndarray, hull: np.ndarray, form: Form, size: float, margin: float
) -> int:
    """Points of a polyhedron and a convex curved form, with normals from the polyhedron to the form."""
    kind, measure, pose = form
    place(hulls, table, hull, room.corners_a, room.normals_a)
    best, face, count = -np.inf, 0, 0
    for k in range(table[3]):
        n, P = room.normals_a[k], room.corners_a[hulls.corners[hulls.loops[table[2] + k, 0]]]
        gap = lowest_height(form, n) - (n[0] * P[0] + n[1] * P[1] + n[2] * P[2])
        if gap > margin:
            return 0
        if gap > best:
            best, face = gap, k
    n = room.normals_a[face]
    if kind == ELLIPSOID:
        x, y, z = support(measure, pose, -n[0], -n[1], -n[2])
        count = stand_on_face(hulls, room, count, table, face, (x + pose[0], y + pose[1], z + pose[2]), size, margin)
    if kind == CYLINDER:
        for height in (-measure[1], measure[1]):
            count = circle_on_face(hulls, room, count, table, face, Circle(pose, height, measure[0]), size, margin)
    if kind == CONE:
        x, y, z = rotate(pose, 0.0, 0.0, 0.75 * measure[1])
        count = stand_on_face(hulls, room, count, table, face, (x + pose[0], y + pose[1], z + pose[2]), size, margin)
        base = Circle(pose, -0.25 * measure[1], measure[0])
        count = circle_on_face(hulls, room, count, table, face, base, size, margin)
    for k in range(table[1]):
        v = room.corners_a[k]
        count = corner_at_form(room, count, form, (v[0], v[1], v[2]), margin)
    for k in range(table[4], table[4] + table[5]):
        P, Q = room.corners_a[hulls.edges[k, 0]], room.corners_a[hulls.edges[k, 1]]
        count = edge_at_form(room, count, form, P, Q, margin)
    return count
