"""Model files: library systems written and read back, errors with file, line and key, hostile input."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.io.models import layout
from stickslip.io.models.file import model_from_text, model_text, read_model, write_model
from stickslip.io.models.toml_text import ModelError, key_lines, toml_text
from stickslip.library import SceneScenario, scenes

QUICK = [name for name in library.names() if name != "angled_bar"]
SMALL = {"granular_column": {"grains": 12}, "poured_spheres": {"spheres": 9}, "cube_stack": {"cubes": 3}}


@pytest.mark.parametrize("name", QUICK)
def test_a_library_system_is_the_same_from_its_file(name):
    scenario = library.get(name)
    again = model_from_text(model_text(scenario)).scenario
    assert again.system.equations() == scenario.system.equations()  # symbol by symbol
    assert again.system.source() == scenario.system.source()  # and so is every kernel made of it
    for key in ("parameter_names", "contact_names", "contact_kinds", "units", "coordinate_names", "velocity_names"):
        assert getattr(again.system, key) == getattr(scenario.system, key)
    assert sorted(again.system.positive) == sorted(scenario.system.positive)
    np.testing.assert_array_equal(again.system.parameter_values, scenario.system.parameter_vector(scenario.params))
    np.testing.assert_array_equal(again.q0, scenario.q0)
    np.testing.assert_array_equal(again.u0, scenario.u0)
    assert (again.dt, again.t_end, again.title, again.source) == (
        scenario.dt,
        scenario.t_end,
        scenario.title,
        scenario.source,
    )


@pytest.mark.parametrize("name", ["woodpecker", "slider_crank", "friction_oscillator"])
def test_the_motion_of_a_file_is_the_same_bit_for_bit(name, tmp_path):
    scenario = library.get(name)
    model = read_model(write_model(scenario, tmp_path / "model.toml"))
    options = {"t_end": 40 * scenario.dt, "engine": "reference"}
    expected, found = scenario.simulate(**options), model.scenario.simulate(**options)
    for key in ("t", "q", "u", "gap", "normal_impulse", "contact_state"):
        np.testing.assert_array_equal(getattr(found, key), getattr(expected, key))


@pytest.mark.parametrize("name", scenes.__all__)
def test_a_scene_is_the_same_from_its_file(name):
    scene = getattr(scenes, name)(**SMALL.get(name, {}))
    scenario = SceneScenario(scene, 1e-3, 0.5, name, "library")
    if any(callable(each.force) for each in scene.forces):
        with pytest.raises(ValueError, match="is a Python function: it cannot be written"):
            model_text(scenario)
        return
    again = model_from_text(model_text(scenario)).scenario.scene
    for before, after in zip(scene.bodies, again.bodies, strict=True):
        assert (before.name, before.kind, before.mass, before.angle, before.life) == (
            after.name,
            after.kind,
            after.mass,
            after.angle,
            after.life,
        )
        for key in ("inertia", "position", "orientation", "velocity", "angular_velocity", "centre"):
            np.testing.assert_array_equal(getattr(before, key), getattr(after, key))
        assert before.material == after.material
    assert scene.ignored == again.ignored
    np.testing.assert_array_equal(scene.gravity, again.gravity)
    for before, after in zip(scene.joints, again.joints, strict=True):
        assert (before.kind, before.a, before.b, before.limits, before.motor, before.friction) == (
            after.kind,
            after.a,
            after.b,
            after.limits,
            after.motor,
            after.friction,
        )
        np.testing.assert_array_equal(before.axis, after.axis)


def test_a_system_of_functions_says_that_it_cannot_be_written():
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-1.0,), name="ball")
    scenario = ss.Scenario(system, [1.0], [0.0], 1e-3, 1.0, "Ball", "nowhere")
    with pytest.raises(ValueError, match="'ball' is made of functions, and a file holds expressions"):
        model_text(scenario)
    scene = ss.Scene(dim=2)
    scene.add_driven(ss.Circle(0.1), motion=lambda t: ((0.0, 0.0), 0.0), name="shaker")
    with pytest.raises(ValueError, match="'shaker' moves by a Python function"):
        model_text(SceneScenario(scene, 1e-3, 1.0, "Shaker", "nowhere"))


BALL = """stickslip = 1
name = "ball"

[coordinates]
y = { velocity = "v", unit = "m", start = 1.0 }

[parameters]
m = { value = 2.0, unit = "kg", positive = true }
g = 9.81
e = 0.5

[definitions]
weight = "m*g"

[energies]
kinetic = "m*v**2/2"
potential = "weight*y"

[[contacts]]
name = "floor"
gap = "y"
restitution_normal = "e"

[run]
dt = 1e-3
t_end = 1.0
stepper = "moreau-jean"
theta = 0.75
"""


def test_a_model_shows_itself_in_one_line_and_as_a_table():
    model = model_from_text(model_text(library.bouncing_ball()))
    assert str(model).startswith("<Model of Scenario 'bouncing_ball'") and len(str(model)) < 180
    assert model._repr_html_() == model.scenario._repr_html_() != ""


def test_a_file_written_by_hand():
    model = model_from_text(BALL, "ball.toml")
    system = model.scenario.system
    assert system.units == {"y": "m", "m": "kg"} and system.positive == ("m",)
    assert str(system.equations().h[0]) == "-g*m"
    assert model.options == {"stepper": "moreau-jean", "theta": 0.75}
    assert model.scenario.title == "ball"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "restitution_normal",
            "fricton",
            "ball.toml, line 22, contacts[0].fricton: unknown key 'fricton'; did you mean 'friction'?",
        ),
        ('"e"', '"ee"', "line 22, contacts[0].restitution_normal: column 1: unknown name 'ee'; did you mean 'e'?"),
        ('"e"', '"v"', "contact 'floor' may depend on coordinates, time, parameters only, but contains 'v'"),
        ("m*v**2/2", "m*w**2/2", "line 16, energies.kinetic: column 3: unknown name 'w'"),
        ("m*v**2/2", "m*v**3/2", "line 15, energies: the kinetic energy must be quadratic"),
        ("m*v**2/2", "m*y**2/2", "line 15, energies: the kinetic energy does not contain the velocity"),
        ('"weight*y"', "[1]", "line 17, energies.potential: an expression in quotes is expected, got [1]"),
        ("stickslip = 1", "stickslip = 2", "line 1, stickslip: format 2 is newer than 1"),
        ("stickslip = 1", "stickslp = 1", "the key 'stickslip' is missing, did you mean it by 'stickslp'"),
        ('name = "ball"', "", "the key 'name' is missing"),
        ('name = "ball"', "name = 3", "line 2, name: a text is expected, got 3"),
        ("g = 9.81", 'g = "fast"', "line 9, parameters.g: a number or a table is expected, got 'fast'"),
        ("g = 9.81", "g = inf", "line 9, parameters.g: a finite number is expected"),
        ("g = 9.81", "sin = 9.81", "line 9, parameters.sin: the name of a parameter must not be 'sin'"),
        ("g = 9.81", "y = 9.81", "line 9, parameters.y: the name 'y' is taken already"),
        ("value = 2.0", "value = -2.0", "parameter 'm' of system 'ball' must be positive, got -2"),
        ("e = 0.5", "e = 1.5", "restitution_normal of contact 'floor' must lie in [0, 1], got 1.5"),
        ("dt = 1e-3", "dt = 0", "line 25, run.dt: a number above 0 is expected, got 0"),
        ("dt = 1e-3", "dt = 2", "line 26, run.t_end: at least one step"),
        ('"moreau-jean"', '"moreau-jan"', "unknown value 'moreau-jan'; did you mean 'moreau-jean'?"),
        ("[energies]", "[energy]", "line 15, energy: unknown key 'energy'; did you mean 'energies'?"),
        ('gap = "y"', 'gap = "y" y', "line 21, column 11"),
        ("t_end = 1.0", "t_end = 1.0\nt_end = 2.0", "line 27, column 12: Cannot overwrite a value"),
        ('"m*g"', '"9**9**9"', "line 13, definitions.weight: column 8: an exponent may be 64 at most"),
        ("[[contacts]]", "[contacts]", "line 19, contacts: a list in [ ] is expected"),
        ("start = 1.0", 'start = "high"', "line 5, coordinates.y.start: a number is expected, got 'high'"),
        ("t_end = 1.0", "t_end = 1e14", "line 26, run.t_end: 1e+17 steps are more than can be counted; shorten t_end"),
        *[
            ('gap = "y"', f'gap = "{gap}"', "line 21, contacts[0].gap: gap of contact 'floor' jumps at ")
            for gap in (
                "y - mod(y, g)",
                "y + floor(t)",
                "y - heaviside(t)",
                "y + sign(y - 1)",
                "y - piecewise(1, y > 0.2, 0)",
                "y - piecewise(1, sin(y) > 0, 0)",
                "y - piecewise(e, y < e, 2*y, y < m, 2*m)",
            )
        ],
        ("start = 1.0", "start = true", "a number is expected, got True"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_key(old, new, expected):
    assert old in BALL
    with pytest.raises(ModelError) as error:
        model_from_text(BALL.replace(old, new, 1), "ball.toml")
    assert str(error.value).startswith("ball.toml") and expected in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


@pytest.mark.parametrize(
    "gap",
    [
        "y - abs(mod(t, g) - g/2)",
        "y - min(mod(t, g)/g/0.9, (1 - mod(t, g)/g)/0.1)",
        "y + floor(g)",
        "y - piecewise(0, t < e, t - e)",
        "y - piecewise(0, t < e, t - e, t < m, m - e)",
        "y - piecewise(1 - t**2, t > -1 and t < 1, 0)",
    ],
)
def test_gaps_whose_parts_meet_are_continuous(gap):
    model = model_from_text(BALL.replace('gap = "y"', f'gap = "{gap}"'), "ball.toml")
    assert model.scenario.system.n_contacts == 1


def test_forces_may_jump():
    text = BALL.replace("[[contacts]]", '[forces]\ny = "mod(t, e) + floor(t) + sign(v)"\n\n[[contacts]]')
    assert model_from_text(text, "ball.toml").scenario.system.n_dof == 1


def test_forces_equations_and_elements():
    text = """stickslip = 1
name = "every element"
coordinates = { x = {}, phi = { velocity = "omega" } }
parameters = { m = 1.0, J = 2.0, k = 3.0, F = 4.0 }
[equations]
mass = [["m", 0], [0, "J"]]
force = ["-k*x", "-k*phi"]
potential = "k*(x**2 + phi**2)/2"
[[contacts]]
type = "stop"
name = "stop"
coordinate = "x"
lower = -1
upper = 1
restitution = 0.5
[[contacts]]
type = "clutch"
name = "clutch"
angle = "phi"
[[contacts]]
type = "dry-friction"
name = "belt"
displacement = "x - 0.1*t"
threshold = "F"
[[contacts]]
type = "prestressed-spring"
name = "spring"
displacement = "phi - x"
preload = "2*F"
[[contacts]]
name = "roll"
gap = "x + 3"
slip = [["x", "phi"], ["1", "x"]]
friction = 0.3
[run]
dt = 0.01
t_end = 1.0
"""
    system = model_from_text(text).scenario.system
    assert system.contact_names == ("stop lower", "stop upper", "clutch", "belt", "spring", "roll")
    assert system.contact_kinds == (0, 0, 1, 2, 3, 0) and system.velocity_names == ("x_dot", "omega")
    again = model_from_text(model_text(model_from_text(text).scenario)).scenario.system
    assert again.source() == system.source()
    for change, word in (("force = [", 'kinetic = "m"\nforce = ['), ("[run]", "[forces]\nx = 1\n[run]")):
        with pytest.raises(ModelError):
            model_from_text(text.replace(change, word))


SCENE = """stickslip = 1
kind = "scene"
name = "shaker"
dim = 2
[run]
dt = 1e-3
t_end = 0.1
[[bodies]]
name = "table"
type = "driven"
shape = { type = "polygon", vertices = [[-1, -0.1], [1, -0.1], [1, 0], [-1, 0]] }
motion = ["0", "0.1*cos(20*t)"]
[[bodies]]
name = "disc"
shape = { type = "circle", radius = 0.1 }
mass = 1
position = [0, 0.1]
friction = 0.4
[[forces]]
body = "disc"
force = ["-0.5*vx", "sin(t)"]
[[springs]]
b = "disc"
at_a = [0, 1]
at_b = [0, 0.1]
stiffness = 10
"""


@pytest.mark.parametrize("law", ["poisson-at-once", "poisson-integrated", "stiffness-ratios-hertz"])
def test_a_scene_keeps_the_kind_of_its_law(law):
    text = model_text(SceneScenario(library.cradle().scene, 1e-3, 2e-3, "balls", "library", {"law": law}))
    scenario = model_from_text(text).scenario
    run = scenario.simulate()
    assert f'law = "{law}"' in text and run.attributes["law"] == law and f"law {law}," in str(run)


def test_a_scene_file_names_every_stepper():
    for stepper in ("stewart-trinkle", "paoli-schatzman", "adaptive", "event-driven"):
        more = "rtol = 1e-6" if stepper in ("adaptive", "event-driven") else ""
        model = model_from_text(SCENE.replace("dt = 1e-3", f'dt = 1e-3\nstepper = "{stepper}"\n{more}'))
        assert model.options["stepper"] == stepper and model.options.get("rtol") == (1e-6 if more else None)


def test_a_scene_with_motions_and_forces_as_expressions():
    scene = model_from_text(SCENE).scenario.scene
    velocity, spin = scene.bodies[1].motion(0.3)
    assert velocity == pytest.approx([0.0, 0.1 * np.cos(6.0)]) and spin == 0.0
    force = scene.forces[0].force(0.5, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert force == pytest.approx([-1.5, np.sin(0.5)])
    assert scene.springs[0].length == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("mass = 1\n", "", "line 13, bodies[1]: give mass or density of 'disc'"),
        ('"circle"', '"circl"', "line 15, bodies[1].shape.type: unknown value 'circl'; did you mean 'circle'?"),
        ("radius = 0.1", "radius = -0.1", "line 15, bodies[1].shape.radius: a number above 0 is expected"),
        ('body = "disc"', 'body = "disk"', "line 20, forces[0].body: unknown body 'disk'; did you mean 'disc'?"),
        ("position = [0, 0.1]", "position = [0, 0.1, 1]", "position of 'disc' must have shape (2,), got (3,)"),
        ('"0.1*cos(20*t)"', '"0.1*cos(20*x)"', "line 12, bodies[0].motion: column 12: unknown name 'x'"),
        ('"circle", radius', '"sphere", radius', "Sphere is a shape of space, the scene has dim = 2; use a Circle"),
        ('"circle", radius = 0.1', '"box", size = [1, 1]', "got 2; in the plane a box is a polygon of four vertices"),
        ('"circle", radius = 0.1', '"box", size = [1, 1, 1]', "the scene has dim = 2; use a Polygon (polygon)"),
        (
            '"circle", radius = 0.1',
            '"half-space", normal = [0, 1]',
            "the scene has dim = 2; use a HalfPlane (half-plane)",
        ),
        ('name = "disc"', 'name = "table"', "name of a body must be its own, got 'table' twice"),
    ],
)
def test_what_is_wrong_with_a_scene(old, new, expected):
    with pytest.raises(ModelError) as error:
        model_from_text(SCENE.replace(old, new, 1), "shaker.toml")
    assert str(error.value).startswith("shaker.toml, line") and expected in str(error.value)


def test_files_that_are_none(tmp_path):
    for content in (
        b"\xff\xfe\x00",
        b"= 1",
        b"[" * 10_000,
        b"a = " + b"[" * 5000,
        b"a=1979-99-99",
        b"\0",
        b"a." * 3000 + b"b=1",
    ):
        path = tmp_path / "bad.toml"
        path.write_bytes(content)
        with pytest.raises(ModelError) as error:
            read_model(path)
        assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    for path, word in ((tmp_path, "is a folder"), (tmp_path / "none.toml", "does not exist")):
        with pytest.raises(ModelError, match=word):
            read_model(path)
    (tmp_path / "large.toml").write_bytes(b"#" * 9_000_000)
    with pytest.raises(ModelError, match="a model file at most"):
        read_model(tmp_path / "large.toml")


def test_a_model_bomb_ends_within_a_second():
    laughs = "\n".join(f'd{k + 1} = "d{k}*d{k}*d{k} + sin(d{k})"' for k in range(30))
    bombs = [
        BALL.replace('weight = "m*g"', f'weight = "m*g"\nd0 = "y"\n{laughs}'),
        BALL.replace("m*v**2/2", "m*v**2/2*" + "*".join(f"sin(y + {k})" for k in range(200))),
        BALL.replace('"weight*y"', '"' + "(y + m + g + e)**40*" * 30 + 'y"'),
        BALL.replace('gap = "y"', 'gap = "y' + " + sin(y)*y" * 900 + '"'),
    ]
    for bomb in bombs:
        begin = time.process_time()
        with pytest.raises(ModelError):
            model_from_text(bomb, "bomb.toml")
        assert time.process_time() - begin < 1.5


def test_lines_of_keys():
    text = 'a = 1 # [x]\n"b c" = """\n[no]\n"""\n[t.u]\nk = [\n  1,\n  { z = 2, \'q"\' = "]" },\n]\n'
    text += "[[s]]\n[[s]]\nn.m = 3\n[s.v]\nw=1\n"
    lines = key_lines(text)
    expected = {("a",): 1, ("b c",): 2, ("t", "u"): 5, ("t", "u", "k"): 6, ("t", "u", "k", 0): 7, ("s", 0): 10}
    expected |= {
        ("t", "u", "k", 1, "z"): 8,
        ("t", "u", "k", 1, 'q"'): 8,
        ("s", 1, "n", "m"): 12,
        ("s", 1, "v", "w"): 14,
    }
    assert {key: lines[key] for key in expected} == expected


def test_toml_is_written_as_it_is_read():
    import tomllib

    content = {
        "a": 0.1 + 0.2,
        "b": [1, 2.5e-300, [True, 'x"\\\n\x07é']],
        "inf": [float("inf"), float("-inf")],
        "t": {"k 1": 1, "u": {"v": -0.0}},
        "s": [{"n": 1}, {"n": 2, "e": {}}],
    }
    assert tomllib.loads(toml_text(content)) == content


def test_the_schema_is_shipped_and_up_to_date():
    shipped = (Path(layout.__file__).parent / "schema.json").read_text(encoding="utf-8")
    assert shipped == layout.schema_text()
    schema = json.loads(shipped)
    lagrangian, scene, circuit = schema["oneOf"]
    assert set(lagrangian["properties"]) == set(layout.LAGRANGIAN.keys)
    assert lagrangian["required"] == ["stickslip", "name", "coordinates", "run"]
    assert "fricton" not in shipped and scene["properties"]["kind"]["enum"] == ["scene"]
    assert circuit["properties"]["kind"]["enum"] == ["circuit"]
    kinds = [form["properties"]["type"]["const"] for form in schema["$defs"]["shape"]["anyOf"]]
    assert {"box", "sphere", "compound"} <= set(kinds)


def test_a_scenario_without_a_title_and_a_source_is_written():
    ball = replace(library.bouncing_ball(), title="", source="")
    text = ss.model_text(ball)
    assert "source" not in text and ss.model_from_text(text).scenario.title == "bouncing_ball"


def test_a_scene_is_written_without_a_scenario(tmp_path):
    scene = library.cube_stack(cubes=2).scene
    scenario = read_model(write_model(scene, tmp_path / "cubes.toml", dt=2e-3, t_end=0.5)).scenario
    assert (scenario.dt, scenario.t_end) == (2e-3, 0.5) and scenario.scene.coordinate_names == scene.coordinate_names
    with pytest.raises(ValueError, match="a Scenario, a Scene, or a system"):
        write_model("cubes", tmp_path / "other.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    """Editors of Windows write them; the mark was an "Invalid statement" in line 1."""
    path = tmp_path / "marked.toml"
    text = model_text(library.get("bouncing_ball"))
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_model(path).scenario.parameters == library.get("bouncing_ball").parameters
