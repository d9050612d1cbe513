"""Template: the smooth motion between two events, on acceleration level.

In a mode, contact k has a normal constraint (normal[k] = 1), a tangential one (stick[k] = 1) or a known sense of its
tangential force (slip[k] = s = +-1, lambda_T = -s (mu lambda_N + a)); where friction depends on slip, mu is
mu(|gamma_T|) of a contact that slips and mu_s of one that sticks.  A contact that others hold at rest while its own
force is at the static bound (stick[k] = -1, slip[k] = s) has that force and no constraint.  With C = (W_N, W_T,stick)
and R = (W_N - mu s W_T, W_T,stick),

    M du/dt = h - sum s a w_T + R lambda,    C^T du/dt + zeta = 0.

Constraints are eliminated first, by J du/dt + zeta = 0 with reactions of the least norm: then M^-1 is P above, see
`mechanisms.inertia`, and their forces lambda_C are lambda_T of their contacts.

The vector y that is integrated: q (f), u (f), then per contact the integrals of lambda_N, lambda_T, gamma_N, gamma_T
(n each), and the work of the contacts.  The last ones give the impulses and make the step size follow walls and forces
that move with time, which (q, u) alone may not notice.
"""

import math

from stickslip.codes import CLUTCH, CONTACT, SPRING
from stickslip.contact.relative import velocities
from stickslip.jit.marks import dev, entry, float64, int64, local_array
from stickslip.lcp.linear import factor, lu_factor, lu_solve, solve_factored
from stickslip.mechanisms.templates.held import answer_to, factor_rows, new_held, project_row
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    CONSTRAINTS,
    FRICTION_LAWS,
    KINDS,
    N_CONTACTS,
    N_DOF,
    N_HELD,
    STATE_LAWS,
    drift,
    energy,
    force,
    friction,
    friction_at,
    gap,
    geometry,
    laws,
    laws_at,
    mass,
)
from stickslip.mechanisms.templates.structs import Moved, Sides

N_ROWS = 2 * N_CONTACTS
INTEGRALS = 2 * N_DOF
SIZE = 2 * N_DOF + 4 * N_CONTACTS + 1


@dev
def constraint_rows(mode, rows, parts):
    """List the constraints of a mode: contact, and part 0 normal or 1 tangential; return how many there are."""
    m = int64(0)
    for k in range(N_CONTACTS):
        if mode.normal[k] != 0:
            rows[m] = k
            parts[m] = 0
            m += 1
        if mode.stick[k] > 0:
            rows[m] = k
            parts[m] = 1
            m += 1
    return m


@dev
def still_laws(t, q, p, mu, eps_N, eps_T, a):
    """Coefficients that depend on the state, of contacts that do not approach: only friction counts."""
    approach = local_array(N_CONTACTS, float64)
    inertia = local_array(N_CONTACTS, float64)
    for k in range(N_CONTACTS):
        approach[k] = 0.0
        inertia[k] = 1.0
    laws_at(q, t, p, (approach, inertia), mu, eps_N, eps_T, a)


@dev
def slip_friction(t, q, p, mode, gamma, mu):
    """Replace the coefficients of contacts that slip by those of their speed."""
    speed = local_array(N_CONTACTS, float64)
    moving = local_array(N_CONTACTS, float64)
    for k in range(N_CONTACTS):
        speed[k] = abs(gamma[k, 1])
    if STATE_LAWS:
        friction_at(q, t, p, speed, moving)
    else:
        friction(p, speed, moving)
    for k in range(N_CONTACTS):
        if mode.slip[k] != 0.0 and mode.stick[k] == 0:
            mu[k] = moving[k]


@dev
def applied_force(h, mode, a, W_T):
    """h <- h - sum s a w_T: the load-independent part of friction, and prestressed springs."""
    for k in range(N_CONTACTS):
        if mode.slip[k] != 0.0 and a[k] > 0.0:
            for j in range(N_DOF):
                h[j] -= mode.slip[k] * a[k] * W_T[k, j]


@dev
def hold_accelerations(M, J, zeta, held, du):
    """Bring du/dt onto J du/dt + zeta = 0; the forces for it into Lambda."""
    take_square_rows(M, J, held)
    for r in range(N_HELD):
        held.rate[r] = zeta[CONSTRAINTS[r], 1]
        for j in range(N_DOF):
            held.rate[r] += J[CONSTRAINTS[r], j] * du[j]
    answer_to(held)
    for r in range(N_HELD):
        held.Lambda[r] = -held.answer[r]
        for j in range(N_DOF):
            du[j] -= held.V[r, j] * held.answer[r]


@dev
def take_square_rows(L, J, held):
    """V = M^-1 J^T from the Cholesky factor of M, and the factors of S."""
    for r in range(N_HELD):
        solve_factored(L, J[CONSTRAINTS[r]], held.V[r])
    factor_rows(J, held)


@dev
def constraint_forces(mode, mu, M, directions, zeta, held, moved):
    """Solve C^T M^-1 R lambda = -(C^T du + zeta) and add M^-1 R lambda to du; False where that is singular."""
    W_N, W_T = directions.W_N, directions.W_T
    rows = local_array(N_ROWS, int64)
    parts = local_array(N_ROWS, int64)
    A = local_array((N_ROWS, N_ROWS), float64)
    X = local_array((N_ROWS, N_DOF), float64)
    b = local_array(N_ROWS, float64)
    direction = local_array(N_DOF, float64)
    pivot = local_array(N_ROWS, int64)
    m = constraint_rows(mode, rows, parts)
    for r in range(m):
        k = rows[r]
        for j in range(N_DOF):
            if parts[r] == 0:
                direction[j] = W_N[k, j] - mu[k] * mode.slip[k] * W_T[k, j]
            else:
                direction[j] = W_T[k, j]
        solve_factored(M, direction, X[r])
        if CONSTRAINED:
            project_row(k, parts[r], W_T, held, X[r])
    for r in range(m):
        k = rows[r]
        b[r] = -zeta[k, parts[r]]
        for j in range(N_DOF):
            b[r] -= (W_N[k, j] if parts[r] == 0 else W_T[k, j]) * moved.du[j]
        for c in range(m):
            value = 0.0
            for j in range(N_DOF):
                value += (W_N[k, j] if parts[r] == 0 else W_T[k, j]) * X[c, j]
            A[r, c] = value
    if m > 0 and lu_factor(m, A, pivot) == 0.0:
        return False
    lu_solve(m, A, pivot, b)
    for r in range(m):
        moved.forces[rows[r], parts[r]] = b[r]
        for j in range(N_DOF):
            moved.du[j] += X[r, j] * b[r]
        if CONSTRAINED:
            for i in range(N_HELD):
                held.Lambda[i] -= held.X[rows[r], parts[r], i] * b[r]
    return True


@dev
def new_moved():
    """Room for what a mode does."""
    return Moved(
        du=local_array(N_DOF, float64),
        forces=local_array((N_CONTACTS, 2), float64),
        gamma=local_array((N_CONTACTS, 2), float64),
        g=local_array(N_CONTACTS, float64),
        bound=local_array(N_CONTACTS, float64),
    )


@dev
def accelerate(t, q, u, p, mode, moved):
    """Accelerations, forces, velocities, gaps and friction bounds of a mode into `moved`; False if singular."""
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
    mass(q, t, p, M)
    force(q, u, t, p, h)
    gap(q, t, p, moved.g)
    geometry(q, t, p, W_N, W_T, w_hat)
    drift(q, u, t, p, zeta)
    if STATE_LAWS:  # between impacts nothing approaches
        still_laws(t, q, p, mu, eps_N, eps_T, a)
    else:
        laws(p, mu, eps_N, eps_T, a)
    velocities(W_N, W_T, w_hat, u, moved.gamma)
    if FRICTION_LAWS:
        slip_friction(t, q, p, mode, moved.gamma, mu)
    for k in range(N_CONTACTS):
        moved.forces[k, 0] = 0.0
        moved.forces[k, 1] = 0.0
    if not factor(M):
        return False
    applied_force(h, mode, a, W_T)
    solve_factored(M, h, moved.du)
    held = None
    if CONSTRAINED:
        held = new_held()
        hold_accelerations(M, W_T, zeta, held, moved.du)
    if not constraint_forces(mode, mu, M, Sides(W_N, W_T), zeta, held, moved):
        return False
    for k in range(N_CONTACTS):
        moved.bound[k] = mu[k] * moved.forces[k, 0] + a[k]
        if mode.slip[k] != 0.0:
            moved.forces[k, 1] = -mode.slip[k] * moved.bound[k]
    if CONSTRAINED:
        for r in range(N_HELD):
            moved.forces[CONSTRAINTS[r], 1] = held.Lambda[r]
    return True


@entry
def rates(t, y, p, mode, out):
    """dy/dt in a mode; nan where the constraints cannot be kept by finite forces."""
    moved = new_moved()
    forces, gamma = moved.forces, moved.gamma
    u = y[N_DOF : 2 * N_DOF]
    if not accelerate(t, y[:N_DOF], u, p, mode, moved):
        for i in range(SIZE):
            out[i] = math.nan
        return
    for j in range(N_DOF):
        out[j] = u[j]
        out[N_DOF + j] = moved.du[j]
    power = 0.0
    for k in range(N_CONTACTS):
        out[INTEGRALS + k] = forces[k, 0]
        out[INTEGRALS + N_CONTACTS + k] = forces[k, 1]
        out[INTEGRALS + 2 * N_CONTACTS + k] = gamma[k, 0]
        out[INTEGRALS + 3 * N_CONTACTS + k] = gamma[k, 1]
        if KINDS[k] != SPRING:
            power += forces[k, 0] * gamma[k, 0] + forces[k, 1] * gamma[k, 1]
    out[SIZE - 1] = power


@entry
def indicators(T, Y, p, mode, out):
    """Numbers positive while a mode lasts, at states Y (k, size): out (k, n, 3), inf where there is nothing to watch.

    [., ., 0]: the gap of an open contact (gamma_N of a clutch that runs free), lambda_N of a closed one.
    [., ., 1]: s gamma_T of a contact that slips (s x of a spring), mu lambda_N + a - |lambda_T| of one that sticks.
    [., ., 2]: gamma_N, for the minima of gaps.
    """
    moved = new_moved()
    forces, gamma, g = moved.forces, moved.gamma, moved.g
    for i in range(T.shape[0]):
        good = accelerate(T[i], Y[i, :N_DOF], Y[i, N_DOF : 2 * N_DOF], p, mode, moved)
        for k in range(N_CONTACTS):
            out[i, k, 0] = math.inf
            out[i, k, 1] = math.inf
            out[i, k, 2] = gamma[k, 0]
            if mode.normal[k] != 0:
                out[i, k, 0] = forces[k, 0] if good else math.nan
            elif KINDS[k] == CONTACT:
                out[i, k, 0] = g[k]
            elif KINDS[k] == CLUTCH:
                out[i, k, 0] = gamma[k, 0]
            if mode.stick[k] > 0:
                out[i, k, 1] = moved.bound[k] - abs(forces[k, 1]) if good else math.nan
            elif mode.slip[k] != 0.0 and mode.stick[k] == 0:
                out[i, k, 1] = mode.slip[k] * (g[k] if KINDS[k] == SPRING else gamma[k, 1])


@entry
def measure(Q, U, T, p, gaps, kinetic_potential):
    """Gaps and energies of records, for the trajectory."""
    E = local_array(2, float64)
    for i in range(Q.shape[0]):
        gap(Q[i], T[i], p, gaps[i])
        energy(Q[i], U[i], T[i], p, E)
        kinetic_potential[i, 0] = E[0]
        kinetic_potential[i, 1] = E[1]
