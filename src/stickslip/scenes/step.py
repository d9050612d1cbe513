"""The time loop of a scene: free motion, contact points, islands, update, records and the book of the certificate.

A step goes from A to E over the midpoint M where contacts are evaluated (theta = 1/2: Moreau's midpoint rule):

    q_M = q_A + (1 - theta) dt u_A,    u_E = u_free + M^-1 W Lambda,    q_E = q_M + theta dt u_E.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.codes import (
    BOOK_SIZE,
    CONTACT_WORK,
    FAILED_STEPS,
    FALLBACKS,
    GAIN_STEP,
    MAX_ENERGY_GAIN,
    MAX_LCP_SIZE,
    MAX_PENETRATION,
    MAX_RESIDUAL,
    PROJECTION_ENERGY,
    PROJECTIONS,
    STEPS,
)
from stickslip.jit import entry, kernel, prange
from stickslip.scenes.collision.broad_phase import candidate_pairs, stir
from stickslip.scenes.collision.narrow_phase import contact_points, store_pairs
from stickslip.scenes.islands.free_bodies import solve_free_bodies
from stickslip.scenes.islands.island import GRAINS, end_velocities, island_residual, solve_dense, solve_island
from stickslip.scenes.islands.joint_rows import came_apart, joint_rows, row_velocity
from stickslip.scenes.islands.problem import activate, contact_velocity, islands, world_impulse
from stickslip.scenes.layout import (
    DRIVEN,
    MOVING,
    ROWS_PER_JOINT,
    Active,
    Bodies,
    Book,
    Contacts,
    Geoms,
    Materials,
    Options,
    Pairs,
    Room,
    Shapes,
)
from stickslip.scenes.push_apart import any_fast, any_sunk, parting_shifts, take_shifts
from stickslip.scenes.rotation import advance, compose, free_rotation, rotate, times, to_world, world_matrix
from stickslip.scenes.struck import any_struck, at_midpoint, strike, to_end

DONE, EVENTS_FULL, UNSOLVED, NO_ROOM, NOT_FINITE, APART = range(6)
MAX_CONTACTS, LAST_SPEED, RULE_GAIN = range(BOOK_SIZE, BOOK_SIZE + 3)  # that a Lagrangian system does not write down
OPEN, STICK, SLIP, IMPACT, CLOSED = 0, 1, 2, 4, 5  # as in stickslip.trajectory
PAIRS_OLD, SIDE, POINTS, ACTIVE, ROWS, ISLANDS, AFRESH, CANDIDATES, PLASTIC, COUNTS = range(10)
"""Counters that a scene keeps between calls: pairs in memory, which side is new, contact points, ..."""


@kernel
def spring_wrenches(springs: Any, bodies: Bodies, wrench: np.ndarray) -> None:
    """Add forces and torques of springs and dampers at the midpoint, with the velocities before."""
    for s in range(springs.a.shape[0]):
        a, b = springs.a[s], springs.b[s]
        if not (bodies.alive[a] and bodies.alive[b]):
            continue
        p, q = springs.local_a[s], springs.local_b[s]
        p0, p1, p2 = rotate(bodies.mid[a], p[0], p[1], p[2])
        q0, q1, q2 = rotate(bodies.mid[b], q[0], q[1], q[2])
        v, w = bodies.vel[a], bodies.vel[b]
        d0 = bodies.mid[b, 0] + q0 - bodies.mid[a, 0] - p0
        d1 = bodies.mid[b, 1] + q1 - bodies.mid[a, 1] - p1
        d2 = bodies.mid[b, 2] + q2 - bodies.mid[a, 2] - p2
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length == 0.0:
            continue
        d0, d1, d2 = d0 / length, d1 / length, d2 / length
        rate = d0 * (w[0] + w[4] * q2 - w[5] * q1 - v[0] - v[4] * p2 + v[5] * p1)
        rate += d1 * (w[1] + w[5] * q0 - w[3] * q2 - v[1] - v[5] * p0 + v[3] * p2)
        rate += d2 * (w[2] + w[3] * q1 - w[4] * q0 - v[2] - v[3] * p1 + v[4] * p0)
        force = springs.law[s, 0] * (length - springs.law[s, 2]) + springs.law[s, 1] * rate
        x, y, z = force * d0, force * d1, force * d2  # on a, towards b
        for body, sign, r0, r1, r2 in ((a, 1.0, p0, p1, p2), (b, -1.0, q0, q1, q2)):
            f = wrench[body]
            f[0] += sign * x
            f[1] += sign * y
            f[2] += sign * z
            f[3] += sign * (r1 * z - r2 * y)
            f[4] += sign * (r2 * x - r0 * z)
            f[5] += sign * (r0 * y - r1 * x)


@kernel(apart=True)
def free_motion(
    bodies: Bodies, springs: Any, options: Options, t: float, driven: Any, step: int, wrench: np.ndarray
) -> float:
    """Midpoint poses, free end velocities, and what an impulse meets; returns the worst residual of a rotation."""
    worst = 0.0
    dt, theta, g = options.dt, options.theta, options.gravity
    J, K, phi = np.empty(9), np.empty(9), np.empty(3)
    n = bodies.kind.shape[0]
    d = 0
    for i in range(n):
        bodies.alive[i] = bodies.life[i, 0] <= t + 0.5 * dt < bodies.life[i, 1]
        bodies.struck[i] = False
        if bodies.kind[i] == DRIVEN:
            d += 1
        if bodies.kind[i] > 0 and bodies.alive[i]:
            advance(bodies.pose[i], bodies.vel[i], (1.0 - theta) * dt, bodies.mid[i])
        else:
            for k in range(7):
                bodies.mid[i, k] = bodies.pose[i, k]
        for k in range(6):
            wrench[i, k] = bodies.wrench[i, k]
    if springs is not None:
        if not options.implicit:
            spring_wrenches(springs, bodies, wrench)
    d = 0
    for i in range(n):
        v, free = bodies.vel[i], bodies.free[i]
        if bodies.kind[i] == DRIVEN:
            if driven is not None:
                for k in range(6):
                    bodies.vel[i, k] = driven[step, d, k]
            d += 1
        if bodies.kind[i] == MOVING and bodies.alive[i]:
            m = bodies.inv_mass[i]
            for k in range(3):
                free[k] = v[k] + dt * (g[k] + m * wrench[i, k])
            if bodies.isotropic[i]:
                j = 1.0 / bodies.inertia[i, 8]
                for k in range(3):
                    free[3 + k] = v[3 + k] + dt * j * wrench[i, 3 + k]
            else:
                world_matrix(bodies.mid[i], bodies.inertia[i], J)
                missing = free_rotation(J, v[3:], wrench[i, 3:], dt, theta, free[3:], bodies.inv_inertia[i], phi, K)
                if not missing <= worst:
                    worst = missing
            fast, slow = 0.0, 0.0
            for k in range(3):
                fast += max(free[k] ** 2, v[k] ** 2)
                slow += max(free[3 + k] ** 2, v[3 + k] ** 2)
            bodies.reach[i] = dt * (math.sqrt(fast) + math.sqrt(slow) * bodies.radius[i])
        else:
            fast, slow = 0.0, 0.0
            for k in range(6):
                free[k] = v[k]
            for k in range(3):
                fast += v[k] ** 2
                slow += v[3 + k] ** 2
            bodies.reach[i] = dt * (math.sqrt(fast) + math.sqrt(slow) * bodies.radius[i]) if bodies.kind[i] > 0 else 0.0
        for k in range(6):
            bodies.end[i, k] = free[k]
    return worst


@kernel
def place_geoms(bodies: Bodies, geoms: Geoms) -> None:
    """Poses of all geometries at the midpoint."""
    for i in range(geoms.kind.shape[0]):
        compose(bodies.mid[geoms.body[i]], geoms.local[i], geoms.world[i])


@kernel(apart=True)
def sort_islands(
    active: Active, n: int, joints: Any, n_rows: int, count: int, order: np.ndarray, rows: np.ndarray,
    begins: np.ndarray, row_begins: np.ndarray,
) -> None:  # fmt: skip
    """Contacts and rows by island, each in its old order; where each island begins."""
    for k in range(count + 1):
        begins[k] = 0
        row_begins[k] = 0
    for i in range(n):
        begins[active.island[i] + 1] += 1
    for k in range(count):
        begins[k + 1] += begins[k]
    for i in range(n - 1, -1, -1):
        begins[active.island[i] + 1] -= 1
        order[begins[active.island[i] + 1]] = i
    for k in range(1, count + 1):  # each begin has come down to that of its island; move them up by one
        begins[k - 1] = begins[k]
    begins[count] = n
    if joints is not None:
        if n_rows > 0:
            slots = joints.row.used.shape[0]
            for s in range(slots):
                if joints.row.used[s]:
                    row_begins[joints.row.island[s] + 1] += 1
            for k in range(count):
                row_begins[k + 1] += row_begins[k]
            for s in range(slots - 1, -1, -1):
                if joints.row.used[s]:
                    row_begins[joints.row.island[s] + 1] -= 1
                    rows[row_begins[joints.row.island[s] + 1]] = s
            for k in range(1, count + 1):
                row_begins[k - 1] = row_begins[k]
            row_begins[count] = n_rows


@entry
def solve_in_parallel(
    bodies: Bodies, contacts: Contacts, active: Active, joints: Any, options: Options, order: np.ndarray,
    rows: np.ndarray, begins: np.ndarray, row_begins: np.ndarray, chosen: np.ndarray, head: np.ndarray,
    follow: np.ndarray, residuals: np.ndarray, effort: np.ndarray,
) -> None:  # fmt: skip
    """Solve the chosen islands, shared among threads: they have no body in common."""
    for m in prange(chosen.shape[0]):
        k = chosen[m]
        residuals[k] = solve_island(
            bodies, contacts, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
            row_begins[k + 1], options, head, follow[2 * begins[k] :], effort[k:], residuals[k],
        )  # fmt: skip


@entry(apart=True)
def prepare(
    bodies: Bodies, geoms: Geoms, materials: Materials, shapes: Shapes, joints: Any,
    springs: Any, options: Options, room: Room, ignore: np.ndarray, candidates: np.ndarray, new: Contacts,
    new_pairs: Pairs, old: Contacts, old_pairs: Pairs, active: Active, order: np.ndarray, rows: np.ndarray,
    begins: np.ndarray, row_begins: np.ndarray, parent: np.ndarray, label: np.ndarray, wrench: np.ndarray,
    residuals: np.ndarray, counts: np.ndarray, t: float, driven: Any, step: int,
) -> bool:  # fmt: skip
    """Everything up to the contact problems; False where a buffer is too small (nothing has been changed then).

    The last of the residuals, which no island needs, becomes that of the free rotations.
    """
    residuals[-1] = free_motion(bodies, springs, options, t, driven, step, wrench)
    place_geoms(bodies, geoms)
    found = candidate_pairs(bodies, geoms, ignore, options.slop, options.dim, candidates)
    if found < 0:
        return False
    stir(bodies, geoms, candidates, found)
    n_pairs = counts[COUNTS:]
    points = contact_points(
        bodies, geoms, shapes, room, candidates, found, options.slop, new, new_pairs, old, old_pairs,
        counts[PAIRS_OLD], n_pairs,
    )  # fmt: skip
    if points < 0:
        return False
    n = activate(new, points, bodies, bodies.vel, geoms, materials, options, active)
    if strike(bodies, new, active, n, options):
        n = activate(new, points, bodies, at_midpoint(bodies, options), geoms, materials, options, active)
    n_rows = 0
    if joints is not None:
        n_rows = joint_rows(joints, bodies, options.dim == 2, options.dt, options.theta)
    count = 0
    if n + n_rows > 0:
        count = islands(bodies, new, n, active, joints, n_rows, parent, label)
        sort_islands(active, n, joints, n_rows, count, order, rows, begins, row_begins)
    counts[CANDIDATES], counts[POINTS], counts[ACTIVE], counts[ROWS], counts[ISLANDS] = found, points, n, n_rows, count
    return True


@kernel
def largest_speed(active: Active, n: int) -> float:
    """Largest |gamma| of the n active contacts before the step, sum norm [m/s]."""
    largest = 0.0
    for i in range(n):
        v = active.before[i]
        largest = max(largest, abs(v[0]) + abs(v[1]) + abs(v[2]))
    return largest


@kernel(apart=True)
def note_contacts(
    bodies: Bodies, contacts: Contacts, active: Active, counts: np.ndarray, options: Options, channel: np.ndarray,
    book: Book, t_end: float,
) -> float:  # fmt: skip
    """Per body: impulses, state and gap; impacts; returns the work of the contacts in this step.

    A step is solved to tol times the velocities in it, so a contact that is closed may approach in the next one by
    that much: up to there it is no impact of the list, whatever the law makes of it.
    """
    dim, work = options.dim, 0.0
    g = options.gravity
    fall = options.dt * math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2)
    for k in range(book.gap.shape[0]):
        book.state[k] = OPEN
        book.gap[k] = np.inf
    for c in range(counts[POINTS]):
        book.numbers[MAX_PENETRATION] = max(book.numbers[MAX_PENETRATION], -contacts.gap[c])
        for body in (contacts.a[c], contacts.b[c]):
            k = channel[body]
            if k >= 0:
                book.gap[k] = min(book.gap[k], contacts.gap[c])
    for c in range(counts[POINTS]):
        p = contacts.impulse[c]
        book.loaded[c] = p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0
        p[0], p[1], p[2] = 0.0, 0.0, 0.0
    speed_now = fall + largest_speed(active, counts[ACTIVE])
    noise = options.tol * max(speed_now, book.numbers[LAST_SPEED])
    book.numbers[LAST_SPEED] = speed_now
    for i in range(counts[ACTIVE]):
        r = active.r[i]
        c = active.contact[i]
        if not r[0] > 0.0:
            continue
        a, b, before = contacts.a[c], contacts.b[c], active.before[i]
        u0, u1, u2 = contact_velocity(active, i, bodies, bodies.end, a, b)
        t2 = r[2] if dim == 3 else 0.0
        speed = fall + abs(before[0]) + abs(before[1]) + abs(before[2])
        work += 0.5 * (r[0] * (u0 + before[0]) + r[1] * (u1 + before[1]) + t2 * (u2 + before[2]))
        p = contacts.impulse[c]
        p[0], p[1], p[2] = world_impulse(active, i, dim)
        tangential = math.sqrt(max(0.0, p[0] ** 2 + p[1] ** 2 + p[2] ** 2 - r[0] ** 2))
        fresh = active.impact[i] and not book.loaded[c] and -before[0] > noise
        state = CLOSED
        if fresh:
            state = IMPACT
        elif active.mu[i] > 0.0:
            # points that carry next to nothing lie on the edge of their cone: the velocity tells, not the impulse
            slip = math.sqrt((u1 + active.bias[i, 1]) ** 2 + ((u2 + active.bias[i, 2]) ** 2 if dim == 3 else 0.0))
            state = SLIP if slip > 1e-8 * speed else STICK
        first = True
        for body in (a, b):
            k = channel[body]
            if k < 0:
                continue
            book.impulse[k, 0] += r[0]
            book.impulse[k, 1] += tangential
            if state == IMPACT or book.state[k] == OPEN or (state == SLIP and book.state[k] != IMPACT):
                book.state[k] = state
            if fresh and first and book.counts[0] < book.events.shape[0]:
                e = book.events[book.counts[0]]
                v = math.sqrt(before[1] ** 2 + (before[2] ** 2 if dim == 3 else 0.0))
                w = math.sqrt(u1**2 + (u2**2 if dim == 3 else 0.0))
                e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7] = t_end, k, before[0], u0, r[0], tangential, v, w
                e[8] = channel[b] if body == a else -1  # the second body; -1 where it is static
                book.counts[0] += 1
                first = False
    return work


@kernel(apart=True)
def finish(
    bodies: Bodies, geoms: Geoms, shapes: Shapes, room: Room, ignore: np.ndarray, candidates: np.ndarray,
    contacts: Contacts, pairs: Pairs, active: Active, joints: Any, springs: Any, rows: np.ndarray, options: Options,
    channel: np.ndarray, counts: np.ndarray, book: Book, t_end: float, step: int,
) -> bool:  # fmt: skip
    """Take the end velocities: book-keeping, new poses; False where a number is not finite."""
    work = note_contacts(bodies, contacts, active, counts, options, channel, book, t_end)
    gained = 0.0
    if joints is not None:
        for m in range(counts[ROWS]):
            s = rows[m]
            a, b = joints.link.a[s // ROWS_PER_JOINT], joints.link.b[s // ROWS_PER_JOINT]
            w = row_velocity(joints, s, bodies.end, a, b) + row_velocity(joints, s, bodies.vel, a, b)
            if joints.row.low[s] > -np.inf or joints.row.high[s] < np.inf:  # motors, limits, friction
                work += 0.5 * joints.row.impulse[s] * w
            elif joints.row.soft[s] == 0.0:  # a spring keeps what it takes, in the potential energy
                gained += 0.5 * joints.row.impulse[s] * w  # a joint does no work: that is the rule's error
    book.numbers[RULE_GAIN] = max(book.numbers[RULE_GAIN], gained)
    book.numbers[CONTACT_WORK] += work
    if work > book.numbers[MAX_ENERGY_GAIN]:
        book.numbers[MAX_ENERGY_GAIN] = work
        book.numbers[GAIN_STEP] = step + 1
    if any_struck(bodies):
        missing = to_end(bodies, options)
        if not missing <= options.tol:
            book.numbers[FAILED_STEPS] += 1
        book.numbers[MAX_RESIDUAL] = max(book.numbers[MAX_RESIDUAL], missing)
    part = options.sink > 0.0 and counts[POINTS] > 0
    hasty = part and any_fast(bodies, options.dt, options.sink)
    total = 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] > 0 and bodies.alive[i]:
            v = bodies.end[i]
            for k in range(6):
                total += 0.0 * v[k]
                bodies.vel[i, k] = v[k]
            if options.dim == 2:
                a, dt = bodies.pose[i], options.dt
                before = bodies.angle[i]
                # q_M was built from the velocity before; the angle follows the same two half steps
                half = 2.0 * math.atan2(bodies.mid[i, 6], bodies.mid[i, 3])
                half += 2.0 * math.pi * round((before - half) / (2.0 * math.pi))
                bodies.angle[i] = half + options.theta * dt * v[5]
                a[0] = bodies.mid[i, 0] + options.theta * dt * v[0]
                a[1] = bodies.mid[i, 1] + options.theta * dt * v[1]
                a[3], a[6] = math.cos(0.5 * bodies.angle[i]), math.sin(0.5 * bodies.angle[i])
            else:
                advance(bodies.mid[i], v, options.theta * options.dt, bodies.pose[i])
    if counts[POINTS] > 0 or counts[PAIRS_OLD] > 0:
        store_pairs(pairs, counts[COUNTS])
    if total == 0.0 and part and (hasty or any_sunk(bodies, contacts, active, counts[ACTIVE], options)):
        shift = np.zeros((bodies.kind.shape[0], 6))
        if parting_shifts(
            bodies, geoms, shapes, room, ignore, candidates, counts[CANDIDATES], contacts, pairs, counts[COUNTS],
            active, counts[ACTIVE], joints, options, hasty, shift,
        ):  # fmt: skip
            kinetic, potential = energies(bodies, springs, options.gravity)
            take_shifts(bodies, shift, options.dim)
            kinetic_now, potential_now = energies(bodies, springs, options.gravity)
            book.numbers[PROJECTION_ENERGY] += kinetic_now + potential_now - kinetic - potential
            book.numbers[PROJECTIONS] += 1
    counts[PAIRS_OLD] = counts[COUNTS]
    counts[SIDE] = 1 - counts[SIDE]
    return total == 0.0


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


@kernel(apart=True)
def record(
    bodies: Bodies, springs: Any, options: Options, channels: np.ndarray, book: Book, k: int, q: np.ndarray,
    u: np.ndarray, impulse: np.ndarray, state: np.ndarray, gap: np.ndarray, energy: np.ndarray,
) -> None:  # fmt: skip
    """Write row k of the records and begin the sums of the next one."""
    energy[k, 0], energy[k, 1] = energies(bodies, springs, options.gravity)
    for c in range(channels.shape[0]):
        i = channels[c]
        if options.dim == 2:
            q[k, 3 * c], q[k, 3 * c + 1], q[k, 3 * c + 2] = bodies.pose[i, 0], bodies.pose[i, 1], bodies.angle[i]
            u[k, 3 * c], u[k, 3 * c + 1], u[k, 3 * c + 2] = bodies.vel[i, 0], bodies.vel[i, 1], bodies.vel[i, 5]
        else:
            for m in range(7):
                q[k, 7 * c + m] = bodies.pose[i, m]
            for m in range(6):
                u[k, 6 * c + m] = bodies.vel[i, m]
        impulse[k, c, 0], impulse[k, c, 1] = book.impulse[c, 0], book.impulse[c, 1]
        book.impulse[c, 0], book.impulse[c, 1] = 0.0, 0.0
        state[k, c] = book.state[c]
        gap[k, c] = book.gap[c]


@entry
def start_limit(options: Options, counts: np.ndarray) -> float:
    """Residual up to which the impulses of the last step are taken as they are.

    A solution also makes up for what was wrong with the velocity before.  Taken on, that part of it would be the
    error of the next step; so the step after a solution is solved once more, and then rest is rest.
    """
    return 1e-2 * options.start if counts[AFRESH] == 1 and options.start < options.tol else options.start


@entry
def march(
    bodies: Bodies, geoms: Geoms, materials: Materials, shapes: Shapes, joints: Any,
    springs: Any, options: Options, room: Room, ignore: np.ndarray, candidates: np.ndarray, first: Contacts,
    first_pairs: Pairs, second: Contacts, second_pairs: Pairs, active: Active, order: np.ndarray, rows: np.ndarray,
    begins: np.ndarray, row_begins: np.ndarray, parent: np.ndarray, label: np.ndarray, wrench: np.ndarray,
    residuals: np.ndarray, effort: np.ndarray, counts: np.ndarray, channel: np.ndarray, channels: np.ndarray,
    book: Book, t0: float, n_steps: int, every: int, driven: Any, resume: bool, q: np.ndarray,
    u: np.ndarray, impulse: np.ndarray, state: np.ndarray, gap: np.ndarray, energy: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Do up to n_steps steps from where the clock of the book stands; returns (status, steps done, records written).

    A step that the impulses of the last one do not solve is left where it is (UNSOLVED) for the host, which solves its
    islands and comes back with `resume`: then the first step is only checked and finished.  (One kernel for
    both would take twice as long to compile, and save little: a step at rest needs no solver.)
    """
    done: Any = np.int64(0)  # a plain 0 would compile `prepare` twice
    records: Any = np.int64(0)
    step: Any = np.int64(book.numbers[STEPS])
    while done < n_steps:
        t = t0 + (step + done) * options.dt
        new, new_pairs, old, old_pairs = first, first_pairs, second, second_pairs
        if counts[SIDE] == 1:
            new, new_pairs, old, old_pairs = second, second_pairs, first, first_pairs
        if book.counts[0] + counts[POINTS] >= book.events.shape[0] and not resume:
            return EVENTS_FULL, done, records
        if not resume:
            if not prepare(
                bodies, geoms, materials, shapes, joints, springs, options, room, ignore, candidates,
                new, new_pairs, old, old_pairs, active, order, rows, begins, row_begins, parent, label, wrench,
                residuals, counts, t, driven, done,
            ):  # fmt: skip
                return NO_ROOM, done, records
            if joints is not None:
                if came_apart(joints):
                    book.numbers[FAILED_STEPS] += 1
                    if not options.go_on:
                        return APART, done, records
            for k in range(counts[ISLANDS]):
                effort[k] = 0
        worst, reached, helped, largest, solved = residuals[-1], 0.0, 0, 0, False
        limit = start_limit(options, counts)
        for k in range(counts[ISLANDS]):
            end_velocities(
                bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k], row_begins[k + 1],
                options.dim,
            )  # fmt: skip
            residuals[k] = island_residual(
                bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k], row_begins[k + 1],
                options.dim, options.edges, GRAINS if resume else 0.0,
            )  # fmt: skip
            if joints is not None:
                # A joint moves its bodies on curves: every step has to be solved, which is worth the longer compiling.
                if row_begins[k + 1] > row_begins[k] and not resume and not residuals[k] <= options.start:
                    solve_dense(
                        bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
                        row_begins[k + 1], options,
                    )  # fmt: skip
                    end_velocities(
                        bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
                        row_begins[k + 1], options.dim,
                    )  # fmt: skip
                    residuals[k] = island_residual(
                        bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
                        row_begins[k + 1], options.dim, options.edges, GRAINS,
                    )  # fmt: skip
                    if residuals[k] <= options.tol:
                        reached = max(reached, residuals[k])
                        residuals[k] = 0.0  # no need to call the host
            alone = row_begins[k + 1] == row_begins[k] and begins[k + 1] - begins[k] <= options.newton
            if alone and not resume and options.edges == 0 and options.start >= 0.0 and not residuals[k] <= limit:
                before = residuals[k]
                r = np.empty((begins[k + 1] - begins[k], options.dim))
                for m in range(r.shape[0]):
                    for j in range(options.dim):
                        r[m, j] = active.r[order[begins[k] + m], j]
                solve_free_bodies(bodies, new, active, order, begins[k], begins[k + 1], options, parent)
                end_velocities(
                    bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
                    row_begins[k + 1], options.dim,
                )  # fmt: skip
                residuals[k] = island_residual(
                    bodies, new, active, order, begins[k], begins[k + 1], joints, rows, row_begins[k],
                    row_begins[k + 1], options.dim, options.edges, GRAINS,
                )  # fmt: skip
                if residuals[k] <= options.tol:
                    reached = max(reached, residuals[k])
                    residuals[k] = 0.0
                    solved = True
                else:
                    residuals[k] = before
                    for m in range(r.shape[0]):
                        for j in range(options.dim):
                            active.r[order[begins[k] + m], j] = r[m, j]
            if not residuals[k] <= worst:
                worst = residuals[k]
            helped += effort[k]
            largest = max(largest, options.dim * (begins[k + 1] - begins[k]) + row_begins[k + 1] - row_begins[k])
        if not resume and not worst <= limit:
            return UNSOLVED, done, records
        if not worst <= options.tol:
            book.numbers[FAILED_STEPS] += 1
        counts[AFRESH] = 1 if (resume or solved) and counts[AFRESH] == 0 else 0
        resume = False
        if helped > 0:
            book.numbers[FALLBACKS] += 1
        book.numbers[MAX_RESIDUAL] = max(book.numbers[MAX_RESIDUAL], max(worst, reached))
        book.numbers[MAX_LCP_SIZE] = max(book.numbers[MAX_LCP_SIZE], float(largest))
        book.numbers[MAX_CONTACTS] = max(book.numbers[MAX_CONTACTS], float(counts[ACTIVE]))
        finite = finish(
            bodies, geoms, shapes, room, ignore, candidates, new, new_pairs, active, joints, springs, rows, options,
            channel, counts, book, t + options.dt, step + done,
        )  # fmt: skip
        done += 1
        book.numbers[STEPS] = step + done
        if not finite:
            if worst <= options.tol:
                book.numbers[FAILED_STEPS] += 1
            return NOT_FINITE, done, records
        if (step + done) % every == 0:
            record(bodies, springs, options, channels, book, records, q, u, impulse, state, gap, energy)
            records += 1
    return DONE, done, records
