"""A body of a scene, and where to find it in a trajectory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from stickslip.laws.friction import FrictionLaw
from stickslip.laws.restitution import RestitutionCurve
from stickslip.scenes.shapes import Shape, rotation_matrix

COORDINATES = {2: ("x", "y", "angle"), 3: ("x", "y", "z", "qw", "qx", "qy", "qz")}
VELOCITIES = {2: ("vx", "vy", "omega"), 3: ("vx", "vy", "vz", "wx", "wy", "wz")}


class Surface(TypedDict, total=False):
    """Further keywords of `add_body`, `add_static`, `add_driven` and `set_pair`: see `Material`."""

    friction_impact: Any
    patch: Any
    pressure: Any
    rolling: Any
    stiffness: Any


@dataclass(frozen=True)
class Material:
    """Surface of a body; None takes the partner's value (0 where both are None).

    friction : mu, or (mu_1, mu_2) of elliptic friction along the body's own x axis and across it, or a law of slip.
    restitution : eps_N, or a curve over the approach speed.
    friction_impact : mu in impacts; None: that of sliding.
    patch, pressure : radius of the disc of contact [m], which resists spinning; "constant" or "hertz" pressure on it.
    rolling : arm rho of the rolling resistance [m].
    stiffness : of the surface beside others; its ratios count in impacts under the laws of ratios of stiffness.
    """

    friction: float | tuple[float, float] | FrictionLaw | None = None
    restitution: float | RestitutionCurve | None = None
    restitution_tangential: float | None = None
    friction_impact: float | None = None
    patch: float | None = None
    pressure: str | None = None
    rolling: float | None = None
    stiffness: float | None = None

    @property
    def resists(self) -> bool:
        """Whether the surface resists rolling or spinning."""
        return bool(self.patch or self.rolling)

    @property
    def strikes_at_once(self) -> bool:
        """Whether its impacts need the velocities before and after in one step: beyond Newton's coefficient."""
        curve = isinstance(self.restitution, RestitutionCurve)
        return bool(self.restitution_tangential) or self.friction_impact is not None or curve


@dataclass(frozen=True, eq=False)
class Body:
    """A body of a scene, as `Scene.add_body`, `add_static` and `add_driven` return it.

    Attributes
    ----------
    number : 0 is the world; others in the order in which they were added.
    mass, inertia : [kg], (3, 3) in body axes about the centre of mass [kg m^2]; inf and zero for bodies that do not
        move freely.
    position, orientation, angle : of the body frame, whose origin is the centre of mass, at the start.
    centre : centre of mass in the coordinates of the shape.
    """

    number: int
    name: str
    kind: str
    dim: int
    shape: Shape | None
    mass: float
    inertia: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    angle: float
    velocity: np.ndarray
    angular_velocity: np.ndarray
    centre: np.ndarray
    material: Material
    life: tuple[float, float] = (-math.inf, math.inf)
    motion: Callable[[float], Any] | None = None
    column: int = field(default=-1)

    def _columns(self, values: np.ndarray, first: int, count: int, width: int) -> np.ndarray:
        if self.column < 0:
            raise ValueError(f"body {self.name!r} is static: it has no place in a trajectory.")
        begin = self.column * width + first
        return values[:, begin : begin + count]

    def path(self, trajectory: Any) -> np.ndarray:
        """Positions of the centre of mass over time, (n, dim) [m]."""
        return self._columns(trajectory.q, 0, self.dim, len(COORDINATES[self.dim]))

    def turning(self, trajectory: Any) -> np.ndarray:
        """Angles (n,) [rad] in the plane, unit quaternions (n, 4) in space."""
        if self.dim == 2:
            return self._columns(trajectory.q, 2, 1, 3)[:, 0]
        return self._columns(trajectory.q, 3, 4, 7)

    def velocities(self, trajectory: Any) -> np.ndarray:
        """Velocities of the centre of mass, (n, dim) [m/s]."""
        return self._columns(trajectory.u, 0, self.dim, len(VELOCITIES[self.dim]))

    def momentum(self, trajectory: Any) -> np.ndarray:
        """Momenta m v, (n, dim) [N s]."""
        self._require_mass()
        return np.asarray(self.mass * self.velocities(trajectory))

    def angular_momentum(self, trajectory: Any) -> np.ndarray:
        """Angular momenta about the centre of mass [N m s], (n,) in the plane, (n, 3) in world axes in space."""
        self._require_mass()
        found = angular_momenta(self, self.turning(trajectory), self.spin(trajectory).reshape(len(trajectory.t), -1))
        return found[:, 0] if self.dim == 2 else found

    def kinetic_energy(self, trajectory: Any) -> np.ndarray:
        """Kinetic energies, (n,) [J]."""
        v, w = self.velocities(trajectory), self.spin(trajectory).reshape(len(trajectory.t), -1)
        L = self.angular_momentum(trajectory).reshape(len(trajectory.t), -1)
        return np.asarray(0.5 * (self.mass * (v * v).sum(axis=1) + (w * L).sum(axis=1)))

    def _require_mass(self) -> None:
        if self.kind != "moving":
            raise ValueError(f"body must move freely to have momentum, got {self.name!r} ({self.kind}).")

    def spin(self, trajectory: Any) -> np.ndarray:
        """Angular velocities, (n,) in the plane, (n, 3) in world axes in space [rad/s]."""
        if self.dim == 2:
            return self._columns(trajectory.u, 2, 1, 3)[:, 0]
        return self._columns(trajectory.u, 3, 3, 6)


def angular_momenta(body: Body, turning: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Angular momenta R J R^T omega of a body about its centre of mass [N m s].

    turning : (n, 4) quaternions in space; spin : (n, 3), or (n, 1) in the plane [rad/s].
    """
    if body.dim == 2:
        return np.asarray(body.inertia[2, 2] * spin)
    R = np.array([rotation_matrix(q) for q in turning])
    return np.asarray(np.einsum("nij,jk,nlk,nl->ni", R, body.inertia, R, spin))
