"""Impacts of bodies that joints hold: what an impulse at one contact does to all bodies of its joints at once.

Joints pass impulses on within no time.  With J the rows that hold in an impact and p the impulses of a contact,

    du = M^-1 (p + J^T R),    J du = 0.

The rows of a part (bodies that joints hold together) are made orthonormal in the metric of M^-1, twice for rounding:
e_k M^-1 e_l = delta_kl.  A row of which less than REDUNDANT is left follows from the others, as in closed loops.  Then

    du = M^-1 p - sum_k c_k M^-1 e_k,    c_k = p . M^-1 e_k,    G_ij = w_i M^-1 w_j - sum_k c_ik c_jk.

Rows that hold: those of joints, gears, racks and couplings, and motors of unbounded effort.  A rotor is a velocity of
its own with a mass of its own, tied to its joint by a row.  Efforts with a bound, springs and dampers do nothing within
no time.  Limits and ropes only push or pull: after each impact those that the impact drives on are stopped, without
restitution (`catch`).

Velocities from one midpoint to the next keep J u = 0 up to dt, as the bodies go on curves.  Impacts take place at the
midpoint with the velocities there: those before the step, with half of its forces, and with half of what joints do to
both (`onto_joints`).  So reactions do no work, and an impact of one contact has the energy of its law.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.joint_rows import LIMIT, MOTOR, PASSIVE, row_velocity
from stickslip.scenes.islands.problem import join, root
from stickslip.scenes.islands.row_kinds import ARMATURE, ROPE, SPRING, TORQUE
from stickslip.scenes.layout import MOVING, ROWS_PER_JOINT, Active, Bodies, Contacts, Joints
from stickslip.scenes.rotation import times

REDUNDANT = 1e-8  # of the size of a row: what is left of one that follows from others
CATCHES = 20  # rounds over all limits and ropes behind an impact
STILL = 1e-12  # of the velocities: limits that are driven on by less are not
NOTHING, HOLDS, ROTOR, ONE_WAY = range(4)


class Parts(NamedTuple):
    """Bodies that joints hold together, R rows that hold in an impact, and what they are made of."""

    part: np.ndarray  # (bodies,) number of the part of each body that moves; -1: it does not
    place: np.ndarray  # (bodies,) where its six velocities begin among those of the part
    width: np.ndarray  # (parts,) velocities of a part: six for each body, one for each rotor
    begin: np.ndarray  # (parts + 1,) where the rows of a part begin
    first: np.ndarray  # (R,) where the numbers of a row begin in `along` and `answer`
    row: np.ndarray  # (R,) its number among the rows of joints
    rotor: np.ndarray  # (R,) place of its rotor among the velocities of the part; -1: it has none
    size: np.ndarray  # (R,) what is left of it beside those before it; 0: it follows from these
    given: np.ndarray  # (R,) velocity that bodies which do not move freely give to e_k [m/s]
    along: np.ndarray  # e_k, one after the other
    answer: np.ndarray  # M^-1 e_k
    made: np.ndarray  # (R, most rows of a part) share of each e_l of the part in row k
    load: np.ndarray  # (R,) impulse along e_k so far [N s]


@kernel
def role(joints: Joints, s: int) -> int:
    """What row s does in an impact: it holds, is that of a rotor, pushes one way, or does nothing."""
    if not joints.row.used[s]:
        return NOTHING
    j, slot, kind = s // ROWS_PER_JOINT, s % ROWS_PER_JOINT, joints.link.kind[s // ROWS_PER_JOINT]
    if slot == PASSIVE:
        return ROTOR if joints.link.numbers[j, ARMATURE] > 0.0 else NOTHING
    if slot == LIMIT or (slot < LIMIT and kind >= ROPE):
        return ONE_WAY
    if slot < LIMIT:
        return NOTHING if kind == SPRING else HOLDS
    endless = joints.row.low[s] == -np.inf and joints.row.high[s] == np.inf and joints.row.soft[s] == 0.0
    return HOLDS if endless else NOTHING


@kernel
def find_parts(bodies: Bodies, joints: Joints, part: np.ndarray, place: np.ndarray) -> int:
    """Number the parts, and the velocities of their bodies; returns how many parts there are.  place: room as well."""
    n, count = bodies.kind.shape[0], 0
    for i in range(n):
        place[i] = i
    for j in range(joints.link.kind.shape[0]):
        if joints.link.kind[j] != SPRING and bodies.alive[joints.link.a[j]] and bodies.alive[joints.link.b[j]]:
            join(place, bodies, joints.link.a[j], joints.link.b[j])
    for i in range(n):
        part[i] = -1
    for i in range(n):
        if bodies.kind[i] == MOVING and bodies.alive[i]:
            k = root(place, i)  # the first body of the part
            if k == i:
                part[i] = count
                count += 1
            else:
                part[i] = part[k]
    return count


@kernel
def part_of_joint(joints: Joints, j: int, part: np.ndarray) -> int:
    """Part of the bodies of joint j, or -1."""
    p = part[joints.link.a[j]]
    return p if p >= 0 else part[joints.link.b[j]]


@kernel(apart=True)
def mark_parts(bodies: Bodies, joints: Joints) -> None:
    """Where one body of a part is struck, all of its bodies are: an impulse turns all of them at once."""
    n = bodies.kind.shape[0]
    part, place = np.empty(n, np.int64), np.empty(n, np.int64)
    count = find_parts(bodies, joints, part, place)
    hit = np.zeros(count + 1, np.bool_)
    for i in range(n):
        if part[i] >= 0 and bodies.struck[i]:
            hit[part[i]] = True
    for i in range(n):
        if part[i] >= 0 and hit[part[i]] and not bodies.isotropic[i]:
            bodies.struck[i] = True


@kernel
def side(joints: Joints, s: int, second: bool, f: np.ndarray) -> None:
    """What row s has of the velocities of its first or second body, f (6,)."""
    d = joints.row.direction[s]
    for k in range(3):
        if second:
            f[k], f[3 + k] = d[k] + d[9 + k], d[6 + k]
        else:
            f[k], f[3 + k] = -d[k], -d[3 + k]


@kernel
def put(bodies: Bodies, parts: Parts, i: int, f: np.ndarray, e: np.ndarray, v: np.ndarray) -> None:
    """Add f (6,) of body i to the row e, and M^-1 f to its answer v."""
    if parts.part[i] < 0:
        return
    at = parts.place[i]
    x, y, z = times(bodies.inv_inertia[i], f[3], f[4], f[5])
    for k in range(6):
        e[at + k] += f[k]
    for k in range(3):
        v[at + k] += bodies.inv_mass[i] * f[k]
    v[at + 3], v[at + 4], v[at + 5] = v[at + 3] + x, v[at + 4] + y, v[at + 5] + z


@kernel
def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Of two vectors."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@kernel(apart=True)
def write_row(bodies: Bodies, joints: Joints, parts: Parts, k: int, vel: np.ndarray) -> None:
    """Row k as its joint has it, its answer, and the velocity that driven bodies give to it."""
    s = parts.row[k]
    j, p, f = s // ROWS_PER_JOINT, part_of_joint(joints, s // ROWS_PER_JOINT, parts.part), np.empty(6)
    e = parts.along[parts.first[k] : parts.first[k] + parts.width[p]]
    v = parts.answer[parts.first[k] : parts.first[k] + parts.width[p]]
    parts.given[k] = -joints.row.target[s] if s % ROWS_PER_JOINT == MOTOR else 0.0
    for second in (False, True):
        i = joints.link.b[j] if second else joints.link.a[j]
        side(joints, s, second, f)
        put(bodies, parts, i, f, e, v)
        if parts.part[i] < 0:
            parts.given[k] += dot(f, vel[i])
    if parts.rotor[k] >= 0:
        e[parts.rotor[k]] = -1.0
        v[parts.rotor[k]] = -1.0 / joints.link.numbers[j, ARMATURE]


@kernel(apart=True)
def make_orthonormal(parts: Parts, k: int, p: int) -> None:
    """Take out of row k of part p what the rows before it have, and scale what is left."""
    width, first = parts.width[p], parts.first[k]
    e, v = parts.along[first : first + width], parts.answer[first : first + width]
    whole = dot(e, v)
    for _ in range(2):
        for m in range(parts.begin[p], k):
            if parts.size[m] == 0.0:
                continue
            other = parts.first[m]
            c = dot(v, parts.along[other : other + width])
            parts.made[k, m - parts.begin[p]] += c
            parts.given[k] -= c * parts.given[m]
            for i in range(width):
                e[i] -= c * parts.along[other + i]
                v[i] -= c * parts.answer[other + i]
    left = dot(e, v)
    if not left > REDUNDANT * REDUNDANT * whole:
        parts.size[k] = 0.0
        return
    parts.size[k] = math.sqrt(left)
    scale = 1.0 / parts.size[k]
    parts.given[k] *= scale
    for i in range(width):
        e[i] *= scale
        v[i] *= scale


@kernel(apart=True)
def parts_of(bodies: Bodies, joints: Joints, vel: np.ndarray) -> Any:
    """The parts of a scene whose joints have their rows of this step; vel: velocities before."""
    n, total = bodies.kind.shape[0], joints.row.used.shape[0]
    part, place = np.empty(n, np.int64), np.empty(n, np.int64)
    count = find_parts(bodies, joints, part, place)
    width, begin = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    for i in range(n):
        if part[i] >= 0:
            place[i] = width[part[i]]
            width[part[i]] += 6
    rows = 0
    for s in range(total):
        what = role(joints, s)
        if what == HOLDS or what == ROTOR:
            p = part_of_joint(joints, s // ROWS_PER_JOINT, part)
            begin[p + 1] += 1
            rows += 1
            if what == ROTOR:
                width[p] += 1
    most, numbers = 0, 0
    for p in range(count):
        most = max(most, begin[p + 1])
        numbers += begin[p + 1] * width[p]
        begin[p + 1] += begin[p]
    first, row, rotor = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    used, at, extra = np.zeros(count, np.int64), 0, np.zeros(count, np.int64)
    for s in range(total):
        what = role(joints, s)
        if what == HOLDS or what == ROTOR:
            p = part_of_joint(joints, s // ROWS_PER_JOINT, part)
            k = begin[p] + used[p]
            used[p] += 1
            row[k], first[k], rotor[k] = s, at, -1
            at += width[p]
            if what == ROTOR:
                extra[p] += 1
                rotor[k] = width[p] - extra[p]
    parts = Parts(
        part, place, width, begin, first, row, rotor, np.zeros(rows), np.zeros(rows), np.zeros(numbers),
        np.zeros(numbers), np.zeros((rows, most)), np.zeros(rows),
    )  # fmt: skip
    for p in range(count):
        for k in range(begin[p], begin[p + 1]):
            write_row(bodies, joints, parts, k, vel)
            make_orthonormal(parts, k, p)
    return parts


@kernel
def gather_part(parts: Parts, p: int, vel: np.ndarray, x: np.ndarray) -> None:
    """Velocities x of the bodies of part p; those of its rotors are left."""
    for i in range(parts.part.shape[0]):
        if parts.part[i] == p:
            for k in range(6):
                x[parts.place[i] + k] = vel[i, k]


@kernel
def scatter_part(parts: Parts, p: int, x: np.ndarray, share: float, vel: np.ndarray) -> None:
    """vel <- share vel + x of the bodies of part p."""
    for i in range(parts.part.shape[0]):
        if parts.part[i] == p:
            for k in range(6):
                vel[i, k] = share * vel[i, k] + x[parts.place[i] + k]


@kernel(apart=True)
def onto_joints(joints: Joints, parts: Parts, vel: np.ndarray, forces: bool, dt: float) -> None:
    """Bring velocities, or what forces change of them, to where rows that hold have none, by reactions alone."""
    for p in range(parts.width.shape[0]):
        if parts.begin[p] == parts.begin[p + 1]:
            continue
        x = np.zeros(parts.width[p])
        gather_part(parts, p, vel, x)
        for k in range(parts.begin[p], parts.begin[p + 1]):
            if parts.rotor[k] >= 0:
                s = parts.row[k]
                j = s // ROWS_PER_JOINT
                data = joints.link.numbers[j]
                if forces:
                    x[parts.rotor[k]] = dt * data[TORQUE] / data[ARMATURE]
                else:
                    x[parts.rotor[k]] = row_velocity(joints, s, vel, joints.link.a[j], joints.link.b[j])
        for _ in range(2):
            for k in range(parts.begin[p], parts.begin[p + 1]):
                if parts.size[k] > 0.0:
                    first, last = parts.first[k], parts.first[k] + parts.width[p]
                    c = dot(parts.along[first:last], x) + (0.0 if forces else parts.given[k])
                    for i in range(parts.width[p]):
                        x[i] -= c * parts.answer[first + i]
        scatter_part(parts, p, x, 0.0, vel)


@kernel
def contact_side(active: Active, m: int, k: int, second: bool, f: np.ndarray) -> None:
    """What row k of active contact m has of the velocities of its first or second body, f (6,)."""
    x, y, z = active.frame[m, 3 * k], active.frame[m, 3 * k + 1], active.frame[m, 3 * k + 2]
    arm, sign = (active.arm_b[m], 1.0) if second else (active.arm_a[m], -1.0)
    f[0], f[1], f[2] = sign * x, sign * y, sign * z
    f[3] = sign * (arm[1] * z - arm[2] * y)
    f[4] = sign * (arm[2] * x - arm[0] * z)
    f[5] = sign * (arm[0] * y - arm[1] * x)


@kernel
def share_of(parts: Parts, k: int, i: int, f: np.ndarray) -> float:
    """c_k of the impulses f (6,) on body i."""
    at = parts.first[k] + parts.place[i]
    return dot(parts.answer[at : at + 6], f)


@kernel(apart=True)
def take_joints(contacts: Contacts, active: Active, m: int, parts: Parts, G: np.ndarray) -> None:
    """Take out of G (9,) of active contact m, that of free bodies, what their joints hold."""
    c, f, shares = active.contact[m], np.empty(6), np.empty(3)
    a, b = contacts.a[c], contacts.b[c]
    p, q = parts.part[a], parts.part[b]
    for turn in range(2):
        own = p if turn == 0 else q
        if own < 0 or (turn == 1 and q == p):
            continue
        for k in range(parts.begin[own], parts.begin[own + 1]):
            if parts.size[k] == 0.0:
                continue
            for i in range(3):
                shares[i] = 0.0
                if p == own:
                    contact_side(active, m, i, False, f)
                    shares[i] += share_of(parts, k, a, f)
                if q == own:
                    contact_side(active, m, i, True, f)
                    shares[i] += share_of(parts, k, b, f)
            for i in range(3):
                for j in range(3):
                    G[3 * i + j] -= shares[i] * shares[j]


@kernel(apart=True)
def strike_part(
    bodies: Bodies, parts: Parts, p: int, ends: tuple[int, int], f: np.ndarray, g: np.ndarray, vel: np.ndarray,
    change: np.ndarray,
) -> None:  # fmt: skip
    """Impulses f, g (6,) on the two bodies `ends`, as far as they belong to part p: all of its velocities change."""
    a, b = ends
    e, v = np.zeros(parts.width[p]), np.zeros(parts.width[p])
    if parts.part[a] == p:
        put(bodies, parts, a, f, e, v)
    if parts.part[b] == p:
        put(bodies, parts, b, g, e, v)
    for k in range(parts.begin[p], parts.begin[p + 1]):
        if parts.size[k] > 0.0:
            first = parts.first[k]
            c = dot(parts.along[first : first + parts.width[p]], v)
            parts.load[k] -= c
            for i in range(parts.width[p]):
                v[i] -= c * parts.answer[first + i]
    scatter_part(parts, p, v, 1.0, vel)
    scatter_part(parts, p, v, 1.0, change)


@kernel
def strike_pair(
    bodies: Bodies, parts: Parts, ends: tuple[int, int], f: np.ndarray, g: np.ndarray, vel: np.ndarray,
    change: np.ndarray,
) -> None:  # fmt: skip
    """Impulses f, g (6,) on the two bodies `ends`: velocities of all that joints hold to them change."""
    p, q = parts.part[ends[0]], parts.part[ends[1]]
    if p >= 0:
        strike_part(bodies, parts, p, ends, f, g, vel, change)
    if q >= 0 and q != p:
        strike_part(bodies, parts, q, ends, f, g, vel, change)


@kernel
def inverse_of_one_way(bodies: Bodies, joints: Joints, parts: Parts, s: int) -> float:
    """Mobility of row s, which pushes one way [1/kg, or 1/(kg m^2)]."""
    j, f, g, total = s // ROWS_PER_JOINT, np.empty(6), np.empty(6), 0.0
    a, b = joints.link.a[j], joints.link.b[j]
    side(joints, s, False, f)
    side(joints, s, True, g)
    for i, h in ((a, f), (b, g)):
        if parts.part[i] >= 0:
            x, y, z = times(bodies.inv_inertia[i], h[3], h[4], h[5])
            total += bodies.inv_mass[i] * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2])
            total += x * h[3] + y * h[4] + z * h[5]
    whole, p = total, part_of_joint(joints, j, parts.part)
    for k in range(parts.begin[p], parts.begin[p + 1]):
        if parts.size[k] > 0.0:
            c = 0.0
            if parts.part[a] == p:
                c += share_of(parts, k, a, f)
            if parts.part[b] == p:
                c += share_of(parts, k, b, g)
            total -= c * c
    return total if total > REDUNDANT * whole else 0.0


@kernel(apart=True)
def catch(bodies: Bodies, joints: Joints, parts: Parts, vel: np.ndarray, change: np.ndarray) -> float:
    """Stop limits and ropes that an impact drives on, without restitution; returns their work [J]."""
    f, g, work = np.empty(6), np.empty(6), 0.0
    for _ in range(CATCHES):
        done = True
        for s in range(joints.row.used.shape[0]):
            if role(joints, s) != ONE_WAY:
                continue
            j = s // ROWS_PER_JOINT
            a, b, floor = joints.link.a[j], joints.link.b[j], min(0.0, joints.row.target[s])
            u = row_velocity(joints, s, vel, a, b)
            if u >= floor - STILL * (1.0 + abs(floor)):
                continue
            mobility = inverse_of_one_way(bodies, joints, parts, s)
            if mobility == 0.0:
                continue
            z = (floor - u) / mobility
            side(joints, s, False, f)
            side(joints, s, True, g)
            for k in range(6):
                f[k], g[k] = z * f[k], z * g[k]
            strike_pair(bodies, parts, (a, b), f, g, vel, change)
            joints.row.blow[s] += z
            work += 0.5 * z * (floor + u)
            done = False
        if done:
            break
    return work


@kernel(apart=True)
def note_reactions(joints: Joints, parts: Parts) -> None:
    """Impulses of the rows that hold, from those along e_k, into `joints.row.blow`."""
    for p in range(parts.width.shape[0]):
        begin = parts.begin[p]
        for k in range(parts.begin[p + 1] - 1, begin - 1, -1):
            if parts.size[k] == 0.0:
                continue
            z = parts.load[k] / parts.size[k]
            joints.row.blow[parts.row[k]] += z
            for m in range(begin, k):
                parts.load[m] -= z * parts.made[k, m - begin]
