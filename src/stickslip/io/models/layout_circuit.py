"""Keys of model files of circuits."""

from __future__ import annotations

from stickslip.io.models.fields import Either, Flag, Key, ListOf, MapOf, Number, Table, Tagged, Text
from stickslip.io.models.layout_parts import (
    EXPRESSION,
    NOT_NEGATIVE,
    NUMBER,
    POSITIVE,
    TEXT,
    TIMES,
    UNIT_INTERVAL,
    head,
)

_NODES = Key(ListOf(TEXT, 2, 2), "its two nodes; current flows from the first to the second", required=True)
_FORWARD = Key(NOT_NEGATIVE, "forward voltage [V]", default=0.0)
_ON = Key(NOT_NEGATIVE, "resistance while it conducts [ohm]", default=0.0)
_PULSES = Table(
    {
        "period": Key(POSITIVE, "length of a period [s]", required=True),
        "duty": Key(UNIT_INTERVAL, "share of a period that is high, 0 and 1 excluded", required=True),
        "high": Key(NUMBER, "value in this share", default=1.0),
        "low": Key(NUMBER, "value in the rest", default=0.0),
        "start": Key(NUMBER, "instant of a rising edge [s]", default=0.0),
    }
)
_SIGNAL, _GATE = Either((_PULSES, EXPRESSION)), Either((_PULSES, Flag()))
_TWO_ENDS = {
    "resistor": {"resistance": Key(POSITIVE, "resistance [ohm]", required=True)},
    "inductor": {
        "inductance": Key(POSITIVE, "inductance [H]", required=True),
        "current": Key(NUMBER, "current at the start [A]", default=0.0),
    },
    "capacitor": {
        "capacitance": Key(POSITIVE, "capacitance [F]", required=True),
        "voltage": Key(NUMBER, "voltage at the start [V]", default=0.0),
    },
    "source": {"voltage": Key(_SIGNAL, "voltage [V]: number, expression of t, or pulses", required=True)},
    "current_source": {"current": Key(_SIGNAL, "current [A]: number, expression of t, or pulses", required=True)},
    "diode": {"threshold": _FORWARD, "resistance": _ON},
    "zener": {
        "voltage": Key(POSITIVE, "breakdown voltage [V]", required=True),
        "threshold": _FORWARD,
        "resistance": _ON,
    },
    "varistor": {"voltage": Key(POSITIVE, "bound of its voltage [V]", required=True), "resistance": _ON},
    "switch": {"closed": Key(_GATE, "true, false, or pulses", required=True), "resistance": _ON},
    "thyristor": {
        "fired": Key(_GATE, "true, false, or pulses", required=True),
        "threshold": _FORWARD,
        "resistance": _ON,
    },
}
"""Elements between two nodes: keywords of the methods of `Circuit`, in their order."""
_MORE_ENDS = {
    "bridge": Table(
        {
            "ac": Key(ListOf(TEXT, 2, 2), "nodes of its input", required=True),
            "dc": Key(ListOf(TEXT, 2, 2), "nodes of its output, plus first", required=True),
            "threshold": _FORWARD,
            "resistance": _ON,
        }
    ),
    "transformer": Table(
        {
            "primary": Key(ListOf(TEXT, 2, 2), "nodes of its primary", required=True),
            "secondary": Key(ListOf(TEXT, 2, 2), "nodes of its secondary", required=True),
            "ratio": Key(NUMBER, "turns of the primary by those of the secondary", required=True),
        }
    ),
    "coupled": Table(
        {
            "inductors": Key(ListOf(TEXT, 2, 2), "names of two inductors", required=True),
            "coupling": Key(Number(-1.0, 1.0), "coupling factor"),
            "mutual": Key(NUMBER, "mutual inductance [H]"),
        }
    ),
}
_ELEMENT = Tagged(
    "type", {**{name: Table({"nodes": _NODES, **keys}) for name, keys in _TWO_ENDS.items()}, **_MORE_ENDS}
)
CIRCUIT = Table(
    {
        **{key: value for key, value in head("circuit").items() if key in ("stickslip", "name")},
        "kind": Key(Text(choices=("circuit",)), "an electrical circuit with ideal diodes and switches", required=True),
        "elements": Key(MapOf(_ELEMENT, least=1), "elements by name, in [elements.NAME]", required=True),
        "run": Key(
            Table(
                {
                    **TIMES,
                    "theta": Key(Number(0.5, 1.0), "rule of the steps"),
                    "locate": Key(Flag(), "cut steps where diodes switch"),
                    "every": Key(Number(least=1, whole=True), "record every N-th step"),
                }
            ),
            "how to run it; options of the command line go before these",
            required=True,
        ),
    },
    "an electrical circuit: elements between named nodes",
)
