"""The order of methods on a contact problem of free bodies, from the impulses of the last step.

    1  Newton from the last impulses; contacts that carry nothing begin at the impulses of least norm
    2  interior point from the last impulses, then Newton
    3  sweeps with momentum from there, then Newton; more sweeps, Newton again

Newton comes first: from the last impulses it ends at impulses near to them, so that loads stay where they are.  Sweeps
move loads along directions in which the laws leave them open.

Measured on 48 steps of walls that balls hit at 5 to 40 m/s and of 200 boxes in a bin (tolerance 1e-6) that 60 steps of
Newton, the interior point and 25 steps more had left.  Solved, and mean time:

    Newton 60, interior point, Newton 60                  22
    Newton 200                                            39    33 ms
    Newton 400                                            43    49 ms
    Newton 200, interior point, Newton 200                42    44 ms
    and sweeps 100, 400, 1600, each with Newton 200       47    59 ms

The last one has mu = 0.9 and an error of 7e-5.  Newton with steps that are shortened until the error falls
(Levenberg, Marquardt) got to 10 of them at most: it is the freedom to get worse that leads out.
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
STEPS = 200  # of Newton at a time
INNER_STEPS, INNER_TOL = 30, 1e-7  # of the interior point method; an error that is left to Newton, relative
PUSH = 1.0  # into the cones, times the velocities
SWEEPS = (100, 400, 1600)
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
    rules = Rules(dim, AIM * enough, enough, STEPS, ALPHA, 0.0, scale)
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
