"""Template: what a scheme does in a step before its contacts are known, [GS05] 5, steps 2 and 3 (a)."""

from stickslip.codes import BLOWN_UP, DONE, MASS_INDEFINITE, MATRIX_INDEFINITE, MIDPOINT, STEWART, THETA
from stickslip.jit.marks import dev, int64
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.held import hold_step, take_rows
from stickslip.mechanisms.templates.mass import bounded, contact_row, free_velocity
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    DIRECTIONS_CONSTANT,
    FRICTION_LAWS,
    IMPLICIT,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    SCHEME,
    dynamics,
    force,
    gap,
    geometry,
    mass,
)
from stickslip.mechanisms.templates.schemes import newton_step
from stickslip.mechanisms.templates.structs import Times


@dev
def times_of(run, step):
    """[GS05] 5, step 1: begin, midpoint and end of a step."""
    return Times(step, run.t0 + step * run.dt, run.t0 + (step + 0.5) * run.dt, run.t0 + (step + 1) * run.dt)


@dev
def place_midpoint(m):
    """[GS05] 5, step 2: q_M = q_A + dt/2 u_A into q_C."""
    for j in range(N_DOF):
        m.step.q_C[j] = m.motion.q[j] + 0.5 * m.run.dt * m.motion.u[j]


@dev
def evaluate(m, times):
    """[GS05] 5, steps 2 and 3 (a): M, h and the gaps where the scheme evaluates them; a status."""
    if SCHEME == MIDPOINT:
        place_midpoint(m)
        dynamics(m.step.q_C, m.motion.u, times.M, m.run.p, m.step.M, m.step.h, m.gaps.g)
    elif SCHEME == THETA:
        evaluate_at_begin(m, times)
    elif SCHEME == STEWART:
        evaluate_ahead(m, times)
    else:
        return evaluate_on_positions(m, times)
    return int64(DONE)


@dev
def evaluate_at_begin(m, times):
    """The theta-method: gaps at the midpoint, forces of the begin, and u_A as the first iterate of u_E."""
    place_midpoint(m)
    for j in range(N_DOF):
        m.step.u_E[j] = m.motion.u[j]
    gap(m.step.q_C, times.M, m.run.p, m.gaps.g)
    force(m.motion.q, m.motion.u, times.A, m.run.p, m.implicit.h_A)
    if not MASS_CONSTANT:
        mass(m.step.q_C, times.M, m.run.p, m.implicit.inertia)


@dev
def evaluate_ahead(m, times):
    """Stewart and Trinkle: directions and forces at the begin, gaps and inertia where u_A alone would lead."""
    q, u, q_E = m.motion.q, m.motion.u, m.implicit.q_E
    for j in range(N_DOF):
        m.step.q_C[j] = q[j]
        q_E[j] = q[j] + m.run.dt * u[j]
        m.step.u_E[j] = u[j]
    gap(q_E, times.E, m.run.p, m.gaps.g)
    force(q, u, times.A, m.run.p, m.implicit.h_A)
    if not MASS_CONSTANT:
        mass(q_E, times.E, m.run.p, m.implicit.inertia)


@dev
def evaluate_on_positions(m, times):
    """Paoli and Schatzman: the free velocity of the step is known at once.  Returns a status."""
    q, u, p, step, directions = m.motion.q, m.motion.u, m.run.p, m.step, m.directions
    for j in range(N_DOF):
        step.q_C[j] = q[j]
        m.implicit.q_E[j] = q[j] - m.run.dt * u[j]
    gap(m.implicit.q_E, times.A - m.run.dt, p, m.gaps.before)
    force(q, u, times.A, p, step.h)
    if not MASS_CONSTANT:
        mass(q, times.A, p, step.M)
        for j in range(N_DOF):
            m.implicit.inertia[j, j] = step.M[j, j]
        if not ldl_factor(step.M):
            return int64(MASS_INDEFINITE)
    free_velocity(step, u, m.run.dt)
    if not bounded(step.u_E):
        return int64(BLOWN_UP)
    if not DIRECTIONS_CONSTANT:
        geometry(step.q_C, times.M, p, directions.W_N, directions.W_T, directions.w_hat)  # slip is that of the step
        if CONSTRAINED:
            take_rows(step.M, directions.W_T, m.held)
        for k in range(N_CONTACTS):
            contact_row(k, step.M, directions, m.held)
    take_back(m.memory.carried, directions, step.dv)
    return int64(DONE)


@dev
def take_back(carried, directions, dv):
    """Take the first half of an impact off the free velocities: its two halves obey the contact laws in sum.

    Otherwise the split of an impact, which is left to where in a step it falls, would decide where slip ends.
    """
    for k in range(N_CONTACTS):
        if carried[k, 0] != 0.0 or carried[k, 1] != 0.0:
            for j in range(N_DOF):
                dv[j] -= directions.V_N[k, j] * carried[k, 0] + directions.V_T[k, j] * carried[k, 1]


@dev
def free_motion(m, times, count):
    """The velocity u_E at the end of the step without contacts, in the iteration `count` of a scheme; a status."""
    status = unheld_motion(m, times, count)
    if CONSTRAINED and status == DONE and (SCHEME != MIDPOINT or count == 0):
        hold_step(m, times, count)
    return status


@dev
def unheld_motion(m, times, count):
    """The velocity u_E at the end of the step without impulses, in the iteration `count` of a scheme; a status."""
    u, step = m.motion.u, m.step
    if IMPLICIT:
        for j in range(N_DOF):
            m.implicit.u_last[j] = step.u_E[j]
    if SCHEME == THETA:
        if not newton_step(m, times.E):
            return int64(MATRIX_INDEFINITE)
    elif SCHEME == STEWART:
        if not mass_ahead(m, times, count):
            return int64(MASS_INDEFINITE)
        free_velocity(step, u, m.run.dt)
    elif SCHEME == MIDPOINT:
        if FRICTION_LAWS and count > 0:  # another round with the same forces
            for j in range(N_DOF):
                step.u_E[j] = u[j] + step.dv[j]
            return int64(DONE)
        if not MASS_CONSTANT and not ldl_factor(step.M):
            return int64(MASS_INDEFINITE)
        free_velocity(step, u, m.run.dt)
    else:
        for j in range(N_DOF):
            m.implicit.q_E[j] = m.motion.q[j] + m.run.dt * m.implicit.u_last[j]
            step.u_E[j] = u[j] + step.dv[j]
        gap(m.implicit.q_E, times.E, m.run.p, m.gaps.g)
        return int64(DONE)
    return int64(DONE) if bounded(step.u_E) else int64(BLOWN_UP)


@dev
def mass_ahead(m, times, count):
    """Stewart and Trinkle: forces of the begin, and M(q_E) of the iterate; False where M is not positive definite."""
    for j in range(N_DOF):
        m.step.h[j] = m.implicit.h_A[j]
    if MASS_CONSTANT:
        return True
    if count == 0:
        for i in range(N_DOF):
            for j in range(N_DOF):
                m.step.M[i, j] = m.implicit.inertia[i, j]
    else:
        mass(m.implicit.q_E, times.E, m.run.p, m.step.M)  # the fixed-point iteration of [S00] 2.3
    return ldl_factor(m.step.M)
