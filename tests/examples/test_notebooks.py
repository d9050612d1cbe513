"""The notebooks run from top to bottom, and what a cell returns can be shown."""

import ast
import json
import linecache
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["bodies", "own_mechanism", "woodpecker"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_whole_and_empty(path):
    """Notebooks are kept without outputs, so that a change of one shows what was changed."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4 and notebook["cells"][0]["cell_type"] == "markdown"
    for cell in notebook["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"] == [] and cell["execution_count"] is None)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path.stem == "woodpecker" else []) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "markdown":
            continue
        source, file = "".join(cell["source"]), f"{path.name}, cell {number}"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
            ways = [way for way in ("_repr_html_", "_repr_latex_", "_repr_png_") if hasattr(value, way)]
            assert not ways or any(getattr(value, way)() for way in ways), file  # a figure is a picture alone
            assert len(str(value).splitlines()) < 60, file
