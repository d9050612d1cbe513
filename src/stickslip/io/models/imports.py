"""Robot descriptions, MJCF and URDF, as model files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stickslip.io.models.file import HEAD, model_from_text
from stickslip.io.models.mjcf import robot_from_mjcf
from stickslip.io.models.toml_text import ModelError, toml_text
from stickslip.io.models.urdf import robot_from_urdf
from stickslip.io.models.xml_text import Element, read_xml

_READERS = {"mujoco": robot_from_mjcf, "robot": robot_from_urdf}


class Imported(NamedTuple):
    """The text of a model file, and the list of elements of the description that it leaves out."""

    text: str
    notes: list[str]


def import_robot(path: str | Path) -> Imported:
    """Read an MJCF or URDF file; ModelError, one line with the line number, where it cannot be read."""
    return imported(read_xml(path))


def imported(root: Element) -> Imported:
    """The model file of a robot description."""
    if root.tag not in _READERS:
        raise root.error("a MuJoCo file begins with <mujoco>, a URDF file with <robot>")
    try:
        robot = _READERS[root.tag](root)
        content = robot.content()
        if not content["bodies"]:
            raise root.error("there is no body with a shape or an inertia in it")
    except ModelError:
        raise
    except ArithmeticError:
        raise root.error("its numbers are too large or too small to compute with") from None
    except (ValueError, RecursionError) as problem:  # shapes check themselves
        raise root.error(" ".join(str(problem).split())) from None
    lines = [f"Left out or changed of {Path(root.file).name}:", *(f"- {note}" for note in robot.notes)]
    text = toml_text(content, {("stickslip",): "\n".join([HEAD, *(lines if robot.notes else [])])})
    model_from_text(text, root.file)
    return Imported(text, robot.notes)
