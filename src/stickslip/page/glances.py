"""Pictures of everything the page can show, at its start: what a user chooses from."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.on_request import service
from stickslip.page.entries import LibraryEntry, entry_names
from stickslip.page.packing import floats
from stickslip.page.space import scene_picture
from stickslip.page.tracks import tracks
from stickslip.scenario import Scenario, SceneScenario

_INSTANTS = np.array([0.0, 1.0])  # a motion has two frames at least; both show the start


def glances() -> list[dict[str, Any]]:
    """Name, title, source, size in words and picture of every entry of the library that the page can show."""
    return [glance(name, LibraryEntry(name).scenario) for name in entry_names()]


def glance(name: str, scenario: Any) -> dict[str, Any]:
    """One entry; its picture is None where it has no drawing."""
    words, motion = service(f"glance at a {scenario.kind}")(scenario)
    return {"name": name, "title": scenario.title, "source": scenario.source, "words": words, "motion": motion}


def of_mechanism(scenario: Scenario) -> tuple[str, dict[str, Any] | None]:
    """Size in words and picture of a mechanism."""
    f, contacts = len(scenario.q0), len(scenario.system.contact_names)
    words = f"{f} coordinate{'' if f == 1 else 's'}, {contacts} contact{'' if contacts == 1 else 's'}"
    drawing, q = scenario.drawing, np.tile(scenario.q0, (2, 1))
    if drawing is None:
        return words, None
    shapes = tracks(drawing, q, 0.0 * _INSTANTS, scenario.parameters)
    return words, {
        "kind": "plane",
        "t": floats(_INSTANTS),
        "view": [float(x) for x in drawing.fit(q[:1], np.zeros(1), scenario.parameters)],
        "shapes": [shape for shape in shapes if shape["kind"] not in ("marker", "ruler", "text")],
    }


def of_scene(scenario: SceneScenario) -> tuple[str, dict[str, Any]]:
    """Size in words and picture of a scene."""
    moving = sum(body.column >= 0 for body in scenario.scene.bodies)
    picture = scene_picture(scenario.scene, np.tile(scenario.q0, (2, 1)), _INSTANTS)
    for shape in picture.get("shapes", ()):
        shape["channel"] = -1  # no contact lights up
    return f"{moving} bod{'y' if moving == 1 else 'ies'}", picture
