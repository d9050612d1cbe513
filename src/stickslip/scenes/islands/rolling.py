"""Contacts that resist rolling and spinning: six rows each, set-valued, with exact rest.

Rows of a contact: the gap N, slips t_1, t_2, the spin about n times the radius R of the contact patch, and the two
relative angular velocities across n times a length l, the longer arm of the contact.  All rows are velocities [m/s],
all impulses are in N s.  With Lambda_N >= 0 as ever,

    slip and spin    -(Lambda_T, Lambda_S) in mu Lambda_N dPhi(u_T, R w) (`contensou`; without a patch Coulomb's disc),
    rolling          -Lambda_R in (rho / l) Lambda_N Sgn(l w_R),

rho: arm of the rolling resistance [m].  An island with such contacts is swept: each contact in turn is solved with the
others held, N, slip with spin, and rolling one after the other.  The residual is that of all laws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.projections import worse
from stickslip.scenes.islands.contensou import resist, spin_and_slide
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts, Options
from stickslip.scenes.parts import Island
from stickslip.scenes.rotation import times

ROWS = 6
INNER = 400  # rounds of a contact that is alone
SHARED = 6  # rounds of one contact among others, in each sweep
CHANGE = 4e-16  # of the impulses: a round that changes less is the last one
SWEEPS = 20000  # of a contact that is alone
FEW = 12  # contacts of an island that is swept before momentum is tried
MOMENTUM_SWEEPS, FEWEST_SWEEPS = 600, 200  # of contacts that share an island; then Newton, on the host
LOOK = 5  # sweeps from one look at the residual to the next


@kernel
def resists(active: Active, i: int) -> bool:
    """Whether active contact i resists rolling or spinning."""
    return active.patch[i] > 0.0 or active.rolling[i] > 0.0


@kernel
def any_resists(island: Island) -> bool:
    """Whether a contact of an island resists rolling or spinning."""
    found = False
    for m in range(island.first, island.last):
        found = found or resists(island.active, island.order[m])
    return found


@kernel
def arm_length(bodies: Bodies, contacts: Contacts, active: Active, i: int) -> float:
    """The longer arm of active contact i, on bodies that move [m]."""
    c, longest = active.contact[i], 0.0
    if bodies.kind[contacts.a[c]] == MOVING:
        p = active.arm_a[i]
        longest = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    if bodies.kind[contacts.b[c]] == MOVING:
        q = active.arm_b[i]
        longest = max(longest, math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]))
    return longest


@kernel
def six_rows(bodies: Bodies, contacts: Contacts, active: Active, i: int, D: np.ndarray) -> None:
    """Directions D (6, 9) of the rows of active contact i: linear, angular on a, angular on b."""
    f, p, q, length = active.frame[i], active.arm_a[i], active.arm_b[i], arm_length(bodies, contacts, active, i)
    for k in range(3):
        x, y, z = f[3 * k], f[3 * k + 1], f[3 * k + 2]
        D[k, 0], D[k, 1], D[k, 2] = x, y, z
        D[k, 3], D[k, 4], D[k, 5] = p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x
        D[k, 6], D[k, 7], D[k, 8] = q[1] * z - q[2] * y, q[2] * x - q[0] * z, q[0] * y - q[1] * x
        scale = active.patch[i] if k == 0 else length
        for j in range(3):
            D[3 + k, j] = 0.0
            D[3 + k, 3 + j] = scale * f[3 * k + j]
            D[3 + k, 6 + j] = scale * f[3 * k + j]


@kernel
def six_velocities(D: np.ndarray, v: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Velocities of the rows; v, w: those of the bodies a, b."""
    for k in range(ROWS):
        total = 0.0
        for j in range(3):
            total += D[k, j] * (w[j] - v[j]) + D[k, 6 + j] * w[3 + j] - D[k, 3 + j] * v[3 + j]
        out[k] = total


@kernel
def six_matrix(bodies: Bodies, a: int, b: int, D: np.ndarray, G: np.ndarray) -> None:
    """The symmetric part of G = D M^-1 D^T (6, 6)."""
    for k in range(ROWS):
        for m in range(ROWS):
            total = 0.0
            for body, first in ((a, 3), (b, 6)):
                if bodies.kind[body] == MOVING:
                    for j in range(3):
                        total += bodies.inv_mass[body] * D[k, j] * D[m, j]
                    x, y, z = times(bodies.inv_inertia[body], D[m, first], D[m, first + 1], D[m, first + 2])
                    total += D[k, first] * x + D[k, first + 1] * y + D[k, first + 2] * z
            G[k, m] = total
    # Gyroscopic terms make it unsymmetric by dt omega.  Blocks are solved with its symmetric part, about the velocities
    # that the impulses make: where nothing changes any more, the laws hold with these.
    for k in range(ROWS):
        for m in range(k):
            G[k, m] = 0.5 * (G[k, m] + G[m, k])
            G[m, k] = G[k, m]


@kernel
def apply_rows(bodies: Bodies, a: int, b: int, D: np.ndarray, z: np.ndarray, vel: np.ndarray) -> None:
    """Add impulses z (6,) of the rows to velocities of both bodies."""
    P = np.zeros(9)
    for k in range(ROWS):
        for j in range(9):
            P[j] += z[k] * D[k, j]
    for body, first, sign in ((a, 3, -1.0), (b, 6, 1.0)):
        if bodies.kind[body] == MOVING:
            d, e, f = times(bodies.inv_inertia[body], P[first], P[first + 1], P[first + 2])
            m, v = sign * bodies.inv_mass[body], vel[body]
            v[0], v[1], v[2] = v[0] + m * P[0], v[1] + m * P[1], v[2] + m * P[2]
            v[3], v[4], v[5] = v[3] + sign * d, v[4] + sign * e, v[5] + sign * f


@kernel
def read_impulses(bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int, z: np.ndarray) -> None:
    """Impulses z (6,) of active contact i, in the units of its rows."""
    length = arm_length(bodies, contacts, active, i)
    for k in range(3):
        z[k] = active.r[i, k] if k < dim else 0.0
    z[3] = active.turn[i, 0] / active.patch[i] if active.patch[i] > 0.0 else 0.0
    z[4], z[5] = (active.turn[i, 1] / length, active.turn[i, 2] / length) if length > 0.0 else (0.0, 0.0)


@kernel
def write_impulses(bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int, z: np.ndarray) -> None:
    """Take impulses z (6,) of the rows of active contact i."""
    length = arm_length(bodies, contacts, active, i)
    for k in range(dim):
        active.r[i, k] = z[k]
    active.turn[i, 0], active.turn[i, 1], active.turn[i, 2] = active.patch[i] * z[3], length * z[4], length * z[5]


@kernel
def rest_of(G: np.ndarray, q: np.ndarray, z: np.ndarray, k: int, first: int, last: int) -> float:
    """Velocity of row k without the impulses of the rows first .. last - 1."""
    total = q[k]
    for j in range(ROWS):
        if j < first or j >= last:
            total += G[k, j] * z[j]
    return total


@kernel
def inverse_of_three(G: np.ndarray, A: np.ndarray) -> None:
    """A (9,) = the inverse of the rows and columns 1, 2, 3 of G."""
    a, b, c, d, e, f = G[1, 1], G[1, 2], G[1, 3], G[2, 2], G[2, 3], G[3, 3]
    b, c, e = 0.5 * (b + G[2, 1]), 0.5 * (c + G[3, 1]), 0.5 * (e + G[3, 2])
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * p + b * q + c * r
    A[0], A[1], A[2] = p / det, q / det, r / det
    A[4], A[5], A[8] = (a * f - c * c) / det, (b * c - a * e) / det, (a * d - b * b) / det
    A[3], A[6], A[7] = A[1], A[2], A[5]


@kernel
def solve_pair(G: np.ndarray, q: np.ndarray, z: np.ndarray, k: int, bound: float, planar: bool) -> None:
    """Solve rows k, k + 1, in a disc of radius `bound`, the others held; in the plane one of them is not there."""
    H, p, r = np.empty(4), np.empty(2), np.empty(2)
    H[0], H[1], H[2], H[3] = G[k, k], G[k, k + 1], G[k + 1, k], G[k + 1, k + 1]
    p[0], p[1] = rest_of(G, q, z, k, k, k + 2), rest_of(G, q, z, k + 1, k, k + 2)
    if planar or H[0] * H[3] - H[1] * H[2] <= 1e-14 * H[0] * H[3]:  # slips of the plane are along t_1, turns about t_2
        r[0] = max(-bound, min(bound, -p[0] / H[0])) if H[0] > 0.0 and k == 1 else 0.0
        r[1] = max(-bound, min(bound, -p[1] / H[3])) if H[3] > 0.0 and k == 4 else 0.0
    else:
        resist(H, p, bound, r)
    z[k], z[k + 1] = r[0], r[1]


class Resisting(NamedTuple):
    """What resists slip, spin and rolling at a contact.

    mu : friction.  spins, hertz : it has a patch, which bears its load as Hertz has it.  roll : rho / l.
    planar : friction and rolling in one direction.
    """

    mu: float
    spins: bool
    hertz: bool
    roll: float
    planar: bool


@kernel(apart=True)
def solve_six(G: np.ndarray, q: np.ndarray, law: Resisting, z: np.ndarray, rounds: int) -> None:
    """Impulses z of one contact whose rows have velocities q + G z, in at most `rounds` rounds."""
    mu, spins, hertz, roll, planar = law
    A, p, x, r = np.zeros(9), np.empty(3), np.zeros(3), np.zeros(3)
    if spins:
        inverse_of_three(G, A)
    for turn in range(rounds):
        change, size = 0.0, 0.0
        old0, old1, old2, old3, old4, old5 = z[0], z[1], z[2], z[3], z[4], z[5]
        z[0] = max(0.0, -rest_of(G, q, z, 0, 0, 1) / G[0, 0])
        if z[0] == 0.0:
            for k in range(1, ROWS):
                z[k] = 0.0
        else:
            if spins:
                for k in range(3):
                    p[k] = rest_of(G, q, z, 1 + k, 1, 4)
                    if turn == 0:
                        x[k] = rest_of(G, q, z, 1 + k, 0, 0)
                spin_and_slide(A, p, mu * z[0], hertz, x, r)
                z[1], z[2], z[3] = r[0], r[1], r[2]
            elif mu > 0.0:
                solve_pair(G, q, z, 1, mu * z[0], planar)
            if roll > 0.0:
                solve_pair(G, q, z, 4, roll * z[0], planar)
        for a, b in ((old0, z[0]), (old1, z[1]), (old2, z[2]), (old3, z[3]), (old4, z[4]), (old5, z[5])):
            change, size = change + abs(a - b), size + abs(b)
        if change <= CHANGE * size:
            break


@kernel
def visit(island: Island, i: int, dim: int, rounds: int) -> float:
    """Solve active contact i with the others held; returns how much it changes velocities [m/s]."""
    bodies, contacts, active = island.bodies, island.contacts, island.active
    c = active.contact[i]
    a, b = contacts.a[c], contacts.b[c]
    D, G, q, z, new = np.empty((ROWS, 9)), np.empty((ROWS, ROWS)), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    six_rows(bodies, contacts, active, i, D)
    six_matrix(bodies, a, b, D, G)
    six_velocities(D, bodies.end[a], bodies.end[b], q)
    read_impulses(bodies, contacts, active, i, dim, z)
    for k in range(ROWS):
        new[k] = z[k]
        if k < 3:
            q[k] += active.bias[i, k]
        for j in range(ROWS):
            q[k] -= G[k, j] * z[j]
    length = arm_length(bodies, contacts, active, i)
    roll = active.rolling[i] / length if length > 0.0 else 0.0
    spins = active.patch[i] > 0.0 and active.mu[i] > 0.0
    solve_six(G, q, Resisting(active.mu[i], spins, active.hertz[i], roll, dim == 2), new, rounds)
    change = 0.0
    for k in range(ROWS):
        z[k] = new[k] - z[k]
        change = max(change, G[k, k] * abs(z[k]))
    apply_rows(bodies, a, b, D, z, bodies.end)
    write_impulses(bodies, contacts, active, i, dim, new)
    return change


@kernel(apart=True)
def sweep(island: Island, dim: int, sweeps: int) -> float:
    """Visit all contacts of an island some times; returns the largest change of a velocity in the last time [m/s]."""
    change, rounds = 0.0, INNER if island.last - island.first == 1 else SHARED
    for _ in range(sweeps):
        change = 0.0
        for m in range(island.first, island.last):
            change = max(change, visit(island, island.order[m], dim, rounds))
    return change


@kernel(apart=True)
def apply_turn(active: Active, i: int, bodies: Bodies, a: int, b: int) -> None:
    """Add the spin and rolling impulses of active contact i to the end velocities."""
    x, y, z = turn_in_world(active, i)
    if bodies.kind[a] == MOVING:
        d, e, f = times(bodies.inv_inertia[a], x, y, z)
        v = bodies.end[a]
        v[3], v[4], v[5] = v[3] - d, v[4] - e, v[5] - f
    if bodies.kind[b] == MOVING:
        d, e, f = times(bodies.inv_inertia[b], x, y, z)
        v = bodies.end[b]
        v[3], v[4], v[5] = v[3] + d, v[4] + e, v[5] + f


@kernel
def turn_in_world(active: Active, i: int) -> tuple[float, float, float]:
    """Angular impulse of active contact i on body b as a world vector [N m s]."""
    f, t = active.frame[i], active.turn[i]
    return (
        f[0] * t[0] + f[3] * t[1] + f[6] * t[2],
        f[1] * t[0] + f[4] * t[1] + f[7] * t[2],
        f[2] * t[0] + f[5] * t[1] + f[8] * t[2],
    )


@kernel(apart=True)
def six_defect(bodies: Bodies, contacts: Contacts, active: Active, i: int, dim: int) -> float:
    """Violation of the laws of active contact i at the end velocities [m/s].

    Each block is solved with the others held: what its velocities would change by is its violation.
    """
    c = active.contact[i]
    a, b = contacts.a[c], contacts.b[c]
    D, G, q, z, new = np.empty((ROWS, 9)), np.empty((ROWS, ROWS)), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    A, p, x, r = np.zeros(9), np.empty(3), np.zeros(3), np.zeros(3)
    six_rows(bodies, contacts, active, i, D)
    six_matrix(bodies, a, b, D, G)
    six_velocities(D, bodies.end[a], bodies.end[b], q)
    read_impulses(bodies, contacts, active, i, dim, z)
    for k in range(ROWS):
        new[k] = z[k]
        if k < 3:
            q[k] += active.bias[i, k]
        for j in range(ROWS):
            q[k] -= G[k, j] * z[j]
    if G[0, 0] == 0.0:
        return 0.0
    new[0] = max(0.0, -rest_of(G, q, z, 0, 0, 1) / G[0, 0])
    load, mu, length = max(0.0, z[0]), active.mu[i], arm_length(bodies, contacts, active, i)
    if active.patch[i] > 0.0 and mu > 0.0:
        inverse_of_three(G, A)
        for k in range(3):
            p[k] = rest_of(G, q, z, 1 + k, 1, 4)
        if load > 0.0:
            spin_and_slide(A, p, mu * load, active.hertz[i], x, r)
        new[1], new[2], new[3] = r[0], r[1], r[2]
    else:
        if mu > 0.0:
            trial = z.copy()
            solve_pair(G, q, trial, 1, mu * load, dim == 2)
            new[1], new[2] = trial[1], trial[2]
        new[3] = 0.0
    if active.rolling[i] > 0.0 and length > 0.0:
        trial = z.copy()
        solve_pair(G, q, trial, 4, active.rolling[i] / length * load, dim == 2)
        new[4], new[5] = trial[4], trial[5]
    worst = 0.0
    for k in range(ROWS):
        worst = worse(worst, G[k, k] * abs(new[k] - z[k]))
    return worst


@kernel
def turn_work(active: Active, i: int, v: np.ndarray, w: np.ndarray, end_a: np.ndarray, end_b: np.ndarray) -> float:
    """Work of the spin and rolling impulses of active contact i in a step [J]; v, w: velocities before."""
    x, y, z = turn_in_world(active, i)
    d = (end_b[3] - end_a[3]) + (w[3] - v[3])
    e = (end_b[4] - end_a[4]) + (w[4] - v[4])
    f = (end_b[5] - end_a[5]) + (w[5] - v[5])
    return 0.5 * (x * d + y * e + z * f)


@kernel
def most_sweeps(island: Island, turn: int) -> int:
    """Sweeps that an island is given: few, then with momentum (turn 1), then without; a contact alone has one turn."""
    n = max(1, island.last - island.first)
    if turn == 0:
        return SWEEPS if n == 1 else FEWEST_SWEEPS if n <= FEW else 0
    if n == 1:
        return 0
    return MOMENTUM_SWEEPS if turn == 1 else FEWEST_SWEEPS


@kernel
def enough(change: float, options: Options, scale: float) -> bool:
    """Whether sweeps that change velocities by this much may have come to an end [m/s]."""
    return change <= 0.1 * options.tol * scale
