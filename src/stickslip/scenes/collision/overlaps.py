"""How deep the bodies of a scene overlap, by distances that share no code with the step.

Spheres, capsules and polyhedra are the convex hull of some points, blown up by a radius.  Two of them are apart by the
length of the shortest vector in the convex hull of the differences of their points (non-negative least squares), less
the radii.  Where this hull holds the origin, they overlap by the distance of the origin from its nearest face (Qhull),
plus the radii: the least shift that parts them.

Height fields and surfaces of triangles are not convex.  Their overlap is the depth of the deepest of many points of a
body below the ground, and of many points of the ground inside a polyhedron.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Mesh, Piece, quaternion_product, rotation_matrix
from stickslip.trajectory import Trajectory

TOUCHING = 1e-9  # of the size: points nearer to the hull count as inside
CHECKED = 400  # bodies, summed over records, that `checked` looks at
SAMPLES = 24  # points along an edge of a body, and of a cell of the ground
AT_ONCE = 100_000  # pairs of a point and a triangle: some megabytes


class Overlap(NamedTuple):
    """Two bodies by name, and by how much they overlap [m]."""

    first: str
    second: str
    depth: float


class _Placed(NamedTuple):
    """A piece in the world: points and radius of a convex one, the frame of a plane or field, faces of a polyhedron."""

    piece: Piece
    origin: np.ndarray  # (3,)
    R: np.ndarray  # (3, 3)
    points: np.ndarray  # (n, 3)
    radius: float
    middle: np.ndarray  # (3,) and the radius of a ball around it that holds the piece
    bound: float


class TooMany(ValueError):
    """More pairs of pieces are near one another than were to be looked at."""


def overlaps(
    scene: Scene, trajectory: Trajectory | None = None, record: int = -1, most: float = np.inf
) -> list[Overlap]:
    """All pairs of bodies that overlap at a record of a trajectory, or at the start; deepest first.

    Raises `TooMany` where more than `most` pairs of their pieces are near one another.
    """
    poses = {body.number: _start_of(body) for body in scene.bodies}
    t = -np.inf
    if trajectory is not None:
        t = float(trajectory.t[record])
        moving = [body for body in scene.bodies if body.kind != "static"]
        for body, row in zip(moving, trajectory.q[record].reshape(len(moving), -1), strict=True):
            poses[body.number] = row if scene.dim == 3 else _in_space(*row)
    placed = {
        body.number: [_place(piece, body, poses[body.number]) for piece in _pieces(body)]
        for body in scene.bodies
        if body.shape is not None and (trajectory is None or body.life[0] <= t < body.life[1])
    }
    found, near = [], _neighbours(placed)
    if sum(len(placed[a]) * len(placed[b]) for a, b in near) > most:
        raise TooMany
    for a, b in near:
        first, second = scene.bodies[a], scene.bodies[b]
        if (a, b) in scene.ignored or "moving" not in (first.kind, second.kind):
            continue
        depth = max(_depth(p, q, scene.dim) for p in placed[a] for q in placed[b])
        if depth > 0.0:
            found.append(Overlap(first.name, second.name, depth))
    return sorted(found, key=lambda pair: -pair.depth)


def lowest(scene: Scene) -> float:
    """Height of the lowest point of the bodies that move, at the start [m]: where a ground just touches them."""
    return min(
        float(placed.points[:, scene.dim - 1].min()) - placed.radius
        for body in scene.bodies
        if body.kind == "moving"
        for placed in (_place(piece, body, _start_of(body)) for piece in _pieces(body))
    )


def deepest_overlap(scene: Scene, trajectory: Trajectory, records: int = 50) -> float:
    """The largest overlap [m] at `records` records of a trajectory, spread evenly; 0 where nothing overlaps."""
    chosen = np.unique(np.linspace(0, len(trajectory.t) - 1, records).round().astype(int))
    return max((pair.depth for k in chosen for pair in overlaps(scene, trajectory, int(k))[:1]), default=0.0)


def checked(scene: Scene, trajectory: Trajectory) -> Trajectory:
    """The trajectory with a note on its deepest overlap; a RuntimeWarning where its certificate is below the truth.

    Some ten records are looked at, fewer of many bodies.  The certificate may say a tenth less than the overlap, and
    what the distances here are uncertain by.  A run that ended early is not judged: its status says why, and its last
    record may be of bodies that appeared in one another.
    """
    if not (len(trajectory) and trajectory.complete):
        return trajectory
    records = int(np.clip(CHECKED / max(1, len(scene.contact_names)), 2, 10))
    truth, told = deepest_overlap(scene, trajectory, records), trajectory.certificate.max_penetration
    sizes = [_place(piece, body, _start_of(body)).bound for body in scene.bodies for piece in _pieces(body)]
    reach = max((size for size in sizes if np.isfinite(size)), default=1.0)
    digits = 2.0**-50 * float(np.max(np.abs(trajectory.q), initial=0.0))
    if not told >= 0.9 * truth - TOUCHING * reach - digits:
        warnings.warn(
            f"the certificate of {scene.name!r} says a penetration of {told:.3g} m; bodies overlap by {truth:.3g} m",
            RuntimeWarning,
            stacklevel=4,
        )
    return trajectory.with_attributes(overlap_check=f"{truth:.3g} m at {records} records")


def _pieces(body: Body) -> list[Piece]:
    return [] if body.shape is None else body.shape.pieces(body.dim)


def _start_of(body: Body) -> np.ndarray:
    return np.array([*body.position, *body.orientation])


def _neighbours(placed: dict[int, list[_Placed]]) -> list[tuple[int, int]]:
    """Pairs of bodies, by number, that balls around their pieces do not keep apart."""
    numbers = sorted(placed)
    wide = [a for a in numbers if any(not np.isfinite(piece.bound) for piece in placed[a])]
    small = [a for a in numbers if a not in wide and placed[a]]
    pairs = {(min(a, b), max(a, b)) for a in wide for b in numbers if a != b}
    if small:
        middles = np.array([np.mean([piece.middle for piece in placed[a]], axis=0) for a in small])
        reach = [
            max(float(np.linalg.norm(piece.middle - middle)) + piece.bound for piece in placed[a])
            for a, middle in zip(small, middles, strict=True)
        ]
        from scipy.spatial import cKDTree

        tree = cKDTree(middles)
        for i, a in enumerate(small):  # the larger one of two bodies finds the other within twice its own size
            near = tree.query_ball_point(middles[i], 2.0 * reach[i])
            pairs |= {(min(a, small[j]), max(a, small[j])) for j in near if j != i}
    return sorted(pairs)


def _in_space(x: float, y: float, angle: float) -> np.ndarray:
    return np.array([x, y, 0.0, np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)])


def _place(piece: Piece, body: Body, pose: np.ndarray) -> _Placed:
    turn = rotation_matrix(pose[3:])
    origin = pose[:3] + turn @ (piece.offset - body.centre)
    R = rotation_matrix(quaternion_product(pose[3:], piece.turn))
    points, radius = np.zeros((1, 3)), 0.0
    if piece.kind in ("sphere", "capsule"):
        radius = piece.size[0]
        if piece.kind == "capsule":
            points = np.array([[0.0, 0.0, -piece.size[1]], [0.0, 0.0, piece.size[1]]])
    elif piece.mesh is not None:
        points = piece.mesh.vertices
    world = origin + points @ R.T
    middle = world.mean(axis=0)
    bound = float(np.linalg.norm(world - middle, axis=1).max()) + radius
    return _Placed(piece, origin, R, world, radius, middle, np.inf if piece.kind in ("plane", "field") else bound)


def _depth(p: _Placed, q: _Placed, dim: int) -> float:
    """By how much two pieces overlap [m]; not positive where they do not."""
    if q.piece.kind in ("plane", "field", "surface"):
        p, q = q, p
    if p.piece.kind == "plane":
        return q.radius - float(np.min((q.points - p.origin) @ p.R[:, 2]))
    if "torus" in (p.piece.form, q.piece.form):  # not convex: only what is flat can be told
        return -1.0
    if p.piece.kind == "field":
        return _depth_in_ground(p, q)
    if p.piece.kind == "surface":
        return _depth_behind(p, q)
    if np.linalg.norm(p.middle - q.middle) > p.bound + q.bound:
        return -1.0
    differences = (p.points[:, None] - q.points[None]).reshape(-1, 3)
    return p.radius + q.radius - _distance_of_origin(differences, dim)


def _distance_of_origin(points: np.ndarray, dim: int) -> float:
    """Distance of the origin from the convex hull of some points; negative inside, by the way to the nearest face."""
    size = float(np.linalg.norm(points, axis=1).max())
    if size == 0.0:  # two balls with one centre
        return 0.0
    from scipy.optimize import nnls  # takes 0.15 s to load, and most runs do without
    from scipy.spatial import ConvexHull, QhullError

    weight = 1e3 * size  # of the row that makes the shares add up to one
    shares, _ = nnls(np.vstack([points.T, np.full(len(points), weight)]), np.array([0.0, 0.0, 0.0, weight]))
    distance = float(np.linalg.norm(shares @ points / shares.sum()))
    if distance > TOUCHING * size:
        return distance
    try:
        return float(ConvexHull(points[:, :dim]).equations[:, -1].max())
    except QhullError:  # a flat hull, of two axes that meet
        return 0.0


def _depth_in_ground(ground: _Placed, body: _Placed) -> float:
    """How far a convex piece reaches into the ground of a height field."""
    heights, spacing = ground.piece.heights, ground.piece.size[0]
    assert heights is not None
    corners = (body.points - ground.origin) @ ground.R
    half = 0.5 * (np.array(heights.shape) - 1) * spacing
    depth = body.radius - float(_above_ground(heights, spacing, _samples(body.piece, corners)).min())
    if body.piece.mesh is None:
        return depth
    low, high = np.maximum(corners[:, :2].min(axis=0), -half), np.minimum(corners[:, :2].max(axis=0), half)
    if np.any(low > high):
        return depth
    axes = [
        np.arange(np.floor(a / spacing), np.ceil(b / spacing) + 1e-9, 1.0 / SAMPLES)
        for a, b in zip(low, high, strict=True)
    ]
    x, y = (grid.ravel() * spacing for grid in np.meshgrid(*axes, indexing="ij"))
    inside = (np.abs(x) <= half[0]) & (np.abs(y) <= half[1])
    points = np.column_stack([x, y, _height(heights, spacing, x, y)])[inside]
    normals = body.piece.mesh.normals @ body.R.T @ ground.R
    first = corners[[loop[0] for loop in body.piece.mesh.loops]]
    outside = (points @ normals.T - np.sum(normals * first, axis=1)).max(axis=1)
    return max(depth, -float(outside.min(initial=np.inf)))


def _depth_behind(surface: _Placed, body: _Placed) -> float:
    """How far a convex piece reaches behind a surface of triangles."""
    mesh = surface.piece.mesh
    assert mesh is not None
    corners = (body.points - surface.origin) @ surface.R
    triangles = mesh.vertices[np.array(mesh.loops)]
    reach = body.radius + float(np.ptp(corners, axis=0).max())
    low, high = corners.min(axis=0) - reach, corners.max(axis=0) + reach
    near = triangles[np.all((triangles.max(axis=1) >= low) & (triangles.min(axis=1) <= high), axis=1)]
    if not len(near):
        return -1.0
    rim = _rim(mesh)
    depth = body.radius - float(_in_front(_samples(body.piece, corners), near, rim).min())
    if body.piece.mesh is None:
        return depth
    share = np.linspace(0.0, 1.0, SAMPLES + 1)[:, None]
    edges = [P + share * (Q - P) for T in near for P, Q in zip(T, np.roll(T, -1, axis=0), strict=True)]
    normals = body.piece.mesh.normals @ body.R.T @ surface.R
    first = corners[[loop[0] for loop in body.piece.mesh.loops]]
    outside = (np.concatenate(edges) @ normals.T - np.sum(normals * first, axis=1)).max(axis=1)
    return max(depth, -float(outside.min(initial=np.inf)))


def _in_front(points: np.ndarray, triangles: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Distances of points (p, 3) from triangles (n, 3, 3), negative behind them.

    Of the triangles that are nearest, the one that the point sees least aslant has the sign.  What is nearest to the
    rim (m, 3, 3) of an open surface, edges as flat triangles, counts as in front: rims are felt from there alone.
    """
    least = np.empty(len(points))
    sizes = np.ptp(triangles, axis=1).max(axis=1)
    for of, (chosen, starts, distances) in _candidates(points, triangles):
        count = np.diff(starts, append=len(chosen))
        least[of] = nearest = np.minimum.reduceat(distances, starts)
        bound = nearest + TOUCHING * np.maximum.reduceat(sizes[chosen], starts)
        is_nearest = distances <= np.repeat(bound, count)
        corners, owner = triangles[chosen[is_nearest]], np.repeat(np.arange(len(starts)), count)[is_nearest]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        heights = np.sum(normals * (points[of][owner] - corners[:, 0]), axis=1) / np.linalg.norm(normals, axis=1)
        first = np.searchsorted(owner, np.arange(len(starts)))
        above, below = np.maximum.reduceat(heights, first), np.minimum.reduceat(heights, first)
        behind = above < -below
        if len(rim):
            behind &= _least_distances(points[of], rim) > bound
        least[of] = np.where(behind, -nearest, nearest)
    return least


def _rim(mesh: Mesh) -> np.ndarray:
    """Edges (m, 3, 3) of a surface with a triangle on one side alone; their last corner stands twice."""
    sides = {(p, q) for loop in mesh.loops for p, q in zip(loop, loop[1:] + loop[:1], strict=True)}
    alone = [(p, q, q) for p, q in sides if (q, p) not in sides]
    return mesh.vertices[np.array(alone, np.int64).reshape(-1, 3)]


def _samples(piece: Piece, corners: np.ndarray) -> np.ndarray:
    """Points of the axis of a capsule, or of the edges and faces of a polyhedron."""
    share = np.linspace(0.0, 1.0, SAMPLES + 1)[:, None]
    if piece.mesh is None:
        return corners[0] + share * (corners[-1] - corners[0])
    points = [corners]
    for loop in piece.mesh.loops:
        outline = corners[list(loop)]
        for P, Q in zip(outline, np.roll(outline, -1, axis=0), strict=True):
            points.append(P + share * (Q - P))
    return np.unique(np.concatenate(points), axis=0)


def _height(heights: np.ndarray, spacing: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The surface over (x, y), two triangles in each cell."""
    a, b = x / spacing + 0.5 * (heights.shape[0] - 1), y / spacing + 0.5 * (heights.shape[1] - 1)
    i = np.clip(np.floor(a).astype(int), 0, heights.shape[0] - 2)
    j = np.clip(np.floor(b).astype(int), 0, heights.shape[1] - 2)
    a, b = a - i, b - j
    first = heights[i, j] + a * (heights[i + 1, j] - heights[i, j]) + b * (heights[i, j + 1] - heights[i, j])
    far = heights[i + 1, j + 1]
    second = far - (1 - a) * (far - heights[i, j + 1]) - (1 - b) * (far - heights[i + 1, j])
    return np.where(a + b <= 1.0, first, second)


def _above_ground(heights: np.ndarray, spacing: float, points: np.ndarray) -> np.ndarray:
    """Distance of points from the ground, negative inside it: from its triangles and the walls below its rim."""
    m, n = heights.shape
    x, y = (np.arange(k) - 0.5 * (k - 1) for k in (m, n))
    grid = np.stack([*np.meshgrid(x * spacing, y * spacing, indexing="ij"), heights], axis=-1)
    first = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:]], axis=2).reshape(-1, 3, 3)
    second = np.stack([grid[1:, 1:], grid[:-1, 1:], grid[1:, :-1]], axis=2).reshape(-1, 3, 3)
    triangles = np.concatenate([first, second])
    half = np.array([x[-1], y[-1]]) * spacing
    distance = _least_distances(points, triangles)
    flat = np.abs(points[:, :2]) - half
    side = flat.max(axis=1)
    nearest = np.clip(points[:, :2], -half, half)
    under = points[:, 2] < _height(heights, spacing, *nearest.T)
    inside = under & (side <= 0.0)
    wall = np.linalg.norm(points[:, :2] - nearest, axis=1)
    distance = np.where(inside, -np.minimum(distance, -side), np.where(under, np.minimum(distance, wall), distance))
    return distance


def _least_distances(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distances of points (p, 3) from the nearest of triangles (n, 3, 3)."""
    parts = [np.minimum.reduceat(distances, starts) for _, (_, starts, distances) in _candidates(points, triangles)]
    return np.concatenate(parts)


def _candidates(
    points: np.ndarray, triangles: np.ndarray
) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Triangles (n, 3, 3) that may be the nearest to points (p, 3), by balls around them, and their distances.

    Yields some points at a time: which ones; numbers of triangles, those of one point after those of another; where
    those of each point begin; distances.
    """
    centre = triangles.mean(axis=1)
    reach = np.linalg.norm(triangles - centre[:, None], axis=2).max(axis=1)
    step = max(1, AT_ONCE // len(triangles))
    for begin in range(0, len(points), step):
        of = slice(begin, begin + step)
        away = np.linalg.norm(centre - points[of, None], axis=2)
        owner, chosen = np.nonzero(away - reach <= (away + reach).min(axis=1, keepdims=True))
        starts = np.searchsorted(owner, np.arange(len(away)))
        yield of, (chosen, starts, _from_each(points[of][owner], triangles[chosen]))


def _from_each(point: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distances (n,) of points (n, 3) from triangles (n, 3, 3), one of each, of which some may be flat."""
    A, B, C = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    best = np.full(len(triangles), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for P, Q in ((A, B), (B, C), (C, A)):
            d = Q - P
            share = np.clip(np.nan_to_num(np.sum((point - P) * d, axis=1) / np.sum(d * d, axis=1)), 0.0, 1.0)
            best = np.minimum(best, np.linalg.norm(P + share[:, None] * d - point, axis=1))
        u, v, w = B - A, C - A, point - A
        uu, vv, uv = np.sum(u * u, axis=1), np.sum(v * v, axis=1), np.sum(u * v, axis=1)
        uw, vw = np.sum(u * w, axis=1), np.sum(v * w, axis=1)
        det = uu * vv - uv * uv
        s, t = (vv * uw - uv * vw) / det, (uu * vw - uv * uw) / det
        over = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
        foot = np.linalg.norm(A + s[:, None] * u + t[:, None] * v - point, axis=1)
    return np.where(over, np.minimum(best, foot), best)
