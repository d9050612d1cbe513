"""The contacts of a large island sorted for sweeps that threads share.

Levels of a breadth-first search through the bodies are grouped into slabs; a contact of slab k touches bodies of slabs
k and k + 1 alone, so all even slabs are swept side by side, then all odd ones.  The slabs do not depend on the number
of threads, and neither does any bit of the result.  In a slab the contacts of spheres come first (`sphere_contacts`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import entry
from stickslip.scenes.islands.sphere_contacts import between_spheres
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts

SLABS = 16
OUTSIDE = -1  # a body that does not move freely


class Lists(NamedTuple):
    """The contacts of each body: its first one, and the next one behind each."""

    head: np.ndarray
    follow: np.ndarray


@entry
def breadth_first(
    contacts: Contacts, active: Active, order: np.ndarray, first: int, start: int, lists: Lists, level: np.ndarray,
    queue: np.ndarray,
) -> int:  # fmt: skip
    """Levels of the bodies seen from `start`, and the bodies in the order met; returns their number."""
    head, follow = lists
    level[start], queue[0], count, k = 0, start, 1, 0
    while k < count:
        body = queue[k]
        p = head[body]
        while p >= 0:
            c = active.contact[order[first + p // 2]]
            other = contacts.b[c] if p % 2 == 0 else contacts.a[c]
            if head[other] >= 0 and level[other] < 0:
                level[other] = level[body] + 1
                queue[count] = other
                count += 1
            p = follow[p]
        k += 1
    return count


@entry
def slabs_of(
    bodies: Bodies, contacts: Contacts, active: Active, order: np.ndarray, first: int, last: int, lists: Lists,
    dim: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Contacts sorted by slab, where the groups of each slab begin, bodies as met, and their place by number.

    Slab s has two groups: contacts of spheres from begins[2 s], others from begins[2 s + 1].

    head (bodies,) is -1 on entry and again on return; follow (2 contacts,).
    """
    head, follow = lists
    n = last - first
    total = head.shape[0]
    start = OUTSIDE
    for m in range(n - 1, -1, -1):  # lists of the contacts of each body, ascending
        c = active.contact[order[first + m]]
        for side in range(2):
            body = contacts.a[c] if side == 0 else contacts.b[c]
            if bodies.kind[body] == MOVING:
                follow[2 * m + side] = head[body]
                head[body] = 2 * m + side
                start = body
    level, queue = np.full(total, -1, np.int64), np.empty(total, np.int64)
    count = breadth_first(contacts, active, order, first, start, lists, level, queue)
    start = queue[count - 1]  # from one end of the island to the other: many levels
    for k in range(count):
        level[queue[k]] = -1
    breadth_first(contacts, active, order, first, start, lists, level, queue)
    place = np.full(total, OUTSIDE, np.int64)
    for k in range(count):
        place[queue[k]] = k
        head[queue[k]] = -1
    group, begins = group_levels(
        bodies, contacts, active, order[first:last], n, level, level[queue[count - 1]] + 1, dim
    )
    sorted_contacts, at = np.empty(n, np.int64), begins.copy()
    for m in range(n):
        sorted_contacts[at[group[m]]] = order[first + m]
        at[group[m]] += 1
    return sorted_contacts, begins, queue[:count].copy(), place


@entry
def group_levels(
    bodies: Bodies, contacts: Contacts, active: Active, order: np.ndarray, n: int, level: np.ndarray, levels: int,
    dim: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Group of n contacts (its slab is that of the lower level of its bodies), and where the groups begin."""
    group, size = np.empty(n, np.int64), np.zeros(levels, np.int64)
    for m in range(n):
        c = active.contact[order[m]]
        a, b = contacts.a[c], contacts.b[c]
        if bodies.kind[a] == MOVING and bodies.kind[b] == MOVING:
            group[m] = min(level[a], level[b])
        else:
            group[m] = level[a] if bodies.kind[a] == MOVING else level[b]
        size[group[m]] += 1
    number, filled = np.zeros(levels, np.int64), 0
    for k in range(1, levels):
        filled += size[k - 1]
        number[k] = number[k - 1]
        if filled * SLABS >= n:
            number[k] += 1
            filled = 0
    begins = np.zeros(2 * number[levels - 1] + 3, np.int64)
    for m in range(n):
        i = order[m]
        c = active.contact[i]
        other = 0 if between_spheres(bodies, active, i, contacts.a[c], contacts.b[c], dim) else 1
        group[m] = 2 * number[group[m]] + other
        begins[group[m] + 1] += 1
    for k in range(begins.shape[0] - 1):
        begins[k + 1] += begins[k]
    return group, begins
