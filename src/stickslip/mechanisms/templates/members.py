"""Template: members of an ensemble, each a motion of its own through `march`, on the CPU and on a GPU.

Joined behind the template of the steppers: a member takes the steps that `simulate` takes, operation for operation.

A member is one row of float64: q, u, the memory of its contacts, where it stands, its energies, and its book with what
was watched behind it (`watch`).  Whole numbers in it are exact, since they stay far below 2^53.
"""

from stickslip.codes import (
    CONTACT,
    DONE,
    FIRST_WATCHED,
    LAW_OUT_OF_RANGE,
    LEVEL,
    MAX_PENETRATION,
    PENETRATES,
    START_NOT_FINITE,
    STEPS,
)
from stickslip.jit.gpu import thread, threads
from stickslip.jit.marks import dev, entry, float64, int64, local_array, rare
from stickslip.mechanisms.templates.march import march
from stickslip.mechanisms.templates.model import (
    DIRECTIONS_CONSTANT,
    KINDS,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    energy,
    gap,
    laws,
)
from stickslip.mechanisms.templates.watch import FIRST_POINT, note_impacts, read_extremes, watch_step, write_extremes

Q_OF_MEMBER = 0
U_OF_MEMBER = Q_OF_MEMBER + N_DOF
IMPULSE_BEFORE = U_OF_MEMBER + N_DOF
IMPULSE_SUM = IMPULSE_BEFORE + N_CONTACTS
LAST_LOADED = IMPULSE_SUM + 2 * N_CONTACTS
CARRIED = LAST_LOADED + N_CONTACTS
REACH_OF_MEMBER = CARRIED + 3 * N_CONTACTS
STATUS = REACH_OF_MEMBER + N_CONTACTS
ENERGY_START, ENERGY_END = STATUS + 1, STATUS + 3
BOOK_OF_MEMBER = STATUS + 5
STEPS_DONE = BOOK_OF_MEMBER + STEPS
ROW_SIZE = BOOK_OF_MEMBER + FIRST_POINT  # and the points of the section behind it
N_EVENTS = N_CONTACTS + 1
# Where matrices are constant, a step in flight is short: what solves contacts must not take its registers.  Elsewhere
# calls cost more than they save (measured on the woodpecker and the slider-crank).
RARE_ON_GPU = ("by_lcp", "sweep_contacts", "by_pair") if MASS_CONSTANT and DIRECTIONS_CONSTANT else ()


@dev
def judge_start(row, p, t0, depth, g, E):
    """Whether a member can start: a status, as `simulate` would refuse it before its first step."""
    mu = local_array(N_CONTACTS, float64)
    eps_N = local_array(N_CONTACTS, float64)
    eps_T = local_array(N_CONTACTS, float64)
    threshold = local_array(N_CONTACTS, float64)
    for j in range(2 * N_DOF):
        if not abs(row[j]) < 1e300:
            return int64(START_NOT_FINITE)
    laws(p, mu, eps_N, eps_T, threshold)
    for k in range(N_CONTACTS):
        if not (0.0 <= mu[k] < 1e300 and 0.0 <= threshold[k] < 1e300 and 0.0 <= eps_N[k] <= 1.0):
            return int64(LAW_OUT_OF_RANGE)
        if not 0.0 <= eps_T[k] <= 1.0:
            return int64(LAW_OUT_OF_RANGE)
    gap(row[:N_DOF], t0, p, g)
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and not -g[k] <= depth:
            return int64(PENETRATES)
        if KINDS[k] == CONTACT:
            row[BOOK_OF_MEMBER + MAX_PENETRATION] = max(row[BOOK_OF_MEMBER + MAX_PENETRATION], -g[k])
    energy(row[:N_DOF], row[U_OF_MEMBER : U_OF_MEMBER + N_DOF], t0, p, E)
    row[ENERGY_START] = E[0]
    row[ENERGY_START + 1] = E[1]
    return int64(DONE)


@dev
def advance(row, p, t0, dt, n_steps, sweeps, tol, depth):
    """Do the next n_steps steps of a member, unless it has failed."""
    g = local_array(N_CONTACTS, float64)
    E = local_array(2, float64)
    first_step = int64(row[STEPS_DONE])
    status = int64(row[STATUS])
    if first_step == 0 and status == DONE:
        status = judge_start(row, p, t0, depth, g, E)
        row[STATUS] = status
    if status != DONE:
        return
    rec_q = local_array((1, N_DOF), float64)
    rec_impulse = local_array((1, N_CONTACTS, 2), float64)
    rec_state = local_array((2, N_CONTACTS), int64)
    events = local_array((N_EVENTS, 8), float64)
    last_loaded = local_array(N_CONTACTS, int64)
    carried = local_array((N_CONTACTS, 3), float64)
    impulse_sum = local_array((N_CONTACTS, 2), float64)
    for k in range(N_CONTACTS):
        rec_state[0, k] = 0
        last_loaded[k] = int64(row[LAST_LOADED + k])
        for i in range(3):
            carried[k, i] = row[CARRIED + 3 * k + i]
        for i in range(2):
            impulse_sum[k, i] = row[IMPULSE_SUM + 2 * k + i]
    q = row[:N_DOF]
    u = row[U_OF_MEMBER : U_OF_MEMBER + N_DOF]
    book = row[BOOK_OF_MEMBER:]
    status, done, _, _ = march(
        q,
        u,
        p,
        t0,
        dt,
        n_steps,
        first_step + n_steps + 2,  # the next record lies behind the end: there is none
        sweeps,
        tol,
        rec_q,
        rec_q,
        rec_impulse,
        rec_state,
        row[IMPULSE_BEFORE:IMPULSE_SUM],
        impulse_sum,
        last_loaded,
        carried,
        row[REACH_OF_MEMBER:STATUS],
        events,
        int64(0),
        book,
    )
    for k in range(N_CONTACTS):
        row[LAST_LOADED + k] = float64(last_loaded[k])
        for i in range(3):
            row[CARRIED + 3 * k + i] = carried[k, i]
        for i in range(2):
            row[IMPULSE_SUM + 2 * k + i] = impulse_sum[k, i]
    row[STATUS] = status
    close_member(row, p, t0 + (first_step + done) * dt, g, E)


@dev
def close_member(row, p, t, g, E):
    """Energies and penetration where a member stands."""
    energy(row[:N_DOF], row[U_OF_MEMBER : U_OF_MEMBER + N_DOF], t, p, E)
    row[ENERGY_END] = E[0]
    row[ENERGY_END + 1] = E[1]
    gap(row[:N_DOF], t, p, g)
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and -g[k] > row[BOOK_OF_MEMBER + MAX_PENETRATION]:
            row[BOOK_OF_MEMBER + MAX_PENETRATION] = -g[k]


@rare
def advance_on_gpu(rows, P, n, t0, dt, n_steps, sweeps, tol, depth):
    """Advance n members, each by one thread; a thread takes several where there are more than the card runs at once."""
    i = thread()
    while i < n:
        advance(rows[i], P[i], t0, dt, n_steps, sweeps, tol, depth)
        i += threads()


@entry
def advance_members(rows, P, first, last, t0, dt, n_steps, sweeps, tol, depth):
    """Advance the members first .. last - 1."""
    for i in range(first, last):
        advance(rows[i], P[i], t0, dt, n_steps, sweeps, tol, depth)


@entry
def watch_rescued(row, p, t0, dt, step, q_A, u_A, states, events, n_events):
    """Watch a step that was done outside of the kernel, from (q_A, u_A) to the state in the row."""
    least = local_array((2, N_DOF), float64)
    largest = local_array((2, N_DOF), float64)
    g = local_array(N_CONTACTS, float64)
    E = local_array(2, float64)
    book = row[BOOK_OF_MEMBER:]
    q = row[:N_DOF]
    u = row[U_OF_MEMBER : U_OF_MEMBER + N_DOF]
    watching = step >= book[FIRST_WATCHED]
    struck = note_impacts(watching, events, n_events, book)
    if watching:
        read_extremes(book, least, largest)
        t_A = t0 + step * dt
        t_E = t0 + (step + 1) * dt
        watch_step(t0, t_A, t_E, dt, book[LEVEL], q_A, u_A, q, u, struck, states, least, largest, book)
        write_extremes(least, largest, book)
    close_member(row, p, t0 + (step + 1) * dt, g, E)
