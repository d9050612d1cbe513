"""Rules of the house: short functions, few parameters, and one place that asks whether something is a scene."""

import ast
from functools import cache
from pathlib import Path

import pytest

import stickslip

PACKAGE = Path(stickslip.__file__).parent
MOST_LINES = 80
MOST_PARAMETERS = 16
LONG: set[tuple[str, str]] = set()
MANY_PARAMETERS = {
    # Data of a paper's table, one keyword each: a group would only hide their names.
    ("library/slider_crank.py", "slider_crank"),
    ("library/woodpecker.py", "woodpecker"),
}
"""What does not keep the rules; a name that keeps them has to leave."""
SCENES_ARE_BUILT = {"scenario.py"}
"""Where a `Scene` that a user gives becomes a scenario."""


@cache
def syntax():
    """Every function and every call of the package: its file, and its syntax."""
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Call)
    ]


def functions():
    """Every function of the package: its file, and its syntax."""
    return [(file, node) for file, node in syntax() if not isinstance(node, ast.Call)]


def parameters(node):
    """Names of the parameters that a caller gives."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [each.arg for each in every if each.arg not in ("self", "cls")]


def test_no_function_is_longer_than_a_page():
    lengths = {(file, node.name): node.end_lineno - node.lineno + 1 for file, node in functions()}
    assert len(lengths) > 3000
    assert {key for key, n in lengths.items() if n > MOST_LINES} == LONG


def test_no_public_call_has_more_parameters_than_can_be_read():
    """More belong into groups, as `Records` and `Checks` of `simulate`."""
    found = {
        (file, node.name): len(parameters(node))
        for file, node in functions()
        if not node.name.startswith("_") or node.name == "__init__"
    }
    assert len(found) > 1000
    assert {key for key, n in found.items() if n > MOST_PARAMETERS} == MANY_PARAMETERS


@pytest.mark.parametrize("kind", ["Scene", "SceneScenario"])
def test_nobody_asks_whether_it_is_a_scene(kind):
    """What differs between mechanisms and scenes is a method or an attribute of `Scenario`."""
    asked = set()
    for file, node in syntax():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if kind in names:
                asked.add(file)
    assert asked <= SCENES_ARE_BUILT


LONG_CALLS = {"activate", "contact_points", "impacts_in_sequence", "parting_shifts"}
"""What the step of a scene calls with more than eight arguments; a name that does with fewer has to leave."""


def test_the_step_of_a_scene_has_short_parts():
    """No part has more than 60 lines and eight parameters; calls of other files with more are counted out."""
    tree = ast.parse((PACKAGE / "scenes/step.py").read_text(encoding="utf-8"))
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(parts) > 20
    assert [part.name for part in parts if part.end_lineno - part.lineno >= 60 or len(parameters(part)) > 8] == []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    many = {call.func.id for call in calls if len(call.args) > 8 and not call.func.id[0].isupper()}
    assert many == LONG_CALLS
