"""`stickslip run NAME|FILE` for circuits of the library and of model files, and `stickslip check FILE`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from stickslip.cli.output import Interrupted, print_json
from stickslip.interrupts import uninterrupted
from stickslip.io.printable import printable

if TYPE_CHECKING:
    from stickslip.circuits.circuit import Circuit

_TAKEN = ("theta", "every")
_LINES = 12  # elements in the summary


def is_circuit(name: str) -> bool:
    """Whether a name is that of a circuit of the library, or of a model file of a circuit."""
    from stickslip import library
    from stickslip.io.models.circuit import is_circuit_file

    return name in library.circuit_names() or is_circuit_file(name)


def _opened(name: str, settings: Sequence[str]) -> tuple[Circuit, dict[str, Any]]:
    """The circuit of a library entry or of a model file, and the options of its run."""
    from stickslip import library
    from stickslip.cli.settings import circuit_with
    from stickslip.io.models.circuit import read_circuit

    if name in library.circuit_names():
        scenario = circuit_with(settings, name)
        return scenario.circuit, {"dt": scenario.dt, "t_end": scenario.t_end, **scenario.options}
    if settings:
        raise ValueError("--set is for circuits of the library; change the model file.")
    model = read_circuit(name)
    return model.circuit, model.options


def run_circuit(
    name: str,
    *,
    settings: Sequence[str],
    times: Mapping[str, float | None],
    method: Mapping[str, Any],
    files: Any,
    as_json: bool,
    quiet: bool,
    list_events: bool,
) -> None:
    """Simulate a circuit of the library or of a model file, print its summary, write its files."""
    for key, value in method.items():
        if value is not None and key not in _TAKEN:
            raise ValueError(f"--{key.replace('_', '-')} is not for circuits, got {value!r}; leave it out.")
    if files.animate is not None or files.export is not None or files.resume:
        raise ValueError("--animate, --export and --resume are not for circuits; leave them out.")
    circuit, own = _opened(name, settings)
    given = {**times, **{key: method[key] for key in _TAKEN}}
    options = {**own, **{key: value for key, value in given.items() if value is not None}}
    _check_files(files)
    made = {}
    with uninterrupted():  # Ctrl-C ends the march; what it has computed is written nevertheless
        run = circuit.simulate(progress=False if quiet else None, **options)
        if files.out is not None:
            made["out"] = str(run.save(files.out, overwrite=files.overwrite))
    if files.plot is not None:
        from stickslip.figures import style
        from stickslip.figures.sheet import on_paper

        with on_paper(files.width, bare=files.bare):
            made["plot"] = str(style.save(run.plot(), files.plot, title=run.system_name))
    if as_json:
        print_json(report(run, made, list_events), indent=2)
    elif not quiet:
        _show(run, made, list_events)
    if run.status.startswith("interrupted"):
        kept = f"what was computed is in {made['out']}" if "out" in made else "nothing is kept without --out"
        raise Interrupted(f"{run.system_name} {run.status}; {kept}")
    if not run.complete:
        print(f"stickslip: error: {printable(f'{run.system_name} {run.status}')}", file=sys.stderr)
        raise typer.Exit(1)


def _check_files(files: Any) -> None:
    """Raise before anything is computed if a file could not be written afterwards."""
    from stickslip.figures.files import require_figure
    from stickslip.io.circuit_files import is_circuit_run
    from stickslip.io.file_under_way import require_replaceable

    if files.out is not None:
        require_replaceable(files.out, files.out, files.overwrite, is_circuit_run, "circuit run")
    if files.plot is not None:
        require_figure("--plot", files.plot)
    if files.width is not None:
        from stickslip.figures.sheet import inches

        inches(files.width)


def report(run: Any, made: Mapping[str, str], list_events: bool) -> dict[str, Any]:
    """The JSON object of a run: plain values only."""
    found = {
        "system": run.system_name,
        "kind": "circuit",
        "status": run.status,
        "complete": run.complete,
        "dt": run.dt,
        "t_end": float(run.t[-1]),
        "theta": run.theta,
        "located": run.located,
        "steps": run.steps,
        "wall_s": run.wall_s,
        "steps_per_s": run.steps / run.wall_s if run.wall_s > 0.0 else 0.0,
        "final": {
            "t": float(run.t[-1]),
            "current": {name: float(run.current(name)[-1]) for name in run.element_names},
            "voltage": {name: float(run.voltage(name)[-1]) for name in run.element_names},
        },
        "events": len(run.events),
        "impacts": len(run.impacts()),
        "energy_book": run.energy_book(),
        "certificate": run.certificate.to_dict(),
        "files": dict(made),
    }
    if list_events:
        columns = run.events.columns
        found["event_list"] = [
            {"time": float(t), "element": str(e), "kind": str(k)}
            for t, e, k in zip(columns["time"], columns["element"], columns["kind"], strict=True)
        ]
    return found


def _show(run: Any, made: Mapping[str, str], list_events: bool) -> None:
    flow, effort = run.units
    rule = "events located" if run.located else f"theta = {run.theta:g}"
    print(printable(f"{run.system_name}: {run.steps:,} steps of {run.dt:g} s, {rule}, {run.wall_s:.2g} s"))
    print(f"  {len(run.events)} events, {len(run.impacts())} jumps of charge or flux; at t = {run.t[-1]:g} s:")
    for name in run.element_names[:_LINES]:
        current, voltage = run.current(name)[-1], run.voltage(name)[-1]
        print(printable(f"  {name:<12} {current:>14.6g} {flow} {voltage:>14.6g} {effort}"))
    if len(run.element_names) > _LINES:
        print(f"  ... {len(run.element_names) - _LINES} more elements (--json lists all)")
    print(f"  certificate: {run.certificate}")
    for doubt in run.certificate.doubts():
        print(f"  note: {doubt}")
    for what, path in made.items():
        print(printable(f"  {what}: {path}"))
    if list_events:
        print("\n".join(map(printable, str(run.events).splitlines())))


def described(path: Path) -> dict[str, Any]:
    """Findings of `check` in a circuit's file: plain values only."""
    from stickslip.io.models.circuit import read_circuit

    model = read_circuit(path)
    net = model.circuit.network()
    return {
        "file": str(path),
        "title": model.circuit.name,
        "dt": model.options["dt"],
        "t_end": model.options["t_end"],
        "kind": "circuit",
        "sizes": {
            "elements": len(model.circuit.elements),
            "nodes": len(model.circuit.nodes()),
            "loops": len(net.links),
            "rows that switch": len(net.row_branches),
        },
        "notes": []
        if net.every_loop_has_inductance()
        else ["some loops have no inductor: the mass matrix is singular"],
        "problem": None,
    }
