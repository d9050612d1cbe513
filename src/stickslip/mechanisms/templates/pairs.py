"""Template: a step with two closed contacts, solved by their branches, see `contact.two_contacts`."""

from stickslip.contact.two_contacts import ROUNDING, correction, first_branch, left_over, two_contacts
from stickslip.jit.marks import dev, float64, int64, local_array, rare
from stickslip.mechanisms.templates.contacts import cancel
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF


@dev
def entry_of_pair(k, m, W, V):
    """w_k^T M^-1 w_m, an entry of the Delassus matrix."""
    value = 0.0
    for j in range(N_DOF):
        value += W[k, j] * V[m, j]
    return value


@dev
def add_impulses(pair, V_N, V_T, x, v):
    """v += M^-1 W x."""
    for i in range(2):
        k = pair[i]
        for j in range(N_DOF):
            v[j] += V_N[k, j] * x[i] + V_T[k, j] * x[2 + i]


@rare
def by_pair(active, diagonal, W_N, W_T, V_N, V_T, offset, mu_, a_, v_free, v, Lambda):
    """Solve a step with two active contacts; rounds, negative where no branches are consistent.

    Impulses into Lambda, velocities into v; v is v_free and Lambda zero on entry, and again where it fails.
    """
    pair = local_array(2, int64)
    pushes = local_array(2, int64)
    branch = local_array(2, int64)
    mu = local_array(2, float64)
    a = local_array(2, float64)
    G = local_array((4, 4), float64)
    A = local_array((4, 5), float64)
    c = local_array(4, float64)
    x = local_array(4, float64)
    dx = local_array(4, float64)
    n = int64(0)
    for k in range(N_CONTACTS):
        if active[k] != 0:
            pair[n] = k
            n += 1
    for i in range(2):
        k = pair[i]
        if not diagonal[k, 0] > 0.0:
            return int64(-1)
        mu[i] = mu_[k]
        a[i] = a_[k]
        c[i] = offset[k, 0]
        c[2 + i] = offset[k, 1]
        for j in range(N_DOF):
            c[i] += W_N[k, j] * v_free[j]
            c[2 + i] += W_T[k, j] * v_free[j]
        pushes[i] = 1 if c[i] < 0.0 else 0
        branch[i] = first_branch(c[2 + i], diagonal[k, 1] > 0.0 and (mu[i] > 0.0 or a[i] > 0.0))
        for m in range(2):
            G[i, 2 + m] = entry_of_pair(k, pair[m], W_N, V_T)
            G[2 + m, i] = G[i, 2 + m]
        for m in range(i + 1):
            G[i, m] = entry_of_pair(k, pair[m], W_N, V_N)
            G[m, i] = G[i, m]
            G[2 + i, 2 + m] = entry_of_pair(k, pair[m], W_T, V_T)
            G[2 + m, 2 + i] = G[2 + i, 2 + m]
    rounds = two_contacts(G, c, mu, a, pushes, branch, x, A)
    if rounds < 0:
        return rounds
    add_impulses(pair, V_N, V_T, x, v)
    size = abs(c[0]) + abs(c[1]) + abs(c[2]) + abs(c[3])
    for i in range(2):
        k = pair[i]
        c[i] = offset[k, 0]
        c[2 + i] = offset[k, 1]
        for j in range(N_DOF):
            c[i] += W_N[k, j] * v[j]
            c[2 + i] += W_T[k, j] * v[j]
    if left_over(c, pushes, branch) > ROUNDING * size:  # contacts of very different inertias lose digits
        correction(c, x, mu, a, pushes, branch, A, dx)
        add_impulses(pair, V_N, V_T, dx, v)
        for i in range(2):
            x[i] = max(0.0, x[i] + dx[i])
            bound = mu[i] * x[i] + a[i]
            x[2 + i] = max(-bound, min(bound, x[2 + i] + dx[2 + i]))
    for i in range(2):
        Lambda[pair[i], 0] = x[i]
        Lambda[pair[i], 1] = x[2 + i]
    cancel(active, V_N, V_T, Lambda, v_free, v)
    return rounds


@rare
def undo(Lambda, v_free, v):
    """Go back to the step without impulses."""
    for j in range(N_DOF):
        v[j] = v_free[j]
    for k in range(N_CONTACTS):
        Lambda[k, 0] = 0.0
        Lambda[k, 1] = 0.0
