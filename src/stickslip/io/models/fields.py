"""The vocabulary of the format's description: kinds of values, each of which checks a value and writes its JSON Schema.

The description itself, `layout.py`, is made of these; nothing else knows which keys a model file has.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stickslip.checks import unknown_name
from stickslip.io.models.toml_text import KeyPath, ModelError
from stickslip.io.printable import first_unprintable


@dataclass(frozen=True)
class Place:
    """Where a value stands: for messages that name file, line and key."""

    file: str
    lines: Mapping[KeyPath, int]
    path: KeyPath = ()

    def at(self, *keys: str | int) -> Place:
        return Place(self.file, self.lines, (*self.path, *keys))

    def key(self) -> str:
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text if len(text) <= 200 else f"{text[:197]}..."

    def error(self, message: str) -> ModelError:
        """The complaint about this place, with the line of the nearest key that has one."""
        line = next(
            (self.lines[self.path[:n]] for n in range(len(self.path), 0, -1) if self.path[:n] in self.lines), None
        )
        where = self.file if line is None else f"{self.file}, line {line}"
        key = f", {self.key()}" if self.path else ""
        return ModelError(f"{where}{key}: {message.rstrip('.')}.")


class Kind(ABC):
    """A kind of value: `check` returns it, converted, or raises `ModelError`; `schema` describes it."""

    @abstractmethod
    def check(self, value: Any, place: Place) -> Any: ...

    @abstractmethod
    def schema(self) -> dict[str, Any]: ...


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Number(Kind):
    """A finite number, within bounds; `infinite` allows inf and -inf."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    whole: bool = False
    infinite: bool = False

    def check(self, value: Any, place: Place) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float) or (self.whole and not isinstance(value, int)):
            raise place.error(f"a {'whole ' if self.whole else ''}number is expected, got {_shown(value)}")
        if value != value or (abs(value) > sys.float_info.max and not (self.infinite and isinstance(value, float))):
            raise place.error(f"a finite number is expected, got {_shown(value)}")
        if not (self.least <= value <= self.most and value > self.above):
            raise place.error(f"a number {self._rule()} is expected, got {_shown(value)}")
        return value if self.whole else float(value)

    def _rule(self) -> str:
        if self.above > -math.inf:
            return f"above {self.above:g}"
        return f"of at least {self.least:g}" if self.most == math.inf else f"from {self.least:g} to {self.most:g}"

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "integer" if self.whole else "number"}
        for key, value in (("minimum", self.least), ("maximum", self.most), ("exclusiveMinimum", self.above)):
            if math.isfinite(value):
                found[key] = value
        return found


@dataclass(frozen=True)
class Text(Kind):
    """A text; `expression` says that it is read by the grammar of expressions later."""

    expression: bool = False
    choices: tuple[str, ...] = ()

    def check(self, value: Any, place: Place) -> Any:
        if self.expression and isinstance(value, int | float) and not isinstance(value, bool):
            return repr(Number().check(value, place)) if isinstance(value, float) else str(value)
        if not isinstance(value, str):
            raise place.error(
                f"{'an expression in quotes' if self.expression else 'a text'} is expected, got {_shown(value)}"
            )
        if not value and not self.choices:
            raise place.error("a text that is not empty is expected")
        if (found := first_unprintable(value, "\t\n\r" if self.expression else "")) is not None:
            raise place.error(f"a text of visible characters is expected, got the control character {found}")
        if self.choices and value not in self.choices:
            raise place.error(unknown_name("value", value, self.choices))
        return value

    def schema(self) -> dict[str, Any]:
        if self.expression:
            return {"type": ["string", "number"]}
        return {"enum": list(self.choices)} if self.choices else {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Flag(Kind):
    """true or false."""

    def check(self, value: Any, place: Place) -> Any:
        if not isinstance(value, bool):
            raise place.error(f"true or false is expected, got {_shown(value)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of values of one kind."""

    entry: Kind
    least: int = 0
    most: int | None = None
    hint: str = ""

    def check(self, value: Any, place: Place) -> Any:
        if not isinstance(value, list):
            raise place.error(f"a list in [ ] is expected, got {_shown(value)}")
        if len(value) < self.least or (self.most is not None and len(value) > self.most):
            wanted = str(self.least) if self.most == self.least else f"at least {self.least}"
            if self.most is not None and self.most != self.least:
                wanted = f"{self.least} to {self.most}"
            raise place.error(
                f"a list of {wanted} entries is expected, got {len(value)}{f'; {self.hint}' if self.hint else ''}"
            )
        return [self.entry.check(entry, place.at(index)) for index, entry in enumerate(value)]

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "array", "items": self.entry.schema()}
        if self.least:
            found["minItems"] = self.least
        if self.most is not None:
            found["maxItems"] = self.most
        return found


@dataclass(frozen=True)
class Either(Kind):
    """A value of one of several kinds, which have different TOML types."""

    kinds: tuple[Kind, ...]

    def check(self, value: Any, place: Place) -> Any:
        for kind in self.kinds:
            if _takes(kind, value):
                return kind.check(value, place)
        wanted = " or ".join(sorted({_word(kind) for kind in self.kinds}))
        raise place.error(f"{wanted} is expected, got {_shown(value)}")

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [kind.schema() for kind in self.kinds]}


def _word(kind: Kind) -> str:
    if isinstance(kind, Text):
        return "an expression in quotes" if kind.expression else "a text"
    if isinstance(kind, Flag):
        return "true or false"
    return "a number" if isinstance(kind, Number) else "a list in [ ]" if isinstance(kind, ListOf) else "a table"


def _takes(kind: Kind, value: Any) -> bool:
    """Whether a value has the TOML type of a kind."""
    if isinstance(kind, Number):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, Text):
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        return isinstance(value, str) or (kind.expression and numeric)
    if isinstance(kind, Flag):
        return isinstance(value, bool)
    if isinstance(kind, ListOf):
        return isinstance(value, list) and (not value or _takes(kind.entry, value[0]))
    return isinstance(value, dict)


@dataclass(frozen=True)
class Key:
    """A key of a table: the kind of its value, its meaning, and whether it is required."""

    kind: Kind
    meaning: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class Table(Kind):
    """A table with known keys; absent ones get their default."""

    keys: Mapping[str, Key]
    meaning: str = ""

    def check(self, value: Any, place: Place) -> Any:
        _require_table(value, place)
        for name in value:
            if name not in self.keys:
                raise place.at(name).error(unknown_name("key", name, self.keys))
        found = {}
        for name, key in self.keys.items():
            if name in value:
                found[name] = key.kind.check(value[name], place.at(name))
            elif key.required:
                raise place.error(f"the key {name!r} is missing: {key.meaning}")
            else:
                found[name] = key.default
        return found

    def schema(self) -> dict[str, Any]:
        properties = {}
        for name, key in self.keys.items():
            properties[name] = {**key.kind.schema(), "description": key.meaning}
            if key.default is not None and not (isinstance(key.default, float) and math.isinf(key.default)):
                properties[name]["default"] = key.default
        found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [name for name, key in self.keys.items() if key.required]
        if required:
            found["required"] = required
        if self.meaning:
            found["description"] = self.meaning
        return found


@dataclass(frozen=True)
class Tagged(Kind):
    """One of several tables; the text under the key `tag` says which."""

    tag: str
    tables: Mapping[str, Table]
    default: str | None = None
    meaning: str = ""

    def check(self, value: Any, place: Place) -> Any:
        _require_table(value, place)
        chosen = value.get(self.tag, self.default)
        if chosen is None:
            raise place.error(f"the key {self.tag!r} is missing: one of {', '.join(self.tables)}")
        Text(choices=tuple(self.tables)).check(chosen, place.at(self.tag))
        rest = {key: entry for key, entry in value.items() if key != self.tag}
        return {self.tag: chosen, **self.tables[chosen].check(rest, place)}

    def schema(self) -> dict[str, Any]:
        forms = []
        for name, table in self.tables.items():
            form = table.schema()
            form["properties"] = {self.tag: {"const": name}, **form["properties"]}
            if name != self.default:
                form["required"] = [self.tag, *form.get("required", [])]
            forms.append(form)
        return {"anyOf": forms, **({"description": self.meaning} if self.meaning else {})}


@dataclass(frozen=True)
class MapOf(Kind):
    """A table whose keys are names of the user's choice."""

    entry: Kind
    meaning: str = ""
    least: int = 0
    example: dict[str, Any] = field(default_factory=dict)

    def check(self, value: Any, place: Place) -> Any:
        _require_table(value, place)
        if len(value) < self.least:
            raise place.error(f"at least {self.least} entry is expected")
        return {name: self.entry.check(entry, place.at(name)) for name, entry in value.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.entry.schema(), "minProperties": self.least}


def _require_table(value: Any, place: Place) -> None:
    if not isinstance(value, dict):
        raise place.error(f"a table is expected, got {_shown(value)}")
