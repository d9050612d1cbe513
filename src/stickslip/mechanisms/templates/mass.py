"""Template: the mass matrix and what is divided by it."""

from stickslip.codes import LARGEST
from stickslip.jit.marks import dev
from stickslip.mechanisms.templates.model import MASS_CONSTANT, N_DOF


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
