"""Narrow phase of curved forms: ellipsoids, cylinders, cones and tori, by support functions and nearest points.

Above a half-space the lowest point of a form is that of its support function, in closed form.  Circular edges have four
points: the lowest one and its neighbours a quarter turn on, so that a cylinder stands on its end and lies on its side.
A ball, or a point of a capsule's axis, has one nearest point of a form.  Two ellipsoids touch where

    gap = max over |n| = 1 of n . (c_B - c_A) - h_A(n) - h_B(-n),    h = sqrt(n . A n),

found by Newton's method in the tangent plane of n, (H_A + H_B + gap 1) dn = P (x_B - x_A), H the Hessian of h.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.round import Ball, Point, add_point, ends
from stickslip.scenes.layout import CAPSULE, SMOOTH, Geoms, Room
from stickslip.scenes.rotation import rotate, rotate_back, to_body, z_axis

ELLIPSOID, CYLINDER, CONE, TORUS = range(4)
UPRIGHT = 1e-6  # sine of the tilt below which a circle has no lowest point
STEPS = 60  # of Newton's method
HALVES = 54  # steps of a bisection along a segment: all digits of a fraction
LEVEL = 1e-9  # slope up to which a segment lies along a form
RIM = 1e-6  # of a size: points closer to a rim or an apex are on it
CROSSED = 0.3  # sine of the angle between straight sides, from which on they touch at a point
STRAIGHT = 1e4  # times the size of a form: a radius of curvature of what is straight, which keeps 12 digits
INNER = 1e-6  # of a segment: points closer to its ends are those of its ends


class Form(NamedTuple):
    """A curved form, its measures, and its pose."""

    kind: int
    measure: np.ndarray
    pose: np.ndarray


class Circle(NamedTuple):
    """A circle about the axis of a pose, at a height along it."""

    pose: np.ndarray
    height: float
    radius: float


@kernel
def add_below(room: Room, count: int, plane: np.ndarray, n: Point, ball: Ball, margin: float) -> int:
    """Append the lowest point of a ball about a point of a form above a half-space with the normal n."""
    (x, y, z), r = ball
    gap = n[0] * (x - plane[0]) + n[1] * (y - plane[1]) + n[2] * (z - plane[2]) - r
    if gap > margin:
        return count
    k = r + 0.5 * gap
    return add_point(room, count, (x - k * n[0], y - k * n[1], z - k * n[2]), n, gap)


@kernel
def circle_axes(n: Point, circle: Circle) -> tuple:
    """Centre C and radii d, f of a circle: C + d is its point farthest along -n."""
    pose, height, radius = circle
    e0, e1, e2 = z_axis(pose)
    cx, cy, cz = pose[0] + height * e0, pose[1] + height * e1, pose[2] + height * e2
    along = n[0] * e0 + n[1] * e1 + n[2] * e2
    d0, d1, d2 = along * e0 - n[0], along * e1 - n[1], along * e2 - n[2]
    s = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if s > UPRIGHT:
        d0, d1, d2 = radius * d0 / s, radius * d1 / s, radius * d2 / s
    else:
        d0, d1, d2 = rotate(pose, radius, 0.0, 0.0)
    f0, f1, f2 = e1 * d2 - e2 * d1, e2 * d0 - e0 * d2, e0 * d1 - e1 * d0
    return (cx, cy, cz), (d0, d1, d2), (f0, f1, f2)


@kernel
def circle_above(
    room: Room, count: int, plane: np.ndarray, n: Point, circle: Circle, tube: float, margin: float
) -> int:
    """Four points of a circle above a half-space with the normal n.

    `tube`: radius of a ball that goes round on it.
    """
    (cx, cy, cz), (d0, d1, d2), (f0, f1, f2) = circle_axes(n, circle)
    count = add_below(room, count, plane, n, Ball((cx + d0, cy + d1, cz + d2), tube), margin)
    count = add_below(room, count, plane, n, Ball((cx + f0, cy + f1, cz + f2), tube), margin)
    count = add_below(room, count, plane, n, Ball((cx - d0, cy - d1, cz - d2), tube), margin)
    return add_below(room, count, plane, n, Ball((cx - f0, cy - f1, cz - f2), tube), margin)


@kernel(apart=True)
def form_above(room: Room, form: Form, plane: np.ndarray, margin: float) -> int:
    """Points of a curved form above a half-space, with normals from the half-space to the form."""
    kind, measure, pose = form
    n, count = z_axis(plane), 0
    if kind == ELLIPSOID:
        q0, q1, q2 = support(measure, pose, -n[0], -n[1], -n[2])
        point = Ball((pose[0] + q0, pose[1] + q1, pose[2] + q2), 0.0)
        return add_below(room, count, plane, n, point, margin)
    if kind == CYLINDER:
        count = circle_above(room, count, plane, n, Circle(pose, -measure[1], measure[0]), 0.0, margin)
        return circle_above(room, count, plane, n, Circle(pose, measure[1], measure[0]), 0.0, margin)
    if kind == CONE:
        e0, e1, e2 = rotate(pose, 0.0, 0.0, 0.75 * measure[1])
        apex = Ball((pose[0] + e0, pose[1] + e1, pose[2] + e2), 0.0)
        count = add_below(room, count, plane, n, apex, margin)
        return circle_above(room, count, plane, n, Circle(pose, -0.25 * measure[1], measure[0]), 0.0, margin)
    return circle_above(room, count, plane, n, Circle(pose, 0.0, measure[0]), measure[1], margin)


@kernel
def support(radii: np.ndarray, pose: np.ndarray, a: float, b: float, c: float) -> tuple[float, float, float]:
    """Point of an ellipsoid farthest along (a, b, c), from its centre: A n / sqrt(n . A n)."""
    w = pose[3:]
    x, y, z = turned_back(w, a, b, c)
    x, y, z = radii[0] * radii[0] * x, radii[1] * radii[1] * y, radii[2] * radii[2] * z
    h = math.sqrt((x / radii[0]) ** 2 + (y / radii[1]) ** 2 + (z / radii[2]) ** 2)
    return rotate(pose, x / h, y / h, z / h)


@kernel
def turned_back(q: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A world vector in the axes that the quaternion q turns to the world."""
    w, a, b, c = q[0], -q[1], -q[2], -q[3]
    d, e, f = b * z - c * y, c * x - a * z, a * y - b * x
    return (
        x + 2.0 * (w * d + b * f - c * e),
        y + 2.0 * (w * e + c * d - a * f),
        z + 2.0 * (w * f + a * e - b * d),
    )


# -- nearest points ----------------------------------------------------------------------------------------------------


@kernel
def near_ellipsoid(
    radii: np.ndarray, x: float, y: float, z: float
) -> tuple[float, float, float, float]:  # fmt: skip
    """Outward normal at the point of an ellipsoid nearest to (x, y, z), in its axes, and the signed distance.

    The nearest point is a_i^2 p_i / (a_i^2 + t), where t is the largest root of sum (a_i p_i / (a_i^2 + t))^2 = 1.
    """
    a, b, c = radii[0], radii[1], radii[2]
    least = min(a, b, c)
    low, high = -least * least, math.sqrt((a * x) ** 2 + (b * y) ** 2 + (c * z) ** 2)
    t = max(0.5 * (low + high), low + 1e-300)
    for _ in range(200):
        u, v, w = a * x / (a * a + t), b * y / (b * b + t), c * z / (c * c + t)
        value = u * u + v * v + w * w - 1.0
        if value > 0.0:
            low = t
        else:
            high = t
        slope = -2.0 * (u * u / (a * a + t) + v * v / (b * b + t) + w * w / (c * c + t))
        step = -value / slope if slope < 0.0 else 0.0
        new = t + step
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 1e-16 * (abs(new) + least * least):
            break
        t = new
    qx, qy, qz = a * a * x / (a * a + t), b * b * y / (b * b + t), c * c * z / (c * c + t)
    nx, ny, nz = qx / (a * a), qy / (b * b), qz / (c * c)
    norm = math.sqrt(nx * nx + ny * ny + nz * nz)
    if norm == 0.0:  # the centre: the shortest way out is along the least axis
        return (1.0, 0.0, 0.0, -a) if a == least else ((0.0, 1.0, 0.0, -b) if b == least else (0.0, 0.0, 1.0, -c))
    nx, ny, nz = nx / norm, ny / norm, nz / norm
    return nx, ny, nz, (x - qx) * nx + (y - qy) * ny + (z - qz) * nz


@kernel
def near_cylinder(r: float, half: float, s: float, z: float) -> tuple[float, float, float]:
    """Outward normal (across, along) and signed distance of a point at radius s and height z from a cylinder."""
    up = 1.0 if z >= 0.0 else -1.0
    out, over = s - r, abs(z) - half
    if out <= 0.0 and over <= 0.0:
        return (1.0, 0.0, out) if out > over else (0.0, up, over)
    if out <= 0.0:
        return 0.0, up, over
    if over <= 0.0:
        return 1.0, 0.0, out
    d = math.sqrt(out * out + over * over)
    return out / d, up * over / d, d


@kernel
def near_cone(r: float, h: float, s: float, z: float) -> tuple[float, float, float]:
    """Outward normal (across, along) and signed distance of a point at radius s and height z from a cone."""
    base, side = -0.25 * h - z, math.sqrt(r * r + h * h)
    a, b = h / side, r / side  # normal of the side
    out = a * s + b * (z - 0.75 * h)
    t = (-b * s + a * (z + 0.25 * h) + b * r) / side  # along the side, 0 at the base and 1 at the apex
    if out <= 0.0 and base <= 0.0:
        return (a, b, out) if out > base else (0.0, -1.0, base)
    if base > 0.0 and s <= r:
        return 0.0, -1.0, base
    if t >= 1.0:
        x, y = s, z - 0.75 * h
    elif t <= 0.0:
        x, y = s - r, z + 0.25 * h
    else:
        return a, b, out
    d = math.sqrt(x * x + y * y)
    return (x / d, y / d, d) if d > 0.0 else (a, b, 0.0)


@kernel(apart=True)
def nearest(
    form: int, measure: np.ndarray, x: float, y: float, z: float
) -> tuple[float, float, float, float]:  # fmt: skip
    """Outward normal at the point of a form nearest to (x, y, z), in its axes, and the signed distance [m]."""
    if form == ELLIPSOID:
        return near_ellipsoid(measure, x, y, z)
    s = math.sqrt(x * x + y * y)
    c, d = (x / s, y / s) if s > 0.0 else (1.0, 0.0)
    across, along, distance = 1.0, 0.0, 0.0
    if form == CYLINDER:
        across, along, distance = near_cylinder(measure[0], measure[1], s, z)
    elif form == CONE:
        across, along, distance = near_cone(measure[0], measure[1], s, z)
    else:
        p = s - measure[0]
        distance = math.sqrt(p * p + z * z)
        if distance > 0.0:
            across, along = p / distance, z / distance
        distance -= measure[1]
    return across * c, across * d, along, distance


@kernel
def ball_form(room: Room, count: int, ball: Ball, form: Form, margin: float) -> int:
    """A ball and a curved form; normals from the ball to the form."""
    (x, y, z), r = ball
    p, q, s = to_body(form.pose, x, y, z)
    a, b, c, distance = nearest(form.kind, form.measure, p, q, s)
    gap = distance - r
    if gap > margin:
        return count
    a, b, c = rotate(form.pose, a, b, c)
    k = distance - 0.5 * gap
    return add_point(room, count, (x - k * a, y - k * b, z - k * c), (-a, -b, -c), gap)


@kernel
def slope_along(form: Form, axis: tuple[float, ...], t: float) -> float:
    """How fast the distance from a form grows at the fraction t of a segment, cosine of normal and segment."""
    d0, d1, d2 = axis[3] - axis[0], axis[4] - axis[1], axis[5] - axis[2]
    p, q, s = to_body(form.pose, axis[0] + t * d0, axis[1] + t * d1, axis[2] + t * d2)
    a, b, c, _ = nearest(form.kind, form.measure, p, q, s)
    a, b, c = rotate(form.pose, a, b, c)
    return (a * d0 + b * d1 + c * d2) / math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)


@kernel
def where_level(form: Form, axis: tuple[float, ...], level: float) -> float:
    """Fraction of a segment from which on the distance from a form grows faster than `level`.

    The distance from a convex form is convex along a line, and its slope grows.  Found by halves: values of a distance
    near its least one tell its place to half of the digits alone.
    """
    low, high = 0.0, 1.0
    for _ in range(HALVES):
        t = 0.5 * (low + high)
        if slope_along(form, axis, t) > level:
            high = t
        else:
            low = t
    return 0.5 * (low + high)


@kernel(apart=True)
def capsule_form(room: Room, capsule: np.ndarray, half: float, r: float, form: Form, margin: float) -> int:
    """A capsule and a convex curved form: the nearest point of its axis, or where it begins and ends to lie along it.

    With it the two ends of the capsule, where they are near.
    """
    axis = ends(capsule, half)
    first = where_level(form, axis, -LEVEL)
    last = where_level(form, axis, LEVEL)
    if last - first < INNER:
        first = 0.5 * (first + last)
        last = first
    count = 0
    for k in range(4):
        place = 0.0 if k == 0 else first if k == 1 else last if k == 2 else 1.0
        if k == 0 or k == 3 or (INNER < place < 1.0 - INNER and (k == 1 or last > first)):
            x = axis[0] + place * (axis[3] - axis[0])
            y = axis[1] + place * (axis[4] - axis[1])
            z = axis[2] + place * (axis[5] - axis[2])
            count = ball_form(room, count, Ball((x, y, z), r), form, margin)
    return count


# -- two ellipsoids ----------------------------------------------------------------------------------------------------


@kernel
def shape_matrix(radii: np.ndarray, pose: np.ndarray, A: np.ndarray) -> None:
    """A = Q diag(a^2) Q^T (9,) of an ellipsoid, world axes."""
    for k in range(9):
        A[k] = 0.0
    for i in range(3):
        e = np.zeros(3)
        e[i] = 1.0
        x, y, z = rotate(pose, e[0], e[1], e[2])
        s = radii[i] * radii[i]
        A[0], A[1], A[2] = A[0] + s * x * x, A[1] + s * x * y, A[2] + s * x * z
        A[4], A[5], A[8] = A[4] + s * y * y, A[5] + s * y * z, A[8] + s * z * z
    A[3], A[6], A[7] = A[1], A[2], A[5]


@kernel
def support_of(A: np.ndarray, n: np.ndarray, x: np.ndarray, H: np.ndarray) -> float:
    """h(n), with the point x (3,) and the Hessian H (9,)."""
    for i in range(3):
        x[i] = A[3 * i] * n[0] + A[3 * i + 1] * n[1] + A[3 * i + 2] * n[2]
    h = math.sqrt(n[0] * x[0] + n[1] * x[1] + n[2] * x[2])
    for i in range(3):
        x[i] /= h
    for i in range(3):
        for j in range(3):
            H[3 * i + j] = (A[3 * i + j] - x[i] * x[j]) / h
    return h


@kernel
def gap_along(A: np.ndarray, B: np.ndarray, d: np.ndarray, n: np.ndarray, x: np.ndarray, y: np.ndarray,
              H: np.ndarray, K: np.ndarray) -> float:  # fmt: skip
    """n . d - h_A(n) - h_B(-n); points x of A and y of B, from their centres, and Hessians H, K."""
    h = support_of(A, n, x, H)
    k = support_of(B, n, y, K)
    for i in range(3):
        y[i] = -y[i]
    return n[0] * d[0] + n[1] * d[1] + n[2] * d[2] - h - k


@kernel(apart=True)
def ellipsoids(room: Room, radii: np.ndarray, p: np.ndarray, others: np.ndarray, q: np.ndarray, margin: float) -> int:
    """Two ellipsoids with poses p and q; the normal points from the first to the second."""
    A, B, H, K = np.empty(9), np.empty(9), np.empty(9), np.empty(9)
    d, n, x, y, trial, dn = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.zeros(3)
    shape_matrix(radii, p, A)
    shape_matrix(others, q, B)
    for i in range(3):
        d[i] = q[i] - p[i]
    size = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    for i in range(3):
        n[i] = d[i] / size if size > 0.0 else (1.0 if i == 0 else 0.0)
    gap = gap_along(A, B, d, n, x, y, H, K)
    for _ in range(STEPS):
        t = np.empty((2, 3))  # two tangents
        k = 0 if abs(n[0]) < 0.7 else 1
        e0, e1 = (1.0, 0.0) if k == 0 else (0.0, 1.0)
        t[0, 0], t[0, 1], t[0, 2] = -n[2] * e1, n[2] * e0, n[0] * e1 - n[1] * e0
        norm = math.sqrt(t[0, 0] ** 2 + t[0, 1] ** 2 + t[0, 2] ** 2)
        for i in range(3):
            t[0, i] /= norm
        t[1, 0] = n[1] * t[0, 2] - n[2] * t[0, 1]
        t[1, 1] = n[2] * t[0, 0] - n[0] * t[0, 2]
        t[1, 2] = n[0] * t[0, 1] - n[1] * t[0, 0]
        a, b, c, f, g = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(3):
            f += t[0, i] * (d[i] + y[i] - x[i])
            g += t[1, i] * (d[i] + y[i] - x[i])
            for j in range(3):
                s = H[3 * i + j] + K[3 * i + j]
                a, b, c = a + t[0, i] * s * t[0, j], b + t[0, i] * s * t[1, j], c + t[1, i] * s * t[1, j]
        least = 0.5 * (a + c) - math.sqrt(0.25 * (a - c) ** 2 + b * b)
        shift = max(gap, -0.9 * least)
        a, c = a + shift, c + shift
        det = a * c - b * b
        u, v = (c * f - b * g) / det, (a * g - b * f) / det
        part = 1.0
        for _ in range(50):
            norm = 0.0
            for i in range(3):
                dn[i] = part * (u * t[0, i] + v * t[1, i])
                trial[i] = n[i] + dn[i]
                norm += trial[i] * trial[i]
            norm = math.sqrt(norm)
            for i in range(3):
                trial[i] /= norm
            new = gap_along(A, B, d, trial, x, y, H, K)
            if new >= gap - 1e-15 * size:
                break
            part *= 0.5
        change = abs(dn[0]) + abs(dn[1]) + abs(dn[2])
        for i in range(3):
            n[i] = trial[i]
        gap = gap_along(A, B, d, n, x, y, H, K)
        if change <= 1e-15:
            break
    if gap > margin:
        return 0
    at = 0.5 * (p[0] + x[0] + q[0] + y[0]), 0.5 * (p[1] + x[1] + q[1] + y[1]), 0.5 * (p[2] + x[2] + q[2] + y[2])
    return add_point(room, 0, at, (n[0], n[1], n[2]), gap)


# -- curvature ---------------------------------------------------------------------------------------------------------


@kernel
def place_on(geoms: Geoms, i: int, arm: np.ndarray) -> tuple[float, float]:
    """Distance from the axis and height along it of a point of geometry i [m].

    arm: of the point from the centre of mass of its body, world axes.
    """
    local = geoms.local[i]
    x, y, z = rotate_back(geoms.world[i], arm[0], arm[1], arm[2])
    p, q, r = rotate_back(local, local[0], local[1], local[2])
    return math.sqrt((x - p) ** 2 + (y - q) ** 2), z - r


@kernel
def circle_of(form: int, measure: np.ndarray, across: float, along: float) -> float:
    """Radius of the circle about the axis that is felt at a point; negative where the form is hollow [m].

    On a cone the circles shrink from the rim, at -1/4 of the height, to the apex at 3/4, which goes with the body.  The
    hole of a torus is hollow along the ring.
    """
    if form == CONE:
        return measure[0] * min(1.0, max(0.0, 0.75 - along / measure[1]))
    return -measure[0] if form == TORUS and across < measure[0] else measure[0]


@kernel
def on_side(form: int, measure: np.ndarray, along: float) -> bool:
    """Whether a point lies on the side of a cylinder or cone, between its ends, where a form is straight."""
    if form == CONE:
        return RIM < 0.75 - along / measure[1] < 1.0 - RIM
    return form == CYLINDER and abs(along) < (1.0 - RIM) * measure[1]


@kernel
def on_end(geoms: Geoms, i: int, n: np.ndarray, arm: np.ndarray) -> bool:
    """Whether a point of geometry i, where its normal is n or -n, lies on the flat end of a cylinder or cone."""
    form = geoms.form[i]
    if form != CYLINDER and form != CONE:
        return False
    x, y, z = z_axis(geoms.world[i])
    if abs(n[0] * x + n[1] * y + n[2] * z) < 1.0 - 0.5 * UPRIGHT * UPRIGHT:
        return False
    across, along = place_on(geoms, i, arm)
    return across < (1.0 - RIM) * geoms.measure[i, 0] and (form == CYLINDER or along < 0.0)


@kernel
def add_straight(H: np.ndarray, radius: float, x: float, y: float, z: float) -> None:
    """Add a radius of curvature [m] along the unit vector (x, y, z)."""
    H[0], H[1], H[2] = H[0] + radius * x * x, H[1] + radius * x * y, H[2] + radius * x * z
    H[3], H[4], H[5] = H[3] + radius * y * x, H[4] + radius * y * y, H[5] + radius * y * z
    H[6], H[7], H[8] = H[6] + radius * z * x, H[7] + radius * z * y, H[8] + radius * z * z


@kernel
def beside_axis(geoms: Geoms, i: int, arm: np.ndarray) -> bool:
    """Whether a point of geometry i lies on the straight side of a capsule; arm: see `place_on`."""
    if geoms.kind[i] != CAPSULE:
        return False
    _, along = place_on(geoms, i, arm)
    return abs(along) < (1.0 - RIM) * geoms.extent[i, 1]


@kernel
def lie_along(geoms: Geoms, i: int, j: int, arm_i: np.ndarray, arm_j: np.ndarray) -> bool:
    """Whether a point lies on straight sides of geometries i and j that are nearly parallel.

    The point of contact runs to an end there, however slowly they turn: it has no velocity.
    """
    if not beside_axis(geoms, i, arm_i):
        return False
    _, along = place_on(geoms, j, arm_j)
    if not (
        beside_axis(geoms, j, arm_j) or (geoms.kind[j] == SMOOTH and on_side(geoms.form[j], geoms.measure[j], along))
    ):
        return False
    (x, y, z), (a, b, c) = z_axis(geoms.world[i]), z_axis(geoms.world[j])
    x, y, z = y * c - z * b, z * a - x * c, x * b - y * a
    return x * x + y * y + z * z < CROSSED * CROSSED


@kernel
def round_curvature(geoms: Geoms, i: int, n: np.ndarray, arm: np.ndarray, straight: bool, H: np.ndarray) -> None:
    """As `curvature`, of a ball or capsule."""
    for k in range(9):
        H[k] = geoms.extent[i, 0] * ((1.0 if k % 4 == 0 else 0.0) - n[k // 3] * n[k % 3])
    if straight and beside_axis(geoms, i, arm):
        x, y, z = z_axis(geoms.world[i])
        add_straight(H, STRAIGHT * geoms.bound[i], x, y, z)


@kernel(apart=True)
def curvature(geoms: Geoms, i: int, n: np.ndarray, arm: np.ndarray, straight: bool, H: np.ndarray) -> None:
    """Radii of curvature (9,) of geometry i at the midpoint, where its normal is n or -n.

    They are the Hessian of the support function, at rims and corners, too.  On a straight side STRAIGHT stands for an
    infinite radius; for flat ends see `on_end`.  arm: of the point that touches, see `place_on`; straight: whether
    sides are taken as such, see `lie_along`.
    """
    for k in range(9):
        H[k] = 0.0
    form, measure, pose = geoms.form[i], geoms.measure[i], geoms.world[i]
    if form == ELLIPSOID:
        A, x = np.empty(9), np.empty(3)
        shape_matrix(measure, pose, A)
        support_of(A, n, x, H)
        return
    across, along = place_on(geoms, i, arm)
    # a circle of radius r about the axis e: h = r sqrt(1 - (n . e)^2), H = r t t^T / |e x n|, t along e x n
    e0, e1, e2 = z_axis(pose)
    t0, t1, t2 = e1 * n[2] - e2 * n[1], e2 * n[0] - e0 * n[2], e0 * n[1] - e1 * n[0]
    s = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    if s > UPRIGHT:
        t0, t1, t2 = t0 / s, t1 / s, t2 / s
        add_straight(H, circle_of(form, measure, across, along) / s, t0, t1, t2)
        if straight and on_side(form, measure, along):
            add_straight(
                H, STRAIGHT * geoms.bound[i], t1 * n[2] - t2 * n[1], t2 * n[0] - t0 * n[2], t0 * n[1] - t1 * n[0]
            )
    if form == TORUS:
        for j in range(3):
            for k in range(3):
                H[3 * j + k] += measure[1] * ((1.0 if j == k else 0.0) - n[j] * n[k])
