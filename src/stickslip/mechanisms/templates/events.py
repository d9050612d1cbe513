"""Template: contact states, impacts and records of a step that is solved."""

from stickslip.codes import (
    ANYWHERE,
    CANCELLED,
    CLOSED,
    CLUTCH,
    CONTACT,
    IMPACT,
    LEAVES,
    OPEN,
    SLIP_MINUS,
    SLIP_PLUS,
    SPRING,
    STICK,
)
from stickslip.jit.marks import dev, int64, rare
from stickslip.mechanisms.templates.contacts import measure_sizes
from stickslip.mechanisms.templates.model import IMPACT_STEPS, N_CONTACTS, N_DOF


@dev
def closes(unloaded, gamma_N_A, size_N, kick):
    """Whether a contact that carried no load for `unloaded` steps, and now does, has struck.

    It must come closer, by more than the rounding error of the terms of gamma_N (`size_N`).
    After one or two steps without load it has only if it closes faster than ten steps of the forces explain (`kick`,
    what they do to gamma_N in one step): a lasting contact on curved ground may lose its load for a step.
    """
    return -gamma_N_A > CANCELLED * size_N and (unloaded > 2 or (unloaded > 0 and -gamma_N_A > 10.0 * kick))


@dev
def contact_state(kind, strikes, struck, gamma_T_E, size_T, tangential, bound, N, T, N_before):
    """State of an active contact after a step that ended with gamma_T_E.

    `strikes`: it has struck by itself; `struck`: some contact has, and an impulse that jumps makes this one part of it.
    """
    if kind <= CLUTCH:
        if N == 0.0:
            return OPEN
        if kind == CONTACT and (strikes or (struck and N > 5.0 * N_before)):
            return IMPACT
        if not tangential or bound == 0.0:
            return CLOSED
    if abs(gamma_T_E) <= 1e-10 * size_T or abs(T) < bound * (1.0 - 1e-12):
        return STICK
    return SLIP_PLUS if gamma_T_E > 0.0 else SLIP_MINUS


@dev
def may_strike(step, local, last_loaded):
    """Whether a contact that carried no load in the step before closes in this one and does."""
    active, _, _, _, gamma_A, _, Lambda = local
    for k in range(N_CONTACTS):
        if active[k] != 0 and last_loaded[k] < step - 1 and gamma_A[k, 0] < 0.0 and Lambda[k, 0] > 0.0:
            return True
    return False


@rare
def label_contacts(step, time, directions, mu, a, local, change, dv, last_loaded, N_before, states, events, n_events):
    """Write the contact states of a step, and a row of `events` for each impact; (events, whether one begins)."""
    W_N, W_T, w_hat, _, _, diagonal = directions
    active, kinds, offset, size, gamma_A, gamma_E, Lambda = local
    measure_sizes(W_N, W_T, w_hat, active, kinds, offset, change, dv, size)
    struck = False
    begins = False
    for k in range(N_CONTACTS):
        if active[k] != 0 and Lambda[k, 0] > 0.0 and kinds[k] == CONTACT:
            struck = struck or closes(step - last_loaded[k] - 1, gamma_A[k, 0], size[k, 0], size[k, 2])
    for k in range(N_CONTACTS):
        if active[k] == 0:
            states[k] = OPEN
            continue
        N = Lambda[k, 0]
        T = Lambda[k, 1]
        bound = mu[k] * N + a[k]
        strikes = closes(step - last_loaded[k] - 1, gamma_A[k, 0], size[k, 0], size[k, 2])
        tangential = diagonal[k, 1] > 0.0
        size_T = size[k, 1] + diagonal[k, 1] * abs(T) + abs(diagonal[k, 2]) * N  # with what its own impulses do
        state = contact_state(kinds[k], strikes, struck, gamma_E[k, 1], size_T, tangential, bound, N, T, N_before[k])
        lasting = IMPACT_STEPS == 2 and states[k] == IMPACT  # the second half of an impact
        begins = begins or (state == IMPACT and not lasting)
        states[k] = state
        if state == IMPACT or lasting:
            events[n_events, 0] = time
            events[n_events, 1] = k
            events[n_events, 2] = gamma_A[k, 0]
            events[n_events, 3] = gamma_E[k, 0]
            events[n_events, 4] = N
            events[n_events, 5] = T
            events[n_events, 6] = gamma_A[k, 1]
            events[n_events, 7] = gamma_E[k, 1]
            n_events += 1
    return n_events, begins


@dev
def copy_memory(of, into):
    """What contacts remember from step to step: when they last carried load, their impulses, their reach."""
    last_loaded, N_before, total, reach, carried = of
    last_loaded_, N_before_, total_, reach_, carried_ = into
    for k in range(N_CONTACTS):
        last_loaded_[k] = last_loaded[k]
        N_before_[k] = N_before[k]
        reach_[k] = reach[k]
        for i in range(2):
            total_[k, i] = total[k, i]
            carried_[k, i] = carried[k, i]


@dev
def reach_of(dt, new, gamma_N_A, gamma_N_E, held):
    """The reach of a contact whose impulse has changed gamma_N by `held`; `new`: it had no load in the step before."""
    rebounds = new and gamma_N_A < 0.0 and gamma_N_E > LEAVES * held
    return LEAVES * dt * held if rebounds else ANYWHERE


@dev
def close_step(step, dt, diagonal, local, memory):
    """Remember the impulses of a step with closed contacts; return (work of the contacts, rows of the LCP).

    A contact that carries load gets a `reach`: the gap by which it may seem open at the next step and still take part.
    Rounding errors and directions that turn open it, and dropped it would fall for one step and strike.  Taking part
    does no harm, whatever the gap: it carries load only if the gap would close (`prepare_contacts`).  A contact that
    was struck and rebounds is let go.
    """
    active, kinds, _, _, gamma_A, gamma_E, Lambda = local
    last_loaded, N_before, total, reach = memory
    work = 0.0
    rows = int64(0)
    for k in range(N_CONTACTS):
        if active[k] == 0:
            N_before[k] = 0.0
            reach[k] = 0.0
            continue
        N = Lambda[k, 0]
        T = Lambda[k, 1]
        rows += (1 if diagonal[k, 0] > 0.0 else 0) + (2 if diagonal[k, 1] > 0.0 else 0)
        if kinds[k] != SPRING:
            work += 0.5 * N * (gamma_A[k, 0] + gamma_E[k, 0]) + 0.5 * T * (gamma_A[k, 1] + gamma_E[k, 1])
        N_before[k] = N
        total[k, 0] += N
        total[k, 1] += T
        if N > 0.0:
            reach[k] = reach_of(dt, last_loaded[k] < step - 1, gamma_A[k, 0], gamma_E[k, 0], diagonal[k, 0] * N)
            last_loaded[k] = step
        else:
            reach[k] = 0.0
    return work, rows


@dev
def record(q, u, total, rec_q, rec_u, rec_impulse, rec_state, i):
    """Write record i, begin new sums, and carry the contact states on."""
    for j in range(N_DOF):
        rec_q[i, j] = q[j]
        rec_u[i, j] = u[j]
    for k in range(N_CONTACTS):
        rec_impulse[i, k, 0] = total[k, 0]
        rec_impulse[i, k, 1] = total[k, 1]
        total[k, 0] = 0.0
        total[k, 1] = 0.0
        rec_state[i + 1, k] = rec_state[i, k]
