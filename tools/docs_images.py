"""Draw pictures of the documentation: figures of each paper, laws of the elements, tutorial, README's film and page.

    python tools/docs_images.py            all of them, into docs/images
    python tools/docs_images.py gs05 elements

A sheet takes as long as `stickslip reproduce` of its figures.
"""

import io
import re
import shutil
import sys
import threading
from pathlib import Path

from PIL import Image, PngImagePlugin

from stickslip import library, papers
from stickslip.figures import elements, style

FOLDER = Path(__file__).parent.parent / "docs" / "images"
COLUMNS, WIDTH, GAP = 3, 560, 14  # pictures in a row, their width and the distance between them [pixels]


def sheet(paper: str) -> Image.Image:
    """The figures of a paper in rows, each as wide as the others."""
    pictures = []
    for key in (key for key in papers.keys() if key.startswith(f"{paper}-")):  # noqa: SIM118
        room = io.BytesIO()
        with style.look():
            papers.reproduce(key).figure.savefig(room, format="png", dpi=160)
        picture = Image.open(room).convert("RGB")
        pictures.append(
            picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
        )
        print(key, flush=True)
    columns: list[list[Image.Image]] = [[] for _ in range(COLUMNS)]
    for picture in pictures:  # the next picture goes where there is most room
        min(columns, key=lambda column: sum(each.height + GAP for each in column)).append(picture)
    height = max(sum(each.height + GAP for each in column) for column in columns) - GAP
    page = Image.new("RGB", (COLUMNS * (WIDTH + GAP) - GAP, height), "white")
    for k, column in enumerate(columns):
        y = 0
        for picture in column:
            page.paste(picture, (k * (WIDTH + GAP), y))
            y += picture.height + GAP
    return page


def film() -> None:
    """One period of the woodpecker's limit cycle, twenty times slower: the film of README and of the first page."""
    run = library.woodpecker().simulate(dt=1e-4, t_end=1.0)
    run.animate(FOLDER / "woodpecker.gif", start=0.7, span=0.14598, slower=20, fps=15)


def tutorial() -> None:
    """The figure of the run in section 3 of the tutorial, from the words of the tutorial."""
    text = (FOLDER.parent / "tutorial.md").read_text(encoding="utf-8").split("## 4.")[0]
    names: dict[str, object] = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)), names)
    style.save(names["figure"], FOLDER / "tutorial.png", dpi=110)  # type: ignore[arg-type]


def live_page() -> None:
    """The live page at an instant at which beak and upper sleeve strike, as Chromium shows it."""
    from playwright.sync_api import sync_playwright

    from stickslip.page.server import Server
    from stickslip.page.service import Service

    server = Server(Service("woodpecker", ()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 860}, color_scheme="light")
        page.goto(f"{server.url}#system=woodpecker&t=0.8121")
        page.wait_for_function("() => window.stickslip?.run && !stickslip.inFlight", timeout=180_000)
        page.evaluate("() => Object.assign(stickslip, {playing: false, t: 0.8121, dirty: true})")
        page.wait_for_timeout(1000)
        page.evaluate("() => document.getElementById('play').setAttribute('aria-pressed', 'false')")
        room = io.BytesIO(page.screenshot())
        browser.close()
    server.shutdown()
    keep(Image.open(room).convert("RGB"), FOLDER / "page.png", Image.Quantize.MAXCOVERAGE)  # dots of every colour


def keep(picture: Image.Image, path: Path, method: Image.Quantize = Image.Quantize.MEDIANCUT) -> None:
    """Write a picture with few colours, and our name in it."""
    signed = PngImagePlugin.PngInfo()
    signed.add_text("Software", style.SIGNATURE)
    picture.quantize(128, method=method).save(path, optimize=True, pnginfo=signed)


def main(wanted: list[str]) -> None:
    others = {"film": film, "tutorial": tutorial, "page": live_page}
    known = [*dict.fromkeys(key.split("-")[0] for key in papers.keys()), "elements", *others]  # noqa: SIM118
    for name in wanted or known:
        if name not in known:
            raise SystemExit(f"unknown picture {name!r}; known: {', '.join(known)}")
        if name == "elements":
            style.save(elements.plot(), FOLDER / "elements.png", dpi=130)
            continue
        if name in others:
            others[name]()
            continue
        keep(sheet(name), FOLDER / f"figures-{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
