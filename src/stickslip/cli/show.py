"""`stickslip show NAME`: the derived equations of a library system."""

from typing import Annotated

import typer


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a library system, see `stickslip list`.")],
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX instead of text.")] = False,
) -> None:
    """Show mass matrix, forces, gaps and force directions, derived from the energies.

    As text the values of the parameters follow, under the names that `stickslip run --set` takes.
    """
    from stickslip import library

    scenario = library.get(name)
    scene = isinstance(scenario, library.SceneScenario)
    if latex and scene:
        raise ValueError(f"{name} is a scene of bodies and shapes: it has no equations to print as LaTeX.")
    if latex:
        print(scenario.system.equations().latex(), end="")
        return
    print(f"{scenario.title}, {scenario.source}\n")
    print(scenario.text() if scene else scenario.system.equations().text())
    print(f"settings, for 'stickslip run {name} --set NAME=VALUE'")
    settings = library.keywords(name)
    units = {} if scene else scenario.system.units
    width = max(len(key) for key in settings)
    for key, value in settings.items():
        unit = units.get(key, "")
        text = "derived" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        print(f"  {key:<{width}} = {text} {unit}".rstrip())
