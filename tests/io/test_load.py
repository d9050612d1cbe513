"""Reading: bit for bit what was written, or one line that says what is wrong with the file."""

import os

import h5py
import numpy as np
import pytest
import xarray as xr

from stickslip.io.load import is_trajectory, load
from stickslip.io.stream import save
from tests.io.trajectories import CASES, assert_same, assert_same_array, one_line, run_python, trajectory


@pytest.mark.parametrize("case", CASES)
def test_round_trip_is_exact(case, tmp_path):
    run = trajectory(**CASES[case])
    path = tmp_path / "run.nc"
    assert save(run, str(path)) == path
    assert_same(load(path), run)
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


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
        for _ in range(80):
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
    assert 20 < int(output) <= 80


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


@pytest.mark.parametrize("act", [lambda run: run.save(5), lambda run: load(5), lambda run: load(None)])
def test_a_path_must_be_a_name(act):
    with pytest.raises(ValueError, match="path must be the name of a file, got"):
        act(trajectory())
