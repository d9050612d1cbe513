"""Methods by their word or as objects: what a call such as `solve_lcp(A, b, GaussSeidel(tol=1e-6))` asks for.

The public solver objects (`stickslip.solvers`) belong to the contact problems of steps.  Where the method of that name
exists for other problems, they are taken there as well: their word, and the tolerance and limit that they were given.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

OLD_WORDS = {"pgs": "gauss-seidel"}
"""Words of earlier versions -> the word that all solvers share."""


class Asked(NamedTuple):
    """A method that a call asks for: its word, the word of its kernel, tolerance, and limit of its iterations."""

    word: str
    method: str
    tol: float
    max_iterations: int | None


def is_solver_object(method: Any) -> bool:
    """Whether `method` is one of the public solver objects: a name, a tolerance, a limit."""
    return (
        isinstance(getattr(method, "name", None), str) and hasattr(method, "tol") and hasattr(method, "max_iterations")
    )


def asked(method: Any, known: Collection[str], tol: float, default: float, max_iterations: int | None) -> Asked:
    """Read the method of a call; ValueError for one that is not known.

    tol, default : tolerance of the call, and the default value of that argument, the object itself.  The tolerance of
        the call counts where it was given; then that of a solver object, where it was given; then the default.
    """
    word = method
    if is_solver_object(method):
        word = method.name
        if max_iterations is not None and method.max_iterations is not None:
            raise ValueError("max_iterations belongs into the method object where one is given.")
        max_iterations = method.max_iterations if max_iterations is None else max_iterations
        # Defaults are told from equal numbers that a user wrote by identity.
        if tol is default and method.tol is not type(method).tol:
            tol = method.tol
    plain = OLD_WORDS.get(word, word) if isinstance(word, str) else None
    if plain is None or plain not in known:
        raise ValueError(f"method must be one of {', '.join(known)}, got {_shown(method)}.")
    return Asked(word, plain, tol, max_iterations)


def _shown(method: Any) -> str:
    if type(method).__name__ == "Newton" and not is_solver_object(method):
        return f"{method!r}, an impact law; Newton's method is 'newton', or SemismoothNewton()"
    return repr(method)
