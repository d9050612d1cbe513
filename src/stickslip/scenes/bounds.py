"""Whether the motion of a scene has left all bounds; the reasoning is that of `stickslip.mechanisms.bounds`.

Of what moves the bodies of a scene, contacts and joints are solved for, rotation is implicit, and gravity and constant
forces are followed at any step.  Springs and dampers are followed only by steps well below their time scales, and make
energy without end otherwise.  So a scene is unresolved where one of its explicit springs is.  What forces that are
functions may do is not known, and the energy of a scene with them is not judged.

Velocities beyond `codes.LARGEST` end a run of any scene: their squares and products lose their meaning, and then all
numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from stickslip.codes import LARGEST
from stickslip.mechanisms.bounds import FACTOR, ROUNDING
from stickslip.scenes import layout, step
from stickslip.scenes import tables as tables
from stickslip.scenes.notes import rotor_energy

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine

RESOLVED = 0.5  # of the time scales of a spring and of a damper: the longest step that follows them


@dataclass
class SceneBounds:
    """Energies that the motion of a scene can reach from its start at t0 with the potential energy `potential` [J]."""

    engine: SceneEngine
    t0: float
    potential: float
    fall: float = 0.0  # of the potential so far, the largest [J]

    @cached_property
    def moving(self) -> np.ndarray:
        """Numbers of the bodies that move."""
        return np.flatnonzero(self.engine.bodies.kind == layout.MOVING)

    @cached_property
    def turning(self) -> np.ndarray:
        """1 / J about the axis of least inertia, of every body (n,); 0 for those that do not move."""
        found = np.zeros(len(self.engine.bodies.kind))
        for i in self.moving:
            principal = np.linalg.eigvalsh(self.engine.bodies.inertia[i].reshape(3, 3))
            found[i] = 1.0 / min((j for j in principal if j > 0.0), default=math.inf)
        return found

    @cached_property
    def widest(self) -> float:
        """Diameter of the largest body that moves [m], at most the size of the scene, and known at once."""
        return 2.0 * float(self.engine.bodies.radius[self.moving].max(initial=0.0))

    @cached_property
    def start(self) -> tuple[float, float, float]:
        """Energy that bodies bring along [J], sqrt(f . M^-1 f / 2) of the forces on them, size of the scene [m]."""
        bodies, i = tables.body_table(self.engine.scene, self.engine.fused), self.moving
        bodies.alive[:] = True
        g = self.engine.options.gravity
        kinetic, _ = step.energies(bodies, self.engine.springs, g)
        if self.engine.joints is not None:
            kinetic += rotor_energy(self.engine.joints, bodies)
        mortal = i[np.isfinite(bodies.life[i]).any(axis=1)]
        brought = np.abs(bodies.mass[mortal] * (bodies.pose[mortal, :3] @ g)).sum()
        f, torque = bodies.wrench[i, :3], bodies.wrench[i, 3:]
        strength = (f * f).sum(axis=1) / bodies.mass[i] + (torque * torque).sum(axis=1) * self.turning[i]
        places = bodies.pose[:, :3]
        size = float(np.ptp(places, axis=0).max() + 2.0 * bodies.radius[i].max(initial=0.0))
        return float(kinetic + brought), math.sqrt(0.5 * float(strength.sum())), size

    @cached_property
    def resolved(self) -> bool:
        """Whether the steps are short enough for all springs and dampers."""
        engine = self.engine
        if engine.springs is None or engine.options.implicit:
            return True
        springs, dt = engine.springs, engine.options.dt
        inverse = np.zeros(len(springs.a))
        for side, at in ((springs.a, springs.local_a), (springs.b, springs.local_b)):
            moves = engine.bodies.kind[side] == layout.MOVING
            lever = (at * at).sum(axis=1) * self.turning[side]
            inverse += np.where(moves, engine.bodies.inv_mass[side] + lever, 0.0)
        swing = dt * np.sqrt(springs.law[:, 0] * inverse)
        decay = dt * springs.law[:, 1] * inverse
        return bool(np.all(swing <= RESOLVED) and np.all(decay <= RESOLVED))

    def excess(self, t: float, energy: np.ndarray, work: float, depth: float) -> str | None:
        """Excess at states with energies (n, 2) [J] up to t [s], after so much work; None: nothing."""
        if self.too_fast(self.engine.bodies.vel):
            return self.fastest(self.engine.bodies.vel)
        if not np.all(np.isfinite(energy)) or not math.isfinite(work):
            return "an energy or a work of contacts beyond 1e308 J"
        if not self.engine.called and not self.resolved:
            brought, strength, _ = self.start
            rise = energy[:, 1] - self.potential
            gained = energy[:, 0] + np.maximum(rise, 0.0)
            pushed = (math.sqrt(brought) + strength * (t - self.t0)) ** 2
            noise = ROUNDING * (abs(self.potential) + np.abs(energy[:, 1]))
            self.fall = max(self.fall, float(np.max(-rise)))
            known = max(brought, abs(work), pushed, self.fall)
            beyond = gained - FACTOR * np.maximum(known, noise)
            worst = int(np.argmax(beyond))
            if beyond[worst] > 0.0:
                return (
                    f"an energy of {gained[worst]:.2g} J, where start, potential, contacts and forces account for "
                    f"{known:.2g} J, by steps that do not follow the springs"
                )
        if depth > FACTOR * self.widest and depth > FACTOR * self.start[2]:
            known_depth = self.start[2] + self._way(t - self.t0)
            if depth > FACTOR * known_depth:
                return (
                    f"a penetration of {depth:.2g} m, where size and start of the scene account for {known_depth:.2g} m"
                )
        return None

    def too_fast(self, velocity: np.ndarray) -> bool:
        """Whether one of the velocities (bodies, 6) of bodies that are there is beyond all bounds."""
        return bool(np.any(~(np.abs(velocity) <= LARGEST) & self.engine.bodies.alive[:, None]))

    def fastest(self, velocity: np.ndarray) -> str:
        """The fastest body and its velocity, in words."""
        size = np.where(self.engine.bodies.alive[:, None], np.nan_to_num(np.abs(velocity), nan=math.inf), 0.0)
        i, k = np.unravel_index(int(np.argmax(size)), size.shape)
        name, unit = self.engine.body_name(i), "m/s" if k < 3 else "rad/s"
        return f"a velocity of {size[i, k]:.2g} {unit} of {name!r}"

    def _way(self, elapsed: float) -> float:
        """How far velocities, gravity and constant forces of the start can take a body [m]."""
        bodies, i = tables.body_table(self.engine.scene, self.engine.fused), self.moving
        pull = np.linalg.norm(self.engine.options.gravity)
        force = np.linalg.norm(bodies.wrench[i, :3], axis=1) / bodies.mass[i]
        speed = np.linalg.norm(bodies.vel[:, :3], axis=1).max(initial=0.0)
        return float(speed * elapsed + 0.5 * (pull + force.max(initial=0.0)) * elapsed**2)
