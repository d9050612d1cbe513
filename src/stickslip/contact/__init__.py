"""The contact problem of a step or an impact: one problem type, its residual, its methods, the ladder `auto`.

Names of this room are imported when they are first used: a step of a mechanism needs none of the friction problems.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.contact.problem import FrictionProblem, FrictionSolution
    from stickslip.contact.solve import enumerate_friction, solve_friction

__all__ = ["FrictionProblem", "FrictionSolution", "enumerate_friction", "solve_friction"]
_HOME = {"FrictionProblem": "problem", "FrictionSolution": "problem"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'solve')}"), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
