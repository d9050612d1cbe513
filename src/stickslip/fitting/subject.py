"""The model of a fit, and the experiments that it is to predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.checks import Array, real_array, real_number, unknown_name
from stickslip.fitting.asked import check_names
from stickslip.fitting.data import Samples, samples_from
from stickslip.fitting.directions import check_rates, check_start, rates_by_coordinate
from stickslip.fitting.experiments import Cycle, Experiment, Impacts, Motion, Stepped
from stickslip.laws import ImpactLaw, law_from
from stickslip.scenario import Scenario, as_scenario
from stickslip.scenes.varied import TURNS

_DT = 1e-3  # step of a scene that has none [s]


class Subject:
    """The model of a fit: a mechanism, a scene, or a function that builds one of them."""

    def __init__(
        self, model: Any, law: str | ImpactLaw | None, options: dict[str, Any], names: Sequence[str], middle: Array
    ) -> None:
        self.options, self.names = options, tuple(names)
        self.scenario: Scenario | None = None
        self.build: Callable[..., Any] | None = None
        self.moving: Scenario | None = None  # what an ensemble runs; a function builds a model for each value
        if callable(model):
            self.build, known = model, tuple(names)
            shown = as_scenario(
                model(**dict(zip(names, middle.tolist(), strict=True))), options.get("dt", _DT), None, None
            )
        else:
            shown = as_scenario(model, options.get("dt", getattr(model, "dt", _DT)), None, None)
            known, self.moving = shown.quantities, shown
            if shown.steppers is None:  # the event-driven integrator can run it
                self.scenario = shown
            else:
                self.build = lambda **values: shown.with_values(values)
        check_names(names, known)
        self.law = law_from(law)
        if self.build is not None:
            if law is not None and options.setdefault("law", law) is not law:
                raise ValueError("law must be given once, got it in law= and in options=.")
            self.law = law_from(options.get("law", getattr(shown, "options", {}).get("law")))
        system = shown.system
        self.units = dict(shown.units)
        self.usual = float(shown.t_end) if self.scenario is not None else np.inf  # [s]
        self.step = np.inf if self.scenario is not None else float(options.get("dt", shown.dt))  # [s]
        self.coordinates = tuple(system.coordinate_names)
        self.states = (*self.coordinates, *system.velocity_names)
        self.rates = rates_by_coordinate(self.coordinates, system.velocity_names)
        self.own_start = dict(zip(self.states, (*shown.q0.tolist(), *shown.u0.tolist()), strict=True))
        self.quantities = shown.quantities
        self.may_vary = (*self.states, *(name for name in self.quantities if name.rpartition(".")[2] in TURNS))
        self.name = str(system.name)
        self.f = len(system.velocity_names)

    def own_values(self, names: Sequence[str]) -> Array | None:
        """The model's own values of free quantities; None where it has none."""
        if self.scenario is None:
            return None
        values = {**self.scenario.parameters, **self.own_start}
        return np.array([values[name] for name in names])

    def experiments(self, data: Any, units: Any, deviations: Mapping[str, float]) -> list[Experiment]:
        """One experiment per item of the data."""
        found: list[Experiment] = []
        motions: list[Samples] = []
        for item in data if isinstance(data, list | tuple) else [data]:
            if isinstance(item, Mapping) and "before" in item:
                found.append(self._impacts(item))
            elif isinstance(item, Mapping) and ("period" in item or "frequency" in item):
                found.append(self._cycle(item))
            else:
                for samples in samples_from([item], self.states, units, self.usual, self.step):
                    if any(samples.repeats(other) for other in motions):
                        raise ValueError(
                            f"{samples.name}: each motion must be given once, got its samples twice; counted twice "
                            "they would make intervals too narrow."
                        )
                    check_rates(samples, self.rates)
                    motions.append(samples)
                    found.append(self._motion(samples, deviations))
        if not found:
            raise ValueError("data must hold at least one experiment, got none.")
        unused = [name for name in self.options if name != "near"]
        if self.scenario is not None and unused and not any(isinstance(each, Cycle) for each in found):
            raise ValueError(
                f"options of a mechanism must be near= of its impacts, or those of a limit cycle, got {unused[0]!r}; "
                "its motions go from event to event; a function that returns the model lets them be stepped."
            )
        if len(found) > 1:
            for number, each in enumerate(found, 1):
                each.name = f"{each.name} {number}" if each.name in ("data", "impacts", "cycle") else each.name
        return found

    def _motion(self, samples: Samples, deviations: Mapping[str, float]) -> Experiment:
        if self.scenario is None:
            assert self.build is not None
            for name in samples.params:
                if name not in self.quantities:
                    raise ValueError(f"{samples.name}: params: {unknown_name('quantity', name, self.quantities)}")
            own = {**self.own_start, **samples.start}
            centres = {name: float(own.get(name, 0.0)) for name in deviations}
            return Stepped(self.build, self.names, self.states, samples, self.options, centres)
        for name in samples.params:
            if name not in self.scenario.system.parameter_names:
                known = self.scenario.system.parameter_names
                raise ValueError(f"{samples.name}: params: {unknown_name('parameter', name, known)}")
        check_start(samples, self.scenario)
        own = {**self.own_start, **samples.start}
        return Motion(self.scenario, self.law, samples, {name: float(own[name]) for name in deviations})

    def _mechanism(self, what: str) -> Scenario:
        if self.scenario is None:
            raise ValueError(f"{what} are for mechanisms; give measured motions of a scene.")
        return self.scenario

    def _impacts(self, item: Mapping[str, Any]) -> Experiment:
        scenario, f = self._mechanism("pairs of states before and after impacts"), self.f
        for name in item:
            if name not in ("before", "after"):
                raise ValueError(f"impacts: {unknown_name('quantity', str(name), ('before', 'after'))}")
        before = real_array(item["before"], "before must be an array of numbers (n, 2 f).")
        after = real_array(item.get("after"), "after must be an array of numbers (n, f).")
        if before.ndim != 2 or before.shape[1] != 2 * f or not len(before):
            raise ValueError(f"before must have the shape (n, {2 * f}): coordinates, velocities; got {before.shape}.")
        if after.shape not in ((len(before), f), (len(before), 2 * f)):
            raise ValueError(f"after must have the shape ({len(before)}, {f}), got {after.shape}.")
        if not np.all(np.isfinite(before)):
            raise ValueError("before must hold finite numbers alone; leave rows out where something is missing.")
        near = real_number(self.options.get("near", 1e-3), "near")
        return Impacts(scenario, self.law, before[:, :f], before[:, f:], after[:, -f:], near)

    def _cycle(self, item: Mapping[str, Any]) -> Experiment:
        scenario = self._mechanism("periods")
        known = ("period", "frequency", *scenario.system.coordinate_names)
        for name in item:
            if name not in known:
                raise ValueError(f"cycle: {unknown_name('quantity', str(name), known)}")
        measured = {str(name): real_number(value, str(name)) for name, value in item.items()}
        return Cycle(replace(scenario), self.law, measured, self.options)
