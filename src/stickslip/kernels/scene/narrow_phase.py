"""Narrow phase of all pairs, and the memory of contact points from step to step.

A pair whose bodies have not moved since its points were computed keeps them.  Otherwise new points take the impulse
of the old point of the same pair that lies nearest on the body, so that the solver starts from the last solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.compiled import compiled
from stickslip.kernels.scene.layout import (
    CAPSULE,
    FIELD,
    HULL,
    MOVING,
    PLANE,
    POLYGON,
    SPHERE,
    ZERO,
    Bodies,
    Contacts,
    Geoms,
    Pairs,
    Room,
)
from stickslip.kernels.scene.narrow_flat import (
    ball_hull,
    ball_polygon,
    capsule_hull,
    capsule_polygon,
    hull_pair,
    polygon_pair,
    shape_plane,
)
from stickslip.kernels.scene.narrow_round import (
    ball_capsule,
    ball_field,
    ball_plane,
    balls,
    capsule_plane,
    capsules,
    ends,
)
from stickslip.kernels.scene.rotation import to_body, to_world

FULL = -1
STILL = 1e-4  # of the slop: poses that differ by less have not moved
SAME_POINT = 0.05  # of the size: points nearer than this are the same one


@compiled
def points_of_pair(
    geoms: Geoms, hulls: Any, polygons: Any, fields: Any, room: Room, i: int, j: int, margin: float
) -> int:
    """Write the contact points of geometries i and j (kind of i <= kind of j) into `room`; their number."""
    k, m = geoms.kind[i], geoms.kind[j]
    p, q = geoms.world[i], geoms.world[j]
    r, half = geoms.extent[i, 0], geoms.extent[i, 1]
    if k == SPHERE:
        if m == SPHERE:
            return balls(room, ZERO, p[0], p[1], p[2], r, q[0], q[1], q[2], geoms.extent[j, 0], margin)
        if m == PLANE:
            return ball_plane(room, ZERO, p[0], p[1], p[2], r, q, margin)
        if m == CAPSULE:
            return ball_capsule(room, ZERO, p[0], p[1], p[2], r, q, geoms.extent[j, 1], geoms.extent[j, 0], margin)
    if k == CAPSULE:
        if m == CAPSULE:
            return capsules(room, p, half, r, q, geoms.extent[j, 1], geoms.extent[j, 0], margin)
        if m == PLANE:
            return capsule_plane(room, p, half, r, q, margin)
    if hulls is not None:
        if m == HULL:
            if k == SPHERE:
                return ball_hull(hulls, room, ZERO, p[0], p[1], p[2], r, geoms.table[j], q, margin)
            if k == CAPSULE:
                return capsule_hull(hulls, room, p, half, r, geoms.table[j], q, margin)
            size = min(geoms.bound[i], geoms.bound[j])
            return hull_pair(hulls, room, geoms.table[i], p, geoms.table[j], q, size, margin)
        if k == HULL and m == PLANE:
            return shape_plane(hulls, room, geoms.table[i], p, q, margin)
    if polygons is not None:
        if m == POLYGON:
            if k == SPHERE:
                return ball_polygon(polygons, room, ZERO, p[0], p[1], r, geoms.table[j], q, margin)
            if k == CAPSULE:
                return capsule_polygon(polygons, room, p, half, r, geoms.table[j], q, margin)
            size = min(geoms.bound[i], geoms.bound[j])
            return polygon_pair(polygons, room, geoms.table[i], p, geoms.table[j], q, size, margin)
        if k == POLYGON and m == PLANE:
            return shape_plane(polygons, room, geoms.table[i], p, q, margin)
    if fields is not None:
        if m == FIELD:
            return points_on_field(geoms, hulls, fields, room, i, j, margin)
    return 0


@compiled
def points_on_field(geoms: Geoms, hulls: Any, fields: Any, room: Room, i: int, j: int, margin: float) -> int:
    """A sphere, the ends of a capsule or the corners of a hull on a height field."""
    p, q = geoms.world[i], geoms.world[j]
    table, size, r = geoms.table[j], geoms.extent[j], geoms.extent[i, 0]
    if geoms.kind[i] == SPHERE:
        return ball_field(room, ZERO, p[0], p[1], p[2], r, q, fields.heights, table, size, margin)
    if geoms.kind[i] == CAPSULE:
        a, b, c, d, e, f = ends(p, geoms.extent[i, 1])
        count = ball_field(room, ZERO, a, b, c, r, q, fields.heights, table, size, margin)
        return ball_field(room, count, d, e, f, r, q, fields.heights, table, size, margin)
    count = ZERO
    if hulls is not None:
        if geoms.kind[i] == HULL:
            for k in range(geoms.table[i, 1]):
                v = hulls.vertices[geoms.table[i, 0] + k]
                x, y, z = to_world(p, v[0], v[1], v[2])
                count = ball_field(room, count, x, y, z, 0.0, q, fields.heights, table, size, margin)
    return count


@compiled
def find_pair(pairs: Pairs, key: int) -> int:
    """Number of the pair with this key, or -1."""
    mask = pairs.table.shape[0] - 1
    place = (key * 2654435761) & mask
    while pairs.table[place] >= 0:
        if pairs.entry.key[pairs.table[place]] == key:
            return pairs.table[place]
        place = (place + 1) & mask
    return -1


@compiled
def store_pairs(pairs: Pairs, count: int) -> None:
    """Enter pairs 0 .. count - 1 into the hash table."""
    mask = pairs.table.shape[0] - 1
    for k in range(mask + 1):
        pairs.table[k] = -1
    for k in range(count):
        place = (pairs.entry.key[k] * 2654435761) & mask
        while pairs.table[place] >= 0:
            place = (place + 1) & mask
        pairs.table[place] = k


@compiled
def unmoved(bodies: Bodies, pose: np.ndarray, a: int, b: int, tolerance: float, margin: float) -> bool:
    """Whether bodies a and b are where `pose` (two poses and a margin) says."""
    if pose[14] < margin:
        return False
    for k in range(7):
        if abs(bodies.mid[a, k] - pose[k]) > tolerance or abs(bodies.mid[b, k] - pose[7 + k]) > tolerance:
            return False
    return True


@compiled
def keep_points(new: Contacts, total: int, old: Contacts, first: int, count: int) -> None:
    """Copy the points of a pair that has not moved."""
    for k in range(count):
        s, t = first + k, total + k
        new.a[t], new.b[t] = old.a[s], old.b[s]
        new.pair[t, 0], new.pair[t, 1] = old.pair[s, 0], old.pair[s, 1]
        new.gap[t] = old.gap[s]
        for i in range(3):
            new.point[t, i] = old.point[s, i]
            new.normal[t, i] = old.normal[s, i]
            new.impulse[t, i] = old.impulse[s, i]
            new.local[t, i] = old.local[s, i]


@compiled
def inherit(new: Contacts, t: int, alone: bool, old: Contacts, first: int, count: int, size: float) -> None:
    """Give point t the impulse of the old point nearest to it on the body; `alone`: the pair has one point."""
    for i in range(3):
        new.impulse[t, i] = 0.0
    chosen, best = -1, (SAME_POINT * size) ** 2
    for s in range(first, first + count):
        square = 0.0
        for i in range(3):
            square += (old.local[s, i] - new.local[t, i]) ** 2
        if square < best or (alone and count == 1):
            chosen, best = s, square
    if chosen >= 0:
        for i in range(3):
            new.impulse[t, i] = old.impulse[chosen, i]


@compiled
def contact_points(
    bodies: Bodies, geoms: Geoms, hulls: Any, polygons: Any, fields: Any, room: Room, candidates: np.ndarray,
    n_candidates: int, slop: float, new: Contacts, new_pairs: Pairs, old: Contacts, old_pairs: Pairs,
    n_old: int, n_pairs: np.ndarray,
) -> int:  # fmt: skip
    """Contact points of all candidate pairs; returns their number, FULL where there is no room.  n_pairs[0]: pairs."""
    total, pairs = ZERO, ZERO
    bodies_count = np.int64(geoms.kind.shape[0])
    for c in range(n_candidates):
        i, j = candidates[c, 0], candidates[c, 1]
        a, b = geoms.body[i], geoms.body[j]
        key = i * bodies_count + j
        margin = bodies.reach[a] + bodies.reach[b] + 2.0 * slop
        before = find_pair(old_pairs, key) if n_old > 0 else -1
        flat = geoms.kind[i] == HULL or geoms.kind[i] == POLYGON
        if before >= 0 and flat and unmoved(bodies, old_pairs.entry.pose[before], a, b, STILL * slop, margin):
            count = old_pairs.entry.count[before]
            if total + count > new.gap.shape[0] or pairs >= new_pairs.entry.key.shape[0]:
                return FULL
            keep_points(new, total, old, old_pairs.entry.first[before], count)
            for k in range(15):
                new_pairs.entry.pose[pairs, k] = old_pairs.entry.pose[before, k]
        else:
            margin *= 1.25
            count = points_of_pair(geoms, hulls, polygons, fields, room, i, j, margin)
            if count == 0:
                continue
            if total + count > new.gap.shape[0] or pairs >= new_pairs.entry.key.shape[0]:
                return FULL
            holder = a if bodies.kind[a] == MOVING else b
            for k in range(count):
                t = total + k
                new.a[t], new.b[t] = a, b
                new.pair[t, 0], new.pair[t, 1] = i, j
                new.gap[t] = room.gaps[k]
                x, y, z = room.points[k, 0], room.points[k, 1], room.points[k, 2]
                new.point[t, 0], new.point[t, 1], new.point[t, 2] = x, y, z
                for m in range(3):
                    new.normal[t, m] = room.normals[k, m]
                new.local[t, 0], new.local[t, 1], new.local[t, 2] = to_body(bodies.mid[holder], x, y, z)
                if before >= 0:
                    first, known = old_pairs.entry.first[before], old_pairs.entry.count[before]
                    inherit(new, t, count == 1, old, first, known, min(geoms.bound[i], geoms.bound[j]))
                else:
                    new.impulse[t, 0], new.impulse[t, 1], new.impulse[t, 2] = 0.0, 0.0, 0.0
            for k in range(7):
                new_pairs.entry.pose[pairs, k] = bodies.mid[a, k]
                new_pairs.entry.pose[pairs, 7 + k] = bodies.mid[b, k]
            new_pairs.entry.pose[pairs, 14] = margin
        new_pairs.entry.key[pairs] = key
        new_pairs.entry.first[pairs] = total
        new_pairs.entry.count[pairs] = count
        pairs += 1
        total += count
    n_pairs[0] = pairs
    return total
