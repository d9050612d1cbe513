"""Contents of a trajectory file: names, dimensions, types, units and words of its variables, and its attributes.

`LAYOUT` is the only description of the files. `to_dataset`, the writer (`stickslip.io.stream`) and the reader
(`stickslip.io.load`) all follow it, so that a saved run, a streamed run and `Trajectory.to_xarray()` look alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanisms.system import KIND_NAMES
from stickslip.trajectory import EVENT_KINDS, IMPACT_COLUMNS, OTHER, STATE_NAMES, EventTable, Trajectory

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "trajectory"
FORMAT_VERSION = 1


class _Variable(NamedTuple):
    dimensions: tuple[str, ...]
    dtype: str
    attributes: dict[str, Any]
    labels: str  # the auxiliary coordinate that goes with it, named in the file as CF asks


def _variable(dimensions: str, dtype: str, long_name: str, units: str = "", labels: str = "", **more: Any) -> _Variable:
    attributes = {"long_name": long_name, **({"units": units} if units else {}), **more}
    return _Variable(tuple(dimensions.split()), dtype, attributes, labels)


LABELS = {
    "coordinate_units": _variable("coordinate", "S1", "unit of the coordinate"),
    "velocity_units": _variable("velocity", "S1", "unit of the velocity"),
    "contact_kind": _variable("contact", "S1", f"kind of the contact: {', '.join(KIND_NAMES)}"),
    "coordinate": _variable("coordinate", "S1", "name of the coordinate"),
    "velocity": _variable("velocity", "S1", "name of the velocity"),
    "contact": _variable("contact", "S1", "name of the contact"),
}
RECORDS = {
    "time": _variable("time", "<f8", "time", "s"),
    "q": _variable("time coordinate", "<f8", "coordinates", labels="coordinate_units"),
    "u": _variable("time velocity", "<f8", "velocities", labels="velocity_units"),
    "gap": _variable("time contact", "<f8", "gap distance", "m", "contact_kind"),
    "normal_impulse": _variable("time contact", "<f8", "normal impulse since the last record", "N s", "contact_kind"),
    "tangential_impulse": _variable(
        "time contact", "<f8", "tangential impulse since the last record", "N s", "contact_kind"
    ),
    "contact_state": _variable(
        "time contact",
        "|i1",
        "contact state in the step that ended at the record",
        labels="contact_kind",
        flag_values=np.arange(len(STATE_NAMES), dtype=np.int8),
        flag_meanings=" ".join(STATE_NAMES),
    ),
    "kinetic_energy": _variable("time", "<f8", "kinetic energy", "J"),
    "potential_energy": _variable("time", "<f8", "potential energy", "J"),
}
IMPACTS = {
    "impact_time": _variable("impact", "<f8", "time of the impact", "s"),
    "impact_contact": _variable("impact", "<i8", "number of the contact, from 0, along the dimension contact"),
    "impact_normal_velocity_before": _variable("impact", "<f8", "normal velocity before the impact", "m/s"),
    "impact_normal_velocity_after": _variable("impact", "<f8", "normal velocity after the impact", "m/s"),
    "impact_normal_impulse": _variable("impact", "<f8", "normal impulse of the impact", "N s"),
    "impact_tangential_impulse": _variable("impact", "<f8", "tangential impulse of the impact", "N s"),
    "impact_tangential_velocity_before": _variable("impact", "<f8", "tangential velocity before the impact", "m/s"),
    "impact_tangential_velocity_after": _variable("impact", "<f8", "tangential velocity after the impact", "m/s"),
}
SECOND_BODY = "impact_other"  # of scenes only
IMPACTS[SECOND_BODY] = _variable("impact", "<i8", "number of the second body, as impact_contact; -1: a static one")
EVENTS = {
    "event_time": _variable("event", "<f8", "time of the event", "s"),
    "event_kind": _variable(
        "event",
        "|i1",
        "kind of the event",
        flag_values=np.arange(len(EVENT_KINDS), dtype=np.int8),
        flag_meanings=" ".join(kind.replace(" ", "_") for kind in EVENT_KINDS),
    ),
    "event_contact": _variable("event", "<i8", "number of the contact, as impact_contact; -1: none, a kink of forces"),
}
"""The list of events of an event-driven run; other files have none."""
TABLES = {"time": RECORDS, "impact": IMPACTS, "event": EVENTS}  # which rows are appended to, by their dimension
FIRST = {"time": "time", "impact": "impact_time", "event": "event_time"}  # a variable that every such table has
# Names last: once h5netcdf has the names of a dimension without entries, it adds no further variable along it.
LAYOUT = {**RECORDS, **IMPACTS, **EVENTS, **LABELS}
OPTIONAL = {SECOND_BODY, *EVENTS}


def labels_of(trajectory: Trajectory) -> dict[str, list[str]]:
    units = trajectory.units
    return {
        "coordinate": list(trajectory.coordinate_names),
        "velocity": list(trajectory.velocity_names),
        "contact": list(trajectory.contact_names),
        "coordinate_units": [units.get(name, "") for name in trajectory.coordinate_names],
        "velocity_units": [units.get(name, "") for name in trajectory.velocity_names],
        "contact_kind": [KIND_NAMES[kind] for kind in trajectory.contact_kinds],
    }


def records_of(trajectory: Trajectory) -> dict[str, np.ndarray]:
    return {
        "time": trajectory.t,
        "q": trajectory.q,
        "u": trajectory.u,
        "gap": trajectory.gap,
        "normal_impulse": trajectory.normal_impulse,
        "tangential_impulse": trajectory.tangential_impulse,
        "contact_state": trajectory.contact_state,
        "kinetic_energy": trajectory.energy.kinetic,
        "potential_energy": trajectory.energy.potential,
    }


def impact_columns(columns: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    if set(columns) - {OTHER} != set(IMPACT_COLUMNS):
        raise ValueError(f"impact columns must be {', '.join(IMPACT_COLUMNS)}, got {', '.join(columns)}.")
    return {f"impact_{column}": columns[column] for column in (*IMPACT_COLUMNS, OTHER) if column in columns}


def event_columns(events: EventTable | None) -> dict[str, np.ndarray]:
    """The columns of a list of events; none where there is no list."""
    if events is None:
        return {}
    numbers = {name: k for k, name in enumerate(events.names)}
    return {
        "event_time": events.time,
        "event_kind": np.array([EVENT_KINDS.index(kind) for kind in events.kind], dtype=np.int8),
        "event_contact": np.array([numbers.get(name, -1) for name in events.contact], dtype=np.int64),
    }


def is_left_out(name: str, header: Trajectory) -> bool:
    """Whether the file of a run has no variable of this name."""
    if name == SECOND_BODY:
        return OTHER not in header.impact_table.columns
    return name in EVENTS and header.event_table is None


def tables_in(datasets: Mapping[str, Any]) -> list[str]:
    """The tables that a file has."""
    return [table for table in TABLES if FIRST[table] in datasets]


_METHOD_NOTES = ("law", "law_options", "stepper_options", "solver_options")
"""Notes that stand beside the names of stepper and solver as well, where one looks for them."""


def attributes_of(trajectory: Trajectory) -> dict[str, str | int | float]:
    """Global attributes: text and numbers only, mappings as JSON (netCDF has no type for them)."""
    notes = {str(key): str(value) for key, value in trajectory.attributes.items()}
    return {
        "Conventions": "CF-1.11",
        "title": notes.get("title") or f"Motion of {trajectory.system_name}",
        "stickslip_format": FORMAT,
        "stickslip_format_version": FORMAT_VERSION,
        "stickslip_version": trajectory.version,
        "system": trajectory.system_name,
        "parameters": json.dumps({str(key): float(value) for key, value in trajectory.parameters.items()}),
        "units": json.dumps(dict(trajectory.units)),
        "stepper": trajectory.stepper,
        "solver": trajectory.solver,
        "engine": trajectory.engine,
        **{key: notes[key] for key in _METHOD_NOTES if key in notes},
        "dt": float(trajectory.dt),
        "every": int(trajectory.every),
        "steps": int(trajectory.steps),
        "status": trajectory.status,
        "complete": int(trajectory.complete),
        "wall_s": float(trajectory.wall_s),
        "notes": json.dumps(notes),
        **({} if trajectory.event_table is None else {"events_exact": int(trajectory.event_table.exact)}),
        **{f"certificate_{key}": value for key, value in trajectory.certificate.to_dict().items()},
    }


def to_dataset(trajectory: Trajectory) -> xr.Dataset:
    """Return the trajectory as an `xarray.Dataset`, laid out as in a saved file.

    Dimensions time, coordinate, velocity, contact and impact, of an event-driven run event, too; names of the system as
    labels; units and long names on the variables; parameters, method, status and certificate in `attrs`.
    """
    import xarray as xr

    values: dict[str, Any] = {
        **{name: np.array(labels, dtype=str) for name, labels in labels_of(trajectory).items()},
        **records_of(trajectory),
        **impact_columns(trajectory.impact_table.columns),
        **event_columns(trajectory.event_table),
    }
    variables = {
        name: xr.Variable(variable.dimensions, values[name], variable.attributes)
        for name, variable in LAYOUT.items()
        if name in values
    }
    coordinates = {"time", *LABELS}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in coordinates},
        {name: variable for name, variable in variables.items() if name in coordinates},
        attributes_of(trajectory),
    )
