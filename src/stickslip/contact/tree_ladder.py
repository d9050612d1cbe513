"""The order of methods on contacts and rows of bodies that joints hold together, from the impulses of the last step.

    1  without contacts, linear equations of the rows that are not at their bounds
       Newton from the last impulses; contacts that carry nothing begin at impulses of least norm, and where these let
       one slip, at impulses with which none does, if there are any (`tree_rest`)
    2  interior point from the last impulses, then Newton
    3  proximal point: problems that hold on to the impulses there are; after each, Newton
    4  Newton from impulses of least norm
    5  interior point from no impulses, farther inside and nearer to the bounds, then Newton

Where a contact that has been at rest lets go with what is found, impulses are looked for with which none does.
Newton comes first, for the reason in `velocity_ladder`: loads stay where they are.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.tree_blocks import Plan
from stickslip.contact.tree_interior import interior_tree
from stickslip.contact.tree_newton import (
    TreeRoom,
    TreeRules,
    follow_loops,
    follow_rows,
    newton_tree,
    soften_tree,
    tree_velocities,
    unloaded_tree,
)
from stickslip.contact.tree_problem import TreeMotion, TreeProblem, copy_tree_motion, tree_motion_room
from stickslip.contact.tree_rest import MOVES, lets_go, rest_tree, slips
from stickslip.jit import kernel

ALPHA = 1e-4  # of Newton: rounding must not move the loads of a grasp, and feet on the ground are redundant
STEADY, LOUD = 5e-10, 1e-1  # part of the loads that rounding of positions may move in a step; the largest alpha for it
FAR, NEAR = 1e-3, 1e-3  # alpha while the error is above NEAR times the velocities
STEPS, LAST_STEPS = 20, 15  # Newton steps from the last impulses, and from a point that others have found
INNER_STEPS = 40  # of the interior point method
STAGES = 6  # behind the first; of each, where it is the interior point method:
PUSH = (1.0, 0.0, 0.0, 10.0, 0.1, 1e-3)  # inside the cones and bounds, times the velocities
INNER_TOL = (1e-7, 0.0, 0.0, 1e-9, 1e-9, 1e-10)  # error at which it stops, relative
INNER_ALPHA = (1e-4, 0.0, 0.0, 1e-4, 1e-5, 1e-6)  # of Newton behind it
PROXIMAL, COLD = 1, 2  # places in the order: problems that are regular, and Newton from impulses of least norm
START, FALL, RISE, MOST = 0.1, 0.5, 4.0, 100.0  # softness of the regular problems, times the least size of a contact
ROUNDS, SHARP, SOFT_ALPHA = 40, 0.1, 1e-9  # of them at most; their tolerance, times that asked for; and their alpha
AIM = 0.1  # of the tolerance: what a step of a motion leaves over, the next one has to bear


@kernel
def shift_bias(problem: TreeProblem, bias: np.ndarray, soft: float, centre: np.ndarray) -> None:
    """Let contacts give way to the change of their impulses from `centre` alone, with the softness [1/kg]."""
    for i in range(bias.shape[0]):
        for k in range(3):
            problem.contacts.bias[i, k] = bias[i, k] - soft * centre[i, k]


@kernel(apart=True)
def by_proximal(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, tol: float, scale: float,
    noise: float, dim: int,
) -> float:  # fmt: skip
    """Problems whose contacts give way to changes of their impulses, less and less; after each, Newton.

    These are regular, so that redundant impulses stay near to those there are.  Returns the error of the best [m/s].
    """
    n, k, m = motion.contacts.r.shape[0], motion.z.shape[0], motion.contacts.v.shape[0]
    centre, best, bias = tree_motion_room(n, k, m), tree_motion_room(n, k, m), problem.contacts.bias.copy()
    copy_tree_motion(motion, centre)
    copy_tree_motion(motion, best)
    size, least, a = np.inf, np.inf, START
    for i in range(n):
        size = min(size, problem.contacts.size[i])
    for _ in range(ROUNDS if n > 0 else 0):
        soft, reached = TreeRules(dim, SHARP * tol * scale, STEPS, SOFT_ALPHA, a * size, 0.0, 0.0), np.inf
        copy_tree_motion(centre, motion)
        shift_bias(problem, bias, a * size, centre.contacts.r)
        reached = newton_tree(problem, plan, masses, motion, soft, room, 0.0)
        shift_bias(problem, bias, 0.0, centre.contacts.r)
        if not reached <= soft.tol:
            a = min(RISE * a, MOST)
            continue
        a *= FALL
        copy_tree_motion(motion, centre)
        last = TreeRules(dim, AIM * tol * scale, LAST_STEPS, ALPHA, 0.0, 0.0, 0.0)
        error = newton_tree(problem, plan, masses, motion, last, room, noise)
        if error < least:
            least = error
            copy_tree_motion(motion, best)
        if least <= tol * scale:
            break
    copy_tree_motion(best, motion)
    return least


@kernel(apart=True)
def solve_tree_laws(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, tol: float, scale: float,
    noise: float, rounding: float, before: np.ndarray, dim: int,
) -> tuple[float, int]:  # fmt: skip
    """Improve the impulses of a motion until the laws hold to tol times scale, the largest velocity [m/s].

    noise: error that rounding of positions explains [m/s]; rounding: their rounding, relative to the velocities.
    before (n,): slip in the step before [m/s], infinite for contacts that carried nothing.
    Returns the error [m/s] and the number of the stage that ended it.
    """
    n, k, start, best = motion.contacts.r.shape[0], motion.z.shape[0], room.start, room.found
    if n + k == 0:
        tree_velocities(problem, masses, motion, room)
        return 0.0, 1
    enough = tol * scale
    alpha = max(ALPHA, min(LOUD, rounding / STEADY))
    rules = TreeRules(dim, AIM * enough, STEPS, alpha, 0.0, FAR, NEAR * scale)
    if n == 0:
        copy_tree_motion(motion, start)
        least = follow_rows(problem, plan, masses, motion, room)
        if least <= rules.tol:
            return least, 1
        copy_tree_motion(start, motion)
    follow_loops(problem, plan, masses, motion, rules, room)
    copy_tree_motion(motion, start)
    fresh = n + k > 1 and unloaded_tree(motion)
    if fresh:
        soften_tree(problem, plan, masses, motion, rules, room, scale)
    least, stage = newton_tree(problem, plan, masses, motion, rules, room, noise), 1
    copy_tree_motion(motion, best)
    if fresh and slips(motion, MOVES * enough):
        error = rest_tree(problem, plan, masses, motion, rules, room, start, enough, scale, noise)
        if error <= enough:
            least = error
            copy_tree_motion(motion, best)
    for turn in range(STAGES):
        if least > enough or not least < np.inf:
            stage += 1
            if turn == COLD:  # the last impulses have not helped: begin without any
                forget(problem, start)
                follow_loops(problem, plan, masses, start, rules, room)
            copy_tree_motion(start, motion)
            if turn == PROXIMAL:
                copy_tree_motion(best, motion)
                error = by_proximal(problem, plan, masses, motion, room, tol, scale, noise, dim)
            elif turn == COLD:
                soften_tree(problem, plan, masses, motion, rules, room, scale)
                error = newton_tree(problem, plan, masses, motion, rules, room, noise)
            else:
                inner = TreeRules(dim, max(INNER_TOL[turn], AIM * tol) * scale, INNER_STEPS, 0.0, 0.0, 0.0, 0.0)
                interior_tree(problem, plan, masses, motion, inner, room, PUSH[turn], scale)
                last = TreeRules(dim, AIM * enough, LAST_STEPS, INNER_ALPHA[turn], 0.0, 0.0, 0.0)
                error = newton_tree(problem, plan, masses, motion, last, room, noise)
            if error < least:
                least = error
                copy_tree_motion(motion, best)
    if lets_go(best, before, MOVES * enough):
        error = rest_tree(problem, plan, masses, motion, rules, room, start, enough, scale, noise)
        if error <= enough:
            return error, stage
    copy_tree_motion(best, motion)
    return least, stage


@kernel
def forget(problem: TreeProblem, motion: TreeMotion) -> None:
    """Set all impulses to none, or to the bound nearest to none."""
    for i in range(motion.contacts.r.shape[0]):
        for c in range(3):
            motion.contacts.r[i, c] = 0.0
    for i in range(motion.z.shape[0]):
        motion.z[i] = min(problem.rows.high[i], max(problem.rows.low[i], 0.0))
