"""Whether a motion has left all bounds: an unstable step size makes energy without end, and no contact problem fails.

Energy comes from four sources: the start, the potential, the contacts with their moving walls, and forces without a
potential.  A potential that depends on time (a spring whose end is driven) gives what it has risen by at the place of
the start.  The energy of forces is bounded by those of the start that push in one direction all the time,

    E_f(t) = (sqrt(T_0) + sqrt(f . M^-1 f / 2) (t - t_0))^2.

Here f = h(q, 0, t) + dV/dq is the largest at the start's position over the time of the run; the part of h that depends
on velocities is added with the velocities of the start.

A motion with a thousand times more than the largest of these energies is either driven ever faster by its forces, or
made up by the steps.  A free step decides: done in two halves it ends at the same place if the step follows the forces,
and elsewhere if it does not.  An alarm needs both, so a motion that is resolved never gives one.

An integrator that keeps its error within tolerances follows the forces where its tolerances are small against the
velocities.

A penetration needs no second test.  Steppers on velocity level notice a contact one step late.  This does not explain a
depth of a thousand times the largest of two lengths: the gaps at the start, and the way that velocities and forces of
the start can go in the time so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stickslip.checks import Array
from stickslip.mechanisms.system import CONTACT, System

FACTOR = 1e3  # excess over a bound that gives an alarm
ROUNDING = 1e-6  # share of the potential energy that counts as rounding; far above the true rounding errors
UNRESOLVED = 0.1  # relative difference of velocities between a free step and its two halves: no longer resolved
_DIFFERENCE = 1e-6
_TIMES = 64  # number of times at which forces of the start are looked at
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)  # spreads these times, out of step with any period


@dataclass
class Bounds:
    """Bounds of the motion of a system from (q, u) at t0 until t_end."""

    system: System
    q: Array
    u: Array
    p: Array
    t0: float
    t_end: float
    fall: float = 0.0  # of the potential so far, the largest [J]

    @cached_property
    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy at the start [J]; a potential energy that is not known counts as 0."""
        kinetic, potential = self.system.energy(self.q, self.u, self.t0, self.p)
        return float(kinetic), float(potential) if math.isfinite(potential) else 0.0

    @cached_property
    def forcing(self) -> tuple[float, Array, Array]:
        """sqrt(f . M^-1 f / 2) [J^1/2 / s]; the largest acceleration M^-1 h (f,); velocities of walls (n,) [m/s]."""
        strength, acceleration = 0.0, np.zeros(self.system.n_dof)
        walls = np.zeros(self.system.n_contacts)
        for k in range(_TIMES):
            t = self.t0 + (self.t_end - self.t0) * ((k * _GOLDEN) % 1.0)
            with np.errstate(all="ignore"):
                M = self.system.mass(self.q, t, self.p)
                h = self.system.force(self.q, self.u, t, self.p)
                at_rest = self.system.force(self.q, 0.0 * self.u, t, self.p)
                wall = self.system.geometry(self.q, t, self.p)[2][:, 0]
                for f in (at_rest + self._slope(t), h - at_rest):
                    # |a + b|^2 <= 2 |a|^2 + 2 |b|^2
                    strength = float(np.fmax(strength, 2.0 * f @ np.linalg.solve(M, f)))
                acceleration = np.fmax(acceleration, np.abs(np.linalg.solve(M, h)))
            walls = np.fmax(walls, np.abs(wall))
        return math.sqrt(0.5 * strength) if math.isfinite(strength) else math.inf, acceleration, walls

    def _slope(self, t: float) -> Array:
        """dV/dq at the start's position, by central differences; 0 where the potential is not known."""
        slope = np.zeros(self.system.n_dof)
        for j in range(len(slope)):
            step = np.zeros(len(slope))
            step[j] = _DIFFERENCE * max(1.0, abs(self.q[j]))
            above, below = (self.system.energy(self.q + d, self.u, t, self.p)[1] for d in (step, -step))
            slope[j] = (above - below) / (2.0 * step[j])
        return np.nan_to_num(slope)

    def _driven(self, t: Array) -> Array:
        """How much the potential at the place of the start has changed by times t (n,) [J]."""
        now = np.array([self.system.energy(self.q, self.u, float(x), self.p)[1] for x in t])
        return np.nan_to_num(np.abs(now - self.energies[1]), posinf=0.0)

    def excess(
        self,
        t: Array,
        q: Array,
        u: Array,
        kinetic: Array,
        potential: Array,
        work: float,
        dt: float,
        tolerances: tuple[float, float] | None = None,
    ) -> str | None:
        """Words for the quantity that exceeds its bound at states (n, f) with energies (n,) [J]; None if none does.

        dt : length of the steps that led there [s].
        tolerances : of an integrator that chooses its steps by its error, relative and absolute; dt means nothing then.
        """
        T_0, V_0 = self.energies
        level = np.where(np.isfinite(potential), potential, V_0)
        rise = level - V_0
        gained = kinetic + np.maximum(rise, 0.0)
        self.fall = max(self.fall, float(np.max(-rise)))
        known = np.full(len(t), max(T_0, abs(work), self.fall))
        noise = ROUNDING * (abs(V_0) + np.abs(level))
        if not np.any(gained > FACTOR * np.maximum(known, noise)):
            return None
        known = np.maximum(known, (math.sqrt(T_0) + self.forcing[0] * (t - self.t0)) ** 2)
        known = np.maximum(known, self._driven(t))
        beyond = gained - FACTOR * np.maximum(known, noise)
        worst = int(np.argmax(beyond))
        if not beyond[worst] > 0.0:
            return None
        if tolerances is None:
            resolved = self.resolved(float(t[worst]), q[worst], u[worst], dt)
        else:
            speed = float(np.abs(u[worst]).max())
            resolved = tolerances[0] * speed + tolerances[1] <= UNRESOLVED * speed
        if resolved:
            return None
        return (
            f"an energy of {gained[worst]:.2g} J, where start, potential, contacts and forces account for "
            f"{known[worst]:.2g} J, by steps that do not follow the forces"
        )

    def resolved(self, t: float, q: Array, u: Array, dt: float) -> bool:
        """Whether a step without contacts ends where its two halves do."""
        with np.errstate(all="ignore"):
            try:
                whole = self._step(t, q, u, dt)[1]
                half = self._step(t, q, u, 0.5 * dt)
                halves = self._step(t + 0.5 * dt, *half, 0.5 * dt)[1]
                M = self.system.mass(q, t, self.p)
            except (ArithmeticError, ValueError, np.linalg.LinAlgError):
                return False

            def size(v: Array) -> float:
                return math.sqrt(abs(float(v @ M @ v)))

            return size(whole - halves) <= UNRESOLVED * (size(u) + size(halves))

    def _step(self, t: float, q: Array, u: Array, dt: float) -> tuple[Array, Array]:
        """Position and velocity after a step of the midpoint rule."""
        middle, t_M = q + 0.5 * dt * u, t + 0.5 * dt
        h = self.system.force(middle, u, t_M, self.p)
        v = u + dt * np.linalg.solve(self.system.mass(middle, t_M, self.p), h)
        return middle + 0.5 * dt * v, v

    def too_deep(self, depth: float, t: float, q: Array, speed: Array | None = None) -> str | None:
        """Words for a penetration [m] that exceeds its bound at time t, with the motion at q; None if within.

        speed : of the coordinates since t0 (f,), where what pushes them is not among the forces of the start
        """
        system, elapsed = self.system, t - self.t0
        unilateral = np.array(system.contact_kinds, dtype=int) == CONTACT
        known = float(np.max(np.abs(system.gap(self.q, self.t0, self.p)[unilateral]), initial=0.0))
        if not depth > FACTOR * known:
            return None
        _, acceleration, walls = self.forcing
        fast = np.abs(self.u) if speed is None else np.fmax(np.abs(self.u), speed)
        way = fast * elapsed + 0.5 * acceleration * elapsed * elapsed
        for place in (self.q, q):
            W_N = np.abs(system.geometry(place, t, self.p)[0])
            known = max(known, float(np.max((W_N @ way + walls * elapsed)[unilateral], initial=0.0)))
        if not depth > FACTOR * known:
            return None
        return (
            f"a penetration of {depth:.2g} m, where gaps, velocities and forces of the start account for {known:.2g} m"
        )
