"""Template: friction that depends on slip, found in rounds around the contact problem; see `laws.slip`."""

from stickslip.codes import FRICTION_CONTRACTION
from stickslip.jit.marks import dev, rare
from stickslip.laws.slip import CONSTANT, HELD, SETTLED_LATE, UNSET, Round, begin_slip, end_speed, holds, next_slip
from stickslip.laws.slip import SETTLED as FRICTION_SETTLED
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF, SLIDING, STATE_LAWS, friction, friction_at


@dev
def no_slip_yet(slip):
    """Forget the rounds of the step before."""
    for k in range(N_CONTACTS):
        slip.mode[k] = UNSET
        slip.speed[k] = 0.0
        slip.end[k] = 0.0


@dev
def friction_of(place, speed, mu):
    """Coefficients of contacts that slip with `speed` at a place."""
    if STATE_LAWS:
        friction_at(place.q, place.t, place.p, speed, mu)
    else:
        friction(place.p, speed, mu)


@dev
def take_friction(place, mu, slip):
    """Write the coefficients of the contacts whose friction depends on slip, see `laws.slip`."""
    friction_of(place, slip.speed, slip.mu_end)
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and slip.mode[k] != UNSET:
            mu[k] = slip.static[k] if slip.mode[k] == HELD else slip.mu_end[k]


@rare
def begin_friction(place, mu, contacts, sticks, slip):
    """Coefficients of the contacts that join the step."""
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and contacts.active[k] != 0 and slip.mode[k] == UNSET:
            begin_slip(k, SLIDING[k], sticks[k], contacts.gamma_A[k, 1], slip)
    take_friction(place, mu, slip)


@dev
def slip_size(k, directions, contacts):
    """How large the terms are that gamma_T of contact k is the sum of; as `label_contacts` has it."""
    diagonal, Lambda = directions.diagonal, contacts.Lambda
    size = abs(directions.w_hat[k, 1]) + diagonal[k, 1] * abs(Lambda[k, 1]) + abs(diagonal[k, 2]) * Lambda[k, 0]
    for j in range(N_DOF):
        size += abs(directions.W_T[k, j]) * contacts.change[j]
    return size


@dev
def seen_at(k, directions, laws, contacts):
    """Impulses and end velocity of contact k after the last round."""
    return Round(
        mu=laws.mu[k],
        gamma_A=contacts.gamma_A[k, 1],
        gamma_E=contacts.gamma_E[k, 1],
        size=slip_size(k, directions, contacts),
        beta=directions.diagonal[k, 1],
        N=contacts.Lambda[k, 0],
        T=contacts.Lambda[k, 1],
        a=laws.a[k],
    )


@rare
def next_friction(place, directions, laws, contacts, slip, book, late):
    """Adapt the coefficients to the slip of a solved round; (whether any changes, worst defect of the laws)."""
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and contacts.active[k] != 0:
            slip.end[k] = end_speed(contacts.gamma_E[k, 1], slip_size(k, directions, contacts))
    friction_of(place, slip.end, slip.mu_end)
    moved = False
    worst = 0.0
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and contacts.active[k] != 0:
            tol = SETTLED_LATE if late else FRICTION_SETTLED
            changes, defect, contraction = next_slip(k, slip, seen_at(k, directions, laws, contacts), tol, late)
            moved = moved or changes
            worst = max(worst, defect)
            book[FRICTION_CONTRACTION] = max(book[FRICTION_CONTRACTION], contraction)
    if moved:
        take_friction(place, laws.mu, slip)
    return moved, worst


@dev
def remember_slip(closed, m):
    """Which contacts stick after a step: the flags that the next one begins with; an open contact has none."""
    contacts, slip = m.contacts, m.slip
    for k in range(N_CONTACTS):
        m.memory.sticks[k] = 0.0
        if SLIDING[k] != CONSTANT and closed > 0 and contacts.active[k] != 0:
            loaded = contacts.Lambda[k, 0] > 0.0 or m.laws.a[k] > 0.0
            size = slip_size(k, m.directions, contacts)
            if holds(SLIDING[k], slip.mode[k], slip.end[k], contacts.gamma_A[k, 1], size, loaded):
                m.memory.sticks[k] = 1.0
