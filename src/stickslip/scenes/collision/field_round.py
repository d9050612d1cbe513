"""Contact points of balls and capsules on a height field."""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.field import (
    FLAT,
    ON_LINE,
    SHALLOW,
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
    minus,
    on_grid,
    peak_at,
    ridge_at,
    stands_out,
    surface,
    triangle_plane,
    wall_beside,
    wall_point,
)
from stickslip.scenes.collision.round import Axis, Point, along_segment
from stickslip.scenes.layout import ZERO, Room
from stickslip.scenes.rotation import rotate


@kernel
def nearest_on_triangle(x: float, y: float, z: float, A: Point, B: Point, C: Point) -> Point:
    """The point of a triangle nearest to (x, y, z): inside by barycentric coordinates, else on the nearest side."""
    u0, u1, u2 = B[0] - A[0], B[1] - A[1], B[2] - A[2]
    v0, v1, v2 = C[0] - A[0], C[1] - A[1], C[2] - A[2]
    w0, w1, w2 = x - A[0], y - A[1], z - A[2]
    uu = u0 * u0 + u1 * u1 + u2 * u2
    vv = v0 * v0 + v1 * v1 + v2 * v2
    uv = u0 * v0 + u1 * v1 + u2 * v2
    uw = u0 * w0 + u1 * w1 + u2 * w2
    vw = v0 * w0 + v1 * w1 + v2 * w2
    d = uu * vv - uv * uv
    s = (vv * uw - uv * vw) / d
    t = (uu * vw - uv * uw) / d
    if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
        return A[0] + s * u0 + t * v0, A[1] + s * u1 + t * v1, A[2] + s * u2 + t * v2
    best = np.inf
    r0, r1, r2 = 0.0, 0.0, 0.0
    for k in range(3):
        P, Q = A, B
        if k == 1:
            P, Q = B, C
        elif k == 2:
            P, Q = C, A
        f = along_segment((x, y, z), P, Q)
        a, b, c = P[0] + f * (Q[0] - P[0]), P[1] + f * (Q[1] - P[1]), P[2] + f * (Q[2] - P[2])
        square = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        if square < best:
            best, r0, r1, r2 = square, a, b, c
    return r0, r1, r2


@kernel
def behind(normal: Point, at: Point, field: Field, i: int, j: int) -> bool:
    """Whether grid point (i, j), if there is one, lies behind the plane through `at`."""
    if not on_grid(field, i, j):
        return True
    return dot(normal, minus(grid_point(field, i, j), at)) <= ON_LINE * field.size[0]


@kernel
def nearest_around(normal: Point, at: Point, field: Field) -> bool:
    """Whether the way along `normal` to the point `at` of the surface is shorter than to all points around `at`.

    At a point inside a triangle it always is.  At an edge both triangles have to lie behind the plane across the
    normal, at a grid point all six.  Else another point of the surface is nearer, and `at` is no contact point.
    """
    a, b = at[0] / field.size[0] + 0.5 * (field.grid[1] - 1), at[1] / field.size[1] + 0.5 * (field.grid[2] - 1)
    on_a, on_b = abs(a - round(a)) <= ON_LINE, abs(b - round(b)) <= ON_LINE
    if on_a and on_b:
        i, j = int(round(a)), int(round(b))
        return (
            behind(normal, at, field, i + 1, j)
            and behind(normal, at, field, i - 1, j)
            and behind(normal, at, field, i, j + 1)
            and behind(normal, at, field, i, j - 1)
            and behind(normal, at, field, i + 1, j - 1)
            and behind(normal, at, field, i - 1, j + 1)
        )
    k = 2
    i, j = int(math.floor(a)), int(math.floor(b))
    if on_b:
        k, j = 0, int(round(b))
    elif on_a:
        k, i = 1, int(round(a))
    elif abs(a + b - round(a + b)) > ON_LINE:
        return True
    _, _, _, _, e, f, g, h = edge_of_cell(i, j, k)
    return behind(normal, at, field, e, f) and behind(normal, at, field, g, h)


@kernel(apart=True)
def ball_field(
    room: Room, begin: int, count: int, P: Point, r: float, field: Field, margin: float,
) -> int:  # fmt: skip
    """A ball about P (frame of the field): the nearest point of every triangle in reach, each point of the ground once.

    A centre below the surface is pushed out along the normal of the triangles above it, or of the wall if that is near.
    """
    x, y, z = P
    outside, wall_a, wall_b = wall_beside(field, x, y)
    if outside > ON_LINE * field.size[0]:
        count = wall_point(room, begin, count, field, P, r, margin)
    reach = r + max(margin, 0.0)
    i0, i1 = cells_within(x - reach, x + reach, field.size[0], field.grid[1])
    j0, j1 = cells_within(y - reach, y + reach, field.size[1], field.grid[2])
    found = count
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for half in range(2):
                A = grid_point(field, i + half, j + half)
                B = grid_point(field, i + 1, j)
                C = grid_point(field, i, j + 1)
                u0, u1, u2 = B[0] - A[0], B[1] - A[1], B[2] - A[2]
                v0, v1, v2 = C[0] - A[0], C[1] - A[1], C[2] - A[2]
                n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
                scale = math.copysign(1.0 / math.sqrt(n0 * n0 + n1 * n1 + n2 * n2), n2)
                n0, n1, n2 = scale * n0, scale * n1, scale * n2
                height = n0 * (x - A[0]) + n1 * (y - A[1]) + n2 * (z - A[2])
                if height - r > margin:
                    continue
                p0, p1, p2 = nearest_on_triangle(x, y, z, A, B, C)
                a, b, c = x - p0, y - p1, z - p2
                distance = math.sqrt(a * a + b * b + c * c)
                if height <= 1e-3 * ON_LINE * field.size[0]:  # else rounding would choose the direction
                    if distance > abs(height) + ON_LINE * field.size[0] or outside > 0.0:
                        continue  # below the plane of the triangle, but beside it
                    a, b, c, distance = n0, n1, n2, height
                elif distance - r > margin:
                    continue
                else:
                    a, b, c = a / distance, b / distance, c / distance
                    if (outside > 0.0 and c < 0.0) or not nearest_around(
                        (a, b, c), (p0, p1, p2), field
                    ):  # lower than the rim, or another point is nearer
                        continue
                count = add_field(room, begin, count, field.pose, field.size, (p0, p1, p2), (a, b, c), distance - r)
    if outside > 0.0:
        return count
    i, j, half = surface(field, x, y)
    n, A = triangle_plane(field, i, j, half)
    height = dot(n, minus(P, A))
    if height < -UNDER * field.size[0] and outside > height:
        foot = (x - outside * wall_a, y - outside * wall_b, z)
        return add_field(room, begin, found, field.pose, field.size, foot, (wall_a, wall_b, 0.0), outside - r)
    if height < 0.0 and count == found:  # deep below a valley, beside all triangles
        foot = (x - height * n[0], y - height * n[1], z - height * n[2])
        count = add_field(room, begin, count, field.pose, field.size, foot, n, height - r)
    return count


@kernel
def axis_ridge(
    room: Room, count: int, axis: Axis, field: Field, cell: tuple[int, int, int], deepest: float, margin: float
) -> int:
    """An edge of the field, which stands out, as (i, j, k): edge k of cell (i, j); and an axis that crosses it."""
    p, q, r = axis
    i, j, k = cell
    a, b, c, d, _, _, _, _ = edge_of_cell(i, j, k)
    P = grid_point(field, a, b)
    e = minus(grid_point(field, c, d), P)
    f, g, n, distance = crossing(P, e, p, minus(q, p))
    if not (-ON_LINE <= f <= 1.0 + ON_LINE and 0.0 < g < 1.0 and -deepest <= distance - r <= margin):
        return count
    if not ridge_at(n, P, field, i, j, k):
        return count
    foot = (P[0] + f * e[0], P[1] + f * e[1], P[2] + f * e[2])
    return add_field(room, ZERO, count, field.pose, field.size, foot, n, distance - r)


@kernel
def axis_peak(room: Room, count: int, axis: Axis, field: Field, i: int, j: int, margin: float) -> int:
    """Grid point (i, j), which stands out, and the inside of an axis above it."""
    p, q, r = axis
    v = grid_point(field, i, j)
    f = along_segment(v, p, q)
    if not 0.0 < f < 1.0:
        return count
    d = minus((p[0] + f * (q[0] - p[0]), p[1] + f * (q[1] - p[1]), p[2] + f * (q[2] - p[2])), v)
    distance = math.sqrt(dot(d, d))
    if distance - r > margin or d[2] <= ON_LINE * field.size[0]:
        return count
    n = (d[0] / distance, d[1] / distance, d[2] / distance)
    if not peak_at(n, v, field, i, j):
        return count
    return add_field(room, ZERO, count, field.pose, field.size, v, n, distance - r)


@kernel(apart=True)
def capsule_on_field(
    room: Room, pose: np.ndarray, half: float, r: float, field: Field, margin: float,
) -> int:  # fmt: skip
    """A capsule on a height field: its ends as balls, and its axis over ridges and peaks."""
    own = room.pose[2]
    in_frame(field.pose, pose, own)
    a, b, c = rotate(own, 0.0, 0.0, half)
    p, q = (own[0] - a, own[1] - b, own[2] - c), (own[0] + a, own[1] + b, own[2] + c)
    count = ball_field(room, ZERO, ZERO, p, r, field, margin)
    count = ball_field(room, count, count, q, r, field, margin)
    reach = r + margin
    i0, i1 = cells_within(min(p[0], q[0]) - reach, max(p[0], q[0]) + reach, field.size[0], field.grid[1])
    j0, j1 = cells_within(min(p[1], q[1]) - reach, max(p[1], q[1]) + reach, field.size[1], field.grid[2])
    least, deepest, lowest = FLAT * field.size[0], r + SHALLOW * half, min(p[2], q[2]) - reach
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            z = grid_point(field, i, j)[2]
            for k in range(3):
                if bulge(field, i, j, k) > least:
                    count = axis_ridge(room, count, Axis(p, q, r), field, (i, j, k), deepest, margin)
            if z >= lowest and stands_out(field, i, j):
                count = axis_peak(room, count, Axis(p, q, r), field, i, j, margin)
    return count
