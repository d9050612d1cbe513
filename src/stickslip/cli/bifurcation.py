"""`stickslip bifurcation NAME --vary P=A:B:N`: what stays on the section, over a parameter; or one cycle continued."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.sections import DEVICE_HELP, MECHANISM_HELP, SECTION_HELP

if TYPE_CHECKING:
    from stickslip.analysis.continuation import Branch
    from stickslip.analysis.diagram import BifurcationDiagram
    from stickslip.analysis.poincare import Section
    from stickslip.library import Scenario


def bifurcation(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    vary: Annotated[
        str,
        typer.Option(metavar="NAME=A:B:N", help="Parameter and its values; NAME=A:B with --continue."),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    section: Annotated[str | None, typer.Option(help=SECTION_HELP, metavar="SECTION")] = None,
    observe: Annotated[
        str | None, typer.Option(help="What is drawn, separated by commas; default: period, then the state.")
    ] = None,
    continuation: Annotated[
        bool,
        typer.Option("--continue", help="Follow one cycle by continuation and locate fold, flip and grazing."),
    ] = False,
    settle: Annotated[int, typer.Option(help="With --continue: passages before Newton's method.", metavar="N")] = 200,
    largest_step: Annotated[
        float, typer.Option(help="With --continue: longest step along the branch, in ranges.", metavar="S")
    ] = 0.05,
    follow: Annotated[
        bool, typer.Option("--follow", help="Start each run where the one before ended, to follow an attractor.")
    ] = False,
    stepper: Annotated[str, typer.Option(help="Time stepper of the diagram.", metavar="NAME")] = "moreau-midpoint",
    dt: Annotated[float | None, typer.Option(help="Step size [s]; default: the system's own.", metavar="S")] = None,
    duration: Annotated[
        float | None, typer.Option(help="Of each run [s]; default: ten times the system's own.", metavar="S")
    ] = None,
    device: Annotated[str | None, typer.Option(help=DEVICE_HELP, metavar="DEVICE")] = None,
    keep: Annotated[int, typer.Option(help="Returns that are kept at the end of each run.", metavar="N")] = 40,
    out: Annotated[Path | None, typer.Option(help="Write the points.", metavar="FILE.json")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Draw the bifurcation diagram of a system over one parameter, or continue one of its cycles.

    The diagram runs the time stepper at every value and keeps the last returns to the section.  With --continue the
    cycle at the first value is followed event by event, stable or not, and its bifurcations are located.
    """
    from stickslip.cli.run import mechanism_with
    from stickslip.cli.sections import require_json, section_from
    from stickslip.figures.files import require_figure

    scenario = mechanism_with(settings or [], name)
    require_json(out)
    if plot is not None:
        require_figure("--plot", plot)
    where = section_from(section, scenario)
    if continuation:
        branch = _continued(scenario, vary, where, settle, largest_step, plot)
        report = branch.to_dict()
    else:
        diagram = _diagram(scenario, vary, where, observe, stepper, dt, duration, keep, follow, device, plot)
        report = diagram.to_dict()
    if out is not None:
        out.write_text(json.dumps(report, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(report, allow_nan=False))
        return
    if continuation:
        _show_branch(branch)
    else:
        _show_diagram(diagram)
    from stickslip.cli.sections import line

    for path in (out, plot):
        if path is not None:
            line(f"  written     {path}")


def _diagram(
    scenario: "Scenario", vary: str, section: "Section | None", observe: str | None, stepper: str, dt: float | None,
    duration: float | None, keep: int, follow: bool, device: str | None, plot: Path | None,
) -> "BifurcationDiagram":  # fmt: skip
    from stickslip.analysis.diagram import bifurcation as compute
    from stickslip.cli.progress import progress_bar
    from stickslip.cli.sweep import varied
    from stickslip.ensembles.plan import axis_values

    ((parameter, text),) = varied([vary]).items()
    values = axis_values(parameter, text)
    with progress_bar(f"{len(values)} runs", len(values)) as advance:
        result = compute(
            scenario, parameter, values, section=section, stepper=stepper, dt=dt, duration=duration, keep=keep,
            follow=follow, device=device, advance=advance,
        )  # fmt: skip
    names = [part.strip() for part in observe.split(",")] if observe else _usual(result)
    for name in names:
        result.of(name)
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import diagram as draw

        style.save(draw(result, names), plot, title=f"Bifurcation diagram: {scenario.title}")
    return result


def _usual(result: "BifurcationDiagram") -> list[str]:
    """What changes most on the section: the shift per return or the period, and two of the state."""
    import numpy as np

    shifts = [key for key in result.observed if key.startswith("shift of ")]
    spread = {key: float(np.ptp(values)) / max(float(np.abs(values).max(initial=0.0)), 1e-300)
              for key, values in result.observed.items() if len(values)}  # fmt: skip
    moving = [key for key in result.observed if spread.get(key, 0.0) > 1e-3 and key not in shifts]
    return [*shifts[:1], *moving[::-1]][:3] or list(result.observed)[:1]


def _continued(
    scenario: "Scenario", vary: str, section: "Section | None", settle: int, largest_step: float, plot: Path | None
) -> "Branch":
    from stickslip.analysis.continuation import continue_cycle
    from stickslip.cli.progress import progress_bar
    from stickslip.cli.sections import range_from

    parameter, first, last = range_from(vary)
    with progress_bar(f"{parameter} from {first:g} to {last:g}", abs(last - first)) as advance:
        branch = continue_cycle(
            scenario, parameter, first, last, section=section, settle_returns=settle, largest_step=largest_step,
            advance=lambda value: advance(abs(value - first)),
        )  # fmt: skip
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import branch as draw

        style.save(draw(branch), plot, title=f"Cycles over {parameter}: {scenario.title}")
    return branch


def _show_diagram(result: "BifurcationDiagram") -> None:
    from stickslip.cli.sections import line

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
    from stickslip.cli.sections import line, multiplier_text

    line(f"{branch.cycles[0].system}: {len(branch.cycles)} cycles over {branch.name}, {branch.status}", "bold")
    for value, cycle in zip(branch.values, branch.cycles, strict=True):
        largest = multiplier_text(cycle.nontrivial[0], 6) if cycle.nontrivial.size else "none"
        word = cycle.stability
        line(f"  {branch.name} = {value:<14.8g}period {cycle.period:.9g} s, largest multiplier {largest}, {word}")
    for special in branch.specials:
        what = f" of {special.contact}" if special.contact else ""
        change = f": {special.change}" if special.change else ""
        line(f"  {special.kind}{what} at {branch.name} = {special.parameter:.10g}{change}", "yellow")
