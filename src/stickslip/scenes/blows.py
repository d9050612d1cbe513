"""Impacts of a scene one after the other, under laws of one contact: `routh` integrates them, `two_steps` does not.

Chatterjee and Ruina's law is a formula (`laws.chatterjee_ruina`).  Poisson's law may also take all contacts at once
(`at_once`), and ratios of stiffness do (`by_stiffness`).

A step first does the impacts, at velocities with half of what its forces change: with all or none of it before the
impact a ball without friction and eps = 1 would lose or gain m v g dt at each bounce.  Of the contacts that are closed,
or close within the step, the one that approaches fastest is struck first; its impulse changes the velocities at the
others.  This goes on until none approaches.  What is left, less than REST of the first approach, and contacts that
approach no faster than forces change velocities in a step, is left to the contact problem of the step, without
restitution.  So no body is driven into another one, and Stronge's law never gains energy, whatever the number of
contacts.  Joints pass impulses on within an impact: `struck_joints`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.laws.chatterjee_ruina import algebraic_impact
from stickslip.scenes.at_once import strike_at_once
from stickslip.scenes.by_stiffness import HERTZ, LINEAR, strike_by_stiffness
from stickslip.scenes.islands.problem import approach, restitution_of
from stickslip.scenes.islands.reduced import row_impulses
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts, Options
from stickslip.scenes.one_blow import give, matrix_of, note_hit
from stickslip.scenes.parts import Matter
from stickslip.scenes.routh import spatial_impact
from stickslip.scenes.struck import is_hard
from stickslip.scenes.struck_joints import catch, onto_joints, parts_in_impact
from stickslip.scenes.two_steps import impact_in_two_steps, impact_of_balls

TWO_STEPS, WALTON, AT_ONCE, ALGEBRAIC = 3, 4, 5, 6  # of `Options.law`; 1 and 2 are those of `routh`
REST = 1e-6  # of the first approach: what many small impacts leave of it
ROUNDS = 40  # impacts for each active contact, and as many more


@kernel
def fastest(
    contacts: Contacts, active: Active, n: int, bodies: Bodies, vel: np.ndarray, begin: np.ndarray, least: float,
    options: Options,
) -> int:  # fmt: skip
    """The active contact that approaches fastest at `vel` and meets within the step; -1: none approaches.

    It must approach by more than `least` [m/s] without the forces of the step, too, at `begin`: rest is no impact.
    """
    chosen, most = -1, 0.0
    for m in range(n):
        c = active.contact[m]
        u, _, _ = approach(active, m, bodies, vel, contacts.a[c], contacts.b[c])
        if u < most and active.gap[m] + options.dt * u <= options.slop and active.mobility[m] > 0.0:
            w, _, _ = approach(active, m, bodies, begin, contacts.a[c], contacts.b[c])
            if w < -least:
                chosen, most = m, u
    return chosen


@kernel
def impulse_of(G: np.ndarray, u: np.ndarray, mu: float, e: float, e_T: float, law: int, Lambda: np.ndarray) -> bool:
    """Write the impulse (3,) of one contact under a law of `Options.law`; False where the impact has no end."""
    if law == TWO_STEPS:
        return impact_in_two_steps(G, u, mu, e, Lambda)
    if law == WALTON:
        return impact_of_balls(G, u, mu, e, e_T, Lambda)
    if law == ALGEBRAIC:
        return algebraic_impact(G, u, mu, e, e_T, Lambda)
    return spatial_impact(G, u, mu, e, law - 1, Lambda)


@kernel
def strike_one(
    matter: Matter, contacts: Contacts, active: Active, m: int, vel: np.ndarray, joints: Any, parts: Any
) -> bool:
    """One impact of active contact m: velocities before, free and at the end change; False where it has no end."""
    bodies, geoms, materials, curves, options = matter
    G, u, Lambda, c = np.empty(9), np.empty(3), np.zeros(3), active.contact[m]
    a, b = contacts.a[c], contacts.b[c]
    u[0], u[1], u[2] = approach(active, m, bodies, vel, a, b)
    if not matrix_of(bodies, contacts, active, m, joints, parts, G):
        active.mobility[m] = 0.0
        return True
    k, j = geoms.material[contacts.pair[c, 0]], geoms.material[contacts.pair[c, 1]]
    e = restitution_of(materials, curves, k, j, -u[0], G[0])
    if options.dim == 2:  # normals lie in the plane but for rounding, and slip that comes to an end feels as little
        u[2], G[2], G[5], G[6], G[7] = 0.0, 0.0, 0.0, 0.0, 0.0
    if not impulse_of(G, u, active.mu[m], e, materials.eps_T[k, j], options.law, Lambda):
        return False
    x, y, z = give(bodies, contacts, active, m, (Lambda[0], Lambda[1], Lambda[2]), vel, joints, parts)
    v0, v1, v2 = approach(active, m, bodies, vel, a, b)
    work = 0.5 * (Lambda[0] * (u[0] + v0) + Lambda[1] * (u[1] + v1) + Lambda[2] * (u[2] + v2))
    if joints is not None:
        work += catch(bodies, joints, parts, vel, bodies.free)
    note_hit(contacts, c, u, (v0, v1, v2), (x, y, z), work)
    return True


@kernel
def any_hard(matter: Matter, contacts: Contacts, active: Active, n: int) -> bool:
    """Whether a contact approaches so fast that it is an impact."""
    hard = False
    for m in range(n):
        hard = hard or (active.impact[m] and is_hard(matter.bodies, contacts, active, m, matter.options.dt))
    return hard


@kernel
def strike_in_turn(
    matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray, change: np.ndarray, joints: Any,
    parts: Any,
) -> int:  # fmt: skip
    """Do impacts until none is left, at velocities `vel` that have half of `change`, that of the forces.

    Returns how many were left because they had no end.
    """
    bodies, first, begin = matter.bodies, 0.0, vel.copy()
    if matter.options.law == AT_ONCE:
        return strike_at_once(matter, contacts, active, n, vel, joints, parts)
    if matter.options.law == LINEAR or matter.options.law == HERTZ:
        return strike_by_stiffness(matter, contacts, active, n, vel, joints, parts)
    for _ in range(ROUNDS * (n + 1)):
        begin[:] = vel
        add_forces(bodies, change, -0.5, begin)
        m = fastest(contacts, active, n, bodies, vel, begin, REST * first, matter.options)
        if m < 0:
            break
        c = active.contact[m]
        u, _, _ = approach(active, m, bodies, vel, contacts.a[c], contacts.b[c])
        first = max(first, -u)
        if -u <= REST * first:
            break
        if not strike_one(matter, contacts, active, m, vel, joints, parts):
            return 1
    return 0


@kernel(apart=True)
def impacts_in_sequence(matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray) -> int:
    """Do the impacts of a step; `vel`: velocities before, which change, as free and end velocities do.

    Returns how many impacts were left to the contact problem because they had no end.
    """
    bodies = matter.bodies
    if not any_hard(matter, contacts, active, n):
        return 0
    change = bodies.free - vel
    add_forces(bodies, change, 0.5, vel)
    left = strike_in_turn(matter, contacts, active, n, vel, change, None, None)
    add_forces(bodies, change, -0.5, vel)
    end_as_free(bodies)
    return left


@kernel(apart=True)
def impacts_with_joints(
    matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray, joints: Any, given: np.ndarray
) -> int:
    """`impacts_in_sequence` of a scene with joints, whose rows are set; given: free velocities without motors.

    Free velocities end without what torques of motors, which belong to the rows, have given to them.
    """
    bodies, dt = matter.bodies, matter.options.dt
    parts = parts_in_impact(bodies, joints, vel)
    change, before = bodies.free - vel, bodies.free.copy()
    onto_joints(joints, parts, vel, False, dt)
    onto_joints(joints, parts, change, True, dt)
    add_forces(bodies, change, 0.5, vel)
    left = strike_in_turn(matter, contacts, active, n, vel, change, joints, parts)
    add_forces(bodies, change, -0.5, vel)
    row_impulses(parts, joints.row.blow)
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING:
            for k in range(6):
                more = bodies.free[i, k] - before[i, k]
                bodies.ahead[i, k] += more
                bodies.free[i, k] = given[i, k] + more
    end_as_free(bodies)
    return left


@kernel
def end_as_free(bodies: Bodies) -> None:
    """End velocities of the bodies that move are those without contacts."""
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING:
            for k in range(6):
                bodies.end[i, k] = bodies.free[i, k]


@kernel
def add_forces(bodies: Bodies, change: np.ndarray, share: float, vel: np.ndarray) -> None:
    """Add `share` of what forces change in the step to velocities before, in the table `vel`."""
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING:
            for k in range(6):
                vel[i, k] += share * change[i, k]


@kernel
def tangential_size(hit: np.ndarray, normal: np.ndarray) -> tuple[float, float]:
    """Normal and tangential part of an impulse (3,) in world axes [N s]."""
    along = hit[0] * normal[0] + hit[1] * normal[1] + hit[2] * normal[2]
    return along, math.sqrt(max(0.0, hit[0] ** 2 + hit[1] ** 2 + hit[2] ** 2 - along * along))
