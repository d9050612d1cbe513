"""Sweeps without W: the velocities of the bodies are carried along instead.

    u_i = H_i^T v + w_i,       r_i <- r_i + dr_i,       v <- v + M^-1 H_i dr_i

A contact touches the bodies it joins and nothing else, so a sweep costs the entries of H, however many contacts a body
has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.contact.blocks import invert_blocks
from stickslip.contact.delassus import Delassus
from stickslip.contact.effort import SWEEP_BLOCK, SWEEP_CONTACT
from stickslip.contact.one_contact import one_contact_2d, one_contact_3d
from stickslip.contact.residual import KIND, NATURAL_MAP, natural_map, worst_violation
from stickslip.jit import entry


@dataclass(frozen=True, eq=False)
class MatrixFreeContacts:
    """Contacts given by a `Delassus` operator whose M^-1 is sparse; what `Contacts` offers without a matrix."""

    operator: Delassus
    q: np.ndarray
    mu: np.ndarray
    dim: int
    gauge: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.mu)

    @cached_property
    def directions(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Rows of H^T and of H^T M^-T, one per component of a contact."""
        inverse = self.operator.mass_inverse
        return self.operator.H.T.tocsr(), (inverse @ self.operator.H).T.tocsr()

    @cached_property
    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """The local matrices H_i^T M^-1 H_i and their inverses, each (n, d, d)."""
        H, Y = self.directions
        d, n = self.dim, len(self)
        diagonal = np.empty((n, d, d))
        for a in range(d):
            for b in range(d):
                diagonal[:, a, b] = np.asarray(H[a::d].multiply(Y[b::d]).sum(axis=1)).ravel()
        return diagonal, invert_blocks(diagonal)

    @property
    def sweep_cost(self) -> float:
        """Nominal seconds of a sweep."""
        return SWEEP_CONTACT * len(self) + SWEEP_BLOCK * self.operator.H.nnz

    @property
    def product_cost(self) -> float:
        """Nominal seconds of a product with W."""
        return SWEEP_BLOCK * (self.operator.H.nnz + self.operator.M.nnz)

    def product(self, x: np.ndarray) -> np.ndarray:
        """W x."""
        return self.operator.product(x)

    def error(self, r: np.ndarray) -> float:
        """Error of the impulses r in the measure of these contacts."""
        u = self.product(r) + self.q
        if self.gauge[3][KIND] == NATURAL_MAP:
            return natural_map(u, self.q, r, self.mu, self.gauge, self.dim, 0, len(self))
        return worst_violation(u, r, self.mu, np.empty(0), self.gauge, self.dim, 0, len(self))

    def sweep(self, r: np.ndarray, count: int) -> None:
        """`count` sweeps over all contacts, in place."""
        H, Y = self.directions
        v = Y.T @ r  # M^-1 H r
        velocity_sweeps(rows_of(H), rows_of(Y), self.local, self.q, self.mu, r, v, count)


class Rows(NamedTuple):
    """A sparse matrix by rows."""

    begins: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def rows_of(matrix: sp.csr_matrix) -> Rows:
    """The arrays of a matrix."""
    return Rows(matrix.indptr, matrix.indices, matrix.data)


@entry
def velocity_sweeps(
    H: Rows, Y: Rows, local: tuple, q: np.ndarray, mu: np.ndarray, r: np.ndarray, v: np.ndarray, count: int
) -> None:
    """Sweeps in which the body velocities v = M^-1 H r follow every change.

    H, Y: H^T and H^T M^-T.  local: the local matrices and their inverses, each (n, d, d).
    """
    diagonal, inverse = local
    dim = diagonal.shape[1]
    b, old = np.empty(dim), np.empty(dim)
    for _ in range(count):
        for i in range(mu.shape[0]):
            for a in range(dim):
                k = dim * i + a
                b[a] = q[k]
                old[a] = r[k]
                for p in range(H.begins[k], H.begins[k + 1]):
                    b[a] += H.values[p] * v[H.columns[p]]
            for a in range(dim):
                for c in range(dim):
                    b[a] -= diagonal[i, a, c] * old[c]
            k = dim * i
            if dim == 3:
                r[k], r[k + 1], r[k + 2] = one_contact_3d(
                    diagonal[i], inverse[i], b[0], b[1], b[2], mu[i], old[1], old[2]
                )
            else:
                r[k], r[k + 1] = one_contact_2d(diagonal[i], inverse[i], b[0], b[1], mu[i])
            for a in range(dim):
                change = r[k + a] - old[a]
                if change != 0.0:
                    for p in range(Y.begins[k + a], Y.begins[k + a + 1]):
                        v[Y.columns[p]] += Y.values[p] * change
