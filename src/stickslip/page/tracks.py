"""A drawing over time, as a page wants it: every shape once, and the numbers of it that move.

A shape is split into its sort (kind, style, words) and the numbers that place it.  Shapes of two frames are one shape
when their sorts agree, and their places among the shapes of this sort.  A frame without a shape has nan for its
numbers.  Numbers that never change are sent once, the others as rows, one per frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.drawing import primitives as draw
from stickslip.page.packing import floats

Numbers = list[float]


@dataclass
class _Slot:
    """One shape through all frames: what it is, and its numbers frame by frame."""

    what: dict[str, Any]
    rows: dict[int, Numbers] = field(default_factory=dict)

    def to_dict(self, frames: int) -> dict[str, Any]:
        values = np.full((frames, len(next(iter(self.rows.values())))), np.nan)
        values[list(self.rows)] = list(self.rows.values())
        moving = np.flatnonzero(~(values == values[0]).all(axis=0))
        return {
            **self.what,
            "values": np.where(np.isfinite(values[0]), values[0], 0.0).tolist(),
            "moving": moving.tolist(),
            "track": floats(values[:, moving]),
        }


def tracks(drawing: draw.Drawing, q: np.ndarray, t: np.ndarray, p: Mapping[str, float]) -> list[dict[str, Any]]:
    """Shapes of the states q (n, f) at times t (n,) as plain values, from back to front."""
    slots: dict[Hashable, _Slot] = {}
    rigid = _Rigid()
    for i, (q_i, t_i) in enumerate(zip(q.tolist(), t.tolist(), strict=True)):
        _enter(slots, i, drawing(q_i, t_i, p), rigid)
    return [slot.to_dict(len(t)) for slot in slots.values()]


def _enter(slots: dict[Hashable, _Slot], frame: int, shapes: Iterable[draw.Primitive], rigid: _Rigid) -> None:
    seen: Counter[Hashable] = Counter()
    for shape in shapes:
        for part in rigid.parts(shape):
            key, what, numbers = rigid.split(part) if isinstance(part, draw.Group) else split(part)
            place = (key, seen[key])
            seen[key] += 1
            if place not in slots:
                slots[place] = _Slot(what() if callable(what) else what)
            slots[place].rows[frame] = numbers


class _Rigid:
    """Groups whose items never change: known by name, compared once per new tuple of items."""

    def __init__(self) -> None:
        self._items: dict[str, tuple[draw.Primitive, ...]] = {}
        self._loose: set[str] = set()

    def parts(self, shape: draw.Primitive) -> Iterable[draw.Primitive]:
        """The shape itself, or the shapes of a group that changes its form, in world coordinates."""
        if not isinstance(shape, draw.Group):
            return (shape,)
        first = self._items.setdefault(shape.name, shape.items)
        if first is not shape.items and _solid(first) != _solid(shape.items):
            self._loose.add(shape.name)
        if shape.name in self._loose:
            return shape
        marks = (item.placed(shape.placement) for item in shape.items if isinstance(item, draw.Marker))
        return (shape, *marks)

    @staticmethod
    def split(group: draw.Group) -> tuple[Hashable, Callable[[], dict[str, Any]], Numbers]:
        place = group.placement
        return ("group", group.name), lambda: group_dict(group.name, group.items), [*place.origin, place.c, place.s]


def _solid(items: Sequence[draw.Primitive]) -> list[draw.Primitive]:
    """What belongs to a body: contacts stand in the world and may move along it."""
    return [item for item in items if not isinstance(item, draw.Marker)]


def group_dict(name: str, items: Sequence[draw.Primitive], **more: Any) -> dict[str, Any]:
    """A rigid body: its shapes in its own frame; it is placed by x, y, c, s."""
    shapes = []
    for item in _solid(items):
        _, what, numbers = split(item)
        shapes.append({**what, "values": numbers})
    return {"kind": "group", "name": name, "items": shapes, **more}


def split(shape: draw.Primitive) -> tuple[Hashable, dict[str, Any], Numbers]:
    """A shape as a key and as plain values, and the numbers of its place."""
    what: dict[str, Any] = {"kind": shape.kind, "style": getattr(shape, "style", "")}
    if isinstance(shape, draw.Polyline):
        numbers = [x for point in shape.points for x in point]
    elif isinstance(shape, draw.Circle):
        numbers = [*shape.centre, shape.radius]
    elif isinstance(shape, draw.Spring):
        via = [0.5 * (a + b) for a, b in zip(shape.start, shape.end, strict=True)] if shape.via is None else shape.via
        numbers = [*shape.start, *shape.end, *via, shape.width]
        what["coils"] = shape.coils
    elif isinstance(shape, draw.Text):
        numbers = [*shape.point]
        what |= {"text": shape.text, "anchor": shape.anchor}
    elif isinstance(shape, draw.Marker):
        numbers = [*shape.point, *shape.normal]
        what["contact"] = shape.contact
    elif isinstance(shape, draw.Ruler):
        numbers = [shape.x, shape.low, shape.high]
        what |= {"tick": shape.tick, "factor": shape.factor, "unit": draw.UNITS.get(shape.factor, "")}
    else:
        raise ValueError(f"no picture is known for a {type(shape).__name__}.")
    return (*what.values(), len(numbers)), what, numbers
