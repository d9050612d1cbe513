"""XML of robot descriptions as a tree with line numbers; no DTD, no entities of its own, nothing fetched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from stickslip.io.disk import NotRegular, read_regular
from stickslip.io.models.toml_text import LARGEST_FILE, ModelError
from stickslip.io.printable import first_unprintable, printable

_DEEPEST = 200


@dataclass
class Element:
    """A tag with its attributes, children, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children of this tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        return next(iter(self.all(tag)), None)

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.file}, line {self.line}, <{self.tag}>: {message.rstrip('.')}.")

    def text(self, name: str, default: str | None = None) -> str:
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"the attribute {name!r} is missing")
        return value

    def numbers(self, name: str, count: int | None = None, default: list[float] | None = None) -> list[float]:
        """The numbers of an attribute."""
        if name not in self.attributes and default is not None:
            return list(default)
        words = self.text(name).split()
        try:
            values = [float(word) for word in words]
        except ValueError:
            raise self.error(f"{name} must be numbers, got {self.text(name)[:60]!r}") from None
        if not all(math.isfinite(value) for value in values):
            raise self.error(f"{name} must be finite, got {self.text(name)[:60]!r}")
        if count is not None and len(values) != count:
            raise self.error(f"{name} must be {count} numbers, got {len(values)}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        return self.numbers(name, 1, None if default is None else [default])[0]


def read_xml(path: str | Path) -> Element:
    """The root of an XML file, or `ModelError` with the line."""
    path = Path(path)
    try:
        content = read_regular(path, LARGEST_FILE)
        if len(content) > LARGEST_FILE:
            raise ModelError(f"{path} has {path.stat().st_size} bytes, at most {LARGEST_FILE} are read.")
    except (FileNotFoundError, NotRegular):
        raise ModelError(f"{path} is no file; give the name of a MuJoCo (MJCF) or URDF file.") from None
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    return parse_xml(content, str(path))


def parse_xml(content: bytes, name: str) -> Element:
    """The root of XML, or `ModelError` with the line; `name` is what messages call it."""
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, name)
        for key, value in (*attributes.items(), ("", tag)):
            if (found := first_unprintable(key + value)) is not None:
                raise element.error(f"{printable(key) or 'its name'} has the control character {found}")
        if len(stack) >= _DEEPEST:
            raise element.error(f"tags may be {_DEEPEST} deep")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def refuse(*_: object) -> int:
        raise ModelError(
            f"{name}, line {parser.CurrentLineNumber}: a document type or entity is declared, which is never read."
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages.get(problem.code, "not well-formed")
        raise ModelError(f"{name}, line {problem.lineno}: no XML: {reason}.") from None
    except (ValueError, LookupError) as problem:
        if isinstance(problem, ModelError):
            raise
        raise ModelError(f"{name}: no XML: {problem}.") from None
    return roots[0]
