"""Template: what is divided by the mass matrix, whose factors `lcp.linear.ldl_factor` makes."""

from stickslip.codes import LARGEST
from stickslip.jit.marks import dev
from stickslip.lcp.linear import ldl_solve
from stickslip.mechanisms.templates.held import project_direction
from stickslip.mechanisms.templates.model import CONSTRAINED, MASS_CONSTANT, N_DOF


@dev
def invert_mass(M, inverse):
    """M^-1 from the factors of M; a constant mass is inverted once, which shortens every step."""
    for c in range(N_DOF):
        for j in range(N_DOF):
            inverse[c, j] = 1.0 if j == c else 0.0
        ldl_solve(M, inverse[c])


@dev
def contact_row(k, M, directions, held):
    """Rows V = M^-1 w of contact k and its entries alpha, beta, delta of the Delassus matrix, [PG05] eq. (22).

    With constraints V = P w, see `templates.held`.
    """
    V_N, V_T = directions.V_N[k], directions.V_T[k]
    W_N, W_T = directions.W_N[k], directions.W_T[k]
    for j in range(N_DOF):
        V_N[j] = W_N[j]
        V_T[j] = W_T[j]
    ldl_solve(M, V_N)
    ldl_solve(M, V_T)
    if CONSTRAINED:
        project_direction(k, 0, W_N, directions.W_T, held, V_N)
        project_direction(k, 1, W_T, directions.W_T, held, V_T)
    alpha = 0.0
    beta = 0.0
    delta = 0.0
    for j in range(N_DOF):
        alpha += W_N[j] * V_N[j]
        beta += W_T[j] * V_T[j]
        delta += W_N[j] * V_T[j]
    directions.diagonal[k, 0] = alpha
    directions.diagonal[k, 1] = beta
    directions.diagonal[k, 2] = delta


@dev
def free_velocity(step, u, dt):
    """u_free = u_A + M^-1 h dt into u_E, which has no impulses yet, and its second part into dv."""
    if MASS_CONSTANT:
        for j in range(N_DOF):
            acceleration = 0.0
            for i in range(N_DOF):
                acceleration += step.inverse[j, i] * step.h[i]
            step.dv[j] = dt * acceleration
    else:
        ldl_solve(step.M, step.h)
        for j in range(N_DOF):
            step.dv[j] = dt * step.h[j]
    for j in range(N_DOF):
        step.u_E[j] = u[j] + step.dv[j]


@dev
def bounded(v):
    """Whether the velocities are numbers of a size that a mechanism may have."""
    total = 0.0
    for j in range(N_DOF):
        total += abs(v[j])
    return total < LARGEST
