"""The friction cone as a pyramid: {(n, t): t in mu n C}, C the regular polygon with m corners on the unit circle.

The first corner lies along t_1.  The polygon is symmetric about each corner and the middle of each side, so the
nearest point of the pyramid lies in the same sector, between two corners, as the point itself.
"""

from __future__ import annotations

import math

from stickslip.jit import kernel


@kernel
def polygon_support(x: float, y: float, m: int) -> float:
    """max c . (x, y) over the polygon: that of the corner nearest in direction."""
    angle, step = math.atan2(y, x), 2.0 * math.pi / m
    return math.sqrt(x * x + y * y) * math.cos(angle - step * round(angle / step))


@kernel
def project_polygon(x: float, y: float, radius: float, m: int) -> tuple[float, float]:
    """The point of the polygon with corners at `radius` nearest to (x, y): itself, on a side, or a corner."""
    step = 2.0 * math.pi / m
    middle = step * (math.floor(math.atan2(y, x) / step) + 0.5)
    c, s = math.cos(middle), math.sin(middle)
    out, along = c * x + s * y, c * y - s * x
    a, b = radius * math.cos(0.5 * step), radius * math.sin(0.5 * step)
    if out <= a:
        return x, y
    along = min(b, max(-b, along))
    return c * a - s * along, s * a + c * along


@kernel
def project_pyramid(n: float, x: float, y: float, mu: float, m: int) -> tuple[float, float, float]:
    """The point of the pyramid nearest to (n, x, y): itself, on a side, on an edge, or the apex."""
    step = 2.0 * math.pi / m
    middle = step * (math.floor(math.atan2(y, x) / step) + 0.5)  # direction of the side that the point faces
    c, s = math.cos(middle), math.sin(middle)
    out, along = c * x + s * y, c * y - s * x
    a, b = mu * math.cos(0.5 * step), mu * math.sin(0.5 * step)  # corners of the side at height 1: (a, +-b)
    if n >= 0.0 and out <= a * n:
        return n, x, y
    shift = (out - a * n) / (1.0 + a * a)
    height = n + a * shift
    if height >= 0.0 and abs(along) <= b * height:
        out -= shift
    else:
        height = max(0.0, (n + a * out + b * abs(along)) / (1.0 + mu * mu))
        out, along = a * height, math.copysign(b * height, along)
    return height, c * out - s * along, s * out + c * along
