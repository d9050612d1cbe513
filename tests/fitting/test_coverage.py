"""Intervals hold the truth as often as they say: many fits of data made with noise."""

import numpy as np
import pytest
from scipy import stats

import stickslip as ss

NOISE = {"ball": {"y": 2e-3}, "woodpecker": {"y": 2e-4, "phi_S": 5e-3}, "oscillator": {"x_1": 2e-3}}


def _case(system):
    """The model with the truth in it, free quantities, and times of samples."""
    if system == "ball":
        return ss.library.bouncing_ball(restitution=0.8), {"restitution": (0.6, 0.95), "g": (9.3, 10.3)}, 1.6, 25
    if system == "woodpecker":
        return ss.library.woodpecker(), {"friction": (0.2, 0.4), "restitution_normal": (0.3, 0.7)}, 0.12, 25
    return ss.library.friction_oscillator(), {"friction": (0.2, 0.4), "k_1": (80.0, 120.0)}, 2.0, 40


def coverage(system, count, seed=7):
    """Shares of fits whose 95 % intervals hold the truth, by name; deviations in standard errors (count, k); chi^2."""
    model, free, end, samples = _case(system)
    truth = {name: model.parameters[name] for name in free}
    clean = model.simulate(dt=end / (samples - 1), t_end=end, stepper=ss.EventDriven(), progress=False)
    held, off, chi2 = dict.fromkeys(free, 0), np.empty((count, len(free))), np.empty(count)
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        noisy = {n: clean[n] + s * generator.standard_normal(len(clean.t)) for n, s in NOISE[system].items()}
        data = {"t": clean.t, **noisy}
        found = ss.fit(model, data, free, noise=NOISE[system], search=0, profile=False, progress=False)
        for k, (name, (low, high)) in enumerate(found.intervals.items()):
            held[name] += low <= truth[name] <= high
            off[number, k] = (found.values[name] - truth[name]) / found.standard_errors[name]
        chi2[number] = found.chi2
    return {name: number / count for name, number in held.items()}, off, chi2


def test_deviations_have_the_size_that_the_intervals_say():
    """Twelve fits of the ball: sums of squares of deviations, and of residuals, are those of normal numbers."""
    _, off, chi2 = coverage("ball", 12)
    assert 1e-3 < stats.chi2.cdf(np.sum(off[:, 0] ** 2), 12) < 1.0 - 1e-3
    assert 1e-3 < stats.chi2.cdf(np.sum(chi2), 12 * 23) < 1.0 - 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("system", ["ball", "woodpecker", "oscillator"])
def test_intervals_hold_the_truth_as_often_as_they_say(system):
    """1,000 fits: 95 % intervals hold the truth in 93 to 97 %."""
    shares, off, _ = coverage(system, 1000)
    for name, share in shares.items():
        assert 0.93 <= share <= 0.97, (name, share)
    assert np.all(np.abs(np.std(off, axis=0) - 1.0) < 0.1)
