"""The order of methods on a contact problem of free bodies, from the impulses of the last step.

    1  Newton from the last impulses; contacts that carry nothing begin at the impulses of least norm
    2  interior point from the last impulses, then Newton
    3  sweeps with momentum from there, then Newton; more sweeps, Newton again

Newton comes first: from the last impulses it ends at impulses near to them, so that loads stay where they are.  Sweeps
move loads along directions in which the laws leave them open.

Measured on steps that Newton with 15 steps and alpha = 1e-6 leaves: 94 steps of a wall of 100 bricks that a ball hits
(640 to 1310 contacts, tolerance 1e-6), 201 islands of up to 23 contacts of 200 boxes that fall into a bin (1e-6), and
23 steps of a tumbling cube (1e-8).  Solved by Newton, 40 steps:

    alpha          1e-2   1e-3   1e-4   1e-3, then 1e-4 below an error of 1e-3
    wall, of 94      80     84     63     82
    boxes, of 201   139    161    167    176
    cube, of 23       2      3     13     11

With all stages 92, 201 and 23, in 16, 0.1 and 0.05 ms on average, measured with alpha = 1e-4 throughout and sweeps up
to 800.  The wall's last two had errors of 2e-6 and 1e-5: hence the longer sweeps, which were not measured on this set.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.velocity_blocks import Pattern, find_pattern
from stickslip.contact.velocity_interior import interior_point
from stickslip.contact.velocity_newton import Room, Rules, newton, newton_room, plain_rules, soften, unloaded
from stickslip.contact.velocity_problem import Motion, VelocityProblem
from stickslip.contact.velocity_sweeps import local_blocks, momentum_sweeps
from stickslip.jit import kernel

ALPHA = 1e-5  # of Newton, at last: see `velocity_newton`
STEPS, LAST_STEPS = 60, 25  # Newton steps from the last impulses, and from a point that others have found
INNER_STEPS, INNER_TOL = 30, 1e-7  # of the interior point method; an error that is left to Newton, relative
PUSH = 1.0  # into the cones, times the velocities
SWEEPS = (50, 150, 400, 800, 1600, 3200, 6400)
AIM = 0.1  # of the tolerance: what a step of a motion leaves over, the next one has to bear


@kernel
def take(source: np.ndarray, r: np.ndarray) -> None:
    """r = source."""
    for i in range(r.shape[0]):
        for k in range(3):
            r[i, k] = source[i, k]


@kernel
def by_sweeps(
    problem: VelocityProblem, pattern: Pattern, motion: Motion, rules: Rules, room: Room, enough: float
) -> float:
    """Sweeps and Newton in turn, until an error is `enough`; returns the error of the best, which is taken."""
    local, start, best, least = local_blocks(problem, rules.dim), motion.r.copy(), motion.r.copy(), np.inf
    for count in SWEEPS:
        take(start, motion.r)
        momentum_sweeps(problem, local, motion, count, rules.dim)
        take(motion.r, start)
        error = newton(problem, pattern, motion, rules, room)
        if error < least:
            least = error
            take(motion.r, best)
        if least <= enough:
            break
    take(best, motion.r)
    return least


@kernel(apart=True)
def solve_velocities(problem: VelocityProblem, motion: Motion, tol: float, scale: float, dim: int) -> tuple[float, int]:
    """Improve the impulses of a motion until the laws hold to tol times scale, the largest velocity [m/s].

    Returns the error [m/s] and the number of the stage that ended it.
    """
    pattern = find_pattern(problem)
    room, start, enough = newton_room(problem, pattern), motion.r.copy(), tol * scale
    rules = Rules(dim, AIM * enough, STEPS, ALPHA, 0.0, scale)
    if motion.r.shape[0] > 1 and unloaded(motion.r):
        soften(problem, pattern, motion, rules, room, scale)
    least = newton(problem, pattern, motion, rules, room)
    if least <= enough:
        return least, 1
    best = motion.r.copy()
    take(start, motion.r)
    inner = plain_rules(dim, max(INNER_TOL, AIM * tol) * scale, INNER_STEPS, 0.0, 0.0)
    interior_point(problem, pattern, motion, inner, room, PUSH, scale)
    take(motion.r, start)
    rules = Rules(dim, AIM * enough, LAST_STEPS, ALPHA, 0.0, scale)
    error, stage = newton(problem, pattern, motion, rules, room), 2
    if error > enough:
        if error < least:
            least = error
            take(motion.r, best)
        take(start, motion.r)
        error, stage = by_sweeps(problem, pattern, motion, rules, room, enough), 3
    if error > least:
        take(best, motion.r)
    return min(error, least), stage
