"""Scenes on the page: each body once in its own frame, and its poses over time."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from stickslip.drawing.scene import own_outlines, own_solids
from stickslip.page.overlay import forces, links
from stickslip.page.packing import floats, plain, shorts
from stickslip.page.tracks import group_dict
from stickslip.scenario import SceneScenario
from stickslip.scenes.bodies import COORDINATES, Body
from stickslip.scenes.scene import Scene
from stickslip.trajectory import Trajectory

_MOST_NUMBERS = 600_000
"""Numbers of a moving picture that are sent: bodies times frames times coordinates."""
_MOST_FLOATS = 100_000
"""Numbers of poses that are sent with seven digits; more than these have a 65,000th of their range."""


def moving_scene(scenario: SceneScenario, trajectory: Trajectory, rows: np.ndarray) -> dict[str, Any]:
    """The moving picture of a scene at the records `rows`, fewer where there are many bodies."""
    scene = scenario.scene
    width = len(COORDINATES[scene.dim])
    moving = sum(body.column >= 0 for body in scene.bodies)
    most = max(2, _MOST_NUMBERS // max(1, width * moving))
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
    picture = scene_picture(scene, trajectory.q[rows], trajectory.t[rows])
    return {"follow": None, "span": None, "turn": [], **picture, "forces": forces(trajectory, rows, scene)}


def scene_picture(scene: Scene, q: np.ndarray, t: np.ndarray) -> dict[str, Any]:
    """Bodies of a scene in the states q (n, ...) at the times t (n,)."""
    return {
        "t": floats(t),
        "links": links(scene, q),
        **(_plane(scene, q, t) if scene.dim == 2 else _space(scene, q, t)),
    }


def _plane(scene: Scene, q: np.ndarray, t: np.ndarray) -> dict[str, Any]:
    shapes = []
    for body in scene.bodies:
        outlines = own_outlines(body)
        if outlines:
            place = _placement(body, q, t)
            moving = np.flatnonzero(~(place == place[0]).all(axis=0))
            first = [plain(x) or 0.0 for x in place[0]]
            more = {"values": first, "moving": moving.tolist(), "track": floats(place[:, moving])}
            shapes.append(group_dict(body.name, outlines, channel=body.column, **more))
    return {"kind": "plane", "view": _view(scene, q, t), "shapes": shapes}


def _placement(body: Body, q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """x, y, cos, sin of a planar body at the times t, shape (n, 4); nan while it is not there."""
    if body.column < 0:
        pose = np.tile([*body.position[:2], body.angle], (len(t), 1))
    else:
        pose = q[:, 3 * body.column : 3 * body.column + 3]
    place = np.column_stack([pose[:, :2], np.cos(pose[:, 2]), np.sin(pose[:, 2])])
    return np.where(_alive(body, t)[:, None], place, np.nan)


def _alive(body: Body, t: np.ndarray) -> np.ndarray:
    return (body.life[0] <= t) & (t < body.life[1])


def _radius(body: Body) -> float:
    """Radius of a body about its centre of mass [m]."""
    pieces = [] if body.shape is None else body.shape.pieces(body.dim)
    sizes = [float(np.linalg.norm(piece.offset - body.centre)) + piece.bound for piece in pieces]
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def moving_radii(scene: Scene) -> list[float]:
    """Radius of every moving body, by its column [m]."""
    return [_radius(body) for body in scene.bodies if body.column >= 0]


def _extent(scene: Scene, q: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinates that moving bodies reach, shape (dim,) each."""
    width, dim = len(COORDINATES[scene.dim]), scene.dim
    lows, highs = [], []
    for body in scene.bodies:
        alive = _alive(body, t)
        if body.column >= 0 and alive.any():
            x = q[alive, width * body.column : width * body.column + dim]
            lows.append(x.min(axis=0) - _radius(body))
            highs.append(x.max(axis=0) + _radius(body))
    if not lows:
        return -np.ones(dim), np.ones(dim)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _view(scene: Scene, q: np.ndarray, t: np.ndarray, margin: float = 0.06) -> list[float]:
    low, high = _extent(scene, q, t)
    room = margin * float(np.max(high - low))
    return [float(x) for x in (low[0] - room, high[0] + room, low[1] - room, high[1] + room)]


def _space(scene: Scene, q: np.ndarray, t: np.ndarray) -> dict[str, Any]:
    """Bodies and their poses; solids that many bodies share are sent once, and bodies have their numbers."""
    bodies, poses = [], []
    shared: dict[str, int] = {}
    for body in scene.bodies:
        solids = [json.dumps(solid.to_dict(), sort_keys=True) for solid in own_solids(body)]
        if not solids:
            continue
        numbers = [shared.setdefault(solid, len(shared)) for solid in solids]
        place = {} if body.column >= 0 else {"pose": [*body.position.tolist(), *body.orientation.tolist()]}
        bodies.append({"name": body.name, "style": body.kind, "channel": body.column, "solids": numbers, **place})
        if body.column >= 0:
            pose = q[:, 7 * body.column : 7 * body.column + 7]
            poses.append(np.where(_alive(body, t)[:, None], pose, np.nan))
    low, high = _extent(scene, q, t)
    track = np.stack(poses, axis=1) if poses else np.zeros((len(t), 0, 7))
    extent = max((_radius(body) for body in scene.bodies if body.column >= 0), default=0.0)
    return {
        "kind": "space",
        "box": [*low.tolist(), *high.tolist()],
        "extent": extent,
        "solids": [json.loads(solid) for solid in shared],
        "bodies": bodies,
        "poses": floats(track) if track.size <= _MOST_FLOATS else shorts(track),
    }
