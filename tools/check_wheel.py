"""Checks of `check_wheel.sh`, run in the environment of the wheel and in the folder where its commands ran."""

import importlib.util
import json
import sys
import threading
import urllib.request
from pathlib import Path

import llvmlite

import stickslip
from stickslip.page.server import Server
from stickslip.page.service import Service


def main() -> None:
    package = Path(stickslip.__file__).parent
    assert Path(sys.prefix) in package.parents, f"stickslip comes from {package}"
    for name in ("py.typed", "io/models/schema.json"):
        assert (package / name).is_file(), f"the wheel lacks {name}"
    assert json.loads(Path("schema.json").read_text())["title"] == "stickslip model file"
    for name in ("run.json", "ball.json"):
        report = json.loads(Path(name).read_text())
        assert report["complete"] and report["engine"] == "compiled" and report["certificate"]["failed_steps"] == 0, (
            name
        )
    for name in ("run.nc", "run.png", "run.html"):
        assert Path(name).stat().st_size > 10_000, f"{name} is too small"
    assert len(stickslip.load("run.nc")) > 100
    text = served()
    assert "<canvas" in text and "api/run" in text
    for unwanted in ("pytest", "hypothesis", "mkdocs"):
        assert importlib.util.find_spec(unwanted) is None, f"the wheel brought {unwanted} along"
    print(
        f"stickslip {stickslip.__version__}, llvmlite {llvmlite.__version__}: run, files, figure, page, schema, types"
    )


def served() -> str:
    """Text of the page, from a server that runs only for this request."""
    server = Server(Service())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(server.url) as answer:
        text: str = answer.read().decode()
    server.shutdown()
    server.server_close()
    return text


main()
