"""Trajectories as netCDF-4 files: written in one go, or block by block while a run is under way.

`_LAYOUT` is the only description of the files. `to_dataset`, the writer and the reader all follow it, so a saved run, a
streamed run and `Trajectory.to_xarray()` look the same.

The files use the HDF5 1.10 format with checksummed metadata and data blocks, and carry digests of our own of all that
is read (`stickslip.io.digests`): a damaged file is an error, not a slightly different motion. Texts have a fixed
length, because HDF5 keeps those of variable length without a checksum, and takes a damaged length for the truth.
Nothing in the files is executed, and nothing is pickled.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import io
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import h5netcdf
import h5py
import numpy as np
from numpy.typing import ArrayLike

from stickslip._version import __version__
from stickslip.interrupts import poll, undoing, uninterrupted
from stickslip.io import digests
from stickslip.io.disk import (
    Disk,
    NotRegular,
    draft_of,
    file_path,
    journal_of,
    lock,
    member,
    open_binary,
    open_draft,
    open_regular,
    reading,
    recover,
    remove_dead_drafts,
    require_sound_heaps,
    sync_folder,
)
from stickslip.mechanisms.system import KIND_NAMES
from stickslip.trajectory import (
    EVENT_KINDS,
    IMPACT_COLUMNS,
    OTHER,
    STATE_NAMES,
    Certificate,
    Energies,
    EventTable,
    ImpactTable,
    Trajectory,
)

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "trajectory"
FORMAT_VERSION = 1
READINGS = 20  # of a file that changes while it is read


# -- layout ----------------------------------------------------------------------------------------------------------


class _Variable(NamedTuple):
    dimensions: tuple[str, ...]
    dtype: str
    attributes: dict[str, Any]
    labels: str  # the auxiliary coordinate that goes with it, named in the file as CF asks


def _variable(dimensions: str, dtype: str, long_name: str, units: str = "", labels: str = "", **more: Any) -> _Variable:
    attributes = {"long_name": long_name, **({"units": units} if units else {}), **more}
    return _Variable(tuple(dimensions.split()), dtype, attributes, labels)


_LABELS = {
    "coordinate_units": _variable("coordinate", "S1", "unit of the coordinate"),
    "velocity_units": _variable("velocity", "S1", "unit of the velocity"),
    "contact_kind": _variable("contact", "S1", f"kind of the contact: {', '.join(KIND_NAMES)}"),
    "coordinate": _variable("coordinate", "S1", "name of the coordinate"),
    "velocity": _variable("velocity", "S1", "name of the velocity"),
    "contact": _variable("contact", "S1", "name of the contact"),
}
_RECORDS = {
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
_IMPACTS = {
    "impact_time": _variable("impact", "<f8", "time of the impact", "s"),
    "impact_contact": _variable("impact", "<i8", "number of the contact, from 0, along the dimension contact"),
    "impact_normal_velocity_before": _variable("impact", "<f8", "normal velocity before the impact", "m/s"),
    "impact_normal_velocity_after": _variable("impact", "<f8", "normal velocity after the impact", "m/s"),
    "impact_normal_impulse": _variable("impact", "<f8", "normal impulse of the impact", "N s"),
    "impact_tangential_impulse": _variable("impact", "<f8", "tangential impulse of the impact", "N s"),
    "impact_tangential_velocity_before": _variable("impact", "<f8", "tangential velocity before the impact", "m/s"),
    "impact_tangential_velocity_after": _variable("impact", "<f8", "tangential velocity after the impact", "m/s"),
}
_SECOND = "impact_other"  # of scenes only
_IMPACTS[_SECOND] = _variable("impact", "<i8", "number of the second body, as impact_contact; -1: a static one")
_EVENTS = {
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
_TABLES = {"time": _RECORDS, "impact": _IMPACTS, "event": _EVENTS}  # which rows are appended to, by their dimension
_FIRST = {"time": "time", "impact": "impact_time", "event": "event_time"}  # a variable that every such table has
# Names last: once h5netcdf has the names of a dimension without entries, it adds no further variable along it.
_LAYOUT = {**_RECORDS, **_IMPACTS, **_EVENTS, **_LABELS}
_OPTIONAL = {_SECOND, *_EVENTS}


def _labels(trajectory: Trajectory) -> dict[str, list[str]]:
    units = trajectory.units
    return {
        "coordinate": list(trajectory.coordinate_names),
        "velocity": list(trajectory.velocity_names),
        "contact": list(trajectory.contact_names),
        "coordinate_units": [units.get(name, "") for name in trajectory.coordinate_names],
        "velocity_units": [units.get(name, "") for name in trajectory.velocity_names],
        "contact_kind": [KIND_NAMES[kind] for kind in trajectory.contact_kinds],
    }


def _records(trajectory: Trajectory) -> dict[str, np.ndarray]:
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


def _impacts(columns: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    if set(columns) - {OTHER} != set(IMPACT_COLUMNS):
        raise ValueError(f"impact columns must be {', '.join(IMPACT_COLUMNS)}, got {', '.join(columns)}.")
    return {f"impact_{column}": columns[column] for column in (*IMPACT_COLUMNS, OTHER) if column in columns}


def _events(events: EventTable | None) -> dict[str, np.ndarray]:
    """The columns of a list of events; none where there is no list."""
    if events is None:
        return {}
    numbers = {name: k for k, name in enumerate(events.names)}
    return {
        "event_time": events.time,
        "event_kind": np.array([EVENT_KINDS.index(kind) for kind in events.kind], dtype=np.int8),
        "event_contact": np.array([numbers.get(name, -1) for name in events.contact], dtype=np.int64),
    }


def _is_left_out(name: str, header: Trajectory) -> bool:
    """Whether the file of a run has no variable of this name."""
    if name == _SECOND:
        return OTHER not in header.impact_table.columns
    return name in _EVENTS and header.event_table is None


def _tables_in(datasets: Mapping[str, Any]) -> list[str]:
    """The tables that a file has."""
    return [table for table in _TABLES if _FIRST[table] in datasets]


_METHOD_NOTES = ("law", "law_options", "stepper_options", "solver_options")
"""Notes that stand beside the names of stepper and solver as well, where one looks for them."""


def _attributes(trajectory: Trajectory) -> dict[str, str | int | float]:
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
        **{name: np.array(labels, dtype=str) for name, labels in _labels(trajectory).items()},
        **_records(trajectory),
        **_impacts(trajectory.impact_table.columns),
        **_events(trajectory.event_table),
    }
    variables = {
        name: xr.Variable(variable.dimensions, values[name], variable.attributes)
        for name, variable in _LAYOUT.items()
        if name in values
    }
    coordinates = {"time", *_LABELS}
    return xr.Dataset(
        {name: variable for name, variable in variables.items() if name not in coordinates},
        {name: variable for name, variable in variables.items() if name in coordinates},
        _attributes(trajectory),
    )


# -- writing ---------------------------------------------------------------------------------------------------------

_CHUNK_ROWS = 1024
_CHUNK_BYTES = 2**18  # of the widest variable; HDF5 reads and checks whole chunks
_DIGEST_BLOCKS = 32  # whose digests make a chunk
_DIGESTS_HELD = 4096  # blocks whose digests wait in memory
_SLACK = 2**20  # room for names, attributes and chunk indices, many times what they take


def save(trajectory: Trajectory, path: str | Path, overwrite: bool = False) -> Path:
    """Write a trajectory to a netCDF file and return its path.

    The file appears whole or not at all: it is written under another name in the same folder and then renamed.

    Parameters
    ----------
    trajectory : Trajectory
    path : str or Path
        Any name, in a folder that exists.
    overwrite : bool
        Replace a trajectory that was saved there. A file that is anything else is never replaced.
    """
    with uninterrupted():  # an open file has an owner at every moment
        writer = StreamWriter(path, trajectory, overwrite=overwrite, _whole=True)
        try:
            for write in (
                lambda: writer._append("time", _records(trajectory)),
                lambda: writer.append_impacts(trajectory.impact_table.columns),
                lambda: writer.list_events(trajectory.event_table),
            ):
                poll()
                write()
            poll()
            return writer._finish(trajectory)
        except BaseException:
            writer.discard()
            raise


class Mark(NamedTuple):
    """How far the rows of a file that is being written go, and the digests of what they hold."""

    records: int
    impacts: int
    last_time: float
    digests: dict[str, digests.TableDigests]


class StreamWriter:
    """Writes a run to a file while it is computed, in blocks of records, with memory that does not grow.

    The file appears under its name with `close` (a finished run) or `abort` (what there is of an interrupted one);
    until then it is called `<name>.part`, and belongs to this process alone. In a `with` block, an exception means
    `abort`. A block is written whole or not at all: Ctrl-C waits for its end, and room on the disk is reserved before
    it is begun, so that a full disk costs the records of that block only.

    `checkpoint` makes what was written so far safe: killed at any moment, a run leaves a `<name>.part` that opens and
    holds everything up to the last checkpoint, with the state from which it can go on (`resumed`).

    Parameters
    ----------
    path : str or Path
        Checked at once, by the rules of `save`.
    header : Trajectory
        Names, units, parameters and method of the run; its records are not looked at.
    overwrite : bool
        As in `save`; also an unfinished run of that name is dropped.

    Attributes
    ----------
    path : Path of the file to be.
    records, impacts, events : numbers of rows written so far.
    """

    def __init__(self, path: str | Path, header: Trajectory, *, overwrite: bool = False, _whole: bool = False) -> None:
        with uninterrupted():
            self._begin(path, header, overwrite, _whole)

    def _begin(self, path: str | Path, header: Trajectory, overwrite: bool, whole: bool) -> None:
        self._start(path, header, overwrite, whole)
        _require_free(self.path, self._target, overwrite)
        self._tidy()
        if not whole:
            _drop_unfinished(self.path, self._part, overwrite)
        self._draft = draft_of(self._target, ".tmp")
        self._ending.enter_context(undoing(functools.partial(self._draft.unlink, missing_ok=True)))
        try:
            descriptor = open_draft(self._draft)
        except OSError as error:
            self._ending.close()
            raise _write_error(self.path, error) from error
        self._disk = Disk(descriptor)
        try:
            self._create()
            self._check()
            if not whole:
                self._settle()  # a file that opens, from its first moment
                self._claim_name()
        except BaseException:
            self.discard()
            raise

    def _start(self, path: str | Path, header: Trajectory, overwrite: bool, whole: bool) -> None:
        self.path = file_path(path, "path")
        self.records = 0
        self.impacts = 0
        self.events = 0
        self._header = header
        self._whole = whole  # the header is the whole run, about to be written in one go
        self._overwrite = overwrite
        self._last_time = float("nan")
        self._target = Path(os.path.realpath(path))  # a link stays a link, and its file is replaced
        self._part = part_of(self._target)
        self._file: Any = None
        self._variables: dict[str, Any] = {}
        self._ending = contextlib.ExitStack()  # what a signal that ends the process does first

    def _tidy(self) -> None:
        """Remove what writers of this file that were killed left beside it."""
        for path in (self._target, journal_of(self._part)):
            remove_dead_drafts(path)

    def _claim_name(self) -> None:
        """Call the draft `<name>.part` from now on; whoever comes second finds it taken."""
        try:
            os.link(self._draft, self._part)  # unlike a rename, it replaces nothing
            self._draft.unlink()
        except FileExistsError:
            raise _taken(self.path, self._part) from None
        except OSError:  # a file system without hard links
            os.rename(self._draft, self._part)
        self._draft = self._part
        self._ending.close()

    @classmethod
    def resumed(cls, path: str | Path, header: Trajectory) -> tuple[StreamWriter, dict[str, np.ndarray]] | None:
        """Go on with the unfinished run of that name, at its last checkpoint; None if there is none to go on with.

        Returns the writer, its rows cut to those of the checkpoint, and what `checkpoint` was given.
        """
        with uninterrupted():
            return cls._resumed(path, header)

    @classmethod
    def _resumed(cls, path: str | Path, header: Trajectory) -> tuple[StreamWriter, dict[str, np.ndarray]] | None:
        writer = cls.__new__(cls)
        writer._start(path, header, True, False)
        writer._tidy()
        source = writer._part if writer._part.exists() else writer._target
        recover(source)  # before it is looked at: in the middle of a commit it may not be readable
        if not source.exists() or not is_trajectory(source):
            if source.exists():
                raise ValueError(f"{source} is not a readable trajectory, so no run can go on from it; remove it.")
            return None
        try:
            descriptor = open_regular(source, os.O_RDWR)
        except OSError as error:
            raise _write_error(writer.path, error) from error
        writer._draft = source
        writer._disk = Disk(descriptor, os.fstat(descriptor).st_size)
        try:
            if not lock(descriptor):
                raise _taken(writer.path, source)
            state = writer._reopen()
        except BaseException:
            writer._close_file()
            raise
        if state is None:
            writer._close_file()
            return None
        return writer, state

    def take_over(self) -> None:
        """Call the file of a run that goes on `<name>.part` again, until it has ended."""
        if self._draft != self._part:
            os.rename(self._draft, self._part)
            self._draft = self._part

    def _reopen(self) -> dict[str, np.ndarray] | None:
        """Open the file at its last checkpoint and cut off what came after."""
        try:
            require_sound_heaps(self._disk.descriptor)
            self._file = self._opened("r+")
            _check_format(self._draft, self._file)
            packet = _checkpoint(self._file)
            if packet is None:
                return None
            if not _verify(self._file, _own_datasets(self._file), dict(self._file.attrs)):
                raise ValueError("it carries no digests: an earlier version wrote it")
            self._hold_variables()
            state = _unpacked(np.asarray(packet[...]))
            self.records, self.impacts = (int(packet.attrs[name][0]) for name in ("records", "impacts"))
            sizes = {name: self._file[name].shape[0] for name in ("coordinate", "velocity", "contact")}
            if min(len(self._file["time"]) - self.records, len(self._file["impact_time"]) - self.impacts) < 0:
                raise ValueError("it has fewer rows than its checkpoint says")
        except _NotLoadable as error:
            raise ValueError(str(error)) from None
        except Exception as error:  # whatever a damaged file makes HDF5 or NumPy raise
            raise ValueError(f"{self._draft} is damaged, so no run can go on from it ({_reason(error)}).") from error
        self._measure(sizes)
        self._trim()
        self._digests = {table: self._digests_so_far(table) for table in _tables_in(self._variables)}
        self._last_time = float(self._file["time"][self.records - 1]) if self.records else math.nan
        return state

    def checkpoint(
        self, state: Mapping[str, ArrayLike], certificate: Certificate, status: str, steps: int, wall_s: float
    ) -> None:
        """Make the rows so far and the state of the run safe against a kill and a power cut.

        `state` is arrays by name, given back by `resumed`; no objects.
        """
        if self._file is None:
            raise ValueError(f"{self.path} is closed; open a new StreamWriter to write another run.")
        with uninterrupted(), self._unchanged():
            self._keep_state(state)
            self._write_attributes(
                replace(
                    self._header, certificate=certificate, status=status, complete=False, steps=steps, wall_s=wall_s
                )
            )
            self._settle()

    def _digests_so_far(self, table: str) -> digests.TableDigests:
        """The digests of a table that goes on after its last full block."""
        rows = self._digest_rows(table)
        count = self._count(table)
        blocks = count // rows
        found = _table_digests(self._variables, table, rows, blocks)
        found.append({name: np.asarray(self._variables[name][blocks * rows : count]) for name in found.names})
        return found

    def _digest_rows(self, table: str) -> int:
        return int(self._file[digests.GROUP][table].attrs["rows"][0])

    def _count(self, table: str) -> int:
        return {"time": self.records, "impact": self.impacts, "event": self.events}[table]

    def _write_digests(self, table: str) -> None:
        """Bring the digests of a table's blocks in the file up to date."""
        new, dataset = self._digests[table], self._file[digests.GROUP][table]
        rows = new.rows()
        dataset.resize(new.blocks + len(rows), axis=0)
        if len(rows):
            dataset[new.blocks :] = rows
        new.taken()

    def _seal(self) -> None:
        """Write the digests of all that the file holds now."""
        tables = _tables_in(self._variables)
        for table in tables:
            self._write_digests(table)
        datasets = {**self._variables, **{name: self._file[name] for name in _LABELS}}
        rows = {table: self._digest_rows(table) for table in tables}
        value = _header_digest(datasets, dict(self._file.attrs), rows, _checkpoint(self._file))
        digests.write_header(self._file[digests.GROUP], value)

    def _settle(self) -> None:
        """Close the file, make its content safe, and open it again."""
        self._seal()
        self._variables.clear()
        self._file.close()
        try:
            self._check()
            self._commit()
            self._open()
        except OSError:
            self._file = None
            self._disk.close()  # and with it goes the claim: the last commit can be gone on with
            raise

    def _commit(self) -> None:
        try:
            self._disk.require_name(self._draft)
            self._disk.commit(self._draft)
        except OSError as error:
            raise _write_error(self.path, error, self._kept("what there was before is safe in")) from error

    def _require_name(self) -> None:
        try:
            self._disk.require_name(self._draft)
        except OSError as error:
            raise _write_error(self.path, error, self._kept("the run is in")) from error

    def _kept(self, words: str) -> str:
        """What is left of the run's file, which may have gone with its folder or its drive."""
        try:
            return f"{words} {self._draft}" if self._disk.is_at(self._draft) else f"{self._draft} is none of this run"
        except OSError:
            return f"{self._draft} has gone, with its folder or its drive"

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more: it was finished, or an error ended it."""
        return self._file is None

    def mark(self) -> Mark:
        """How far the rows go, for `return_to`."""
        kept = {table: found.copy() for table, found in self._digests.items()}
        return Mark(self.records, self.impacts, self._last_time, kept)

    def return_to(self, mark: Mark) -> None:
        """Forget the rows that came after a mark: the next ones take their place."""
        self.records, self.impacts, self._last_time = mark.records, mark.impacts, mark.last_time
        self._digests = {table: found.copy() for table, found in mark.digests.items()}

    def _keep_state(self, state: Mapping[str, ArrayLike]) -> None:
        content = _packed(state)
        self._reserve(self._room("time", self.records) + 2 * len(content))
        if _checkpoint(self._file) is None:
            self._file.create_dataset(
                _CHECKPOINT, shape=(0,), maxshape=(None,), dtype="u1", chunks=(_PACKET,), fletcher32=True
            )
        dataset = self._file[_CHECKPOINT]
        dataset.resize((len(content),))
        dataset[...] = content
        dataset.attrs["records"], dataset.attrs["impacts"] = np.array([self.records]), np.array([self.impacts])

    def rows(self, block: int = 50_000) -> Iterator[dict[str, np.ndarray]]:
        """The records written so far, in blocks; keys as in the file."""
        for begin in range(0, self.records, block):
            end = min(begin + block, self.records)
            yield {name: np.asarray(self._variables[name][begin:end]) for name in _RECORDS}

    def impact_rows(self) -> dict[str, np.ndarray]:
        """The table of impacts written so far, by `IMPACT_COLUMNS`."""
        names = [name for name in _IMPACTS if name in self._variables]
        return {name.removeprefix("impact_"): np.asarray(self._variables[name][: self.impacts]) for name in names}

    def _measure(self, sizes: Mapping[str, int]) -> None:
        """Rows of a chunk and bytes of a row, as `_create` chose them."""
        self._chunk_rows = {table: self._file[_FIRST[table]].chunks[0] for table in _tables_in(self._variables)}
        self._row_bytes = dict.fromkeys(self._chunk_rows, 0)
        for name in self._variables.keys() & _LAYOUT.keys():
            table, *others = _LAYOUT[name].dimensions
            width = math.prod(max(1, sizes[dimension]) for dimension in others)
            self._row_bytes[table] += np.dtype(_LAYOUT[name].dtype).itemsize * width

    def _opened(self, mode: str) -> Any:
        return h5py.File(
            self._disk,
            mode,
            libver=("v110", "v110"),  # the first with checksums on all metadata, read by every HDF5 since 2016
            track_order=True if mode == "w" else None,  # netCDF asks for it
            rdcc_nbytes=2 * _CHUNK_BYTES,
        )

    def _open(self) -> None:
        """Open the file again that this process has closed."""
        self._file = self._opened("r+")
        self._hold_variables()

    def _hold_variables(self) -> None:
        """Held open, so that a chunk filled by several small blocks is written once."""
        names = [name for table, variables in _TABLES.items() for name in (*variables, table) if name in self._file]
        self._variables = {name: self._file[name] for name in names}

    def _trim(self) -> None:
        """Cut off rows that a block cut short, or the end of an interrupted run, has left behind."""
        for name, variable in self._variables.items():
            table = _LAYOUT[name].dimensions[0] if name in _LAYOUT else name
            variable.resize(self._count(table), axis=0)

    def _create(self) -> None:
        """Lay out the file, without a row."""
        labels = _labels(self._header)
        sizes = {name: len(labels[name]) for name in ("coordinate", "velocity", "contact")}
        rows = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // (8 * max(1, *sizes.values()))))
        listed = self._header.event_table
        self._chunk_rows = {table: rows for table in _TABLES if table != "event" or listed is not None}
        if self._whole:  # a short run makes a small file
            known = {"time": len(self._header), "impact": len(self._header.impact_table), "event": len(listed or ())}
            self._chunk_rows = {table: max(1, min(rows, known[table])) for table in self._chunk_rows}
        self._row_bytes = dict.fromkeys(self._chunk_rows, 0)
        self._reserve(_SLACK)
        self._file = self._opened("w")
        # h5netcdf lays out dimensions and variables as netCDF wants them; from then on plain HDF5 appends the rows.
        with contextlib.closing(h5netcdf.File(self._file, "w")) as netcdf:
            netcdf.dimensions = {**sizes, **dict.fromkeys(self._chunk_rows)}
            for name, variable in _LAYOUT.items():
                if _is_left_out(name, self._header):
                    continue
                if name in _LABELS:
                    _create_labels(netcdf, name, labels[name], variable.dimensions)
                    _write_attribute(self._file[name], "_Encoding", "utf-8")
                else:
                    table, *others = variable.dimensions
                    chunk = (self._chunk_rows[table], *(max(1, sizes[dimension]) for dimension in others))
                    netcdf.create_variable(name, variable.dimensions, variable.dtype, chunks=chunk, fletcher32=True)
                    self._row_bytes[table] += np.dtype(variable.dtype).itemsize * math.prod(chunk[1:])
                for key, value in variable.attributes.items():
                    _write_attribute(self._file[name], key, value)
                if variable.labels:
                    _write_attribute(self._file[name], "coordinates", variable.labels)
        self._write_attributes(self._header)  # what cannot be written shows now, not after the run
        self._hold_variables()
        group = self._file.create_group(digests.GROUP)
        self._digests = {}
        for table in self._chunk_rows:
            self._digests[table] = found = _table_digests(self._variables, table, self._chunk_rows[table], 0)
            shape = (len(found.names), digests.SIZE)
            dataset = group.create_dataset(
                table, (0, *shape), "u1", maxshape=(None, *shape), chunks=(_DIGEST_BLOCKS, *shape), fletcher32=True
            )
            dataset.attrs["rows"] = np.array([self._chunk_rows[table]])

    def append(
        self,
        t: ArrayLike,
        q: ArrayLike,
        u: ArrayLike,
        normal_impulse: ArrayLike,
        tangential_impulse: ArrayLike,
        contact_state: ArrayLike,
        gap: ArrayLike,
        kinetic: ArrayLike,
        potential: ArrayLike,
    ) -> None:
        """Append a block of n records; shapes and units as in `Trajectory`."""
        block = {
            "time": t,
            "q": q,
            "u": u,
            "gap": gap,
            "normal_impulse": normal_impulse,
            "tangential_impulse": tangential_impulse,
            "contact_state": contact_state,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
        }
        self._append("time", block)

    def append_impacts(self, columns: Mapping[str, ArrayLike]) -> None:
        """Append rows to the table of impacts; the keys are `IMPACT_COLUMNS`, of a scene `OTHER` too."""
        self._append("impact", _impacts(columns))

    def list_events(self, events: EventTable | None) -> None:
        """Write the list of events of the run, in the place of one that is there; a run that goes on lists them anew.

        Only a file whose header has a list of events, be it empty, takes one.
        """
        if events is None:
            return
        self.events = 0
        self._digests["event"] = _table_digests(self._variables, "event", self._chunk_rows["event"], 0)
        self._header = replace(self._header, event_table=events)
        self._append("event", _events(events))

    def note(self, notes: Mapping[str, str]) -> None:
        """Add to the notes of the run, which `close` writes."""
        self._header = self._header.with_attributes(**notes)

    def close(
        self,
        certificate: Certificate,
        status: str = "finished",
        complete: bool = True,
        steps: int = 0,
        wall_s: float = 0.0,
    ) -> Path:
        """Finish the file, give it its name and return its path."""
        return self._finish(
            replace(self._header, certificate=certificate, status=status, complete=complete, steps=steps, wall_s=wall_s)
        )

    def abort(
        self,
        certificate: Certificate | None = None,
        status: str | None = None,
        steps: int | None = None,
        wall_s: float = 0.0,
    ) -> Path | None:
        """Keep what was written so far as a readable file, and return its path; None if there is no record to keep.

        Without a certificate its measured values are nan; without `steps` they follow from the records.
        """
        if self.records == 0:
            self.discard()
            return None
        nan = float("nan")
        return self.close(
            certificate or Certificate(max_residual=nan, max_penetration=nan, max_energy_gain=nan),
            status=status or f"interrupted at t = {self._last_time:.9g} s",
            complete=False,
            steps=(self.records - 1) * self._header.every if steps is None else steps,
            wall_s=wall_s,
        )

    def release(self) -> None:
        """Close the file as it is, with its last checkpoint, under the name it has."""
        with uninterrupted():
            self._close_file()

    def discard(self) -> None:
        """Drop what was written; a file that stands under the name stays as it is. Harmless after `close`."""
        with uninterrupted():
            self._close_file()
            with contextlib.suppress(OSError):
                self._draft.unlink(missing_ok=True)
            self._ending.close()

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            cause = f" by {kind.__name__}" if kind else ": the file was not closed"
            self.abort(status=f"interrupted at t = {self._last_time:.9g} s{cause}")

    def _append(self, table: str, block: Mapping[str, ArrayLike]) -> None:
        if self._file is None:
            raise ValueError(f"{self.path} is closed; open a new StreamWriter to write another run.")
        arrays = {name: np.asarray(values, dtype=_LAYOUT[name].dtype) for name, values in block.items()}
        n = len(np.atleast_1d(arrays[_FIRST[table]]))
        for name, array in arrays.items():
            shape = (n, *self._variables[name].shape[1:])
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, one row per {table}, got {array.shape}.")
        if n == 0:
            return
        begin = self._count(table)
        with uninterrupted(), self._unchanged():
            self._reserve(self._room(table, begin + n))
            for name, array in arrays.items():
                variable = self._variables[name]
                variable.resize(begin + n, axis=0)
                if array.size:
                    variable[begin:] = array
            self._check()
            if table == "time":
                self.records += n
                self._last_time = float(arrays["time"][-1])
            else:
                self._variables[table].resize(begin + n, axis=0)
                self.impacts += n if table == "impact" else 0
                self.events += n if table == "event" else 0
            self._digests[table].append(arrays)
            if len(self._digests[table].full) >= _DIGESTS_HELD:
                self._write_digests(table)

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Let what HDF5 says about a file that another program has written into be an OSError, as all that fails."""
        try:
            yield
        except (KeyError, RuntimeError) as error:
            cause = OSError(f"another program has changed it ({_reason(error)})")
            raise _write_error(self.path, cause, "run again") from error

    def _write_attributes(self, run: Trajectory) -> None:
        for key, value in _attributes(run).items():
            _write_attribute(self._file, key, value)

    def _room(self, table: str, rows: int) -> int:
        """Bytes the file can take when `table` has `rows` rows, whatever HDF5 still holds back."""
        counts = {**{key: self._count(key) for key in self._chunk_rows}, table: rows}
        data = sum(
            -(-count // self._chunk_rows[key]) * self._chunk_rows[key] * self._row_bytes[key]
            for key, count in counts.items()
        )
        return data + data // 50 + _SLACK  # a chunk costs some 20 bytes of index

    def _reserve(self, size: int) -> None:
        try:
            self._disk.reserve(size)
        except OSError as error:
            kept = f"the {self.records} records before are safe" if self.records else "nothing was replaced"
            raise _write_error(self.path, error, kept) from error

    def _check(self) -> None:
        if self._disk.error is not None:
            raise _write_error(self.path, self._disk.error) from self._disk.error

    def _finish(self, run: Trajectory) -> Path:
        if self._file is None:
            raise ValueError(f"{self.path} is closed already.")
        with uninterrupted(), self._unchanged():
            try:
                self._trim()
                self._write_attributes(run)
                self._seal()
                self._variables.clear()
                self._file.close()
                self._check()
                if not self._whole:
                    self._commit()
                self._disk.sync()
                self._check()
                self._require_name()
            except BaseException:
                if self._whole:
                    self.discard()
                else:
                    self._close_file()  # the last checkpoint stays
                raise
            self._close_file()
            self._publish()
        return self.path

    def _close_file(self) -> None:
        if self._file is not None:
            self._variables.clear()
            with contextlib.suppress(Exception):  # HDF5 complains about its own state after an error it was spared
                self._file.close()
            self._file = None
        self._disk.close()

    def _publish(self) -> None:
        try:
            _require_free(self.path, self._target, self._overwrite)  # again: hours may have passed
            os.replace(self._draft, self._target)
            journal_of(self._draft).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            kept = "nothing was replaced" if self._whole else self._kept("the run is kept in")
            if isinstance(error, ValueError):
                raise ValueError(f"{error} Meanwhile {kept}.") from error
            raise _write_error(self.path, error, kept) from error
        finally:
            self._ending.close()
        sync_folder(self._target.parent)


def part_of(target: Path) -> Path:
    """What the file of a run is called until the run has ended."""
    if len(os.fsencode(target.name)) <= 240:
        return target.with_name(f"{target.name}.part")
    return target.with_name(f"{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]}.part")


def _drop_unfinished(path: Path, part: Path, overwrite: bool) -> None:
    """Make room for a run where another one was killed; never where one is still under way."""
    recover(part)
    try:
        descriptor = open_regular(part, os.O_RDWR)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _write_error(path, error) from error
    try:
        if not lock(descriptor):
            raise _taken(path, part)
        if not overwrite:
            raise ValueError(
                f"{part} is what a run left that was cut short; go on with it (resume=True, --resume), or drop it "
                "(overwrite=True, --overwrite)."
            )
        if not is_trajectory(part):
            raise ValueError(f"{part} exists and is not a readable trajectory, so it is never replaced; remove it.")
        part.unlink()
        journal_of(part).unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _taken(path: Path, part: Path) -> ValueError:
    return ValueError(f"{path} is being written by another process (see {part}); wait for it, or give another name.")


_CHECKPOINT_GROUP, _CHECKPOINT_NAME = "checkpoint", "state"
_CHECKPOINT = f"{_CHECKPOINT_GROUP}/{_CHECKPOINT_NAME}"
_PACKET = 4096
_PIECE = 2**24  # bytes of rows read at a time


def _packed(state: Mapping[str, ArrayLike]) -> np.ndarray:
    """Arrays as bytes, without objects; padded, so that the size seldom changes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(value) for name, value in state.items()})
    content = buffer.getvalue()
    size = len(content).to_bytes(8, "little")
    return np.frombuffer((size + content).ljust(-(-(len(content) + 8) // _PACKET) * _PACKET, b"\0"), np.uint8)


def _unpacked(content: np.ndarray) -> dict[str, np.ndarray]:
    data = content.tobytes()
    size = int.from_bytes(data[:8], "little")
    with np.load(io.BytesIO(data[8 : 8 + size]), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _create_labels(netcdf: Any, name: str, labels: list[str], along: tuple[str, ...]) -> None:
    """Write texts as netCDF has always done: an array of characters, padded."""
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    length = max(map(len, encoded), default=0) or 1
    if f"string{length}" not in netcdf.dimensions:
        netcdf.dimensions[f"string{length}"] = length
    created = netcdf.create_variable(
        name, (*along, f"string{length}"), "S1", chunks=(max(1, len(labels)), length), fletcher32=True
    )
    if labels:
        created[...] = np.array(encoded, dtype=f"S{length}").view("S1").reshape(len(labels), length)


def _write_attribute(owner: Any, key: str, value: Any) -> None:
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        # At least two bytes: h5netcdf takes one for a character array.
        owner.attrs[key] = np.array(text, dtype=h5py.string_dtype("utf-8", max(2, len(text))))
    else:
        owner.attrs[key] = np.atleast_1d(value)  # netCDF has no scalar attributes


def _require_free(path: Path, target: Path, overwrite: bool) -> None:
    """Raise unless `path`, which leads to `target`, may be written."""
    folder = target.parent
    if not folder.is_dir():
        raise ValueError(f"{path} must lie in a folder that exists, and there is none at {folder}; create it first.")
    if target.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file in it.")
    if target.exists():
        if not is_trajectory(target):
            raise ValueError(
                f"{path} exists and is not a readable stickslip trajectory, so it is never replaced; "
                f"give another name, or remove it yourself."
            )
        if not overwrite:
            raise ValueError(f"{path} exists; give overwrite=True to replace it, or another name.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{path} must lie in a folder you may write to, and {folder} is not; choose another.")


def _write_error(path: Path, cause: BaseException, kept: str = "nothing was replaced") -> OSError:
    number = getattr(cause, "errno", None)
    named = str(cause) if type(cause) is OSError else f"{type(cause).__name__}: {cause}"
    reason = os.strerror(number) if number else named
    helps = "; free some space, or choose another folder" if number in (errno.ENOSPC, errno.EDQUOT) else ""
    error = OSError(f"{path} could not be written: {reason}; {kept}{helps}.")
    error.errno = number
    return error


# -- reading ---------------------------------------------------------------------------------------------------------


_HDF5 = b"\x89HDF\r\n\x1a\n"


class _NotLoadable(ValueError):
    """Carries a complete message."""


def damaged(path: Path, error: Exception) -> ValueError:
    """One line about a file that HDF5, NumPy or a digest found fault with."""
    return ValueError(f"{path} is damaged and cannot be loaded ({_reason(error)}); use a copy, or run again.")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def is_trajectory(path: str | Path) -> bool:
    """Whether `path` is a file that holds a trajectory, of whatever format version; False if it cannot be read."""
    try:
        with open_binary(path) as content, reading(content) as file:
            return _text(file.attrs["stickslip_format"]) == FORMAT
    except Exception:
        return False


def load(path: str | Path) -> Trajectory:
    """Read a saved or streamed trajectory, bit for bit as it was written.

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
    raise ValueError(f"{path} is being written faster than it can be read; try again when the run has ended.")


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes with every commit to a file; None where there is no file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _load(path: Path) -> Trajectory:
    recover(path)
    try:
        with open_binary(path) as content:
            if content.read(len(_HDF5)) != _HDF5:
                raise _NotLoadable(
                    f"{path} is not a stickslip trajectory, nor any netCDF-4 file; load reads what Trajectory.save "
                    "wrote."
                )
            with reading(content) as file:
                _check_format(path, file)
                trajectory, digested = _read_trajectory(file)
    except (_NotLoadable, NotRegular) as error:
        raise ValueError(str(error)) from None
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; check the name and the folder.") from None
    except PermissionError:
        raise ValueError(f"{path} may not be read by you; ask for the permission to read it.") from None
    except Exception as error:  # whatever a damaged file makes HDF5 or NumPy raise
        raise damaged(path, error) from error
    if not digested:
        digests.warn_of_none(path)
    return trajectory


def _check_format(path: Path, file: Any) -> None:
    found = _text(file.attrs.get("stickslip_format", ""))
    if found != FORMAT:
        what = f"it holds a {found}" if found else "its attribute stickslip_format is missing"
        raise _NotLoadable(f"{path} is not a stickslip trajectory ({what}); try xarray.open_dataset to look at it.")
    version = int(_number(file.attrs["stickslip_format_version"]))
    if version > FORMAT_VERSION:
        writer = _text(file.attrs.get("stickslip_version", "?"))
        raise _NotLoadable(
            f"{path} has format version {version}, written by stickslip {writer}, and stickslip {__version__} reads "
            f"versions up to {FORMAT_VERSION}; update stickslip."
        )


def _own_datasets(file: Any) -> dict[str, Any]:
    """The variables of a file; ValueError where one is missing or lies in another file."""
    found = {name: member(file, name) for name in _LAYOUT}
    for name, dataset in found.items():
        if dataset is None and name not in _OPTIONAL:
            raise ValueError(f"variable {name} is missing")
    return {name: dataset for name, dataset in found.items() if dataset is not None}


def _checkpoint(file: Any) -> Any:
    """The dataset of the last checkpoint; None where there is none."""
    group = member(file, _CHECKPOINT_GROUP)
    return None if group is None else member(group, _CHECKPOINT_NAME)


def _table_digests(datasets: Mapping[str, Any], table: str, rows: int, blocks: int) -> digests.TableDigests:
    """Digests of the rows of a table, after `blocks` blocks of `rows` rows."""
    names = [name for name in _TABLES[table] if name in datasets]
    return digests.TableDigests({name: (_LAYOUT[name].dtype, datasets[name].shape[1:]) for name in names}, rows, blocks)


def _header_digest(
    datasets: Mapping[str, Any], attributes: Mapping[str, Any], rows: Mapping[str, int], packet: Any
) -> bytes:
    """Digest of what a file holds besides the rows of its tables: attributes, names, numbers of rows, checkpoint."""
    parts = [*digests.attribute_parts(attributes), *digests.dataset_parts({name: datasets[name] for name in _LABELS})]
    for table in _tables_in(datasets):
        shapes = {name: datasets[name].shape for name in _TABLES[table] if name in datasets}
        parts.append(f"{table}\0{rows[table]}\0{shapes}".encode())
    if packet is not None:
        parts += [*digests.attribute_parts(dict(packet.attrs)), np.asarray(packet[...]).tobytes()]
    return digests.digest(parts)


def _verify(
    file: Any,
    datasets: Mapping[str, Any],
    attributes: Mapping[str, Any],
    values: Mapping[str, np.ndarray] | None = None,
) -> bool:
    """DigestError unless a file holds what was written; False where it carries no digests.

    `values` are the rows as they were read; without them they are read piece by piece.
    """
    group = member(file, digests.GROUP)
    if group is None:
        return False
    written = {table: member(group, table) for table in _tables_in(datasets)}
    rows = {table: int(_number(dataset.attrs["rows"])) for table, dataset in written.items()}
    digests.check_header(group, _header_digest(datasets, attributes, rows, _checkpoint(file)))
    source = datasets if values is None else values
    for table in written:
        found = _table_digests(datasets, table, rows[table], 0)
        length = len(source[found.names[0]])
        width = sum(math.prod(datasets[name].shape[1:]) * 8 for name in found.names)
        step = max(1, length if values is not None else _PIECE // max(1, width))
        for begin in range(0, length, step):
            found.append({name: np.asarray(source[name][begin : begin + step]) for name in found.names})
        digests.check_blocks(f"the table along {table}", found.rows(), np.asarray(written[table][...]))
    return True


def _read_trajectory(file: Any) -> tuple[Trajectory, bool]:
    """The trajectory of a file, and whether digests vouch for it."""
    sizes: dict[str, int] = {}
    datasets = _own_datasets(file)
    values = {name: _read_variable(dataset, name, sizes) for name, dataset in datasets.items()}
    attributes = {key: file.attrs[key] for key in file.attrs if not key.startswith("_")}
    labels = {name: tuple(values[name].tolist()) for name in _LABELS}
    _require_range("contact_state", values["contact_state"], len(STATE_NAMES))
    _require_range("impact_contact", values["impact_contact"], sizes["contact"])
    if _SECOND in values:
        _require_range(_SECOND, values[_SECOND] + 1, sizes["contact"] + 1)
    events = None
    if int(_number(attributes.get("events_exact", 0))):  # else a run under way, which lists them at its end
        _require_range("event_kind", values["event_kind"], len(EVENT_KINDS))
        _require_range("event_contact", values["event_contact"] + 1, sizes["contact"] + 1)
        columns = (values[name].tolist() for name in _EVENTS)
        events = EventTable.of(list(zip(*columns, strict=True)), labels["contact"], True)
    certificate: dict[str, Any] = {
        field.name: _number(attributes[f"certificate_{field.name}"])
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
            {name.removeprefix("impact_"): values[name] for name in _IMPACTS if name in values}, labels["contact"]
        ),
        system_name=_text(attributes["system"]),
        coordinate_names=labels["coordinate"],
        velocity_names=labels["velocity"],
        contact_names=labels["contact"],
        contact_kinds=tuple(_kind(name) for name in labels["contact_kind"]),
        parameters={key: float(value) for key, value in _mapping(attributes["parameters"]).items()},
        units=_mapping(attributes["units"]),
        dt=float(_number(attributes["dt"])),
        every=int(_number(attributes["every"])),
        steps=int(_number(attributes["steps"])),
        stepper=_text(attributes["stepper"]),
        solver=_text(attributes["solver"]),
        engine=_text(attributes["engine"]),
        status=_text(attributes["status"]),
        complete=bool(_number(attributes["complete"])),
        wall_s=float(_number(attributes["wall_s"])),
        version=_text(attributes["stickslip_version"]),
        attributes=_mapping(attributes["notes"]),
        event_table=events,
    )
    return trajectory, _verify(file, datasets, attributes, values)


def _read_variable(dataset: Any, name: str, sizes: dict[str, int]) -> np.ndarray:
    """Read one variable; `sizes` collects the dimensions and holds later variables to them."""
    variable = _LAYOUT[name]
    characters = name in _LABELS and dataset.dtype == "S1"  # else a text of variable length, as xarray writes them
    if len(dataset.shape) != len(variable.dimensions) + characters:
        raise ValueError(f"variable {name} should have the dimensions {', '.join(variable.dimensions)}")
    for dimension, size in zip(variable.dimensions, dataset.shape, strict=not characters):
        if sizes.setdefault(dimension, size) != size:
            raise ValueError(f"variable {name} has {size} entries along {dimension}, others {sizes[dimension]}")
    if name in _LABELS and not characters:
        return np.asarray(dataset.asstr()[...], dtype=object)
    if not characters and dataset.dtype != np.dtype(variable.dtype):
        raise ValueError(f"variable {name} has the type {dataset.dtype}, not {np.dtype(variable.dtype)}")
    # A size that is not backed by data would be filled up with zeros, to the end of the memory.
    if dataset.compression is None and dataset.nbytes > dataset.id.get_storage_size():
        raise ValueError(f"variable {name} has less data than its size says")
    values = np.asarray(dataset[...])
    if characters:
        rows = [row.tobytes().rstrip(b"\0").decode("utf-8", "surrogatepass") for row in values]
        return np.array(rows, dtype=object)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _require_range(name: str, values: np.ndarray, count: int) -> None:
    if values.size and not (0 <= values.min() and values.max() < count):
        raise ValueError(f"variable {name} has entries outside 0 .. {count - 1}")


def _kind(name: str) -> int:
    if name not in KIND_NAMES:
        raise ValueError(f"variable contact_kind has the unknown kind {name!r}")
    return KIND_NAMES.index(name)


def _number(value: Any) -> int | float:
    return np.asarray(value).reshape(()).item()


def _text(value: Any) -> str:
    if isinstance(value, bytes):  # np.bytes_, a text of fixed length
        return value.decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"text expected, got {type(value).__name__}")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    mapping = json.loads(_text(value))
    if not isinstance(mapping, dict):
        raise ValueError(f"names and values expected, got {type(mapping).__name__}")
    return mapping
