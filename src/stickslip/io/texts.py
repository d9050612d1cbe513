"""Texts, numbers and mappings in HDF5 files that netCDF programs read, and what is said of a file that cannot be read.

Texts have a fixed length: HDF5 keeps texts of variable length without a checksum, and takes a damaged length for the
truth.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stickslip.io.disk import NotRegular
from stickslip.io.printable import visible


def create_labels(netcdf: Any, name: str, labels: list[str], along: tuple[str, ...]) -> None:
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


def write_attribute(owner: Any, key: str, value: Any) -> None:
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        # At least two bytes: h5netcdf takes one for a character array.
        owner.attrs[key] = np.array(text, dtype=h5py.string_dtype("utf-8", max(2, len(text))))
    else:
        owner.attrs[key] = np.atleast_1d(value)  # netCDF has no scalar attributes


def number(value: Any) -> int | float:
    return np.asarray(value).reshape(()).item()


def text(value: Any) -> str:
    if isinstance(value, bytes):  # np.bytes_, a text of fixed length
        return value.decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"text expected, got {type(value).__name__}")
    return value


def mapping(value: Any) -> dict[str, Any]:
    mapping = json.loads(text(value))
    if not isinstance(mapping, dict):
        raise ValueError(f"names and values expected, got {type(mapping).__name__}")
    return mapping


class NotLoadable(ValueError):
    """Carries a complete message."""


@contextlib.contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Whatever goes wrong while `path` is read is a ValueError of one line."""
    try:
        yield
    except (NotLoadable, NotRegular) as error:
        raise ValueError(str(error)) from None
    except FileNotFoundError:
        raise ValueError(f"{visible(path)} does not exist; check the name and the folder.") from None
    except PermissionError:
        raise ValueError(f"{visible(path)} may not be read by you; ask for the permission to read it.") from None
    except Exception as error:  # whatever a damaged file makes HDF5, NumPy or xarray raise
        raise ValueError(
            f"{visible(path)} is damaged and cannot be loaded ({reason_of(error)}); use a copy, or run again."
        ) from error


def reason_of(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
