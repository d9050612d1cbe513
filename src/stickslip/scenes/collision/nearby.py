"""Pairs of geometries that are near one another, kept from step to step.

Most steps of a robot find the candidates of the step before.  A list is made of all pairs whose spheres, each wider by
a spare, meet.  As long as no geometry has come farther than its spare, what is not in the list is not in reach, and the
pairs of the list alone are looked at (Verlet's lists).  Boxes of a pair that are apart by more than the margin stay so
until the pair has moved by what they have too much (`known_apart`).

Nothing else follows from a list: candidates and contact points are those of `candidate_pairs` and `boxes_apart`, in
their order, bit for bit, however old the list is.  It holds as long as sizes and partners stay, and is made anew with
the arguments of a march.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.collision.broad_phase import ALL_PAIRS, FULL, WIDER, add_pair, in_reach
from stickslip.scenes.layout import ZERO, Bodies, Geoms
from stickslip.scenes.parts import Near, Search

FEW = 8  # geometries up to which all pairs are compared sooner than a list is kept
SPARE = 0.05  # of the bounding sphere: how far a geometry may come before the list is made anew
KEPT = 0.1  # of the spare, which is not used up: more than any rounding of what is compared
ROUNDED = 1e-14  # of coordinates: more than rounding makes of a difference
TURN = 3.2  # pi and more: the angle between two unit quaternions is at most that times the length of their difference


def near_room(n: int) -> Near:
    """Room for the list of n geometries; none where they are few, or more than `candidate_pairs` compares all of."""
    if n <= FEW or n > ALL_PAIRS:
        n = 0
    k = n * (n - 1) // 2
    return Near(
        np.zeros((n, 7)), np.zeros(n), np.zeros((n, 2)), np.zeros((k, 2), np.int64), np.zeros(k),
        np.zeros(k, np.int64), np.full(1, -1),
    )  # fmt: skip


@kernel
def note_moves(geoms: Geoms, near: Near) -> None:
    """Write bounds on how far the geometries have come since the list was made [m], and turned [rad]."""
    for i in range(near.spare.shape[0]):
        p, q, way, turn = geoms.world[i], near.world[i], 0.0, 0.0
        for k in range(3):
            way += abs(p[k] - q[k]) + ROUNDED * abs(p[k])
        for k in range(3, 7):
            turn += abs(p[k] - q[k])
        near.moved[i, 0], near.moved[i, 1] = way, TURN * turn


@kernel
def still_near(bodies: Bodies, geoms: Geoms, slop: float, near: Near) -> bool:
    """Whether no geometry has used up its spare; those without a sphere are near to all."""
    holds = True
    for i in range(near.spare.shape[0]):
        if geoms.bound[i] < np.inf:
            used = near.moved[i, 0] + bodies.travel[geoms.body[i]] + slop + KEPT * SPARE * geoms.bound[i]
            holds = holds and used <= near.spare[i]
    return holds


@kernel(apart=True)
def list_pairs(bodies: Bodies, geoms: Geoms, search: Search, slop: float) -> None:
    """Make the list of the present poses."""
    near, count, n = search.near, ZERO, search.near.spare.shape[0]
    for i in range(n):
        for k in range(7):
            near.world[i, k] = geoms.world[i, k]
        near.moved[i, 0], near.moved[i, 1] = 0.0, 0.0
        spare = SPARE * geoms.bound[i] if geoms.bound[i] < np.inf else 0.0
        near.spare[i] = bodies.travel[geoms.body[i]] + slop + spare
    for i in range(n):
        p, own, partners = near.world[i], geoms.bound[i] + near.spare[i], search.partners[i]
        for j in range(i + 1, n):
            if (partners >> j) & 1 == 0:
                continue
            q, reach = near.world[j], WIDER * (own + geoms.bound[j] + near.spare[j])
            if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2 > reach * reach:
                continue
            near.pairs[count, 0], near.pairs[count, 1], near.clear[count] = i, j, np.nan
            count += 1
    near.length[0] = count


@kernel(apart=True)
def near_pairs(bodies: Bodies, geoms: Geoms, search: Search, slop: float) -> int:
    """`candidate_pairs` from the list, which is made anew where it has to be."""
    near, count = search.near, ZERO
    if near.length[0] >= 0:
        note_moves(geoms, near)
    if near.length[0] < 0 or not still_near(bodies, geoms, slop, near):
        list_pairs(bodies, geoms, search, slop)
    for k in range(near.length[0]):
        i, j = near.pairs[k, 0], near.pairs[k, 1]
        if in_reach(bodies, geoms, slop, i, j):
            near.entry[count] = k
            count = add_pair(geoms, i, j, search.candidates, count)
            if count == FULL:
                return FULL
    return count


@kernel(inline=True)
def lever(geoms: Geoms, i: int, j: int, margin: float) -> float:
    """Bound on what a turn moves of the gap of two boxes in reach: how far they are apart, and their half diagonals."""
    return 3.0 * (geoms.bound[i] + geoms.bound[j]) + margin


@kernel(inline=True)
def moved_together(geoms: Geoms, near: Near, i: int, j: int, margin: float) -> float:
    """How much the gap of the boxes of i and j along an axis of theirs may be less than when the list was made [m]."""
    way, turn = near.moved[i, 0] + near.moved[j, 0], near.moved[i, 1] + near.moved[j, 1]
    return way + turn * lever(geoms, i, j, margin)


@kernel(inline=True)
def known_apart(geoms: Geoms, near: Near, c: int, i: int, j: int, margin: float) -> bool:
    """Whether candidate c, with geometries i and j, has boxes that are farther apart than the margin for sure."""
    return margin + moved_together(geoms, near, i, j, margin) <= near.clear[near.entry[c]]


@kernel(inline=True)
def is_open(near: Near, c: int) -> bool:
    """Whether nobody has looked yet how far the boxes of candidate c are apart, since the list was made."""
    return math.isnan(near.clear[near.entry[c]])
