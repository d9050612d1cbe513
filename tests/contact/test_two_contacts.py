"""Two contacts at once: every answer against the laws themselves and against enumeration."""

import numpy as np
import pytest

from stickslip.contact.planar import Auto, PlanarProblem, _Pair, all_solutions
from stickslip.contact.two_contacts import ALL, FREE, NORMALS, Pair, correction, left_over, two_contacts


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
    for _ in range(15):
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


def test_two_contacts_without_tangents_have_the_bits_of_the_general_problem():
    """Two unknowns in place of four: impulses, branches, rounds and corrections are equal to the last bit."""
    generator = np.random.default_rng(7)
    rounds = []
    for _ in range(200):
        W = generator.normal(size=(2, 2)) * 10.0 ** generator.integers(-3, 4, size=(2, 1))
        G = np.zeros((4, 4))
        G[:2, :2] = W @ W.T
        c = np.concatenate([generator.normal(size=2) - 0.5, np.zeros(2)])
        pairs = [
            Pair(
                np.arange(2), (c[:2] < 0.0).astype(np.int64), np.full(2, FREE), np.array([0.3, 0.0]), np.zeros(2),
                G, np.full((4, 5), np.nan), c.copy(), np.full(4, np.nan), np.full(4, np.nan),
            )
            for _ in range(2)
        ]  # fmt: skip
        rounds += [two_contacts(pairs[0], ALL)]
        assert two_contacts(pairs[1], NORMALS) == rounds[-1]
        if rounds[-1] > 0:
            for pair, unknowns in zip(pairs, (ALL, NORMALS), strict=True):
                pair.c[:] = G @ pair.x + c
                correction(pair, unknowns)
            for name in ("x", "dx", "pushes", "branch"):
                assert getattr(pairs[0], name).tobytes() == getattr(pairs[1], name).tobytes()
            assert left_over(pairs[0]) == left_over(pairs[1])
    assert {-1, 1, 2} <= set(rounds)
