"""Ensembles as netCDF-4 files: one array per observable over the varied quantities, written chunk by chunk.

Neither times of day nor names of machines stand in the files: the same ensemble gives the same bytes, however often it
was interrupted and wherever it was computed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5netcdf
import numpy as np

from stickslip._version import __version__
from stickslip.ensembles.chunks import AnyRequest
from stickslip.ensembles.observables import STATUS_NAMES, Variable, dimensions_of, variables_of
from stickslip.ensembles.result import Ensemble
from stickslip.ensembles.store import ChunkStore
from stickslip.interrupts import uninterrupted
from stickslip.io import digests
from stickslip.io.disk import file_path, open_binary, reading, replacing, sync_folder, writing
from stickslip.io.file_under_way import require_replaceable
from stickslip.io.printable import visible
from stickslip.io.texts import NotLoadable, create_labels, one_line, text, write_attribute
from stickslip.trajectory import STATE_NAMES

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "sweep"
FORMAT_VERSION = 1
_CHUNK_BYTES = 2**18


# -- layout ----------------------------------------------------------------------------------------------------------


def header(request: AnyRequest, fingerprint: str) -> dict[str, Any]:
    """Global attributes of an ensemble: text and numbers only."""
    return {
        "Conventions": "CF-1.11",
        "title": f"Ensemble of {request.system.name} over {', '.join(request.plan.values)}",
        "stickslip_format": FORMAT,
        "stickslip_format_version": FORMAT_VERSION,
        "stickslip_version": __version__,
        "fingerprint": fingerprint,
        "varied": ",".join(request.plan.values),
        **request.describe(),
    }


def labels(request: AnyRequest) -> dict[str, list[str]]:
    """Names along the dimensions behind those of the ensemble, as far as the observables have them."""
    system = request.system
    used = {dimension for variable in variables_of(request.observe).values() for dimension in variable.dimensions}
    names = {
        "coordinate": list(system.coordinate_names),
        "velocity": list(system.velocity_names),
        "contact": list(system.contact_names),
        "state": list(STATE_NAMES),
    }
    return {dimension: entries for dimension, entries in names.items() if dimension in used and entries}


def attributes(request: AnyRequest, name: str, variable: Variable) -> dict[str, Any]:
    """Words, units and the meaning of numbers of one array."""
    found: dict[str, Any] = {"long_name": variable.long_name}
    units = variable.units
    if name == "drop":
        units = request.units.get(request.system.coordinate_names[request.travel], "")
    if units:
        found["units"] = units
    if name == "status":
        found["flag_values"] = np.arange(len(STATUS_NAMES), dtype=np.int8)
        found["flag_meanings"] = " ".join(reason.replace(" ", "_") for reason in STATUS_NAMES)
    return found


def to_dataset(request: AnyRequest, store: ChunkStore, fingerprint: str) -> xr.Dataset:
    """A result that fits into memory, as an `xarray.Dataset` laid out as in a saved file."""
    import xarray as xr

    dimensions = tuple(name for name, _ in request.plan.axes)
    data = {}
    for name, variable in variables_of(request.observe).items():
        array = np.concatenate([values for _, values in store.column(name)])
        array = array.reshape(*request.plan.shape, *array.shape[1:])
        data[name] = xr.Variable((*dimensions, *variable.dimensions), array, attributes(request, name, variable))
    coordinates: dict[str, Any] = {
        name: xr.Variable((axis,), values, _axis_attributes(request, name))
        for name, (axis, values) in request.plan.values.items()
    }
    for dimension, entries in labels(request).items():
        coordinates[dimension] = xr.Variable((dimension,), np.array(entries, dtype=str))
    return xr.Dataset(data, coordinates, header(request, fingerprint))


def _axis_attributes(request: AnyRequest, name: str) -> dict[str, Any]:
    units = request.units.get(name, "")
    return {"long_name": f"varied: {name}", **({"units": units} if units else {})}


# -- writing ---------------------------------------------------------------------------------------------------------


def write_ensemble(path: Path, request: AnyRequest, store: ChunkStore, fingerprint: str) -> None:
    """Write an ensemble from its chunks: the file appears whole or not at all.

    Array after array, each from its beginning to its end: then HDF5 lays the file out in the same way, however large
    the chunks were that the members were computed in.
    """
    dimensions = dict(request.plan.axes)
    behind = dimensions_of(request.system, request.points)
    variables = variables_of(request.observe)
    used = {dimension for variable in variables.values() for dimension in variable.dimensions}
    sizes = {**dimensions, **{name: size for name, size in behind.items() if name in used}}
    coordinates = {
        name: ((axis,), values, _axis_attributes(request, name)) for name, (axis, values) in request.plan.values.items()
    }
    with _new_file(path, sizes, header(request, fingerprint)) as (netcdf, file):
        for name, (axis, axis_values, notes) in coordinates.items():
            _create(netcdf, file, name, axis, axis_values.dtype, sizes, notes)
            file[name][...] = axis_values
        for dimension, entries in labels(request).items():
            create_labels(netcdf, dimension, entries, (dimension,))
            write_attribute(file[dimension], "_Encoding", "utf-8")
        for name, variable in variables.items():
            along = (*dimensions, *variable.dimensions)
            _create(netcdf, file, name, along, np.dtype(variable.dtype), sizes, attributes(request, name, variable))
        for name in variables:
            for (first, last), values in store.column(name):
                _write_slab(file[name], tuple(dimensions.values()), first, last, values)
            file.flush()


def save_dataset(dataset: xr.Dataset, path: str | Path, overwrite: bool = False) -> Path:
    """Write a result that is in memory."""
    target = file_path(path, "path")
    require_free(target, overwrite)
    sizes = {str(name): int(size) for name, size in dataset.sizes.items()}
    with _new_file(target, sizes, dict(dataset.attrs)) as (netcdf, file):
        texts = [name for name in dataset.variables if dataset[name].dtype.kind in "UO"]
        for name in [*dataset.coords, *dataset.data_vars]:
            variable = dataset[name].variable
            if name in texts:
                create_labels(netcdf, str(name), [str(entry) for entry in variable.values], (str(name),))
                write_attribute(file[name], "_Encoding", "utf-8")
            else:
                along = tuple(str(dimension) for dimension in variable.dims)
                _create(netcdf, file, str(name), along, variable.dtype, sizes, variable.attrs)
                file[str(name)][...] = variable.values
    return target


@contextlib.contextmanager
def _new_file(path: Path, sizes: Mapping[str, int], notes: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """A netCDF file with its dimensions and attributes, for variables to be added; published when the block ends."""
    target = Path(os.path.realpath(path))
    try:
        new = {"libver": ("v110", "v110"), "track_order": True}
        with replacing(target) as draft, uninterrupted(), writing(draft, **new) as file:
            with contextlib.closing(h5netcdf.File(file, "w")) as netcdf:
                netcdf.dimensions = dict(sizes)
                yield netcdf, file
            for key, value in notes.items():
                write_attribute(file, key, value)
            digests.seal(file)
        sync_folder(target.parent)
    except OSError as error:
        raise OSError(
            f"{visible(path)} could not be written: {error}; what was computed is kept, --resume goes on."
        ) from error


def _create(
    netcdf: Any,
    file: Any,
    name: str,
    along: tuple[str, ...],
    dtype: Any,
    sizes: Mapping[str, int],
    notes: Mapping[str, Any],
) -> None:
    shape = tuple(sizes[dimension] for dimension in along)
    options: dict[str, Any] = {}
    if shape:
        options = {"chunks": _chunk_shape(shape, np.dtype(dtype).itemsize), "fletcher32": True}
    netcdf.create_variable(name, along, dtype, **options)
    for key, value in notes.items():
        write_attribute(file[name], key, value)


def _chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Pieces of the last dimensions, whole rows first, of a size that HDF5 reads and checks at once."""
    room = max(1, _CHUNK_BYTES // itemsize)
    chunk = []
    for size in reversed(shape):
        part = max(1, min(size, room))
        chunk.append(part)
        room //= part
    return tuple(reversed(chunk))


def _write_slab(dataset: Any, shape: tuple[int, ...], first: int, last: int, values: np.ndarray) -> None:
    """Write the members first .. last - 1 of a grid, counted with the last axis fastest, as rectangles."""
    for index, begin, end in rectangles(shape, first, last):
        block = values[begin - first : end - first]
        dataset[index] = block.reshape(*(part.stop - part.start for part in index), *block.shape[1:])


def rectangles(shape: tuple[int, ...], first: int, last: int) -> Iterator[tuple[tuple[slice, ...], int, int]]:
    """Rectangles of a grid that together hold the members first .. last - 1: (slices, first member, last member)."""
    if first >= last:
        return
    if len(shape) == 1:
        yield (slice(first, last),), first, last
        return
    row = int(np.prod(shape[1:]))
    while first < last:
        i = first // row
        if first % row == 0 and last - first >= row:  # whole rows at once
            count = (last - first) // row
            end = first + count * row
            yield (slice(i, i + count), *(slice(0, size) for size in shape[1:])), first, end
        else:
            end = min(last, (i + 1) * row)
            for index, begin, stop in rectangles(shape[1:], first - i * row, end - i * row):
                yield (slice(i, i + 1), *index), begin + i * row, stop + i * row
        first = end


# -- reading ---------------------------------------------------------------------------------------------------------


def fingerprint_of(path: Path) -> str | None:
    """Which ensemble a file holds; None where it holds none."""
    try:
        with open_binary(path) as content, reading(content) as file:
            if text(file.attrs["stickslip_format"]) != FORMAT:
                return None
            return text(file.attrs["fingerprint"])
    except Exception:
        return None


def require_free(path: Path, overwrite: bool) -> None:
    """Raise unless an ensemble may be written to `path`."""
    require_replaceable(path, path, overwrite, lambda target: fingerprint_of(target) is not None, "ensemble")


def load_ensemble(path: str | Path) -> Ensemble:
    """Read an ensemble that was saved; arrays are read from the file when they are looked at.

    The digests of all arrays are checked first, for which the file is read once.
    """
    import xarray as xr

    target = file_path(path, "path")
    with one_line(target):
        with open_binary(target) as content:  # says so if there is no regular file, or it may not be read
            pass
        if fingerprint_of(target) is None:
            raise NotLoadable(
                f"{visible(target)} is not an ensemble of ours; load_ensemble reads what `stickslip sweep` wrote."
            )
        with open_binary(target) as content, reading(content) as file:
            digested = digests.verify(file)
        result = Ensemble(xr.open_dataset(target, engine="h5netcdf"))
    if not digested:
        digests.warn_of_none(target)
    return result
