"""Circuits as model files, and the commands that read them."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stickslip as ss
from stickslip import cli
from stickslip.circuits import PWM
from stickslip.io.models import layout
from stickslip.io.models.circuit import is_circuit_file, read_circuit
from tests.circuits.networks import buck

EXAMPLE = Path(__file__).parents[2] / "examples" / "buck_converter.toml"
EVERY = """
stickslip = 1
kind = "circuit"
name = "every element"
[elements.V]
type = "source"
nodes = ["a", "0"]
voltage = "10*sin(2*pi*50*t) + 1"
[elements.P]
type = "source"
nodes = ["p", "0"]
voltage = { period = 1e-3, duty = 0.25, high = 5.0 }
[elements.RP]
type = "resistor"
nodes = ["p", "0"]
resistance = 10.0
[elements.I]
type = "current_source"
nodes = ["0", "p"]
current = 0.1
[elements.T]
type = "transformer"
primary = ["a", "0"]
secondary = ["c", "d"]
ratio = 2.0
[elements.B]
type = "bridge"
ac = ["c", "d"]
dc = ["e", "f"]
threshold = 0.7
[elements.L1]
type = "inductor"
nodes = ["e", "g"]
inductance = 1e-3
[elements.L2]
type = "inductor"
nodes = ["g", "h"]
inductance = 1e-3
current = 0.0
[elements.K]
type = "coupled"
inductors = ["L1", "L2"]
coupling = 0.5
[elements.C]
type = "capacitor"
nodes = ["h", "f"]
capacitance = 1e-4
[elements.Z]
type = "zener"
nodes = ["f", "h"]
voltage = 3.0
resistance = 1.0
[elements.S]
type = "switch"
nodes = ["h", "k"]
closed = true
[elements.Q]
type = "thyristor"
nodes = ["k", "l"]
fired = { period = 1e-2, duty = 0.5 }
[elements.W]
type = "varistor"
nodes = ["l", "f"]
voltage = 1.0
resistance = 5.0
[elements.D]
type = "diode"
nodes = ["f", "l"]
[run]
dt = 1e-4
t_end = 2e-2
"""


def command(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def test_the_example_is_the_circuit_of_the_tests():
    model = read_circuit(EXAMPLE)
    run = model.circuit.simulate(**model.options)
    same = buck(100.0, voltage=15.7388, current=0.0).simulate(dt=1e-6, t_end=2e-3, locate=True)
    np.testing.assert_allclose(run.voltage("C"), same.voltage("C"), rtol=1e-13)
    assert len(run.impacts()) == 0 and run.certificate.failed_steps == 0
    assert model.circuit.branches[1].gate.given == PWM(1e-4, 0.5)


def test_a_file_with_every_element(tmp_path):
    path = tmp_path / "every.toml"
    path.write_text(EVERY)
    model = read_circuit(path)
    run = model.circuit.simulate(**model.options)
    assert run.complete and run.certificate.failed_steps == 0
    kinds = {"source", "current source", "winding", "diode", "bridge", "inductor", "capacitor", "Zener diode"}
    assert kinds | {"switch", "thyristor", "varistor", "resistor"} == set(run.element_kinds)
    circuits = layout.json_schema()["oneOf"][2]
    assert set(circuits["required"]) == {"stickslip", "kind", "name", "elements", "run"}
    forms = circuits["properties"]["elements"]["additionalProperties"]["anyOf"]
    types = {form["properties"]["type"]["const"] for form in forms}
    assert types == {values["type"] for values in tomllib.loads(EVERY)["elements"].values()}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("resistance = 100.0", "resistance = -1.0", "elements.R.resistance: a number above 0 is expected, got -1.0"),
        ('type = "diode"', 'type = "diodes"', "unknown value 'diodes'; did you mean 'diode'?"),
        ("capacitance = 1e-4", "capacity = 1e-4", "unknown key 'capacity'; did you mean 'capacitance'?"),
        ("voltage = 24.0", 'voltage = "24*x"', "elements.V"),
        ("duty = 0.5", "duty = 1.0", "elements.S.closed: duty must lie between 0 and 1"),
        ("stickslip = 1", "stickslip = 2", "stickslip: format 2 is newer than 1"),
        ("stickslip = 1", "", "the key 'stickslip' is missing"),
        ('kind = "circuit"', "", "the key 'kind' is missing: a file with 'elements' begins with kind = \"circuit\""),
        ("t_end = 2e-3", "t_end = 1e-7", "run.t_end: at least one step, dt = 1e-06 s, is expected"),
        ('nodes = ["0", "x"]', 'nodes = ["0", "y"]', "node 'y' floats"),
        ("dt = 1e-6", "dt = 0", "run.dt: a number above 0 is expected"),
    ],
)
def test_wrong_files_get_one_line(tmp_path, old, new, words):
    text = EXAMPLE.read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError) as caught:
        read_circuit(path)
    assert words in str(caught.value) and "\n" not in str(caught.value) and str(path) in str(caught.value)
    done = command("run", path)
    assert done.exit_code != 0


def test_other_files_are_no_circuits(tmp_path):
    assert is_circuit_file(str(EXAMPLE)) and not is_circuit_file(str(EXAMPLE.parent / "door_latch.toml"))
    assert not is_circuit_file("woodpecker") and not is_circuit_file(str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match="a circuit is no mechanism"):
        ss.read_model(EXAMPLE)


def test_commands(tmp_path):
    out, plot = tmp_path / "buck.nc", tmp_path / "buck.png"
    done = command("run", EXAMPLE, "--t-end", "3e-4", "--out", out, "--plot", plot, "--json", "--events")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["system"] == "buck converter" and found["certificate"]["failed_steps"] == 0
    assert found["final"]["voltage"]["C"] == pytest.approx(15.7388, abs=1e-4)
    kinds = [event["kind"] for event in found["event_list"]]
    assert kinds == ["opens", "conducts", "blocks", "closes"] * 2 + ["opens", "conducts", "blocks"]
    assert plot.stat().st_size > 1000
    assert ss.load(out).voltage("C")[-1] == found["final"]["voltage"]["C"]
    words = command("run", EXAMPLE, "--t-end", "1e-4", "--events").stdout
    assert "certificate: 0 failed steps" in words and "blocks" in words
    again = command("run", EXAMPLE, "--t-end", "1e-4", "--out", out)
    assert again.exit_code != 0
    checked = command("check", EXAMPLE)
    assert checked.exit_code == 0 and "6 elements, 4 nodes, 3 loops" in checked.stdout
    for option in (["--solver", "lemke"], ["--animate", "a.gif"], ["--set", "R=1"]):
        assert command("run", EXAMPLE, *option).exit_code != 0


def test_a_run_that_stops_has_exit_code_1(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        'stickslip = 1\nkind = "circuit"\nname = "short"\n'
        '[elements.V]\ntype = "source"\nnodes = ["a", "0"]\nvoltage = "t - 0.5"\n'
        '[elements.D]\ntype = "diode"\nnodes = ["a", "0"]\n[run]\ndt = 0.1\nt_end = 1.0\n'
    )
    done = command("run", path)
    assert done.exit_code == 1 and "D, V form a short circuit" in done.stderr
