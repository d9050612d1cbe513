"""Newton's method for islands whose contacts resist rolling or spinning: what sweeps leave, the host solves.

The problem of `rolling`, in the velocities of the bodies: v = v_free + M^-1 H^T z, rows u = H v + bias, six each.
With D a mobility of each row and impulses z_k, the laws with a compliance a D about z_k are, in the form of Alart and
Curnier,

    N = (p_N)_+,    (T, S) in the set of mu N,    R in the disc of rho' N,    p = z_k - u / (a D),

each the resolvent of its law.  Newton solves v - v_free - M^-1 H^T z(u(v)) = 0 with the generalised Jacobian
1 + M^-1 H^T C H, C = -dz/du: as large as the bodies, however many points they share.  Then z_k is taken anew: a
proximal point method, whose limit obeys the laws themselves.  a falls where Newton takes few steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from stickslip.contact.constants import TO_THE_BOUNDARY
from stickslip.scenes.islands.contensou import patch_slopes, spin_and_slide
from stickslip.scenes.islands.island import SHARPER
from stickslip.scenes.layout import MOVING

DENSE_BODIES = 40  # up to which the matrix is full
FIRST, LEAST, MOST = 0.1, 1e-5, 1e3  # of a; below LEAST rounding of v, over a, is more than the tolerance
FALL, RISE = 0.1, 5.0
ROUNDS, MORE = 60, 3  # of z_k: until the tolerance is reached, and beyond it
STEPS, SOON = 40, 8  # of Newton with one z_k: at most, and so few that a falls
HALVINGS = 8
ROUGH, INNER = 0.03, 1e-2  # of the residual so far, and of the tolerance: to which Newton solves, beside velocities
POLISH, TINY, FAR = 10, 1e-9, 1e3  # Newton for the laws themselves: steps, compliance, how much worse than the best
SMALL, DOUBTED = 1e-7, 3  # likewise with given states: compliance, and contacts
LEAPS, NO_WORSE, PARALLEL = 8, 2.0, 0.98  # leaps: lengths tried, factor of the residual, cosine of two steps
FREE, STICK, SLIP = -1, 0, 1
Judge = Callable[[np.ndarray], float]


class Rows(NamedTuple):
    """An island in its own numbers: n contacts with six rows, b bodies that move with six velocities."""

    a: np.ndarray  # (n,) numbers of bodies, b where it does not move
    b: np.ndarray  # (n,)
    on_a: np.ndarray  # (n, 6, 6) what rows have of the velocities of a and b
    on_b: np.ndarray  # (n, 6, 6)
    bias: np.ndarray  # (n, 6)
    D: np.ndarray  # (n, 6) mobilities of the rows
    mu: np.ndarray
    roll: np.ndarray  # (n,) rho / l
    spins: np.ndarray  # (n,) bool
    hertz: np.ndarray  # (n,) bool
    inverse: np.ndarray  # (b, 6, 6) of the mass matrix
    free: np.ndarray  # (b, 6)
    moving: np.ndarray  # (b,) bodies
    length: np.ndarray  # (n, 3) impulses of turning in N m s, of those in N s


def _cross(p: np.ndarray, f: np.ndarray) -> np.ndarray:
    return np.cross(p[:, None, :], f)


def rows_of(bodies: Any, contacts: Any, active: Any, dim: int) -> Rows:
    """Rows of the contacts of an island; active: its contacts."""
    n, pair = len(active), (contacts.a[active.contact], contacts.b[active.contact])
    moving = np.unique(np.concatenate([body[bodies.kind[body] == MOVING] for body in pair]))
    number = np.full(len(bodies.kind), len(moving))
    number[moving] = np.arange(len(moving))
    arms = (active.arm_a, active.arm_b)
    there = [(bodies.kind[body] == MOVING) for body in pair]
    longest = np.max([np.where(t, np.linalg.norm(p, axis=1), 0.0) for t, p in zip(there, arms, strict=True)], axis=0)
    frame = np.array(active.frame).reshape(n, 3, 3)
    scale = np.stack([active.patch, longest, longest], axis=1)
    sides = []
    for p, sign in zip(arms, (-1.0, 1.0), strict=True):
        side = np.zeros((n, 6, 6))
        side[:, :3, :3], side[:, :3, 3:], side[:, 3:, 3:] = frame, _cross(p, frame), scale[:, :, None] * frame
        if dim == 2:  # slips along t_1, turns about t_2
            side[:, 2:5] = 0.0
        sides.append(sign * side)
    inverse = np.zeros((len(moving) + 1, 6, 6))
    inverse[:-1, range(3), range(3)] = bodies.inv_mass[moving][:, None]
    inverse[:-1, 3:, 3:] = bodies.inv_inertia[moving].reshape(-1, 3, 3)
    ends = number[pair[0]], number[pair[1]]
    W = sum(s @ inverse[e] @ s.transpose(0, 2, 1) for s, e in zip(sides, ends, strict=True))
    D = bounds(0.5 * (W + W.transpose(0, 2, 1)))
    bias = np.zeros((n, 6))
    bias[:, :3] = active.bias
    roll = np.divide(active.rolling, longest, out=np.zeros(n), where=longest > 0.0)
    spins = (active.patch > 0.0) & (active.mu > 0.0)
    return Rows(
        ends[0], ends[1], sides[0], sides[1], bias, D, np.array(active.mu), roll, spins,
        np.array(active.hertz, bool), inverse[:-1], np.array(bodies.free[moving]), moving, scale,
    )  # fmt: skip


def bounds(W: np.ndarray) -> np.ndarray:
    """Mobilities D (n, 6): of slips, of both turns one number; rows that move nothing have 1."""
    D = np.einsum("nkk->nk", W).copy()
    for k, m in ((1, 3), (4, 6)):
        D[:, k:m] = D[:, k:m].max(axis=1)[:, None]
    D[D <= 0.0] = 1.0
    return D


def disc(p: np.ndarray, radius: np.ndarray, held: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nearest points (n, 2) of discs, their slopes in p (n, 2, 2) and in the radius (n, 2).

    held : (n,) STICK and SLIP take p itself, or the point of the boundary along p, wherever p is.
    """
    size = np.linalg.norm(p, axis=1)
    out = size > radius
    if held is not None:
        out = np.where(held == FREE, out, held == SLIP)
    way = p / np.where(size > 0.0, size, 1.0)[:, None]
    share = np.where(out, radius / np.where(size > 0.0, size, 1.0), 1.0)
    slope = share[:, None, None] * (np.eye(2) - np.where(out, 1.0, 0.0)[:, None, None] * way[:, :, None] * way[:, None])
    return np.where(out[:, None], radius[:, None] * way, p), slope, np.where(out[:, None], way, 0.0)


def resolvents(rows: Rows, p: np.ndarray, a: float, held: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """z(p) (n, 6) of all contacts, and dz/dp (n, 6, 6), for mobilities a D."""
    n = len(p)
    z, J = np.zeros((n, 6)), np.zeros((n, 6, 6))
    N = np.maximum(p[:, 0], 0.0)
    closed = np.where(p[:, 0] > 0.0, 1.0, 0.0)
    z[:, 0], J[:, 0, 0] = N, closed
    for k, bound in ((1, rows.mu), (4, rows.roll)):
        r, slope, along = disc(p[:, k : k + 2], bound * N, held if k == 1 else None)
        z[:, k : k + 2], J[:, k : k + 2, k : k + 2] = r, slope * closed[:, None, None]
        J[:, k : k + 2, 0] = (bound * closed)[:, None] * along
    for i in np.flatnonzero(rows.spins & (p[:, 0] > 0.0)):
        _patch(rows, int(i), p[i], a, z[i], J[i])
    return z, J


def _patch(rows: Rows, i: int, p: np.ndarray, a: float, z: np.ndarray, J: np.ndarray) -> None:
    """Slip and spin of contact i: x = G (r - p), -r in load dPhi(x), G = a D; r' from x and the Hessian of Phi."""
    G, load = a * rows.D[i, 1:4], rows.mu[i] * z[0]
    x, r, g, H = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(9)
    spin_and_slide(np.diag(1.0 / G).ravel(), -G * p[1:4], load, bool(rows.hertz[i]), x, r)
    z[1:4] = r
    J[1:4, 0], J[1:4, 1:4] = 0.0, np.eye(3)
    if x.any():  # (1 + G load Phi'') dx = -G (dp + Phi' dload), dr = dp + dx / G
        patch_slopes(x, bool(rows.hertz[i]), g, H)
        inner = np.linalg.inv(np.diag(1.0 / G) + load * H.reshape(3, 3)) / G[:, None]
        J[1:4, 1:4] -= inner
        J[1:4, 0] = -rows.mu[i] * (inner @ g)


def row_speeds(rows: Rows, v: np.ndarray) -> np.ndarray:
    """u (n, 6) of velocities v (b, 6)."""
    w = np.vstack([v, np.zeros(6)])
    return np.asarray(
        rows.bias + np.einsum("nij,nj->ni", rows.on_a, w[rows.a]) + np.einsum("nij,nj->ni", rows.on_b, w[rows.b])
    )


def answers(rows: Rows, z: np.ndarray) -> np.ndarray:
    """M^-1 H^T z (b, 6)."""
    total = np.zeros((len(rows.moving) + 1, 6))
    np.add.at(total, rows.a, np.einsum("nij,ni->nj", rows.on_a, z))
    np.add.at(total, rows.b, np.einsum("nij,ni->nj", rows.on_b, z))
    return np.asarray(np.einsum("bij,bj->bi", rows.inverse, total[:-1]))


def newton_step(rows: Rows, C: np.ndarray, F: np.ndarray) -> np.ndarray:
    """The solution of (1 + M^-1 H^T C H) dv = -F; C (n, 6, 6)."""
    count = len(rows.moving)
    blocks = {}
    ends = ((rows.a, rows.on_a), (rows.b, rows.on_b))
    for i, left in ends:
        for j, right in ends:
            part = left.transpose(0, 2, 1) @ C @ right
            blocks[i is rows.b, j is rows.b] = (i, j, part)
    first = np.concatenate([i for i, _, _ in blocks.values()])
    second = np.concatenate([j for _, j, _ in blocks.values()])
    part = np.concatenate([part for _, _, part in blocks.values()])
    kept = (first < count) & (second < count)
    first, second, part = first[kept], second[kept], rows.inverse[first[kept]] @ part[kept]
    if count <= DENSE_BODIES:
        whole = np.zeros((count, count, 6, 6))
        np.add.at(whole, (first, second), part)
        K = whole.transpose(0, 2, 1, 3).reshape(6 * count, 6 * count)
        K[range(6 * count), range(6 * count)] += 1.0
        return np.asarray(np.linalg.solve(K, -F.ravel()).reshape(-1, 6))
    six = np.arange(6)
    i = np.concatenate([(6 * first[:, None, None] + six[:, None] + 0 * six).ravel(), np.arange(6 * count)])
    j = np.concatenate([(6 * second[:, None, None] + 0 * six[:, None] + six).ravel(), np.arange(6 * count)])
    K = csc_matrix((np.concatenate([part.ravel(), np.ones(6 * count)]), (i, j)))
    return np.asarray(splu(K, permc_spec="MMD_AT_PLUS_A").solve(-F.ravel()).reshape(-1, 6))


def inner_newton(
    rows: Rows, z: np.ndarray, v: np.ndarray, a: float, wanted: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Impulses and velocities of the laws with compliances a D about z, and the steps taken; beyond STEPS: unsolved."""

    def defect(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        new, J = resolvents(rows, z - row_speeds(rows, v) / (a * rows.D), a)
        F = v - rows.free - answers(rows, new)
        return new, J, F, float(np.abs(F).max())

    new, J, F, size = defect(v)
    for count in range(STEPS):
        if size <= wanted:
            return new, v, count
        dv, part = newton_step(rows, J / (a * rows.D)[:, None, :], F), 1.0
        for _ in range(HALVINGS):
            trial = defect(v + part * dv)
            if trial[3] < (1.0 - 0.1 * part) * size:
                break
            part *= 0.5
        v = v + part * dv
        new, J, F, size = trial
    return new, v, STEPS + (size > wanted)


def shorter(z: np.ndarray, dz: np.ndarray, judge: Judge, least: float) -> tuple[np.ndarray, float]:
    """The first of z + dz, z + dz / 4, ... that is better than `least`, or z + dz."""
    full, part = judge(z + dz), 1.0
    if full < least:
        return z + dz, full
    for _ in range(HALVINGS):
        part *= 0.25
        error = judge(z + part * dz)
        if error < least:
            return z + part * dz, error
    return z + dz, full


def newton_way(rows: Rows, z: np.ndarray, a: float, held: np.ndarray | None = None) -> np.ndarray:
    """Newton's step dz for the laws themselves; v = v_free + M^-1 H^T z, so that rounding does not grow with 1 / a.

    (1 - (1 - a) J) dz + J D^-1 H dv = -G, dv = M^-1 H^T dz: the compliance a chooses among steps that move nothing.
    """
    new, J = resolvents(rows, z - row_speeds(rows, rows.free + answers(rows, z)) / rows.D, 1.0, held)
    right = np.concatenate([J / rows.D[:, None, :], (z - new)[:, :, None]], axis=2)
    C = np.linalg.solve(np.eye(6) - (1.0 - a) * J, right)
    dv = newton_step(rows, C[:, :, :6], answers(rows, C[:, :, 6]))
    return np.asarray(-C[:, :, 6] - np.einsum("nij,nj->ni", C[:, :, :6], row_speeds(rows, dv) - rows.bias))


def polish(rows: Rows, z: np.ndarray, judge: Judge, tol: float) -> tuple[np.ndarray, float]:
    """Newton's method for the laws themselves, from impulses near a solution: the best, and their residual."""
    best, least = z, np.inf
    for _ in range(POLISH):
        z, error = shorter(z, newton_way(rows, z, TINY), judge, least)
        if error < least:
            best, least = z, error
        if least <= tol or error > FAR * least:
            break
    return best, least


def with_states(rows: Rows, z: np.ndarray, judge: Judge, tol: float) -> tuple[np.ndarray, float]:
    """Newton's method with given states, stick or slip, of the contacts whose slips are worst: all their combinations.

    Corners of one edge that turns and sticks have slips that contradict one another by next to nothing.  One of them
    slips then, by as little, and Newton's method goes round and round between their states.
    """
    best, least = z, np.inf
    u = row_speeds(rows, rows.free + answers(rows, z))
    defect = np.abs((z - resolvents(rows, z - u / rows.D, 1.0)[0]) * rows.D)[:, 1:3].max(axis=1)
    doubted = np.argsort(np.where(rows.spins, 0.0, -defect), kind="stable")[:DOUBTED]
    for states in itertools.product((SLIP, STICK), repeat=len(doubted)):
        held, trial, before = np.full(len(z), FREE), z, np.inf
        held[doubted] = states
        for _ in range(POLISH):
            trial = trial + newton_way(rows, trial, SMALL, held)
            error = judge(trial)
            if error < least:
                best, least = trial, error
            if least <= tol or not error < FAR * before:
                break
            before = error
        if least <= tol:
            break
    return best, least


def first_edge(rows: Rows, z: np.ndarray, dz: np.ndarray) -> float:
    """The least t > 0 at which a contact inside its cones leaves one of them along z + t dz."""
    closed = z[:, 0] > 0.0
    N, dN = z[closed, 0], dz[closed, 0]
    times = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, bound in ((1, rows.mu[closed]), (4, rows.roll[closed])):
            R, D = z[closed, k : k + 2], dz[closed, k : k + 2]
            a = (bound * dN) ** 2 - (D**2).sum(axis=1)
            b = bound**2 * N * dN - (R * D).sum(axis=1)
            c = (bound * N) ** 2 - (R**2).sum(axis=1)
            inside = c > 1e-5 * (bound * N) ** 2  # else it slides already
            root = np.sqrt(np.where(inside, b * b - a * c, np.nan))
            half = np.where(b >= 0.0, -(b + root), -(b - root))
            times += [half / a, c / half]
        times.append(np.where(dN < 0.0, -N / dN, np.inf))
    ahead = np.concatenate(times)
    return float(ahead[np.isfinite(ahead) & (ahead > 0.0)].min(initial=1e6))


def leap(rows: Rows, z: np.ndarray, dz: np.ndarray, judge: Judge, error: float) -> tuple[np.ndarray, float] | None:
    """Impulses far along dz, which moves next to nothing."""
    t = min(TO_THE_BOUNDARY * first_edge(rows, z, dz), 1e12)
    for _ in range(LEAPS):
        if t < 1.0:
            return None
        landed = z + t * dz
        there = judge(landed)
        if there <= NO_WORSE * error:
            return landed, there
        t *= 0.3
    return None


def proximal_newton(rows: Rows, z: np.ndarray, tol: float, judge: Judge) -> np.ndarray:
    """The best impulses (n, 6) that are found; `judge` tells their residuals [1], tol: what these should be."""
    a, v, best, least = FIRST, rows.free + answers(rows, z), z, judge(z)
    speed, before, last, more = float(np.abs(rows.free).max()), None, np.inf, 0
    for _ in range(ROUNDS):
        wanted = max(INNER * tol, ROUGH * min(last, least)) * speed
        new, there, count = inner_newton(rows, z, v, a, wanted)
        if count > STEPS:
            a, before = RISE * a, None
            if a > MOST:
                break
            continue
        step = (new - z) * a
        along = before is not None and np.vdot(step, before) > PARALLEL * np.linalg.norm(step) * np.linalg.norm(before)
        dz, z, v, before = new - z, new, there, step
        error = judge(z)
        found = leap(rows, z, dz, judge, error) if along and error > 0.5 * last else None
        if found is not None:
            (z, error), before = found, None
            v = rows.free + answers(rows, z)
        last = error
        if error < least:
            best, least = z, error
        if least > SHARPER * tol:
            close, error = polish(rows, z, judge, SHARPER * tol)
            if error < least:
                best, least = close, error
        more += least <= tol
        if least <= SHARPER * tol or more > MORE:
            return best
        if count <= SOON:
            a = max(LEAST, FALL * a)
    if least > tol:
        found = with_states(rows, best, judge, SHARPER * tol)
        if found[1] < least:
            best = found[0]
    return best
