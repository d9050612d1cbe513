"""The joints of a solved step as smooth functions of its state: which rows take part, and at which bound, is held.

A step linearises its joints about velocities that are expected.  Where these turn out to be others it linearises them
about the end velocities found, and solves again (`islands.trees`, `islands.renewal`), several times.  Each of these is
a level: the velocities of the level before, or None for those that are expected.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import entry
from stickslip.scenes import layout
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.islands.joint_rows import LIMIT, ask_to_close, joint_coordinate, midpoints_ahead
from stickslip.scenes.islands.row_kinds import LOWER, PRISMATIC, ROPE, UPPER
from stickslip.scenes.islands.trees import closes
from stickslip.scenes.rotation import compose, z_axis

Array = np.ndarray


class Memory(NamedTuple):
    """What joints keep from step to step."""

    impulse: Array  # (rows,) of the last step
    used: Array  # (rows,) bool
    direction: Array  # (rows, 12)
    turns: Array  # (joints, 2) angles that were seen last


class RowLook(NamedTuple):
    """The rows of a step that take part."""

    D: Array  # (R, n, 6) velocities of the rows by those of the bodies
    target: Array  # (R,) velocity asked for
    soft: Array  # (R,)
    bounds: Array  # (R, 2) of the impulses


def memory_of(engine: SceneEngine) -> Memory | None:
    """What the joints of an engine keep now."""
    if engine.joints is None:
        return None
    link, row = engine.joints
    return Memory(
        row.impulse.copy(), row.used.copy(), row.direction.copy(), np.column_stack([link.turns, link.turns_b])
    )


def remember(engine: SceneEngine, memory: Memory | None, held: Array | None) -> None:
    """Give the joints of an engine what they kept; held: rows that take part, whatever the state says.

    A limit or a rope that carries load takes part as it did: a load that is not zero lets it.
    """
    if engine.joints is None or memory is None:
        return
    link, row = engine.joints
    row.impulse[:], row.used[:], row.direction[:] = memory.impulse, memory.used, memory.direction
    link.turns[:], link.turns_b[:] = memory.turns.T
    if held is not None:
        part, kind = held % layout.ROWS_PER_JOINT, link.kind[held // layout.ROWS_PER_JOINT]
        bounded = held[(part == LIMIT) | (kind >= ROPE)]
        row.impulse[bounded] = np.where(row.impulse[bounded] > 0.0, row.impulse[bounded], 1e-300)


def open_limits(engine: SceneEngine, rows: Array) -> Array:
    """Which rows of a prepared step are limits that are still open, and ask for the gap to be closed, (R,) bool."""
    if engine.joints is None:
        return np.zeros(0, bool)
    return (rows % layout.ROWS_PER_JOINT == LIMIT) & (engine.joints.row.target[rows] != 0.0)


def rows_looked_at(engine: SceneEngine, rows: Array, opened: Array, about: Array | None) -> RowLook:
    """The rows of a prepared step; about: velocities (n, 6) that joints are linearised about, None: as prepared.

    opened (R,) bool: limits that ask for their gap to be closed; the others ask for rest.
    """
    if engine.joints is None or not len(rows):
        n = len(engine.bodies.kind)
        return RowLook(np.zeros((0, n, 6)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    row = engine.joints.row
    kept = row.target.copy()
    if about is not None:
        ask_about(engine.joints, engine.bodies, about, engine.options.dim == 2, engine.options.dt)
    target = row.target[rows]
    row.target[:] = kept
    for i in np.flatnonzero(rows % layout.ROWS_PER_JOINT == LIMIT):
        gap = limit_gap(engine.joints, engine.bodies, int(rows[i]) // layout.ROWS_PER_JOINT) if opened[i] else 0.0
        target[i] = -gap / engine.options.dt if opened[i] else 0.0
    return RowLook(engine.joint_matrix(rows), target, row.soft[rows], np.column_stack([row.low[rows], row.high[rows]]))


@entry
def limit_gap(joints: Any, bodies: Any, j: int) -> float:
    """How far joint j is at the midpoint from the limit that its prepared row is of [rad or m]."""
    A, B, data = np.empty(7), np.empty(7), joints.link.numbers[j]
    compose(bodies.mid[joints.link.a[j]], joints.link.frame_a[j], A)
    compose(bodies.mid[joints.link.b[j]], joints.link.frame_b[j], B)
    x = joint_coordinate(joints, j, A, B)
    ax, ay, az = z_axis(A)
    d, k = joints.row.direction[j * layout.ROWS_PER_JOINT + LIMIT], 0 if joints.link.kind[j] == PRISMATIC else 6
    return x - data[LOWER] if d[k] * ax + d[k + 1] * ay + d[k + 2] * az > 0.0 else data[UPPER] - x


@entry
def ask_about(joints: Any, bodies: Any, vel: Array, planar: bool, dt: float) -> None:
    """Let all joints ask for no error at the next midpoint, linearised about the velocities `vel`."""
    ahead = np.empty((bodies.kind.shape[0], 7))
    midpoints_ahead(joints, bodies, vel, dt, ahead)
    for j in range(joints.link.kind.shape[0]):
        if closes(joints, j):
            ask_to_close(joints, j, ahead, vel, planar, dt)
