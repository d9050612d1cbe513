"""How links and joints with play look: the play is magnified on the screen, and on the screen only.

A play of a thousandth of the machine would not be seen. Positions across the joint are therefore drawn `magnify` times
as large as they are, so that a mark touches its surface exactly when the gap closes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from stickslip.drawing.primitives import (
    Circle,
    Group,
    Marker,
    Placement,
    Point,
    Polygon,
    Primitive,
    hypot,
    largest,
    line,
    rectangle,
)


def magnification(clearance: float, size: float) -> float:
    """Factor by which a play is drawn larger, so that it looks like 0.3 `size` of the part beside it; at least 1.

    clearance, size : in one unit [m]
    """
    return max(1.0, 0.3 * size / clearance) if clearance > 0.0 else 1.0


def bar(name: str, start: Point, end: Point, *, length: float, width: float, style: str = "body") -> Group:
    """A link with round ends from the hinge `start` to the hinge `end` [m].

    Magnified play draws the hinges farther apart or nearer than `length` [m]; then the link is stretched to fit.
    """
    x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    return Group(name, Placement(start, x, y), (_capsule(length, width, style),))


@lru_cache(maxsize=64)
def _capsule(length: float, width: float, style: str) -> Polygon:
    turns = [math.pi * (0.5 + k / 12) for k in range(13)]
    left = [(0.5 * width * math.cos(a), 0.5 * width * math.sin(a)) for a in turns]
    right = [(length - x, -y) for x, y in left]
    return Polygon((*left, *right), style)


def bearing(at: Point, size: float) -> list[Primitive]:
    """Shapes of a foot on the ground that carries a hinge at the point `at` [m]; `size` [m] sets its scale."""
    x, y = at
    foot = ((x - 2 * size, y - 2.6 * size), (x + 2 * size, y - 2.6 * size), (x + size, y), (x - size, y))
    return [Polygon(foot, "wood"), line((x - 3 * size, y - 2.6 * size), (x + 3 * size, y - 2.6 * size))]


def slider_in_guide(
    x: float,
    y: float,
    angle: float,
    *,
    half_length: float,
    half_width: float,
    clearance: float,
    span: tuple[float, float],
    contacts: Sequence[int] = (0, 1, 2, 3),
    magnify: float = 1.0,
) -> list[Primitive]:
    """Shapes of a `TranslationalClearanceJoint` along the x-axis: guides, slider, and markers at its corners.

    x, y, angle : place [m] and turn [rad] of the slider
    half_length, half_width, clearance : of the slider [m], and its play on each side [m]
    span : ends of the guides along x [m]
    magnify : factor by which the play is drawn larger
    contacts : numbers of the corners' contacts in the system; empty for a joint without play
    """
    a, b, half = half_length, half_width, half_width + magnify * clearance
    thick = 0.45 * b
    # linear in the angle: y of a corner is magnify * (y -+ a angle) + b, the magnified form of its gap
    slider = Placement.linearised((x, magnify * y), magnify * angle)
    shapes: list[Primitive] = []
    for sign in (1.0, -1.0):
        low, high = sorted((sign * half, sign * (half + thick)))
        shapes.append(rectangle(*span, low, high, "ground"))
        shapes.append(line((span[0], sign * half), (span[1], sign * half)))
    shapes.append(Group("slider", slider, (rectangle(-a, a, -b, b),)))
    corners = (((-a, b), -1.0), ((a, b), -1.0), ((-a, -b), 1.0), ((a, -b), 1.0))
    for contact, (corner, normal) in zip(contacts, corners, strict=False):
        shapes.append(Marker(contact, slider(corner), (0.0, normal)))
    return shapes


def pin_in_bushing(
    bushing: Point,
    pin: Point,
    *,
    pin_radius: float,
    clearance: float,
    contact: int = 0,
    magnify: float = 1.0,
) -> list[Primitive]:
    """Shapes of a `RevoluteClearanceJoint`: ring, bore, pin, and a marker where pin and bore touch or are nearest.

    bushing, pin : centres [m]
    pin_radius, clearance : radius of the pin, and the bore's radius less the pin's [m]
    contact : number of the joint's contact in the system
    magnify : factor by which the play is drawn larger
    """
    bore = pin_radius + magnify * clearance
    x, y = pin[0] - bushing[0], pin[1] - bushing[1]
    distance = largest(hypot(x, y), 1e-300)
    n = (x / distance, y / distance)
    shown = (bushing[0] + magnify * x, bushing[1] + magnify * y)
    return [
        Circle(bushing, bore + 0.5 * pin_radius, "body"),
        Circle(bushing, bore, "joint"),
        Circle(shown, pin_radius, "body-dark"),
        Marker(contact, (shown[0] + pin_radius * n[0], shown[1] + pin_radius * n[1]), (-n[0], -n[1])),
    ]
