"""Islands with very many contacts: Gauss-Seidel on the velocities of the bodies, with momentum, shared among threads.

No matrix is built: a contact reads the velocities of its two bodies, solves its own laws exactly and writes them back,
so that a body may have any number of contacts.  Threads share the slabs of `slabs`; contacts of spheres have their own,
faster sweep (`sphere_contacts`).

Momentum: the sweep starts at y = z + beta (z - z_before), on impulses and velocities alike, which keeps
v = v_free + M^-1 H z because the weights add up to one.  beta grows as Nesterov's to 0.93 on piles of spheres and stays
there: more, or its own growth without end, diverges on piles (slip makes the map non-monotone), and beginning anew
whenever a sweep changes more than the last one throws away what creeps slowly into place.  On other shapes momentum
does not settle: contacts that open, close and slip are kept going by it, near three times the tolerance for a thousand
sweeps, and ten plain sweeps end that.  So beta grows to 0.85 there, for CHECK_EVERY sweeps, LOOK_EVERY without it
follow, and it begins anew.  Where a pile lands hard,
slip can make the map expand, with momentum or without: `scenes.islands.piles` goes on from there with Newton on the
contacts concerned.  Impulses z and velocities of contacts that are not of spheres are scaled to unit mobility,
z = r sqrt(w), as in `island`.

Tried on recorded steps and worse: Anderson's acceleration (memory 5, 10), Fletcher-Reeves over the sweeps,
over-relaxation, momentum that each contact loses when it turns round or changes its state, sweeps of the worst
contacts alone; and no better: contacts sorted bottom-up or top-down.  Krylov methods on the sweep with the states of
the contacts held do not get on either: the steps that need many sweeps have not found those states yet.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.blocks import invert_2, invert_3
from stickslip.contact.one_contact import change_3d, one_contact_2d
from stickslip.jit import entry, kernel, prange
from stickslip.projections import norm_2d, project_cone_2d, project_cone_3d, worse
from stickslip.scenes.islands.problem import contact_velocity, side_product
from stickslip.scenes.islands.slabs import OUTSIDE
from stickslip.scenes.islands.sphere_contacts import (
    MOTION,
    SphereContacts,
    push_spheres,
    set_anchors,
    set_up_sphere_contact,
    spheres_defect,
    sweep_spheres,
)
from stickslip.scenes.layout import Active, Bodies, Contacts
from stickslip.scenes.rotation import times

LOOK_EVERY = 10  # sweeps between two looks at the residual, and plain ones after those with momentum
SHARE = 0.5  # of the way of a lift to its slip, with each sweep
BURST, LESS = 10.0, 0.7  # momentum begins anew, LESS as large, after a squared change of BURST times the least

POINT = np.dtype(
    [
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
"""A contact of any shapes, in the order of the sweep."""
Points = Any


class Others(NamedTuple):
    """Contacts that are not of spheres, with what a sweep needs of each."""

    point: Points
    D: np.ndarray  # (n, d, d) local matrices
    S: np.ndarray  # and their inverses
    z: np.ndarray  # (n, d) scaled impulses
    before: np.ndarray  # those of the sweep before


@entry
def set_up_point(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int, place: np.ndarray, others: Others, k: int
) -> None:
    """Write point k: active contact i, its local matrix with the inverse, and its scaled impulse."""
    point, D, S, z, _ = others
    c = active.contact[i]
    a, b, f, g = contacts.a[c], contacts.b[c], active.frame[i], point.frame[k]
    root = math.sqrt(active.mobility[i])
    point.mu[k], point.unscale[k] = active.mu[i], root
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


@kernel(inline=True)
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


@kernel(inline=True)
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


@entry
def sweep_points(
    others: Others, first: int, last: int, beta: float, vel: np.ndarray, inverse: np.ndarray, dim: int
) -> float:
    """Solve points one after the other, from y = z + beta (z - before); returns |z - y|^2.

    The velocities belong to y on entry and to the new z on return.
    """
    point, D, S, z, before = others
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
            slip = (before[k, 1], before[k, 2])
            z0, z1, z2 = change_3d(d, S[k], (u0, u1, u2), (y0, y1, y2), point.mu[k], slip)
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


@entry
def points_defect(point: Points, first: int, last: int, z: np.ndarray, vel: np.ndarray, dim: int) -> float:
    """Worst violation of the laws [m/s], as `island.contact_defect` has it."""
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
        worst = worse(worst, defect)
    return worst


@entry
def largest(values: np.ndarray) -> float:
    """The largest value; infinite where one is not a number."""
    most = 0.0
    for value in values:
        most = worse(most, value)
    return most


@entry
def load_bodies(bodies: Bodies, members: np.ndarray, motion: np.ndarray, inverse: np.ndarray) -> None:
    """Free velocities and inverse masses of the bodies of the island, close together in memory."""
    for k in range(members.shape[0]):
        body = members[k]
        for j in range(9):
            inverse[k, j] = bodies.inv_inertia[body, j]
        inverse[k, 9] = bodies.inv_mass[body]
        for j in range(6):
            motion[k, j] = bodies.free[body, j]
        motion[k, 6], motion[k, 7] = bodies.inv_mass[body], bodies.inv_inertia[body, 8]


@entry
def extrapolate(motion: np.ndarray, earlier: np.ndarray, beta: float) -> None:
    """v = v + beta (v - earlier) for all velocities, and earlier = v as it was."""
    for k in range(earlier.shape[0]):
        for j in range(6):
            v = motion[k, j]
            motion[k, j] = v + beta * (v - earlier[k, j])
            earlier[k, j] = v


@entry
def store_impulses(
    point: Points, spheres: SphereContacts, chosen: np.ndarray, begins: np.ndarray, z: np.ndarray, active: Active
) -> None:
    """Write the impulses into `active`, in its frames."""
    for e in range(begins.shape[0] - 1):
        for k in range(begins[e], begins[e + 1]):
            f, r = active.frame[chosen[k]], active.r[chosen[k]]
            for j in range(z.shape[1]):
                if e % 2 == 0:
                    p = spheres[k].impulse
                    r[j] = f[3 * j] * p[0] + f[3 * j + 1] * p[1] + f[3 * j + 2] * p[2]
                else:
                    r[j] = z[k, j] / point.unscale[k]


class Sweeping(NamedTuple):
    """Wishes for sweeps over a pile."""

    free: int  # sweeps that end at a residual of `aim`, and do not pull contacts of spheres to their anchors
    sweeps: int  # in all, at most
    aim: float
    tol: float  # residual that the others end at
    momentum: float  # largest beta
    pull: float  # to the anchors
    rising: (
        int  # sweeps with momentum, after which plain ones follow; a residual of `tol` does then; 0: momentum always
    )


class Sorted(NamedTuple):
    """Contacts and bodies of an island, as `slabs_of` has sorted them."""

    chosen: np.ndarray
    begins: np.ndarray
    members: np.ndarray
    place: np.ndarray


@kernel
def speed_at(bodies: Bodies, contacts: Contacts, active: Active, i: int) -> float:
    """Size of the velocities that add up to those of active contact i without impulses [m/s]."""
    c = active.contact[i]
    v0, v1, v2 = contact_velocity(active, i, bodies, bodies.free, contacts.a[c], contacts.b[c])
    return abs(v0) + norm_2d(v1, v2) + abs(active.bias[i, 0])


@kernel
def push_all(
    point: Points, spheres: SphereContacts, begins: np.ndarray, z: np.ndarray, motion: np.ndarray, inverse: np.ndarray
) -> None:
    """Add the impulses at hand to the motion of all bodies."""
    for e in range(begins.shape[0] - 1):
        for k in range(begins[e], begins[e + 1]):
            if e % 2 == 0:
                p = spheres[k]
                push_spheres(p, motion[p.a], motion[p.b], p.impulse[0], p.impulse[1], p.impulse[2])
            else:
                push(point, k, motion, inverse, z[k, 0], z[k, 1], z[k, 2] if z.shape[1] == 3 else 0.0)


@kernel
def total(numbers: np.ndarray) -> float:
    """Sum of some numbers, one after the other."""
    found = 0.0
    for k in range(numbers.shape[0]):
        found += numbers[k]
    return found


@entry
def solve_pile(
    bodies: Bodies, contacts: Contacts, active: Active, dim: int, order: Sorted, point: Points,
    spheres: SphereContacts, asked: Sweeping,
) -> tuple[int, float]:  # fmt: skip
    """Sweep an island, as `slabs_of` has sorted it, from the impulses in `active` until its residual is small enough.

    point, spheres: room for the contacts.  Writes the impulses back; returns the number of sweeps and the residual as
    `island.island_residual` defines it.
    """
    (free, sweeps, aim, tol, momentum, pull, rising), (chosen, begins, members, place) = asked, order
    n, m, slabs = chosen.shape[0], members.shape[0], begins.shape[0] // 2
    D, S, z = np.zeros((n, dim, dim)), np.zeros((n, dim, dim)), np.zeros((n, dim))
    others = Others(point, D, S, z, np.zeros((n, dim)))
    motion, inverse, sums = np.zeros((m + slabs, MOTION)), np.empty((m, 10)), np.zeros(slabs)
    load_bodies(bodies, members, motion, inverse)
    for s in prange(slabs):
        for k in range(begins[2 * s], begins[2 * s + 2]):
            i = chosen[k]
            if k < begins[2 * s + 1]:
                set_up_sphere_contact(bodies, contacts, active, i, dim, (place, m + s), spheres, k)
            else:
                set_up_point(bodies, contacts, active, i, dim, place, others, k)
            sums[s] = max(sums[s], speed_at(bodies, contacts, active, i))
    scale = largest(sums)
    push_all(point, spheres, begins, z, motion, inverse)
    others.before[:] = z
    earlier = motion[:m, :6].copy()
    theta, most, least, residual, done, aimed = 1.0, momentum, np.inf, np.inf, 0, True
    while done < sweeps and not residual <= (aim if aimed else tol):
        turn = done % (rising + LOOK_EVERY) if rising > 0 else -1
        aimed = done + 1 < free and (rising == 0 or turn < rising - 1)
        if turn == 0:
            theta, least = 1.0, np.inf
        rise = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        beta, theta = 0.0 if turn >= rising > 0 else min(most, (theta - 1.0) / rise), rise
        extrapolate(motion, earlier, beta)
        held = pull if done >= free else 0.0
        if done == free:
            for s in prange(slabs):
                set_anchors(spheres, begins[2 * s], begins[2 * s + 1])
        for parity in range(2):
            for s in prange((slabs + 1 - parity) // 2):
                e = 2 * s + parity
                first, middle, last = begins[2 * e], begins[2 * e + 1], begins[2 * e + 2]
                sums[e] = sweep_spheres(spheres, first, middle, beta, 1.0 if done == 0 else SHARE, held, motion)
                sums[e] += sweep_points(others, middle, last, beta, motion, inverse, dim)
        change = total(sums)  # in a fixed order, whatever the threads
        if change > BURST * least:
            theta, least, most = 1.0, np.inf, LESS * most
        least = min(least, change)
        done += 1
        if done % LOOK_EVERY == 0 or done == sweeps:
            for s in prange(slabs):
                first, middle, last = begins[2 * s], begins[2 * s + 1], begins[2 * s + 2]
                one = spheres_defect(spheres, first, middle, motion)
                two = points_defect(point, middle, last, z, motion, dim)
                sums[s] = worse(one, two)
            residual = largest(sums) / scale if scale > 0.0 else largest(sums)
    store_impulses(point, spheres, chosen, begins, z, active)
    return done, residual
