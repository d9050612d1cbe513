"""Alternating subproblems (Panagiotopoulos): normal impulses for given friction, then friction for given normals.

    normal      u_N >= 0 perp r_N >= 0, r_T held: an LCP, by projected Gauss-Seidel
    tangential  -u_T in the normal cone of the disk mu r_N at r_T, r_N held: convex, contact by contact by projection

Both are solved in turn, each to a tenth of the error at hand.  The iteration contracts for small friction; [GS05] 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.contact.blocks import Coupled
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import AT_ONCE
from stickslip.contact.method import FrictionMethod, Outcome, Progress, sweep_until
from stickslip.jit import entry
from stickslip.projections import project_disk, project_interval

INNER_LIMIT = 100


@entry
def velocity_of(contacts: Coupled, r: np.ndarray, i: int, a: int) -> float:
    """Component a of u_i = (W r + q)_i."""
    data, indptr, indices, q, _ = contacts
    dim = data.shape[1]
    total = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        k = dim * indices[p]
        for b in range(dim):
            total += data[p, a, b] * r[k + b]
    return q[dim * i + a] + total


@entry
def normal_sweep(contacts: Coupled, diagonal: np.ndarray, r: np.ndarray) -> float:
    """One sweep over the normal impulses, friction held; returns the norm of the change."""
    dim = contacts.data.shape[1]
    change = 0.0
    for i in range(diagonal.shape[0]):
        k = dim * i
        if diagonal[i, 0, 0] > 0.0:
            u_N = velocity_of(contacts, r, i, 0)
            new = max(0.0, r[k] - u_N / diagonal[i, 0, 0])
            change += (new - r[k]) ** 2
            r[k] = new
    return math.sqrt(change)


@entry
def tangential_step(D: np.ndarray) -> float:
    """1 / (largest row sum of the tangential local matrix), at most its inverse norm; 0 where it is zero."""
    dim = D.shape[0]
    largest = 0.0
    for a in range(1, dim):
        total = 0.0
        for b in range(1, dim):
            total += abs(D[a, b])
        largest = max(largest, total)
    return 1.0 / largest if largest > 0.0 else 0.0


@entry
def project_friction(r: np.ndarray, k: int, dim: int, x1: float, x2: float, bound: float) -> float:
    """Set r_T of the contact at k to the point nearest (x1, x2) within `bound`; returns the square of the change."""
    if dim == 3:
        n1, n2 = project_disk(x1, x2, bound)
        change = (n1 - r[k + 1]) ** 2 + (n2 - r[k + 2]) ** 2
        r[k + 1], r[k + 2] = n1, n2
        return change
    n1 = project_interval(x1, -bound, bound)
    change = (n1 - r[k + 1]) ** 2
    r[k + 1] = n1
    return change


@entry
def friction_step(
    contacts: Coupled, diagonal: np.ndarray, r: np.ndarray, i: int, bound: float, relaxation: float
) -> float:
    """r_T of contact i <- prox of the disk of radius `bound` at r_T - rho_T u_T; returns the square of the change."""
    dim = contacts.data.shape[1]
    k = dim * i
    step = relaxation * tangential_step(diagonal[i])
    x1 = r[k + 1] - step * velocity_of(contacts, r, i, 1)
    x2 = r[k + 2] - step * velocity_of(contacts, r, i, 2) if dim == 3 else 0.0
    return project_friction(r, k, dim, x1, x2, bound)


@entry
def tangential_sweep(contacts: Coupled, diagonal: np.ndarray, r: np.ndarray) -> float:
    """One sweep over the friction impulses, bounds mu r_N held; returns the norm of the change."""
    mu, dim = contacts.mu, contacts.data.shape[1]
    change = 0.0
    for i in range(mu.shape[0]):
        change += friction_step(contacts, diagonal, r, i, mu[i] * r[dim * i], 1.0)
    return math.sqrt(change)


@entry
def alternate(contacts: Coupled, diagonal: np.ndarray, r: np.ndarray, rounds: int, most: int) -> None:
    """`rounds` of both subproblems; each is swept until its changes are a tenth of the first, at most `most` times."""
    for _ in range(rounds):
        first = normal_sweep(contacts, diagonal, r)
        for _ in range(most):
            if normal_sweep(contacts, diagonal, r) <= 0.1 * first:
                break
        first = tangential_sweep(contacts, diagonal, r)
        for _ in range(most):
            if tangential_sweep(contacts, diagonal, r) <= 0.1 * first:
                break


@dataclass(frozen=True)
class Alternating(FrictionMethod):
    """Normal and tangential subproblems in turn; an iteration is one round of both."""

    name = "alternating"
    default_iterations = 5_000

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        coupled, diagonal = contacts.coupled, contacts.local[0]
        # A round cannot be interrupted: where a sweep takes long, the subproblems are solved less exactly.
        most = max(2, int(min(INNER_LIMIT, 4.0 * AT_ONCE / (contacts.sweep_cost + 1e-12))))
        return sweep_until(
            lambda x, count: alternate(coupled, diagonal, x, count, most),
            contacts,
            r,
            tol,
            self.limit,
            progress,
            0.2 * most,
        )
