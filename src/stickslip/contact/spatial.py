"""The contact problem of one step with contacts in space among its contacts, and the methods that solve it.

A contact in space takes two rows of a `PlanarProblem`: its own, with the normal and the first tangent, and that of its
second tangent, which has no normal part.  Its friction impulse is that of `spatial_contact`: in mu Lambda_N C, and of
most dissipation.  The problem is no LCP, so that methods for LCPs do not apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.contact.any_section import one_contact_solutions
from stickslip.contact.planar import SETTLED_NOT, PlanarProblem
from stickslip.contact.sections import CrossSection, section_row
from stickslip.contact.spatial_contact import (
    DISC,
    friction_defect,
    section_extent,
    section_gauge,
    spatial_contact,
)
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.lcp.residuals import IMPULSE_SHARE
from stickslip.projections import AT_BOUND

Section = Any
"""A row of numbers, see `spatial_contact`, or a `CrossSection` of a user's own class."""


@dataclass(frozen=True)
class Spatial:
    """Which rows of k are contacts in space.

    first : (s,) rows of the contacts; second : (s,) rows of their second tangents; sections : s of them
    """

    first: np.ndarray
    second: np.ndarray
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, tangent: np.ndarray, sections: Sequence[CrossSection | None]) -> Spatial:
        """tangent : (k,) bool, rows of second tangents; sections : of the rows, None for the disc."""
        second = np.flatnonzero(tangent)
        rows = [section_row(sections[int(i)]) for i in second]
        own = [sections[int(i)] for i in second]
        return cls(second - 1, second, tuple(b if a is None else a for a, b in zip(rows, own, strict=True)))

    def bound(self, mu: np.ndarray, Lambda_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Largest friction impulses of the contacts along their two tangents, (s,) each [N s]."""
        extents = np.array([_extents(section) for section in self.sections]).reshape(-1, 2)
        N = Lambda_N[self.first]
        return mu[self.first] * N * extents[:, 0], mu[self.second] * N * extents[:, 1]

    def defects(self, mu: np.ndarray, Lambda_N: np.ndarray, Lambda_T: np.ndarray, xi_T: np.ndarray) -> np.ndarray:
        """Violations of the friction laws [m/s], (s,); inf for impulses off their sections."""
        return np.array(
            [
                _defect(section, Lambda_N[i], Lambda_T[i], Lambda_T[j], mu[i], mu[j], xi_T[i], xi_T[j])
                for i, j, section in zip(self.first, self.second, self.sections, strict=True)
            ]
        )

    def shares(self, mu: np.ndarray, Lambda_N: np.ndarray, Lambda_T: np.ndarray) -> np.ndarray:
        """psi(T) / (mu N) of the contacts, (s,): 1 on the edge of the section, where they slip; 0 without load."""
        found = np.zeros(len(self.first))
        for number, (i, j, section) in enumerate(zip(self.first, self.second, self.sections, strict=True)):
            if Lambda_N[i] > 0.0 and mu[i] > 0.0:
                s = Lambda_T[i] / (mu[i] * Lambda_N[i]), Lambda_T[j] / (mu[j] * Lambda_N[i])
                found[number] = _gauge(section, *s)
        return found


@dataclass(frozen=True)
class SpatialProblem(PlanarProblem):
    """A contact problem some of whose contacts have two tangents; see `PlanarProblem` for the other attributes."""

    space: Spatial

    in_space = True

    def bound(self, Lambda_N: np.ndarray) -> np.ndarray:
        found = super().bound(Lambda_N)
        found[self.space.first], found[self.space.second] = self.space.bound(self.mu, Lambda_N)
        return found

    def residual(self, Lambda_N: np.ndarray, Lambda_T: np.ndarray) -> float:
        """Worst violation of the laws, relative to the velocities, see `PlanarProblem.residual`.

        That of a contact in space is the distance of its slip to what dissipates most, see
        `spatial_contact.friction_defect`, over the sizes of both its slips.
        """
        if not np.all(np.isfinite(Lambda_N) & np.isfinite(Lambda_T)) or np.any(Lambda_N < 0.0):
            return np.inf
        xi_N, xi_T = self.slip_velocities(Lambda_N, Lambda_T)
        bound = self.bound(Lambda_N)
        size_N = self.size_N + IMPULSE_SHARE * (np.abs(self.G_NN) @ Lambda_N + np.abs(self.G_NT) @ bound)
        size_T = self.size_T + IMPULSE_SHARE * (np.abs(self.G_NT.T) @ Lambda_N + np.abs(self.G_TT) @ bound)
        return self.worst(Lambda_N, Lambda_T, xi_N, xi_T, size_N, size_T)

    def worst(
        self, Lambda_N: np.ndarray, Lambda_T: np.ndarray, xi_N: np.ndarray, xi_T: np.ndarray, size_N: np.ndarray,
        size_T: np.ndarray,
    ) -> float:  # fmt: skip
        """Worst violation of the laws by the velocities xi, relative to sizes."""
        first, second = self.space.first, self.space.second
        planar = self.tangential.copy()
        planar[first] = planar[second] = False
        bound = self.bound(Lambda_N)
        if np.any(np.abs(Lambda_T[planar]) > bound[planar] * (1.0 + AT_BOUND)):
            return np.inf
        defect_N = np.where(Lambda_N > 0.0, np.abs(xi_N), np.maximum(0.0, -xi_N)) / np.where(size_N > 0, size_N, 1.0)
        at_bound = np.abs(Lambda_T) >= bound * (1.0 - AT_BOUND)
        against = np.maximum(0.0, np.where(Lambda_T > 0.0, xi_T, -xi_T))
        defect_T = np.where(at_bound, against, np.abs(xi_T))
        defect_T = np.where(bound > 0.0, defect_T, 0.0) / np.where(size_T > 0, size_T, 1.0)
        defects = self.space.defects(self.mu, Lambda_N, Lambda_T, xi_T)
        if np.any(np.isinf(defects)):
            return np.inf
        sizes = np.hypot(size_T[first], size_T[second])
        found = max(np.max(defect_N[self.normal], initial=0.0), np.max(defect_T[planar], initial=0.0))
        return float(max(found, np.max(defects / np.where(sizes > 0.0, sizes, 1.0), initial=0.0)))

    # -- methods ---------------------------------------------------------------------------------------------

    def block(self, i: int, j: int) -> np.ndarray:
        """Delassus matrix (3, 3) of the contact in rows i and j."""
        T = [i, j]
        D = np.empty((3, 3))
        D[0, 0], D[0, 1:], D[1:, 0] = self.G_NN[i, i], self.G_NT[i, T], self.G_NT[i, T]
        D[1:, 1:] = self.G_TT[np.ix_(T, T)]
        return D

    def sweeps(self, limit: int) -> tuple[np.ndarray, np.ndarray, int, str]:
        """Contact after contact, each solved exactly with the others held, until nothing moves."""
        k = self.contacts
        N, T = np.zeros(k), np.zeros(k)
        partner = dict(zip(self.space.first.tolist(), self.space.second.tolist(), strict=True))
        sections = dict(zip(self.space.first.tolist(), self.space.sections, strict=True))
        rows = [i for i in range(k) if i not in set(self.space.second.tolist())]
        for sweep in range(1, limit + 1):
            change = 0.0
            for i in rows:
                xi_N, xi_T = self.slip_velocities(N, T)
                size = self.size_N[i] + self.size_T[i]
                if i not in partner:
                    alpha, beta, delta = self.G_NN[i, i], self.G_TT[i, i], self.G_NT[i, i]
                    c_N, c_T = xi_N[i] - alpha * N[i] - delta * T[i], xi_T[i] - delta * N[i] - beta * T[i]
                    after = one_contact(alpha, beta, delta, c_N, c_T, self.mu[i], self.a[i])
                    step = abs(alpha * (after[0] - N[i])) + abs(beta * (after[1] - T[i]))
                    N[i], T[i] = after
                else:
                    j = partner[i]
                    D, size = self.block(i, j), size + self.size_T[j]
                    before = np.array([N[i], T[i], T[j]])
                    c = np.array([xi_N[i], xi_T[i], xi_T[j]]) - D @ before
                    mu = float(self.mu[i]), float(self.mu[j])
                    found = np.array(_solve_one(D.copy(), c, *mu, sections[i], before[1:]), dtype=float)
                    step = float(np.diag(D) @ np.abs(found - before))
                    N[i], T[i], T[j] = found
                change = max(change, step / max(size, 1e-300))
            if len(rows) == 1 or change < 1e-14:
                return N, T, sweep, f"solved in {sweep} sweep{'s' if sweep > 1 else ''}"
        return N, T, limit, f"Gauss-Seidel {SETTLED_NOT} in {limit} sweeps"

    def newton(self, limit: int, tol: float) -> tuple[np.ndarray, np.ndarray, int, str]:
        """Semismooth Newton method on the equations of Alart and Curnier, after some sweeps; for discs and ellipses."""
        N, T, sweeps, _ = self.sweeps(20)
        if any(not isinstance(section, np.ndarray) or section[0] != DISC for section in self.space.sections):
            return self.sweeps(limit * 50)
        best, least = (N, T), self.residual(N, T)
        k = self.contacts
        G = np.block([[self.G_NN, self.G_NT], [self.G_NT.T, self.G_TT]])
        for iteration in range(1, limit + 1):
            if least <= 0.01 * tol:
                return *best, sweeps + iteration, f"solved in {iteration} Newton steps"
            value, slopes = self._equations(N, T, G)
            step = np.linalg.lstsq(slopes, -value, rcond=1e-14)[0]
            size, length = float(np.abs(value).sum()), 1.0
            for _ in range(8):
                N_new, T_new = N + length * step[:k], T + length * step[k:]
                if float(np.abs(self._equations(N_new, T_new, G)[0]).sum()) < size:
                    break
                length *= 0.5
            N, T = N_new, T_new
            onto = self._onto_laws(N, T)
            found = self.residual(*onto)
            if found < least:
                best, least = onto, found
        return *best, sweeps + limit, f"augmented Lagrangian {SETTLED_NOT} in {limit} steps"

    def by_cones(self, tol: float) -> tuple[np.ndarray, np.ndarray, int, str]:
        """By the solvers for frictional contact problems, which also know contacts that share a load; discs alone."""
        from stickslip.contact.problem import FrictionProblem  # which knows planar problems, and they this one
        from stickslip.contact.solve import solve_friction

        k = self.contacts
        second = dict(zip(self.space.first.tolist(), self.space.second.tolist(), strict=True))
        rows = [i for i in range(k) if i not in second.values()]
        discs = all(isinstance(section, np.ndarray) and section[0] == DISC for section in self.space.sections)
        if not discs or any(self.a[i] > 0.0 or (self.tangential[i] and i not in second) for i in rows):
            return np.zeros(k), np.zeros(k), 0, f"other laws than Coulomb's with discs: {SETTLED_NOT}"
        G = np.block([[self.G_NN, self.G_NT], [self.G_NT.T, self.G_TT]])
        at = np.array([(i, k + i, k + second.get(i, i)) for i in rows]).ravel()
        xi = np.concatenate(self.slip_velocities(np.zeros(k), np.zeros(k)))
        W, q, mu = G[np.ix_(at, at)], xi[at], np.array([(self.mu[i], self.mu[second.get(i, i)]) for i in rows])
        for place, i in enumerate(rows):
            if i not in second:
                alone = [3 * place + 1, 3 * place + 2]
                W[alone], W[:, alone], q[alone], mu[place] = 0.0, 0.0, 0.0, 0.0
                W[alone, alone] = 1.0
        found = solve_friction(FrictionProblem(W, q, mu), tol=0.01 * tol, progress=False)
        x = np.zeros(2 * k)
        x[at] = found.r
        return *self._onto_laws(x[:k], x[k:]), found.iterations, found.status

    def _equations(self, N: np.ndarray, T: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations x - prox(x - rho xi) = 0 of impulses x = (N, T), (2 k,), and their derivatives by x."""
        k = self.contacts
        xi_N, xi_T = self.slip_velocities(N, T)
        value, slopes = np.concatenate([N, T]), np.eye(2 * k)
        second = dict(zip(self.space.first.tolist(), self.space.second.tolist(), strict=True))
        for i in range(k):
            if not self.normal[i]:
                continue
            alpha = self.G_NN[i, i]
            if N[i] - xi_N[i] / alpha > 0.0:
                value[i], slopes[i] = xi_N[i] / alpha, G[i] / alpha
        for i in range(k):
            if i in second.values():
                continue
            rows = [i, second[i]] if i in second else [i]
            bound = self.mu[rows] * max(0.0, N[i]) + self.a[rows]
            if not self.tangential[i] or not np.all(bound > 0.0):
                continue
            # in units of the bounds' shares m the section is a disc of radius r
            m = self.mu[rows] if self.mu[i] > 0.0 else np.ones(len(rows))
            radius = max(0.0, N[i]) + (self.a[i] / m[0])
            at = [k + row for row in rows]
            beta = float(np.max(self.G_TT[rows, rows] * m * m))
            trial = T[rows] / m - m * xi_T[rows] / beta
            length = float(np.linalg.norm(trial))
            if length <= radius:
                value[at], slopes[at] = m * xi_T[rows] / beta, (m / beta)[:, None] * G[at]
            else:
                along = trial / length
                value[at] = T[rows] / m - radius * along
                turn = radius / length * (np.eye(len(rows)) - np.outer(along, along))
                moved = np.zeros((len(rows), 2 * k))
                moved[np.arange(len(rows)), at] = 1.0 / m
                slopes[at] = moved - turn @ (moved - (m / beta)[:, None] * G[at])
                slopes[at, i] -= along * (1.0 if N[i] > 0.0 else 0.0)
        return value, slopes

    def _onto_laws(self, N: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses nearby that push and lie in their sections."""
        N, T = np.where(self.normal, np.maximum(0.0, N), 0.0), T.copy()
        T = np.clip(T, -self.bound(N), self.bound(N))
        share = self.space.shares(self.mu, N, T)
        beyond = np.where(share > 1.0 - 1e-9, np.where(share > 0.0, share, 1.0), 1.0)
        T[self.space.first] /= beyond
        T[self.space.second] /= beyond
        return N, T


def _extents(section: Section) -> tuple[float, float]:
    if isinstance(section, np.ndarray):
        return section_extent(section, 0), section_extent(section, 1)
    first, second = (max(section.support(axis), section.support(-axis)) for axis in np.eye(2))
    return first, second


def _gauge(section: Section, s1: float, s2: float) -> float:
    if isinstance(section, np.ndarray):
        return float(section_gauge(section, s1, s2))
    return float(section.gauge(np.array([s1, s2])))


def _defect(section: Section, N: float, T1: float, T2: float, m1: float, m2: float, x1: float, x2: float) -> float:
    """`friction_defect`, also for a section of a user's own class."""
    if isinstance(section, np.ndarray):
        return float(friction_defect(section, N, T1, T2, m1, m2, x1, x2))
    if N <= 0.0 or (m1 == 0.0 and m2 == 0.0):
        return 0.0 if T1 == 0.0 and T2 == 0.0 else math.inf
    s = np.array([T1 / (m1 * N), T2 / (m2 * N)])
    gauge = section.gauge(s)
    if not gauge <= 1.0 + 1e-9:
        return math.inf
    if gauge < 1.0 - 1e-9:
        return math.hypot(x1, x2)
    rays, y = section.slopes(s) / np.array([m1, m2]), np.array([-x1, -x2])
    beside = [float(np.linalg.norm(y - max(0.0, float(y @ ray)) * ray / (ray @ ray))) for ray in rays]
    if len(rays) == 2:
        share = np.linalg.lstsq(rays.T, y, rcond=None)[0]
        if np.all(share >= 0.0):
            return 0.0
    return min(beside)


def _solve_one(
    D: np.ndarray, q: np.ndarray, m1: float, m2: float, section: Section, before: np.ndarray
) -> tuple[float, float, float]:
    """`spatial_contact`, also for a section of a user's own class: its slip is bracketed between directions."""
    if isinstance(section, np.ndarray):
        given = D, tuple(q.tolist()), (m1, m2), section, tuple(before.tolist())
        found: tuple[float, float, float] = spatial_contact(*given)
        return found
    scale = np.array([1.0, m1, m2])
    solutions = one_contact_solutions(D * np.outer(scale, scale), q * scale, 1.0 if m1 > 0.0 else 0.0, section)
    if not solutions:
        return 0.0, 0.0, 0.0
    r = scale * solutions[int(np.argmin([np.abs(scale[1:] * x[1:] - before).sum() for x in solutions]))]
    return float(r[0]), float(r[1]), float(r[2])
