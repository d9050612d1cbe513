"""The description of model files: every key, its kind and its meaning.  Checking and JSON Schema both come from here.

`schema.json` beside this file is `schema_text()`, shipped for editors; a test holds the two together.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from stickslip.io.models.fields import Number, Place
from stickslip.io.models.layout_circuit import CIRCUIT
from stickslip.io.models.layout_mechanism import LAGRANGIAN
from stickslip.io.models.layout_parts import FORMAT
from stickslip.io.models.layout_scene import SCENE, Shapes

_MOST_STEPS = 2**53  # beyond, a double does not count them one by one
KINDS = {"lagrangian": LAGRANGIAN, "scene": SCENE, "circuit": CIRCUIT}


def checked_content(content: dict[str, Any], place: Place) -> dict[str, Any]:
    """The content of a model file with all keys checked and defaults filled in, or `ModelError`."""
    if "stickslip" not in content:
        near = difflib.get_close_matches("stickslip", content, n=1)
        raise place.error(
            f"the key 'stickslip' is missing{f', did you mean it by {near[0]!r}' if near else ''}: a model file begins "
            f"with stickslip = {FORMAT}"
        )
    version = Number(whole=True, least=1).check(content["stickslip"], place.at("stickslip"))
    if version > FORMAT:
        raise place.at("stickslip").error(f"format {version} is newer than {FORMAT}, which this version reads; update")
    for key, meant in (("elements", "circuit"), ("bodies", "scene")):
        if key in content and "kind" not in content:
            raise place.error(f"the key 'kind' is missing: a file with {key!r} begins with kind = \"{meant}\"")
    kind = content.get("kind", "lagrangian")
    table = KINDS.get(kind) if isinstance(kind, str) else None
    if table is None:
        raise place.at("kind").error(f"one of {', '.join(KINDS)} is expected, got {kind!r}")
    checked: dict[str, Any] = table.check(content, place)
    dt, t_end = checked["run"]["dt"], checked["run"]["t_end"]
    if t_end < dt:
        raise place.at("run", "t_end").error(f"at least one step, dt = {dt:g} s, is expected")
    if (steps := t_end / dt) > _MOST_STEPS:
        raise place.at("run", "t_end").error(
            f"{steps:.3g} steps are more than can be counted; shorten t_end or enlarge dt"
        )
    return checked


def json_schema() -> dict[str, Any]:
    """The JSON Schema of model files, for editors that complete and check TOML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stickslip model file",
        "oneOf": [table.schema() for table in KINDS.values()],
        "$defs": {"shape": Shapes().table().schema()},
    }


def schema_text() -> str:
    """The JSON Schema as text."""
    return json.dumps(json_schema(), indent=1, allow_nan=False) + "\n"
