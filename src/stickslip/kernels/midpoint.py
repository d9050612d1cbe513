"""Template: the time steppers for planar contacts as one compiled loop, Moreau's midpoint rule [GS05] 5 first of all.

This file is a complete module for a point mass above a floor.  The generator puts another system between the two
lines that say `model`, and the answers to `SOLVER` and `SCHEME`; everything else is taken over word for word.
Branches that a scheme does not take are removed when it is compiled: each runs as if the loop were its own.

Shapes: q, u (N_DOF,); p (parameters,); W_N, W_T and their products with M^-1: one row per contact.
"""

import math

import numpy as np

from stickslip.complementarity.enumeration import enumerate_first
from stickslip.complementarity.gauss_seidel import one_contact
from stickslip.complementarity.lemke import SOLVED, TIE_TOLERANCE, lemke, pivot_path
from stickslip.complementarity.lemke import workspace as lemke_workspace
from stickslip.complementarity.newton import semismooth_newton
from stickslip.complementarity.newton import workspace as newton_workspace
from stickslip.complementarity.two_contacts import branch_of, two_contacts
from stickslip.kernels.cpu import dev, entry, float64, int64, local_array, rare
from stickslip.kernels.sliding import (
    CONSTANT,
    EARLY,
    HELD,
    SETTLED_LATE,
    UNSET,
    begin_slip,
    end_speed,
    holds,
    next_slip,
)
from stickslip.kernels.sliding import SETTLED as FRICTION_SETTLED

# -- model: begin
N_DOF = 1
N_CONTACTS = 1
N_PARAMETERS = 1
N_LCP = 3
N_LCP_COLUMNS = 4
MASS_CONSTANT = True
DIRECTIONS_CONSTANT = True
KINDS = (0,)
SOLVER = 2
SCHEME = 0
PROJECTION = 0.0
THETA_VALUE = 0.5
LASTING = False
FRICTION_LAWS = False
SLIDING = (0,)
WATCHED = False
SECTION = 0
PLACE = 0
EXTREMES = False
SHARES = False


@dev
def mass(q, t, p, M):
    M[0, 0] = 1.0


@dev
def gap(q, t, p, g):
    g[0] = q[0]


@dev
def dynamics(q, u, t, p, M, h, g):
    h[0] = -p[0]
    g[0] = q[0]


@dev
def force(q, u, t, p, h):
    h[0] = -p[0]


@dev
def jacobian(q, u, t, p, K, C, work):
    K[0, 0] = 0.0
    C[0, 0] = 0.0


@dev
def geometry(q, t, p, W_N, W_T, w_hat):
    W_N[0, 0] = 1.0
    W_T[0, 0] = 0.0
    w_hat[0, 0] = 0.0
    w_hat[0, 1] = 0.0


@dev
def laws(p, mu, eps_N, eps_T, threshold):
    mu[0] = 0.0
    eps_N[0] = 0.0
    eps_T[0] = 0.0
    threshold[0] = 0.0


@dev
def friction(p, speed, mu):
    mu[0] = 0.0


@dev
def energy(q, u, t, p, E):
    E[0] = 0.5 * u[0] * u[0]
    E[1] = p[0] * q[0]


# -- model: end

GAUSS_SEIDEL, LEMKE, AUTO, ENUMERATE, NEWTON = 0, 1, 2, 3, 4
MIDPOINT, THETA, STEWART, PAOLI = 0, 1, 2, 3
DONE, EVENTS_FULL, UNSOLVED, BLOWN_UP, MASS_INDEFINITE, GAP_NOT_A_NUMBER, MATRIX_INDEFINITE = 0, 1, 2, 3, 4, 5, 6
OPEN, STICK, SLIP_PLUS, SLIP_MINUS, IMPACT, CLOSED = 0, 1, 2, 3, 4, 5
CONTACT, CLUTCH, FRICTION, SPRING = 0, 1, 2, 3
FAILED_STEPS, MAX_RESIDUAL, MAX_PENETRATION, MAX_ENERGY_GAIN, MAX_LCP_SIZE = 0, 1, 2, 3, 4
ITERATIONS, FALLBACKS, CULPRIT, GAIN_STEP = 5, 6, 7, 8
CONTACT_WORK, PROJECTION_ENERGY, PROJECTIONS, WORK_BEFORE, INTEGRATION_ENERGY = 9, 10, 11, 12, 13
FRICTION_ROUNDS, FRICTION_CONTRACTION, BOOK_SIZE = 14, 15, 16
# What ensembles watch, behind the book in the same array: the request, then what was seen.
NO_SECTION, FALLS, RISES, STRIKES, PHASE = 0, 1, 2, 3, 4
FIRST_WATCHED, LEVEL, CYCLE, TRAVEL, N_POINTS, PASSAGES, PHASES = range(BOOK_SIZE, BOOK_SIZE + 7)
TIME_FIRST, TIME_LAST, TRAVEL_FIRST, TRAVEL_LAST, SHORTEST, LONGEST = range(BOOK_SIZE + 7, BOOK_SIZE + 13)
IMPACTS = BOOK_SIZE + 13  # of each contact; least and largest q, u; steps in each contact state; points of the section
N_STATES = 6
LEAST = IMPACTS + N_CONTACTS
LARGEST_SEEN = LEAST + 2 * N_DOF
STEPS_IN = LARGEST_SEEN + 2 * N_DOF
FIRST_POINT = STEPS_IN + N_STATES * N_CONTACTS
POINT_SIZE = 1 + 2 * N_DOF
AUTO_SWEEPS = 10
SLOW = 0.05  # a sweep that leaves more than this of the one before it: ten of them would not settle
SETTLED = 1e-14  # a sweep that changes no velocity by more than this, relatively, ends the iteration
CANCELLED = 1e-14  # a velocity this small against the terms that it is the sum of is zero
REACH = 1e-10  # of dt times the velocities: how far a loaded contact may seem open before it is
LARGEST = 1e100  # a velocity beyond is the end of an unstable run; energies are still finite
ITERATION_LIMIT = 50
GRAIN = 2e-15  # of the positions: what rounding errors of gaps and forces may move them by in a step
IMPLICIT = SCHEME in (THETA, PAOLI) or (SCHEME == STEWART and not MASS_CONSTANT)
PASSES = 2 * ITERATION_LIMIT if FRICTION_LAWS else (ITERATION_LIMIT if IMPLICIT else 1)
CENTRED = SCHEME <= THETA  # contacts at the midpoint; else their gaps are those at the end of the step
IMPACT_STEPS = 2 if SCHEME == PAOLI else 1
PAIRS = SOLVER == AUTO and N_CONTACTS > 1


@dev
def factor_mass(M):
    """M = L D L^T in place (1 / D on the diagonal); False where M is not positive definite."""
    for j in range(N_DOF):
        for k in range(j):
            s = M[j, k]
            for i in range(k):
                s -= M[j, i] * M[k, i]
            M[j, k] = s
        s = M[j, j]
        for i in range(j):
            scaled = M[j, i] * M[i, i]
            s -= M[j, i] * scaled
            M[j, i] = scaled
        if not s > 0.0:
            return False
        M[j, j] = 1.0 / s
    return True


@dev
def solve_mass(M, x):
    """x <- M^-1 x with the factors of `factor_mass`."""
    for j in range(N_DOF):
        s = x[j]
        for i in range(j):
            s -= M[j, i] * x[i]
        x[j] = s
    for j in range(N_DOF - 1, -1, -1):
        s = x[j] * M[j, j]
        for i in range(j + 1, N_DOF):
            s -= M[i, j] * x[i]
        x[j] = s


@dev
def invert_mass(M, inverse):
    """M^-1 from the factors of `factor_mass`; a constant mass is inverted once, which shortens every step."""
    for c in range(N_DOF):
        for j in range(N_DOF):
            inverse[c, j] = 1.0 if j == c else 0.0
        solve_mass(M, inverse[c])


@dev
def contact_row(k, M, directions):
    """Rows V = M^-1 w of contact k and its entries alpha, beta, delta of the Delassus matrix, [PG05] eq. (22)."""
    W_N, W_T, _, V_N, V_T, diagonal = directions
    for j in range(N_DOF):
        V_N[k, j] = W_N[k, j]
        V_T[k, j] = W_T[k, j]
    solve_mass(M, V_N[k])
    solve_mass(M, V_T[k])
    alpha = 0.0
    beta = 0.0
    delta = 0.0
    for j in range(N_DOF):
        alpha += W_N[k, j] * V_N[k, j]
        beta += W_T[k, j] * V_T[k, j]
        delta += W_N[k, j] * V_T[k, j]
    diagonal[k, 0] = alpha
    diagonal[k, 1] = beta
    diagonal[k, 2] = delta


@dev
def free_velocity(u, dt, M, inverse, h, dv, v):
    """v = u_A + M^-1 h dt, and its second part in dv."""
    if MASS_CONSTANT:
        for j in range(N_DOF):
            acceleration = 0.0
            for i in range(N_DOF):
                acceleration += inverse[j, i] * h[i]
            dv[j] = dt * acceleration
    else:
        solve_mass(M, h)
        for j in range(N_DOF):
            dv[j] = dt * h[j]
    for j in range(N_DOF):
        v[j] = u[j] + dv[j]


@dev
def bounded(v):
    """Whether the velocities are numbers of a size that a mechanism may have."""
    total = 0.0
    for j in range(N_DOF):
        total += abs(v[j])
    return total < LARGEST


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


@dev
def find_active(g, reach, kinds, active):
    """Mark the contacts that take part in the step and count them; -1 - k where the gap of contact k is no number.

    `reach` is zero but for contacts that carried load in the step before, see `close_step`.
    """
    closed = int64(0)
    for k in range(N_CONTACTS):
        active[k] = 0
        if kinds[k] != CONTACT or g[k] <= reach[k] or (LASTING and reach[k] > 0.0):
            active[k] = 1
            closed += 1
        elif not g[k] > 0.0:
            return int64(-1 - k)
    return closed


@dev
def prepare_contacts(M, directions, law, local, dt, u, dv, v, v_free, change, g, deepest, ahead, g_before, reach):
    """Set up the local problem of the active contacts, [GS05] eqs. (20), (21); return the deepest penetration.

    Where g holds the gaps at q_A + dt `ahead`, the end of the step, springs and contacts on position level go by it.
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
        offset[k, 1] = w_hat[k, 1] + eps_T[k] * gamma_T
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
        settled = True
        total = 0.0
        for k in range(N_CONTACTS):
            if active[k] != 0:
                moved = relax(k, directions, mu, a, offset, Lambda, v)
                total += moved
                if moved > SETTLED * (size[k, 0] + size[k, 1]):
                    settled = False
        if settled:
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


@rare
def by_pair(active, diagonal, W_N, W_T, V_N, V_T, offset, mu_, a_, v_free, v, Lambda):
    """Solve a step with two active contacts, from the branches that sweeps have brought them to; rounds, or negative.

    Impulses into Lambda, velocities into v; nothing is touched where no branches are consistent.
    """
    pair = local_array(2, int64)
    pushes = local_array(2, int64)
    branch = local_array(2, int64)
    mu = local_array(2, float64)
    a = local_array(2, float64)
    G = local_array((4, 4), float64)
    A = local_array((4, 5), float64)
    c = local_array(4, float64)
    x = local_array(4, float64)
    n = int64(0)
    for k in range(N_CONTACTS):
        if active[k] != 0:
            pair[n] = k
            n += 1
    for i in range(2):
        k = pair[i]
        if not diagonal[k, 0] > 0.0:
            return int64(-1)
        mu[i] = mu_[k]
        a[i] = a_[k]
        pushes[i] = 1 if Lambda[k, 0] > 0.0 else 0
        frictional = diagonal[k, 1] > 0.0 and (mu[i] > 0.0 or a[i] > 0.0)
        branch[i] = branch_of(Lambda[k, 1], mu[i] * Lambda[k, 0] + a[i], frictional)
        c[i] = offset[k, 0]
        c[2 + i] = offset[k, 1]
        for j in range(N_DOF):
            c[i] += W_N[k, j] * v_free[j]
            c[2 + i] += W_T[k, j] * v_free[j]
        for m in range(2):
            G[i, m] = 0.0
            G[i, 2 + m] = 0.0
            G[2 + i, m] = 0.0
            G[2 + i, 2 + m] = 0.0
            for j in range(N_DOF):
                G[i, m] += W_N[k, j] * V_N[pair[m], j]
                G[i, 2 + m] += W_N[k, j] * V_T[pair[m], j]
                G[2 + i, m] += W_T[k, j] * V_N[pair[m], j]
                G[2 + i, 2 + m] += W_T[k, j] * V_T[pair[m], j]
    rounds = two_contacts(G, c, mu, a, pushes, branch, x, A)
    if rounds < 0:
        return rounds
    for j in range(N_DOF):
        v[j] = v_free[j]
    for i in range(2):
        k = pair[i]
        Lambda[k, 0] = x[i]
        Lambda[k, 1] = x[2 + i]
        for j in range(N_DOF):
            v[j] += V_N[k, j] * x[i] + V_T[k, j] * x[2 + i]
    cancel(active, V_N, V_T, Lambda, v_free, v)
    return rounds


@dev
def take_friction(p, mu, sliding):
    """Write the coefficients of the contacts whose friction depends on slip, see `kernels.sliding`."""
    mode, _, speed, _, _, _, mu_end, static, _, _ = sliding
    friction(p, speed, mu_end)
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and mode[k] != UNSET:
            mu[k] = static[k] if mode[k] == HELD else mu_end[k]


@rare
def begin_friction(p, mu, local, sticks, sliding):
    """Coefficients of the contacts that join the step."""
    active, _, _, _, gamma_A, _, _ = local
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0 and sliding[0][k] == UNSET:
            begin_slip(k, SLIDING[k], sticks[k], gamma_A[k, 1], sliding)
    take_friction(p, mu, sliding)


@dev
def slip_size(k, directions, change, Lambda):
    """How large the terms are that gamma_T of contact k is the sum of; as `label_contacts` has it."""
    _, W_T, w_hat, _, _, diagonal = directions
    size = abs(w_hat[k, 1]) + diagonal[k, 1] * abs(Lambda[k, 1]) + abs(diagonal[k, 2]) * Lambda[k, 0]
    for j in range(N_DOF):
        size += abs(W_T[k, j]) * change[j]
    return size


@rare
def next_friction(p, directions, mu, a, local, change, sliding, book, late):
    """Adapt the coefficients to the slip of a solved round; (whether any changes, worst defect of the laws)."""
    active, _, _, _, gamma_A, gamma_E, Lambda = local
    diagonal = directions[5]
    end, mu_end = sliding[3], sliding[6]
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0:
            end[k] = end_speed(gamma_E[k, 1], slip_size(k, directions, change, Lambda))
    friction(p, end, mu_end)
    moved = False
    worst = 0.0
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0:
            size = slip_size(k, directions, change, Lambda)
            changes, defect, contraction = next_slip(
                k, sliding, mu[k], gamma_A[k, 1], gamma_E[k, 1], size, diagonal[k, 1], Lambda[k, 0], Lambda[k, 1], a[k],
                SETTLED_LATE if late else FRICTION_SETTLED, late,
            )  # fmt: skip
            moved = moved or changes
            worst = max(worst, defect)
            book[FRICTION_CONTRACTION] = max(book[FRICTION_CONTRACTION], contraction)
    if moved:
        take_friction(p, mu, sliding)
    return moved, worst


@dev
def remember_slip(closed, directions, change, local, a, sticks, sliding):
    """Which contacts stick after a step: the flags that the next one begins with; an open contact has none."""
    active, _, _, _, gamma_A, _, Lambda = local
    for k in range(N_CONTACTS):
        sticks[k] = 0.0
        if SLIDING[k] != CONSTANT and closed > 0 and active[k] != 0:
            loaded = Lambda[k, 0] > 0.0 or a[k] > 0.0
            size = slip_size(k, directions, change, Lambda)
            if holds(SLIDING[k], sliding[0][k], sliding[3][k], gamma_A[k, 1], size, loaded):
                sticks[k] = 1.0


@rare
def project(q, t, p, M, g, directions, shift, dq):
    """Move q by M^-1 w_N directions until no gap is deeper than PROJECTION; return whether anything moved.

    g + G shift >= -PROJECTION / 2, shift >= 0, complementary, by Gauss-Seidel; repeated for gaps that are not linear.
    Half the depth is left so that a contact that stays closed is not lost to round-off.
    """
    W_N, W_T, w_hat, V_N, _, diagonal = directions
    moved = False
    for _ in range(20):
        gap(q, t, p, g)
        deepest = 0.0
        for k in range(N_CONTACTS):
            shift[k] = 0.0
            if KINDS[k] == CONTACT:
                deepest = max(deepest, -g[k])
        if deepest <= PROJECTION:
            break
        moved = True
        if not MASS_CONSTANT or SCHEME == THETA:
            mass(q, t, p, M)
            if not factor_mass(M):
                break
        if not DIRECTIONS_CONSTANT:
            geometry(q, t, p, W_N, W_T, w_hat)
        for j in range(N_DOF):
            dq[j] = 0.0
        for k in range(N_CONTACTS):
            if KINDS[k] == CONTACT and g[k] < 0.0 and (not DIRECTIONS_CONSTANT or SCHEME == THETA):
                contact_row(k, M, directions)
        for _sweep in range(2000):
            change = 0.0
            for k in range(N_CONTACTS):
                if KINDS[k] == CONTACT and g[k] < 0.0:
                    rest = g[k] + 0.5 * PROJECTION
                    for j in range(N_DOF):
                        rest += W_N[k, j] * dq[j]
                    step = max(-shift[k], -rest / diagonal[k, 0])
                    shift[k] += step
                    for j in range(N_DOF):
                        dq[j] += V_N[k, j] * step
                    change = max(change, abs(step) * diagonal[k, 0])
            if change <= 1e-9 * deepest:  # below the rounding of gaps: a slider that is level must stay so
                break
        for j in range(N_DOF):
            q[j] += dq[j]
    return moved


@dev
def defects(k, mu, a, diagonal, offset, Lambda, end_N, end_T):
    """Violations of the laws of contact k at the end velocities w^T v in m/s; infinite for impulses off the cone."""
    N = Lambda[k, 0]
    T = Lambda[k, 1]
    bound = mu[k] * N + a[k]
    if not (N >= 0.0 and abs(T) <= bound * (1.0 + 1e-12)):
        return math.inf, math.inf
    defect_N = 0.0
    defect_T = 0.0
    if diagonal[k, 0] > 0.0:
        xi_N = end_N + offset[k, 0]
        defect_N = abs(xi_N) if N > 0.0 else -xi_N
    if diagonal[k, 1] > 0.0 and bound > 0.0:
        xi_T = end_T + offset[k, 1]
        if abs(T) < bound * (1.0 - 1e-12):
            defect_T = abs(xi_T)
        else:
            defect_T = xi_T if T > 0.0 else -xi_T
    return defect_N, defect_T


@dev
def within(directions, law, local, v, worst):
    """Write gamma_E of the end velocity v; True if the violations are surely no worse than `worst`.

    Measured by what the contact's own impulses change, which is less than the size that `full_residual` takes.
    """
    W_N, W_T, w_hat, _, _, diagonal = directions
    mu, _, _, a = law
    active, _, offset, _, _, gamma_E, Lambda = local
    sure = True
    for k in range(N_CONTACTS):
        if active[k] == 0:
            continue
        end_N = 0.0
        end_T = 0.0
        for j in range(N_DOF):
            end_N += W_N[k, j] * v[j]
            end_T += W_T[k, j] * v[j]
        gamma_E[k, 0] = end_N + w_hat[k, 0]
        gamma_E[k, 1] = end_T + w_hat[k, 1]
        defect_N, defect_T = defects(k, mu, a, diagonal, offset, Lambda, end_N, end_T)
        N = Lambda[k, 0]
        T = abs(Lambda[k, 1])
        coupling = abs(diagonal[k, 2])
        if not defect_N <= worst * (diagonal[k, 0] * N + coupling * T):
            sure = False
        if not defect_T <= worst * (coupling * N + diagonal[k, 1] * T):
            sure = False
    return sure


@rare
def full_residual(directions, mu, a, local, change, dv, v, worst):
    """Worst violation of the laws by the end velocity v, relative to the velocities that make it up, or `worst`.

    What single impulses change counts, not their sum, and frictions count with their bounds: those of two feet that
    cancel or vanish leave rounding errors, and these are no violation.
    """
    W_N, W_T, w_hat, V_N, V_T, diagonal = directions
    active, kinds, offset, size, _, _, Lambda = local
    measure_sizes(W_N, W_T, w_hat, active, kinds, offset, change, dv, size)
    for k in range(N_CONTACTS):
        if active[k] == 0:
            continue
        end_N = 0.0
        end_T = 0.0
        size_N = size[k, 0]
        size_T = size[k, 1]
        for j in range(N_DOF):
            end_N += W_N[k, j] * v[j]
            end_T += W_T[k, j] * v[j]
            change_j = 0.0
            for m in range(N_CONTACTS):
                if active[m] != 0:
                    change_j += abs(V_N[m, j] * Lambda[m, 0]) + abs(V_T[m, j]) * (mu[m] * Lambda[m, 0] + a[m])
            size_N += abs(W_N[k, j]) * change_j
            size_T += abs(W_T[k, j]) * change_j
        defect_N, defect_T = defects(k, mu, a, diagonal, offset, Lambda, end_N, end_T)
        if not defect_N <= worst * size_N:
            worst = defect_N / size_N
        if not defect_T <= worst * size_T:
            worst = defect_T / size_T
    return worst if worst == worst else math.inf


@dev
def step_residual(directions, law, local, change, dv, v, worst):
    """The worst residual of the steps so far and of this one, whose gamma_E is written."""
    mu, _, _, a = law
    if within(directions, law, local, v, worst):
        return worst
    return full_residual(directions, mu, a, local, change, dv, v, worst)


@dev
def closes(unloaded, gamma_N_A, kick):
    """Whether a contact that carried no load for `unloaded` steps, and now does, has struck.

    After one or two steps without load it has only if it closes faster than ten steps of the forces explain (`kick`,
    what they do to gamma_N in one step): a lasting contact on curved ground may lose its load for a step.
    """
    return gamma_N_A < 0.0 and (unloaded > 2 or (unloaded > 0 and -gamma_N_A > 10.0 * kick))


@dev
def contact_state(kind, strikes, struck, gamma_T_E, size_T, tangential, bound, N, T, N_before):
    """State of an active contact after a step that ended with gamma_T_E.

    `strikes`: it has struck by itself; `struck`: some contact has, and an impulse that jumps makes this one part of it.
    """
    if kind <= CLUTCH:
        if N == 0.0:
            return OPEN
        if kind == CONTACT and (strikes or (struck and N > 5.0 * N_before)):
            return IMPACT
        if not tangential or bound == 0.0:
            return CLOSED
    if abs(gamma_T_E) <= 1e-10 * size_T or abs(T) < bound * (1.0 - 1e-12):
        return STICK
    return SLIP_PLUS if gamma_T_E > 0.0 else SLIP_MINUS


@dev
def may_strike(step, local, last_loaded):
    """Whether a contact that carried no load in the step before closes in this one and does."""
    active, _, _, _, gamma_A, _, Lambda = local
    for k in range(N_CONTACTS):
        if active[k] != 0 and last_loaded[k] < step - 1 and gamma_A[k, 0] < 0.0 and Lambda[k, 0] > 0.0:
            return True
    return False


@rare
def label_contacts(step, time, directions, mu, a, local, change, dv, last_loaded, N_before, states, events, n_events):
    """Write the contact states of a step, and a row of `events` for each impact; (events, whether one begins)."""
    W_N, W_T, w_hat, _, _, diagonal = directions
    active, kinds, offset, size, gamma_A, gamma_E, Lambda = local
    measure_sizes(W_N, W_T, w_hat, active, kinds, offset, change, dv, size)
    struck = False
    begins = False
    for k in range(N_CONTACTS):
        if active[k] != 0 and Lambda[k, 0] > 0.0 and kinds[k] == CONTACT:
            struck = struck or closes(step - last_loaded[k] - 1, gamma_A[k, 0], size[k, 2])
    for k in range(N_CONTACTS):
        if active[k] == 0:
            states[k] = OPEN
            continue
        N = Lambda[k, 0]
        T = Lambda[k, 1]
        bound = mu[k] * N + a[k]
        strikes = closes(step - last_loaded[k] - 1, gamma_A[k, 0], size[k, 2])
        tangential = diagonal[k, 1] > 0.0
        size_T = size[k, 1] + diagonal[k, 1] * abs(T) + abs(diagonal[k, 2]) * N  # with what its own impulses do
        state = contact_state(kinds[k], strikes, struck, gamma_E[k, 1], size_T, tangential, bound, N, T, N_before[k])
        lasting = IMPACT_STEPS == 2 and states[k] == IMPACT  # the second half of an impact
        begins = begins or (state == IMPACT and not lasting)
        states[k] = state
        if state == IMPACT or lasting:
            events[n_events, 0] = time
            events[n_events, 1] = k
            events[n_events, 2] = gamma_A[k, 0]
            events[n_events, 3] = gamma_E[k, 0]
            events[n_events, 4] = N
            events[n_events, 5] = T
            events[n_events, 6] = gamma_A[k, 1]
            events[n_events, 7] = gamma_E[k, 1]
            n_events += 1
    return n_events, begins


@dev
def close_step(step, dt, diagonal, local, memory):
    """Remember the impulses of a step with closed contacts; return (work of the contacts, rows of the LCP).

    A contact that carries load gets a `reach`: the gap by which it may seem open at the next step and still take part.
    Rounding errors open a gap of zero by less, and a resting body would fall for one step; a true opening is far more.
    It does not shrink while the load lasts: shorter steps that follow have the same rounding errors.
    """
    active, kinds, _, _, gamma_A, gamma_E, Lambda = local
    last_loaded, N_before, total, reach = memory
    work = 0.0
    rows = int64(0)
    for k in range(N_CONTACTS):
        if active[k] == 0:
            N_before[k] = 0.0
            reach[k] = 0.0
            continue
        N = Lambda[k, 0]
        T = Lambda[k, 1]
        rows += (1 if diagonal[k, 0] > 0.0 else 0) + (2 if diagonal[k, 1] > 0.0 else 0)
        if kinds[k] != SPRING:
            work += 0.5 * N * (gamma_A[k, 0] + gamma_E[k, 0]) + 0.5 * T * (gamma_A[k, 1] + gamma_E[k, 1])
        N_before[k] = N
        total[k, 0] += N
        total[k, 1] += T
        if N > 0.0:
            last_loaded[k] = step
            reach[k] = max(reach[k], REACH * dt * diagonal[k, 0] * N)
        else:
            reach[k] = 0.0
    return work, rows


@dev
def penetration(g, kinds, deepest):
    """The deepest penetration so far and of the gaps g."""
    for k in range(N_CONTACTS):
        if kinds[k] == CONTACT and -g[k] > deepest:
            deepest = -g[k]
    return deepest


@dev
def record(q, u, total, rec_q, rec_u, rec_impulse, rec_state, i):
    """Write record i, begin new sums, and carry the contact states on."""
    for j in range(N_DOF):
        rec_q[i, j] = q[j]
        rec_u[i, j] = u[j]
    for k in range(N_CONTACTS):
        rec_impulse[i, k, 0] = total[k, 0]
        rec_impulse[i, k, 1] = total[k, 1]
        total[k, 0] = 0.0
        total[k, 1] = 0.0
        rec_state[i + 1, k] = rec_state[i, k]


@dev
def section_value(q, u, level):
    """Signed distance from the section, whose coordinate or velocity is known when compiling."""
    return (q[PLACE] if PLACE < N_DOF else u[PLACE - N_DOF]) - level


@dev
def passes(x_A, x_E):
    """Whether a step passes the section from its positive side, or from its negative one."""
    if SECTION == RISES:
        return x_A < 0.0 and x_E >= 0.0
    return x_A > 0.0 and x_E <= 0.0


@dev
def between(s, h, x_A, x_E, v_A, v_E):
    """Cubic polynomial with values x and slopes v at both ends of a step h, at the part s of it."""
    rest = 1.0 - s
    return rest * rest * (1.0 + 2.0 * s) * x_A + s * s * (3.0 - 2.0 * s) * x_E + s * rest * h * (rest * v_A - s * v_E)


@dev
def part_of_step(dt, x_A, x_E, v_A, v_E):
    """The part of a step after which x passes zero: bisection, since slopes jump where contacts close."""
    if PLACE >= N_DOF:
        return x_A / (x_A - x_E)
    low = 0.0
    high = 1.0
    for _ in range(53):
        middle = 0.5 * (low + high)
        if between(middle, dt, x_A, x_E, v_A, v_E) * x_A > 0.0:
            low = middle
        else:
            high = middle
    return high


@rare
def note_passage(s, t_A, dt, q_A, u_A, q, u, book):
    """Book a passage of the section at the part s of the step from (q_A, u_A) to (q, u); keep it as a point."""
    time = t_A + s * dt
    count = int64(book[PASSAGES])
    way = 0.0
    for j in range(N_DOF):
        if j == int64(book[TRAVEL]):
            way = between(s, dt, q_A[j], q[j], u_A[j], u[j])
    if count == 0:
        book[TIME_FIRST] = time
        book[TRAVEL_FIRST] = way
        book[SHORTEST] = math.inf
        book[LONGEST] = 0.0
    else:
        book[SHORTEST] = min(book[SHORTEST], time - book[TIME_LAST])
        book[LONGEST] = max(book[LONGEST], time - book[TIME_LAST])
    book[TIME_LAST] = time
    book[TRAVEL_LAST] = way
    book[PASSAGES] = count + 1
    room = int64(book[N_POINTS])
    if room > 0:
        begin = FIRST_POINT + POINT_SIZE * (count % room)
        book[begin] = time
        for j in range(N_DOF):
            book[begin + 1 + j] = between(s, dt, q_A[j], q[j], u_A[j], u[j])
            book[begin + 1 + N_DOF + j] = (1.0 - s) * u_A[j] + s * u[j]


@dev
def note_impacts(watching, events, n_events, book):
    """Count the impacts of a step by contact; whether that of the section is among them."""
    passed = False
    for i in range(n_events):
        k = int64(events[i, 1])
        if watching:
            book[IMPACTS + k] += 1.0
            passed = passed or (SECTION == STRIKES and k == PLACE)
    return passed


@dev
def read_extremes(book, least, largest):
    """Least and largest coordinates and velocities so far."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                least[i, j] = book[LEAST + N_DOF * i + j]
                largest[i, j] = book[LARGEST_SEEN + N_DOF * i + j]


@dev
def write_extremes(least, largest, book):
    """Put them back: inside the loop they are in registers."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                book[LEAST + N_DOF * i + j] = least[i, j]
                book[LARGEST_SEEN + N_DOF * i + j] = largest[i, j]


@dev
def watch_step(t0, t_A, t_E, dt, level, q_A, u_A, q, u, struck, states, least, largest, book):
    """What a member of an ensemble is asked for, after the step from (q_A, u_A) to (q, u)."""
    if SECTION == FALLS or SECTION == RISES:  # noqa: SIM109
        x_A = section_value(q_A, u_A, level)
        x_E = section_value(q, u, level)
        if passes(x_A, x_E):
            part = part_of_step(dt, x_A, x_E, section_value(u_A, u_A, 0.0), section_value(u, u, 0.0))
            note_passage(part, t_A, dt, q_A, u_A, q, u, book)
    elif SECTION == STRIKES:
        if struck:
            note_passage(1.0, t_A, dt, q_A, u_A, q, u, book)
    elif SECTION == PHASE:
        due = t0 + (book[PHASES] + 1.0) * book[CYCLE]
        if t_E >= due:
            book[PHASES] += 1.0
            note_passage((due - t_A) / dt, t_A, dt, q_A, u_A, q, u, book)
    if EXTREMES:
        for j in range(N_DOF):
            least[0, j] = min(least[0, j], q[j])
            least[1, j] = min(least[1, j], u[j])
            largest[0, j] = max(largest[0, j], q[j])
            largest[1, j] = max(largest[1, j], u[j])
    if SHARES:
        for k in range(N_CONTACTS):
            book[STEPS_IN + N_STATES * k + int64(states[k])] += 1.0


@entry
def march(
    q_,
    u_,
    p_,
    t0,
    dt,
    first_step,
    n_steps,
    every,
    sweeps,
    tol,
    rec_q,
    rec_u,
    rec_impulse,
    rec_state,
    impulse_before,
    impulse_sum,
    last_loaded_,
    carried_,
    reach_,
    events,
    n_events,
    book,
):
    """Do steps first_step .. first_step + n_steps - 1; return (status, steps done, events, records).

    State (q_, u_), the memory of the contacts (impulse_before, impulse_sum, last_loaded_, carried_, reach_) and the
    book are updated in place, so that a call with the remaining steps goes on as if there had been none in between.
    The third column of carried_, which friction laws read, has 1 where a contact sticks.
    """
    q = local_array(N_DOF, float64)
    u = local_array(N_DOF, float64)
    p = local_array(N_PARAMETERS, float64)
    for j in range(N_DOF):
        q[j] = q_[j]
        u[j] = u_[j]
    for j in range(N_PARAMETERS):  # a bound known when compiling, so that a GPU keeps them in registers
        if j < p_.shape[0]:
            p[j] = p_[j]
    q_C = local_array(N_DOF, float64)  # where the contacts are evaluated
    v = local_array(N_DOF, float64)
    v_free = local_array(N_DOF, float64)
    h = local_array(N_DOF, float64)
    dv = local_array(N_DOF, float64)
    M = local_array((N_DOF, N_DOF), float64)
    inverse = local_array((N_DOF, N_DOF), float64)
    g = local_array(N_CONTACTS, float64)
    active = local_array(N_CONTACTS, int64)
    last_loaded = local_array(N_CONTACTS, int64)
    W_N = local_array((N_CONTACTS, N_DOF), float64)
    W_T = local_array((N_CONTACTS, N_DOF), float64)
    V_N = local_array((N_CONTACTS, N_DOF), float64)
    V_T = local_array((N_CONTACTS, N_DOF), float64)
    w_hat = local_array((N_CONTACTS, 2), float64)
    diagonal = local_array((N_CONTACTS, 3), float64)
    offset = local_array((N_CONTACTS, 2), float64)
    size = local_array((N_CONTACTS, 3), float64)  # of gamma_N, of gamma_T; and what the forces do to gamma_N
    gamma_A = local_array((N_CONTACTS, 2), float64)
    gamma_E = local_array((N_CONTACTS, 2), float64)
    change = local_array(N_DOF, float64)
    Lambda = local_array((N_CONTACTS, 2), float64)
    mu = local_array(N_CONTACTS, float64)
    eps_N = local_array(N_CONTACTS, float64)
    eps_T = local_array(N_CONTACTS, float64)
    threshold = local_array(N_CONTACTS, float64)
    a = local_array(N_CONTACTS, float64)
    kinds = local_array(N_CONTACTS, int64)
    N_before = local_array(N_CONTACTS, float64)
    total = local_array((N_CONTACTS, 2), float64)
    E = local_array(2, float64)
    shift = local_array(N_CONTACTS, float64)
    dq = local_array(N_DOF, float64)
    reach = local_array(N_CONTACTS, float64)
    g_before = local_array(N_CONTACTS, float64)
    carried = local_array((N_CONTACTS, 2), float64)
    q_E = local_array(N_DOF, float64)
    v_last = local_array(N_DOF, float64)
    h_A = local_array(N_DOF, float64)
    weight = local_array(N_DOF, float64)
    inertia = local_array((N_DOF, N_DOF), float64)
    K = local_array((N_DOF, N_DOF), float64)
    C = local_array((N_DOF, N_DOF), float64)
    work_h = local_array((2, N_DOF), float64)
    q_A = local_array(N_DOF, float64)
    u_A = local_array(N_DOF, float64)
    least = local_array((2, N_DOF), float64)
    largest = local_array((2, N_DOF), float64)
    if SOLVER != GAUSS_SEIDEL:
        lcp = (
            local_array((N_LCP, N_LCP_COLUMNS), float64),  # A, and the covering vector behind it
            local_array(N_LCP, float64),  # b
            local_array(N_LCP, float64),  # x
            local_array(N_LCP, float64),  # y
            local_array(N_LCP, float64),  # scale
            local_array(N_LCP, int64),  # rows
            local_array(N_LCP, int64),  # part
            local_array(N_LCP, int64),  # basis
            local_array(N_LCP_COLUMNS, int64),  # nonbasic
            local_array(N_LCP, int64),  # row of y_j
            local_array(N_LCP, int64),  # column of y_j
        )

    else:
        lcp = 0
    if FRICTION_LAWS:
        sticks = local_array(N_CONTACTS, float64)
        sliding = (
            local_array(N_CONTACTS, int64),  # mode
            local_array(N_CONTACTS, int64),  # grab
            local_array(N_CONTACTS, float64),  # speed
            local_array(N_CONTACTS, float64),  # end
            local_array(N_CONTACTS, float64),  # speed_before
            local_array(N_CONTACTS, float64),  # end_before
            local_array(N_CONTACTS, float64),  # mu_end
            local_array(N_CONTACTS, float64),  # static
            local_array(N_CONTACTS, float64),  # low
            local_array(N_CONTACTS, float64),  # high
        )
    directions = (W_N, W_T, w_hat, V_N, V_T, diagonal)
    law = (mu, eps_N, eps_T, a)
    local = (active, kinds, offset, size, gamma_A, gamma_E, Lambda)
    memory = (last_loaded, N_before, total, reach)

    laws(p, mu, eps_N, eps_T, threshold)
    for k in range(N_CONTACTS):
        last_loaded[k] = last_loaded_[k]
        kinds[k] = KINDS[k]
        N_before[k] = impulse_before[k]
        reach[k] = reach_[k]
        carried[k, 0] = carried_[k, 0]
        carried[k, 1] = carried_[k, 1]
        total[k, 0] = impulse_sum[k, 0]
        total[k, 1] = impulse_sum[k, 1]
        a[k] = threshold[k] * dt
        if FRICTION_LAWS:
            sticks[k] = carried_[k, 2]
            sliding[7][k] = mu[k]
    if MASS_CONSTANT:
        mass(q, t0, p, M)
        if not factor_mass(M):
            return MASS_INDEFINITE, int64(0), n_events, int64(0)
        invert_mass(M, inverse)
        if IMPLICIT:
            mass(q, t0, p, inertia)
    if DIRECTIONS_CONSTANT:
        geometry(q, t0, p, W_N, W_T, w_hat)
        for k in range(N_CONTACTS):
            contact_row(k, M, directions)

    status = int64(DONE)
    records = int64(0)
    done = int64(0)
    countdown = every - first_step % every
    in_contact = True  # something in the memory of the contacts may have to be cleared
    worst_residual = book[MAX_RESIDUAL]
    deepest = book[MAX_PENETRATION]
    largest_gain = book[MAX_ENERGY_GAIN]
    largest_lcp = int64(book[MAX_LCP_SIZE])
    effort = int64(0)
    contact_work = book[CONTACT_WORK]  # one sum over the run: the same however a run is cut into calls
    work_before = book[WORK_BEFORE]
    last_step = first_step + n_steps - 1
    if PROJECTION > 0.0:
        energy(q, u, t0 + first_step * dt, p, E)
        energy_A = E[0] + E[1]
    if WATCHED:
        first_watched = int64(book[FIRST_WATCHED])
        level = book[LEVEL]
        read_extremes(book, least, largest)
    for step in range(first_step, first_step + n_steps):
        t_A = t0 + step * dt
        t_M = t0 + (step + 0.5) * dt  # [GS05] 5, step 1
        t_E = t0 + (step + 1) * dt
        if SCHEME == MIDPOINT:
            for j in range(N_DOF):
                q_C[j] = q[j] + 0.5 * dt * u[j]  # step 2
            dynamics(q_C, u, t_M, p, M, h, g)  # step 3 (a), (b)
        elif SCHEME == THETA:
            for j in range(N_DOF):
                q_C[j] = q[j] + 0.5 * dt * u[j]
                v[j] = u[j]
            gap(q_C, t_M, p, g)
            force(q, u, t_A, p, h_A)
            if not MASS_CONSTANT:
                mass(q_C, t_M, p, inertia)
        elif SCHEME == STEWART:
            for j in range(N_DOF):
                q_C[j] = q[j]
                q_E[j] = q[j] + dt * u[j]
                v[j] = u[j]
            gap(q_E, t_E, p, g)
            force(q, u, t_A, p, h_A)
            if not MASS_CONSTANT:
                mass(q_E, t_E, p, inertia)
        else:
            for j in range(N_DOF):
                q_C[j] = q[j]
                q_E[j] = q[j] - dt * u[j]
            gap(q_E, t_A - dt, p, g_before)
            force(q, u, t_A, p, h)
            if not MASS_CONSTANT:
                mass(q, t_A, p, M)
                for j in range(N_DOF):
                    inertia[j, j] = M[j, j]
                if not factor_mass(M):
                    status = MASS_INDEFINITE
                    break
            free_velocity(u, dt, M, inverse, h, dv, v)
            if not bounded(v):
                status = BLOWN_UP
                break
            if not DIRECTIONS_CONSTANT:
                geometry(q_C, t_A, p, W_N, W_T, w_hat)
                for k in range(N_CONTACTS):
                    contact_row(k, M, directions)
            take_back(carried, directions, dv)
        if IMPLICIT:
            for j in range(N_DOF):
                weight[j] = inertia[j, j]
        closed = int64(0)
        newcomers = False
        correction = math.inf
        iterations = int64(0)
        if FRICTION_LAWS:
            moved = False
            defect = 0.0
            rounds = int64(0)
            for k in range(N_CONTACTS):
                sliding[0][k] = UNSET
                sliding[2][k] = 0.0
                sliding[3][k] = 0.0
        for count in range(PASSES):
            if IMPLICIT:
                for j in range(N_DOF):
                    v_last[j] = v[j]
            if FRICTION_LAWS and SCHEME == MIDPOINT and count > 0:  # another round with the same forces
                for j in range(N_DOF):
                    v[j] = u[j] + dv[j]
            elif SCHEME == MIDPOINT:
                if not MASS_CONSTANT and not factor_mass(M):
                    status = MASS_INDEFINITE
                    break
                free_velocity(u, dt, M, inverse, h, dv, v)
            elif SCHEME == THETA:
                if not iteration_system(q, u, v, t_E, dt, p, inertia, h_A, M, h, K, C, work_h, q_E, dv):
                    status = MATRIX_INDEFINITE
                    break
            elif SCHEME == STEWART:
                for j in range(N_DOF):
                    h[j] = h_A[j]
                if not MASS_CONSTANT:
                    if count == 0:
                        for i in range(N_DOF):
                            for j in range(N_DOF):
                                M[i, j] = inertia[i, j]
                    else:
                        mass(q_E, t_E, p, M)  # the fixed-point iteration of [S00] 2.3
                    if not factor_mass(M):
                        status = MASS_INDEFINITE
                        break
                free_velocity(u, dt, M, inverse, h, dv, v)
            else:
                for j in range(N_DOF):
                    q_E[j] = q[j] + dt * v_last[j]
                    v[j] = u[j] + dv[j]
                gap(q_E, t_E, p, g)
            if SCHEME != PAOLI and not bounded(v):
                status = BLOWN_UP
                break
            if SCHEME == PAOLI:
                closed, newcomers = find_closing(count == 0, g, g_before, eps_N, carried, kinds, active)
            else:
                closed = find_active(g, reach, kinds, active)
            if closed < 0:
                status = GAP_NOT_A_NUMBER
                book[CULPRIT] = -1 - closed
                break
            if closed > 0:
                if not DIRECTIONS_CONSTANT:
                    geometry(q_C, t_M if CENTRED else t_A, p, W_N, W_T, w_hat)  # step 3 (c)
                ahead = v_last if SCHEME == PAOLI else u
                deepest = prepare_contacts(
                    M, directions, law, local, dt, u, dv, v, v_free, change, g, deepest, ahead, g_before, reach
                )
                if FRICTION_LAWS:
                    begin_friction(p, mu, local, sticks, sliding)
                # step 4, the contact problem [GS05] eqs. (12), (17); in a function of its own it costs a fifth of the
                # speed
                residual = math.inf
                if SOLVER == GAUSS_SEIDEL or SOLVER == AUTO:  # noqa: SIM109 (Numba prunes comparisons of constants)
                    limit = sweeps if SOLVER == GAUSS_SEIDEL else int64(AUTO_SWEEPS)
                    iterations = gauss_seidel(closed, directions, law, local, change, dv, v_free, v, limit)
                    residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                if PAIRS:  # noqa: SIM102 (Numba prunes conditions that stand alone)
                    if closed == 2 and (iterations < 0 or residual > tol):
                        iterations = by_pair(
                            active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v_free, v, Lambda
                        )
                        residual = math.inf
                        if iterations >= 0:
                            residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                if SOLVER != GAUSS_SEIDEL and (SOLVER != AUTO or iterations < 0 or residual > tol):
                    for j in range(N_DOF):
                        v[j] = v_free[j]
                    iterations = by_lcp(
                        active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v_free, v, Lambda, lcp, 1e-9
                    )
                    residual = math.inf
                    if iterations >= 0:
                        residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                    if SOLVER == AUTO:
                        book[FALLBACKS] += 1.0
                effort += abs(iterations)
                if not residual <= tol:
                    status = UNSOLVED
                    break
                worst_residual = residual
            if IMPLICIT:
                before = correction
                correction = correction_of(v, v_last, u, dv, weight, q, dt)
                if settled(correction, before) and not newcomers:
                    if not FRICTION_LAWS:
                        break
                    if closed > 0:
                        moved, defect = next_friction(
                            p, directions, mu, a, local, change, sliding, book, rounds >= EARLY
                        )
                        rounds += 1
                    if not moved:
                        break
                    correction = math.inf
                if SCHEME == STEWART:
                    for j in range(N_DOF):
                        q_E[j] = q[j] + dt * v[j]
            elif FRICTION_LAWS:
                if closed > 0:
                    moved, defect = next_friction(p, directions, mu, a, local, change, sliding, book, rounds >= EARLY)
                    rounds += 1
                if not moved:
                    break
        if FRICTION_LAWS:
            if status == DONE and moved:
                status = UNSOLVED
            worst_residual = max(worst_residual, defect) if status == DONE else worst_residual
            book[FRICTION_ROUNDS] = max(book[FRICTION_ROUNDS], float64(rounds))
        if status != DONE:
            break
        if IMPLICIT:
            if not correction <= tol:
                status = UNSOLVED
                break
            worst_residual = max(worst_residual, correction)
        if FRICTION_LAWS:
            remember_slip(closed, directions, change, local, a, sticks, sliding)
        if IMPACT_STEPS == 2 and closed > 0:  # the sums were solved for, of which this step adds what is new
            for k in range(N_CONTACTS):
                Lambda[k, 0] -= carried[k, 0]
                Lambda[k, 1] -= carried[k, 1]
        if SECTION != NO_SECTION:
            for j in range(N_DOF):
                q_A[j] = q[j]
                u_A[j] = u[j]
        for j in range(N_DOF):
            if SCHEME == MIDPOINT:
                q[j] = q_C[j] + 0.5 * dt * v[j]  # step 5
            elif SCHEME == THETA:
                q[j] += dt * (THETA_VALUE * v[j] + (1.0 - THETA_VALUE) * u[j])
            else:
                q[j] += dt * v[j]
            u[j] = v[j]
        done += 1

        work = 0.0
        struck = False
        if closed > 0:
            in_contact = True
            # states are kept with the records alone
            if (
                SHARES
                or IMPACT_STEPS == 2
                or countdown == 1
                or step == last_step
                or may_strike(step, local, last_loaded)
            ):
                n_events, begins = label_contacts(
                    step,
                    t_E,
                    directions,
                    mu,
                    a,
                    local,
                    change,
                    dv,
                    last_loaded,
                    N_before,
                    rec_state[records],
                    events,
                    n_events,
                )
                if WATCHED:
                    struck = note_impacts(step >= first_watched, events, n_events, book)
                    n_events = int64(0)
            if IMPACT_STEPS == 2:
                for k in range(N_CONTACTS):
                    carried[k, 0] = Lambda[k, 0] if begins else 0.0
                    carried[k, 1] = Lambda[k, 1] if begins else 0.0
            work, rows = close_step(step, dt, diagonal, local, memory)
            contact_work += work
            largest_lcp = max(largest_lcp, rows)
            gain = work
            if IMPACT_STEPS == 2:  # the first step of an impact takes what the second gives back
                gain += min(0.0, work_before)
                work_before = work
            if gain > largest_gain:
                largest_gain = gain
                book[GAIN_STEP] = step + 1
        elif in_contact:
            in_contact = False
            work_before = 0.0
            for k in range(N_CONTACTS):
                rec_state[records, k] = OPEN
                N_before[k] = 0.0
                reach[k] = 0.0
        if PROJECTION > 0.0:
            energy(q, u, t_E, p, E)
            energy_E = E[0] + E[1]
            book[INTEGRATION_ENERGY] += energy_E - energy_A - work
            energy_A = energy_E
            if project(q, t_E, p, M, g, directions, shift, dq):
                energy(q, u, t_E, p, E)
                energy_A = E[0] + E[1]
                book[PROJECTION_ENERGY] += energy_A - energy_E
                book[PROJECTIONS] += 1.0
            deepest = penetration(g, kinds, deepest)
        elif not CENTRED and closed > 0:
            gap(q, t_E, p, g)
            deepest = penetration(g, kinds, deepest)
        if WATCHED:  # noqa: SIM102 (Numba prunes conditions that stand alone)
            if step >= first_watched:
                watch_step(t0, t_A, t_E, dt, level, q_A, u_A, q, u, struck, rec_state[records], least, largest, book)
        countdown -= 1
        if countdown == 0:
            countdown = every
            record(q, u, total, rec_q, rec_u, rec_impulse, rec_state, records)
            records += 1
        if n_events > events.shape[0] - N_CONTACTS:
            status = EVENTS_FULL
            break

    book[MAX_RESIDUAL] = worst_residual
    book[MAX_PENETRATION] = deepest
    book[MAX_ENERGY_GAIN] = largest_gain
    book[MAX_LCP_SIZE] = float64(largest_lcp)
    book[ITERATIONS] += effort
    book[CONTACT_WORK] = contact_work
    book[WORK_BEFORE] = work_before
    if WATCHED:
        write_extremes(least, largest, book)
    for j in range(N_DOF):
        q_[j] = q[j]
        u_[j] = u[j]
    for k in range(N_CONTACTS):
        last_loaded_[k] = last_loaded[k]
        reach_[k] = reach[k]
        carried_[k, 0] = carried[k, 0]
        carried_[k, 1] = carried[k, 1]
        if FRICTION_LAWS:
            carried_[k, 2] = sticks[k]
        impulse_before[k] = N_before[k]
        impulse_sum[k, 0] = total[k, 0]
        impulse_sum[k, 1] = total[k, 1]
    return status, done, n_events, records


@entry
def measure(Q, U, T, p, gaps, kinetic_potential):
    """Gaps and energies of records, for the trajectory."""
    E = np.empty(2)
    for i in range(Q.shape[0]):
        gap(Q[i], T[i], p, gaps[i])
        energy(Q[i], U[i], T[i], p, E)
        kinetic_potential[i, 0] = E[0]
        kinetic_potential[i, 1] = E[1]
