"""Angular momentum of bodies in flight that are pushed apart: taken back where a shift has changed it.

A shift along common normals leaves the mass centre of a group of bodies alone, and their momentum.  Their angular
momentum it changes in first order, by the sum of m d x v over the shifts d, and by the turns.  Where nothing else holds
the group, no law allows the change.  The group is given the rotation of a rigid body that makes up for it,

    omega = I^-1 (L before - L after),   v_i += omega x (x_i - x),   omega_i += omega,

about its mass centre x, with its inertia I there.  A rigid rotation changes no relative velocity at a contact.
Groups that touch anything else, the ground or a body with joints, keep the velocities that they have.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.layout import Bodies
from stickslip.scenes.rotation import invert, times, world_matrix

HELD = -1  # in place of the number of a group: a body that something else holds, or that touches nothing


@kernel
def root_of(parent: np.ndarray, i: int) -> int:
    """The body that stands for the group of body i."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel(apart=True)
def groups_in_flight(free: np.ndarray, ends: np.ndarray, n: int) -> np.ndarray:
    """For each body the body that stands for its group, or HELD; the first n rows of `ends` are pairs that touch."""
    count = free.shape[0]
    parent, group = np.empty(count, np.int64), np.empty(count, np.int64)
    held, many = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for i in range(count):
        parent[i], group[i] = i, HELD
    for m in range(n):
        a, b = ends[m, 0], ends[m, 1]
        if free[a] and free[b]:
            parent[root_of(parent, a)] = root_of(parent, b)
    for m in range(n):
        a, b = ends[m, 0], ends[m, 1]
        if free[a] and free[b]:
            many[root_of(parent, a)] = True
        elif free[a] or free[b]:
            held[root_of(parent, a if free[a] else b)] = True
    for i in range(count):
        root = root_of(parent, i)
        if free[i] and many[root] and not held[root]:
            group[i] = root
    return group


@kernel(apart=True)
def mean_motion(bodies: Bodies, group: np.ndarray) -> np.ndarray:
    """Mass centre, from the body that stands for the group, and its velocity, in the row of that body (bodies, 6)."""
    mean, mass = np.zeros((group.shape[0], 6)), np.zeros(group.shape[0])
    for i in range(group.shape[0]):
        g = group[i]
        if g != HELD:
            mass[g] += bodies.mass[i]
            for k in range(3):
                mean[g, k] += bodies.mass[i] * (bodies.pose[i, k] - bodies.pose[g, k])
                mean[g, 3 + k] += bodies.mass[i] * bodies.vel[i, k]
    for g in range(group.shape[0]):
        if mass[g] > 0.0:
            for k in range(6):
                mean[g, k] /= mass[g]
    return mean


@kernel(apart=True)
def angular_momenta(bodies: Bodies, group: np.ndarray) -> np.ndarray:
    """Angular momentum of each group about its mass centre, in the row of the body that stands for it (bodies, 3)."""
    mean, total, J, r, v = (
        mean_motion(bodies, group),
        np.zeros((group.shape[0], 3)),
        np.empty(9),
        np.empty(3),
        np.empty(3),
    )
    for i in range(group.shape[0]):
        g = group[i]
        if g != HELD:
            world_matrix(bodies.pose[i], bodies.inertia[i], J)
            spin = times(J, bodies.vel[i, 3], bodies.vel[i, 4], bodies.vel[i, 5])
            for k in range(3):
                r[k] = bodies.pose[i, k] - bodies.pose[g, k] - mean[g, k]
                v[k] = bodies.mass[i] * (bodies.vel[i, k] - mean[g, 3 + k])
            total[g, 0] += r[1] * v[2] - r[2] * v[1] + spin[0]
            total[g, 1] += r[2] * v[0] - r[0] * v[2] + spin[1]
            total[g, 2] += r[0] * v[1] - r[1] * v[0] + spin[2]
    return total


@kernel(apart=True)
def inertias(bodies: Bodies, group: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Inertia of each group about its mass centre, in the row of the body that stands for it (bodies, 9)."""
    total, J, r = np.zeros((group.shape[0], 9)), np.empty(9), np.empty(3)
    for i in range(group.shape[0]):
        g = group[i]
        if g != HELD:
            world_matrix(bodies.pose[i], bodies.inertia[i], J)
            for k in range(3):
                r[k] = bodies.pose[i, k] - bodies.pose[g, k] - mean[g, k]
            square = r[0] ** 2 + r[1] ** 2 + r[2] ** 2
            for p in range(3):
                for q in range(3):
                    total[g, 3 * p + q] += J[3 * p + q] - bodies.mass[i] * r[p] * r[q]
                total[g, 4 * p] += bodies.mass[i] * square
    return total


@kernel(apart=True)
def keep_angular_momenta(bodies: Bodies, group: np.ndarray, before: np.ndarray, dim: int) -> None:
    """Turn each group as a rigid body, such that it has the angular momentum `before` again."""
    mean, now = mean_motion(bodies, group), angular_momenta(bodies, group)
    inertia, inverse, r = inertias(bodies, group, mean), np.empty(9), np.empty(3)
    omega = np.zeros((group.shape[0], 3))
    for g in range(group.shape[0]):
        if group[g] == g:
            if dim == 2:
                omega[g, 2] = (before[g, 2] - now[g, 2]) / inertia[g, 8]
            else:
                invert(inertia[g], inverse)
                omega[g, 0], omega[g, 1], omega[g, 2] = times(
                    inverse, before[g, 0] - now[g, 0], before[g, 1] - now[g, 1], before[g, 2] - now[g, 2]
                )
    for i in range(group.shape[0]):
        g = group[i]
        if g != HELD:
            w = omega[g]
            for k in range(3):
                r[k] = bodies.pose[i, k] - bodies.pose[g, k] - mean[g, k]
                bodies.vel[i, 3 + k] += w[k]
            for k in range(3):
                p, q = (k + 1) % 3, (k + 2) % 3
                bodies.vel[i, k] += w[p] * r[q] - w[q] * r[p]
            for k in range(6):
                bodies.end[i, k] = bodies.vel[i, k]
