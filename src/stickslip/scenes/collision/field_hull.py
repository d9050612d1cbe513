"""Contact points of convex hulls on a height field: corners, peaks under faces, ridges under edges."""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.field import (
    FLAT,
    ON_LINE,
    SHALLOW,
    SLACK,
    UNDER,
    Field,
    add_field,
    bulge,
    cells_within,
    crossing,
    dot,
    edge_of_cell,
    grid_point,
    in_frame,
    in_triangle,
    minus,
    peak_at,
    ridge_at,
    stands_out,
    surface,
    triangle_plane,
    wall_beside,
    wall_point,
)
from stickslip.scenes.collision.flat import CLIP, place
from stickslip.scenes.collision.round import Point, along_segment
from stickslip.scenes.layout import ZERO, Hulls, Room


@kernel(apart=True)
def corner_field(
    room: Room, begin: int, count: int, field: Field,
    P: Point, margin: float,
) -> int:  # fmt: skip
    """Points of a body's corner P: at the triangle under it, at neighbours across a valley, at others it looks at."""
    x, y, z = P
    outside, a, b = wall_beside(field, x, y)
    if outside > ON_LINE * field.size[0]:
        return wall_point(room, begin, count, field, P, 0.0, margin)
    i, j, half = surface(field, x, y)
    own, A = triangle_plane(field, i, j, half)
    s = dot(own, minus(P, A))
    if s < -UNDER * field.size[0] and outside > s:
        return add_field(
            room, begin, count, field.pose, field.size, (x - outside * a, y - outside * b, z), (a, b, 0.0), outside
        )
    chosen = own
    for k in range(3):
        # the triangle on the other side of edge k, and the cell whose edge that is
        c, d = (i + half if k == 1 else i), (j + half if k == 0 else j)
        rise = bulge(field, c, d, k)
        if not abs(rise) > FLAT * field.size[0] or rise == np.inf:
            continue
        e, f = (i + 2 * half - 1 if k == 1 else i), (j + 2 * half - 1 if k == 0 else j)
        n, B = triangle_plane(field, e, f, 1 - half)
        t = dot(n, minus(P, B))
        if rise > 0.0:
            if s < t < 0.0:  # below both sides of a ridge: out by the shorter way
                s, chosen = t, n
            continue
        if t > margin:
            continue
        p, q, u, v, _, _, _, _ = edge_of_cell(c, d, k)
        p0, p1, p2 = grid_point(field, p, q)
        q0, q1, q2 = grid_point(field, u, v)
        w = along_segment((x, y, z), (p0, p1, p2), (q0, q1, q2))
        g = minus(P, (p0 + w * (q0 - p0), p1 + w * (q1 - p1), p2 + w * (q2 - p2)))
        if dot(g, g) <= margin * margin or t <= 0.0:
            count = add_field(
                room, begin, count, field.pose, field.size, (x - t * n[0], y - t * n[1], z - t * n[2]), n, t
            )
    if s <= margin:
        foot = (x - s * chosen[0], y - s * chosen[1], z - s * chosen[2])
        count = add_field(room, begin, count, field.pose, field.size, foot, chosen, s)
    i0, i1 = cells_within(x - margin, x + margin, field.size[0], field.grid[1])
    j0, j1 = cells_within(y - margin, y + margin, field.size[1], field.grid[2])
    for e in range(i0, i1 + 1):
        for f in range(j0, j1 + 1):
            for k in range(2):
                n, B = triangle_plane(field, e, f, k)
                t = dot(n, minus(P, B))
                if 0.0 <= t <= margin and dot(n, own) < 1.0 - FLAT:
                    foot = (x - t * n[0], y - t * n[1], z - t * n[2])
                    if in_triangle(field, e, f, k, foot[0], foot[1]):
                        count = add_field(room, begin, count, field.pose, field.size, foot, n, t)
    return count


@kernel
def box_around(corners: np.ndarray, count: int) -> tuple[Point, Point]:
    """Lowest and highest coordinates of some points."""
    a, b, c, d, e, f = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for k in range(count):
        v = corners[k]
        a, b, c = min(a, v[0]), min(b, v[1]), min(c, v[2])
        d, e, f = max(d, v[0]), max(e, v[1]), max(f, v[2])
    return (a, b, c), (d, e, f)


@kernel
def over_face(hulls: Hulls, room: Room, face: int, n: np.ndarray, v: Point, slack: float) -> bool:
    """Whether a point v lies over a face of the polyhedron placed in `room`, whose normal is n, up to `slack` [m]."""
    corners, loop = room.corners_a, hulls.loops[face]
    for k in range(loop[1]):
        P, Q = corners[hulls.corners[loop[0] + k]], corners[hulls.corners[loop[0] + (k + 1) % loop[1]]]
        e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
        a, b, c = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
        side = a * (v[0] - P[0]) + b * (v[1] - P[1]) + c * (v[2] - P[2])
        if side > slack * math.sqrt(e0 * e0 + e1 * e1 + e2 * e2):
            return False
    return True


@kernel(apart=True)
def peak_faces(
    hulls: Hulls, room: Room, count: int, table: np.ndarray, field: Field, i: int, j: int, margin: float
) -> int:
    """Grid point (i, j) and the face of the polyhedron placed in `room` that looks at it."""
    v = grid_point(field, i, j)
    corners, normals = room.corners_a, room.normals_a
    face, best, most = -1, -np.inf, -np.inf
    for f in range(table[3]):
        n, c = normals[f], corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        s = n[0] * (v[0] - c[0]) + n[1] * (v[1] - c[1]) + n[2] * (v[2] - c[2])
        most = max(most, s)
        if most > margin:
            return count
        if s > best and n[2] < 0.0 and peak_at((-n[0], -n[1], -n[2]), v, field, i, j):
            face, best = f, s
    if face < 0 or (most > 0.0 and best < most):
        return count
    n = normals[face]
    if most > 0.0 and not over_face(hulls, room, table[2] + face, n, v, CLIP * field.size[0]):
        return count
    return add_field(room, ZERO, count, field.pose, field.size, v, (-n[0], -n[1], -n[2]), best)


@kernel
def behind_edge(corners: np.ndarray, count: int, n: Point, Q: Point) -> bool:
    """Whether all corners of a polyhedron lie on the side of n of the plane through Q, up to SLACK."""
    for k in range(count):
        d = minus((corners[k, 0], corners[k, 1], corners[k, 2]), Q)
        s = dot(n, d)
        if s < 0.0 and s * s > SLACK * SLACK * dot(d, d):
            return False
    return True


@kernel(apart=True)
def ridge_edges(
    hulls: Hulls, room: Room, count: int, table: np.ndarray, field: Field, cell: tuple[int, int, int], deepest: float,
    margin: float,
) -> int:  # fmt: skip
    """Edge k of cell (i, j), which stands out, and the edges of the polyhedron placed in `room` that cross it.

    cell : (i, j, k)
    """
    i, j, k = cell
    p, q, u, v, _, _, _, _ = edge_of_cell(i, j, k)
    P, S = grid_point(field, p, q), grid_point(field, u, v)
    e, corners = minus(S, P), room.corners_a
    low = (min(P[0], S[0]) - margin, min(P[1], S[1]) - margin, min(P[2], S[2]))
    high = (max(P[0], S[0]) + margin, max(P[1], S[1]) + margin, max(P[2], S[2]) + margin)
    for m in range(table[4], table[4] + table[5]):
        A, B = corners[hulls.edges[m, 0]], corners[hulls.edges[m, 1]]
        if (
            min(A[0], B[0]) > high[0] or max(A[0], B[0]) < low[0] or min(A[1], B[1]) > high[1]
            or max(A[1], B[1]) < low[1] or min(A[2], B[2]) > high[2] or max(A[2], B[2]) < low[2] - deepest
        ):  # fmt: skip
            continue
        Q = (A[0], A[1], A[2])
        f, g, n, gap = crossing(P, e, Q, (B[0] - A[0], B[1] - A[1], B[2] - A[2]))
        if not (-ON_LINE <= f <= 1.0 + ON_LINE and -ON_LINE <= g <= 1.0 + ON_LINE and -deepest <= gap <= margin):
            continue
        if ridge_at(n, P, field, i, j, k) and behind_edge(corners, table[1], n, Q):
            foot = (P[0] + f * e[0], P[1] + f * e[1], P[2] + f * e[2])
            count = add_field(room, ZERO, count, field.pose, field.size, foot, n, gap)
    return count


@kernel(apart=True)
def hull_on_field(
    hulls: Hulls, room: Room, table: np.ndarray, pose: np.ndarray, field: Field, bound: float, margin: float,
) -> int:  # fmt: skip
    """A polyhedron on a height field: corners, peaks under its faces, ridges that its edges cross."""
    own = room.pose[2]
    in_frame(field.pose, pose, own)
    place(hulls, table, own, room.corners_a, room.normals_a)
    low, high = box_around(room.corners_a, table[1])
    i0, i1 = cells_within(low[0] - margin, high[0] + margin, field.size[0], field.grid[1])
    j0, j1 = cells_within(low[1] - margin, high[1] + margin, field.size[1], field.grid[2])
    count = ZERO
    for k in range(table[1]):
        v = room.corners_a[k]
        count = corner_field(room, ZERO, count, field, (v[0], v[1], v[2]), margin)
    least, deepest = FLAT * field.size[0], SHALLOW * bound
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            x, y, z = grid_point(field, i, j)
            if (
                low[0] - margin <= x <= high[0] + margin and low[1] - margin <= y <= high[1] + margin
                and z >= low[2] - margin and stands_out(field, i, j)
            ):  # fmt: skip
                count = peak_faces(hulls, room, count, table, field, i, j, margin)
            for k in range(3):
                if bulge(field, i, j, k) > least:
                    count = ridge_edges(hulls, room, count, table, field, (i, j, k), deepest, margin)
    return count
