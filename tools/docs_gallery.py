"""Hook of MkDocs: a gallery of the library, made from the library, and its live pages within other pages.

Every entry is simulated, drawn and exported as a page that opens in any browser.  Pictures and pages are kept in
build/gallery until a source of the package changes; to make all of them takes some minutes.

A line `<!-- live: NAME -->` of a page becomes a frame with the live page of a mechanism.  It replaces a picture just
above it, which those see who read the text elsewhere.
"""

import ast
import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from stickslip import library
from stickslip.figures import mechanism, style
from stickslip.io.models.circuit import is_circuit_file
from stickslip.io.models.file import read_model
from stickslip.page.document import standalone

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "gallery"
ASPECT = 1.3  # width of a picture over its height
WIDTH = 3.0  # of a picture [inches]
SHORTER = {"poured_spheres": 0.6, "granular_column": 0.8}  # [s]: ends of runs that take long
KINDS = {
    "Mechanisms": library.names,
    "Scenes": library.scene_names,
    "Circuits": library.circuit_names,
}


FILES = "Model files of the examples"
LIVE = re.compile(r"(?:^!\[[^\n]*\)\n\n)?^<!-- live: (\w+) -->$", re.MULTILINE)


def framed(name: str) -> str:
    """The live page of a mechanism in a frame, and a line that says what it is."""
    if name not in library.names():
        raise ValueError(f"a live page is that of a mechanism of the library, got {name!r}.")
    title = html.escape(library.get(name).title)
    return (
        f'<figure class="live"><iframe src="gallery/{name}.html" title="{title}" loading="lazy"></iframe><figcaption>'
        f'{title}. A live page: move a slider, and your browser simulates. <a href="gallery/{name}.html">Alone</a>'
        "</figcaption></figure>"
    )


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Live pages within a page."""
    return LIVE.sub(lambda found: framed(found[1]), markdown)


def digest() -> str:
    """A name for the present sources of the package."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.*")):
        if path.suffix in (".py", ".js", ".css", ".html"):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def picture(scenario: Any, run: Any, path: Path) -> None:
    """Draw the last state of a run; of a circuit, which has no picture, its curves."""
    drawing = getattr(scenario, "drawing", None)
    if drawing is None:
        style.save(run.plot(), path)
        return
    with style.look():
        figure = style.new_figure(WIDTH, WIDTH / ASPECT)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        (box,) = mechanism.windows(drawing, run.q[-1:], run.t[-1:], run.parameters)
        if drawing.follow is not None:  # the view of what falls is given beside it
            down = float(run[drawing.follow][-1])
            box = (box[0], box[1], box[2] + down, box[3] + down)
        mechanism.prepare(ax, mechanism.filled(box, ASPECT))
        mechanism.draw(ax, drawing(run.q[-1], run.t[-1], run.parameters))
        figure.savefig(path, dpi=140)


def made(name: str, folder: Path, scenario: Any) -> tuple[Path, Path | None]:
    """Picture and page of a scenario; a circuit has no page."""
    shown, page = folder / f"{name}.png", folder / f"{name}.html"
    circuit = name in library.circuit_names()
    if not shown.exists():
        print(f"gallery: {name}", flush=True)
        run = scenario.simulate(t_end=min(scenario.t_end, SHORTER.get(name, 1e9)))
        if not circuit:
            page.write_bytes(standalone(run, scenario))
        picture(scenario, run, shown)
    return shown, None if circuit else page


def cards(folder: Path) -> Iterator[tuple[str, str, Path, Path | None]]:
    """Kind, HTML, picture and page of every entry of the library and of every model file among the examples."""
    for kind, names in KINDS.items():
        for name in names():
            scenario = library.get(name)
            yield kind, *card(name, folder, scenario, scenario.source, name)
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if not is_circuit_file(str(path)):
            scenario = read_model(path).scenario
            yield FILES, *card(path.stem, folder, scenario, "a model file", f"examples/{path.name}")


def card(name: str, folder: Path, scenario: Any, source: str, argument: str) -> tuple[str, Path, Path | None]:
    """HTML of a scenario, which `stickslip run` calls by `argument`; its picture and its page."""
    shown, page = made(name, folder, scenario)
    title = html.escape(scenario.title)
    image = f'<img src="gallery/{name}.png" alt="{title}">'
    linked = image if page is None else f'<a href="gallery/{name}.html" title="open the live page">{image}</a>'
    words = f"<b>{title}</b><span>{html.escape(source)}</span><code>stickslip run {argument}</code>"
    return f'<div class="gallery-card">{linked}{words}</div>', shown, page


def scripts() -> str:
    """A table of the examples in Python: what they do, in their own first sentence."""
    rows = ["| example | |", "|---|---|"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first = " ".join(told.split("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| `python examples/{path.name}` | {first} |")
    return "\n".join(rows)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the gallery, its pictures and its live pages."""
    folder = KEPT / digest()
    folder.mkdir(parents=True, exist_ok=True)
    text = [
        "# Gallery",
        "Every entry of the library and every model file of the examples, drawn at the end of its run. A picture opens "
        "the live page, which works without Python and without a server: its sliders simulate in the browser. Pages of "
        "scenes with many bodies show the recorded run ([exports](page.md#exports)).",
    ]
    shelves: dict[str, list[str]] = {}
    for kind, card, shown, page in cards(folder):
        shelves.setdefault(kind, []).append(card)
        for path in (shown, page):
            if path is not None:
                files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    for kind, entries in shelves.items():
        text += [f"## {kind}", f'<div class="gallery">{"".join(entries)}</div>']
    text += ["## Examples in Python", scripts()]
    files.append(File.generated(config, "gallery.md", content="\n\n".join(text) + "\n"))
    return files
