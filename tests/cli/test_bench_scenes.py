"""`stickslip bench scenes`: our own rows are exact, and peers that are missing are named."""

import json

from stickslip.cli import bench_scenes, main


def test_scenes_are_measured(capsys, monkeypatch):
    monkeypatch.setattr(bench_scenes, "PEERS", {"mujoco": "no_such_module", "bullet": "no_such_module"})
    assert main(["bench", "scenes", "--quick", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["missing"] == ["mujoco", "bullet"]
    stack, ramp, thrown = (result["cases"][case]["stickslip"] for case in ("stack", "ramp", "thrown"))
    assert stack["most"] < 1e-9 and ramp["most"] < 1e-9
    assert abs(thrown["stop"]) < 1e-6 and thrown["lift"] < 1e-9
    assert stack["steps_per_s"] > 100
    assert main(["bench", "scenes", "--quick"]) == 0
    assert "not installed: mujoco, bullet" in capsys.readouterr().out
