"""Contact points of balls and capsules on a surface of triangles."""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.field import ON_LINE, SHALLOW, SLACK, add_field, dot, in_frame, minus
from stickslip.scenes.collision.field_round import nearest_on_triangle
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
from stickslip.scenes.collision.round import Axis, Point, along_segment
from stickslip.scenes.layout import ZERO, Room
from stickslip.scenes.rotation import rotate
from stickslip.scenes.triangle_mesh import CORNER, EDGE, RIDGE


@kernel
def box_of(p: Point, q: Point, reach: float) -> tuple[Point, Point]:
    """Lowest and highest coordinates of a segment that is blown up by `reach`."""
    low = (min(p[0], q[0]) - reach, min(p[1], q[1]) - reach, min(p[2], q[2]) - reach)
    return low, (max(p[0], q[0]) + reach, max(p[1], q[1]) + reach, max(p[2], q[2]) + reach)


@kernel(apart=True)
def ball_on_triangles(s: Surface, room: Room, begin: int, found: np.ndarray, P: Point, r: float, margin: float) -> int:
    """A ball about P: every point of the surface in reach to which the way is shorter than to all points around it.

    A centre in the solid is pushed out along the shortest way.
    """
    count, reach, near = begin, r + max(margin, 0.0), TOUCHING * typical(s)[0]
    first, least, inside = nearest_place(s, found, P)
    if first == NONE or least - r > margin:
        return count
    for m in range(found.shape[0]):
        t = found[m]
        if t == NONE:
            break
        height = height_over(s, t, P)
        if abs(height) > reach or (inside and t != first):
            continue
        Q = nearest_on_triangle(P[0], P[1], P[2], corner_of(s, t, 0), corner_of(s, t, 1), corner_of(s, t, 2))
        d = minus(P, Q)
        distance, place = math.sqrt(dot(d, d)), place_on(s, t, Q)
        n = outer_normal(s, t, place)
        if distance <= near:  # rounding would choose the direction
            n, distance = normal_of(s, t), height
        elif inside:
            n, distance = (-d[0] / distance, -d[1] / distance, -d[2] / distance), -distance
        else:
            front = dot(d, n) > 0.0
            n = (d[0] / distance, d[1] / distance, d[2] / distance)
            if not (front and behind_all(s, t, place, Q, n, ON_LINE)):
                continue
        if distance - r <= margin:
            count = add_field(room, begin, count, s.pose, typical(s), Q, n, distance - r)
    return count


@kernel(apart=True)
def ball_on_mesh(s: Surface, room: Room, P: Point, r: float, margin: float) -> int:
    """A ball about P, in the frame of the surface."""
    low, high = box_of(P, P, r + max(margin, 0.0))
    return ball_on_triangles(s, room, ZERO, triangles_near(s, low, high), P, r, margin)


@kernel
def axis_over_corner(s: Surface, room: Room, count: int, t: int, k: int, axis: Axis, margin: float) -> int:
    """Corner k of triangle t, which stands out, and the inside of the axis of a capsule."""
    v = corner_of(s, t, k)
    p, q, r = axis
    f = along_segment(v, p, q)
    d = minus((p[0] + f * (q[0] - p[0]), p[1] + f * (q[1] - p[1]), p[2] + f * (q[2] - p[2])), v)
    distance = math.sqrt(dot(d, d))
    if not (0.0 < f < 1.0 and ON_LINE * typical(s)[0] < distance <= r + margin):
        return count
    n = (d[0] / distance, d[1] / distance, d[2] / distance)
    if not (dot(n, outer_normal(s, t, k)) > 0.0 and behind_all(s, t, k, v, n, SLACK)):
        return count
    return add_field(room, ZERO, count, s.pose, typical(s), v, n, distance - r)


@kernel(apart=True)
def capsule_on_mesh(s: Surface, room: Room, pose: np.ndarray, half: float, r: float, margin: float) -> int:
    """A capsule: its ends as balls, and its axis over edges and corners that stand out."""
    own = room.pose[2]
    in_frame(s.pose, pose, own)
    a, b, c = rotate(own, 0.0, 0.0, half)
    p, q = (own[0] - a, own[1] - b, own[2] - c), (own[0] + a, own[1] + b, own[2] + c)
    reach = r + max(margin, 0.0)
    low, high = box_of(p, q, reach)
    found = triangles_near(s, low, high)
    count = ball_on_triangles(s, room, ZERO, found, p, r, margin)
    count = ball_on_triangles(s, room, count, found, q, r, margin)
    for m in range(found.shape[0]):
        t = found[m]
        if t == NONE:
            break
        for k in range(3):
            if of_triangle(s, t, EDGE + k) == RIDGE:
                f, g, n, height = ridge_crossing(s, t, k, p, minus(q, p))
                if f >= 0.0 and 0.0 < g < 1.0 and -SHALLOW * half <= height <= r + margin:
                    count = add_to_edge(s, room, count, t, k, f, n, height - r)
            if of_triangle(s, t, CORNER + k) != 0:
                count = axis_over_corner(s, room, count, t, k, Axis(p, q, r), margin)
    return count
