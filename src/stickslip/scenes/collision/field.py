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
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.flat import CLIP
from stickslip.scenes.collision.round import Point, add_point
from stickslip.scenes.layout import Room
from stickslip.scenes.rotation import rotate, to_body, to_world

FLAT = 1e-9  # of the spacing: an edge that stands out by less lies in the plane of its triangles
SLACK = 0.1  # radians by which a normal may leave its region: points that are level within it belong to one contact
ON_LINE = 1e-9  # of a cell: a point nearer to a line of the grid counts as on the line
UNDER = 0.02  # of the spacing: a corner deeper below the rim belongs to the wall, if the wall is nearer
SHALLOW = 0.1  # of the body: edges that pass deeper below one another do not touch; corners tell how deep they are
CROSS = 1e-6  # sine of the angle below which two edges are parallel
SAME = 1e-6  # of the spacing: points nearer to one another, with one normal, are one


class Field(NamedTuple):
    """A height field of a scene."""

    pose: np.ndarray  # (7,) place and turn in the world
    heights: np.ndarray  # of all fields, row by row
    grid: np.ndarray  # begin in `heights`, numbers of points along x and y
    size: np.ndarray  # spacing of the points along x and y


@kernel
def grid_point(field: Field, i: int, j: int) -> Point:
    """Grid point (i, j) in the frame of the field, whose origin is the middle of the rectangle."""
    x, y = (i - 0.5 * (field.grid[1] - 1)) * field.size[0], (j - 0.5 * (field.grid[2] - 1)) * field.size[1]
    return x, y, field.heights[field.grid[0] + i * field.grid[2] + j]


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
def on_grid(field: Field, i: int, j: int) -> bool:
    return 0 <= i < field.grid[1] and 0 <= j < field.grid[2]


@kernel
def bulge(field: Field, i: int, j: int, k: int) -> float:
    """How far edge k of cell (i, j) stands out: twice the height of its middle above the middle of the opposite points.

    inf at the rim, where the ground ends; -inf for an edge that does not exist.
    """
    a, b, c, d, e, f, g, h = edge_of_cell(i, j, k)
    if not (on_grid(field, a, b) and on_grid(field, c, d)):
        return -np.inf
    first, second = on_grid(field, e, f), on_grid(field, g, h)
    if not (first and second):
        return np.inf if first or second else -np.inf
    z, n = field.grid[0], field.grid[2]
    return (
        field.heights[z + a * n + b]
        + field.heights[z + c * n + d]
        - field.heights[z + e * n + f]
        - field.heights[z + g * n + h]
    )


@kernel
def below(normal: Point, at: Point, field: Field, i: int, j: int) -> bool:
    """Whether grid point (i, j) lies behind the plane through `at`, up to SLACK; beyond the rim: a point far down."""
    if not on_grid(field, i, j):
        return normal[2] >= -SLACK
    d = minus(grid_point(field, i, j), at)
    return dot(normal, d) <= SLACK * math.sqrt(dot(d, d))


@kernel
def stands_out(field: Field, i: int, j: int) -> bool:
    """Whether grid point (i, j) is the end of an edge that stands out, and not inside a straight one."""
    least = FLAT * field.size[0]
    straight = True
    any_edge, bent = False, -1
    for k in range(3):
        # edges of direction k that begin and that end here; those of the diagonal belong to other cells
        if k == 0:
            ahead, behind = bulge(field, i, j, 0), bulge(field, i - 1, j, 0)
            a, b = i + 1, j
        elif k == 1:
            ahead, behind = bulge(field, i, j, 1), bulge(field, i, j - 1, 1)
            a, b = i, j + 1
        else:
            ahead, behind = bulge(field, i - 1, j, 2), bulge(field, i, j - 1, 2)
            a, b = i - 1, j + 1
        if not (ahead > least or behind > least):
            if abs(ahead) > least or abs(behind) > least:  # a valley meets the point
                straight = straight and ahead == -np.inf and behind == -np.inf
            continue
        any_edge = True
        c, d = 2 * i - a, 2 * j - b
        if bent >= 0 or not (ahead > least and behind > least and on_grid(field, a, b) and on_grid(field, c, d)):
            straight = False
        else:
            bent = k
            z, n = field.grid[0], field.grid[2]
            turn = field.heights[z + a * n + b] + field.heights[z + c * n + d] - 2.0 * field.heights[z + i * n + j]
            straight = straight and abs(turn) <= least
    return any_edge and not straight


@kernel
def add_field(
    room: Room, begin: int, count: int, pose: np.ndarray, size: np.ndarray, foot: Point, n: Point, gap: float
) -> int:
    """Append the contact point at `foot` on the ground with normal n; each point once, the deepest if room is short."""
    at = to_world(pose, foot[0] + 0.5 * gap * n[0], foot[1] + 0.5 * gap * n[1], foot[2] + 0.5 * gap * n[2])
    normal = rotate(pose, -n[0], -n[1], -n[2])
    x, y, z = at
    a, b, c = normal
    highest = begin
    for k in range(begin, count):
        p, m = room.points[k], room.normals[k]
        square = (p[0] - x) ** 2 + (p[1] - y) ** 2 + (p[2] - z) ** 2
        if square <= SAME * SAME * size[0] * size[0] and m[0] * a + m[1] * b + m[2] * c > 1.0 - SAME:
            return count
        if room.gaps[k] > room.gaps[highest]:
            highest = k
    if count < room.gaps.shape[0]:
        return add_point(room, count, at, normal, gap)
    if gap < room.gaps[highest]:
        add_point(room, highest, at, normal, gap)
    return count


@kernel
def triangle_plane(field: Field, i: int, j: int, half: int) -> tuple[Point, Point]:
    """Unit normal of a triangle of cell (i, j) and its corner off the diagonal, (i, j) for half 0."""
    A = grid_point(field, i + half, j + half)
    p = grid_point(field, i + 1, j + half)[2] - grid_point(field, i, j + half)[2]
    q = grid_point(field, i + half, j + 1)[2] - grid_point(field, i + half, j)[2]
    a, b = -p / field.size[0], -q / field.size[1]
    scale = 1.0 / math.sqrt(1.0 + a * a + b * b)
    return (scale * a, scale * b, scale), A


@kernel
def in_triangle(field: Field, i: int, j: int, half: int, x: float, y: float) -> bool:
    """Whether (x, y) lies in the shadow of a triangle of cell (i, j)."""
    a = x / field.size[0] + 0.5 * (field.grid[1] - 1) - i
    b = y / field.size[1] + 0.5 * (field.grid[2] - 1) - j
    if half == 0:
        return a >= -ON_LINE and b >= -ON_LINE and a + b <= 1.0 + ON_LINE
    return a <= 1.0 + ON_LINE and b <= 1.0 + ON_LINE and a + b >= 1.0 - ON_LINE


@kernel
def wall_beside(field: Field, x: float, y: float) -> tuple[float, float, float]:
    """How far (x, y) lies outside the nearest wall (inside where negative), and the wall's outer normal."""
    X, Y = 0.5 * (field.grid[1] - 1) * field.size[0], 0.5 * (field.grid[2] - 1) * field.size[1]
    if abs(x) - X > abs(y) - Y:
        return abs(x) - X, math.copysign(1.0, x), 0.0
    return abs(y) - Y, 0.0, math.copysign(1.0, y)


@kernel
def surface(field: Field, x: float, y: float) -> tuple[int, int, int]:
    """Cell and half of the triangle over or under (x, y), which is moved to the rim if it lies beyond."""
    a, b = x / field.size[0] + 0.5 * (field.grid[1] - 1), y / field.size[1] + 0.5 * (field.grid[2] - 1)
    i, j = (
        int(min(max(math.floor(a), 0.0), field.grid[1] - 2.0)),
        int(min(max(math.floor(b), 0.0), field.grid[2] - 2.0)),
    )
    a, b = min(max(a - i, 0.0), 1.0), min(max(b - j, 0.0), 1.0)
    return i, j, 0 if a + b <= 1.0 else 1


@kernel
def wall_point(
    room: Room, begin: int, count: int, field: Field,
    P: Point, r: float, margin: float,
) -> int:  # fmt: skip
    """A ball about P outside the ground and lower than its rim: the wall beside it."""
    s, a, b = wall_beside(field, P[0], P[1])
    x, y = P[0] - s * a, P[1] - s * b
    X, Y = 0.5 * (field.grid[1] - 1) * field.size[0], 0.5 * (field.grid[2] - 1) * field.size[1]
    if s - r > margin or abs(x) > X + CLIP * field.size[0] or abs(y) > Y + CLIP * field.size[1]:
        return count
    i, j, half = surface(field, x, y)
    n, A = triangle_plane(field, i, j, half)
    if n[0] * (x - A[0]) + n[1] * (y - A[1]) + n[2] * (P[2] - A[2]) > -CLIP * field.size[0]:
        return count
    return add_field(room, begin, count, field.pose, field.size, (x, y, P[2]), (a, b, 0.0), s - r)


@kernel
def peak_at(normal: Point, at: Point, field: Field, i: int, j: int) -> bool:
    """Whether a normal at grid point (i, j) looks out of the ground all around it."""
    return (
        below(normal, at, field, i + 1, j)
        and below(normal, at, field, i - 1, j)
        and below(normal, at, field, i, j + 1)
        and below(normal, at, field, i, j - 1)
        and below(normal, at, field, i + 1, j - 1)
        and below(normal, at, field, i - 1, j + 1)
    )


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
def ridge_at(n: Point, P: Point, field: Field, i: int, j: int, k: int) -> bool:
    """Whether a normal of edge k of cell (i, j), which goes through P, looks out of the ground on both sides."""
    _, _, _, _, e, f, g, h = edge_of_cell(i, j, k)
    return below(n, P, field, e, f) and below(n, P, field, g, h)


@kernel
def in_frame(outer: np.ndarray, pose: np.ndarray, out: np.ndarray) -> None:
    """out = `pose`, given in world coordinates, in the frame `outer`."""
    out[0], out[1], out[2] = to_body(outer, pose[0], pose[1], pose[2])
    w, a, b, c = outer[3], -outer[4], -outer[5], -outer[6]
    p, q, r, s = pose[3], pose[4], pose[5], pose[6]
    out[3], out[4] = w * p - a * q - b * r - c * s, w * q + a * p + b * s - c * r
    out[5], out[6] = w * r - a * s + b * p + c * q, w * s + a * r - b * q + c * p
