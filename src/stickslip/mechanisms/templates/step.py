"""Template: one step, [GS05] 5, steps 2 to 5; other schemes than the midpoint rule repeat steps 3 and 4."""

import math

from stickslip.codes import (
    AUTO,
    CULPRIT,
    DONE,
    FALLBACKS,
    FRICTION_ROUNDS,
    GAP_NOT_A_NUMBER,
    GAUSS_SEIDEL,
    ITERATIONS,
    LAW_OUT_OF_RANGE,
    MAX_RESIDUAL,
    MIDPOINT,
    PAOLI,
    STEWART,
    THETA,
    UNSOLVED,
)
from stickslip.jit.marks import float64, int64, part
from stickslip.laws.poisson import HALVINGS
from stickslip.laws.scalar import NEWTON as NEWTONS_LAW
from stickslip.laws.scalar import POISSON
from stickslip.laws.slip import EARLY
from stickslip.mechanisms.templates.contacts import AUTO_SWEEPS, SPATIAL_SWEEPS, gauss_seidel, local_problem
from stickslip.mechanisms.templates.direct import by_lcp
from stickslip.mechanisms.templates.held import runs_into
from stickslip.mechanisms.templates.impact_laws import (
    COMPRESSION,
    DECOMPRESSION,
    FORCES,
    add_decompression,
    begin_decompression,
    begin_forces,
    begin_impact,
    end_impact,
    impact_of_single,
    keep_compression,
    next_share,
    strikes_by_law,
    take_coefficients,
)
from stickslip.mechanisms.templates.model import (
    CENTRED,
    CONSTRAINED,
    DIRECTIONS_CONSTANT,
    DISSIPATIVE,
    FRICTION_LAWS,
    IMPACT_STEPS,
    IMPLICIT,
    LAW,
    N_CONTACTS,
    N_DOF,
    OWN_LAW,
    PAIRS,
    PASSES,
    PROJECTION,
    SCHEME,
    SOLVER,
    SPATIAL,
    STATE_LAWS,
    THETA_VALUE,
    geometry,
)
from stickslip.mechanisms.templates.pairs import by_pair, undo
from stickslip.mechanisms.templates.phases import evaluate, free_motion
from stickslip.mechanisms.templates.residual import note_depths, step_residual
from stickslip.mechanisms.templates.schemes import active_set, correction_of, judge_gaps_of_step, settled
from stickslip.mechanisms.templates.slip import begin_friction, next_friction, no_slip_yet, remember_slip
from stickslip.mechanisms.templates.state_laws import laws_make_sense, take_laws
from stickslip.mechanisms.templates.structs import Where


@part
def do_step(m, times):
    """Find u_E of the step from q_A, u_A; (status, number of closed contacts).

    The midpoint rule takes the loop once, but for friction that depends on slip; other schemes iterate.
    """
    closed = int64(0)
    status = evaluate(m, times)  # [GS05] 5, steps 2 and 3 (a): q_M, M, h
    if status != DONE:
        return status, closed
    if STATE_LAWS and SCHEME == PAOLI:
        take_laws(m, times.A)
    judge_gaps_of_step(m, times)
    begin_rounds(m)
    for count in range(PASSES):
        status = free_motion(m, times, count)  # u_A + M^-1 h dt
        if status != DONE:
            break
        closed, newcomers = active_set(m, count == 0, times.A)  # step 3 (b): H
        if closed < 0:
            m.book[CULPRIT] = -1 - closed
            status = int64(GAP_NOT_A_NUMBER)
            break
        if closed > 0:
            if not prepare_contacts(m, times):  # step 3 (c): W_N, W_T
                status = int64(LAW_OUT_OF_RANGE)
                break
            if not (solve_contacts(m, closed) if LAW == NEWTONS_LAW else solve_by_law(m, closed)):  # step 4: (33), (32)
                status = int64(UNSOLVED)
                break
        if arrived(m, times, closed, newcomers):
            break
    return judge_rounds(m, closed, status), closed


@part
def prepare_contacts(m, times):
    """[GS05] 5, step 3 (c): directions of the active contacts, and their problem without impulses.

    False where a coefficient that depends on the state makes no sense here.
    """
    directions = m.directions
    t = times.M if CENTRED else times.A
    if not DIRECTIONS_CONSTANT and not CONSTRAINED:  # constraints have asked for them already
        geometry(
            m.step.q_C, times.M if SCHEME == PAOLI else t, m.run.p, directions.W_N, directions.W_T, directions.w_hat
        )
    if STATE_LAWS:
        if SCHEME != PAOLI:
            take_laws(m, t)
        if not laws_make_sense(m):
            return False
        if OWN_LAW:
            take_coefficients(m)
    local_problem(m, m.implicit.u_last if SCHEME == PAOLI else m.motion.u)
    if CENTRED and PROJECTION == 0.0:
        note_depths(m)
    if FRICTION_LAWS:
        begin_friction(Where(m.step.q_C, t, m.run.p), m.laws.mu, m.contacts, m.memory.sticks, m.slip)
    return True


@part
def solve_contacts(m, closed):
    """[GS05] 5, step 4: impulses by eq. (33) and u_E by eq. (32); False where their residual exceeds the tolerance.

    `auto`: two contacts by their branches, then sweeps, then Lemke's method; with two tangents, which make no LCP,
    sweeps alone.
    """
    if CONSTRAINED and runs_into(m):
        return False
    directions, laws, contacts, step, tol = m.directions, m.laws, m.contacts, m.step, m.run.tol
    worst = m.tally[MAX_RESIDUAL]
    residual = math.inf
    iterations = int64(0)
    if PAIRS and closed == 2:
        iterations = by_pair(directions, laws, contacts, step)
        if iterations > 0:
            residual = step_residual(m, worst)
        if not residual <= tol:
            undo(contacts, step)
    if SOLVER == GAUSS_SEIDEL or (SOLVER == AUTO and not residual <= tol):
        limit = m.run.sweeps if SOLVER == GAUSS_SEIDEL else int64(SPATIAL_SWEEPS if SPATIAL else AUTO_SWEEPS)
        iterations = gauss_seidel(closed, directions, laws, contacts, step, limit)
        if SOLVER == GAUSS_SEIDEL or iterations >= 0:
            residual = step_residual(m, worst)
    if SOLVER != GAUSS_SEIDEL and not SPATIAL and (SOLVER != AUTO or iterations < 0 or residual > tol):
        for j in range(N_DOF):
            step.u_E[j] = step.u_free[j]
        iterations = by_lcp(directions, laws, contacts, step, m.lcp)
        residual = math.inf
        if iterations >= 0:
            residual = step_residual(m, worst)
        if SOLVER == AUTO:
            m.book[FALLBACKS] += 1.0
    m.tally[ITERATIONS] += float64(abs(iterations))
    if not residual <= tol:
        return False
    m.tally[MAX_RESIDUAL] = residual
    return True


@part
def solve_by_law(m, closed):
    """Step 4 under an impact law that is a process of its own; False where it has no answer within the tolerance.

    One contact problem after the other through one loop, so that the solver stands in the code once.
    """
    struck = strikes_by_law(m)
    stage = int64(FORCES)
    if struck:
        if not begin_impact(m):
            begin_forces(m)
            return False
        if LAW == POISSON:
            stage = int64(COMPRESSION)
        else:
            solved = impact_of_single(m)
            begin_forces(m)
            if not solved:
                return False
    while True:
        if not solve_contacts(m, closed):
            if struck and stage != FORCES:
                begin_forces(m)
            return False
        if stage == FORCES:
            break
        if stage == COMPRESSION:
            keep_compression(m)
            stage = int64(DECOMPRESSION)
            begin_decompression(m)
        else:
            add_decompression(m)
            if DISSIPATIVE and next_share(m, HALVINGS):
                begin_decompression(m)
            else:
                stage = int64(FORCES)
                begin_forces(m)
    if struck:
        end_impact(m)
    return True


@part
def begin_rounds(m):
    """Nothing is iterated yet."""
    m.rounds.correction[0] = math.inf
    m.rounds.moved[0] = 0
    m.rounds.defect[0] = 0.0
    m.rounds.count[0] = 0
    if IMPLICIT:
        for j in range(N_DOF):
            m.implicit.weight[j] = m.implicit.inertia[j, j]
    if FRICTION_LAWS:
        no_slip_yet(m.slip)


@part
def arrived(m, times, closed, newcomers):
    """Whether u_E, closed contacts and coefficients of friction agree, so that the step is done."""
    rounds = m.rounds
    there = True
    if IMPLICIT:
        before = rounds.correction[0]
        rounds.correction[0] = correction_of(m)
        there = settled(rounds.correction[0], before) and not newcomers
    if FRICTION_LAWS and there:
        if closed > 0:
            late = rounds.count[0] >= EARLY
            place = Where(m.step.q_C, times.M if CENTRED else times.A, m.run.p)
            moved, defect = next_friction(place, m.directions, m.laws, m.contacts, m.slip, m.book, late)
            rounds.moved[0] = moved
            rounds.defect[0] = defect
            rounds.count[0] += 1
        there = rounds.moved[0] == 0
        if not there:
            rounds.correction[0] = math.inf
    if IMPLICIT and SCHEME == STEWART and not there:
        for j in range(N_DOF):
            m.implicit.q_E[j] = m.motion.q[j] + m.run.dt * m.step.u_E[j]
    return there


@part
def judge_rounds(m, closed, status):
    """The status of a step whose iterations have ended, where it was `status` before; the book has their measures."""
    tally, rounds = m.tally, m.rounds
    if FRICTION_LAWS:
        if status == DONE and rounds.moved[0] != 0:
            status = int64(UNSOLVED)
        if status == DONE:
            tally[MAX_RESIDUAL] = max(tally[MAX_RESIDUAL], rounds.defect[0])
        m.book[FRICTION_ROUNDS] = max(m.book[FRICTION_ROUNDS], float64(rounds.count[0]))
    if IMPLICIT and status == DONE:
        if not rounds.correction[0] <= m.run.tol:
            status = int64(UNSOLVED)
        else:
            tally[MAX_RESIDUAL] = max(tally[MAX_RESIDUAL], rounds.correction[0])
    if FRICTION_LAWS and status == DONE:
        remember_slip(closed, m)
    return status


@part
def advance_state(m, closed):
    """[GS05] 5, step 5: q_E = q_M + dt/2 u_E, in the midpoint rule; u_E becomes u_A of the next step."""
    q, u, u_E, dt = m.motion.q, m.motion.u, m.step.u_E, m.run.dt
    if IMPACT_STEPS == 2 and closed > 0:  # the sums were solved for, of which this step adds what is new
        for k in range(N_CONTACTS):
            m.contacts.Lambda[k, 0] -= m.memory.carried[k, 0]
            m.contacts.Lambda[k, 1] -= m.memory.carried[k, 1]
    for j in range(N_DOF):
        if SCHEME == MIDPOINT:
            q[j] = m.step.q_C[j] + 0.5 * dt * u_E[j]
        elif SCHEME == THETA:
            q[j] += dt * (THETA_VALUE * u_E[j] + (1.0 - THETA_VALUE) * u[j])
        else:
            q[j] += dt * u_E[j]
        u[j] = u_E[j]
