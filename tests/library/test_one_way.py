"""The one-way clutch, the rack with saw teeth and the wheel of spokes, beside closed forms."""

import math

import numpy as np
import pytest

from stickslip import library


def test_the_clutch_lets_go_where_the_shaft_slows_down_more_than_the_damping():
    clutch = library.one_way_clutch()
    run = clutch.simulate(engine="reference", t_end=0.4, progress=False)
    p = run.parameters
    omega = 2 * math.pi * p["frequency"]
    shaft = p["amplitude"] * omega * np.cos(omega * run.t)
    leaves = math.atan(p["damping"] / (p["inertia"] * omega)) / omega
    catches = run.t > leaves + run.dt
    free = run["omega"] > shaft + 0.02
    first = run.t[np.argmax(free)]
    assert leaves < first < leaves + 0.05 and (run["omega"] > shaft - 0.1).all()
    decay = p["amplitude"] * omega * math.cos(omega * leaves) * np.exp(-p["damping"] / p["inertia"] * (run.t - leaves))
    shown = catches & (run.t < 0.35)
    assert run["omega"][shown] == pytest.approx(decay[shown], rel=5e-3)


@pytest.mark.slow
def test_the_rack_advances_by_whole_pitches():
    run = library.toothed_ratchet().simulate(progress=False)
    x = run["rack.x"] - run["rack.x"][0]
    rests = [x[np.searchsorted(run.t, 0.5 * k - 0.01)] for k in range(1, 6)]  # at the end of each period
    assert np.diff(rests) == pytest.approx(0.02, abs=1e-5) and run.certificate.failed_steps == 0


@pytest.mark.slow
def test_the_scene_of_spokes_rolls_as_the_mechanism_does():
    """[M90]: omega^2 = eta^2 / (1 - eta^2) 4 m g R sin(alpha) sin(slope) / I right after an impact of the cycle."""
    run = library.spoked_wheel().simulate(t_end=8.0, progress=False)
    alpha, slope, whole = math.pi / 8, math.radians(12.0), 1.25
    eta = (0.25 + math.cos(2 * alpha)) / whole
    cycle = math.sqrt(eta**2 / (1 - eta**2) * 4 * 9.81 * math.sin(alpha) * math.sin(slope) / whole)
    speed = -run["wheel.omega"]
    jumps = np.flatnonzero(np.diff(speed) < -0.05)
    assert speed[jumps[-1] + 1] == pytest.approx(cycle, rel=5e-3)  # an impact is seen up to a step late
    assert speed[jumps[-1] + 1] / speed[jumps[-1]] == pytest.approx(eta, rel=2e-3)
