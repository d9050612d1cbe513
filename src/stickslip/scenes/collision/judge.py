"""An independent judge of the contact geometry in space: signed distances by coal, the collision library.

coal (`pip install 'stickslip[collision]'`) answers for one pair of convex shapes at a time, from Python, with one
point.  The step of a scene finds all points of all pairs inside one compiled loop, so coal is no part of the step.
Here coal judges whether the gaps that the step works with are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Piece, Shape, quaternion_product, rotation_matrix
from stickslip.trajectory import Trajectory

Pose = tuple[Any, Any]
"""Position [m], (3,), and unit quaternion (w, x, y, z)."""

TOLERANCE, ITERATIONS = 1e-10, 1000  # of GJK and EPA, the algorithms of coal


class Judged(NamedTuple):
    """A pair of bodies that touch: the smallest gap [m] of the step's own points, and what coal says."""

    first: str
    second: str
    gap: float
    distance: float


def judge_gaps(scene: Scene, trajectory: Trajectory | None = None, record: int = -1) -> list[Judged]:
    """Own gaps and coal's distances of all pairs of bodies that touch at a record of a trajectory, or at the start.

    Both are signed: negative where the bodies overlap, by the least depth.  Scenes in space; height fields and
    surfaces of triangles, which are not convex, are left out.
    """
    from stickslip.scenes.engine import SceneEngine
    from stickslip.scenes.fusing import gather
    from stickslip.scenes.start import points_at_rest

    if scene.dim != 3:
        raise ValueError("scene must be one of space, dim = 3: coal has no shapes of the plane.")
    engine = SceneEngine(scene, 1e-3, 0.5, False, True, 1e-10, 0, False, 1)
    t = 0.0
    if trajectory is not None:
        engine.bodies.pose[engine.channels] = trajectory.q[record].reshape(-1, 7)
        gather(engine, engine.bodies)
        t = float(trajectory.t[record])
    found = engine.contacts[0][: points_at_rest(engine, t)]
    gaps: dict[tuple[int, int], float] = {}
    owner = engine.geoms.owner[found.pair]
    for a, b, gap in zip(owner[:, 0], owner[:, 1], found.gap, strict=True):
        gaps[int(a), int(b)] = min(float(gap), gaps.get((int(a), int(b)), math.inf))
    rows = []
    for (a, b), gap in gaps.items():
        first, second = scene.bodies[a], scene.bodies[b]
        distance = _body_distance(first, engine.bodies.pose[a], second, engine.bodies.pose[b])
        if distance is not None:
            rows.append(Judged(first.name, second.name, gap, distance))
    return rows


def signed_distance(first: Shape, second: Shape, poses: Sequence[Pose]) -> tuple[float, np.ndarray]:
    """coal's distance [m] of two convex shapes and the unit vector along it, from the first to the second."""
    (piece,), (other,) = first.pieces(3), second.pieces(3)
    return _piece_distance(piece, poses[0], other, poses[1])


def _body_distance(first: Body, pose: np.ndarray, second: Body, other: np.ndarray) -> float | None:
    """The least distance of the pieces of two bodies [m]; None where a piece is not convex."""
    assert first.shape is not None and second.shape is not None
    pieces, others = first.shape.pieces(3), second.shape.pieces(3)
    if any(piece.kind in ("field", "surface") for piece in (*pieces, *others)):
        return None
    return min(
        _piece_distance(p, _of_shape(first, pose), q, _of_shape(second, other))[0] for p in pieces for q in others
    )


def _of_shape(body: Body, pose: np.ndarray) -> Pose:
    """The pose of a body's shape, from that of its centre of mass."""
    return pose[:3] - rotation_matrix(pose[3:]) @ body.centre, pose[3:]


def _piece_distance(piece: Piece, pose: Pose, other: Piece, other_pose: Pose) -> tuple[float, np.ndarray]:
    import coal

    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = TOLERANCE
    request.gjk_max_iterations = request.epa_max_iterations = ITERATIONS
    distance = coal.distance(
        _geometry(coal, piece), _transform(coal, piece, pose), _geometry(coal, other),
        _transform(coal, other, other_pose), request, result,
    )  # fmt: skip
    return float(distance), np.array(result.normal)


def _geometry(coal: Any, piece: Piece) -> Any:
    if piece.kind == "sphere":
        return coal.Sphere(piece.size[0])
    if piece.kind == "capsule":
        return coal.Capsule(piece.size[0], 2.0 * piece.size[1])
    if piece.kind == "plane":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if piece.form == "ellipsoid":
        return coal.Ellipsoid(*piece.measure)
    if piece.form == "cylinder":
        return coal.Cylinder(piece.measure[0], 2.0 * piece.measure[1])
    assert piece.mesh is not None
    corners = coal.StdVec_Vec3s()
    corners.extend(list(piece.mesh.vertices))
    return coal.Convex.convexHull(corners, True, "Qt")


def _transform(coal: Any, piece: Piece, pose: Pose) -> Any:
    position, turn = np.asarray(pose[0], float), np.asarray(pose[1], float)
    x = position + rotation_matrix(turn) @ piece.offset
    return coal.Transform3s(rotation_matrix(quaternion_product(turn, piece.turn)), x)
