"""How a scene looks: planar ones as they are, spatial ones from the side (x to the right, z up, y away).

Discs have a spoke and balls a spot at the pole of their z axis, so that one sees them turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from stickslip.model import drawing as draw
from stickslip.model.scene.bodies import COORDINATES, Body
from stickslip.model.scene.scene import Scene
from stickslip.model.scene.shapes import Piece, rotation_matrix

FAR = 1e3  # [m] how far the picture of a half-plane reaches
MOST_MARKED = 60  # bodies up to which discs and balls are marked
POLE, SPOT, BEHIND = 0.75, 0.2, 0.2  # of the radius: where the spot is, how large, and how far round it is seen
ROUND = 24  # corners of the half circles of a capsule, together


def scene_drawing(scene: Scene, view: draw.Box | None = None) -> draw.Drawing:
    """A `Drawing` of the scene, for figures and films of its trajectories.

    view : x_min, x_max, y_min, y_max [m] (z instead of y in space); fitted to the motion where it is None.
    """
    pieces = [([] if body.shape is None else body.shape.pieces(scene.dim)) for body in scene.bodies]
    width = len(COORDINATES[scene.dim])

    def shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[draw.Primitive]:
        found: list[tuple[float, list[draw.Primitive]]] = []
        for body, own in zip(scene.bodies, pieces, strict=True):
            if not body.life[0] <= t < body.life[1]:
                continue
            x, turn = _pose(body, q, width)
            style = "ground" if body.kind == "static" else ("wood" if body.kind == "driven" else "body")
            depth = math.inf if body.kind == "static" else (float(x[1]) if scene.dim == 3 else 0.0)
            picture = [_outline(piece, body, x, turn, scene.dim, style) for piece in own]
            if style == "body" and len(scene.bodies) <= MOST_MARKED:
                picture += [mark for piece in own for mark in _mark(piece, body, x, turn, scene.dim)]
            found.append((depth, picture))
        found.sort(key=lambda entry: -entry[0])  # what is far away first; bodies of equal depth in their order
        return [primitive for _, picture in found for primitive in picture]

    return draw.Drawing(shapes, view)


def _pose(body: Body, q: Sequence[float], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation matrix of a body in a state."""
    if body.column < 0:
        return body.position, rotation_matrix(body.orientation)
    own = np.array(q[body.column * width : (body.column + 1) * width])
    if body.dim == 2:
        half = 0.5 * own[2]
        return np.array([own[0], own[1], 0.0]), rotation_matrix(np.array([math.cos(half), 0.0, 0.0, math.sin(half)]))
    return own[:3], rotation_matrix(own[3:])


def _outline(piece: Piece, body: Body, x: np.ndarray, turn: np.ndarray, dim: int, style: str) -> draw.Primitive:
    """The outline of a piece, seen from the side in space."""
    up = 1 if dim == 2 else 2
    R = turn @ rotation_matrix(piece.turn)
    origin = x + turn @ (piece.offset - body.centre)
    if piece.kind == "sphere":
        return draw.Circle((float(origin[0]), float(origin[up])), piece.size[0], style)
    if piece.kind == "plane":
        normal = R[:, 2]
        along = np.array([normal[up], -normal[0]])
        size = float(np.linalg.norm(along))
        if size < 1e-9:  # seen face on
            return draw.Polyline(((0.0, 0.0),), "guide")
        along, n = along / size, np.array([normal[0], normal[up]]) / size
        o = origin[[0, up]]
        corners = (o - FAR * along, o + FAR * along, o + FAR * (along - n), o - FAR * (along + n))
        return draw.Polygon(tuple((float(a), float(b)) for a, b in corners), style)
    if piece.kind == "capsule":
        points = _capsule(piece, origin, R, up)
    elif piece.heights is not None:
        rows = (np.arange(piece.heights.shape[0]) - 0.5 * (piece.heights.shape[0] - 1)) * piece.size[0]
        points = np.column_stack([rows, piece.heights.max(axis=1)])
        return draw.Polyline(tuple((float(a), float(b)) for a, b in points), "edge")
    else:
        assert piece.mesh is not None
        points = (origin + piece.mesh.vertices @ R.T)[:, [0, up]]
    return draw.Polygon(tuple((float(a), float(b)) for a, b in _around(points)), style)


def _mark(piece: Piece, body: Body, x: np.ndarray, turn: np.ndarray, dim: int) -> list[draw.Primitive]:
    """A spoke on a disc, a spot on the pole of a ball while it is in sight."""
    if piece.kind != "sphere":
        return []
    origin, r = x + turn @ (piece.offset - body.centre), piece.size[0]
    if dim == 2:
        rim = origin + r * turn[:, 0]
        spoke = tuple((float(p[0]), float(p[1])) for p in (origin, rim))
        return [draw.Polyline(spoke, "body-light")]
    pole = turn[:, 2]
    if pole[1] > BEHIND:
        return []
    return [
        draw.Circle((float(origin[0] + POLE * r * pole[0]), float(origin[2] + POLE * r * pole[2])), SPOT * r, "accent")
    ]


def _capsule(piece: Piece, origin: np.ndarray, R: np.ndarray, up: int) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * math.pi, ROUND, endpoint=False)
    circle = piece.size[0] * np.column_stack([np.cos(angles), np.sin(angles)])
    half = piece.size[1] * R[[0, up], 2]
    return np.concatenate([origin[[0, up]] + half + circle, origin[[0, up]] - half + circle])


def _around(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points in the plane, in order."""
    from scipy.spatial import ConvexHull as QuickHull

    return points[QuickHull(points).vertices]
