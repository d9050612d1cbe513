"""The arrays of a scene as kernels see them: records, one array per kind of thing, which keeps compiling fast.

Space is always three-dimensional; a planar scene stays in z = 0.

Poses are (x, y, z, w, x, y, z): position of the centre of mass [m] and unit quaternion, body to world.
Velocities are (v, omega), both in world axes [m/s, rad/s].  3 x 3 matrices are rows of 9 numbers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

STATIC, DRIVEN, MOVING = 0, 1, 2
CARRIED = -1
"""A body that is part of a composite, which moves in its place (`fusing`)."""
WHOLE, CORNERS, BETWEEN, ENDS = 0.0, 1.0, 2.0, 3.0
"""A geometry of its own, and parts of a rounded box.

CORNERS: the capsule that meets half-spaces for all of them.  ENDS: capsules whose ends are balls at its corners.
BETWEEN: capsules whose ends others have, and boxes whose edges and corners capsules have.
"""
SPHERE, CAPSULE, HULL, POLYGON, PLANE, FIELD, SMOOTH, SURFACE = range(8)
"""Kinds of geometry; PLANE: half-space or half-plane, FIELD: height field, SMOOTH: curved form, SURFACE: triangles.

Pairs are ordered by kind.
"""

MAX_POINTS = 8  # contact points of one pair
ZERO: Any = np.int64(0)  # where counting begins: a literal 0 passed on would compile the callee twice
ROWS_PER_JOINT = 10


BODY = np.dtype(
    [
        ("kind", np.int64),  # (n,) STATIC, DRIVEN, MOVING, CARRIED
        ("life", float, (2,)),  # (n, 2) times of appearing and vanishing [s]
        ("alive", np.bool_),  # (n,) bool, in this step
        ("mass", float),  # (n,) [kg]; inf for static and driven bodies
        ("inertia", float, (9,)),  # (n, 9) in body axes [kg m^2]
        ("isotropic", np.bool_),  # (n,) bool: inertia = j 1, or a planar body
        ("wrench", float, (6,)),  # (n, 6) external force [N] and torque [N m], world axes
        ("pose", float, (7,)),  # (n, 7) at the beginning, then the end of the step
        ("angle", float),  # (n,) of planar bodies [rad], not reduced to a turn
        ("vel", float, (6,)),  # (n, 6) at the beginning of the step
        ("mid", float, (7,)),  # (n, 7) pose at which the contacts are evaluated
        ("free", float, (6,)),  # (n, 6) end velocity without contact impulses
        ("end", float, (6,)),  # (n, 6) end velocity
        ("ahead", float, (6,)),  # (n, 6) end velocity that is expected: what is not linear is linearised about it
        ("inv_mass", float),  # (n,)
        (
            "inv_inertia",
            float,
            (9,),
        ),  # (n, 9) d omega_E / d (angular impulse), world axes; not symmetric for a spinning body
        ("taut", float, (9,)),  # (n, 9) what pulls of joints add to the inertia in this step, world axes
        ("struck", np.bool_),  # (n,) bool: in this step free, end and inv_inertia hold the rotation at the midpoint
        ("radius", float),  # (n,) of the sphere around the centre of mass that holds the shapes
        ("travel", float),  # (n,) how far a point of the body can come in one step
        ("stir", float),  # (n,) how far a point of the fastest body that may hit it can come in this step
    ],
    align=True,
)
"""n bodies; number 0 is the world.  Composites (`fusing`) stand behind the bodies of the scene."""
Bodies = Any

GEOM = np.dtype(
    [
        ("kind", np.int64),
        ("body", np.int64),  # that moves it
        ("owner", np.int64),  # of the scene: where the body is a composite, one of its members
        ("local", float, (7,)),  # (g, 7) pose in the body that moves it
        ("extent", float, (4,)),  # (g, 4): radius, half length of a capsule; spacings of a field; 1 in the plane; part
        ("table", np.int64, (6,)),  # (g, 6) ranges in the tables of hulls or polygons
        ("bound", float),  # (g,) radius of a sphere about the geometry's origin; inf for planes and fields
        ("box", float, (3,)),  # (g, 3) half widths of a box about the origin, in its axes, that holds the geometry
        ("material", np.int64),  # (g,)
        ("form", np.int64),  # (g,) of curved forms, see `collision.smooth`
        ("measure", float, (3,)),  # (g, 3) their sizes [m]; of CORNERS how far its opposite edges are, in its axes
        ("large", np.bool_),  # (g,) bool: tested against all others, outside the grid
        ("world", float, (7,)),  # (g, 7) pose at the midpoint
    ],
    align=True,
)
"""Geometries fixed to bodies."""
Geoms = Any

MATERIAL = np.dtype(
    [
        ("mu", float),
        ("aspect", float),  # mu_2 / mu_1 of elliptic friction, axes of the body that is listed
        ("axes_of", np.int64),  # 0: circular; 1, 2: tangents follow the x axis of the first or second body
        ("eps_N", float),
        ("eps_T", float),
        ("curve", np.int64),  # number of eps_N as a function of the approach, in `Shapes.curves`; -1: a number
        ("mu_impact", float),  # friction in impacts; negative: that of sliding
        ("patch", float),  # radius of the contact patch, which resists spinning [m]; 0: a point
        ("hertz", float),  # 1: the patch has Hertz' pressure, 0: constant pressure
        ("rolling", float),  # arm of the rolling resistance [m]
        ("stiffness", float),  # of the contact beside others, in impacts by ratios of stiffness
    ],
    align=True,
)
"""Laws of each pair of materials, shape (k, k)."""
Materials = Any


class Hulls(NamedTuple):
    """Convex polyhedra, or polygons; `Geoms.table` has first vertex, vertices, first face, faces, first edge, edges."""

    vertices: np.ndarray  # (v, 3)
    normals: np.ndarray  # (f, 3)
    loops: np.ndarray  # (f, 2) first corner and number of corners in `corners`
    corners: np.ndarray  # vertex numbers, counter-clockwise seen from outside
    edges: np.ndarray  # (e, 2) vertex numbers
    directions: np.ndarray  # (e,) number of the direction among the unique ones: parallel edges share it


CORNER = np.dtype(
    [
        ("points", float, (3,)),  # (R, 3)
        ("normals", float, (3,)),
        ("gaps", float),  # (R,)
        ("choice", float),  # (R,) 1 where the normal is a choice, see `flat_pairs.halfway`
        ("corners_a", float, (3,)),
        ("corners_b", float, (3,)),
        ("normals_a", float, (3,)),
        ("normals_b", float, (3,)),
        ("outline", float, (3,)),
        ("cut", float, (3,)),
        ("edges_a", np.int64),  # (R,) edges of both shapes that are tried against one another
        ("edges_b", np.int64),
        ("pose", float, (7,)),  # of both shapes, in rows 0 and 1, about the body that moves
    ],
    align=True,
)
"""Working room of the narrow phase: what it found, and the corners of both shapes.

All of it about the centre of mass of the body that moves: far from the origin world coordinates are too coarse.

R is at least the number of faces and of edges, and twice the number of corners, of every shape.
"""
Room = Any

CONTACT = np.dtype(
    [
        ("a", np.int64),  # (N,) bodies
        ("b", np.int64),
        ("pair", np.int64, (2,)),  # (N, 2) geometries
        ("point", float, (3,)),  # (N, 3) from the centre of mass of the body that moves (of a, if both do)
        ("normal", float, (3,)),  # (N, 3) from a to b
        ("gap", float),  # (N,)
        ("impulse", float, (3,)),  # (N, 3) world vector on b, for the next step's start
        ("local", float, (3,)),  # (N, 3) `point` in the axes of the body that moves
        ("turned", float, (3,)),  # (N, 3) spin and rolling impulse on b, world vector [N m s], for the next step
        ("hit", float, (3,)),  # (N, 3) impulse of the impacts of `blows` on b, world vector [N s]
        ("prior", float, (3,)),  # (N, 3) velocity before the first of them, in the frame
        ("after", float, (3,)),  # (N, 3) velocity after the last of them
        ("work", float),  # (N,) their work [J]
        ("choice", float),  # (N,) 1 where the shapes leave the normal open
    ],
    align=True,
)
"""Room for N contact points; those of one step stand in front, in the order of their islands once they are active."""
Contacts = Any

PAIR = np.dtype(
    [
        ("key", np.int64),
        ("first", np.int64),
        ("count", np.int64),
        ("pose", float, (15,)),  # poses of both bodies when the points were computed, and the margin taken
    ],
    align=True,
)
"""A pair of geometries with contact points, found again in the next step by its key."""


class Pairs(NamedTuple):
    """Pairs and the hash table that finds them."""

    entry: Any  # (P,) PAIR
    table: np.ndarray  # (T,) pair numbers, T a power of two


ACTIVE = np.dtype(
    [
        ("contact", np.int64),  # (N,) number in `Contacts`
        ("frame", float, (9,)),  # (N, 9) rows n, t_1, t_2
        ("arm_a", float, (3,)),  # (N, 3)
        ("arm_b", float, (3,)),
        ("gap", float),
        ("mu", float),
        ("before", float, (3,)),  # (N, 3) velocity at the beginning of the step, in the frame
        ("bias", float, (3,)),  # (N, 3) u = relative velocity + bias
        ("r", float, (3,)),  # (N, 3) impulses in the frame [N s]
        ("mobility", float),  # (N,) mean diagonal of the local matrix [1/kg]
        ("impact", np.bool_),  # (N,) bool
        ("turning", np.bool_),  # (N,) bool: slip over the step differs from that at the midpoint
        ("beyond", float, (3,)),  # (N, 3) velocity over the step less that at the midpoint, which is in the bias
        ("island", np.int64),  # (N,)
        ("patch", float),  # (N,) and following: as in MATERIAL
        ("hertz", np.bool_),
        ("rolling", float),
        ("turn", float, (3,)),  # (N, 3) impulses about n, t_1, t_2 [N m s]
    ],
    align=True,
)
"""The contact problem of a step: active contacts sorted by island, u = W r + q."""
Active = Any

LINK = np.dtype(
    [
        ("kind", np.int64),
        ("a", np.int64),
        ("b", np.int64),
        ("frame_a", float, (7,)),  # joint frame in body a; its z axis is the joint's axis
        ("frame_b", float, (7,)),
        ("numbers", float, (12,)),  # length, lower, upper, ...: see `stickslip.scenes.islands.joint_rows`
        ("turns", float),  # angle of a joint in the last step, to count turns
        ("turns_b", float),  # the second angle of a gear or a coupling
        ("law", float, (3,)),  # lead, radii or ratio: see `stickslip.scenes.islands.gear_rows`
        ("place", float, (14,)),  # points or frames of the world, for each body
        ("extent", float),  # how far its bodies extend from their centres of mass [m], the joint's point among them
        ("error", float),  # largest position error g at a midpoint so far [m], turns times extent
        ("passed", float),  # farthest beyond a limit of its coordinate at a midpoint so far [m], turns times extent
        ("limit", float),  # of the error: beyond, the joint has come apart
        ("solved", np.int64),  # steps in a row in which its island was solved; below zero: see `step.AFTER`
    ],
    align=True,
)
"""A joint."""

ROW = np.dtype(
    [
        ("used", np.bool_),  # takes part in this step
        ("direction", float, (12,)),  # linear, angular on a, angular on b, and what is linear on b alone
        ("target", float),  # velocity asked for
        ("asked", float),  # its size at the beginning of the step, before it is linearised about velocities found
        ("grain", float),  # what the rounding of positions, g / dt, leaves of a velocity asked for
        ("soft", float),  # what an impulse adds to the velocity of the row [1/kg]: a spring; 0 in a joint
        ("low", float),  # bounds of the impulse
        ("high", float),
        ("impulse", float),
        ("blow", float),  # impulse of this step's impacts, under laws of `blows`
        ("island", np.int64),
    ],
    align=True,
)
"""A row of a joint."""


class Joints(NamedTuple):
    """Joints, and their rows: those of joint j are number j * ROWS_PER_JOINT and following."""

    link: Any  # (j,) LINK
    row: Any  # (j * ROWS_PER_JOINT,) ROW


SPRING = np.dtype(
    [
        ("a", np.int64),
        ("b", np.int64),
        ("local_a", float, (3,)),  # (s, 3)
        ("local_b", float, (3,)),
        ("law", float, (3,)),  # (s, 3): stiffness, damping, length without force
    ],
    align=True,
)
"""Springs with dampers between points of bodies."""
Springs = Any


class Options(NamedTuple):
    """Numbers of a run."""

    dim: int
    dt: float
    theta: float
    implicit: bool  # springs are rows, implicit in position and velocity, instead of forces of the state before
    gravity: np.ndarray  # (3,)
    slop: float  # gaps below count as closed [m]
    predictive: bool
    tol: float
    start: float  # residual up to which the impulses of the last step are taken as they are
    newton: int  # contacts of an island without joints, up to which the time loop solves it itself
    sweeps: int  # accelerated sweeps before the step is handed to the host
    edges: int  # of the pyramid that stands for the friction cone in space; 0: the circular cone
    go_on: bool  # carry on with a step that is not solved
    sink: float  # of a body's radius: contacts deeper than that are pushed apart; 0: none are
    law: int = 0  # of impacts: Newton's; one after the other see `blows`
    blows: np.ndarray | None = None  # an empty array where `law` is not Newton's: code of `blows` is made for it alone
    resisting: np.ndarray | None = (
        None  # an empty array where contacts resist rolling or spinning; None: no code for it
    )
    scheme: int = 0  # `codes.STEWART` and `codes.PAOLI`, with theta = 1; 0: of Moreau and of Jean
    repeat: bool = True  # steps that are the ones before again are written down and not computed


class Shapes(NamedTuple):
    """Corners and faces of shapes, empty where a scene has none, and the functions that find their contact points."""

    hulls: Hulls  # in the plane: polygons
    heights: np.ndarray  # (h,) of height fields [m]; `Geoms.table` has first height, rows, columns, `extent` spacings
    code: np.ndarray  # (kinds, kinds) addresses of the functions of `narrow_pairs`; 0: no pair of the scene needs it
    curves: np.ndarray  # addresses of the functions of `restitution`, see `MATERIAL`


class Book(NamedTuple):
    """Book of a run: numbers of the certificate, sums and states per moving or driven body, impacts."""

    numbers: np.ndarray
    impulse: np.ndarray  # (c, 2) normal and tangential, since the last record
    state: np.ndarray  # (c,) int8
    gap: np.ndarray  # (c,) smallest gap of the body's contact points
    loaded: np.ndarray  # (N,) bool: the active contact at this point carried a load in the step before, see `was_held`
    events: np.ndarray  # (e, 9)
    counts: np.ndarray  # (1,) events


@functools.cache
def _record(dtype: np.dtype) -> np.dtype:
    """One object for each type: machine code tells types by their addresses, and others are looked at in Python."""
    return np.dtype((np.record, dtype))


def records(dtype: np.dtype, *shape: int, **fields: Any) -> Any:
    """An array of records with attribute access, zero except for the fields given."""
    array = np.zeros(shape, _record(dtype)).view(np.recarray)
    for name, values in fields.items():
        array[name] = values
    return array
