"""The linearised equations of a motion at one instant: mode, impact, closed contacts, indicators of events.

Every derivative is by the states x = (q, u), time and the parameters that the columns of `directions` move.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.analysis.impulse_slopes import impulse_slopes
from stickslip.analysis.law_branch import LawBranch
from stickslip.analysis.saltation import FollowedMotion, ImpactBranch, Undefined
from stickslip.analysis.slopes import Slopes
from stickslip.checks import Array
from stickslip.events.modes import Mode
from stickslip.laws import Newton
from stickslip.mechanisms.system import CONTACT, SPRING

MARGIN = 1e-6  # contacts nearer to the edge of their law, relative, are at a corner of it
_CONSISTENT = 1e-6  # share by which velocities of the held branch may differ from those of the motion


@dataclass
class LinearisedMotion(FollowedMotion):
    """A motion with the derivatives X = dx/dz, (2 f, k), of its state, and the doubts about them.

    Attributes
    ----------
    directions : (m, k), parameters that each column moves
    columns : (k,) names of the quantities
    X : at the present; that of the start, before it is put on its contacts, is given
    doubts : time [s] and reason, wherever a derivative holds on one side only, or does not exist
    """

    directions: Array = field(default_factory=lambda: np.zeros((0, 0)))
    X: Array = field(default_factory=lambda: np.zeros((0, 0)))
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tangent = False
        self.slopes = Slopes(self.system)
        branches = np.zeros((len(self.system.kink_contacts), self.directions.shape[1]))
        self.directions = np.concatenate([self.directions, branches])
        self.doubts: list[tuple[float, str]] = []

    @property
    def names(self) -> tuple[str, ...]:
        return self.system.contact_names

    def doubt(self, t: float, reason: str) -> None:
        """Write down that a derivative is in doubt, once per reason."""
        if all(said != reason for _, said in self.doubts):
            self.doubts.append((t, reason))

    def lose(self, t: float, reason: str) -> None:
        """There is no derivative from here on."""
        self.doubt(t, reason)
        self.X = np.full_like(self.X, np.nan)

    def points(self, t: Array, x: Array, mode: Mode) -> Array:
        """z = (q, u, t, p) at times t (P,), states x (P, 2 f): (N, P)."""
        p = self.in_mode(mode)
        return np.concatenate([x.T, t[None], np.repeat(p[:, None], len(t), axis=1)])

    def basis(self) -> Array:
        """Directions of the 2 f states, of time, and of the columns' parameters, (N, 2 f + 1 + k)."""
        n, k = 2 * self.f + 1, self.directions.shape[1]
        D = np.zeros((n + len(self.directions), n + k))
        D[:n, :n] = np.eye(n)
        D[n:, n:] = self.directions
        return D

    def linear(self, t: Array, x: Array, mode: Mode) -> tuple[Array, Array]:
        """A (P, 2 f, 2 f) and B (P, 2 f, k) of X' = A X + B."""
        f, n = self.f, 2 * self.f
        dy = self._equations(t, x, mode)[1][:f]  # (f, P, columns)
        dy = np.moveaxis(dy, 1, 0)
        A, B = np.zeros((len(t), n, n)), np.zeros((len(t), n, self.X.shape[1]))
        A[:, :f, f:] = np.eye(f)
        A[:, f:] = dy[:, :, :n]
        B[:, f:] = dy[:, :, n + 1 :]
        return A, B

    def _equations(self, t: Array, x: Array, mode: Mode) -> tuple[Array, Array]:
        """(du/dt, lambda) of a mode, (rows, P), and derivatives by states, time and parameters, (rows, P, ...)."""
        size = self.f + len(self.slopes.rows(mode))
        return self.slopes.solved(
            lambda Z, y: self.slopes.motion(Z, mode, y), self.points(t, x, mode), self.basis(), size
        )

    def _impact_slopes(self, z: Array, D: Array) -> tuple[Array, Array, Array]:
        """Derivatives of the last impact in directions D: of velocities behind it (f, K), and of impulses (n, 2, K).

        In between stand these velocities, (f,).
        """
        assert self.hit is not None
        f, n = self.f, 2 * self.f
        x, t = z[:n], float(z[n])
        if type(self.law) is not Newton:
            slopes = self._law_slopes(x, t, D)
            return slopes[:f], self.hit.u, slopes[f:].reshape(self.system.n_contacts, 2, D.shape[1])
        branch = ImpactBranch.of(self, x, constant=False)
        if branch.at_the_bound:
            self.doubt(t, "friction of an impact is right at its bound: the derivative holds on one side")
        self._doubt_pushes(x, t)
        residual, size = self.slopes.impact(branch)
        if self.system.has_friction_laws:  # friction follows the slip behind the impact: not linear
            pushes = np.stack([self.hit.normal_impulse, self.hit.tangential_impulse], axis=-1)
            y = np.concatenate([self.hit.u, [pushes[k, part] for k, part in branch.rows()]])
            self._require_balance(residual, z, y, t)
            dy = self.slopes.solved_near(residual, z, D, y)
        else:
            found = self.slopes.solved(residual, z[:, None], D, size)
            y, dy = found[0][:, 0], found[1][:, 0]
            self._require_consistent(y[:f], self.hit.u, t, x[f:])
        return dy[:f], self.hit.u, impulse_slopes(self.slopes, branch, z, D, y, dy)

    def _require_balance(self, residual: Any, z: Array, y: Array, t: float) -> None:
        """Raise where velocities and impulses y of the motion do not solve the equations of the branch."""
        start = z[:, None].astype(complex) if self.slopes.exact else z[:, None]
        left = np.real(residual(start, y[:, None]))[:, 0]
        M = self.system.mass(z[: self.f], t, self.p)
        moved = np.abs(y[: self.f]).max() + np.abs(z[self.f : 2 * self.f]).max()
        size = np.concatenate([np.abs(M).sum(axis=1) * moved, np.full(len(y) - self.f, moved)])
        if not np.all(np.abs(left) <= _CONSISTENT * size + 1e-300):
            raise Undefined(f"the impact at t = {t:.9g} s is on no branch whose derivative is known")

    def _doubt_pushes(self, x: Array, t: float) -> None:
        """Doubt impacts in which a contact touches, neither pushed nor left behind."""
        assert self.hit is not None
        system, hit = self.system, self.hit
        _, eps_N, eps_T, _ = system.laws_at(self.q, t, self.p, x[self.f :])
        eps_N, _ = self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        xi = hit.normal_velocity_after + eps_N * hit.normal_velocity_before
        W_N, _, w_hat = system.geometry(self.q, t, self.p)
        size = np.abs(W_N) @ (np.abs(x[self.f :]) + np.abs(hit.u)) + np.abs(w_hat[:, 0])
        touches = (self.kinds == CONTACT) & (system.gap(self.q, t, self.p) <= self.gap_tol)
        for k in np.flatnonzero(touches & (hit.normal_impulse <= 0.0) & (np.abs(xi) <= MARGIN * size)):
            pushed = W_N[(hit.normal_impulse > 0.0) & touches].T
            rest = W_N[k] - (pushed @ np.linalg.lstsq(pushed, W_N[k], rcond=1e-9)[0] if pushed.size else 0.0)
            inert = not np.any(np.abs(W_N[k] @ np.linalg.solve(system.mass(self.q, t, self.p), pushed)) > 1e-12)
            if np.abs(rest).max() > 1e-9 * np.abs(W_N[k]).max() and not (inert and self.mode.closed[k]):
                self.doubt(t, f"contact {self.names[k]!r} is just loaded in an impact: the derivative is one-sided")

    def _law_slopes(self, x: Array, t: float, D: Array) -> Array:
        """Derivatives of an impact under another law than Newton's, (f + 2 n, K), as in `LawBranch.blow`."""
        if self.system.has_friction_laws:
            raise Undefined(
                f"an impact under law {self.law.name!r} has friction that depends on slip: no derivative is known"
            )
        branch = LawBranch.of(self, x)
        found = branch.slopes(x, t, D)
        if branch.at_the_bound:
            self.doubt(t, "the impact law has a corner right at an impact: the derivative holds on one side")
        return found

    def _landing_slopes(self, z: Array, D: Array, closed: np.ndarray, sense: Array) -> Array:
        """Derivatives (f, K) of the velocities behind the projection onto closed contacts, in directions D."""
        residual, size = self.slopes.landing(closed, sense)
        y, dy = self.slopes.solved(residual, z[:, None], D, size)
        self._require_consistent(y[: self.f, 0], self.u, float(z[2 * self.f]), z[self.f : 2 * self.f])
        return dy[: self.f, 0]

    def _require_consistent(self, found: Array, moved: Array, t: float, before: Array) -> None:
        """Raise where the branch that is differentiated is not what the motion did."""
        size = np.abs(moved).max() + np.abs(before).max()
        if not np.abs(found - moved).max() <= _CONSISTENT * size + 1e-300:
            raise Undefined(f"the impact at t = {t:.9g} s is on no branch whose derivative is known")

    def _closed_rows(self) -> tuple[Any, Array, Array]:
        """Linearised equations of contacts that stay closed: their numbers, gradients (m, N), total changes (m, k)."""
        index = np.flatnonzero(self.mode.normal != 0)
        index = index[self.kinds[index] == CONTACT]
        x = np.concatenate([self.q, self.u])
        z = self.points(np.array([self.t]), x[None], self.mode)
        n = 2 * self.f
        gaps = self.slopes.slopes(lambda Z: self.slopes.gap(Z)[index], z, self.basis())[:, 0]
        rates = self.slopes.slopes(lambda Z: self.slopes.parts(Z).gamma[index, 0], z, self.basis())[:, 0]
        rows = np.concatenate([gaps, rates])
        return index, rows, rows[:, :n] @ self.X + rows[:, n + 1 :]

    def _guard(self, z: Array, D: Array, mode: Mode, slot: tuple[int, int], f_A: Array) -> tuple[Array, float, float]:
        """Derivatives of an indicator by states, time and parameters, its rate along the motion, and its size."""
        (k, part), n, N, slopes = slot, 2 * self.f, self.system.n_contacts, self.slopes
        if k >= N:
            g = slopes.slopes(lambda Z: slopes.kinks(Z)[k - N : k - N + 1], z[:, None], D)[0, 0]
        elif part == 0 and mode.normal[k] == 0 and self.kinds[k] == CONTACT:
            g = slopes.slopes(lambda Z: slopes.gap(Z)[k : k + 1], z[:, None], D)[0, 0]
        elif part == 0 and mode.normal[k] == 0:
            g = slopes.slopes(lambda Z: slopes.parts(Z).gamma[k, 0:1], z[:, None], D)[0, 0]
        elif part == 1 and mode.stick[k] == 0 and self.kinds[k] == SPRING:
            g = mode.slip[k] * slopes.slopes(lambda Z: slopes.gap(Z)[k : k + 1], z[:, None], D)[0, 0]
        elif part == 1 and mode.stick[k] == 0:
            g = mode.slip[k] * slopes.slopes(lambda Z: slopes.parts(Z).gamma[k, 1:2], z[:, None], D)[0, 0]
        else:
            g = self._force_guard(z, D, mode, k, part)
        terms = float(np.abs(g[:n]) @ np.abs(f_A) + abs(g[n]))
        return g, float(g[:n] @ f_A + g[n]), terms

    def _force_guard(self, z: Array, D: Array, mode: Mode, k: int, part: int) -> Array:
        """Derivatives of lambda_N, or of mu lambda_N + a - |lambda_T|."""
        f, rows = self.f, self.slopes.rows(mode)
        y, dy = self._equations(z[2 * f : 2 * f + 1], z[: 2 * f][None], mode)
        if part == 0:
            return dy[f + rows.index((k, 0)), 0]
        point = z[:, None].astype(complex) if self.slopes.exact else z[:, None]
        mu = float(np.real(self.slopes.parts(point).mu[k, 0]))
        bound = self.slopes.slopes(lambda Z: np.stack([(p := self.slopes.parts(Z)).mu[k], p.a[k]]), z[:, None], D)[:, 0]
        at, tangential = f + rows.index((k, 1)), 0.0
        load, dload = 0.0, np.zeros(D.shape[1])
        if (k, 0) in rows:
            load, dload = float(y[f + rows.index((k, 0)), 0]), dy[f + rows.index((k, 0)), 0]
        tangential = np.sign(float(y[at, 0]))
        return np.asarray(bound[0] * load + mu * dload + bound[1] - tangential * dy[at, 0])
