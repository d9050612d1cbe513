"""MJCF and URDF: what is carried over, what is listed, what is refused."""

import math

import numpy as np
import pytest

from stickslip.io.models.file import model_from_text
from stickslip.io.models.imports import import_robot, imported
from stickslip.io.models.toml_text import ModelError
from stickslip.io.models.xml_text import parse_xml
from tests.io.models.robots import MJCF, URDF


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
    for word in ("integrator", "mesh", "prism with 24 sides", "damping", "<actuator>", "<light>", "<asset>"):
        assert any(word in note for note in notes), word
    assert all(note.startswith("line ") for note in notes[:6])


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
    for word in ("'rail' is held", "visual", "prism", "damping", "effort", "<transmission>", "no <inertial>"):
        assert any(word in note for note in notes), word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no XML: no element found"),
        ("<robot><link></robot>", "line 1: no XML: mismatched tag"),
        ("<!DOCTYPE r [<!ENTITY a 'aaaa'>]><robot>&a;</robot>", "line 1: a document type or entity is declared"),
        ("<!DOCTYPE r SYSTEM 'file:///etc/passwd'><robot/>", "a document type or entity is declared"),
        ("<html/>", "a MuJoCo file begins with <mujoco>"),
        ("<robot><link/></robot>", "line 1, <link>: the attribute 'name' is missing"),
        ("<robot name='r'><link name='a'/></robot>", "there is no body with a shape"),
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
            "must be positive definite beyond rounding",
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
