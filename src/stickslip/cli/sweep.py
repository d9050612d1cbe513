"""`stickslip sweep NAME`: many motions of a library system, observed while they run."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.run import Interrupted, mechanism_with
from stickslip.cli.sections import MECHANISM_HELP
from stickslip.figures.files import require_figure, require_writable

if TYPE_CHECKING:
    from stickslip.ensembles.result import Ensemble

_LISTED = 20  # failed members that are told one by one
_TABLE = ("period", "shortest_period", "longest_period", "passages", "drop", "kinetic_end", "potential_end")


def sweep(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help=MECHANISM_HELP)],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What varies: friction=0.2:0.4:1001, ...:log, 0.1,0.2, uniform:0.2:0.4 or normal:0.3:0.01; "
            "may be repeated and then spans a grid.",
        ),
    ] = None,
    observe: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="With commas: period, drop, points, extremes, impacts, shares, final, energy.",
        ),
    ] = "final",
    out: Annotated[Path | None, typer.Option(help="Write the result, netCDF.", metavar="FILE.nc")] = None,
    device: Annotated[str, typer.Option(help="cpu, gpu, auto or dask:ADDRESS.", metavar="WHERE")] = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a sweep that was interrupted.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change what all members share; may be repeated."),
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Step size [s]; default: the system's own.", metavar="S")] = None,
    t_end: Annotated[float | None, typer.Option(help="End time [s]; default: the system's own.", metavar="S")] = None,
    skip: Annotated[float, typer.Option(help="Seconds before anything is watched.", metavar="S")] = 0.0,
    section: Annotated[
        str | None,
        typer.Option(
            help="'phi_S<-0.28', 'phi_S>0', impact:CONTACT, phase:PARAMETER or every:SECONDS; default: its own.",
            metavar="WHERE",
        ),
    ] = None,
    travel: Annotated[str | None, typer.Option(help="Coordinate whose way is the drop.", metavar="NAME")] = None,
    points: Annotated[int | None, typer.Option(help="Points of the section to keep; default 16.", metavar="N")] = None,
    stepper: Annotated[str, typer.Option(help="As in `stickslip run`.", metavar="NAME")] = "moreau-midpoint",
    solver: Annotated[str, typer.Option(help="Solver of each step's contact problem.", metavar="NAME")] = "auto",
    samples: Annotated[int | None, typer.Option(help="Number of random values.", metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random values.", metavar="N")] = 0,
    paired: Annotated[bool, typer.Option("--paired", help="Values go in pairs instead of spanning a grid.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads of the cpu; default: all cores.", metavar="N")] = None,
    chunk: Annotated[int | None, typer.Option(help="Members computed between two savings.", metavar="N")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a sweep that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something goes wrong.")] = False,
) -> None:
    """Compute many motions of a library system, over parameters and starts, and keep what was observed.

    Exit codes: 0 done, 1 no member came to its end, 2 the request was wrong. Members that fail are listed and go into
    no mean.
    """
    from stickslip.ensembles.run import ensemble

    scenario = mechanism_with(settings or [], name)
    if out is not None:
        require_writable("--out", out)
    if plot is not None:
        require_figure("--plot", plot)
    try:
        result = ensemble(
            scenario, varied(vary or []), observe, device=device, dt=dt, t_end=t_end, stepper=stepper, solver=solver,
            section=section, travel=travel, points=points, skip=skip, samples=samples, seed=seed, paired=paired,
            threads=threads, chunk=chunk, out=out, resume=resume, overwrite=overwrite,
            progress=False if quiet else None,
        )  # fmt: skip
    except KeyboardInterrupt:
        kept = "nothing is kept without --out" if out is None else "the same command with --resume goes on"
        raise Interrupted(f"the sweep of {name} was interrupted; {kept}") from None
    files = {} if out is None else {"out": out}
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.sweep import draw_sweep

        files["plot"] = style.save(draw_sweep(result), plot, title=str(result.dataset.attrs["title"]))
    if as_json:
        print(json.dumps(report(result, files), indent=2, allow_nan=False))
    elif not quiet:
        _show(result, files)
    if result.n_failed == len(result):
        print(f"stickslip: error: all members failed; the first: {result.failed(1)[0]}", file=sys.stderr)
        raise typer.Exit(1)
    if result.n_failed and not as_json:
        print(f"stickslip: warning: {result.n_failed} of {len(result)} members failed", file=sys.stderr)


def varied(texts: list[str]) -> dict[str, str]:
    """The `--vary` options as names and values."""
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"--vary must read NAME=VALUES, such as --vary friction=0.2:0.4:1001, got {text!r}.")
        if key in values:
            raise ValueError(f"--vary {key} is given twice; the second time as {value}.")
        values[key] = value
    if not values:
        raise ValueError("say what varies, such as --vary friction=0.2:0.4:1001.")
    return values


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

    from stickslip.ensembles.result import summary
    from stickslip.trajectory import Certificate

    console = Console(highlight=False, soft_wrap=True)
    dataset = result.dataset

    def row(label: str, text: str, style: str = "") -> None:
        console.print(f"[bold]{label:<15}[/] {f'[{style}]{text}[/]' if style else text}")

    axes = " x ".join(f"{name} {size:,}" for name, size in dataset["status"].sizes.items())
    row("sweep", f"{dataset.attrs['system']}, {len(result):,} members: {axes}")
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
