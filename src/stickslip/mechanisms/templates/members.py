"""Template: members of an ensemble, each a motion of its own through `march`, on the CPU and on a GPU.

Joined behind the template of the steppers: a member takes the steps that `simulate` takes, operation for operation.

A member is one row of float64: q, u, the memory of its contacts, where it stands, its energies, and its book with what
was watched behind it (`watch`).  Whole numbers in it are exact, since they stay far below 2^53.
"""

from stickslip.codes import (
    CONSTRAINT,
    CONTACT,
    DONE,
    FIRST_WATCHED,
    LAW_OUT_OF_RANGE,
    LEVEL,
    MAX_PENETRATION,
    PENETRATES,
    START_NOT_FINITE,
    START_OFF,
    STEPS,
)
from stickslip.jit.gpu import thread, threads
from stickslip.jit.marks import dev, entry, float64, int64, local_array, rare
from stickslip.mechanisms.templates.judged import out_of_range
from stickslip.mechanisms.templates.march import march
from stickslip.mechanisms.templates.model import (
    DIRECTIONS_CONSTANT,
    FRICTION_LAWS,
    GATES,
    IMPACT_STEPS,
    KINDS,
    MASS_CONSTANT,
    N_CONTACTS,
    N_DOF,
    STAYS_ON_CARD,
    energy,
    gap,
)
from stickslip.mechanisms.templates.phases import times_of
from stickslip.mechanisms.templates.structs import Asked, Kept, Motion, Records, Run, Watch
from stickslip.mechanisms.templates.watch import FIRST_POINT, note_impacts, read_extremes, watch_step, write_extremes

Q_OF_MEMBER = 0
U_OF_MEMBER = Q_OF_MEMBER + N_DOF
IMPULSE_BEFORE = U_OF_MEMBER + N_DOF
LAST_LOADED = IMPULSE_BEFORE + N_CONTACTS
CARRIED = LAST_LOADED + N_CONTACTS
REACH_OF_MEMBER = CARRIED + 3 * N_CONTACTS
DRIFT_OF_MEMBER = REACH_OF_MEMBER + N_CONTACTS
STATUS = DRIFT_OF_MEMBER + N_CONTACTS
ENERGY_START, ENERGY_END = STATUS + 1, STATUS + 3
BOOK_OF_MEMBER = STATUS + 5
STEPS_DONE = BOOK_OF_MEMBER + STEPS
ROW_SIZE = BOOK_OF_MEMBER + FIRST_POINT  # and the points of the section behind it
N_EVENTS = N_CONTACTS + 1
T_START = 0.0  # [s], time of step 0
# Where matrices are constant, a step in flight is short: what solves contacts must not take its registers.  Elsewhere
# calls cost more than they save (measured on the woodpecker and the slider-crank).
RARE_ON_GPU = ("by_lcp", "sweep_contacts", "by_pair") if MASS_CONSTANT and DIRECTIONS_CONSTANT else ()
# The loops of flights and of lasting contacts need few registers, and more threads hide the latency of operations.
REGISTERS_ON_GPU = 168 if STAYS_ON_CARD else 255
CARRIES = FRICTION_LAWS or IMPACT_STEPS == 2  # whether contacts carry more than their load from step to step


@dev
def q_of(row):
    """Coordinates of a member."""
    return row[:N_DOF]


@dev
def u_of(row):
    """Velocities of a member."""
    return row[U_OF_MEMBER : U_OF_MEMBER + N_DOF]


@dev
def judge_start(row, p, depth, g, E):
    """Whether a member can start: a status, as `simulate` would refuse it before its first step."""
    for j in range(2 * N_DOF):
        if not abs(row[j]) < 1e300:
            return int64(START_NOT_FINITE)
    if out_of_range(p):
        return int64(LAW_OUT_OF_RANGE)
    gap(q_of(row), T_START, p, g)
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and not GATES[k] and not -g[k] <= depth:
            return int64(PENETRATES)
        if KINDS[k] >= CONSTRAINT and not abs(g[k]) <= depth:
            return int64(START_OFF)
        if KINDS[k] == CONTACT and not GATES[k]:
            row[BOOK_OF_MEMBER + MAX_PENETRATION] = max(row[BOOK_OF_MEMBER + MAX_PENETRATION], -g[k])
    energy(q_of(row), u_of(row), T_START, p, E)
    row[ENERGY_START] = E[0]
    row[ENERGY_START + 1] = E[1]
    return int64(DONE)


@dev
def read_member(row):
    """A member as a march takes it: whole numbers and tables are copied, the rest is its row itself."""
    last_loaded = local_array(N_CONTACTS, int64)
    carried = local_array((N_CONTACTS, 3), float64)
    for k in range(N_CONTACTS):
        last_loaded[k] = int64(row[LAST_LOADED + k])
        for i in range(3 if CARRIES else 0):
            carried[k, i] = row[CARRIED + 3 * k + i]
    return Kept(
        q=q_of(row),
        u=u_of(row),
        impulse_before=row[IMPULSE_BEFORE:LAST_LOADED],
        impulse_sum=local_array((N_CONTACTS, 2), float64),  # for records, of which members have none
        last_loaded=last_loaded,
        carried=carried,
        reach=row[REACH_OF_MEMBER:DRIFT_OF_MEMBER],
        drift=row[DRIFT_OF_MEMBER:STATUS],
        book=row[BOOK_OF_MEMBER:],
    )


@dev
def write_member(kept, row):
    """Put the copies of `read_member` back."""
    for k in range(N_CONTACTS):
        row[LAST_LOADED + k] = float64(kept.last_loaded[k])
        for i in range(3 if CARRIES else 0):
            row[CARRIED + 3 * k + i] = kept.carried[k, i]


@dev
def no_records():
    """Room for the contact states and impacts of one step: members have no records."""
    states = local_array((2, N_CONTACTS), int64)
    for k in range(N_CONTACTS):
        states[0, k] = 0
    q = local_array((1, N_DOF), float64)
    impulse = local_array((1, N_CONTACTS, 2), float64)
    return Records(q, q, impulse, states, local_array((N_EVENTS, 8), float64))


@dev
def advance(row, p, asked):
    """Do the next steps of a member, unless it has failed."""
    g = local_array(N_CONTACTS, float64)
    E = local_array(2, float64)
    first_step = int64(row[STEPS_DONE])
    status = int64(row[STATUS])
    if first_step == 0 and status == DONE:
        status = judge_start(row, p, asked.depth, g, E)
        row[STATUS] = status
    elif status == DONE and out_of_range(p):  # parameters may have been set since the last steps
        status = int64(LAW_OUT_OF_RANGE)
        row[STATUS] = status
    if status != DONE:
        return
    kept = read_member(row)
    run = Run(p, T_START, asked.dt, asked.sweeps, asked.tol)
    never = first_step + asked.n_steps + 2  # the next record lies behind the end: there is none
    status, done, _, _ = march(run, kept, no_records(), asked.n_steps, never)
    write_member(kept, row)
    row[STATUS] = status
    close_member(row, p, T_START + (first_step + done) * asked.dt, g, E)


@dev
def close_member(row, p, t, g, E):
    """Energies and penetration where a member stands."""
    energy(q_of(row), u_of(row), t, p, E)
    row[ENERGY_END] = E[0]
    row[ENERGY_END + 1] = E[1]
    gap(q_of(row), t, p, g)
    for k in range(N_CONTACTS):
        if KINDS[k] == CONTACT and not GATES[k] and -g[k] > row[BOOK_OF_MEMBER + MAX_PENETRATION]:
            row[BOOK_OF_MEMBER + MAX_PENETRATION] = -g[k]


@rare
def advance_on_gpu(rows, P, n, dt, n_steps, sweeps, tol, depth):
    """Advance n members, each by one thread; a thread takes several where there are more than the card runs at once."""
    asked = Asked(dt, n_steps, sweeps, tol, depth)
    i = thread()
    while i < n:
        advance(rows[i], P[i], asked)
        i += threads()


@entry
def advance_members(rows, P, asked):
    """Advance members, a row of `rows` and of the parameters P each."""
    for i in range(rows.shape[0]):
        advance(rows[i], P[i], asked)


@entry
def watch_rescued(row, p, dt, step, begin, states, events, n_events):
    """Watch a step that was done outside of the kernel, from the motion `begin` to the state in the row."""
    least = local_array((2, N_DOF), float64)
    largest = local_array((2, N_DOF), float64)
    g = local_array(N_CONTACTS, float64)
    E = local_array(2, float64)
    book = row[BOOK_OF_MEMBER:]
    watch = Watch(int64(book[FIRST_WATCHED]), book[LEVEL], least, largest, begin.q, begin.u)
    run = Run(p, T_START, dt, 0, 0.0)
    times = times_of(run, step)
    watching = step >= watch.first
    struck = note_impacts(watching, events, n_events, book)
    if watching:
        read_extremes(book, watch)
        watch_step(run, times, watch, Motion(q_of(row), u_of(row)), struck, states, book)
        write_extremes(watch, book)
    close_member(row, p, times.E, g, E)
