"""Files that are written in one go, on a disk that is full: one line, and nothing is left or replaced."""

import contextlib

import numpy as np
import pytest

import stickslip as ss
from stickslip.io.fclib import write_fclib

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


@contextlib.contextmanager
def largest_file(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("make", [circuit, ensemble, friction_problem])
def test_a_file_that_does_not_fit_is_one_line(make, tmp_path):
    """HDF5 itself would crash the process, or call such a file written."""
    save, path = make(), tmp_path / "x.nc"
    save(path)
    before = path.read_bytes()
    for size in (0, 1000, len(before) // 2, len(before) - 1):
        with largest_file(size), pytest.raises(OSError, match=r"x\.nc could not be written: .*[Tt]oo large") as error:
            save(path)
        assert "\n" not in str(error.value)
        assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["x.nc"]
    save(path)
    if make is not friction_problem:
        assert path.stat().st_size == pytest.approx(len(before), rel=0.05)
