"""Keys of drawings in model files of mechanisms."""

from __future__ import annotations

from stickslip.drawing.primitives import STYLES
from stickslip.io.models.fields import Flag, Key, ListOf, Number, Table, Tagged, Text
from stickslip.io.models.layout_parts import EXPRESSION, NUMBER, POSITIVE, TEXT

_PAIR = ListOf(EXPRESSION, 2, 2)


def _style(default: str) -> dict[str, Key]:
    return {"style": Key(Text(choices=tuple(STYLES)), "what it is, which decides how it looks", default=default)}


_FLAT_SHAPES = {
    "line": Table({"points": Key(ListOf(_PAIR, 2), "[m]", required=True), **_style("edge")}),
    "polygon": Table(
        {
            "points": Key(ListOf(_PAIR, 3), "corners [m]", required=True),
            "smooth": Key(Flag(), "a smooth outline through the points", default=False),
            **_style("body"),
        }
    ),
    "rectangle": Table(
        {
            "x": Key(_PAIR, "left and right [m]", required=True),
            "y": Key(_PAIR, "bottom and top [m]", required=True),
            **_style("body"),
        }
    ),
    "circle": Table(
        {
            "centre": Key(_PAIR, "[m]", required=True),
            "radius": Key(EXPRESSION, "[m]", required=True),
            **_style("body"),
        }
    ),
    "spring": Table(
        {
            "start": Key(_PAIR, "[m]", required=True),
            "end": Key(_PAIR, "[m]", required=True),
            "width": Key(EXPRESSION, "width of the coils [m]", required=True),
            "coils": Key(Number(1, 50, whole=True), "number of coils", default=6),
            "via": Key(_PAIR, "point towards which it bends [m]"),
            **_style("spring"),
        }
    ),
    "text": Table(
        {
            "point": Key(_PAIR, "[m]", required=True),
            "text": Key(TEXT, "words", required=True),
            "anchor": Key(Text(choices=("left", "centre", "right")), "side at the point", default="centre"),
            **_style("label"),
        }
    ),
    "marker": Table(
        {
            "contact": Key(TEXT, "its name; of a stop with two sides '<name> lower' or '<name> upper'", required=True),
            "point": Key(_PAIR, "where it happens [m]", required=True),
            "normal": Key(_PAIR, "from the obstacle to the body", default=["0", "1"]),
        }
    ),
}
_FORMS = {
    **_FLAT_SHAPES,
    "ruler": Table(
        {
            "x": Key(EXPRESSION, "where it stands [m]", required=True),
            "low": Key(EXPRESSION, "its lower end [m]", required=True),
            "high": Key(EXPRESSION, "its upper end [m]", required=True),
            "tick": Key(POSITIVE, "distance of its ticks [m]", required=True),
            "factor": Key(POSITIVE, "of the numbers beside it, such as 1000 for millimetres", default=1.0),
        }
    ),
    "group": Table(
        {
            "name": Key(TEXT, "name of the rigid body", required=True),
            "at": Key(_PAIR, "where its own origin is [m]", default=["0", "0"]),
            "angle": Key(EXPRESSION, "by which it is turned [rad]"),
            "small_angle": Key(EXPRESSION, "the same, with cos = 1 and sin = angle as in linearised gaps [rad]"),
            "axis": Key(_PAIR, "in place of an angle: where its x-axis points; its length is the scale"),
            "items": Key(ListOf(Tagged("type", _FLAT_SHAPES), 1, 500), "shapes in its own frame", required=True),
        }
    ),
}
DRAWING = Table(
    {
        "view": Key(ListOf(NUMBER, 4, 4), "x_min, x_max, y_min, y_max worth seeing [m]; fitted if not given"),
        "follow": Key(TEXT, "coordinate along which the view moves up and down"),
        "span": Key(POSITIVE, "seconds of motion that make a good film"),
        "shapes": Key(ListOf(Tagged("type", _FORMS), 1, 500), "shapes, from back to front", required=True),
    },
    "how it looks: for films and the page",
)
