"""Template: the contact problem of a step, [GS05] eqs. (12), (17), set up and solved contact after contact."""

import math

from stickslip.codes import AUTO, CANCELLED, CONTACT, PAOLI, SPRING, TANGENT, THETA
from stickslip.contact.spatial_contact import spatial_contact
from stickslip.jit.marks import dev, float64, int64, local_array, rare, rarely
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.mechanisms.templates.mass import contact_row
from stickslip.mechanisms.templates.model import (
    CENTRED,
    DIRECTIONS_CONSTANT,
    LASTING,
    N_CONTACTS,
    N_DOF,
    SCHEME,
    SOLVER,
    SPATIAL,
    SPRINGS,
    THETA_VALUE,
)

AUTO_SWEEPS = 10
SPATIAL_SWEEPS = 500  # of `auto` with two tangents: what is left then is solved outside of the kernel
SLOW = 0.05  # a sweep that leaves more than this of the one before it: ten of them would not settle
SETTLED = 1e-14  # a sweep that changes no velocity by more than this, relatively, ends the iteration


@dev
def closing_velocity(gap, gamma_N, dt):
    """The velocity that closes a gap until the scheme looks again; `gap` where it has looked, gamma_N at the begin.

    Between two midpoints q moves by dt [(theta + 1/2) u_E + (1/2 - theta) u_A], and between two ends by dt u_E.
    """
    if CENTRED:
        return gap / ((THETA_VALUE + 0.5) * dt)
    return max(0.0, gap / dt - gamma_N)


@dev
def normal_offset(k, m, u_ahead):
    """xi_N - w_N^T u_E of contact k, [GS05] eq. (20).

    A contact that is open by more than its rounding error, and takes part because it carried load before, may close its
    gap until the next step decides, but no more.  On position level dt xi_N = g(q_E) + eps_N g(q_B), where `m.gaps.g`
    has the gaps at q_A + dt u_ahead.
    """
    g, dt = m.gaps.g[k], m.run.dt
    gamma_N = m.contacts.gamma_A[k, 0]
    if SCHEME == PAOLI and m.contacts.kinds[k] == CONTACT:
        offset = (g + m.laws.eps_N[k] * m.gaps.before[k]) / dt
        for j in range(N_DOF):
            offset -= m.directions.W_N[k, j] * u_ahead[j]
        return offset
    offset = m.directions.w_hat[k, 0]
    if not LASTING or m.memory.reach[k] == 0.0:  # only a contact that carried load in the step before has a reach
        offset += m.laws.eps_N[k] * gamma_N
    opens = not LASTING and SCHEME != PAOLI and m.contacts.kinds[k] == CONTACT and g > m.gaps.rounding[k]
    if rarely(opens):
        offset += closing_velocity(g - m.gaps.rounding[k], gamma_N, dt)
    return offset


@dev
def tangential_offset(k, m, u_ahead):
    """xi_T - w_T^T u_E of contact k, [GS05] eq. (21).

    A spring is Sgn of its displacement: at the next midpoint, g + dt gamma_E, or at the end of the step, where
    `m.gaps.g` has the displacement at q_A + dt u_ahead.
    """
    if SPRINGS and m.contacts.kinds[k] == SPRING:
        moved = m.directions.w_hat[k, 1]
        if not CENTRED:
            moved = 0.0
            for j in range(N_DOF):
                moved -= m.directions.W_T[k, j] * u_ahead[j]
        return moved + m.gaps.g[k] / m.run.dt
    return m.directions.w_hat[k, 1] + m.laws.eps_T[k] * m.contacts.gamma_A[k, 1]


@dev
def local_problem(m, u_ahead):
    """Set up the problem of the active contacts: impulses of zero, gamma_A, and the offsets of [GS05] (20), (21)."""
    contacts, directions, u = m.contacts, m.directions, m.motion.u
    for j in range(N_DOF):
        m.step.u_free[j] = m.step.u_E[j]
        contacts.change[j] = abs(u[j]) + abs(m.step.dv[j])
    for k in range(contacts.active.shape[0]):
        contacts.Lambda[k, 0] = 0.0
        contacts.Lambda[k, 1] = 0.0
        if contacts.active[k] == 0:
            continue
        if not DIRECTIONS_CONSTANT or SCHEME == THETA:
            contact_row(k, m.step.M, directions, m.held)
        gamma_N = directions.w_hat[k, 0]
        gamma_T = directions.w_hat[k, 1]
        for j in range(N_DOF):
            gamma_N += directions.W_N[k, j] * u[j]
            gamma_T += directions.W_T[k, j] * u[j]
        contacts.gamma_A[k, 0] = gamma_N
        contacts.gamma_A[k, 1] = gamma_T
        contacts.offset[k, 0] = normal_offset(k, m, u_ahead)
        contacts.offset[k, 1] = tangential_offset(k, m, u_ahead)


@rare
def measure_sizes(directions, contacts):
    """Columns of `size` for the active contacts: the sums of absolute values that make up gamma_N and gamma_T without
    impulses, and what the forces alone do to gamma_N in this step.
    """
    W_N, W_T, w_hat, offset = directions.W_N, directions.W_T, directions.w_hat, contacts.offset
    for k in range(N_CONTACTS):
        if contacts.active[k] == 0:
            continue
        size_N = abs(w_hat[k, 0])
        size_T = abs(w_hat[k, 1])
        kick = 0.0
        for j in range(N_DOF):
            size_N += abs(W_N[k, j]) * contacts.change[j]
            size_T += abs(W_T[k, j]) * contacts.change[j]
            kick += W_N[k, j] * contacts.dv[j]
        if SPRINGS and contacts.kinds[k] == SPRING:
            size_T += abs(offset[k, 1] - w_hat[k, 1])
        if SCHEME == PAOLI and contacts.kinds[k] == CONTACT:
            size_N += abs(offset[k, 0])
        contacts.size[k, 0] = size_N
        contacts.size[k, 1] = size_T
        contacts.size[k, 2] = abs(kick)


@dev
def in_space(k, contacts):
    """Whether contact k has two tangents: the row behind it is its second one."""
    return SPATIAL and k + 1 < N_CONTACTS and contacts.kinds[k + 1] == TANGENT


@dev
def is_tangent(k, contacts):
    """Whether row k is the second tangent of the contact before, and no contact of its own."""
    return SPATIAL and contacts.kinds[k] == TANGENT


@rare
def relax_in_space(k, directions, laws, contacts, u_E):
    """Solve contact k, whose second tangent is in the row behind, for the velocities u_E that the others leave it.

    Updates u_E and returns what it changed.
    """
    Lambda, W_N, W_T, V_N, V_T = contacts.Lambda, directions.W_N, directions.W_T, directions.V_N, directions.V_T
    D = local_array((3, 3), float64)
    D[0, 0] = directions.diagonal[k, 0]
    D[0, 1] = directions.diagonal[k, 2]
    D[1, 1] = directions.diagonal[k, 1]
    D[2, 2] = directions.diagonal[k + 1, 1]
    beta_1 = D[1, 1]
    beta_2 = D[2, 2]
    D[0, 2] = 0.0
    D[1, 2] = 0.0
    c_N = contacts.offset[k, 0]
    c_1 = contacts.offset[k, 1]
    c_2 = contacts.offset[k + 1, 1]
    for j in range(N_DOF):
        D[0, 2] += W_N[k, j] * V_T[k + 1, j]
        D[1, 2] += W_T[k, j] * V_T[k + 1, j]
        c_N += W_N[k, j] * u_E[j]
        c_1 += W_T[k, j] * u_E[j]
        c_2 += W_T[k + 1, j] * u_E[j]
    D[1, 0] = D[0, 1]
    D[2, 0] = D[0, 2]
    D[2, 1] = D[1, 2]
    N = Lambda[k, 0]
    T_1 = Lambda[k, 1]
    T_2 = Lambda[k + 1, 1]
    c_N -= D[0, 0] * N + D[0, 1] * T_1 + D[0, 2] * T_2
    c_1 -= D[1, 0] * N + D[1, 1] * T_1 + D[1, 2] * T_2
    c_2 -= D[2, 0] * N + D[2, 1] * T_1 + D[2, 2] * T_2
    mu_1, mu_2 = laws.mu[k], laws.mu[k + 1]
    new_N, new_1, new_2 = spatial_contact(D, (c_N, c_1, c_2), (mu_1, mu_2), laws.section[k], (T_1, T_2))
    Lambda[k, 0] = new_N
    Lambda[k, 1] = new_1
    Lambda[k + 1, 1] = new_2
    for j in range(N_DOF):
        u_E[j] += V_N[k, j] * (new_N - N) + V_T[k, j] * (new_1 - T_1) + V_T[k + 1, j] * (new_2 - T_2)
    return abs(directions.diagonal[k, 0] * (new_N - N)) + abs(beta_1 * (new_1 - T_1)) + abs(beta_2 * (new_2 - T_2))


@dev
def relax(k, directions, laws, contacts, u_E):
    """Solve contact k for the velocities u_E that the others leave it, and update u_E; return what it changed."""
    if in_space(k, contacts):
        return relax_in_space(k, directions, laws, contacts, u_E)
    Lambda = contacts.Lambda
    alpha = directions.diagonal[k, 0]
    beta = directions.diagonal[k, 1]
    delta = directions.diagonal[k, 2]
    c_N = contacts.offset[k, 0] - alpha * Lambda[k, 0] - delta * Lambda[k, 1]
    c_T = contacts.offset[k, 1] - delta * Lambda[k, 0] - beta * Lambda[k, 1]
    for j in range(N_DOF):
        c_N += directions.W_N[k, j] * u_E[j]
        c_T += directions.W_T[k, j] * u_E[j]
    N, T = one_contact(alpha, beta, delta, c_N, c_T, laws.mu[k], laws.a[k])
    step_N = N - Lambda[k, 0]
    step_T = T - Lambda[k, 1]
    Lambda[k, 0] = N
    Lambda[k, 1] = T
    for j in range(N_DOF):
        u_E[j] += directions.V_N[k, j] * step_N + directions.V_T[k, j] * step_T
    return abs(alpha * step_N) + abs(beta * step_T)


@dev
def cancel(directions, contacts, step):
    """Set velocities to zero whose terms cancel to their last digits, so that what rests does not creep."""
    for j in range(N_DOF):
        terms = abs(step.u_free[j])
        for k in range(N_CONTACTS):
            if contacts.active[k] != 0:
                by_N = directions.V_N[k, j] * contacts.Lambda[k, 0]
                by_T = directions.V_T[k, j] * contacts.Lambda[k, 1]
                terms += abs(by_N) + abs(by_T)
        if abs(step.u_E[j]) <= CANCELLED * terms:
            step.u_E[j] = 0.0


@rare
def sweep_contacts(directions, laws, contacts, step, limit):
    """Sweep over the active contacts, velocities u_E kept up to date; return the sweeps, negative if not settled."""
    measure_sizes(directions, contacts)
    before = math.inf
    for sweep in range(1, limit + 1):
        at_rest = True
        total = 0.0
        for k in range(N_CONTACTS):
            if contacts.active[k] != 0 and not is_tangent(k, contacts):
                moved = relax(k, directions, laws, contacts, step.u_E)
                total += moved
                if moved > SETTLED * (contacts.size[k, 0] + contacts.size[k, 1]):
                    at_rest = False
        if at_rest:
            cancel(directions, contacts, step)
            return sweep
        if SOLVER == AUTO and not SPATIAL and total > SLOW * before:
            return -sweep
        before = total
    return -limit


@dev
def gauss_seidel(closed, directions, laws, contacts, step, limit):
    """Gauss-Seidel over the active contacts, which is exact in one sweep where there is only one."""
    if closed == 1:
        for k in range(contacts.active.shape[0]):
            if contacts.active[k] != 0 and not is_tangent(k, contacts):
                relax(k, directions, laws, contacts, step.u_E)
        for j in range(N_DOF):  # `cancel`, where the terms of one contact are those of u_free with the other sign
            if rarely(abs(step.u_E[j]) <= 2.0 * CANCELLED * abs(step.u_free[j])):
                step.u_E[j] = 0.0
        return int64(1)
    return sweep_contacts(directions, laws, contacts, step, limit)
