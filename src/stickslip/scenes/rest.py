"""Rest: velocities that are zero to rounding are zero, and a step that changes nothing is not computed again.

A scene rests where zero end velocities are an answer of its step.  That is so where impulses obey the laws of contacts
and joints at zero velocities, and the free motion and what these impulses do cancel:

    |u_free + M^-1 W Lambda|  <=  CANCELLED (|u_A| + |u_free - u_A| + |M^-1| |W Lambda|)        of each component.

Then the sum cannot be told from zero: impulses that differ by their rounding make it zero.  No velocity that forces
make is that small: a brick that is steeper than its slip angle by 1e-9 gets 1e-9 g dt.  What joints ask for because
positions are rounded (`forget_rounding`) is not asked for here.

With u_A = u_E = 0 no pose changes, and the next step is that step again as soon as the memory of contacts and joints is
that of the step before, bit for bit.  Then steps are written down and not computed, until a body appears, vanishes or
is driven; each call of `march` begins with a step that is computed, since anything may have been set in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.codes import CANCELLED, CONTACT_WORK, FAILED_STEPS, PROJECTIONS
from stickslip.contact.tree_problem import disc_defect
from stickslip.jit import kernel
from stickslip.scenes.islands.free_bodies import solve_free_bodies
from stickslip.scenes.islands.island import GRAINS, contact_scale, end_velocities, row_size
from stickslip.scenes.islands.joint_rows import LIMIT
from stickslip.scenes.islands.problem import island_of, world_impulse
from stickslip.scenes.islands.row_kinds import SPRING, row_length
from stickslip.scenes.islands.trees import solve_joined
from stickslip.scenes.layout import DRIVEN, MOVING, ROWS_PER_JOINT, Active, Bodies, Book, Contacts, Options
from stickslip.scenes.notes import tangential_load
from stickslip.scenes.parts import (
    ACTIVE,
    CREEP,
    CREEP_SPEED,
    ISLANDS,
    LOADS_NOW,
    NORMALS_NOW,
    OPEN_LOADS,
    OPEN_NORMALS,
    PAIRS_OLD,
    POINTS,
    RESTS,
    ROWS,
    SIDE,
    TRIED,
    WAIT,
    Diary,
    Island,
    Problems,
    Span,
    Touching,
    World,
)

QUIET = 1e-4  # of what forces change velocities by in a step: bodies that are faster are not looked at
ROUNDED = 16.0  # times the rounding of a joint's gap: less is nothing to close
CLOSINGS = 3  # tries for which joints are closed before
LONGEST = 12  # after the k-th try in vain 2^k steps pass, 2^LONGEST at most
NOT_SHARED = 2000  # contacts of an island up to which Newton is tried


@kernel
def is_quiet(bodies: Bodies) -> bool:
    """Whether no body is faster than QUIET of what forces change velocities by in the step."""
    fastest, pull = 0.0, 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] > 0 and bodies.alive[i]:
            v, u, r = bodies.vel[i], bodies.free[i], bodies.radius[i]
            fastest = max(fastest, abs(v[0]) + abs(v[1]) + abs(v[2]) + r * (abs(v[3]) + abs(v[4]) + abs(v[5])))
            if bodies.kind[i] == MOVING:
                pull = max(pull, abs(u[0] - v[0]) + abs(u[1] - v[1]) + abs(u[2] - v[2]))
            elif abs(u[0]) + abs(u[1]) + abs(u[2]) + abs(u[3]) + abs(u[4]) + abs(u[5]) > 0.0:
                return False
    return fastest <= QUIET * pull


@kernel
def first_touch(active: Active, n: int) -> bool:
    """Whether there are contacts, and none of them carries anything yet."""
    for i in range(n):
        if active.r[i, 0] != 0.0:
            return False
    return n > 0


@kernel
def may_rest(world: World, touching: Touching, active: Active, counts: np.ndarray) -> bool:
    """Whether a step is to be looked at for rest: it may be, and it is not too soon after a try in vain."""
    options = world.options
    if options.start < 0.0 or options.edges > 0 or options.scheme > 0:
        return False
    if options.resisting is not None:
        return False
    if not is_quiet(world.bodies):
        counts[TRIED], counts[WAIT], counts[RESTS] = 0, 0, 0
        return False
    if counts[WAIT] > 0 and counts[RESTS] == 0:
        counts[WAIT] -= 1
        return False
    for i in range(world.bodies.kind.shape[0]):
        if world.bodies.struck[i]:
            return False
    if first_touch(active, counts[ACTIVE]):
        return False
    if options.blows is not None:
        for c in range(counts[POINTS]):
            hit = touching.contacts.hit[c]
            if hit[0] != 0.0 or hit[1] != 0.0 or hit[2] != 0.0:
                return False
        if world.joints is not None:
            for s in range(world.joints.row.blow.shape[0]):
                if world.joints.row.blow[s] != 0.0:
                    return False
    return True


@kernel
def is_held(joints: Any, s: int) -> bool:
    """Whether row s closes a joint."""
    return s % ROWS_PER_JOINT < LIMIT and joints.link.kind[s // ROWS_PER_JOINT] != SPRING


@kernel
def asks(joints: Any, rows: np.ndarray, count: int) -> bool:
    """Whether a joint asks for more than what rounding has left of its gap."""
    more = False
    for m in range(count):
        s = rows[m]
        unbounded = joints.row.low[s] == -np.inf and is_held(joints, s)
        more = more or (unbounded and abs(joints.row.target[s]) > ROUNDED * joints.row.grain[s])
    return more


@kernel
def stop_asking(joints: Any, rows: np.ndarray, count: int, asked: np.ndarray, pull: float) -> float:
    """Let joints ask for nothing where they ask for rounding alone; returns the largest residual of that.

    asked (rows,): what they have asked for.
    """
    worst = 0.0
    for m in range(count):
        s = rows[m]
        asked[m] = joints.row.target[s]
        if is_held(joints, s) and abs(asked[m]) <= ROUNDED * joints.row.grain[s]:
            length = row_length(joints, s)
            worst = max(worst, length * abs(asked[m]) / max(pull, length * GRAINS * joints.row.grain[s]))
            joints.row.target[s] = 0.0
    return worst


@kernel
def close_gaps(active: Active, n: int, options: Options, floors: np.ndarray, pull: float) -> float:
    """Let points not come down that may by no more than the slop; returns the largest residual of that.

    Gaps of the points of a face differ by rounding, and where all of them carry load none can come down by itself.
    floors (n,): the bias of each along its normal.
    """
    worst = 0.0
    for i in range(n):
        floors[i] = active.bias[i, 0]
        if (
            0.0 < floors[i] <= options.slop / options.dt
            and active.gap[i] <= 2.0 * options.slop
            and active.r[i, 0] > 0.0
        ):
            worst = max(worst, floors[i] / pull if pull > 0.0 else np.inf)
            active.bias[i, 0] = 0.0
    return worst


@kernel
def add_push(bodies: Bodies, i: int, arm: np.ndarray, force: tuple[float, float, float], terms: np.ndarray) -> None:
    """Add the sizes of what an impulse at an arm does to body i."""
    if bodies.kind[i] != MOVING:
        return
    x, y, z = abs(force[0]), abs(force[1]), abs(force[2])
    p, q, r = abs(arm[0]), abs(arm[1]), abs(arm[2])
    add_wrench(bodies, i, (x, y, z), (q * z + r * y, r * x + p * z, p * y + q * x), terms)


@kernel
def add_wrench(
    bodies: Bodies, i: int, force: tuple[float, float, float], moment: tuple[float, float, float], terms: np.ndarray
) -> None:
    """Add the sizes of what an impulse and its moment, both given by their sizes, do to body i."""
    for k in range(3):
        J = bodies.inv_inertia[i, 3 * k : 3 * k + 3]
        terms[i, 3 + k] += abs(J[0]) * moment[0] + abs(J[1]) * moment[1] + abs(J[2]) * moment[2]
    terms[i, 0] += bodies.inv_mass[i] * force[0]
    terms[i, 1] += bodies.inv_mass[i] * force[1]
    terms[i, 2] += bodies.inv_mass[i] * force[2]


@kernel
def add_terms(island: Island, dim: int, terms: np.ndarray) -> None:
    """Add the sizes of all terms that the end velocities of an island are sums of, but for the free motion."""
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    for m in range(first, last):
        i = order[m]
        if active.r[i, 0] != 0.0:
            c, force = active.contact[i], world_impulse(active, i, dim)
            add_push(bodies, contacts.a[c], active.arm_a[i], force, terms)
            add_push(bodies, contacts.b[c], active.arm_b[i], force, terms)
    if joints is not None:
        for m in range(row_first, row_last):
            s = rows[m]
            a, b, x = joints.link.a[s // ROWS_PER_JOINT], joints.link.b[s // ROWS_PER_JOINT], joints.row.impulse[s]
            d, x = joints.row.direction[s], abs(x)
            add_wrench(
                bodies, a, (x * abs(d[0]), x * abs(d[1]), x * abs(d[2])),
                (x * abs(d[3]), x * abs(d[4]), x * abs(d[5])), terms,
            )  # fmt: skip
            add_wrench(
                bodies, b, (x * abs(d[0] + d[9]), x * abs(d[1] + d[10]), x * abs(d[2] + d[11])),
                (x * abs(d[6]), x * abs(d[7]), x * abs(d[8])), terms,
            )  # fmt: skip


@kernel
def cancels(bodies: Bodies, i: int, terms: np.ndarray) -> bool:
    """Whether the end velocity of body i is no more than the rounding of its terms."""
    v, u, w = bodies.vel[i], bodies.free[i], bodies.end[i]
    for first in range(0, 6, 3):
        left, size = 0.0, 0.0
        for k in range(first, first + 3):
            left = max(left, abs(w[k]))
            size += abs(v[k]) + abs(u[k] - v[k]) + terms[i, k]
        if not left <= CANCELLED * size:
            return False
    return True


@kernel
def laws_hold(island: Island, dim: int) -> bool:
    """Whether the impulses of an island obey the laws where nothing moves, to rounding."""
    bodies, _, active, order, first, last, joints, rows, row_first, row_last = island
    for m in range(first, last):
        i = order[m]
        r, bias = active.r[i], active.bias[i]
        load = active.mobility[i] * (abs(r[0]) + abs(r[1]) + (abs(r[2]) if dim == 3 else 0.0))
        if not disc_defect(r, active.mu[i], active.mobility[i], bias[0], bias[1], bias[2], dim) <= CANCELLED * load:
            return False
    if joints is not None:
        for m in range(row_first, row_last):
            s = rows[m]
            x, soft, target = joints.row.impulse[s], joints.row.soft[s], joints.row.target[s]
            low, high, w = joints.row.low[s], joints.row.high[s], soft * x - target
            d = row_size(joints, s, bodies) if low > -np.inf or high < np.inf else 0.0
            if d > 0.0:
                w = d * (x - min(high, max(low, x - w / d)))
            if not abs(w) <= CANCELLED * ((d + soft) * abs(x) + abs(target)):
                return False
    return True


@kernel
def holds_still(island: Island, dim: int, terms: np.ndarray) -> bool:
    """Whether the impulses of an island leave it at rest."""
    end_velocities(island, dim)
    if not laws_hold(island, dim):
        return False
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    for m in range(first, last):
        c = active.contact[order[m]]
        for k in range(6):
            terms[contacts.a[c], k], terms[contacts.b[c], k] = 0.0, 0.0
    if joints is not None:
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            for k in range(6):
                terms[joints.link.a[j], k], terms[joints.link.b[j], k] = 0.0, 0.0
    add_terms(island, dim, terms)
    for m in range(first, last):
        c = active.contact[order[m]]
        for i in (contacts.a[c], contacts.b[c]):
            if bodies.kind[i] == MOVING and not cancels(bodies, i, terms):
                return False
    if joints is not None:
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            for i in (joints.link.a[j], joints.link.b[j]):
                if bodies.kind[i] == MOVING and not cancels(bodies, i, terms):
                    return False
    return True


@kernel
def sharpened(o: Options) -> Any:
    """Options with the tolerance of rounding."""
    return Options(
        o.dim, o.dt, o.theta, o.implicit, o.gravity, o.slop, o.predictive, CANCELLED, o.start, o.newton, o.sweeps,
        o.edges, o.go_on, o.sink, o.law, o.blows, o.resisting, o.scheme, o.repeat,
    )  # fmt: skip


@kernel(apart=True)
def hold_still(island: Island, options: Options, place: np.ndarray, terms: np.ndarray) -> bool:
    """Solve an island to rounding; whether its bodies are at rest then."""
    n, rows = island.last - island.first, island.row_last - island.row_first
    if n > NOT_SHARED:
        return False
    sharp = sharpened(options)
    if island.joints is not None:
        if rows > 0:
            solve_joined(island, sharp, place, True, False)
    if rows == 0 and solve_free_bodies(island, sharp, contact_scale(island), place, True) == 0:
        return False
    return holds_still(island, options.dim, terms)


@kernel
def largest_left(bodies: Bodies, pull: float) -> float:
    """The largest end velocity of a body, relative to `pull`."""
    left = 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING and bodies.alive[i]:
            w, r = bodies.end[i], bodies.radius[i]
            left = max(left, abs(w[0]) + abs(w[1]) + abs(w[2]) + r * (abs(w[3]) + abs(w[4]) + abs(w[5])))
    return left / pull if pull > 0.0 else 0.0


@kernel(apart=True)
def come_to_rest(world: World, touching: Touching, problems: Problems) -> tuple[bool, bool, float]:
    """Look for impulses that leave all bodies at rest, and set the end velocities to zero where there are some.

    Returns whether there are, whether they are those of the last step, and the residual.  Nothing is changed where
    there are none.
    """
    bodies, joints, options, counts = world.bodies, world.joints, world.options, problems.counts
    n, count, pull = counts[ACTIVE], counts[ROWS], 0.0
    asked, x, r, floors = np.empty(count), np.empty(count), np.empty((n, 3)), np.empty(n)
    worst, known = problems.residuals[-1], True
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING and bodies.alive[i]:
            for k in range(3):
                pull = max(pull, abs(bodies.free[i, k] - bodies.vel[i, k]))
    if joints is not None:
        worst = max(worst, stop_asking(joints, problems.rows, count, asked, pull))
        for m in range(count):
            x[m] = joints.row.impulse[problems.rows[m]]
    worst = max(worst, close_gaps(problems.active, n, options, floors, pull))
    for i in range(n):
        for k in range(3):
            r[i, k] = problems.active.r[i, k]
    terms, still = np.zeros((bodies.kind.shape[0], 6)), True
    for k in range(counts[ISLANDS]):
        island = island_of(world, touching.contacts, problems, k)
        if not holds_still(island, options.dim, terms):
            known = False
            still = hold_still(island, options, problems.parent, terms)
            if not still:
                break
    for i in range(bodies.kind.shape[0]):
        if still and bodies.kind[i] == MOVING and bodies.alive[i]:
            still = cancels(bodies, i, terms)
    if still:
        worst = max(worst, largest_left(bodies, pull))
        still = worst <= options.tol
    if not still:
        for i in range(n):
            problems.active.bias[i, 0] = floors[i]
            for k in range(3):
                problems.active.r[i, k] = r[i, k]
        if joints is not None:
            for m in range(count):
                joints.row.impulse[problems.rows[m]], joints.row.target[problems.rows[m]] = x[m], asked[m]
        for i in range(bodies.kind.shape[0]):
            for k in range(6):
                bodies.end[i, k] = bodies.free[i, k]
        return False, False, 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] > 0 and bodies.alive[i]:
            for k in range(6):
                known = known and bodies.vel[i, k] == 0.0
                bodies.end[i, k] = 0.0
    return True, known, worst


@kernel(apart=True)
def close_joints(world: World, touching: Touching, problems: Problems) -> None:
    """Solve the islands with joints to rounding, so that these ask for no more than that in the next step."""
    sharp = sharpened(world.options)
    for k in range(problems.counts[ISLANDS]):
        island = island_of(world, touching.contacts, problems, k)
        if island.row_last > island.row_first and island.last - island.first <= NOT_SHARED:
            solve_joined(island, sharp, problems.parent, True, False)


@kernel
def look_for_rest(world: World, touching: Touching, problems: Problems) -> tuple[bool, bool, float]:
    """`come_to_rest` where joints are closed, and else the step that closes them; notes when to look again."""
    counts = problems.counts
    if world.joints is not None:
        if asks(world.joints, problems.rows, counts[ROWS]) and counts[WAIT] == 0 and counts[TRIED] < CLOSINGS:
            close_joints(world, touching, problems)
            counts[RESTS], counts[WAIT] = 0, -1
            return False, False, 0.0
    still, known, residual = come_to_rest(world, touching, problems)
    counts[RESTS] = 1 if still else 0
    counts[TRIED] = 0 if still else min(counts[TRIED] + 1, LONGEST)
    counts[WAIT] = 0 if still else 1 << counts[TRIED]
    return still, known, residual


@kernel
def same_numbers(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two rows are equal."""
    same = True
    for k in range(a.shape[0]):
        same = same and a[k] == b[k]
    return same


@kernel
def same_point(new: Contacts, old: Contacts, c: int) -> bool:
    """Whether point c of two steps is the same one."""
    return (
        new.a[c] == old.a[c]
        and new.b[c] == old.b[c]
        and new.pair[c, 0] == old.pair[c, 0]
        and new.pair[c, 1] == old.pair[c, 1]
        and new.gap[c] == old.gap[c]
        and new.choice[c] == old.choice[c]
        and same_numbers(new.point[c], old.point[c])
        and same_numbers(new.normal[c], old.normal[c])
        and same_numbers(new.local[c], old.local[c])
        and same_numbers(new.turned[c], old.turned[c])
        and same_numbers(new.hit[c], old.hit[c])
    )


@kernel
def same_memory(new: Touching, old: Touching, points: int, pairs: int) -> bool:
    """Whether two steps remember the same contact points, whatever these carry."""
    for k in range(pairs):
        p, q = new.pairs.entry, old.pairs.entry
        if p.key[k] != q.key[k] or p.first[k] != q.first[k] or p.count[k] != q.count[k]:
            return False
        if not same_numbers(p.pose[k], q.pose[k]):
            return False
    same = True
    for c in range(points):
        same = same and same_point(new.contacts, old.contacts, c)
    return same


@kernel(apart=True)
def keep_loads(new: Touching, old: Touching, points: int) -> bool:
    """Let contact points keep the loads of the last step to the last digit; whether all of them had one.

    A load goes into the frame of its contact and back, which rounds it.
    """
    same = True
    for c in range(points):
        p, q = new.contacts.impulse[c], old.contacts.impulse[c]
        if p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
            p[0], p[1], p[2] = q[0], q[1], q[2]
        else:
            same = same and q[0] == 0.0 and q[1] == 0.0 and q[2] == 0.0
    return same


@kernel
def loads_room(world: World) -> np.ndarray:
    """Room for the loads of joint rows, which are unknown."""
    rows = 0
    if world.joints is not None:
        rows = world.joints.row.impulse.shape[0]
    return np.full(rows, np.nan)


@kernel
def keep_numbers(book: Book, counts: np.ndarray) -> tuple[float, float, float, int, int]:
    """What a step that is repeated leaves as it is: works, failures, shifts; impacts, pairs in memory."""
    numbers = book.numbers
    return numbers[CONTACT_WORK], numbers[FAILED_STEPS], numbers[PROJECTIONS], book.counts[0], counts[PAIRS_OLD]


@kernel(apart=True)
def stays(
    world: World, sides: tuple[Touching, Touching], problems: Problems, diary: Diary,
    before: tuple[float, float, float, int, int], loads: np.ndarray,
) -> bool:  # fmt: skip
    """Whether a step at rest, whose impulses were those of the last one, leaves all as it was; loads are kept.

    sides: contact points of the step and of the one before; before: `keep_numbers`; loads: those of joint rows then,
    which become those now.
    """
    (new, old), counts, same = sides, problems.counts, True
    work, failed, shifts, impacts, pairs = keep_numbers(diary.book, counts)
    if world.joints is not None:
        for s in range(loads.shape[0]):
            same = same and world.joints.row.impulse[s] == loads[s]
            loads[s] = world.joints.row.impulse[s]
    if pairs != before[4] or not same_memory(new, old, counts[POINTS], pairs):
        return False
    same = keep_loads(new, old, counts[POINTS]) and same
    return same and work == before[0] and failed == before[1] and shifts == before[2] and impacts == before[3]


@kernel
def goes_on(world: World, span: Span, t: float, done: int) -> bool:
    """Whether nothing from outside changes rest in the step that begins at t: bodies that come, go or are driven."""
    bodies, d = world.bodies, 0
    for i in range(bodies.kind.shape[0]):
        there = bodies.life[i, 0] <= t + 0.5 * world.options.dt < bodies.life[i, 1]
        if there != bodies.alive[i]:
            return False
        if bodies.kind[i] == DRIVEN:
            if span.driven is not None:
                for k in range(6):
                    if span.driven[done, d, k] != 0.0:
                        return False
            d += 1
    return True


@kernel
def repeat(world: World, touching: Touching, problems: Problems, diary: Diary) -> None:
    """Write down a step that is the one before again."""
    geoms, contacts, active, counts, numbers = (
        world.geoms, touching.contacts, problems.active, problems.counts, diary.book.numbers,
    )  # fmt: skip
    for i in range(counts[ACTIVE]):
        if active.r[i, 0] > 0.0:
            c = active.contact[i]
            first, second = geoms.owner[contacts.pair[c, 0]], geoms.owner[contacts.pair[c, 1]]
            load = tangential_load(active, i, world.options.dim)
            for owner in (first, second):
                k = diary.channel[owner]
                if k >= 0:
                    diary.book.impulse[k, 0] += active.r[i, 0]
                    diary.book.impulse[k, 1] += load
    numbers[CREEP] += world.options.dt * numbers[CREEP_SPEED]
    numbers[OPEN_LOADS] += numbers[LOADS_NOW]
    numbers[OPEN_NORMALS] += numbers[NORMALS_NOW]
    counts[SIDE] = 1 - counts[SIDE]
