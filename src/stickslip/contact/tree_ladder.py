"""The order of methods on contacts and rows of bodies that joints hold together, from the impulses of the last step.

    1  without contacts, linear equations of the rows that are not at their bounds
       Newton from the last impulses; contacts that carry nothing begin at impulses of least norm, and where these let
       one slip, at impulses with which none does, if there are any (`tree_rest`)
    2  interior point from the last impulses, then Newton
    3  proximal point: problems that hold on to the impulses there are; after each, a few steps of Newton
    4  interior point from the best impulses so far, down to the tolerance, and Newton: corners of a face whose gaps
       contradict one another by rounding hold the others up (a step of a dropped a1: 0.1 ms, by proximal point 6.8 ms);
       not before, since it moves loads
    5  proximal point, as long as it takes

Where a contact that has been at rest lets go with what is found, impulses are looked for with which none does.
Newton comes first: from the last impulses it ends at impulses near to them, so that loads stay where they are.

Free bodies, of which there may be many, have an order of their own (`solve_free_laws`):

    1  Newton from the last impulses; contacts that carry nothing begin at the impulses of least norm
    2  interior point from the best impulses so far, then Newton from there; FREE_ROUNDS times

Measured on steps of walls that balls hit at 5 to 40 m/s, and of 200 boxes in a bin (tolerance 1e-6): 64 that 60 steps
of Newton, an interior point and 25 steps more had left, and 6 that sweeps with momentum and Newton had left as well.
Solved, and mean time:

    Newton 200                                                           57          0
    Newton 200, interior point from the last impulses, Newton 200        62          0
    and sweeps 100, 400, 1600, each with Newton 200                      64  28 ms   1  343 ms
    Newton 200, rounds of interior point 60 and Newton 200               64  26 ms   5  211 ms

20 steps of the interior point at a time do as well: see NEWTON_STEPS.

The last one has mu = 0.9 and an error of 8e-6.  Pushed farther into the cones (1 instead of 0.01) the interior point
forgets where it came from: 2 of the 6.  Newton with steps that are shortened until the error falls (Levenberg,
Marquardt) got to 10 of 48 at most: it is the freedom to get worse that leads out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.contact.constants import (
    AIM,
    CALM,
    FALL,
    FREE_PUSH,
    FREE_ROUNDS,
    FREE_STEPS,
    LITTLE,
    MORE,
    MOVES,
    NEWTON_STEPS,
    SLOW,
    SOFT_TOL,
    WILD,
)
from stickslip.contact.rounding import FREE_ALPHA, ROOT, TREE_ALPHA
from stickslip.contact.tree_interior import interior_tree
from stickslip.contact.tree_newton import (
    TreeRoom,
    TreeRules,
    follow_loops,
    follow_rows,
    newton_tree,
    plain_rules,
    soften_tree,
    tree_velocities,
    unloaded_tree,
)
from stickslip.contact.tree_plan import Plan
from stickslip.contact.tree_problem import TreeMotion, TreeProblem, copy_tree_motion, tree_motion_room
from stickslip.contact.tree_rest import lets_go, rest_tree, slips
from stickslip.jit import kernel


@kernel
def shift_bias(problem: TreeProblem, bias: np.ndarray, soft: float, centre: np.ndarray) -> None:
    """Let contacts give way to the change of their impulses from `centre` alone, with the softness [1/kg]."""
    for i in range(bias.shape[0]):
        for k in range(3):
            problem.contacts.bias[i, k] = bias[i, k] - soft * centre[i, k]


class Laws(NamedTuple):
    """How well the laws are to hold in a motion.

    tol : error that is asked for, times scale, the largest velocity [m/s].  sharp : the scale that Newton aims at,
    below the scale where that is one of rounding.  noise : error that rounding of positions explains [m/s].
    rounding : theirs, relative to the velocities.  quick : what Newton leaves is not gone on with.
    tried : Newton from the impulses at hand has failed already.
    """

    tol: float
    scale: float
    sharp: float
    noise: float
    rounding: float
    dim: int
    quick: bool
    tried: bool


@kernel(apart=True)
def by_proximal(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, laws: Laws, rounds: int
) -> float:
    """Problems whose contacts give way to changes of their impulses, less and less; after each, Newton.

    These are regular, so that redundant impulses stay near to those there are.  Returns the error of the best [m/s].
    """
    tol, scale, _, noise, _, dim, _, _ = laws
    n, k, m = motion.contacts.r.shape[0], motion.z.shape[0], motion.contacts.v.shape[0]
    centre, best, bias = tree_motion_room(n, k, m), tree_motion_room(n, k, m), problem.contacts.bias.copy()
    copy_tree_motion(motion, centre)
    copy_tree_motion(motion, best)
    size, least, a = np.inf, np.inf, TREE_ALPHA
    for i in range(n):
        size = min(size, problem.contacts.size[i])
    for _ in range(rounds):
        soft, reached = plain_rules(dim, AIM * tol * scale, NEWTON_STEPS, SOFT_TOL, a * size), np.inf
        copy_tree_motion(centre, motion)
        shift_bias(problem, bias, a * size, centre.contacts.r)
        reached = newton_tree(problem, plan, masses, motion, soft, room, 0.0)
        shift_bias(problem, bias, 0.0, centre.contacts.r)
        if not reached <= soft.tol:
            a = min(a / FALL**2, 1.0 / SLOW**2)
            continue
        a *= FALL
        copy_tree_motion(motion, centre)
        last = plain_rules(dim, AIM * tol * scale, MORE + 1, TREE_ALPHA, 0.0)
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
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, before: np.ndarray, laws: Laws
) -> tuple[float, int]:
    """Improve the impulses of a motion until the laws hold; returns the error [m/s] and the stage that ended it.

    before (n,): slip in the step before [m/s], infinite for contacts that carried nothing.
    """
    tol, scale, sharp, noise, rounding, dim, quick, tried = laws
    n, k, start, best = motion.contacts.r.shape[0], motion.z.shape[0], room.start, room.found
    if n + k == 0:
        tree_velocities(problem, masses, motion, room)
        return 0.0, 1
    enough, still = tol * scale, MOVES * tol * sharp
    alpha = max(TREE_ALPHA, min(WILD, rounding / SOFT_TOL))
    rules = TreeRules(dim, AIM * tol * sharp, NEWTON_STEPS, alpha, 0.0, CALM, CALM * scale)
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
    least, stage = np.inf, 1
    if fresh or not tried:
        least = newton_tree(problem, plan, masses, motion, rules, room, noise)
    copy_tree_motion(motion, best)
    if quick and not least <= enough:
        return least, stage
    if fresh and slips(motion, still):
        error = rest_tree(problem, plan, masses, motion, rules, room, (enough, scale, still, noise))
        if error <= enough:
            least = error
            copy_tree_motion(motion, best)
    for turn in range(4 if n > 0 else 1):
        if least > enough or not least < np.inf:
            stage += 1
            if turn % 2 == 0:
                copy_tree_motion(start if turn == 0 else best, motion)
                near = AIM * tol if turn == 2 else max(ROOT, AIM * tol)
                inner = plain_rules(dim, near * scale, NEWTON_STEPS, 0.0, 0.0)
                interior_tree(problem, plan, masses, motion, inner, room, 1.0, scale)
                last = plain_rules(dim, AIM * enough, NEWTON_STEPS, TREE_ALPHA, 0.0)
                error = newton_tree(problem, plan, masses, motion, last, room, noise)
            else:
                copy_tree_motion(best, motion)
                rounds = NEWTON_STEPS if turn == 1 else FREE_STEPS
                error = by_proximal(problem, plan, masses, motion, room, laws, rounds)
            if error < least:
                least = error
                copy_tree_motion(motion, best)
    if lets_go(best, before, still, 10.0 * enough):
        error = rest_tree(problem, plan, masses, motion, rules, room, (enough, scale, still, noise))
        if error <= enough:
            return error, stage
    copy_tree_motion(best, motion)
    return least, stage


@kernel(apart=True)
def solve_free_laws(
    problem: TreeProblem, plan: Plan, motion: TreeMotion, room: TreeRoom, tol: float, scale: float, dim: int,
    quick: bool,
) -> tuple[float, int]:  # fmt: skip
    """`solve_tree_laws` for free bodies."""
    enough, best = tol * scale, room.found
    rules = TreeRules(dim, AIM * enough, NEWTON_STEPS if quick else FREE_STEPS, FREE_ALPHA, 0.0, WILD, scale)
    inner = plain_rules(dim, max(ROOT, AIM * tol) * scale, NEWTON_STEPS, 0.0, 0.0)
    if motion.contacts.r.shape[0] > 1 and unloaded_tree(motion):
        soften_tree(problem, plan, plan, motion, rules, room, scale)
    least, stage, push = newton_tree(problem, plan, plan, motion, rules, room, 0.0), 1, FREE_PUSH
    if quick:
        return least, stage
    if least > enough:
        copy_tree_motion(motion, best)
    while least > enough and stage <= FREE_ROUNDS:
        interior_tree(problem, plan, plan, motion, inner, room, push, scale)
        error = newton_tree(problem, plan, plan, motion, rules, room, 0.0)
        stage += 1
        push *= 1.0 / LITTLE
        if error < least:
            least, push = error, FREE_PUSH
            copy_tree_motion(motion, best)
        copy_tree_motion(best, motion)
    return least, stage
