"""Template: a system's mass matrix, gaps, directions and laws for a stack of states.

Shapes, k states with n contacts and f coordinates: Q, U (k, f); T (k,); P (k, parameters), or one row for all states;
M (k, f, f); g (k, n); directions W_N, W_T (k, n, f), w_hat (k, n, 2); coefficients mu, eps_N, eps_T, threshold (k, n).
"""

from stickslip.jit.marks import entry
from stickslip.mechanisms.templates.model import STATE_LAWS, gap, geometry, laws, mass
from stickslip.mechanisms.templates.state_laws import evaluate_laws


@entry
def evaluate(Q, U, T, P, M, g, directions, coefficients):
    """Evaluate the model at every state."""
    W_N, W_T, w_hat = directions
    mu, eps_N, eps_T, threshold = coefficients
    same = P.shape[0] == 1
    for i in range(Q.shape[0]):
        p = P[0] if same else P[i]
        mass(Q[i], T[i], p, M[i])
        gap(Q[i], T[i], p, g[i])
        geometry(Q[i], T[i], p, W_N[i], W_T[i], w_hat[i])
        if STATE_LAWS:
            rows = (W_N[i], W_T[i], w_hat[i])
            evaluate_laws(Q[i], U[i], T[i], p, rows, (mu[i], eps_N[i], eps_T[i], threshold[i]))
        else:
            laws(p, mu[i], eps_N[i], eps_T[i], threshold[i])
