"""Slips that may come from how a step is linearised: contacts and joints are linearised anew, and it is solved again.

Slip over a step (`slips`) and what joints ask for (`joint_rows`) are not linear in the velocities of bodies that turn,
and are taken about velocities that are expected.  With others found at the end of the step, contacts and joints of
bodies that are held together contradict one another by dt omega times the change of velocity.  Then no impulses let all
contacts stick, and a box in a hand would slip as the contradictions will.  A slip that is smaller than these cannot be
told from rest: the step is linearised about the velocities found, and solved from the impulses that it had begun with.
What is left falls by dt omega each time.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.held_rows import point_errors
from stickslip.scenes.islands.island import GRAINS, island_scale
from stickslip.scenes.islands.joint_rows import LIMIT, ask_to_close, midpoints_ahead
from stickslip.scenes.islands.problem import contact_velocity, last_impulse
from stickslip.scenes.islands.row_kinds import SPRING
from stickslip.scenes.islands.slips import gap_beyond, slip_beyond
from stickslip.scenes.layout import ROWS_PER_JOINT, Geoms, Options
from stickslip.scenes.parts import Island

ROUNDS = 5  # times that a step is linearised anew, at most
DOUBT = 10.0  # times the change of what is linearised: slips up to there may come from it
SLIPS = 10.0  # times the tolerance: what is slower is no slip
FALLS = 0.5  # what a round must leave of that change, at most, for one more


@kernel(apart=True)
def linearise_joints(island: Island, planar: bool, dt: float, take: bool) -> float:
    """Linearise the joints of an island about the end velocities; returns how much what they ask for changes [m/s].

    take: they ask for it from now on.
    """
    bodies, joints, largest, last = island.bodies, island.joints, 0.0, -1
    old, ahead = np.empty(LIMIT), np.empty((bodies.kind.shape[0], 7))
    midpoints_ahead(joints, bodies, bodies.end, dt, ahead)
    for m in range(island.row_first, island.row_last):
        j = island.rows[m] // ROWS_PER_JOINT
        if j == last or joints.link.kind[j] == SPRING:
            continue
        last, s = j, j * ROWS_PER_JOINT
        for k in range(LIMIT):
            old[k] = joints.row.target[s + k]
        ask_to_close(joints, j, ahead, bodies.end, planar, dt)
        points, total = point_errors(joints.link.kind[j], planar), 0.0
        for k in range(LIMIT):
            if joints.row.used[s + k]:
                change = joints.row.target[s + k] - old[k]
                change *= 1.0 if k < points else joints.link.extent[j]
                total += change * change
                if not take:
                    joints.row.target[s + k] = old[k]
        largest = max(largest, math.sqrt(total))  # of all rows together: no turn of the axes changes it
    return largest


@kernel(apart=True)
def linearise_slips(island: Island, geoms: Geoms, dim: int, dt: float, take: bool) -> float:
    """Linearise the slips of an island about the end velocities; returns the largest change of one [m/s].

    take: the contacts have them from now on, and the impulses of the last step.
    """
    bodies, contacts, active, largest, now = island.bodies, island.contacts, island.active, 0.0, np.empty(3)
    for m in range(island.first, island.last):
        i = island.order[m]
        if active.turning[i] and active.mu[i] > 0.0:
            now[0] = 0.0
            now[1], now[2] = slip_beyond(bodies.end, geoms, contacts, active, i, dt)
            if active.beyond[i, 0] != 0.0:
                now[0] = gap_beyond(bodies.end, geoms, contacts, active, i, dt)
            total = 0.0
            for k in range(3):
                change = now[k] - active.beyond[i, k]
                total += change * change
                if take:
                    active.beyond[i, k] = now[k]
                    active.bias[i, k] += change
            largest = max(largest, math.sqrt(total))
        if take:
            last_impulse(contacts, active, i, dim)
    return largest


@kernel(apart=True)
def least_slip(island: Island, dim: int, tol: float) -> float:
    """The slowest slip of a contact that carries load [m/s]; infinite without any.

    What the solver and the rounding of coordinates leave of sticking is no slip: far from the origin steps would be
    linearised anew that are not so at home, and move on otherwise.
    """
    bodies, contacts, active, least = island.bodies, island.contacts, island.active, np.inf
    nothing = SLIPS * tol * island_scale(island, GRAINS)
    for m in range(island.first, island.last):
        i = island.order[m]
        c = active.contact[i]
        if active.r[i, 0] > 0.0 and active.mu[i] > 0.0:
            _, s, t = contact_velocity(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
            s, t = s + active.bias[i, 1], t + active.bias[i, 2] if dim == 3 else 0.0
            slip = math.sqrt(s * s + t * t)
            if slip > nothing:
                least = min(least, slip)
    return least


@kernel
def any_turning(island: Island) -> bool:
    """Whether slip over the step has a part of its own at a contact of an island."""
    found = False
    for m in range(island.first, island.last):
        i = island.order[m]
        found = found or (island.active.turning[i] and island.active.mu[i] > 0.0)
    return found


@kernel(apart=True)
def renew(island: Island, geoms: Geoms, options: Options, before: float) -> float:
    """Linearise an island anew where a slip may come from how that was done; returns the largest change [m/s].

    It is 0 where nothing is to be solved again.  before: the change of the round before, or infinite.
    """
    if not any_turning(island):
        return 0.0
    slip = least_slip(island, options.dim, options.tol)
    if not slip < np.inf:
        return 0.0
    change = linearise_slips(island, geoms, options.dim, options.dt, False)
    if island.joints is not None:
        change = max(change, linearise_joints(island, options.dim == 2, options.dt, False))
    if not slip <= DOUBT * change or not change < FALLS * before:
        return 0.0
    linearise_slips(island, geoms, options.dim, options.dt, True)
    if island.joints is not None:
        linearise_joints(island, options.dim == 2, options.dt, True)
    return change
