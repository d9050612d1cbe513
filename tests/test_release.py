"""The wheel alone, in an environment of its own, gives a working `stickslip`."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Wheel and sdist, built from the sources as they are."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,) = folder.glob("*.tar.gz")
    assert sdist.stat().st_size > 100_000
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_the_wheel_holds_what_is_needed(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("py.typed", "io/models/schema.json", "mechanisms/templates/march.py", "cli/__init__.py"):
        assert f"stickslip/{name}" in names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "examples/"))]


@pytest.mark.slow
def test_the_wheel_works_alone(wheel, tmp_path):
    """Installed without the checkout; the libraries are those of this environment, and nothing is downloaded."""
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from stickslip.cli import main; sys.exit(main())"
    environment = {
        **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        "STICKSLIP_CACHE": str(tmp_path / "cache"),
        "no_proxy": "*",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
    }

    def stickslip(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", program, str(target), *arguments],
            capture_output=True, text=True, cwd=tmp_path, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "stickslip" in stickslip("--version")
    assert json.loads(stickslip("check", "--schema"))["title"] == "stickslip model file"
    (tmp_path / "ball.toml").write_text(stickslip("new", "bouncing_ball"))
    report = json.loads(stickslip("run", "ball.toml", "--t-end", "0.5", "--out", "run.nc", "--json"))
    assert report["complete"] and report["engine"] == "compiled" and (tmp_path / "run.nc").is_file()
