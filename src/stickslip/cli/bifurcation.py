"""`stickslip bifurcation NAME --vary P=A:B:N`: what stays on the section, over a parameter; or one cycle continued."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.options import (
    DeviceIfGiven,
    Dt,
    LongTEnd,
    Mechanism,
    Section,
    Settings,
    SettleReturns,
    Stepper,
    grouped,
)
from stickslip.cli.output import Results, line, multiplier_text
from stickslip.cli.settings import mechanism_with, range_from, varied

if TYPE_CHECKING:
    from stickslip.analysis.continuation import Branch
    from stickslip.analysis.diagram import BifurcationDiagram
    from stickslip.scenario import Scenario


@dataclass(frozen=True)
class Diagram:
    """Options of the diagram: a run at every value."""

    observe: Annotated[
        str | None, typer.Option(help="What is drawn, with commas; default: period, then the state.", metavar="NAMES")
    ] = None
    follow: Annotated[
        bool, typer.Option("--follow", help="Start each run where the one before ended, to follow an attractor.")
    ] = False
    stepper: Stepper = "moreau-midpoint"
    dt: Dt = None
    t_end: LongTEnd = None
    device: DeviceIfGiven = None
    points: Annotated[
        int, typer.Option("--points", "--keep", help="Returns that are kept at the end of each run.", metavar="N")
    ] = 40


@dataclass(frozen=True)
class Continuation:
    """Options of the continuation of one cycle."""

    continuation: Annotated[
        bool, typer.Option("--continue", help="Follow one cycle by continuation and locate fold, flip and grazing.")
    ] = False
    settle_returns: SettleReturns = 200
    largest_step: Annotated[
        float, typer.Option(help="With --continue: longest step along the branch, in ranges.", metavar="X")
    ] = 0.05


@grouped
def bifurcation(
    name: Mechanism,
    vary: Annotated[
        str, typer.Option(metavar="NAME=A:B:N", help="Parameter and its values; NAME=A:B with --continue.")
    ],
    *,
    settings: Settings = None,
    section: Section = None,
    diagram: Diagram,
    branch: Continuation,
    results: Results,
) -> None:
    """Draw the bifurcation diagram of a system over one parameter, or continue one of its cycles.

    The diagram runs the time stepper at every value and keeps the last returns to the section.  With --continue the
    cycle at the first value is followed event by event, stable or not, and its bifurcations are located.
    """
    scenario = mechanism_with(settings, name)
    results.check()
    if branch.continuation:
        _continue(scenario, vary, section, branch, results)
    else:
        _draw(scenario, vary, section, diagram, results)


def _draw(scenario: "Scenario", vary: str, section: str | None, asked: Diagram, results: Results) -> None:
    from stickslip.analysis.diagram import bifurcation as compute

    ((parameter, values),) = varied([vary]).items()
    result = compute(
        scenario, parameter, values, section=section, stepper=asked.stepper, dt=asked.dt, t_end=asked.t_end,
        points=asked.points, follow=asked.follow, device=asked.device,
    )  # fmt: skip
    names = [part.strip() for part in asked.observe.split(",")] if asked.observe else _usual(result)
    for name in names:
        result.of(name)
    if results.plot is not None:
        from stickslip.figures.bifurcation import diagram as draw

        results.save(lambda: draw(result, names), f"Bifurcation diagram: {scenario.title}")
    results.tell(result.to_dict(), lambda: _show_diagram(result))


def _usual(result: "BifurcationDiagram") -> list[str]:
    """Observables that change most on the section: the shift per return or the period, and two of the state."""
    import numpy as np

    shifts = [key for key in result.observed if key.startswith("shift of ")]
    spread = {key: float(np.ptp(values)) / max(float(np.abs(values).max(initial=0.0)), 1e-300)
              for key, values in result.observed.items() if len(values)}  # fmt: skip
    moving = [key for key in result.observed if spread.get(key, 0.0) > 1e-3 and key not in shifts]
    return [*shifts[:1], *moving[::-1]][:3] or list(result.observed)[:1]


def _continue(scenario: "Scenario", vary: str, section: str | None, asked: Continuation, results: Results) -> None:
    from stickslip.analysis.continuation import continue_cycle

    parameter, first, last = range_from(vary)
    branch = continue_cycle(
        scenario, parameter, first, last, section=section, settle_returns=asked.settle_returns,
        largest_step=asked.largest_step,
    )  # fmt: skip
    if results.plot is not None:
        from stickslip.figures.bifurcation import branch as draw

        results.save(lambda: draw(branch), f"Cycles over {parameter}: {scenario.title}")
    results.tell(branch.to_dict(), lambda: _show_branch(branch))


def _show_diagram(result: "BifurcationDiagram") -> None:
    line(f"{result.system}: {len(result.values)} values of {result.name}, section where {result.section}", "bold")
    key = _usual(result)[0]
    counts = result.branches(key)
    for value, count in zip(
        result.values[:: max(1, len(counts) // 20)], counts[:: max(1, len(counts) // 20)], strict=True
    ):
        line(f"  {result.name} = {value:<12.6g}{key}: {count} value{'' if count == 1 else 's'}")
    if result.failed:
        value, why = next(iter(result.failed.items()))
        line(f"  {len(result.failed)} values without points, the first at {value:g}: {why}", "red")


def _show_branch(branch: "Branch") -> None:
    line(f"{branch.cycles[0].system}: {len(branch.cycles)} cycles over {branch.name}, {branch.status}", "bold")
    for value, cycle in zip(branch.values, branch.cycles, strict=True):
        largest = multiplier_text(cycle.nontrivial[0], 6) if cycle.nontrivial.size else "none"
        word = cycle.stability
        line(f"  {branch.name} = {value:<14.8g}period {cycle.period:.9g} s, largest multiplier {largest}, {word}")
    for special in branch.specials:
        what = f" of {special.contact}" if special.contact else ""
        change = f": {special.change}" if special.change else ""
        line(f"  {special.kind}{what} at {branch.name} = {special.parameter:.10g}{change}", "yellow")
