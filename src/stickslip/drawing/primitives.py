"""How a mechanism looks: shapes in world coordinates [m], one description for figures, films and pages.

A `Drawing` is a function of the state that returns primitives.  A primitive says what it is, never which colour it
has: its `style` is one of `STYLES`, and whoever shows it decides how a "body" or a "spring" looks.  Rigid parts
stand in a `Group`.  The items of a group never change, only its placement moves, so a page receives the items once.
Everything turns into plain numbers with `to_dict`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from stickslip.checks import Array

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x_min, x_max, y_min, y_max [m]."""

STYLES = {
    "ground": "a fixed obstacle, hatched; reaches out of the view",
    "wood": "a fixed or moving obstacle that is shown as a solid thing",
    "edge": "the line at which an obstacle is touched",
    "body": "a moving body",
    "body-light": "a light part of a body",
    "body-dark": "a dark part of a body",
    "accent": "the part of a body that the eye should find",
    "spring": "a spring's wire",
    "joint": "a hinge, a centre of mass",
    "guide": "a thin line for reference: a scale, a line of action",
    "label": "words and numbers",
    "floor": "fixed ground seen from above, in space",
    "floor-line": "a line on the floor, for depth",
    "wall": "a fixed wall behind the bodies, in space",
    "shadow": "what a body keeps the light from",
    "facet": "a face of a body in space, aslant to the light",
    "facet-light": "a face in the light",
    "facet-dark": "a face in the shade",
}
_UNBOUNDED = ("ground", "wood", "edge", "guide", "label", "floor", "floor-line", "wall", "shadow")
"""Styles that do not count when a view is fitted: they may reach further than one wants to see."""


# -- functions of numbers and of symbols ------------------------------------------------------------------------
# Shapes are written with these functions.  So a drawing can be called with symbols instead of numbers, which turns it
# into part of a model file.  A symbol brings the functions as methods, as NumPy expects of its objects.


def cos(x: float) -> float:
    """Cosine of a number or a symbol, angle in rad."""
    return x.cos() if hasattr(x, "cos") else math.cos(x)


def sin(x: float) -> float:
    """Sine of a number or a symbol, angle in rad."""
    return x.sin() if hasattr(x, "sin") else math.sin(x)


def sqrt(x: float) -> float:
    """Square root of a number or a symbol."""
    return x.sqrt() if hasattr(x, "sqrt") else math.sqrt(x)


def hypot(x: float, y: float) -> float:
    """sqrt(x^2 + y^2) of numbers or symbols."""
    for number in (x, y):
        if hasattr(number, "sqrt"):
            return sqrt(x * x + y * y)
    return math.hypot(x, y)


def largest(x: float, y: float) -> float:
    """The larger one of two numbers or symbols."""
    for number, other in ((x, y), (y, x)):
        if hasattr(number, "largest"):
            return number.largest(other)
    return max(x, y)


def least(x: float, y: float) -> float:
    """The smaller one of two numbers or symbols."""
    return -largest(-x, -y)


@dataclass(frozen=True)
class Placement:
    """Where a body is: world = origin + [[c, -s], [s, c]] local.

    A rotation has c = cos(angle), s = sin(angle).  Where the mechanics is linearised, c = 1, s = angle: then the
    drawing agrees with the model's gaps exactly, and the size of the body grows with the square of the angle.
    """

    origin: Point = (0.0, 0.0)
    c: float = 1.0
    s: float = 0.0

    @classmethod
    def rotation(cls, origin: Point, angle: float) -> Placement:
        """A body at `origin` [m], turned by `angle` [rad]."""
        return cls(origin, cos(angle), sin(angle))

    @classmethod
    def linearised(cls, origin: Point, angle: float) -> Placement:
        """A body at `origin` [m], turned by a small `angle` [rad] as linearised mechanics turns it."""
        return cls(origin, 1.0, angle)

    def __call__(self, point: Point) -> Point:
        x, y = point
        return self.origin[0] + self.c * x - self.s * y, self.origin[1] + self.s * x + self.c * y

    def turn(self, direction: Point) -> Point:
        """Turn a direction of the body's frame into world coordinates; the result has length 1."""
        x, y = self.c * direction[0] - self.s * direction[1], self.s * direction[0] + self.c * direction[1]
        length = hypot(x, y)
        return x / length, y / length

    @property
    def scale(self) -> float:
        """Factor by which the placement stretches lengths: 1 for a rotation."""
        return hypot(self.c, self.s)


@dataclass(frozen=True)
class Primitive(ABC):
    """Base of all shapes; a subclass sets `kind` and implements `corners` and `placed`."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        style = getattr(self, "style", "body")
        if style not in STYLES:
            raise ValueError(f"style must be one of {', '.join(STYLES)}, got {style!r}.")

    @abstractmethod
    def corners(self) -> Sequence[Point]:
        """Points that a view must contain so that the shape is seen whole [m]."""

    @abstractmethod
    def placed(self, placement: Placement) -> Primitive:
        """A copy of the shape, moved with a body."""

    def to_dict(self) -> dict[str, Any]:
        """The shape as plain values, ready for JSON."""
        return {"kind": self.kind, **{key: _plain(value) for key, value in self.__dict__.items()}}


@dataclass(frozen=True)
class Polyline(Primitive):
    """Points joined by straight lines."""

    points: tuple[Point, ...]
    style: str = "edge"
    kind: ClassVar[str] = "polyline"

    def corners(self) -> Sequence[Point]:
        return self.points

    def placed(self, placement: Placement) -> Polyline:
        return type(self)(tuple(placement(point) for point in self.points), self.style)


@dataclass(frozen=True)
class Polygon(Polyline):
    """A filled area; its last point is joined to the first."""

    style: str = "body"
    kind: ClassVar[str] = "polygon"


def line(start: Point, end: Point, style: str = "edge") -> Polyline:
    """A straight line from `start` to `end` [m]."""
    return Polyline((start, end), style)


def rectangle(x_min: float, x_max: float, y_min: float, y_max: float, style: str = "body") -> Polygon:
    """A filled rectangle with sides along the axes [m]."""
    return Polygon(((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)), style)


@dataclass(frozen=True)
class Smooth(Polygon):
    """A filled area whose outline `points` was made by `smooth`, from the points `through`."""

    through: tuple[Point, ...] = ()

    def placed(self, placement: Placement) -> Polyline:
        return Polygon(self.points, self.style).placed(placement)

    def to_dict(self) -> dict[str, Any]:
        return Polygon(self.points, self.style).to_dict()


def smooth(points: Sequence[Point], style: str = "body", per_point: int = 6) -> Smooth:
    """A filled area with a smooth closed outline through `points` [m] (Catmull-Rom), `per_point` pieces each."""
    x = np.asarray(points, dtype=float)
    before, after, beyond = (np.roll(x, k, axis=0) for k in (1, -1, -2))
    outline = []
    for s in np.arange(per_point) / per_point:
        outline.append(
            0.5
            * (
                2.0 * x
                + s * (after - before)
                + s**2 * (2.0 * before - 5.0 * x + 4.0 * after - beyond)
                + s**3 * (3.0 * x - before - 3.0 * after + beyond)
            )
        )
    curve = np.stack(outline, axis=1).reshape(-1, 2)
    return Smooth(tuple((float(a), float(b)) for a, b in curve.round(9)), style, tuple(points))


@dataclass(frozen=True)
class Circle(Primitive):
    """A filled disk: centre and radius [m]."""

    centre: Point
    radius: float
    style: str = "body"
    kind: ClassVar[str] = "circle"

    def corners(self) -> Sequence[Point]:
        (x, y), r = self.centre, self.radius
        return (x - r, y - r), (x + r, y + r)

    def placed(self, placement: Placement) -> Circle:
        return Circle(placement(self.centre), self.radius * placement.scale, self.style)


@dataclass(frozen=True)
class Spring(Primitive):
    """A coil from `start` to `end` [m]; with `via` it bends towards this point, to show a torsional spring."""

    start: Point
    end: Point
    width: float
    coils: int = 6
    via: Point | None = None
    style: str = "spring"
    kind: ClassVar[str] = "spring"

    def corners(self) -> Sequence[Point]:
        return self.start, self.end

    def placed(self, placement: Placement) -> Spring:
        via = None if self.via is None else placement(self.via)
        return Spring(placement(self.start), placement(self.end), self.width, self.coils, via, self.style)

    def wire(self, per_coil: int = 16) -> Array:
        """Points along the wire, shape (n, 2): a short straight piece, the coils, a short straight piece."""
        start, end = np.array(self.start), np.array(self.end)
        via = 0.5 * (start + end) if self.via is None else np.array(self.via)
        s = np.linspace(0.0, 1.0, per_coil * self.coils + 1)[:, None]
        middle = (1 - s) ** 2 * start + 2 * s * (1 - s) * via + s**2 * end
        along = 2 * (1 - s) * (via - start) + 2 * s * (end - via)
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1)
        inside = np.clip((s - 0.08) / 0.84, 0.0, 1.0)
        return middle + 0.5 * self.width * np.sin(2 * np.pi * self.coils * inside) * across


@dataclass(frozen=True)
class Marker(Primitive):
    """Where contact number `contact` happens; `normal` points from the obstacle to the body."""

    contact: int
    point: Point
    normal: Point = (0.0, 1.0)
    kind: ClassVar[str] = "marker"

    def corners(self) -> Sequence[Point]:
        return (self.point,)

    def placed(self, placement: Placement) -> Marker:
        return Marker(self.contact, placement(self.point), placement.turn(self.normal))


@dataclass(frozen=True)
class Text(Primitive):
    """Words at a point; `anchor` is the side of the words that the point lies on: left, centre or right."""

    point: Point
    text: str
    anchor: str = "centre"
    style: str = "label"
    kind: ClassVar[str] = "text"

    def corners(self) -> Sequence[Point]:
        return (self.point,)

    def placed(self, placement: Placement) -> Text:
        return Text(placement(self.point), self.text, self.anchor, self.style)


UNITS = {1e-3: "km", 1.0: "m", 100.0: "cm", 1000.0: "mm", 1e6: "\N{MICRO SIGN}m"}
"""Units of a ruler by its factor."""


@dataclass(frozen=True)
class Ruler(Primitive):
    """An upright scale at `x`, from `low` to `high` [m]: a tick every `tick` metres, every second one numbered.

    Numbers are heights times `factor`; the highest has the unit that `factor` stands for.  The ruler moves with the
    view, and its ticks stay in the world.
    """

    x: float
    low: float
    high: float
    tick: float
    factor: float = 1.0
    kind: ClassVar[str] = "ruler"

    def __iter__(self) -> Iterator[Primitive]:
        """Ticks and numbers as lines and words."""
        last = math.floor(self.high / self.tick)
        for k in range(math.ceil(self.low / self.tick), last + 1):
            unit = UNITS.get(self.factor, "") if k == last - last % 2 else ""
            yield from _tick(self.x, k, self.tick, self.factor, unit)

    def corners(self) -> Sequence[Point]:
        return ()

    def placed(self, placement: Placement) -> Ruler:
        raise ValueError("a ruler stands upright in the world and cannot be part of a group.")


@lru_cache(maxsize=4096)
def _tick(x: float, k: int, tick: float, factor: float, unit: str) -> tuple[Primitive, ...]:
    """Tick number k of a ruler; its length is two fifths of a tick, one fifth where it has no number."""
    if k % 2:
        return (line((x - 0.2 * tick, k * tick), (x, k * tick), "guide"),)
    number = f"{factor * k * tick:.6g} {unit}".rstrip().replace("-", "\N{MINUS SIGN}")
    return (
        line((x - 0.4 * tick, k * tick), (x, k * tick), "guide"),
        Text((x - 0.52 * tick, k * tick), number, "right"),
    )


@dataclass(frozen=True)
class Group(Primitive):
    """Shapes of one rigid body in its own frame, and where the body is."""

    name: str
    placement: Placement
    items: tuple[Primitive, ...] = field(repr=False)
    kind: ClassVar[str] = "group"

    def __iter__(self) -> Iterator[Primitive]:
        return (item.placed(self.placement) for item in self.items)

    def corners(self) -> Sequence[Point]:
        return [point for item in self if bounded(item) for point in item.corners()]

    def placed(self, placement: Placement) -> Group:
        raise ValueError(f"group {self.name!r} stands inside another group; place its items instead.")


Shapes = Callable[[Sequence[float], float, Mapping[str, float]], Sequence[Primitive]]
"""Primitives from back to front as a function of q, t and the parameters by name."""


@dataclass(frozen=True)
class Drawing:
    """How a system looks in a state.

    Attributes
    ----------
    shapes : function of (q, t, p) that returns primitives, from back to front; p maps parameter names to values.
    view : the part of the plane to show, x_min, x_max, y_min, y_max [m]; None fits it to the motion.
    follow : name of a coordinate along which the view moves up and down; None for a view that stays.
    span : length of the motion that makes a good film [s]; None for the whole run, up to a limit of the film.
    goes_along : whether the view of a film may travel with bodies that go many times their size.
    """

    shapes: Shapes
    view: Box | None = None
    follow: str | None = None
    span: float | None = None
    goes_along: bool = False

    def __call__(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
        """The primitives in one state, from back to front; groups are not yet placed."""
        return list(self.shapes([float(x) for x in q], float(t), p))

    def to_dict(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> dict[str, Any]:
        """The drawing in one state as plain values, ready for JSON."""
        return {
            "t": float(t),
            "view": None if self.view is None else list(self.view),
            "follow": self.follow,
            "shapes": [shape.to_dict() for shape in self(q, t, p)],
        }

    def fit(self, q: Array, t: Array, p: Mapping[str, float], margin: float = 0.08) -> Box:
        """A view for the states q (n, f) at times t (n,): `view` where it is given, else a box around all bodies [m].

        margin : room around the bodies, as a share of the larger side.
        """
        if self.view is not None:
            return self.view
        points = [
            point
            for q_i, t_i in zip(q, t, strict=True)
            for shape in self(q_i, t_i, p)
            if bounded(shape)
            for point in shape.corners()
        ]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        room = margin * float(np.max(high - low))
        return low[0] - room, high[0] + room, low[1] - room, high[1] + room


def bounded(shape: Primitive) -> bool:
    """Whether a view should be fitted to the shape: not to rulers, obstacles, lines of reference and words."""
    return not isinstance(shape, Ruler) and getattr(shape, "style", "body") not in _UNBOUNDED


def flat(shapes: Iterable[Primitive]) -> list[Primitive]:
    """All shapes in world coordinates, groups and rulers taken apart."""
    result: list[Primitive] = []
    for shape in shapes:
        result.extend(shape if isinstance(shape, (Group, Ruler)) else (shape,))
    return result


def markers(shapes: Iterable[Primitive]) -> list[Marker]:
    """The contact markers among the shapes, in world coordinates."""
    return [shape for shape in flat(shapes) if isinstance(shape, Marker)]


def _plain(value: Any) -> Any:
    if isinstance(value, (Primitive, Placement)):
        fields = value.to_dict() if isinstance(value, Primitive) else value.__dict__
        return {key: _plain(item) for key, item in fields.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value
