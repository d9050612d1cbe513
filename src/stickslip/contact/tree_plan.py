"""Order in which bodies on trees are eliminated, and the blocks that the factors of `tree_blocks` need.

Children come before parents, bodies with the fewest neighbours first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.pool import Pool, truths, whole_numbers
from stickslip.contact.tree_problem import Rows, VelocityProblem
from stickslip.jit import kernel


class Plan(NamedTuple):
    """Order of elimination and the blocks it needs."""

    order: np.ndarray  # (m,) bodies
    begins: np.ndarray  # (m + 1,) where the neighbours of each body of the order begin in `later`
    later: np.ndarray  # (e,) neighbours when a body is eliminated, in the order of elimination
    slot: np.ndarray  # (m, m) number of the block of each ordered pair, any where there is none; (0, 0): there are none
    # of a body and its neighbour later[e]: 2 e, of the neighbour and the body: 2 e + 1


class Heap(NamedTuple):
    """Bodies without children left, each before the two behind it: `body[k]` before `body[2 k + 1]` and the next."""

    body: np.ndarray  # (m,)
    place: np.ndarray  # (m,) of each body, -1 where it is not in it
    size: np.ndarray  # (1,)


@kernel
def touch(near: np.ndarray, degree: np.ndarray, i: int, j: int) -> None:
    """Make two bodies neighbours."""
    if not near[i, j]:
        near[i, j], near[j, i] = True, True
        degree[i] += 1
        degree[j] += 1


@kernel(inline=True)
def comes_before(degree: np.ndarray, i: int, j: int) -> bool:
    """Whether body i is to be eliminated before body j: it has fewer neighbours, or as many and the lower number."""
    return degree[i] < degree[j] or (degree[i] == degree[j] and i < j)


@kernel
def settle(heap: Heap, degree: np.ndarray, i: int) -> None:
    """Move body i of a heap to where its degree belongs."""
    at = heap.place[i]
    while at > 0:
        other = heap.body[(at - 1) // 2]
        if not comes_before(degree, i, other):
            break
        heap.body[at], heap.place[other] = other, at
        at = (at - 1) // 2
    while 2 * at + 1 < heap.size[0]:
        child = 2 * at + 1
        if child + 1 < heap.size[0] and comes_before(degree, heap.body[child + 1], heap.body[child]):
            child += 1
        other = heap.body[child]
        if not comes_before(degree, other, i):
            break
        heap.body[at], heap.place[other] = other, at
        at = child
    heap.body[at], heap.place[i] = i, at


@kernel
def add_to_heap(heap: Heap, degree: np.ndarray, i: int) -> None:
    """Add body i, which has no children left."""
    heap.place[i] = heap.size[0]
    heap.size[0] += 1
    settle(heap, degree, i)


@kernel
def next_body(heap: Heap, degree: np.ndarray) -> int:
    """Take the body without children left that has the fewest neighbours; the first of these."""
    best = heap.body[0]
    heap.size[0] -= 1
    heap.place[best] = -1
    last = heap.body[heap.size[0]]
    if last != best:
        heap.place[last] = 0
        settle(heap, degree, last)
    return best


@kernel(apart=True)
def find_plan(contacts: VelocityProblem, rows: Rows, parent: np.ndarray, pool: Pool) -> Any:
    """Order of elimination and the blocks of the factors; how many ordered pairs of bodies have blocks."""
    m, coupled = parent.shape[0], False
    for a, b in ((contacts.a, contacts.b), (rows.a, rows.b)):
        for i in range(a.shape[0]):
            coupled = coupled or (a[i] >= 0 and b[i] >= 0)
    width = m if coupled else 0
    near, done = np.zeros((width, width), np.bool_), truths(pool, m)
    degree, children, order = whole_numbers(pool, m), whole_numbers(pool, m), whole_numbers(pool, m)
    neighbours, begins = whole_numbers(pool, m), whole_numbers(pool, m + 1)
    heap = Heap(whole_numbers(pool, m), whole_numbers(pool, m), np.zeros(1, np.int64))
    for j in range(m):
        degree[j], children[j], heap.place[j] = 0, 0, -1
    for a, b in ((contacts.a, contacts.b), (rows.a, rows.b)):
        for i in range(a.shape[0]):
            if a[i] >= 0 and b[i] >= 0:
                touch(near, degree, a[i], b[i])
    for j in range(m):
        if parent[j] >= 0:
            children[parent[j]] += 1
    for j in range(m):
        if children[j] == 0:
            add_to_heap(heap, degree, j)
    found = 0
    begins[0] = 0
    for k in range(m):
        i = next_body(heap, degree)
        order[k], done[i], count, p, j = i, True, 0, parent[i], 0
        while count < degree[i] and j < width:
            if near[i, j] and not done[j]:
                neighbours[count] = j
                count += 1
            j += 1
        for s in range(count):
            degree[neighbours[s]] -= 1
        for s in range(count):
            for t in range(s):
                touch(near, degree, neighbours[s], neighbours[t])
            if p >= 0 and neighbours[s] != p:
                touch(near, degree, neighbours[s], p)
        for s in range(count):
            if heap.place[neighbours[s]] >= 0:
                settle(heap, degree, neighbours[s])
        if p >= 0:
            children[p] -= 1
            if children[p] == 0:
                add_to_heap(heap, degree, p)
        found += count
        begins[k + 1] = found
    later, slot, at = np.empty(found, np.int64), np.empty((width, width), np.int64), 0
    for k in range(m):
        i, s = order[k], k + 1
        while at < begins[k + 1] and s < m:
            j = order[s]
            if near[i, j]:
                later[at], slot[i, j], slot[j, i] = j, 2 * at, 2 * at + 1
                at += 1
            s += 1
    return Plan(order, begins, later, slot), 2 * found
