"""The period that can be seen in a run, whatever the system: after which time its velocities repeat themselves.

    D(tau) = mean |z(t + tau) - z(t)|^2 / (2 mean |z|^2),   z = (u - mean u) / scale

over the second half of the run.  D is 0 for a motion of period tau and about 1 for unrelated times; the period is the
first dip that is as deep as any later one.  Velocities are used because a coordinate may drift, as the height of the
woodpecker does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array
from stickslip.trajectory import Trajectory

_MOST_SAMPLES = 8192
_REPEATS = 0.1  # largest D that counts as a repetition
_CYCLES = 2.0  # that must fit into the half of the run that is looked at


@dataclass(frozen=True)
class SeenPeriod:
    """Period [s] of a motion and how well it repeats: 0 exactly, 1 not at all."""

    period: float
    difference: float


def seen_period(trajectory: Trajectory) -> SeenPeriod | None:
    """The period of the second half of a run, or None where it rests or does not repeat itself at least twice."""
    t, u = trajectory.t, trajectory.u
    if len(t) < 32 or not (np.isfinite(u).all() and t[-1] > t[0]):
        return None
    n = min(_MOST_SAMPLES, len(t))
    times = np.linspace(0.5 * (t[0] + t[-1]), t[-1], n)
    z = np.stack([np.interp(times, t, column) for column in u.T], axis=1)
    z -= z.mean(axis=0)
    scale, whole = z.std(axis=0), u.std(axis=0)
    alive = scale > 1e-3 * whole
    if not alive.any():
        return None
    lags, D = _differences(z[:, alive] / scale[alive])
    return _first_dip(lags * (times[1] - times[0]), D)


def _differences(z: Array) -> tuple[Array, Array]:
    """Lags (in samples) and D of the series z (n, k), by the autocorrelation theorem."""
    n = len(z)
    spectrum = np.fft.rfft(z, 2 * n, axis=0)
    products = np.fft.irfft((np.abs(spectrum) ** 2).sum(axis=1), 2 * n)[:n]
    squares = np.concatenate([[0.0], np.cumsum((z**2).sum(axis=1))])
    lags = np.arange(1, int(n / _CYCLES) + 1)
    heads, tails = squares[n - lags], squares[n] - squares[lags]  # of z(t) and of z(t + tau)
    power = heads + tails
    return lags.astype(float), np.where(power > 0.0, 1.0 - 2.0 * products[lags] / np.maximum(power, 1e-300), 1.0)


def _first_dip(lags: Array, D: Array) -> SeenPeriod | None:
    """The first local minimum after D has been large that is nearly as deep as the deepest."""
    away = np.flatnonzero(D > 0.5)
    if not len(away):
        return None
    inner = np.arange(max(1, away[0]), len(D) - 1)
    dips = inner[(D[inner] <= D[inner - 1]) & (D[inner] < D[inner + 1])]
    if not len(dips) or D[dips].min() > _REPEATS:
        return None
    first = dips[D[dips] <= max(2.0 * D[dips].min(), 0.02)][0]
    bend = D[first - 1] - 2.0 * D[first] + D[first + 1]
    shift = 0.5 * (D[first - 1] - D[first + 1]) / bend if bend > 0.0 else 0.0  # the parabola's lowest point
    return SeenPeriod(float(lags[first] + shift * (lags[1] - lags[0])), float(max(D[first], 0.0)))
