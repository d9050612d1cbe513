"""Exported pages of scenes: Node runs the march of the file, and finds the bits of `simulate`."""

import numpy as np
import pytest

import stickslip as ss
from page.test_simulating import in_node, inside, needs_node, numbers_of, require_bits, require_same
from stickslip import library
from stickslip.page.payload import payload
from stickslip.page.recorded import Recorded
from stickslip.page.simulating_scenes import FORMULAS, fitted, simulating_scene
from stickslip.scenario import SceneScenario


def compare(scenario, again, request, **options):
    """A run by the march of one scenario's page, against run and payload of another one by Python."""
    data = inside(scenario.simulate(**options), scenario)
    assert data.get("kernels"), data.get("recorded")
    run = again.simulate(**options)
    found, bits = in_node(data, **request)
    require_bits(bits, run)
    wanted = payload(run, again)
    for one in (found, wanted):
        one["method"].pop("wall_s")
        one["numbers"]["energy"].pop("unexplained")
        one["numbers"].pop("certificate")
        one.pop("motion")
    require_same(found, wanted)
    return data["kernels"]


@needs_node
@pytest.mark.slow  # the march takes ten seconds to build; `test_fitted`, and `tests/jit/test_web.py`, are quick
def test_a_page_of_a_scene_simulates_with_the_bits_of_python():
    slower = library.get("thrown_cube", speed=4.0, friction=0.3)
    source = compare(library.get("thrown_cube"), slower, {"set": {"speed": 4.0, "friction": 0.3}}, t_end=0.5)
    assert [control["key"] for control in source["controls"]] == ["friction", "speed", "dt", "t_end"]


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", ["billiards", "cube_stack", "domino_row", "rolling_disc", "tippe_top", "cradle"])
def test_scenes_of_the_library_simulate_with_the_bits_of_python(name):
    scenario = library.get(name)
    source = compare(scenario, scenario, {}, t_end=400 * scenario.dt)
    moved = {
        control["key"]: float(f"{control['low'] + 0.37 * (control['high'] - control['low']):.4g}")
        for control in source["controls"]
        if control["section"] == "parameter"
    }
    if moved:
        compare(scenario, library.get(name, **moved), {"set": moved}, t_end=400 * scenario.dt)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", ["thrown_cube", "cradle", "domino_row", "cube_stack"])
def test_forces_at_contacts_are_drawn_behind_a_slider_too(name):
    scenario = library.get(name)
    options = {"t_end": 400 * scenario.dt, "contacts": True}
    data = inside(scenario.simulate(**options), scenario)
    wanted = payload(scenario.simulate(**options), scenario)["motion"]["forces"]
    found = in_node(data)[0]["motion"]["forces"]
    assert found["first"] == wanted["first"] and found["first"][-1] > 0
    for key in ("point", "force"):
        ours, python = numbers_of(found[key]), numbers_of(wanted[key])
        assert ours == pytest.approx(python, rel=1e-6, abs=1e-6 * np.abs(python).max())
    assert found["typical"] == pytest.approx(wanted["typical"], rel=1e-12)


def own_scene(force=None):
    """A ball that is thrown onto a rough floor: no scene of the library."""
    scene = ss.Scene(dim=2, name="thrown ball")
    scene.add_static(ss.HalfPlane((0.0, 1.0)), friction=0.4, restitution=0.5, name="floor")
    ball = scene.add_body(
        ss.Circle(0.1), mass=1.0, position=(0.0, 0.3), velocity=(1.0, 0.5), friction=0.4, restitution=0.5, name="ball"
    )
    if force is not None:
        scene.add_force(ball, force)
    return SceneScenario(scene, 1e-3, 0.6, "Thrown ball", "")


@needs_node
@pytest.mark.slow
def test_a_scene_of_ones_own_has_sliders_for_its_laws_and_speeds():
    scenario = own_scene()
    again = scenario.with_values({"restitution": 0.8, "ball.vx": 1.7})
    source = compare(scenario, again, {"set": {"restitution": 0.8, "ball.vx": 1.7}})
    keys = [control["key"] for control in source["controls"]]
    assert {"friction", "restitution", "ball.vx", "dt", "t_end"} <= set(keys)


def test_runs_that_need_python_are_played_back():
    scenario = own_scene()
    with pytest.raises(Recorded, match="options"):
        simulating_scene(scenario.simulate(rule="gs05"), scenario)
    with pytest.raises(Recorded, match="stepper"):
        simulating_scene(scenario.simulate(stepper="moreau-jean"), scenario)
    scenario = own_scene(lambda t, x, v: (np.sin(t), 0.0))
    with pytest.raises(Recorded, match="functions of Python"):
        simulating_scene(scenario.simulate(), scenario)


def test_numbers_that_follow_a_slider_are_known_by_their_bits():
    p = np.array([3.0, 0.5, 1.1, 2.3, 7.7])
    for x in (p, -2.5 * p, p + 0.7, 4.1 - p, 0.3 / p, 1.9 * (p * p), 0.2 + 1.3 * p):
        number, a, b = fitted(p, x)
        assert np.array_equal(FORMULAS[number](p, a, b), x)
    assert fitted(p, np.sin(p)) is None and fitted(p, np.array([*p[:-1], np.inf])) is None
