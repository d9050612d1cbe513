"""Circuits under Ctrl-C: what is returned belongs together, wherever the signal came."""

import signal

import numpy as np
import pytest

import stickslip as ss
from stickslip import cli
from stickslip.circuits.march import March
from stickslip.circuits.records import CircuitRecords
from stickslip.io.models.circuit import MOST_CHARACTERS, MOST_ELEMENTS, MOST_FORMULAS, read_circuit
from stickslip.run import circuit_simulate
from tests.circuits.networks import buck

OPTIONS = {"dt": 1e-6, "t_end": 3e-4, "locate": True}


def converter():
    return buck(100.0, voltage=15.7388, current=0.0)


@pytest.fixture(scope="module")
def undisturbed():
    return converter().simulate(**OPTIONS)


PLACES = [
    (CircuitRecords, "add_work"),
    (CircuitRecords, "record"),
    (March, "_note_events"),
    (March, "settle"),
    (March, "_update_status"),
]


def hit(monkeypatch, owner, name, call, after):
    """Send SIGINT to this process before or after some call of a function."""
    whole, calls = getattr(owner, name), []

    def signalled(*arguments, **named):
        calls.append(name)
        if len(calls) == call and not after:
            signal.raise_signal(signal.SIGINT)
        result = whole(*arguments, **named)
        if len(calls) == call and after:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # the second one changes nothing
        return result

    monkeypatch.setattr(owner, name, signalled)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda x: getattr(x, "__name__", x))
@pytest.mark.parametrize("every", [1, 7])
def test_what_ctrl_c_leaves_is_the_beginning_of_the_run(monkeypatch, undisturbed, owner, name, after, every):
    """Records, modes, events and the energy book, of one instant; the certificate counts no failed step."""
    hit(monkeypatch, owner, name, 5, after)
    run = converter().simulate(**OPTIONS, every=every)
    assert not run.complete and run.status.startswith("interrupted at t = ") and run.certificate.failed_steps == 0
    n = len(run)
    assert 1 <= n <= run.steps // every + 1 < len(undisturbed)
    for part in ("t", "q", "u", "currents", "voltages"):
        np.testing.assert_array_equal(getattr(run, part), getattr(undisturbed, part)[::every][:n])
    for element in run.switching:
        assert list(run.mode(element)) == list(undisturbed.mode(element)[::every][:n])
    for column, values in run.events.columns.items():
        np.testing.assert_array_equal(values, undisturbed.events[column][: len(values)])
    book = run.energy_book()
    assert abs(book["unexplained"]) <= 1e-12 * max(map(abs, book.values()))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", ["_result", "advance"])
def test_ctrl_c_after_the_last_step_ends_nothing(monkeypatch, place, after):
    """All records are there: the run is complete, and nothing is raised."""
    steps = 20
    calls = []

    def advance(k):
        calls.append(k)
        if k == steps:
            if place == "advance":
                signal.raise_signal(signal.SIGINT)
            else:
                hit(monkeypatch, circuit_simulate, "_result", 1, after)

    run = converter().simulate(dt=1e-6, t_end=steps * 1e-6, progress=advance)
    assert calls[-1] == steps and run.complete and run.status == "finished" and run.steps == steps
    whole = converter().simulate(dt=1e-6, t_end=steps * 1e-6)
    np.testing.assert_array_equal(run.u, whole.u)


def test_ctrl_c_at_the_start_is_no_contradiction_of_the_circuit(monkeypatch):
    hit(monkeypatch, March, "settle", 1, False)
    with pytest.raises(KeyboardInterrupt):
        converter().simulate(**OPTIONS)


def element(name, **values):
    words = [f"{key} = {value}" for key, value in values.items()]
    return "\n".join([f"[elements.{name}]", *words])


def model(*elements):
    head = 'stickslip = 1\nkind = "circuit"\nname = "many"\n'
    return head + "\n".join(elements) + "\n[run]\ndt = 1e-4\nt_end = 3e-2\n"


SOURCE = element("V", type='"source"', nodes='["a", "0"]', voltage=1.0)
LOAD = element("R", type='"resistor"', nodes='["a", "0"]', resistance=1.0)


def test_ctrl_c_and_a_second_one_leave_a_file_of_what_was_computed(monkeypatch, tmp_path):
    (tmp_path / "c.toml").write_text(model(SOURCE, LOAD))
    hit(monkeypatch, CircuitRecords, "record", 4, True)
    out = tmp_path / "c.nc"
    assert cli.main(["run", str(tmp_path / "c.toml"), "--out", str(out), "--quiet"]) == 130
    run = ss.load(out)
    assert not run.complete and run.status.startswith("interrupted at t = ")
    np.testing.assert_array_equal(run.current("R"), 1.0)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".stickslip")] == []


def test_files_of_circuits_have_limits(tmp_path):
    """What would take longer than a second to read is refused in one line; what is allowed is read."""
    path = tmp_path / "c.toml"
    resistors = [LOAD.replace("elements.R", f"elements.R{k}") for k in range(MOST_ELEMENTS)]
    path.write_text(model(SOURCE, *resistors))
    with pytest.raises(ValueError, match=rf"a file may have {MOST_ELEMENTS} elements, got {MOST_ELEMENTS + 1}"):
        read_circuit(path)
    path.write_text(model(SOURCE, *resistors[:-1]))
    assert len(read_circuit(path).circuit.elements) == MOST_ELEMENTS
    sources = [SOURCE.replace(".V", f".V{k}").replace("1.0", '"1"') for k in range(MOST_FORMULAS + 1)]
    path.write_text(model(*sources, LOAD))
    with pytest.raises(ValueError, match=rf"a file may have {MOST_FORMULAS} formulas"):
        read_circuit(path)
    path.write_text(model(SOURCE.replace("1.0", f'"{"+".join(["t"] * MOST_CHARACTERS)}"'), LOAD))
    with pytest.raises(ValueError, match=rf"a file may have {MOST_CHARACTERS} characters of formulas"):
        read_circuit(path)
