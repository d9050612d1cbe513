"""Template: coefficients that depend on the state, taken where contacts are evaluated."""

import math

from stickslip.codes import CULPRIT, DEPENDENT, PAOLI
from stickslip.jit.marks import dev, float64, local_array, rare
from stickslip.lcp.linear import ldl_factor, ldl_solve
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    CONSTRAINTS,
    FRICTION_LAWS,
    N_CONTACTS,
    N_DOF,
    N_HELD,
    SCHEME,
    laws_at,
    mass,
)


@dev
def orthonormal_rows(M, W_T, E, Z):
    """Rows E of the constraints and Z = M^-1 E, with E Z^T = 1; zero where a row repeats others.  M is factored."""
    for r in range(N_HELD):
        for j in range(N_DOF):
            E[r, j] = W_T[CONSTRAINTS[r], j]
            Z[r, j] = E[r, j]
        ldl_solve(M, Z[r])
        whole = 0.0
        for j in range(N_DOF):
            whole += E[r, j] * Z[r, j]
        for c in range(r):
            share = 0.0
            for j in range(N_DOF):
                share += E[r, j] * Z[c, j]
            for j in range(N_DOF):
                E[r, j] -= share * E[c, j]
                Z[r, j] -= share * Z[c, j]
        rest = 0.0
        for j in range(N_DOF):
            rest += E[r, j] * Z[r, j]
        scale = 1.0 / math.sqrt(rest) if rest > DEPENDENT * whole else 0.0
        for j in range(N_DOF):
            E[r, j] *= scale
            Z[r, j] *= scale


@dev
def freedom_left(w, alpha, Z):
    """alpha = w M^-1 w as constraints leave it: w P w of `mechanisms.inertia`; 0 where it is rounding alone."""
    rest = alpha
    for r in range(N_HELD):
        share = 0.0
        for j in range(N_DOF):
            share += w[j] * Z[r, j]
        rest -= share * share
    return rest if rest > DEPENDENT * alpha else 0.0


@rare
def evaluate_laws(q, u, t, p, directions, coefficients):
    """The coefficients at (q, t) of contacts that approach with the velocities u; see `System.laws_at`.

    directions : W_N, W_T, w_hat at (q, t)
    coefficients : arrays for mu, eps_N, eps_T and threshold
    """
    W_N, W_T, w_hat = directions
    M = local_array((N_DOF, N_DOF), float64)
    V = local_array(N_DOF, float64)
    E = local_array((N_HELD, N_DOF), float64)
    Z = local_array((N_HELD, N_DOF), float64)
    approach = local_array(N_CONTACTS, float64)
    inertia = local_array(N_CONTACTS, float64)
    mass(q, t, p, M)
    definite = ldl_factor(M)
    if CONSTRAINED and definite:
        orthonormal_rows(M, W_T, E, Z)
    for k in range(N_CONTACTS):
        gamma_N = w_hat[k, 0]
        for j in range(N_DOF):
            gamma_N += W_N[k, j] * u[j]
            V[j] = W_N[k, j]
        approach[k] = max(0.0, -gamma_N)
        alpha = 0.0
        if definite:
            ldl_solve(M, V)
            for j in range(N_DOF):
                alpha += W_N[k, j] * V[j]
            if CONSTRAINED:
                alpha = freedom_left(W_N[k], alpha, Z)
        inertia[k] = 1.0 / alpha if alpha > 0.0 else math.inf
    mu, eps_N, eps_T, threshold = coefficients
    laws_at(q, t, p, (approach, inertia), mu, eps_N, eps_T, threshold)


@rare
def take_laws(m, t):
    """Write the coefficients at (q_C, t), whose directions are known, into `m.laws`.

    On position level an impact takes two steps: the second one approaches as the first one did.  A contact that does
    not approach has no restitution there: else its gap of the impact would count once more after it.
    """
    directions, carried, laws = m.directions, m.memory.carried, m.laws
    u = local_array(N_DOF, float64)
    for j in range(N_DOF):
        u[j] = m.motion.u[j]
        if SCHEME == PAOLI:
            for k in range(N_CONTACTS):
                if carried[k, 0] != 0.0 or carried[k, 1] != 0.0:
                    u[j] -= directions.V_N[k, j] * carried[k, 0] + directions.V_T[k, j] * carried[k, 1]
    rows = (directions.W_N, directions.W_T, directions.w_hat)
    evaluate_laws(m.step.q_C, u, t, m.run.p, rows, (laws.mu, laws.eps_N, laws.eps_T, laws.a))
    for k in range(N_CONTACTS):
        if SCHEME == PAOLI:
            gamma_N = directions.w_hat[k, 0]
            for j in range(N_DOF):
                gamma_N += directions.W_N[k, j] * u[j]
            if gamma_N >= 0.0:
                if not 0.0 <= laws.eps_N[k] <= 1.0:
                    laws.eps_T[k] = laws.eps_N[k]  # always 0 on position level: here `laws_make_sense` sees what is bad
                laws.eps_N[k] = 0.0
        laws.a[k] = laws.a[k] * m.run.dt
        if FRICTION_LAWS:
            m.slip.static[k] = laws.mu[k]


@dev
def laws_make_sense(m):
    """Whether the coefficients of the active contacts are in their ranges; else the first bad one is the culprit."""
    laws = m.laws
    for k in range(N_CONTACTS):
        if m.contacts.active[k] == 0:
            continue
        friction = 0.0 <= laws.mu[k] < math.inf and 0.0 <= laws.a[k] < math.inf
        if not (friction and 0.0 <= laws.eps_N[k] <= 1.0 and 0.0 <= laws.eps_T[k] <= 1.0):
            m.book[CULPRIT] = k
            return False
    return True
