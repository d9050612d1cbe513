"""Circuits as model files: `kind = "circuit"`, a table for each element, and how to run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp

from stickslip.circuits.circuit import Circuit
from stickslip.circuits.signals import PWM
from stickslip.io.models.expressions import ExpressionError, parse
from stickslip.io.models.fields import Flag, Key, Kind, ListOf, MapOf, Number, Place, Table, Tagged, Text
from stickslip.io.models.toml_text import key_lines, read_toml

KIND = "circuit"
_NUMBER, _POSITIVE, _NOT_NEGATIVE = Number(), Number(above=0.0), Number(least=0.0)
_NODES = Key(ListOf(Text(), 2, 2), "its two nodes; current flows from the first to the second", required=True)
_THRESHOLD = Key(_NOT_NEGATIVE, "forward voltage [V]", default=0.0)
_ON = Key(_NOT_NEGATIVE, "resistance while it conducts [ohm]", default=0.0)
_PULSES = Table(
    {
        "period": Key(_POSITIVE, "length of a period [s]", required=True),
        "duty": Key(Number(0.0, 1.0), "share of a period that is high", required=True),
        "high": Key(_NUMBER, "value in this share", default=1.0),
        "low": Key(_NUMBER, "value in the rest", default=0.0),
        "start": Key(_NUMBER, "instant of a rising edge [s]", default=0.0),
    }
)


@dataclass(frozen=True)
class _OneOf(Kind):
    """A table of pulses, or a value of another kind."""

    other: Kind

    def check(self, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            try:
                return PWM(**_PULSES.check(value, place))
            except ValueError as problem:
                raise place.error(str(problem).removeprefix(f"{place.file}: ")) from None
        return self.other.check(value, place)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [_PULSES.schema(), self.other.schema()]}


_SIGNAL, _GATE = _OneOf(Text(expression=True)), _OneOf(Flag())
_VALUES = {
    "resistor": {"resistance": Key(_POSITIVE, "resistance [ohm]", required=True)},
    "inductor": {
        "inductance": Key(_POSITIVE, "inductance [H]", required=True),
        "current": Key(_NUMBER, "current at the start [A]", default=0.0),
    },
    "capacitor": {
        "capacitance": Key(_POSITIVE, "capacitance [F]", required=True),
        "voltage": Key(_NUMBER, "voltage at the start [V]", default=0.0),
    },
    "source": {"voltage": Key(_SIGNAL, "voltage [V]: number, expression of t, or pulses", required=True)},
    "current_source": {"current": Key(_SIGNAL, "current [A]: number, expression of t, or pulses", required=True)},
    "diode": {"threshold": _THRESHOLD, "resistance": _ON},
    "zener": {
        "voltage": Key(_POSITIVE, "breakdown voltage [V]", required=True),
        "threshold": _THRESHOLD,
        "resistance": _ON,
    },
    "varistor": {"voltage": Key(_POSITIVE, "bound of its voltage [V]", required=True), "resistance": _ON},
    "switch": {"closed": Key(_GATE, "true, false, or pulses", required=True), "resistance": _ON},
    "thyristor": {
        "fired": Key(_GATE, "true, false, or pulses", required=True),
        "threshold": _THRESHOLD,
        "resistance": _ON,
    },
}
"""Elements between two nodes: keywords of the methods of `Circuit`, in their order."""
_OTHERS = {
    "bridge": Table(
        {
            "ac": Key(ListOf(Text(), 2, 2), "nodes of its input", required=True),
            "dc": Key(ListOf(Text(), 2, 2), "nodes of its output, plus first", required=True),
            "threshold": _THRESHOLD,
            "resistance": _ON,
        }
    ),
    "transformer": Table(
        {
            "primary": Key(ListOf(Text(), 2, 2), "nodes of its primary", required=True),
            "secondary": Key(ListOf(Text(), 2, 2), "nodes of its secondary", required=True),
            "ratio": Key(_NUMBER, "turns of the primary by those of the secondary", required=True),
        }
    ),
    "coupled": Table(
        {
            "inductors": Key(ListOf(Text(), 2, 2), "names of two inductors", required=True),
            "coupling": Key(Number(-1.0, 1.0), "coupling factor"),
            "mutual": Key(_NUMBER, "mutual inductance [H]"),
        }
    ),
}
_ELEMENT = Tagged("type", {**{name: Table({"nodes": _NODES, **keys}) for name, keys in _VALUES.items()}, **_OTHERS})
CIRCUIT = Table(
    {
        "stickslip": Key(Number(whole=True), "version of the format", required=True),
        "kind": Key(Text(choices=(KIND,)), "circuit", required=True),
        "name": Key(Text(), "name of the circuit, for messages and files", required=True),
        "elements": Key(MapOf(_ELEMENT, least=1), "elements by name, in [elements.NAME]", required=True),
        "run": Key(
            Table(
                {
                    "dt": Key(_POSITIVE, "step size [s]", required=True),
                    "t_end": Key(_POSITIVE, "end time [s]", required=True),
                    "theta": Key(Number(0.5, 1.0), "rule of the steps"),
                    "locate": Key(Flag(), "cut steps where diodes switch"),
                    "every": Key(Number(least=1, whole=True), "record every N-th step"),
                }
            ),
            "how to run it",
            required=True,
        ),
    }
)


@dataclass(frozen=True)
class CircuitModel:
    """What the model file of a circuit holds: the circuit, and the options of its `[run]`."""

    circuit: Circuit
    options: dict[str, Any]


def is_circuit_file(name: str) -> bool:
    """Whether a name is that of a TOML file whose kind is circuit; False where it cannot be read."""
    if not (name.endswith(".toml") or Path(name).is_file()):
        return False
    try:
        return read_toml(name)[0].get("kind") == KIND
    except ValueError:
        return False


def read_circuit(path: str | Path) -> CircuitModel:
    """Read the model file of a circuit; nothing in it is executed.

    Raises `ModelError`, a ValueError of one line with file, line and key, for whatever is wrong.
    """
    content, text = read_toml(path)
    place = Place(str(path), key_lines(text))
    checked = CIRCUIT.check(content, place)
    circuit = Circuit(checked["name"])
    for name, values in checked["elements"].items():
        here = place.at("elements", name)
        values = dict(values)
        kind = values.pop("type")
        try:
            _add(circuit, kind, name, values, here)
        except ExpressionError as problem:
            raise here.error(str(problem)) from None
        except ValueError as problem:
            raise here.error(str(problem)) from None
    try:
        circuit.network()
    except ValueError as problem:
        raise place.error(str(problem)) from None
    return CircuitModel(circuit, {key: value for key, value in checked["run"].items() if value is not None})


def _add(circuit: Circuit, kind: str, name: str, values: dict[str, Any], place: Place) -> None:
    for key in ("voltage", "current"):
        if isinstance(values.get(key), str):
            values[key] = parse(values[key], {"t": sp.Symbol("t")}).expression
    method = getattr(circuit, kind)
    if kind in ("bridge", "transformer"):
        method(name, **{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
    elif kind == "coupled":
        first, second = values.pop("inductors")
        method(name, first, second, **values)
    else:
        method(name, *values.pop("nodes"), **values)
