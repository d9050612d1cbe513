"""Scenes in space seen aslant from above: parallel projection, faces in light and in shade, shadows on the floor.

The viewer looks along -BACK; a point x of the world is drawn at (RIGHT . x, UP . x).  Lengths along the horizontal axis
x are shortened by less than a tenth, so that a picture still reads as an elevation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from stickslip.drawing import primitives as draw
from stickslip.drawing.scene import MOST_MARKED, Solid, own_solids, pose, style_of
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene

YAW, PITCH = math.radians(-68.0), math.radians(20.0)
"""Where the viewer stands: turned from x about z, and above the horizon [rad]."""
BACK = np.array([math.cos(PITCH) * math.cos(YAW), math.cos(PITCH) * math.sin(YAW), math.sin(PITCH)])
RIGHT = np.array([-math.sin(YAW), math.cos(YAW), 0.0])
UP = np.cross(BACK, RIGHT)
LIGHT = np.array([-0.40, -0.55, 1.0]) / np.linalg.norm([-0.40, -0.55, 1.0])

_FAR = 1e3  # [m] how far the picture of a plane reaches
_ROUND = 24  # corners of a circle
_SPOT = (
    0.34  # [rad] radius of a spot on a ball, seen from its centre; less than PITCH, so that the lower pole is hidden
)
_LIT, _AVERTED = 0.55, 0.12  # cosine between a face's normal and the light, above and below which its shade changes
_ANGLES = np.linspace(0.0, 2.0 * math.pi, _ROUND, endpoint=False)

Plane = tuple[np.ndarray, float]
"""Outward normal n and offset d: matter is where n . x <= d."""


def spatial_shapes(scene: Scene) -> draw.Shapes:
    """Return the function `shapes` of a `Drawing` that shows a spatial scene in a state, from back to front."""
    solids = [own_solids(body) for body in scene.bodies]
    planes = [_plane(*_placed(solid, *pose(body, ()))) for body, solid in _planes(scene, solids)]
    backdrop = [*_floors(planes), *_grid(scene, planes)]
    floor = next((plane for plane in planes if plane[0][2] > 0.5), None)
    marked = sum(body.column >= 0 for body in scene.bodies) <= MOST_MARKED

    def shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[draw.Primitive]:
        shadows: list[draw.Primitive] = []
        found: list[tuple[float, list[draw.Primitive]]] = []
        for body, own in zip(scene.bodies, solids, strict=True):
            if not body.life[0] <= t < body.life[1]:
                continue
            x, turn = pose(body, q)
            for solid in own:
                if solid.kind == "plane":
                    continue
                origin, R = _placed(solid, x, turn)
                spots = marked and body.kind == "moving"
                ground = solid.kind == "field" or solid.hollow
                depth = -math.inf if ground else float(BACK @ origin)
                found.append((depth, _picture(solid, origin, R, style_of(body), spots)))
                if floor is not None and marked and not ground:
                    shadows.append(_shadow(_rim(solid, origin, R, LIGHT), floor))
        found.sort(key=lambda entry: entry[0])  # what is far away first; bodies of equal depth in their order
        return [*backdrop, *shadows, *(primitive for _, picture in found for primitive in picture)]

    return shapes


def _planes(scene: Scene, solids: Iterable[list[Solid]]) -> list[tuple[Body, Solid]]:
    return [
        (body, solid)
        for body, own in zip(scene.bodies, solids, strict=True)
        if body.column < 0
        for solid in own
        if solid.kind == "plane"
    ]


def _placed(solid: Solid, x: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Origin and rotation matrix of a solid in the world."""
    return x + turn @ solid.offset, turn @ solid.turn


def _plane(origin: np.ndarray, R: np.ndarray) -> Plane:
    return R[:, 2], float(R[:, 2] @ origin)


def _flat(points: np.ndarray) -> tuple[draw.Point, ...]:
    """Points (n, 3) of the world as points of the picture."""
    return tuple(zip((points @ RIGHT).tolist(), (points @ UP).tolist(), strict=True))


# -- what stands still ---------------------------------------------------------------------------------------------


def _floors(planes: Sequence[Plane]) -> list[draw.Primitive]:
    """Shapes of the planes that face the viewer; parts of a plane behind another plane are cut off."""
    found: list[draw.Primitive] = []
    for plane in planes:
        n, d = plane
        if n @ BACK < 0.05:
            continue
        along = np.cross(n, RIGHT if abs(n @ RIGHT) < 0.9 else UP)
        along /= np.linalg.norm(along)
        across = np.cross(n, along)
        corners = np.array([d * n + _FAR * (i * along + j * across) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        for other in planes:
            if other is not plane and len(corners):
                corners = _clipped(corners, other)
        if len(corners) >= 3:
            found.append(draw.Polygon(_flat(corners), "floor" if n[2] > 0.5 else "wall"))
    return found


def _clipped(corners: np.ndarray, plane: Plane) -> np.ndarray:
    """The part of a convex polygon outside the matter of a plane (Sutherland and Hodgman)."""
    n, d = plane
    height = corners @ n - d
    kept = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if height[i] >= 0.0:
            kept.append(corners[i])
        if (height[i] >= 0.0) != (height[j] >= 0.0):
            s = height[i] / (height[i] - height[j])
            kept.append(corners[i] + s * (corners[j] - corners[i]))
    return np.array(kept)


def _grid(scene: Scene, planes: Sequence[Plane], lines: int = 48) -> list[draw.Primitive]:
    """Lines on an open floor, in a spacing that suits the bodies; each family is one line that goes to and fro."""
    moving = [body for body in scene.bodies if body.column >= 0]
    if len(planes) != 1 or not moving or planes[0][0][2] < 0.5:
        return []
    n, d = planes[0]
    at = np.array([body.position for body in moving])
    bounds = [solid.bound for body in moving for solid in own_solids(body) if math.isfinite(solid.bound)]
    size = float(np.max(np.ptp(at, axis=0))) + 2.0 * max(bounds, default=1.0)
    step = 10.0 ** math.floor(math.log10(size))
    step *= next(k for k in (5.0, 2.0, 1.0) if k * step <= size)
    first = np.cross(np.array([0.0, 1.0, 0.0]), n)
    first /= np.linalg.norm(first)
    second = np.cross(n, first)
    middle = at.mean(axis=0)
    found: list[draw.Primitive] = []
    for along, across in ((first, second), (second, first)):
        centre = step * np.round(np.array([middle @ along, middle @ across]) / step)
        points = []
        for k in range(-lines, lines + 1):
            ends = (-lines, lines) if k % 2 else (lines, -lines)
            points += [d * n + (centre[0] + step * e) * along + (centre[1] + step * k) * across for e in ends]
        found.append(draw.Polyline(_flat(np.array(points)), "floor-line"))
    return found


# -- bodies --------------------------------------------------------------------------------------------------------


def _picture(solid: Solid, origin: np.ndarray, R: np.ndarray, style: str, spots: bool) -> list[draw.Primitive]:
    if solid.kind == "sphere":
        circle = draw.Circle(_flat(origin[None])[0], solid.size[0], _shade(style, 0.3))
        return [circle, *(_spots(solid.size[0], origin, R) if spots else ())]
    if solid.kind == "mesh":
        assert solid.vertices is not None
        corners = origin + solid.vertices @ R.T
        if solid.hollow:
            loops = sorted(solid.faces, key=lambda loop: float(corners[list(loop)].mean(axis=0) @ BACK))
            return [face for loop in loops for face in _face(corners[list(loop)], "terrain")]
        return [face for loop in solid.faces for face in _face(corners[list(loop)], style)]
    if solid.kind == "field":
        return _field(solid, origin, R)
    return [draw.Polygon(_flat(_around(_rim(solid, origin, R, BACK))), _shade(style, 0.3))]


def _face(corners: np.ndarray, style: str) -> list[draw.Primitive]:
    """A flat face as a polygon, or nothing where it faces away from the viewer."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    size = float(np.linalg.norm(normal))
    if size == 0.0 or normal @ BACK <= 0.0:
        return []
    return [draw.Polygon(_flat(corners), _shade(style, float(normal @ LIGHT) / size))]


def _shade(style: str, light: float) -> str:
    """Style of a face: of moving bodies and terrain by the cosine of normal and light, of others their own `style`."""
    if style == "terrain":  # what looks away from the light is hatched
        return "floor" if light > _LIT else "ground"
    if style != "body":
        return style
    return "facet-light" if light > _LIT else "facet" if light > _AVERTED else "facet-dark"


def _field(solid: Solid, origin: np.ndarray, R: np.ndarray) -> list[draw.Primitive]:
    """Ground of given heights, cell by cell from far to near."""
    assert solid.heights is not None
    rows, columns = solid.heights.shape
    x, y = ((np.arange(n) - 0.5 * (n - 1)) * solid.size[0] for n in (rows, columns))
    points = origin + np.stack([*np.meshgrid(x, y, indexing="ij"), solid.heights], axis=2) @ R.T
    cells = [(i, j) for i in range(rows - 1) for j in range(columns - 1)]
    cells.sort(key=lambda cell: float(points[cell] @ BACK))
    corners = ((0, 0), (1, 0), (1, 1), (0, 1))
    return [draw.Polygon(_flat(np.array([points[i + a, j + b] for a, b in corners])), "floor") for i, j in cells]


def _rim(solid: Solid, origin: np.ndarray, R: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Points whose hull is the outline of a solid seen along an axis."""
    if solid.kind == "mesh":
        assert solid.vertices is not None
        return origin + solid.vertices @ R.T
    first = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    circle = solid.size[0] * (np.cos(_ANGLES)[:, None] * first + np.sin(_ANGLES)[:, None] * second)
    half = solid.size[1] * R[:, 2] if solid.kind == "capsule" else np.zeros(3)
    return np.concatenate([origin + half + circle, origin - half + circle])


def _shadow(points: np.ndarray, floor: Plane) -> draw.Primitive:
    """Points cast along the light onto the floor."""
    n, d = floor
    cast = points - ((points @ n - d) / float(n @ LIGHT))[:, None] * LIGHT
    return draw.Polygon(_flat(_around(cast)), "shadow")


def _around(points: np.ndarray) -> np.ndarray:
    """The points that are corners of the hull in the picture, in order."""
    from scipy.spatial import ConvexHull as QuickHull

    return points[QuickHull(np.array(_flat(points))).vertices]


def _spots(r: float, origin: np.ndarray, R: np.ndarray) -> list[draw.Primitive]:
    """A red spot at each pole of a ball's z axis and light ones at its other four, so that one sees it turn."""
    found: list[draw.Primitive] = []
    x, y = _flat(origin[None])[0]
    for k in range(3):
        first, second = R[:, (k + 1) % 3], R[:, (k + 2) % 3]
        ring = math.sin(_SPOT) * (np.cos(_ANGLES)[:, None] * first + np.sin(_ANGLES)[:, None] * second)
        for axis in (R[:, k], -R[:, k]):
            points = math.cos(_SPOT) * axis + ring
            hidden = points @ BACK < 0.0
            if hidden.all():
                continue
            flat = np.array(_flat(points))
            flat[hidden] /= np.linalg.norm(flat[hidden], axis=1)[:, None]  # what is behind lies on the rim
            outline = tuple((x + r * a, y + r * b) for a, b in flat.tolist())
            found.append(draw.Polygon(outline, "accent" if k == 2 else "body-light"))
    return found
