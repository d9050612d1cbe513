"""The contact problem of one time step, built in NumPy as [GS05] 5 and 6 write it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.complementarity.planar import PlanarProblem
from stickslip.model.system import CONTACT, SPRING, Array, System


@dataclass(frozen=True)
class StepProblem:
    """All that step 4 of [GS05] 5 needs: the velocities without contact impulses, the directions, and the local laws.

    `index` lists the k active contacts among the system's n; rows of W_N, W_T and w_hat belong to them.
    """

    index: np.ndarray
    g: Array
    M: Array
    u_A: Array
    u_free: Array
    W_N: Array
    W_T: Array
    w_hat: Array
    V_N: np.ndarray  # M^-1 W^T, one column per active contact
    V_T: np.ndarray
    local: PlanarProblem

    @property
    def gamma_A(self) -> tuple[Array, Array]:
        """Relative velocities at the beginning of the step, [GS05] eq. (10)."""
        return self.velocities(self.u_A)

    def velocities(self, u: Array) -> tuple[Array, Array]:
        return self.W_N @ u + self.w_hat[:, 0], self.W_T @ u + self.w_hat[:, 1]

    def end_velocity(self, Lambda_N: Array, Lambda_T: Array) -> Array:
        """u_E of [GS05] eq. (32)."""
        return self.u_free + np.linalg.solve(self.M, self.W_N.T @ Lambda_N + self.W_T.T @ Lambda_T)

    def residual(self, u_E: Array, Lambda_N: Array, Lambda_T: Array) -> float:
        """Worst violation of the laws by u_E, relative to the velocities that make it up; as the kernels measure it.

        The velocities that the impulses of single contacts make count, not their sum: on a block with two feet that
        rests, frictions that cancel leave nothing but rounding errors, and these are no violation.
        """
        local = self.local
        bound = local.bound(Lambda_N)
        if not np.all(np.isfinite(u_E)) or np.any(Lambda_N < 0) or np.any(np.abs(Lambda_T) > bound * (1 + 1e-12)):
            return np.inf
        change = np.abs(self.V_N) @ Lambda_N + np.abs(self.V_T) @ np.abs(Lambda_T)
        xi_N = local.c_N + self.W_N @ (u_E - self.u_free)
        xi_T = local.c_T + self.W_T @ (u_E - self.u_free)
        size_N = local.size_N + np.abs(self.W_N) @ change
        size_T = local.size_T + np.abs(self.W_T) @ change
        defect_N = np.where(Lambda_N > 0, np.abs(xi_N), np.maximum(0, -xi_N)) / np.where(size_N > 0, size_N, 1)
        sliding = np.maximum(0, np.where(Lambda_T > 0, xi_T, -xi_T))
        defect_T = np.where(np.abs(Lambda_T) >= bound * (1 - 1e-12), sliding, np.abs(xi_T))
        defect_T = np.where(bound > 0, defect_T, 0) / np.where(size_T > 0, size_T, 1)
        return float(max(np.max(defect_N[local.normal], initial=0.0), np.max(defect_T[local.tangential], initial=0.0)))


def contact_problem(system: System, t: float, q: Array, u_A: Array, dt: float, p: Array) -> StepProblem:
    """Build the problem at the midpoint (t, q) of a step of length dt that begins with velocity u_A.

    dt = 0 gives the pure impact equations ([GS05] end of 6): no forces, no load-independent friction, no springs.
    """
    M = system.mass(q, t, p)
    np.linalg.cholesky(M)  # LinAlgError unless it is positive definite; solve() below would take any regular matrix
    h = system.force(q, u_A, t, p)
    g = system.gap(q, t, p)
    if np.any(np.isnan(g)):
        culprit = system.contact_names[int(np.flatnonzero(np.isnan(g))[0])]
        raise FloatingPointError(f"the gap of contact {culprit!r} is not a number at t = {t:.9g} s")
    acceleration = np.linalg.solve(M, h)
    u_free = u_A + dt * acceleration
    kinds = np.array(system.contact_kinds, dtype=int)
    active = (kinds != CONTACT) | (g <= 0.0)  # [GS05] 5, step 3 (b)
    if dt == 0.0:
        active &= kinds != SPRING
    index = np.flatnonzero(active)
    W_N, W_T, w_hat = (rows[index] for rows in system.geometry(q, t, p))
    mu, eps_N, eps_T, threshold = (law[index] for law in system.laws(p))

    scale = np.abs(u_A) + np.abs(dt * acceleration)
    size_N = np.abs(w_hat[:, 0]) + np.abs(W_N) @ scale
    size_T = np.abs(w_hat[:, 1]) + np.abs(W_T) @ scale
    gamma_N = W_N @ u_A + w_hat[:, 0]
    gamma_T = W_T @ u_A + w_hat[:, 1]
    c_N = W_N @ u_free + w_hat[:, 0] + eps_N * gamma_N  # [GS05] eqs. (20), (21) with u_E = u_free
    c_T = W_T @ u_free + w_hat[:, 1] + eps_T * gamma_T
    spring = kinds[index] == SPRING
    if spring.any():  # Sgn of the displacement at the next midpoint, x_M + dt gamma_E
        c_T[spring] = (W_T @ u_free + w_hat[:, 1])[spring] + g[index][spring] / dt
        size_T[spring] += np.abs(g[index][spring] / dt)
    V_N, V_T = np.linalg.solve(M, W_N.T), np.linalg.solve(M, W_T.T)
    G_NN, G_NT, G_TT = W_N @ V_N, W_N @ V_T, W_T @ V_T
    local = PlanarProblem(
        G_NN=G_NN,
        G_NT=G_NT,
        G_TT=G_TT,
        c_N=c_N,
        c_T=c_T,
        mu=mu,
        a=threshold * dt,
        normal=np.diag(G_NN) > 0.0,
        tangential=np.diag(G_TT) > 0.0,
        size_N=size_N,
        size_T=size_T,
    )
    return StepProblem(index, g, M, u_A, u_free, W_N, W_T, w_hat, V_N, V_T, local)
