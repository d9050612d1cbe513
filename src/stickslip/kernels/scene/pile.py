"""Islands with very many contacts: Gauss-Seidel on the velocities of the bodies, with momentum, shared among threads.

No matrix is built: a contact reads the velocities of its two bodies, solves its own laws exactly and writes them back,
so that a body may have any number of contacts.  Levels of a breadth-first search through the bodies are grouped into
slabs; a contact of slab k touches bodies of slabs k and k + 1 alone, so all even slabs are swept side by side, then all
odd ones.  The slabs do not depend on the number of threads, and neither does any bit of the result.

Momentum: the sweep starts at y = z + beta (z - z_before), on impulses and velocities alike, which keeps
v = v_free + M^-1 H z because the weights add up to one.  beta grows as Nesterov's to 0.9 and stays there: more, or its
own growth without end, diverges on piles (slip makes the map non-monotone), and beginning anew whenever a sweep changes
more than the last one throws away what creeps slowly into place.  Where a pile lands hard, slip can make the map
expand, with momentum or without: `stepping.scene_pile` goes on from there with Newton on the contacts concerned.
Impulses z and velocities are scaled to unit mobility, z = r sqrt(w), as in `island`.

Tried on recorded steps and worse: Anderson's acceleration (memory 5, 10), Fletcher-Reeves over the sweeps,
over-relaxation, momentum that each contact loses when it turns round or changes its state, sweeps of the worst
contacts alone; and no better: contacts sorted bottom-up or top-down.  Krylov methods on the sweep with the states of
the contacts held do not get on either: the steps that need many sweeps have not found those states yet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from stickslip.compiled import compiled
from stickslip.complementarity.friction.blocks import invert_2, invert_3
from stickslip.complementarity.friction.one_contact import change_3d, one_contact_2d
from stickslip.kernels.scene.layout import MOVING, Active, Bodies, Contacts
from stickslip.kernels.scene.problem import contact_velocity, side_product
from stickslip.kernels.scene.rotation import times
from stickslip.sets import norm_2d, project_cone_2d, project_cone_3d

SLABS = 16
LOOK_EVERY = 10  # sweeps between two looks at the residual
BURST, LESS = 10.0, 0.7  # a sweep that changes so many times the least (squared): momentum begins anew, with less
OUTSIDE = -1  # a body that does not move freely

POINT = np.dtype(
    [
        ("contact", np.int64),  # number in `Active`
        ("a", np.int64),  # bodies, numbered as the search met them, or OUTSIDE
        ("b", np.int64),
        ("frame", float, (9,)),  # rows n, t_1, t_2 / sqrt(mobility)
        ("arm_a", float, (3,)),
        ("arm_b", float, (3,)),
        ("bias", float, (3,)),  # with the velocity of bodies that do not move freely
        ("mu", float),
        ("unscale", float),  # sqrt(mobility): velocity [m/s] of a scaled one
    ],
    align=True,
)
"""A contact of the island, in the order of the sweep."""
Points = Any


@compiled
def breadth_first(
    contacts: Contacts, active: Active, order: np.ndarray, first: int, start: int, head: np.ndarray,
    follow: np.ndarray, level: np.ndarray, queue: np.ndarray,
) -> int:  # fmt: skip
    """Levels of the bodies seen from `start`, and the bodies in the order met; returns their number."""
    level[start], queue[0], count, k = 0, start, 1, 0
    while k < count:
        body = queue[k]
        p = head[body]
        while p >= 0:
            c = active.contact[order[first + p // 2]]
            other = contacts.b[c] if p % 2 == 0 else contacts.a[c]
            if head[other] >= 0 and level[other] < 0:
                level[other] = level[body] + 1
                queue[count] = other
                count += 1
            p = follow[p]
        k += 1
    return count


@compiled
def slabs_of(
    bodies: Bodies, contacts: Contacts, active: Active, order: np.ndarray, first: int, last: int, head: np.ndarray,
    follow: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Contacts (positions in `order`) sorted by slab, where each slab begins, bodies as met, and their place by number.

    head (bodies,) is -1 on entry and again on return; follow (2 contacts,).
    """
    n = last - first
    total = head.shape[0]
    start = OUTSIDE
    for m in range(n - 1, -1, -1):  # lists of the contacts of each body, ascending
        c = active.contact[order[first + m]]
        for side in range(2):
            body = contacts.a[c] if side == 0 else contacts.b[c]
            if bodies.kind[body] == MOVING:
                follow[2 * m + side] = head[body]
                head[body] = 2 * m + side
                start = body
    level, queue = np.full(total, -1, np.int64), np.empty(total, np.int64)
    count = breadth_first(contacts, active, order, first, start, head, follow, level, queue)
    start = queue[count - 1]  # from one end of the island to the other: many levels
    for k in range(count):
        level[queue[k]] = -1
    breadth_first(contacts, active, order, first, start, head, follow, level, queue)
    place = np.full(total, OUTSIDE, np.int64)
    for k in range(count):
        place[queue[k]] = k
        head[queue[k]] = -1
    slab, begins = group_levels(bodies, contacts, active, order, first, n, level, level[queue[count - 1]] + 1)
    sorted_contacts, at = np.empty(n, np.int64), begins.copy()
    for m in range(n):
        sorted_contacts[at[slab[m]]] = order[first + m]
        at[slab[m]] += 1
    return sorted_contacts, begins, queue[:count].copy(), place


@compiled
def group_levels(
    bodies: Bodies, contacts: Contacts, active: Active, order: np.ndarray, first: int, n: int, level: np.ndarray,
    levels: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Slab of each contact (that of the lower level of its bodies), and where the slabs begin."""
    slab, size = np.empty(n, np.int64), np.zeros(levels, np.int64)
    for m in range(n):
        c = active.contact[order[first + m]]
        a, b = contacts.a[c], contacts.b[c]
        if bodies.kind[a] == MOVING and bodies.kind[b] == MOVING:
            slab[m] = min(level[a], level[b])
        else:
            slab[m] = level[a] if bodies.kind[a] == MOVING else level[b]
        size[slab[m]] += 1
    number, filled = np.zeros(levels, np.int64), 0
    for k in range(1, levels):
        filled += size[k - 1]
        number[k] = number[k - 1]
        if filled * SLABS >= n:
            number[k] += 1
            filled = 0
    begins = np.zeros(number[levels - 1] + 2, np.int64)
    for m in range(n):
        slab[m] = number[slab[m]]
        begins[slab[m] + 1] += 1
    for k in range(begins.shape[0] - 1):
        begins[k + 1] += begins[k]
    return slab, begins


@compiled
def set_up_point(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int, place: np.ndarray, point: Points,
    k: int, D: np.ndarray, S: np.ndarray, z: np.ndarray,
) -> None:  # fmt: skip
    """Write point k: active contact i, its local matrix D with inverse S, and its scaled impulse."""
    c = active.contact[i]
    a, b, f, g = contacts.a[c], contacts.b[c], active.frame[i], point.frame[k]
    root = math.sqrt(active.mobility[i])
    point.contact[k], point.mu[k], point.unscale[k] = i, active.mu[i], root
    point.a[k], point.b[k] = place[a], place[b]
    for m in range(3):
        point.arm_a[k, m] = active.arm_a[i, m]
        point.arm_b[k, m] = active.arm_b[i, m]
    for m in range(9):
        g[m] = f[m] / root
    for m in range(dim):
        z[k, m] = active.r[i, m] * root
        point.bias[k, m] = active.bias[i, m] / root
        for n in range(dim):
            value = side_product(bodies, a, g, active.arm_a[i], g, active.arm_a[i], m, n)
            D[k, m, n] = value + side_product(bodies, b, g, active.arm_b[i], g, active.arm_b[i], m, n)
    for body, sign, arm in ((a, -1.0, active.arm_a[i]), (b, 1.0, active.arm_b[i])):
        if place[body] == OUTSIDE:  # its velocity is given
            v = bodies.free[body]
            x, y, w = times(
                g,
                v[0] + v[4] * arm[2] - v[5] * arm[1],
                v[1] + v[5] * arm[0] - v[3] * arm[2],
                v[2] + v[3] * arm[1] - v[4] * arm[0],
            )
            point.bias[k, 0] += sign * x
            point.bias[k, 1] += sign * y
            point.bias[k, 2] += sign * w
    if dim == 3:
        invert_3(D[k], S[k])
    else:
        invert_2(D[k], S[k])


@compiled(inline=True)
def point_velocity(point: Points, k: int, vel: np.ndarray) -> tuple[float, float, float]:
    """Scaled relative velocity of a point, with its bias."""
    x, y, z = 0.0, 0.0, 0.0
    a, b = point.a[k], point.b[k]
    if a >= 0:
        v, p = vel[a], point.arm_a[k]
        x -= v[0] + v[4] * p[2] - v[5] * p[1]
        y -= v[1] + v[5] * p[0] - v[3] * p[2]
        z -= v[2] + v[3] * p[1] - v[4] * p[0]
    if b >= 0:
        v, p = vel[b], point.arm_b[k]
        x += v[0] + v[4] * p[2] - v[5] * p[1]
        y += v[1] + v[5] * p[0] - v[3] * p[2]
        z += v[2] + v[3] * p[1] - v[4] * p[0]
    f, c = point.frame[k], point.bias[k]
    return (
        f[0] * x + f[1] * y + f[2] * z + c[0],
        f[3] * x + f[4] * y + f[5] * z + c[1],
        f[6] * x + f[7] * y + f[8] * z + c[2],
    )


@compiled(inline=True)
def push(point: Points, k: int, vel: np.ndarray, inverse: np.ndarray, d0: float, d1: float, d2: float) -> None:
    """Add a scaled impulse at point k to the velocities; inverse (bodies, 10): 1/m and the inverse inertia."""
    f = point.frame[k]
    x = f[0] * d0 + f[3] * d1 + f[6] * d2
    y = f[1] * d0 + f[4] * d1 + f[7] * d2
    z = f[2] * d0 + f[5] * d1 + f[8] * d2
    a, b = point.a[k], point.b[k]
    if a >= 0:
        v, p, m = vel[a], point.arm_a[k], inverse[a]
        v[0] -= m[9] * x
        v[1] -= m[9] * y
        v[2] -= m[9] * z
        e, g, h = times(m, p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x)
        v[3] -= e
        v[4] -= g
        v[5] -= h
    if b >= 0:
        v, p, m = vel[b], point.arm_b[k], inverse[b]
        v[0] += m[9] * x
        v[1] += m[9] * y
        v[2] += m[9] * z
        e, g, h = times(m, p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x)
        v[3] += e
        v[4] += g
        v[5] += h


@compiled
def sweep_slab(
    point: Points, first: int, last: int, D: np.ndarray, S: np.ndarray, z: np.ndarray, before: np.ndarray,
    beta: float, vel: np.ndarray, inverse: np.ndarray, dim: int,
) -> float:  # fmt: skip
    """Solve the points of a slab one after the other, from y = z + beta (z - before); returns |z - y|^2.

    The velocities belong to y on entry and to the new z on return.
    """
    total = 0.0
    for k in range(first, last):
        u0, u1, u2 = point_velocity(point, k, vel)
        y0 = z[k, 0] + beta * (z[k, 0] - before[k, 0])
        y1 = z[k, 1] + beta * (z[k, 1] - before[k, 1])
        before[k, 0], before[k, 1] = z[k, 0], z[k, 1]
        y2, z2 = 0.0, 0.0
        d = D[k]
        if dim == 3:
            y2 = z[k, 2] + beta * (z[k, 2] - before[k, 2])
            before[k, 2] = z[k, 2]
            z0, z1, z2 = change_3d(d, S[k], u0, u1, u2, y0, y1, y2, point.mu[k], before[k, 1], before[k, 2])
            z[k, 2] = z2
        else:
            q0 = u0 - d[0, 0] * y0 - d[0, 1] * y1
            q1 = u1 - d[1, 0] * y0 - d[1, 1] * y1
            z0, z1 = one_contact_2d(d, S[k], q0, q1, point.mu[k])
        z[k, 0], z[k, 1] = z0, z1
        d0, d1, d2 = z0 - y0, z1 - y1, z2 - y2
        change = d0 * d0 + d1 * d1 + d2 * d2
        if change > 0.0:
            push(point, k, vel, inverse, d0, d1, d2)
            total += change
    return total


@compiled
def slab_defect(point: Points, first: int, last: int, z: np.ndarray, vel: np.ndarray, dim: int) -> float:
    """Worst violation of the laws in a slab [m/s], as `island.contact_defect` has it."""
    worst = 0.0
    for k in range(first, last):
        u0, u1, u2 = point_velocity(point, k, vel)
        mu = point.mu[k]
        if dim == 3:
            s = mu * norm_2d(u1, u2)
            x, y, w = project_cone_3d(z[k, 0] - u0 - s, z[k, 1] - u1, z[k, 2] - u2, mu)
            square = (z[k, 0] - x) ** 2 + (z[k, 1] - y) ** 2 + (z[k, 2] - w) ** 2
        else:
            x, y = project_cone_2d(z[k, 0] - u0 - mu * abs(u1), z[k, 1] - u1, mu)
            square = (z[k, 0] - x) ** 2 + (z[k, 1] - y) ** 2
        defect = point.unscale[k] * (-u0 if -u0 > math.sqrt(square) else math.sqrt(square))
        if not defect <= worst:
            worst = defect
    return worst


@compiled
def largest(values: np.ndarray) -> float:
    """The largest value; not a number where one is."""
    most = 0.0
    for value in values:
        if not value <= most:
            most = value
    return most


@compiled
def load_bodies(bodies: Bodies, members: np.ndarray, vel: np.ndarray, inverse: np.ndarray) -> None:
    """Free velocities and inverse masses of the bodies of the island, close together in memory."""
    for k in range(members.shape[0]):
        body = members[k]
        for j in range(9):
            inverse[k, j] = bodies.inv_inertia[body, j]
        inverse[k, 9] = bodies.inv_mass[body]
        for j in range(6):
            vel[k, j] = bodies.free[body, j]


@compiled
def extrapolate(vel: np.ndarray, earlier: np.ndarray, beta: float) -> None:
    """vel = vel + beta (vel - earlier), and earlier = vel as it was."""
    for k in range(vel.shape[0]):
        for j in range(6):
            v = vel[k, j]
            vel[k, j] = v + beta * (v - earlier[k, j])
            earlier[k, j] = v


@compiled
def store_impulses(point: Points, z: np.ndarray, active: Active) -> None:
    """Unscale the impulses into `active`."""
    for k in range(z.shape[0]):
        for j in range(z.shape[1]):
            active.r[point.contact[k], j] = z[k, j] / point.unscale[k]


@compiled(parallel=True)
def solve_pile(
    bodies: Bodies, contacts: Contacts, active: Active, dim: int, chosen: np.ndarray, begins: np.ndarray,
    members: np.ndarray, place: np.ndarray, point: Points, sweeps: int, tol: float, momentum: float,
) -> tuple[int, float]:  # fmt: skip
    """Sweep an island, as `slabs_of` has sorted it, from the impulses in `active` until its residual is at most tol.

    point: room for the contacts, records of POINT; momentum: the largest beta.  Writes the impulses back; returns the
    sweeps done and the residual as `island.island_residual` defines it.
    """
    n, m, slabs = chosen.shape[0], members.shape[0], begins.shape[0] - 1
    D, S, z = np.zeros((n, dim, dim)), np.zeros((n, dim, dim)), np.zeros((n, dim))
    vel, inverse, sums = np.empty((m, 6)), np.empty((m, 10)), np.zeros(slabs)
    load_bodies(bodies, members, vel, inverse)
    for s in prange(slabs):
        for k in range(begins[s], begins[s + 1]):
            i = chosen[k]
            c = active.contact[i]
            set_up_point(bodies, contacts, active, i, dim, place, point, k, D, S, z)
            v0, v1, v2 = contact_velocity(active, i, bodies, bodies.free, contacts.a[c], contacts.b[c])
            sums[s] = max(sums[s], abs(v0) + abs(v1) + abs(v2) + abs(active.bias[i, 0]))
    scale = largest(sums)
    for k in range(n):
        push(point, k, vel, inverse, z[k, 0], z[k, 1], z[k, 2] if dim == 3 else 0.0)
    before, earlier = z.copy(), vel.copy()
    theta, most, least, residual, done = 1.0, momentum, np.inf, np.inf, 0
    while done < sweeps and not residual <= tol:
        rise = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        beta = min(most, (theta - 1.0) / rise)
        theta = rise
        extrapolate(vel, earlier, beta)
        for parity in range(2):
            for s in prange((slabs + 1 - parity) // 2):
                e = 2 * s + parity
                sums[e] = sweep_slab(point, begins[e], begins[e + 1], D, S, z, before, beta, vel, inverse, dim)
        change = 0.0  # in a fixed order, whatever the threads
        for s in range(slabs):
            change += sums[s]
        if change > BURST * least:
            theta, least, most = 1.0, np.inf, LESS * most
        least = min(least, change)
        done += 1
        if done % LOOK_EVERY == 0 or done == sweeps:
            for s in prange(slabs):
                sums[s] = slab_defect(point, begins[s], begins[s + 1], z, vel, dim)
            residual = largest(sums) / scale if scale > 0.0 else largest(sums)
    store_impulses(point, z, active)
    return done, residual
