"""The order of methods on a contact problem of free bodies, from the impulses of the last step.

    1  Newton from the last impulses; contacts that carry nothing begin at the impulses of least norm
    2  interior point from the best impulses so far, then Newton from there; ROUNDS times

Newton comes first: from the last impulses it ends at impulses near to them, so that loads stay where they are.

Measured on steps of walls that balls hit at 5 to 40 m/s, and of 200 boxes in a bin (tolerance 1e-6): 64 that 60 steps
of Newton, an interior point and 25 steps more had left, and 6 that sweeps with momentum and Newton had left as well.
Solved, and mean time:

    Newton 200                                                           57          0
    Newton 200, interior point from the last impulses, Newton 200        62          0
    and sweeps 100, 400, 1600, each with Newton 200                      64  28 ms   1  343 ms
    Newton 200, rounds of interior point 60 and Newton 200               64  26 ms   5  211 ms

The last one has mu = 0.9 and an error of 8e-6.  Pushed farther into the cones (1 instead of 0.01) the interior point
forgets where it came from: 2 of the 6.  Newton with steps that are shortened until the error falls (Levenberg,
Marquardt) got to 10 of 48 at most: it is the freedom to get worse that leads out.
"""

from __future__ import annotations

import numpy as np

from stickslip.contact.velocity_blocks import find_pattern
from stickslip.contact.velocity_interior import interior_point
from stickslip.contact.velocity_newton import Rules, newton, newton_room, plain_rules, soften, unloaded
from stickslip.contact.velocity_problem import Motion, VelocityProblem
from stickslip.jit import kernel

ALPHA = 1e-5  # of Newton, at last: see `velocity_newton`
STEPS = 200  # of Newton at a time
ROUNDS = 4
INNER_STEPS, INNER_TOL = 60, 1e-7  # of the interior point method; an error that is left to Newton, relative
PUSH, FARTHER = 0.01, 10.0  # into the cones, times the velocities; and its growth where a round was in vain
AIM = 0.1  # of the tolerance: what a step of a motion leaves over, the next one has to bear


@kernel
def take(source: np.ndarray, r: np.ndarray) -> None:
    """r = source."""
    for i in range(r.shape[0]):
        for k in range(3):
            r[i, k] = source[i, k]


@kernel(apart=True)
def solve_velocities(problem: VelocityProblem, motion: Motion, tol: float, scale: float, dim: int) -> tuple[float, int]:
    """Improve the impulses of a motion until the laws hold to tol times scale, the largest velocity [m/s].

    Returns the error [m/s] and the number of the stage that ended it.
    """
    pattern = find_pattern(problem)
    room, enough = newton_room(problem, pattern), tol * scale
    rules = Rules(dim, AIM * enough, enough, STEPS, ALPHA, 0.0, scale)
    inner = plain_rules(dim, max(INNER_TOL, AIM * tol) * scale, INNER_STEPS, 0.0, 0.0)
    if motion.r.shape[0] > 1 and unloaded(motion.r):
        soften(problem, pattern, motion, rules, room, scale)
    least, stage = newton(problem, pattern, motion, rules, room), 1
    best, push = motion.r.copy(), PUSH
    while least > enough and stage <= ROUNDS:
        interior_point(problem, pattern, motion, inner, room, push, scale)
        error = newton(problem, pattern, motion, rules, room)
        stage += 1
        push *= FARTHER
        if error < least:
            least, push = error, PUSH
            take(motion.r, best)
        take(best, motion.r)
    return least, stage
