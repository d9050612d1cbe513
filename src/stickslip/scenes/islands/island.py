"""What the impulses of an island are worth, its contact problem as arrays, and accelerated sweeps of it.

Contacts of the arrays are scaled by mobility^-1/2, W' = S W S.  Islands are solved by `free_bodies` and `trees`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.contact.blocks import Coupled, diagonal_blocks
from stickslip.contact.constants import CHECK_EVERY, MEMORY
from stickslip.contact.gauss_seidel import Asked, Part, accelerated_sweeps, new_anderson
from stickslip.contact.residual import plain_gauge
from stickslip.contact.tree_problem import disc_defect
from stickslip.jit import entry, kernel
from stickslip.projections import EPS, norm_2d, worse
from stickslip.scenes.islands.joint_rows import add_pull, apply_pull, row_velocity
from stickslip.scenes.islands.problem import apply_contact, contact_velocity, side_product
from stickslip.scenes.islands.pyramid import polygon_support, project_polygon, project_pyramid
from stickslip.scenes.islands.rolling import apply_turn, resists, six_defect
from stickslip.scenes.islands.row_kinds import row_length
from stickslip.scenes.layout import ROWS_PER_JOINT, Active, Bodies, Options
from stickslip.scenes.parts import Island
from stickslip.scenes.rotation import times

NOTHING = 1e-100  # velocities [m/s] that are none: their squares leave the range of numbers, and Newton with them
GRAINS = 1e10  # the grain of a joint row as a scale: a tolerance of 1e-10 is one grain
# Velocities that impulses make are rounded: their sums alone, held against extended precision, are wrong by up to 33
# units in the last place, 7e-15 of them (chains of 1 to 50 links, masses up to 1e9 apart, up to 1e5 m from the origin;
# `tests/scenes/test_rounding.py`).  What is smaller cannot be told from a solution.  The other two numbers bound what
# that may be of the velocities in the island: with pulls 1e7 times those, 1e-7.  A joint's error of position enters the
# next step's target, so that it does not add up.
LOAD_ROUNDING = 1e-14  # of the velocities that impulses make: some 50 roundings of them
MOST_ROUNDING = 1e-8  # of the velocities in an island: impulses that grow without bound are no solution
MOST_JOINT_ROUNDING = 1e-7  # the same of joint rows: a hinge on a near point mass turns it by the rounding of its pull
SPEED_ROUNDING = 4e-15  # of the velocities of the bodies, whose difference the velocity at a contact is
UNKNOWN = 1e-6  # of the velocities in an island: beyond, nothing is known of them, as in `contact.residual`
ROUNDED = 1e-10  # the residual that violations of the size of rounding count for
SHARPER = 0.1  # of the tolerance: a scaled error that stays below passes the test in velocities as a rule


@kernel
def polygon_defect(active: Active, i: int, u0: float, u1: float, u2: float, edges: int) -> float:
    """Violation of the laws at contact i [m/s] where its friction cone is a pyramid; see `disc_defect`.

    The support function of the pyramid's polygon at -u_T stands in place of |u_T|.
    """
    size, mu, r = active.mobility[i], active.mu[i], active.r[i]
    if size == 0.0:
        return 0.0
    rho = 1.0 / size
    if mu > 1.0:
        a = r[0] - rho * u0
        if a < 0.0:  # max might lose what is not a number
            a = 0.0
        b, c = project_polygon(r[1] - rho * u1, r[2] - rho * u2, mu * max(0.0, r[0]), edges)
        return size * math.sqrt((r[0] - a) ** 2 + (r[1] - b) ** 2 + (r[2] - c) ** 2)
    s = mu * polygon_support(-u1, -u2, edges)
    a, b, c = project_pyramid(r[0] - rho * (u0 + s), r[1] - rho * u1, r[2] - rho * u2, mu, edges)
    defect = size * math.sqrt((r[0] - a) ** 2 + (r[1] - b) ** 2 + (r[2] - c) ** 2)
    return -u0 if -u0 > defect else defect  # max might lose what is not a number


@kernel
def contact_defect(active: Active, i: int, u0: float, u1: float, u2: float, dim: int, edges: int) -> float:
    """Violation of the laws at contact i [m/s]; edges > 0: its friction cone in space is a pyramid."""
    if dim == 3 and edges > 0:
        return polygon_defect(active, i, u0, u1, u2, edges)
    return disc_defect(active.r[i], active.mu[i], active.mobility[i], u0, u1, u2, dim)


@kernel
def row_size(joints: Any, s: int, bodies: Bodies) -> float:
    """Diagonal of W of a joint row, with the softness of a spring."""
    d, j = joints.row.direction[s], s // ROWS_PER_JOINT
    a, b = joints.link.a[j], joints.link.b[j]
    x, y, z = times(bodies.inv_inertia[a], d[3], d[4], d[5])
    p, q, r = times(bodies.inv_inertia[b], d[6], d[7], d[8])
    linear = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    total = linear * (bodies.inv_mass[a] + bodies.inv_mass[b]) + joints.row.soft[s]
    for k in range(3):
        total += bodies.inv_mass[b] * d[9 + k] * (2.0 * d[k] + d[9 + k])
    return total + d[3] * x + d[4] * y + d[5] * z + d[6] * p + d[7] * q + d[8] * r


@entry(apart=True)
def end_velocities(
    island: Island, dim: int,
) -> None:  # fmt: skip
    """u_E = u_free + M^-1 W Lambda of the bodies of one island."""
    bodies, contacts, active, order, first, last_contact, joints, rows, row_first, row_last = island
    for m in range(first, last_contact):
        c = active.contact[order[m]]
        for k in range(6):
            bodies.end[contacts.a[c], k] = bodies.free[contacts.a[c], k]
            bodies.end[contacts.b[c], k] = bodies.free[contacts.b[c], k]
    if joints is not None:
        last = -1
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            if j != last:
                for k in range(6):
                    bodies.end[joints.link.a[j], k] = bodies.free[joints.link.a[j], k]
                    bodies.end[joints.link.b[j], k] = bodies.free[joints.link.b[j], k]
            last = j
    for m in range(first, last_contact):
        i = order[m]
        c = active.contact[i]
        if active.r[i, 0] != 0.0:
            apply_contact(active, i, bodies, contacts.a[c], contacts.b[c], dim)
            if resists(active, i):
                apply_turn(active, i, bodies, contacts.a[c], contacts.b[c])
    if joints is not None:
        pull = np.zeros(12)
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            add_pull(joints, rows[m], pull)
            if m + 1 == row_last or rows[m + 1] // ROWS_PER_JOINT != j:
                apply_pull(pull, bodies, bodies.end, joints.link.a[j], joints.link.b[j])
                for k in range(12):
                    pull[k] = 0.0


@entry
def contact_defects(
    island: Island, dim: int,
    edges: int, out: np.ndarray,
) -> None:  # fmt: skip
    """Violation of the laws at each contact of an island [m/s]."""
    bodies, contacts, active, order, first, last, _, _, _, _ = island
    for m in range(first, last):
        i = order[m]
        c, bias = active.contact[i], active.bias[i]
        u0, u1, u2 = contact_velocity(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
        out[m - first] = contact_defect(active, i, u0 + bias[0], u1 + bias[1], u2 + bias[2], dim, edges)


@kernel
def speed_of(v: np.ndarray) -> float:
    """Length of the first three components."""
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel
def contact_scale(island: Island) -> float:
    """`island_scale` of the contacts alone."""
    bodies, contacts, active, order, scale = island.bodies, island.contacts, island.active, island.order, 0.0
    for m in range(island.first, island.last):
        i = order[m]
        c = active.contact[i]
        v0, v1, v2 = contact_velocity(active, i, bodies, bodies.free, contacts.a[c], contacts.b[c])
        scale = max(scale, abs(v0) + norm_2d(v1, v2) + abs(active.bias[i, 0] - active.beyond[i, 0]))
    return scale


@kernel
def row_scale(island: Island, grains: float, scale: float) -> float:
    """`island_scale` from that of the contacts on."""
    bodies, joints, rows, link, a, b = island.bodies, island.joints, island.rows, -1, -1, -1
    for m in range(island.row_first, island.row_last):
        s = rows[m]
        j = s // ROWS_PER_JOINT
        if j != link:
            link, a, b = j, joints.link.a[j], joints.link.b[j]
            # rounding of the velocities that the rows are differences of
            scale = max(scale, 1e-3 * (speed_of(bodies.free[a]) + speed_of(bodies.free[b])))
        free, before = row_velocity(joints, s, bodies.free, a, b), row_velocity(joints, s, bodies.vel, a, b)
        length = row_length(joints, s)
        scale = max(scale, length * (max(abs(free), abs(before)) + joints.row.asked[s]))
        # and of the positions in g / dt: redundant rows differ by it
        scale = max(scale, length * grains * joints.row.grain[s])
    return scale


@kernel(apart=True)
def island_scale(island: Island, grains: float) -> float:
    """The largest velocity in an island, without impulses and asked for [m/s].

    None of these velocities is one that was found: a solution that runs away must not be measured by itself.
    Lengths, and not sums of components: Newton's alpha follows the scale, which must not depend on the axes.
    grains: GRAINS where the island has been solved, 0 where that is to be decided.
    """
    scale = contact_scale(island)
    if island.joints is not None:
        scale = row_scale(island, grains, scale)
    return scale


@kernel(apart=True)
def island_rounding(island: Island, scale: float) -> float:
    """Part of the violations in an island that rounding explains [m/s].

    Of the velocities of bodies that move together, and of those that large impulses make: heavy on light.
    """
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    loads, pulls, speed = largest_load(island), 0.0, 0.0
    for m in range(first, last):
        i = order[m]
        c = active.contact[i]
        speed = max(speed, max(speed_of(bodies.free[contacts.a[c]]), speed_of(bodies.free[contacts.b[c]])))
    if joints is not None:
        link, light, pull = -1, 0.0, 0.0
        for m in range(row_first, row_last):
            s = rows[m]
            j = s // ROWS_PER_JOINT
            # Rows of one joint move one another: |W_rs x_s| <= sqrt(W_rr) sqrt(W_ss) |x_s|.  Friction in a hinge turns
            # a near point mass, which is turned back by a pull that hardly moves its own row.
            if j != link:
                link, light, pull = j, 0.0, 0.0
            if joints.row.low[s] == -np.inf and joints.row.high[s] == np.inf:
                root = math.sqrt(row_size(joints, s, bodies))
                light = max(light, row_length(joints, s) * root)
                pull = max(pull, root * abs(joints.row.impulse[s]))
                pulls = max(pulls, light * pull)
    rounding = max(min(LOAD_ROUNDING * loads, MOST_ROUNDING * scale), SPEED_ROUNDING * speed)
    return max(rounding, min(LOAD_ROUNDING * pulls, MOST_JOINT_ROUNDING * scale))


@kernel
def row_violation(island: Island, s: int, a: int, b: int) -> float:
    """Violation of the laws of joint row s between bodies a and b, at the end velocities [m/s]."""
    bodies, row, x = island.bodies, island.joints.row, island.joints.row.impulse[s]
    length = row_length(island.joints, s)
    w = row_velocity(island.joints, s, bodies.end, a, b) + row.soft[s] * x - row.target[s]
    if row.low[s] == -np.inf and row.high[s] == np.inf:
        return length * abs(w)
    d = row_size(island.joints, s, bodies)
    return length * d * abs(x - min(row.high[s], max(row.low[s], x - w / d))) if d > 0.0 else 0.0


@kernel
def worst_violation(island: Island, dim: int, edges: int) -> float:
    """Worst violation of the laws at the end velocities of an island [m/s]."""
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    worst = 0.0
    for m in range(first, last):
        i = order[m]
        if resists(active, i):
            worst = worse(worst, six_defect(bodies, contacts, active, i, dim))
            continue
        c, bias = active.contact[i], active.bias[i]
        u0, u1, u2 = contact_velocity(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
        worst = worse(worst, contact_defect(active, i, u0 + bias[0], u1 + bias[1], u2 + bias[2], dim, edges))
    if joints is not None:
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            worst = worse(worst, row_violation(island, rows[m], joints.link.a[j], joints.link.b[j]))
    return worst


@kernel
def largest_load(island: Island) -> float:
    """The largest velocity that the impulse of a contact alone would make [m/s]."""
    loads = 0.0
    for m in range(island.first, island.last):
        i = island.order[m]
        loads = max(loads, island.active.mobility[i] * abs(island.active.r[i, 0]))
    return loads


@kernel
def judged(island: Island, worst: float, scale: float, enough: float) -> float:
    """The residual of a violation: see `judge_island`.

    Impulses that grow without bound are no solution, even where the velocities that they make round to zero.
    """
    residual = worst / scale if scale > NOTHING else worst
    unknown = EPS * largest_load(island)
    if unknown > UNKNOWN * scale > 0.0:
        return max(residual, unknown / scale)
    if residual <= enough:
        return residual
    rounding = island_rounding(island, scale)
    return min(residual, ROUNDED * worst / rounding) if worst <= rounding and rounding > 0.0 else residual


@kernel(apart=True)
def judge_island(island: Island, dim: int, edges: int, scale: float, enough: float) -> float:
    """Worst violation of the laws at the end velocities of an island, relative to its velocities `scale`.

    What rounding explains counts for at most ROUNDED.  It is looked at where the violation is more than `enough`.
    """
    return judged(island, worst_violation(island, dim, edges), scale, enough)


@kernel(apart=True)
def look_at_island(island: Island, dim: int, edges: int, grains: float, enough: float) -> tuple[float, float]:
    """Residual of an island at its end velocities, and its scale.

    Velocities of contacts are scale enough for a residual that is `enough`; with those of rows it would be less still.
    """
    worst, scale = worst_violation(island, dim, edges), contact_scale(island)
    if island.joints is not None:
        if not worst <= enough * scale:
            scale = row_scale(island, grains, scale)
    return judged(island, worst, scale, enough), scale


@kernel
def measure_island(island: Island, options: Options, scale: float, enough: float) -> float:
    """End velocities of an island from its impulses; returns its residual, as `judge_island`."""
    end_velocities(island, options.dim)
    return judge_island(island, options.dim, options.edges, scale, enough)


@entry
def island_residual(island: Island, dim: int, edges: int, grains: float) -> float:
    """Worst violation of the laws in an island, relative to the velocities in it; see `judge_island`."""
    return judge_island(island, dim, edges, island_scale(island, grains), 0.0)


@kernel
def write_blocks(
    island: Island, dim: int, head: np.ndarray, follow: np.ndarray, indptr: np.ndarray, indices: np.ndarray,
    data: np.ndarray, counting: bool,
) -> None:  # fmt: skip
    """Where the blocks of each contact begin, and, unless they are only counted, the blocks; see `block_system`."""
    bodies, contacts, active, order, first, last, _, _, _, _ = island
    w = 0
    for m in range(last - first):
        i = order[first + m]
        c = active.contact[i]
        a, b = contacts.a[c], contacts.b[c]
        p = head[a] if bodies.inv_mass[a] > 0.0 else -1
        q = head[b] if bodies.inv_mass[b] > 0.0 else -1
        if p < 0 and q < 0:  # nothing moves: an empty diagonal block
            if not counting:
                indices[w] = m
                data[w, :, :] = 0.0
            w += 1
        while p >= 0 or q >= 0:
            k = p // 2 if (q < 0 or (p >= 0 and p // 2 <= q // 2)) else q // 2
            if not counting:
                indices[w] = k
                j = order[first + k]
                scale = 1.0 / math.sqrt(active.mobility[i] * active.mobility[j])
                f, g = active.frame[i], active.frame[j]
                for r in range(dim):
                    for s in range(dim):
                        data[w, r, s] = 0.0
                if p >= 0 and p // 2 == k:
                    sign = -scale if p % 2 == 1 else scale
                    arm = active.arm_b[j] if p % 2 == 1 else active.arm_a[j]
                    for r in range(dim):
                        for s in range(dim):
                            data[w, r, s] += sign * side_product(bodies, a, f, active.arm_a[i], g, arm, r, s)
                if q >= 0 and q // 2 == k:
                    sign = scale if q % 2 == 1 else -scale
                    arm = active.arm_b[j] if q % 2 == 1 else active.arm_a[j]
                    for r in range(dim):
                        for s in range(dim):
                            data[w, r, s] += sign * side_product(bodies, b, f, active.arm_b[i], g, arm, r, s)
            if p >= 0 and p // 2 == k:
                p = follow[p]
            if q >= 0 and q // 2 == k:
                q = follow[q]
            w += 1
        indptr[m + 1] = w


@entry(apart=True)
def block_system(
    island: Island, dim: int,
    head: np.ndarray, follow: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Blocks of S W S of an island without joints, as in contact.blocks.

    head (bodies,) is -1 on entry and again on return; follow (2 contacts,).
    """
    bodies, contacts, active, order, first, last, _, _, _, _ = island
    n = last - first
    for m in range(n - 1, -1, -1):  # lists of the contacts of each body, ascending
        c = active.contact[order[first + m]]
        for side in range(2):
            body = contacts.a[c] if side == 0 else contacts.b[c]
            if bodies.inv_mass[body] > 0.0:
                follow[2 * m + side] = head[body]
                head[body] = 2 * m + side
    indptr, no_indices, no_data = np.zeros(n + 1, np.int64), np.empty(0, np.int64), np.empty((0, dim, dim))
    write_blocks(island, dim, head, follow, indptr, no_indices, no_data, True)
    indices, data = np.empty(indptr[n], np.int64), np.empty((indptr[n], dim, dim))
    write_blocks(island, dim, head, follow, indptr, indices, data, False)
    for m in range(n):
        c = active.contact[order[first + m]]
        head[contacts.a[c]] = -1
        head[contacts.b[c]] = -1
    return data, indptr, indices


@entry
def right_side(
    island: Island, dim: int,
    vel: np.ndarray, q: np.ndarray, mu: np.ndarray, z: np.ndarray,
) -> None:  # fmt: skip
    """Scaled velocities q (with vel the free ones of the bodies), friction mu and start z of an island's contacts."""
    bodies, contacts, active, order, first, last, _, _, _, _ = island
    for m in range(last - first):
        i = order[first + m]
        c = active.contact[i]
        v0, v1, v2 = contact_velocity(active, i, bodies, vel, contacts.a[c], contacts.b[c])
        S = 1.0 / math.sqrt(active.mobility[i])
        q[dim * m] = S * (v0 + active.bias[i, 0])
        q[dim * m + 1] = S * (v1 + active.bias[i, 1])
        if dim == 3:
            q[dim * m + 2] = S * (v2 + active.bias[i, 2])
        for k in range(dim):
            z[dim * m + k] = active.r[i, k] / S
        mu[m] = active.mu[i]


@entry
def take_impulses(island: Island, dim: int, z: np.ndarray) -> None:
    """Unscale the impulses of an island's contacts."""
    active, order, first, last = island.active, island.order, island.first, island.last
    for m in range(last - first):
        i = order[first + m]
        S = 1.0 / math.sqrt(active.mobility[i])
        for k in range(dim):
            active.r[i, k] = S * z[dim * m + k]


@entry(apart=True)
def solve_sweeps(
    island: Island, options: Options,
    head: np.ndarray, follow: np.ndarray, tol: float,
) -> None:  # fmt: skip
    """Accelerated sweeps of an island without joints, until the scaled error is below tol."""
    dim, n, bodies = options.dim, island.last - island.first, island.bodies
    data, indptr, indices = block_system(island, dim, head, follow)
    q, z, u, mu = np.empty(dim * n), np.empty(dim * n), np.empty(dim * n), np.empty(n)
    right_side(island, dim, bodies.free, q, mu, z)
    local = diagonal_blocks(data, indptr, indices)
    asked, anderson = Asked(options.sweeps, tol, MEMORY, 1.0, CHECK_EVERY), new_anderson(MEMORY, dim * n)
    contacts = Coupled(data, indptr, indices, q, mu)
    part = Part(z, u, plain_gauge(q, n), 0, n)
    accelerated_sweeps(contacts, local, part, asked, np.empty(0), anderson)
    take_impulses(island, dim, z)
