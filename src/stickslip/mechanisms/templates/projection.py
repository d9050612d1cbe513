"""Template: positions moved back to where no gap is deeper than PROJECTION."""

from stickslip.codes import CONTACT, INTEGRATION_ENERGY, MAX_PENETRATION, PROJECTION_ENERGY, PROJECTIONS, THETA
from stickslip.jit.marks import dev, rare
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.held import onto_equations, take_rows
from stickslip.mechanisms.templates.mass import contact_row
from stickslip.mechanisms.templates.model import (
    CONSTRAINED,
    DIRECTIONS_CONSTANT,
    GATES,
    KINDS,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    PROJECTION,
    SCHEME,
    energy,
    gap,
    geometry,
    mass,
)


@dev
def directions_of_depth(q, t, p, M, g, directions, held):
    """Directions of the contacts that penetrate; False where the mass matrix is not positive definite."""
    if not MASS_CONSTANT or SCHEME == THETA:
        mass(q, t, p, M)
        if not ldl_factor(M):
            return False
    if not DIRECTIONS_CONSTANT:
        geometry(q, t, p, directions.W_N, directions.W_T, directions.w_hat)
    if CONSTRAINED and (not DIRECTIONS_CONSTANT or SCHEME == THETA):
        take_rows(M, directions.W_T, held)
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and g[k] < 0.0 and (not DIRECTIONS_CONSTANT or SCHEME == THETA):
            contact_row(k, M, directions, held)
    return True


@dev
def sweep_shifts(g, directions, projected):
    """One sweep of g + G shift >= -PROJECTION / 2, shift >= 0, complementary; return its largest change of a gap."""
    shift, dq = projected.shift, projected.dq
    change = 0.0
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and g[k] < 0.0:
            rest = g[k] + 0.5 * PROJECTION
            for j in range(N_DOF):
                rest += directions.W_N[k, j] * dq[j]
            step = max(-shift[k], -rest / directions.diagonal[k, 0])
            shift[k] += step
            for j in range(N_DOF):
                dq[j] += directions.V_N[k, j] * step
            change = max(change, abs(step) * directions.diagonal[k, 0])
    return change


@rare
def project(q, t, p, M, g, directions, held, projected):
    """Move q by M^-1 w_N directions until no gap is deeper than PROJECTION; return whether anything moved.

    By Gauss-Seidel, repeated for gaps that are not linear.  Half the depth is left so that a contact that stays closed
    is not lost to round-off.
    """
    moved = False
    for _ in range(20):
        gap(q, t, p, g)
        deepest = 0.0
        for k in range(N_CONTACTS):
            projected.shift[k] = 0.0
            if KINDS[k] == CONTACT:
                deepest = max(deepest, -g[k])
        if deepest <= PROJECTION:
            break
        moved = True
        if not directions_of_depth(q, t, p, M, g, directions, held):
            break
        for j in range(N_DOF):
            projected.dq[j] = 0.0
        for _sweep in range(2000):
            # below the rounding of gaps: a slider that is level must stay so
            if sweep_shifts(g, directions, projected) <= 1e-9 * deepest:
                break
        for j in range(N_DOF):
            q[j] += projected.dq[j]
    return moved


@dev
def note_penetration(m):
    """Take the gaps into the deepest penetration so far."""
    for k in range(N_CONTACTS):
        there = m.contacts.kinds[k] == CONTACT and not (GATES[k] and m.contacts.active[k] == 0)
        if there and -m.gaps.g[k] > m.tally[MAX_PENETRATION]:
            m.tally[MAX_PENETRATION] = -m.gaps.g[k]


@dev
def total_energy(m, t):
    """Kinetic and potential energy together [J]."""
    E = m.projected.E
    energy(m.motion.q, m.motion.u, t, m.run.p, E)
    return E[0] + E[1]


@dev
def book_projection(m, t, work):
    """Project the end of a step and book what scheme and projection do to the energy; `work`: that of the contacts."""
    energy_E = total_energy(m, t)
    m.book[INTEGRATION_ENERGY] += energy_E - m.projected.energy_A[0] - work
    if project(m.motion.q, t, m.run.p, m.step.M, m.gaps.g, m.directions, m.held, m.projected):
        if CONSTRAINED:
            onto_equations(m.motion.q, t, m)
        m.projected.energy_A[0] = total_energy(m, t)
        m.book[PROJECTION_ENERGY] += m.projected.energy_A[0] - energy_E
        m.book[PROJECTIONS] += 1.0
    else:
        m.projected.energy_A[0] = energy_E
