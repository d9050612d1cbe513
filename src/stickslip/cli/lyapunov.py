"""`stickslip lyapunov NAME`: Lyapunov exponents, and the recurrence of the section."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.sections import MECHANISM_HELP, SECTION_HELP


def lyapunov(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    t_end: Annotated[
        float | None, typer.Option(help="Length of the run [s]; default: ten times the system's own.", metavar="S")
    ] = None,
    transient: Annotated[
        float | None, typer.Option(help="Begin that is left out [s]; default: a fifth.", metavar="S")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Tolerance of the event-driven integrator.", metavar="TOL")] = 1e-9,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Compute the Lyapunov exponents of a motion, event by event, with saltation matrices.

    A positive one means chaos. Perturbations that die out in finite time have none: minus infinity.
    """
    from stickslip.analysis.lyapunov import lyapunov as compute
    from stickslip.cli.progress import progress_bar
    from stickslip.cli.run import mechanism_with
    from stickslip.cli.sections import line
    from stickslip.figures.files import require_figure

    scenario = mechanism_with(settings or [], name)
    if plot is not None:
        require_figure("--plot", plot)
    with progress_bar("motion and perturbations", 1.0) as advance:
        result = compute(scenario, t_end=t_end, transient=transient, rtol=rtol, advance=advance)
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import lyapunov as draw

        style.save(draw(result, scenario.title), plot, title=f"Lyapunov exponent: {scenario.title}")
    if as_json:
        plain = [value if math.isfinite(value) else None for value in result.exponents.tolist()]
        error = result.error if math.isfinite(result.error) else None
        print(json.dumps({"system": scenario.system.name, "exponents": plain, "error": error}, allow_nan=False))
        return
    line(f"{scenario.system.name}: Lyapunov exponents [1/s]", "bold")
    for value in result.exponents:
        line(f"  {value:+.6g}")
    line(f"  the largest changed by {result.error:.2g} over the last half of the run")
    if plot is not None:
        line(f"  written     {plot}")


def recurrence(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    section: Annotated[str | None, typer.Option(help=SECTION_HELP, metavar="SECTION")] = None,
    stepper: Annotated[str, typer.Option(help="Time stepper or event-driven.", metavar="NAME")] = "moreau-midpoint",
    dt: Annotated[float | None, typer.Option(help="Step size [s]; default: the system's own.", metavar="S")] = None,
    t_end: Annotated[float | None, typer.Option(help="End time [s]; default: the system's own.", metavar="S")] = None,
    tol: Annotated[float, typer.Option(help="Distance that counts as near, in ranges.", metavar="TOL")] = 0.02,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Tell how often the states on a section come back: rate, determinism, and after how many returns."""
    from stickslip.analysis.lyapunov import recurrence as compute
    from stickslip.analysis.poincare import poincare, translations
    from stickslip.cli.run import mechanism_with
    from stickslip.cli.sections import line, section_from
    from stickslip.figures.files import require_figure

    scenario = mechanism_with(settings or [], name)
    if plot is not None:
        require_figure("--plot", plot)
    points = poincare(scenario, section_from(section, scenario), stepper=stepper, dt=dt, t_end=t_end)
    moving = tuple(scenario.system.coordinate_names[i] for i in translations(scenario))
    result = compute(points, tol=tol, leave_out=moving)
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.bifurcation import recurrence as draw

        style.save(draw(result, scenario.title), plot, title=f"Recurrence: {scenario.title}")
    if as_json:
        values = {"points": len(points), "rate": result.rate, "determinism": result.determinism}
        print(json.dumps({"system": scenario.system.name, **values, "returns": result.returns}, allow_nan=False))
        return
    line(f"{scenario.system.name}: {len(points)} points, section where {points.section}", "bold")
    line(f"  recurrence rate {result.rate:.4f}, determinism {result.determinism:.4f}")
    line(f"  comes back after {result.returns} returns" if result.returns else "  most points never come back")
    if plot is not None:
        line(f"  written     {plot}")
