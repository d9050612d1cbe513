"""`stickslip list`: the library of systems.  (A module called `list` would hide Python's own in this package.)"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from stickslip.cli.options import AsJson
from stickslip.cli.output import print_json
from stickslip.debug import on_terminal

PACKAGE = Path(__file__).parent.parent


def list_systems(
    as_json: AsJson = False,
) -> None:
    """List the library: name, degrees of freedom, contacts (of circuits: what switches), paper.

    `stickslip run NAME` runs an entry, `stickslip show NAME` shows its equations.
    """
    rows = facts()
    if as_json:
        print_json({"systems": rows}, indent=2)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("dof", justify="right")
    table.add_column("contacts", justify="right")
    table.add_column("paper")
    table.add_column("title")
    for row in rows:
        contacts = len(row["contacts"])
        table.add_row(row["name"], str(row["degrees_of_freedom"]), str(contacts), row["source"], row["title"])
    Console(width=None if on_terminal(sys.stdout) else 160).print(table)  # a pipe has no width of its own


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
        "title": scenario.title,
        "degrees_of_freedom": scenario.degrees_of_freedom,
        "contacts": list(scenario.contact_names),
        "source": scenario.source,
        "dt": scenario.dt,
        "t_end": scenario.t_end,
        "settings": library.keywords(name),
    }


def _names() -> tuple[str, ...]:
    from stickslip import library

    return library.names() + library.scene_names() + library.circuit_names()
