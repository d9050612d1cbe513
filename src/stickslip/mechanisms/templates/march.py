"""Template: the time steppers as one compiled loop, Moreau's midpoint rule [GS05] 5 first of all."""

import numpy as np

from stickslip.codes import (
    CONTACT_WORK,
    DONE,
    EVENTS_FULL,
    ITERATIONS,
    MASS_INDEFINITE,
    MAX_ENERGY_GAIN,
    MAX_LCP_SIZE,
    MAX_PENETRATION,
    MAX_RESIDUAL,
    PAOLI,
    SIZES_LAST,
    START_OFF,
    STEPS,
    WORK_BEFORE,
)
from stickslip.jit.marks import entry, float64, int64, on_card, part
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.events import book_contacts, label_contacts, lasts_on, may_strike, record, release
from stickslip.mechanisms.templates.flight import ALONE, TOGETHER, fly
from stickslip.mechanisms.templates.held import hold_end, hold_motion, note_held, remember_start, take_rows
from stickslip.mechanisms.templates.impact_laws import take_coefficients
from stickslip.mechanisms.templates.lasting import NONE_LASTS, lasting_contact, stay, stays_here
from stickslip.mechanisms.templates.mass import contact_row, invert_mass
from stickslip.mechanisms.templates.model import (
    CENTRED,
    CONSTRAINED,
    DIRECTIONS_CONSTANT,
    FLIES,
    FRICTION_LAWS,
    IMPACT_STEPS,
    IMPLICIT,
    KINDS,
    LASTING,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    N_PARAMETERS,
    N_SECTION,
    OWN_LAW,
    PROJECTION,
    SCHEME,
    SECTIONS,
    SHARES,
    SPATIAL,
    WATCHED,
    energy,
    gap,
    geometry,
    laws,
    mass,
)
from stickslip.mechanisms.templates.phases import place_midpoint, times_of
from stickslip.mechanisms.templates.projection import book_projection, note_penetration, total_energy
from stickslip.mechanisms.templates.room import new_march
from stickslip.mechanisms.templates.schemes import reach_at_start, take_sizes
from stickslip.mechanisms.templates.step import advance_state, do_step
from stickslip.mechanisms.templates.structs import Place
from stickslip.mechanisms.templates.watch import note_impacts, read_extremes, remember_begin, watch_step, write_extremes

TALLIED = (
    MAX_RESIDUAL, MAX_PENETRATION, MAX_ENERGY_GAIN, MAX_LCP_SIZE, ITERATIONS, CONTACT_WORK, WORK_BEFORE,
)  # fmt: skip
"""Numbers of the book that steps with contacts change: they stay in registers during a march."""
# Contact states are written with the records, and at impacts; always where their shares are counted.


@entry
def march(run, kept, records, n_steps, every):
    """Do the next n_steps steps; return (status, steps done, events, records).

    State, contact memory and the book with its clock book[STEPS] are in `kept` and updated in place, so that a call
    with the remaining steps goes on as if there had been none in between.
    """
    first = int64(kept.book[STEPS])
    last = first + n_steps - 1
    status = int64(DONE)
    written = n_events = int64(0)
    countdown = every - first % every
    in_contact = True  # something in the memory of the contacts may have to be cleared
    lasting = int64(NONE_LASTS)  # the contact that is alone and may stay so
    sizes_until = first
    m = new_march(run, kept)
    take_state(run, kept, m)
    status = begin_march(m, first)
    if status != DONE:
        return status, int64(0), int64(0), int64(0)
    together = TOGETHER if on_card() else ALONE
    step = first
    while step <= last and status == DONE:
        if SCHEME != PAOLI and step >= sizes_until:
            place_midpoint(m)
            take_sizes(m.step.q_C, m.run.t0 + (step + 0.5) * m.run.dt, m.run.p, m.gaps)
            sizes_until = step + SIZES_LAST
        end = min(last + 1, step + together - step % together)
        while step < end:
            if (FLIES or stays_here()) and countdown > 1:
                coasted = coast(m, step, min(end - step, countdown - 1), last - step, in_contact, lasting)
                step += coasted
                countdown -= coasted
                if step == end:
                    continue
            labelled = countdown == 1 or step == last
            place = Place(records.state[written], records.events, n_events)
            status, closed, n_events = take_step(m, step, in_contact, labelled, place)
            if status != DONE:
                break
            in_contact = closed > 0
            if stays_here():
                lasting = lasting_contact(m, closed, step)
            step += 1
            countdown -= 1
            if countdown == 0:
                countdown = every
                record(m.motion, m.memory.total, records, written)
                written += 1
            if n_events > records.events.shape[0] - N_CONTACTS:
                status = int64(EVENTS_FULL)
                break
    kept.book[STEPS] = float64(step)
    give_state(m, kept)
    return status, step - first, n_events, written


@part
def coast(m, step, most, before_last, in_contact, lasting):
    """Do up to `most` of the steps that have loops of their own; how many.  The last step is for `take_step`, which
    writes the contact states, unless no contact takes part.
    """
    coasted = int64(0)
    if FLIES and not in_contact:
        coasted = fly(m, step, most)
    elif stays_here() and lasting != NONE_LASTS:
        coasted = stay(lasting, m, step, min(most, before_last))
    return coasted


@part
def take_step(m, number, in_contact, labelled, place):
    """Do a step of any kind and book it; (status, number of closed contacts, number of events)."""
    n_events = place.n_events
    times = times_of(m.run, number)  # [GS05] 5, step 1
    status, closed = do_step(m, times)  # steps 2 to 4
    if status != DONE:
        return status, closed, n_events
    if WATCHED:
        remember_begin(m.watch, m.motion)
    if CONSTRAINED:
        remember_start(m)
    advance_state(m, closed)  # step 5
    if CONSTRAINED:
        status = hold_end(m, times)
        if status != DONE:
            return status, closed, n_events
    struck, n_events = note_step(m, times, closed, in_contact, labelled, place)
    if WATCHED and number >= m.watch.first:
        watch_step(m.run, times, m.watch, m.motion, struck, place.states, m.book)
    return status, closed, n_events


@part
def take_state(run, kept, m):
    """Copy the state, the contact memory and the numbers of the book: during the march they stay in registers."""
    memory = m.memory
    for j in range(N_DOF):
        m.motion.q[j] = kept.q[j]
        m.motion.u[j] = kept.u[j]
    for j in range(N_PARAMETERS):  # a bound known when compiling, so that a GPU keeps them in registers
        if j < run.p.shape[0]:
            m.run.p[j] = run.p[j]
    for k in range(N_CONTACTS):
        memory.last_loaded[k] = kept.last_loaded[k]
        memory.N_before[k] = kept.impulse_before[k]
        memory.reach[k] = kept.reach[k]
        memory.sticks[k] = kept.carried[k, 2] if FRICTION_LAWS else 0.0
        for i in range(2):
            memory.total[k, i] = kept.impulse_sum[k, i] if not WATCHED else 0.0  # members have no records
            memory.carried[k, i] = kept.carried[k, i] if IMPACT_STEPS == 2 else 0.0
    for i in TALLIED:
        m.tally[i] = kept.book[i]
    if WATCHED:
        read_extremes(kept.book, m.watch)


@part
def give_state(m, kept):
    """Copy everything back."""
    memory = m.memory
    for j in range(N_DOF):
        kept.q[j] = m.motion.q[j]
        kept.u[j] = m.motion.u[j]
    for k in range(N_CONTACTS):
        kept.last_loaded[k] = memory.last_loaded[k]
        kept.impulse_before[k] = memory.N_before[k]
        kept.reach[k] = memory.reach[k]
        if FRICTION_LAWS:
            kept.carried[k, 2] = memory.sticks[k]
        for i in range(2):
            if not WATCHED:
                kept.impulse_sum[k, i] = memory.total[k, i]
            if IMPACT_STEPS == 2:
                kept.carried[k, i] = memory.carried[k, i]
    for i in TALLIED:
        kept.book[i] = m.tally[i]
    if WATCHED:
        write_extremes(m.watch, kept.book)


@part
def begin_march(m, first):
    """Work that is done once: laws, constant matrices, the reach at the start; a status."""
    q, u, run, step, directions = m.motion.q, m.motion.u, m.run, m.step, m.directions
    laws(run.p, m.laws.mu, m.laws.eps_N, m.laws.eps_T, m.laws.a)
    for k in range(N_CONTACTS):
        m.contacts.kinds[k] = KINDS[k]
        m.laws.a[k] = m.laws.a[k] * run.dt  # a threshold [N] is a bound [N s] of a step
        if FRICTION_LAWS:
            m.slip.static[k] = m.laws.mu[k]
    if SPATIAL:
        for k in range(N_CONTACTS):
            for i in range(N_SECTION):
                m.laws.section[k, i] = SECTIONS[k * N_SECTION + i]
    if OWN_LAW:
        take_coefficients(m)
    if MASS_CONSTANT:
        mass(q, run.t0, run.p, step.M)
        if not ldl_factor(step.M):
            return int64(MASS_INDEFINITE)
        invert_mass(step.M, step.inverse)
        if IMPLICIT:
            mass(q, run.t0, run.p, m.implicit.inertia)
    if DIRECTIONS_CONSTANT:
        geometry(q, run.t0, run.p, directions.W_N, directions.W_T, directions.w_hat)
        if CONSTRAINED:
            take_rows(step.M, directions.W_T, m.held)
        for k in range(N_CONTACTS):
            contact_row(k, step.M, directions, m.held)
    held = CONSTRAINED and first == 0 and SCHEME != PAOLI  # members of ensembles begin with any velocities
    if held and not hold_motion(q, u, run.t0, m):
        return int64(START_OFF)
    if PROJECTION > 0.0:
        m.projected.energy_A[0] = total_energy(m, run.t0 + first * run.dt)
    if first == 0 and not LASTING and SCHEME != PAOLI:
        reach_at_start(q, u, run.p, run.t0, run.dt, m.memory.reach)
    return int64(DONE)


@part
def note_step(m, times, closed, in_contact, labelled, place):
    """Book a step that is done; (whether the contact of the section has struck, number of events).

    in_contact : contacts took part in the step before.  labelled : contact states are asked for.
    """
    states, events, n_events = place.states, place.events, place.n_events
    work = 0.0
    struck = False
    if closed > 0:
        if SHARES or labelled or may_strike(times.step, m.contacts, m.memory.last_loaded) or lasts_on(states):
            n_events, begins = label_contacts(
                times, m.directions, m.laws, m.contacts, m.memory, states, events, n_events
            )
            if WATCHED:
                struck = note_impacts(times.step >= m.watch.first, events, n_events, m.book)
                n_events = int64(0)
            if IMPACT_STEPS == 2:
                carry_impulses(m.contacts.Lambda, m.memory.carried, begins)
        work = book_contacts(m, times.step)
    elif in_contact:
        m.tally[WORK_BEFORE] = 0.0
        release(m.memory, states)
    if CONSTRAINED:
        n_events = note_held(m, times, states, events, place.n_events, n_events)
    if PROJECTION > 0.0:
        book_projection(m, times.E, work)
        note_penetration(m)
    elif not CENTRED and closed > 0:
        gap(m.motion.q, times.E, m.run.p, m.gaps.g)
        note_penetration(m)
    return struck, n_events


@part
def carry_impulses(Lambda, carried, begins):
    """Impulses of the first half of an impact, which the next step takes back; none where no impact begins."""
    for k in range(N_CONTACTS):
        carried[k, 0] = Lambda[k, 0] if begins else 0.0
        carried[k, 1] = Lambda[k, 1] if begins else 0.0


@entry
def measure(Q, U, T, p, gaps, kinetic_potential):
    """Gaps and energies of records, for the trajectory."""
    E = np.empty(2)
    for i in range(Q.shape[0]):
        gap(Q[i], T[i], p, gaps[i])
        energy(Q[i], U[i], T[i], p, E)
        kinetic_potential[i, 0] = E[0]
        kinetic_potential[i, 1] = E[1]
