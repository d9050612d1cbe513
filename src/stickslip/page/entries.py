"""Systems of the page: library entries and model files, each with its keywords, its scenario and its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from stickslip import library
from stickslip.checks import unknown_name
from stickslip.io.models.file import Model, read_model
from stickslip.run.options import OF_STEPPERS, STEPPERS, stepper_from
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

STEPPER = "moreau-midpoint"
"""Stepper of an entry that asks for no other."""
PAGE_STEPPERS = tuple(name for name in STEPPERS if name != "adaptive")
"""To prepare the adaptive one for a system takes a minute, for which nobody waits before a slider."""


@dataclass(frozen=True)
class LibraryEntry:
    """A system or scene of the library."""

    name: str

    @property
    def keywords(self) -> Mapping[str, Any]:
        return library.keywords(self.name)

    @property
    def units(self) -> Mapping[str, str]:
        return library.units(self.name)

    @property
    def meanings(self) -> Mapping[str, str]:
        """What the keywords are, in words."""
        return library.meanings(self.name)

    @property
    def scenario(self) -> Any:
        """The scenario with the values of the library."""
        return _own(self.name)

    def with_keywords(self, values: Mapping[str, Any]) -> Any:
        return library.get(self.name, **values) if values else self.scenario

    def options(self, stepper: str | None) -> dict[str, Any]:
        """Keywords of `simulate`."""
        return {"stepper": stepper or self.stepper}

    @property
    def stepper(self) -> str:
        return STEPPER

    @property
    def steppers(self) -> tuple[str, ...]:
        return _steppers(self.scenario)


@dataclass(frozen=True)
class ModelEntry:
    """A model file; it is read again when it has changed, so that an editor and the page work side by side."""

    path: Path

    @property
    def model(self) -> Model:
        try:
            at = self.path.stat()
        except OSError as error:
            raise ValueError(f"{self.path.name} cannot be read: {error.strerror}.") from None
        return _read(self.path, at.st_mtime_ns, at.st_size)

    @property
    def keywords(self) -> Mapping[str, Any]:
        """Values of the parameters; a scene has none."""
        return dict(self.scenario.parameters)

    @property
    def units(self) -> Mapping[str, str]:
        """None of its own: the system has the units of its parameters."""
        return {}

    @property
    def meanings(self) -> Mapping[str, str]:
        """What the parameters are, in the words of the file."""
        return self.model.meanings

    @property
    def scenario(self) -> Any:
        """The scenario of the file; where it has no drawing, with that of the library entry of its name."""
        scenario = self.model.scenario
        if scenario.source == str(self.path):  # where it lies is nobody's business on an exported page
            scenario = replace(scenario, source=self.path.name)
        if scenario.drawing is not None:
            return scenario
        same = twin(scenario.system.name, scenario.system, scenario.parameters)
        return scenario if same is None else replace(scenario, drawing=same.drawing)

    def with_keywords(self, values: Mapping[str, Any]) -> Any:
        scenario, known = self.scenario, self.keywords
        for key in values:
            if key not in known:
                raise ValueError(f"{self.path.name}: {unknown_name('parameter', key, known)}")
        return replace(scenario, params={**(scenario.params or {}), **values}) if values else scenario

    def options(self, stepper: str | None) -> dict[str, Any]:
        """Keywords of `simulate`: those of the file, less those of its stepper where another one is asked for."""
        own = self.model.options
        found = {key: value for key, value in own.items() if key not in ("every", *OF_STEPPERS)}
        return {**found, "stepper": stepper_from(own) if stepper in (None, self.stepper) else stepper}

    @property
    def stepper(self) -> str:
        return str(self.model.options.get("stepper", STEPPER))

    @property
    def steppers(self) -> tuple[str, ...]:
        """The steppers of the page, and the one that the file asks for."""
        return tuple(dict.fromkeys((self.stepper, *_steppers(self.scenario))))


Entry = LibraryEntry | ModelEntry


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, size: int) -> Model:
    return read_model(path)


@cache
def _own(name: str) -> Any:
    return library.get(name)


def _steppers(scenario: Scenario) -> tuple[str, ...]:
    return scenario.steppers or PAGE_STEPPERS


def entry_names() -> tuple[str, ...]:
    """Names of all library entries, systems and scenes."""
    return (*library.names(), *library.scene_names())


def scenario_of(trajectory: Trajectory) -> Any:
    """The library entry that a trajectory came from, with its parameters, or None."""
    return twin(trajectory.system_name, trajectory, trajectory.parameters)


def twin(title: str, names: Any, parameters: Mapping[str, float]) -> Any:
    """The library entry called `title` with these parameters, or None.

    A name alone proves nothing: coordinates, velocities, contacts and parameters must have the same names as `names`,
    a system or a trajectory.
    """
    name = title.replace(" ", "_")
    if name not in entry_names():
        return None
    known = library.keywords(name)
    numeric = {key for key, default in known.items() if isinstance(default, float) or default is None}
    given = {key: value for key, value in parameters.items() if key in numeric}
    try:
        scenario: Any = library.get(name, **given) if given else _own(name)
    except (ValueError, ArithmeticError):
        return None
    system = scenario.system
    same = (
        tuple(system.coordinate_names) == tuple(names.coordinate_names)
        and tuple(system.velocity_names) == tuple(names.velocity_names)
        and tuple(system.contact_names) == tuple(names.contact_names)
        and set(system.parameter_names) == set(parameters)
    )
    return scenario if same else None
