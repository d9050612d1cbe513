"""Exported pages that simulate: Node runs the kernels of the file, and finds the bits of `simulate`."""

import base64
import json
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from stickslip import library
from stickslip.io.models.file import read_model, write_model
from stickslip.page.document import standalone
from stickslip.page.payload import payload

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
SCRIPT = """
(async () => {
  const [inside, request] = JSON.parse(require("fs").readFileSync(0));
  const {kernels: source, ...recorded} = inside, kernels = await loadKernels(source);
  const image = source.scene && (await inflated(source.image)), {dt, t_end} = {...source, ...request};
  const found = image
    ? computedScene(kernels, source, recorded, image, request) : computed(kernels, source, recorded, request);
  const times = {dt: dt ?? source.dt, t_end: t_end ?? source.t_end};
  const {q, u, events, book} = image
    ? marchedScene(kernels, source, {image: imageFor(source, image, request), ...times})
    : marched(kernels, source, wantedRun(source, recorded, request));
  const base64 = (data) => Buffer.from(data.buffer).toString("base64");
  const packed = (key, x) =>
    x instanceof Float64Array ? {f64: base64(x)} : x instanceof Float32Array ? {f32: base64(x)}
      : x instanceof Uint8Array ? {u8: base64(x)} : x;
  const struck = Float64Array.from(events.flatMap((row) => [...row]));
  process.stdout.write(JSON.stringify({found, bits: {q, u, book, events: struck}}, packed));
})();
"""


def inside(run, scenario):
    """What an exported page holds."""
    text = standalone(run, scenario).decode()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def called(data, request):
    """Node with the script of the page and a request, after its end."""
    assets = files("stickslip.page") / "assets"
    script = (
        "".join((assets / f"{name}.js").read_text(encoding="utf-8") for name in ("data", "simulate", "scenes")) + SCRIPT
    )
    asked = {"set": {}, "start": {}, "dt": None, "t_end": None, **request}
    return subprocess.run(
        ["node", "-e", script],
        input=json.dumps([data, asked]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def in_node(data, **request):
    """The payload that the script of the page computes, and the bits of its march."""
    told = called(data, request)
    assert told.returncode == 0, told.stderr
    answer = json.loads(told.stdout)
    return answer["found"], {key: np.frombuffer(base64.b64decode(x["f64"])) for key, x in answer["bits"].items()}


def refused_in_node(data, **request):
    """The line with which the script refuses a request."""
    told = called(data, request)
    assert told.returncode != 0
    return next(line for line in told.stderr.splitlines() if line.startswith("Error: "))


def require_bits(bits, run):
    """The march in Node is that of `simulate`, to the last bit."""
    assert bits["q"].tobytes() == run.q.tobytes() and bits["u"].tobytes() == run.u.tobytes()
    table = run.impacts()
    assert bits["events"].tobytes() == np.column_stack([table[key].astype(float) for key in table.columns]).tobytes()
    assert bits["book"][9] == run.certificate.contact_work and bits["book"][1] == run.certificate.max_residual


def numbers_of(packed):
    kind, text = next(iter(packed.items()))
    return np.frombuffer(base64.b64decode(text), {"f32": "<f4", "u8": np.uint8}[kind]).astype(float)


def require_same(found, wanted, path=""):
    """Two payloads show the same: words are equal, numbers up to what a screen shows."""
    if isinstance(wanted, dict) and wanted.keys() & {"f32", "u8"}:
        a, b = numbers_of(found), numbers_of(wanted)
        size = np.nanmax(np.abs(b), initial=1e-300)
        assert a.shape == b.shape, path
        assert np.array_equal(np.isnan(a), np.isnan(b)) and np.nanmax(np.abs(a - b), initial=0.0) <= 1e-6 * size, path
    elif isinstance(wanted, dict):
        assert found.keys() >= wanted.keys(), path
        for key, value in wanted.items():
            require_same(found[key], value, f"{path}/{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), path
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            require_same(a, b, f"{path}/{i}")
    elif isinstance(wanted, float) and not isinstance(found, str) and found is not None:
        assert found == pytest.approx(wanted, rel=1e-6, abs=2e-9), path
    else:
        assert found == wanted, path


def compare(scenario, again, request, **options):
    """A run by the kernels of the page of one scenario, against run and payload of another one by Python."""
    data = inside(scenario.simulate(**options), scenario)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RuntimeWarning)
        run = again.simulate(**options)
    found, bits = in_node(data, **request)
    require_bits(bits, run)
    wanted = payload(run, again)
    wanted["notes"] = [*(str(warning.message) for warning in told), *wanted["notes"]]  # as the server does
    for one in (found, wanted):
        one["method"].pop("wall_s")
        one["numbers"]["energy"].pop("unexplained")
    require_same(found, wanted)
    return data


@needs_node
def test_a_page_simulates_with_the_bits_of_python_and_shows_what_python_shows():
    ball, livelier = library.bouncing_ball(), library.bouncing_ball(restitution=0.7)
    data = compare(ball, livelier, {"set": {"restitution": 0.7}}, dt=1e-3, t_end=1.5)
    keys = [control["key"] for control in data["kernels"]["controls"]]
    assert keys[0] == "restitution" and keys[-2:] == ["dt", "t_end"] and data["kernels"]["fixed"] == []


BY_DEFAULT = ("bouncing_ball", "chaplygin_sleigh")
"""Mechanisms with a test of their own, above and below, in every run of the tests."""
SIMULATING = [name for name in library.names() if name not in BY_DEFAULT]
CHANGED = {
    "woodpecker": {"friction": 0.35, "l_S": 0.0203}, "slider_crank": {"friction": 0.1, "m_3": 0.1},
    "block_on_belt": {"belt_velocity": 0.15, "friction_static": 0.6}, "compass_gait": {"friction": 0.7, "m_H": 11.0},
}  # fmt: skip


@needs_node
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the contacts of:RuntimeWarning")
@pytest.mark.parametrize("name", SIMULATING)
def test_every_library_mechanism_simulates_with_the_bits_of_python(name):
    scenario, changed = library.get(name), CHANGED.get(name, {})
    again = replace(scenario, params=changed)
    compare(scenario, again, {"set": changed}, t_end=min(scenario.t_end, 12_000 * scenario.dt))


@needs_node
@pytest.mark.slow
def test_a_model_file_and_other_starts_and_times(tmp_path):
    """The woodpecker from a file, whose drawing is one of expressions."""
    scenario = read_model(write_model(library.woodpecker(), tmp_path / "toy.toml")).scenario
    again = replace(scenario, params={"c_phi": 0.006, "h_S": 0.021}).starting({"y": 0.1, "omega_S": -6.0})
    data = inside(scenario.simulate(t_end=0.3), scenario)
    run = again.simulate(dt=5e-5, t_end=0.5)
    request = {"set": {"c_phi": 0.006, "h_S": 0.021}, "start": {"y": 0.1, "omega_S": -6.0}, "dt": 5e-5, "t_end": 0.5}
    found, bits = in_node(data, **request)
    require_bits(bits, run)
    require_same(found["motion"], payload(run, again)["motion"])


@needs_node
@pytest.mark.slow
def test_lengths_have_sliders_where_a_drawing_compares_other_parameters():
    """The drawing of the crank magnifies its play by a number that it writes: play and width of the slider stay."""
    crank = library.slider_crank()
    data = compare(crank, replace(crank, params={"l_2": 0.35}), {"set": {"l_2": 0.35}}, t_end=0.02)
    assert data["kernels"]["fixed"] == ["b", "clearance"]


STARTS = {
    "chaplygin_sleigh": ({"offset": 0.3}, {"v_y": 0.5}),
    "ball_on_turntable": ({"turn": 1.5, "radius": 0.06}, {"v_x": 0.2}),
    "rolling_coin": ({"radius": 0.02}, {"theta_dot": 0.1}),
    "spinning_top": ({"mass": 0.3}, {"phi_dot": 1.0}),
}
"""Parameters and starts that the constraints of a mechanism must correct by an impulse."""


def another_start(name, **options):
    """A page's run from a start that its constraints correct, beside that of Python: they agree to rounding errors."""
    scenario, (changed, start) = library.get(name), STARTS[name]
    run = scenario.simulate(**options)
    data = inside(run, scenario)
    found, bits = in_node(data)
    require_bits(bits, run)
    again = replace(scenario, q0=run.q[0], u0=run.u[0], params=changed).starting(start)
    run = again.simulate(**options)
    found, bits = in_node(data, set=changed, start=start)
    assert np.abs(bits["q"] - run.q.ravel()).max() <= 1e-12 * np.abs(run.q).max()
    table = run.impacts()
    assert len(table) and table["time"][0] == run.t[0]
    rows = np.column_stack([table[key].astype(float) for key in table.columns])
    assert bits["events"].reshape(rows.shape) == pytest.approx(rows, abs=1e-13)
    wanted = payload(run, again)
    for one in (found, wanted):
        one["method"].pop("wall_s")
        one["numbers"]["energy"].pop("unexplained")
        for key in ("max_constraint_error", "max_constraint_rate"):  # rounding errors, both of them
            assert one["numbers"]["certificate"].pop(key) < 1e-14
        one["numbers"]["proof"] = [entry for entry in one["numbers"]["proof"] if entry["name"] != "constraints off by"]
    require_same(found, wanted)


@needs_node
def test_constraints_take_up_a_start_in_the_browser_as_in_python():
    another_start("chaplygin_sleigh", t_end=0.5)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STARTS if name not in BY_DEFAULT])
def test_every_mechanism_with_constraints_takes_up_another_start(name):
    another_start(name, t_end=1.0)


@needs_node
@pytest.mark.slow
def test_a_length_that_moves_the_start_brings_it_back_onto_the_constraints():
    top = library.spinning_top()
    data = inside(top.simulate(t_end=0.1), top)
    found, bits = in_node(data, set={"length": 0.06})
    x, _, z = bits["q"][:3]
    assert np.hypot(x, z) == pytest.approx(0.06, rel=1e-12)
    assert found["complete"] and "brought back onto the constraints" in found["notes"][0]
    told = refused_in_node(data, start={"x": 0.01})
    assert "constraint 'tip x' starts with g = " in told and "move the start" in told


@needs_node
@pytest.mark.slow
def test_behind_a_gate_no_start_penetrates_and_before_it_one_does():
    """The swing foot of the compass may be below the ground while its gate is shut; its other foot may not."""
    gait = library.compass_gait()
    data = inside(gait.simulate(t_end=0.1), gait)
    assert any(data["kernels"]["gated"])
    assert "starts with a penetration" in refused_in_node(data, start={"y": float(gait.q0[1]) - 0.05})


def test_others_are_recorded_and_say_why():
    scenario = library.bouncing_ball()
    short = {"dt": 1e-2, "t_end": 0.2}
    for options, words in (
        ({"engine": "reference"}, "reference engine"),
        ({"engine": "reference", "stepper": "moreau-jean"}, "stepper is not moreau-midpoint"),
        ({"engine": "reference", "law": "poisson"}, "solver or impact law"),
        ({"engine": "reference", "solver": "lemke"}, "solver or impact law"),
    ):
        data = inside(scenario.simulate(**short, **options), scenario)
        assert words in data["recorded"] and "kernels" not in data
    resting = scenario.simulate(**short, q0=[0.0], u0=[-1.0], initialise=True)
    assert "begins with an impact" in inside(resting, scenario)["recorded"]
