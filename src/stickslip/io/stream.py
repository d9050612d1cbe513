"""Trajectories as netCDF-4 files: written in one go, or block by block while a run is under way.

The files use the HDF5 1.10 format with checksummed metadata and data blocks, and carry digests of our own of all that
is read (`stickslip.io.sealing`): a damaged file is an error, not a slightly different motion.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import h5netcdf
import h5py
import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import poll, uninterrupted
from stickslip.io import digests
from stickslip.io.checkpoint import CHECKPOINT, PACKET, checkpoint_in, packed, unpacked
from stickslip.io.disk import require_sound_heaps, write_error
from stickslip.io.file_under_way import FileUnderWay
from stickslip.io.load import check_format, own_datasets
from stickslip.io.printable import visible
from stickslip.io.sealing import header_digest, table_digests, verify
from stickslip.io.texts import NotLoadable, create_labels, reason_of, write_attribute
from stickslip.io.trajectory_layout import (
    FIRST,
    IMPACTS,
    LABELS,
    LAYOUT,
    RECORDS,
    TABLES,
    attributes_of,
    event_columns,
    impact_columns,
    is_left_out,
    labels_of,
    records_of,
    tables_in,
)
from stickslip.trajectory import Certificate, EventTable, Trajectory

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
                lambda: writer._append("time", records_of(trajectory)),
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
    it is begun, so that a full disk costs one block of records.

    `checkpoint` makes what was written so far safe: killed at any moment, a run leaves a `<name>.part` that opens and
    holds everything up to the last checkpoint, with the state from which it can go on (`resumed`).

    Parameters
    ----------
    path : str or Path
        Checked at once, by the rules of `save`.
    header : Trajectory
        Names, units, parameters and method of the run; its records are not looked at.
    overwrite : bool
        Replace a trajectory that was saved under the name, and drop an unfinished run.

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
        self._place.begin()
        try:
            self._create()
            self._place.check()
            if not whole:
                self._settle()  # a file that opens, from its first moment
                self._place.claim_name()
        except BaseException:
            self.discard()
            raise

    def _start(self, path: str | Path, header: Trajectory, overwrite: bool, whole: bool) -> None:
        self._place = FileUnderWay(path, overwrite, whole)
        self.path = self._place.path
        self.records = 0
        self.impacts = 0
        self.events = 0
        self._header = header  # where the file is whole: the run itself
        self._last_time = float("nan")
        self._file: Any = None
        self._variables: dict[str, Any] = {}

    @classmethod
    def resumed(cls, path: str | Path, header: Trajectory) -> tuple[StreamWriter, dict[str, np.ndarray]] | None:
        """Go on with the unfinished run that `path` names, at its last checkpoint; None where there is no such run.

        Returns the writer, its rows cut to those of the checkpoint, and what `checkpoint` was given.
        """
        with uninterrupted():
            return cls._resumed(path, header)

    @classmethod
    def _resumed(cls, path: str | Path, header: Trajectory) -> tuple[StreamWriter, dict[str, np.ndarray]] | None:
        writer = cls.__new__(cls)
        writer._start(path, header, True, False)
        if not writer._place.take_up():
            return None
        try:
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
        self._place.take_over()

    def _reopen(self) -> dict[str, np.ndarray] | None:
        """Open the file at its last checkpoint and cut off what came after."""
        try:
            require_sound_heaps(self._place.disk.descriptor)
            self._file = self._opened("r+")
            check_format(self._place.draft, self._file)
            packet = checkpoint_in(self._file)
            if packet is None:
                return None
            if not verify(self._file, own_datasets(self._file), dict(self._file.attrs)):
                raise ValueError("it carries no digests: an earlier version wrote it")
            self._hold_variables()
            state = unpacked(np.asarray(packet[...]))
            self.records, self.impacts = (int(packet.attrs[name][0]) for name in ("records", "impacts"))
            self._place.safe = self.records
            sizes = {name: self._file[name].shape[0] for name in ("coordinate", "velocity", "contact")}
            if min(len(self._file["time"]) - self.records, len(self._file["impact_time"]) - self.impacts) < 0:
                raise ValueError("it has fewer rows than its checkpoint says")
        except NotLoadable as error:
            raise ValueError(str(error)) from None
        except Exception as error:  # whatever a damaged file makes HDF5 or NumPy raise
            raise ValueError(
                f"{self._place.draft} is damaged, so no run can go on from it ({reason_of(error)})."
            ) from error
        self._measure(sizes)
        self._trim()
        self._digests = {table: self._digests_so_far(table) for table in tables_in(self._variables)}
        self._last_time = float(self._file["time"][self.records - 1]) if self.records else math.nan
        return state

    def checkpoint(
        self, state: Mapping[str, ArrayLike], certificate: Certificate, status: str, steps: int, wall_s: float
    ) -> None:
        """Make the rows so far and the state of the run safe against a kill and a power cut.

        `state` is arrays by name, given back by `resumed`; no objects.
        """
        if self._file is None:
            raise ValueError(f"{visible(self.path)} is closed; open a new StreamWriter to write another run.")
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
        found = table_digests(self._variables, table, rows, blocks)
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
        tables = tables_in(self._variables)
        for table in tables:
            self._write_digests(table)
        datasets = {**self._variables, **{name: self._file[name] for name in LABELS}}
        rows = {table: self._digest_rows(table) for table in tables}
        value = header_digest(datasets, dict(self._file.attrs), rows, checkpoint_in(self._file))
        digests.write_header(self._file[digests.GROUP], value)

    def _settle(self) -> None:
        """Close the file, make its content safe, and open it again."""
        self._seal()
        self._variables.clear()
        self._file.close()
        try:
            self._place.check()
            self._place.commit()
            self._place.safe = self.records
            self._open()
        except OSError:
            self._file = None
            self._place.disk.close()  # and with it goes the claim: the last commit can be gone on with
            raise

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
        content = packed(state)
        self._reserve("time", self.records, 2 * len(content))
        if checkpoint_in(self._file) is None:
            self._file.create_dataset(
                CHECKPOINT, shape=(0,), maxshape=(None,), dtype="u1", chunks=(PACKET,), fletcher32=True
            )
        dataset = self._file[CHECKPOINT]
        dataset.resize((len(content),))
        dataset[...] = content
        dataset.attrs["records"], dataset.attrs["impacts"] = np.array([self.records]), np.array([self.impacts])

    def rows(self, block: int = 50_000) -> Iterator[dict[str, np.ndarray]]:
        """The records written so far, in blocks; keys as in the file."""
        for begin in range(0, self.records, block):
            end = min(begin + block, self.records)
            yield {name: np.asarray(self._variables[name][begin:end]) for name in RECORDS}

    def impact_rows(self) -> dict[str, np.ndarray]:
        """The table of impacts written so far, by `IMPACT_COLUMNS`."""
        names = [name for name in IMPACTS if name in self._variables]
        return {name.removeprefix("impact_"): np.asarray(self._variables[name][: self.impacts]) for name in names}

    def _measure(self, sizes: Mapping[str, int]) -> None:
        """Rows of a chunk and bytes of a row, as `_create` chose them."""
        self._chunk_rows = {table: self._file[FIRST[table]].chunks[0] for table in tables_in(self._variables)}
        self._row_bytes = dict.fromkeys(self._chunk_rows, 0)
        for name in self._variables.keys() & LAYOUT.keys():
            table, *others = LAYOUT[name].dimensions
            width = math.prod(max(1, sizes[dimension]) for dimension in others)
            self._row_bytes[table] += np.dtype(LAYOUT[name].dtype).itemsize * width

    def _opened(self, mode: str) -> Any:
        return h5py.File(
            self._place.disk,
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
        names = [name for table, variables in TABLES.items() for name in (*variables, table) if name in self._file]
        self._variables = {name: self._file[name] for name in names}

    def _trim(self) -> None:
        """Cut off rows that a block cut short, or the end of an interrupted run, has left behind."""
        for name, variable in self._variables.items():
            table = LAYOUT[name].dimensions[0] if name in LAYOUT else name
            variable.resize(self._count(table), axis=0)

    def _create(self) -> None:
        """Lay out the file, without a row."""
        labels = labels_of(self._header)
        sizes = {name: len(labels[name]) for name in ("coordinate", "velocity", "contact")}
        rows = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // (8 * max(1, *sizes.values()))))
        listed = self._header.event_table
        self._chunk_rows = {table: rows for table in TABLES if table != "event" or listed is not None}
        if self._place.whole:  # a short run makes a small file
            known = {"time": len(self._header), "impact": len(self._header.impact_table), "event": len(listed or ())}
            self._chunk_rows = {table: max(1, min(rows, known[table])) for table in self._chunk_rows}
        self._row_bytes = dict.fromkeys(self._chunk_rows, 0)
        self._place.reserve(_SLACK)
        self._file = self._opened("w")
        # h5netcdf lays out dimensions and variables as netCDF wants them; from then on plain HDF5 appends the rows.
        with contextlib.closing(h5netcdf.File(self._file, "w")) as netcdf:
            netcdf.dimensions = {**sizes, **dict.fromkeys(self._chunk_rows)}
            for name, variable in LAYOUT.items():
                if is_left_out(name, self._header):
                    continue
                if name in LABELS:
                    create_labels(netcdf, name, labels[name], variable.dimensions)
                    write_attribute(self._file[name], "_Encoding", "utf-8")
                else:
                    table, *others = variable.dimensions
                    chunk = (self._chunk_rows[table], *(max(1, sizes[dimension]) for dimension in others))
                    netcdf.create_variable(name, variable.dimensions, variable.dtype, chunks=chunk, fletcher32=True)
                    self._row_bytes[table] += np.dtype(variable.dtype).itemsize * math.prod(chunk[1:])
                for key, value in variable.attributes.items():
                    write_attribute(self._file[name], key, value)
                if variable.labels:
                    write_attribute(self._file[name], "coordinates", variable.labels)
        self._write_attributes(self._header)  # what cannot be written shows now, not after the run
        self._hold_variables()
        group = self._file.create_group(digests.GROUP)
        self._digests = {}
        for table in self._chunk_rows:
            self._digests[table] = found = table_digests(self._variables, table, self._chunk_rows[table], 0)
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
        self._append("impact", impact_columns(columns))

    def list_events(self, events: EventTable | None) -> None:
        """Write the list of events of the run, in the place of one that is there; a run that goes on lists them anew.

        Only a file whose header has a list of events, be it empty, takes one.
        """
        if events is None:
            return
        self.events = 0
        self._digests["event"] = table_digests(self._variables, "event", self._chunk_rows["event"], 0)
        self._header = replace(self._header, event_table=events)
        self._append("event", event_columns(events))

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
            self._place.discard()

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
            raise ValueError(f"{visible(self.path)} is closed; open a new StreamWriter to write another run.")
        arrays = {name: np.asarray(values, dtype=LAYOUT[name].dtype) for name, values in block.items()}
        n = len(np.atleast_1d(arrays[FIRST[table]]))
        for name, array in arrays.items():
            shape = (n, *self._variables[name].shape[1:])
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, one row per {table}, got {array.shape}.")
        if n == 0:
            return
        begin = self._count(table)
        with uninterrupted(), self._unchanged():
            self._reserve(table, begin + n)
            for name, array in arrays.items():
                variable = self._variables[name]
                variable.resize(begin + n, axis=0)
                if array.size:
                    variable[begin:] = array
            self._place.check()
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
        """Errors of HDF5 about a file into which another program has written are OSErrors, as other failures are."""
        try:
            yield
        except (KeyError, RuntimeError) as error:
            cause = OSError(f"another program has changed it ({reason_of(error)})")
            raise write_error(self.path, cause, "run again") from error

    def _write_attributes(self, run: Trajectory) -> None:
        for key, value in attributes_of(run).items():
            write_attribute(self._file, key, value)

    def _reserve(self, table: str, rows: int, more: int = 0) -> None:
        """Make sure of room for `rows` rows of `table` and `more` bytes, whatever HDF5 still holds back."""
        counts = {**{key: self._count(key) for key in self._chunk_rows}, table: rows}
        data = sum(
            -(-count // self._chunk_rows[key]) * self._chunk_rows[key] * self._row_bytes[key]
            for key, count in counts.items()
        )
        size = data + data // 50 + _SLACK + more  # a chunk costs some 20 bytes of index
        self._place.reserve(size)

    def _finish(self, run: Trajectory) -> Path:
        if self._file is None:
            raise ValueError(f"{visible(self.path)} is closed already.")
        with uninterrupted(), self._unchanged():
            try:
                self._trim()
                self._write_attributes(run)
                self._seal()
                self._variables.clear()
                self._file.close()
                self._place.complete()
            except BaseException:
                if self._place.whole:
                    self.discard()
                else:
                    self._close_file()  # the last checkpoint stays
                raise
            self._close_file()
            self._place.publish()
        return self.path

    def _close_file(self) -> None:
        if self._file is not None:
            self._variables.clear()
            with contextlib.suppress(Exception):  # HDF5 complains about its own state after an error it was spared
                self._file.close()
            self._file = None
        self._place.disk.close()
