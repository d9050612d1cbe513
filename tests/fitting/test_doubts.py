"""Fits that should not be believed say so: misfit, correlated residuals, ends of ranges."""

import numpy as np
import pytest

import stickslip as ss

T = np.linspace(0.02, 1.4, 40)


def _fit(y, free=(0.3, 0.95), **options):
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.fit(ball, {"t": T, "y": y}, {"restitution": free}, search=0, profile=False, **options)
    return found, " | ".join(found.remarks)


@pytest.fixture(scope="module")
def heights():
    run = ss.library.bouncing_ball(restitution=0.8).simulate(
        dt=1e-3, t_end=1.45, stepper="event-driven", progress=False
    )
    return np.interp(T, run.t, run["y"]) + 2e-3 * np.random.default_rng(3).standard_normal(len(T))


def test_a_right_model_raises_no_doubts(heights):
    assert _fit(heights, noise=2e-3)[1] == "" and _fit(heights)[1] == ""


def test_a_model_that_cannot_explain_the_data_says_so(heights):
    sine = 0.5 + 0.3 * np.sin(5.0 * T)
    _, told = _fit(sine, noise=2e-3)
    assert "the model misses the data by" in told and "neighbouring residuals are alike: y of data (" in told
    _, told = _fit(sine)  # the noise comes from the residuals: chi^2 says nothing, neighbours do
    assert "misses the data by" not in told and "explains little of y of data" in told and "alike" in told
    _, told = _fit(heights, noise=1e-3)
    assert "the model misses the data by" in told and "alike" not in told


def test_ends_of_ranges_are_told(heights):
    assert "restitution lies at the upper end" in _fit(heights, (0.3, 0.79), noise=2e-3)[1]
    found, told = _fit(heights, (0.3, 0.80015), noise=2e-3)
    assert (
        found.values["restitution"] < 0.80015 < found.values["restitution"] + 3 * found.standard_errors["restitution"]
    )
    assert told == "the interval of restitution is cut off at the upper end of its range"


def test_a_constant_column_is_fitted_as_any_other():
    """Rounding makes the standard deviation of equal numbers about 1e-17, which is no noise."""
    found, told = _fit(np.full(len(T), 0.3))
    assert 0.05 < found.noise["y"] < 0.5 and "explains little" not in told and "alike" in told
