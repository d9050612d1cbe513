"""`stickslip converge NAME`: measured orders of the steppers, as a table and a plot."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import Mechanism, Rtol, Settings, TEnd, grouped
from stickslip.cli.output import Results, line
from stickslip.cli.settings import opened

if TYPE_CHECKING:
    from stickslip.analysis.convergence import Convergence
    from stickslip.library import Scenario

_CYCLE_STEPS = (1e-4, 1e-5, 1e-6)
_CYCLE_TOLERANCES = (1e-11, 1e-12)
_WORDS = {"q_sup": "q, sup norm", "u_L1": "u, L1 norm", "u_graph": "u, graph"}


@grouped
def converge(
    name: Mechanism,
    steppers: Annotated[
        str | None, typer.Option(help="Steppers to judge, separated by commas; default: all.", metavar="NAMES")
    ] = None,
    settings: Settings = None,
    dt: Annotated[float | None, typer.Option(help="Coarsest step [s]; default: the system's own.", metavar="S")] = None,
    t_end: TEnd = None,
    halvings: Annotated[int, typer.Option(help="How often the step is halved.", metavar="N")] = 4,
    rtol: Rtol = 1e-12,
    *,
    results: Results,
) -> None:
    """Measure the errors of the steppers against the event-driven judge, and their orders.

    Errors are relative to the range of each coordinate and velocity: q in the sup norm; u in the L1 norm and as the
    distance of its graph, in which jumps are filled in. For a system with a limit cycle (the woodpecker) its period and
    drop by every method follow.
    """
    from stickslip.analysis.convergence import converge as measure
    from stickslip.analysis.progress import reported

    scenario = opened(name, settings or []).scenario
    chosen = None if steppers is None else [part.strip() for part in steppers.split(",") if part.strip()]
    if chosen is not None and not chosen:
        raise ValueError("--steppers must name at least one stepper.")
    results.check()
    with reported(None, "the judge") as report:
        result = measure(scenario, chosen, dt=dt, halvings=halvings, t_end=t_end, rtol=rtol, progress=report)
        cycles = _cycles(scenario, chosen, report)
    if results.plot is not None:
        from stickslip.figures.convergence import work_precision

        results.save(lambda: work_precision(result, scenario.title), f"Convergence: {scenario.title}")
    results.tell({**result.to_dict(), "cycle": cycles}, lambda: _show(result, scenario, cycles), indent=2)


def _cycles(
    scenario: "Scenario", steppers: list[str] | None, report: Callable[[str], None]
) -> list[dict[str, Any]] | None:
    """Period and drop per cycle by every method, for a system that has a section; None for the others."""
    from stickslip.analysis.cycle import Cycle, judged_cycle, stepped_cycle
    from stickslip.analysis.sections import SECTIONS, TRAVELS
    from stickslip.events.event_driven import EventDriven
    from stickslip.mechanisms.steppers.adaptive import Adaptive
    from stickslip.run.options import STEPPERS

    system = scenario.system.name if scenario.kind == "mechanism" else ""
    if system not in SECTIONS:
        return None
    where = SECTIONS[system], TRAVELS[system]
    rows: list[dict[str, Any]] = []

    def add(method: str, step: float, measured: Callable[[], Cycle]) -> None:
        report(f"limit cycle: {method}, {step:g}")
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
                add(method, dt, lambda method=method, dt=dt: stepped_cycle(scenario, *where, method, dt))  # type: ignore[misc]
    for rtol in _CYCLE_TOLERANCES:
        add(EventDriven.name, rtol, lambda rtol=rtol: judged_cycle(scenario, *where, rtol))  # type: ignore[misc]
    return rows


def _show(result: "Convergence", scenario: "Scenario", cycles: list[dict[str, Any]] | None) -> None:
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
        _show_cycles(cycles)


def _show_cycles(cycles: list[dict[str, Any]]) -> None:
    """The limit cycle by every method, as a table."""
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
