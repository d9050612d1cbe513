"""Loads that contacts share in an open way: whether friction at its bound is a corner of the motion, or of a share.

Where more contacts stick than the motion needs, a solver may put the friction of one of them at its bound while the
others have room.  The motion then has no corner there: other shares of the load make the motion too.
"""

from __future__ import annotations

import numpy as np

from stickslip.checks import Array

ROOM = 1e-6
"""Share of its bound by which friction must stay below it."""


def implied(rows: Array, row: Array) -> bool:
    """Whether a row (f,) is a sum of other rows (m, f)."""
    if not len(rows):
        return False
    left = rows.T @ np.linalg.lstsq(rows.T, row, rcond=1e-9)[0] - row
    return bool(np.abs(left).max() < 1e-9 * np.abs(row).max())


def holds_with_room(
    W: tuple[Array, Array], load: tuple[Array, Array], bound: tuple[Array, Array], rests: np.ndarray,
    carries: np.ndarray,
) -> bool:  # fmt: skip
    """Whether shares of a load exist with which no friction at rest is at its bound: those of the least squares.

    Parameters
    ----------
    W : W_N, W_T (k, f), directions of the contacts;  load : lambda_N, lambda_T (k,)
    bound : mu, a (k,), friction is at most mu lambda_N + a
    rests : (k,) contacts that do not slip; the others have friction at their bound, whatever their load
    carries : (k,) contacts that carry
    """
    W_N, W_T, N, T, mu, a = (part[carries] for part in (*W, *load, *bound))
    rests = rests[carries]
    side = np.where(rests, 0.0, np.sign(T))
    total = W_N.T @ N + W_T.T @ (T - side * a)
    A = np.concatenate([W_N + (side * mu)[:, None] * W_T, W_T[rests]]).T
    found = np.linalg.lstsq(A, total, rcond=1e-9)[0]
    pushes, holds = found[: len(N)], np.abs(found[len(N) :])
    allowed = (mu * pushes + a)[rests]
    return bool(np.all(pushes >= 0.0) and np.all(holds <= (1.0 - ROOM) * allowed))
