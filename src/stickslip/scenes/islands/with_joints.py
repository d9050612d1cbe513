"""Islands on which the kernel gave up: impulses from other starts, for a caller that judges them.

Bounded rows (motors, limits, dry friction) beside contacts that stick and slip: Newton may go round between modes
of which none fits, from zero as well, where the problem has one solution.  So it may with contacts alone, of a box that
stands on four corners or of bodies that creep.  The proximal point

    z_k+1 solves the same laws with (W + a 1, q - a z_k),    a from START down

makes the inner problems well posed; Newton from the modes each of them ends in, on the problem itself, is soon the
answer.  a rises again where an inner problem is not solved.  Where modes hang on velocities of 1e-8 of the others
(nearly redundant contacts), z_k creeps: there Lemke's method tells the modes, with the cones as pyramids (exact in the
plane) of which an edge lies along the slip that was found last, and Newton goes on from its answer.  Or the joints are
eliminated, and what is left is a contact problem like any other (`contact.auto`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from stickslip.contact.auto import hard_island
from stickslip.contact.contacts import contacts_from
from stickslip.contact.joints import eliminate_joints
from stickslip.contact.method import Progress
from stickslip.contact.pyramid import LARGEST as LARGEST_LCP
from stickslip.contact.pyramid import directions
from stickslip.lcp.solve import solve_lcp
from stickslip.scenes.islands.newton import newton_alone

START, FLOOR, LARGEST = 0.1, 1e-9, 100.0  # of a, relative to the unit diagonal of W
NEAR = (1e-6, 1e-4, 1e-2)  # a of the inner problems that hold on to the impulses there are
FALL, RISE = 0.3, 4.0
FEW_ROUNDS, ROUNDS = 15, 40
PYRAMIDS = ((8, 0.0), (8, 1e-10), (32, 0.0), (32, 1e-10))
"""Edges in space, and a change of the LCP's right-hand side, relative: ties lose Lemke's path its accuracy."""
NEWTON_STEPS = 60
NEARLY_EXACT, INNER_SOLVED = 1e-12, 1e-11  # errors of the inner problems that are asked for, and that do
LCP_SOLVED = 1e-9
ELIMINATED_EFFORT, EACH = 20.0, 0.2  # nominal seconds of work on the contact problem that is left, and per contact
DIVERGED = 1e7  # of |q|: impulses that no load explains
SUPPORT = 1e-3  # of the largest impulse: those that grow with it
EDGES = 16  # of a pyramid inside a cone
FOUND = 1e-9  # what least squares leave over, relative: d is found up to rounding
WORK = 2e9  # unknowns^3 of all inner problems: some ten seconds


@dataclass(frozen=True)
class JointIsland:
    """W, q, mu of an island, scaled, shapes (n, n), (n,), (contacts,); low, high, grain of its rows, (rows,)."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    low: np.ndarray
    high: np.ndarray
    grain: np.ndarray
    dim: int

    def newton(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Impulses from the start z, and their error."""
        r = z.copy()
        error = newton_alone(
            self.W, self.q, self.mu, self.low, self.high, self.grain, self.dim, r, NEARLY_EXACT, NEWTON_STEPS
        )
        return r, float(error)

    def shifted(self, a: float, z: np.ndarray) -> JointIsland:
        """The inner problem (W + a 1, q - a z)."""
        W = self.W + a * np.eye(len(z))
        return JointIsland(W, self.q - a * z, self.mu, self.low, self.high, self.grain, self.dim)


Answers = Callable[[JointIsland, np.ndarray], Iterator[np.ndarray]]
"""From an island and the impulses it has, others that may be better."""


def near_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses near to those it has: by Newton from them, and after inner problems that hold on to them.

    Where the laws leave impulses open, those of the last step may be a state of rest that is off by little more than
    the tolerance.  Other starts would lead to other solutions, in which bodies may move.
    """
    yield island.newton(z)[0]
    for a in NEAR:
        x, error = island.shifted(a, z).newton(z)
        if error <= INNER_SOLVED:
            yield island.newton(x)[0]
            yield x


def first_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by Newton from zero and by proximal point from the normal impulses; often solutions.

    Frictions that the last step has left on the edges of their cones are the worst of starts.
    """
    yield island.newton(np.zeros_like(z))[0]
    number = np.arange(len(z))
    tangential = (number % island.dim > 0) & (number < island.dim * len(island.mu))
    yield from proximal_answers(island, np.where(tangential, 0.0, z), FEW_ROUNDS)


def more_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by Lemke, and by more of the proximal point.

    Lemke needs fewer attempts than the proximal point, but takes long to compile.
    """
    yield from pyramid_answers(island, z)
    yield from proximal_answers(island, np.zeros_like(z), ROUNDS)
    yield from proximal_answers(island, z, ROUNDS)


def growing(island: JointIsland, z: np.ndarray) -> np.ndarray | None:
    """Which contacts carry impulses that grow without bound, (contacts,); None where none do.

    Those are multiples of a d in the cones with W d = 0: bodies that are wedged.  q . d < 0 is what makes them grow,
    and that comes from restitution: q = H^T v_free + bias, H d = 0, and without it no bias is negative.
    """
    N = z[: island.dim * len(island.mu) : island.dim]
    largest = float(N.max(initial=0.0))
    return N > SUPPORT * largest if largest > DIVERGED * float(np.abs(island.q).max(initial=0.0)) else None


def may_grow(island: JointIsland) -> np.ndarray | None:
    """Contacts whose impulses may grow without bound, by a look at the laws alone, (contacts,); None where none do.

    A d in the cones with W d = 0 and q . d < 0 (see `growing`).  Where there is no such d, a solution exists.  Where
    there is one, there may be none: a proof it is only for d without friction (`contact.wedged`).  d = B x with x >= 0
    is looked for by least squares, where B has the edges of pyramids inside the cones.  Joints carry impulses of both
    signs; rows with bounds are left out.
    """
    n, dim = len(island.mu), island.dim
    edges = 2 if dim == 2 else EDGES
    angles = np.arange(edges) * (2.0 * np.pi / edges)
    ring = np.cos(angles)[:, None] if dim == 2 else np.column_stack([np.cos(angles), np.sin(angles)])
    both = np.flatnonzero(np.isinf(island.low) & np.isinf(island.high))
    B = np.zeros((len(island.q), n * edges + 2 * len(both)))
    for i in range(n):
        columns = slice(i * edges, (i + 1) * edges)
        B[i * dim, columns] = 1.0
        B[i * dim + 1 : (i + 1) * dim, columns] = island.mu[i] * ring.T
    for k, row in enumerate(dim * n + both):
        B[row, n * edges + 2 * k], B[row, n * edges + 2 * k + 1] = 1.0, -1.0
    scale = float(np.abs(island.q).max(initial=0.0))
    if n == 0 or scale == 0.0:
        return None
    try:
        x, missing = nnls(np.vstack([island.W @ B, island.q @ B / scale]), np.append(np.zeros(len(island.q)), -1.0))
    except RuntimeError:  # its iterations are limited
        return None
    if missing > FOUND:
        return None
    N = x[: n * edges].reshape(n, edges).sum(axis=1)
    return np.asarray(N > SUPPORT * N.max(initial=0.0))


def proximal_answers(island: JointIsland, z: np.ndarray, rounds: int) -> Iterator[np.ndarray]:
    """Each solution of an inner problem, after Newton on the problem itself, and as it is."""
    a = START
    for _ in range(min(rounds, 1 + int(WORK / max(1, len(z)) ** 3))):
        x, error = island.shifted(a, z).newton(z)
        if error <= INNER_SOLVED:
            z, a = x, max(FALL * a, FLOOR)
            yield island.newton(x)[0]
        else:
            a = min(RISE * a, LARGEST)
        yield x


def pyramid_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Lemke's answers with pyramids turned into the slip of the one before, after Newton and as they are."""
    for edges, perturbation in PYRAMIDS:
        m = edges if island.dim == 3 else 2
        if (m + 2) * len(island.mu) + 2 * len(island.low) > LARGEST_LCP:
            return
        z = by_lemke(island, z, edges, perturbation)
        yield island.newton(z)[0]
        yield z


def eliminated_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by the methods for contacts alone: rows at a bound stay, the others are eliminated; then Newton."""
    m = island.dim * len(island.mu)
    if m == 0 or m == len(z):
        return
    held = (z[m:] <= island.low) | (z[m:] >= island.high)
    order = np.concatenate([np.arange(m), m + np.flatnonzero(~held)])
    bound = m + np.flatnonzero(held)
    q = island.q[order] + island.W[np.ix_(order, bound)] @ z[bound]
    W, q, complete = eliminate_joints(island.W[np.ix_(order, order)], q, m)
    effort = min(ELIMINATED_EFFORT, EACH * (1 + len(island.mu)))
    problem = contacts_from(W, q, island.mu, island.dim)
    outcome = hard_island(problem, z[:m].copy(), NEARLY_EXACT, Progress(effort=effort))
    if np.isfinite(outcome.error):
        r = z.copy()
        r[order] = complete(outcome.r)
        yield r
        yield island.newton(r)[0]


def by_lemke(island: JointIsland, z: np.ndarray, edges: int, perturbation: float) -> np.ndarray:
    """Impulses of the laws with pyramids, an edge of each against the slip that z leaves; rows as in `bounded_lcp`.

    Rows without bounds are eliminated first.
    """
    m, u = island.dim * len(island.mu), island.W @ z + island.q
    free = np.isinf(island.low) & np.isinf(island.high)
    order = np.concatenate([np.arange(m), m + np.flatnonzero(~free), m + np.flatnonzero(free)])
    n = m + int(np.count_nonzero(~free))
    W, q, complete = eliminate_joints(island.W[np.ix_(order, order)], island.q[order], n)
    W = W if isinstance(W, np.ndarray) else W.toarray()
    pyramids = [edges_along(-u[i + 1 : i + island.dim], edges) for i in range(0, m, island.dim)]
    A, b, B, c = bounded_lcp(W, q, island.mu, pyramids, island.low[~free], island.high[~free])
    noise = np.random.default_rng(len(b)).random(len(b)) * np.abs(b).max(initial=0.0)
    x = solve_lcp(A, b + perturbation * noise, "lemke", tol=LCP_SOLVED).x
    r = np.empty_like(z)
    r[order] = complete(B @ x[: B.shape[1]] + c)
    return r


def edges_along(t: np.ndarray, edges: int) -> np.ndarray:
    """Unit vectors of a pyramid's edges, shape (d - 1, m), the first along t; in the plane +1 and -1."""
    D = directions(edges, len(t) + 1)
    size = float(np.hypot(*t)) if len(t) == 2 else 0.0
    if size == 0.0:
        return D
    c, s = t / size
    return np.array([[c, -s], [s, c]]) @ D


def bounded_lcp(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, edges: list[np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, b of the LCP of contacts and bounded rows, and B, c with z = B x + c, x its first unknowns (r_N, beta, s).

    Contacts as in [S00] (2.11)-(2.16), with lambda_i.  A row is l = low + s (high - s where low is infinite), and with
    both bounds 0 <= w + nu perp s >= 0, 0 <= high - low - s perp nu >= 0, w its velocity: l = high where w = -nu.
    """
    n = len(mu)
    widths = np.array([D.shape[1] for D in edges], int)
    begins = n + np.concatenate([[0], np.cumsum(widths)]).astype(int)
    rows = begins[-1] + np.arange(len(low))
    both = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    up = np.isfinite(low)
    B, c = np.zeros((len(q), begins[-1] + len(low))), np.zeros(len(q))
    start = len(q) - len(low)
    B[start + np.arange(len(low)), rows] = np.where(up, 1.0, -1.0)
    c[start:] = np.where(up, low, high)
    size, k = B.shape[1] + n + len(both), B.shape[1]
    A, b = np.zeros((size, size)), np.zeros(size)
    for i, D in enumerate(edges):
        first, beta = i * (len(D) + 1), slice(begins[i], begins[i + 1])
        B[first, i], B[first + 1 : first + 1 + len(D), beta] = 1.0, D
        A[beta, k + i], A[k + i, i], A[k + i, beta] = 1.0, mu[i], -1.0
    A[:k, :k], b[:k] = B.T @ W @ B, B.T @ (W @ c + q)
    nu = k + n + np.arange(len(both))
    A[rows[both], nu], A[nu, rows[both]], b[nu] = 1.0, -1.0, (high - low)[both]
    return A, b, B, c
