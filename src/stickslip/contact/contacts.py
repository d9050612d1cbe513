"""Problem that every method works on: contacts with circular cones, as arrays.

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
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as graph

from stickslip.contact.blocks import Coupled, add_product, block_arrays, diagonal_blocks, permute
from stickslip.contact.effort import SWEEP_BLOCK, analysis_cost, factorisation_cost, sweep_cost
from stickslip.contact.gauss_seidel import error_of
from stickslip.contact.residual import (
    KIND,
    MOST_ROUNDING,
    NATURAL_MAP,
    ROUNDINGS,
    SCALE,
    error_in,
    loads,
    plain_gauge,
)
from stickslip.projections import EPS


class Bodies(NamedTuple):
    """M and J of W = J^T M^-1 J, and the places (n,) of the contacts among those that J has columns for."""

    M: sp.csc_matrix
    J: sp.csc_matrix
    places: np.ndarray

    def of(self, chosen: slice | np.ndarray) -> Bodies:
        """Those of some of the contacts."""
        return self._replace(places=self.places[chosen])

    def directions(self, dim: int) -> tuple[sp.csc_matrix, sp.csc_matrix]:
        """M and J of the bodies that touch, the columns of J in the order of the contacts."""
        J = self.J[:, (dim * self.places[:, None] + np.arange(dim)).ravel()]
        count, label = graph.connected_components(self.M, directed=False)
        touched = np.zeros(count, bool)
        touched[label[np.unique(J.indices)]] = True
        rows = np.flatnonzero(touched[label])
        return self.M[rows][:, rows].tocsc(), J[rows].tocsc()


@dataclass(frozen=True, eq=False)
class Contacts:
    """n contacts: u = W r + q, r in K_mu, u + mu |u_T| e_N in its dual cone, both orthogonal.

    Attributes: data (k, d, d), indptr (n + 1,), indices (k,), the blocks of W (see `blocks`); q (n d,); mu (n,); gauge,
    how errors are measured (see `residual`), by the natural map of these contacts unless told otherwise; bodies, what W
    was made of, where that is known.
    """

    data: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    gauge: tuple[np.ndarray, ...] = ()
    bodies: Bodies | None = None

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

    def knowable(self, r: np.ndarray) -> float:
        """The least error in velocities that impulses as large as r can be found to have, see `residual`."""
        if self.gauge[3][KIND] == NATURAL_MAP:
            return 0.0
        rounding = EPS * float((loads(*self.blocks, r, 0, len(self)) * self.gauge[2]).max()) / self.gauge[3][SCALE]
        return rounding if ROUNDINGS * rounding > MOST_ROUNDING else 0.0

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
            self.bodies and self.bodies.of(slice(first, last)),
        )

    def permuted(self, order: np.ndarray) -> Contacts:
        """The contacts in another order: number order[k] in place k."""
        q = self.q.reshape(-1, self.dim)[order].ravel()
        data, indptr, indices = permute(self.data, self.indptr, self.indices, order)
        gauge = (*(each[order] for each in self.gauge[:3]), self.gauge[3])
        bodies = self.bodies and self.bodies.of(order)
        return self._passing_on(Contacts(data, indptr, indices, q, self.mu[order], gauge, bodies))

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
