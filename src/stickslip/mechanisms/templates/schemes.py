"""Template: what differs between the steppers - their iterations, and which contacts take part in a step."""

import math

from stickslip.codes import CONTACT, GAP_ROUNDING, GRAIN, LARGEST, NEAR
from stickslip.jit.marks import dev, float64, int64, local_array, rare
from stickslip.mechanisms.templates.mass import factor_mass, solve_mass
from stickslip.mechanisms.templates.model import (
    LASTING,
    N_CONTACTS,
    N_DOF,
    THETA_VALUE,
    force,
    geometry,
    jacobian,
    mass,
    sizes,
)


@dev
def iteration_system(q, u, v, t_E, dt, p, inertia, h_A, A, h, K, C, work, q_E, dv):
    """One Newton step of the theta-method without contacts, v <- v - A^-1 r; False where A is not positive definite.

    r = M (v - u_A) - dt (theta h_E + (1 - theta) h_A); A = M - theta dt C - theta^2 dt^2 K with the symmetric parts of
    the derivatives, factored.
    """
    reach = THETA_VALUE * dt
    for j in range(N_DOF):
        q_E[j] = q[j] + dt * (THETA_VALUE * v[j] + (1.0 - THETA_VALUE) * u[j])
    force(q_E, v, t_E, p, h)
    jacobian(q_E, v, t_E, p, K, C, work)
    for i in range(N_DOF):
        r = -dt * (THETA_VALUE * h[i] + (1.0 - THETA_VALUE) * h_A[i])
        for j in range(N_DOF):
            r += inertia[i, j] * (v[j] - u[j])
            A[i, j] = inertia[i, j] - 0.5 * reach * (C[i, j] + C[j, i]) - 0.5 * reach * reach * (K[i, j] + K[j, i])
        h[i] = r
    if not factor_mass(A):
        return False
    solve_mass(A, h)
    for j in range(N_DOF):
        v[j] -= h[j]
        dv[j] = v[j] - u[j]
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


@dev
def correction_of(v, v_last, u, dv, weight, q, dt):
    """Last correction of an implicit step's velocity against the velocities in it, in the kinetic energy's norm."""
    change = 0.0
    size = 0.0
    grain = 0.0
    for j in range(N_DOF):
        change += weight[j] * (v[j] - v_last[j]) * (v[j] - v_last[j])
        grain += weight[j] * q[j] * q[j]
        terms = abs(u[j]) + abs(dv[j]) + abs(v[j])
        size += weight[j] * terms * terms
    # gaps and stiff forces know positions to their last digits, and dt divides by little
    return relative(max(0.0, math.sqrt(change) - GRAIN / dt * math.sqrt(grain)), math.sqrt(size))


@dev
def take_back(carried, directions, dv):
    """Take the first half of an impact off the free velocities: its two halves obey the contact laws in sum.

    Otherwise the split of an impact, which is left to where in a step it falls, would decide where slip ends.
    """
    _, _, _, V_N, V_T, _ = directions
    for k in range(N_CONTACTS):
        if carried[k, 0] != 0.0 or carried[k, 1] != 0.0:
            for j in range(N_DOF):
                dv[j] -= V_N[k, j] * carried[k, 0] + V_T[k, j] * carried[k, 1]


@dev
def find_closing(first, g, g_before, eps_N, carried, kinds, active):
    """As `find_active` on position level: contacts whose condition would be violated join; (count, any newcomer)."""
    closed = int64(0)
    newcomers = False
    for k in range(N_CONTACTS):
        if first:
            active[k] = 0 if kinds[k] == CONTACT and carried[k, 0] == 0.0 and carried[k, 1] == 0.0 else 1
        if active[k] == 0:
            y = g[k] + eps_N[k] * g_before[k]
            if y <= 0.0:
                active[k] = 1
                newcomers = True
            elif not y > 0.0:
                return int64(-1 - k), False
        closed += active[k]
    return closed, newcomers


@rare
def take_sizes(q, t, p, near, rounding):
    """The rounding errors of the gaps at (q, t), and below which of them a gap may be a matter of rounding."""
    sizes(q, t, p, rounding)
    for k in range(N_CONTACTS):
        if not rounding[k] < LARGEST:  # a slope that is infinite here says nothing
            rounding[k] = 0.0
        near[k] = NEAR * rounding[k]
        rounding[k] *= GAP_ROUNDING


@dev
def judge_gaps(q, t, p, g, reach, near, rounding):
    """Rounding errors of the gaps g at (q, t), where a decision may hang on them; 0 for gaps that are open for sure."""
    close = False
    for k in range(N_CONTACTS):
        rounding[k] = 0.0
        close = close or (g[k] > 0.0 and (g[k] <= near[k] or g[k] <= reach[k]))
    if close:
        take_sizes(q, t, p, near, rounding)


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
    if not factor_mass(M):
        return
    for j in range(N_DOF):
        dv[j] = h[j]
    solve_mass(M, dv)
    power = 0.0
    for j in range(N_DOF):
        power += dv[j] * h[j]
    geometry(q, t, p, W_N, W_T, w_hat)
    for k in range(N_CONTACTS):
        for j in range(N_DOF):
            dv[j] = W_N[k, j]
        solve_mass(M, dv)
        alpha = 0.0
        for j in range(N_DOF):
            alpha += dv[j] * W_N[k, j]
        reach[k] = dt * dt * math.sqrt(alpha * power)


@dev
def find_active(g, rounding, reach, kinds, active):
    """Mark the contacts that take part in the step and count them; -1 - k where the gap of contact k is no number.

    A gap that is below its rounding error is closed.  `reach` is zero but for contacts that carried load in the step
    before, see `close_step`, and at the start.
    """
    closed = int64(0)
    for k in range(N_CONTACTS):
        active[k] = 0
        near = g[k] <= 0.0 or g[k] <= rounding[k] or g[k] <= reach[k]
        if kinds[k] != CONTACT or near or (LASTING and reach[k] > 0.0):
            active[k] = 1
            closed += 1
        elif not g[k] > 0.0:
            return int64(-1 - k)
    return closed
