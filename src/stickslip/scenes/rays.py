"""Rays: the first point of a scene that a straight line meets, as a distance sensor sees it.

A ray x = o + s d, |d| = 1, meets a piece where its parameter s enters the piece.  Convex pieces are intersections or
sums: a polyhedron is the intersection of half-spaces, a capsule a cylinder between two balls.  Lines are taken to the
axes of each piece, where the pieces are simple.  A ray that begins inside a piece does not meet it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.codes import STEPS
from stickslip.scenes.bodies import Body
from stickslip.scenes.checks import number, unit, vector
from stickslip.scenes.shapes import Piece, rotation_matrix

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine

Meeting = tuple[float, np.ndarray] | None
"""Distance along the ray [m] and the outward normal (3,) there, in the axes of the piece; None: it passes by."""


class Hit(NamedTuple):
    """First hit of a ray: name of the body, point and outward normal in world coordinates, distance [m]."""

    body: str
    point: np.ndarray
    normal: np.ndarray
    distance: float


def cast(engine: SceneEngine, origin: Any, direction: Any, length: Any, ignore: Any) -> Hit | None:
    """The first body that a ray meets at the present of an engine, or None."""
    scene, dim = engine.scene, engine.scene.dim
    o, d = np.zeros(3), np.zeros(3)
    o[:dim], d[:dim] = vector(origin, "origin of a ray", dim), unit(direction, "direction of a ray", dim)
    most = math.inf if length is None else number(length, "length of a ray", positive=True)
    left_out = {engine.handle("body", which).name for which in ([ignore] if isinstance(ignore, str | Body) else ignore)}
    best: Hit | None = None
    middle = engine.t0 + engine.options.dt * (float(engine.book.numbers[STEPS]) + 0.5)
    for body in scene.bodies:
        if body.shape is None or body.name in left_out or not body.life[0] <= middle < body.life[1]:
            continue
        pose = engine.bodies.pose[body.number]
        R = rotation_matrix(pose[3:])
        for piece in body.shape.pieces(dim):
            turn = R @ rotation_matrix(piece.turn)
            begin = turn.T @ (o - pose[:3] - R @ (piece.offset - body.centre))
            if math.isfinite(piece.bound) and not _near(begin, turn.T @ d, piece.bound):
                continue
            met = _MEETINGS[piece.kind](piece, begin, turn.T @ d, dim)
            if met is not None and met[0] <= (most if best is None else best.distance):
                best = Hit(body.name, (o + met[0] * d)[:dim], (turn @ met[1])[:dim], float(met[0]))
    return best


def _near(o: np.ndarray, d: np.ndarray, bound: float) -> bool:
    """Whether a ray passes the ball of radius `bound` about the origin."""
    along = float(o @ d)
    return bool(o @ o - along * along <= bound * bound * (1.0 + 1e-12) and (along <= 0.0 or o @ o <= bound * bound))


def _ball(o: np.ndarray, d: np.ndarray, centre: np.ndarray, radius: float) -> Meeting:
    """|o + s d - centre| = radius, the smaller root."""
    p = o - centre
    b, c = float(p @ d), float(p @ p) - radius * radius
    inside = b * b - c
    if c < 0.0 or b > 0.0 or inside < 0.0:
        return None
    s = c / (math.sqrt(inside) - b)  # the smaller root of s^2 + 2 b s + c, without cancellation
    return s, (p + s * d) / radius


def _sphere(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    return _ball(o, d, np.zeros(3), piece.size[0])


def _capsule(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """The cylinder about z between its ends, and a ball at each end; what the ray enters first is the surface."""
    radius, half = piece.size
    z = float(np.clip(o[2], -half, half))
    if o[0] ** 2 + o[1] ** 2 + (o[2] - z) ** 2 < radius * radius:
        return None
    found = [_ball(o, d, np.array([0.0, 0.0, end]), radius) for end in (-half, half)]
    a, b, c = d[0] ** 2 + d[1] ** 2, o[0] * d[0] + o[1] * d[1], o[0] ** 2 + o[1] ** 2 - radius * radius
    if a > 0.0 and b < 0.0 and c >= 0.0 and b * b - a * c >= 0.0:
        s = c / (math.sqrt(b * b - a * c) - b)
        p = o + s * d
        if abs(p[2]) <= half:
            found.append((s, np.array([p[0], p[1], 0.0]) / radius))
    return min((met for met in found if met is not None), key=lambda met: met[0], default=None)


def _faces(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """The intersection of half-spaces n . x <= h: the ray enters at the last plane that it crosses inwards."""
    assert piece.mesh is not None
    normals = piece.mesh.normals
    height = np.array([n @ piece.mesh.vertices[loop[0]] for n, loop in zip(normals, piece.mesh.loops, strict=True)]) - (
        normals @ o
    )
    speed = normals @ d
    if np.any((speed == 0.0) & (height < 0.0)) or not np.any(speed < 0.0):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        s = height / speed
    enters = np.where(speed < 0.0, s, -np.inf)
    k = int(np.argmax(enters))
    leaves = float(np.min(np.where(speed > 0.0, s, np.inf)))
    return (float(enters[k]), normals[k]) if 0.0 <= enters[k] <= leaves else None


def _plane(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """The solid z <= 0."""
    return (-o[2] / d[2], np.array([0.0, 0.0, 1.0])) if o[2] >= 0.0 and d[2] < 0.0 else None


def _field(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """All triangles of a height field at once; walls at the rim are left out."""
    assert piece.heights is not None
    h, (dx, dy) = piece.heights, piece.size
    x, y = dx * (np.arange(h.shape[0]) - 0.5 * (h.shape[0] - 1)), dy * (np.arange(h.shape[1]) - 0.5 * (h.shape[1] - 1))
    grid = np.stack([*np.meshgrid(x, y, indexing="ij"), h], axis=-1)
    low, right, up, high = grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]
    corners = [np.concatenate([p.reshape(-1, 3), q.reshape(-1, 3)]) for p, q in ((low, right), (right, high), (up, up))]
    return _triangles(corners[0], corners[1], corners[2], o, d)


def _surface(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """All triangles of a surface at once, from the front."""
    assert piece.mesh is not None
    a, b, c = (piece.mesh.vertices[[loop[k] for loop in piece.mesh.loops]] for k in range(3))
    return _triangles(a, b, c, o, d)


def _triangles(a: np.ndarray, b: np.ndarray, c: np.ndarray, o: np.ndarray, d: np.ndarray) -> Meeting:
    """The first of some triangles, corners (n, 3) each, that a ray meets from the front."""
    e, f = b - a, c - a
    normal = np.cross(e, f)
    speed = normal @ d
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.einsum("ni,ni->n", normal, a - o) / speed
        p = o + s[:, None] * d - a
        area = np.einsum("ni,ni->n", normal, normal)
        u = np.einsum("ni,ni->n", normal, np.cross(p, f)) / area
        v = np.einsum("ni,ni->n", normal, np.cross(e, p)) / area
        inside = (speed < 0.0) & (s >= 0.0) & (u >= -1e-12) & (v >= -1e-12) & (u + v <= 1.0 + 1e-12)
    if not inside.any():
        return None
    k = int(np.argmin(np.where(inside, s, np.inf)))
    return float(s[k]), normal[k] / math.sqrt(area[k])


def _smooth(piece: Piece, o: np.ndarray, d: np.ndarray, dim: int) -> Meeting:
    """An ellipsoid, a cylinder, a cone or a torus: roots of polynomials, and flat ends."""
    a, b, c = piece.measure
    if piece.form == "ellipsoid":
        scale = np.array([a, b, c])
        speed = float(np.linalg.norm(d / scale))
        met = _ball(o / scale, d / scale / speed, np.zeros(3), 1.0)
        if met is None:
            return None
        normal = met[1] / scale
        return met[0] / speed, normal / np.linalg.norm(normal)
    found: list[tuple[float, np.ndarray]] = []
    if piece.form == "torus":
        # (|x|^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + y^2)
        k, m = float(o @ d), float(o @ o) + a * a - b * b
        p, q, r = d[0] ** 2 + d[1] ** 2, o[0] * d[0] + o[1] * d[1], o[0] ** 2 + o[1] ** 2
        roots = np.roots(
            [1.0, 4 * k, 4 * k * k + 2 * m - 4 * a * a * p, 4 * k * m - 8 * a * a * q, m * m - 4 * a * a * r]
        )
        for s in np.sort(roots[np.abs(roots.imag) < 1e-9 * (1.0 + np.abs(roots))].real):
            x = o + s * d
            ring = np.array([x[0], x[1], 0.0]) * (a / math.hypot(x[0], x[1]))
            if s >= 0.0 and (x - ring) @ d <= 0.0:
                found.append((float(s), (x - ring) / b))
        return found[0] if found else None
    cone = piece.form == "cone"
    slope, low, high = (a / b, -0.25 * b, 0.75 * b) if cone else (0.0, -b, b)

    def radius(z: float) -> float:
        return slope * (high - z) if cone else a

    if low < o[2] < high and math.hypot(o[0], o[1]) < radius(float(o[2])):
        return None
    # x^2 + y^2 = radius(z)^2
    r0, r1 = radius(float(o[2])), -slope * d[2]
    A, B, C = d[0] ** 2 + d[1] ** 2 - r1 * r1, o[0] * d[0] + o[1] * d[1] - r0 * r1, o[0] ** 2 + o[1] ** 2 - r0 * r0
    roots = np.roots([A, 2.0 * B, C]) if A != 0.0 else (np.array([-0.5 * C / B]) if B != 0.0 else np.zeros(0))
    for s in roots[np.isreal(roots)].real:
        x = o + s * d
        normal = np.array([x[0], x[1], slope * radius(float(x[2]))])
        if s >= 0.0 and low <= x[2] <= high and normal @ d < 0.0:
            found.append((float(s), normal / np.linalg.norm(normal)))
    for z, up in ((low, -1.0), (high, 1.0)):
        if d[2] * up < 0.0:
            s = (z - o[2]) / d[2]
            x = o + s * d
            if s >= 0.0 and math.hypot(x[0], x[1]) <= radius(z):
                found.append((float(s), np.array([0.0, 0.0, up])))
    return min(found, key=lambda met: met[0], default=None)


_MEETINGS: dict[str, Callable[[Piece, np.ndarray, np.ndarray, int], Meeting]] = {
    "sphere": _sphere,
    "capsule": _capsule,
    "hull": _faces,
    "polygon": _faces,
    "plane": _plane,
    "field": _field,
    "surface": _surface,
    "smooth": _smooth,
}
