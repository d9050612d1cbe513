"""Islands with joints whose contacts resist rolling or spinning: swept in the coordinates that the joints leave.

Joints and soft rows are eliminated (`reduced`): with D the rows of all contacts, six each as in `rolling`, and those
of limits, motors, friction and ropes, velocities are u = W z + q, W = D (M^-1 - sum e_k M^-1 e_k) D^T.  Each contact,
each row in turn is solved with the others held, with Anderson's acceleration.  What joints and contacts of one body
hold has next to no mobility in some directions; a share of the mobility is added there to the local matrix and taken
back with the old impulse, which moves no solution.

W is that of the symmetric part of M^-1.  Velocities themselves come from all impulses: where W and they differ, and
where joints linearised about the end velocities ask for something else, q is taken anew, until all laws hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.blocks import invert_blocks
from stickslip.contact.gauss_seidel import CHANGE, anderson_mix, begin_sweep, new_anderson, sweep_change
from stickslip.contact.one_contact import one_contact_2d, one_contact_3d
from stickslip.jit import kernel
from stickslip.scenes.islands.free_bodies import number_back, number_bodies
from stickslip.scenes.islands.island import GRAINS, SHARPER, end_velocities, island_scale, judge_island
from stickslip.scenes.islands.joint_rows import row_velocity
from stickslip.scenes.islands.reduced import (
    HOLDS,
    NOTHING,
    ONE_WAY,
    SOFT,
    Parts,
    dot,
    parts_of,
    push_pair,
    row_impulses,
    scatter_part,
    side,
)
from stickslip.scenes.islands.rolling import (
    ROWS,
    SHARED,
    Resisting,
    arm_length,
    read_impulses,
    six_rows,
    solve_pair,
    solve_six,
    write_impulses,
)
from stickslip.scenes.islands.trees import CLOSINGS, ask_again, comes_apart
from stickslip.scenes.layout import ROWS_PER_JOINT, Bodies, Options
from stickslip.scenes.parts import Island

ROUNDS = 12  # times that q is taken anew, each time that joints are linearised
FALLS = 0.7  # what a round should leave of the residual, at most: two that leave more are the last
SWEEPS = 20000  # between two of them, divided by the contacts
MEMORY = 15  # sweeps that the acceleration looks back on
LEAST = 1e-7  # of the mean mobility of a contact's rows: what is added to its matrix
IDLE = 500  # sweeps without a change that is half of the least so far: rounding is all that is left
QUIET = 1e-2  # of the tolerance: a change of velocities in a sweep that ends them [of the island's velocities]
HELD = 1e-8  # of the mobility of free bodies: contacts with less along the normal are held by joints


class Reduced(NamedTuple):
    """An island with n contacts and m rows of its own: K = 6 n + m unknowns z, velocities W z + q."""

    W: np.ndarray  # (K, K)
    q: np.ndarray  # (K,)
    z: np.ndarray  # (K,)
    u: np.ndarray  # (K,)
    rows: np.ndarray  # (m,) numbers of the rows of joints
    a: np.ndarray  # (K,) bodies
    b: np.ndarray  # (K,)
    on_a: np.ndarray  # (K, 6) what rows have of the velocities of a and b
    on_b: np.ndarray  # (K, 6)
    left: np.ndarray  # (n,) bool: contacts that joints hold along their normals


@kernel
def split_rows(island: Island, roles: np.ndarray, soft: np.ndarray) -> int:
    """What each row of an island does in a step: holds, holds softly, or is an unknown; returns how many of these."""
    joints, count = island.joints, 0
    for s in range(roles.shape[0]):
        roles[s] = NOTHING
    for m in range(island.row_first, island.row_last):
        s = island.rows[m]
        roles[s], soft[s] = HOLDS, joints.row.soft[s]
        if joints.row.low[s] > -np.inf or joints.row.high[s] < np.inf:
            roles[s] = ONE_WAY
            count += 1
        elif soft[s] > 0.0:
            roles[s] = SOFT
    return count


@kernel(apart=True)
def write_unknowns(island: Island, roles: np.ndarray, found: Reduced) -> None:
    """Directions of all unknowns, and the impulses that they have."""
    joints, bodies, contacts, active, n = island.joints, island.bodies, island.contacts, island.active, 0
    D = np.empty((ROWS, 9))
    for m in range(island.first, island.last):
        i = island.order[m]
        six_rows(bodies, contacts, active, i, D)
        for k in range(ROWS):
            found.a[n + k], found.b[n + k] = contacts.a[active.contact[i]], contacts.b[active.contact[i]]
            for j in range(3):
                found.on_a[n + k, j], found.on_a[n + k, 3 + j] = -D[k, j], -D[k, 3 + j]
                found.on_b[n + k, j], found.on_b[n + k, 3 + j] = D[k, j], D[k, 6 + j]
        n += ROWS
    at = 0
    for m in range(island.row_first, island.row_last):
        s = island.rows[m]
        if roles[s] == ONE_WAY:
            found.rows[at] = s
            at += 1
            found.a[n], found.b[n] = joints.link.a[s // ROWS_PER_JOINT], joints.link.b[s // ROWS_PER_JOINT]
            side(joints, s, False, found.on_a[n])
            side(joints, s, True, found.on_b[n])
            n += 1


@kernel(apart=True)
def write_matrix(bodies: Bodies, parts: Parts, body: np.ndarray, found: Reduced) -> None:
    """W of all unknowns; body (m,): bodies of the island."""
    K, n = found.z.shape[0], bodies.kind.shape[0]
    answer, other = np.zeros((n, 6)), np.zeros((n, 6))
    for k in range(K):
        for m in range(body.shape[0]):
            for j in range(6):
                answer[body[m], j] = 0.0
        push_pair(bodies, parts, (found.a[k], found.b[k]), found.on_a[k], found.on_b[k], answer, other)
        for i in range(k, K):
            total = 0.0
            if parts.part[found.a[i]] >= 0:
                total += dot(found.on_a[i], answer[found.a[i]])
            if parts.part[found.b[i]] >= 0:
                total += dot(found.on_b[i], answer[found.b[i]])
            found.W[k, i] = total
            found.W[i, k] = total
    for k in range(parts.load.shape[0]):
        parts.load[k] = 0.0


@kernel
def read_all(island: Island, dim: int, found: Reduced) -> None:
    """The impulses of an island as unknowns."""
    n = island.last - island.first
    for m in range(n):
        i = island.order[island.first + m]
        read_impulses(island.bodies, island.contacts, island.active, i, dim, found.z[ROWS * m : ROWS * m + ROWS])
    for m in range(found.rows.shape[0]):
        found.z[ROWS * n + m] = island.joints.row.impulse[found.rows[m]]


@kernel
def write_all(island: Island, dim: int, found: Reduced) -> None:
    """Unknowns as the impulses of an island."""
    n = island.last - island.first
    for m in range(n):
        i = island.order[island.first + m]
        write_impulses(island.bodies, island.contacts, island.active, i, dim, found.z[ROWS * m : ROWS * m + ROWS])
    for m in range(found.rows.shape[0]):
        island.joints.row.impulse[found.rows[m]] = found.z[ROWS * n + m]


@kernel(apart=True)
def hold_joints(island: Island, parts: Parts, vel: np.ndarray) -> None:
    """Take out of the velocities of all impulses what rows that hold are wrong by; parts keep the impulses for it."""
    joints = island.joints
    for p in range(parts.width.shape[0]):
        if parts.begin[p] == parts.begin[p + 1]:
            continue
        v = np.zeros(parts.width[p])
        for k in range(parts.begin[p], parts.begin[p + 1]):
            s = parts.row[k]
            j = s // ROWS_PER_JOINT
            wrong = row_velocity(joints, s, vel, joints.link.a[j], joints.link.b[j]) - joints.row.target[s]
            wrong += joints.row.soft[s] * joints.row.impulse[s]
            for m in range(parts.begin[p], k):  # along e_k: as the row is made of those before it
                wrong -= parts.made[k, m - parts.begin[p]] * other_part(parts, m)
            if parts.size[k] == 0.0:
                continue
            c = wrong / parts.size[k]
            parts.given[k] = c
            parts.load[k] -= c
            for i in range(parts.width[p]):
                v[i] -= c * parts.answer[parts.first[k] + i]
        scatter_part(parts, p, v, 1.0, vel)


@kernel
def other_part(parts: Parts, m: int) -> float:
    """What row m was wrong by along e_m."""
    return parts.given[m] if parts.size[m] > 0.0 else 0.0


@kernel(apart=True)
def take_velocities(island: Island, vel: np.ndarray, found: Reduced) -> None:
    """q of the unknowns, so that W z + q are the velocities `vel` with what contacts and rows ask for."""
    n, K = island.last - island.first, found.z.shape[0]
    for k in range(K):
        found.u[k] = dot(found.on_a[k], vel[found.a[k]]) + dot(found.on_b[k], vel[found.b[k]])
    for m in range(n):
        for k in range(3):
            found.u[ROWS * m + k] += island.active.bias[island.order[island.first + m], k]
    for m in range(found.rows.shape[0]):
        s = found.rows[m]
        found.u[ROWS * n + m] -= island.joints.row.target[s]
    for k in range(K):
        found.q[k] = found.u[k]
        for i in range(K):
            found.q[k] -= found.W[k, i] * found.z[i]


@kernel
def move(found: Reduced, k: int, change: float) -> None:
    """Change impulse k, and all velocities with it."""
    if change != 0.0:
        found.z[k] += change
        for i in range(found.z.shape[0]):
            found.u[i] += found.W[i, k] * change


@kernel(apart=True)
def solve_local(G: np.ndarray, q: np.ndarray, mu: float, roll: float, dim: int, z: np.ndarray) -> None:
    """Impulses z (6,) of one contact that resists rolling alone: normal and friction as one, rolling in turn.

    Joints may tie slip to approach: a contact whose normal and friction are solved in turn creeps then.
    """
    D, b = np.empty((1, dim, dim)), np.empty(dim)
    for j in range(dim):
        for h in range(dim):
            D[0, j, h] = G[j, h]
    S = invert_blocks(D)
    for _ in range(SHARED):
        old = z.copy()
        for j in range(dim):
            b[j] = q[j]
            for h in range(4, ROWS):
                b[j] += G[j, h] * z[h]
        if dim == 3:
            z[0], z[1], z[2] = one_contact_3d(D[0], S[0], b[0], b[1], b[2], mu, z[1], z[2])
        else:
            z[0], z[1] = one_contact_2d(D[0], S[0], b[0], b[1], mu)
            z[2] = 0.0
        z[4], z[5] = (z[4], z[5]) if roll > 0.0 and z[0] > 0.0 else (0.0, 0.0)
        if roll > 0.0 and z[0] > 0.0:
            solve_pair(G, q, z, 4, roll * z[0], dim == 2)
        change, size = 0.0, 0.0
        for j in range(ROWS):
            change, size = change + abs(z[j] - old[j]), size + abs(z[j])
        if change <= 4e-16 * size:
            break


@kernel(apart=True)
def visit_contact(island: Island, m: int, dim: int, found: Reduced, G: np.ndarray, q: np.ndarray) -> float:
    """Solve contact m of an island with all others held; returns how much it changes velocities [m/s]."""
    active, i, k, size, new = island.active, island.order[island.first + m], ROWS * m, 0.0, np.empty(ROWS)
    for j in range(ROWS):
        size += found.W[k + j, k + j]
    for j in range(ROWS):
        q[j], new[j] = found.u[k + j], found.z[k + j]
        for h in range(ROWS):
            G[j, h] = found.W[k + j, k + h]
        G[j, j] += LEAST * size / ROWS
    for j in range(ROWS):
        for h in range(ROWS):
            q[j] -= G[j, h] * found.z[k + h]
    length = arm_length(island.bodies, island.contacts, active, i)
    roll = active.rolling[i] / length if length > 0.0 else 0.0
    spins = active.patch[i] > 0.0 and active.mu[i] > 0.0
    if spins:
        solve_six(G, q, Resisting(active.mu[i], spins, active.hertz[i], roll, dim == 2), new, SHARED)
    else:
        solve_local(G, q, active.mu[i], roll, dim, new)
    change = 0.0
    for j in range(ROWS):
        if (active.patch[i] == 0.0 and j == 3) or (active.rolling[i] == 0.0 and j > 3):
            new[j] = 0.0
        step = new[j] - found.z[k + j]
        change = max(change, G[j, j] * abs(step))
        move(found, k + j, step)
    return change


@kernel
def visit_row(island: Island, m: int, found: Reduced) -> float:
    """Solve row m of an island with all others held; returns how much it changes its velocity [m/s]."""
    s, k, row = found.rows[m], ROWS * (island.last - island.first) + m, island.joints.row
    d = found.W[k, k] + row.soft[s]
    if not d > 0.0:
        return 0.0
    new = min(row.high[s], max(row.low[s], found.z[k] - (found.u[k] + row.soft[s] * found.z[k]) / d))
    change = new - found.z[k]
    move(found, k, change)
    return d * abs(change)


@kernel(apart=True)
def sweep_all(island: Island, dim: int, found: Reduced, enough: float) -> None:
    """Sweep contacts and rows with acceleration, until velocities change by no more than `enough` [m/s]."""
    n, K = island.last - island.first, found.z.shape[0]
    G, q, anderson = np.empty((ROWS, ROWS)), np.empty(ROWS), new_anderson(MEMORY, K)
    best, least, mark, idle = found.z.copy(), np.inf, np.inf, 0
    for _ in range(max(2000, SWEEPS // max(1, n))):
        for k in range(K):  # anew: rounding adds up
            found.u[k] = found.q[k]
            for i in range(K):
                found.u[k] += found.W[k, i] * found.z[i]
        begin_sweep(found.z, 0, anderson.work, K)
        change = 0.0
        for m in range(n):
            if not found.left[m]:
                change = max(change, visit_contact(island, m, dim, found, G, q))
        for m in range(found.rows.shape[0]):
            change = max(change, visit_row(island, m, found))
        if change < least:  # acceleration may lead away: the best is kept
            least = change
            for k in range(K):
                best[k] = found.z[k]
        idle += 1
        if least <= 0.5 * mark:
            mark, idle = least, 0
        if change <= enough or idle > IDLE:
            break
        anderson.state[CHANGE], _ = sweep_change(found.z, 0, anderson.work, K)
        anderson_mix(found.z, MEMORY, anderson)
        for m in range(n):
            found.z[ROWS * m] = max(0.0, found.z[ROWS * m])
    for k in range(K):
        found.z[k] = best[k]


@kernel
def leave_held(island: Island, found: Reduced) -> None:
    """Leave out contacts that joints hold along their normals."""
    for m in range(island.last - island.first):
        i = island.order[island.first + m]
        found.left[m] = found.W[ROWS * m, ROWS * m] <= HELD * island.active.mobility[i]
        if found.left[m]:
            island.active.mobility[i] = 0.0
            for k in range(3):
                island.active.r[i, k], island.active.turn[i, k] = 0.0, 0.0


@kernel(apart=True)
def reduced_island(island: Island, options: Options, place: np.ndarray) -> tuple[Any, Any]:
    """An island in the coordinates that its joints leave, and its parts; place (bodies,): room."""
    bodies, joints, n = island.bodies, island.joints, island.last - island.first
    roles, soft = np.empty(joints.row.used.shape[0], np.int64), np.zeros(joints.row.used.shape[0])
    m = split_rows(island, roles, soft)
    K, body = ROWS * n + m, np.empty(number_bodies(island, place), np.int64)
    number_back(island, place, body)
    found = Reduced(
        np.zeros((K, K)), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(m, np.int64), np.zeros(K, np.int64),
        np.zeros(K, np.int64), np.zeros((K, 6)), np.zeros((K, 6)), np.zeros(n, np.bool_),
    )  # fmt: skip
    parts = parts_of(bodies, joints, roles, soft, bodies.free)
    write_unknowns(island, roles, found)
    write_matrix(bodies, parts, body, found)
    leave_held(island, found)
    return found, parts


@kernel
def one_round(island: Island, options: Options, found: Reduced, parts: Parts, scale: float) -> float:
    """Take q anew from the impulses that an island has, and solve; returns the residual of its laws themselves."""
    dim = options.dim
    end_velocities(island, dim)
    vel = island.bodies.end.copy()
    read_all(island, dim, found)
    hold_joints(island, parts, vel)
    row_impulses(parts, island.joints.row.impulse)
    take_velocities(island, vel, found)
    before = found.z.copy()
    sweep_all(island, dim, found, QUIET * options.tol * scale)
    write_all(island, dim, found)
    follow_joints(island, parts, found, before)
    end_velocities(island, dim)
    return judge_island(island, dim, options.edges, scale, SHARPER * options.tol)


@kernel(apart=True)
def solve_resisting_joined(island: Island, options: Options, place: np.ndarray) -> float:
    """Solve an island with joints whose contacts resist rolling or spinning; returns its residual."""
    found, parts = reduced_island(island, options, place)
    scale, planar, residual = island_scale(island, GRAINS), options.dim == 2, np.inf
    for closing in range(1 + CLOSINGS):
        least, idle = np.inf, 0
        for _ in range(ROUNDS):
            residual = one_round(island, options, found, parts, scale)
            idle = idle + 1 if residual > FALLS * least else 0
            least = min(least, residual)
            if residual <= SHARPER * options.tol or idle > 1:
                break
        if not residual <= options.tol or closing == CLOSINGS or not comes_apart(island, planar, options.dt):
            break
        ask_again(island, planar, options.dt)
    return residual


@kernel(apart=True)
def follow_joints(island: Island, parts: Parts, found: Reduced, before: np.ndarray) -> None:
    """Impulses of the rows that hold, for the changes of all unknowns."""
    n = island.bodies.kind.shape[0]
    one, two, f, g = np.zeros((n, 6)), np.zeros((n, 6)), np.empty(6), np.empty(6)
    for k in range(found.z.shape[0]):
        change = found.z[k] - before[k]
        if change != 0.0:
            for j in range(6):
                f[j], g[j] = change * found.on_a[k, j], change * found.on_b[k, j]
            push_pair(island.bodies, parts, (found.a[k], found.b[k]), f, g, one, two)
    row_impulses(parts, island.joints.row.impulse)
