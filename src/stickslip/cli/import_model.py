"""`stickslip import robot.xml > my.toml`: a MuJoCo or URDF description as a model file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.new import write_text
from stickslip.cli.options import TextOut
from stickslip.io.printable import printable


def import_model(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A MuJoCo (MJCF) or URDF file.")],
    out: TextOut = None,
) -> None:
    """Turn a robot description into a model file: rigid bodies, primitive shapes, simple joints.

    What cannot be carried over is listed on stderr and at the head of the file; nothing is dropped in silence.
    """
    from stickslip.io.models.imports import import_robot

    found = import_robot(path)
    for note in found.notes:
        print(f"stickslip: left out: {printable(note)}", file=sys.stderr)
    write_text(found.text, out)
