"""`stickslip show NAME|FILE`: the derived equations of a library system or a model file."""

from typing import Annotated

import typer


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A library system, see `stickslip list`, or a model file (.toml).")
    ],
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of text.")] = False,
) -> None:
    """Show mass matrix, forces, gaps and force directions, derived from the energies.

    As text the values of the parameters follow, under the names that `stickslip run --set` takes.
    """
    from stickslip import library
    from stickslip.cli.models import opened
    from stickslip.model.lagrangian import LagrangianSystem

    scenario = opened(name, []).scenario
    system = getattr(scenario, "system", None)
    if not isinstance(system, LagrangianSystem):
        raise ValueError(f"{name} is a scene: its equations are those of its bodies, there is nothing to derive.")
    equations = system.equations()
    if latex:
        print(equations.latex(), end="")
        return
    print(f"{scenario.title}, {scenario.source}\n")
    print(equations.text())
    print(f"settings, for 'stickslip run {name} --set NAME=VALUE'")
    values = dict(zip(system.parameter_names, system.parameter_values.tolist(), strict=True))
    settings = library.keywords(name) if name in library.names() else values
    width = max((len(key) for key in settings), default=0)
    for key, value in settings.items():
        unit = system.units.get(key, "")
        text = "derived" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        print(f"  {key:<{width}} = {text} {unit}".rstrip())
