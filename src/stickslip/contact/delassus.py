"""W = H^T M^-1 H without W: the mass matrix and the directions of the contacts.

H has shape (degrees of freedom, dim n): column dim i + a is the direction of component a of contact i, u = H^T v + w.
Where M falls into small blocks (free bodies), M^-1 is as sparse as M and nothing ever fills up; else M is factorised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as graph
import scipy.sparse.linalg as sparse_linalg

from stickslip.lcp.problems import _floats

LARGEST_BLOCK = 12  # degrees of freedom of a block of M that is inverted on its own
COLUMNS_AT_ONCE = 256


def checked_directions(matrix: Any, name: str) -> sp.csc_matrix:
    """A dense or sparse matrix of real, finite numbers as compressed columns; ValueError naming what came otherwise."""
    if sp.issparse(matrix):
        if matrix.dtype.kind not in "bifu":
            raise ValueError(f"{name} must hold real numbers, got {matrix.dtype}.")
    else:
        matrix = _floats(matrix, name)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {matrix.shape}.")
    columns = sp.csc_matrix(matrix, dtype=float)
    if not np.all(np.isfinite(columns.data)):
        raise ValueError(f"{name} must be finite, got a value that is not.")
    return columns


@dataclass(frozen=True, eq=False)
class Delassus:
    """The operator x -> H^T M^-1 H x; M (f, f), H (f, m), dense or sparse."""

    M: Any
    H: Any

    def __post_init__(self) -> None:
        M, H = checked_directions(self.M, "M"), checked_directions(self.H, "H")
        if M.shape[0] != M.shape[1]:
            raise ValueError(f"M must be square, got shape {M.shape}.")
        if H.shape[0] != M.shape[0]:
            raise ValueError(
                f"H must have shape ({M.shape[0]}, dim * contacts), one row per degree of freedom of M, got {H.shape}."
            )
        least = float(M.diagonal().min(initial=np.inf))
        if least <= 0.0:
            raise ValueError(f"M must be positive definite, got {least:g} on its diagonal.")
        object.__setattr__(self, "M", M)
        object.__setattr__(self, "H", H)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.H.shape[1], self.H.shape[1])

    @cached_property
    def mass_inverse(self) -> sp.csr_matrix | None:
        """M^-1 as a sparse matrix where M has small blocks, else None."""
        count, label = graph.connected_components(self.M, directed=False)
        if np.bincount(label, minlength=count).max(initial=0) > LARGEST_BLOCK:
            return None
        order = np.argsort(label, kind="stable")
        sizes = np.bincount(label, minlength=count)
        dense = self.M.tocsr()[order][:, order].tocoo()
        begins = np.concatenate([[0], np.cumsum(sizes)])
        pieces, where = [], []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            place = np.full(count, -1)
            place[chosen] = np.arange(len(chosen))
            blocks = np.zeros((len(chosen), size, size))
            block = label[order][dense.row]
            of_size = place[block] >= 0
            row, column, block = dense.row[of_size], dense.col[of_size], block[of_size]
            np.add.at(blocks, (place[block], row - begins[block], column - begins[block]), dense.data[of_size])
            pieces.append(_inverses(blocks))
            where.append(order[begins[chosen][:, None] + np.arange(size)])
        rows = np.concatenate([np.repeat(w, w.shape[1], axis=1).ravel() for w in where])
        columns = np.concatenate([np.tile(w, (1, w.shape[1])).ravel() for w in where])
        values = np.concatenate([p.ravel() for p in pieces])
        return sp.csr_matrix((values, (rows, columns)), shape=self.M.shape)

    @cached_property
    def solve_mass(self) -> Callable[[np.ndarray], np.ndarray]:
        """x -> M^-1 x."""
        inverse = self.mass_inverse
        if inverse is not None:
            return lambda x: inverse @ x
        try:
            return sparse_linalg.splu(self.M).solve
        except RuntimeError as problem:
            raise ValueError("M must be regular, got a singular matrix.") from problem

    def expected_blocks(self, dim: int) -> float:
        """Blocks of W, roughly and from above: pairs of contacts that share a body."""
        contacts_per_row = np.diff(self.H.tocsr().indptr) / dim
        return float(np.sum(contacts_per_row**2) / (3.0 if dim == 2 else 6.0) * dim)

    def diagonal(self) -> np.ndarray:
        """Diagonal of W, where M^-1 is sparse."""
        return np.asarray(self.H.multiply(self.mass_inverse @ self.H).sum(axis=0)).ravel()

    def product(self, x: np.ndarray) -> np.ndarray:
        """H^T M^-1 H x."""
        return self.H.T @ self.solve_mass(self.H @ x)

    def assembled(self) -> sp.csr_matrix:
        """W itself."""
        inverse = self.mass_inverse
        if inverse is not None:
            return (self.H.T @ (inverse @ self.H)).tocsr()
        solve, columns = self.solve_mass, []
        for begin in range(0, self.H.shape[1], COLUMNS_AT_ONCE):
            some = self.H[:, begin : begin + COLUMNS_AT_ONCE].toarray()
            columns.append(sp.csc_matrix(self.H.T @ solve(some)))
        return sp.hstack(columns).tocsr()


def _inverses(blocks: np.ndarray) -> np.ndarray:
    least = np.linalg.eigvalsh(0.5 * (blocks + blocks.transpose(0, 2, 1)))[:, 0].min(initial=np.inf)
    if not least > 0.0:
        raise ValueError(f"M must be positive definite, got a block with the eigenvalue {least:.3g}.")
    return np.linalg.inv(blocks)
