"""Template: what the members of an ensemble are asked for: passages of a section, extremes, shares of time."""

import math

from stickslip.codes import (
    CYCLE,
    FALLS,
    IMPACTS,
    LONGEST,
    N_POINTS,
    N_STATES,
    NO_SECTION,
    PASSAGES,
    PHASE,
    PHASES,
    RISES,
    SHORTEST,
    STRIKES,
    TIME_FIRST,
    TIME_LAST,
    TRAVEL,
    TRAVEL_FIRST,
    TRAVEL_LAST,
)
from stickslip.jit.marks import dev, int64, rare
from stickslip.mechanisms.templates.model import EXTREMES, N_CONTACTS, N_DOF, PLACE, SECTION, SHARES

LEAST = IMPACTS + N_CONTACTS  # of q, u; then the largest, the steps in each contact state, the points of the section
LARGEST_SEEN = LEAST + 2 * N_DOF
STEPS_IN = LARGEST_SEEN + 2 * N_DOF
FIRST_POINT = STEPS_IN + N_STATES * N_CONTACTS
POINT_SIZE = 1 + 2 * N_DOF


@dev
def section_value(q, u, level):
    """Signed distance from the section, whose coordinate or velocity is known when compiling."""
    return (q[PLACE] if PLACE < N_DOF else u[PLACE - N_DOF]) - level


@dev
def passes(x_A, x_E):
    """Whether a step passes the section from its positive side, or from its negative one."""
    if SECTION == RISES:
        return x_A < 0.0 and x_E >= 0.0
    return x_A > 0.0 and x_E <= 0.0


@dev
def between(s, h, x_A, x_E, v_A, v_E):
    """Cubic polynomial with values x and slopes v at both ends of a step h, at the part s of it."""
    rest = 1.0 - s
    return rest * rest * (1.0 + 2.0 * s) * x_A + s * s * (3.0 - 2.0 * s) * x_E + s * rest * h * (rest * v_A - s * v_E)


@dev
def part_of_step(dt, x_A, x_E, v_A, v_E):
    """The part of a step after which x passes zero: bisection, since slopes jump where contacts close."""
    if PLACE >= N_DOF:
        return x_A / (x_A - x_E)
    low = 0.0
    high = 1.0
    for _ in range(53):
        middle = 0.5 * (low + high)
        if between(middle, dt, x_A, x_E, v_A, v_E) * x_A > 0.0:
            low = middle
        else:
            high = middle
    return high


@dev
def place_between(s, dt, watch, motion, j):
    """Coordinate j at the part s of the step that began at `watch.q_A`."""
    return between(s, dt, watch.q_A[j], motion.q[j], watch.u_A[j], motion.u[j])


@dev
def keep_point(s, time, dt, watch, motion, book):
    """Keep a passage as a point; a ring of points holds the last ones."""
    room = int64(book[N_POINTS])
    if room > 0:
        begin = FIRST_POINT + POINT_SIZE * (int64(book[PASSAGES]) % room)
        book[begin] = time
        for j in range(N_DOF):
            book[begin + 1 + j] = place_between(s, dt, watch, motion, j)
            book[begin + 1 + N_DOF + j] = (1.0 - s) * watch.u_A[j] + s * motion.u[j]


@rare
def note_passage(s, t_A, dt, watch, motion, book):
    """Book a passage of the section at the part s of the step that has ended at `motion`; keep it as a point."""
    time = t_A + s * dt
    count = int64(book[PASSAGES])
    way = 0.0
    for j in range(N_DOF):
        if j == int64(book[TRAVEL]):
            way = place_between(s, dt, watch, motion, j)
    if count == 0:
        book[TIME_FIRST] = time
        book[TRAVEL_FIRST] = way
        book[SHORTEST] = math.inf
        book[LONGEST] = 0.0
    else:
        book[SHORTEST] = min(book[SHORTEST], time - book[TIME_LAST])
        book[LONGEST] = max(book[LONGEST], time - book[TIME_LAST])
    book[TIME_LAST] = time
    book[TRAVEL_LAST] = way
    keep_point(s, time, dt, watch, motion, book)
    book[PASSAGES] = count + 1


@dev
def note_impacts(watching, events, n_events, book):
    """Count the impacts of a step by contact; whether that of the section is among them."""
    passed = False
    for i in range(n_events):
        k = int64(events[i, 1])
        if watching:
            book[IMPACTS + k] += 1.0
            passed = passed or (SECTION == STRIKES and k == PLACE)
    return passed


@dev
def read_extremes(book, watch):
    """Least and largest coordinates and velocities so far."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                watch.least[i, j] = book[LEAST + N_DOF * i + j]
                watch.largest[i, j] = book[LARGEST_SEEN + N_DOF * i + j]


@dev
def write_extremes(watch, book):
    """Put them back: inside the loop they are in registers."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                book[LEAST + N_DOF * i + j] = watch.least[i, j]
                book[LARGEST_SEEN + N_DOF * i + j] = watch.largest[i, j]


@dev
def note_extremes(q, u, watch):
    """Take a state into the least and largest coordinates and velocities."""
    for j in range(N_DOF):
        watch.least[0, j] = min(watch.least[0, j], q[j])
        watch.least[1, j] = min(watch.least[1, j], u[j])
        watch.largest[0, j] = max(watch.largest[0, j], q[j])
        watch.largest[1, j] = max(watch.largest[1, j], u[j])


@dev
def remember_begin(watch, motion):
    """Keep the state in which a step begins, where a section is looked for."""
    if SECTION != NO_SECTION:
        for j in range(N_DOF):
            watch.q_A[j] = motion.q[j]
            watch.u_A[j] = motion.u[j]


@dev
def watch_section(run, times, watch, motion, struck, book):
    """Book the section where the step passes it."""
    q_A, u_A, q, u = watch.q_A, watch.u_A, motion.q, motion.u
    if SECTION in (FALLS, RISES):
        x_A = section_value(q_A, u_A, watch.level)
        x_E = section_value(q, u, watch.level)
        if passes(x_A, x_E):
            s = part_of_step(run.dt, x_A, x_E, section_value(u_A, u_A, 0.0), section_value(u, u, 0.0))
            note_passage(s, times.A, run.dt, watch, motion, book)
    elif SECTION == STRIKES:
        if struck:
            note_passage(1.0, times.A, run.dt, watch, motion, book)
    elif SECTION == PHASE:
        due = run.t0 + (book[PHASES] + 1.0) * book[CYCLE]
        if times.E >= due:
            book[PHASES] += 1.0
            note_passage((due - times.A) / run.dt, times.A, run.dt, watch, motion, book)


@dev
def watch_step(run, times, watch, motion, struck, states, book):
    """Observations of a member of an ensemble, after a step that has ended at `motion`."""
    watch_section(run, times, watch, motion, struck, book)
    if EXTREMES:
        note_extremes(motion.q, motion.u, watch)
    if SHARES:
        for k in range(N_CONTACTS):
            book[STEPS_IN + N_STATES * k + int64(states[k])] += 1.0
