"""Time limits of a run: kept, told, and nothing computed before is lost."""

import time

import numpy as np
import pytest

from stickslip import library
from stickslip.library import scenes
from stickslip.request import Checks
from stickslip.scenes import engine as scene_engine
from stickslip.scenes.open_step import OpenStep

LIMIT = 0.4


def scene():
    return scenes.poured_spheres(60)


def check(run):
    assert not run.complete
    assert run.status.startswith(f"time limit of {LIMIT:g} s reached at t = {run.t[-1]:.9g} s")
    assert LIMIT <= run.wall_s <= 1.1 * LIMIT + 0.3  # a busy machine may let the process wait


def test_a_scene_ends_in_time():
    scene().simulate(dt=1e-3, t_end=0.15, tol=1e-4, every=10)  # loads the kernels
    run = scene().simulate(dt=1e-5, t_end=10.0, tol=1e-4, every=20, time_limit=LIMIT)
    check(run)
    assert len(run) > 10


@pytest.mark.filterwarnings("ignore:.*steps of bouncing_ball will take:RuntimeWarning")
def test_a_mechanism_ends_in_time():
    entry = library.bouncing_ball()
    entry.simulate(t_end=0.1)
    check(entry.simulate(dt=1e-6, t_end=1e4, every=1_000_000, time_limit=LIMIT))


def test_a_limit_in_the_middle_of_a_step_drops_that_step(monkeypatch, tmp_path):
    """The run goes on from there, and ends at the bits of one that was never stopped."""
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)  # the host solves all islands
    options = {"dt": 1e-3, "t_end": 0.12, "tol": 1e-4, "every": 10}
    whole = scene().simulate(**options)
    rescue, calls = scene_engine.SceneEngine._rescue, []

    def slow(self, state, block):
        calls.append(state.step)
        if len(calls) == 30:
            time.sleep(max(0.0, self.deadline - time.perf_counter() + 0.01))
            OpenStep(self, self.contacts[0]).clock(1.0)
        return rescue(self, state, block)

    out = tmp_path / "run.nc"
    with monkeypatch.context() as patch:
        patch.setattr(scene_engine.SceneEngine, "_rescue", slow)
        stopped = scene().simulate(**options, out=out, time_limit=0.7)
    if not stopped.complete and len(calls) >= 30:  # else the machine was too busy to get there
        assert ", in a step whose largest island has" in stopped.status and "not 0.0001" in stopped.status
    resumed = scene().simulate(**options, out=out, resume=True)
    assert resumed.complete and np.array_equal(resumed.q[-1], whole.q[-1])


@pytest.mark.parametrize("limit", [0, -1.0, "soon", True])
def test_limits_that_are_none(limit):
    with pytest.raises(ValueError, match="time_limit must be a positive number of seconds or None"):
        scene().simulate(dt=1e-3, t_end=0.1, time_limit=limit)
    with pytest.raises(ValueError, match="time_limit must be a positive number of seconds or None"):
        Checks(time_limit=limit)
