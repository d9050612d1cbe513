"""XML of robot descriptions as a tree with line numbers; no DTD, no entities of its own, nothing fetched."""

from __future__ import annotations

import collections
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from stickslip.io.disk import NotRegular, read_regular
from stickslip.io.models.toml_text import LARGEST_FILE, ModelError
from stickslip.io.printable import first_unprintable, printable

_DEEPEST = 200
MOST_TAGS, MOST_PARTS = 12_000, 2_000  # with these a file is read within a second
MOST_ATTRIBUTES, MOST_IN_ALL = 100, 60_000  # of a tag, its classes included, and of all tags of a file
_ALL = "attributes of all tags"  # no tag has blanks in its name
_PARTS = ("geom", "collision", "joint", "connect", "weld", "exclude", "pair")
_ELEMENT, _COMMENT = re.compile(rb"<[A-Za-z!]"), re.compile(rb"<!--.*?-->", re.DOTALL)
_SPACES = str.maketrans("\n\r\t", "   ")


@dataclass
class Element:
    """A tag with its attributes, children, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)
    words: str = ""  # text between its tags, as SDF has it
    used: set[str] = field(default_factory=set)  # attributes that a reader has asked for
    read: bool = False  # whether a reader has looked at it

    def all(self, tag: str) -> list[Element]:
        """The children of this tag; they count as read."""
        found = [child for child in self.children if child.tag == tag]
        for child in found:
            child.read = True
        return found

    def attribute(self, name: str, default: str = "") -> str:
        """The text of an attribute, `default` where there is none; it counts as read."""
        self.used.add(name)
        return self.attributes.get(name, default)

    def has(self, name: str) -> bool:
        """Whether the attribute is given; it counts as read."""
        self.used.add(name)
        return name in self.attributes

    def content(self, tag: str, default: str | None = None) -> str:
        """The text of the first child of this tag."""
        child = self.first(tag)
        if child is None:
            if default is None:
                raise self.error(f"<{tag}> is missing")
            return default
        return child.words.strip()

    def values(self, tag: str, count: int, default: list[float] | None = None) -> list[float]:
        """The numbers that the first child of this tag encloses."""
        child = self.first(tag)
        if child is None and default is not None:
            return list(default)
        return (child or self).read_numbers(self.content(tag), "its content", count)

    def first(self, tag: str) -> Element | None:
        return next(iter(self.all(tag)), None)

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.file}, line {self.line}, <{self.tag}>: {message.rstrip('.')}.")

    def text(self, name: str, default: str | None = None) -> str:
        self.used.add(name)
        self.used.add(name)
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"the attribute {name!r} is missing")
        return value

    def numbers(self, name: str, count: int | None = None, default: list[float] | None = None) -> list[float]:
        """The numbers of an attribute."""
        if name not in self.attributes and default is not None:
            return list(default)
        return self.read_numbers(self.text(name), name, count)

    def read_numbers(self, text: str, name: str, count: int | None) -> list[float]:
        """Numbers with spaces or commas between them; messages call them `name`."""
        try:
            values = [float(word) for word in text.replace(",", " ").split()]
        except ValueError:
            raise self.error(f"{name} must be numbers, got {text[:60]!r}") from None
        if not all(math.isfinite(value) for value in values):
            raise self.error(f"{name} must be finite, got {text[:60]!r}")
        if count is not None and len(values) != count:
            raise self.error(f"{name} must be {count} numbers, got {len(values)}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        return self.numbers(name, 1, None if default is None else [default])[0]


def unread(root: Element, decoration: frozenset[str]) -> list[str]:
    """One note for each kind of attribute or element that no reader has asked for, with the lines where it stands.

    decoration : names of attributes and tags that change no motion.
    """
    lines: dict[str, list[int]] = {}
    shown: dict[str, None] = {}

    def visit(element: Element) -> None:
        for name in element.attributes:
            if name not in element.used and name not in decoration:
                lines.setdefault(f"{name} of <{element.tag}>", []).append(element.line)
        for child in element.children:
            if child.read:
                visit(child)
            elif child.tag in decoration:
                shown[f"<{child.tag}>"] = None
            else:
                lines.setdefault(f"<{child.tag}> of <{element.tag}>", []).append(child.line)

    visit(root)
    notes = [f"{what}: not read, {_places(numbers)}" for what, numbers in lines.items()]
    return notes + ([f"not read, for looks and measurements: {', '.join(sorted(shown))}"] if shown else [])


def _places(lines: list[int]) -> str:
    shown = ", ".join(str(line) for line in sorted(set(lines))[:5])
    count = len(lines)
    return f"line {shown}" if count == 1 else f"{count} times, lines {shown}{', ...' if len(set(lines)) > 5 else ''}"


def gathered(notes: list[str]) -> list[str]:
    """Notes that differ in their lines alone, as one."""
    found: dict[str, list[str]] = {}
    for note in notes:
        if note.startswith("line ") and ": " in note:
            line, what = note.removeprefix("line ").split(": ", 1)
            found.setdefault(what, []).append(line)
        elif ": not read, line " in note:
            what, line = note.split(": not read, line ")
            found.setdefault(f"{what}: not read", []).append(line)
        else:
            found.setdefault(note, [])
    return [
        what if not lines else f"line {', '.join(lines[:6])}{', ...' if len(lines) > 6 else ''}: {what}"
        for what, lines in found.items()
    ]


def read_xml(path: str | Path) -> Element:
    """The root of an XML file, or `ModelError` with the line."""
    path = Path(path)
    try:
        content = read_regular(path, LARGEST_FILE)
        if len(content) > LARGEST_FILE:
            raise ModelError(f"{path} has {path.stat().st_size} bytes, at most {LARGEST_FILE} are read.")
    except (FileNotFoundError, NotRegular):
        raise ModelError(f"{path} is no file; give the name of a MuJoCo (MJCF), URDF or SDF file.") from None
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    return parse_xml(content, str(path))


def parse_xml(content: bytes, name: str) -> Element:
    """The root of XML, or `ModelError` with the line; `name` is what messages call it."""
    declared, above = content.find(b"<?xml"), 0
    if declared > 0 and not _ELEMENT.search(_COMMENT.sub(b"", content[:declared])):
        above = content[:declared].count(b"\n")  # empty lines or a comment stand first in some files
        content = content[declared:]
    content = content.rstrip(b" \t\r\n\0\x1a")  # and ends of other editors stand last
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []
    counts = collections.Counter[str]()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber + above, name)
        for key, value in (*attributes.items(), ("", tag)):
            if (found := first_unprintable(key + value)) is not None:
                raise element.error(f"{printable(key) or 'its name'} has the control character {found}")
        if len(stack) >= _DEEPEST:
            raise element.error(f"tags may be {_DEEPEST} deep")
        counts[tag if tag in _PARTS else ""] += 1
        if counts[tag] > MOST_PARTS or counts.total() - counts[_ALL] > MOST_TAGS:
            raise element.error(f"a file may have {MOST_TAGS} tags, and {MOST_PARTS} of a kind of shapes and joints")
        if len(attributes) > MOST_ATTRIBUTES:
            raise element.error(f"a tag may have {MOST_ATTRIBUTES} attributes, got {len(attributes)}")
        counts[_ALL] += len(attributes)
        if counts[_ALL] > MOST_IN_ALL:
            raise element.error(f"a file may have {MOST_IN_ALL} attributes")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def refuse(*_: object) -> int:
        raise ModelError(
            f"{name}, line {parser.CurrentLineNumber + above}: a document type or entity is declared, "
            "which is never read."
        )

    def inside(text: str) -> None:
        if (found := first_unprintable(text.translate(_SPACES))) is not None:
            raise stack[-1].error(f"its content has the control character {found}")
        stack[-1].words += text

    parser.StartElementHandler = begin
    parser.CharacterDataHandler = inside
    parser.buffer_text = True
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages.get(problem.code, "not well-formed")
        raise ModelError(f"{name}, line {problem.lineno + above}: no XML: {reason}.") from None
    except (ValueError, LookupError) as problem:
        if isinstance(problem, ModelError):
            raise
        raise ModelError(f"{name}: no XML: {problem}.") from None
    return roots[0]
