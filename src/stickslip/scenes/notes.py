"""Notes of a step: impulses, states, gaps and impacts of bodies, their energies, and rows of the records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.codes import MAX_PENETRATION, PAOLI
from stickslip.jit import entry, kernel
from stickslip.scenes.blows import tangential_size
from stickslip.scenes.islands.problem import LEFT, approach, contact_velocity, was_held, world_impulse
from stickslip.scenes.islands.rolling import resists, turn_in_world, turn_work
from stickslip.scenes.islands.row_kinds import ARMATURE, PRISMATIC, SPRING
from stickslip.scenes.islands.slips import gap_beyond
from stickslip.scenes.layout import MOVING, Active, Bodies, Book, Contacts, Geoms, Options
from stickslip.scenes.open_shares import any_open
from stickslip.scenes.parts import (
    ACTIVE,
    CREEP,
    CREEP_SPEED,
    LAST_SPEED,
    LOADS_NOW,
    NORMALS_NOW,
    OPEN_LOADS,
    OPEN_NORMALS,
    POINTS,
    Diary,
    Records,
)
from stickslip.scenes.rotation import compose, times, to_world, world_matrix, z_axis

OPEN, STICK, SLIP, IMPACT, CLOSED = 0, 1, 2, 4, 5  # as in stickslip.trajectory
INSIDE = 1.0 - 1e-6  # of the bound of friction: less than that sticks
NEARLY = 1e3  # times the gap that counts as closed: a fourth corner so near carries load, or hovers, by chance
FANNED = 1e-3  # slips of points that differ in direction by less [rad] brake alike, whichever carries the load
ONE_WAY = 1.0 - 1e-9  # cosine of the angle between the normals of points of one face


@kernel
def largest_speed(active: Active, n: int) -> float:
    """Largest |gamma| of the n active contacts before the step, sum norm [m/s]."""
    largest = 0.0
    for i in range(n):
        v = active.before[i]
        largest = max(largest, abs(v[0]) + abs(v[1]) + abs(v[2]))
    return largest


@kernel
def note_gaps(contacts: Contacts, geoms: Geoms, points: int, diary: Diary) -> None:
    """Deepest penetration and smallest gap of each body; the impulses become zero."""
    book = diary.book
    for k in range(book.gap.shape[0]):
        book.state[k] = OPEN
        book.gap[k] = np.inf
    for c in range(points):
        book.numbers[MAX_PENETRATION] = max(book.numbers[MAX_PENETRATION], -contacts.gap[c])
        for geom in (contacts.pair[c, 0], contacts.pair[c, 1]):
            k = diary.channel[geoms.owner[geom]]
            if k >= 0:
                book.gap[k] = min(book.gap[k], contacts.gap[c])
    for c in range(points):
        p = contacts.impulse[c]
        p[0], p[1], p[2] = 0.0, 0.0, 0.0
        turned = contacts.turned[c]
        turned[0], turned[1], turned[2] = 0.0, 0.0, 0.0


@kernel
def note_loads(bodies: Bodies, contacts: Contacts, active: Active, n: int, book: Book) -> None:
    """Which of the n active contacts carried a load in the step before: these are not struck in this one."""
    for i in range(n):
        c = active.contact[i]
        book.loaded[c] = was_held(bodies, contacts, c, max(0.0, -active.before[i, 0]))


@kernel
def note_impact(
    book: Book, before: np.ndarray, after: tuple[float, float, float], impulse: tuple[float, float], dim: int
) -> None:
    """Begin a row of the list of impacts: velocities before and after, normal and tangential impulse."""
    u0, u1, u2 = after
    e = book.events[book.counts[0]]
    e[2], e[3], e[4], e[5] = before[0], u0, impulse[0], impulse[1]
    e[6] = math.sqrt(before[1] ** 2 + (before[2] ** 2 if dim == 3 else 0.0))
    e[7] = math.sqrt(u1**2 + (u2**2 if dim == 3 else 0.0))


@kernel
def tangential_load(active: Active, i: int, dim: int) -> float:
    """Size of the friction impulse of active contact i [N s]."""
    x, y, z = world_impulse(active, i, dim)
    return math.sqrt(max(0.0, x**2 + y**2 + z**2 - active.r[i, 0] ** 2))


@kernel
def note_bodies(
    book: Book, channel: np.ndarray, a: int, b: int, state: int, impulse: tuple[float, float], t_end: float
) -> None:
    """Impulse and state of both bodies of a contact; an impact ends its row of the list, which `note_impact` began."""
    first = True
    for body in (a, b):
        k = channel[body]
        if k < 0:
            continue
        book.impulse[k, 0] += impulse[0]
        book.impulse[k, 1] += impulse[1]
        if state == IMPACT or book.state[k] == OPEN or (state == SLIP and book.state[k] != IMPACT):
            book.state[k] = state
        if state == IMPACT and first and book.counts[0] < book.events.shape[0]:
            e = book.events[book.counts[0]]
            e[0], e[1] = t_end, k
            e[8] = channel[b] if body == a else -1  # the second body; -1 where it is static
            book.counts[0] += 1
            first = False


@kernel
def was_hit(contacts: Contacts, c: int) -> bool:
    """Whether point c has had an impact of `blows` in this step."""
    return contacts.hit[c, 0] != 0.0 or contacts.hit[c, 1] != 0.0 or contacts.hit[c, 2] != 0.0


@kernel
def note_blows(contacts: Contacts, geoms: Geoms, points: int, dim: int, diary: Diary, t_end: float) -> float:
    """Write down the impacts that were done one after the other; returns their work [J]."""
    work, book = 0.0, diary.book
    for c in range(points):
        if was_hit(contacts, c):
            impulse = tangential_size(contacts.hit[c], contacts.normal[c])
            u = contacts.after[c]
            if book.counts[0] < book.events.shape[0]:
                note_impact(book, contacts.prior[c], (u[0], u[1], u[2]), impulse, dim)
            a, b = geoms.owner[contacts.pair[c, 0]], geoms.owner[contacts.pair[c, 1]]
            note_bodies(book, diary.channel, a, b, IMPACT, impulse, t_end)
            work += contacts.work[c]
    return work


@kernel(apart=True)
def shares_openly(bodies: Bodies, contacts: Contacts, points: int, c: int, slop: float, slip: float) -> bool:
    """Whether the laws leave the motion of two bodies open that slide on one another at point c, with the speed `slip`.

    Four points of one plane or more share a load in more than one way: three balances tell their loads.  If the bodies
    turn about the normal, too, the slips of the points differ in direction, and friction follows the share.
    """
    a, b, n, p = contacts.a[c], contacts.b[c], contacts.normal[c], contacts.point[c]
    spin = 0.0
    for k in range(3):
        spin += n[k] * (bodies.end[b, 3 + k] - bodies.end[a, 3 + k])
    first, last = c, c + 1
    while first > 0 and contacts.a[first - 1] == a and contacts.b[first - 1] == b:
        first -= 1
    while last < points and contacts.a[last] == a and contacts.b[last] == b:
        last += 1
    beside, far = 0, 0.0
    for k in range(first, last):
        m, q = contacts.normal[k], contacts.point[k]
        if contacts.gap[k] <= NEARLY * slop and n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > ONE_WAY:
            beside += 1
            far = max(far, (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 + (q[2] - p[2]) ** 2)
    return beside > 3 and abs(spin) * math.sqrt(far) > FANNED * slip


@kernel
def any_slips(book: Book) -> bool:
    """Whether a body slips in this step."""
    found = False
    for k in range(book.state.shape[0]):
        found = found or book.state[k] == SLIP
    return found


@kernel
def note_contact(
    bodies: Bodies, geoms: Geoms, contacts: Contacts, active: Active, i: int, options: Options, diary: Diary,
    moment: tuple[float, float, float, int],
) -> float:  # fmt: skip
    """Write down active contact i, which carries an impulse; returns the work it does.

    moment: what gravity changes in a step, the approach up to which there is no impact [m/s], the step's end [s]; and
    the number of contact points.
    """
    dim, book, r, c = options.dim, diary.book, active.r[i], active.contact[i]
    fall, noise, t_end, points = moment
    a, b, before = contacts.a[c], contacts.b[c], active.before[i]
    u0, u1, u2 = approach(active, i, bodies, bodies.end, a, b)
    t2 = r[2] if dim == 3 else 0.0
    speed = fall + abs(before[0]) + abs(before[1]) + abs(before[2])
    p = contacts.impulse[c]
    p[0], p[1], p[2] = world_impulse(active, i, dim)
    tangential = tangential_load(active, i, dim)
    state = CLOSED
    struck = not book.loaded[c] and -before[0] > noise
    second_half = options.scheme == PAOLI and active.gap[i] < -options.slop
    if active.impact[i] and (struck or second_half) and not was_hit(contacts, c):
        state = IMPACT
        if book.counts[0] < book.events.shape[0]:
            note_impact(book, before, (u0, u1, u2), (r[0], tangential), dim)
    elif active.mu[i] > 0.0:
        # points that carry next to nothing lie on the edge of their cone: the velocity tells, not the impulse
        slip = math.sqrt((u1 + active.bias[i, 1]) ** 2 + ((u2 + active.bias[i, 2]) ** 2 if dim == 3 else 0.0))
        state = SLIP if slip > 1e-8 * speed else STICK
        if state == SLIP and dim == 3 and book.numbers[LOADS_NOW] == 0.0:
            book.numbers[LOADS_NOW] = 1.0 if shares_openly(bodies, contacts, points, c, options.slop, slip) else 0.0
        inside = math.sqrt(r[1] * r[1] + t2 * t2) < INSIDE * active.mu[i] * r[0]  # the law says that it sticks
        if inside and active.mobility[i] * r[0] > LEFT * slip:  # rounding of the loads of others is none
            book.numbers[CREEP_SPEED] = max(book.numbers[CREEP_SPEED], slip)
    book.numbers[NORMALS_NOW] = max(book.numbers[NORMALS_NOW], contacts.choice[c])
    first, second = geoms.owner[contacts.pair[c, 0]], geoms.owner[contacts.pair[c, 1]]
    note_bodies(book, diary.channel, first, second, state, (r[0], tangential), t_end)
    more = 0.0
    if resists(active, i):
        turned = contacts.turned[c]
        turned[0], turned[1], turned[2] = turn_in_world(active, i)
        more = turn_work(active, i, bodies.vel[a], bodies.vel[b], bodies.end[a], bodies.end[b])
    return more + 0.5 * (r[0] * (u0 + before[0]) + r[1] * (u1 + before[1]) + t2 * (u2 + before[2]))


@kernel(apart=True)
def deepest_turned(bodies: Bodies, geoms: Geoms, contacts: Contacts, active: Active, n: int, dt: float) -> float:
    """How deep points of bodies that turn as one are at the end of the step [m].

    A point that keeps its place on the other body from midpoint to midpoint goes along a chord, and is off it between.
    """
    deepest = 0.0
    for i in range(n):
        if active.beyond[i, 0] != 0.0:
            c = active.contact[i]
            u, _, _ = contact_velocity(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
            u += gap_beyond(bodies.end, geoms, contacts, active, i, 0.5 * dt)
            deepest = max(deepest, -active.gap[i] - 0.5 * dt * u)
    return deepest


@kernel(apart=True)
def note_contacts(
    bodies: Bodies, geoms: Geoms, contacts: Contacts, active: Active, counts: np.ndarray, options: Options,
    diary: Diary, t_end: float,
) -> float:  # fmt: skip
    """Per body: impulses, state and gap; impacts; returns the work of the contacts in this step.

    A step is solved to tol times the velocities in it, so a contact that is closed may approach in the next one by
    that much: up to there it is no impact of the list, whatever the law makes of it.
    """
    g, work, numbers = options.gravity, 0.0, diary.book.numbers
    fall = options.dt * math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2)
    note_loads(bodies, contacts, active, counts[ACTIVE], diary.book)
    note_gaps(contacts, geoms, counts[POINTS], diary)
    depth = deepest_turned(bodies, geoms, contacts, active, counts[ACTIVE], options.dt)
    numbers[MAX_PENETRATION] = max(numbers[MAX_PENETRATION], depth)
    speed_now = fall + largest_speed(active, counts[ACTIVE])
    noise = options.tol * max(speed_now, numbers[LAST_SPEED])
    numbers[LAST_SPEED], numbers[CREEP_SPEED] = speed_now, 0.0
    numbers[LOADS_NOW], numbers[NORMALS_NOW] = 0.0, 0.0
    if options.blows is not None:
        work += note_blows(contacts, geoms, counts[POINTS], options.dim, diary, t_end)
    for i in range(counts[ACTIVE]):
        if active.r[i, 0] > 0.0:
            moment = (fall, noise, t_end, counts[POINTS])
            work += note_contact(bodies, geoms, contacts, active, i, options, diary, moment)
    if numbers[LOADS_NOW] == 0.0 and any_slips(diary.book):
        near = NEARLY * options.slop
        if any_open(bodies, contacts, active, counts[ACTIVE], options, near, FANNED, ONE_WAY):
            numbers[LOADS_NOW] = 1.0
    numbers[CREEP] += options.dt * numbers[CREEP_SPEED]
    numbers[OPEN_LOADS] += numbers[LOADS_NOW]
    numbers[OPEN_NORMALS] += numbers[NORMALS_NOW]
    return work


@entry(apart=True)
def energies(bodies: Bodies, springs: Any, gravity: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy of the bodies that are there [J]."""
    kinetic, potential = 0.0, 0.0
    J = np.empty(9)
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] != MOVING or not bodies.alive[i]:
            continue
        v, x = bodies.vel[i], bodies.pose[i]
        m = bodies.mass[i]
        kinetic += 0.5 * m * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
        potential -= m * (gravity[0] * x[0] + gravity[1] * x[1] + gravity[2] * x[2])
        world_matrix(x, bodies.inertia[i], J)
        L0, L1, L2 = times(J, v[3], v[4], v[5])
        kinetic += 0.5 * (v[3] * L0 + v[4] * L1 + v[5] * L2)
    if springs is not None:
        for s in range(springs.a.shape[0]):
            a, b, p, q = springs.a[s], springs.b[s], springs.local_a[s], springs.local_b[s]
            if bodies.alive[a] and bodies.alive[b]:
                p0, p1, p2 = to_world(bodies.pose[a], p[0], p[1], p[2])
                q0, q1, q2 = to_world(bodies.pose[b], q[0], q[1], q[2])
                length = math.sqrt((q0 - p0) ** 2 + (q1 - p1) ** 2 + (q2 - p2) ** 2)
                potential += 0.5 * springs.law[s, 0] * (length - springs.law[s, 2]) ** 2
    return kinetic, potential


@entry(apart=True)
def rotor_energy(joints: Any, bodies: Bodies) -> float:
    """Kinetic energy of the rotors of joints, J u^2 / 2 with the speed u of b against a along the axis [J]."""
    total, A, B = 0.0, np.empty(7), np.empty(7)
    for j in range(joints.link.kind.shape[0]):
        inertia, a, b = joints.link.numbers[j, ARMATURE], joints.link.a[j], joints.link.b[j]
        if inertia == 0.0 or joints.link.kind[j] == SPRING:
            continue
        compose(bodies.pose[a], joints.link.frame_a[j], A)
        compose(bodies.pose[b], joints.link.frame_b[j], B)
        x, y, z = z_axis(A)
        v, w = bodies.vel[a], bodies.vel[b]
        if joints.link.kind[j] == PRISMATIC:
            p0, p1, p2 = B[0] - bodies.pose[a, 0], B[1] - bodies.pose[a, 1], B[2] - bodies.pose[a, 2]
            q0, q1, q2 = B[0] - bodies.pose[b, 0], B[1] - bodies.pose[b, 1], B[2] - bodies.pose[b, 2]
            u = x * (w[0] + (w[4] * q2 - w[5] * q1) - v[0] - (v[4] * p2 - v[5] * p1))
            u += y * (w[1] + (w[5] * q0 - w[3] * q2) - v[1] - (v[5] * p0 - v[3] * p2))
            u += z * (w[2] + (w[3] * q1 - w[4] * q0) - v[2] - (v[3] * p1 - v[4] * p0))
        else:
            u = x * (w[3] - v[3]) + y * (w[4] - v[4]) + z * (w[5] - v[5])
        total += 0.5 * inertia * u * u
    return total


@kernel(apart=True)
def record(bodies: Bodies, springs: Any, options: Options, diary: Diary, k: int, records: Records) -> None:
    """Write row k of the records and begin the sums of the next one."""
    book, q, u = diary.book, records.q, records.u
    records.energy[k, 0], records.energy[k, 1] = energies(bodies, springs, options.gravity)
    for c in range(diary.channels.shape[0]):
        i = diary.channels[c]
        if options.dim == 2:
            q[k, 3 * c], q[k, 3 * c + 1], q[k, 3 * c + 2] = bodies.pose[i, 0], bodies.pose[i, 1], bodies.angle[i]
            u[k, 3 * c], u[k, 3 * c + 1], u[k, 3 * c + 2] = bodies.vel[i, 0], bodies.vel[i, 1], bodies.vel[i, 5]
        else:
            for m in range(7):
                q[k, 7 * c + m] = bodies.pose[i, m]
            for m in range(6):
                u[k, 6 * c + m] = bodies.vel[i, m]
        records.impulse[k, c, 0], records.impulse[k, c, 1] = book.impulse[c, 0], book.impulse[c, 1]
        book.impulse[c, 0], book.impulse[c, 1] = 0.0, 0.0
        records.state[k, c] = book.state[c]
        records.gap[k, c] = book.gap[c]
