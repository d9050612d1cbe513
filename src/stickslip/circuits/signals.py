"""Sources over time, switches that open and close, and the instants at which they jump or switch."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from stickslip.checks import real_number, shown

CLOSENESS = 1e-9
"""Share of a step by which two instants may differ and count as one."""
_HALVINGS = 60
"""Halvings that locate the change of a switch within a step, down to rounding."""


_USERS: ContextVar[dict[str, Any] | None] = ContextVar("numpy's errors outside of a run", default=None)


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Numbers of a run may overflow without NumPy's warnings: the march ends where numbers end, and says so."""
    before = _USERS.set(dict(np.geterr()))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    finally:
        _USERS.reset(before)


def theirs() -> np.errstate:
    """NumPy's warnings as they were before the run, for functions of the user."""
    return np.errstate(**(_USERS.get() or {}))


class Signal(Protocol):
    """A quantity over time that may jump at known instants."""

    def inside(self, t_A: np.ndarray, t_E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values right after t_A and right before t_E, each shape (n,); no jump lies in between."""

    def next_jump(self, t: float) -> float:
        """The first instant after t at which the value may jump; inf where none comes."""


@dataclass(frozen=True)
class Constant:
    """A value that does not change."""

    value: float

    def inside(self, t_A: np.ndarray, t_E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = np.full(len(t_A), self.value)
        return values, values

    def next_jump(self, t: float) -> float:
        return math.inf


@dataclass(frozen=True)
class PWM:
    """A pulse train with exact edges: `high` for the share `duty` of each period, then `low`.

    As `closed=` of a switch or `fired=` of a thyristor, `high` means closed or fired.  Steps end at the edges.

    Parameters
    ----------
    period : length of a period [s].
    duty : share of a period that is high, between 0 and 1, both excluded.
    high, low : values of a source in both parts.
    start : instant of one rising edge [s].
    """

    period: float
    duty: float
    high: float = 1.0
    low: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        for name in ("period", "duty", "high", "low", "start"):
            object.__setattr__(self, name, real_number(getattr(self, name), name))
        if not self.period > 0.0:
            raise ValueError(f"period must be positive [s], got {self.period:g}.")
        if not 0.0 < self.duty < 1.0:
            raise ValueError(f"duty must lie between 0 and 1, both excluded, got {self.duty:g}.")

    def phase(self, t: Any) -> Any:
        """Share of a period that has passed at t, in [0, 1)."""
        return np.mod((t - self.start) / self.period, 1.0)

    def inside(self, t_A: np.ndarray, t_E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = np.where(self.phase(0.5 * (t_A + t_E)) < self.duty, self.high, self.low)
        return values, values

    def next_jump(self, t: float) -> float:
        k = math.floor((t - self.start) / self.period) - 1
        edges = [self.start + (k + i + share) * self.period for i in range(4) for share in (0.0, self.duty)]
        return min(edge for edge in edges if edge > t + CLOSENESS * self.period)

    def is_high(self, t: float) -> bool:
        return bool(self.phase(t) < self.duty)


class Function:
    """A function of time that a user wrote, called with arrays where it can be."""

    def __init__(self, function: Callable[[Any], Any], name: str, expression: Any = None) -> None:
        self.function, self.name, self.expression = function, name, expression
        self._arrays: bool | None = None  # whether the function takes arrays; not known before the first call

    def __call__(self, t: np.ndarray) -> np.ndarray:
        if self._arrays is not False:
            try:
                values = np.broadcast_to(np.asarray(self._called(t), dtype=float), t.shape)
                if self._arrays is None and len(t) > 1:
                    self._arrays = bool(np.allclose(values[[0, -1]], [self._one(t[0]), self._one(t[-1])], rtol=1e-9))
                if self._arrays is not False:
                    return self._finite(values, t)
            except (TypeError, ValueError, AttributeError):
                self._arrays = False
        return self._finite(np.array([self._one(each) for each in t]), t)

    def _called(self, t: Any) -> Any:
        if self.expression is not None:  # code of our own: what overflows is told in one line
            return self.function(t)
        with theirs():
            return self.function(t)

    def _one(self, t: float) -> float:
        value = self._called(float(t))
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.name} must be a function of t that returns a number, got {shown(value)}."
            ) from None

    def _finite(self, values: np.ndarray, t: np.ndarray) -> np.ndarray:
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise ValueError(f"{self.name} must be finite, got {values[wrong[0]]} at t = {t[wrong[0]]:g} s.")
        return values

    def inside(self, t_A: np.ndarray, t_E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(t_A) > 1 and np.array_equal(t_A[1:], t_E[:-1]):
            values = self(np.append(t_A, t_E[-1]))
            return values[:-1], values[1:]
        return self(t_A), self(t_E)

    def next_jump(self, t: float) -> float:
        return math.inf


def signal(value: Any, name: str) -> Signal:
    """A source as a user gives it: a number, a function of t, a SymPy expression of t, or a pulse train."""
    if isinstance(value, PWM):
        return value
    if hasattr(value, "free_symbols"):
        return _symbolic(value, name)
    if callable(value):
        return Function(value, name)
    try:
        return Constant(real_number(value, name))
    except ValueError:
        raise ValueError(
            f"{name} must be a finite number, a function of t, a SymPy expression of t or PWM(...), got {shown(value)}."
        ) from None


def _symbolic(expression: Any, name: str) -> Signal:
    import sympy as sp

    symbols = sorted(expression.free_symbols, key=str)
    if any(str(symbol) != "t" for symbol in symbols) or len(symbols) > 1:
        raise ValueError(f"{name} must depend on t alone, got the symbols {', '.join(map(str, symbols))}.")
    if not symbols:
        return Constant(real_number(float(expression), name))
    return Function(sp.lambdify(symbols[0], expression, "numpy"), name, expression.subs(symbols[0], sp.Symbol("t")))


class Probe(Protocol):
    """Currents and voltages of the circuit at an instant, for the function of a feedback."""

    def current(self, element: str) -> float: ...
    def voltage(self, element: str) -> float: ...


@dataclass(frozen=True)
class Feedback:
    """A switch that the circuit itself works: closed while `function(t, probe)` is positive.

    probe.current(name), probe.voltage(name) : currents and voltages of elements at t.  Voltages are those of elements
        that store or dissipate: capacitors, resistors, sources.
    period : instants 0, period, 2 period, ... at which the function may jump, such as the reset of a ramp [s].

    A change of sign within a step is located, and the step ends there.
    """

    function: Callable[[float, Any], float]
    period: float = math.inf

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be a function of t and of a probe, got {shown(self.function)}.")
        if self.period != math.inf and not real_number(self.period, "period") > 0.0:
            raise ValueError(f"period must be positive [s], or inf, got {self.period:g}.")

    def next_jump(self, t: float) -> float:
        if math.isinf(self.period):
            return math.inf
        return (math.floor(t / self.period + CLOSENESS) + 1) * self.period


class Gate:
    """A switch over time: closed or open, from a truth value, a function of t or a pulse train."""

    def __init__(self, given: Any, name: str) -> None:
        self.given, self.name = given, name
        self.feedback = given if isinstance(given, Feedback) else None
        if not isinstance(given, (bool, np.bool_, PWM, Feedback)) and not callable(given):
            raise ValueError(
                f"{name} must be True, False, a function of t that returns one, PWM(...) or Feedback(...), "
                f"got {shown(given)}."
            )

    def at(self, t: float, probe: Probe | None = None) -> bool:
        if isinstance(self.given, PWM):
            return self.given.is_high(t)
        if isinstance(self.given, Feedback):
            with theirs():
                return bool(self.given.function(t, probe) > 0.0)
        with theirs():
            return bool(self.given(t)) if callable(self.given) else bool(self.given)

    def next_change(self, t: float, dt: float, steps: int) -> float:
        """The first instant after t at which the switch may change; looks ahead `steps` steps for functions of t."""
        if isinstance(self.given, (PWM, Feedback)):
            return self.given.next_jump(t)
        if not callable(self.given):
            return math.inf
        now = self.at(t + CLOSENESS * dt)
        for k in range(1, steps + 1):
            if self.at(t + k * dt) != now:
                low, high = t + (k - 1) * dt, t + k * dt
                for _ in range(_HALVINGS):
                    middle = 0.5 * (low + high)
                    if not low < middle < high:
                        break
                    low, high = (middle, high) if self.at(middle) == now else (low, middle)
                return high
        return math.inf
