"""`stickslip limit-cycle NAME`: period, state on the section, Floquet multipliers, stability."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import (
    AsJson,
    JsonOut,
    LawIfGiven,
    Mechanism,
    Plot,
    Rtol,
    Section,
    Settings,
    SettleReturns,
    Width,
)
from stickslip.cli.output import line, multiplier_text, print_json, require_json, require_plot
from stickslip.cli.settings import mechanism_with
from stickslip.io.printable import printable

if TYPE_CHECKING:
    from stickslip.analysis.cycle_result import LimitCycle


def limit_cycle(
    name: Mechanism,
    settings: Settings = None,
    section: Section = None,
    stepper: Annotated[
        str, typer.Option(help="event-driven, or a time stepper such as moreau-midpoint.", metavar="NAME")
    ] = "event-driven",
    law: LawIfGiven = None,
    returns: Annotated[
        int | None, typer.Option(help="Passages of the section per cycle; default: what is seen.", metavar="N")
    ] = None,
    settle_returns: SettleReturns = 200,
    dt: Annotated[
        float | None,
        typer.Option(help="Step of the time stepper [s]; default: 5e-4 times the system's dt.", metavar="S"),
    ] = None,
    rtol: Rtol = 1e-11,
    members: Annotated[int, typer.Option(help="Motions the time stepper's map is averaged over.", metavar="N")] = 32,
    out: JsonOut = None,
    plot: Plot = None,
    width: Width = None,
    as_json: AsJson = False,
) -> None:
    """Find the limit cycle that a system settles on, by Newton shooting, with its Floquet multipliers.

    Event by event they come from saltation matrices and are checked against differences; a time stepper's return map
    is averaged over where its steps fall.  Multipliers that are 1 in any case (along the flow, and for coordinates that
    may shift) are marked.
    """
    from stickslip.analysis.cycle_result import NoCycle
    from stickslip.analysis.limit_cycle import limit_cycle as find
    from stickslip.request import require_one_of
    from stickslip.run.options import STEPPERS

    scenario = mechanism_with(settings, name)
    require_one_of("--stepper", stepper, tuple(STEPPERS))
    require_json(out)
    require_plot(plot, width)
    try:
        cycle = find(
            scenario, section=section, stepper=stepper, law=law, returns=returns, settle_returns=settle_returns,
            dt=dt, rtol=rtol, members=members,
        )  # fmt: skip
    except NoCycle as problem:
        text = str(problem).replace("settle_returns", "--settle-returns")
        advice = "another --section or start may help, a larger --settle-returns, or 0 for the start itself"
        print(f"stickslip: error: {printable(text)}; {advice}", file=sys.stderr)
        raise typer.Exit(1) from None
    files = [cycle.save(out)] if out is not None else []
    if plot is not None:
        files.append(_drawn(cycle, plot, width))
    if as_json:
        print_json(cycle.to_dict(), indent=2)
    else:
        _show(cycle, files)


def _drawn(cycle: "LimitCycle", path: Path, width: str | None) -> Path:
    """The figure of a cycle, on paper of a width."""
    from stickslip.figures.sheet import on_paper

    with on_paper(width):
        return cycle.plot(path)


def _show(cycle: "LimitCycle", files: list[Path]) -> None:
    def row(name: str, value: str, style: str = "") -> None:
        line(f"  {name:<12}{value}", style)

    units, certificate = cycle.units, cycle.certificate
    line(f"{cycle.system}: limit cycle, section where {cycle.section}", "bold")
    times = "once" if cycle.returns == 1 else f"{cycle.returns} times"
    row("period", f"{cycle.period:.12g} s, passes the section {times}")
    for name, value in cycle.shift.items():
        row("shift", f"{name} {value:+.10g} {units.get(name, '')} per cycle")
    state = zip((*cycle.coordinate_names, *cycle.velocity_names), cycle.x, strict=True)
    row("state", ", ".join(f"{name} = {value:.9g} {units.get(name, '')}".rstrip() for name, value in state))
    row("error", f"about {certificate.error:.1e} of the ranges of the motion, an estimate")
    for multiplier, kind in zip(cycle.multipliers, cycle.kinds, strict=True):
        note = f"  1 in any case: {kind}" if kind else ""
        row("multiplier", f"{multiplier_text(multiplier, 9)}  |.| = {_size(multiplier)}{note}")
    near = ": a multiplier is within its error of the unit circle" if cycle.stability == "undecided" else ""
    row("stability", cycle.stability + near, "green" if cycle.stable else "red")
    for event in cycle.events:
        speed = f" at {event['speed']:.6g} m/s" if event["speed"] is not None else ""
        row("event", f"{event['t']:.9f} s  {event['kind']}, {', '.join(event['contacts'])}{speed}")
    row("method", f"{cycle.method}, {'rtol' if cycle.method == 'event-driven' else 'dt'} = {cycle.step:g}")
    row("certificate", _certificate(certificate))
    for path in files:
        row("written", str(path))


def _size(multiplier: complex) -> str:
    """The absolute value of a multiplier; one below its nine digits with its power of ten."""
    size = abs(multiplier)
    return f"{size:.9f}" if size >= 0.5e-9 or size == 0.0 else f"{size:.1e}"


def _certificate(certificate: Any) -> str:
    import math

    from stickslip.checks import counted

    parts = [f"closure {certificate.closure:.1e} after {counted(certificate.iterations, 'Newton step')}"]
    if math.isfinite(certificate.multiplier_error):
        parts.append(f"largest multiplier good to {certificate.multiplier_error:.1e}")
    if math.isfinite(certificate.trivial_defect):
        parts.append(f"trivial multipliers off by {certificate.trivial_defect:.1e}")
    if math.isfinite(certificate.jacobian_error):
        what = "standard error of the multipliers" if certificate.noise > 0.0 else "derivative against differences"
        parts.append(f"{what} {certificate.jacobian_error:.1e}")
    if certificate.noise > 0.0:
        parts.append(f"standard error {certificate.noise:.1e}")
    if certificate.one_sided:
        parts.append(f"{certificate.one_sided} events with a one-sided derivative")
    return ", ".join(parts) + f", worst residual {certificate.max_residual:.1e}"
