"""Template: the contact problem of a step, [GS05] eqs. (12), (17), set up and solved.

`directions`: W_N, W_T, w_hat, their products V_N, V_T with M^-1, and the diagonal entries alpha, beta, delta of the
Delassus matrix.  `law`: mu, eps_N, eps_T, a.  `local`: active, kinds, offset, size, gamma_A, gamma_E, Lambda.
"""

import math

import numpy as np

from stickslip.codes import AUTO, CANCELLED, CONTACT, ENUMERATE, NEWTON, PAOLI, SPRING, THETA
from stickslip.jit.marks import dev, int64, rare
from stickslip.lcp.enumeration import enumerate_first
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.lcp.lemke import SOLVED, TIE_TOLERANCE, lemke, pivot_path
from stickslip.lcp.lemke import workspace as lemke_workspace
from stickslip.lcp.newton import semismooth_newton
from stickslip.lcp.newton import workspace as newton_workspace
from stickslip.mechanisms.templates.mass import contact_row
from stickslip.mechanisms.templates.model import (
    CENTRED,
    DIRECTIONS_CONSTANT,
    LASTING,
    N_CONTACTS,
    N_DOF,
    PROJECTION,
    SCHEME,
    SOLVER,
    SPRINGS,
    THETA_VALUE,
)

AUTO_SWEEPS = 10
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
def prepare_contacts(
    M, directions, law, local, dt, u, dv, v, v_free, change, g, deepest, ahead, g_before, reach, rounding
):
    """Set up the local problem of the active contacts, [GS05] eqs. (20), (21); return the deepest penetration.

    Where g holds the gaps at q_A + dt `ahead`, the end of the step, springs and contacts on position level go by it.
    A contact that is open by more than its rounding error, and takes part because it carried load before, may close its
    gap until the next step decides, but no more.
    """
    W_N, W_T, w_hat, _, _, _ = directions
    _, eps_N, eps_T, _ = law
    active, kinds, offset, _, gamma_A, _, Lambda = local
    for j in range(N_DOF):
        v_free[j] = v[j]
        change[j] = abs(u[j]) + abs(dv[j])
    for k in range(N_CONTACTS):
        Lambda[k, 0] = 0.0
        Lambda[k, 1] = 0.0
        if active[k] == 0:
            continue
        if not DIRECTIONS_CONSTANT or SCHEME == THETA:
            contact_row(k, M, directions)
        gamma_N = w_hat[k, 0]
        gamma_T = w_hat[k, 1]
        for j in range(N_DOF):
            gamma_N += W_N[k, j] * u[j]
            gamma_T += W_T[k, j] * u[j]
        gamma_A[k, 0] = gamma_N
        gamma_A[k, 1] = gamma_T
        offset[k, 0] = w_hat[k, 0]
        if not LASTING or reach[k] == 0.0:  # only a contact that carried load in the step before has a reach
            offset[k, 0] += eps_N[k] * gamma_N
        if not LASTING and SCHEME != PAOLI:  # noqa: SIM102 (conditions on constants stand alone)
            if kinds[k] == CONTACT and g[k] > rounding[k]:
                offset[k, 0] += closing_velocity(g[k] - rounding[k], gamma_N, dt)
        offset[k, 1] = w_hat[k, 1] + eps_T[k] * gamma_T
        if SPRINGS:  # noqa: SIM102 (conditions on constants stand alone)
            if kinds[k] == SPRING:  # Sgn of the displacement at the next midpoint, x_M + dt gamma_E, or at the end
                moved = w_hat[k, 1]
                if not CENTRED:
                    moved = 0.0
                    for j in range(N_DOF):
                        moved -= W_T[k, j] * ahead[j]
                offset[k, 1] = moved + g[k] / dt
        if SCHEME == PAOLI and kinds[k] == CONTACT:  # dt xi_N = g(q_E) + eps_N g(q_B)
            offset[k, 0] = (g[k] + eps_N[k] * g_before[k]) / dt
            for j in range(N_DOF):
                offset[k, 0] -= W_N[k, j] * ahead[j]
        if CENTRED and PROJECTION == 0.0 and kinds[k] == CONTACT and -g[k] > deepest:
            deepest = -g[k]
    return deepest


@rare
def measure_sizes(W_N, W_T, w_hat, active, kinds, offset, change, dv, size):
    """Columns of `size` for the active contacts: the sums of absolute values that make up gamma_N and gamma_T without
    impulses, and what the forces alone do to gamma_N in this step.
    """
    for k in range(N_CONTACTS):
        if active[k] == 0:
            continue
        size_N = abs(w_hat[k, 0])
        size_T = abs(w_hat[k, 1])
        kick = 0.0
        for j in range(N_DOF):
            size_N += abs(W_N[k, j]) * change[j]
            size_T += abs(W_T[k, j]) * change[j]
            kick += W_N[k, j] * dv[j]
        if SPRINGS:  # noqa: SIM102 (as above)
            if kinds[k] == SPRING:
                size_T += abs(offset[k, 1] - w_hat[k, 1])
        if SCHEME == PAOLI and kinds[k] == CONTACT:
            size_N += abs(offset[k, 0])
        size[k, 0] = size_N
        size[k, 1] = size_T
        size[k, 2] = abs(kick)


@dev
def relax(k, directions, mu, a, offset, Lambda, v):
    """Solve contact k for the velocities v that the others leave it, and update v; return what it changed."""
    W_N, W_T, _, V_N, V_T, diagonal = directions
    alpha = diagonal[k, 0]
    beta = diagonal[k, 1]
    delta = diagonal[k, 2]
    c_N = offset[k, 0] - alpha * Lambda[k, 0] - delta * Lambda[k, 1]
    c_T = offset[k, 1] - delta * Lambda[k, 0] - beta * Lambda[k, 1]
    for j in range(N_DOF):
        c_N += W_N[k, j] * v[j]
        c_T += W_T[k, j] * v[j]
    N, T = one_contact(alpha, beta, delta, c_N, c_T, mu[k], a[k])
    step_N = N - Lambda[k, 0]
    step_T = T - Lambda[k, 1]
    Lambda[k, 0] = N
    Lambda[k, 1] = T
    for j in range(N_DOF):
        v[j] += V_N[k, j] * step_N + V_T[k, j] * step_T
    return abs(alpha * step_N) + abs(beta * step_T)


@dev
def cancel(active, V_N, V_T, Lambda, v_free, v):
    """Set velocities to zero whose terms cancel to their last digits, so that what rests does not creep."""
    for j in range(N_DOF):
        terms = abs(v_free[j])
        for k in range(N_CONTACTS):
            if active[k] != 0:
                terms += abs(V_N[k, j] * Lambda[k, 0]) + abs(V_T[k, j] * Lambda[k, 1])
        if abs(v[j]) <= CANCELLED * terms:
            v[j] = 0.0


@rare
def sweep_contacts(directions, mu, a, local, change, dv, v_free, v, limit):
    """Sweep over the active contacts, velocities v kept up to date; return the sweeps, negative if not settled."""
    W_N, W_T, w_hat, V_N, V_T, _ = directions
    active, kinds, offset, size, _, _, Lambda = local
    measure_sizes(W_N, W_T, w_hat, active, kinds, offset, change, dv, size)
    before = math.inf
    for sweep in range(1, limit + 1):
        at_rest = True
        total = 0.0
        for k in range(N_CONTACTS):
            if active[k] != 0:
                moved = relax(k, directions, mu, a, offset, Lambda, v)
                total += moved
                if moved > SETTLED * (size[k, 0] + size[k, 1]):
                    at_rest = False
        if at_rest:
            cancel(active, V_N, V_T, Lambda, v_free, v)
            return sweep
        if SOLVER == AUTO and total > SLOW * before:
            return -sweep
        before = total
    return -limit


@dev
def gauss_seidel(closed, directions, law, local, change, dv, v_free, v, limit):
    """Gauss-Seidel over the active contacts, which is exact in one sweep where there is only one."""
    mu, _, _, a = law
    active, _, offset, _, _, _, Lambda = local
    if closed == 1:
        for k in range(N_CONTACTS):
            if active[k] != 0:
                relax(k, directions, mu, a, offset, Lambda, v)
        for j in range(N_DOF):  # `cancel`, where the terms of one contact are those of v_free with the other sign
            if abs(v[j]) <= 2.0 * CANCELLED * abs(v_free[j]):
                v[j] = 0.0
        return int64(1)
    return sweep_contacts(directions, mu, a, local, change, dv, v_free, v, limit)


@dev
def assemble_lcp(active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v, lcp):
    """The LCP [GS05] eq. (33) of the active contacts, scaled to unit diagonals; return its size.

    rows[i] is the contact of row i and part[i] says which of its three unknowns it is: 0 Lambda_N, 1 Lambda_R, 2 xi_L.
    """
    A, b, _, _, scale, rows, part, _, _, _, _ = lcp
    n = int64(0)
    for section in range(3):
        for k in range(N_CONTACTS):
            if active[k] == 0:
                continue
            frictional = diagonal[k, 1] > 0.0 and (mu[k] > 0.0 or a[k] > 0.0)
            if (section == 0 and diagonal[k, 0] > 0.0) or (section > 0 and frictional):
                rows[n] = k
                part[n] = section
                if section == 0:
                    scale[n] = 1.0 / math.sqrt(diagonal[k, 0])
                elif section == 1:
                    scale[n] = 1.0 / math.sqrt(diagonal[k, 1])
                else:
                    scale[n] = math.sqrt(diagonal[k, 1])
                n += 1
    for i in range(n):
        k = rows[i]
        if part[i] == 2:
            b[i] = 2.0 * a[k] * scale[i]
        else:
            value = offset[k, part[i]]
            for j in range(N_DOF):
                w = W_N[k, j] if part[i] == 0 else W_T[k, j]
                value += w * v[j]
            b[i] = value * scale[i]
        for c in range(n):
            m = rows[c]
            entry_value = 0.0
            if part[i] == 2:
                if m == k and part[c] == 0:
                    entry_value = 2.0 * mu[k]
                elif m == k and part[c] == 1:
                    entry_value = -1.0
            elif part[c] == 2:
                if m == k and part[i] == 1:
                    entry_value = 1.0
            else:
                for j in range(N_DOF):
                    w = W_N[k, j] if part[i] == 0 else W_T[k, j]
                    if part[c] == 1:
                        entry_value += w * V_T[m, j]
                        b[i] -= w * V_T[m, j] * a[m] * scale[i]
                    else:
                        entry_value += w * (V_N[m, j] - mu[m] * V_T[m, j])
            A[i, c] = entry_value * scale[i] * scale[c]
    return n


@rare
def by_lcp(active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v_free, v, Lambda, lcp, tol):
    """Solve the step's LCP directly; impulses into Lambda, velocities into v; pivots, negative if unsolved.

    Lemke's path is followed once, without polishing: `step_residual` judges the step, and what it refuses is solved
    anew outside of the kernel.
    """
    A, b, x, y, scale, rows, part, basis, nonbasic, row_of, column_of = lcp
    n = assemble_lcp(active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v, lcp)
    if SOLVER == ENUMERATE:
        found, pivots, _ = enumerate_first(A, b[:n], x[:n], y[:n], lemke_workspace(n), tol)
        status = SOLVED if found else 1
    elif SOLVER == NEWTON:
        for i in range(n):
            x[i] = 0.0
        free = np.zeros(n, np.bool_)
        status, pivots, _ = semismooth_newton(A, b[:n], free, x[:n], y[:n], newton_workspace(n), 100, tol)
        if status != SOLVED:  # as solve_lcp(method="newton") does
            status, pivots, _ = lemke(A, b[:n], x[:n], y[:n], np.empty(n), lemke_workspace(n), 50 * n + 200, tol)
    else:
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(b[i]))
        if largest == 0.0:
            largest = 1.0
        for i in range(n):
            b[i] /= largest
            A[i, n] = 1.0
            x[i] = 0.0
        status, pivots, _ = pivot_path(n, A, b, basis, nonbasic, row_of, column_of, y, 50 * n + 200, TIE_TOLERANCE)
        for i in range(n):
            if n <= basis[i] < 2 * n:
                x[basis[i] - n] = max(0.0, b[i]) * largest
    if status != SOLVED:
        return -1 - pivots
    for k in range(N_CONTACTS):
        Lambda[k, 0] = 0.0
        Lambda[k, 1] = 0.0
    for i in range(n):
        if part[i] < 2:
            Lambda[rows[i], part[i]] = x[i] * scale[i]
    for i in range(n):
        if part[i] == 1:
            k = rows[i]
            bound = mu[k] * Lambda[k, 0] + a[k]
            Lambda[k, 1] = max(-bound, min(bound, Lambda[k, 1] - bound))
    for i in range(n):
        if part[i] == 2 and x[i] > 0.0:  # xi_L > 0: Lambda_L = 0, the upper bound exactly
            Lambda[rows[i], 1] = mu[rows[i]] * Lambda[rows[i], 0] + a[rows[i]]
    for k in range(N_CONTACTS):
        if active[k] != 0:
            for j in range(N_DOF):
                v[j] += V_N[k, j] * Lambda[k, 0] + V_T[k, j] * Lambda[k, 1]
    cancel(active, V_N, V_T, Lambda, v_free, v)
    return pivots
