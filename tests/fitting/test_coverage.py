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


CUBE = {"friction": 0.2, "restitution": 0.3}


def _cube():
    """A cube that falls on a table with one corner first."""
    scene = ss.Scene(name="cube")
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    q = np.array([0.82, 0.35, 0.4, 0.2])
    scene.add_body(
        ss.Box((0.1048, 0.1048, 0.1048)), mass=0.37, name="cube", position=(0, 0, 0.12), velocity=(0.8, 0.3, -0.5),
        orientation=q / np.linalg.norm(q), angular_velocity=(2.0, -3.0, 1.0), **CUBE,
    )  # fmt: skip
    return scene


def cube_coverage(numbers, seed=7):
    """Deviations of fits in standard errors (n, 2), and chi^2 per degree; a toss of 16 frames, event by event.

    Differences of time stepping would not do: impacts fall on its grid of times, and predictions jump by more than
    what the noise lets through.  Intervals held the truth in three fits of ten.
    """
    scene, options = _cube(), {"dt": 1.0 / 148.0, "stepper": "event-driven"}
    clean = scene.simulate(t_end=15.0 / 148.0, progress=False, **options)
    noise = {f"cube.{axis}": 5e-4 for axis in "xyz"} | {f"cube.q{axis}": 2.5e-3 for axis in "wxyz"}
    free = {"friction": (0.1, 0.35), "restitution": (0.1, 0.5)}
    for number in numbers:
        generator = np.random.default_rng([seed, number])
        data = {n: clean[n] + s * generator.standard_normal(len(clean.t)) for n, s in noise.items()}
        found = ss.fit(
            scene, {"t": clean.t, **data}, free, noise=noise, search=0, profile=False, options=options, progress=False
        )
        off = [(found.values[name] - CUBE[name]) / found.standard_errors[name] for name in free]
        yield off, found.chi2 / found.degrees_of_freedom


@pytest.mark.slow
def test_intervals_of_a_cube_have_the_size_that_they_say():
    """Sixty fits of friction and restitution: deviations are those of normal numbers, nine of ten and more within."""
    off = np.array([each for each, _ in cube_coverage(range(60))])
    for k in range(2):
        assert 1e-3 < stats.chi2.cdf(np.sum(off[:, k] ** 2), 60) < 1.0 - 1e-3
        assert np.mean(np.abs(off[:, k]) < 1.96) > 0.86  # 95 %, less three standard errors
