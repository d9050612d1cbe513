"""Template: friction that depends on slip, found in rounds around the contact problem; see `laws.slip`."""

from stickslip.codes import FRICTION_CONTRACTION
from stickslip.jit.marks import dev, rare
from stickslip.laws.slip import CONSTANT, HELD, SETTLED_LATE, UNSET, begin_slip, end_speed, holds, next_slip
from stickslip.laws.slip import SETTLED as FRICTION_SETTLED
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF, SLIDING, friction


@dev
def take_friction(p, mu, sliding):
    """Write the coefficients of the contacts whose friction depends on slip, see `laws.slip`."""
    mode, _, speed, _, _, _, mu_end, static, _, _ = sliding
    friction(p, speed, mu_end)
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and mode[k] != UNSET:
            mu[k] = static[k] if mode[k] == HELD else mu_end[k]


@rare
def begin_friction(p, mu, local, sticks, sliding):
    """Coefficients of the contacts that join the step."""
    active, _, _, _, gamma_A, _, _ = local
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0 and sliding[0][k] == UNSET:
            begin_slip(k, SLIDING[k], sticks[k], gamma_A[k, 1], sliding)
    take_friction(p, mu, sliding)


@dev
def slip_size(k, directions, change, Lambda):
    """How large the terms are that gamma_T of contact k is the sum of; as `label_contacts` has it."""
    _, W_T, w_hat, _, _, diagonal = directions
    size = abs(w_hat[k, 1]) + diagonal[k, 1] * abs(Lambda[k, 1]) + abs(diagonal[k, 2]) * Lambda[k, 0]
    for j in range(N_DOF):
        size += abs(W_T[k, j]) * change[j]
    return size


@rare
def next_friction(p, directions, mu, a, local, change, sliding, book, late):
    """Adapt the coefficients to the slip of a solved round; (whether any changes, worst defect of the laws)."""
    active, _, _, _, gamma_A, gamma_E, Lambda = local
    diagonal = directions[5]
    end, mu_end = sliding[3], sliding[6]
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0:
            end[k] = end_speed(gamma_E[k, 1], slip_size(k, directions, change, Lambda))
    friction(p, end, mu_end)
    moved = False
    worst = 0.0
    for k in range(N_CONTACTS):
        if SLIDING[k] != CONSTANT and active[k] != 0:
            size = slip_size(k, directions, change, Lambda)
            changes, defect, contraction = next_slip(
                k, sliding, mu[k], gamma_A[k, 1], gamma_E[k, 1], size, diagonal[k, 1], Lambda[k, 0], Lambda[k, 1], a[k],
                SETTLED_LATE if late else FRICTION_SETTLED, late,
            )  # fmt: skip
            moved = moved or changes
            worst = max(worst, defect)
            book[FRICTION_CONTRACTION] = max(book[FRICTION_CONTRACTION], contraction)
    if moved:
        take_friction(p, mu, sliding)
    return moved, worst


@dev
def remember_slip(closed, directions, change, local, a, sticks, sliding):
    """Which contacts stick after a step: the flags that the next one begins with; an open contact has none."""
    active, _, _, _, gamma_A, _, Lambda = local
    for k in range(N_CONTACTS):
        sticks[k] = 0.0
        if SLIDING[k] != CONSTANT and closed > 0 and active[k] != 0:
            loaded = Lambda[k, 0] > 0.0 or a[k] > 0.0
            size = slip_size(k, directions, change, Lambda)
            if holds(SLIDING[k], sliding[0][k], sliding[3][k], gamma_A[k, 1], size, loaded):
                sticks[k] = 1.0
