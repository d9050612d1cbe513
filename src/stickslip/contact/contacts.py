"""What every method works on: contacts with circular cones, as arrays.

A `FrictionProblem` may have joints and elliptic cones; `FrictionProblem.contacts_in` eliminates the first and stretches
the second away, and what is left is this.

Contacts are scaled one by one, r_i = s_i z_i, to mobilities trace(W_ii) / d between 1/2 and 2:

    w = S W S z + S q,      u_i = w_i / s_i,      s_i a power of two

so impulses and velocities are both roots of energies, heavy bodies and light ones look alike to Newton, interior point
and Anderson, and the unit of mass is of no account.  Powers of two make no rounding: the error of the scaled contacts
is that of the given ones, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from stickslip.contact.blocks import Coupled, add_product, block_arrays, diagonal_blocks, permute
from stickslip.contact.effort import SWEEP_BLOCK, analysis_cost, factorisation_cost, sweep_cost
from stickslip.contact.gauss_seidel import error_of
from stickslip.contact.residual import KIND, NATURAL_MAP, error_in, plain_gauge


@dataclass(frozen=True, eq=False)
class Contacts:
    """n contacts: u = W r + q, r in K_mu, u + mu |u_T| e_N in its dual cone, both orthogonal.

    Attributes: data (k, d, d), indptr (n + 1,), indices (k,), the blocks of W (see `blocks`); q (n d,); mu (n,); gauge,
    how errors are measured (see `residual`), by the natural map of these contacts unless told otherwise.
    """

    data: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    gauge: tuple[np.ndarray, ...] = ()

    def __post_init__(self) -> None:
        if not self.gauge:
            object.__setattr__(self, "gauge", plain_gauge(self.q, len(self.mu)))

    @property
    def dim(self) -> int:
        return self.data.shape[1]

    def __len__(self) -> int:
        return len(self.mu)

    @cached_property
    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """The local matrices W_ii and their inverses."""
        return diagonal_blocks(self.data, self.indptr, self.indices)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Diagonals of the local matrices, shape (n, d)."""
        return np.einsum("iaa->ia", self.local[0])

    @cached_property
    def mean_diagonal(self) -> float:
        return float(self.diagonal.mean()) or 1.0

    @property
    def sweep_cost(self) -> float:
        """Nominal seconds of a sweep."""
        return sweep_cost(len(self.mu), len(self.indices))

    @property
    def product_cost(self) -> float:
        """Nominal seconds of a product with W."""
        return SWEEP_BLOCK * len(self.indices)

    @property
    def analysis_cost(self) -> float:
        """Nominal seconds that it takes to find out what a factorisation costs."""
        if "factorisation_cost" in self.__dict__:
            return 0.0
        return analysis_cost(len(self.mu), len(self.indices))

    @cached_property
    def factorisation_cost(self) -> float:
        """Nominal seconds of a factorisation of W."""
        return factorisation_cost(self.indptr, self.indices, self.dim)

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        n = len(self.q)
        return sp.bsr_matrix((self.data, self.indices, self.indptr), shape=(n, n)).tocsr()

    @property
    def blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """data, indptr, indices."""
        return self.data, self.indptr, self.indices

    @property
    def coupled(self) -> Coupled:
        """The arrays of u = W r + q, and mu, as kernels take them."""
        return Coupled(self.data, self.indptr, self.indices, self.q, self.mu)

    def product(self, x: np.ndarray) -> np.ndarray:
        """W x."""
        y = np.zeros(len(self.q))
        add_product(self.data, self.indptr, self.indices, x, y, 0, len(self.mu))
        return y

    def velocity(self, r: np.ndarray) -> np.ndarray:
        """u = W r + q."""
        u = self.q.copy()
        add_product(self.data, self.indptr, self.indices, r, u, 0, len(self.mu))
        return u

    def error(self, r: np.ndarray) -> float:
        """Error of the impulses r in the measure of these contacts."""
        u = np.empty(len(self.q))
        return error_of(self.coupled, r, u, self.gauge, 0, len(self.mu))

    def error_at(self, u: np.ndarray, r: np.ndarray) -> float:
        """`error` where u = W r + q is known."""
        return error_in(self.coupled, u, r, self.gauge, 0, len(self.mu))

    def part(self, first: int, last: int) -> Contacts:
        """An island that lies in one piece: contacts first .. last - 1, coupled with none of the others."""
        a, b = self.indptr[first], self.indptr[last]
        d = self.dim
        return Contacts(
            self.data[a:b],
            self.indptr[first : last + 1] - a,
            self.indices[a:b] - first,
            self.q[d * first : d * last].copy(),
            self.mu[first:last].copy(),
            (*(each[first:last].copy() for each in self.gauge[:3]), self.gauge[3]),
        )

    def permuted(self, order: np.ndarray) -> Contacts:
        """The contacts in another order: number order[k] in place k."""
        q = self.q.reshape(-1, self.dim)[order].ravel()
        data, indptr, indices = permute(self.data, self.indptr, self.indices, order)
        gauge = (*(each[order] for each in self.gauge[:3]), self.gauge[3])
        return self._passing_on(Contacts(data, indptr, indices, q, self.mu[order], gauge))

    def shifted(self, shift: float | np.ndarray, center: np.ndarray) -> Contacts:
        """The proximal problem around `center`: W + D, q - D center, D = shift of all contacts, or (n,) of each."""
        each = np.broadcast_to(shift, len(self))
        data = self.data.copy()
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        own = np.flatnonzero(rows == self.indices)
        for a in range(self.dim):
            data[own, a, a] += each[rows[own]]
        q, gauge = self.q - np.repeat(each, self.dim) * center, self.gauge
        if gauge[3][KIND] == NATURAL_MAP:
            gauge = (*gauge[:3], np.array([NATURAL_MAP, 0.0, 0.0]))  # relative to what is solved, no part of a whole
        return self._passing_on(Contacts(data, self.indptr, self.indices, q, self.mu, gauge))

    def _passing_on(self, other: Contacts) -> Contacts:
        """Hand the costs that follow from the pattern of W on to another problem with this pattern."""
        if "factorisation_cost" in self.__dict__:
            other.__dict__["factorisation_cost"] = self.factorisation_cost
        return other


def contacts_from(W: object, q: np.ndarray, mu: np.ndarray, dim: int) -> Contacts:
    """`Contacts` of a dense or sparse matrix."""
    data, indptr, indices = block_arrays(W, dim)
    return Contacts(data, indptr, indices, np.ascontiguousarray(q), np.ascontiguousarray(mu))
