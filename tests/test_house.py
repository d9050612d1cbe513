"""Rules of the house, read off the sources: short functions, few parameters, one name for one thing, one vocabulary."""

import ast
import gc
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import stickslip

PACKAGE = Path(stickslip.__file__).parent
MOST_LINES = 80
MOST_LINES_OF_A_FILE = 800
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
ONCE = {
    "Store", "Book", "EnergyBook", "EventBook", "StepProblem", "Trajectory", "Certificate", "Scenario", "State",
    "Block", "Simulator", "GaussSeidel", "Lemke", "Auto", "Enumerate", "Newton", "AugmentedLagrangian", "LevelSection",
}  # fmt: skip
"""Classes that stood in several rooms, or might: one class of each name."""
OTHER_WORDS = {
    "duration": "t_end", "t_final": "t_end", "tend": "t_end", "end_time": "t_end", "transient": "skip",
    "discard": "skip", "keep": "points", "cut": "section", "tolerance": "tol", "eps": "tol", "advance": "progress",
    "tell": "progress", "verbose": "progress", "show_progress": "progress", "gpu": "device", "workers": "threads",
    "jobs": "threads", "parameters": "params", "overrides": "params", "step": "dt", "h": "dt", "integrator": "stepper",
    "scheme": "stepper", "output": "out", "file": "out", "most": "max_...",
}  # fmt: skip
"""Words that mean what another word of the public calls means already: the word to use."""


@cache
def sources():
    """Every module of the package: its file, and its text."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))
    }


class Definition(NamedTuple):
    """A module, class or function: what the rules ask of it.  Syntax trees are not kept: they are a million objects."""

    file: str
    kind: str
    name: str
    inside: str  # the class that a method belongs to
    lines: int
    parameters: tuple[str, ...]  # that a caller gives; of a class its annotated fields
    options: tuple[str, ...]  # parameters that are options of a command, declared here
    marks: tuple[str, ...]  # names of its decorators
    words: str  # the docstring


def defined(file, body, inside=""):
    """Definitions in a body and in the bodies within it, without walking through expressions."""
    for node in body:
        is_class = isinstance(node, ast.ClassDef)
        if is_class or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_class:
                given = [ast.arg(each.target.id) for each in node.body if isinstance(each, ast.AnnAssign)]
            else:
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                given = [each for each in every if each.arg not in ("self", "cls")]
            notes = [each for each in given if each.annotation is not None] if file.startswith("cli/") else []
            yield Definition(
                file, "class" if is_class else "function", node.name, inside, node.end_lineno - node.lineno + 1,
                tuple(each.arg for each in given),
                tuple(each.arg for each in notes if "typer.Option" in ast.unparse(each.annotation)),
                tuple(ast.unparse(each).split("(")[0] for each in node.decorator_list),
                ast.get_docstring(node, clean=False) or "",
            )  # fmt: skip
        for field in ("body", "orelse", "finalbody", "handlers"):
            yield from defined(file, getattr(node, field, ()), node.name if is_class else inside)


@cache
def definitions():
    """Every module, class and function of the package."""
    found = []
    gc.disable()  # nothing here is garbage: looking for some takes three times as long as parsing
    try:
        for file, text in sources().items():
            module = ast.parse(text)
            words = ast.get_docstring(module, clean=False) or ""
            found += [Definition(file, "module", file, "", 0, (), (), (), words), *defined(file, module.body)]
    finally:
        gc.enable()
    return found


def functions():
    """Every function of the package."""
    return [each for each in definitions() if each.kind == "function"]


def files_with(pattern, files=None):
    """Files whose text has a pattern."""
    return {file for file, text in sources().items() if (files is None or file in files) and re.search(pattern, text)}


def test_no_function_is_longer_than_a_page():
    assert len(functions()) > 3000
    assert {(each.file, each.name) for each in functions() if each.lines > MOST_LINES} == LONG


def test_no_file_holds_a_whole_room():
    assert {file for file, text in sources().items() if text.count("\n") > MOST_LINES_OF_A_FILE} == set()


def test_no_public_call_has_more_parameters_than_can_be_read():
    """More belong into groups, as `Records` and `Checks` of `simulate`."""
    found = [each for each in functions() if not each.name.startswith("_") or each.name == "__init__"]
    assert len(found) > 1000
    assert {(each.file, each.name) for each in found if len(each.parameters) > MOST_PARAMETERS} == MANY_PARAMETERS


def test_nobody_asks_whether_it_is_a_scene():
    """What differs between mechanisms and scenes is a method or an attribute of `Scenario`."""
    asked = r"\b(isinstance|type|issubclass)\([^\n]*\bScene(Scenario)?\b|__name__ [!=]= .Scene|hasattr\(.*.bodies.\)"
    assert files_with(asked) <= SCENES_ARE_BUILT
    assert re.search(asked, "if isinstance(given, Scene | Scenario):")


def test_the_driver_knows_no_kind_of_engine():
    """What an engine can do is said by the protocol (`engine.py`)."""
    driver = {"run/driver.py", "run/records.py", "engine.py"}
    assert driver <= set(sources())
    assert files_with(r"\bisinstance\([^\n]*Engine|\bisinstance\(\w*\.?engine\b", driver) == set()
    assert files_with(r"\bisinstance\(", {"run/driver.py", "engine.py"}) == set()


def test_compilers_are_known_to_their_room_alone():
    """Two commands print the version of LLVM."""
    known = files_with(r"(?m)^\s*(import|from) (llvmlite|numba)\b") - {"cli/doctor.py", "bench/lcp.py"}
    assert known and all(file.startswith("jit/") for file in known)


def test_one_class_of_one_name():
    assert sorted(each.name for each in definitions() if each.kind == "class" and each.name in ONCE) == sorted(ONCE)


def test_options_of_commands_are_declared_once():
    """An option with its words stands in `cli/options.py` as soon as a second command has it."""
    helps = re.findall(
        r'typer\.(?:Option|Argument)\((?:[^()]|\([^()]*\))*?help="([^"]+)"',
        "".join(text for file, text in sources().items() if file.startswith("cli/")),
    )
    assert len(helps) > 60
    assert {each for each in helps if helps.count(each) > 1} == set()


def public_calls():
    """Public functions, and how runs of classes are begun: name, and names of their keywords."""
    listed = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    public = set(re.findall(r"(?m)^from \S+ import (\w+)", listed))
    begun = {"Simulator.__init__", "Scene.simulate", "Scenario.simulate", "Circuit.simulate"}
    typed = {"ensembles/run.py Options", "request.py RunOptions"}  # dictionaries of further keywords
    names = ((f"{each.inside}.{each.name}" if each.inside else each.name, each) for each in functions())
    return {name: set(each.parameters) for name, each in names if name in public | begun} | {
        name: set(each.parameters) for each in definitions() if (name := f"{each.file} {each.name}") in typed
    }


def test_public_calls_share_their_words():
    """One word for one meaning in runs, ensembles, analyses, fits, gradients, circuits and exports."""
    calls = public_calls()
    assert len(calls) > 40
    assert set(calls) > {
        "simulate",
        "Scene.simulate",
        "Simulator.__init__",
        "ensemble",
        "fit",
        "gradient",
        "export_fmu",
    }
    assert {(name, word): OTHER_WORDS[word] for name, words in calls.items() for word in words & set(OTHER_WORDS)} == {}


def test_options_of_commands_share_the_words_of_calls():
    """Old words of options stand only beside the new word."""
    first = re.findall(r'typer\.Option\(\s*"--([a-z-]+)"', "".join(sources().values()))
    words = {word.replace("-", "_") for word in first} | {word for each in functions() for word in each.options}
    assert len(words) > 40 and not words & set(OTHER_WORDS)


@pytest.mark.parametrize("words", [r"as above|see above|so many|ditto", r"^\s*(The same|As above|Likewise)\b"])
def test_docstrings_can_be_read_alone(words):
    assert [(each.file, each.name) for each in definitions() if re.search(words, each.words)] == []


def test_kernels_are_short_and_take_few_arguments():
    """No kernel has more than 60 lines or eight arguments; what belongs together is a struct."""
    kernels = [each for each in functions() if {"kernel", "entry"} & set(each.marks)]
    assert len(kernels) > 800
    assert [(each.file, each.name) for each in kernels if each.lines > 60 or len(each.parameters) > 8] == []


STEP_OF_A_SCENE = {
    "scenes/step.py", "scenes/flight.py", "scenes/blows.py", "scenes/notes.py", "scenes/push_apart.py",
    "scenes/struck.py", "scenes/collision/broad_phase.py", "scenes/collision/narrow_phase.py",
    "scenes/islands/activation.py", "scenes/islands/problem.py", "scenes/islands/expected.py",
}  # fmt: skip
"""Where the parts of a scene's step stand, up to the solvers of its islands and the geometry of single pairs."""


def test_the_step_of_a_scene_has_short_parts_and_calls():
    """No part has more than 60 lines, and no call more than eight arguments; what belongs together has a name."""
    parts = [each for each in functions() if each.file in STEP_OF_A_SCENE]
    assert len(parts) > 100 and {each.file for each in parts} == STEP_OF_A_SCENE
    assert [part.name for part in parts if part.lines > 60 or len(part.parameters) > 8] == []
    for file in STEP_OF_A_SCENE:
        calls = [node for node in ast.walk(ast.parse(sources()[file])) if isinstance(node, ast.Call)]
        named = [(each.func.id, each) for each in calls if isinstance(each.func, ast.Name)]
        assert [name for name, call in named if len(call.args) > 8 and not name[0].isupper()] == []
