"""Names of a kernel while it is translated: what each stands for, and where it has no single value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from stickslip.jit import syntax
from stickslip.jit.values import Kind, Nesting, Value


class Callee(Protocol):
    """A function of the language."""

    @property
    def python(self) -> Callable[..., Any]:
        """The function itself."""

    @property
    def inline(self) -> bool:
        """Whether the function's text is written in place of its calls."""

    @property
    def reorder_sums(self) -> bool:
        """Sums in it may be reordered."""

    @property
    def without_calls(self) -> bool:
        """On a card, all that it calls and that may be written in place is."""

    @property
    def contained(self) -> bool:
        """On the CPU it is a function that works on copies of its arrays."""

    @property
    def apart(self) -> bool:
        """Whether the function has machine code of its own."""


@dataclass(frozen=True)
class Adopted:
    """A function that is marked for another compiler, such as Numba: its Python source is taken as a kernel.

    Options of the other compiler do not count: sums keep their order.
    """

    python: Callable[..., Any]
    inline: bool = False
    reorder_sums: bool = False
    apart: bool = False
    without_calls: bool = False
    contained: bool = False


def as_callee(function: Any) -> Callee | None:
    """A function as a kernel; None for a function that is no kernel."""
    if hasattr(function, "python") and hasattr(function, "inline"):
        callee: Callee = function
        return callee
    return Adopted(function.py_func) if hasattr(function, "py_func") else None


@dataclass(frozen=True)
class Slot:
    """Where the value of a scalar name lies."""

    kind: Kind
    pointer: str


@dataclass(frozen=True)
class Slots:
    """Where the numbers of a tuple lie whose name changes."""

    slots: tuple[Slot, ...]
    nesting: Nesting


@dataclass(frozen=True)
class Missing:
    """A name that has no value at this place, and why."""

    reason: str


Binding = Slot | Slots | Value | Missing
Names = dict[str, Binding]


@dataclass
class Loop:
    """Targets of `continue` and `break` of a loop, and the names that are known at each jump."""

    again: str
    end: str
    at_continue: list[Names] = field(default_factory=list)
    at_break: list[Names] = field(default_factory=list)


@dataclass
class Scope:
    """One kernel while its body is written."""

    source: syntax.Source
    names: Names
    result_label: str
    slots: dict[str, Slot] = field(default_factory=dict)
    tuples: dict[tuple[str, Nesting], Slots] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    depth: int = 0  # of branches and loops
    in_turn: bool = False  # of a loop over prange
    result: Value | None = None  # of the only `return`, at the end
    result_slots: list[Slot] | None = None
    nesting: Nesting = None
    heap: list[str] = field(default_factory=list)  # slots of arrays that are freed where the kernel ends


def joined(reached: list[Names]) -> Names:
    """Names known behind a place that is reached in several ways: names with one value in all ways."""
    found_names: Names = {}
    for name in {name for names in reached for name in names}:
        found = [names.get(name) for names in reached]
        if any(binding is None for binding in found):
            found_names[name] = Missing("may have no value here: give it one before the branch or the loop")
        elif all(binding == found[0] for binding in found[1:]):
            found_names[name] = found[0]  # type: ignore[assignment]
        else:
            missing = next((binding for binding in found if isinstance(binding, Missing)), None)
            found_names[name] = missing or Missing(
                "stands for different values depending on the way here: take two names"
            )
    return found_names
