"""The cost of a long run is announced before it starts."""

import time

import numpy as np
import pytest

import stickslip as ss
from stickslip import cost
from stickslip.run import driver, records


def test_a_run_of_many_steps_says_how_long_it_will_take(monkeypatch):
    calls = []

    def trial(n):
        calls.append(n)
        time.sleep(0.06)

    with pytest.warns(RuntimeWarning, match=r"1e\+12 steps of ball will take about .* years .*; give out="):
        cost.tell_time("ball", 10**12, trial, safe=False)
    assert calls == [64]
    monkeypatch.setattr(cost, "LONG", 1e99)
    cost.tell_time("ball", 10**12, trial, safe=True)  # no warning


@pytest.mark.parametrize(("name", "options"), [("bouncing_ball", {"engine": "reference"}), ("thrown_cube", {})])
def test_the_trial_counts_for_nothing(name, options, monkeypatch):
    """The trial steps of the announcement do not change the motion."""
    plain = ss.library.get(name).simulate(t_end=0.5, **options)
    monkeypatch.setattr(driver, "_MANY_STEPS", 1)
    monkeypatch.setattr(cost, "LONG", 1e-9)
    with pytest.warns(RuntimeWarning, match=f"{plain.steps} steps of .* will take about"):
        told = ss.library.get(name).simulate(t_end=0.5, **options)
    np.testing.assert_array_equal(told.q, plain.q)
    assert told.certificate == plain.certificate


def test_a_million_contacts_are_refused_at_once():
    contacts = [
        ss.Contact(f"c{k}", gap=ss.library.bouncing_ball().system.equations().q[0]) for k in range(1)
    ] * 1_000_000
    with pytest.raises(ValueError, match=r"1000000 contacts would make an LCP of 3000000 rows, 7\.2e\+04 GB; .* Scene"):
        ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (0.0,), contacts=contacts)


def test_a_file_that_would_not_fit_on_the_disk(tmp_path, monkeypatch):
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(cost.shutil, "disk_usage", lambda folder: usage(1e9, 1e9 - 1e4, 1e4))
    with pytest.raises(ValueError, match=r"run\.nc would take .* kB, and 10 kB are free in .*every=\d+ or more"):
        ss.library.bouncing_ball().simulate(engine="reference", out=tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


def test_a_run_that_goes_on_needs_room_for_its_rest_alone(tmp_path, monkeypatch):
    """What it has written already counted twice: on a disk that was full once it could not go on."""
    from types import SimpleNamespace

    def stop(step):
        if step > 0:
            raise KeyboardInterrupt

    ball, out = ss.library.bouncing_ball(), tmp_path / "run.nc"
    asked = {"engine": "reference", "dt": 1e-2, "out": out}
    monkeypatch.setattr(driver, "_PIECE_SECONDS", 0.0)
    assert not ball.simulate(t_end=0.5, progress=stop, **asked).complete
    size = out.stat().st_size
    monkeypatch.setattr(cost.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(ValueError, match=r"run\.nc would grow by .*, and 1 kB are free in .*; free some space\.$"):
        ball.simulate(t_end=1.0 * size, resume=True, **asked)
    assert ball.simulate(t_end=0.5, resume=True, **asked).complete


def test_memory_that_is_not_there(monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"many bodies would take 2 MB of memory, and 1 MB are free; take fewer"):
        cost.require_memory(2e6, "many bodies", "take fewer")
    monkeypatch.setattr(records, "available_memory", lambda: 10**4)
    with pytest.raises(ValueError, match="would not fit into memory; give every="):
        ss.library.bouncing_ball().simulate(engine="reference")


def test_a_scene_too_large_for_the_machine(monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 10**5)
    scene = ss.Scene(dim=2)
    for k in range(20):
        scene.add_body(ss.Circle(0.1), mass=1.0, position=(k, 0.0))
    with pytest.raises(MemoryError, match=r"contact points of 20 bodies would take .* take fewer bodies"):
        scene.simulate(dt=1e-3, t_end=0.1)


def test_available_memory_is_that_of_a_machine():
    assert 10**7 < cost.available_memory() < 10**15


def test_words():
    assert [cost.in_bytes(x) for x in (2e3, 5e6, 7.25e9, 3e12)] == ["2 kB", "5 MB", "7.25 GB", "3 TB"]
    assert [cost.in_time(x) for x in (90.0, 7200.0, 86400.0 * 3, 3.2e8)] == ["1.5 min", "2 h", "3 days", "10 years"]
