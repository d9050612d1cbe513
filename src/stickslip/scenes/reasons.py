"""Why the run of a scene ended before its end, in words, and what helps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stickslip.codes import CONTROL_FAILED
from stickslip.scenes import layout, step

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine, SceneState

CANNOT_APPEAR = 100
"""Status of a march, beside those of `step.march`: a body would appear inside another one."""
BELOW = 0.1  # of the tolerance: a contradiction that is less is not why a step was not solved
CONTRADICTION = 1e-6  # of the velocities that joints ask for: what rounding does not explain
NAMED = 3  # bodies of an island that an error names
LARGEST_ADVISED = 1e-3  # residual up to which a larger tol is worth a thought


def reason(engine: SceneEngine, state: SceneState, code: int) -> str:
    """Why a march of a scene ended with a status code, and what helps."""
    t = state.t
    if code == CANNOT_APPEAR:
        return f"stopped at t = {t:.9g} s: {state.problem_text}"
    if code == CONTROL_FAILED:
        return f"failed at t = {t:.9g} s: {engine.controller.reason()}"
    if code == step.UNSOLVED:
        return f"failed at t = {t:.9g} s: {_unsolved(engine)}"
    if code == step.APART:
        return f"failed at t = {t:.9g} s: {_apart(engine)}"
    bodies = engine.bodies
    lost = np.flatnonzero(~np.all(np.isfinite(np.hstack([bodies.pose, bodies.vel])), axis=1)).tolist()
    return f"failed at t = {t:.9g} s: the state of {_names(engine, lost)} is no longer finite; try a smaller dt"


def _unsolved(engine: SceneEngine) -> str:
    """Words for a step that was not solved."""
    if engine.bounds.too_fast(engine.bodies.free):
        return (
            f"without its contacts the next step leads to {engine.bounds.fastest(engine.bodies.free)}, beyond all "
            "bounds; look at velocities, forces and gravity, or try a smaller dt"
        )
    lost = not_finite(engine)
    if lost:
        return (
            f"a contact point, a joint or a force of {_names(engine, lost)} is not finite; "
            "try a smaller dt, and look at its shape and at the forces on it"
        )
    count = int(engine.counts[step.ISLANDS])
    if not engine.residuals[-1] <= max(engine.residuals[:count].max(initial=0.0), engine.options.tol):
        return "a body turns too far in one step; try a smaller dt"
    worst = int(np.argmax(engine.residuals[:count]))
    alone = engine.begins[worst + 1] == engine.begins[worst]
    if alone and joint_contradiction(engine, worst) > CONTRADICTION:
        return _contradiction(engine, worst)
    return (
        f"an island of {engine.begins[worst + 1] - engine.begins[worst]} contacts and "
        f"{engine.row_begins[worst + 1] - engine.row_begins[worst]} joint rows "
        f"({_names(engine, island_bodies(engine, worst))}) "
        f"reached a residual of {engine.residuals[worst]:.1e}, not {engine.options.tol:g}; "
        f"try {_advice(engine, worst)}"
    )


def _contradiction(engine: SceneEngine, island: int) -> str:
    """Words for an island of joints alone whose rows cannot be met together."""
    assert engine.joints is not None
    rows = engine.rows[engine.row_begins[island] : engine.row_begins[island + 1]]
    numbers = sorted({int(s) // layout.ROWS_PER_JOINT for s in rows})
    numbers = [engine.joint_number(k) for k in numbers]
    words = [_joint_in_words(engine, k) for k in numbers if k < len(engine.scene.joints)]
    more = f" and {len(words) - 4} more" if len(words) > 4 else ""
    return (
        f"the joints {', '.join(words[:4])}{more} cannot hold together (residual {engine.residuals[island]:.1e}): "
        "they contradict one another or the motion of a driven body; take one of them away, put a spring "
        "(add_spring) in its place, or change its place or its axis so that all can be met"
    )


def _joint_in_words(engine: SceneEngine, number: int) -> str:
    bodies, joint = engine.scene.bodies, engine.scene.joints[number]
    return f"{bodies[joint.a].name!r} - {bodies[joint.b].name!r} ({joint.kind})"


def _apart(engine: SceneEngine) -> str:
    """Words for the joint that is farthest beyond what it may be apart."""
    assert engine.joints is not None
    link = engine.joints.link
    worst = int(np.argmax(link.error - link.limit))
    name = _joint_in_words(engine, engine.joint_number(worst))
    return (
        f"the joint {name} has come apart by {link.error[worst]:.2g} m, more than "
        f"{link.limit[worst]:.2g} m; try a smaller dt"
    )


def _names(engine: SceneEngine, numbers: list[int]) -> str:
    """Names of bodies, the first few of them."""
    names = [repr(engine.body_name(i)) for i in numbers]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _advice(engine: SceneEngine, island: int) -> str:
    """Advice for an island that was not solved."""
    options, residual = engine.options, float(engine.residuals[island])
    ways = ["a smaller dt"]
    if residual < LARGEST_ADVISED:
        ways.append(f"tol={10.0 ** math.ceil(math.log10(residual)):.0e}")
    if options.edges:
        ways.append("cone='circular'")
    return ", ".join(ways) + ", or on_failure='continue', which takes the best impulses found and counts the step"


def not_finite(engine: SceneEngine) -> list[int]:
    """Numbers of the bodies that move and whose contact points, joints or forces are not finite in this step."""
    contacts, n = engine.contacts[int(engine.counts[step.SIDE])], int(engine.counts[step.ACTIVE])
    bad = ~np.all(np.isfinite(engine.bodies.free), axis=1) | ~np.all(np.isfinite(engine.bodies.mid), axis=1)
    active = engine.active[:n]
    numbers = (active.frame, active.arm_a, active.arm_b, active.bias, active.mobility[:, None])
    wrong = ~np.all([np.all(np.isfinite(array), axis=1) for array in numbers], axis=0)
    for side in (contacts.a, contacts.b):
        bad[side[active.contact[wrong]]] = True
    if engine.joints is not None:
        link, row = engine.joints.link, engine.joints.row
        wrong = row.used & ~(np.isfinite(row.target) & np.all(np.isfinite(row.direction), axis=1))
        for side in (link.a, link.b):
            bad[side[np.flatnonzero(wrong) // layout.ROWS_PER_JOINT]] = True
    return np.flatnonzero(bad & (engine.bodies.kind == layout.MOVING)).tolist()


def island_bodies(engine: SceneEngine, k: int) -> list[int]:
    """Numbers of the bodies of an island that can move."""
    contacts = engine.contacts[int(engine.counts[step.SIDE])]
    c = engine.active.contact[engine.order[int(engine.begins[k]) : int(engine.begins[k + 1])]]
    numbers = {*contacts.a[c].tolist(), *contacts.b[c].tolist()}
    if engine.joints is not None:
        j = engine.rows[int(engine.row_begins[k]) : int(engine.row_begins[k + 1])] // layout.ROWS_PER_JOINT
        numbers |= {*engine.joints.link.a[j].tolist(), *engine.joints.link.b[j].tolist()}
    return [i for i in sorted(numbers) if engine.bodies.kind[i] == layout.MOVING]


def joint_contradiction(engine: SceneEngine, k: int) -> float:
    """How far the joint rows of island k are from having a common solution, relative to what they ask for.

    min over v of |J v - w|, J the rows without bounds and the limits that carry something, v the velocities of the
    bodies that move, and w the velocities asked for, less what driven bodies give the rows.  Motors and dry
    friction are not among them: they give way beyond their largest effort, and contradict nothing.  What is
    far below the tolerance of a step is no reason either: rows that hold links at rest ask for rounding alone.
    """
    assert engine.joints is not None
    row = engine.joints.row
    rows = engine.rows[engine.row_begins[k] : engine.row_begins[k + 1]]
    unbounded = np.isinf(row.low[rows]) & np.isinf(row.high[rows])
    rows = rows[unbounded | ((row.low[rows] == 0.0) & (row.impulse[rows] > 0.0))]
    J = engine.joint_matrix(rows)
    moving = engine.bodies.kind == layout.MOVING
    w = row.target[rows] - np.einsum("rbk,bk->r", J[:, ~moving], engine.bodies.free[~moving])
    J_moving = J[:, moving].reshape(len(rows), -1)
    v = np.linalg.lstsq(J_moving, w, rcond=1e-10)[0]
    in_play = np.einsum("rbk,bk->r", np.abs(J), np.abs(engine.bodies.free)).max(initial=0.0)
    defect = float(np.abs(J_moving @ v - w).max(initial=0.0))
    return defect / max(np.abs(w).max(initial=0.0), 1e-300) if defect > BELOW * engine.options.tol * in_play else 0.0
