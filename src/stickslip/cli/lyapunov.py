"""`stickslip lyapunov NAME`: Lyapunov exponents, and the recurrence of the section."""

import math
from typing import Annotated

import typer

from stickslip.cli.options import Dt, LongTEnd, Mechanism, Rtol, Section, Settings, Stepper, grouped
from stickslip.cli.output import Results, line
from stickslip.cli.settings import mechanism_with


@grouped
def lyapunov(
    name: Mechanism,
    settings: Settings = None,
    t_end: Annotated[
        float | None, typer.Option(help="Length of the run [s]; default: ten times the system's own.", metavar="S")
    ] = None,
    skip: Annotated[
        float | None,
        typer.Option("--skip", "--transient", help="Begin that is left out [s]; default: a fifth.", metavar="S"),
    ] = None,
    rtol: Rtol = 1e-9,
    *,
    results: Results,
) -> None:
    """Compute the Lyapunov exponents of a motion, event by event, with saltation matrices.

    A positive one means chaos. Perturbations that die out in finite time have none: minus infinity.
    """
    from stickslip.analysis.lyapunov import lyapunov as compute

    scenario = mechanism_with(settings, name)
    results.check()
    result = compute(scenario, t_end=t_end, skip=skip, rtol=rtol)
    if results.plot is not None:
        from stickslip.figures.bifurcation import lyapunov as draw

        results.save(lambda: draw(result, scenario.title), f"Lyapunov exponent: {scenario.title}")
    plain = [value if math.isfinite(value) else None for value in result.exponents.tolist()]
    error = result.error if math.isfinite(result.error) else None

    def show() -> None:
        line(f"{scenario.system.name}: Lyapunov exponents [1/s]", "bold")
        for value in result.exponents:
            line(f"  {value:+.6g}")
        line(f"  the largest changed by {result.error:.2g} over the last half of the run")

    results.tell({"system": scenario.system.name, "exponents": plain, "error": error}, show)


@grouped
def recurrence(
    name: Mechanism,
    settings: Settings = None,
    section: Section = None,
    stepper: Stepper = "moreau-midpoint",
    dt: Dt = None,
    t_end: LongTEnd = None,
    tol: Annotated[float, typer.Option(help="Distance that counts as near, in ranges.", metavar="TOL")] = 0.02,
    *,
    results: Results,
) -> None:
    """Tell how often the states on a section come back: rate, determinism, and after how many returns."""
    from stickslip.analysis.lyapunov import recurrence as compute
    from stickslip.analysis.poincare import poincare, translations
    from stickslip.checks import counted

    scenario = mechanism_with(settings, name)
    results.check()
    points = poincare(
        scenario, section, stepper=stepper, dt=dt, t_end=10.0 * scenario.t_end if t_end is None else t_end
    )
    moving = tuple(scenario.system.coordinate_names[i] for i in translations(scenario))
    result = compute(points, tol=tol, leave_out=moving)
    if results.plot is not None:
        from stickslip.figures.bifurcation import recurrence as draw

        results.save(lambda: draw(result, scenario.title), f"Recurrence: {scenario.title}")
    values = {"points": len(points), "rate": result.rate, "determinism": result.determinism}

    def show() -> None:
        line(f"{scenario.system.name}: {len(points)} points, section where {points.section}", "bold")
        line(f"  recurrence rate {result.rate:.4f}, determinism {result.determinism:.4f}")
        back = f"comes back after {counted(result.returns, 'return')}"
        line(f"  {back if result.returns else 'most points never come back'}")

    results.tell({"system": scenario.system.name, **values, "returns": result.returns}, show)
