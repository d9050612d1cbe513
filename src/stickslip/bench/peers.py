"""TODO"""

from __future__ import annotations

Report = dict[str, Any]


# Siconos is packaged by distributions for their own Python rather than for an environment.
_SYSTEM_PYTHON = "/usr/bin/python3"


_PROBE_TIMEOUT = 30.0  # [s] for a program that we only ask for a version


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_package(module: str, distribution: str) -> Report:
    """Look for an optional package without importing it: some of them take seconds, or open windows."""
    found = importlib.util.find_spec(module) is not None
    return {"installed": found, "version": _version(distribution) if found else None}


def find_siconos() -> Report:
    """Look for Siconos in this Python, then in the system's."""
    here = find_package("siconos", "siconos")
    if here["installed"]:
        return {**here, "python": sys.executable}
    if os.path.exists(_SYSTEM_PYTHON):
        # -I: the answer is about that Python, not about what PYTHONPATH adds to it.
        # `version`, because `__version__` is 0 in Debian's package.
        question = "import siconos, siconos.numerics; print(getattr(siconos, 'version', ''))"
        answer = _ask(_SYSTEM_PYTHON, "-I", "-c", question)
        if answer is not None:
            return {"installed": True, "version": answer or None, "python": _SYSTEM_PYTHON}
    return {**here, "python": None}


def _ask(*command: str) -> str | None:
    """Return what a program prints, or None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
