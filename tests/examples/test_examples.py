"""Every example runs as a user would run it, in a short version, and its closed form holds."""

import importlib.util
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import stickslip as ss

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMES = ("ball_on_vibrating_table", "friction_oscillator", "gear_rattle", "pendulum_against_stop")


def load(name):
    specification = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def run(name, *arguments):
    return load(name).main([str(argument) for argument in arguments])


# What each example finds in a few thousand steps.  The long runs are below: slow, but for the pendulum.
SHORT = {
    "ball_on_vibrating_table": ("period", 1 / 30, 0.02, (5e-4, 1.0)),
    "friction_oscillator": ("slips", 0.3, 0.02, (2e-3, 2.0)),
    "gear_rattle": ("interval", 0.02, 0.02, (1e-4, 0.8)),
    "pendulum_against_stop": ("ratio", 0.81, 0.02, (1e-3, 2.0)),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_finds_its_closed_form_and_saves_its_plot(name, tmp_path, capsys, monkeypatch):
    quantity, expected, tolerance, (dt, t_end) = SHORT[name]
    if t_end / dt < 3000:  # that many steps take the reference engine as long as a kernel takes to be made
        monkeypatch.setattr(ss, "simulate", partial(ss.simulate, engine="reference"))
    path = tmp_path / "plot.png"
    result = run(name, "--t-end", t_end, "--dt", dt, "--plot", path)
    assert result[quantity] == pytest.approx(expected, rel=tolerance)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "0 failed steps" in capsys.readouterr().out
    plt.close("all")


@pytest.mark.slow
def test_ball_locks_to_the_table():
    dt = 5e-5
    result = run("ball_on_vibrating_table", "--dt", dt, "--t-end", 3.0)
    # Ten periods between impacts that are seen up to dt late.
    assert result["period"] == pytest.approx(1 / 30, abs=2 * dt / 10)
    # The phase of the impact is uncertain by omega dt = 0.9 %, and with it the speed of the table.
    assert result["closing"] == pytest.approx(result["expected"], rel=0.01)


@pytest.mark.slow
def test_block_leaves_the_belt_in_time():
    dt = 1e-3
    result = run("friction_oscillator", "--dt", dt, "--t-end", 10.0)
    assert result["expected"] == pytest.approx(0.3)
    assert result["slips"] == pytest.approx(0.3, abs=2 * dt)  # seen at the end of its step
    # Both blocks stick and slip; the shares of 20 s at dt = 1e-4 are 0.458 and 0.376.
    assert result["share_1"] == pytest.approx(0.458, abs=0.03)
    assert result["share_2"] == pytest.approx(0.376, abs=0.03)


@pytest.mark.slow
def test_gear_strikes_each_flank_once_per_period():
    dt = 1e-5
    result = run("gear_rattle", "--dt", dt, "--t-end", 2.0)
    assert result["interval"] == pytest.approx(0.02, abs=2 * dt / 20)
    # Impacts up to dt late: 1e-5 of 0.02 s, and a flank that has moved on by up to A Omega dt = 8e-7 m of 1.2e-3 m.
    assert result["speed"] == pytest.approx(result["expected"], rel=2e-3)


def test_pendulum_strikes_in_time_and_loses_eps_squared():
    dt = 1e-3
    result = run("pendulum_against_stop", "--dt", dt)
    assert result["strikes"] == pytest.approx(result["expected"], abs=2 * dt)
    assert result["ratio"] == pytest.approx(0.81, abs=2e-3)
    small = math.pi / 2 * math.sqrt(0.5 / 9.81)
    assert result["expected"] > small  # a large swing takes longer than a small one


@pytest.mark.parametrize("name", NAMES)
def test_examples_explain_themselves_and_stay_short(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert f"Run: python examples/{name}.py" in load(name).__doc__
    assert "ss.library" not in text  # written from energies, as a user would


def test_an_example_runs_from_the_shell(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "pendulum_against_stop.py"), "--t-end", "1.0"],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "first impact at t = 0.389" in done.stdout
    assert list(tmp_path.iterdir()) == []  # no file unless asked for


@pytest.mark.slow
def test_racks_and_a_wheel_go_one_way(capsys):
    result = run("ratchet_and_clutch")
    assert result["advance"] == pytest.approx(result["expected"], rel=1e-3)
    assert result["steps"] == pytest.approx(0.02, abs=1e-5) and result["turned"] > 6.0
    assert capsys.readouterr().out.count("0 failed steps") == 3
