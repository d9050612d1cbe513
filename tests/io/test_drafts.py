"""Files that are not finished yet: which signals leave them behind, and who removes what `kill -9` left."""

import errno
import os
import signal
import sys

import pytest

from stickslip import interrupts
from stickslip.interrupts import undoing
from stickslip.io import disk, file_under_way, stream
from stickslip.io.disk import DRAFT, draft_of, open_draft, remove_dead_drafts, replacing
from stickslip.io.stream import StreamWriter, save
from tests.io.trajectories import trajectory

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
FILES = {disk.__file__, stream.__file__, file_under_way.__file__, interrupts.__file__}


def ended(do):
    """Minus the signal that ended a child which did this, or its exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            do()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def drafts(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(DRAFT))


def writing(path, number):
    def do():
        with replacing(path) as draft:
            draft.write_text("half")
            os.kill(os.getpid(), number)
            draft.write_text("whole")

    return do


@pytest.mark.parametrize("kind", ["SIGTERM", "SIGHUP"])
def test_signals_that_end_a_process_leave_no_draft(kind, tmp_path):
    number, path = getattr(signal, kind), tmp_path / "result.txt"
    path.write_text("before")
    assert ended(writing(path, number)) == -number
    assert [p.name for p in tmp_path.iterdir()] == ["result.txt"] and path.read_text() == "before"


def test_what_kill_left_goes_with_the_next_writer(tmp_path):
    path = tmp_path / "result.txt"
    assert ended(writing(path, signal.SIGKILL)) == -signal.SIGKILL and len(drafts(tmp_path)) == 1
    with replacing(tmp_path / "other.txt") as draft:
        draft.write_text("not its business")
    assert len(drafts(tmp_path)) == 1
    with replacing(path) as draft:
        assert drafts(tmp_path) == [draft.name]
        draft.write_text("whole")
    assert drafts(tmp_path) == [] and path.read_text() == "whole"


def test_only_what_is_surely_dead_and_ours_is_removed(tmp_path, monkeypatch):
    path = tmp_path / "result.txt"
    alive = draft_of(path, ".txt")
    descriptor = open_draft(alive)  # as another process would have it
    link, pipe, folder = (draft_of(path, suffix) for suffix in (".link", ".pipe", ".folder"))
    (tmp_path / "precious").write_text("kept")
    link.symlink_to(tmp_path / "precious")
    os.mkfifo(pipe)
    folder.mkdir()
    stranger = draft_of(path, ".theirs")
    stranger.write_text("")
    remove_dead_drafts(path)
    kept = {alive.name, link.name, pipe.name, folder.name}
    assert set(drafts(tmp_path)) == kept  # nobody has a claim on the last one
    stranger.write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_dead_drafts(path)
    assert set(drafts(tmp_path)) == {*kept, stranger.name}
    monkeypatch.undo()
    monkeypatch.setattr(disk, "_claim", lambda descriptor: None)  # a file system without locks
    remove_dead_drafts(path)
    assert set(drafts(tmp_path)) == {*kept, stranger.name}
    monkeypatch.undo()
    os.close(descriptor)
    remove_dead_drafts(path)
    assert set(drafts(tmp_path)) == kept - {alive.name}


def test_a_draft_that_is_taken_for_dead_before_it_is_claimed(tmp_path, monkeypatch):
    draft, claim, taken = draft_of(tmp_path / "result.txt", ".txt"), disk.lock, []

    def late(descriptor):
        if not taken:
            taken.append(draft.unlink())
        return claim(descriptor)

    monkeypatch.setattr(disk, "lock", late)
    descriptor = open_draft(draft)
    assert taken and os.fstat(descriptor).st_nlink == 1 and draft.exists()
    os.close(descriptor)


def test_handlers_of_the_user_come_first_and_all_are_put_back():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with undoing(lambda: seen.append("undone")):
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with undoing(seen.clear), undoing(seen.clear):
            assert callable(signal.getsignal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL and seen
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_forked_child_undoes_nothing_of_its_parent(tmp_path):
    with replacing(tmp_path / "result.txt") as draft:
        assert ended(lambda: os.kill(os.getpid(), signal.SIGTERM)) == -signal.SIGTERM
        assert draft.exists()
        draft.write_text("whole")
    assert (tmp_path / "result.txt").read_text() == "whole"


class AtLine:
    """Sends a signal at one of the lines that are run in FILES."""

    def __init__(self, line, number):
        self.left, self.number = line, number

    def __call__(self, frame, event, argument):
        return self.trace if frame.f_code.co_filename in FILES else None

    def trace(self, frame, event, argument):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.number)
        return self.trace


def opening(path):
    StreamWriter(path, trajectory()).release()


def saving(path):
    save(trajectory(), path)


@pytest.mark.parametrize("times", [4, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("do", [opening, saving])
def test_no_line_of_opening_and_saving_leaves_a_draft(do, times, tmp_path):
    """SIGTERM leaves none; what SIGKILL leaves goes with the next run."""
    path = tmp_path / "run.nc"
    lines = AtLine(0, 0)
    sys.settrace(lines)
    do(path)
    sys.settrace(None)
    left, hit = 0, 0
    for k in range(times):
        for each in tmp_path.iterdir():
            each.unlink()
        line, number = 1 + int(-lines.left * (k + 0.5) / times), signal.SIGKILL if k % 4 == 3 else signal.SIGTERM
        watch = AtLine(line, number)
        hit += ended(lambda watch=watch: (sys.settrace(watch), do(path))) == -number
        left += len(drafts(tmp_path))
        assert number == signal.SIGKILL or drafts(tmp_path) == [], line
        do(path) if not list(tmp_path.glob("run.nc*")) else remove_dead_drafts(path)
        assert drafts(tmp_path) == [], line
    assert hit == times and left > 0


@pytest.mark.parametrize("named", [None, "draft", "other"])
def test_what_cannot_be_written_is_named_by_its_place(tmp_path, named):
    """Not by its draft, and not without a name; errors of other files stay as they are."""
    place = tmp_path / "picture.png"
    with pytest.raises(OSError) as caught, replacing(place) as draft:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), {"draft": str(draft), "other": "x"}.get(named))
    if named == "other":
        assert caught.value.filename == "x"
    else:
        assert str(caught.value) == f"{place} could not be written: {os.strerror(errno.EFBIG)}; nothing was replaced."
        assert caught.value.errno == errno.EFBIG
    assert not list(tmp_path.iterdir())
