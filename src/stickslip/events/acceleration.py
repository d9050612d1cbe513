"""The complementarity problem on acceleration level: forces and accelerations of contacts that are closed.

For contacts with g_N = gamma_N = 0, of which some slip (s = sgn gamma_T) and the others may stick (gamma_T = 0), with
zeta = (dW/dt)^T u + d w_hat/dt and the friction bound mu lambda_N + a:

    gamma_N' = w_N^T u' + zeta_N,    0 <= gamma_N' perp lambda_N >= 0
    slip:   lambda_T = -s (mu lambda_N + a)
    stick:  -lambda_T in (mu lambda_N + a) Sgn(gamma_T'),    gamma_T' = w_T^T u' + zeta_T
    M u' = h + W_N lambda_N + W_T lambda_T

It is [GS05] eq. (33) one level up ([GS05] end of 6); slip makes its matrix unsymmetric, and for large friction it may
have no solution or several ([PG05] section 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stickslip.checks import Array
from stickslip.contact.planar_lcp import PlanarLcp, impulses_of, new_lcp
from stickslip.lcp.enumeration import LIMIT as ENUMERATION_LIMIT
from stickslip.lcp.solve import enumerate_lcp, solve_lcp
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import System


@dataclass(frozen=True)
class Accelerations:
    """One solution: du/dt (f,); forces lambda_N, lambda_T [N] and relative accelerations of the k contacts, (k,)."""

    du: Array
    lambda_N: Array
    lambda_T: Array
    rise: Array
    slide: Array


@dataclass(frozen=True)
class AccelerationProblem:
    """The acceleration problem of k closed contacts.

    Attributes
    ----------
    index : numbers of the contacts among those of the system, (k,)
    normal, candidate : which have a normal part, and which may stick, (k,) bool
    s : sense of slip, +-1; 0 of candidates and of contacts without friction, (k,)
    mu, a : friction coefficient and load-independent part of the bound [N], (k,)
    W_N, W_T : directions, (k, f);  V_N, V_T : M^-1 of them, (f, k);  zeta : (k, 2)
    free : du/dt without the unknown forces, M^-1 (h - sum s a w_T), (f,), on the constraints; loose : without these
    inertia : mass matrix and constraints; with constraints V_N, V_T are P of the directions
    """

    index: np.ndarray
    normal: np.ndarray
    candidate: np.ndarray
    s: Array
    mu: Array
    a: Array
    W_N: Array
    W_T: Array
    V_N: Array
    V_T: Array
    zeta: Array
    free: Array
    loose: Array
    inertia: Inertia

    @classmethod
    def at(
        cls,
        system: System,
        t: float,
        q: Array,
        u: Array,
        p: Array,
        index: np.ndarray,
        s: Array,
        stopped: np.ndarray | None = None,
    ) -> AccelerationProblem:
        """The problem at a state; `index` lists the closed contacts, s (k,) their slip, 0 where they may stick.

        Where friction depends on slip, contacts that slip have the coefficient of their speed, candidates the static
        one; but those among `stopped` (n,) bool, whose slip has just come to rest, the one at speed zero.
        """
        index = np.asarray(index, dtype=int)
        index, s = index[~np.isin(index, system.constraints)], s[~np.isin(index, system.constraints)]
        directions = system.geometry(q, t, p)
        inertia = Inertia.at(system, q, t, p, directions=directions)
        W_N, W_T, _ = (rows[index] for rows in directions)
        mu, _, _, a = (law[index] for law in system.laws_at(q, t, p, None, index))
        if system.has_friction_laws:
            mu = _friction_now(system, t, q, u, p, index, s, stopped)
        V_N, V_T = (inertia.directions(W) for W in (W_N, W_T))
        frictional = (np.einsum("ij,ji->i", W_T, V_T) > 0.0) & ((mu > 0.0) | (a > 0.0))
        s = np.where(frictional, s, 0.0)
        h = system.force(q, u, t, p) - W_T.T @ (s * a)
        zeta = system.drift(q, u, t, p)
        free, loose = inertia.accelerate(h, zeta[inertia.index, 1])
        return cls(
            index=index,
            normal=np.einsum("ij,ji->i", W_N, V_N) > 0.0,
            candidate=frictional & (s == 0.0),
            s=s,
            mu=mu,
            a=a,
            W_N=W_N,
            W_T=W_T,
            V_N=V_N,
            V_T=V_T,
            zeta=zeta[index],
            free=free,
            loose=loose,
            inertia=inertia,
        )

    def reactions(self, solution: Accelerations) -> Array:
        """Forces of the constraints, (m,) [N]."""
        if not self.inertia:
            return np.zeros(0)
        T = solution.lambda_T + self.s * self.a  # without what `loose` has of it
        by_contacts = np.linalg.solve(self.inertia.M, self.W_N.T @ solution.lambda_N + self.W_T.T @ T)
        return self.inertia.answer(-self.inertia.J @ (solution.du - self.loose - by_contacts))

    @property
    def rows(self) -> int:
        """Size of the LCP."""
        return int(self.normal.sum() + 2 * self.candidate.sum())

    @property
    def alpha(self) -> Array:
        """w_N^T M^-1 w_N, (k,)."""
        return np.asarray(np.einsum("ij,ji->i", self.W_N, self.V_N))

    @property
    def beta(self) -> Array:
        """w_T^T M^-1 w_T, (k,)."""
        return np.asarray(np.einsum("ij,ji->i", self.W_T, self.V_T))

    @property
    def delta(self) -> Array:
        """w_N^T M^-1 w_T, (k,)."""
        return np.asarray(np.einsum("ij,ji->i", self.W_N, self.V_T))

    @property
    def jams(self) -> np.ndarray:
        """Contacts that slip against supercritical friction, alpha - mu s delta <= 0, (k,)."""
        return self.normal & (self.s != 0.0) & (self.alpha - self.mu * self.s * self.delta <= 0.0)

    @property
    def size(self) -> Array:
        """How large the numbers are that the relative accelerations without unknown forces are made of, (k, 2)."""
        free = np.abs(self.free)
        return np.stack([np.abs(self.W_N) @ free, np.abs(self.W_T) @ free], axis=-1) + np.abs(self.zeta)

    def lcp(self) -> PlanarLcp:
        """The LCP, scaled to unit diagonals, with x = (lambda_N, lambda_R, dgamma_L)."""
        N, S, k = np.flatnonzero(self.normal), np.flatnonzero(self.candidate), len(self.index)
        mu = np.where(S[:, None] == N, self.mu[S][:, None], 0.0)
        V_T = self.V_T[:, S]
        # slip: lambda_T = -s (mu lambda_N + a); candidates: lambda_T = lambda_R - mu lambda_N - a
        V_E = (self.V_N - self.V_T * (self.mu * self.s))[:, N] - V_T @ mu
        free = self.free - V_T @ self.a[S]
        E, b, d = np.zeros((2, k, 2, k)), np.zeros((2, k)), np.zeros((k, 3))
        for part, W, rows in ((0, self.W_N[N], N), (1, self.W_T[S], S)):
            E[part, rows[:, None], 0, N], E[part, rows[:, None], 1, S] = W @ V_E, W @ V_T
            b[part, rows] = W @ free + self.zeta[rows, part]
        d[N, 0], d[S, 1] = 1.0 / np.sqrt(self.alpha[N]), 1.0 / np.sqrt(self.beta[S])
        d[S, 2] = 1.0 / d[S, 1]
        return new_lcp(E, b, self.mu, self.a, d)

    def read(self, x: Array, lcp: PlanarLcp) -> Accelerations:
        """Forces and accelerations of a solution x of the LCP."""
        lambda_N, lambda_T = impulses_of(x, lcp, self.mu, self.a)
        lambda_T = np.where(self.candidate, lambda_T, -self.s * (self.mu * lambda_N + self.a))
        du = self.free + self.V_N @ lambda_N + self.V_T @ (lambda_T + self.s * self.a)
        return Accelerations(du, lambda_N, lambda_T, self.W_N @ du + self.zeta[:, 0], self.W_T @ du + self.zeta[:, 1])

    def least_friction(self, solution: Accelerations, tol: float) -> Accelerations:
        """Accelerations of a solution, with forces of the least sum |lambda_T| over the contacts that stay at rest.

        Where more contacts stick than motion needs, their shares of the load are free within the bounds.  Those of the
        linear program are zero or at the bound except for as many as motion needs: what `Mode` can keep.
        """
        rests = self.candidate & (np.abs(solution.slide) <= tol * self.scale(solution)[:, 1])
        if rests.sum() < 2:
            return solution
        k, slips = len(self.index), np.where(self.candidate, np.sign(solution.slide), self.s)
        slips[rests] = 0.0
        # unknowns: lambda_N, and lambda_T = right - left of those at rest; others have lambda_T = -s (mu lambda_N + a)
        W_T = self.W_T * rests[:, None]
        total = self.W_N.T @ solution.lambda_N + self.W_T.T @ (solution.lambda_T + slips * self.a)
        balance = np.hstack([(self.W_N - (self.mu * slips)[:, None] * self.W_T).T, W_T.T, -W_T.T])
        within = np.hstack([-np.diag(self.mu), np.eye(k), np.eye(k)])[rests]
        limits = [(0.0, None if N > 0.0 else 0.0) for N in solution.lambda_N]
        limits += 2 * [(0.0, None if free else 0.0) for free in rests]
        cost = np.concatenate([np.zeros(k), np.ones(2 * k)])
        from scipy.optimize import linprog  # takes 0.2 s to load: only shared loads at rest need it

        answer = linprog(cost, A_ub=within, b_ub=self.a[rests], A_eq=balance, b_eq=total, bounds=limits)
        if not answer.success:  # rounding: the forces of the complementarity problem do as well
            return solution
        lambda_N, right, left = np.split(np.asarray(answer.x), 3)
        lambda_T = np.where(rests, right - left, -slips * (self.mu * lambda_N + self.a))
        return replace(solution, lambda_N=lambda_N, lambda_T=lambda_T)

    def scale(self, solution: Accelerations) -> Array:
        """How large the numbers are that a solution's relative accelerations are made of, (k, 2).

        What friction could do counts as well: where nothing pulls, round-off is no motion.
        """
        bound = self.mu * solution.lambda_N + self.a
        change = np.abs(self.V_N) @ solution.lambda_N + np.abs(self.V_T) @ np.abs(solution.lambda_T)
        scale = self.size + np.stack([np.abs(self.W_N) @ change, np.abs(self.W_T) @ change], axis=-1)
        scale[:, 1] += self.beta * bound
        return scale

    def residual(self, solution: Accelerations) -> float:
        """Worst violation of the laws, relative to the accelerations in them."""
        N, T, scale = solution.lambda_N, solution.lambda_T, self.scale(solution)
        scale = np.where(scale > 0.0, scale, 1.0)
        defect_N = np.where(N > 0.0, np.abs(solution.rise), np.maximum(0.0, -solution.rise)) / scale[:, 0]
        against = np.maximum(0.0, np.where(T > 0.0, solution.slide, -solution.slide))
        at_bound = np.abs(T) >= (self.mu * N + self.a) * (1.0 - 1e-12)
        defect_T = np.where(at_bound, np.where(np.abs(T) > 0.0, against, 0.0), np.abs(solution.slide)) / scale[:, 1]
        return float(max(np.max(defect_N[self.normal], initial=0.0), np.max(defect_T[self.candidate], initial=0.0)))

    def solve(self) -> tuple[Accelerations | None, str]:
        """A solution, or None and why not; where contact may as well end as last (Painleve), it ends: x = 0 first."""
        lcp = self.lcp()
        if not self.rows:
            return self.read(np.zeros(0), lcp), "solved: nothing to solve"
        answer = solve_lcp(lcp.A, lcp.b, tol=1e-9)
        if not answer.solved:
            return None, str(answer.status)
        return self.read(answer.x, lcp), str(answer.status)

    def solutions(self) -> list[Accelerations]:
        """Every solution, told apart by du/dt; for up to 20 rows of the LCP."""
        lcp = self.lcp()
        found: list[Accelerations] = []
        for answer in enumerate_lcp(lcp.A, lcp.b):
            solution = self.read(answer.x, lcp)
            tiny = 1e-8 * max(1e-300, float(np.abs(solution.du).max()), float(np.abs(self.free).max()))
            if all(np.abs(solution.du - other.du).max() > tiny for other in found):
                found.append(solution)
        return found

    @property
    def indeterminate(self) -> bool:
        """Whether there are several solutions; only looked for where friction is supercritical."""
        return bool(self.jams.any()) and self.rows <= ENUMERATION_LIMIT and len(self.solutions()) > 1


def _friction_now(
    system: System, t: float, q: Array, u: Array, p: Array, index: np.ndarray, s: Array, stopped: np.ndarray | None
) -> Array:
    """Coefficients (k,) of closed contacts whose friction depends on slip, see `AccelerationProblem.at`."""
    _, W_T, w_hat = system.geometry(q, t, p)
    slips = np.zeros(system.n_contacts, bool)
    slips[index] = s != 0.0
    speed = np.where(slips, np.abs(W_T @ u + w_hat[:, 1]), 0.0)
    moving = slips if stopped is None else slips | stopped
    return np.where(moving, system.sliding_friction(speed, p, (q, t)), system.laws_at(q, t, p)[0])[index]
