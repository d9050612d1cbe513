"""Narrow phase of height fields with balls, capsules and polyhedra.

The ground is the solid below a surface of triangles, with vertical walls under its rim; beyond the rim there is none.
Grid point (i, j) lies over (i, j) times the spacing; each cell is two triangles that share the diagonal from (i + 1, j)
to (i, j + 1).  Points are computed in the frame of the field, and turned into world axes at the end.

A point of contact is one of

    a corner of the body at a triangle, with the triangle's normal,
    a grid point at a face of the body, with the normal of the face,
    an edge of the grid and an edge of the body that cross, with their common normal,

and for round bodies the axis or centre in place of corners and edges.  Only edges and grid points that stick out of the
ground count.  Edges between triangles of one plane and edges of valleys make no points, so that a body slides over flat
cells as over a half-space.  A normal has to look out of the ground all around its foot: it must lie in the Voronoi
region of the foot, up to SLACK.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.flat import CLIP, place
from stickslip.scenes.collision.round import Point, add_point, along_segment
from stickslip.scenes.layout import ZERO, Hulls, Room
from stickslip.scenes.rotation import rotate, to_body, to_world

FLAT = 1e-9  # of the spacing: an edge that stands out by less lies in the plane of its triangles
SLACK = 0.1  # radians by which a normal may leave its region: points that are level within it belong to one contact
ON_LINE = 1e-9  # of a cell: a point nearer to a line of the grid counts as on the line
SAME = 1e-6  # of the spacing: points nearer to one another, with one normal, are one
UNDER = 0.02  # of the spacing: a corner deeper below the rim belongs to the wall, if the wall is nearer
SHALLOW = 0.1  # of the body: edges that pass deeper below one another do not touch; corners tell how deep they are
CROSS = 1e-6  # sine of the angle below which two edges are parallel


@kernel
def grid_point(heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int) -> Point:
    """Grid point (i, j) in the frame of the field, whose origin is the middle of the rectangle."""
    x, y = (i - 0.5 * (table[1] - 1)) * size[0], (j - 0.5 * (table[2] - 1)) * size[1]
    return x, y, heights[table[0] + i * table[2] + j]


@kernel
def minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def dot(a: Point, b: Point) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cells_within(low: float, high: float, spacing: float, points: int) -> tuple[int, int]:
    """First and last cell that the interval [low, high] of one coordinate meets; the first is larger where none."""
    first = math.floor(low / spacing + 0.5 * (points - 1))
    last = math.floor(high / spacing + 0.5 * (points - 1))
    return int(min(max(first, 0.0), points - 1.0)), int(min(max(last, -1.0), points - 2.0))


@kernel
def edge_of_cell(i: int, j: int, k: int) -> tuple[int, int, int, int, int, int, int, int]:
    """Edge k of cell (i, j), k = 0 along x, 1 along y, 2 the diagonal: its grid points, and those opposite to it."""
    if k == 0:
        return i, j, i + 1, j, i, j + 1, i + 1, j - 1
    if k == 1:
        return i, j, i, j + 1, i + 1, j, i - 1, j + 1
    return i + 1, j, i, j + 1, i, j, i + 1, j + 1


@kernel
def on_grid(table: np.ndarray, i: int, j: int) -> bool:
    return 0 <= i < table[1] and 0 <= j < table[2]


@kernel
def bulge(heights: np.ndarray, table: np.ndarray, i: int, j: int, k: int) -> float:
    """How far edge k of cell (i, j) stands out: twice the height of its middle above the middle of the opposite points.

    inf at the rim, where the ground ends; -inf for an edge that does not exist.
    """
    a, b, c, d, e, f, g, h = edge_of_cell(i, j, k)
    if not (on_grid(table, a, b) and on_grid(table, c, d)):
        return -np.inf
    first, second = on_grid(table, e, f), on_grid(table, g, h)
    if not (first and second):
        return np.inf if first or second else -np.inf
    z, n = table[0], table[2]
    return heights[z + a * n + b] + heights[z + c * n + d] - heights[z + e * n + f] - heights[z + g * n + h]


@kernel
def below(normal: Point, at: Point, heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int) -> bool:
    """Whether grid point (i, j) lies behind the plane through `at`, up to SLACK; beyond the rim: a point far down."""
    if not on_grid(table, i, j):
        return normal[2] >= -SLACK
    d = minus(grid_point(heights, table, size, i, j), at)
    return dot(normal, d) <= SLACK * math.sqrt(dot(d, d))


@kernel
def stands_out(heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int) -> bool:
    """Whether grid point (i, j) is the end of an edge that stands out, and not inside a straight one."""
    least = FLAT * size[0]
    straight = True
    any_edge, bent = False, -1
    for k in range(3):
        # edges of direction k that begin and that end here; those of the diagonal belong to other cells
        if k == 0:
            ahead, behind = bulge(heights, table, i, j, 0), bulge(heights, table, i - 1, j, 0)
            a, b = i + 1, j
        elif k == 1:
            ahead, behind = bulge(heights, table, i, j, 1), bulge(heights, table, i, j - 1, 1)
            a, b = i, j + 1
        else:
            ahead, behind = bulge(heights, table, i - 1, j, 2), bulge(heights, table, i, j - 1, 2)
            a, b = i - 1, j + 1
        if not (ahead > least or behind > least):
            if abs(ahead) > least or abs(behind) > least:  # a valley meets the point
                straight = straight and ahead == -np.inf and behind == -np.inf
            continue
        any_edge = True
        c, d = 2 * i - a, 2 * j - b
        if bent >= 0 or not (ahead > least and behind > least and on_grid(table, a, b) and on_grid(table, c, d)):
            straight = False
        else:
            bent = k
            z, n = table[0], table[2]
            turn = heights[z + a * n + b] + heights[z + c * n + d] - 2.0 * heights[z + i * n + j]
            straight = straight and abs(turn) <= least
    return any_edge and not straight


@kernel
def add_field(
    room: Room, begin: int, count: int, field: np.ndarray, size: np.ndarray, foot: Point, n: Point, gap: float
) -> int:
    """Append the contact point at `foot` on the ground with normal n; each point once, the deepest if room is short."""
    x, y, z = to_world(field, foot[0] + 0.5 * gap * n[0], foot[1] + 0.5 * gap * n[1], foot[2] + 0.5 * gap * n[2])
    a, b, c = rotate(field, -n[0], -n[1], -n[2])
    highest = begin
    for k in range(begin, count):
        p, m = room.points[k], room.normals[k]
        square = (p[0] - x) ** 2 + (p[1] - y) ** 2 + (p[2] - z) ** 2
        if square <= SAME * SAME * size[0] * size[0] and m[0] * a + m[1] * b + m[2] * c > 1.0 - SAME:
            return count
        if room.gaps[k] > room.gaps[highest]:
            highest = k
    if count < room.gaps.shape[0]:
        return add_point(room, count, x, y, z, a, b, c, gap)
    if gap < room.gaps[highest]:
        add_point(room, highest, x, y, z, a, b, c, gap)
    return count


@kernel
def triangle_plane(
    heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int, half: int
) -> tuple[Point, Point]:
    """Unit normal of a triangle of cell (i, j) and its corner off the diagonal, (i, j) for half 0."""
    A = grid_point(heights, table, size, i + half, j + half)
    p = grid_point(heights, table, size, i + 1, j + half)[2] - grid_point(heights, table, size, i, j + half)[2]
    q = grid_point(heights, table, size, i + half, j + 1)[2] - grid_point(heights, table, size, i + half, j)[2]
    a, b = -p / size[0], -q / size[1]
    scale = 1.0 / math.sqrt(1.0 + a * a + b * b)
    return (scale * a, scale * b, scale), A


@kernel
def in_triangle(table: np.ndarray, size: np.ndarray, i: int, j: int, half: int, x: float, y: float) -> bool:
    """Whether (x, y) lies in the shadow of a triangle of cell (i, j)."""
    a = x / size[0] + 0.5 * (table[1] - 1) - i
    b = y / size[1] + 0.5 * (table[2] - 1) - j
    if half == 0:
        return a >= -ON_LINE and b >= -ON_LINE and a + b <= 1.0 + ON_LINE
    return a <= 1.0 + ON_LINE and b <= 1.0 + ON_LINE and a + b >= 1.0 - ON_LINE


@kernel
def wall_beside(table: np.ndarray, size: np.ndarray, x: float, y: float) -> tuple[float, float, float]:
    """How far (x, y) lies outside the nearest wall (inside where negative), and the wall's outer normal."""
    X, Y = 0.5 * (table[1] - 1) * size[0], 0.5 * (table[2] - 1) * size[1]
    if abs(x) - X > abs(y) - Y:
        return abs(x) - X, math.copysign(1.0, x), 0.0
    return abs(y) - Y, 0.0, math.copysign(1.0, y)


@kernel
def surface(heights: np.ndarray, table: np.ndarray, size: np.ndarray, x: float, y: float) -> tuple[int, int, int]:
    """Cell and half of the triangle over or under (x, y), which is moved to the rim if it lies beyond."""
    a, b = x / size[0] + 0.5 * (table[1] - 1), y / size[1] + 0.5 * (table[2] - 1)
    i, j = int(min(max(math.floor(a), 0.0), table[1] - 2.0)), int(min(max(math.floor(b), 0.0), table[2] - 2.0))
    a, b = min(max(a - i, 0.0), 1.0), min(max(b - j, 0.0), 1.0)
    return i, j, 0 if a + b <= 1.0 else 1


@kernel
def wall_point(
    room: Room, begin: int, count: int, field: np.ndarray, heights: np.ndarray, table: np.ndarray, size: np.ndarray,
    P: Point, r: float, margin: float,
) -> int:  # fmt: skip
    """A ball about P outside the ground and lower than its rim: the wall beside it."""
    s, a, b = wall_beside(table, size, P[0], P[1])
    x, y = P[0] - s * a, P[1] - s * b
    X, Y = 0.5 * (table[1] - 1) * size[0], 0.5 * (table[2] - 1) * size[1]
    if s - r > margin or abs(x) > X + CLIP * size[0] or abs(y) > Y + CLIP * size[1]:
        return count
    i, j, half = surface(heights, table, size, x, y)
    n, A = triangle_plane(heights, table, size, i, j, half)
    if n[0] * (x - A[0]) + n[1] * (y - A[1]) + n[2] * (P[2] - A[2]) > -CLIP * size[0]:
        return count
    return add_field(room, begin, count, field, size, (x, y, P[2]), (a, b, 0.0), s - r)


@kernel(apart=True)
def corner_field(
    room: Room, begin: int, count: int, field: np.ndarray, heights: np.ndarray, table: np.ndarray, size: np.ndarray,
    P: Point, margin: float,
) -> int:  # fmt: skip
    """Points of a body's corner P: at the triangle under it, at neighbours across a valley, at others it looks at."""
    x, y, z = P
    outside, a, b = wall_beside(table, size, x, y)
    if outside > ON_LINE * size[0]:
        return wall_point(room, begin, count, field, heights, table, size, P, 0.0, margin)
    i, j, half = surface(heights, table, size, x, y)
    own, A = triangle_plane(heights, table, size, i, j, half)
    s = dot(own, minus(P, A))
    if s < -UNDER * size[0] and outside > s:
        return add_field(room, begin, count, field, size, (x - outside * a, y - outside * b, z), (a, b, 0.0), outside)
    chosen = own
    for k in range(3):
        # the triangle on the other side of edge k, and the cell whose edge that is
        c, d = (i + half if k == 1 else i), (j + half if k == 0 else j)
        rise = bulge(heights, table, c, d, k)
        if not abs(rise) > FLAT * size[0] or rise == np.inf:
            continue
        e, f = (i + 2 * half - 1 if k == 1 else i), (j + 2 * half - 1 if k == 0 else j)
        n, B = triangle_plane(heights, table, size, e, f, 1 - half)
        t = dot(n, minus(P, B))
        if rise > 0.0:
            if s < t < 0.0:  # below both sides of a ridge: out by the shorter way
                s, chosen = t, n
            continue
        if t > margin:
            continue
        p, q, u, v, _, _, _, _ = edge_of_cell(c, d, k)
        p0, p1, p2 = grid_point(heights, table, size, p, q)
        q0, q1, q2 = grid_point(heights, table, size, u, v)
        w = along_segment(x, y, z, p0, p1, p2, q0, q1, q2)
        g = minus(P, (p0 + w * (q0 - p0), p1 + w * (q1 - p1), p2 + w * (q2 - p2)))
        if dot(g, g) <= margin * margin or t <= 0.0:
            count = add_field(room, begin, count, field, size, (x - t * n[0], y - t * n[1], z - t * n[2]), n, t)
    if s <= margin:
        foot = (x - s * chosen[0], y - s * chosen[1], z - s * chosen[2])
        count = add_field(room, begin, count, field, size, foot, chosen, s)
    i0, i1 = cells_within(x - margin, x + margin, size[0], table[1])
    j0, j1 = cells_within(y - margin, y + margin, size[1], table[2])
    for e in range(i0, i1 + 1):
        for f in range(j0, j1 + 1):
            for k in range(2):
                n, B = triangle_plane(heights, table, size, e, f, k)
                t = dot(n, minus(P, B))
                if 0.0 <= t <= margin and dot(n, own) < 1.0 - FLAT:
                    foot = (x - t * n[0], y - t * n[1], z - t * n[2])
                    if in_triangle(table, size, e, f, k, foot[0], foot[1]):
                        count = add_field(room, begin, count, field, size, foot, n, t)
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
def peak_at(normal: Point, at: Point, heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int) -> bool:
    """Whether a normal at grid point (i, j) looks out of the ground all around it."""
    return (
        below(normal, at, heights, table, size, i + 1, j)
        and below(normal, at, heights, table, size, i - 1, j)
        and below(normal, at, heights, table, size, i, j + 1)
        and below(normal, at, heights, table, size, i, j - 1)
        and below(normal, at, heights, table, size, i + 1, j - 1)
        and below(normal, at, heights, table, size, i - 1, j + 1)
    )


@kernel(apart=True)
def peak_faces(
    hulls: Hulls, room: Room, begin: int, count: int, table: np.ndarray, field: np.ndarray, heights: np.ndarray,
    grid: np.ndarray, size: np.ndarray, i: int, j: int, margin: float,
) -> int:  # fmt: skip
    """Grid point (i, j) and the face of the polyhedron placed in `room` that looks at it."""
    v = grid_point(heights, grid, size, i, j)
    corners, normals = room.corners_a, room.normals_a
    face, best, most = -1, -np.inf, -np.inf
    for f in range(table[3]):
        n, c = normals[f], corners[hulls.corners[hulls.loops[table[2] + f, 0]]]
        s = n[0] * (v[0] - c[0]) + n[1] * (v[1] - c[1]) + n[2] * (v[2] - c[2])
        most = max(most, s)
        if most > margin:
            return count
        if s > best and n[2] < 0.0 and peak_at((-n[0], -n[1], -n[2]), v, heights, grid, size, i, j):
            face, best = f, s
    if face < 0 or (most > 0.0 and best < most):
        return count
    n, loop = normals[face], hulls.loops[table[2] + face]
    if most > 0.0:  # outside: the face has to lie over the point
        for k in range(loop[1]):
            P, Q = corners[hulls.corners[loop[0] + k]], corners[hulls.corners[loop[0] + (k + 1) % loop[1]]]
            e0, e1, e2 = Q[0] - P[0], Q[1] - P[1], Q[2] - P[2]
            a, b, c = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
            side = a * (v[0] - P[0]) + b * (v[1] - P[1]) + c * (v[2] - P[2])
            if side > CLIP * size[0] * math.sqrt(e0 * e0 + e1 * e1 + e2 * e2):
                return count
    return add_field(room, begin, count, field, size, v, (-n[0], -n[1], -n[2]), best)


@kernel
def crossing(P: Point, e: Point, Q: Point, d: Point) -> tuple[float, float, Point, float]:
    """Where the lines P + f e and Q + g d are nearest: f, g, the common normal that looks up, the height of Q over P.

    f is -1 where they are parallel.
    """
    n = (e[1] * d[2] - e[2] * d[1], e[2] * d[0] - e[0] * d[2], e[0] * d[1] - e[1] * d[0])
    square = dot(n, n)
    if square <= CROSS * CROSS * dot(e, e) * dot(d, d):
        return -1.0, -1.0, n, 0.0
    w = minus(Q, P)
    f = dot((w[1] * d[2] - w[2] * d[1], w[2] * d[0] - w[0] * d[2], w[0] * d[1] - w[1] * d[0]), n) / square
    g = dot((w[1] * e[2] - w[2] * e[1], w[2] * e[0] - w[0] * e[2], w[0] * e[1] - w[1] * e[0]), n) / square
    scale = (1.0 if n[2] >= 0.0 else -1.0) / math.sqrt(square)
    n = (scale * n[0], scale * n[1], scale * n[2])
    return f, g, n, dot(n, w)


@kernel
def ridge_at(
    n: Point, P: Point, heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int, k: int
) -> bool:
    """Whether a normal of edge k of cell (i, j), which goes through P, looks out of the ground on both sides."""
    _, _, _, _, e, f, g, h = edge_of_cell(i, j, k)
    return below(n, P, heights, table, size, e, f) and below(n, P, heights, table, size, g, h)


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
    hulls: Hulls, room: Room, begin: int, count: int, table: np.ndarray, field: np.ndarray, heights: np.ndarray,
    grid: np.ndarray, size: np.ndarray, i: int, j: int, k: int, deepest: float, margin: float,
) -> int:  # fmt: skip
    """Edge k of cell (i, j), which stands out, and the edges of the polyhedron placed in `room` that cross it."""
    p, q, u, v, _, _, _, _ = edge_of_cell(i, j, k)
    P, S = grid_point(heights, grid, size, p, q), grid_point(heights, grid, size, u, v)
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
        if ridge_at(n, P, heights, grid, size, i, j, k) and behind_edge(corners, table[1], n, Q):
            foot = (P[0] + f * e[0], P[1] + f * e[1], P[2] + f * e[2])
            count = add_field(room, begin, count, field, size, foot, n, gap)
    return count


@kernel
def in_frame(outer: np.ndarray, pose: np.ndarray, out: np.ndarray) -> None:
    """out = `pose`, given in world coordinates, in the frame `outer`."""
    out[0], out[1], out[2] = to_body(outer, pose[0], pose[1], pose[2])
    w, a, b, c = outer[3], -outer[4], -outer[5], -outer[6]
    p, q, r, s = pose[3], pose[4], pose[5], pose[6]
    out[3], out[4] = w * p - a * q - b * r - c * s, w * q + a * p + b * s - c * r
    out[5], out[6] = w * r - a * s + b * p + c * q, w * s + a * r - b * q + c * p


@kernel(apart=True)
def hull_on_field(
    hulls: Hulls, room: Room, table: np.ndarray, pose: np.ndarray, field: np.ndarray, heights: np.ndarray,
    grid: np.ndarray, size: np.ndarray, bound: float, margin: float,
) -> int:  # fmt: skip
    """A polyhedron on a height field: corners, peaks under its faces, ridges that its edges cross."""
    own = room.pose[2]
    in_frame(field, pose, own)
    place(hulls, table, own, room.corners_a, room.normals_a)
    low, high = box_around(room.corners_a, table[1])
    i0, i1 = cells_within(low[0] - margin, high[0] + margin, size[0], grid[1])
    j0, j1 = cells_within(low[1] - margin, high[1] + margin, size[1], grid[2])
    count = ZERO
    for k in range(table[1]):
        v = room.corners_a[k]
        count = corner_field(room, ZERO, count, field, heights, grid, size, (v[0], v[1], v[2]), margin)
    least, deepest = FLAT * size[0], SHALLOW * bound
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            x, y, z = grid_point(heights, grid, size, i, j)
            if (
                low[0] - margin <= x <= high[0] + margin and low[1] - margin <= y <= high[1] + margin
                and z >= low[2] - margin and stands_out(heights, grid, size, i, j)
            ):  # fmt: skip
                count = peak_faces(hulls, room, ZERO, count, table, field, heights, grid, size, i, j, margin)
            for k in range(3):
                if bulge(heights, grid, i, j, k) > least:
                    count = ridge_edges(
                        hulls, room, ZERO, count, table, field, heights, grid, size, i, j, k, deepest, margin
                    )
    return count


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
        f = along_segment(x, y, z, P[0], P[1], P[2], Q[0], Q[1], Q[2])
        a, b, c = P[0] + f * (Q[0] - P[0]), P[1] + f * (Q[1] - P[1]), P[2] + f * (Q[2] - P[2])
        square = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2
        if square < best:
            best, r0, r1, r2 = square, a, b, c
    return r0, r1, r2


@kernel
def behind(normal: Point, at: Point, heights: np.ndarray, table: np.ndarray, size: np.ndarray, i: int, j: int) -> bool:
    """Whether grid point (i, j), if there is one, lies behind the plane through `at`."""
    if not on_grid(table, i, j):
        return True
    return dot(normal, minus(grid_point(heights, table, size, i, j), at)) <= ON_LINE * size[0]


@kernel
def nearest_around(normal: Point, at: Point, heights: np.ndarray, table: np.ndarray, size: np.ndarray) -> bool:
    """Whether the way along `normal` to the point `at` of the surface is shorter than to all points around `at`.

    At a point inside a triangle it always is.  At an edge both triangles have to lie behind the plane across the
    normal, at a grid point all six.  Else another point of the surface is nearer, and `at` is no contact point.
    """
    a, b = at[0] / size[0] + 0.5 * (table[1] - 1), at[1] / size[1] + 0.5 * (table[2] - 1)
    on_a, on_b = abs(a - round(a)) <= ON_LINE, abs(b - round(b)) <= ON_LINE
    if on_a and on_b:
        i, j = int(round(a)), int(round(b))
        return (
            behind(normal, at, heights, table, size, i + 1, j)
            and behind(normal, at, heights, table, size, i - 1, j)
            and behind(normal, at, heights, table, size, i, j + 1)
            and behind(normal, at, heights, table, size, i, j - 1)
            and behind(normal, at, heights, table, size, i + 1, j - 1)
            and behind(normal, at, heights, table, size, i - 1, j + 1)
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
    return behind(normal, at, heights, table, size, e, f) and behind(normal, at, heights, table, size, g, h)


@kernel(apart=True)
def ball_field(
    room: Room, begin: int, count: int, P: Point, r: float, field: np.ndarray, heights: np.ndarray, table: np.ndarray,
    size: np.ndarray, margin: float,
) -> int:  # fmt: skip
    """A ball about P (frame of the field): the nearest point of every triangle in reach, each point of the ground once.

    A centre below the surface is pushed out along the normal of the triangles above it, or of the wall if that is near.
    """
    x, y, z = P
    outside, wall_a, wall_b = wall_beside(table, size, x, y)
    if outside > ON_LINE * size[0]:
        count = wall_point(room, begin, count, field, heights, table, size, P, r, margin)
    reach = r + max(margin, 0.0)
    i0, i1 = cells_within(x - reach, x + reach, size[0], table[1])
    j0, j1 = cells_within(y - reach, y + reach, size[1], table[2])
    found = count
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            for half in range(2):
                A = grid_point(heights, table, size, i + half, j + half)
                B = grid_point(heights, table, size, i + 1, j)
                C = grid_point(heights, table, size, i, j + 1)
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
                if height <= 1e-3 * ON_LINE * size[0]:  # else rounding would choose the direction
                    if distance > abs(height) + ON_LINE * size[0] or outside > 0.0:
                        continue  # below the plane of the triangle, but beside it
                    a, b, c, distance = n0, n1, n2, height
                elif distance - r > margin:
                    continue
                else:
                    a, b, c = a / distance, b / distance, c / distance
                    if (outside > 0.0 and c < 0.0) or not nearest_around(
                        (a, b, c), (p0, p1, p2), heights, table, size
                    ):  # lower than the rim, or another point is nearer
                        continue
                count = add_field(room, begin, count, field, size, (p0, p1, p2), (a, b, c), distance - r)
    if outside > 0.0:
        return count
    i, j, half = surface(heights, table, size, x, y)
    n, A = triangle_plane(heights, table, size, i, j, half)
    height = dot(n, minus(P, A))
    if height < -UNDER * size[0] and outside > height:
        foot = (x - outside * wall_a, y - outside * wall_b, z)
        return add_field(room, begin, found, field, size, foot, (wall_a, wall_b, 0.0), outside - r)
    if height < 0.0 and count == found:  # deep below a valley, beside all triangles
        foot = (x - height * n[0], y - height * n[1], z - height * n[2])
        count = add_field(room, begin, count, field, size, foot, n, height - r)
    return count


@kernel
def axis_ridge(
    room: Room, begin: int, count: int, p: Point, q: Point, r: float, field: np.ndarray, heights: np.ndarray,
    grid: np.ndarray, size: np.ndarray, i: int, j: int, k: int, deepest: float, margin: float,
) -> int:  # fmt: skip
    """Edge k of cell (i, j), which stands out, and the axis p -> q of a capsule that crosses it."""
    a, b, c, d, _, _, _, _ = edge_of_cell(i, j, k)
    P = grid_point(heights, grid, size, a, b)
    e = minus(grid_point(heights, grid, size, c, d), P)
    f, g, n, distance = crossing(P, e, p, minus(q, p))
    if not (-ON_LINE <= f <= 1.0 + ON_LINE and 0.0 < g < 1.0 and -deepest <= distance - r <= margin):
        return count
    if not ridge_at(n, P, heights, grid, size, i, j, k):
        return count
    foot = (P[0] + f * e[0], P[1] + f * e[1], P[2] + f * e[2])
    return add_field(room, begin, count, field, size, foot, n, distance - r)


@kernel
def axis_peak(
    room: Room, begin: int, count: int, p: Point, q: Point, r: float, field: np.ndarray, heights: np.ndarray,
    grid: np.ndarray, size: np.ndarray, i: int, j: int, margin: float,
) -> int:  # fmt: skip
    """Grid point (i, j), which stands out, and the inside of the axis p -> q of a capsule above it."""
    v = grid_point(heights, grid, size, i, j)
    f = along_segment(v[0], v[1], v[2], p[0], p[1], p[2], q[0], q[1], q[2])
    if not 0.0 < f < 1.0:
        return count
    d = minus((p[0] + f * (q[0] - p[0]), p[1] + f * (q[1] - p[1]), p[2] + f * (q[2] - p[2])), v)
    distance = math.sqrt(dot(d, d))
    if distance - r > margin or d[2] <= ON_LINE * size[0]:
        return count
    n = (d[0] / distance, d[1] / distance, d[2] / distance)
    if not peak_at(n, v, heights, grid, size, i, j):
        return count
    return add_field(room, begin, count, field, size, v, n, distance - r)


@kernel(apart=True)
def capsule_on_field(
    room: Room, pose: np.ndarray, half: float, r: float, field: np.ndarray, heights: np.ndarray, grid: np.ndarray,
    size: np.ndarray, margin: float,
) -> int:  # fmt: skip
    """A capsule on a height field: its ends as balls, and its axis over ridges and peaks."""
    own = room.pose[2]
    in_frame(field, pose, own)
    a, b, c = rotate(own, 0.0, 0.0, half)
    p, q = (own[0] - a, own[1] - b, own[2] - c), (own[0] + a, own[1] + b, own[2] + c)
    count = ball_field(room, ZERO, ZERO, p, r, field, heights, grid, size, margin)
    count = ball_field(room, count, count, q, r, field, heights, grid, size, margin)
    reach = r + margin
    i0, i1 = cells_within(min(p[0], q[0]) - reach, max(p[0], q[0]) + reach, size[0], grid[1])
    j0, j1 = cells_within(min(p[1], q[1]) - reach, max(p[1], q[1]) + reach, size[1], grid[2])
    least, deepest, lowest = FLAT * size[0], r + SHALLOW * half, min(p[2], q[2]) - reach
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            z = grid_point(heights, grid, size, i, j)[2]
            for k in range(3):
                if bulge(heights, grid, i, j, k) > least:
                    count = axis_ridge(room, ZERO, count, p, q, r, field, heights, grid, size, i, j, k, deepest, margin)
            if z >= lowest and stands_out(heights, grid, size, i, j):
                count = axis_peak(room, ZERO, count, p, q, r, field, heights, grid, size, i, j, margin)
    return count
