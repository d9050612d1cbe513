"""`stickslip new NAME > my.toml`: a library system or scene as a model file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.options import Settings, TextOut
from stickslip.cli.settings import scenario_with


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A library system or scene, see `stickslip list`.")],
    settings: Settings = None,
    out: TextOut = None,
) -> None:
    """Write a library system or scene as a model file: the same equations, the same motion, bit for bit."""
    from stickslip.io.models.file import LEFT_OUT, model_text

    scenario = scenario_with(settings or [], name)
    text = model_text(scenario)
    if LEFT_OUT in text:
        print(f"stickslip: the drawing of {name} has no expressions and is not in the file.", file=sys.stderr)
    write_text(text, out)


def write_text(text: str, out: Path | None) -> None:
    """Print the text of a model file, or write it to a new file."""
    if out is None:
        print(text, end="")
        return
    from stickslip.figures.files import require_writable
    from stickslip.io.disk import replacing

    require_writable("--out", out)
    if out.exists():
        raise ValueError(f"--out {out} exists; give another name, or remove it.")
    with replacing(out) as draft:
        draft.write_text(text, encoding="utf-8")
