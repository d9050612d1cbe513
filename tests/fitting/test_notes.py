"""One fit at a time writes a file of notes; another one is refused, and nothing of either is lost."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from stickslip.fitting.notes import Notes, read

ANOTHER = "import sys; from stickslip.fitting.notes import Notes; Notes.opened(sys.argv[1], lambda: ('a task',))"


def opened(path, task="a task"):
    return contextlib.closing(Notes.opened(path, lambda: (task,)))


@pytest.mark.skipif(os.name != "posix", reason="files cannot be claimed here")
def test_two_fits_do_not_write_one_file(tmp_path):
    path = tmp_path / "notes.json"
    with opened(path) as first:
        for value in (0.0, 1.0):  # a draft takes the place of the file meanwhile
            with pytest.raises(
                ValueError, match=r"notes .*notes\.json are being written by another fit.*another name\."
            ):
                Notes.opened(path, lambda: ("a task",))
            first.vector(f"point {value}", lambda value=value: (np.array([value]), value))
        done = subprocess.run([sys.executable, "-c", ANOTHER, path], capture_output=True, text=True, timeout=60)
        assert "are being written by another fit" in done.stderr.splitlines()[-1]
    with opened(path) as later:
        assert later.known == first.known and len(later.known) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["notes.json"]


@pytest.mark.skipif(os.name != "posix", reason="files cannot be claimed here")
def test_notes_that_something_else_replaced_stay(tmp_path):
    """Two that begin in one moment find no file, or a file is copied over it: the second to write is refused."""
    path = tmp_path / "notes.json"
    with opened(path) as first:
        path.unlink()
        with opened(path, "another task") as second:
            with pytest.raises(ValueError, match="were replaced since this one began"):
                first.vector("point", lambda: (np.zeros(1), 0.0))
            second.vector("point", lambda: (np.ones(1), 1.0))
    assert read(path)["known"] == {"point": [[1.0], 1.0]}


def test_notes_are_there_from_the_start_and_a_refused_fit_keeps_no_claim(tmp_path):
    path = tmp_path / "notes.json"
    Notes.opened(path, lambda: ("a task",)).close()
    assert json.loads(path.read_text())["known"] == {}
    for _ in range(2):
        with pytest.raises(ValueError, match="belong to another fit"):
            Notes.opened(path, lambda: ("another task",))
    with opened(path) as kept:
        kept.number("x", lambda: 1.0)
