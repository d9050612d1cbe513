"""Template: the time steppers as one compiled loop, Moreau's midpoint rule [GS05] 5 first of all."""

import math

import numpy as np

from stickslip.codes import (
    AUTO,
    BLOWN_UP,
    CONTACT_WORK,
    CULPRIT,
    DONE,
    EVENTS_FULL,
    FALLBACKS,
    FIRST_WATCHED,
    FRICTION_ROUNDS,
    GAIN_STEP,
    GAP_NOT_A_NUMBER,
    GAUSS_SEIDEL,
    ITERATIONS,
    LEVEL,
    MASS_INDEFINITE,
    MAX_ENERGY_GAIN,
    MAX_LCP_SIZE,
    MAX_PENETRATION,
    MAX_RESIDUAL,
    MIDPOINT,
    NO_SECTION,
    OPEN,
    PAOLI,
    SIZES_LAST,
    STEPS,
    STEWART,
    THETA,
    UNSOLVED,
    WORK_BEFORE,
)
from stickslip.jit.marks import entry, float64, int64, local_array
from stickslip.laws.slip import EARLY, UNSET
from stickslip.mechanisms.templates.contacts import AUTO_SWEEPS, by_lcp, gauss_seidel, prepare_contacts
from stickslip.mechanisms.templates.events import close_step, copy_memory, label_contacts, may_strike, record
from stickslip.mechanisms.templates.flight import FLIGHT, fly
from stickslip.mechanisms.templates.mass import bounded, contact_row, factor_mass, free_velocity, invert_mass
from stickslip.mechanisms.templates.model import (
    CENTRED,
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
    N_LCP,
    N_LCP_COLUMNS,
    N_PARAMETERS,
    PAIRS,
    PASSES,
    PROJECTION,
    SCHEME,
    SECTION,
    SHARES,
    SOLVER,
    THETA_VALUE,
    WATCHED,
    dynamics,
    energy,
    gap,
    geometry,
    laws,
    mass,
)
from stickslip.mechanisms.templates.pairs import by_pair, undo
from stickslip.mechanisms.templates.phases import begin_step, free_motion
from stickslip.mechanisms.templates.projection import book_projection, penetration, total_energy
from stickslip.mechanisms.templates.residual import step_residual
from stickslip.mechanisms.templates.schemes import (
    correction_of,
    find_active,
    find_closing,
    judge_gaps,
    reach_at_start,
    settled,
    take_sizes,
)
from stickslip.mechanisms.templates.slip import begin_friction, next_friction, remember_slip
from stickslip.mechanisms.templates.watch import note_impacts, read_extremes, watch_step, write_extremes


@entry
def march(
    q_,
    u_,
    p_,
    t0,
    dt,
    n_steps,
    every,
    sweeps,
    tol,
    rec_q,
    rec_u,
    rec_impulse,
    rec_state,
    impulse_before,
    impulse_sum,
    last_loaded_,
    carried_,
    reach_,
    events,
    n_events,
    book,
):
    """Do the next n_steps steps; return (status, steps done, events, records).

    State (q_, u_), the memory of the contacts (impulse_before, impulse_sum, last_loaded_, carried_, reach_) and the
    book with its clock book[STEPS] are updated in place, so that a call with the remaining steps goes on as if there
    had been none in between.
    The third column of carried_, which friction laws read, has 1 where a contact sticks.
    """
    first_step = int64(book[STEPS])
    q = local_array(N_DOF, float64)
    u = local_array(N_DOF, float64)
    p = local_array(N_PARAMETERS, float64)
    for j in range(N_DOF):
        q[j] = q_[j]
        u[j] = u_[j]
    for j in range(N_PARAMETERS):  # a bound known when compiling, so that a GPU keeps them in registers
        if j < p_.shape[0]:
            p[j] = p_[j]
    q_C = local_array(N_DOF, float64)  # where the contacts are evaluated
    v = local_array(N_DOF, float64)
    v_free = local_array(N_DOF, float64)
    h = local_array(N_DOF, float64)
    dv = local_array(N_DOF, float64)
    M = local_array((N_DOF, N_DOF), float64)
    inverse = local_array((N_DOF, N_DOF), float64)
    g = local_array(N_CONTACTS, float64)
    active = local_array(N_CONTACTS, int64)
    last_loaded = local_array(N_CONTACTS, int64)
    W_N = local_array((N_CONTACTS, N_DOF), float64)
    W_T = local_array((N_CONTACTS, N_DOF), float64)
    V_N = local_array((N_CONTACTS, N_DOF), float64)
    V_T = local_array((N_CONTACTS, N_DOF), float64)
    w_hat = local_array((N_CONTACTS, 2), float64)
    diagonal = local_array((N_CONTACTS, 3), float64)
    offset = local_array((N_CONTACTS, 2), float64)
    size = local_array((N_CONTACTS, 3), float64)  # of gamma_N, of gamma_T; and what the forces do to gamma_N
    gamma_A = local_array((N_CONTACTS, 2), float64)
    gamma_E = local_array((N_CONTACTS, 2), float64)
    change = local_array(N_DOF, float64)
    Lambda = local_array((N_CONTACTS, 2), float64)
    mu = local_array(N_CONTACTS, float64)
    eps_N = local_array(N_CONTACTS, float64)
    eps_T = local_array(N_CONTACTS, float64)
    threshold = local_array(N_CONTACTS, float64)
    a = local_array(N_CONTACTS, float64)
    kinds = local_array(N_CONTACTS, int64)
    N_before = local_array(N_CONTACTS, float64)
    total = local_array((N_CONTACTS, 2), float64)
    reach = local_array(N_CONTACTS, float64)
    near = local_array(N_CONTACTS, float64)
    rounding = local_array(N_CONTACTS, float64)
    g_before = local_array(N_CONTACTS, float64)
    carried = local_array((N_CONTACTS, 2), float64)
    if SCHEME != MIDPOINT:
        q_E = local_array(N_DOF, float64)
        v_last = local_array(N_DOF, float64)
        h_A = local_array(N_DOF, float64)
        weight = local_array(N_DOF, float64)
        inertia = local_array((N_DOF, N_DOF), float64)
        K = local_array((N_DOF, N_DOF), float64)
        C = local_array((N_DOF, N_DOF), float64)
        work_h = local_array((2, N_DOF), float64)
        ends = (q_E, v_last, h_A, inertia, K, C, work_h)
    else:
        ends = 0
    if PROJECTION > 0.0:
        projecting = (local_array(N_CONTACTS, float64), local_array(N_DOF, float64), local_array(2, float64))
    if WATCHED:
        q_A = local_array(N_DOF, float64)
        u_A = local_array(N_DOF, float64)
        least = local_array((2, N_DOF), float64)
        largest = local_array((2, N_DOF), float64)
        first_watched = int64(book[FIRST_WATCHED])
        level = book[LEVEL]
        read_extremes(book, least, largest)
        watch = (first_watched, level, least, largest)
    else:
        watch = 0
    if SOLVER != GAUSS_SEIDEL:
        lcp = (
            local_array((N_LCP, N_LCP_COLUMNS), float64),  # A, and the covering vector behind it
            local_array(N_LCP, float64),  # b
            local_array(N_LCP, float64),  # x
            local_array(N_LCP, float64),  # y
            local_array(N_LCP, float64),  # scale
            local_array(N_LCP, int64),  # rows
            local_array(N_LCP, int64),  # part
            local_array(N_LCP, int64),  # basis
            local_array(N_LCP_COLUMNS, int64),  # nonbasic
            local_array(N_LCP, int64),  # row of y_j
            local_array(N_LCP, int64),  # column of y_j
        )
    else:
        lcp = 0
    if FRICTION_LAWS:
        sticks = local_array(N_CONTACTS, float64)
        sliding = (
            local_array(N_CONTACTS, int64),  # mode
            local_array(N_CONTACTS, int64),  # grab
            local_array(N_CONTACTS, float64),  # speed
            local_array(N_CONTACTS, float64),  # end
            local_array(N_CONTACTS, float64),  # speed_before
            local_array(N_CONTACTS, float64),  # end_before
            local_array(N_CONTACTS, float64),  # mu_end
            local_array(N_CONTACTS, float64),  # static
            local_array(N_CONTACTS, float64),  # low
            local_array(N_CONTACTS, float64),  # high
        )
    directions = (W_N, W_T, w_hat, V_N, V_T, diagonal)
    law = (mu, eps_N, eps_T, a)
    local = (active, kinds, offset, size, gamma_A, gamma_E, Lambda)
    memory = (last_loaded, N_before, total, reach)
    kept = (last_loaded_, impulse_before, impulse_sum, reach_, carried_)
    free = (q_C, v, h, dv, M, inverse)

    laws(p, mu, eps_N, eps_T, threshold)
    copy_memory(kept, (*memory, carried))
    for k in range(N_CONTACTS):
        kinds[k] = KINDS[k]
        a[k] = threshold[k] * dt
        if FRICTION_LAWS:
            sticks[k] = carried_[k, 2]
            sliding[7][k] = mu[k]
    if MASS_CONSTANT:
        mass(q, t0, p, M)
        if not factor_mass(M):
            return MASS_INDEFINITE, int64(0), n_events, int64(0)
        invert_mass(M, inverse)
        if IMPLICIT:
            mass(q, t0, p, inertia)
    if DIRECTIONS_CONSTANT:
        geometry(q, t0, p, W_N, W_T, w_hat)
        for k in range(N_CONTACTS):
            contact_row(k, M, directions)

    status = int64(DONE)
    records = int64(0)
    done = int64(0)
    countdown = every - first_step % every
    in_contact = True  # something in the memory of the contacts may have to be cleared
    worst_residual = book[MAX_RESIDUAL]
    deepest = book[MAX_PENETRATION]
    largest_gain = book[MAX_ENERGY_GAIN]
    largest_lcp = int64(book[MAX_LCP_SIZE])
    effort = int64(0)
    contact_work = book[CONTACT_WORK]  # one sum over the run: the same however a run is cut into calls
    work_before = book[WORK_BEFORE]
    last_step = first_step + n_steps - 1
    if PROJECTION > 0.0:
        energy_A = total_energy(q, u, t0 + first_step * dt, p, projecting[2])
    step = first_step
    if first_step == 0 and not LASTING and SCHEME != PAOLI:
        reach_at_start(q, u, p, t0, dt, reach)
    sizes_until = first_step
    while step <= last_step:
        if SCHEME != PAOLI:  # noqa: SIM102 (conditions on constants stand alone)
            if step >= sizes_until:
                for j in range(N_DOF):
                    q_C[j] = q[j] + 0.5 * dt * u[j]
                take_sizes(q_C, t0 + (step + 0.5) * dt, p, near, rounding)
                sizes_until = step + SIZES_LAST
        if FLIES:  # noqa: SIM102 (conditions on constants stand alone)
            if not in_contact and countdown > 1:
                most = min(min(last_step + 1 - step, countdown - 1), FLIGHT)
                flown = fly(q, u, p, inverse, t0, dt, step, most, near, watch, book)
                step += flown
                done += flown
                countdown -= flown
                if flown == most:
                    continue
        t_A = t0 + step * dt
        t_M = t0 + (step + 0.5) * dt  # [GS05] 5, step 1
        t_E = t0 + (step + 1) * dt
        if SCHEME == MIDPOINT:
            for j in range(N_DOF):
                q_C[j] = q[j] + 0.5 * dt * u[j]  # step 2
            dynamics(q_C, u, t_M, p, M, h, g)  # step 3 (a), (b)
        else:
            status = begin_step(q, u, p, t0, step, dt, free, g, g_before, carried, directions, ends)
            if status != DONE:
                break
        if IMPLICIT:
            for j in range(N_DOF):
                weight[j] = inertia[j, j]
        if SCHEME == STEWART:
            judge_gaps(q_E, t_E, p, g, reach, near, rounding)
        elif SCHEME != PAOLI:
            judge_gaps(q_C, t_M, p, g, reach, near, rounding)
        closed = int64(0)
        newcomers = False
        correction = math.inf
        iterations = int64(0)
        if FRICTION_LAWS:
            moved = False
            defect = 0.0
            rounds = int64(0)
            for k in range(N_CONTACTS):
                sliding[0][k] = UNSET
                sliding[2][k] = 0.0
                sliding[3][k] = 0.0
        for count in range(PASSES):
            if IMPLICIT:
                for j in range(N_DOF):
                    v_last[j] = v[j]
            if SCHEME != MIDPOINT:
                status = free_motion(count, q, u, p, t_E, dt, free, g, ends)
                if status != DONE:
                    break
            elif FRICTION_LAWS and count > 0:  # another round with the same forces
                for j in range(N_DOF):
                    v[j] = u[j] + dv[j]
            else:
                if not MASS_CONSTANT and not factor_mass(M):
                    status = int64(MASS_INDEFINITE)
                    break
                free_velocity(u, dt, M, inverse, h, dv, v)
                if not bounded(v):
                    status = int64(BLOWN_UP)
                    break
            if SCHEME == PAOLI:
                closed, newcomers = find_closing(count == 0, g, g_before, eps_N, carried, kinds, active)
            else:
                closed = find_active(g, rounding, reach, kinds, active)
            if closed < 0:
                status = GAP_NOT_A_NUMBER
                book[CULPRIT] = -1 - closed
                break
            if closed > 0:
                if not DIRECTIONS_CONSTANT:
                    geometry(q_C, t_M if CENTRED else t_A, p, W_N, W_T, w_hat)  # step 3 (c)
                ahead = v_last if SCHEME == PAOLI else u
                deepest = prepare_contacts(
                    M,
                    directions,
                    law,
                    local,
                    dt,
                    u,
                    dv,
                    v,
                    v_free,
                    change,
                    g,
                    deepest,
                    ahead,
                    g_before,
                    reach,
                    rounding,
                )
                if FRICTION_LAWS:
                    begin_friction(p, mu, local, sticks, sliding)
                # step 4, the contact problem [GS05] eqs. (12), (17); in a function of its own it costs a fifth of the
                # speed
                residual = math.inf
                if PAIRS:  # noqa: SIM102 (conditions on constants stand alone)
                    if closed == 2:
                        iterations = by_pair(active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v_free, v, Lambda)
                        if iterations > 0:
                            residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                        if not residual <= tol:
                            undo(Lambda, v_free, v)
                if SOLVER == GAUSS_SEIDEL or (SOLVER == AUTO and not residual <= tol):
                    limit = sweeps if SOLVER == GAUSS_SEIDEL else int64(AUTO_SWEEPS)
                    iterations = gauss_seidel(closed, directions, law, local, change, dv, v_free, v, limit)
                    if SOLVER == GAUSS_SEIDEL or iterations >= 0:
                        residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                if SOLVER != GAUSS_SEIDEL and (SOLVER != AUTO or iterations < 0 or residual > tol):
                    for j in range(N_DOF):
                        v[j] = v_free[j]
                    iterations = by_lcp(
                        active, diagonal, W_N, W_T, V_N, V_T, offset, mu, a, v_free, v, Lambda, lcp, 1e-9
                    )
                    residual = math.inf
                    if iterations >= 0:
                        residual = step_residual(directions, law, local, change, dv, v, worst_residual)
                    if SOLVER == AUTO:
                        book[FALLBACKS] += 1.0
                effort += abs(iterations)
                if not residual <= tol:
                    status = UNSOLVED
                    break
                worst_residual = residual
            if IMPLICIT:
                before = correction
                correction = correction_of(v, v_last, u, dv, weight, q, dt)
                if settled(correction, before) and not newcomers:
                    if not FRICTION_LAWS:
                        break
                    if closed > 0:
                        moved, defect = next_friction(
                            p, directions, mu, a, local, change, sliding, book, rounds >= EARLY
                        )
                        rounds += 1
                    if not moved:
                        break
                    correction = math.inf
                if SCHEME == STEWART:
                    for j in range(N_DOF):
                        q_E[j] = q[j] + dt * v[j]
            elif FRICTION_LAWS:
                if closed > 0:
                    moved, defect = next_friction(p, directions, mu, a, local, change, sliding, book, rounds >= EARLY)
                    rounds += 1
                if not moved:
                    break
        if FRICTION_LAWS:
            if status == DONE and moved:
                status = UNSOLVED
            worst_residual = max(worst_residual, defect) if status == DONE else worst_residual
            book[FRICTION_ROUNDS] = max(book[FRICTION_ROUNDS], float64(rounds))
        if status != DONE:
            break
        if IMPLICIT:
            if not correction <= tol:
                status = UNSOLVED
                break
            worst_residual = max(worst_residual, correction)
        if FRICTION_LAWS:
            remember_slip(closed, directions, change, local, a, sticks, sliding)
        if IMPACT_STEPS == 2 and closed > 0:  # the sums were solved for, of which this step adds what is new
            for k in range(N_CONTACTS):
                Lambda[k, 0] -= carried[k, 0]
                Lambda[k, 1] -= carried[k, 1]
        if SECTION != NO_SECTION:
            for j in range(N_DOF):
                q_A[j] = q[j]
                u_A[j] = u[j]
        for j in range(N_DOF):
            if SCHEME == MIDPOINT:
                q[j] = q_C[j] + 0.5 * dt * v[j]  # step 5
            elif SCHEME == THETA:
                q[j] += dt * (THETA_VALUE * v[j] + (1.0 - THETA_VALUE) * u[j])
            else:
                q[j] += dt * v[j]
            u[j] = v[j]
        done += 1

        work = 0.0
        struck = False
        if closed > 0:
            in_contact = True
            # states are kept with the records alone
            if (
                SHARES
                or IMPACT_STEPS == 2
                or countdown == 1
                or step == last_step
                or may_strike(step, local, last_loaded)
            ):
                n_events, begins = label_contacts(
                    step,
                    t_E,
                    directions,
                    mu,
                    a,
                    local,
                    change,
                    dv,
                    last_loaded,
                    N_before,
                    rec_state[records],
                    events,
                    n_events,
                )
                if WATCHED:
                    struck = note_impacts(step >= first_watched, events, n_events, book)
                    n_events = int64(0)
            if IMPACT_STEPS == 2:
                for k in range(N_CONTACTS):
                    carried[k, 0] = Lambda[k, 0] if begins else 0.0
                    carried[k, 1] = Lambda[k, 1] if begins else 0.0
            work, rows = close_step(step, dt, diagonal, local, memory)
            contact_work += work
            largest_lcp = max(largest_lcp, rows)
            gain = work
            if IMPACT_STEPS == 2:  # the first step of an impact takes what the second gives back
                gain += min(0.0, work_before)
                work_before = work
            if gain > largest_gain:
                largest_gain = gain
                book[GAIN_STEP] = step + 1
        elif in_contact:
            in_contact = False
            work_before = 0.0
            for k in range(N_CONTACTS):
                rec_state[records, k] = OPEN
                N_before[k] = 0.0
                reach[k] = 0.0
        if PROJECTION > 0.0:
            energy_A = book_projection(q, u, p, t_E, M, g, directions, energy_A, work, projecting, book)
            deepest = penetration(g, kinds, deepest)
        elif not CENTRED and closed > 0:
            gap(q, t_E, p, g)
            deepest = penetration(g, kinds, deepest)
        if WATCHED:  # noqa: SIM102 (conditions on constants stand alone)
            if step >= first_watched:
                watch_step(t0, t_A, t_E, dt, level, q_A, u_A, q, u, struck, rec_state[records], least, largest, book)
        countdown -= 1
        if countdown == 0:
            countdown = every
            record(q, u, total, rec_q, rec_u, rec_impulse, rec_state, records)
            records += 1
        step += 1
        if n_events > events.shape[0] - N_CONTACTS:
            status = EVENTS_FULL
            break

    book[STEPS] = float64(first_step + done)
    book[MAX_RESIDUAL] = worst_residual
    book[MAX_PENETRATION] = deepest
    book[MAX_ENERGY_GAIN] = largest_gain
    book[MAX_LCP_SIZE] = float64(largest_lcp)
    book[ITERATIONS] += effort
    book[CONTACT_WORK] = contact_work
    book[WORK_BEFORE] = work_before
    if WATCHED:
        write_extremes(least, largest, book)
    for j in range(N_DOF):
        q_[j] = q[j]
        u_[j] = u[j]
    copy_memory((*memory, carried), kept)
    if FRICTION_LAWS:
        for k in range(N_CONTACTS):
            carried_[k, 2] = sticks[k]
    return status, done, n_events, records


@entry
def measure(Q, U, T, p, gaps, kinetic_potential):
    """Gaps and energies of records, for the trajectory."""
    E = np.empty(2)
    for i in range(Q.shape[0]):
        gap(Q[i], T[i], p, gaps[i])
        energy(Q[i], U[i], T[i], p, E)
        kinetic_potential[i, 0] = E[0]
        kinetic_potential[i, 1] = E[1]
