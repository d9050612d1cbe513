"""`stickslip sweep NAME`: an ensemble, many motions of a system, observed while they run."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import (
    AsJson,
    Device,
    Dt,
    LawIfGiven,
    Name,
    NetcdfOut,
    Overwrite,
    Plot,
    Quiet,
    Resume,
    Section,
    Settings,
    Skip,
    Solver,
    Stepper,
    TEnd,
    Width,
    grouped,
)
from stickslip.cli.output import Interrupted, print_json, require_plot, save_figure
from stickslip.cli.settings import opened, varied
from stickslip.figures.files import require_writable
from stickslip.io.printable import printable

if TYPE_CHECKING:
    from stickslip.ensembles.result import Ensemble

_LISTED = 20  # failed members that are told one by one
_TABLE = ("period", "shortest_period", "longest_period", "passages", "drop", "kinetic_end", "potential_end")


@dataclass(frozen=True)
class Method:
    """How and where the members are computed."""

    dt: Dt = None
    t_end: TEnd = None
    stepper: Stepper = "moreau-midpoint"
    solver: Solver = "auto"
    law: LawIfGiven = None
    device: Device = "cpu"
    threads: Annotated[int | None, typer.Option(help="Threads of the cpu; default: all cores.", metavar="N")] = None
    tol: Annotated[float | None, typer.Option(help="Residual of contacts that members of a scene reach.")] = None
    overlap: Annotated[
        str | None,
        typer.Option(
            help="Bodies of a scene that overlap at the start: raise (default), resolve or keep.", metavar="DO"
        ),
    ] = None


@dataclass(frozen=True)
class Watching:
    """Section, passages and travel that are watched in every motion."""

    section: Section = None
    travel: Annotated[str | None, typer.Option(help="Coordinate whose way is the drop.", metavar="NAME")] = None
    points: Annotated[int | None, typer.Option(help="Points of the section to keep; default 16.", metavar="N")] = None
    skip: Skip = 0.0


@dataclass(frozen=True)
class Sampling:
    """How the values of what varies are combined and drawn."""

    samples: Annotated[int | None, typer.Option(help="Number of random values.", metavar="N")] = None
    seed: Annotated[int, typer.Option(help="Seed of the random values.", metavar="N")] = 0
    paired: Annotated[bool, typer.Option("--paired", help="Values go in pairs instead of spanning a grid.")] = False


@dataclass(frozen=True)
class Keeping:
    """Where the result is kept."""

    out: NetcdfOut = None
    resume: Resume = False
    overwrite: Overwrite = False
    chunk: Annotated[int | None, typer.Option(help="Members computed between two savings.", metavar="N")] = None


@grouped
def sweep(
    name: Name,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What varies: friction=0.2:0.4:1001, ...:log, 0.1,0.2, uniform:0.2:0.4 or normal:0.3:0.01; of a scene "
            "cube.mass, cube.size_x, cube.vx and more; may be repeated and then spans a grid.",
        ),
    ] = None,
    observe: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="With commas: period, drop, points, extremes, impacts, shares, final, energy."
        ),
    ] = "final",
    settings: Settings = None,
    method: Method,
    watching: Watching,
    sampling: Sampling,
    keeping: Keeping,
    plot: Plot = None,
    width: Width = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute an ensemble: many motions of a system, over parameters and starts, and keep what was observed.

    Exit codes: 0 done, 1 no member came to its end, 2 the request was wrong. Members that fail are listed and go into
    no mean.
    """
    from stickslip.ensembles.run import ensemble

    scenario = opened(name, settings or []).scenario
    if keeping.out is not None:
        require_writable("--out", keeping.out)
    require_plot(plot, width)
    options = asdict(method) | asdict(watching) | asdict(sampling) | asdict(keeping)
    try:
        result = ensemble(scenario, varied(vary), observe, progress=False if quiet else None, **options)
    except KeyboardInterrupt:
        kept = "nothing is kept without --out" if keeping.out is None else "the same command with --resume goes on"
        raise Interrupted(f"the ensemble of {name} was interrupted; {kept}") from None
    files = {} if keeping.out is None else {"out": keeping.out}
    if plot is not None:
        from stickslip.figures.ensemble import draw_ensemble

        files["plot"] = save_figure(lambda: draw_ensemble(result), plot, str(result.dataset.attrs["title"]), width)
    if as_json:
        print_json(report(result, files), indent=2)
    elif not quiet:
        _show(result, files)
    if result.n_failed == len(result):
        print(
            f"stickslip: error: all members failed; the first: {printable(str(result.failed(1)[0]))}", file=sys.stderr
        )
        raise typer.Exit(1)
    if result.n_failed and not as_json:
        print(f"stickslip: warning: {result.n_failed} of {len(result)} members failed", file=sys.stderr)


def report(result: "Ensemble", files: dict[str, Path]) -> dict[str, Any]:
    """The JSON object of `--json`."""
    from stickslip.ensembles.result import summary

    dataset = result.dataset
    return {
        "system": dataset.attrs["system"],
        "members": len(result),
        "axes": {str(name): int(size) for name, size in dataset["status"].sizes.items()},
        "dt": float(dataset.attrs["dt"]),
        "steps_per_member": int(dataset.attrs["steps"]),
        "solver": dataset.attrs["solver"],
        "device": result.device,
        "steps": result.steps,
        "wall_s": result.wall_s,
        "steps_per_s": result.steps_per_s,
        "observed": {str(key): summary(dataset[key]) for key in dataset.data_vars if key not in ("status",)},
        "failed_members": result.n_failed,
        "failed": [str(member) for member in result.failed(_LISTED)],
        "certificate": {key: value if value == value else None for key, value in result.certificate().items()},
        "files": {key: str(path) for key, path in files.items()},
    }


def _show(result: "Ensemble", files: dict[str, Path]) -> None:
    from rich.console import Console
    from rich.text import Text

    from stickslip.ensembles.result import summary
    from stickslip.trajectory import Certificate

    console = Console(highlight=False, soft_wrap=True)
    dataset = result.dataset

    def row(label: str, text: str, style: str = "") -> None:
        console.print(Text.assemble((f"{label:<15}", "bold"), " ", (printable(text), style)))

    axes = " x ".join(f"{name} {size:,}" for name, size in dataset["status"].sizes.items())
    row("ensemble", f"{dataset.attrs['system']}, {len(result):,} members: {axes}")
    row("motion", f"{int(dataset.attrs['steps']):,} steps of {float(dataset.attrs['dt']):g} s each")
    if result.steps:
        row("rate", f"{result.steps_per_s:.3g} steps/s, {result.wall_s:.3f} s, {result.device}")
    else:
        row("rate", "nothing was left to compute")
    for key in _TABLE:
        if key in dataset and (found := summary(dataset[key])) is not None:
            unit = dataset[key].attrs.get("units", "")
            text = f"{found['least']:.6g} .. {found['largest']:.6g} {unit}".rstrip()
            row(key.replace("_", " "), f"{text}, mean {found['mean']:.6g}")
    worst = result.certificate()
    names = ("worst residual", "deepest penetration", "energy gained at contacts")
    measured = Certificate(
        tolerance=worst["tolerance"],
        max_residual=worst["max_residual"],
        max_penetration=worst["max_penetration"],
        max_energy_gain=worst["max_energy_gain"],
    )
    parts = [f"{entry.name} {entry.value}" for entry in measured.entries() if entry.name in names]
    text = ", ".join([f"{result.n_failed} failed members", *parts])
    row("certificate", text, "red" if result.n_failed else "green")
    for member in result.failed(_LISTED):
        row("", str(member))
    if result.n_failed > _LISTED:
        row("", f"... {result.n_failed - _LISTED} more")
    for path in files.values():
        row("written", f"{path} ({path.stat().st_size / 1e6:.2g} MB)")
