"""Narrow phase of all pairs, and the memory of contact points from step to step.

A pair whose bodies have not moved since its points were computed keeps its points.  Otherwise a new point takes the
impulse of the pair's old point that lies nearest on the body, so that the solver starts from the last solution.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import call_address, entry, kernel
from stickslip.scenes.collision.nearby import KEPT, SPARE, is_open, known_apart, moved_together
from stickslip.scenes.layout import (
    BETWEEN,
    CAPSULE,
    CORNERS,
    HULL,
    MOVING,
    PLANE,
    POLYGON,
    SMOOTH,
    WHOLE,
    ZERO,
    Bodies,
    Contacts,
    Geoms,
    Pairs,
    Room,
    Shapes,
)  # fmt: skip
from stickslip.scenes.parts import Patch, Search, Solids, Touching
from stickslip.scenes.rotation import rotate, rotate_back, to_body, z_axis

FULL = -1
WIDER = 1.25  # margin of points that are kept while a pair does not move
ROUNDED = 1e-14  # of coordinates: more than rounding makes of a height
SAME_EDGE = 1e-6  # of the size: points nearer to an edge of a rounded box lie on it
STILL = 1e-4  # of the slop: poses that differ by less have not moved
SAME_POINT = 0.05  # of the size: an old and a new point nearer than this are one point, which keeps its impulse


@kernel
def place_about(bodies: Bodies, geoms: Geoms, i: int, holder: int, pose: np.ndarray) -> None:
    """Pose of geometry i about the centre of mass of body `holder`, in world axes."""
    body = geoms.body[i]
    x, y, z = rotate(bodies.mid[body], geoms.local[i, 0], geoms.local[i, 1], geoms.local[i, 2])
    pose[0] = bodies.mid[body, 0] - bodies.mid[holder, 0] + x
    pose[1] = bodies.mid[body, 1] - bodies.mid[holder, 1] + y
    pose[2] = bodies.mid[body, 2] - bodies.mid[holder, 2] + z
    for k in range(3, 7):
        pose[k] = geoms.world[i, k]


@kernel(apart=True)
def boxes_apart(p: np.ndarray, a: np.ndarray, q: np.ndarray, b: np.ndarray, margin: float) -> bool:
    """Whether two boxes, with poses p, q and half widths a, b, are farther apart than `margin` along one of their axes.

    Most pairs whose spheres meet, like neighbours in a robot, end here: corners are placed for the others alone.
    """
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    d, e, f = rotate_back(q, x, y, z)
    x, y, z = rotate_back(p, x, y, z)
    d, e, f = abs(d) - b[0] - margin, abs(e) - b[1] - margin, abs(f) - b[2] - margin
    if max(abs(x) - a[0], abs(y) - a[1], abs(z) - a[2]) <= margin and max(d, e, f) <= 0.0:
        return False  # the centre of each lies within the other
    x, y, z = abs(x) - a[0] - margin, abs(y) - a[1] - margin, abs(z) - a[2] - margin
    w, i, j, k = p[3], -p[4], -p[5], -p[6]  # the turn from the axes of q to those of p
    s, t, u, v = q[3], q[4], q[5], q[6]
    s, t, u, v = (
        w * s - i * t - j * u - k * v,
        w * t + i * s + j * v - k * u,
        w * u - i * v + j * s + k * t,
        w * v + i * u - j * t + k * s,
    )
    xx, xy, xz = abs(1.0 - 2.0 * (u * u + v * v)), 2.0 * abs(t * u - s * v), 2.0 * abs(t * v + s * u)
    yx, yy, yz = 2.0 * abs(t * u + s * v), abs(1.0 - 2.0 * (t * t + v * v)), 2.0 * abs(u * v - s * t)
    zx, zy, zz = 2.0 * abs(t * v - s * u), 2.0 * abs(u * v + s * t), abs(1.0 - 2.0 * (t * t + u * u))
    return (
        x > xx * b[0] + xy * b[1] + xz * b[2]
        or y > yx * b[0] + yy * b[1] + yz * b[2]
        or z > zx * b[0] + zy * b[1] + zz * b[2]
        or d > xx * a[0] + yx * a[1] + zx * a[2]
        or e > xy * a[0] + yy * a[1] + zy * a[2]
        or f > xz * a[0] + yz * a[1] + zz * a[2]
    )


@kernel(inline=True)
def far_above(geoms: Geoms, i: int, j: int, margin: float) -> bool:
    """Whether the sphere about geometry i is farther above the half-space j than any margin of the pair.

    All bodies meet a half-space in the broad phase, and most of a robot is high above it.
    """
    p, q = geoms.world[i], geoms.world[j]
    a, b, c = z_axis(q)
    height = a * (p[0] - q[0]) + b * (p[1] - q[1]) + c * (p[2] - q[2])
    bound = geoms.bound[i]
    if geoms.extent[i, 3] == CORNERS:  # which stands for the whole of a rounded box
        bound += abs(geoms.measure[i, 0]) + abs(geoms.measure[i, 1])
    size = abs(p[0]) + abs(p[1]) + abs(p[2]) + abs(q[0]) + abs(q[1]) + abs(q[2]) + bound
    return height > bound + WIDER * margin + ROUNDED * size


@kernel(apart=True)
def own_points(geoms: Geoms, room: Room, i: int, pose: np.ndarray, count: int) -> int:
    """Leave out points that other parts of a rounded box have: at the ends of capsule i, on the edges of box i."""
    kept = ZERO
    near = SAME_EDGE * geoms.bound[i]
    for k in range(count):
        p, gap = room.points[k], room.gaps[k]
        x, y, z = to_body(pose, p[0], p[1], p[2])
        if geoms.kind[i] == CAPSULE:
            others = abs(z) >= geoms.extent[i, 1] - near
        else:
            box, reach = geoms.box[i], near + abs(gap)
            faces = ZERO
            faces += 1 if abs(x) >= box[0] - reach else 0
            faces += 1 if abs(y) >= box[1] - reach else 0
            faces += 1 if abs(z) >= box[2] - reach else 0
            others = faces > 1
        if not others:
            for m in range(3):
                room.points[kept, m], room.normals[kept, m] = p[m], room.normals[k, m]
            room.gaps[kept], room.choice[kept] = gap, room.choice[k]
            kept += 1
    return kept


@kernel
def points_of_pair(
    bodies: Bodies, geoms: Geoms, shapes: Shapes, room: Room, i: int, j: int, holder: int, margin: float
) -> int:
    """Write the contact points of geometries i and j (kind of i <= kind of j) into `room`; their number."""
    code = shapes.code[geoms.kind[i], geoms.kind[j]]
    if code == 0:
        return 0
    place_about(bodies, geoms, i, holder, room.pose[0])
    place_about(bodies, geoms, j, holder, room.pose[1])
    if geoms.kind[j] == HULL and boxes_apart(room.pose[0], geoms.box[i], room.pose[1], geoms.box[j], margin):
        return 0
    count = call_address(code, ZERO, shapes, geoms, room, i, j, margin)
    if geoms.extent[i, 3] == BETWEEN and geoms.kind[i] <= HULL:
        count = own_points(geoms, room, i, room.pose[0], count)
    if geoms.extent[j, 3] == BETWEEN and geoms.kind[j] <= HULL:
        count = own_points(geoms, room, j, room.pose[1], count)
    return count


@kernel(apart=True)
def look_apart(solids: Solids, search: Search, c: int, i: int, j: int, margin: float) -> bool:
    """Look how far the boxes of candidate c are apart, and note it for the steps to come; whether by the margin."""
    bodies, geoms, _ = solids
    near, pose, a = search.near, search.room.pose, geoms.body[i]
    holder = a if bodies.kind[a] == MOVING else geoms.body[j]
    place_about(bodies, geoms, i, holder, pose[0])
    place_about(bodies, geoms, j, holder, pose[1])
    wide = margin + SPARE * min(geoms.bound[i], geoms.bound[j])
    apart = boxes_apart(pose[0], geoms.box[i], pose[1], geoms.box[j], wide)
    rounding = KEPT * (wide - margin)
    near.clear[near.entry[c]] = wide - rounding - moved_together(geoms, near, i, j, wide) if apart else -np.inf
    return apart


@kernel(inline=True)
def stay_apart(solids: Solids, search: Search, c: int, i: int, j: int, margin: float) -> bool:
    """Whether the boxes of candidate c are farther apart than the margin, as far as its list knows."""
    near, apart = search.near, False
    if near.spare.shape[0] > 0:
        apart = known_apart(solids.geoms, near, c, i, j, margin)
        if not apart and is_open(near, c):
            apart = look_apart(solids, search, c, i, j, margin)
    return apart


@kernel
def table_mask(pairs: Pairs, count: int) -> int:
    """The part of the hash table that `count` pairs use, a quarter full at most, less 1: the rest is left alone."""
    size = 16
    while size < 4 * count:
        size *= 2
    return min(size, pairs.table.shape[0]) - 1


@kernel
def find_pair(pairs: Pairs, key: int, count: int) -> int:
    """Number of the pair with this key among `count` stored ones, or -1."""
    mask = table_mask(pairs, count)
    place = (key * 2654435761) & mask
    while pairs.table[place] >= 0:
        if pairs.entry.key[pairs.table[place]] == key:
            return pairs.table[place]
        place = (place + 1) & mask
    return -1


@entry
def store_pairs(pairs: Pairs, count: int) -> None:
    """Enter pairs 0 .. count - 1 into the hash table."""
    mask = table_mask(pairs, count)
    for k in range(mask + 1):
        pairs.table[k] = -1
    for k in range(count):
        place = (pairs.entry.key[k] * 2654435761) & mask
        while pairs.table[place] >= 0:
            place = (place + 1) & mask
        pairs.table[place] = k


@kernel
def unmoved(bodies: Bodies, pose: np.ndarray, a: int, b: int, tolerance: float, margin: float) -> bool:
    """Whether bodies a and b are where `pose` (two poses and a margin) says."""
    if pose[14] < margin:
        return False
    for k in range(7):
        if abs(bodies.mid[a, k] - pose[k]) > tolerance or abs(bodies.mid[b, k] - pose[7 + k]) > tolerance:
            return False
    return True


@kernel
def no_hit(new: Contacts, t: int) -> None:
    """Point t has had no impact in this step."""
    new.hit[t, 0], new.hit[t, 1], new.hit[t, 2], new.work[t] = 0.0, 0.0, 0.0, 0.0


@kernel
def keep_points(new: Contacts, total: int, old: Contacts, first: int, count: int) -> None:
    """Copy the points of a pair that has not moved."""
    for k in range(count):
        s, t = first + k, total + k
        new.a[t], new.b[t] = old.a[s], old.b[s]
        new.pair[t, 0], new.pair[t, 1] = old.pair[s, 0], old.pair[s, 1]
        new.gap[t], new.choice[t] = old.gap[s], old.choice[s]
        for i in range(3):
            new.point[t, i] = old.point[s, i]
            new.normal[t, i] = old.normal[s, i]
            new.impulse[t, i] = old.impulse[s, i]
            new.local[t, i] = old.local[s, i]
            new.turned[t, i] = old.turned[s, i]
        no_hit(new, t)


@kernel
def nearest_point(new: Contacts, t: int, alone: bool, old: Contacts, first: int, count: int, size: float) -> int:
    """Number of the old point nearest to point t on the body, -1: none is near; `alone`: the pair has one point."""
    chosen, best = -1, (SAME_POINT * size) ** 2
    for s in range(first, first + count):
        square = 0.0
        for i in range(3):
            square += (old.local[s, i] - new.local[t, i]) ** 2
        if square < best or (alone and count == 1):
            chosen, best = s, square
    return chosen


@kernel
def on_other(point: np.ndarray, holder: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """Place on the other body of a point that is told about its holder; both poses (7,)."""
    x, y, z = point[0] + (holder[0] - other[0]), point[1] + (holder[1] - other[1]), point[2] + (holder[2] - other[2])
    return rotate_back(other, x, y, z)


@kernel
def slid_point(new: Patch, t: int, old: Patch, size: float) -> int:
    """Number of the old point nearest to point t, both seen from the other body; -1: none is near.

    A point on an edge of the other body may slide far along its holder, and stays where it was on that edge.
    """
    x, y, z = on_other(new.contacts.point[t], new.holder, new.other)
    chosen, best = -1, (SAME_POINT * size) ** 2
    for s in range(old.first, old.first + old.points):
        a, b, c = on_other(old.contacts.point[s], old.holder, old.other)
        square = (a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2
        if square < best:
            chosen, best = s, square
    return chosen


@kernel
def inherit(now: Patch, before: Patch, size: float) -> None:
    """Give each of the points of a pair the impulse of the old point nearest to it; several share that of one."""
    new, total, points, _, _ = now
    old, first, count, _, _ = before
    for t in range(total, total + points):
        chosen, sharing = nearest_point(new, t, points == 1, old, first, count, size), 1.0
        if chosen < 0:
            chosen = slid_point(now, t, before, size)
            for k in range(total, total + points):
                if chosen >= 0 and nearest_point(new, k, False, old, first, count, size) == chosen:
                    chosen = -1  # it is where it was, and no other point has its impulse
        elif points > count:
            for k in range(total, total + points):
                if k != t and nearest_point(new, k, False, old, first, count, size) == chosen:
                    sharing += 1.0
        for i in range(3):
            new.impulse[t, i] = old.impulse[chosen, i] / sharing if chosen >= 0 else 0.0
            new.turned[t, i] = old.turned[chosen, i] / sharing if chosen >= 0 else 0.0


@kernel
def hand_on_load(new: Contacts, total: int, points: int, old: Contacts, first: int, count: int) -> None:
    """Give the impulse of the only old point that carries one to the deepest new point, where no new point has it.

    The point at which a curved form rolls on its rim runs along the rim, far in a step, and it is one point all the
    time: how many others of the rim are in reach beside it must not decide whether its load is known.
    """
    loaded, carriers = first, 0
    for s in range(first, first + count):
        p = old.impulse[s]
        if p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0:
            loaded, carriers = s, carriers + 1
    deepest, known = total, False
    for t in range(total, total + points):
        p = new.impulse[t]
        known = known or p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0
        deepest = t if new.gap[t] < new.gap[deepest] else deepest
    if carriers == 1 and not known:
        for i in range(3):
            new.impulse[deepest, i] = old.impulse[loaded, i]
            new.turned[deepest, i] = old.turned[loaded, i]


@kernel
def take_points(solids: Solids, room: Room, i: int, j: int, new: Contacts, total: int, count: int) -> None:
    """Append the points that `points_of_pair` found between geometries i and j; none carries anything."""
    bodies, geoms, _ = solids
    a, b = geoms.body[i], geoms.body[j]
    holder = a if bodies.kind[a] == MOVING else b
    for k in range(count):
        t = total + k
        new.a[t], new.b[t] = a, b
        new.pair[t, 0], new.pair[t, 1] = i, j
        new.gap[t], new.choice[t] = room.gaps[k], room.choice[k]
        x, y, z = room.points[k, 0], room.points[k, 1], room.points[k, 2]
        new.point[t, 0], new.point[t, 1], new.point[t, 2] = x, y, z
        for m in range(3):
            new.normal[t, m] = room.normals[k, m]
        new.local[t, 0], new.local[t, 1], new.local[t, 2] = rotate_back(bodies.mid[holder], x, y, z)
        new.impulse[t, 0], new.impulse[t, 1], new.impulse[t, 2] = 0.0, 0.0, 0.0
        new.turned[t, 0], new.turned[t, 1], new.turned[t, 2] = 0.0, 0.0, 0.0
        no_hit(new, t)


@kernel(inline=True)
def note_pair(pairs: Pairs, k: int, key: int, first: int, count: int) -> None:
    """Write down pair k of a step: its key, its first point and how many it has."""
    pairs.entry.key[k] = key
    pairs.entry.first[k] = first
    pairs.entry.count[k] = count


@kernel(apart=True)
def contact_points(
    solids: Solids, search: Search, n_candidates: int, slop: float, found: Touching, known: Touching, n_old: int,
    n_pairs: np.ndarray,
) -> int:  # fmt: skip
    """Contact points of all candidate pairs; returns their number, FULL where there is no room.  n_pairs[0]: pairs.

    found, known : contact points and pairs of this step, which are written, and of the one before, with n_old pairs.
    """
    bodies, geoms, shapes = solids
    (new, new_pairs), (old, old_pairs), candidates = found, known, search.candidates
    total, pairs = ZERO, ZERO
    bodies_count = np.int64(geoms.kind.shape[0])
    for c in range(n_candidates):
        i, j = candidates[c, 0], candidates[c, 1]
        a, b = geoms.body[i], geoms.body[j]
        key = i * bodies_count + j
        margin = bodies.travel[a] + bodies.travel[b] + 2.0 * slop
        before = find_pair(old_pairs, key, n_old) if n_old > 0 else -1
        if before < 0 and geoms.kind[j] == PLANE and far_above(geoms, i, j, margin + bodies.stir[a] + bodies.stir[b]):
            continue
        flat = geoms.kind[i] == HULL or geoms.kind[i] == POLYGON
        # a body that is hit at one corner turns, and drives another corner in
        if flat or geoms.kind[j] == SMOOTH or (geoms.kind[i] == CAPSULE and geoms.extent[i, 3] != WHOLE):
            margin += max(bodies.stir[a], bodies.stir[b])
        if before < 0 and geoms.kind[j] == HULL and stay_apart(solids, search, c, i, j, WIDER * margin):
            continue
        if before >= 0 and flat and unmoved(bodies, old_pairs.entry.pose[before], a, b, STILL * slop, margin):
            count = old_pairs.entry.count[before]
            if total + count > new.gap.shape[0] or pairs >= new_pairs.entry.key.shape[0]:
                return FULL
            keep_points(new, total, old, old_pairs.entry.first[before], count)
            for k in range(15):
                new_pairs.entry.pose[pairs, k] = old_pairs.entry.pose[before, k]
        else:
            margin *= WIDER
            holder = a if bodies.kind[a] == MOVING else b
            count = points_of_pair(bodies, geoms, shapes, search.room, i, j, holder, margin)
            if count == 0:
                continue
            if total + count > new.gap.shape[0] or pairs >= new_pairs.entry.key.shape[0]:
                return FULL
            take_points(solids, search.room, i, j, new, total, count)
            if before >= 0:
                first, others = old_pairs.entry.first[before], old_pairs.entry.count[before]
                pose, size = old_pairs.entry.pose[before], min(geoms.bound[i], geoms.bound[j])
                mine, its = (pose[:7], pose[7:14]) if holder == a else (pose[7:14], pose[:7])
                there = bodies.mid[a + b - holder]
                now = Patch(new, total, count, bodies.mid[holder], there)
                inherit(now, Patch(old, first, others, mine, its), size)
                if geoms.kind[j] == SMOOTH:
                    hand_on_load(new, total, count, old, first, others)
            for k in range(7):
                new_pairs.entry.pose[pairs, k] = bodies.mid[a, k]
                new_pairs.entry.pose[pairs, 7 + k] = bodies.mid[b, k]
            new_pairs.entry.pose[pairs, 14] = margin
        note_pair(new_pairs, pairs, key, total, count)
        pairs += 1
        total += count
    n_pairs[0] = pairs
    return total
