"""Readers open regular files alone: for anything else there is one line, at once, and nothing is waited for."""

import os
import signal
import socket

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.ensembles.files import fingerprint_of
from stickslip.figures import style
from stickslip.io.disk import journal_of, open_regular
from stickslip.io.load import is_trajectory, load
from stickslip.io.models.file import read_model
from stickslip.io.models.xml_text import read_xml
from stickslip.io.stream import StreamWriter, save
from tests.io.trajectories import trajectory

READERS = {
    "run.nc": load,
    "sweep.nc": ss.load_ensemble,
    "model.toml": read_model,
    "robot.xml": read_xml,
    "problem.dat": ss.read_friction_problem,
    "problem.hdf5": ss.read_friction_problem,
    "part.obj": ss.read_mesh,
    "part.STL": ss.read_mesh,
}


@pytest.fixture(autouse=True)
def at_once():
    """A reader that waits for the other end of a pipe ends the test."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def irregular(folder, name):
    """Names that lead to no regular file."""
    kinds = {kind: folder / kind / name for kind in ("pipe", "socket", "folder", "device", "link")}
    for path in kinds.values():
        path.parent.mkdir()
    os.mkfifo(kinds["pipe"])
    kinds["folder"].mkdir()
    kinds["device"].symlink_to("/dev/zero")
    kinds["link"].symlink_to(kinds["pipe"])
    with socket.socket(socket.AF_UNIX) as bound:
        before = os.getcwd()
        os.chdir(kinds["socket"].parent)  # a socket's name may be a hundred characters long
        try:
            bound.bind(name)
        finally:
            os.chdir(before)
    return kinds


@pytest.mark.parametrize("name", READERS)
def test_only_regular_files_are_read(name, tmp_path):
    for path in irregular(tmp_path, name).values():
        with pytest.raises(ValueError, match=r"is (a (pipe|socket|folder|device)|no file); give the name of") as error:
            READERS[name](path)
        assert "\n" not in str(error.value)


def test_what_is_asked_of_a_file_before_it_is_written(tmp_path):
    for path in irregular(tmp_path, "run.nc").values():
        assert not is_trajectory(path) and fingerprint_of(path) is None
        if not path.is_dir():
            assert not style.is_ours(path)
            with pytest.raises(ValueError, match="is not a readable"):
                save(trajectory(), path, overwrite=True)
        with pytest.raises(ValueError, match=r"is a folder|is not a readable"):
            StreamWriter.resumed(path, trajectory())


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["x" * 250 + ".nc", "x" * 239 + ".nc", "é" * 130, "a\0b", "a\udc00\ud800b.nc"])
def test_names_that_no_file_can_have_are_refused_before_the_run(name, resume, tmp_path):
    """The system refused them once the run was under way, some only when the journal was written."""
    rule = r"^path must (be a name that files can have|have names of 2.. bytes)"
    with pytest.raises(ValueError, match=rule) as refusal:
        ss.library.bouncing_ball().simulate(dt=1e-2, t_end=0.1, out=str(tmp_path / name), resume=resume)
    assert str(refusal.value).isprintable() and not list(tmp_path.iterdir())


def test_a_foreign_file_is_not_to_be_removed_lightly(tmp_path):
    """`--resume` said "remove it" of whatever stood in the place, the target of a link too."""
    own = tmp_path / "letter"
    own.write_text("dear")
    (tmp_path / "run.nc").symlink_to(own)
    with pytest.raises(ValueError, match=r"no run can go on from it; give another name, or remove it if it is not"):
        ss.library.bouncing_ball().simulate(dt=1e-2, t_end=0.1, out=tmp_path / "run.nc", resume=True)
    assert own.read_text() == "dear"


def test_a_pipe_in_the_place_of_an_unfinished_run(tmp_path):
    os.mkfifo(tmp_path / "run.nc.part")
    for start in (lambda: StreamWriter(tmp_path / "run.nc", trajectory(), overwrite=True),):
        with pytest.raises(ValueError, match="is a pipe"):
            start()
    with pytest.raises(ValueError, match="is not a readable trajectory"):
        StreamWriter.resumed(tmp_path / "run.nc", trajectory())
    save(trajectory(), tmp_path / "other.nc")
    os.mkfifo(journal_of(tmp_path / "other.nc"))
    assert len(load(tmp_path / "other.nc")) == 40


def test_a_name_that_changes_between_question_and_opening(tmp_path, monkeypatch):
    """Decided by the descriptor: what the name led to before does not count."""
    (tmp_path / "regular").touch()
    os.mkfifo(tmp_path / "pipe")
    found = os.stat(tmp_path / "regular")
    monkeypatch.setattr(os, "stat", lambda *_, **__: found)
    with pytest.raises(ValueError, match="is a pipe"):
        open_regular(tmp_path / "pipe")


def _replaced(name, new):
    def change(file):
        if name in file:
            del file[name]
        new(file, name)

    return change


def _virtual(unlimited):
    def new(file, name):
        layout = h5py.VirtualLayout((40, 3), "f8", maxshape=(None, 3))
        source = h5py.VirtualSource("pipe", "q", (40, 3), "f8", maxshape=(None, 3))
        rows = slice(0, h5py.h5s.UNLIMITED if unlimited else 40)
        layout[rows, :] = source[rows, :]
        file.create_virtual_dataset(name, layout)

    return new


def _external(file, name):
    file.create_dataset(name, (40, 3), "f8", external=[("pipe", 0, h5py.h5f.UNLIMITED)])


def _link(file, name):
    file[name] = h5py.ExternalLink("pipe", "/q")


@pytest.mark.parametrize(
    "change",
    [
        *(_replaced(name, _link) for name in ("q", "coordinate", "impact_other", "digest", "digest/time")),
        _replaced("checkpoint", _link),
        _replaced("checkpoint/state", _link),
        _replaced("q", _virtual(False)),
        _replaced("q", _virtual(True)),
        _replaced("q", _external),
        _replaced("q", lambda file, name: file.__setitem__(name, h5py.SoftLink("/u"))),
    ],
)
def test_what_a_link_leads_to_is_not_opened(change, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    save(trajectory(), "run.nc")
    with h5py.File("run.nc", "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=r"is damaged and cannot be loaded .*(is a link|kept in another file)"):
        load("run.nc")


@pytest.mark.parametrize("name", ["fclib_local", "fclib_local/W", "fclib_local/W/x", "fclib_local/vectors/q"])
def test_links_in_friction_problems(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    problem = ss.FrictionProblem(np.eye(3) + 0.1, np.array([-1.0, 0.2, 0.1]), [0.5], dim=3)
    ss.write_friction_problem(problem, "problem.hdf5")
    with h5py.File("problem.hdf5", "r+") as file:
        _replaced(name, _link)(file)
    with pytest.raises(ValueError, match=r"link|must lie in the file itself"):
        ss.read_friction_problem("problem.hdf5")


def test_no_name_of_a_file_reaches_a_terminal_raw(tmp_path):
    """Messages name files, and a traceback shows them: what would move a cursor is escaped."""
    name = "x\x1b]0;y\x07.nc"
    (tmp_path / name).write_bytes(b"junk")
    ball = ss.library.bouncing_ball()
    run = ball.simulate(dt=1e-2, t_end=0.05, engine="reference")
    calls = [
        lambda: ss.load(tmp_path / name),
        lambda: ss.load(tmp_path / f"no {name}"),
        lambda: ss.load_ensemble(tmp_path / name),
        lambda: run.save(tmp_path / name, overwrite=True),
        lambda: run.save(tmp_path / name / "a.nc"),
        *(
            lambda o=options: ball.simulate(dt=1e-2, t_end=0.05, engine="reference", out=tmp_path / name, **o)
            for options in ({}, {"resume": True}, {"overwrite": True})
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\\x1b\]0;y\\x07") as error:
            call()
        assert "\x1b" not in str(error.value) and "\x07" not in str(error.value)
