"""Velocities at contacts from velocities of coordinates."""

from __future__ import annotations

import numpy as np

from stickslip.jit import entry


@entry
def velocities(W_N: np.ndarray, W_T: np.ndarray, w_hat: np.ndarray, u: np.ndarray, gamma: np.ndarray) -> None:
    """gamma = W^T u + w_hat of every contact."""
    for i in range(W_N.shape[0]):
        gamma[i, 0] = w_hat[i, 0]
        gamma[i, 1] = w_hat[i, 1]
        for j in range(u.shape[0]):
            gamma[i, 0] += W_N[i, j] * u[j]
            gamma[i, 1] += W_T[i, j] * u[j]
