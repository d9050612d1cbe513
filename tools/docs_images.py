"""Draw pictures of the documentation: a sheet of figures for each paper, the laws of the elements, README's film.

    python tools/docs_images.py            all of them, into docs/images
    python tools/docs_images.py gs05 elements

A sheet takes as long as `stickslip reproduce` of its figures.
"""

import io
import sys
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


def main(wanted: list[str]) -> None:
    known = [*dict.fromkeys(key.split("-")[0] for key in papers.keys()), "elements", "film"]  # noqa: SIM118
    for name in wanted or known:
        if name not in known:
            raise SystemExit(f"unknown picture {name!r}; known: {', '.join(known)}")
        if name == "elements":
            style.save(elements.plot(), FOLDER / "elements.png", dpi=130)
            continue
        if name == "film":
            film()
            continue
        signed = PngImagePlugin.PngInfo()
        signed.add_text("Software", style.SIGNATURE)
        page = sheet(name).quantize(128, method=Image.Quantize.MEDIANCUT)
        page.save(FOLDER / f"figures-{name}.png", optimize=True, pnginfo=signed)


if __name__ == "__main__":
    main(sys.argv[1:])
