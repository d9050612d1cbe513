"""Template: what the members of an ensemble are asked for: passages of a section, extremes, shares of time."""

import math

from stickslip.codes import (
    CYCLE,
    FALLS,
    IMPACTS,
    LONGEST,
    N_POINTS,
    N_STATES,
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


@rare
def note_passage(s, t_A, dt, q_A, u_A, q, u, book):
    """Book a passage of the section at the part s of the step from (q_A, u_A) to (q, u); keep it as a point."""
    time = t_A + s * dt
    count = int64(book[PASSAGES])
    way = 0.0
    for j in range(N_DOF):
        if j == int64(book[TRAVEL]):
            way = between(s, dt, q_A[j], q[j], u_A[j], u[j])
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
    book[PASSAGES] = count + 1
    room = int64(book[N_POINTS])
    if room > 0:
        begin = FIRST_POINT + POINT_SIZE * (count % room)
        book[begin] = time
        for j in range(N_DOF):
            book[begin + 1 + j] = between(s, dt, q_A[j], q[j], u_A[j], u[j])
            book[begin + 1 + N_DOF + j] = (1.0 - s) * u_A[j] + s * u[j]


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
def read_extremes(book, least, largest):
    """Least and largest coordinates and velocities so far."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                least[i, j] = book[LEAST + N_DOF * i + j]
                largest[i, j] = book[LARGEST_SEEN + N_DOF * i + j]


@dev
def write_extremes(least, largest, book):
    """Put them back: inside the loop they are in registers."""
    if EXTREMES:
        for j in range(N_DOF):
            for i in range(2):
                book[LEAST + N_DOF * i + j] = least[i, j]
                book[LARGEST_SEEN + N_DOF * i + j] = largest[i, j]


@dev
def note_extremes(q, u, least, largest):
    """Take a state into the least and largest coordinates and velocities."""
    for j in range(N_DOF):
        least[0, j] = min(least[0, j], q[j])
        least[1, j] = min(least[1, j], u[j])
        largest[0, j] = max(largest[0, j], q[j])
        largest[1, j] = max(largest[1, j], u[j])


@dev
def watch_step(t0, t_A, t_E, dt, level, q_A, u_A, q, u, struck, states, least, largest, book):
    """What a member of an ensemble is asked for, after the step from (q_A, u_A) to (q, u)."""
    if SECTION == FALLS or SECTION == RISES:  # noqa: SIM109
        x_A = section_value(q_A, u_A, level)
        x_E = section_value(q, u, level)
        if passes(x_A, x_E):
            part = part_of_step(dt, x_A, x_E, section_value(u_A, u_A, 0.0), section_value(u, u, 0.0))
            note_passage(part, t_A, dt, q_A, u_A, q, u, book)
    elif SECTION == STRIKES:
        if struck:
            note_passage(1.0, t_A, dt, q_A, u_A, q, u, book)
    elif SECTION == PHASE:
        due = t0 + (book[PHASES] + 1.0) * book[CYCLE]
        if t_E >= due:
            book[PHASES] += 1.0
            note_passage((due - t_A) / dt, t_A, dt, q_A, u_A, q, u, book)
    if EXTREMES:
        note_extremes(q, u, least, largest)
    if SHARES:
        for k in range(N_CONTACTS):
            book[STEPS_IN + N_STATES * k + int64(states[k])] += 1.0
