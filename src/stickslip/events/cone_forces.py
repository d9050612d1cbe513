"""Forces of contacts that share a load in more ways than one: the least ones that their laws allow.

Four corners of a box on a floor have twelve forces and six equations.  The accelerations are unique, the forces are
not, so that no single force tells whether a corner may stick: the box sticks as long as *some* forces within the cones
hold it.  Of all forces x with A x = b, each within its cone, the least ones solve

    minimise |x|^2 / 2    subject to    A x = b,  x in K.

The dual problem has one unknown per equation, x = P_K(A^T y), and is solved by a semismooth Newton method.  Where no x
exists, y runs away, and what is left of A x = b tells how far the forces are from holding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array

DEPENDENT = 1e-10  # of the largest singular value: what is less is a constraint that the others imply
HOLDS = 1e-10  # of the load: what may be left of it
_STEPS = 80
_RUNAWAY = 1e7  # of the least forces without cones: the dual unknowns of forces that do not exist


@dataclass(frozen=True, eq=False)
class Cones:
    """Which entries of x are bounded: `pushes` (a,) >= 0, and `first` (b,) with |(x_{i+1}, x_{i+2})| <= x_i.

    All other entries are free.
    """

    pushes: np.ndarray
    first: np.ndarray

    def project(self, x: Array) -> Array:
        """The point of the cones nearest to x."""
        y = x.copy()
        y[self.pushes] = np.maximum(0.0, x[self.pushes])
        i = self.first
        N, T = x[i], np.hypot(x[i + 1], x[i + 2])
        mean = 0.5 * (N + T)
        share = np.where(T <= N, 1.0, np.where(T <= -N, 0.0, mean / np.where(T > 0.0, T, 1.0)))
        y[i] = np.where(T <= N, N, np.where(T <= -N, 0.0, mean))
        y[i + 1], y[i + 2] = share * x[i + 1], share * x[i + 2]
        return y

    def slope(self, x: Array) -> Array:
        """A derivative (n, n) of the projection."""
        D = np.eye(len(x))
        for k in self.pushes:
            D[k, k] = float(x[k] > 0.0)
        for i in self.first:
            N, T = x[i], x[i + 1 : i + 3]
            size = float(np.hypot(*T))
            if size <= N:
                continue
            at = slice(i, i + 3)
            if size <= -N:
                D[at, at] = 0.0
                continue
            s = T / size
            block = np.empty((3, 3))
            block[0, 0], block[0, 1:], block[1:, 0] = 0.5, 0.5 * s, 0.5 * s
            block[1:, 1:] = 0.5 * np.outer(s, s) + 0.5 * (1.0 + N / size) * (np.eye(2) - np.outer(s, s))
            D[at, at] = block
        return D

    def margin(self, x: Array) -> float:
        """How far x is inside, by its worst contact; inf without bounds."""
        i = self.first
        bound = x[i] - np.hypot(x[i + 1], x[i + 2])
        return float(min(np.min(x[self.pushes], initial=np.inf), np.min(bound, initial=np.inf)))


@dataclass(frozen=True, eq=False)
class Shared:
    """Equations A x = b with their rank: orthonormal rows V (r, n) and right sides c (r,), V x = c."""

    V: Array
    c: Array
    dependent: bool

    @classmethod
    def of(cls, A: Array, b: Array) -> Shared:
        U, s, V = np.linalg.svd(A)
        rank = int(np.sum(s > DEPENDENT * s[0])) if len(s) and s[0] > 0.0 else 0
        return cls(V[:rank], (U[:, :rank].T @ b) / s[:rank], rank < len(b))

    def least(self) -> Array:
        """The least x, whatever its signs."""
        return np.asarray(self.V.T @ self.c)

    def least_within(self, cones: Cones) -> tuple[Array, float]:
        """The least x within cones, and what it leaves of the load, as a share: above `HOLDS` where there is none."""
        load = float(np.linalg.norm(self.c))
        x = self.least()
        if load == 0.0 or cones.margin(x) >= 0.0:
            return x, 0.0
        y, damping, off = self.c.copy(), 1e-9, np.inf
        x = cones.project(self.V.T @ y)
        for _ in range(_STEPS):
            rest = self.V @ x - self.c
            off = float(np.linalg.norm(rest)) / load
            if off <= 1e-3 * HOLDS or np.linalg.norm(y) > _RUNAWAY * load:
                break
            z = self.V.T @ y
            H = self.V @ cones.slope(z) @ self.V.T
            value = 0.5 * float(x @ x) - float(self.c @ y)
            for _ in range(40):
                step = np.linalg.solve(H + damping * np.eye(len(y)), -rest)
                near = cones.project(self.V.T @ (y + step))
                gain = 0.5 * float(near @ near) - float(self.c @ (y + step)) - value
                if (
                    gain <= 1e-4 * float(rest @ step)
                    or float(np.linalg.norm(self.V @ near - self.c)) < 0.5 * off * load
                ):
                    damping = max(1e-14, 0.1 * damping)
                    break
                damping *= 10.0
            else:
                break
            y, x = y + step, near
        return x, off
