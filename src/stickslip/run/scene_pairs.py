"""Pairs of pieces that may touch: gaps of all their features, and normal, place and rates of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.run.scene_features import (
    NOWHERE,
    Core,
    Lines,
    Pose,
    Touch,
    corners_on_corners,
    corners_on_edges,
    corners_on_faces,
    cross,
    edges_on_edges,
)

MOST_PLACES = 24  # of two polytopes at one time


def _lines(core: Core, R: Array, shift: Array) -> Lines:
    return Lines(
        core.starts @ R.T + shift, core.along @ R.T, core.lengths, core.inward @ R.T, bool(len(core.normals))
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnPlane:
    """Corners of a piece on a static half-space n . x >= level: each corner is a place of its own, all the time."""

    bodies: tuple[int, int]
    names: tuple[str, str]
    core: Core
    n: Array
    level: float
    law: Any

    fixed = True

    @property
    def places(self) -> int:
        return len(self.core.corners)

    @property
    def reaches(self) -> tuple[float, float]:
        """Radii of balls about the bodies' centres of mass that hold the pieces; 0 of a half-space [m]."""
        return 0.0, self.core.reach

    def apart(self, poses: dict[int, Pose]) -> float:
        """How far the pieces are apart at least [m]; negative where they may touch."""
        return float(self.n @ poses[self.bodies[1]].x) - self.level - self.core.reach

    def look(self, poses: tuple[Pose, Pose]) -> tuple[Array, Array]:
        """Gaps (c,) of all features [m], and how far inside they count."""
        B = poses[1]
        gap = (B.x + self.core.corners @ B.R.T) @ self.n - self.level - self.core.radius
        return gap, np.ones(len(gap))

    def touch(self, feature: int, poses: tuple[Pose, Pose]) -> Touch:
        """Normal and place of a feature, with their rates."""
        B, r = poses[1], self.core.radius
        arm = B.R @ self.core.corners[feature]
        rate = B.v + cross(B.w, arm)
        return Touch(self.n, B.x + arm - r * self.n, np.zeros(3), rate)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two pieces of bodies, the second of which moves.

    Features are numbered: corners of the second on faces of the first, corners of the first on faces of the second,
    edges on edges; where there is a radius, corners on edges, edges on corners, corners on corners.
    """

    bodies: tuple[int, int]
    names: tuple[str, str]
    first: Core
    second: Core
    law: Any

    fixed = False

    @cached_property
    def radius(self) -> float:
        return self.first.radius + self.second.radius

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the six blocks of features."""
        A, B = self.first, self.second
        v, w, e, f = len(A.corners), len(B.corners), len(A.along), len(B.along)
        sharp = ((w, len(A.normals)), (v, len(B.normals)), (e, f))
        return (*sharp, (w, e), (v, f), (v, w)) if self.radius > 0.0 else sharp

    @cached_property
    def places(self) -> int:
        """Most places of contact at a time."""
        A, B = self.first, self.second
        if len(A.corners) == 1 or len(B.corners) == 1:
            return 1
        if len(A.corners) == 2 and len(B.corners) == 2:
            return 3
        return min(MOST_PLACES, max(2, A.widest_face) + max(2, B.widest_face) + 2)

    @property
    def reaches(self) -> tuple[float, float]:
        """Radii of balls about the bodies' centres of mass that hold the pieces [m]."""
        return self.first.reach, self.second.reach

    def apart(self, poses: dict[int, Pose]) -> float:
        """How far the pieces are apart at least [m]; negative where they may touch."""
        between = poses[self.bodies[1]].x - poses[self.bodies[0]].x
        return float(np.linalg.norm(between)) - sum(self.reaches)

    def look(self, poses: tuple[Pose, Pose]) -> tuple[Array, Array]:
        """Gaps (c,) of all features [m], and how far inside they count."""
        P, Q = poses
        A, B = self.first, self.second
        apart = float(np.linalg.norm(Q.x - P.x)) - A.reach - B.reach
        total = sum(a * b for a, b in self.blocks)
        if apart > 0.05 * (A.reach + B.reach):
            return np.full(total, apart), np.full(total, -1.0)
        R = P.R.T @ Q.R
        shift = P.R.T @ (Q.x - P.x)
        x, size = B.corners @ R.T + shift, min(A.reach, B.reach)
        a, b = _lines(A, np.eye(3), np.zeros(3)), _lines(B, R, shift)
        found = [
            corners_on_faces(A, x, B.spokes @ R.T, size),
            corners_on_faces(B, (A.corners - shift) @ R, A.spokes @ R, size),
            edges_on_edges(a, b, size, self.radius == 0.0),
        ]
        if self.radius > 0.0:
            found += [
                corners_on_edges(x, B.spokes @ R.T, a, size),
                corners_on_edges(A.corners, A.spokes, b, size),
                corners_on_corners(A.corners, A.spokes, x, B.spokes @ R.T),
            ]
        gap = np.concatenate([g.ravel() for g, _ in found]) - self.radius
        counts = np.concatenate([c.ravel() for _, c in found])
        return np.where(gap > -DEEPEST * size, gap, NOWHERE), np.where(gap > -DEEPEST * size, counts, -1.0)

    def touch(self, feature: int, poses: tuple[Pose, Pose]) -> Touch:
        """Normal and place of a feature, with their rates."""
        block = 0
        for rows, columns in self.blocks:
            if feature < rows * columns:
                break
            feature -= rows * columns
            block += 1
        i, j = divmod(feature, columns)
        (P, Q), (A, B) = poses, (self.first, self.second)
        if block == 0:
            return _corner_on_face(B, i, Q, A, j, P)
        if block == 1:
            return _turned(_corner_on_face(A, i, P, B, j, Q))
        if block == 2:
            return _edge_on_edge(A, i, P, B, j, Q, self.radius == 0.0)
        if block == 3:
            return _corner_on_edge(B, i, Q, A, j, P)
        if block == 4:
            return _turned(_corner_on_edge(A, i, P, B, j, Q))
        return _corner_on_corner(A, i, P, B, j, Q)


DEEPEST = 0.1  # of the sizes: features that overlap more are none


def _turned(touch: Touch) -> Touch:
    """A touch seen from the other body."""
    return Touch(-touch.n, touch.p, -touch.n_rate, touch.p_rate)


def _moved(pose: Pose, local: Array) -> tuple[Array, Array]:
    """A point that is fixed in a body, in the world, and its velocity."""
    arm = pose.R @ local
    return pose.x + arm, pose.v + cross(pose.w, arm)


def _carried(pose: Pose, local: Array) -> tuple[Array, Array]:
    """A direction that is fixed in a body, in the world, and its rate."""
    d = pose.R @ local
    return d, cross(pose.w, d)


def _unit(line: Array, rate: Array) -> tuple[Array, Array]:
    """A direction of a vector, and its rate."""
    size = float(np.sqrt(line @ line)) or 1e-300
    n = line / size
    return n, (rate - n * (n @ rate)) / size


def _corner_on_face(B: Core, i: int, Q: Pose, A: Core, j: int, P: Pose) -> Touch:
    """Corner i of B on face j of A; the normal points to B."""
    n, n_rate = _carried(P, A.normals[j])
    x, rate = _moved(Q, B.corners[i])
    return Touch(n, x - B.radius * n, n_rate, rate - B.radius * n_rate)


def _edge_on_edge(A: Core, i: int, P: Pose, B: Core, j: int, Q: Pose, sharp: bool) -> Touch:
    a, a_rate = _moved(P, A.starts[i])
    b, b_rate = _moved(Q, B.starts[j])
    e, e_rate = _carried(P, A.along[i])
    f, f_rate = _carried(Q, B.along[j])
    d, d_rate = b - a, b_rate - a_rate
    k, k_rate = float(e @ f), float(e_rate @ f + e @ f_rate)
    alpha, beta = float(d @ e), float(d @ f)
    alpha_rate, beta_rate = float(d_rate @ e + d @ e_rate), float(d_rate @ f + d @ f_rate)
    c = cross(e, f)
    square = float(c @ c)
    s, w = (alpha - k * beta) / square, (k * alpha - beta) / square
    s_rate = (alpha_rate - k_rate * beta - k * beta_rate + 2.0 * k * k_rate * s) / square
    n, n_rate = _unit(c, cross(e_rate, f) + cross(e, f_rate))
    out = -(P.R @ A.inward[i].sum(axis=0)) if sharp else b + w * f - a - s * e
    if n @ out < 0.0:
        n, n_rate = -n, -n_rate
    p, rate = a + s * e, a_rate + s_rate * e + s * e_rate
    return Touch(n, p + A.radius * n, n_rate, rate + A.radius * n_rate)


def _corner_on_edge(B: Core, i: int, Q: Pose, A: Core, j: int, P: Pose) -> Touch:
    """Corner i of B on edge j of A; the normal points to B."""
    x, x_rate = _moved(Q, B.corners[i])
    a, a_rate = _moved(P, A.starts[j])
    e, e_rate = _carried(P, A.along[j])
    s, s_rate = float(e @ (x - a)), float(e_rate @ (x - a) + e @ (x_rate - a_rate))
    p, rate = a + s * e, a_rate + s_rate * e + s * e_rate
    n, n_rate = _unit(x - p, x_rate - rate)
    return Touch(n, p + A.radius * n, n_rate, rate + A.radius * n_rate)


def _corner_on_corner(A: Core, i: int, P: Pose, B: Core, j: int, Q: Pose) -> Touch:
    x, x_rate = _moved(P, A.corners[i])
    y, y_rate = _moved(Q, B.corners[j])
    n, n_rate = _unit(y - x, y_rate - x_rate)
    return Touch(n, x + A.radius * n, n_rate, x_rate + A.radius * n_rate)
