"""Rigid bodies in space without joints and springs as a system, in closed form: nothing has to be derived.

Coordinates of a body are x, y, z and its unit quaternion Q, as in `scene_symbols`.  With omega = 2 G(Q) dQ/dt in world
axes and 2 B(Q) dQ/dt in body axes, both linear in Q and with B(dQ/dt) dQ/dt = 0,

    M = 4 B^T J B + 4 c Q Q^T,    h = -8 B(dQ/dt)^T J B(Q) dQ/dt - 4 c |dQ/dt|^2 Q + 2 G^T torque,    |Q|^2 = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.mechanisms.system import CONSTRAINT, System
from stickslip.run.scene_symbols import rate_names
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene


def world_rates(Q: Array) -> Array:
    """G (3, 4) with omega = 2 G dQ/dt in world axes."""
    a, b, c, d = Q
    return np.array([[-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]])


def body_rates(Q: Array) -> Array:
    """B (3, 4) with omega = 2 B dQ/dt in body axes."""
    a, b, c, d = Q
    return np.array([[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]])


class FreeBodies(System):
    """Bodies of a scene that move, under its gravity and its constant forces and torques."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.bodies: Sequence[Body] = [body for body in scene.bodies if body.kind == "moving"]
        self.gravity = np.asarray(scene.gravity, dtype=float)
        self.loads = {body.number: np.zeros((2, 3)) for body in self.bodies}
        for force in scene.forces:
            for row, given in enumerate((force.force, force.torque)):
                if given is not None:
                    self.loads[force.body][row] += np.asarray(given, dtype=float)
        self.means = [float(np.trace(body.inertia)) / 3.0 for body in self.bodies]
        names = [rate_names(body) for body in self.bodies]
        data = [(body.mass, body.inertia.tolist()) for body in self.bodies]
        super().__init__(
            name=name,
            coordinate_names=[label for own, _ in names for label in own],
            velocity_names=[label for _, own in names for label in own],
            contact_names=[f"{body.name} turn" for body in self.bodies],
            contact_kinds=[CONSTRAINT] * len(self.bodies),
            parameters={},
            source=f"# free bodies {data}, {self.gravity.tolist()}, {[x.tolist() for x in self.loads.values()]}\n",
            forced=bool(any(load.any() for load in self.loads.values())),
        )

    def _turns(self, q: Any, u: Any = None) -> list[tuple[int, Array, Array]]:
        """Where the quaternion of each body begins, the quaternion, and its rate."""
        q = np.asarray(q, dtype=float)
        u = np.zeros_like(q) if u is None else np.asarray(u, dtype=float)
        places = [7 * i + 3 for i in range(len(self.bodies))]
        return [(at, q[at : at + 4], u[at : at + 4]) for at in places]

    def mass(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        M = np.zeros((self.n_dof, self.n_dof))
        for body, mean, (at, Q, _) in zip(self.bodies, self.means, self._turns(q), strict=True):
            B = body_rates(Q)
            M[at - 3 : at, at - 3 : at] = body.mass * np.eye(3)
            M[at : at + 4, at : at + 4] = 4.0 * (B.T @ body.inertia @ B) + 4.0 * mean * np.outer(Q, Q)
        return M

    def force(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> Array:
        h = np.zeros(self.n_dof)
        for body, mean, (at, Q, rate) in zip(self.bodies, self.means, self._turns(q, u), strict=True):
            push, torque = self.loads[body.number]
            h[at - 3 : at] = body.mass * self.gravity + push
            h[at : at + 4] = 2.0 * (world_rates(Q).T @ torque) - 4.0 * mean * float(rate @ rate) * Q
            h[at : at + 4] -= 8.0 * (body_rates(rate).T @ (body.inertia @ (body_rates(Q) @ rate)))
        return h

    def energy(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> tuple[float, float]:
        q, u = np.asarray(q, dtype=float), np.asarray(u, dtype=float)
        weights = sum(body.mass * float(self.gravity @ q[7 * i : 7 * i + 3]) for i, body in enumerate(self.bodies))
        return 0.5 * float(u @ self.mass(q) @ u), -weights

    def gap(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        return np.array([0.5 * (float(Q @ Q) - 1.0) for _, Q, _ in self._turns(q)])

    def gap_sizes(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        return np.ones(len(self.bodies))

    def geometry(self, q: Any, t: float = 0.0, p: Array | None = None) -> tuple[Array, Array, Array]:
        n = len(self.bodies)
        W_T = np.zeros((n, self.n_dof))
        for row, (at, Q, _) in enumerate(self._turns(q)):
            W_T[row, at : at + 4] = Q
        return np.zeros((n, self.n_dof)), W_T, np.zeros((n, 2))

    def drift(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> Array:
        return np.array([(0.0, float(rate @ rate)) for _, _, rate in self._turns(q, u)])

    def laws(self, p: Array | None = None) -> tuple[Array, Array, Array, Array]:
        none = np.zeros(len(self.bodies))
        return none, none.copy(), none.copy(), none.copy()
