"""Surfaces of triangles as the narrow phase reads them: which triangles are near, and which normals a place has.

The tables are those of `triangle_mesh`.  Points are computed in the frame of the surface, and turned into world axes at
the end (`field.add_field`).  The kinds of contact points are those of `field`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.field import ON_LINE, SLACK, add_field, crossing, dot, minus
from stickslip.scenes.collision.field_round import nearest_on_triangle
from stickslip.scenes.collision.round import Point
from stickslip.scenes.layout import ZERO, Room
from stickslip.scenes.triangle_mesh import BESIDE, HEAD, LOW, OPPOSITE, ROW

NONE = -1
TOUCHING = 1e-12  # of the length of an edge: a point nearer to the surface lies on it


class Surface(NamedTuple):
    """A surface of triangles in the world."""

    corners: np.ndarray  # (.., 3) of all shapes of the scene
    normals: np.ndarray  # (.., 3)
    numbers: np.ndarray
    table: np.ndarray  # first corner, corners, first normal, triangles, first number, 0
    pose: np.ndarray  # (7,)


@kernel
def corner(s: Surface, v: int) -> Point:
    """Corner v."""
    p = s.corners[s.table[0] + v]
    return p[0], p[1], p[2]


@kernel
def typical(s: Surface) -> np.ndarray:
    """The typical length of an edge, as the first of some numbers [m]."""
    return s.corners[s.table[0] + s.table[1] + 1, 1:]


@kernel
def of_triangle(s: Surface, t: int, place: int) -> int:
    """A number in the row of triangle t, see `triangle_mesh`."""
    return s.numbers[s.table[4] + HEAD + ROW * t + place]


@kernel
def corner_of(s: Surface, t: int, k: int) -> Point:
    """Corner k of triangle t; k may be 3 for the first."""
    return corner(s, of_triangle(s, t, k if k < 3 else 0))


@kernel
def normal_of(s: Surface, t: int) -> Point:
    """Unit normal of triangle t."""
    n = s.normals[s.table[2] + t]
    return n[0], n[1], n[2]


@kernel
def height_over(s: Surface, t: int, P: Point) -> float:
    """How far P lies in front of the plane of triangle t [m]."""
    return dot(normal_of(s, t), minus(P, corner_of(s, t, 0)))


@kernel
def cell_range(s: Surface, k: int, low: float, high: float) -> tuple[int, int]:
    """First and last cell along axis k that the interval [low, high] meets; the first is larger where none."""
    frame = s.table[0] + s.table[1]
    origin, width, count = s.corners[frame, k], s.corners[frame + 1, 0], s.numbers[s.table[4] + k]
    first, last = math.floor((low - origin) / width), math.floor((high - origin) / width)
    return int(min(max(first, 0.0), count * 1.0)), int(min(max(last, -1.0), count - 1.0))


@kernel(apart=True)
def triangles_near(s: Surface, low: Point, high: Point) -> np.ndarray:
    """Numbers of the triangles whose cells a box meets, each once: in the first cell that both have; then NONE."""
    i0, i1 = cell_range(s, 0, low[0], high[0])
    j0, j1 = cell_range(s, 1, low[1], high[1])
    k0, k1 = cell_range(s, 2, low[2], high[2])
    begin, across, up = s.table[4], s.numbers[s.table[4] + 1], s.numbers[s.table[4] + 2]
    places = begin + s.numbers[begin + 4]
    lists, total = places + s.numbers[begin] * across * up + 1, 0
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for k in range(k0, k1 + 1):
                cell = places + (i * across + j) * up + k
                total += s.numbers[cell + 1] - s.numbers[cell]
    found, count = np.full(total, NONE), 0
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for k in range(k0, k1 + 1):
                cell = places + (i * across + j) * up + k
                for m in range(s.numbers[cell], s.numbers[cell + 1]):
                    t = s.numbers[lists + m]
                    first = i == max(i0, of_triangle(s, t, LOW)) and j == max(j0, of_triangle(s, t, LOW + 1))
                    if first and k == max(k0, of_triangle(s, t, LOW + 2)):
                        found[count] = t
                        count += 1
    return found


@kernel
def edge_normal(s: Surface, t: int, k: int) -> Point:
    """Sum of the normals of the triangles at edge k of triangle t."""
    n, other = normal_of(s, t), of_triangle(s, t, BESIDE + k)
    if other == NONE:
        return n
    m = normal_of(s, other)
    return n[0] + m[0], n[1] + m[1], n[2] + m[2]


@kernel
def place_on(s: Surface, t: int, Q: Point) -> int:
    """Where a point Q of triangle t lies: 0, 1, 2 at a corner, 3, 4, 5 on an edge, 6 inside."""
    near = ON_LINE * typical(s)[0]
    for k in range(3):
        d = minus(Q, corner_of(s, t, k))
        if dot(d, d) <= near * near:
            return k
    for k in range(3):
        P = corner_of(s, t, k)
        e, d = minus(corner_of(s, t, k + 1), P), minus(Q, P)
        along = dot(d, e) / dot(e, e)
        d = (d[0] - along * e[0], d[1] - along * e[1], d[2] - along * e[2])
        if dot(d, d) <= near * near:
            return 3 + k
    return 6


@kernel
def outer_normal(s: Surface, t: int, place: int) -> Point:
    """A vector that looks out of the solid at a place of triangle t, as `place_on` counts them."""
    if place == 6:
        return normal_of(s, t)
    if place >= 3:
        return edge_normal(s, t, place - 3)
    n = s.normals[s.table[2] + s.table[3] + of_triangle(s, t, place)]
    return n[0], n[1], n[2]


@kernel
def behind_all(s: Surface, t: int, place: int, Q: Point, n: Point, slack: float) -> bool:
    """Whether the corners around a place Q of triangle t lie behind the plane across n, up to an angle of `slack`.

    Inside a triangle there is nothing to ask.  A rim has nothing on its other side, and is felt from the front alone.
    """
    if place >= 6:
        return True
    if place >= 3:
        far = of_triangle(s, t, OPPOSITE + place - 3)
        own = corner_of(s, t, (place - 1) % 3)
        if far == NONE:
            return behind(minus(own, Q), n, slack) and dot(n, normal_of(s, t)) >= -SLACK
        return behind(minus(own, Q), n, slack) and behind(minus(corner(s, far), Q), n, slack)
    v, stars = of_triangle(s, t, place), s.table[4] + s.numbers[s.table[4] + 3]
    for m in range(s.numbers[stars + v], s.numbers[stars + v + 1]):
        q = s.numbers[stars + s.table[1] + 1 + m]
        if not behind(minus(corner(s, q), Q), n, slack):
            return False
    return dot(n, outer_normal(s, t, place)) >= -SLACK


@kernel
def behind(d: Point, n: Point, slack: float) -> bool:
    """Whether d points behind the plane across n, up to an angle of `slack`."""
    return dot(n, d) <= slack * math.sqrt(dot(d, d))


@kernel(apart=True)
def nearest_place(s: Surface, found: np.ndarray, P: Point) -> tuple[int, float, bool]:
    """Of the triangles `found`: the nearest to P, its distance, and whether P lies behind it, in the solid."""
    best, least, inside, near = NONE, np.inf, False, TOUCHING * typical(s)[0]
    for m in range(found.shape[0]):
        t = found[m]
        if t == NONE:
            break
        if abs(height_over(s, t, P)) > least:
            continue
        Q = nearest_on_triangle(P[0], P[1], P[2], corner_of(s, t, 0), corner_of(s, t, 1), corner_of(s, t, 2))
        d = minus(P, Q)
        distance = math.sqrt(dot(d, d))
        if distance < least:
            best, least = t, distance
            inside = distance > near and dot(d, outer_normal(s, t, place_on(s, t, Q))) < 0.0
    return best, least, inside


@kernel
def ridge_crossing(s: Surface, t: int, k: int, Q: Point, d: Point) -> tuple[float, float, Point, float]:
    """Edge k of triangle t, where it stands out, and the segment Q + g d: what `crossing` says of them.

    The normal looks out of the solid.  f is -1 where the segment passes by, and where the normal is none of the edge.
    """
    P = corner_of(s, t, k)
    e = minus(corner_of(s, t, k + 1), P)
    f, g, n, height = crossing(P, e, Q, d)
    if dot(n, edge_normal(s, t, k)) < 0.0:
        n, height = (-n[0], -n[1], -n[2]), -height
    met = -ON_LINE <= f <= 1.0 + ON_LINE and -ON_LINE <= g <= 1.0 + ON_LINE
    if not (met and behind_all(s, t, 3 + k, P, n, SLACK)):
        return -1.0, g, n, height
    return max(f, 0.0), g, n, height


@kernel
def add_to_edge(s: Surface, room: Room, count: int, t: int, k: int, f: float, n: Point, gap: float) -> int:
    """Append the contact point at the part f of edge k of triangle t."""
    P = corner_of(s, t, k)
    e = minus(corner_of(s, t, k + 1), P)
    return add_field(room, ZERO, count, s.pose, typical(s), (P[0] + f * e[0], P[1] + f * e[1], P[2] + f * e[2]), n, gap)
