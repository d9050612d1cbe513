"""Everything the page shows of a run, as plain values: the moving picture, histories, contacts, and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.analysis.seen_period import seen_period
from stickslip.drawing.primitives import Drawing, markers
from stickslip.mechanisms.system import CONSTRAINT, KIND_NAMES, TANGENT
from stickslip.on_request import service
from stickslip.page.packing import floats, octets, plain
from stickslip.page.tracks import tracks
from stickslip.scenario import Scenario, as_shown
from stickslip.trajectory import IMPACT, Trajectory

FORMAT = 2
"""Of the payload; the page refuses others."""
FRAMES = 480
HISTORY = 2400
_SHARP = 240  # strongest impacts whose instant stands among the frames and in the histories
_MOST_IMPACTS = 4000
_SERIES = 40  # most coordinates, velocities and contacts whose curves are sent: scenes have thousands
_MOST_NUMBERS = 130_000  # of all curves together

_GRAVITY = {f"gravity_{axis}": "m/s^2" for axis in "xyz"}  # parameters of scenes

LIMITS = {
    "frames": FRAMES, "points": HISTORY, "sharp": _SHARP, "impacts": _MOST_IMPACTS, "series": _SERIES,
    "numbers": _MOST_NUMBERS,
}  # fmt: skip
"""For pages that simulate: their payload has the same limits."""


def payload(
    trajectory: Trajectory, scenario: Any = None, *, frames: int = FRAMES, points: int = HISTORY
) -> dict[str, Any]:
    """Data with which the page shows a run; `scenario` (an own `Scene` is one, too) adds title, source and picture."""
    scenario = as_shown(scenario, trajectory)
    if len(trajectory) < 2:
        raise ValueError(f"a page needs at least two records, got {len(trajectory)}: {trajectory.status}.")
    return {
        "format": FORMAT,
        "version": trajectory.version,
        "system": trajectory.system_name,
        "title": trajectory.system_name if scenario is None else scenario.title or trajectory.system_name,
        "source": "" if scenario is None else _source(scenario.source),
        "method": _method(trajectory),
        "complete": trajectory.complete,
        "status": trajectory.status,
        "notes": trajectory.certificate.doubts(),
        "numbers": _numbers(trajectory),
        "parameters": {key: plain(value) for key, value in trajectory.parameters.items()},
        "names": {
            "coordinates": _named(trajectory.coordinate_names, trajectory.units),
            "velocities": _named(trajectory.velocity_names, trajectory.units),
        },
        "units": {key: unit for key, unit in {**_GRAVITY, **trajectory.units}.items() if key in trajectory.parameters},
        "history": _history(trajectory, points),
        "contacts": _contacts(trajectory, scenario),
        "impacts": _impacts(trajectory),
        "motion": _motion(trajectory, scenario, frames),
    }


def _source(text: str) -> str:
    """Where a system comes from; of a file its name, since where it lies is nobody's business on an exported page."""
    return Path(text).name if text.endswith(".toml") else text


def _named(names: Sequence[str], units: Mapping[str, str]) -> list[list[str]]:
    """Names with their units, as many as have curves."""
    return [[name, units.get(name, "")] for name in names[:_SERIES]]


def _method(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "stepper": trajectory.stepper,
        "solver": trajectory.solver,
        "engine": trajectory.engine,
        "law": trajectory.attributes.get("law", "newton"),
        "dt": trajectory.dt,
        "steps": trajectory.steps,
        "records": len(trajectory),
        "wall_s": trajectory.wall_s,
    }


def _numbers(trajectory: Trajectory) -> dict[str, Any]:
    cycle = seen_period(trajectory)
    counts = trajectory.impacts().counts()
    return {
        "period": None if cycle is None else {"value": cycle.period, "difference": cycle.difference},
        "energy": {key: plain(value) for key, value in trajectory.energy_book().to_dict().items()},
        "certificate": {key: plain(value) for key, value in trajectory.certificate.to_dict().items()},
        "proof": [vars(entry) for entry in trajectory.certificate.entries()],
        "impacts": dict(list(counts.items())[:_SERIES]),
    }


def sharp_rows(trajectory: Trajectory, wanted: int) -> np.ndarray:
    """About `wanted` record numbers, evenly spaced, with those before and after the strongest impacts among them."""
    n = len(trajectory)
    even = np.linspace(0, n - 1, min(n, wanted)).round().astype(int)
    impacts = trajectory.impacts()
    strength = np.abs(impacts["normal_impulse"]) + np.abs(impacts["tangential_impulse"])
    times = impacts["time"][np.argsort(-strength, kind="stable")[: min(_SHARP, wanted // 4)]]
    after = np.searchsorted(trajectory.t, times - 1e-9 * trajectory.dt).clip(0, n - 1)
    return np.unique(np.concatenate([even, after, np.maximum(after - 1, 0)]))


def _history(trajectory: Trajectory, points: int) -> dict[str, Any]:
    names = (trajectory.coordinate_names, trajectory.velocity_names, *3 * [trajectory.contact_names])
    count = 3 + sum(len(group[:_SERIES]) for group in names)
    rows = sharp_rows(trajectory, min(points, _MOST_NUMBERS // count))
    curves = [
        *_curves("coordinate", trajectory.coordinate_names, trajectory.q, trajectory.units, rows),
        *_curves("velocity", trajectory.velocity_names, trajectory.u, trajectory.units, rows),
        *_contact_curves(trajectory, rows),
    ]
    energy = trajectory.energy
    for name in ("kinetic", "potential", "total"):
        values = getattr(energy, name)[rows]
        if np.isfinite(values).any():
            curves.append({"name": name, "group": "energy", "unit": "J", "values": floats(values)})
    return {"t": floats(trajectory.t[rows]), "curves": curves}


def _curves(
    group: str, names: Sequence[str], values: np.ndarray, units: Mapping[str, str], rows: np.ndarray
) -> list[dict[str, Any]]:
    return [
        {"name": name, "group": group, "unit": units.get(name, ""), "values": floats(values[rows, k])}
        for k, name in enumerate(names[:_SERIES])
    ]


def _contact_curves(trajectory: Trajectory, rows: np.ndarray) -> list[dict[str, Any]]:
    """Gaps, and the mean forces of the steps without an impact: impulse over the time since the record before."""
    span = np.maximum(np.diff(trajectory.t, prepend=trajectory.t[0] - trajectory.dt), 1e-300)
    curves = []
    for k, name in enumerate(trajectory.contact_names[:_SERIES]):
        smooth = trajectory.contact_state[:, k] != IMPACT
        normal, tangential = (
            np.where(smooth, impulse[:, k] / span, np.nan)[rows]
            for impulse in (trajectory.normal_impulse, trajectory.tangential_impulse)
        )
        if trajectory.contact_kinds[k] >= CONSTRAINT:
            curves.append({"name": name, "group": "reaction", "unit": "N", "values": floats(tangential)})
            continue
        if trajectory.contact_kinds[k] == TANGENT:  # gap and normal force are those of its contact
            curves.append({"name": name, "group": "tangential force", "unit": "N", "values": floats(tangential)})
            continue
        if np.isfinite(trajectory.gap[rows, k]).any():
            curves.append({"name": name, "group": "gap", "unit": "m", "values": floats(trajectory.gap[rows, k])})
        curves.append({"name": name, "group": "normal force", "unit": "N", "values": floats(normal)})
        curves.append({"name": name, "group": "tangential force", "unit": "N", "values": floats(tangential)})
    return curves


def _contacts(trajectory: Trajectory, scenario: Any) -> list[dict[str, Any]]:
    """Name, kind, friction and states of each contact; a state holds from its start to the start of the next."""
    mu = _friction(trajectory, scenario)
    found = []
    for k, name in enumerate(trajectory.contact_names):
        states = trajectory.contact_state[:, k]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(states[1:])) + 1]) if len(states) > 1 else np.zeros(1, int)
        found.append(
            {
                "name": name,
                "kind": KIND_NAMES[trajectory.contact_kinds[k]],
                "friction": None if mu is None else plain(mu[k]),
                "start": floats(trajectory.t[starts]),
                "state": octets(states[starts + 1]),
            }
        )
    return found


def _friction(trajectory: Trajectory, scenario: Any) -> np.ndarray | None:
    system = None if scenario is None else scenario.system_of(trajectory)
    return None if system is None else system.laws(system.parameter_vector(trajectory.parameters))[0]


def _impacts(trajectory: Trajectory) -> dict[str, Any]:
    """The strongest impacts, in the order of time: instants, contacts, impulses [N s]."""
    table = trajectory.impacts()
    strongest = np.argsort(-np.abs(table["normal_impulse"]), kind="stable")[:_MOST_IMPACTS]
    rows = np.sort(strongest)
    contact = table["contact"][rows]
    return {
        "total": len(table),
        "t": floats(table["time"][rows]),
        "contact": contact.tolist(),
        "normal": floats(table["normal_impulse"][rows]),
        "tangential": floats(table["tangential_impulse"][rows]),
    }


def _motion(trajectory: Trajectory, scenario: Any, frames: int) -> dict[str, Any] | None:
    """The moving picture, or None where the system has none."""
    if scenario is None:
        return None
    shown: dict[str, Any] | None = service(f"show a {scenario.kind} moving")(
        scenario, trajectory, sharp_rows(trajectory, frames)
    )
    return shown


def moving_mechanism(scenario: Scenario, trajectory: Trajectory, rows: np.ndarray) -> dict[str, Any] | None:
    """The shapes of a drawing at some records of a run; None where the mechanism has no drawing."""
    drawing = scenario.drawing
    if drawing is None:
        return None
    q, t = trajectory.q[rows], trajectory.t[rows]
    some = np.linspace(0, len(rows) - 1, min(len(rows), 60)).astype(int)
    follow = None if drawing.follow is None else trajectory.coordinate_names.index(drawing.follow)
    return {
        "kind": "plane",
        "t": floats(t),
        "view": [float(x) for x in drawing.fit(q[some], t[some], trajectory.parameters)],
        "follow": None if follow is None else floats(q[:, follow]),
        "span": drawing.span,
        "shapes": tracks(drawing, q, t, trajectory.parameters),
        "turn": _turns(trajectory, scenario, drawing),
    }


def _turns(trajectory: Trajectory, scenario: Any, drawing: Drawing) -> list[int]:
    """Per contact, 1 where a positive slip moves its mark along the normal turned left, -1 where along it turned right.

    A virtual displacement along w_T slips by w_T . w_T > 0, whichever way the mark goes; marks that do not move have 1.
    """
    system = scenario.system_of(trajectory)
    signs = [1] * len(trajectory.contact_names)
    if system is None:
        return signs
    p, t, q = system.parameter_vector(trajectory.parameters), float(trajectory.t[0]), trajectory.q[0]
    _, W_T, _ = system.geometry(q, t, p)
    for mark in markers(drawing(q, t, trajectory.parameters)):
        slip = W_T[mark.contact]
        size = float(np.linalg.norm(slip))
        if size == 0.0:
            continue
        after = {m.contact: m for m in markers(drawing(q + 1e-6 * slip / size, t, trajectory.parameters))}
        moved = np.subtract(after[mark.contact].point, mark.point)
        along = -mark.normal[1] * moved[0] + mark.normal[0] * moved[1]
        signs[mark.contact] = -1 if along < 0.0 else 1
    return signs
