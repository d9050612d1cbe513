"""Contacts of spheres (in the plane: discs) with one another and with bodies that do not move freely, in large islands.

The arms lie along the normal and the inertia is the same about all axes, so W of a contact is diagonal,

    W = diag(w_N, w_T, w_T),   w_N = sum 1/m,   w_T = sum (1/m + rho^2 / I),   rho: arm along the normal n,

and impulses can be world vectors: no tangents, no matrices, no inverses are read.  Coulomb's law is solved in the form

    r in the cone K,   u + s n in its dual cone,   r . (u + s n) = 0,   s = mu |u_T|   (de Saxce's velocity).

For a given lift s each contact minimises a convex function, r = P_K(y - W^-1 (u + s n)) in the metric of W, u the
velocity that belongs to the impulse y; s follows mu |u_T| by a share of the way with each visit.  On settled piles this
takes more momentum and leaves fewer contacts behind than solving each contact with its own slip at once.

Anchor.  A pile carries far more impulses than it has motions, so that many of their combinations move nothing.  Along
those the sweeps wander without end, and contacts that open, close and slip on the way keep the residual of a settled
pile near 2e-4 for thousands of sweeps.  A pull towards an anchor, u + pull w (y - anchor), ends that: the anchor is
where the sweeps got to, and is set anew from time to time (a proximal point).  What the pull adds to the velocities
counts as a violation of the laws like any other: residuals never contain it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.contact.one_contact import Triple
from stickslip.jit import entry, kernel
from stickslip.projections import project_cone_2d, worse
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts

SAME = 1e-12  # relative: what counts as along the normal, and as equal inertias

CONTACT = np.dtype(
    [
        ("n", float, (3,)),
        ("bias", float, (3,)),  # [m/s] world, with the velocity of bodies that do not move freely
        ("arm_a", float),  # along n [m]
        ("arm_b", float),
        ("mu", float),
        ("lift", float),  # s [m/s]
        ("inv_n", float),  # 1 / w_N [kg]
        ("inv_t", float),  # 1 / w_T
        ("size", float),  # w: the mean of the diagonal of W [1/kg]
        ("mantle_n", float),  # weights of r_N and |r_T| in the normal impulse of the nearest point of the cone's mantle
        ("mantle_t", float),
        ("impulse", float, (3,)),  # [N s] world, on b
        ("before", float, (3,)),  # the impulse a sweep ago
        ("anchor", float, (3,)),
        ("a", np.int32),  # rows of `motion`
        ("b", np.int32),
    ],
    align=True,
)
"""A contact of spheres, in the order of the sweep."""
SphereContacts = Any

MOTION = 8  # columns of `motion`, a row for each body: velocity, angular velocity, 1/m, 1/I; a line of the cache


@kernel
def arm_along(arm: np.ndarray, n: np.ndarray) -> float:
    """Component of an arm along the normal; not a number where it has another one."""
    along = arm[0] * n[0] + arm[1] * n[1] + arm[2] * n[2]
    x, y, z = arm[0] - along * n[0], arm[1] - along * n[1], arm[2] - along * n[2]
    return along if math.sqrt(x * x + y * y + z * z) <= SAME * abs(along) else np.nan


@kernel
def round_body(inv_inertia: np.ndarray, dim: int) -> bool:
    """Whether the inertia of a body is the same about all axes of rotation."""
    if dim == 2:
        return True
    j, off = inv_inertia[0], 0.0
    for k in range(9):
        off = max(off, abs(inv_inertia[k] - (j if k % 4 == 0 else 0.0)))
    return off <= SAME * j


@kernel
def between_spheres(bodies: Bodies, active: Active, i: int, a: int, b: int, dim: int) -> bool:
    """Whether normal and tangential law of contact i decouple: arms along n, round inertias, isotropic friction."""
    f = active.frame[i]
    for k in range(3, 9, 3):  # stretched tangents: elliptic friction
        if abs(f[k] * f[k] + f[k + 1] * f[k + 1] + f[k + 2] * f[k + 2] - 1.0) > SAME:
            return False
    for body, arm in ((a, active.arm_a[i]), (b, active.arm_b[i])):
        if bodies.kind[body] == MOVING:
            if math.isnan(arm_along(arm, f)) or not round_body(bodies.inv_inertia[body], dim):
                return False
    return True


@entry
def set_up_sphere_contact(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int, rows: tuple[np.ndarray, int],
    spheres: SphereContacts, k: int,
) -> None:  # fmt: skip
    """Write contact k: active contact i.

    rows : those of the bodies in `motion`, negative for bodies that do not move freely, and the row of these.
    """
    place, rest = rows
    c = active.contact[i]
    a, b, f, p = contacts.a[c], contacts.b[c], active.frame[i], spheres[k]
    p.mu, p.lift = active.mu[i], 0.0
    for m in range(3):
        p.n[m] = f[m]
        p.bias[m], p.impulse[m] = 0.0, 0.0
        for j in range(dim):
            p.bias[m] += active.bias[i, j] * f[3 * j + m]
            p.impulse[m] += active.r[i, j] * f[3 * j + m]
        p.before[m] = p.anchor[m] = p.impulse[m]
    p.a, p.b, p.arm_a, p.arm_b = rest, rest, 0.0, 0.0
    w_n, w_t = 0.0, 0.0
    for body, sign, arm in ((a, -1.0, active.arm_a[i]), (b, 1.0, active.arm_b[i])):
        if place[body] < 0:  # its velocity is given
            v = bodies.free[body]
            p.bias[0] += sign * (v[0] + v[4] * arm[2] - v[5] * arm[1])
            p.bias[1] += sign * (v[1] + v[5] * arm[0] - v[3] * arm[2])
            p.bias[2] += sign * (v[2] + v[3] * arm[1] - v[4] * arm[0])
        else:
            rho = arm_along(arm, f)
            w_n += bodies.inv_mass[body]
            w_t += bodies.inv_mass[body] + rho * rho * bodies.inv_inertia[body, 8]
    if place[a] >= 0:
        p.a, p.arm_a = place[a], arm_along(active.arm_a[i], f)
    if place[b] >= 0:
        p.b, p.arm_b = place[b], arm_along(active.arm_b[i], f)
    p.mantle_n = w_n / (w_n + p.mu * p.mu * w_t)
    p.mantle_t = p.mu * w_t / (w_n + p.mu * p.mu * w_t)
    p.inv_n, p.inv_t, p.size = 1.0 / w_n, 1.0 / w_t, (w_n + (dim - 1) * w_t) / dim


@kernel(inline=True)
def sphere_velocity(p: Any, va: np.ndarray, vb: np.ndarray) -> tuple[float, float, float]:
    """Relative velocity at a contact with its bias, v_b - v_a + (rho_b omega_b - rho_a omega_a) x n."""
    n, c = p.n, p.bias
    s0 = p.arm_b * vb[3] - p.arm_a * va[3]
    s1 = p.arm_b * vb[4] - p.arm_a * va[4]
    s2 = p.arm_b * vb[5] - p.arm_a * va[5]
    return (
        vb[0] - va[0] + c[0] + (s1 * n[2] - s2 * n[1]),
        vb[1] - va[1] + c[1] + (s2 * n[0] - s0 * n[2]),
        vb[2] - va[2] + c[2] + (s0 * n[1] - s1 * n[0]),
    )


@kernel(inline=True)
def push_spheres(p: Any, va: np.ndarray, vb: np.ndarray, d0: float, d1: float, d2: float) -> None:
    """Add an impulse to the motion of both bodies."""
    n, ma, mb = p.n, va[6], vb[6]
    va[0] -= ma * d0
    va[1] -= ma * d1
    va[2] -= ma * d2
    vb[0] += mb * d0
    vb[1] += mb * d1
    vb[2] += mb * d2
    e0, e1, e2 = n[1] * d2 - n[2] * d1, n[2] * d0 - n[0] * d2, n[0] * d1 - n[1] * d0
    ja, jb = va[7] * p.arm_a, vb[7] * p.arm_b
    va[3] -= ja * e0
    va[4] -= ja * e1
    va[5] -= ja * e2
    vb[3] += jb * e0
    vb[4] += jb * e1
    vb[5] += jb * e2


@kernel(inline=True)
def sphere_impulse(p: Any, u: Triple, y: Triple, share: float, pull: float) -> Triple:
    """The next impulse of a contact, from velocity u at impulse y; its lift goes `share` of the way to mu |u_T|."""
    u0, u1, u2 = u
    y0, y1, y2 = y
    n0, n1, n2, inv_n, inv_t, mu, c = p.n[0], p.n[1], p.n[2], p.inv_n, p.inv_t, p.mu, p.anchor
    u_n, y_n = n0 * u0 + n1 * u1 + n2 * u2, n0 * y0 + n1 * y1 + n2 * y2
    t0, t1, t2 = u0 - u_n * n0, u1 - u_n * n1, u2 - u_n * n2
    p.lift += share * (mu * math.sqrt(t0 * t0 + t1 * t1 + t2 * t2) - p.lift)
    if pull > 0.0:
        e = pull * p.size
        u0, u1, u2 = u0 + e * (y0 - c[0]), u1 + e * (y1 - c[1]), u2 + e * (y2 - c[2])
        u_n = n0 * u0 + n1 * u1 + n2 * u2
        t0, t1, t2 = u0 - u_n * n0, u1 - u_n * n1, u2 - u_n * n2
    r_n = y_n - (u_n + p.lift) * inv_n
    t0, t1, t2 = y0 - y_n * n0 - inv_t * t0, y1 - y_n * n1 - inv_t * t1, y2 - y_n * n2 - inv_t * t2
    limit, square = mu * max(r_n, 0.0), t0 * t0 + t1 * t1 + t2 * t2
    if square > limit * limit:  # to the nearest point of the cone, w_N (r_N - .)^2 + w_T (r_T - .)^2 least
        size = math.sqrt(square)
        r_n = p.mantle_n * r_n + p.mantle_t * size
        cut = mu * max(r_n, 0.0) / size
        t0, t1, t2 = cut * t0, cut * t1, cut * t2
    if not r_n > 0.0:
        return 0.0, 0.0, 0.0
    return r_n * n0 + t0, r_n * n1 + t1, r_n * n2 + t2


@entry
def sweep_spheres(
    spheres: SphereContacts, first: int, last: int, beta: float, share: float, pull: float, motion: np.ndarray
) -> float:
    """Improve contacts one after the other, from y = z + beta (z - before); returns the sum of w |z - y|^2 [J].

    The motion belongs to y on entry and to the new impulses z on return.
    """
    total = 0.0
    for k in range(first, last):
        p = spheres[k]
        va, vb, z, before = motion[p.a], motion[p.b], p.impulse, p.before
        u0, u1, u2 = sphere_velocity(p, va, vb)
        z0, z1, z2 = z[0], z[1], z[2]
        y0, y1, y2 = z0 + beta * (z0 - before[0]), z1 + beta * (z1 - before[1]), z2 + beta * (z2 - before[2])
        before[0], before[1], before[2] = z0, z1, z2
        z0, z1, z2 = sphere_impulse(p, (u0, u1, u2), (y0, y1, y2), share, pull)
        z[0], z[1], z[2] = z0, z1, z2
        d0, d1, d2 = z0 - y0, z1 - y1, z2 - y2
        change = d0 * d0 + d1 * d1 + d2 * d2
        if change > 0.0:
            push_spheres(p, va, vb, d0, d1, d2)
            total += p.size * change
    return total


@entry
def set_anchors(spheres: SphereContacts, first: int, last: int) -> None:
    """The anchor of each contact becomes its impulse."""
    for k in range(first, last):
        p = spheres[k]
        for j in range(3):
            p.anchor[j] = p.impulse[j]


@entry
def spheres_defect(spheres: SphereContacts, first: int, last: int, motion: np.ndarray) -> float:
    """Worst violation of the laws [m/s], as `island.contact_defect` has it."""
    worst = 0.0
    for k in range(first, last):
        p = spheres[k]
        n, r, mu, size = p.n, p.impulse, p.mu, p.size
        u0, u1, u2 = sphere_velocity(p, motion[p.a], motion[p.b])
        u_n, r_n = n[0] * u0 + n[1] * u1 + n[2] * u2, n[0] * r[0] + n[1] * r[1] + n[2] * r[2]
        r0, r1, r2 = r[0] - r_n * n[0], r[1] - r_n * n[1], r[2] - r_n * n[2]
        u0, u1, u2 = u0 - u_n * n[0], u1 - u_n * n[1], u2 - u_n * n[2]
        t0, t1, t2 = r0 - u0 / size, r1 - u1 / size, r2 - u2 / size
        long = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
        slip = mu * math.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
        x, y = project_cone_2d(r_n - (u_n + slip) / size, long, mu)  # along the tangential part
        cut = y / long if long > 0.0 else 0.0
        square = (r_n - x) ** 2 + (r0 - cut * t0) ** 2 + (r1 - cut * t1) ** 2 + (r2 - cut * t2) ** 2
        defect = size * math.sqrt(square)
        defect = -u_n if -u_n > defect else defect
        worst = worse(worst, defect)
    return worst
