"""Whether a file has the data that the sizes in it say: asked before HDF5 reads them.

HDF5 takes the sizes of a damaged file for the truth.  It allocates what they say, fills up with zeros what is not
there, and ends the process where a piece has fewer bytes than its checksum (`H5Z__filter_fletcher32`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from stickslip.io.disk import member

UNPACKED, MOST_UNPACKED = 2**27, 16
"""Bytes that the arrays of a file may have together, and times the file that those of a larger one may have."""
MOST_PIECES, LEAST_PIECE = 2**14, 4096
"""Pieces of an array in any file, and bytes of the file for each of more: HDF5 takes microseconds for the smallest."""
_POINTER = 16  # bytes of a text of any length in an array: its length, and where it stands
_SUM = 4  # bytes of the checksum of a piece
_SMALL = 64  # bytes of an array that need not stand in the file: HDF5 fills them up
_PACKED_MORE = 1024  # bytes by which a piece may become longer where it cannot be packed


def array(group: Any, name: str) -> Any:
    """The dataset of a group under a name, of which the file holds all values; None where there is none."""
    found = member(group, name)
    if found is not None:
        require_whole(found, name)
    return found


def is_bare(dataset: Any) -> bool:
    """Whether a dataset is a dimension without values of its own, as netCDF writes them: its size says all."""
    return bool(not dataset.chunks and dataset.id.get_storage_size() == 0 and dataset.nbytes > _SMALL)


def require_whole(dataset: Any, name: str) -> None:
    """ValueError unless the file holds all pieces of an array, each as long as it must be."""
    import h5py

    properties, stored = dataset.id.get_create_plist(), dataset.id.get_storage_size()
    if stored > dataset.file.id.get_filesize():
        raise ValueError(f"variable {name} says that it takes more room than the file has")
    if dataset.nbytes > max(_SMALL, stored) and (dataset.compression is None or not stored):
        raise ValueError(f"variable {name} has less data than its size says")
    if properties.get_layout() != h5py.h5d.CHUNKED or not dataset.nbytes:
        return
    piece = math.prod(dataset.chunks) * (_POINTER if dataset.dtype.hasobject else dataset.dtype.itemsize)
    count = math.prod(-(-size // part) for size, part in zip(dataset.shape, dataset.chunks, strict=True))
    if count > (most := max(MOST_PIECES, dataset.file.id.get_filesize() // LEAST_PIECE)):
        raise ValueError(f"variable {name} says that it has {count} pieces, and {most} are read at most")
    least, longest = _lengths(properties, piece)
    found = 0

    def look(info: Any) -> bool | None:
        nonlocal found
        found += 1
        return None if least <= info.size <= longest else True  # anything but None ends the walk

    if dataset.id.chunk_iter(look):
        raise ValueError(f"variable {name} has a piece whose length is not that of its values")
    if found < count and dataset.nbytes > max(_SMALL, found * piece):
        raise ValueError(f"variable {name} has less data than its size says")


def _lengths(properties: Any, piece: int) -> tuple[int, int]:
    """Bytes that a piece takes in the file, at least and at most."""
    import h5py

    filters = [properties.get_filter(k)[0] for k in range(properties.get_nfilters())]
    summed = _SUM * (h5py.h5z.FILTER_FLETCHER32 in filters)
    if set(filters) <= {h5py.h5z.FILTER_FLETCHER32, h5py.h5z.FILTER_SHUFFLE}:
        return piece + summed, piece + summed
    return 1 + summed, 2 * piece + _PACKED_MORE


def require_room(datasets: Iterable[Any]) -> None:
    """ValueError where arrays of a file unpack to many times what the file holds."""
    total = largest = size = 0
    word = ""
    for dataset in datasets:
        bytes_ = dataset.nbytes
        if dataset.chunks and bytes_:  # HDF5 unpacks whole pieces
            bytes_ = max(bytes_, math.prod(dataset.chunks) * dataset.dtype.itemsize)
        total, size = total + bytes_, dataset.file.id.get_filesize()
        if bytes_ > largest:
            largest, word = bytes_, dataset.name.lstrip("/")
    if total > max(UNPACKED, MOST_UNPACKED * size):
        raise ValueError(
            f"its variables unpack to {total >> 20} MB, {word} alone to {largest >> 20} MB, more than {MOST_UNPACKED} "
            f"times the {size >> 20} MB of the file; write it without compression"
        )
