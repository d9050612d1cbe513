"""Several contacts of a scene at once by their ratios of stiffness: `laws.springs` integrates them.

All contacts that are closed or close within the step take part, those at rest as well.  Where contacts share a body, or
bodies that joints hold together, an impulse of one changes the velocities at the other: these blocks of W^T M^-1 W are
set up here.  Stiffness is that of the pairs of materials; of one contact alone it does not count, and of redundant ones
(four corners) it decides how they share an impulse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.laws.springs import Springs, spring_impact
from stickslip.scenes.at_once import SETTLED, Struck, choose, sizes, write_down
from stickslip.scenes.islands.problem import side_product
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts
from stickslip.scenes.one_blow import give
from stickslip.scenes.parts import Matter
from stickslip.scenes.struck_joints import contact_share

LINEAR, HERTZ = 7, 8  # of `Options.law`


@kernel
def meets(bodies: Bodies, parts: Any, i: int, j: int) -> bool:
    """Whether an impulse on body i changes the velocity of body j."""
    if bodies.kind[i] != MOVING or bodies.kind[j] != MOVING:
        return False
    if parts is None:
        return i == j
    return i == j or parts.part[i] == parts.part[j]


@kernel
def acts_on(bodies: Bodies, contacts: Contacts, parts: Any, c: int, d: int) -> bool:
    """Whether an impulse at point c changes the velocity at point d."""
    a, b, p, q = contacts.a[c], contacts.b[c], contacts.a[d], contacts.b[d]
    return (
        meets(bodies, parts, a, p)
        or meets(bodies, parts, a, q)
        or meets(bodies, parts, b, p)
        or meets(bodies, parts, b, q)
    )


@kernel
def block_of(bodies: Bodies, contacts: Contacts, active: Active, m: int, n: int, parts: Any, B: np.ndarray) -> None:
    """Write the block B (9,) of W^T M^-1 W of active contacts m and n: rows of m, columns of n."""
    c, d, f, g = active.contact[m], active.contact[n], active.frame[m], active.frame[n]
    for i in range(3):
        for j in range(3):
            total = 0.0
            for side in range(2):
                body, arm = (
                    contacts.a[c] if side == 0 else contacts.b[c],
                    active.arm_a[m] if side == 0 else active.arm_b[m],
                )
                sign = -1.0 if side == 0 else 1.0
                if contacts.a[d] == body:
                    total -= sign * side_product(bodies, body, f, arm, g, active.arm_a[n], i, j)
                if contacts.b[d] == body:
                    total += sign * side_product(bodies, body, f, arm, g, active.arm_b[n], i, j)
            B[3 * i + j] = total
    if parts is None:
        return
    x, y = np.empty(3), np.empty(3)
    for side in range(2):
        own = parts.part[contacts.a[c]] if side == 0 else parts.part[contacts.b[c]]
        if own < 0 or (side == 1 and own == parts.part[contacts.a[c]]):
            continue
        if parts.part[contacts.a[d]] != own and parts.part[contacts.b[d]] != own:
            continue
        for k in range(parts.begin[own], parts.begin[own + 1]):
            if parts.size[k] == 0.0:
                continue
            contact_share(contacts, active, m, parts, own, k, x)
            contact_share(contacts, active, n, parts, own, k, y)
            for i in range(3):
                for j in range(3):
                    B[3 * i + j] -= x[i] * y[j]


@kernel(apart=True)
def columns_of(
    matter: Matter, contacts: Contacts, active: Active, struck: Struck, parts: Any, begin: np.ndarray
) -> Any:
    """Contacts and blocks of all columns, as `laws.springs.spring_impact` takes them; writes where they begin."""
    bodies, k, count = matter.bodies, struck.number.shape[0], 0
    for i in range(k):
        for j in range(k):
            if i == j or acts_on(
                bodies, contacts, parts, active.contact[struck.number[i]], active.contact[struck.number[j]]
            ):
                count += 1
        begin[i + 1] = count
    other, block = np.empty(count, np.int64), np.empty((count, 9))
    for i in range(k):
        m, at = struck.number[i], begin[i] + 1
        other[begin[i]] = i
        for s in range(9):
            block[begin[i], s] = struck.G[i, s]
        for j in range(k):
            n = struck.number[j]
            if i != j and acts_on(bodies, contacts, parts, active.contact[m], active.contact[n]):
                other[at] = j
                block_of(bodies, contacts, active, n, m, parts, block[at])
                if matter.options.dim == 2:
                    for s in (2, 5, 6, 7, 8):
                        block[at, s] = 0.0
                at += 1
    return other, block


@kernel(apart=True)
def strike_by_stiffness(
    matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray, joints: Any, parts: Any
) -> int:
    """Do one impact of all contacts; returns 1 where it has no end, and nothing has changed then."""
    struck = choose(matter, contacts, active, n, vel, joints, parts)
    size, fastest = sizes(contacts, active, struck, vel)
    if fastest <= SETTLED * size:  # what an impact before has left of itself
        return 0
    k = struck.number.shape[0]
    begin, mu, kappa, u = np.zeros(k + 1, np.int64), np.empty(k), np.empty(k), np.empty((k, 3))
    other, block = columns_of(matter, contacts, active, struck, parts, begin)
    for i in range(k):
        c = active.contact[struck.number[i]]
        mu[i] = active.mu[struck.number[i]]
        kappa[i] = matter.materials.stiffness[
            matter.geoms.material[contacts.pair[c, 0]], matter.geoms.material[contacts.pair[c, 1]]
        ]
        for j in range(3):
            u[i, j] = struck.before[i, j]
    exponent = 1.0 if matter.options.law == LINEAR else 1.5
    if spring_impact(Springs(begin, other, block, mu, struck.e, kappa, exponent), u, struck.z) < 0:
        return 1
    for i in range(k):
        z = struck.z[i]
        give(matter.bodies, contacts, active, struck.number[i], (z[0], z[1], z[2]), vel, joints, parts)
    write_down(matter, contacts, active, struck, vel, joints, parts)
    return 0
