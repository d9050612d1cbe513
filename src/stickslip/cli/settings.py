"""Words of the command line as values: `NAME|FILE`, settings `NAME=VALUE`, and ranges `NAME=A:B:N`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.circuits.scenario import CircuitScenario
    from stickslip.io.models.file import Model
    from stickslip.scenario import Scenario


def opened(name: str, texts: Sequence[str]) -> "Model":
    """A library system or a model file with settings such as `friction=0.25`."""
    from stickslip import library
    from stickslip.io.models.file import Model, read_model

    if name not in (*library.names(), *library.scene_names()) and _is_file_name(name):
        return _set(read_model(name), name, texts)
    return Model(scenario_with(texts, name), {})


def mechanism_with(texts: Sequence[str] | None, name: str) -> "Scenario":
    """A library mechanism, or that of a model file, with settings."""
    scenario = opened(name, texts or []).scenario
    scenario.require_coordinates(f"{name} is {{kind}}; this command needs generalised coordinates.")
    return scenario


def scenario_with(texts: Sequence[str], name: str) -> "Scenario":
    """A library entry with settings such as `friction=0.25`: keywords of the entry, or coordinates and velocities of
    its start; several numbers, `velocity=0.5,-1,0`, for a keyword that is a tuple.
    """
    from stickslip import library
    from stickslip.checks import unknown_name

    if name in library.circuit_names():
        raise ValueError(
            f"{name} is a circuit, and this command takes mechanisms and scenes; stickslip run {name} runs it."
        )
    known = library.keywords(name)
    values = split_settings(texts, known)
    keywords = {key: keyword_from(key, value, known[key]) for key, value in values.items() if key in known}
    state = {key: value for key, value in values.items() if key not in known}
    scenario = library.get(name, **keywords)
    names = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    for key in state:
        if key not in names:
            raise ValueError(f"library entry {name!r}: {unknown_name('parameter', key, [*known, *names])}")
    return scenario.starting({key: number(key, value) for key, value in state.items()}) if state else scenario


def circuit_with(texts: Sequence[str], name: str) -> "CircuitScenario":
    """A circuit of the library with settings such as `resistance=50`."""
    from stickslip import library
    from stickslip.checks import unknown_name

    known = library.keywords(name)
    values = split_settings(texts, known)
    for key in values:
        if key not in known:
            raise ValueError(f"library entry {name!r}: {unknown_name('parameter', key, known)}")
    scenario: CircuitScenario = library.get(name, **{k: keyword_from(k, v, known[k]) for k, v in values.items()})
    return scenario


def _is_file_name(name: str) -> bool:
    """Whether a name means a file: by its suffix, a folder in it, or because something is there, be it a pipe."""
    return name.endswith(".toml") or "/" in name or "\\" in name or Path(name).exists()


def _set(model: "Model", name: str, texts: Sequence[str]) -> "Model":
    """A model with other values of its parameters and its start."""
    from stickslip.checks import unknown_name

    if not texts:
        return model
    scenario = model.scenario
    system = scenario.system
    names = tuple(scenario.parameters)
    state = (*system.coordinate_names, *system.velocity_names)
    values = {key: number(key, text) for key, text in split_settings(texts, (*names, *state)).items()}
    for key in values:
        if key not in (*names, *state):
            raise ValueError(f"{name}: {unknown_name('parameter', key, [*names, *state])}")
    start = {key: value for key, value in values.items() if key in state}
    params = {key: value for key, value in values.items() if key not in state}
    scenario = scenario.starting(start) if start else scenario
    if params:
        scenario = replace(scenario, params={**(scenario.params or {}), **params})
    return replace(model, scenario=scenario)


def split_settings(texts: Sequence[str], known: Iterable[str]) -> dict[str, str]:
    """Settings `NAME=VALUE` as a mapping; the first of the known names serves as an example."""
    values: dict[str, str] = {}
    for text in texts:
        key, value = _name_and_value(text)
        if not value:
            example = next(iter(known), "friction")
            raise ValueError(f"a setting must read NAME=VALUE, such as --set {example}=1, got {text!r}.")
        if key in values:
            raise ValueError(f"{key} is set twice; the second time to {value}.")
        values[key] = value
    return values


def varied(texts: Sequence[str] | None) -> dict[str, str]:
    """The `--vary` options as names and values."""
    values: dict[str, str] = {}
    for text in texts or []:
        key, value = _name_and_value(text)
        if not value:
            raise ValueError(f"--vary must read NAME=VALUES, such as --vary friction=0.2:0.4:1001, got {text!r}.")
        if key in values:
            raise ValueError(f"--vary {key} is given twice; the second time as {value}.")
        values[key] = value
    if not values:
        raise ValueError("say what varies, such as --vary friction=0.2:0.4:1001.")
    return values


def range_from(text: str, option: str = "--vary", ends: str = "FIRST:LAST") -> tuple[str, float, float]:
    """NAME=FIRST:LAST; `ends` are the words that the help of the option has for them."""
    name, values = _name_and_value(text)
    parts = values.split(":")
    if not (name and len(parts) == 2):
        raise ValueError(f"{option} must read NAME={ends}, got {text!r}.")
    return name, number(name, parts[0]), number(name, parts[1])


def _name_and_value(text: str) -> tuple[str, str]:
    """NAME and VALUE of `NAME=VALUE`; both empty where the text is none."""
    key, equals, value = (part.strip() for part in text.partition("="))
    return (key, value) if key and equals and value else ("", "")


def keyword_from(key: str, text: str, default: Any) -> Any:
    """The value of a keyword, of the kind of its default: text, a whole number, a number, or several."""
    if isinstance(default, str):
        return text
    numbers = [number(key, part) for part in text.split(",")]
    wanted = len(default) if isinstance(default, tuple) else 1
    if len(numbers) != wanted:
        raise ValueError(f"{key} must be {wanted} number{'s' if wanted > 1 else ''}, got {len(numbers)}: {text!r}.")
    if wanted > 1:
        return tuple(numbers)
    if isinstance(default, int):
        if not numbers[0].is_integer():
            raise ValueError(f"{key} must be a whole number, got {text}.")
        return int(numbers[0])
    return numbers[0]


def number(key: str, text: str) -> float:
    """A finite number that was typed for `key`."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{key} must be a number, got {text.strip()!r}.") from None
    if not math.isfinite(value):
        raise ValueError(f"{key} must be finite, got {text.strip()}.")
    return value
