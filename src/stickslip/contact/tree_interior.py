"""Interior point method on base twists and joint rates: a start for Newton where impulses have to move far.

Contacts as in `tree_cones`.  The problem is not monotone, and with theta = 1 steps may become short: then theta is
halved.  The matrix has the blocks of Newton's.  Rounding ends it at r^ . w of 1e-11 of the velocities and impulses,
where the laws hold to some 1e-5 at contacts between two states: the rest is Newton's.

A row has up to two pairs of numbers that are positive and whose product falls to
zero: (z - low, w_low) and (high - z, w_high), with w = w_low - w_high.  Eliminated, they leave dz = k - K J dV with

    K = 1 / (w_low / (z - low) + w_high / (high - z) + soft).

Rows without bounds are met as by Newton, up to their small alpha.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.constants import LEAST_MU, SHORT, TO_THE_BOUNDARY
from stickslip.contact.rounding import LOOP_ALPHA
from stickslip.contact.tree_blocks import assemble_tree, factor_matrix, solve_matrix
from stickslip.contact.tree_cones import (
    Cones,
    aim,
    cone_room,
    cut_to_cones,
    into_cone,
    scale_contacts,
    scaled_velocities,
    step_length,
)
from stickslip.contact.tree_newton import TreeRoom, TreeRules, measure_tree, tree_velocities
from stickslip.contact.tree_plan import Plan
from stickslip.contact.tree_problem import (
    TreeMotion,
    TreeProblem,
    add_impulse,
    add_momentum,
    add_row,
    apply_frame,
    relative_velocity,
    row_speed,
)
from stickslip.jit import kernel
from stickslip.projections import EPS


class Sides(NamedTuple):
    """Distances to the bounds of rows and the velocities that belong to them, (k,); 0 where a bound is infinite."""

    up: np.ndarray  # z - low
    down: np.ndarray  # high - z
    w_up: np.ndarray
    w_down: np.ndarray
    x_up: np.ndarray  # right sides of the products
    x_down: np.ndarray
    dw_up: np.ndarray
    dw_down: np.ndarray
    z: np.ndarray
    dz: np.ndarray


@kernel
def side_room(k: int) -> Any:
    """Room for k rows."""
    return Sides(
        np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k),
        np.zeros(k), np.zeros(k),
    )  # fmt: skip


@kernel
def begin_rows(problem: TreeProblem, sides: Sides, motion: TreeMotion, speed: float) -> None:
    """Impulses of rows inside their bounds, with a distance of speed / size or a quarter of what there is."""
    rows = problem.rows
    for i in range(motion.z.shape[0]):
        low, high, least = rows.low[i], rows.high[i], speed / rows.size[i]
        if low > -np.inf and high < np.inf:
            least = min(least, 0.25 * (high - low))
        z = min(high - least, max(low + least, motion.z[i]))
        motion.z[i], sides.z[i] = z, z
        sides.up[i] = z - low if low > -np.inf else 0.0
        sides.down[i] = high - z if high < np.inf else 0.0


@kernel
def begin_tree(
    problem: TreeProblem, masses: Plan, motion: TreeMotion, cones: Cones, sides: Sides, room: TreeRoom, push: float,
    scale: float,
) -> None:  # fmt: skip
    """Points inside the cones and bounds near the impulses and velocities of a motion."""
    contacts, r = problem.contacts, motion.contacts.r
    n, k, total = r.shape[0], motion.z.shape[0], 0.0
    tree_velocities(problem, masses, motion, room)
    for j in range(cones.v.shape[0]):
        for c in range(6):
            cones.v[j, c] = motion.contacts.v[j, c]
    scaled_velocities(contacts, cones, motion.contacts.u)
    for i in range(n):
        for c in range(3):
            total += cones.u[i, c] ** 2
    speed = push * max(math.sqrt(total / max(1.0, 3.0 * n)), EPS * scale)
    for i in range(n):
        mu, x = max(contacts.mu[i], LEAST_MU), cones.r[i]
        x[0], x[1], x[2] = mu * r[i, 0], r[i, 1], r[i, 2]
        into_cone(x, speed / contacts.size[i])
        r[i, 0] = x[0] / mu
    begin_rows(problem, sides, motion, speed)
    tree_velocities(problem, masses, motion, room)
    for j in range(cones.v.shape[0]):
        for c in range(6):
            cones.v[j, c] = motion.contacts.v[j, c]
    scaled_velocities(contacts, cones, motion.contacts.u)
    for i in range(n):
        w, u = cones.w[i], cones.u[i]
        w[0], w[1], w[2] = u[0] + math.sqrt(u[1] * u[1] + u[2] * u[2]), u[1], u[2]
        into_cone(w, speed)
    for i in range(k):
        w = row_rest(problem, sides, cones.v, i)
        sides.w_up[i] = max(speed, w) if sides.up[i] > 0.0 else 0.0
        sides.w_down[i] = max(speed, -w) if sides.down[i] > 0.0 else 0.0


@kernel
def row_rest(problem: TreeProblem, sides: Sides, v: np.ndarray, i: int) -> float:
    """w of row i less w_up - w_down."""
    rows = problem.rows
    w = row_speed(rows, i, v) + rows.bias[i] + rows.soft[i] * sides.z[i]
    return w - sides.w_up[i] + sides.w_down[i]


@kernel
def tree_imbalance(problem: TreeProblem, cones: Cones, sides: Sides) -> None:
    """M (V - V_free) - J^T z of each body."""
    bodies, d, e = problem.contacts, np.empty(3), np.empty(6)
    for j in range(cones.v.shape[0]):
        for k in range(6):
            e[k] = cones.v[j, k] - bodies.free[j, k]
            cones.momentum[j, k] = 0.0
        add_momentum(bodies, j, e, 1.0, cones.momentum[j])
    for i in range(cones.r.shape[0]):
        d[0], d[1], d[2] = -cones.r[i, 0] / max(bodies.mu[i], LEAST_MU), -cones.r[i, 1], -cones.r[i, 2]
        add_impulse(bodies, i, d, cones.momentum)
    for i in range(sides.z.shape[0]):
        add_row(problem.rows, i, -sides.z[i], cones.momentum)


@kernel
def scale_rows(problem: TreeProblem, sides: Sides, room: TreeRoom) -> tuple[float, int]:
    """K of all rows; returns the sum of the products, and their number."""
    rows, total, count = problem.rows, 0.0, 0
    for i in range(sides.z.shape[0]):
        x = rows.soft[i]
        if sides.up[i] > 0.0:
            x += sides.w_up[i] / sides.up[i]
            total += sides.w_up[i] * sides.up[i]
            count += 1
        if sides.down[i] > 0.0:
            x += sides.w_down[i] / sides.down[i]
            total += sides.w_down[i] * sides.down[i]
            count += 1
        room.row_K[i] = 1.0 / max(x, LOOP_ALPHA * rows.size[i])
    return total, count


@kernel
def aim_rows(sides: Sides, target: float, corrected: bool) -> None:
    """Right sides target - product, less the product of the changes before where it is corrected."""
    for i in range(sides.z.shape[0]):
        sides.x_up[i] = target - sides.up[i] * sides.w_up[i]
        sides.x_down[i] = target - sides.down[i] * sides.w_down[i]
        if corrected:
            sides.x_up[i] -= sides.dz[i] * sides.dw_up[i]
            sides.x_down[i] += sides.dz[i] * sides.dw_down[i]


@kernel(apart=True)
def tree_direction(problem: TreeProblem, plan: Plan, cones: Cones, sides: Sides, room: TreeRoom) -> None:
    """Changes of all numbers for the right sides at hand, with the factors at hand."""
    contacts, rows = problem.contacts, problem.rows
    for j in range(cones.v.shape[0]):
        for k in range(6):
            room.wrench[j, k] = -cones.momentum[j, k]
    for i in range(cones.r.shape[0]):
        p, x, u, w = cones.scaled[i], cones.x[i], cones.u[i], cones.w[i]
        k, mu = cones.k[i], max(contacts.mu[i], LEAST_MU)
        det = p[0] * p[0] - p[1] * p[1] - p[2] * p[2]
        d0 = (p[0] * x[0] - p[1] * x[1] - p[2] * x[2]) / det
        d1, d2 = (x[1] - p[1] * d0) / p[0], (x[2] - p[2] * d0) / p[0]
        size = math.sqrt(u[1] * u[1] + u[2] * u[2])
        a, b, c = apply_frame(cones.inverse[i], u[0] + size - w[0], u[1] - w[1], u[2] - w[2])
        k[0], k[1], k[2] = apply_frame(cones.inverse[i], d0 - a, d1 - b, d2 - c)
        d = room.dr[i]
        d[0], d[1], d[2] = k[0] / mu, k[1], k[2]
        add_impulse(contacts, i, d, room.wrench)
    for i in range(sides.z.shape[0]):
        x = -row_rest(problem, sides, cones.v, i)
        if sides.up[i] > 0.0:
            x += sides.x_up[i] / sides.up[i]
        if sides.down[i] > 0.0:
            x -= sides.x_down[i] / sides.down[i]
        sides.dz[i] = room.row_K[i] * x
        add_row(rows, i, sides.dz[i], room.wrench)
    solve_matrix(problem, plan, room.parts, room.wrench, room.dv)
    for i in range(cones.r.shape[0]):
        u, w, K, k, mu = cones.u[i], cones.w[i], room.K[i], cones.k[i], max(contacts.mu[i], LEAST_MU)
        x, y, z = relative_velocity(contacts, i, room.dv)
        d, e = cones.dr[i], cones.dw[i]
        d[0] = k[0] - mu * (K[0] * x + K[1] * y + K[2] * z)
        d[1] = k[1] - (K[3] * x + K[4] * y + K[5] * z)
        d[2] = k[2] - (K[6] * x + K[7] * y + K[8] * z)
        size = math.sqrt(u[1] * u[1] + u[2] * u[2])
        e[0] = x / mu + cones.tilt[i, 0] * y + cones.tilt[i, 1] * z + u[0] + size - w[0]
        e[1], e[2] = y + u[1] - w[1], z + u[2] - w[2]
    for i in range(sides.z.shape[0]):
        sides.dz[i] -= room.row_K[i] * row_speed(rows, i, room.dv)
        if sides.up[i] > 0.0:
            sides.dw_up[i] = (sides.x_up[i] - sides.w_up[i] * sides.dz[i]) / sides.up[i]
        if sides.down[i] > 0.0:
            sides.dw_down[i] = (sides.x_down[i] + sides.w_down[i] * sides.dz[i]) / sides.down[i]


@kernel(inline=True)
def until_zero(x: float, d: float) -> float:
    """How far x + t d stays positive, x > 0."""
    return -x / d if d < 0.0 else np.inf


@kernel
def row_step_length(sides: Sides) -> float:
    """The largest step that keeps all rows inside their bounds."""
    t = np.inf
    for i in range(sides.z.shape[0]):
        if sides.up[i] > 0.0:
            t = min(t, min(until_zero(sides.up[i], sides.dz[i]), until_zero(sides.w_up[i], sides.dw_up[i])))
        if sides.down[i] > 0.0:
            t = min(t, min(until_zero(sides.down[i], -sides.dz[i]), until_zero(sides.w_down[i], sides.dw_down[i])))
    return t


@kernel
def take_tree_step(cones: Cones, sides: Sides, room: TreeRoom, t: float) -> None:
    """Go a part of the way."""
    for i in range(cones.r.shape[0]):
        for k in range(3):
            cones.r[i, k] += t * cones.dr[i, k]
            cones.w[i, k] += t * cones.dw[i, k]
    for i in range(sides.z.shape[0]):
        sides.z[i] += t * sides.dz[i]
        if sides.up[i] > 0.0:
            sides.up[i] += t * sides.dz[i]
            sides.w_up[i] += t * sides.dw_up[i]
        if sides.down[i] > 0.0:
            sides.down[i] -= t * sides.dz[i]
            sides.w_down[i] += t * sides.dw_down[i]
    for j in range(cones.v.shape[0]):
        for k in range(6):
            cones.v[j, k] += t * room.dv[j, k]


@kernel
def interior_tree_step(
    problem: TreeProblem, plan: Plan, cones: Cones, sides: Sides, room: TreeRoom, theta: float
) -> float:
    """One step of predictor and corrector; returns its length, -1 where the matrix is singular."""
    n = cones.r.shape[0]
    total, count = scale_rows(problem, sides, room)
    if n > 0:
        total += n * scale_contacts(problem.contacts, cones, theta, room)
    mean = total / max(1.0, float(n + count))
    tree_imbalance(problem, cones, sides)
    assemble_tree(problem, plan, room.K, room.loaded, room.row_K, room.parts)
    if not factor_matrix(problem, plan, room.parts):
        return -1.0
    aim(cones, 0.0, False)
    aim_rows(sides, 0.0, False)
    tree_direction(problem, plan, cones, sides, room)
    sigma = (1.0 - min(1.0, min(step_length(cones), row_step_length(sides)))) ** 3
    aim(cones, sigma * mean, True)
    aim_rows(sides, sigma * mean, True)
    tree_direction(problem, plan, cones, sides, room)
    t = min(1.0, TO_THE_BOUNDARY * min(step_length(cones), row_step_length(sides)))
    if not t > 0.0:
        return -1.0
    take_tree_step(cones, sides, room, t)
    return t


@kernel(apart=True)
def interior_tree(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom, push: float,
    scale: float,
) -> float:  # fmt: skip
    """Improve the impulses of a motion; returns the error of the best [m/s], which is taken.

    push: how far the start is moved inside, relative to the velocities; scale: the largest velocity [m/s].
    """
    n, k, trial, best = motion.contacts.r.shape[0], motion.z.shape[0], room.trial, room.best
    cones, sides = cone_room(n, problem.contacts.mass.shape[0]), side_room(k)
    begin_tree(problem, masses, motion, cones, sides, room, push, scale)
    theta, least = 1.0, np.inf
    for _ in range(rules.steps):
        scaled_velocities(problem.contacts, cones, trial.contacts.u)
        cut_to_cones(problem.contacts, cones, trial.contacts.r)
        for i in range(k):
            trial.z[i] = sides.z[i]
        error = measure_tree(problem, masses, trial, rules, room, True)
        if error < least:
            least = error
            for i in range(n):
                for c in range(3):
                    best.contacts.r[i, c] = trial.contacts.r[i, c]
            for i in range(k):
                best.z[i] = trial.z[i]
        if error <= rules.tol:
            break
        t = interior_tree_step(problem, plan, cones, sides, room, theta)
        if t < 0.0:
            break
        theta = 0.5 * theta if t < SHORT else 0.5 * (1.0 + theta)
    for i in range(n):
        for c in range(3):
            motion.contacts.r[i, c] = best.contacts.r[i, c]
    for i in range(k):
        motion.z[i] = best.z[i]
    return least
