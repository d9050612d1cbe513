"""Template: the start of a run as `simulate` prepares it, for pages that simulate by themselves.

Joined behind the template of the steppers, whose constraints (`held`) it uses.
"""

import math

from stickslip.codes import BEHIND, CONTACT, DONE, HELD_ERROR, HELD_LIMIT, START_OFF
from stickslip.jit.marks import entry, int64, part
from stickslip.mechanisms.templates.held import onto_equations, onto_rates, take_rates
from stickslip.mechanisms.templates.march import begin_march, take_state
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    CONSTRAINTS,
    FRICTION_LAWS,
    GATED,
    GATES,
    KINDS,
    N_CONTACTS,
    N_DOF,
    N_HELD,
    SLIDING,
    gap,
    gates,
    geometry,
)
from stickslip.mechanisms.templates.room import new_march

AT_REST = 1e-10  # of its terms: a slower slip is none, as in `steppers.sliding.sticking_at_start`


@entry
def start(run, kept, gaps, answers, depth, moves):
    """Prepare a start; a status, and the number of constraints whose velocities an impulse had to correct.

    gaps (n,): of the start as it came, infinite behind a surface that may not close.  answers (n, 3): impulses of the
    constraints, their velocities before and after.  depth [m]: gaps up to which a contact counts as closed.  moves: 0
    leaves coordinates and velocities alone, which then lie on the constraints already.
    """
    m = new_march(run, kept)
    take_state(run, kept, m)
    q, u = m.motion.q, m.motion.u
    status = begin_march(m, int64(1))  # as of a later step: it fills the constant matrices alone
    corrected = int64(0)
    take_start_gaps(m, gaps)
    if CONSTRAINED and moves != 0 and status == DONE:
        status, corrected = onto_constraints(m, answers)
    if status == DONE:
        for j in range(N_DOF):
            kept.q[j] = q[j]
            kept.u[j] = u[j]
        if FRICTION_LAWS:
            take_sticking(m, depth, kept.carried)
    return status, corrected


@part
def take_start_gaps(m, gaps):
    """Gaps of the start, as `System.start_gap` has them."""
    gap(m.motion.q, m.run.t0, m.run.p, gaps)
    if GATED:
        gates(m.motion.q, m.run.t0, m.run.p, m.gaps.rounding)
        for k in range(N_CONTACTS):
            if GATES[k] and gaps[k] < -BEHIND and m.gaps.rounding[k] <= 0.0:
                gaps[k] = math.inf


@part
def onto_constraints(m, answers):
    """Coordinates and velocities onto the constraints; a status, and how many velocities were off."""
    held = m.held
    if not onto_equations(m.motion.q, m.run.t0, m):
        return int64(START_OFF), int64(0)
    for r in range(N_HELD):
        held.Lambda[r] = 0.0
    worst, _ = take_rates(m.motion.u, held)
    for r in range(N_HELD):
        answers[CONSTRAINTS[r], 1] = held.rate[r]
    onto_rates(m.motion.u, held)
    left, _ = take_rates(m.motion.u, held)
    if not left <= HELD_LIMIT:
        return int64(START_OFF), int64(0)
    corrected = int64(0)
    for r in range(N_HELD):
        answers[CONSTRAINTS[r], 0] = held.Lambda[r]
        answers[CONSTRAINTS[r], 2] = held.rate[r]
        if worst > HELD_ERROR and held.Lambda[r] != 0.0:
            corrected += 1
    return int64(DONE), corrected


@part
def take_sticking(m, depth, carried):
    """Write 1 where friction laws hold a contact at the start: it is closed, does not slip, and depends on slip."""
    w = m.directions
    geometry(m.motion.q, m.run.t0, m.run.p, w.W_N, w.W_T, w.w_hat)
    gap(m.motion.q, m.run.t0, m.run.p, m.gaps.g)
    for k in range(N_CONTACTS):
        slip = w.w_hat[k, 1]
        size = abs(slip)
        for j in range(N_DOF):
            slip += w.W_T[k, j] * m.motion.u[j]
            size += abs(w.W_T[k, j] * m.motion.u[j])
        closed = KINDS[k] != CONTACT or m.gaps.g[k] <= depth
        rests = abs(slip) <= AT_REST * size
        carried[k, 2] = 1.0 if rests and closed and SLIDING[k] != 0 else 0.0
