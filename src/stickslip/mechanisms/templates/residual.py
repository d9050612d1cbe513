"""Template: the judge of a step: how far its velocities and impulses are from the contact laws."""

import math

from stickslip.codes import CONTACT, MAX_PENETRATION
from stickslip.contact.spatial_contact import friction_defect, section_extent
from stickslip.jit.marks import dev, part, rare, rarely
from stickslip.lcp.residuals import IMPULSE_SHARE
from stickslip.mechanisms.templates.contacts import in_space, is_tangent, measure_sizes
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF, SPATIAL


@dev
def defects(k, directions, laws, contacts, end_N, end_T):
    """Violations of the laws of contact k at the end velocities w^T u_E in m/s; infinite for impulses off the cone."""
    N = contacts.Lambda[k, 0]
    T = contacts.Lambda[k, 1]
    bound = laws.mu[k] * N + laws.a[k]
    if rarely(not (N >= 0.0 and abs(T) <= bound * (1.0 + 1e-12))):
        return math.inf, math.inf
    defect_N = 0.0
    defect_T = 0.0
    if directions.diagonal[k, 0] > 0.0:
        xi_N = end_N + contacts.offset[k, 0]
        defect_N = abs(xi_N) if N > 0.0 else -xi_N
    if directions.diagonal[k, 1] > 0.0 and bound > 0.0:
        xi_T = end_T + contacts.offset[k, 1]
        if abs(T) < bound * (1.0 - 1e-12):
            defect_T = abs(xi_T)
        else:
            defect_T = xi_T if T > 0.0 else -xi_T
    return defect_N, defect_T


@dev
def within(directions, laws, contacts, u_E, worst):
    """Write gamma_E of the end velocity u_E; True if the violations are surely no worse than `worst`.

    Measured without what the impulses of other contacts change, which is less than the size that `full_residual` takes.
    """
    diagonal, Lambda = directions.diagonal, contacts.Lambda
    sure = True
    for k in range(contacts.active.shape[0]):
        if contacts.active[k] == 0:
            continue
        N = Lambda[k, 0]
        T = abs(Lambda[k, 1])
        coupling = abs(diagonal[k, 2])
        end_N = 0.0
        end_T = 0.0
        size_N = IMPULSE_SHARE * (diagonal[k, 0] * N + coupling * T)
        size_T = IMPULSE_SHARE * (coupling * N + diagonal[k, 1] * T)
        for j in range(N_DOF):
            end_N += directions.W_N[k, j] * u_E[j]
            end_T += directions.W_T[k, j] * u_E[j]
            size_N += abs(directions.W_N[k, j]) * contacts.change[j]
            size_T += abs(directions.W_T[k, j]) * contacts.change[j]
        contacts.gamma_E[k, 0] = end_N + directions.w_hat[k, 0]
        contacts.gamma_E[k, 1] = end_T + directions.w_hat[k, 1]
        defect_N, defect_T = defects(k, directions, laws, contacts, end_N, end_T)
        if not defect_N <= worst * size_N:
            sure = False
        if not defect_T <= worst * size_T:
            sure = False
    return sure


@rare
def space_defects(k, directions, laws, contacts, u_E):
    """Violations of the laws of contact k with two tangents at u_E [m/s]: normal and tangential; see `defects`."""
    Lambda = contacts.Lambda
    N = Lambda[k, 0]
    if not N >= 0.0:
        return math.inf, math.inf
    xi_N = contacts.offset[k, 0]
    xi_1 = contacts.offset[k, 1]
    xi_2 = contacts.offset[k + 1, 1]
    for j in range(N_DOF):
        xi_N += directions.W_N[k, j] * u_E[j]
        xi_1 += directions.W_T[k, j] * u_E[j]
        xi_2 += directions.W_T[k + 1, j] * u_E[j]
    defect_T = friction_defect(
        laws.section[k], N, Lambda[k, 1], Lambda[k + 1, 1], laws.mu[k], laws.mu[k + 1], xi_1, xi_2
    )
    return (abs(xi_N) if N > 0.0 else -xi_N), defect_T


@dev
def friction_bound(m, laws, contacts):
    """Largest friction impulse along the tangent of row m [N s]."""
    if is_tangent(m, contacts):
        return laws.mu[m] * contacts.Lambda[m - 1, 0] * section_extent(laws.section[m - 1], 1)
    if in_space(m, contacts):
        return laws.mu[m] * contacts.Lambda[m, 0] * section_extent(laws.section[m], 0)
    return laws.mu[m] * contacts.Lambda[m, 0] + laws.a[m]


@rare
def full_residual(directions, laws, contacts, u_E, worst):
    """Worst violation of the laws by the end velocity u_E, relative to the velocities that make it up, or `worst`.

    As `PlanarProblem.residual`: a small share of what single impulses change counts, not of their sum, and frictions
    count with their bounds: those of two feet that cancel or vanish leave rounding errors, and these are no violation.
    """
    W_N, W_T, V_N, V_T = directions.W_N, directions.W_T, directions.V_N, directions.V_T
    Lambda = contacts.Lambda
    size_before = 0.0
    measure_sizes(directions, contacts)
    for k in range(N_CONTACTS):
        if contacts.active[k] == 0:
            continue
        end_N = 0.0
        end_T = 0.0
        size_N = contacts.size[k, 0]
        size_T = contacts.size[k, 1]
        for j in range(N_DOF):
            end_N += W_N[k, j] * u_E[j]
            end_T += W_T[k, j] * u_E[j]
            change_j = 0.0
            for m in range(N_CONTACTS):
                if contacts.active[m] != 0:
                    change_j += abs(V_N[m, j] * Lambda[m, 0]) + abs(V_T[m, j]) * friction_bound(m, laws, contacts)
            size_N += abs(W_N[k, j]) * IMPULSE_SHARE * change_j
            size_T += abs(W_T[k, j]) * IMPULSE_SHARE * change_j
        if SPATIAL and in_space(k, contacts):  # its friction is judged with its second tangent
            size_before = size_T
            defect_N, defect_T = space_defects(k, directions, laws, contacts, u_E)
            if defect_T < math.inf:
                defect_T = 0.0
        elif SPATIAL and is_tangent(k, contacts):
            defect_N, defect_T = space_defects(k - 1, directions, laws, contacts, u_E)
            defect_N = 0.0
            size_T = math.sqrt(size_T * size_T + size_before * size_before)
        else:
            defect_N, defect_T = defects(k, directions, laws, contacts, end_N, end_T)
        if not (defect_N < math.inf and defect_T < math.inf):  # a later contact would hide what is not a number
            return math.inf
        if not defect_N <= worst * size_N:
            worst = defect_N / size_N
        if not defect_T <= worst * size_T:
            worst = defect_T / size_T
    return worst if worst == worst else math.inf


@dev
def step_residual(m, worst):
    """The worst residual of the steps so far and of this one, whose gamma_E is written."""
    if within(m.directions, m.laws, m.contacts, m.step.u_E, worst) and not SPATIAL:
        return worst
    return full_residual(m.directions, m.laws, m.contacts, m.step.u_E, worst)


@part
def note_depths(m):
    """Take the gaps of the active contacts into the deepest penetration so far."""
    for k in range(m.contacts.active.shape[0]):
        deep = m.contacts.kinds[k] == CONTACT and -m.gaps.g[k] > m.tally[MAX_PENETRATION]
        if m.contacts.active[k] != 0 and deep:
            m.tally[MAX_PENETRATION] = -m.gaps.g[k]
