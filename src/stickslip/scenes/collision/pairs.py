"""Contact points of two geometries: one function for each pair of kinds, all with one list of arguments.

A scene calls the functions by their addresses (`Shapes.code`).  Functions of kinds that it does not have are not
compiled, and all scenes share the machine code of the time loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.scenes.collision.capsule import ball_hull, ball_polygon, capsule_hull, capsule_polygon
from stickslip.scenes.collision.field import Field
from stickslip.scenes.collision.field_hull import hull_on_field
from stickslip.scenes.collision.field_round import ball_field, capsule_on_field
from stickslip.scenes.collision.flat import box_above, shape_plane
from stickslip.scenes.collision.flat_pairs import Reach, hull_pair, polygon_pair
from stickslip.scenes.collision.flat_smooth import form_on_hull
from stickslip.scenes.collision.mesh import Surface
from stickslip.scenes.collision.mesh_hull import hull_on_mesh
from stickslip.scenes.collision.mesh_round import ball_on_mesh, capsule_on_mesh
from stickslip.scenes.collision.round import (
    Ball,
    ball_capsule,
    ball_plane,
    balls,
    capsule_plane,
    capsules,
    corners_plane,
)
from stickslip.scenes.collision.smooth import Form, ball_form, capsule_form, ellipsoids, form_above
from stickslip.scenes.layout import (
    BETWEEN,
    CAPSULE,
    CORNERS,
    FIELD,
    HULL,
    PLANE,
    POLYGON,
    SMOOTH,
    SPHERE,
    SURFACE,
    ZERO,
    Geoms,
    Room,
    Shapes,
)
from stickslip.scenes.rotation import to_body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Piece

KINDS = 8
DIGITS = 8 * 2.0**-52


@kernel
def digits(geoms: Geoms, i: int, j: int) -> float:
    """What the rounding of coordinates makes of a distance between two geometries [m]."""
    size = geoms.bound[i] + geoms.bound[j]
    for k in range(3):
        size += abs(geoms.world[i, k]) + abs(geoms.world[j, k])
    return DIGITS * size


@kernel
def ball_of(geoms: Geoms, i: int, pose: np.ndarray) -> Ball:
    """The ball that geometry i is, in its pose."""
    return Ball((pose[0], pose[1], pose[2]), geoms.extent[i, 0])


@kernel
def form_of(geoms: Geoms, j: int, pose: np.ndarray) -> Form:
    """The curved form that geometry j is, in its pose."""
    return Form(geoms.form[j], geoms.measure[j], pose)


@kernel
def reach_of(geoms: Geoms, i: int, j: int, margin: float) -> Reach:
    """How far two geometries may be apart, with the size of the smaller one."""
    return Reach(min(geoms.bound[i], geoms.bound[j]), margin, digits(geoms, i, j))


@entry
def sphere_sphere(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return balls(room, ZERO, ball_of(geoms, i, room.pose[0]), ball_of(geoms, j, room.pose[1]), margin)


@entry
def sphere_plane(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return ball_plane(room, ZERO, ball_of(geoms, i, room.pose[0]), room.pose[1], margin)


@entry
def sphere_capsule(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    other = geoms.extent[j]
    return ball_capsule(room, ZERO, ball_of(geoms, i, room.pose[0]), room.pose[1], other[1], other[0], margin)


@entry
def capsule_capsule(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return capsules(room, room.pose[0], geoms.extent[i], room.pose[1], geoms.extent[j], margin)


@entry
def capsule_on_plane(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    if geoms.extent[i, 3] >= BETWEEN:  # the lowest points of a rounded box are those of the balls at its corners
        return 0
    if geoms.extent[i, 3] == CORNERS:
        across = geoms.measure[i]
        return corners_plane(room, room.pose[0], across, geoms.extent[i, 1], geoms.extent[i, 0], room.pose[1], margin)
    return capsule_plane(room, room.pose[0], geoms.extent[i, 1], geoms.extent[i, 0], room.pose[1], margin)


@entry
def sphere_hull(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return ball_hull(shapes.hulls, room, room.pose[0], geoms.extent[i, 0], geoms.table[j], room.pose[1], margin)


@entry
def capsule_and_hull(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    own = geoms.extent[i]
    return capsule_hull(shapes.hulls, room, room.pose[0], own[1], own[0], geoms.table[j], room.pose[1], margin)


@entry
def hull_hull(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    reach = reach_of(geoms, i, j, margin)
    return hull_pair(shapes.hulls, room, geoms.table[i], room.pose[0], geoms.table[j], room.pose[1], reach)


@entry
def hull_plane(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    if geoms.extent[i, 3] == BETWEEN or box_above(room.pose[0], geoms.box[i], room.pose[1], margin):
        return 0
    return shape_plane(shapes.hulls, room, geoms.table[i], room.pose[0], room.pose[1], margin)


@entry
def sphere_polygon(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return ball_polygon(shapes.hulls, room, room.pose[0], geoms.extent[i, 0], geoms.table[j], room.pose[1], margin)


@entry
def capsule_and_polygon(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    own = geoms.extent[i]
    return capsule_polygon(shapes.hulls, room, room.pose[0], own[1], own[0], geoms.table[j], room.pose[1], margin)


@entry
def polygon_polygon(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    reach = reach_of(geoms, i, j, margin)
    return polygon_pair(shapes.hulls, room, geoms.table[i], room.pose[0], geoms.table[j], room.pose[1], reach)


@entry
def polygon_plane(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return shape_plane(shapes.hulls, room, geoms.table[i], room.pose[0], room.pose[1], margin)


@kernel
def field_of(shapes: Shapes, geoms: Geoms, room: Room, j: int) -> Field:
    """The height field of geom j, which is the second of a pair."""
    return Field(room.pose[1], shapes.heights, geoms.table[j], geoms.extent[j])


@entry
def sphere_field(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    p = room.pose[0]
    centre = to_body(room.pose[1], p[0], p[1], p[2])
    return ball_field(room, ZERO, ZERO, centre, geoms.extent[i, 0], field_of(shapes, geoms, room, j), margin)


@entry
def capsule_field(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    own = geoms.extent[i]
    return capsule_on_field(room, room.pose[0], own[1], own[0], field_of(shapes, geoms, room, j), margin)


@entry
def hull_field(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    field = field_of(shapes, geoms, room, j)
    return hull_on_field(shapes.hulls, room, geoms.table[i], room.pose[0], field, geoms.bound[i], margin)


@entry
def plane_smooth(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return form_above(room, form_of(geoms, j, room.pose[1]), room.pose[0], margin)


@entry
def sphere_smooth(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return ball_form(room, ZERO, ball_of(geoms, i, room.pose[0]), form_of(geoms, j, room.pose[1]), margin)


@entry
def capsule_smooth(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    own = geoms.extent[i]
    return capsule_form(room, room.pose[0], own[1], own[0], form_of(geoms, j, room.pose[1]), margin)


@entry
def hull_smooth(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    size, form = min(geoms.bound[i], geoms.bound[j]), form_of(geoms, j, room.pose[1])
    return form_on_hull(shapes.hulls, room, geoms.table[i], room.pose[0], form, size, margin)


@entry
def smooth_smooth(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    return ellipsoids(room, geoms.measure[i], room.pose[0], geoms.measure[j], room.pose[1], margin)


@kernel
def surface_of(shapes: Shapes, geoms: Geoms, room: Room, j: int) -> Any:
    """Geometry j, a surface of triangles."""
    hulls = shapes.hulls
    return Surface(hulls.vertices, hulls.normals, hulls.corners, geoms.table[j], room.pose[1])


@entry
def sphere_surface(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    p = room.pose[0]
    centre = to_body(room.pose[1], p[0], p[1], p[2])
    return ball_on_mesh(surface_of(shapes, geoms, room, j), room, centre, geoms.extent[i, 0], margin)


@entry
def capsule_surface(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    own = geoms.extent[i]
    return capsule_on_mesh(surface_of(shapes, geoms, room, j), room, room.pose[0], own[1], own[0], margin)


@entry
def hull_surface(shapes: Shapes, geoms: Geoms, room: Room, i: int, j: int, margin: float) -> int:
    surface = surface_of(shapes, geoms, room, j)
    return hull_on_mesh(shapes.hulls, geoms.table[i], surface, room, room.pose[0], geoms.bound[i], margin)


PAIRS = {
    (SPHERE, SPHERE): sphere_sphere,
    (SPHERE, CAPSULE): sphere_capsule,
    (SPHERE, HULL): sphere_hull,
    (SPHERE, POLYGON): sphere_polygon,
    (SPHERE, PLANE): sphere_plane,
    (SPHERE, FIELD): sphere_field,
    (CAPSULE, CAPSULE): capsule_capsule,
    (CAPSULE, HULL): capsule_and_hull,
    (CAPSULE, POLYGON): capsule_and_polygon,
    (CAPSULE, PLANE): capsule_on_plane,
    (CAPSULE, FIELD): capsule_field,
    (HULL, HULL): hull_hull,
    (HULL, PLANE): hull_plane,
    (HULL, FIELD): hull_field,
    (POLYGON, POLYGON): polygon_polygon,
    (POLYGON, PLANE): polygon_plane,
    (SPHERE, SMOOTH): sphere_smooth,
    (CAPSULE, SMOOTH): capsule_smooth,
    (HULL, SMOOTH): hull_smooth,
    (PLANE, SMOOTH): plane_smooth,
    (SMOOTH, SMOOTH): smooth_smooth,
    (SPHERE, SURFACE): sphere_surface,
    (CAPSULE, SURFACE): capsule_surface,
    (HULL, SURFACE): hull_surface,
}
"""The function of each pair of kinds, the smaller kind first."""


_addresses: dict[tuple[int, int], int] = {}


def link_pairs(shapes: Shapes, geoms: Geoms, room: Room) -> None:
    """Compile the functions of the pairs of kinds that can meet, and write their addresses into `shapes.code`."""
    for array in (*shapes.hulls, shapes.heights, shapes.code, geoms, room):
        assert array.flags.c_contiguous and array.flags.writeable  # so that the types are those of every other scene
    counts = np.bincount(geoms.kind, minlength=KINDS)
    for (k, m), function in PAIRS.items():
        if counts[k] > 0 and counts[m] > (k == m):
            if (k, m) not in _addresses:
                _addresses[k, m] = function.address(shapes, geoms, room, 0, 0, 0.0)
            shapes.code[k, m] = _addresses[k, m]


def numbered(shapes: Shapes) -> tuple[Shapes, dict[int, Any]]:
    """Shapes with numbers of functions in place of their addresses, and the functions by these numbers."""
    places = np.argwhere(shapes.code != 0).tolist()
    functions = {1 + KINDS * k + m: PAIRS[k, m] for k, m in places}
    numbers = np.where(shapes.code != 0, 1 + np.arange(KINDS * KINDS).reshape(KINDS, KINDS), 0)
    return shapes._replace(code=numbers), functions


def refuse_unknown_pairs(scene: Scene) -> None:
    """Raise ValueError where two bodies may meet whose shapes cannot touch yet."""
    pieces = {body.number: [] if body.shape is None else body.shape.pieces(scene.dim) for body in scene.bodies}
    curved = [body for body in scene.bodies if any(piece.kind == "smooth" for piece in pieces[body.number])]
    for body in curved:
        for other in scene.bodies:
            key = (min(body.number, other.number), max(body.number, other.number))
            if other is body or key in scene.ignored or "moving" not in (body.kind, other.kind):
                continue
            if not all(_can_touch(p, q) for p in pieces[body.number] for q in pieces[other.number]):
                raise ValueError(
                    f"{type(body.shape).__name__} of {body.name!r} cannot touch {type(other.shape).__name__} of "
                    f"{other.name!r} yet; use ConvexHull or Compound for one of them, or scene.ignore(a, b)."
                )


def _can_touch(p: Piece, q: Piece) -> bool:
    """Whether the narrow phase knows two pieces, of which one may be curved."""
    if "smooth" not in (p.kind, q.kind):
        return True
    if p.kind == q.kind:
        return p.form == q.form == "ellipsoid"
    curved, other = (p, q) if p.kind == "smooth" else (q, p)
    return other.kind in ("sphere", "plane") or (other.kind in ("capsule", "hull") and curved.form != "torus")
