"""`stickslip new NAME > my.toml`: a library system or scene as a model file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.options import Settings, TextOut
from stickslip.cli.settings import scenario_with

TEMPLATE = Path(__file__).parent.parent / "io" / "models" / "template.toml"
"""A mechanism that runs, with a comment on every part."""


def new(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A library system or scene, see `stickslip list`; none: the names."),
    ] = None,
    settings: Settings = None,
    empty: Annotated[
        bool, typer.Option("--empty", help="A small mechanism with a comment on every part, to begin from.")
    ] = False,
    out: TextOut = None,
) -> None:
    """Write a model file to edit: of a library system or scene, or with --empty a small one with comments.

    The file has the equations of the library: its motion is that of the library bit for bit.
    """
    if name is None:
        _without_name(empty, settings, out)
        return
    if empty:
        raise ValueError(f"--empty writes a mechanism of its own and takes no NAME, got {name!r}; leave one out.")
    from stickslip.io.models.file import LEFT_OUT, model_text

    scenario = scenario_with(settings or [], name)
    text = model_text(scenario)
    if LEFT_OUT in text:
        print(f"stickslip: the drawing of {name} has no expressions and is not in the file.", file=sys.stderr)
    write_text(text, out)


def _without_name(empty: bool, settings: list[str] | None, out: Path | None) -> None:
    """Write the commented mechanism, or name what there is."""
    if settings:
        raise ValueError("--set needs NAME, the entry whose parameter it changes, see stickslip list.")
    if empty:
        write_text(TEMPLATE.read_text(encoding="utf-8"), out)
        return
    if out is not None:
        raise ValueError("--out needs NAME, the entry to write, or --empty for a commented mechanism.")
    import textwrap

    from stickslip import library

    print("stickslip new NAME writes one of these as a model file, stickslip new --empty a commented mechanism.")
    for title, names in (("mechanisms", library.names()), ("scenes", library.scene_names())):
        print(textwrap.fill(", ".join(names), 100, initial_indent=f"{title}: ", subsequent_indent="  "))


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
