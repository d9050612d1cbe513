"""Slip over a step: how far the two points that touch at a midpoint are apart at the next one, divided by dt.

Midpoints leapfrog, q_M' = q_M + dt u_E, so that a point with the arm p goes by dt v + (exp [dt omega] - 1) p.  Where
two bodies move as one, through whatever turns, the points of b and a stay together exactly.  All contacts and joints of
bodies that are held together then agree to the last digit on what it means to be at rest on one another.  (With slips
of order dt^2 they contradict one another by as little, no impulses let all of them stick, and a box in a hand slips.)
The laws are written in the slip at the midpoint, u_T = t . (v_b + omega_b x p_b - v_a - omega_a x p_a).  Slip over the
step has a part beyond that,

    t . (X(omega_b) p_b - X(omega_a) p_a + dt/2 (omega_b x d_b - omega_a x d_a)),
    X(omega) = (exp [dt omega] - 1) / dt - [omega] = (sin x / x - 1) [omega] + (1 - cos x) / x^2 dt [omega]^2,

with x = dt |omega|, where the contact point goes at d_b, d_a relative to the material points there, because something
rolls or slides.  Arms of what rolls do not turn; there X is dt/2 [omega]^2, unless both bodies turn as one.

It is taken with the velocities that are expected at the end of the step (`expected`).  Where a slip is found that is
not larger than what this is wrong by, it is taken anew with the velocities found, and the step is solved again
(`renewal`).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.smooth import beside_axis, curvature, lie_along, on_end, round_curvature
from stickslip.scenes.layout import CAPSULE, HULL, PLANE, POLYGON, SMOOTH, Active, Bodies, Contacts, Geoms, Options
from stickslip.scenes.rotation import determinant, invert, rotate_back, times, z_axis

TURNING = 1e-9  # rad in a step: less does not change the slip within it
SERIES = 0.05  # rad in a step, up to which sin and cos lose digits, and a series to x^6 does not
FACE = 1.0 - 1e-12  # cosine: a normal along an axis of a box is that of a face
ROUND = 0.2  # rad in a step: points of a rim that turns by more about its axis go round on their circle
TOGETHER = 1e-2  # of the velocities: bodies whose velocities differ by less move as one


@kernel
def cross(x: float, y: float, z: float, a: float, b: float, c: float) -> tuple[float, float, float]:
    """(x, y, z) x (a, b, c)."""
    return y * c - z * b, z * a - x * c, x * b - y * a


@kernel
def turned_arm(v: np.ndarray, p: np.ndarray, dt: float, exact: bool) -> tuple[float, float, float]:
    """X(omega) p, how much faster an arm p goes over a step than at its beginning [m/s]; v: velocities of the body.

    With -dt it is how much faster it went over the step before.  Not exact: dt/2 omega x (omega x p).
    """
    a, b, c = cross(v[3], v[4], v[5], p[0], p[1], p[2])
    d, e, f = cross(v[3], v[4], v[5], a, b, c)
    if not exact:
        return 0.5 * dt * d, 0.5 * dt * e, 0.5 * dt * f
    x = dt * dt * (v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    if x < SERIES * SERIES:
        s = -x / 6.0 * (1.0 - x / 20.0 * (1.0 - x / 42.0))
        t = 0.5 * dt * (1.0 - x / 12.0 * (1.0 - x / 30.0))
    else:
        angle = math.sqrt(x)
        s, t = math.sin(angle) / angle - 1.0, dt * (1.0 - math.cos(angle)) / x
    return s * a + t * d, s * b + t * e, s * c + t * f


@kernel
def apart_rate(v: np.ndarray, w: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple[float, float, float]:
    """Velocity of a point of body b relative to one of body a; v, w: velocities of a, b; p, q: arms of the points."""
    x, y, z = cross(w[3], w[4], w[5], q[0], q[1], q[2])
    d, e, f = cross(v[3], v[4], v[5], p[0], p[1], p[2])
    return w[0] + x - v[0] - d, w[1] + y - v[1] - e, w[2] + z - v[2] - f


@kernel
def moved_point(
    geoms: Geoms, contacts: Contacts, c: int, v: np.ndarray, w: np.ndarray, u: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Velocity at which the contact point c goes relative to the material point of body a.

    v, w: velocities of the bodies a, b; u: that of the material points, b less a.  A round surface touches where its
    centre, which is fixed to the body, lies above the other surface, whose normal turns with it.  A corner goes with
    its body.  Of two flat bodies either may have the corner, and the mean is taken.
    """
    n = contacts.normal[c]
    i, j = contacts.pair[c, 0], contacts.pair[c, 1]
    if geoms.kind[i] > CAPSULE:
        share = 0.5 if geoms.kind[j] == HULL or geoms.kind[j] == POLYGON else 0.0
        return share * u[0], share * u[1], share * u[2]
    r = geoms.extent[i, 0]
    if geoms.kind[j] > CAPSULE:
        return cross(w[3] - v[3], w[4] - v[4], w[5] - v[5], r * n[0], r * n[1], r * n[2])
    s = geoms.extent[j, 0]
    part = r / (r + s) if r + s > 0.0 else 0.0
    # centres go apart by u + (omega_b s + omega_a r) x n, of which the contact point takes a part across n
    d, e, f = cross(s * w[3] + r * v[3], s * w[4] + r * v[4], s * w[5] + r * v[5], n[0], n[1], n[2])
    d, e, f = d + u[0], e + u[1], f + u[2]
    along = d * n[0] + e * n[1] + f * n[2]
    x, y, z = cross(v[3], v[4], v[5], r * n[0], r * n[1], r * n[2])
    return part * (d - along * n[0]) - x, part * (e - along * n[1]) - y, part * (f - along * n[2]) - z


@kernel
def turn_as_one(v: np.ndarray, w: np.ndarray) -> bool:
    """Whether two bodies with the velocities v and w have nearly one angular velocity."""
    apart, fast = 0.0, 0.0
    for k in range(3, 6):
        apart += abs(v[k] - w[k])
        fast += abs(v[k]) + abs(w[k])
    return apart <= TOGETHER * fast


@kernel
def arm_along(n: np.ndarray, v: np.ndarray, p: np.ndarray, shift: float, dt: float, exact: bool) -> float:
    """n . X(omega) (p + shift n): how much faster an arm goes along n over a step [m/s]."""
    q = np.empty(3)
    for k in range(3):
        q[k] = p[k] + shift * n[k]
    x, y, z = turned_arm(v, q, dt, exact)
    return n[0] * x + n[1] * y + n[2] * z


@kernel
def gap_beyond(vel: np.ndarray, geoms: Geoms, contacts: Contacts, active: Active, m: int, dt: float) -> float:
    """How much faster the gap of active contact m opens over a step than at its beginning [m/s].

    With -dt it is how much faster it opened over the step before.  The gap of a round body is that of its centre, whose
    arm turns.  The normal turns with the body whose face it belongs to, of two flat ones with both as a mean, and of
    two round ones with their centres.  vel: velocities of all bodies.
    """
    c = active.contact[m]
    a, b, i, j = contacts.a[c], contacts.b[c], contacts.pair[c, 0], contacts.pair[c, 1]
    if curves(vel, geoms, contacts, active, m):
        more, _, _ = curved_beyond(vel, geoms, contacts, active, m, dt)
        return more
    v, w, p, q, n = vel[a], vel[b], active.arm_a[m], active.arm_b[m], contacts.normal[c]
    d, e, f = apart_rate(v, w, p, q)
    if geoms.kind[i] > CAPSULE:
        x, y, z = turned_arm(w, q, dt, True)
        d, e, f = d + x, e + y, f + z
        x, y, z = turned_arm(v, p, dt, True)
        d, e, f = d - x, e - y, f - z
        own = 0.5 if geoms.kind[j] == HULL or geoms.kind[j] == POLYGON else 0.0
        rest = 1.0 - own
        x, y, z = own * v[3] + rest * w[3], own * v[4] + rest * w[4], own * v[5] + rest * w[5]
        x, y, z = cross(x, y, z, n[0], n[1], n[2])
        turn = dt * (x * d + y * e + z * f)
        return arm_along(n, w, q, 0.0, dt, True) - arm_along(n, v, p, 0.0, dt, True) + turn
    exact, r = turn_as_one(v, w), geoms.extent[i, 0]
    x, y, z = cross(r * v[3], r * v[4], r * v[5], n[0], n[1], n[2])
    d, e, f = d + x, e + y, f + z
    if geoms.kind[j] > CAPSULE:
        x, y, z = cross(w[3], w[4], w[5], n[0], n[1], n[2])
        if exact:  # over the step, and not at its beginning: gaps of what is held would drift by (dt omega)^3
            centre = np.empty(3)
            for k in range(3):
                centre[k] = p[k] - r * n[k]
            a_x, a_y, a_z = turned_arm(w, q, dt, True)
            d, e, f = d + a_x, e + a_y, f + a_z
            a_x, a_y, a_z = turned_arm(v, centre, dt, True)
            d, e, f = d - a_x, e - a_y, f - a_z
            a_x, a_y, a_z = turned_arm(w, n, dt, True)
            x, y, z = x + a_x, y + a_y, z + a_z
        turn = dt * (x * d + y * e + z * f)
        return arm_along(n, w, q, r, dt, exact) - arm_along(n, v, p, -r, dt, exact) + turn
    s = geoms.extent[j, 0]
    x, y, z = cross(s * w[3], s * w[4], s * w[5], n[0], n[1], n[2])
    d, e, f = d + x, e + y, f + z
    along = d * n[0] + e * n[1] + f * n[2]
    wide = r + s + contacts.gap[c]
    turn = 0.5 * dt * (d * d + e * e + f * f - along * along) / wide if wide > 0.0 else 0.0
    return arm_along(n, w, q, s, dt, exact) - arm_along(n, v, p, -r, dt, exact) + turn


@kernel
def on_box_face(geoms: Geoms, contacts: Contacts, k: int) -> bool:
    """Whether contact k has the normal of a face of a box, which lies along one of its axes."""
    i, n = contacts.pair[k, 0], contacts.normal[k]
    x, y, z = rotate_back(geoms.world[i], n[0], n[1], n[2])
    return geoms.kind[i] == HULL and max(abs(x), abs(y), abs(z)) > FACE


@kernel
def curves(vel: np.ndarray, geoms: Geoms, contacts: Contacts, active: Active, m: int) -> bool:
    """Whether `curved_beyond` tells what turning adds at active contact m; vel: velocities of all bodies.

    So it is where a curved form touches, and where the side of a capsule touches a ball or another one: the point goes
    along the axis there.  Of bodies that move as one the rest of this file keeps points together to the last digit.
    """
    c = active.contact[m]
    i, j = contacts.pair[c, 0], contacts.pair[c, 1]
    if geoms.kind[j] > CAPSULE:
        return geoms.kind[j] == SMOOTH
    p, q = active.arm_a[m], active.arm_b[m]
    if not (beside_axis(geoms, i, p) or beside_axis(geoms, j, q)) or lie_along(geoms, i, j, p, q):
        return False
    return not turn_as_one(vel[contacts.a[c]], vel[contacts.b[c]])


@kernel
def turned_normal(
    H: np.ndarray, K: np.ndarray, n: np.ndarray, rates: tuple, size: float, gap: float
) -> tuple[float, float, float]:
    """Rate n' of the normal between curved forms, see `curved_beyond`; w_A x n where nothing determines it.

    H, K : radii of curvature of A and B [m].  rates : u, w_A x n and w_B x n.  size : that of the bodies [m].
    """
    u, a, b = rates
    S = np.empty(9)
    for s in range(9):  # n' lies across n: n n^T makes the matrix regular there
        S[s] = H[s] + K[s] + size * n[s // 3] * n[s % 3] + (gap if s % 4 == 0 else 0.0)
    along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
    x, y, t = times(H, a[0], a[1], a[2]), times(K, b[0], b[1], b[2]), a
    if abs(determinant(S)) > 1e-12 * size * size * size:
        R = np.empty(9)
        invert(S, R)
        t = times(
            R,
            u[0] - along * n[0] + x[0] + y[0],
            u[1] - along * n[1] + x[1] + y[1],
            u[2] - along * n[2] + x[2] + y[2],
        )
    return t[0], t[1], t[2]


@kernel(apart=True)
def curved_beyond(
    vel: np.ndarray, geoms: Geoms, contacts: Contacts, active: Active, m: int, dt: float
) -> tuple[float, float, float]:
    """Gap rate and slip over the step beyond those of the frame, where a curved form touches [m/s].

    The point of contact goes on over both surfaces.  With H_A, H_B their radii of curvature, n from A to B, and u the
    velocity of B's material point relative to A's,

        (H_A + H_B + gap 1) n' = P u + H_A (w_A x n) + H_B (w_B x n),
        r_A' = w_A x r_A + H_A (n' - w_A x n),    r_B' = w_B x r_B - H_B (n' - w_B x n),
        c = w_B x r_B' - w_A x r_A',

    and velocities grow by dt/2 c up to the middle of the way to the next midpoint; that of the gap by n' . u, too.  The
    normal of a half-space A turns with it: n' = w_A x n, and r_A is taken with the point of B.  A face of a box is as a
    half-space; at edges, corners and oblique faces of a polyhedron nothing is added: the rule is of first order there.
    """
    k = active.contact[m]
    face = on_box_face(geoms, contacts, k)
    if geoms.kind[contacts.pair[k, 0]] == HULL and not face:
        return 0.0, 0.0, 0.0
    v, w, p, q, n = vel[contacts.a[k]], vel[contacts.b[k]], active.arm_a[m], active.arm_b[m], contacts.normal[k]
    i, j = contacts.pair[k, 0], contacts.pair[k, 1]
    H, K = np.zeros(9), np.empty(9)
    straight = not lie_along(geoms, i, j, p, q)
    if geoms.kind[j] == SMOOTH:
        curvature(geoms, j, n, q, straight, K)
    else:
        round_curvature(geoms, j, n, q, straight, K)
    u = apart_rate(v, w, p, q)
    a, b = cross(v[3], v[4], v[5], n[0], n[1], n[2]), cross(w[3], w[4], w[5], n[0], n[1], n[2])
    t = a
    flat = geoms.kind[i] == PLANE or face
    if not flat:
        if geoms.kind[i] == SMOOTH:
            curvature(geoms, i, n, p, straight, H)
        else:
            round_curvature(geoms, i, n, p, straight, H)
        t = turned_normal(H, K, n, (u, a, b), max(geoms.extent[i, 0], geoms.bound[j]), contacts.gap[k])
    d, e = times(H, t[0] - a[0], t[1] - a[1], t[2] - a[2]), times(K, t[0] - b[0], t[1] - b[1], t[2] - b[2])
    if not flat and geoms.kind[j] == SMOOTH and on_end(geoms, j, n, q):  # K without bound: the normal turns with B
        t, along = b, u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
        d, gap = times(H, t[0] - a[0], t[1] - a[1], t[2] - a[2]), contacts.gap[k]
        e = (
            u[0] - along * n[0] - d[0] - gap * t[0],
            u[1] - along * n[1] - d[1] - gap * t[1],
            u[2] - along * n[2] - d[2] - gap * t[2],
        )
    f, g = cross(v[3], v[4], v[5], p[0], p[1], p[2]), cross(w[3], w[4], w[5], q[0], q[1], q[2])
    g = (g[0] - e[0], g[1] - e[1], g[2] - e[2])
    f = (f[0] + d[0], f[1] + d[1], f[2] + d[2])
    if flat:  # the point of B, seen from A's centre, goes with B's centre and with r_B
        f = (w[0] - v[0] + g[0], w[1] - v[1] + g[1], w[2] - v[2] + g[2])
    f, g = cross(v[3], v[4], v[5], f[0], f[1], f[2]), cross(w[3], w[4], w[5], g[0], g[1], g[2])
    x, y, z = 0.5 * dt * (g[0] - f[0]), 0.5 * dt * (g[1] - f[1]), 0.5 * dt * (g[2] - f[2])
    along, first, second = times(active.frame[m], x, y, z)
    return along + 0.5 * dt * (t[0] * u[0] + t[1] * u[1] + t[2] * u[2]), first, second


@kernel
def slip_beyond(
    vel: np.ndarray, geoms: Geoms, contacts: Contacts, active: Active, m: int, dt: float
) -> tuple[float, float]:
    """Slip over the step beyond that of the frame, at active contact m [m/s]; vel: velocities of all bodies."""
    c = active.contact[m]
    if curves(vel, geoms, contacts, active, m):
        _, first, second = curved_beyond(vel, geoms, contacts, active, m, dt)
        return first, second
    v, w = vel[contacts.a[c]], vel[contacts.b[c]]
    exact = geoms.kind[contacts.pair[c, 0]] > CAPSULE or turn_as_one(v, w)
    x, y, z = turned_arm(w, active.arm_b[m], dt, exact)
    d, e, f = turned_arm(v, active.arm_a[m], dt, exact)
    x, y, z = x - d, y - e, z - f
    u = apart_rate(v, w, active.arm_a[m], active.arm_b[m])
    if exact:  # what moves as one does not move apart
        u = (u[0] + x, u[1] + y, u[2] + z)
    p, q, r = moved_point(geoms, contacts, c, v, w, u)
    d, e, f = cross(w[3], w[4], w[5], p - u[0], q - u[1], r - u[2])
    p, q, r = cross(v[3], v[4], v[5], p, q, r)
    half = 0.5 * dt
    _, s, t = times(active.frame[m], x + half * (d - p), y + half * (e - q), z + half * (f - r))
    return s, t


@kernel
def spins_past(
    bodies: Bodies, geoms: Geoms, contacts: Contacts, active: Active, n: int, free: float, options: Options
) -> bool:
    """Whether active contact n is a point of a rim that only the spin of the rim about its own axis brings near.

    A rim has points beside its lowest one, on which a cylinder stands.  Where the rim rolls or spins, they go round on
    their circle and never reach the ground.  On a straight way they would, from a turn of 0.7 rad in a step on, and on
    a parabola from 1.4 rad on, by the point above the lowest one.
    free: approach without impulses [m/s].
    """
    c, f, q = active.contact[n], active.frame[n], active.arm_b[n]
    gap, w = contacts.gap[c], bodies.free[contacts.b[c]]
    if geoms.kind[contacts.pair[c, 1]] != SMOOTH or gap <= options.slop:
        return False
    x, y, z = z_axis(geoms.world[contacts.pair[c, 1]])
    spin = w[3] * x + w[4] * y + w[5] * z
    x, y, z = cross(spin * x, spin * y, spin * z, q[0], q[1], q[2])
    down = f[0] * x + f[1] * y + f[2] * z
    return options.dt * abs(spin) > ROUND and gap + options.dt * (free - down) > 0.0


@kernel
def turns(bodies: Bodies, a: int, b: int, dt: float) -> bool:
    """Whether a body turns so much in a step that slip changes by it."""
    v, w = bodies.ahead[a], bodies.ahead[b]
    fastest = max(abs(v[3]), abs(v[4]), abs(v[5]), abs(w[3]), abs(w[4]), abs(w[5]))
    return dt * fastest > TURNING and not (bodies.struck[a] or bodies.struck[b])
