"""Reading trajectory files: bit for bit what was written, or an error that says what is wrong with the file.

Nothing in the files is executed, and nothing is unpickled.
"""

from __future__ import annotations

import os
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.circuits.run import CircuitRun
from stickslip.io import digests
from stickslip.io.disk import file_path, open_binary, reading, recover
from stickslip.io.printable import visible
from stickslip.io.sealing import verify
from stickslip.io.texts import NotLoadable, mapping, number, one_line, text
from stickslip.io.trajectory_layout import (
    EVENTS,
    FORMAT,
    FORMAT_VERSION,
    IMPACTS,
    LABELS,
    LAYOUT,
    OPTIONAL,
    SECOND_BODY,
)
from stickslip.io.whole import array, require_room
from stickslip.mechanisms.system import KIND_NAMES
from stickslip.trajectory import EVENT_KINDS, STATE_NAMES, Certificate, Energies, EventTable, ImpactTable, Trajectory

READINGS = 20  # of a file that changes while it is read
MOST_TEXTS = 2**15  # of any length in one variable: each is read by itself, since all may point to one that is long
_HDF5 = b"\x89HDF\r\n\x1a\n"


def is_trajectory(path: str | Path) -> bool:
    """Whether `path` is a file that holds a trajectory, of whatever format version; False if it cannot be read."""
    try:
        with open_binary(path) as content, reading(content) as file:
            return text(file.attrs["stickslip_format"]) == FORMAT
    except Exception:
        return False


def load(path: str | Path) -> Any:
    """Read a saved or streamed trajectory, or the run of a circuit, bit for bit as it was written.

    Everything is read into memory; `xarray.open_dataset(path)` opens the same file lazily.  The file of a run under way
    is read as of one of its commits: a commit during the reading starts it anew.
    """
    path = file_path(path, "path")
    for attempt in range(READINGS):
        before = _stamp(path)
        try:
            trajectory = _load(path)
        except ValueError:
            if attempt == READINGS - 1 or _stamp(path) == before:
                raise
        else:
            if _stamp(path) == before:
                return trajectory
        time.sleep(0.02 * attempt)
    raise ValueError(f"{visible(path)} is being written faster than it can be read; try again when the run has ended.")


def _stamp(path: Path) -> tuple[int, int] | None:
    """Mark that changes with every commit to a file; None where there is no file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _load(path: Path) -> Trajectory | CircuitRun:
    from stickslip.io import circuit_files  # which writes with what this module reads

    recover(path)
    with one_line(path), open_binary(path) as content:
        if content.read(len(_HDF5)) != _HDF5:
            raise NotLoadable(
                f"{visible(path)} is not a stickslip trajectory, nor any netCDF-4 file; load reads what "
                "Trajectory.save wrote."
            )
        with reading(content) as file:
            if text(file.attrs.get("stickslip_format", "")) == circuit_files.FORMAT:
                return circuit_files.read(file)
            check_format(path, file)
            trajectory, digested = _read_trajectory(file)
    if not digested:
        digests.warn_of_none(path)
    return trajectory


def check_format(path: Path, file: Any) -> None:
    found = text(file.attrs.get("stickslip_format", ""))
    if found != FORMAT:
        what = f"it holds a {found[:60]}" if found else "its attribute stickslip_format is missing"
        raise NotLoadable(
            f"{visible(path)} is not a stickslip trajectory ({what}); try xarray.open_dataset to look at it."
        )
    version = int(number(file.attrs["stickslip_format_version"]))
    if version > FORMAT_VERSION:
        writer = text(file.attrs.get("stickslip_version", "?"))
        raise NotLoadable(
            f"{visible(path)} has format version {version}, written by stickslip {writer}, and stickslip "
            f"{__version__} reads "
            f"versions up to {FORMAT_VERSION}; update stickslip."
        )


def own_datasets(file: Any) -> dict[str, Any]:
    """The variables of a file; ValueError where one is missing or lies in another file."""
    found = {name: array(file, name) for name in LAYOUT}
    for name, dataset in found.items():
        if dataset is None and name not in OPTIONAL:
            raise ValueError(f"variable {name} is missing")
    datasets = {name: dataset for name, dataset in found.items() if dataset is not None}
    require_room(datasets.values())
    return datasets


def _read_trajectory(file: Any) -> tuple[Trajectory, bool]:
    """The trajectory of a file, and whether digests vouch for it."""
    sizes: dict[str, int] = {}
    datasets = own_datasets(file)
    for name, dataset in datasets.items():
        _require_layout(dataset, name, sizes)
    values = {name: _read_variable(dataset, name) for name, dataset in datasets.items()}
    attributes = {key: file.attrs[key] for key in file.attrs if not key.startswith("_")}
    labels = {name: tuple(values[name].tolist()) for name in LABELS}
    _require_range("contact_state", values["contact_state"], len(STATE_NAMES))
    _require_range("impact_contact", values["impact_contact"], sizes["contact"])
    if SECOND_BODY in values:
        _require_range(SECOND_BODY, values[SECOND_BODY] + 1, sizes["contact"] + 1)
    events = None
    if int(number(attributes.get("events_exact", 0))):  # else a run under way, which lists them at its end
        _require_range("event_kind", values["event_kind"], len(EVENT_KINDS))
        _require_range("event_contact", values["event_contact"] + 1, sizes["contact"] + 1)
        columns = (values[name].tolist() for name in EVENTS)
        events = EventTable.of(list(zip(*columns, strict=True)), labels["contact"], True)
    certificate: dict[str, Any] = {
        field.name: number(attributes[f"certificate_{field.name}"])
        for field in fields(Certificate)
        if f"certificate_{field.name}" in attributes  # a field that came later keeps its default
    }
    trajectory = Trajectory(
        t=values["time"],
        q=values["q"],
        u=values["u"],
        gap=values["gap"],
        normal_impulse=values["normal_impulse"],
        tangential_impulse=values["tangential_impulse"],
        contact_state=values["contact_state"],
        energy=Energies(values["kinetic_energy"], values["potential_energy"]),
        certificate=Certificate(**certificate),
        impact_table=ImpactTable(
            {name.removeprefix("impact_"): values[name] for name in IMPACTS if name in values}, labels["contact"]
        ),
        system_name=text(attributes["system"]),
        coordinate_names=labels["coordinate"],
        velocity_names=labels["velocity"],
        contact_names=labels["contact"],
        contact_kinds=tuple(_kind(name) for name in labels["contact_kind"]),
        parameters={key: float(value) for key, value in mapping(attributes["parameters"]).items()},
        units=mapping(attributes["units"]),
        dt=float(number(attributes["dt"])),
        every=int(number(attributes["every"])),
        steps=int(number(attributes["steps"])),
        stepper=text(attributes["stepper"]),
        solver=text(attributes["solver"]),
        engine=text(attributes["engine"]),
        status=text(attributes["status"]),
        complete=bool(number(attributes["complete"])),
        wall_s=float(number(attributes["wall_s"])),
        version=text(attributes["stickslip_version"]),
        attributes=mapping(attributes["notes"]),
        event_table=events,
    )
    return trajectory, verify(file, datasets, attributes, values)


def _has_characters(dataset: Any, name: str) -> bool:
    """Whether texts are padded to one length; else they have any length, as xarray writes them."""
    return bool(name in LABELS and dataset.dtype == "S1")


def _require_layout(dataset: Any, name: str, sizes: dict[str, int]) -> None:
    """ValueError unless a variable has its dimensions and type; `sizes` collects the former for later variables."""
    variable, characters = LAYOUT[name], _has_characters(dataset, name)
    if len(dataset.shape) != len(variable.dimensions) + characters:
        raise ValueError(f"variable {name} should have the dimensions {', '.join(variable.dimensions)}")
    for dimension, size in zip(variable.dimensions, dataset.shape, strict=not characters):
        if sizes.setdefault(dimension, size) != size:
            raise ValueError(f"variable {name} has {size} entries along {dimension}, others {sizes[dimension]}")
    if name not in LABELS and dataset.dtype != np.dtype(variable.dtype):
        raise ValueError(f"variable {name} has the type {dataset.dtype}, not {np.dtype(variable.dtype)}")


def _read_variable(dataset: Any, name: str) -> np.ndarray:
    characters = _has_characters(dataset, name)
    if name in LABELS and not characters:
        return _texts(dataset, name)
    values = np.asarray(dataset[...])
    if characters:
        rows = [row.tobytes().rstrip(b"\0").decode("utf-8", "surrogatepass") for row in values]
        return np.array(rows, dtype=object)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _texts(dataset: Any, name: str) -> np.ndarray:
    """Texts of any length, which may not have more letters together than the file has bytes."""
    if dataset.size > MOST_TEXTS:
        raise ValueError(f"variable {name} has {dataset.size} texts of any length, more than {MOST_TEXTS}")
    source, found, room = dataset.asstr(), np.empty(dataset.shape, dtype=object), dataset.file.id.get_filesize()
    for place in np.ndindex(dataset.shape):
        found[place] = source[place]
        room -= len(found[place])
        if room < 0:
            raise ValueError(f"variable {name} has more text than the file")
    return found


def _require_range(name: str, values: np.ndarray, count: int) -> None:
    if values.size and not (0 <= values.min() and values.max() < count):
        raise ValueError(f"variable {name} has entries outside 0 .. {count - 1}")


def _kind(name: str) -> int:
    if name not in KIND_NAMES:
        raise ValueError(f"variable contact_kind has the unknown kind {name!r}")
    return KIND_NAMES.index(name)
