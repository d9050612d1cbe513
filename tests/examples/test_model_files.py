"""The model files of the examples: they read, run, and do what their mechanism does."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.drawing.primitives import markers
from stickslip.io.models.drawing import same_shapes

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def model(name):
    return ss.read_model(EXAMPLES / f"{name}.toml").scenario


def test_every_file_is_tested_here():
    names = {"door_latch", "hammer_drill", "rattling_gear", "shaken_discs"}
    circuits = {"buck_converter"}  # in tests/circuits/test_model_files.py
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == names | circuits


def test_the_rattling_gear_is_the_librarys():
    by_hand, library = model("rattling_gear"), ss.library.gear_rattle()
    assert by_hand.system.source() == library.system.source()
    np.testing.assert_array_equal(by_hand.system.parameter_values, library.system.parameter_values)


@pytest.mark.parametrize("name", ["door_latch", "hammer_drill", "rattling_gear"])
def test_every_mechanism_is_drawn_where_it_touches(name):
    """A mark for every contact that has a place, and shapes that move with the start."""
    scenario = model(name)
    p = scenario.parameters
    shapes = scenario.drawing(scenario.q0, 0.0, p)
    marked = {scenario.system.contact_names[mark.contact] for mark in markers(shapes)}
    assert marked >= set(scenario.system.contact_names) - {"hole", "bolt out"}
    assert not same_shapes(shapes, scenario.drawing(scenario.q0 + 1e-3, 0.0, p))


def test_the_steps_of_the_documentation_make_the_latch():
    """What a reader types, block by block, is the mechanism of the example, with a plainer drawing."""
    page = (EXAMPLES.parent / "docs" / "model-files.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, flags=re.S)
    typed = ss.model_from_text("".join(textwrap.dedent("    " + block) for block in blocks), "typed.toml").scenario
    assert typed.system.source() == model("door_latch").system.source()
    assert len(typed.drawing(typed.q0, 0.0, typed.parameters)) == 3


@pytest.mark.slow
def test_the_latch_snaps_and_holds_the_door():
    run = model("door_latch").simulate()
    assert run.complete and run.certificate.failed_steps == 0 and run.certificate.max_penetration < 1e-5
    door, bolt = run["door"], run["bolt"]
    assert bolt.max() == pytest.approx(0.8 * 0.01, abs=2e-3)  # pushed in by the slope over the plate's length
    shut = door > 0.0149
    assert shut.any() and door[np.argmax(shut) :].min() > 0.0149  # once behind the plate it never comes back
    assert door[-1] == pytest.approx(0.02, abs=1e-6) and bolt[-1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_the_drill_strikes_once_a_turn():
    run = model("hammer_drill").simulate()
    strikes = run.impacts().of("striker on bit")["time"]
    assert run.complete and np.diff(strikes[-6:]) == pytest.approx(1 / 40, rel=1e-3)
    assert np.abs(run["bit"]).max() < 1e-4  # the rock is hard


@pytest.mark.slow
def test_the_discs_stay_between_the_walls():
    run = model("shaken_discs").simulate(t_end=1.0)
    assert run.complete and run.certificate.failed_steps == 0
    for name, radius in (("large", 0.08), ("small", 0.04), ("top", 0.05)):
        assert np.abs(run[f"{name}.x"]).max() < 0.4 - radius + 1e-6
