"""`stickslip basins NAME --vary Q=A:B:N --vary U=A:B:N`: which attractor every start ends on."""

import json
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.sections import DEVICE_HELP, MECHANISM_HELP, SECTION_HELP


def basins(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    vary: Annotated[
        list[str],
        typer.Option(metavar="NAME=A:B:N", help="Coordinate, velocity or parameter and its values; may be repeated."),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    section: Annotated[str | None, typer.Option(help=SECTION_HELP, metavar="SECTION")] = None,
    stepper: Annotated[str, typer.Option(help="Time stepper.", metavar="NAME")] = "moreau-midpoint",
    dt: Annotated[float | None, typer.Option(help="Step size [s]; default: the system's own.", metavar="S")] = None,
    duration: Annotated[
        float | None, typer.Option(help="Of each run [s]; default: ten times the system's own.", metavar="S")
    ] = None,
    tol: Annotated[float, typer.Option(help="Cycles that differ by more, relative, are two.", metavar="TOL")] = 0.03,
    device: Annotated[str | None, typer.Option(help=DEVICE_HELP, metavar="DEVICE")] = None,
    confirm: Annotated[
        bool, typer.Option("--confirm/--no-confirm", help="Judge every cycle by event-driven shooting.")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Write the map.", metavar="FILE.json")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Run a system from every start of a grid, tell the attractors apart, and have the judge confirm the cycles."""
    from stickslip.analysis.basins import basins as compute
    from stickslip.cli.progress import staged_bar
    from stickslip.cli.run import mechanism_with
    from stickslip.cli.sections import line, multiplier_text, require_json, section_from
    from stickslip.cli.sweep import varied
    from stickslip.ensembles.plan import axis_values
    from stickslip.figures.files import require_figure

    scenario = mechanism_with(settings or [], name)
    grid = {key: axis_values(key, text) for key, text in varied(vary).items()}
    require_json(out)
    if plot is not None:
        require_figure("--plot", plot)
    total = 1
    for values in grid.values():
        total *= len(values)
    with staged_bar(f"{total} starts", total) as (advance, tell):
        result = compute(
            scenario, grid, section=section_from(section, scenario), stepper=stepper, dt=dt, duration=duration, tol=tol,
            confirm=confirm, device=device, advance=advance, tell=tell,
        )  # fmt: skip
    if out is not None:
        out.write_text(json.dumps(result.to_dict(), allow_nan=False) + "\n", encoding="utf-8")
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import basins as draw

        style.save(draw(result), plot, title=f"Basins of attraction: {scenario.title}")
    if as_json:
        print(json.dumps(result.to_dict(), allow_nan=False))
        return
    line(f"{result.system}: {total} starts over {', '.join(result.names)}, {len(result.attractors)} outcomes", "bold")
    for attractor in result.attractors:
        line(f"  {attractor.words(result.units)}")
        if attractor.cycle is not None:
            numbers = ", ".join(multiplier_text(m, 6) for m in attractor.cycle.nontrivial[:4])
            moves = "".join(f", {key} {value:+.9g}" for key, value in attractor.cycle.shift.items())
            line(f"    judge: period {attractor.cycle.period:.11g} s{moves}, multipliers {numbers}")
        line(f"    {attractor.verdict}")
    for path in (out, plot):
        if path is not None:
            line(f"  written     {path}")
