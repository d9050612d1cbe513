"""Template: the judge of a step: how far its velocities and impulses are from the contact laws."""

import math

from stickslip.jit.marks import dev, rare
from stickslip.lcp.residuals import IMPULSE_SHARE
from stickslip.mechanisms.templates.contacts import measure_sizes
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF


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
def within(directions, law, local, change, v, worst):
    """Write gamma_E of the end velocity v; True if the violations are surely no worse than `worst`.

    Measured without what the impulses of other contacts change, which is less than the size that `full_residual` takes.
    """
    W_N, W_T, w_hat, _, _, diagonal = directions
    mu, _, _, a = law
    active, _, offset, _, _, gamma_E, Lambda = local
    sure = True
    for k in range(N_CONTACTS):
        if active[k] == 0:
            continue
        N = Lambda[k, 0]
        T = abs(Lambda[k, 1])
        coupling = abs(diagonal[k, 2])
        end_N = 0.0
        end_T = 0.0
        size_N = IMPULSE_SHARE * (diagonal[k, 0] * N + coupling * T)
        size_T = IMPULSE_SHARE * (coupling * N + diagonal[k, 1] * T)
        for j in range(N_DOF):
            end_N += W_N[k, j] * v[j]
            end_T += W_T[k, j] * v[j]
            size_N += abs(W_N[k, j]) * change[j]
            size_T += abs(W_T[k, j]) * change[j]
        gamma_E[k, 0] = end_N + w_hat[k, 0]
        gamma_E[k, 1] = end_T + w_hat[k, 1]
        defect_N, defect_T = defects(k, mu, a, diagonal, offset, Lambda, end_N, end_T)
        if not defect_N <= worst * size_N:
            sure = False
        if not defect_T <= worst * size_T:
            sure = False
    return sure


@rare
def full_residual(directions, mu, a, local, change, dv, v, worst):
    """Worst violation of the laws by the end velocity v, relative to the velocities that make it up, or `worst`.

    As `PlanarProblem.residual`: a small share of what single impulses change counts, not of their sum, and frictions
    count with their bounds: those of two feet that cancel or vanish leave rounding errors, and these are no violation.
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
            size_N += abs(W_N[k, j]) * IMPULSE_SHARE * change_j
            size_T += abs(W_T[k, j]) * IMPULSE_SHARE * change_j
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
    if within(directions, law, local, change, v, worst):
        return worst
    return full_residual(directions, mu, a, local, change, dv, v, worst)
