"""Watched quantities of a smooth arc: indicators of the mode, their tolerances, and the length of the first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.arcs import Watch
from stickslip.events.looks import Levels, Looks
from stickslip.events.modes import ROUND_OFF, relative_velocities
from stickslip.events.present import Present
from stickslip.events.searching import Searching
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, SPRING

FORCE_TOLERANCE = 1e-9  # of the forces that the free accelerations ask for
_RESOLUTION = 1e-8  # of the contact forces over the run: the step size follows them that well


class Watching(Present, Searching):
    """A present whose mode is watched for its end."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._prepare_search()

    def _indicators(self, t: Array, y: Array) -> Array:
        n, kinks = self.system.n_contacts, len(self.system.kink_contacts)
        out = np.empty((len(t), n, 3))
        self.kernel.indicators(t, y, self.p, self.mode.constraints, out)
        if not kinks:
            return out
        levels = np.full((len(t), kinks, 3), np.inf)  # after the contacts
        for i in range(len(t)):
            levels[i, :, 0] = self._branches * self.system.kinks(y[i, : self.f], float(t[i]), self.p)
        levels[:, [j for j, k in self._gates if self.mode.closed[k]], 0] = 1.0  # closed contacts do not ask
        return np.concatenate([out, levels], axis=1)

    def _atol(self) -> Array:
        n = self.system.n_contacts
        forces = np.where(self.force_scale > 0.0, _RESOLUTION * self.force_scale * self.span, np.inf)
        motion = np.full(2 * self.f, self.atol)
        return np.concatenate([motion, forces[:, 0], forces[:, 1], np.full(2 * n, self.gap_tol), [np.inf]])

    def _watch(self) -> Watch:
        """The indicators of the present mode, with their tolerances."""
        mode, n = self.mode, self.system.n_contacts
        _, size = relative_velocities(self.system, self.t, self.q, self.u, self.p)
        # Not zero even at rest: a load that sets in after t must have made a velocity before its event is told from t.
        speed = ROUND_OFF * (size + 1e-2 * self.span * self.acceleration_scale) + 1e-2 * self.gap_tol / self.span
        force = FORCE_TOLERANCE * self.force_scale
        tol = np.empty((n, 2))
        gap = np.where(mode.closed, self.gap_tol, self._gap_noise())  # what others hold closed stays so up to gap_tol
        tol[:, 0] = np.where(mode.normal != 0, force[:, 0], np.where(self.kinds == CONTACT, gap, speed[:, 0]))
        tol[:, 1] = np.where(mode.stick != 0, force[:, 1], np.where(self.kinds == SPRING, self.gap_tol, speed[:, 1]))
        tol = np.concatenate([tol, np.full((len(self.system.kink_contacts), 2), self._kink_noise())])
        values = self._indicators(np.array([self.t]), self._vector()[None])[0, :, :2]
        armed = values > tol
        for slot in self.disarmed:
            armed[slot], tol[slot] = False, self.gap_tol
        self.disarmed.clear()
        return self._watcher(tol, armed)

    def _watcher(self, tol: Array, armed: np.ndarray) -> Watch:
        gaps = (self.kinds == CONTACT) & (self.mode.normal == 0)
        gaps = np.append(gaps, np.zeros(len(self.system.kink_contacts), bool))
        levels = self.system.kink_levels
        bounded = self.paces is not None or self.max_step < np.inf
        return Watch(
            self._indicators, tol, gaps, armed, self.gap_tol, len(self.system.kink_contacts),
            None if levels is None else self._looks, None if self.corners is None else self._corner,
            self._longest if bounded else None, None if self.narrow is None else self._hides,
        )  # fmt: skip

    def _slips(self, k: int) -> bool:
        return bool(self.mode.slip[k] != 0.0 and self.mode.stick[k] == 0)

    def _looks(self, t: Array, dense: Callable[[Any], Array]) -> Looks:
        """Where to look at the levels of the kinks, but for those that nobody asks."""
        levels = self.system.kink_levels
        assert levels is not None
        silent = np.zeros(len(self.system.kink_contacts), bool)
        silent[[j for j, k in self._gates if self.mode.closed[k]]] = True
        return Levels(levels, self._levels).looks(dense, self.f, t, self.p, silent)

    def _levels(self, t: Array, y: Array, p: Array) -> Array:
        """Levels of the kinks, (j, k)."""
        pairs = zip(y[:, : self.f], t.tolist(), strict=True)
        return np.array([self.system.kinks(q, time, p) for q, time in pairs]).T

    def _first_step(self) -> float | None:
        """The last step, but a quarter of the flight of a contact that has just left: its hop must be seen."""
        W_N, _, w_hat = self.system.geometry(self.q, self.t, self.p)
        gamma_N = W_N @ self.u + w_hat[:, 0]
        rise = W_N @ self.du + self.system.drift(self.q, self.u, self.t, self.p)[:, 0]
        left = (self.kinds == CONTACT) & (self.mode.normal == 0) & (gamma_N > 0.0) & (rise < 0.0)
        left &= self.system.gap(self.q, self.t, self.p) <= self.gap_tol
        flights = 2.0 * gamma_N[left] / -rise[left]
        limits = [0.25 * float(flights.min())] if len(flights) else []
        limits += [] if self.last_step is None else [self.last_step]
        if not limits:
            return None
        return min(max(min(limits), 4.0 * np.spacing(abs(self.t) + self.span)), self.t_end - self.t)

    def _drifts(self, t: float, y: Array) -> bool:
        held = (self.mode.closed & (self.kinds == CONTACT)) | (self.kinds == CONSTRAINT)
        return bool(np.any(np.abs(self.system.gap(y[: self.f], t, self.p)[held]) > 0.1 * self.gap_tol))
