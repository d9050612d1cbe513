#!/usr/bin/env python3
"""Draw the map of the package's rooms from its import graph.

    python tools/house_map.py write     # docs/images/architecture.svg
    python tools/house_map.py check     # exit code 1 where the stored drawing differs from one of the present sources

A room is a folder or a file directly inside the package.  A line from one room to another means that modules of the
upper room import modules of the lower room.  A line is left out where a longer way down joins the two rooms already.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "stickslip"
DRAWING = ROOT / "docs" / "images" / "architecture.svg"
ALIKE = {"ensembles": "analysis", "analysis": "ensembles"}
"""Rooms that may import one another: their lines are drawn from both."""
NOT_SHOWN = ("__init__", "__main__", "_version")
BOX, GAP, ROW, MARGIN = 150, 24, 96, 20
WORDS = {
    "analysis": "cycles, basins, orders",
    "bench": "what `bench` measures",
    "checks": "what users may give",
    "circuits": "networks with diodes",
    "cli": "commands",
    "bars": "progress of a run",
    "codes": "numbers with names",
    "contact": "the contact problem",
    "control": "laws that drive a run",
    "cost": "memory and time asked",
    "debug": "a switch for more checks",
    "drawing": "how things look",
    "engine": "state and block of a run",
    "ensembles": "many members at once",
    "events": "event-driven integration",
    "figures": "pictures and films",
    "fmu": "export to other tools",
    "gym": "environments to learn in",
    "fitting": "parameters from data",
    "impacts": "one instant, dt = 0",
    "interrupts": "signals wait for a piece",
    "io": "files",
    "jit": "compilers, kernel language",
    "laws": "impact and friction laws",
    "lcp": "arrays only",
    "library": "mechanisms and scenes",
    "markup": "tables for notebooks",
    "mechanisms": "systems and steppers",
    "on_request": "the calls that go up",
    "page": "the live page",
    "papers": "what is there to be shown",
    "projections": "onto disks and cones",
    "request": "what a run may be asked",
    "run": "driver, records",
    "scenario": "a system with its start",
    "scenes": "bodies, shapes, islands",
    "sets": "convex sets",
    "solvers": "names of solvers",
    "steppers": "names of steppers",
    "trajectory": "records, certificate",
}


def rooms() -> dict[str, set[str]]:
    """Every room with the rooms that its modules import when they are loaded or run; imports for types do not count."""
    found: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room not in NOT_SHOWN:
            names = {name.split(".")[1] for name in _imported(ast.parse(file.read_text(encoding="utf-8")))}
            found.setdefault(room, set()).update(names - {room, *NOT_SHOWN})
    return {room: {other for other in others if other in found} for room, others in found.items()}


def _imported(tree: ast.AST) -> set[str]:
    """Dotted names inside the package that a module imports."""
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {f"{alias.name}." for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return {name for name in names if name.startswith("stickslip.")}


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """All rooms that a room imports, directly or through others."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += graph[room]
    return seen


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the lines whose ends a longer way joins already."""
    below = {room: reachable(graph, room) for room in graph}
    return {room: {b for b in others if not any(b in below[a] for a in others - {b})} for room, others in graph.items()}


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The number of rooms on the longest way down from each room."""
    found: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in found:
            found[room] = 1 + max((level(other) for other in graph[room]), default=-1)
        return found[room]

    for room in graph:
        level(room)
    return found


def drawing() -> str:
    """The map as SVG."""
    graph = rooms()
    for room, other in ALIKE.items():
        graph[room].discard(other)
    height = levels(graph)
    rows = [sorted(room for room in graph if height[room] == k) for k in range(max(height.values()), -1, -1)]
    width = max(len(row) for row in rows) * (BOX + GAP) + 2 * MARGIN
    place = {}
    for y, row in enumerate(rows):
        left = (width - len(row) * (BOX + GAP) + GAP) / 2
        for x, room in enumerate(row):
            place[room] = (left + x * (BOX + GAP), MARGIN + y * ROW)
    lines = [_line(place[a], place[b]) for a, others in sorted(reduced(graph).items()) for b in sorted(others)]
    boxes = [_box(room, *place[room]) for room in sorted(graph)]
    tall = len(rows) * ROW + MARGIN
    return "\n".join([_HEAD.format(width=width, height=tall), *lines, *boxes, "</svg>", ""])


_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" role="img">
<title>Rooms of the package; lines point from a room to the rooms below that it imports</title>
<rect width="{width}" height="{height}" fill="#ffffff"/>"""


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    x0, y0, x1, y1 = start[0] + BOX / 2, start[1] + 46, end[0] + BOX / 2, end[1]
    bend = 0.45 * (y1 - y0)
    return (
        f'<path d="M{x0:.0f},{y0:.0f} C{x0:.0f},{y0 + bend:.0f} {x1:.0f},{y1 - bend:.0f} {x1:.0f},{y1:.0f}" '
        'fill="none" stroke="#9aa7b1" stroke-width="1.2"/>'
    )


def _box(room: str, x: float, y: float) -> str:
    name = f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"
    middle = f'x="{x + BOX / 2:.0f}"'
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX}" height="46" rx="6" fill="#eef3f6" stroke="#5d7280"/>\n'
        f'<text {middle} y="{y + 19:.0f}" text-anchor="middle" font-size="14" fill="#1d2a33">{name}</text>\n'
        f'<text {middle} y="{y + 36:.0f}" text-anchor="middle" font-size="11" fill="#4b5b66">{WORDS[room]}</text>'
    )


def main() -> int:
    if sys.argv[1:] not in (["write"], ["check"]):
        print(__doc__)
        return 2
    if sys.argv[1] == "write":
        DRAWING.write_text(drawing(), encoding="utf-8")
        return 0
    if DRAWING.read_text(encoding="utf-8") != drawing():
        print("docs/images/architecture.svg is not the map of the present sources: python tools/house_map.py write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
