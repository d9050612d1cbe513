"""`tools/environment.sh`: what a machine without a suitable Python is told, and when the work is skipped.

The Pythons here are small shell scripts; PATH holds nothing but them and the few tools that the script needs.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ["sh", "cat", "chmod", "cksum", "dirname", "head", "mkdir", "tail"]

# Stands in for an interpreter: prints its version, may lack modules, creates environments that hold a copy of
# itself, and writes down what pip is asked for.
FAKE_PYTHON = """#!/bin/sh
case "$1 $2" in
*ensurepip*) case "{missing}" in *ensurepip*) exit 1 ;; esac ;;
*version_info*) echo {version}; exit {too_old} ;;
"-m venv") mkdir -p .venv/bin; cat "$0" >.venv/bin/python; chmod +x .venv/bin/python ;;
"-m pip") echo "$0 $*" >>pip.log ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the files that decide what is installed, and a PATH without any Python."""
    if any(shutil.which(tool) is None for tool in TOOLS):
        pytest.skip("needs a POSIX shell")
    for name in ["tools/environment.sh", "pyproject.toml", "constraints.txt", "src/stickslip/_version.py"]:
        copy = tmp_path / "checkout" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return tmp_path / "checkout"


def add_python(checkout, name, version, missing=""):
    python = checkout.parent / "bin" / name
    too_old = 3 if tuple(map(int, version.split("."))) < (3, 11) else 0
    python.write_text(FAKE_PYTHON.format(version=version, missing=missing, too_old=too_old))
    python.chmod(0o755)


def make_environment(checkout, **variables):
    environment = {"PATH": str(checkout.parent / "bin"), **variables}
    script = checkout / "tools" / "environment.sh"
    return subprocess.run(["sh", script], env=environment, cwd=os.sep, capture_output=True, text=True)


def assert_one_line(done, *parts):
    assert done.returncode == 1
    assert done.stderr.startswith("stickslip: ") and done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in parts)


def test_no_python(checkout):
    assert_one_line(make_environment(checkout), "Python 3.11 or newer", "python3 not found", "PYTHON=")


def test_python_too_old(checkout):
    add_python(checkout, "python3", "3.10.13")
    assert_one_line(make_environment(checkout), "Python 3.11 or newer", "python3 is 3.10.13", "PYTHON=")


def test_python_without_venv(checkout):
    add_python(checkout, "python3", "3.11.2", missing="ensurepip")
    assert_one_line(make_environment(checkout), "python3 (3.11.2)", "venv", "apt install python3-venv")


def test_named_python_is_the_only_candidate(checkout):
    add_python(checkout, "python3", "3.12.1")
    assert_one_line(make_environment(checkout, PYTHON="/no such/python"), "/no such/python not found")


def test_newer_python_is_found_behind_an_old_python3(checkout):
    add_python(checkout, "python3", "3.9.18")
    add_python(checkout, "python3.13", "3.13.0", missing="ensurepip")
    add_python(checkout, "python3.12", "3.12.1")
    done = make_environment(checkout)
    assert done.returncode == 0
    assert "Creating .venv with Python 3.12.1." in done.stderr


def test_installation_runs_once_and_again_after_a_change_or_a_move(checkout):
    add_python(checkout, "python3", "3.11.7")

    def installations(folder):
        done = make_environment(folder)
        assert done.returncode == 0, done.stderr
        return len((folder / "pip.log").read_text().splitlines()), "Creating" in done.stderr

    assert installations(checkout) == (1, True)
    assert "-e .[dev] -c constraints.txt" in (checkout / "pip.log").read_text()
    assert installations(checkout) == (1, False)
    with open(checkout / "constraints.txt", "a") as constraints:
        constraints.write("# changed\n")
    assert installations(checkout) == (2, False)
    moved = checkout.rename(checkout.with_name("moved"))
    assert installations(moved) == (3, True)
