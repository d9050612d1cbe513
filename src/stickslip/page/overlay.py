"""Marks over the bodies of a scene: joints, springs, ropes, and the forces at contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.page.packing import floats
from stickslip.scenes.bodies import COORDINATES, Body
from stickslip.scenes.scene import Scene
from stickslip.trajectory import Trajectory

MOST_BODIES = 60
"""Bodies of a scene whose contacts are recorded for the page: more of them could not be told apart, and take memory."""
MOST_RECORDS = 5_000  # with forces; each costs as much as some hundred steps
MOST_ARROWS = 12_000  # of all frames together


def contact_options(scenario: Any, records: float) -> Mapping[str, Any]:
    """Options with which a run keeps the forces of its contacts, where a page draws them; for none too many records."""
    drawn = len(scenario.contact_names) <= MOST_BODIES and records <= MOST_RECORDS
    return scenario.contact_options if drawn else {}


def links(scene: Scene, q: np.ndarray) -> dict[str, Any] | None:
    """Ends of joints and springs in the states q (n, ...): kinds, and a track with two points for each."""
    lines: list[Any] = [*scene.joints, *scene.springs]
    if not lines:
        return None
    kinds = [getattr(line, "kind", "spring") for line in lines]
    ends = [
        _course(scene.bodies[number], scene.dim, at, q)
        for line in lines
        for number, at in ((line.a, line.at_a), (line.b, line.at_b))
    ]
    return {"kinds": kinds, "track": floats(np.stack(ends, axis=1))}


def link_points(scene: Scene) -> dict[str, Any] | None:
    """Joints and springs for a page that simulates: kinds, and for each end a column and a point of the body.

    The point of a body without a column is one of the world.
    """
    lines: list[Any] = [*scene.joints, *scene.springs]
    if not lines:
        return None
    ends = []
    for line in lines:
        for number, at in ((line.a, line.at_a), (line.b, line.at_b)):
            body = scene.bodies[number]
            arm = np.asarray(at, dtype=float)[: scene.dim]
            if body.column >= 0:
                arm = _own_point(body, scene.dim, np.asarray(at, dtype=float))
            ends.append([body.column, *arm.tolist()])
    return {"kinds": [getattr(line, "kind", "spring") for line in lines], "ends": ends}


def _own_point(body: Body, dim: int, at: np.ndarray) -> np.ndarray:
    """Coordinates in a body's own frame of a point given in the world, at the start."""
    arm = at[:3] - body.position
    if dim == 2:
        c, s = np.cos(body.angle), np.sin(body.angle)
        return np.array([c * arm[0] + s * arm[1], c * arm[1] - s * arm[0]])
    own: np.ndarray = _turned(body.orientation[None] * [1.0, -1.0, -1.0, -1.0], arm)[0]
    return own


def _course(body: Body, dim: int, at: np.ndarray, q: np.ndarray) -> np.ndarray:
    """World coordinates (n, dim) of a point that is fixed to a body, given where it is at the start."""
    if body.column < 0:
        return np.tile(at[:dim], (len(q), 1))
    width = len(COORDINATES[dim])
    pose = q[:, width * body.column : width * (body.column + 1)]
    arm = np.asarray(at, dtype=float) - body.position
    if dim == 2:
        turn = pose[:, 2] - body.angle
        c, s = np.cos(turn), np.sin(turn)
        return pose[:, :2] + np.column_stack([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
    own = _turned(body.orientation[None] * [1.0, -1.0, -1.0, -1.0], arm)
    return pose[:, :3] + _turned(pose[:, 3:7], own[0])


def _turned(quaternions: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A vector turned by quaternions w, x, y, z, (n, 4)."""
    w, axis = quaternions[:, :1], quaternions[:, 1:]
    twice = 2.0 * np.cross(axis, x)
    turned: np.ndarray = x + w * twice + np.cross(axis, twice)
    return turned


def forces(trajectory: Trajectory, rows: np.ndarray, scene: Scene) -> dict[str, Any] | None:
    """Points and forces at the contacts of some records, frame by frame; None where contacts were not recorded.

    Forces are those on the body that moves; of two that move, on the one that is held up.  Of frames with many contacts
    the largest forces are kept.
    """
    table = trajectory.contact_table
    if table is None:
        return None
    each = max(1, MOST_ARROWS // max(1, len(rows)))
    times, size = table["time"], np.linalg.norm(table["force"], axis=1)
    chosen: list[np.ndarray] = []
    for t in trajectory.t[rows]:
        low, high = np.searchsorted(times, [t - 1e-9 * trajectory.dt, t + 1e-9 * trajectory.dt])
        here = np.arange(low, high)
        chosen.append(here[np.argsort(-size[here], kind="stable")[:each]])
    moving = [body.name for body in scene.bodies if body.column >= 0]
    both = np.isin(table["body"], moving) & np.isin(table["other"], moving)
    flip = np.where(both, table["force"] @ scene.gravity > 0.0, ~np.isin(table["other"], moving))
    on_mover = np.where(flip, -1.0, 1.0)[:, None] * table["force"]
    return _arrows(chosen, table["point"][:, : scene.dim], on_mover[:, : scene.dim], size)


def _arrows(chosen: Sequence[np.ndarray], point: np.ndarray, force: np.ndarray, size: np.ndarray) -> dict[str, Any]:
    every = np.concatenate(chosen) if chosen else np.zeros(0, dtype=int)
    loaded = size[every][size[every] > 0.0]
    return {
        "first": np.cumsum([0, *map(len, chosen)]).tolist(),
        "point": floats(point[every]),
        "force": floats(force[every]),
        "typical": float(np.quantile(loaded, 0.9)) if len(loaded) else 1.0,
    }
