"""`stickslip export-fmu my.toml`: a mechanism as an FMI 3.0 co-simulation unit."""

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.options import Dt, Mechanism, Settings, TEnd
from stickslip.cli.settings import mechanism_with
from stickslip.io.printable import file_name, printable


def export_fmu(
    name: Mechanism,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file to be; default: NAME.fmu.")] = None,
    inputs: Annotated[
        str, typer.Option("--inputs", metavar="NAMES", help="Parameters that another tool drives, with commas.")
    ] = "",
    dt: Dt = None,
    t_end: TEnd = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Write a mechanism as a Functional Mock-up Unit (FMI 3.0, co-simulation) with the compiled kernel inside.

    Parameters are tunable, coordinates and velocities are outputs, contacts have flags for impacts.  A C compiler is
    needed.
    """
    from stickslip.figures.files import require_writable
    from stickslip.fmu.export import export_fmu as export

    scenario = mechanism_with(settings, name)
    path = out or Path(f"{file_name(scenario.system.name)}.fmu")
    require_writable("--out", path)
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists; give another --out, or --overwrite.")
    chosen = [word.strip() for word in inputs.split(",") if word.strip()]
    export(scenario, path, inputs=chosen, dt=dt, t_end=t_end)
    print(printable(f"{path}: {path.stat().st_size / 1e3:.0f} kB, FMI 3.0, co-simulation."))
