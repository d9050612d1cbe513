"""The list of events of an event-driven run, in memory and in files."""

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.saltation import FollowedMotion
from stickslip.trajectory import EVENT_KINDS


def bounces(path=None, t_end=1.0, **options):
    ball = ss.library.bouncing_ball(restitution=0.5)
    return ball.simulate(dt=0.01, t_end=t_end, stepper="event-driven", out=path, **options)


def assert_same(found, expected):
    assert found.exact == expected.exact and found.names == expected.names
    for column in ("time", "kind", "contact"):
        np.testing.assert_array_equal(found[column], expected[column])


@pytest.mark.parametrize("t_end", [0.3, 1.0], ids=["none yet", "some"])
def test_files_keep_the_list_of_events(tmp_path, t_end):
    run = bounces(t_end=t_end)
    expected = run.events()
    assert expected.exact and len(expected) == (0 if t_end < 0.4 else 2)
    run.save(tmp_path / "saved.nc")
    bounces(tmp_path / "streamed.nc", t_end)
    for name in ("saved.nc", "streamed.nc"):
        found = ss.load(tmp_path / name)
        assert_same(found.events(), expected)
        assert found.attributes == run.attributes
        found.save(tmp_path / f"again-{name}")
        assert_same(ss.load(tmp_path / f"again-{name}").events(), expected)
    assert (
        bounces(tmp_path / "streamed.nc", t_end, resume=True).attributes["resumed"].endswith("nothing was left to do")
    )
    assert_same(ss.load(tmp_path / "streamed.nc").events(), expected)


def test_what_an_interrupted_run_saw_is_in_its_file(tmp_path, monkeypatch):
    from stickslip.engine import Engine
    from stickslip.run import driver

    monkeypatch.setattr(driver, "_PIECE_SECONDS", 0.0)
    monkeypatch.setattr(Engine, "first_piece", 60)

    def stop(steps):
        if steps >= 60:
            raise KeyboardInterrupt

    run = bounces(tmp_path / "run.nc", progress=stop)
    assert not run.complete and len(run.events()) == 1
    assert_same(ss.load(tmp_path / "run.nc").events(), run.events())
    assert_same(bounces(tmp_path / "run.nc", resume=True).events(), bounces().events())
    assert_same(ss.load(tmp_path / "run.nc").events(), bounces().events())


def test_other_runs_have_no_list_in_their_files(tmp_path):
    run = ss.library.bouncing_ball().simulate(dt=0.01, t_end=0.6, engine="reference")
    run.save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        assert "event_time" not in file
    found = ss.load(tmp_path / "run.nc").events()
    assert not found.exact
    assert_same(found, run.events())


def test_a_kind_that_does_not_exist_is_found(tmp_path):
    bounces().save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        file["event_kind"][0] = len(EVENT_KINDS)
    with pytest.raises(ValueError, match="damaged"):
        ss.load(tmp_path / "run.nc")


def test_runs_and_cycles_speak_one_language_of_events():
    """Saltation matrices are told by the words of `events()`: what the one lists, the other lists."""
    belt = ss.library.block_on_belt()
    listed = belt.simulate(dt=0.1, t_end=10.0, stepper="event-driven").events()
    system = belt.system
    motion = FollowedMotion.of(
        system, np.concatenate([belt.q0, belt.u0]), system.parameter_vector({}), 0.0, 10.0, 1e-10
    )
    motion.run()
    assert [switch.kind for switch in motion.switches] == listed.kind.tolist() == ["slips", "sticks"]
    assert [switch.t for switch in motion.switches] == pytest.approx(listed.time, abs=1e-9)
