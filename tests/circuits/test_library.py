"""Circuits of the library: closed forms, the command line, and circuits in mechanisms with constraints."""

import json
import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import stickslip as ss
from stickslip import library
from stickslip.cli import main


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_half_wave_rectifier_has_the_mean_current_of_the_closed_form():
    done = library.half_wave_rectifier().simulate(progress=False)
    phi = math.atan(2 * math.pi * 50 * 0.05 / 10)
    beta = brentq(
        lambda b: math.sin(b - phi) + math.sin(phi) * math.exp(-b / math.tan(phi)), math.pi, 2 * math.pi - 1e-6
    )
    mean = 100 * (1 - math.cos(beta)) / (2 * math.pi * 10)
    whole = done.t <= 0.04 + 1e-9  # two periods
    assert np.trapezoid(done.current("R")[whole], done.t[whole]) / 0.04 == pytest.approx(mean, rel=1e-4)
    assert mean == pytest.approx(2.3668600229) and done.certificate.failed_steps == 0


def test_buck_converter_keeps_its_mean_voltage():
    scenario = library.buck_converter()
    done = scenario.simulate(progress=False)
    assert done.voltage("C")[-1] == pytest.approx(done.voltage("C")[0], rel=1e-3)
    assert scenario.contact_names == ("S", "D") and scenario.degrees_of_freedom == 3
    assert "tree: " in scenario.text() and "S: switch between in, x" in scenario.text()


def test_bridge_uses_both_pairs_of_diodes():
    done = library.bridge_rectifier().simulate(progress=False, t_end=0.02)
    assert set(done.mode("B")) == {"blocks", "D1 D4", "D2 D3"}


@pytest.mark.parametrize("name", library.circuit_names())
def test_wrong_keywords_are_refused(name):
    with pytest.raises(ValueError, match="unknown parameter 'colour'"):
        library.get(name, colour=1.0)
    key = next(iter(library.keywords(name)))
    with pytest.raises(ValueError, match=f"{key} must be positive"):
        library.get(name, **{key: -1.0})
    assert set(library.units(name)) | {"duty"} >= set(library.keywords(name))


def test_commands(run, tmp_path):
    code, out, err = run("run", "half_wave_rectifier", "resistance=20", "--t-end", 0.02, "--json",
                         "--plot", tmp_path / "a.svg", "--width", "85mm")  # fmt: skip
    assert (code, err) == (0, "") and json.loads(out)["system"] == "half wave rectifier"
    assert 'width="240.94' in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "loop of " in run("show", "buck_converter")[1]
    for arguments, words in (
        (("run", "buck_converter", "colour=3"), "unknown parameter 'colour'"),
        (("view", "buck_converter"), "is a circuit, which the page does not show"),
        (("limit-cycle", "buck_converter"), "is a circuit, and this command takes mechanisms and scenes"),
        (("show", "buck_converter", "--latex"), "it has no equations to print as LaTeX"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "") and words in err and err.count("\n") == 1


def test_a_circuit_joined_to_a_mechanism_obeys_a_constraint():
    """The plunger of a coil is led: x = x0 + a sin(w t).  Then L(t) i' + L'(t) i + R i = V, by a second route."""
    from scipy.integrate import solve_ivp

    x, v, t = sp.symbols("x v t", real=True)
    coil = ss.Circuit("coil")
    coil.source("V", "a", "0", voltage=12.0)
    coil.resistor("R", "a", "b", 6.0)
    coil.inductor("L", "b", "0", 0.02)
    part = coil.terms(inductance={"L": 0.02 / (1 + x / 2e-3)})
    way = 3e-3 + 1e-3 * sp.sin(300 * t)
    system = ss.LagrangianSystem.from_energies(
        [x, *part.q], velocities=[v, *part.u], kinetic=0.05 * v**2 / 2 + part.kinetic, potential=part.potential,
        forces=part.forces, constraints=[ss.Constraint("guide", equation=x - way)], time=t,
    )  # fmt: skip
    led = ss.simulate(system, [3e-3, 0.0], [0.3, 0.0], dt=5e-5, t_end=0.02, engine="reference", progress=False)

    def rate(time, i):
        place, speed = 3e-3 + 1e-3 * math.sin(300 * time), 0.3 * math.cos(300 * time)
        inductance = 0.02 / (1 + place / 2e-3)
        change = -0.02 / 2e-3 / (1 + place / 2e-3) ** 2 * speed
        return (12.0 - 6.0 * i - change * i) / inductance

    exact = solve_ivp(rate, (0.0, 0.02), [0.0], rtol=1e-10, atol=1e-12).y[0, -1]
    assert abs(led.u[-1, 1]) == pytest.approx(exact, rel=2e-3)
    assert led.certificate.max_constraint_error < 1e-9 and led.certificate.failed_steps == 0
