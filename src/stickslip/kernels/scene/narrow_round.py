"""Narrow phase of spheres (circles), capsules, half-spaces and height fields.

Every function writes contact points into `Room` from number `count` on and returns the new number: the point midway
between the surfaces, the normal from the first shape to the second, and the gap.  Points farther than `margin` are left
out.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.compiled import compiled
from stickslip.kernels.scene.layout import ZERO, Room
from stickslip.kernels.scene.rotation import rotate, to_body, to_world

PARALLEL = 1e-6  # sine of the angle below which two capsules touch along a line


@compiled(inside=True)
def add_point(room: Room, count: int, x: float, y: float, z: float, a: float, b: float, c: float, gap: float) -> int:
    """Append a point (x, y, z) with normal (a, b, c)."""
    room.points[count, 0], room.points[count, 1], room.points[count, 2] = x, y, z
    room.normals[count, 0], room.normals[count, 1], room.normals[count, 2] = a, b, c
    room.gaps[count] = gap
    return count + 1


@compiled(inside=True)
def balls(
    room: Room,
    count: int,
    x: float,
    y: float,
    z: float,
    r: float,
    X: float,
    Y: float,
    Z: float,
    R: float,
    margin: float,
) -> int:
    """Two balls of radii r and R; r or R may be 0."""
    a, b, c = X - x, Y - y, Z - z
    distance = math.sqrt(a * a + b * b + c * c)
    gap = distance - r - R
    if gap > margin:
        return count
    if distance > 0.0:
        a, b, c = a / distance, b / distance, c / distance
    else:
        a, b, c = 1.0, 0.0, 0.0
    k = r + 0.5 * gap
    return add_point(room, count, x + k * a, y + k * b, z + k * c, a, b, c, gap)


@compiled(inside=True)
def ball_plane(room: Room, count: int, x: float, y: float, z: float, r: float, plane: np.ndarray, margin: float) -> int:
    """A ball above a half-space, whose outer normal is the z axis of its pose."""
    a, b, c = rotate(plane, 0.0, 0.0, 1.0)
    height = a * (x - plane[0]) + b * (y - plane[1]) + c * (z - plane[2])
    gap = height - r
    if gap > margin:
        return count
    k = r + 0.5 * gap
    return add_point(room, count, x - k * a, y - k * b, z - k * c, -a, -b, -c, gap)


@compiled(inside=True)
def ends(pose: np.ndarray, half: float) -> tuple[float, float, float, float, float, float]:
    """The ends of a capsule's axis."""
    a, b, c = rotate(pose, 0.0, 0.0, half)
    return pose[0] - a, pose[1] - b, pose[2] - c, pose[0] + a, pose[1] + b, pose[2] + c


@compiled(inside=True)
def along_segment(x: float, y: float, z: float, p: float, q: float, r: float, P: float, Q: float, R: float) -> float:
    """Fraction in [0, 1] of the segment p -> P whose point is nearest to x."""
    a, b, c = P - p, Q - q, R - r
    square = a * a + b * b + c * c
    if square == 0.0:
        return 0.0
    return min(1.0, max(0.0, (a * (x - p) + b * (y - q) + c * (z - r)) / square))


@compiled(inside=True)
def nearest_of_segments(
    p: float, q: float, r: float, P: float, Q: float, R: float,
    s: float, t: float, v: float, S: float, T: float, V: float,
) -> tuple[float, float]:  # fmt: skip
    """Fractions of the segments p -> P and s -> S at their nearest points."""
    a0, a1, a2 = P - p, Q - q, R - r
    b0, b1, b2 = S - s, T - t, V - v
    c0, c1, c2 = p - s, q - t, r - v
    aa = a0 * a0 + a1 * a1 + a2 * a2
    bb = b0 * b0 + b1 * b1 + b2 * b2
    ab = a0 * b0 + a1 * b1 + a2 * b2
    ac = a0 * c0 + a1 * c1 + a2 * c2
    bc = b0 * c0 + b1 * c1 + b2 * c2
    determinant = aa * bb - ab * ab
    f = 0.5
    if determinant > 1e-14 * aa * bb:
        f = min(1.0, max(0.0, (ab * bc - ac * bb) / determinant))
    g = (ab * f + bc) / bb if bb > 0.0 else 0.0
    if g < 0.0:
        g = 0.0
        f = min(1.0, max(0.0, -ac / aa)) if aa > 0.0 else 0.0
    elif g > 1.0:
        g = 1.0
        f = min(1.0, max(0.0, (ab - ac) / aa)) if aa > 0.0 else 0.0
    return f, g


@compiled(inside=True)
def ball_capsule(
    room: Room, count: int, x: float, y: float, z: float, r: float, pose: np.ndarray, half: float, R: float,
    margin: float,
) -> int:  # fmt: skip
    """A ball and a capsule."""
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    f = along_segment(x, y, z, p0, p1, p2, q0, q1, q2)
    return balls(room, count, x, y, z, r, p0 + f * (q0 - p0), p1 + f * (q1 - p1), p2 + f * (q2 - p2), R, margin)


@compiled(inside=True)
def capsules(
    room: Room, pose: np.ndarray, half: float, r: float, other: np.ndarray, other_half: float, R: float, margin: float
) -> int:
    """Two capsules: one point, or two at the ends of the common part where they are parallel."""
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    s0, s1, s2, t0, t1, t2 = ends(other, other_half)
    a0, a1, a2 = q0 - p0, q1 - p1, q2 - p2
    b0, b1, b2 = t0 - s0, t1 - s1, t2 - s2
    c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    aa = a0 * a0 + a1 * a1 + a2 * a2
    bb = b0 * b0 + b1 * b1 + b2 * b2
    count = ZERO
    if aa > 0.0 and c0 * c0 + c1 * c1 + c2 * c2 <= PARALLEL * PARALLEL * aa * bb:
        f = (a0 * (s0 - p0) + a1 * (s1 - p1) + a2 * (s2 - p2)) / aa
        g = (a0 * (t0 - p0) + a1 * (t1 - p1) + a2 * (t2 - p2)) / aa
        low, high = max(0.0, min(f, g)), min(1.0, max(f, g))
        if high - low > 1e-6:
            for k in range(2):
                h = low if k == 0 else high
                x, y, z = p0 + h * a0, p1 + h * a1, p2 + h * a2
                w = along_segment(x, y, z, s0, s1, s2, t0, t1, t2)
                count = balls(room, count, x, y, z, r, s0 + w * b0, s1 + w * b1, s2 + w * b2, R, margin)
            return count
    f, g = nearest_of_segments(p0, p1, p2, q0, q1, q2, s0, s1, s2, t0, t1, t2)
    return balls(
        room, count, p0 + f * a0, p1 + f * a1, p2 + f * a2, r, s0 + g * b0, s1 + g * b1, s2 + g * b2, R, margin
    )


@compiled(inside=True)
def capsule_plane(room: Room, pose: np.ndarray, half: float, r: float, plane: np.ndarray, margin: float) -> int:
    """A capsule above a half-space: its two ends."""
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    count = ball_plane(room, ZERO, p0, p1, p2, r, plane, margin)
    return ball_plane(room, count, q0, q1, q2, r, plane, margin)


@compiled(inside=True)
def nearest_on_triangle(
    x: float, y: float, z: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
) -> tuple[float, float, float]:
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
        f = along_segment(x, y, z, P[0], P[1], P[2], Q[0], Q[1], Q[2])
        a, b, c = P[0] + f * (Q[0] - P[0]), P[1] + f * (Q[1] - P[1]), P[2] + f * (Q[2] - P[2])
        square = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        if square < best:
            best, r0, r1, r2 = square, a, b, c
    return r0, r1, r2


@compiled(inside=True)
def field_corner(heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int, out: np.ndarray) -> None:
    """Grid point (i, j) of a height field in its own frame; the origin is the middle of the rectangle."""
    rows, columns = table[1], table[2]
    out[0] = (i - 0.5 * (rows - 1)) * size[0]
    out[1] = (j - 0.5 * (columns - 1)) * size[1]
    out[2] = heights[table[0] + i * columns + j]


@compiled(inside=True, apart=True)
def ball_field(
    room: Room,
    count: int,
    x: float,
    y: float,
    z: float,
    r: float,
    field: np.ndarray,
    heights: np.ndarray,
    table: np.ndarray,
    size: np.ndarray,
    margin: float,
) -> int:
    """A ball above a height field: the nearest point of every triangle in reach, each point of the ground once.

    A centre below the surface of the triangle under it is pushed out along the triangle's normal.
    """
    x, y, z = to_body(field, x, y, z)
    rows, columns = table[1], table[2]
    reach = r + max(margin, 0.0)
    i0 = max(0, int(math.floor((x - reach) / size[0] + 0.5 * (rows - 1))))
    i1 = min(rows - 2, int(math.floor((x + reach) / size[0] + 0.5 * (rows - 1))))
    j0 = max(0, int(math.floor((y - reach) / size[1] + 0.5 * (columns - 1))))
    j1 = min(columns - 2, int(math.floor((y + reach) / size[1] + 0.5 * (columns - 1))))
    corners = room.outline
    begin = count
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for half in range(2):
                field_corner(heights, table, size, i + half, j + half, corners[0])
                field_corner(heights, table, size, i + 1, j, corners[1])
                field_corner(heights, table, size, i, j + 1, corners[2])
                A, B, C = corners[0], corners[1], corners[2]
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
                if height <= 0.0:
                    if distance > -height + 1e-9 * size[0]:
                        continue  # below the plane of the triangle, but beside it
                    a, b, c, distance = n0, n1, n2, height
                elif distance - r > margin:
                    continue
                else:
                    a, b, c = a / distance, b / distance, c / distance
                gap = distance - r
                w0, w1, w2 = to_world(field, p0 + 0.5 * gap * a, p1 + 0.5 * gap * b, p2 + 0.5 * gap * c)
                a, b, c = rotate(field, a, b, c)
                known = False
                for k in range(begin, count):
                    square = 0.0
                    square += (room.points[k, 0] - w0) ** 2
                    square += (room.points[k, 1] - w1) ** 2
                    square += (room.points[k, 2] - w2) ** 2
                    known = known or square <= 1e-12 * size[0] * size[0]
                if not known and count < room.gaps.shape[0]:
                    count = add_point(room, count, w0, w1, w2, -a, -b, -c, gap)
    return count
