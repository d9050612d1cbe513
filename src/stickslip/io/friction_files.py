"""`read_friction_problem`, `write_friction_problem`: files of one-step contact problems, by their suffix."""

from __future__ import annotations

import os
from pathlib import Path

from stickslip.contact.problem import FrictionProblem
from stickslip.io.fclib import read_fclib, write_fclib
from stickslip.io.siconos_dat import read_dat, write_dat

SUFFIXES = (".hdf5", ".h5", ".dat")


def read_friction_problem(path: str | Path) -> FrictionProblem:
    """Read a problem from an FCLIB file (`.hdf5`, `.h5`) or a Siconos file (`.dat`); the suffix decides.

    Raises ValueError, one line, for another suffix, and for a file that is missing or cannot be read.
    """
    path = _checked_path(path)
    try:
        return read_dat(path) if path.suffix == ".dat" else read_fclib(path)
    except FileNotFoundError:
        raise ValueError(f"there is no file {str(path)!r}.") from None
    except OSError as problem:
        raise ValueError(f"{path.name} cannot be read: {problem.strerror or problem}.") from problem
    except (ArithmeticError, LookupError, TypeError, MemoryError) as problem:  # what a damaged file makes NumPy raise
        reason = " ".join(str(problem).split())[:200] or type(problem).__name__
        raise ValueError(f"{path.name} is damaged and cannot be read ({reason}).") from problem


def write_friction_problem(problem: FrictionProblem, path: str | Path) -> None:
    """Write a problem as an FCLIB file (`.hdf5`, `.h5`) or a Siconos file (`.dat`); the suffix decides.

    Raises ValueError for another suffix, a folder that does not exist, or a file that cannot be written.
    """
    path = _checked_path(path)
    if not isinstance(problem, FrictionProblem):
        raise ValueError(f"problem must be a FrictionProblem, got {type(problem).__name__}.")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {str(path.parent)!r} does not exist.")
    try:
        (write_dat if path.suffix == ".dat" else write_fclib)(problem, path)
    except OSError as reason:
        told = f"cannot be written: {reason.strerror}." if reason.strerror else str(reason)  # which names the file
        raise ValueError(f"{str(path)!r} {told}" if reason.strerror else told) from reason


def _checked_path(path: str | Path) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path must be the name of a file, got {type(path).__name__}.")
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"a friction problem's file must end in {', '.join(SUFFIXES)}, got {path.name!r}.")
    return path
