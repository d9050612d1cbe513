"""Files, interrupted sweeps, the command line and bad input."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.cli import main
from stickslip.ensembles import gpu, run
from stickslip.ensembles import parts as sweep_parts
from stickslip.ensembles.files import rectangles
from stickslip.ensembles.parts import parts_folder
from stickslip.ensembles.plan import plan_of
from stickslip.ensembles.store import InMemory
from tests.ensembles.cases import BALL
from tests.ensembles.test_members import balls

GRID = {"restitution": "0.2:0.9:5", "y": "0.5:1:4"}


# -- plans -----------------------------------------------------------------------------------------------------------


def test_a_grid_counts_with_the_last_axis_fastest():
    plan = plan_of(library.bouncing_ball(), {"restitution": "0:1:3", "y": [1, 2]})
    assert plan.axes == (("restitution", 3), ("y", 2)) and plan.size == 6
    members = plan.members(1, 5)
    assert members["restitution"].tolist() == [0.0, 0.5, 0.5, 1.0] and members["y"].tolist() == [2.0, 1.0, 2.0, 1.0]


def test_random_samples_depend_on_the_seed_alone():
    def draw(**options):
        plan = plan_of(
            library.bouncing_ball(), {"restitution": "uniform:0.2:0.4", "y": "normal:1:0.1"}, 1000, **options
        )
        return plan.members(0, 1000)

    first, again, other = draw(seed=1), draw(seed=1), draw(seed=2)
    assert np.array_equal(first["y"], again["y"]) and not np.array_equal(first["y"], other["y"])
    assert 0.2 <= first["restitution"].min() and first["restitution"].max() <= 0.4
    assert abs(first["y"].mean() - 1.0) < 0.02 and abs(first["y"].std() - 0.1) < 0.01


def test_samples_come_behind_grids_and_pairs_are_columns():
    plan = plan_of(library.bouncing_ball(), {"y": "normal:1:0.1", "restitution": "0.1,0.2"}, 3)
    assert plan.axes == (("restitution", 2), ("sample", 3))
    pairs = plan_of(library.bouncing_ball(), {"y": [1, 2, 3], "v": [4, 5, 6]}, paired=True)
    assert pairs.axes == (("sample", 3),) and pairs.members(1, 3)["v"].tolist() == [5.0, 6.0]
    assert np.allclose(plan_of(library.bouncing_ball(), {"y": "1:100:3:log"}).members(0, 3)["y"], [1, 10, 100])


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (1, 5, 1, 2)])
def test_rectangles_cover_any_range_of_members_once(shape):
    size = int(np.prod(shape))
    numbers = np.arange(size).reshape(shape)
    for first in range(size):
        for last in range(first, size + 1):
            found = [(numbers[index].ravel(), begin, end) for index, begin, end in rectangles(shape, first, last)]
            assert all(np.array_equal(part, np.arange(begin, end)) for part, begin, end in found)
            assert [x for part, _, _ in found for x in part] == list(range(first, last))


@pytest.mark.parametrize("to_file", [False, True])
def test_ctrl_c_after_the_last_chunk_ends_nothing(tmp_path, monkeypatch, to_file):
    """All members are there: the ensemble is returned, and its file is whole."""
    options = {"out": tmp_path / "a.nc"} if to_file else {}
    publish, put, calls = run._publish, type(run.InMemory(1, 1)).put, []

    def publishing(*arguments):
        signal.raise_signal(signal.SIGINT)
        result = publish(*arguments)
        signal.raise_signal(signal.SIGINT)
        calls.append("published")
        return result

    def keeping(self, *arguments):
        put(self, *arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(run, "_publish", publishing)
    if not to_file:
        monkeypatch.setattr(run.InMemory, "put", keeping)
    found = balls(GRID, **options)
    monkeypatch.undo()
    assert calls == ["published"] and found.dataset.identical(balls(GRID).dataset)
    assert not to_file or ss.load_ensemble(tmp_path / "a.nc").dataset.identical(found.dataset)


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_file_holds_what_was_returned(tmp_path):
    in_memory = balls(GRID)
    path = in_memory.save(tmp_path / "a.nc")
    streamed = balls(GRID, out=tmp_path / "b.nc", chunk=3)
    assert ss.load_ensemble(path).dataset.identical(in_memory.dataset)
    assert streamed.dataset.identical(in_memory.dataset)
    assert not parts_folder(tmp_path / "b.nc").exists()
    assert streamed["drop"].attrs["units"] == "m" and streamed["y"].attrs["units"] == "m"


def test_zarr_holds_the_same(tmp_path):
    """Where the package zarr is installed (extra `zarr`), what xarray writes is what was returned."""
    pytest.importorskip("zarr")
    import xarray as xr

    result = balls(GRID)
    result.to_xarray().to_zarr(tmp_path / "sweep.zarr")
    with xr.open_zarr(tmp_path / "sweep.zarr") as again:
        assert again.load().identical(result.dataset)


def test_the_bytes_of_a_file_do_not_depend_on_chunks(tmp_path):
    """Members enough for several blocks of HDF5, two steps each."""
    vary = {"restitution": "0.2:0.9:130", "y": "0.5:1:100"}
    files = []
    for chunk in (13_000, 999):
        files.append(tmp_path / f"{chunk}.nc")
        balls(vary, out=files[-1], chunk=chunk, t_end=2e-3)
    assert files[0].read_bytes() == files[1].read_bytes()


class Stopped(Exception):
    pass


def stop_after(monkeypatch, count):
    """End a sweep after some chunks, as a fault would."""
    advance = run.Cores.advance
    left = [count]

    def once_less(self, *arguments):
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        advance(self, *arguments)

    monkeypatch.setattr(run.Cores, "advance", once_less)


def test_a_sweep_goes_on_where_it_ended_and_gives_the_same_bytes(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole.nc", tmp_path / "broken.nc"
    balls(GRID, out=whole, chunk=7)
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(Stopped):
            balls(GRID, out=broken, chunk=3)
    assert not broken.exists()
    parts = sorted(parts_folder(broken).glob("*.npz"))
    assert len(parts) == 2
    parts[1].write_bytes(parts[1].read_bytes()[:100])  # a damaged chunk is computed again
    with pytest.raises(ValueError, match="unfinished ensemble; --resume"):
        balls(GRID, out=broken)
    with pytest.raises(ValueError, match="another ensemble"):
        balls({"restitution": "0.2:0.9:20"}, out=broken, resume=True)
    result = balls(GRID, out=broken, resume=True)
    assert broken.read_bytes() == whole.read_bytes()
    assert result.steps == 17 * 2000  # three of twenty members were kept
    again = balls(GRID, out=broken, resume=True)
    assert again.steps == 0 and again.dataset.identical(result.dataset)


def test_files_of_others_are_never_replaced(tmp_path):
    foreign = tmp_path / "mine.nc"
    foreign.write_text("notes")
    for options in ({}, {"overwrite": True}):
        with pytest.raises(ValueError, match="not a readable stickslip ensemble"):
            balls(GRID, out=foreign, **options)
    assert foreign.read_text() == "notes"
    with pytest.raises(ValueError, match="not an ensemble of ours"):
        ss.load_ensemble(foreign)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vary": {"restitutio": [1]}}, "unknown parameter 'restitutio'; did you mean 'restitution'"),
        ({"observe": ["perod"]}, "unknown observable 'perod'; did you mean 'period'"),
        ({"vary": {"restitution": "0:1"}}, "restitution cannot be read; write start:end:count"),
        ({"vary": {"restitution": "0:1:2.5"}}, "count of restitution must be a whole number"),
        ({"vary": {"restitution": "0:2:3"}}, "restitution_normal of contact 'table' must lie in"),
        ({"vary": {"y": [1.0, np.nan]}}, "y must be finite"),
        ({"vary": {"y": "0:1:1e13"}}, "do not fit into memory; split the range"),
        ({"vary": {"y": "uniform:0:1"}}, "say how often with samples"),
        ({"vary": {"y": [1, 2], "v": [1, 2, 3]}, "paired": True}, "equally many, got y 2, v 3"),
        ({"vary": {"y": np.arange(1, 1e6), "v": np.arange(1e5)}}, "do not fit into memory .* give --out"),
        ({"section": "w<0"}, "unknown coordinate or velocity 'w'"),
        ({"section": "impact:floor"}, "unknown contact 'floor'"),
        ({"section": "sometimes"}, "section cannot be read"),
        ({"travel": "x"}, "unknown coordinate 'x'"),
        ({"points": 0}, "points must be a whole number"),
        ({"skip": 5.0}, "skip must lie between 0 and t_end"),
        ({"device": "tpu"}, "device must be cpu, gpu, auto or dask:ADDRESS"),
        ({"threads": 0}, "threads must be a whole number >= 1"),
        ({"chunk": -1}, "chunk must be a whole number >= 1"),
        ({"resume": True}, "resume goes on with a file"),
        ({"stepper": "event-driven"}, "compiled steppers on velocity level"),
        ({"solver": "augmented-lagrangian"}, "has no compiled kernel"),
    ],
)
def test_bad_input_is_one_clear_line(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        balls(**{"vary": {"restitution": [0.5]}, **options})
    assert "\n" not in str(caught.value)


def test_without_a_gpu_it_says_so_and_auto_takes_the_cpu(monkeypatch):
    monkeypatch.setattr(gpu, "unavailable", lambda: "device 'gpu' finds no GPU to compute on (none).")
    monkeypatch.setattr(run, "unavailable", gpu.unavailable)
    with pytest.raises(ValueError, match="finds no GPU"):
        balls(device="gpu")
    assert balls(device="auto").device.startswith("cpu")


def test_systems_without_a_section_ask_for_one():
    with pytest.raises(ValueError, match="needs a section"):
        ss.ensemble(library.bouncing_ball(), {"y": [1.0]}, ["period"])


def test_missing_chunks_are_known():
    store = InMemory(10, 4)
    store.put((4, 8), {})
    assert store.missing() == [(0, 4), (8, 10)]


# -- command line ----------------------------------------------------------------------------------------------------

EVERYTHING = "period,drop,points,extremes,impacts,shares,final,energy"
COMMAND = ["sweep", "bouncing_ball", "--section", "v<0", "--travel", "y", "--points", "4", "--solver", "gauss-seidel"]


def test_sweep_prints_one_object(tmp_path, capsys):
    out, figure = tmp_path / "s.nc", tmp_path / "s.png"
    options = ["--vary", "y=-0.1,0.5,1", "--observe", EVERYTHING, "--out", str(out), "--plot", str(figure), "--json"]
    assert main([*COMMAND, *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["members"] == 3 and report["failed_members"] == 1 and "y = -0.1" in report["failed"][0]
    assert report["axes"] == {"y": 3} and report["steps"] == 3 * 2000 and report["observed"]["period"]["mean"] > 0.0
    assert figure.stat().st_size > 5000 and len(ss.load_ensemble(out)) == 3
    assert main([*COMMAND, *options]) == 2
    assert "(--overwrite) to replace it" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def interrupt(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(run.Cores, "advance", interrupt)
    options = ["--vary", "y=0.5,1", "--observe", EVERYTHING]
    assert main([*COMMAND, *options, "--out", str(tmp_path / "s.nc")]) == 130
    assert "the same command with --resume goes on" in capsys.readouterr().err
    assert main([*COMMAND, *options]) == 130
    assert "nothing is kept without --out" in capsys.readouterr().err


def test_sweep_shows_a_table_and_maps(tmp_path, capsys):
    figure = tmp_path / "map.svg"
    vary = ["--vary", "y=0.5:1:4", "--vary", "restitution=0.2:0.8:5"]
    assert main([*COMMAND, *vary, "--observe", EVERYTHING, "--plot", str(figure)]) == 0
    shown = capsys.readouterr().out
    assert "20 members: y 4 x restitution 5" in shown and "0 failed members" in shown and figure.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say what varies"),
        (["--vary", "y"], "--vary must read NAME=VALUES"),
        (["--vary", "y=1", "--vary", "y=2"], "given twice"),
        (["--vary", "y=1", "--out", "nowhere/s.nc"], "does not exist"),
        (["--vary", "y=1", "--plot", "s.txt"], "must end in .png"),
    ],
)
def test_wrong_commands_end_with_two(options, message, capsys):
    assert main([*COMMAND, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kill_minus_nine_and_resume_give_the_same_bytes(tmp_path):
    command = [sys.executable, "-m", "stickslip", *COMMAND, "--vary", "y=0.5:1:400", "--observe", EVERYTHING]
    command += ["--chunk", "5", "--dt", "1e-4", "--t-end", "20", "--quiet", "--threads", "1"]
    whole, killed = tmp_path / "whole.nc", tmp_path / "killed.nc"
    assert subprocess.run([*command, "--out", str(whole)]).returncode == 0
    process = subprocess.Popen([*command, "--out", str(killed)])
    while len(list(parts_folder(killed).glob("*.npz"))) < 10:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not killed.exists() and 10 <= len(list(parts_folder(killed).glob("*.npz"))) < 80
    assert subprocess.run([*command, "--out", str(killed), "--resume"]).returncode == 0
    assert killed.read_bytes() == whole.read_bytes()


def test_an_unreachable_scheduler_is_told(monkeypatch):
    pytest.importorskip("distributed")
    from stickslip.ensembles import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        balls(device="dask:tcp://127.0.0.1:9")
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at 'nonsense' \(missing port number") as caught:
        balls(device="dask:nonsense")
    assert "\n" not in str(caught.value)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and says nothing: a client would wait for ever
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ValueError, match=rf"no Dask scheduler answers at '{address}' \(TimeoutError"):
            balls(device=f"dask:{address}")


@pytest.mark.slow
def test_a_cluster_loses_a_worker_and_nothing_else(tmp_path):
    """10,000 members on two processes, of which one is killed half-way."""
    distributed = pytest.importorskip("distributed")
    from stickslip.ensembles import store

    vary, options = {"y": "0.5:1:100", "restitution": "0.2:0.8:100"}, {"t_end": 4.0, **BALL}
    observe = EVERYTHING.split(",")
    alone = ss.ensemble(library.bouncing_ball(), vary, observe, progress=False, **options)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        written = []
        put = store.InMemory.put

        def put_and_kill(self, chunk, values):
            written.append(chunk)
            put(self, chunk, values)
            if len(written) == 25:
                os.kill(pids[0], signal.SIGKILL)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store.InMemory, "put", put_and_kill)
            together = ss.ensemble(
                library.bouncing_ball(), vary, observe, device=f"dask:{cluster.scheduler_address}", chunk=200,
                progress=False, **options,
            )  # fmt: skip
        assert pids[0] not in client.run(os.getpid).values()
    assert len(written) == 50 and together.dataset.identical(alone.dataset)


def test_a_sweep_that_was_killed_before_its_first_file_begins_anew(tmp_path):
    """A folder that is empty, or holds only a draft, is neither an ensemble nor somebody else's folder."""
    folder = sweep_parts.parts_folder(tmp_path / "sweep.nc")
    assert not sweep_parts.begun(folder)
    folder.mkdir()
    (folder / ".stickslip-0123456789abcdef.json").write_text("{")
    assert not sweep_parts.begun(folder)
    store = sweep_parts.InFolder.begin(folder, 4, 2, "mine")
    assert sweep_parts.begun(folder) and [part.name for part in folder.iterdir()] == ["sweep.json"]
    store.discard()
    assert not folder.exists()
    folder.write_text("a file of somebody else")
    assert sweep_parts.begun(folder)
    with pytest.raises(ValueError, match="is no unfinished ensemble of ours"):
        sweep_parts.discard_folder(folder)
