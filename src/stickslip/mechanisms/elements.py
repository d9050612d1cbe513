"""Set-valued elements between the parts of a mechanism: contacts, stops, clutches, prestressed springs, dry friction.

Every element is made of the two maps of [GS05] section 2,

    Upr(x): 0 for x > 0, (-inf, 0] at x = 0        Sgn(x): sign of x, [-1, 1] at x = 0,

placed on displacement or on velocity level. Displacements and parameters are SymPy expressions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Protocol

import sympy as sp

from stickslip.contact.sections import CrossSection, Ellipse
from stickslip.laws.friction import Coulomb, Elliptic, FrictionCurve, FrictionLaw, LoadIndependent
from stickslip.laws.restitution import RestitutionCurve
from stickslip.mechanisms.system import (
    CLUTCH,
    CONSTRAINT,
    CONTACT,
    FRICTION,
    KIND_NAMES,
    LAWS,
    NONHOLONOMIC,
    SPRING,
    TANGENT,
)

Expr = Any
"""A number, a SymPy expression, the name of a parameter, or (in a system of functions) a function."""


@dataclass(frozen=True)
class Contact:
    """A unilateral contact with Coulomb friction and Newton's impact law [GS05] eqs. (7)-(12).

    For an active contact (g_N <= 0), with xi = gamma^+ + eps gamma^-,

        -Lambda_N in Upr(xi_N),    -Lambda_T in (mu Lambda_N + threshold dt) Sgn(xi_T).

    With two directions of slip the contact is one in space, see docs/tangents.md: Lambda_T lies in mu Lambda_N C, C a
    disc, an ellipse or another convex section, and of this set it is the impulse that dissipates most.

    Parameters
    ----------
    name : str
    gap : expression
        Distance g_N(q, t) [m], negative when the bodies overlap.
    slip : expression, or pairs (factor, displacement); optional
        Tangential displacement x_T(q, t) [m]; its derivative is the sliding velocity gamma_T. On a curved surface no
        displacement may exist; then give pairs, and gamma_T is the sum of factor * d displacement/dt.  A list of two
        such is a contact in space; both are measured along directions at right angles.
    slip_velocity : expression in coordinates, velocities and time, or a list of two; in place of `slip`
        The sliding velocity gamma_T itself [m/s], linear in the velocities: that of a ball which may roll.
    tangent, tangent_drift : sequence of f expressions, expression; optional
        w_T and w_hat_T of gamma_T = w_T^T u + w_hat_T, in place of `slip`; lists of two for a contact in space.
    normal, normal_drift : sequence of f expressions, expression; optional
        w_N and w_hat_N; by default the derivatives of the gap.
    friction : expression in coordinates, time and parameters, or a friction law
        Coefficient mu(q, t) [-], or `TwoCoefficient`, `Stribeck`, `FrictionCurve`, `LoadIndependent`; in space a
        coefficient, or `Elliptic` with one for each tangent. Friction, restitution_tangential and threshold need a
        slip or a tangent.
    section : CrossSection, optional
        The set C of a contact in space: `Polygon` or `PowerNorm` of `stickslip.contact.sections`, or your own; None:
        the disc.
    restitution_normal, restitution_tangential : expression in coordinates, time and parameters, or RestitutionCurve
        Coefficients eps_N(q, t), eps_T(q, t) [-], from 0 to 1; or `RestitutionCurve`, of the approach speed.
    threshold : expression in coordinates, time and parameters
        Part of the friction bound that does not depend on the load [N], [GS05] end of section 6.
    closes_when : expression, or a relation such as x > 0.1; optional
        The contact can close only while this is positive (true); None: always.  A closed contact does not ask: it stays
        closed until it opens by itself.  An open one is not there while the condition fails, however deep its gap, and
        from then on until the condition holds and the gap is positive again.  So the swinging foot of a walker passes
        the ground in the middle of its step.
    kind : int
        CONTACT; the other kinds (see `mechanisms.system`) are set by the elements below.

    In a system of functions `gap`, `normal`, `tangent` and the drifts are functions of (q, t, p); directions
    may also be constant vectors, and coefficients functions of (q, t, p).
    """

    name: str
    _: KW_ONLY
    gap: Expr = None
    slip: Expr = None
    slip_velocity: Expr = None
    tangent: Any = None
    tangent_drift: Expr = None
    normal: Any = None
    normal_drift: Expr = None
    friction: Expr = 0
    restitution_normal: Expr = 0
    restitution_tangential: Expr = 0
    threshold: Expr = 0
    section: CrossSection | None = None
    closes_when: Expr = None
    kind: int = CONTACT

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a contact needs a name as its first argument, got {self.name!r}.")
        if self.kind not in range(len(KIND_NAMES)):
            raise ValueError(f"contact {self.name!r}: kind must be one of 0..{len(KIND_NAMES) - 1}, got {self.kind}.")
        if self.kind in (CONTACT, SPRING) and self.gap is None:
            raise ValueError(f"contact {self.name!r} needs gap=, the distance g_N(q, t).")
        given = [key for key in ("slip", "slip_velocity", "tangent") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"contact {self.name!r} has both {given[0]} and {given[1]}: give one of them.")
        self._require_tangents()
        if self.tangent_drift is not None and self.tangent is None:
            raise ValueError(f"contact {self.name!r}: tangent_drift belongs to tangent, which is missing.")
        if self.closes_when is not None:
            if self.kind != CONTACT:
                raise ValueError(f"contact {self.name!r}: closes_when belongs to contacts with a gap.")
            level = condition_level(self.closes_when, f"contact {self.name!r}: closes_when")
            object.__setattr__(self, "closes_when", level)
        self._read_friction_law()
        for law in LAWS:
            if not isinstance(getattr(self, law), FrictionLaw | RestitutionCurve):
                require_number_in(f"contact {self.name!r}: {law}", getattr(self, law))
        for law in ("friction", "restitution_tangential", "threshold"):
            value = getattr(self, law)
            if not self.has_tangent and not _is_zero(value):
                raise ValueError(
                    f"contact {self.name!r} has {law} = {sp.sstr(value, full_prec=False)} but no tangential direction; "
                    "give it slip or tangent."
                )

    @property
    def spatial(self) -> bool:
        """The contact has two tangents."""
        return self._listed() is not None

    def _listed(self) -> Any:
        """The directions of slip where a list of them was given; None for one direction or none."""
        if self.slip is not None:
            several = isinstance(self.slip, (list, tuple)) and not all(_is_pair(pair) for pair in self.slip)
            return self.slip if several else None
        if self.slip_velocity is not None:
            return self.slip_velocity if isinstance(self.slip_velocity, (list, tuple)) else None
        rows = isinstance(self.tangent, (list, tuple)) and any(
            isinstance(row, (list, tuple)) or callable(row) or getattr(row, "ndim", 0) == 1 for row in self.tangent
        )
        return self.tangent if rows or getattr(self.tangent, "ndim", 1) == 2 else None

    def direction(self, key: str) -> Any:
        """Argument that was given as slip, slip_velocity, tangent or tangent_drift for the tangent of this row."""
        value = getattr(self, key)
        if not self.spatial or value is None or key.startswith("normal"):
            return value
        return value[1 if self.kind == TANGENT else 0]

    def _require_tangents(self) -> None:
        """Raise where a list of directions of slip has not two, or one direction has what belongs to two."""
        listed = self._listed()
        if listed is None:
            if self.section is not None:
                raise ValueError(
                    f"contact {self.name!r}: section belongs to a contact in space, with two directions of slip."
                )
            return
        if len(listed) != 2:
            key = next(key for key in ("slip", "slip_velocity", "tangent") if getattr(self, key) is not None)
            raise ValueError(
                f"contact {self.name!r}: {key} must be one direction of slip, an expression or pairs (factor, "
                f"displacement), or a list of two for a contact in space, got {len(listed)} of them."
            )
        if self.kind not in (CONTACT, TANGENT):
            raise ValueError(
                f"contact {self.name!r}: two directions of slip belong to a contact with a gap, not to a "
                f"{KIND_NAMES[self.kind]}."
            )
        if self.tangent_drift is not None and not (
            isinstance(self.tangent_drift, (list, tuple)) and len(self.tangent_drift) == 2
        ):
            raise ValueError(
                f"contact {self.name!r}: tangent_drift must be a list of two, one per tangent, got "
                f"{self.tangent_drift!r}."
            )
        if self.section is not None and not isinstance(self.section, CrossSection):
            raise ValueError(
                f"contact {self.name!r}: section must be a CrossSection such as Polygon.regular(8) or PowerNorm(4), "
                f"got {self.section!r}."
            )
        if isinstance(self.section, Ellipse) and self.section != Ellipse():
            raise ValueError(
                f"contact {self.name!r}: section must not be an Ellipse with axes of its own; give them as "
                f"friction=Elliptic(first, second)."
            )
        if not _is_zero(self.threshold):
            raise ValueError(
                f"contact {self.name!r}: threshold must be left out with two directions of slip, whose friction is "
                "bounded by the load alone."
            )

    def _read_friction_law(self) -> None:
        """Laws with constant bounds are the numbers `friction` and `threshold`; the others stay as they are."""
        law = self.friction
        for other in LAWS[1:]:
            if isinstance(getattr(self, other), FrictionLaw):
                raise ValueError(f"contact {self.name!r}: {other} must be a number; friction laws belong to friction=.")
        for other in ("friction", "threshold"):
            if isinstance(getattr(self, other), RestitutionCurve):
                raise ValueError(
                    f"contact {self.name!r}: RestitutionCurve belongs to restitution_normal=, not {other}=."
                )
        if isinstance(law, Elliptic) and not self.spatial:
            raise ValueError(
                f"contact {self.name!r}: Elliptic is for contacts in space; this one has one direction of slip: give "
                "slip=[first, second]."
            )
        if isinstance(law, FrictionLaw) and self.spatial and not isinstance(law, (Coulomb, Elliptic)):
            raise ValueError(
                f"contact {self.name!r}: friction must be a coefficient or Elliptic with two directions of slip, got "
                f"{type(law).__name__}, whose bound depends on the speed or not on the load."
            )
        if isinstance(law, Coulomb):
            object.__setattr__(self, "friction", law.coefficient)
        elif isinstance(law, LoadIndependent):
            if not _is_zero(self.threshold):
                raise ValueError(
                    f"contact {self.name!r}: friction=LoadIndependent(...) and threshold= are the same; give one of "
                    "them."
                )
            object.__setattr__(self, "friction", 0)
            object.__setattr__(self, "threshold", law.threshold)
        elif isinstance(law, FrictionLaw) and self.kind not in (CONTACT, CLUTCH, TANGENT):
            raise ValueError(
                f"contact {self.name!r}: {type(law).__name__} needs a normal force, which a {KIND_NAMES[self.kind]} "
                "has not; give threshold=."
            )

    @property
    def friction_law(self) -> FrictionLaw | None:
        """The law of a friction coefficient that depends on slip; None where it is constant."""
        law = self.friction
        return law if isinstance(law, FrictionLaw) and not isinstance(law, Elliptic) else None

    @property
    def coefficient(self) -> Expr:
        """The coefficient mu of this row's tangent, where it does not depend on slip."""
        if isinstance(self.friction, Elliptic):
            return self.friction.second if self.kind == TANGENT else self.friction.first
        return self.friction

    @property
    def has_tangent(self) -> bool:
        """The contact has a tangential row."""
        given = (self.slip, self.slip_velocity, self.tangent)
        return any(x is not None for x in given) or self.kind >= SPRING

    @property
    def has_normal(self) -> bool:
        """The contact has a normal row."""
        return self.kind in (CONTACT, CLUTCH)

    def contacts(self) -> tuple[Contact, ...]:
        """Return the rows of this element: itself, and behind it the second tangent of a contact in space."""
        return (self, self.second_tangent()) if self.spatial and self.kind == CONTACT else (self,)

    def second_tangent(self) -> Contact:
        """The row of the second tangent; its gap is that of the contact."""
        return replace(self, name=f"{self.name}: tangent 2", kind=TANGENT, closes_when=None, restitution_normal=0)


def _is_pair(value: Any) -> bool:
    """A pair (factor, displacement) of a slip."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and not any(isinstance(x, (list, tuple)) for x in value)


def condition_level(condition: Expr, what: str) -> Expr:
    """An expression that is positive where a condition holds: x > a is x - a, "and" the smaller, "or" the larger.

    >>> x = sp.Symbol("x")
    >>> condition_level(x > 2, "condition")
    x - 2
    """
    try:
        given = sp.sympify(condition, strict=True)
    except sp.SympifyError:
        given = None
    if isinstance(given, sp.Expr) and not callable(condition):
        return given
    if isinstance(given, (sp.Gt, sp.Ge)):
        return given.lhs - given.rhs
    if isinstance(given, (sp.Lt, sp.Le)):
        return given.rhs - given.lhs
    if isinstance(given, (sp.And, sp.Or)):
        parts = [condition_level(part, what) for part in given.args]
        return sp.Min(*parts) if isinstance(given, sp.And) else sp.Max(*parts)
    raise ValueError(
        f"{what} must be a SymPy expression that is positive where the contact may close, or relations (>, <, and, or) "
        f"of such, got {condition!r}."
    )


def require_number_in(what: str, value: Expr, low: float | None = None, *, open_end: bool = False) -> None:
    """Raise where a value is no expression, or a number that is not finite or below `low` (at it, with `open_end`).

    Expressions in parameters pass: their values are known when a system is run.
    """
    if isinstance(value, str) or callable(value):
        return
    try:
        expression = sp.sympify(value, strict=True)
    except sp.SympifyError:
        expression = None
    if not isinstance(expression, sp.Expr):
        raise ValueError(f"{what} must be a number or a SymPy expression, got {value!r}.")
    if not expression.is_number:
        return
    number = complex(expression)
    if number.imag or not math.isfinite(number.real):
        raise ValueError(f"{what} must be a finite real number, got {value}.")
    if low is not None and (number.real < low or (open_end and number.real == low)):
        rule = ("be positive" if open_end else "not be negative") if low == 0.0 else f"be at least {low:g}"
        raise ValueError(f"{what} must {rule}, got {value}.")


@dataclass(frozen=True)
class SlidingRow:
    """The friction law of one contact in the symbols of a system's source.

    stick : mu_s; slip : mu in terms of `speed[k]`; values : of the law's parameters, by name
    """

    law: FrictionLaw
    stick: Expr
    slip: Expr
    values: dict[str, Expr]


def sliding_row(law: FrictionLaw, k: int, read: Callable[[Any, str, frozenset[Expr]], Expr]) -> SlidingRow:
    """The law of contact k; `read(value, name, also)` turns a parameter into the symbols of the source."""
    speed = sp.Symbol(f"speed[{k}]", nonnegative=True)
    if isinstance(law, FrictionCurve):
        if law.by_function:  # a symbol is printed as it is named: the call of the user's function
            name = _curve_name(k)
            return SlidingRow(law, sp.Symbol(law.call(name, "0.0")), sp.Symbol(law.call(name, f"speed[{k}]")), {})
        at_rest, moving = (law.curve.xreplace({law.speed: value}) for value in (sp.S.Zero, speed))
        return SlidingRow(law, read(at_rest, "curve", frozenset()), read(moving, "curve", frozenset([speed])), {})
    values = {name: read(value, name, frozenset()) for name, value in law.parameters.items()}
    return SlidingRow(law, law.stick(values), law.slip(speed, values), values)


def approach_symbols(k: int) -> tuple[Expr, Expr]:
    """Approach speed and inertia of contact k in the source of a system, see `RestitutionCurve`."""
    return sp.Symbol(f"approach[{k}]", nonnegative=True), sp.Symbol(f"inertia[{k}]", positive=True)


def curve_functions(contacts: Sequence[Contact]) -> dict[str, Callable[..., Any]]:
    """The users' functions among the friction laws of contacts, by their names in generated source."""
    laws = {_curve_name(k): contact.friction_law for k, contact in enumerate(contacts)}
    return {name: law.curve for name, law in laws.items() if isinstance(law, FrictionCurve) and law.by_function}


def _curve_name(k: int) -> str:
    return f"user_friction_{k}"


def _is_zero(value: Expr) -> bool:
    if isinstance(value, str | FrictionLaw | RestitutionCurve) or (callable(value) and not hasattr(value, "is_zero")):
        return False
    return bool(sp.sympify(value).is_zero)


@dataclass(frozen=True)
class Stop:
    """Free play with stops: lower <= x(q, t) <= upper, up to two frictionless contacts [GS05] section 2.

        g_lower = x - lower >= 0,    g_upper = upper - x >= 0,    -Lambda in Upr(gamma^+ + eps gamma^-)

    `coordinate` x and the bounds are in m (or rad); `restitution` is eps in [0, 1]. With both bounds the contacts are
    named "<name> lower" and "<name> upper", with one bound "<name>".
    """

    name: str
    coordinate: Expr
    lower: Expr = None
    upper: Expr = None
    restitution: Expr = 0

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise ValueError(f"stop {self.name!r} needs lower=, upper= or both.")
        if any(isinstance(x, str) for x in (self.coordinate, self.lower, self.upper)):
            raise ValueError(f"stop {self.name!r}: coordinate and bounds must be SymPy expressions, not text.")
        for bound in ("lower", "upper"):
            if getattr(self, bound) is not None:
                require_number_in(f"stop {self.name!r}: {bound}", getattr(self, bound))
        if self.lower is not None and self.upper is not None and (sp.sympify(self.upper) < self.lower) == sp.true:
            raise ValueError(f"stop {self.name!r}: lower must not exceed upper, got {self.lower} and {self.upper}.")

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contacts of the stops."""
        both = self.lower is not None and self.upper is not None
        rows = []
        if self.lower is not None:
            name = f"{self.name} lower" if both else self.name
            rows.append(Contact(name, gap=self.coordinate - self.lower, restitution_normal=self.restitution))
        if self.upper is not None:
            name = f"{self.name} upper" if both else self.name
            rows.append(Contact(name, gap=self.upper - self.coordinate, restitution_normal=self.restitution))
        return tuple(rows)


@dataclass(frozen=True)
class SpragClutch:
    """Sprag clutch: the angle turns one way only, d angle/dt >= 0, Upr on velocity level [GS05] section 2.

        -Lambda in Upr(gamma),    gamma = d angle/dt [rad/s],    Lambda [N m s]

    `angle` is the relative angle [rad] (or displacement [m]) of its two sides.
    """

    name: str
    angle: Expr

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the clutch, which is always active."""
        return (Contact(self.name, gap=self.angle, kind=CLUTCH),)


@dataclass(frozen=True)
class PrestressedSpring:
    """Prestressed spring: Sgn on displacement level [GS05] section 2.

        -lambda in preload Sgn(x)

    The spring holds x(q, t) = 0 [m] against every force up to `preload` [N] (N m for an angle). Away from x = 0 it
    pulls back with the force `preload`. Its energy preload |x| counts as potential energy; its force is set-valued and
    no part of h.
    """

    name: str
    displacement: Expr
    preload: Expr

    def __post_init__(self) -> None:
        require_number_in(f"prestressed spring {self.name!r}: preload", self.preload, 0.0)

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the spring, which is always active."""
        return (Contact(self.name, gap=self.displacement, threshold=self.preload, kind=SPRING),)


@dataclass(frozen=True)
class DryFriction:
    """Dry friction with a bound that does not depend on the load, Sgn on velocity level [GS05] end of section 6.

        -Lambda in threshold dt Sgn(gamma),    gamma = d displacement/dt

    `displacement` [m] is the relative displacement x(q, t) of the two sides (x - v t on a belt that moves with v),
    `threshold` [N] the largest friction force (N m for an angle).
    """

    name: str
    displacement: Expr
    threshold: Expr

    def __post_init__(self) -> None:
        require_number_in(f"dry friction {self.name!r}: threshold", self.threshold, 0.0)

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the joint, which is always active."""
        return (Contact(self.name, slip=self.displacement, threshold=self.threshold, kind=FRICTION),)


@dataclass(frozen=True)
class Constraint:
    """An equation that the motion keeps to at all times: a joint, a drive, rolling without slip.

        holonomic       g(q) = 0                    equation=x**2 + y**2 - L**2
        rheonomic       g(q, t) = 0                 equation=phi - omega*t
        non-holonomic   a(q, t) . u + b(q, t) = 0   velocity=x.diff() - R*phi.diff()

    Its reaction acts along dg/dq, or along a, with either sign: what is needed, no more.  Where several constraints say
    one thing, they share the load, see docs/constraints.md.

    Parameters
    ----------
    name : str
    equation : expression in coordinates and time that is zero, or `sympy.Eq`
    velocity : expression in coordinates, velocities and time that is zero, linear in the velocities
    direction, drift : in a system of functions the row a and the number b, beside or in place of `equation`; functions
        of (q, t, p), or constants
    """

    name: str
    _: KW_ONLY
    equation: Expr = None
    velocity: Expr = None
    direction: Any = None
    drift: Expr = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a constraint needs a name as its first argument, got {self.name!r}.")
        for key in ("equation", "velocity"):
            if isinstance(getattr(self, key), sp.Eq):
                object.__setattr__(self, key, getattr(self, key).lhs - getattr(self, key).rhs)
        if self.velocity is not None and (self.equation is not None or self.direction is not None):
            raise ValueError(f"constraint {self.name!r}: give equation= or velocity=, one of the two.")
        if self.equation is None and self.velocity is None and self.direction is None:
            raise ValueError(
                f"constraint {self.name!r} needs equation=, an expression g(q, t) that is zero, or velocity=, one that "
                "is linear in the velocities."
            )
        if self.drift is not None and self.direction is None:
            raise ValueError(f"constraint {self.name!r}: drift belongs to direction, which is missing.")

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the constraint, which always holds."""
        row = {"gap": self.equation, "slip": self.velocity, "tangent": self.direction, "tangent_drift": self.drift}
        return (Contact(self.name, kind=NONHOLONOMIC if self.equation is None else CONSTRAINT, **row),)


class Element(Protocol):
    """Whatever answers with contacts: the elements above, the joints of `mechanisms.joints`, or your own."""

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contacts of the element."""
        ...
