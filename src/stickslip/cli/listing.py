"""`stickslip list`: the library of systems.  (A module called `list` would hide Python's own in this package.)"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from stickslip.cli.options import AsJson
from stickslip.cli.output import print_json
from stickslip.debug import on_terminal

PACKAGE = Path(__file__).parent.parent
_WIDTH = 100  # columns
_KINDS = {
    "mechanism": ("Mechanisms in generalised coordinates", "contacts"),
    "scene": ("Scenes: bodies with shapes", "bodies"),
    "circuit": ("Circuits", "switches"),
}
"""Title and last number of each table."""


def list_systems(
    as_json: AsJson = False,
) -> None:
    """List the library: name, degrees of freedom, contacts (of circuits: what switches), paper.

    `stickslip run NAME` runs an entry, `stickslip show NAME` shows its equations.  `--json` has the whole source, the
    names of the contacts and the settings of each entry.
    """
    rows = facts()
    if as_json:
        print_json({"systems": rows}, indent=2)
        return
    print_table(rows)


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print facts about entries, a table for each kind of system."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if on_terminal(sys.stdout) else _WIDTH)  # a pipe has no width of its own
    width = max(len(row["name"]) for row in rows)
    for kind, (title, column) in _KINDS.items():
        table = Table(
            box=None, pad_edge=False, header_style="bold", title=title, title_justify="left", title_style="bold"
        )
        table.add_column("name", style="cyan", no_wrap=True, min_width=width)
        table.add_column("dof", justify="right", min_width=4)
        table.add_column(column, justify="right", min_width=8)
        table.add_column("paper", min_width=16)
        table.add_column("title")
        for row in rows:
            if row["kind"] == kind:
                count = str(len(row["contacts"]))
                texts = (row["name"], str(row["degrees_of_freedom"]), count, _paper(row["source"]), row["title"])
                table.add_row(*map(Text, texts))  # no markup: papers stand in square brackets
        console.print(table)
        console.print()
    console.print("`stickslip run NAME` runs an entry, `stickslip show NAME` shows its equations.", highlight=False)


def _paper(source: str) -> str:
    """Where a system comes from, in few words: a key with a section, or authors with a year."""
    found = re.search(r"\[[A-Z]+\d+\](?: section)?(?: [\d.]*\d)?", source) or re.search(r"[A-Z][\w', ]* \d{4}", source)
    return found[0].replace(" section", "") if found else ""


def facts() -> list[dict[str, Any]]:
    """Facts about every entry.

    They need the equations of all systems, two seconds of derivations: the cache keeps them until a source changes.
    """
    from stickslip.jit import objects

    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        found = path.stat()
        digest.update(f"{path} {found.st_mtime_ns} {found.st_size}\n".encode())
    kept = objects.kept(
        f"{digest.hexdigest()[:32]}.o", lambda: json.dumps([describe(name) for name in _names()]).encode()
    )
    rows: list[dict[str, Any]] = json.loads(kept)
    return rows


def describe(name: str) -> dict[str, Any]:
    """Facts about a library entry; plain values only, ready for JSON."""
    from stickslip import library

    scenario = library.get(name)
    return {
        "name": name,
        "kind": _kind(name),
        "title": scenario.title,
        "degrees_of_freedom": scenario.degrees_of_freedom,
        "contacts": list(scenario.contact_names),
        "source": scenario.source,
        "dt": scenario.dt,
        "t_end": scenario.t_end,
        "settings": library.keywords(name),
    }


def _kind(name: str) -> str:
    from stickslip import library

    return "circuit" if name in library.circuit_names() else "scene" if name in library.scene_names() else "mechanism"


def _names() -> tuple[str, ...]:
    from stickslip import library

    return library.names() + library.scene_names() + library.circuit_names()
