"""Central differences of order 8 that judge themselves: those of order 6 through the same points must agree.

A step that suits one function is too long for the next: friction that falls within 1e-3 m/s, or an objective that is
narrow.  So the step is cut until both orders agree, entry by entry.  A corner right at the point is even, and no
central difference sees it.  So the part that grows as |s| is measured as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.checks import Array

_EIGHTH_ORDER = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
_SIXTH_ORDER = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0)
_CORNER = (14.0 / 5.0, -7.0 / 5.0, 2.0 / 5.0, -1.0 / 20.0)  # of |s|, free of s^2, s^4 and s^6
_CUTS = 6  # steps that are tried: each is an eighth of the one before
_AGREES = 1e-9  # share of an entry by which both orders may differ
_NOISE = 1e-12  # share of the largest entry of its row that is round-off
_ROUND_OFF = 2e-15  # of a value, relative
_SMALL = 1e-10  # share of the largest change of a value that does not count: at an optimum the slope is 0
_ROUGH = 1e-6  # entries whose orders differ by more than this share are not known
_COUNTS = 1e-9  # share of the largest entry of its row below which an entry does not count


def derivative(at: Callable[[float], Array], round_off: float = _ROUND_OFF) -> tuple[Array, float]:
    """Slope at 0 of a function of a number, and its relative error.

    Parameters
    ----------
    at : function of s that returns an array, smooth for |s| <= 4 or at least near 0; the first axis counts rows
    round_off : of a value, relative

    Returns
    -------
    slope, error : d at / ds, and the worst share by which orders 6 and 8 differ, or both sides; 0 where they agree to
        1e-6
    """
    here = np.asarray(at(0.0))
    best, left, noise = np.zeros(0), np.zeros(0), np.zeros(0)
    for cut in range(_CUTS):
        h = 8.0**-cut
        values = np.array([[at(i * h), at(-i * h)] for i in (1.0, 2.0, 3.0, 4.0)])
        pairs, even = values[:, 0] - values[:, 1], values[:, 0] + values[:, 1] - 2.0 * here
        eighth, sixth = (np.tensordot(w, pairs[: len(w)], 1) / h for w in (_EIGHTH_ORDER, _SIXTH_ORDER))
        corner = np.tensordot(_CORNER, even, 1) / h
        apart = np.where(np.isfinite(eighth), np.abs(eighth - sixth) + np.abs(corner), np.inf)
        rounding = np.maximum(round_off * np.abs(values), _SMALL * np.abs(values - here)).max(axis=(0, 1)) / h
        if cut == 0:
            best, left, noise = eighth, apart, rounding
        better = apart < left
        best, left, noise = (np.where(better, *pair) for pair in ((eighth, best), (apart, left), (rounding, noise)))
        row = np.abs(np.where(np.isfinite(left), best, 0.0)).max(axis=tuple(range(1, best.ndim)), keepdims=True)
        if np.all(left <= np.maximum(np.maximum(_AGREES * np.abs(best), _NOISE * row), noise)):
            return best, 0.0
    off = (left > _ROUGH * np.abs(best)) & (left > _COUNTS * row) & (left > noise)
    share = left[off] / np.maximum(np.abs(best[off]), 1e-300)
    return best, float(np.max(share, initial=0.0)) if np.all(np.isfinite(left)) else np.inf
