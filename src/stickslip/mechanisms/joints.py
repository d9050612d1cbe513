"""Joints with play between the links of a planar mechanism, for `LagrangianSystem.from_energies`.

A `Link` says where a rigid part is as a function of the coordinates; `link_energies` adds up what the links contribute
to the energies; a joint with play is a set of contacts between two links. Everything is a SymPy expression: links can
hang on other links, move with time, and be used as guide or bushing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import sympy as sp

from stickslip.mechanisms.elements import Contact, Expr, require_number_in

Vector = tuple[Any, Any]
"""x and y [m]."""

_CENTRE = sp.Float("1e-9")
"""Part of the clearance below which a pin counts as centred: its square vanishes beside 1 in double precision."""


@dataclass(frozen=True)
class Link:
    """A rigid link of a planar mechanism: a point (x, y) of its own frame is at

        centre + R(angle) (x, y),    R = [[cos, -sin], [sin, cos]].

    Parameters
    ----------
    name : str
    centre : pair of expressions
        Position of the centre of mass [m], the origin of the link's frame.
    angle : expression
        Angle of the link's x-axis against the world's [rad].
    mass, inertia : expression
        Mass [kg], and moment of inertia about the centre of mass [kg m^2].
    """

    name: str
    _: KW_ONLY
    centre: Vector = (0, 0)
    angle: Expr = 0
    mass: Expr = 0
    inertia: Expr = 0

    def __post_init__(self) -> None:
        if not isinstance(self.centre, Sequence) or len(self.centre) != 2:
            raise ValueError(f"link {self.name!r}: centre must be a pair (x, y), got {self.centre!r}.")
        for what in ("centre", "angle", "mass", "inertia"):
            value = getattr(self, what)
            if any(isinstance(x, str) for x in (value if what == "centre" else (value,))):
                raise ValueError(f"link {self.name!r}: {what} must be a SymPy expression or a number, not text.")
        for what in ("mass", "inertia"):
            require_number_in(f"link {self.name!r}: {what}", getattr(self, what), 0.0)

    @classmethod
    def hinged(cls, name: str, at: Vector, angle: Expr, *, arm: Expr, mass: Expr = 0, inertia: Expr = 0) -> Link:
        """Return a link that turns about the point `at`, its centre of mass `arm` [m] away along its x-axis."""
        centre = (at[0] + arm * sp.cos(angle), at[1] + arm * sp.sin(angle))
        return cls(name, centre=centre, angle=angle, mass=mass, inertia=inertia)

    def point(self, x: Expr, y: Expr = 0) -> Vector:
        """Where a point of the link's own frame is in the world [m]."""
        c, s = sp.cos(self.angle), sp.sin(self.angle)
        return (self.centre[0] + c * x - s * y, self.centre[1] + s * x + c * y)

    def seen(self, point: Vector) -> Vector:
        """Coordinates of a point of the world in the link's own frame [m]; the inverse of `point`."""
        c, s = sp.cos(self.angle), sp.sin(self.angle)
        x, y = point[0] - self.centre[0], point[1] - self.centre[1]
        return (c * x + s * y, c * y - s * x)


GROUND = Link("ground")
"""The world: a link that does not move."""


def link_energies(
    links: Iterable[Link], q: Sequence[Expr], u: Sequence[Expr], *, gravity: Expr = 0, time: Expr = None
) -> tuple[Expr, Expr]:
    """Kinetic and potential energy of links [J],

        T = sum (m |v|^2 + J omega^2) / 2,    V = sum m gravity y,

    with the velocities of the centres of mass by differentiation, v = (d centre/d q) u + d centre/d t.

    links : the links of the mechanism
    q, u : symbols of the coordinates and of their velocities
    gravity : acceleration along -y [m/s^2]
    time : symbol of time, if positions or angles contain it
    """

    def rate(x: Expr) -> Expr:
        x = sp.sympify(x)
        moving = sp.diff(x, time) if time is not None else sp.S.Zero
        return moving + sum(sp.diff(x, q_i) * u_i for q_i, u_i in zip(q, u, strict=True))

    T, V = sp.S.Zero, sp.S.Zero
    for link in links:
        x, y = link.centre
        T += link.mass * (rate(x) ** 2 + rate(y) ** 2) / 2 + link.inertia * rate(link.angle) ** 2 / 2
        V += link.mass * gravity * y
    return T, V


@dataclass(frozen=True)
class TranslationalClearanceJoint:
    """A slider with play between two parallel guide surfaces: four corner contacts [FLG10] section 6.

          guide ____________________________________
                     1 +---------------+ 2     c: play on each side, the guides are d = 2 (b + c) apart
                       |    slider     | 2 b
                     3 +---------------+ 4
                ____________________________________
                             2 a

    With (x_i, y_i) corner i in the guide's frame, whose x-axis is the centre line,

        g_N1,2 = (b + c) - y_i,    g_N3,4 = (b + c) + y_i,    gamma_Ti = d x_i/dt.

    [FLG10] eqs. (98)-(105) are these for a guide along the world's x-axis.

    Parameters
    ----------
    name : str
        The contacts are called "<name> 1" to "<name> 4".
    slider : Link
        The slider's outline is centred at its centre of mass.
    half_length, half_width : expression
        a and b [m].
    clearance : expression
        c [m], on each side.
    guide : Link
        Its x-axis is the centre line; it may move. The world's x-axis without it.
    friction, restitution_normal, restitution_tangential : expression in the parameters
        Of all four contacts [-].

    `stickslip.drawing.joint_shapes.slider_in_guide` draws it, `stickslip.analysis.joint_configuration` says in which
    of the configurations of [FLG10] Fig. 8 it is.
    """

    name: str
    slider: Link
    _: KW_ONLY
    half_length: Expr
    half_width: Expr
    clearance: Expr
    guide: Link = GROUND
    friction: Expr = 0
    restitution_normal: Expr = 0
    restitution_tangential: Expr = 0

    def __post_init__(self) -> None:
        for key in ("slider", "guide"):
            if not isinstance(getattr(self, key), Link):
                raise ValueError(f"joint {self.name!r}: {key} must be a Link, got {getattr(self, key)!r}.")
        _require_lengths(self, positive=("half_length", "clearance"), not_negative=("half_width",))

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contacts of the corners, in the order of the picture above."""
        a, b, half = self.half_length, self.half_width, self.half_width + self.clearance
        rows = []
        for i, (x, y) in enumerate(((-a, b), (a, b), (-a, -b), (a, -b))):
            along, across = self.guide.seen(self.slider.point(x, y))
            rows.append(
                Contact(
                    f"{self.name} {i + 1}",
                    gap=half - across if i < 2 else half + across,
                    slip=along,
                    friction=self.friction,
                    restitution_normal=self.restitution_normal,
                    restitution_tangential=self.restitution_tangential,
                )
            )
        return tuple(rows)


@dataclass(frozen=True)
class RevoluteClearanceJoint:
    """A pin with play in a bushing: one contact whose normal turns with the pin.

    With r the pin's centre seen from the bushing's, n = r / |r| and t the normal turned by 90 degrees,

        g_N = c - |r|,    gamma_N = -n . dr/dt,
        gamma_T = t . dr/dt + R omega_pin - (R + c) omega_bushing,

    gamma_T is the sliding velocity of the pin's surface on the bushing's. |r| is sqrt(x^2 + y^2 + (1e-9 c)^2): then the
    direction of a pin that is exactly centred is zero instead of undefined. At contact this changes nothing in double
    precision.

    Parameters
    ----------
    name : str
    pin, bushing : (Link, x, y)
        The link that carries it, and its centre in the frame of this link [m].
    clearance : expression
        c [m], the bushing's radius less the pin's.
    pin_radius : expression
        R [m], the lever of friction on the links. Without it (0) friction acts at the pin's centre.
    friction, restitution_normal, restitution_tangential : expression in the parameters [-]

    `stickslip.drawing.joint_shapes.pin_in_bushing` draws it.
    """

    name: str
    pin: tuple[Link, Expr, Expr]
    bushing: tuple[Link, Expr, Expr]
    _: KW_ONLY
    clearance: Expr
    pin_radius: Expr = 0
    friction: Expr = 0
    restitution_normal: Expr = 0
    restitution_tangential: Expr = 0

    def __post_init__(self) -> None:
        _require_lengths(self, positive=("clearance",), not_negative=("pin_radius",))
        for what in ("pin", "bushing"):
            place = getattr(self, what)
            if not (isinstance(place, tuple) and len(place) == 3 and isinstance(place[0], Link)):
                raise ValueError(f"joint {self.name!r}: {what} must be (link, x, y), got {place!r}.")

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contact of the joint."""
        pin, bushing = (link.point(x, y) for link, x, y in (self.pin, self.bushing))
        c, R = self.clearance, self.pin_radius
        x, y = pin[0] - bushing[0], pin[1] - bushing[1]
        distance = sp.sqrt(x**2 + y**2 + (_CENTRE * c) ** 2)
        slip = [
            (-y / distance, x),
            (x / distance, y),
            (R, self.pin[0].angle),
            (-(R + c), self.bushing[0].angle),
        ]
        return (
            Contact(
                self.name,
                gap=c - distance,
                slip=tuple(slip),
                friction=self.friction,
                restitution_normal=self.restitution_normal,
                restitution_tangential=self.restitution_tangential,
            ),
        )


def _require_lengths(joint: Any, positive: Sequence[str], not_negative: Sequence[str]) -> None:
    for name in (*positive, *not_negative):
        value = getattr(joint, name)
        if isinstance(value, str):
            raise ValueError(f"joint {joint.name!r}: {name} must be a SymPy expression or a number, not text.")
        require_number_in(f"joint {joint.name!r}: {name} [m]", value, 0.0, open_end=name in positive)
