"""Programs and packages of others, looked for without loading them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from typing import Any

Report = dict[str, Any]


# Siconos is packaged by distributions for their own Python rather than for an environment.
_SYSTEM_PYTHON = "/usr/bin/python3"


_PROBE_TIMEOUT = 30.0  # [s] for a program that we only ask for a version


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_package(module: str, distribution: str) -> Report:
    """Look for an optional package without importing it: an import may take seconds, or open a window."""
    found = importlib.util.find_spec(module) is not None
    return {"installed": found, "version": version_of(distribution) if found else None}


def find_siconos() -> Report:
    """Look for Siconos in this Python, then in the Python of the system."""
    here = find_package("siconos", "siconos")
    if here["installed"]:
        return {**here, "python": sys.executable}
    if os.path.exists(_SYSTEM_PYTHON):
        # -I: the answer is about that Python, not about what PYTHONPATH adds to it.
        # `version`, because `__version__` is 0 in Debian's package.
        question = "import siconos, siconos.numerics; print(getattr(siconos, 'version', ''))"
        answer = ask(_SYSTEM_PYTHON, "-I", "-c", question)
        if answer is not None:
            return {"installed": True, "version": answer or None, "python": _SYSTEM_PYTHON}
    return {**here, "python": None}


def ask(*command: str) -> str | None:
    """Run a program and return its output, or None when the program is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
