"""`stickslip view`: it serves on the loopback interface until Ctrl-C; wrong requests get one line."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from stickslip import cli


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.delenv("STICKSLIP_DEBUG", raising=False)

    def run(*arguments):
        code = cli.main(["view", *(str(argument) for argument in arguments)])
        return code, capsys.readouterr().err

    return run


def test_it_serves_until_ctrl_c():
    command = [sys.executable, "-m", "stickslip", "view", "bouncing_ball", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        line = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert url, line
        with urllib.request.urlopen(url[0], timeout=60) as answer:
            assert b"stickslip" in answer.read()
        with urllib.request.urlopen(url[0] + "api/library", timeout=60) as answer:
            assert b'"first":"bouncing_ball"' in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert "the page is closed" in process.stderr.read()


def test_wrong_requests(run, tmp_path):
    foreign = tmp_path / "notes.nc"
    foreign.write_text("not a run")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("a = 1")
    for arguments, message in (
        (["woodpeker"], "did you mean 'woodpecker'"),
        (["woodpecker", "slider_crank"], "one library system can be shown first"),
        ([tmp_path / "missing.nc"], "there is no file"),
        ([foreign], "is neither a model file (.toml) nor a saved run of ours"),
        ([tmp_path / "missing.toml"], "`stickslip new NAME > "),
        ([wrong], "wrong.toml: the key 'stickslip' is missing"),
        (["--port", "70000"], "--port must lie between 0 and 65535, got 70000"),
    ):
        code, err = run(*arguments, "--no-browser")
        assert code == 2 and message in err and err.count("\n") == 1


def test_a_port_in_use(run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, err = run("--port", other.getsockname()[1], "--no-browser")
    assert code == 2 and "cannot be used: Address already in use" in err
