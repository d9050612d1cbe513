"""Compiled projections onto intervals, disks, ellipses and friction cones, and their generalised Jacobians.

The functions take scalars and return scalars, or write into `out`.  They allocate nothing and pass NaN on.  The module
`sets` has the convex sets that these projections belong to.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stickslip.jit import entry

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-12
"""Default membership tolerance: an absolute distance in the unit of the point."""


NEGLIGIBLE = 1e-150
"""Ratio of lengths below which an ellipse is a segment or a point; its square is still a normal number."""


EPS = 2.220446049250313e-16


AT_BOUND = 1e-12
"""Share of a bound by which rounding may keep an impulse from it: some thousand roundings."""


@entry
def norm_2d(a: float, b: float) -> float:
    """Euclidean norm of (a, b), safe against overflow and underflow."""
    square = a * a + b * b
    if 1e-280 < square < 1e300:  # the square root is several times faster than hypot
        return math.sqrt(square)
    return math.hypot(a, b)


@entry(inline=True)
def worse(worst: float, found: float) -> float:
    """The larger of two errors; infinite where one is not a number, so that no later error can hide it."""
    if found <= worst:
        return worst
    return found if worst <= found else np.inf


@entry
def project_interval(x: float, lower: float, upper: float) -> float:
    """Point of [lower, upper] nearest to x; the bounds may be infinite."""
    if x < lower:
        return lower
    if x > upper:
        return upper
    return x


@entry
def project_disk(x1: float, x2: float, radius: float) -> tuple[float, float]:
    """Point of the disk {|x| <= radius} in the plane nearest to (x1, x2), radius >= 0."""
    norm = norm_2d(x1, x2)
    if norm <= radius:
        return x1, x2
    factor = radius / norm
    return factor * x1, factor * x2


@entry
def jacobian_disk(x1: float, x2: float, radius: float, out: FloatArray) -> None:
    """Write a generalised Jacobian of `project_disk` into out, shape (2, 2).

    Outside: (radius / |x|) (I - e e^T), e = x / |x|. On the circle: I, the limit from inside; radius 0: zero.
    """
    norm = norm_2d(x1, x2)
    if radius == 0.0:  # the projection is constant, also at x = 0 where |x| <= radius
        out[0, 0] = out[0, 1] = out[1, 0] = out[1, 1] = 0.0
    elif norm <= radius:
        out[0, 0] = out[1, 1] = 1.0
        out[0, 1] = out[1, 0] = 0.0
    else:
        factor, e1, e2 = radius / norm, x1 / norm, x2 / norm
        out[0, 0] = factor * e2 * e2
        out[1, 1] = factor * e1 * e1
        out[0, 1] = out[1, 0] = -factor * e1 * e2


@entry
def _ellipse_foot(x1: float, x2: float, a: float, b: float) -> tuple[float, float, float]:
    """Foot point P = (a q1, b q2) of x outside an ellipse with a >= b > NEGLIGIBLE a; returns q1, q2, t.

    x - P = t a^2 (P1 / a^2, P2 / b^2) with t > 0. In units of a, with y = x / a and beta = b / a, this is
    q(t) = (y1 / (1 + t), beta y2 / (beta^2 + t)), and t is the root of the secular equation |q(t)| = 1.

    The function 1 / |q(t)| is concave and increasing. So Newton's method on it runs monotonically from the left, and
    fast where one pole dominates. Where neither pole dominates, its steps may only grow by half. So every third step
    halves a wide bracket on a logarithmic scale.
    """
    beta = b / a
    largest = max(abs(x1), abs(x2))
    if a < NEGLIGIBLE * largest:  # seen from x the ellipse is a point: only the direction counts
        q1, q2 = x1 / largest, beta * (x2 / largest)
        norm = norm_2d(q1, q2)
        return q1 / norm, q2 / norm, norm * (largest / a)
    y1, y2 = abs(x1) / a, abs(x2) / a
    beta2 = beta * beta
    lower = max(y1 - 1.0, beta * (y2 - beta), 0.0)  # |q| >= 1: one |q_i| >= 1, or t = 0, outside
    upper = max(norm_2d(y1, beta * y2) - beta2, lower)  # |q| <= |(y1, beta y2)| / (beta^2 + t) = 1
    t = lower
    q1, q2, norm = 0.0, 0.0, 1.0
    for iteration in range(200):
        q1, q2 = y1 / (1.0 + t), beta * y2 / (beta2 + t)
        norm = math.sqrt(q1 * q1 + q2 * q2)
        if abs(norm - 1.0) <= 2.0 * EPS:
            break
        if norm > 1.0:
            lower = t
        else:
            upper = t
        slope = q1 * q1 / (1.0 + t) + q2 * q2 / (beta2 + t)
        t_next = t + norm * norm * (norm - 1.0) / slope  # Newton on 1 / |q(t)| = 1
        wide = iteration % 3 == 2 and beta2 + upper > 2.0 * (beta2 + lower)
        if wide or not lower <= t_next <= upper:
            t_next = math.sqrt(beta2 + lower) * math.sqrt(beta2 + upper) - beta2
            t_next = min(max(t_next, lower), upper)
        if abs(t_next - t) <= EPS * (beta2 + t):
            break
        t = t_next
    return math.copysign(q1 / norm, x1), math.copysign(q2 / norm, x2), t


@entry
def _project_ellipse_sorted(x1: float, x2: float, a: float, b: float) -> tuple[float, float]:
    """`project_ellipse` for a >= b."""
    if b <= NEGLIGIBLE * a:
        return project_interval(x1, -a, a), 0.0 * x2  # a segment, or the origin
    if norm_2d(x1 / a, x2 / b) <= 1.0:
        return x1, x2
    q1, q2, _ = _ellipse_foot(x1, x2, a, b)
    return a * q1, b * q2


@entry
def project_ellipse(x1: float, x2: float, a: float, b: float) -> tuple[float, float]:
    """Point of the ellipse {(x1/a)^2 + (x2/b)^2 <= 1} nearest to (x1, x2).

    With one semi-axis 0 the ellipse is a segment, with both 0 it is the origin.
    """
    if a >= b:
        return _project_ellipse_sorted(x1, x2, a, b)
    p2, p1 = _project_ellipse_sorted(x2, x1, b, a)
    return p1, p2


@entry
def _jacobian_ellipse_sorted(x1: float, x2: float, a: float, b: float) -> tuple[float, float, float]:
    """Entries 11, 12, 22 of the generalised Jacobian of `project_ellipse` for a >= b."""
    if b <= NEGLIGIBLE * a:
        inside = a > 0.0 and -a <= x1 <= a
        return (1.0 if inside else 0.0), 0.0, 0.0
    if norm_2d(x1 / a, x2 / b) <= 1.0:
        return 1.0, 0.0, 1.0
    q1, q2, t = _ellipse_foot(x1, x2, a, b)
    v1, v2 = -q2, (b / a) * q1  # along the tangent at the foot point
    weight = 1.0 / (v1 * v1 + v2 * v2 + t)
    return weight * v1 * v1, weight * v1 * v2, weight * v2 * v2


@entry
def jacobian_ellipse(x1: float, x2: float, a: float, b: float, out: FloatArray) -> None:
    """Write a generalised Jacobian of `project_ellipse` into out, shape (2, 2).

    Outside: tau tau^T / (1 + kappa d), with unit tangent tau and curvature kappa at the foot point and distance d.
    With v = (-q2, beta q1) and t of `_ellipse_foot` this is v v^T / (|v|^2 + t).
    Inside and on the boundary: I, the limit from inside.
    A segment (one semi-axis 0) has no inside: diag(1, 0) between and at its ends, 0 beyond them, with the coordinate
    along the segment first. A point (both semi-axes 0): 0.
    """
    if a >= b:
        out[0, 0], out[0, 1], out[1, 1] = _jacobian_ellipse_sorted(x1, x2, a, b)
    else:
        out[1, 1], out[0, 1], out[0, 0] = _jacobian_ellipse_sorted(x2, x1, b, a)
    out[1, 0] = out[0, 1]


@entry
def _cone_angle(mu: float) -> tuple[float, float]:
    """Cosine and sine of the half opening angle arctan(mu), 0 <= mu <= inf."""
    if mu <= 1.0:
        cosine = 1.0 / math.sqrt(1.0 + mu * mu)
        return cosine, mu * cosine
    cotangent = 1.0 / mu
    sine = 1.0 / math.sqrt(1.0 + cotangent * cotangent)
    return cotangent * sine, sine


@entry
def _project_cone_radial(r_N: float, norm_T: float, mu: float) -> tuple[float, float]:
    """Projection onto the friction cone, by its rotational symmetry: prox(r) = (P_N, factor r_T); returns P_N, factor.

    Inside the cone the result is (r_N, 1), inside the polar cone (0, 0). Between the two it is (c p, s p / |r_T|), with
    (c, s) = (cos, sin) of arctan(mu). Here p = c r_N + s |r_T| is the length of prox(r) along the nearest generator.
    """
    # At mu = inf a product 0 * inf is NaN: the comparison fails and the half-space case below is taken.
    if r_N >= 0.0 and norm_T <= mu * r_N:
        return r_N, 1.0
    if mu * norm_T <= -r_N:
        return 0.0, 0.0
    c, s = _cone_angle(mu)
    if c == 0.0:  # half-space r_N >= 0
        return max(r_N, 0.0), 1.0
    p = max(c * r_N + s * norm_T, 0.0)
    return c * p, min(s * p / norm_T, 1.0)


@entry
def project_cone_2d(r_N: float, r_T: float, mu: float) -> tuple[float, float]:
    """Point of the planar friction cone {|r_T| <= mu r_N} nearest to (r_N, r_T), 0 <= mu <= inf."""
    p_N, factor = _project_cone_radial(r_N, abs(r_T), mu)
    return p_N, factor * r_T


@entry
def project_cone_3d(r_N: float, r_T1: float, r_T2: float, mu: float) -> tuple[float, float, float]:
    """Point of the spatial friction cone {|r_T| <= mu r_N} nearest to (r_N, r_T1, r_T2), 0 <= mu <= inf."""
    p_N, factor = _project_cone_radial(r_N, norm_2d(r_T1, r_T2), mu)
    return p_N, factor * r_T1, factor * r_T2


@entry
def _tangential_norm(r: FloatArray) -> float:
    """|r_T| of r = (r_N, r_T), any dimension >= 2."""
    if r.size == 2:
        return abs(r[1])
    norm = norm_2d(r[1], r[2])
    for i in range(3, r.size):
        norm = norm_2d(norm, r[i])
    return norm


@entry
def project_cone(r: FloatArray, mu: float, out: FloatArray) -> None:
    """Write the point of the friction cone in R^d, d >= 2, nearest to r into out, shape (d,); out may be r itself."""
    if r.size == 2:
        out[0], out[1] = project_cone_2d(r[0], r[1], mu)
    elif r.size == 3:
        out[0], out[1], out[2] = project_cone_3d(r[0], r[1], r[2], mu)
    else:
        p_N, factor = _project_cone_radial(r[0], _tangential_norm(r), mu)
        out[0] = p_N
        for i in range(1, r.size):
            out[i] = factor * r[i]


@entry
def jacobian_cone(r: FloatArray, mu: float, out: FloatArray) -> None:
    """Write a generalised Jacobian of `project_cone` into out, shape (d, d).

    Between the cone and its polar cone: w w^T + factor diag(0, I - e e^T), with e = r_T / |r_T|, w = (c, s e), and
    factor, c and s as in `_project_cone_radial`.
    In the cone, with its boundary and its apex: I, the limit from inside.
    In the polar cone, with its boundary: 0, the limit from inside the polar cone.
    For mu = 0 (a ray): diag(1, 0) where r_N >= 0, else 0.
    For mu = inf (a half-space): I where r_N >= 0, else diag(0, I).
    """
    dim = r.size
    for i in range(dim):
        for j in range(dim):
            out[i, j] = 0.0
    if mu == 0.0 or mu == np.inf:  # no interior of the cone, or of its polar, to take a limit from
        out[0, 0] = 1.0 if r[0] >= 0.0 else 0.0
        for i in range(1, dim):
            out[i, i] = 0.0 if mu == 0.0 else 1.0
        return
    norm_T = _tangential_norm(r)
    if r[0] >= 0.0 and norm_T <= mu * r[0]:
        for i in range(dim):
            out[i, i] = 1.0
        return
    if mu * norm_T <= -r[0]:
        return
    c, s = _cone_angle(mu)
    _, factor = _project_cone_radial(r[0], norm_T, mu)
    if dim == 2:
        factor = 0.0  # I - e e^T = 0: leave no rounding error behind
    out[0, 0] = c * c
    for i in range(1, dim):
        e_i = r[i] / norm_T
        out[0, i] = out[i, 0] = c * s * e_i
        for j in range(1, dim):
            out[i, j] = (s * s - factor) * (e_i * (r[j] / norm_T))  # in this order exactly symmetric
        out[i, i] += factor


@entry
def interval_all(x: FloatArray, lower: FloatArray, upper: FloatArray, out: FloatArray) -> None:
    """`project_interval` for each entry; all arrays have shape (k,)."""
    for i in range(x.size):
        out[i] = project_interval(x[i], lower[i], upper[i])


@entry
def disk_rows(x: FloatArray, radius: FloatArray, out: FloatArray) -> None:
    """`project_disk` for each row: x and out have shape (k, 2), radius (k,)."""
    for i in range(x.shape[0]):
        out[i, 0], out[i, 1] = project_disk(x[i, 0], x[i, 1], radius[i])


@entry
def disk_jacobian_rows(x: FloatArray, radius: FloatArray, out: FloatArray) -> None:
    """`jacobian_disk` for each row: x has shape (k, 2), radius (k,), out (k, 2, 2)."""
    for i in range(x.shape[0]):
        jacobian_disk(x[i, 0], x[i, 1], radius[i], out[i])


@entry
def ellipse_rows(x: FloatArray, a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """`project_ellipse` for each row: x and out have shape (k, 2), a and b (k,)."""
    for i in range(x.shape[0]):
        out[i, 0], out[i, 1] = project_ellipse(x[i, 0], x[i, 1], a[i], b[i])


@entry
def ellipse_jacobian_rows(x: FloatArray, a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """`jacobian_ellipse` for each row: x has shape (k, 2), a and b (k,), out (k, 2, 2)."""
    for i in range(x.shape[0]):
        jacobian_ellipse(x[i, 0], x[i, 1], a[i], b[i], out[i])


@entry
def cone_rows(x: FloatArray, mu: FloatArray, out: FloatArray) -> None:
    """`project_cone` for each row: x and out have shape (k, d), mu (k,)."""
    for i in range(x.shape[0]):
        project_cone(x[i], mu[i], out[i])


@entry
def cone_jacobian_rows(x: FloatArray, mu: FloatArray, out: FloatArray) -> None:
    """`jacobian_cone` for each row: x has shape (k, d), mu (k,), out (k, d, d)."""
    for i in range(x.shape[0]):
        jacobian_cone(x[i], mu[i], out[i])
