"""Narrow phase of spheres (circles), capsules and half-spaces.

Every function writes contact points into `Room` from number `count` on and returns the new number: the point midway
between the surfaces, the normal from the first shape to the second, and the gap.  Points farther than `margin` are left
out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.layout import ZERO, Room
from stickslip.scenes.rotation import rotate, z_axis

PARALLEL = 1e-6  # sine of the angle below which two capsules touch along a line
MEETING = 1e-10  # of the lengths: axes nearer to one another have no direction from one to the other


Point = tuple[float, float, float]


class Ball(NamedTuple):
    """A ball (in the plane: a circle) about a point; of radius 0 the point itself."""

    centre: Point
    radius: float


class Rod(NamedTuple):
    """A capsule: its axis from `start` to `start` + `along`, blown up by the radius."""

    start: Point
    along: Point
    radius: float


class Axis(NamedTuple):
    """The ends of a capsule's axis, and its radius."""

    p: Point
    q: Point
    r: float


@kernel
def add_point(room: Room, count: int, p: Point, n: Point, gap: float) -> int:
    """Append a point p with normal n."""
    room.points[count, 0], room.points[count, 1], room.points[count, 2] = p
    room.normals[count, 0], room.normals[count, 1], room.normals[count, 2] = n
    room.gaps[count], room.choice[count] = gap, 0.0
    return count + 1


@kernel
def add_round(room: Room, count: int, own: Ball, R: float, n: Point, distance: float, margin: float) -> int:
    """Append the point between the surfaces of a ball and of one of radius R, whose centre lies `distance` along n.

    A negative distance is that of cores which pass through one another.
    """
    (x, y, z), r = own
    a, b, c = n
    gap = distance - r - R
    if gap > margin:
        return count
    k = r + 0.5 * gap
    return add_point(room, count, (x + k * a, y + k * b, z + k * c), n, gap)


@kernel
def balls(room: Room, count: int, own: Ball, other: Ball, margin: float) -> int:
    """Two balls; a radius may be 0."""
    x, y, z = own.centre
    X, Y, Z = other.centre
    a, b, c = X - x, Y - y, Z - z
    distance = math.sqrt(a * a + b * b + c * c)
    if distance > 0.0:
        a, b, c = a / distance, b / distance, c / distance
    else:
        a, b, c = 1.0, 0.0, 0.0
    return add_round(room, count, own, other.radius, (a, b, c), distance, margin)


@kernel
def ball_plane(room: Room, count: int, own: Ball, plane: np.ndarray, margin: float) -> int:
    """A ball above a half-space, whose outer normal is the z axis of its pose."""
    (x, y, z), r = own
    a, b, c = z_axis(plane)
    height = a * (x - plane[0]) + b * (y - plane[1]) + c * (z - plane[2])
    gap = height - r
    if gap > margin:
        return count
    k = r + 0.5 * gap
    return add_point(room, count, (x - k * a, y - k * b, z - k * c), (-a, -b, -c), gap)


@kernel
def ends(pose: np.ndarray, half: float) -> tuple[float, float, float, float, float, float]:
    """The ends of a capsule's axis."""
    a, b, c = rotate(pose, 0.0, 0.0, half)
    return pose[0] - a, pose[1] - b, pose[2] - c, pose[0] + a, pose[1] + b, pose[2] + c


@kernel
def along_segment(x: Point, p: Point, q: Point) -> float:
    """Fraction in [0, 1] of the segment p -> q whose point is nearest to x."""
    a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    square = a * a + b * b + c * c
    if square == 0.0:
        return 0.0
    return min(1.0, max(0.0, (a * (x[0] - p[0]) + b * (x[1] - p[1]) + c * (x[2] - p[2])) / square))


@kernel
def nearest_of_segments(p: Point, q: Point, s: Point, t: Point) -> tuple[float, float]:
    """Fractions of the segments p -> q and s -> t at their nearest points."""
    a0, a1, a2 = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    b0, b1, b2 = t[0] - s[0], t[1] - s[1], t[2] - s[2]
    c0, c1, c2 = p[0] - s[0], p[1] - s[1], p[2] - s[2]
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


@kernel
def across(a: float, b: float, c: float) -> tuple[float, float, float]:
    """A unit vector across (a, b, c), inside the plane z = 0 where (a, b, c) is: the way off an axis."""
    x, y, z = -b, a, 0.0
    if a * a + b * b < 1e-4 * c * c:
        x, y, z = 0.0, -c, b
    norm = math.sqrt(x * x + y * y + z * z)
    return x / norm, y / norm, z / norm


@kernel
def ball_capsule(room: Room, count: int, own: Ball, pose: np.ndarray, half: float, R: float, margin: float) -> int:
    """A ball and a capsule; a ball whose centre lies on the axis gets out across it."""
    x, y, z = own.centre
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    f = along_segment(own.centre, (p0, p1, p2), (q0, q1, q2))
    X, Y, Z = p0 + f * (q0 - p0), p1 + f * (q1 - p1), p2 + f * (q2 - p2)
    if (X - x) ** 2 + (Y - y) ** 2 + (Z - z) ** 2 > (MEETING * half) ** 2:
        return balls(room, count, own, Ball((X, Y, Z), R), margin)
    return add_round(room, count, own, R, across(q0 - p0, q1 - p1, q2 - p2), 0.0, margin)


@kernel
def sum_of(p: Point, a: Point) -> Point:
    """p + a."""
    return p[0] + a[0], p[1] + a[1], p[2] + a[2]


@kernel
def point_of(rod: Rod, f: float) -> Point:
    """The point at the fraction f of the axis."""
    p, a = rod.start, rod.along
    return p[0] + f * a[0], p[1] + f * a[1], p[2] + f * a[2]


@kernel
def capsules_along(room: Room, own: Rod, other: Rod, low: float, high: float, margin: float) -> int:
    """Parallel capsules: two points at the ends of the common part low .. high, fractions of the first axis.

    One normal for both, across the first axis at the middle of the common part: axes that all but coincide, or cross
    at a tiny angle, would have two that contradict one another.
    """
    p, a, r = own
    s, b, R = other
    aa, bb = a[0] * a[0] + a[1] * a[1] + a[2] * a[2], b[0] * b[0] + b[1] * b[1] + b[2] * b[2]
    g = along_segment(point_of(own, 0.5 * (low + high)), s, sum_of(s, b))
    x, y, z = s[0] + g * b[0] - p[0], s[1] + g * b[1] - p[1], s[2] + g * b[2] - p[2]
    f = (a[0] * x + a[1] * y + a[2] * z) / aa
    x, y, z = x - f * a[0], y - f * a[1], z - f * a[2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm * norm > MEETING * MEETING * min(aa, bb):
        x, y, z = x / norm, y / norm, z / norm
    else:
        x, y, z = across(a[0], a[1], a[2])
    count = ZERO
    for k in range(2):
        at = point_of(own, low if k == 0 else high)
        u, v, w = at
        g = along_segment(at, s, sum_of(s, b))
        d, e, h = s[0] + g * b[0] - u, s[1] + g * b[1] - v, s[2] + g * b[2] - w
        count = add_round(room, count, Ball(at, r), R, (x, y, z), x * d + y * e + z * h, margin)
    return count


@kernel
def way_out(p: Point, a: Point, s: Point, b: Point) -> tuple[float, float, float]:
    """The unit vector (x, y) across p -> p + a with the least shift of s -> s + b to its side, and minus that shift.

    In the plane; rounding does not choose between sides that are as good as one another.
    """
    length = math.hypot(a[0], a[1])
    x, y = -a[1] / length, a[0] / length
    first = x * (s[0] - p[0]) + y * (s[1] - p[1])
    second = first + x * b[0] + y * b[1]
    low, high = min(first, second), -max(first, second)
    return (x, y, low) if low >= high - MEETING * length else (-x, -y, high)


@kernel(apart=True)
def planar_axes(room: Room, own: Rod, other: Rod, f: float, g: float, margin: float) -> int:
    """Planar capsules whose axes are not parallel; f, g: fractions of the axes at their nearest points.

    The depth of axes that cross is the least shift that parts them.  It is across one axis and brings an end of the
    other axis onto it.  So candidates are the sides of the parallelogram {y - x}, x and y on the axes, around the
    origin.
    """
    p, a, r = own
    s, b, R = other
    x, y, X, Y = p[0] + f * a[0], p[1] + f * a[1], s[0] + g * b[0], s[1] + g * b[1]
    a0, a1, first = way_out(p, a, s, b)  # an end of b comes onto a
    b0, b1, second = way_out(s, b, p, a)  # an end of a onto b, seen from b
    size = math.sqrt(min(a[0] * a[0] + a[1] * a[1], b[0] * b[0] + b[1] * b[1]))
    if max(first, second) > 0.0 and (X - x) ** 2 + (Y - y) ** 2 > (MEETING * size) ** 2:
        return balls(room, ZERO, Ball((x, y, 0.0), r), Ball((X, Y, 0.0), R), margin)
    if first >= second - MEETING * size:
        g = 1.0 if a0 * b[0] + a1 * b[1] < 0.0 else 0.0
        x, y = s[0] + g * b[0] - first * a0, s[1] + g * b[1] - first * a1
        return add_round(room, ZERO, Ball((x, y, 0.0), r), R, (a0, a1, 0.0), first, margin)
    f = 1.0 if b0 * a[0] + b1 * a[1] < 0.0 else 0.0
    end = (p[0] + f * a[0], p[1] + f * a[1], 0.0)
    return add_round(room, ZERO, Ball(end, r), R, (-b0, -b1, 0.0), second, margin)


@kernel
def end_to_end(room: Room, own: Rod, other: Rod, f: float, margin: float) -> int:
    """Capsules on one line whose axes meet at their ends, at the fraction f of the first: the normal goes along it."""
    p, a, s, b = own.start, own.along, other.start, other.along
    d = s[0] + 0.5 * b[0] - p[0] - 0.5 * a[0]
    e = s[1] + 0.5 * b[1] - p[1] - 0.5 * a[1]
    h = s[2] + 0.5 * b[2] - p[2] - 0.5 * a[2]
    norm = math.sqrt(d * d + e * e + h * h)
    end = Ball(point_of(own, f), own.radius)
    return add_round(room, ZERO, end, other.radius, (d / norm, e / norm, h / norm), 0.0, margin)


@kernel(apart=True)
def spatial_axes(room: Room, own: Rod, other: Rod, f: float, g: float, margin: float) -> int:
    """Capsules in space whose axes have no common part; f, g: fractions of the axes at their nearest points.

    Inside both axes the normal is the common one, a x b or -a x b.  It stays exact down to axes that meet, where a x b
    is taken, and it turns round only when one axis has passed the other.
    """
    p, a, r = own
    s, b, R = other
    one, two = point_of(own, f), point_of(other, g)
    x, y, z = one
    X, Y, Z = two
    aa, bb = a[0] * a[0] + a[1] * a[1] + a[2] * a[2], b[0] * b[0] + b[1] * b[1] + b[2] * b[2]
    c0, c1, c2 = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    norm = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    meeting = MEETING * math.sqrt(min(aa, bb))
    apart = (X - x) ** 2 + (Y - y) ** 2 + (Z - z) ** 2 > meeting * meeting
    crossing = norm > PARALLEL * math.sqrt(aa * bb)
    if crossing and (not apart or (0.0 < f < 1.0 and 0.0 < g < 1.0)):
        c0, c1, c2 = c0 / norm, c1 / norm, c2 / norm
        distance = c0 * (s[0] - p[0]) + c1 * (s[1] - p[1]) + c2 * (s[2] - p[2])
        if distance < -meeting:
            c0, c1, c2, distance = -c0, -c1, -c2, -distance
        return add_round(room, ZERO, Ball(one, r), R, (c0, c1, c2), distance, margin)
    if apart:
        return balls(room, ZERO, Ball(one, r), Ball(two, R), margin)
    return end_to_end(room, own, other, f, margin)


@kernel(apart=True)
def ends_beside(room: Room, count: int, one: Rod, two: Rod, f: float, g: float, margin: float) -> int:
    """The ends of both axes that come near the inside of the other axis; f, g: fractions at the nearest points.

    Capsules that are nearly parallel touch in one point, but this point runs along them as fast as they turn.  With
    this point alone an end would sink in before it is seen.
    """
    p, a, r = one
    s, b, R = two
    if room.gaps[0] <= -0.5 * (r + R):  # the axes have all but passed one another: ends may lie on the wrong side
        return count
    for k in range(4):
        own, e = k < 2, float(k % 2)
        if e == (f if own else g):
            continue  # the point that is known
        end = point_of(one, e) if own else point_of(two, e)
        q, d = (s, b) if own else (p, a)
        h = along_segment(end, q, sum_of(q, d))
        if 0.0 < h < 1.0:
            foot = (q[0] + h * d[0], q[1] + h * d[1], q[2] + h * d[2])
            if own:
                count = balls(room, count, Ball(end, r), Ball(foot, R), margin)
            else:
                count = balls(room, count, Ball(foot, r), Ball(end, R), margin)
    return count


@kernel
def capsules(
    room: Room, pose: np.ndarray, extent: np.ndarray, other: np.ndarray, other_extent: np.ndarray, margin: float
) -> int:
    """Two capsules: the nearest points and ends beside them; both ends of the common part where they are parallel.

    The extents: radius, half the length of the axis, and whether the motion is planar.
    """
    p0, p1, p2, q0, q1, q2 = ends(pose, extent[1])
    s0, s1, s2, t0, t1, t2 = ends(other, other_extent[1])
    planar = extent[2] != 0.0
    a0, a1, a2 = q0 - p0, q1 - p1, q2 - p2
    b0, b1, b2 = t0 - s0, t1 - s1, t2 - s2
    if planar:  # remove the rounding errors of coordinates that are zero in the plane
        p2, s2, a2, b2 = 0.0, 0.0, 0.0, 0.0
    p, a, s, b = (p0, p1, p2), (a0, a1, a2), (s0, s1, s2), (b0, b1, b2)
    one, two = Rod(p, a, extent[0]), Rod(s, b, other_extent[0])
    c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    aa = a0 * a0 + a1 * a1 + a2 * a2
    bb = b0 * b0 + b1 * b1 + b2 * b2
    parallel = c0 * c0 + c1 * c1 + c2 * c2 <= PARALLEL * PARALLEL * aa * bb
    if parallel:
        f = (a0 * (s0 - p0) + a1 * (s1 - p1) + a2 * (s2 - p2)) / aa
        g = (a0 * (t0 - p0) + a1 * (t1 - p1) + a2 * (t2 - p2)) / aa
        low, high = max(0.0, min(f, g)), min(1.0, max(f, g))
        if high - low > 1e-6:
            return capsules_along(room, one, two, low, high, margin)
    f, g = nearest_of_segments(p, sum_of(p, a), s, sum_of(s, b))
    if planar and not parallel:
        count = planar_axes(room, one, two, f, g, margin)
    else:
        count = spatial_axes(room, one, two, f, g, margin)
    return ends_beside(room, count, one, two, f, g, margin) if count > 0 else count


@kernel
def capsule_plane(room: Room, pose: np.ndarray, half: float, r: float, plane: np.ndarray, margin: float) -> int:
    """A capsule above a half-space: its two ends."""
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    count = ball_plane(room, ZERO, Ball((p0, p1, p2), r), plane, margin)
    return ball_plane(room, count, Ball((q0, q1, q2), r), plane, margin)


@kernel
def corners_plane(
    room: Room, pose: np.ndarray, across: np.ndarray, half: float, r: float, plane: np.ndarray, margin: float
) -> int:
    """A rounded box above a half-space: the balls at its eight corners.

    They are the ends of the capsule with the pose and of three others beside it, `across` away along its x and y axes.
    """
    p0, p1, p2, q0, q1, q2 = ends(pose, half)
    count = ZERO
    for s, t in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
        x, y, z = rotate(pose, s * across[0], t * across[1], 0.0)
        count = ball_plane(room, count, Ball((p0 + x, p1 + y, p2 + z), r), plane, margin)
        count = ball_plane(room, count, Ball((q0 + x, q1 + y, q2 + z), r), plane, margin)
    return count
