"""What other programs do to the files of a run under way: the run says so, and nothing of theirs is touched."""

import os
import resource

import pytest

import stickslip as ss
from stickslip.engine import Engine
from stickslip.io import disk, load
from stickslip.run import driver, records
from tests.run.signalled import differences
from tests.thinned import FULL, thinned

OPTIONS = {"engine": "reference", "dt": 2e-2, "t_end": 0.7, "every": 2}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run to a file with a checkpoint every few steps; call `act` in the middle of the run."""
    monkeypatch.setattr(records, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(driver, "_PIECE_SECONDS", 0.0)
    monkeypatch.setattr(Engine, "first_piece", 4)
    ball, file = ss.library.bouncing_ball(), tmp_path / "run.nc"

    def run(act=lambda: None, **more):
        left = [act]

        def progress(step):
            if step >= 16 and left:
                left.pop()()

        return ball.simulate(out=file, progress=progress, **{**OPTIONS, **more})

    run.file, run.part = file, tmp_path / "run.nc.part"
    run.expected = lambda **more: ball.simulate(**{**OPTIONS, **more})
    return run


def test_a_foreign_file_in_the_place_of_the_run_is_never_published(run):
    def exchange():
        run.part.unlink()
        run.part.write_text("precious")

    with pytest.raises(OSError, match=r"another file stands in its place; .*run\.nc\.part is none of this run"):
        run(exchange)
    assert run.part.read_text() == "precious" and not run.file.exists()


def test_another_run_in_its_place(run, tmp_path):
    def exchange():
        run.part.rename(tmp_path / "moved.nc")
        run.expected().save(run.part)

    with pytest.raises(OSError, match="another file stands in its place"):
        run(exchange)
    assert not run.file.exists() and ss.load(run.part).complete
    moved = ss.load(tmp_path / "moved.nc")
    assert moved.status.startswith("running: safe up to t = ")


def test_a_file_that_was_cut_short(run):
    with pytest.raises(OSError, match=r"could not be written: "):
        run(lambda: os.truncate(run.part, 4096))


def test_after_a_commit_that_failed_the_same_process_can_go_on(run):
    """The journal cannot be written: the claim on the file goes with the error."""
    journal = run.part.with_name("run.nc.part-journal")
    with pytest.raises(OSError, match=r"the first \d+ records are safe in .*run\.nc\.part"):
        run(journal.mkdir)
    journal.rmdir()
    assert run(resume=True).complete
    assert differences(ss.load(run.file), run.expected()) == []


def test_without_a_descriptor_left(run):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        with pytest.raises(OSError, match="Too many open files"):
            run(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert run(resume=True).complete
    assert differences(ss.load(run.file), run.expected()) == []


@thinned
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("goes_on", [{"resume": True}, pytest.param({"overwrite": True}, marks=pytest.mark.slow)])
def test_killed_in_the_middle_of_a_commit(run, monkeypatch, goes_on):
    """The journal is whole and some of its pages are in the file, which cannot be read before the others are."""
    unreadable, seldom = [], {"every": 1000, "stepper": "event-driven", "engine": "auto"}
    for pages in (0, 1, 3, 5, 9) if FULL else (0, 1, 5):
        pid = os.fork()
        if pid == 0:
            written = []

            def some(descriptor, data, offset, write=disk._write_all, written=written, most=pages):
                if run.part.with_name("run.nc.part-journal").exists():
                    if len(written) == most:
                        write(descriptor, bytes(len(data)), offset)  # a page of which nothing arrived
                        os._exit(7)
                    written.append(offset)
                write(descriptor, data, offset)

            def act(some=some):
                disk._write_all = some

            try:
                run(act, **seldom)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        unreadable.append(not load.is_trajectory(run.part))
        assert run(**goes_on, **seldom).complete
        assert differences(ss.load(run.file), run.expected(**seldom)) == []
        run.file.unlink()
    assert True in unreadable
