"""`stickslip import robot.xml > my.toml`: a MuJoCo, URDF or SDF description as a model file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.new import write_text
from stickslip.cli.options import TextOut
from stickslip.io.printable import printable


def import_model(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A MuJoCo (MJCF), URDF or SDF file.")],
    out: TextOut = None,
    self_collision: Annotated[
        str,
        typer.Option(
            help="Links of one robot touch: all, none, or apart (all pairs that do not overlap at the start)."
        ),
    ] = "apart",
    repair: Annotated[bool, typer.Option("--repair", help="Replace inertias that no body has by the nearest.")] = False,
    corners: Annotated[int, typer.Option(help="Most corners of the hull of a mesh.")] = 64,
    base: Annotated[
        str, typer.Option(help="fixed holds the root, free lets it move, auto: as the file says.")
    ] = "auto",
    pose: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=VALUE", help="Value of a joint at the start [rad or m].")
    ] = None,
) -> None:
    """Turn a robot description into a model file: rigid bodies, shapes, meshes as hulls, joints, simple drives.

    What cannot be carried over is listed on stderr and at the head of the file; nothing is dropped in silence.
    """
    from stickslip.io.models.imports import import_robot

    values = {}
    for entry in pose or []:
        name, equals, text = entry.rpartition("=")
        try:
            values[name] = float(text)
        except ValueError:
            name = ""
        if not name or not equals:
            raise ValueError(f"--pose must be JOINT=VALUE, got {printable(entry)!r}.")
    found = import_robot(path, self_collision=self_collision, repair=repair, corners=corners, base=base, pose=values)
    for note in found.notes:
        print(f"stickslip: left out or changed: {printable(note)}", file=sys.stderr)
    write_text(found.text, out)
