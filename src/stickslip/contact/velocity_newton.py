"""Newton's method on the laws of Alart and Curnier, with the velocities of the bodies as unknowns.

With y = r - rho u, rho = 1 / size of each contact, and g = 1 / (alpha / rho + soft):

    open    y_N <= 0            dr = -r
    stick   |y_T| <= mu y_N     dr = -g (u + J dv)
    slip    otherwise           dr_N = -g (u_N + J_N dv),    r_T + dr_T = mu y_N t, linearised, t = y_T / |y_T|

so that dr = k - K J dv with a 3 x 3 block K for each contact, and (M + J^T K J) dv = J^T k.  alpha regularises contacts
that are redundant.  The next iteration takes out what it leaves over: a factor alpha where W is regular.  A step along
which W has no say moves impulses by (rounding of u) / alpha: alpha must not be small, or loads wander from contact to
contact from step to step of a motion until what they hold turns.

Far from a solution alpha keeps steps short: it is the error itself, relative to the velocities, at least CALM and at
most WILD.  Each time that no contact changes its state, the least alpha falls by CALMER, down to that of the rules; a
change takes it back to CALM.  Solved within 60 steps, of 83 steps of 200 boxes in a bin, 78 of a wall that is hit, 201
islands of few boxes (tolerance 1e-6) and 23 of a tumbling cube (1e-8):

    alpha     1e-4    1e-3    1e-3 above 1e-3, then 1e-4    the rule, down to 1e-3    1e-4    1e-5
    solved    25 73   62 75   50 - 176 11                   72 76 175 6               73 76 196 14    74 76 200 18

soft [1/kg] gives way to impulses, u = J v + bias + soft r.  Then the impulses are unique.  Problems with less and less
of it lead to the impulses of least norm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.velocity_blocks import Blocks, Pattern, assemble, block_room, factor, solve_blocks
from stickslip.contact.velocity_problem import (
    Motion,
    VelocityProblem,
    add_impulse,
    body_velocities,
    contact_velocities,
    copy_motion,
    motion_room,
    relative_velocity,
    worst_defect,
)
from stickslip.jit import kernel

OPEN, STICK, SLIP = 0, 1, 2
HALVINGS, GROWTH = 2, 100.0  # of a step, while the error is larger than GROWTH times the one before: 5, 2.0 70 of 83
START = 1e-4  # least alpha of the first step: where little has changed, one step does
MORE = 2  # 83 steps of boxes, 78 of the wall, mean ms: 1 10.5 3.5, 2 11.5 3.6, 8 12.4 3.9, without an end 18.7 4.9
CALM, WILD, CALMER = 1e-3, 0.1, 0.1  # least alpha while contacts change, largest, and its fall: see above
SOFTER = (0.1, 1e-3, 1e-6)  # soft, times the least size of a contact, of the problems that lead to least norm
SOFT_STEPS, SOFT_TOL = 25, 1e-9  # Newton steps for each of them, and the error that does, relative to the velocities
SOFT_ALPHA = 1e-9  # what is soft is regular


class Rules(NamedTuple):
    """What Newton's method is asked for."""

    dim: int
    tol: float  # largest violation of the laws that ends it [m/s]
    enough: float  # one that does: MORE steps are taken to get below `tol` [m/s]
    steps: int  # Newton steps at most
    alpha: float
    soft: float  # [1/kg]
    scale: float  # velocity that errors are compared with, for alpha [m/s]; 0: one alpha


@kernel
def plain_rules(dim: int, tol: float, steps: int, alpha: float, soft: float) -> Any:
    """Rules with one alpha."""
    return Rules(dim, tol, tol, steps, alpha, soft, 0.0)


class Room(NamedTuple):
    """Room for one problem."""

    K: np.ndarray  # (n, 9)
    dr: np.ndarray  # (n, 3), first k
    state: np.ndarray  # (n,) OPEN, STICK, SLIP
    loaded: np.ndarray  # (n,) bool: K is not zero
    wrench: np.ndarray  # (m, 6)
    dv: np.ndarray  # (m, 6)
    spare: np.ndarray  # (m, 6)
    trial: Motion
    best: Motion
    blocks: Blocks


@kernel
def newton_room(problem: VelocityProblem, pattern: Pattern) -> Any:
    """Room for a problem."""
    n, m = problem.a.shape[0], problem.mass.shape[0]
    return Room(
        np.zeros((n, 9)), np.zeros((n, 3)), np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros((m, 6)),
        np.zeros((m, 6)), np.zeros((m, 6)), motion_room(n, m), motion_room(n, m), block_room(pattern),
    )  # fmt: skip


@kernel
def measure(problem: VelocityProblem, motion: Motion, rules: Rules) -> float:
    """Set all velocities from the impulses; returns the largest violation of the laws [m/s]."""
    body_velocities(problem, motion.r, motion.v)
    contact_velocities(problem, motion.v, motion.u)
    if rules.soft > 0.0:
        for i in range(motion.r.shape[0]):
            for k in range(3):
                motion.u[i, k] += rules.soft * motion.r[i, k]
    return worst_defect(problem, motion.r, motion.u, rules.dim)


@kernel
def linearise_slip(
    K: np.ndarray, k: np.ndarray, r: np.ndarray, u: np.ndarray, y: tuple[float, float, float], mu: float, rho: float,
    rules: Rules,
) -> None:  # fmt: skip
    """K and k of a contact that slips; y = r - rho u."""
    y0, y1, y2 = y
    g, stiff = 1.0 / (rules.alpha / rho + rules.soft), 1.0 - rho * rules.soft
    size = math.sqrt(y1 * y1 + y2 * y2)
    t1, t2, s = y1 / size, y2 / size, mu * y0 / size
    p11, p12, p22 = s * (1.0 - t1 * t1), -s * t1 * t2, s * (1.0 - t2 * t2)
    a11, a12, a22 = 1.0 + rules.alpha - stiff * p11, -stiff * p12, 1.0 + rules.alpha - stiff * p22
    d = 1.0 / (a11 * a22 - a12 * a12)
    c = mu * (rho + stiff * g)
    e1, e2 = mu * t1 * (y0 - stiff * g * u[0]) - r[1], mu * t2 * (y0 - stiff * g * u[0]) - r[2]
    K[0], K[1], K[2] = g, 0.0, 0.0
    K[3], K[6] = c * (a22 * t1 - a12 * t2) * d, c * (a11 * t2 - a12 * t1) * d
    K[4], K[5] = rho * (a22 * p11 - a12 * p12) * d, rho * (a22 * p12 - a12 * p22) * d
    K[7], K[8] = rho * (a11 * p12 - a12 * p11) * d, rho * (a11 * p22 - a12 * p12) * d
    k[0], k[1], k[2] = -g * u[0], (a22 * e1 - a12 * e2) * d, (a11 * e2 - a12 * e1) * d


@kernel(inline=True)
def attempt(problem: VelocityProblem, motion: Motion, i: int, dim: int) -> tuple[float, float, float]:
    """y = r - rho u of contact i."""
    r, u, rho = motion.r[i], motion.u[i], 1.0 / problem.size[i]
    return r[0] - rho * u[0], r[1] - rho * u[1], r[2] - rho * u[2] if dim == 3 else 0.0


@kernel
def find_states(problem: VelocityProblem, motion: Motion, dim: int, room: Any) -> tuple[bool, bool]:
    """State of all contacts; whether one differs from what the room had, and whether one slips."""
    changed, slips = False, False
    for i in range(motion.r.shape[0]):
        y0, y1, y2 = attempt(problem, motion, i, dim)
        state = STICK
        if not y0 > 0.0:
            state = OPEN
        elif y1 * y1 + y2 * y2 > (problem.mu[i] * y0) ** 2:
            state = SLIP
            slips = True
        changed = changed or state != room.state[i]
        room.state[i], room.loaded[i] = state, state != OPEN
    return changed, slips


@kernel
def linearise(problem: VelocityProblem, motion: Motion, rules: Any, room: Any) -> None:
    """K and k of all contacts, in the states that the room has."""
    for i in range(motion.r.shape[0]):
        r, u, K, k, rho = motion.r[i], motion.u[i], room.K[i], room.dr[i], 1.0 / problem.size[i]
        if room.state[i] == OPEN:
            for j in range(3):
                k[j] = -r[j]
        elif room.state[i] == STICK:
            g = 1.0 / (rules.alpha / rho + rules.soft)
            for j in range(9):
                K[j] = 0.0
            for j in range(rules.dim):
                K[4 * j], k[j] = g, -g * u[j]
            if rules.dim == 2:
                k[2] = 0.0
        else:
            linearise_slip(K, k, r, u, attempt(problem, motion, i, rules.dim), problem.mu[i], rho, rules)
            if rules.dim == 2:
                K[5], K[6], K[7], K[8], k[2] = 0.0, 0.0, 0.0, 0.0, 0.0


@kernel
def local_changes(problem: VelocityProblem, room: Room) -> None:
    """dr = k - K J dv."""
    for i in range(problem.a.shape[0]):
        if room.loaded[i]:
            K, d = room.K[i], room.dr[i]
            x, y, z = relative_velocity(problem, i, room.dv)
            d[0] -= K[0] * x + K[1] * y + K[2] * z
            d[1] -= K[3] * x + K[4] * y + K[5] * z
            d[2] -= K[6] * x + K[7] * y + K[8] * z


@kernel
def newton_step(problem: VelocityProblem, pattern: Pattern, room: Room, changed: bool) -> bool:
    """Write the change of the impulses; False where the matrix is singular.  changed: the factors are not at hand."""
    if changed:
        assemble(problem, pattern, room.K, room.loaded, room.blocks)
        if not factor(pattern, room.blocks):
            return False
    for j in range(room.wrench.shape[0]):
        for k in range(6):
            room.wrench[j, k] = 0.0
    for i in range(problem.a.shape[0]):
        add_impulse(problem, i, room.dr[i], room.wrench)
    solve_blocks(pattern, room.blocks, room.wrench, room.dv, room.spare)
    local_changes(problem, room)
    return True


@kernel
def try_step(problem: VelocityProblem, motion: Motion, rules: Rules, room: Room, error: float) -> float:
    """Go along dr, half as far while the error grows too much; returns the new error."""
    t, new = 1.0, np.inf
    trial = room.trial
    for _ in range(1 + HALVINGS):
        for i in range(motion.r.shape[0]):
            for k in range(3):
                trial.r[i, k] = motion.r[i, k] + t * room.dr[i, k]
        new = measure(problem, trial, rules)
        if new <= GROWTH * error:
            break
        t *= 0.5
    copy_motion(trial, motion)
    return new


@kernel(apart=True)
def newton(problem: VelocityProblem, pattern: Pattern, motion: Motion, rules: Rules, room: Room) -> float:
    """Improve the impulses of a motion; returns the error of the best, which is taken.

    Once it is within the tolerance, one step more: what a step of a motion leaves over, the next one has to bear.
    """
    error = measure(problem, motion, rules)
    least, floor, used, done, more = error, max(rules.alpha, START), 0.0, 0, 0
    copy_motion(motion, room.best)
    while done < rules.steps and error < np.inf:
        last = error <= rules.tol
        changed, slips = find_states(problem, motion, rules.dim, room)
        alpha = rules.alpha
        if rules.scale > 0.0:
            if done > 0:
                floor = max(rules.alpha, CALM if changed else CALMER * floor)
            alpha = min(max(error / rules.scale, floor), WILD)
        now = plain_rules(rules.dim, rules.tol, rules.steps, alpha, rules.soft)
        linearise(problem, motion, now, room)
        if not newton_step(problem, pattern, room, changed or slips or alpha != used):
            break
        used = alpha
        error = try_step(problem, motion, rules, room, error)
        done += 1
        if error < least:
            least = error
            copy_motion(motion, room.best)
        more += 1 if least <= rules.enough else 0
        if last or more > MORE:
            break
    copy_motion(room.best, motion)
    return least


@kernel
def unloaded(r: np.ndarray) -> bool:
    """Whether all impulses are zero."""
    total = 0.0
    for i in range(r.shape[0]):
        total += abs(r[i, 0]) + abs(r[i, 1]) + abs(r[i, 2])
    return total == 0.0


@kernel(apart=True)
def soften(
    problem: VelocityProblem, pattern: Pattern, motion: Motion, rules: Rules, room: Room, scale: float
) -> None:  # fmt: skip
    """Take zero impulses to those of least norm, up to the last `soft`; leave them where a soft problem is not solved.

    scale: the largest velocity in the problem [m/s].
    """
    least = problem.size[0]
    for i in range(problem.size.shape[0]):
        least = min(least, problem.size[i])
    for a in SOFTER:
        soft = plain_rules(rules.dim, SOFT_TOL * scale, SOFT_STEPS, SOFT_ALPHA, a * least)
        if not newton(problem, pattern, motion, soft, room) <= soft.tol:
            for i in range(motion.r.shape[0]):
                for k in range(3):
                    motion.r[i, k] = 0.0
            break
