"""Template: the LCP [GS05] eq. (33) of a step, solved directly."""

import math

import numpy as np

from stickslip.codes import ENUMERATE, NEWTON
from stickslip.contact.planar_lcp import assemble, impulses
from stickslip.jit.marks import dev, float64, local_array, rare
from stickslip.lcp.enumeration import enumerate_first
from stickslip.lcp.lemke import lemke
from stickslip.lcp.lemke import workspace as lemke_workspace
from stickslip.lcp.newton import semismooth_newton
from stickslip.lcp.newton import workspace as newton_workspace
from stickslip.lcp.pivoting import SOLVED, TIE_TOLERANCE, Dictionary, pivot_path
from stickslip.mechanisms.templates.contacts import cancel
from stickslip.mechanisms.templates.model import N_CONTACTS, N_DOF, SOLVER
from stickslip.mechanisms.templates.structs import Blocks

LCP_SOLVED = 1e-9  # residual of the LCP's solution; `step_residual` judges the step


@dev
def scales(k, directions, laws, d):
    """Scales of the three rows of contact k, see `contact.planar_lcp`: 0 where it lacks a part, or friction."""
    alpha = directions.diagonal[k, 0]
    beta = directions.diagonal[k, 1]
    frictional = beta > 0.0 and (laws.mu[k] > 0.0 or laws.a[k] > 0.0)
    d[k, 0] = 1.0 / math.sqrt(alpha) if alpha > 0.0 else 0.0
    d[k, 1] = 1.0 / math.sqrt(beta) if frictional else 0.0
    d[k, 2] = math.sqrt(beta) if frictional else 0.0


@dev
def blocks(part, k, directions, laws, contacts, step, room):
    """Row `part`, normal or tangential, of contact k in the LCP: entries over the active contacts, and b."""
    W_N, W_T = directions.W_N, directions.W_T
    value = contacts.offset[k, part]
    for j in range(N_DOF):
        value += (W_N[k, j] if part == 0 else W_T[k, j]) * step.u_E[j]
    for m in range(N_CONTACTS):
        if contacts.active[m] == 0:
            continue
        by_N = 0.0
        by_T = 0.0
        for j in range(N_DOF):
            w = W_N[k, j] if part == 0 else W_T[k, j]  # numbers are chosen, not arrays: those stay in registers
            by_N += w * (directions.V_N[m, j] - laws.mu[m] * directions.V_T[m, j])
            by_T += w * directions.V_T[m, j]
        room.E[part, k, 0, m] = by_N
        room.E[part, k, 1, m] = by_T
        if room.d[m, 1] > 0.0:
            value -= by_T * laws.a[m]
    room.b[part, k] = value


@dev
def lcp_of_step(directions, laws, contacts, step, lcp):
    """The LCP [GS05] eq. (33) of the active contacts; return its size."""
    room = Blocks(
        E=local_array((2, N_CONTACTS, 2, N_CONTACTS), float64),
        b=local_array((2, N_CONTACTS), float64),
        d=local_array((N_CONTACTS, 3), float64),
    )
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            scales(k, directions, laws, room.d)
        else:
            for part in range(3):
                room.d[k, part] = 0.0
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            for part in range(2):
                blocks(part, k, directions, laws, contacts, step, room)
    return assemble(room.E, room.b, laws.mu, laws.a, room.d, lcp)


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
    dictionary = Dictionary(lcp.A, lcp.b, lcp.basis, lcp.nonbasic, lcp.row_of, lcp.column_of, lcp.y)
    status, pivots, _ = pivot_path(n, dictionary, 50 * n + 200, TIE_TOLERANCE)
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


@rare
def by_lcp(directions, laws, contacts, step, lcp):
    """Solve the step's LCP directly; impulses into Lambda, velocities into u_E; pivots, negative if unsolved.

    What `step_residual` refuses is solved anew outside of the kernel.
    """
    n = lcp_of_step(directions, laws, contacts, step, lcp)
    status, pivots = solve_lcp_of_step(n, lcp)
    if status != SOLVED:
        return -1 - pivots
    impulses(n, lcp.x, laws.mu, laws.a, lcp, contacts.Lambda)
    for k in range(N_CONTACTS):
        if contacts.active[k] != 0:
            for j in range(N_DOF):
                by_N = directions.V_N[k, j] * contacts.Lambda[k, 0]
                by_T = directions.V_T[k, j] * contacts.Lambda[k, 1]
                step.u_E[j] += by_N + by_T
    cancel(directions, contacts, step)
    return pivots
