"""Sections of friction cones: convex sets of the plane with 0 inside, [S00] (2.17).

The friction impulse beta of a contact with normal impulse r_N lies in mu r_N C.  C = { psi <= 1 } is one of the sets
here, psi its gauge: convex, positively homogeneous and coercive.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from stickslip.checks import LARGEST, shown
from stickslip.contact.spatial_contact import DISC, POLYGON, POWER
from stickslip.lcp.problems import _check_finite, _floats


class CrossSection(ABC):
    """A convex set C = { psi <= 1 } of the plane with 0 inside: the shape of a friction cone's section.

    To add a section, implement three methods: `gauge` is psi, `farthest` is the point of C farthest along a direction
    (any one of several), `slopes` are the extreme points of the subdifferential of psi at a point that is not 0.
    """

    @abstractmethod
    def gauge(self, beta: np.ndarray) -> float:
        """psi(beta) at a point (2,): 1 on the edge of C."""

    @abstractmethod
    def farthest(self, direction: np.ndarray) -> np.ndarray:
        """A maximiser of direction . beta over C, shape (2,)."""

    @abstractmethod
    def slopes(self, beta: np.ndarray) -> np.ndarray:
        """Extreme points of d psi(beta), shape (1, 2) where psi is smooth, (2, 2) at a corner of C."""

    def support(self, direction: np.ndarray) -> float:
        """sigma(direction) = max { direction . beta : beta in C }."""
        return float(direction @ self.farthest(direction))


@dataclass(frozen=True)
class Ellipse(CrossSection):
    """psi(beta) = |(beta_1 / a, beta_2 / b)|: anisotropic friction; a = b = 1 is Coulomb's isotropic law."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, "a", "b")

    def gauge(self, beta: np.ndarray) -> float:
        return math.hypot(beta[0] / self.a, beta[1] / self.b)

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        scaled = np.array([self.a * direction[0], self.b * direction[1]])
        norm = math.hypot(*scaled)
        return np.array([self.a, self.b]) * scaled / norm if norm > 0.0 else np.zeros(2)

    def slopes(self, beta: np.ndarray) -> np.ndarray:
        return np.array([[beta[0] / self.a**2, beta[1] / self.b**2]]) / self.gauge(beta)


@dataclass(frozen=True)
class PowerNorm(CrossSection):
    """psi(beta) = (|beta_1|^p + |beta_2|^p)^(1/p), p > 1: a section between diamond, circle and square."""

    p: float = 2.0

    def __post_init__(self) -> None:
        if not (isinstance(self.p, (int, float)) and 1.0 < self.p < math.inf):
            raise ValueError(f"p of PowerNorm must be a finite number > 1, got {self.p!r}; a Polygon has corners.")

    def gauge(self, beta: np.ndarray) -> float:
        return _norm(beta, self.p)

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        dual = self.p / (self.p - 1.0)  # Hoelder: sigma is the norm of the exponent p / (p - 1)
        norm = _norm(direction, dual)
        if norm == 0.0:
            return np.zeros(2)
        return np.sign(direction) * (np.abs(direction) / norm) ** (dual - 1.0)

    def slopes(self, beta: np.ndarray) -> np.ndarray:
        return (np.sign(beta) * (np.abs(beta) / self.gauge(beta)) ** (self.p - 1.0))[None]


@dataclass(frozen=True)
class Polygon(CrossSection):
    """The convex hull of vertices, shape (m, 2), anticlockwise about 0; m unit vectors: the pyramid of [S00] 2.2."""

    vertices: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        points = _floats(self.vertices, "vertices")
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
            raise ValueError(f"vertices must have shape (m, 2) with m >= 3, got {points.shape}.")
        _check_finite(points, "vertices")
        ahead = np.roll(points, -1, axis=0)
        around = np.roll(points, -2, axis=0) - ahead
        corners = (ahead - points)[:, 0] * around[:, 1] - (ahead - points)[:, 1] * around[:, 0]
        if np.any(points[:, 0] * ahead[:, 1] - points[:, 1] * ahead[:, 0] <= 0.0) or np.any(corners <= 0.0):
            raise ValueError("vertices must go anticlockwise about 0, which lies inside, with a corner at each.")
        object.__setattr__(self, "vertices", tuple(map(tuple, points.tolist())))

    @classmethod
    def regular(cls, m: int) -> Polygon:
        """Regular polygon with m vertices on the unit circle, the first at (1, 0)."""
        angle = 2.0 * np.pi * np.arange(m) / m
        return cls(tuple(zip(np.cos(angle).tolist(), np.sin(angle).tolist(), strict=True)))

    @property
    def normals(self) -> np.ndarray:
        """g_i with C = { g_i . beta <= 1 }, one per edge, shape (m, 2)."""
        first = np.array(self.vertices)
        second = np.roll(first, -1, axis=0)
        edge = second - first
        outward = np.stack([edge[:, 1], -edge[:, 0]], axis=-1)
        return outward / np.einsum("ij,ij->i", outward, first)[:, None]

    def gauge(self, beta: np.ndarray) -> float:
        return float(max(0.0, (self.normals @ beta).max()))

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        points = np.array(self.vertices)
        return points[int(np.argmax(points @ direction))]

    def slopes(self, beta: np.ndarray) -> np.ndarray:
        values = self.normals @ beta
        return self.normals[values >= values.max() * (1.0 - 1e-9)][:2]


def _norm(x: np.ndarray, p: float) -> float:
    largest = float(np.abs(x).max())
    return largest * float(((np.abs(x) / largest) ** p).sum()) ** (1.0 / p) if largest > 0.0 else 0.0


def _require_positive(section: CrossSection, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if isinstance(value, bool) or not (isinstance(value, (int, float)) and 0.0 < value <= LARGEST):
            raise ValueError(f"{name} of {type(section).__name__} must be positive and finite, got {shown(value)}.")


def section_row(section: CrossSection | None) -> np.ndarray | None:
    """A section as the row of numbers that kernels take, see `spatial_contact`; None for a class of a user's own."""
    if section is None or section == Ellipse():
        return np.array([DISC, 0.0])
    if type(section) is PowerNorm:
        return np.array([POWER, section.p])
    if type(section) is Polygon:
        return np.array([POLYGON, len(section.vertices), *np.ravel(section.vertices)])
    return None
