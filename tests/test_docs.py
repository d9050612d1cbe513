"""Every Python block of the README and the documentation runs; the blocks of one page share their names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from stickslip import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line number and source of each block."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    names = {"__name__": "__main__"}
    for line, source in blocks(page):
        exec(compile("\n" * line + source, str(page), "exec"), names)
    assert len(names) > 2, f"the blocks of {page.name} define nothing"


def test_the_readme_has_an_example() -> None:
    assert blocks(ROOT / "README.md")


SHELL = re.compile(r"^```(?:text|sh|bash)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = sorted(
    {
        (page.name, line.split("  ")[0].split(" #")[0])
        for page in PAGES
        for block in SHELL.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.startswith("stickslip ")
    }
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
