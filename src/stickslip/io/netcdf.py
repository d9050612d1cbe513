"""Trajectories as netCDF-4 files: written in one go, or block by block while a run is under way.

`_LAYOUT` is the only description of the files. `to_dataset`, the writer and the reader all follow it, so a saved run, a
streamed run and `Trajectory.to_xarray()` look the same.

The files use the HDF5 1.10 format with checksummed metadata and checksummed data blocks: a damaged file is an error,
never a slightly different motion. Nothing in them is executed, and nothing is pickled.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import ArrayLike

from stickslip._version import __version__
from stickslip.model.system import KIND_NAMES
from stickslip.trajectory import IMPACT_COLUMNS, STATE_NAMES, Certificate, Energies, ImpactTable, Trajectory

FORMAT = "trajectory"
FORMAT_VERSION = 1

# -- layout --------------------------------------------------------------------------------------------------------


class _Variable(NamedTuple):
    dimensions: tuple[str, ...]
    dtype: str  # NumPy's, or "str"
    attributes: dict[str, Any]
    labels: str = ""  # auxiliary coordinate that belongs to it, as CF wants it named


def _variable(dimensions: str, dtype: str, long_name: str, units: str = "", labels: str = "", **more: Any) -> _Variable:
    attributes = {"long_name": long_name, **({"units": units} if units else {}), **more}
    return _Variable(tuple(dimensions.split()), dtype, attributes, labels)


_IMPACT_UNITS = {"time": "s", "contact": "", "normal_impulse": "N s", "tangential_impulse": "N s"}

_LAYOUT = {
    "coordinate": _variable("coordinate", "str", "name of the coordinate"),
    "velocity": _variable("velocity", "str", "name of the velocity"),
    "contact": _variable("contact", "str", "name of the contact"),
    "coordinate_units": _variable("coordinate", "str", "unit of the coordinate"),
    "velocity_units": _variable("velocity", "str", "unit of the velocity"),
    "contact_kind": _variable("contact", "str", f"kind of the contact: {', '.join(KIND_NAMES)}"),
    "time": _variable("time", "<f8", "time", "s"),
    "q": _variable("time coordinate", "<f8", "coordinates", labels="coordinate_units"),
    "u": _variable("time velocity", "<f8", "velocities", labels="velocity_units"),
    "gap": _variable("time contact", "<f8", "gap distance", "m", "contact_kind"),
    "normal_impulse": _variable(
        "time contact", "<f8", "normal impulse since the record before", "N s", "contact_kind"
    ),
    "tangential_impulse": _variable(
        "time contact", "<f8", "tangential impulse since the record before", "N s", "contact_kind"
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
    **{
        f"impact_{column}": _variable(
            "impact",
            "<i8" if column == "contact" else "<f8",
            "contact of the impact, as a position along the dimension contact"
            if column == "contact"
            else f"{column.replace('_', ' ')} of the impact".replace(" before of the impact", " before the impact").replace(
                " after of the impact", " after the impact"
            ),
            _IMPACT_UNITS.get(column, "m/s"),
        )
        for column in IMPACT_COLUMNS
    },
}
_TABLES = ("time", "impact")
"""Dimensions that grow."""

_METADATA = (
    "system_name",
    "coordinate_names",
    "velocity_names",
    "contact_names",
    "contact_kinds",
    "parameters",
    "units",
    "dt",
    "every",
    "stepper",
    "solver",
    "engine",
    "version",
    "attributes",
)
"""Fields of a trajectory that are known when a run starts."""
