"""`stickslip demo`: the woodpecker toy, run, summed up in plain words, and drawn."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", help="Figure of the woodpecker's motion.")] = Path("woodpecker.png"),
) -> None:
    """Run the woodpecker toy, explain what happens, and draw it."""
    import numpy as np

    from stickslip.analysis.cycle import mean_cycle
    from stickslip.analysis.poincare import poincare
    from stickslip.analysis.progress import not_interrupted
    from stickslip.analysis.sections import SECTIONS, TRAVELS
    from stickslip.figures import style
    from stickslip.figures.files import require_figure
    from stickslip.figures.trajectory import plot
    from stickslip.library import woodpecker

    require_figure("--out", out)
    toy = woodpecker()
    print("A wooden woodpecker on a spring, a sleeve with play, a pole: pushed once, it hammers its way down.")
    print("Three degrees of freedom, three contacts with friction and impact [Glocker, Studer 2005].")
    print("Preparing its equations and a compiled kernel (some seconds the first time) ...", flush=True)
    run = not_interrupted(toy.simulate(t_end=3.0, dt=1e-4))
    points = poincare(run, SECTIONS["woodpecker"])
    cycle = mean_cycle(points.t, points[TRAVELS["woodpecker"]], skip=0)
    impacts = run.impacts()
    print()
    print(
        f"   {run.steps:,} steps of {run.dt:g} s in {run.wall_s:.3f} s: {run.steps / run.wall_s:,.0f} steps per second"
    )
    print(
        f"   every {1e3 * cycle.period:.0f} ms it pecks once and drops {1e3 * cycle.drop:.1f} mm; "
        f"{len(impacts)} impacts, {len(impacts.of('beak'))} of them with the beak"
    )
    share = np.mean(run.contact_state[:, run.contact_names.index("sleeve lower")] == 1)
    print(f"   for {100 * share:.0f} % of the time the sleeve's lower edge is jammed: it sticks exactly, without creep")
    print(f"   certificate: {run.certificate}")
    print(f"   every contact problem (LCPs of at most {run.certificate.max_lcp_size} rows here) was solved and checked")
    print()
    path = style.save(plot(run, toy), out)
    print(f"   drawn in {path}")
    program = _program()
    print(f"Next: {program} view (watch it, move the sliders), {program} compare-laws bar, {program} list")


def _program() -> str:
    """How to call the program from here: by its name where the shell finds it, else by its place."""
    import os
    import shutil
    import sys

    own = Path(sys.executable).parent / "stickslip"
    if shutil.which("stickslip") or not own.exists():
        return "stickslip"
    return os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own)
