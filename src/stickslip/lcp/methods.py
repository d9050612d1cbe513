"""Methods by their word or as objects: reads the method of a call such as `solve_lcp(A, b, GaussSeidel(tol=1e-6))`.

The public solver objects (`stickslip.solvers`) belong to the contact problems of steps.  Other problems accept an
object where they have a method with the object's name.  They take the object's word, its tolerance and its limit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from stickslip.checks import did_you_mean

OLD_WORDS = {"pgs": "gauss-seidel"}
"""Words of earlier versions -> the word that all solvers share."""


class Asked(NamedTuple):
    """The method that a call asks for.

    Attributes
    ----------
    word : the name of the method as the call wrote it; it may be an old one.
    method : the present name of the method.
    tol : largest residual that counts as solved.
    max_iterations : limit of iterations, or None for the method's default.
    """

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
    """Read the method, tolerance and limit that a call asks for.

    Parameters
    ----------
    method : word of a method, or a solver object.
    known : words that the call accepts.
    tol : tolerance of the call.  A tolerance given to the call counts first, then one given to the solver object,
        then the default.
    default : the very object that is the default of `tol`: identity tells a default from an equal number of the user.
    max_iterations : limit given to the call, or None.

    Raises
    ------
    ValueError : an unknown method, or a limit given both to the call and to the solver object.
    """
    word = method
    if is_solver_object(method):
        word = method.name
        if max_iterations is not None and method.max_iterations is not None:
            raise ValueError("max_iterations belongs into the method object where one is given.")
        max_iterations = method.max_iterations if max_iterations is None else max_iterations
        # Identity tells a default from an equal number that the user wrote.
        if tol is default and method.tol is not type(method).tol:
            tol = method.tol
    plain = OLD_WORDS.get(word, word) if isinstance(word, str) else None
    if plain is None or plain not in known:
        raise ValueError(f"method must be one of {', '.join(known)}, got {_shown(method)}{did_you_mean(method, known)}")
    return Asked(word, plain, tol, max_iterations)


def _shown(method: Any) -> str:
    if type(method).__name__ == "Newton" and not is_solver_object(method):
        return f"{method!r}, an impact law; Newton's method is 'newton', or SemismoothNewton()"
    return repr(method)
