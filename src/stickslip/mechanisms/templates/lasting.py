"""Template: steps in which one contact lasts and nothing else happens, in a loop of their own.

Most steps with contacts are of this kind: a foot stands or slides, and no other contact is near.  They are the steps of
`march`, operation for operation, through its own functions: these see a problem of one contact.  Its row of every table
is copied before the loop, so that all numbers of the loop stay in registers.  A step that is not of this kind is left
to `march`, before anything of it is booked.
"""

import math

from stickslip.codes import (
    ANYWHERE,
    BOOK_SIZE,
    CONTACT,
    CONTACT_WORK,
    ITERATIONS,
    LEAST_KEPT,
    MAX_ENERGY_GAIN,
    MAX_PENETRATION,
    MAX_RESIDUAL,
)
from stickslip.jit.marks import contained, dev, float64, int64, local_array, on_card
from stickslip.laws.scalar import NEWTON as NEWTONS_LAW
from stickslip.lcp.linear import ldl_factor
from stickslip.mechanisms.templates.contacts import gauss_seidel, local_problem
from stickslip.mechanisms.templates.events import book_work, close_step
from stickslip.mechanisms.templates.flight import copied_motion, copy_motion, due_phase, goes_on, step_of_flight
from stickslip.mechanisms.templates.impact_laws import strikes_by_law
from stickslip.mechanisms.templates.mass import bounded, free_velocity
from stickslip.mechanisms.templates.model import (
    DIRECTIONS_CONSTANT,
    LAW,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    STAYS,
    STAYS_ON_CARD,
    dynamics,
    geometry,
)
from stickslip.mechanisms.templates.residual import note_depths, within
from stickslip.mechanisms.templates.schemes import take_sizes, widened
from stickslip.mechanisms.templates.structs import Contacts, Directions, Gaps, Laws, March, Remembered

NONE_LASTS = -1
BOOKED = (MAX_RESIDUAL, MAX_PENETRATION, MAX_ENERGY_GAIN, CONTACT_WORK)
"""Numbers of the book that a step with one contact reads or changes."""


@dev
def stays_here():
    """Whether steps with one lasting contact have this loop: on cards only with constant masses and directions."""
    return STAYS_ON_CARD if on_card() else STAYS


@dev
def lasting_contact(m, closed, step):
    """The only contact of a step that is done, where it may stay in the next one; else `NONE_LASTS`.

    It carries load and does not rebound; or, on the CPU, it touches without load, as balls do that swing alike.
    """
    found = int64(NONE_LASTS)
    if closed == 1:
        for k in range(N_CONTACTS):
            lasts = m.memory.last_loaded[k] == step and m.memory.reach[k] >= ANYWHERE * LEAST_KEPT
            if not on_card():
                lasts = lasts or m.contacts.Lambda[k, 0] == 0.0
            if m.contacts.active[k] != 0 and lasts:
                found = int64(k)
    return found


@dev
def directions_of(k, directions):
    """The rows of contact k."""
    W_N = local_array((1, N_DOF), float64)
    W_T = local_array((1, N_DOF), float64)
    V_N = local_array((1, N_DOF), float64)
    V_T = local_array((1, N_DOF), float64)
    w_hat = local_array((1, 2), float64)
    diagonal = local_array((1, 3), float64)
    for j in range(N_DOF):
        W_N[0, j] = directions.W_N[k, j]
        W_T[0, j] = directions.W_T[k, j]
        V_N[0, j] = directions.V_N[k, j]
        V_T[0, j] = directions.V_T[k, j]
    for i in range(2):
        w_hat[0, i] = directions.w_hat[k, i]
    for i in range(3):
        diagonal[0, i] = directions.diagonal[k, i]
    return Directions(W_N, W_T, w_hat, V_N, V_T, diagonal)


@dev
def turn_to(k, one, t_M):
    """The rows of contact k where the step evaluates them, into those of `one`."""
    W_N = local_array((N_CONTACTS, N_DOF), float64)
    W_T = local_array((N_CONTACTS, N_DOF), float64)
    w_hat = local_array((N_CONTACTS, 2), float64)
    geometry(one.step.q_C, t_M, one.run.p, W_N, W_T, w_hat)
    for i in range(N_CONTACTS):
        if i == k:
            for j in range(N_DOF):
                one.directions.W_N[0, j] = W_N[i, j]
                one.directions.W_T[0, j] = W_T[i, j]
            for j in range(2):
                one.directions.w_hat[0, j] = w_hat[i, j]


@dev
def laws_of(k, laws):
    """The coefficients of contact k."""
    mu = local_array(1, float64)
    eps_N = local_array(1, float64)
    eps_T = local_array(1, float64)
    a = local_array(1, float64)
    mu[0] = laws.mu[k]
    eps_N[0] = laws.eps_N[k]
    eps_T[0] = laws.eps_T[k]
    a[0] = laws.a[k]
    return Laws(mu, eps_N, eps_T, a, None)


@dev
def problem_of_one(dv):
    """Room for the problem of one contact, which takes part."""
    active = local_array(1, int64)
    kinds = local_array(1, int64)
    offset = local_array((1, 2), float64)
    size = local_array((1, 3), float64)
    gamma_A = local_array((1, 2), float64)
    gamma_E = local_array((1, 2), float64)
    Lambda = local_array((1, 2), float64)
    change = local_array(N_DOF, float64)
    active[0] = 1
    kinds[0] = CONTACT
    return Contacts(active, kinds, offset, size, gamma_A, gamma_E, Lambda, change, dv)


@dev
def memory_of(k, memory):
    """Memory of contact k."""
    last_loaded = local_array(1, int64)
    N_before = local_array(1, float64)
    total = local_array((1, 2), float64)
    reach = local_array(1, float64)
    drift = local_array(1, float64)
    last_loaded[0] = memory.last_loaded[k]
    N_before[0] = memory.N_before[k]
    total[0, 0] = memory.total[k, 0]
    total[0, 1] = memory.total[k, 1]
    reach[0] = memory.reach[k]
    drift[0] = memory.drift[k]
    return Remembered(last_loaded, N_before, total, reach, total, N_before, drift)


@dev
def remember(k, one, memory):
    """Give back what contact k remembers."""
    memory.last_loaded[k] = one.last_loaded[0]
    memory.N_before[k] = one.N_before[0]
    memory.total[k, 0] = one.total[0, 0]
    memory.total[k, 1] = one.total[0, 1]
    memory.reach[k] = one.reach[0]
    memory.drift[k] = one.drift[0]


@dev
def copied_tally(tally):
    """A copy of the numbers of the book."""
    own = local_array(BOOK_SIZE, float64)
    for i in BOOKED:
        own[i] = tally[i]
    return own


@dev
def march_of_one(k, m):
    """The march as contact k sees it; its gaps are those at the place 0."""
    step = step_of_flight(m.step.inverse)
    if MASS_CONSTANT and not DIRECTIONS_CONSTANT:  # its factors are asked for
        for i in range(N_DOF):
            for j in range(N_DOF):
                step.M[i, j] = m.step.M[i, j]
    g = local_array(1, float64)
    rounding = local_array(1, float64)
    return March(
        run=m.run,
        motion=copied_motion(m.motion),
        step=step,
        implicit=None,
        gaps=Gaps(g, g, g, rounding),
        directions=directions_of(k, m.directions),
        laws=laws_of(k, m.laws),
        law=None,
        contacts=problem_of_one(step.dv),
        memory=memory_of(k, m.memory),
        lcp=None,
        slip=None,
        rounds=None,
        projected=None,
        held=None,
        watch=m.watch,
        tally=copied_tally(m.tally),
        book=m.book,
    )


@dev
def gap_of(k, gaps, one, t_M, loaded):
    """Gap and rounding error of contact k into `one`, as `judge_gaps` has them; False where another one may be near."""
    alone = True
    one.gaps.g[0] = gaps.g[0]
    one.gaps.rounding[0] = 0.0
    for i in range(N_CONTACTS):
        alone = alone and gaps.g[i] > gaps.near[i]
        if i == k:
            one.gaps.g[0] = gaps.g[i]
    if one.gaps.g[0] > 0.0:
        apart = local_array(N_CONTACTS, float64)
        take_sizes(one.step.q_C, t_M, one.run.p, Gaps(gaps.g, gaps.g, apart, gaps.rounding))
        one.gaps.rounding[0] = gaps.rounding[k]
    near = one.gaps.g[0] <= one.memory.reach[0]
    if not loaded:
        near = near or one.gaps.g[0] <= one.gaps.rounding[0]
    if not alone or not near:
        return False
    if one.gaps.g[0] > 0.0:
        one.memory.reach[0] = widened(one.memory.reach[0], one.gaps.rounding[0])
    return True


@dev
def keeps_contact(k, one, gaps, t_M, loaded):
    """Steps 2 to 4 of [GS05] 5 for a step with contact k alone; False where the step is not of this kind."""
    run, motion, step, contacts = one.run, one.motion, one.step, one.contacts
    for j in range(N_DOF):
        step.q_C[j] = motion.q[j] + 0.5 * run.dt * motion.u[j]  # [GS05] 5, step 2
    dynamics(step.q_C, motion.u, t_M, run.p, step.M, step.h, gaps.g)  # step 3 (a)
    if not MASS_CONSTANT and not ldl_factor(step.M):
        return False
    free_velocity(step, motion.u, run.dt)
    if not bounded(step.u_E):
        return False
    if not gap_of(k, gaps, one, t_M, loaded):  # step 3 (b)
        return False
    if not DIRECTIONS_CONSTANT:
        turn_to(k, one, t_M)
    local_problem(one, motion.u)  # step 3 (c)
    if LAW != NEWTONS_LAW and strikes_by_law(one):
        return False
    gauss_seidel(1, one.directions, one.laws, contacts, step, 1)  # step 4
    kept = contacts.Lambda[0, 0] > 0.0 if loaded else contacts.Lambda[0, 0] == 0.0
    return within(one.directions, one.laws, contacts, step.u_E, one.tally[MAX_RESIDUAL]) and kept


@contained
def stay(k, m, first_step, most):
    """Do up to `most` steps in place, as long as contact k alone takes part, is solved and carries load, or none as in
    the step before; how many.
    """
    one = march_of_one(k, m)
    last_loaded = one.memory.last_loaded[0]
    loaded = on_card() or last_loaded == first_step - 1
    g = local_array(N_CONTACTS, float64)
    rounding = local_array(N_CONTACTS, float64)
    near = local_array(N_CONTACTS, float64)
    for i in range(N_CONTACTS):
        near[i] = m.gaps.near[i] if i != k else -math.inf  # contact k may be as near as it likes
    gaps = Gaps(g, g, near, rounding)
    due = due_phase(m)
    done = int64(0)
    while done < most:
        number = first_step + done
        if not keeps_contact(k, one, gaps, one.run.t0 + (number + 0.5) * one.run.dt, loaded):
            break
        if not goes_on(one.run, one.watch, one.motion, one.step, number, due):
            break
        note_depths(one)
        one.memory.last_loaded[0] = number - 1  # as it is under load: the translator shall know it
        work, _ = close_step(number, one.run.dt, one.directions, one.contacts, one.memory)
        book_work(one, number, work)
        done += 1
    if not loaded:
        one.memory.last_loaded[0] = last_loaded
    copy_motion(one.motion, m.motion)
    remember(k, one.memory, m.memory)
    for i in BOOKED:
        m.tally[i] = one.tally[i]
    m.tally[ITERATIONS] += float64(done)
    return done
