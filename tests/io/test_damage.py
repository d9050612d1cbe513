"""Damaged files: same data or one line, and nothing else; see `tests.io.damage`."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from stickslip.ensembles.parts import InFolder
from stickslip.io import digests
from stickslip.io import stream as streaming
from stickslip.io.load import load
from stickslip.io.stream import StreamWriter, save
from tests.io.trajectories import assert_same, records, stream, trajectory

ROOT = Path(__file__).parent.parent.parent


def attack(count, seed, *kinds):
    command = [sys.executable, "-m", "tests.io.damage", str(count), str(seed), *kinds]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30 + count, check=False)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr[-3000:])
    return ast.literal_eval(done.stdout)


def test_some_damages():
    counts = attack(30, 1)
    assert counts["refused"] + counts["harmless"] == 30
    assert counts["refused"] > 15 and counts["words"] > 1 and counts["blocks"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_a_hundred_thousand_damages(seed):
    """In twenty parts, of half a minute of the processor each."""
    counts = attack(5_000, seed)
    print(counts)
    assert counts["refused"] + counts["harmless"] == 5_000 and counts["refused"] > 2_500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 7))
def test_damages_of_results_of_every_kind(seed):
    """Circuits, scenes, ensembles and notes of fits among them."""
    counts = attack(2_500, seed, "all")
    print(counts)
    assert counts["refused"] + counts["harmless"] == 2_500 and counts["refused"] > 1_250


def test_zeros_that_became_ones(tmp_path):
    """Fletcher-32 sums words modulo 0xffff: it cannot tell 0x0000 from 0xffff."""
    run = trajectory(n=30)
    run.u[0] = 0.0
    save(run, tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        begin = file["u"].id.get_chunk_info(0).byte_offset
    content = bytearray((tmp_path / "run.nc").read_bytes())
    content[begin : begin + 8] = b"\xff" * 8
    (tmp_path / "run.nc").write_bytes(content)
    with h5py.File(tmp_path / "run.nc") as file:
        assert np.isnan(file["u"][0, 0])  # HDF5 takes it
    with pytest.raises(ValueError, match=r"is damaged .*along time differs .*the digest of block 0 does"):
        load(tmp_path / "run.nc")


def test_a_heap_that_never_ends(tmp_path):
    """HDF5 steps from object to object of a heap by their sizes: a free one of size zero kept it busy for ever."""
    save(trajectory(n=30), tmp_path / "run.nc")
    content = bytearray((tmp_path / "run.nc").read_bytes())
    heap = content.find(b"GCOL")
    assert heap > 0 and load(tmp_path / "run.nc").complete is not None
    content[heap + 16 : heap + 32] = bytes(16)
    (tmp_path / "run.nc").write_bytes(content)
    with pytest.raises(ValueError, match="a heap of the file never ends"):
        load(tmp_path / "run.nc")


def test_blocks_that_changed_places(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_CHUNK_ROWS", 8)
    save(trajectory(n=24, coordinates=("x",), contacts=("floor",)), tmp_path / "run.nc")
    content = (tmp_path / "run.nc").read_bytes()
    with h5py.File(tmp_path / "run.nc") as file:
        places = [file[name].id.get_chunk_info(i) for name, i in (("q", 0), ("q", 1), ("u", 0))]
    for first, second in ((0, 1), (0, 2)):  # of one variable, and of two
        a, b = places[first].byte_offset, places[second].byte_offset
        swapped = bytearray(content)
        size = places[0].size
        swapped[a : a + size], swapped[b : b + size] = content[b : b + size], content[a : a + size]
        (tmp_path / "run.nc").write_bytes(swapped)
        with pytest.raises(ValueError, match="the digest of block 0 does"):
            load(tmp_path / "run.nc")


def test_an_edit_by_another_program_is_noticed(tmp_path):
    save(trajectory(), tmp_path / "run.nc")
    for name, change in {
        "along time": lambda file: file["q"].__setitem__((3, 1), 5.0),
        "attributes or names": lambda file: file.attrs.__setitem__("wall_s", np.array([9.0])),
        "attributes": lambda file: file["contact"].__setitem__((0, 0), b"X"),
    }.items():
        save(trajectory(), tmp_path / "run.nc", overwrite=True)
        with h5py.File(tmp_path / "run.nc", "r+") as file:
            change(file)
        with pytest.raises(ValueError, match=f"is damaged .*{name}"):
            load(tmp_path / "run.nc")


def test_a_file_without_digests_loads_with_a_warning(tmp_path):
    """Files of versions without digests have none."""
    run = trajectory()
    save(run, tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        del file[digests.GROUP]
    with pytest.warns(UserWarning, match=r"run\.nc carries no digests.*saving it again adds them") as caught:
        assert_same(load(tmp_path / "run.nc"), run)
    assert len(caught) == 1 and caught[0].filename == __file__
    writer = StreamWriter(tmp_path / "going.nc", run)
    stream(run, writer, 10)
    writer.checkpoint({"step": np.array(1)}, run.certificate, "running", 1, 1.0)
    writer.release()
    with h5py.File(tmp_path / "going.nc.part", "r+") as file:
        del file[digests.GROUP]
    with pytest.raises(ValueError, match=r"no run can go on from it .*no digests: an earlier version wrote it"):
        StreamWriter.resumed(tmp_path / "going.nc", run)


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_of_any_size_give_one_digest(block, tmp_path, monkeypatch):
    """Appended in pieces, with checkpoints in between, cut back and resumed: the digests are those of the whole."""
    monkeypatch.setattr(streaming, "_CHUNK_ROWS", 8)
    monkeypatch.setattr(streaming, "_DIGESTS_HELD", 3)
    run = trajectory(n=100)
    writer = StreamWriter(tmp_path / "run.nc", run)
    for begin in range(0, 50, block):
        writer.append(**records(run, slice(begin, min(50, begin + block))))
    writer.checkpoint({"step": np.array(50)}, run.certificate, "running", 50, 1.0)
    writer.append(**records(run, slice(50, 77)))
    writer.abort(run.certificate, "interrupted")
    assert len(load(tmp_path / "run.nc")) == 77
    writer, state = StreamWriter.resumed(tmp_path / "run.nc", run)
    assert writer.records == state["step"] == 50
    for begin in range(50, 100, block):
        writer.append(**records(run, slice(begin, begin + block)))
    writer.append_impacts(run.impact_table.columns)
    writer.close(run.certificate, run.status, run.complete, run.steps, run.wall_s)
    assert_same(load(tmp_path / "run.nc"), run)
    with h5py.File(tmp_path / "run.nc") as file:
        assert file["digest/time"].shape == (13, 9, 16) and file["digest/impact"].shape == (1, 8, 16)


def test_chunks_of_an_unfinished_sweep(tmp_path):
    """A chunk that is damaged or another's is computed again."""
    folder = InFolder.begin(tmp_path / "sweep.nc.parts", 20, 10, "abc")
    for chunk in ((0, 10), (10, 20)):
        folder.put(chunk, {"drop": np.zeros(10), "status": np.arange(10) + chunk[0]})
    folder.release()

    def missing():
        again = InFolder.resume(folder.folder, 20, "abc")
        again.release()
        return again.missing()

    assert missing() == []
    first, second = (folder._path(chunk) for chunk in ((0, 10), (10, 20)))
    whole = first.read_bytes()
    for content in (second.read_bytes(), whole[:-1], whole.replace(b"\0" * 8, b"\xff" * 8), b"", b"x" * 8):
        first.write_bytes(content)
        assert missing() == [(0, 10)]
        with pytest.raises(OSError, match="was there and is not any more"):
            list(folder.column("drop"))
    first.unlink()
    os.mkfifo(first)
    assert missing() == [(0, 10)]
    header = folder.folder / "sweep.json"
    header.write_text(header.read_text().replace('"chunk": 10', '"chunk": -5'))
    with pytest.raises(ValueError, match="is no unfinished ensemble of ours"):
        InFolder.resume(folder.folder, 20, "abc")


def test_one_process_at_a_time_writes_a_sweep(tmp_path):
    """The second is refused; what the first left, or has ended with, is free again."""
    place = tmp_path / "sweep.nc.parts"
    first = InFolder.begin(place, 20, 10, "abc")
    for second in (
        lambda: InFolder.begin(place, 20, 10, "abd"),
        lambda: InFolder.resume(place, 20, "abc"),
    ):
        with pytest.raises(ValueError, match="is being written by another process; wait for it, or give another"):
            second()
    first.put((0, 10), {"drop": np.zeros(10)})
    first.release()
    second = InFolder.resume(place, 20, "abc")
    assert second.missing() == [(10, 20)]
    second.release()
    third = InFolder.begin(place, 20, 10, "abd")
    assert third.missing() == [(0, 10), (10, 20)]
    third.discard()
    assert not place.exists() and third.claim == -1
