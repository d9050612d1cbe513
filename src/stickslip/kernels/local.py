"""Template: a system's mass matrix, gaps, directions and laws for a stack of states.

This file is a complete module for a point mass above a floor.  The generator puts another system between the two
lines that say `model`; everything else is taken over word for word.

Shapes, k states with n contacts and f coordinates: Q (k, f); T (k,); P (k, parameters), or one row for all states;
M (k, f, f); g (k, n); W_N, W_T (k, n, f); w_hat (k, n, 2); mu, eps_N, eps_T, threshold (k, n).
"""

import math  # noqa: F401  (the model's functions use it)

from stickslip.kernels.cpu import dev, entry

# -- model: begin


@dev
def mass(q, t, p, M):
    M[0, 0] = 1.0


@dev
def gap(q, t, p, g):
    g[0] = q[0]


@dev
def geometry(q, t, p, W_N, W_T, w_hat):
    W_N[0, 0] = 1.0
    W_T[0, 0] = 0.0
    w_hat[0, 0] = 0.0
    w_hat[0, 1] = 0.0


@dev
def laws(p, mu, eps_N, eps_T, threshold):
    mu[0] = 0.0
    eps_N[0] = 0.0
    eps_T[0] = 0.0
    threshold[0] = 0.0


# -- model: end


@entry
def evaluate(Q, T, P, M, g, W_N, W_T, w_hat, mu, eps_N, eps_T, threshold):
    """Evaluate the model at every state."""
    same = P.shape[0] == 1
    for i in range(Q.shape[0]):
        p = P[0] if same else P[i]
        mass(Q[i], T[i], p, M[i])
        gap(Q[i], T[i], p, g[i])
        geometry(Q[i], T[i], p, W_N[i], W_T[i], w_hat[i])
        laws(p, mu[i], eps_N[i], eps_T[i], threshold[i])
