"""Every Python block of the README and the documentation runs; the blocks of one page share their names."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import linecache
import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

import stickslip
from stickslip import cli
from stickslip.cli.pages import EXAMPLES
from stickslip.io.models.file import model_from_text, read_model
from stickslip.jit import KernelError, web
from stickslip.run import simulate
from tests.thinned import FULL, thinned

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LONG = ("models.md", "slider-crank.md", "tutorial.md")  # six kernels that nothing else needs
EXPORTED = ("page.md", "scenes.md")  # pages whose kernels for a browser take seconds
STEPPED = ("robots.md",)  # simulators that run for seconds; simulator.md has short ones


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line number and source of each block."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


def run_blocks(page: Path, asserting: bool = True) -> dict[str, object]:
    """Run the blocks in their order; a traceback names page and line."""
    names: dict[str, object] = {"__name__": "__main__"}
    for line, source in blocks(page):
        text, file = "\n" * line + source, f"{page}, block at line {line}"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # kernels read their source
        tree = ast.parse(text)
        tree.body = [statement for statement in tree.body if asserting or not isinstance(statement, ast.Assert)]
        exec(compile(tree, file, "exec"), names)
    return names


def no_browser(*_: object) -> None:
    """What makes kernels for a browser: without them pages show the run as it was recorded."""
    raise KernelError("left to the slow run")


SLOWLY = {**dict.fromkeys((*LONG, *STEPPED), pytest.mark.slow), **dict.fromkeys(EXPORTED, thinned)}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=SLOWLY.get(page.name, [])) for page in PAGES if blocks(page)],
    ids=lambda page: page.name,
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    if page.name in EXPORTED and not FULL:
        monkeypatch.setattr(web, "module", no_browser)
    names = run_blocks(page)
    assert len(names) > 2, f"the blocks of {page.name} define nothing"


@pytest.mark.parametrize("name", LONG)
def test_python_blocks_of_long_pages_run_coarsely(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of long pages run in at most 400 steps, ten times as long, by the engine that compiles nothing.

    The slow test checks their assertions.
    """
    runs = []

    def coarse(system: object, q0: object, u0: object, *, dt: float, t_end: float, **options: object) -> object:
        wide = min(10 * dt, t_end)
        options = {**options, "every": 1, "engine": "reference", "on_energy_gain": "ignore"}
        runs.append(fine(system, q0, u0, dt=wide, t_end=min(t_end, 400 * wide), **options))
        return runs[-1]

    fine = simulate.simulate
    monkeypatch.setattr(stickslip, "simulate", coarse)  # first: it may be looked up for the first time, and is put back
    monkeypatch.setattr(simulate, "simulate", coarse)
    monkeypatch.chdir(tmp_path)
    names = run_blocks(ROOT / "docs" / name, asserting=False)
    assert len(names) > 2 and runs
    assert all(run.complete and run.certificate.failed_steps == 0 for run in runs)


@pytest.mark.parametrize(
    "module",
    [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "src").rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_examples_in_docstrings_run(module: str) -> None:
    """Examples of all docstrings of a module give the results that they show."""
    done = doctest.testmod(importlib.import_module(module))
    assert done.failed == 0 and done.attempted > 0


def test_the_readme_has_an_example() -> None:
    assert blocks(ROOT / "README.md")


REFERENCE = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "api").glob("*.md")))


def test_the_reference_has_every_public_name() -> None:
    listed = set(re.findall(r"^::: stickslip\.(\w+)$", REFERENCE, re.MULTILINE))
    modules = {name for name in stickslip.__all__ if isinstance(getattr(stickslip, name), types.ModuleType)}
    assert set(stickslip.__all__) - modules - {"__version__"} <= listed


def test_the_reference_has_every_entry_of_the_library() -> None:
    listed = set(re.findall(r"^::: stickslip\.library\.(?:\w+\.)+(\w+)$", REFERENCE, re.MULTILINE))
    library = stickslip.library
    assert {*library.names(), *library.scene_names(), *library.circuit_names()} <= listed


def public_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """Public functions and classes with their methods, by name."""
    for name in stickslip.__all__:
        thing = getattr(stickslip, name)
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        if is_error or isinstance(thing, types.ModuleType) or not callable(thing):
            continue
        yield name, thing
        for method, function in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(function) and not method.startswith("_"):
                yield f"{name}.{method}", function


def test_docstrings_describe_parameters_that_exist() -> None:
    """A name that was changed in the signature alone would stay in the reference for ever."""
    cut = runpy.run_path(str(ROOT / "tools" / "docstring_parts.py"))["parts_of"]
    for name, thing in public_callables():
        known = set(inspect.signature(thing).parameters) | set(getattr(thing, "__annotations__", {}))
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(thing).parameters.values()):
            continue
        parts = [part for part in cut(inspect.getdoc(thing) or "") if part.kind == "Parameters"]
        described = {one.strip("*") for part in parts for names, _ in part.entries for one in names.split(", ")}
        assert described <= known | set(dir(thing)), (name, described - known)


def test_every_fenced_block_is_of_a_kind_that_is_checked() -> None:
    """Blocks under other names, or `python` blocks that are indented, would escape the tests of this file."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert "~~~" not in text, page
        kinds = re.findall(r"^( *)```(.*)$", text, re.MULTILINE)
        for indent, kind in kinds:
            assert kind in ("", "python", "text", "sh", "toml"), f"{page.name}: a block of {kind!r} runs in no test"
            assert not (indent and kind == "python"), f"{page.name}: an indented block of Python runs in no test"
        assert len(kinds) % 2 == 0, page


def test_files_that_the_documentation_names_exist() -> None:
    """Tests named by pages exist, files and rooms named by architecture.md exist, and it leaves no room out."""
    for page in PAGES:
        named = re.findall(r"`(tests/[\w/]+(?:\.py)?)`", page.read_text(encoding="utf-8"))
        assert [name for name in named if not (ROOT / name).exists()] == [], page.name
    package = ROOT / "src" / "stickslip"
    paths = [path for path in package.rglob("*") if path.is_dir() or path.suffix == ".py"]
    there = [f"/{path.relative_to(package).as_posix()}{'/' if path.is_dir() else ''}" for path in paths]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?!src/|tests/|tools/)[a-z_/]+(?:\.py|/))`", text)
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []
    rooms = {name[1:] for name in there if name.strip("/").count("/") == 0 and name[1] != "_"}
    assert rooms <= set(named)


def test_promises_name_tests_that_exist() -> None:
    """Tests that pages name by file and function are there, and every line of the tables of reliability.md has one."""
    named = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
    for page in PAGES:
        for file, name in named.findall(page.read_text(encoding="utf-8")):
            assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{page.name}: {file}::{name}"
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    heads = {"| broken | how | times | lost | test |": 31, "| fault | then | now | test |": 31}
    for head, least in {**heads, "| number | promise | test |": 12}.items():
        rows = text.split(f"{head}\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
        assert len(rows) >= least
        assert [row[:60] for row in rows if not named.search(row.rsplit(" | ", 1)[1])] == []


def test_a_block_that_fails_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("words\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    assert [line for line, _ in blocks(page)] == [3, 7]
    with pytest.raises(AssertionError):
        run_blocks(page)


def test_the_pieces_of_the_model_file_make_a_model() -> None:
    """The page shows a file piece by piece, indented in its list; together they are the example."""
    page = (ROOT / "docs" / "model-files.md").read_text(encoding="utf-8")
    text = "\n".join(
        textwrap.dedent(piece) for piece in re.findall(r"^ *```toml\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    )
    found, example = (model_from_text(text), read_model(ROOT / "examples" / "door_latch.toml"))
    assert found.scenario.system.source() == example.scenario.system.source()


SHELL = re.compile(r"^```(?:text|sh|bash)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = sorted(
    {
        (page.name, line.split("  ")[0].split(" #")[0])
        for page in PAGES
        for block in SHELL.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.startswith("stickslip ")
    }
    | {("help pages", line) for lines in EXAMPLES.values() for line in lines}
)


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda text: text[:50])
def test_commands_and_options_in_the_documentation_exist(page: str, line: str) -> None:
    """Every `stickslip ...` line of the documentation names a command and options that its help page lists."""
    words = shlex.split(line)[1:]
    group = typer.main.get_command(cli.app)
    path = []
    while words and words[0] in getattr(group, "commands", {}):
        path.append(words.pop(0))
        group = group.commands[path[-1]]
    assert path or words[0].startswith("-"), f"{page}: no command in {line!r}"
    known = {name for parameter in group.params for name in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help", "--version", "-V"}
    for word in words:
        if word.startswith("--"):
            assert word.split("=")[0] in known, f"{page}: {line!r} has an option that does not exist"


def test_live_pages_within_the_documentation_are_those_of_mechanisms():
    named = [name for path in PAGES for name in re.findall(r"<!-- live: (.*?) -->", path.read_text("utf-8"))]
    assert len(named) > 10 and set(named) <= set(stickslip.library.names())


EMPHASIS = re.compile(r"(?<!\*)\*(?![*\s])((?:[^*\n]|\n(?!\n))+)(?<!\s)\*(?!\*)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_stars_in_text_are_emphasis_and_not_parts_of_formulas(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.DOTALL)
    assert [found[1] for found in EMPHASIS.finditer(text) if re.search(r"[=+^_]|\bd?[a-z]\b \d", found[1])] == []


@pytest.mark.slow  # it draws every picture of the gallery
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="MkDocs is not installed: make docs installs it")
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {page.relative_to(tmp_path / "site").as_posix() for page in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "gallery.html", "gallery/woodpecker.html", "api/simulation.html"} <= pages
    theory = (tmp_path / "site" / "theory.html").read_text(encoding="utf-8")
    assert "<math" in theory and "arithmatex" not in theory
