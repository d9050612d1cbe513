"""Islands with joints, solved inside the time loop with base twists and joint rates as unknowns.

The first joint between two parts of an island holds them together.  Each joint after it between bodies of one part
closes a loop, and keeps its rows.  Bodies whose motion is given are one part, the root of all trees that reach it.

Joints that hold bodies together have no unknowns.  Their reactions follow from the momentum balance of the bodies, from
the leaves to the root, and are written into the rows: the residual of the island counts all of these.  What rounding
leaves of the rows is taken out by one more pass along the tree.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.constants import AIM
from stickslip.contact.pool import Pool, numbers, pool_of, truths, whole_numbers, zero_table
from stickslip.contact.tree_blocks import Parts, mobilities, solve_tree
from stickslip.contact.tree_ladder import Laws, solve_tree_laws
from stickslip.contact.tree_newton import (
    TreeRoom,
    bare,
    factor_masses,
    first_room,
    set_rest,
    tree_room,
    tree_velocities,
)
from stickslip.contact.tree_plan import Plan, find_plan
from stickslip.contact.tree_problem import (
    OUTSIDE,
    Rows,
    Tree,
    TreeMotion,
    TreeProblem,
    VelocityProblem,
    add_all,
    add_momentum,
    apply_frame,
    carry,
    clear,
    closes_loop,
    hand_down,
    motion_from,
    relative_velocity,
)
from stickslip.jit import entry, kernel
from stickslip.scenes.islands.free_bodies import (
    contact_room,
    load_problem,
    number_back,
    number_bodies,
    row_room,
)
from stickslip.scenes.islands.held_rows import point_errors
from stickslip.scenes.islands.island import GRAINS, island_scale, judge_island, row_size
from stickslip.scenes.islands.joint_rows import LIMIT, ask_to_close, gap_with, midpoints_ahead, row_velocity
from stickslip.scenes.islands.problem import root, tangents
from stickslip.scenes.islands.row_kinds import (
    CYLINDRICAL,
    DISTANCE,
    FIXED,
    GEAR,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    SPRING,
    TRANSLATIONAL,
    UNIVERSAL,
    row_length,
)
from stickslip.scenes.layout import ROWS_PER_JOINT, Active, Bodies, Joints, Options
from stickslip.scenes.parts import Island
from stickslip.scenes.rotation import compose, x_axis, y_axis, z_axis

REFINEMENTS = 4  # passes along the tree that take out rounding, at most
# Rows of joints that are wrong by less than this part of the tolerance, relative to the velocities, need no pass:
# loads of contacts wander by it (a grasp slides off its path by 1.1e-12 m instead of 1e-12).  Chains of 10 and 50 links
# without contacts, steps/s: 1e-3 6.9e4 1.29e4, 1e-5 7.3e4 1.31e4, 1e-7 6.6e4 1.25e4.
EXACT = 1e-5
CLOSINGS = 8  # times that joints are linearised anew in a step, at most
DIFFER, FALLS = 1e-2, 1.0  # residual of joints that may differ by how they are linearised, and what is left of it
LOOSE = 1e-4  # of the error at which a joint counts as apart: an error at the next midpoint that asks for it
HELD = 1e-8  # of the mobility of free bodies: contacts with less along the normal are held by joints
HELD_SPEED = 1e-3  # of the velocities: a contact that closes faster is not left out, but for
ASKED = 4.0  # times the velocities with which joints that are apart are closed
NOISES = 2.0  # times the rounding of joint rows: smaller errors are no reason to move loads of contacts
# Of the rounding of joint rows: errors that are aimed at.  1 km away at dt = 1e-4 s that rounding is 2e-5 of what the
# weight does in a step, and slips below MOVES of it would grow in grasps near their limit.
SHARPLY = 1e-3
LEAST_SIZE = 1e-6  # of the mobility of a free body, given to contacts and rows that joints keep from moving


class Links(NamedTuple):
    """Which joint holds each of m bodies to its parent, and where."""

    joint: np.ndarray  # (m,) number of the joint, or -1
    sign: np.ndarray  # (m,) 1.0 where the body is the second of the joint, -1.0 where it is the first
    point: np.ndarray  # (m, 3) from the body's centre of mass to the joint's point [m]
    body: np.ndarray  # (m,) number in the scene


@kernel
def holds(joints: Joints, j: int) -> bool:
    """Whether joint j has rows in this step that hold its bodies together: gears and ropes have others."""
    return closes(joints, j) and joints.link.kind[j] < GEAR


@kernel
def closes(joints: Joints, j: int) -> bool:
    """Whether joint j has rows in this step that keep a position error from growing."""
    return joints.row.used[j * ROWS_PER_JOINT] and joints.link.kind[j] != SPRING


@kernel
def hold(links: Links, parent: np.ndarray, place: np.ndarray, joints: Joints, j: int, child: int, other: int) -> None:
    """Let joint j hold the body number `child` of the problem."""
    links.joint[child], parent[child] = j, other
    links.sign[child] = 1.0 if place[joints.link.b[j]] == child else -1.0


@kernel(apart=True)
def find_tree(
    island: Island, place: np.ndarray, m: int, parent: np.ndarray, links: Links, cut: np.ndarray, pool: Pool
) -> None:
    """Parents and joints of m bodies, from the world outwards; cut (joints,): those that close loops."""
    joints, rows = island.joints, island.rows
    part, head = whole_numbers(pool, m + 1), whole_numbers(pool, m + 1)
    for i in range(m + 1):
        part[i], head[i] = i, -1
    for i in range(m):
        parent[i], links.joint[i], links.sign[i] = OUTSIDE, -1, 1.0
    edge, follow = whole_numbers(pool, 2 * (m + 1)), whole_numbers(pool, 2 * (m + 1))  # joint, next edge of the body
    edges = 0
    for turn in range(2):  # rods come last: rows of loops should be few
        last = -1
        for k in range(island.row_first, island.row_last):
            j = rows[k] // ROWS_PER_JOINT
            if j == last:
                continue
            last = j
            if not holds(joints, j) or (joints.link.kind[j] == DISTANCE) != (turn == 1):
                continue
            a, b = place[joints.link.a[j]], place[joints.link.b[j]]
            p, q = a if a >= 0 else m, b if b >= 0 else m
            x, y = root(part, p), root(part, q)
            cut[j] = x == y
            if x != y:
                part[max(x, y)] = min(x, y)
                for body in (p, q):
                    edge[edges], follow[edges] = j, head[body]
                    head[body] = edges
                    edges += 1
    seen, queue = truths(pool, m + 1), whole_numbers(pool, m + 1)
    for start in range(m, -1, -1):  # the world first, then each tree without it from its first body
        begin = m if start == m else m - 1 - start
        if seen[begin]:
            continue
        seen[begin], queue[0], first, last = True, begin, 0, 1
        while first < last:
            i = queue[first]
            first += 1
            e = head[i]
            while e >= 0:
                j = edge[e]
                a, b = place[joints.link.a[j]], place[joints.link.b[j]]
                p, q = a if a >= 0 else m, b if b >= 0 else m
                other = q if p == i else p
                if not seen[other]:
                    seen[other], queue[last] = True, other
                    last += 1
                    hold(links, parent, place, joints, j, other, i if i < m else OUTSIDE)
                e = follow[e]


@kernel
def turn_column(S: np.ndarray, k: int, p: np.ndarray, x: float, y: float, z: float) -> None:
    """Column k of S: a turn about the axis (x, y, z) through the point with the arm p."""
    s = 6 * k
    S[s], S[s + 1], S[s + 2] = p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x
    S[s + 3], S[s + 4], S[s + 5] = x, y, z


@kernel
def shift_column(S: np.ndarray, k: int, x: float, y: float, z: float) -> None:
    """Column k of S: a shift along (x, y, z)."""
    s = 6 * k
    S[s], S[s + 1], S[s + 2], S[s + 3], S[s + 4], S[s + 5] = x, y, z, 0.0, 0.0, 0.0


@kernel
def free_columns(S: np.ndarray, planar: bool, p: np.ndarray) -> int:
    """Turns about a point: all of them, in the plane the one across it; returns how many."""
    if planar:
        turn_column(S, 0, p, 0.0, 0.0, 1.0)
        return 1
    turn_column(S, 0, p, 1.0, 0.0, 0.0)
    turn_column(S, 1, p, 0.0, 1.0, 0.0)
    turn_column(S, 2, p, 0.0, 0.0, 1.0)
    return 3


@kernel
def shift_columns(S: np.ndarray, k: int, planar: bool) -> int:
    """Columns of S from k on: shifts in all directions; returns the number of columns there are then."""
    shift_column(S, k, 1.0, 0.0, 0.0)
    shift_column(S, k + 1, 0.0, 1.0, 0.0)
    if not planar:
        shift_column(S, k + 2, 0.0, 0.0, 1.0)
    return k + 2 if planar else k + 3


@kernel
def columns_in_space(joints: Joints, j: int, A: np.ndarray, B: np.ndarray, p: np.ndarray, S: np.ndarray) -> int:
    """`joint_columns` of joints that turn and shift in ways of their own."""
    kind, lead = joints.link.kind[j], joints.link.law[j, 0]
    x, y, z = z_axis(A)
    turn_column(S, 0, p, x, y, z)
    if kind == SCREW:
        S[0], S[1], S[2] = S[0] + lead * x, S[1] + lead * y, S[2] + lead * z
        return 1
    if kind == UNIVERSAL:
        x, y, z = x_axis(B)
        turn_column(S, 1, p, x, y, z)
        return 2
    if kind == CYLINDRICAL:
        shift_column(S, 1, x, y, z)
        return 2
    x, y, z = x_axis(A)
    shift_column(S, 1, x, y, z)
    x, y, z = y_axis(A)
    shift_column(S, 2, x, y, z)
    return 3


@kernel
def joint_columns(
    joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray, p: np.ndarray, S: np.ndarray
) -> int:
    """How a joint lets the body with the arm p to its point move; returns the number of columns."""
    kind = joints.link.kind[j]
    if kind == FIXED:
        return 0
    if kind == TRANSLATIONAL:
        return shift_columns(S, 0, planar)
    if kind == UNIVERSAL or kind == CYLINDRICAL or kind == SCREW or kind == PLANAR:
        return columns_in_space(joints, j, A, B, p, S)
    if kind == PRISMATIC or (kind == REVOLUTE and not planar):
        x, y, z = z_axis(A)
        if kind == PRISMATIC:
            shift_column(S, 0, x, y, z)
        else:
            turn_column(S, 0, p, x, y, z)
        return 1
    d = free_columns(S, planar, p)
    if kind == DISTANCE:
        frame = np.empty(9)
        tangents(joints.row.direction[j * ROWS_PER_JOINT], planar, frame)
        shift_column(S, d, frame[3], frame[4], frame[5])
        if not planar:
            shift_column(S, d + 1, frame[6], frame[7], frame[8])
        d += 1 if planar else 2
    return d


@kernel(apart=True)
def set_columns(bodies: Bodies, joints: Joints, planar: bool, tree: Tree, links: Links) -> None:
    """Arms and columns of all bodies."""
    A, B, none = np.empty(7), np.empty(7), np.zeros(3)
    for i in range(tree.parent.shape[0]):
        body, j, S, p = links.body[i], links.joint[i], tree.S[i], links.point[i]
        if j < 0:
            tree.freedom[i] = shift_columns(S, free_columns(S, planar, none), planar)
            continue
        compose(bodies.mid[joints.link.a[j]], joints.link.frame_a[j], A)
        compose(bodies.mid[joints.link.b[j]], joints.link.frame_b[j], B)
        for k in range(3):
            p[k] = B[k] - bodies.mid[body, k]
            if tree.parent[i] >= 0:
                # as the arms of the rows are rounded
                tree.arm[i, k] = (B[k] - bodies.mid[links.body[tree.parent[i]], k]) - p[k]
        tree.freedom[i] = joint_columns(joints, j, planar, A, B, p, S)


@kernel
def outside_velocity(joints: Joints, bodies: Bodies, s: int, sign: float) -> float:
    """Velocity along row s of the body that holds the other one."""
    j, d, total = s // ROWS_PER_JOINT, joints.row.direction[s], 0.0
    v, g = (bodies.free[joints.link.a[j]], 3) if sign > 0.0 else (bodies.free[joints.link.b[j]], 6)
    for k in range(3):
        total += d[k] * v[k] + d[g + k] * v[3 + k]
    return total


@kernel(apart=True)
def set_given(
    bodies: Bodies, joints: Joints, planar: bool, tree: Tree, links: Links, order: np.ndarray, again: bool
) -> float:
    """V_0 of all bodies: what joints ask for; again: what their rows have been left with at the end velocities.

    Returns the largest velocity that a row of a joint asks for.
    """
    x, B, fastest = np.empty(6), np.empty(6), 0.0
    for e in range(order.shape[0] - 1, -1, -1):
        i = order[e]
        j, p, V = links.joint[i], links.point[i], tree.given[i]
        for k in range(6):
            B[k], V[k] = 0.0, 0.0
        if j < 0:
            continue
        points = point_errors(joints.link.kind[j], planar)
        for k in range(LIMIT):
            s = j * ROWS_PER_JOINT + k
            if not joints.row.used[s]:
                break
            t, d = joints.row.target[s], joints.row.direction[s]
            if again:
                t -= row_velocity(joints, s, bodies.end, joints.link.a[j], joints.link.b[j])
            t *= links.sign[i]
            fastest = max(fastest, row_length(joints, s) * abs(t))
            if tree.parent[i] < 0 and not again:
                t += outside_velocity(joints, bodies, s, links.sign[i])
            for c in range(3):
                if k < points:
                    B[c] += t * d[c]
                else:
                    B[3 + c] += t * d[3 + c]
        # the first three are the velocity of the joint's point
        B[0] -= B[4] * p[2] - B[5] * p[1]
        B[1] -= B[5] * p[0] - B[3] * p[2]
        B[2] -= B[3] * p[1] - B[4] * p[0]
        if tree.parent[i] >= 0:
            carry(tree.given[tree.parent[i]], tree.arm[i], x)
            for k in range(6):
                V[k] = x[k] + B[k]
        else:
            for k in range(6):
                V[k] = B[k]
    return fastest


@kernel(apart=True)
def add_reactions(
    joints: Joints, planar: bool, tree: Tree, links: Links, order: np.ndarray, rest: np.ndarray, load: np.ndarray
) -> None:
    """Add to the impulses of joints what the momenta `rest` (m, 6) of the bodies ask for, from leaves to roots.

    load (m, 6): the wrenches of these impulses are added.
    """
    for e in range(order.shape[0]):
        i = order[e]
        f, p, j = rest[i], links.point[i], links.joint[i]
        if j >= 0:
            x = f[3] - p[1] * f[2] + p[2] * f[1]
            y = f[4] - p[2] * f[0] + p[0] * f[2]
            z = f[5] - p[0] * f[1] + p[1] * f[0]
            points = point_errors(joints.link.kind[j], planar)
            for k in range(LIMIT):
                s = j * ROWS_PER_JOINT + k
                if not joints.row.used[s]:
                    break
                d = joints.row.direction[s]
                along = d[0] * f[0] + d[1] * f[1] + d[2] * f[2] if k < points else d[3] * x + d[4] * y + d[5] * z
                joints.row.impulse[s] += links.sign[i] * along
                to_first, to_second = (tree.parent[i], i) if links.sign[i] > 0.0 else (i, tree.parent[i])
                along *= links.sign[i]
                if to_first >= 0:
                    for c in range(6):
                        load[to_first, c] -= along * d[c]
                if to_second >= 0:
                    for c in range(3):
                        load[to_second, c] += along * d[c]
                        load[to_second, 3 + c] += along * d[6 + c]
        if tree.parent[i] >= 0:
            hand_down(f, tree.arm[i], rest[tree.parent[i]])


@kernel
def loose_rows(island: Island, cut: np.ndarray, chosen: np.ndarray) -> int:
    """Which rows of an island are unknowns, in `chosen`; returns how many."""
    joints, count = island.joints, 0
    for k in range(island.row_first, island.row_last):
        s = island.rows[k]
        j = s // ROWS_PER_JOINT
        if s % ROWS_PER_JOINT >= LIMIT or not holds(joints, j) or cut[j]:
            chosen[count] = s
            count += 1
    return count


@kernel(apart=True)
def load_rows(island: Island, place: np.ndarray, chosen: np.ndarray, rows: Rows) -> None:
    """Write the rows of a problem, with velocities in m/s and impulses in N s: turns with their `row_length`."""
    bodies, joints = island.bodies, island.joints
    for i in range(rows.a.shape[0]):
        s = chosen[i]
        j, d, length = s // ROWS_PER_JOINT, joints.row.direction[s], row_length(joints, s)
        a, b = joints.link.a[j], joints.link.b[j]
        rows.a[i], rows.b[i], rows.soft[i] = place[a], place[b], length * length * joints.row.soft[s]
        rows.low[i], rows.high[i] = joints.row.low[s] / length, joints.row.high[s] / length
        loop = s % ROWS_PER_JOINT < LIMIT and joints.link.kind[j] != SPRING
        rows.grain[i] = length * joints.row.grain[s] if loop else 0.0
        rows.mobility[i] = length * length * row_size(joints, s, bodies)
        bias = -joints.row.target[s]
        for k in range(12):
            rows.direction[i, k] = length * d[k]
        for k in range(3):
            if place[a] < 0:
                bias -= d[k] * bodies.free[a, k] + d[3 + k] * bodies.free[a, 3 + k]
            if place[b] < 0:
                bias += d[k] * bodies.free[b, k] + d[6 + k] * bodies.free[b, 3 + k]
                bias += d[9 + k] * bodies.free[b, k]
        rows.bias[i] = length * bias


@kernel
def coarsest(island: Island) -> float:
    """The largest grain of the rows of an island [m/s]."""
    largest = 0.0
    for m in range(island.row_first, island.row_last):
        s = island.rows[m]
        largest = max(largest, row_length(island.joints, s) * island.joints.row.grain[s])
    return largest


@kernel(apart=True)
def set_sizes(
    contacts: VelocityProblem, rows: Rows, tree: Tree, order: np.ndarray, H: Parts, dim: int, held: np.ndarray,
    place: np.ndarray,
) -> bool:  # fmt: skip
    """Mobilities of contacts and rows, of bodies held by their joints; whether a contact is `held` along its normal.

    place (m,): room.
    """
    m, any_held = order.shape[0], False
    f, g, out = np.empty((3, 6)), np.empty((3, 6)), np.empty(3)
    for k in range(m):
        place[order[k]] = k
    for i in range(contacts.a.shape[0]):
        p, q, total = contacts.arm_a[i], contacts.arm_b[i], 0.0
        for k in range(dim):
            x, y, z = contacts.frame[i, 3 * k], contacts.frame[i, 3 * k + 1], contacts.frame[i, 3 * k + 2]
            f[k, 0], f[k, 1], f[k, 2] = -x, -y, -z
            f[k, 3], f[k, 4], f[k, 5] = p[2] * y - p[1] * z, p[0] * z - p[2] * x, p[1] * x - p[0] * y
            g[k, 0], g[k, 1], g[k, 2] = x, y, z
            g[k, 3], g[k, 4], g[k, 5] = q[1] * z - q[2] * y, q[2] * x - q[0] * z, q[0] * y - q[1] * x
        mobilities(tree, place, H, contacts.a[i], contacts.b[i], f, g, out[:dim])
        for k in range(dim):
            total += out[k]
        held[i] = out[0] < HELD * contacts.size[i]
        any_held = any_held or held[i]
        contacts.size[i] = max(total / dim, LEAST_SIZE * contacts.size[i])
    for i in range(rows.a.shape[0]):
        d = rows.direction[i]
        rows.size[i] = rows.mobility[i]
        if not closes_loop(rows, i):
            for k in range(3):
                f[0, k], f[0, 3 + k], g[0, k], g[0, 3 + k] = -d[k], -d[3 + k], d[k] + d[9 + k], d[6 + k]
            mobilities(tree, place, H, rows.a[i], rows.b[i], f, g, out[:1])
            rows.size[i] = max(out[0] + rows.soft[i], LEAST_SIZE * rows.mobility[i])
    return any_held


@kernel(apart=True)
def drop_held(
    island: Island,
    problem: TreeProblem,
    masses: Plan,
    room: TreeRoom,
    closing: float,
    held: np.ndarray,
    kept: np.ndarray,
) -> int:
    """Leave out contacts that joints hold along their normals, and that do not close; returns how many are kept.

    closing: velocity up to which closing is that of the joints themselves [m/s].
    kept (n,): numbers of the others, which move up in the problem.
    """
    contacts, motion, count = problem.contacts, room.trial, 0
    tree_velocities(problem, masses, motion, room)
    for i in range(held.shape[0]):
        active = island.order[island.first + i]
        u, _, _ = relative_velocity(contacts, i, motion.contacts.v)
        if held[i] and u + contacts.bias[i, 0] >= -closing:
            island.active.mobility[active] = 0.0
            for k in range(3):
                island.active.r[active, k] = 0.0
            continue
        kept[count] = i
        if count < i:
            contacts.a[count], contacts.b[count], contacts.mu[count] = contacts.a[i], contacts.b[i], contacts.mu[i]
            contacts.size[count], problem.mobility[count] = contacts.size[i], problem.mobility[i]
            for k in range(9):
                contacts.frame[count, k] = contacts.frame[i, k]
            for k in range(3):
                contacts.arm_a[count, k], contacts.arm_b[count, k] = contacts.arm_a[i, k], contacts.arm_b[i, k]
                contacts.bias[count, k] = contacts.bias[i, k]
        count += 1
    return count


@kernel
def first_contacts(c: VelocityProblem, n: int) -> Any:
    """The first n contacts of a problem."""
    return VelocityProblem(
        c.a[:n], c.b[:n], c.frame[:n], c.arm_a[:n], c.arm_b[:n], c.bias[:n], c.mu[:n], c.size[:n], c.mass, c.inertia,
        c.inv_mass, c.inv_inertia, c.free,
    )  # fmt: skip


@kernel
def begin_with(island: Island, motion: TreeMotion, chosen: np.ndarray, kept: np.ndarray, dim: int) -> None:
    """Begin a motion with the impulses that contacts and rows of an island have."""
    for i in range(motion.contacts.r.shape[0]):
        for c in range(dim):
            motion.contacts.r[i, c] = island.active.r[island.order[island.first + kept[i]], c]
    for i in range(motion.z.shape[0]):
        motion.z[i] = island.joints.row.impulse[chosen[i]] / row_length(island.joints, chosen[i])


@kernel(apart=True)
def write_back(
    island: Island, problem: TreeProblem, motion: TreeMotion, links: Links, plan: Plan, room: TreeRoom,
    asked: tuple[np.ndarray, np.ndarray], dim: int,
) -> None:  # fmt: skip
    """Impulses of contacts, rows and joints of a motion; `asked`: the numbers of its rows, and of its contacts."""
    chosen, kept = asked
    active, joints, d = island.active, island.joints, np.empty(6)
    bodies, v = problem.contacts, motion.contacts.v
    for k in range(island.row_first, island.row_last):
        joints.row.impulse[island.rows[k]] = 0.0
    for i in range(motion.z.shape[0]):
        joints.row.impulse[chosen[i]] = row_length(joints, chosen[i]) * motion.z[i]
    for k in range(motion.contacts.r.shape[0]):
        for c in range(dim):
            active.r[island.order[island.first + kept[k]], c] = motion.contacts.r[k, c]
    clear(room.load)
    add_all(problem, motion.contacts.r, motion.z, room.load)
    for j in range(v.shape[0]):
        for k in range(6):
            d[k] = v[j, k] - bodies.free[j, k]
            room.wrench[j, k] = -room.load[j, k]
        add_momentum(bodies, j, d, 1.0, room.wrench[j])
    add_reactions(joints, dim == 2, problem.tree, links, plan.order, room.wrench, room.load)


@kernel
def end_by_loads(problem: VelocityProblem, links: Links, load: np.ndarray, bodies: Bodies) -> None:
    """u_E = u_free + M^-1 load of the bodies of a problem; load (m, 6): wrenches of all their impulses."""
    for j in range(load.shape[0]):
        f, u, g = load[j], bodies.end[links.body[j]], problem.free[j]
        x, y, z = apply_frame(problem.inv_inertia[j], f[3], f[4], f[5])
        for k in range(3):
            u[k] = g[k] + problem.inv_mass[j] * f[k]
        u[3], u[4], u[5] = g[3] + x, g[4] + y, g[5] + z


@kernel
def end_of_given(island: Island, place: np.ndarray) -> None:
    """Bodies whose motion is given end as they move freely."""
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    for m in range(first, last):
        c = active.contact[order[m]]
        for body in (contacts.a[c], contacts.b[c]):
            if place[body] < 0:
                for k in range(6):
                    bodies.end[body, k] = bodies.free[body, k]
    for m in range(row_first, row_last):
        j = rows[m] // ROWS_PER_JOINT
        for body in (joints.link.a[j], joints.link.b[j]):
            if place[body] < 0:
                for k in range(6):
                    bodies.end[body, k] = bodies.free[body, k]


@kernel(apart=True)
def refine(
    island: Island, problem: TreeProblem, links: Links, masses: Plan, room: TreeRoom, planar: bool, enough: float,
    most: float,
) -> float:  # fmt: skip
    """Take out of the joints' rows what rounding has left of them, by a change of the reactions alone.

    Returns the largest velocity that a row was wrong by; nothing is done where that is `enough`, or more than `most`.
    """
    tree, bodies, v = problem.tree, problem.contacts, room.dv
    wrong = set_given(island.bodies, island.joints, planar, tree, links, masses.order, True)
    if wrong <= enough or wrong > most:
        return wrong
    clear(room.wrench)
    for j in range(v.shape[0]):
        add_momentum(bodies, j, tree.given[j], -1.0, room.wrench[j])
    solve_tree(tree, masses, room.H, room.wrench, v)
    clear(room.wrench)
    for j in range(v.shape[0]):
        for k in range(6):
            v[j, k] += tree.given[j, k]
        add_momentum(bodies, j, v[j], 1.0, room.wrench[j])
    add_reactions(island.joints, planar, tree, links, masses.order, room.wrench, room.load)
    return wrong


@kernel(apart=True)
def end_of_joined(
    island: Island, problem: TreeProblem, links: Links, masses: Plan, room: TreeRoom, options: Options, exact: float,
    scale: float,
) -> float:  # fmt: skip
    """Set the end velocities from the impulses, with joints refined down to `exact` [m/s]; returns the residual."""
    planar, bodies, residual = options.dim == 2, problem.contacts, 0.0
    end_by_loads(bodies, links, room.load, island.bodies)
    if bodies.a.shape[0] + problem.rows.a.shape[0] == 0:  # then joints are all there is to judge
        residual = judge_island(island, options.dim, options.edges, scale, exact / scale if scale > 0.0 else 0.0)
        if residual * scale <= exact:
            return residual
    before = np.inf
    for _ in range(REFINEMENTS):
        wrong = refine(island, problem, links, masses, room, planar, exact, 0.5 * before)
        if wrong <= exact or wrong > 0.5 * before:
            break
        end_by_loads(bodies, links, room.load, island.bodies)
        before = wrong
    return judge_island(island, options.dim, options.edges, scale, options.tol)


@kernel
def slip_before(active: Active, i: int) -> float:
    """Slip of active contact i in the step before [m/s], infinite where it carried nothing."""
    r, u, beyond = active.r[i], active.before[i], active.beyond[i]
    if r[0] == 0.0:
        return np.inf
    return math.sqrt((u[1] - beyond[1]) ** 2 + (u[2] - beyond[2]) ** 2)  # over that step it is less than now


@kernel
def widest_gap(joints: Joints, j: int, bodies: Bodies, dt: float) -> float:
    """A bound on how far joint j, linearised about the velocities before, is apart at the next midpoint [m].

    What is not linear are the arms, which turn by dt omega: dt^2 |d omega| (|omega| + |d omega|) times the arm.
    Of gears and ropes the directions turn as well: these have no bound.
    """
    if joints.link.kind[j] >= GEAR:
        return np.inf
    total = 0.0
    for i in (joints.link.a[j], joints.link.b[j]):
        before, change = 0.0, 0.0
        for k in range(3, 6):
            before += bodies.vel[i, k] ** 2
            change += (bodies.end[i, k] - bodies.vel[i, k]) ** 2
        before, change = math.sqrt(before), math.sqrt(change)  # no turn changes them
        total += change * (before + change)
    return dt * dt * total * joints.link.extent[j]


@kernel(apart=True)
def will_come_apart(joints: Joints, bodies: Bodies, planar: bool, dt: float) -> bool:
    """Whether a joint would be beyond its limit at the next midpoint, with the end velocities; notes how far.

    A step is linear in velocities, and joints are not: what solves it may still tear them.
    """
    found = False
    for j in range(joints.link.kind.shape[0]):
        if closes(joints, j) and not widest_gap(joints, j, bodies, dt) <= joints.link.limit[j]:
            gap = gap_with(joints, j, bodies, bodies.end, planar, dt)
            if not gap <= joints.link.limit[j]:
                joints.link.error[j] = max(joints.link.error[j], gap)
                found = True
    return found


@kernel
def comes_apart(island: Island, planar: bool, dt: float) -> bool:
    """Whether a joint of an island would come apart too far with the end velocities."""
    bodies, joints, last = island.bodies, island.joints, -1
    for k in range(island.row_first, island.row_last):
        j = island.rows[k] // ROWS_PER_JOINT
        if j != last and closes(joints, j):
            limit = LOOSE * joints.link.limit[j]
            if (
                widest_gap(joints, j, bodies, dt) > limit
                and gap_with(joints, j, bodies, bodies.end, planar, dt) > limit
            ):
                return True
        last = j
    return False


@kernel(apart=True)
def ask_again(island: Island, planar: bool, dt: float) -> None:
    """Linearise the joints of an island about the end velocities."""
    bodies, joints, last = island.bodies, island.joints, -1
    ahead = np.empty((bodies.kind.shape[0], 7))
    midpoints_ahead(joints, bodies, bodies.end, dt, ahead)
    for k in range(island.row_first, island.row_last):
        j = island.rows[k] // ROWS_PER_JOINT
        if j != last and closes(joints, j):
            ask_to_close(joints, j, ahead, bodies.end, planar, dt)
        last = j


@kernel(inline=True)
def joined_pool(n: int, k: int, m: int, joints: int) -> Any:
    """Memory for what `solve_joined` takes: n contacts, k rows, m bodies, and the joints of the scene."""
    return pool_of(64 * n + 31 * k + 501 * m, 4 * n + 3 * k + 32 * m + 9, 2 * n + 2 * m + 1 + joints)


@kernel
def joint_room(pool: Pool, m: int) -> Any:
    """Room for the joints of m bodies."""
    return Tree(
        whole_numbers(pool, m), zero_table(pool, m, 3), whole_numbers(pool, m), zero_table(pool, m, 36),
        zero_table(pool, m, 6),
    )  # fmt: skip


@kernel
def slips_before(island: Island, kept: np.ndarray, slid: np.ndarray) -> None:
    """Slip in the step before of the contacts that are kept, (n,) [m/s]; infinite for those that carried nothing."""
    for i in range(slid.shape[0]):
        slid[i] = slip_before(island.active, island.order[island.first + kept[i]])


@kernel(apart=True)
def solve_joined(island: Island, options: Options, place: np.ndarray, quick: bool, tried: bool) -> tuple[float, int]:
    """Solve an island with joints; returns its residual and the stage of `tree_ladder` that ended it.

    place (bodies,): room.  quick: by Newton from the last impulses alone.  tried: Newton has failed on it already.
    """
    bodies, joints, dim = island.bodies, island.joints, options.dim
    planar, n = dim == 2, island.last - island.first
    m, most = number_bodies(island, place), island.row_last - island.row_first
    pool = joined_pool(n, most, m, joints.link.kind.shape[0])
    contacts, mobilities = contact_room(pool, n, m), numbers(pool, n)
    links = Links(whole_numbers(pool, m), numbers(pool, m), zero_table(pool, m, 3), whole_numbers(pool, m))
    number_back(island, place, links.body)
    load_problem(island, dim, place, links.body, contacts)
    tree = joint_room(pool, m)
    cut, chosen = truths(pool, joints.link.kind.shape[0]), whole_numbers(pool, most)
    end_of_given(island, place)
    find_tree(island, place, m, tree.parent, links, cut, pool)
    k = loose_rows(island, cut, chosen)
    rows = row_room(pool, k)
    load_rows(island, place, chosen, rows)
    set_columns(bodies, joints, planar, tree, links)
    plan, pairs = find_plan(contacts, rows, tree.parent, pool)
    masses = bare(plan, pool)
    asked = set_given(bodies, joints, planar, tree, links, plan.order, False)
    mobilities[:] = contacts.size
    whole = TreeProblem(contacts, mobilities, rows, tree)
    room = tree_room(whole, np.empty((pairs, 36)), pool)
    factor_masses(whole, masses, room)
    held, kept, order = truths(pool, n), whole_numbers(pool, n), whole_numbers(pool, m)
    grain, speed = coarsest(island), island_scale(island, 0.0)
    limit, sharp, stage, residual = max(speed, GRAINS * grain), max(speed, SHARPLY * GRAINS * grain), 0, 0.0
    for i in range(n):
        kept[i] = i
    if n + k > 0 and set_sizes(contacts, rows, tree, plan.order, room.H, dim, held, order):
        n = drop_held(island, whole, masses, room, HELD_SPEED * limit + ASKED * asked, held, kept)
    problem, room = TreeProblem(first_contacts(contacts, n), whole.mobility[:n], rows, tree), first_room(room, n)
    motion, slid = motion_from(pool, n, k, m), numbers(pool, n)
    begin_with(island, motion, chosen, kept, dim)
    slips_before(island, kept, slid)
    noise = min(NOISES * grain, AIM * options.tol * sharp) if n > 0 else 0.0
    rounding = grain / speed if speed > 0.0 else 0.0
    for again in range(1 + CLOSINGS):
        asked_for = Laws(options.tol, limit, sharp, noise, rounding, dim, quick, tried)
        error, more = solve_tree_laws(problem, plan, masses, motion, room, slid, asked_for)
        stage, tried = max(stage, more), False
        write_back(island, problem, motion, links, plan, room, (chosen, kept), dim)
        worst, scale = residual, limit if again == 0 else island_scale(island, GRAINS)
        residual = end_of_joined(island, problem, links, masses, room, options, EXACT * options.tol * speed, scale)
        # Redundant joints that agree, linearised about other velocities than those of the end, contradict one another.
        differ = not residual <= options.tol
        failed = quick and not error <= options.tol * limit  # Newton, whatever the joints
        if failed or (differ and (k == 0 or not residual < (DIFFER if again == 0 else FALLS * worst))):
            break
        if again == CLOSINGS or not (differ or comes_apart(island, planar, options.dt)):
            break
        ask_again(island, planar, options.dt)
        load_rows(island, place, chosen, rows)
        set_given(bodies, joints, planar, tree, links, plan.order, False)
        set_rest(problem, room)
    return residual, stage


@entry
def solve_joined_again(island: Island, options: Options, place: np.ndarray) -> float:
    """`solve_joined` for callers from Python; returns the residual."""
    return solve_joined(island, options, place, False, False)[0]
