"""Template: contact states, impacts and records of a step that is solved."""

import math

from stickslip.codes import (
    ANYWHERE,
    CANCELLED,
    CLOSED,
    CLUTCH,
    CONTACT,
    CONTACT_WORK,
    GAIN_STEP,
    IMPACT,
    LEAST_KEPT,
    LEAVES,
    MAX_ENERGY_GAIN,
    MAX_LCP_SIZE,
    MOST_KEPT,
    OPEN,
    SLIP_MINUS,
    SLIP_PLUS,
    SPRING,
    STICK,
    WORK_BEFORE,
)
from stickslip.contact.spatial_contact import section_gauge
from stickslip.jit.marks import dev, float64, int64, part, rare
from stickslip.mechanisms.templates.contacts import in_space, is_tangent, measure_sizes
from stickslip.mechanisms.templates.model import IMPACT_STEPS, KEEPS, N_CONTACTS, N_DOF
from stickslip.mechanisms.templates.structs import Ended


@dev
def closes(unloaded, gamma_N_A, size_N, kick):
    """Whether a contact that carried no load for `unloaded` steps, and now does, has struck.

    It must come closer, by more than the rounding error of the terms of gamma_N (`size_N`).
    After one or two steps without load it has only if it closes faster than ten steps of the forces explain (`kick`,
    what they do to gamma_N in one step): a lasting contact on curved ground may lose its load for a step.
    """
    return -gamma_N_A > CANCELLED * size_N and (unloaded > 2 or (unloaded > 0 and -gamma_N_A > 10.0 * kick))


@dev
def contact_state(ended, strikes, struck, N_before):
    """State of an active contact after a step.

    `strikes`: it has struck by itself; `struck`: some contact has, and an impulse that jumps makes this one part of it.
    N_before : its normal impulse in the step before.
    """
    N, bound = ended.N, ended.bound
    if ended.kind <= CLUTCH:
        if N == 0.0:
            return OPEN
        if ended.kind == CONTACT and (strikes or (struck and N > 5.0 * N_before)):
            return IMPACT
        if not ended.tangential or bound == 0.0:
            return CLOSED
    if abs(ended.gamma_T) <= 1e-10 * ended.size_T or abs(ended.T) < bound * (1.0 - 1e-12):
        return STICK
    return SLIP_PLUS if ended.gamma_T > 0.0 else SLIP_MINUS


@dev
def may_strike(step, contacts, last_loaded):
    """Whether a contact that carried no load in the step before closes in this one and does."""
    for k in range(N_CONTACTS):
        approaches = contacts.gamma_A[k, 0] < 0.0 and contacts.Lambda[k, 0] > 0.0
        if contacts.active[k] != 0 and last_loaded[k] < step - 1 and approaches:
            return True
    return False


@dev
def lasts_on(states):
    """Whether an impact of the step before has its second half in this one; only schemes on position level have any."""
    found = False
    if IMPACT_STEPS == 2:
        for k in range(N_CONTACTS):
            found = found or states[k] == IMPACT
    return found


@dev
def strikes_now(k, step, contacts, last_loaded):
    """Whether contact k, which carries load, has struck in this step."""
    unloaded = step - last_loaded[k] - 1
    return closes(unloaded, contacts.gamma_A[k, 0], contacts.size[k, 0], contacts.size[k, 2])


@dev
def ended_at(k, directions, laws, contacts):
    """How the step has ended for contact k."""
    diagonal = directions.diagonal
    N = contacts.Lambda[k, 0]
    T = contacts.Lambda[k, 1]
    own = diagonal[k, 1] * abs(T)
    return Ended(
        kind=contacts.kinds[k],
        gamma_T=contacts.gamma_E[k, 1],
        size_T=contacts.size[k, 1] + own + abs(diagonal[k, 2]) * N,  # with what its own impulses do
        tangential=diagonal[k, 1] > 0.0,
        bound=laws.mu[k] * N + laws.a[k],
        N=N,
        T=T,
    )


@rare
def ended_in_space(k, directions, laws, contacts):
    """How the step has ended for contact k with two tangents: with |gamma_T|, and the share of the friction bound."""
    diagonal, Lambda = directions.diagonal, contacts.Lambda
    N = Lambda[k, 0]
    T_1 = Lambda[k, 1]
    T_2 = Lambda[k + 1, 1]
    coupling = 0.0
    for j in range(N_DOF):
        coupling += directions.W_N[k, j] * directions.V_T[k + 1, j]
    size_1 = contacts.size[k, 1] + diagonal[k, 1] * abs(T_1) + abs(diagonal[k, 2]) * N
    size_2 = contacts.size[k + 1, 1] + diagonal[k + 1, 1] * abs(T_2) + abs(coupling) * N
    gamma_1 = contacts.gamma_E[k, 1]
    gamma_2 = contacts.gamma_E[k + 1, 1]
    bound = laws.mu[k] * N
    share = 0.0
    if bound > 0.0:
        share = section_gauge(laws.section[k], T_1 / bound, T_2 / (laws.mu[k + 1] * N))
    return Ended(
        kind=contacts.kinds[k],
        gamma_T=math.sqrt(gamma_1 * gamma_1 + gamma_2 * gamma_2),
        size_T=math.sqrt(size_1 * size_1 + size_2 * size_2),
        tangential=diagonal[k, 1] > 0.0,
        bound=bound,
        N=N,
        T=share * bound,
    )


@dev
def write_event(event, time, k, contacts):
    """Write the row of an impact, columns as `trajectory.IMPACT_COLUMNS`."""
    event[0] = time
    event[1] = k
    event[2] = contacts.gamma_A[k, 0]
    event[3] = contacts.gamma_E[k, 0]
    event[4] = contacts.Lambda[k, 0]
    event[5] = contacts.Lambda[k, 1]
    event[6] = contacts.gamma_A[k, 1]
    event[7] = contacts.gamma_E[k, 1]


@rare
def label_contacts(times, directions, laws, contacts, memory, states, events, n_events):
    """Write the contact states of a step, and a row of `events` for each impact; (events, whether one begins)."""
    measure_sizes(directions, contacts)
    struck = False
    begins = False
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0 and contacts.Lambda[k, 0] > 0.0 and contacts.kinds[k] == CONTACT:
            struck = struck or strikes_now(k, times.step, contacts, memory.last_loaded)
    for k in range(N_CONTACTS):
        if contacts.active[k] == 0:
            states[k] = OPEN
            continue
        strikes = strikes_now(k, times.step, contacts, memory.last_loaded)
        if is_tangent(k, contacts):
            state = int64(states[k - 1])
        elif in_space(k, contacts):
            state = contact_state(ended_in_space(k, directions, laws, contacts), strikes, struck, memory.N_before[k])
        else:
            state = contact_state(ended_at(k, directions, laws, contacts), strikes, struck, memory.N_before[k])
        lasting = IMPACT_STEPS == 2 and states[k] == IMPACT  # the second half of an impact
        begins = begins or (state == IMPACT and not lasting)
        states[k] = state
        if state == IMPACT or lasting:
            write_event(events[n_events], times.E, k, contacts)
            n_events += 1
    return n_events, begins


@dev
def reach_of(dt, new, gamma_N_A, gamma_N_E, held, kept):
    """The reach of a contact whose impulse has changed gamma_N by `held`; `new`: it had no load in the step before.

    kept : length that `kept_reach` gives.  It goes on as a factor of ANYWHERE, until the contact loses its load.
    """
    rebounds = new and gamma_N_A < 0.0 and gamma_N_E > LEAVES * held
    return max(kept, LEAVES * dt * held) if rebounds else ANYWHERE * min(max(kept, LEAST_KEPT), MOST_KEPT)


@dev
def kept_reach(reach):
    """The length that a contact keeps, whatever it carries, from its reach."""
    # a factor is chosen, not a product: that of a small reach would be subnormal, which takes a processor long
    return reach * (1.0 if reach < ANYWHERE * LEAST_KEPT else 1.0 / ANYWHERE)


@dev
def drift_of(held, gamma_N_E):
    """How fast a contact may come apart after an impulse that jumped, and changed gamma_N by `held` [m/s].

    A contact that has not left (LEAVES) drifts apart by what is left of gamma_N: by rounding, and by what a solver may
    leave.  Balls that touch swing together from blow to blow, and what they keep grows in each step without load.
    """
    return (LEAVES if gamma_N_E <= LEAVES * held else CANCELLED) * held


@dev
def forget_reach(k, memory):
    """Contact k has no reach any more, and so no drift; only where it had one is the drift asked for (`new_march`)."""
    if memory.reach[k] != 0.0:
        memory.drift[k] = 0.0
    memory.reach[k] = 0.0


@dev
def close_step(step, dt, directions, contacts, memory):
    """Remember the impulses of a step with closed contacts; return (work of the contacts, rows of the LCP).

    A contact that carries load gets a `reach`: the gap by which it may seem open at the next step and still take part.
    Rounding errors and directions that turn open it, and dropped it would fall for one step and strike.  Taking part
    does no harm, whatever the gap: it carries load only if the gap would close (`normal_offset`).  A contact that was
    struck and rebounds is let go.  Any contact keeps the rounding error of its gap.
    """
    diagonal, gamma_A, gamma_E = directions.diagonal, contacts.gamma_A, contacts.gamma_E
    work = 0.0
    rows = int64(0)
    for k in range(contacts.active.shape[0]):
        if contacts.active[k] == 0:
            memory.N_before[k] = 0.0
            forget_reach(k, memory)
            continue
        N = contacts.Lambda[k, 0]
        T = contacts.Lambda[k, 1]
        rows += (1 if diagonal[k, 0] > 0.0 else 0) + (2 if diagonal[k, 1] > 0.0 else 0)
        if is_tangent(k, contacts):
            rows -= 2  # three of a contact with two tangents: no slip is split in two
        if contacts.kinds[k] != SPRING:
            work += 0.5 * N * (gamma_A[k, 0] + gamma_E[k, 0]) + 0.5 * T * (gamma_A[k, 1] + gamma_E[k, 1])
        N_before = memory.N_before[k]
        memory.N_before[k] = N
        memory.total[k, 0] += N
        memory.total[k, 1] += T
        kept = 0.0
        if KEEPS and contacts.kinds[k] == CONTACT and step > 0:
            kept = kept_reach(memory.reach[k])  # but what forces close in the first step is no rounding error
            kept += dt * memory.drift[k] if N == 0.0 else 0.0
        memory.reach[k] = kept
        if N > 0.0:
            new, held = memory.last_loaded[k] < step - 1, diagonal[k, 0] * N
            if KEEPS and contacts.kinds[k] == CONTACT and N > 5.0 * N_before:
                memory.drift[k] = max(memory.drift[k], drift_of(held, gamma_E[k, 0]))
                kept = max(kept, 2.0 * dt * memory.drift[k])
            memory.reach[k] = reach_of(dt, new, gamma_A[k, 0], gamma_E[k, 0], held, kept)
            memory.last_loaded[k] = step
    return work, rows


@part
def book_contacts(m, step):
    """Remember impulses; book work, energy gain and size of the LCP of a step with closed contacts; return the work."""
    tally = m.tally
    work, rows = close_step(step, m.run.dt, m.directions, m.contacts, m.memory)
    tally[MAX_LCP_SIZE] = max(tally[MAX_LCP_SIZE], float64(rows))
    book_work(m, step, work)
    return work


@part
def book_work(m, step, work):
    """Book the work of the contacts in a step, and its energy gain."""
    tally = m.tally
    tally[CONTACT_WORK] += work  # one sum over the run: the same however a run is cut into calls
    gain = work
    if IMPACT_STEPS == 2:  # the first step of an impact takes what the second gives back
        gain += min(0.0, tally[WORK_BEFORE])
        tally[WORK_BEFORE] = work
    if gain > tally[MAX_ENERGY_GAIN]:
        tally[MAX_ENERGY_GAIN] = gain
        m.book[GAIN_STEP] = step + 1


@dev
def release(memory, states):
    """No contact takes part any more: all are open, and what they remember of load is gone."""
    for k in range(N_CONTACTS):
        states[k] = OPEN
        memory.N_before[k] = 0.0
        forget_reach(k, memory)


@dev
def record(motion, total, records, i):
    """Write record i, begin new sums, and carry the contact states on."""
    for j in range(N_DOF):
        records.q[i, j] = motion.q[j]
        records.u[i, j] = motion.u[j]
    for k in range(N_CONTACTS):
        records.impulse[i, k, 0] = total[k, 0]
        records.impulse[i, k, 1] = total[k, 1]
        total[k, 0] = 0.0
        total[k, 1] = 0.0
        records.state[i + 1, k] = records.state[i, k]
