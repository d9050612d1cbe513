"""`stickslip bench scenes`: our own rows are exact, and peers that are missing are named."""

import json

import pytest
from rich.console import Console

from stickslip.bench import piles as bench_piles
from stickslip.bench import scenes as bench_scenes
from stickslip.bench import standing
from stickslip.cli import main

ROBOT = """<robot name="two">
  <link name="base"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 1 0"/></joint>
</robot>"""


def test_scenes_are_measured(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(bench_scenes, "PEERS", dict.fromkeys(("mujoco", "bullet", "drake"), "no_such_module"))
    monkeypatch.setattr(bench_piles, "SPHERES_QUICK", bench_piles.SPHERES_QUICK[:1])
    monkeypatch.setattr(standing, "ROBOTS", {"two": standing.Robot("r2d2.urdf", 500.0, 5.0, 50.0, {"hinge": 0.1})})
    (tmp_path / "r2d2.urdf").write_text(ROBOT)
    assert main(["bench", "scenes", str(tmp_path), "--quick", "--json"]) == 0
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
    robots, chain, generated = (result["jointed"][name] for name in ("robots", "chain", "generated"))
    assert robots["r2d2.urdf"]["bodies"] == 2 and robots["r2d2.urdf"]["stickslip"]["failed"] == 0
    assert [name for name, row in robots.items() if row is not None] == ["r2d2.urdf"]
    assert chain["complete"] and chain["failed"] == 0 and chain["energy"] < 1e-3
    assert generated["solved"] == generated["problems"] > 0 and generated["wrong"] == 0
    ((program, held),) = result["standing"]["robots"]["two"].items()
    assert program == "stickslip" and held["failed"] == 0 and held["drift"] < 1e-3 and held["turned"] < 0.05
    console = Console(width=200)
    with console.capture() as text:
        console.print(bench_scenes.table(result))
    assert "not installed: mujoco, bullet, drake" in text.get() and "thrown" in text.get()
    assert "2 x MuJoCo" in text.get()
    assert "no such file" in text.get() and "short run" in text.get()


def test_a_robot_is_held_alike_in_all_programs(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    pytest.importorskip("pybullet")
    monkeypatch.setattr(standing, "ROBOTS", {"two": standing.Robot("two.urdf", 500.0, 5.0, 50.0)})
    (tmp_path / "two.urdf").write_text(
        ROBOT.replace('type="continuous"', 'type="revolute"').replace(
            "<axis", '<limit lower="-1" upper="1" effort="50" velocity="9"/><axis'
        )
    )
    found = standing.measure(True, (), str(tmp_path), lambda text: None)["robots"]["two"]
    assert set(found) == {"stickslip", "mujoco", "bullet"}
    for row in found.values():
        assert row["steps_per_cpu_s"] > 100 and abs(row["sunk"]) < 0.01 and row["turned"] < 0.1
