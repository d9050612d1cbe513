"""Islands: groups of contacts that no block of W couples.  The hardness of a problem sits in one or two of them."""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.blocks import components, diagonal_blocks, permute
from stickslip.contact.cones import relative_error, squares
from stickslip.contact.gauss_seidel import CHECK_EVERY, accelerated_sweeps, anderson_state, error_of, forget, sweep
from stickslip.jit import entry

LOOSEST = 1e-3


@entry
def rows_of(x: np.ndarray, order: np.ndarray, dim: int) -> np.ndarray:
    """The parts of contacts order[0], order[1], ... of x, one after the other."""
    out = np.empty(x.shape[0])
    for k in range(order.shape[0]):
        for a in range(dim):
            out[dim * k + a] = x[dim * order[k] + a]
    return out


@entry
def rows_back(x: np.ndarray, order: np.ndarray, dim: int) -> np.ndarray:
    """Undo `rows_of`."""
    out = np.empty(x.shape[0])
    for k in range(order.shape[0]):
        for a in range(dim):
            out[dim * order[k] + a] = x[dim * k + a]
    return out


@entry
def island_tolerance(
    q: np.ndarray, q_square: float, contacts: int, first: int, last: int, dim: int, tol: float
) -> float:
    """Relative error that an island may keep so that the whole stays below `tol`; q_square = |q|^2 of all `contacts`.

    An island whose q is small against that of all may be solved less exactly: its share of tol |q| by contacts.
    """
    if last - first == contacts:
        return tol
    own = squares(q, dim * first, dim * last)
    share = 0.25 * (last - first) / contacts
    return max(tol, min(LOOSEST, tol * math.sqrt(share * q_square / max(own, 1e-300))))


@entry
def sweep_islands(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    tol: float,
    q_square: float,
    contacts: int,
    max_sweeps: int,
    memory: int,
) -> tuple:
    """Sweep over one island after the other until each has reached its tolerance (`island_tolerance`).

    Returns the impulses, the sweeps of all islands together and the most of one, the worst error of an island, how many
    islands missed their tolerance, and the error of the whole.
    """
    n = mu.shape[0]
    dim = data.shape[1]
    order, offsets = components(indptr, indices)
    count = offsets.shape[0] - 1
    x = r.copy()
    if count > 1:
        data, indptr, indices = permute(data, indptr, indices, order)
        mu, q = rows_of(mu, order, 1), rows_of(q, order, dim)
        x = rows_of(r, order, dim)
    diagonal, inverse = diagonal_blocks(data, indptr, indices)
    u = np.empty(dim * n)
    largest = 0
    for k in range(count):
        largest = max(largest, offsets[k + 1] - offsets[k])
    work = np.empty((2 * memory + 4, dim * largest))
    no_history = np.empty(0)
    anderson = anderson_state(memory)
    total, most, missed, worst = 0, 0, 0, 0.0
    for k in range(count):
        a, b = offsets[k], offsets[k + 1]
        tolerance = island_tolerance(q, q_square, contacts, a, b, dim, tol)
        sweeps, error = 1, np.inf
        if b - a == 1:  # a contact alone is solved exactly at once
            sweep(data, indptr, indices, diagonal, inverse, q, mu, x, 1.0, a, b)
            error = error_of(data, indptr, indices, q, mu, x, u, a, b)
        if not error <= tolerance:
            forget(anderson)
            sweeps, error, _ = accelerated_sweeps(
                data, indptr, indices, diagonal, inverse, q, mu, x, u,
                a, b, max_sweeps, tolerance, min(memory, dim * (b - a)), 1.0, CHECK_EVERY, no_history, work, anderson,
            )  # fmt: skip
        total += sweeps
        most = max(most, sweeps)
        worst = max(worst, error)
        missed += not error <= tolerance
    error = relative_error(u, q, x, mu, dim, 0, n)  # every island has left its velocities in u
    return (rows_back(x, order, dim) if count > 1 else x), total, most, worst, missed, error
