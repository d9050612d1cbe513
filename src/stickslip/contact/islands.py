"""Islands: groups of contacts that no block of W couples.  The hardness of a problem sits in one or two of them."""

from __future__ import annotations

import numpy as np

from stickslip.contact.blocks import Coupled, components, diagonal_blocks, permute
from stickslip.contact.constants import CHECK_EVERY
from stickslip.contact.gauss_seidel import Asked, Part, accelerated_sweeps, error_of, forget, new_anderson, sweep
from stickslip.contact.residual import error_in
from stickslip.jit import entry


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
def gauge_of(gauge: tuple, order: np.ndarray) -> tuple:
    """The gauge of contacts order[0], order[1], ..."""
    mobility, unit, to_speed, numbers = gauge
    return rows_of(mobility, order, 1), rows_of(unit, order, 1), rows_of(to_speed, order, 1), numbers.copy()


@entry
def sweep_islands(contacts: Coupled, r: np.ndarray, gauge: tuple, tol: float, max_sweeps: int, memory: int) -> tuple:
    """Sweep over one island after the other until the error of each is at most `tol`.

    Returns the impulses, the sweeps of all islands together and the most of one, the worst error of an island, how many
    islands missed the tolerance, and the error of the whole.
    """
    data, indptr, indices, q, mu = contacts
    n = mu.shape[0]
    dim = data.shape[1]
    order, offsets = components(indptr, indices)
    count = offsets.shape[0] - 1
    x = r.copy()
    if count > 1:
        data, indptr, indices = permute(data, indptr, indices, order)
        mu, q = rows_of(mu, order, 1), rows_of(q, order, dim)
        x = rows_of(r, order, dim)
    sorted_gauge = gauge_of(gauge, order)
    contacts, local = Coupled(data, indptr, indices, q, mu), diagonal_blocks(data, indptr, indices)
    u = np.empty(dim * n)
    largest = 0
    for k in range(count):
        largest = max(largest, offsets[k + 1] - offsets[k])
    no_history = np.empty(0)
    anderson = new_anderson(memory, dim * largest)
    total, most, missed, worst = 0, 0, 0, 0.0
    for k in range(count):
        a, b = offsets[k], offsets[k + 1]
        sweeps, error = 1, np.inf
        if b - a == 1:  # a contact alone is solved exactly at once
            sweep(contacts, local, x, 1.0, a, b)
            error = error_of(contacts, x, u, sorted_gauge, a, b)
        if not error <= tol:
            forget(anderson)
            asked = Asked(max_sweeps, tol, min(memory, dim * (b - a)), 1.0, CHECK_EVERY)
            part = Part(x, u, sorted_gauge, a, b)
            sweeps, error, _ = accelerated_sweeps(contacts, local, part, asked, no_history, anderson)
        total += sweeps
        most = max(most, sweeps)
        worst = max(worst, error)
        missed += not error <= tol
    error = error_in(contacts, u, x, sorted_gauge, 0, n)  # every island has left its velocities in u
    return (rows_back(x, order, dim) if count > 1 else x), total, most, worst, missed, error
