"""Runs of circuits as netCDF-4 files: written in one go, sealed with digests, read bit for bit."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip._version import __version__
from stickslip.circuits.run import (
    EVENT_COLUMNS,
    JUMP_COLUMNS,
    CircuitCertificate,
    CircuitEnergies,
    CircuitRun,
    Table,
)
from stickslip.interrupts import uninterrupted
from stickslip.io import digests
from stickslip.io.disk import file_path, open_binary, reading, replacing, sync_folder, writing
from stickslip.io.file_under_way import require_replaceable
from stickslip.io.texts import NotLoadable, create_labels, mapping, number, text, write_attribute
from stickslip.io.whole import array

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "circuit run"
FORMAT_VERSION = 1
_TEXTS = ("element", "kind")  # columns of tables


def _labels(run: CircuitRun) -> dict[str, tuple[tuple[str, ...], list[str]]]:
    """Texts of a run: dimensions and entries."""
    return {
        "element": (("element",), list(run.element_names)),
        "element_kind": (("element",), list(run.element_kinds)),
        "loop": (("loop",), list(run.loop_names)),
        "switching": (("switching",), list(run.switching)),
        "mode_word": (("mode_word",), list(run.mode_words)),
        **{f"event_{name}": (("event",), run.events[name].tolist()) for name in EVENT_COLUMNS if name in _TEXTS},
        **{f"impact_{name}": (("impact",), run.jump_table[name].tolist()) for name in JUMP_COLUMNS if name in _TEXTS},
    }


def _numbers(run: CircuitRun) -> dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]:
    """Arrays of a run: dimensions, values, attributes."""
    flow, effort = run.units
    charge = "C" if flow == "A" else "m3"
    return {
        "time": (("time",), run.t, {"units": "s", "long_name": "time"}),
        "q": (("time", "loop"), run.q, {"units": charge, "long_name": "charges of the loops"}),
        "u": (("time", "loop"), run.u, {"units": flow, "long_name": "currents of the loops"}),
        "current": (("time", "element"), run.currents, {"units": flow, "long_name": "current, first to second node"}),
        "voltage": (("time", "element"), run.voltages, {"units": effort, "long_name": "voltage, first against second"}),
        "mode": (("time", "switching"), run.modes, {"long_name": "number of the word in mode_word"}),
        "magnetic_energy": (("time",), run.energy.magnetic, {"units": "J", "long_name": "energy of inductors"}),
        "electric_energy": (("time",), run.energy.electric, {"units": "J", "long_name": "energy of capacitors"}),
        **{f"event_{name}": (("event",), run.events[name], {}) for name in EVENT_COLUMNS if name not in _TEXTS},
        **{f"impact_{name}": (("impact",), run.jump_table[name], {}) for name in JUMP_COLUMNS if name not in _TEXTS},
    }


def _attributes(run: CircuitRun) -> dict[str, Any]:
    return {
        "Conventions": "CF-1.11",
        "title": f"Run of {run.system_name}",
        "stickslip_format": FORMAT,
        "stickslip_format_version": FORMAT_VERSION,
        "stickslip_version": run.version,
        "system": run.system_name,
        "units": json.dumps(run.units),
        "dt": run.dt,
        "every": run.every,
        "steps": run.steps,
        "theta": run.theta,
        "located": int(run.located),
        "status": run.status,
        "complete": int(run.complete),
        "wall_s": run.wall_s,
        "energy_book": json.dumps(dict(run.book)),
        "notes": json.dumps(dict(run.attributes)),
        **{f"certificate_{key}": value for key, value in run.certificate.to_dict().items()},
    }


def to_dataset(run: CircuitRun) -> xr.Dataset:
    """The run as an `xarray.Dataset`, laid out as in a saved file."""
    import xarray as xr

    variables = {name: xr.Variable(along, values, notes) for name, (along, values, notes) in _numbers(run).items()}
    for name, (along, entries) in _labels(run).items():
        variables[name] = xr.Variable(along, np.array(entries, dtype=str))
    coordinates = {"time", "element", "loop", "switching", "mode_word"}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in coordinates},
        {name: variable for name, variable in variables.items() if name in coordinates},
        _attributes(run),
    )


def save(run: CircuitRun, path: str | Path, overwrite: bool = False) -> Path:
    """Write a run to a netCDF file, atomically, and return its path; only files of circuit runs are replaced."""
    import h5netcdf

    target = file_path(path, "path")
    require_replaceable(target, target, overwrite, is_circuit_run, "circuit run")
    with replacing(target) as draft, uninterrupted(), writing(draft, track_order=True) as file:
        with contextlib.closing(h5netcdf.File(file, "w")) as netcdf:
            _write_arrays(netcdf, run)
        for key, value in _attributes(run).items():
            write_attribute(file, key, value)
        digests.seal(file)
    sync_folder(target.parent)
    return target


def _write_arrays(netcdf: Any, run: CircuitRun) -> None:
    numbers, labels = _numbers(run), _labels(run)
    sizes = {d: n for along, values, _ in numbers.values() for d, n in zip(along, values.shape, strict=True)}
    sizes.update({along[0]: len(entries) for along, entries in labels.values()})
    netcdf.dimensions = sizes
    for name, (along, entries) in labels.items():
        create_labels(netcdf, name, entries, along)
    for name, (along, values, notes) in numbers.items():
        if values.ndim == 2 and not values.size:
            continue  # nothing switches
        checked = {"fletcher32": True, "chunks": _chunks(values)} if values.size else {}
        variable = netcdf.create_variable(name, along, values.dtype, **checked)
        if values.size:
            variable[...] = values
        for key, value in notes.items():
            write_attribute(variable, key, value)


def _chunks(values: np.ndarray) -> tuple[int, ...]:
    rows = max(1, 2**18 // max(1, values[:1].nbytes))
    return (min(rows, len(values)), *values.shape[1:])


def is_circuit_run(path: str | Path) -> bool:
    """Whether a file holds the run of a circuit; False if it cannot be read."""
    try:
        with open_binary(path) as content, reading(content) as file:
            return text(file.attrs["stickslip_format"]) == FORMAT
    except Exception:
        return False


def read(file: Any) -> CircuitRun:
    """The run in an HDF5 file; ValueError where something is missing or its digests do not match."""
    attributes = {key: file.attrs[key] for key in file.attrs if not key.startswith("_")}
    version = int(number(attributes["stickslip_format_version"]))
    if version > FORMAT_VERSION:
        raise NotLoadable(
            f"the circuit run has format version {version}, and stickslip {__version__} reads versions up to "
            f"{FORMAT_VERSION}; update stickslip."
        )
    if not digests.verify(file):
        raise ValueError("its digests are missing")
    names = ("element", "element_kind", "loop", "switching", "mode_word")
    labels = {name: tuple(_texts(file, name)) for name in names}
    arrays = {
        name: _array(file, name)
        for name in ("time", "q", "u", "current", "voltage", "magnetic_energy", "electric_energy")
    }
    arrays["mode"] = _array(file, "mode") if labels["switching"] else np.zeros((len(arrays["time"]), 0), np.int16)
    flow, effort = json.loads(text(attributes["units"]))
    certificate = {
        field.name: number(attributes[f"certificate_{field.name}"])
        for field in fields(CircuitCertificate)
        if f"certificate_{field.name}" in attributes
    }
    return CircuitRun(
        t=arrays["time"],
        q=arrays["q"],
        u=arrays["u"],
        currents=arrays["current"],
        voltages=arrays["voltage"],
        modes=arrays["mode"],
        energy=CircuitEnergies(arrays["magnetic_energy"], arrays["electric_energy"]),
        certificate=CircuitCertificate(**certificate),  # type: ignore[arg-type]
        events=_table(file, "event", EVENT_COLUMNS),
        jump_table=_table(file, "impact", JUMP_COLUMNS),
        book={key: float(value) for key, value in mapping(attributes["energy_book"]).items()},
        system_name=text(attributes["system"]),
        loop_names=labels["loop"],
        element_names=labels["element"],
        element_kinds=labels["element_kind"],
        switching=labels["switching"],
        mode_words=labels["mode_word"],
        dt=float(number(attributes["dt"])),
        every=int(number(attributes["every"])),
        steps=int(number(attributes["steps"])),
        theta=float(number(attributes["theta"])),
        located=bool(number(attributes["located"])),
        units=(flow, effort),
        status=text(attributes["status"]),
        complete=bool(number(attributes["complete"])),
        wall_s=float(number(attributes["wall_s"])),
        version=text(attributes["stickslip_version"]),
        attributes=mapping(attributes["notes"]),
    )


def _array(file: Any, name: str) -> np.ndarray:
    dataset = array(file, name)
    if dataset is None:
        raise ValueError(f"variable {name} is missing")
    values = np.asarray(dataset[...])
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _texts(file: Any, name: str) -> list[str]:
    return [row.tobytes().rstrip(b"\0").decode("utf-8", "surrogatepass") for row in _array(file, name)]


def _table(file: Any, prefix: str, columns: tuple[str, ...]) -> Table:
    return Table(
        {
            name: np.array(_texts(file, f"{prefix}_{name}"), dtype=str)
            if name in _TEXTS
            else _array(file, f"{prefix}_{name}")
            for name in columns
        }
    )
