"""Two contacts at once: every answer against the laws themselves and against enumeration."""

import numpy as np
import pytest

from stickslip.contact.planar import Auto, PlanarProblem, _Pair, all_solutions


def problem(generator, dof=4, mu=(0.3, 0.6), a=(0.0, 0.0), push=1.0):
    """Two contacts of a body with `dof` coordinates, closing with random velocities."""
    W = generator.normal(size=(4, dof))
    G = W @ W.T
    c = generator.normal(size=4)
    c[:2] -= push
    ones = np.ones(2, bool)
    size = np.full(2, 5.0)
    return PlanarProblem(
        G_NN=G[:2, :2], G_NT=G[:2, 2:], G_TT=G[2:, 2:], c_N=c[:2], c_T=c[2:], mu=np.array(mu), a=np.array(a),
        normal=ones, tangential=ones, size_N=size, size_T=size,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mu", "a"),
    [((0.3, 0.6), (0.0, 0.0)), ((0.0, 0.4), (0.0, 0.0)), ((0.2, 0.0), (0.1, 0.5)), ((0.0, 0.0), (0.0, 0.0))],
)
def test_answers_obey_the_laws_and_are_among_all_solutions(mu, a):
    generator = np.random.default_rng(5)
    solved = 0
    for _ in range(60):
        p = problem(generator, mu=mu, a=a)
        answer = _Pair()._solve(p)
        if not answer[3].startswith("solved"):
            continue
        solved += 1
        assert p.residual(answer[0], answer[1]) < 1e-12
        every = all_solutions(p)
        apart = [np.abs(np.concatenate([answer[0] - s.Lambda_N, answer[1] - s.Lambda_T])).max() for s in every]
        assert min(apart) < 1e-9
    assert solved > 20  # what is nearly singular is left to others


def test_branches_that_do_not_determine_the_impulses_are_refused():
    """Four constraints of a body with three coordinates: where both contacts stick, their frictions may cancel."""
    generator = np.random.default_rng(3)
    refused = 0
    for _ in range(40):
        p = problem(generator, dof=3, mu=(50.0, 50.0))
        Lambda_N, Lambda_T, rounds, sentence = _Pair()._solve(p)
        if sentence.startswith("solved"):
            assert p.residual(Lambda_N, Lambda_T) < 1e-10
        else:
            refused += 1
            assert rounds >= 1 and not Lambda_N.any()
        whole = Auto().solve(p)  # goes on with the next stages
        assert whole.solved == (p.residual(whole.Lambda_N, whole.Lambda_T) <= 1e-10)
    assert refused > 0
