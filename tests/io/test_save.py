"""Saving: the file appears whole or not at all, whatever fails on the way, and replaces nothing unasked."""

import dataclasses
import errno
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from stickslip.interrupts import uninterrupted
from stickslip.io.load import load
from stickslip.io.stream import StreamWriter, save
from stickslip.trajectory import ImpactTable
from tests.io.trajectories import assert_same, finish, one_line, run_python, stream, trajectory


def test_a_trajectory_is_replaced_only_on_request(tmp_path):
    path = tmp_path / "run.nc"
    trajectory(seed=1).save(path)
    before = path.read_bytes()
    for write in (save, StreamWriter):
        arguments = (trajectory(), path) if write is save else (path, trajectory())
        with pytest.raises(ValueError, match=r"run\.nc exists; give overwrite=True") as error:
            write(*arguments)
        assert one_line(error) and path.read_bytes() == before
    trajectory(seed=2).save(path, overwrite=True)
    assert_same(load(path), trajectory(seed=2))


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *arguments: False)  # root may write everywhere, so chmod proves nothing
    with pytest.raises(ValueError, match="must lie in a folder you may write to"):
        save(trajectory(), tmp_path / "run.nc")
    monkeypatch.undo()
    monkeypatch.setattr(os, "open", refuse(errno.EROFS))
    with pytest.raises(OSError, match=r"run\.nc could not be written: Read-only file system") as error:
        save(trajectory(), tmp_path / "run.nc")
    assert error.value.errno == errno.EROFS and not list(tmp_path.iterdir())


def refuse(number):
    def call(*arguments, **keywords):
        raise OSError(number, os.strerror(number))

    return call


def test_a_link_stays_a_link_and_any_suffix_will_do(tmp_path):
    (tmp_path / "data").mkdir()
    save(trajectory(), tmp_path / "data" / "run")
    (tmp_path / "latest").symlink_to(tmp_path / "data" / "run")
    save(trajectory(seed=1), tmp_path / "latest", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert_same(load(tmp_path / "data" / "run"), trajectory(seed=1))
    save(trajectory(), tmp_path / ("x" * 255))
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "data" / "run").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.fixture
def old(tmp_path):
    """A folder with a saved trajectory, which has to survive."""
    save(trajectory(seed=9), tmp_path / "run.nc")
    yield tmp_path / "run.nc"
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    assert_same(load(tmp_path / "run.nc"), trajectory(seed=9))


@pytest.mark.parametrize("call", ["replace", "fsync", "ftruncate", "posix_fallocate", "pwrite"])
def test_a_failing_call_leaves_the_old_file_and_nothing_else(call, old, monkeypatch):
    if not hasattr(os, call):
        pytest.skip(f"no os.{call} here")
    monkeypatch.setattr(os, call, refuse(errno.ENOSPC))
    with pytest.raises(OSError, match=r"run\.nc could not be written: No space left on device; .*free some") as error:
        save(trajectory(), old, overwrite=True)
    assert one_line(error) and error.value.errno == errno.ENOSPC


def counted(function, at, action):
    """`function`, with `action` before its call number `at`."""
    calls = 0

    def call(*arguments):
        nonlocal calls
        calls += 1
        if calls == at:
            action()
        return function(*arguments)

    return call


def count_writes(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(os, "pwrite", lambda *a, write=os.pwrite: calls.append(1) or write(*a))
    save(trajectory(n=3000), tmp_path / "count.nc")
    monkeypatch.undo()
    (tmp_path / "count.nc").unlink()
    return len(calls)


SOME = pytest.mark.parametrize("moments", [6, pytest.param(30, marks=pytest.mark.slow)])


@SOME
def test_a_write_that_fails_anywhere(moments, old, tmp_path, monkeypatch):
    total = count_writes(monkeypatch, tmp_path)
    assert total > 30
    for at in range(1, total + 1, max(1, total // moments)):
        monkeypatch.setattr(os, "pwrite", counted(os.pwrite, at, refuse(errno.EIO)))
        with pytest.raises(OSError, match="could not be written: Input/output error"):
            save(trajectory(n=3000), old, overwrite=True)
        monkeypatch.undo()


@SOME
def test_ctrl_c_anywhere_in_a_save(moments, old, tmp_path, monkeypatch):
    total = count_writes(monkeypatch, tmp_path)
    kept = trajectory(n=3000)
    for at in range(1, total + 1, max(1, total // moments)):
        monkeypatch.setattr(os, "pwrite", counted(os.pwrite, at, lambda: signal.raise_signal(signal.SIGINT)))
        with pytest.raises(KeyboardInterrupt):
            save(kept, old, overwrite=True)
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        found = load(old)
        if found.certificate.failed_steps == 1 and len(found) == len(kept):  # it came after the last moment
            assert_same(found, kept)
            save(trajectory(seed=9), old, overwrite=True)


def test_a_trajectory_that_contradicts_itself_is_refused(old):
    with pytest.raises(ValueError, match=r"q must have shape \(40, 3\), one row per time, got \(39, 3\)"):
        save(dataclasses.replace(trajectory(), q=np.zeros((39, 3))), old, overwrite=True)
    with pytest.raises(ValueError, match="impact columns must be time, contact"):
        save(
            dataclasses.replace(trajectory(), impact_table=ImpactTable({"time": np.zeros(0)}, ())), old, overwrite=True
        )


def test_a_file_that_may_not_grow(tmp_path):
    # A limit that the kernel enforces, as a full disk is: HDF5 left alone prints pages and crashes on exit.
    output = run_python(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000))
        run = this.trajectory(n=20_000)
        try:
            this.save(run, sys.argv[1] + "/saved.nc")
        except OSError as error:
            print(error)
        writer = this.StreamWriter(sys.argv[1] + "/streamed.nc", run)
        try:
            this.stream(run, writer, 500)
        except OSError as error:
            print(error)
            print(writer.abort(status="the disk is full"))
        """,
        tmp_path,
    )
    assert output.count("could not be written: File too large") == 2
    assert [file.name for file in tmp_path.iterdir()] == ["streamed.nc"]
    kept, whole = load(tmp_path / "streamed.nc"), trajectory(n=20_000)
    assert 5000 <= len(kept) < 20_000 and not kept.complete and kept.status == "the disk is full"
    assert kept.q.tobytes() == whole.q[: len(kept)].tobytes()


def test_a_name_taken_meanwhile_keeps_both(tmp_path):
    run = trajectory()
    writer = StreamWriter(tmp_path / "run.nc", run)
    stream(run, writer, 10)
    save(trajectory(seed=3), tmp_path / "run.nc")
    with pytest.raises(ValueError, match=r"run\.nc exists; .* the run is kept in .*run\.nc\.part") as error:
        finish(run, writer)
    assert_same(load(tmp_path / "run.nc"), trajectory(seed=3))
    draft = tmp_path / "run.nc.part"
    assert str(draft) in str(error.value)
    assert_same(load(draft), run)


def test_room_is_reserved_without_the_system_call(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    run = trajectory(n=3000)
    writer = StreamWriter(tmp_path / "run.nc", run)
    stream(run, writer, 1000)
    finish(run, writer)
    assert_same(load(tmp_path / "run.nc"), run)
    assert (tmp_path / "run.nc").stat().st_size < 1.5 * 3072 * 130


def test_a_thread_can_save(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(save, trajectory(), tmp_path / "run.nc").result()
    assert_same(load(tmp_path / "run.nc"), trajectory())


def test_interrupts_are_held_back():
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["run.csv", "run.JSON", "run.png"])
def test_a_name_that_promises_another_format_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"would be a netCDF file: give a name that ends in .nc, got one with '\."):
        save(trajectory(), tmp_path / name)
    assert not list(tmp_path.iterdir())
