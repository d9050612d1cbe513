"""The examples of derivatives: throw, gait, damper, swing and covariance, against what must come out."""

import numpy as np
import pytest

from examples.test_examples import run

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_a_throw_bounces_into_the_cup(tmp_path):
    path = tmp_path / "cup.png"
    result = run("throw_into_a_cup", "--plot", path)
    assert result["bounces"] == 2
    assert result["misses"][-1] < 1e-12 < 1e-4 < result["others"][-1]
    assert path.read_bytes()[:8] == PNG


def test_covariance_through_an_impact_agrees_with_members(tmp_path):
    path = tmp_path / "covariance.png"
    result = run("covariance_through_impacts", "--members", 20000, "--dt", 1e-3, "--plot", path)
    assert result["error"] < 0.04  # of 20,000 members: sqrt(2 / 20000) = 1 % is one standard deviation
    assert np.abs(result["held"] - result["measured"]).max() > 0.5 * np.abs(result["measured"]).max()
    assert path.read_bytes()[:8] == PNG


@pytest.mark.slow
def test_covariance_agrees_with_a_million_members():
    """Measured: 0.34 % in the worst entry, 15 s of processor time."""
    assert run("covariance_through_impacts")["worst"] < 0.01


@pytest.mark.slow
def test_shooting_finds_the_gait_of_the_library(tmp_path):
    path = tmp_path / "gait.png"
    result = run("walking_by_shooting", "--plot", path)
    assert result["duration"] == pytest.approx(0.734346391, abs=1e-8)
    assert result["length"] == pytest.approx(0.535445415, abs=1e-8)
    assert path.read_bytes()[:8] == PNG


@pytest.mark.slow
def test_best_restitution_of_a_damper(tmp_path):
    path = tmp_path / "damper.png"
    result = run("best_restitution_of_a_damper", "--grid", 21, "--plot", path)
    assert result["best"] == pytest.approx(0.42821662, abs=1e-7)
    assert abs(result["derivative"]) < 1e-9
    assert result["value"] <= result["rows"][:, 0].min()
    assert path.read_bytes()[:8] == PNG


@pytest.mark.slow
def test_the_quickest_swing_turns_its_torque_at_the_lower_stop(tmp_path):
    path = tmp_path / "swing.png"
    result = run("quickest_swing", "--plot", path)
    assert result["turn"] == pytest.approx(result["lower"], abs=1e-6)
    assert result["time"] == pytest.approx(2.6569515, abs=1e-6) and result["time"] < result["first"]
    assert result["below"] < 0.0 < result["above"]
    assert path.read_bytes()[:8] == PNG
