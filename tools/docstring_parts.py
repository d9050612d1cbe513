"""Docstrings as stickslip writes them, cut into paragraphs, lists and examples."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"^(Parameters|Attributes|Returns|Raises|Yields|Examples|Notes|See Also)$")
_ENTRY = re.compile(r"^(\*{0,2}\w[\w.]*(?:, \*{0,2}\w[\w.]*)*) : (.*)$")
_LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Yields")


@dataclass
class Part:
    """Part of a docstring: a paragraph, or entries of one list.

    kind : "text", "Examples", or a word of `_LISTS`
    entries : (names, description) of a list
    """

    kind: str
    text: list[str] = field(default_factory=list)
    entries: list[tuple[str, list[str]]] = field(default_factory=list)


def parts_of(docstring: str) -> list[Part]:
    """Cut a docstring into paragraphs, lists and examples.

    An entry without a heading above it is one of Parameters.  A line that is not indented ends an entry.
    """
    heading, parts = "Parameters", [Part("text")]
    lines = docstring.splitlines()
    position = 0
    while position < len(lines):
        line = lines[position]
        below = lines[position + 1] if position + 1 < len(lines) else ""
        if _HEADING.match(line) and re.fullmatch(r"-{3,}", below):
            heading = line
            parts.append(Part("Examples" if line == "Examples" else "text"))
            position += 2
            continue
        position += 1
        entry = _ENTRY.match(line) if heading in _LISTS else None
        last = parts[-1]
        if entry:
            if last.kind != heading or last.text:
                last = Part(heading)
                parts.append(last)
            is_type = below.startswith("    ") and below.strip()[:1].isupper() and len(entry[2]) < 30
            last.entries.append((entry[1], [] if is_type else [entry[2]]))  # numpydoc's way: the type alone, then words
        elif last.entries and (line.startswith(" ") or not line.strip()):
            last.entries[-1][1].append(line.strip())
        elif last.entries:
            parts.append(Part("text", [line]))
        else:
            last.text.append(line)
    return [part for part in parts if part.entries or "".join(part.text).strip()]
