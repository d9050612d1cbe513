"""The command line where its output cannot be written, or was never opened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip as ss
from stickslip import cli
from stickslip.debug import bar_wanted, on_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
RUN = "run bouncing_ball --t-end 0.02 --engine reference"


def shell(arguments, streams, buffered=True):
    command = f'exec "{sys.executable}" -m stickslip {arguments} {streams}'
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=120, check=False, env=environment
    )


def test_closed_streams_do_no_harm(tmp_path):
    """Without them the first file that is opened would get the number of stdout."""
    done = shell(f"{RUN} --out {tmp_path / 'a.nc'}", ">&- 2>&- <&-")
    assert done.returncode == 0
    assert ss.load(tmp_path / "a.nc").complete


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", ["--version", "list --json"])
def test_an_output_that_cannot_be_written_is_told(arguments, buffered):
    done = shell(arguments, "> /dev/full", buffered)
    assert done.returncode == 1
    assert done.stderr == "stickslip: error: the system refuses to read or write: No space left on device\n"


def test_a_reader_that_goes_early_is_no_error():
    done = shell("--help", "| head -2")
    assert "Usage" in done.stdout and done.stderr == ""


def test_names_that_the_system_refuses(capsys):
    assert cli.main([*RUN.split(), "--out", "x" * 300 + ".nc"]) == 1
    assert capsys.readouterr().err.startswith(
        "stickslip: error: the system refuses to read or write: File name too long (xx"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "bouncing_ball", "NAME.csv", "--free", "restitution=0:1"],
        ["friction", "solve", "NAME.dat"],
        ["import", "NAME.xml"],
        ["export-fmu", "bouncing_ball", "--out", "NAME.fmx"],
        ["export-fmu", "bouncing_ball", "--out", "NAME/x.fmu"],
        ["sweep", "NAME.toml"],
        ["view", "NAME.nc"],
    ],
    ids=" ".join,
)
def test_no_name_of_a_file_reaches_a_terminal_raw(arguments, tmp_path, monkeypatch, capsys):
    """Neither the escapes of a terminal, nor the marks of the library that writes to it."""
    monkeypatch.chdir(tmp_path)
    name = "\x1b]0;pwn\x07[red]\u202e"
    for suffix in ("csv", "dat"):
        Path(f"{name}.{suffix}").write_text(f"t,{name}\n0,1\n", encoding="utf-8")
    assert cli.main([word.replace("NAME", name) for word in arguments]) == 2
    seen = capsys.readouterr()
    shown = seen.out + seen.err
    assert "\\x1b]0;pwn\\x07[red]\\u202e" in shown and not set("\x1b\x07\u202e") & set(shown)


def test_a_process_without_stderr_shows_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not bar_wanted(None) and bar_wanted(True) and not on_terminal(sys.stderr)
    assert ss.library.bouncing_ball().simulate(dt=0.01, t_end=0.02, engine="reference").complete
