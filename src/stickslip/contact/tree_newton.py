"""Newton's method on the laws of contacts and rows, with base twists and joint rates as unknowns.

Contacts as in `tree_laws`: (H + J^T K J) dV = J^T k.  What alpha leaves over is taken out by the next iteration, a
factor alpha where W is regular.  A step along which W has no say moves impulses by (rounding of u) / alpha: alpha must
not be small, or loads wander from contact to contact from step to step of a motion until what they hold turns.

A row with x = z - w / size, g = 1 / (alpha size + soft):

    inside   low < x < high    dz = -g (w + J dV)
    bound    otherwise         z + dz = that bound

Rows of joints that close loops have no bounds, and an alpha of their own: their impulses follow from the others.

Far from a solution alpha keeps steps short.  Bodies on trees take `far` of the rules while the error is above `near`.
Free bodies, of which there may be many, take the error itself, relative to the velocities `near`, at least CALM and at
most `far`.  Each time that no contact changes its state, the least alpha falls by CALMER, down to that of the rules; a
change takes it back to CALM.  Solved within 60 steps, of 83 steps of 200 boxes in a bin, 78 of a wall that is hit, 201
islands of few boxes (tolerance 1e-6) and 23 of a tumbling cube (1e-8):

    alpha     1e-4    1e-3    1e-3 above 1e-3, then 1e-4    the rule, down to 1e-3    1e-4    1e-5
    solved    25 73   62 75   50 - 176 11                   72 76 175 6               73 76 196 14    74 76 200 18

Problems whose contacts give way to impulses, less and less, lead to the impulses of least norm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.constants import (
    AIM,
    CALM,
    FREE_GROWTH,
    GROWTH,
    HALVINGS,
    MORE,
    NEWTON_STEPS,
    SLOW,
    SOFT_TOL,
    SOFTER,
    TREE_SOFTER,
)
from stickslip.contact.pool import Pool, table, truths, whole_numbers, zero_table, zeros
from stickslip.contact.rounding import LOOP_ALPHA, ROW_ALPHA, TREE_ALPHA
from stickslip.contact.tree_blocks import (
    Parts,
    assemble_tree,
    factor_matrix,
    factor_tree,
    parts_room,
    set_masses,
    solve_matrix,
    solve_tree,
)
from stickslip.contact.tree_laws import find_states, linearise, local_changes
from stickslip.contact.tree_plan import Plan
from stickslip.contact.tree_problem import (
    Motion,
    TreeMotion,
    TreeProblem,
    add_all,
    add_momentum,
    body_velocities,
    clear,
    closes_loop,
    copy_tree_motion,
    is_free,
    law_error,
    motion_from,
    row_speed,
)
from stickslip.jit import kernel
from stickslip.projections import AT_BOUND


class TreeRules(NamedTuple):
    """Wishes for Newton's method."""

    dim: int
    tol: float  # largest violation of the laws that does [m/s]
    steps: int  # Newton steps at most
    alpha: float
    soft: float  # [1/kg]
    far: float  # alpha, where that is larger, while the error is above `near`; of free bodies: the largest
    near: float  # [m/s]; of free bodies: what errors are compared with for alpha


class TreeRoom(NamedTuple):
    """Room for one problem."""

    K: np.ndarray  # (n, 9)
    dr: np.ndarray  # (n, 3), first k
    state: np.ndarray  # (n,) OPEN, STICK, SLIP
    loaded: np.ndarray  # (n,) bool: K is not zero
    row_K: np.ndarray  # (k,)
    dz: np.ndarray  # (k,)
    dv: np.ndarray  # (m, 6)
    wrench: np.ndarray  # (m, 6)
    rest: np.ndarray  # (m, 6) M (V_free - V_0)
    load: np.ndarray  # (m, 6) wrenches of all impulses, those of joints as well; for callers
    trial: TreeMotion
    best: TreeMotion
    start: TreeMotion  # the other two belong to `tree_ladder`
    found: TreeMotion
    H: Parts  # factors of H; for no bodies where all of them are free
    parts: Parts  # of H + J^T K J


@kernel
def plain_rules(dim: int, tol: float, steps: int, alpha: float, soft: float) -> Any:
    """Rules with one alpha."""
    return TreeRules(dim, tol, steps, alpha, soft, 0.0, 0.0)


@kernel
def tree_room(problem: TreeProblem, pair: np.ndarray, pool: Pool) -> Any:
    """Room for a problem; pair (e, 36): memory for its ordered pairs; to H no pair belongs."""
    n, k, m = problem.contacts.a.shape[0], problem.rows.a.shape[0], problem.contacts.mass.shape[0]
    joined = 0
    if problem.tree is not None:
        joined = m
    state = whole_numbers(pool, n)
    for i in range(n):
        state[i] = 0
    return TreeRoom(
        zero_table(pool, n, 9), zero_table(pool, n, 3), state, truths(pool, n), zeros(pool, k), zeros(pool, k),
        table(pool, m, 6), table(pool, m, 6), table(pool, joined, 6), table(pool, joined, 6),
        motion_from(pool, n, k, m), motion_from(pool, n, k, m), motion_from(pool, n, k, m), motion_from(pool, n, k, m),
        parts_room(pool, joined, joined, table(pool, 0, 36)), parts_room(pool, m, joined, pair),
    )  # fmt: skip


@kernel
def first_motion(motion: TreeMotion, n: int) -> Any:
    """A motion with its first n contacts alone."""
    return TreeMotion(Motion(motion.contacts.r[:n], motion.contacts.v, motion.contacts.u[:n]), motion.z, motion.w)


@kernel
def first_room(room: TreeRoom, n: int) -> Any:
    """Room for the first n contacts alone."""
    return TreeRoom(
        room.K[:n], room.dr[:n], room.state[:n], room.loaded[:n], room.row_K, room.dz, room.dv, room.wrench, room.rest,
        room.load,
        first_motion(room.trial, n), first_motion(room.best, n), first_motion(room.start, n),
        first_motion(room.found, n), room.H, room.parts,
    )  # fmt: skip


@kernel
def bare(plan: Plan, pool: Pool) -> Any:
    """The plan of H: the order, without neighbours."""
    begins = whole_numbers(pool, plan.begins.shape[0])
    for k in range(begins.shape[0]):
        begins[k] = 0
    return Plan(plan.order, begins, plan.later, plan.slot)


@kernel
def set_rest(problem: TreeProblem, room: TreeRoom) -> None:
    """M (V_free - V_0) of all bodies."""
    bodies, given, d = problem.contacts, problem.tree.given, np.empty(6)
    for j in range(given.shape[0]):
        for k in range(6):
            d[k] = bodies.free[j, k] - given[j, k]
            room.rest[j, k] = 0.0
        add_momentum(bodies, j, d, 1.0, room.rest[j])


@kernel
def factor_masses(problem: TreeProblem, plan: Plan, room: TreeRoom) -> bool:
    """Factors of H, and M (V_free - V_0)."""
    set_masses(problem.contacts, room.H)
    set_rest(problem, room)
    return factor_tree(problem.tree, plan, room.H)


@kernel
def tree_velocities(problem: TreeProblem, plan: Plan, motion: TreeMotion, room: TreeRoom) -> None:
    """Velocities of all bodies from the impulses; plan: that of H."""
    if problem.tree is None:
        body_velocities(problem.contacts, motion.contacts.r, motion.contacts.v)
        return
    v, given = motion.contacts.v, problem.tree.given
    for j in range(v.shape[0]):
        for k in range(6):
            room.wrench[j, k] = room.rest[j, k]
    add_all(problem, motion.contacts.r, motion.z, room.wrench)
    solve_tree(problem.tree, plan, room.H, room.wrench, v)
    for j in range(v.shape[0]):
        for k in range(6):
            v[j, k] += given[j, k]


@kernel(apart=True)
def measure_tree(
    problem: TreeProblem, plan: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom, grained: bool
) -> float:
    """Set all velocities from the impulses; returns the largest violation of the laws [m/s].  plan: that of H."""
    tree_velocities(problem, plan, motion, room)
    return law_error(problem, motion, rules.soft, grained, rules.dim)


@kernel
def linearise_rows(problem: TreeProblem, motion: TreeMotion, rules: TreeRules, room: TreeRoom) -> bool:
    """K and k of all rows; whether a K differs from what the room had."""
    rows, changed = problem.rows, False
    for i in range(motion.z.shape[0]):
        z, w, low, high = motion.z[i], motion.w[i], rows.low[i], rows.high[i]
        x, K = z - w / rows.size[i], 0.0
        if x <= low:
            room.dz[i] = low - z
        elif x >= high:
            room.dz[i] = high - z
        else:
            alpha = min(rules.alpha, LOOP_ALPHA) if closes_loop(rows, i) else rules.alpha
            K = 1.0 / (alpha * rows.size[i] + rows.soft[i])
            room.dz[i] = -K * w
        changed = changed or K != room.row_K[i]
        room.row_K[i] = K
    return changed


@kernel(apart=True)
def tree_step(problem: TreeProblem, plan: Plan, room: TreeRoom, changed: bool) -> bool:
    """Write the change of the impulses; False where the matrix is singular.  changed: the factors are not at hand."""
    if changed:
        assemble_tree(problem, plan, room.K, room.loaded, room.row_K, room.parts)
        if not factor_matrix(problem, plan, room.parts):
            return False
    clear(room.wrench)
    add_all(problem, room.dr, room.dz, room.wrench)
    solve_matrix(problem, plan, room.parts, room.wrench, room.dv)
    local_changes(problem.contacts, room)
    for i in range(room.dz.shape[0]):
        if room.row_K[i] != 0.0:
            room.dz[i] -= room.row_K[i] * row_speed(problem.rows, i, room.dv)
    return True


@kernel
def try_tree_step(
    problem: TreeProblem,
    masses: Plan,
    motion: TreeMotion,
    rules: TreeRules,
    room: TreeRoom,
    error: float,
    grained: bool,
) -> tuple[float, float]:
    """Go along dr and dz, half as far while the error grows too much; returns the new error and the part taken."""
    t, new, trial = 1.0, np.inf, room.trial
    growth = FREE_GROWTH if is_free(problem) else GROWTH
    for _ in range(1 + HALVINGS):
        for i in range(room.dr.shape[0]):
            for k in range(3):
                trial.contacts.r[i, k] = motion.contacts.r[i, k] + t * room.dr[i, k]
        for i in range(room.dz.shape[0]):
            trial.z[i] = motion.z[i] + t * room.dz[i]
        new = measure_tree(problem, masses, trial, rules, room, grained)
        if new <= growth * error:
            break
        t *= 0.5
    copy_tree_motion(trial, motion)
    return new, t


@kernel
def linearise_all(problem: TreeProblem, motion: TreeMotion, rules: TreeRules, alpha: float, room: TreeRoom) -> bool:
    """K and k of all contacts, in the states that the room has, and of all rows; whether a K of a row has changed."""
    now = plain_rules(rules.dim, rules.tol, rules.steps, alpha, rules.soft)
    linearise(problem.contacts, motion.contacts, now, room)
    return linearise_rows(problem, motion, now, room)


@kernel(apart=True)
def newton_tree(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom, noise: float
) -> float:
    """Improve the impulses of a motion; returns the error of the best, which is taken.  masses: the plan of H.

    Once it is within the tolerance, one step more, unless the error is far below: what a step of a motion leaves over,
    the next one has to bear.  But steps between errors below `noise`, the rounding of positions in the velocities
    [m/s], count only where they gain much: redundant contacts contradict one another by it, and steps would only move
    their loads.
    """
    error, free = measure_tree(problem, masses, motion, rules, room, False), is_free(problem)
    least, done, used, share, t, more = error, 0, -1.0, 1.0, 0.0, 0
    aim = rules.tol if free or AIM * error > rules.tol else 0.0  # at rest it is cheap, and lasts
    floor, before = max(rules.alpha, TREE_ALPHA), np.inf
    copy_tree_motion(motion, room.best)
    while done < rules.steps and error < np.inf:
        last = error <= aim
        if last and rules.alpha < CALM and error <= SLOW * SLOW * aim and not free:
            break
        changed, slips = find_states(problem.contacts, motion.contacts, rules.dim, room)
        far = not free and rules.far > rules.alpha and error > rules.near
        alpha = rules.far if far else share * rules.alpha
        if free and rules.far > 0.0:
            if done > 0:
                floor = max(rules.alpha, CALM if changed else SLOW * floor)
            alpha = min(max(error / rules.near, floor), rules.far)
        shifted = linearise_all(problem, motion, rules, alpha, room)
        slow = not (changed or free or last or far) and t == 1.0
        changed = changed or slips or shifted or alpha != used
        if slow and error > SLOW * before and (not changed or (slips and AIM * error > rules.tol)):
            # the states stay: alpha is what holds up
            share = max(SLOW * SLOW * share, min(share, (TREE_ALPHA if slips else SOFT_TOL) / rules.alpha))
            alpha = share * rules.alpha
            changed = slips or alpha != used
            if not changed:
                break
            linearise_all(problem, motion, rules, alpha, room)
        used, before = alpha, error
        if not tree_step(problem, plan, room, changed):
            break
        error, t = try_tree_step(problem, masses, motion, rules, room, error, done > 0)
        done += 1
        if error < least and (error > noise or error < SLOW * least):
            least = error
            copy_tree_motion(motion, room.best)
        elif max(error, least) <= noise:
            break
        more += 1 if AIM * least <= rules.tol else 0
        if last or (more > MORE and (aim == rules.tol or error > SLOW * before)):
            break
    copy_tree_motion(room.best, motion)
    return least


@kernel(apart=True)
def follow_loops(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom
) -> None:
    """Set the impulses of rows without bounds to those that the other impulses ask for.

    They are found from zero: what redundant rows set up against one another does not grow from step to step.
    """
    rows, found = problem.rows, False
    for i in range(motion.z.shape[0]):
        if closes_loop(rows, i) and rows.soft[i] == 0.0:
            motion.z[i], found = 0.0, True
    if not found:
        return
    for i in range(room.loaded.shape[0]):
        room.loaded[i] = False
        for k in range(3):
            room.dr[i, k] = 0.0
    for done in range(2):
        measure_tree(problem, masses, motion, rules, room, done > 0)
        for i in range(motion.z.shape[0]):
            loop = closes_loop(rows, i)
            room.row_K[i] = 1.0 / (LOOP_ALPHA * rows.size[i] + rows.soft[i]) if loop else 0.0
            room.dz[i] = -room.row_K[i] * motion.w[i]
        if not tree_step(problem, plan, room, done == 0):
            return
        for i in range(motion.z.shape[0]):
            motion.z[i] += room.dz[i]


@kernel(apart=True)
def follow_rows(problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, room: TreeRoom) -> float:
    """Solve rows without contacts as linear equations; returns the error [m/s], a large one where bounds are reached.

    A row keeps to the bound that it is at, and counts as one without bounds where it is at none.
    Limits of joints, which have one bound, are left to Newton: one that gives way by 1e-12 m/s is open a step later.
    """
    rows, rules = problem.rows, plain_rules(3, 0.0, 0, LOOP_ALPHA, 0.0)
    for i in range(motion.z.shape[0]):
        low, high = rows.low[i], rows.high[i]
        room.row_K[i] = 0.0
        if (low == -np.inf) != (high == np.inf):
            return np.inf
        if closes_loop(rows, i) and rows.soft[i] == 0.0:
            motion.z[i] = 0.0  # as in `follow_loops`
        if low > -np.inf and motion.z[i] <= low + AT_BOUND * abs(low):
            motion.z[i] = low
        elif high < np.inf and motion.z[i] >= high - AT_BOUND * abs(high):
            motion.z[i] = high
        else:
            alpha = LOOP_ALPHA if closes_loop(rows, i) else ROW_ALPHA
            room.row_K[i] = 1.0 / (alpha * rows.size[i] + rows.soft[i])
    for done in range(2):
        measure_tree(problem, masses, motion, rules, room, done > 0)
        for i in range(motion.z.shape[0]):
            room.dz[i] = -room.row_K[i] * motion.w[i]
        if not tree_step(problem, plan, room, done == 0):
            return np.inf
        for i in range(motion.z.shape[0]):
            motion.z[i] += room.dz[i]
    return measure_tree(problem, masses, motion, rules, room, False)


@kernel
def unloaded_tree(motion: TreeMotion) -> bool:
    """Whether there are contacts, and none of them carries anything."""
    total = 0.0
    for i in range(motion.contacts.r.shape[0]):
        for k in range(3):
            total += abs(motion.contacts.r[i, k])
    return total == 0.0 and motion.contacts.r.shape[0] > 0


@kernel(apart=True)
def soften_tree(
    problem: TreeProblem, plan: Plan, masses: Plan, motion: TreeMotion, rules: TreeRules, room: TreeRoom, scale: float
) -> None:
    """Take contacts that carry nothing to impulses of least norm, up to the last softness.

    They are left without impulses where a soft problem is not solved.  scale: the largest velocity [m/s].
    """
    sizes, r = problem.contacts.size, motion.contacts.r
    if sizes.shape[0] == 0:
        return
    least, z = sizes[0], motion.z.copy()
    for i in range(sizes.shape[0]):
        least = min(least, sizes[i])
    for turn in range(len(SOFTER) if is_free(problem) else len(TREE_SOFTER)):
        a = SOFTER[turn] if is_free(problem) else TREE_SOFTER[turn]
        soft = plain_rules(rules.dim, SOFT_TOL * scale, NEWTON_STEPS, SOFT_TOL, a * least)
        if not newton_tree(problem, plan, masses, motion, soft, room, 0.0) <= soft.tol:
            for i in range(r.shape[0]):
                for k in range(3):
                    r[i, k] = 0.0
            for i in range(z.shape[0]):
                motion.z[i] = z[i]
            break
