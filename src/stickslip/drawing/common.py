"""Ground and rods: shapes that several mechanisms share."""

from __future__ import annotations

from stickslip.drawing.primitives import Polygon, Primitive, line, rectangle

GROUND: tuple[Primitive, ...] = (rectangle(-100.0, 100.0, -100.0, 0.0, "ground"), line((-100.0, 0.0), (100.0, 0.0)))
"""Ground below y = 0, and its edge."""


def pointed_rod(half: float, thick: float) -> Polygon:
    """A rod along the x axis with two sharp tips, 2 `half` [m] long and 2 `thick` [m] high."""
    inner = half - 2 * thick
    return Polygon(((-half, 0.0), (-inner, -thick), (inner, -thick), (half, 0.0), (inner, thick), (-inner, thick)))
