"""Template: what differs between the steppers - their iterations, and which contacts take part in a step."""

import math

from stickslip.codes import (
    ANYWHERE,
    BEHIND,
    CONSTRAINT,
    CONTACT,
    GAP_ROUNDING,
    GRAIN,
    LARGEST,
    LEAST_KEPT,
    MOST_KEPT,
    NEAR,
    PAOLI,
    STEWART,
    TANGENT,
)  # fmt: skip
from stickslip.jit.marks import contained, dev, float64, int64, local_array, rare
from stickslip.lcp.linear import ldl_factor, ldl_solve
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    GATED,
    GATES,
    KEEPS,
    LASTING,
    N_CONTACTS,
    N_DOF,
    SCHEME,
    SPATIAL,
    THETA_VALUE,
    force,
    gap,
    gates,
    geometry,
    jacobian,
    mass,
    sizes,
)


@dev
def newton_step(m, t_E):
    """One Newton step of the theta-method without contacts, u_E <- u_E - A^-1 r; False where A is not definite.

    r = M (u_E - u_A) - dt (theta h_E + (1 - theta) h_A); A = M - theta dt C - theta^2 dt^2 K with the symmetric parts
    of the derivatives, factored into `m.step.M`.
    """
    q, u, dt, h, A, u_E = m.motion.q, m.motion.u, m.run.dt, m.step.h, m.step.M, m.step.u_E
    inertia, h_A, K, C = m.implicit.inertia, m.implicit.h_A, m.implicit.K, m.implicit.C
    weight = THETA_VALUE * dt
    for j in range(N_DOF):
        m.implicit.q_E[j] = q[j] + dt * (THETA_VALUE * u_E[j] + (1.0 - THETA_VALUE) * u[j])
    force(m.implicit.q_E, u_E, t_E, m.run.p, h)
    jacobian(m.implicit.q_E, u_E, t_E, m.run.p, K, C, m.implicit.work)
    for i in range(N_DOF):
        r = -dt * (THETA_VALUE * h[i] + (1.0 - THETA_VALUE) * h_A[i])
        for j in range(N_DOF):
            r += inertia[i, j] * (u_E[j] - u[j])
            A[i, j] = inertia[i, j] - 0.5 * weight * (C[i, j] + C[j, i]) - 0.5 * weight * weight * (K[i, j] + K[j, i])
        h[i] = r
    if not ldl_factor(A):
        return False
    ldl_solve(A, h)
    for j in range(N_DOF):
        u_E[j] -= h[j]
        m.step.dv[j] = u_E[j] - u[j]
    return True


@dev
def relative(change, size):
    """change / size; 0 where nothing changed."""
    if change == 0.0:
        return 0.0
    return change / size if size > 0.0 else math.inf


@dev
def settled(correction, before):
    """Whether an iteration has arrived: a tiny correction, or a small one that rounding keeps from shrinking."""
    return correction <= 1e-14 or (correction <= 1e-10 and correction > 0.5 * before)


@contained
def beyond_grain(change, grain, size, least):
    """What is left of a correction beyond `least` times the positions, relative to `size`; these three are squares.

    A function of its own, so that steps that do not need its roots do not wait for them.
    """
    return relative(max(0.0, math.sqrt(change) - least * math.sqrt(grain)), math.sqrt(size))


@dev
def correction_of(m):
    """Last correction of an implicit step's velocity against the velocities in it, in the kinetic energy's norm."""
    weight, u_E, u_last = m.implicit.weight, m.step.u_E, m.implicit.u_last
    change = 0.0
    size = 0.0
    grain = 0.0
    for j in range(N_DOF):
        change += weight[j] * (u_E[j] - u_last[j]) * (u_E[j] - u_last[j])
        grain += weight[j] * m.motion.q[j] * m.motion.q[j]
        terms = abs(m.motion.u[j]) + abs(m.step.dv[j]) + abs(u_E[j])
        size += weight[j] * terms * terms
    # gaps and stiff forces know positions to their last digits, and dt divides by little
    least = GRAIN / m.run.dt
    if change == 0.0 or change < 0.25 * least * least * grain:
        return 0.0
    return beyond_grain(change, grain, size, least)


@rare
def take_sizes(q, t, p, gaps):
    """The rounding errors of the gaps at (q, t), and below which of them a gap may be a matter of rounding."""
    near, rounding = gaps.near, gaps.rounding
    sizes(q, t, p, rounding)
    for k in range(N_CONTACTS):
        if not rounding[k] < LARGEST:  # a slope that is infinite here says nothing
            rounding[k] = 0.0
        near[k] = NEAR * rounding[k]
        rounding[k] *= GAP_ROUNDING


@dev
def judge_gaps(q, t, p, gaps, reach):
    """Rounding errors of the gaps at (q, t), where a decision may hang on them; 0 for gaps that are open for sure."""
    close = False
    for k in range(N_CONTACTS):
        gaps.rounding[k] = 0.0
        close = close or (gaps.g[k] > 0.0 and (gaps.g[k] <= gaps.near[k] or gaps.g[k] <= reach[k]))
    if close:
        take_sizes(q, t, p, gaps)
    return close


@dev
def judge_gaps_of_step(m, times):
    """Rounding errors of the gaps that decide which contacts take part; on position level none does."""
    close = False
    if SCHEME == STEWART:
        close = judge_gaps(m.implicit.q_E, times.E, m.run.p, m.gaps, m.memory.reach)
    elif SCHEME != PAOLI:
        close = judge_gaps(m.step.q_C, times.M, m.run.p, m.gaps, m.memory.reach)
    if KEEPS and close and times.step > 0:
        keep_roundings(m.gaps, m.contacts.kinds, m.memory.reach)


@dev
def widened(reach, rounding):
    """The reach of a contact that is open within a step and takes part: at least the rounding error of its gap.

    Coordinates keep the rounding errors of where they have been.  Two balls that touch and swing alike are apart by the
    last digits of their swing where they come back to zero, and so does the rounding error of the gap's terms.
    """
    if reach < ANYWHERE * LEAST_KEPT:
        return max(reach, rounding)
    return max(reach, ANYWHERE * min(rounding, MOST_KEPT))


@dev
def keep_roundings(gaps, kinds, reach):
    """Contacts that take part though they are open keep the rounding errors of their gaps."""
    for k in range(N_CONTACTS):
        near = gaps.g[k] <= gaps.rounding[k] or gaps.g[k] <= reach[k]
        if kinds[k] == CONTACT and gaps.g[k] > 0.0 and near:
            reach[k] = widened(reach[k], gaps.rounding[k])


@rare
def reach_at_start(q, u, p, t, dt, reach):
    """How far a contact may be open at the start of a run and yet take part in the first step: what forces move it by.

    They change u by dv = dt M^-1 h and gamma_N by no more than sqrt(w_N M^-1 w_N) |dv| in the norm of the kinetic
    energy (Cauchy and Schwarz).  A fall that is over within the step is none: such a contact rests.
    """
    M = local_array((N_DOF, N_DOF), float64)
    h = local_array(N_DOF, float64)
    dv = local_array(N_DOF, float64)
    W_N = local_array((N_CONTACTS, N_DOF), float64)
    W_T = local_array((N_CONTACTS, N_DOF), float64)
    w_hat = local_array((N_CONTACTS, 2), float64)
    mass(q, t, p, M)
    force(q, u, t, p, h)
    if not ldl_factor(M):
        return
    for j in range(N_DOF):
        dv[j] = h[j]
    ldl_solve(M, dv)
    power = 0.0
    for j in range(N_DOF):
        power += dv[j] * h[j]
    geometry(q, t, p, W_N, W_T, w_hat)
    for k in range(N_CONTACTS):
        for j in range(N_DOF):
            dv[j] = W_N[k, j]
        ldl_solve(M, dv)
        alpha = 0.0
        for j in range(N_DOF):
            alpha += dv[j] * W_N[k, j]
        reach[k] = dt * dt * math.sqrt(alpha * power)


@dev
def find_active(gaps, reach, contacts):
    """Mark the contacts that take part in the step and count them; -1 - k where the gap of contact k is no number.

    A gap that is below its rounding error is closed.  `reach` is zero but for contacts that carried load in the step
    before, see `close_step`, and at the start.
    """
    g = gaps.g
    closed = int64(0)
    for k in range(N_CONTACTS):
        contacts.active[k] = 0
        if CONSTRAINED and contacts.kinds[k] >= CONSTRAINT:  # holds anyway, and has no law
            continue
        if SPATIAL and contacts.kinds[k] == TANGENT:  # follows its contact, see `follow`
            continue
        near = g[k] <= 0.0 or g[k] <= gaps.rounding[k] or g[k] <= reach[k]
        if contacts.kinds[k] != CONTACT or near or (LASTING and reach[k] > 0.0):
            contacts.active[k] = 1
            closed += 1
        elif not g[k] > 0.0:
            return int64(-1 - k)
    return closed


@dev
def find_closing(first, gaps, eps_N, carried, contacts):
    """Active contacts of a scheme on position level: those whose condition would be violated join; (count, any new)."""
    active = contacts.active
    closed = int64(0)
    newcomers = False
    for k in range(N_CONTACTS):
        if CONSTRAINED and contacts.kinds[k] >= CONSTRAINT:
            active[k] = 0
            continue
        if SPATIAL and contacts.kinds[k] == TANGENT:
            active[k] = 0
            continue
        if first:
            opens = contacts.kinds[k] == CONTACT and carried[k, 0] == 0.0 and carried[k, 1] == 0.0
            active[k] = 0 if opens else 1
        if active[k] == 0:
            y = gaps.g[k] + eps_N[k] * gaps.before[k]
            if y <= 0.0:
                active[k] = 1
                newcomers = True
            elif not y > 0.0:
                return int64(-1 - k), False
        closed += active[k]
    return closed, newcomers


@dev
def count_active(first, carried, contacts):
    """The contacts that take part in a step on position level before its next iteration."""
    count = int64(0)
    for k in range(N_CONTACTS):
        opens = contacts.kinds[k] == CONTACT and carried[k, 0] == 0.0 and carried[k, 1] == 0.0
        if SPATIAL and contacts.kinds[k] == TANGENT:
            continue
        if (first and not opens) or (not first and contacts.active[k] != 0):
            count += 1
    return count


@rare
def shut_gates(m, t, closed):
    """Contacts with a condition (`Contact.closes_when`) that do not take part though their gap is closed leave the set.

    They take part if they carried load in the step before, or if the condition holds and they were outside where the
    step before began.  At the start of a run those that touch take part as well.  Returns how many contacts are left.
    """
    c = local_array(N_CONTACTS, float64)
    g = local_array(N_CONTACTS, float64)
    q = local_array(N_DOF, float64)
    at_start = t == m.run.t0
    gates(m.motion.q, t, m.run.p, c)
    for j in range(N_DOF):
        q[j] = m.motion.q[j] if at_start else m.motion.q[j] - m.run.dt * m.motion.u[j]
    gap(q, t if at_start else t - m.run.dt, m.run.p, g)
    for k in range(N_CONTACTS):
        if GATES[k] and m.contacts.active[k] != 0 and m.memory.N_before[k] == 0.0:
            there = c[k] > 0.0 and (at_start or g[k] > 0.0)
            if not there and not (at_start and abs(g[k]) <= BEHIND):
                m.contacts.active[k] = 0
                closed -= 1
    return closed


@dev
def follow(contacts):
    """Second tangents take part where their contacts do; they do not count."""
    for k in range(1, N_CONTACTS):
        if contacts.kinds[k] == TANGENT:
            contacts.active[k] = contacts.active[k - 1]


@dev
def active_set(m, first, t):
    """Mark the active rows, second tangents among them; see `contacts_of_step` for what is returned."""
    closed, newcomers = contacts_of_step(m, first, t)
    if SPATIAL:
        follow(m.contacts)
    return closed, newcomers


@dev
def contacts_of_step(m, first, t):
    """The index set H of [GS05] 5, step 3 (b): (number of its contacts, whether one is new in this iteration).

    -1 - k instead of the number where the gap of contact k is no number.  `first`: in the first iteration of a step,
    which begins at t.
    """
    if SCHEME != PAOLI:
        closed = find_active(m.gaps, m.memory.reach, m.contacts)
        if GATED and closed > 0:
            closed = shut_gates(m, t, closed)
        return closed, False
    before = count_active(first, m.memory.carried, m.contacts) if GATED else int64(0)
    closed, newcomers = find_closing(first, m.gaps, m.laws.eps_N, m.memory.carried, m.contacts)
    if GATED and closed > 0:
        closed = shut_gates(m, t, closed)
        newcomers = closed > before
    return closed, newcomers
