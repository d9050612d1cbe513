"""Every Python block of the README and the documentation runs; the blocks of one page share their names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
