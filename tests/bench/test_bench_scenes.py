"""`stickslip bench scenes`: our own rows are exact, and peers that are missing are named."""

import json

from rich.console import Console

from stickslip.bench import piles as bench_piles
from stickslip.bench import scenes as bench_scenes
from stickslip.cli import main


def test_scenes_are_measured(capsys, monkeypatch):
    monkeypatch.setattr(bench_scenes, "PEERS", dict.fromkeys(("mujoco", "bullet", "drake"), "no_such_module"))
    monkeypatch.setattr(bench_piles, "SPHERES_QUICK", bench_piles.SPHERES_QUICK[:1])
    assert main(["bench", "scenes", "--quick", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["missing"] == ["mujoco", "bullet", "drake"]
    stack, ramp, thrown = (result["cases"][case]["stickslip"] for case in ("stack", "ramp", "thrown"))
    assert stack["most"] < 1e-9 and ramp["most"] < 1e-9
    assert abs(thrown["stop"]) < 1e-6 and thrown["lift"] < 1e-9
    assert stack["steps_per_s"] > 100
    console = Console(width=200)
    with console.capture() as text:
        console.print(bench_scenes.table(result))
    assert "not installed: mujoco, bullet, drake" in text.get() and "thrown" in text.get()
