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


def tooth_at_rest(pitch):
    """Where a tooth leans on the pawl [m]: its tip has come down to the bar, on a circle about its hinge."""
    length, lean = 2.5 * pitch, 0.8
    x, y = -length * math.cos(lean), 0.02 * pitch + length * math.sin(lean)
    return x + math.sqrt(length**2 - y**2)


def rests_of_the_rack(pitch, force, periods):
    """Teeth between the first one, which begins at (0.025 - 10) pitches, and the pawl, at the end of each period."""
    run = library.toothed_ratchet(pitch=pitch, force=force).simulate(t_end=0.5 * periods, progress=False)
    first = 0.025 * pitch - 10.0 * pitch + run["rack.x"] - run["rack.x"][0]
    at = np.searchsorted(run.t, 0.5 * np.arange(1, periods + 1) - 0.01)
    assert run.certificate.failed_steps == 0
    return (tooth_at_rest(pitch) - first[at]) / pitch


def test_a_tooth_of_the_rack_rests_where_the_pawl_has_come_down():
    assert rests_of_the_rack(0.012, 3.0, 1) == pytest.approx([7.0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pitch", "force", "teeth"), [(0.02, 3.0, [9, 8, 7, 6, 5]), (0.03, 4.0, [7, 5, 3]), (0.012, 3.0, [7, 4, 1])]
)
def test_the_rack_advances_by_whole_pitches(pitch, force, teeth):
    assert rests_of_the_rack(pitch, force, len(teeth)) == pytest.approx(teeth, abs=1e-6)


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
