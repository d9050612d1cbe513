"""`stickslip run NAME`: simulate a library system, report, and write files."""

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from stickslip.library import Scenario
    from stickslip.trajectory import Trajectory

_MOST_RECORDS = 500_000
"""Records that a run keeps unless `--every` says otherwise; a figure or film needs no more."""
_FAILED, _INTERRUPTED = 1, 130


def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a library system, see `stickslip list`.")],
    more_settings: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE", hidden=True)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
    ] = None,
    dt: Annotated[
        float | None,
        typer.Option(
            help="Step size [s], of adaptive and event-driven the spacing of the records; default: the system's own.",
            metavar="S",
        ),
    ] = None,
    t_end: Annotated[float | None, typer.Option(help="End time [s]; default: the system's own.", metavar="S")] = None,
    stepper: Annotated[
        str,
        typer.Option(
            help="moreau-midpoint, moreau-jean, paoli-schatzman, stewart-trinkle, adaptive or event-driven.",
            metavar="NAME",
        ),
    ] = "moreau-midpoint",
    solver: Annotated[str, typer.Option(help="Solver of each step's contact problem.", metavar="NAME")] = "auto",
    engine: Annotated[str, typer.Option(help="auto, compiled or reference.", metavar="NAME")] = "auto",
    every: Annotated[
        int | None, typer.Option(help="Record every N-th step; default: 1, or more in long runs.", metavar="N")
    ] = None,
    on_failure: Annotated[
        str, typer.Option(help="stop or continue where a contact problem is not solved.", metavar="WHAT")
    ] = "stop",
    out: Annotated[Path | None, typer.Option(help="Write the trajectory, netCDF.", metavar="FILE.nc")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")] = None,
    animate: Annotated[Path | None, typer.Option(help="Write a film: .gif or .mp4.", metavar="FILE")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a trajectory that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something goes wrong.")] = False,
) -> None:
    """Simulate a library system and print a summary with its certificate.

    Exit codes: 0 done, 1 the computation failed (what was computed is kept and written), 2 the request was wrong.
    """
    from stickslip import library

    scenario = library.get(name, **parse_settings([*(settings or []), *(more_settings or [])], name))
    step, end = scenario.dt if dt is None else dt, scenario.t_end if t_end is None else t_end
    _check_times(step, end)
    if every is None:
        every = max(1, math.ceil(end / step / _MOST_RECORDS))
    _check_files(out, plot, animate, overwrite)

    progress = False if quiet else None
    trajectory = scenario.simulate(
        dt=step, t_end=end, stepper=stepper, solver=solver, engine=engine, every=every, on_failure=on_failure,
        progress=progress, out=out, overwrite=overwrite,
    )  # fmt: skip
    files = {} if out is None else {"out": out}
    if len(trajectory) > 1:
        files |= _draw(trajectory, scenario, plot, animate, progress)

    if as_json:
        print(json.dumps(report(trajectory, scenario, end, files), indent=2, allow_nan=False))
    elif not quiet:
        _show(trajectory, scenario, files)
    _judge(trajectory)


def parse_settings(texts: Sequence[str], name: str) -> dict[str, Any]:
    """Turn `friction=0.25` into keywords of a library entry; several numbers, `velocity=0.5,-1,0`, into a tuple."""
    from stickslip import library
    from stickslip.model.system import unknown_name

    known = library.keywords(name)
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"a setting must read NAME=VALUE, such as --set {next(iter(known))}=1, got {text!r}.")
        if key not in known:
            raise ValueError(f"library entry {name!r}: {unknown_name('parameter', key, known)}")
        if key in values:
            raise ValueError(f"{key} is set twice; the second time to {value}.")
        numbers = [_number(key, part) for part in value.split(",")]
        wanted = len(known[key]) if isinstance(known[key], tuple) else 1
        if len(numbers) != wanted:
            raise ValueError(
                f"{key} must be {wanted} number{'s' if wanted > 1 else ''}, got {len(numbers)}: {value!r}."
            )
        values[key] = tuple(numbers) if wanted > 1 else numbers[0]
    return values


def _number(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{key} must be a number, got {text!r}.") from None
    if not math.isfinite(number):
        raise ValueError(f"{key} must be finite, got {text}.")
    return number


def _check_times(dt: float, t_end: float) -> None:
    if not (math.isfinite(dt) and dt > 0.0):
        raise ValueError(f"--dt must be positive [s], got {dt:g}.")
    if not (math.isfinite(t_end) and t_end >= dt * (1.0 - 1e-9)):
        raise ValueError(f"--t-end must be at least one step, got {t_end:g} s with a step of {dt:g} s.")


def _check_files(out: Path | None, plot: Path | None, animate: Path | None, overwrite: bool) -> None:
    """Raise before anything is computed if a file could not be written afterwards."""
    for option, path in (("--out", out), ("--plot", plot), ("--animate", animate)):
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{option} must name a file, and {path} is a folder.")
        if not path.parent.is_dir():
            raise ValueError(f"{option} {path}: the folder {path.parent} does not exist.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise ValueError(f"{option} {path}: the folder {path.parent} cannot be written to.")
    if out is not None and out.exists():
        from stickslip.io.netcdf import is_trajectory

        if not is_trajectory(out):
            raise ValueError(f"--out {out} exists and is not a trajectory of ours: it is never replaced.")
        if not overwrite:
            raise ValueError(f"--out {out} exists; give --overwrite to replace it, or another name.")
    if plot is not None:
        from stickslip.figures import style

        if plot.suffix.lower().removeprefix(".") not in style.FORMATS:
            raise ValueError(f"--plot must end in .png, .svg or .pdf, got {plot.name!r}.")
        refuse_foreign("--plot", plot)
    if animate is not None:
        from stickslip.figures.animation import check_path

        check_path(animate)
        refuse_foreign("--animate", animate)


def refuse_foreign(option: str, path: Path) -> None:
    """Raise if there is a picture that we did not draw; one of ours is simply drawn again."""
    from stickslip.figures import style

    if path.exists() and not style.is_ours(path):
        raise ValueError(f"{option} {path} exists and was not drawn by stickslip: it is never replaced.")


def _draw(
    trajectory: "Trajectory", scenario: "Scenario", plot: Path | None, animate: Path | None, progress: bool | None
) -> dict[str, Path]:
    files: dict[str, Path] = {}
    if plot is not None:
        from stickslip.figures import style
        from stickslip.figures.trajectory import plot as draw

        files["plot"] = style.save(draw(trajectory, scenario), plot, title=scenario.title)
    if animate is not None:
        from stickslip.figures import animation

        if scenario.drawing is None:
            raise ValueError(f"{trajectory.system_name} has no drawing, so there is no film of it.")
        files["animate"] = animation.animate(
            trajectory, scenario.drawing, animate, title=scenario.title, progress=progress
        )
    return files


def report(
    trajectory: "Trajectory", scenario: "Scenario", t_end: float, files: dict[str, Path] | None = None
) -> dict[str, Any]:
    """The summary of a run as plain values, ready for JSON."""
    impacts = trajectory.impacts()
    counts = {name: int((impacts["contact"] == k).sum()) for k, name in enumerate(trajectory.contact_names)}
    total = trajectory.energy.total
    return {
        "system": trajectory.system_name,
        "title": scenario.title,
        "source": scenario.source,
        "stepper": trajectory.stepper,
        "solver": trajectory.solver,
        "engine": trajectory.engine,
        "dt": trajectory.dt,
        "t_end": t_end,
        "steps": trajectory.steps,
        "every": trajectory.every,
        "records": len(trajectory),
        "wall_s": trajectory.wall_s,
        "steps_per_s": _rate(trajectory),
        "complete": trajectory.complete,
        "status": trajectory.status,
        "parameters": dict(trajectory.parameters),
        "coordinates": list(trajectory.coordinate_names),
        "velocities": list(trajectory.velocity_names),
        "final": {
            "t": float(trajectory.t[-1]),
            "q": [_plain(x) for x in trajectory.q[-1]],
            "u": [_plain(x) for x in trajectory.u[-1]],
        },
        "impacts": {"total": len(impacts), "by_contact": counts},
        "energy": {"first": _plain(total[0]), "last": _plain(total[-1])},
        "certificate": {key: _plain(value) for key, value in trajectory.certificate.to_dict().items()},
        "files": {key: str(path) for key, path in (files or {}).items()},
        "version": trajectory.version,
    }


def _plain(value: Any) -> Any:
    """JSON has no nan and no infinity."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _rate(trajectory: "Trajectory") -> float:
    return trajectory.steps / max(trajectory.wall_s, 1e-9)


def _show(trajectory: "Trajectory", scenario: "Scenario", files: dict[str, Path]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()

    def row(name: str, value: str, style: str = "") -> None:
        console.print(Text(f"  {name:<12}{value}", style=style), soft_wrap=True)

    units, last = trajectory.units, trajectory
    state = [*zip(last.coordinate_names, last.q[-1], strict=True), *zip(last.velocity_names, last.u[-1], strict=True)]
    found = report(trajectory, scenario, float(trajectory.t[-1]))["impacts"]
    certificate = trajectory.certificate

    console.print(Text(f"{trajectory.system_name}: {scenario.title}, {scenario.source}", style="bold"), soft_wrap=True)
    thinned = "" if trajectory.every == 1 else f", every {trajectory.every}th recorded"
    times = f"t = {trajectory.t[0]:g} .. {trajectory.t[-1]:g} s"
    row("motion", f"{times}, {trajectory.steps:,} steps of {trajectory.dt:g} s{thinned}")
    row("method", f"{trajectory.stepper}, solver {trajectory.solver}, {trajectory.engine} engine")
    row("rate", f"{_rate(trajectory):,.0f} steps/s, {trajectory.wall_s:.3f} s")
    row("final state", ", ".join(f"{name} = {value:.6g} {units.get(name, '')}".rstrip() for name, value in state))
    if trajectory.contact_names:
        counts = ", ".join(f"{name} {count}" for name, count in found["by_contact"].items())
        row("impacts", f"{found['total']}: {counts}" if found["total"] else "none")
    good = trajectory.complete and certificate.failed_steps == 0
    row("certificate", str(certificate), "green" if good else "red")
    for path in files.values():
        row("written", f"{path} ({path.stat().st_size / 1e6:.2g} MB)")


def _judge(trajectory: "Trajectory") -> None:
    """Exit code and message of a run that did not end well."""
    if not trajectory.complete:
        print(f"stickslip: error: {trajectory.system_name} {trajectory.status}", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED if trajectory.status.startswith("interrupted") else _FAILED)
    failed = trajectory.certificate.failed_steps
    if failed:
        print(f"stickslip: warning: {failed} steps were not solved to the tolerance", file=sys.stderr)
