"""The examples on limit cycles and their bifurcations run, and their closed forms hold."""

import matplotlib.pyplot as plt
import pytest

from examples.test_examples import EXAMPLES, load, run

NAMES = ("limit_cycle_of_a_ball", "grazing_oscillator")


@pytest.mark.parametrize("name", NAMES)
def test_examples_explain_themselves(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 70
    assert f"Run: python examples/{name}.py" in load(name).__doc__
    assert "ss.library" not in text  # written from energies, as a user would


@pytest.mark.slow
def test_ball_doubles_its_period_where_it_should(tmp_path, capsys):
    path = tmp_path / "plot.png"
    result = run("limit_cycle_of_a_ball", "--to", 1.1, "--plot", path)
    assert result["modulus"] == pytest.approx(0.8, abs=1e-9)
    assert result["flip"] == pytest.approx(result["expected"], rel=1e-8)
    assert "period doubling at Gamma = 1.0708364" in capsys.readouterr().out
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_oscillator_grazes_where_it_should(tmp_path):
    path = tmp_path / "plot.png"
    result = run("grazing_oscillator", "--from", 0.93, "--plot", path)
    assert result["graze"] == pytest.approx(result["expected"], rel=1e-7)
    assert result["slope"] == pytest.approx(0.5, abs=1e-2)
    assert path.exists()
    plt.close("all")
