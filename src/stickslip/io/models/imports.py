"""Robot descriptions, MJCF, URDF and SDF, as model files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stickslip.checks import real_number, whole_number
from stickslip.io.models.file import HEAD, model_from_text
from stickslip.io.models.mjcf import robot_from_mjcf
from stickslip.io.models.robot import BASE, SELF_COLLISION, ImportOptions, Robot
from stickslip.io.models.sdf import robot_from_sdf
from stickslip.io.models.toml_text import ModelError, toml_text
from stickslip.io.models.urdf import robot_from_urdf
from stickslip.io.models.xml_text import Element, gathered, read_xml
from stickslip.request import require_one_of

_READERS = {"mujoco": robot_from_mjcf, "robot": robot_from_urdf, "sdf": robot_from_sdf}
_MOST_LOOKED_AT, _MOST_PIECES = 200, 8_000  # bodies, and pairs of their pieces, whose overlaps are looked for: 0.5 s
_MADE = re.compile(r"line \d+(?:, (?P<part>\w+)(?:\[(?P<number>\d+)\])?[^:]*)?: (?P<rest>.*)", re.DOTALL)
_COUNTED = {"bodies": "bodies", "joints": "joints", "ignore": "pairs that pass", "pairs": "pairs with a friction"}
_SHALLOW = 1e-6  # overlap at the start that scenes accept [m]


class Imported(NamedTuple):
    """The text of a model file, and the list of elements of the description that it leaves out or changes."""

    text: str
    notes: list[str]

    @property
    def scenario(self) -> Any:
        """The scenario of the model file."""
        return model_from_text(self.text).scenario


def import_robot(
    path: str | Path,
    *,
    self_collision: str = "apart",
    repair: bool = False,
    corners: int = 64,
    base: str = "auto",
    pose: Mapping[str, float] | None = None,
) -> Imported:
    """Read an MJCF, URDF or SDF file; ModelError, one line with the line number, where it cannot be read.

    Parameters
    ----------
    self_collision : "all" links of a robot touch one another, "none" do, or "apart": all but pairs that overlap at the
        start.  Neighbours never touch.
    repair : replace inertias that no body has by the nearest one that a body has.
    corners : most corners of the hull of a mesh, 8 to 1000.
    base : "fixed" holds the root, "free" lets it move, "auto" does as the file says.
    pose : values of joints at the start, by name [rad or m].
    """
    require_one_of("self_collision", self_collision, SELF_COLLISION)
    require_one_of("base", base, BASE)
    if not 8 <= whole_number(corners, "corners") <= 1000:
        raise ValueError(f"corners must lie between 8 and 1000, got {corners}.")
    values = {str(name): real_number(value, f"pose of {name}") for name, value in (pose or {}).items()}
    return imported(read_xml(path), ImportOptions(self_collision, bool(repair), int(corners), base, values))


def imported(root: Element, options: ImportOptions | None = None) -> Imported:
    """The model file of a robot description."""
    options = options or ImportOptions()
    if root.tag not in _READERS:
        raise root.error("a MuJoCo file begins with <mujoco>, a URDF file with <robot>, an SDF file with <sdf>")
    root.read = True
    try:
        robot = _READERS[root.tag](root, options)
        content = robot.content()
        if not content["bodies"]:
            raise root.error("there is no body with a shape or an inertia in it")
        if options.self_collision == "apart":
            _let_pass(content, robot, root)
    except ModelError:
        raise
    except (ArithmeticError, MemoryError):
        raise root.error("its numbers are too large or too small to compute with") from None
    except (ValueError, RecursionError) as problem:  # shapes check themselves
        raise root.error(" ".join(str(problem).split())) from None
    notes = gathered(robot.notes)
    lines = [f"Left out or changed of {Path(root.file).name}:", *(f"- {note}" for note in notes)]
    text = toml_text(content, {("stickslip",): "\n".join([HEAD, *(lines if notes else [])])})
    _model(text, content, robot, root)
    return Imported(text, notes)


def _model(text: str, content: dict[str, Any], robot: Robot, root: Element) -> Any:
    """The model that the text describes; what is wrong with it is told of the file that it was made of."""
    try:
        return model_from_text(text, root.file)
    except ModelError as problem:
        raise _told(str(problem), content, robot, root) from None


def _told(problem: str, content: dict[str, Any], robot: Robot, root: Element) -> ModelError:
    """A complaint about the model file, whose lines nobody has seen, as one about the robot's."""
    if (found := _MADE.match(problem.removeprefix(f"{root.file}, "))) is None:
        return ModelError(problem)
    place, number, rest = found["part"], found["number"], found["rest"]
    if place is None:
        counts = ", ".join(f"{len(content[part])} {what}" for part, what in _COUNTED.items() if part in content)
        return root.error(f"a model file has no room for its {counts}; give fewer bodies, or one friction to all")
    entry = content[place][int(number)] if number is not None else {}
    names = [entry[key] for key in ("name", "a", "b", "body") if key in entry]
    link = next((link for link in robot.links if link.name in names), None)
    whose = f"{place} {', '.join(map(repr, names))}" if names else place
    if "inertia of" in rest:
        rest = f"{rest.rstrip('.')}; --repair (repair=True) replaces it by the nearest one."
    line = "" if link is None or link.line == 0 else f", line {link.line}"
    return ModelError(f"{root.file}{line}, {whose}: {rest}")


def _let_pass(content: dict[str, Any], robot: Robot, root: Element) -> None:
    """Let bodies of the robot that overlap at the start pass through one another."""
    from stickslip.scenes.collision.overlaps import TooMany, overlaps

    try:
        if len(content["bodies"]) > _MOST_LOOKED_AT:
            raise TooMany
        scene = _model(toml_text(content, {}), content, robot, root).scenario.scene
        found = overlaps(scene, most=_MOST_PIECES)
    except TooMany:
        robot.notes.append(
            f"more than {_MOST_LOOKED_AT} bodies, or {_MOST_PIECES} pairs of shapes near one another: overlaps at the "
            "start were not looked for; --self-collision none lets all links of a robot pass"
        )
        return
    still = {body.name for body in scene.bodies if body.kind == "static"}
    pairs = [x for x in found if x.depth > _SHALLOW and x.first not in still and x.second not in still]
    if pairs:
        content.setdefault("ignore", []).extend([pair.first, pair.second] for pair in pairs)
        named = ", ".join(f"{pair.first!r} and {pair.second!r}" for pair in pairs[:6])
        more = f" and {len(pairs) - 6} more" if len(pairs) > 6 else ""
        robot.notes.append(f"bodies that overlap at the start pass through one another: {named}{more}")
