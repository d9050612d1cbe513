"""What `NAME|FILE` on the command line stands for: a library system or a model file, with its settings."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stickslip.io.models.file import Model


def is_file_name(name: str) -> bool:
    """Whether a name means a file: by its suffix, a folder in it, or because it is there."""
    return name.endswith(".toml") or "/" in name or "\\" in name or Path(name).is_file()


def opened(name: str, texts: Sequence[str]) -> "Model":
    """A library system or a model file with settings such as `friction=0.25`."""
    from stickslip import library
    from stickslip.io.models.file import Model, read_model

    if name not in (*library.names(), *library.scene_names()) and is_file_name(name):
        return _set(read_model(name), name, texts)
    from stickslip.cli.run import scenario_with

    return Model(scenario_with(texts, name, scenes=True), {})


def _set(model: "Model", name: str, texts: Sequence[str]) -> "Model":
    """A model with other values of its parameters and its start."""
    from stickslip.checks import unknown_name
    from stickslip.cli.run import number, split_settings

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


def default_file_name(title: str) -> str:
    """A file name made of a title."""
    return re.sub(r"\W+", "_", title).strip("_").lower() or "model"
