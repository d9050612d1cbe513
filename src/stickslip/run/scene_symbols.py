"""Bodies of a scene as symbols: positions of points, velocities of points, turns, kinetic energies.

In the plane a body has the coordinates x, y and its angle.  In space it has x, y, z and its unit quaternion, as in a
trajectory.  Four numbers turn a body with three freedoms, so that |Q| = 1 is a constraint, and the kinetic energy

    T = (m v^2 + omega . J omega) / 2 + 2 c (Q . dQ/dt)^2,    omega = 2 dQ/dt Q*,

has a last term that is zero on the constraint and makes the mass matrix regular; c is the mean of the moments of
inertia.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stickslip.mechanisms.elements import Constraint
from stickslip.scenes.bodies import COORDINATES, Body
from stickslip.scenes.shapes import rotation_matrix

Vector = Any  # sp.Matrix (3, 1)


def vector(values: Any) -> Vector:
    """Three numbers or expressions as a column."""
    return sp.Matrix([sp.sympify(value) for value in values])


@dataclass(frozen=True)
class Symbols:
    """A body that moves, or the static world: its place, turn and velocities as expressions.

    Attributes
    ----------
    q, u : coordinates and their rates; none where the body does not move.
    x, R : centre of mass, and rotation matrix from body to world axes.
    v, w : velocity of the centre of mass, and angular velocity, in world axes.
    angle : turn in the plane [rad].
    """

    q: tuple[Any, ...]
    u: tuple[Any, ...]
    x: Vector
    R: Any
    v: Vector
    w: Vector
    angle: Any

    def point(self, local: Any) -> Vector:
        """A point that is fixed in the body, in world coordinates; `local`: from the centre of mass, body axes."""
        return self.x + self.R * vector(local)

    def velocity(self, arm: Vector) -> Vector:
        """Velocity of a point of the body at this arm from its centre of mass, world axes."""
        return self.v + self.w.cross(arm)

    def direction(self, local: Any) -> Vector:
        """A direction that is fixed in the body, in world axes."""
        return self.R * vector(local)


def of_static(body: Body) -> Symbols:
    """A body that does not move."""
    R = sp.Matrix(rotation_matrix(body.orientation))
    none = vector((0, 0, 0))
    return Symbols((), (), vector(body.position), R, none, none, sp.Float(body.angle))


def rate_names(body: Body) -> tuple[list[str], list[str]]:
    """Names of the coordinates of a body that moves, and of their rates."""
    label = body.name if body.name.isidentifier() else f"body{body.number}"
    names = [f"{label}_{name}" for name in COORDINATES[body.dim]]
    return names, [f"{name}_rate" for name in names]


def of_moving(body: Body) -> Symbols:
    """A body that moves freely."""
    q, u = (tuple(sp.Symbol(name, real=True) for name in names) for names in rate_names(body))
    if body.dim == 2:
        c, s = sp.cos(q[2]), sp.sin(q[2])
        R = sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return Symbols(q, u, vector((q[0], q[1], 0)), R, vector((u[0], u[1], 0)), vector((0, 0, u[2])), q[2])
    a, b, c, d = q[3:]
    R = sp.Matrix(
        [
            [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
        ]
    )
    p, x, y, z = u[3:]
    w = 2 * vector(
        (-p * b + a * x - y * d + z * c, -p * c + a * y - z * b + x * d, -p * d + a * z - x * c + y * b)
    )  # 2 dQ/dt Q*
    return Symbols(q, u, vector(q[:3]), R, vector(u[:3]), w, sp.Integer(0))


def kinetic_energy(body: Body, symbols: Symbols) -> Any:
    """T of a body that moves [J]."""
    m, v = body.mass, symbols.v
    energy = m * v.dot(v) / 2
    if body.dim == 2:
        return energy + float(body.inertia[2, 2]) * symbols.u[2] ** 2 / 2
    own = _own_rate(symbols)
    J = sp.Matrix(body.inertia)
    mean = float(np.trace(body.inertia)) / 3.0
    along = sum(a * b for a, b in zip(symbols.q[3:], symbols.u[3:], strict=True))
    return energy + (own.T * J * own)[0] / 2 + 2 * mean * along**2


def _own_rate(symbols: Symbols) -> Vector:
    """Angular velocity in body axes, 2 Q* dQ/dt: shorter than R^T omega, and equal to it where |Q| = 1."""
    a, b, c, d = symbols.q[3:]
    p, x, y, z = symbols.u[3:]
    return 2 * vector((a * x - b * p - c * z + d * y, a * y - c * p - d * x + b * z, a * z - d * p - b * y + c * x))


def unit_length(body: Body, symbols: Symbols) -> list[Constraint]:
    """The constraint |Q| = 1 of a body in space."""
    if body.dim == 2:
        return []
    return [Constraint(f"{body.name} turn", equation=(sum(x * x for x in symbols.q[3:]) - 1) / 2)]
