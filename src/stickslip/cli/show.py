"""`stickslip show NAME|FILE`: the derived equations of a library system or a model file."""

from typing import Annotated, Any

import typer

from stickslip.cli.options import AsJson, Name
from stickslip.cli.output import print_json
from stickslip.cli.settings import opened
from stickslip.io.printable import printable


def show(
    name: Name,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of text.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show mass matrix, forces, gaps and force directions, derived from the energies.

    As text the values of the parameters follow, under the names that `stickslip run --set` takes.
    """
    from stickslip import library

    if name in library.circuit_names():
        _show_circuit(name, latex, as_json)
        return
    scenario: Any = opened(name, []).scenario
    if as_json:
        print_json(_facts(name, scenario, latex), indent=2)
        return
    if latex:
        print(scenario.latex(), end="")
        return
    print(printable(f"{scenario.title}, {scenario.source}") + "\n")
    print(scenario.text())
    settings = _settings(name, scenario)
    if not settings:
        return
    print(f"settings, for 'stickslip run {printable(name)} --set NAME=VALUE'")
    units = scenario.system.units
    width = max(len(key) for key in settings)
    for key, value in settings.items():
        unit = units.get(key, "")
        text = "derived" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        print(f"  {key:<{width}} = {text} {unit}".rstrip())


def _show_circuit(name: str, latex: bool, as_json: bool) -> None:
    """Elements, tree and loops of a circuit of the library."""
    from stickslip import library

    if latex:
        raise ValueError(f"{name} is a circuit: it has no equations to print as LaTeX; leave --latex out.")
    scenario = library.get(name)
    facts = {"name": name, "title": scenario.title, "source": scenario.source, "kind": scenario.kind}
    if as_json:
        print_json({**facts, "network": scenario.text(), "settings": library.keywords(name)}, indent=2)
        return
    print(printable(f"{scenario.title}, {scenario.source}") + "\n")
    print(scenario.text())
    print(f"settings, for 'stickslip run {printable(name)} --set NAME=VALUE'")
    units = library.units(name)
    for key, value in library.keywords(name).items():
        print(f"  {key} = {value:g} {units.get(key, '')}".rstrip())


def _facts(name: str, scenario: Any, latex: bool) -> dict[str, Any]:
    """Equations that the command shows, as plain values; the equations as text, or in LaTeX."""
    return {
        "name": name,
        "title": scenario.title,
        "source": scenario.source,
        "kind": scenario.file_kind,
        "sizes": scenario.sizes(),
        "equations": scenario.latex() if latex else scenario.text(),
        "settings": _settings(name, scenario),
        "units": dict(scenario.system.units),
    }


def _settings(name: str, scenario: Any) -> dict[str, Any]:
    """Names that `--set` takes, with their values."""
    from stickslip import library

    if name in (*library.names(), *library.scene_names()):
        return library.keywords(name)
    return dict(scenario.parameters)
