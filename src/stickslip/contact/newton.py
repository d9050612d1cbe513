"""Semismooth Newton for the friction problem, in the form of Alart and Curnier or with the Fischer-Burmeister function.

Alart-Curnier: with t_N = r_N - rho_N u_N and y = r_T - rho_T u_T

    F_N = r_N - max(0, t_N),     F_T = r_T - prox of the disk of radius mu max(0, t_N) at y.

Fischer-Burmeister: x = (mu r_N, r_T) and y = (u_N / mu + |u_T|, u_T) lie in the cone of Lorentz and are orthogonal when
x + y - (x^2 + y^2)^(1/2) = 0, squares and root in its Jordan algebra; smoothed by 2 eps^2 e under the root.

Either way dF = C du + E dr with one d x d block C and E per contact, so the Newton matrix is C (W + alpha I) + E:
`alpha` regularises the rank deficient W of a hyperstatic problem.  Contacts with C = 0 (open) drop out.  LU, never
Cholesky: W from other programs is not symmetric.  The line search accepts what is better than the worst of the last few
steps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as linalg
import scipy.sparse as sp

from stickslip.contact.cones import squares
from stickslip.contact.constants import HALVINGS, WINDOW
from stickslip.contact.contacts import Contacts, contacts_from
from stickslip.contact.effort import STEP, better_dense, factorise
from stickslip.contact.gauss_seidel import sweep
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.jit import entry

TOO_LONG = "the next factorisation would take longer than what is left"
FORMULATIONS = ("alart-curnier", "fischer-burmeister")


@entry
def alart_curnier_value(
    u: np.ndarray, r: np.ndarray, mu: np.ndarray, rho: np.ndarray, dim: int, F: np.ndarray
) -> float:
    """Write F and return |F|^2; rho (n, 2) holds rho_N, rho_T."""
    total = 0.0
    for i in range(mu.shape[0]):
        k = dim * i
        t_N = r[k] - rho[i, 0] * u[k]
        if t_N <= 0.0:
            for a in range(dim):
                F[k + a] = r[k + a]
        else:
            F[k] = rho[i, 0] * u[k]
            norm = 0.0
            for a in range(1, dim):
                norm += (r[k + a] - rho[i, 1] * u[k + a]) ** 2
            norm = math.sqrt(norm)
            radius = mu[i] * t_N
            factor = 1.0 if norm <= radius else radius / norm
            for a in range(1, dim):
                F[k + a] = r[k + a] - factor * (r[k + a] - rho[i, 1] * u[k + a])
        for a in range(dim):
            total += F[k + a] ** 2
    return total


@entry
def alart_curnier_slopes(
    u: np.ndarray,
    r: np.ndarray,
    mu: np.ndarray,
    rho: np.ndarray,
    dim: int,
    C: np.ndarray,
    E: np.ndarray,
    active: np.ndarray,
) -> None:
    """Blocks of dF = C du + E dr; rows of active contacts carry the units of a velocity (divided by rho)."""
    for i in range(mu.shape[0]):
        k = dim * i
        for a in range(dim):
            for b in range(dim):
                C[i, a, b] = 0.0
                E[i, a, b] = 0.0
        t_N = r[k] - rho[i, 0] * u[k]
        active[i] = t_N > 0.0
        if not active[i]:
            for a in range(dim):
                E[i, a, a] = 1.0
            continue
        C[i, 0, 0] = 1.0
        norm = 0.0
        for a in range(1, dim):
            norm += (r[k + a] - rho[i, 1] * u[k + a]) ** 2
        norm = math.sqrt(norm)
        radius = mu[i] * t_N
        if norm <= radius and mu[i] > 0.0:
            for a in range(1, dim):
                C[i, a, a] = 1.0
            continue
        scale = 1.0 / norm if norm > 0.0 else 0.0
        factor = radius * scale
        for a in range(1, dim):
            e_a = (r[k + a] - rho[i, 1] * u[k + a]) * scale
            C[i, a, 0] = mu[i] * e_a * rho[i, 0] / rho[i, 1]
            E[i, a, 0] = -mu[i] * e_a / rho[i, 1]
            for b in range(1, dim):
                unit = 1.0 if a == b else 0.0
                P = factor * (unit - e_a * (r[k + b] - rho[i, 1] * u[k + b]) * scale)
                C[i, a, b] = P
                E[i, a, b] = (unit - P) / rho[i, 1]


@entry
def scale_rows(F: np.ndarray, rho: np.ndarray, active: np.ndarray, dim: int, b: np.ndarray) -> None:
    """b = -F, divided by rho where the rows of `alart_curnier_slopes` are."""
    for i in range(active.shape[0]):
        for a in range(dim):
            scale = 1.0
            if active[i]:
                scale = rho[i, 0] if a == 0 else rho[i, 1]
            b[dim * i + a] = -F[dim * i + a] / scale


@entry
def scalar_pair(
    u: np.ndarray, r: np.ndarray, rho: float, i: int, eps: float, F: np.ndarray, C: np.ndarray, E: np.ndarray
) -> None:
    """Contact i without friction: the scalar Fischer-Burmeister function of (r_N, rho u_N), and r_T = 0."""
    dim = E.shape[1]
    k = dim * i
    a, b = r[k], rho * u[k]
    root = math.sqrt(a * a + b * b + 2.0 * eps * eps)
    F[k] = a + b - root
    E[i, 0, 0] = 1.0 - a / root
    C[i, 0, 0] = rho * (1.0 - b / root)
    for c in range(1, dim):
        F[k + c] = r[k + c]
        E[i, c, c] = 1.0


@entry
def lorentz_root(x: np.ndarray, y: np.ndarray, eps: float, z: np.ndarray) -> float:
    """z = (x^2 + y^2 + 2 eps^2 e)^(1/2) in the Jordan algebra of the cone, by spectral values; returns det z."""
    dim = x.shape[0]
    head, norm = 2.0 * eps * eps, 0.0
    for a in range(dim):
        head += x[a] ** 2 + y[a] ** 2
    for a in range(1, dim):
        z[a] = 2.0 * (x[0] * x[a] + y[0] * y[a])
        norm += z[a] ** 2
    norm = math.sqrt(norm)
    low = math.sqrt(max(head - norm, 2.0 * eps * eps))
    high = math.sqrt(head + norm)
    z[0] = 0.5 * (low + high)
    for a in range(1, dim):
        z[a] *= 0.5 * (high - low) / norm if norm > 0.0 else 0.0
    return low * high


@entry
def arrow(v: np.ndarray, out: np.ndarray) -> None:
    """L_v, the matrix of the product with v: v_0 on the diagonal, v in the first row and column."""
    for a in range(v.shape[0]):
        out[a, a] = v[0]
        out[0, a] = v[a]
        out[a, 0] = v[a]


@entry
def arrow_inverse(z: np.ndarray, det: float, out: np.ndarray) -> None:
    """L_z^-1 = 1/det ( z_0, -z_T; -z_T, (det I + z_T z_T^T) / z_0 )."""
    out[0, 0] = z[0] / det
    for a in range(1, z.shape[0]):
        out[0, a] = -z[a] / det
        out[a, 0] = out[0, a]
        for b in range(1, z.shape[0]):
            out[a, b] = ((det if a == b else 0.0) + z[a] * z[b]) / (det * z[0])


@entry
def add_slopes(Lz: np.ndarray, L: np.ndarray, S: np.ndarray, out: np.ndarray) -> None:
    """out <- out + (I - L_z^-1 L) S."""
    dim = S.shape[0]
    for a in range(dim):
        for c in range(dim):
            slope = 1.0 if a == c else 0.0
            for e in range(dim):
                slope -= Lz[a, e] * L[e, c]
            for b in range(dim):
                out[a, b] += slope * S[c, b]


@entry
def fischer_burmeister(
    u: np.ndarray,
    r: np.ndarray,
    mu: np.ndarray,
    rho: np.ndarray,
    eps: float,
    F: np.ndarray,
    C: np.ndarray,
    E: np.ndarray,
) -> float:
    """Write F, C and E and return |F|^2.  x = (mu r_N, r_T), y = rho (u_N / mu + |u_T|, u_T); rho has units of r / u.

    z = (x^2 + y^2 + 2 eps^2 e)^(1/2);  L_z dz = L_x dx + L_y dy, L_v the arrow matrix of v; dF = dx + dy - dz.
    """
    dim = E.shape[1]
    x, y, z = np.empty(dim), np.empty(dim), np.empty(dim)
    S, Y = np.zeros((dim, dim)), np.zeros((dim, dim))  # dx = S dr, dy = Y du
    Lz, L = np.zeros((dim, dim)), np.zeros((dim, dim))
    total = 0.0
    for i in range(mu.shape[0]):
        k = dim * i
        for a in range(dim):
            for b in range(dim):
                C[i, a, b] = 0.0
                E[i, a, b] = 0.0
        if mu[i] == 0.0:
            scalar_pair(u, r, rho[i], i, eps, F, C, E)
        else:
            slip = 1e-300
            for a in range(1, dim):
                slip += u[k + a] ** 2
            slip = math.sqrt(slip)
            x[0], S[0, 0] = mu[i] * r[k], mu[i]
            y[0], Y[0, 0] = rho[i] * (u[k] / mu[i] + slip), rho[i] / mu[i]
            for a in range(1, dim):
                x[a], S[a, a] = r[k + a], 1.0
                y[a], Y[a, a] = rho[i] * u[k + a], rho[i]
                Y[0, a] = rho[i] * u[k + a] / slip
            det = lorentz_root(x, y, eps, z)
            arrow_inverse(z, det, Lz)
            arrow(x, L)
            add_slopes(Lz, L, S, E[i])
            arrow(y, L)
            add_slopes(Lz, L, Y, C[i])
            for a in range(dim):
                F[k + a] = x[a] + y[a] - z[a]
        for a in range(dim):
            total += F[k + a] ** 2
    return total


class Blocks(NamedTuple):
    """A matrix of blocks in rows, as SciPy's BSR has it: blocks (p, d, d), where rows begin, and columns."""

    data: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray


@entry
def assemble(
    W: Blocks,
    C: np.ndarray,
    E: np.ndarray,
    alpha: float,
    active: np.ndarray,
    dr: np.ndarray,
    b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """CSR arrays of C (W + alpha I) + E over the active contacts, and their right-hand side.

    dr holds the steps of the others, which are known: E = I and C = 0 there.
    """
    data, indptr, indices = W
    n = active.shape[0]
    dim = data.shape[1]
    place = np.full(n, -1, np.int64)
    count, entries = 0, 0
    for i in range(n):
        if active[i]:
            place[i] = count
            count += 1
    for i in range(n):
        if active[i]:
            for p in range(indptr[i], indptr[i + 1]):
                if active[indices[p]]:
                    entries += dim * dim
    row = np.zeros(dim * count + 1, np.int32)
    column = np.empty(entries, np.int32)
    value = np.empty(entries)
    right = np.empty(dim * count)
    w = 0
    for i in range(n):
        if not active[i]:
            continue
        for a in range(dim):
            k = dim * place[i] + a
            right[k] = b[dim * i + a]
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if not active[j]:
                    for c in range(dim):
                        if dr[dim * j + c] != 0.0:
                            for e in range(dim):
                                right[k] -= C[i, a, e] * data[p, e, c] * dr[dim * j + c]
                    continue
                for c in range(dim):
                    total = 0.0
                    for e in range(dim):
                        total += C[i, a, e] * data[p, e, c]
                    if j == i:
                        total += E[i, a, c] + alpha * C[i, a, c]
                    column[w] = dim * place[j] + c
                    value[w] = total
                    w += 1
            row[k + 1] = w
    return row, column, value, right


@entry
def scatter(row: np.ndarray, column: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
    """Write CSR arrays into a dense matrix of zeros."""
    for k in range(row.shape[0] - 1):
        for p in range(row[k], row[k + 1]):
            out[k, column[p]] = value[p]


def _solve_rows(row: np.ndarray, column: np.ndarray, value: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of the Newton system, of whatever quality; NaN where it is singular."""
    n = len(right)
    if better_dense(n, len(value)):
        A = np.zeros((n, n))
        scatter(row, column, value, A)
        return linalg.lapack.dgesv(A, right, overwrite_a=1)[2]
    try:
        return factorise(sp.csr_matrix((value, column, row), shape=(n, n)).tocsc()).solve(right)
    except RuntimeError:
        return np.full(n, np.nan)


def penalties(contacts: Contacts) -> np.ndarray:
    """rho_N = 1 / W_NN and rho_T = 1 / mean W_TT per contact, shape (n, 2)."""
    fallback = contacts.mean_diagonal
    normal = contacts.diagonal[:, 0]
    tangential = contacts.diagonal[:, 1:].mean(axis=1)
    safe = np.where(np.stack([normal, tangential], axis=1) > 0.0, np.stack([normal, tangential], axis=1), fallback)
    return np.ascontiguousarray(1.0 / safe)


class AlartCurnier:
    """Alart and Curnier's function F, and the data of its Newton system, at given impulses."""

    def __init__(self, contacts: Contacts) -> None:
        n, d = len(contacts), contacts.dim
        self.contacts, self.rho = contacts, penalties(contacts)
        self.F, self.b = np.empty(n * d), np.empty(n * d)
        self.C, self.E, self.active = np.empty((n, d, d)), np.empty((n, d, d)), np.empty(n, np.bool_)

    def value(self, u: np.ndarray, r: np.ndarray) -> float:
        return alart_curnier_value(u, r, self.contacts.mu, self.rho, self.contacts.dim, self.F)

    def system(self, u: np.ndarray, r: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
        """Steps known beforehand (open contacts) and the right-hand side."""
        c = self.contacts
        self.value(u, r)
        alart_curnier_slopes(u, r, c.mu, self.rho, c.dim, self.C, self.E, self.active)
        scale_rows(self.F, self.rho, self.active, c.dim, self.b)
        return np.where(np.repeat(self.active, c.dim), 0.0, -r), self.b


class _FischerBurmeister:
    """The Fischer-Burmeister function F, and the data of its Newton system; its smoothing follows the error."""

    def __init__(self, contacts: Contacts) -> None:
        n, d = len(contacts), contacts.dim
        self.contacts, self.rho = contacts, np.ascontiguousarray(penalties(contacts).mean(axis=1))
        self.F = np.empty(n * d)
        self.C, self.E, self.active = np.empty((n, d, d)), np.empty((n, d, d)), np.ones(n, np.bool_)
        self.eps = 0.0

    def value(self, u: np.ndarray, r: np.ndarray) -> float:
        c = self.contacts
        return fischer_burmeister(u, r, c.mu, self.rho, self.eps, self.F, self.C, self.E)

    def system(self, u: np.ndarray, r: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
        size = float(max(np.linalg.norm(r), self.rho.mean() * np.linalg.norm(u))) / math.sqrt(len(self.rho))
        self.eps = 1e-3 * min(1.0, error) * size + 1e-300
        self.value(u, r)
        return np.zeros(len(r)), -self.F


def newton_iterations(
    contacts: Contacts,
    r: np.ndarray,
    tol: float,
    max_iterations: int,
    progress: Progress,
    *,
    floor: float = 1e-9,
    stall: int = 0,
    formulation: str = "alart-curnier",
) -> Outcome:
    """Damped Newton from r; `floor` is the least alpha / mean diagonal of W, 0 for a fixed alpha = 0.

    alpha falls by five after a full step and trebles after a short one.  Gives up after `stall` steps below 0.05.
    """
    scale = contacts.mean_diagonal
    alpha = floor * scale
    form = AlartCurnier(contacts) if formulation == "alart-curnier" else _FischerBurmeister(contacts)
    merits: list[float] = []
    best = Best(r, np.inf)
    short = 0
    if not progress.affords(contacts.analysis_cost):
        return Outcome(r, contacts.error(r), 0, TOO_LONG)
    for k in range(max_iterations):
        u = contacts.velocity(r)
        error = contacts.error_at(u, r)
        best.offer(r, error)
        progress.note(error)
        if error <= tol or progress.expired:
            return Outcome(best.r, best.error, k)
        dr, b = form.system(u, r, error)
        merits.append(squares(form.F, 0, len(form.F)))
        cost = STEP + float(form.active.mean()) ** 2 * contacts.factorisation_cost
        if not progress.affords(cost):
            return Outcome(best.r, best.error, k, TOO_LONG)
        progress.spend(cost)
        if form.active.any():
            W = Blocks(contacts.data, contacts.indptr, contacts.indices)
            system = assemble(W, form.C, form.E, alpha, form.active, dr, b)
            dr.reshape(len(contacts), -1)[form.active] = _solve_rows(*system).reshape(-1, contacts.dim)
        if not np.all(np.isfinite(dr)):
            alpha = max(100.0 * alpha, 1e-12 * scale)
            r = best.r.copy()
            continue
        t = _step_length(form.value, u, r, contacts.product(dr), dr, max(merits[-WINDOW:]))
        r = r + t * dr
        short = short + 1 if t < 0.05 else 0
        if stall and short >= stall:
            return Outcome(best.r, best.error, k + 1)
        if floor:
            factor = 0.2 if t == 1.0 else (3.0 if t < 0.2 else 1.0)
            alpha = max(floor * scale, min(alpha * factor, scale))
    best.offer(r, contacts.error(r))
    return Outcome(best.r, best.error, max_iterations)


@functools.cache
def compile_newton() -> None:
    """Have the kernels compiled or loaded, once; what that takes is nothing a clock should count."""
    contacts = contacts_from(np.eye(2), np.array([-1.0, 0.3]), np.array([0.1]), 2)
    newton_iterations(contacts, np.array([0.5, 0.0]), -1.0, 1, Progress())


def _step_length(
    value: Callable[[np.ndarray, np.ndarray], float],
    u: np.ndarray,
    r: np.ndarray,
    du: np.ndarray,
    dr: np.ndarray,
    reference: float,
) -> float:
    t = 1.0
    for _ in range(1 + HALVINGS):
        if value(u + t * du, r + t * dr) <= (1.0 - 1e-4 * t) * reference:
            break
        t *= 0.5
    return t


@dataclass(frozen=True)
class ConeNewton(FrictionMethod):
    """Semismooth Newton, started by a few sweeps of Gauss-Seidel.

    Attributes: formulation "alart-curnier" or "fischer-burmeister"; sweeps before the first step.
    """

    formulation: str = "alart-curnier"
    sweeps: int = 10

    name = "newton"
    default_iterations = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.formulation not in FORMULATIONS:
            raise ValueError(f"formulation must be one of {', '.join(FORMULATIONS)}, got {self.formulation!r}.")

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        for _ in range(self.sweeps):
            sweep(contacts.coupled, contacts.local, r, 1.0, 0, len(contacts))
            progress.spend(contacts.sweep_cost)
            if progress.expired:
                break
        return newton_iterations(contacts, r, tol, self.limit, progress, formulation=self.formulation)
