"""The cost of a piece of work, counted and not timed, so that a problem takes one way on a machine, every time.

Costs are in nominal seconds, about those of one core of 2026.  They decide how much a method may do before the next one
has its turn.  The clock is read only where the user has set a time limit.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg

from stickslip.contact.constants import DENSE_LIMIT, DENSE_SHARE, PIVOT

# Sizes, and what a call may cost: promises, none of them chosen by measuring.
LARGEST = 150_000_000  # bytes of a matrix: above, sweeps without W come first, and no sparse one is made dense
AT_ONCE = 0.03  # seconds of work between two looks at the clock: 10 % of a limit of 0.3 s
EFFORT, EFFORT_PER_CONTACT = 400.0, 0.1  # of a call; 1,000 contacts, masses 1e6 apart, take up to 22 s of 100

# Timed on one core of 2026, like the numbers below.  Factorisations of 15,000 unknowns took twice their nominal time.
SWEEP_BLOCK, SWEEP_CONTACT = 6e-9, 1.2e-7  # seconds of a sweep, per block of W and per contact
STEP = 1e-4  # seconds of an iteration in Python, whatever its size


def sweep_cost(contacts: int, blocks: int) -> float:
    """Of one sweep."""
    return SWEEP_BLOCK * blocks + SWEEP_CONTACT * contacts


def better_dense(n: int, entries: int) -> bool:
    """Whether n equations with `entries` nonzero entries are solved faster as a dense matrix."""
    return n <= DENSE_LIMIT or (8 * n**2 <= LARGEST and entries > DENSE_SHARE * n * n)


def dense_cost(n: int) -> float:
    """Of a dense LU factorisation of n equations."""
    return 2e-5 + 5e-9 * n**2 + 2.5e-11 * n**3


def analysis_cost(contacts: int, blocks: int) -> float:
    """Of `factorisation_cost` itself, from above: fill-in of a spatial lattice, or of a full matrix."""
    if contacts <= DENSE_LIMIT:
        return 0.0
    return min(4e-11 * float(blocks) ** 2, 3e-10 * float(contacts) ** 3)


def factorisation_cost(indptr: np.ndarray, indices: np.ndarray, dim: int) -> float:
    """Of a factorisation of W with this pattern of blocks.

    A matrix with one number per block is factorised, dim^3 times cheaper: column j of its factor, L_j entries long,
    stands for dim columns of dim L_j entries each, 2 dim^3 L_j^2 operations.
    """
    n, blocks = len(indptr) - 1, len(indices)
    if better_dense(n * dim, blocks * dim**2):
        return dense_cost(n * dim)
    if n <= DENSE_LIMIT:
        return 2e-7 * blocks * dim**2
    pattern = sp.csr_matrix((np.ones(blocks), indices, indptr), shape=(n, n))
    dominant = pattern + sp.diags(np.full(n, 2.0 * blocks))  # needs no pivoting
    heights = np.diff(factorise(dominant.tocsc()).L.indptr).astype(float)
    return float(1.5e-7 * dim**2 * np.sum(heights) + 2.0 * dim**3 * np.sum(heights**2) / 5e9)


def factorise(A: sp.csc_matrix, ordering: str = "MMD_AT_PLUS_A") -> sparse_linalg.SuperLU:
    """LU factors of a matrix with a symmetric pattern, like every W; RuntimeError for a singular matrix.

    SuperLU's symmetric mode is several times faster than its default, which expects fill-in as of A^T A.  Pivots off
    the diagonal make the factors fuller: they are taken only where the diagonal is far too small (PIVOT).
    """
    return sparse_linalg.splu(A, permc_spec=ordering, diag_pivot_thresh=PIVOT, options={"SymmetricMode": True})
