"""Functions of a system's text executed as plain Python, for the reference engine and for checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.checks import Array
from stickslip.jit.plain import MATH, plain

if TYPE_CHECKING:
    from stickslip.mechanisms.system import System

MUST_NOT_WRITE = "must not write to its arguments, which are the state and the parameters of the run"


class PlainFunctions:
    """The functions that a system's text defines, made when first asked for."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._namespaces: dict[bool, dict[str, Any]] = {}
        self._made: dict[tuple[str, bool], Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_namespaces": {}, "_made": {}}  # executed functions cannot be pickled, need not be

    def evaluate(self, function: str, inputs: tuple[Any, ...], outputs: tuple[Array, ...]) -> None:
        """Call a function of the text by name; it fills the arrays `outputs`."""
        system = self.system
        arrays = [np.asarray(x, dtype=float) for x in inputs]
        calls_user = bool(system.inject) and (system.injected_into is None or function in system.injected_into)
        if not calls_user:
            try:  # Python floats are much faster than NumPy scalars, but raise where compiled code gives nan
                self._function(function, tolerant=False)(*[x.tolist() for x in arrays], *outputs)
                return
            except (ArithmeticError, ValueError):
                pass
        guard = np.copy if function == "jacobian" else read_only  # differences change q and u on their way
        numbers = [guard(x) if x.ndim else x[()] for x in arrays]
        try:
            with np.errstate(all="ignore"):
                self._function(function, tolerant=not calls_user)(*numbers, *outputs)
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            if not calls_user:
                raise
            if "read-only" in str(problem):  # NumPy's word for it
                raise ValueError(
                    f"{function} of system {system.name!r} {MUST_NOT_WRITE}: copy what you want to change."
                ) from problem
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
            raise ValueError(f"{function} of system {system.name!r} cannot be evaluated: {reason}") from problem

    def _function(self, name: str, tolerant: bool) -> Callable[..., Any]:
        made = self._made.get((name, tolerant))
        if made is not None:
            return made
        namespace = self.namespace(tolerant)
        if name not in namespace:  # made when first asked for: not every run needs them
            system = self.system
            makers = {"jacobian": system.jacobian_source, "drift": system.drift_source, "sizes": system.sizes_source}
            text = makers[name]()
            exec(compile(text, f"<{name} of {system.name}>", "exec"), namespace)
        function: Callable[..., Any] = self._made.setdefault((name, tolerant), namespace[name])
        return function

    def namespace(self, tolerant: bool) -> dict[str, Any]:
        """Names that the executed text defines; `tolerant`: with numbers that give nan where Python's raise."""
        if tolerant not in self._namespaces:
            numbers: Any = _TOLERANT_MATH if tolerant else MATH
            namespace = {
                "math": numbers,
                "dev": lambda function: function,
                "sincos": lambda x: (numbers.sin(x), numbers.cos(x)),
                **{name: plain(function) for name, function in self.system.inject.items()},
            }
            exec(compile(self.system.source(), f"<model {self.system.name}>", "exec"), namespace)
            self._namespaces[tolerant] = namespace
        return self._namespaces[tolerant]


class _Tolerant:
    """`math` with NumPy's numbers: roots of negative numbers and quotients by zero are what machine code makes of them.

    Python's numbers raise.
    """

    sqrt, floor, ceil = np.sqrt, np.floor, np.ceil

    def __getattr__(self, name: str) -> Any:
        found = getattr(MATH, name)
        return (lambda *numbers: np.float64(found(*numbers))) if callable(found) else found


_TOLERANT_MATH = _Tolerant()


def read_only(values: Array) -> Array:
    """The array, for a function that must not write to it."""
    view = values.view()
    view.flags.writeable = False
    return view
