"""`stickslip basins NAME --vary Q=A:B:N --vary U=A:B:N`: which attractor every start ends on."""

from typing import Annotated

import typer

from stickslip.cli.options import AsJson, Device, Dt, JsonOut, LongTEnd, Mechanism, Plot, Section, Settings, Stepper
from stickslip.cli.output import line, multiplier_text, print_json, require_json, require_plot, write_json, written
from stickslip.cli.settings import mechanism_with, varied


def basins(
    name: Mechanism,
    vary: Annotated[
        list[str],
        typer.Option(metavar="NAME=A:B:N", help="Coordinate, velocity or parameter and its values; may be repeated."),
    ],
    settings: Settings = None,
    section: Section = None,
    stepper: Stepper = "moreau-midpoint",
    dt: Dt = None,
    t_end: LongTEnd = None,
    tol: Annotated[float, typer.Option(help="Cycles that differ by more, relative, are two.", metavar="TOL")] = 0.03,
    device: Device = None,
    confirm: Annotated[
        bool, typer.Option("--confirm/--no-confirm", help="Judge every cycle by event-driven shooting.")
    ] = True,
    out: JsonOut = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Run a system from every start of a grid, tell the attractors apart, and have the judge confirm the cycles."""
    from stickslip.analysis.basins import basins as compute

    scenario = mechanism_with(settings, name)
    require_json(out)
    require_plot(plot)
    result = compute(
        scenario, varied(vary), section=section, stepper=stepper, dt=dt, t_end=t_end, tol=tol, confirm=confirm,
        device=device,
    )  # fmt: skip
    write_json(result.to_dict(), out)
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import basins as draw

        style.save(draw(result), plot, title=f"Basins of attraction: {scenario.title}")
    if as_json:
        print_json(result.to_dict())
        return
    starts = result.labels.size
    line(f"{result.system}: {starts} starts over {', '.join(result.names)}, {len(result.attractors)} outcomes", "bold")
    for attractor in result.attractors:
        line(f"  {attractor.words(result.units)}")
        if attractor.cycle is not None:
            numbers = ", ".join(multiplier_text(m, 6) for m in attractor.cycle.nontrivial[:4])
            moves = "".join(f", {key} {value:+.9g}" for key, value in attractor.cycle.shift.items())
            line(f"    judge: period {attractor.cycle.period:.11g} s{moves}, multipliers {numbers}")
        line(f"    {attractor.verdict}")
    written(out, plot)
