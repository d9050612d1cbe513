"""The order of methods on contacts and rows of bodies that joints hold together, from the impulses of the last step.

    1  Newton from the last impulses; contacts that carry nothing begin at impulses of least norm
    2  interior point from the last impulses, then Newton
    3  Newton from impulses of least norm
    4  interior point from no impulses, from starts farther inside and nearer to the bounds, then Newton

Newton comes first, for the reason in `velocity_ladder`: loads stay where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.contact.tree_blocks import Plan
from stickslip.contact.tree_interior import interior_tree
from stickslip.contact.tree_newton import TreeRoom, follow_loops, newton_tree, soften_tree, unloaded_tree
from stickslip.contact.tree_problem import TreeMotion, TreeProblem, copy_tree_motion, tree_motion_room
from stickslip.contact.velocity_newton import Rules
from stickslip.jit import kernel

ALPHA = 1e-4  # of Newton: rounding must not move the loads of a grasp, and feet on the ground are redundant
FAR, NEAR = 1e-3, 1e-3  # alpha while the error is above NEAR times the velocities
STEPS, LAST_STEPS = 20, 15  # Newton steps from the last impulses, and from a point that others have found
INNER_STEPS = 40  # of the interior point method
WARM = (1.0, 1e-7, 1e-4)
COLD = ((1.0, 1e-7, 1e-4), (10.0, 1e-9, 1e-4), (0.1, 1e-9, 1e-5), (1e-3, 1e-10, 1e-6))
"""Push inside, error at which the interior point method stops, relative, and alpha of Newton behind it."""
AIM = 0.1  # of the tolerance: what a step of a motion leaves over, the next one has to bear


@kernel
def by_interior(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, settings: Any, tol: float,
    scale: float, noise: float, dim: int,
) -> float:  # fmt: skip
    """Interior point, then Newton; returns the error [m/s].  settings: one row of `COLD`."""
    push, inner_tol, alpha = settings
    inner = Rules(dim, max(inner_tol, AIM * tol) * scale, INNER_STEPS, 0.0, 0.0, 0.0, 0.0)
    interior_tree(problem, plan, masses, motion, inner, room, push, scale)
    last = Rules(dim, AIM * tol * scale, LAST_STEPS, alpha, 0.0, 0.0, 0.0)
    return newton_tree(problem, plan, masses, motion, last, room, noise)


@kernel(apart=True)
def solve_tree_laws(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom, tol: float, scale: float,
    noise: float, dim: int,
) -> tuple[float, int]:  # fmt: skip
    """Improve the impulses of a motion until the laws hold to tol times scale, the largest velocity [m/s].

    noise: rounding of positions in the velocities [m/s].
    Returns the error [m/s] and the number of the stage that ended it.
    """
    n, k, m = motion.contacts.r.shape[0], motion.z.shape[0], motion.contacts.v.shape[0]
    enough = tol * scale
    start, best = tree_motion_room(n, k, m), tree_motion_room(n, k, m)
    rules = Rules(dim, AIM * enough, STEPS, ALPHA, 0.0, FAR, NEAR * scale)
    follow_loops(problem, plan, masses, motion, rules, room)
    copy_tree_motion(motion, start)
    if n + k > 1 and unloaded_tree(motion):
        soften_tree(problem, plan, masses, motion, rules, room, scale)
    least, stage = newton_tree(problem, plan, masses, motion, rules, room, noise), 1
    copy_tree_motion(motion, best)
    for settings in (WARM, COLD[0], COLD[0], COLD[1], COLD[2], COLD[3]):
        if least > enough or not least < np.inf:
            stage += 1
            if stage == 3:  # the last impulses have not helped: begin without any
                forget(problem, start)
                follow_loops(problem, plan, masses, start, rules, room)
            copy_tree_motion(start, motion)
            if stage == 3:
                soften_tree(problem, plan, masses, motion, rules, room, scale)
                error = newton_tree(problem, plan, masses, motion, rules, room, noise)
            else:
                error = by_interior(problem, plan, masses, motion, room, settings, tol, scale, noise, dim)
            if error < least:
                least = error
                copy_tree_motion(motion, best)
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
