"""Semismooth Newton for the friction problem, in the form of Alart and Curnier.

With t_N = r_N - rho_N u_N and y = r_T - rho_T u_T

    F_N = r_N - max(0, t_N),     F_T = r_T - prox of the disk of radius mu max(0, t_N) at y.

dF = C du + E dr with one d x d block C and E per contact, so the Newton matrix is C (W + alpha I) + E:
`alpha` regularises the rank deficient W of a hyperstatic problem.  Contacts with C = 0 (open) drop out.  LU, never
Cholesky: W from other programs is not symmetric.  The line search accepts what is better than the worst of the last few
steps.  With the function of Fischer and Burmeister in its place 130 of 144 generated problems were solved in 2,086
steps, with this one 141 in 1,111.
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

    def system(self, u: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps known beforehand (open contacts) and the right-hand side."""
        c = self.contacts
        self.value(u, r)
        alart_curnier_slopes(u, r, c.mu, self.rho, c.dim, self.C, self.E, self.active)
        scale_rows(self.F, self.rho, self.active, c.dim, self.b)
        return np.where(np.repeat(self.active, c.dim), 0.0, -r), self.b


def newton_iterations(
    contacts: Contacts,
    r: np.ndarray,
    tol: float,
    max_iterations: int,
    progress: Progress,
    *,
    floor: float = 1e-9,
    stall: int = 0,
) -> Outcome:
    """Damped Newton from r; `floor` is the least alpha / mean diagonal of W, 0 for a fixed alpha = 0.

    alpha falls by five after a full step and trebles after a short one.  Gives up after `stall` steps below 0.05.
    """
    scale = contacts.mean_diagonal
    alpha = floor * scale
    form = AlartCurnier(contacts)
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
        dr, b = form.system(u, r)
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
    """Semismooth Newton, started by a few sweeps of Gauss-Seidel; sweeps: how many."""

    sweeps: int = 10

    name = "newton"
    default_iterations = 100

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        for _ in range(self.sweeps):
            sweep(contacts.coupled, contacts.local, r, 1.0, 0, len(contacts))
            progress.spend(contacts.sweep_cost)
            if progress.expired:
                break
        return newton_iterations(contacts, r, tol, self.limit, progress)
