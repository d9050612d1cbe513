"""The time loop of a scene: free motion, contact points, islands, update, records and the book of the certificate.

A step goes from A to E over the midpoint M where contacts are evaluated (theta = 1/2: Moreau's midpoint rule):

    q_M = q_A + (1 - theta) dt u_A,    u_E = u_free + M^-1 W Lambda,    q_E = q_M + theta dt u_E.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.codes import (
    CONTACT_WORK,
    FAILED_STEPS,
    FALLBACKS,
    GAIN_STEP,
    MAX_ENERGY_GAIN,
    MAX_LCP_SIZE,
    MAX_PENETRATION,
    MAX_RESIDUAL,
    PAOLI,
    PROJECTION_ENERGY,
    PROJECTIONS,
    STEPS,
    WORK_BEFORE,
)
from stickslip.jit import entry, kernel, prange
from stickslip.projections import worse
from stickslip.scenes.blows import any_hard, impacts_in_sequence, impacts_with_joints
from stickslip.scenes.collision.broad_phase import candidate_pairs, stir
from stickslip.scenes.collision.narrow_phase import contact_points, store_pairs
from stickslip.scenes.collision.nearby import near_pairs
from stickslip.scenes.flight import free_motion, place_geoms
from stickslip.scenes.fusing import carry_members, note_before
from stickslip.scenes.islands.activation import activate
from stickslip.scenes.islands.expected import expect
from stickslip.scenes.islands.free_bodies import FIRST_STAGES, solve_free, solve_island
from stickslip.scenes.islands.island import (
    GRAINS,
    SHARPER,
    end_velocities,
    look_at_island,
    measure_island,
)
from stickslip.scenes.islands.joint_rows import PASSIVE, add_pull, came_apart, joint_rows, row_velocity
from stickslip.scenes.islands.leaps import LEAPS, free_held, take_expected, take_leapt
from stickslip.scenes.islands.problem import island_of, islands, last_impulse
from stickslip.scenes.islands.renewal import ROUNDS, linearise_joints, linearise_slips, renew
from stickslip.scenes.islands.resisting import solve_resisting_joined
from stickslip.scenes.islands.rolling import LOOK, any_resists, enough, most_sweeps, sweep
from stickslip.scenes.islands.rolling_heaps import new_momentum, sweep_with_momentum
from stickslip.scenes.islands.row_kinds import ARMATURE, SPRING
from stickslip.scenes.islands.taut import stiffen, taut_work
from stickslip.scenes.islands.trees import solve_joined, will_come_apart
from stickslip.scenes.layout import ROWS_PER_JOINT, Active, Bodies, Contacts, Options
from stickslip.scenes.notes import energies, note_contacts, record, rotor_energy
from stickslip.scenes.parts import (
    ACTIVE,
    AFRESH,
    CANDIDATES,
    COUNTS,
    CREEP,
    HELD,
    ISLANDS,
    MAX_CONTACTS,
    OPEN_LOADS,
    OPEN_NORMALS,
    PAIRS_OLD,
    PLASTIC,
    POINTS,
    RESTLESS,
    RESTS,
    ROWS,
    RULE_GAIN,
    SIDE,
    Counted,
    Diary,
    Island,
    Matter,
    Problems,
    Records,
    Search,
    Solids,
    Span,
    Touching,
    World,
)
from stickslip.scenes.push_apart import any_fast, any_sunk, deepest_at_end, parting_shifts, take_shifts
from stickslip.scenes.rest import goes_on, keep_numbers, loads_room, look_for_rest, may_rest, repeat, stays
from stickslip.scenes.rotation import advance
from stickslip.scenes.struck import any_struck, at_midpoint, strike, to_end
from stickslip.scenes.struck_joints import mark_parts

__all__ = [
    "ACTIVE",
    "APART",
    "COUNTS",
    "CREEP",
    "DONE",
    "EVENTS_FULL",
    "HELD",
    "ISLANDS",
    "MAX_CONTACTS",
    "NOT_FINITE",
    "NO_ROOM",
    "OPEN_LOADS",
    "OPEN_NORMALS",
    "PAIRS_OLD",
    "PLASTIC",
    "POINTS",
    "ROWS",
    "RULE_GAIN",
    "SIDE",
    "UNSOLVED",
    "energies",
    "march",
    "prepare",
    "solve_in_parallel",
    "start_limit",
]  # fmt: skip

DONE, EVENTS_FULL, UNSOLVED, NO_ROOM, NOT_FINITE, APART = range(6)
AT_REST = 1e-4  # times the residual that does: without contacts, impulses that are taken on add up from step to step
# Impulses of the last step are looked at before joints are solved: at rest nothing else is needed.  Where that was far
# from enough, the next steps are solved without a look: 8 of 61 microseconds of a dropped robot with 26 joints.
FAR, LOOKS = 1e3, 8  # times the residual that does; steps from one look to the next
# After a solution, jointed bodies with contacts are taken as they are below this part of that residual.  A gap that a
# joint closes by the velocity v needs an impulse against v in the step behind, and one against that in the next.  With
# the residual itself these three come round for ever, and two of three steps at rest are solved.  Bodies that creep are
# not at rest: where some solutions in a row have not led there, the next steps do with the residual itself.
# Three drops each of minitaur, aliengo, a1, vision60, spirit40, racecar, quadruped, r2d2, microseconds a step:
# 0.05, 4, 32: 11.4 15.2 22.0 18.0 13.5 9.5 12.8 7.4; 0.01, 5, 16: 10.3 14.9 21.5 18.2 13.1 9.1 11.1 6.2;
# these: 10.3 14.6 20.9 18.1 12.3 8.8 10.9 6.3; 0.002, 6, 8: 10.3 14.7 20.6 18.6 12.7 8.9 10.8 6.2.
AFTER, TRIES, PATIENCE = 0.01, 5, 8
NEAR = 1e-3  # residual up to which what Newton has found tells how a step is to be linearised


@kernel(apart=True)
def sort_islands(problems: Problems, n: int, joints: Any, n_rows: int, count: int) -> None:
    """Contacts and rows by island, each in its old order; where each island begins."""
    active, order, rows, begins, row_begins = (
        problems.active, problems.order, problems.rows, problems.begins, problems.row_begins,
    )  # fmt: skip
    for k in range(count + 1):
        begins[k] = 0
        row_begins[k] = 0
    if count == 1:  # of a robot, most often
        for i in range(n):
            order[i] = i
        begins[1] = n
        if joints is not None:
            m = 0
            for s in range(joints.row.used.shape[0] if n_rows > 0 else 0):
                if joints.row.used[s]:
                    rows[m] = s
                    m += 1
            row_begins[1] = m
        return
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
    world: World, contacts: Contacts, problems: Problems, chosen: np.ndarray, head: np.ndarray, follow: np.ndarray,
    tried: np.ndarray,
) -> None:  # fmt: skip
    """Solve the chosen islands, shared among threads: they have no body in common."""
    for m in prange(chosen.shape[0]):
        k = chosen[m]
        island = island_of(world, contacts, problems, k)
        problems.residuals[k] = solve_island(
            island, world.options, problems.parent, head, follow[2 * island.first :], problems.effort[k:],
            problems.residuals[k], tried[m],
        )  # fmt: skip


@kernel(inline=True)
def solids_of(world: World) -> Any:
    """What has a form in a scene."""
    return Solids(world.bodies, world.geoms, world.shapes)


@kernel(inline=True)
def matter_of(world: World) -> Any:
    """What decides how the bodies of a scene meet."""
    return Matter(world.bodies, world.geoms, world.materials, world.shapes.curves, world.options)


@kernel(apart=True)
def blow_by_blow(
    world: World, contacts: Contacts, points: int, counts: np.ndarray, active: Active, n: int
) -> int:  # fmt: skip
    """Do the impacts of a step one after the other, and write its active contacts anew; returns their number."""
    matter, bodies, joints, options = matter_of(world), world.bodies, world.joints, world.options
    if joints is not None:
        for s in range(joints.row.blow.shape[0]):
            joints.row.blow[s] = 0.0
        if not any_hard(matter, contacts, active, n):
            return n
        mark_parts(bodies, joints)
    vel = at_midpoint(bodies, options)
    given = bodies.free.copy()
    if joints is not None:  # for its directions: the rows themselves are those at the velocities after the impacts
        joint_rows(joints, bodies, options.dim == 2, options.dt, options.theta)
    n = activate(matter, contacts, points, vel, active)
    if joints is None:
        counts[PLASTIC] += impacts_in_sequence(matter, contacts, active, n, vel)
    else:
        counts[PLASTIC] += impacts_with_joints(matter, contacts, active, n, vel, joints, given)
    return activate(matter, contacts, points, vel, active)


@entry(apart=True)
def prepare(
    world: World, search: Search, new: Touching, old: Touching, problems: Problems, t: float, driven: Any, step: int
) -> bool:
    """Everything up to the contact problems; False where a buffer is too small (nothing has been changed then).

    The last of the residuals, which no island needs, becomes that of the free rotations.
    """
    bodies, geoms, _, _, joints, springs, options, fused = world
    counts, active = problems.counts, problems.active
    problems.residuals[-1] = free_motion(bodies, springs, options, t, driven, step, problems.wrench, fused)
    if joints is not None:
        stiffen(joints, bodies, options.dim == 2, options.dt)
    place_geoms(bodies, geoms)
    if search.near.spare.shape[0] > 0:
        found = near_pairs(bodies, geoms, search, options.slop)
    else:
        found = candidate_pairs(bodies, geoms, search, options.slop, options.dim, search.candidates)
    if found < 0:
        return False
    stir(bodies, geoms, search.candidates, found)
    points = contact_points(solids_of(world), search, found, options.slop, new, old, counts[PAIRS_OLD], counts[COUNTS:])
    if points < 0:
        return False
    expect(bodies, joints, new.contacts, points, options.dt, problems.parent)
    matter = matter_of(world)
    n = activate(matter, new.contacts, points, bodies.vel, active)
    struck = strike(bodies, new.contacts, active, n, options)
    if struck and options.law == 0:
        n = activate(matter, new.contacts, points, at_midpoint(bodies, options), active)
    if options.blows is not None:
        n = blow_by_blow(world, new.contacts, points, counts, active, n)
    n_rows = 0
    if joints is not None:
        n_rows = joint_rows(joints, bodies, options.dim == 2, options.dt, options.theta)
    count = 0
    if n + n_rows > 0:
        count = islands(bodies, new.contacts, n, active, joints, n_rows, problems.parent, problems.label)
        sort_islands(problems, n, joints, n_rows, count)
    counts[CANDIDATES], counts[POINTS], counts[ACTIVE], counts[ROWS], counts[ISLANDS] = found, points, n, n_rows, count
    return True


@kernel
def joint_work(joints: Any, bodies: Bodies, rows: np.ndarray, count: int) -> tuple[float, float]:
    """Work of motors, limits and friction in this step, and that of joints, which should do none [J].

    What goes into rotors is not work: it is energy of theirs.
    """
    work, gained, pull = 0.0, 0.0, np.zeros(12)
    for m in range(count):
        s = rows[m]
        j = s // ROWS_PER_JOINT
        a, b = joints.link.a[j], joints.link.b[j]
        own = joints.row.soft[s] > 0.0 and joints.link.kind[j] != SPRING
        if joints.row.low[s] > -np.inf or joints.row.high[s] < np.inf or own:  # motors, limits, friction, rotors
            after, before = row_velocity(joints, s, bodies.end, a, b), row_velocity(joints, s, bodies.vel, a, b)
            if joints.row.blow[s] != 0.0 and s % ROWS_PER_JOINT == PASSIVE:  # impacts have their own book
                before -= joints.row.blow[s] / joints.link.numbers[j, ARMATURE]
            work += 0.5 * joints.row.impulse[s] * (after + before)
            if s % ROWS_PER_JOINT == PASSIVE:  # a rotor keeps what it takes, in the kinetic energy
                work += 0.5 * joints.link.numbers[j, ARMATURE] * (after * after - before * before)
        elif joints.row.soft[s] == 0.0:  # a spring keeps what it takes, in the potential energy
            add_pull(joints, s, pull)
        if m + 1 == count or rows[m + 1] // ROWS_PER_JOINT != j:
            v, w, p, q = bodies.end[a], bodies.vel[a], bodies.end[b], bodies.vel[b]
            total = 0.0
            for k in range(3):
                total += pull[k] * ((p[k] + q[k]) - (v[k] + w[k]))
                total += pull[6 + k] * (p[3 + k] + q[3 + k]) - pull[3 + k] * (v[3 + k] + w[3 + k])
                total += pull[9 + k] * (p[k] + q[k])
            gained += 0.5 * total
            for k in range(12):
                pull[k] = 0.0
    return work, gained


@kernel
def take_velocities(bodies: Bodies, options: Options) -> bool:
    """The end velocities become those of the bodies, which move on with them; False where one is not finite."""
    total = 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] > 0 and bodies.alive[i]:
            v = bodies.end[i]
            for k in range(6):
                total += 0.0 * v[k]
                bodies.vel[i, k] = v[k]
            if options.dim == 2:
                # Normals lie in the plane to the last digit only. Velocities across it must not be kept: bodies that
                # are pressed together would buckle out of the plane, exponentially from step to step.
                bodies.vel[i, 2], bodies.vel[i, 3], bodies.vel[i, 4] = 0.0, 0.0, 0.0
                a, dt = bodies.pose[i], options.dt
                before = bodies.angle[i]
                # q_M was built from the velocity before; the angle follows the same two half steps
                a[0] = bodies.mid[i, 0] + options.theta * dt * v[0]
                a[1] = bodies.mid[i, 1] + options.theta * dt * v[1]
                if v[5] == 0.0 and bodies.mid[i, 3] == a[3] and bodies.mid[i, 6] == a[6]:  # it does not turn at all
                    continue
                half = 2.0 * math.atan2(bodies.mid[i, 6], bodies.mid[i, 3])
                half += 2.0 * math.pi * round((before - half) / (2.0 * math.pi))
                bodies.angle[i] = half + options.theta * dt * v[5]
                a[3], a[6] = math.cos(0.5 * bodies.angle[i]), math.sin(0.5 * bodies.angle[i])
            else:
                advance(bodies.mid[i], v, options.theta * options.dt, bodies.pose[i])
    return total == 0.0


@kernel
def part_bodies(
    world: World, search: Search, touching: Touching, problems: Problems, numbers: np.ndarray, hasty: bool
) -> None:
    """Push bodies apart that have sunk into one another; `hasty`: what `any_fast` says."""
    bodies, springs, options, solids = world.bodies, world.springs, world.options, solids_of(world)
    shift = np.zeros((bodies.kind.shape[0], 6))
    counted = Counted(problems.active, problems.counts)
    if parting_shifts(solids, search, touching, counted, world.joints, options, hasty, shift):
        kinetic, potential = energies(bodies, springs, options.gravity)
        take_shifts(bodies, shift, options.dim)
        kinetic_now, potential_now = energies(bodies, springs, options.gravity)
        numbers[PROJECTION_ENERGY] += kinetic_now + potential_now - kinetic - potential
        numbers[PROJECTIONS] += 1
        depth = deepest_at_end(solids, search, options)
        numbers[MAX_PENETRATION] = max(numbers[MAX_PENETRATION], depth)


@kernel
def note_work(world: World, touching: Touching, problems: Problems, diary: Diary, t_end: float, step: int) -> None:
    """Write down contacts, impacts and works of a step."""
    bodies, numbers = world.bodies, diary.book.numbers
    work = note_contacts(
        bodies, world.geoms, touching.contacts, problems.active, problems.counts, world.options, diary, t_end
    )
    gained = 0.0
    if world.joints is not None:
        more, gained = joint_work(world.joints, bodies, problems.rows, problems.counts[ROWS])
        work += more
        gained += taut_work(bodies)
    numbers[RULE_GAIN] = max(numbers[RULE_GAIN], gained)
    numbers[CONTACT_WORK] += work
    gain = work
    if world.options.scheme == PAOLI:  # an impact takes two steps
        gain = work + min(numbers[WORK_BEFORE], 0.0)
        numbers[WORK_BEFORE] = work
    if gain > numbers[MAX_ENERGY_GAIN]:
        numbers[MAX_ENERGY_GAIN] = gain
        numbers[GAIN_STEP] = step + 1


@kernel(apart=True)
def finish(
    world: World, search: Search, touching: Touching, problems: Problems, diary: Diary, t_end: float, step: int
) -> bool:
    """Take the end velocities: book-keeping, new poses; False where a number is not finite."""
    bodies, options, counts, numbers = world.bodies, world.options, problems.counts, diary.book.numbers
    note_work(world, touching, problems, diary, t_end, step)
    if any_struck(bodies):
        missing = to_end(bodies, options)
        if not missing <= options.tol:
            numbers[FAILED_STEPS] += 1
        numbers[MAX_RESIDUAL] = max(numbers[MAX_RESIDUAL], missing)
    part = options.sink > 0.0 and counts[POINTS] > 0
    hasty = part and any_fast(bodies, options.dt, options.sink)
    if world.fused is not None:
        note_before(world.fused, bodies)
    finite = take_velocities(bodies, options)
    if counts[POINTS] > 0 or counts[PAIRS_OLD] > 0:
        store_pairs(touching.pairs, counts[COUNTS])
    if finite and part and (hasty or any_sunk(bodies, touching.contacts, problems.active, counts[ACTIVE], options)):
        part_bodies(world, search, touching, problems, numbers, hasty)
    counts[PAIRS_OLD] = counts[COUNTS]
    counts[SIDE] = 1 - counts[SIDE]
    return finite


@entry
def start_limit(options: Options, counts: np.ndarray) -> float:
    """Residual up to which the impulses of the last step are taken as they are.

    A solution also makes up for what was wrong with the velocity before.  Taken on, that part of it would be the
    error of the next step; so the step after a solution is solved once more, and then rest is rest.
    """
    return 1e-2 * options.start if counts[AFRESH] == 1 and options.start < options.tol else options.start


class Outcome(NamedTuple):
    """How well the islands of a step are solved."""

    worst: float  # residual of an island that is left to the host, or of a free rotation
    reached: float  # largest residual of the islands that were solved here
    solved: bool  # an island of free bodies was solved here
    helped: int  # islands that needed what is rarely needed
    largest: int  # unknowns of the largest island
    held: int  # contacts that joints hold along their normals, and that are left out
    known: bool  # the impulses of the last step leave all bodies at rest


@kernel(apart=True)
def sweep_resisting(island: Island, options: Options, residual: float, scale: float, most: int, ahead: bool) -> float:
    """Sweep an island whose contacts resist rolling or spinning, `most` times at the most; returns its residual."""
    end_velocities(island, options.dim)
    done, still, momentum = 0, False, new_momentum(island)
    while done < most and not residual <= SHARPER * options.tol:
        change = sweep_with_momentum(island, options.dim, LOOK, momentum) if ahead else sweep(island, options.dim, LOOK)
        done += LOOK
        if enough(change, options, scale):
            residual = measure_island(island, options, scale, SHARPER * options.tol)
            if change == 0.0 and still:  # nothing changes any more, with velocities that were added up anew
                break
            still = change == 0.0
    return measure_island(island, options, scale, options.tol)


@kernel
def solve_resisting(island: Island, options: Options, residual: float, scale: float) -> float:
    """Solve an island whose contacts resist rolling or spinning; returns its residual.

    A few sweeps settle what is small.  Heaps need momentum.  What that leaves, a ball on a ball at times, goes back to
    sweeps of each law in turn.
    """
    for turn in range(3):
        residual = sweep_resisting(island, options, residual, scale, most_sweeps(island, turn), turn == 1)
        if residual <= options.tol:
            break
    return residual


@kernel
def solve_with_joints(island: Island, world: World, residual: float, place: np.ndarray, effort: np.ndarray) -> float:
    """Solve an island with joints; returns its residual.

    Contacts that contradict one another by how they are linearised are hard, and easy once they are linearised anew:
    that comes before all methods but the first.
    """
    options, change, found, quick, tried = world.options, np.inf, residual, island.first < island.last, False
    for turn in range(2 + ROUNDS):
        found, stage = solve_joined(island, options, place, quick, tried)
        effort[0] += 1 if stage > FIRST_STAGES else 0
        near = turn < ROUNDS and (not quick or found <= NEAR)
        again = renew(island, world.geoms, options, change) if near else 0.0
        if again > 0.0:
            change, tried = again, False
        elif found <= options.tol or not quick:
            break
        else:
            quick, tried = False, True
            for m in range(island.first, island.last):
                last_impulse(island.contacts, island.active, island.order[m], options.dim)
    return found


@kernel
def solve_joints(island: Island, world: World, residual: float, place: np.ndarray, effort: np.ndarray) -> float:
    """Solve an island with joints, whatever its contacts resist; returns its residual."""
    if world.options.resisting is not None:
        if any_resists(island):
            change = np.inf
            for _ in range(1 + ROUNDS):
                residual = solve_resisting_joined(island, world.options, place)
                change = renew(island, world.geoms, world.options, change)
                if change == 0.0:
                    break
            return residual
    return solve_with_joints(island, world, residual, place, effort)


@kernel
def note_solved(island: Island, solved: bool) -> None:
    """Write down whether an island is solved in this step."""
    if island.row_first == island.row_last:
        return
    times = island.joints.link.solved[island.rows[island.row_first] // ROWS_PER_JOINT]
    if times < 0:
        times += 1
    else:
        times = times + 1 if solved else 0
    times = -PATIENCE if times > TRIES else times
    for m in range(island.row_first, island.row_last):
        island.joints.link.solved[island.rows[m] // ROWS_PER_JOINT] = times


@kernel
def left_out(island: Island) -> int:
    """Contacts of an island that joints hold along their normals: they have no mobility, see `trees.drop_held`."""
    total = 0
    for m in range(island.first, island.last):
        if island.active.mobility[island.order[m]] == 0.0:
            total += 1
    return total


@kernel
def solve_islands(world: World, touching: Touching, problems: Problems, resume: bool) -> Any:
    """Check the impulses of the last step on all islands, and solve those that need it, as far as is done here."""
    options, residuals, limit = world.options, problems.residuals, start_limit(world.options, problems.counts)
    worst, reached, helped, largest, held, solved = residuals[-1], 0.0, 0, 0, 0, False
    here = not resume and options.edges == 0 and options.start >= 0.0
    blind, restless = not resume and problems.counts[RESTLESS] > 0, True
    for k in range(problems.counts[ISLANDS]):
        island = island_of(world, touching.contacts, problems, k)
        n, rows, scale = island.last - island.first, island.row_last - island.row_first, 0.0
        # A joint moves its bodies on curves: every step has to be solved, unless nothing moves at all.
        enough = AT_REST * options.start if rows > 0 and n == 0 else options.start
        if world.joints is not None:
            if n > 0 and rows > 0 and world.joints.link.solved[island.rows[island.row_first] // ROWS_PER_JOINT] > 0:
                enough *= AFTER
        if rows == 0 or not blind:
            end_velocities(island, options.dim)
            grains = GRAINS if resume else 0.0
            residuals[k], scale = look_at_island(island, options.dim, options.edges, grains, min(enough, limit))
        done = False
        if world.joints is not None:
            restless = restless and (rows == 0 or blind or residuals[k] > FAR * options.start)
            needed = rows > 0 and not resume and (blind or not residuals[k] <= enough)
            note_solved(island, needed)
            if needed:
                residuals[k] = solve_joints(island, world, residuals[k], problems.parent, problems.effort[k:])
                done = residuals[k] <= options.tol
            held += left_out(island) if rows > 0 else 0
        if (
            options.resisting is not None
            and rows == 0
            and not (resume or residuals[k] <= limit)
            and any_resists(island)
        ):
            residuals[k] = solve_resisting(island, options, residuals[k], scale)
            done = residuals[k] <= options.tol
            solved = solved or done
        elif here and rows == 0 and n <= options.newton and not residuals[k] <= limit:
            residuals[k] = solve_free(island, options, residuals[k], scale, problems.parent, problems.effort[k:])
            done = residuals[k] <= options.tol
            solved = solved or done
        if done:
            reached = max(reached, residuals[k])
            residuals[k] = 0.0  # no need to call the host
        worst = worse(worst, residuals[k])
        helped += problems.effort[k]
        largest = max(largest, options.dim * n + rows)
    if world.joints is not None:
        left = problems.counts[RESTLESS]
        problems.counts[RESTLESS] = left - 1 if blind else (LOOKS - 1 if restless and not resume else 0)
    return Outcome(worst, reached, solved, helped, largest, held, False)


@kernel
def largest_island(problems: Problems, dim: int) -> int:
    """Unknowns of the largest island of the step."""
    largest: Any = np.int64(0)
    for k in range(problems.counts[ISLANDS]):
        n = problems.begins[k + 1] - problems.begins[k]
        largest = max(largest, dim * n + problems.row_begins[k + 1] - problems.row_begins[k])
    return largest


@kernel
def rest_or_solve(world: World, touching: Touching, problems: Problems, resume: bool) -> tuple:
    """Rest where the step leads to it, and else what `solve_islands` finds: the items of an `Outcome`."""
    still, known, residual, counts = False, False, 0.0, problems.counts
    if not resume and may_rest(world, touching, problems.active, counts):
        still, known, residual = look_for_rest(world, touching, problems)
    else:
        counts[RESTS] = 0
    if not still:
        return solve_islands(world, touching, problems, resume)
    return 0.0, residual, False, 0, largest_island(problems, world.options.dim), 0, known


@kernel(apart=True)
def hold_back(world: World, contacts: Contacts, problems: Problems) -> bool:
    """Let limits and ropes that the end velocities lead past take part in the step; whether there are any."""
    joints, bodies, counts = world.joints, world.bodies, problems.counts
    if joints is not None:
        more = take_leapt(joints, bodies, world.options.dt)
        if more >= 0:
            n, n_rows = counts[ACTIVE], counts[ROWS] + more
            count = islands(bodies, contacts, n, problems.active, joints, n_rows, problems.parent, problems.label)
            sort_islands(problems, n, joints, n_rows, count)
            free_held(bodies, contacts, problems.active, n, world.options.dim)
            end = bodies.end.copy()
            take_expected(bodies)
            for k in range(count):
                problems.effort[k] = 0
                island = island_of(world, contacts, problems, k)
                linearise_joints(island, world.options.dim == 2, world.options.dt, True)
                linearise_slips(island, world.geoms, world.options.dim, world.options.dt, True)
            bodies.end[:] = end
            counts[ROWS], counts[ISLANDS] = n_rows, count
            return True
    return False


@kernel
def note_outcome(numbers: np.ndarray, options: Options, outcome: Outcome, contacts: int) -> None:
    """Write down how well a step is solved."""
    if not outcome.worst <= options.tol:
        numbers[FAILED_STEPS] += 1
    if outcome.helped > 0:
        numbers[FALLBACKS] += 1
    numbers[MAX_RESIDUAL] = max(numbers[MAX_RESIDUAL], max(outcome.worst, outcome.reached))
    numbers[MAX_LCP_SIZE] = max(numbers[MAX_LCP_SIZE], float(outcome.largest))
    numbers[MAX_CONTACTS] = max(numbers[MAX_CONTACTS], float(contacts))


@kernel
def tears(world: World) -> bool:
    """Whether the end velocities tear a joint, and that ends the run."""
    options = world.options
    if world.joints is not None:
        if not options.go_on:
            return will_come_apart(world.joints, world.bodies, options.dim == 2, options.dt)
    return False


@kernel
def begin_step(
    world: World, search: Search, new: Touching, old: Touching, problems: Problems, t: float, driven: Any, step: int
) -> int:
    """Everything up to the contact problems; DONE, or why the step cannot be done."""
    if not prepare(world, search, new, old, problems, t, driven, step):
        return NO_ROOM
    for k in range(problems.counts[ISLANDS]):
        problems.effort[k] = 0
    if world.joints is not None:
        if came_apart(world.joints):
            return APART
    return DONE


@kernel
def write_record(world: World, diary: Diary, span: Span, step: int, written: int, records: Records) -> int:
    """Write a record where one is due after a number of steps; returns how many are written."""
    if step % span.every != 0:
        return written
    if world.fused is not None:
        carry_members(world.fused, world.bodies)
    record(world.bodies, world.springs, world.options, diary, written, records)
    if world.joints is not None:
        records.energy[written, 0] += rotor_energy(world.joints, world.bodies)
    return written + 1


@kernel
def do_steps(
    world: World, search: Search, first: Touching, second: Touching, problems: Problems, diary: Diary, span: Span,
    records: Records,
) -> tuple[int, int, int]:  # fmt: skip
    """Do steps from where the clock of the book stands; returns (status, steps done, records written).

    A step that is not solved here is left where it is (UNSOLVED) for the host, which solves its islands and comes back
    with `span.resume`: then the first step is only checked and finished.
    """
    options, counts, book = world.options, problems.counts, diary.book
    done: Any = np.int64(0)  # a plain 0 would compile `prepare` twice
    again, loads = False, loads_room(world)
    written: Any = np.int64(0)
    step: Any = np.int64(book.numbers[STEPS])
    resume, leapt = span.resume, 0  # times that the step has led past a limit or a rope
    while done < span.steps:
        t = span.t0 + (step + done) * options.dt
        new, old = (first, second) if counts[SIDE] == 0 else (second, first)
        if again and goes_on(world, span, t, done):
            repeat(world, new, problems, diary)
            done += 1
            book.numbers[STEPS] = step + done
            written = write_record(world, diary, span, step + done, written, records)
            continue
        again = False
        if book.counts[0] + counts[POINTS] >= book.events.shape[0] and not resume:
            return EVENTS_FULL, done, written
        if not resume and leapt == 0:
            status = begin_step(world, search, new, old, problems, t, span.driven, done)
            if status == NO_ROOM:
                return NO_ROOM, done, written
            if status == APART:
                book.numbers[FAILED_STEPS] += 1
                if not options.go_on:
                    return APART, done, written
        outcome = Outcome(*rest_or_solve(world, new, problems, resume))
        if not resume and not outcome.worst <= start_limit(options, counts):
            return UNSOLVED, done, written
        if leapt < LEAPS and hold_back(world, new.contacts, problems):
            leapt, resume = leapt + 1, False
            continue
        leapt = 0
        if tears(world):
            book.numbers[FAILED_STEPS] += 1
            return APART, done, written
        counts[AFRESH] = 1 if (resume or outcome.solved) and counts[AFRESH] == 0 else 0
        resume = False
        note_outcome(book.numbers, options, outcome, counts[ACTIVE])
        counts[HELD] = max(counts[HELD], outcome.held)
        before = keep_numbers(book, counts)
        finite = finish(world, search, new, problems, diary, t + options.dt, step + done)
        again = outcome.known and stays(world, (new, old), problems, diary, before, loads) and options.repeat
        done += 1
        book.numbers[STEPS] = step + done
        if not finite:
            if outcome.worst <= options.tol:
                book.numbers[FAILED_STEPS] += 1
            return NOT_FINITE, done, written
        written = write_record(world, diary, span, step + done, written, records)
    return DONE, done, written


@entry
def march(
    world: World, search: Search, first: Touching, second: Touching, problems: Problems, diary: Diary, span: Span,
    records: Records,
) -> tuple[int, int, int]:  # fmt: skip
    """`do_steps`, and the poses of bodies that composites carry."""
    status, done, written = do_steps(world, search, first, second, problems, diary, span, records)
    if world.fused is not None:
        carry_members(world.fused, world.bodies)
    return status, done, written
