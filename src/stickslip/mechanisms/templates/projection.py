"""Template: positions moved back to where no gap is deeper than PROJECTION."""

from stickslip.codes import CONTACT, INTEGRATION_ENERGY, PROJECTION_ENERGY, PROJECTIONS, THETA
from stickslip.jit.marks import dev, rare
from stickslip.mechanisms.templates.mass import contact_row, factor_mass
from stickslip.mechanisms.templates.model import (
    DIRECTIONS_CONSTANT,
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


@rare
def project(q, t, p, M, g, directions, shift, dq):
    """Move q by M^-1 w_N directions until no gap is deeper than PROJECTION; return whether anything moved.

    g + G shift >= -PROJECTION / 2, shift >= 0, complementary, by Gauss-Seidel; repeated for gaps that are not linear.
    Half the depth is left so that a contact that stays closed is not lost to round-off.
    """
    W_N, W_T, w_hat, V_N, _, diagonal = directions
    moved = False
    for _ in range(20):
        gap(q, t, p, g)
        deepest = 0.0
        for k in range(N_CONTACTS):
            shift[k] = 0.0
            if KINDS[k] == CONTACT:
                deepest = max(deepest, -g[k])
        if deepest <= PROJECTION:
            break
        moved = True
        if not MASS_CONSTANT or SCHEME == THETA:
            mass(q, t, p, M)
            if not factor_mass(M):
                break
        if not DIRECTIONS_CONSTANT:
            geometry(q, t, p, W_N, W_T, w_hat)
        for j in range(N_DOF):
            dq[j] = 0.0
        for k in range(N_CONTACTS):
            if KINDS[k] == CONTACT and g[k] < 0.0 and (not DIRECTIONS_CONSTANT or SCHEME == THETA):
                contact_row(k, M, directions)
        for _sweep in range(2000):
            change = 0.0
            for k in range(N_CONTACTS):
                if KINDS[k] == CONTACT and g[k] < 0.0:
                    rest = g[k] + 0.5 * PROJECTION
                    for j in range(N_DOF):
                        rest += W_N[k, j] * dq[j]
                    step = max(-shift[k], -rest / diagonal[k, 0])
                    shift[k] += step
                    for j in range(N_DOF):
                        dq[j] += V_N[k, j] * step
                    change = max(change, abs(step) * diagonal[k, 0])
            if change <= 1e-9 * deepest:  # below the rounding of gaps: a slider that is level must stay so
                break
        for j in range(N_DOF):
            q[j] += dq[j]
    return moved


@dev
def penetration(g, kinds, deepest):
    """The deepest penetration so far and of the gaps g."""
    for k in range(N_CONTACTS):
        if kinds[k] == CONTACT and -g[k] > deepest:
            deepest = -g[k]
    return deepest


@dev
def total_energy(q, u, t, p, E):
    """Kinetic and potential energy together [J]; E is room for the two."""
    energy(q, u, t, p, E)
    return E[0] + E[1]


@dev
def book_projection(q, u, p, t, M, g, directions, energy_A, work, room, book):
    """Project the end of a step and book what scheme and projection do to the energy; return that at the end.

    `room`: the shifts of the contacts, of the coordinates, and two energies.
    """
    shift, dq, E = room
    energy_E = total_energy(q, u, t, p, E)
    book[INTEGRATION_ENERGY] += energy_E - energy_A - work
    if not project(q, t, p, M, g, directions, shift, dq):
        return energy_E
    energy_A = total_energy(q, u, t, p, E)
    book[PROJECTION_ENERGY] += energy_A - energy_E
    book[PROJECTIONS] += 1.0
    return energy_A
