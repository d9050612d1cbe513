"""Template: what the schemes other than the midpoint rule do in a step before its contacts are known.

`free`: q_C, where the contacts are evaluated; the velocity v at the end, so far without impulses; the forces h; what
they change, dv; the mass matrix M, factored where a scheme divides by it, and the inverse of a constant one.  `ends`:
the coordinates q_E at the end, the velocity of the iteration before, the forces at the begin, the inertia, the
derivatives K, C of the forces and room to compute them.
"""

from stickslip.codes import BLOWN_UP, DONE, MASS_INDEFINITE, MATRIX_INDEFINITE, STEWART, THETA
from stickslip.jit.marks import dev, int64
from stickslip.mechanisms.templates.mass import bounded, contact_row, factor_mass, free_velocity
from stickslip.mechanisms.templates.model import (
    DIRECTIONS_CONSTANT,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    SCHEME,
    force,
    gap,
    geometry,
    mass,
)
from stickslip.mechanisms.templates.schemes import iteration_system, take_back


@dev
def begin_step(q, u, p, t0, step, dt, free, g, g_before, carried, directions, ends):
    """Gaps and forces where the scheme evaluates them; a status."""
    q_C, v, _, _, _, _ = free
    t_A = t0 + step * dt
    t_M = t0 + (step + 0.5) * dt
    t_E = t0 + (step + 1) * dt
    q_E, _, h_A, inertia, _, _, _ = ends
    if SCHEME == THETA:
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
        return begin_on_positions(q, u, p, t_A, dt, free, g_before, carried, directions, ends)
    return int64(DONE)


@dev
def begin_on_positions(q, u, p, t_A, dt, free, g_before, carried, directions, ends):
    """Begin a step of Paoli and Schatzman's scheme: its free velocity is known at once.  Returns a status."""
    q_C, v, h, dv, M, inverse = free
    q_E, _, _, inertia, _, _, _ = ends
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
            return int64(MASS_INDEFINITE)
    free_velocity(u, dt, M, inverse, h, dv, v)
    if not bounded(v):
        return int64(BLOWN_UP)
    if not DIRECTIONS_CONSTANT:
        W_N, W_T, w_hat, _, _, _ = directions
        geometry(q_C, t_A, p, W_N, W_T, w_hat)
        for k in range(N_CONTACTS):
            contact_row(k, M, directions)
    take_back(carried, directions, dv)
    return int64(DONE)


@dev
def free_motion(count, q, u, p, t_E, dt, free, g, ends):
    """The velocity v at the end of the step without impulses, in the iteration `count` of a scheme; a status."""
    _, v, h, dv, M, inverse = free
    q_E, v_last, h_A, inertia, K, C, work = ends
    if SCHEME == THETA:
        if not iteration_system(q, u, v, t_E, dt, p, inertia, h_A, M, h, K, C, work, q_E, dv):
            return int64(MATRIX_INDEFINITE)
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
                return int64(MASS_INDEFINITE)
        free_velocity(u, dt, M, inverse, h, dv, v)
    else:
        for j in range(N_DOF):
            q_E[j] = q[j] + dt * v_last[j]
            v[j] = u[j] + dv[j]
        gap(q_E, t_E, p, g)
        return int64(DONE)
    return int64(DONE) if bounded(v) else int64(BLOWN_UP)
