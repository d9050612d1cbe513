"""Several contacts of a scene at once under Poisson's law in two steps, swept contact by contact.

All contacts that are closed or close within the step take part, those at rest as well: Newton's cradle is one impact.
With all impulses of a stage together [PG05],

    compression    -Lambda_N^c in Upr(u_N^c),    -Lambda_T^c in mu Lambda_N^c Sgn(u_T^c),
    decompression  -(Lambda_N^d - e Lambda_N^c) in Upr(u_N^+),    -Lambda_T^d in mu Lambda_N^d Sgn(u_T^+).

Each contact in turn is solved exactly with the impulses of the others held, as `two_steps` does it, until none changes.
One contact never gains energy under this law; several with different e may, which the certificate tells.  How redundant
contacts share their impulses is open, and with it what they give back: the sweeps begin with none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.blocks import invert_blocks
from stickslip.contact.one_contact import one_contact_2d, one_contact_3d
from stickslip.jit import kernel
from stickslip.scenes.islands.problem import approach, restitution_of
from stickslip.scenes.layout import Active, Contacts
from stickslip.scenes.one_blow import give, matrix_of, note_hit
from stickslip.scenes.parts import Matter
from stickslip.scenes.struck_joints import catch
from stickslip.scenes.two_steps import normal_after

SWEEPS = 3000  # divided by the contacts, but not below 200
QUIET = 1e-11  # of the velocities of the impact: a change that ends the sweeps
ROUNDING = 1e-2  # of the velocities of bodies: it counts as that of an impact, of which QUIET is rounding
SETTLED = 1e-8  # of them: a change up to which the last sweep is taken; beyond, the impact has no solution


class Struck(NamedTuple):
    """Contacts of an impact at once."""

    number: np.ndarray  # (k,) active contacts
    G: np.ndarray  # (k, 9)
    D: np.ndarray  # (k, dim, dim) the same as blocks
    S: np.ndarray  # (k, dim, dim) their inverses
    e: np.ndarray  # (k,)
    before: np.ndarray  # (k, 3) velocities before
    stored: np.ndarray  # (k, 3) impulses of compression
    z: np.ndarray  # (k, 3) impulses of the stage


@kernel
def own_velocity(matter: Matter, contacts: Contacts, active: Active, m: int, vel: np.ndarray, u: np.ndarray) -> None:
    """Write the velocity u (3,) of active contact m; in the plane it has two parts."""
    c = active.contact[m]
    u[0], u[1], u[2] = approach(active, m, matter.bodies, vel, contacts.a[c], contacts.b[c])
    if matter.options.dim == 2:
        u[2] = 0.0


@kernel(apart=True)
def choose(matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray, joints: Any, parts: Any) -> Any:
    """The contacts that are closed, or close within the step, with their matrices and coefficients."""
    bodies, geoms, materials, curves, options = matter
    number, G, e, before, u, k = np.empty(n, np.int64), np.empty((n, 9)), np.empty(n), np.empty((n, 3)), np.empty(3), 0
    for m in range(n):
        own_velocity(matter, contacts, active, m, vel, u)
        if active.gap[m] + options.dt * min(u[0], 0.0) > options.slop or active.mobility[m] == 0.0:
            continue
        if not matrix_of(bodies, contacts, active, m, joints, parts, G[k]):
            continue
        if options.dim == 2:
            G[k, 2], G[k, 5], G[k, 6], G[k, 7] = 0.0, 0.0, 0.0, 0.0
        first, second = contacts.pair[active.contact[m], 0], contacts.pair[active.contact[m], 1]
        i, j = geoms.material[first], geoms.material[second]
        number[k], e[k] = m, restitution_of(materials, curves, i, j, -u[0], G[k, 0])
        before[k, 0], before[k, 1], before[k, 2] = u[0], u[1], u[2]
        k += 1
    dim = options.dim
    D = np.empty((k, dim, dim))
    for m in range(k):
        for i in range(dim):
            for j in range(dim):
                D[m, i, j] = 0.5 * (G[m, 3 * i + j] + G[m, 3 * j + i])
    return Struck(number[:k], G[:k], D, invert_blocks(D), e[:k], before[:k], np.zeros((k, 3)), np.zeros((k, 3)))


@kernel
def solve_one(struck: Struck, i: int, u: np.ndarray, mu: float, least: float, new: np.ndarray) -> None:
    """Impulse (3,) of contact i, whose velocities are u without it, of at least `least`.

    Where that is not enough the contact ends with no normal velocity, as one without restitution does.
    """
    T, z = np.zeros(2), struck.z[i]
    new[0], new[1], new[2] = least, 0.0, 0.0
    if normal_after(struck.G[i], u, mu, least, T) >= 0.0:
        new[1], new[2] = T[0], T[1]
    elif struck.D.shape[1] == 3:
        new[0], new[1], new[2] = one_contact_3d(struck.D[i], struck.S[i], u[0], u[1], u[2], mu, z[1], z[2])
    else:
        new[0], new[1] = one_contact_2d(struck.D[i], struck.S[i], u[0], u[1], mu)
    if new[0] < least:  # by rounding
        new[0], new[1], new[2] = least, T[0], T[1]


@kernel
def sizes(contacts: Contacts, active: Active, struck: Struck, vel: np.ndarray) -> tuple[float, float]:
    """Size of the velocities of an impact, and its fastest approach [m/s]."""
    size, fastest = 0.0, 0.0
    for i in range(struck.number.shape[0]):
        u, c = struck.before[i], active.contact[struck.number[i]]
        size, fastest = max(size, abs(u[0]) + abs(u[1]) + abs(u[2])), max(fastest, -u[0])
        for j in range(3):  # velocities that those of contacts are differences of
            size = max(size, ROUNDING * (abs(vel[contacts.a[c], j]) + abs(vel[contacts.b[c], j])))
    return size, fastest


@kernel(apart=True)
def stage(
    matter: Matter, contacts: Contacts, active: Active, struck: Struck, share: float, vel: np.ndarray, joints: Any,
    parts: Any,
) -> bool:  # fmt: skip
    """Sweep compression (share 0) or decompression (1); whether it has come to an end."""
    k, u, new, change = struck.number.shape[0], np.empty(3), np.empty(3), 0.0
    size, _ = sizes(contacts, active, struck, vel)
    for _ in range(max(200, SWEEPS // max(1, k))):
        change = 0.0
        for i in range(k):
            m, G, z = struck.number[i], struck.G[i], struck.z[i]
            own_velocity(matter, contacts, active, m, vel, u)
            for j in range(3):
                u[j] -= G[3 * j] * z[0] + G[3 * j + 1] * z[1] + G[3 * j + 2] * z[2]
            solve_one(struck, i, u, active.mu[m], share * struck.e[i] * struck.stored[i, 0], new)
            for j in range(3):
                new[j] -= z[j]
                z[j] += new[j]
                change = max(change, G[4 * j] * abs(new[j]))
            give(matter.bodies, contacts, active, m, (new[0], new[1], new[2]), vel, joints, parts)
        if change <= QUIET * size:
            break
    return change <= SETTLED * size


@kernel(apart=True)
def strike_at_once(
    matter: Matter, contacts: Contacts, active: Active, n: int, vel: np.ndarray, joints: Any, parts: Any
) -> int:
    """Do one impact of all contacts; returns 1 where it has no solution, and nothing has changed then."""
    struck = choose(matter, contacts, active, n, vel, joints, parts)
    size, fastest = sizes(contacts, active, struck, vel)
    if fastest <= SETTLED * size:  # what an impact before has left of itself
        return 0
    solved = stage(matter, contacts, active, struck, 0.0, vel, joints, parts)
    if solved:
        for i in range(struck.number.shape[0]):
            for j in range(3):
                struck.stored[i, j], struck.z[i, j] = struck.z[i, j], 0.0
        solved = stage(matter, contacts, active, struck, 1.0, vel, joints, parts)
    for i in range(struck.number.shape[0]):
        m, z = struck.number[i], struck.z[i]
        for j in range(3):
            z[j] += struck.stored[i, j]
        if not solved:
            give(matter.bodies, contacts, active, m, (-z[0], -z[1], -z[2]), vel, joints, parts)
    if not solved:
        return 1
    write_down(matter, contacts, active, struck, vel, joints, parts)
    return 0


@kernel(apart=True)
def write_down(
    matter: Matter, contacts: Contacts, active: Active, struck: Struck, vel: np.ndarray, joints: Any, parts: Any
) -> None:
    """Write down the impulses of an impact, and stop limits and ropes behind it; vel: velocities after it."""
    after = np.empty(3)
    for i in range(struck.number.shape[0]):
        m, z, u = struck.number[i], struck.z[i], struck.before[i]
        if z[0] == 0.0:
            continue
        f, c = active.frame[m], active.contact[m]
        own_velocity(matter, contacts, active, m, vel, after)
        work = 0.5 * (z[0] * (u[0] + after[0]) + z[1] * (u[1] + after[1]) + z[2] * (u[2] + after[2]))
        x = f[0] * z[0] + f[3] * z[1] + f[6] * z[2]
        y = f[1] * z[0] + f[4] * z[1] + f[7] * z[2]
        w = f[2] * z[0] + f[5] * z[1] + f[8] * z[2]
        note_hit(contacts, c, u, (after[0], after[1], after[2]), (x, y, w), work)
    if joints is not None and struck.number.shape[0] > 0:  # its work is in the book, wherever that stands
        contacts.work[active.contact[struck.number[0]]] += catch(matter.bodies, joints, parts, vel, matter.bodies.free)
