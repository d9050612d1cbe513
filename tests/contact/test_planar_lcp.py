"""The LCP [GS05] eq. (33): its matrix as the paper prints it, and the way back to impulses."""

import numpy as np
import pytest

from stickslip.contact.planar import PlanarProblem
from stickslip.contact.planar_lcp import LEFT, NORMAL, RIGHT, impulses_of
from stickslip.lcp.solve import solve_lcp


def problem(k=3, seed=0):
    """k contacts of a body with random directions; the last one has no friction."""
    rng = np.random.default_rng(seed)
    W_N, W_T = rng.normal(size=(k, 6)), rng.normal(size=(k, 6))
    mu, a = np.full(k, 0.4), np.full(k, 0.01)
    mu[-1] = a[-1] = 0.0
    G = W_N @ W_N.T, W_N @ W_T.T, W_T @ W_T.T
    c, every, size = rng.normal(size=(2, k)) - 1.0, np.ones(k, bool), np.ones(k)
    return PlanarProblem(*G, *c, mu, a, every, every, size, size)


def test_rows_and_matrix_are_those_of_the_paper():
    """A = [[G_NN - G_NT mu, G_NT, 0], [G_TN - G_TT mu, G_TT, I], [2 mu, -I, 0]] without the rows that are absent."""
    p = problem()
    lcp = p.lcp()
    rows = [(part, k) for part in (NORMAL, RIGHT, LEFT) for k in range(3) if part == NORMAL or k < 2]
    assert list(zip(lcp.part, lcp.rows, strict=True)) == rows
    mu, E, Z = np.diag(p.mu), np.eye(3), np.zeros((3, 3))
    A = np.block(
        [
            [p.G_NN - p.G_NT @ mu, p.G_NT, Z],
            [p.G_NT.T - p.G_TT @ mu, p.G_TT, E],
            [2.0 * mu, -E, Z],
        ]
    )
    b = np.concatenate([p.c_N - p.G_NT @ p.a, p.c_T - p.G_TT @ p.a, 2.0 * p.a])
    here = [3 * part + k for part, k in rows]
    assert lcp.A == pytest.approx(lcp.scale[:, None] * A[np.ix_(here, here)] * lcp.scale)
    assert lcp.b == pytest.approx(lcp.scale * b[here])
    assert np.diag(p.G_NN) * lcp.scale[:3] ** 2 == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_impulses_of_a_solution_obey_the_laws(seed):
    """Signorini and Coulomb hold for what is read from a solution, whichever contacts stick, slip or open."""
    p = problem(seed=seed)
    lcp = p.lcp()
    answer = solve_lcp(lcp.A, lcp.b)
    assert answer.solved
    N, T = impulses_of(answer.x, lcp, p.mu, p.a)
    assert p.residual(N, T) <= 1e-10
    assert T[-1] == 0.0  # it has no friction
