"""The index of reproduced figures: one HTML page with picture, paper, command, parameters and certificate of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from stickslip._version import __version__
from stickslip.figures.style import number
from stickslip.io.disk import replacing

PAPERS = {
    "gs05": "Ch. Glocker, C. Studer: Formulation and Preparation for Numerical Evaluation of Linear Complementarity "
    "Systems in Dynamics. Multibody System Dynamics 13 (2005)",
    "flg10": "P. Flores, R. Leine, Ch. Glocker: Modeling and analysis of planar rigid multibody systems with "
    "translational clearance joints based on the non-smooth dynamics approach. Multibody System Dynamics 23 (2010)",
    "pg05": "M. Payr, Ch. Glocker: Oblique Frictional Impact of a Bar: Analysis and Comparison of Different Impact "
    "Laws. Nonlinear Dynamics 41 (2005)",
    "s00": "D. E. Stewart: Rigid-Body Dynamics with Friction and Impact. SIAM Review 42 (2000)",
}
"""First part of a figure's key -> citation."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="Drawn by stickslip {version}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Figures of the papers, reproduced by stickslip</title>
<style>
:root {{ --paper: #f6f5f2; --card: #fff; --ink: #1d2530; --soft: #5a6472; --line: #dcdfe4; }}
:root {{ --good: #0b6b4b; --bad: #a3330a; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: #11151b; --card: #191f27; --ink: #e8ecf1; --soft: #a3adba; --line: #303945; }}
  :root {{ --good: #5fd3a6; --bad: #ff9d73; }}
}}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }}
main {{ max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }}
h1 {{ font-size: 1.5rem; margin: 0 0 4px; }} h2 {{ font-size: 1.05rem; margin: 36px 0 2px; }}
p {{ margin: 4px 0; }} .soft {{ color: var(--soft); }}
article {{ background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px; margin: 14px 0;
  display: grid; grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); gap: 20px; }}
article img {{ width: 100%; height: auto; background: #fff; border-radius: 6px; }}
h3 {{ margin: 0 0 2px; font-size: 1rem; }}
dl {{ display: grid; grid-template-columns: auto 1fr; gap: 4px 14px; margin: 12px 0 0; font-size: .88rem; }}
dt {{ color: var(--soft); }} dd {{ margin: 0; overflow-wrap: anywhere; }}
code {{ font: .85rem ui-monospace, "DejaVu Sans Mono", monospace; user-select: all; }}
.good {{ color: var(--good); }} .bad {{ color: var(--bad); font-weight: 600; }}
nav a {{ margin-right: 14px; }} a {{ color: inherit; }}
@media (max-width: 760px) {{ article {{ grid-template-columns: minmax(0, 1fr); }} }}
</style>
</head>
<body>
<main>
<h1>Figures of the papers, computed anew</h1>
<p class="soft">{count} figures by stickslip {version}, each drawn by the command beside it.</p>
<nav aria-label="Papers">{links}</nav>
{sections}
</main>
</body>
</html>
"""


def write_index(path: Path, drawn: Sequence[Mapping[str, Any]]) -> Path:
    """Write the index of the figures that `stickslip reproduce` drew into the folder of `path`; return `path`.

    drawn : one row per figure, with key, source, title, command, dt [s], parameters, files, certificate (None for a
        drawing), `proof` (the certificate or what was checked, in words) and `clean` (whether nothing failed).  A
        figure that could not be drawn has key and `error` only.
    """
    papers: dict[str, list[Mapping[str, Any]]] = {}
    for row in drawn:
        papers.setdefault(row["key"].split("-")[0], []).append(row)
    links = "".join(f'<a href="#{escape(paper)}">{escape(paper.upper())}</a>' for paper in papers)
    sections = "\n".join(_section(paper, rows, path.parent) for paper, rows in papers.items())
    text = _PAGE.format(version=escape(__version__), count=len(drawn), links=links, sections=sections)
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path


def _section(paper: str, rows: Sequence[Mapping[str, Any]], folder: Path) -> str:
    citation = PAPERS.get(paper, "")
    articles = "\n".join(_article(row, folder) for row in rows)
    return (
        f'<section id="{escape(paper)}">\n<h2>[{escape(paper.upper())}]</h2>\n'
        f'<p class="soft">{escape(citation)}</p>\n{articles}\n</section>'
    )


def _judged(row: Mapping[str, Any]) -> str:
    """CSS class of a certificate: "good", "bad", or "" where energy was gained and the figure gives the reason."""
    if not row["clean"]:
        return "bad"
    if row["certificate"] is None:
        return "good"
    return "good" if row["certificate"]["max_energy_gain"] <= 1e-4 else ""


def _article(row: Mapping[str, Any], folder: Path) -> str:
    if "error" in row:
        return f'<article><div><h3>{escape(row["key"])}</h3><p class="bad">{escape(row["error"])}</p></div></article>'
    files = [os.path.relpath(file, folder) for file in row["files"]]
    picture = next((file for kind in (".svg", ".png") for file in files if file.endswith(kind)), None)
    image = "" if picture is None else f'<img src="{escape(picture)}" alt="{escape(row["title"])}" loading="lazy">'
    links = ", ".join(f'<a href="{escape(file)}">{escape(Path(file).suffix[1:].upper())}</a>' for file in files)
    values = [f"{escape(name)}&nbsp;=&nbsp;{number(value)}" for name, value in row["parameters"].items()]
    still = "a drawing, no run" if row["certificate"] is None else "impacts only, no time"
    step = f"{number(row['dt'])} s" if row["dt"] > 0.0 else still
    facts = [
        ("command", f"<code>{escape(row['command'])}</code>"),
        ("step size", step),
        ("parameters", ", ".join(values) or "none"),
        ("certificate", f'<span class="{_judged(row)}">{escape(row["proof"])}</span>'),
        ("files", links),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return (
        f'<article id="{escape(row["key"])}"><div>{image}</div><div><h3>{escape(row["title"])}</h3>'
        f'<p class="soft">{escape(row["source"])}</p><dl>{listed}</dl></div></article>'
    )
