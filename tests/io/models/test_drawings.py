"""Drawings in model files: those of the library come back as they were, and what is wrong is told with its line."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Polygon
from stickslip.io.models.drawing import FileDrawing, same_shapes
from stickslip.io.models.file import model_from_text, model_text
from stickslip.io.models.toml_text import ModelError

QUICK = ("bouncing_ball", "brick_on_ramp", "block_on_belt", "newton_cradle", "painleve_rod", "woodpecker")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in library.names() if name not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_drawing_of_the_library_is_the_same_from_its_file(name):
    scenario = library.get(name)
    text = model_text(scenario)
    again = model_from_text(text).scenario
    assert isinstance(again.drawing.shapes, FileDrawing)
    assert (again.drawing.view, again.drawing.follow, again.drawing.span) == (
        scenario.drawing.view,
        scenario.drawing.follow,
        scenario.drawing.span,
    )
    generator, p = np.random.default_rng(3), scenario.parameters
    for _ in range(4):
        q = scenario.q0 + generator.normal(size=len(scenario.q0)) * (0.01 + 0.1 * np.abs(scenario.q0))
        t = float(generator.uniform(0.0, scenario.t_end))
        assert same_shapes(scenario.drawing(q, t, p), again.drawing(q, t, p))
    assert model_text(again) == text  # nothing changes the second time


def test_sizes_follow_the_parameters():
    """The rod of a file is as long as its parameter says, whatever it was when it was written."""
    again = model_from_text(model_text(library.painleve_rod())).scenario
    other = library.painleve_rod(length=3.0)
    q = [0.1, 0.7, 0.4]
    assert same_shapes(other.drawing(q, 0.0, other.parameters), again.drawing(q, 0.0, other.parameters))
    assert not same_shapes(other.drawing(q, 0.0, other.parameters), again.drawing(q, 0.0, again.parameters))


BALL = """stickslip = 1
name = "ball"
[coordinates]
y = { velocity = "v", start = 1.0 }
[parameters]
m = 2.0
r = 0.1
[definitions]
top = "y + 2*r"
fast = "v*r"
[energies]
kinetic = "m*v**2/2"
potential = "9.81*m*y"
[[contacts]]
name = "floor"
gap = "y"
[drawing]
view = [-1, 1, -0.2, 2]
follow = "y"
[[drawing.shapes]]
type = "rectangle"
x = [-1, 1]
y = [-1, 0]
style = "ground"
[[drawing.shapes]]
type = "line"
points = [[0, "top"], [0, "top + 0.1*sin(3*t)"]]
[[drawing.shapes]]
type = "group"
name = "ball"
at = [0, "y + r"]
angle = "y/r"
items = [{ type = "circle", centre = [0, 0], radius = "r" }, { type = "polygon", points = [[0, 0], [1, 0], [0, 1]] }]
[[drawing.shapes]]
type = "marker"
contact = "floor"
point = [0, "y"]
[run]
dt = 1e-3
t_end = 0.1
"""


def test_a_drawing_written_by_hand():
    drawing = model_from_text(BALL, "ball.toml").scenario.drawing
    assert drawing.view == (-1.0, 1.0, -0.2, 2.0) and drawing.follow == "y"
    ground, line, ball, mark = drawing([0.5], 0.3, {"m": 2.0, "r": 0.2})
    assert ground == Polygon(((-1.0, -1.0), (1.0, -1.0), (1.0, 0.0), (-1.0, 0.0)), "ground")
    np.testing.assert_allclose(line.points, [(0.0, 0.9), (0.0, 0.9 + 0.1 * np.sin(0.9))])
    assert isinstance(ball, Group) and ball.placement.origin == (0.0, 0.7)
    assert ball.placement.c == pytest.approx(np.cos(2.5)) and ball.items[0] == Circle((0.0, 0.0), 0.2)
    assert mark == Marker(0, (0.0, 0.5), (0.0, 1.0))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'contact = "floor"',
            'contact = "flor"',
            "line 36, drawing.shapes[3].contact: unknown contact 'flor'; did you",
        ),
        ('follow = "y"', 'follow = "z"', "line 19, drawing.follow: unknown coordinate 'z'"),
        ("view = [-1, 1,", "view = [1, -1,", "line 18, drawing.view: x_min < x_max and y_min < y_max are expected"),
        ('"y + r"', '"y + R"', "line 31, drawing.shapes[2].at[1]: column 5: unknown name 'R'"),
        ('"y + r"', '"v"', "line 31, drawing.shapes[2].at[1]: column 1: unknown name 'v'"),
        (
            '"y + r"',
            '"fast"',
            "drawing.shapes[2].at[1]: a drawing depends on coordinates, t and parameters, not on 'v'",
        ),
        ('"ground"', '"grund"', "line 24, drawing.shapes[0].style: unknown value 'grund'; did you mean 'ground'?"),
        ('angle = "y/r"', 'angle = "y/r"\naxis = [1, 0]', "drawing.shapes[2].axis: angle and axis exclude one another"),
        ('radius = "r" }', 'radius = "r" , colour = "red" }', "items[0].colour: unknown key 'colour'"),
        ('type = "circle"', 'type = "group"', "items[0].type: unknown value 'group'"),
    ],
)
def test_what_is_wrong_with_a_drawing(old, new, expected):
    assert old in BALL
    with pytest.raises(ModelError) as error:
        model_from_text(BALL.replace(old, new, 1), "ball.toml")
    assert str(error.value).startswith("ball.toml") and expected in str(error.value)


def test_an_expression_without_a_value_is_one_line():
    drawing = model_from_text(BALL.replace('"y + r"', '"sqrt(-y)"'), "ball.toml").scenario.drawing
    with pytest.raises(
        ValueError, match=r"ball.toml, line \d+, drawing.shapes.*: this expression has no value at t = 0 s, q = \[0.5\]"
    ):
        drawing([0.5], 0.0, {"m": 2.0, "r": 0.2})


def test_functions_of_expressions_have_values():
    """Among them those that Python's math does not know."""
    point = (
        "piecewise(1, y < 0, 2)*heaviside(y) + sign(y)*max(y, r, 0) + mod(t, r) + floor(t) + abs(min(y, 0)) + sec(y)"
    )
    drawing = model_from_text(BALL.replace('"y + r"', f'"{point}"'), "ball.toml").scenario.drawing
    found = drawing([0.5], 0.35, {"m": 2.0, "r": 0.2})[2].placement.origin[1]
    assert found == pytest.approx(2.0 + 0.5 + 0.15 + 1.0 / np.cos(0.5))


def test_a_drawing_without_expressions_is_left_out_and_said():
    ball = library.bouncing_ball()

    def shapes(q, t, p):
        return [Circle((0.0, q[0]), 0.1 if q[0] < 0.5 else 0.2)]

    scenario = ss.Scenario(ball.system, ball.q0, ball.u0, ball.dt, ball.t_end, "Ball", "here", drawing=Drawing(shapes))
    text = model_text(scenario)
    assert "# Left out: the drawing of 'bouncing_ball' is a Python function without expressions" in text
    assert model_from_text(text).scenario.drawing is None
