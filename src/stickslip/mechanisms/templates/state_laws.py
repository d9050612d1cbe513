"""Template: coefficients that depend on the state, taken where contacts are evaluated."""

import math

from stickslip.codes import CULPRIT, PAOLI
from stickslip.jit.marks import dev, float64, local_array, rare
from stickslip.lcp.linear import ldl_factor, ldl_solve
from stickslip.mechanisms.templates.model import FRICTION_LAWS, N_CONTACTS, N_DOF, SCHEME, laws_at, mass


@rare
def evaluate_laws(q, u, t, p, W_N, w_hat, coefficients):
    """The coefficients at (q, t) of contacts that approach with the velocities u; see `System.laws_at`.

    coefficients : arrays for mu, eps_N, eps_T and threshold
    """
    M = local_array((N_DOF, N_DOF), float64)
    V = local_array(N_DOF, float64)
    approach = local_array(N_CONTACTS, float64)
    inertia = local_array(N_CONTACTS, float64)
    mass(q, t, p, M)
    definite = ldl_factor(M)
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
        inertia[k] = 1.0 / alpha if alpha > 0.0 else math.inf
    mu, eps_N, eps_T, threshold = coefficients
    laws_at(q, t, p, approach, inertia, mu, eps_N, eps_T, threshold)


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
    coefficients = laws.mu, laws.eps_N, laws.eps_T, laws.a
    evaluate_laws(m.step.q_C, u, t, m.run.p, directions.W_N, directions.w_hat, coefficients)
    for k in range(N_CONTACTS):
        if SCHEME == PAOLI:
            gamma_N = directions.w_hat[k, 0]
            for j in range(N_DOF):
                gamma_N += directions.W_N[k, j] * u[j]
            if gamma_N >= 0.0:
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
