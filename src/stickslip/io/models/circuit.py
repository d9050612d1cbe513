"""Circuits as model files: `kind = "circuit"`, a table for each element, and how to run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp

from stickslip.circuits.circuit import Circuit
from stickslip.circuits.signals import PWM
from stickslip.io.models.expressions import parse
from stickslip.io.models.fields import Place
from stickslip.io.models.layout import checked_content
from stickslip.io.models.toml_text import ModelError, key_lines, parse_toml, read_text, read_toml

KIND = "circuit"
MOST_ELEMENTS, MOST_FORMULAS, MOST_CHARACTERS = 300, 40, 1500
"""Elements of a file, formulas in it, and characters of these together: what is read within a second.

`ss.Circuit` has no such limit.
"""
_FORMULAS = ("voltage", "current", "closed", "fired")


@dataclass(frozen=True)
class CircuitModel:
    """Contents of a circuit's model file: the circuit, and the options of its `[run]`."""

    circuit: Circuit
    options: dict[str, Any]


def is_circuit_file(name: str) -> bool:
    """Whether a name is that of a TOML file whose kind is circuit; False where it cannot be read."""
    if not (name.endswith(".toml") or Path(name).is_file()):
        return False
    try:
        text = read_text(name)
        if KIND not in text and "\\" not in text:  # as no circuit's: a large file is parsed once
            return False
        return parse_toml(text, name).get("kind") == KIND
    except ValueError:
        return False


def read_circuit(path: str | Path) -> CircuitModel:
    """Read the model file of a circuit; nothing in it is executed.

    Raises `ModelError`, a ValueError of one line with file, line and key, for whatever is wrong.
    """
    content, text = read_toml(path)
    place = Place(str(path), key_lines(text))
    _require_size(content, place)
    checked = checked_content(content, place)
    circuit = Circuit(checked["name"])
    for name, values in checked["elements"].items():
        here = place.at("elements", name)
        values = dict(values)
        kind = values.pop("type")
        try:
            _add(circuit, kind, name, values, here)
        except ModelError:
            raise
        except ValueError as problem:
            raise here.error(str(problem)) from None
    try:
        circuit.network()
    except ValueError as problem:
        raise place.error(str(problem)) from None
    return CircuitModel(circuit, {key: value for key, value in checked["run"].items() if value is not None})


def _require_size(content: dict[str, Any], place: Place) -> None:
    """Refuse a file of which the network, or the formulas, would take long."""
    elements = content.get("elements")
    tables = list(elements.values()) if isinstance(elements, dict) else []
    values = [table.get(key) for table in tables if isinstance(table, dict) for key in _FORMULAS]
    formulas = [value for value in values if isinstance(value, str)]
    for count, most, what in (
        (len(tables), MOST_ELEMENTS, "elements"),
        (len(formulas), MOST_FORMULAS, "formulas"),
        (sum(map(len, formulas)), MOST_CHARACTERS, "characters of formulas"),
    ):
        if count > most:
            raise place.at("elements").error(f"a file may have {most} {what}, got {count}; ss.Circuit takes more")


def _add(circuit: Circuit, kind: str, name: str, values: dict[str, Any], place: Place) -> None:
    for key in _FORMULAS:
        try:
            if isinstance(values.get(key), str):
                values[key] = parse(values[key], {"t": sp.Symbol("t")}).expression
            elif isinstance(values.get(key), dict):
                values[key] = PWM(**values[key])
        except ValueError as problem:
            raise place.at(key).error(str(problem)) from None
    method = getattr(circuit, kind)
    if kind in ("bridge", "transformer"):
        method(name, **{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
    elif kind == "coupled":
        first, second = values.pop("inductors")
        method(name, first, second, **values)
    else:
        method(name, *values.pop("nodes"), **values)
