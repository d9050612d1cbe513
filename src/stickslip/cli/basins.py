"""`stickslip basins NAME --vary Q=A:B:N --vary U=A:B:N`: which attractor every start ends on."""

from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.options import DeviceIfGiven, Dt, LongTEnd, Mechanism, Section, Settings, Stepper, grouped
from stickslip.cli.output import Results, line, multiplier_text
from stickslip.cli.settings import mechanism_with, varied

if TYPE_CHECKING:
    from stickslip.analysis.basins import BasinMap


@grouped
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
    device: DeviceIfGiven = None,
    confirm: Annotated[
        bool, typer.Option("--confirm/--no-confirm", help="Judge every cycle by event-driven shooting.")
    ] = True,
    *,
    results: Results,
) -> None:
    """Run a system from every start of a grid, tell the attractors apart, and have the judge confirm the cycles."""
    from stickslip.analysis.basins import basins as compute

    scenario = mechanism_with(settings, name)
    results.check()
    result = compute(
        scenario, varied(vary), section=section, stepper=stepper, dt=dt, t_end=t_end, tol=tol, confirm=confirm,
        device=device,
    )  # fmt: skip
    if results.plot is not None:
        from stickslip.figures.bifurcation import basins as draw

        results.save(lambda: draw(result), f"Basins of attraction: {scenario.title}")
    results.tell(result.to_dict(), lambda: _show(result))


def _show(result: "BasinMap") -> None:
    starts = result.labels.size
    line(f"{result.system}: {starts} starts over {', '.join(result.names)}, {len(result.attractors)} outcomes", "bold")
    for attractor in result.attractors:
        line(f"  {attractor.words(result.units)}")
        if attractor.cycle is not None:
            numbers = ", ".join(multiplier_text(m, 6) for m in attractor.cycle.nontrivial[:4])
            moves = "".join(f", {key} {value:+.9g}" for key, value in attractor.cycle.shift.items())
            line(f"    judge: period {attractor.cycle.period:.11g} s{moves}, multipliers {numbers}")
        line(f"    {attractor.verdict}")
