"""MJCF, URDF and SDF: what is carried over, what is listed, what is refused."""

import math

import numpy as np
import pytest

from stickslip.io.models.file import model_from_text
from stickslip.io.models.imports import import_robot, imported
from stickslip.io.models.robot import ImportOptions
from stickslip.io.models.toml_text import ModelError
from stickslip.io.models.urdf import robot_from_urdf
from stickslip.io.models.xml_text import parse_xml
from tests.io.models.robots import MJCF, SDF, URDF


def scene_of(text):
    found = imported(parse_xml(text.encode(), "robot.xml"))
    scene = model_from_text(found.text).scenario.scene
    return scene, {body.name: body for body in scene.bodies}, found.notes


def test_mjcf_bodies_shapes_and_joints():
    scene, bodies, notes = scene_of(MJCF)
    assert [body.kind for body in scene.bodies[1:]] == ["static", "moving", "moving", "moving"]
    upper = bodies["upper"]
    # euler="0 90 0" turns the bar's x axis down: its middle hangs 0.2 m below the hinge at z = 1
    np.testing.assert_allclose(upper.position, [0.0, 0.0, 0.8], atol=1e-12)
    capsule = 500 * (math.pi * 0.02**2 * 0.4 + 4 / 3 * math.pi * 0.02**3)
    assert upper.mass == pytest.approx(capsule, rel=1e-12)
    hinge, ball = scene.joints
    assert (hinge.kind, hinge.a, hinge.friction) == ("revolute", 0, 0.02)
    assert hinge.limits == pytest.approx((-math.pi / 2, math.pi / 2))
    np.testing.assert_allclose(hinge.axis, [0, 1, 0], atol=1e-12)
    assert ball.kind == "spherical"
    np.testing.assert_allclose(ball.at_a, [0.0, 0.0, 0.6], atol=1e-12)
    free = bodies["ball"]
    assert free.mass == 2.0 and np.diag(free.inertia).tolist() == [0.01, 0.02, 0.025]
    np.testing.assert_allclose(free.position, [1.0, 0.0, 0.51])
    assert (upper.number, free.number) in scene.ignored
    assert upper.material.friction == 0.6 and bodies["floor"].kind == "static"
    assert hinge.damping == 0.1 and hinge.name == "shoulder"
    for word in ("integrator", "'hand.stl'", "prism with 24 sides", "the motor of joint 'shoulder'", "<light>"):
        assert any(word in note for note in notes), word


def test_mjcf_pendulum_swings_as_its_closed_form():
    """A point-like bob on a hinge: the energies of the imported scene are those of the pendulum."""
    text = """<mujoco><compiler angle="radian"/><option timestep="0.0005"/><worldbody>
    <body name="bob" pos="0 0 0"><joint type="hinge" axis="0 1 0"/>
    <inertial pos="0.5 0 0" mass="2" diaginertia="0.001 0.001 0.001"/>
    <geom type="sphere" size="0.05" pos="0.5 0 0"/></body></worldbody></mujoco>"""
    scene, bodies, _ = scene_of(text)
    bob = bodies["bob"]
    np.testing.assert_allclose(bob.position, [0.5, 0.0, 0.0])
    assert scene.joints[0].b == bob.number and scene.joints[0].at_b.tolist() == [0.0, 0.0, 0.0]


def test_urdf_links_and_joints():
    scene, bodies, notes = scene_of(URDF)
    assert list(bodies) == ["world", "cart", "pole"]
    cart = bodies["cart"]
    assert cart.mass == 1.5
    np.testing.assert_allclose(cart.position, [0.0, 0.0, 0.55])
    slide, hinge = scene.joints
    assert (slide.kind, slide.a, slide.limits) == ("prismatic", 0, (-1.0, 1.0))
    np.testing.assert_allclose(slide.axis, [0.0, 1.0, 0.0], atol=1e-12)  # rpy turns x into y
    assert (hinge.kind, hinge.friction) == ("revolute", 0.002)
    np.testing.assert_allclose(hinge.axis, [-1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(hinge.at_a, [0.0, 0.0, 0.56])
    # the prism has the volume of the cylinder
    assert bodies["pole"].mass == pytest.approx(1000 * math.pi * 0.01**2 * 0.5, rel=1e-12)
    assert hinge.damping == 0.01
    for word in ("'rail' is held", "visual", "prism", "effort", "<transmission>", "no <inertial>"):
        assert any(word in note for note in notes), word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no XML: no element found"),
        ("<robot><link></robot>", "line 1: no XML: mismatched tag"),
        ("<!DOCTYPE r [<!ENTITY a 'aaaa'>]><robot>&a;</robot>", "line 1: a document type or entity is declared"),
        ("<!DOCTYPE r SYSTEM 'file:///etc/passwd'><robot/>", "a document type or entity is declared"),
        ("<html/>", "an SDF file with <sdf>"),
        ("<robot><link/></robot>", "line 1, <link>: the attribute 'name' is missing"),
        ("<robot name='r'><link name='a'/></robot>", "there is no body with a shape"),
        ("<robot name='r'><link name='a'/>\n<link name='a'/></robot>", "line 2, <link>: there is another link"),
        (
            "<mujoco><worldbody><body>\n<geom size='x'/></body></worldbody></mujoco>",
            "line 2, <geom>: size must be numbers",
        ),
        ("<mujoco><worldbody><geom size='nan'/></worldbody></mujoco>", "size must be finite"),
        (
            "<mujoco><worldbody><body><joint/><geom size='-1'/></body></worldbody></mujoco>",
            "radius of Sphere must be positive",
        ),
        ("<mujoco><worldbody><geom class='no' size='1'/></worldbody></mujoco>", "the class 'no' is not defined"),
        (
            "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='0.2125' ixy='-0.005' ixz='0.0225' "
            "iyy='0.205' iyz='0.045' izz='0.0125'/></inertial><collision><geometry><sphere radius='0.1'/></geometry>"
            "</collision></link></robot>",
            "must be positive definite beyond rounding, the least principal value above 1e-12 of the largest",
        ),
        ("<a>" * 300, "tags may be 200 deep"),
    ],
)
def test_what_is_refused_in_one_line(text, expected):
    with pytest.raises(ModelError) as error:
        imported(parse_xml(text.encode(), "robot.xml"))
    assert str(error.value).startswith("robot.xml") and expected in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "none.xml"):
        with pytest.raises(ModelError, match="is no file"):
            import_robot(path)


# -- the fifteen settings that were once dropped in silence ------------------------------------------------------------

GEOM = "<geom type='sphere' size='0.1' {}/>"


def two_balls(first="", second="", head="", joint="<freejoint/>"):
    """A ball over a ball, with the attributes of their geoms."""
    return scene_of(
        f"<mujoco>{head}<worldbody><body name='a'>{joint}{GEOM.format(first)}</body><body name='b' pos='0 0 1'>"
        f"<freejoint/>{GEOM.format(second)}</body></worldbody></mujoco>"
    )


def friction_of(scene, a="a", b="b"):
    """The friction of a pair of bodies, as the scene computes it."""
    names = {body.name: body for body in scene.bodies}
    i, j = sorted((names[a].number, names[b].number))
    if (i, j) in scene.pair_laws:
        return scene.pair_laws[i, j].friction
    return math.sqrt(names[a].material.friction * names[b].material.friction)


def ignored(scene, a="a", b="b"):
    names = {body.name: body.number for body in scene.bodies}
    return tuple(sorted((names[a], names[b]))) in scene.ignored


def test_friction_of_a_pair_is_mujocos():
    """The larger friction, none where both have condim 1, and that of the geom of higher priority."""
    assert friction_of(two_balls("friction='0.3'", "friction='0.9'")[0]) == 0.9
    assert friction_of(two_balls("condim='1'", "condim='1'")[0]) == 0.0
    assert friction_of(two_balls("condim='1' friction='0.3'", "friction='0.2'")[0]) == 0.3
    assert friction_of(two_balls("friction='0.3' priority='1'", "friction='0.9'")[0]) == 0.3


def test_masks_decide_what_touches():
    assert not ignored(two_balls()[0])
    assert not ignored(two_balls("contype='2' conaffinity='1'", "contype='0' conaffinity='2'")[0])
    assert ignored(two_balls("contype='2' conaffinity='2'", "contype='1' conaffinity='1'")[0])
    scene, bodies, _ = two_balls("contype='0' conaffinity='0' mass='3'")
    assert ignored(scene) and bodies["a"].mass == 3.0
    assert ignored(two_balls(head="<option><flag contact='disable'/></option>")[0])


def test_compiler_and_option_settings():
    scene, bodies, _ = two_balls(
        "mass='1'", "mass='3'", "<compiler settotalmass='8'/><option><flag gravity='disable'/></option>"
    )
    assert (bodies["a"].mass, bodies["b"].mass) == (2.0, 6.0) and not scene.gravity.any()
    assert bodies["b"].inertia[0, 0] == pytest.approx(0.4 * 6.0 * 0.01)
    bounded = two_balls("mass='1e-3'", "", "<compiler boundmass='0.5' boundinertia='0.7'/>")[1]["a"]
    assert bounded.mass == 0.5 and bounded.inertia[0, 0] == 0.7
    shell = two_balls("mass='1' shellinertia='true'")[1]["a"]
    assert shell.inertia[0, 0] == pytest.approx(2.0 / 3.0 * 0.01)
    flat = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/><freejoint/>"
    assert np.allclose(
        two_balls(head="<compiler balanceinertia='true'/>", joint=flat)[1]["a"].inertia, 5.0 / 3.0 * np.eye(3)
    )


def test_gravity_compensation_is_a_force():
    scene, bodies, _ = scene_of(
        "<mujoco><worldbody><body name='a' gravcomp='1'><freejoint/><geom size='0.1' mass='2'/></body></worldbody>"
        "</mujoco>"
    )
    assert scene.forces[0].body == bodies["a"].number
    np.testing.assert_allclose(scene.forces[0].force, [0.0, 0.0, 2 * 9.81])


def test_what_has_no_counterpart_is_named():
    """solref, margin, gap, solreflimit, actuatorfrcrange, the range of a ball joint, mocap, and what nobody knows."""
    notes = scene_of(
        """<mujoco><option viscosity="1"/><worldbody><body name="m" mocap="true"><geom size="0.1"/></body>
        <body name="a"><joint name="j" type="ball" range="0 1" limited="true"/>
<geom size="0.1" solref="0.1 1" margin="0.01" gap="0.01" newthing="3"/>
        <body><joint axis="1 0 0" actuatorfrcrange="-1 1" solreflimit="0.1 1"/><geom size="0.1"/></body></body>
        </worldbody><keyframe><key qpos="1 0 0 0 0"/></keyframe></mujoco>"""
    )[2]
    text = "\n".join(notes)
    for word in (
        "solref of 1", "margin of 1", "gap of 1", "solreflimit of 1", "actuatorfrcrange of <joint>",
        "range of the ball", "mocap", "newthing of <geom>", "viscosity of <option>", "<keyframe> of <mujoco>",
    ):  # fmt: skip
        assert word in text, word
    assert len(notes) == len(set(notes))


def test_global_coordinates_are_those_of_the_world():
    def hopper(kind, geom, joint):
        return scene_of(
            f"<mujoco><compiler angle='radian' coordinate='{kind}'/><worldbody><body name='torso' pos='0 0 1'>"
            f"<freejoint/><geom size='0.1'/><body name='leg' pos='{'0 0 0.7' if kind == 'global' else '0 0 -0.3'}'>"
            f"<joint axis='0 1 0' pos='{joint}'/><geom type='capsule' size='0.02' fromto='{geom}'/></body></body>"
            "</worldbody></mujoco>"
        )

    whole, local = hopper("global", "0 0 0.7 0 0 0.2", "0 0 0.9"), hopper("local", "0 0 0 0 0 -0.5", "0 0 0.2")
    np.testing.assert_allclose(whole[1]["leg"].position, [0, 0, 0.45], atol=1e-15)
    np.testing.assert_allclose(whole[1]["leg"].position, local[1]["leg"].position, atol=1e-15)
    np.testing.assert_allclose(whole[0].joints[0].at_a, local[0].joints[0].at_a, atol=1e-15)


def test_several_joints_of_a_body_and_boxes_from_point_to_point():
    """Two slides and a hinge keep a box in its plane; its mass is its own, and the joints have their names."""
    scene, bodies, notes = scene_of(
        """<mujoco><compiler angle="radian"/><worldbody><body name="torso" pos="0 0 1">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1" ref="1"/>
        <joint name="pitch" axis="0 1 0"/><geom type="box" size="0.1" fromto="0 0 0 0 0 0.4" mass="2"/></body>
</worldbody></mujoco>"""
    )
    torso = bodies["torso"]
    assert [joint.name for joint in scene.joints] == ["x", "z", "pitch"] and torso.mass == 2.0
    # half sizes 0.1, 0.1 and 0.2
    assert np.diag(torso.inertia) == pytest.approx([2 / 12 * (0.04 + 0.16), 2 / 12 * (0.04 + 0.16), 2 / 12 * 0.08])
    assert sum(body.kind == "moving" for body in scene.bodies) == 3 and any("several joints" in note for note in notes)


def test_limits_that_leave_out_the_start_move_it():
    """A knee of 30 to 70 degrees begins at 30, the shin turned with it; limits count from there."""
    text = """<mujoco><worldbody><body name="thigh"><freejoint/><geom size="0.1"/><body name="shin" pos="0 0 -0.2">
    <joint name="knee" axis="0 1 0" range="30 70"/><geom size="0.05" pos="0.3 0 0"/></body></body></worldbody>
</mujoco>"""
    scene, bodies, notes = scene_of(text)
    np.testing.assert_allclose(
        bodies["shin"].position, [0.3 * math.cos(math.pi / 6), 0.0, -0.2 - 0.3 * math.sin(math.pi / 6)], atol=1e-12
    )
    assert scene.joints[0].limits == pytest.approx((0.0, math.radians(40)))
    assert any("begin at the nearest limit" in note for note in notes)
    posed = imported(parse_xml(text.encode(), "r.xml"), ImportOptions(pose={"knee": 1.0})).scenario.scene
    np.testing.assert_allclose(
        posed.bodies[2].position, [0.3 * math.cos(1.0), 0.0, -0.2 - 0.3 * math.sin(1.0)], atol=1e-12
    )
    with pytest.raises(ModelError, match="ankle"):
        imported(parse_xml(text.encode(), "r.xml"), ImportOptions(pose={"ankle": 1.0}))


def test_springs_servos_armature_and_defaults():
    scene, _, notes = scene_of(
        """<mujoco><compiler angle="radian"/><default class="robot"><joint armature="0.2" damping="3"/>
        <default class="soft"><joint stiffness="50" springref="0.4"/></default></default><worldbody>
        <body name="a"><freejoint/><geom size="0.1"/><body name="b" childclass="soft">
<joint name="spring" axis="0 1 0"/><geom size="0.1"/></body>
        <body name="c" pos="1 0 0"><joint name="servo" axis="0 1 0"/><geom size="0.1"/></body></body></worldbody>
        <actuator><position joint="servo" kp="80" kv="4" forcerange="-9 9"/></actuator></mujoco>"""
    )
    spring, servo = scene.joints
    assert (spring.armature, spring.damping, spring.motor.stiffness, spring.motor.target) == (0.2, 3.0, 50.0, 0.4)
    assert math.isinf(spring.motor.effort)
    assert (servo.motor.stiffness, servo.motor.damping, servo.motor.effort) == (80.0, 4.0, 9.0)
    assert any("sim.joint('servo').target" in note for note in notes)


# -- URDF and SDF ------------------------------------------------------------------------------------------------------

BAD = """<robot name="r"><link name="base"><inertial><mass value="{mass}"/>
<inertia ixx="{ixx}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 1"/></geometry></collision></link>
<link name="frame"><inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial><collision><geometry>
<sphere radius="0.2"/></geometry></collision></link>
<joint name="j" type="fixed"><parent link="base"/><child link="frame"/><origin xyz="0 0 2"/></joint></robot>"""


def test_a_root_without_mass_is_held_and_frames_without_mass_are_one_with_their_parents():
    scene, bodies, _ = scene_of(BAD.format(mass=0, ixx=1))
    assert bodies["base"].kind == "static" and not scene.joints
    scene, bodies, notes = scene_of(BAD.format(mass=2, ixx=1))
    assert bodies["base"].mass == 2.0 and "frame" not in bodies and len(bodies["base"].shape.parts) == 2
    assert any("one with their parents" in note for note in notes)
    held = imported(parse_xml(BAD.format(mass=2, ixx=1).encode(), "r.urdf"), ImportOptions(base="fixed")).scenario.scene
    assert [body.kind for body in held.bodies] == ["static"] * 3


def test_inertias_are_repaired_on_request():
    text = BAD.format(mass=2, ixx=5).encode()
    with pytest.raises(ModelError, match=r"I_1 \+ I_2 >= I_3.*--repair"):
        imported(parse_xml(text, "r.urdf"))
    found = imported(parse_xml(text, "r.urdf"), ImportOptions(repair=True))
    values = np.linalg.eigvalsh(found.scenario.scene.bodies[1].inertia)
    assert values[2] <= values[0] + values[1] and any("repaired" in note for note in found.notes)
    right = imported(parse_xml(BAD.format(mass=2, ixx=1).encode(), "r.urdf"), ImportOptions(repair=True))
    assert right.scenario.scene.bodies[1].inertia.tolist() == np.eye(3).tolist()


CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + (
    "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def test_meshes_are_hulls_with_the_mass_of_the_mesh(tmp_path):
    """A unit cube in OBJ, and in both forms of STL, scaled by 2, 1 and 1."""
    import struct

    (tmp_path / "cube.obj").write_text(CUBE)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([corners[list(t)] for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.float32)
    (tmp_path / "cube.stl").write_bytes(
        bytes(80) + struct.pack("<I", 12) + b"".join(bytes(12) + t.tobytes() + bytes(2) for t in triangles)
    )
    (tmp_path / "ascii.stl").write_text(
        "solid c\n" + "\n".join(f"vertex {x} {y} {z}" for x, y, z in triangles.reshape(-1, 3)) + "\nendsolid"
    )
    for name in ("cube.obj", "cube.stl", "ascii.stl"):
        robot = tmp_path / "robot.xml"
        robot.write_text(
            f"<mujoco><asset><mesh name='m' file='{name}' scale='2 1 1'/></asset><worldbody><body name='a'><freejoint/>"
            "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>"
        )
        body = import_robot(robot).scenario.scene.bodies[1]
        assert body.mass == pytest.approx(2000.0) and body.position == pytest.approx([1.0, 0.5, 0.5])
        assert np.diag(body.inertia) == pytest.approx([2000 / 12 * 2, 2000 / 12 * 5, 2000 / 12 * 5])
        assert len(body.shape.points) == 8
    (tmp_path / "fine.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in np.random.default_rng(1).normal(size=(500, 3)))
    )
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<collision><geometry><mesh filename='package://r/fine.obj'/></geometry></collision><collision><geometry>"
        "<mesh filename='none.dae'/></geometry></collision></link></robot>"
    )
    found = import_robot(urdf, corners=20)
    assert len(found.scenario.scene.bodies[1].shape.points) <= 20
    assert any("within" in note for note in found.notes) and any("'none.dae': no .obj" in note for note in found.notes)


CHAIN = """<robot name="c">{}</robot>""".format(
    "".join(
        f"<link name='l{k}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<collision><geometry><sphere radius='0.6'/></geometry></collision></link>" for k in range(4)
    )
    + "".join(
        f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/><origin xyz='{step} 0 0'/>"
        "<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        for k, step in enumerate((0.5, 0.5, 2.0))
    )
)  # fmt: skip


NEIGHBOURS = {(1, 2), (2, 3), (3, 4)}


@pytest.mark.parametrize(
    ("switch", "passing"), [("all", set()), ("none", {(1, 3), (1, 4), (2, 4)}), ("apart", {(1, 3)})]
)
def test_self_collision(switch, passing):
    """Balls of radius 0.6 at 0, 0.5, 1 and 3 m: neighbours pass, and the first and third overlap."""
    found = imported(parse_xml(CHAIN.encode(), "c.urdf"), ImportOptions(self_collision=switch)).scenario.scene
    assert found.ignored == NEIGHBOURS | passing


def test_sdf():
    scene, bodies, notes = scene_of(SDF)
    rod, hinge = bodies["rod"], scene.joints[0]
    assert bodies["base"].kind == "static" and rod.mass == 2.0 and rod.material.friction == 0.7
    np.testing.assert_allclose(rod.position, [1.0, 0.2, 1.0], atol=1e-12)  # the model is turned by a right angle
    np.testing.assert_allclose(hinge.axis, [-1.0, 0.0, 0.0], atol=1e-12)
    assert hinge.limits == (-1.0, math.inf) and (hinge.damping, hinge.friction) == (0.3, 0.1)
    assert scene.gravity.tolist() == [0.0, 0.0, -3.0] and any("<visual>" in note for note in notes)


def test_included_files_lie_below_and_control_characters_never_come_through(tmp_path):
    (tmp_path / "part.xml").write_text(
        "<mujoco><worldbody><body name='a'><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    robot = tmp_path / "robot.xml"
    robot.write_text("<mujoco><include file='part.xml'/></mujoco>")
    assert import_robot(robot).scenario.scene.bodies[1].name == "a"
    robot.write_text("<mujoco><include file='../part.xml'/></mujoco>")
    with pytest.raises(ModelError, match="must lie beside this one or below"):
        import_robot(robot)
    robot.write_text("<mujoco><include file='robot.xml'/></mujoco>")
    with pytest.raises(ModelError, match="may be 8 deep"):
        import_robot(robot)
    with pytest.raises(ModelError, match="control character"):
        imported(
            parse_xml(
                "<sdf><model name='m'><link name='l'><pose>\u009b31m</pose></link></model></sdf>".encode(), "r.sdf"
            )
        )


def test_a_chain_of_nine_hundred_links_is_read():
    """Neither depth nor pairs stop it; one link more than a thousand is refused."""

    def chain(count):
        links = "".join(
            f"<link name='l{k}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
            for k in range(count)
        )
        return links + "".join(
            f"<joint name='j{k}' type='continuous'><parent link='l{k}'/><child link='l{k + 1}'/></joint>"
            for k in range(count - 1)
        )

    read = robot_from_urdf(parse_xml(f"<robot name='c'>{chain(900)}</robot>".encode(), "c.urdf"), ImportOptions())
    read._start()
    read._weld()
    assert len(read.links) == 900 and read.links[-1].root is read.links[0] and not read.links[-1].static
    with pytest.raises(ModelError, match="at most 1000 links"):
        imported(parse_xml(f"<robot name='c'>{chain(1001)}</robot>".encode(), "c.urdf"))
