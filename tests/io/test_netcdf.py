"""Saved and streamed trajectories: bit for bit, all or nothing, and one clear line when that cannot be."""

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
import xarray as xr

from stickslip.interrupts import uninterrupted
from stickslip.io import digests, disk
from stickslip.io.load import is_trajectory, load
from stickslip.io.stream import StreamWriter, save
from stickslip.io.trajectory_layout import to_dataset
from stickslip.trajectory import IMPACT_COLUMNS, Certificate, Energies, ImpactTable, Trajectory


def trajectory(n=40, coordinates=("x", "phi_S", "phi_M"), contacts=("beak", "sleeve"), impacts=7, seed=0, **changes):
    """A trajectory of random numbers, with everything in it that could get lost."""
    random = np.random.default_rng(seed)
    f, c = len(coordinates), len(contacts)
    columns = {key: random.normal(size=impacts) for key in IMPACT_COLUMNS}
    columns["contact"] = random.integers(0, max(c, 1), impacts)
    run = Trajectory(
        t=np.linspace(0.0, 1.0, n),
        q=random.normal(size=(n, f)),
        u=random.normal(size=(n, f)),
        gap=random.normal(size=(n, c)),
        normal_impulse=random.random((n, c)),
        tangential_impulse=random.normal(size=(n, c)),
        contact_state=random.integers(0, 6, (n, c)).astype(np.int8),
        energy=Energies(random.random(n), random.normal(size=n)),
        certificate=Certificate(1, 1.5e-11, 8.8e-7, 0.1 + 0.2, 6, 12),
        impact_table=ImpactTable(columns, tuple(contacts)),
        system_name="woodpecker",
        coordinate_names=tuple(coordinates),
        velocity_names=tuple(f"u_{name}" for name in coordinates),
        contact_names=tuple(contacts),
        contact_kinds=tuple(i % 4 for i in range(c)),
        parameters={"mass": 0.1 + 0.2, "friction": 0.3, "tiny": 5e-324},
        units={coordinates[0]: "m", f"u_{coordinates[0]}": "m/s", "mass": "kg"},
        dt=1e-4,
        every=3,
        steps=3 * (n - 1),
        stepper="moreau-midpoint",
        solver="auto",
        engine="compiled",
        wall_s=0.123,
        version="0.0.1",
        attributes={"title": "The toy", "source": "GS05"},
    )
    return dataclasses.replace(run, **changes)


def assert_same(a, b):
    """Equal in every bit, every type and every field."""
    for field in dataclasses.fields(Trajectory):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, np.ndarray):
            assert_same_array(x, y)
        elif isinstance(x, Energies):
            assert_same_array(x.kinetic, y.kinetic)
            assert_same_array(x.potential, y.potential)
        elif isinstance(x, ImpactTable):
            assert x.names == y.names and list(x.columns) == list(y.columns)
            for key in x.columns:
                assert_same_array(x[key], y[key])
        else:
            assert type(x) is type(y) and repr(x) == repr(y), field.name


def assert_same_array(x, y):
    assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def records(run, part=slice(None)):
    return {
        "t": run.t[part],
        "q": run.q[part],
        "u": run.u[part],
        "normal_impulse": run.normal_impulse[part],
        "tangential_impulse": run.tangential_impulse[part],
        "contact_state": run.contact_state[part],
        "gap": run.gap[part],
        "kinetic": run.energy.kinetic[part],
        "potential": run.energy.potential[part],
    }


def stream(run, writer, block):
    for begin in range(0, len(run), block):
        writer.append(**records(run, slice(begin, begin + block)))
    for row in range(len(run.impact_table)):
        writer.append_impacts({key: values[row : row + 1] for key, values in run.impact_table.columns.items()})


def finish(run, writer):
    return writer.close(run.certificate, run.status, run.complete, run.steps, run.wall_s)


def one_line(error):
    return "\n" not in str(error.value)


SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308])
CASES = {
    "plain": {},
    "no contacts": {"contacts": (), "impacts": 0},
    "no impacts": {"impacts": 0},
    "one record": {"n": 1},
    "one of each": {"n": 1, "coordinates": ("x",), "contacts": ("floor",), "impacts": 1},
    "several chunks": {"n": 2500, "impacts": 200},
    "unknown potential": {"n": 3, "energy": Energies(np.ones(3), np.full(3, np.nan))},
    "special numbers": {"n": 8, "t": SPECIAL, "energy": Energies(SPECIAL, SPECIAL[::-1].copy())},
    "unicode": {
        "coordinates": ("φ", "", "a/b c"),
        "contacts": ("Käfer 🪲", "x" * 300),
        "system_name": "Спехт",
        "attributes": {"title": "δ < 0\n", "note": "\ud800 \0"},
        "parameters": {"µ": 0.3},
    },
    "failed": {"status": "failed at t = 0.132 s\nwith 3 closed contacts", "complete": False},
    "nothing but names": {"attributes": {}, "parameters": {}, "units": {}, "version": "", "stepper": ""},
    "strange certificate": {"certificate": Certificate(0, float("nan"), float("inf"), -0.0, 0, 2**40)},
    "wide": {"n": 5, "coordinates": tuple(f"q{i}" for i in range(40000)), "contacts": (), "impacts": 0},
    "long texts": {"parameters": {f"parameter {i}": i / 7 for i in range(9000)}, "status": "x" * 100_000},
}


@pytest.mark.parametrize("case", CASES)
def test_round_trip_is_exact(case, tmp_path):
    run = trajectory(**CASES[case])
    path = tmp_path / "run.nc"
    assert save(run, str(path)) == path
    assert_same(load(path), run)
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("block", [3, 5000])
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


@pytest.mark.parametrize("case", ["plain", "no contacts", "one record", "unicode", "unknown potential"])
def test_xarray_opens_what_to_dataset_gives(case, tmp_path):
    run = trajectory(**CASES[case])
    save(run, tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        assert dict(dataset.sizes) == dict(to_dataset(run).sizes)
        xr.testing.assert_identical(dataset.load(), to_dataset(run))


def test_dataset_describes_itself():
    run = trajectory(coordinates=("x", "phi"), contacts=("beak", "sleeve"))
    dataset = run.to_xarray()
    assert set(dataset.sizes) == {"time", "coordinate", "velocity", "contact", "impact"}
    assert dataset.q.sel(coordinate="phi").values.tobytes() == run.q[:, 1].tobytes()
    assert dataset.coordinate_units.values.tolist() == ["m", ""] and dataset.velocity_units.values[0] == "m/s"
    assert dataset.contact_kind.values.tolist() == ["contact", "clutch"]
    assert dataset.contact_state.attrs["flag_meanings"] == "open stick slip+ slip- impact closed"
    assert dataset.contact_state.attrs["flag_values"].tolist() == [0, 1, 2, 3, 4, 5]
    assert dataset.gap.units == "m" and dataset.normal_impulse.units == "N s" and dataset.time.units == "s"
    assert all("long_name" in variable.attrs for variable in dataset.variables.values())
    attrs = dataset.attrs
    assert attrs["Conventions"] == "CF-1.11" and attrs["title"] == "The toy" and attrs["system"] == "woodpecker"
    assert (attrs["stickslip_format"], attrs["stickslip_format_version"]) == ("trajectory", 1)
    assert attrs["certificate_max_penetration"] == 8.8e-7 and attrs["certificate_fallbacks"] == 12
    assert '"friction": 0.3' in attrs["parameters"] and attrs["dt"] == 1e-4 and attrs["complete"] == 1


# -- existing files --------------------------------------------------------------------------------------------------


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


def foreign_files(folder):
    (folder / "notes.txt").write_text("my notes")
    (folder / "empty.nc").touch()
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(folder / "other.nc", engine="h5netcdf")
    with h5py.File(folder / "sweep.nc", "w") as file:
        file.attrs["stickslip_format"] = "sweep"
    save(trajectory(), folder / "cut.nc")
    (folder / "cut.nc").write_bytes((folder / "cut.nc").read_bytes()[:5000])
    return sorted(folder.iterdir())


def test_a_foreign_file_is_never_replaced_and_never_loaded(tmp_path):
    for path in foreign_files(tmp_path):
        before = path.read_bytes()
        assert not is_trajectory(path)
        with pytest.raises(ValueError, match=f"{path.name} exists and is not a readable stickslip trajectory") as error:
            save(trajectory(), path, overwrite=True)
        assert one_line(error)
        with pytest.raises(ValueError, match=f"{path.name} (is not a stickslip trajectory|is damaged)") as error:
            load(path)
        assert one_line(error)
        assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 5


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path: ("is a folder", "is a folder"),
        tmp_path / "none" / "run.nc": ("must lie in a folder that exists", "does not exist"),
        tmp_path / "pipe": ("is not a readable stickslip trajectory", None),
    }
    for path, (on_save, on_load) in cases.items():
        assert not is_trajectory(path)
        with pytest.raises(ValueError, match=on_save) as error:
            save(trajectory(), path, overwrite=True)
        assert one_line(error) and str(path) in str(error.value)
        if on_load:
            with pytest.raises(ValueError, match=on_load) as error:
                load(path)
            assert one_line(error) and str(path) in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


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


# -- all or nothing --------------------------------------------------------------------------------------------------


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


def test_a_write_that_fails_anywhere(old, tmp_path, monkeypatch):
    total = count_writes(monkeypatch, tmp_path)
    assert total > 30
    for at in range(1, total + 1, max(1, total // 15)):
        monkeypatch.setattr(os, "pwrite", counted(os.pwrite, at, refuse(errno.EIO)))
        with pytest.raises(OSError, match="could not be written: Input/output error"):
            save(trajectory(n=3000), old, overwrite=True)
        monkeypatch.undo()


def test_ctrl_c_anywhere_in_a_save(old, tmp_path, monkeypatch):
    total = count_writes(monkeypatch, tmp_path)
    kept = trajectory(n=3000)
    for at in range(1, total + 1, max(1, total // 15)):
        monkeypatch.setattr(os, "pwrite", counted(os.pwrite, at, lambda: signal.raise_signal(signal.SIGINT)))
        with pytest.raises(KeyboardInterrupt):
            save(kept, old, overwrite=True)
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if load(old).certificate.failed_steps == 1 and len(load(old)) == len(kept):  # it came after the last moment
            assert_same(load(old), kept)
            save(trajectory(seed=9), old, overwrite=True)


def test_a_trajectory_that_contradicts_itself_is_refused(old):
    with pytest.raises(ValueError, match=r"q must have shape \(40, 3\), one row per time, got \(39, 3\)"):
        save(dataclasses.replace(trajectory(), q=np.zeros((39, 3))), old, overwrite=True)
    with pytest.raises(ValueError, match="impact columns must be time, contact"):
        save(
            dataclasses.replace(trajectory(), impact_table=ImpactTable({"time": np.zeros(0)}, ())), old, overwrite=True
        )


def run_python(code, *arguments, timeout=300):
    """Run a script beside this module in a process of its own, which may crash or hang without us."""
    header = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_netcdf as this\n"
    command = [sys.executable, "-c", header + textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr[-2000:])
    return done.stdout


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


# -- damaged files ---------------------------------------------------------------------------------------------------


def test_a_truncated_file_at_any_length(tmp_path):
    save(trajectory(n=300), tmp_path / "run.nc")
    content = (tmp_path / "run.nc").read_bytes()
    lengths = [0, 1, 7, 8, 48, *(len(content) * i // 20 for i in range(1, 20)), len(content) - 1]
    for length in lengths:
        path = tmp_path / f"{length}.nc"
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=f"{length}.nc is (damaged|not a stickslip trajectory)") as error:
            load(path)
        assert one_line(error) and not is_trajectory(path)


def test_flipped_bytes_are_noticed(tmp_path):
    save(trajectory(n=30), tmp_path / "run.nc")
    output = run_python(
        """
        import random
        from pathlib import Path
        path = Path(sys.argv[1])
        content, original = path.read_bytes(), this.load(path)
        random.seed(5)
        refused = 0
        for _ in range(200):
            damaged = bytearray(content)
            for _ in range(random.choice((1, 1, 1, 20))):
                damaged[random.randrange(len(damaged))] ^= random.randrange(1, 256)
            path.write_bytes(damaged)
            try:
                run = this.load(path)
            except ValueError as error:
                refused += 1
                assert str(path) in str(error) and "\\n" not in str(error), error
            else:  # the damage was in room that is not used
                this.assert_same(run, original)
        print(refused)
        """,
        tmp_path / "run.nc",
        timeout=120,
    )
    assert 50 < int(output) <= 200


def edited(path, change):
    save(trajectory(), path, overwrite=True)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("KeyError|q", lambda file: file.__delitem__("q")),
        ("entries along time", lambda file: file["u"].resize(10, axis=0)),
        ("less data than its size", lambda file: file["time"].resize(2**40, axis=0)),
        ("outside 0 .. 5", lambda file: file["contact_state"].__setitem__((3, 1), 9)),
        ("outside 0 .. 1", lambda file: file["impact_contact"].__setitem__(0, -1)),
        ("names and values expected", lambda file: file.attrs.__setitem__("parameters", "[1]")),
        ("Expecting", lambda file: file.attrs.__setitem__("units", "{")),
        ("text expected", lambda file: file.attrs.__setitem__("status", 5)),
        ("unknown kind 'clutter'", lambda file: file["contact_kind"].__setitem__(1, np.array([*"clutter"], "S1"))),
    ],
)
def test_a_file_that_contradicts_itself(reason, change, tmp_path):
    with pytest.raises(ValueError, match=rf"run\.nc is damaged and cannot be loaded \(.*({reason})") as error:
        load(edited(tmp_path / "run.nc", change))
    assert one_line(error)


def test_a_newer_format_asks_for_an_update(tmp_path):
    path = edited(tmp_path / "run.nc", lambda file: file.attrs.__setitem__("stickslip_format_version", 2))
    assert is_trajectory(path)
    with pytest.raises(ValueError, match=r"has format version 2, written by stickslip 0\.0\.1.*update stickslip"):
        load(path)


def test_a_file_that_went_through_xarray_loads(tmp_path):
    save(trajectory(n=50), tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        part = dataset.isel(time=slice(10, 20)).load()
    part.to_netcdf(tmp_path / "part.nc", engine="h5netcdf", encoding={"q": {"zlib": True}})
    assert_same_array(load(tmp_path / "part.nc").q, np.ascontiguousarray(trajectory(n=50).q[10:20]))


# -- streaming -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("total", [300_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_streaming_takes_no_more_memory_the_longer_it_runs(total, tmp_path):
    written, growth = run_python(GROWTH, tmp_path / "run.nc", total).split()
    assert (tmp_path / "run.nc").stat().st_size > 100 * total
    assert float(growth) < 8  # MiB, of a file of 30 or 230
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        assert dataset.sizes["time"] == int(written) >= total


@pytest.mark.parametrize("act", [lambda run: run.save(5), lambda run: load(5), lambda run: load(None)])
def test_a_path_must_be_a_name(act):
    with pytest.raises(ValueError, match="path must be the name of a file, got"):
        act(trajectory())
