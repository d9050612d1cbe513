"""Template: the LCP [GS05] eq. (33) of a step, solved directly."""

import math

import numpy as np

from stickslip.codes import ENUMERATE, NEWTON
from stickslip.jit.marks import dev, int64, rare
from stickslip.lcp.enumeration import enumerate_first
from stickslip.lcp.lemke import SOLVED, TIE_TOLERANCE, lemke, pivot_path
from stickslip.lcp.lemke import workspace as lemke_workspace
from stickslip.lcp.newton import semismooth_newton
from stickslip.lcp.newton import workspace as newton_workspace
from stickslip.mechanisms.templates.contacts import cancel
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF, SOLVER

LCP_SOLVED = 1e-9  # residual of the LCP's solution; `step_residual` judges the step


@dev
def assemble_lcp(directions, laws, contacts, step, lcp):
    """The LCP [GS05] eq. (33) of the active contacts, scaled to unit diagonals; return its size.

    rows[i] is the contact of row i and part[i] says which of its three unknowns it is: 0 Lambda_N, 1 Lambda_R, 2 xi_L.
    """
    A, b, scale, rows, part = lcp.A, lcp.b, lcp.scale, lcp.rows, lcp.part
    W_N, W_T, V_N, V_T, diagonal = directions.W_N, directions.W_T, directions.V_N, directions.V_T, directions.diagonal
    mu, a = laws.mu, laws.a
    n = int64(0)
    for section in range(3):
        for k in range(N_CONTACTS):
            if contacts.active[k] == 0:
                continue
            frictional = diagonal[k, 1] > 0.0 and (mu[k] > 0.0 or a[k] > 0.0)
            if (section == 0 and diagonal[k, 0] > 0.0) or (section > 0 and frictional):
                rows[n] = k
                part[n] = section
                if section == 0:
                    scale[n] = 1.0 / math.sqrt(diagonal[k, 0])
                elif section == 1:
                    scale[n] = 1.0 / math.sqrt(diagonal[k, 1])
                else:
                    scale[n] = math.sqrt(diagonal[k, 1])
                n += 1
    for i in range(n):
        k = rows[i]
        if part[i] == 2:
            b[i] = 2.0 * a[k] * scale[i]
        else:
            value = contacts.offset[k, part[i]]
            for j in range(N_DOF):
                w = W_N[k, j] if part[i] == 0 else W_T[k, j]
                value += w * step.u_E[j]
            b[i] = value * scale[i]
        for c in range(n):
            m = rows[c]
            entry_value = 0.0
            if part[i] == 2:
                if m == k and part[c] == 0:
                    entry_value = 2.0 * mu[k]
                elif m == k and part[c] == 1:
                    entry_value = -1.0
            elif part[c] == 2:
                if m == k and part[i] == 1:
                    entry_value = 1.0
            else:
                for j in range(N_DOF):
                    w = W_N[k, j] if part[i] == 0 else W_T[k, j]
                    if part[c] == 1:
                        entry_value += w * V_T[m, j]
                        b[i] -= w * V_T[m, j] * a[m] * scale[i]
                    else:
                        entry_value += w * (V_N[m, j] - mu[m] * V_T[m, j])
            A[i, c] = entry_value * scale[i] * scale[c]
    return n


@dev
def follow_path(n, lcp):
    """Lemke's method once, without polishing; returns (status, pivots)."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(lcp.b[i]))
    if largest == 0.0:
        largest = 1.0
    for i in range(n):
        lcp.b[i] /= largest
        lcp.A[i, n] = 1.0
        lcp.x[i] = 0.0
    status, pivots, _ = pivot_path(
        n, lcp.A, lcp.b, lcp.basis, lcp.nonbasic, lcp.row_of, lcp.column_of, lcp.y, 50 * n + 200, TIE_TOLERANCE
    )
    for i in range(n):
        if n <= lcp.basis[i] < 2 * n:
            lcp.x[lcp.basis[i] - n] = max(0.0, lcp.b[i]) * largest
    return status, pivots


@dev
def solve_lcp_of_step(n, lcp):
    """Solve the LCP of n rows by the method that was asked for; returns (status, pivots)."""
    A, b, x, y = lcp.A, lcp.b[:n], lcp.x[:n], lcp.y[:n]
    if SOLVER == ENUMERATE:
        found, pivots, _ = enumerate_first(A, b, x, y, lemke_workspace(n), LCP_SOLVED)
        return (SOLVED if found else 1), pivots
    if SOLVER == NEWTON:
        for i in range(n):
            x[i] = 0.0
        free = np.zeros(n, np.bool_)
        status, pivots, _ = semismooth_newton(A, b, free, x, y, newton_workspace(n), 100, LCP_SOLVED)
        if status != SOLVED:  # as solve_lcp(method="newton") does
            status, pivots, _ = lemke(A, b, x, y, np.empty(n), lemke_workspace(n), 50 * n + 200, LCP_SOLVED)
        return status, pivots
    return follow_path(n, lcp)


@dev
def take_impulses(n, laws, contacts, lcp):
    """Lambda_N and Lambda_T from the unknowns Lambda_N, Lambda_R and xi_L of the LCP."""
    mu, a, Lambda, x, rows, part = laws.mu, laws.a, contacts.Lambda, lcp.x, lcp.rows, lcp.part
    for k in range(N_CONTACTS):
        Lambda[k, 0] = 0.0
        Lambda[k, 1] = 0.0
    for i in range(n):
        if part[i] < 2:
            Lambda[rows[i], part[i]] = x[i] * lcp.scale[i]
    for i in range(n):
        if part[i] == 1:
            k = rows[i]
            bound = mu[k] * Lambda[k, 0] + a[k]
            Lambda[k, 1] = max(-bound, min(bound, Lambda[k, 1] - bound))
    for i in range(n):
        if part[i] == 2 and x[i] > 0.0:  # xi_L > 0: Lambda_L = 0, the upper bound exactly
            Lambda[rows[i], 1] = mu[rows[i]] * Lambda[rows[i], 0] + a[rows[i]]


@rare
def by_lcp(directions, laws, contacts, step, lcp):
    """Solve the step's LCP directly; impulses into Lambda, velocities into u_E; pivots, negative if unsolved.

    What `step_residual` refuses is solved anew outside of the kernel.
    """
    n = assemble_lcp(directions, laws, contacts, step, lcp)
    status, pivots = solve_lcp_of_step(n, lcp)
    if status != SOLVED:
        return -1 - pivots
    take_impulses(n, laws, contacts, lcp)
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            for j in range(N_DOF):
                by_N = directions.V_N[k, j] * contacts.Lambda[k, 0]
                by_T = directions.V_T[k, j] * contacts.Lambda[k, 1]
                step.u_E[j] += by_N + by_T
    cancel(directions, contacts, step)
    return pivots
