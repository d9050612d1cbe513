"""Files that are written in one go, on a disk that is full: one line, and nothing is left or replaced."""

import contextlib
import errno
import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.cycle_result import LimitCycle
from stickslip.fitting.notes import Notes
from stickslip.fitting.result import Fit
from stickslip.io.disk import Disk
from stickslip.io.fclib import write_fclib
from stickslip.run import driver
from tests.run.signalled import differences

resource = pytest.importorskip("resource", reason="no limits on this platform")


def circuit():
    net = ss.Circuit("plain")
    net.source("V", "a", "0", voltage=1.0)
    net.resistor("R", "a", "0", 1.0)
    run = net.simulate(dt=1e-4, t_end=1.0)
    return lambda path: run.save(path, overwrite=True)


def ensemble():
    found = ss.ensemble(ss.library.bouncing_ball(), {"y": "0.5:1.5:40"}, observe="final", dt=0.01, t_end=0.02)
    return lambda path: found.save(path, overwrite=True)


def friction_problem():
    n = 300
    problem = ss.FrictionProblem(np.eye(n), -np.ones(n), np.full(n // 3, 0.5))
    return lambda path: write_fclib(problem, path)


def derivatives():
    found = ss.sensitivity(ss.library.bouncing_ball(), ["g"], t_end=0.2, samples=200)
    return found.save


def cycle():
    found = SimpleNamespace(to_dict=lambda orbit: {"orbit": [0.1] * 400})
    return lambda path: LimitCycle.save(found, path, overwrite=True)


def fit():
    found = SimpleNamespace(report=lambda: {"values": [0.1] * 400})
    return lambda path: Fit.save(found, path)


def notes():
    def keep(path):
        with contextlib.closing(Notes.opened(path, lambda: ("task",))) as kept:
            kept.known.clear()
            kept.vector("search 0", lambda: (np.full(400, 0.1), 1.0))

    return keep


@contextlib.contextmanager
def largest_file(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


ENDINGS = {
    circuit: "nc", ensemble: "nc", friction_problem: "nc", derivatives: "npz", cycle: "json", fit: "json", notes: "json"
}  # fmt: skip


@pytest.mark.parametrize("make", ENDINGS)
def test_a_file_that_does_not_fit_is_one_line(make, tmp_path):
    """HDF5 itself would crash the process, or call such a file written."""
    save, path = make(), tmp_path / f"x.{ENDINGS[make]}"
    save(path)
    before = path.read_bytes()
    for size in (0, 1000, len(before) // 2, len(before) - 1):
        with largest_file(size), pytest.raises(OSError, match=r"x\.\w+ could not be written: .*[Tt]oo large") as error:
            save(path)
        assert "\n" not in str(error.value)
        assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == [path.name]
    save(path)
    if make is not friction_problem:
        assert path.stat().st_size == pytest.approx(len(before), rel=0.05)


@pytest.mark.parametrize("ending", ["hdf5", "dat"])
def test_a_friction_file_that_does_not_fit_is_told_once(ending, tmp_path):
    problem, path = ss.FrictionProblem(np.eye(30), -np.ones(30), np.full(10, 0.5)), tmp_path / f"x.{ending}"
    with largest_file(100), pytest.raises(ValueError, match=r"x\.\w+ could not be written: \w[^.]*; \w[^.]*\.$"):
        ss.write_friction_problem(problem, path)
    assert not list(tmp_path.iterdir())


RUNS = {
    "scene": (lambda: ss.library.scenes.cube_stack(2), {"dt": 1e-3, "t_end": 0.05}),
    "event-driven": (ss.library.bouncing_ball, {"dt": 1e-3, "t_end": 0.9, "stepper": "event-driven"}),
}


@pytest.mark.parametrize("share", [0.0, pytest.param(0.1, marks=pytest.mark.slow), 0.6])
@pytest.mark.parametrize("kind", RUNS)
def test_a_run_goes_on_bit_for_bit_once_there_is_room_again(kind, share, tmp_path, monkeypatch):
    """The disk is full before the first record, or after some pieces, in which events were listed already."""
    make, options = RUNS[kind]
    steps = round(options["t_end"] / options["dt"])
    monkeypatch.setattr(driver, "_MOST_STEPS", steps // 5)
    out, expected = tmp_path / "run.nc", tmp_path / "expected.nc"
    make().simulate(out=expected, **options)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(step):
        if step >= share * steps:
            patch.setattr(Disk, "reserve", full)
            patch.setattr(Disk, "commit", full)

    kept = r"the first record is safe in .*run\.nc\.part" if share else "nothing was replaced"
    with monkeypatch.context() as patch:
        if share == 0.0:
            fill(0)
        for goes_on in ({}, {"resume": True}):
            with pytest.raises(OSError, match=f"No space left on device; {kept}; free some space") as error:
                make().simulate(out=out, progress=fill, **goes_on, **options)
            assert "\n" not in str(error.value)
            assert [each.name for each in tmp_path.glob("*run*")] == (["run.nc.part"] if share else [])
    make().simulate(out=out, resume=True, **options)  # by the same process: no claim was left
    assert differences(ss.load(out), ss.load(expected)) == []


ELSEWHERE = ("bench/", "jit/", "fmu/export.py", "page/showing.py")  # folders of a process, and measurements
WRITERS = (".write_text(", ".write_bytes(", ".savez(", ".savez_compressed(", ".savetxt(", ".to_netcdf(")


def test_results_are_written_to_drafts_alone():
    """A file that is written in its place is half a file after Ctrl-C or on a full disk, and the old one is gone."""
    package, places = Path(ss.__file__).parent, {}
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        text = "" if name.startswith(ELSEWHERE) else path.read_text(encoding="utf-8")
        for writer in WRITERS:
            before, *after = text.split(writer)
            for piece in after:
                words = (
                    re.findall(r"\w+", before[-40:])[-1:] if "write" in writer else re.findall(r"\w+", piece[:40])[:1]
                )
                places[f"{name}: {writer} {len(before)}"] = words[0]
                before = piece
    assert {key: place for key, place in places.items() if place not in ("draft", "buffer", "clear_refs")} == {}
    assert len(places) >= 10
