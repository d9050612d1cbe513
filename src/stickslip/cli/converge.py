"""`stickslip converge NAME`: measured orders of the steppers, as a table and a plot."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.progress import status_line
from stickslip.cli.sections import MECHANISM_HELP

if TYPE_CHECKING:
    from stickslip.analysis.convergence import Convergence
    from stickslip.library import Scenario

_CYCLE_STEPS = (1e-4, 1e-5, 1e-6)
_CYCLE_TOLERANCES = (1e-11, 1e-12)
_WORDS = {"q_sup": "q, sup norm", "u_L1": "u, L1 norm", "u_graph": "u, graph"}


def converge(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    steppers: Annotated[
        str | None, typer.Option(help="Steppers to judge, separated by commas; default: all.", metavar="NAMES")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Coarsest step [s]; default: the system's own.", metavar="S")] = None,
    t_end: Annotated[float | None, typer.Option(help="End time [s]; default: the system's own.", metavar="S")] = None,
    halvings: Annotated[int, typer.Option(help="How often the step is halved.", metavar="N")] = 4,
    rtol: Annotated[float, typer.Option(help="Tolerance of the event-driven judge.", metavar="TOL")] = 1e-12,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON.", metavar="FILE.json")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a work-precision plot: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Measure the errors of the steppers against the event-driven judge, and their orders.

    Errors are relative to the range of each coordinate and velocity: q in the sup norm; u in the L1 norm and as the
    distance of its graph, in which jumps are filled in. For a system with a limit cycle (the woodpecker) its period and
    drop by every method follow.
    """
    from stickslip.analysis.convergence import converge as measure
    from stickslip.cli.run import mechanism_with

    scenario = mechanism_with(settings or [], name)
    chosen = None if steppers is None else [part.strip() for part in steppers.split(",") if part.strip()]
    if chosen is not None and not chosen:
        raise ValueError("--steppers must name at least one stepper.")
    _check_files(out, plot)
    with status_line("the judge") as advance:
        result = measure(scenario, chosen, dt=dt, halvings=halvings, t_end=t_end, rtol=rtol, advance=advance)
        cycles = _cycles(scenario, chosen, advance)
    report = {**result.to_dict(), "cycle": cycles}
    if out is not None:
        from stickslip.io.disk import replacing

        with replacing(out) as draft:
            draft.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.convergence import work_precision

        style.save(work_precision(result, scenario.title), plot, title=f"Convergence: {scenario.title}")
    if as_json:
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        _show(result, scenario, cycles, [path for path in (out, plot) if path is not None])


def _check_files(out: Path | None, plot: Path | None) -> None:
    """Raise before anything is computed if a file could not be written afterwards."""
    from stickslip.figures.files import require_figure, require_writable

    if plot is not None:
        require_figure("--plot", plot)
    if out is not None:
        if out.suffix.lower() != ".json":
            raise ValueError(f"--out must end in .json, got {out.name!r}.")
        require_writable("--out", out)
        if out.exists():
            raise ValueError(f"--out {out} exists; give another name.")


def _cycles(
    scenario: "Scenario", steppers: list[str] | None, advance: Callable[[str], None]
) -> list[dict[str, Any]] | None:
    """Period and drop per cycle by every method, for a system that has a section; None for the others."""
    from stickslip.analysis.cycle import SECTIONS, Cycle, judged_cycle, stepped_cycle
    from stickslip.events.event_driven import EventDriven
    from stickslip.mechanisms.steppers.adaptive import Adaptive
    from stickslip.run.options import STEPPERS

    section = SECTIONS.get(scenario.system.name)
    if section is None:
        return None
    rows: list[dict[str, Any]] = []

    def add(method: str, step: float, measured: Callable[[], Cycle]) -> None:
        advance(f"limit cycle: {method}, {step:g}")
        try:
            cycle = measured()
        except (ArithmeticError, ValueError) as problem:  # it failed, or the motion never settles: say so in the table
            rows.append({"stepper": method, "step": step, "status": str(problem)})
            return
        rows.append(
            {"stepper": method, "step": step, "period": cycle.period, "drop": cycle.drop, "spread": cycle.spread}
        )

    for method in STEPPERS if steppers is None else steppers:
        if method not in (EventDriven.name, Adaptive.name):
            for dt in _CYCLE_STEPS:
                add(method, dt, lambda method=method, dt=dt: stepped_cycle(scenario, section, method, dt))  # type: ignore[misc]
    for rtol in _CYCLE_TOLERANCES:
        add(EventDriven.name, rtol, lambda rtol=rtol: judged_cycle(scenario, section, rtol))  # type: ignore[misc]
    return rows


def _show(result: "Convergence", scenario: "Scenario", cycles: list[dict[str, Any]] | None, files: list[Path]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    line(f"{result.system}: {scenario.title}, {result.t_end:g} s", "bold")
    own = "; ".join(f"{_WORDS[key]} {value:.1e}" for key, value in result.floor.items())
    line(f"judge: event-driven, rtol {result.rtol:g}, {result.judge_seconds:.2f} s")
    line(f"       at rtol {100 * result.rtol:g} it differs by {own}")
    head = (
        f"  {'stepper':<17}{'dt | rtol':>10}" + "".join(f"{word:>14}" for word in _WORDS.values()) + f"{'seconds':>10}"
    )
    line(head, "bold")
    for row in result.rows:
        if row.status != "finished":
            line(f"  {row.stepper:<17}{row.step:>10.2e}  {row.status}", "red")
            continue
        values = [getattr(row, norm) for norm in _WORDS]
        errors = "".join(f"{'-':>14}" if math.isnan(value) else f"{value:>14.2e}" for value in values)
        line(f"  {row.stepper:<17}{row.step:>10.2e}{errors}{row.seconds:>10.3f}")
    line("  slopes (least squares over the runs above the judge's own error)", "bold")
    for stepper, slopes in result.slopes.items():
        cells = "".join(f"{'-' if math.isnan(slopes[norm]) else format(slopes[norm], '.2f'):>14}" for norm in _WORDS)
        line(f"  {stepper:<17}{'':>10}{cells}")
    if cycles is not None:
        line("  limit cycle", "bold")
        line(f"  {'method':<17}{'dt | rtol':>10}{'period [s]':>17}{'drop [mm]':>17}{'spread [s]':>12}")
        for entry in cycles:
            if "status" in entry:
                line(f"  {entry['stepper']:<17}{entry['step']:>10.0e}  {entry['status']}", "red")
                continue
            digits = 11 if entry["stepper"] == "event-driven" else 7
            line(
                f"  {entry['stepper']:<17}{entry['step']:>10.0e}{entry['period']:>17.{digits}f}"
                f"{1e3 * entry['drop']:>17.{digits - 3}f}{entry['spread']:>12.1e}"
            )
    for path in files:
        line(f"  written     {path}")
