"""Template: the smooth motion between two events, on acceleration level.

In a mode, contact k has a normal constraint (normal[k] = 1), a tangential one (stick[k] = 1) or a known sense of its
tangential force (slip[k] = s = +-1, lambda_T = -s (mu lambda_N + a)); where friction depends on slip, mu is
mu(|gamma_T|) of a contact that slips and mu_s of one that sticks.  A contact that others hold at rest while its own
force is at the static bound (stick[k] = -1, slip[k] = s) has that force and no constraint.  With C = (W_N, W_T,stick)
and R = (W_N - mu s W_T, W_T,stick),

    M du/dt = h - sum s a w_T + R lambda,    C^T du/dt + zeta = 0.

The vector y that is integrated: q (f), u (f), then per contact the integrals of lambda_N, lambda_T, gamma_N, gamma_T
(n each), and the work of the contacts.  The last ones give the impulses and make the step size follow walls and forces
that move with time, which (q, u) alone may not notice.
"""

import math

from stickslip.codes import CLUTCH, CONTACT, SPRING
from stickslip.contact.relative import velocities
from stickslip.jit.marks import dev, entry, float64, int64, local_array
from stickslip.lcp.linear import factor, lu_factor, lu_solve, solve_factored
from stickslip.mechanisms.templates.model import (
    FRICTION_LAWS,
    KINDS,
    N_CONTACTS,
    N_DOF,
    drift,
    energy,
    force,
    friction,
    gap,
    geometry,
    laws,
    mass,
)

N_ROWS = 2 * N_CONTACTS
INTEGRALS = 2 * N_DOF
SIZE = 2 * N_DOF + 4 * N_CONTACTS + 1


@dev
def constraint_rows(mode, rows, parts):
    """List the constraints of a mode: contact, and part 0 normal or 1 tangential; return how many there are."""
    normal, stick, _ = mode
    m = int64(0)
    for k in range(N_CONTACTS):
        if normal[k] != 0:
            rows[m] = k
            parts[m] = 0
            m += 1
        if stick[k] > 0:
            rows[m] = k
            parts[m] = 1
            m += 1
    return m


@dev
def slip_friction(p, mode, gamma, mu):
    """Replace the coefficients of contacts that slip by those of their speed."""
    _, stick, slip = mode
    speed = local_array(N_CONTACTS, float64)
    moving = local_array(N_CONTACTS, float64)
    for k in range(N_CONTACTS):
        speed[k] = abs(gamma[k, 1])
    friction(p, speed, moving)
    for k in range(N_CONTACTS):
        if slip[k] != 0.0 and stick[k] == 0:
            mu[k] = moving[k]


@dev
def applied_force(h, mode, a, W_T):
    """h <- h - sum s a w_T: the load-independent part of friction, and prestressed springs."""
    _, _, slip = mode
    for k in range(N_CONTACTS):
        if slip[k] != 0.0 and a[k] > 0.0:
            for j in range(N_DOF):
                h[j] -= slip[k] * a[k] * W_T[k, j]


@dev
def constraint_forces(m, rows, parts, mode, mu, M, W_N, W_T, zeta, du, force_of):
    """Solve C^T M^-1 R lambda = -(C^T du + zeta) and add M^-1 R lambda to du; False where that is singular."""
    _, _, slip = mode
    A = local_array((N_ROWS, N_ROWS), float64)
    X = local_array((N_ROWS, N_DOF), float64)
    b = local_array(N_ROWS, float64)
    direction = local_array(N_DOF, float64)
    pivot = local_array(N_ROWS, int64)
    for r in range(m):
        k = rows[r]
        for j in range(N_DOF):
            if parts[r] == 0:
                direction[j] = W_N[k, j] - mu[k] * slip[k] * W_T[k, j]
            else:
                direction[j] = W_T[k, j]
        solve_factored(M, direction, X[r])
    for r in range(m):
        k = rows[r]
        b[r] = -zeta[k, parts[r]]
        for j in range(N_DOF):
            b[r] -= (W_N[k, j] if parts[r] == 0 else W_T[k, j]) * du[j]
        for c in range(m):
            value = 0.0
            for j in range(N_DOF):
                value += (W_N[k, j] if parts[r] == 0 else W_T[k, j]) * X[c, j]
            A[r, c] = value
    if m > 0 and lu_factor(m, A, pivot) == 0.0:
        return False
    lu_solve(m, A, pivot, b)
    for r in range(m):
        force_of[rows[r], parts[r]] = b[r]
        for j in range(N_DOF):
            du[j] += X[r, j] * b[r]
    return True


@dev
def accelerate(t, q, u, p, mode, du, force_of, gamma, g, bound):
    """Accelerations du, forces and velocities (n, 2), gaps and friction bounds (n,) of a mode; False if singular."""
    _, _, slip = mode
    M = local_array((N_DOF, N_DOF), float64)
    h = local_array(N_DOF, float64)
    W_N = local_array((N_CONTACTS, N_DOF), float64)
    W_T = local_array((N_CONTACTS, N_DOF), float64)
    w_hat = local_array((N_CONTACTS, 2), float64)
    zeta = local_array((N_CONTACTS, 2), float64)
    mu = local_array(N_CONTACTS, float64)
    eps_N = local_array(N_CONTACTS, float64)
    eps_T = local_array(N_CONTACTS, float64)
    a = local_array(N_CONTACTS, float64)
    rows = local_array(N_ROWS, int64)
    parts = local_array(N_ROWS, int64)
    mass(q, t, p, M)
    force(q, u, t, p, h)
    gap(q, t, p, g)
    geometry(q, t, p, W_N, W_T, w_hat)
    drift(q, u, t, p, zeta)
    laws(p, mu, eps_N, eps_T, a)
    velocities(W_N, W_T, w_hat, u, gamma)
    if FRICTION_LAWS:
        slip_friction(p, mode, gamma, mu)
    for k in range(N_CONTACTS):
        force_of[k, 0] = 0.0
        force_of[k, 1] = 0.0
    if not factor(M):
        return False
    applied_force(h, mode, a, W_T)
    solve_factored(M, h, du)
    m = constraint_rows(mode, rows, parts)
    if not constraint_forces(m, rows, parts, mode, mu, M, W_N, W_T, zeta, du, force_of):
        return False
    for k in range(N_CONTACTS):
        bound[k] = mu[k] * force_of[k, 0] + a[k]
        if slip[k] != 0.0:
            force_of[k, 1] = -slip[k] * bound[k]
    return True


@entry
def rates(t, y, p, normal, stick, slip, out):
    """dy/dt in a mode; nan where the constraints cannot be kept by finite forces."""
    du = local_array(N_DOF, float64)
    force_of = local_array((N_CONTACTS, 2), float64)
    gamma = local_array((N_CONTACTS, 2), float64)
    g = local_array(N_CONTACTS, float64)
    bound = local_array(N_CONTACTS, float64)
    u = y[N_DOF : 2 * N_DOF]
    if not accelerate(t, y[:N_DOF], u, p, (normal, stick, slip), du, force_of, gamma, g, bound):
        for i in range(SIZE):
            out[i] = math.nan
        return
    for j in range(N_DOF):
        out[j] = u[j]
        out[N_DOF + j] = du[j]
    power = 0.0
    for k in range(N_CONTACTS):
        out[INTEGRALS + k] = force_of[k, 0]
        out[INTEGRALS + N_CONTACTS + k] = force_of[k, 1]
        out[INTEGRALS + 2 * N_CONTACTS + k] = gamma[k, 0]
        out[INTEGRALS + 3 * N_CONTACTS + k] = gamma[k, 1]
        if KINDS[k] != SPRING:
            power += force_of[k, 0] * gamma[k, 0] + force_of[k, 1] * gamma[k, 1]
    out[SIZE - 1] = power


@entry
def indicators(T, Y, p, normal, stick, slip, out):
    """What a mode needs to stay positive, at states Y (k, size): out (k, n, 3), inf where there is nothing to watch.

    [., ., 0]: the gap of an open contact (gamma_N of a clutch that runs free), lambda_N of a closed one.
    [., ., 1]: s gamma_T of a contact that slips (s x of a spring), mu lambda_N + a - |lambda_T| of one that sticks.
    [., ., 2]: gamma_N, for the minima of gaps.
    """
    du = local_array(N_DOF, float64)
    force_of = local_array((N_CONTACTS, 2), float64)
    gamma = local_array((N_CONTACTS, 2), float64)
    g = local_array(N_CONTACTS, float64)
    bound = local_array(N_CONTACTS, float64)
    mode = (normal, stick, slip)
    for i in range(T.shape[0]):
        good = accelerate(T[i], Y[i, :N_DOF], Y[i, N_DOF : 2 * N_DOF], p, mode, du, force_of, gamma, g, bound)
        for k in range(N_CONTACTS):
            out[i, k, 0] = math.inf
            out[i, k, 1] = math.inf
            out[i, k, 2] = gamma[k, 0]
            if normal[k] != 0:
                out[i, k, 0] = force_of[k, 0] if good else math.nan
            elif KINDS[k] == CONTACT:
                out[i, k, 0] = g[k]
            elif KINDS[k] == CLUTCH:
                out[i, k, 0] = gamma[k, 0]
            if stick[k] > 0:
                out[i, k, 1] = bound[k] - abs(force_of[k, 1]) if good else math.nan
            elif slip[k] != 0.0 and stick[k] == 0:
                out[i, k, 1] = slip[k] * (g[k] if KINDS[k] == SPRING else gamma[k, 1])


@entry
def measure(Q, U, T, p, gaps, kinetic_potential):
    """Gaps and energies of records, for the trajectory."""
    E = local_array(2, float64)
    for i in range(Q.shape[0]):
        gap(Q[i], T[i], p, gaps[i])
        energy(Q[i], U[i], T[i], p, E)
        kinetic_potential[i, 0] = E[0]
        kinetic_potential[i, 1] = E[1]
