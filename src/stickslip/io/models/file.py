"""Model files as a whole: reading, checking, writing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stickslip.io.disk import replacing
from stickslip.io.models import lagrangian, scene
from stickslip.io.models.fields import Place
from stickslip.io.models.layout import checked_content
from stickslip.io.models.toml_text import ModelError, key_lines, parse_toml, read_toml, toml_text
from stickslip.io.models.traced import Untraceable
from stickslip.scenario import Scenario, as_scenario
from stickslip.scenes.scene import Scene

__all__ = ["Model", "ModelError", "model_text", "read_model", "write_model"]

LEFT_OUT = "Left out: "
"""How the line in the head of a file begins that says what could not be written."""
_PARTS: dict[str, Any] = {"lagrangian": lagrangian, "scene": scene}


@dataclass(frozen=True, eq=False)
class Model:
    """Contents of a model file.

    Attributes
    ----------
    scenario : the mechanism or the scene with its start.
    options : those of its `[run]` that belong to `simulate`.
    meanings : what its parameters are, in the words of the file.
    """

    scenario: Scenario
    options: dict[str, Any]
    meanings: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"<Model of {str(self.scenario).strip('<>')}>"

    def _repr_html_(self) -> str:
        return self.scenario._repr_html_()


def read_model(path: str | Path) -> Model:
    """Read a model file; nothing in it is executed.

    Raises `ModelError`, a ValueError of one line with file, line and key, for whatever is wrong.
    """
    content, text = read_toml(path)
    return _model(content, text, str(path))


def model_from_text(text: str, name: str = "model") -> Model:
    """Read a model from TOML text; `name` is what messages call it."""
    return _model(parse_toml(text, name), text, name)


def _model(content: dict[str, Any], text: str, name: str) -> Model:
    place = Place(name, key_lines(text))
    kind = content.get("kind", "lagrangian")
    if kind == "circuit":
        raise place.at("kind").error(
            "a circuit is no mechanism: `stickslip run` and `stickslip check` take its file, and read_circuit of "
            "stickslip.io.models.circuit in Python"
        )
    checked = checked_content(content, place)
    options = {key: value for key, value in checked["run"].items() if value is not None and key not in ("dt", "t_end")}
    parameters = checked.get("parameters", {}).items()
    meanings = {key: entry["meaning"] for key, entry in parameters if isinstance(entry, dict) and entry.get("meaning")}
    return Model(_PARTS[kind].scenario_from(checked, place), options, meanings)


def model_text(scenario: Scenario) -> str:
    """A scenario as the text of a model file, which reads back as the same system, bit for bit.

    Its drawing is written as expressions, which look the same up to round-off; one that has none is left out, and the
    head of the file says so.  Raises ValueError where a file is not possible: systems of functions, motions and forces
    that are functions.
    """
    part: Any = _PARTS[scenario.file_kind]
    head = HEAD
    try:
        content = part.content_of(scenario)
    except Untraceable as problem:
        scenario, head = replace(scenario, drawing=None), f"{HEAD}\n{LEFT_OUT}{problem}."
        content = part.content_of(scenario)
    content = {key: value for key, value in content.items() if value != ""}  # a title or source that nobody gave
    text = toml_text(content, {("stickslip",): head})
    if not part.is_same(model_from_text(text, "the file").scenario, scenario):
        raise ValueError(f"{scenario.title}: the file would not give the same equations again, so it is not written.")
    return text


HEAD = """A model file of stickslip: run it with 'stickslip run FILE', check it with 'stickslip check FILE'.
Expressions are text: numbers, names, + - * / ** ( ) and functions such as sin, sqrt, abs, max, piecewise."""


def write_model(scenario: Scenario | Scene, path: str | Path, *, dt: float = 1e-3, t_end: float = 2.0) -> Path:
    """Write a scenario, or a scene, as a model file, whole or not at all.

    dt, t_end : step size and end time [s] of a scene; a scenario has its own.
    """
    if not isinstance(scenario, Scenario):
        scenario = replace(as_scenario(scenario, dt, None, None), t_end=t_end)
    text = model_text(scenario)
    target = Path(path)
    with replacing(target) as draft:
        draft.write_text(text, encoding="utf-8")
    return target
