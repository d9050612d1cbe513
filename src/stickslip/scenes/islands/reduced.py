"""Bodies that joints hold together: what an impulse on one of them does to all, with the joints' rows eliminated.

With J the rows that hold and p impulses on the bodies,

    du = M^-1 (p + J^T R),    J du = 0.

The rows of a part (bodies that joints hold together) are made orthonormal in the metric of M^-1, twice for rounding:
e_k M^-1 e_l = delta_kl.  A row of which less than REDUNDANT is left follows from the others, as in closed loops.  Then

    du = M^-1 p - sum_k c_k M^-1 e_k,    c_k = p . M^-1 e_k.

A soft row, row . u + soft R = target, is tied to a velocity of its own with the mass 1 / soft: a rotor, a spring, a
damper.  M^-1 is taken as its symmetric part, which for struck bodies it is: others differ by what they turn in a step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.problem import join, root
from stickslip.scenes.islands.row_kinds import SPRING
from stickslip.scenes.layout import MOVING, ROWS_PER_JOINT, Bodies, Joints

REDUNDANT = 1e-8  # of the size of a row: what is left of one that follows from others
NOTHING, HOLDS, SOFT, ONE_WAY = range(4)
"""What rows do: they are not there, hold, hold softly, or are left to those who ask."""


class Parts(NamedTuple):
    """Bodies that joints hold together, R rows that hold them, and what they are made of."""

    part: np.ndarray  # (bodies,) number of the part of each body that moves; -1: it does not
    place: np.ndarray  # (bodies,) where its six velocities begin among those of the part
    width: np.ndarray  # (parts,) velocities of a part: six for each body, one for each soft row
    begin: np.ndarray  # (parts + 1,) where the rows of a part begin
    first: np.ndarray  # (R,) where the numbers of a row begin in `along` and `answer`
    row: np.ndarray  # (R,) its number among the rows of joints
    rotor: np.ndarray  # (R,) place of a soft row's own velocity among those of the part; -1: it has none
    soft: np.ndarray  # (R,) [1/kg]
    size: np.ndarray  # (R,) what is left of it beside those before it; 0: it follows from these
    given: np.ndarray  # (R,) what is given for e_k: velocities of bodies that do not move freely, targets [m/s]
    along: np.ndarray  # e_k, one after the other
    answer: np.ndarray  # M^-1 e_k
    made: np.ndarray  # (R, most rows of a part) share of each e_l of the part in row k
    load: np.ndarray  # (R,) impulse along e_k so far [N s]


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
    at, A = parts.place[i], bodies.inv_inertia[i]
    for k in range(6):
        e[at + k] += f[k]
    for k in range(3):
        v[at + k] += bodies.inv_mass[i] * f[k]
        for m in range(3):
            v[at + 3 + k] += 0.5 * (A[3 * k + m] + A[3 * m + k]) * f[3 + m]


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
    parts.given[k] = 0.0
    for second in (False, True):
        i = joints.link.b[j] if second else joints.link.a[j]
        side(joints, s, second, f)
        put(bodies, parts, i, f, e, v)
        if parts.part[i] < 0:
            parts.given[k] += dot(f, vel[i])
    if parts.rotor[k] >= 0:
        e[parts.rotor[k]] = -1.0
        v[parts.rotor[k]] = -parts.soft[k]


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
def parts_of(bodies: Bodies, joints: Joints, roles: np.ndarray, soft: np.ndarray, vel: np.ndarray) -> Any:
    """The parts of a scene whose joints have their rows of this step.

    roles, soft: of each row, HOLDS or SOFT where it takes part; vel: velocities of bodies that do not move freely.
    """
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
        if roles[s] == HOLDS or roles[s] == SOFT:
            p = part_of_joint(joints, s // ROWS_PER_JOINT, part)
            begin[p + 1] += 1
            rows += 1
            if roles[s] == SOFT:
                width[p] += 1
    most, numbers = 0, 0
    for p in range(count):
        most = max(most, begin[p + 1])
        numbers += begin[p + 1] * width[p]
        begin[p + 1] += begin[p]
    first, row, rotor = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    softness = np.empty(rows)
    used, at, extra = np.zeros(count, np.int64), 0, np.zeros(count, np.int64)
    for s in range(total):
        if roles[s] == HOLDS or roles[s] == SOFT:
            p = part_of_joint(joints, s // ROWS_PER_JOINT, part)
            k = begin[p] + used[p]
            used[p] += 1
            row[k], first[k], rotor[k], softness[k] = s, at, -1, soft[s]
            at += width[p]
            if roles[s] == SOFT:
                extra[p] += 1
                rotor[k] = width[p] - extra[p]
    parts = Parts(
        part, place, width, begin, first, row, rotor, softness, np.zeros(rows), np.zeros(rows), np.zeros(numbers),
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


@kernel
def share_of(parts: Parts, k: int, i: int, f: np.ndarray) -> float:
    """c_k of the impulses f (6,) on body i."""
    at = parts.first[k] + parts.place[i]
    return dot(parts.answer[at : at + 6], f)


@kernel(apart=True)
def push_part(
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
def push_pair(
    bodies: Bodies, parts: Parts, ends: tuple[int, int], f: np.ndarray, g: np.ndarray, vel: np.ndarray,
    change: np.ndarray,
) -> None:  # fmt: skip
    """Impulses f, g (6,) on the two bodies `ends`: velocities of all that joints hold to them change."""
    p, q = parts.part[ends[0]], parts.part[ends[1]]
    if p >= 0:
        push_part(bodies, parts, p, ends, f, g, vel, change)
    if q >= 0 and q != p:
        push_part(bodies, parts, q, ends, f, g, vel, change)


@kernel(apart=True)
def row_impulses(parts: Parts, impulse: np.ndarray) -> None:
    """Add the impulses of the rows, from those along e_k, which are zero then, to `impulse` of all rows of joints."""
    for p in range(parts.width.shape[0]):
        begin = parts.begin[p]
        for k in range(parts.begin[p + 1] - 1, begin - 1, -1):
            if parts.size[k] > 0.0:
                z = parts.load[k] / parts.size[k]
                impulse[parts.row[k]] += z
                for m in range(begin, k):
                    parts.load[m] -= z * parts.made[k, m - begin]
            parts.load[k] = 0.0
