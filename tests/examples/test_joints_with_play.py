"""The examples with joints that have play run, and say what they should."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from stickslip.figures import style

FOLDER = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_four_bar_with_play(tmp_path, capsys):
    """The rocker's deviation is a matter of geometry: in proportion to the play."""
    picture = tmp_path / "four-bar.png"
    done = example("four_bar_with_play").main(["--dt", "1e-5", "--turns", "1.2", "--plot", str(picture)])
    assert all(certificate.failed_steps == 0 for certificate in done["certificates"])
    assert done["errors"][0] == pytest.approx(3.0e-3, rel=0.1)
    assert done["errors"][0] / done["errors"][1] == pytest.approx(5.0, rel=0.15)
    assert style.is_ours(picture) and "impacts in 1.2 turns" in capsys.readouterr().out


def test_four_bar_example_is_the_one_of_the_library():
    from stickslip import library

    module, scenario = example("four_bar_with_play"), library.four_bar()
    mine, q, u, t = module.model(), scenario.q0 + np.array([0.01, -0.02]), scenario.u0, 0.03
    np.testing.assert_allclose(mine.mass(q, t), scenario.system.mass(q, t), rtol=2e-3)  # J_3 is rounded there
    np.testing.assert_allclose(mine.force(q, u, t), scenario.system.force(q, u, t))
    np.testing.assert_allclose(mine.gap(q, t), scenario.system.gap(q, t))
    for left, right in zip(mine.geometry(q, t), scenario.system.geometry(q, t), strict=True):
        np.testing.assert_allclose(left, right)


def test_clearance_design_study(tmp_path):
    picture = tmp_path / "study.svg"
    done = example("clearance_design_study").main(["--points", "2", "--threads", "2", "--plot", str(picture)])
    assert done.impulse.shape == done.per_turn.shape == (4, 2, 2) and done.failed == 0
    assert done.steps == 16 * 8 * 4200
    low, high = done.impulse[0], done.impulse[-1]  # restitution 0.1 and 0.9
    assert (high[:, -1] > high[:, 0]).all() and (low[-1] > 0).all()  # harder at higher speed
    assert done.per_turn[-1, 0].mean() > 2 * done.per_turn[0, 0].mean()  # small play: many impacts if they rebound
    assert style.is_ours(picture)
