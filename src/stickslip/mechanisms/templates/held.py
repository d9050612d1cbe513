"""Template: constraints, eliminated from the contact problem of a step; `mechanisms.inertia` has the equations.

Constraint r is the contact CONSTRAINTS[r].  Its row J stands in W_T, its b in w_hat[., 1], its equation g in the gaps.
"""

import math

from stickslip.codes import (
    CLOSED,
    CONSTRAINT,
    CONSTRAINT_ERROR,
    CONSTRAINT_RATE,
    CONTACT,
    DEPENDENT,
    DONE,
    HELD_ERROR,
    HELD_LIMIT,
    IMPACT,
    MIDPOINT,
    PAOLI,
    PROJECTION_ENERGY,
    THETA,
    UNSOLVED,
)
from stickslip.jit.marks import dev, float64, int64, local_array, part, rare
from stickslip.lcp.linear import ldl_factor, ldl_solve
from stickslip.mechanisms.templates.model import (
    CONSTRAINTS,
    DIRECTIONS_CONSTANT,
    KINDS,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    N_HELD,
    PROJECTION,
    SCHEME,
    THETA_VALUE,
    energy,
    gap,
    geometry,
    mass,
)
from stickslip.mechanisms.templates.structs import Held

NEWTON_STEPS = 40
ROUNDING_OF_ONE = 2.0**-52


@part
def new_held():
    """Room for the constraints of a step."""
    return Held(
        W_N=local_array((N_CONTACTS, N_DOF), float64),
        J=local_array((N_CONTACTS, N_DOF), float64),
        b=local_array((N_CONTACTS, 2), float64),
        g=local_array(N_CONTACTS, float64),
        M=local_array((N_DOF, N_DOF), float64),
        V=local_array((N_HELD, N_DOF), float64),
        S=local_array((N_HELD, N_HELD), float64),
        L=local_array((N_HELD, N_HELD), float64),
        B=local_array((N_HELD, N_HELD), float64),
        scale=local_array(N_HELD, float64),
        order=local_array(N_HELD, int64),
        rank=local_array(1, int64),
        rate=local_array(N_HELD, float64),
        work=local_array(N_HELD, float64),
        rest=local_array(N_HELD, float64),
        answer=local_array(N_HELD, float64),
        X=local_array((N_CONTACTS, 2, N_HELD), float64),
        Lambda=local_array(N_HELD, float64),
        q_A=local_array(N_DOF, float64),
        u_A=local_array(N_DOF, float64),
        E=local_array(2, float64),
    )


@dev
def scaled_rows(J, held):
    """S = J V of the constraints, in rows scaled to a diagonal of one."""
    for r in range(N_HELD):
        for c in range(N_HELD):
            value = 0.0
            for j in range(N_DOF):
                value += J[CONSTRAINTS[r], j] * held.V[c, j]
            held.S[r, c] = value
    for r in range(N_HELD):
        held.scale[r] = 1.0 / math.sqrt(held.S[r, r]) if held.S[r, r] > 0.0 else 0.0
    for r in range(N_HELD):
        for c in range(N_HELD):
            held.S[r, c] *= held.scale[r] * held.scale[c]


@dev
def factor_rows(J, held):
    """S = L L^T with pivots: column c of L belongs to constraint order[c]; `rank` of them are independent."""
    scaled_rows(J, held)
    S, L, rest = held.S, held.L, held.rest
    held.rank[0] = 0
    for r in range(N_HELD):
        rest[r] = S[r, r]
        held.order[r] = r
    for c in range(N_HELD):
        best = int64(-1)
        largest = DEPENDENT
        for r in range(N_HELD):
            if rest[r] > largest:
                largest = rest[r]
                best = int64(r)
        if best < 0:
            break
        pivot = math.sqrt(largest)
        for r in range(N_HELD):
            value = S[r, best]
            for k in range(c):
                value -= L[r, k] * L[best, k]
            L[r, c] = value / pivot
        for k in range(c):
            L[held.order[k], c] = 0.0
        L[best, c] = pivot
        for r in range(N_HELD):
            rest[r] -= L[r, c] * L[r, c]
        for k in range(c):
            rest[held.order[k]] = 0.0
        rest[best] = 0.0
        held.order[c] = best
        held.rank[0] = c + 1


@dev
def pivot_solve(held):
    """answer <- a solution of S answer = work, of the independent constraints alone."""
    L, order, work, rank = held.L, held.order, held.work, held.rank[0]
    for c in range(rank):
        value = work[order[c]]
        for k in range(c):
            value -= L[order[c], k] * held.rest[k]
        held.rest[c] = value / L[order[c], c]
    for r in range(N_HELD):
        held.answer[r] = 0.0
    for i in range(rank):
        c = rank - 1 - i
        value = held.rest[c]
        for k in range(c + 1, rank):
            value -= L[order[k], c] * held.answer[order[k]]
        held.answer[order[c]] = value / L[order[c], c]


@dev
def share_loads(held):
    """Of all answers the one of the least norm: its projection L (L^T L)^-1 L^T onto the range of S."""
    L, B, rank = held.L, held.B, held.rank[0]
    for r in range(rank):
        held.rest[r] = 0.0
        for i in range(N_HELD):
            held.rest[r] += L[i, r] * held.answer[i]
        for c in range(rank):
            value = 0.0
            for i in range(N_HELD):
                value += L[i, r] * L[i, c]
            B[r, c] = value
    for c in range(rank):  # Gauss; L^T L is positive definite
        for r in range(c + 1, rank):
            share = B[r, c] / B[c, c]
            for k in range(c, rank):
                B[r, k] -= share * B[c, k]
            held.rest[r] -= share * held.rest[c]
    for i in range(rank):
        r = rank - 1 - i
        for k in range(r + 1, rank):
            held.rest[r] -= B[r, k] * held.rest[k]
        held.rest[r] /= B[r, r]
    for i in range(N_HELD):
        held.answer[i] = 0.0
        for r in range(rank):
            held.answer[i] += L[i, r] * held.rest[r]


@dev
def answer_to(held):
    """answer <- S^+ rate: impulses that change the velocities of the constraints by `rate`."""
    for r in range(N_HELD):
        held.work[r] = held.rate[r] * held.scale[r]
    pivot_solve(held)
    if held.rank[0] < N_HELD:
        share_loads(held)
    for r in range(N_HELD):
        held.answer[r] *= held.scale[r]


@dev
def take_rows(M, J, held):
    """V = M^-1 J^T from the factors of M, and the factors of S."""
    for r in range(N_HELD):
        for j in range(N_DOF):
            held.V[r, j] = J[CONSTRAINTS[r], j]
        ldl_solve(M, held.V[r])
    factor_rows(J, held)


@dev
def project_row(k, side, J, held, V):
    """V <- P w of a contact, from M^-1 w; the answers of the constraints to it are kept."""
    for r in range(N_HELD):
        held.rate[r] = 0.0
        for j in range(N_DOF):
            held.rate[r] += J[CONSTRAINTS[r], j] * V[j]
    answer_to(held)
    for r in range(N_HELD):
        held.X[k, side, r] = held.answer[r]
        for j in range(N_DOF):
            V[j] -= held.V[r, j] * held.answer[r]


@dev
def project_direction(k, side, w, J, held, V):
    """`project_row` of a direction w; zero where the constraints leave nothing of it but rounding."""
    whole = 0.0
    rest = 0.0
    for j in range(N_DOF):
        whole += w[j] * V[j]
    project_row(k, side, J, held, V)
    for j in range(N_DOF):
        rest += w[j] * V[j]
    if rest <= DEPENDENT * whole:
        for j in range(N_DOF):
            V[j] = 0.0


@dev
def runs_into(m):
    """Whether constraints move a contact against its wall, so that no impulse can stop it."""
    for k in range(N_CONTACTS):
        if m.contacts.active[k] == 0 or KINDS[k] != CONTACT or m.directions.diagonal[k, 0] > 0.0:
            continue
        xi = m.contacts.offset[k, 0]
        size = abs(m.directions.w_hat[k, 0])
        for j in range(N_DOF):
            xi += m.directions.W_N[k, j] * m.step.u_E[j]
            size += abs(m.directions.W_N[k, j]) * m.contacts.change[j]
        if xi < -HELD_LIMIT * size:
            return True
    return False


@dev
def wanted_rate(r, m, times):
    """J u_E of constraint r, which its scheme asks for."""
    k = CONSTRAINTS[r]
    u, b, g = m.motion.u, m.directions.w_hat[k, 1], m.gaps.g[k]
    before = 0.0
    for j in range(N_DOF):
        before += m.directions.W_T[k, j] * (m.implicit.u_last[j] if SCHEME == PAOLI else u[j])
    if SCHEME == MIDPOINT:  # the mean of u_A and u_E keeps to the constraint at the midpoint
        return -b - (before + b)
    if SCHEME == THETA:
        return -(b + (1.0 - THETA_VALUE) * before) / THETA_VALUE
    if KINDS[k] == CONSTRAINT:  # g(q_A + dt u) + dt J (u_E - u) = 0
        return before - g / m.run.dt
    return -b


@part
def hold_free(m, times):
    """Bring u_E of a step without contacts onto the constraints; the reactions for it into `m.held.Lambda`."""
    held, step = m.held, m.step
    for r in range(N_HELD):
        held.rate[r] = -wanted_rate(r, m, times)
        for j in range(N_DOF):
            held.rate[r] += m.directions.W_T[CONSTRAINTS[r], j] * step.u_E[j]
    answer_to(held)
    for r in range(N_HELD):
        held.Lambda[r] = -held.answer[r]
        for j in range(N_DOF):
            step.u_E[j] -= held.V[r, j] * held.answer[r]
    if SCHEME != PAOLI:  # there dv begins every iterate anew
        for j in range(N_DOF):
            step.dv[j] = step.u_E[j] - m.motion.u[j]


@part
def hold_step(m, times, count):
    """The constraints of a step: their rows where the scheme has the directions, and u_E on them."""
    if SCHEME != PAOLI and (not DIRECTIONS_CONSTANT or SCHEME == THETA):
        t = times.M if SCHEME <= THETA else times.A
        if count == 0 and not DIRECTIONS_CONSTANT:
            geometry(m.step.q_C, t, m.run.p, m.directions.W_N, m.directions.W_T, m.directions.w_hat)
        take_rows(m.step.M, m.directions.W_T, m.held)
    hold_free(m, times)


@dev
def rows_at(q, t, m):
    """Rows of the constraints at a configuration and their factors; False where M is not positive definite."""
    held = m.held
    geometry(q, t, m.run.p, held.W_N, held.J, held.b)
    if MASS_CONSTANT:
        for r in range(N_HELD):
            for j in range(N_DOF):
                value = 0.0
                for i in range(N_DOF):
                    value += m.step.inverse[j, i] * held.J[CONSTRAINTS[r], i]
                held.V[r, j] = value
        factor_rows(held.J, held)
        return True
    mass(q, t, m.run.p, held.M)
    if not ldl_factor(held.M):
        return False
    take_rows(held.M, held.J, held)
    return True


@dev
def off_by(q, held):
    """The worst violation of an equation, relative to the sizes in it; the equations into `rate`."""
    worst = 0.0
    for r in range(N_HELD):
        k = CONSTRAINTS[r]
        held.rate[r] = held.g[k]
        size = 0.0
        for j in range(N_DOF):
            size += abs(held.J[k, j]) * (1.0 + abs(q[j]))
        if not abs(held.g[k]) <= worst * size:
            worst = abs(held.g[k]) / size if size > 0.0 else math.inf
    return worst


@dev
def onto_equations(q, t, m):
    """Move q along M^-1 J^T until g(q, t) = 0, by Newton's method; False where it does not arrive."""
    held = m.held
    before = math.inf
    for _ in range(NEWTON_STEPS):
        if not rows_at(q, t, m):
            return False
        gap(q, t, m.run.p, held.g)
        off = off_by(q, held)
        if off <= ROUNDING_OF_ONE or (off <= HELD_ERROR and off > 0.5 * before):
            return True
        if not off < math.inf:
            return False
        answer_to(held)
        for r in range(N_HELD):
            for j in range(N_DOF):
                q[j] -= held.V[r, j] * held.answer[r]
        before = off
    return before <= HELD_ERROR


@dev
def take_rates(u, held):
    """J u + b of the constraints into `rate`; the worst, relative to its terms, and the largest."""
    worst = 0.0
    largest = 0.0
    for r in range(N_HELD):
        k = CONSTRAINTS[r]
        value = held.b[k, 1]
        size = abs(held.b[k, 1])
        for j in range(N_DOF):
            value += held.J[k, j] * u[j]
            size += abs(held.J[k, j] * u[j])
        held.rate[r] = value
        if not abs(value) <= worst * size:
            worst = abs(value) / size
        largest = max(largest, abs(value))
    return worst, largest


@dev
def onto_rates(u, held):
    """Change u along M^-1 J^T until J u + b = 0, twice for rounding errors; the reactions are added to Lambda."""
    for _ in range(2):
        take_rates(u, held)
        answer_to(held)
        for r in range(N_HELD):
            held.Lambda[r] -= held.answer[r]
            for j in range(N_DOF):
                u[j] -= held.V[r, j] * held.answer[r]


@rare
def hold_motion(q, u, t, m):
    """Bring a state onto the constraints and book what is left of their equations; False where they contradict."""
    held = m.held
    if not onto_equations(q, t, m):
        return False
    onto_rates(u, held)
    worst, rate = take_rates(u, held)
    if not worst <= HELD_LIMIT:
        return False
    m.book[CONSTRAINT_RATE] = max(m.book[CONSTRAINT_RATE], rate)
    return True


@dev
def energy_of(m, t):
    """Kinetic and potential energy of the state [J]."""
    energy(m.motion.q, m.motion.u, t, m.run.p, m.held.E)
    return m.held.E[0] + m.held.E[1]


@dev
def reactions_of_step(m):
    """Lambda <- the reactions of the step: to the free motion, and to the impulses of the contacts."""
    held, contacts = m.held, m.contacts
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            for r in range(N_HELD):
                by_N = held.X[k, 0, r] * contacts.Lambda[k, 0]
                by_T = held.X[k, 1, r] * contacts.Lambda[k, 1]
                held.Lambda[r] -= by_N + by_T


@part
def remember_start(m):
    """Keep the state in which a step begins, for a step whose end is on no constraint."""
    for j in range(N_DOF):
        m.held.q_A[j] = m.motion.q[j]
        m.held.u_A[j] = m.motion.u[j]


@rare
def hold_end(m, times):
    """The end of a step onto the constraints; a status, with the state of its begin where they contradict."""
    q, u, held = m.motion.q, m.motion.u, m.held
    reactions_of_step(m)
    if SCHEME != PAOLI:  # there the step has met the equations, and velocities are differences of positions
        before = energy_of(m, times.E)
        if not hold_motion(q, u, times.E, m):
            for j in range(N_DOF):
                q[j] = held.q_A[j]
                u[j] = held.u_A[j]
            return int64(UNSOLVED)
        if PROJECTION == 0.0:
            m.book[PROJECTION_ENERGY] += energy_of(m, times.E) - before
    gap(q, times.E, m.run.p, held.g)
    for r in range(N_HELD):
        m.memory.total[CONSTRAINTS[r], 1] += held.Lambda[r]
        m.book[CONSTRAINT_ERROR] = max(m.book[CONSTRAINT_ERROR], abs(held.g[CONSTRAINTS[r]]))
    return int64(DONE)


@dev
def note_held(m, times, states, events, first, n_events):
    """Contact states of the constraints; rows of their impulses where a contact has struck; number of events."""
    struck = n_events > first
    for r in range(N_HELD):
        k = CONSTRAINTS[r]
        states[k] = IMPACT if struck else CLOSED
        if struck:
            events[n_events, 0] = times.E
            events[n_events, 1] = k
            for i in range(2, 8):
                events[n_events, i] = 0.0
            events[n_events, 5] = m.held.Lambda[r]
            for j in range(N_DOF):
                events[n_events, 6] += m.directions.W_T[k, j] * m.held.u_A[j]
                events[n_events, 7] += m.directions.W_T[k, j] * m.step.u_E[j]
            events[n_events, 6] += m.directions.w_hat[k, 1]
            events[n_events, 7] += m.directions.w_hat[k, 1]
            n_events += 1
    return n_events
