"""Broad phase: pairs of geometries whose bounding spheres can meet within the step.

Small scenes compare all pairs.  Others sort the geometries into the cells of a grid, as wide as the largest sphere, and
compare neighbouring cells; planes, fields and the few geometries that are much larger than the rest meet everyone.
Cells are found by a hash, so the grid has no borders.  The order of the pairs depends on the numbering alone.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.layout import MOVING, ZERO, Bodies, Geoms
from stickslip.scenes.parts import Search

ALL_PAIRS = 40  # geometries up to which all pairs are compared
FULL = -1
WIDER = 1.0 + 1e-12  # than sums of reaches that are rounded in another order


@kernel
def excluded(first: int, second: int, count: int, keys: np.ndarray) -> bool:
    """Whether two of `count` bodies were asked to ignore one another; keys are sorted."""
    key = min(first, second) * count + max(first, second)
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < keys.shape[0] and keys[low] == key


def partners_of(owners: np.ndarray, holders: np.ndarray, ignored: set[tuple[int, int]]) -> np.ndarray:
    """Bits of the geometries that each geometry may ever touch (n,), for ALL_PAIRS of them at most; else none (0,).

    owners, holders : number of the body of each geometry in the scene, and of the body that moves it
    """
    n = len(owners)
    if n > ALL_PAIRS:
        return np.zeros(0, np.int64)
    found = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(n):
            pair = (int(min(owners[i], owners[j])), int(max(owners[i], owners[j])))
            if holders[i] != holders[j] and pair not in ignored:
                found[i] |= np.int64(1) << np.int64(j)
    return found


@kernel
def in_reach(bodies: Bodies, geoms: Geoms, slop: float, i: int, j: int) -> bool:
    """Whether geometries i and j, which may touch, have to be looked at."""
    a, b = geoms.body[i], geoms.body[j]
    if a == b or not (bodies.alive[a] and bodies.alive[b]):
        return False
    if bodies.kind[a] != MOVING and bodies.kind[b] != MOVING:
        return False
    reach = geoms.bound[i] + geoms.bound[j] + bodies.travel[a] + bodies.travel[b] + 2.0 * slop
    if reach < np.inf:
        square = 0.0
        for k in range(3):
            square += (geoms.world[i, k] - geoms.world[j, k]) ** 2
        if square > reach * reach:
            return False
    return True


@kernel
def may_meet(bodies: Bodies, geoms: Geoms, ignore: np.ndarray, slop: float, i: int, j: int) -> bool:
    """Whether geometries i and j have to be looked at."""
    if not in_reach(bodies, geoms, slop, i, j):
        return False
    return ignore.shape[0] == 0 or not excluded(geoms.owner[i], geoms.owner[j], bodies.kind.shape[0], ignore)


@kernel
def add_pair(geoms: Geoms, i: int, j: int, pairs: np.ndarray, count: int) -> int:
    """Append a pair, ordered by kind; FULL where there is no room."""
    if count >= pairs.shape[0]:
        return FULL
    if geoms.kind[i] > geoms.kind[j]:
        i, j = j, i
    pairs[count, 0] = i
    pairs[count, 1] = j
    return count + 1


@kernel
def hash_cell(x: int, y: int, z: int, mask: int) -> int:
    return ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) & mask


@kernel(apart=True)
def candidate_pairs(bodies: Bodies, geoms: Geoms, search: Search, slop: float, dim: int, pairs: np.ndarray) -> int:
    """Write the pairs and return their number, FULL where `pairs` is too short."""
    n = geoms.kind.shape[0]
    count = ZERO
    if n <= ALL_PAIRS:
        near = np.empty(
            (ALL_PAIRS, 4)
        )  # centres and reaches side by side: most of the time goes to pairs that are apart
        for i in range(n):
            near[i, 0], near[i, 1], near[i, 2] = geoms.world[i, 0], geoms.world[i, 1], geoms.world[i, 2]
            near[i, 3] = WIDER * (geoms.bound[i] + bodies.travel[geoms.body[i]] + slop)
        for i in range(n):
            x, y, z, own, partners = near[i, 0], near[i, 1], near[i, 2], near[i, 3], search.partners[i]
            for j in range(i + 1, n):
                if (partners >> j) & 1 == 0:
                    continue
                # as in `in_reach`, which most pairs need not be asked
                reach = own + near[j, 3]
                if (x - near[j, 0]) ** 2 + (y - near[j, 1]) ** 2 + (z - near[j, 2]) ** 2 > reach * reach:
                    continue
                if in_reach(bodies, geoms, slop, i, j):
                    count = add_pair(geoms, i, j, pairs, count)
                    if count == FULL:
                        return FULL
        return count
    return grid_pairs(bodies, geoms, search.ignore, slop, dim, pairs)


@kernel(apart=True)
def grid_pairs(bodies: Bodies, geoms: Geoms, ignore: np.ndarray, slop: float, dim: int, pairs: np.ndarray) -> int:
    """`candidate_pairs` by the grid."""
    n = geoms.kind.shape[0]
    count = ZERO
    width = 0.0
    for i in range(n):
        if not geoms.large[i] and bodies.alive[geoms.body[i]]:
            width = max(width, 2.0 * (geoms.bound[i] + bodies.travel[geoms.body[i]] + slop))
    size = 1
    while size < 2 * n:
        size *= 2
    begins = np.zeros(size + 1, np.int64)
    cell = np.zeros((n, 3), np.int64)
    bucket = np.full(n, -1, np.int64)
    for i in range(n):
        if geoms.large[i] or not bodies.alive[geoms.body[i]]:
            continue
        for k in range(dim):
            cell[i, k] = int(math.floor(geoms.world[i, k] / width))
        bucket[i] = hash_cell(cell[i, 0], cell[i, 1], cell[i, 2], size - 1)
        begins[bucket[i] + 1] += 1
    for k in range(size):
        begins[k + 1] += begins[k]
    place = begins[:size].copy()
    order = np.empty(begins[size], np.int64)
    for i in range(n):
        if bucket[i] >= 0:
            order[place[bucket[i]]] = i
            place[bucket[i]] += 1
    depth = 1 if dim == 3 else 0
    for i in range(n):
        if not bodies.alive[geoms.body[i]]:
            continue
        if bucket[i] < 0:  # large: everyone, but other large ones once
            for j in range(n):
                if (bucket[j] >= 0 or j > i) and may_meet(bodies, geoms, ignore, slop, i, j):
                    count = add_pair(geoms, i, j, pairs, count)
                    if count == FULL:
                        return FULL
            continue
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                for dz in range(-depth, depth + 1):
                    x, y, z = cell[i, 0] + dx, cell[i, 1] + dy, cell[i, 2] + dz
                    k = hash_cell(x, y, z, size - 1)
                    for p in range(begins[k], begins[k + 1]):
                        j = order[p]
                        if j <= i or cell[j, 0] != x or cell[j, 1] != y or cell[j, 2] != z:
                            continue
                        if may_meet(bodies, geoms, ignore, slop, i, j):
                            count = add_pair(geoms, i, j, pairs, count)
                            if count == FULL:
                                return FULL
    return count


@kernel
def stir(bodies: Bodies, geoms: Geoms, pairs: np.ndarray, count: int) -> None:
    """Write the largest `travel` of the bodies that may hit a body in this step: a blow may send it as far."""
    for i in range(bodies.kind.shape[0]):
        bodies.stir[i] = 0.0
    for k in range(count):
        a, b = geoms.body[pairs[k, 0]], geoms.body[pairs[k, 1]]
        bodies.stir[a] = max(bodies.stir[a], bodies.travel[b])
        bodies.stir[b] = max(bodies.stir[b], bodies.travel[a])
