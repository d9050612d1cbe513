"""Islands of free bodies, solved inside the time loop with the velocities of the bodies as unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.contact.pool import Pool, numbers, pool_of, table, whole_numbers, zero_table
from stickslip.contact.tree_ladder import solve_free_laws
from stickslip.contact.tree_newton import tree_room
from stickslip.contact.tree_plan import find_plan
from stickslip.contact.tree_problem import (
    OUTSIDE,
    Rows,
    TreeProblem,
    VelocityProblem,
    motion_from,
    relative_velocity,
)
from stickslip.jit import entry, kernel
from stickslip.scenes.islands.island import (
    GRAINS,
    SHARPER,
    end_velocities,
    island_residual,
    island_scale,
    measure_island,
    solve_sweeps,
)
from stickslip.scenes.islands.problem import contact_velocity
from stickslip.scenes.layout import MOVING, ROWS_PER_JOINT, Active, Bodies, Contacts, Options
from stickslip.scenes.parts import Island
from stickslip.scenes.rotation import invert

# Piles of balls are swept faster than any matrix is factored: 250 balls, 600 contacts, tolerance 1e-4: 224 steps/s by
# sweeps, 18 by Newton; 200 boxes, 900 contacts, 1e-6: 46 by sweeps, 117 by Newton.
MATRIX_CONTACTS = 400  # up to which the matrix is small in any case
FLAT = 3.0  # contacts for each body, from which on faces touch faces
# Tolerance from which on sweeps are worth while: their error falls by a factor with each, Newton's by squares.  At
# 1e-8, 150 capsules in a bin, up to 450 contacts: by sweeps unsolved at 0.62 s, by Newton 0.8 s in 32 s of processor
# time; 300 balls that are poured, 22 and 25 s of processor time: by sweeps up to 0.22 s, by Newton up to 0.35 s.
SWEPT = 1e-6
FIRST_STAGES = 2  # of the ladder on velocities: those that usually do


@kernel
def number_bodies(island: Island, place: np.ndarray) -> int:
    """Number the free bodies of an island in the order of its contacts and joints, in `place`; returns how many."""
    bodies, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    count = 0
    for m in range(first, last):
        c = active.contact[order[m]]
        for body in (contacts.a[c], contacts.b[c]):
            place[body] = OUTSIDE
    if joints is not None:
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            for body in (joints.link.a[j], joints.link.b[j]):
                place[body] = OUTSIDE
    for m in range(first, last):
        c = active.contact[order[m]]
        for body in (contacts.a[c], contacts.b[c]):
            if bodies.kind[body] == MOVING and place[body] == OUTSIDE:
                place[body] = count
                count += 1
    if joints is not None:
        for m in range(row_first, row_last):
            j = rows[m] // ROWS_PER_JOINT
            for body in (joints.link.a[j], joints.link.b[j]):
                if bodies.kind[body] == MOVING and place[body] == OUTSIDE:
                    place[body] = count
                    count += 1
    return count


@kernel
def number_back(island: Island, place: np.ndarray, body: np.ndarray) -> None:
    """Write the numbers in the scene of the bodies of a problem."""
    _, contacts, active, order, first, last, joints, rows, row_first, row_last = island
    for k in range(first, last):
        c = active.contact[order[k]]
        for i in (contacts.a[c], contacts.b[c]):
            if place[i] >= 0:
                body[place[i]] = i
    if joints is not None:
        for k in range(row_first, row_last):
            j = rows[k] // ROWS_PER_JOINT
            for i in (joints.link.a[j], joints.link.b[j]):
                if place[i] >= 0:
                    body[place[i]] = i


@kernel
def load_body(bodies: Bodies, body: int, dim: int, problem: VelocityProblem, j: int) -> None:
    """Write body j of a problem."""
    problem.mass[j], problem.inv_mass[j] = 1.0 / bodies.inv_mass[body], bodies.inv_mass[body]
    for k in range(6):
        problem.free[j, k] = bodies.free[body, k]
    for k in range(9):
        problem.inv_inertia[j, k] = bodies.inv_inertia[body, k]
    if dim == 3:
        invert(bodies.inv_inertia[body], problem.inertia[j])
    else:
        problem.inertia[j, 0], problem.inertia[j, 4], problem.inertia[j, 8] = (
            1.0,
            1.0,
            1.0 / bodies.inv_inertia[body, 8],
        )


@kernel
def load_contact(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, place: np.ndarray, problem: VelocityProblem, m: int
) -> None:
    """Write contact m of a problem: active contact i."""
    c = active.contact[i]
    a, b = contacts.a[c], contacts.b[c]
    p, q = place[a] if bodies.kind[a] == MOVING else OUTSIDE, place[b] if bodies.kind[b] == MOVING else OUTSIDE
    problem.a[m], problem.b[m], problem.mu[m], problem.size[m] = p, q, active.mu[i], active.mobility[i]
    for k in range(9):
        problem.frame[m, k] = active.frame[i, k]
    for k in range(3):
        problem.arm_a[m, k], problem.arm_b[m, k] = active.arm_a[i, k], active.arm_b[i, k]
        problem.bias[m, k] = active.bias[i, k]
    if p == OUTSIDE or q == OUTSIDE:  # the velocity of a driven body, as that of both less that of the free one
        v0, v1, v2 = contact_velocity(active, i, bodies, bodies.free, a, b)
        x, y, z = relative_velocity(problem, m, problem.free)
        problem.bias[m, 0] += v0 - x
        problem.bias[m, 1] += v1 - y
        problem.bias[m, 2] += v2 - z


@kernel
def load_problem(island: Island, dim: int, place: np.ndarray, body: np.ndarray, problem: VelocityProblem) -> None:
    """Write the contact problem of an island; body (m,): numbers of its bodies in the scene."""
    bodies, contacts, active, order, first, last, _, _, _, _ = island
    for j in range(body.shape[0]):
        load_body(bodies, body[j], dim, problem, j)
    for k in range(last - first):
        load_contact(bodies, contacts, active, order[first + k], place, problem, k)


@kernel
def contact_room(pool: Pool, n: int, m: int) -> Any:
    """Room for n contacts between m bodies."""
    return VelocityProblem(
        whole_numbers(pool, n), whole_numbers(pool, n), table(pool, n, 9), table(pool, n, 3), table(pool, n, 3),
        table(pool, n, 3), numbers(pool, n), numbers(pool, n), numbers(pool, m), zero_table(pool, m, 9),
        numbers(pool, m), table(pool, m, 9), table(pool, m, 6),
    )  # fmt: skip


@kernel
def row_room(pool: Pool, k: int) -> Any:
    """Room for k rows."""
    return Rows(
        whole_numbers(pool, k), whole_numbers(pool, k), table(pool, k, 12), numbers(pool, k), numbers(pool, k),
        numbers(pool, k), numbers(pool, k), numbers(pool, k), numbers(pool, k), numbers(pool, k),
    )  # fmt: skip


@kernel(apart=True)
def solve_free_bodies(island: Island, options: Options, scale: float, place: np.ndarray, quick: bool) -> int:
    """Improve the impulses of an island without joints; returns the stage of `tree_ladder` that ended it.

    0: nothing was done, because sweeps of the host are faster.
    scale: the largest velocity in the island [m/s]; place (bodies,): room.  quick: by Newton alone.
    """
    active, order, first, dim, n = island.active, island.order, island.first, options.dim, island.last - island.first
    m = number_bodies(island, place)
    if n > MATRIX_CONTACTS and n < FLAT * m and options.tol >= SWEPT:
        return 0
    pool = pool_of(62 * n + 110 * m, 3 * n + 9 * m + 2, n + m)
    contacts, body, parent = contact_room(pool, n, m), whole_numbers(pool, m), whole_numbers(pool, m)
    for j in range(m):
        parent[j] = OUTSIDE
    number_back(island, place, body)
    load_problem(island, dim, place, body, contacts)
    problem = TreeProblem(contacts, contacts.size, row_room(pool, 0), None)
    plan, pairs = find_plan(contacts, problem.rows, parent, pool)
    pair = np.empty((pairs, 36))
    room, motion = tree_room(problem, pair, pool), motion_from(pool, n, 0, m)
    for k in range(n):
        for j in range(dim):
            motion.contacts.r[k, j] = active.r[order[first + k], j]
    _, stage = solve_free_laws(problem, plan, motion, room, options.tol, scale, dim, quick)
    for k in range(n):
        for j in range(dim):
            active.r[order[first + k], j] = motion.contacts.r[k, j]
    return stage


@entry(apart=True)
def solve_free(
    island: Island, options: Options, residual: float, scale: float, place: np.ndarray, effort: np.ndarray
) -> float:
    """Solve an island without joints; returns its residual.  Where that fails, a small island is as it was."""
    n, dim, active = island.last - island.first, options.dim, island.active
    r = np.empty((n, dim))
    for m in range(n):
        for j in range(dim):
            r[m, j] = active.r[island.order[island.first + m], j]
    stage = solve_free_bodies(island, options, scale, place, False)
    if stage == 0:
        return residual
    found = measure_island(island, options, scale, options.tol)
    if found <= options.tol:
        effort[0] += 1 if stage > FIRST_STAGES else 0
        return found
    if found < residual and n > MATRIX_CONTACTS:  # the host goes on from there
        return found
    for m in range(n):
        for j in range(dim):
            active.r[island.order[island.first + m], j] = r[m, j]
    return residual


@entry
def solve_island(
    island: Island, options: Options, place: np.ndarray, head: np.ndarray, follow: np.ndarray, effort: np.ndarray,
    residual: float, tried: bool,
) -> float:  # fmt: skip
    """Solve an island without joints, whose impulses have this residual; sets its end velocities, returns the residual.

    head, follow : room, as in `block_system`.  tried : `solve_free` has been tried already.
    effort[0] counts stages beyond those that usually do.
    """
    if not tried:
        residual = solve_free(island, options, residual, island_scale(island, GRAINS), place, effort)
    tol = SHARPER * options.tol
    for _ in range(2):
        if residual <= options.tol:
            break
        effort[0] += 1
        solve_sweeps(island, options, head, follow, tol)
        end_velocities(island, options.dim)
        residual = island_residual(island, options.dim, options.edges, GRAINS)
        tol *= SHARPER
    return residual
