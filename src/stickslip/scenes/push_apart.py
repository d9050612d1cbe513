"""Positions of bodies that have sunk into one another: shifts that touch no velocity.

A step moves bodies along the tangents of their motion, so that what turns or slides fast sinks in by second-order
terms, step after step; and what is struck goes where nobody looked for contacts.  At the end of a step such pairs are
looked at where they will be at the next midpoint, and the others along the tangent.  Points deeper there than `sink`
of the smaller body are parted:

    delta = M^-1 W lambda,   lambda >= 0,   W^T delta >= what is missing, or minus the room that other points have,

by sweeps over the points of the bodies that are shifted (projected Gauss-Seidel, normals alone).  The energy of the
shift is booked.  Bodies with joints stay where they are: joints have a rule of their own for positions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.broad_phase import candidate_pairs
from stickslip.scenes.collision.narrow_phase import find_pair, points_of_pair
from stickslip.scenes.islands.problem import contact_velocity
from stickslip.scenes.layout import (
    MOVING,
    ROWS_PER_JOINT,
    ZERO,
    Active,
    Bodies,
    Contacts,
    Geoms,
    Options,
    Pairs,
    Room,
)
from stickslip.scenes.parts import ACTIVE, CANDIDATES, COUNTS, Counted, Search, Solids, Touching
from stickslip.scenes.rotation import advance, compose, times

SWEEPS = 12
LEFT = 0.5  # of `sink`: how deep points are left that were parted
FAST = 0.25  # of `sink`: second-order terms beyond make a pair fast
NEAR = 0.01  # of its radius: how far around a body neighbours are looked for
FARTHEST = 0.1  # of its radius: how far a body is shifted in one step
POINTS_EACH = 8  # of a pair, on average, that there is room for
RINGS = 2  # neighbours of a body that is pushed, and their neighbours: pairs that are looked at anew


class Points(NamedTuple):
    """Demands of points on shifts: bodies, normals from the first to the second, arms, motion along the normal."""

    ends: np.ndarray  # (m, 2)
    normal: np.ndarray  # (m, 3)
    arms: np.ndarray  # (m, 2, 3)
    wanted: np.ndarray  # (m,)


@kernel
def allowed_depth(bodies: Bodies, a: int, b: int, share: float) -> float:
    """How deep two bodies may lie in one another [m]: a share of the radius of the smaller one that can move."""
    first = bodies.radius[a] if bodies.kind[a] == MOVING else np.inf
    second = bodies.radius[b] if bodies.kind[b] == MOVING else np.inf
    return share * min(first, second)


@kernel
def is_fast(bodies: Bodies, a: int, b: int, dt: float, depth: float) -> bool:
    """Whether the motion of two bodies has second-order terms that count against `depth`."""
    sliding, turning = 0.0, 0.0
    for k in range(3):
        sliding += (bodies.end[b, k] - bodies.end[a, k]) ** 2
        turning += bodies.end[a, 3 + k] ** 2 * bodies.radius[a] + bodies.end[b, 3 + k] ** 2 * bodies.radius[b]
    first = bodies.radius[a] if bodies.kind[a] == MOVING else np.inf
    second = bodies.radius[b] if bodies.kind[b] == MOVING else np.inf
    return dt * dt * (turning + sliding / min(first, second)) > FAST * depth


@kernel
def any_fast(bodies: Bodies, dt: float, sink: float) -> bool:
    """Whether a body is so fast that a pair may be, or goes elsewhere than could be foreseen.

    Written to `stir`, which nobody needs any more in this step: how far a body's points go beyond where its velocities
    before, and without impulses, would take them [m].  Contacts were looked for with those.
    """
    smallest, fastest, farthest, turning = np.inf, 0.0, 0.0, 0.0
    for i in range(bodies.kind.shape[0]):  # bounds that are cheaper, and enough where nothing is fast
        if bodies.kind[i] > 0 and bodies.alive[i]:
            if bodies.kind[i] == MOVING:
                smallest = min(smallest, bodies.radius[i])
            v, w = bodies.end[i], bodies.vel[i]
            turning = max(turning, (v[3] ** 2 + v[4] ** 2 + v[5] ** 2) * bodies.radius[i])
            fastest = max(fastest, v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
            there = abs(v[0] - w[0]) + abs(v[1] - w[1]) + abs(v[2] - w[2])
            about = abs(v[3] - w[3]) + abs(v[4] - w[4]) + abs(v[5] - w[5])
            farthest = max(farthest, dt * (there + about * bodies.radius[i]))
    slow = 2.0 * dt * dt * (turning * smallest + 2.0 * fastest) <= FAST * sink * smallest**2
    if slow and 2.0 * farthest <= sink * smallest:
        return False
    fastest, farthest = 0.0, 0.0
    for i in range(bodies.kind.shape[0]):
        bodies.stir[i] = 0.0
        if bodies.kind[i] > 0 and bodies.alive[i]:
            v, linear, angular = bodies.end[i], 0.0, 0.0
            turning = (v[3] ** 2 + v[4] ** 2 + v[5] ** 2) * bodies.radius[i]
            fastest = max(fastest, turning + 2.0 * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) / smallest)
            for k in range(3):
                p, q, r, s = bodies.vel[i, k], bodies.free[i, k], bodies.vel[i, 3 + k], bodies.free[i, 3 + k]
                linear += max(0.0, v[k] - max(p, q), min(p, q) - v[k]) ** 2
                angular += max(0.0, v[3 + k] - max(r, s), min(r, s) - v[3 + k]) ** 2
            bodies.stir[i] = dt * (math.sqrt(linear) + math.sqrt(angular) * bodies.radius[i])
            farthest = max(farthest, bodies.stir[i])
    return 2.0 * dt * dt * fastest > FAST * sink * smallest or 2.0 * farthest > sink * smallest


@kernel
def next_gap(bodies: Bodies, contacts: Contacts, active: Active, i: int, dt: float) -> float:
    """Gap of active contact i at the next midpoint, along the tangent of the motion."""
    c = active.contact[i]
    u, _, _ = contact_velocity(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
    return active.gap[i] + dt * u


@kernel
def any_sunk(bodies: Bodies, contacts: Contacts, active: Active, n: int, options: Options) -> bool:
    """Whether an active contact is too deep, and will be at the next midpoint."""
    for i in range(n):
        if active.gap[i] < 0.0:
            c = active.contact[i]
            depth = allowed_depth(bodies, contacts.a[c], contacts.b[c], options.sink)
            if active.gap[i] < -depth and next_gap(bodies, contacts, active, i, options.dt) < -depth:
                return True
    return False


@kernel
def go_to_next_midpoint(bodies: Bodies, geoms: Geoms, time: float) -> None:
    """Put bodies and geometries where they will be at the next midpoint."""
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] > 0 and bodies.alive[i]:
            advance(bodies.pose[i], bodies.end[i], time, bodies.mid[i])
    for i in range(geoms.kind.shape[0]):
        compose(bodies.mid[geoms.body[i]], geoms.local[i], geoms.world[i])


@kernel
def movable(bodies: Bodies, joints: Any) -> np.ndarray:
    """Which bodies may be shifted."""
    count = bodies.kind.shape[0]
    free = np.zeros(count, np.bool_)
    for i in range(count):
        free[i] = bodies.kind[i] == MOVING and bodies.alive[i]
    if joints is not None:
        for s in range(joints.row.used.shape[0]):
            if joints.row.used[s]:
                free[joints.link.a[s // ROWS_PER_JOINT]] = False
                free[joints.link.b[s // ROWS_PER_JOINT]] = False
    return free


@kernel
def turn_of(bodies: Bodies, body: int, arm: np.ndarray, n: np.ndarray) -> tuple[float, float, float]:
    """J^-1 (arm x n) of a body."""
    return times(
        bodies.inv_inertia[body],
        arm[1] * n[2] - arm[2] * n[1],
        arm[2] * n[0] - arm[0] * n[2],
        arm[0] * n[1] - arm[1] * n[0],
    )


@kernel
def along(d: np.ndarray, arm: np.ndarray, n: np.ndarray) -> float:
    """How far a point of a body goes along n when the body is shifted and turned by d."""
    x = d[0] + d[4] * arm[2] - d[5] * arm[1]
    y = d[1] + d[5] * arm[0] - d[3] * arm[2]
    z = d[2] + d[3] * arm[1] - d[4] * arm[0]
    return n[0] * x + n[1] * y + n[2] * z


@kernel(apart=True)
def sweep_apart(bodies: Bodies, free: np.ndarray, points: Points, n: int) -> np.ndarray:
    """Shifts and small turns (bodies, 6) that give n points the motion they want, or more."""
    ends, normal, arms, wanted = points
    shift, moved = np.zeros((free.shape[0], 6)), np.zeros(free.shape[0], np.bool_)
    size, total = np.zeros(n), np.zeros(n)
    turn = np.zeros((n, 2, 3))
    for i in range(n):
        for side in range(2):
            body = ends[i, side]
            if free[body]:
                x, y, z = turn_of(bodies, body, arms[i, side], normal[i])
                turn[i, side, 0], turn[i, side, 1], turn[i, side, 2] = x, y, z
                size[i] += bodies.inv_mass[body]
                for k in range(3):
                    p, q = (k + 1) % 3, (k + 2) % 3
                    lever = arms[i, side, p] * normal[i, q] - arms[i, side, q] * normal[i, p]
                    size[i] += lever * turn[i, side, k]
                moved[body] = moved[body] or wanted[i] > 0.0
    for _ in range(SWEEPS):
        for i in range(n):
            a, b = ends[i, 0], ends[i, 1]
            if not (moved[a] or moved[b]) or not size[i] > 0.0:
                continue
            now = along(shift[b], arms[i, 1], normal[i]) - along(shift[a], arms[i, 0], normal[i])
            new = max(0.0, total[i] + (wanted[i] - now) / size[i])
            if new != total[i]:
                for side in range(2):
                    body = ends[i, side]
                    if free[body]:
                        step = (new - total[i]) * (1.0 if side == 1 else -1.0)
                        for k in range(3):
                            shift[body, k] += step * bodies.inv_mass[body] * normal[i, k]
                            shift[body, 3 + k] += step * turn[i, side, k]
                        moved[body] = True
                total[i] = new
    return shift


@kernel(apart=True)
def ask_pair(
    solids: Solids, room: Room, i: int, j: int, margin: float, sink: float, points: Points, count: int
) -> tuple[int, bool]:
    """Append the points of geometries i and j, at the next midpoint; their number, and whether one is too deep."""
    bodies, geoms, shapes = solids
    a, b = geoms.body[i], geoms.body[j]
    depth = allowed_depth(bodies, a, b, sink)
    holder, other = (a, b) if bodies.kind[a] == MOVING else (b, a)
    found, deep = points_of_pair(bodies, geoms, shapes, room, i, j, holder, max(margin, depth)), False
    for m in range(found):
        if count >= points.wanted.shape[0]:
            break
        missing = -LEFT * depth - room.gaps[m]
        deep = deep or room.gaps[m] < -depth
        points.wanted[count] = missing if room.gaps[m] < -depth else min(0.0, missing)
        points.ends[count, 0], points.ends[count, 1] = a, b
        for p in range(3):
            points.normal[count, p] = room.normals[m, p]
            arm, across = room.points[m, p], bodies.mid[holder, p] - bodies.mid[other, p]
            points.arms[count, 0, p] = arm if holder == a else arm + across
            points.arms[count, 1, p] = arm if holder == b else arm + across
        count += 1
    return count, deep


@kernel
def ask_contact(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, options: Options, points: Points, count: int
) -> bool:
    """Append active contact i, along the tangent of the motion; whether it is too deep."""
    c = active.contact[i]
    a, b = contacts.a[c], contacts.b[c]
    depth = allowed_depth(bodies, a, b, options.sink)
    gap = next_gap(bodies, contacts, active, i, options.dt)
    missing, deep = -LEFT * depth - gap, active.gap[i] < -depth and gap < -depth
    points.wanted[count] = missing if deep else min(0.0, missing)
    points.ends[count, 0], points.ends[count, 1] = a, b
    for p in range(3):
        points.normal[count, p] = active.frame[i, p]
        points.arms[count, 0, p], points.arms[count, 1, p] = active.arm_a[i, p], active.arm_b[i, p]
    return deep


@kernel
def spread(bodies: Bodies, geoms: Geoms, candidates: np.ndarray, chosen: np.ndarray, pushed: np.ndarray) -> None:
    """Choose the pairs that a pushed body is in, and mark the bodies of these pairs as pushed, too."""
    before = pushed.copy()
    for c in range(chosen.shape[0]):
        a, b = geoms.body[candidates[c, 0]], geoms.body[candidates[c, 1]]
        if (before[a] and bodies.kind[a] == MOVING) or (before[b] and bodies.kind[b] == MOVING):
            chosen[c], pushed[a], pushed[b] = True, True, True


@kernel(apart=True)
def ask_all(
    solids: Solids, search: Search, chosen: np.ndarray, touching: Touching, counted: Counted, options: Options,
    margin: float, points: Points,
) -> tuple[int, bool]:  # fmt: skip
    """Write what points ask for: of chosen pairs by geometry, of other active contacts along the tangent of the motion.

    Returns their number, and whether one is too deep.
    """
    candidates, active, pairs = search.candidates, counted.active, touching.pairs
    n, n_pairs = counted.counts[ACTIVE], counted.counts[COUNTS]
    count, needed, geometries = ZERO, False, np.int64(solids.geoms.kind.shape[0])
    by_geometry = np.zeros(n_pairs, np.bool_)
    for c in range(chosen.shape[0]):
        if chosen[c]:
            k = find_pair(pairs, candidates[c, 0] * geometries + candidates[c, 1], n_pairs)
            if k >= 0:
                by_geometry[k] = True
    for i in range(n):
        if not by_geometry[pair_of(pairs, n_pairs, active.contact[i])]:
            needed = ask_contact(solids.bodies, touching.contacts, active, i, options, points, count) or needed
            count += 1
    for c in range(chosen.shape[0]):
        if chosen[c]:
            i, j = candidates[c, 0], candidates[c, 1]
            count, deep = ask_pair(solids, search.room, i, j, margin, options.sink, points, count)
            needed = needed or deep
    return count, needed


@kernel(apart=True)
def parting_shifts(
    solids: Solids, search: Search, touching: Touching, counted: Counted, joints: Any, options: Options, hasty: bool,
    shift: np.ndarray,
) -> bool:  # fmt: skip
    """Write the shifts that part the points which are too deep; False where there are none.

    Velocities and poses are those of the end of the step; `hasty`: what `any_fast` says.
    """
    bodies, geoms, _ = solids
    dt, candidates, n = options.dt, search.candidates, counted.counts[ACTIVE]
    n_candidates = counted.counts[CANDIDATES]
    go_to_next_midpoint(bodies, geoms, (1.0 - options.theta) * dt)
    if hasty:
        for i in range(bodies.kind.shape[0]):
            bodies.travel[i] = NEAR * bodies.radius[i]
        n_candidates = max(ZERO, candidate_pairs(bodies, geoms, search, options.slop, options.dim, candidates))
    chosen, some = np.zeros(n_candidates, np.bool_), ZERO
    if hasty:
        for c in range(n_candidates):
            a, b = geoms.body[candidates[c, 0]], geoms.body[candidates[c, 1]]
            depth = allowed_depth(bodies, a, b, options.sink)
            # a body that was struck may reach others that nobody could foresee
            chosen[c] = is_fast(bodies, a, b, dt, depth) or bodies.stir[a] + bodies.stir[b] > depth
            some += chosen[c]
    if some == 0 and not any_sunk(bodies, touching.contacts, counted.active, n, options):
        return False
    most = n + POINTS_EACH * some
    points = Points(np.empty((most, 2), np.int64), np.empty((most, 3)), np.empty((most, 2, 3)), np.empty(most))
    count, needed = ask_all(solids, search, chosen, touching, counted, options, 0.0, points)
    if not needed:
        return False
    # What is pushed must not be pushed into a neighbour, nor that one into the next: all pairs around are asked by
    # geometry, as far as the farthest push goes.
    farthest, pushed = 0.0, np.zeros(bodies.kind.shape[0], np.bool_)
    for m in range(count):
        if points.wanted[m] > 0.0:
            farthest = max(farthest, points.wanted[m])
            pushed[points.ends[m, 0]], pushed[points.ends[m, 1]] = True, True
    for _ in range(RINGS):
        spread(bodies, geoms, candidates, chosen, pushed)
    some = ZERO
    for c in range(n_candidates):
        some += chosen[c]
    most = n + POINTS_EACH * some
    points = Points(np.empty((most, 2), np.int64), np.empty((most, 3)), np.empty((most, 2, 3)), np.empty(most))
    count, _ = ask_all(solids, search, chosen, touching, counted, options, farthest, points)
    shift[:] = sweep_apart(bodies, movable(bodies, joints), points, count)
    return True


@kernel
def pair_of(pairs: Pairs, n_pairs: int, c: int) -> int:
    """Number of the pair that contact point c belongs to: the last one that begins at c or before."""
    low, high = ZERO, n_pairs
    while high - low > 1:
        middle = (low + high) // 2
        if pairs.entry.first[middle] <= c:
            low = middle
        else:
            high = middle
    return low


@kernel
def take_shifts(bodies: Bodies, shift: np.ndarray, dim: int) -> None:
    """Move the poses, no body farther than FARTHEST of its radius."""
    for i in range(shift.shape[0]):
        d = shift[i]
        length = math.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2)
        length += bodies.radius[i] * math.sqrt(d[3] ** 2 + d[4] ** 2 + d[5] ** 2)
        if not length > 0.0:
            continue
        part = min(1.0, FARTHEST * bodies.radius[i] / length)
        pose = bodies.pose[i]
        if dim == 2:
            bodies.angle[i] += part * d[5]
            pose[0] += part * d[0]
            pose[1] += part * d[1]
            pose[3], pose[6] = math.cos(0.5 * bodies.angle[i]), math.sin(0.5 * bodies.angle[i])
        else:
            advance(pose, d, part, pose)


@kernel(apart=True)
def deepest_at_end(solids: Solids, search: Search, options: Options) -> float:
    """Deepest penetration [m] where the bodies are at the end of a step.

    Shifts part bodies where they will be at the next midpoint.  What turns or flies apart until then may overlap by
    more at the end of the step, which is what a record shows.
    """
    bodies, geoms, shapes = solids
    room, candidates = search.room, search.candidates
    go_to_next_midpoint(bodies, geoms, 0.0)
    for i in range(bodies.kind.shape[0]):
        bodies.travel[i] = 0.0
    deepest = 0.0
    for c in range(candidate_pairs(bodies, geoms, search, options.slop, options.dim, candidates)):
        i, j = candidates[c, 0], candidates[c, 1]
        a, b = geoms.body[i], geoms.body[j]
        holder = a if bodies.kind[a] == MOVING else b
        for m in range(points_of_pair(bodies, geoms, shapes, room, i, j, holder, 0.0)):
            deepest = max(deepest, -room.gaps[m])
    return deepest
