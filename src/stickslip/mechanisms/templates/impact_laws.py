"""Template: impact laws other than Newton's in a time step, as `ImpactLaw.solve` has them.

Such a law is a process of its own.  It acts on the velocities at the begin of the step, if anything approaches.  What
forces then ask for is taken up by contacts without restitution.  So a step solves contact problems one after another:
Poisson's compression and decompression, then that of the forces.  Laws for one contact have closed forms in place of
the first two.
"""

import math

from stickslip.codes import CANCELLED, CONTACT, SPRING
from stickslip.jit.marks import dev, float64, local_array, rare
from stickslip.laws.lumped import MAX_LUMPED_PHASES
from stickslip.laws.newton import COUPLING
from stickslip.laws.poisson import GAIN
from stickslip.laws.routh import MAX_PHASES
from stickslip.laws.scalar import NEWTON as NEWTONS_LAW
from stickslip.laws.scalar import (
    POISSON,
    POISSON_INTEGRATED,
    STRONGE,
    STRONGE_LUMPED,
    WALTON,
    OneContact,
    impact_of_one,
)
from stickslip.mechanisms.templates.model import LAW, LAW_NUMBERS, N_CONTACTS, N_DOF

COMPRESSION, DECOMPRESSION, FORCES = 0, 1, 2
WHOLE, NONE, HALVES = 0, 1, 2
"""Trials of the search for Poisson's largest coefficients without a gain: all of them, none, or a share between."""


@dev
def take_coefficients(m):
    """The coefficients of the law: its own where it has them, else those in `m.laws`.

    A law that is a process of its own keeps them in `m.law`; the contacts of the step then have none.
    """
    p, laws = m.run.p, m.laws
    for k in range(N_CONTACTS):
        own_N = p[LAW_NUMBERS + k]
        own_T = p[LAW_NUMBERS + N_CONTACTS + k]
        if m.contacts.kinds[k] == CONTACT and own_N == own_N:
            laws.eps_N[k] = own_N
        if m.contacts.kinds[k] == CONTACT and own_T == own_T:
            laws.eps_T[k] = own_T
        if LAW in (POISSON_INTEGRATED, STRONGE, STRONGE_LUMPED) or (
            LAW != NEWTONS_LAW and m.contacts.kinds[k] == SPRING
        ):
            laws.eps_T[k] = 0.0
        if LAW != NEWTONS_LAW:
            m.law.eps_N[k] = laws.eps_N[k]
            m.law.eps_T[k] = laws.eps_T[k]
            laws.eps_N[k] = 0.0
            laws.eps_T[k] = 0.0


@dev
def strikes_by_law(m):
    """Whether a contact with a normal direction approaches."""
    for k in range(m.contacts.active.shape[0]):
        if m.contacts.active[k] != 0 and m.directions.diagonal[k, 0] > 0.0 and m.contacts.gamma_A[k, 0] < 0.0:
            return True
    return False


@rare
def begin_impact(m):
    """Keep the problem of the step aside, which the forces need; the impact's begins without impulses.

    False where the law has no answer here: several contacts and a law for one, or coefficients out of order.
    """
    contacts, law = m.contacts, m.law
    normals = 0
    good = True
    for j in range(N_DOF):
        law.u_free[j] = m.step.u_free[j]
    for k in range(N_CONTACTS):
        law.total[k, 0] = 0.0
        law.total[k, 1] = 0.0
        law.first[k, 0] = 0.0
        law.first[k, 1] = 0.0
        if contacts.active[k] == 0:
            continue
        law.a[k] = m.laws.a[k]
        law.offset[k, 0] = contacts.offset[k, 0]
        law.offset[k, 1] = contacts.offset[k, 1]
        contacts.offset[k, 0] = m.directions.w_hat[k, 0]
        contacts.offset[k, 1] = m.directions.w_hat[k, 1]
        m.laws.a[k] = 0.0
        normals += 1 if m.directions.diagonal[k, 0] > 0.0 else 0
        good = good and (LAW != POISSON or law.eps_T[k] <= law.eps_N[k])
    law.search[0] = float64(WHOLE)
    law.search[1] = 0.0  # low
    law.search[2] = 1.0  # high
    law.search[3] = 1.0  # s
    law.search[4] = 0.0  # halvings
    start_from(m, m.motion.u, law.total)
    return good and (LAW == POISSON or normals == 1)


@dev
def start_from(m, u, Lambda):
    """Velocities u + M^-1 W Lambda without further impulses: what the next contact problem begins with."""
    step, directions, contacts = m.step, m.directions, m.contacts
    for j in range(N_DOF):
        value = u[j]
        for k in range(N_CONTACTS):
            if contacts.active[k] != 0:
                value += directions.V_N[k, j] * Lambda[k, 0] + directions.V_T[k, j] * Lambda[k, 1]
        step.u_free[j] = value
        step.u_E[j] = value
    for k in range(N_CONTACTS):
        contacts.Lambda[k, 0] = 0.0
        contacts.Lambda[k, 1] = 0.0


@rare
def impact_of_single(m):
    """Impulses of the one contact with a normal direction, in closed form, into `m.law.total`; False: the law fails."""
    directions, law = m.directions, m.law
    solved = True
    for k in range(N_CONTACTS):
        if m.contacts.active[k] == 0 or not directions.diagonal[k, 0] > 0.0:
            continue
        alpha = directions.diagonal[k, 0]
        beta = directions.diagonal[k, 1]
        delta = directions.diagonal[k, 2]
        gamma_N = m.contacts.gamma_A[k, 0]
        gamma_T = m.contacts.gamma_A[k, 1]
        mu = m.laws.mu[k]
        if LAW == WALTON:  # [PG05] eqs. (54)-(57)
            N = max(0.0, -(1.0 + law.eps_N[k]) * gamma_N / alpha)
            T = 0.0
            if beta > 0.0:
                T = max(-mu * N, min(mu * N, -(1.0 + law.eps_T[k]) * gamma_T / beta))
            solved = abs(delta) <= COUPLING * math.sqrt(alpha * beta)
        else:
            tables = (local_array((MAX_PHASES, 3), float64), local_array((MAX_LUMPED_PHASES, 4), float64))
            one = OneContact(alpha, beta, delta, gamma_N, gamma_T, 0.0, 0.0, mu, 0.0)
            ratio = m.run.p[LAW_NUMBERS + 2 * N_CONTACTS]
            N, T, residual = impact_of_one(LAW, one, law.eps_N[k], law.eps_T[k], ratio, tables)
            solved = residual == 0.0
        law.total[k, 0] = N
        law.total[k, 1] = T
    return solved


@rare
def begin_decompression(m):
    """The problem of decompression, for impulses beyond the shares s eps_N, s eps_T of those of compression."""
    law, s = m.law, m.law.search[3]
    for k in range(N_CONTACTS):
        if m.contacts.active[k] != 0:
            law.total[k, 0] = (1.0 + s * law.eps_N[k]) * law.first[k, 0]
            law.total[k, 1] = (1.0 + s * law.eps_T[k]) * law.first[k, 1]
            m.laws.a[k] = m.laws.mu[k] * (s * law.eps_N[k] - s * law.eps_T[k]) * law.first[k, 0]
    start_from(m, m.motion.u, law.total)


@rare
def gains(m):
    """Whether the impulses `m.law.total` do work in the impact, beyond round-off; as `laws.base.energy_of`."""
    directions, total = m.directions, m.law.total
    change = local_array(N_DOF, float64)
    for j in range(N_DOF):
        change[j] = 0.0
        for k in range(N_CONTACTS):
            if m.contacts.active[k] != 0:
                change[j] += directions.V_N[k, j] * total[k, 0] + directions.V_T[k, j] * total[k, 1]
    energy = 0.0
    size = 0.0
    for k in range(N_CONTACTS):
        if m.contacts.active[k] == 0:
            continue
        first = total[k, 0] * m.contacts.gamma_A[k, 0] + total[k, 1] * m.contacts.gamma_A[k, 1]
        second = 0.0
        for j in range(N_DOF):
            second += 0.5 * (total[k, 0] * directions.W_N[k, j] + total[k, 1] * directions.W_T[k, j]) * change[j]
        energy += first + second
        size += abs(first) + second
    return energy > GAIN * size


@rare
def next_share(m, halvings):
    """Judge a decompression by its energy: whether another share s of the coefficients is to be tried, see `Poisson`.

    The largest share without a gain is found by bisection; its impulses are in `m.law.total` in the end.
    """
    law = m.law
    tried = law.search[0]
    gain = gains(m)
    if tried == WHOLE:
        if not gain:
            return False
        law.search[0] = float64(NONE)
        law.search[3] = 0.0
        return True
    if tried == NONE:
        law.search[0] = float64(HALVES)
        keep_best(law)
    elif gain:
        law.search[2] = law.search[3]
    else:
        law.search[1] = law.search[3]
        keep_best(law)
    if tried == HALVES:
        law.search[4] += 1.0
    if law.search[4] >= halvings:
        for k in range(N_CONTACTS):
            law.total[k, 0] = law.best[k, 0]
            law.total[k, 1] = law.best[k, 1]
        return False
    law.search[3] = 0.5 * (law.search[1] + law.search[2])
    return True


@dev
def keep_best(law):
    """Keep the impulses of the last share that gained nothing."""
    for k in range(N_CONTACTS):
        law.best[k, 0] = law.total[k, 0]
        law.best[k, 1] = law.total[k, 1]


@rare
def begin_forces(m):
    """The problem of the step after the impact: contacts without restitution take up what the forces ask for."""
    law = m.law
    for k in range(N_CONTACTS):
        if m.contacts.active[k] != 0:
            m.laws.a[k] = law.a[k]
            m.contacts.offset[k, 0] = law.offset[k, 0]
            m.contacts.offset[k, 1] = law.offset[k, 1]
    start_from(m, law.u_free, law.total)


@rare
def end_impact(m):
    """Impulses of the whole step, and u_E from them, [GS05] eq. (32); gamma_E of the active contacts."""
    step, directions, contacts, law = m.step, m.directions, m.contacts, m.law
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            contacts.Lambda[k, 0] += law.total[k, 0]
            contacts.Lambda[k, 1] += law.total[k, 1]
    for j in range(N_DOF):
        value = law.u_free[j]
        terms = abs(value)
        for k in range(N_CONTACTS):
            if contacts.active[k] != 0:
                by_N = directions.V_N[k, j] * contacts.Lambda[k, 0]
                by_T = directions.V_T[k, j] * contacts.Lambda[k, 1]
                value += by_N + by_T
                terms += abs(by_N) + abs(by_T)
        step.u_free[j] = law.u_free[j]
        step.u_E[j] = value if abs(value) > CANCELLED * terms else 0.0
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            contacts.gamma_E[k, 0] = directions.w_hat[k, 0]
            contacts.gamma_E[k, 1] = directions.w_hat[k, 1]
            for j in range(N_DOF):
                contacts.gamma_E[k, 0] += directions.W_N[k, j] * step.u_E[j]
                contacts.gamma_E[k, 1] += directions.W_T[k, j] * step.u_E[j]


@dev
def keep_compression(m):
    """The impulses of compression."""
    for k in range(N_CONTACTS):
        m.law.first[k, 0] = m.contacts.Lambda[k, 0]
        m.law.first[k, 1] = m.contacts.Lambda[k, 1]


@dev
def add_decompression(m):
    """The impulses of the whole impact."""
    for k in range(N_CONTACTS):
        m.law.total[k, 0] += m.contacts.Lambda[k, 0]
        m.law.total[k, 1] += m.contacts.Lambda[k, 1]
