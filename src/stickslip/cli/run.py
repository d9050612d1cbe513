"""`stickslip run NAME|FILE`: simulate a library system or a model file, report, and write files."""

import math
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import (
    AsJson,
    Bare,
    Dt,
    LawIfGiven,
    MoreSettings,
    Name,
    NetcdfOut,
    Overwrite,
    Plot,
    Quiet,
    Resume,
    Settings,
    SolverIfGiven,
    StepperIfGiven,
    TEnd,
    Width,
    grouped,
)
from stickslip.cli.output import Interrupted, print_json
from stickslip.cli.settings import opened
from stickslip.figures.files import refuse_foreign, require_figure, require_page, require_writable
from stickslip.io.printable import plain, printable
from stickslip.on_request import service

if TYPE_CHECKING:
    from stickslip.io.models.file import Model
    from stickslip.scenario import Scenario
    from stickslip.trajectory import Trajectory

_MOST_RECORDS = 500_000
"""Records that a run keeps unless `--every` says otherwise; a figure or film needs no more."""
_MOST_VALUES = 14  # in a line of the summary
_FAILED = 1
MOST_COLUMNS = 100  # of a summary on a terminal
_DEEP = 10.0  # tolerances of penetration
_METHOD = ("law", "law_options", "stepper_options", "solver_options", "resumed")  # of the trajectory's attributes


@dataclass(frozen=True)
class Method:
    """How a run is computed; None: as the model file says, or as `simulate` does."""

    stepper: StepperIfGiven = None
    theta: Annotated[float | None, typer.Option(help="theta of moreau-jean, 0.5 to 1; default: 0.5.", metavar="X")] = (
        None
    )
    rtol: Annotated[
        float | None, typer.Option(help="Relative tolerance of adaptive and event-driven.", metavar="TOL")
    ] = None
    solver: SolverIfGiven = None
    law: LawIfGiven = None
    projection: Annotated[
        float | None,
        typer.Option(help="Remove penetrations deeper than this from the positions [m]; default: none.", metavar="M"),
    ] = None
    penetration_tol: Annotated[
        float | None, typer.Option(help="Deepest penetration at the start that is accepted [m].", metavar="M")
    ] = None
    overlap: Annotated[
        str | None,
        typer.Option(
            help="Bodies of a scene that overlap at the start: raise (default), resolve (move them apart) or keep.",
            metavar="WHAT",
        ),
    ] = None
    engine: Annotated[str | None, typer.Option(help="auto, compiled or reference.", metavar="NAME")] = None
    every: Annotated[
        int | None, typer.Option(help="Record every N-th step; default: 1, or more in long runs.", metavar="N")
    ] = None
    on_failure: Annotated[
        str | None, typer.Option(help="stop or continue where a contact problem is not solved.", metavar="WHAT")
    ] = None
    time_limit: Annotated[
        float | None, typer.Option(help="End the run after this many seconds, with what there is.", metavar="S")
    ] = None


@dataclass(frozen=True)
class Files:
    """Files that a run writes: trajectory, figure, film and page."""

    out: NetcdfOut = None
    plot: Plot = None
    width: Width = None
    bare: Bare = False
    animate: Annotated[Path | None, typer.Option(help="Write a film: .gif or .mp4.", metavar="FILE")] = None
    export: Annotated[
        Path | None, typer.Option(help="Write a page with the run inside, for any browser.", metavar="FILE.html")
    ] = None
    overwrite: Overwrite = False
    resume: Resume = False

    def check(self) -> None:
        """Raise before anything is computed if a file could not be written afterwards."""
        for option, path in (("--out", self.out), ("--plot", self.plot), ("--animate", self.animate)):
            if path is not None:
                require_writable(option, path)
        if self.out is not None and self.out.exists():
            from stickslip.io.load import is_trajectory

            if not is_trajectory(self.out):
                raise ValueError(f"--out {self.out} exists and is not a trajectory of ours: it is never replaced.")
            if not (self.overwrite or self.resume):
                raise ValueError(f"--out {self.out} exists; give --overwrite to replace it, or another name.")
        if self.plot is not None:
            require_figure("--plot", self.plot)
        if self.width is not None:
            from stickslip.figures.sheet import inches

            inches(self.width)
        if self.animate is not None:
            from stickslip.figures.animation import check_path

            check_path(self.animate)
            refuse_foreign("--animate", self.animate)
        if self.resume and self.out is None:
            raise ValueError("--resume needs --out, the file of the run to go on with.")
        if self.export is not None:
            require_page("--export", self.export)


@grouped
def run(
    name: Name,
    more_settings: MoreSettings = None,
    *,
    settings: Settings = None,
    dt: Dt = None,
    t_end: TEnd = None,
    method: Method,
    files: Files,
    as_json: AsJson = False,
    quiet: Quiet = False,
    list_events: Annotated[
        bool,
        typer.Option("--events", help="List what happened to the contacts: time, kind, contact (JSON: event_list)."),
    ] = False,
) -> None:
    """Simulate a library system or a model file and print a summary with its certificate.

    Exit codes: 0 done, 1 the computation failed (what was computed is kept and written), 2 the request was wrong.
    """
    from stickslip.cli.circuit import is_circuit, run_circuit

    if is_circuit(name):
        run_circuit(
            name,
            settings=[*(settings or []), *(more_settings or [])],
            times={"dt": dt, "t_end": t_end},
            method=asdict(method),
            files=files,
            as_json=as_json,
            quiet=quiet,
            list_events=list_events,
        )
        return
    model = opened(name, [*(settings or []), *(more_settings or [])])
    scenario = model.scenario
    step, end = scenario.dt if dt is None else dt, scenario.t_end if t_end is None else t_end
    _check_times(step, end)
    options = _options(model, {key: value for key, value in asdict(method).items() if value is not None})
    if "every" not in options:
        options["every"] = max(1, math.ceil(end / step / _MOST_RECORDS))
    if files.export is not None:
        options |= _forces_kept(scenario, options, files.resume, end / step)
    files.check()
    if files.animate is not None and scenario.drawing is None:
        raise ValueError(f"--animate: {scenario.system.name} has no drawing, so there is no film of it.")

    progress = False if quiet else None
    trajectory = scenario.simulate(
        dt=step, t_end=end, progress=progress, out=files.out, overwrite=files.overwrite, resume=files.resume, **options
    )
    made = {} if files.out is None else {"out": files.out}
    problem = _draw(trajectory, scenario, files, made, progress, whole=t_end is not None)

    if as_json:
        found = report(trajectory, scenario, end, made)
        if list_events:
            found["event_list"] = _event_rows(trajectory)
        print_json(found, indent=2)
    elif not quiet:
        _show(trajectory, scenario, made)
        if list_events:
            print("\n".join(map(printable, trajectory.events().lines())))
    if problem is not None:
        print(f"stickslip: error: {printable(' '.join(str(problem).split()))}", file=sys.stderr)
    _judge(trajectory, files.out)
    if problem is not None:
        raise typer.Exit(_FAILED)


def _options(model: "Model", given: dict[str, Any]) -> dict[str, Any]:
    """Options for `simulate`: what was given, before what the file says."""
    from stickslip.run.options import OF_STEPPERS, stepper_from

    foreign = model.scenario.foreign_options
    for key in given:
        if key in foreign:
            raise ValueError(f"--{key} {foreign[key]}, got {given[key]!r}; leave it out.")
    options = {**model.options, **given}
    options["stepper"] = stepper_from(options)
    return {key: value for key, value in options.items() if key not in OF_STEPPERS}


def _forces_kept(scenario: "Scenario", options: dict[str, Any], resume: bool, steps: float) -> Mapping[str, Any]:
    """Options with which an exported run keeps the forces of its contacts, where it can: files keep none."""
    from stickslip.page.overlay import contact_options

    stepper = getattr(options["stepper"], "name", options["stepper"])
    if resume or stepper not in (scenario.steppers or (stepper,)) or not options["every"] > 0:
        return {}
    return contact_options(scenario, steps / options["every"])


def _check_times(dt: float, t_end: float) -> None:
    for option, value in (("--dt", dt), ("--t-end", t_end)):
        if not math.isfinite(value):
            raise ValueError(f"{option} must be finite [s], got {value:g}.")
    if not dt > 0.0:
        raise ValueError(f"--dt must be positive [s], got {dt:g}.")
    if not t_end >= dt * (1.0 - 1e-9):
        raise ValueError(f"--t-end must be at least one step, got {t_end:g} s with a step of {dt:g} s.")


def _draw(
    trajectory: "Trajectory",
    scenario: "Scenario",
    files: Files,
    made: dict[str, Path],
    progress: bool | None,
    whole: bool,
) -> Exception | None:
    """Write the wanted pictures of a run and note them in `made`; returns what prevented one of them.

    A film shows the whole motion if `whole`, else the part that the drawing proposes.

    A drawing may have no value in the midst of the motion; the summary of the run is printed nevertheless.
    """
    if len(trajectory) < 2:
        return None
    if all(getattr(files, kind) is None for kind in _PICTURES):
        return None
    from stickslip.figures.sheet import on_paper

    problem: Exception | None = None
    for kind, picture in _PICTURES.items():
        path: Path | None = getattr(files, kind)
        if path is not None:
            try:
                with on_paper(files.width, bare=files.bare):
                    made[kind] = picture(trajectory, scenario, path, progress, whole)
            except (ValueError, ArithmeticError, OSError) as error:
                problem = problem or error
    return problem


def _plot(trajectory: "Trajectory", scenario: "Scenario", path: Path, progress: bool | None, whole: bool) -> Path:
    from stickslip.figures import style

    picture = service(f"plot a {scenario.kind}")(trajectory, scenario)
    return style.save(picture, path, title=scenario.title)


def _animate(trajectory: "Trajectory", scenario: "Scenario", path: Path, progress: bool | None, whole: bool) -> Path:
    from stickslip.figures import animation

    assert scenario.drawing is not None  # `run` has checked
    length = float(trajectory.t[-1] - trajectory.t[0])
    shown = length if whole else animation.proposed_span(trajectory, scenario.drawing)
    if shown < length:
        print(
            f"stickslip: the film shows the first {shown:g} s of {length:g} s; --t-end films all of it.",
            file=sys.stderr,
        )
    return animation.animate(trajectory, scenario.drawing, path, title=scenario.title, span=shown, progress=progress)


def _export(trajectory: "Trajectory", scenario: "Scenario", path: Path, progress: bool | None, whole: bool) -> Path:
    from stickslip.page.document import export

    reasons: list[str] = []
    written = export(trajectory, path, scenario, reasons.append)
    for reason in reasons if progress is not False else ():
        print(f"stickslip: {path.name} plays back this run and has no sliders: {printable(reason)}.", file=sys.stderr)
    return written


_PICTURES = {"plot": _plot, "animate": _animate, "export": _export}


def report(
    trajectory: "Trajectory", scenario: "Scenario", t_end: float, files: dict[str, Path] | None = None
) -> dict[str, Any]:
    """The summary of a run as plain values, ready for JSON."""
    impacts = trajectory.impacts()
    total = trajectory.energy.total
    return {
        "system": trajectory.system_name,
        "title": scenario.title,
        "source": scenario.source,
        "stepper": trajectory.stepper,
        "solver": trajectory.solver,
        "engine": trajectory.engine,
        **{key: trajectory.attributes[key] for key in _METHOD if key in trajectory.attributes},
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
            "q": [plain(x) for x in trajectory.q[-1]],
            "u": [plain(x) for x in trajectory.u[-1]],
        },
        "impacts": {"total": len(impacts), "by_contact": impacts.counts()},
        "events": None if trajectory.event_table is None else trajectory.event_table.counts(),  # event-driven only
        "counts": {key: int(count) for key, count in trajectory.attributes.items() if count.isdigit()},
        "energy": {"first": plain(total[0]), "last": plain(total[-1])},
        "energy_book": {key: plain(value) for key, value in trajectory.energy_book().to_dict().items()},
        "certificate": {key: plain(value) for key, value in trajectory.certificate.to_dict().items()},
        "certificate_words": certificate_words(trajectory),
        "files": {key: str(path) for key, path in (files or {}).items()},
        "version": trajectory.version,
    }


def _event_rows(trajectory: "Trajectory") -> list[dict[str, Any]]:
    """The list of events as plain values, ready for JSON."""
    events = trajectory.events()
    columns = (events.time.tolist(), events.kind.tolist(), events.contact.tolist())
    return [{"time": t, "kind": kind, "contact": contact} for t, kind, contact in zip(*columns, strict=True)]


def _rate(trajectory: "Trajectory") -> float:
    return trajectory.steps / max(trajectory.wall_s, 1e-9)


def _show(trajectory: "Trajectory", scenario: "Scenario", files: dict[str, Path]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()

    def row(name: str, value: str, style: str = "") -> None:
        text = printable(value)
        if console.is_terminal:  # in a pipe each entry is one line
            width = max(40, min(console.width, MOST_COLUMNS))
            text = "\n".join(textwrap.wrap(text, width - 14, break_long_words=False, break_on_hyphens=False))
            text = textwrap.indent(text, 14 * " ").lstrip()
        console.print(Text(f"  {name:<12}{text}", style=style), soft_wrap=True)

    found = report(trajectory, scenario, float(trajectory.t[-1]))["impacts"]
    certificate = trajectory.certificate

    head = printable(", ".join(filter(None, (f"{trajectory.system_name}: {scenario.title}", scenario.source))))
    console.print(Text(head, style="bold"), soft_wrap=True)
    thinned = "" if trajectory.every == 1 else f", every {trajectory.every}th recorded"
    times = f"t = {trajectory.t[0]:g} .. {trajectory.t[-1]:g} s"
    if trajectory.stepper in ("event-driven", "adaptive"):  # they choose their steps; dt is the spacing of records
        counts = ", ".join(f"{count} {what}" for what, count in trajectory.attributes.items() if count.isdigit())
        row("motion", f"{times}, recorded every {trajectory.dt * trajectory.every:g} s")
        row("method", f"{_method(trajectory)}, {trajectory.wall_s:.3f} s" + (f": {counts}" if counts else ""))
    else:
        row("motion", f"{times}, {trajectory.steps:,} steps of {trajectory.dt:g} s{thinned}")
        row("method", _method(trajectory))
        row("rate", f"{_rate(trajectory):,.0f} steps/s, {trajectory.wall_s:.3f} s")
    if "resumed" in trajectory.attributes:
        row("resumed", trajectory.attributes["resumed"])
    row("final state", final_state(trajectory))
    if trajectory.contact_names:
        counts = _most_struck(found["by_contact"])
        number = f"{found['total']}"
        if "later impacts" in trajectory.status:
            number = f"the first {number} (later ones are only in the file)"
        row("impacts", f"{number}: {counts}" if found["total"] else "none")
    if trajectory.event_table is not None:
        kinds = ", ".join(f"{kind} {count}" for kind, count in trajectory.event_table.counts().items())
        row("events", kinds or "none")
    book = trajectory.energy_book()
    if math.isfinite(book.end):
        steps = ("steps and applied forces", book.integration)
        parts = [("contacts", book.contacts), ("projection", book.projection), steps]
        shown = ", ".join(f"{key} {value:+.4g}" for key, value in parts if value or key == "contacts")
        row("energy", f"{book.start:.6g} -> {book.end:.6g} J: {shown} J")
    good = trajectory.complete and certificate.failed_steps == 0
    doubts = _doubts(trajectory)
    row("certificate", certificate_words(trajectory), "red" if not good else "yellow" if doubts else "green")
    for path in files.values():
        size = path.stat().st_size / 1e6
        row("written", f"{path} ({size:,.0f} MB)" if size > 99.5 else f"{path} ({size:.2g} MB)")


def certificate_words(trajectory: "Trajectory") -> str:
    """The line of the certificate, with its warnings: in the table of a run and in `--json`."""
    return "; warning: ".join([str(trajectory.certificate), *_doubts(trajectory)])


def _doubts(trajectory: "Trajectory") -> list[str]:
    """Warnings to a reader of the certificate, each with advice."""
    doubts = ["bodies sank in, see the gaps"] if _is_deep(trajectory) else []
    return [*doubts, *trajectory.certificate.doubts()]


def _is_deep(trajectory: "Trajectory") -> bool:
    """Whether a penetration is far deeper than the tolerance and than a time stepper's steps explain.

    Velocity-level steppers see a contact close up to one step late: by the gap's change in a step.
    """
    import numpy as np

    from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE

    changes = np.abs(np.diff(trajectory.gap, axis=0)) / trajectory.every
    step = float(np.max(changes, initial=0.0, where=np.isfinite(changes)))
    return trajectory.certificate.max_penetration > max(_DEEP * PENETRATION_TOLERANCE, 3.0 * step)


def _unit(unit: str) -> str:
    """A unit to stand behind a number: that of a pure number is none."""
    return "" if unit == "1" else unit


def final_state(trajectory: "Trajectory") -> str:
    """Coordinates and velocities at the end; of many bodies the extremes: lowest, highest, fastest."""
    units, last = trajectory.units, trajectory
    state = {
        **dict(zip(last.coordinate_names, last.q[-1].tolist(), strict=True)),
        **dict(zip(last.velocity_names, last.u[-1].tolist(), strict=True)),
    }
    bodies = list(dict.fromkeys(name.partition(".")[0] for name in state if "." in name))
    if len(state) <= _MOST_VALUES or len(bodies) < 2:
        return ", ".join(f"{name} = {value:.6g} {_unit(units.get(name, ''))}".rstrip() for name, value in state.items())
    up = "z" if f"{bodies[0]}.z" in state else "y"
    heights = {body: state[f"{body}.{up}"] for body in bodies}
    speeds = {body: math.hypot(*(state.get(f"{body}.v{axis}", 0.0) for axis in "xyz")) for body in bodies}
    low, high, fast = (
        min(heights, key=lambda k: heights[k]),
        max(heights, key=lambda k: heights[k]),
        max(speeds, key=lambda k: speeds[k]),
    )
    return (
        f"{len(bodies)} bodies: lowest {low} at {up} = {heights[low]:.6g} m, highest {high} at {up} = "
        f"{heights[high]:.6g} m, fastest {fast} with {speeds[fast]:.3g} m/s"
    )


def _most_struck(counts: dict[str, int]) -> str:
    """Contacts with their numbers of impacts; of many the ones that were struck most."""
    struck = {name: count for name, count in counts.items() if count}
    if len(struck) <= _MOST_VALUES:
        return ", ".join(f"{name} {count}" for name, count in struck.items())
    most = sorted(struck, key=lambda name: -struck[name])[:3]
    return f"{len(struck)} bodies struck, most of all " + ", ".join(f"{name} {struck[name]}" for name in most)


def _method(trajectory: "Trajectory") -> str:
    """Stepper, law, solver and engine, with the options that are not the usual ones."""
    notes = trajectory.attributes
    unusual = [
        option
        for option in notes.get("stepper_options", "").split(", ")
        if option and option.partition("=")[2] not in ("None", "0.0", "False")
    ]
    options = f" ({', '.join(unusual)})" if unusual else ""
    law = f", {notes['law']}'s law" if "law" in notes else ""
    return f"{trajectory.stepper}{options}{law}, solver {trajectory.solver}, {trajectory.engine} engine"


def _judge(trajectory: "Trajectory", out: Path | None) -> None:
    """Exit code and message of a run that did not end well."""
    if not trajectory.complete and trajectory.status.startswith("interrupted"):
        kept = "nothing is kept without --out" if out is None else "the same command with --resume goes on"
        raise Interrupted(f"{trajectory.system_name} {trajectory.status}; {kept}")
    if not trajectory.complete:
        print(f"stickslip: error: {printable(f'{trajectory.system_name}: {trajectory.status}')}", file=sys.stderr)
        raise typer.Exit(_FAILED)
    failed = trajectory.certificate.failed_steps
    if failed:
        print(f"stickslip: warning: {failed} steps were not solved to the tolerance", file=sys.stderr)
