"""Heaps whose contacts resist rolling: sweeps in de Saxce's form, with momentum.

Coulomb's law and that of rolling resistance together are, with the lift s = mu |u_T| + rho' |u_R|, rho' = rho / l,

    K = {|Lambda_T| <= mu Lambda_N, |Lambda_R| <= rho' Lambda_N},    K in z,    K* in (u_N + s, u_T, u_R),    z . = 0,

a problem with a convex cone whose term s follows the sweeps.  Each contact takes the point of K that is nearest to
z - D^-1 (u_N + s, u_T, u_R) in the metric of D, a diagonal that bounds its local matrix from above: a number Lambda_N,
which is the root of a piecewise linear function.  Sweeps of N, slip and rolling in turn (`rolling`) do not settle in
heaps: slip and rolling that follow the load at once make their map expand.

Loads that a heap carries in many ways wander from sweep to sweep.  So impulses are pulled to those of the beginning
of every third hundred of sweeps, which moves no solution once they stand still; the pull is no part of the residual.

A sweep starts at y = z + beta (z - before), on impulses and velocities alike, which keeps v = v_free + M^-1 H z as the
weights add up to one.  A change that is many times the least one begins momentum anew, with less.  Contacts with a
patch take their turn as in `rolling`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.rolling import (
    ROWS,
    SHARED,
    apply_rows,
    arm_length,
    read_impulses,
    six_matrix,
    six_rows,
    six_velocities,
    visit,
    write_impulses,
)
from stickslip.scenes.layout import MOVING
from stickslip.scenes.parts import Island

MOMENTUM, LESS, BURST = 0.9, 0.8, 10.0
SHARE = 0.5  # of the way of a lift to its slip and turn, with each visit
TURN, PLAIN = 60, 10
FREE, HELD, PULL = 200, 100, 0.2  # sweeps without a pull to anchors, with it, and its share
BEGUN, LARGEST, LEAST, COUNT = range(4)


class Momentum(NamedTuple):
    """What sweeps with momentum remember of an island with n contacts."""

    before: np.ndarray  # (n, 6) impulses before the last sweep
    member: np.ndarray  # (b,) bodies that move
    earlier: np.ndarray  # (b, 6) their velocities
    lift: np.ndarray  # (n,) s of the contacts [m/s]
    anchor: np.ndarray  # (n, 6) impulses of some sweeps before
    state: np.ndarray  # (4,) sweeps since it began, the largest beta, the least change since then, all sweeps


@kernel(apart=True)
def new_momentum(island: Island) -> Momentum:
    """Momentum of an island that has not begun."""
    bodies, contacts, n = island.bodies, island.contacts, island.last - island.first
    seen, count = np.zeros(bodies.kind.shape[0], np.bool_), 0
    member = np.empty(2 * n, np.int64)
    for m in range(island.first, island.last):
        c = island.active.contact[island.order[m]]
        for body in (contacts.a[c], contacts.b[c]):
            if bodies.kind[body] == MOVING and not seen[body]:
                seen[body] = True
                member[count] = body
                count += 1
    state = np.zeros(4)
    state[LARGEST], state[LEAST] = MOMENTUM, np.inf
    return Momentum(np.zeros((n, 6)), member[:count], np.zeros((count, 6)), np.zeros(n), np.zeros((n, 6)), state)


@kernel(apart=True)
def go_ahead(island: Island, momentum: Momentum, beta: float) -> None:
    """Take z + beta (z - before) and v + beta (v - earlier) for z and v; these become `before` and `earlier`."""
    active, bodies = island.active, island.bodies
    for m in range(island.first, island.last):
        i, old = island.order[m], momentum.before[m - island.first]
        for k in range(3):
            r, t = active.r[i, k], active.turn[i, k]
            active.r[i, k], active.turn[i, k] = r + beta * (r - old[k]), t + beta * (t - old[3 + k])
            old[k], old[3 + k] = r, t
    for m in range(momentum.member.shape[0]):
        v, old = bodies.end[momentum.member[m]], momentum.earlier[m]
        for k in range(6):
            w = v[k]
            v[k] = w + beta * (w - old[k])
            old[k] = w


@kernel
def bound_of(G: np.ndarray, k: int) -> float:
    """D_k of a diagonal D >= G: the row sum of G scaled to unit diagonal, times G_kk."""
    total = 0.0
    for j in range(ROWS):
        if G[j, j] > 0.0:
            total += abs(G[k, j]) * math.sqrt(G[k, k] / G[j, j])
    return total


@kernel
def load_of(N: float, T: float, R: float, mu: float, roll: float, D: tuple[float, float, float]) -> float:
    """Lambda_N of the point of K that is nearest to (N, T, R), T and R the sizes of two vectors, in the metric of D.

    The root of D_N (x - N) - mu D_T (T - mu x)_+ - rho' D_R (R - rho' x)_+.
    """
    dn, dt, dr = D
    a, b = T / mu if mu > 0.0 else 0.0, R / roll if roll > 0.0 else 0.0
    x = (dn * N + mu * dt * T + roll * dr * R) / (dn + mu * mu * dt + roll * roll * dr)
    if x > min(a, b):
        if a > b:
            x = (dn * N + mu * dt * T) / (dn + mu * mu * dt)
        else:
            x = (dn * N + roll * dr * R) / (dn + roll * roll * dr)
        if x > max(a, b):
            x = N
    return max(0.0, x)


@kernel
def visit_cone(island: Island, i: int, dim: int, momentum: Momentum, place: int, pull: float) -> float:
    """Take the nearest point of K for active contact i; returns how much it changes velocities [m/s]."""
    bodies, contacts, active, lift = island.bodies, island.contacts, island.active, momentum.lift
    c, mu = active.contact[i], active.mu[i]
    a, b = contacts.a[c], contacts.b[c]
    A, G, u, z, new = np.empty((ROWS, 9)), np.empty((ROWS, ROWS)), np.empty(ROWS), np.empty(ROWS), np.zeros(ROWS)
    six_rows(bodies, contacts, active, i, A)
    six_matrix(bodies, a, b, A, G)
    six_velocities(A, bodies.end[a], bodies.end[b], u)
    read_impulses(bodies, contacts, active, i, dim, z)
    for k in range(3):
        u[k] += active.bias[i, k]
    length = arm_length(bodies, contacts, active, i)
    roll = active.rolling[i] / length if length > 0.0 else 0.0
    dn, dt = bound_of(G, 0), max(bound_of(G, 1), bound_of(G, 2))
    dr = max(bound_of(G, 4), bound_of(G, 5))
    if mu > 0.0 and dt > 0.0:
        new[1], new[2] = z[1] - u[1] / dt, z[2] - u[2] / dt if dim == 3 else 0.0
    if roll > 0.0 and dr > 0.0:
        new[4], new[5] = z[4] - u[4] / dr if dim == 3 else 0.0, z[5] - u[5] / dr
    goal = z[0] - (u[0] + lift[place]) / dn
    if pull > 0.0:
        anchor = momentum.anchor[place]
        goal += pull * (anchor[0] - goal)
        for k in range(1, ROWS):
            new[k] += pull * (anchor[k] - new[k])
    T, R = math.sqrt(new[1] ** 2 + new[2] ** 2), math.sqrt(new[4] ** 2 + new[5] ** 2)
    N = load_of(goal, T, R, mu, roll, (dn, dt, dr))
    t, r = (mu * N / T if mu * N < T else 1.0), (roll * N / R if roll * N < R else 1.0)
    new[0], new[1], new[2], new[4], new[5] = N, t * new[1], t * new[2], r * new[4], r * new[5]
    change = 0.0
    for k in range(ROWS):
        z[k] = new[k] - z[k]
        change = max(change, G[k, k] * abs(z[k]))
    for k in range(ROWS):
        for j in range(ROWS):
            u[k] += G[k, j] * z[j]
    apply_rows(bodies, a, b, A, z, bodies.end)
    write_impulses(bodies, contacts, active, i, dim, new)
    w = 0.0 if dim == 2 else u[2]
    turn = abs(u[5]) if dim == 2 else math.sqrt(u[4] ** 2 + u[5] ** 2)
    lift[place] += SHARE * (mu * math.sqrt(u[1] ** 2 + w * w) + roll * turn - lift[place])
    return change


@kernel(apart=True)
def take_anchors(island: Island, dim: int, momentum: Momentum) -> None:
    """Take the impulses as anchors."""
    for m in range(island.first, island.last):
        read_impulses(
            island.bodies, island.contacts, island.active, island.order[m], dim, momentum.anchor[m - island.first]
        )


@kernel(apart=True)
def sweep_with_momentum(island: Island, dim: int, sweeps: int, momentum: Momentum) -> float:
    """Visit all contacts of an island some times; returns the largest change of a velocity in the last time [m/s]."""
    state, change = momentum.state, 0.0
    for _ in range(sweeps):
        begun = state[BEGUN]
        beta = min(state[LARGEST], begun / (begun + 3.0)) if begun < TURN else 0.0
        go_ahead(island, momentum, beta if begun > 0.0 else 0.0)
        phase = state[COUNT] % (FREE + HELD)
        pull = PULL if phase >= FREE else 0.0
        if phase == FREE:
            take_anchors(island, dim, momentum)
        state[COUNT] += 1.0
        change = 0.0
        for m in range(island.first, island.last):
            i = island.order[m]
            if island.active.patch[i] > 0.0:
                change = max(change, visit(island, i, dim, SHARED))
            else:
                change = max(change, visit_cone(island, i, dim, momentum, m - island.first, pull))
        state[BEGUN] += 1.0
        if change > BURST * state[LEAST] and begun > 5.0:
            state[BEGUN], state[LEAST], state[LARGEST] = 0.0, np.inf, max(0.6, LESS * state[LARGEST])
        elif begun > TURN + PLAIN:
            state[BEGUN], state[LEAST] = 0.0, np.inf
        state[LEAST] = min(state[LEAST], change)
    return change
