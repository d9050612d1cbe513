"""Impacts of bodies that joints hold: joints pass impulses on within no time, as `islands.reduced` has it.

Rows that hold in an impact: those of joints, gears, racks and couplings.  A rotor is a velocity of its own with a mass
of its own, tied to its joint by a row.  Motors, dry friction, springs and dampers do nothing within no time.  Limits
and ropes only push or pull: after each impact those that the impact drives on are stopped, without restitution
(`catch`).  With c_ik = w_i . M^-1 e_k of the rows w_i of a contact,

    G_ij = w_i M^-1 w_j - sum_k c_ik c_jk.

Velocities from one midpoint to the next keep J u = 0 up to dt, as the bodies go on curves.  Impacts take place at the
midpoint with the velocities there: those before the step, with half of its forces, and with half of what joints do to
both (`onto_joints`).  So reactions do no work, and an impact of one contact has the energy of its law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.joint_rows import LIMIT, PASSIVE, row_velocity
from stickslip.scenes.islands.reduced import (
    HOLDS,
    NOTHING,
    ONE_WAY,
    REDUNDANT,
    SOFT,
    Parts,
    dot,
    find_parts,
    gather_part,
    part_of_joint,
    parts_of,
    push_pair,
    scatter_part,
    share_of,
    side,
)
from stickslip.scenes.islands.row_kinds import ARMATURE, ROPE, SPRING, TORQUE
from stickslip.scenes.layout import ROWS_PER_JOINT, Active, Bodies, Contacts, Joints
from stickslip.scenes.rotation import times

CATCHES = 20  # rounds over all limits and ropes behind an impact
STILL = 1e-12  # of the velocities: limits that are driven on by less are not


@kernel
def role(joints: Joints, s: int) -> int:
    """What row s does in an impact: it holds, is that of a rotor, pushes one way, or does nothing."""
    if not joints.row.used[s]:
        return NOTHING
    j, slot, kind = s // ROWS_PER_JOINT, s % ROWS_PER_JOINT, joints.link.kind[s // ROWS_PER_JOINT]
    if slot == PASSIVE:
        return SOFT if joints.link.numbers[j, ARMATURE] > 0.0 else NOTHING
    if slot == LIMIT or (slot < LIMIT and kind >= ROPE):
        return ONE_WAY
    return HOLDS if slot < LIMIT and kind != SPRING else NOTHING


@kernel(apart=True)
def parts_in_impact(bodies: Bodies, joints: Joints, vel: np.ndarray) -> Any:
    """The parts of a scene with the rows that hold in an impact; vel: velocities before."""
    n = joints.row.used.shape[0]
    roles, soft = np.empty(n, np.int64), np.zeros(n)
    for s in range(n):
        roles[s] = role(joints, s)
        if roles[s] == SOFT:
            soft[s] = 1.0 / joints.link.numbers[s // ROWS_PER_JOINT, ARMATURE]
    return parts_of(bodies, joints, roles, soft, vel)


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
def contact_share(
    contacts: Contacts, active: Active, m: int, parts: Parts, own: int, k: int, shares: np.ndarray
) -> None:
    """Write c_ik (3,) of active contact m, as far as its bodies belong to part `own`, with row k of that part."""
    c, f = active.contact[m], np.empty(6)
    a, b = contacts.a[c], contacts.b[c]
    for i in range(3):
        shares[i] = 0.0
        if parts.part[a] == own:
            contact_side(active, m, i, False, f)
            shares[i] += share_of(parts, k, a, f)
        if parts.part[b] == own:
            contact_side(active, m, i, True, f)
            shares[i] += share_of(parts, k, b, f)


@kernel(apart=True)
def take_joints(contacts: Contacts, active: Active, m: int, parts: Parts, G: np.ndarray) -> None:
    """Take out of G (9,) of active contact m, that of free bodies, what their joints hold."""
    c, shares = active.contact[m], np.empty(3)
    a, b = contacts.a[c], contacts.b[c]
    p, q = parts.part[a], parts.part[b]
    for turn in range(2):
        own = p if turn == 0 else q
        if own < 0 or (turn == 1 and q == p):
            continue
        for k in range(parts.begin[own], parts.begin[own + 1]):
            if parts.size[k] == 0.0:
                continue
            contact_share(contacts, active, m, parts, own, k, shares)
            for i in range(3):
                for j in range(3):
                    G[3 * i + j] -= shares[i] * shares[j]


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
            push_pair(bodies, parts, (a, b), f, g, vel, change)
            joints.row.blow[s] += z
            work += 0.5 * z * (floor + u)
            done = False
        if done:
            break
    return work
