"""Streaming: a run is written in blocks, and what an interrupted one has computed is kept."""

import dataclasses
import signal

import h5py
import numpy as np
import pytest
import xarray as xr

from stickslip.io import digests, disk
from stickslip.io.load import load
from stickslip.io.stream import StreamWriter, save
from stickslip.trajectory import Certificate
from tests.io.test_save import counted
from tests.io.trajectories import CASES, assert_same, finish, records, run_python, stream, trajectory

WHOLE, SLOW = 5000, pytest.mark.slow
"""Records of a block that holds every case whole."""
BLOCKS = {case: {3: [], WHOLE: [] if case in ("plain", "no impacts") else SLOW} for case in CASES}
BLOCKS["several chunks"] = {3: SLOW, 300: [], WHOLE: []}
"""Records in a block, for each case: all cases in pieces, and some whole."""


@pytest.mark.parametrize(
    ("case", "block"),
    [pytest.param(case, block, marks=marks) for case in CASES for block, marks in BLOCKS[case].items()],
)
def test_a_streamed_file_is_the_saved_one(case, block, tmp_path):
    run = trajectory(**CASES[case])
    save(run, tmp_path / "saved.nc")
    writer = StreamWriter(tmp_path / "streamed.nc", dataclasses.replace(run, status="running", steps=0))
    stream(run, writer, block)
    assert (writer.records, writer.impacts) == (len(run), len(run.impact_table))
    assert finish(run, writer) == tmp_path / "streamed.nc"
    assert_same(load(tmp_path / "streamed.nc"), run)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["saved.nc", "streamed.nc"]
    with h5py.File(tmp_path / "saved.nc") as saved, h5py.File(tmp_path / "streamed.nc") as streamed:
        assert list(saved) == list(streamed) and list(saved.attrs) == list(streamed.attrs)
        for name in set(saved) - {digests.GROUP}:
            assert saved[name].shape == streamed[name].shape and saved[name].dtype == streamed[name].dtype
            assert list(saved[name].attrs) == list(streamed[name].attrs)


def test_an_interrupted_stream_keeps_what_was_computed(tmp_path):
    run = trajectory(n=100)
    writer = StreamWriter(tmp_path / "run.nc", run)
    writer.append(**records(run, slice(0, 60)))
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc.part"]
    assert writer.abort(Certificate(max_lcp_size=3), steps=177, wall_s=2.0) == tmp_path / "run.nc"
    kept = load(tmp_path / "run.nc")
    assert len(kept) == 60 and kept.q.tobytes() == run.q[:60].tobytes() and len(kept.impacts()) == 0
    assert (kept.status, kept.complete, kept.steps) == ("interrupted at t = 0.595959596 s", False, 177)
    assert kept.certificate == Certificate(max_lcp_size=3)
    with pytest.raises(ValueError, match="is closed"):
        writer.append(**records(run))
    with pytest.raises(ValueError, match="is closed"):
        finish(run, writer)
    writer.discard()
    assert len(load(tmp_path / "run.nc")) == 60


def test_ctrl_c_in_a_block_comes_after_it(tmp_path, monkeypatch):
    run = trajectory(n=3000)
    with pytest.raises(KeyboardInterrupt), StreamWriter(tmp_path / "run.nc", run) as writer:
        writer.append(**records(run, slice(0, 10)))
        interrupt = counted(disk.Disk.reserve, 1, lambda: signal.raise_signal(signal.SIGINT))
        monkeypatch.setattr(disk.Disk, "reserve", lambda *arguments: interrupt(*arguments))
        writer.append(**records(run, slice(10, 3000)))
    kept = load(tmp_path / "run.nc")
    assert len(kept) == 3000 and "by KeyboardInterrupt" in kept.status and not kept.complete
    assert kept.steps == 2999 * run.every and np.isnan(kept.certificate.max_residual)


def test_a_stream_that_is_left_alone(tmp_path):
    run = trajectory()
    with StreamWriter(tmp_path / "empty.nc", run) as writer:
        pass
    assert not list(tmp_path.iterdir())
    with StreamWriter(tmp_path / "run.nc", run) as writer:
        stream(run, writer, 10)
        finish(run, writer)
    assert_same(load(tmp_path / "run.nc"), run)
    with StreamWriter(tmp_path / "open.nc", run) as writer:
        stream(run, writer, 10)
    assert load(tmp_path / "open.nc").status == "interrupted at t = 1 s: the file was not closed"


def test_a_block_of_the_wrong_shape_changes_nothing(tmp_path):
    run = trajectory()
    writer = StreamWriter(tmp_path / "run.nc", run)
    stream(run, writer, 10)
    with pytest.raises(ValueError, match=r"gap must have shape \(4, 2\), one row per time, got \(4, 3\)"):
        writer.append(**{**records(run, slice(0, 4)), "gap": np.zeros((4, 3))})
    with pytest.raises(ValueError, match="impact columns must be"):
        writer.append_impacts({"time": [1.0]})
    writer.append(**records(run, slice(0, 0)))
    finish(run, writer)
    assert_same(load(tmp_path / "run.nc"), run)


GROWTH = """
    import resource
    import numpy as np
    total, block = int(sys.argv[2]), 4096
    run = this.trajectory(n=block)
    writer = this.StreamWriter(sys.argv[1], run)
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    while writer.records < total:
        writer.append(**this.records(run))
        writer.append_impacts(run.impact_table.columns)
        if writer.records == 10 * block:
            before = peak()
    this.finish(run, writer)
    print(writer.records, peak() - before)
"""


@pytest.mark.parametrize("total", [120_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_streaming_takes_no_more_memory_the_longer_it_runs(total, tmp_path):
    written, growth = run_python(GROWTH, tmp_path / "run.nc", total).split()
    assert (tmp_path / "run.nc").stat().st_size > 100 * total
    assert float(growth) < 8  # MiB, of a file of 12 or 230
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        assert dataset.sizes["time"] == int(written) >= total
