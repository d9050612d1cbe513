"""Runs that are killed leave a file that opens; resumed, they end like runs without a stop, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import stickslip as ss
from stickslip.io import disk
from stickslip.io import load as loading
from stickslip.io.load import load
from stickslip.io.stream import StreamWriter
from stickslip.mechanisms.engines import MechanismEngine, Reference
from stickslip.run import driver, records

ARRAYS = ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state")


class Killed(BaseException):
    """Stands for the end of the process."""


def assert_same(first, second):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    assert first.certificate == second.certificate
    for column in first.impacts().columns:
        np.testing.assert_array_equal(first.impacts()[column], second.impacts()[column], err_msg=column)
    assert (first.status, first.complete, first.steps) == (second.status, second.complete, second.steps)


@pytest.fixture
def killed_after(monkeypatch):
    """Let a run end like one that was killed after a number of pieces, with a checkpoint after each piece."""
    monkeypatch.setattr(records, "CHECKPOINT_SECONDS", 0.0)

    def killed_after(pieces, run):
        left = [pieces]

        def checkpoint(self):
            records.Store.checkpoint(self)
            left[0] -= 1
            if left[0] == 0:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(records.Store, "checkpoint_now_and_then", checkpoint)
            patch.setattr(records.Store, "rescue", lambda self, wall, problem: self.writer.release())
            with pytest.raises(Killed):
                run()

    return killed_after


def ball(path=None, t_end=0.9, **options):
    return ss.library.bouncing_ball().simulate(t_end=t_end, engine="reference", out=path, **options)


def test_a_killed_run_goes_on_to_the_same_end(tmp_path, killed_after):
    path, part = tmp_path / "run.nc", tmp_path / "run.nc.part"
    expected = ball()
    killed_after(3, lambda: ball(path))
    left = load(part)
    assert not left.complete and left.status.startswith("running: safe up to t = ") and 1 < len(left) < len(expected)
    np.testing.assert_array_equal(left.q, expected.q[: len(left)])
    with pytest.raises(ValueError, match="cut short; go on with it"):
        ball(path)
    assert_same(ball(path, resume=True), expected)
    assert_same(load(path), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


def test_a_finished_run_is_returned_and_can_be_made_longer(tmp_path):
    path = tmp_path / "run.nc"
    short = ball(path, t_end=0.5, every=7)
    assert_same(ball(path, t_end=0.5, every=7, resume=True), short)
    assert_same(ball(path, every=7, resume=True), ball(every=7))
    with pytest.raises(ValueError, match=r"is at t = 0\.9 s already; give a later t_end"):
        ball(path, t_end=0.3, every=7, resume=True)
    assert_same(load(path), ball(every=7))


def test_the_clock_of_a_run_that_goes_on_leaves_out_the_compilation(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    monkeypatch.setattr(Reference, "warm_up", lambda *_: time.sleep(0.4))
    before = ball(path, t_end=0.02)
    after = ball(path, t_end=0.04, resume=True)
    assert before.wall_s < after.wall_s < 0.4 and load(path).wall_s == after.wall_s


def test_another_run_does_not_go_on_with_it(tmp_path, killed_after):
    path = tmp_path / "run.nc"
    killed_after(2, lambda: ball(path))
    for change, word in (({"dt": 5e-4}, "dt"), ({"params": {"g": 9.8}}, "parameters"), ({"every": 2}, "every")):
        with pytest.raises(ValueError, match=f"cannot go on, because its {word} ha(s|ve) changed"):
            ball(path, resume=True, **change)
    assert_same(ball(path, resume=True), ball())


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    original, calls = records.Store.take, []

    def take(self, block):
        original(self, block)
        calls.append(block)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records.Store, "take", take)
        half = ball(path, every=7)
    assert half.status.startswith("interrupted at t = ") and load(path).status == half.status
    assert_same(ball(path, every=7, resume=True), ball(every=7))


def test_a_scene_goes_on(tmp_path, killed_after):
    """Contacts, islands and the impulses of the last step are taken up as they were."""

    def run(path=None, **options):
        return ss.library.get("billiards").simulate(t_end=0.2, out=path, **options)

    path = tmp_path / "run.nc"
    killed_after(2, lambda: run(path))
    assert 1 < len(load(tmp_path / "run.nc.part")) < len(run())
    assert_same(run(path, resume=True), run())


CHOOSING = {
    "impacts that accumulate": ("bouncing_ball", {"stepper": "event-driven", "dt": 1e-3, "t_end": 1.5}),
    "stick and slip": ("block_on_belt", {"stepper": "event-driven", "dt": 0.01, "t_end": 25.0, "every": 3}),
    "steps between records": ("bouncing_ball", {"stepper": ss.Adaptive(rtol=1e-4), "dt": 1e-3, "t_end": 0.8}),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if "accumulate" in case else case for case in CHOOSING]
)
def test_methods_that_choose_their_steps_go_on(case, tmp_path, killed_after, monkeypatch):
    """Integrator, mode and indicators, or step size and barrier, are taken up in the middle of an arc."""
    name, options = CHOOSING[case]
    engine = {"engine": "reference"} if isinstance(options["stepper"], ss.Adaptive) else {}
    monkeypatch.setattr(driver, "_PIECE_SECONDS", 0.0)  # a piece of 200 records, then ever smaller ones
    monkeypatch.setattr(MechanismEngine, "first_piece", 200)

    def run(path=None, **more):
        return getattr(ss.library, name)().simulate(out=path, **{**options, **engine, **more})

    path, expected = tmp_path / "run.nc", run()
    for pieces in (1, 3, 1):
        killed_after(pieces, lambda: run(path, resume=True))
        part = load(tmp_path / "run.nc.part")
        assert 1 < len(part) < len(expected) and not part.events().exact  # they are listed when the run has ended
    monkeypatch.undo()
    found = run(path, resume=True)
    assert_same(found, expected)
    assert str(load(path).events()) == str(found.events()) == str(expected.events())
    resumed = found.attributes["resumed"]
    assert found.attributes == {**expected.attributes, "resumed": resumed} and resumed.startswith("from t = ")
    with pytest.raises(ValueError, match="its t_end has changed"):
        run(path, resume=True, t_end=2 * options["t_end"])


def test_a_scene_with_friction_laws_goes_on(tmp_path, killed_after):
    """Which contacts stick is remembered with the point of the body that does."""

    def run(path=None, kinetic=0.2, **options):
        scene = ss.Scene(dim=2, gravity=9.81)
        scene.add_static(ss.HalfPlane(normal=(0.0, 1.0)))
        law = ss.TwoCoefficient(static=0.5, kinetic=kinetic)
        block = scene.add_body(
            ss.Polygon([(-0.1, 0.0), (0.1, 0.0), (0.1, 0.1), (-0.1, 0.1)]), mass=1.0, position=(0.0, 0.05), friction=law
        )
        scene.add_spring(None, block, at_a=(-1.0, 0.05), at_b=(-0.1, 0.05), stiffness=30.0, length=0.4)
        return scene.simulate(dt=5e-3, t_end=0.5, out=path, **options)

    path, expected = tmp_path / "run.nc", run()
    assert len(set(expected.contact_state.ravel().tolist())) > 1
    killed_after(2, lambda: run(path))
    assert 1 < len(load(tmp_path / "run.nc.part")) < len(expected)
    with pytest.raises(ValueError, match="its friction has changed"):
        run(path, kinetic=0.3, resume=True)
    assert_same(run(path, resume=True), expected)


def test_a_scene_goes_on_with_its_own_functions_alone(tmp_path, killed_after):
    """Forces and motions that are functions decide a motion with all that they use."""

    def run(path=None, push=1.0, speed=0.1, **options):
        scene = ss.Scene(dim=2)
        scene.add_driven(ss.Circle(0.5), position=(0.0, 0.0), motion=lambda t: ((speed * t, 0.0), 0.0))
        ball = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.01, 0.62))
        scene.add_force(ball, force=lambda t, position, velocity: (push * t, 0.0))
        return scene.simulate(dt=5e-3, t_end=0.2, out=path, **options)

    path, expected = tmp_path / "run.nc", run()
    killed_after(2, lambda: run(path))
    for changed in ({"push": 30.0}, {"speed": 3.0}):
        with pytest.raises(ValueError, match="its functions have changed"):
            run(path, resume=True, **changed)
    assert_same(run(path, resume=True), expected)


def test_a_run_of_another_version_says_so(tmp_path, killed_after, monkeypatch):
    path = tmp_path / "run.nc"
    killed_after(2, lambda: ball(path))
    monkeypatch.setattr("stickslip.run.simulate.sources_hash", lambda: "0123456789")
    with pytest.raises(
        ValueError, match=r"because another version of stickslip began it: .* finish it with that version"
    ):
        ball(path, resume=True)


def test_two_processes_do_not_write_one_file(tmp_path):
    header = ball(t_end=0.01)
    writer = StreamWriter(tmp_path / "run.nc", header)
    program = (
        "import sys, stickslip as ss\n"
        "try: ss.library.bouncing_ball().simulate(t_end=0.01, engine='reference', out=sys.argv[1], overwrite=True)\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "run.nc"], capture_output=True, text=True)
    assert "is being written by another process" in done.stdout, done.stderr
    writer.discard()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("moment", ["in the middle", "at the end"])
def test_a_folder_that_vanishes_is_told_as_such(moment, tmp_path, monkeypatch):
    """A folder that vanishes like a network drive: the descriptor still writes, and the name leads nowhere."""
    folder, elsewhere = tmp_path / "drive", tmp_path / "elsewhere"
    folder.mkdir()
    part = folder / "run.nc.part"

    def vanish(self, *arguments, original):
        if folder.exists():
            folder.rename(elsewhere)
        return original(self, *arguments)

    name = "checkpoint_now_and_then" if moment == "in the middle" else "finish"
    original = records.Store.checkpoint if moment == "in the middle" else records.Store.finish
    monkeypatch.setattr(records.Store, name, lambda self, *arguments: vanish(self, *arguments, original=original))
    with pytest.raises(OSError, match=f"could not be written: No such file or directory; {part} has gone, with its"):
        ball(folder / "run.nc")
    kept = load(elsewhere / "run.nc.part")
    assert kept.status.startswith("running: safe up to t = ")  # what was committed before lies where the drive is


# -- at every moment ---------------------------------------------------------------------------------------------------

CHANGES = ("pwrite", "fsync", "ftruncate", "posix_fallocate", "rename", "replace", "link")


@pytest.mark.parametrize("every", [30, pytest.param(1, marks=pytest.mark.slow)])
def test_every_moment_leaves_a_file_that_opens(every, tmp_path, monkeypatch):
    """The folder is copied after every system call that changes it: each copy is what a kill would have left.

    Of some hundred copies every thirtieth is opened, or every one.
    """
    folder, copies = tmp_path / "run", []
    folder.mkdir()
    path = folder / "run.nc"
    monkeypatch.setattr(records, "CHECKPOINT_SECONDS", 0.0)

    def watched(name):
        original = getattr(os, name)

        def call(*arguments):
            result = original(*arguments)
            copy = tmp_path / f"copy{len(copies)}"
            shutil.copytree(folder, copy)
            copies.append(copy)
            return result

        return call

    with monkeypatch.context() as patch:
        for name in CHANGES:
            if hasattr(os, name):
                patch.setattr(os, name, watched(name))
        patch.setattr(records.Store, "checkpoint_now_and_then", records.Store.checkpoint)
        expected = ball(path, t_end=0.4)
    assert len(copies) > 100
    lengths = []
    for copy in reversed(copies[::-every]):  # the last one with them
        found = copy / ("run.nc" if (copy / "run.nc").exists() else "run.nc.part")
        if not found.exists():  # before its first moment
            assert not lengths
            continue
        kept = load(found)
        lengths.append(len(kept))
        np.testing.assert_array_equal(kept.q, expected.q[: len(kept)])
    assert lengths == sorted(lengths) and lengths[-1] == len(expected)
    for copy in copies[len(copies) // 3 :: len(copies) // 4]:
        assert_same(ball(copy / "run.nc", t_end=0.4, resume=True), expected)


def test_a_commit_cut_short_is_finished_by_whoever_opens_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 10_000)
    descriptor = os.open(path, os.O_RDWR)
    file = disk.Disk(descriptor, 10_000)
    file.seek(5000)
    file.write(b"b" * 100)
    file.seek(9990)
    file.write(b"c" * 100)
    assert path.read_bytes() == b"a" * 10_000  # the last commit stays as it is
    file.seek(4990)
    assert file.read(20) == b"a" * 10 + b"b" * 10
    unlink = type(path).unlink
    try:
        type(path).unlink = lambda self, **_: (_ for _ in ()).throw(Killed)
        with pytest.raises(Killed):
            file.commit(path)
    finally:
        type(path).unlink = unlink
    file.close()
    path.write_bytes(b"a" * 12_288)  # as if nothing of the journal had reached the file
    disk.recover(path)
    assert path.read_bytes()[:10_090] == b"a" * 5000 + b"b" * 100 + b"a" * 4890 + b"c" * 100
    assert not disk.journal_of(path).exists()
    disk.journal_of(path).write_bytes(b"not a journal")
    disk.recover(path)
    assert not disk.journal_of(path).exists() and path.read_bytes()[:5000] == b"a" * 5000


def test_a_commit_during_the_reading_starts_it_anew(tmp_path, monkeypatch):
    """A reader that meets a commit half-way has seen two states of the file, even if it read without an error."""
    path = tmp_path / "run.nc"
    whole = ss.library.bouncing_ball().simulate(dt=1e-2, t_end=0.1, engine="reference")
    whole.save(path)
    read, seen = loading._read_trajectory, []

    def disturbed(file):
        seen.append(len(seen))
        if len(seen) <= 2:
            os.utime(path, ns=(len(seen), len(seen)))
        if len(seen) == 1:
            raise OSError("torn")
        return read(file)

    monkeypatch.setattr(loading, "_read_trajectory", disturbed)
    assert_same(load(path), whole)
    assert len(seen) == 3


# -- processes ---------------------------------------------------------------------------------------------------------


PROGRAM = """
import sys
from stickslip.cli import main
from stickslip.run import records
records.CHECKPOINT_SECONDS = float(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


def start(path, t_end, seconds=10.0):
    """A run of the woodpecker in a process of its own, with a checkpoint every so many seconds."""
    run = ["run", "woodpecker", "--t-end", str(t_end), "--every", "1000", "--out", str(path), "--resume", "--json"]
    command = [sys.executable, "-c", PROGRAM, str(seconds), *run]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def wait_for_a_commit(process, part):
    """Until a run has gone further than its file, or has ended; on a busy machine its start alone takes seconds."""

    def steps():
        try:
            return load(part).steps
        except ValueError:  # it does not exist yet, or the run has just ended
            return 0

    before = steps()
    while process.poll() is None and steps() <= before:
        time.sleep(0.05)


@pytest.mark.slow
def test_kill_9_many_times(tmp_path):
    """A run of 2e8 steps, killed at random moments again and again, ends as one that was left alone."""
    t_end, generator, kills = 20_000.0, np.random.default_rng(1), 0
    path, part = tmp_path / "run.nc", tmp_path / "run.nc.part"
    while True:
        process = start(path, t_end, seconds=0.2)
        if generator.random() < 0.8:  # else it is killed wherever it is, which may be before the first step
            wait_for_a_commit(process, part)
        try:
            text, _ = process.communicate(timeout=float(generator.uniform(0.0, 0.3)))
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        if part.exists():
            load(part)
        assert kills < 300
    report = json.loads(text)
    undisturbed = json.loads(start(tmp_path / "other.nc", t_end).communicate()[0])
    for key in ("final", "certificate", "impacts", "energy_book", "records"):
        assert report[key] == undisturbed[key], key
    assert_same(load(path), load(tmp_path / "other.nc"))
    assert kills > 5  # on a busy machine a process comes further between two commits that are seen
    print(f"{kills} kills")


@pytest.mark.slow  # `tests/run/test_signals.py` kills runs at random moments by default
def test_kill_9_once(tmp_path):
    path, part = tmp_path / "run.nc", tmp_path / "run.nc.part"
    process = start(path, 1e6)
    begin = time.monotonic()
    try:
        while (
            not (part.exists() and load(part).status.startswith("running: safe")) and time.monotonic() - begin < 120.0
        ):
            time.sleep(0.1)  # it opens at any moment, the first ones without a record
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL and not path.exists()
    left = load(part)
    assert left.system_name == "woodpecker" and not left.complete and len(left) >= 1
