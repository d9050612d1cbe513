"""Small islands without joints on which the kernel gave up: impulses from other starts, for a caller that judges them.

Newton may go round between modes of which none fits, of a box that stands on four corners or of bodies that creep,
where the problem has one solution.  The proximal point

    z_k+1 solves the same laws with (W + a 1, q - a z_k),    a from START down

makes the inner problems well posed; Newton from the modes each of them ends in, on the problem itself, is soon the
answer.  a rises again where an inner problem is not solved.  Where modes hang on velocities of 1e-8 of the others
(nearly redundant contacts), z_k creeps: there Lemke's method tells the modes, with the cones as pyramids (exact in the
plane) of which an edge lies along the slip that was found last, and Newton goes on from its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

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
DIVERGED = 1e7  # of |q|: impulses that no load explains
SUPPORT = 1e-3  # of the largest impulse: those that grow with it
EDGES = 16  # of a pyramid inside a cone
FOUND = 1e-9  # what least squares leave over, relative: d is found up to rounding
WORK = 2e9  # unknowns^3 of all inner problems: some ten seconds


@dataclass(frozen=True)
class SmallIsland:
    """W, q, mu of an island, scaled, shapes (n, n), (n,), (contacts,)."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    dim: int

    def newton(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Impulses from the start z, and their error."""
        r = z.copy()
        return r, float(newton_alone(self.W, self.q, self.mu, self.dim, r, NEARLY_EXACT, NEWTON_STEPS))

    def shifted(self, a: float, z: np.ndarray) -> SmallIsland:
        """The inner problem (W + a 1, q - a z)."""
        return SmallIsland(self.W + a * np.eye(len(z)), self.q - a * z, self.mu, self.dim)


Answers = Callable[[SmallIsland, np.ndarray], Iterator[np.ndarray]]
"""From an island and the impulses it has, others that may be better."""


def near_answers(island: SmallIsland, z: np.ndarray) -> Iterator[np.ndarray]:
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


def first_answers(island: SmallIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by Newton from zero and by proximal point from the normal impulses; often solutions.

    Frictions that the last step has left on the edges of their cones are the worst of starts.
    """
    yield island.newton(np.zeros_like(z))[0]
    yield from proximal_answers(island, np.where(np.arange(len(z)) % island.dim > 0, 0.0, z), FEW_ROUNDS)


def more_answers(island: SmallIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by Lemke, and by more of the proximal point.

    Lemke needs fewer attempts than the proximal point, but takes long to compile.
    """
    yield from pyramid_answers(island, z)
    yield from proximal_answers(island, np.zeros_like(z), ROUNDS)
    yield from proximal_answers(island, z, ROUNDS)


def growing(island: SmallIsland, z: np.ndarray) -> np.ndarray | None:
    """Which contacts carry impulses that grow without bound, (contacts,); None where none do.

    Those are multiples of a d in the cones with W d = 0: bodies that are wedged.  q . d < 0 is what makes them grow,
    and that comes from restitution: q = H^T v_free + bias, H d = 0, and without it no bias is negative.
    """
    N = z[:: island.dim]
    largest = float(N.max(initial=0.0))
    return N > SUPPORT * largest if largest > DIVERGED * float(np.abs(island.q).max(initial=0.0)) else None


def may_grow(island: SmallIsland) -> np.ndarray | None:
    """Contacts whose impulses may grow without bound, by a look at the laws alone, (contacts,); None where none do.

    A d in the cones with W d = 0 and q . d < 0 (see `growing`).  Where there is no such d, a solution exists.  Where
    there is one, there may be none: a proof it is only for d without friction (`contact.wedged`).  d = B x with x >= 0
    is looked for by least squares, where B has the edges of pyramids inside the cones.
    """
    n, dim = len(island.mu), island.dim
    edges = 2 if dim == 2 else EDGES
    angles = np.arange(edges) * (2.0 * np.pi / edges)
    ring = np.cos(angles)[:, None] if dim == 2 else np.column_stack([np.cos(angles), np.sin(angles)])
    B = np.zeros((len(island.q), n * edges))
    for i in range(n):
        columns = slice(i * edges, (i + 1) * edges)
        B[i * dim, columns] = 1.0
        B[i * dim + 1 : (i + 1) * dim, columns] = island.mu[i] * ring.T
    scale = float(np.abs(island.q).max(initial=0.0))
    if n == 0 or scale == 0.0:
        return None
    from scipy.optimize import nnls  # takes 0.15 s to load, and most runs do without

    try:
        x, missing = nnls(np.vstack([island.W @ B, island.q @ B / scale]), np.append(np.zeros(len(island.q)), -1.0))
    except RuntimeError:  # its iterations are limited
        return None
    if missing > FOUND:
        return None
    N = x.reshape(n, edges).sum(axis=1)
    return np.asarray(N > SUPPORT * N.max(initial=0.0))


def proximal_answers(island: SmallIsland, z: np.ndarray, rounds: int) -> Iterator[np.ndarray]:
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


def pyramid_answers(island: SmallIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Lemke's answers with pyramids turned into the slip of the one before, after Newton and as they are."""
    for edges, perturbation in PYRAMIDS:
        m = edges if island.dim == 3 else 2
        if (m + 2) * len(island.mu) > LARGEST_LCP:
            return
        z = by_lemke(island, z, edges, perturbation)
        yield island.newton(z)[0]
        yield z


def by_lemke(island: SmallIsland, z: np.ndarray, edges: int, perturbation: float) -> np.ndarray:
    """Impulses of the laws with pyramids, an edge of each against the slip that z leaves."""
    u = island.W @ z + island.q
    pyramids = [edges_along(-u[i + 1 : i + island.dim], edges) for i in range(0, len(z), island.dim)]
    A, b, B = pyramid_lcp(island.W, island.q, island.mu, pyramids)
    noise = np.random.default_rng(len(b)).random(len(b)) * np.abs(b).max(initial=0.0)
    return B @ solve_lcp(A, b + perturbation * noise, "lemke", tol=LCP_SOLVED).x[: B.shape[1]]


def edges_along(t: np.ndarray, edges: int) -> np.ndarray:
    """Unit vectors of a pyramid's edges, shape (d - 1, m), the first along t; in the plane +1 and -1."""
    D = directions(edges, len(t) + 1)
    size = float(np.hypot(*t)) if len(t) == 2 else 0.0
    if size == 0.0:
        return D
    c, s = t / size
    return np.array([[c, -s], [s, c]]) @ D


def pyramid_lcp(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, edges: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, b of the LCP of contacts, [S00] (2.11)-(2.16), and B with z = B x, x its first unknowns (r_N, beta)."""
    n = len(mu)
    begins = n + np.concatenate([[0], np.cumsum([D.shape[1] for D in edges])]).astype(int)
    B, k = np.zeros((len(q), begins[-1])), int(begins[-1])
    A, b = np.zeros((k + n, k + n)), np.zeros(k + n)
    for i, D in enumerate(edges):
        first, beta = i * (len(D) + 1), slice(begins[i], begins[i + 1])
        B[first, i], B[first + 1 : first + 1 + len(D), beta] = 1.0, D
        A[beta, k + i], A[k + i, i], A[k + i, beta] = 1.0, mu[i], -1.0
    A[:k, :k], b[:k] = B.T @ W @ B, B.T @ q
    return A, b, B
