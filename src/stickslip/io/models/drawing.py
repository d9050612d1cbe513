"""The `[drawing]` of a mechanism's file: shapes by expressions in coordinates, time and parameters, and back.

A drawing of the library is a Python function.  It is written by calling it with `Traced` numbers; the expressions that
come out are compared with the function at other states, and other parameters, before they are believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import unknown_name
from stickslip.drawing import primitives as draw
from stickslip.io.models.expressions import ExpressionError, Part, function_of, parse, text_of
from stickslip.io.models.fields import Place
from stickslip.io.models.traced import Traced, Untraceable, expression_of
from stickslip.mechanisms.system import System
from stickslip.scenario import Scenario

LARGEST_DRAWING = 20_000
"""Numbers, names and operations of a drawing."""
_AGREES = 1e-9  # relative difference of the numbers of a shape by another order of operations
_STATES = 6  # number of states at which expressions and function are compared
Build = Callable[[Sequence[float]], Any]


class FileDrawing:
    """The shapes of a file as a function of (q, t, p); `content` is what the file says."""

    def __init__(self, content: dict[str, Any], system: System, names: Mapping[str, Any], place: Place) -> None:
        self.content, self.system, self.place = content, system, place
        self.symbols = [*system.coordinate_names, "t", *system.parameter_names]
        velocities = set(system.velocity_names)
        self.names = {name: part for name, part in names.items() if name not in velocities}
        self.expressions: list[Any] = []
        self.places: list[Place] = []  # of the expressions
        self.size = 0
        self.builders = [self._shape(entry, place.at("shapes", i)) for i, entry in enumerate(content["shapes"])]

    def __call__(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[draw.Primitive]:
        try:
            values = self._values(*q, t, *(p[name] for name in self.system.parameter_names))
            numbers = [float(value) for value in values]
        except (ArithmeticError, ValueError, TypeError) as problem:
            shown = [float(f"{x:.6g}") for x in q]
            raise self._culprit(q, t, p).error(
                f"this expression has no value at t = {t:g} s, q = {shown} ({' '.join(str(problem).split())})"
            ) from None
        return [build(numbers) for build in self.builders]

    def _culprit(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> Place:
        """Where the first expression stands that has no value in a state; all of them are evaluated together."""
        symbols = [sp.Symbol(name) for name in self.symbols]
        for expression, place in zip(self.expressions, self.places, strict=True):
            try:
                float(function_of([expression], symbols)(*q, t, *(p[name] for name in self.system.parameter_names))[0])
            except (ArithmeticError, ValueError, TypeError):
                return place
        return self.place

    @cached_property
    def _values(self) -> Callable[..., list[float]]:
        return function_of(self.expressions, [sp.Symbol(name) for name in self.symbols])

    # -- shapes ----------------------------------------------------------------------------------------------

    def _shape(self, entry: dict[str, Any], place: Place) -> Build:
        kind = entry["type"]
        make: Callable[..., Build] = getattr(self, f"_{kind}")
        return make(entry, place)

    def _line(self, entry: dict[str, Any], place: Place) -> Build:
        points, style = self._points(entry["points"], place.at("points")), entry["style"]
        return lambda v: draw.Polyline(points(v), style)

    def _polygon(self, entry: dict[str, Any], place: Place) -> Build:
        points, style = self._points(entry["points"], place.at("points")), entry["style"]
        if entry["smooth"]:
            return lambda v: draw.smooth(points(v), style)
        return lambda v: draw.Polygon(points(v), style)

    def _rectangle(self, entry: dict[str, Any], place: Place) -> Build:
        x, y, style = self._point(entry["x"], place.at("x")), self._point(entry["y"], place.at("y")), entry["style"]

        def build(v: Sequence[float]) -> draw.Polygon:
            (left, right), (bottom, top) = x(v), y(v)
            return draw.rectangle(left, right, bottom, top, style)

        return build

    def _circle(self, entry: dict[str, Any], place: Place) -> Build:
        centre = self._point(entry["centre"], place.at("centre"))
        radius = self._number(entry["radius"], place.at("radius"))
        return lambda v: draw.Circle(centre(v), radius(v), entry["style"])

    def _spring(self, entry: dict[str, Any], place: Place) -> Build:
        start, end = self._point(entry["start"], place.at("start")), self._point(entry["end"], place.at("end"))
        width, coils, style = self._number(entry["width"], place.at("width")), entry["coils"], entry["style"]
        via: Build = (lambda v: None) if entry["via"] is None else self._point(entry["via"], place.at("via"))
        return lambda v: draw.Spring(start(v), end(v), width(v), coils, via(v), style)

    def _text(self, entry: dict[str, Any], place: Place) -> Build:
        point = self._point(entry["point"], place.at("point"))
        return lambda v: draw.Text(point(v), entry["text"], entry["anchor"], entry["style"])

    def _marker(self, entry: dict[str, Any], place: Place) -> Build:
        names = self.system.contact_names
        if entry["contact"] not in names:
            raise place.at("contact").error(unknown_name("contact", entry["contact"], names))
        contact = names.index(entry["contact"])
        point, normal = self._point(entry["point"], place.at("point")), self._point(entry["normal"], place.at("normal"))
        return lambda v: draw.Marker(contact, point(v), normal(v))

    def _ruler(self, entry: dict[str, Any], place: Place) -> Build:
        x, low, high = (self._number(entry[key], place.at(key)) for key in ("x", "low", "high"))
        return lambda v: draw.Ruler(x(v), low(v), high(v), entry["tick"], entry["factor"])

    def _group(self, entry: dict[str, Any], place: Place) -> Build:
        before = len(self.expressions)
        items = [self._shape(item, place.at("items", i)) for i, item in enumerate(entry["items"])]
        fixed: list[Any] = [build(()) for build in items] if len(self.expressions) == before else []
        name, rigid = entry["name"], tuple(fixed)
        at = self._placement(entry, place)
        return lambda v: draw.Group(name, at(v), rigid or tuple(build(v) for build in items))

    def _placement(self, entry: dict[str, Any], place: Place) -> Build:
        at = self._point(entry["at"], place.at("at"))
        turns = [key for key in ("angle", "small_angle", "axis") if entry[key] is not None]
        if len(turns) > 1:
            raise place.at(turns[1]).error(f"{turns[0]} and {turns[1]} exclude one another")
        if not turns:
            return lambda v: draw.Placement(at(v))
        if turns == ["axis"]:
            axis = self._point(entry["axis"], place.at("axis"))
            return lambda v: draw.Placement(at(v), *axis(v))
        angle = self._number(entry[turns[0]], place.at(turns[0]))
        make = draw.Placement.rotation if turns == ["angle"] else draw.Placement.linearised
        return lambda v: make(at(v), angle(v))

    # -- numbers ---------------------------------------------------------------------------------------------

    def _points(self, entries: list[list[str]], place: Place) -> Build:
        points = [self._point(entry, place.at(i)) for i, entry in enumerate(entries)]
        return lambda v: tuple(point(v) for point in points)

    def _point(self, entry: list[str], place: Place) -> Build:
        x, y = (self._number(text, place.at(i)) for i, text in enumerate(entry))
        return lambda v: (x(v), y(v))

    def _number(self, text: str, place: Place) -> Build:
        part = self._part(text, place)
        if part.value is not None:
            constant = part.value
            return lambda v: constant
        strange = {symbol.name for symbol in part.expression.free_symbols} - set(self.symbols)
        if strange:
            raise place.error(f"a drawing depends on coordinates, t and parameters, not on {min(strange)!r}")
        index = len(self.expressions)
        self.expressions.append(part.expression)
        self.places.append(place)
        return lambda v: v[index]

    def _part(self, text: str, place: Place) -> Part:
        try:
            part = parse(text, self.names)
        except ExpressionError as problem:
            raise place.error(str(problem)) from None
        self.size += part.size
        if self.size > LARGEST_DRAWING:
            raise place.error(f"the expressions of a drawing may have {LARGEST_DRAWING} names and operations together")
        return part


def drawing_from(
    content: dict[str, Any] | None, system: System, names: Mapping[str, Any], place: Place
) -> draw.Drawing | None:
    """The drawing of a checked file; `names` are the symbols and definitions of its expressions."""
    if content is None:
        return None
    follow = content["follow"]
    if follow is not None and follow not in system.coordinate_names:
        raise place.at("follow").error(unknown_name("coordinate", follow, system.coordinate_names))
    view = content["view"]
    if view is not None and not (view[0] < view[1] and view[2] < view[3]):
        raise place.at("view").error("x_min < x_max and y_min < y_max are expected")
    shapes = FileDrawing(content, system, names, place)
    return draw.Drawing(shapes, None if view is None else tuple(view), follow, content["span"])


# -- writing -----------------------------------------------------------------------------------------------------------


def drawing_of(scenario: Scenario) -> dict[str, Any] | None:
    """The content of `[drawing]`; None without one.  Raises `Untraceable` where its function has no expressions."""
    drawing = scenario.drawing
    if drawing is None:
        return None
    head = {
        **({} if drawing.view is None else {"view": [float(x) for x in drawing.view]}),
        **({} if drawing.follow is None else {"follow": drawing.follow}),
        **({} if drawing.span is None else {"span": float(drawing.span)}),
    }
    shapes = drawing.shapes
    if isinstance(shapes, FileDrawing):
        return {**head, "shapes": [_given(entry) for entry in shapes.content["shapes"]]}
    for with_parameters in (True, False):
        try:
            held = set() if with_parameters else set(scenario.parameters)
            return {**head, "shapes": _traced(scenario, drawing, held)}
        except (Untraceable, ExpressionError, TypeError) as problem:
            reason = problem
    raise Untraceable(f"the drawing of {scenario.system.name!r} is a Python function without expressions ({reason})")


_WORDS = ("type", "style", "name", "text", "anchor", "contact")


def _given(entry: dict[str, Any]) -> dict[str, Any]:
    """A checked table as one writes it: without keys that were not given, numbers as numbers."""
    found = {key: value for key, value in entry.items() if value is not None and value is not False}
    return {key: value if key in _WORDS else _as_written(value) for key, value in found.items()}


def _as_written(value: Any) -> Any:
    if isinstance(value, dict):
        return _given(value)
    if isinstance(value, list):
        return [_as_written(entry) for entry in value]
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


class _Noted(dict[str, float]):
    """Parameters that note which of them were asked for."""

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self.asked.add(name)
        return super().__getitem__(name)


def traced_shapes(scenario: Scenario) -> tuple[list[draw.Primitive], set[str]]:
    """The shapes of a drawing with `Traced` numbers, and the parameters that must keep their values for them.

    Where the drawing compares or rounds parameters, those are numbers in its expressions, and as few as possible.
    Raises `Untraceable` where its function has no expressions.
    """
    drawing = scenario.drawing
    assert drawing is not None
    shapes, values = drawing.shapes, scenario.parameters
    if isinstance(shapes, FileDrawing):
        numbers = shapes._values(*scenario.q0.tolist(), 0.37, *values.values())
        traced = [Traced(float(x), e) for x, e in zip(numbers, shapes.expressions, strict=True)]
        return [build(traced) for build in shapes.builders], set()
    held = _held(scenario, drawing)
    return list(drawing.shapes(*_symbolic(scenario, held, values))), held


def _held(scenario: Scenario, drawing: draw.Drawing) -> set[str]:
    """Parameters that have to be numbers in the expressions of a drawing: each of them, while the others are."""
    if _is_traceable(scenario, drawing, set()):
        return set()
    values = _Noted(scenario.parameters)
    _traced(scenario, drawing, set(values))
    drawing.shapes(*_symbolic(scenario, set(values), values))
    held = set(values.asked)
    for name in sorted(held):
        if _is_traceable(scenario, drawing, held - {name}):
            held.discard(name)
    return held


def _is_traceable(scenario: Scenario, drawing: draw.Drawing, held: set[str]) -> bool:
    try:
        _traced(scenario, drawing, held)
    except (Untraceable, ExpressionError, TypeError):
        return False
    return True


def _symbolic(scenario: Scenario, held: set[str], values: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """Coordinates, time and parameters to call a drawing with, as traced numbers; those `held` are numbers."""
    system = scenario.system
    q = [Traced(float(x), sp.Symbol(name)) for name, x in zip(system.coordinate_names, scenario.q0, strict=True)]
    traced = {name: Traced(x, sp.Symbol(name)) for name, x in values.items() if name not in held}
    return q, Traced(0.37, sp.Symbol("t")), values if len(held) == len(values) else {**values, **traced}


def _traced(scenario: Scenario, drawing: draw.Drawing, held: set[str]) -> list[dict[str, Any]]:
    """The shapes as tables; parameters are symbols in them, and those `held` the numbers that they have."""
    system = scenario.system
    symbols = {name: sp.Symbol(name) for name in (*system.coordinate_names, "t", *system.parameter_names)}
    q, t, p = _symbolic(scenario, held, scenario.parameters)
    tables = [_table(shape, system.contact_names) for shape in drawing.shapes(q, t, p)]
    from stickslip.io.models.layout_drawing import DRAWING

    place = Place(f"the drawing of {system.name}", {})
    again = drawing_from(DRAWING.check({"shapes": tables}, place), system, symbols, place)
    assert again is not None
    _require_same(scenario, drawing, again, held)
    return tables


def _require_same(scenario: Scenario, drawing: draw.Drawing, again: draw.Drawing, held: set[str]) -> None:
    generator, values = np.random.default_rng(1), scenario.parameters
    for _ in range(_STATES):
        q = scenario.q0 + generator.normal(size=len(scenario.q0)) * (0.02 + 0.2 * np.abs(scenario.q0))
        factors = generator.uniform(0.97, 1.03, len(values))
        changed = zip(values.items(), factors, strict=True)
        p = {name: value if name in held else value * factor for (name, value), factor in changed}
        t = float(generator.uniform(0.0, scenario.t_end))
        if not same_shapes(drawing(q.tolist(), t, p), again(q.tolist(), t, p)):
            raise Untraceable("its shapes depend on the state in a way that its expressions do not show")


def same_shapes(first: Sequence[draw.Primitive], second: Sequence[draw.Primitive]) -> bool:
    """Whether two states of a drawing look the same."""
    return _agree([shape.to_dict() for shape in first], [shape.to_dict() for shape in second])


def _agree(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_agree(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_agree(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float | int) and isinstance(b, float | int):
        return abs(a - b) <= _AGREES * (1.0 + abs(a))
    return bool(a == b)


def _table(shape: draw.Primitive, contacts: Sequence[str]) -> dict[str, Any]:
    """A shape as a table of the file."""
    style = {"style": getattr(shape, "style", "")}
    if isinstance(shape, draw.Smooth):
        return {"type": "polygon", "points": [_pair(x) for x in shape.through], "smooth": True, **style}
    if isinstance(shape, draw.Polyline):
        kind = "polygon" if isinstance(shape, draw.Polygon) else "line"
        return {"type": kind, "points": [_pair(x) for x in shape.points], **style}
    if isinstance(shape, draw.Circle):
        return {"type": "circle", "centre": _pair(shape.centre), "radius": _entry(shape.radius), **style}
    if isinstance(shape, draw.Spring):
        via = {} if shape.via is None else {"via": _pair(shape.via)}
        ends = {"start": _pair(shape.start), "end": _pair(shape.end)}
        return {"type": "spring", **ends, "width": _entry(shape.width), "coils": shape.coils, **via, **style}
    if isinstance(shape, draw.Text):
        if not shape.text:  # a note that is empty in this case
            raise Untraceable("a text is empty")
        return {"type": "text", "point": _pair(shape.point), "text": shape.text, "anchor": shape.anchor, **style}
    if isinstance(shape, draw.Marker):
        return {
            "type": "marker",
            "contact": contacts[shape.contact],
            "point": _pair(shape.point),
            "normal": _pair(shape.normal),
        }
    if isinstance(shape, draw.Ruler):
        ends = {"x": _entry(shape.x), "low": _entry(shape.low), "high": _entry(shape.high)}
        return {"type": "ruler", **ends, "tick": shape.tick, "factor": shape.factor}
    if isinstance(shape, draw.Group):
        items = [_table(item, contacts) for item in shape.items]
        return {"type": "group", "name": shape.name, **_turn(shape.placement), "items": items}
    raise Untraceable(f"a {type(shape).__name__} has no place in a file")


def _turn(placement: draw.Placement) -> dict[str, Any]:
    """Where a group is: at, and the angle that its cosine and sine belong to, if they do."""
    at, c, s = {"at": _pair(placement.origin)}, expression_of(placement.c), expression_of(placement.s)
    if c == 1 and s == 0:
        return at
    if c == 1:
        return {**at, "small_angle": _entry(placement.s)}
    angle = c.args[0] if isinstance(c, sp.cos) else None
    for sign in (1, -1):
        if angle is not None and s == sp.sin(sign * angle):
            return {**at, "angle": text_of(sign * angle)}
    return {**at, "axis": [_entry(placement.c), _entry(placement.s)]}


def _pair(point: Sequence[float]) -> list[Any]:
    return [_entry(x) for x in point]


def _entry(x: Any) -> Any:
    """A number, or the text of its expression."""
    expression = expression_of(x)
    if not expression.is_number:
        return text_of(expression)
    value = float(expression)
    if not math.isfinite(value):
        raise Untraceable("a number is not finite")
    return value
