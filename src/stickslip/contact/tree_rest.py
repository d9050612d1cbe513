"""Impulses with which all contacts that carry load stick, where there are any.

With the law of associated friction, r in the cone K, u in its dual cone, r . u = 0, impulses minimise a convex function
and velocities are unique.  Impulses that let no loaded contact slip obey it as well as the laws of friction.  So where
such impulses exist, the minimiser is one of them: a state of rest that the laws allow is found, also where the laws
allow others.  A sphere between a plate and two fingers is an example: friction of the fingers across their motors takes
load off the plate, which then slips.

Contacts that give way to impulses, u + soft r instead of u, make the impulses unique, with

    r = P_K(-u / soft),    dr = P_K(-u / soft) - r - K J dv,    K = P_K'(-u / soft) / soft,

and less and less soft ones lead to those of least norm.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.constants import FALL, HALVINGS, HELD, NEWTON_STEPS, ROUGHLY, SHARES, SOFT_TOL, SOFTER
from stickslip.contact.tree_newton import (
    TreeRoom,
    TreeRules,
    linearise_rows,
    measure_tree,
    newton_tree,
    plain_rules,
    tree_step,
)
from stickslip.contact.tree_plan import Plan
from stickslip.contact.tree_problem import TreeMotion, TreeProblem, copy_tree_motion
from stickslip.jit import kernel


@kernel(apart=True)
def slips(motion: TreeMotion, least: float) -> bool:
    """Whether a contact that carries load slips faster than `least` [m/s]."""
    found = False
    for i in range(motion.contacts.r.shape[0]):
        u = motion.contacts.u[i]
        found = found or (motion.contacts.r[i, 0] > 0.0 and math.sqrt(u[1] * u[1] + u[2] * u[2]) > least)
    return found


@kernel(apart=True)
def lets_go(motion: TreeMotion, before: np.ndarray, least: float, enough: float) -> bool:
    """Whether a contact that carried load and was at rest slips faster than `least` [m/s], and does not open.

    before (n,): slip in the step before [m/s], infinite without load.  enough: tolerance [m/s]: slower is rest.
    """
    found = False
    for i in range(before.shape[0]):
        u = motion.contacts.u[i]
        slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
        found = found or (slip > least and before[i] < max(HELD * slip, enough) and not u[0] > least)
    return found


@kernel
def project(y: np.ndarray, mu: float, soft: float, k: np.ndarray, K: np.ndarray) -> bool:
    """P_K(y) in k, and P_K'(y) / soft in K; False where both are zero."""
    size, g = math.sqrt(y[1] * y[1] + y[2] * y[2]), 1.0 / soft
    for j in range(9):
        K[j] = 0.0
    if size <= mu * y[0]:
        for j in range(3):
            k[j], K[4 * j] = y[j], g
        return True
    if mu * size <= -y[0]:
        for j in range(3):
            k[j] = 0.0
        return False
    t1, t2, part = y[1] / size, y[2] / size, g / (1.0 + mu * mu)
    load = (y[0] + mu * size) / (1.0 + mu * mu)
    across = g * mu * load / size
    k[0], k[1], k[2] = load, mu * load * t1, mu * load * t2
    K[0], K[1], K[2], K[3], K[6] = part, part * mu * t1, part * mu * t2, part * mu * t1, part * mu * t2
    K[4] = part * mu * mu * t1 * t1 + across * t2 * t2
    K[5] = (part * mu * mu - across) * t1 * t2
    K[7], K[8] = K[5], part * mu * mu * t2 * t2 + across * t1 * t1
    return True


@kernel(apart=True)
def rest_error(
    problem: TreeProblem,
    masses: Plan,
    motion: TreeMotion,
    room: TreeRoom,
    rules: TreeRules,
    soft: float,
    share: float,
) -> float:
    """Set velocities, K and k = P_K(-u / soft) - r of all contacts; returns the largest change of an impulse [N s].

    Rows count with their defects, divided by their sizes.
    """
    contacts, r, rows, y = problem.contacts, motion.contacts.r, problem.rows, np.zeros(3)
    measure_tree(problem, masses, motion, rules, room, False)
    total = 0.0
    for i in range(r.shape[0]):
        for k in range(rules.dim):
            y[k] = -motion.contacts.u[i, k] / soft
        room.loaded[i] = project(y, share * contacts.mu[i], soft, room.dr[i], room.K[i])
        if rules.dim == 2:
            room.K[i, 8] = 0.0
        for k in range(3):
            room.dr[i, k] -= r[i, k]
            total += room.dr[i, k] ** 2
    for i in range(motion.z.shape[0]):
        z = motion.z[i]
        change = min(rows.high[i], max(rows.low[i], z - motion.w[i] / rows.size[i])) - z
        total += change * change
    return math.sqrt(total)


@kernel(apart=True)
def to_rest(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, dim: int, share: float
) -> None:
    """Take the impulses of a motion to those of the associated law with a share of the friction, of least norm."""
    contacts, r, trial = problem.contacts, motion.contacts.r, room.trial
    rules, least = plain_rules(dim, 0.0, NEWTON_STEPS, SOFT_TOL, 0.0), contacts.size[0]
    for i in range(r.shape[0]):
        least = min(least, contacts.size[i])
    soft = SOFTER[0] * least
    while soft > SOFTER[-1] * least:
        error = rest_error(problem, masses, motion, room, rules, soft, share)
        for _ in range(NEWTON_STEPS):
            linearise_rows(problem, motion, rules, room)
            if not tree_step(problem, plan, room, True):
                return
            t, new, size = 1.0, np.inf, 0.0
            change, other = room.dr.copy(), room.dz.copy()
            for _ in range(1 + HALVINGS):
                for i in range(r.shape[0]):
                    for k in range(3):
                        trial.contacts.r[i, k] = r[i, k] + t * change[i, k]
                        size = max(size, abs(trial.contacts.r[i, k]))
                for i in range(motion.z.shape[0]):
                    trial.z[i] = motion.z[i] + t * other[i]
                new = rest_error(problem, masses, trial, room, rules, soft, share)
                if new < (1.0 - 0.1 * t) * error:
                    break
                t *= 0.5
            copy_tree_motion(trial, motion)
            error = new
            if not error > SOFT_TOL * size:
                break
        soft *= FALL


@kernel(apart=True)
def rest_tree(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom,
    bounds: tuple[float, float, float, float],
) -> float:  # fmt: skip
    """Look for impulses, from those of `room.start`, with which no loaded contact slips; returns their error [m/s].

    It is infinite where there are none.  bounds: tolerance, the largest velocity, slip that is rest, and error that
    rounding explains [m/s].
    """
    start = room.start
    enough, scale, still, noise = bounds
    copy_tree_motion(start, motion)
    to_rest(problem, plan, masses, motion, room, rules.dim, 1.0)
    if slips(motion, ROUGHLY * scale):
        return np.inf
    for share in SHARES:
        copy_tree_motion(start, motion)
        to_rest(problem, plan, masses, motion, room, rules.dim, share)
        error = newton_tree(problem, plan, masses, motion, rules, room, noise)
        if error <= enough and not slips(motion, still):
            return error
    return np.inf
