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
    """Factor that makes a play look like 0.3 of `size`, the part beside it; at least 1."""
    return max(1.0, 0.3 * size / clearance) if clearance > 0.0 else 1.0


def bar(name: str, start: Point, end: Point, *, length: float, width: float, style: str = "body") -> Group:
    """A link of the given length with round ends from one hinge to the other.

    Between hinges that are drawn apart or nearer than they are, because play is magnified, it is stretched.
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
    """A foot with a hinge on the ground."""
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
    """A `TranslationalClearanceJoint` along the x-axis: guides over `span`, slider at (x, y), corner markers [m, rad].

    contacts : numbers of the corners' contacts in the system; none where there is no play.
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
    """A `RevoluteClearanceJoint`: ring, bore, pin and the marker where they touch or are nearest [m]."""
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
