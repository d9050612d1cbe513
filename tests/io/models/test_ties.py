"""Joints that follow others, and tendons: motions beside MuJoCo's, and what is told of those that have no row."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss

STIFF = 'solref="0.0005 1" solimp="0.9999 0.9999 0.001"'
GRIPPER = f"""<mujoco><compiler angle="radian"/><option timestep="1e-3"><flag contact="disable"/></option>
<worldbody><body name="palm" pos="0 0 1"><joint name="wrist" type="hinge" axis="1 0 0"/>
 <inertial pos="0 0.02 -0.1" mass="1" diaginertia="0.01 0.02 0.015"/>
 <body name="left" pos="0 0.05 -0.1"><joint name="l" type="slide" axis="0 1 0"/>
  <inertial pos="0 0.01 -0.02" mass="0.3" diaginertia="1e-3 1e-3 1e-3"/></body>
 <body name="right" pos="0 -0.05 -0.1"><joint name="r" type="slide" axis="0 -1 0"/>
  <inertial pos="0 -0.01 -0.03" mass="0.2" diaginertia="1e-3 2e-3 1e-3"/></body>
</body></worldbody>
<equality><joint joint1="r" joint2="l" polycoef="0 0.5 0 0 0" {STIFF}/></equality></mujoco>"""
FINGER = f"""<mujoco><compiler angle="radian"/><option timestep="1e-3"><flag contact="disable"/></option>
<worldbody><body name="base" pos="0 0 1"><joint name="turn" type="hinge" axis="0 1 0"/>
 <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.015"/>
 <body name="near" pos="0.2 0 0"><joint name="one" type="hinge" axis="0 1 0"/>
  <inertial pos="0.05 0 0" mass="0.4" diaginertia="1e-3 1e-3 1e-3"/>
  <body name="far" pos="0.1 0 0"><joint name="two" type="hinge" axis="0 1 0"/>
   <inertial pos="0.04 0 0" mass="0.2" diaginertia="5e-4 5e-4 5e-4"/></body></body></body></worldbody>
<tendon><fixed name="t"><joint joint="one" coef="1"/><joint joint="two" coef="COEF"/></fixed></tendon>
<equality><tendon tendon1="t" {STIFF}/></equality></mujoco>"""
PALM = """<robot name="hand">
 <link name="arm"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
 <link name="base"/>
 <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
 {links}</robot>"""
PART = """<link name="{n}"><inertial><mass value="0.1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial></link>
 <joint name="j{n}" type="{kind}"><parent link="{on}"/><child link="{n}"/><origin xyz="{at}"/><axis xyz="{axis}"/>
 <limit lower="-2" upper="2" effort="1" velocity="1"/>{more}</joint>"""


def moved(
    text: str, tmp_path, names: list[str], dt: float, t_end: float, pose=None
) -> tuple[list[float], ss.Simulator]:
    path = tmp_path / "robot.xml"
    path.write_text(text)
    sim = ss.Simulator(ss.import_robot(path, pose=pose).scenario.scene, dt=dt, every=None)
    sim.run(t_end)
    assert sim.certificate.failed_steps == 0
    return [sim.joint(name).coordinate + (pose or {}).get(name, 0.0) for name in names], sim


# MuJoCo 4.0.0, implicitfast, dt = 1e-4 and 2e-5, with the difference carried on to dt = 0, t = 0.3 s.
@pytest.mark.parametrize(
    "text, names, pose, expected",
    [
        (GRIPPER, ["wrist", "l", "r"], {"wrist": 0.4}, [-0.447260, 0.019905, 0.009952]),
        (FINGER.replace("COEF", "-0.7"), ["turn", "one", "two"], {}, [1.427478, -0.135286, -0.193266]),
        (FINGER.replace("COEF", "1.0"), ["turn", "one", "two"], {}, [1.385542, 0.018170, -0.018170]),
        (FINGER.replace("COEF", "-1.0"), ["turn", "one", "two"], {}, [1.427138, -0.144518, -0.144518]),
    ],
    ids=["equality", "tendon", "tendon with an idle wheel", "tendon, equal turns"],
)
def test_followers_on_bodies_that_move_are_mujocos(text, names, pose, expected, tmp_path):
    found, _ = moved(text, tmp_path, names, 5e-4, 0.3, pose)
    np.testing.assert_allclose(found, expected, atol=3e-5)


def part(n: str, on: str, kind: str, at: str, axis: str, more: str = "") -> str:
    return PART.format(n=n, on=on, kind=kind, at=at, axis=axis, more=more)


@pytest.mark.parametrize("k", [1.0, -1.0, 0.5, -2.0])
@pytest.mark.parametrize(
    "first, second",
    [
        (("prismatic", "0 1 0"), ("prismatic", "0 -1 0")),
        (("prismatic", "0 1 0"), ("prismatic", "1 0 0")),
        (("revolute", "0 1 0"), ("revolute", "0 1 0")),
        (("revolute", "0 1 0"), ("revolute", "0 0.6 0.8")),
        (("revolute", "0 0 1"), ("prismatic", "1 0 0")),
        (("prismatic", "0 1 0"), ("revolute", "0 0 1")),
    ],
)
def test_a_mimic_joint_follows_on_a_body_that_moves(first, second, k, tmp_path):
    mimic = f'<mimic joint="ja" multiplier="{k}" offset="0.1"/>'
    links = part("a", "arm", first[0], "0.1 0 0", first[1]) + part(
        "b", "arm", second[0], "0.3 0.05 0", second[1], mimic
    )
    path = tmp_path / "hand.urdf"
    path.write_text(PALM.format(links=links))
    scene = ss.import_robot(path).scenario.scene
    sim = ss.Simulator(scene, dt=1e-3, every=None)
    sim.joint("shoulder").torque = 0.3
    sim.joint("ja").torque = 0.2 if first[0] == "revolute" else 1.2
    sim.run(0.3)
    lead, follow = (sim.joint(name).coordinate for name in ("ja", "jb"))
    assert abs(lead) > 1e-3 and follow == pytest.approx(k * lead, abs=1e-6 * max(1.0, abs(k)))
    assert sim.certificate.failed_steps == 0


def test_chains_of_followers_and_starts(tmp_path):
    """A follower of a follower is tied to one that it shares a body with; starts follow, with their offsets."""
    links = (
        part("a", "arm", "revolute", "0.1 0 0", "0 1 0")
        + part("b", "arm", "revolute", "0.4 0 0", "0 1 0", '<mimic joint="ja" multiplier="-1"/>')
        + part("c", "b", "revolute", "0.2 0 0", "0 1 0", '<mimic joint="ja" multiplier="0.5" offset="0.3"/>')
    )
    path = tmp_path / "hand.urdf"
    path.write_text(PALM.format(links=links))
    found = ss.import_robot(path, pose={"ja": 0.2})
    assert any("'jb' -0.2" in note and "'jc' 0.4" in note for note in found.notes)
    sim = ss.Simulator(found.scenario.scene, dt=1e-3, every=None)
    sim.joint("ja").torque = 0.1
    sim.run(0.3)
    a, b, c = (sim.joint(name).coordinate for name in ("ja", "jb", "jc"))
    assert abs(a) > 0.01 and [b, c] == pytest.approx([-a, 0.5 * a], abs=1e-6)
    with pytest.raises(ValueError, match="'jb', which follows 'ja'"):
        ss.import_robot(path, pose={"jb": 0.2})


@pytest.mark.parametrize(
    "more, words",
    [
        (('<mimic joint="ja"/>', ""), "'ja': its ratio leads nowhere"),
        (('<mimic joint="jb"/>', '<mimic joint="ja" multiplier="2"/>'), "'jb' would lead itself"),
        (('<mimic joint="jz"/>', ""), "'jz' has no axis"),
        (("", '<mimic joint="ja" multiplier="0"/>'), "'jb': its ratio leads nowhere"),
    ],
)
def test_followers_that_lead_nowhere_are_named(more, words, tmp_path):
    path = tmp_path / "hand.urdf"
    links = part("a", "arm", "revolute", "0.1 0 0", "0 1 0", more[0]) + part(
        "b", "arm", "revolute", "0.3 0 0", "0 1 0", more[1]
    )
    path.write_text(PALM.format(links=links))
    assert any(words in note for note in ss.import_robot(path).notes)


ROPES = """<mujoco><option timestep="1e-3"/><worldbody><site name="top" pos="0 0 2"/><site name="roll" pos="1 0 2"/>
<site name="roll2" pos="2 0 2"/>
<body name="ball" pos="0 0 1.2"><freejoint/><geom size="0.05" mass="1"/><site name="s1" pos="0 0 0"/></body>
<body name="up" pos="1 0 1"><freejoint/><geom size="0.05" mass="1"/><site name="s2"/></body>
<body name="down" pos="2 0 1"><freejoint/><geom size="0.05" mass="3"/><site name="s3"/></body>
<body name="hung" pos="3 0 1"><freejoint/><geom size="0.05" mass="1"/><site name="s4"/></body>
</worldbody><tendon>
<spatial name="rope" limited="true" range="0 1"><site site="top"/><site site="s1"/></spatial>
<spatial name="pulley" limited="true" range="0 3">
<site site="s2"/><site site="roll"/><site site="roll2"/><site site="s3"/></spatial>
<spatial name="spring" stiffness="100" springlength="1"><site site="top"/><site site="s4"/></spatial>
<spatial name="measure"><site site="s1"/><site site="s2"/></spatial>
<spatial name="moving" limited="true" range="0 9"><site site="s1"/><site site="s2"/><site site="s3"/></spatial>
</tendon></mujoco>"""


def test_tendons_through_sites_are_ropes_pulleys_and_springs(tmp_path):
    path = tmp_path / "ropes.xml"
    path.write_text(ROPES)
    found = ss.import_robot(path)
    scene = found.scenario.scene
    assert sorted(joint.kind for joint in scene.joints) == ["pulley", "rope"] and len(scene.springs) == 1
    assert any("'measure' has no limit" in note for note in found.notes)
    assert any("'moving' runs over points that move" in note for note in found.notes)
    sim = ss.Simulator(scene, dt=1e-3, every=None)
    sim.run(0.4)
    assert np.linalg.norm(sim.body("ball").position - (0, 0, 2)) == pytest.approx(1.0, abs=1e-6)  # it fell 0.2 m
    a = (3 - 1) / (3 + 1) * 9.81  # Atwood's machine
    assert sim.body("up").velocity[2] == pytest.approx(a * 0.4, rel=1e-6)
    assert sim.body("down").velocity[2] == pytest.approx(-a * 0.4, rel=1e-6)


def test_what_has_no_row_is_named(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(
        GRIPPER.replace("</equality>", '<joint joint1="wrist" joint2="l" polycoef="0 1 2 0 0"/></equality>').replace(
            "<equality>",
            '<tendon><fixed name="sum" stiffness="3"><joint joint="l" coef="1"/>'
            '<joint joint="r" coef="2"/></fixed></tendon>'
            '<actuator><motor tendon="sum" gear="5"/></actuator><equality>',
        )
    )
    notes = "\n".join(ss.import_robot(path).notes)
    assert "stiffness of the fixed tendon 'sum'" in notes and "<joint> of <equality>" in notes
    assert "sim.joint('l').torque = 5 u, sim.joint('r').torque = 10 u" in notes


def test_what_is_wrong_names_the_file_that_a_user_has(tmp_path):
    """Not a line of the model file that is made of it."""
    body = '<body pos="{} 0 1"><freejoint/><geom size="0.1" friction="{}"/></body>'
    many = "".join(body.format(i, 0.1 + 0.001 * i) for i in range(200))
    path = tmp_path / "many.xml"
    path.write_text(f'<mujoco><worldbody><geom type="plane" size="1 1 1" friction="0.05"/>{many}</worldbody></mujoco>')
    with pytest.raises(ValueError, match=r"line 1, <mujoco>: a model file has no room for its 201 bodies"):
        ss.import_robot(path)
    path = tmp_path / "thin.urdf"
    path.write_text(
        PALM.format(links="\n\n\n" + part("a", "arm", "revolute", "0 0 0", "0 0 1")).replace('ixx="1e-3"', 'ixx="1"')
    )
    with pytest.raises(ValueError, match=r"line 8, bodies 'a'.*--repair"):
        ss.import_robot(path)
