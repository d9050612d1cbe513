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
    from stickslip.io.models.file import read_model
    from stickslip.io.models.layout import schema_text

    if schema:
        print(schema_text(), end="")
        return
    if not files:
        raise ValueError("check needs the names of model files, or --schema.")
    found = []
    for path in files:
        model = read_model(path)
        found.append({"file": str(path), **describe(model.scenario), "problem": problem_at_start(model)})
    if as_json:
        print_json({"files": found}, indent=2)
    for entry in [] if as_json else found:
        sizes = ", ".join(f"{count} {what}" for what, count in entry["sizes"].items())
        head = printable(f"{entry['file']}: {entry['title']}")
        print(f"{head}: {sizes}; dt = {entry['dt']:g} s, t_end = {entry['t_end']:g} s")
        for line in entry["notes"]:
            print(f"  {printable(line)}")
    problems = [f"{entry['file']}: {entry['problem']}" for entry in found if entry["problem"]]
    for text in problems:
        print(f"stickslip: error: {printable(text)}", file=sys.stderr)
    if problems:
        raise typer.Exit(1)


def problem_at_start(model: "Model") -> str | None:
    """What `run` would say of the initial state: bodies or contacts that overlap beyond the tolerance."""
    from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_penetration
    from stickslip.run.scene_simulate import prepare_run
    from stickslip.scenario import SceneScenario

    scenario = model.scenario
    try:
        if not isinstance(scenario, SceneScenario):
            system = scenario.system
            gaps = system.gap(scenario.q0, 0.0, system.parameter_vector(scenario.params))
            tolerance = model.options.get("penetration_tol", PENETRATION_TOLERANCE)
            check_penetration(system, gaps, tolerance, "q0", "starts")
            draw_start(scenario)
        else:  # as `Scene.simulate` does with the options of the file, which looks for overlaps
            prepare_run(scenario.scene, scenario.dt, scenario.t_end, **scenario.options)
    except ValueError as problem:
        return str(problem)
    return None


def draw_start(scenario: "Scenario") -> None:
    """Raise ValueError where a shape of the drawing has no value at the start."""
    if scenario.drawing is not None:
        scenario.drawing(scenario.q0.tolist(), 0.0, scenario.parameters)


def describe(scenario: Any) -> dict[str, Any]:
    """Facts about a scenario, plain values only."""
    from stickslip.scenario import SceneScenario

    common = {"title": scenario.title, "dt": scenario.dt, "t_end": scenario.t_end}
    if isinstance(scenario, SceneScenario):
        scene = scenario.scene
        kinds = [body.kind for body in scene.bodies[1:]]
        sizes = {f"{kind} bodies": kinds.count(kind) for kind in ("moving", "driven", "static") if kind in kinds}
        return {**common, "kind": "scene", "sizes": {**sizes, "joints": len(scene.joints)}, "notes": []}
    system = scenario.system
    sizes = {"coordinates": system.n_dof, "contacts": system.n_contacts, "parameters": len(system.parameter_names)}
    gaps = system.gap(scenario.q0, 0.0, system.parameter_vector(scenario.params))
    notes = []
    for name, kind, unit, gap in zip(system.contact_names, system.contact_kinds, system.gap_units, gaps, strict=True):
        if kind == 0:
            state = "touches at the start" if gap == 0.0 else f"starts with a gap of {gap:.4g} {unit}"
            notes.append(f"contact {name!r} {state if gap >= 0 else f'starts {-gap:.3g} {unit} deep'}")
    notes.append(
        "drawn by [drawing]" if scenario.drawing is not None else "no [drawing]: --animate makes no film of it"
    )
    return {**common, "kind": "lagrangian", "sizes": sizes, "notes": notes}
