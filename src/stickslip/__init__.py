"""Rigid-body dynamics with friction and impact.

The public names are listed here and nowhere else. Each is imported when it is first used, so that
`import stickslip` costs next to nothing and a script that only solves an LCP never loads SymPy, matplotlib
or HDF5.

A new public name needs three lines: in `_HOME`, in the `TYPE_CHECKING` block (for mypy and editors), and in
`__all__`. A test holds the three together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stickslip._version import __version__

if TYPE_CHECKING:
    from stickslip import complementarity, sets
    from stickslip.complementarity.problems import LCPSolution
    from stickslip.complementarity.solve import classify_matrix, enumerate_lcp, solve_lcp, solve_mlcp
    from stickslip.sets import Sgn, Upr

# Public name -> module that defines it.
_HOME = {
    "LCPSolution": "stickslip.complementarity.problems",
    "Sgn": "stickslip.sets",
    "Upr": "stickslip.sets",
    "classify_matrix": "stickslip.complementarity.solve",
    "enumerate_lcp": "stickslip.complementarity.solve",
    "solve_lcp": "stickslip.complementarity.solve",
    "solve_mlcp": "stickslip.complementarity.solve",
}

# Modules that are public as a whole: `stickslip.sets.Upr` works without a second import.
_MODULES = ("complementarity", "sets")

__all__ = [
    "LCPSolution",
    "Sgn",
    "Upr",
    "__version__",
    "classify_matrix",
    "complementarity",
    "enumerate_lcp",
    "sets",
    "solve_lcp",
    "solve_mlcp",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562) and keep it."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"stickslip.{name}")
    else:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(set(globals()) | set(__all__))
