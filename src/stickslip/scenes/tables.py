"""From the description of a scene to the arrays of its kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.engine import EVENT_COLUMNS
from stickslip.laws.friction import FrictionLaw
from stickslip.scenes import layout
from stickslip.scenes.bodies import Body, Material
from stickslip.scenes.fusing import Fusion, body_radius
from stickslip.scenes.islands.row_kinds import DAMPING, LENGTH, NUMBERS, SPRING, STIFFNESS
from stickslip.scenes.joints import KINDS as JOINT_KINDS
from stickslip.scenes.joints import Joint
from stickslip.scenes.parts import BOOK_IN_ALL
from stickslip.scenes.restitution import curve_of
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import KINDS, Piece, quaternion_product, rotation_matrix, turn_from_z
from stickslip.scenes.smooth_shapes import FORMS
from stickslip.scenes.step import COUNTS
from stickslip.scenes.triangle_mesh import surface_tables

BODY_KINDS = {"static": layout.STATIC, "driven": layout.DRIVEN, "moving": layout.MOVING}
SLOP = 1e-9  # of the smallest moving body: gaps below count as closed
LARGE = 4.0  # times the median radius: geometries beyond are kept out of the grid
LEAST_ROOM = 256  # points that the narrow phase of a pair has room for: a hull on a height field may touch it in many


def body_table(scene: Scene, fused: Fusion | None = None) -> layout.Bodies:
    """The bodies at the start, those that are parts of composites marked, and the composites behind them."""
    n = len(scene.bodies)
    table = layout.records(
        layout.BODY,
        n,
        kind=np.array([BODY_KINDS[body.kind] for body in scene.bodies], np.int64),
        life=np.array([body.life for body in scene.bodies]),
        mass=np.array([body.mass for body in scene.bodies]),
        inertia=np.array([body.inertia.ravel() for body in scene.bodies]),
        isotropic=np.array([_isotropic(body) for body in scene.bodies]),
        pose=np.array([[*body.position, *body.orientation] for body in scene.bodies]),
        angle=np.array([body.angle for body in scene.bodies]),
        vel=np.array([[*body.velocity, *body.angular_velocity] for body in scene.bodies]),
        inv_mass=np.array([1.0 / body.mass for body in scene.bodies]),
        radius=np.array([body_radius(body) for body in scene.bodies]),
    )
    for i, body in enumerate(scene.bodies):
        if body.kind == "moving":
            inverse = np.zeros((3, 3))
            if body.dim == 2:
                inverse[2, 2] = 1.0 / body.inertia[2, 2]
            else:
                inverse = np.linalg.inv(body.inertia)
            table.inv_inertia[i] = inverse.ravel()
    for force in scene.forces:
        for value, first, planar in ((force.force, 0, 0), (force.torque, 3, 2)):
            if isinstance(value, np.ndarray):
                begin = first + (planar if len(value) == 1 else 0)
                table.wrench[force.body, begin : begin + len(value)] += value
    return table if fused is None else _with_composites(scene, table, fused)


def _with_composites(scene: Scene, members: layout.Bodies, fused: Fusion) -> layout.Bodies:
    """The table with the composites behind the bodies of the scene."""
    n = len(members)
    table = layout.records(layout.BODY, n + len(fused.composites))
    table[:n] = members
    for composite in fused.composites:
        i, first, row = list(composite.members), scene.bodies[composite.members[0]], table[composite.number]
        table.kind[i], table.kind[composite.number] = layout.CARRIED, layout.MOVING
        row.life, row.mass, row.inv_mass, row.angle = first.life, composite.mass, 1.0 / composite.mass, first.angle
        row.inertia, row.pose, row.vel = composite.inertia.ravel(), composite.pose, composite.vel
        row.isotropic = _is_isotropic(composite.inertia, scene.dim)
        row.radius = max(
            float(np.linalg.norm(local[:3])) + body_radius(scene.bodies[k])
            for k, local in zip(i, composite.local, strict=True)
        )
        if scene.dim == 2:
            row.inv_inertia[8] = 1.0 / composite.inertia[2, 2]
        else:
            row.inv_inertia = np.linalg.inv(composite.inertia).ravel()
    return table


def _isotropic(body: Body) -> bool:
    return body.kind != "moving" or _is_isotropic(body.inertia, body.dim)


def _is_isotropic(inertia: np.ndarray, dim: int) -> bool:
    j = inertia[2, 2]
    return dim == 2 or bool(np.abs(inertia - j * np.eye(3)).max() <= 1e-15 * j)


def _pieces(body: Body) -> list[Piece]:
    return [] if body.shape is None else body.shape.pieces(body.dim)


def slop_of(scene: Scene) -> float:
    """Gaps that count as closed [m]."""
    sizes = [body_radius(body) for body in scene.bodies if body.kind == "moving"]
    return SLOP * min([1.0, *(size for size in sizes if size > 0.0)])


class _Meshes:
    """Collects meshes into one table; equal meshes are not looked for."""

    def __init__(self) -> None:
        self.corner_count = 0
        self.vertices: list[np.ndarray] = []
        self.normals: list[np.ndarray] = []
        self.loops: list[tuple[int, int]] = []
        self.corners: list[int] = []
        self.edges: list[tuple[int, int]] = []
        self.directions: list[int] = []

    def add(self, piece: Piece) -> list[int]:
        """First vertex, vertices, first face, faces, first edge, edges."""
        mesh = piece.mesh
        assert mesh is not None
        entry = [self.corner_count, len(mesh.vertices), len(self.loops), len(mesh.loops), len(self.edges), 0]
        self.corner_count += len(mesh.vertices)
        self.vertices.append(mesh.vertices)
        self.normals.append(mesh.normals)
        for loop in mesh.loops:
            self.loops.append((len(self.corners), len(loop)))
            self.corners.extend(loop)
        if piece.kind == "hull":
            sides = {
                tuple(sorted((p, q))) for loop in mesh.loops for p, q in zip(loop, loop[1:] + loop[:1], strict=True)
            }
            entry[5] = self._add_edges(mesh.vertices, sorted(sides))
        return entry

    def add_surface(self, piece: Piece) -> list[int]:
        """First corner, corners, first normal, triangles, first number of a surface, see `triangle_mesh`."""
        assert piece.mesh is not None
        tables, mesh = surface_tables(piece.mesh), piece.mesh
        normal_count = sum(map(len, self.normals))
        entry = [self.corner_count, len(mesh.vertices), normal_count, len(mesh.loops), len(self.corners), 0]
        self.corner_count += len(tables.corners)
        self.vertices.append(tables.corners)
        self.normals.append(tables.normals)
        self.loops += [(0, 0)] * len(tables.normals)  # a loop for each normal
        self.corners.extend(tables.numbers.tolist())
        return entry

    def _add_edges(self, vertices: np.ndarray, sides: list[Any]) -> int:
        """Edges sorted by direction, parallel ones side by side."""
        known, count = np.zeros((len(sides), 3)), 0
        numbered = []
        for p, q in sides:
            d = vertices[q] - vertices[p]
            d = d / np.linalg.norm(d)
            parallel = np.flatnonzero(np.abs(known[:count] @ d) > 1.0 - 1e-12)
            if not len(parallel):
                known[count] = d
                count += 1
            numbered.append((int(parallel[0]) if len(parallel) else count - 1, p, q))
        for k, p, q in sorted(numbered):
            self.edges.append((p, q))
            self.directions.append(k)
        return len(sides)

    def table(self) -> layout.Hulls:
        return layout.Hulls(
            np.concatenate([np.zeros((0, 3)), *self.vertices]),
            np.concatenate([np.zeros((0, 3)), *self.normals]),
            np.array(self.loops, np.int64).reshape(-1, 2),
            np.array(self.corners, np.int64),
            np.array(self.edges, np.int64).reshape(-1, 2),
            np.array(self.directions, np.int64),
        )


def _box(piece: Piece) -> np.ndarray:
    """Half widths (3,) of a box about the origin of a piece that holds it, in the axes of the piece."""
    if piece.kind not in ("hull", "polygon", "surface"):
        return np.full(3, piece.bound)
    assert piece.mesh is not None
    return np.asarray(np.abs(piece.mesh.vertices).max(axis=0))


def geom_tables(scene: Scene, materials: list[int], fused: Fusion | None = None) -> tuple[layout.Geoms, layout.Shapes]:
    """Geometries, and their shapes: meshes of hulls and polygons, heights of fields."""
    meshes, heights = _Meshes(), [np.zeros(0)]
    rows: list[tuple[int, int, np.ndarray, tuple[float, ...], list[int], float, np.ndarray]] = []
    pieces: list[Piece] = []
    shared: dict[int, list[tuple[Piece, list[int]]]] = {}  # bodies of one shape object share its mesh
    for body in scene.bodies:
        if id(body.shape) not in shared:
            entries = []
            for piece in _pieces(body):
                table = [0] * 6
                if piece.kind in ("hull", "polygon"):
                    table = meshes.add(piece)
                if piece.kind == "surface":
                    table = meshes.add_surface(piece)
                if piece.heights is not None:
                    table = [sum(map(len, heights)), *piece.heights.shape, 0, 0, 0]
                    heights.append(piece.heights.ravel())
                entries.append((piece, table))
            shared[id(body.shape)] = entries
        for piece, table in shared[id(body.shape)]:
            size: tuple[float, ...] = (*piece.size, float(scene.dim == 2), piece.part)
            pose = np.array([*(piece.offset - body.centre), *piece.turn])
            if fused is not None and fused.holder[body.number] != body.number:
                pose = fused.in_holder(body.number, pose)
            pieces.append(piece)
            rows.append((KINDS.index(piece.kind), body.number, pose, size, table, piece.bound, _box(piece)))
    n = len(rows)
    bound = np.array([row[5] for row in rows])
    finite = bound[np.isfinite(bound)]
    middle = float(np.median(finite)) if len(finite) else 1.0
    geoms = layout.records(
        layout.GEOM,
        n,
        kind=np.array([row[0] for row in rows], np.int64),
        body=_movers(fused, [row[1] for row in rows]),
        owner=np.array([row[1] for row in rows], np.int64),
        local=np.array([row[2] for row in rows]).reshape(n, 7),
        extent=np.array([row[3] for row in rows]).reshape(n, 4),
        table=np.array([row[4] for row in rows], np.int64).reshape(n, 6),
        bound=bound,
        box=np.array([row[6] for row in rows]).reshape(n, 3),
        material=np.array([materials[row[1]] for row in rows], np.int64),
        form=np.array([FORMS.index(piece.form) if piece.form else 0 for piece in pieces], np.int64),
        measure=np.array([piece.measure for piece in pieces], float).reshape(n, 3),
        large=~(bound <= LARGE * middle),
    )
    code = np.zeros((len(KINDS), len(KINDS)), np.int64)
    return geoms, layout.Shapes(meshes.table(), np.concatenate(heights), code, np.zeros(1, np.int64))


def material_tables(scene: Scene) -> tuple[layout.Materials, list[int], list[str]]:
    """Laws of all pairs of materials, the material of each body, and the texts of curves of restitution.

    Bodies with laws of their own have a material of their own.
    """
    curves: dict[str, int] = {}
    special = {i for pair in scene.pair_laws for i in pair}
    known: dict[Any, int] = {}
    numbers = []
    for body in scene.bodies:
        key = (body.material, body.number if body.number in special else -1)
        numbers.append(known.setdefault(key, len(known)))
    keys = list(known)
    k = len(keys)
    table = layout.records(layout.MATERIAL, k, k)
    for i, (first, a) in enumerate(keys):
        for j, (second, b) in enumerate(keys):
            law = scene.pair_laws.get((min(a, b), max(a, b)), Material())
            table.mu[i, j], table.aspect[i, j], table.axes_of[i, j] = _friction(first, second, law)
            text = curve_of(first, second, law)
            table.curve[i, j] = -1 if text is None else curves.setdefault(text, len(curves))
            for field, name, none in FIELDS:
                if text is None or name != "restitution":
                    values = [getattr(material, name) for material in (law, first, second)]
                    both = _in_series if name == "stiffness" else _mean
                    value = both(*values[1:]) if values[0] is None else values[0]
                    table[field][i, j] = none if values == [None] * 3 else value
            table.hertz[i, j] = float(any(m.pressure == "hertz" for m in ((law,) if law.patch else (first, second))))
    return table, numbers, list(curves)


FIELDS = (
    ("eps_N", "restitution", 0.0),
    ("eps_T", "restitution_tangential", 0.0),
    ("mu_impact", "friction_impact", -1.0),
    ("patch", "patch", 0.0),
    ("rolling", "rolling", 0.0),
    ("stiffness", "stiffness", 1.0),
)
"""Numbers of a pair of materials: field of the table, attribute of `Material`, value where nobody has one."""


def _mean(a: float | None, b: float | None) -> float:
    if a is None or b is None:
        return (a if b is None else b) or 0.0
    return math.sqrt(a * b)


def _in_series(a: float | None, b: float | None) -> float:
    """Stiffness of two bodies that press on one another; one without a number is rigid beside the other."""
    if a is None or b is None:
        return (a if b is None else b) or 0.0
    return a * b / (a + b)


def _friction(first: Material, second: Material, law: Material) -> tuple[float, float, int]:
    """mu_1, mu_2 / mu_1 and whose axes they refer to (0: circular friction)."""
    a, b = (
        mu.at_rest if isinstance(mu, FrictionLaw) else mu
        for mu in (own.friction if law.friction is None else law.friction for own in (first, second))
    )
    axes_of = 1 if isinstance(a, tuple) else (2 if isinstance(b, tuple) else 0)
    mu_1 = _mean(a[0] if isinstance(a, tuple) else a, b[0] if isinstance(b, tuple) else b)
    mu_2 = _mean(a[1] if isinstance(a, tuple) else a, b[1] if isinstance(b, tuple) else b)
    if axes_of == 0 or mu_1 == 0.0:
        return mu_1, 1.0, 0
    return mu_1, mu_2 / mu_1, axes_of


def _in_body(body: Body, point: np.ndarray) -> np.ndarray:
    return rotation_matrix(body.orientation).T @ (point - body.position)


def _joint_frame(scene: Scene, joint: Joint) -> np.ndarray:
    """Orientation of the joint frame at the start: z along the axis, x across it where that matters."""
    turn, across = turn_from_z(joint.axis), joint.across
    if scene.dim == 2 and joint.kind == "prismatic":
        across = np.array([-joint.axis[1], joint.axis[0], 0.0])
    if across is not None:
        x = rotation_matrix(turn) @ np.array([1.0, 0.0, 0.0])
        y = rotation_matrix(turn) @ np.array([0.0, 1.0, 0.0])
        angle = math.atan2(float(across @ y), float(across @ x))
        turn = quaternion_product(turn, np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]))
    return turn


def _coupled(scene: Scene, joint: Joint, side: int) -> tuple[Joint, float]:
    """A joint of a coupling, and 1 where its second body is the one that is coupled, -1 where it is the first."""
    found = next(other for other in scene.joints if other.name == joint.couples[side])
    return found, 1.0 if found.b == (joint.a, joint.b)[side] else -1.0


def _joint_place(scene: Scene, joint: Joint, side: int) -> np.ndarray:
    """Pose (7,) of the frame of a joint in body a (side 0) or b, in the world at the start."""
    if joint.kind == "coupling":
        own, _ = _coupled(scene, joint, side)
        return np.array([*own.at_b, *_joint_frame(scene, own)])
    return np.array([*(joint.at_a, joint.at_b)[side], *_joint_frame(scene, joint)])


def _law_of(scene: Scene, joint: Joint) -> list[float]:
    """Numbers of a joint in the order of `stickslip.scenes.islands.gear_rows`."""
    if joint.kind == "coupling":
        sides = (_coupled(scene, joint, side) for side in (0, 1))
        return [joint.law[0], *(sign * (2.0 if own.kind == "prismatic" else 1.0) for own, sign in sides)]
    if joint.kind == "screw":
        return [joint.law[0] / (2.0 * math.pi), 0.0, 0.0]
    return [*joint.law, *([0.0] * (3 - len(joint.law)))]


def _world_places(scene: Scene, joint: Joint) -> np.ndarray:
    """Frames of the world that a coupling counts from, or the points that the rope of a pulley runs over, (14,)."""
    if joint.kind == "coupling":
        return np.concatenate([_joint_place(scene, joint, side) for side in (0, 1)])
    found = np.zeros(14)
    if joint.kind == "pulley":
        found[:3], found[7:10] = joint.over
    return found


def joint_table(scene: Scene, implicit: bool, fused: Fusion | None = None) -> layout.Joints | None:
    """The joints with room for their rows, springs that are `implicit` after them; None where there are none.

    Fixed joints inside composites have none.
    """
    springs = [s for s in scene.springs if s.stiffness + s.damping > 0.0] if implicit else []
    joints = scene.joints if fused is None else [scene.joints[k] for k in fused.kept]
    if not joints and not springs:
        return None
    n = len(joints) + len(springs)
    pairs = [(joint.a, joint.b) for joint in joints] + [(spring.a, spring.b) for spring in springs]
    frames = np.zeros((2, n, 7))
    data = np.zeros((n, NUMBERS))
    for k, joint in enumerate(joints):
        for side, number in enumerate((joint.a, joint.b)):
            place, body = _joint_place(scene, joint, side), scene.bodies[number]
            back = body.orientation * np.array([1.0, -1.0, -1.0, -1.0])
            frames[side, k, :3] = _in_body(body, place[:3])
            frames[side, k, 3:] = quaternion_product(back, place[3:])
        data[k] = joint_numbers(joint)
    frames[:, :, 3] += np.all(frames[:, :, 3:] == 0.0, axis=2)  # springs have points, and no axes
    for k, spring in enumerate(springs, len(joints)):
        for side, (number, point) in enumerate(((spring.a, spring.at_a), (spring.b, spring.at_b))):
            frames[side, k, :3] = _in_body(scene.bodies[number], point)
        data[k, [LENGTH, STIFFNESS, DAMPING]] = spring.length, spring.stiffness, spring.damping
    extents = [_extent(scene, pair, frames[:, k, :3]) for k, pair in enumerate(pairs)]
    if fused is not None:
        for k, pair in enumerate(pairs):
            for side, number in enumerate(pair):
                if fused.holder[number] != number:
                    frames[side, k] = fused.in_holder(number, frames[side, k])
    link = layout.records(
        layout.LINK,
        n,
        kind=[*(JOINT_KINDS.index(joint.kind) for joint in joints), *(SPRING for _ in springs)],
        a=_movers(fused, [a for a, _ in pairs]),
        b=_movers(fused, [b for _, b in pairs]),
        frame_a=frames[0],
        frame_b=frames[1],
        numbers=data,
        extent=extents,
        limit=np.inf,
        law=np.array([*(_law_of(scene, joint) for joint in joints), *([0.0] * 3 for _ in springs)]),
        place=np.array([*(_world_places(scene, joint) for joint in joints), *(np.zeros(14) for _ in springs)]),
    )
    return layout.Joints(link, layout.records(layout.ROW, n * layout.ROWS_PER_JOINT))


def _movers(fused: Fusion | None, numbers: list[int]) -> np.ndarray:
    """Rows of the table of bodies that move the bodies with these numbers."""
    found = np.array(numbers, np.int64)
    return found if fused is None else fused.holder[found]


def joint_numbers(joint: Joint) -> np.ndarray:
    """The numbers of a joint, in the order of `stickslip.scenes.islands.joint_rows`."""
    motor = joint.motor
    return np.array(
        [
            joint.length, *joint.limits, motor.speed, motor.effort, joint.friction, motor.stiffness, motor.damping,
            motor.target, joint.torque, joint.armature, joint.damping,
        ]
    )  # fmt: skip


def _extent(scene: Scene, pair: tuple[int, int], points: np.ndarray) -> float:
    """How far the larger of two bodies reaches from its centre of mass [m], its joint's point included."""
    sides = [(scene.bodies[number], point) for number, point in zip(pair, points, strict=True)]
    reaches = [max(body_radius(body), float(np.linalg.norm(point))) for body, point in sides if body.kind != "static"]
    return max(reaches, default=0.0)


def spring_table(scene: Scene) -> Any:
    """The springs; None where there are none."""
    if not scene.springs:
        return None
    return layout.records(
        layout.SPRING,
        len(scene.springs),
        a=np.array([spring.a for spring in scene.springs], np.int64),
        b=np.array([spring.b for spring in scene.springs], np.int64),
        local_a=np.array([_in_body(scene.bodies[spring.a], spring.at_a) for spring in scene.springs]),
        local_b=np.array([_in_body(scene.bodies[spring.b], spring.at_b) for spring in scene.springs]),
        law=np.array([[spring.stiffness, spring.damping, spring.length] for spring in scene.springs]),
    )


def narrow_room(geoms: layout.Geoms) -> layout.Room:
    """Working room for the largest shape of a scene."""
    flat = geoms.table[(geoms.kind == layout.HULL) | (geoms.kind == layout.POLYGON)]
    corners, faces, edges = flat[:, 1], flat[:, 3], flat[:, 5]
    return layout.records(layout.CORNER, int(max([LEAST_ROOM, *(2 * corners), *faces, *edges])))


def pair_room(n: int) -> layout.Pairs:
    """Room for n pairs, with a hash table at most a quarter full."""
    size = 1 << max(4, (4 * n - 1).bit_length())
    return layout.Pairs(layout.records(layout.PAIR, n), np.full(size, -1, np.int64))


def book_room(channels: int, points: int, events: int) -> layout.Book:
    """An empty book."""
    return layout.Book(
        np.zeros(BOOK_IN_ALL), np.zeros((channels, 2)), np.zeros(channels, np.int8), np.full(channels, np.inf),
        np.zeros(points, np.bool_), np.zeros((events, EVENT_COLUMNS + 1)), np.zeros(1, np.int64),
    )  # fmt: skip


def counters() -> np.ndarray:
    """The counters of `stickslip.scenes.step`."""
    return np.zeros(COUNTS + 1, np.int64)
