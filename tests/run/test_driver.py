"""One driver for every engine: what it does is what an engine does that is stepped by hand."""

import inspect

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import Block
from stickslip.library import scenes
from stickslip.request import Checks, Records
from stickslip.run.scene_simulate import prepare_run
from stickslip.run.simulate import prepare
from stickslip.scenario import Scenario, SceneScenario

STEPS, DT = 60, 1e-2


def mechanism(stepper, engine):
    ball = ss.library.bouncing_ball()
    run = prepare(
        ball.system, ball.q0, ball.u0, DT, STEPS * DT, stepper, "auto", None, None, 0.0, engine, Records(), Checks()
    )
    return run, ball.simulate(dt=DT, t_end=STEPS * DT, stepper=stepper, engine=engine, on_energy_gain="ignore")


def scene():
    thrown = scenes.thrown_cube(speed=6.0, friction=0.5)
    return prepare_run(thrown, DT, STEPS * DT), thrown.simulate(DT, STEPS * DT)


RUNS = {
    "reference": lambda: mechanism("moreau-midpoint", "reference"),
    "compiled": lambda: mechanism("moreau-midpoint", "compiled"),
    "adaptive": lambda: mechanism(ss.Adaptive(rtol=1e-4), "reference"),
    "event-driven": lambda: mechanism("event-driven", "auto"),
    "scene": scene,
}


@pytest.mark.parametrize("kind", RUNS)
def test_an_engine_stepped_by_hand_gives_the_run(kind):
    """State, records and clock of the protocol are all that a caller needs; a step taken back is done again alike."""
    run, whole = RUNS[kind]()
    engine, state, columns = run.engine, run.state, run.first_impacts.shape[1]
    for k in range(1, STEPS + 1):
        before = engine.arrays(state)
        for _ in range(2 if k % 10 == 0 else 1):
            engine.take(state, before)
            block = Block.room(1, 10, state.sizes, columns=columns)
            assert engine.march(state, 1, block) == 0 and block.records == 1
        assert state.step == k and state.t == whole.t[k]
        np.testing.assert_array_equal(block.q[0], whole.q[k])
        np.testing.assert_array_equal(block.u[0], whole.u[k])
        np.testing.assert_array_equal(block.impulse[0, :, 0], whole.normal_impulse[k])
        np.testing.assert_array_equal(state.q, whole.q[k])
    np.testing.assert_array_equal(engine.measure(state, whole.t[-1:], whole.q[-1:], whole.u[-1:]).energy[0, 0],
                                  whole.energy.kinetic[-1])  # fmt: skip


def test_a_scene_tells_its_progress_and_may_be_ended_by_it():
    seen = []

    def watch(step):
        seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt

    run = scenes.thrown_cube().simulate(1e-3, 1.0, progress=watch)
    assert run.status == f"interrupted at t = {run.t[-1]:.9g} s" and run.steps == seen[-1] and seen == sorted(seen)


def test_the_groups_of_options_are_the_keywords(tmp_path):
    ball, cube = ss.library.bouncing_ball(), scenes.thrown_cube()
    flat = ball.simulate(dt=DT, t_end=0.5, engine="reference", every=7, initialise=True, on_energy_gain="ignore")
    checks = Checks(initialise=True, on_energy_gain="ignore")
    grouped = ball.simulate(dt=DT, t_end=0.5, engine="reference", records=Records(every=7), checks=checks)
    np.testing.assert_array_equal(grouped.q, flat.q)
    assert grouped.every == 7
    assert cube.simulate(1e-3, 0.02, records=Records(every=7, out=tmp_path / "run.nc")).every == 7
    assert ss.load(tmp_path / "run.nc").every == 7


@pytest.mark.parametrize(
    ("options", "problem", "message"),
    [
        (
            {"every": 2, "records": Records()},
            ValueError,
            r"every must be given as a keyword or in records=Records\(...\), not both",
        ),
        ({"records": 3}, ValueError, r"records must be Records\(\.\.\.\), got 3"),
        ({"evry": 2}, TypeError, "unknown keyword 'evry'; did you mean 'every'"),
    ],
)
def test_options_that_are_not_clear_are_refused(options, problem, message):
    for run in (ss.library.bouncing_ball(), ss.library.get("thrown_cube")):
        with pytest.raises(problem, match=message):
            run.simulate(t_end=0.1, **options)
    with pytest.raises(ValueError, match="on_failure must be one of stop, continue, got 'go on'"):
        Checks(on_failure="go on")


@pytest.mark.parametrize("options", [{"initialise": True}, {"on_energy_gain": "raise"}])
def test_checks_of_mechanisms_are_refused_by_scenes(options):
    with pytest.raises(ValueError, match=r"for mechanisms|of a scene must be"):
        scenes.thrown_cube().simulate(1e-3, 0.1, **options)


def test_every_public_simulate_says_what_it_takes():
    for call in (ss.simulate, ss.Scene.simulate, Scenario.simulate, SceneScenario.simulate):
        parameters = inspect.signature(call).parameters
        assert {"dt", "t_end", "stepper", "t0", "progress", "records", "checks"} <= set(parameters)
        assert len([name for name in parameters if name != "self"]) <= 17
    scene = ss.library.get("thrown_cube")
    assert isinstance(scene, Scenario) and scene.parameters == {} and scene.contact_names == ("cube",)
    start = scene.simulate(t_end=scene.dt)
    np.testing.assert_array_equal(start.q[0], scene.q0)
    np.testing.assert_array_equal(start.u[0], scene.u0)
