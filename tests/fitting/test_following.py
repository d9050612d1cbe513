"""A chaotic motion followed from its start: the least sum of squares is found where single shooting loses its way."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.fitting.fit import prepared
from stickslip.fitting.following import followed
from stickslip.fitting.search import _grown, _growth
from tests.fitting.test_shooting import FREE, NOISE, _oscillator

TRUTH = np.array([0.9, 1.0])


def _film(end, samples, seed=3):
    run = _oscillator().simulate(dt=end / (samples - 1), t_end=end, stepper="event-driven", progress=False)
    return {"t": run.t, "x": run["x"] + NOISE * np.random.default_rng(seed).standard_normal(len(run.t))}


def test_two_motions_of_different_length_are_followed_to_their_ends():
    """From values far off; parts grow, each motion as far as it is met, and the minimum is that near the truth."""
    films = [_film(8.0, 24), _film(16.0, 40, 4)]
    problem, _ = prepared(_oscillator(0.7, 1.2), films, FREE, noise=NOISE)
    shares = []
    z, chi2 = followed(problem, problem.shares(np.array([0.7, 1.2])), shares.append)
    near, least = problem.refine(problem.shares(TRUTH))
    assert len(shares) > 2 and shares[0] < 1.0 == shares[-1] and np.all(np.diff(shares) > 0.0)
    np.testing.assert_allclose(problem.values(z), problem.values(near), atol=1e-5)
    assert chi2 == pytest.approx(least, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "samples", "seed", "begin"),
    [(60.0, 373, 3, (0.8, 1.1)), (60.0, 200, 5, (0.95, 0.8)), (100.0, 620, 6, (0.8, 1.1))],
)
def test_the_least_minimum_of_a_chaotic_motion_is_found(end, samples, seed, begin):
    """27 impacts and more, over which a small distance grows 1,800 to 22,000 times; single shooting misses the data."""
    problem, _ = prepared(_oscillator(*begin), _film(end, samples, seed), FREE, noise=NOISE)
    near, least = problem.refine(problem.shares(TRUTH))
    assert _growth(problem, 0, near) > 1e3
    first = problem.shares(np.array(begin))
    assert _grown(problem, first, False)[1] > 1.8 * least
    z, chi2 = followed(problem, first)
    assert chi2 == pytest.approx(least, rel=1e-4)
    np.testing.assert_allclose(problem.values(z), TRUTH, atol=2e-3)


@pytest.mark.slow
def test_a_fit_follows_a_chaotic_motion_of_its_own_accord():
    found = ss.fit(_oscillator(0.95, 0.8), _film(60.0, 200, 5), FREE, noise=NOISE, search=0, profile=False)
    assert found.chi2 < 1.2 * found.degrees_of_freedom and "following" in found.remarks[0]


@pytest.mark.slow
def test_a_ball_on_a_shaking_table_is_followed_to_the_truth():
    """One second at 30 Hz, over which a small distance grows 30,000 times: single shooting misses by 300 times."""
    truth, noise = {"restitution": 0.8, "amplitude": 2e-3}, 2e-4
    ball = ss.library.bouncing_ball_on_table
    run = ball(**truth).simulate(dt=1.0 / 60.0, t_end=1.0, stepper="event-driven", progress=False)
    film = {"t": run.t, "y": run["y"] + noise * np.random.default_rng(3).standard_normal(len(run.t))}
    free = {"restitution": (0.6, 0.95), "amplitude": (1.5e-3, 2.5e-3)}
    begin = {"restitution": 0.75, "amplitude": 2.1e-3}
    problem, _ = prepared(ball(**begin), film, free, noise=noise)
    near, least = problem.refine(problem.shares(np.array(list(truth.values()))))
    first = problem.shares(np.array(list(begin.values())))
    assert _growth(problem, 0, near) > 1e4 and _grown(problem, first, False)[1] > 100.0 * least
    z, chi2 = followed(problem, first)
    assert chi2 == pytest.approx(least, rel=1e-6) and least < 2.0 * problem.count
    np.testing.assert_allclose(problem.values(z), list(truth.values()), rtol=3e-3)
