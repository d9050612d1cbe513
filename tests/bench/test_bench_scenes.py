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
    for row in result["tumbling"].values():
        assert row["stickslip"]["failed"] == 0 and row["stickslip"]["penetration"] < 1e-3 and "mujoco" not in row
    assert result["tumbling"]["wall of 100 bricks, hit"]["verdict"] == "short run"
    assert result["tumbling"]["cube tossed"]["verdict"] in ("lost", "needs mujoco")  # twice MuJoCo's rate is wanted
    console = Console(width=200)
    with console.capture() as text:
        console.print(bench_scenes.table(result))
    assert "not installed: mujoco, bullet, drake" in text.get() and "thrown" in text.get()
    assert "2 x MuJoCo" in text.get()
