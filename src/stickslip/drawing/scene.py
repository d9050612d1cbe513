"""How a scene looks: a planar scene as it is, a spatial scene aslant from above (`aslant`).

Discs have a spoke, so that one sees them turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.drawing import primitives as draw
from stickslip.scenes.bodies import COORDINATES, Body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Piece, rotation_matrix

FAR = 1e3  # [m] how far the picture of a half-plane reaches
MOST_MARKED = 60  # bodies up to which discs and balls are marked
SPOKE = np.array([(0.0, -0.05), (0.8, -0.05), (0.8, 0.05), (0.0, 0.05)])  # corners, for a disc of radius 1
ROUND = 24  # corners of the half circles of a capsule, together


def scene_drawing(scene: Scene, view: draw.Box | None = None) -> draw.Drawing:
    """A `Drawing` of the scene, for figures and films of its trajectories.

    view : the part of the picture to show, x_min, x_max, y_min, y_max [m]; None fits it to the motion.
    """
    from stickslip.drawing.aslant import spatial_shapes  # which needs the solids of this module

    if scene.dim == 2:
        return draw.Drawing(_planar_shapes(scene), view)
    return draw.Drawing(spatial_shapes(scene), view, goes_along=view is None)


def _planar_shapes(scene: Scene) -> draw.Shapes:
    pieces = [([] if body.shape is None else body.shape.pieces(2)) for body in scene.bodies]

    def shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[draw.Primitive]:
        fixed: list[draw.Primitive] = []
        moving: list[draw.Primitive] = []
        for body, own in zip(scene.bodies, pieces, strict=True):
            if not body.life[0] <= t < body.life[1]:
                continue
            x, turn = pose(body, q)
            found = fixed if body.kind == "static" else moving
            found += [_outline(piece, body, x, turn, style_of(body)) for piece in own]
            if body.kind == "moving" and len(scene.bodies) <= MOST_MARKED:
                found += [_spoke(piece, body, x, turn) for piece in own if piece.kind == "sphere"]
        return [*fixed, *moving]

    return shapes


def pose(body: Body, q: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation matrix (3, 3) of a body in a state."""
    if body.column < 0:
        return body.position, rotation_matrix(body.orientation)
    width = len(COORDINATES[body.dim])
    own = np.array(q[body.column * width : (body.column + 1) * width])
    if body.dim == 2:
        half = 0.5 * own[2]
        return np.array([own[0], own[1], 0.0]), rotation_matrix(np.array([math.cos(half), 0.0, 0.0, math.sin(half)]))
    return own[:3], rotation_matrix(own[3:])


def _outline(piece: Piece, body: Body, x: np.ndarray, turn: np.ndarray, style: str) -> draw.Primitive:
    """The outline of a piece of a shape, of a body at x (3,) with rotation matrix `turn`, in the plane."""
    R = turn @ rotation_matrix(piece.turn)
    origin = x + turn @ (piece.offset - body.centre)
    if piece.kind == "sphere":
        return draw.Circle((float(origin[0]), float(origin[1])), piece.size[0], style)
    if piece.kind == "plane":
        n, o = R[:2, 2], origin[:2]
        along = np.array([n[1], -n[0]])
        corners = (o - FAR * along, o + FAR * along, o + FAR * (along - n), o - FAR * (along + n))
        return draw.Polygon(tuple((float(a), float(b)) for a, b in corners), style)
    if piece.kind == "capsule":
        points = _capsule(piece, origin, R)
    else:
        assert piece.mesh is not None
        points = (origin + piece.mesh.vertices @ R.T)[:, :2]
    return draw.Polygon(tuple((float(a), float(b)) for a, b in _around(points)), style)


def _spoke(piece: Piece, body: Body, x: np.ndarray, turn: np.ndarray) -> draw.Primitive:
    """A bar from the middle of a disc towards its rim, so that one sees it turn.

    The bar is an area: a stroke would cut the rim of a small disc open.
    """
    origin = x + turn @ (piece.offset - body.centre)
    corners = piece.size[0] * SPOKE @ turn[:2, :2].T + origin[:2]
    return draw.Polygon(tuple((float(a), float(b)) for a, b in corners), "body-light")


def _capsule(piece: Piece, origin: np.ndarray, R: np.ndarray) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * math.pi, ROUND, endpoint=False)
    circle = piece.size[0] * np.column_stack([np.cos(angles), np.sin(angles)])
    half = piece.size[1] * R[:2, 2]
    return np.concatenate([origin[:2] + half + circle, origin[:2] - half + circle])


def _around(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points in the plane, in order."""
    from scipy.spatial import ConvexHull as QuickHull

    return points[QuickHull(points).vertices]


# -- bodies in their own frames, for whoever moves them himself ---------------------------------------------------


def own_outlines(body: Body) -> list[draw.Primitive]:
    """The outlines of a planar body in its own frame; a trajectory says where the frame is."""
    pieces = [] if body.shape is None else body.shape.pieces(2)
    return [_outline(piece, body, np.zeros(3), np.eye(3), style_of(body)) for piece in pieces]


def style_of(body: Body) -> str:
    """Style of a body: "ground" for a static, "wood" for a driven, "body" for a moving one."""
    return {"static": "ground", "driven": "wood"}.get(body.kind, "body")


@dataclass(frozen=True)
class Solid:
    """A piece of a spatial body in the body's frame.

    Attributes
    ----------
    kind : one of five.
        "sphere": size holds the radius [m].
        "capsule": size holds radius and half length along z [m].
        "plane": z = 0, matter below.
        "mesh": corners (v, 3) [m], and flat faces as corner numbers, counter-clockwise from outside.
        "field": size holds the spacing [m]; heights [m].
    hollow : a surface of the world, in which bodies may lie.
    offset, turn : place (3,) [m] and rotation matrix (3, 3) of the piece in the body's frame.
    """

    kind: str
    offset: np.ndarray
    turn: np.ndarray
    size: tuple[float, ...] = ()
    vertices: np.ndarray | None = None
    faces: tuple[tuple[int, ...], ...] = ()
    heights: np.ndarray | None = None
    bound: float = math.inf
    hollow: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The piece as plain values, ready for JSON."""
        found: dict[str, Any] = {
            "kind": self.kind,
            "offset": self.offset.tolist(),
            "turn": self.turn.ravel().tolist(),
            "size": [float(x) for x in self.size],
        }
        if self.vertices is not None:
            found |= {"vertices": self.vertices.round(9).ravel().tolist(), "faces": [list(face) for face in self.faces]}
        if self.heights is not None:
            found |= {"heights": self.heights.tolist()}
        return found


def own_solids(body: Body) -> list[Solid]:
    """The pieces of a spatial body in its own frame."""
    found = []
    for piece in [] if body.shape is None else body.shape.pieces(3):
        pose = (piece.offset - body.centre, rotation_matrix(piece.turn))
        if piece.mesh is not None:
            mesh = piece.mesh
            hollow = piece.kind == "surface"
            found.append(
                Solid("mesh", *pose, vertices=mesh.vertices, faces=mesh.loops, bound=piece.bound, hollow=hollow)
            )
        elif piece.heights is not None:
            found.append(Solid("field", *pose, piece.size[:1], heights=piece.heights))
        else:
            found.append(Solid(piece.kind, *pose, piece.size, bound=piece.bound))
    return found
