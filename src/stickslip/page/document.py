"""The page as one HTML file: parts from `assets` put together, with or without a run inside.

The file asks nothing of the network: its policy allows connections to its own server, or to nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from stickslip._version import __version__
from stickslip.io.disk import replacing
from stickslip.page.payload import FRAMES, HISTORY, payload
from stickslip.page.recorded import Recorded
from stickslip.page.simulating import simulating
from stickslip.scenario import as_shown
from stickslip.trajectory import Trajectory

SCRIPTS = (
    "data", "simulate", "scenes", "overlay", "stage", "space", "solids", "projected", "plots", "gauges", "controls",
    "film", "grab", "picker", "main",
)  # fmt: skip
"""Parts of the script, in their order; they share one scope."""
SIGNATURE = f"Drawn by stickslip {__version__}"
"""Mark of our own pages, as in figures: `stickslip run --export` replaces only pages with this mark."""
MOST_BYTES = 1_000_000


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*.*?\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""Comments on lines of their own: a page has no room for them."""


@cache
def _script() -> str:
    parts = "\n".join(_COMMENT.sub("", _asset(f"{part}.js")) for part in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def policy(script: str, *, connects: bool) -> str:
    """Content-Security-Policy: this script, and its own server or the kernels in the file, nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    connect, kernels = ("'self'", "") if connects else ("'none'", " 'wasm-unsafe-eval'")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'{kernels}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def page(data: dict[str, Any] | None = None) -> str:
    """The HTML file; `data` is a payload to show without a server."""
    script = _script()
    # "<" is escaped, so that no text in the data can end the element it stands in
    inside = (
        "null" if data is None else json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    )
    title = "stickslip" if data is None else f"{data['title']} · stickslip"
    parts = {
        "@title@": _escaped(title),
        "@signature@": SIGNATURE,
        "@policy@": policy(script, connects=data is None),
        "/*@style@*/": _asset("style.css"),
        "@data@": inside,
        "/*@script@*/": script,
    }
    html = _asset("page.html")
    for mark, text in parts.items():
        html = html.replace(mark, text, 1)
    return html


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def standalone(trajectory: Trajectory, scenario: Any = None, note: Callable[[str], object] = str) -> bytes:
    """A page with a run inside, below 1 MB: with fewer frames and points where it would be more.

    The page simulates, where `simulating` has kernels for it; else it says why not, and so does `note`.
    """
    own: dict[str, Any] = {}
    try:
        own["kernels"] = simulating(trajectory, as_shown(scenario, trajectory))
    except Recorded as reason:
        own["recorded"] = str(reason)
        note(str(reason))
    for thinner in (1, 2, 4, 8, 16, 32):
        shown = payload(trajectory, scenario, frames=FRAMES // thinner, points=HISTORY // thinner)
        text = page(shown | own).encode()
        if len(text) < MOST_BYTES:
            return text
    raise ValueError(
        f"a page of {trajectory.system_name!r} must stay below 1 MB, got {len(text) / 1e6:.1f} MB for "
        f"{len(trajectory.contact_names)} contacts and {len(trajectory)} records; record fewer steps (every=), take "
        "fewer bodies, or draw a figure instead."
    )


def export(trajectory: Trajectory, path: str | Path, scenario: Any = None, note: Callable[[str], object] = str) -> Path:
    """Write a run as a page that works from disk without a server, one file below 1 MB.

    scenario : the `Scene`, the library entry or the `Scenario` that was run; it adds title, source and the moving
        picture.
    note : is called with the reason where the page only plays the run back.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a page's file must end in .html, got {path.name!r}.")
    text = standalone(trajectory, scenario, note)
    with replacing(path) as draft:
        draft.write_bytes(text)
    return path
