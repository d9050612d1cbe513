"""`stickslip check FILE`: validate a model file and say what it holds."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import AsJson
from stickslip.cli.output import print_json
from stickslip.io.printable import printable

if TYPE_CHECKING:
    from stickslip.io.models.file import Model
    from stickslip.scenario import Scenario


def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Model files.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of model files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check model files: keys, expressions, equations and the initial state; nothing is run.

    What is wrong is told in one line with file, line and key. `stickslip show FILE` prints the derived equations.

    Exit codes: 0 all can be run, 1 a start overlaps beyond the tolerance or cannot be drawn, 2 a file or the request
    was wrong.
    """
    from stickslip.io.models.layout import schema_text

    if schema:
        print(schema_text(), end="")
        return
    if not files:
        raise ValueError("check needs the names of model files, or --schema.")
    found, wrong = [], []
    for path in files:
        try:
            found.append(_facts(path))
        except ValueError as problem:
            if len(files) == 1:
                raise
            wrong.append(str(problem))  # the files behind it are looked at, too
    if as_json:
        print_json({"files": found}, indent=2)
    for entry in [] if as_json else found:
        _print_facts(entry)
    problems = [f"{entry['file']}: {entry['problem']}" for entry in found if entry["problem"]]
    for text in (*wrong, *problems):
        print(f"stickslip: error: {printable(text)}", file=sys.stderr)
    if wrong or problems:
        raise typer.Exit(2 if wrong else 1)


def _facts(path: Path) -> dict[str, Any]:
    """What a model file holds, and what is wrong with its start; ValueError where it is none."""
    from stickslip.cli.circuit import described
    from stickslip.io.models.circuit import is_circuit_file
    from stickslip.io.models.file import read_model

    _require_file(path)
    if is_circuit_file(str(path)):
        return described(path)
    model = read_model(path)
    return {"file": str(path), **describe(model.scenario), "problem": problem_at_start(model)}


def _print_facts(entry: dict[str, Any]) -> None:
    """One line about a model file, and what one should know of its start."""
    from stickslip.checks import counted, singular

    sizes = ", ".join(
        counted(count, singular(what)) if what.endswith("s") else f"{count} {what}"
        for what, count in entry["sizes"].items()
    )
    head = printable(f"{entry['file']}: {entry['title']}")
    print(f"{head}: {sizes}; dt = {entry['dt']:g} s, t_end = {entry['t_end']:g} s")
    for line in entry["notes"]:
        print(f"  {printable(line)}")


def _require_file(path: Path) -> None:
    """ValueError where no file is there; systems of the library are no files."""
    if path.exists():
        return
    from stickslip.library import names, scene_names

    if str(path) in (*names(), *scene_names()):
        raise ValueError(
            f"{path} is a library system, not a file; 'stickslip new {path} --out {path}.toml' writes one."
        )
    raise ValueError(f"{path} does not exist; give the name of a model file.")


def problem_at_start(model: "Model") -> str | None:
    """Words of `run` for the initial state: bodies or contacts that overlap beyond the tolerance."""
    try:
        model.scenario.check_start(model.options)
    except ValueError as problem:
        return str(problem)
    return None


def describe(scenario: "Scenario") -> dict[str, Any]:
    """Facts about a scenario, plain values only."""
    return {
        "title": scenario.title,
        "dt": scenario.dt,
        "t_end": scenario.t_end,
        "kind": scenario.file_kind,
        "sizes": scenario.sizes(),
        "notes": scenario.remarks(),
    }
