"""Friction laws: how the bound of the friction force depends on the load and on the slip, [S00] 1.1 and 4.3.

A contact with normal force lambda_N that slips with gamma_T obeys

    gamma_T  = 0:    |lambda_T| <= mu_s lambda_N + a
    gamma_T != 0:    lambda_T = -(mu(|gamma_T|) lambda_N + a) sgn gamma_T

with the static coefficient mu_s >= mu(0).  `Contact(friction=...)` takes a number or one of these laws.  Parameters of
a law are numbers, names of parameters of the system, or SymPy expressions in these; so they can be swept.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

Expr = Any
"""A number, a SymPy expression, or the name of a parameter."""

GRAZES = ("slip", "grab")


@dataclass(frozen=True)
class FrictionLaw(ABC):
    """Base of the friction laws: frozen parameters and two formulas, which hold for numbers and for SymPy expressions.

    To add a law, list the fields that may be expressions in `parameter_names`.  `stick` and `slip` turn their values
    into mu_s and mu(|gamma_T|).  `check` refuses values that make no law, once the values are known.
    """

    parameter_names: ClassVar[tuple[str, ...]] = ()

    @property
    def grabs(self) -> bool:
        """Whether a slip that just touches zero is caught by the static coefficient, [S00] 4.3."""
        return False

    @abstractmethod
    def stick(self, values: Mapping[str, Any]) -> Any:
        """Static coefficient mu_s [-] for the values of the parameters."""

    @abstractmethod
    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        """Coefficient mu [-] while the contact slips with `speed` = |gamma_T| [m/s]."""

    @abstractmethod
    def check(self, values: Mapping[str, float], owner: str) -> None:
        """Raise ValueError where the values of the parameters make no law; `owner` says whose law it is."""

    @property
    def parameters(self) -> dict[str, Expr]:
        """The parameters by name, as they were given."""
        return {name: getattr(self, name) for name in self.parameter_names}

    @property
    def at_rest(self) -> float:
        """mu_s of a law whose parameters are numbers."""
        return float(self.stick(self._numbers()))

    def __call__(self, speed: Any) -> np.ndarray:
        """mu(|v|) of a law whose parameters are numbers, at speeds [m/s] of any shape; mu_s where the speed is zero."""
        speeds = np.abs(np.asarray(speed, dtype=float))
        values = self._numbers()
        return np.where(speeds > 0.0, np.vectorize(lambda v: float(self.slip(v, values)))(speeds), self.stick(values))

    def _numbers(self) -> dict[str, float]:
        try:
            return {name: float(value) for name, value in self.parameters.items()}
        except (TypeError, ValueError):
            raise ValueError(f"{self!r} has parameters without values: only a system knows them.") from None

    def __post_init__(self) -> None:
        values = {}
        for name, value in self.parameters.items():
            number = _number(value)
            if number is None:
                _require_expression(f"{name} of {type(self).__name__}", value)
            else:
                values[name] = number
        if len(values) == len(self.parameter_names):
            self.check(values, type(self).__name__)


def _number(value: Any) -> float | None:
    """The value as a float; None where it is an expression or a name."""
    if isinstance(value, (str, bool)):
        return None
    if getattr(value, "is_number", True) is False:  # a SymPy expression with symbols in it
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _require_expression(what: str, value: Any) -> None:
    """Raise unless the value is the name of a parameter or a SymPy expression."""
    if (isinstance(value, str) and value) or getattr(value, "free_symbols", None):
        return
    raise ValueError(f"{what} must be a number, the name of a parameter or a SymPy expression, got {value!r}.")


def _require(owner: str, values: Mapping[str, float], name: str, *, positive: bool = False) -> None:
    """Raise unless a parameter is finite and not negative (positive)."""
    value = values[name]
    if math.isfinite(value) and (value > 0.0 or (value == 0.0 and not positive)):
        return
    rule = "be finite and positive" if positive else "be finite and not negative"
    raise ValueError(f"{name} of {owner} must {rule}, got {value:g}.")


def _require_order(owner: str, values: Mapping[str, float]) -> None:
    """Raise ValueError where the kinetic coefficient exceeds the static: no slip could begin below it, [S00] 4.3."""
    if values["kinetic"] > values["static"]:
        raise ValueError(
            f"kinetic of {owner} must not exceed static, got {values['kinetic']:g} > {values['static']:g}: slip "
            "could not begin before the larger bound is passed; for friction that grows with speed give viscous= "
            "or a FrictionCurve."
        )


@dataclass(frozen=True)
class Coulomb(FrictionLaw):
    """Coulomb's law with one coefficient, [S00] (1.1) and Fig. 4.2(a): mu(|v|) = mu_s = coefficient.

    coefficient : mu [-], finite and not negative; `Coulomb(0.5)` acts like the number 0.5.
    """

    coefficient: Expr

    parameter_names = ("coefficient",)

    def stick(self, values: Mapping[str, Any]) -> Any:
        return values["coefficient"]

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        return values["coefficient"]

    def check(self, values: Mapping[str, float], owner: str) -> None:
        _require(owner, values, "coefficient")


@dataclass(frozen=True)
class LoadIndependent(FrictionLaw):
    """Friction with a bound that does not depend on the load, [GS05] end of section 6.

        |lambda_T| <= threshold,    lambda_T = -threshold sgn gamma_T in slip

    threshold : [N].  `Contact(..., friction=LoadIndependent(a))` is `Contact(..., threshold=a)`.
    """

    threshold: Expr

    parameter_names = ("threshold",)

    def stick(self, values: Mapping[str, Any]) -> Any:
        return 0.0

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        return 0.0

    def check(self, values: Mapping[str, float], owner: str) -> None:
        _require(owner, values, "threshold")


@dataclass(frozen=True)
class Elliptic(FrictionLaw):
    """Anisotropic friction in space, [S00] (2.17)-(2.19): the section of the friction cone is an ellipse.

        |(lambda_1 / mu_1, lambda_2 / mu_2)| <= lambda_N, and of these forces the one that dissipates most

    first, second : mu_1, mu_2 along the body's own x axis and across it [-], positive

    The law is for bodies of a `Scene`, and for contacts of a mechanism with two tangents, mu_1 along the first.
    """

    first: Expr
    second: Expr

    parameter_names = ("first", "second")

    def stick(self, values: Mapping[str, Any]) -> Any:
        return math.sqrt(values["first"] * values["second"])

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        return self.stick(values)

    def check(self, values: Mapping[str, float], owner: str) -> None:
        for name in self.parameter_names:
            _require(owner, values, name, positive=True)


@dataclass(frozen=True)
class TwoCoefficient(FrictionLaw):
    """A static and a kinetic coefficient with hysteresis, [S00] 4.3 and Fig. 4.2(b).

    Once a contact sticks, its coefficient is `static` until it has to carry more than static lambda_N.  Once it slips,
    its coefficient is `kinetic` until the slip comes to rest under the kinetic coefficient.

    static, kinetic : mu_s >= mu_k >= 0 [-]
    graze : future of a slip that touches zero, or passes through it, though the kinetic coefficient could not hold it;
        [S00] 4.3 leaves two futures open.  "slip": it goes on slipping.  "grab": it sticks where the static coefficient
        can hold it.

    Raises ValueError for kinetic > static, negative values, or another word for graze.
    """

    static: Expr
    kinetic: Expr
    graze: str = "slip"

    parameter_names = ("static", "kinetic")

    def __post_init__(self) -> None:
        if self.graze not in GRAZES:
            raise ValueError(f"graze of TwoCoefficient must be one of {', '.join(GRAZES)}, got {self.graze!r}.")
        super().__post_init__()

    @property
    def grabs(self) -> bool:
        return self.graze == "grab"

    def stick(self, values: Mapping[str, Any]) -> Any:
        return values["static"]

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        return values["kinetic"]

    def check(self, values: Mapping[str, float], owner: str) -> None:
        _require(owner, values, "static")
        _require(owner, values, "kinetic")
        _require_order(owner, values)


@dataclass(frozen=True)
class Stribeck(FrictionLaw):
    """A coefficient that falls with the speed from `static` to `kinetic`, [S00] 4.3 and Fig. 4.2(c).

        mu(|v|) = kinetic + (static - kinetic) exp(-(|v| / velocity)^exponent) + viscous |v|

    static, kinetic : mu(0), and the coefficient of fast slip, static >= kinetic >= 0 [-]
    velocity : speed over which the coefficient falls [m/s], positive
    exponent : positive; 1 (Tustin), 2 (Gauss), ... [-]
    viscous : growth with the speed [s/m], not negative
    """

    static: Expr
    kinetic: Expr
    velocity: Expr
    exponent: Expr = 1
    viscous: Expr = 0

    parameter_names = ("static", "kinetic", "velocity", "exponent", "viscous")

    def stick(self, values: Mapping[str, Any]) -> Any:
        return values["static"]

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        fall = _exp(-((speed / values["velocity"]) ** values["exponent"]))
        return values["kinetic"] + (values["static"] - values["kinetic"]) * fall + values["viscous"] * speed

    def check(self, values: Mapping[str, float], owner: str) -> None:
        for name in ("static", "kinetic", "viscous"):
            _require(owner, values, name)
        for name in ("velocity", "exponent"):
            _require(owner, values, name, positive=True)
        _require_order(owner, values)


def _exp(x: Any) -> Any:
    """exp of a number or of a SymPy expression."""
    if hasattr(x, "free_symbols"):
        import sympy as sp

        return sp.exp(x)
    return math.exp(x)


@dataclass(frozen=True)
class FrictionCurve(FrictionLaw):
    """A coefficient mu(|v|) of your own; mu_s = mu(0).

    curve : a function (speed) or (speed, p) that returns mu [-] for a speed [m/s] and the system's parameter vector; or
        a SymPy expression in the symbol `speed` and the parameters of the system.  A function in the language of
        docs/kernels.md is compiled; others run slowly, on the reference engine.
    speed : the symbol that stands for |v| in an expression; None for a function

    mu must be finite and not negative at every speed that occurs; a run stops at the first other value.
    """

    curve: Any
    speed: Any = None

    def __post_init__(self) -> None:
        if self.by_function:
            if self.speed is not None:
                raise ValueError("speed of FrictionCurve belongs to a curve that is an expression, got a function.")
            self._takes_parameters()
            return
        if not hasattr(self.curve, "free_symbols"):
            raise ValueError(f"curve of FrictionCurve must be a function or a SymPy expression, got {self.curve!r}.")
        if self.speed is None or self.speed not in self.curve.free_symbols:
            raise ValueError(
                f"speed of FrictionCurve must be the symbol of |v| in the curve {self.curve}, got {self.speed!r}; for "
                "a constant coefficient give the number itself."
            )

    @property
    def by_function(self) -> bool:
        """Whether the curve is a function, not an expression."""
        return callable(self.curve) and not hasattr(self.curve, "free_symbols")

    def _takes_parameters(self) -> bool:
        signature = inspect.signature(getattr(self.curve, "py_func", self.curve))
        for arguments in (("speed",), ("speed", "p")):
            try:
                signature.bind(*arguments)
            except TypeError:
                continue
            return len(arguments) == 2
        raise ValueError(f"curve of FrictionCurve must be a function of (speed) or (speed, p), got one of {signature}.")

    def call(self, name: str, speed: str) -> str:
        """Text that calls the function under a name, in generated source."""
        return f"{name}({speed}, p)" if self._takes_parameters() else f"{name}({speed})"

    def stick(self, values: Mapping[str, Any]) -> Any:
        return self.slip(0 if not self.by_function else 0.0, values)

    def slip(self, speed: Any, values: Mapping[str, Any]) -> Any:
        if self.by_function:
            return self.curve(speed)
        return self.curve.subs(self.speed, speed)

    def check(self, values: Mapping[str, float], owner: str) -> None:
        """Accept any values: a curve is judged at the speeds that occur, mu(0) together with other coefficients."""
