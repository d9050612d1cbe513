"""Extension of Griffe, which reads the sources for the documentation: docstrings as stickslip writes them.

numpydoc writes `name : type` and a description below.  stickslip writes `name : description`: types stand in the
signature already.  Here a docstring is cut into its sections, and each name gets its type from the signature.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from docstring_parts import Part, parts_of


def _fields(owner: Any) -> dict[str, tuple[Any, str | None]]:
    """Annotation and default of every keyword of a function, or of every field of a class."""
    found: dict[str, tuple[Any, str | None]] = {}
    function = owner if owner.is_function else owner.members.get("__init__")
    for parameter in getattr(function, "parameters", None) or ():
        unpacked = re.search(r"Unpack\[(?:\w+\.)*(\w+)\]", str(parameter.annotation or ""))
        if unpacked:  # **options: their names and types stand in a TypedDict
            options = owner.modules_collection[owner.resolve(unpacked[1])]
            for name, field_ in options.all_members.items():
                if field_.is_attribute:
                    found[name] = (field_.annotation, "optional")
        default = parameter.default
        found[parameter.name.strip("*")] = (parameter.annotation, None if default is None else str(default))
    if owner.is_class:
        for name, member in owner.members.items():
            if member.is_attribute:
                found.setdefault(name, (member.annotation, None if member.value is None else str(member.value)))
    return found


def _rows(part: Part, owner: Any) -> list[tuple[str, Any, str | None, str]]:
    """Names, type, default and description of each entry; names of other types or defaults have rows of their own."""
    known, rows = _fields(owner), []
    for names, text in part.entries:
        description = "\n".join(text).strip()
        groups: dict[tuple[str, str], list[str]] = {}
        for name in names.split(", "):
            annotation, default = known.get(name.strip("*"), (None, "optional"))
            groups.setdefault((str(annotation), str(default)), []).append(name)
        for group in groups.values():
            annotation, default = known.get(group[0].strip("*"), (None, "optional"))
            rows.append((", ".join(group), annotation, default, description))
    return rows


def _listed(part: Part, owner: Any, title: str | None) -> Any:
    """A list of a docstring as a section of Griffe."""
    entries = [(names, "\n".join(text).strip()) for names, text in part.entries]
    if part.kind == "Parameters":
        return griffe.DocstringSectionParameters(
            [griffe.DocstringParameter(n, annotation=a, value=v, description=d) for n, a, v, d in _rows(part, owner)],
            title=title,
        )
    if part.kind == "Attributes":
        return griffe.DocstringSectionAttributes(
            [griffe.DocstringAttribute(n, annotation=a, description=d) for n, a, _, d in _rows(part, owner)]
        )
    if part.kind == "Raises":
        return griffe.DocstringSectionRaises([griffe.DocstringRaise(annotation=n, description=d) for n, d in entries])
    kind = griffe.DocstringSectionReturns if part.kind == "Returns" else griffe.DocstringSectionYields
    item = griffe.DocstringReturn if part.kind == "Returns" else griffe.DocstringYield
    return kind([item("", annotation=n, description=d) for n, d in entries])


def sections_of(docstring: str, owner: Any) -> list[Any]:
    """Sections of Griffe that hold a docstring of `owner`, a function or a class as Griffe has read it.

    A line that ends in a colon above a list, such as "What is watched:", is the title of that list.
    """
    sections: list[Any] = []
    for part in parts_of(docstring):
        if part.kind == "Examples":
            shown = [(griffe.DocstringSectionKind.examples, "\n".join(part.text).strip())]
            sections.append(griffe.DocstringSectionExamples(shown))
        elif part.entries:
            above = sections[-1].value if sections and isinstance(sections[-1].value, str) else ""
            title = above[:-1] if above.endswith(":") and "\n" not in above else None
            if title:
                sections.pop()
            sections.append(_listed(part, owner, title))
        else:
            sections.append(griffe.DocstringSectionText("\n".join(part.text).strip()))
    return sections


class Docstrings(griffe.Extension):
    """Reads the docstrings of all functions and classes once the package is complete."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Give each function and class of the package its sections."""
        self._read(pkg, set())

    def _read(self, holder: Any, seen: set[str]) -> None:
        for member in list(holder.members.values()):
            if member.is_alias or member.path in seen:
                continue
            seen.add(member.path)
            if member.docstring and (member.is_function or member.is_class):
                member.docstring.parsed = sections_of(member.docstring.value, member)
            self._read(member, seen)
